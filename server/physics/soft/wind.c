/* wind.c: aerodynamic drag on the triangles of surfaces. Inside a medium, drag follows from the
 * medium's velocity at the start of the tick, is constant within the tick, and the medium loses
 * exactly that momentum. */
#include "server/physics/soft/soft_internal.h"

enum {
    /* Triangles below which threads cost more than they save. */
    PARALLEL_TRIANGLES = 2000,
};

static void add_drag(Symmetric3 *drag, Vec3 n, f32 size)
{
    drag->xx += size * n.x * n.x;
    drag->yy += size * n.y * n.y;
    drag->zz += size * n.z * n.z;
    drag->xy += size * n.x * n.y;
    drag->xz += size * n.x * n.z;
    drag->yz += size * n.y * n.z;
}

/* A third of A ρ n nᵀ at each corner. */
static void add_triangle(Soft *soft, const u32 *p)
{
    Vec3 a = soft->points[p[0]].position, b = soft->points[p[1]].position,
         c = soft->points[p[2]].position;
    Vec3 cross = vec3_cross(vec3_sub(b, a), vec3_sub(c, a));
    f32 twice_area = vec3_length(cross);
    if (twice_area < 1e-12f) {
        return;
    }
    Vec3 n = vec3_scale(cross, 1.0f / twice_area);
    for (u32 k = 0; k < 3; k++) {
        add_drag(&soft->drag[p[k]], n, soft->air_density * twice_area * (1.0f / 6.0f));
    }
}

static void find_drag(Soft *soft, const SoftBody *body)
{
    if (!soft_has_drag(soft, body)) {
        return;
    }
    u32 end = body->first + body->count;
    memset(soft->drag + body->first, 0, body->count * sizeof *soft->drag);
    for (u32 t = 0; t < body->triangle_count; t++) {
        add_triangle(soft, soft->triangles[body->first_triangle + t].point);
    }
    for (u32 i = body->first; i < end; i++) {
        soft->drag[i] = symmetric_scale(soft->drag[i], soft->points[i].inverse_mass);
    }
}

static void wind_loop(void *context, u32 first, u32 end, u32 worker)
{
    Soft *soft = context;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        if (!soft_sleeps(soft, b)) {
            find_drag(soft, &soft->bodies[b]);
        }
    }
}

/* ---- media ---- */

/* Above this speed, m/s, a medium wakes bodies that sleep in it. */
static const f32 stirring = 0.3f;

bool wind_stirs(const Soft *soft, u32 b)
{
    const SoftBody *body = &soft->bodies[b];
    if (soft->medium_count == 0 || !soft_has_drag(soft, body)) {
        return false;
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        Vec3 wind;
        if (medium_at(soft->media, soft->medium_count, soft->points[i].position, &wind) != NULL &&
            vec3_length_squared(wind) > stirring * stirring) {
            return true;
        }
    }
    return false;
}

/* Fraction of the air's velocity that drag would give a point within the tick. */
static f32 pull_of(const Soft *soft, u32 point)
{
    const Symmetric3 *drag = &soft->drag[point];
    return soft->tick_s * (drag->xx + drag->yy + drag->zz);
}

static const Medium *medium_of(const Soft *soft, u32 point, Vec3 *wind)
{
    const SoftPoint *p = &soft->points[point];
    return p->inverse_mass > 0.0f ? medium_at(soft->media, soft->medium_count, p->position, wind)
                                  : NULL;
}

static void couple(Soft *soft, const SoftBody *body)
{
    for (u32 i = body->first; i < body->first + body->count; i++) {
        Vec3 wind;
        const Medium *medium = medium_of(soft, i, &wind);
        soft->gust[i] = vec3_zero();
        if (medium != NULL) {
            f32 pull = f32_min(pull_of(soft, i), 1.0f);
            medium->ops->couple(medium->of, soft->points[i].position,
                                pull / soft->points[i].inverse_mass);
        }
    }
}

static void blow(Soft *soft, const SoftBody *body)
{
    for (u32 i = body->first; i < body->first + body->count; i++) {
        Vec3 wind;
        const SoftPoint *p = &soft->points[i];
        const Medium *medium = medium_of(soft, i, &wind);
        if (medium == NULL) {
            continue;
        }
        f32 share = medium->ops->share(medium->of, p->position) / f32_max(pull_of(soft, i), 1.0f);
        Vec3 drag = symmetric_mul(&soft->drag[i], vec3_sub(wind, p->velocity));
        Vec3 asked = vec3_scale(drag, -share * soft->tick_s / p->inverse_mass);
        Vec3 taken = medium->ops->impulse(medium->of, p->position, asked);
        soft->gust[i] = vec3_scale(taken, -p->inverse_mass / soft->tick_s);
        soft->drag[i] = (Symmetric3){0};
    }
}

/* In order: media take impulses one at a time. */
static void blow_all(Soft *soft)
{
    for (u32 pass = 0; pass < 2; pass++) {
        for (u32 b = 0; b < soft->body_count; b++) {
            const SoftBody *body = &soft->bodies[b];
            if (soft_sleeps(soft, b) || !soft_has_drag(soft, body)) {
                continue;
            }
            if (pass == 0) {
                couple(soft, body);
            } else {
                blow(soft, body);
            }
        }
    }
}

void wind_begin(Soft *soft)
{
    Jobs *jobs = soft->triangle_count >= PARALLEL_TRIANGLES ? soft->jobs : NULL;
    jobs_run(jobs, soft->body_count, 1, wind_loop, soft);
    if (soft->medium_count > 0) {
        blow_all(soft);
    }
}
