/* near.c: the neighbours of items (Ihmsen et al. 2011). */
#include "server/physics/liquid/grid.h"
#include "server/physics/liquid/near8.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    CANDIDATES_MAX = 4096, /* of one cell; more are dropped */
    EIGHTS_MAX = 512,
    LIST = LIQUID_NEIGHBOURS_MAX + 24
};

/* Candidates of the items within a box. */
typedef struct Candidates {
    u32 count;
    f32 low[3], high[3]; /* m */
    u64 lanes[256];
    /* Eights of items that are to be tested: where they begin, and how many of them belong here.
     * One loop over all: the short runs of cells would each end with a wrong guess of the
     * machine. */
    u32 eights;
    i32 begins[EIGHTS_MAX + SIMD_LANES], left[EIGHTS_MAX + SIMD_LANES];
    _Alignas(32) f32 x[CANDIDATES_MAX + 16], y[CANDIDATES_MAX + 16], z[CANDIDATES_MAX + 16];
    _Alignas(32) u32 item[CANDIDATES_MAX + 16];
} Candidates;

/* Writes the lanes of the mask in order; up to eight numbers are written in any case. */
SIMD_INLINE void pack_lanes(u32 *to, i32x8 from, u64 order)
{
#if defined(__AVX2__)
    __m256i lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)order));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32((__m256i)from, lanes));
#else
    for (u32 l = 0; l < SIMD_LANES; l++, order >>= 8) {
        to[l] = (u32)from[order & 7];
    }
#endif
}

SIMD_INLINE i32x8 load_items(const u32 *item)
{
    i32x8 v;
    memcpy(&v, item, sizeof v);
    return v;
}

/* Distance of x from an interval. */
SIMD_INLINE f32x8 beyond(f32x8 x, f32x8 low, f32x8 high)
{
    return x - f32x8_min(f32x8_max(x, low), high);
}

/* Coordinates of items in the order of the search, one axis after the other: `bins` is free until
 * the coarse level is built. */
static f32 *search_axis(const Liquid *liquid, u32 axis)
{
    u32 stride = (liquid->items + 2 * SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES;
    return &liquid->bins->x + (size_t)axis * stride;
}
_Static_assert(8 * LIQUID_PAD >= 3 * (2 * SIMD_LANES - 1), "the axes of one item fit into `bins`");

static void copy_places(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 k = first; k < end; k += SIMD_LANES) {
        f32x8 at[4];
        if (liquid->moved_since) {
            gather_fours(liquid->place, liquid->order + k, at);
        } else {
            load_fours(liquid->place + k, at);
        }
        for (u32 a = 0; a < 3; a++) {
            f32x8_store(search_axis(liquid, a) + k, at[a]);
        }
    }
}

