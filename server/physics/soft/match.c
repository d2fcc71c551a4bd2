/*
 * match.c: shape matching (Müller, Heidelberger, Teschner, Gross 2005, "Meshless deformations based
 * on shape matching"): finds the rotation, linear or quadratic map that best fits the rest shape to
 * the current positions; each particle moves a part of the way to its goal. Rest positions are
 * functions with mass-weighted mean 0, and maps are least squares fits, so momentum and angular
 * momentum are preserved.
 */
#include "server/physics/soft/body_constraint.h"

#include "shared/base/error.h"
#include "shared/math/polar.h"
#include "shared/math/simd.h"

#include <stdlib.h>

/* Directions with less than this fraction of the largest moment are degenerate. */
static const f64 flatness = 1e-5;

/* ---- at rest ---- */

/* Pseudo-inverse of m without degenerate directions; *flat, if n is 3, projects onto those. */
static void pseudo_inverse(f64 *m, u32 n, f64 *inverse, f64 *flat)
{
    f64 value[EIGEN_MAX], vector[EIGEN_MAX * EIGEN_MAX], largest = 0.0;
    eigen_symmetric(m, n, value, vector);
    for (u32 k = 0; k < n; k++) {
        largest = value[k] > largest ? value[k] : largest;
    }
    for (u32 i = 0; i < n * n; i++) {
        f64 filled = 0.0, empty = 0.0;
        for (u32 k = 0; k < n; k++) {
            f64 product = vector[i / n * n + k] * vector[i % n * n + k];
            if (value[k] > flatness * largest) {
                filled += product / value[k];
            } else {
                empty += product;
            }
        }
        inverse[i] = filled;
        if (flat != NULL) {
            flat[i] = empty;
        }
    }
}

static Symmetric3 symmetric_of(const f64 m[9])
{
    Symmetric3 s = {(f32)m[0], (f32)m[4], (f32)m[8], (f32)m[1], (f32)m[2], (f32)m[5]};
    return s;
}

static void find_moments(Match *match, u32 terms, f64 *moments)
{
    for (u32 k = 0; k < terms * terms; k++) {
        const f32 *a = match->basis + (size_t)(k / terms) * match->padded;
        const f32 *b = match->basis + (size_t)(k % terms) * match->padded;
        moments[k] = 0.0;
        for (u32 i = 0; i < match->padded; i++) {
            moments[k] += (f64)match->mass[i] * (f64)a[i] * (f64)b[i];
        }
    }
}

/* Subtracts the mean from a function of the rest positions. */
static void centre(Match *match, u32 term, u32 count)
{
    f32 *values = match->basis + (size_t)term * match->padded;
    f64 sum = 0.0;
    for (u32 i = 0; i < count; i++) {
        sum += (f64)match->mass[i] * (f64)values[i];
    }
    for (u32 i = 0; i < count; i++) {
        values[i] = (f32)((f64)values[i] - sum / (f64)match->mass_kg);
    }
}

static void fill_basis(const Vec3 *rest, u32 count, Match *match)
{
    size_t row = match->padded;
    f32 *x = match->basis, *y = x + row, *z = y + row;
    for (u32 i = 0; i < count; i++) {
        Vec3 at = vec3_sub(rest[i], rest[0]);
        at = match->plastic_offsets != NULL ? vec3_add(at, match->plastic_offsets[i]) : at;
        x[i] = at.x;
        y[i] = at.y;
        z[i] = at.z;
    }
    f32 size = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        centre(match, k, count);
        for (u32 i = 0; i < count; i++) {
            size = f32_max(size, fabsf(match->basis[k * row + i]));
        }
    }
    match->size = size > 0.0f ? size : 1.0f;
    for (size_t i = 0; i < 3 * row; i++) {
        match->basis[i] /= match->size;
    }
    for (u32 i = 0; i < count && match->terms > 3; i++) {
        const f32 terms[6] = {x[i] * x[i], y[i] * y[i], z[i] * z[i],
                              x[i] * y[i], y[i] * z[i], z[i] * x[i]};
        for (u32 k = 0; k < 6; k++) {
            match->basis[(3 + k) * row + i] = terms[k];
        }
    }
    for (u32 k = 3; k < match->terms; k++) {
        centre(match, k, count);
    }
}

