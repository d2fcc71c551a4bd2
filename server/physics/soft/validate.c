/*
 * validate.c: checks the invariants of the whole particle store (soft_internal.h). Called at the
 * start of each tick of debug and sanitizer builds; a failure is a bug of this program, never of a
 * scene or a client.
 */
#include "server/physics/soft/batches.h"
#include "server/physics/soft/body_constraint.h"
#include "server/physics/soft/constraint.h"
#include "server/physics/soft/self_collision.h"
#include "shared/base/check.h"
#include "shared/base/limits.h"

/* ---- bodies and their particles ---- */

static void validate_point(const Soft *soft, u32 particle, u32 body)
{
    const SoftPoint *p = &soft->points[particle];
    const SoftMatter *matter = &soft->matter[particle];
    bool asleep = soft_sleeps(soft, body);
    CHECK_ITEM(particle, matter->body == body);
    CHECK_ITEM(particle, matter->radius >= 0.0f && matter->damping >= 0.0f);
    CHECK_ITEM(particle, matter->friction >= 0.0f && matter->static_friction >= 0.0f);
    CHECK_ITEM(particle, vec3_length(p->position) <= 4.0f * WORLD_EXTENT_MAX_M); /* no NaN */
    CHECK_ITEM(particle, state_vector_is_bounded(p->velocity));
    CHECK_ITEM(particle, p->inverse_mass >= 0.0f && p->inverse_mass < INFINITY);
    CHECK_ITEM(particle, p->spare >= 0.0f && p->spare < INFINITY);
    CHECK_ITEM(particle, asleep ? p->inverse_mass == 0.0f : p->spare == 0.0f);
    CHECK_ITEM(particle, !asleep || vec3_length_squared(p->velocity) == 0.0f);
}

/* Ranges of a body begin where those of the one before end. */
static void validate_bodies(const Soft *soft)
{
    u32 points = 0, constraints = 0, triangles = 0, segments = 0, pins = 0;
    CHECK(soft->count <= soft->capacity && soft->body_count <= soft->body_capacity);
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        CHECK_ITEM(b, body->first == points && body->count > 0);
        CHECK_ITEM(b, body->first_constraint == constraints);
        CHECK_ITEM(b, body->first_triangle == triangles && body->first_segment == segments);
        CHECK_ITEM(b, body->first_pin == pins);
        CHECK_ITEM(b, body->ring <= body->segment_count);
        CHECK_ITEM(b, (u32)body->def.method < SOFT_METHOD_COUNT);
        CHECK_ITEM(b, body->mass_kg > 0.0f && body->mass_kg < INFINITY);
        points += body->count;
        constraints += body->constraint_count;
        triangles += body->triangle_count;
        segments += body->segment_count;
        pins += body->pin_count;
        CHECK_ITEM(b, points <= soft->count);
        for (u32 i = body->first; i < points; i++) {
            validate_point(soft, i, b);
        }
    }
    CHECK(points == soft->count && constraints == soft->constraint_count);
    CHECK(triangles == soft->triangle_count && segments == soft->segment_count);
    CHECK(pins == soft->pin_count);
}

static bool is_of(const SoftBody *body, u32 particle)
{
    return particle >= body->first && particle - body->first < body->count;
}

static void validate_constraint(const Soft *soft, const SoftBody *body, u32 index)
{
    const SoftConstraint *c = &soft->constraints[index];
    CHECK_ITEM(index, c->kind < CONSTRAINT_KINDS && c->role < ROLE_COUNT);
    u32 points = constraint_points(c->kind);
    for (u32 k = 0; k < 4; k++) {
        CHECK_ITEM(index, k < points ? is_of(body, c->point[k]) : c->point[k] == SOFT_NONE);
        CHECK_ITEM(index, k == 0 || k >= points || c->point[k] != c->point[k - 1]);
    }
    CHECK_ITEM(index, isfinite(c->low));
    CHECK_ITEM(index, c->kind != CONSTRAINT_DISTANCE || (c->low >= 0.0f && c->low <= c->high));
    CHECK_ITEM(index, c->compliance >= 0.0f && c->compliance < INFINITY);
    bool shaped = c->kind == CONSTRAINT_ISOMETRIC || c->kind == CONSTRAINT_NEO_HOOKEAN;
    CHECK_ITEM(index, shaped ? c->shape < soft->shape_count : c->shape == SOFT_NONE);
}

static void validate_parts(const Soft *soft)
{
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        for (u32 i = 0; i < body->constraint_count; i++) {
            validate_constraint(soft, body, body->first_constraint + i);
        }
        for (u32 i = 0; i < body->triangle_count; i++) {
            const u32 *p = soft->triangles[body->first_triangle + i].point;
            CHECK_ITEM(b, is_of(body, p[0]) && is_of(body, p[1]) && is_of(body, p[2]));
        }
        for (u32 i = 0; i < body->segment_count; i++) {
            const u32 *p = soft->segments[body->first_segment + i].point;
            CHECK_ITEM(b, is_of(body, p[0]) && is_of(body, p[1]) && p[0] != p[1]);
        }
        for (u32 i = 0; i < body->pin_count; i++) {
            CHECK_ITEM(b, is_of(body, soft->pinned[body->first_pin + i]));
        }
    }
}

