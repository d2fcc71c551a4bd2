/*
 * springs.c: masses and springs, integrated explicitly: Euler, midpoint, Störmer–Verlet. A
 * constraint of compliance α is a spring of energy C² / 2α with a damping β / α along its
 * gradient. Explicit methods are stable only for soft springs, so the stiffness of each spring
 * is limited: with D = Σ w |∇C|² / p, where p is the spring's share of a particle's motion
 * (those of a particle sum to 1), no mode is faster than max k D by Cauchy's inequality, so k =
 * min(1 / α, reach / (h² D)), reach keeps (ωh)² ≤ reach in every mode. Euler gains energy below
 * β = h, the midpoint rule below about (ωh)² h / 8, Verlet where points are pushed while they
 * vibrate: unless the definition says otherwise springs have just enough damping
 * (SoftDef.spring_damping). A point in contact moves by its velocity at the end of the step,
 * without drift: for it the method is another one, stable up to (ωh)² (1 + 2β/h) = 4 for Euler,
 * (ωh)² = 2 for the midpoint rule, 4 for Verlet. Kinds other than lengths have a smaller reach:
 * their gradients rotate. Where springs as stiff as asked would not be stable in the steps of
 * the scene, all soft bodies take shorter ones (methods_steps): so short that they are, or
 * longest_step_s, from where on springs are softened. Bodies and particles in contact take
 * these steps too: divided within the solver, a point in contact would move by the speed at
 * which it happens to vibrate. Last, nothing is stretched beyond three times its length
 * (limit_step).
 */
#include "server/physics/soft/method.h"

static const f32 reach_of[SOFT_METHOD_COUNT] = {
    [SOFT_EULER] = 1.0f, [SOFT_MIDPOINT] = 1.25f, [SOFT_VERLET] = 2.0f};
static const f32 curved_reach = 0.125f;           /* for all but lengths: their gradients rotate */
static const f32 rotation_max = 0.3f;             /* rad, force on an angle, per step */
static const f32 nominal_step_s = 1.0f / 1440.0f; /* shares: best for it, safe for others */
static const f32 change_max_m_s = 100.0f;         /* limit of velocity change in a step */
static const f32 longest_step_s = 1.0f / 720.0f;  /* of springs that are too stiff for the step */

/* s², where nothing bounds it: finite, as scales may be 0. */
static const f32 stable_most = 1e30f;

/* ---- shares ---- */

/* Limit of a spring's stiffness on one particle alone. */
static f32 stiffness_on(const SoftConstraint *of, f32 inverse_mass)
{
    f32 most = 2.0f / (2.0f * nominal_step_s * nominal_step_s * f32_max(inverse_mass, 1e-9f));
    return of->compliance * most > 1.0f ? 1.0f / of->compliance : most;
}

static void add_sums(const Soft *soft, Methods *methods, const SoftConstraint *of)
{
    for (u32 k = 0; k < 4 && of->point[k] != SOFT_NONE; k++) {
        u32 p = of->point[k];
        methods->change[p].x += stiffness_on(of, soft->points[p].inverse_mass);
        methods->change[p].y += 1.0f;
    }
}

/* Σ w |∇C|² / share: no mode is faster than k times this. */
static f32 speed_bound(const Soft *soft, const Methods *methods, u32 index, u32 row,
                       const ConstraintRows *rows)
{
    f32 sum = 0.0f;
    for (u32 k = 0; k < rows->points; k++) {
        f32 w = soft->points[soft->constraints[index].point[k]].inverse_mass;
        sum += methods->spread[index][k] * w * vec3_length_squared(rows->gradient[row][k]);
    }
    return sum * (f32)rows->rows;
}

/* s², the square of the longest step in which a constraint at rest needs no softening. */
static f32 stable_square(const Soft *soft, const Methods *methods, u32 index, f32 reach)
{
    const SoftConstraint *of = &soft->constraints[index];
    ConstraintRows rows;
    Vec3 x[4] = {{0.0f, 0.0f, 0.0f}};
    f32 square = stable_most, within = of->kind == CONSTRAINT_DISTANCE ? reach : curved_reach;
    for (u32 k = 1; k < constraint_points(of->kind); k++) {
        x[k] = vec3_sub(soft->rest[of->point[k]], soft->rest[of->point[0]]);
    }
    constraint_evaluate(of, constraint_shape(soft, of), x, &rows);
    for (u32 row = 0; row < rows.rows; row++) {
        f32 bound = speed_bound(soft, methods, index, row, &rows);
        if (bound > 0.0f) {
            square = f32_min(square, of->compliance * within * rows.factor[row] / bound);
        }
    }
    return square;
}

/* Half of a particle is shared by stiffness and half equally: bending then takes little from
 * stretch, and keeps enough for itself. */
