/*
 * solve_prepare.c: fills rows of eight contacts from bodies and manifolds, lane by lane, and
 * computes their effective masses eight at a time.
 */
#include "server/physics/rigid/body_wide.h"
#include "server/physics/rigid/solve/heavy.h"
#include "shared/base/check.h"

#include <stdatomic.h>

enum {
    PREPARE_GRAIN = 8
};

/* Data of a lane used only while its row is made. */
typedef struct PrepareLanes {
    Vec3x8 point[MANIFOLD_POINTS]; /* relative to the patch centre */
    f32x8 count[MANIFOLD_POINTS];  /* 1 if the lane has the point, else 0 */
    Vec3x8 friction_impulse;       /* world */
    f32x8 mass;                    /* sum of the inverse masses */
    f32x8 frequency;               /* of the soft contact, per substep */
    f32x8 many;                    /* 1 if there is more than one point */
    f32x8 lever;                   /* of twisting friction, relative to the points' distance */
} PrepareLanes;

/* Assumes uniform pressure over the patch instead of pressure at its corners: mean distance from
 * the centre relative to that of the corners. A segment, an equilateral triangle, rectangles
 * (0.505 to 0.54), a disc with four rim points as corners. */
static f32 twist_lever(const Rigid *rigid, const Contact *c, u32 points)
{
    const f32 segment = 0.5f, triangle = 0.46f, rectangle = 0.53f, disc = 2.0f / 3.0f;
    ShapeKind a = rigid->bodies[c->a].shape.kind, b = rigid->bodies[c->b].shape.kind;
    bool round = a == SHAPE_CYLINDER || a == SHAPE_CONE || b == SHAPE_CYLINDER || b == SHAPE_CONE;
    if (points < 4) {
        return points == 3 ? triangle : segment;
    }
    return round ? disc : rectangle;
}

static void fill_points(Rigid *rigid, ContactWide *row, u32 lane, PrepareLanes *lanes)
{
    const Contact *c = &rigid->contacts[row->contact[lane]];
    const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[row->contact[lane]]];
    Vec3 centre = vec3_zero();
    f32 gap = 0.0f, share = 1.0f / (f32)manifold->count;
    for (u32 p = 0; p < manifold->count; p++) {
        centre = vec3_add(centre, manifold->points[p].position);
        gap += share * manifold->points[p].separation;
    }
    /* Resting contacts stay balanced to rounding; at an impact the gap may have either sign. */
    gap = c->flags & CONTACT_BEGAN ? gap : f32_max(gap, 0.0f);
    centre = vec3_scale(centre, share);
    Vec3 arm = vec3_sub(centre, rigid->bodies[c->a].position);
    /* Points lie midway between the surfaces, but at touch friction acts on the surface of each. */
    lane_set_vec3(&row->arm_a, lane, vec3_add_scaled(arm, -0.5f * gap, manifold->normal));
    lane_set_vec3(&row->arm_b, lane,
                  vec3_add_scaled(vec3_sub(arm, manifold->apart), 0.5f * gap, manifold->normal));
    lane_set_vec3(&row->normal, lane, manifold->normal);
    for (u32 p = 0; p < manifold->count; p++) {
        const ManifoldPoint *point = &manifold->points[p];
        lane_set_vec3(&lanes->point[p], lane, vec3_sub(point->position, centre));
        lanes->count[p][lane] = 1.0f;
        rigid->points[row->first + p].separation[lane] = point->separation;
        rigid->points[row->first + p].impulse[lane] = c->impulses[p];
        row->held[lane] += c->impulses[p];
    }
    lanes->many[lane] = manifold->count > 1 ? 1.0f : 0.0f;
    lanes->lever[lane] = twist_lever(rigid, c, manifold->count);
}

