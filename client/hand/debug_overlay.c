/*
 * debug_overlay.c: draws joints of the scene and the server's debug pictures as marks, islands and
 * sleep as tints.
 */
#include "client/hand/debug_overlay.h"

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
             {"boxes", DEBUG_BOXES},       {"sleep", OVERLAY_SLEEP}, {"points", OVERLAY_POINTS},
             {"all", OVERLAY_ALL}};

void debug_overlay_init(DebugOverlay *overlay, Connection *connection)
{
    memset(overlay, 0, sizeof *overlay);
    overlay->connection = connection;
}

void debug_overlay_finish(DebugOverlay *overlay)
{
    free(overlay->marks);
    free(overlay->tints);
    free(overlay->ends);
    free(overlay->whole);
    memset(overlay, 0, sizeof *overlay);
}

void debug_overlay_show(DebugOverlay *overlay, u32 show)
{
    overlay->show = show;
    connection_debug_subscribe(overlay->connection, show & DEBUG_ALL);
}

bool debug_overlay_parse(const char *text, u32 *show)
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

const char *debug_overlay_name(u32 bit)
{
    for (u32 i = 0; i < PL_COUNT(words); i++) {
        if (words[i].bit == bit) {
            return words[i].name;
        }
    }
    return "";
}

/* ---- marks ---- */

static void add(DebugOverlay *overlay, Vec3 from, Vec3 to, u32 color, f32 radius_px, bool on_top)
{
    if (overlay->mark_count == overlay->mark_capacity) {
        u32 capacity = u32_max(2 * overlay->mark_capacity, 1024);
        Mark *grown = realloc(overlay->marks, capacity * sizeof *grown);
        if (!grown) {
            return;
        }
        overlay->marks = grown;
        overlay->mark_capacity = capacity;
    }
    Mark *mark = &overlay->marks[overlay->mark_count++];
    mark->from = from;
    mark->to = to;
    for (u32 i = 0; i < 3; i++) {
        f32 c = (f32)(color >> (16 - 8 * i) & 255) / 255.0f;
        mark->color[i] = c * c; /* approximately linear */
    }
    mark->color[3] = 1.0f;
    mark->radius_px = radius_px;
    mark->on_top = on_top;
}

static void add_box(DebugOverlay *overlay, Vec3 low, Vec3 high, u32 color)
{
    for (u32 edge = 0; edge < 12; edge++) {
        u32 axis = edge / 4, u = (axis + 1) % 3, v = (axis + 2) % 3;
        f32 l[3] = {low.x, low.y, low.z}, h[3] = {high.x, high.y, high.z}, from[3], to[3];
        from[u] = to[u] = edge & 1 ? h[u] : l[u];
        from[v] = to[v] = edge & 2 ? h[v] : l[v];
        from[axis] = l[axis];
        to[axis] = h[axis];
        add(overlay, vec3(from[0], from[1], from[2]), vec3(to[0], to[1], to[2]), color, 1.2f,
            false);
    }
}

static void add_line(DebugOverlay *overlay, const DebugLine *line)
{
    static const u32 axes[3] = {0xE5484D, 0x46A758, 0x3E7BFA};
    switch ((DebugLineKind)line->kind) {
    case DEBUG_LINE_CONTACT:
        add(overlay, line->from, line->to, 0xFFB224, 2.0f, true);
        add(overlay, line->from, line->from, 0xE5484D, 3.0f, true);
        break;
    case DEBUG_LINE_AXIS_X:
    case DEBUG_LINE_AXIS_Y:
    case DEBUG_LINE_AXIS_Z:
        add(overlay, line->from, line->to, axes[line->kind - DEBUG_LINE_AXIS_X], 2.5f, true);
        break;
    case DEBUG_LINE_APART:
        add(overlay, line->from, line->to, 0xD6409F, 2.5f, true);
        break;
    case DEBUG_LINE_BOX:
        add_box(overlay, line->from, line->to, 0x2FA8A0);
        break;
    case DEBUG_LINE_KIND_COUNT:
        break;
    }
}

/* ---- rods and springs ---- */

/* The entity of a scene's body. Initially bodies and entities have the same order, so the
 * expected index is tried first; the server's world may have changed since, but hostile input
 * must not cause unbounded searches. */
