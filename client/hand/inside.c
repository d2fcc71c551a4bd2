/*
 * inside.c: joints of the scene and the server's pictures of its inside as marks, islands and sleep
 * as tints.
 */
#include "client/hand/inside.h"

#include "client/link/timeline.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEARCHES_MAX = 1024
};
#define TINT_ASLEEP 0xFF59636Eu

static const struct {
    const char *name;
    u32 bit;
} words[] = {{"contacts", DEBUG_CONTACTS}, {"joints", DEBUG_JOINTS}, {"islands", DEBUG_ISLANDS},
             {"boxes", DEBUG_BOXES},       {"sleep", INSIDE_SLEEP},  {"all", INSIDE_ALL}};

void inside_init(Inside *inside, Connection *connection)
{
    memset(inside, 0, sizeof *inside);
    inside->connection = connection;
}

void inside_finish(Inside *inside)
{
    free(inside->marks);
    free(inside->tints);
    free(inside->ends);
    free(inside->whole);
    memset(inside, 0, sizeof *inside);
}

void inside_show(Inside *inside, u32 show)
{
    inside->show = show;
    connection_watch(inside->connection, show & DEBUG_ALL);
}

bool inside_parse(const char *text, u32 *show)
{
    *show = 0;
    while (*text != 0) {
        size_t length = strcspn(text, ",");
        u32 bit = 0;
        for (u32 i = 0; i < PL_COUNT(words); i++) {
            if (strlen(words[i].name) == length && memcmp(words[i].name, text, length) == 0) {
                bit = words[i].bit;
            }
        }
        if (bit == 0) {
            return false;
        }
        *show |= bit;
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return true;
}

const char *inside_name(u32 bit)
{
    for (u32 i = 0; i < PL_COUNT(words); i++) {
        if (words[i].bit == bit) {
            return words[i].name;
        }
    }
    return "";
}

/* ---- marks ---- */

static void add(Inside *inside, Vec3 from, Vec3 to, u32 color, f32 radius_px, bool on_top)
{
    if (inside->mark_count == inside->mark_room) {
        u32 room = u32_max(2 * inside->mark_room, 1024);
        Mark *grown = realloc(inside->marks, room * sizeof *grown);
        if (!grown) {
            return;
        }
        inside->marks = grown;
        inside->mark_room = room;
    }
    Mark *mark = &inside->marks[inside->mark_count++];
    mark->from = from;
    mark->to = to;
    for (u32 i = 0; i < 3; i++) {
        f32 c = (f32)(color >> (16 - 8 * i) & 255) / 255.0f;
        mark->color[i] = c * c; /* near enough to linear */
    }
    mark->color[3] = 1.0f;
    mark->radius_px = radius_px;
    mark->on_top = on_top;
}

static void add_box(Inside *inside, Vec3 low, Vec3 high, u32 color)
{
    for (u32 edge = 0; edge < 12; edge++) {
        u32 axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
        f32 l[3] = {low.x, low.y, low.z}, h[3] = {high.x, high.y, high.z}, from[3], to[3];
        from[u] = to[u] = edge & 1 ? h[u] : l[u];
        from[v] = to[v] = edge & 2 ? h[v] : l[v];
        from[axis] = l[axis];
        to[axis] = h[axis];
        add(inside, vec3(from[0], from[1], from[2]), vec3(to[0], to[1], to[2]), color, 1.2f, false);
    }
}

static void add_line(Inside *inside, const DebugLine *line)
{
    static const u32 axes[3] = {0xE5484D, 0x46A758, 0x3E7BFA};
    switch ((DebugLineKind)line->kind) {
    case DEBUG_LINE_CONTACT:
        add(inside, line->from, line->to, 0xFFB224, 2.0f, true);
        add(inside, line->from, line->from, 0xE5484D, 3.0f, true);
        break;
    case DEBUG_LINE_AXIS_X:
    case DEBUG_LINE_AXIS_Y:
    case DEBUG_LINE_AXIS_Z:
        add(inside, line->from, line->to, axes[line->kind - DEBUG_LINE_AXIS_X], 2.5f, true);
        break;
    case DEBUG_LINE_APART:
        add(inside, line->from, line->to, 0xD6409F, 2.5f, true);
        break;
    case DEBUG_LINE_BOX:
        add_box(inside, line->from, line->to, 0x2FA8A0);
        break;
    case DEBUG_LINE_KIND_COUNT:
        break;
    }
}

/* ---- rods and springs ---- */

/* The entity of a scene's body. As built, bodies and entities are in the same order, so that the
 * name is looked for there first; the server's world may have grown since, but a stranger's may not
 * make us search without end. */
static u32 find_body(const Inside *inside, const Scene *scene, i32 body, u32 *searches)
{
    u32 count;
    const Entity *entities = connection_entities(inside->connection, &count, NULL);
    const char *name = scene->bodies[body].name;
    if ((u32)body < count && strcmp(entities[body].name, name) == 0) {
        return entities[body].id;
    }
    if (*searches == 0) {
        return 0;
    }
    (*searches)--;
    const Entity *entity = connection_entity_named(inside->connection, name);
    return entity ? entity->id : 0;
}

/* Ids of what the joints join, looked up when the entities change. */
static bool find_ends(Inside *inside, const Scene *scene)
{
    u64 version;
    u32 count;
    connection_entities(inside->connection, &count, &version);
    u32 world = connection_worlds(inside->connection);
    if (inside->ends && inside->ends_version == version && inside->ends_world == world) {
        return true;
    }
    free(inside->ends);
    free(inside->whole);
    inside->end_count = 0;
    inside->ends = malloc((scene->joint_count > 0 ? scene->joint_count : 1) * sizeof *inside->ends);
    inside->whole = malloc((scene->joint_count + 1) * sizeof *inside->whole);
    if (!inside->ends || !inside->whole) {
        free(inside->ends);
        inside->ends = NULL;
        return false;
    }
    u32 searches = SEARCHES_MAX;
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        const i32 bodies[2] = {joint->a, joint->b};
        for (u32 k = 0; k < 2; k++) {
            bool drawn = joint->kind == JOINT_DISTANCE || joint->kind == JOINT_SPRING;
            inside->ends[i][k] =
                drawn && bodies[k] >= 0 ? find_body(inside, scene, bodies[k], &searches) : 0;
        }
    }
    inside->end_count = scene->joint_count;
    inside->ends_version = version;
    inside->ends_world = world;
    return true;
}

