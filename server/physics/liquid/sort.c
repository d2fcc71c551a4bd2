/* sort.c: live particles as items in the order of a grid's cells (counting sort), and the
 * neighbours of each (Ihmsen et al. 2011). The grid repeats: a cell's number is its coordinates
 * modulo powers of two, chosen from the extent of the liquid, so that rows of cells are contiguous
 * and memory does not depend on positions. Distances decide, so aliases only cost time. */
#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"
#include "shared/base/memory.h"
#include "shared/math/simd.h"

#include <string.h>

enum {
    BITS_LEAST = 2, /* neighbours on both sides of a cell must be different cells */
    TABLE_BITS_MIN = 9,
    CANDIDATES_MAX = 4096, /* of one cell; more are dropped */
    ROWS = 18              /* 3 × 3, each in two parts where it wraps */
};

static const f32 cell_axis_max = 1e8f;

static i32 axis_of(f32 x, f32 per_cell)
{
    f32 cell = floorf(x * per_cell);
    return (i32)f32_clamp(cell, -cell_axis_max, cell_axis_max);
}

f32 liquid_cell_size(const Liquid *liquid)
{
    return liquid->def.spacing * (KERNEL_REACH + NEIGHBOUR_SLACK);
}

/* ---- items ---- */

static u32 table_bits(u32 particles)
{
    u32 bits = TABLE_BITS_MIN;
    while (bits < 24 && 1u << bits < 2 * particles) {
        bits++;
    }
    return bits;
}

u32 liquid_cells_most(u32 particles)
{
    return (1u << table_bits(particles)) + 1;
}

/* Powers of two that cover the extent, the widest axes reduced until the table is proportional to
 * the number of particles. */
static bool choose_grid(Liquid *liquid, const i32 least[3], const i32 most[3])
{
    u32 bits = table_bits(liquid->count), total = 0;
    for (u32 k = 0; k < 3; k++) {
        u64 extent = (u64)((i64)most[k] - (i64)least[k] + 3);
        liquid->cell_bits[k] = BITS_LEAST;
        while (liquid->cell_bits[k] < 24 && (u64)1 << liquid->cell_bits[k] < extent) {
            liquid->cell_bits[k]++;
        }
        total += liquid->cell_bits[k];
    }
    for (; total > bits; total--) {
        u32 widest = 0;
        for (u32 k = 1; k < 3; k++) {
            widest = liquid->cell_bits[k] > liquid->cell_bits[widest] ? k : widest;
        }
        liquid->cell_bits[widest]--;
    }
    return memory_grow((void **)&liquid->cell_starts, &liquid->cell_capacity, (1u << total) + 1,
                       sizeof *liquid->cell_starts);
}

static u32 cell_number(const Liquid *liquid, const i32 at[3])
{
    u32 x = (u32)at[0] & ((1u << liquid->cell_bits[0]) - 1);
    u32 y = (u32)at[1] & ((1u << liquid->cell_bits[1]) - 1);
    u32 z = (u32)at[2] & ((1u << liquid->cell_bits[2]) - 1);
    return ((z << liquid->cell_bits[1] | y) << liquid->cell_bits[0]) | x;
}

static void find_cells(Liquid *liquid, f32 per_cell, i32 least[3], i32 most[3])
{
    u32 n = 0;
    f32 fastest = 0.0f;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        u32 left = liquid->live[p];
        for (u32 s = liquid->first[p]; left != 0; s++) {
            if (liquid->generations[s] != 0) {
                left--;
                liquid->order[n++] = s;
                fastest = f32_max(fastest, vec3_length_squared(liquid->velocities[s]));
                const f32 at[3] = {liquid->positions[s].x, liquid->positions[s].y,
                                   liquid->positions[s].z};
                for (u32 k = 0; k < 3; k++) {
                    i32 cell = axis_of(at[k], per_cell);
                    least[k] = cell < least[k] ? cell : least[k];
                    most[k] = cell > most[k] ? cell : most[k];
                }
            }
        }
    }
    liquid->items = n;
    liquid->fastest = sqrtf(fastest);
}

/* An item's arrays from its slot's. */
static void load_items(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        u32 s = liquid->slot_of[i], p = liquid_phase_of(liquid, s);
        Vec3 x = liquid->positions[s], v = liquid->velocities[s];
        liquid->phase_of[i] = (u8)p;
        liquid->place[i] = (Four){x.x, x.y, x.z, 0.0f};
        liquid->motion[i] = (Four){v.x, v.y, v.z, liquid->factors[p].viscosity};
        liquid->trait[i] =
            (Four){liquid->factors[p].part,
                   liquid->factors[p].grains != 0 ? 0.0f : 1.0f / liquid->factors[p].mass,
                   (f32)liquid->factors[p].grains, liquid->factors[p].cohesion};
        liquid->pressure[i] = liquid->pressures[s];
    }
}