int match_create(const Soft *soft, const SoftBody *body, Match *match)
{
    u32 terms = body->def.match == SOFT_MATCH_QUADRATIC ? 9 : 3;
    u32 padded = (body->count + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
    size_t bytes = (size_t)padded * sizeof(f32); /* a multiple of 32 */
    match->basis = aligned_alloc(32, terms * bytes);
    match->mass = aligned_alloc(32, bytes);
    if (match->basis == NULL || match->mass == NULL) {
        return ERROR_MEMORY;
    }
    memset(match->basis, 0, terms * bytes);
    memset(match->mass, 0, bytes);
    match->terms = terms;
    match->padded = padded;
    if (body->def.yield > 0.0f) {
        match->plastic_offsets = calloc(body->count, sizeof *match->plastic_offsets);
        if (match->plastic_offsets == NULL) {
            return ERROR_MEMORY;
        }
    }
    f64 sum = 0.0;
    for (u32 i = 0; i < body->count; i++) {
        f32 w = soft->points[body->first + i].inverse_mass;
        match->mass[i] = w > 0.0f ? 1.0f / w : body->mass_kg;
        match->pinned = match->pinned || !(w > 0.0f);
        sum += (f64)match->mass[i];
    }
    match->mass_kg = (f32)sum;
    match_shape(soft, body, match);
    return ERROR_OK;
}

void match_shape(const Soft *soft, const SoftBody *body, Match *match)
{
    u32 terms = match->terms;
    fill_basis(soft->rest + body->first, body->count, match);
    f64 moments[EIGEN_MAX * EIGEN_MAX], inverse[EIGEN_MAX * EIGEN_MAX], flat[9];
    find_moments(match, 3, moments);
    match->moments = symmetric_scale(symmetric_of(moments), match->size * match->size);
    pseudo_inverse(moments, 3, inverse, flat);
    match->inverse_linear = symmetric_of(inverse);
    match->flat = symmetric_of(flat);
    find_moments(match, terms, moments);
    pseudo_inverse(moments, terms, inverse, NULL);
    for (u32 k = 0; k < terms * terms; k++) {
        match->inverse[k] = (f32)inverse[k];
    }
}

void match_finish(Match *match)
{
    free(match->basis);
    free(match->mass);
    free(match->plastic_offsets);
    match->basis = NULL;
    match->mass = NULL;
    match->plastic_offsets = NULL;
}

/* ---- in a step: eight particles at a time, sums in a fixed order ---- */

/* Components of eight particles: position, inverse mass, velocity, spare. Indices past the end
 * repeat the last particle, whose mass there is 0. */
SIMD_INLINE void gather(const SoftPoint *points, u32 first, u32 count, f32x8 rows[8])
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        rows[i] = f32x8_load((const f32 *)&points[u32_min(first + i, count - 1)]);
    }
    f32x8_transpose(rows);
}

SIMD_INLINE void scatter(SoftPoint *points, u32 first, u32 count, f32x8 rows[8])
{
    f32x8_transpose(rows);
    for (u32 i = 0; i < SIMD_LANES && first + i < count; i++) {
        f32x8_store((f32 *)&points[first + i], rows[i]);
    }
}

