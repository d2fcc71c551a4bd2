/* constraint.c: see constraint.h. */
#include "server/physics/soft/constraint.h"

#include "shared/math/trig.h"

/* Below this (m; m² for cross products) there is no usable direction. */
static const f32 length_min = 1e-9f, cross_min = 1e-18f;

u32 constraint_points(u32 kind)
{
    return kind == CONSTRAINT_DISTANCE ? 2 : kind == CONSTRAINT_AREA ? 3 : 4;
}

/* The gradient at the first point is minus the sum of the others: no projection changes
 * momentum. */
static void balance(ConstraintRows *rows, u32 row)
{
    Vec3 sum = rows->gradient[row][1];
    for (u32 k = 2; k < rows->points; k++) {
        sum = vec3_add(sum, rows->gradient[row][k]);
    }
    rows->gradient[row][0] = vec3_neg(sum);
}

static void evaluate_distance(const SoftConstraint *c, const Vec3 x[4], ConstraintRows *rows)
{
    f32 length = vec3_length(x[1]);
    if (length < length_min) {
        return;
    }
    rows->rows = 1;
    rows->value[0] = length - f32_clamp(length, c->low, c->high);
    rows->gradient[0][1] = vec3_scale(x[1], 1.0f / length);
    balance(rows, 0);
}

/* A wing that moves by δ along its normal rotates by δ over its height (Bridson et al. 2003). */
static void evaluate_dihedral(const SoftConstraint *c, const Vec3 x[4], ConstraintRows *rows)
{
    Vec3 e = x[1];
    Vec3 n = vec3_cross(e, x[2]), m = vec3_cross(x[3], e);
    f32 ee = vec3_dot(e, e), nn = vec3_dot(n, n), mm = vec3_dot(m, m);
    if (ee < length_min * length_min || nn < cross_min * cross_min || mm < cross_min * cross_min) {
        return;
    }
    f32 length = sqrtf(ee);
    f32 angle = trig_atan2_quick(vec3_dot(vec3_cross(n, m), e) / length, vec3_dot(n, m)) - c->low;
    angle = angle > 3.1415927f ? angle - 6.2831855f : angle;
    rows->rows = 1;
    rows->value[0] = angle < -3.1415927f ? angle + 6.2831855f : angle;
    Vec3 p = vec3_scale(n, -length / nn), q = vec3_scale(m, -length / mm);
    f32 s = vec3_dot(x[2], e) / ee, t = vec3_dot(x[3], e) / ee;
    rows->gradient[0][1] = vec3_neg(vec3_add_scaled(vec3_scale(p, s), t, q));
    rows->gradient[0][2] = p;
    rows->gradient[0][3] = q;
    balance(rows, 0);
}

static void evaluate_isometric(const SoftConstraint *c, const SoftShape *shape, const Vec3 x[4],
                               ConstraintRows *rows)
{
    const f32 *k = shape->value;
    Vec3 bend = vec3_add_scaled(vec3_add_scaled(vec3_scale(x[1], k[1]), k[2], x[2]), k[3], x[3]);
    f32 size = vec3_length(bend);
    Vec3 along = size > 1e-20f ? vec3_scale(bend, 1.0f / size) : vec3_zero();
    rows->rows = size > 1e-20f;
    rows->value[0] = size - c->low;
    for (u32 i = 1; i < 4; i++) {
        rows->gradient[0][i] = vec3_scale(along, k[i]);
    }
    balance(rows, 0);
}

static void evaluate_area(const SoftConstraint *c, const Vec3 x[4], ConstraintRows *rows)
{
    Vec3 n = vec3_cross(x[1], x[2]);
    f32 twice = vec3_length(n);
    if (twice < cross_min) {
        return;
    }
    Vec3 half = vec3_scale(n, 0.5f / twice);
    rows->rows = 1;
    rows->value[0] = 0.5f * twice - c->low;
    rows->gradient[0][1] = vec3_cross(x[2], half);
    rows->gradient[0][2] = vec3_cross(half, x[1]);
    balance(rows, 0);
}

/* Six times the gradients of the volume at points 1 to 3. */
static void volume_gradients(const Vec3 x[4], Vec3 g[4])
{
    g[1] = vec3_cross(x[2], x[3]);
    g[2] = vec3_cross(x[3], x[1]);
    g[3] = vec3_cross(x[1], x[2]);
}

