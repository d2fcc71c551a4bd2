/* wind.c: aerodynamic drag on the triangles of surfaces. */
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

void wind_begin(Soft *soft)
{
    Jobs *jobs = soft->triangle_count >= PARALLEL_TRIANGLES ? soft->jobs : NULL;
    jobs_run(jobs, soft->body_count, 1, wind_loop, soft);
}