static f32 sum_lanes(f32x8 v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

typedef struct MatchSums {
    Vec3 centre;                   /* m, relative to the first particle */
    Vec3 product[MATCH_TERMS_MAX]; /* Σ m x basis */
} MatchSums;

/* Predicted positions relative to `origin`, eight at a time. */
SIMD_INLINE Vec3x8 predicted(const f32x8 rows[8], Vec3 origin, f32 h)
{
    Vec3x8 x;
    x.x = (rows[0] - f32x8_set(origin.x)) + f32x8_set(h) * rows[4];
    x.y = (rows[1] - f32x8_set(origin.y)) + f32x8_set(h) * rows[5];
    x.z = (rows[2] - f32x8_set(origin.z)) + f32x8_set(h) * rows[6];
    return x;
}

SIMD_INLINE void sum_terms(const SoftPoint *points, u32 count, const Match *match, u32 terms, f32 h,
                           MatchSums *sums)
{
    f32x8 sum[3 * (MATCH_TERMS_MAX + 1)];
    for (u32 k = 0; k < 3 * (terms + 1); k++) {
        sum[k] = f32x8_set(0.0f);
    }
    for (u32 i = 0; i < match->padded; i += SIMD_LANES) {
        f32x8 rows[8], m = f32x8_load(match->mass + i);
        gather(points, i, count, rows);
        Vec3x8 x = predicted(rows, points[0].position, h);
        x.x *= m;
        x.y *= m;
        x.z *= m;
        sum[0] += x.x;
        sum[1] += x.y;
        sum[2] += x.z;
        for (u32 k = 0; k < terms; k++) {
            f32x8 b = f32x8_load(match->basis + (size_t)k * match->padded + i);
            sum[3 * k + 3] += x.x * b;
            sum[3 * k + 4] += x.y * b;
            sum[3 * k + 5] += x.z * b;
        }
    }
    for (u32 k = 0; k <= terms; k++) {
        Vec3 all =
            vec3(sum_lanes(sum[3 * k]), sum_lanes(sum[3 * k + 1]), sum_lanes(sum[3 * k + 2]));
        if (k == 0) {
            sums->centre = vec3_scale(all, 1.0f / match->mass_kg);
        } else {
            sums->product[k - 1] = all;
        }
    }
}

/* Sums of the velocity changes, and the centre before the step. Sums over the mass: m Δv, m (x −
 * centre) × Δv, m (x − centre). */
typedef struct MatchDrift {
    Vec3 momentum, angular_velocity, moment;
} MatchDrift;

/* Column k of the map is the coefficient of the k-th function. */
SIMD_INLINE MatchDrift go(SoftPoint *points, u32 count, const Match *match, u32 terms, Vec3 middle,
                          const Vec3 map[MATCH_TERMS_MAX], f32 share, f32 h)
{
    f32x8 per = f32x8_set(share / h), none = f32x8_set(0.0f);
    Vec3x8 sum = {none, none, none}, rotation = sum, moment = sum;
    Vec3 origin = points[0].position;
    for (u32 i = 0; i < match->padded; i += SIMD_LANES) {
        f32x8 rows[8], m = f32x8_load(match->mass + i);
        gather(points, i, count, rows);
        Vec3x8 x = predicted(rows, origin, h);
        f32x8 gx = f32x8_set(middle.x), gy = f32x8_set(middle.y), gz = f32x8_set(middle.z);
        for (u32 k = 0; k < terms; k++) {
            f32x8 b = f32x8_load(match->basis + (size_t)k * match->padded + i);
            gx += f32x8_set(map[k].x) * b;
            gy += f32x8_set(map[k].y) * b;
            gz += f32x8_set(map[k].z) * b;
        }
        i32x8 loose = rows[3] > none;
        gx = f32x8_and(loose, (gx - x.x) * per);
        gy = f32x8_and(loose, (gy - x.y) * per);
        gz = f32x8_and(loose, (gz - x.z) * per);
        Vec3x8 part = {m * gx, m * gy, m * gz};
        x.x = rows[0] - f32x8_set(origin.x + middle.x);
        x.y = rows[1] - f32x8_set(origin.y + middle.y);
        x.z = rows[2] - f32x8_set(origin.z + middle.z);
        moment.x += m * x.x;
        moment.y += m * x.y;
        moment.z += m * x.z;
        sum.x += part.x;
        sum.y += part.y;
        sum.z += part.z;
        rotation.x += x.y * part.z - x.z * part.y;
        rotation.y += x.z * part.x - x.x * part.z;
        rotation.z += x.x * part.y - x.y * part.x;
        rows[4] += gx;
        rows[5] += gy;
        rows[6] += gz;
        scatter(points, i, count, rows);
    }
    MatchDrift drift = {vec3(sum_lanes(sum.x), sum_lanes(sum.y), sum_lanes(sum.z)),
                        vec3(sum_lanes(rotation.x), sum_lanes(rotation.y), sum_lanes(rotation.z)),
                        vec3(sum_lanes(moment.x), sum_lanes(moment.y), sum_lanes(moment.z))};
    return drift;
}

/* ---- maps ---- */

static Mat3 mat3_product(Mat3 a, Mat3 b)
{
    Mat3 m = {mat3_mul(a, b.x), mat3_mul(a, b.y), mat3_mul(a, b.z)};
    return m;
}

static Mat3 mat3_transposed(Mat3 a)
{
    Mat3 m = {{a.x.x, a.y.x, a.z.x}, {a.x.y, a.y.y, a.z.y}, {a.x.z, a.y.z, a.z.z}};
    return m;
}

static f32 mat3_determinant(Mat3 a)
{
    return vec3_dot(vec3_cross(a.x, a.y), a.z);
}

static Mat3 mat3_scale(Mat3 a, f32 s)
{
    Mat3 m = {vec3_scale(a.x, s), vec3_scale(a.y, s), vec3_scale(a.z, s)};
    return m;
}

/* b + s a */
static Mat3 mat3_add_scaled(Mat3 b, f32 s, Mat3 a)
{
    Mat3 m = {vec3_add_scaled(b.x, s, a.x), vec3_add_scaled(b.y, s, a.y),
              vec3_add_scaled(b.z, s, a.z)};
    return m;
}

static f32 mat3_size(Mat3 a)
{
    return sqrtf(vec3_dot(a.x, a.x) + vec3_dot(a.y, a.y) + vec3_dot(a.z, a.z));
}

static Mat3 mat3_of(const Symmetric3 *s)
{
    Mat3 m = {{s->xx, s->xy, s->xz}, {s->xy, s->yy, s->yz}, {s->xz, s->yz, s->zz}};
    return m;
}

static const Mat3 identity = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};

