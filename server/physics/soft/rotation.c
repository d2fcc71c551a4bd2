/*
 * rotation.c: preserves the angular momentum of a body under its own constraints. These act along
 * the predicted positions, as in implicit Euler: a body rotating at ω loses ω² h of its spin per
 * second, half of it in 10 s at 8 rad/s. Internal forces cannot change angular momentum, so what
 * the constraints removed is restored as a rotation of the whole; their damping of vibrations
 * remains.
 */
#include "server/physics/soft/batches.h"

#include "shared/math/simd.h"

/* Of the trace of the inertia, added to its diagonal: a straight rope has none about itself. */
static const f32 inertia_least = 1e-5f;

/* Eight points; unused lanes have no mass. */
typedef struct RotationEight {
    f32x8 mass;
    Vec3x8 r, u;
    i32x8 fixed;
} RotationEight;

SIMD_INLINE RotationEight gather(const SoftPoint *points, const u32 *order, u32 left, Vec3x8 x,
                                 Vec3x8 v)
{
    static const i32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    f32x8 m[8], one = f32x8_set(1.0f);
    u32 count = u32_min(left, SIMD_LANES);
#pragma GCC unroll 8
    for (u32 i = 0; i < SIMD_LANES; i++) {
        memcpy(&m[i], &points[order[i < count ? i : 0]], sizeof m[i]);
    }
    f32x8_transpose(m);
    i32x8 there = lanes < (i32)count, fixed = there & (i32x8)(m[3] <= 0.0f);
    RotationEight of = {.fixed = fixed,
                        .r = vec3x8_sub((Vec3x8){m[0], m[1], m[2]}, x),
                        .u = vec3x8_sub((Vec3x8){m[4], m[5], m[6]}, v)};
    of.mass = f32x8_and(there, one / f32x8_select(fixed, one, m[3]));
    return of;
}

static inline f64 sum(f32x8 v)
{
    return ((f64)(v[0] + v[4]) + (f64)(v[1] + v[5])) + ((f64)(v[2] + v[6]) + (f64)(v[3] + v[7]));
}

