/* hand.c: grabs, drags, pushes: creates inputs from the shown state. */
#include "client/hand/hand.h"

#include "client/link/curve.h"
#include "client/link/shown.h"
#include "protocol/scene/scene.h"

#include <math.h>
#include <string.h>

#define REACH_MAX_M 1000.0f
#define MOVED_M     0.01f
#define CONFIRM_S   1.0 /* timeout for the server's confirmation of a grab */

void hand_init(Hand *hand, Connection *connection)
{
    memset(hand, 0, sizeof *hand);
    hand->connection = connection;
    hand->dye = 0xE8501A; /* proposed; used once the user chooses a colour */
}

/* The tick at which the entity is shown, used by the server's lag compensation. */
static void input_seen(Connection *connection, const Entity *entity, Input *input)
{
    f64 tick = timeline_tick_of(connection_timeline(connection), entity->field, entity->first);
    f64 base = floor(fmin(fmax(tick, 0.0), 4294967295.0));
    input->seen_base = (u32)base;
    input->seen_tick = (f32)fmin(fmax(tick - base, 0.0), 1.0);
}

bool entity_point(Connection *connection, const Entity *entity, u32 element, Vec3 local,
                  Vec3 *point)
{
    const Timeline *timeline = connection_timeline(connection);
    const FieldDesc *field = &connection_fields(connection)->fields[entity->field];
    const ShownOps *ops = shown_ops(field->kind);
    return timeline != NULL && element < entity->count && ops->point != NULL &&
           ops->point(timeline, entity->field, field, entity->first + element, local, point);
}

/* Square roots of linear light, as fields of dyed smoke have them (entity.h). */
static u32 roots_of_srgb(u32 color)
{
    u32 roots = 0;
    for (u32 c = 0; c < 3; c++) {
        f32 s = (f32)(color >> (16 - 8 * c) & 0xFF) / 255.0f;
        f32 linear = s <= 0.04045f ? s / 12.92f : powf((s + 0.055f) / 1.055f, 2.4f);
        roots = roots << 8 | (u32)(sqrtf(linear) * 255.0f + 0.5f);
    }
    return roots;
}

static void send_dye(Hand *hand)
{
    Input input = {.kind = INPUT_DYE, .index = roots_of_srgb(hand->dye)};
    connection_input(hand->connection, &input);
}

static bool grab(Hand *hand, const Entity *entity, u32 element, Vec3 local, Vec3 point, Ray ray)
{
    if (entity == NULL || !entity->movable) {
        return false;
    }
    Input input = {.kind = INPUT_GRAB, .entity = entity->id, .element = element, .local = local};
    input.ray = ray;
    input_seen(hand->connection, entity, &input);
    if (connection_input(hand->connection, &input) == 0) {
        return false;
    }
    hand->grabbed = entity->id;
    hand->element = element;
    hand->local = local;
    hand->target = point;
    hand->distance = vec3_distance(ray.origin, point);
    hand->answers = 0; /* starts at the next step, which knows the time */
    if (hand->dyes && entity->dye != 0) {
        send_dye(hand);
    }
    return true;
}

void hand_dye(Hand *hand, u32 color)
{
    const Entity *entity = connection_entity(hand->connection, hand->grabbed);
    bool changed = !hand->dyes || hand->dye != color;
    hand->dyes = true;
    hand->dye = color & 0xFFFFFF;
    if (changed && entity != NULL && entity->dye != 0) {
        send_dye(hand);
    }
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
    /* A ray that starts inside a body hits at its origin: the centre. */
    Ray inside = {point, vec3(0.0f, -1.0f, 0.0f)};
    return grab(hand, entity, 0, vec3_zero(), point, inside);
}

void hand_move(Hand *hand, Vec3 target)
{
    if (hand->grabbed == 0 || !vec3_is_finite(target)) {
        return;
    }
    hand->target = target;
    Input input = {.kind = INPUT_MOVE, .target = target};
    connection_input(hand->connection, &input);
}

void hand_release(Hand *hand)
{
    if (hand->grabbed != 0) {
        Input input = {.kind = INPUT_RELEASE};
        connection_input(hand->connection, &input);
        hand->grabbed = 0;
    }
}

