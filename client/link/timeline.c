/*
 * timeline.c: the shown state of every chunk: its curve at the shown tick and the offsets that are
 * left of what was shown before.
 */
#include "client/link/timeline.h"

#include "client/link/curve.h"
#include "client/link/ground.h"
#include "client/link/playout.h"
#include "shared/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REST_GAP_S     1.0   /* states farther apart of which nothing is known: it rested */
#define OFFSET_MIN_M   5e-5f /* and radians: smaller offsets are none */
#define OFFSET_MIN_M_S 5e-4f
#define HIT_M_S        0.3f
#define HIT_RAD_S      3.0f

/* What is left of something shown before; rotation vectors in radians. */
typedef struct Offset {
    Vec3 position, velocity, rotation, spin;
} Offset;

/* A chunk of poses or points as it was last shown. */
typedef struct ShownChunk {
    Curve curve;
    Offset *offsets; /* [chunk_elements], NULL until the first are needed */
    bool offset;     /* some are not zero */
} ShownChunk;

struct Timeline {
    const SnapshotReceiver *receiver; /* borrowed */
    const FieldSet *fields;           /* borrowed from the receiver */
    const Ground *ground;             /* borrowed; NULL: nothing stands */
    Playout playout;
    ShownChunk *chunks[FIELDS_MAX]; /* [chunk_count] of poses and points, else NULL */
    bool news;                      /* packets came since the last advance */

    bool counted; /* a packet came */
    u16 sequence; /* of the newest packet */
    u64 newest;   /* its tick */
    u64 silent_from, silent_sure;
    u64 outage_from, outage_to; /* the last time that nothing came for long */
};

Timeline *timeline_create(const SnapshotReceiver *receiver, u32 tick_rate, u32 snapshot_rate)
{
    Timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) {
        return NULL;
    }
    timeline->receiver = receiver;
    timeline->fields = snapshot_receiver_fields(receiver);
    playout_init(&timeline->playout, tick_rate, snapshot_rate);
    for (u32 f = 0; f < timeline->fields->count; f++) {
        const FieldDesc *desc = &timeline->fields->fields[f];
        u32 chunks = chunk_count(desc);
        if ((desc->kind != FIELD_POSES && desc->kind != FIELD_POINTS) || chunks == 0) {
            continue;
        }
        timeline->chunks[f] = calloc(chunks, sizeof *timeline->chunks[f]);
        if (timeline->chunks[f] == NULL) {
            timeline_destroy(timeline);
            return NULL;
        }
    }
    return timeline;
}

void timeline_destroy(Timeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    for (u32 f = 0; f < timeline->fields->count; f++) {
        u32 chunks = timeline->chunks[f] != NULL ? chunk_count(&timeline->fields->fields[f]) : 0;
        for (u32 c = 0; c < chunks; c++) {
            free(timeline->chunks[f][c].offsets);
        }
        free(timeline->chunks[f]);
    }
    free(timeline);
}

void timeline_stand(Timeline *timeline, const Ground *ground)
{
    timeline->ground = ground;
}

/* ---- what is known ---- */

/* Of a chunk that is not in a snapshot it is known that it did not change, if all packets since its
 * newest state came and none says that it is not complete. */
static void silence_track(Timeline *timeline, const SnapshotHeader *header)
{
    u16 step = (u16)(header->sequence - timeline->sequence);
    if (timeline->counted && (step == 0 || step >= 0x8000)) {
        return; /* late: what it fills is not worth tracking */
    }
    if (!timeline->counted || step > 1) {
        timeline->silent_from = header->tick;
    }
    if (!timeline->counted || header->tick > timeline->newest) {
        if (timeline->counted &&
            (f64)(header->tick - timeline->newest) > REST_GAP_S * timeline->playout.tick_rate) {
            timeline->outage_from = timeline->newest;
            timeline->outage_to = header->tick;
        }
        timeline->silent_sure = timeline->newest;
        timeline->newest = header->tick;
    }
    if ((header->flags & SNAPSHOT_LIMITED) != 0) {
        timeline->silent_from = header->tick;
    }
    timeline->counted = true;
    timeline->sequence = header->sequence;
}