SIMD_INLINE f32x8 load_any(const f32 *at)
{
    f32x8 v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Candidates among the eights: those within reach of the box. */
static void test_eights(const Liquid *liquid, Candidates *all)
{
    const f32 *x = search_axis(liquid, 0), *y = search_axis(liquid, 1);
    const f32 *z = search_axis(liquid, 2);
    const u32 *numbers = liquid->moved_since ? liquid->order : NULL;
    Vec3x8 low = vec3x8_set(vec3(all->low[0], all->low[1], all->low[2]));
    Vec3x8 high = vec3x8_set(vec3(all->high[0], all->high[1], all->high[2]));
    f32x8 most = f32x8_set(1.001f * (liquid->search_reach * liquid->search_reach));
    u32 count = all->count, eights = all->eights;
    for (u32 e = 0; e < eights && count < CANDIDATES_MAX; e++) {
        u32 k = (u32)all->begins[e], left = (u32)all->left[e];
        i32x8 item =
            numbers != NULL ? load_items(numbers + k) : (i32)k + (i32x8){0, 1, 2, 3, 4, 5, 6, 7};
        Vec3x8 at = {load_any(x + k), load_any(y + k), load_any(z + k)};
        Vec3x8 off = {beyond(at.x, low.x, high.x), beyond(at.y, low.y, high.y),
                      beyond(at.z, low.z, high.z)};
        u32 bits = i32x8_bits(vec3x8_dot(off, off) < most);
        bits &= left < SIMD_LANES ? (1u << left) - 1 : 0xff;
        u64 order = all->lanes[bits];
        pack_lanes((u32 *)(void *)(all->x + count), (i32x8)at.x, order);
        pack_lanes((u32 *)(void *)(all->y + count), (i32x8)at.y, order);
        pack_lanes((u32 *)(void *)(all->z + count), (i32x8)at.z, order);
        pack_lanes(all->item + count, item, order);
        count += (u32)__builtin_popcount(bits);
    }
    all->count = count;
    all->eights = 0;
}

/* Adds the items [first, end) of the order of the search. */
static inline void add_run(const Liquid *liquid, Candidates *all, u32 first, u32 end)
{
    const i32x8 lane = {0, 1, 2, 3, 4, 5, 6, 7};
    for (u32 k = first; k < end; k += SIMD_LANES * SIMD_LANES) {
        if (all->eights > EIGHTS_MAX - SIMD_LANES) {
            test_eights(liquid, all);
        }
        i32x8 begins = (i32)k + SIMD_LANES * lane, left = (i32)(end - k) - SIMD_LANES * lane;
        memcpy(all->begins + all->eights, &begins, sizeof begins);
        memcpy(all->left + all->eights, &left, sizeof left);
        all->eights += u32_min((end - k + SIMD_LANES - 1) / SIMD_LANES, SIMD_LANES);
    }
}

/* The cells around those that overlap the box, row by row. */
static void find_candidates(const Liquid *liquid, Candidates *all)
{
    u32 width = 1u << liquid->cell_bits[0];
    f32 per_cell = 1.0f / liquid_cell_size(liquid), reach = liquid->search_reach;
    const u32 *starts = liquid->moved_since ? liquid->search_starts : liquid->cell_starts;
    i32 low[3], high[3];
    for (u32 a = 0; a < 3; a++) {
        low[a] = axis_of(all->low[a] - reach, per_cell);
        high[a] = axis_of(all->high[a] + reach, per_cell);
        high[a] = i32_min(high[a], low[a] + (i32)(1u << liquid->cell_bits[a]) - 1);
    }
    u32 cells = (u32)(high[0] - low[0]) + 1, from = (u32)low[0] & (width - 1);
    u32 inside = u32_min(cells, width - from); /* cells before the row wraps */
    all->count = all->eights = 0;
    for (i32 z = low[2]; z <= high[2]; z++) {
        for (i32 y = low[1]; y <= high[1]; y++) {
            const i32 row[3] = {0, y, z};
            const u32 *of = starts + cell_number(liquid, row);
            add_run(liquid, all, of[from], of[from + inside]);
            if (inside < cells) {
                add_run(liquid, all, of[0], of[cells - inside]);
            }
        }
    }
    test_eights(liquid, all);
    for (u32 k = all->count; k < all->count + 8; k++) {
        all->x[k] = all->y[k] = all->z[k] = 3e7f;
        all->item[k] = liquid->items;
    }
}

/* The items from `first` on that lie in a box no larger than a cell, and their candidates; returns
 * their end. */
static u32 find_group(const Liquid *liquid, u32 first, u32 end, Candidates *all)
{
    f32 size = liquid_cell_size(liquid);
    Vec3 low = vec3_of(&liquid->place[first]), high = low;
    u32 i = first + 1;
    for (; i < end; i++) {
        Vec3 at = vec3_of(&liquid->place[i]);
        Vec3 least = vec3_min(low, at), most = vec3_max(high, at), wide = vec3_sub(most, least);
        if (!(f32_max(wide.x, f32_max(wide.y, wide.z)) <= size)) {
            break;
        }
        low = least;
        high = most;
    }
    memcpy(all->low, &low, sizeof all->low);
    memcpy(all->high, &high, sizeof all->high);
    find_candidates(liquid, all);
    return i;
}

/* The lanes of a mask in order, a byte each. */
static void fill_lanes(u64 lanes[256])
{
    lanes[0] = 0;
    for (u32 l = 0; l < SIMD_LANES; l++) { /* each lane behind those before it */
        for (u32 bits = 0; bits < 1u << l; bits++) {
            lanes[bits | 1u << l] = lanes[bits] | (u64)l << (8 * __builtin_popcount(bits));
        }
    }
}

static u32 find_near(const Candidates *all, const Four *at, f32 reach2, u32 *near)
{
    f32x8 x = f32x8_set(at->x), y = f32x8_set(at->y), z = f32x8_set(at->z);
    f32x8 most = f32x8_set(reach2);
    u32 found = 0;
    for (u32 k = 0; k < all->count && found <= LIQUID_NEIGHBOURS_MAX; k += SIMD_LANES) {
        f32x8 dx = f32x8_load(all->x + k) - x, dy = f32x8_load(all->y + k) - y;
        f32x8 dz = f32x8_load(all->z + k) - z;
        u32 bits = i32x8_bits(dx * dx + dy * dy + dz * dz < most);
        pack_lanes(near + found, load_items(all->item + k), all->lanes[bits]);
        found += (u32)__builtin_popcount(bits);
    }
    return found;
}

/* The lists of the items of a slice, as rows from `start` on; the rest of it is the dummy. Returns
 * the rows. */
static u32 write_slice(Liquid *liquid, u32 first, u32 lanes, u32 start, u32 lists[SIMD_LANES][LIST])
{
    u32 rows = 0;
    for (u32 l = 0; l < lanes; l++) {
        rows = u32_max(rows, liquid->near_count[first + l]);
    }
    liquid->near_rows[first / SIMD_LANES] = (u8)rows;
    liquid->near_start[first / SIMD_LANES] = start;
    i32x8 dummy = (i32)liquid->items - (i32x8){0};
    u32 whole = (rows + SIMD_LANES - 1) / SIMD_LANES * SIMD_LANES; /* written eight at a time */
    for (u32 l = 0; l < SIMD_LANES; l++) {
        u32 k = l < lanes ? liquid->near_count[first + l] : 0;
        for (; k < whole; k += SIMD_LANES) {
            memcpy(&lists[l][k], &dummy, sizeof dummy);
        }
    }
    NearRow *to = &liquid->near[start];
    for (u32 k = 0; k < rows; k += SIMD_LANES) {
        f32x8 m[SIMD_LANES];
        for (u32 l = 0; l < SIMD_LANES; l++) {
            m[l] = (f32x8)(load_items(&lists[l][k]) * (i32)sizeof(Four));
        }
        f32x8_transpose(m);
        for (u32 l = 0; l < SIMD_LANES; l++) {
            f32x8_store((f32 *)(void *)to[k + l].item, m[l]);
        }
    }
    return rows;
}

void liquid_neighbours_find(Liquid *liquid, u32 first, u32 end)
{
    f32 reach = liquid->search_reach;
    Candidates all;
    _Alignas(32) u32 lists[SIMD_LANES][LIST];
    u32 group = first, start = first / SIMD_LANES * LIQUID_NEIGHBOURS_MAX;
    fill_lanes(all.lanes);
    for (u32 i = first; i < end; i++) {
        u32 lane = i % SIMD_LANES;
        group = i == group ? find_group(liquid, i, end, &all) : group;
        u32 found = find_near(&all, &liquid->place[i], reach * reach, lists[lane]);
        liquid->crowded[i] = found > LIQUID_NEIGHBOURS_MAX;
        liquid->near_count[i] = (u8)u32_min(found, LIQUID_NEIGHBOURS_MAX);
        if (lane + 1 == SIMD_LANES || i + 1 == end) {
            start += write_slice(liquid, i - lane, lane + 1, start, lists);
        }
    }
}

/* Restores whole slices after lists got shorter. */
static void fill_slices(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i += SIMD_LANES) {
        u32 rows = liquid->near_rows[i / SIMD_LANES];
        for (u32 l = 0; l < lanes_of(i, end); l++) {
            for (u32 k = liquid->near_count[i + l]; k < rows; k++) {
                *near_at(liquid, i + l, k) = liquid->items * (u32)sizeof(Four);
            }
        }
    }
}

