/*
 * solve_body.c: integration of bodies in a substep, eight at a time: forces, damping and the
 * gyroscopic term before the constraints, positions after them.
 */
#include "server/physics/rigid/rotation_step.h"

enum {
    BODY_GRAIN = 64
};
PL_STATIC_ASSERT(BODY_GRAIN % SIMD_LANES == 0, "only the last eight of all may have empty lanes");
PL_STATIC_ASSERT(offsetof(Body, inverse_inertia) == offsetof(Body, inertia) + 24,
                 "what a gather of an inertia reads too");

/* Eight awake bodies; entries beyond the last repeat the first and are not written. */
typedef struct Eight {
    u32 slots[SIMD_LANES];
    u32 count;
    u32 index; /* index among all groups of the stage */
} Eight;

static Eight eight_at(const Rigid *rigid, u32 first, u32 end)
{
    Eight eight = {.count = u32_min(SIMD_LANES, end - first)};
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        eight.slots[lane] = rigid->active[first + (lane < eight.count ? lane : 0)];
    }
    return eight;
}

/* ---- gathers ---- */

/* Gathers the first or the second half of the states. */
SIMD_INLINE void states_gather(const Rigid *rigid, const Eight *eight, u32 half, f32x8 m[8])
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load((const f32 *)&rigid->states[eight->slots[i]] + half * SIMD_LANES);
    }
    f32x8_transpose(m);
}

SIMD_INLINE void states_scatter(Rigid *rigid, const Eight *eight, u32 half, f32x8 m[8])
{
    f32x8_transpose(m);
    for (u32 i = 0; i < eight->count; i++) {
        f32x8_store((f32 *)&rigid->states[eight->slots[i]] + half * SIMD_LANES, m[i]);
    }
}

/* Gathers position, orientation and the x of the centre. */
SIMD_INLINE void poses_gather(const Rigid *rigid, const Eight *eight, f32x8 m[8])
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        memcpy(&m[i], &rigid->bodies[eight->slots[i]].position, sizeof(m[i]));
    }
    f32x8_transpose(m);
}

SIMD_INLINE void poses_scatter(Rigid *rigid, const Eight *eight, f32x8 m[8])
{
    f32x8_transpose(m);
    for (u32 i = 0; i < eight->count; i++) {
        memcpy(&rigid->bodies[eight->slots[i]].position, &m[i], sizeof(m[i]));
    }
}

SIMD_INLINE Symmetric3x8 inertias_gather(const Rigid *rigid, const Eight *eight)
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        memcpy(&m[i], &rigid->bodies[eight->slots[i]].inertia, sizeof(m[i]));
    }
    f32x8_transpose(m);
    return (Symmetric3x8){m[0], m[1], m[2], m[3], m[4], m[5]};
}

SIMD_INLINE void rests_gather(const Rigid *rigid, const Eight *eight, f32x8 m[8])
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        m[i] = f32x8_load((const f32 *)&rigid->rests[eight->slots[i]]);
    }
    f32x8_transpose(m);
}

SIMD_INLINE void rests_scatter(Rigid *rigid, const Eight *eight, f32x8 m[8])
{
    f32x8_transpose(m);
    for (u32 i = 0; i < eight->count; i++) {
        f32x8_store((f32 *)&rigid->rests[eight->slots[i]], m[i]);
    }
}

/* ---- arithmetic ---- */

/* a + b, where *rest is the rounding error of earlier sums, and receives that of this one (Kahan
 * 1965). */
SIMD_INLINE f32x8 add_kept(f32x8 a, f32x8 b, f32x8 *rest)
{
    f32x8 part = b + *rest, sum = a + part, lost = part - (sum - a);
    *rest = f32x8_and(f32x8_abs(lost) < 1.0f, lost); /* no NaN, whatever the input */
    return sum;
}

