/*
 * turn.c: the angular momentum of a body through its own constraints. These push along where its
 * points will be at the end of the step, as implicit Euler does: what turns by ω loses ω² h of its
 * spin in a second, half of it in 10 s at 8 rad/s. Nothing within a body can turn it, so what its
 * constraints took of its angular momentum is given back as a turn of the whole; what they took of
 * its vibrations stays taken.
 */
#include "server/physics/soft/store.h"

#include "shared/simd.h"

/* Of the trace of the inertia, added to its axes: a straight rope has none about itself. */
static const f32 inertia_least = 1e-5f;

/* Of a body's points: m is their mass, r and u are places and velocities from those of the first,
 * which keeps digits far from the origin. */
typedef struct TurnSums {
    f64 mass;                   /* Σ m */
    f64 place[3], motion[3];    /* Σ m r, Σ m u */
    f64 momentum[3];            /* Σ m r × u */
    f64 xx, yy, zz, xy, xz, yz; /* Σ m r rᵀ */
    bool pinned;                /* one of them is held by the world */
} TurnSums;

/* Eight points, those too many without mass. */
typedef struct TurnEight {
    f32x8 mass;
    Vec3x8 r, u;
    bool pinned;
} TurnEight;

static inline TurnEight gather(const SoftPoint *points, u32 first, u32 end)
{
    f32x8 m[8], one = f32x8_set(1.0f);
    u32 count = u32_min(end - first, SIMD_LANES);
    i32x8 there = {0};
    for (u32 i = 0; i < SIMD_LANES; i++) {
        memcpy(&m[i], &points[i < count ? first + i : first], sizeof m[i]);
        there[i] = i < count ? -1 : 0;
    }
    f32x8_transpose(m);
    Vec3 x = points[0].position, v = points[0].velocity;
    i32x8 fixed = there & (i32x8)(m[3] <= 0.0f);
    TurnEight of = {.pinned = i32x8_any(fixed),
                    .r = vec3x8_sub((Vec3x8){m[0], m[1], m[2]}, vec3x8_set(x)),
                    .u = vec3x8_sub((Vec3x8){m[4], m[5], m[6]}, vec3x8_set(v))};
    of.mass = f32x8_and(there, one / f32x8_select(m[3] > 0.0f, m[3], one));
    return of;
}

static inline f64 sum(f32x8 v)
{
    return ((f64)(v[0] + v[4]) + (f64)(v[1] + v[5])) + ((f64)(v[2] + v[6]) + (f64)(v[3] + v[7]));
}

/* The inertia only where it is asked for. */
static TurnSums sums_of(const Soft *soft, const SoftBody *body, bool inertia)
{
    const SoftPoint *points = soft->points + body->first;
    TurnSums s = {.mass = 0.0};
    f32x8 zero = f32x8_set(0.0f), mass = zero, xx = zero, yy = zero, zz = zero;
    f32x8 xy = zero, xz = zero, yz = zero;
    Vec3x8 place = {zero, zero, zero}, motion = place, momentum = place;
    for (u32 i = 0; i < body->count && !s.pinned; i += SIMD_LANES) {
        TurnEight of = gather(points, i, body->count);
        Vec3x8 mr = vec3x8_scale(of.r, of.mass);
        s.pinned = of.pinned;
        mass += of.mass;
        place = vec3x8_add(place, mr);
        motion = vec3x8_add_scaled(motion, of.mass, of.u);
        momentum = vec3x8_add(momentum, vec3x8_cross(mr, of.u));
        if (inertia) {
            xx += mr.x * of.r.x;
            yy += mr.y * of.r.y;
            zz += mr.z * of.r.z;
            xy += mr.x * of.r.y;
            xz += mr.x * of.r.z;
            yz += mr.y * of.r.z;
        }
    }
    s.mass = sum(mass);
    s.place[0] = sum(place.x), s.place[1] = sum(place.y), s.place[2] = sum(place.z);
    s.motion[0] = sum(motion.x), s.motion[1] = sum(motion.y), s.motion[2] = sum(motion.z);
    s.momentum[0] = sum(momentum.x);
    s.momentum[1] = sum(momentum.y);
    s.momentum[2] = sum(momentum.z);
    s.xx = sum(xx), s.yy = sum(yy), s.zz = sum(zz);
    s.xy = sum(xy), s.xz = sum(xz), s.yz = sum(yz);
    return s;
}

/* About the centre of mass, kg m²/s. */
static Vec3 momentum_of(const TurnSums *s)
{
    const f64 *p = s->place, *q = s->motion, *l = s->momentum;
    f64 w = 1.0 / s->mass;
    return vec3((f32)(l[0] - w * (p[1] * q[2] - p[2] * q[1])),
                (f32)(l[1] - w * (p[2] * q[0] - p[0] * q[2])),
                (f32)(l[2] - w * (p[0] * q[1] - p[1] * q[0])));
}

static Symmetric3 inertia_of(const TurnSums *s)
{
    const f64 *p = s->place;
    f64 w = 1.0 / s->mass;
    f64 xx = s->xx - w * p[0] * p[0], yy = s->yy - w * p[1] * p[1], zz = s->zz - w * p[2] * p[2];
    f64 least = (f64)inertia_least * (xx + yy + zz);
    return (Symmetric3){(f32)(yy + zz + least),         (f32)(xx + zz + least),
                        (f32)(xx + yy + least),         (f32)(w * p[0] * p[1] - s->xy),
                        (f32)(w * p[0] * p[2] - s->xz), (f32)(w * p[1] * p[2] - s->yz)};
}

void turn_begin(Soft *soft, SoftBody *body)
{
    TurnSums s = sums_of(soft, body, false);
    /* What a rigid body holds is turned by it. */
    body->turns = !s.pinned && body->pin_count == 0 && s.mass > 0.0;
    body->momentum = body->turns ? momentum_of(&s) : vec3_zero();
}

void turn_end(Soft *soft, const SoftBody *body)
{
    if (!body->turns) {
        return;
    }
    TurnSums s = sums_of(soft, body, true);
    Symmetric3 inertia = inertia_of(&s), inverse = symmetric_inverse(&inertia);
    Vec3 lost = vec3_sub(body->momentum, momentum_of(&s));
    Vec3 spin = symmetric_mul(&inverse, lost);
    if (!vec3_is_finite(spin)) {
        return;
    }
    SoftPoint *points = soft->points + body->first;
    f64 w = 1.0 / s.mass;
    Vec3 centre = vec3((f32)(w * s.place[0]), (f32)(w * s.place[1]), (f32)(w * s.place[2]));
    centre = vec3_add(centre, points[0].position);
    for (u32 i = 0; i < body->count; i++) {
        Vec3 arm = vec3_sub(points[i].position, centre);
        points[i].velocity = vec3_add(points[i].velocity, vec3_cross(spin, arm));
    }
}
