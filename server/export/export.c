/* export.c: see export.h. */
#include "server/export/export.h"

#include "protocol/field/quantize.h"
#include "protocol/record/recording.h"
#include "server/export/text.h"
#include "server/export/things.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATTERNS_MAX = 64, /* of --only */
};

/* Fraction of the work done by the first reading. */
#define FIRST_SHARE 0.3

/* Data about a thing from the first reading. */
typedef struct Sighted {
    QPose first;  /* BODY */
    u64 last;     /* picture in which it was present */
    bool missing; /* in some picture after it was present */
} Sighted;

typedef struct Export {
    const ExportOptions *options;
    ExportOutput *output;
    RecordingReader *reader;
    Scene *scene;
    EntityList entities;
    u64 entities_version; /* that things_update knows */
    Things things;
    Sighted *sighted; /* [sighted_capacity], by things */
    u32 sighted_capacity;
    u64 from_tick, to_tick;
    u64 next_tick; /* the next picture is of this tick, or the first after it */
    ExportWorld world;
    ExportState *states; /* [thing_count] */
    Vec3 *vertices;      /* of all states */
    Vec3 *points;        /* of the soft body whose skin is computed */
    f32 *values;         /* [probe_count] */
} Export;

static void export_finish(Export *e)
{
    things_finish(&e->things);
    entity_list_finish(&e->entities);
    free(e->sighted);
    free(e->world.probes);
    free(e->states);
    free(e->vertices);
    free(e->points);
    free(e->values);
    scene_destroy(e->scene);
    recording_reader_destroy(e->reader);
}

/* ---- the recording, tick by tick ---- */

static int start_reading(Export *e)
{
    int result = recording_reader_seek(e->reader, e->from_tick);
    Entity *entities = malloc(ENTITIES_MAX * sizeof *entities);
    if (result == ERROR_OK && entities != NULL) {
        u32 count = recording_reader_entities(e->reader, entities, ENTITIES_MAX);
        FieldSet *fields = (FieldSet *)e->things.fields;
        result = entity_list_set(&e->entities, fields, entities, count);
    }
    free(entities);
    e->next_tick = e->from_tick;
    e->entities_version = 0;
    return entities != NULL ? result : ERROR_MEMORY;
}

/* The next frame that a picture shows; ERROR_NOT_FOUND at the end. */
static int next_frame(Export *e, Frame **frame)
{
    for (;;) {
        int result = recording_reader_next(e->reader, frame, NULL, NULL);
        if (result != ERROR_OK) {
            return result;
        }
        entity_list_frame(&e->entities, *frame); /* elements that do not fit are omitted */
        u64 tick = (*frame)->tick;
        if (tick > e->to_tick) {
            frame_release(*frame);
            return ERROR_NOT_FOUND;
        }
        if (tick >= e->next_tick) {
            e->next_tick = tick + e->options->every;
            if (e->entities_version != e->entities.version) {
                e->entities_version = e->entities.version;
                result = things_update(&e->things, &e->entities);
            }
            if (result != ERROR_OK) {
                frame_release(*frame);
            }
            return result;
        }
        frame_release(*frame);
    }
}

static int fail_reading(const Export *e, int result, ErrorText *error)
{
    const char *path = e->options->recording;
    if (result == ERROR_LIMIT) {
        return error_set(error, ERROR_LIMIT, "%s: its objects have more than %d points together",
                         path, EXPORT_VERTICES_MAX);
    }
    if (result == ERROR_MEMORY) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    f64 good_s = (f64)(e->next_tick > e->options->every ? e->next_tick - e->options->every : 0) /
                 e->world.tick_rate;
    return error_set(error, (Error)result,
                     "%s: damaged after %.3f s: %s; --to exports what is before", path, good_s,
                     error_name((Error)result));
}

static void report_progress(const Export *e, u64 tick, f64 from, f64 share)
{
    f64 range = (f64)(e->to_tick - e->from_tick) + 1.0;
    if (e->options->progress != NULL) {
        e->options->progress(e->options->progress_context,
                             from + share * (f64)(tick + 1 - e->from_tick) / range);
    }
}

/* ---- first reading: finds the things ---- */