void springs_create(const Soft *soft, Methods *methods, const SoftBody *body)
{
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end; i++) {
        add_sums(soft, methods, &soft->constraints[i]);
    }
    for (u32 i = body->first_constraint; i < end; i++) {
        const SoftConstraint *of = &soft->constraints[i];
        for (u32 k = 0; k < 4 && of->point[k] != SOFT_NONE; k++) {
            u32 p = of->point[k];
            f32 share =
                0.5f / methods->change[p].y +
                0.5f * stiffness_on(of, soft->points[p].inverse_mass) / methods->change[p].x;
            methods->spread[i][k] = 1.0f / share;
        }
    }
    f32 *stable = methods->stable[body - soft->bodies];
    stable[0] = stable[1] = stable_most;
    for (u32 i = body->first_constraint; i < end; i++) {
        if (soft->constraints[i].role != ROLE_LIMIT) {
            f32 *of = &stable[soft->constraints[i].role == ROLE_BEND];
            *of = f32_min(*of, stable_square(soft, methods, i, reach_of[body->def.method]));
        }
    }
}

f32 springs_longest_step(const Soft *soft, const Methods *methods, const SoftBody *body)
{
    const f32 *stable = methods->stable[body - soft->bodies];
    f32 square = f32_min(stable[0] * soft->stretch_scale, stable[1] * soft->bend_scale);
    return sqrtf(f32_max(square, longest_step_s * longest_step_s));
}

/* ---- forces ---- */

/* β / h from (ωh)²: as the definition says, or just enough; at most the stable value. */
static f32 damping_of(const SoftBody *body, f32 z2, f32 h)
{
    if (!(body->def.spring_damping >= 0.0f)) {
        return body->def.method == SOFT_EULER      ? 1.0f + 0.1f * z2
               : body->def.method == SOFT_MIDPOINT ? 0.2f * z2
                                                   : 0.12f * z2;
    }
    f32 asked = body->def.spring_damping / h;
    z2 = f32_max(z2, 1e-6f);
    return f32_min(asked, f32_min(0.25f + 1.5f / z2, 1.9f / z2 - 0.5f));
}

static void add_force(const Soft *soft, Methods *methods, const SoftConstraint *of,
                      const Vec3 *gradient, u32 points, f32 force)
{
    for (u32 k = 0; k < points; k++) {
        u32 p = of->point[k];
        methods->change[p] =
            vec3_add_scaled(methods->change[p], soft->points[p].inverse_mass * force, gradient[k]);
    }
}

/* A spring between two points. Under tension it also has the lateral stiffness C k / length,
 * where explicit methods gain energy as well: damping it by the same rule removes the angular
 * momentum that Euler would add. */
static void add_distance(const Soft *soft, Methods *methods, const SoftBody *body, u32 index, f32 h)
{
    const SoftConstraint *of = &soft->constraints[index];
    u32 a = of->point[0], b = of->point[1];
    f32 wa = soft->points[a].inverse_mass, wb = soft->points[b].inverse_mass;
    f32 bound = methods->spread[index][0] * wa + methods->spread[index][1] * wb;
    Vec3 d = vec3_add(vec3_sub(soft->points[b].position, soft->points[a].position),
                      vec3_sub(methods->moved[b], methods->moved[a]));
    f32 length = vec3_length(d), value = length - f32_clamp(length, of->low, of->high);
    bool slack = of->low < of->high && value == 0.0f;
    if (slack || length < 1e-9f || bound <= 0.0f) {
        return;
    }
    f32 reach = reach_of[body->def.method], least = h * h * bound / reach;
    f32 k = 1.0f / f32_max(of->compliance * soft_role_scale(soft, of->role), least);
    f32 beta = damping_of(body, reach * least * k, h) * h, per_length = 1.0f / length;
    Vec3 n = vec3_scale(d, per_length), v = vec3_sub(methods->speed[b], methods->speed[a]);
    f32 rate = vec3_dot(v, n);
    /* Verlet's steps conserve angular momentum. */
    bool sideways_too = !(body->def.spring_damping >= 0.0f) && body->def.method != SOFT_VERLET;
    Vec3 force = vec3_scale(n, k * (value + beta * rate));
    if (value > 0.0f && sideways_too) {
        f32 sideways = k * beta * f32_min(value * per_length, 1.0f);
        force = vec3_add_scaled(force, sideways, vec3_add_scaled(v, -rate, n));
    }
    methods->change[a] = vec3_add_scaled(methods->change[a], wa, force);
    methods->change[b] = vec3_add_scaled(methods->change[b], -wb, force);
}