static u32 find_body(const DebugOverlay *overlay, const Scene *scene, i32 body, u32 *searches)
{
    u32 count;
    const Entity *entities = connection_entities(overlay->connection, &count, NULL);
    const char *name = scene->bodies[body].name;
    if ((u32)body < count && strcmp(entities[body].name, name) == 0) {
        return entities[body].id;
    }
    if (*searches == 0) {
        return 0;
    }
    (*searches)--;
    const Entity *entity = connection_entity_named(overlay->connection, name);
    return entity ? entity->id : 0;
}

/* Finds the entity ids of joint ends when the entities change. */
static bool find_ends(DebugOverlay *overlay, const Scene *scene)
{
    u64 version;
    u32 count;
    connection_entities(overlay->connection, &count, &version);
    u32 world = connection_worlds(overlay->connection);
    if (overlay->ends && overlay->ends_version == version && overlay->ends_world == world) {
        return true;
    }
    free(overlay->ends);
    free(overlay->whole);
    overlay->end_count = 0;
    overlay->ends =
        malloc((scene->joint_count > 0 ? scene->joint_count : 1) * sizeof *overlay->ends);
    overlay->whole = malloc((scene->joint_count + 1) * sizeof *overlay->whole);
    if (!overlay->ends || !overlay->whole) {
        free(overlay->ends);
        overlay->ends = NULL;
        return false;
    }
    u32 searches = SEARCHES_MAX;
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        const i32 bodies[2] = {joint->a, joint->b};
        for (u32 k = 0; k < 2; k++) {
            bool drawn = joint->kind == JOINT_DISTANCE || joint->kind == JOINT_SPRING;
            overlay->ends[i][k] =
                drawn && bodies[k] >= 0 ? find_body(overlay, scene, bodies[k], &searches) : 0;
        }
    }
    overlay->end_count = scene->joint_count;
    overlay->ends_version = version;
    overlay->ends_world = world;
    return true;
}

/* Shown position of the anchor; false: its body is gone. */
static bool end_of(const DebugOverlay *overlay, u32 id, i32 body, Vec3 local, Vec3 *point)
{
    *point = local;
    if (body < 0) {
        return true;
    }
    const Entity *entity = id ? connection_entity(overlay->connection, id) : NULL;
    ShownPose pose;
    if (!entity || !timeline_pose(connection_timeline(overlay->connection), entity->field,
                                  entity->first, &pose)) {
        return false;
    }
    *point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
    return (pose.flags & POSE_LIVE) != 0;
}

static void add_coil(DebugOverlay *overlay, Vec3 from, Vec3 to)
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
        add(overlay, before, at, 0x3A3F45, 2.5f, false);
        before = at;
    }
    add(overlay, before, to, 0x3A3F45, 2.5f, false);
}

/* Sensors are invisible otherwise. */
static void add_sensors(DebugOverlay *overlay, const Scene *scene)
{
    u32 searches = 16;
    for (u32 i = 0; i < scene->body_count; i++) {
        const SceneBody *body = &scene->bodies[i];
        if (!body->sensor || body->shape.kind == SHAPE_PLANE) {
            continue;
        }
        u32 id = find_body(overlay, scene, (i32)i, &searches);
        const Entity *entity = id ? connection_entity(overlay->connection, id) : NULL;
        ShownPose pose;
        if (entity && timeline_pose(connection_timeline(overlay->connection), entity->field,
                                    entity->first, &pose)) {
            Bounds bounds = shape_bounds(&body->shape, pose.position, pose.orientation);
            add_box(overlay, bounds.min, bounds.max, 0x5AB9EA);
        }
    }
}

/* Values of a scalar field at the shown tick for `count` objects of the scene: 1 if unknown. */
static void find_scalars(const DebugOverlay *overlay, const char *name, u32 count, f32 *values)
{
    const FieldSet *fields = connection_fields(overlay->connection);
    for (u32 i = 0; i < count; i++) {
        values[i] = 1.0f;
    }
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (field->kind == FIELD_SCALARS && field->capacity == count &&
            strcmp(field->name, name) == 0) {
            timeline_scalars(connection_timeline(overlay->connection), f, values);
        }
    }
}

