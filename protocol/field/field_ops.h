/*
 * field_ops.h: the operations of a kind of field, one row per kind. Code that checks, splits,
 * encodes, coarsens or ranks fields calls the row; a new kind is a row in its own file
 * (field_poses.c, field_points.c, field_grids.c, field_scalars.c) and an entry in field.c.
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_FIELD_OPS_H
#define PLENUM_PROTOCOL_FIELD_FIELD_OPS_H

#include "protocol/field/detail.h"
#include "protocol/field/field.h"

#include <math.h>

PL_BEGIN_C

enum {
    FIELD_COLUMNS_MAX = 9,
    /* Positions in columns: codes + bias as unsigned numbers. */
    FIELD_POSITION_BITS = 29,
    FIELD_POSITION_BIAS = POSITION_CODE_MAX + 1,
};

/* Error assigned to an element that appears or disappears. */
#define FIELD_APPEAR_ERROR_M 1.0f

/* The codec for spans of a kind (span.c). */
typedef enum FieldCodec {
    FIELD_CODEC_POSES,
    FIELD_CODEC_POINTS,
    FIELD_CODEC_GRIDS,
    FIELD_CODEC_COUNT
} FieldCodec;

/* How a chunk of a kind may be coarsened on a narrow link (snapshot_choice.c). */
typedef enum FieldCoarsening {
    FIELD_EXACT,           /* not at all */
    FIELD_COARSE_BY_PIXEL, /* below the resolution of the client's screen */
    FIELD_COARSE_BY_STEP,  /* one bit per level of coarseness */
} FieldCoarsening;

/* An element as columns of unsigned numbers: the number of bits of each. */
typedef struct FieldColumns {
    u32 count;
    u8 bits[FIELD_COLUMNS_MAX];
} FieldColumns;

typedef struct FieldOps {
    const char *name;
    u8 bytes;             /* of an element, per channel where there may be two */
    u8 channels_max;      /* 1 or 2 */
    u8 axes;              /* 1: a list of `capacity` elements; 2, 3: a grid of dims */
    u8 edge[3];           /* elements of a chunk along each axis */
    u8 codec;             /* FieldCodec */
    u8 coarsening;        /* FieldCoarsening */
    u8 shift_max;         /* maximal number of low bits that a detail can omit */
    bool decimates;       /* may be decimated (detail.h) */
    bool jitters;         /* moves so irregularly that its newest velocity predicts best: codes use
                        baselines close to each other */
    u8 span_chunks;       /* maximal number of chunks of one span */
    FieldColumns columns; /* of a channel */

    /* Checks specific to the kind in field_check: 0 or a negative Error. */
    int (*check)(const FieldDesc *field);
    /* Dense state of n elements -> values[column][n], and back. False if a number exceeds its
     * column. */
    bool (*load)(const FieldDesc *field, u32 n, const void *state, u32 *values);
    void (*store)(const FieldDesc *field, u32 n, void *state, const u32 *values);
    /* Distance of two dense states of n elements (chunk_state_error). */
    f32 (*error)(const FieldDesc *field, u32 n, const void *a, const void *b);
    /* detail_reduce and detail_restore of n elements; NULL: always exact. */
    void (*reduce)(const FieldDesc *field, Detail detail, void *elements, u32 n);
    void (*restore)(const FieldDesc *field, Detail detail, void *elements, u32 n);
    /* Position (m, world) of an element interpolated by `share` between two states of the
     * field's elements (frame data; the same twice for one tick). An element that exists only in
     * the later state has its position there. False: it does not exist in the later state. NULL:
     * elements have no position. */
    bool (*place)(const FieldDesc *field, u32 element, const void *before, const void *after,
                  f32 share, Vec3 *position);
    /* Adds the live elements of a chunk's dense state to the bounds. NULL: no positions. */
    void (*bounds)(const FieldDesc *field, u32 chunk, const void *state, Vec3 *low, Vec3 *high);
} FieldOps;

extern const FieldOps field_poses_ops, field_points_ops, field_heights_ops, field_voxels_ops,
    field_scalars_ops;

extern const FieldOps *const field_rows[FIELD_KIND_COUNT];

/* The row of a kind; an empty row for an unknown one. */
static inline const FieldOps *field_ops(u32 kind)
{
    return field_rows[kind < FIELD_KIND_COUNT ? kind : 0];
}

/* ---- for the rows ---- */

static inline void field_bounds_add(Vec3 *low, Vec3 *high, Vec3 p)
{
    *low = vec3_min(*low, p);
    *high = vec3_max(*high, p);
}

/* False for NaN, too. */
static inline bool field_quantum_is_valid(const FieldDesc *field)
{
    return field->quantum >= QUANTUM_MIN_M && field->quantum <= QUANTUM_MAX_M;
}

/* Distance of two positions in quantization steps. */
static inline f32 field_step_distance(const i32 a[3], const i32 b[3])
{
    f32 x = (f32)(a[0] - b[0]), y = (f32)(a[1] - b[1]), z = (f32)(a[2] - b[2]);
    return sqrtf(x * x + y * y + z * z);
}

PL_END_C

#endif
