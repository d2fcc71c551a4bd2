/* gauge.c: see gauge.h. */
#include "tests/support/gauge.h"

#include <string.h>

f32 gauge_distance(const Gauge *gauge, Vec3 point, Vec3 *normal)
{
    Vec3 at = quat_rotate_inverse(gauge->orientation, vec3_sub(point, gauge->centre));
    const f32 x[3] = {at.x, at.y, at.z}, half[3] = {gauge->half.x, gauge->half.y, gauge->half.z};
    f32 out[3], away = 0.0f, nearest = -INFINITY, normals[3] = {0.0f, 0.0f, 0.0f};
    u32 face = 0;
    for (u32 i = 0; i < 3; i++) {
        f32 over = (x[i] < 0.0f ? -x[i] : x[i]) - half[i];
        out[i] = x[i] < 0.0f ? -1.0f : 1.0f;
        face = over > nearest ? i : face;
        nearest = f32_max(nearest, over);
        normals[i] = f32_max(over, 0.0f) * out[i];
        away += f32_max(over, 0.0f) * f32_max(over, 0.0f);
    }
    away = sqrtf(away);
    if (away > 0.0f) {
        *normal = vec3_scale(vec3(normals[0], normals[1], normals[2]), 1.0f / away);
    } else {
        normals[face] = out[face];
        *normal = vec3(normals[0], normals[1], normals[2]);
        away = nearest;
    }
    *normal = quat_rotate(gauge->orientation, *normal);
    return away;
}

void gauge_reset(Gauge *gauge)
{
    memset(gauge->impulse, 0, sizeof gauge->impulse);
    memset(gauge->moment, 0, sizeof gauge->moment);
    memset(gauge->bands, 0, sizeof gauge->bands);
}

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    PL_UNUSED(of);
    PL_UNUSED(jobs);
    PL_UNUSED(tick_s);
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    const Gauge *gauge = of;
    Vec3 middle = vec3_scale(vec3_add(bounds.min, bounds.max), 0.5f), normal;
    f32 reach = 0.5f * vec3_distance(bounds.min, bounds.max);
    PL_UNUSED(group);
    PL_UNUSED(mask);
    if (capacity == 0 || gauge_distance(gauge, middle, &normal) > reach) {
        return 0;
    }
    things[0] = 0;
    return 1;
}

static bool take(void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return true;
}

static void step(void *of, f32 h)
{
    PL_UNUSED(of);
    PL_UNUSED(h);
}

static void substep_end(void *of)
{
    PL_UNUSED(of);
}

static f32 distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    PL_UNUSED(thing);
    PL_UNUSED(reach);
    return gauge_distance(of, point, normal);
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    PL_UNUSED(point);
    return vec3_zero();
}

static f32 friction(const void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return 0.0f;
}

static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    Vec3 normal;
    f32 way = (vec3_length(particle->velocity) + CONTACT_MARGIN_M_S) * h;
    PL_UNUSED(thing);
    return gauge_distance(of, particle->position, &normal) < particle->radius + way;
}

static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    const Gauge *gauge = of;
    *place = (ContactPlace){.thing = thing, .keeps = true};
    place->arm = vec3_sub(particle->position, gauge->centre);
    Vec3 end = vec3_add_scaled(particle->position, h, particle->velocity);
    place->distance = gauge_distance(gauge, end, &place->normal);
    return place->distance < particle->radius;
}

static void refresh(const void *of, ContactPlace *place)
{
    PL_UNUSED(of);
    PL_UNUSED(place);
}

static f32 inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    PL_UNUSED(of);
    PL_UNUSED(place);
    PL_UNUSED(direction);
    return 1e-12f;
}

static void impulse(void *of, const ContactPlace *place, Vec3 p)
{
    Gauge *gauge = of;
    Vec3 local = quat_rotate_inverse(gauge->orientation, place->arm);
    f32 band = (f32)GAUGE_BANDS * (0.5f + 0.5f * local.y / gauge->half.y);
    u32 at = (u32)f32_clamp(band, 0.0f, (f32)GAUGE_BANDS - 0.5f);
    const f64 add[3] = {(f64)p.x, (f64)p.y, (f64)p.z};
    const f64 arm[3] = {(f64)place->arm.x, (f64)place->arm.y, (f64)place->arm.z};
    for (u32 i = 0; i < 3; i++) {
        u32 j = (i + 1) % 3, k = (i + 2) % 3;
        gauge->impulse[i] += add[i];
        gauge->bands[at][i] += add[i];
        gauge->moment[i] += arm[j] * add[k] - arm[k] * add[j];
    }
}

static const ColliderOps gauge_ops = {.name = "gauge",
                                      .begin = begin,
                                      .overlaps = overlaps,
                                      .take = take,
                                      .substep_begin = step,
                                      .step_begin = step,
                                      .step_end = step,
                                      .substep_end = substep_end,
                                      .distance = distance,
                                      .velocity = velocity,
                                      .friction = friction,
                                      .may_meet = may_meet,
                                      .meet = meet,
                                      .refresh = refresh,
                                      .inverse_mass = inverse_mass,
                                      .impulse = impulse};

Collider gauge_collider(Gauge *gauge)
{
    return (Collider){&gauge_ops, gauge};
}
