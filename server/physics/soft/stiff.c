/*
 * stiff.c: material too stiff for one pass over its tetrahedra. In a step of h s such a pass cannot
 * represent a stiffness whose waves travel more than a cell in that time: stiffer material was
 * softer by any factor. Then the whole body is solved at once: implicit Euler of corotational
 * material (Müller and Gross 2004, "Interactive virtual materials"), (M + h² K) Δv = M (v* − v) + h
 * f(x + h v), by conjugate gradients starting from the previous step's velocity v, v* being the
 * velocity without elastic forces: so equilibrium is preserved exactly, however few iterations are
 * made.
 */
#include "server/physics/soft/stiff.h"
#include "server/physics/soft/batches.h"
#include "server/physics/soft/body_constraint.h"
#include "server/physics/soft/constraint.h"

#include "shared/base/error.h"

#include <stdlib.h>

enum {
    COLORS = 64,
    POLAR_ITERATIONS = 4,
    ITERATIONS_LEAST = 6,
};

/* Iterations per cell that a wave travels in a step. */
static const f32 iterations_each = 4.0f;
/* Compliance is at least this part of weight times h²: the limit of precision. */
static const f32 scale_least = 1e-6f;
/* Tolerances: part of the initial squared residual; and (m/s)² that are negligible. */
static const f64 residual_part = 1e-5, skin_part = 1e-4, residual_speed = 1e-14;
/* Lower limit of μ / (λ + μ): resistance to a change of volume at most 1000 times that to a change
 * of shape. */
static const f32 ratio_least = 1e-3f;

/* Eight tetrahedra without a common point; unused lanes have no volume. */
typedef struct StiffBatch {
    u32 point[4][SIMD_LANES];    /* of the body */
    f32 b[9][SIMD_LANES];        /* 1/m, inverse of the rest edges */
    f32 shear[SIMD_LANES];       /* J, 2 μ V */
    f32 bulk[SIMD_LANES];        /* J, λ V */
    f32 rotation[9][SIMD_LANES]; /* in this step: the rotation, column by column */
} __attribute__((aligned(32))) StiffBatch;

/* A body's range of tetrahedra. */
typedef struct StiffBody {
    u32 first_batch, batch_count;
    Skin *skin; /* or NULL */
    f32 limit;  /* 1/s², weight over compliance of its stiffest tetrahedron */
} StiffBody;

struct Stiffs {
    StiffBody *bodies;   /* [body_count] */
    StiffBatch *batches; /* [batch_count] */
    StiffPoint *points;  /* [particles] */
    Vec3 *start;         /* [particles] m/s, before this step */
    u32 batch_count, body_count;
};

/* ---- at the start ---- */

void stiffs_destroy(Stiffs *stiffs)
{
    if (stiffs != NULL) {
        for (u32 i = 0; stiffs->bodies != NULL && i < stiffs->body_count; i++) {
            skin_destroy(stiffs->bodies[i].skin);
        }
        free(stiffs->bodies);
        free(stiffs->batches);
        free(stiffs->points);
        free(stiffs->start);
        free(stiffs);
    }
}

static bool is_matter(const SoftConstraint *c)
{
    return c->kind == CONSTRAINT_NEO_HOOKEAN;
}

static f32 limit_of(const Soft *soft, const SoftConstraint *c)
{
    ConstraintRows rows;
    Vec3 x[4];
    f32 weight = 0.0f;
    for (u32 k = 0; k < 4; k++) {
        x[k] = vec3_sub(soft->rest[c->point[k]], soft->rest[c->point[0]]);
    }
    constraint_evaluate(c, constraint_shape(soft, c), x, &rows);
    for (u32 k = 0; k < 4 && rows.rows != 0; k++) {
        weight += soft_inverse_mass(soft, c->point[k]) * vec3_length_squared(rows.gradient[0][k]);
    }
    return weight / c->compliance;
}

