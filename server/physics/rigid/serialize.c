/*
 * serialize.c: serializes the dynamic state of the rigid world: counting, hashing, saving and
 * loading. A body is written as its definition and motion; derived data (inertia, trees) is
 * recomputed by the same code, which gives the same bits.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/geometry/geometry.h"

#define NO_GEOMETRY 0xffffffffu

/* 57 words, no padding. */
typedef struct BodyImage {
    u32 flags, generation, motion;
    u32 shape, geometry;
    f32 radius, half_height;
    Vec3 half;
    f32 mass, friction, restitution, rolling;
    Vec3 surface_velocity;
    f32 linear_damping, angular_damping, gravity_scale;
    u32 group, mask, family, sensor;
    f32 sleep_s;
    Vec3 rest_position;
    Quat rest_orientation;
    Vec3 position; /* of the centre of mass */
    Quat orientation;
    Vec3 velocity, angular_velocity;
    Vec3 velocity_rest, position_rest;
    Bounds fat;
} BodyImage;
enum {
    BODY_WORDS = 57
};
PL_STATIC_ASSERT(sizeof(BodyImage) == BODY_WORDS * 4, "no padding: it is hashed");

enum {
    FLAGS_SAVED = BODY_LIVE | BODY_ASLEEP | BODY_MOVED | BODY_PGS,
    BATCH = 32 /* images written at once */
};

static BodyImage image_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    const Shape *shape = &body->shape;
    return (BodyImage){.flags = body->flags & FLAGS_SAVED,
                       .generation = body->generation,
                       .motion = body->motion,
                       .shape = (u32)shape->kind,
                       .geometry = shape->geometry ? shape->geometry->id : NO_GEOMETRY,
                       .radius = shape->radius,
                       .half_height = shape->half_height,
                       .half = shape->half,
                       .mass = body->mass,
                       .friction = body->friction,
                       .restitution = body->restitution,
                       .rolling = body->rolling,
                       .surface_velocity = body->surface_velocity,
                       .linear_damping = state->linear_damping,
                       .angular_damping = state->angular_damping,
                       .gravity_scale = state->gravity_scale,
                       .group = body->group,
                       .mask = body->mask,
                       .family = body->family,
                       .sensor = body->sensor,
                       .sleep_s = body->sleep_s,
                       .rest_position = body->rest_position,
                       .rest_orientation = body->rest_orientation,
                       .position = body->position,
                       .orientation = body->orientation,
                       .velocity = state->velocity,
                       .angular_velocity = state->angular_velocity,
                       .velocity_rest = rigid->rests[slot].velocity,
                       .position_rest = rigid->rests[slot].position,
                       .fat = body->fat};
}

static bool bounds_are_valid(const Bounds *b)
{
    return vec3_is_finite(b->min) && vec3_is_finite(b->max) && b->min.x <= b->max.x &&
           b->min.y <= b->max.y && b->min.z <= b->max.z;
}

/* Rounding remainder of a position or a velocity. */
static bool rest_is_valid(Vec3 rest)
{
    return vec3_length(rest) < 1.0f;
}

/* Static and sleeping bodies have no velocity, and only dynamic bodies sleep or have a method. */
static bool motion_is_valid(const BodyImage *image)
{
    Vec3 v = image->velocity, w = image->angular_velocity;
    /* Not by the squared length, which underflows to 0 for the smallest numbers. */
    bool moves =
        v.x != 0.0f || v.y != 0.0f || v.z != 0.0f || w.x != 0.0f || w.y != 0.0f || w.z != 0.0f;
    if (image->motion != BODY_DYNAMIC && (image->flags & (BODY_ASLEEP | BODY_PGS))) {
        return false;
    }
    return state_vector_is_bounded(v) && state_vector_is_bounded(w) &&
           (!moves || (image->motion != BODY_STATIC && !(image->flags & BODY_ASLEEP)));
}

/* What a new body is given and may be anything, ticks keep within narrower bounds. */
static bool ticks_keep(const BodyImage *image)
{
    f32 length2 = quat_dot(image->orientation, image->orientation);
    return length2 > 0.99f && length2 < 1.01f &&
           (image->motion == BODY_DYNAMIC) == (image->mass > 0.0f);
}

