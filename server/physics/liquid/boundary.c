/* boundary.c: other matter near the liquid. A thing adds density to an item by its signed distance
 * (kernel.h; cf. Koschier & Bender 2017, "Density maps") and pushes it by the gradient of that at
 * the item's own pressure: so density has no deficit at walls, and the thing receives the opposite
 * of the impulses that pressure and friction give an item. Hard contact is solved in addition
 * (contact.h). */
#include "server/physics/contact/bodies.h"
#include "server/physics/liquid/kernel.h"
#include "server/physics/liquid/liquid_internal.h"
#include "shared/base/check.h"
#include "shared/base/memory.h"
#include "shared/base/sort.h"

enum {
    BLOCK = 32,         /* items that share a search */
    THINGS_MAX = 1024,  /* of one collider near a block */
    PAIRS_OF_ITEM = 16, /* whose half-spaces are weighted against each other */
};

/* A half-space of a static thing is computed again when the item has moved this far, in
 * spacings. */
static const f32 measure_again = 0.25f;
/* Up to which it is measured, spacings. */
static const f32 measure_reach = 2.0f * WALL_FIND;

/* Ratio of the liquid's mass that acts on a body, or on a point of a soft body, to the mass there:
 * above this it couples less by pressure, above twice this not at all. Soft bodies are moved point
 * by point, so that forces which are stable for a body as a whole would tear them. */
static const f32 light_body = 40.0f, light_soft = 1.0f;

/* A thing near a block of items. */
typedef struct Find {
    u32 block, phase, collider, thing;
    u32 items; /* bit i: item i of the block may meet it */
    u32 moves;
} Find;

/* ---- search ---- */

static ContactParticle particle_of(const Liquid *liquid, u32 i, f32 radius)
{
    const Four *x = &liquid->place[i], *v = &liquid->motion[i];
    u32 p = liquid->phase_of[i];
    return (ContactParticle){.position = vec3(x->x, x->y, x->z),
                             .velocity = vec3(v->x, v->y, v->z),
                             .inverse_mass = 1.0f / liquid->factors[p].mass,
                             .radius = radius,
                             .swept = true,
                             .friction = liquid->def.phases[p].contact_friction};
}

static void find_things(Liquid *liquid, u32 block, u32 phase, Bounds bounds)
{
    u32 things[THINGS_MAX];
    const LiquidPhaseDef *def = &liquid->def.phases[phase];
    for (u32 c = 0; c < liquid->collider_count; c++) {
        const Collider *collider = &liquid->colliders[c];
        u32 found = collider->ops->overlaps(collider->of, bounds, def->group, def->mask, things,
                                            THINGS_MAX);
        if (!memory_grow(&liquid->finds, &liquid->find_capacity, liquid->find_count + found,
                         sizeof(Find))) {
            return;
        }
        for (u32 t = 0; t < found; t++) {
            ((Find *)liquid->finds)[liquid->find_count++] =
                (Find){.block = block, .phase = phase, .collider = c, .thing = things[t]};
        }
    }
}

static void search_block(Liquid *liquid, u32 block)
{
    u32 first = block * BLOCK, end = u32_min(first + BLOCK, liquid->items);
    for (u32 p = 0; p < liquid->def.phase_count; p++) {
        Bounds bounds = {vec3(INFINITY, INFINITY, INFINITY), vec3(-INFINITY, -INFINITY, -INFINITY)};
        f32 fastest = 0.0f;
        bool any = false;
        for (u32 i = first; i < end; i++) {
            if (liquid->phase_of[i] == p) {
                const Four *x = &liquid->place[i], *v = &liquid->motion[i];
                Vec3 at = vec3(x->x, x->y, x->z);
                bounds.min = vec3_min(bounds.min, at);
                bounds.max = vec3_max(bounds.max, at);
                fastest = f32_max(fastest, vec3_length_squared(vec3(v->x, v->y, v->z)));
                any = true;
            }
        }
        if (any) {
            f32 grow = WALL_FIND * liquid->def.spacing +
                       (sqrtf(fastest) + CONTACT_MARGIN_M_S) * liquid->tick_s;
            Vec3 margin = vec3(grow, grow, grow);
            bounds = (Bounds){vec3_sub(bounds.min, margin), vec3_add(bounds.max, margin)};
            find_things(liquid, block, p, bounds);
        }
    }
}