/* Stores one tetrahedron in a lane. */
static void fill_lane(const Soft *soft, const SoftBody *body, const SoftConstraint *c,
                      StiffPoint *points, StiffBatch *batch, u32 lane)
{
    const f32 *b = soft->shapes[c->shape].value;
    f32 stiffness = 1.0f / c->compliance; /* μ V */
    f32 bulk = stiffness / f32_max(b[9], ratio_least) - stiffness;
    for (u32 k = 0; k < 4; k++) {
        batch->point[k][lane] = c->point[k] - body->first;
    }
    for (u32 k = 0; k < 9; k++) {
        batch->b[k][lane] = b[k];
    }
    batch->shear[lane] = 2.0f * stiffness;
    batch->bulk[lane] = bulk;
    for (u32 k = 0; k < 4; k++) {
        Vec3 g = k == 0 ? vec3(-b[0] - b[3] - b[6], -b[1] - b[4] - b[7], -b[2] - b[5] - b[8])
                        : vec3(b[3 * k - 3], b[3 * k - 2], b[3 * k - 1]);
        /* A third of the trace of V (μ |g|² + (λ + μ) g gᵀ). */
        points[c->point[k] - body->first].own +=
            vec3_length_squared(g) * (stiffness + (bulk + stiffness) / 3.0f);
    }
}

/* Unused lanes repeat the first: both store the same. */
static void repeat_lane(StiffBatch *batch, u32 lane)
{
    for (u32 k = 0; k < 4; k++) {
        batch->point[k][lane] = batch->point[k][0];
    }
    for (u32 k = 0; k < 9; k++) {
        batch->b[k][lane] = batch->b[k][0];
    }
    batch->shear[lane] = batch->shear[0];
    batch->bulk[lane] = batch->bulk[0];
}

/* Colours the tetrahedra of a body; batches NULL: only counts them. */
static void fill_body(const Soft *soft, u32 index, StiffBody *to, StiffBatch *batches,
                      StiffPoint *points, u64 *taken)
{
    const SoftBody *body = &soft->bodies[index];
    u32 fill[COLORS + 1] = {0}, open[COLORS + 1] = {0};
    memset(taken, 0, body->count * sizeof *taken);
    to->batch_count = 0;
    for (u32 i = 0; i < body->constraint_count && body->def.method == SOFT_XPBD; i++) {
        const SoftConstraint *c = &soft->constraints[body->first_constraint + i];
        u64 no = 0;
        for (u32 k = 0; is_matter(c) && k < 4; k++) {
            no |= taken[c->point[k] - body->first];
        }
        if (!is_matter(c)) {
            continue;
        }
        u32 color = ~no != 0 ? (u32)__builtin_ctzll(~no) : COLORS; /* its own batch for each */
        if (fill[color] == 0) {
            open[color] = to->first_batch + to->batch_count++;
        }
        for (u32 k = 0; k < 4 && color < COLORS; k++) {
            taken[c->point[k] - body->first] |= 1ull << color;
        }
        if (batches != NULL) {
            to->limit = f32_max(to->limit, limit_of(soft, c));
            fill_lane(soft, body, c, points, &batches[open[color]], fill[color]);
            for (u32 k = fill[color] + 1; k < SIMD_LANES; k++) {
                repeat_lane(&batches[open[color]], k);
            }
        }
        fill[color] = color < COLORS ? (fill[color] + 1) % SIMD_LANES : 0;
    }
}

