/* film_reel.c: see film_reel.h. */
#include "client/hand/film_reel.h"

#include "client/link/shown.h"
#include "protocol/stream/entity_list.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT 1e-6 /* ticks: this near to a recorded one, that one is shown unchanged */

struct FilmReel {
    RecordingReader *reader;
    Scene *scene;
    EntityList entities; /* as of `now` */
    Frame *now, *next;   /* next: NULL behind the last */
    f64 tick;
    void *shown[FIELDS_MAX]; /* owned */
    const ShownPose *poses[FIELDS_MAX];
    const ShownPoint *points[FIELDS_MAX];
    ShownGrid grids[FIELDS_MAX];
    Rods rods;
    MarkList marks;
};

const RecordingHead *film_reel_head(const FilmReel *reel)
{
    return recording_reader_head(reel->reader);
}

const RecordingInfo *film_reel_info(const FilmReel *reel)
{
    return recording_reader_info(reel->reader);
}

const Scene *film_reel_scene(const FilmReel *reel)
{
    return reel->scene;
}

FilmReel *film_reel_create(const char *path, ErrorText *error)
{
    FilmReel *reel = calloc(1, sizeof *reel);
    if (reel == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    reel->reader = recording_reader_create(path, error);
    if (reel->reader != NULL) {
        const MessageWorld *world = &film_reel_head(reel)->world;
        reel->scene = scene_from_bytes(world->scene, world->scene_bytes, error);
        reel->entities.scene = reel->scene;
    }
    if (reel->scene == NULL) {
        film_reel_destroy(reel);
        return NULL;
    }
    return reel;
}

void film_reel_destroy(FilmReel *reel)
{
    if (reel == NULL) {
        return;
    }
    for (u32 f = 0; f < FIELDS_MAX; f++) {
        free(reel->shown[f]);
    }
    rods_finish(&reel->rods);
    mark_list_finish(&reel->marks);
    frame_release(reel->now);
    frame_release(reel->next);
    entity_list_finish(&reel->entities);
    scene_destroy(reel->scene);
    recording_reader_destroy(reel->reader);
    free(reel);
}

/* ---- moving ---- */

static int damaged(f64 tick, ErrorText *error)
{
    return error_set(error, ERROR_FORMAT, "the recording cannot be read at tick %.0f", tick);
}

/* Reads the frame after `next`, which becomes `now`. */
static int advance(FilmReel *reel, ErrorText *error)
{
    Frame *frame = NULL;
    int result = recording_reader_next(reel->reader, &frame, NULL, NULL);
    if (result != ERROR_OK && result != ERROR_NOT_FOUND) {
        return damaged(reel->next != NULL ? (f64)reel->next->tick + 1.0 : reel->tick, error);
    }
    if (reel->next != NULL) {
        frame_release(reel->now);
        reel->now = reel->next;
        if (entity_list_frame(&reel->entities, reel->now) != ERROR_OK) {
            frame_release(frame);
            reel->next = NULL;
            return damaged((f64)reel->now->tick, error);
        }
    }
    reel->next = result == ERROR_OK ? frame : NULL;
    return ERROR_OK;
}

static bool arrays_create(FilmReel *reel)
{
    const FieldSet *fields = reel->now->fields;
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        size_t count = (size_t)field->capacity * field->channels;
        reel->shown[f] = calloc(count + 1, shown_ops(field->kind)->bytes);
        if (reel->shown[f] == NULL) {
            return false;
        }
    }
    return true;
}

static int begin(FilmReel *reel, f64 tick, ErrorText *error)
{
    const EntityList *entities = NULL;
    u64 from = u64_max((u64)floor(tick), film_reel_info(reel)->first_tick);
    Frame *frame = NULL;
    if (recording_reader_seek(reel->reader, from) != ERROR_OK ||
        recording_reader_next(reel->reader, &frame, NULL, NULL) != ERROR_OK) {
        return damaged(tick, error);
    }
    u64 first = frame->tick;
    reel->now = frame;
    if (recording_reader_entities_at(reel->reader, first, &entities) != ERROR_OK ||
        entity_list_set(&reel->entities, frame->fields, entities->items, entities->count) !=
            ERROR_OK ||
        recording_reader_seek(reel->reader, first + 1) != ERROR_OK) {
        return damaged(tick, error);
    }
    if (!arrays_create(reel)) {
        return error_set(error, ERROR_MEMORY, "out of memory for the pictures");
    }
    return advance(reel, error);
}

int film_reel_move(FilmReel *reel, f64 tick, ErrorText *error)
{
    reel->tick = tick;
    int result = reel->now == NULL ? begin(reel, tick, error) : ERROR_OK;
    while (result == ERROR_OK && reel->next != NULL && (f64)reel->next->tick <= tick + EXACT) {
        result = advance(reel, error);
    }
    return result;
}

/* ---- showing ---- */

/* Fraction of the way from `now` to `next`, [0, 1); 0 if the two are not consecutive. */
static f32 share_of(const FilmReel *reel)
{
    if (reel->next == NULL || reel->next->tick != reel->now->tick + 1) {
        return 0.0f;
    }
    for (u32 i = 0; i < reel->next->event_count; i++) {
        if (reel->next->events[i].kind == EVENT_RESET) {
            return 0.0f;
        }
    }
    f64 share = reel->tick - (f64)reel->now->tick;
    return share > EXACT ? (f32)fmin(share, 1.0) : 0.0f;
}

