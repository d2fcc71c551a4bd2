/* method.c: bodies of methods other than SOFT_XPBD; the solvers of whole ticks. */
#include "server/physics/soft/method.h"

#include "shared/base/error.h"

#include <stdlib.h>

/* A particle attached to a heavier body has at least this part of its own inverse mass, so that
 * the impulse it passes on can be recovered from its motion. */
static const f32 attached_min = 1e-3f;

void methods_destroy(Methods *methods)
{
    if (methods != NULL) {
        free(methods->first_grab);
        free(methods->moved);
        free(methods->speed);
        free(methods->change);
        free(methods->drift);
        free(methods->expected);
        free(methods->weight);
        free(methods->own);
        free(methods->multiplier);
        free(methods->spread);
        free(methods->stable);
        free(methods);
    }
}

static bool integrates(const SoftBody *body)
{
    return body->def.method >= SOFT_EULER && body->def.method <= SOFT_VERLET;
}

static bool allocate(Soft *soft, Methods *methods)
{
    size_t particles = u32_max(soft->count, 1), constraints = u32_max(soft->constraint_count, 1);
    methods->first_grab = calloc(soft->body_count, sizeof *methods->first_grab);
    methods->moved = calloc(particles, sizeof *methods->moved);
    methods->speed = calloc(particles, sizeof *methods->speed);
    methods->change = calloc(particles, sizeof *methods->change);
    methods->drift = calloc(particles, sizeof *methods->drift);
    methods->expected = calloc(particles, sizeof *methods->expected);
    methods->weight = calloc(particles, sizeof *methods->weight);
    methods->own = calloc(particles, sizeof *methods->own);
    methods->multiplier = calloc(constraints, sizeof *methods->multiplier);
    methods->spread = calloc(constraints, sizeof *methods->spread);
    methods->stable = calloc(soft->body_count, sizeof *methods->stable);
    return methods->first_grab != NULL && methods->moved != NULL && methods->speed != NULL &&
           methods->change != NULL && methods->drift != NULL && methods->expected != NULL &&
           methods->weight != NULL && methods->own != NULL && methods->multiplier != NULL &&
           methods->spread != NULL && methods->stable != NULL;
}

int methods_create(Soft *soft)
{
    methods_destroy(soft->methods);
    soft->methods = NULL;
    u32 count = 0;
    for (u32 i = 0; i < soft->body_count; i++) {
        count += soft->bodies[i].def.method != SOFT_XPBD;
    }
    if (count == 0) {
        return ERROR_OK;
    }
    Methods *methods = calloc(1, sizeof *methods);
    if (methods == NULL) {
        return ERROR_MEMORY;
    }
    if (!allocate(soft, methods)) {
        methods_destroy(methods);
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < soft->body_count; i++) {
        if (integrates(&soft->bodies[i])) {
            springs_create(soft, methods, &soft->bodies[i]);
        }
    }
    soft->methods = methods;
    return ERROR_OK;
}

/* ---- solving a whole tick at once: velocities are those of the tick ---- */

static bool is_hard(const SoftConstraint *of)
{
    return of->role == ROLE_STRETCH || of->role == ROLE_LIMIT;
}

/* constraint_project for the most common kind, which dominates the cost of iterations. */
static void iterate_distance(Soft *soft, const SoftConstraint *of, f32 h, f32 *multiplier)
{
    SoftPoint *a = &soft->points[of->point[0]], *b = &soft->points[of->point[1]];
    f32 alpha = of->compliance * soft_role_scale(soft, of->role) / (h * h);
    f32 w = a->inverse_mass + b->inverse_mass + alpha;
    Vec3 d = vec3_sub(b->position, a->position);
    d = vec3_add_scaled(d, h, vec3_sub(b->velocity, a->velocity));
    f32 length = vec3_length(d);
    if (length < 1e-9f || w <= 0.0f) {
        return;
    }
    f32 value = length - f32_clamp(length, of->low, of->high);
    f32 lambda = (-value - alpha * *multiplier) / w;
    *multiplier += lambda;
    Vec3 step = vec3_scale(d, lambda / (h * length));
    a->velocity = vec3_add_scaled(a->velocity, -a->inverse_mass, step);
    b->velocity = vec3_add_scaled(b->velocity, b->inverse_mass, step);
}

/* Limit of rotation of an angle in one iteration: its gradient is a tangent, and a wing rotated
 * far along it would be stretched, creating energy. */
static const f32 rotation_max = 0.3f; /* rad */

