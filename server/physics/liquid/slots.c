/* slots.c: from time to time, particles change slots within their phase, so that neighbours in
 * space lie in the same chunk of the stream: order of a Z curve (Morton 1966). */
#include "server/physics/liquid/liquid_internal.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    AXIS_BITS = 10,
    DIGIT_BITS = 10,
    DIGITS = 1 << DIGIT_BITS
};

static u32 spread(u32 x)
{
    x &= 0x3ff;
    x = (x | x << 16) & 0x030000ff;
    x = (x | x << 8) & 0x0300f00f;
    x = (x | x << 4) & 0x030c30c3;
    return (x | x << 2) & 0x09249249;
}

static u32 curve_place(const Liquid *liquid, u32 slot)
{
    f32 per = 0.5f / liquid->def.spacing;
    Vec3 x = liquid->positions[slot];
    /* 2^20 cells from the origin are exact; the curve repeats after 2^AXIS_BITS. */
    const f32 at[3] = {x.x * per, x.y * per, x.z * per};
    u32 key = 0;
    for (u32 k = 0; k < 3; k++) {
        f32 cell = floorf(f32_clamp(at[k], -1e8f, 1e8f));
        key |= spread((u32)(i32)cell + (1u << (AXIS_BITS - 1))) << k;
    }
    return key;
}

/* Slots of a phase by key: radix sort of `order`, stable, with cell_of as keys by slot. */
static void sort_by_key(Liquid *liquid, u32 count)
{
    u32 *from = liquid->order, *to = liquid->slot_of;
    for (u32 shift = 0; shift < 3 * AXIS_BITS; shift += DIGIT_BITS) {
        u32 starts[DIGITS] = {0}, sum = 0;
        for (u32 i = 0; i < count; i++) {
            starts[liquid->cell_of[from[i]] >> shift & (DIGITS - 1)]++;
        }
        for (u32 k = 0; k < DIGITS; k++) {
            u32 n = starts[k];
            starts[k] = sum;
            sum += n;
        }
        for (u32 i = 0; i < count; i++) {
            to[starts[liquid->cell_of[from[i]] >> shift & (DIGITS - 1)]++] = from[i];
        }
        u32 *swap = from;
        from = to;
        to = swap;
    }
    if (from != liquid->order) {
        memcpy(liquid->order, from, count * sizeof *from);
    }
}

/* The arrays of a slot. */
typedef struct Slot {
    Vec3 position, velocity;
    f32 pressure;
    u32 pool;
    u16 quiet;
} Slot;

static Slot take_out(const Liquid *liquid, u32 s)
{
    return (Slot){liquid->positions[s], liquid->velocities[s], liquid->pressures[s],
                  liquid->pool[s], liquid->quiet[s]};
}

static void put_in(Liquid *liquid, u32 s, const Slot *slot)
{
    liquid->positions[s] = slot->position;
    liquid->velocities[s] = slot->velocity;
    liquid->pressures[s] = slot->pressure;
    liquid->pool[s] = slot->pool;
    liquid->quiet[s] = slot->quiet;
    u16 next = (u16)(liquid->issued[s] + 1);
    liquid->issued[s] = next != 0 ? next : 1;
    liquid->generations[s] = liquid->issued[s];
}

/* Particle order[k] moves to the k-th live slot: along the cycles of the permutation. */
static void permute(Liquid *liquid, const u32 *live, u32 count)
{
    for (u32 k = 0; k < count; k++) {
        if (liquid->order[k] == UINT32_MAX || liquid->order[k] == live[k]) {
            continue;
        }
        Slot first = take_out(liquid, live[k]);
        u32 at = k;
        for (;;) {
            u32 from = liquid->order[at];
            liquid->order[at] = UINT32_MAX;
            if (from == live[k]) {
                put_in(liquid, live[at], &first);
                break;
            }
            Slot slot = take_out(liquid, from);
            put_in(liquid, live[at], &slot);
            at = liquid->rank[from];
        }
    }
}

void liquid_sort_slots(Liquid *liquid)
{
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        u32 count = 0;
        u32 *live = liquid->near[0].item; /* scratch between ticks: larger than the slots */
        for (u32 s = liquid->first[p]; s < liquid->first[p + 1]; s++) {
            if (liquid->generations[s] != 0) {
                liquid->cell_of[s] = curve_place(liquid, s);
                liquid->rank[s] = count;
                live[count] = s;
                liquid->order[count++] = s;
            }
        }
        CHECK(count == liquid->live[p]);
        sort_by_key(liquid, count);
        liquid_grains_renumber(liquid, liquid->order, live, count);
        permute(liquid, live, count);
    }
    liquid_grains_renumbered(liquid);
}
