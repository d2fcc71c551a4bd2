/* grain_search.c: which grains may touch in the coming steps, and a colour for each contact. The
 * grid repeats, as that of sort.c: distances decide, so aliases only cost time. */
#include "server/physics/liquid/grain.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    BITS_LEAST = 2, /* neighbours on both sides of a cell must be different cells */
    RANGE = 512,    /* grains of a job */
};

static const f32 cell_axis_max = 1e8f;

static i32 axis_of(f32 x, f32 per_cell)
{
    return (i32)f32_clamp(floorf(x * per_cell), -cell_axis_max, cell_axis_max);
}

static u32 row_of(const Grains *grains, i32 y, i32 z)
{
    u32 row = ((u32)z & ((1u << grains->bits[2]) - 1)) << grains->bits[1];
    return (row | ((u32)y & ((1u << grains->bits[1]) - 1))) << grains->bits[0];
}

static void choose_bits(Grains *grains, const i32 least[3], const i32 most[3])
{
    u32 total = 0;
    for (u32 k = 0; k < 3; k++) {
        u64 extent = (u64)((i64)most[k] - (i64)least[k] + 3);
        grains->bits[k] = BITS_LEAST;
        while (grains->bits[k] < 24 && (u64)1 << grains->bits[k] < extent) {
            grains->bits[k]++;
        }
        total += grains->bits[k];
    }
    while ((u64)1 << total > grains->cells_most) {
        u32 widest = 0;
        for (u32 k = 1; k < 3; k++) {
            widest = grains->bits[k] > grains->bits[widest] ? k : widest;
        }
        grains->bits[widest]--;
        total--;
    }
}