void hand_push(Hand *hand, const Pick *pick, Vec3 impulse)
{
    Input input = {.kind = INPUT_PUSH,
                   .entity = pick->entity,
                   .element = pick->element,
                   .local = pick->local,
                   .vector = impulse};
    const Entity *entity = connection_entity(hand->connection, pick->entity);
    if (connection_timeline(hand->connection) != NULL && entity != NULL) {
        input_seen(hand->connection, entity, &input);
        connection_input(hand->connection, &input);
    }
}

/* ---- local prediction ---- */

/* Whether the server reports this user's grab. */
static bool server_grabs(Connection *connection, u32 entity)
{
    u32 count, own = connection_user(connection);
    const Presence *presences = connection_presences(connection, &count);
    for (u32 i = 0; i < count; i++) {
        if (presences[i].user == own) {
            return presences[i].grabbed == entity;
        }
    }
    return false;
}

static DragSpring spring_of(const Hand *hand, const Entity *entity)
{
    const SceneHands *hands = &connection_scene(hand->connection)->hands;
    DragSpring spring = {hands->frequency, hands->damping,
                         hands->force_max / f32_max(entity->mass_kg, 0.01f)};
    return spring;
}

static f64 lag_of(Connection *connection)
{
    ConnectionStats stats;
    connection_stats(connection, &stats);
    f64 tick_s = 1.0 / u32_max(connection_tick_rate(connection), 1);
    f64 lag_s = 1e-3 * stats.rtt_ms + timeline_delay_s(connection_timeline(connection)) + tick_s;
    return fmin(fmax(lag_s, 0.0), 1.5);
}

static void answer_begin(Hand *hand, Vec3 server, f64 now_s)
{
    hand->answers = hand->grabbed;
    hand->answers_element = hand->element;
    hand->answers_local = hand->local;
    hand->confirmed = false;
    hand->grabbed_s = now_s;
    hand->grabbed_at = server;
    hand->away_s = 0.0;
    hand->shown_first = hand->server_first = false;
    u32 count;
    const Entity *entities = connection_entities(hand->connection, &count, NULL);
    drag_joints_find(&hand->joints, connection_scene(hand->connection), entities, count,
                     hand->answers);
    drag_drop(&hand->drag);
    drag_begin(&hand->drag, server, now_s);
}

static void stats_step(Hand *hand, Vec3 server, f64 dt, f64 now_s)
{
    HandStats *stats = &hand->stats;
    Vec3 shown = vec3_add(server, hand->drag.offset);
    stats->held_s += dt;
    stats->shown_m_s += dt * (f64)vec3_distance(shown, hand->target);
    stats->server_m_s += dt * (f64)vec3_distance(server, hand->target);
    if (hand->away_s == 0.0 && vec3_distance(hand->target, hand->grabbed_at) > MOVED_M) {
        hand->away_s = now_s;
        stats->drags++;
    }
    if (hand->away_s == 0.0) {
        return;
    }
    if (!hand->shown_first && vec3_distance(shown, hand->grabbed_at) > MOVED_M) {
        hand->shown_first = true;
        stats->shown_first_s += now_s - hand->away_s;
    }
    if (!hand->server_first && vec3_distance(server, hand->grabbed_at) > MOVED_M) {
        hand->server_first = true;
        stats->server_first_s += now_s - hand->away_s;
    }
}

/* The grab ended or was refused by the server. */
static bool is_refused(Hand *hand, f64 lag_s, f64 now_s)
{
    bool drag = server_grabs(hand->connection, hand->answers);
    bool was = hand->confirmed;
    hand->confirmed |= drag;
    return !drag && (was || now_s - hand->grabbed_s > lag_s + CONFIRM_S);
}

