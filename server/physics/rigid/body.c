/* body.c: the store of bodies: slots, generations, reads and writes. See rigid.h. */
#include "server/physics/rigid/ccd/ccd_flight.h"
#include "server/physics/rigid/solve/heavy.h"

#include "shared/base/check.h"
#include "shared/math/trig.h"

#include <stdlib.h>

BodyDef body_def_default(void)
{
    BodyDef def = {.orientation = {1.0f, 0.0f, 0.0f, 0.0f}, .mass_kg = 1.0f};
#define ROW_NUMBER(key, member, unit, scale, initial, ...) def.member = (initial) * (scale);
#define ROW_BITS(key, member, initial, ...)                def.member = initial;
#define ROW_FLAG(key, member, initial, doc)                def.member = initial;
#define ROW_CHOICE(key, member, Type, names, initial, doc) def.member = initial;
#include "shared/rows/body.def"
    def.friction = 0.6f; /* of no material */
    def.restitution = 0.0f;
    return def;
}

bool rigid_reserve(Rigid *rigid, void *array, u32 *capacity, u32 count, size_t bytes)
{
    if (count <= *capacity) {
        return true;
    }
    /* The array may be of any type: its pointer is read and written as bytes. */
    void *old;
    memcpy(&old, array, sizeof(old));
    u32 enlarged = u32_max(count + count / 2, 64);
    size_t size = ((size_t)enlarged * bytes + 63) / 64 * 64;
    void *grown = aligned_alloc(64, size);
    if (!grown) {
        return false;
    }
    if (old) {
        memcpy(grown, old, (size_t)*capacity * bytes);
    }
    free(old);
    memcpy(array, &grown, sizeof(grown));
    rigid->memory += (u64)(enlarged - *capacity) * bytes;
    *capacity = enlarged;
    return true;
}

