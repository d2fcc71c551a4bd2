/* method.c: bodies of other methods than SOFT_XPBD; those that solve once in a tick. */
#include "server/physics/soft/method.h"

#include "shared/error.h"

#include <stdlib.h>

/* What is attached to something heavier counts as light as this part of itself, so that what it
 * passes on can still be told from how it moved. */
static const f32 attached_min = 1e-3f;

void methods_destroy(Methods *methods)
{
    if (methods != NULL) {
        free(methods->first_grip);
        free(methods->moved);
        free(methods->speed);
        free(methods->change);
        free(methods->drift);
        free(methods->expected);
        free(methods->weight);
        free(methods->multiplier);
        free(methods->spread);
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
    methods->first_grip = calloc(soft->body_count, sizeof *methods->first_grip);
    methods->moved = calloc(particles, sizeof *methods->moved);
    methods->speed = calloc(particles, sizeof *methods->speed);
    methods->change = calloc(particles, sizeof *methods->change);
    methods->drift = calloc(particles, sizeof *methods->drift);
    methods->expected = calloc(particles, sizeof *methods->expected);
    methods->weight = calloc(particles, sizeof *methods->weight);
    methods->multiplier = calloc(constraints * 2, sizeof *methods->multiplier);
    methods->spread = calloc(constraints, sizeof *methods->spread);
    return methods->first_grip != NULL && methods->moved != NULL && methods->speed != NULL &&
           methods->change != NULL && methods->drift != NULL && methods->expected != NULL &&
           methods->weight != NULL && methods->multiplier != NULL && methods->spread != NULL;
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

/* ---- one constraint ---- */

u32 method_parts(const SoftConstraint *of)
{
    PL_UNUSED(of);
    return 1;
}

bool method_measure(const Soft *soft, const SoftConstraint *of, const Vec3 *moved, u32 part,
                    Measure *measure)
{
    PL_UNUSED(part);
    if (of->kind != CONSTRAINT_DISTANCE) {
        return false;
    }
    u32 a = of->point[0], b = of->point[1];
    Vec3 d = vec3_sub(soft->points[b].position, soft->points[a].position);
    d = vec3_add(d, vec3_sub(moved[b], moved[a]));
    f32 length = vec3_length(d);
    measure->value = length - f32_clamp(length, of->low, of->high);
    if (length < 1e-9f || measure->value == 0.0f) {
        return false;
    }
    measure->points = 2;
    measure->gradient[1] = vec3_scale(d, 1.0f / length);
    measure->gradient[0] = vec3_neg(measure->gradient[1]);
    return true;
}

f32 method_mobility(const SoftConstraint *of, const Measure *measure, const f32 *weight)
{
    f32 sum = 0.0f;
    for (u32 k = 0; k < measure->points; k++) {
        sum += weight[of->point[k]] * vec3_length_squared(measure->gradient[k]);
    }
    return sum;
}

void method_project(const SoftConstraint *of, const Measure *measure, Vec3 *moved,
                    const f32 *weight, f32 lambda)
{
    for (u32 k = 0; k < measure->points; k++) {
        Vec3 *at = &moved[of->point[k]];
        *at = vec3_add_scaled(*at, weight[of->point[k]] * lambda, measure->gradient[k]);
    }
}

/* ---- solving a whole tick at once ---- */

/* Plain PBD knows stiffness only. What is meant to give way, such as bending, is softened as the
 * first iteration of XPBD would do it; edges and limits are not. */
static f32 part_of_way(const SoftConstraint *of, f32 stiffness, f32 mobility, f32 alpha)
{
    bool hard = of->role == ROLE_STRETCH || of->role == ROLE_LIMIT;
    return hard ? stiffness : stiffness * mobility / (mobility + alpha);
}

static void solve_one(const Soft *soft, Methods *methods, const SoftBody *body, u32 index, u32 part,
                      f32 h)
{
    const SoftConstraint *of = &soft->constraints[index];
    Measure measure;
    if (!method_measure(soft, of, methods->moved, part, &measure)) {
        return;
    }
    f32 mobility = method_mobility(of, &measure, methods->weight);
    if (!(mobility > 1e-20f)) {
        return;
    }
    f32 alpha = of->compliance * soft_role_scale(soft, of->role) / (h * h);
    f32 lambda;
    if (body->def.method == SOFT_XPBD_ITERATIONS) {
        /* Macklin, Müller, Chentanez 2016, eq. 18 */
        f32 *sum = &methods->multiplier[2 * index + part];
        lambda = (-measure.value - alpha * *sum) / (mobility + alpha);
        *sum += lambda;
    } else {
        f32 stiffness = body->def.method == SOFT_PBD ? body->def.stiffness : 1.0f;
        lambda = -part_of_way(of, stiffness, mobility, alpha) * measure.value / mobility;
    }
    method_project(of, &measure, methods->moved, methods->weight, lambda);
}

static void solve_pass(const Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end; i++) {
        u32 parts = method_parts(&soft->constraints[i]);
        for (u32 part = 0; part < parts; part++) {
            solve_one(soft, methods, body, i, part, h);
        }
    }
}

/* Jakobsen's correction for a stick without a square root: √(d·d) by its tangent at L² (Jakobsen
 * 2001, "Advanced character physics"), exact at the length, one Newton step elsewhere. */
static void relax_stick(const Soft *soft, Methods *methods, const SoftConstraint *stick,
                        f32 softness)
{
    u32 a = stick->point[0], b = stick->point[1];
    f32 wa = methods->weight[a], wb = methods->weight[b];
    Vec3 d = vec3_sub(soft->points[b].position, soft->points[a].position);
    d = vec3_add(d, vec3_sub(methods->moved[b], methods->moved[a]));
    f32 d2 = vec3_length_squared(d);
    f32 low2 = stick->low * stick->low, high2 = stick->high * stick->high;
    f32 l2 = d2 > high2 ? high2 : low2;
    if ((d2 <= high2 && d2 >= low2) || wa + wb <= 0.0f || d2 < 1e-18f) {
        return;
    }
    f32 alpha = softness > 0.0f ? (wa + wb) / (wa + wb + softness) : 1.0f;
    f32 part = 2.0f * alpha * (l2 / (d2 + l2) - 0.5f) / (wa + wb);
    methods->moved[a] = vec3_add_scaled(methods->moved[a], -wa * part, d);
    methods->moved[b] = vec3_add_scaled(methods->moved[b], wb * part, d);
}

void relax_pass(const Soft *soft, Methods *methods, const SoftBody *body, f32 h)
{
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end; i++) {
        const SoftConstraint *of = &soft->constraints[i];
        if (of->kind == CONSTRAINT_DISTANCE) {
            bool hard = of->role == ROLE_STRETCH || of->role == ROLE_LIMIT;
            f32 alpha = of->compliance * soft_role_scale(soft, of->role) / (h * h);
            relax_stick(soft, methods, of, hard ? 0.0f : alpha);
            continue;
        }
        u32 parts = method_parts(of);
        for (u32 part = 0; part < parts; part++) {
            solve_one(soft, methods, body, i, part, h);
        }
    }
}

