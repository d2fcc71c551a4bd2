/* grain_solve.c: impulses between grains, a colour at a time. */
#include "server/physics/liquid/grain.h"
#include "server/physics/liquid/near8.h"

enum {
    BLOCKS = 32 /* of a job */
};

/* Overlap that is ignored, in diameters; the fraction of the rest that a step corrects, and its
 * limits, in diameters and m/s. Displacement adds no velocity, so that no overlap can explode. */
static const f32 slop = 0.005f;
static const f32 apart_part = 0.2f;
static const f32 apart_most = 0.05f;
/* Overlap above which contacts also push: compressed grains lift their load again. */
static const f32 deep_from = 0.05f;
static const f32 deep_part = 0.1f;
static const f32 deep_m_s = 0.3f;
/* Over-relaxation where a normal impulse decreases and where it grows. The residual that few sweeps
 * leave to the next steps acts as a spring: with 1 and 1 a block of 16 layers that falls by five
 * diameters regains 44 % of the energy of its fall, with these 9 %. */
static const f32 relief = 1.9f;
static const f32 growth = 1.5f;
/* A contact open this far (diameters) drops its impulse. */
static const f32 forget_gap = 0.02f;
/* A contact whose friction is at least this fraction of its bound slides. */
static const f32 slides_from = 0.999f;

/* Directions for grains at the same position, one for each lane. */
static const Vec3x8 anywhere = {
    {0.577f, -0.577f, 0.577f, -0.577f, 0.577f, -0.577f, 0.577f, -0.577f},
    {0.577f, 0.577f, -0.577f, -0.577f, 0.577f, 0.577f, -0.577f, -0.577f},
    {0.577f, 0.577f, 0.577f, 0.577f, -0.577f, -0.577f, -0.577f, -0.577f}};

typedef struct Lot {
    Liquid *liquid;
    f32 scale;
} Lot;

SIMD_INLINE void scatter_fours(Four *to, const u32 *item, f32x8 m[4])
{
    f32x8_transpose_halves(m);
    for (u32 k = 0; k < 4; k++) {
        f32x8_store_halves(&to[item[k]].x, &to[item[k + 4]].x, m[k]);
    }
}

/* The grains of one side of a block. */
typedef struct GrainSide {
    f32x8 v[4], s[4]; /* velocity, surface speed */
} GrainSide;

SIMD_INLINE GrainSide side_of(const Liquid *liquid, const u32 *item)
{
    GrainSide side = {{f32x8_set(0.0f)}, {f32x8_set(0.0f)}};
    gather_fours(liquid->motion, item, side.v);
    gather_fours(liquid->contacts->surface_speed, item, side.s);
    return side;
}

/* Impulse and moment (over the radius) on it, N s, times 1/kg. */
SIMD_INLINE void add_impulse(Liquid *liquid, const u32 *item, GrainSide *side, Vec3x8 impulse,
                             Vec3x8 moment, f32x8 light)
{
    f32x8 inverse_inertia = GRAIN_INVERSE_INERTIA * f32x8_abs(light);
    side->v[0] += light * impulse.x;
    side->v[1] += light * impulse.y;
    side->v[2] += light * impulse.z;
    side->s[0] += inverse_inertia * moment.x;
    side->s[1] += inverse_inertia * moment.y;
    side->s[2] += inverse_inertia * moment.z;
    scatter_fours(liquid->motion, item, side->v);
    scatter_fours(liquid->contacts->surface_speed, item, side->s);
}

SIMD_INLINE Vec3x8 cross_wide(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

SIMD_INLINE Vec3x8 plus(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.x + b.x, a.y + b.y, a.z + b.z};
}

SIMD_INLINE Vec3x8 minus(Vec3x8 a, Vec3x8 b)
{
    return (Vec3x8){a.x - b.x, a.y - b.y, a.z - b.z};
}

/* Applies the impulses of the contact to both sides; friction rotates both in the same
 * direction. */
SIMD_INLINE void give(Liquid *liquid, const GrainBlock *block, GrainSide *a, GrainSide *b,
                      f32x8 push, Vec3x8 friction, Vec3x8 roll)
{
    Vec3x8 impulse = vec3x8_add_scaled(friction, push, block->normal);
    Vec3x8 moment = cross_wide(friction, block->normal);
    add_impulse(liquid, block->a, a, impulse, plus(moment, roll), block->light_a);
    add_impulse(liquid, block->b, b, impulse, minus(moment, roll), -block->light_b);
}

/* Moves deep pairs apart; returns their distance after it. */
SIMD_INLINE f32x8 push_apart(Liquid *liquid, const GrainBlock *block, Vec3x8 normal, f32x8 far,
                             f32x8 a[4], f32x8 b[4])
{
    f32 d = liquid->def.spacing, most = f32_min(apart_most * d, CONTACT_APART_M_S * liquid->h);
    f32x8 light = block->light_a + block->light_b, zero = f32x8_set(0.0f);
    f32x8 apart = apart_part * ((1.0f - slop) * d - far);
    apart = f32x8_and(light > zero, f32x8_min(f32x8_max(apart, zero), f32x8_set(most)));
    if (!i32x8_any(apart > zero)) {
        return far;
    }
    f32x8 part = apart / f32x8_max(light, f32x8_set(1e-20f));
    f32x8 up = part * block->light_a, down = part * block->light_b;
    a[0] += up * normal.x;
    a[1] += up * normal.y;
    a[2] += up * normal.z;
    b[0] -= down * normal.x;
    b[1] -= down * normal.y;
    b[2] -= down * normal.z;
    scatter_fours(liquid->place, block->a, a);
    scatter_fours(liquid->place, block->b, b);
    return far + apart;
}