static bool has_neighbour(const Liquid *liquid, u32 i, u32 j)
{
    for (u32 k = 0; k < liquid->near_count[i]; k++) {
        if (*near_at(liquid, i, k) == j * sizeof(Four)) {
            return true;
        }
    }
    return false;
}

/* If a list is full, the neighbours that it lacks drop the item, too: otherwise momentum would not
 * be conserved. */
static void make_mutual(Liquid *liquid)
{
    for (u32 i = 0; i < liquid->items; i++) {
        u32 kept = 0;
        for (u32 k = 0; k < liquid->near_count[i]; k++) {
            u32 j = *near_at(liquid, i, k) / (u32)sizeof(Four);
            if (!liquid->crowded[j] || has_neighbour(liquid, j, i)) {
                *near_at(liquid, i, kept++) = j * (u32)sizeof(Four);
            }
        }
        liquid->dropped += liquid->near_count[i] - kept;
        liquid->near_count[i] = (u8)kept;
    }
}

static void find_cells_again(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 per_cell = 1.0f / liquid_cell_size(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const Four *at = &liquid->place[i];
        const i32 cell[3] = {axis_of(at->x, per_cell), axis_of(at->y, per_cell),
                             axis_of(at->z, per_cell)};
        liquid->cell_of[i] = cell_number(liquid, cell);
    }
}

