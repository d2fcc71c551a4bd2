/*
 * sleep.c: pools, which fall asleep and wake as a whole. A pool is a connected set of occupied
 * cells of the grid; a store with grains is one pool, whose contacts are stored. A pool at rest for
 * LIQUID_REST_S is a member of the bodies' islands, so that it sleeps together with the bodies that
 * float in it. It wakes if something moves in it: other matter, hands, other particles.
 */
#include "server/physics/contact/bodies.h"
#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"

#include <string.h>

enum {
    BLOCK = 128, /* sleeping particles that share bounds */
    THINGS_MAX = 256,
    POOLS = 4096, /* for which memory is reserved at the start */
    MEMBERS = 64, /* lists of members are padded to groups of this size */
    AHEAD = 13,   /* neighbours of a cell with greater coordinates */
    NO_MEMBER = UINT32_MAX
};

/* Things that move this fast wake the liquid, m/s. */
static const f32 stir_m_s = 0.01f;
/* Limit of the kinetic energy per mass at rest, over g · spacing; lower for thick liquids, which
 * have less noise. */
static const f32 rest_part = 1e-4f;
/* Items under pressure keep vibrating about their positions: in deep tanks with several times that
 * energy. They are at rest, too, if the mean motion of each coarse cell has at most this fraction
 * of it. */
static const f32 vibration_most = 8.0f, flow_most = 0.5f;
/* Viscosity over ρ sqrt(g spacing³) from which a liquid is thick. */
static const f32 thick_from = 0.06f;
/* Floating bodies are at rest below this multiple of the speed of a liquid at rest. */
static const f32 sway_part = 2.0f;

struct LiquidPool {
    f64 energy; /* m²/s², Σ v² / 2 */
    f64 flow;   /* the same for the means of coarse cells, of a vibrating pool */
    u32 count, quiet, member;
    f32 thickest; /* m³/(kg) Pa s / spacing³, greatest viscosity over density */
    bool held;    /* something keeps it awake */
    bool calm;    /* nothing keeps it awake, and it hardly moves in this tick */
    bool linked;  /* something floats in it: decided with the islands */
    bool sleeps;
};

struct LiquidBlock {
    u32 first, end, pool; /* of the list of sleepers */
    Bounds bounds;        /* m */
};

/* ---- waking ---- */

void liquid_wake(Liquid *liquid)
{
    if (liquid->sleepers != 0) {
        memset(liquid->pool, 0, liquid->slots * sizeof *liquid->pool);
    }
    memset(liquid->quiet, 0, liquid->slots * sizeof *liquid->quiet);
    liquid->sleepers = 0;
    liquid->sleepers_stale = true;
}

static void wake_pool(Liquid *liquid, u32 pool)
{
    for (u32 s = 0; s < liquid->slots; s++) {
        if (liquid->pool[s] == pool) {
            liquid->pool[s] = 0;
            liquid->quiet[s] = 0;
            liquid->sleepers--;
        }
    }
    liquid->sleepers_stale = true;
}

void liquid_wake_slot(Liquid *liquid, u32 slot)
{
    CHECK(slot < liquid->slots);
    if (liquid->grains) {
        liquid_wake(liquid);
    } else if (liquid->pool[slot] != 0) {
        wake_pool(liquid, liquid->pool[slot]);
    }
    liquid->quiet[slot] = 0;
}

void liquid_wake_near(Liquid *liquid, Vec3 place, f32 radius)
{
    for (u32 s = 0; s < liquid->slots && liquid->sleepers != 0; s++) {
        if (liquid->pool[s] != 0 && vec3_distance(liquid->positions[s], place) <= radius) {
            liquid_wake_slot(liquid, s);
        }
    }
}

bool liquid_awake(const Liquid *liquid)
{
    return liquid->sleepers < liquid->count;
}

/* ---- what is asleep ---- */

