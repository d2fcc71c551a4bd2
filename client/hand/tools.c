/*
 * tools.c: turns mouse rays into inputs, and grabs and cursors into marks.
 */
#include "client/hand/tools.h"

#include "client/link/shown.h"
#include "protocol/field/field_ops.h"

#include <string.h>

#define PICK_FAR_M         1000.0f
#define REACH_STEP         1.08f
#define SPAWN_AWAY_M       6.0f /* if the cursor hits nothing */
#define PUSH_SPEED_M_S     6.0f /* of the strongest push, before the server's limit */
#define GROUND_CLEARANCE_M 0.02f
#define FLOOR_NORMAL_Y     0.5f /* steeper surfaces are walls */

static const f32 own_color[4] = {1.0f, 0.62f, 0.12f, 1.0f};

void tools_init(Tools *tools, Connection *connection)
{
    memset(tools, 0, sizeof *tools);
    tools->connection = connection;
    hand_init(&tools->hand, connection);
}

void tools_hover(Tools *tools, Ray ray)
{
    Pick pick;
    memset(&pick, 0, sizeof pick);
    if (!pick_ray(tools->connection, ray, PICK_FAR_M, &pick)) {
        pick.entity = 0;
    }
    tools->hover = pick;
}

static Vec3 camera_forward(const Camera *camera)
{
    return vec3_normalize_or(vec3_sub(camera->target, camera->eye), vec3(0.0f, 0.0f, -1.0f));
}

bool tools_grab(Tools *tools, const Camera *camera, Ray ray)
{
    if (!hand_grab_ray(&tools->hand, ray)) {
        return false;
    }
    Vec3 to = vec3_sub(tools->hand.target, camera->eye);
    tools->depth_m = f32_max(vec3_dot(to, camera_forward(camera)), 0.1f);
    tools->dragging = true;
    return true;
}

void tools_drag(Tools *tools, const Camera *camera, Ray ray)
{
    if (!tools->dragging || tools->hand.grabbed == 0) {
        return;
    }
    f32 along = vec3_dot(ray.direction, camera_forward(camera));
    if (along > 0.05f) {
        Vec3 target = vec3_add_scaled(ray.origin, tools->depth_m / along, ray.direction);
        hand_move(&tools->hand, target);
    }
}

void tools_reach(Tools *tools, f32 clicks)
{
    tools->depth_m = f32_clamp(tools->depth_m * powf(REACH_STEP, clicks), 0.3f, 500.0f);
}

void tools_release(Tools *tools)
{
    if (tools->dragging) {
        hand_release(&tools->hand);
        tools->dragging = false;
    }
}

bool tools_push(Tools *tools, Ray ray, f32 strength)
{
    Pick pick;
    if (!pick_ray(tools->connection, ray, PICK_FAR_M, &pick) || pick.entity == 0) {
        return false;
    }
    const Entity *entity = connection_entity(tools->connection, pick.entity);
    if (!entity || !entity->movable) {
        return false;
    }
    const Scene *scene = connection_scene(tools->connection);
    /* A speed rather than an impulse, so that light and heavy objects both respond. */
    f32 impulse =
        f32_max(entity->mass_kg, 0.05f) * PUSH_SPEED_M_S * f32_clamp(strength, 0.1f, 1.0f);
    impulse = scene ? f32_min(impulse, scene->hands.impulse_max) : impulse;
    hand_push(&tools->hand, &pick, vec3_scale(ray.direction, impulse));
    return true;
}

bool tools_spawn(Tools *tools, Ray ray)
{
    const Scene *scene = connection_scene(tools->connection);
    if (!scene || tools->prefab >= scene->prefab_count) {
        return false;
    }
    f32 reach = scene_prefab_reach(scene, tools->prefab) + GROUND_CLEARANCE_M;
    Vec3 at = vec3_add_scaled(ray.origin, SPAWN_AWAY_M, ray.direction);
    Pick pick;
    if (pick_ray(tools->connection, ray, PICK_FAR_M, &pick) && pick.entity != 0) {
        at = vec3_add_scaled(pick.point, reach, pick.normal);
    }
    Input input;
    memset(&input, 0, sizeof input);
    input.kind = INPUT_SPAWN;
    input.index = tools->prefab;
    input.target = at;
    input.rotation = quat_identity();
    input.ray.direction = vec3(0.0f, 0.0f, -1.0f);
    return connection_input(tools->connection, &input) != 0;
}

bool tools_remove(Tools *tools)
{
    if (tools->hover.entity == 0) {
        return false;
    }
    Input input;
    memset(&input, 0, sizeof input);
    input.kind = INPUT_REMOVE;
    input.entity = tools->hover.entity;
    input.rotation = quat_identity();
    input.ray.direction = vec3(0.0f, 0.0f, -1.0f);
    return connection_input(tools->connection, &input) != 0;
}

