/* heights_shed.c: water that leaves the surface as parcels, where it falls over a step of the bed
 * or breaks at a front, and parcels that return. */
#include "server/physics/grid/heights_internal.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"
#include "shared/math/random.h"

#include <math.h>

/* Minimal height of a fall, and of a breaking front, in parcels. */
static const f32 fall_sizes = 3.0f, break_sizes = 2.0f;
/* Ratio of the depths on both sides above which a front breaks: lower ones are wave trains. */
static const f32 break_ratio = 1.5f;
/* Fraction of the energy lost by a front that throws parcels up; the rest is dissipated. */
static const f32 break_share = 0.3f;
/* A parcel is in the water if its centre is this near to the surface, in sizes. */
static const f32 catch_sizes = 0.5f;

enum {
    AHEAD_MAX = 64,      /* maximal number of parcels that a fall may owe */
    ABREAST_MAX = 10000, /* side by side, or one above the other */
    THROWN_MAX = 8       /* by a cell in a tick */
};

/* A cell's neighbour: side as HEIGHTS_SIDE; false: beyond the grid. */
static bool beside(const Pool *pool, u32 cell, u32 side, u32 *found)
{
    u32 at[2] = {cell % pool->def.size[0], cell / pool->def.size[0]};
    at[side / 2] += side % 2 == 0 ? UINT32_MAX : 1;
    *found = at[1] * pool->def.size[0] + at[0];
    return at[side / 2] < pool->def.size[side / 2];
}

void pool_find_falls(Pool *pool)
{
    pool->fall_count = 0;
    for (u32 c = 0; pool->parcel_kg > 0.0f && c < pool_cells(pool); c++) {
        for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
            u32 low;
            if (beside(pool, c, side, &low) &&
                pool->bed[c] - pool->bed[low] >= fall_sizes * pool->parcel_m &&
                memory_grow((void **)&pool->falls, &pool->fall_capacity, pool->fall_count + 1,
                            sizeof *pool->falls)) {
                pool->falls[pool->fall_count++] = (PoolFall){.cell = c, .side = side};
            }
        }
    }
}

void pool_set_parcels(Pool *pool, f32 size_m, f32 mass_kg)
{
    bool any = pool->shallow != NULL && size_m > 0.0f && mass_kg > 0.0f;
    pool->parcel_m = any ? size_m : 0.0f;
    pool->parcel_kg = any ? mass_kg : 0.0f;
    pool_find_falls(pool);
}

/* m, by which a parcel makes a cell deeper. */
static f32 rise_of(const Pool *pool)
{
    return pool->parcel_kg / (pool->def.density * pool->def.cell_m * pool->def.cell_m);
}

static u32 row_of(const Pool *pool, u32 cell)
{
    return cell / pool->def.size[0];
}

static u32 column_of(const Pool *pool, u32 cell)
{
    return cell % pool->def.size[0];
}

/* ---- out ---- */

/* Takes a parcel out of a cell, with its horizontal momentum. If the cell cannot give that and
 * keep a sensible speed, the parcel gets the cell's. */
static bool shed(Pool *pool, u32 cell, PoolParcel parcel, const PoolTaker *to)
{
    u32 i = column_of(pool, cell), k = row_of(pool, cell);
    f32 depth = pool_depth(pool, i, k), take = rise_of(pool), left = depth - take, own[2], rest[2];
    if (!(left >= 0.0f)) {
        return false;
    }
    pool_flow(pool, i, k, &own[0], &own[1]);
    f32 *part[2] = {&parcel.velocity.x, &parcel.velocity.z};
    for (u32 n = 0; n < 2; n++) {
        f32 most = 1.0f + f32_max(fabsf(own[n]), fabsf(*part[n]));
        rest[n] = left > 0.0f ? (depth * own[n] - take * *part[n]) / left : INFINITY;
        if (!(fabsf(rest[n]) <= most)) {
            rest[n] = *part[n] = own[n];
        }
    }
    if (!to->take(to->context, &parcel)) {
        return false;
    }
    shallow_set(pool->shallow, i, k, left, rest[0], rest[1]);
    pool->stats.shed++;
    return true;
}

/* Parcels leave side by side and one above the other, in the time in which a layer of them passes
 * the edge: no two are closer than at rest. */
static PoolParcel parcel_of_fall(const Pool *pool, const PoolFall *fall, u32 low, Vec3 velocity)
{
    f32 cell = pool->def.cell_m, size = pool->parcel_m;
    f32 depth = pool_depth(pool, column_of(pool, fall->cell), row_of(pool, fall->cell));
    u32 wide = (u32)f32_clamp(cell / size + 0.5f, 1.0f, ABREAST_MAX);
    u32 high = (u32)f32_clamp(depth / size + 0.5f, 1.0f, ABREAST_MAX);
    u32 place = fall->shed % (wide * high);
    f32 across = cell * (((f32)(place % wide) + 0.5f) / (f32)wide - 0.5f);
    f32 up = depth * ((f32)(place / wide) + 0.5f) / (f32)high;
    Vec3 at = vec3(pool->def.corner.x + cell * ((f32)column_of(pool, low) + 0.5f),
                   pool->def.corner.y + pool->bed[fall->cell] + up,
                   pool->def.corner.z + cell * ((f32)row_of(pool, low) + 0.5f));
    if (fall->side < 2) {
        at.z += across;
    } else {
        at.x += across;
    }
    return (PoolParcel){at, velocity};
}

