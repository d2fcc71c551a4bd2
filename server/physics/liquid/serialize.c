/* serialize.c: the dynamic state. Slots are stored up to the last live one of each phase; free
 * slots are zeros, so that equal worlds have equal images. */
#include "server/physics/liquid/liquid_internal.h"

#include <string.h>

static void bound(State *state, bool is_good)
{
    if (state->mode == STATE_LOAD && !is_good) {
        state->failed = true;
    }
}

/* One more than the last slot that was ever used, relative to the first of the phase. */
static u32 used_slots(const Liquid *liquid, u32 p)
{
    u32 end = liquid->first[p + 1];
    while (end > liquid->first[p] && liquid->issued[end - 1] == 0) {
        end--;
    }
    return end - liquid->first[p];
}

static void check_slots(Liquid *liquid, State *state, u32 first, u32 count)
{
    for (u32 s = first; s < first + count && state->mode == STATE_LOAD; s++) {
        bool live = liquid->generations[s] != 0;
        f32 far = vec3_length(liquid->positions[s]), fast = vec3_length(liquid->velocities[s]);
        f32 pressure = liquid->pressures[s];
        bool good = far <= 2.0f * WORLD_EXTENT_MAX_M && fast <= 2.0f * SPEED_MAX_M_S &&
                    pressure >= 0.0f && pressure <= STATE_VALUE_MAX;
        good = good && (live ? liquid->generations[s] == liquid->issued[s]
                             : far == 0.0f && fast == 0.0f && pressure == 0.0f);
        good = good && (liquid->pool[s] == 0 || (live && fast == 0.0f));
        good = good && liquid->pool[s] <= liquid->pools_named && (live || liquid->quiet[s] == 0);
        bound(state, good);
    }
}

static void serialize_phase(Liquid *liquid, State *state, u32 p)
{
    u32 first = liquid->first[p], capacity = liquid->first[p + 1] - first;
    u32 used = used_slots(liquid, p);
    if (state->mode == STATE_LOAD) {
        used = 0;
    }
    state_count(state, &used, capacity);
    size_t n = state->failed ? 0 : used;
    state_bytes(state, liquid->generations + first, n * sizeof(u16));
    state_bytes(state, liquid->issued + first, n * sizeof(u16));
    state_bytes(state, liquid->positions + first, n * sizeof(Vec3));
    state_bytes(state, liquid->velocities + first, n * sizeof(Vec3));
    state_bytes(state, liquid->pressures + first, n * sizeof(f32));
    state_bytes(state, liquid->pool + first, n * sizeof(u32));
    state_bytes(state, liquid->quiet + first, n * sizeof(u16));
    check_slots(liquid, state, first, (u32)n);
    liquid->live[p] = state->mode == STATE_LOAD ? 0 : liquid->live[p];
    for (u32 s = first; s < first + n && state->mode == STATE_LOAD; s++) {
        liquid->live[p] += liquid->generations[s] != 0;
        liquid->sleepers += liquid->pool[s] != 0;
    }
}

static void serialize_hands(Liquid *liquid, State *state)
{
    state_count(state, &liquid->hand_end, LIQUID_HANDS_MAX);
    for (u32 k = 0; k < liquid->hand_end && !state->failed; k++) {
        LiquidHand *hand = &liquid->hands[k];
        state_bytes(state, hand, sizeof *hand);
        bound(state, hand->live <= 1 && state_vector_is_bounded(hand->place) &&
                         state_vector_is_bounded(hand->target) && hand->radius >= 0.0f &&
                         hand->radius <= 1000.0f);
    }
}

/* After a failed load the contents of slots are arbitrary. */
static void forget(Liquid *liquid)
{
    memset(liquid->generations, 0, liquid->slots * sizeof *liquid->generations);
    memset(liquid->positions, 0, liquid->slots * sizeof *liquid->positions);
    memset(liquid->velocities, 0, liquid->slots * sizeof *liquid->velocities);
    memset(liquid->pressures, 0, liquid->slots * sizeof *liquid->pressures);
    memset(liquid->pool, 0, liquid->slots * sizeof *liquid->pool);
    memset(liquid->quiet, 0, liquid->slots * sizeof *liquid->quiet);
    memset(liquid->live, 0, sizeof liquid->live);
    liquid->sleepers = 0;
    liquid->count = liquid->ticks = 0;
    liquid_clear(liquid);
}

void liquid_serialize(Liquid *liquid, State *state)
{
    state_part(state, "liquid");
    if (state->mode == STATE_LOAD) {
        liquid_clear(liquid);
        memset(liquid->issued, 0, liquid->slots * sizeof *liquid->issued);
        liquid->pair_count = liquid->items = liquid->shown = 0;
        liquid->sleepers_stale = liquid->shown_stale = true;
    }
    state_bytes(state, &liquid->ticks, sizeof liquid->ticks);
    state_bytes(state, &liquid->pools_named, sizeof liquid->pools_named);
    bound(state, liquid->pools_named < 1u << 31);
    for (u32 p = 0; p < liquid->def.phase_count && !state->failed; p++) {
        serialize_phase(liquid, state, p);
    }
    serialize_hands(liquid, state);
    liquid_grains_serialize(liquid, state);
    if (state->mode == STATE_LOAD && state->failed) {
        forget(liquid);
    } else if (state->mode == STATE_LOAD) {
        liquid->count = 0;
        for (u32 p = 0; p < liquid->def.phase_count; p++) {
            liquid->count += liquid->live[p];
            liquid->lowest[p] = liquid->first[p];
        }
    }
}

const char *liquid_validate(const Liquid *liquid)
{
    u32 all = 0, asleep = 0;
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        u32 live = 0;
        for (u32 s = liquid->first[p]; s < liquid->first[p + 1]; s++) {
            Vec3 x = liquid->positions[s], v = liquid->velocities[s];
            if (liquid->generations[s] == 0) {
                if (s < liquid->lowest[p]) {
                    return "a free slot lies below the lowest";
                }
                if (vec3_length(x) != 0.0f || vec3_length(v) != 0.0f ||
                    liquid->pressures[s] != 0.0f) {
                    return "a free slot is not empty";
                }
                continue;
            }
            live++;
            asleep += liquid->pool[s] != 0;
            if (liquid->generations[s] != liquid->issued[s]) {
                return "a generation was never issued";
            }
            if (!(vec3_length(x) <= 2.0f * WORLD_EXTENT_MAX_M)) {
                return "a position is out of the world";
            }
            if (!(vec3_length(v) <= 2.0f * SPEED_MAX_M_S)) {
                return "a velocity is out of range";
            }
            if (!(liquid->pressures[s] >= 0.0f && liquid->pressures[s] <= STATE_VALUE_MAX)) {
                return "a pressure is out of range";
            }
        }
        if (live != liquid->live[p]) {
            return "the count of a phase is wrong";
        }
        all += live;
    }
    if (asleep != liquid->sleepers) {
        return "the count of sleepers is wrong";
    }
    return all != liquid->count ? "the count is wrong" : NULL;
}