static void iterate_dihedral(Soft *soft, const SoftConstraint *of, f32 h, f32 *multiplier)
{
    ConstraintRows rows;
    Vec3 x[4];
    constraint_gather(soft, of, h, x);
    constraint_evaluate(of, NULL, x, &rows);
    f32 mobility = 0.0f;
    for (u32 i = 0; rows.rows != 0 && i < 4; i++) {
        f32 w = soft->points[of->point[i]].inverse_mass;
        mobility += w * vec3_length_squared(rows.gradient[0][i]);
    }
    if (!(mobility > 1e-20f)) {
        return;
    }
    f32 alpha = of->compliance * soft_role_scale(soft, of->role) / (h * h);
    f32 lambda = (-rows.value[0] - alpha * *multiplier) / (mobility + alpha);
    lambda = f32_clamp(lambda, -rotation_max / mobility, rotation_max / mobility);
    *multiplier += lambda;
    for (u32 i = 0; i < 4; i++) {
        SoftPoint *p = &soft->points[of->point[i]];
        p->velocity =
            vec3_add_scaled(p->velocity, p->inverse_mass * lambda / h, rows.gradient[0][i]);
    }
}

/* Plain PBD and relaxation have no compliance. Compliant constraints, such as bending, get the
 * correction of an XPBD iteration; edges and limits get the full correction times the stiffness. */
static void solve_stiff(Soft *soft, const SoftConstraint *of, f32 stiffness, f32 h)
{
    f32 none = 0.0f;
    if (is_hard(of)) {
        constraint_project_pbd(soft, of, h, stiffness);
    } else if (of->kind == CONSTRAINT_DISTANCE) {
        iterate_distance(soft, of, h, &none);
    } else if (of->kind == CONSTRAINT_DIHEDRAL) {
        iterate_dihedral(soft, of, h, &none);
    } else {
        constraint_project(soft, of, h, NULL);
    }
}

/* Jakobsen's stick correction without a square root: √(d·d) by its tangent at L² (Jakobsen 2001,
 * "Advanced character physics"), exact at the rest length, one Newton step elsewhere. Nothing is
 * done within the limits. */
static void relax_stick(Soft *soft, const SoftConstraint *stick, f32 h)
{
    SoftPoint *a = &soft->points[stick->point[0]], *b = &soft->points[stick->point[1]];
    f32 w = a->inverse_mass + b->inverse_mass;
    Vec3 d = vec3_sub(b->position, a->position);
    d = vec3_add_scaled(d, h, vec3_sub(b->velocity, a->velocity));
    f32 d2 = vec3_length_squared(d);
    f32 low2 = stick->low * stick->low, high2 = stick->high * stick->high;
    if ((d2 <= high2 && d2 >= low2) || w <= 0.0f || d2 < 1e-18f) {
        return;
    }
    f32 l2 = d2 > high2 ? high2 : low2;
    Vec3 step = vec3_scale(d, 2.0f * (l2 / (d2 + l2) - 0.5f) / (w * h));
    a->velocity = vec3_add_scaled(a->velocity, -a->inverse_mass, step);
    b->velocity = vec3_add_scaled(b->velocity, b->inverse_mass, step);
}

static void iterate(Soft *soft, Methods *methods, const SoftBody *body, u32 i, f32 h)
{
    const SoftConstraint *of = &soft->constraints[i];
    switch (body->def.method) {
    case SOFT_XPBD_ITERATIONS:
        if (of->kind == CONSTRAINT_DISTANCE) {
            iterate_distance(soft, of, h, methods->multiplier[i]);
        } else if (of->kind == CONSTRAINT_DIHEDRAL) {
            iterate_dihedral(soft, of, h, methods->multiplier[i]);
        } else {
            constraint_project(soft, of, h, methods->multiplier[i]);
        }
        break;
    case SOFT_RELAX:
        if (of->kind == CONSTRAINT_DISTANCE && is_hard(of)) {
            relax_stick(soft, of, h);
        } else {
            solve_stiff(soft, of, 1.0f, h);
        }
        break;
    default:
        solve_stiff(soft, of, body->def.stiffness, h);
        break;
    }
}

/* A single iteration in one order is no symmetric map: a stiff sheet gains energy from the smallest
 * motion (law bend/single). It goes on back to the first constraint, without the last again. */
static void solve_pass(Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    u32 count = body->constraint_count;
    for (u32 k = 0; k < count; k++) {
        iterate(soft, methods, body, body->first_constraint + k, h);
    }
    for (u32 k = 1; k < count && body->def.iterations == 1; k++) {
        iterate(soft, methods, body, body->first_constraint + count - 1 - k, h);
    }
}

