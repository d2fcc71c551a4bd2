/* heights_press.c: buoyancy and drag of the bodies in a pool, and their effect on the water:
 * momentum and displaced volume. */
#include "server/physics/grid/heights_internal.h"
#include "shared/base/check.h"

#include <math.h>
#include <string.h>

/* Damping of heaving and rolling by water in addition to waves, relative to critical damping. */
static const f32 heave_damping = 0.1f;
/* Below this speed drag is linear, m/s. */
static const f32 creep_m_s = 0.1f;
/* The displaced volume follows bodies in steps of this, m: smaller ones would keep still water
 * awake. */
static const f32 follow_m = 1e-6f;
/* Maximal fraction of a cell's water removed at a time: the rest keeps its speed. */
static const f32 take_share = 0.9f;

enum {
    SIX = 6 /* velocities of a body along and about x, y, z */
};

/* ---- forces on a line ---- */

/* Pressure follows from the level in the line's own cell, including the displaced volume: the level
 * against which the body raises the water. So lift derives from the energy of the water, and a body
 * pays for the waves that it makes; the added mass of a body is the mass in these waves. */
f32 pool_lift(const Pool *pool, const PoolColumn *column, f32 *stiffness)
{
    u32 i = column->cell % pool->def.size[0], k = column->cell / pool->def.size[0];
    f32 low = column->low + column->risen, top = column->top + column->risen;
    /* Including the water that it has raised or lowered since. */
    f32 hump = column->pierces ? -column->risen * column->cover : 0.0f;
    f32 level = pool->def.corner.y + pool_level(pool, i, k) + hump;
    f32 weight = pool->def.density * pool->gravity * column->area;
    bool pierces = level > low && level < top;
    *stiffness = pierces ? weight * (1.0f + (column->pierces ? column->cover : 0.0f)) : 0.0f;
    return weight * f32_max(f32_min(level, top) - low, 0.0f);
}

/* A resistance along the surface with which the water of a line does not become faster than the
 * body within a tick, kg/s. */
static f32 slow_enough(const Pool *pool, const PoolColumn *column, f32 resistance)
{
    u32 i = column->cell % pool->def.size[0], k = column->cell / pool->def.size[0];
    f32 water = pool->def.density * column->area * pool_depth(pool, i, k);
    return water > 0.0f ? resistance / (1.0f + pool->tick_s * resistance / water) : 0.0f;
}

/* For a body of this mass (kg): force, and resistance to its motion relative to the water, N and
 * kg/s along x, y, z. */
static void find_force(const Pool *pool, const PoolBody *around, PoolColumn *column, f32 mass,
                       Vec3 velocity, f32 h)
{
    u32 i = column->cell % pool->def.size[0], k = column->cell / pool->def.size[0];
    f32 density = pool->def.density, volume = column->area * column->under, stiffness, u, w;
    f32 lift = pool_lift(pool, column, &stiffness);
    f32 weight = density * pool->gravity * volume;
    pool_flow(pool, i, k, &u, &w);
    column->slip = vec3(velocity.x - u, velocity.y, velocity.z - w);
    column->force = vec3(-weight * around->slope[0], lift, -weight * around->slope[1]);
    f32 drag = 0.5f * density * pool->def.drag * f32_max(vec3_length(column->slip), creep_m_s);
    f32 along = slow_enough(pool, column, drag * volume / sqrtf(around->area));
    f32 critical = 2.0f * sqrtf(density * pool->gravity * mass / around->area) * column->area;
    f32 heave = column->pierces ? heave_damping * critical : 0.0f;
    column->resistance = vec3(along, drag * column->area + heave + h * stiffness, along);
}

/* The water gets the opposite of an impulse on a body, the bed the vertical part. */
static void push_water(Pool *pool, const PoolColumn *column, Vec3 impulse)
{
    pool->pushed[2 * (size_t)column->cell] -= (f64)impulse.x;
    pool->pushed[2 * (size_t)column->cell + 1] -= (f64)impulse.z;
}

/* The waves that a body makes by its own motion, the slope of the water in its cells beyond that
 * around it, resist it. A driving force is omitted: it would lag by a tick. */
