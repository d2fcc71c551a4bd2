/* hand.c: grabs, targets, pushes: inputs made from what is shown. */
#include "client/hand/hand.h"

#include "client/link/timeline.h"

#include <math.h>
#include <string.h>

#define REACH_MAX_M 1000.0f

void hand_init(Hand *hand, Connection *connection)
{
    memset(hand, 0, sizeof *hand);
    hand->connection = connection;
}

/* The tick on screen, which the server judges a pick by. */
static void input_seen(Connection *connection, Input *input)
{
    f64 tick = timeline_tick(connection_timeline(connection));
    f64 base = floor(fmin(fmax(tick, 0.0), 4294967295.0));
    input->seen_base = (u32)base;
    input->seen_tick = (f32)fmin(fmax(tick - base, 0.0), 1.0);
}

/* World point of an entity's element now; false if nothing of it arrived. */
static bool entity_point(Connection *connection, const Entity *entity, u32 element, Vec3 local,
                         Vec3 *point)
{
    const Timeline *timeline = connection_timeline(connection);
    if (timeline == NULL || element >= entity->count) {
        return false;
    }
    ShownPose pose;
    ShownPoint shown;
    if (timeline_pose(timeline, entity->field, entity->first + element, &pose)) {
        *point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
        return (pose.flags & POSE_LIVE) != 0;
    }
    if (timeline_point(timeline, entity->field, entity->first + element, &shown)) {
        *point = shown.position;
        return shown.generation != 0;
    }
    return false;
}

static bool grab(Hand *hand, const Entity *entity, u32 element, Vec3 local, Vec3 point, Ray ray)
{
    if (entity == NULL || !entity->movable) {
        return false;
    }
    Input input = {.kind = INPUT_GRAB, .entity = entity->id, .element = element, .local = local};
    input.ray = ray;
    input_seen(hand->connection, &input);
    if (connection_input(hand->connection, &input) == 0) {
        return false;
    }
    hand->holds = entity->id;
    hand->element = element;
    hand->local = local;
    hand->target = point;
    hand->distance = vec3_distance(ray.origin, point);
    return true;
}

bool hand_grab_ray(Hand *hand, Ray ray)
{
    Pick pick;
    if (!pick_ray(hand->connection, ray, REACH_MAX_M, &pick)) {
        return false;
    }
    const Entity *entity = connection_entity(hand->connection, pick.entity);
    return grab(hand, entity, pick.element, pick.local, pick.point, ray);
}

bool hand_grab_entity(Hand *hand, u32 id)
{
    const Entity *entity = connection_entity(hand->connection, id);
    Vec3 point;
    if (entity == NULL || !entity_point(hand->connection, entity, 0, vec3_zero(), &point)) {
        return false;
    }
    /* A ray that starts inside a body hits where it starts: the centre. */
    Ray inside = {point, vec3(0.0f, -1.0f, 0.0f)};
    return grab(hand, entity, 0, vec3_zero(), point, inside);
}

void hand_move(Hand *hand, Vec3 target)
{
    if (hand->holds == 0 || !vec3_is_finite(target)) {
        return;
    }
    hand->target = target;
    Input input = {.kind = INPUT_MOVE, .target = target};
    connection_input(hand->connection, &input);
}

void hand_release(Hand *hand)
{
    if (hand->holds != 0) {
        Input input = {.kind = INPUT_RELEASE};
        connection_input(hand->connection, &input);
        hand->holds = 0;
    }
}

void hand_push(Hand *hand, const Pick *pick, Vec3 impulse)
{
    Input input = {.kind = INPUT_PUSH,
                   .entity = pick->entity,
                   .element = pick->element,
                   .local = pick->local,
                   .vector = impulse};
    if (connection_timeline(hand->connection) != NULL) {
        input_seen(hand->connection, &input);
        connection_input(hand->connection, &input);
    }
}

bool hand_point(const Hand *hand, Vec3 *point)
{
    const Entity *entity =
        hand->holds != 0 ? connection_entity(hand->connection, hand->holds) : NULL;
    return entity != NULL &&
           entity_point(hand->connection, entity, hand->element, hand->local, point);
}