static const QPose *pose_of(const Export *e, const Frame *frame, const Entity *entity)
{
    PL_UNUSED(e);
    const QPose *pose = &frame_poses(frame, entity->field)[entity->first];
    bool is_it = (pose->flags & POSE_LIVE) != 0 && pose->generation == entity->generation;
    return is_it ? pose : NULL;
}

static u32 live_points(const Frame *frame, const Entity *entity)
{
    const QPoint *points = frame_points(frame, entity->field) + entity->first;
    u32 live = 0;
    for (u32 i = 0; i < entity->count; i++) {
        live += points[i].generation != 0;
    }
    return live;
}

static bool is_there(const Export *e, const Frame *frame, ExportThing *thing, Sighted *sighted)
{
    const Entity *entity = &thing->entity;
    if (thing->form == EXPORT_BODY) {
        const QPose *pose = pose_of(e, frame, entity);
        if (pose != NULL && !thing->seen) {
            sighted->first = *pose;
        }
        thing->moves |= pose != NULL && (pose->rotation != sighted->first.rotation ||
                                         memcmp(pose->position, sighted->first.position,
                                                sizeof pose->position) != 0);
        return pose != NULL;
    }
    if (e->things.fields->fields[entity->field].kind != FIELD_POINTS) {
        return true;
    }
    if (thing->form == EXPORT_POINTS) {
        u32 live = live_points(frame, entity);
        thing->vertices = u32_max(thing->vertices, live);
        return live > 0;
    }
    return entity->count > 0 && frame_points(frame, entity->field)[entity->first].generation != 0;
}

static int survey_frame(Export *e, const Frame *frame)
{
    u32 known = e->sighted_capacity;
    if (e->things.count > known) {
        u32 capacity = e->things.capacity;
        Sighted *more = realloc(e->sighted, capacity * sizeof *more);
        if (more == NULL) {
            return ERROR_MEMORY;
        }
        memset(more + known, 0, (capacity - known) * sizeof *more);
        e->sighted = more;
        e->sighted_capacity = capacity;
    }
    u64 number = e->world.picture_count++;
    if (number == 0) {
        e->world.first_tick = frame->tick;
    }
    for (u32 i = 0; i < e->things.alive_count; i++) {
        u32 index = things_index(&e->things, &e->things.alive[i]);
        ExportThing *thing = &e->things.items[index];
        Sighted *sighted = &e->sighted[index];
        if (is_there(e, frame, thing, sighted)) {
            thing->comes |= !thing->seen && number > 0;
            sighted->missing |= thing->seen && sighted->last + 1 != number;
            thing->seen = true;
            sighted->last = number;
        }
    }
    return ERROR_OK;
}

static int survey(Export *e, ErrorText *error)
{
    Frame *frame;
    int result = start_reading(e);
    while (result == ERROR_OK && (result = next_frame(e, &frame)) == ERROR_OK) {
        result = survey_frame(e, frame);
        report_progress(e, frame->tick, 0.0, FIRST_SHARE);
        frame_release(frame);
    }
    if (result != ERROR_NOT_FOUND) {
        return fail_reading(e, result, error);
    }
    if (e->world.picture_count == 0) {
        return error_set(error, ERROR_NOT_FOUND, "%s: has no tick in this range",
                         e->options->recording);
    }
    for (u32 i = 0; i < e->things.count; i++) {
        ExportThing *thing = &e->things.items[i];
        thing->goes = thing->seen &&
                      (e->sighted[i].missing || e->sighted[i].last + 1 != e->world.picture_count);
    }
    return ERROR_OK;
}

/* ---- choice ---- */

static const char *const component_names[4] = {".x", ".y", ".z", ".w"};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const ExportProbe *)a)->name, ((const ExportProbe *)b)->name);
}