static int fill_all(Soft *soft, Stiffs *stiffs, u64 *taken)
{
    u32 batches = 0;
    for (u32 i = 0; i < soft->body_count; i++) {
        stiffs->bodies[i].first_batch = batches;
        fill_body(soft, i, &stiffs->bodies[i], NULL, NULL, taken);
        batches += stiffs->bodies[i].batch_count;
    }
    stiffs->batches = aligned_alloc(64, ((size_t)batches * sizeof(StiffBatch) + 63) / 64 * 64);
    stiffs->batch_count = batches;
    if (stiffs->batches == NULL) {
        return ERROR_MEMORY;
    }
    memset(stiffs->batches, 0, (size_t)batches * sizeof(StiffBatch));
    for (u32 i = 0; i < soft->body_count; i++) {
        const SoftBody *body = &soft->bodies[i];
        StiffBody *of = &stiffs->bodies[i];
        fill_body(soft, i, of, stiffs->batches, stiffs->points + body->first, taken);
        if (skin_is(soft, body)) {
            of->skin = skin_create(soft, body, stiffs->points + body->first, &of->limit);
            if (of->skin == NULL) {
                return ERROR_MEMORY;
            }
        }
    }
    return ERROR_OK;
}

int stiffs_create(Soft *soft)
{
    stiffs_destroy(soft->stiffs);
    soft->stiffs = NULL;
    u32 count = 0;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        count += is_matter(&soft->constraints[i]);
    }
    for (u32 i = 0; i < soft->body_count; i++) {
        count += skin_is(soft, &soft->bodies[i]);
    }
    if (count == 0) {
        return ERROR_OK;
    }
    Stiffs *stiffs = calloc(1, sizeof *stiffs);
    u64 *taken = malloc(soft->count * sizeof *taken);
    if (stiffs != NULL) {
        size_t bytes = ((size_t)soft->count * sizeof(StiffPoint) + 63) / 64 * 64;
        stiffs->body_count = soft->body_count;
        stiffs->bodies = calloc(soft->body_count, sizeof *stiffs->bodies);
        stiffs->start = calloc(soft->count, sizeof *stiffs->start);
        stiffs->points = aligned_alloc(64, bytes);
        if (stiffs->points != NULL) {
            memset(stiffs->points, 0, bytes);
        }
    }
    bool capacity = taken != NULL && stiffs != NULL && stiffs->bodies != NULL &&
                    stiffs->start != NULL && stiffs->points != NULL;
    int result = capacity ? fill_all(soft, stiffs, taken) : ERROR_MEMORY;
    free(taken);
    if (result != ERROR_OK) {
        stiffs_destroy(stiffs);
        return result;
    }
    soft->stiffs = stiffs;
    return ERROR_OK;
}

u64 stiffs_memory(const Soft *soft)
{
    const Stiffs *stiffs = soft->stiffs;
    if (stiffs == NULL) {
        return 0;
    }
    u64 sum = sizeof *stiffs + stiffs->body_count * sizeof *stiffs->bodies +
              soft->count * (sizeof *stiffs->points + sizeof *stiffs->start) +
              (u64)stiffs->batch_count * sizeof *stiffs->batches;
    for (u32 i = 0; i < stiffs->body_count; i++) {
        sum += skin_memory(stiffs->bodies[i].skin);
    }
    return sum;
}

/* ---- in a step ---- */

bool stiff_skin(const Soft *soft, u32 body)
{
    return soft->stiffs != NULL && body < soft->stiffs->body_count &&
           soft->stiffs->bodies[body].skin != NULL;
}

bool stiff_has(const Soft *soft, u32 body, const SoftConstraint *constraint)
{
    return stiff_skin(soft, body) && (is_matter(constraint) || skin_has(constraint));
}

f32 stiff_limit(const Soft *soft, u32 body)
{
    return stiff_skin(soft, body) ? INFINITY
           : soft->stiffs != NULL ? soft->stiffs->bodies[body].limit
                                  : 0.0f;
}

bool stiff_is(const Soft *soft, u32 body, f32 h)
{
    f32 per_h = 1.0f / h; /* the same as in batches.c: both must agree */
    return soft->stiffs != NULL && body < soft->stiffs->body_count &&
           !(stiff_limit(soft, body) <=
             STIFF_FROM * (soft_role_scale(soft, ROLE_VOLUME) * per_h * per_h));
}

