/* grid_block.c: see grid_block.h. */
#include "protocol/grid_block.h"

#include "protocol/chunk.h"
#include "shared/check.h"

#include <string.h>

enum {
    RIM_CELLS = 3,
    RIM_VOXELS = 1,
    VOXEL_ROW = 16,
    WIDE = 16 /* of a row of features */
};

PL_STATIC_ASSERT((CHUNK_CELLS_EDGE + 2 * RIM_CELLS) * GRID_BLOCK_ROW <= GRID_BLOCK_MAX,
                 "cells fit the block");
PL_STATIC_ASSERT((CHUNK_VOXELS_EDGE + 2) * (CHUNK_VOXELS_EDGE + 2) * VOXEL_ROW + VOXEL_ROW <=
                     GRID_BLOCK_MAX,
                 "voxels fit the block");

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
                       .row = deep ? VOXEL_ROW : GRID_BLOCK_ROW,
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

static i32 element(const GridPicture *p, size_t i)
{
    switch (p->source) {
    case GRID_FROM_U8:
        return ((const u8 *)p->elements)[i];
    case GRID_FROM_U16:
        return ((const u16 *)p->elements)[i];
    case GRID_FROM_I32:
        return ((const i32 *)p->elements)[i];
    default:
        return ((const i16 *)p->elements)[i];
    }
}

/* n elements from element `from` on. */
static void copy_row(const GridPicture *p, size_t from, u32 n, i32 *out)
{
    size_t step = p->channels;
    from = from * step + p->channel;
    switch (p->source) {
    case GRID_FROM_U8:
        for (u32 i = 0; i < n; i++) {
            out[i] = ((const u8 *)p->elements)[from + i * step];
        }
        break;
    case GRID_FROM_U16:
        for (u32 i = 0; i < n; i++) {
            out[i] = ((const u16 *)p->elements)[from + i * step];
        }
        break;
    case GRID_FROM_I32:
        memcpy(out, (const i32 *)p->elements + from, n * sizeof *out);
        break;
    default:
        for (u32 i = 0; i < n; i++) {
            out[i] = ((const i16 *)p->elements)[from + i * step];
        }
        break;
    }
}

static size_t row_of(const GridBox *box, u32 y, u32 z)
{
    return box->offset + ((size_t)z * box->size[1] + y) * box->size[0];
}

/* The span's chunk beside this one, or NULL. */
static const GridBox *beside(const GridPlan *plan, const GridBox *box, i32 x, i32 y, i32 z)
{
    u32 chunk = (u32)(box->at[0] + x) +
                plan->across[0] * ((u32)(box->at[1] + y) + plan->across[1] * (u32)(box->at[2] + z));
    u32 k = plan->where[chunk];
    return k != UINT32_MAX ? &plan->boxes[k] : NULL;
}

void grid_block_fill(const GridPlan *plan, u32 k, const GridPicture *picture, u32 rim,
                     GridBlock *block)
{
    const GridBox *box = &plan->boxes[k];
    Along along[3][WIDE + 2 * RIM_CELLS];
    u32 rims[3] = {rim, rim, u32_min(rim, plan->rim_z)};
    for (u32 axis = 0; axis < 3; axis++) {
        along_axis(plan, box, axis, rims[axis], along[axis]);
    }
    u32 step = picture->channels, width = plan->edge[0] + 2 * rim;
    for (u32 z = 0; z < plan->edge[2] + 2 * rims[2]; z++) {
        const Along *az = &along[2][z];
        for (u32 y = 0; y < plan->edge[1] + 2 * rim; y++) {
            const Along *ay = &along[1][y];
            u32 before = rim + rim * plan->row + rims[2] * plan->layer;
            i32 *out = block->at + (plan->origin + y * plan->row + z * plan->layer - before);
            const GridBox *middle = beside(plan, box, 0, ay->chunk, az->chunk);
            size_t own = row_of(box, ay->own, az->own), from = own;
            if (middle != NULL) {
                from = row_of(middle, ay->inside, az->inside);
            }
            copy_row(picture, from, box->size[0], out + rim);
            for (u32 x = 0; x < width; x++) {
                if (x == rim) {
                    x += box->size[0];
                }
                const Along *ax = &along[0][x];
                const GridBox *there = beside(plan, box, ax->chunk, ay->chunk, az->chunk);
                size_t at = own + ax->own;
                if (there != NULL) {
                    at = row_of(there, ay->inside, az->inside) + ax->inside;
                }
                out[x] = element(picture, at * step + picture->channel);
            }
        }
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