static void fill_extra(Rigid *rigid, ContactWide *row, u32 index, u32 lane, const Body *a,
                       const Body *b)
{
    const f32 rolling = f32_max(a->rolling, b->rolling);
    bool drives = vec3_length_squared(a->surface_velocity) > 0.0f ||
                  vec3_length_squared(b->surface_velocity) > 0.0f;
    if (rolling <= 0.0f && !drives) {
        return;
    }
    ExtraWide *extra = &rigid->extras[index];
    if (row->extra == ROW_NO_EXTRA) {
        memset(extra, 0, sizeof(*extra));
        row->extra = index;
    }
    const Contact *c = &rigid->contacts[row->contact[lane]];
    extra->rolling[lane] = rolling;
    if (rolling > 0.0f) {
        lane_set_vec3(&extra->rolling_impulse, lane, c->rolling_impulse);
        Symmetric3 sum = symmetric_add(rigid->inertias[c->a], rigid->inertias[c->b]);
        Symmetric3 mass = symmetric_inverse(&sum);
        lane_set_symmetric(&extra->rolling_mass, lane, &mass);
    }
    if (drives) {
        /* Surface velocities are in the bodies' frames; projected on the tangents once these are
         * known. */
        Vec3 run = vec3_sub(quat_rotate(b->orientation, b->surface_velocity),
                            quat_rotate(a->orientation, a->surface_velocity));
        lane_set_vec3(&extra->drive, lane, run);
    }
}

/* Contacts are as stiff as the substeps allow: all contacts of a body act at once, so those of a
 * body with many are softer, weighted by its compliance relative to the other, so that a box is
 * no softer for many light objects in it. Contacts with immovable bodies are twice as stiff,
 * since penetration of the ground is most visible. */
static f32 contact_frequency(const Rigid *rigid, const Contact *c)
{
    const f32 frequency = 0.17f, contacts = 6.0f;
    f32 mass_a = rigid->states[c->a].inverse_mass, mass_b = rigid->states[c->b].inverse_mass;
    f32 a = mass_a * (f32)__builtin_popcountll(rigid->colors_used[c->a]);
    f32 b = mass_b * (f32)__builtin_popcountll(rigid->colors_used[c->b]);
    bool fixed = mass_a <= 0.0f || mass_b <= 0.0f;
    f32 number = f32_max(a, b) / f32_max(mass_a, mass_b);
    f32 share = contacts / f32_max(contacts, number);
    return (fixed ? 2.0f : 1.0f) * frequency * share * sqrtf(share);
}

/* Whether two free bodies approach in this tick from so far, and so fast, that it is an impact,
 * even without restitution. Solved like a resting contact, with arms and normals from before the
 * touch, it would conserve energy but not angular momentum. */
static bool lane_strikes(const Rigid *rigid, const ContactWide *row, u32 lane)
{
    const f32 near_m = 0.0001f;
    const Contact *c = &rigid->contacts[row->contact[lane]];
    const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[row->contact[lane]]];
    const BodyState *a = &rigid->states[c->a], *b = &rigid->states[c->b];
    if (!(a->inverse_mass > 0.0f && b->inverse_mass > 0.0f) || (c->flags & CONTACT_HEAVY)) {
        return false;
    }
    for (u32 p = 0; p < manifold->count; p++) {
        f32 gap = manifold->points[p].separation;
        if (!(gap > near_m)) {
            continue;
        }
        Vec3 arm = vec3_sub(manifold->points[p].position, rigid->bodies[c->a].position);
        Vec3 speed_a = vec3_add(a->velocity, vec3_cross(a->angular_velocity, arm));
        Vec3 speed_b =
            vec3_add(b->velocity, vec3_cross(b->angular_velocity, vec3_sub(arm, manifold->apart)));
        f32 speed = vec3_dot(manifold->normal, vec3_sub(speed_b, speed_a));
        if (speed < -RIGID_BOUNCE_M_S && gap + speed * rigid->def.tick_s < 0.0f) {
            return !body_hangs(rigid, c->a) && !body_hangs(rigid, c->b);
        }
    }
    return false;
}

