/* joint.c: the store of joints: slots, generations, checks, serialization. See joint.h. */
#include "server/physics/rigid/rigid_internal.h"

#include "shared/math/trig.h"

#include <float.h>
#include <stdlib.h>

#define PI_F 3.14159274f

JointDef joint_def_default(JointKind kind)
{
    JointDef def = {.kind = kind,
                    .flags = JOINT_ENABLED,
                    .frame_a = {1.0f, 0.0f, 0.0f, 0.0f},
                    .frame_b = {1.0f, 0.0f, 0.0f, 0.0f},
                    .swing = PI_F};
#define ROW_NUMBER(key, member, unit, scale, initial, ...) def.member = (initial) * (scale);
#include "shared/rows/joint.def"
    def.force_max = def.torque_max = FLT_MAX;
    return def;
}

static bool anchor_is_usable(Vec3 anchor)
{
    Vec3 size = vec3_abs(anchor);
    return size.x <= WORLD_EXTENT_MAX_M && size.y <= WORLD_EXTENT_MAX_M &&
           size.z <= WORLD_EXTENT_MAX_M;
}
static bool frame_is_usable(Quat q)
{
    f32 length2 = quat_dot(q, q);
    return isfinite(length2) && length2 > 1e-12f;
}
static bool is_within(f32 x, f32 least, f32 most)
{
    return x >= least && x <= most; /* false for NaN */
}
static bool vector_is_within(Vec3 v, f32 most)
{
    return is_within(v.x, -most, most) && is_within(v.y, -most, most) &&
           is_within(v.z, -most, most);
}

static const char *limits_fault(const JointDef *def)
{
    f32 least = -WORLD_EXTENT_MAX_M, most = WORLD_EXTENT_MAX_M;
    if (def->kind == JOINT_HINGE || def->kind == JOINT_CONE_TWIST) {
        /* A limit read from text may be π rounded up. */
        least = -PI_F * 1.00001f;
        most = PI_F * 1.00001f;
    } else if (def->kind == JOINT_DISTANCE || def->kind == JOINT_SPRING) {
        least = 0.0f;
    }
    /* Written so that NaN fails. */
    if (!(def->lower >= least && def->lower <= most)) {
        return "lower";
    }
    if (!(def->upper >= def->lower && def->upper <= most)) {
        return "upper";
    }
    if (!(def->swing > 0.0f && def->swing <= PI_F * 1.00001f)) {
        return "swing";
    }
    return NULL;
}

const char *joint_def_fault(const JointDef *def)
{
    if (def->kind <= JOINT_NONE || def->kind >= JOINT_KIND_COUNT) {
        return "kind";
    }
    if (def->flags & ~(u32)JOINT_FLAGS) {
        return "flags";
    }
    if (!anchor_is_usable(def->anchor_a) || !anchor_is_usable(def->anchor_b)) {
        return "anchor";
    }
    if (!frame_is_usable(def->frame_a) || !frame_is_usable(def->frame_b)) {
        return "frame";
    }
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    if (!is_within(def->member, (least) < 0.0f ? -(bears) : (least), bears)) {                     \
        return #member;                                                                            \
    }
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    if (!vector_is_within(def->member, bears)) {                                                   \
        return #member;                                                                            \
    }
#include "shared/rows/joint.def"
    /* A motor without strength is ignored. */
    if (!(def->force_max > 0.0f)) {
        return "force_max";
    }
    if (!(def->torque_max > 0.0f)) {
        return "torque_max";
    }
    if (!is_within(def->rest, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M)) {
        return "rest";
    }
    return limits_fault(def);
}

/* ---- pairs that do not touch ---- */

static bool is_world(BodyId body)
{
    return body.generation == 0;
}

static JointPair pair_of(const JointDef *def)
{
    return (JointPair){u32_min(def->a.slot, def->b.slot), u32_max(def->a.slot, def->b.slot), 1};
}
static bool keeps_apart(const JointDef *def)
{
    return !(def->flags & JOINT_COLLIDES) && !is_world(def->a) && !is_world(def->b);
}

