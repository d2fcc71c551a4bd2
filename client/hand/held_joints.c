/* held_joints.c: see held_joints.h. */
#include "client/hand/held_joints.h"

#include "client/link/curve.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAVIER     64.0f /* than what is one joint farther from the hand */
#define GYRATION    1.0f  /* of a body's reach squared, of a ball */
#define REACH_MIN_M 0.02f
#define BROKEN_M    0.1f /* anchors as far apart as this are no longer joined */

/* The hand goes there in steps, so that each is small against the bodies: far jumps would turn them
 * over. */
#define STEP_M   0.1f
#define TURN_MAX 0.3f /* radians at a time */

enum {
    STEPS_MAX = 100,
    SWEEPS = 2,       /* of each step */
    SWEEPS_LAST = 32, /* of the last */
};

/* ---- what hangs together ---- */

/* The entity of a body of the scene: they are numbered alike. */
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

static HeldBody body_of(const Entity *entity, u32 depth)
{
    HeldBody body = {.element = entity->first, .depth = depth};
    if (entity->movable && entity->mass_kg > 0.0f) {
        f32 reach = f32_max(shape_reach(&entity->look.shape), REACH_MIN_M);
        body.inverse_mass = 1.0f / entity->mass_kg;
        body.inverse_inertia = 1.0f / (entity->mass_kg * GYRATION * reach * reach);
    }
    return body;
}

/* The scene's bodies that were found, by place in held->bodies. */
typedef struct Search {
    const Scene *scene;
    const Entity *entities;
    u32 count;
    u8 field;
    i32 found[HELD_BODIES_MAX];
} Search;

/* Place of a body, found now or before; HELD_WORLD: the world, or there is no room or no entity. */
static u32 place_of(HeldJoints *held, Search *search, i32 body, u32 depth)
{
    for (u32 i = 0; body >= 0 && i < held->body_count; i++) {
        if (search->found[i] == body) {
            return i;
        }
    }
    const Entity *entity =
        body >= 0 ? entity_of(search->scene, search->entities, search->count, body) : NULL;
    if (entity == NULL || entity->field != search->field || held->body_count == HELD_BODIES_MAX) {
        return HELD_WORLD;
    }
    search->found[held->body_count] = body;
    held->bodies[held->body_count] = body_of(entity, depth);
    return held->body_count++;
}

static void joints_of(HeldJoints *held, Search *search, u32 place)
{
    i32 body = search->found[place];
    u32 depth = held->bodies[place].depth + 1;
    for (u32 i = 0; i < search->scene->joint_count; i++) {
        const SceneJoint *joint = &search->scene->joints[i];
        if (!joins(joint) || (joint->a != body && joint->b != body)) {
            continue;
        }
        i32 other = joint->a == body ? joint->b : joint->a;
        u32 known = held->body_count;
        u32 at = place_of(held, search, other, depth);
        bool again = at != HELD_WORLD && at < known && at < place; /* it had this joint itself */
        if (again || held->joint_count == HELD_JOINTS_MAX) {
            continue;
        }
        held->stands = held->stands || at == HELD_WORLD || held->bodies[at].inverse_mass == 0.0f;
        held->joints[held->joint_count++] = (HeldJoint){.kind = joint->kind,
                                                        .a = joint->a == body ? place : at,
                                                        .b = joint->a == body ? at : place,
                                                        .anchor_a = joint->anchor_a,
                                                        .anchor_b = joint->anchor_b,
                                                        .frame_a = joint->frame_a,
                                                        .frame_b = joint->frame_b};
    }
}

void held_joints_find(HeldJoints *held, const Scene *scene, const Entity *entities, u32 count,
                      u32 id)
{
    memset(held, 0, sizeof *held);
    Search search = {.scene = scene, .entities = entities, .count = count};
    const Entity *entity =
        id > 0 && id <= scene->body_count ? entity_of(scene, entities, count, (i32)id - 1) : NULL;
    if (entity == NULL) {
        return;
    }
    held->entity = id;
    search.field = entity->field;
    (void)place_of(held, &search, (i32)id - 1, 0);
    for (u32 i = 0; i < held->body_count; i++) {
        if (held->bodies[i].inverse_mass > 0.0f) { /* what hangs on what stands does not matter */
            joints_of(held, &search, i);
        }
    }
}