/* Maximal distance that an item may move within the tick, m. */
static f32 range_of(const Liquid *liquid, u32 i)
{
    const Four *v = &liquid->motion[i];
    f32 speed = sqrtf(v->x * v->x + v->y * v->y + v->z * v->z);
    return WALL_FIND * liquid->def.spacing + (speed + CONTACT_MARGIN_M_S) * liquid->tick_s;
}

static bool is_outside(const Bounds *bounds, const Four *x, f32 far)
{
    return x->x + far < bounds->min.x || x->x - far > bounds->max.x || x->y + far < bounds->min.y ||
           x->y - far > bounds->max.y || x->z + far < bounds->min.z || x->z - far > bounds->max.z;
}

/* Items that may meet a body that never moves: those near its bounds, queried all at once. */
static void test_static(const Liquid *liquid, Find *find, const Bounds *bounds)
{
    const Collider *collider = &liquid->colliders[find->collider];
    u32 base = find->block * BLOCK, last = u32_min(base + BLOCK, liquid->items);
    u32 item[BLOCK] = {0};
    Vec3 points[BLOCK];
    f32 reach[BLOCK] = {0}, distances[BLOCK] = {0};
    ContactPoints near = {points, reach, 0, distances, NULL};
    for (u32 i = base; i < last; i++) {
        const Four *x = &liquid->place[i];
        f32 far = range_of(liquid, i);
        if (liquid->phase_of[i] == find->phase && !is_outside(bounds, x, far)) {
            item[near.count] = i - base;
            reach[near.count] = far;
            points[near.count++] = vec3(x->x, x->y, x->z);
        }
    }
    collider_distances(collider, find->thing, &near);
    for (u32 k = 0; k < near.count; k++) {
        find->items |= distances[k] < reach[k] ? 1u << item[k] : 0;
    }
}

static void test_moving(const Liquid *liquid, Find *find)
{
    const Collider *collider = &liquid->colliders[find->collider];
    u32 base = find->block * BLOCK, last = u32_min(base + BLOCK, liquid->items);
    for (u32 i = base; i < last; i++) {
        ContactParticle particle = particle_of(liquid, i, WALL_FIND * liquid->def.spacing);
        if (liquid->phase_of[i] == find->phase &&
            collider->ops->may_meet(collider->of, find->thing, &particle, liquid->tick_s)) {
            find->items |= 1u << (i - base);
        }
    }
}

static void test_finds(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    Find *finds = liquid->finds;
    PL_UNUSED(worker);
    for (u32 f = first; f < end; f++) {
        const Collider *collider = &liquid->colliders[finds[f].collider];
        const ContactBodyOps *bodies = contact_bodies(collider);
        ContactBody body = {.moves = true};
        if (bodies != NULL) {
            bodies->describe(collider->of, finds[f].thing, &body);
        }
        if (body.moves) {
            test_moving(liquid, &finds[f]);
        } else {
            Bounds bounds = bodies->bounds(collider->of, finds[f].thing);
            test_static(liquid, &finds[f], &bounds);
        }
    }
}

/* The pairs of a block, by item. */
static void add_pairs(Liquid *liquid, u32 block, const Find *finds, u32 count)
{
    u32 base = block * BLOCK;
    for (u32 k = 0; k < BLOCK && base + k < liquid->items; k++) {
        liquid->pair_first[base + k] = liquid->pair_count;
        for (u32 f = 0; f < count; f++) {
            if ((finds[f].items >> k & 1) != 0 && liquid->pair_count < liquid->pair_capacity) {
                liquid->pairs[liquid->pair_count++] =
                    (LiquidPair){.item = base + k,
                                 .collider = finds[f].collider,
                                 .thing = finds[f].thing,
                                 .mover = finds[f].moves ? 0 : LIQUID_STATIC};
            }
        }
    }
}

/* The pair of an item with the thing of a find; NULL: there was no room for it. */
static LiquidPair *pair_of(const Liquid *liquid, u32 i, const Find *find)
{
    LiquidPair *pair = &liquid->pairs[liquid->pair_first[i]];
    LiquidPair *end = &liquid->pairs[liquid->pair_first[i + 1]];
    while (pair < end && (pair->collider != find->collider || pair->thing != find->thing)) {
        pair++;
    }
    return pair < end ? pair : NULL;
}