/* Limits velocities and removes NaN, so that the simulation always continues. */
SIMD_INLINE Vec3x8 speed_limited(Vec3x8 v, f32 limit)
{
    f32x8 speed2 = vec3x8_dot(v, v), most = f32x8_set(limit);
    i32x8 within = speed2 <= most * most;
    if (!i32x8_any(~within)) {
        return v;
    }
    f32x8 s = most / f32x8_sqrt(speed2);
    i32x8 finite = speed2 < f32x8_set(INFINITY); /* then all three are */
    Vec3x8 limited = {f32x8_and(finite, v.x * s), f32x8_and(finite, v.y * s),
                      f32x8_and(finite, v.z * s)};
    return vec3x8_select(within, v, limited);
}

/* The tensor rotated with the body, by Cayley's map of the rotation vector. */
SIMD_INLINE Symmetric3x8 symmetric3x8_rotation(const Symmetric3x8 *m, Vec3x8 rotation)
{
    f32x8 one = f32x8_set(1.0f), two = f32x8_set(2.0f);
    Vec3x8 u = vec3x8_scale(rotation, f32x8_set(0.5f));
    f32x8 s = two / (one + vec3x8_dot(u, u)), d = s - one;
    Vec3x8 su = vec3x8_scale(u, s);
    /* Rows of the rotation. */
    Vec3x8 x = {su.x * u.x + d, su.x * u.y - su.z, su.x * u.z + su.y};
    Vec3x8 y = {su.y * u.x + su.z, su.y * u.y + d, su.y * u.z - su.x};
    Vec3x8 z = {su.z * u.x - su.y, su.z * u.y + su.x, su.z * u.z + d};
    Vec3x8 mx = symmetric3x8_mul(m, x), my = symmetric3x8_mul(m, y), mz = symmetric3x8_mul(m, z);
    return (Symmetric3x8){vec3x8_dot(x, mx), vec3x8_dot(y, my), vec3x8_dot(z, mz),
                          vec3x8_dot(x, my), vec3x8_dot(x, mz), vec3x8_dot(y, mz)};
}

/* ---- stages ---- */

static void velocity_eight(Rigid *rigid, const Eight *eight, f32 step)
{
    f32x8 m[8], n[8], one = f32x8_set(1.0f), h = f32x8_set(step);
    i32x8 dynamic = {0}; /* others keep their prescribed motion */
    for (u32 i = 0; i < SIMD_LANES; i++) {
        dynamic[i] = rigid->bodies[eight->slots[i]].motion == BODY_DYNAMIC ? -1 : 0;
    }
    states_gather(rigid, eight, 0, m);
    states_gather(rigid, eight, 1, n);
    Vec3x8 velocity = {m[0], m[1], m[2]}, angular_velocity = {m[4], m[5], m[6]};
    FreeFlight *flight = &rigid->free_flights[eight->index];
    f32x8 low[8];
    rests_gather(rigid, eight, low);
    Vec3x8 v = velocity, w = angular_velocity, rest = {low[0], low[1], low[2]};
    Vec3x8 kick = vec3x8_scale(vec3x8_set(rigid->gravity), h * m[7]);
    f32x8 slower = one / (one + h * n[3]);
    v.x = add_kept(v.x, kick.x, &rest.x) * slower;
    v.y = add_kept(v.y, kick.y, &rest.y) * slower;
    v.z = add_kept(v.z, kick.z, &rest.z) * slower;
    w = vec3x8_scale(w, one / (one + h * n[7]));
    flight->before = speed_limited(velocity, SPEED_MAX_M_S);
    velocity = speed_limited(vec3x8_select(dynamic, v, velocity), SPEED_MAX_M_S);
    angular_velocity =
        speed_limited(vec3x8_select(dynamic, w, angular_velocity), ANGULAR_SPEED_MAX_RAD_S);
    f32x8 kept[8] = {rest.x * slower, rest.y * slower, rest.z * slower, low[3],
                     low[4],          low[5],          low[6],          low[7]};
    rests_scatter(rigid, eight, kept);
    flight->after = velocity;
    f32x8 out[8] = {velocity.x,         velocity.y,         velocity.z,         m[3],
                    angular_velocity.x, angular_velocity.y, angular_velocity.z, m[7]};
    states_scatter(rigid, eight, 0, out);
}

