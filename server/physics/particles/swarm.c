/* swarm.c: see swarm.h. Functions as in Molga, Smutnicki 2005, "Test functions for optimization
 * needs". */
#include "server/physics/particles/swarm.h"

#include "shared/base/check.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <stdlib.h>

static const f64 two_pi = 6.283185307179586;

f32 swarm_domain(SwarmObjective objective)
{
    switch (objective) {
    case SWARM_ROSENBROCK:
        return 2.048f;
    case SWARM_ACKLEY:
    case SWARM_HIMMELBLAU:
        return 5.0f;
    default:
        return 5.12f;
    }
}

f64 swarm_value(SwarmObjective objective, f64 x, f64 y)
{
    switch (objective) {
    case SWARM_RASTRIGIN:
        return 20.0 + x * x + y * y - 10.0 * (trig_cos(two_pi * x) + trig_cos(two_pi * y));
    case SWARM_ROSENBROCK:
        return 100.0 * (y - x * x) * (y - x * x) + (1.0 - x) * (1.0 - x);
    case SWARM_ACKLEY: {
        f64 mean = 0.5 * (trig_cos(two_pi * x) + trig_cos(two_pi * y));
        return -20.0 * trig_exp(-0.2 * __builtin_sqrt(0.5 * (x * x + y * y))) - trig_exp(mean) +
               trig_exp(1.0) + 20.0;
    }
    case SWARM_HIMMELBLAU:
        return (x * x + y - 11.0) * (x * x + y - 11.0) + (x + y * y - 7.0) * (x + y * y - 7.0);
    default:
        return x * x + y * y;
    }
}

f64 swarm_value_max(SwarmObjective objective)
{
    f64 d = (f64)swarm_domain(objective);
    switch (objective) {
    case SWARM_RASTRIGIN: /* near the corner's last crest */
        return swarm_value(objective, 4.52299, 4.52299);
    case SWARM_ACKLEY:
        return swarm_value(objective, 4.59, 4.59);
    default:
        return swarm_value(objective, -d, -d);
    }
}

bool swarm_init(Swarm *swarm, SwarmObjective objective, u32 count, u64 seed)
{
    *swarm = (Swarm){.count = count, .seed = seed};
    SwarmPlace **arrays[4] = {&swarm->places, &swarm->before, &swarm->velocities, &swarm->best};
    bool good = true;
    for (u32 i = 0; i < 4; i++) {
        *arrays[i] = calloc(count, sizeof(SwarmPlace));
        good = good && *arrays[i] != NULL;
    }
    swarm->best_values = calloc(count, sizeof(f32));
    if (!good || swarm->best_values == NULL) {
        swarm_finish(swarm);
        return false;
    }
    swarm_restart(swarm, objective);
    return true;
}

void swarm_finish(Swarm *swarm)
{
    free(swarm->places);
    free(swarm->before);
    free(swarm->velocities);
    free(swarm->best);
    free(swarm->best_values);
    *swarm = (Swarm){0};
}

static void find_leader(Swarm *swarm)
{
    for (u32 i = 0; i < swarm->count; i++) {
        if (i == 0 || swarm->best_values[i] < swarm->leader_value) {
            swarm->leader = swarm->best[i];
            swarm->leader_value = swarm->best_values[i];
        }
    }
}

void swarm_restart(Swarm *swarm, SwarmObjective objective)
{
    f32 domain = swarm_domain(objective);
    swarm->objective = objective;
    swarm->iterations = 0;
    for (u32 i = 0; i < swarm->count; i++) {
        SwarmPlace at = {random_range(swarm->seed, 2 * (u64)i, -domain, domain),
                         random_range(swarm->seed, 2 * (u64)i + 1, -domain, domain)};
        swarm->places[i] = swarm->before[i] = swarm->best[i] = at;
        swarm->velocities[i] = (SwarmPlace){0.0f, 0.0f};
        swarm->best_values[i] = (f32)swarm_value(objective, (f64)at.x, (f64)at.y);
    }
    find_leader(swarm);
}

/* Stops at the border of the domain. */
static void advance(f32 *place, f32 *velocity, f32 domain)
{
    *velocity = f32_clamp(*velocity, -domain, domain);
    f32 to = *place + *velocity;
    *place = f32_clamp(to, -domain, domain);
    *velocity = *place == to ? *velocity : 0.0f;
}

void swarm_iterate(Swarm *swarm, const SwarmWeights *w)
{
    CHECK(swarm->objective < SWARM_OBJECTIVE_COUNT);
    f32 domain = swarm_domain(swarm->objective);
    u64 counter = 4 * (u64)swarm->count * (swarm->iterations + 1ull);
    for (u32 i = 0; i < swarm->count; i++) {
        SwarmPlace *x = &swarm->places[i], *v = &swarm->velocities[i];
        f32 r[4];
        for (u32 k = 0; k < 4; k++) {
            r[k] = random_f32(swarm->seed, counter + 4 * (u64)i + k);
        }
        swarm->before[i] = *x;
        v->x = w->inertia * v->x + w->cognitive * r[0] * (swarm->best[i].x - x->x) +
               w->social * r[1] * (swarm->leader.x - x->x);
        v->y = w->inertia * v->y + w->cognitive * r[2] * (swarm->best[i].y - x->y) +
               w->social * r[3] * (swarm->leader.y - x->y);
        advance(&x->x, &v->x, domain);
        advance(&x->y, &v->y, domain);
        f32 value = (f32)swarm_value(swarm->objective, (f64)x->x, (f64)x->y);
        if (value < swarm->best_values[i]) {
            swarm->best_values[i] = value;
            swarm->best[i] = *x;
        }
    }
    find_leader(swarm);
    swarm->iterations++;
}

static bool is_within(const SwarmPlace *places, u32 count, f32 domain)
{
    for (u32 i = 0; i < count; i++) {
        if (!(places[i].x >= -domain && places[i].x <= domain && places[i].y >= -domain &&
              places[i].y <= domain)) {
            return false;
        }
    }
    return true;
}

void swarm_serialize(Swarm *swarm, State *state)
{
    u32 objective = (u32)swarm->objective;
    size_t bytes = swarm->count * sizeof(SwarmPlace);
    state_bytes(state, &objective, sizeof objective);
    state_bytes(state, &swarm->iterations, sizeof swarm->iterations);
    state_bytes(state, swarm->places, bytes);
    state_bytes(state, swarm->before, bytes);
    state_bytes(state, swarm->velocities, bytes);
    state_bytes(state, swarm->best, bytes);
    if (state->mode != STATE_LOAD || state->failed) {
        return;
    }
    if (objective >= SWARM_OBJECTIVE_COUNT) {
        state->failed = true;
        return;
    }
    swarm->objective = (SwarmObjective)objective;
    f32 domain = swarm_domain(swarm->objective);
    state->failed = !is_within(swarm->places, swarm->count, domain) ||
                    !is_within(swarm->before, swarm->count, domain) ||
                    !is_within(swarm->velocities, swarm->count, domain) ||
                    !is_within(swarm->best, swarm->count, domain);
    for (u32 i = 0; i < swarm->count && !state->failed; i++) { /* values follow from places */
        const SwarmPlace *best = &swarm->best[i];
        swarm->best_values[i] = (f32)swarm_value(swarm->objective, (f64)best->x, (f64)best->y);
    }
    find_leader(swarm);
}