static void resist_waves(Pool *pool, const PoolBody *body)
{
    f32 weight = pool->def.density * pool->gravity, own[2] = {0}, slip[2] = {0};
    for (u32 c = body->first; c < body->end; c++) {
        const PoolColumn *column = &pool->columns[c];
        f32 part = column->area * column->under;
        own[0] += weight * part * (body->slope[0] - column->slope[0]);
        own[1] += weight * part * (body->slope[1] - column->slope[1]);
        slip[0] += part * column->slip.x;
        slip[1] += part * column->slip.z;
    }
    f32 fast = slip[0] * slip[0] + slip[1] * slip[1]; /* times the volume's square */
    f32 resistance = -(own[0] * slip[0] + own[1] * slip[1]) / f32_max(fast, 1e-20f);
    for (u32 c = body->first; c < body->end && resistance > 0.0f; c++) {
        PoolColumn *column = &pool->columns[c];
        f32 part = resistance * column->area * column->under;
        column->resistance.x = slow_enough(pool, column, column->resistance.x + part);
        column->resistance.z = column->resistance.x;
    }
}

/* ---- rigid bodies ---- */

/* The lines of a rigid body act on one motion. All of their forces are implicit: six linear
 * equations (I + h B W) p = h (f − B v) for the impulse and angular impulse p, with the resistance
 * B of all lines and the response W of the body. */
typedef struct Press {
    f64 rows[SIX][SIX + 1]; /* right side last */
    f64 resist[SIX][SIX];   /* h B */
} Press;

/* Velocity of a line at an arm along an axis, from three of the six velocities. */
typedef struct PressRow {
    u32 of[3];
    f64 value[3];
} PressRow;

static PressRow row_of(Vec3 arm, u32 axis)
{
    f64 r[3] = {arm.x, arm.y, arm.z};
    u32 next = (axis + 1) % 3, last = (axis + 2) % 3;
    return (PressRow){{axis, 3 + next, 3 + last}, {1.0, r[last], -r[next]}};
}

static void add_force(Press *press, const PoolColumn *column, f64 h)
{
    f64 force[3] = {column->force.x, column->force.y, column->force.z};
    f64 slip[3] = {column->slip.x, column->slip.y, column->slip.z};
    f64 resistance[3] = {column->resistance.x, column->resistance.y, column->resistance.z};
    for (u32 axis = 0; axis < 3; axis++) {
        PressRow row = row_of(column->arm, axis);
        f64 impulse = h * (force[axis] - resistance[axis] * slip[axis]);
        for (u32 a = 0; a < 3; a++) {
            f64 part = h * resistance[axis] * row.value[a];
            press->rows[row.of[a]][SIX] += impulse * row.value[a];
            for (u32 b = 0; b < 3; b++) {
                press->resist[row.of[a]][row.of[b]] += part * row.value[b];
            }
        }
    }
}

/* Gaussian elimination with pivoting: the matrix is usually near the identity. */
static bool solve(f64 rows[SIX][SIX + 1], f64 x[SIX])
{
    for (u32 c = 0; c < SIX; c++) {
        u32 best = c;
        for (u32 r = c + 1; r < SIX; r++) {
            best = fabs(rows[r][c]) > fabs(rows[best][c]) ? r : best;
        }
        if (!(fabs(rows[best][c]) > 1e-12)) {
            return false;
        }
        for (u32 k = c; k <= SIX && best != c; k++) {
            f64 kept = rows[c][k];
            rows[c][k] = rows[best][k];
            rows[best][k] = kept;
        }
        for (u32 r = c + 1; r < SIX; r++) {
            f64 factor = rows[r][c] / rows[c][c];
            for (u32 k = c; k <= SIX; k++) {
                rows[r][k] -= factor * rows[c][k];
            }
        }
    }
    for (u32 c = SIX; c-- > 0;) {
        x[c] = rows[c][SIX];
        for (u32 k = c + 1; k < SIX; k++) {
            x[c] -= rows[c][k] * x[k];
        }
        x[c] /= rows[c][c];
    }
    return true;
}