void hand_step(Hand *hand, u64 now_ns)
{
    f64 now_s = (f64)now_ns * 1e-9;
    bool is_new = hand->grabbed != 0 && hand->answers == 0;
    u32 id = is_new ? hand->grabbed : hand->answers;
    const Entity *entity = id != 0 ? connection_entity(hand->connection, id) : NULL;
    Vec3 server;
    if (entity == NULL || connection_scene(hand->connection) == NULL ||
        !entity_point(hand->connection, entity, is_new ? hand->element : hand->answers_element,
                      is_new ? hand->local : hand->answers_local, &server)) {
        drag_drop(&hand->drag);
        hand->answers = 0;
        return;
    }
    f64 lag_s = lag_of(hand->connection);
    hand->stats.lag_s = lag_s;
    if (is_new) {
        answer_begin(hand, server, now_s);
    }
    if (hand->drag.holding && (hand->grabbed != hand->answers || is_refused(hand, lag_s, now_s))) {
        drag_release(&hand->drag, lag_s);
    }
    f64 dt = now_s - hand->drag.now_s;
    drag_step(&hand->drag, spring_of(hand, entity), hand->target, server, lag_s, now_s);
    /* A cell of a grid does not move: a hand changes its value by an amount that only the solver
     * knows. There is no motion to predict; nor for matter that flows around a hand. */
    u8 kind = connection_fields(hand->connection)->fields[entity->field].kind;
    bool follows = curve_has_motion(kind) && !appearance_is_loose(&entity->appearance);
    hand->drawn = follows ? hand->drag.offset : vec3_zero();
    if (hand->drag.holding && dt > 0) {
        stats_step(hand, server, dt, now_s);
    } else if (!hand->drag.holding && hand->grabbed == 0 &&
               vec3_length_squared(hand->drag.offset) == 0.0f) {
        hand->answers = 0;
    }
}

/* The predicted entity, if it is in the field. */
static const Entity *answering(const Hand *hand, u32 field, u8 kind)
{
    const FieldSet *fields = connection_fields(hand->connection);
    const Entity *entity = hand->answers != 0 && vec3_length_squared(hand->drag.offset) > 0.0f
                               ? connection_entity(hand->connection, hand->answers)
                               : NULL;
    bool here = entity != NULL && entity->field == field && field < fields->count &&
                fields->fields[field].kind == kind && hand->answers_element < entity->count &&
                (u64)entity->first + entity->count <= fields->fields[field].capacity;
    return here ? entity : NULL;
}

void hand_show_poses(Hand *hand, u32 field, ShownPose *poses)
{
    const Entity *entity = answering(hand, field, FIELD_POSES);
    if (entity == NULL) {
        return;
    }
    ShownPose *pose = &poses[entity->first + hand->answers_element];
    if (hand->joints.entity != entity->id || hand->joints.joint_count == 0) {
        pose->position = vec3_add(pose->position, hand->drag.offset);
        return;
    }
    u32 capacity = connection_fields(hand->connection)->fields[field].capacity;
    Vec3 r = quat_rotate(pose->orientation, hand->answers_local);
    Vec3 was = vec3_add(pose->position, r);
    Vec3 is =
        drag_joints_show(&hand->joints, hand->answers_local, hand->drag.offset, poses, capacity);
    hand->drawn = vec3_sub(is, was);
}

void hand_show_points(const Hand *hand, u32 field, ShownPoint *points)
{
    const Entity *entity = answering(hand, field, FIELD_POINTS);
    if (entity == NULL || appearance_is_loose(&entity->appearance)) {
        return;
    }
    Vec3 at = points[entity->first + hand->answers_element].position;
    for (u32 i = 0; i < entity->count; i++) {
        Vec3 *p = &points[entity->first + i].position;
        f32 share = drag_share(hand->drag.offset, vec3_distance(*p, at));
        *p = vec3_add_scaled(*p, share, hand->drag.offset);
    }
}

bool hand_point(const Hand *hand, Vec3 *point)
{
    const Entity *entity =
        hand->grabbed != 0 ? connection_entity(hand->connection, hand->grabbed) : NULL;
    if (entity == NULL ||
        !entity_point(hand->connection, entity, hand->element, hand->local, point)) {
        return false;
    }
    if (hand->answers == hand->grabbed) {
        *point = vec3_add(*point, hand->drawn);
    }
    return true;
}
