/* batches_wide.c: see batches_wide.h. The projections are those of constraint.c, lane by lane. */
#include "server/physics/soft/batches_wide.h"

#include "server/physics/soft/batches_lanes.h"
#include "server/physics/soft/constraint.h"

static const f32 length_min = 1e-9f, cross_min = 1e-18f;

/* The points of eight constraints at the end of the step. */
typedef struct ConstraintCorners {
    Vec3x8 x1, x2, x3; /* m, from the first point */
    f32x8 w[4];        /* 1/kg */
} ConstraintCorners;

/* A constraint's gradient at all points but the first, whose gradient is minus their sum. */
typedef struct Gradient {
    Vec3x8 at[4];
} Gradient;

/* Velocities from the first point, as `gather` has positions. */
SIMD_INLINE void gather_speeds(SoftPoint *points, const BatchWide *batch, Vec3x8 speed[4])
{
    f32x8 row[4], first[4], unused;
    Lanes lanes = lanes_u16(points, batch->point[0]);
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
        first[k] = lanes_velocity(&lanes, k);
    }
#pragma GCC unroll 3
    for (int i = 1; i < 4; i++) {
        lanes = lanes_u16(points, batch->point[i]);
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++) {
            row[k] = lanes_velocity(&lanes, k) - first[k];
        }
        speed[i] = lanes_vector(row, &unused);
    }
}

SIMD_INLINE ConstraintCorners gather(SoftPoint *points, const BatchWide *batch, f32 h)
{
    ConstraintCorners of;
    Gathered first, other;
    lanes_gather(lanes_u16(points, batch->point[0]), &first);
    of.w[0] = lanes_fourths(first.position);
    lanes_gather(lanes_u16(points, batch->point[1]), &other);
    of.x1 = lanes_edge(&first, &other, h, &of.w[1]);
    lanes_gather(lanes_u16(points, batch->point[2]), &other);
    of.x2 = lanes_edge(&first, &other, h, &of.w[2]);
    lanes_gather(lanes_u16(points, batch->point[3]), &other);
    of.x3 = lanes_edge(&first, &other, h, &of.w[3]);
    return of;
}

/* ---- rows ---- */

SIMD_INLINE void balance(Gradient *g, u32 points)
{
    Vec3x8 sum = vec3x8_add(g->at[1], g->at[2]);
    sum = points == 4 ? vec3x8_add(sum, g->at[3]) : sum;
    g->at[0] = (Vec3x8){-sum.x, -sum.y, -sum.z};
}

SIMD_INLINE f32x8 weight(const ConstraintCorners *of, const Gradient *a, const Gradient *b,
                         u32 points)
{
    f32x8 sum = of->w[0] * vec3x8_dot(a->at[0], b->at[0]);
    sum += of->w[1] * vec3x8_dot(a->at[1], b->at[1]);
    sum += of->w[2] * vec3x8_dot(a->at[2], b->at[2]);
    return points == 4 ? sum + of->w[3] * vec3x8_dot(a->at[3], b->at[3]) : sum;
}

/* Δλ = −C / (Σ w |∇C|² + α/h²) where `valid`. scale: the role's factor / h². */
SIMD_INLINE void project_row(SoftPoint *points, const BatchWide *batch, const ConstraintCorners *of,
                             Gradient *g, f32x8 value, i32x8 valid, u32 count, bool fixed, f32 h,
                             f32x8 scale)
{
    balance(g, count);
    f32x8 sum = weight(of, g, g, count) + f32x8_load(batch->compliance) * scale;
    f32x8 step = f32x8_and(valid & (i32x8)(sum > 0.0f), -value / sum) / h;
#pragma GCC unroll 4
    for (u32 i = 0; i < count; i++) {
        lanes_push(lanes_u16(points, batch->point[i]), vec3x8_scale(g->at[i], of->w[i] * step),
                   !fixed);
    }
}

/* ---- kinds ---- */

SIMD_INLINE f32x8 atan2_quick(f32x8 y, f32x8 x) /* as trig_atan2_quick */
{
    f32x8 a = f32x8_abs(x), b = f32x8_abs(y);
    f32x8 small = f32x8_min(a, b), large = f32x8_max(f32x8_max(a, b), f32x8_set(1e-36f));
    i32x8 steep = (i32x8)(small > 0.41421357f * large);
    f32x8 u = f32x8_select(steep, small - large, small) / f32x8_select(steep, small + large, large);
    f32x8 z = u * u;
    f32x8 sum = ((0.08060309f * z - 0.1387985f) * z + 0.19977926f) * z - 0.33332956f;
    f32x8 angle = u * z * sum + u + f32x8_and(steep, f32x8_set(0.78539816f));
    angle = f32x8_select((i32x8)(b > a), 1.5707964f - angle, angle);
    angle = f32x8_select((i32x8)(x < 0.0f), 3.1415927f - angle, angle);
    return f32x8_select((i32x8)(y < 0.0f), -angle, angle);
}

