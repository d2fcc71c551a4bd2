/*
 * debug_overlay.c: draws the server's debug pictures as marks, islands and sleep as tints.
 */
#include "client/hand/debug_overlay.h"

#include "client/link/timeline.h"

#include <stdlib.h>
#include <string.h>

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
    mark_list_finish(&overlay->marks);
    free(overlay->tints);
    rods_finish(&overlay->rods);
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
    mark_list_add(&overlay->marks, from, to, color, radius_px, on_top);
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
        mark_list_box(&overlay->marks, line->from, line->to, 0x2FA8A0);
        break;
    case DEBUG_LINE_KIND_COUNT:
        break;
    }
}

/* ---- entities of the world ---- */

static bool pose_shown(const void *context, u32 field, u32 element, ShownPose *pose)
{
    return timeline_pose(context, field, element, pose);
}

static void scalars_shown(const void *context, u32 field, f32 *values)
{
    timeline_scalars(context, field, values);
}

static RodsWorld world_of(const DebugOverlay *overlay)
{
    const Connection *connection = overlay->connection;
    RodsWorld world = {.scene = connection_scene(connection),
                       .fields = connection_fields(connection),
                       .world = connection_worlds(connection),
                       .pose = pose_shown,
                       .scalars = scalars_shown,
                       .context = connection_timeline(overlay->connection)};
    world.entities = connection_entities(connection, &world.entity_count, &world.entity_version);
    return world;
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
    RodsWorld world = world_of(overlay);
    rods_scalars(&world, "soft_bodies", scene->soft_count, awake);
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
    overlay->marks.count = overlay->tint_count = 0;
    if (!connection_scene(overlay->connection) || !connection_timeline(overlay->connection)) {
        return;
    }
    RodsWorld world = world_of(overlay);
    rods_collect(&overlay->rods, &world, &overlay->marks);
    const DebugPicture *picture =
        overlay->show & DEBUG_ALL ? connection_debug(overlay->connection) : NULL;
    for (u32 i = 0; picture && i < picture->line_count; i++) {
        add_line(overlay, &picture->lines[i]);
    }
    collect_tints(overlay, picture);
    for (u32 i = 0; i < mark_count; i++) {
        mark_list_put(&overlay->marks, &marks[i]);
    }
}