/* Change of the six velocities per unit of each of the six impulses. */
static void response_of(const Collider *of, u32 thing, f32 mass, f64 response[SIX][SIX])
{
    memset(response, 0, SIX * sizeof response[0]);
    for (u32 n = 0; n < 3 && mass > 0.0f; n++) {
        Vec3 unit = vec3(n == 0 ? 1.0f : 0.0f, n == 1 ? 1.0f : 0.0f, n == 2 ? 1.0f : 0.0f);
        Vec3 rotation = of->ops->bodies->angular_response(of->of, thing, unit);
        response[n][n] = 1.0 / (f64)mass;
        response[3][3 + n] = rotation.x;
        response[4][3 + n] = rotation.y;
        response[5][3 + n] = rotation.z;
    }
}

static void multiply_add(f64 rows[SIX][SIX + 1], f64 a[SIX][SIX], f64 b[SIX][SIX])
{
    for (u32 r = 0; r < SIX; r++) {
        rows[r][r] += 1.0;
        for (u32 c = 0; c < SIX; c++) {
            for (u32 k = 0; k < SIX; k++) {
                rows[r][c] += a[r][k] * b[k][c];
            }
        }
    }
}

/* The water's part, and how far the line has moved. */
static void follow_body(Pool *pool, PoolColumn *column, const f64 change[SIX], f32 moving, f32 h)
{
    f32 impulse[3], faster = 0.0f;
    f32 force[3] = {column->force.x, column->force.y, column->force.z};
    f32 slip[3] = {column->slip.x, column->slip.y, column->slip.z};
    f32 resistance[3] = {column->resistance.x, column->resistance.y, column->resistance.z};
    for (u32 axis = 0; axis < 3; axis++) {
        PressRow row = row_of(column->arm, axis);
        f64 sum = 0.0;
        for (u32 a = 0; a < 3; a++) {
            sum += row.value[a] * change[row.of[a]];
        }
        faster = axis == 1 ? (f32)sum : faster;
        impulse[axis] = h * (force[axis] - resistance[axis] * (slip[axis] + (f32)sum));
    }
    push_water(pool, column, vec3(impulse[0], impulse[1], impulse[2]));
    column->risen += (moving + faster) * h;
}

static void press_rigid(Pool *pool, const PoolBody *body, f32 h)
{
    const Collider *of = &pool->colliders[body->collider];
    const ContactBodyOps *bodies = of->ops->bodies;
    if (!bodies->awake(of->of, body->thing)) {
        return;
    }
    ContactMotion motion;
    Press press = {0};
    f64 response[SIX][SIX], impulse[SIX], change[SIX] = {0};
    f32 mass = bodies->mass(of->of, body->thing);
    bodies->motion(of->of, body->thing, &motion);
    response_of(of, body->thing, mass, response);
    for (u32 c = body->first; c < body->end; c++) {
        PoolColumn *column = &pool->columns[c];
        column->arm = vec3_sub(column->middle, motion.centre);
        find_force(pool, body, column, mass, contact_motion_at(&motion, column->arm), h);
    }
    resist_waves(pool, body);
    for (u32 c = body->first; c < body->end; c++) {
        add_force(&press, &pool->columns[c], (f64)h);
    }
    multiply_add(press.rows, press.resist, response);
    if (!solve(press.rows, impulse)) {
        return;
    }
    for (u32 a = 0; a < SIX; a++) {
        for (u32 b = 0; b < SIX; b++) {
            change[a] += response[a][b] * impulse[b];
        }
    }
    for (u32 c = body->first; c < body->end; c++) {
        PoolColumn *column = &pool->columns[c];
        f32 bias = motion.bias.y + vec3_cross(motion.bias_angular, column->arm).y;
        follow_body(pool, column, change, column->slip.y + bias, h);
    }
    if (mass > 0.0f) {
        ContactPlace place = {.thing = body->thing, .mover = bodies->mover(of->of, body->thing)};
        Vec3 along = vec3((f32)impulse[0], (f32)impulse[1], (f32)impulse[2]);
        of->ops->impulse(of->of, &place, along);
        bodies->angular_impulse(of->of, body->thing,
                                vec3((f32)impulse[3], (f32)impulse[4], (f32)impulse[5]));
        if (along.y > 0.0f) {
            bodies->hold_up(of->of, body->thing);
        }
    }
}

/* ---- things whose parts move independently ---- */