/* As limit_hinge of constraint.c. */
SIMD_INLINE f32x8 limit_hinge(SoftPoint *points, const BatchWide *batch,
                              const ConstraintCorners *of, Gradient *g, f32x8 value, f32 h,
                              f32x8 scale)
{
    Vec3x8 speed[4];
    gather_speeds(points, batch, speed);
    f32x8 bends = f32x8_set(0.0f), none = f32x8_set(0.0f);
    f32 back = h * CONSTRAINT_HINGE_RAD_S;
    for (int i = 1; i < 4; i++) {
        bends += vec3x8_dot(g->at[i], vec3x8_scale(speed[i], f32x8_set(h)));
    }
    balance(g, 4);
    f32x8 ww = weight(of, g, g, 4), alpha = f32x8_load(batch->compliance) * scale;
    f32x8 per = 1.0f + f32x8_and((i32x8)(ww > 0.0f), alpha / ww);
    f32x8 least = f32x8_min(bends - back, none) * per, most = f32x8_max(bends + back, none) * per;
    return f32x8_min(f32x8_max(value, least), most);
}

SIMD_INLINE i32x8 rigid_hinges(const BatchWide *batch, u32 row, f32 scale, f32 limit)
{
    return (i32x8)(f32x8_load(batch->value[row]) * scale < limit);
}

/* Half the stiffness for the rigid ones. */
SIMD_INLINE f32x8 hinge_scale(i32x8 rigid, f32 scale)
{
    return f32x8_select(rigid, f32x8_set(2.0f * scale), f32x8_set(scale));
}

/* `back`: only the rigid ones. */
SIMD_INLINE void hinge_dihedral(SoftPoint *points, const BatchWide *batch, bool fixed, bool back,
                                f32 h, f32 scale)
{
    ConstraintCorners of = gather(points, batch, h);
    Vec3x8 e = of.x1;
    Vec3x8 n = vec3x8_cross(e, of.x2), m = vec3x8_cross(of.x3, e);
    f32x8 ee = vec3x8_dot(e, e), nn = vec3x8_dot(n, n), mm = vec3x8_dot(m, m);
    i32x8 valid = (i32x8)(ee >= length_min * length_min) & (i32x8)(nn >= cross_min * cross_min) &
                  (i32x8)(mm >= cross_min * cross_min);
    f32x8 length = f32x8_sqrt(ee);
    f32x8 angle = atan2_quick(vec3x8_dot(vec3x8_cross(n, m), e) / length, vec3x8_dot(n, m)) -
                  f32x8_load(batch->low);
    angle = f32x8_select((i32x8)(angle > 3.1415927f), angle - 6.2831855f, angle);
    angle = f32x8_select((i32x8)(angle < -3.1415927f), angle + 6.2831855f, angle);
    Vec3x8 p = vec3x8_scale(n, -length / nn), q = vec3x8_scale(m, -length / mm);
    f32x8 s = vec3x8_dot(of.x2, e) / ee, t = vec3x8_dot(of.x3, e) / ee;
    Vec3x8 both = vec3x8_add_scaled(vec3x8_scale(p, s), t, q);
    Gradient g = {{both, {-both.x, -both.y, -both.z}, p, q}};
    /* Avoids division by zero without a direction. */
    for (int i = 1; i < 4; i++) {
        g.at[i] = (Vec3x8){f32x8_and(valid, g.at[i].x), f32x8_and(valid, g.at[i].y),
                           f32x8_and(valid, g.at[i].z)};
    }
    i32x8 rigid = rigid_hinges(batch, 0, scale, CONSTRAINT_RIGID_DIHEDRAL);
    f32x8 each = hinge_scale(rigid, scale);
    if (i32x8_any(rigid)) {
        angle = f32x8_select(rigid, limit_hinge(points, batch, &of, &g, angle, h, each), angle);
    }
    valid = back ? valid & rigid : valid;
    project_row(points, batch, &of, &g, angle, valid, 4, fixed, h, each);
}

SIMD_INLINE void solve_dihedral(SoftPoint *points, const BatchWide *batch, bool fixed, f32 h,
                                f32 scale)
{
    hinge_dihedral(points, batch, fixed, false, h, scale);
}

