/* body.c: the store of bodies: slots, generations, reads and writes. See rigid.h. */
#include "server/physics/rigid/body.h"

#include "shared/check.h"

#include <stdlib.h>

BodyDef body_def_default(void)
{
    BodyDef def = {.motion = BODY_DYNAMIC,
                   .orientation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .mass_kg = 1.0f,
                   .friction = 0.6f,
                   .gravity_scale = 1.0f};
    return def;
}

Rigid *rigid_create(const RigidDef *def)
{
    Rigid *rigid = calloc(1, sizeof(*rigid));
    if (!rigid) {
        return NULL;
    }
    u32 n = u32_max(def->body_capacity, 1);
    rigid->def = *def;
    rigid->def.body_capacity = n;
    rigid->gravity = def->gravity;
    rigid->friction_scale = 1.0f;
    rigid_set_substeps(rigid, def->substeps);
    rigid->states = aligned_alloc(64, (size_t)n * sizeof(*rigid->states));
    rigid->bodies = calloc(n, sizeof(*rigid->bodies));
    rigid->inertias = calloc(n, sizeof(*rigid->inertias));
    rigid->leaves = calloc(n, sizeof(*rigid->leaves));
    rigid->planes = calloc(n, sizeof(*rigid->planes));
    rigid->parents = calloc(n, sizeof(*rigid->parents));
    rigid->flights = calloc(n, sizeof(*rigid->flights));
    rigid->island_awake = calloc(n, 1);
    rigid->island_restless = calloc(n, 1);
    bool trees = tree_init(&rigid->moving, n);
    trees = tree_init(&rigid->fixed, n) && trees;
    /* A pile has some six pairs a body, counting those whose bounds only come near. */
    bool contacts = contact_reserve(rigid, 256 + n * 6);
    bool joints = joint_store_init(&rigid->joints, def->joint_capacity);
    if (!rigid->states || !rigid->bodies || !rigid->inertias || !rigid->leaves || !rigid->planes ||
        !rigid->parents || !rigid->flights || !rigid->island_awake || !rigid->island_restless ||
        !trees || !contacts || !joints) {
        rigid_destroy(rigid);
        return NULL;
    }
    memset(rigid->states, 0, (size_t)n * sizeof(*rigid->states));
    rigid->memory += sizeof(*rigid) + (u64)n * (sizeof(BodyState) + sizeof(Body) +
                                                sizeof(Symmetric3) + 18 + 4 * sizeof(TreeNode));
    rigid->memory += rigid->joints.memory;
    return rigid;
}

void rigid_destroy(Rigid *rigid)
{
    if (!rigid) {
        return;
    }
    free(rigid->states);
    free(rigid->bodies);
    free(rigid->inertias);
    free(rigid->leaves);
    free(rigid->planes);
    free(rigid->parents);
    free(rigid->flights);
    free(rigid->island_awake);
    free(rigid->island_restless);
    free(rigid->contacts);
    free(rigid->merged);
    free(rigid->pairs);
    free(rigid->rows);
    tree_finish(&rigid->moving);
    tree_finish(&rigid->fixed);
    joint_store_finish(&rigid->joints);
    free(rigid);
}

void rigid_clear(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        u32 generation = rigid->bodies[i].generation;
        memset(&rigid->bodies[i], 0, sizeof(rigid->bodies[i]));
        memset(&rigid->states[i], 0, sizeof(rigid->states[i]));
        rigid->bodies[i].generation = generation;
    }
    tree_clear(&rigid->moving);
    tree_clear(&rigid->fixed);
    rigid->plane_count = 0;
    rigid->contact_count = 0;
    rigid->row_count = 0;
    rigid->impact_count = 0;
    memset(rigid->grips, 0, sizeof(rigid->grips));
    rigid->grip_count = 0;
    joint_clear(rigid);
}

