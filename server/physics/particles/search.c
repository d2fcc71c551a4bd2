/* search.c: which particles may touch what in the coming tick. A grid of cells is laid over the
 * particles of a system, in blocks of up to 4 × 4 × 4. Blocks are compared with all things, cells
 * with the things near their block, and particles with the things near their cell; so a particle
 * far from everything only costs its entry in a block. */
#include "server/physics/particles/particles_internal.h"

#include "shared/base/memory.h"
#include "shared/math/simd.h"

enum {
    THINGS_MAX = 512, /* of one collider, near one bunch */
    PER_CELL = 10,    /* particles, where they fill their bounds */
    SIDE_BITS = 2,    /* log2 of the cells along a block */
    CELL_BITS = 3 * SIDE_BITS,
    CELLS = 1 << CELL_BITS, /* of a block, at most */
    TOGETHER_MAX = 64,      /* things of a block that its cells test at once */
};

/* Speed that forces may add in a tick. */
static const f32 margin_m_s = 2.0f;

typedef struct SearchPass {
    Particles *particles;
    u32 first_bunch; /* bunches of earlier systems are done */
} SearchPass;

/* A grid over the particles of one system. */
typedef struct BinGrid {
    Vec3 low; /* m */
    f32 side; /* m, of a cell */
    u32 dims[3];
    i32 shift[3];  /* of a cell's coordinate: its block's; 31: there is one */
    u32 cells[3];  /* along a block */
    u32 blocks[3]; /* along the grid */
    u32 block_count, block_cells;
} BinGrid;

/* Where the particles of a cell, or of a block of cells, may meet things within the tick. */
typedef struct NearBall {
    Vec3 centre;
    f32 reach;
} NearBall;

/* ---- cells ---- */

/* m, of the live particles. Free slots are at zero; if there are none, no distinction is needed. */
static Bounds bounds_of(const Particles *p, const ParticleSystem *system)
{
    u32 i = system->first, end = system->first + system->high;
    Vec3x8 low = vec3x8_set(p->bounds.max), high = vec3x8_set(p->bounds.min);
    for (; system->state.alive == system->high && i + SIMD_LANES <= end; i += SIMD_LANES) {
        Vec3x8 x = vec3x8_load(&p->positions[i]);
        low = (Vec3x8){f32x8_min(low.x, x.x), f32x8_min(low.y, x.y), f32x8_min(low.z, x.z)};
        high = (Vec3x8){f32x8_max(high.x, x.x), f32x8_max(high.y, x.y), f32x8_max(high.z, x.z)};
    }
    Vec3 lows[SIMD_LANES], highs[SIMD_LANES];
    vec3x8_store(lows, low);
    vec3x8_store(highs, high);
    Bounds bounds = {lows[0], highs[0]};
    for (u32 k = 1; k < SIMD_LANES; k++) {
        bounds.min = vec3_min(bounds.min, lows[k]);
        bounds.max = vec3_max(bounds.max, highs[k]);
    }
    for (; i < end; i++) {
        if (p->alive[i]) {
            bounds.min = vec3_min(bounds.min, p->positions[i]);
            bounds.max = vec3_max(bounds.max, p->positions[i]);
        }
    }
    return bounds;
}

/* Blocks of cells of this side; false: they are too many for so few particles. */
static bool lay_blocks(BinGrid *grid, Vec3 size, f32 side, u32 alive)
{
    const f32 sizes[3] = {size.x, size.y, size.z};
    u64 blocks = 1, cells = 1;
    grid->side = side;
    for (u32 k = 0; k < 3; k++) {
        u32 most = 1 << SIDE_BITS, dim = 1 + (u32)(sizes[k] / side);
        grid->dims[k] = dim;
        grid->cells[k] = u32_min(dim, most);
        grid->shift[k] = dim > most ? SIDE_BITS : 31;
        grid->blocks[k] = dim > most ? (dim + most - 1) / most : 1;
        blocks *= grid->blocks[k];
        cells *= grid->cells[k];
    }
    grid->block_count = (u32)blocks;
    grid->block_cells = (u32)cells;
    return blocks * cells <= alive / 2 + 512; /* for which there is room */
}

/* Lays a grid over the living particles, of a size such that a cell holds a few if they fill their
 * bounds. */