void stiff_start(Soft *soft, u32 particle)
{
    soft->stiffs->start[particle] = soft->points[particle].velocity;
}

typedef struct Mat3x8 {
    Vec3x8 x, y, z; /* columns */
} Mat3x8;

/* [x1 − x0, x2 − x0, x3 − x0] B */
SIMD_INLINE Mat3x8 gradient_of(const StiffBatch *batch, const StiffVector *at)
{
    Vec3x8 x0 = stiff_gather(at, batch->point[0]), x[3];
    Mat3x8 f;
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        x[k] = vec3x8_sub(stiff_gather(at, batch->point[k + 1]), x0);
    }
    Vec3x8 *columns[3] = {&f.x, &f.y, &f.z};
#pragma GCC unroll 3
    for (int j = 0; j < 3; j++) {
        Vec3x8 c = vec3x8_scale(x[0], f32x8_load(batch->b[j]));
        c = vec3x8_add_scaled(c, f32x8_load(batch->b[3 + j]), x[1]);
        *columns[j] = vec3x8_add_scaled(c, f32x8_load(batch->b[6 + j]), x[2]);
    }
    return f;
}

/* Adds −scale P Bᵀ to the points; the sum is 0. */
SIMD_INLINE void spread(const StiffBatch *batch, StiffVector *at, Mat3x8 stress, f32x8 scale)
{
    Vec3x8 sum = {f32x8_set(0.0f), f32x8_set(0.0f), f32x8_set(0.0f)};
    for (int k = 0; k < 3; k++) {
        Vec3x8 g = vec3x8_scale(stress.x, f32x8_load(batch->b[3 * k]));
        g = vec3x8_add_scaled(g, f32x8_load(batch->b[3 * k + 1]), stress.y);
        g = vec3x8_add_scaled(g, f32x8_load(batch->b[3 * k + 2]), stress.z);
        g = vec3x8_scale(g, -scale);
        sum = vec3x8_add(sum, g);
        stiff_scatter(at, batch->point[k + 1], g);
    }
    stiff_scatter(at, batch->point[0], (Vec3x8){-sum.x, -sum.y, -sum.z});
}

/* R (2 μ E + λ tr E) V of the symmetric part E of Rᵀ F, minus 1 where `rest`. */
SIMD_INLINE Mat3x8 stress_of(const StiffBatch *batch, Mat3x8 r, Mat3x8 f, f32 rest)
{
    f32x8 half = f32x8_load(batch->shear) * 0.5f, bulk = f32x8_load(batch->bulk);
    f32x8 xx = vec3x8_dot(r.x, f.x) - rest, yy = vec3x8_dot(r.y, f.y) - rest;
    f32x8 zz = vec3x8_dot(r.z, f.z) - rest;
    f32x8 xy = half * (vec3x8_dot(r.x, f.y) + vec3x8_dot(r.y, f.x));
    f32x8 xz = half * (vec3x8_dot(r.x, f.z) + vec3x8_dot(r.z, f.x));
    f32x8 yz = half * (vec3x8_dot(r.y, f.z) + vec3x8_dot(r.z, f.y));
    f32x8 all = bulk * (xx + yy + zz);
    xx = 2.0f * half * xx + all;
    yy = 2.0f * half * yy + all;
    zz = 2.0f * half * zz + all;
    Mat3x8 p;
    p.x = vec3x8_add_scaled(vec3x8_add_scaled(vec3x8_scale(r.x, xx), xy, r.y), xz, r.z);
    p.y = vec3x8_add_scaled(vec3x8_add_scaled(vec3x8_scale(r.x, xy), yy, r.y), yz, r.z);
    p.z = vec3x8_add_scaled(vec3x8_add_scaled(vec3x8_scale(r.x, xz), yz, r.y), zz, r.z);
    return p;
}