static void evaluate_volume(const SoftConstraint *c, const Vec3 x[4], ConstraintRows *rows)
{
    Vec3 g[4];
    volume_gradients(x, g);
    rows->rows = 1;
    rows->value[0] = vec3_dot(x[1], g[1]) / 6.0f - c->low;
    for (u32 i = 1; i < 4; i++) {
        rows->gradient[0][i] = vec3_scale(g[i], 1.0f / 6.0f);
    }
    balance(rows, 0);
}

static void evaluate_neo_hookean(const SoftConstraint *c, const SoftShape *shape, const Vec3 x[4],
                                 ConstraintRows *rows)
{
    const f32 *b = shape->value;
    Vec3 f[3], g[4];
    for (u32 j = 0; j < 3; j++) {
        f[j] = vec3_add_scaled(vec3_add_scaled(vec3_scale(x[1], b[j]), b[3 + j], x[2]), b[6 + j],
                               x[3]);
    }
    f32 size = sqrtf(vec3_dot(f[0], f[0]) + vec3_dot(f[1], f[1]) + vec3_dot(f[2], f[2]));
    if (size < 1e-9f) {
        return;
    }
    volume_gradients(x, g);
    f32 per_rest = 1.0f / (6.0f * c->low), per_size = 1.0f / size;
    rows->rows = 2;
    rows->value[0] = size;
    rows->value[1] = vec3_dot(x[1], g[1]) * per_rest - 1.0f - b[9];
    rows->factor[1] = b[9];
    for (u32 i = 1; i < 4; i++) {
        const f32 *row = b + 3 * (i - 1);
        Vec3 sum =
            vec3_add_scaled(vec3_add_scaled(vec3_scale(f[0], row[0]), row[1], f[1]), row[2], f[2]);
        rows->gradient[0][i] = vec3_scale(sum, per_size);
        rows->gradient[1][i] = vec3_scale(g[i], per_rest);
    }
    balance(rows, 0);
    balance(rows, 1);
}

void constraint_evaluate(const SoftConstraint *constraint, const SoftShape *shape, const Vec3 x[4],
                         ConstraintRows *rows)
{
    rows->points = constraint_points(constraint->kind);
    rows->rows = 0;
    rows->factor[0] = 1.0f;
    switch ((ConstraintKind)constraint->kind) {
    case CONSTRAINT_DISTANCE:
        evaluate_distance(constraint, x, rows);
        break;
    case CONSTRAINT_DIHEDRAL:
        evaluate_dihedral(constraint, x, rows);
        break;
    case CONSTRAINT_ISOMETRIC:
        evaluate_isometric(constraint, shape, x, rows);
        break;
    case CONSTRAINT_AREA:
        evaluate_area(constraint, x, rows);
        break;
    case CONSTRAINT_VOLUME:
        evaluate_volume(constraint, x, rows);
        break;
    case CONSTRAINT_NEO_HOOKEAN:
        evaluate_neo_hookean(constraint, shape, x, rows);
        break;
    case CONSTRAINT_KINDS:
        break;
    }
}

void constraint_gather(const Soft *soft, const SoftConstraint *constraint, f32 h, Vec3 x[4])
{
    const SoftPoint *a = &soft->points[constraint->point[0]];
    x[0] = vec3_zero();
    for (u32 i = 1; i < constraint_points(constraint->kind); i++) {
        const SoftPoint *b = &soft->points[constraint->point[i]];
        x[i] = vec3_add_scaled(vec3_sub(b->position, a->position), h,
                               vec3_sub(b->velocity, a->velocity));
    }
}

/* Σ w ∇C_r · ∇C_s */
static f32 weight(const Soft *soft, const SoftConstraint *c, const ConstraintRows *rows, u32 r,
                  u32 s)
{
    f32 sum = 0.0f;
    for (u32 i = 0; i < rows->points; i++) {
        sum += soft->points[c->point[i]].inverse_mass *
               vec3_dot(rows->gradient[r][i], rows->gradient[s][i]);
    }
    return sum;
}

f32 constraint_mobility(const Soft *soft, const SoftConstraint *c, const ConstraintRows *rows)
{
    return weight(soft, c, rows, 0, 0);
}

/* Limits the value of a rigid hinge: in a step it stops what bends it, and bends it back by its
 * greatest speed. ww: its mobility, alpha: compliance / h². */
