/* smoke_obstacle.c: coupling of air to other matter. Things are found per brick; the fraction of a
 * cell that a thing fills is computed from the distance of the cell's centre to the surface. Faces
 * inside a thing take its velocity, weighted by that fraction, and the thing receives the opposite
 * impulse: one per brick, applied at the point about which the moments of its faces' impulses
 * balance. */
#include "server/physics/contact/bodies.h"
#include "server/physics/grid/smoke_internal.h"

#include <math.h>
#include <string.h>

enum {
    FOUND_MAX = 64,       /* things of one query */
    SIDE = AIR_BRICK + 1, /* cells of a brick and those below it */
    BLOCK = 3,            /* cells per side that are classified at once */
};

/* Acceleration by air that wakes a sleeping thing. */
static const f32 waking_m_s2 = 0.1f;

/* Of the cells of a brick, [z][y][x] from cell −1 of it; in two dimensions z = 0. */
typedef struct Shares {
    f32 cell[SIDE][SIDE][SIDE];
    Vec3 normal[SIDE][SIDE][SIDE]; /* of the surface next to the centre; 0: it is far */
} Shares;

/* ---- search ---- */

static Vec3 place_of(const Smoke *smoke, f32 x, f32 y, f32 z)
{
    f32 dx = smoke->def.spacing;
    f32 deep = smoke->grid.dims == 3 ? dx * z : 0.5f * smoke->def.depth;
    return vec3_add(smoke->def.low, vec3(dx * x, dx * y, deep));
}

static Bounds bounds_of(const Smoke *smoke, const i32 low[3], const i32 high[3])
{
    const AirGrid *grid = &smoke->grid;
    Bounds bounds;
    bounds.min = place_of(smoke, (f32)(low[0] * AIR_BRICK) - 1.0f, (f32)(low[1] * AIR_BRICK) - 1.0f,
                          (f32)(low[2] * AIR_BRICK) - 1.0f);
    bounds.max = place_of(smoke, (f32)i32_min(high[0] * AIR_BRICK, grid->n[0]) + 1.0f,
                          (f32)i32_min(high[1] * AIR_BRICK, grid->n[1]) + 1.0f,
                          (f32)i32_min(high[2] * AIR_BRICK, grid->n[2]) + 1.0f);
    return bounds;
}

static void touch_brick(Smoke *smoke, u32 c, const i32 brick[3], const u32 *things, u32 count)
{
    const Collider *collider = &smoke->colliders[c];
    f32 dx = smoke->def.spacing, half = 0.5f * (f32)AIR_BRICK;
    f32 reach = dx * (half * sqrtf((f32)smoke->grid.dims) + 1.5f);
    Vec3 middle = place_of(smoke, (f32)(brick[0] * AIR_BRICK) + half,
                           (f32)(brick[1] * AIR_BRICK) + half, (f32)(brick[2] * AIR_BRICK) + half);
    for (u32 i = 0; i < count && smoke->contact_count < smoke->contact_capacity; i++) {
        Vec3 normal;
        bool blows = smoke->def.wind && collider->ops->blown != NULL &&
                     collider->ops->blown(collider->of, things[i]);
        if (!blows &&
            collider->ops->distance(collider->of, things[i], middle, reach, &normal) < reach) {
            u32 number =
                (u32)((brick[2] * smoke->grid.bricks[1] + brick[1]) * smoke->grid.bricks[0] +
                      brick[0]);
            Vec3 moving = collider->ops->velocity(collider->of, things[i], middle);
            smoke->contacts[smoke->contact_count++] = (SmokeContact){
                .brick = number,
                .collider = c,
                .thing = things[i],
                .moves = vec3_length_squared(moving) > SMOKE_QUIET_M_S * SMOKE_QUIET_M_S};
        }
    }
}