/* The step has already moved the water that flows over an edge to the cell below, from which the
 * parcels are taken. */
static void shed_fall(Pool *pool, PoolFall *fall, const PoolTaker *to)
{
    u32 low, i = column_of(pool, fall->cell), k = row_of(pool, fall->cell);
    if (!beside(pool, fall->cell, fall->side, &low)) {
        return;
    }
    f32 depth = pool_depth(pool, i, k), u, w;
    f32 level = pool_level(pool, column_of(pool, low), row_of(pool, low));
    pool_flow(pool, i, k, &u, &w);
    f32 over = (fall->side < 2 ? u : w) * (fall->side % 2 == 0 ? -1.0f : 1.0f);
    if (!(over > 0.0f) || pool->bed[fall->cell] - level < fall_sizes * pool->parcel_m) {
        return;
    }
    f32 flow = pool->def.density * over * depth * pool->def.cell_m; /* kg/s */
    fall->owed = f32_min(fall->owed + flow * pool->tick_s / pool->parcel_kg, AHEAD_MAX);
    while (fall->owed >= 1.0f &&
           shed(pool, low, parcel_of_fall(pool, fall, low, vec3(u, 0.0f, w)), to)) {
        fall->owed -= 1.0f;
        fall->shed++;
    }
}

/* ---- breaking ---- */

/* A front between two cells, along an axis. */
typedef struct PoolFront {
    u32 high;     /* cell behind it */
    u32 axis;     /* along which it runs */
    f32 way;      /* +1: towards the next cell */
    f32 fall;     /* m, from the level behind it to that ahead */
    f32 depth[2]; /* m, ahead and behind */
} PoolFront;

/* For four cells in a row: whether the drop between the inner two is the steepest, and breaks. */
static bool find_front(const Pool *pool, u32 cell, u32 axis, PoolFront *front)
{
    ShallowCells cells = shallow_cells(pool->shallow);
    size_t at = (size_t)row_of(pool, cell) * cells.stride + column_of(pool, cell);
    size_t step = axis == 0 ? 1 : cells.stride;
    f32 least = break_sizes * pool->parcel_m, level[4], depth[4];
    f32 bed = cells.bed[at] - cells.bed[at + step];
    f32 drop = bed + cells.depth[at] - cells.depth[at + step];
    if (3.0f * fabsf(drop) < least || fabsf(drop) < 2.0f * fabsf(bed)) {
        return false; /* as most */
    }
    for (u32 n = 0; n < 4; n++) {
        size_t one = at + n * step - step;
        depth[n] = cells.depth[one];
        level[n] = cells.bed[one] + depth[n];
    }
    front->way = drop > 0.0f ? 1.0f : -1.0f;
    u32 ahead = drop > 0.0f ? 3 : 0, behind = 3 - ahead;
    front->fall = level[behind] - level[ahead];
    front->depth[0] = depth[ahead];
    front->depth[1] = depth[behind];
    front->axis = axis;
    front->high = drop > 0.0f ? cell : cell + (axis == 0 ? 1 : pool->def.size[0]);
    return front->fall >= least && fabsf(drop) >= fabsf(level[0] - level[1]) &&
           fabsf(drop) > fabsf(level[2] - level[3]) && depth[behind] > break_ratio * depth[ahead];
}

/* The energy that a bore loses in a tick, J: ρ g Δ³ / (4 h₁ h₂) times the volume that it reaches.
 * On land a front may be very thin. */
static f32 loss_of(const Pool *pool, const PoolFront *front)
{
    f32 h1 = f32_max(front->depth[0], 0.25f * front->depth[1]), h2 = front->depth[1];
    f32 meets = sqrtf(0.5f * pool->gravity * h1 * h2 * (h1 + h2)); /* m²/s */
    f32 part = front->fall * front->fall * front->fall / (4.0f * h1 * h2);
    return pool->def.density * pool->gravity * part * meets * pool->def.cell_m * pool->tick_s;
}

static f32 draw(Pool *pool)
{
    return random_f32(0x7761746572u, pool->drawn++);
}

/* Parcels are thrown up to half of the front's height and ahead, as far as the lost energy
 * permits. */