/* A hand as in grip.c, but solved with the sticks: it feels all that hangs on the particle, which
 * is how dragging one particle moves a whole figure. */
static void solve_grips(Soft *soft, Methods *methods, u32 first, f32 h, bool warm)
{
    for (u32 i = first; i != SOFT_NONE; i = methods->next_grip[i]) {
        SoftGrip *grip = &soft->grips[i];
        f32 w = methods->weight[grip->particle];
        if (w <= 0.0f || grip->stiffness <= 0.0f) {
            continue;
        }
        Vec3 *moved = &methods->moved[grip->particle];
        if (warm) {
            *moved = vec3_add_scaled(*moved, w * h * h, grip->force);
            continue;
        }
        Vec3 away = vec3_sub(soft->points[grip->particle].position, grip->target);
        f32 alpha = 1.0f / (grip->stiffness * h * h);
        f32 gamma = grip->damping / (grip->stiffness * h);
        Vec3 lambda = vec3_scale(grip->force, h * h);
        Vec3 wrong = vec3_add_scaled(vec3_add(away, *moved), gamma, *moved);
        wrong = vec3_add_scaled(wrong, alpha, lambda);
        Vec3 force = vec3_add_scaled(lambda, -1.0f / ((1.0f + gamma) * w + alpha), wrong);
        force = vec3_scale(force, 1.0f / (h * h));
        f32 size = vec3_length(force);
        if (size > grip->force_max) {
            force = vec3_scale(force, grip->force_max / size);
        }
        *moved = vec3_add_scaled(*moved, w * h * h, vec3_sub(force, grip->force));
        grip->force = force;
    }
}