/* ---- positions ---- */

typedef struct Place {
    Vec3 position;
    Quat orientation;
    f32 w, turn; /* inverse mass and inertia as they count now */
} Place;

/* Of a joint as it was shown. */
typedef struct JointRest {
    bool broken;
    Vec3 gap;   /* from anchor a to anchor b, m, world */
    f32 length; /* of it */
    Quat turn;  /* b in a's frame */
    Vec3 hinge; /* what the axes are off each other */
} JointRest;

typedef struct Solve {
    const HeldJoints *held;
    Place places[HELD_BODIES_MAX + 1]; /* the last: the world */
    JointRest rests[HELD_JOINTS_MAX];
} Solve;

static Place *place_at(Solve *solve, u32 index)
{
    return &solve->places[index == HELD_WORLD ? HELD_BODIES_MAX : index];
}

static void place_turn(Place *place, Vec3 turn)
{
    f32 angle = vec3_length(turn);
    turn = angle > TURN_MAX ? vec3_scale(turn, TURN_MAX / angle) : turn;
    place->orientation = quat_normalize(quat_mul(quat_from_vector(turn), place->orientation));
}

/* Moves a point of the place, r from its middle, by an impulse along p. */
static void place_push(Place *place, Vec3 r, Vec3 p)
{
    place->position = vec3_add_scaled(place->position, place->w, p);
    if (place->turn > 0.0f) {
        place_turn(place, vec3_scale(vec3_cross(r, p), place->turn));
    }
}

static f32 yields(const Place *place, Vec3 r, Vec3 n)
{
    return place->w + place->turn * vec3_length_squared(vec3_cross(r, n));
}

/* Brings two points together that are `error` (from a to b) too far apart. */
static void points_join(Place *a, Vec3 ra, Place *b, Vec3 rb, Vec3 error)
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

/* Turns both so that b turns by `error` against a, in all. */
static void turns_join(Place *a, Place *b, Vec3 error)
{
    f32 sum = a->turn + b->turn;
    if (sum > 0.0f) {
        place_turn(a, vec3_scale(error, -a->turn / sum));
        place_turn(b, vec3_scale(error, b->turn / sum));
    }
}

static Vec3 hinge_off(const HeldJoint *joint, const Place *a, const Place *b)
{
    Vec3 x = vec3(1.0f, 0.0f, 0.0f);
    return vec3_cross(quat_rotate(quat_mul(b->orientation, joint->frame_b), x),
                      quat_rotate(quat_mul(a->orientation, joint->frame_a), x));
}

static void joint_turn(const HeldJoint *joint, const JointRest *rest, Place *a, Place *b)
{
    if (joint->kind == JOINT_FIXED || joint->kind == JOINT_SLIDER) {
        Quat wanted = quat_mul(a->orientation, rest->turn);
        turns_join(a, b, quat_to_vector(quat_mul(wanted, quat_conjugate(b->orientation))));
    } else if (joint->kind == JOINT_HINGE) {
        turns_join(a, b, vec3_sub(hinge_off(joint, a, b), rest->hinge));
    }
}