SIMD_INLINE Vec3x8 unit(Vec3x8 v)
{
    f32x8 size = f32x8_sqrt(vec3x8_dot(v, v));
    return vec3x8_scale(v, f32x8_and((i32x8)(size > 1e-12f), 1.0f / size));
}

/* Rotates all columns by the rotation vector w, by Cayley's map. */
SIMD_INLINE Mat3x8 rotated(Mat3x8 r, Vec3x8 w)
{
    Vec3x8 half = vec3x8_scale(w, f32x8_set(0.5f));
    f32x8 per = 2.0f / (1.0f + vec3x8_dot(half, half));
    Vec3x8 *columns[3] = {&r.x, &r.y, &r.z};
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++) {
        Vec3x8 c = *columns[k], u = vec3x8_cross(half, c);
        u = vec3x8_add(u, vec3x8_cross(half, u));
        *columns[k] = vec3x8_add_scaled(c, per, u);
    }
    return r;
}

/* The rotation nearest to F: Newton's method for the maximum of tr(Rᵀ F), starting from
 * Gram–Schmidt, and a safe step where the function is not concave. */
SIMD_INLINE Mat3x8 rotation_of(Mat3x8 f)
{
    Mat3x8 r;
    r.x = unit(f.x);
    f32x8 along = vec3x8_dot(r.x, f.y);
    r.y = unit(vec3x8_add_scaled(f.y, -along, r.x));
    r.z = vec3x8_cross(r.x, r.y);
    for (u32 i = 0; i < POLAR_ITERATIONS; i++) {
        Vec3x8 a = vec3x8_add(vec3x8_cross(r.x, f.x), vec3x8_cross(r.y, f.y));
        a = vec3x8_add(a, vec3x8_cross(r.z, f.z));
        f32x8 xx = r.x.x * f.x.x + r.y.x * f.y.x + r.z.x * f.z.x;
        f32x8 yy = r.x.y * f.x.y + r.y.y * f.y.y + r.z.y * f.z.y;
        f32x8 zz = r.x.z * f.x.z + r.y.z * f.y.z + r.z.z * f.z.z;
        f32x8 xy = -0.5f * (r.x.x * f.x.y + r.y.x * f.y.y + r.z.x * f.z.y + r.x.y * f.x.x +
                            r.y.y * f.y.x + r.z.y * f.z.x);
        f32x8 xz = -0.5f * (r.x.x * f.x.z + r.y.x * f.y.z + r.z.x * f.z.z + r.x.z * f.x.x +
                            r.y.z * f.y.x + r.z.z * f.z.x);
        f32x8 yz = -0.5f * (r.x.y * f.x.z + r.y.y * f.y.z + r.z.y * f.z.z + r.x.z * f.x.y +
                            r.y.z * f.y.y + r.z.z * f.z.y);
        f32x8 ax = yy + zz, ay = xx + zz, az = xx + yy; /* tr S − S */
        f32x8 cx = ay * az - yz * yz, cy = xz * yz - xy * az, cz = xy * yz - xz * ay;
        f32x8 determinant = ax * cx + xy * cy + xz * cz, minor = ax * ay - xy * xy;
        i32x8 curved =
            (i32x8)(ax > 0.05f) & (i32x8)(minor > 2.5e-3f) & (i32x8)(determinant > 1.25e-4f);
        f32x8 per = 1.0f / f32x8_select(curved, determinant, f32x8_set(1.0f));
        Vec3x8 w = {(cx * a.x + cy * a.y + cz * a.z) * per,
                    (cy * a.x + (ax * az - xz * xz) * a.y + (xy * xz - ax * yz) * a.z) * per,
                    (cz * a.x + (xy * xz - ax * yz) * a.y + minor * a.z) * per};
        f32x8 trace = f32x8_max(f32x8_abs(xx + yy + zz), f32x8_set(0.1f));
        w.x = f32x8_select(curved, w.x, a.x / trace);
        w.y = f32x8_select(curved, w.y, a.y / trace);
        w.z = f32x8_select(curved, w.z, a.z / trace);
        r = rotated(r, w);
    }
    return r;
}

