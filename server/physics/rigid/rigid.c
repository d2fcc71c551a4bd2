/*
 * rigid.c: creation and destruction of a rigid world, its memory, and creation and removal of
 * bodies. See rigid.h.
 */
#include "server/physics/rigid/ccd/ccd_flight.h"
#include "server/physics/rigid/solve/heavy.h"

#include "shared/base/check.h"

#include <stdlib.h>

static void *take(Rigid *rigid, u32 count, size_t bytes, bool *failed)
{
    size_t size = ((size_t)count * bytes + 63) / 64 * 64;
    void *memory = aligned_alloc(64, size);
    if (!memory) {
        *failed = true;
        return NULL;
    }
    memset(memory, 0, size);
    rigid->memory += size;
    return memory;
}

/* Reserves for a pile of n bodies: some three contacts and five pairs per body. Larger needs
 * grow once and keep their memory. */
static bool reserve_pile(Rigid *rigid, u32 n)
{
    u32 pairs = 128 + n * 4;
    return contact_reserve(rigid, 64 + n * 2) &&
           rigid_reserve(rigid, &rigid->pairs, &rigid->pair_capacity, pairs, sizeof(Pair)) &&
           rigid_reserve(rigid, &rigid->pairs_merged, &rigid->pair_merged_capacity, pairs,
                         sizeof(Pair)) &&
           rigid_reserve(rigid, &rigid->manifolds, &rigid->manifold_capacity, pairs,
                         sizeof(Manifold)) &&
           color_reserve(rigid, 16 + n / 2);
}

Rigid *rigid_create(const RigidDef *def)
{
    Rigid *rigid = calloc(1, sizeof(*rigid));
    if (!rigid) {
        return NULL;
    }
    u32 n = u32_max(def->body_capacity, 1);
    rigid->def = *def;
    rigid->def.body_capacity = n;
    rigid->gravity = def->gravity;
    rigid->friction_scale = 1.0f;
    rigid_set_substeps(rigid, def->substeps);
    rigid->def.iterations = def->iterations == 0 ? 10 : u32_min(def->iterations, 1000);
    rigid->def.pyramid_sides =
        def->pyramid_sides == 0 ? 4 : u32_min(u32_max(def->pyramid_sides, 3), 16);
    bool failed = n > BODIES_MAX;
    rigid->states = take(rigid, n + 1, sizeof(*rigid->states), &failed);
    rigid->bodies = take(rigid, n + 1, sizeof(*rigid->bodies), &failed);
    rigid->inertias = take(rigid, n + 2, sizeof(*rigid->inertias), &failed);
    rigid->rests = take(rigid, n, sizeof(*rigid->rests), &failed);
    rigid->free_flights = take(rigid, n / SIMD_LANES + 1, sizeof(*rigid->free_flights), &failed);
    rigid->leaves = take(rigid, n, sizeof(*rigid->leaves), &failed);
    rigid->ways = take(rigid, n, sizeof(*rigid->ways), &failed);
    rigid->planes = take(rigid, n, sizeof(*rigid->planes), &failed);
    rigid->active = take(rigid, n, sizeof(*rigid->active), &failed);
    rigid->colors_used = take(rigid, n, sizeof(*rigid->colors_used), &failed);
    rigid->color_bodies = take(rigid, n, 1, &failed);
    rigid->flights = take(rigid, n, sizeof(*rigid->flights), &failed);
    rigid->mates = take(rigid, n, sizeof(*rigid->mates), &failed);
    rigid->stuck = take(rigid, n, sizeof(*rigid->stuck), &failed);
    rigid->deep = take(rigid, n, sizeof(*rigid->deep), &failed);
    rigid->slot_scratch = take(rigid, n, sizeof(*rigid->slot_scratch), &failed);
    rigid->parents = take(rigid, n, sizeof(*rigid->parents), &failed);
    rigid->supports = take(rigid, n, sizeof(*rigid->supports), &failed);
    rigid->island_awake = take(rigid, n, 1, &failed);
    rigid->island_held = take(rigid, n, 1, &failed);
    rigid->island_restless = take(rigid, n, 1, &failed);
    rigid->island_carried = take(rigid, n, 1, &failed);
    rigid->node_capacity = n;
    failed = !tree_init(&rigid->moving, n) || failed;
    failed = !tree_init(&rigid->fixed, n) || failed;
    failed = !joint_store_init(&rigid->joints, def->joint_capacity, n) || failed;
    failed = !reserve_pile(rigid, n) || failed;
    failed = !heavy_init(rigid) || !flight_init(rigid) || failed;
    if (failed) {
        rigid_destroy(rigid);
        return NULL;
    }
    rigid->bodies[n].orientation = quat_identity();
    rigid->memory +=
        sizeof(*rigid) + (u64)n * 4 * (sizeof(TreeNode) + sizeof(TreePair)) + rigid->joints.memory;
    return rigid;
}