static u32 pair_home(const JointStore *store, u32 a, u32 b)
{
    u64 mixed = ((u64)a << 32 | b) * 0x9e3779b97f4a7c15ull;
    return (u32)(mixed >> 32) & (store->pair_capacity - 1);
}

/* Index of the pair, or of the empty slot where it would be inserted. */
static u32 pair_find(const JointStore *store, u32 a, u32 b)
{
    u32 at = pair_home(store, a, b);
    while (store->pairs[at].b != 0 && (store->pairs[at].a != a || store->pairs[at].b != b)) {
        at = (at + 1) & (store->pair_capacity - 1);
    }
    return at;
}

static void pair_insert(JointStore *store, const JointDef *def)
{
    if (!keeps_apart(def)) {
        return;
    }
    JointPair pair = pair_of(def);
    u32 at = pair_find(store, pair.a, pair.b);
    pair.count += store->pairs[at].b != 0 ? store->pairs[at].count : 0;
    store->pairs[at] = pair;
}

static void pair_erase(JointStore *store, const JointDef *def)
{
    if (!keeps_apart(def)) {
        return;
    }
    JointPair pair = pair_of(def);
    u32 mask = store->pair_capacity - 1, hole = pair_find(store, pair.a, pair.b);
    if (store->pairs[hole].b == 0 || --store->pairs[hole].count > 0) {
        return;
    }
    /* Close the hole: entries that would be found through it move into it. */
    for (u32 at = (hole + 1) & mask; store->pairs[at].b != 0; at = (at + 1) & mask) {
        u32 home = pair_home(store, store->pairs[at].a, store->pairs[at].b);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            store->pairs[hole] = store->pairs[at];
            hole = at;
        }
    }
    store->pairs[hole] = (JointPair){0, 0, 0};
}

bool joint_connects(const Rigid *rigid, u32 a, u32 b)
{
    const JointStore *store = &rigid->joints;
    return store->live > 0 && store->pairs[pair_find(store, u32_min(a, b), u32_max(a, b))].b != 0;
}

bool joint_bodies(const Rigid *rigid, u32 slot, u32 *a, u32 *b)
{
    const Joint *joint = &rigid->joints.joints[slot];
    if (!joint->live || !(joint->def.flags & JOINT_ENABLED)) {
        return false;
    }
    *a = is_world(joint->def.a) ? JOINT_WORLD : joint->def.a.slot;
    *b = is_world(joint->def.b) ? JOINT_WORLD : joint->def.b.slot;
    return true;
}

/* ---- store ---- */

void joint_clear(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    for (u32 i = 0; i < store->slots; i++) {
        u32 generation = store->joints[i].generation;
        memset(&store->joints[i], 0, sizeof(store->joints[i]));
        store->joints[i].generation = generation;
    }
    if (store->pairs) {
        memset(store->pairs, 0, (size_t)store->pair_capacity * sizeof(*store->pairs));
    }
    store->live = 0;
    store->first_free = 0;
    store->laid_out = false;
    store->break_count = 0;
}

/* Wakes both sides, and searches their pairs again, since collision filtering may have changed. */
static void stir(Rigid *rigid, const JointDef *def)
{
    const BodyId sides[2] = {def->a, def->b};
    rigid->joints.laid_out = false;
    for (u32 i = 0; i < 2; i++) {
        if (rigid_alive(rigid, sides[i])) {
            rigid->bodies[sides[i].slot].flags |= BODY_MOVED;
            body_wake(rigid, sides[i].slot);
        }
    }
}