/* In the order of slots, which are sorted in space from time to time. */
static bool list_sleepers(Liquid *liquid)
{
    u32 n = 0, blocks = 0;
    for (u32 s = 0; s < liquid->slots && n < liquid->sleepers; s++) {
        if (liquid->pool[s] == 0) {
            continue;
        }
        Vec3 at = liquid->positions[s];
        LiquidBlock *last = blocks != 0 ? &liquid->blocks[blocks - 1] : NULL;
        if (last == NULL || last->pool != liquid->pool[s] || n - last->first >= BLOCK) {
            if (!memory_grow((void **)&liquid->blocks, &liquid->block_capacity, blocks + 1,
                             sizeof *last)) {
                return false;
            }
            last = &liquid->blocks[blocks++];
            *last = (LiquidBlock){n, n, liquid->pool[s], {at, at}};
        }
        last->bounds = (Bounds){vec3_min(last->bounds.min, at), vec3_max(last->bounds.max, at)};
        liquid->sleeper[n++] = s;
        last->end = n;
    }
    liquid->block_count = blocks;
    liquid->sleepers_stale = false;
    return true;
}

static bool is_within(const Bounds *bounds, Vec3 x, f32 reach)
{
    return x.x >= bounds->min.x - reach && x.x <= bounds->max.x + reach &&
           x.y >= bounds->min.y - reach && x.y <= bounds->max.y + reach &&
           x.z >= bounds->min.z - reach && x.z <= bounds->max.z + reach;
}

static bool is_asleep(const Liquid *liquid, const LiquidBlock *block)
{
    return liquid->pool[liquid->sleeper[block->first]] != 0;
}

/* Does this thing move near the given point, or is it a body that will move? */
static bool is_moving(const Collider *collider, u32 thing, Vec3 at, f32 *speed)
{
    const ContactBodyOps *bodies = contact_bodies(collider);
    *speed = vec3_length(collider->ops->velocity(collider->of, thing, at));
    return *speed >= stir_m_s || (bodies != NULL && bodies->mass(collider->of, thing) > 0.0f &&
                                  bodies->awake(collider->of, thing));
}

static u32 find_things(const Liquid *liquid, const LiquidBlock *block, const Collider *collider,
                       u32 *things)
{
    f32 reach = 2.0f * liquid->def.spacing;
    Vec3 grow = vec3(reach, reach, reach);
    Bounds bounds = {vec3_sub(block->bounds.min, grow), vec3_add(block->bounds.max, grow)};
    u32 slot = liquid->sleeper[block->first];
    const LiquidPhaseDef *phase = &liquid->def.phases[liquid_phase_of(liquid, slot)];
    return collider->ops->overlaps(collider->of, bounds, phase->group, phase->mask, things,
                                   THINGS_MAX);
}

/* Does something move in or near these particles? */
static bool is_stirred(const Liquid *liquid, const LiquidBlock *block, const Collider *collider,
                       f32 tick_s)
{
    u32 things[THINGS_MAX], found = find_things(liquid, block, collider, things);
    f32 reach = 2.0f * liquid->def.spacing;
    for (u32 t = 0; t < found; t++) {
        for (u32 k = block->first; k < block->end; k++) {
            Vec3 at = liquid->positions[liquid->sleeper[k]], normal;
            f32 speed;
            if (!is_moving(collider, things[t], at, &speed)) {
                break;
            }
            if (collider->ops->distance(collider->of, things[t], at, 2.0f * reach, &normal) <
                reach + speed * tick_s) {
                return true;
            }
        }
    }
    return false;
}

/* Is an awake particle so near that it may push within the tick? */
static void stir_by_particles(Liquid *liquid, f32 tick_s)
{
    Bounds all = liquid->blocks[0].bounds;
    f32 reach = liquid->def.spacing * (KERNEL_REACH + NEIGHBOUR_SLACK);
    for (u32 b = 1; b < liquid->block_count; b++) {
        const Bounds *one = &liquid->blocks[b].bounds;
        all = (Bounds){vec3_min(all.min, one->min), vec3_max(all.max, one->max)};
    }
    for (u32 s = 0; s < liquid->slots; s++) {
        if (liquid->generations[s] == 0 || liquid->pool[s] != 0) {
            continue;
        }
        Vec3 at = liquid->positions[s];
        f32 far = reach + vec3_length(liquid->velocities[s]) * tick_s;
        for (u32 b = 0; b < liquid->block_count && is_within(&all, at, far); b++) {
            const LiquidBlock *block = &liquid->blocks[b];
            if (!is_within(&block->bounds, at, far) || !is_asleep(liquid, block)) {
                continue;
            }
            for (u32 k = block->first; k < block->end; k++) {
                if (vec3_distance(liquid->positions[liquid->sleeper[k]], at) < far) {
                    liquid_wake_slot(liquid, liquid->sleeper[k]);
                    break;
                }
            }
        }
    }
}

