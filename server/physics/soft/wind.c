/* wind.c: air against the triangles of surfaces. */
#include "server/physics/soft/store.h"

/* (1 − exp(−r)) / r to the fourth order of r, without libm; r times it stays below 1 for all r. */
static f32 decay_mean(f32 r)
{
    return 1.0f / (1.0f + r * (0.5f + r * (1.0f / 12.0f)));
}

enum {
    /* Triangles below which threads cost more than they save. */
    PARALLEL_TRIANGLES = 2000,
};

typedef struct Wind {
    Soft *soft;
    f32 tick_s;
} Wind;

static void blow_on_triangle(Soft *soft, const u32 *p, f32 tick_s)
{
    Vec3 a = soft->points[p[0]].position, b = soft->points[p[1]].position,
         c = soft->points[p[2]].position;
    Vec3 cross = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
    f32 twice_area = vec3_length(cross);
    if (twice_area < 1e-12f) {
        return;
    }
    Vec3 n = vec3_scale(cross, 1.0f / twice_area);
    Vec3 v = vec3_scale(vec3_add(vec3_add(soft->points[p[0]].velocity, soft->points[p[1]].velocity),
                                 soft->points[p[2]].velocity),
                        1.0f / 3.0f);
    f32 pressure = vec3_dot(vec3_sub(soft->wind, v), n) * soft->air_density;
    Vec3 impulse = vec3_scale(n, pressure * twice_area * (tick_s / 6.0f)); /* of a corner */
    for (u32 k = 0; k < 3; k++) {
        soft->wind_velocity[p[k]] = vec3_add(soft->wind_velocity[p[k]], impulse);
    }
}

static void blow_on_body(Soft *soft, const SoftBody *body, f32 tick_s)
{
    u32 end = body->first + body->count;
    for (u32 i = body->first; i < end; i++) {
        soft->wind_velocity[i] = vec3_zero();
    }
    for (u32 t = 0; t < body->triangle_count && soft->air_density > 0.0f; t++) {
        blow_on_triangle(soft, soft->triangles[body->first_triangle + t].point, tick_s);
    }
    for (u32 i = body->first; i < end && body->triangle_count > 0; i++) {
        f32 w = soft->points[i].inverse_mass;
        f32 rate = soft->air_density * soft->matter[i].wind_area * w * tick_s;
        soft->wind_velocity[i] = vec3_scale(soft->wind_velocity[i], w * decay_mean(rate));
    }
}

static void wind_loop(void *context, u32 first, u32 end, u32 worker)
{
    const Wind *wind = context;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        if (!soft_sleeps(wind->soft, b)) {
            blow_on_body(wind->soft, &wind->soft->bodies[b], wind->tick_s);
        }
    }
}

/* Wind as a change of velocity over the tick: what is left of the difference in speed decays within
 * the tick too, so that light cloth in strong wind stays stable. */
void wind_begin(Soft *soft, f32 tick_s)
{
    Wind wind = {soft, tick_s};
    Jobs *jobs = soft->triangle_count >= PARALLEL_TRIANGLES ? soft->jobs : NULL;
    jobs_run(jobs, soft->body_count, 1, wind_loop, &wind);
}