static void fill_lane(Rigid *rigid, ContactWide *row, u32 index, u32 lane, PrepareLanes *lanes)
{
    const Contact *c = &rigid->contacts[row->contact[lane]];
    const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
    f32 mass_a = rigid->states[c->a].inverse_mass, mass_b = rigid->states[c->b].inverse_mass;
    fill_points(rigid, row, lane, lanes);
    lane_set_symmetric(&row->inertia_a, lane, &rigid->inertias[c->a]);
    lane_set_symmetric(&row->inertia_b, lane, &rigid->inertias[c->b]);
    lanes->mass[lane] = mass_a + mass_b;
    lane_set_vec3(&lanes->friction_impulse, lane, c->friction_impulse);
    /* A single point has no twist: the former impulse of four points must not continue. */
    row->twist_impulse[lane] = lanes->many[lane] > 0.0f ? c->twist_impulse : 0.0f;
    row->friction[lane] = sqrtf(a->friction * b->friction) * rigid->friction_scale;
    f32 restitution = f32_max(rigid->restitution_min, f32_max(a->restitution, b->restitution));
    row->restitution[lane] = restitution;
    row->bounces |= restitution > 0.0f;
    lanes->frequency[lane] = contact_frequency(rigid, c);
    if (rigid->extra_bodies > 0) {
        fill_extra(rigid, row, index, lane, a, b);
    }
}

SIMD_INLINE f32x8 inverse_or_zero(f32x8 x)
{
    return f32x8_and(x > 0.0f, 1.0f / f32x8_select(x > 0.0f, x, f32x8_set(1.0f)));
}

/* Like vec3_perpendicular; lanes without a normal get zero. */
SIMD_INLINE Vec3x8 perpendicular(Vec3x8 n)
{
    f32x8 one = f32x8_set(1.0f);
    i32x8 by_x = f32x8_abs(n.x) < 0.57735f;
    Vec3x8 axis = {f32x8_and(by_x, one), f32x8_select(by_x, f32x8_set(0.0f), one), f32x8_set(0.0f)};
    Vec3x8 t = vec3x8_cross(n, axis);
    f32x8 length = f32x8_sqrt(vec3x8_dot(t, t));
    return vec3x8_scale(t, inverse_or_zero(length));
}

/* Like softness(), per lane. */
static void softness_finish(const Rigid *rigid, ContactWide *row, const PrepareLanes *lanes)
{
    const f32 damping_ratio = 5.0f;
    f32x8 phase = 6.2831853f * lanes->frequency;
    f32x8 a1 = 2.0f * damping_ratio + phase;
    f32x8 a2 = phase * a1;
    f32x8 a3 = 1.0f / (1.0f + a2);
    row->bias_rate = phase * ((f32)rigid->substeps / rigid->def.tick_s) / a1;
    row->mass_scale = a2 * a3;
    row->impulse_scale = a3;
}

static void points_finish(Rigid *rigid, ContactWide *row, const PrepareLanes *lanes)
{
    Vec3x8 rotation_a[MANIFOLD_POINTS], rotation_b[MANIFOLD_POINTS];
    PointWide *points = &rigid->points[row->first];
    for (u32 p = 0; p < row->points; p++) {
        PointWide *point = &points[p];
        Vec3x8 arm_a = vec3x8_add(row->arm_a, lanes->point[p]);
        Vec3x8 arm_b = vec3x8_add(row->arm_b, lanes->point[p]);
        point->angular_a = vec3x8_cross(arm_a, row->normal);
        point->angular_b = vec3x8_cross(arm_b, row->normal);
        rotation_a[p] = symmetric3x8_mul(&row->inertia_a, point->angular_a);
        rotation_b[p] = symmetric3x8_mul(&row->inertia_b, point->angular_b);
        f32x8 k = lanes->mass + vec3x8_dot(point->angular_a, rotation_a[p]) +
                  vec3x8_dot(point->angular_b, rotation_b[p]);
        point->mass = inverse_or_zero(k) * lanes->count[p];
        point->lever = lanes->lever * f32x8_sqrt(vec3x8_dot(lanes->point[p], lanes->point[p]));
        point->impulse_max = f32x8_set(0.0f);
        point->approach = f32x8_set(0.0f);
    }
    for (u32 q = 1, k = 0; q < row->points; q++) {
        for (u32 p = 0; p < q; p++, k++) {
            f32x8 speed = lanes->mass + vec3x8_dot(points[q].angular_a, rotation_a[p]) +
                          vec3x8_dot(points[q].angular_b, rotation_b[p]);
            row->coupling[k] = speed * (lanes->count[p] * lanes->count[q]);
        }
    }
    f32x8 sum = f32x8_set(0.0f), number = sum;
    for (u32 p = 0; p < row->points; p++) {
        sum += inverse_or_zero(points[p].mass);
        number += lanes->count[p];
    }
    for (u32 q = 1, k = 0; q < row->points; q++) {
        for (u32 p = 0; p < q; p++, k++) {
            sum += 2.0f * row->coupling[k];
        }
    }
    row->patch_mass = number * inverse_or_zero(sum) * lanes->many;
    row->share = inverse_or_zero(number) * lanes->many;
}

