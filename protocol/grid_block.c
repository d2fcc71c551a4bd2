/* grid_block.c: see grid_block.h. */
#include "protocol/grid_block.h"

#include "protocol/chunk.h"
#include "shared/check.h"
#include "shared/simd.h"

#include <string.h>

enum {
    RIM_CELLS = 3,
    RIM_VOXELS = 1,
    WIDE = 16 /* of a row of features */
};

PL_STATIC_ASSERT((CHUNK_CELLS_EDGE + 2 * RIM_CELLS) * GRID_BLOCK_ROW <= GRID_BLOCK_MAX,
                 "cells fit the block");
PL_STATIC_ASSERT((CHUNK_VOXELS_EDGE + 2) * GRID_VOXEL_LAYER + GRID_VOXEL_ROW <= GRID_BLOCK_MAX,
                 "voxels fit the block");
PL_STATIC_ASSERT(GRID_VOXEL_LAYER == (CHUNK_VOXELS_EDGE + 2 * RIM_VOXELS) * GRID_VOXEL_ROW,
                 "a layer of voxels has so many rows");

void grid_plan_begin(GridPlan *plan, const FieldDesc *field)
{
    bool deep = field->kind == FIELD_GRID3;
    u32 edge = deep ? CHUNK_VOXELS_EDGE : CHUNK_CELLS_EDGE;
    *plan = (GridPlan){.kind = field->kind,
                       .channels = field->channels,
                       .edge = {edge, edge, deep ? edge : 1},
                       .dims = {field->dims[0], field->dims[1], deep ? field->dims[2] : 1},
                       .rim = deep ? RIM_VOXELS : RIM_CELLS,
                       .rim_z = deep ? RIM_VOXELS : 0,
                       .row = deep ? GRID_VOXEL_ROW : GRID_BLOCK_ROW,
                       .most = deep ? 255 : 65535};
    plan->layer = (edge + 2 * plan->rim) * plan->row;
    plan->origin = plan->rim_z * plan->layer + plan->rim * plan->row + plan->rim;
    for (u32 axis = 0; axis < 3; axis++) {
        plan->across[axis] = (plan->dims[axis] + plan->edge[axis] - 1) / plan->edge[axis];
    }
}

GridBox grid_plan_box(const GridPlan *plan, u32 chunk)
{
    GridBox box = {0};
    for (u32 axis = 0; axis < 3; axis++) {
        u32 at = chunk % plan->across[axis];
        chunk /= plan->across[axis];
        box.at[axis] = (u16)at;
        box.size[axis] = (u16)u32_min(plan->edge[axis], plan->dims[axis] - at * plan->edge[axis]);
    }
    return box;
}

/* ---- blocks ---- */

/* Where along an axis the place i of a block lies: in the chunk before, this or the one after. */
typedef struct Along {
    i8 chunk;  /* −1, 0, 1 */
    u8 inside; /* of that chunk */
    u8 own;    /* nearest place in this chunk */
} Along;

static void along_axis(const GridPlan *plan, const GridBox *box, u32 axis, u32 rim, Along *along)
{
    i32 edge = (i32)plan->edge[axis], first = box->at[axis] * edge, size = box->size[axis];
    for (i32 i = -(i32)rim; i < edge + (i32)rim; i++) {
        i32 at = first + i, last = (i32)plan->dims[axis] - 1;
        at = at < 0 ? 0 : at > last ? last : at;
        i32 chunk = at / edge;
        along[i + (i32)rim] = (Along){.chunk = (i8)(chunk - box->at[axis]),
                                      .inside = (u8)(at - chunk * edge),
                                      .own = (u8)(i < 0       ? 0
                                                  : i >= size ? size - 1
                                                              : i)};
    }
}

/* An element, with the source as a constant. */
SIMD_INLINE i32 element(const void *elements, GridSource source, size_t i)
{
    switch (source) {
    case GRID_FROM_U8:
        return ((const u8 *)elements)[i];
    case GRID_FROM_U16:
        return ((const u16 *)elements)[i];
    case GRID_FROM_I32:
        return ((const i32 *)elements)[i];
    default:
        return ((const i16 *)elements)[i];
    }
}

/* n elements from element `from` on. */
SIMD_INLINE void copy_row(const void *restrict elements, GridSource source, size_t from, u32 step,
                          u32 n, i32 *restrict out)
{
    if (step == 1 && n == CHUNK_CELLS_EDGE) { /* unrolled: most rows are such */
        for (u32 i = 0; i < CHUNK_CELLS_EDGE; i++) {
            out[i] = element(elements, source, from + i);
        }
    } else if (step == 1 && n == CHUNK_VOXELS_EDGE) {
        for (u32 i = 0; i < CHUNK_VOXELS_EDGE; i++) {
            out[i] = element(elements, source, from + i);
        }
    } else {
        for (u32 i = 0; i < n; i++) {
            out[i] = element(elements, source, from + (size_t)i * step);
        }
    }
}