void timeline_arrival(Timeline *timeline, const SnapshotHeader *header, u64 now_ns)
{
    playout_arrival(&timeline->playout, header->tick, (f64)header->speed / 1024.0, now_ns);
    silence_track(timeline, header);
    timeline->news = true;
}

static CurveStream stream_of(const Timeline *timeline)
{
    const Playout *playout = &timeline->playout;
    f64 rate = playout->speed > 0 ? playout->rate : playout->tick_rate;
    CurveStream stream = {.newest = playout->newest,
                          .silent_from = timeline->silent_from,
                          .silent_to = timeline->newest,
                          .silent_sure = timeline->silent_sure,
                          .outage_from = timeline->outage_from,
                          .outage_to = timeline->outage_to,
                          .tick_rate = playout->tick_rate,
                          .rest_gap = REST_GAP_S * playout->tick_rate,
                          .interval = playout->interval_s * playout->tick_rate,
                          .ahead_max = PLAYOUT_EXTRAPOLATION_S * rate,
                          .running = playout->speed > 0};
    return stream;
}

/* The curve now shown; false if nothing of the chunk arrived. */
static bool curve_now(const Timeline *timeline, const CurveStream *stream, u32 field, u32 chunk,
                      Curve *curve)
{
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(timeline->receiver, field, chunk, states);
    curve_find(states, count, stream, timeline->playout.shown, curve);
    return curve->mode != CURVE_NONE;
}

/* Element i of the chunk on the curve; beyond the newest state it stays out of what stands. */
static ShownPose pose_on(const Timeline *timeline, const CurveStream *stream, u32 field, u32 chunk,
                         u32 i, const Curve *curve, f64 tick, CurveSpeed *speed)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    ShownPose pose = curve_pose(curve, stream, desc, i, tick, speed);
    if (curve->mode == CURVE_AHEAD && timeline->ground != NULL && (pose.flags & POSE_LIVE) != 0) {
        Vec3 known = curve_pose(curve, stream, desc, i, (f64)curve->to_tick, NULL).position;
        ground_hold(timeline->ground, field, chunk * CHUNK_POSES + i, pose.orientation, known,
                    &pose.position, &speed->velocity);
    }
    return pose;
}

/* ---- offsets ---- */

static Vec3 spring(Vec3 offset, Vec3 *speed, f32 dt, f32 fade)
{
    Vec3 k = vec3_add_scaled(*speed, TIMELINE_BLEND, offset);
    *speed = vec3_scale(vec3_add_scaled(*speed, -TIMELINE_BLEND * dt, k), fade);
    return vec3_scale(vec3_add_scaled(offset, dt, k), fade);
}

static f32 largest(Vec3 v)
{
    return f32_max(f32_max(fabsf(v.x), fabsf(v.y)), fabsf(v.z));
}

static bool offset_matters(const Offset *offset)
{
    return largest(offset->position) > OFFSET_MIN_M || largest(offset->velocity) > OFFSET_MIN_M_S ||
           largest(offset->rotation) > OFFSET_MIN_M || largest(offset->spin) > OFFSET_MIN_M_S;
}

/* Critically damped springs, exactly for any dt. */
static void offsets_fade(ShownChunk *chunk, u32 elements, f32 dt)
{
    static const Offset none;
    f32 fade = expf(-TIMELINE_BLEND * dt);
    chunk->offset = false;
    for (u32 i = 0; i < elements; i++) {
        Offset *offset = &chunk->offsets[i];
        offset->position = spring(offset->position, &offset->velocity, dt, fade);
        offset->rotation = spring(offset->rotation, &offset->spin, dt, fade);
        if (offset_matters(offset)) {
            chunk->offset = true;
        } else {
            *offset = none;
        }
    }
}

/* A moment of an element on a curve; pace in ticks a local second. */
typedef struct Moment {
    const Curve *curve;
    f64 tick, pace;
} Moment;

