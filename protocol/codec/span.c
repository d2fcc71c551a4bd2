/*
 * span.c: selects the codec of a field's kind, or the plain code, which always fits.
 */
#include "protocol/codec/span.h"
#include "protocol/codec/grid_code.h"
#include "protocol/codec/grid_tables.h"
#include "protocol/codec/point_code.h"
#include "protocol/codec/point_tables.h"
#include "protocol/codec/pose_code.h"
#include "protocol/codec/pose_tables.h"
#include "protocol/field/field_ops.h"
#include "shared/base/check.h"
#include "shared/base/error.h"
#include "shared/base/hash.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROTATION_BITS = 10, /* as in quantize_rotation */
};

PL_STATIC_ASSERT((int)SPAN_STATES == (int)POSE_STATES, "the codecs see what a span has");
PL_STATIC_ASSERT((int)SPAN_STATES == (int)POINT_STATES, "the codecs see what a span has");
PL_STATIC_ASSERT((int)SPAN_STATES == (int)GRID_STATES, "the codecs see what a span has");
PL_STATIC_ASSERT((int)POINT_CHUNK == (int)CHUNK_POINTS, "a codec of points knows their chunks");
PL_STATIC_ASSERT(SPAN_CHUNKS_LONG *CHUNK_POINTS <= POINT_SPAN_MAX, "any span of points fits");

struct SpanCoder {
    MixTables pose_tables;
    PoseCodec *poses;
    PointTables point_tables;
    PointCodec *points;
    MixTables grid_tables;
    GridCodec *grids;
    bool chained;
};

SpanCoder *span_coder_create(void)
{
    return calloc(1, sizeof(SpanCoder));
}

void span_coder_destroy(SpanCoder *coder)
{
    if (coder == NULL) {
        return;
    }
    if (coder->poses != NULL) {
        pose_codec_destroy(coder->poses);
        mix_tables_destroy(&coder->pose_tables);
    }
    point_codec_destroy(coder->points);
    if (coder->grids != NULL) {
        grid_codec_destroy(coder->grids);
        mix_tables_destroy(&coder->grid_tables);
    }
    free(coder);
}

static void chain_poses(const SpanCoder *coder)
{
    if (coder->chained && coder->poses != NULL) {
        pose_codec_chain(coder->poses);
    }
}

static void chain_points(const SpanCoder *coder)
{
    if (coder->chained && coder->points != NULL) {
        point_codec_chain(coder->points);
    }
}

static void chain_grids(const SpanCoder *coder)
{
    if (coder->chained && coder->grids != NULL) {
        grid_codec_chain(coder->grids);
    }
}

void span_coder_chain(SpanCoder *coder)
{
    coder->chained = true;
    chain_poses(coder);
    chain_points(coder);
    chain_grids(coder);
}

u32 span_chunks_max(const FieldDesc *field)
{
    return field_ops(field->kind)->span_chunks;
}

u32 span_chunks_long(const FieldDesc *field)
{
    const FieldOps *ops = field_ops(field->kind);
    return ops->codec == FIELD_CODEC_POINTS ? (u32)SPAN_CHUNKS_LONG : ops->span_chunks;
}

u32 span_state_bytes(const FieldDesc *field, const u16 *chunks, u32 count)
{
    u32 bytes = 0;
    for (u32 i = 0; i < count; i++) {
        bytes += chunk_state_bytes(field, chunks[i]);
    }
    return bytes;
}

void span_gather(const FieldDesc *field, const u16 *chunks, u32 count, const void *elements,
                 u8 *states)
{
    for (u32 i = 0; i < count; i++) {
        chunk_gather(field, chunks[i], elements, states);
        states += chunk_state_bytes(field, chunks[i]);
    }
}

u16 span_state_hash(const FieldDesc *field, const u16 *chunks, u32 count, const void *states)
{
    return (u16)hash_bytes(states, span_state_bytes(field, chunks, count), 0);
}