/* Numbers of probes that have a value in each frame. */
static int choose_probes(Export *e, const MessageWorld *world, u64 *used)
{
    ExportProbe *probes = calloc(4 * (size_t)u32_max(world->probe_count, 1), sizeof *probes);
    u32 count = 0;
    if (probes == NULL) {
        return ERROR_MEMORY;
    }
    e->world.probes = probes;
    for (u32 i = 0; i < world->probe_count; i++) {
        const ScalarInfo *info = &world->probes[i];
        const FieldSet *fields = e->things.fields;
        bool fits = info->field < fields->count &&
                    fields->fields[info->field].kind == FIELD_SCALARS && info->components <= 4 &&
                    info->first <= fields->fields[info->field].capacity &&
                    info->components <= fields->fields[info->field].capacity - info->first;
        if (!export_wanted(e->options->only, info->name, used) || !fits) {
            continue;
        }
        for (u32 k = 0; k < info->components; k++) {
            ExportProbe *probe = &probes[count++];
            snprintf(probe->name, sizeof probe->name, "%.*s%s", NAME_BYTES_MAX, info->name,
                     info->components > 1 ? component_names[k] : "");
            snprintf(probe->unit, sizeof probe->unit, "%s", info->unit);
            export_clean_name(probe->name);
            export_clean_name(probe->unit);
            probe->field = info->field;
            probe->scalar = info->first + k;
        }
    }
    e->world.probe_count = count;
    /* Scenes refuse probes of one name; a file from elsewhere may have them. */
    ExportProbe *sorted = malloc(u32_max(count, 1) * sizeof *sorted);
    if (sorted == NULL) {
        return ERROR_MEMORY;
    }
    memcpy(sorted, probes, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_text);
    bool twice = false;
    for (u32 i = 0; i + 1 < count; i++) {
        twice |= by_text(&sorted[i], &sorted[i + 1]) == 0;
    }
    free(sorted);
    for (u32 i = 0; twice && i < count; i++) {
        size_t length = strlen(probes[i].name);
        snprintf(probes[i].name + length, sizeof probes[i].name - length, "#%u", i + 1);
    }
    return ERROR_OK;
}

