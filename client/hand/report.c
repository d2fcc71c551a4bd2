/* report.c: the JSON of --report, member by member in the documented order. */
#include "client/hand/report.h"

#include "client/link/shown.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVED_M 0.05f

static bool body_position(Connection *connection, const Entity *entity, Vec3 *position)
{
    ShownPose pose;
    const Timeline *timeline = connection_timeline(connection);
    if (timeline == NULL || entity->count == 0 ||
        !timeline_pose(timeline, entity->field, entity->first, &pose)) {
        return false;
    }
    *position = pose.position;
    return (pose.flags & POSE_LIVE) != 0;
}

void report_start(ReportStart *start, Connection *connection)
{
    memset(start, 0, sizeof *start);
    u32 count;
    const Entity *entities = connection_entities(connection, &count, NULL);
    start->ids = calloc(count > 0 ? count : 1, sizeof *start->ids);
    start->positions = calloc(count > 0 ? count : 1, sizeof *start->positions);
    if (start->ids == NULL || start->positions == NULL) {
        return;
    }
    for (u32 i = 0; i < count; i++) {
        u32 at = start->count;
        if (entities[i].movable && body_position(connection, &entities[i], &start->positions[at])) {
            start->ids[at] = entities[i].id;
            start->count++;
        }
    }
}

void report_finish(ReportStart *start)
{
    free(start->ids);
    free(start->positions);
    memset(start, 0, sizeof *start);
}

/* Movable bodies that are now farther than 5 cm from their recorded positions. */
static u32 report_moved(const ReportStart *start, Connection *connection)
{
    u32 moved = 0;
    for (u32 i = 0; i < start->count; i++) {
        const Entity *entity = connection_entity(connection, start->ids[i]);
        Vec3 position;
        if (entity != NULL && body_position(connection, entity, &position)) {
            moved += vec3_distance(position, start->positions[i]) > MOVED_M;
        }
    }
    return moved;
}

/* "text" with quotes and escapes, for JSON. */
static void report_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const u8 *c = (const u8 *)text; *c != 0; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(file, "\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            fprintf(file, "\\u%04x", *c);
        } else {
            fputc(*c, file);
        }
    }
    fputc('"', file);
}

/* JSON has neither infinities nor NaN. */
static void put_number(FILE *file, f64 value)
{
    if (isfinite(value)) {
        fprintf(file, "%.9g", value);
    } else {
        fputs("null", file);
    }
}

static void put_vec3(FILE *file, Vec3 v)
{
    fputc('[', file);
    put_number(file, (f64)v.x);
    fputs(", ", file);
    put_number(file, (f64)v.y);
    fputs(", ", file);
    put_number(file, (f64)v.z);
    fputc(']', file);
}

static const char *entity_kind(const Entity *entity)
{
    switch (entity->appearance.kind) {
    case APPEARANCE_SHAPE:
        return shape_kind_name(entity->appearance.shape.kind);
    case APPEARANCE_CLOTH:
        return "cloth";
    case APPEARANCE_ROPE:
        return "rope";
    case APPEARANCE_LIQUID:
        return "liquid";
    case APPEARANCE_WATER:
        return "water";
    case APPEARANCE_SMOKE:
        return "smoke";
    case APPEARANCE_SPRITES:
        return "sprites";
    case APPEARANCE_GRAINS:
        return "grains";
    case APPEARANCE_BILLBOARDS:
        return "billboards";
    default:
        return "none";
    }
}

static void put_points(FILE *file, const Timeline *timeline, const FieldDesc *field,
                       const Entity *entity)
{
    PL_UNUSED(field);
    Vec3 sum = vec3_zero();
    f32 low = INFINITY, high = -INFINITY;
    u32 live = 0;
    for (u32 i = 0; i < entity->count; i++) {
        ShownPoint point;
        if (timeline_point(timeline, entity->field, entity->first + i, &point) &&
            point.generation != 0) {
            sum = vec3_add(sum, point.position);
            low = f32_min(low, point.position.y);
            high = f32_max(high, point.position.y);
            live++;
        }
    }
    fputs(", \"position\": ", file);
    put_vec3(file, live > 0 ? vec3_scale(sum, 1.0f / (f32)live) : vec3_zero());
    fprintf(file, ", \"points\": %u, \"height_range\": [", live);
    put_number(file, live > 0 ? (f64)low : 0.0);
    fputs(", ", file);
    put_number(file, live > 0 ? (f64)high : 0.0);
    fputs("]", file);
}

