/* force.c: fields of force and air. */
#include "server/physics/particles/particles_internal.h"

#include "shared/math/random.h"
#include "shared/math/trig.h"

static const f32 two_pi = 6.2831853f;

/* Largest acceleration of an attractor: the motion of closer particles is not resolved. */
static const f32 pull_max_m_s2 = 1e6f;

Vec3 particles_pull(const ParticleSystem *system, Vec3 position)
{
    Vec3 sum = vec3_zero();
    for (u32 i = 0; i < system->def.force_count; i++) {
        const ParticleForce *force = &system->forces[i];
        if (force->kind != PARTICLE_ATTRACTOR) {
            continue;
        }
        Vec3 d = vec3_sub(position, force->position);
        f32 r2 = vec3_length_squared(d), r = sqrtf(r2);
        f32 pull = force->strength / f32_max(r2 + force->radius * force->radius, 1e-12f);
        pull = f32_clamp(pull, -pull_max_m_s2, pull_max_m_s2);
        sum = r > 1e-6f ? vec3_add_scaled(sum, -pull / r, d) : sum;
    }
    return sum;
}

f64 particles_potential(const ParticleSystem *system, Vec3 position)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < system->def.force_count; i++) {
        const ParticleForce *force = &system->forces[i];
        f64 r = (f64)vec3_distance(position, force->position), core = (f64)force->radius;
        if (force->kind != PARTICLE_ATTRACTOR) {
            continue;
        }
        /* ∫ k / (r² + ε²) dr from infinity: −k/ε (π/2 − atan(r/ε)), or −k/r without a core. */
        sum -= core > 0.0 ? (f64)force->strength / core * trig_atan2(core, r)
                          : (f64)force->strength / (r > 1e-9 ? r : 1e-9);
    }
    return sum;
}

/* ---- turbulence ---- */

/* A potential in [−1, 1]³ at a corner of the lattice, and its gradient in between, by quintic
 * interpolation in space and linear in time (Bridson et al. 2007, "Curl-noise for procedural fluid
 * flow"; the lattice holds values). */
static Vec3 corner_value(u64 seed, i32 x, i32 y, i32 z, i32 t)
{
    u64 cell = ((u64)(u32)x & 0xFFFF) | ((u64)(u32)y & 0xFFFF) << 16 |
               ((u64)(u32)z & 0xFFFF) << 32 | ((u64)(u32)t & 0xFFFF) << 48;
    u64 bits = random_u64(seed, cell);
    const f32 unit = 2.0f / 2097151.0f; /* of 21 bits */
    return vec3((f32)(bits & 0x1FFFFF) * unit - 1.0f, (f32)(bits >> 21 & 0x1FFFFF) * unit - 1.0f,
                (f32)(bits >> 42 & 0x1FFFFF) * unit - 1.0f);
}

static i32 floor_of(f32 v)
{
    f32 c = f32_clamp(v, -1e9f, 1e9f);
    i32 i = (i32)c;
    return (f32)i > c ? i - 1 : i;
}

/* Weights of the two corners along an axis, and their slopes. */
typedef struct Blend {
    i32 cell;
    f32 weight[2], slope[2];
} Blend;

static Blend blend_at(f32 v)
{
    i32 cell = floor_of(v);
    f32 u = f32_clamp(v - (f32)cell, 0.0f, 1.0f);
    f32 w = u * u * u * (u * (u * 6.0f - 15.0f) + 10.0f);
    f32 s = 30.0f * u * u * (u * (u - 2.0f) + 1.0f);
    return (Blend){cell, {1.0f - w, w}, {-s, s}};
}

/* Curl of the potential, about ±1. */
static Vec3 curl_noise(u64 seed, Vec3 at, f32 time)
{
    Blend bx = blend_at(at.x), by = blend_at(at.y), bz = blend_at(at.z), bt = blend_at(time);
    Vec3 dx = vec3_zero(), dy = vec3_zero(), dz = vec3_zero(); /* of the three potentials */
    for (i32 c = 0; c < 16; c++) {
        i32 i = c & 1, j = c >> 1 & 1, k = c >> 2 & 1, l = c >> 3;
        Vec3 p = corner_value(seed, bx.cell + i, by.cell + j, bz.cell + k, bt.cell + l);
        p = vec3_scale(p, bt.weight[l]);
        dx = vec3_add_scaled(dx, bx.slope[i] * by.weight[j] * bz.weight[k], p);
        dy = vec3_add_scaled(dy, bx.weight[i] * by.slope[j] * bz.weight[k], p);
        dz = vec3_add_scaled(dz, bx.weight[i] * by.weight[j] * bz.slope[k], p);
    }
    return vec3(dy.z - dz.y, dz.x - dx.z, dx.y - dy.x);
}

Vec3 particles_air(const Particles *p, const ParticleSystem *system, Vec3 position)
{
    const ParticlesDef *def = &system->def;
    Vec3 air = p->wind;
    for (u32 i = 0; i < def->force_count; i++) {
        const ParticleForce *force = &system->forces[i];
        if (force->kind != PARTICLE_VORTEX) {
            continue;
        }
        Vec3 d = vec3_sub(position, force->position);
        d = vec3_add_scaled(d, -vec3_dot(d, force->axis), force->axis);
        f32 core = vec3_length_squared(d) + f32_max(force->radius * force->radius, 1e-6f);
        air = vec3_add_scaled(air, force->strength / (two_pi * core), vec3_cross(force->axis, d));
    }
    if (def->noise > 0.0f) {
        Vec3 at = vec3_scale(position, 1.0f / def->noise_size);
        f64 time = p->time_s * (f64)def->noise_rate;
        f32 cycle = (f32)(time - 65536.0 * (f64)(u64)(time / 65536.0));
        air = vec3_add_scaled(air, def->noise, curl_noise(def->seed, at, cycle));
    }
    return air;
}