static void joint_solve(Solve *solve, u32 index)
{
    const HeldJoint *joint = &solve->held->joints[index];
    const JointRest *rest = &solve->rests[index];
    Place *a = place_at(solve, joint->a), *b = place_at(solve, joint->b);
    if (rest->broken) {
        return;
    }
    joint_turn(joint, rest, a, b);
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

static void rest_note(Solve *solve, u32 index)
{
    const HeldJoint *joint = &solve->held->joints[index];
    JointRest *rest = &solve->rests[index];
    const Place *a = place_at(solve, joint->a), *b = place_at(solve, joint->b);
    Vec3 from = vec3_add(a->position, quat_rotate(a->orientation, joint->anchor_a));
    Vec3 to = vec3_add(b->position, quat_rotate(b->orientation, joint->anchor_b));
    bool free = joint->kind == JOINT_DISTANCE || joint->kind == JOINT_SLIDER;
    rest->gap = vec3_sub(to, from);
    rest->length = vec3_length(rest->gap);
    rest->broken = !free && rest->length > BROKEN_M;
    rest->turn = quat_mul(quat_conjugate(a->orientation), b->orientation);
    rest->hinge = hinge_off(joint, a, b);
}

static void solve_begin(Solve *solve, const HeldJoints *held, const ShownPose *poses)
{
    memset(solve->places, 0, sizeof solve->places);
    solve->held = held;
    solve->places[HELD_BODIES_MAX].orientation = quat_identity();
    for (u32 i = 0; i < held->body_count; i++) {
        const ShownPose *pose = &poses[held->bodies[i].element];
        bool moves = (pose->flags & POSE_LIVE) != 0 && (pose->flags & POSE_STATIC) == 0;
        f32 light = moves ? powf(HEAVIER, f32_min((f32)held->bodies[i].depth, 12.0f)) : 0.0f;
        solve->places[i] =
            (Place){pose->position, pose->orientation, held->bodies[i].inverse_mass * light,
                    held->bodies[i].inverse_inertia * light};
    }
    for (u32 i = 0; i < held->joint_count; i++) {
        rest_note(solve, i);
    }
}

static void hand_pull(Solve *solve, Vec3 local, Vec3 target)
{
    Place *held = &solve->places[0], hand = {.orientation = quat_identity()};
    Vec3 r = quat_rotate(held->orientation, local);
    points_join(held, r, &hand, vec3_zero(), vec3_sub(target, vec3_add(held->position, r)));
}

Vec3 held_joints_show(const HeldJoints *held, Vec3 local, Vec3 offset, ShownPose *poses,
                      u32 capacity)
{
    for (u32 i = 0; i < held->body_count; i++) {
        CHECK(held->bodies[i].element < capacity);
    }
    Solve solve;
    solve_begin(&solve, held, poses);
    Place *first = &solve.places[0];
    Vec3 from = vec3_add(first->position, quat_rotate(first->orientation, local));
    u32 steps = u32_min(1 + (u32)(vec3_length(offset) / STEP_M), STEPS_MAX);
    for (u32 step = 1; step <= steps; step++) {
        Vec3 target = vec3_add_scaled(from, (f32)step / (f32)steps, offset);
        for (u32 sweep = 0; sweep < (step < steps ? SWEEPS : SWEEPS_LAST); sweep++) {
            hand_pull(&solve, local, target);
            for (u32 i = 0; i < held->joint_count; i++) {
                joint_solve(&solve, i);
            }
        }
    }
    /* What stands wins: now by the true masses, there and back. */
    for (u32 i = 0; i < held->body_count && held->stands; i++) {
        bool moves = solve.places[i].w > 0.0f;
        solve.places[i].w = moves ? held->bodies[i].inverse_mass : 0.0f;
        solve.places[i].turn = moves ? held->bodies[i].inverse_inertia : 0.0f;
    }
    for (u32 sweep = 0; sweep < 2 * SWEEPS_LAST && held->stands; sweep++) {
        for (u32 i = 0; i < held->joint_count; i++) {
            joint_solve(&solve, sweep % 2 == 0 ? held->joint_count - 1 - i : i);
        }
    }
    for (u32 i = 0; i < held->body_count; i++) {
        ShownPose *pose = &poses[held->bodies[i].element];
        if (solve.places[i].w > 0.0f) {
            pose->position = solve.places[i].position;
            pose->orientation = solve.places[i].orientation;
        }
    }
    return vec3_add(first->position, quat_rotate(first->orientation, local));
}