static Vec3 inverse_or_zero(Vec3 v)
{
    return vec3(v.x > 0.0f ? 1.0f / v.x : 0.0f, v.y > 0.0f ? 1.0f / v.y : 0.0f,
                v.z > 0.0f ? 1.0f / v.z : 0.0f);
}

BodyId rigid_add(Rigid *rigid, const BodyDef *def)
{
    u32 slot = 0;
    while (slot < rigid->slots && (rigid->bodies[slot].flags & BODY_LIVE)) {
        slot++;
    }
    if (slot >= rigid->def.body_capacity || !body_def_is_sane(def)) {
        return (BodyId){0, 0};
    }
    rigid->slots = u32_max(rigid->slots, slot + 1);
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    /* Snapshots carry 16 bits of it, and 0 means none. */
    u32 generation = body->generation % 0xffffu + 1;
    memset(body, 0, sizeof(*body));
    memset(state, 0, sizeof(*state));
    body->generation = generation;
    body->flags = BODY_LIVE | BODY_MOVED;
    body->position = def->position;
    body->orientation = quat_normalize(def->orientation);
    body->shape = def->shape;
    body->motion = def->motion;
    body->friction = def->friction;
    body->restitution = def->restitution;
    body->rolling = def->rolling;
    body->group = def->group != 0 ? def->group : 1u;
    body->mask = def->mask != 0 ? def->mask : ~0u;
    body->family = def->family;
    body->sensor = def->sensor ? 1u : 0u;
    if (def->motion == BODY_DYNAMIC) {
        body->mass = def->mass_kg;
        body->inertia = shape_inertia(&def->shape, def->mass_kg);
        body->inverse_inertia = inverse_or_zero(body->inertia);
        state->inverse_mass = def->mass_kg > 0.0f ? 1.0f / def->mass_kg : 0.0f;
    }
    if (def->motion != BODY_STATIC) {
        state->velocity = def->velocity;
        state->spin = def->spin;
        state->gravity_scale = def->gravity_scale;
    }
    if (def->asleep && def->motion == BODY_DYNAMIC) {
        body->flags |= BODY_ASLEEP;
        state->velocity = vec3_zero();
        state->spin = vec3_zero();
    }
    body->fat =
        bounds_grow(shape_bounds(&body->shape, body->position, body->orientation), RIGID_FAT_M);
    broad_insert(rigid, slot);
    return (BodyId){slot, generation};
}

void rigid_remove(Rigid *rigid, BodyId id)
{
    if (!rigid_alive(rigid, id)) {
        return;
    }
    for (u32 i = 0; i < rigid->grip_count; i++) {
        if (rigid->grips[i].live && rigid->grips[i].body.slot == id.slot) {
            rigid_grip_remove(rigid, i);
        }
    }
    joint_remove_body(rigid, id.slot);
    contact_remove_body(rigid, id.slot);
    broad_remove(rigid, id.slot);
    Body *body = &rigid->bodies[id.slot];
    memset(body, 0, sizeof(*body));
    memset(&rigid->states[id.slot], 0, sizeof(BodyState));
    body->generation = id.generation;
}