void rigid_destroy(Rigid *rigid)
{
    if (!rigid) {
        return;
    }
    void *const arrays[] = {rigid->states,
                            rigid->bodies,
                            rigid->inertias,
                            rigid->rests,
                            rigid->free_flights,
                            rigid->leaves,
                            rigid->ways,
                            rigid->planes,
                            rigid->active,
                            rigid->colors_used,
                            rigid->flights,
                            rigid->deep_overlaps,
                            rigid->flyers,
                            rigid->meetings,
                            rigid->energies,
                            rigid->mates,
                            rigid->stuck,
                            rigid->deep,
                            rigid->slot_scratch,
                            rigid->parents,
                            rigid->supports,
                            rigid->island_awake,
                            rigid->island_held,
                            rigid->island_restless,
                            rigid->island_carried,
                            rigid->pairs,
                            rigid->pairs_merged,
                            rigid->spans,
                            rigid->found,
                            rigid->contacts,
                            rigid->contacts_before,
                            rigid->contact_manifolds,
                            rigid->contact_colors,
                            rigid->contact_classes,
                            rigid->color_bodies,
                            rigid->plans,
                            rigid->bouncing,
                            rigid->color_order,
                            rigid->manifolds,
                            rigid->recycled,
                            rigid->recycled_now,
                            rigid->recyclings,
                            rigid->recyclings_before,
                            rigid->recycled_manifolds,
                            rigid->recycled_manifolds_before,
                            rigid->rows,
                            rigid->impulse_points,
                            rigid->points,
                            rigid->extras};
    for (u32 i = 0; i < PL_COUNT(arrays); i++) {
        free(arrays[i]);
    }
    tree_finish(&rigid->moving);
    tree_finish(&rigid->fixed);
    joint_store_finish(&rigid->joints);
    heavy_destroy(rigid->heavy);
    free(rigid);
}

void body_forget_tick(Rigid *rigid)
{
    rigid->contact_count = rigid->recycled_count = 0;
    rigid->row_count = rigid->point_count = rigid->color_count = 0;
    rigid->impact_count = rigid->overlap_count = 0;
    rigid->active_count = 0;
    rigid->stirred = rigid->unlinked = true;
    rigid->joints.laid_out = false;
    rigid->touching = 0;
    rigid->penetration_max = 0.0f;
}

void rigid_clear(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        u32 generation = rigid->bodies[i].generation;
        memset(&rigid->bodies[i], 0, sizeof(rigid->bodies[i]));
        memset(&rigid->states[i], 0, sizeof(rigid->states[i]));
        memset(&rigid->inertias[i], 0, sizeof(rigid->inertias[i]));
        memset(&rigid->rests[i], 0, sizeof(rigid->rests[i]));
        rigid->bodies[i].generation = generation;
    }
    tree_clear(&rigid->moving);
    tree_clear(&rigid->fixed);
    rigid->plane_count = rigid->pair_count = rigid->extra_bodies = 0;
    body_forget_tick(rigid);
    memset(rigid->grabs, 0, sizeof(rigid->grabs));
    rigid->grab_count = 0;
    joint_clear(rigid);
}

static u32 slot_take(Rigid *rigid)
{
    u32 slot = 0;
    while (slot < rigid->slots && (rigid->bodies[slot].flags & BODY_LIVE)) {
        slot++;
    }
    if (slot < rigid->def.body_capacity) {
        rigid->slots = u32_max(rigid->slots, slot + 1);
    }
    return slot;
}