static void *take(Rigid *rigid, u32 count, size_t bytes, bool *failed)
{
    size_t size = ((size_t)count * bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    if (!memory) {
        *failed = true;
        return NULL;
    }
    memset(memory, 0, size);
    rigid->memory += size;
    return memory;
}

/* Room for a pile of n bodies: some three contacts and five pairs a body. What needs more grows
 * once and keeps its room. */
static bool reserve_pile(Rigid *rigid, u32 n)
{
    u32 pairs = 128 + n * 4;
    return contact_reserve(rigid, 64 + n * 2) &&
           rigid_reserve(rigid, &rigid->pairs, &rigid->pair_capacity, pairs, sizeof(Pair)) &&
           rigid_reserve(rigid, &rigid->pairs_merged, &rigid->pair_merged_capacity, pairs,
                         sizeof(Pair)) &&
           rigid_reserve(rigid, &rigid->manifolds, &rigid->manifold_capacity, pairs,
                         sizeof(Manifold)) &&
           color_reserve(rigid, 16 + n / 2);
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
    rigid->def.iterations = def->iterations == 0 ? 10 : u32_min(def->iterations, 1000);
    rigid->def.pyramid_sides =
        def->pyramid_sides == 0 ? 4 : u32_min(u32_max(def->pyramid_sides, 3), 16);
    bool failed = n > BODIES_MAX;
    rigid->states = take(rigid, n + 1, sizeof(*rigid->states), &failed);
    rigid->bodies = take(rigid, n + 1, sizeof(*rigid->bodies), &failed);
    rigid->inertias = take(rigid, n + 2, sizeof(*rigid->inertias), &failed);
    rigid->rests = take(rigid, n, sizeof(*rigid->rests), &failed);
    rigid->free_flights = take(rigid, n / SIMD_LANES + 1, sizeof(*rigid->free_flights), &failed);
    rigid->leaves = take(rigid, n, sizeof(*rigid->leaves), &failed);
    rigid->ways = take(rigid, n, sizeof(*rigid->ways), &failed);
    rigid->planes = take(rigid, n, sizeof(*rigid->planes), &failed);
    rigid->active = take(rigid, n, sizeof(*rigid->active), &failed);
    rigid->colors_used = take(rigid, n, sizeof(*rigid->colors_used), &failed);
    rigid->color_bodies = take(rigid, n, 1, &failed);
    rigid->flights = take(rigid, n, sizeof(*rigid->flights), &failed);
    rigid->mates = take(rigid, n, sizeof(*rigid->mates), &failed);
    rigid->stuck = take(rigid, n, sizeof(*rigid->stuck), &failed);
    rigid->deep = take(rigid, n, sizeof(*rigid->deep), &failed);
    rigid->slot_scratch = take(rigid, n, sizeof(*rigid->slot_scratch), &failed);
    rigid->parents = take(rigid, n, sizeof(*rigid->parents), &failed);
    rigid->supports = take(rigid, n, sizeof(*rigid->supports), &failed);
    rigid->island_awake = take(rigid, n, 1, &failed);
    rigid->island_held = take(rigid, n, 1, &failed);
    rigid->island_restless = take(rigid, n, 1, &failed);
    rigid->node_capacity = n;
    failed = !tree_init(&rigid->moving, n) || failed;
    failed = !tree_init(&rigid->fixed, n) || failed;
    failed = !joint_store_init(&rigid->joints, def->joint_capacity, n) || failed;
    failed = !reserve_pile(rigid, n) || failed;
    failed = !heavy_init(rigid) || !flight_init(rigid) || failed;
    if (failed) {
        rigid_destroy(rigid);
        return NULL;
    }
    rigid->bodies[n].orientation = quat_identity();
    rigid->memory +=
        sizeof(*rigid) + (u64)n * 4 * (sizeof(TreeNode) + sizeof(TreePair)) + rigid->joints.memory;
    return rigid;
}

void rigid_destroy(Rigid *rigid)
{
    if (!rigid) {
        return;
    }
    void *const arrays[] = {rigid->states,
                            rigid->bodies,
                            rigid->inertias,
                            rigid->rests,
                            rigid->free_flights,
                            rigid->leaves,
                            rigid->ways,
                            rigid->planes,
                            rigid->active,
                            rigid->colors_used,
                            rigid->flights,
                            rigid->deep_overlaps,
                            rigid->flyers,
                            rigid->meetings,
                            rigid->energies,
                            rigid->mates,
                            rigid->stuck,
                            rigid->deep,
                            rigid->slot_scratch,
                            rigid->parents,
                            rigid->supports,
                            rigid->island_awake,
                            rigid->island_held,
                            rigid->island_restless,
                            rigid->pairs,
                            rigid->pairs_merged,
                            rigid->spans,
                            rigid->found,
                            rigid->contacts,
                            rigid->contacts_before,
                            rigid->contact_manifolds,
                            rigid->contact_colors,
                            rigid->contact_classes,
                            rigid->color_bodies,
                            rigid->plans,
                            rigid->bouncing,
                            rigid->color_order,
                            rigid->manifolds,
                            rigid->recycled,
                            rigid->recycled_now,
                            rigid->recyclings,
                            rigid->recyclings_before,
                            rigid->recycled_manifolds,
                            rigid->recycled_manifolds_before,
                            rigid->rows,
                            rigid->impulse_points,
                            rigid->points,
                            rigid->extras};
    for (u32 i = 0; i < PL_COUNT(arrays); i++) {
        free(arrays[i]);
    }
    tree_finish(&rigid->moving);
    tree_finish(&rigid->fixed);
    joint_store_finish(&rigid->joints);
    heavy_destroy(rigid->heavy);
    free(rigid);
}

void body_forget_tick(Rigid *rigid)
{
    rigid->contact_count = rigid->recycled_count = 0;
    rigid->row_count = rigid->point_count = rigid->color_count = 0;
    rigid->impact_count = rigid->overlap_count = 0;
    rigid->active_count = 0;
    rigid->stirred = rigid->unlinked = true;
    rigid->joints.laid_out = false;
    rigid->touching = 0;
    rigid->penetration_max = 0.0f;
}

void rigid_clear(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        u32 generation = rigid->bodies[i].generation;
        memset(&rigid->bodies[i], 0, sizeof(rigid->bodies[i]));
        memset(&rigid->states[i], 0, sizeof(rigid->states[i]));
        memset(&rigid->inertias[i], 0, sizeof(rigid->inertias[i]));
        memset(&rigid->rests[i], 0, sizeof(rigid->rests[i]));
        rigid->bodies[i].generation = generation;
    }
    tree_clear(&rigid->moving);
    tree_clear(&rigid->fixed);
    rigid->plane_count = rigid->pair_count = rigid->extra_bodies = 0;
    body_forget_tick(rigid);
    memset(rigid->grabs, 0, sizeof(rigid->grabs));
    rigid->grab_count = 0;
    joint_clear(rigid);
}