/* ---- plain ---- */

static u32 fallback_encode(const Span *span, const u8 *now, u8 *out, u32 capacity)
{
    const u8 *base = span->state[0];
    u8 code[CHUNK_CODE_BYTES_MAX];
    u32 used = 0, at = 0;
    for (u32 i = 0; i < span->count; i++) {
        u32 size = chunk_encode(span->field, span->chunks[i], now + at,
                                base != NULL ? base + at : NULL, code);
        if (used + size > capacity) {
            return 0;
        }
        memcpy(out + used, code, size);
        used += size;
        at += chunk_state_bytes(span->field, span->chunks[i]);
    }
    return used;
}

static int fallback_decode(const Span *span, const u8 *code, u32 bytes, u8 *now)
{
    const u8 *base = span->state[0];
    u32 used = 0, at = 0;
    for (u32 i = 0; i < span->count; i++) {
        int size = chunk_decode(span->field, span->chunks[i], code + used, bytes - used,
                                base != NULL ? base + at : NULL, now + at);
        if (size < 0) {
            return size;
        }
        used += (u32)size;
        at += chunk_state_bytes(span->field, span->chunks[i]);
    }
    return used == bytes ? ERROR_OK : ERROR_FORMAT;
}

/* ---- poses ---- */

static bool poses_ready(SpanCoder *coder)
{
    if (coder->poses != NULL) {
        return true;
    }
    if (!pose_tables_load(&coder->pose_tables)) {
        return false;
    }
    coder->poses = pose_codec_create(&coder->pose_tables);
    if (coder->poses == NULL) {
        mix_tables_destroy(&coder->pose_tables);
    }
    chain_poses(coder);
    return coder->poses != NULL;
}

static PoseSpan poses_of(const Span *span)
{
    PoseSpan poses = {.rotation_bits = ROTATION_BITS,
                      .rotation_shift = detail_rotation_shift(span->detail)};
    poses.count = span_state_bytes(span->field, span->chunks, span->count) / (u32)sizeof(QPose);
    for (u32 s = 0; s < SPAN_STATES && span->state[s] != NULL; s++) {
        poses.state[s] = span->state[s];
        poses.back[s] = span->back[s];
    }
    return poses;
}

static bool poses_reserve(SpanCoder *coder, const FieldDesc *field)
{
    PL_UNUSED(field);
    return poses_ready(coder);
}

static u32 poses_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity)
{
    PoseSpan poses = poses_of(span);
    return poses_ready(coder) ? pose_encode(coder->poses, &poses, now, out, capacity) : 0;
}

static bool poses_decode(SpanCoder *coder, const Span *span, const u8 *code, u32 bytes, void *now)
{
    PoseSpan poses = poses_of(span);
    if (poses_ready(coder)) {
        pose_decode(coder->poses, &poses, code, bytes, now);
    }
    return coder->poses != NULL;
}

/* ---- points ---- */

static bool points_ready(SpanCoder *coder)
{
    if (coder->points == NULL && point_tables_load(&coder->point_tables)) {
        coder->points = point_codec_create(&coder->point_tables);
        chain_points(coder);
    }
    return coder->points != NULL;
}

static PointSpan points_of(const SpanCoder *coder, const Span *span)
{
    PointSpan points = {.chunks = coder->chained ? span->chunks : NULL, .field = span->field->id};
    points.count = span_state_bytes(span->field, span->chunks, span->count) / (u32)sizeof(QPoint);
    for (u32 s = 0; s < SPAN_STATES && span->state[s] != NULL; s++) {
        points.state[s] = span->state[s];
        points.back[s] = span->back[s];
    }
    return points;
}

static bool points_reserve(SpanCoder *coder, const FieldDesc *field)
{
    PL_UNUSED(field);
    return points_ready(coder);
}

