/*
 * timeline.c: the shown state of every chunk: its curve at the shown tick plus offsets that remain
 * from what was shown before.
 */
#include "client/link/timeline_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REST_GAP_S     1.0   /* a chunk rested between states farther apart */
#define OFFSET_MIN_M   5e-5f /* and radians: smaller offsets are dropped */
#define OFFSET_MIN_M_S 5e-4f
#define HIT_M_S        0.3f
#define HIT_RAD_S      3.0f

static void pieces_finish(Pieces *pieces)
{
    for (u32 i = 0; i < pieces->count; i++) {
        free(pieces->items[i].offsets);
    }
    free(pieces->items);
    free(pieces->of_chunk);
    memset(pieces, 0, sizeof *pieces);
}

/* Splits a field into pieces at the boundaries of bodies. False: out of memory. */
static bool pieces_make(Pieces *pieces, const FieldDesc *field, u32 id, const BodyTrack *bodies,
                        u32 body_count)
{
    u32 chunks = chunk_count(field), body = 0;
    memset(pieces, 0, sizeof *pieces);
    pieces->items = calloc(chunks + 2 * (size_t)body_count, sizeof *pieces->items);
    pieces->of_chunk = calloc(chunks + 1, sizeof *pieces->of_chunk);
    if (pieces->items == NULL || pieces->of_chunk == NULL) {
        pieces_finish(pieces);
        return false;
    }
    for (u32 chunk = 0, from = 0; chunk < chunks; chunk++) {
        u32 first = from, end = from + chunk_elements(field, chunk);
        pieces->of_chunk[chunk] = pieces->count;
        while (from < end) {
            while (body < body_count &&
                   (bodies[body].range.field < id ||
                    (bodies[body].range.field == id &&
                     bodies[body].range.first + bodies[body].range.count <= from))) {
                body++;
            }
            bool any = body < body_count && bodies[body].range.field == id;
            u32 starts = any ? bodies[body].range.first : UINT32_MAX;
            u32 until = starts <= from ? starts + bodies[body].range.count : starts;
            until = u32_min(until, end);
            pieces->items[pieces->count++] = (ChunkPiece){.chunk = chunk,
                                                          .begin = from - first,
                                                          .count = until - from,
                                                          .body = starts <= from ? body + 1 : 0};
            from = until;
        }
    }
    pieces->of_chunk[chunks] = pieces->count;
    return true;
}

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
        if (curve_has_motion(desc->kind) && chunk_count(desc) > 0 &&
            !pieces_make(&timeline->pieces[f], desc, f, NULL, 0)) {
            timeline_destroy(timeline);
            return NULL;
        }
    }
    return timeline;
}

void timeline_shown_free(TimelineShown *shown)
{
    for (u32 f = 0; shown != NULL && f < shown->count; f++) {
        free(shown->fields[f]);
    }
    free(shown);
}

void timeline_inherit(Timeline *timeline, TimelineShown *shown)
{
    timeline_shown_free(timeline->former);
    timeline->former = shown;
}

void timeline_destroy(Timeline *timeline)
{
    if (timeline == NULL) {
        return;
    }
    for (u32 f = 0; f < timeline->fields->count; f++) {
        pieces_finish(&timeline->pieces[f]);
    }
    timeline_shown_free(timeline->former);
    free(timeline->bodies);
    free(timeline);
}

void timeline_set_static(Timeline *timeline, const StaticColliders *colliders)
{
    timeline->colliders = colliders;
}

void timeline_couple(Timeline *timeline, Couplings *couplings)
{
    timeline->couplings = couplings;
}

/* ---- bodies ---- */

static bool range_same(const TimelineBody *a, const TimelineBody *b)
{
    return a->field == b->field && a->first == b->first && a->count == b->count;
}

/* Keeps the shown state of pieces with unchanged boundaries. */
static void pieces_take_over(Pieces *pieces, Pieces *before)
{
    for (u32 i = 0, k = 0; i < pieces->count; i++) {
        ChunkPiece *piece = &pieces->items[i];
        while (k < before->count &&
               (before->items[k].chunk < piece->chunk || (before->items[k].chunk == piece->chunk &&
                                                          before->items[k].begin < piece->begin))) {
            k++;
        }
        ChunkPiece *old = k < before->count ? &before->items[k] : NULL;
        if (old != NULL && old->chunk == piece->chunk && old->begin == piece->begin &&
            old->count == piece->count && (old->body == 0) == (piece->body == 0)) {
            piece->curve = old->curve;
            piece->offsets = old->offsets;
            piece->offset = old->offset;
            old->offsets = NULL;
        }
    }
}