static void friction_finish(Rigid *rigid, ContactWide *row, const PrepareLanes *lanes)
{
    row->tangent = perpendicular(row->normal);
    Vec3x8 t1 = row->tangent, t2 = vec3x8_cross(row->normal, t1);
    Vec3x8 a1 = vec3x8_cross(row->arm_a, t1), a2 = vec3x8_cross(row->arm_a, t2);
    Vec3x8 b1 = vec3x8_cross(row->arm_b, t1), b2 = vec3x8_cross(row->arm_b, t2);
    Vec3x8 ia1 = symmetric3x8_mul(&row->inertia_a, a1);
    Vec3x8 ib1 = symmetric3x8_mul(&row->inertia_b, b1);
    Vec3x8 ia2 = symmetric3x8_mul(&row->inertia_a, a2);
    Vec3x8 ib2 = symmetric3x8_mul(&row->inertia_b, b2);
    f32x8 k11 = lanes->mass + vec3x8_dot(a1, ia1) + vec3x8_dot(b1, ib1);
    f32x8 k22 = lanes->mass + vec3x8_dot(a2, ia2) + vec3x8_dot(b2, ib2);
    f32x8 k12 = vec3x8_dot(a2, ia1) + vec3x8_dot(b2, ib1);
    f32x8 s = inverse_or_zero(k11 * k22 - k12 * k12);
    row->friction_mass[0] = k22 * s;
    row->friction_mass[1] = k11 * s;
    row->friction_mass[2] = -k12 * s;
    row->friction_impulse[0] = vec3x8_dot(lanes->friction_impulse, t1);
    row->friction_impulse[1] = vec3x8_dot(lanes->friction_impulse, t2);
    Vec3x8 na = symmetric3x8_mul(&row->inertia_a, row->normal);
    Vec3x8 nb = symmetric3x8_mul(&row->inertia_b, row->normal);
    f32x8 twist = vec3x8_dot(row->normal, na) + vec3x8_dot(row->normal, nb);
    row->twist_mass = inverse_or_zero(twist) * lanes->many;
    if (row->extra != ROW_NO_EXTRA) {
        ExtraWide *extra = &rigid->extras[row->extra];
        Vec3x8 run = extra->drive;
        extra->drive.x = vec3x8_dot(run, t1);
        extra->drive.y = vec3x8_dot(run, t2);
    }
}

static void fill_row(Rigid *rigid, u32 index)
{
    ContactWide *row = &rigid->rows[index];
    PrepareLanes lanes;
    memset(&lanes, 0, sizeof(lanes));
    memset(&row->bias_rate, 0, sizeof(*row) - offsetof(ContactWide, bias_rate));
    memset(&rigid->points[row->first], 0, row->points * sizeof(PointWide));
    row->bounces = row->strikes = 0;
    row->extra = ROW_NO_EXTRA;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (row->contact[lane] != ROW_EMPTY) {
            fill_lane(rigid, row, index, lane, &lanes);
            row->strikes |= lane_strikes(rigid, row, lane) ? 1u << lane : 0;
        }
    }
    row->bounces |= row->strikes != 0;
    softness_finish(rigid, row, &lanes);
    points_finish(rigid, row, &lanes);
    friction_finish(rigid, row, &lanes);
}