/* Grains among the items, and the grid over them. */
static void find_grains(Liquid *liquid, f32 per_cell)
{
    Grains *grains = liquid->contacts;
    i32 least[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, most[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    grains->count = 0;
    for (u32 i = 0; i < liquid->items; i++) {
        grains->slot_of[i] = liquid->slot_of[i];
        if (liquid->factors[liquid->phase_of[i]].grains == 0) {
            continue;
        }
        grains->items[grains->count++] = i;
        const f32 at[3] = {liquid->place[i].x, liquid->place[i].y, liquid->place[i].z};
        for (u32 k = 0; k < 3; k++) {
            i32 cell = axis_of(at[k], per_cell);
            least[k] = cell < least[k] ? cell : least[k];
            most[k] = cell > most[k] ? cell : most[k];
        }
    }
    if (grains->count != 0) {
        choose_bits(grains, least, most);
    }
}

static void sort_grains(Liquid *liquid, f32 per_cell)
{
    Grains *grains = liquid->contacts;
    u32 cells = 1u << (grains->bits[0] + grains->bits[1] + grains->bits[2]), sum = 0;
    u32 mask = (1u << grains->bits[0]) - 1;
    memset(grains->cell_starts, 0, (cells + 1) * sizeof *grains->cell_starts);
    for (u32 k = 0; k < grains->count; k++) {
        const Four *x = &liquid->place[grains->items[k]];
        grains->cell_of[k] = row_of(grains, axis_of(x->y, per_cell), axis_of(x->z, per_cell)) |
                             ((u32)axis_of(x->x, per_cell) & mask);
        grains->cell_starts[grains->cell_of[k]]++;
    }
    for (u32 c = 0; c <= cells; c++) {
        u32 count = grains->cell_starts[c];
        grains->cell_starts[c] = sum;
        sum += count;
    }
    for (u32 k = 0; k < grains->count; k++) {
        u32 q = grains->cell_starts[grains->cell_of[k]]++, i = grains->items[k];
        grains->sorted[q] = i;
        grains->x[q] = liquid->place[i].x;
        grains->y[q] = liquid->place[i].y;
        grains->z[q] = liquid->place[i].z;
    }
    for (u32 c = cells; c > 0; c--) { /* each start has been advanced to the next one */
        grains->cell_starts[c] = grains->cell_starts[c - 1];
    }
    grains->cell_starts[0] = 0;
    for (u32 q = grains->count; q < grains->count + SIMD_LANES; q++) {
        grains->x[q] = grains->y[q] = grains->z[q] = 3e7f;
    }
}

/* ---- partners ---- */

SIMD_INLINE f32x8 load_any(const f32 *at)
{
    f32x8 v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* May they touch within the coming step, or within a part of the skin? */
static bool may_touch(const Liquid *liquid, u32 i, u32 j, Vec3 off, f32 far2)
{
    const Four *v = &liquid->motion[i], *w = &liquid->motion[j];
    f32 d = liquid->def.spacing, reach = d * (1.0f + GRAIN_SKIN);
    if (far2 < reach * reach) {
        return true;
    }
    f32 far = sqrtf(far2);
    f32 closing = -vec3_dot(off, vec3(v->x - w->x, v->y - w->y, v->z - w->z)) / far;
    return far - reach < closing * liquid->h;
}

/* Adds those of the grains [first, end) that are near grain q. */
static u32 add_run(const Liquid *liquid, u32 q, u32 first, u32 end, u32 found)
{
    const Grains *grains = liquid->contacts;
    f32 x = grains->x[q], y = grains->y[q], z = grains->z[q];
    f32 reach = GRAIN_CELL * liquid->def.spacing;
    u32 *to = &grains->partners[(size_t)q * GRAIN_PARTNERS];
    for (u32 k = first; k < end; k += SIMD_LANES) {
        f32x8 dx = x - load_any(grains->x + k), dy = y - load_any(grains->y + k);
        f32x8 dz = z - load_any(grains->z + k), far2 = dx * dx + dy * dy + dz * dz;
        u32 bits = i32x8_bits(far2 < f32x8_set(reach * reach));
        bits &= end - k < SIMD_LANES ? (1u << (end - k)) - 1 : 0xff;
        for (; bits != 0; bits &= bits - 1) {
            u32 l = (u32)__builtin_ctz(bits);
            if (found == GRAIN_PARTNERS) {
                return found;
            }
            if (may_touch(liquid, grains->sorted[q], grains->sorted[k + l],
                          vec3(dx[l], dy[l], dz[l]), far2[l])) {
                to[found++] = k + l;
            }
        }
    }
    return found;
}

/* Of the cells x, x + 1, … of a row, which may wrap. */
static u32 add_row(const Liquid *liquid, u32 q, u32 row, i32 x, u32 cells, u32 found)
{
    const Grains *grains = liquid->contacts;
    u32 width = 1u << grains->bits[0], from = (u32)x & (width - 1);
    u32 inside = u32_min(cells, width - from);
    const u32 *starts = grains->cell_starts;
    found = add_run(liquid, q, starts[row + from], starts[row + from + inside], found);
    return inside == cells ? found
                           : add_run(liquid, q, starts[row], starts[row + cells - inside], found);
}

/* Partners of a grain: those after it in its cell, and in half of the neighbouring cells. */
static void find_partners(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Grains *grains = liquid->contacts;
    f32 per_cell = 1.0f / (GRAIN_CELL * liquid->def.spacing);
    PL_UNUSED(worker);
    for (u32 q = first; q < end; q++) {
        i32 x = axis_of(grains->x[q], per_cell), y = axis_of(grains->y[q], per_cell);
        i32 z = axis_of(grains->z[q], per_cell);
        u32 mask = (1u << grains->bits[0]) - 1, own = row_of(grains, y, z) | ((u32)x & mask);
        u32 found = add_run(liquid, q, q + 1, grains->cell_starts[own + 1], 0);
        found = add_row(liquid, q, row_of(grains, y, z), x + 1, 1, found);
        found = add_row(liquid, q, row_of(grains, y + 1, z), x - 1, 3, found);
        for (i32 s = -1; s <= 1; s++) {
            found = add_row(liquid, q, row_of(grains, y + s, z + 1), x - 1, 3, found);
        }
        grains->partner_count[q] = (u8)found;
    }
}

/* ---- colours ---- */

/* The lowest colour that neither grain has used; GRAIN_COLORS: none. */
static u32 choose_color(Grains *grains, u32 p, u32 q)
{
    u64 open = ~(grains->used[p] | grains->used[q]) & (((u64)1 << GRAIN_COLORS) - 1);
    if (open == 0) {
        return GRAIN_COLORS;
    }
    u64 bit = open & (0 - open);
    grains->used[p] |= bit;
    grains->used[q] |= bit;
    return (u32)__builtin_ctzll(open);
}

static void color_contacts(Grains *grains)
{
    memset(grains->used, 0, grains->count * sizeof *grains->used);
    memset(grains->color_count, 0, sizeof grains->color_count);
    grains->dropped = 0;
    u32 room = (grains->blocks_most - GRAIN_COLORS) * SIMD_LANES;
    for (u32 q = 0; q < grains->count; q++) {
        for (u32 k = 0; k < grains->partner_count[q]; k++) {
            u32 at = q * GRAIN_PARTNERS + k;
            u32 color = room != 0 ? choose_color(grains, q, grains->partners[at]) : GRAIN_COLORS;
            grains->color_of[at] = (u8)color;
            if (color == GRAIN_COLORS) {
                grains->dropped++;
                continue;
            }
            grains->color_count[color]++;
            room--;
        }
    }
    grains->colors = grains->block_count = 0;
    for (u32 c = 0; c < GRAIN_COLORS; c++) {
        grains->color_first[c] = grains->block_count;
        grains->block_count += (grains->color_count[c] + SIMD_LANES - 1) / SIMD_LANES;
        grains->colors = grains->color_count[c] != 0 ? c + 1 : grains->colors;
    }
    grains->color_first[GRAIN_COLORS] = grains->block_count;
}

static void place_contacts(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    u32 next[GRAIN_COLORS];
    for (u32 c = 0; c < GRAIN_COLORS; c++) {
        next[c] = grains->color_first[c] * SIMD_LANES;
        u32 last = next[c] + grains->color_count[c];
        for (u32 k = last; k % SIMD_LANES != 0; k++) {
            GrainBlock *block = &grains->blocks[k / SIMD_LANES];
            block->a[k % SIMD_LANES] = block->b[k % SIMD_LANES] = liquid->items;
        }
    }
    for (u32 q = 0; q < grains->count; q++) {
        for (u32 k = 0; k < grains->partner_count[q]; k++) {
            u32 at = q * GRAIN_PARTNERS + k, color = grains->color_of[at];
            if (color < GRAIN_COLORS) {
                u32 to = next[color]++;
                GrainBlock *block = &grains->blocks[to / SIMD_LANES];
                block->a[to % SIMD_LANES] = grains->sorted[q];
                block->b[to % SIMD_LANES] = grains->sorted[grains->partners[at]];
            }
        }
    }
}

static f32 rougher(f32 a, f32 b)
{
    return f32_max(a, b);
}

static void load_blocks(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Grains *grains = liquid->contacts;
    f32x8 zero = f32x8_set(0.0f);
    PL_UNUSED(worker);
    for (u32 k = first; k < end; k++) {
        GrainBlock *block = &grains->blocks[k];
        block->push = block->light_a = block->light_b = zero;
        block->mu = block->mu_static = block->mu_now = zero;
        block->friction = block->roll = (Vec3x8){zero, zero, zero};
        for (u32 l = 0; l < SIMD_LANES && block->a[l] < liquid->items; l++) {
            u32 p = liquid->phase_of[block->a[l]], q = liquid->phase_of[block->b[l]];
            const LiquidPhaseDef *of = &liquid->def.phases[p], *other = &liquid->def.phases[q];
            block->light_a[l] = 1.0f / liquid->factors[p].mass;
            block->light_b[l] = 1.0f / liquid->factors[q].mass;
            block->mu[l] = f32_min(of->friction, other->friction);
            block->mu_static[l] = f32_min(rougher(of->friction, of->static_friction),
                                          rougher(other->friction, other->static_friction));
            block->mu_now[l] = block->mu_static[l];
        }
        grains_recall(liquid, block);
    }
}

void grains_search(Liquid *liquid)
{
    Grains *grains = liquid->contacts;
    f32 per_cell = 1.0f / (GRAIN_CELL * liquid->def.spacing);
    find_grains(liquid, per_cell);
    grains->block_count = grains->colors = 0;
    grains->moved = 0.0f;
    grains->ready = true;
    if (grains->count == 0) {
        return;
    }
    CHECK(grains->count <= liquid->items);
    sort_grains(liquid, per_cell);
    jobs_run(liquid->jobs, grains->count, RANGE, find_partners, liquid);
    color_contacts(grains);
    place_contacts(liquid);
    jobs_run(liquid->jobs, grains->block_count, 64, load_blocks, liquid);
}