static bool bodies_changed(const Timeline *timeline, const TimelineBody *bodies, u32 count)
{
    bool changed = timeline->body_count != count;
    for (u32 i = 0; i < count && !changed; i++) {
        changed = !range_same(&timeline->bodies[i].range, &bodies[i]);
    }
    return changed;
}

bool timeline_bodies(Timeline *timeline, const TimelineBody *bodies, u32 count)
{
    if (!bodies_changed(timeline, bodies, count)) {
        return true;
    }
    BodyTrack *made = calloc(u32_max(count, 1), sizeof *made);
    if (made == NULL) {
        return false;
    }
    for (u32 i = 0, k = 0; i < count; i++) {
        made[i].range = bodies[i];
        while (k < timeline->body_count && (timeline->bodies[k].range.field < bodies[i].field ||
                                            (timeline->bodies[k].range.field == bodies[i].field &&
                                             timeline->bodies[k].range.first < bodies[i].first))) {
            k++;
        }
        if (k < timeline->body_count && range_same(&timeline->bodies[k].range, &bodies[i])) {
            made[i] = timeline->bodies[k];
        }
    }
    Pieces pieces[FIELDS_MAX] = {0};
    bool good = true;
    for (u32 f = 0; f < timeline->fields->count && good; f++) {
        if (timeline->fields->fields[f].kind == FIELD_POINTS && timeline->pieces[f].count > 0) {
            good = pieces_make(&pieces[f], &timeline->fields->fields[f], f, made, count);
        }
    }
    for (u32 f = 0; f < timeline->fields->count; f++) {
        if (good && pieces[f].count > 0) {
            Pieces before = timeline->pieces[f];
            pieces_take_over(&pieces[f], &before);
            timeline->pieces[f] = pieces[f];
            pieces[f] = before;
        }
        pieces_finish(&pieces[f]);
    }
    if (!good) {
        free(made);
        return false;
    }
    free(timeline->bodies);
    timeline->bodies = made;
    timeline->body_count = count;
    return true;
}

/* ---- what is known ---- */

/* A chunk missing from a snapshot is known to be unchanged if all packets since its newest state
 * arrived and none was marked incomplete. */