static void lay_grid(const Particles *p, const ParticleSystem *system, BinGrid *grid)
{
    u32 alive = system->state.alive;
    Bounds bounds = bounds_of(p, system);
    Vec3 size = vec3_max(vec3_sub(bounds.max, bounds.min), vec3(0.1f, 0.1f, 0.1f));
    f64 part = (f64)size.x * (f64)size.y * (f64)size.z * PER_CELL / (f64)alive;
    f32 side = 0.05f;
    while ((f64)side * (f64)side * (f64)side < part || !lay_blocks(grid, size, side, alive)) {
        side *= 1.25f;
    }
    grid->low = bounds.min;
}

/* Cell of a block, in cells of the grid, along one axis. */
typedef struct AxisPlace {
    i32x8 block, cell;
} AxisPlace;

SIMD_INLINE AxisPlace place_along(const BinGrid *grid, u32 axis, f32x8 x, f32 low)
{
    f32x8 at = (x - f32x8_set(low)) * f32x8_set(1.0f / grid->side);
    at = f32x8_min(f32x8_max(at, f32x8_set(0.0f)), f32x8_set((f32)(grid->dims[axis] - 1)));
    i32x8 cell = __builtin_convertvector(at, i32x8), block = cell >> grid->shift[axis];
    return (AxisPlace){block, cell - (block << grid->shift[axis])};
}

/* For eight slots: the block and its cell, as one number, and the squared speeds. */
SIMD_INLINE void locate(const Particles *p, const BinGrid *grid, u32 first, f32 speeds2[SIMD_LANES])
{
    Vec3x8 x = vec3x8_load(&p->positions[first]), v = vec3x8_load(&p->velocities[first]);
    AxisPlace a = place_along(grid, 0, x.x, grid->low.x);
    AxisPlace b = place_along(grid, 1, x.y, grid->low.y);
    AxisPlace c = place_along(grid, 2, x.z, grid->low.z);
    i32x8 block = (c.block * (i32)grid->blocks[1] + b.block) * (i32)grid->blocks[0] + a.block;
    i32x8 cell = (c.cell * (i32)grid->cells[1] + b.cell) * (i32)grid->cells[0] + a.cell;
    i32x8 at = (block << CELL_BITS) + cell;
    f32x8 speed2 = vec3x8_dot(v, v);
    memcpy(&p->bin_of[first], &at, sizeof at);
    memcpy(speeds2, &speed2, sizeof speed2);
}

static void count_in(Bin *bin, f32 speed2)
{
    bin->fastest2 = f32_max(bin->fastest2, speed2);
    bin->count++;
}

/* Counts and highest speeds of the blocks, and the cell of each particle. */
static void fill_blocks(Particles *p, const ParticleSystem *system, const BinGrid *grid)
{
    memset(p->blocks, 0, grid->block_count * sizeof *p->blocks);
    for (u32 i = system->first; i < system->first + system->high; i += SIMD_LANES) {
        f32 speeds2[SIMD_LANES];
        locate(p, grid, i, speeds2);
        for (u32 k = 0; k < SIMD_LANES; k++) {
            if (p->alive[i + k]) {
                count_in(&p->blocks[p->bin_of[i + k] >> CELL_BITS].all, speeds2[k]);
            }
        }
    }
}

/* ---- things ---- */

/* Distance from where a particle of this speed is within which it may meet things in this tick. */
static f32 way_of(const Particles *p, const ParticlesDef *def, f32 speed)
{
    f32 gain = margin_m_s + vec3_length(p->gravity) * fabsf(def->gravity_scale) * p->tick_s;
    f32 avoids = def->behavior == PARTICLE_FLOCK ? def->avoidance : 0.0f;
    return (speed + gain) * p->tick_s + f32_max(def->radius + def->radius_spread, avoids);
}

/* About the box of `cells` cells whose first is at this coordinate. */
static NearBall ball_of(const Particles *p, const ParticlesDef *def, const BinGrid *grid,
                        const u32 first[3], const u32 cells[3], const Bin *bin)
{
    Vec3 half = vec3_scale(vec3((f32)cells[0], (f32)cells[1], (f32)cells[2]), 0.5f * grid->side);
    Vec3 corner =
        vec3_add_scaled(grid->low, grid->side, vec3((f32)first[0], (f32)first[1], (f32)first[2]));
    f32 way = way_of(p, def, sqrtf(bin->fastest2));
    return (NearBall){vec3_add(corner, half), 1.0001f * vec3_length(half) + way};
}