bool tools_entity_place(const Tools *tools, u32 id, Vec3 *centre, f32 *radius_m)
{
    const Entity *entity = connection_entity(tools->connection, id);
    if (!entity ||
        !entity_point(tools->connection, entity, entity->count / 2, vec3_zero(), centre)) {
        return false;
    }
    const FieldDesc *field = &connection_fields(tools->connection)->fields[entity->field];
    *radius_m = 1.5f;
    if (field_ops(field->kind)->axes > 1) {
        Grid grid = shown_grid(field, NULL).grid;
        Vec3 cells = vec3((f32)grid.dims[0], (f32)grid.dims[1], (f32)grid.dims[2]);
        *radius_m = 0.5f * vec3_length(vec3_mul(cells, grid.spacing));
    } else if (entity->appearance.kind == APPEARANCE_SHAPE && entity->count == 1) {
        *radius_m = shape_reach(&entity->appearance.shape);
    }
    return true;
}

f32 tools_floor(const Tools *tools, Vec3 at)
{
    f32 height = -INFINITY;
    u32 count;
    const Entity *entities = connection_entities(tools->connection, &count, NULL);
    const Timeline *timeline = connection_timeline(tools->connection);
    Ray down = {vec3(at.x, WORLD_EXTENT_MAX_M, at.z), vec3(0.0f, -1.0f, 0.0f)};
    for (u32 i = 0; i < count; i++) {
        const Shape *shape = &entities[i].appearance.shape;
        ShownPose pose;
        f32 distance;
        Vec3 normal;
        if (entities[i].appearance.kind == APPEARANCE_SHAPE &&
            (shape->kind == SHAPE_PLANE || shape->kind == SHAPE_TERRAIN) &&
            timeline_pose(timeline, entities[i].field, entities[i].first, &pose) &&
            shape_ray(shape, pose.position, pose.orientation, down, 2.0f * WORLD_EXTENT_MAX_M,
                      &distance, &normal) &&
            normal.y > FLOOR_NORMAL_Y) {
            height = f32_max(height, down.origin.y - distance);
        }
    }
    return height;
}

static void tools_mark(Tools *tools, Vec3 from, Vec3 to, const f32 color[4], f32 radius_px)
{
    if (tools->mark_count < TOOLS_MARKS_MAX) {
        Mark *mark = &tools->marks[tools->mark_count++];
        mark->from = from;
        mark->to = to;
        memcpy(mark->color, color, sizeof mark->color);
        mark->radius_px = radius_px;
        mark->on_top = true;
    }
}

static void tools_label(Tools *tools, Vec3 at, const UserInfo *user)
{
    if (tools->label_count < TOOLS_LABELS_MAX) {
        Label *label = &tools->labels[tools->label_count++];
        label->at = at;
        memcpy(label->text, user->name, sizeof label->text);
        label->text[sizeof label->text - 1] = 0;
        label->color = user->color;
    }
}

static void tools_draw_presence(Tools *tools, const Presence *presence, const UserInfo *user)
{
    f32 color[4] = {0, 0, 0, 1};
    for (u32 i = 0; i < 3; i++) {
        f32 c = (f32)(user->color >> (16 - 8 * i) & 255) / 255.0f;
        color[i] = c * c; /* approximately linear */
    }
    const Entity *held =
        presence->grabbed ? connection_entity(tools->connection, presence->grabbed) : NULL;
    Vec3 point;
    if (held && entity_point(tools->connection, held, presence->element, presence->local, &point)) {
        tools_mark(tools, point, presence->target, color, 3.0f);
        tools_mark(tools, point, point, color, 4.0f);
        tools_mark(tools, presence->target, presence->target, color, 6.0f);
        tools_label(tools, presence->target, user);
    } else if (presence->cursor_visible) {
        tools_mark(tools, presence->cursor, presence->cursor, color, 6.0f);
        tools_label(tools, presence->cursor, user);
    }
}

void tools_draw(Tools *tools)
{
    tools->mark_count = 0;
    tools->label_count = 0;
    u32 user_count = 0, presence_count = 0;
    const UserInfo *users = connection_users(tools->connection, &user_count);
    const Presence *presences = connection_presences(tools->connection, &presence_count);
    for (u32 i = 0; i < presence_count; i++) {
        for (u32 k = 0; k < user_count; k++) {
            if (users[k].id == presences[i].user &&
                users[k].id != connection_user(tools->connection)) {
                tools_draw_presence(tools, &presences[i], &users[k]);
            }
        }
    }
    Vec3 point;
    if (tools->hand.grabbed != 0 && hand_point(&tools->hand, &point)) {
        tools_mark(tools, point, tools->hand.target, own_color, 3.0f);
        tools_mark(tools, point, point, own_color, 4.0f);
        tools_mark(tools, tools->hand.target, tools->hand.target, own_color, 6.0f);
    }
}