/* Where the anchor is shown; false: its body is gone. */
static bool end_of(const Inside *inside, u32 id, i32 body, Vec3 local, Vec3 *point)
{
    *point = local;
    if (body < 0) {
        return true;
    }
    const Entity *entity = id ? connection_entity(inside->connection, id) : NULL;
    ShownPose pose;
    if (!entity || !timeline_pose(connection_timeline(inside->connection), entity->field,
                                  entity->first, &pose)) {
        return false;
    }
    *point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
    return (pose.flags & POSE_LIVE) != 0;
}

static void add_coil(Inside *inside, Vec3 from, Vec3 to)
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
        add(inside, before, at, 0x3A3F45, 2.5f, false);
        before = at;
    }
    add(inside, before, to, 0x3A3F45, 2.5f, false);
}

/* Sensors cannot be seen otherwise. */
static void add_sensors(Inside *inside, const Scene *scene)
{
    u32 searches = 16;
    for (u32 i = 0; i < scene->body_count; i++) {
        const SceneBody *body = &scene->bodies[i];
        if (!body->sensor || body->shape.kind == SHAPE_PLANE) {
            continue;
        }
        u32 id = find_body(inside, scene, (i32)i, &searches);
        const Entity *entity = id ? connection_entity(inside->connection, id) : NULL;
        ShownPose pose;
        if (entity && timeline_pose(connection_timeline(inside->connection), entity->field,
                                    entity->first, &pose)) {
            Bounds bounds = shape_bounds(&body->shape, pose.position, pose.orientation);
            add_box(inside, bounds.min, bounds.max, 0x5AB9EA);
        }
    }
}

/* What a field of scalars says at the time that is shown of each of `count` things of the scene: 1
 * where nothing is known. */
static void find_scalars(const Inside *inside, const char *name, u32 count, f32 *values)
{
    const FieldSet *fields = connection_fields(inside->connection);
    for (u32 i = 0; i < count; i++) {
        values[i] = 1.0f;
    }
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (field->kind == FIELD_SCALARS && field->capacity == count &&
            strcmp(field->name, name) == 0) {
            timeline_scalars(connection_timeline(inside->connection), f, values);
        }
    }
}

static void add_rods(Inside *inside, const Scene *scene)
{
    if (scene->joint_count == 0 || !find_ends(inside, scene)) {
        return;
    }
    find_scalars(inside, "joints", scene->joint_count, inside->whole);
    for (u32 i = 0; i < inside->end_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        bool rod = joint->kind == JOINT_DISTANCE;
        Vec3 a, b;
        if ((!rod && joint->kind != JOINT_SPRING) || inside->whole[i] < 0.5f ||
            !end_of(inside, inside->ends[i][0], joint->a, joint->anchor_a, &a) ||
            !end_of(inside, inside->ends[i][1], joint->b, joint->anchor_b, &b)) {
            continue;
        }
        if (rod) {
            add(inside, a, b, 0x3A3F45, 2.5f, false);
        } else {
            add_coil(inside, a, b);
        }
    }
}