bool body_has_extra(const Body *body)
{
    return body->rolling > 0.0f || vec3_length_squared(body->surface_velocity) > 0.0f;
}

/* The same moment of inertia about every axis. */
static bool is_round(const Symmetric3 *i)
{
    f32 spread = f32_max(fabsf(i->xx - i->yy), fabsf(i->yy - i->zz));
    f32 tilt = f32_max(fabsf(i->xy), f32_max(fabsf(i->xz), fabsf(i->yz)));
    return f32_max(spread, tilt) <= 1e-4f * i->xx;
}

static bool is_ground(const Shape *shape)
{
    return shape->kind == SHAPE_MESH || shape->kind == SHAPE_TERRAIN || shape->kind == SHAPE_PLANE;
}

void body_derive(const Rigid *rigid, Body *body)
{
    MassProperties mass = shape_mass(&body->shape, body->mass);
    body->centre = mass.centre;
    body->inner = shape_inner_radius(&body->shape);
    body->reach = is_ground(&body->shape) ? INFINITY : shape_reach(&body->shape);
    body->flags &= ~(u32)(BODY_OFFSET | BODY_ROUND);
    if (body->motion == BODY_DYNAMIC) {
        body->inertia = mass.inertia;
        body->inverse_inertia = symmetric_inverse(&mass.inertia);
        body->flags |= is_round(&mass.inertia) ? BODY_ROUND : 0u;
    }
    body->flags |= vec3_length_squared(mass.centre) > 0.0f ? BODY_OFFSET : 0u;
    if (body->motion != BODY_DYNAMIC) {
        body->flags &= ~(u32)BODY_PGS;
    } else if (rigid->def.method == RIGID_IMPULSES) {
        body->flags |= BODY_PGS;
    }
}

static u32 slot_take(Rigid *rigid)
{
    u32 slot = 0;
    while (slot < rigid->slots && (rigid->bodies[slot].flags & BODY_LIVE)) {
        slot++;
    }
    if (slot < rigid->def.body_capacity) {
        rigid->slots = u32_max(rigid->slots, slot + 1);
    }
    return slot;
}