/* Bodies that float in a pool that woke. */
static void wake_floating(Liquid *liquid, const LiquidBlock *block, const Collider *collider)
{
    const ContactBodyOps *bodies = contact_bodies(collider);
    if (bodies == NULL) {
        return;
    }
    u32 things[THINGS_MAX], found = find_things(liquid, block, collider, things);
    f32 reach = WALL_FIND * liquid->def.spacing;
    for (u32 t = 0; t < found; t++) {
        bool may =
            bodies->mass(collider->of, things[t]) > 0.0f && !bodies->awake(collider->of, things[t]);
        for (u32 k = block->first; may && k < block->end; k++) {
            Vec3 at = liquid->positions[liquid->sleeper[k]], normal;
            if (collider->ops->distance(collider->of, things[t], at, 2.0f * reach, &normal) <
                reach) {
                collider->ops->wake(collider->of, things[t]);
                may = false;
            }
        }
    }
}

void liquid_stir(Liquid *liquid, const Collider *colliders, u32 count, f32 tick_s)
{
    count = u32_min(count, LIQUID_COLLIDERS_MAX);
    for (u32 k = 0; k < liquid->hand_end; k++) {
        const LiquidHand *hand = &liquid->hands[k];
        if (hand->live == 1) {
            liquid_wake_near(liquid, hand->place, hand->radius);
            liquid_wake_near(liquid, hand->target, hand->radius);
        }
    }
    if (liquid->sleepers == 0 || (liquid->sleepers_stale && !list_sleepers(liquid))) {
        return;
    }
    if (liquid->sleepers < liquid->count) {
        stir_by_particles(liquid, tick_s);
    }
    for (u32 c = 0; c < count; c++) {
        for (u32 b = 0; b < liquid->block_count; b++) {
            const LiquidBlock *block = &liquid->blocks[b];
            if (is_asleep(liquid, block) && is_stirred(liquid, block, &colliders[c], tick_s)) {
                liquid_wake_slot(liquid, liquid->sleeper[block->first]);
            }
        }
    }
    for (u32 c = 0; c < count && liquid->sleepers_stale; c++) {
        for (u32 b = 0; b < liquid->block_count; b++) {
            if (!is_asleep(liquid, &liquid->blocks[b])) {
                wake_floating(liquid, &liquid->blocks[b], &colliders[c]);
            }
        }
    }
}

/* ---- pools ---- */

static u32 root_of(u32 *parents, u32 cell)
{
    while (parents[cell] != cell) {
        parents[cell] = parents[parents[cell]];
        cell = parents[cell];
    }
    return cell;
}

static void unite(u32 *parents, u32 a, u32 b)
{
    u32 x = root_of(parents, a), y = root_of(parents, b);
    parents[x > y ? x : y] = x > y ? y : x;
}

/* Cell k of those around one with greater coordinates in the order z, y, x. */
static u32 ahead_of(const Liquid *liquid, u32 cell, u32 k)
{
    u32 n = k + 14, bx = liquid->cell_bits[0], by = liquid->cell_bits[1];
    u32 mx = (1u << bx) - 1, my = (1u << by) - 1, mz = (1u << liquid->cell_bits[2]) - 1;
    u32 x = ((cell & mx) + n % 3 - 1) & mx, y = ((cell >> bx & my) + n / 3 % 3 - 1) & my;
    u32 z = ((cell >> (bx + by)) + n / 9 - 1) & mz;
    return (z << by | y) << bx | x;
}

static u32 cells_of(const Liquid *liquid)
{
    return 1u << (liquid->cell_bits[0] + liquid->cell_bits[1] + liquid->cell_bits[2]);
}

static bool grow_pools(Liquid *liquid, u32 count)
{
    return memory_grow((void **)&liquid->pools, &liquid->pools_capacity, count,
                       sizeof *liquid->pools) &&
           memory_grow((void **)&liquid->members, &liquid->member_capacity, count + MEMBERS,
                       sizeof *liquid->members);
}

