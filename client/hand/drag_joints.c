/* drag_joints.c: see drag_joints.h. */
#include "client/hand/drag_joints.h"

#include "client/link/curve.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAVIER     64.0f /* mass factor per joint towards the grab */
#define GYRATION    1.0f  /* of a body's squared radius, as for a ball */
#define REACH_MIN_M 0.02f
#define BROKEN_M    0.1f /* joints with larger gaps count as broken */

/* The grab moves in steps that are small compared to the bodies: large jumps would flip them. */
#define STEP_M       0.1f
#define ROTATION_MAX 0.3f /* radians per iteration */

enum {
    STEPS_MAX = 100,
    SWEEPS = 2,       /* per step */
    SWEEPS_LAST = 32, /* in the last step */
};

/* ---- jointed bodies ---- */

/* The entity of a body of the scene: both have the same order. */
static const Entity *entity_of(const Scene *scene, const Entity *entities, u32 count, i32 body)
{
    u32 low = 0, high = count, id = (u32)body + 1;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (entities[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is = low < count && entities[low].id == id &&
              strncmp(entities[low].name, scene->bodies[body].name, NAME_BYTES_MAX) == 0;
    return is ? &entities[low] : NULL;
}

static bool joins(const SceneJoint *joint)
{
    return joint->kind != JOINT_MOTOR && joint->kind != JOINT_SPRING;
}

static DragBody body_of(const Entity *entity, u32 depth)
{
    DragBody body = {.element = entity->first, .depth = depth};
    if (entity->movable && entity->mass_kg > 0.0f) {
        f32 reach = f32_max(shape_reach(&entity->appearance.shape), REACH_MIN_M);
        body.inverse_mass = 1.0f / entity->mass_kg;
        body.inverse_inertia = 1.0f / (entity->mass_kg * GYRATION * reach * reach);
    }
    return body;
}

/* Scene bodies found so far, by index in held->bodies. */
typedef struct DragSearch {
    const Scene *scene;
    const Entity *entities;
    u32 count;
    u8 field;
    i32 found[DRAG_BODIES_MAX];
} DragSearch;

/* Index of a body, new or known; DRAG_WORLD: the world, or no space or no entity. */
static u32 place_of(DragJoints *drag, DragSearch *search, i32 body, u32 depth)
{
    for (u32 i = 0; body >= 0 && i < drag->body_count; i++) {
        if (search->found[i] == body) {
            return i;
        }
    }
    const Entity *entity =
        body >= 0 ? entity_of(search->scene, search->entities, search->count, body) : NULL;
    if (entity == NULL || entity->field != search->field || drag->body_count == DRAG_BODIES_MAX) {
        return DRAG_WORLD;
    }
    search->found[drag->body_count] = body;
    drag->bodies[drag->body_count] = body_of(entity, depth);
    return drag->body_count++;
}

static void joints_of(DragJoints *drag, DragSearch *search, u32 place)
{
    i32 body = search->found[place];
    u32 depth = drag->bodies[place].depth + 1;
    for (u32 i = 0; i < search->scene->joint_count; i++) {
        const SceneJoint *joint = &search->scene->joints[i];
        if (!joins(joint) || (joint->a != body && joint->b != body)) {
            continue;
        }
        i32 other = joint->a == body ? joint->b : joint->a;
        u32 known = drag->body_count;
        u32 at = place_of(drag, search, other, depth);
        bool again = at != DRAG_WORLD && at < known && at < place; /* it added this joint itself */
        if (again || drag->joint_count == DRAG_JOINTS_MAX) {
            continue;
        }
        drag->stands = drag->stands || at == DRAG_WORLD || drag->bodies[at].inverse_mass == 0.0f;
        drag->joints[drag->joint_count++] = (DragJoint){.kind = joint->kind,
                                                        .a = joint->a == body ? place : at,
                                                        .b = joint->a == body ? at : place,
                                                        .anchor_a = joint->anchor_a,
                                                        .anchor_b = joint->anchor_b,
                                                        .frame_a = joint->frame_a,
                                                        .frame_b = joint->frame_b};
    }
}

void drag_joints_find(DragJoints *drag, const Scene *scene, const Entity *entities, u32 count,
                      u32 id)
{
    memset(drag, 0, sizeof *drag);
    DragSearch search = {.scene = scene, .entities = entities, .count = count};
    const Entity *entity =
        id > 0 && id <= scene->body_count ? entity_of(scene, entities, count, (i32)id - 1) : NULL;
    if (entity == NULL) {
        return;
    }
    drag->entity = id;
    search.field = entity->field;
    (void)place_of(drag, &search, (i32)id - 1, 0);
    for (u32 i = 0; i < drag->body_count; i++) {
        if (drag->bodies[i].inverse_mass > 0.0f) { /* bodies beyond an immovable one do not
                                                      matter */
            joints_of(drag, &search, i);
        }
    }
}

/* ---- positions ---- */

typedef struct DragPose {
    Vec3 position;
    Quat orientation;
    f32 w, rotation; /* effective inverse mass and inertia */
} DragPose;

/* A joint's state in the shown poses. */
typedef struct JointRest {
    bool broken;
    Vec3 gap;      /* from anchor a to anchor b, m, world */
    f32 length;    /* of it */
    Quat rotation; /* b in a's frame */
    Vec3 hinge;    /* error between the axes */
} JointRest;

typedef struct DragSolve {
    const DragJoints *drag;
    DragPose places[DRAG_BODIES_MAX + 1]; /* the last: the world */
    JointRest rests[DRAG_JOINTS_MAX];
} DragSolve;

static DragPose *place_at(DragSolve *solve, u32 index)
{
    return &solve->places[index == DRAG_WORLD ? DRAG_BODIES_MAX : index];
}

static void place_rotation(DragPose *place, Vec3 rotation)
{
    f32 angle = vec3_length(rotation);
    rotation = angle > ROTATION_MAX ? vec3_scale(rotation, ROTATION_MAX / angle) : rotation;
    place->orientation = quat_normalize(quat_mul(quat_from_vector(rotation), place->orientation));
}

/* Applies a positional impulse p at r from the body's centre. */
static void place_push(DragPose *place, Vec3 r, Vec3 p)
{
    place->position = vec3_add_scaled(place->position, place->w, p);
    if (place->rotation > 0.0f) {
        place_rotation(place, vec3_scale(vec3_cross(r, p), place->rotation));
    }
}

static f32 yields(const DragPose *place, Vec3 r, Vec3 n)
{
    return place->w + place->rotation * vec3_length_squared(vec3_cross(r, n));
}

/* Corrects the `error` (from a to b) between two points. */
static void points_join(DragPose *a, Vec3 ra, DragPose *b, Vec3 rb, Vec3 error)
{
    f32 size = vec3_length(error);
    if (size < 1e-7f) {
        return;
    }
    Vec3 n = vec3_scale(error, 1.0f / size);
    f32 sum = yields(a, ra, n) + yields(b, rb, n);
    if (sum > 0.0f) {
        place_push(a, ra, vec3_scale(n, size / sum));
        place_push(b, rb, vec3_scale(n, -size / sum));
    }
}

/* Rotates both so that b rotates by `error` relative to a in total. */
static void turns_join(DragPose *a, DragPose *b, Vec3 error)
{
    f32 sum = a->rotation + b->rotation;
    if (sum > 0.0f) {
        place_rotation(a, vec3_scale(error, -a->rotation / sum));
        place_rotation(b, vec3_scale(error, b->rotation / sum));
    }
}

static Vec3 hinge_off(const DragJoint *joint, const DragPose *a, const DragPose *b)
{
    Vec3 x = vec3(1.0f, 0.0f, 0.0f);
    return vec3_cross(quat_rotate(quat_mul(b->orientation, joint->frame_b), x),
                      quat_rotate(quat_mul(a->orientation, joint->frame_a), x));
}

static void joint_rotation(const DragJoint *joint, const JointRest *rest, DragPose *a, DragPose *b)
{
    if (joint->kind == JOINT_FIXED || joint->kind == JOINT_SLIDER) {
        Quat wanted = quat_mul(a->orientation, rest->rotation);
        turns_join(a, b, quat_to_vector(quat_mul(wanted, quat_conjugate(b->orientation))));
    } else if (joint->kind == JOINT_HINGE) {
        turns_join(a, b, vec3_sub(hinge_off(joint, a, b), rest->hinge));
    }
}

static void joint_solve(DragSolve *solve, u32 index)
{
    const DragJoint *joint = &solve->drag->joints[index];
    const JointRest *rest = &solve->rests[index];
    DragPose *a = place_at(solve, joint->a), *b = place_at(solve, joint->b);
    if (rest->broken) {
        return;
    }
    joint_rotation(joint, rest, a, b);
    Vec3 ra = quat_rotate(a->orientation, joint->anchor_a);
    Vec3 rb = quat_rotate(b->orientation, joint->anchor_b);
    Vec3 gap = vec3_sub(vec3_add(b->position, rb), vec3_add(a->position, ra));
    Vec3 error = vec3_sub(gap, rest->gap);
    if (joint->kind == JOINT_DISTANCE) {
        f32 length = vec3_length(gap);
        error = length > 0.0f ? vec3_scale(gap, (length - rest->length) / length) : vec3_zero();
    } else if (joint->kind == JOINT_SLIDER) {
        Vec3 axis = quat_rotate(quat_mul(a->orientation, joint->frame_a), vec3(1.0f, 0.0f, 0.0f));
        error = vec3_add_scaled(error, -vec3_dot(error, axis), axis);
    }
    points_join(a, ra, b, rb, error);
}

static void rest_note(DragSolve *solve, u32 index)
{
    const DragJoint *joint = &solve->drag->joints[index];
    JointRest *rest = &solve->rests[index];
    const DragPose *a = place_at(solve, joint->a), *b = place_at(solve, joint->b);
    Vec3 from = vec3_add(a->position, quat_rotate(a->orientation, joint->anchor_a));
    Vec3 to = vec3_add(b->position, quat_rotate(b->orientation, joint->anchor_b));
    bool free = joint->kind == JOINT_DISTANCE || joint->kind == JOINT_SLIDER;
    rest->gap = vec3_sub(to, from);
    rest->length = vec3_length(rest->gap);
    rest->broken = !free && rest->length > BROKEN_M;
    rest->rotation = quat_mul(quat_conjugate(a->orientation), b->orientation);
    rest->hinge = hinge_off(joint, a, b);
}

static void solve_begin(DragSolve *solve, const DragJoints *drag, const ShownPose *poses)
{
    memset(solve->places, 0, sizeof solve->places);
    solve->drag = drag;
    solve->places[DRAG_BODIES_MAX].orientation = quat_identity();
    for (u32 i = 0; i < drag->body_count; i++) {
        const ShownPose *pose = &poses[drag->bodies[i].element];
        bool moves = (pose->flags & POSE_LIVE) != 0 && (pose->flags & POSE_STATIC) == 0;
        f32 light = moves ? powf(HEAVIER, f32_min((f32)drag->bodies[i].depth, 12.0f)) : 0.0f;
        solve->places[i] =
            (DragPose){pose->position, pose->orientation, drag->bodies[i].inverse_mass * light,
                       drag->bodies[i].inverse_inertia * light};
    }
    for (u32 i = 0; i < drag->joint_count; i++) {
        rest_note(solve, i);
    }
}

static void hand_pull(DragSolve *solve, Vec3 local, Vec3 target)
{
    DragPose *drag = &solve->places[0], hand = {.orientation = quat_identity()};
    Vec3 r = quat_rotate(drag->orientation, local);
    points_join(drag, r, &hand, vec3_zero(), vec3_sub(target, vec3_add(drag->position, r)));
}

Vec3 drag_joints_show(const DragJoints *drag, Vec3 local, Vec3 offset, ShownPose *poses,
                      u32 capacity)
{
    for (u32 i = 0; i < drag->body_count; i++) {
        CHECK(drag->bodies[i].element < capacity);
    }
    DragSolve solve;
    solve_begin(&solve, drag, poses);
    DragPose *first = &solve.places[0];
    Vec3 from = vec3_add(first->position, quat_rotate(first->orientation, local));
    u32 steps = u32_min(1 + (u32)(vec3_length(offset) / STEP_M), STEPS_MAX);
    for (u32 step = 1; step <= steps; step++) {
        Vec3 target = vec3_add_scaled(from, (f32)step / (f32)steps, offset);
        for (u32 sweep = 0; sweep < (step < steps ? SWEEPS : SWEEPS_LAST); sweep++) {
            hand_pull(&solve, local, target);
            for (u32 i = 0; i < drag->joint_count; i++) {
                joint_solve(&solve, i);
            }
        }
    }
    /* Immovable bodies win: another forward and backward pass with the true masses. */
    for (u32 i = 0; i < drag->body_count && drag->stands; i++) {
        bool moves = solve.places[i].w > 0.0f;
        solve.places[i].w = moves ? drag->bodies[i].inverse_mass : 0.0f;
        solve.places[i].rotation = moves ? drag->bodies[i].inverse_inertia : 0.0f;
    }
    for (u32 sweep = 0; sweep < 2 * SWEEPS_LAST && drag->stands; sweep++) {
        for (u32 i = 0; i < drag->joint_count; i++) {
            joint_solve(&solve, sweep % 2 == 0 ? drag->joint_count - 1 - i : i);
        }
    }
    for (u32 i = 0; i < drag->body_count; i++) {
        ShownPose *pose = &poses[drag->bodies[i].element];
        if (solve.places[i].w > 0.0f) {
            pose->position = solve.places[i].position;
            pose->orientation = solve.places[i].orientation;
        }
    }
    return vec3_add(first->position, quat_rotate(first->orientation, local));
}