BodyId rigid_add(Rigid *rigid, const BodyDef *def)
{
    u32 slot = body_def_is_valid(def) ? slot_take(rigid) : rigid->def.body_capacity;
    if (slot >= rigid->def.body_capacity) {
        return (BodyId){0, 0};
    }
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    /* 16 bits of it, as far as others count; 0 means none. */
    u32 generation = body->generation % 0xffffu + 1;
    memset(body, 0, sizeof(*body));
    memset(state, 0, sizeof(*state));
    *body = (Body){.orientation = quat_normalize(def->orientation),
                   .flags = BODY_LIVE | BODY_MOVED | (def->pgs ? BODY_PGS : 0u),
                   .motion = def->motion,
                   .shape = def->shape,
                   .mass = def->motion == BODY_DYNAMIC ? def->mass_kg : 0.0f,
                   .friction = def->friction,
                   .restitution = def->restitution,
                   .rolling = def->rolling,
                   .surface_velocity = def->surface_velocity,
                   .group = def->group != 0 ? def->group : 1u,
                   .mask = def->mask != 0 ? def->mask : ~0u,
                   .family = def->family,
                   .sensor = def->sensor ? 1u : 0u,
                   .generation = generation};
    body_derive(rigid, body);
    body->position = vec3_add(def->position, quat_rotate(body->orientation, body->centre));
    body->rest_position = body->position;
    body->rest_orientation = body->orientation;
    state->inverse_mass = body->mass > 0.0f ? 1.0f / body->mass : 0.0f;
    if (def->motion != BODY_STATIC) {
        state->velocity = def->velocity;
        state->angular_velocity = def->angular_velocity;
        state->gravity_scale = def->gravity_scale;
        state->linear_damping = def->linear_damping;
        state->angular_damping = def->angular_damping;
    }
    if (def->asleep && def->motion == BODY_DYNAMIC) {
        body->flags |= BODY_ASLEEP;
        state->velocity = vec3_zero();
        state->angular_velocity = vec3_zero();
    }
    rigid->extra_bodies += body_has_extra(body);
    body->fat =
        bounds_grow(shape_bounds(&body->shape, body_origin(body), body->orientation), RIGID_FAT_M);
    broad_insert(rigid, slot);
    broad_rest(rigid, slot);
    rigid->stirred = true;
    rigid->joints.laid_out = false;
    return (BodyId){slot, generation};
}