/* Distances of things that do not move, of all items of a block at once. */
static void measure_finds(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    const Find *finds = liquid->finds;
    PL_UNUSED(worker);
    for (u32 f = first; f < end; f++) {
        LiquidPair *pairs[BLOCK];
        Vec3 points[BLOCK], normals[BLOCK];
        f32 reach[BLOCK], distances[BLOCK];
        ContactPoints of = {points, reach, 0, distances, normals};
        for (u32 left = finds[f].moves ? 0 : finds[f].items; left != 0; left &= left - 1) {
            u32 i = finds[f].block * BLOCK + (u32)__builtin_ctz(left);
            LiquidPair *pair = pair_of(liquid, i, &finds[f]);
            if (pair != NULL) {
                const Four *x = &liquid->place[i];
                pairs[of.count] = pair;
                points[of.count] = vec3(x->x, x->y, x->z);
                reach[of.count++] = measure_reach * liquid->def.spacing;
            }
        }
        collider_distances(&liquid->colliders[finds[f].collider], finds[f].thing, &of);
        for (u32 k = 0; k < of.count; k++) {
            pairs[k]->from = points[k];
            pairs[k]->normal = normals[k];
            pairs[k]->distance = distances[k];
        }
    }
}

/* Movers by collider, thing, item: unique keys whose low half is the index of the pair. */
static u64 mover_key(const Liquid *liquid, u32 pair)
{
    const LiquidPair *of = &liquid->pairs[pair];
    return (u64)of->collider << 60 | (u64)of->thing << 28 | pair;
}

static void gather_movers(Liquid *liquid)
{
    u32 count = 0;
    for (u32 k = 0; k < liquid->pair_count; k++) {
        count += liquid->pairs[k].mover != LIQUID_STATIC;
    }
    liquid->mover_count = 0;
    if (!memory_grow((void **)&liquid->movers, &liquid->mover_capacity, count,
                     sizeof *liquid->movers) ||
        !memory_grow((void **)&liquid->mover_keys, &liquid->mover_key_capacity, count,
                     sizeof *liquid->mover_keys)) {
        return;
    }
    for (u32 k = 0; k < liquid->pair_count; k++) {
        if (liquid->pairs[k].mover != LIQUID_STATIC) {
            liquid->mover_keys[liquid->mover_count++] = mover_key(liquid, k);
        }
    }
    sort_keys(liquid->mover_keys, liquid->mover_count);
    for (u32 m = 0; m < liquid->mover_count; m++) {
        liquid->movers[m] = (LiquidMover){.pair = (u32)(liquid->mover_keys[m] & ((1u << 28) - 1))};
    }
    for (u32 m = 0; m < liquid->mover_count; m++) {
        const LiquidPair *pair = &liquid->pairs[liquid->movers[m].pair];
        bool same = m > 0 && pair->thing == liquid->pairs[liquid->movers[m - 1].pair].thing &&
                    pair->collider == liquid->pairs[liquid->movers[m - 1].pair].collider;
        liquid->movers[m].group = same ? liquid->movers[m - 1].group : m;
        liquid->pairs[liquid->movers[m].pair].mover = m;
    }
}

bool liquid_boundary_meet(Liquid *liquid, const Collider *colliders, u32 count)
{
    u32 points = 0;
    for (u32 c = 0; c < count; c++) {
        const ColliderOps *ops = colliders[c].ops;
        points = u32_max(points, ops->points != NULL ? ops->points(colliders[c].of) : 0);
        if (ops->expect_loads != NULL) {
            ops->expect_loads(colliders[c].of, liquid->slots);
        }
    }
    return memory_grow((void **)&liquid->point_loads, &liquid->point_load_capacity, points,
                       sizeof *liquid->point_loads);
}

bool liquid_boundary_reserve(Liquid *liquid, u32 finds)
{
    return memory_grow(&liquid->finds, &liquid->find_capacity, finds, sizeof(Find));
}

void liquid_boundary_begin(Liquid *liquid)
{
    liquid->find_count = liquid->pair_count = liquid->mover_count = 0;
    u32 blocks = (liquid->items + BLOCK - 1) / BLOCK;
    for (u32 b = 0; b < blocks && liquid->collider_count != 0; b++) {
        search_block(liquid, b);
    }
    jobs_run(liquid->jobs, liquid->find_count, 16, test_finds, liquid);
    Find *finds = liquid->finds;
    u32 count = 0;
    for (u32 f = 0; f < liquid->find_count; f++) {
        const Collider *collider = &liquid->colliders[finds[f].collider];
        finds[f].moves = finds[f].items != 0 && collider->ops->take(collider->of, finds[f].thing);
        count += (u32)__builtin_popcount(finds[f].items);
    }
    if (!memory_grow((void **)&liquid->pairs, &liquid->pair_capacity, count,
                     sizeof *liquid->pairs)) {
        liquid->find_count = 0;
    }
    for (u32 b = 0, f = 0; b < blocks; b++) {
        u32 first = f;
        while (f < liquid->find_count && finds[f].block == b) {
            f++;
        }
        add_pairs(liquid, b, finds + first, f - first);
    }
    liquid->pair_first[liquid->items] = liquid->pair_count;
    jobs_run(liquid->jobs, liquid->find_count, 16, measure_finds, liquid);
    gather_movers(liquid);
}