/* A speed that turned out so different was changed by a hit: what kept it would go through walls.
 */
static Vec3 unless_hit(Vec3 change, f32 most)
{
    return vec3_scale(change, f32_clamp(2.0f - vec3_length(change) / most, 0.0f, 1.0f));
}

/* What must be added at `to` so that it looks as at `from`, on top of an offset of `from`. */
static void offset_change(const Timeline *timeline, const CurveStream *stream, u32 field, u32 chunk,
                          Moment from, Moment to, u32 i, Offset *offset)
{
    static const Offset none;
    const FieldDesc *desc = &timeline->fields->fields[field];
    CurveSpeed was, is;
    bool same;
    if (desc->kind == FIELD_POSES) {
        ShownPose a = pose_on(timeline, stream, field, chunk, i, from.curve, from.tick, &was);
        ShownPose b = pose_on(timeline, stream, field, chunk, i, to.curve, to.tick, &is);
        same = a.generation == b.generation && (a.flags & b.flags & POSE_LIVE) != 0;
        offset->position = vec3_add(offset->position, vec3_sub(a.position, b.position));
        Quat turn = quat_mul(a.orientation, quat_conjugate(b.orientation));
        offset->rotation = quat_to_vector(quat_mul(quat_from_vector(offset->rotation), turn));
    } else {
        ShownPoint a = curve_point(from.curve, stream, desc, i, from.tick, &was);
        ShownPoint b = curve_point(to.curve, stream, desc, i, to.tick, &is);
        same = a.generation == b.generation && a.generation != 0;
        offset->position = vec3_add(offset->position, vec3_sub(a.position, b.position));
    }
    Vec3 velocity =
        vec3_sub(vec3_scale(was.velocity, (f32)from.pace), vec3_scale(is.velocity, (f32)to.pace));
    Vec3 spin = vec3_sub(vec3_scale(was.spin, (f32)from.pace), vec3_scale(is.spin, (f32)to.pace));
    if (from.tick == to.tick) { /* something was learnt, the tick did not jump */
        velocity = unless_hit(velocity, HIT_M_S);
        spin = unless_hit(spin, HIT_RAD_S);
    }
    offset->velocity = vec3_add(offset->velocity, velocity);
    offset->spin = vec3_add(offset->spin, spin);
    if (!same) {
        *offset = none;
    }
}

static void offsets_change(Timeline *timeline, const CurveStream *stream, u32 field, u32 index,
                           Moment from, Moment to)
{
    ShownChunk *chunk = &timeline->chunks[field][index];
    u32 elements = chunk_elements(&timeline->fields->fields[field], index);
    if (from.curve->mode == CURVE_NONE || to.curve->mode == CURVE_NONE) {
        return;
    }
    for (u32 i = 0; i < elements; i++) {
        Offset offset = {0};
        if (chunk->offset) {
            offset = chunk->offsets[i];
        }
        offset_change(timeline, stream, field, index, from, to, i, &offset);
        if (!chunk->offset && offset_matters(&offset)) {
            if (chunk->offsets == NULL) {
                chunk->offsets = malloc(elements * sizeof *chunk->offsets);
            }
            if (chunk->offsets == NULL) {
                return; /* then it jumps */
            }
            memset(chunk->offsets, 0, elements * sizeof *chunk->offsets);
            chunk->offset = true;
        }
        if (chunk->offset) {
            chunk->offsets[i] = offset;
        }
    }
}