static size_t row_of(const GridBox *box, u32 y, u32 z)
{
    return box->offset + ((size_t)z * box->size[1] + y) * box->size[0];
}

/* The span's chunks about this one and itself, NULL where there is none: [z][y][x]. */
static void find_beside(const GridPlan *plan, const GridBox *box, bool deep,
                        const GridBox *near[3][3][3])
{
    for (i32 n = deep ? 0 : 9; n < (deep ? 27 : 18); n++) {
        i32 by[3] = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        u32 chunk = 0, inside = 1;
        for (u32 axis = 3; axis-- > 0;) {
            i32 at = box->at[axis] + by[axis];
            inside &= at >= 0 && at < (i32)plan->across[axis];
            chunk = chunk * plan->across[axis] + (u32)at;
        }
        u32 k = inside != 0 ? plan->where[chunk] : UINT32_MAX;
        near[n / 9][n / 3 % 3][n % 3] = k != UINT32_MAX ? &plan->boxes[k] : NULL;
    }
}

/* A row of a block, from the chunks `near` on its left, of its own and on its right. All places of
 * the rim on one side lie in the same chunk. */
SIMD_INLINE void fill_row(const GridPicture *picture, GridSource source, const GridBox *box,
                          const GridBox *const near[3], const Along *along[3], u32 rim, u32 width,
                          i32 *out)
{
    const Along *ax = along[0], *ay = along[1], *az = along[2];
    size_t own = row_of(box, ay->own, az->own);
    u32 step = picture->channels;
    size_t from = near[1] != NULL ? row_of(near[1], ay->inside, az->inside) : own;
    copy_row(picture->elements, source, from * step + picture->channel, step, box->size[0],
             out + rim);
    for (u32 side = 0; side < 2; side++) {
        u32 x = side == 0 ? 0 : rim + box->size[0], end = side == 0 ? rim : width;
        const GridBox *there = near[ax[x].chunk + 1];
        size_t row = there != NULL ? row_of(there, ay->inside, az->inside) : own;
        for (; x < end; x++) {
            size_t at = row + (there != NULL ? ax[x].inside : ax[x].own);
            out[x] = element(picture->elements, source, at * step + picture->channel);
        }
    }
}

SIMD_INLINE void fill_from(const GridPlan *plan, u32 k, const GridPicture *picture,
                           GridSource source, u32 rim, GridBlock *block)
{
    const GridBox *box = &plan->boxes[k], *near[3][3][3];
    Along along[3][WIDE + 2 * RIM_CELLS];
    u32 rims[3] = {rim, rim, u32_min(rim, plan->rim_z)}, width = plan->edge[0] + 2 * rim;
    for (u32 axis = 0; axis < 3; axis++) {
        along_axis(plan, box, axis, rims[axis], along[axis]);
    }
    find_beside(plan, box, rims[2] > 0, near);
    u32 first = plan->origin - rim - rim * plan->row - rims[2] * plan->layer;
    for (u32 z = 0; z < plan->edge[2] + 2 * rims[2]; z++) {
        for (u32 y = 0; y < plan->edge[1] + 2 * rim; y++) {
            const Along *at[3] = {along[0], &along[1][y], &along[2][z]};
            fill_row(picture, source, box, near[at[2]->chunk + 1][at[1]->chunk + 1], at, rim, width,
                     block->at + first + y * plan->row + z * plan->layer);
        }
    }
}

void grid_block_fill(const GridPlan *plan, u32 k, const GridPicture *picture, u32 rim,
                     GridBlock *block)
{
    switch (picture->source) {
    case GRID_FROM_U8:
        fill_from(plan, k, picture, GRID_FROM_U8, rim, block);
        break;
    case GRID_FROM_U16:
        fill_from(plan, k, picture, GRID_FROM_U16, rim, block);
        break;
    case GRID_FROM_I32:
        fill_from(plan, k, picture, GRID_FROM_I32, rim, block);
        break;
    default:
        fill_from(plan, k, picture, GRID_FROM_I16, rim, block);
        break;
    }
}

/* ---- in time ---- */

u32 grid_time_count(const GridPlan *plan, u32 states)
{
    static const u8 counts[2][GRID_STATES + 1] = {{0, 7, 10, 11}, {0, 1, 2, 3}};
    return counts[plan->kind == FIELD_GRID3][states];
}

/* Sum over the cells at distance (±i, ±j) and (±j, ±i), less the middle for each. */
static void ring(const i32 *at, i32 row, i32 i, i32 j, i32 out[WIDE])
{
    i32 a = i + j * row, b = i - j * row, c = j + i * row, d = j - i * row;
    if (j == 0 || i == j) { /* four of them */
        i32 e = j == 0 ? i * row : b;
        for (u32 x = 0; x < WIDE; x++) {
            out[x] = at[(i32)x + a] + at[(i32)x - a] + at[(i32)x + e] + at[(i32)x - e] - 4 * at[x];
        }
        return;
    }
    for (u32 x = 0; x < WIDE; x++) {
        i32 s = (i32)x;
        out[x] = at[s + a] + at[s - a] + at[s + b] + at[s - b] + at[s + c] + at[s - c] + at[s + d] +
                 at[s - d] - 8 * at[x];
    }
}