/* ---- half-spaces ---- */

static void measure_static(const Liquid *liquid, LiquidPair *pair)
{
    const Four *x = &liquid->place[pair->item];
    Vec3 at = vec3(x->x, x->y, x->z), way = vec3_sub(at, pair->from);
    f32 again = measure_again * liquid->def.spacing;
    if (!(vec3_length_squared(way) < again * again)) {
        const Collider *collider = &liquid->colliders[pair->collider];
        f32 reach = measure_reach * liquid->def.spacing;
        pair->distance =
            collider->ops->distance(collider->of, pair->thing, at, reach, &pair->normal);
        pair->from = at;
        way = vec3_zero();
    }
    pair->far = pair->distance + vec3_dot(way, pair->normal);
}

static void measure_movers(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 m = first; m < end; m++) {
        LiquidMover *mover = &liquid->movers[m];
        LiquidPair *pair = &liquid->pairs[mover->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        ContactParticle particle = particle_of(liquid, pair->item, WALL_FIND * liquid->def.spacing);
        mover->inverse_mass = 0.0f;
        mover->drag = vec3_zero();
        pair->far = particle.radius; /* or more */
        mover->meets =
            collider->ops->meet(collider->of, pair->thing, &particle, 0.0f, &mover->place);
        if (!mover->meets) {
            pair->speed = collider->ops->velocity(collider->of, pair->thing, particle.position);
        } else {
            pair->far = mover->place.distance;
            pair->normal = mover->place.normal;
            pair->speed = mover->place.velocity;
            mover->inverse_mass =
                collider->ops->inverse_mass(collider->of, &mover->place, pair->normal);
            Vec3 side = vec3_perpendicular(pair->normal), other = vec3_cross(pair->normal, side);
            f32 one = collider->ops->inverse_mass(collider->of, &mover->place, side);
            f32 two = collider->ops->inverse_mass(collider->of, &mover->place, other);
            mover->yields_most = f32_max(mover->inverse_mass, f32_max(one, two));
        }
    }
}

/* The part of a half-space with density b that another one, with density `other`, already covers:
 * all of it if they are the same plane, the product if they are perpendicular. */
static f32 shared_part(Vec3 n, Vec3 m, f32 other)
{
    f32 c = vec3_dot(n, m);
    return c > 0.0f ? c + (1.0f - c) * other : (1.0f + c) * other;
}

f32 liquid_boundary_item(Liquid *liquid, u32 i)
{
    u32 first = liquid->pair_first[i], count = liquid->pair_first[i + 1] - first, near = 0;
    LiquidPair *at[PAIRS_OF_ITEM];
    CHECK_ITEM(i, liquid->pair_first[i] <= liquid->pair_first[i + 1]);
    f32 b[PAIRS_OF_ITEM], part[PAIRS_OF_ITEM], d = liquid->def.spacing, sum = 0.0f;
    f32 reach = WALL_FIND * d;
    for (u32 k = 0; k < count; k++) {
        LiquidPair *pair = &liquid->pairs[first + k];
        pair->slope = 0.0f;
        if (pair->mover == LIQUID_STATIC) {
            measure_static(liquid, pair);
        }
        if (pair->far < reach && near < PAIRS_OF_ITEM) {
            part[near] = pair->mover != LIQUID_STATIC ? liquid->movers[pair->mover].part : 1.0f;
            b[near] = part[near] * kernel_wall(pair->far / d);
            at[near++] = pair;
        }
    }
    for (u32 k = 0; k < near; k++) {
        f32 whole = 1.0f, above = 1.0f;
        for (u32 l = 0; l < near; l++) {
            if (l != k) {
                f32 free = 1.0f - shared_part(at[k]->normal, at[l]->normal, f32_min(b[l], 1.0f));
                bool before = l < k ? b[l] >= b[k] : b[l] > b[k];
                above *= before ? free : 1.0f;
                whole *= before || vec3_dot(at[k]->normal, at[l]->normal) < 0.9f ? free : 1.0f;
            }
        }
        sum += b[k] * f32_max(above, 0.0f);
        at[k]->slope = part[k] * kernel_wall_slope(at[k]->far / d) / d * f32_max(whole, 0.0f);
    }
    return sum;
}