SIMD_INLINE void hinge_isometric(SoftPoint *points, const BatchWide *batch, bool fixed, bool back,
                                 f32 h, f32 scale)
{
    ConstraintCorners of = gather(points, batch, h);
    f32x8 k1 = f32x8_load(batch->value[1]), k2 = f32x8_load(batch->value[2]);
    f32x8 k3 = f32x8_load(batch->value[3]);
    Vec3x8 bend =
        vec3x8_add_scaled(vec3x8_add_scaled(vec3x8_scale(of.x1, k1), k2, of.x2), k3, of.x3);
    f32x8 size = f32x8_sqrt(vec3x8_dot(bend, bend));
    i32x8 valid = (i32x8)(size > 1e-20f);
    Vec3x8 along = vec3x8_scale(bend, f32x8_and(valid, 1.0f / size));
    Gradient g = {
        {along, vec3x8_scale(along, k1), vec3x8_scale(along, k2), vec3x8_scale(along, k3)}};
    i32x8 rigid = rigid_hinges(batch, 4, scale, CONSTRAINT_RIGID_ISOMETRIC);
    valid = back ? valid & rigid : valid;
    project_row(points, batch, &of, &g, size - f32x8_load(batch->low), valid, 4, fixed, h,
                hinge_scale(rigid, scale));
}

SIMD_INLINE void solve_isometric(SoftPoint *points, const BatchWide *batch, bool fixed, f32 h,
                                 f32 scale)
{
    hinge_isometric(points, batch, fixed, false, h, scale);
}

SIMD_INLINE void solve_area(SoftPoint *points, const BatchWide *batch, bool fixed, f32 h, f32 scale)
{
    ConstraintCorners of = gather(points, batch, h);
    Vec3x8 n = vec3x8_cross(of.x1, of.x2);
    f32x8 twice = f32x8_sqrt(vec3x8_dot(n, n));
    i32x8 valid = (i32x8)(twice >= cross_min);
    Vec3x8 half = vec3x8_scale(n, f32x8_and(valid, 0.5f / twice));
    Gradient g = {{n, vec3x8_cross(of.x2, half), vec3x8_cross(half, of.x1), n}};
    f32x8 value = 0.5f * twice - f32x8_load(batch->low);
    project_row(points, batch, &of, &g, value, valid, 3, fixed, h, f32x8_set(scale));
}

SIMD_INLINE void solve_volume(SoftPoint *points, const BatchWide *batch, bool fixed, f32 h,
                              f32 scale)
{
    ConstraintCorners of = gather(points, batch, h);
    f32x8 sixth = f32x8_set(1.0f / 6.0f);
    Vec3x8 g1 = vec3x8_cross(of.x2, of.x3), g2 = vec3x8_cross(of.x3, of.x1);
    Vec3x8 g3 = vec3x8_cross(of.x1, of.x2);
    f32x8 value = vec3x8_dot(of.x1, g1) / 6.0f - f32x8_load(batch->low);
    Gradient g = {{g1, vec3x8_scale(g1, sixth), vec3x8_scale(g2, sixth), vec3x8_scale(g3, sixth)}};
    project_row(points, batch, &of, &g, value, (i32x8)(sixth > 0.0f), 4, fixed, h,
                f32x8_set(scale));
}

/* |F| and det F of F = [x1 x2 x3] B. */
SIMD_INLINE void neo_hookean_rows(const BatchWide *batch, const ConstraintCorners *of, Gradient *a,
                                  Gradient *b, f32x8 *size, f32x8 *det)
{
    Vec3x8 f[3];
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++) {
        f[j] = vec3x8_scale(of->x1, f32x8_load(batch->value[j]));
        f[j] = vec3x8_add_scaled(f[j], f32x8_load(batch->value[3 + j]), of->x2);
        f[j] = vec3x8_add_scaled(f[j], f32x8_load(batch->value[6 + j]), of->x3);
    }
    *size = f32x8_sqrt(vec3x8_dot(f[0], f[0]) + vec3x8_dot(f[1], f[1]) + vec3x8_dot(f[2], f[2]));
    f32x8 per_size = f32x8_and((i32x8)(*size >= 1e-9f), 1.0f / *size);
    f32x8 per_rest = f32x8_load(batch->low);
#pragma GCC unroll 3
    for (int i = 1; i < 4; i++) {
        Vec3x8 sum = vec3x8_scale(f[0], f32x8_load(batch->value[3 * i - 3]));
        sum = vec3x8_add_scaled(sum, f32x8_load(batch->value[3 * i - 2]), f[1]);
        sum = vec3x8_add_scaled(sum, f32x8_load(batch->value[3 * i - 1]), f[2]);
        a->at[i] = vec3x8_scale(sum, per_size);
    }
    b->at[1] = vec3x8_cross(of->x2, of->x3);
    *det = vec3x8_dot(of->x1, b->at[1]) * per_rest;
    b->at[1] = vec3x8_scale(b->at[1], per_rest);
    b->at[2] = vec3x8_scale(vec3x8_cross(of->x3, of->x1), per_rest);
    b->at[3] = vec3x8_scale(vec3x8_cross(of->x1, of->x2), per_rest);
    balance(a, 4);
    balance(b, 4);
}