void rigid_remove(Rigid *rigid, BodyId id)
{
    if (!rigid_alive(rigid, id)) {
        return;
    }
    for (u32 i = 0; i < rigid->grab_count; i++) {
        if (rigid->grabs[i].live && rigid->grabs[i].body.slot == id.slot) {
            rigid_grab_remove(rigid, i);
        }
    }
    rigid->stirred = true;
    rigid->joints.laid_out = false;
    joint_remove_body(rigid, id.slot);
    contact_remove_body(rigid, id.slot);
    recycle_remove_body(rigid, id.slot);
    broad_remove_pairs(rigid, id.slot);
    rigid->unlinked = true;
    broad_remove(rigid, id.slot);
    Body *body = &rigid->bodies[id.slot];
    rigid->extra_bodies -= body_has_extra(body);
    memset(body, 0, sizeof(*body));
    memset(&rigid->states[id.slot], 0, sizeof(BodyState));
    memset(&rigid->inertias[id.slot], 0, sizeof(Symmetric3));
    memset(&rigid->rests[id.slot], 0, sizeof(BodyRest));
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
    return body_origin(&rigid->bodies[slot]);
}
Vec3 rigid_centre(const Rigid *rigid, u32 slot)
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
Vec3 rigid_angular_velocity(const Rigid *rigid, u32 slot)
{
    return rigid->states[slot].angular_velocity;
}
f32 rigid_mass(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].mass;
}
Symmetric3 rigid_inertia(const Rigid *rigid, u32 slot)
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
bool rigid_meets(const Rigid *rigid, u32 slot, u32 group, u32 mask)
{
    const Body *body = &rigid->bodies[slot];
    return body->sensor == 0 && (body->group & (mask != 0 ? mask : ~0u)) != 0 &&
           ((group != 0 ? group : 1u) & body->mask) != 0;
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
    return vec3_add(state->velocity, vec3_cross(state->angular_velocity, arm));
}
/* From the pose, as rigid_impulse: the tick's cache is of another moment. */
Vec3 rigid_rotation_since(const Rigid *rigid, u32 slot, Vec3 moment)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return vec3_zero();
    }
    Vec3 local = quat_rotate_inverse(body->orientation, moment);
    return quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, local));
}
f32 rigid_inverse_mass_at(const Rigid *rigid, u32 slot, Vec3 arm, Vec3 direction)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return 0.0f;
    }
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_cross(arm, direction));
    return rigid->states[slot].inverse_mass +
           vec3_dot(moment, symmetric_mul(&body->inverse_inertia, moment));
}
Symmetric3 rigid_response_at(const Rigid *rigid, u32 slot, Vec3 arm)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || !body_is_active(body)) {
        return (Symmetric3){0};
    }
    Vec3 x = rigid_rotation_since(rigid, slot, vec3(0.0f, arm.z, -arm.y));
    Vec3 y = rigid_rotation_since(rigid, slot, vec3(-arm.z, 0.0f, arm.x));
    Vec3 z = rigid_rotation_since(rigid, slot, vec3(arm.y, -arm.x, 0.0f));
    x = vec3_cross(x, arm);
    y = vec3_cross(y, arm);
    z = vec3_cross(z, arm);
    f32 w = rigid->states[slot].inverse_mass;
    return (Symmetric3){w + x.x, w + y.y, w + z.z, y.x, z.x, z.y};
}
RigidPose rigid_pose(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    return (RigidPose){body->position, body->orientation};
}
void rigid_set_pose(Rigid *rigid, u32 slot, RigidPose pose)
{
    energy_forget(rigid);
    /* Speeds beyond all numbers, as an image may have, leave no pose: a body keeps its own. */
    if (vec3_is_finite(pose.centre) && quat_is_finite(pose.orientation)) {
        rigid->bodies[slot].position = pose.centre;
        rigid->bodies[slot].orientation = pose.orientation;
    }
}
void rigid_add_velocity(Rigid *rigid, u32 slot, Vec3 velocity)
{
    energy_forget(rigid);
    rigid->states[slot].velocity = vec3_add(rigid->states[slot].velocity, velocity);
}
void rigid_add_angular_velocity(Rigid *rigid, u32 slot, Vec3 angular_velocity)
{
    energy_forget(rigid);
    rigid->states[slot].angular_velocity =
        vec3_add(rigid->states[slot].angular_velocity, angular_velocity);
}
void rigid_add_motion(Rigid *rigid, u32 slot, Vec3 shift, Vec3 rotation)
{
    energy_forget(rigid);
    BodyState *state = &rigid->states[slot];
    state->shift = vec3_add(state->shift, shift);
    state->rotation = vec3_add(state->rotation, rotation);
}
bool rigid_moves_once(const Rigid *rigid, u32 slot)
{
    return body_is_pgs(rigid, slot) || rigid->def.method == RIGID_IMPULSES;
}
Bounds rigid_bounds(const Rigid *rigid, u32 slot)
{
    return rigid->bodies[slot].fat;
}

void rigid_set_velocity(Rigid *rigid, u32 slot, Vec3 velocity, Vec3 angular_velocity)
{
    rigid->states[slot].velocity = velocity;
    rigid->states[slot].angular_velocity = angular_velocity;
    rigid_wake(rigid, slot);
}

void rigid_impulse(Rigid *rigid, u32 slot, Vec3 arm, Vec3 impulse)
{
    energy_forget(rigid);
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    if (body->motion != BODY_DYNAMIC || !vec3_is_finite(impulse)) {
        return;
    }
    /* From the pose, not from the tick's cache: pushes come before the cache is made. */
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_cross(arm, impulse));
    Vec3 angular_velocity =
        quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, moment));
    state->velocity = vec3_add_scaled(state->velocity, state->inverse_mass, impulse);
    state->angular_velocity = vec3_add(state->angular_velocity, angular_velocity);
}