static void press_line(Pool *pool, const PoolBody *body, PoolColumn *column, f32 h)
{
    const Collider *of = &pool->colliders[body->collider];
    ContactParticle particle = {.position = column->middle,
                                .inverse_mass = 1.0f,
                                .radius = f32_max(pool->def.cell_m, column->top - column->low)};
    ContactPlace place;
    if (!of->ops->meet(of->of, body->thing, &particle, 0.0f, &place)) {
        return;
    }
    f32 light = of->ops->inverse_mass(of->of, &place, vec3(0.0f, 1.0f, 0.0f)), value[3];
    if (!(light > 0.0f)) {
        return;
    }
    find_force(pool, body, column, 1.0f / light, place.velocity, h);
    f32 force[3] = {column->force.x, column->force.y, column->force.z};
    f32 slip[3] = {column->slip.x, column->slip.y, column->slip.z};
    f32 resistance[3] = {column->resistance.x, column->resistance.y, column->resistance.z};
    for (u32 axis = 0; axis < 3; axis++) { /* by itself implicit */
        value[axis] = h * (force[axis] - resistance[axis] * slip[axis]) /
                      (1.0f + h * resistance[axis] * light);
    }
    Vec3 impulse = vec3(value[0], value[1], value[2]);
    of->ops->impulse(of->of, &place, impulse);
    push_water(pool, column, impulse);
    column->risen += (place.moving.y + impulse.y * light) * h;
}

void pool_substep(Pool *pool, f32 h)
{
    if (pool->body_count == 0) {
        return;
    }
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c].ops->substep_begin(pool->colliders[c].of, h);
        collider_step_begin(&pool->colliders[c], h);
    }
    for (u32 b = 0; b < pool->body_count; b++) {
        const PoolBody *body = &pool->bodies[b];
        CHECK_ITEM(b, body->first <= body->end && body->end <= pool->column_count);
        if (contact_bodies(&pool->colliders[body->collider]) != NULL) {
            press_rigid(pool, body, h);
            continue;
        }
        for (u32 c = body->first; c < body->end; c++) {
            press_line(pool, body, &pool->columns[c], h);
        }
    }
    for (u32 c = 0; c < pool->collider_count; c++) {
        pool->colliders[c].ops->step_end(pool->colliders[c].of, h);
        pool->colliders[c].ops->substep_end(pool->colliders[c].of);
    }
}

/* ---- effect on the water ---- */

/* Bodies have moved since their lines were computed: the displaced volume is that of their current
 * poses; otherwise the energies of water and bodies would belong to different times. */
static void follow(Pool *pool)
{
    f32 area = pool->def.cell_m * pool->def.cell_m;
    pool->missing = 0.0;
    for (u32 b = 0; b < pool->body_count; b++) {
        const PoolBody *body = &pool->bodies[b];
        for (u32 c = body->first; c < body->end; c++) {
            PoolColumn *column = &pool->columns[c];
            f32 before = column->under;
            column->low += column->risen;
            column->top += column->risen;
            column->risen = 0.0f;
            pool_column_under(column, body);
            pool->wanted[column->cell] += (column->under - before) * column->area / area;
            pool->missing += (f64)column->under * (f64)column->area * (f64)column->middle.y;
        }
    }
}

/* Waves have no momentum: a push raises them in front of it and lowers them behind, as the velocity
 * that it would give to the whole depth would. */
static void push_waves(Pool *pool, u32 cell)
{
    f64 cell_m = (f64)pool->def.cell_m, mass = (f64)pool->def.density * cell_m * cell_m;
    u32 at[2] = {cell % pool->def.size[0], cell / pool->def.size[0]};
    for (u32 axis = 0; axis < 2; axis++) {
        f32 speed = (f32)(pool->pushed[2 * (size_t)cell + axis] / (2.0 * cell_m * mass));
        if (speed == 0.0f || at[axis] == 0 || at[axis] + 1 >= pool->def.size[axis]) {
            continue;
        }
        u32 ahead[2] = {at[0], at[1]}, behind[2] = {at[0], at[1]};
        ahead[axis]++;
        behind[axis]--;
        wave_add(pool->wave, ahead[0], ahead[1], 0.0f, speed);
        wave_add(pool->wave, behind[0], behind[1], 0.0f, -speed);
    }
}

/* The cell that receives the momentum applied to a cell: itself, or a neighbour that is twice as
 * deep, so that no film becomes a jet. */