/* Bricks [low, high) that the collider's things overlap, by halves. */
static void search(Smoke *smoke, u32 c, const i32 low[3], const i32 high[3])
{
    u32 things[FOUND_MAX];
    const Collider *collider = &smoke->colliders[c];
    u32 count =
        collider->ops->overlaps(collider->of, bounds_of(smoke, low, high), 0, 0, things, FOUND_MAX);
    if (count == 0) {
        return;
    }
    u32 axis = 0;
    for (u32 a = 1; a < 3; a++) {
        axis = high[a] - low[a] > high[axis] - low[axis] ? a : axis;
    }
    if (high[axis] - low[axis] == 1) {
        touch_brick(smoke, c, low, things, u32_min(count, FOUND_MAX));
        return;
    }
    i32 middle[3] = {high[0], high[1], high[2]}, from[3] = {low[0], low[1], low[2]};
    middle[axis] = from[axis] = (low[axis] + high[axis]) / 2;
    search(smoke, c, low, middle);
    search(smoke, c, from, high);
}

/* By brick, in the order found (Shell's sort with a key that is unique). */
static void sort_touches(Smoke *smoke)
{
    u32 count = smoke->contact_count;
    for (u32 i = 0; i < count; i++) {
        smoke->contacts[i].number = i;
    }
    u32 gap = 1;
    while (gap < count / 3) {
        gap = 3 * gap + 1;
    }
    for (; gap > 0; gap /= 3) {
        for (u32 i = gap; i < count; i++) {
            SmokeContact contact = smoke->contacts[i];
            u32 at = i;
            for (; at >= gap; at -= gap) {
                const SmokeContact *before = &smoke->contacts[at - gap];
                bool less = contact.brick < before->brick ||
                            (contact.brick == before->brick && contact.number < before->number);
                if (!less) {
                    break;
                }
                smoke->contacts[at] = *before;
            }
            smoke->contacts[at] = contact;
        }
    }
}

void smoke_find_contacts(Smoke *smoke)
{
    smoke->contact_count = 0;
    const i32 low[3] = {0, 0, 0};
    for (u32 c = 0; c < smoke->collider_count; c++) {
        search(smoke, c, low, smoke->grid.bricks);
    }
    sort_touches(smoke);
}

/* ---- forces ---- */

static f32 share_of(f32 distance, f32 dx)
{
    return f32_clamp(0.5f - distance / dx, 0.0f, 1.0f);
}

/* A block of cells entirely inside, or more than a cell outside, needs one query. */
static void fill_shares(const Smoke *smoke, const SmokeContact *contact, const i32 low[3],
                        Shares *shares)
{
    const Collider *collider = &smoke->colliders[contact->collider];
    bool deep = smoke->grid.dims == 3;
    f32 dx = smoke->def.spacing, reach = dx * (sqrtf(deep ? 3.0f : 2.0f) + 1.1f);
    for (i32 b = 0; b < (deep ? 27 : 9); b++) {
        const i32 from[3] = {b % 3 * BLOCK, b / 3 % 3 * BLOCK, b / 9 * BLOCK};
        Vec3 normal;
        Vec3 middle = place_of(smoke, (f32)(low[0] + from[0]) + 0.5f,
                               (f32)(low[1] + from[1]) + 0.5f, (f32)(low[2] + from[2]) + 0.5f);
        f32 far = collider->ops->distance(collider->of, contact->thing, middle, reach, &normal);
        bool same = far >= reach || far <= -reach;
        for (i32 k = 0; k < (deep ? BLOCK : 1); k++) {
            for (i32 j = 0; j < BLOCK; j++) {
                for (i32 i = 0; i < BLOCK; i++) {
                    f32 distance = far;
                    Vec3 *close = &shares->normal[from[2] + k][from[1] + j][from[0] + i];
                    *close = vec3_zero();
                    if (!same) {
                        Vec3 at = vec3_add(middle, vec3((f32)(i - 1) * dx, (f32)(j - 1) * dx,
                                                        deep ? (f32)(k - 1) * dx : 0.0f));
                        distance =
                            collider->ops->distance(collider->of, contact->thing, at, dx, &normal);
                        *close = fabsf(distance) < dx ? normal : vec3_zero();
                    }
                    shares->cell[from[2] + k][from[1] + j][from[0] + i] = share_of(distance, dx);
                }
            }
        }
    }
}