static u32 points_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity)
{
    PointSpan points = points_of(coder, span);
    return points_ready(coder) ? point_encode(coder->points, &points, now, out, capacity) : 0;
}

static bool points_decode(SpanCoder *coder, const Span *span, const u8 *code, u32 bytes, void *now)
{
    PointSpan points = points_of(coder, span);
    if (points_ready(coder)) {
        point_decode(coder->points, &points, code, bytes, now);
    }
    return coder->points != NULL;
}

/* ---- grids and scalars ---- */

static bool grids_ready(SpanCoder *coder)
{
    if (coder->grids != NULL) {
        return true;
    }
    if (!grid_tables_load(&coder->grid_tables)) {
        return false;
    }
    coder->grids = grid_codec_create(&coder->grid_tables);
    if (coder->grids == NULL) {
        mix_tables_destroy(&coder->grid_tables);
    }
    chain_grids(coder);
    return coder->grids != NULL;
}

static GridSpan grids_of(const Span *span)
{
    GridSpan grids = {.field = span->field, .count = span->count, .chunks = span->chunks};
    for (u32 s = 0; s < SPAN_STATES && span->state[s] != NULL; s++) {
        grids.state[s] = span->state[s];
        grids.back[s] = span->back[s];
    }
    return grids;
}

static bool grids_reserve(SpanCoder *coder, const FieldDesc *field)
{
    return grids_ready(coder) && grid_codec_reserve(coder->grids, field);
}

static u32 grids_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity)
{
    GridSpan grids = grids_of(span);
    return grids_ready(coder) ? grid_encode(coder->grids, &grids, now, out, capacity) : 0;
}

static bool grids_decode(SpanCoder *coder, const Span *span, const u8 *code, u32 bytes, void *now)
{
    GridSpan grids = grids_of(span);
    return grids_ready(coder) && grid_decode(coder->grids, &grids, code, bytes, now);
}

/* ---- any kind ---- */

static const struct {
    bool (*reserve)(SpanCoder *coder, const FieldDesc *field);
    /* 0: does not fit, or out of memory. */
    u32 (*encode)(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity);
    /* False: out of memory. */
    bool (*decode)(SpanCoder *coder, const Span *span, const u8 *code, u32 bytes, void *now);
} codecs[FIELD_CODEC_COUNT] = {
    [FIELD_CODEC_POSES] = {poses_reserve, poses_encode, poses_decode},
    [FIELD_CODEC_POINTS] = {points_reserve, points_encode, points_decode},
    [FIELD_CODEC_GRIDS] = {grids_reserve, grids_encode, grids_decode},
};

bool span_coder_reserve(SpanCoder *coder, const FieldSet *fields)
{
    bool good = true;
    for (u32 f = 0; f < fields->count && good; f++) {
        const FieldDesc *field = &fields->fields[f];
        good = codecs[field_ops(field->kind)->codec].reserve(coder, field);
    }
    return good;
}

u32 span_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity,
                bool *fallback)
{
    CHECK(span->count >= 1 && span->count <= span_chunks_long(span->field));
    CHECK(now != NULL && out != NULL);
    u32 codec = field_ops(span->field->kind)->codec;
    CHECK(codec < FIELD_CODEC_COUNT);
    u32 size = codecs[codec].encode(coder, span, now, out, capacity);
    CHECK(size <= capacity);
    *fallback = size == 0;
    /* Noise is smaller in plain codes; a single chunk of it must fit. */
    if (size == 0 && span->count == 1) {
        size = fallback_encode(span, now, out, capacity);
    }
    return size;
}

int span_decode(SpanCoder *coder, const Span *span, bool fallback, const u8 *code, u32 bytes,
                void *now)
{
    if (fallback) {
        return fallback_decode(span, code, bytes, now);
    }
    u32 codec = field_ops(span->field->kind)->codec;
    return codecs[codec].decode(coder, span, code, bytes, now) ? ERROR_OK : ERROR_MEMORY;
}