static void put_pose(FILE *file, const Timeline *timeline, const FieldDesc *field,
                     const Entity *entity)
{
    ShownPose pose;
    PL_UNUSED(field);
    if (!timeline_pose(timeline, entity->field, entity->first, &pose)) {
        return;
    }
    fputs(", \"position\": ", file);
    put_vec3(file, pose.position);
    Quat q = pose.orientation;
    fprintf(file, ", \"orientation\": [%.9g, %.9g, %.9g, %.9g]", (f64)q.w, (f64)q.x, (f64)q.y,
            (f64)q.z);
}

/* Mean position of heights, or density-weighted mean of voxels; minimum and maximum. */
static void put_grid(FILE *file, const Timeline *timeline, const FieldDesc *field,
                     const Entity *entity)
{
    f32 *values = malloc(field->capacity * sizeof *values);
    if (values == NULL || !timeline_grid(timeline, entity->field, 0, values)) {
        free(values);
        return;
    }
    ShownGrid shown = shown_grid(field, values);
    const Grid *grid = &shown.grid;
    f64 sum[3] = {0.0}, weights = 0.0;
    f32 low = INFINITY, high = -INFINITY;
    for (u32 i = 0; i < field->capacity; i++) {
        f64 weight = grid->heights ? 1.0 : (f64)(values[i] - shown.low);
        Vec3 at = grid_centre(grid, i, values[i]);
        sum[0] += weight * (f64)at.x;
        sum[1] += weight * (f64)at.y;
        sum[2] += weight * (f64)at.z;
        weights += weight;
        low = f32_min(low, values[i]);
        high = f32_max(high, values[i]);
    }
    f64 each = weights > 0.0 ? 1.0 / weights : 0.0;
    fputs(", \"position\": ", file);
    put_vec3(file, vec3((f32)(sum[0] * each), (f32)(sum[1] * each), (f32)(sum[2] * each)));
    fprintf(file, ", \"cells\": [%u, %u, %u], \"spacing\": ", grid->dims[0], grid->dims[1],
            grid->dims[2]);
    put_vec3(file, grid->spacing);
    fputs(", \"origin\": ", file);
    put_vec3(file, grid->origin);
    fprintf(file, ", \"%s\": [", grid->heights ? "height_range" : "density_range");
    put_number(file, (f64)low + (grid->heights ? (f64)grid->origin.y : 0.0));
    fputs(", ", file);
    put_number(file, (f64)high + (grid->heights ? (f64)grid->origin.y : 0.0));
    fputs("]", file);
    free(values);
}

static void put_entities(FILE *file, Connection *connection)
{
    static void (*const puts_of[FIELD_KIND_COUNT])(FILE *, const Timeline *, const FieldDesc *,
                                                   const Entity *) = {
        [FIELD_POSES] = put_pose,
        [FIELD_POINTS] = put_points,
        [FIELD_GRID2] = put_grid,
        [FIELD_GRID3] = put_grid,
    };
    const Timeline *timeline = connection_timeline(connection);
    const FieldSet *fields = connection_fields(connection);
    u32 count;
    const Entity *entities = connection_entities(connection, &count, NULL);
    fputs("  \"entities\": [", file);
    for (u32 i = 0; timeline != NULL && i < count; i++) {
        const Entity *entity = &entities[i];
        const FieldDesc *field = &fields->fields[entity->field];
        fprintf(file, "%s\n    {\"name\": ", i > 0 ? "," : "");
        report_text(file, entity->name);
        fprintf(file, ", \"kind\": \"%s\"", entity_kind(entity));
        if (puts_of[field->kind] != NULL) {
            puts_of[field->kind](file, timeline, field, entity);
        }
        fputc('}', file);
    }
    fputs("\n  ],\n", file);
}

static void put_probes(FILE *file, Connection *connection)
{
    const Timeline *timeline = connection_timeline(connection);
    const FieldSet *fields = connection_fields(connection);
    u32 count;
    const ScalarInfo *probes = connection_probes(connection, &count);
    fputs("  \"probes\": {", file);
    for (u32 i = 0; timeline != NULL && i < count; i++) {
        const ScalarInfo *probe = &probes[i];
        f32 *scalars = calloc(fields->fields[probe->field].capacity, sizeof *scalars);
        if (scalars == NULL) {
            break;
        }
        timeline_scalars(timeline, probe->field, scalars);
        fprintf(file, "%s\n    ", i > 0 ? "," : "");
        report_text(file, probe->name);
        fputs(probe->components > 1 ? ": [" : ": ", file);
        for (u32 c = 0; c < probe->components; c++) {
            fputs(c > 0 ? ", " : "", file);
            put_number(file, (f64)scalars[probe->first + c]);
        }
        fputs(probe->components > 1 ? "]" : "", file);
        free(scalars);
    }
    fputs("\n  },\n", file);
}