/* Items keep their numbers in a tick; `order` lists them by the cells where they are now. */
static bool order_again(Liquid *liquid)
{
    u32 cells = 1u << (liquid->cell_bits[0] + liquid->cell_bits[1] + liquid->cell_bits[2]);
    if (!memory_grow((void **)&liquid->search_starts, &liquid->search_capacity, cells + 2,
                     sizeof *liquid->search_starts)) {
        return false;
    }
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, find_cells_again, liquid);
    liquid_sort_by_cell(liquid, liquid->search_starts, NULL, liquid->order);
    for (u32 i = liquid->items; i < liquid->items + LIQUID_PAD; i++) {
        liquid->order[i] = liquid->items;
    }
    return true;
}

bool liquid_neighbours_begin(Liquid *liquid)
{
    f32 d = liquid->def.spacing, step = liquid->fastest * liquid->h;
    if (!liquid->search_stale && 2.0f * liquid->moved <= liquid->search_slack) {
        return false;
    }
    if (liquid->moved_since && !order_again(liquid)) {
        return false;
    }
    /* Fast liquid is searched in every step, and needs no slack. */
    liquid->search_slack = 4.0f * step < NEIGHBOUR_SLACK * d ? NEIGHBOUR_SLACK * d : 0.0f;
    liquid->search_reach = KERNEL_REACH * d + liquid->search_slack;
    CHECK(liquid->search_reach <= 1.001f * liquid_cell_size(liquid));
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, copy_places, liquid);
    liquid->moved = 0.0f;
    liquid->search_stale = false;
    return true;
}

bool liquid_neighbours_end(Liquid *liquid)
{
    bool crowded = memchr(liquid->crowded, 1, liquid->items) != NULL;
    if (crowded) {
        make_mutual(liquid);
        jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, fill_slices, liquid);
    }
    return crowded;
}