static void add_spring(const Soft *soft, Methods *methods, const SoftBody *body, u32 index, f32 h)
{
    const SoftConstraint *of = &soft->constraints[index];
    const Vec3 *moved = methods->moved;
    ConstraintRows rows;
    Vec3 x[4] = {{0.0f, 0.0f, 0.0f}};
    u32 a = of->point[0], points = constraint_points(of->kind);
    /* Where gradients turn, Euler takes the force at the end of the step: damped by h. */
    bool ahead = body->def.method == SOFT_EULER && !(body->def.spring_damping >= 0.0f);
    for (u32 k = 1; k < points; k++) {
        u32 b = of->point[k];
        x[k] = vec3_add(vec3_sub(soft->points[b].position, soft->points[a].position),
                        vec3_sub(moved[b], moved[a]));
        if (ahead) {
            x[k] = vec3_add_scaled(x[k], h, vec3_sub(methods->speed[b], methods->speed[a]));
        }
    }
    constraint_evaluate(of, constraint_shape(soft, of), x, &rows);
    /* All rows are softened alike; otherwise they would not balance at rest. */
    f32 alpha = of->compliance * soft_role_scale(soft, of->role), least = 0.0f;
    for (u32 row = 0; row < rows.rows; row++) {
        f32 bound = h * h * speed_bound(soft, methods, index, row, &rows) / curved_reach;
        least = f32_max(least, bound / rows.factor[row]);
    }
    f32 k = 1.0f / f32_max(alpha, least);
    if (rows.rows == 0 || !(least > 1e-20f)) {
        return;
    }
    f32 beta = ahead ? 0.0f : damping_of(body, curved_reach * least * k, h) * h;
    for (u32 row = 0; row < rows.rows; row++) {
        f32 rate = 0.0f;
        for (u32 i = 0; i < points; i++) {
            rate += vec3_dot(rows.gradient[row][i], methods->speed[of->point[i]]);
        }
        f32 value = rows.value[row];
        if (of->kind == CONSTRAINT_DIHEDRAL) {
            value = f32_clamp(value, -rotation_max / (k * least), rotation_max / (k * least));
        }
        f32 force = -k / rows.factor[row] * (value + beta * rate);
        add_force(soft, methods, of, rows.gradient[row], points, force);
    }
}

/* Accelerations at the state moved, speed. */
static void find_changes(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    bool drags = soft_has_drag(soft, body);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        f32 damping = f32_min(soft->matter[i].damping, 0.5f / h);
        Vec3 a = soft->gravity;
        if (drags) {
            a = vec3_add_scaled(a, 1.0f / h, soft_wind(soft, i, methods->speed[i], h));
        }
        a = vec3_add_scaled(a, -damping, methods->speed[i]);
        methods->change[i] = soft->points[i].inverse_mass > 0.0f ? a : vec3_zero();
    }
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end; i++) {
        const SoftConstraint *of = &soft->constraints[i];
        if (of->kind != CONSTRAINT_DISTANCE) {
            add_spring(soft, methods, body, i, h);
        } else if (of->role != ROLE_LIMIT) {
            add_distance(soft, methods, body, i, h);
        }
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        f32 size = vec3_length(methods->change[i]) * h;
        if (!(size <= change_max_m_s)) {
            methods->change[i] =
                size < 1e30f ? vec3_scale(methods->change[i], change_max_m_s / size) : vec3_zero();
        }
    }
}

/* ---- steps: each leaves the displacement in moved and the velocity in speed ---- */

static void begin(const Soft *soft, Methods *methods, const SoftBody *body)
{
    for (u32 i = body->first; i < body->first + body->count; i++) {
        methods->moved[i] = vec3_zero();
        methods->speed[i] =
            soft->points[i].inverse_mass > 0.0f ? soft->points[i].velocity : vec3_zero();
    }
}

static void euler(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    find_changes(soft, methods, body, h);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        methods->moved[i] = vec3_scale(methods->speed[i], h);
        methods->speed[i] = vec3_add_scaled(methods->speed[i], h, methods->change[i]);
    }
}

static void midpoint(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    find_changes(soft, methods, body, h);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        methods->expected[i] = methods->speed[i];
        methods->moved[i] = vec3_scale(methods->speed[i], 0.5f * h);
        methods->speed[i] = vec3_add_scaled(methods->speed[i], 0.5f * h, methods->change[i]);
    }
    find_changes(soft, methods, body, h);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        methods->moved[i] = vec3_scale(methods->speed[i], h);
        methods->speed[i] = vec3_add_scaled(methods->expected[i], h, methods->change[i]);
    }
}

/* With velocities at full steps (Swope et al. 1982): positions are those of Störmer. */
static void verlet(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    for (u32 half = 0; half < 2; half++) {
        find_changes(soft, methods, body, h);
        for (u32 i = body->first; i < body->first + body->count; i++) {
            methods->speed[i] = vec3_add_scaled(methods->speed[i], 0.5f * h, methods->change[i]);
            if (half == 0) {
                methods->moved[i] = vec3_scale(methods->speed[i], h);
            }
        }
    }
}

void springs_step(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    begin(soft, methods, body);
    switch (body->def.method) {
    case SOFT_EULER:
        euler(soft, methods, body, h);
        break;
    case SOFT_MIDPOINT:
        midpoint(soft, methods, body, h);
        break;
    default:
        verlet(soft, methods, body, h);
        break;
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        soft->points[i].velocity = methods->speed[i];
        methods->expected[i] = methods->speed[i];
        methods->drift[i] = vec3_add_scaled(methods->moved[i], -h, methods->speed[i]);
    }
    limit_step(soft, body, h);
}