static void shed_front(Pool *pool, const PoolFront *front, const PoolTaker *to)
{
    u32 i = column_of(pool, front->high), k = row_of(pool, front->high);
    f32 flow[2];
    pool_flow(pool, i, k, &flow[0], &flow[1]);
    if (!(flow[front->axis] * front->way > 0.0f)) {
        return;
    }
    f32 up = sqrtf(pool->gravity * front->fall), size = pool->parcel_m;
    f32 cost = pool->parcel_kg * (up * up + pool->gravity * size); /* J, of the costliest */
    f32 wanted = break_share * loss_of(pool, front) / f32_max(cost, 1e-12f) + draw(pool);
    u32 count = (u32)f32_min(wanted, THROWN_MAX);
    for (u32 n = 0; n < count; n++) {
        f32 cell = pool->def.cell_m, drawn[4];
        for (u32 d = 0; d < 4; d++) { /* C does not define the order in which arguments are
                                       * evaluated */
            drawn[d] = draw(pool);
        }
        f32 along = 0.7f * up * drawn[0];
        Vec3 at = vec3(pool->def.corner.x + cell * ((f32)i + drawn[1]),
                       pool->def.corner.y + pool_level(pool, i, k) + catch_sizes * size,
                       pool->def.corner.z + cell * ((f32)k + drawn[2]));
        Vec3 velocity = vec3(flow[0], up * (0.5f + 0.5f * drawn[3]), flow[1]);
        if (front->axis == 0) {
            velocity.x += along * front->way;
        } else {
            velocity.z += along * front->way;
        }
        /* A wave is not shed completely. */
        if (pool_depth(pool, i, k) < 4.0f * rise_of(pool) ||
            !shed(pool, front->high, (PoolParcel){at, velocity}, to)) {
            return;
        }
    }
}

static void shed_fronts(Pool *pool, const PoolTaker *to)
{
    u32 nx = pool->def.size[0], nz = pool->def.size[1];
    PoolFront front;
    for (u32 k = 0; k < nz; k++) {
        for (u32 i = 0; i < nx; i++) {
            if (i >= 1 && i + 2 < nx && find_front(pool, k * nx + i, 0, &front)) {
                shed_front(pool, &front, to);
            }
            if (k >= 1 && k + 2 < nz && find_front(pool, k * nx + i, 1, &front)) {
                shed_front(pool, &front, to);
            }
        }
    }
}

void pool_shed(Pool *pool, const PoolTaker *to)
{
    pool->stats.shed = 0;
    if (!(pool->parcel_kg > 0.0f) || !pool->stats.awake) {
        return;
    }
    for (u32 n = 0; n < pool->fall_count; n++) {
        shed_fall(pool, &pool->falls[n], to);
    }
    shed_fronts(pool, to);
    CHECK(pool->fall_count <= pool->fall_capacity);
}

/* ---- back ---- */

bool pool_catch(Pool *pool, const PoolParcel *parcel)
{
    u32 i, k;
    if (!(pool->parcel_kg > 0.0f) || parcel->velocity.y > 0.0f ||
        !pool_cell(pool, parcel->position, &i, &k)) {
        return false;
    }
    f32 above = parcel->position.y - pool->def.corner.y, depth = pool_depth(pool, i, k);
    f32 bed = pool->bed[k * pool->def.size[0] + i], reach = catch_sizes * pool->parcel_m;
    /* Slightly higher on land: it lies on the shape from which the bed was sampled. */
    reach += depth > reach ? 0.0f : reach;
    f32 deeper = depth + rise_of(pool), u, w;
    if (above > bed + depth + reach || above < bed - pool->def.cell_m ||
        deeper > HEIGHTS_DEPTH_MAX_M) {
        return false;
    }
    pool_flow(pool, i, k, &u, &w);
    f32 part = depth / deeper, other = 1.0f - part;
    shallow_set(pool->shallow, i, k, deeper, u * part + parcel->velocity.x * other,
                w * part + parcel->velocity.z * other);
    if (depth > 0.0f) {
        pool_foam_of_parcel(pool, k * pool->def.size[0] + i);
    }
    pool->stats.caught++;
    return true;
}

/* ---- state ---- */

void pool_serialize_falls(Pool *pool, State *state)
{
    if (!(pool->parcel_kg > 0.0f)) {
        return;
    }
    u32 count = pool->fall_count;
    if (state->mode == STATE_LOAD) {
        pool_find_falls(pool);
        count = pool->fall_count;
    }
    state_bytes(state, &pool->drawn, sizeof pool->drawn);
    state_count(state, &count, pool->fall_count);
    state->failed = state->failed || count != pool->fall_count;
    for (u32 n = 0; n < count && !state->failed; n++) {
        PoolFall *fall = &pool->falls[n];
        state_bytes(state, &fall->owed, sizeof fall->owed);
        state_bytes(state, &fall->shed, sizeof fall->shed);
        if (state->mode == STATE_LOAD && !(fall->owed >= 0.0f && fall->owed <= AHEAD_MAX)) {
            state->failed = true;
        }
    }
}