/* A stage for the awake bodies from `first` on, over h seconds. */
typedef struct BodyStageRun {
    Rigid *rigid;
    u32 first;
    f32 h;
} BodyStageRun;

static void velocity_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const BodyStageRun *run = context;
    for (u32 i = first; i < end; i += SIMD_LANES) {
        Eight eight = eight_at(run->rigid, run->first + i, run->first + end);
        eight.index = i / SIMD_LANES;
        velocity_eight(run->rigid, &eight, run->h);
    }
}

/* Bodies with unequal moments of inertia whose rotation in the step is significant. */
SIMD_INLINE i32x8 who_rotates(const Rigid *rigid, const Eight *eight, Vec3x8 angular_velocity)
{
    i32x8 rotates = {0};
    for (u32 i = 0; i < SIMD_LANES; i++) {
        const Body *body = &rigid->bodies[eight->slots[i]];
        rotates[i] = body->motion == BODY_DYNAMIC && !(body->flags & BODY_ROUND) ? -1 : 0;
    }
    return rotates & (vec3x8_dot(angular_velocity, angular_velocity) >= 1e-6f);
}

/* Updates world inertias after the rotation of the step, for joints, grabs and other matter in
 * the next one. */
SIMD_INLINE void inertias_follow(Rigid *rigid, const Eight *eight, i32x8 rotates, Vec3x8 rotation)
{
    f32x8 m[8];
    for (u32 i = 0; i < SIMD_LANES; i++) {
        memcpy(&m[i], &rigid->inertias[eight->slots[i]], sizeof(m[i]));
    }
    f32x8_transpose(m);
    Symmetric3x8 world = {m[0], m[1], m[2], m[3], m[4], m[5]};
    world = symmetric3x8_rotation(&world, rotation);
    f32x8 out[8] = {world.xx, world.yy, world.zz, world.xy, world.xz, world.yz, m[6], m[7]};
    f32x8_transpose(out);
    for (u32 i = 0; i < eight->count; i++) {
        if (rotates[i]) {
            memcpy(&rigid->inertias[eight->slots[i]], &out[i], sizeof(Symmetric3));
        }
    }
}

/* Mean velocity of a step. Bodies not touched since the forces were applied follow a parabola,
 * with the mean of both velocities; constrained bodies move with the velocity found by the
 * constraints, which rely on this, and so do bodies that rest on others and lose contact for a
 * step. */
SIMD_INLINE Vec3x8 passed_in_step(const Rigid *rigid, const Eight *eight, Vec3x8 velocity)
{
    const FreeFlight *flight = &rigid->free_flights[eight->index];
    i32x8 untouched = (velocity.x == flight->after.x) & (velocity.y == flight->after.y) &
                      (velocity.z == flight->after.z);
    i32x8 near = {0};
    for (u32 i = 0; i < SIMD_LANES; i++) {
        near[i] = rigid->colors_used[eight->slots[i]] != 0 ? -1 : 0;
    }
    i32x8 falls = vec3x8_dot(velocity, vec3x8_sub(flight->after, flight->before)) >= 0.0f;
    untouched &=
        ~(near & falls & (vec3x8_dot(velocity, velocity) < RIGID_BOUNCE_M_S * RIGID_BOUNCE_M_S));
    Vec3x8 mean = vec3x8_scale(vec3x8_add(flight->before, velocity), f32x8_set(0.5f));
    return vec3x8_select(untouched, mean, velocity);
}