static void silence_track(Timeline *timeline, const SnapshotHeader *header)
{
    u16 step = (u16)(header->sequence - timeline->sequence);
    if (timeline->counted && (step == 0 || step >= 0x8000)) {
        return; /* late: not worth tracking */
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

CurveStream timeline_stream(const Timeline *timeline)
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

void timeline_curve_at(const ChunkPiece *piece, const ChunkState *states, u32 count,
                       const CurveStream *stream, f64 tick, Curve *curve)
{
    if (piece->body != 0 && count > 0) {
        tick = fmin(tick, (f64)states[0].tick);
    }
    curve_find(states, count, stream, tick, curve);
    curve->whole = piece->body != 0;
}

f64 timeline_piece_tick(const Timeline *timeline, const ChunkPiece *piece)
{
    return piece->body != 0 ? timeline->bodies[piece->body - 1].clock.tick
                            : timeline->playout.shown;
}

bool timeline_curve(const Timeline *timeline, const CurveStream *stream, u32 field,
                    const ChunkPiece *piece, Curve *curve)
{
    if (piece->body != 0 && !timeline->bodies[piece->body - 1].clock.showing) {
        return false;
    }
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(timeline->receiver, field, piece->chunk, states);
    timeline_curve_at(piece, states, count, stream, timeline_piece_tick(timeline, piece), curve);
    return curve->mode != CURVE_NONE;
}

const ChunkPiece *timeline_piece(const Timeline *timeline, u32 field, u32 chunk, u32 i)
{
    const Pieces *pieces = &timeline->pieces[field];
    const ChunkPiece *piece = &pieces->items[pieces->of_chunk[chunk]];
    while (i >= piece->begin + piece->count) {
        piece++;
    }
    return piece;
}

bool timeline_pose_apart(const Timeline *timeline, u32 field, u32 element, f64 *tick)
{
    return timeline->couplings != NULL && couplings_tick(timeline->couplings, field, element, tick);
}

ShownPose timeline_pose_on(const Timeline *timeline, const CurveStream *stream, u32 field,
                           u32 element, const Curve *curve, f64 tick, CurveSpeed *speed)
{
    u32 i = element % CHUNK_POSES;
    const FieldDesc *desc = &timeline->fields->fields[field];
    ShownPose pose = curve_pose(curve, stream, desc, i, tick, speed);
    if (curve->mode == CURVE_EXTRAPOLATED && timeline->colliders != NULL &&
        (pose.flags & POSE_LIVE) != 0) {
        Vec3 known = curve_pose(curve, stream, desc, i, (f64)curve->to_tick, NULL).position;
        static_colliders_hold(timeline->colliders, field, element, pose.orientation, known,
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
           largest(offset->rotation) > OFFSET_MIN_M ||
           largest(offset->angular_velocity) > OFFSET_MIN_M_S;
}

/* Critically damped springs, exact for any dt. */
static void offsets_fade(ChunkPiece *piece, f32 dt)
{
    static const Offset none;
    f32 fade = expf(-TIMELINE_BLEND * dt);
    piece->offset = false;
    for (u32 i = 0; i < piece->count; i++) {
        Offset *offset = &piece->offsets[i];
        offset->position = spring(offset->position, &offset->velocity, dt, fade);
        offset->rotation = spring(offset->rotation, &offset->angular_velocity, dt, fade);
        if (offset_matters(offset)) {
            piece->offset = true;
        } else {
            *offset = none;
        }
    }
}

/* An element on a curve at a tick; pace in ticks per local second. */
typedef struct ShownMoment {
    const Curve *curve;
    f64 tick, pace;
} ShownMoment;

/* A large change of velocity is an impact: keeping the old velocity would pass through walls. */
static Vec3 unless_hit(Vec3 change, f32 most)
{
    return vec3_scale(change, f32_clamp(2.0f - vec3_length(change) / most, 0.0f, 1.0f));
}

/* The offset to be added at the second of two moments so that element i of the chunk is shown as at
 * the first, on top of an offset of the first. For a body only the shape is kept: it is blended
 * from one shape to the other, so that intermediate shapes are no more stretched than these two. */
static void offset_change(const Timeline *timeline, const CurveStream *stream, u32 field,
                          const ChunkPiece *piece, const ShownMoment moments[2], u32 i,
                          Offset *offset)
{
    ShownMoment from = moments[0], to = moments[1];
    static const Offset none;
    const FieldDesc *desc = &timeline->fields->fields[field];
    CurveSpeed was, is;
    bool same;
    if (desc->kind == FIELD_POSES) {
        u32 element = piece->chunk * CHUNK_POSES + i;
        ShownPose a =
            timeline_pose_on(timeline, stream, field, element, from.curve, from.tick, &was);
        ShownPose b = timeline_pose_on(timeline, stream, field, element, to.curve, to.tick, &is);
        same = a.generation == b.generation && (a.flags & b.flags & POSE_LIVE) != 0;
        offset->position = vec3_add(offset->position, vec3_sub(a.position, b.position));
        Quat rotation = quat_mul(a.orientation, quat_conjugate(b.orientation));
        offset->rotation = quat_to_vector(quat_mul(quat_from_vector(offset->rotation), rotation));
    } else {
        ShownPoint a = curve_point(from.curve, stream, desc, i, from.tick, &was);
        ShownPoint b = curve_point(to.curve, stream, desc, i, to.tick, &is);
        same = a.generation == b.generation && a.generation != 0;
        offset->position = vec3_add(offset->position, vec3_sub(a.position, b.position));
    }
    Vec3 velocity =
        vec3_sub(vec3_scale(was.velocity, (f32)from.pace), vec3_scale(is.velocity, (f32)to.pace));
    Vec3 angular_velocity = vec3_sub(vec3_scale(was.angular_velocity, (f32)from.pace),
                                     vec3_scale(is.angular_velocity, (f32)to.pace));
    if (from.tick == to.tick) { /* new information arrived, the tick did not jump */
        velocity = unless_hit(velocity, HIT_M_S);
        angular_velocity = unless_hit(angular_velocity, HIT_RAD_S);
    }
    if (piece->body == 0) {
        offset->velocity = vec3_add(offset->velocity, velocity);
        offset->angular_velocity = vec3_add(offset->angular_velocity, angular_velocity);
    }
    if (!same) {
        *offset = none;
    }
}

static void offsets_change(Timeline *timeline, const CurveStream *stream, u32 field,
                           ChunkPiece *piece, ShownMoment from, ShownMoment to)
{
    if (from.curve->mode == CURVE_NONE || to.curve->mode == CURVE_NONE) {
        return;
    }
    const ShownMoment moments[2] = {from, to};
    bool poses = timeline->fields->fields[field].kind == FIELD_POSES;
    for (u32 i = 0; i < piece->count; i++) {
        f64 own;
        if (poses && timeline_pose_apart(timeline, field, piece->chunk * CHUNK_POSES + i, &own)) {
            continue; /* it is not on this curve */
        }
        Offset offset = {0};
        if (piece->offset) {
            offset = piece->offsets[i];
        }
        offset_change(timeline, stream, field, piece, moments, piece->begin + i, &offset);
        if (!piece->offset && offset_matters(&offset)) {
            if (piece->offsets == NULL) {
                piece->offsets = malloc(piece->count * sizeof *piece->offsets);
            }
            if (piece->offsets == NULL) {
                return; /* then it jumps */
            }
            memset(piece->offsets, 0, piece->count * sizeof *piece->offsets);
            piece->offset = true;
        }
        if (piece->offset) {
            piece->offsets[i] = offset;
        }
    }
}

/* ---- on with time ---- */

/* The range of ticks known for all chunks of a body. */
static BodyKnown body_known(const Timeline *timeline, const CurveStream *stream,
                            const BodyTrack *body)
{
    const FieldDesc *desc = &timeline->fields->fields[body->range.field];
    BodyKnown known = {true, true, 0.0, INFINITY};
    u32 first = body->range.first / CHUNK_POINTS;
    u32 last = (body->range.first + body->range.count - 1) / CHUNK_POINTS;
    for (u32 chunk = first; chunk <= last && chunk < chunk_count(desc); chunk++) {
        ChunkState states[CHUNK_STATES_KEPT];
        u32 count = snapshot_receiver_states(timeline->receiver, body->range.field, chunk, states);
        body_known_add(&known, states, count, stream);
    }
    return known;
}

static void bodies_advance(Timeline *timeline, const CurveStream *stream, f64 before,
                           const PlayoutStep *step)
{
    const Playout *playout = &timeline->playout;
    BodyPace pace = {.shown = playout->shown,
                     .moved = (step->jumped ? step->from : playout->shown) - before,
                     .newest = (f64)playout->newest,
                     .rate = playout->tick_rate,
                     .elapsed_s = step->elapsed_s};
    for (u32 i = 0; i < timeline->body_count; i++) {
        BodyTrack *body = &timeline->bodies[i];
        body->before = body->clock.tick;
        body->jumped = body_clock_step(&body->clock, body_known(timeline, stream, body), &pace);
    }
    if (timeline->couplings != NULL) {
        couplings_advance(timeline->couplings, timeline->receiver, stream, &pace, timeline->news);
    }
}

/* Advances a piece from its last shown state to the current one. */
static void piece_advance(Timeline *timeline, const CurveStream *stream, u32 field,
                          ChunkPiece *piece, f64 before, const PlayoutStep *step)
{
    const Playout *playout = &timeline->playout;
    const BodyTrack *body = piece->body != 0 ? &timeline->bodies[piece->body - 1] : NULL;
    f64 pace = playout->speed > 0 ? playout->pace : 0.0; /* paused: no oscillation */
    if (body != NULL && !body->clock.showing) {
        piece->curve.mode = CURVE_NONE;
        return;
    }
    f64 shown = timeline_piece_tick(timeline, piece);
    if (body != NULL) {
        before = body->before;
        piece->offset = piece->offset && !body->jumped;
    }
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(timeline->receiver, field, piece->chunk, states);
    Curve *old = &piece->curve, then, now;
    bool jumped = step->jumped && body == NULL;
    if (body != NULL && body->jumped) {
        old->mode = CURVE_NONE;
    }
    if (old->mode != CURVE_NONE && timeline->news) {
        timeline_curve_at(piece, states, count, stream, before, &then);
        if (!curve_same(old, &then) && curve_resolve(old, states, count)) {
            offsets_change(timeline, stream, field, piece, (ShownMoment){old, before, pace},
                           (ShownMoment){&then, before, pace});
        }
        *old = then;
    }
    if (piece->offset) {
        offsets_fade(piece, (f32)step->elapsed_s);
    }
    timeline_curve_at(piece, states, count, stream, shown, &now);
    if (old->mode != CURVE_NONE && jumped) {
        timeline_curve_at(piece, states, count, stream, step->from, &then);
        offsets_change(timeline, stream, field, piece,
                       (ShownMoment){&then, step->from, step->pace_from},
                       (ShownMoment){&now, step->to, pace});
    } else if (old->mode == CURVE_EXTRAPOLATED && now.mode == CURVE_HOLD) {
        /* Not updated for long while others were: it rests at its last position. */
        offsets_change(timeline, stream, field, piece, (ShownMoment){old, shown, pace},
                       (ShownMoment){&now, shown, pace});
    }
    *old = now;
}

void timeline_advance(Timeline *timeline, u64 now_ns)
{
    bool showing = timeline->playout.showing;
    f64 before = timeline->playout.shown;
    PlayoutStep step = playout_advance(&timeline->playout, now_ns);
    if (!timeline->playout.showing) {
        return;
    }
    CurveStream stream = timeline_stream(timeline);
    bodies_advance(timeline, &stream, showing ? before : timeline->playout.shown, &step);
    for (u32 f = 0; f < timeline->fields->count; f++) {
        Pieces *pieces = &timeline->pieces[f];
        for (u32 i = 0; i < pieces->count; i++) {
            if (!showing) {
                pieces->items[i].curve.mode = CURVE_NONE;
            }
            piece_advance(timeline, &stream, f, &pieces->items[i], before, &step);
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