static void fill_poses(const FilmReel *reel, u32 f, f32 share, ShownPose *out)
{
    const FieldDesc *field = &reel->now->fields->fields[f];
    const QPose *now = frame_poses(reel->now, f);
    const QPose *next = reel->next != NULL ? frame_poses(reel->next, f) : now;
    for (u32 i = 0; i < field->capacity; i++) {
        out[i] = (ShownPose){dequantize_position(field, now[i].position),
                             dequantize_rotation(now[i].rotation), now[i].flags, now[i].generation};
        bool same = next[i].generation == now[i].generation && (next[i].flags & POSE_LIVE) != 0;
        if (share > 0.0f && same && (now[i].flags & POSE_LIVE) != 0) {
            Vec3 to = dequantize_position(field, next[i].position);
            Quat rotation = dequantize_rotation(next[i].rotation);
            out[i].position = vec3_lerp(out[i].position, to, share);
            out[i].orientation = quat_nlerp(out[i].orientation, rotation, share);
        }
    }
}

static void fill_points(const FilmReel *reel, u32 f, f32 share, ShownPoint *out)
{
    const FieldDesc *field = &reel->now->fields->fields[f];
    const QPoint *now = frame_points(reel->now, f);
    const QPoint *next = reel->next != NULL ? frame_points(reel->next, f) : now;
    f32 rate = (f32)film_reel_head(reel)->tick_rate;
    for (u32 i = 0; i < field->capacity; i++) {
        out[i] =
            (ShownPoint){dequantize_position(field, now[i].position),
                         (f32)now[i].scalar * (1.0f / 65535.0f), now[i].generation, vec3_zero()};
        if (now[i].generation != 0 && next[i].generation == now[i].generation) {
            Vec3 to = dequantize_position(field, next[i].position);
            out[i].velocity = vec3_scale(vec3_sub(to, out[i].position), rate);
            out[i].position = vec3_lerp(out[i].position, to, share);
            out[i].scalar += share * ((f32)next[i].scalar * (1.0f / 65535.0f) - out[i].scalar);
        }
    }
}

/* Codes lie cell by cell, shown values channel by channel. */
static void fill_grid(const FilmReel *reel, u32 f, f32 share, f32 *out)
{
    const FieldDesc *field = &reel->now->fields->fields[f];
    const void *now = frame_field(reel->now, f);
    const void *next = reel->next != NULL ? frame_field(reel->next, f) : now;
    bool heights = field->kind == FIELD_GRID2;
    for (u32 c = 0; c < field->channels; c++) {
        f32 low = c == 0 ? field->value_min : 0.0f;
        f32 step = c == 0 ? field->quantum : heights ? 1.0f / 65535.0f : 1.0f / 255.0f;
        for (u32 i = 0; i < field->capacity; i++) {
            size_t at = (size_t)i * field->channels + c;
            f32 a = heights ? (f32)((const u16 *)now)[at] : (f32)((const u8 *)now)[at];
            f32 b = heights ? (f32)((const u16 *)next)[at] : (f32)((const u8 *)next)[at];
            out[(size_t)c * field->capacity + i] = low + step * (a + share * (b - a));
        }
    }
}

static bool reel_pose(const void *context, u32 field, u32 element, ShownPose *pose)
{
    const FilmReel *reel = context;
    const FieldSet *fields = reel->now->fields;
    if (field >= fields->count || fields->fields[field].kind != FIELD_POSES ||
        element >= fields->fields[field].capacity) {
        return false;
    }
    *pose = reel->poses[field][element];
    return true;
}

static void reel_scalars(const void *context, u32 field, f32 *values)
{
    const FilmReel *reel = context;
    memcpy(values, frame_field(reel->now, field),
           reel->now->fields->fields[field].capacity * sizeof *values);
}

void film_reel_show(FilmReel *reel, Picture *picture)
{
    const FieldSet *fields = reel->now->fields;
    f32 share = share_of(reel);
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        if (field->kind == FIELD_POSES) {
            fill_poses(reel, f, share, reel->shown[f]);
            reel->poses[f] = reel->shown[f];
        } else if (field->kind == FIELD_POINTS) {
            fill_points(reel, f, share, reel->shown[f]);
            reel->points[f] = reel->shown[f];
        } else if (field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3) {
            fill_grid(reel, f, share, reel->shown[f]);
            reel->grids[f] = shown_grid(field, reel->shown[f]);
        }
    }
    RodsWorld world = {.scene = reel->scene,
                       .fields = fields,
                       .entities = reel->entities.items,
                       .entity_count = reel->entities.count,
                       .entity_version = reel->entities.version,
                       .pose = reel_pose,
                       .scalars = reel_scalars,
                       .context = reel};
    reel->marks.count = 0;
    rods_collect(&reel->rods, &world, &reel->marks);
    picture->scene = reel->scene;
    picture->fields = fields;
    picture->entities = reel->entities.items;
    picture->entity_count = reel->entities.count;
    picture->entity_version = reel->entities.version;
    picture->poses = reel->poses;
    picture->points = reel->points;
    picture->grids = reel->grids;
    picture->marks = reel->marks.items;
    picture->mark_count = reel->marks.count;
}
