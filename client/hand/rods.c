/* rods.c: marks of joints and sensors. */
#include "client/hand/rods.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEARCHES_MAX = 1024
};
#define ROD_COLOR    0x3A3F45u
#define SENSOR_COLOR 0x5AB9EAu

/* ---- marks ---- */

void mark_list_finish(MarkList *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

void mark_list_put(MarkList *list, const Mark *mark)
{
    if (list->count == list->capacity) {
        u32 capacity = u32_max(2 * list->capacity, 1024);
        Mark *grown = realloc(list->items, capacity * sizeof *grown);
        if (!grown) {
            return;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = *mark;
}

void mark_list_add(MarkList *list, Vec3 from, Vec3 to, u32 color, f32 radius_px, bool on_top)
{
    Mark mark = {.from = from, .to = to, .radius_px = radius_px, .on_top = on_top};
    for (u32 i = 0; i < 3; i++) {
        f32 c = (f32)(color >> (16 - 8 * i) & 255) / 255.0f;
        mark.color[i] = c * c; /* approximately linear */
    }
    mark.color[3] = 1.0f;
    mark_list_put(list, &mark);
}

void mark_list_box(MarkList *list, Vec3 low, Vec3 high, u32 color)
{
    for (u32 edge = 0; edge < 12; edge++) {
        u32 axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
        f32 l[3] = {low.x, low.y, low.z}, h[3] = {high.x, high.y, high.z}, from[3], to[3];
        from[u] = to[u] = edge & 1 ? h[u] : l[u];
        from[v] = to[v] = edge & 2 ? h[v] : l[v];
        from[axis] = l[axis];
        to[axis] = h[axis];
        mark_list_add(list, vec3(from[0], from[1], from[2]), vec3(to[0], to[1], to[2]), color, 1.2f,
                      false);
    }
}

/* ---- which entities ---- */

static const Entity *entity_of(const RodsWorld *world, u32 id)
{
    u32 low = 0, high = world->entity_count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (world->entities[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = id != 0 && low < world->entity_count && world->entities[low].id == id;
    return found ? &world->entities[low] : NULL;
}

/* The entity of a scene's body. Initially bodies and entities have the same order, so the
 * expected index is tried first; the server's world may have changed since, but hostile input
 * must not cause unbounded searches. */
static u32 find_body(const RodsWorld *world, i32 body, u32 *searches)
{
    const char *name = world->scene->bodies[body].name;
    if ((u32)body < world->entity_count && strcmp(world->entities[body].name, name) == 0) {
        return world->entities[body].id;
    }
    if (*searches == 0) {
        return 0;
    }
    (*searches)--;
    for (u32 i = 0; i < world->entity_count; i++) {
        if (strcmp(world->entities[i].name, name) == 0) {
            return world->entities[i].id;
        }
    }
    return 0;
}

/* Finds the entity ids of joint ends when the entities change. */
static bool find_ends(Rods *rods, const RodsWorld *world)
{
    const Scene *scene = world->scene;
    if (rods->ends && rods->ends_version == world->entity_version &&
        rods->ends_world == world->world) {
        return true;
    }
    rods_finish(rods);
    rods->ends = malloc((scene->joint_count + 1) * sizeof *rods->ends);
    rods->whole = malloc((scene->joint_count + 1) * sizeof *rods->whole);
    if (!rods->ends || !rods->whole) {
        rods_finish(rods);
        return false;
    }
    u32 searches = SEARCHES_MAX;
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        const i32 bodies[2] = {joint->a, joint->b};
        for (u32 k = 0; k < 2; k++) {
            bool drawn = joint->kind == JOINT_DISTANCE || joint->kind == JOINT_SPRING;
            rods->ends[i][k] = drawn && bodies[k] >= 0 ? find_body(world, bodies[k], &searches) : 0;
        }
    }
    rods->end_count = scene->joint_count;
    rods->ends_version = world->entity_version;
    rods->ends_world = world->world;
    return true;
}

void rods_finish(Rods *rods)
{
    free(rods->ends);
    free(rods->whole);
    memset(rods, 0, sizeof *rods);
}

/* ---- rods, springs, sensors ---- */

/* Shown position of the anchor; false: its body is gone. */
static bool end_of(const RodsWorld *world, u32 id, i32 body, Vec3 local, Vec3 *point)
{
    *point = local;
    if (body < 0) {
        return true;
    }
    const Entity *entity = entity_of(world, id);
    ShownPose pose;
    if (!entity || !world->pose(world->context, entity->field, entity->first, &pose)) {
        return false;
    }
    *point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
    return (pose.flags & POSE_LIVE) != 0;
}

static void add_coil(MarkList *marks, Vec3 from, Vec3 to)
{
    enum {
        TURNS = 8
    };
    Vec3 way = vec3_sub(to, from);
    Vec3 along = vec3_normalize_or(way, vec3(0.0f, 1.0f, 0.0f));
    Vec3 other = fabsf(along.y) < 0.9f ? vec3(0.0f, 1.0f, 0.0f) : vec3(1.0f, 0.0f, 0.0f);
    Vec3 side = vec3_scale(vec3_normalize_or(vec3_cross(along, other), other), 0.08f);
    Vec3 before = from;
    for (u32 i = 0; i <= 2 * TURNS; i++) {
        Vec3 at = vec3_add_scaled(from, ((f32)i + 0.5f) / (2 * TURNS + 1), way);
        at = i % 2 ? vec3_add(at, side) : vec3_sub(at, side);
        mark_list_add(marks, before, at, ROD_COLOR, 2.5f, false);
        before = at;
    }
    mark_list_add(marks, before, to, ROD_COLOR, 2.5f, false);
}

/* Sensors are invisible otherwise. */
static void add_sensors(const RodsWorld *world, MarkList *marks)
{
    u32 searches = 16;
    for (u32 i = 0; i < world->scene->body_count; i++) {
        const SceneBody *body = &world->scene->bodies[i];
        if (!body->sensor || body->shape.kind == SHAPE_PLANE) {
            continue;
        }
        const Entity *entity = entity_of(world, find_body(world, (i32)i, &searches));
        ShownPose pose;
        if (entity && world->pose(world->context, entity->field, entity->first, &pose)) {
            Bounds bounds = shape_bounds(&body->shape, pose.position, pose.orientation);
            mark_list_box(marks, bounds.min, bounds.max, SENSOR_COLOR);
        }
    }
}

void rods_scalars(const RodsWorld *world, const char *name, u32 count, f32 *values)
{
    for (u32 i = 0; i < count; i++) {
        values[i] = 1.0f;
    }
    for (u32 f = 0; f < world->fields->count; f++) {
        const FieldDesc *field = &world->fields->fields[f];
        if (field->kind == FIELD_SCALARS && field->capacity == count &&
            strcmp(field->name, name) == 0) {
            world->scalars(world->context, f, values);
        }
    }
}

static void add_rods(Rods *rods, const RodsWorld *world, MarkList *marks)
{
    const Scene *scene = world->scene;
    if (scene->joint_count == 0 || !find_ends(rods, world)) {
        return;
    }
    rods_scalars(world, "joints", scene->joint_count, rods->whole);
    for (u32 i = 0; i < rods->end_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        bool rod = joint->kind == JOINT_DISTANCE;
        Vec3 a, b;
        if ((!rod && joint->kind != JOINT_SPRING) || rods->whole[i] < 0.5f ||
            !end_of(world, rods->ends[i][0], joint->a, joint->anchor_a, &a) ||
            !end_of(world, rods->ends[i][1], joint->b, joint->anchor_b, &b)) {
            continue;
        }
        if (rod) {
            mark_list_add(marks, a, b, ROD_COLOR, 2.5f, false);
        } else {
            add_coil(marks, a, b);
        }
    }
}

void rods_collect(Rods *rods, const RodsWorld *world, MarkList *marks)
{
    add_rods(rods, world, marks);
    add_sensors(world, marks);
}