void rigid_push(Rigid *rigid, u32 slot, Vec3 arm, Vec3 force, Vec3 torque)
{
    const Body *body = &rigid->bodies[slot];
    f32 tick_s = rigid->def.tick_s;
    if (body->motion != BODY_DYNAMIC || !vec3_is_finite(force) || !vec3_is_finite(torque)) {
        return;
    }
    body_wake(rigid, slot);
    rigid_impulse(rigid, slot, arm, vec3_scale(force, tick_s));
    Vec3 moment = quat_rotate_inverse(body->orientation, vec3_scale(torque, tick_s));
    Vec3 angular_velocity =
        quat_rotate(body->orientation, symmetric_mul(&body->inverse_inertia, moment));
    rigid->states[slot].angular_velocity =
        vec3_add(rigid->states[slot].angular_velocity, angular_velocity);
}

void rigid_move_kinematic(Rigid *rigid, u32 slot, Vec3 position, Quat orientation)
{
    Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_KINEMATIC || !vec3_is_finite(position) ||
        !quat_is_finite(orientation)) {
        return;
    }
    f32 rate = 1.0f / rigid->def.tick_s;
    orientation = quat_normalize(orientation);
    Vec3 centre = vec3_add(position, quat_rotate(orientation, body->centre));
    rigid->states[slot].velocity = vec3_scale(vec3_sub(centre, body->position), rate);
    /* The turn by 2 atan2(|v|, w) about v; for the small turns of a tick 2 v / w is its tangent. */
    Quat rotation = quat_mul(orientation, quat_conjugate(body->orientation));
    f32 sign = rotation.w < 0.0f ? -1.0f : 1.0f;
    Vec3 axis = vec3_scale(vec3(rotation.x, rotation.y, rotation.z), sign);
    f32 length = vec3_length(axis);
    f32 angle = 2.0f * trig_atan2_f32(length, fabsf(rotation.w));
    rigid->states[slot].angular_velocity =
        length > 1e-9f ? vec3_scale(axis, angle * rate / length) : vec3_zero();
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
    if (rigid->def.method == RIGID_IMPULSES) {
        rigid->substeps = 1;
    }
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

i32 rigid_grab_add(Rigid *rigid, const RigidGrab *grab)
{
    if (!rigid_alive(rigid, grab->body)) {
        return -1;
    }
    for (u32 i = 0; i < RIGID_GRABS_MAX; i++) {
        if (!rigid->grabs[i].live) {
            rigid->grabs[i] = *grab;
            rigid->grabs[i].live = 1;
            rigid->grabs[i].impulse = vec3_zero();
            rigid->grab_count = u32_max(rigid->grab_count, i + 1);
            body_wake(rigid, grab->body.slot);
            return (i32)i;
        }
    }
    return -1;
}
void rigid_grab_remove(Rigid *rigid, u32 grab)
{
    memset(&rigid->grabs[grab], 0, sizeof(rigid->grabs[grab]));
    while (rigid->grab_count > 0 && !rigid->grabs[rigid->grab_count - 1].live) {
        rigid->grab_count--;
    }
}
RigidGrab *rigid_grab(Rigid *rigid, u32 grab)
{
    return &rigid->grabs[grab];
}

const RigidOverlap *rigid_sensor_events(const Rigid *rigid, u32 *count)
{
    *count = rigid->overlap_count;
    return rigid->overlaps;
}

const RigidImpact *rigid_impacts(const Rigid *rigid, u32 *count)
{
    *count = rigid->impact_count;
    return rigid->impacts;
}

/* How many islands are awake; the union-find is scratch memory, not state. */
static u32 count_islands(Rigid *rigid)
{
    u32 count = 0;
    island_build(rigid);
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        count += body->motion == BODY_DYNAMIC && body_is_active(body) && island_root(rigid, i) == i;
    }
    return count;
}

void rigid_stats(Rigid *rigid, RigidStats *stats)
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
    stats->islands = count_islands(rigid);
    stats->penetration_max = rigid->penetration_max;
    stats->memory_bytes = rigid->memory;
}
