/* timeline_show.c: elements of fields at the shown tick of a timeline. */
#include "client/link/timeline_internal.h"
#include "shared/base/check.h"

#include <string.h>

/* ---- state shown by the previous stream ---- */

/* The state shown by the previous stream from an element on: [count] of `bytes`. */
static bool former_get(const Timeline *timeline, u32 field, u32 first, u32 count, u32 bytes,
                       void *out)
{
    const u8 *all = timeline->former != NULL ? timeline->former->fields[field] : NULL;
    if (all != NULL) {
        memcpy(out, all + (size_t)first * bytes, (size_t)count * bytes);
    }
    return all != NULL;
}

/* ---- elements ---- */

static void pose_shift(const ChunkPiece *piece, u32 i, ShownPose *pose)
{
    if (!piece->offset || !(pose->flags & POSE_LIVE)) {
        return;
    }
    const Offset *offset = &piece->offsets[i];
    pose->position = vec3_add(pose->position, offset->position);
    if (vec3_length_squared(offset->rotation) > 0.0f) {
        pose->orientation =
            quat_normalize(quat_mul(quat_from_vector(offset->rotation), pose->orientation));
    }
}

static void point_shift(const ChunkPiece *piece, u32 i, ShownPoint *point)
{
    if (piece->offset && point->generation != 0) {
        point->position = vec3_add(point->position, piece->offsets[i - piece->begin].position);
    }
}

/* Pose of an element of a piece on its curve. */
static ShownPose pose_now(const Timeline *timeline, const CurveStream *stream, u32 field,
                          const ChunkPiece *piece, u32 i, const Curve *curve)
{
    f64 tick = timeline->playout.shown;
    Curve own;
    u32 element = piece->chunk * CHUNK_POSES + i;
    if (timeline_pose_apart(timeline, field, element, &tick)) {
        ChunkState states[CHUNK_STATES_KEPT];
        u32 count = snapshot_receiver_states(timeline->receiver, field, piece->chunk, states);
        timeline_curve_at(piece, states, count, stream, tick, &own);
        curve = own.mode != CURVE_NONE ? &own : curve;
    }
    CurveSpeed unwanted;
    ShownPose pose = timeline_pose_on(timeline, stream, field, element, curve, tick, &unwanted);
    pose_shift(piece, i, &pose);
    return pose;
}

void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POSES);
    CurveStream stream = timeline_stream(timeline);
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        ShownPose *out = poses + (size_t)chunk * CHUNK_POSES;
        const ChunkPiece *piece = timeline_piece(timeline, field, chunk, 0);
        Curve curve;
        if (!timeline_curve(timeline, &stream, field, piece, &curve)) {
            if (!former_get(timeline, field, chunk * CHUNK_POSES, piece->count, sizeof *out, out)) {
                memset(out, 0, piece->count * sizeof *out);
            }
            continue;
        }
        for (u32 i = 0; i < piece->count; i++) {
            out[i] = pose_now(timeline, &stream, field, piece, i, &curve);
        }
    }
}

void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POINTS);
    CHECK(first <= desc->capacity && count <= desc->capacity - first);
    CurveStream stream = timeline_stream(timeline);
    u32 done = 0;
    while (done < count) {
        u32 chunk = (first + done) / CHUNK_POINTS;
        u32 begin = (first + done) % CHUNK_POINTS;
        const ChunkPiece *piece = timeline_piece(timeline, field, chunk, begin);
        u32 n = u32_min(count - done, piece->begin + piece->count - begin);
        f64 tick = timeline_piece_tick(timeline, piece);
        ShownPoint *out = points + done;
        Curve curve;
        done += n;
        if (!timeline_curve(timeline, &stream, field, piece, &curve)) {
            if (!former_get(timeline, field, first + done - n, n, sizeof *out, out)) {
                memset(out, 0, n * sizeof *out);
            }
            continue;
        }
        for (u32 i = 0; i < n; i++) {
            out[i] = curve_point(&curve, &stream, desc, begin + i, tick, NULL);
            point_shift(piece, begin + i, &out[i]);
        }
    }
}

u64 timeline_phase(const Timeline *timeline, u32 field, u32 element)
{
    const Curve *curve =
        &timeline_piece(timeline, field, element / CHUNK_POINTS, element % CHUNK_POINTS)->curve;
    return curve->mode != CURVE_NONE ? curve->from_tick << 32 ^ curve->to_tick ^ 1ull << 63 : 0;
}

void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points)
{
    timeline_point_range(timeline, field, 0, timeline->fields->fields[field].capacity, points);
}

bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CurveStream stream = timeline_stream(timeline);
    u32 i = element % CHUNK_POSES;
    if (field >= timeline->fields->count || desc->kind != FIELD_POSES ||
        element >= desc->capacity) {
        return false;
    }
    const ChunkPiece *piece = timeline_piece(timeline, field, element / CHUNK_POSES, i);
    Curve curve;
    if (!timeline_curve(timeline, &stream, field, piece, &curve)) {
        return false;
    }
    *pose = pose_now(timeline, &stream, field, piece, i, &curve);
    return true;
}

bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    if (field >= timeline->fields->count || timeline->fields->fields[field].kind != FIELD_POINTS ||
        element >= timeline->fields->fields[field].capacity) {
        return false;
    }
    CurveStream stream = timeline_stream(timeline);
    u32 i = element % CHUNK_POINTS;
    const ChunkPiece *piece = timeline_piece(timeline, field, element / CHUNK_POINTS, i);
    Curve curve;
    if (!timeline_curve(timeline, &stream, field, piece, &curve)) {
        return false;
    }
    *point = curve_point(&curve, &stream, &timeline->fields->fields[field], i,
                         timeline_piece_tick(timeline, piece), NULL);
    point_shift(piece, i, point);
    return true;
}

