/* measure.c: sums and statistics. */
#include "server/physics/liquid/liquid_internal.h"

LiquidSums liquid_sums(const Liquid *liquid, Vec3 gravity)
{
    LiquidSums sums = {0};
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        f64 m = (f64)liquid->factors[p].mass;
        for (u32 s = liquid->first[p]; s < liquid->first[p + 1]; s++) {
            if (liquid->generations[s] == 0) {
                continue;
            }
            const f64 x[3] = {(f64)liquid->positions[s].x, (f64)liquid->positions[s].y,
                              (f64)liquid->positions[s].z};
            const f64 v[3] = {(f64)liquid->velocities[s].x, (f64)liquid->velocities[s].y,
                              (f64)liquid->velocities[s].z};
            Vec3 surface = liquid_grains_surface_speed(
                liquid, s); /* of a ball: radius times angular velocity */
            f64 inertia = 0.2 * (f64)liquid->def.spacing * m; /* over the radius */
            const f64 speed[3] = {(f64)surface.x, (f64)surface.y, (f64)surface.z};
            sums.kinetic +=
                0.2 * m * (speed[0] * speed[0] + speed[1] * speed[1] + speed[2] * speed[2]);
            sums.mass += m;
            sums.kinetic += 0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
            sums.potential -=
                m * ((f64)gravity.x * x[0] + (f64)gravity.y * x[1] + (f64)gravity.z * x[2]);
            for (u32 k = 0; k < 3; k++) {
                u32 a = (k + 1) % 3, b = (k + 2) % 3;
                sums.momentum[k] += m * v[k];
                sums.angular[k] += m * (x[a] * v[b] - x[b] * v[a]) + inertia * speed[k];
                sums.centre[k] += m * x[k];
            }
        }
    }
    for (u32 k = 0; k < 3 && sums.mass > 0.0; k++) {
        sums.centre[k] /= sums.mass;
    }
    return sums;
}

LiquidStats liquid_stats(const Liquid *liquid)
{
    LiquidStats stats = {.particles = liquid->count,
                         .awake = liquid->count - liquid->sleepers,
                         .density_error = liquid->density_error,
                         .density_error_max = liquid->density_error_max,
                         .neighbours_dropped = liquid->dropped,
                         .contacts = liquid->pair_count};
    f32 fastest = 0.0f;
    for (u32 s = 0; s < liquid->slots; s++) {
        fastest = f32_max(fastest, vec3_length_squared(liquid->velocities[s]));
        stats.pressure_max = f32_max(stats.pressure_max, liquid->pressures[s]);
    }
    u64 near = 0;
    for (u32 i = 0; i < liquid->items; i++) {
        near += liquid->near_count[i];
    }
    stats.neighbours = liquid->items != 0 ? (f32)near / (f32)liquid->items : 0.0f;
    stats.speed_max = sqrtf(fastest);
    stats.memory_bytes = liquid_bytes(&liquid->def) +
                         liquid->pair_capacity * sizeof *liquid->pairs +
                         liquid->cell_capacity * sizeof *liquid->cell_starts +
                         liquid->point_load_capacity * sizeof *liquid->point_loads;
    return stats;
}