/* Adds h f at x + h v to the residual; `direction` holds the positions. */
static void add_forces(StiffBatch *batches, u32 count, StiffPoint *points, f32 h)
{
    for (u32 i = 0; i < count; i++) {
        StiffBatch *batch = &batches[i];
        Mat3x8 f = gradient_of(batch, &points->direction), r = rotation_of(f);
        const Vec3x8 columns[3] = {r.x, r.y, r.z};
        for (u32 k = 0; k < 3; k++) {
            f32x8_store(batch->rotation[3 * k], columns[k].x);
            f32x8_store(batch->rotation[3 * k + 1], columns[k].y);
            f32x8_store(batch->rotation[3 * k + 2], columns[k].z);
        }
        spread(batch, &points->residual, stress_of(batch, r, f, 1.0f), f32x8_set(h));
    }
}

SIMD_INLINE Vec3x8 load_column(const StiffBatch *batch, u32 k)
{
    return (Vec3x8){f32x8_load(batch->rotation[3 * k]), f32x8_load(batch->rotation[3 * k + 1]),
                    f32x8_load(batch->rotation[3 * k + 2])};
}

/* image += h² K direction */
static void add_image(const StiffBatch *batches, u32 count, StiffPoint *points, f32 h, f32 stiffer)
{
    for (u32 i = 0; i < count; i++) {
        const StiffBatch *batch = &batches[i];
        Mat3x8 f = gradient_of(batch, &points->direction);
        Mat3x8 r = {load_column(batch, 0), load_column(batch, 1), load_column(batch, 2)};
        spread(batch, &points->image, stress_of(batch, r, f, 0.0f), f32x8_set(-h * h * stiffer));
    }
}

static inline f64 dot(StiffVector a, StiffVector b)
{
    return (f64)a.at[0] * (f64)b.at[0] + (f64)a.at[1] * (f64)b.at[1] + (f64)a.at[2] * (f64)b.at[2];
}

/* A body in a step. */
typedef struct StiffSolve {
    StiffBatch *batches;
    u32 batch_count;
    StiffPoint *points;
    u32 count;
    f32 h;
    f32 stiffer; /* factor on the stiffness of the definition */
    Skin *skin;  /* or NULL; then: */
    SkinGas gas;
    const Vec3 *gradient;
} StiffSolve;

/* Masses, positions and the residual of v*; false if no part of the body can move. */
static bool begin(const Soft *soft, const SoftBody *body, StiffPoint *points, f32 h, f32 stiffer,
                  Vec3 *asked)
{
    const SoftPoint *from = soft->points + body->first;
    const Vec3 *start = soft->stiffs->start + body->first;
    bool pinned = false;
    *asked = vec3_zero();
    for (u32 i = 0; i < body->count; i++) {
        StiffPoint *p = &points[i];
        f32 w = from[i].inverse_mass;
        p->mass = w > 0.0f ? 1.0f / w : 0.0f;
        p->weight = w > 0.0f ? 1.0f / (p->mass + h * h * stiffer * p->own) : 0.0f;
        pinned = pinned || !(w > 0.0f);
        Vec3 v = w > 0.0f ? start[i] : from[i].velocity;
        Vec3 at = vec3_add_scaled(vec3_sub(from[i].position, from[0].position), h, v);
        Vec3 lack = vec3_scale(vec3_sub(from[i].velocity, v), p->mass);
        *asked = vec3_add(*asked, lack);
        p->direction = (StiffVector){{at.x, at.y, at.z, 0.0f}};
        p->residual = (StiffVector){{lack.x, lack.y, lack.z, 0.0f}};
        p->change = (StiffVector){{0.0f, 0.0f, 0.0f, 0.0f}};
    }
    return !pinned;
}