void liquid_sort(Liquid *liquid)
{
    f32 per_cell = 1.0f / liquid_cell_size(liquid);
    i32 least[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, most[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    liquid->dropped = 0;
    liquid->moved_since = false;
    liquid->search_stale = true;
    find_cells(liquid, per_cell, least, most);
    if (liquid->items == 0 || !choose_grid(liquid, least, most)) {
        liquid->items = 0;
        return;
    }
    for (u32 k = 0; k < 3; k++) {
        liquid->extent[k] = (f32)((i64)most[k] - (i64)least[k] + 1) * liquid_cell_size(liquid);
    }
    u32 cells = 1u << (liquid->cell_bits[0] + liquid->cell_bits[1] + liquid->cell_bits[2]);
    memset(liquid->cell_starts, 0, (cells + 1) * sizeof *liquid->cell_starts);
    for (u32 i = 0; i < liquid->items; i++) {
        Vec3 x = liquid->positions[liquid->order[i]];
        const i32 at[3] = {axis_of(x.x, per_cell), axis_of(x.y, per_cell), axis_of(x.z, per_cell)};
        liquid->cell_of[i] = cell_number(liquid, at);
        liquid->cell_starts[liquid->cell_of[i]]++;
    }
    u32 sum = 0;
    for (u32 c = 0; c <= cells; c++) {
        u32 count = liquid->cell_starts[c];
        liquid->cell_starts[c] = sum;
        sum += count;
    }
    for (u32 i = 0; i < liquid->items; i++) {
        liquid->slot_of[liquid->cell_starts[liquid->cell_of[i]]++] = liquid->order[i];
    }
    for (u32 c = cells; c > 0; c--) { /* each start was moved on to the next one */
        liquid->cell_starts[c] = liquid->cell_starts[c - 1];
    }
    liquid->cell_starts[0] = 0;
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, load_items, liquid);
    /* The dummy: too far for any kernel, near enough for finite squares. */
    for (u32 i = liquid->items; i < liquid->items + LIQUID_PAD; i++) {
        liquid->place[i] = (Four){3e7f, 3e7f, 3e7f, 0.0f};
        liquid->pushes[i] = 0.0f;
        liquid->answer[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->motion[i] = liquid->trait[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->change[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
    }
}

/* ---- neighbours ---- */

/* Candidates of all items of one cell. */
typedef struct Candidates {
    i32 cell[3];
    u32 count;
    u64 lanes[256];
    _Alignas(32) f32 x[CANDIDATES_MAX + 8], y[CANDIDATES_MAX + 8], z[CANDIDATES_MAX + 8];
    _Alignas(32) u32 item[CANDIDATES_MAX + 8];
} Candidates;

/* Candidates within reach of the cell's box. */
static void add_run(const Liquid *liquid, Candidates *all, u32 first, u32 end)
{
    f32 size = liquid_cell_size(liquid), reach2 = liquid->search_reach * liquid->search_reach;
    Vec3 low = vec3((f32)all->cell[0] * size, (f32)all->cell[1] * size, (f32)all->cell[2] * size);
    Vec3 high = vec3_add(low, vec3(size, size, size));
    for (u32 k = first; k < end && all->count < CANDIDATES_MAX; k++) {
        u32 i = liquid->moved_since ? liquid->order[k] : k;
        const Four *at = &liquid->place[i];
        Vec3 x = vec3(at->x, at->y, at->z);
        Vec3 off = vec3_sub(x, vec3_min(vec3_max(x, low), high));
        all->x[all->count] = at->x;
        all->y[all->count] = at->y;
        all->z[all->count] = at->z;
        all->item[all->count] = i;
        all->count += vec3_length_squared(off) < 1.001f * reach2;
    }
}

static void find_candidates(const Liquid *liquid, const i32 cell[3], Candidates *all)
{
    u32 width = 1u << liquid->cell_bits[0];
    const u32 *starts = liquid->moved_since ? liquid->search_starts : liquid->cell_starts;
    memcpy(all->cell, cell, sizeof all->cell);
    all->count = 0;
    for (i32 z = cell[2] - 1; z <= cell[2] + 1; z++) {
        for (i32 y = cell[1] - 1; y <= cell[1] + 1; y++) {
            const i32 low[3] = {cell[0] - 1, y, z}, row[3] = {0, y, z};
            u32 from = cell_number(liquid, low), base = cell_number(liquid, row);
            u32 inside = u32_min(3, base + width - from); /* cells before the row wraps */
            add_run(liquid, all, starts[from], starts[from + inside]);
            add_run(liquid, all, starts[base], starts[base + 3 - inside]);
        }
    }
    for (u32 k = all->count; k < all->count + 8; k++) {
        all->x[k] = all->y[k] = all->z[k] = 3e7f;
        all->item[k] = liquid->items;
    }
}

/* The lanes of a mask in order, a byte each. */
static void fill_lanes(u64 lanes[256])
{
    for (u32 bits = 0; bits < 256; bits++) {
        u64 all = 0;
        u32 n = 0;
        for (u32 l = 0; l < SIMD_LANES; l++) {
            all |= (bits >> l & 1) != 0 ? (u64)l << (8 * n++) : 0;
        }
        lanes[bits] = all;
    }
}

/* Writes the lanes of the mask in order; up to eight numbers are written in any case. */
SIMD_INLINE u32 pack_lanes(u32 *to, const u32 *item, u32 bits, const u64 *lanes)
{
#if defined(__AVX2__)
    __m256i order = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)lanes[bits]));
    __m256i items = _mm256_load_si256((const __m256i *)(const void *)item);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutevar8x32_epi32(items, order));
#else
    u64 order = lanes[bits];
    for (u32 l = 0; l < SIMD_LANES; l++, order >>= 8) {
        to[l] = item[order & 7];
    }
#endif
    return (u32)__builtin_popcount(bits);
}