JointId rigid_joint_add(Rigid *rigid, const JointDef *def)
{
    const JointId none = {0, 0};
    JointStore *store = &rigid->joints;
    bool world_a = is_world(def->a), world_b = is_world(def->b);
    if (joint_def_fault(def) || (world_a && world_b) || (!world_a && !rigid_alive(rigid, def->a)) ||
        (!world_b && !rigid_alive(rigid, def->b)) ||
        (!world_a && !world_b && def->a.slot == def->b.slot)) {
        return none;
    }
    u32 slot = store->first_free;
    while (slot < store->slots && store->joints[slot].live) {
        slot++;
    }
    store->first_free = slot;
    if (slot >= store->capacity) {
        return none;
    }
    store->slots = u32_max(store->slots, slot + 1);
    Joint *joint = &store->joints[slot];
    u32 generation = joint->generation % 0xffffu + 1;
    memset(joint, 0, sizeof(*joint));
    joint->def = *def;
    joint->def.frame_a = quat_normalize(def->frame_a);
    joint->def.frame_b = quat_normalize(def->frame_b);
    joint->generation = generation;
    joint->live = 1;
    store->first_free = slot + 1;
    store->live++;
    pair_insert(store, &joint->def);
    stir(rigid, &joint->def);
    return (JointId){slot, generation};
}

void joint_free(Rigid *rigid, u32 slot)
{
    JointStore *store = &rigid->joints;
    Joint *joint = &store->joints[slot];
    pair_erase(store, &joint->def);
    stir(rigid, &joint->def);
    u32 generation = joint->generation;
    memset(joint, 0, sizeof(*joint));
    joint->generation = generation;
    store->live--;
    store->first_free = u32_min(store->first_free, slot);
}

void rigid_joint_remove(Rigid *rigid, JointId id)
{
    if (rigid_joint_alive(rigid, id)) {
        joint_free(rigid, id.slot);
    }
}

void joint_remove_body(Rigid *rigid, u32 slot)
{
    JointStore *store = &rigid->joints;
    for (u32 i = 0; i < store->slots && store->live > 0; i++) {
        const Joint *joint = &store->joints[i];
        if (joint->live && ((!is_world(joint->def.a) && joint->def.a.slot == slot) ||
                            (!is_world(joint->def.b) && joint->def.b.slot == slot))) {
            joint_free(rigid, i);
        }
    }
}

bool rigid_joint_alive(const Rigid *rigid, JointId id)
{
    const JointStore *store = &rigid->joints;
    return id.generation != 0 && id.slot < store->slots && store->joints[id.slot].live &&
           store->joints[id.slot].generation == id.generation;
}
u32 rigid_joint_slots(const Rigid *rigid)
{
    return rigid->joints.slots;
}
JointId rigid_joint_at(const Rigid *rigid, u32 slot)
{
    const JointStore *store = &rigid->joints;
    if (slot >= store->slots || !store->joints[slot].live) {
        return (JointId){0, 0};
    }
    return (JointId){slot, store->joints[slot].generation};
}
static const Joint *joint_at(const Rigid *rigid, u32 slot)
{
    const JointStore *store = &rigid->joints;
    return slot < store->slots && store->joints[slot].live ? &store->joints[slot] : NULL;
}
const JointDef *rigid_joint_def(const Rigid *rigid, u32 slot)
{
    const Joint *joint = joint_at(rigid, slot);
    return joint ? &joint->def : NULL;
}

/* ---- reads ---- */

void joint_frames(const Rigid *rigid, const JointDef *def, Vec3 anchors[2], Quat frames[2])
{
    const BodyId sides[2] = {def->a, def->b};
    anchors[0] = def->anchor_a;
    anchors[1] = def->anchor_b;
    frames[0] = def->frame_a;
    frames[1] = def->frame_b;
    for (u32 i = 0; i < 2; i++) {
        if (!is_world(sides[i])) {
            const Body *body = &rigid->bodies[sides[i].slot];
            anchors[i] = vec3_add(body_origin(body), quat_rotate(body->orientation, anchors[i]));
            frames[i] = quat_mul(body->orientation, frames[i]);
        }
    }
}

Quat joint_frame(const Rigid *rigid, BodyId side, Quat frame)
{
    return is_world(side) ? frame : quat_mul(rigid->bodies[side.slot].orientation, frame);
}

f32 joint_twist(Quat a, Quat b)
{
    Quat q = quat_mul(quat_conjugate(a), b);
    /* −q is the same rotation: the one with w ≥ 0 gives the angle in (−π, π]. */
    f32 sign = q.w < 0.0f ? -1.0f : 1.0f;
    return 2.0f * trig_atan2_f32(sign * q.x, sign * q.w);
}