static NearBall ball_of_block(const Particles *p, const ParticlesDef *def, const BinGrid *grid,
                              u32 block)
{
    const u32 first[3] = {block % grid->blocks[0] << SIDE_BITS,
                          block / grid->blocks[0] % grid->blocks[1] << SIDE_BITS,
                          block / grid->blocks[0] / grid->blocks[1] << SIDE_BITS};
    return ball_of(p, def, grid, first, grid->cells, &p->blocks[block].all);
}

static NearBall ball_of_cell(const Particles *p, const ParticlesDef *def, const BinGrid *grid,
                             u32 block, u32 cell)
{
    static const u32 one[3] = {1, 1, 1};
    const u32 *n = grid->cells;
    const u32 first[3] = {
        (block % grid->blocks[0] << SIDE_BITS) + cell % n[0],
        (block / grid->blocks[0] % grid->blocks[1] << SIDE_BITS) + cell / n[0] % n[1],
        (block / grid->blocks[0] / grid->blocks[1] << SIDE_BITS) + cell / n[0] / n[1]};
    return ball_of(p, def, grid, first, one, &p->bins[p->blocks[block].first_bin + cell]);
}

/* m/s of the thing there. */
static f32 speed_of(const Particles *p, const NearThing *thing, Vec3 place)
{
    const Collider *other = &p->colliders[thing->collider];
    return vec3_length(other->ops->velocity(other->of, thing->thing, place));
}

static bool is_within(const Particles *p, const NearThing *thing, const NearBall *ball)
{
    const Collider *other = &p->colliders[thing->collider];
    f32 reach = ball->reach + speed_of(p, thing, ball->centre) * p->tick_s;
    Vec3 normal;
    return other->ops->distance(other->of, thing->thing, ball->centre, reach, &normal) <= reach;
}

/* Lists the things of all colliders that are within reach. False: more than are handled at once, or
 * out of memory. */
static bool find_things(Particles *p, const ParticlesDef *def, const NearBall *ball)
{
    u32 found[THINGS_MAX];
    Vec3 r = vec3(ball->reach, ball->reach, ball->reach);
    Bounds box = {vec3_sub(ball->centre, r), vec3_add(ball->centre, r)};
    bool all = true;
    for (u32 c = 0; c < p->collider_count; c++) {
        const Collider *other = &p->colliders[c];
        u32 count = other->ops->overlaps(other->of, box, def->group, def->mask, found, THINGS_MAX);
        all = all && count < THINGS_MAX;
        count = u32_min(count, THINGS_MAX);
        if (!memory_grow((void **)&p->found, &p->found_capacity, p->found_count + count,
                         sizeof *p->found)) {
            return false;
        }
        for (u32 t = 0; t < count; t++) {
            NearThing thing = {c, found[t], false};
            if (is_within(p, &thing, ball)) {
                p->found[p->found_count++] = thing;
            }
        }
    }
    return all;
}

/* Searches for the things of each block: most of a cloud is far from everything, and cells of the
 * same block are near the same things. Returns the number of bins that they need. */
static u32 search_blocks(Particles *p, const ParticlesDef *def, const BinGrid *grid)
{
    u32 bins = 0;
    p->found_count = 0;
    for (u32 k = 0; k < grid->block_count; k++) {
        NearBlock *block = &p->blocks[k];
        block->first = p->found_count;
        if (block->all.count != 0) {
            NearBall ball = ball_of_block(p, def, grid, k);
            block->crowded = !find_things(p, def, &ball);
        }
        block->count = p->found_count - block->first;
        block->near = block->count != 0 || block->crowded;
        block->first_bin = bins;
        bins += block->near ? grid->block_cells : 0;
    }
    return bins;
}

/* Lists the particles of blocks near something in `live_slots` and returns their number; counts and
 * highest speeds of the cells. */