SIMD_INLINE void warm_block(Liquid *liquid, GrainBlock *block, f32 scale)
{
    f32 d = liquid->def.spacing;
    f32x8 zero = f32x8_set(0.0f), a[4], b[4];
    gather_fours(liquid->place, block->a, a);
    gather_fours(liquid->place, block->b, b);
    Vec3x8 off = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    f32x8 far = f32x8_sqrt(vec3x8_dot(off, off));
    i32x8 apart = far > f32x8_set(1e-6f * d);
    f32x8 per = 1.0f / f32x8_max(far, f32x8_set(1e-6f * d));
    Vec3x8 normal = {f32x8_select(apart, off.x * per, anywhere.x),
                     f32x8_select(apart, off.y * per, anywhere.y),
                     f32x8_select(apart, off.z * per, anywhere.z)};
    f32x8 gap = push_apart(liquid, block, normal, far, a, b) - d;
    block->normal = normal;
    f32x8 deep = f32x8_max(-gap - deep_from * d, zero) * (deep_part / liquid->h);
    block->open = f32x8_max(gap, zero) / liquid->h - f32x8_min(deep, f32x8_set(deep_m_s));

    f32x8 across = f32x8_sqrt(vec3x8_dot(block->friction, block->friction));
    i32x8 slid = (across >= slides_from * (block->mu_now * block->push)) & (across > zero);
    block->mu_now = f32x8_select(slid, block->mu, block->mu_static);
    f32x8 keep = f32x8_and(gap < f32x8_set(forget_gap * d), f32x8_set(scale));
    block->push = block->push * keep;
    block->friction =
        vec3x8_sub_scaled(block->friction, vec3x8_dot(block->friction, normal), normal);
    block->friction = vec3x8_scale(block->friction, keep);
    block->roll = vec3x8_scale(block->roll, keep);
    GrainSide v = side_of(liquid, block->a), w = side_of(liquid, block->b);
    give(liquid, block, &v, &w, block->push, block->friction, block->roll);
}

/* A vector clamped to its bound. */
SIMD_INLINE Vec3x8 bounded(Vec3x8 v, f32x8 most)
{
    f32x8 size = f32x8_sqrt(vec3x8_dot(v, v));
    return vec3x8_scale(v, f32x8_min(most / f32x8_max(size, f32x8_set(1e-30f)), f32x8_set(1.0f)));
}

/* Stops approach beyond the gap, and slip and rolling as far as friction permits. */
SIMD_INLINE void solve_block(Liquid *liquid, GrainBlock *block)
{
    f32x8 zero = f32x8_set(0.0f);
    GrainSide a = side_of(liquid, block->a), b = side_of(liquid, block->b);
    Vec3x8 normal = block->normal;
    Vec3x8 against = {a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2]};
    Vec3x8 both = {a.s[0] + b.s[0], a.s[1] + b.s[1], a.s[2] + b.s[2]};
    Vec3x8 rolls = {a.s[0] - b.s[0], a.s[1] - b.s[1], a.s[2] - b.s[2]};
    f32x8 mass = 1.0f / f32x8_max(block->light_a + block->light_b, f32x8_set(1e-20f));
    f32x8 along = vec3x8_dot(against, normal);
    f32x8 lack = along + block->open;
    lack = f32x8_select(lack > zero, relief * lack, growth * lack);
    f32x8 push = f32x8_max(block->push - mass * lack, zero);
    f32x8 most = block->mu_now * push;
    Vec3x8 slip = vec3x8_sub_scaled(against, along, normal);
    slip = minus(slip, cross_wide(both, normal));
    Vec3x8 friction = bounded(
        vec3x8_sub_scaled(block->friction, mass * (1.0f / (1.0f + GRAIN_INVERSE_INERTIA)), slip),
        most);
    Vec3x8 roll =
        bounded(vec3x8_sub_scaled(block->roll, mass * (1.0f / GRAIN_INVERSE_INERTIA), rolls),
                GRAIN_ROLLING * most);
    give(liquid, block, &a, &b, push - block->push, minus(friction, block->friction),
         minus(roll, block->roll));
    block->push = push;
    block->friction = friction;
    block->roll = roll;
}

static void warm_range(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    const Lot *lot = context;
    Grains *grains = lot->liquid->contacts;
    u32 base = grains->color_first[phase];
    PL_UNUSED(worker);
    for (u32 k = base + first; k < base + end; k++) {
        warm_block(lot->liquid, &grains->blocks[k], lot->scale);
    }
}

static void solve_range(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Grains *grains = liquid->contacts;
    u32 base = grains->color_first[phase];
    PL_UNUSED(worker);
    for (u32 k = base + first; k < base + end; k++) {
        solve_block(liquid, &grains->blocks[k]);
    }
}

static void run(Liquid *liquid, JobsPhaseLoop *loop, void *context)
{
    Grains *grains = liquid->contacts;
    for (u32 c = 0; c < grains->colors; c++) {
        u32 count = grains->color_first[c + 1] - grains->color_first[c];
        grains->phases[c] = (JobsPhase){.count = count, .grain = BLOCKS};
    }
    if (grains->colors != 0) {
        jobs_run_phases(liquid->jobs, grains->phases, grains->colors, loop, context);
    }
}

void grains_warm(Liquid *liquid, f32 scale)
{
    Lot lot = {liquid, scale};
    run(liquid, warm_range, &lot);
}

void grains_sweep(Liquid *liquid)
{
    run(liquid, solve_range, liquid);
}