/* ---- light things ---- */

/* How near an item is to its thing, 1 within half of its reach; and whether friction acts. */
static ThingLoad load_of(const Liquid *liquid, const LiquidMover *mover)
{
    f32 far = liquid->pairs[mover->pair].far / liquid->def.spacing;
    ThingLoad load = {f32_clamp(2.0f - 2.0f * far / WALL_FIND, 0.0f, 1.0f),
                      far < 1.0f ? 1.0f : 0.0f};
    return mover->meets ? load : (ThingLoad){0.0f, 0.0f};
}

static void add_load(ThingLoad *sum, ThingLoad load, f32 weight)
{
    sum->near += weight * load.near;
    sum->rubs += weight * load.rubs;
}

/* The items that move the same part of a thing as a mover does: for a body all of its items, for a
 * soft body those that share its points. */
static ThingLoad loads_at(const Liquid *liquid, const LiquidMover *mover, ThingLoad all)
{
    const ContactPlace *place = &mover->place;
    f32 square = 0.0f;
    ThingLoad sum = {0.0f, 0.0f};
    for (u32 k = 0; k < place->count; k++) {
        f32 w = fabsf(place->along[k]);
        square += w * w;
        add_load(&sum, liquid->point_loads[place->point[k]], w);
    }
    return square > 0.0f ? (ThingLoad){sum.near / square, sum.rubs / square} : all;
}

static void weigh_group(Liquid *liquid, u32 first, u32 end)
{
    ThingLoad all = {0.0f, 0.0f};
    for (u32 m = first; m < end; m++) {
        const ContactPlace *place = &liquid->movers[m].place;
        for (u32 k = 0; liquid->movers[m].meets && k < place->count; k++) {
            CHECK(place->point[k] < liquid->point_load_capacity);
            liquid->point_loads[place->point[k]] = (ThingLoad){0.0f, 0.0f};
        }
    }
    for (u32 m = first; m < end; m++) {
        const ContactPlace *place = &liquid->movers[m].place;
        ThingLoad load = load_of(liquid, &liquid->movers[m]);
        add_load(&all, load, 1.0f);
        for (u32 k = 0; liquid->movers[m].meets && k < place->count; k++) {
            add_load(&liquid->point_loads[place->point[k]], load, fabsf(place->along[k]));
        }
    }
    for (u32 m = first; m < end; m++) {
        LiquidMover *mover = &liquid->movers[m];
        mover->part = mover->drag_most = 1.0f;
        if (mover->meets) {
            u32 item = liquid->pairs[mover->pair].item;
            f32 mass = liquid->factors[liquid->phase_of[item]].mass;
            ThingLoad loads = loads_at(liquid, mover, all);
            f32 ratio = mass * mover->inverse_mass * loads.near;
            f32 light = mover->place.count != 0 ? light_soft : light_body;
            mover->part = f32_clamp(2.0f - ratio / light, 0.0f, 1.0f);
            mover->drag_most = 1.0f / (1.0f + mass * mover->yields_most * loads.rubs);
        }
    }
}

/* Pressures of the last step act on a thing before those of this one are solved. If the liquid that
 * touches a thing has many times its mass, they would throw it back and forth: there the thing
 * couples less by density and pressure, and more by contact, which accounts for the masses of each
 * pair. */
static void weigh_things(Liquid *liquid)
{
    for (u32 m = 0, end = 0; m < liquid->mover_count; m = end) {
        while (end < liquid->mover_count && liquid->movers[end].group == m) {
            end++;
        }
        weigh_group(liquid, m, end);
    }
}

void liquid_boundary_step(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->mover_count, 32, measure_movers, liquid);
    weigh_things(liquid);
}