static u32 fill_bins(Particles *p, const ParticleSystem *system, u32 bins)
{
    u32 count = 0;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        p->live_slots[count] = i; /* kept if it counts; there is room for all slots */
        count += p->alive[i] & (u32)p->blocks[p->bin_of[i] >> CELL_BITS].near;
    }
    for (u32 b = 0; b < bins; b++) {
        p->bins[b] = (Bin){0.0f, 0, UINT32_MAX};
    }
    for (u32 k = 0; k < count; k++) {
        u32 i = p->live_slots[k], at = p->bin_of[i];
        p->bin_of[i] = p->blocks[at >> CELL_BITS].first_bin + (at & (CELLS - 1));
        count_in(&p->bins[p->bin_of[i]], vec3_length_squared(p->velocities[i]));
    }
    return count;
}

/* ---- bunches ---- */

static bool begin_bunch(Particles *p, const Bin *bin, u32 things, NearBunch *bunch)
{
    *bunch =
        (NearBunch){.first = p->near_count, .count = bin->count, .first_thing = p->thing_count};
    return memory_grow((void **)&p->things, &p->thing_capacity, p->thing_count + things,
                       sizeof *p->things);
}

static void add_thing(Particles *p, NearBunch *bunch, const NearThing *thing, Vec3 centre)
{
    const Collider *other = &p->colliders[thing->collider];
    f32 speed = speed_of(p, thing, centre);
    bool moves = other->ops->take(other->of, thing->thing);
    bunch->moves = bunch->moves || moves;
    if (moves) { /* its speed may increase within the tick */
        bunch->fastest_m_s = f32_max(bunch->fastest_m_s, 1.25f * speed + margin_m_s);
    }
    p->things[p->thing_count++] = (NearThing){thing->collider, thing->thing, moves};
    bunch->thing_count++;
}

/* The particles of a cell that may touch something form a bunch. */
static bool end_bunch(Particles *p, const NearBunch *bunch, Bin *bin)
{
    if (bunch->thing_count == 0) {
        return true;
    }
    if (!memory_grow((void **)&p->bunches, &p->bunch_capacity, p->bunch_count + 1,
                     sizeof *p->bunches)) {
        return false;
    }
    bin->next = p->near_count;
    p->near_count += bin->count; /* at most the slots, for which there is room */
    p->bunches[p->bunch_count++] = *bunch;
    return true;
}

/* Compares each cell with each thing on its own, where these are many. */
static bool add_crowded(Particles *p, const ParticlesDef *def, const BinGrid *grid, u32 block)
{
    const NearBlock *of = &p->blocks[block];
    for (u32 cell = 0; cell < grid->block_cells; cell++) {
        Bin *bin = &p->bins[of->first_bin + cell];
        u32 first = of->first, count = of->count, before = p->found_count;
        NearBunch bunch;
        if (bin->count == 0) {
            continue;
        }
        NearBall ball = ball_of_cell(p, def, grid, block, cell);
        if (of->crowded) {
            (void)find_things(p, def, &ball); /* as many as are handled at once */
            first = before;
            count = p->found_count - before;
        }
        bool added = begin_bunch(p, bin, count, &bunch);
        for (u32 t = first; t < first + count && added; t++) {
            if (is_within(p, &p->found[t], &ball)) {
                add_thing(p, &bunch, &p->found[t], ball.centre);
            }
        }
        p->found_count = before;
        if (!added || !end_bunch(p, &bunch, bin)) {
            return false;
        }
    }
    return true;
}

/* Compares all cells of a block with each thing at once. */
static bool add_block(Particles *p, const ParticlesDef *def, const BinGrid *grid, u32 block)
{
    const NearBlock *of = &p->blocks[block];
    u32 cells[CELLS], count = 0;
    Vec3 centres[CELLS];
    f32 own[CELLS] = {0.0f}, reach[CELLS], found[CELLS] = {0.0f};
    u64 within[TOGETHER_MAX]; /* bits: cells */
    for (u32 cell = 0; cell < grid->block_cells; cell++) {
        if (p->bins[of->first_bin + cell].count != 0) {
            NearBall ball = ball_of_cell(p, def, grid, block, cell);
            cells[count] = cell;
            centres[count] = ball.centre;
            own[count++] = ball.reach;
        }
    }
    for (u32 t = 0; t < of->count; t++) {
        const NearThing *thing = &p->found[of->first + t];
        const Collider *other = &p->colliders[thing->collider];
        bool still = other->ops->still != NULL && other->ops->still(other->of, thing->thing);
        for (u32 k = 0; k < count; k++) {
            reach[k] = own[k] + (still ? 0.0f : speed_of(p, thing, centres[k]) * p->tick_s);
        }
        collider_distances(other, thing->thing,
                           &(ContactPoints){centres, reach, count, found, NULL});
        within[t] = 0;
        for (u32 k = 0; k < count; k++) {
            within[t] |= (u64)(found[k] <= reach[k]) << k;
        }
    }
    for (u32 k = 0; k < count; k++) {
        NearBunch bunch;
        Bin *bin = &p->bins[of->first_bin + cells[k]];
        if (!begin_bunch(p, bin, of->count, &bunch)) {
            return false;
        }
        for (u32 t = 0; t < of->count; t++) {
            if ((within[t] >> k & 1) != 0) {
                add_thing(p, &bunch, &p->found[of->first + t], centres[k]);
            }
        }
        if (!end_bunch(p, &bunch, bin)) {
            return false;
        }
    }
    return true;
}