/* Images are untrusted: they pass the same check as every new body. */
static bool body_from_image(Rigid *rigid, u32 slot, const BodyImage *image)
{
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    memset(body, 0, sizeof(*body));
    memset(state, 0, sizeof(*state));
    memset(&rigid->inertias[slot], 0, sizeof(Symmetric3));
    memset(&rigid->rests[slot], 0, sizeof(BodyRest));
    body->generation = image->generation;
    if (!(image->flags & BODY_LIVE)) {
        return image->generation <= 0xffff;
    }
    const Geometry *geometry = NULL;
    if (image->geometry != NO_GEOMETRY) {
        if (image->geometry >= rigid->def.geometry_count) {
            return false;
        }
        geometry = rigid->def.geometries[image->geometry];
    }
    Shape shape = {(ShapeKind)image->shape, image->radius, image->half_height, image->half,
                   geometry};
    BodyDef def = {.shape = shape,
                   .motion = (BodyMotion)image->motion,
                   .position = image->position,
                   .orientation = image->orientation,
                   .velocity = image->velocity,
                   .angular_velocity = image->angular_velocity,
                   .mass_kg = image->mass,
                   .friction = image->friction,
                   .restitution = image->restitution,
                   .rolling = image->rolling,
                   .gravity_scale = image->gravity_scale,
                   .linear_damping = image->linear_damping,
                   .angular_damping = image->angular_damping,
                   .surface_velocity = image->surface_velocity};
    if (image->shape >= SHAPE_KIND_COUNT || image->motion > BODY_KINEMATIC ||
        !body_def_is_valid(&def) || !bounds_are_valid(&image->fat) || !(image->sleep_s >= 0.0f) ||
        !state_vector_is_bounded(image->rest_position) ||
        !quat_is_finite(image->rest_orientation) || image->sensor > 1 ||
        image->generation - 1 >= 0xffff || image->group == 0 || image->mask == 0 ||
        !rest_is_valid(image->velocity_rest) || !rest_is_valid(image->position_rest) ||
        !motion_is_valid(image) || !ticks_keep(image)) {
        return false;
    }
    *body = (Body){.position = image->position,
                   .orientation = image->orientation,
                   .flags = image->flags & FLAGS_SAVED,
                   .motion = image->motion,
                   .sleep_s = image->sleep_s,
                   .rest_position = image->rest_position,
                   .rest_orientation = image->rest_orientation,
                   .fat = image->fat,
                   .shape = shape,
                   .mass = image->mass,
                   .friction = image->friction,
                   .restitution = image->restitution,
                   .rolling = image->rolling,
                   .surface_velocity = image->surface_velocity,
                   .group = image->group,
                   .mask = image->mask,
                   .family = image->family,
                   .sensor = image->sensor,
                   .generation = image->generation};
    body_derive(rigid, body);
    *state = (BodyState){.velocity = image->velocity,
                         .inverse_mass = image->mass > 0.0f ? 1.0f / image->mass : 0.0f,
                         .angular_velocity = image->angular_velocity,
                         .gravity_scale = image->gravity_scale,
                         .linear_damping = image->linear_damping,
                         .angular_damping = image->angular_damping};
    rigid->rests[slot] =
        (BodyRest){.velocity = image->velocity_rest, .position = image->position_rest};
    rigid->extra_bodies += body_has_extra(body);
    return true;
}

static void serialize_bodies(Rigid *rigid, State *state)
{
    BodyImage images[BATCH], last = {0};
    for (u32 first = 0; first < rigid->slots && !state->failed; first += BATCH) {
        u32 count = u32_min(BATCH, rigid->slots - first);
        for (u32 i = 0; i < count && state->mode != STATE_LOAD; i++) {
            images[i] = image_of(rigid, first + i);
        }
        state_records(state, images, count, BODY_WORDS, 0, &last);
        last = images[count - 1];
        for (u32 i = 0; i < count && state->mode == STATE_LOAD && !state->failed; i++) {
            state->failed = !body_from_image(rigid, first + i, &images[i]);
        }
    }
}

static bool grabs_are_valid(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->grab_count; i++) {
        const RigidGrab *grab = &rigid->grabs[i];
        if (grab->live && (!rigid_alive(rigid, grab->body) || !vec3_is_finite(grab->local) ||
                           !vec3_is_finite(grab->target) || !isfinite(grab->force_max))) {
            return false;
        }
    }
    return true;
}

/* Clears what the image does not contain; recomputes the rest. */
static void finish_load(Rigid *rigid, State *state, u32 slots_before)
{
    for (u32 i = rigid->slots; i < slots_before; i++) {
        memset(&rigid->bodies[i], 0, sizeof(rigid->bodies[i]));
        memset(&rigid->states[i], 0, sizeof(rigid->states[i]));
        memset(&rigid->inertias[i], 0, sizeof(rigid->inertias[i]));
        memset(&rigid->rests[i], 0, sizeof(rigid->rests[i]));
    }
    for (u32 i = rigid->grab_count; i < RIGID_GRABS_MAX; i++) {
        memset(&rigid->grabs[i], 0, sizeof(rigid->grabs[i]));
    }
    state_part(state, "hands on rigid bodies");
    rigid->jobs = state->jobs;
    if (state->failed || !grabs_are_valid(rigid)) {
        state->failed = true;
    } else {
        broad_rebuild(rigid);
    }
    rigid->jobs = NULL;
}

void rigid_serialize(Rigid *rigid, State *state)
{
    bool load = state->mode == STATE_LOAD;
    u32 slots_before = rigid->slots;
    if (load) {
        body_forget_tick(rigid);
        rigid->extra_bodies = 0;
    }
    state_part(state, "settings of rigid bodies");
    state_bytes(state, &rigid->gravity, sizeof(rigid->gravity));
    state_bytes(state, &rigid->friction_scale, sizeof(rigid->friction_scale));
    state_bytes(state, &rigid->restitution_min, sizeof(rigid->restitution_min));
    state_count(state, &rigid->substeps, SUBSTEPS_MAX);
    state_count(state, &rigid->slots, rigid->def.body_capacity);
    state_part(state, "rigid bodies");
    serialize_bodies(rigid, state);
    state_part(state, "contacts");
    pairs_serialize(rigid, state);
    state_part(state, "joints");
    state_count(state, &rigid->grab_count, RIGID_GRABS_MAX);
    state_bytes(state, rigid->grabs, (size_t)rigid->grab_count * sizeof(*rigid->grabs));
    joint_serialize(rigid, state);
    if (load) {
        finish_load(rigid, state, slots_before);
    }
}