typedef struct Preparation {
    Rigid *rigid;
    _Atomic u32 bounces, heavy;
} Preparation;

static void prepare_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Preparation *preparation = context;
    Rigid *rigid = preparation->rigid;
    u32 bounces = 0, heavy = 0;
    for (u32 i = first; i < end; i++) {
        color_row(rigid, i);
        fill_row(rigid, i);
        bounces |= rigid->rows[i].bounces;
        /* Recomputed rows may begin to collide. */
        rigid->plans[i].bounces = rigid->rows[i].bounces != 0 || rigid->plans[i].rotates != 0;
        heavy |= heavy_weigh(rigid, &rigid->rows[i]);
    }
    if (heavy != 0) {
        atomic_store_explicit(&preparation->heavy, 1, memory_order_relaxed);
    }
    if (bounces != 0) {
        atomic_store_explicit(&preparation->bounces, 1, memory_order_relaxed);
    }
}

/* Few rows bounce: they are listed to avoid checking all. */
static void list_bouncing(Rigid *rigid)
{
    u32 count = 0;
    for (u32 color = 0; color < rigid->color_count; color++) {
        ColorRange *range = &rigid->colors[color];
        range->first_bouncing = count;
        for (u32 i = range->first; i < range->first + range->count; i++) {
            if (rigid->plans[i].bounces != 0) {
                rigid->bouncing[count++] = i;
            }
        }
        range->bouncing = count - range->first_bouncing;
    }
}

void contact_prepare(Rigid *rigid)
{
    Preparation preparation = {.rigid = rigid};
    color_contacts(rigid);
    heavy_begin_search(rigid);
    jobs_run(rigid->jobs, rigid->row_count, PREPARE_GRAIN, prepare_range, &preparation);
    rigid->bounces = atomic_load(&preparation.bounces) != 0;
    if (rigid->bounces) {
        list_bouncing(rigid);
    }
    if (atomic_load(&preparation.heavy) != 0) {
        heavy_prepare(rigid);
    }
}

/* ---- within the tick ---- */

/* Separations are those at the start of the tick plus the bodies' motion since then
 * (solve_normals), so the motion so far is subtracted from the current ones. The tick's impact
 * report continues. */
static void refill_row(Rigid *rigid, u32 index)
{
    ContactWide *row = &rigid->rows[index];
    PointWide *points = &rigid->points[row->first];
    f32x8 strongest[MANIFOLD_POINTS] = {{0}}, approach[MANIFOLD_POINTS] = {{0}};
    f32x8 held = row->held;
    for (u32 p = 0; p < row->points; p++) {
        strongest[p] = points[p].impulse_max;
        approach[p] = points[p].approach;
    }
    fill_row(rigid, index);
    row->held = held;
    SideMotion a = motion_gather(rigid->states, row->a), b = motion_gather(rigid->states, row->b);
    f32x8 drift = vec3x8_dot(row->normal, vec3x8_sub(b.shift, a.shift));
    for (u32 p = 0; p < row->points; p++) {
        points[p].separation -= drift + vec3x8_dot(points[p].angular_b, b.rotation) -
                                vec3x8_dot(points[p].angular_a, a.rotation);
        points[p].impulse_max = strongest[p];
        points[p].approach = approach[p];
    }
}

static void follow_row(Rigid *rigid, u32 index)
{
    const ContactWide *row = &rigid->rows[index];
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        if (row->contact[lane] != ROW_EMPTY) {
            contact_renew(rigid, row, lane);
        }
    }
    refill_row(rigid, index);
}

static void follow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        if (rigid->plans[i].rotates != 0) {
            follow_row(rigid, i);
        }
    }
}