static f32 along(Vec3 v, u32 axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Whether the thing passes between the centres of two cells and is so thin that the surfaces
 * nearest to them are opposite sides: then the fractions of the cells do not show that the face is
 * closed. All faces whose cells lie on different sides of the middle of a thin wall are closed, so
 * it has no hole. */
static bool parts(const Smoke *smoke, const SmokeContact *contact, const i32 at[3], u32 c,
                  const Vec3 normals[2])
{
    const Collider *collider = &smoke->colliders[contact->collider];
    if (!(along(normals[0], c) < 0.0f && along(normals[1], c) > 0.0f) ||
        collider->ops->ray == NULL) {
        return false;
    }
    const f32 low[3] = {c == 0 ? -0.5f : 0.5f, c == 1 ? -0.5f : 0.5f, c == 2 ? -0.5f : 0.5f};
    Ray ray = {.origin =
                   place_of(smoke, (f32)at[0] + low[0], (f32)at[1] + low[1], (f32)at[2] + low[2]),
               .direction = vec3(c == 0 ? 1.0f : 0.0f, c == 1 ? 1.0f : 0.0f, c == 2 ? 1.0f : 0.0f)};
    f32 distance;
    Vec3 normal;
    return collider->ops->ray(collider->of, contact->thing, ray, smoke->def.spacing, &distance,
                              &normal);
}

/* A face takes the thing's velocity, weighted by `share`. */
static void hold_face(Smoke *smoke, SmokeContact *contact, u32 c, const i32 at[3], f32 share)
{
    const Collider *collider = &smoke->colliders[contact->collider];
    const AirGrid *grid = &smoke->grid;
    bool side = (at[c] == 0 && grid->sides[2 * c] == AIR_CLOSED);
    if (side) {
        return;
    }
    const f32 half[3] = {c == 0 ? 0.0f : 0.5f, c == 1 ? 0.0f : 0.5f, c == 2 ? 0.0f : 0.5f};
    Vec3 place = place_of(smoke, (f32)at[0] + half[0], (f32)at[1] + half[1], (f32)at[2] + half[2]);
    Vec3 moving = collider->ops->velocity(collider->of, contact->thing, place);
    f32 wanted = along(moving, c);
    wanted = f32_clamp(wanted, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
    i32 face = air_at(grid, at[0], at[1], at[2]);
    const f32 *p = smoke->pressed + face;
    f32 *v = &smoke->velocity[c][face], before = *v;
    /* The velocity of the air with the last tick's pressure. */
    f32 pushed = before - (p[0] - p[-smoke_stride(grid, c)]);
    pushed = f32_clamp(pushed, -SMOKE_SPEED_MAX, SMOKE_SPEED_MAX);
    *v = before + share * contact->coupling * (wanted - pushed);
    f32 impulse = (before - *v) * smoke->def.options.density * smoke_volume(smoke);
    f32 *sum = c == 0 ? &contact->impulse.x : c == 1 ? &contact->impulse.y : &contact->impulse.z;
    *sum += impulse;
    contact->moment = vec3_add_scaled(contact->moment, fabsf(impulse), place);
    contact->weight += fabsf(impulse);
}

static void hold_brick(Smoke *smoke, SmokeContact *contact)
{
    const AirGrid *grid = &smoke->grid;
    i32 brick = (i32)contact->brick;
    const i32 low[3] = {brick % grid->bricks[0] * AIR_BRICK,
                        brick / grid->bricks[0] % grid->bricks[1] * AIR_BRICK,
                        brick / grid->bricks[0] / grid->bricks[1] * AIR_BRICK};
    Shares shares;
    fill_shares(smoke, contact, low, &shares);
    bool deep = grid->dims == 3;
    i32 end[3];
    for (u32 a = 0; a < 3; a++) {
        end[a] = i32_min(AIR_BRICK, grid->n[a] - low[a]);
    }
    for (i32 z = 0; z < end[2]; z++) {
        for (i32 y = 0; y < end[1]; y++) {
            for (i32 x = 0; x < end[0]; x++) {
                const i32 at[3] = {low[0] + x, low[1] + y, low[2] + z};
                i32 k = deep ? z + 1 : 0;
                f32 here = shares.cell[k][y + 1][x + 1];
                const f32 below[3] = {shares.cell[k][y + 1][x], shares.cell[k][y][x + 1],
                                      deep ? shares.cell[k - 1][y + 1][x + 1] : 0.0f};
                const Vec3 *next = &shares.normal[k][y + 1][x + 1];
                const Vec3 *before[3] = {next - 1, next - SIDE, next - (deep ? SIDE * SIDE : 0)};
                for (u32 c = 0; c < grid->dims; c++) {
                    f32 share = 0.5f * (here + below[c]);
                    const Vec3 normals[2] = {*before[c], *next};
                    share = share < 1.0f && parts(smoke, contact, at, c, normals) ? 1.0f : share;
                    if (share > 0.0f) {
                        hold_face(smoke, contact, c, at, share);
                    }
                }
            }
        }
    }
}

/* All contacts of a brick, by the first. */
static void hold_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Smoke *smoke = (Smoke *)context;
    for (u32 i = first; i < end; i++) {
        u32 brick = smoke->contacts[i].brick;
        if (!smoke->grid.awake[brick] || (i > 0 && smoke->contacts[i - 1].brick == brick)) {
            continue;
        }
        for (u32 k = i; k < smoke->contact_count && smoke->contacts[k].brick == brick; k++) {
            hold_brick(smoke, &smoke->contacts[k]);
        }
    }
}

/* ---- impulses on things ---- */

static bool place_contact(const Smoke *smoke, const SmokeContact *contact, Vec3 at,
                          ContactPlace *place)
{
    const Collider *collider = &smoke->colliders[contact->collider];
    memset(place, 0, sizeof *place);
    ContactParticle particle = {
        .position = at, .inverse_mass = 1.0f, .radius = 2.0f * (f32)AIR_BRICK * smoke->def.spacing};
    return collider->ops->meet(collider->of, contact->thing, &particle, smoke->tick_s, place);
}

static u32 drag_of(const Smoke *smoke, const SmokeContact *contact)
{
    u32 d = 0;
    while (d < smoke->drag_count && (smoke->drags[d].collider != contact->collider ||
                                     smoke->drags[d].thing != contact->thing)) {
        d++;
    }
    return d;
}

static void add_drag(Smoke *smoke, const SmokeContact *contact)
{
    u32 d = drag_of(smoke, contact);
    if (d < smoke->drag_count) {
        smoke->drags[d].impulse = vec3_add(smoke->drags[d].impulse, contact->impulse);
        smoke->drags[d].bricks++;
    } else if (d < SMOKE_DRAGS_MAX) {
        smoke->drags[smoke->drag_count++] =
            (SmokeDrag){contact->collider, contact->thing, contact->impulse, 1};
    }
}

static Vec3 middle_of(const Smoke *smoke, u32 brick)
{
    const i32 *n = smoke->grid.bricks;
    i32 b = (i32)brick;
    f32 side = (f32)AIR_BRICK;
    return place_of(smoke, ((f32)(b % n[0]) + 0.5f) * side, ((f32)(b / n[0] % n[1]) + 0.5f) * side,
                    ((f32)(b / n[0] / n[1]) + 0.5f) * side);
}

/* A thing that may be lighter than the air in the bricks it touches couples to a part of that air,
 * so that it cannot gain more momentum than the air has. */
static void find_grips(Smoke *smoke)
{
    static const Vec3 axes[3] = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    f32 side = (f32)AIR_BRICK, cells = smoke->grid.dims == 3 ? side * side * side : side * side;
    f32 held = smoke->def.options.density * smoke_volume(smoke) * cells;
    smoke->drag_count = 0;
    for (u32 i = 0; i < smoke->contact_count; i++) {
        add_drag(smoke, &smoke->contacts[i]);
    }
    for (u32 i = 0; i < smoke->contact_count; i++) {
        SmokeContact *contact = &smoke->contacts[i];
        const Collider *collider = &smoke->colliders[contact->collider];
        u32 d = drag_of(smoke, contact);
        f32 bricks = d < smoke->drag_count ? (f32)smoke->drags[d].bricks : 1.0f;
        ContactPlace place;
        contact->coupling = 1.0f;
        contact->takes = collider->ops->take(collider->of, contact->thing);
        if (contact->takes &&
            place_contact(smoke, contact, middle_of(smoke, contact->brick), &place)) {
            f32 light = 0.0f;
            for (u32 a = 0; a < 3; a++) {
                light = f32_max(light, collider->ops->inverse_mass(collider->of, &place, axes[a]));
            }
            contact->coupling = f32_min(1.0f, 1.0f / (light * held * bricks + 1e-20f));
        }
    }
    smoke->drag_count = 0;
}

static bool is_asleep(const Collider *collider, u32 thing)
{
    return collider->ops->bodies != NULL && !collider->ops->bodies->awake(collider->of, thing);
}

/* A sleeping body is held by its support; only a significant force wakes it. */
static void wake_dragged(Smoke *smoke)
{
    for (u32 d = 0; d < smoke->drag_count; d++) {
        const SmokeDrag *drag = &smoke->drags[d];
        const Collider *collider = &smoke->colliders[drag->collider];
        const ContactBodyOps *bodies = collider->ops->bodies;
        if (bodies != NULL && collider->ops->take(collider->of, drag->thing) &&
            is_asleep(collider, drag->thing)) {
            f32 enough = waking_m_s2 * bodies->mass(collider->of, drag->thing) * smoke->tick_s;
            if (vec3_length_squared(drag->impulse) > enough * enough) {
                collider->ops->wake(collider->of, drag->thing);
            }
        }
    }
}

static void add_impulse(f64 sum[3], Vec3 impulse)
{
    sum[0] += (f64)impulse.x;
    sum[1] += (f64)impulse.y;
    sum[2] += (f64)impulse.z;
}

void smoke_obstacles(Smoke *smoke)
{
    find_grips(smoke);
    jobs_run(smoke->jobs, smoke->contact_count, 1, hold_range, smoke);
    for (u32 i = 0; i < smoke->contact_count; i++) {
        add_drag(smoke, &smoke->contacts[i]);
    }
    wake_dragged(smoke);
    for (u32 i = 0; i < smoke->contact_count; i++) {
        SmokeContact *contact = &smoke->contacts[i];
        const Collider *collider = &smoke->colliders[contact->collider];
        contact->takes = contact->takes && !is_asleep(collider, contact->thing);
        ContactPlace place;
        bool passed = false;
        if (contact->weight > 0.0f && contact->takes) {
            Vec3 at = vec3_scale(contact->moment, 1.0f / contact->weight);
            passed = place_contact(smoke, contact, at, &place);
            if (passed) {
                collider->ops->impulse(collider->of, &place, contact->impulse);
            }
        }
        add_impulse(smoke->held, contact->impulse);
        if (passed) {
            add_impulse(smoke->passed, contact->impulse);
        }
    }
    for (u32 c = 0; c < smoke->grid.dims && smoke->contact_count > 0; c++) {
        smoke_sides(smoke, c, smoke->velocity[c], SMOKE_SIDES_FACES);
    }
}