/* From what the chunk showed at `before` to what it shows now. */
static void chunk_advance(Timeline *timeline, const CurveStream *stream, u32 field, u32 index,
                          f64 before, const PlayoutStep *step)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    ShownChunk *chunk = &timeline->chunks[field][index];
    const Playout *playout = &timeline->playout;
    f64 pace = playout->speed > 0 ? playout->pace : 0.0; /* paused, nothing swings */
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(timeline->receiver, field, index, states);
    Curve *old = &chunk->curve, then, now;
    if (old->mode != CURVE_NONE && timeline->news) {
        curve_find(states, count, stream, before, &then);
        if (!curve_same(old, &then) && curve_resolve(old, states, count)) {
            offsets_change(timeline, stream, field, index, (Moment){old, before, pace},
                           (Moment){&then, before, pace});
        }
        *old = then;
    }
    if (chunk->offset) {
        offsets_fade(chunk, chunk_elements(desc, index), (f32)step->elapsed_s);
    }
    curve_find(states, count, stream, playout->shown, &now);
    if (old->mode != CURVE_NONE && step->jumped) {
        curve_find(states, count, stream, step->from, &then);
        offsets_change(timeline, stream, field, index, (Moment){&then, step->from, step->pace_from},
                       (Moment){&now, step->to, playout->pace});
    } else if (old->mode == CURVE_AHEAD && now.mode == CURVE_HOLD) {
        /* Long not heard of while others were: it rests where it was last seen. */
        offsets_change(timeline, stream, field, index, (Moment){old, playout->shown, pace},
                       (Moment){&now, playout->shown, pace});
    }
    *old = now;
}

void timeline_advance(Timeline *timeline, u64 now_ns)
{
    bool showing = timeline->playout.showing;
    f64 before = timeline->playout.shown;
    PlayoutStep step = playout_advance(&timeline->playout, now_ns);
    CurveStream stream = stream_of(timeline);
    for (u32 f = 0; f < timeline->fields->count; f++) {
        u32 chunks = timeline->chunks[f] != NULL ? chunk_count(&timeline->fields->fields[f]) : 0;
        for (u32 c = 0; c < chunks && timeline->playout.showing; c++) {
            if (!showing) {
                timeline->chunks[f][c].curve.mode = CURVE_NONE;
            }
            chunk_advance(timeline, &stream, f, c, before, &step);
        }
    }
    timeline->news = false;
}

f64 timeline_tick(const Timeline *timeline)
{
    return timeline->playout.shown;
}

f64 timeline_delay_s(const Timeline *timeline)
{
    return playout_delay_s(&timeline->playout);
}

f64 timeline_starved(const Timeline *timeline)
{
    const Playout *playout = &timeline->playout;
    return playout->advances > 0 ? (f64)playout->starved / (f64)playout->advances : 0.0;
}

f64 timeline_jitter_s(const Timeline *timeline)
{
    return timeline->playout.jitter_s;
}

bool timeline_holding(const Timeline *timeline)
{
    return timeline->playout.holding;
}

/* ---- elements ---- */

static void pose_shift(const ShownChunk *chunk, u32 i, ShownPose *pose)
{
    if (!chunk->offset || !(pose->flags & POSE_LIVE)) {
        return;
    }
    const Offset *offset = &chunk->offsets[i];
    pose->position = vec3_add(pose->position, offset->position);
    if (vec3_length_squared(offset->rotation) > 0.0f) {
        pose->orientation =
            quat_normalize(quat_mul(quat_from_vector(offset->rotation), pose->orientation));
    }
}

static void point_shift(const ShownChunk *chunk, u32 i, ShownPoint *point)
{
    if (chunk->offset && point->generation != 0) {
        point->position = vec3_add(point->position, chunk->offsets[i].position);
    }
}

void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POSES);
    CurveStream stream = stream_of(timeline);
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        ShownPose *out = poses + (size_t)chunk * CHUNK_POSES;
        u32 elements = chunk_elements(desc, chunk);
        Curve curve;
        if (!curve_now(timeline, &stream, field, chunk, &curve)) {
            memset(out, 0, elements * sizeof *out);
            continue;
        }
        for (u32 i = 0; i < elements; i++) {
            CurveSpeed unwanted;
            out[i] = pose_on(timeline, &stream, field, chunk, i, &curve, timeline->playout.shown,
                             &unwanted);
            pose_shift(&timeline->chunks[field][chunk], i, &out[i]);
        }
    }
}