static void add_rods(DebugOverlay *overlay, const Scene *scene)
{
    if (scene->joint_count == 0 || !find_ends(overlay, scene)) {
        return;
    }
    find_scalars(overlay, "joints", scene->joint_count, overlay->whole);
    for (u32 i = 0; i < overlay->end_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        bool rod = joint->kind == JOINT_DISTANCE;
        Vec3 a, b;
        if ((!rod && joint->kind != JOINT_SPRING) || overlay->whole[i] < 0.5f ||
            !end_of(overlay, overlay->ends[i][0], joint->a, joint->anchor_a, &a) ||
            !end_of(overlay, overlay->ends[i][1], joint->b, joint->anchor_b, &b)) {
            continue;
        }
        if (rod) {
            add(overlay, a, b, 0x3A3F45, 2.5f, false);
        } else {
            add_coil(overlay, a, b);
        }
    }
}

/* ---- tints ---- */

/* Distinct colours by number: golden-ratio steps around the hues. */
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

static void tint_asleep(DebugOverlay *overlay, const Entity *entities, u32 count)
{
    const Timeline *timeline = connection_timeline(overlay->connection);
    const FieldSet *fields = connection_fields(overlay->connection);
    for (u32 i = 0; i < count; i++) {
        ShownPose pose;
        bool body = fields->fields[entities[i].field].kind == FIELD_POSES;
        if (body && entities[i].movable &&
            timeline_pose(timeline, entities[i].field, entities[i].first, &pose) &&
            (pose.flags & POSE_AWAKE) == 0) {
            overlay->tints[i] = TINT_ASLEEP;
        }
    }
}

/* Initially the entities of soft bodies follow those of the bodies. */
static void tint_soft_bodies_asleep(DebugOverlay *overlay, const Entity *entities, u32 count)
{
    const Scene *scene = connection_scene(overlay->connection);
    f32 *awake = malloc((scene->soft_count + 1) * sizeof *awake);
    if (awake == NULL) {
        return;
    }
    find_scalars(overlay, "softs", scene->soft_count, awake);
    for (u32 i = 0; i < scene->soft_count; i++) {
        u32 id = scene->body_count + i + 1, index = index_of(entities, count, id);
        if (awake[i] < 0.5f && index < count && entities[index].id == id &&
            strcmp(entities[index].name, scene->soft_bodies[i].name) == 0) {
            overlay->tints[index] = TINT_ASLEEP;
        }
    }
    free(awake);
}

static void collect_tints(DebugOverlay *overlay, const DebugPicture *picture)
{
    u32 count;
    const Entity *entities = connection_entities(overlay->connection, &count, NULL);
    overlay->tint_count = 0;
    if ((overlay->show & (DEBUG_ISLANDS | OVERLAY_SLEEP)) == 0) {
        return;
    }
    if (count > overlay->tint_capacity) {
        u32 *grown = realloc(overlay->tints, count * sizeof *grown);
        if (!grown) {
            return;
        }
        overlay->tints = grown;
        overlay->tint_capacity = count;
    }
    memset(overlay->tints, 0, count * sizeof *overlay->tints);
    overlay->tint_count = count;
    if (picture && (overlay->show & DEBUG_ISLANDS)) {
        for (u32 i = 0; i < picture->island_count; i++) {
            u32 index = index_of(entities, count, picture->islands[i].entity);
            if (index < count && entities[index].id == picture->islands[i].entity) {
                overlay->tints[index] = island_tint(picture->islands[i].island);
            }
        }
    }
    if (overlay->show & OVERLAY_SLEEP) {
        tint_asleep(overlay, entities, count);
        tint_soft_bodies_asleep(overlay, entities, count);
    }
}

void debug_overlay_collect(DebugOverlay *overlay, const Mark *marks, u32 mark_count)
{
    overlay->mark_count = overlay->tint_count = 0;
    const Scene *scene = connection_scene(overlay->connection);
    if (!scene || !connection_timeline(overlay->connection)) {
        return;
    }
    add_rods(overlay, scene);
    add_sensors(overlay, scene);
    const DebugPicture *picture =
        overlay->show & DEBUG_ALL ? connection_debug(overlay->connection) : NULL;
    for (u32 i = 0; picture && i < picture->line_count; i++) {
        add_line(overlay, &picture->lines[i]);
    }
    collect_tints(overlay, picture);
    for (u32 i = 0; i < mark_count; i++) {
        add(overlay, marks[i].from, marks[i].to, 0, marks[i].radius_px, marks[i].on_top);
        if (overlay->mark_count > 0) {
            memcpy(overlay->marks[overlay->mark_count - 1].color, marks[i].color,
                   sizeof marks[i].color);
        }
    }
}