/* Velocities after the impulses of the stored pressures. */
static void measure_speeds(void *context, u32 first, u32 end, u32 worker)
{
    Liquid *liquid = context;
    PL_UNUSED(worker);
    for (u32 m = first; m < end; m++) {
        LiquidPair *pair = &liquid->pairs[liquid->movers[m].pair];
        if (liquid->movers[m].meets) {
            const Collider *collider = &liquid->colliders[pair->collider];
            const Four *x = &liquid->place[pair->item];
            Vec3 at = vec3_add_scaled(vec3(x->x, x->y, x->z), -pair->far, pair->normal);
            pair->speed = collider->ops->velocity(collider->of, pair->thing, at);
        }
    }
}

void liquid_boundary_speeds(Liquid *liquid)
{
    jobs_run(liquid->jobs, liquid->mover_count, 32, measure_speeds, liquid);
}

/* ---- impulses ---- */

void liquid_boundary_press(Liquid *liquid, bool warm)
{
    for (u32 m = 0; m < liquid->mover_count; m++) {
        LiquidMover *mover = &liquid->movers[m];
        LiquidPair *pair = &liquid->pairs[mover->pair];
        const Collider *collider = &liquid->colliders[pair->collider];
        if (!mover->meets || !(mover->inverse_mass > 0.0f)) {
            continue;
        }
        f32 pressure = liquid->place[pair->item].w;
        Vec3 impulse = vec3_scale(pair->normal, -pressure * pair->slope);
        impulse = warm ? impulse : vec3_sub(impulse, mover->drag);
        if (vec3_length_squared(impulse) > 0.0f) {
            collider->ops->impulse(collider->of, &mover->place, impulse);
            liquid->touched = true;
        }
    }
}

/* A thing that many items touch yields to all of them at once (mass splitting, Tonge et al.
 * 2012). */
void liquid_boundary_load(Liquid *liquid)
{
    for (u32 m = 0; m < liquid->mover_count; m++) {
        liquid->movers[m].load = 0.0f;
        liquid->movers[m].count = 0;
    }
    for (u32 m = 0; m < liquid->mover_count; m++) {
        LiquidMover *of = &liquid->movers[liquid->movers[m].group];
        of->load += liquid->pairs[liquid->movers[m].pair].slope;
        of->count += liquid->pairs[liquid->movers[m].pair].slope > 0.0f;
    }
}

/* ---- hard contact ---- */

static bool is_near(const Liquid *liquid, const LiquidPair *pair, f32 radius)
{
    const Four *v = &liquid->motion[pair->item];
    f32 approach = -vec3_dot(vec3_sub(vec3(v->x, v->y, v->z), pair->speed), pair->normal);
    /* A plane may be nearer than its linearized distance by the motion since. */
    f32 slack = pair->mover == LIQUID_STATIC ? measure_again * liquid->def.spacing : 0.0f;
    f32 speed = pair->mover == LIQUID_STATIC
                    ? approach
                    : vec3_length(vec3(v->x, v->y, v->z)) + vec3_length(pair->speed);
    return pair->far - radius - slack < f32_max(speed, 0.0f) * liquid->h;
}

static void contact(Liquid *liquid, const LiquidPair *pair)
{
    u32 i = pair->item;
    f32 radius = liquid->factors[liquid->phase_of[i]].radius;
    if (!is_near(liquid, pair, radius)) {
        return;
    }
    ContactParticle particle = particle_of(liquid, i, radius);
    /* Displacing points against stiff edges turns into velocity: where many heavy items press on
     * light points this creates energy. */
    particle.yields = pair->mover != LIQUID_STATIC && liquid->movers[pair->mover].place.count != 0;
    if (contact_particle(&liquid->colliders[pair->collider], pair->thing, &particle, liquid->h)) {
        Four *x = &liquid->place[i], *v = &liquid->motion[i];
        *x = (Four){particle.position.x, particle.position.y, particle.position.z, x->w};
        *v = (Four){particle.velocity.x, particle.velocity.y, particle.velocity.z, v->w};
        if (pair->mover != LIQUID_STATIC && liquid->movers[pair->mover].inverse_mass > 0.0f) {
            liquid->touched = true;
        }
    }
}

void liquid_boundary_contact(Liquid *liquid, u32 first, u32 end)
{
    for (u32 k = liquid->pair_first[first]; k < liquid->pair_first[end]; k++) {
        if (liquid->pairs[k].mover == LIQUID_STATIC) {
            contact(liquid, &liquid->pairs[k]);
        }
    }
}

void liquid_boundary_contact_movers(Liquid *liquid)
{
    for (u32 m = 0; m < liquid->mover_count; m++) {
        contact(liquid, &liquid->pairs[liquid->movers[m].pair]);
    }
}