/* Whole groups of eight: the rest is the dummy. */
static void fill_group(Liquid *liquid, u32 i)
{
    u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    for (u32 k = liquid->near_count[i]; k % SIMD_LANES != 0; k++) {
        near[k] = liquid->items;
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
        found += pack_lanes(near + found, all->item + k, bits, all->lanes);
    }
    return found;
}

static void find_neighbours(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 per_cell = 1.0f / liquid_cell_size(liquid), reach = liquid->search_reach;
    Candidates all;
    u32 near[LIQUID_NEIGHBOURS_MAX + 16];
    all.cell[0] = INT32_MIN;
    fill_lanes(all.lanes);
    PL_UNUSED(worker);
    for (u32 k = first; k < end; k++) {
        u32 i = liquid->moved_since ? liquid->order[k] : k;
        const Four *at = &liquid->place[i];
        const i32 cell[3] = {axis_of(at->x, per_cell), axis_of(at->y, per_cell),
                             axis_of(at->z, per_cell)};
        if (memcmp(cell, all.cell, sizeof cell) != 0) {
            find_candidates(liquid, cell, &all);
        }
        u32 found = find_near(&all, at, reach * reach, near);
        liquid->crowded[i] = found > LIQUID_NEIGHBOURS_MAX;
        found = u32_min(found, LIQUID_NEIGHBOURS_MAX);
        u32 *to = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
        memcpy(to, near, found * sizeof *to);
        liquid->near_count[i] = (u8)found;
        fill_group(liquid, i);
    }
}

static bool has_neighbour(const Liquid *liquid, u32 i, u32 j)
{
    const u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX];
    for (u32 k = 0; k < liquid->near_count[i]; k++) {
        if (near[k] == j) {
            return true;
        }
    }
    return false;
}

/* Where a list is full, the neighbours it lacks forget it too: else momentum would not be
 * exchanged. */
static void make_mutual(Liquid *liquid)
{
    for (u32 i = 0; i < liquid->items; i++) {
        u32 *near = &liquid->near[(size_t)i * LIQUID_NEIGHBOURS_MAX], kept = 0;
        for (u32 k = 0; k < liquid->near_count[i]; k++) {
            if (!liquid->crowded[near[k]] || has_neighbour(liquid, near[k], i)) {
                near[kept++] = near[k];
            }
        }
        liquid->dropped += liquid->near_count[i] - kept;
        liquid->near_count[i] = (u8)kept;
        fill_group(liquid, i);
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
    u32 *starts = liquid->search_starts + 1;
    memset(liquid->search_starts, 0, (cells + 2) * sizeof *starts);
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, find_cells_again, liquid);
    for (u32 i = 0; i < liquid->items; i++) {
        starts[liquid->cell_of[i]]++;
    }
    for (u32 c = 0, sum = 0; c <= cells; c++) {
        u32 count = starts[c];
        starts[c] = sum;
        sum += count;
    }
    for (u32 i = 0; i < liquid->items; i++) { /* moves each start on to the next one */
        liquid->order[starts[liquid->cell_of[i]]++] = i;
    }
    return true;
}

void liquid_neighbours(Liquid *liquid)
{
    f32 d = liquid->def.spacing, step = liquid->fastest * liquid->h;
    if (!liquid->search_stale && 2.0f * liquid->moved <= liquid->search_slack) {
        return;
    }
    if (liquid->moved_since && !order_again(liquid)) {
        return;
    }
    /* Fast liquid is searched in every step, and needs no slack. */
    liquid->search_slack = 4.0f * step < NEIGHBOUR_SLACK * d ? NEIGHBOUR_SLACK * d : 0.0f;
    liquid->search_reach = KERNEL_REACH * d + liquid->search_slack;
    liquid->moved = 0.0f;
    liquid->search_stale = false;
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, find_neighbours, liquid);
    if (memchr(liquid->crowded, 1, liquid->items) != NULL) {
        make_mutual(liquid);
    }
}

/* ---- back to slots ---- */

static void store_items(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        u32 s = liquid->slot_of[i];
        liquid->positions[s] = vec3(liquid->place[i].x, liquid->place[i].y, liquid->place[i].z);
        liquid->velocities[s] = vec3(liquid->motion[i].x, liquid->motion[i].y, liquid->motion[i].z);
        liquid->pressures[s] = liquid->pressure[i];
    }
}

void liquid_publish(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, store_items, liquid);
}