static f32 limit_hinge(const Soft *soft, const SoftConstraint *c, const ConstraintRows *rows, f32 h,
                       f32 ww, f32 alpha)
{
    const SoftPoint *a = &soft->points[c->point[0]];
    f32 bends = 0.0f, back = h * CONSTRAINT_HINGE_RAD_S, per = ww > 0.0f ? 1.0f + alpha / ww : 1.0f;
    for (u32 i = 1; i < 4; i++) {
        Vec3 moved = vec3_scale(vec3_sub(soft->points[c->point[i]].velocity, a->velocity), h);
        bends += vec3_dot(rows->gradient[0][i], moved);
    }
    f32 least = f32_min(bends - back, 0.0f) * per, most = f32_max(bends + back, 0.0f) * per;
    return f32_clamp(rows->value[0], least, most);
}

static void apply(Soft *soft, const SoftConstraint *c, const ConstraintRows *rows, u32 row,
                  f32 impulse)
{
    for (u32 i = 0; i < rows->points; i++) {
        SoftPoint *p = &soft->points[c->point[i]];
        p->velocity =
            vec3_add_scaled(p->velocity, p->inverse_mass * impulse, rows->gradient[row][i]);
    }
}

void constraint_project(Soft *soft, const SoftConstraint *constraint, f32 h, f32 *multiplier)
{
    ConstraintRows rows;
    Vec3 x[4];
    f32 none[CONSTRAINT_ROWS_MAX] = {0.0f, 0.0f};
    f32 *lambda = multiplier != NULL ? multiplier : none;
    constraint_gather(soft, constraint, h, x);
    constraint_evaluate(constraint, constraint_shape(soft, constraint), x, &rows);
    if (rows.rows == 0) {
        return;
    }
    f32 scale = soft_role_scale(soft, constraint->role) / (h * h);
    f32 alpha = constraint->compliance * scale, ww = weight(soft, constraint, &rows, 0, 0);
    if (multiplier == NULL && constraint_rigid_hinge(constraint, scale)) {
        alpha *= 2.0f;
        if (constraint->kind == CONSTRAINT_DIHEDRAL) {
            rows.value[0] = limit_hinge(soft, constraint, &rows, h, ww, alpha);
        }
    }
    f32 a = -rows.value[0] - alpha * lambda[0], aa = ww + alpha;
    if (rows.rows == 1) {
        f32 step = aa > 0.0f ? a / aa : 0.0f;
        lambda[0] += step;
        apply(soft, constraint, &rows, 0, step / h);
        return;
    }
    /* Two rows by Cramer's rule. The part of the determinant without compliance is a Gram
     * determinant: 0 at rest, where the gradients are parallel, and negative only by rounding.
     * Near rest both rows respond to volume only: their effect on shear is explicit, and stable
     * while the compliance is not below the weight; so the effective stiffness per step is
     * limited to that. */
    f32 beta = alpha * rows.factor[1];
    f32 b = -rows.value[1] - beta * lambda[1];
    alpha = f32_max(alpha, 2.0f * ww);
    beta = alpha * rows.factor[1];
    aa = ww + alpha;
    f32 bb = weight(soft, constraint, &rows, 1, 1);
    f32 ab = weight(soft, constraint, &rows, 0, 1);
    f32 gram = ww * bb - ab * ab;
    f32 determinant = f32_max(gram, 0.0f) + alpha * bb + beta * aa;
    if (determinant > 0.0f) {
        f32 first = (a * (bb + beta) - b * ab) / determinant;
        f32 second = (b * aa - a * ab) / determinant;
        lambda[0] += first;
        lambda[1] += second;
        apply(soft, constraint, &rows, 0, first / h);
        apply(soft, constraint, &rows, 1, second / h);
    }
}

void constraint_project_pbd(Soft *soft, const SoftConstraint *constraint, f32 h, f32 stiffness)
{
    ConstraintRows rows;
    Vec3 x[4];
    rows.rows = 1;
    for (u32 row = 0; row < rows.rows; row++) {
        constraint_gather(soft, constraint, h, x);
        constraint_evaluate(constraint, constraint_shape(soft, constraint), x, &rows);
        f32 w = row < rows.rows ? weight(soft, constraint, &rows, row, row) : 0.0f;
        if (w <= 0.0f) {
            continue;
        }
        f32 value = rows.value[row];
        if (rows.rows == 2) { /* residual of C for material at rest */
            value += row == 0 ? -1.7320508f : rows.factor[1];
        }
        apply(soft, constraint, &rows, row, -stiffness * value / (w * h));
    }
}