BodyId rigid_add(Rigid *rigid, const BodyDef *def)
{
    u32 slot = body_def_is_valid(def) ? slot_take(rigid) : rigid->def.body_capacity;
    if (slot >= rigid->def.body_capacity) {
        return (BodyId){0, 0};
    }
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    /* 16 bits, as others store it; 0 means none. */
    u32 generation = body->generation % 0xffffu + 1;
    memset(body, 0, sizeof(*body));
    memset(state, 0, sizeof(*state));
    *body = (Body){.orientation = quat_normalize(def->orientation),
                   .flags = BODY_LIVE | BODY_MOVED | (def->pgs ? BODY_PGS : 0u),
                   .motion = def->motion,
                   .shape = def->shape,
                   .mass = def->motion == BODY_DYNAMIC ? def->mass_kg : 0.0f,
                   .friction = def->friction,
                   .restitution = def->restitution,
                   .rolling = def->rolling,
                   .surface_velocity = def->surface_velocity,
                   .group = def->group != 0 ? def->group : 1u,
                   .mask = def->mask != 0 ? def->mask : ~0u,
                   .family = def->family,
                   .sensor = def->sensor ? 1u : 0u,
                   .generation = generation};
    body_derive(rigid, body);
    body->position = vec3_add(def->position, quat_rotate(body->orientation, body->centre));
    body->rest_position = body->position;
    body->rest_orientation = body->orientation;
    state->inverse_mass = body->mass > 0.0f ? 1.0f / body->mass : 0.0f;
    if (def->motion != BODY_STATIC) {
        state->velocity = def->velocity;
        state->angular_velocity = def->angular_velocity;
        state->gravity_scale = def->gravity_scale;
        state->linear_damping = def->linear_damping;
        state->angular_damping = def->angular_damping;
    }
    if (def->asleep && def->motion == BODY_DYNAMIC) {
        body->flags |= BODY_ASLEEP;
        state->velocity = vec3_zero();
        state->angular_velocity = vec3_zero();
    }
    rigid->extra_bodies += body_has_extra(body);
    body->fat =
        bounds_grow(shape_bounds(&body->shape, body_origin(body), body->orientation), RIGID_FAT_M);
    broad_insert(rigid, slot);
    broad_rest(rigid, slot);
    rigid->stirred = true;
    rigid->joints.laid_out = false;
    return (BodyId){slot, generation};
}

void rigid_remove(Rigid *rigid, BodyId id)
{
    if (!rigid_alive(rigid, id)) {
        return;
    }
    for (u32 i = 0; i < rigid->grab_count; i++) {
        if (rigid->grabs[i].live && rigid->grabs[i].body.slot == id.slot) {
            rigid_grab_remove(rigid, i);
        }
    }
    rigid->stirred = true;
    rigid->joints.laid_out = false;
    joint_remove_body(rigid, id.slot);
    contact_remove_body(rigid, id.slot);
    recycle_remove_body(rigid, id.slot);
    broad_remove_pairs(rigid, id.slot);
    rigid->unlinked = true;
    broad_remove(rigid, id.slot);
    Body *body = &rigid->bodies[id.slot];
    rigid->extra_bodies -= body_has_extra(body);
    memset(body, 0, sizeof(*body));
    memset(&rigid->states[id.slot], 0, sizeof(BodyState));
    memset(&rigid->inertias[id.slot], 0, sizeof(Symmetric3));
    memset(&rigid->rests[id.slot], 0, sizeof(BodyRest));
    body->generation = id.generation;
}

/* Number of awake islands; the union-find is scratch memory, not state. */
static u32 count_islands(Rigid *rigid)
{
    u32 count = 0;
    island_build(rigid);
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        count += body->motion == BODY_DYNAMIC && body_is_active(body) && island_root(rigid, i) == i;
    }
    return count;
}

void rigid_stats(Rigid *rigid, RigidStats *stats)
{
    memset(stats, 0, sizeof(*stats));
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->bodies[i].flags & BODY_LIVE) {
            stats->bodies++;
            stats->awake += body_is_active(&rigid->bodies[i]) ? 1 : 0;
        }
    }
    stats->contacts = rigid->contact_count;
    stats->touching = rigid->touching;
    stats->islands = count_islands(rigid);
    stats->penetration_max = rigid->penetration_max;
    stats->memory_bytes = rigid->memory;
}