bool liquid_sleep_reserve(Liquid *liquid)
{
    u32 slots = liquid->slots;
    return grow_pools(liquid, u32_min(slots, POOLS) + slots / 8) &&
           memory_grow((void **)&liquid->cell_parents, &liquid->parent_capacity,
                       liquid_cells_most(slots), sizeof *liquid->cell_parents) &&
           memory_grow((void **)&liquid->blocks, &liquid->block_capacity,
                       u32_min(slots, POOLS) + slots / BLOCK, sizeof *liquid->blocks);
}

/* The pool of each item, in `rank`, by the cells of the start of the tick. */
static bool find_pools(Liquid *liquid)
{
    const u32 *starts = liquid->cell_starts;
    u32 cells = cells_of(liquid);
    liquid->pool_count = 0;
    if (!memory_grow((void **)&liquid->cell_parents, &liquid->parent_capacity, cells,
                     sizeof *liquid->cell_parents)) {
        return false;
    }
    u32 *parents = liquid->cell_parents, last = UINT32_MAX;
    u32 across = (1u << liquid->cell_bits[0]) - 1;
    for (u32 c = 0; c < cells; c++) {
        parents[c] = c;
    }
    for (u32 c = 0; c < cells; c++) {
        if (starts[c] == starts[c + 1]) {
            continue;
        }
        /* What a cell does not reach further than the one before it in its row, that one united. */
        bool follows = (c & across) != 0 && starts[c - 1] != starts[c];
        for (u32 k = 0; k < AHEAD && !liquid->grains; k += follows ? 3 : 1) {
            u32 other = ahead_of(liquid, c, k);
            if (starts[other] != starts[other + 1] && parents[other] != parents[c]) {
                unite(parents, c, other);
            }
        }
        if (liquid->grains && last != UINT32_MAX) {
            unite(parents, last, c);
        }
        last = c;
    }
    for (u32 c = 0; c < cells; c++) {
        u32 root = starts[c] != starts[c + 1] ? root_of(parents, c) : c;
        for (u32 i = starts[c]; i < starts[c + 1]; i++) {
            liquid->rank[i] = root == c ? liquid->pool_count : liquid->rank[starts[root]];
        }
        liquid->pool_count += root == c && starts[c] != starts[c + 1];
    }
    return grow_pools(liquid, liquid->pool_count);
}

static void measure_pools(Liquid *liquid)
{
    for (u32 p = 0; p < liquid->pool_count; p++) {
        liquid->pools[p] = (LiquidPool){.quiet = UINT16_MAX, .member = NO_MEMBER};
    }
    f64 energy = 0.0; /* of the pool of the items before: they come in runs */
    for (u32 i = 0; i < liquid->items; i++) {
        const Four *v = &liquid->motion[i];
        const PhaseFactors *phase = &liquid->factors[liquid->phase_of[i]];
        LiquidPool *pool = &liquid->pools[liquid->rank[i]];
        energy = i != 0 && liquid->rank[i] == liquid->rank[i - 1] ? energy : pool->energy;
        energy += 0.5 * (f64)(v->x * v->x + v->y * v->y + v->z * v->z);
        pool->energy = energy;
        pool->thickest = f32_max(pool->thickest, phase->viscosity * phase->lightness);
        pool->count++;
    }
}

/* m²/s², kinetic energy per mass of a pool at rest. */
static f32 rest_energy(const Liquid *liquid, const LiquidPool *pool)
{
    f32 g = vec3_length(liquid->gravity), d = liquid->def.spacing;
    f32 thick = pool->thickest * d * d * d / (thick_from * sqrtf(g * d * d * d) + 1e-20f);
    f32 scale = f32_max(thick, 1.0f);
    return rest_part * g * d / (scale * scale);
}

static bool vibrates(const Liquid *liquid, const LiquidPool *pool)
{
    f64 rest = (f64)rest_energy(liquid, pool) * pool->count;
    return pool->energy >= rest && pool->energy < (f64)vibration_most * rest;
}

/* The mean flow in pools that may only vibrate. A coarse cell belongs to the pool of its first
 * item; items of other pools in it are included. */