/* Sums over ordered particles, relative to the first; the inertia only on request. */
SIMD_INLINE RotationSums sums_of(const Soft *soft, const u32 *order, u32 count, bool inertia)
{
    const SoftPoint *points = soft->points;
    RotationSums s = {.from = points[order[0]].position, .speed = points[order[0]].velocity};
    f32x8 zero = f32x8_set(0.0f), mass = zero, xx = zero, yy = zero, zz = zero;
    f32x8 xy = zero, xz = zero, yz = zero;
    Vec3x8 place = {zero, zero, zero}, motion = place, momentum = place;
    Vec3x8 from = vec3x8_set(s.from), speed = vec3x8_set(s.speed);
    i32x8 fixed = {0};
    for (u32 i = 0; i < count; i += SIMD_LANES) {
        RotationEight of = gather(points, order + i, count - i, from, speed);
        Vec3x8 mr = vec3x8_scale(of.r, of.mass);
        fixed |= of.fixed;
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
    s.pinned = i32x8_any(fixed);
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
static Vec3 momentum_of(const RotationSums *s)
{
    const f64 *p = s->place, *q = s->motion, *l = s->momentum;
    f64 w = 1.0 / s->mass;
    return vec3((f32)(l[0] - w * (p[1] * q[2] - p[2] * q[1])),
                (f32)(l[1] - w * (p[2] * q[0] - p[0] * q[2])),
                (f32)(l[2] - w * (p[0] * q[1] - p[1] * q[0])));
}

static Symmetric3 inertia_of(const RotationSums *s)
{
    const f64 *p = s->place;
    f64 w = 1.0 / s->mass;
    f64 xx = s->xx - w * p[0] * p[0], yy = s->yy - w * p[1] * p[1], zz = s->zz - w * p[2] * p[2];
    f64 least = (f64)inertia_least * (xx + yy + zz);
    return (Symmetric3){(f32)(yy + zz + least),         (f32)(xx + zz + least),
                        (f32)(xx + yy + least),         (f32)(w * p[0] * p[1] - s->xy),
                        (f32)(w * p[0] * p[2] - s->xz), (f32)(w * p[1] * p[2] - s->yz)};
}

static bool has_rotation(const SoftBody *body, const RotationSums *s)
{
    return !s->pinned && !body->fixed && s->mass > 0.0;
}

/* Can it rotate? All others need no sums. */
static bool may_rotation(const Soft *soft, u32 body)
{
    return !soft->bodies[body].fixed && !soft->rests[body].pinned;
}

void rotation_begin(Soft *soft, SoftBody *body)
{
    if (!may_rotation(soft, (u32)(body - soft->bodies))) {
        body->rotates = false;
        return;
    }
    RotationSums s = sums_of(soft, soft->batches->order + body->first, body->count, false);
    body->rotates = has_rotation(body, &s);
    body->momentum = body->rotates ? momentum_of(&s) : vec3_zero();
}

void rotation_begin_slab(Soft *soft, u32 group)
{
    ConstraintBatches *batches = soft->batches;
    const BatchSpan *span = &batches->groups[group].particles;
    if (may_rotation(soft, soft->matter[batches->order[span->first]].body)) {
        batches->rotations[group] = sums_of(soft, batches->order + span->first, span->count, false);
    }
}

static void cross(const f64 a[3], const f64 b[3], f64 scale, f64 sum[3])
{
    sum[0] += scale * (a[1] * b[2] - a[2] * b[1]);
    sum[1] += scale * (a[2] * b[0] - a[0] * b[2]);
    sum[2] += scale * (a[0] * b[1] - a[1] * b[0]);
}

/* Adds partial sums with another origin. */
static void join(RotationSums *to, const RotationSums *part)
{
    Vec3 off = vec3_sub(part->from, to->from), faster = vec3_sub(part->speed, to->speed);
    const f64 x[3] = {(f64)off.x, (f64)off.y, (f64)off.z};
    const f64 u[3] = {(f64)faster.x, (f64)faster.y, (f64)faster.z};
    cross(part->place, u, 1.0, to->momentum);
    cross(x, part->motion, 1.0, to->momentum);
    cross(x, u, part->mass, to->momentum);
    for (u32 k = 0; k < 3; k++) {
        to->momentum[k] += part->momentum[k];
        to->place[k] += part->place[k] + part->mass * x[k];
        to->motion[k] += part->motion[k] + part->mass * u[k];
    }
    const f64 *p = part->place;
    to->xx += part->xx + 2.0 * x[0] * p[0] + part->mass * x[0] * x[0];
    to->yy += part->yy + 2.0 * x[1] * p[1] + part->mass * x[1] * x[1];
    to->zz += part->zz + 2.0 * x[2] * p[2] + part->mass * x[2] * x[2];
    to->xy += part->xy + x[0] * p[1] + x[1] * p[0] + part->mass * x[0] * x[1];
    to->xz += part->xz + x[0] * p[2] + x[2] * p[0] + part->mass * x[0] * x[2];
    to->yz += part->yz + x[1] * p[2] + x[2] * p[1] + part->mass * x[1] * x[2];
    to->mass += part->mass;
    to->pinned = to->pinned || part->pinned;
}

static RotationSums join_slabs(const ConstraintBatches *batches, const BatchBody *of)
{
    RotationSums s = batches->rotations[of->first_group];
    for (u32 g = 1; g < of->group_count; g++) {
        join(&s, &batches->rotations[of->first_group + g]);
    }
    return s;
}

void rotation_begin_cut(Soft *soft, const BatchBody *of)
{
    SoftBody *body = &soft->bodies[of->body];
    body->rotates = false;
    if (!may_rotation(soft, of->body)) {
        return;
    }
    RotationSums s = join_slabs(soft->batches, of);
    body->rotates = has_rotation(body, &s);
    body->momentum = body->rotates ? momentum_of(&s) : vec3_zero();
}

static void give_back(Soft *soft, const SoftBody *body, const RotationSums *s)
{
    Symmetric3 inertia = inertia_of(s), inverse = symmetric_inverse(&inertia);
    Vec3 lost = vec3_sub(body->momentum, momentum_of(s));
    Vec3 angular_velocity = symmetric_mul(&inverse, lost);
    if (!vec3_is_finite(angular_velocity)) {
        return;
    }
    SoftPoint *points = soft->points + body->first;
    f64 w = 1.0 / s->mass;
    Vec3 centre = vec3((f32)(w * s->place[0]), (f32)(w * s->place[1]), (f32)(w * s->place[2]));
    centre = vec3_add(centre, s->from);
    const f32x4 middle = {centre.x, centre.y, centre.z, 0.0f};
    const f32x4 yzx = {angular_velocity.y, angular_velocity.z, angular_velocity.x, 0.0f},
                zxy = {angular_velocity.z, angular_velocity.x, angular_velocity.y, 0.0f};
    for (u32 i = 0; i < body->count; i++) {
        f32x4 arm = *(const f32x4 *)(const void *)&points[i].position - middle;
        f32x4 *velocity = (f32x4 *)(void *)&points[i].velocity;
        *velocity += yzx * __builtin_shufflevector(arm, arm, 2, 0, 1, 3) -
                     zxy * __builtin_shufflevector(arm, arm, 1, 2, 0, 3);
    }
}

void rotation_end(Soft *soft, SoftBody *body)
{
    if (body->rotates) {
        RotationSums s = sums_of(soft, soft->batches->order + body->first, body->count, true);
        give_back(soft, body, &s);
        body->rotates = false;
    }
}

/* By slabs, as before: rounding is then the same, and does not rotate the body over many steps. */
void rotation_end_cut(Soft *soft, const BatchBody *of)
{
    ConstraintBatches *batches = soft->batches;
    SoftBody *body = &soft->bodies[of->body];
    for (u32 g = of->first_group; body->rotates && g < of->first_group + of->group_count; g++) {
        const BatchSpan *span = &batches->groups[g].particles;
        batches->rotations[g] = sums_of(soft, batches->order + span->first, span->count, true);
    }
    if (body->rotates) {
        RotationSums s = join_slabs(batches, of);
        give_back(soft, body, &s);
        body->rotates = false;
    }
}