void contact_follow(Rigid *rigid)
{
    if (rigid->rotates) {
        jobs_run(rigid->jobs, rigid->row_count, PREPARE_GRAIN, follow_range, rigid);
    }
}

/* Separation of bodies that pass each other: more than any two approach in a tick, m. */
static const f32 missed_m = 1000.0f;

/* Restores lanes outside the mask. */
static void lanes_restore(f32x8 *now, const f32x8 *before, u32 count, i32x8 mask)
{
    for (u32 i = 0; i < count; i++) {
        now[i] = f32x8_select(mask, now[i], before[i]);
    }
}

/* They pass each other: an earlier impact has turned one away. If they meet after all, the end of
 * the tick notices (ccd.c). */
static void row_miss(Rigid *rigid, const ContactWide *row, u32 lane)
{
    for (u32 p = 0; p < row->points; p++) {
        rigid->points[row->first + p].separation[lane] = missed_m;
    }
}

u32 contact_meet(Rigid *rigid, ContactWide *row, u32 lanes, f32 h, u32 *missed)
{
    enum {
        FIELDS = (sizeof(ContactWide) - offsetof(ContactWide, bias_rate)) / sizeof(f32x8),
        POINT_FIELDS = sizeof(PointWide) / sizeof(f32x8),
        EXTRA_FIELDS = sizeof(ExtraWide) / sizeof(f32x8)
    };
    CHECK(row->points <= MANIFOLD_POINTS && row->first + row->points <= rigid->point_count);
    PointWide *points = &rigid->points[row->first], points_before[MANIFOLD_POINTS];
    ExtraWide extra_before;
    ContactWide before = *row;
    i32x8 mask = {0};
    f32 left =
        h + (f32)(rigid->substeps - rigid->substep) * rigid->def.tick_s / (f32)rigid->substeps;
    u32 met = 0;
    for (u32 rest = lanes; rest != 0; rest &= rest - 1) {
        u32 lane = (u32)__builtin_ctz(rest);
        if (contact_predict(rigid, row, lane, h)) {
            mask[lane] = -1;
            met |= 1u << lane;
            *missed &= ~(1u << lane);
        } else if ((*missed & 1u << lane) != 0) {
            if (contact_predict(rigid, row, lane, left)) {
                mask[lane] = -1;
            } else {
                row_miss(rigid, row, lane);
            }
        }
    }
    if (!i32x8_any(mask)) {
        return 0;
    }
    memcpy(points_before, points, row->points * sizeof(PointWide));
    if (before.extra != ROW_NO_EXTRA) {
        extra_before = rigid->extras[before.extra];
    }
    refill_row(rigid, (u32)(row - rigid->rows));
    /* Each lane is a separate pair: others must not change it. */
    lanes_restore(&row->bias_rate, &before.bias_rate, FIELDS, mask);
    for (u32 p = 0; p < row->points; p++) {
        lanes_restore((f32x8 *)&points[p], (const f32x8 *)&points_before[p], POINT_FIELDS, mask);
    }
    if (before.extra != ROW_NO_EXTRA) {
        lanes_restore((f32x8 *)&rigid->extras[before.extra], (const f32x8 *)&extra_before,
                      EXTRA_FIELDS, mask);
    }
    row->extra = before.extra;
    row->bounces = before.bounces;
    row->strikes = before.strikes;
    return met;
}

void contact_place(Rigid *rigid, const ContactWide *row, u32 lane, Vec3 moment)
{
    CHECK(lane < SIMD_LANES);
    u32 a = row->a[lane], b = row->b[lane];
    Vec3 by_a = vec3_scale(moment, rigid->states[a].inverse_mass);
    Vec3 by_b = vec3_scale(moment, -rigid->states[b].inverse_mass);
    rigid->bodies[a].position = vec3_add(rigid->bodies[a].position, by_a);
    rigid->bodies[b].position = vec3_add(rigid->bodies[b].position, by_b);
    rigid->states[a].shift = vec3_add(rigid->states[a].shift, by_a);
    rigid->states[b].shift = vec3_add(rigid->states[b].shift, by_b);
}