/* direction = weight residual + share direction; returns the new r · z. */
static f64 redirect(StiffPoint *points, u32 count, f64 before)
{
    f64 product = 0.0;
    for (u32 i = 0; i < count; i++) {
        product += (f64)points[i].weight * dot(points[i].residual, points[i].residual);
    }
    f32 share = before > 0.0 ? (f32)(product / before) : 0.0f;
    for (u32 i = 0; i < count; i++) {
        StiffPoint *p = &points[i];
        for (u32 k = 0; k < 3; k++) {
            f32 d = before > 0.0 ? share * p->direction.at[k] : 0.0f;
            p->direction.at[k] = p->weight > 0.0f ? p->weight * p->residual.at[k] + d : 0.0f;
        }
    }
    return product;
}

/* Like redirect, with block preconditioning. */
static f64 redirect_skin(const StiffSolve *solve, f64 before)
{
    StiffPoint *points = solve->points;
    f64 product = 0.0;
    for (u32 i = 0; i < solve->count; i++) {
        const f32 *r = points[i].residual.at;
        Vec3 eased = skin_ease(solve->skin, i, vec3(r[0], r[1], r[2]));
        points[i].image = (StiffVector){{eased.x, eased.y, eased.z, 0.0f}};
        product += points[i].mass > 0.0f ? dot(points[i].residual, points[i].image) : 0.0;
    }
    f32 share = before > 0.0 ? (f32)(product / before) : 0.0f;
    for (u32 i = 0; i < solve->count; i++) {
        StiffPoint *p = &points[i];
        for (u32 k = 0; k < 4; k++) {
            f32 d = before > 0.0 ? share * p->direction.at[k] : 0.0f;
            p->direction.at[k] = p->image.at[k] + d;
        }
    }
    return product;
}

/* image = (M + h² K) direction */
static void find_image(const StiffSolve *solve)
{
    StiffPoint *points = solve->points;
    for (u32 i = 0; i < solve->count; i++) {
        for (u32 k = 0; k < 4; k++) {
            points[i].image.at[k] = points[i].mass * points[i].direction.at[k];
        }
    }
    add_image(solve->batches, solve->batch_count, points, solve->h, solve->stiffer);
    if (solve->skin != NULL) {
        skin_image(solve->skin, points, solve->count, &solve->gas, solve->h, solve->gradient);
    }
}

/* False if K takes more than half of the mass term: then there may be no solution. */
static bool iterate(const StiffSolve *solve, u32 most)
{
    StiffPoint *points = solve->points;
    const u32 count = solve->count;
    f64 mass = 0.0;
    for (u32 i = 0; i < count; i++) {
        mass += (f64)points[i].mass;
    }
    f64 part = solve->skin != NULL ? skin_part : residual_part;
    f64 product = solve->skin != NULL ? redirect_skin(solve, 0.0) : redirect(points, count, 0.0);
    f64 first = product;
    for (u32 n = 0; n < most && product > part * first && product > mass * residual_speed; n++) {
        f64 curve = 0.0, inertia = 0.0;
        find_image(solve);
        for (u32 i = 0; i < count; i++) {
            const StiffPoint *p = &points[i];
            curve += p->mass > 0.0f ? dot(p->direction, p->image) : 0.0;
            inertia += (f64)p->mass * dot(p->direction, p->direction);
        }
        if (!(curve > 0.5 * inertia)) {
            return false;
        }
        f32 step = (f32)(product / curve);
        for (u32 i = 0; i < count; i++) {
            for (u32 k = 0; k < 3; k++) {
                points[i].change.at[k] += step * points[i].direction.at[k];
                points[i].residual.at[k] -= step * points[i].image.at[k];
            }
        }
        product =
            solve->skin != NULL ? redirect_skin(solve, product) : redirect(points, count, product);
    }
    return true;
}