/* ---- particles ---- */

/* m, tolerance of contacts where a particle rests. */
static f32 rest_gap(Vec3 position)
{
    return PARTICLE_PLACE_M + 1e-6f * vec3_length(position);
}

/* Measures the clear path of some particles of a bunch from `first` on; those that may touch
 * something in this tick are added to `near`. Returns its number. */
static u32 measure_some(const Particles *p, const NearBunch *bunch, u32 first, u32 count,
                        NearParticle *near)
{
    const ParticlesDef *def = &p->systems[p->system_of[p->near_slots[first]]].def;
    const Vec3 *places = p->live_places + first;
    Vec3 normals[PARTICLES_ASKED] = {{0.0f, 0.0f, 0.0f}},
         best[PARTICLES_ASKED] = {{0.0f, 0.0f, 0.0f}};
    f32 ways[PARTICLES_ASKED], gaps[PARTICLES_ASKED], found[PARTICLES_ASKED] = {0.0f};
    f32 own = way_of(p, def, 0.0f) + bunch->fastest_m_s * p->tick_s;
    u32 kept = 0;
    for (u32 k = 0; k < count; k++) {
        ways[k] = p->near_speeds[first + k] * p->tick_s + own;
        gaps[k] = 2.0f * ways[k];
    }
    for (u32 t = 0; t < bunch->thing_count; t++) {
        const NearThing *thing = &p->things[bunch->first_thing + t];
        ContactPoints points = {places, ways, count, found, normals};
        collider_distances(&p->colliders[thing->collider], thing->thing, &points);
        for (u32 k = 0; k < count; k++) {
            if (found[k] < gaps[k]) {
                gaps[k] = found[k];
                best[k] = normals[k];
            }
        }
    }
    for (u32 k = 0; k < count; k++) {
        if (!(gaps[k] <= ways[k])) {
            continue;
        }
        u32 slot = p->near_slots[first + k];
        f32 radius = particles_radius_of(p, def, slot);
        bool touches = fabsf(gaps[k] - radius) <= 4.0f * rest_gap(places[k]);
        near[kept++] = (NearParticle){.slot = slot,
                                      .clear_m = f32_max(gaps[k] - radius, 0.0f),
                                      .rests = touches && !bunch->moves &&
                                               particle_is_still(p->velocities[slot]),
                                      .normal = best[k]};
    }
    return kept;
}

static void measure_bunches(void *context, u32 first, u32 end, u32 worker)
{
    const SearchPass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = pass->first_bunch + first; b < pass->first_bunch + end; b++) {
        NearBunch *bunch = &p->bunches[b];
        u32 kept = 0;
        for (u32 i = 0; i < bunch->count; i += PARTICLES_ASKED) {
            u32 count = u32_min(PARTICLES_ASKED, bunch->count - i);
            kept += measure_some(p, bunch, bunch->first + i, count, &p->near[bunch->first + kept]);
        }
        bunch->count = kept;
    }
}

/* Moves the bunches together. */
static void close_ranks(Particles *p, u32 first_near, u32 first_bunch)
{
    u32 kept = first_near;
    for (u32 b = first_bunch; b < p->bunch_count; b++) {
        NearBunch *bunch = &p->bunches[b];
        memmove(&p->near[kept], &p->near[bunch->first], bunch->count * sizeof *p->near);
        bunch->first = kept;
        kept += bunch->count;
    }
    p->near_count = kept;
}