/* Both rows together by Cramer's rule (constraint.c says why). */
SIMD_INLINE void solve_neo_hookean(SoftPoint *points, const BatchWide *batch, bool fixed, f32 h,
                                   f32 scale)
{
    /* Stiffer matter is solved as a whole (stiff.c). */
    i32x8 here = (i32x8)(f32x8_load(batch->value[10]) <= STIFF_FROM * scale);
    if (!i32x8_any(here)) {
        return;
    }
    ConstraintCorners of = gather(points, batch, h);
    Gradient g, k;
    f32x8 size, det;
    neo_hookean_rows(batch, &of, &g, &k, &size, &det);
    f32x8 ratio = f32x8_load(batch->value[9]);
    f32x8 ww = weight(&of, &g, &g, 4);
    f32x8 alpha = f32x8_max(f32x8_load(batch->compliance) * scale, 2.0f * ww);
    f32x8 aa = ww + alpha, beta = alpha * ratio;
    f32x8 bb = weight(&of, &k, &k, 4), ab = weight(&of, &g, &k, 4);
    f32x8 a = -size, b = -(det - 1.0f - ratio);
    f32x8 gram = ww * bb - ab * ab;
    f32x8 determinant = f32x8_max(gram, f32x8_set(0.0f)) + alpha * bb + beta * aa;
    i32x8 valid = here & (i32x8)(determinant > 0.0f) & (i32x8)(size >= 1e-9f);
    f32x8 per = f32x8_and(valid, 1.0f / determinant) / h;
    f32x8 first = (a * (bb + beta) - b * ab) * per, second = (b * aa - a * ab) * per;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        Vec3x8 sum = vec3x8_add_scaled(vec3x8_scale(g.at[i], first), second, k.at[i]);
        lanes_push(lanes_u16(points, batch->point[i]), vec3x8_scale(sum, of.w[i]), !fixed);
    }
}

u32 wide_rows(u32 kind)
{
    static const u8 rows[CONSTRAINT_KINDS] = {[CONSTRAINT_DIHEDRAL] = 3,
                                              [CONSTRAINT_ISOMETRIC] = 7,
                                              [CONSTRAINT_AREA] = 2,
                                              [CONSTRAINT_VOLUME] = 2,
                                              [CONSTRAINT_NEO_HOOKEAN] = 13};
    return rows[kind];
}

/* clang-format off */
#define RUN(name)                                                                                  \
    static void run_##name(SoftPoint *points, const BatchRun *run, const u8 *batches, u32 bytes,   \
                           f32 h, f32 scale)                                                       \
    {                                                                                              \
        for (u32 i = 0; i < run->count && !run->fixed; i++) {                                      \
            solve_##name(points, (const BatchWide *)(const void *)(batches + (size_t)i * bytes),   \
                         false, h, scale);                                                         \
        }                                                                                          \
        for (u32 i = 0; i < run->count && run->fixed; i++) {                                       \
            solve_##name(points, (const BatchWide *)(const void *)(batches + (size_t)i * bytes),   \
                         true, h, scale);                                                          \
        }                                                                                          \
    }
/* clang-format on */
RUN(dihedral)
RUN(isometric)
RUN(area)
RUN(volume)
RUN(neo_hookean)
#undef RUN

static u32 batch_bytes(u32 kind)
{
    return (u32)(sizeof(u16[4][SIMD_LANES]) + wide_rows(kind) * sizeof(f32x8));
}

void wide_run(SoftPoint *points, const BatchRun *run, const void *batches, f32 h, f32 scale)
{
    static void (*const kinds[CONSTRAINT_KINDS])(SoftPoint *, const BatchRun *, const u8 *, u32,
                                                 f32, f32) = {
        [CONSTRAINT_DIHEDRAL] = run_dihedral,
        [CONSTRAINT_ISOMETRIC] = run_isometric,
        [CONSTRAINT_AREA] = run_area,
        [CONSTRAINT_VOLUME] = run_volume,
        [CONSTRAINT_NEO_HOOKEAN] = run_neo_hookean};
    kinds[run->kind](points, run, batches, batch_bytes(run->kind), h, scale);
}

void wide_run_back(SoftPoint *points, const BatchRun *run, const void *batches, f32 h, f32 scale)
{
    u32 bytes = batch_bytes(run->kind);
    for (u32 i = run->count; i-- > 0;) {
        const void *batch = (const u8 *)batches + (size_t)i * bytes;
        if (run->kind == CONSTRAINT_DIHEDRAL) {
            hinge_dihedral(points, batch, run->fixed, true, h, scale);
        } else {
            hinge_isometric(points, batch, run->fixed, true, h, scale);
        }
    }
}