void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POINTS);
    CHECK(first <= desc->capacity && count <= desc->capacity - first);
    CurveStream stream = stream_of(timeline);
    u32 done = 0;
    while (done < count) {
        u32 chunk = (first + done) / CHUNK_POINTS;
        u32 begin = (first + done) % CHUNK_POINTS;
        u32 n = u32_min(count - done, CHUNK_POINTS - begin);
        ShownPoint *out = points + done;
        Curve curve;
        done += n;
        if (!curve_now(timeline, &stream, field, chunk, &curve)) {
            memset(out, 0, n * sizeof *out);
            continue;
        }
        for (u32 i = 0; i < n; i++) {
            out[i] = curve_point(&curve, &stream, desc, begin + i, timeline->playout.shown, NULL);
            point_shift(&timeline->chunks[field][chunk], begin + i, &out[i]);
        }
    }
}

void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points)
{
    timeline_point_range(timeline, field, 0, timeline->fields->fields[field].capacity, points);
}

bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CurveStream stream = stream_of(timeline);
    Curve curve;
    if (field >= timeline->fields->count || desc->kind != FIELD_POSES ||
        element >= desc->capacity ||
        !curve_now(timeline, &stream, field, element / CHUNK_POSES, &curve)) {
        return false;
    }
    u32 i = element % CHUNK_POSES;
    CurveSpeed unwanted;
    *pose = pose_on(timeline, &stream, field, element / CHUNK_POSES, i, &curve,
                    timeline->playout.shown, &unwanted);
    pose_shift(&timeline->chunks[field][element / CHUNK_POSES], i, pose);
    return true;
}

bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CurveStream stream = stream_of(timeline);
    Curve curve;
    if (field >= timeline->fields->count || desc->kind != FIELD_POINTS ||
        element >= desc->capacity ||
        !curve_now(timeline, &stream, field, element / CHUNK_POINTS, &curve)) {
        return false;
    }
    u32 i = element % CHUNK_POINTS;
    *point = curve_point(&curve, &stream, desc, i, timeline->playout.shown, NULL);
    point_shift(&timeline->chunks[field][element / CHUNK_POINTS], i, point);
    return true;
}

/* ---- scalars and grids ---- */

void timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_SCALARS);
    CurveStream stream = stream_of(timeline);
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        f32 *out = scalars + (size_t)chunk * CHUNK_SCALARS;
        u32 elements = chunk_elements(desc, chunk);
        Curve curve;
        if (curve_now(timeline, &stream, field, chunk, &curve)) {
            bool ended = curve_share(&curve, timeline->playout.shown) >= 1.0f;
            memcpy(out, ended ? curve.to : curve.from, elements * sizeof *out);
        } else {
            memset(out, 0, elements * sizeof *out);
        }
    }
}

/* Code of element i of a dense grid chunk. */
static u32 grid_code(const FieldDesc *desc, const u8 *state, u32 i, u32 channel)
{
    size_t at = (size_t)i * desc->channels + channel;
    u16 code;
    if (desc->kind == FIELD_GRID3) {
        return state[at];
    }
    memcpy(&code, state + at * sizeof code, sizeof code);
    return code;
}

void timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && channel < desc->channels &&
          (desc->kind == FIELD_GRID2 || desc->kind == FIELD_GRID3));
    CurveStream stream = stream_of(timeline);
    f32 scale = desc->quantum, low = desc->value_min;
    if (channel > 0) {
        scale = desc->kind == FIELD_GRID2 ? 1.0f / 65535.0f : 1.0f / 255.0f;
        low = 0.0f;
    }
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        Curve curve;
        bool known = curve_now(timeline, &stream, field, chunk, &curve);
        f32 share = known ? curve_share(&curve, timeline->playout.shown) : 0.0f;
        u32 elements = chunk_elements(desc, chunk);
        for (u32 i = 0; i < elements; i++) {
            f32 a = known ? (f32)grid_code(desc, curve.from, i, channel) : 0.0f;
            f32 b = known ? (f32)grid_code(desc, curve.to, i, channel) : 0.0f;
            values[chunk_element_index(desc, chunk, i)] = low + (a + (b - a) * share) * scale;
        }
    }
}