static void difference(const i32 *a, const i32 *b, u32 n, i32 *out)
{
    for (u32 x = 0; x < n; x++) {
        out[x] = a[x] - b[x];
    }
}

void grid_time_row(const GridPlan *plan, const GridBlock *states, u32 known, u32 y, u32 z,
                   i32 features[GRID_TIME_MAX][16])
{
    i32 row = (i32)plan->row, layer = (i32)plan->layer;
    size_t from = plan->origin + y * plan->row + z * plan->layer;
    const i32 *a = states[0].at + from, *b = states[1].at + from, *c = states[2].at + from;
    if (known == 0) {
        return;
    }
    if (plan->kind == FIELD_GRID3) {
        for (u32 x = 0; x < CHUNK_VOXELS_EDGE; x++) {
            i32 s = (i32)x;
            features[0][x] = a[s - 1] + a[s + 1] + a[s - row] + a[s + row] + a[s - layer] +
                             a[s + layer] - 6 * a[x];
        }
        if (known > 1) {
            difference(b, a, CHUNK_VOXELS_EDGE, features[1]);
        }
        if (known > 2) {
            difference(c, a, CHUNK_VOXELS_EDGE, features[2]);
        }
        return;
    }
    static const u8 rings[7][2] = {{1, 0}, {1, 1}, {2, 0}, {2, 1}, {2, 2}, {3, 0}, {3, 1}};
    for (u32 k = 0; k < PL_COUNT(rings); k++) {
        ring(a, row, rings[k][0], rings[k][1], features[k]);
    }
    if (known > 1) {
        difference(b, a, WIDE, features[7]);
        ring(b, row, 1, 0, features[8]);
        ring(b, row, 1, 1, features[9]);
    }
    if (known > 2) {
        difference(c, a, WIDE, features[10]);
    }
}

void grid_time_foretell(const GridPlan *plan, const GridBlock *states, u32 known, u32 y, u32 z,
                        const i32 *weights, i32 out[16])
{
    i32 features[GRID_TIME_MAX][16];
    u32 sums[16] = {0}, count = grid_time_count(plan, known), wide = plan->edge[0];
    const i32 *a = states[0].at + plan->origin + y * plan->row + z * plan->layer;
    grid_time_row(plan, states, known, y, z, features);
    for (u32 k = 0; k < count; k++) {
        u32 weight = (u32)weights[k];
        for (u32 x = 0; x < wide; x++) {
            sums[x] += (u32)features[k][x] * weight;
        }
    }
    enum {
        SHIFT = GRID_COARSE - GRID_FRACTION
    };
    i32 most = plan->most << GRID_FRACTION;
    for (u32 x = 0; x < wide; x++) {
        i32 t = a[x] * (1 << GRID_FRACTION) + ((i32)(sums[x] + (1 << (SHIFT - 1))) >> SHIFT);
        out[x] = t < 0 ? 0 : t > most ? most : t;
    }
}

/* ---- in space ---- */

static u32 offsets_of(const GridPlan *plan, const i8 (*places)[3], u32 count, i32 *offsets)
{
    for (u32 k = 0; k < count; k++) {
        offsets[k] = places[k][0] + places[k][1] * (i32)plan->row + places[k][2] * (i32)plan->layer;
    }
    return count;
}

u32 grid_space_coded(const GridPlan *plan, i32 offsets[GRID_SPACE_MAX])
{
    static const i8 cells[6][3] = {{-1, 0, 0}, {0, -1, 0}, {-1, -1, 0},
                                   {1, -1, 0}, {-2, 0, 0}, {0, -2, 0}};
    static const i8 voxels[9][3] = {{-1, 0, 0},  {0, -1, 0}, {0, 0, -1}, {-1, -1, 0}, {-1, 0, -1},
                                    {0, -1, -1}, {1, -1, 0}, {1, 0, -1}, {0, 1, -1}};
    return plan->kind == FIELD_GRID3 ? offsets_of(plan, voxels, 9, offsets)
                                     : offsets_of(plan, cells, 6, offsets);
}

u32 grid_space_around(const GridPlan *plan, i32 offsets[GRID_SPACE_MAX])
{
    static const i8 cells[8][3] = {{-1, 0, 0}, {0, -1, 0}, {-1, -1, 0}, {1, -1, 0},
                                   {1, 0, 0},  {0, 1, 0},  {1, 1, 0},   {-1, 1, 0}};
    static const i8 voxels[6][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1},
                                    {1, 0, 0},  {0, 1, 0},  {0, 0, 1}};
    return plan->kind == FIELD_GRID3 ? offsets_of(plan, voxels, 6, offsets)
                                     : offsets_of(plan, cells, 8, offsets);
}