static u32 taker_of(const Pool *pool, u32 cell)
{
    u32 best = cell;
    f32 most = 2.0f * pool_depth(pool, cell % pool->def.size[0], cell / pool->def.size[0]);
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        u32 at[2] = {cell % pool->def.size[0], cell / pool->def.size[0]}, axis = side / 2;
        u32 count = pool->def.size[axis];
        bool edge = side % 2 == 0 ? at[axis] == 0 : at[axis] + 1 == count;
        if (edge && pool->def.border[side] != WATER_PERIODIC) {
            continue;
        }
        at[axis] = (at[axis] + (side % 2 == 0 ? count - 1 : 1)) % count;
        f32 depth = pool_depth(pool, at[0], at[1]);
        if (depth > most) {
            most = depth;
            best = at[1] * pool->def.size[0] + at[0];
        }
    }
    return best;
}

/* N s along x and z. */
static void give_momentum(Pool *pool, u32 cell, const f64 momentum[2])
{
    u32 taker = taker_of(pool, cell), i = taker % pool->def.size[0], k = taker / pool->def.size[0];
    f32 depth = pool_depth(pool, i, k), u, w;
    f64 mass = (f64)pool->def.density * (f64)pool->def.cell_m * (f64)pool->def.cell_m * (f64)depth;
    if (!(mass > 0.0) || (momentum[0] == 0.0 && momentum[1] == 0.0)) {
        return;
    }
    pool_flow(pool, i, k, &u, &w);
    f32 faster[2] = {(f32)(momentum[0] / mass), (f32)(momentum[1] / mass)};
    pool_foam_of_body(pool, taker, 0.0f, f32_max(fabsf(faster[0]), fabsf(faster[1])));
    shallow_set(pool->shallow, i, k, depth, u + faster[0], w + faster[1]);
}

/* Applies the displacement and impulses of bodies to a cell; returns by how much that made it
 * deeper, m. Removed water leaves its momentum to the rest. */
static f32 give_water(Pool *pool, u32 cell)
{
    u32 i = cell % pool->def.size[0], k = cell / pool->def.size[0];
    f32 depth = pool_depth(pool, i, k), u, w;
    const f64 *push = &pool->pushed[2 * (size_t)cell];
    /* Water that has run off cannot be removed again yet. */
    f32 wanted = pool->wanted[cell] - pool->held[cell];
    if (pool->wave != NULL) {
        push_waves(pool, cell);
        return wave_add(pool->wave, i, k, f32_max(wanted, -f32_max(depth, 0.0f)), 0.0f);
    }
    f32 change = f32_max(wanted, -take_share * depth);
    change = fabsf(change) > follow_m || pool->wanted[cell] == 0.0f ? change : 0.0f;
    f64 momentum[2] = {push[0], push[1]};
    if (change != 0.0f) {
        pool_flow(pool, i, k, &u, &w);
        f32 deeper = depth + change;
        f64 part = change > 0.0f ? (f64)depth / (f64)deeper : 1.0;
        f64 area = (f64)pool->def.cell_m * (f64)pool->def.cell_m;
        f64 taken = (f64)pool->def.density * area * (f64)f32_max(-change, 0.0f);
        momentum[0] += taken * (f64)u;
        momentum[1] += taken * (f64)w;
        pool_foam_of_body(pool, cell, change, 0.0f);
        shallow_set(pool->shallow, i, k, deeper, (f32)((f64)u * part), (f32)((f64)w * part));
    }
    give_momentum(pool, cell, momentum);
    return change != 0.0f ? pool_depth(pool, i, k) - depth : 0.0f;
}

void pool_displace(Pool *pool)
{
    u32 kept = 0;
    follow(pool);
    for (u32 n = 0; n < pool->touched_count; n++) {
        u32 cell = pool->touched[n];
        CHECK_ITEM(n, pool->listed[cell] != 0); /* once */
        pool->held[cell] += give_water(pool, cell);
        pool->wanted[cell] = 0.0f;
        pool->pushed[2 * (size_t)cell] = pool->pushed[2 * (size_t)cell + 1] = 0.0;
        pool->listed[cell] = pool->held[cell] != 0.0f;
        if (pool->listed[cell] != 0) {
            pool->touched[kept++] = cell;
        }
    }
    pool->touched_count = kept;
}