static void position_eight(Rigid *rigid, const Eight *eight, f32 step)
{
    f32x8 m[8], n[8], p[8], h = f32x8_set(step);
    states_gather(rigid, eight, 0, m);
    states_gather(rigid, eight, 1, n);
    poses_gather(rigid, eight, p);
    Vec3x8 velocity = {m[0], m[1], m[2]}, angular_velocity = {m[4], m[5], m[6]};
    velocity = speed_limited(velocity, SPEED_MAX_M_S);
    angular_velocity = speed_limited(angular_velocity, ANGULAR_SPEED_MAX_RAD_S);
    Vec3x8 shift = vec3x8_scale(passed_in_step(rigid, eight, velocity), h), mean = angular_velocity;
    Quatx8 q = {p[3], p[4], p[5], p[6]};
    i32x8 rotates = who_rotates(rigid, eight, angular_velocity);
    if (i32x8_any(rotates)) {
        Symmetric3x8 inertia = inertias_gather(rigid, eight);
        RotationStep turning = rotation_freely(q, &inertia, angular_velocity, h);
        mean = vec3x8_select(rotates, turning.mean, angular_velocity);
        angular_velocity = vec3x8_select(rotates, turning.after, angular_velocity);
        inertias_follow(rigid, eight, rotates, vec3x8_scale(mean, h));
    }
    q = quatx8_integrate(q, mean, h);
    f32x8 edge = f32x8_set(WORLD_EXTENT_MAX_M), low[8];
    rests_gather(rigid, eight, low);
    p[0] = add_kept(p[0], shift.x, &low[4]);
    p[1] = add_kept(p[1], shift.y, &low[5]);
    p[2] = add_kept(p[2], shift.z, &low[6]);
    rests_scatter(rigid, eight, low);
    f32x8 pose[8] = {f32x8_max(f32x8_min(p[0], edge), -edge),
                     f32x8_max(f32x8_min(p[1], edge), -edge),
                     f32x8_max(f32x8_min(p[2], edge), -edge),
                     q.w,
                     q.x,
                     q.y,
                     q.z,
                     p[7]};
    poses_scatter(rigid, eight, pose);
    f32x8 speeds[8] = {velocity.x,         velocity.y,         velocity.z,         m[3],
                       angular_velocity.x, angular_velocity.y, angular_velocity.z, m[7]};
    states_scatter(rigid, eight, 0, speeds);
    f32x8 motion[8] = {n[0] + shift.x,    n[1] + shift.y,    n[2] + shift.z,    n[3],
                       n[4] + h * mean.x, n[5] + h * mean.y, n[6] + h * mean.z, n[7]};
    states_scatter(rigid, eight, 1, motion);
}

static void position_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const BodyStageRun *run = context;
    for (u32 i = first; i < end; i += SIMD_LANES) {
        Eight eight = eight_at(run->rigid, run->first + i, run->first + end);
        eight.index = i / SIMD_LANES;
        position_eight(run->rigid, &eight, run->h);
    }
}

static void limit_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i += SIMD_LANES) {
        Eight eight = eight_at(rigid, i, end);
        f32x8 m[8];
        states_gather(rigid, &eight, 0, m);
        Vec3x8 velocity = speed_limited((Vec3x8){m[0], m[1], m[2]}, SPEED_MAX_M_S);
        Vec3x8 angular_velocity =
            speed_limited((Vec3x8){m[4], m[5], m[6]}, ANGULAR_SPEED_MAX_RAD_S);
        f32x8 out[8] = {velocity.x,         velocity.y,         velocity.z,         m[3],
                        angular_velocity.x, angular_velocity.y, angular_velocity.z, m[7]};
        states_scatter(rigid, &eight, 0, out);
    }
}

static void begin_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        const Body *body = &rigid->bodies[slot];
        rigid->states[slot].shift = vec3_zero();
        rigid->states[slot].rotation = vec3_zero();
        rigid->inertias[slot] = symmetric_rotate(body->orientation, &body->inverse_inertia);
    }
}

void bodies_begin(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, begin_range, rigid);
}
static void run_stage(Rigid *rigid, bool pgs, f32 h, JobsLoop *loop)
{
    u32 others = rigid->active_count - rigid->pgs_count;
    BodyStageRun run = {rigid, pgs ? others : 0, h};
    jobs_run(rigid->jobs, pgs ? rigid->pgs_count : others, BODY_GRAIN, loop, &run);
}
void bodies_accelerate(Rigid *rigid, bool pgs, f32 h)
{
    run_stage(rigid, pgs, h, velocity_range);
}
void bodies_move(Rigid *rigid, bool pgs, f32 h)
{
    run_stage(rigid, pgs, h, position_range);
}
void bodies_limit(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->active_count, BODY_GRAIN, limit_range, rigid);
}