/* Plastic flow (§4.3 of the paper): stretch beyond the yield strain gradually becomes part of
 * the rest shape, at constant volume. `linear` maps the original rest shape, `turn` is its
 * rotation. */
static void flow(const SoftDef *def, BodyConstraintState *state, Mat3 linear, Mat3 rotation, f32 h)
{
    f32 determinant = mat3_determinant(state->plastic);
    if (!(determinant > 1e-3f)) {
        return;
    }
    /* S = Rᵀ A Sp⁻¹ */
    Mat3 p = state->plastic;
    Mat3 cofactors = {vec3_cross(p.y, p.z), vec3_cross(p.z, p.x), vec3_cross(p.x, p.y)};
    Mat3 whole = mat3_product(mat3_transposed(rotation), linear);
    Mat3 elastic = mat3_product(whole, mat3_transposed(cofactors));
    elastic = mat3_scale(elastic, 1.0f / determinant);
    Mat3 strain = mat3_add_scaled(elastic, -1.0f, identity);
    if (!(mat3_size(strain) > def->yield)) {
        return;
    }
    f32 rate = f32_min(h * def->creep, 1.0f);
    Mat3 next = mat3_product(mat3_add_scaled(identity, rate, strain), p);
    determinant = mat3_determinant(next);
    if (!(determinant > 1e-3f)) {
        return;
    }
    next = mat3_scale(next, 1.0f / cube_root(determinant));
    Mat3 off = mat3_add_scaled(next, -1.0f, identity);
    f32 size = mat3_size(off);
    if (size > def->plastic_max) {
        next = mat3_add_scaled(identity, def->plastic_max / size, off);
    }
    state->plastic = next;
}

/* Plastic offset of each point: where a point is farther from the best linear map of the whole
 * than the yield strain of a cell, its rest position follows, and the rest shape is recomputed.
 * `rigid` is rotation and plastic map of the whole, of determinant 1. */
static void plastic_offset(Soft *soft, const SoftBody *body, Match *match, const MatchSums *sums,
                           Mat3 linear, Mat3 rigid, f32 h)
{
    const SoftDef *def = &body->def;
    const SoftPoint *points = soft->points + body->first;
    f32 cell = body->cell > 0.0f ? f32_min(body->cell, match->size) : match->size;
    f32 least = def->yield * cell, most = def->plastic_max * match->size;
    f32 rate = f32_min(h * def->creep, 1.0f);
    Mat3 back = {vec3_cross(rigid.y, rigid.z), vec3_cross(rigid.z, rigid.x),
                 vec3_cross(rigid.x, rigid.y)};
    Mat3 map = mat3_scale(linear, match->size);
    Vec3 origin = vec3_add(points[0].position, sums->centre);
    const f32 *x = match->basis, *y = x + match->padded, *z = y + match->padded;
    bool any = false;
    for (u32 i = 0; i < body->count; i++) {
        Vec3 at = vec3_add_scaled(vec3_sub(points[i].position, origin), h, points[i].velocity);
        Vec3 off = vec3_sub(at, mat3_mul(map, vec3(x[i], y[i], z[i])));
        f32 size = vec3_length(off);
        if (!(size > least) || !(size < 1e6f)) {
            continue;
        }
        Vec3 way = mat3_mul_transposed(back, vec3_scale(off, rate * (1.0f - least / size)));
        Vec3 next = vec3_add(match->plastic_offsets[i], way);
        f32 deep = vec3_length(next);
        match->plastic_offsets[i] = deep > most ? vec3_scale(next, most / deep) : next;
        any = true;
    }
    if (any) {
        match_shape(soft, body, match);
    }
}

/* Σ m x basis times the pseudo-inverse of Σ m basis basis: the least squares map. */
static void fit(const Match *match, const MatchSums *sums, Vec3 map[MATCH_TERMS_MAX])
{
    for (u32 k = 0; k < match->terms; k++) {
        map[k] = vec3_zero();
        for (u32 j = 0; j < match->terms; j++) {
            map[k] =
                vec3_add_scaled(map[k], match->inverse[j * match->terms + k], sums->product[j]);
        }
    }
}

/* The map to the goals: beta times the best fit, scaled to the rest volume, plus the rotation
 * for the remainder. */