/* ---- tints ---- */

/* Colours that differ from number to number: steps of the golden ratio around the hues. */
static u32 island_tint(u32 island)
{
    f32 hue = 6.0f * ((f32)(island * 40503u % 65536u) / 65536.0f);
    u32 color = 0;
    for (u32 i = 0; i < 3; i++) {
        f32 away = fabsf(fmodf(hue + 6.0f - 2.0f * (f32)i, 6.0f) - 3.0f) - 1.0f;
        u32 level = 60 + (u32)(170.0f * f32_clamp(away, 0.0f, 1.0f));
        color |= level << (16 - 8 * i);
    }
    return 0xFF000000u | color;
}

static u32 index_of(const Entity *entities, u32 count, u32 id)
{
    u32 low = 0, high = count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (entities[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void tint_asleep(Inside *inside, const Entity *entities, u32 count)
{
    const Timeline *timeline = connection_timeline(inside->connection);
    const FieldSet *fields = connection_fields(inside->connection);
    for (u32 i = 0; i < count; i++) {
        ShownPose pose;
        bool body = fields->fields[entities[i].field].kind == FIELD_POSES;
        if (body && entities[i].movable &&
            timeline_pose(timeline, entities[i].field, entities[i].first, &pose) &&
            (pose.flags & POSE_AWAKE) == 0) {
            inside->tints[i] = TINT_ASLEEP;
        }
    }
}

/* As built, the entities of soft bodies come right after those of the bodies. */
static void tint_softs_asleep(Inside *inside, const Entity *entities, u32 count)
{
    const Scene *scene = connection_scene(inside->connection);
    f32 *awake = malloc((scene->soft_count + 1) * sizeof *awake);
    if (awake == NULL) {
        return;
    }
    find_scalars(inside, "softs", scene->soft_count, awake);
    for (u32 i = 0; i < scene->soft_count; i++) {
        u32 id = scene->body_count + i + 1, index = index_of(entities, count, id);
        if (awake[i] < 0.5f && index < count && entities[index].id == id &&
            strcmp(entities[index].name, scene->softs[i].name) == 0) {
            inside->tints[index] = TINT_ASLEEP;
        }
    }
    free(awake);
}

static void collect_tints(Inside *inside, const DebugPicture *picture)
{
    u32 count;
    const Entity *entities = connection_entities(inside->connection, &count, NULL);
    inside->tint_count = 0;
    if ((inside->show & (DEBUG_ISLANDS | INSIDE_SLEEP)) == 0) {
        return;
    }
    if (count > inside->tint_room) {
        u32 *grown = realloc(inside->tints, count * sizeof *grown);
        if (!grown) {
            return;
        }
        inside->tints = grown;
        inside->tint_room = count;
    }
    memset(inside->tints, 0, count * sizeof *inside->tints);
    inside->tint_count = count;
    if (picture && (inside->show & DEBUG_ISLANDS)) {
        for (u32 i = 0; i < picture->island_count; i++) {
            u32 index = index_of(entities, count, picture->islands[i].entity);
            if (index < count && entities[index].id == picture->islands[i].entity) {
                inside->tints[index] = island_tint(picture->islands[i].island);
            }
        }
    }
    if (inside->show & INSIDE_SLEEP) {
        tint_asleep(inside, entities, count);
        tint_softs_asleep(inside, entities, count);
    }
}

void inside_collect(Inside *inside, const Mark *marks, u32 mark_count)
{
    inside->mark_count = inside->tint_count = 0;
    const Scene *scene = connection_scene(inside->connection);
    if (!scene || !connection_timeline(inside->connection)) {
        return;
    }
    add_rods(inside, scene);
    add_sensors(inside, scene);
    const DebugPicture *picture =
        inside->show & DEBUG_ALL ? connection_debug(inside->connection) : NULL;
    for (u32 i = 0; picture && i < picture->line_count; i++) {
        add_line(inside, &picture->lines[i]);
    }
    collect_tints(inside, picture);
    for (u32 i = 0; i < mark_count; i++) {
        add(inside, marks[i].from, marks[i].to, 0, marks[i].radius_px, marks[i].on_top);
        if (inside->mark_count > 0) {
            memcpy(inside->marks[inside->mark_count - 1].color, marks[i].color,
                   sizeof marks[i].color);
        }
    }
}