bool rigid_alive(const Rigid *rigid, BodyId id)
{
    return id.generation != 0 && id.slot < rigid->slots &&
           (rigid->bodies[id.slot].flags & BODY_LIVE) &&
           rigid->bodies[id.slot].generation == id.generation;
}
u32 rigid_slots(const Rigid *rigid)
{
    return rigid->slots;
}
BodyId rigid_at(const Rigid *rigid, u32 slot)
{
    if (slot >= rigid->slots || !(rigid->bodies[slot].flags & BODY_LIVE)) {
        return (BodyId){0, 0};
    }
    return (BodyId){slot, rigid->bodies[slot].generation};
}
u32 rigid_generation(const Rigid *rigid, u32 slot)
{
    return slot < rigid->slots ? rigid->bodies[slot].generation : 0;
}
Vec3 rigid_position(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].position;
}
Quat rigid_orientation(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].orientation;
}
Vec3 rigid_velocity(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].velocity;
}
Vec3 rigid_spin(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].spin;
}
f32 rigid_mass(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].mass;
}
Vec3 rigid_inertia(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].inertia;
}
f32 rigid_friction(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].friction * rigid->friction_scale;
}
f32 rigid_gravity_scale(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].gravity_scale;
}
const Shape *rigid_shape(const Rigid *rigid, u32 slot)
{
    return &rigid->bodies[slot].shape;
}
BodyMotion rigid_motion(const Rigid *rigid, u32 slot)
{
    return (BodyMotion)rigid->bodies[slot].motion;
}
bool rigid_awake(const Rigid *rigid, u32 slot)
{
    return body_is_active(&rigid->bodies[slot]);
}
Vec3 rigid_velocity_at(const Rigid *rigid, u32 slot, Vec3 arm)
{
    const BodyState *state = &rigid->states[slot];
    return vec3_add(state->velocity, vec3_cross(state->spin, arm));
}
f32 rigid_inverse_mass_at(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 direction)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return 0.0f;
    }
    Vec3 moment = vec3_cross(arm, direction);
    return rigid->states[slot].inverse_mass +
           vec3_dot(moment, symmetric_mul(&rigid->inertias[slot], moment));
}
Bounds rigid_bounds(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].fat;
}

void rigid_set_velocity(Rigid *rigid, u32 slot, Vec3 velocity, Vec3 spin)
{
    rigid->states[slot].velocity = velocity;
    rigid->states[slot].spin = spin;
    rigid_wake(rigid, slot);
}

void rigid_impulse(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse)
{
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    if (body->motion != BODY_DYNAMIC || !vec3_is_finite(impulse)) {
        return;
    }
    /* From the pose, not from the tick's cache: pushes come before the cache is made. */
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_cross(arm, impulse));
    Vec3 spin = quat_rotate(body->orientation, vec3_mul(moment, body->inverse_inertia));
    state->velocity = vec3_add_scaled(state->velocity, state->inverse_mass, impulse);
    state->spin = vec3_add(state->spin, spin);
}

void rigid_wake(Rigid *rigid, u32 slot)
{
    body_wake(rigid, slot);
}
void rigid_wake_all(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        body_wake(rigid, i);
    }
}
void rigid_keep_awake(Rigid *rigid, u32 slot)
{
    rigid->bodies[slot].sleep_s = 0.0f;
}
void rigid_set_gravity(Rigid *rigid, Vec3 gravity)
{
    rigid->gravity = gravity;
}
void rigid_set_substeps(Rigid *rigid, u32 substeps)
{
    rigid->substeps = u32_min(u32_max(substeps, 1), SUBSTEPS_MAX);
}
u32 rigid_substeps(const Rigid *rigid)
{
    return rigid->substeps;
}
void rigid_set_materials(Rigid *rigid, f32 friction_scale, f32 restitution_min)
{
    rigid->friction_scale = friction_scale;
    rigid->restitution_min = restitution_min;
}

i32 rigid_grip_add(Rigid *rigid, const Grip *grip)
{
    if (!rigid_alive(rigid, grip->body)) {
        return -1;
    }
    for (u32 i = 0; i < RIGID_GRIPS_MAX; i++) {
        if (!rigid->grips[i].live) {
            rigid->grips[i] = *grip;
            rigid->grips[i].live = 1;
            rigid->grips[i].impulse = vec3_zero();
            rigid->grip_count = u32_max(rigid->grip_count, i + 1);
            body_wake(rigid, grip->body.slot);
            return (i32)i;
        }
    }
    return -1;
}
void rigid_grip_remove(Rigid *rigid, u32 grip)
{
    memset(&rigid->grips[grip], 0, sizeof(rigid->grips[grip]));
    while (rigid->grip_count > 0 && !rigid->grips[rigid->grip_count - 1].live) {
        rigid->grip_count--;
    }
}
Grip *rigid_grip(Rigid *rigid, u32 grip)
{
    return &rigid->grips[grip];
}

