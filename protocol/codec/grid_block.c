/* grid_block.c: see grid_block.h. */
#include "protocol/codec/grid_block.h"

#include "protocol/codec/chunk.h"
#include "shared/base/check.h"
#include "shared/math/simd.h"

#include <string.h>

enum {
    RIM_CELLS = GRID_RIM_MAX,
    RIM_SPACE = 2, /* cells needed by the filter in space */
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
    CHECK(field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3);
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

static void along_axis(const GridPlan *plan, const GridBox *box, u32 axis, u32 rim,
                       GridAlong *along)
{
    i32 edge = (i32)plan->edge[axis], first = box->at[axis] * edge, size = box->size[axis];
    for (i32 i = -(i32)rim; i < edge + (i32)rim; i++) {
        i32 at = first + i, last = (i32)plan->dims[axis] - 1;
        at = at < 0 ? 0 : at > last ? last : at;
        i32 chunk = at / edge;
        along[i + (i32)rim] = (GridAlong){.chunk = (i8)(chunk - box->at[axis]),
                                          .inside = (u8)(at - chunk * edge),
                                          .own = (u8)(i < 0       ? 0
                                                      : i >= size ? size - 1
                                                                  : i)};
    }
}

/* One element; `source` is a compile-time constant. */
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

/* n elements, `step` apart, from element `from` on. */
SIMD_INLINE void copy_row(const void *restrict elements, GridSource source, size_t from, u32 step,
                          u32 n, i32 *restrict out)
{
    for (u32 i = 0; i < n; i++) {
        out[i] = element(elements, source, from + (size_t)i * step);
    }
}

/* The elements of a whole row of a chunk, the common case. */
SIMD_INLINE void copy_whole(const void *restrict elements, GridSource source, size_t from, u32 n,
                            i32 *restrict out)
{
    if (n == CHUNK_CELLS_EDGE) {
        copy_row(elements, source, from, 1, CHUNK_CELLS_EDGE, out);
    } else if (n == CHUNK_VOXELS_EDGE) {
        copy_row(elements, source, from, 1, CHUNK_VOXELS_EDGE, out);
    } else {
        copy_row(elements, source, from, 1, n, out);
    }
}

static size_t row_of(const GridBox *box, u32 y, u32 z)
{
    return box->offset + ((size_t)z * box->size[1] + y) * box->size[0];
}

/* Finds the span's chunks around this one and itself, NULL if missing: [z][y][x]. */
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

/* Fills a row of a block from the chunks `near` to its left, its own and to its right. All cells
 * of the rim on one side lie in the same chunk. */
SIMD_INLINE void fill_row(const GridPicture *picture, GridSource source, const GridBox *box,
                          const GridBox *const near[3], const GridAlong *along[3], u32 rim,
                          u32 width, i32 *out)
{
    const GridAlong *ax = along[0], *ay = along[1], *az = along[2];
    const void *elements = picture->elements;
    u32 step = picture->channels, size = box->size[0], end = rim + size;
    size_t own = row_of(box, ay->own, az->own), channel = picture->channel;
    size_t from = near[1] != NULL ? row_of(near[1], ay->inside, az->inside) : own;
    if (step == 1) {
        copy_whole(elements, source, from, size, out + rim);
    } else {
        copy_row(elements, source, from * step + channel, step, size, out + rim);
    }
    if (ax[0].chunk < 0 && near[0] != NULL) {
        size_t row = row_of(near[0], ay->inside, az->inside) + ax[0].inside;
        copy_row(elements, source, row * step + channel, step, rim, out);
    } else {
        size_t at = ax[0].chunk < 0 ? own : from;
        i32 edge = element(elements, source, at * step + channel);
        for (u32 x = 0; x < rim; x++) {
            out[x] = edge;
        }
    }
    const GridBox *right = ax[end].chunk > 0 ? near[2] : NULL;
    if (right != NULL && right->size[0] >= rim) { /* it contains the whole rim */
        size_t row = row_of(right, ay->inside, az->inside);
        copy_row(elements, source, row * step + channel, step, rim, out + end);
        return;
    }
    size_t row = right != NULL       ? row_of(right, ay->inside, az->inside)
                 : ax[end].chunk > 0 ? own
                                     : from;
    for (u32 x = end; x < width; x++) {
        size_t at = row + (right != NULL || ax[end].chunk == 0 ? ax[x].inside : ax[x].own);
        out[x] = element(elements, source, at * step + channel);
    }
}

SIMD_INLINE void fill_from(const GridPlan *plan, const GridAround *around,
                           const GridPicture *picture, GridSource source, u32 rim, GridBlock *block)
{
    u32 rim_z = u32_min(rim, plan->rim_z), width = plan->edge[0] + 2 * rim;
    u32 first = plan->origin - rim - rim * plan->row - rim_z * plan->layer, left = plan->rim - rim;
    for (u32 z = 0; z < plan->edge[2] + 2 * rim_z; z++) {
        const GridAlong *az = around->along[2] + plan->rim_z - rim_z + z;
        for (u32 y = 0; y < plan->edge[1] + 2 * rim; y++) {
            const GridAlong *ay = around->along[1] + left + y;
            const GridAlong *at[3] = {around->along[0] + left, ay, az};
            fill_row(picture, source, around->box, around->near[az->chunk + 1][ay->chunk + 1], at,
                     rim, width, block->at + first + y * plan->row + z * plan->layer);
        }
    }
}

/* With `rim` as a compile-time constant. */
SIMD_INLINE void fill_rim(const GridPlan *plan, const GridAround *around,
                          const GridPicture *picture, GridSource source, u32 rim, GridBlock *block)
{
    if (rim == RIM_CELLS) {
        fill_from(plan, around, picture, source, RIM_CELLS, block);
    } else if (rim == RIM_VOXELS) {
        fill_from(plan, around, picture, source, RIM_VOXELS, block);
    } else {
        fill_from(plan, around, picture, source, RIM_SPACE, block);
    }
}

void grid_around_begin(const GridPlan *plan, u32 k, GridAround *around)
{
    const GridBox *box = around->box = &plan->boxes[k];
    const u32 rims[3] = {plan->rim, plan->rim, plan->rim_z};
    for (u32 axis = 0; axis < 3; axis++) {
        along_axis(plan, box, axis, rims[axis], around->along[axis]);
    }
    find_beside(plan, box, plan->rim_z > 0, around->near);
}

void grid_block_fill(const GridPlan *plan, const GridAround *around, const GridPicture *picture,
                     u32 rim, GridBlock *block)
{
    switch (picture->source) {
    case GRID_FROM_U8:
        fill_from(plan, around, picture, GRID_FROM_U8, RIM_VOXELS, block);
        break;
    case GRID_FROM_U16:
        fill_rim(plan, around, picture, GRID_FROM_U16, rim, block);
        break;
    case GRID_FROM_I32:
        fill_rim(plan, around, picture, GRID_FROM_I32, rim, block);
        break;
    default:
        fill_rim(plan, around, picture, GRID_FROM_I16, rim, block);
        break;
    }
}

/* ---- in time ---- */

u32 grid_time_count(const GridPlan *plan, u32 states)
{
    static const u8 counts[2][GRID_STATES + 1] = {{0, 7, 10, 11}, {0, 1, 2, 3}};
    CHECK(states <= GRID_STATES);
    return counts[plan->kind == FIELD_GRID3][states];
}

/* Eight cells of a row. */
typedef i32 Cells __attribute__((vector_size(32)));
typedef u32 Sums __attribute__((vector_size(32)));

SIMD_INLINE Cells cells_at(const i32 *at)
{
    Cells v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* For each cell of a row: the sum over the cells at (±i, ±j) and (±j, ±i), minus its own value
 * for each. */
SIMD_INLINE void ring(const i32 *row, i32 i, i32 j, i32 out[WIDE])
{
    const i32 wide = GRID_BLOCK_ROW;
    i32 a = i + j * wide, b = i - j * wide, c = j + i * wide, d = j - i * wide;
    for (u32 x = 0; x < WIDE; x += 8) {
        const i32 *at = row + x;
        Cells sum;
        if (j == 0 || i == j) { /* four of them */
            i32 e = j == 0 ? i * wide : b;
            sum = cells_at(at + a) + cells_at(at - a) + cells_at(at + e) + cells_at(at - e) -
                  4 * cells_at(at);
        } else {
            sum = cells_at(at + a) + cells_at(at - a) + cells_at(at + b) + cells_at(at - b) +
                  cells_at(at + c) + cells_at(at - c) + cells_at(at + d) + cells_at(at - d) -
                  8 * cells_at(at);
        }
        memcpy(out + x, &sum, sizeof sum);
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
    ring(a, 1, 0, features[0]);
    ring(a, 1, 1, features[1]);
    ring(a, 2, 0, features[2]);
    ring(a, 2, 1, features[3]);
    ring(a, 2, 2, features[4]);
    ring(a, 3, 0, features[5]);
    ring(a, 3, 1, features[6]);
    if (known > 1) {
        difference(b, a, WIDE, features[7]);
        ring(b, 1, 0, features[8]);
        ring(b, 1, 1, features[9]);
    }
    if (known > 2) {
        difference(c, a, WIDE, features[10]);
    }
}

/* The row predicted in time, `wide` cells. */
SIMD_INLINE void predict_row(const i32 *a, i32 features[GRID_TIME_MAX][16], const i32 *weights,
                             u32 count, i32 most, u32 wide, i32 out[16])
{
    enum {
        SHIFT = GRID_COARSE - GRID_FRACTION
    };
    for (u32 x = 0; x < wide; x += 8) {
        Sums sum = {0};
        for (u32 k = 0; k < count; k++) {
            sum += (Sums)cells_at(features[k] + x) * (u32)weights[k];
        }
        sum += 1 << (SHIFT - 1);
        Cells t = (Cells)((Sums)cells_at(a + x) << GRID_FRACTION);
        t = (Cells)((Sums)t + (Sums)((Cells)sum >> SHIFT));
        t &= ~(t >> 31);
        Cells over = t > most;
        t = (over & most) | (t & ~over);
        memcpy(out + x, &t, sizeof t);
    }
}

void grid_time_predict(const GridPlan *plan, const GridBlock *states, u32 known, u32 y, u32 z,
                       const i32 *weights, i32 out[16])
{
    i32 features[GRID_TIME_MAX][16], most = plan->most << GRID_FRACTION;
    u32 count = grid_time_count(plan, known);
    const i32 *a = states[0].at + plan->origin + y * plan->row + z * plan->layer;
    grid_time_row(plan, states, known, y, z, features);
    if (plan->kind == FIELD_GRID3) {
        predict_row(a, features, weights, count, most, CHUNK_VOXELS_EDGE, out);
    } else if (count == GRID_TIME_MAX) { /* unrolled */
        predict_row(a, features, weights, GRID_TIME_MAX, most, CHUNK_CELLS_EDGE, out);
    } else {
        predict_row(a, features, weights, count, most, CHUNK_CELLS_EDGE, out);
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
    static const i8 cells[GRID_CODED_CELLS][3] = {{-1, 0, 0}, {0, -1, 0}, {-1, -1, 0},
                                                  {1, -1, 0}, {-2, 0, 0}, {0, -2, 0}};
    static const i8 voxels[GRID_CODED_VOXELS][3] = {{-1, 0, 0},  {0, -1, 0},  {0, 0, -1},
                                                    {-1, -1, 0}, {-1, 0, -1}, {0, -1, -1},
                                                    {1, -1, 0},  {1, 0, -1},  {0, 1, -1}};
    return plan->kind == FIELD_GRID3 ? offsets_of(plan, voxels, GRID_CODED_VOXELS, offsets)
                                     : offsets_of(plan, cells, GRID_CODED_CELLS, offsets);
}

u32 grid_space_around(const GridPlan *plan, i32 offsets[GRID_SPACE_MAX])
{
    static const i8 cells[GRID_AROUND_CELLS][3] = {{-1, 0, 0}, {0, -1, 0}, {-1, -1, 0}, {1, -1, 0},
                                                   {1, 0, 0},  {0, 1, 0},  {1, 1, 0},   {-1, 1, 0}};
    static const i8 voxels[GRID_AROUND_VOXELS][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1},
                                                     {1, 0, 0},  {0, 1, 0},  {0, 0, 1}};
    return plan->kind == FIELD_GRID3 ? offsets_of(plan, voxels, GRID_AROUND_VOXELS, offsets)
                                     : offsets_of(plan, cells, GRID_AROUND_CELLS, offsets);
}