static const char *held_by(Connection *connection, u32 user)
{
    u32 count;
    const Presence *presences = connection_presences(connection, &count);
    for (u32 i = 0; i < count; i++) {
        const Entity *entity = presences[i].user == user && presences[i].grabbed != 0
                                   ? connection_entity(connection, presences[i].grabbed)
                                   : NULL;
        if (entity != NULL) {
            return entity->name;
        }
    }
    return NULL;
}

static void put_users(FILE *file, Connection *connection)
{
    u32 count;
    const UserInfo *users = connection_users(connection, &count);
    fputs("  \"users\": [", file);
    for (u32 i = 0; i < count; i++) {
        fprintf(file, "%s\n    {\"name\": ", i > 0 ? "," : "");
        report_text(file, users[i].name);
        fprintf(file,
                ", \"role\": \"%s\", \"own_time\": %s, \"holding\": ", role_name(users[i].role),
                users[i].own_time ? "true" : "false");
        const char *held = held_by(connection, users[i].id);
        if (held != NULL) {
            report_text(file, held);
        } else {
            fputs("null", file);
        }
        fputc('}', file);
    }
    fputs("\n  ]\n", file);
}

/* Mean distance of the grabbed point from the target, as shown and as the server answered, and
 * the delay of its first motion. */
static void put_hand(FILE *file, const HandStats *hand)
{
    f64 held_s = fmax(hand->held_s, 1e-9), drags = u32_max(hand->drags, 1);
    fprintf(file, "  \"hand\": {\"held_s\": %.3f, \"drags\": %u, \"lag_ms\": %.1f,\n", hand->held_s,
            hand->drags, hand->lag_s * 1e3);
    fprintf(file, "    \"shown_from_target_m\": %.4f, \"server_from_target_m\": %.4f,\n",
            hand->shown_m_s / held_s, hand->server_m_s / held_s);
    fprintf(file, "    \"shown_moves_ms\": %.1f, \"server_moves_ms\": %.1f},\n",
            hand->shown_first_s / drags * 1e3, hand->server_first_s / drags * 1e3);
}

static void put_report(FILE *file, Connection *connection, const ReportStart *start,
                       const HandStats *hand, f64 duration_s)
{
    ConnectionStats stats;
    connection_stats(connection, &stats);
    const Timeline *timeline = connection_timeline(connection);
    bool connected = connection_state(connection) == CONNECTION_LIVE;
    fprintf(file, "{\n  \"connected\": %s,\n  \"duration_s\": %.3f,\n",
            connected ? "true" : "false", duration_s);
    fprintf(file, "  \"tick_first\": %llu,\n  \"tick_last\": %llu,\n  \"snapshots\": %llu,\n",
            (unsigned long long)stats.tick_first, (unsigned long long)stats.tick_last,
            (unsigned long long)stats.snapshots);
    fprintf(file, "  \"bytes_in\": %llu,\n  \"bytes_out\": %llu,\n",
            (unsigned long long)stats.bytes_in, (unsigned long long)stats.bytes_out);
    fprintf(file, "  \"packets_in\": %llu,\n  \"packets_lost\": %llu,\n",
            (unsigned long long)stats.packets_in, (unsigned long long)stats.packets_lost);
    fprintf(file, "  \"rtt_ms\": %.3f,\n  \"jitter_ms\": %.3f,\n  \"delay_ms\": %.3f,\n",
            stats.rtt_ms, stats.jitter_ms,
            timeline != NULL ? timeline_delay_s(timeline) * 1e3 : 0.0);
    fprintf(file, "  \"starved\": %.4f,\n", timeline != NULL ? timeline_starved(timeline) : 0.0);
    fprintf(file, "  \"coarse\": %.4f,\n", stats.coarse);
    fprintf(file, "  \"desyncs\": %llu,\n  \"refused\": %llu,\n  \"malformed\": %llu,\n",
            (unsigned long long)stats.desyncs, (unsigned long long)stats.refused,
            (unsigned long long)stats.malformed);
    fprintf(file, "  \"moved\": %u,\n", report_moved(start, connection));
    if (hand != NULL) {
        put_hand(file, hand);
    }
    put_entities(file, connection);
    put_probes(file, connection);
    put_users(file, connection);
    fputs("}\n", file);
}

int report_write(const char *path, Connection *connection, const ReportStart *start,
                 const HandStats *hand, f64 duration_s, ErrorText *error)
{
    if (strcmp(path, "-") == 0) {
        put_report(stdout, connection, start, hand, duration_s);
        return fflush(stdout) == 0 ? ERROR_OK : error_set(error, ERROR_IO, "cannot print");
    }
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return error_set(error, ERROR_IO, "%s: %s", path, strerror(errno));
    }
    put_report(file, connection, start, hand, duration_s);
    bool bad = ferror(file) != 0;
    bad |= fclose(file) != 0;
    return bad ? error_set(error, ERROR_IO, "%s: cannot be written", path) : ERROR_OK;
}
