/*
 * field_ops.h: what the protocol must know of a kind of field: one row a kind. Whoever checks,
 * cuts, codes, coarsens or ranks fields asks the row; a new kind is a row, in a file of its own
 * (field_poses.c, field_points.c, field_grids.c, field_scalars.c), and its place in field.c.
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

/* What is far away from what, for what must count as one: something that appears. */
#define FIELD_APPEAR_ERROR_M 1.0f

/* Which codec codes spans of a kind (span.c). */
typedef enum FieldCodec {
    FIELD_CODEC_POSES,
    FIELD_CODEC_POINTS,
    FIELD_CODEC_GRIDS,
    FIELD_CODEC_COUNT
} FieldCodec;

/* What a chunk of a kind may leave out on a narrow line (snapshot_choice.c). */
typedef enum FieldCoarsening {
    FIELD_EXACT,           /* nothing */
    FIELD_COARSE_BY_PIXEL, /* what cannot be seen from where the camera is */
    FIELD_COARSE_BY_STEP,  /* a bit for each step of coarseness */
} FieldCoarsening;

/* An element as columns of unsigned numbers: how many bits each has. */
typedef struct FieldColumns {
    u32 count;
    u8 bits[FIELD_COLUMNS_MAX];
} FieldColumns;

typedef struct FieldOps {
    const char *name;
    u8 bytes;        /* of an element, a channel of it where there may be two */
    u8 channels_max; /* 1 or 2 */
    u8 axes;         /* 1: a list of `capacity` elements; 2, 3: a grid of dims */
    u8 edge[3];      /* elements of a chunk along each axis */
    u8 codec;        /* FieldCodec */
    u8 coarsening;   /* FieldCoarsening */
    u8 shift_max;    /* low bits of a value that a detail can leave out at most */
    bool thins;      /* every n-th element is enough where there are many (detail.h) */
    bool jitters;    /* moves so irregularly that its newest velocity predicts it best: codes build
                        upon states near to each other */
    u8 span_chunks;  /* most chunks of one span */
    FieldColumns columns; /* of a channel */

    /* What is this kind's own in field_check: 0 or a negative Error. */
    int (*check)(const FieldDesc *field);
    /* Dense state of n elements -> values[column][n], and back. False if a number is beyond its
     * column. */
    bool (*load)(const FieldDesc *field, u32 n, const void *state, u32 *values);
    void (*store)(const FieldDesc *field, u32 n, void *state, const u32 *values);
    /* How far apart two dense states of n elements are (chunk_state_error). */
    f32 (*error)(const FieldDesc *field, u32 n, const void *a, const void *b);
    /* detail_reduce and detail_restore of n elements; NULL: always exact. */
    void (*reduce)(const FieldDesc *field, Detail detail, void *elements, u32 n);
    void (*restore)(const FieldDesc *field, Detail detail, void *elements, u32 n);
    /* Where an element lies `share` of the way from one state of the field's elements to another
     * (a frame's data, twice the same for one moment): m, world. What is there only afterwards is
     * taken from there. False: it is not there afterwards. NULL: elements are nowhere. */
    bool (*place)(const FieldDesc *field, u32 element, const void *before, const void *after,
                  f32 share, Vec3 *position);
    /* Adds the live elements of a chunk's dense state to the bounds. NULL: they are nowhere. */
    void (*bounds)(const FieldDesc *field, u32 chunk, const void *state, Vec3 *low, Vec3 *high);
} FieldOps;

extern const FieldOps field_poses_ops, field_points_ops, field_heights_ops, field_voxels_ops,
    field_scalars_ops;

extern const FieldOps *const field_rows[FIELD_KIND_COUNT];

/* The row of a kind; that of nothing for an unknown one. */
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

static inline bool field_quantum_is_good(const FieldDesc *field)
{
    return field->quantum >= QUANTUM_MIN_M && field->quantum <= QUANTUM_MAX_M;
}

/* Distance of two positions in steps. */
static inline f32 field_step_distance(const i32 a[3], const i32 b[3])
{
    f32 x = (f32)(a[0] - b[0]), y = (f32)(a[1] - b[1]), z = (f32)(a[2] - b[2]);
    return sqrtf(x * x + y * y + z * z);
}

PL_END_C

#endif