/* ---- pins, grabs and contacts ---- */

static void validate_holds(const Soft *soft)
{
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        CHECK_ITEM(i, held->particle < soft->count);
        CHECK_ITEM(i, i == 0 || soft->matter[soft->attachments[i - 1].particle].body <=
                                    soft->matter[held->particle].body);
        CHECK_ITEM(i, vec3_is_finite(held->local) && vec3_is_finite(held->pull));
    }
    CHECK(soft->grab_end <= SOFT_GRABS_MAX);
    for (u32 i = 0; i < SOFT_GRABS_MAX; i++) {
        const SoftGrab *grab = &soft->grabs[i];
        CHECK_ITEM(i, grab->live <= (i < soft->grab_end ? 1u : 0u));
        CHECK_ITEM(i, !grab->live || grab->particle < soft->count);
    }
}

static bool has_support(const SoftOther *other, u32 mover)
{
    return mover == SOFT_NONE || contact_bodies(&other->collider) == NULL ||
           mover < other->support_count;
}

static void validate_contacts(const Soft *soft)
{
    CHECK(soft->contact_count <= soft->contact_capacity && soft->near_count <= soft->contact_count);
    CHECK(soft->near_fixed <= soft->near_count && soft->face_count <= soft->face_capacity);
    for (u32 i = 0; i < soft->contact_count; i++) {
        CHECK_ITEM(i, soft->contacts[i].particle < soft->count);
    }
    for (u32 i = 0; i < soft->near_count; i++) {
        const SoftContact *contact = &soft->near[i];
        CHECK_ITEM(i, contact->particle < soft->count);
        CHECK_ITEM(i, (contact->mover == SOFT_NONE) == (i < soft->near_fixed));
        CHECK_ITEM(i, contact->other < soft->other_count);
        CHECK_ITEM(i, has_support(&soft->others[contact->other], contact->mover));
    }
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        CHECK_ITEM(i, face->body < soft->body_count);
        CHECK_ITEM(i, face->other < soft->other_count);
        CHECK_ITEM(i, has_support(&soft->others[face->other], face->mover));
        for (u32 k = 0; k < 3; k++) {
            CHECK_ITEM(i, is_of(&soft->bodies[face->body], face->point[k]));
        }
    }
}

/* ---- sleep, and constraints on whole bodies ---- */

static void validate_rests(const Soft *soft)
{
    u32 asleep = 0, absent = 0, marks = 0;
    CHECK(soft->rest_count == soft->body_count); /* soft_build was called after the last soft_add */
    for (u32 b = 0; b < soft->rest_count; b++) {
        const SoftRest *rest = &soft->rests[b];
        CHECK_ITEM(b, rest->state.asleep <= (soft->bodies[b].spare ? REST_ABSENT : REST_ASLEEP));
        CHECK_ITEM(b, rest->state.rest_s >= 0.0f);
        CHECK_ITEM(b, rest->state.credit_j >= 0.0f);
        CHECK_ITEM(b, rest->first_mark >= marks && rest->first_mark < soft->mark_count);
        marks = rest->first_mark;
        asleep += rest->state.asleep != REST_AWAKE;
        absent += rest->state.asleep == REST_ABSENT;
    }
    CHECK(asleep == soft->asleep_count && absent == soft->absent_count);
}

static void validate_body_constraints(const Soft *soft)
{
    const BodyConstraints *body_constraints = soft->body_constraints;
    CHECK(body_constraints->body_count <= soft->body_count);
    for (u32 b = 0; b < body_constraints->body_count; b++) {
        const BodyConstraintState *state = &body_constraints->states[b];
        const Match *match = &body_constraints->matches[b];
        CHECK_ITEM(b, isfinite(state->pressure) && isfinite(state->expected));
        CHECK_ITEM(b, state->age_s >= 0.0f && quat_is_finite(state->rotation));
        CHECK_ITEM(b, match->terms == 0 || match->terms == 3 || match->terms == MATCH_TERMS_MAX);
        CHECK_ITEM(b, match->terms == 0 || (match->padded % SIMD_LANES == 0 &&
                                            match->padded >= soft->bodies[b].count));
    }
}

void soft_validate(const Soft *soft)
{
    validate_rests(soft);
    validate_bodies(soft);
    validate_parts(soft);
    validate_holds(soft);
    validate_contacts(soft);
    if (soft->batches != NULL) {
        batches_validate(soft);
    }
    if (soft->body_constraints != NULL) {
        validate_body_constraints(soft);
    }
    if (soft->collision != NULL) {
        self_collision_validate(soft);
    }
}