/* The velocity of the whole tick, from all that is known at its start. What is attached to a body
 * goes along with it, and keeps what the body must be given (touch.c takes it at once). */
static void solve_tick(Soft *soft, Methods *methods, u32 index, f32 h)
{
    const SoftBody *body = &soft->bodies[index];
    u32 end = body->first + body->count;
    soft_predict(soft, body, h);
    for (u32 i = body->first; i < end; i++) {
        bool attached = methods->weight[i] != soft->points[i].inverse_mass;
        Vec3 v = attached ? methods->speed[i] : soft->points[i].velocity;
        methods->moved[i] = vec3_scale(v, h);
        methods->change[i] = methods->moved[i];
    }
    u32 first = body->first_constraint, count = body->constraint_count;
    memset(methods->multiplier + (size_t)2 * first, 0, 2 * count * sizeof *methods->multiplier);
    solve_grips(soft, methods, methods->first_grip[index], h, true);
    u32 iterations = u32_min(u32_max(body->def.iterations, 1), SOFT_ITERATIONS_MAX);
    for (u32 k = 0; k < iterations; k++) {
        if (body->def.method == SOFT_RELAX) {
            relax_pass(soft, methods, body, h);
        } else {
            solve_pass(soft, methods, body, h);
        }
        solve_grips(soft, methods, methods->first_grip[index], h, false);
    }
    for (u32 i = body->first; i < end; i++) {
        f32 w = soft->points[i].inverse_mass, own = methods->weight[i];
        Vec3 by = vec3_sub(methods->moved[i], methods->change[i]);
        f32 part = w > 0.0f ? w / (own * h) : 0.0f;
        soft->points[i].velocity = vec3_add_scaled(soft->points[i].velocity, part, by);
    }
}

/* ---- a step ---- */

/* Weights of particles of bodies that solve whole ticks, and which hands hold them. */
void methods_begin(Soft *soft)
{
    Methods *methods = soft->methods;
    if (methods == NULL) {
        return;
    }
    for (u32 i = 0; i < soft->body_count; i++) {
        methods->first_grip[i] = SOFT_NONE;
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
    for (u32 i = soft->grip_end; i-- > 0;) {
        if (soft->grips[i].live) {
            u32 *first = &methods->first_grip[soft->matter[soft->grips[i].particle].body];
            methods->next_grip[i] = *first;
            *first = i;
        }
    }
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

/* What a contact, a hand or the limit of speed has changed goes as its velocity says. */
void methods_move(Soft *soft)
{
    Methods *methods = soft->methods;
    for (u32 k = 0; methods != NULL && k < soft->body_count; k++) {
        const SoftBody *body = &soft->bodies[k];
        for (u32 i = body->first; integrates(body) && i < body->first + body->count; i++) {
            SoftPoint *p = &soft->points[i];
            Vec3 off = vec3_sub(p->velocity, methods->expected[i]);
            if (vec3_length_squared(off) == 0.0f) {
                p->position = vec3_add(p->position, methods->drift[i]);
            }
        }
    }
}