static void measure_flow(Liquid *liquid)
{
    bool needed = false;
    for (u32 p = 0; p < liquid->pool_count; p++) {
        liquid->pools[p].flow = liquid->pools[p].energy;
        needed = needed || vibrates(liquid, &liquid->pools[p]);
    }
    if (!needed || liquid->coarse_stale) { /* stale: no cells, because the liquid has made no
                                            * step */
        return;
    }
    Four *sums = liquid->answer; /* scratch of a step, [coarse_count]: Σ v, number */
    memset(sums, 0, liquid->coarse_count * sizeof *sums);
    for (u32 p = 0; p < liquid->pool_count; p++) {
        liquid->pools[p].flow = 0.0;
    }
    for (u32 i = 0; i < liquid->items; i++) {
        const Four *v = &liquid->motion[i];
        u32 c = liquid->coarse_of[i];
        if (!(sums[c].w > 0.0f)) {
            liquid->coarse_pool[c] = liquid->rank[i];
        }
        if (liquid->coarse_pool[c] == liquid->rank[i]) {
            sums[c] =
                (Four){sums[c].x + v->x, sums[c].y + v->y, sums[c].z + v->z, sums[c].w + 1.0f};
        } else {
            liquid->pools[liquid->rank[i]].flow +=
                0.5 * (f64)(v->x * v->x + v->y * v->y + v->z * v->z);
        }
    }
    for (u32 c = 0; c < liquid->coarse_count; c++) {
        const Four *sum = &sums[c];
        f32 square = sum->x * sum->x + sum->y * sum->y + sum->z * sum->z;
        if (sum->w > 0.0f) {
            liquid->pools[liquid->coarse_pool[c]].flow += 0.5 * (f64)(square / sum->w);
        }
    }
}

/* The body that floats there, or another thing that keeps the pool awake. */
static bool floats(const Liquid *liquid, const LiquidMover *mover)
{
    const LiquidPair *pair = &liquid->pairs[mover->pair];
    const Collider *collider = &liquid->colliders[pair->collider];
    const ContactBodyOps *bodies = contact_bodies(collider);
    return mover->meets && pair->slope > 0.0f && !liquid->grains && bodies != NULL &&
           bodies->mass(collider->of, pair->thing) > 0.0f;
}