static void warm_grabs(Soft *soft, const Methods *methods, u32 first, f32 h)
{
    for (u32 i = first; i != SOFT_NONE; i = methods->next_grab[i]) {
        SoftPoint *p = &soft->points[soft->grabs[i].particle];
        p->velocity = vec3_add_scaled(p->velocity, p->inverse_mass * h, soft->grabs[i].force);
    }
}

/* Solves the velocity of a whole tick from its initial state. A grab is one of the constraints:
 * it feels the whole load on its particle, so that dragging one particle moves a whole figure.
 * An attached particle moves with its body, with the mass of both, and stores the impulse for
 * the body (contact.c applies it at once). */
static void solve_tick(Soft *soft, Methods *methods, u32 index, f32 h)
{
    const SoftBody *body = &soft->bodies[index];
    u32 end = body->first + body->count, first_grab = methods->first_grab[index];
    soft_predict(soft, body, h);
    for (u32 i = body->first; i < end; i++) {
        SoftPoint *p = &soft->points[i];
        methods->own[i] = p->inverse_mass;
        methods->moved[i] = p->velocity;
        if (methods->weight[i] < p->inverse_mass) {
            p->inverse_mass = methods->weight[i];
            p->velocity = methods->speed[i];
        }
    }
    memset(methods->multiplier[body->first_constraint], 0,
           body->constraint_count * sizeof *methods->multiplier);
    warm_grabs(soft, methods, first_grab, h);
    u32 iterations = body->def.iterations; /* at least 1, and bounded: build_check */
    for (u32 k = 0; k < iterations; k++) {
        solve_pass(soft, methods, body, h);
        for (u32 i = first_grab; i != SOFT_NONE; i = methods->next_grab[i]) {
            grab_solve(soft, &soft->grabs[i], h);
        }
    }
    limit_step(soft, body, h);
    for (u32 i = body->first; i < end; i++) {
        SoftPoint *p = &soft->points[i];
        if (p->inverse_mass < methods->own[i]) {
            Vec3 given = vec3_sub(p->velocity, methods->speed[i]);
            f32 part = methods->own[i] / p->inverse_mass;
            p->velocity = vec3_add_scaled(methods->moved[i], part, given);
            p->inverse_mass = methods->own[i];
        }
    }
}

/* ---- a step ---- */

/* Finds the weights of particles of bodies that solve whole ticks, and their grabs. */
void methods_begin(Soft *soft)
{
    Methods *methods = soft->methods;
    if (methods == NULL) {
        return;
    }
    for (u32 i = 0; i < soft->body_count; i++) {
        methods->first_grab[i] = SOFT_NONE;
    }
    for (u32 i = 0; i < soft->count; i++) {
        methods->weight[i] = soft->points[i].inverse_mass;
    }
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        f32 w = soft->points[held->particle].inverse_mass;
        if (held->coupled < w) {
            methods->weight[held->particle] = f32_max(held->coupled, attached_min * w);
            methods->speed[held->particle] = held->carried;
        }
    }
    for (u32 i = soft->grab_end; i-- > 0;) {
        if (soft->grabs[i].live) {
            u32 *first = &methods->first_grab[soft->matter[soft->grabs[i].particle].body];
            methods->next_grab[i] = *first;
            *first = i;
        }
    }
}

u32 methods_steps(const Soft *soft, f32 h)
{
    u32 steps = soft->steps;
    for (u32 b = 0; soft->methods != NULL && b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        if (integrates(body) && !soft_sleeps(soft, b)) {
            f32 longest = springs_longest_step(soft, soft->methods, body);
            steps = u32_max(steps, (u32)(h / longest + 0.99f)); /* rounding adds no step */
        }
    }
    return steps;
}

void methods_body(Soft *soft, u32 index, f32 h)
{
    const SoftBody *body = &soft->bodies[index];
    if (integrates(body)) {
        springs_step(soft, soft->methods, body, h);
    } else if (body->def.method != SOFT_XPBD && soft->step == 0) {
        solve_tick(soft, soft->methods, index, soft->tick_s);
    }
    if (body->def.smoothing > 0.0f && soft->step == 0) {
        smooth_step(soft, body, soft->tick_s);
    }
}

/* Velocity changes by contact, grabs or the speed limit move a particle as its velocity says. */
void methods_move(Soft *soft, u32 index)
{
    const Methods *methods = soft->methods;
    const SoftBody *body = &soft->bodies[index];
    for (u32 i = body->first; integrates(body) && i < body->first + body->count; i++) {
        SoftPoint *p = &soft->points[i];
        Vec3 off = vec3_sub(p->velocity, methods->expected[i]);
        if (vec3_length_squared(off) == 0.0f) {
            p->position = vec3_add(p->position, methods->drift[i]);
        }
    }
}