/* A pattern without a match is a user error. */
static int check_only(const Export *e, u64 used, ErrorText *error)
{
    const char *at = e->options->only;
    for (u32 i = 0; at != NULL; i++) {
        int length = (int)strcspn(at, ",");
        if (i == PATTERNS_MAX) {
            return error_set(error, ERROR_USAGE, "--only: at most %d names", PATTERNS_MAX);
        }
        if ((used & (u64)1 << i) == 0) {
            return error_set(
                error, ERROR_USAGE,
                "--only: nothing in %s is called \"%.*s\"; plenum-tool dump lists the names",
                e->options->recording, i32_min(length, TEXT_BYTES_MAX), at);
        }
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return ERROR_OK;
}

static int reserve(Export *e)
{
    u64 vertices = 0;
    u32 skin_points = 1;
    const ExportThing *things = e->things.items;
    for (u32 i = 0; i < e->things.count; i++) {
        vertices += things[i].vertices;
        skin_points = u32_max(skin_points, things[i].entity.count);
    }
    e->states = calloc(u32_max(e->things.count, 1), sizeof *e->states);
    e->vertices = malloc((vertices + 1) * sizeof *e->vertices);
    e->points = malloc(skin_points * sizeof *e->points);
    e->values = calloc(u32_max(e->world.probe_count, 1), sizeof *e->values);
    if (e->states == NULL || e->vertices == NULL || e->points == NULL || e->values == NULL) {
        return ERROR_MEMORY;
    }
    Vec3 *at = e->vertices;
    for (u32 i = 0; i < e->things.count; i++) {
        e->states[i].points = at;
        at += things[i].vertices;
    }
    return ERROR_OK;
}

static int choose(Export *e, ExportSummary *summary, ErrorText *error)
{
    const RecordingHead *head = recording_reader_head(e->reader);
    u64 used = 0;
    for (u32 i = 0; i < e->things.count; i++) {
        const ExportThing *thing = &e->things.items[i];
        u64 unused = 0;
        summary->left_out += thing->form == EXPORT_NOTHING &&
                             export_wanted(e->options->only, thing->entity.name, &unused);
    }
    int result = things_choose(&e->things, e->options->only, &used);
    if (result == ERROR_OK) {
        result = choose_probes(e, &head->world, &used);
    }
    if (result == ERROR_OK) {
        result = reserve(e);
    }
    if (result != ERROR_OK) {
        return error_set(error, (Error)result, "%s: out of memory", e->options->recording);
    }
    result = check_only(e, used, error);
    e->world.scene = e->scene;
    e->world.created_unix_s = head->created_unix_s;
    e->world.every = e->options->every;
    e->world.shapes_max = e->options->shapes_max;
    e->world.things = e->things.items;
    e->world.thing_count = e->things.count;
    summary->pictures = e->world.picture_count;
    summary->things = e->world.thing_count;
    summary->probes = e->world.probe_count;
    return result;
}

/* ---- second reading: pictures ---- */

static void fill_points(const FieldDesc *field, const QPoint *points, const ExportThing *thing,
                        ExportState *state)
{
    u32 count = 0;
    for (u32 i = 0; i < thing->entity.count && count < thing->vertices; i++) {
        if (points[i].generation != 0) {
            state->points[count++] = dequantize_position(field, points[i].position);
        }
    }
    state->there = count > 0;
    state->point_count = count;
}

static void fill_heights(const FieldDesc *field, const u16 *codes, ExportState *state)
{
    u32 channels = u32_max(field->channels, 1);
    for (u32 row = 0; row < field->dims[1]; row++) {
        for (u32 column = 0; column < field->dims[0]; column++) {
            u32 cell = row * field->dims[0] + column;
            state->points[cell] = vec3(field->origin.x + (f32)column * field->spacing.x,
                                       dequantize_height(field, codes[(size_t)cell * channels]),
                                       field->origin.z + (f32)row * field->spacing.z);
        }
    }
    state->point_count = field->capacity;
    state->there = true;
}

/* Vertices under fixed triangles or segments: the points, or the skin over them. */
static void fill_mesh(const Export *e, const QPoint *points, const ExportThing *thing,
                      ExportState *state)
{
    const Entity *entity = &thing->entity;
    const FieldDesc *field = &e->things.fields->fields[entity->field];
    u32 soft = entity->appearance.soft;
    const SoftMesh *mesh = soft != 0 ? &e->scene->soft_meshes[soft - 1] : NULL;
    bool skin = mesh != NULL && mesh->skin_count > 0 && thing->form == EXPORT_SURFACE;
    Vec3 *out = skin ? e->points : state->points;
    for (u32 i = 0; i < (skin ? entity->count : thing->vertices); i++) {
        out[i] = dequantize_position(field, points[i].position);
    }
    if (skin) {
        soft_mesh_skin_points(mesh, e->points, state->points);
    }
    state->point_count = thing->vertices;
    state->there = entity->count > 0 && points[0].generation != 0;
}

static void fill_state(const Export *e, const Frame *frame, u32 index)
{
    const ExportThing *thing = &e->things.items[index];
    const Entity *entity = &thing->entity;
    const FieldDesc *field = &frame->fields->fields[entity->field];
    ExportState *state = &e->states[index];
    if (thing->form == EXPORT_BODY) {
        const QPose *pose = pose_of(e, frame, entity);
        state->there = pose != NULL;
        if (pose != NULL) {
            state->position = dequantize_position(field, pose->position);
            state->rotation = dequantize_rotation(pose->rotation);
        }
    } else if (field->kind == FIELD_GRID2) {
        fill_heights(field, frame_field(frame, entity->field), state);
    } else if (thing->form == EXPORT_POINTS) {
        fill_points(field, frame_points(frame, entity->field) + entity->first, thing, state);
    } else {
        fill_mesh(e, frame_points(frame, entity->field) + entity->first, thing, state);
    }
}

static void fill_picture(Export *e, const Frame *frame, ExportPicture *picture)
{
    for (u32 i = 0; i < e->things.count; i++) {
        e->states[i].there = false;
        e->states[i].point_count = 0;
    }
    for (u32 i = 0; i < e->things.alive_count; i++) {
        u32 index = things_index(&e->things, &e->things.alive[i]);
        if (index != EXPORT_THING_NONE) {
            fill_state(e, frame, index);
        }
    }
    for (u32 i = 0; i < e->world.probe_count; i++) {
        const ExportProbe *probe = &e->world.probes[i];
        memcpy(&e->values[i], (const f32 *)frame_field(frame, probe->field) + probe->scalar,
               sizeof e->values[i]);
    }
    picture->tick = frame->tick;
    picture->time_s = (f64)frame->tick / e->world.tick_rate;
    picture->states = e->states;
    picture->probes = e->values;
}

static int write_pictures(Export *e, void *format, ErrorText *error)
{
    const ExportFormat *ops = e->options->format;
    ExportPicture picture = {0};
    Frame *frame;
    things_restart(&e->things);
    int result = start_reading(e);
    while (result == ERROR_OK && (result = next_frame(e, &frame)) == ERROR_OK) {
        if (picture.number < e->world.picture_count) {
            fill_picture(e, frame, &picture);
            result = ops->picture(format, &picture);
        }
        report_progress(e, frame->tick, FIRST_SHARE, 1.0 - FIRST_SHARE);
        frame_release(frame);
        picture.number++;
        if (result == ERROR_OK) {
            result = export_output_error(e->output, NULL);
        }
        if (result != ERROR_OK) {
            return result;
        }
    }
    if (result != ERROR_NOT_FOUND || picture.number != e->world.picture_count) {
        return fail_reading(e, result == ERROR_NOT_FOUND ? ERROR_MISMATCH : result, error);
    }
    return ops->end(format);
}

static int write_all(Export *e, ErrorText *error)
{
    void *format = NULL;
    int result = e->options->format->begin(&format, &e->world, e->output);
    if (result == ERROR_OK) {
        result = write_pictures(e, format, error);
    }
    if (format != NULL) {
        e->options->format->destroy(format);
    }
    int failed = export_output_error(e->output, NULL); /* also of what destroy closed */
    if (failed != ERROR_OK) {
        export_output_error(e->output, error);
        return failed;
    }
    if (result != ERROR_OK && error != NULL && error->code == ERROR_OK) {
        error_set(error, (Error)result, "%s: %s", e->options->recording, error_name((Error)result));
    }
    return result;
}

/* ---- all of it ---- */

static u64 tick_of(f64 seconds, u32 tick_rate, u64 most)
{
    f64 tick = seconds * tick_rate + 0.5;
    return tick < 0.0 ? 0 : tick < (f64)most ? (u64)tick : most;
}

static int open_recording(Export *e, ErrorText *error)
{
    const ExportOptions *options = e->options;
    e->reader = recording_reader_create(options->recording, error);
    if (e->reader == NULL) {
        return ERROR_FORMAT;
    }
    const RecordingHead *head = recording_reader_head(e->reader);
    const RecordingInfo *info = recording_reader_info(e->reader);
    e->scene = scene_from_bytes(head->world.scene, head->world.scene_bytes, error);
    if (e->scene == NULL) {
        error_prefix(error, "%s", options->recording);
        return ERROR_FORMAT;
    }
    e->entities.scene = e->scene;
    e->things.scene = e->scene;
    e->world.tick_rate = head->tick_rate;
    e->from_tick =
        u64_max(tick_of(options->from_s, head->tick_rate, UINT64_MAX / 2), info->first_tick);
    e->to_tick =
        options->to_s < 0.0
            ? info->last_tick
            : u64_min(tick_of(options->to_s, head->tick_rate, UINT64_MAX / 2), info->last_tick);
    if (head->tick_rate == 0) {
        return error_set(error, ERROR_FORMAT, "%s: has no tick rate", options->recording);
    }
    if (e->from_tick > e->to_tick) {
        return error_set(error, ERROR_USAGE,
                         "%s: has %.3f s to %.3f s: nothing of it lies between --from and --to",
                         options->recording, (f64)info->first_tick / head->tick_rate,
                         (f64)info->last_tick / head->tick_rate);
    }
    return ERROR_OK;
}

int export_run(const ExportOptions *options, ExportOutput *output, ExportSummary *summary,
               ErrorText *error)
{
    ErrorText unused = {.code = ERROR_OK};
    error = error != NULL ? error : &unused;
    error->code = ERROR_OK;
    *summary = (ExportSummary){0};
    Export e = {.options = options, .output = output};
    int result = open_recording(&e, error);
    FieldSet *fields = NULL;
    if (result == ERROR_OK) {
        const MessageWorld *world = &recording_reader_head(e.reader)->world;
        fields = field_set_create(world->fields, world->field_count);
        e.things.fields = fields;
        if (fields == NULL) {
            result =
                error_set(error, ERROR_FORMAT, "%s: its fields are invalid", options->recording);
        }
    }
    if (result == ERROR_OK) {
        result = survey(&e, error);
    }
    if (result == ERROR_OK) {
        result = choose(&e, summary, error);
    }
    if (result == ERROR_OK) {
        result = write_all(&e, error);
    }
    export_finish(&e);
    field_set_release(fields);
    return result;
}
