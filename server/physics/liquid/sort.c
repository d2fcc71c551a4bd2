/* sort.c: live particles as items in the order of a grid's cells (counting sort). */
#include "server/physics/liquid/grid.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    BITS_LEAST = 2, /* neighbours on both sides of a cell must be different cells */
    TABLE_BITS_MIN = 9,
};

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
    return (1u << table_bits(particles)) + 2;
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
    return memory_grow((void **)&liquid->cell_starts, &liquid->cell_capacity, (1u << total) + 2,
                       sizeof *liquid->cell_starts);
}

/* Those that sleep, behind the padding: what later kinds meet. */
static void show_sleepers(Liquid *liquid)
{
    u32 n = liquid->items + LIQUID_PAD;
    for (u32 s = 0; s < liquid->slots && n < liquid->items + LIQUID_PAD + liquid->sleepers; s++) {
        if (liquid->pool[s] != 0) {
            Vec3 x = liquid->positions[s];
            liquid->slot_of[n] = s;
            liquid->phase_of[n] = (u8)liquid_phase_of(liquid, s);
            liquid->place[n] = (Four){x.x, x.y, x.z, 0.0f};
            liquid->motion[n++] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        }
    }
    liquid->shown = liquid->sleepers != 0 ? n : liquid->items;
    liquid->shown_stale = false;
}

/* What a range of slots in `order` covers: kept in `bins` at its first item until all are known. */
typedef struct Extent {
    i32 least[3], most[3]; /* cells */
    f32 fastest;           /* m²/s², of those under pressure */
    u32 unused;
} Extent;
_Static_assert(sizeof(Extent) == 2 * sizeof(Four), "takes the place of the bins of one item");

static Extent *extent_at(const Liquid *liquid, u32 first)
{
    return (Extent *)(void *)&liquid->bins[2 * (size_t)first];
}

/* Slots of particles that are awake. */
static void list_awake(Liquid *liquid)
{
    u32 n = 0;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        u32 left = liquid->live[p];
        for (u32 s = liquid->first[p]; left != 0; s++) {
            bool live = liquid->generations[s] != 0;
            left -= live;
            liquid->order[n] = s;
            n += live && liquid->pool[s] == 0;
        }
    }
    CHECK(n <= liquid->count);
    liquid->items = n;
}

static void measure_extent(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 per_cell = 1.0f / liquid_cell_size(liquid);
    Extent all = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}, 0.0f, 0};
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Vec3 x = liquid->positions[liquid->order[i]], v = liquid->velocities[liquid->order[i]];
        const f32 at[3] = {x.x, x.y, x.z};
        bool pressed = liquid->pressures[liquid->order[i]] > 0.0f;
        all.fastest = pressed ? f32_max(all.fastest, vec3_length_squared(v)) : all.fastest;
        for (u32 k = 0; k < 3; k++) {
            i32 cell = axis_of(at[k], per_cell);
            all.least[k] = i32_min(all.least[k], cell);
            all.most[k] = i32_max(all.most[k], cell);
        }
    }
    *extent_at(liquid, first) = all;
}

static Extent find_extent(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, measure_extent, liquid);
    Extent all = *extent_at(liquid, 0);
    for (u32 first = LIQUID_GRAIN; first < liquid->items; first += LIQUID_GRAIN) {
        const Extent *one = extent_at(liquid, first);
        all.fastest = f32_max(all.fastest, one->fastest);
        for (u32 k = 0; k < 3; k++) {
            all.least[k] = i32_min(all.least[k], one->least[k]);
            all.most[k] = i32_max(all.most[k], one->most[k]);
        }
    }
    return all;
}

static void find_cells(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    f32 per_cell = 1.0f / liquid_cell_size(liquid);
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Vec3 x = liquid->positions[liquid->order[i]];
        const i32 at[3] = {axis_of(x.x, per_cell), axis_of(x.y, per_cell), axis_of(x.z, per_cell)};
        liquid->cell_of[i] = cell_number(liquid, at);
    }
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

static void pad_items(Liquid *liquid)
{
    /* The dummy: too far for any kernel, near enough for finite squares. */
    for (u32 i = liquid->items; i < liquid->items + LIQUID_PAD; i++) {
        liquid->phase_of[i] = 0;
        liquid->slot_of[i] = 0;
        liquid->place[i] = (Four){3e7f, 3e7f, 3e7f, 0.0f};
        liquid->pushes[i] = liquid->excess[i] = liquid->active[i] = 0.0f;
        liquid->inertia[i] = 1.0f;
        liquid->full[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->answer[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->motion[i] = liquid->trait[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->change[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
    }
}

void liquid_sort_by_cell(const Liquid *liquid, u32 *starts, const u32 *from, u32 *to)
{
    u32 cells = 1u << (liquid->cell_bits[0] + liquid->cell_bits[1] + liquid->cell_bits[2]);
    u32 *next = starts + 1, sum = 0;
    memset(starts, 0, (cells + 2) * sizeof *starts);
    for (u32 i = 0; i < liquid->items; i++) {
        next[liquid->cell_of[i]]++;
    }
    for (u32 c = 0; c <= cells; c++) {
        u32 count = next[c];
        next[c] = sum;
        sum += count;
    }
    CHECK(sum == liquid->items);              /* all cells lie in the table */
    for (u32 i = 0; i < liquid->items; i++) { /* moves each start on to the next one */
        to[next[liquid->cell_of[i]]++] = from != NULL ? from[i] : i;
    }
}

void liquid_sort(Liquid *liquid)
{
    f32 size = liquid_cell_size(liquid), half = 0.5f * size;
    liquid->dropped = 0;
    liquid->moved_since = false;
    liquid->search_stale = true;
    liquid->fastest = 0.0f;
    list_awake(liquid);
    Extent all = liquid->items != 0 ? find_extent(liquid) : (Extent){.fastest = 0.0f};
    if (liquid->items == 0 || !choose_grid(liquid, all.least, all.most)) {
        liquid->items = 0;
        pad_items(liquid);
        show_sleepers(liquid);
        return;
    }
    liquid->fastest = sqrtf(all.fastest);
    liquid->middle = vec3(half * (f32)((i64)all.most[0] + (i64)all.least[0] + 1),
                          half * (f32)((i64)all.most[1] + (i64)all.least[1] + 1),
                          half * (f32)((i64)all.most[2] + (i64)all.least[2] + 1));
    for (u32 k = 0; k < 3; k++) {
        liquid->extent[k] = (f32)((i64)all.most[k] - (i64)all.least[k] + 1) * size;
    }
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, find_cells, liquid);
    liquid_sort_by_cell(liquid, liquid->cell_starts, liquid->order, liquid->slot_of);
    jobs_run(liquid->jobs, liquid->items, LIQUID_GRAIN, load_items, liquid);
    pad_items(liquid);
    show_sleepers(liquid);
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