const RigidImpact *rigid_impacts(const Rigid *rigid, u32 *count)
{
    *count = rigid->impact_count;
    return rigid->impacts;
}

void rigid_stats(const Rigid *rigid, RigidStats *stats)
{
    memset(stats, 0, sizeof(*stats));
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->bodies[i].flags & BODY_LIVE) {
            stats->bodies++;
            stats->awake += body_is_active(&rigid->bodies[i]) ? 1 : 0;
        }
    }
    stats->contacts = rigid->contact_count;
    stats->touching = rigid->touching;
    stats->islands = rigid->island_count;
    stats->penetration_max = rigid->penetration_max;
    stats->memory_bytes = rigid->memory;
}

static bool state_is_sane(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if ((body->flags & BODY_LIVE) &&
            (body->motion > BODY_KINEMATIC || (u32)body->shape.kind >= SHAPE_KIND_COUNT ||
             !vec3_is_finite(body->position) || !quat_is_finite(body->orientation))) {
            return false;
        }
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (c->a >= c->b || c->b >= rigid->slots || c->manifold.count > MANIFOLD_POINTS) {
            return false;
        }
    }
    for (u32 i = 0; i < rigid->grip_count; i++) {
        if (rigid->grips[i].live && !rigid_alive(rigid, rigid->grips[i].body)) {
            return false;
        }
    }
    return true;
}

void rigid_walk(Rigid *rigid, State *state)
{
    bool load = state->mode == STATE_LOAD;
    state_bytes(state, &rigid->gravity, sizeof(rigid->gravity));
    state_bytes(state, &rigid->friction_scale, sizeof(rigid->friction_scale));
    state_bytes(state, &rigid->restitution_min, sizeof(rigid->restitution_min));
    state_count(state, &rigid->substeps, SUBSTEPS_MAX);
    u32 slots_before = rigid->slots;
    state_count(state, &rigid->slots, rigid->def.body_capacity);
    state_bytes(state, rigid->bodies, (size_t)rigid->slots * sizeof(*rigid->bodies));
    state_bytes(state, rigid->states, (size_t)rigid->slots * sizeof(*rigid->states));
    u32 contacts = rigid->contact_count;
    state_count(state, &contacts, rigid->def.body_capacity * 64u + 4096u);
    if (load && !state->failed && !contact_reserve(rigid, contacts)) {
        state->failed = true;
    }
    rigid->contact_count = state->failed ? 0 : contacts;
    state_bytes(state, rigid->contacts, (size_t)rigid->contact_count * sizeof(*rigid->contacts));
    state_count(state, &rigid->grip_count, RIGID_GRIPS_MAX);
    state_bytes(state, rigid->grips, (size_t)rigid->grip_count * sizeof(*rigid->grips));
    joint_walk(rigid, state);
    if (!load) {
        return;
    }
    if (state->failed || !state_is_sane(rigid)) {
        state->failed = true;
        return;
    }
    /* Slots that the image does not know are as if never used. */
    for (u32 i = rigid->slots; i < slots_before; i++) {
        memset(&rigid->bodies[i], 0, sizeof(rigid->bodies[i]));
        memset(&rigid->states[i], 0, sizeof(rigid->states[i]));
    }
    for (u32 i = rigid->grip_count; i < RIGID_GRIPS_MAX; i++) {
        memset(&rigid->grips[i], 0, sizeof(rigid->grips[i]));
    }
    tree_clear(&rigid->moving);
    tree_clear(&rigid->fixed);
    rigid->plane_count = 0;
    rigid->row_count = 0;
    rigid->impact_count = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->bodies[i].flags & BODY_LIVE) {
            broad_insert(rigid, i);
        }
    }
}