static void find_near_system(Particles *p, const ParticleSystem *system)
{
    BinGrid grid;
    u32 first_bunch = p->bunch_count, first_near = p->near_count;
    if (system->state.alive == 0) {
        return;
    }
    lay_grid(p, system, &grid);
    if (!memory_grow((void **)&p->blocks, &p->block_capacity, grid.block_count,
                     sizeof *p->blocks)) {
        return;
    }
    fill_blocks(p, system, &grid);
    u32 bins = search_blocks(p, &system->def, &grid);
    if (bins == 0 || !memory_grow((void **)&p->bins, &p->bin_capacity, bins, sizeof *p->bins)) {
        return;
    }
    u32 count = fill_bins(p, system, bins);
    bool searched = true; /* out of memory: the rest has no contacts in this tick */
    for (u32 k = 0; k < grid.block_count && searched; k++) {
        const NearBlock *block = &p->blocks[k];
        if (block->near) {
            bool alone = block->crowded || block->count > TOGETHER_MAX;
            searched = alone ? add_crowded(p, &system->def, &grid, k)
                             : add_block(p, &system->def, &grid, k);
        }
    }
    for (u32 k = 0; k < count; k++) {
        u32 slot = p->live_slots[k];
        Bin *bin = &p->bins[p->bin_of[slot]];
        if (bin->next != UINT32_MAX) {
            u32 at = bin->next++;
            p->near_slots[at] = slot;
            p->live_places[at] = p->positions[slot];
            p->near_speeds[at] = vec3_length(p->velocities[slot]);
        }
    }
    SearchPass pass = {p, first_bunch};
    jobs_run(p->jobs, p->bunch_count - first_bunch, PARTICLES_BUNCHES, measure_bunches, &pass);
    close_ranks(p, first_near, first_bunch);
}

void particles_find_near(Particles *p)
{
    p->bunch_count = p->thing_count = p->near_count = 0;
    for (u32 s = 0; s < p->system_count && p->collider_count != 0; s++) {
        const ParticleSystem *system = &p->systems[s];
        if (system->def.collide && system->def.behavior != PARTICLE_SWARM &&
            system->state.asleep == 0) {
            find_near_system(p, system);
        }
    }
}

/* ---- sleeping things that will be hit ---- */

static bool gather_massive(Particles *p)
{
    p->live_count = 0;
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *system = &p->systems[s];
        bool meets = system->def.collide && system->def.behavior != PARTICLE_SWARM;
        if (!meets || system->state.asleep != 0 || system->def.mass_kg <= 0.0f) {
            continue;
        }
        u32 needed = p->live_count + system->high, rooms[2] = {p->live_capacity, p->live_capacity};
        if (!memory_grow((void **)&p->live_slots, &rooms[0], needed, sizeof(u32)) ||
            !memory_grow((void **)&p->live_velocities, &rooms[1], needed, sizeof(Vec3)) ||
            !memory_grow((void **)&p->live_places, &p->live_capacity, needed, sizeof(Vec3))) {
            return false;
        }
        for (u32 i = system->first; i < system->first + system->high; i++) {
            if (p->alive[i]) {
                p->live_places[p->live_count] = p->positions[i];
                p->live_slots[p->live_count++] = i;
            }
        }
    }
    return p->live_count > 0;
}

void particles_stir(Particles *p, const Collider *colliders, u32 count, f32 tick_s)
{
    bool asleep = false;
    for (u32 c = 0; c < count; c++) {
        asleep = asleep || (colliders[c].ops->asleep != NULL &&
                            colliders[c].ops->asleep(colliders[c].of, CONTACT_ANY));
    }
    if (!asleep || !gather_massive(p)) {
        return;
    }
    f32 radius = 0.0f;
    for (u32 i = 0; i < p->live_count; i++) {
        p->live_velocities[i] = p->velocities[p->live_slots[i]];
        radius = f32_max(radius, particles_radius(p, p->live_slots[i]));
    }
    ParticleSet set = {.positions = p->live_places,
                       .velocities = p->live_velocities,
                       .inverse_mass = 1.0f,
                       .count = p->live_count,
                       .radius = radius};
    particle_contacts_stir(&p->sleepers, &set, colliders, count, tick_s);
}