/* ---- scalars ---- */

bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_SCALARS);
    CurveStream stream = timeline_stream(timeline);
    u32 chunks = chunk_count(desc);
    bool known = true;
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        f32 *out = scalars + (size_t)chunk * CHUNK_SCALARS;
        u32 elements = chunk_elements(desc, chunk);
        ChunkPiece all = {.chunk = chunk};
        Curve curve;
        if (timeline_curve(timeline, &stream, field, &all, &curve)) {
            bool ended = curve_share(&curve, timeline->playout.shown) >= 1.0f;
            memcpy(out, ended ? curve.to : curve.from, elements * sizeof *out);
        } else {
            (void)former_get(timeline, field, chunk * CHUNK_SCALARS, elements, sizeof *out, out);
            known = false;
        }
    }
    return known;
}

/* ---- grids ---- */

/* Value of code 0 of a channel, and of one step. */
static void grid_scale(const FieldDesc *desc, u32 channel, f32 *low, f32 *scale)
{
    *low = channel == 0 ? desc->value_min : 0.0f;
    *scale = channel == 0                ? desc->quantum
             : desc->kind == FIELD_GRID2 ? 1.0f / 65535.0f
                                         : 1.0f / 255.0f;
}

/* Interpolates a channel of a dense chunk between two states. */
static void heights_blend(const FieldDesc *desc, u32 channel, const Curve *curve, f32 share, u32 n,
                          f32 *out)
{
    const u16 *from = (const u16 *)(const void *)curve->from + channel;
    const u16 *to = (const u16 *)(const void *)curve->to + channel;
    u32 step = desc->channels;
    for (u32 i = 0; i < n; i++) {
        f32 a = (f32)from[i * step], b = (f32)to[i * step];
        out[i] = a + (b - a) * share;
    }
}

static void voxels_blend(const FieldDesc *desc, u32 channel, const Curve *curve, f32 share, u32 n,
                         f32 *out)
{
    const u8 *from = curve->from + channel, *to = curve->to + channel;
    u32 step = desc->channels;
    for (u32 i = 0; i < n; i++) {
        f32 a = (f32)from[i * step], b = (f32)to[i * step];
        out[i] = a + (b - a) * share;
    }
}

/* False: no state of the chunk is known. */
static bool chunk_values(const Timeline *timeline, const CurveStream *stream, u32 field, u32 chunk,
                         u32 channel, f32 *out)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    ChunkPiece all = {.chunk = chunk};
    Curve curve;
    f32 low, scale;
    if (!timeline_curve(timeline, stream, field, &all, &curve)) {
        return false;
    }
    u32 n = chunk_elements(desc, chunk);
    f32 share = curve_share(&curve, timeline->playout.shown);
    grid_scale(desc, channel, &low, &scale);
    if (desc->kind == FIELD_GRID2) {
        heights_blend(desc, channel, &curve, share, n, out);
    } else {
        voxels_blend(desc, channel, &curve, share, n, out);
    }
    for (u32 i = 0; i < n; i++) {
        out[i] = low + out[i] * scale;
    }
    return true;
}

bool timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && channel < desc->channels &&
          (desc->kind == FIELD_GRID2 || desc->kind == FIELD_GRID3));
    CurveStream stream = timeline_stream(timeline);
    f32 dense[CHUNK_STATE_BYTES_MAX], low, scale;
    bool known = true;
    grid_scale(desc, channel, &low, &scale);
    bool former = former_get(timeline, field, channel * desc->capacity, desc->capacity,
                             sizeof *values, values);
    for (u32 i = 0; i < desc->capacity && !former; i++) {
        values[i] = low;
    }
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        if (chunk_values(timeline, &stream, field, chunk, channel, dense)) {
            chunk_scatter_f32(desc, chunk, dense, values);
        } else {
            known = false;
        }
    }
    return known || former;
}

bool timeline_cell(const Timeline *timeline, u32 field, u32 channel, u32 element, f32 *value)
{
    if (field >= timeline->fields->count) {
        return false;
    }
    const FieldDesc *desc = &timeline->fields->fields[field];
    bool grid = desc->kind == FIELD_GRID2 || desc->kind == FIELD_GRID3;
    if (!grid || channel >= desc->channels || element >= desc->capacity) {
        return false;
    }
    CurveStream stream = timeline_stream(timeline);
    f32 dense[CHUNK_STATE_BYTES_MAX];
    u32 i, chunk = chunk_of(desc, element, &i);
    if (!chunk_values(timeline, &stream, field, chunk, channel, dense)) {
        return false;
    }
    *value = dense[i];
    return true;
}

/* ---- when ---- */

static f64 pose_tick(const Timeline *timeline, u32 field, u32 element)
{
    f64 tick = timeline->playout.shown;
    (void)timeline_pose_apart(timeline, field, element, &tick);
    return tick;
}

static f64 point_tick(const Timeline *timeline, u32 field, u32 element)
{
    u32 i, chunk = chunk_of(&timeline->fields->fields[field], element, &i);
    return timeline_piece_tick(timeline, timeline_piece(timeline, field, chunk, i));
}

f64 timeline_tick_of(const Timeline *timeline, u32 field, u32 element)
{
    static f64 (*const ticks[FIELD_KIND_COUNT])(const Timeline *, u32, u32) = {
        [FIELD_POSES] = pose_tick,
        [FIELD_POINTS] = point_tick,
    };
    bool known = field < timeline->fields->count &&
                 element < timeline->fields->fields[field].capacity &&
                 ticks[timeline->fields->fields[field].kind] != NULL;
    return known ? ticks[timeline->fields->fields[field].kind](timeline, field, element)
                 : timeline->playout.shown;
}