f32 rigid_joint_value(const Rigid *rigid, u32 slot)
{
    const Joint *joint = joint_at(rigid, slot);
    if (!joint) {
        return 0.0f;
    }
    Vec3 anchors[2];
    Quat frames[2];
    joint_frames(rigid, &joint->def, anchors, frames);
    Vec3 gap = vec3_sub(anchors[1], anchors[0]);
    switch (joint->def.kind) {
    case JOINT_HINGE:
    case JOINT_CONE_TWIST:
        return joint_twist(frames[0], frames[1]);
    case JOINT_SLIDER:
        return vec3_dot(gap, quat_rotate(frames[0], vec3(1.0f, 0.0f, 0.0f)));
    default:
        return vec3_length(gap);
    }
}
Vec3 rigid_joint_force(const Rigid *rigid, u32 slot)
{
    const Joint *joint = joint_at(rigid, slot);
    return joint ? joint->force : vec3_zero();
}
Vec3 rigid_joint_torque(const Rigid *rigid, u32 slot)
{
    const Joint *joint = joint_at(rigid, slot);
    return joint ? joint->torque : vec3_zero();
}
f32 rigid_joint_error(const Rigid *rigid, u32 slot)
{
    const Joint *joint = joint_at(rigid, slot);
    return joint ? joint->error : 0.0f;
}
const JointBreak *rigid_joint_breaks(const Rigid *rigid, u32 *count)
{
    *count = rigid->joints.break_count;
    return rigid->joints.breaks;
}

/* ---- walk ---- */

bool joint_is_bounded(const Joint *joint)
{
    const JointLoad *load = &joint->load;
    return state_vector_is_bounded(load->linear) && state_vector_is_bounded(load->angular) &&
           state_value_is_bounded(load->spring) && state_value_is_bounded(load->motor) &&
           state_value_is_bounded(load->lower) && state_value_is_bounded(load->upper) &&
           state_value_is_bounded(load->swing) && state_vector_is_bounded(load->friction) &&
           state_vector_is_bounded(joint->force) && state_vector_is_bounded(joint->torque) &&
           state_value_is_bounded(joint->error);
}

/* In a free slot all but the generation is 0. */
static bool joint_is_valid(const Rigid *rigid, const Joint *joint)
{
    const JointDef *def = &joint->def;
    if (joint->live == 0) {
        Joint free_slot = {.generation = joint->generation};
        return joint->generation <= 0xffff && memcmp(joint, &free_slot, sizeof(*joint)) == 0;
    }
    bool world_a = is_world(def->a), world_b = is_world(def->b);
    return joint->live == 1 && joint->generation - 1 < 0xffff && !joint_def_fault(def) &&
           !(world_a && world_b) && (world_a || rigid_alive(rigid, def->a)) &&
           (world_b || rigid_alive(rigid, def->b)) &&
           (world_a || world_b || def->a.slot != def->b.slot) && joint_is_bounded(joint);
}

void joint_serialize(Rigid *rigid, State *state)
{
    JointStore *store = &rigid->joints;
    u32 slots_before = store->slots;
    state_count(state, &store->slots, store->capacity);
    state_bytes(state, store->joints, (size_t)store->slots * sizeof(*store->joints));
    if (state->mode != STATE_LOAD) {
        return;
    }
    store->live = 0;
    store->first_free = 0;
    store->laid_out = false;
    store->break_count = 0;
    if (store->pairs) {
        memset(store->pairs, 0, (size_t)store->pair_capacity * sizeof(*store->pairs));
    }
    for (u32 i = 0; i < store->slots && !state->failed; i++) {
        const Joint *joint = &store->joints[i];
        state->failed = !joint_is_valid(rigid, joint);
        if (joint->live && !state->failed) {
            store->live++;
            pair_insert(store, &joint->def);
        }
    }
    /* Slots not in the image are as if never used. */
    for (u32 i = store->slots; i < slots_before; i++) {
        memset(&store->joints[i], 0, sizeof(store->joints[i]));
    }
}