static u32 iterations_of(const StiffSolve *solve, f32 limit)
{
    f32 waves = solve->h * sqrtf(2.0f * limit * solve->stiffer);
    return ITERATIONS_LEAST + (u32)f32_min(iterations_each * waves, 1e3f);
}

/* Changes of velocity of a balloon. */
static bool solve_skin(Soft *soft, u32 index, StiffSolve *solve, f32 limit, Vec3 *asked)
{
    const SoftBody *body = &soft->bodies[index];
    BodyConstraintState *state = &soft->body_constraints->states[index];
    Vec3 *gradient = soft->body_constraints->gradient + body->first;
    SkinStep step = {.h = solve->h,
                     .stiffer = solve->stiffer,
                     .amount = pressure_amount(soft, index),
                     .bulges = true};
    /* Later stages of the step, mainly contact, are assumed to change the volume by as much as
     * last time. */
    if (state->expected > 0.0f) {
        step.taken = pressure_volume(soft, body, SOFT_VOLUME_GAUSS) - (f64)state->expected;
    }
    solve->gradient = gradient;
    bool free_body;
    for (bool found = false; !found; step.bulges = false) {
        found = !step.bulges;
        free_body = begin(soft, body, solve->points, solve->h, solve->stiffer, asked);
        add_forces(solve->batches, solve->batch_count, solve->points, solve->h * solve->stiffer);
        solve->gas = skin_forces(solve->skin, solve->points, solve->count, &step, gradient);
        found = iterate(solve, iterations_of(solve, limit)) || found;
    }
    f64 grown = 0.0; /* m³ */
    for (u32 i = 0; i < solve->count; i++) {
        const f32 *v = solve->points[i].change.at;
        grown += (f64)(solve->h * vec3_dot(gradient[i], vec3(v[0], v[1], v[2])));
    }
    state->pressure = (f32)skin_pressure(solve->skin, &step, solve->gas.volume + grown);
    state->expected = (f32)(solve->gas.volume - step.taken + grown);
    return free_body;
}

void stiff_body(Soft *soft, u32 index, f32 h)
{
    Stiffs *stiffs = soft->stiffs;
    const SoftBody *body = &soft->bodies[index];
    const StiffBody *of = &stiffs->bodies[index];
    StiffPoint *points = stiffs->points + body->first;
    f32 least = h * h * of->limit * scale_least;
    StiffSolve solve = {.batches = stiffs->batches + of->first_batch,
                        .batch_count = of->batch_count,
                        .points = points,
                        .count = body->count,
                        .h = h,
                        .stiffer = 1.0f / f32_max(soft_role_scale(soft, ROLE_VOLUME), least),
                        .skin = of->skin};
    Vec3 asked, given = vec3_zero(), shift = vec3_zero();
    f32 mass = 0.0f;
    bool free_body;
    if (of->skin != NULL) {
        free_body = solve_skin(soft, index, &solve, of->limit, &asked);
    } else {
        free_body = begin(soft, body, points, h, solve.stiffer, &asked);
        add_forces(solve.batches, solve.batch_count, points, h * solve.stiffer);
        iterate(&solve, iterations_of(&solve, of->limit));
    }
    for (u32 i = 0; i < body->count; i++) {
        const f32 *v = points[i].change.at;
        given = vec3_add_scaled(given, points[i].mass, vec3(v[0], v[1], v[2]));
        mass += points[i].mass;
    }
    if (free_body) {
        /* The error of unconverged iterations includes rigid translation without an external
         * force. */
        shift = vec3_scale(vec3_sub(asked, given), 1.0f / mass);
    }
    for (u32 i = 0; i < body->count; i++) {
        SoftPoint *p = &soft->points[body->first + i];
        const f32 *v = points[i].change.at;
        if (p->inverse_mass > 0.0f) {
            p->velocity = vec3_add(stiffs->start[body->first + i], vec3(v[0], v[1], v[2]));
            p->velocity = vec3_add(p->velocity, shift);
        }
    }
}
