/*
 * grid_block.h: the chunks of a span as blocks of a picture: a chunk with a rim of its surroundings
 * in the span, and the filters that predict it. For grid_code.c.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_GRID_BLOCK_H
#define PLENUM_PROTOCOL_CODEC_GRID_BLOCK_H

#include "protocol/codec/grid_code.h"

enum {
    GRID_ELEMENTS_MAX = 512, /* of a chunk */
    GRID_CHANNELS = 2,
    /* A block: the largest chunk with its rim on all sides; row stride is a multiple of 8. */
    GRID_BLOCK_ROW = 24,
    GRID_VOXEL_ROW = 16,
    GRID_VOXEL_LAYER = 160,
    GRID_RIM_MAX = 3,
    GRID_EDGE_MAX = 16,
    GRID_BLOCK_MAX = 2112,
    GRID_TIME_MAX = 11,   /* features of the filter in time */
    GRID_SPACE_MAX = 16,  /* and in space */
    GRID_CODED_CELLS = 6, /* of these the causal cells, and cells around it in the predicted
                             picture */
    GRID_AROUND_CELLS = 8,
    GRID_CODED_VOXELS = 9,
    GRID_AROUND_VOXELS = 6,
    GRID_COARSE = 8, /* weights have 8 fractional bits */
    GRID_WEIGHT_MAX = 4095,
    GRID_FRACTION = 4, /* predicted values have 4 */
};

/* Position of a chunk. */
typedef struct GridBox {
    u32 offset; /* of its first element in dense states, elements */
    u16 at[3];  /* chunk coordinates */
    u16 size[3];
} GridBox;

/* A chunk and its rim: element (x, y, z) is at[origin + x + y × row + z × layer]. */
typedef struct GridBlock {
    i32 at[GRID_BLOCK_MAX];
} GridBlock;

/* Geometry of a span. */
typedef struct GridPlan {
    u32 kind, channels, edge[3], dims[3], across[3]; /* chunks along each axis */
    u32 rim, rim_z, origin, row, layer;              /* of its blocks */
    i32 most;                                        /* largest value */
    u32 count, elements;                             /* chunks, elements in all of them */
    const GridBox *boxes;                            /* [count] */
    const u32 *where; /* [chunks of the field] index in the span, or UINT32_MAX */
} GridPlan;

/* Source of a block position along an axis: the previous, the same or the next chunk. */
typedef struct GridAlong {
    i8 chunk;  /* −1, 0, 1 */
    u8 inside; /* index in that chunk */
    u8 own;    /* nearest index in this chunk */
} GridAlong;

/* A chunk and its neighbours. */
typedef struct GridAround {
    const GridBox *box;
    const GridBox *near[3][3][3]; /* [z][y][x]: itself in the centre; NULL: not in the span */
    GridAlong along[3][GRID_EDGE_MAX + 2 * GRID_RIM_MAX]; /* starting plan->rim before the chunk */
} GridAround;

/* Element type from which a block is filled. */
typedef enum GridSource {
    GRID_FROM_U8,
    GRID_FROM_U16,
    GRID_FROM_I32,
    GRID_FROM_I16,
} GridSource;

typedef struct GridPicture {
    const void *elements; /* of all chunks, dense */
    GridSource source;
    u32 channels, channel;
} GridPicture;

/* Sets kind, sizes and the geometry of blocks; the caller sets boxes and where. */
void grid_plan_begin(GridPlan *plan, const FieldDesc *field);
GridBox grid_plan_box(const GridPlan *plan, u32 chunk);
/* Determines the surroundings of chunk `k` of the span. */
void grid_around_begin(const GridPlan *plan, u32 k, GridAround *around);
/* Fills the block of that chunk and `rim` around it (≤ plan->rim). Positions outside the field
 * take the nearest value in the field; positions in no chunk of the span take the nearest value
 * in the chunk. */
void grid_block_fill(const GridPlan *plan, const GridAround *around, const GridPicture *picture,
                     u32 rim, GridBlock *block);

/* Number of features of the filter in time for `states` known states. */
u32 grid_time_count(const GridPlan *plan, u32 states);
/* Computes features[count][edge x] of row (y, z) from the blocks of the states. */
void grid_time_row(const GridPlan *plan, const GridBlock *states, u32 known, u32 y, u32 z,
                   i32 features[GRID_TIME_MAX][16]);
/* Predicts the row in time, in 16ths, within 0..most. */
void grid_time_predict(const GridPlan *plan, const GridBlock *states, u32 known, u32 y, u32 z,
                       const i32 *weights, i32 out[16]);

/* Offsets in a block, relative to the next cell, of causal cells and of cells around it. */
u32 grid_space_coded(const GridPlan *plan, i32 offsets[GRID_SPACE_MAX]);
u32 grid_space_around(const GridPlan *plan, i32 offsets[GRID_SPACE_MAX]);

#endif