static void find_map(const SoftDef *def, const Match *match, const MatchSums *sums, Mat3 linear,
                     Mat3 rigid, Vec3 map[MATCH_TERMS_MAX])
{
    f32 beta = def->match == SOFT_MATCH_RIGID ? 0.0f : def->match_beta;
    f32 determinant = mat3_determinant(linear);
    if (determinant < 0.05f) {
        beta = 0.0f; /* flat or inverted: not a usable map */
    }
    if (beta > 0.0f) {
        f32 volume = beta / cube_root(determinant);
        fit(match, sums, map);
        for (u32 k = 0; k < match->terms; k++) {
            map[k] = vec3_scale(map[k], volume);
        }
    } else {
        memset(map, 0, MATCH_TERMS_MAX * sizeof *map);
    }
    f32 rest = (1.0f - beta) * match->size;
    map[0] = vec3_add_scaled(map[0], rest, rigid.x);
    map[1] = vec3_add_scaled(map[1], rest, rigid.y);
    map[2] = vec3_add_scaled(map[2], rest, rigid.z);
}

/* Goals preserve momentum only to rounding, which a short step amplifies; and they preserve
 * angular momentum about the predicted positions, not the current ones: a rotating body would
 * lose a part (ω h)² / 2 of it in each step. Both are restored as a rigid motion, which changes
 * no shape. */
static void take_back(SoftPoint *points, u32 count, const Match *match, const MatchSums *sums,
                      Mat3 linear, MatchDrift drift)
{
    Mat3 spread = mat3_product(linear, mat3_of(&match->moments));
    spread = mat3_product(spread, mat3_transposed(linear));
    f32 sum = spread.x.x + spread.y.y + spread.z.z, least = 1e-3f * sum; /* strings do not roll */
    Symmetric3 inertia = {sum - spread.x.x + least,
                          sum - spread.y.y + least,
                          sum - spread.z.z + least,
                          -spread.y.x,
                          -spread.z.x,
                          -spread.z.y};
    Symmetric3 inverse = symmetric_inverse(&inertia);
    Vec3 rotation = symmetric_mul(&inverse, drift.angular_velocity);
    Vec3 shift = vec3_scale(drift.momentum, 1.0f / match->mass_kg);
    Vec3 middle = vec3_add_scaled(sums->centre, 1.0f / match->mass_kg, drift.moment);
    middle = vec3_add(points[0].position, middle);
    for (u32 i = 0; i < count; i++) {
        Vec3 back = vec3_add(shift, vec3_cross(rotation, vec3_sub(points[i].position, middle)));
        points[i].velocity = vec3_sub(points[i].velocity, back);
    }
}

void match_solve(Soft *soft, u32 index, f32 h)
{
    const SoftBody *body = &soft->bodies[index];
    Match *match = &soft->body_constraints->matches[index];
    BodyConstraintState *state = &soft->body_constraints->states[index];
    SoftPoint *points = soft->points + body->first;
    MatchSums sums;
    if (match->terms == 9) {
        sum_terms(points, body->count, match, 9, h, &sums);
    } else {
        sum_terms(points, body->count, match, 3, h, &sums);
    }
    Mat3 product = {sums.product[0], sums.product[1], sums.product[2]};
    Mat3 spread = mat3_product(product, mat3_transposed(state->plastic));
    state->rotation = polar_rotation(spread, state->rotation);
    Mat3 rotation = mat3_from_quat(state->rotation), rigid = mat3_product(rotation, state->plastic);
    /* The best linear map of the original rest shape; a rotation where that is flat. */
    Mat3 linear = mat3_product(product, mat3_of(&match->inverse_linear));
    linear = mat3_scale(linear, 1.0f / match->size);
    linear = mat3_add_scaled(linear, 1.0f, mat3_product(rigid, mat3_of(&match->flat)));
    Vec3 map[MATCH_TERMS_MAX];
    if (body->def.yield > 0.0f) {
        flow(&body->def, state, linear, rotation, h);
        plastic_offset(soft, body, match, &sums, linear, rigid, h);
    }
    find_map(&body->def, match, &sums, linear, rigid, map);
    f32 share = body->def.match_stiffness;
    bool curved = body->def.match == SOFT_MATCH_QUADRATIC && body->def.match_beta > 0.0f;
    MatchDrift drift = curved ? go(points, body->count, match, 9, sums.centre, map, share, h)
                              : go(points, body->count, match, 3, sums.centre, map, share, h);
    if (!match->pinned) {
        take_back(points, body->count, match, &sums, linear, drift);
    }
}