static void hold_by_things(Liquid *liquid)
{
    for (u32 m = 0; m < liquid->mover_count; m++) {
        const LiquidMover *mover = &liquid->movers[m];
        const LiquidPair *pair = &liquid->pairs[mover->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        LiquidPool *pool = &liquid->pools[liquid->rank[pair->item]];
        if (!mover->meets || !(pair->slope > 0.0f)) {
            continue;
        }
        if (floats(liquid, mover)) {
            ContactBody body;
            contact_bodies(collider)->describe(collider->of, pair->thing, &body);
            f32 slow = sway_part * sqrtf(2.0f * rest_energy(liquid, pool));
            pool->linked = true;
            pool->held = pool->held || (body.stirs && body.speed > slow);
        } else if (mover->inverse_mass > 0.0f || vec3_length(pair->speed) >= stir_m_s) {
            pool->held = true;
        }
    }
}

static void hold_by_hands(Liquid *liquid)
{
    for (u32 k = 0; k < liquid->hand_end; k++) {
        const LiquidHand *hand = &liquid->hands[k];
        for (u32 i = 0; i < liquid->items && hand->live == 1; i++) {
            const Four *x = &liquid->place[i];
            if (vec3_distance(vec3(x->x, x->y, x->z), hand->place) <= hand->radius) {
                liquid->pools[liquid->rank[i]].held = true;
            }
        }
    }
    if (liquid->grains && (liquid->hand_end != 0 || liquid->touched)) {
        liquid->pools[0].held = true;
    }
}

/* Ticks at rest, of each particle: pools merge and split. */
static void count_quiet(Liquid *liquid)
{
    for (u32 p = 0; p < liquid->pool_count; p++) {
        LiquidPool *pool = &liquid->pools[p];
        f64 rest = (f64)rest_energy(liquid, pool) * pool->count;
        bool flows = pool->energy >= (f64)vibration_most * rest || pool->flow >= flow_most * rest;
        pool->calm = !pool->held && (pool->energy < rest || !flows);
    }
    for (u32 i = 0; i < liquid->items; i++) {
        LiquidPool *pool = &liquid->pools[liquid->rank[i]];
        u16 *quiet = &liquid->quiet[liquid->slot_of[i]];
        *quiet = pool->calm ? (u16)u32_min(*quiet + 1u, UINT16_MAX) : 0;
        pool->quiet = u32_min(pool->quiet, *quiet);
    }
}

static void link_pools(void *context)
{
    const Liquid *liquid = context;
    for (u32 m = 0; m < liquid->mover_count; m++) {
        const LiquidPair *pair = &liquid->pairs[liquid->movers[m].pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        u32 member = liquid->pools[liquid->rank[pair->item]].member;
        if (pair->collider == liquid->holder && floats(liquid, &liquid->movers[m])) {
            contact_bodies(collider)->carry_thing(collider->of, member, pair->thing);
        }
    }
}

void liquid_rest(Liquid *liquid)
{
    liquid->member_count = 0;
    liquid->pool_count = 0;
    if (!liquid->in_tick || liquid->items == 0 || !find_pools(liquid)) {
        return;
    }
    measure_pools(liquid);
    measure_flow(liquid);
    hold_by_things(liquid);
    hold_by_hands(liquid);
    count_quiet(liquid);
    for (u32 p = 0; p < liquid->pool_count; p++) {
        LiquidPool *pool = &liquid->pools[p];
        bool rests = (f32)pool->quiet * liquid->tick_s >= LIQUID_REST_S;
        pool->sleeps = rests && !pool->linked;
        if (pool->linked) {
            pool->member = liquid->member_count;
            liquid->members[liquid->member_count++] =
                (IslandMember){.awake = true, .rests = rests, .held = true};
        }
    }
    liquid->holder = LIQUID_COLLIDERS_MAX;
    for (u32 c = liquid->collider_count; c > 0; c--) {
        liquid->holder = contact_bodies(&liquid->colliders[c - 1]) != NULL ? c - 1 : liquid->holder;
    }
    while (liquid->member_count == 0 || liquid->member_count % MEMBERS != 0) {
        liquid->members[liquid->member_count++] = (IslandMember){.awake = false};
    }
    if (liquid->holder < LIQUID_COLLIDERS_MAX) {
        const Collider *collider = &liquid->colliders[liquid->holder];
        liquid->company =
            (IslandMembers){liquid->members, liquid->member_count, link_pools, liquid};
        contact_bodies(collider)->join_islands(collider->of, &liquid->company);
    }
}

/* Pools that are awake keep awake what floats in them. */
static void wake_touched(Liquid *liquid)
{
    for (u32 m = 0; m < liquid->mover_count; m++) {
        const LiquidPair *pair = &liquid->pairs[liquid->movers[m].pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        if (floats(liquid, &liquid->movers[m]) && liquid->pool[liquid->slot_of[pair->item]] == 0 &&
            !contact_bodies(collider)->awake(collider->of, pair->thing)) {
            collider->ops->wake(collider->of, pair->thing);
        }
    }
}

void liquid_fall_asleep(Liquid *liquid)
{
    u32 named = liquid->pools_named;
    for (u32 p = 0; p < liquid->pool_count; p++) {
        LiquidPool *pool = &liquid->pools[p];
        pool->sleeps =
            pool->sleeps || (pool->member != NO_MEMBER && liquid->members[pool->member].sleeps);
    }
    for (u32 i = 0; i < liquid->items && liquid->pool_count != 0; i++) {
        if (!liquid->pools[liquid->rank[i]].sleeps) {
            continue;
        }
        u32 s = liquid->slot_of[i];
        liquid->pool[s] = named + 1 + liquid->rank[i];
        liquid->quiet[s] = 0;
        liquid->velocities[s] = vec3_zero();
        liquid->motion[i] = (Four){0.0f, 0.0f, 0.0f, 0.0f};
        liquid->pools_named = u32_max(liquid->pools_named, liquid->pool[s]);
        liquid->sleepers++;
        liquid->sleepers_stale = true;
    }
    wake_touched(liquid);
}
