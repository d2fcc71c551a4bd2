/*
 * solve_contact.c: contacts as soft constraints inside the substeps, eight at a time: one normal
 * row per point; one friction patch (two tangents, twist and rolling) per manifold at the centre of
 * its points. Each body's shift and rotation since the tick began are tracked, so that separations
 * are updated without a new narrow phase; rotation of a rolling ball about the normal changes
 * nothing. The points of a manifold share their normal: their impulses are solved together with the
 * small matrix that couples them, and applied at once; manifolds are solved sequentially.
 * Method: Catto, Solver2D (2024); soft constraints of Catto, GDC 2011.
 */
#include "server/physics/rigid/body_wide.h"
#include "server/physics/rigid/solve/heavy.h"

#include <stdatomic.h>

enum {
    ROW_GRAIN = 8,
    BOUNCE_ROUNDS = 16,
    IMPACT_ROUNDS = 4, /* iterations of normals and friction within an impact */
    NORMAL_SWEEPS = 4
};

/* Resting contacts are no faster than this plus what gravity adds in two substeps. */
#define REST_M_S 0.01f

/* Applies the impulse to b, the opposite to a; angular parts are before multiplication by the
 * inertia. */
SIMD_INLINE void apply(const ContactWide *row, Side *a, Side *b, Vec3x8 impulse, Vec3x8 angular_a,
                       Vec3x8 angular_b)
{
    a->velocity = vec3x8_sub_scaled(a->velocity, a->mass, impulse);
    b->velocity = vec3x8_add_scaled(b->velocity, b->mass, impulse);
    a->angular_velocity =
        vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&row->inertia_a, angular_a));
    b->angular_velocity =
        vec3x8_add(b->angular_velocity, symmetric3x8_mul(&row->inertia_b, angular_b));
}

/* ---- warm start ---- */

static void warm_start_row(Rigid *rigid, const ContactWide *row)
{
    const PointWide *points = &rigid->points[row->first];
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    Vec3x8 t2 = vec3x8_cross(row->normal, row->tangent);
    Vec3x8 friction = vec3x8_scale(row->tangent, row->friction_impulse[0]);
    friction = vec3x8_add_scaled(friction, row->friction_impulse[1], t2);
    Vec3x8 moment = vec3x8_scale(row->normal, row->twist_impulse);
    if (row->extra != ROW_NO_EXTRA) {
        moment = vec3x8_add(moment, rigid->extras[row->extra].rolling_impulse);
    }
    Vec3x8 angular_a = vec3x8_add(vec3x8_cross(row->arm_a, friction), moment);
    Vec3x8 angular_b = vec3x8_add(vec3x8_cross(row->arm_b, friction), moment);
    f32x8 sum = f32x8_set(0.0f);
    for (u32 p = 0; p < row->points; p++) {
        f32x8 impulse = points[p].impulse;
        sum += impulse;
        angular_a = vec3x8_add_scaled(angular_a, impulse, points[p].angular_a);
        angular_b = vec3x8_add_scaled(angular_b, impulse, points[p].angular_b);
    }
    apply(row, &a, &b, vec3x8_add_scaled(friction, sum, row->normal), angular_a, angular_b);
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

/* ---- friction ---- */

SIMD_INLINE Vec3x8 solve_rolling(ExtraWide *extra, Vec3x8 angular_velocity, f32x8 normal)
{
    Vec3x8 old = extra->rolling_impulse;
    Vec3x8 sum = vec3x8_sub(old, symmetric3x8_mul(&extra->rolling_mass, angular_velocity));
    f32x8 length = f32x8_sqrt(vec3x8_dot(sum, sum)), limit = extra->rolling * normal;
    i32x8 over = length > limit;
    f32x8 scale =
        f32x8_select(over, limit / f32x8_select(over, length, f32x8_set(1.0f)), f32x8_set(1.0f));
    extra->rolling_impulse = vec3x8_scale(sum, scale);
    return vec3x8_sub(extra->rolling_impulse, old);
}

/* Slip and twist are solved from the same velocities (block Jacobi, which always converges for
 * two blocks), so that each inertia is applied once. */
SIMD_INLINE void solve_friction(ContactWide *row, ExtraWide *extra, const PointWide *points,
                                const u32 count, Side *a, Side *b)
{
    f32x8 normal = f32x8_set(0.0f), lever = f32x8_set(0.0f);
    for (u32 p = 0; p < count; p++) {
        normal += points[p].impulse;
        lever += points[p].impulse * points[p].lever;
    }
    if (extra != NULL) {
        /* Before the others: rolling and twist would both act on rotation about the normal, and
         * oscillate forever. */
        Vec3x8 rolling =
            solve_rolling(extra, vec3x8_sub(b->angular_velocity, a->angular_velocity), normal);
        a->angular_velocity =
            vec3x8_sub(a->angular_velocity, symmetric3x8_mul(&row->inertia_a, rolling));
        b->angular_velocity =
            vec3x8_add(b->angular_velocity, symmetric3x8_mul(&row->inertia_b, rolling));
    }
    Vec3x8 angular_velocity = vec3x8_sub(b->angular_velocity, a->angular_velocity);
    Vec3x8 slip =
        vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->angular_velocity, row->arm_b)),
                   vec3x8_add(a->velocity, vec3x8_cross(a->angular_velocity, row->arm_a)));
    Vec3x8 t2 = vec3x8_cross(row->normal, row->tangent);
    f32x8 s1 = vec3x8_dot(slip, row->tangent), s2 = vec3x8_dot(slip, t2);
    Vec3x8 moment = {f32x8_set(0.0f), f32x8_set(0.0f), f32x8_set(0.0f)};
    if (extra != NULL) {
        s1 += extra->drive.x;
        s2 += extra->drive.y;
    }
    f32x8 x = row->friction_impulse[0] - (row->friction_mass[0] * s1 + row->friction_mass[2] * s2);
    f32x8 y = row->friction_impulse[1] - (row->friction_mass[2] * s1 + row->friction_mass[1] * s2);
    f32x8 length = f32x8_sqrt(x * x + y * y), limit = row->friction * normal;
    i32x8 over = length > limit;
    f32x8 scale =
        f32x8_select(over, limit / f32x8_select(over, length, f32x8_set(1.0f)), f32x8_set(1.0f));
    x *= scale;
    y *= scale;
    f32x8 dx = x - row->friction_impulse[0], dy = y - row->friction_impulse[1];
    row->friction_impulse[0] = x;
    row->friction_impulse[1] = y;
    if (count > 1) {
        f32x8 most = row->friction * lever;
        f32x8 twist =
            row->twist_impulse - row->twist_mass * vec3x8_dot(angular_velocity, row->normal);
        twist = f32x8_min(f32x8_max(twist, -most), most);
        moment = vec3x8_add_scaled(moment, twist - row->twist_impulse, row->normal);
        row->twist_impulse = twist;
    }
    Vec3x8 impulse = vec3x8_add_scaled(vec3x8_scale(row->tangent, dx), dy, t2);
    apply(row, a, b, impulse, vec3x8_add(vec3x8_cross(row->arm_a, impulse), moment),
          vec3x8_add(vec3x8_cross(row->arm_b, impulse), moment));
}

/* ---- normals ---- */

/* Solves of a substep. */
typedef enum Pass {
    PASS_PUSH,    /* with position bias */
    PASS_RELEASE, /* takes back the bias velocity */
    PASS_RELAX    /* without bias: the final velocities of the substep */
} Pass;

/* Bias velocity from position errors, and the softness. */
typedef struct Bias {
    f32x8 speed, mass_scale, impulse_scale;
} Bias;

SIMD_INLINE Bias bias_of(const ContactWide *row, f32x8 separation, f32x8 speed, f32x8 inverse_h,
                         const Pass pass)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    i32x8 apart = separation > zero;
    f32x8 close = separation * inverse_h;
    if (pass != PASS_PUSH) {
        return (Bias){f32x8_and(apart, close), one, zero};
    }
    f32x8 rate = row->bias_rate, mass_scale = row->mass_scale, impulse_scale = row->impulse_scale;
    f32x8 push = f32x8_max(rate * separation, f32x8_set(-RIGID_PUSH_M_S));
    /* Points that separate by themselves are not pushed, so nothing needs to be taken back. */
    push = f32x8_and(speed < RIGID_BOUNCE_M_S, push);
    return (Bias){f32x8_select(apart, close, push), f32x8_select(apart, one, mass_scale),
                  f32x8_select(apart, zero, impulse_scale)};
}

/* Index in `coupling` of two points of a manifold, p < q. */
SIMD_INLINE u32 couple_index(u32 p, u32 q)
{
    return q * (q - 1) / 2 + p;
}

/* Velocity at point p after the changes at the other points of its manifold. */
SIMD_INLINE f32x8 coupled_speed(const ContactWide *row, f32x8 speed, const f32x8 *changes,
                                const u32 p, const u32 count)
{
    for (u32 q = 0; q < count; q++) {
        if (q != p) {
            speed += row->coupling[couple_index(q < p ? q : p, q < p ? p : q)] * changes[q];
        }
    }
    return speed;
}

/* Requests of the points of a manifold in a solve, eight manifolds at a time. */
typedef struct PointDemand {
    f32x8 target[MANIFOLD_POINTS];                      /* m/s: velocity to be removed */
    f32x8 gain[MANIFOLD_POINTS], leak[MANIFOLD_POINTS]; /* softness coefficients */
    f32x8 most[MANIFOLD_POINTS];                        /* N s, limit of the impulse */
} PointDemand;

/* The same impulse at each point, from the mean of the requests, so that the order of the points
 * does not tilt a level body. Only if all points are equally soft, and none would pull. */
SIMD_INLINE void answer_mean(const ContactWide *row, const PointWide *points, const u32 count,
                             const PointDemand *demand, f32x8 *impulses, f32x8 *changes)
{
    f32x8 zero = f32x8_set(0.0f), sum = zero, held = zero, least = f32x8_set(1e30f);
    i32x8 alike = row->share > zero;
    for (u32 p = 0; p < count; p++) {
        i32x8 there = points[p].mass > zero;
        sum += f32x8_and(there, demand->target[p]);
        held += impulses[p];
        least = f32x8_select(there, f32x8_min(least, impulses[p]), least);
        alike &= (demand->gain[p] == demand->gain[0]) | (points[p].mass <= zero);
    }
    f32x8 change = -row->share * (demand->gain[0] * row->patch_mass * sum + demand->leak[0] * held);
    change = f32x8_and(alike & (least + change >= zero), change);
    for (u32 p = 0; p < count; p++) {
        changes[p] = f32x8_and(points[p].mass > zero, change);
        impulses[p] += changes[p];
    }
}

/* Sweeps over the points forwards and backwards, so that some can separate, without accessing
 * the bodies. */
SIMD_INLINE void answer_sweeps(const ContactWide *row, const PointWide *points, const u32 count,
                               const PointDemand *demand, f32x8 *impulses, f32x8 *changes)
{
    f32x8 zero = f32x8_set(0.0f);
    for (u32 sweep = 0; sweep < (count > 1 ? NORMAL_SWEEPS : 1); sweep++) {
        for (u32 i = 0; i < count; i++) {
            u32 p = sweep % 2 == 0 ? i : count - 1 - i;
            f32x8 speed = coupled_speed(row, demand->target[p], changes, p, count);
            /* Its own change so far counts as mass × (velocity per impulse) = 1. */
            f32x8 change = -demand->gain[p] * (points[p].mass * speed + changes[p]) -
                           demand->leak[p] * impulses[p];
            /* A single point is solved at once: a lane must not depend on its neighbours. */
            change = sweep == 0 ? change : f32x8_and(row->share > zero, change);
            f32x8 impulse = f32x8_min(f32x8_max(impulses[p] + change, zero), demand->most[p]);
            changes[p] += impulse - impulses[p];
            impulses[p] = impulse;
        }
    }
}

/* Direct solve of all points: (K + D) Δ = −(requested velocities + D impulses), where K is the
 * velocity at each point per impulse at each, and D the softness. Four coplanar points have only
 * three independent equations, so K alone is singular: a thousandth of its diagonal is added. By
 * LDLᵀ. Returns the lanes in which a point would pull. */
SIMD_INLINE i32x8 answer_together(const ContactWide *row, const PointWide *points, const u32 count,
                                  const PointDemand *demand, f32x8 *impulses, f32x8 *changes)
{
    const f32 regular = 1.0f + 0x1p-10f;
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    f32x8 l[MANIFOLD_POINTS][MANIFOLD_POINTS], x[MANIFOLD_POINTS], inverse[MANIFOLD_POINTS];
    for (u32 p = 0; p < count; p++) {
        i32x8 there = points[p].mass > zero;
        f32x8 k = one / f32x8_select(there, points[p].mass, one);
        f32x8 soft = demand->leak[p] / demand->gain[p];
        f32x8 scaled[MANIFOLD_POINTS], pivot = k * (regular + soft); /* scaled: l × pivots */
        x[p] = -f32x8_and(there, demand->target[p] + soft * k * impulses[p]);
        for (u32 q = 0; q < p; q++) {
            scaled[q] = row->coupling[couple_index(q, p)];
            for (u32 j = 0; j < q; j++) {
                scaled[q] -= l[q][j] * scaled[j];
            }
            l[p][q] = scaled[q] * inverse[q];
            pivot -= l[p][q] * scaled[q];
            x[p] -= l[p][q] * x[q];
        }
        inverse[p] = one / pivot;
    }
    i32x8 pulls = row->share <= zero;
    for (u32 i = 0; i < count; i++) {
        u32 p = count - 1 - i;
        x[p] *= inverse[p];
        for (u32 q = p + 1; q < count; q++) {
            x[p] -= l[q][p] * x[q];
        }
        changes[p] = x[p];
        impulses[p] = points[p].impulse + x[p];
        pulls |= impulses[p] < zero;
    }
    return pulls;
}

/* Exact if all points push: sweeps would favour the last ones, and high walls sway and buckle
 * from such asymmetries. By sweeps if one would pull, and for a single point. */
SIMD_INLINE void answer_normals(const ContactWide *row, const PointWide *points, const u32 count,
                                const PointDemand *demand, const Pass pass, f32x8 *impulses,
                                f32x8 *changes)
{
    f32x8 swept[MANIFOLD_POINTS], swept_changes[MANIFOLD_POINTS];
    if (count == 1 || pass == PASS_RELEASE) {
        answer_sweeps(row, points, count, demand, impulses, changes);
        return;
    }
    i32x8 pulls = answer_together(row, points, count, demand, impulses, changes);
    if (!i32x8_any(pulls)) {
        return;
    }
    for (u32 p = 0; p < count; p++) {
        swept[p] = points[p].impulse;
        swept_changes[p] = f32x8_set(0.0f);
    }
    answer_mean(row, points, count, demand, swept, swept_changes);
    answer_sweeps(row, points, count, demand, swept, swept_changes);
    for (u32 p = 0; p < count; p++) {
        impulses[p] = f32x8_select(pulls, swept[p], impulses[p]);
        changes[p] = f32x8_select(pulls, swept_changes[p], changes[p]);
    }
}

SIMD_INLINE void solve_normals(const Rigid *rigid, const ContactWide *row, PointWide *points,
                               const u32 count, const Pass pass, Side *a, Side *b)
{
    SideMotion motion_a = motion_gather(rigid->states, row->a);
    SideMotion motion_b = motion_gather(rigid->states, row->b);
    f32x8 inverse_h = f32x8_set((f32)rigid->substeps / rigid->def.tick_s);
    f32x8 drift = vec3x8_dot(row->normal, vec3x8_sub(motion_b.shift, motion_a.shift));
    f32x8 closing = vec3x8_dot(row->normal, vec3x8_sub(b->velocity, a->velocity));
    f32x8 zero = f32x8_set(0.0f), impulses[MANIFOLD_POINTS], changes[MANIFOLD_POINTS];
    PointDemand demand;
    for (u32 p = 0; p < count; p++) {
        PointWide *point = &points[p];
        f32x8 separation = point->separation + drift +
                           vec3x8_dot(point->angular_b, motion_b.rotation) -
                           vec3x8_dot(point->angular_a, motion_a.rotation);
        f32x8 speed = closing + vec3x8_dot(point->angular_b, b->angular_velocity) -
                      vec3x8_dot(point->angular_a, a->angular_velocity);
        if (pass == PASS_PUSH) {
            i32x8 new_count = point->impulse_max == zero;
            point->approach = f32x8_select(new_count, speed, point->approach);
        }
        Bias bias = bias_of(row, separation, speed, inverse_h, pass);
        demand.target[p] = speed + bias.speed;
        demand.gain[p] = bias.mass_scale;
        demand.leak[p] = bias.impulse_scale;
        impulses[p] = point->impulse;
        changes[p] = zero;
        demand.most[p] = pass == PASS_RELEASE ? point->impulse : f32x8_set(INFINITY);
    }
    answer_normals(row, points, count, &demand, pass, impulses, changes);
    f32x8 sum = zero;
    Vec3x8 angular_a = {zero, zero, zero}, angular_b = {zero, zero, zero};
    for (u32 p = 0; p < count; p++) {
        points[p].impulse = impulses[p];
        points[p].impulse_max = f32x8_max(points[p].impulse_max, impulses[p]);
        sum += changes[p];
        angular_a = vec3x8_add_scaled(angular_a, changes[p], points[p].angular_a);
        angular_b = vec3x8_add_scaled(angular_b, changes[p], points[p].angular_b);
    }
    apply(row, a, b, vec3x8_scale(row->normal, sum), angular_a, angular_b);
}

/* An impact ends with its substep: warm starting with its impulse would add energy. An impact
 * through several bodies takes some substeps to stop: the impulse passed on must not have grown
 * by then, or it throws them up again. In a substep it may grow by a tenth plus twice what
 * gravity requires, as in piles. */
SIMD_INLINE void hand_on(const Rigid *rigid, ContactWide *row, ExtraWide *extra, PointWide *points,
                         const u32 count, f32x8 inverse_mass)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), sum = zero;
    for (u32 p = 0; p < count; p++) {
        sum += points[p].impulse;
    }
    const f32 growth = 1.1f;
    f32 fall = vec3_length(rigid->gravity) * rigid->def.tick_s / (f32)rigid->substeps;
    f32x8 most = growth * row->held + (2.0f * fall + REST_M_S) / inverse_mass;
    i32x8 over = sum > most;
    row->held = f32x8_select(over, most, sum);
    if (!i32x8_any(over)) {
        return;
    }
    f32x8 part = f32x8_select(over, most / f32x8_select(over, sum, one), one);
    for (u32 p = 0; p < count; p++) {
        points[p].impulse *= part;
    }
    row->friction_impulse[0] *= part;
    row->friction_impulse[1] *= part;
    row->twist_impulse *= part;
    if (extra != NULL) {
        extra->rolling_impulse = vec3x8_scale(extra->rolling_impulse, part);
    }
}

SIMD_INLINE f32x8 point_speed(const ContactWide *row, const PointWide *point, const Side *a,
                              const Side *b)
{
    f32x8 closing = vec3x8_dot(row->normal, vec3x8_sub(b->velocity, a->velocity));
    return closing + vec3x8_dot(point->angular_b, b->angular_velocity) -
           vec3x8_dot(point->angular_a, a->angular_velocity);
}

/* Friction also changes the normal velocity if it does not act below the centre of a body.
 * Points that separate by this, faster than resting ones, need less than their previous impulse;
 * warm starting with it would add energy. */
SIMD_INLINE void let_go(const Rigid *rigid, ContactWide *row, PointWide *points, const u32 count,
                        const Side *a, const Side *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), before = zero, after = zero;
    f32 fall = vec3_length(rigid->gravity) * rigid->def.tick_s / (f32)rigid->substeps;
    f32x8 speeds[MANIFOLD_POINTS];
    i32x8 any = {0};
    for (u32 p = 0; p < count; p++) {
        speeds[p] = point_speed(row, &points[p], a, b);
        any |= (speeds[p] > 2.0f * fall + REST_M_S) & (points[p].impulse > zero);
    }
    if (!i32x8_any(any)) {
        return;
    }
    for (u32 p = 0; p < count; p++) {
        f32x8 less = f32x8_and(any, points[p].mass * f32x8_max(speeds[p], zero));
        before += points[p].impulse;
        points[p].impulse = f32x8_max(points[p].impulse - less, zero);
        after += points[p].impulse;
    }
    f32x8 part =
        f32x8_select(after < before, after / f32x8_select(before > zero, before, one), one);
    row->friction_impulse[0] *= part;
    row->friction_impulse[1] *= part;
    row->twist_impulse *= part;
}

SIMD_INLINE void solve_row(Rigid *rigid, ContactWide *row, const u32 count, const Pass pass)
{
    PointWide *points = &rigid->points[row->first];
    ExtraWide *extra = row->extra == ROW_NO_EXTRA ? NULL : &rigid->extras[row->extra];
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    /* Friction first in the push-out solve: non-penetration has priority. Last in the relaxing
     * solve, so that an impact has its friction in the same substep. */
    if (pass == PASS_PUSH) {
        solve_friction(row, extra, points, count, &a, &b);
    }
    solve_normals(rigid, row, points, count, pass, &a, &b);
    if (pass == PASS_RELAX) {
        solve_friction(row, extra, points, count, &a, &b);
        let_go(rigid, row, points, count, &a, &b);
        hand_on(rigid, row, extra, points, count, a.mass + b.mass);
    }
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
}

SIMD_INLINE void solve_rows(Rigid *rigid, u32 first, u32 end, const Pass pass)
{
    for (u32 i = first; i < end; i++) {
        ContactWide *row = &rigid->rows[i];
        switch (row->points) {
        case 1:
            solve_row(rigid, row, 1, pass);
            break;
        case 2:
            solve_row(rigid, row, 2, pass);
            break;
        case 3:
            solve_row(rigid, row, 3, pass);
            break;
        default:
            solve_row(rigid, row, 4, pass);
            break;
        }
    }
}

/* ---- bounces ---- */

/* Separation speed of a point that approaches with `speed` (< 0) over a gap that gravity closes
 * with the acceleration `fall`. The bodies reverse before they touch, by the gap: the missing
 * fall is subtracted from the speed, so that bounces reach their correct height. Velocities are
 * current: untouched bodies move on their parabola (solve_body.c). */
SIMD_INLINE f32x8 leaving(f32x8 speed, f32x8 gap, f32x8 restitution, f32x8 fall)
{
    f32x8 zero = f32x8_set(0.0f), e2 = restitution * restitution;
    f32x8 met = f32x8_max(-speed, zero);
    f32x8 square = e2 * met * met - 2.0f * fall * gap * (1.0f - e2);
    return f32x8_sqrt(f32x8_max(square, zero));
}

/* The impulses of an impact so far, per lane: normal at each point, friction where their sum
 * acts, and their totals on the bodies. */
typedef struct Impact {
    f32x8 gaps[MANIFOLD_POINTS];    /* m */
    f32x8 leave[MANIFOLD_POINTS];   /* m/s, separation speed */
    i32x8 strikes[MANIFOLD_POINTS]; /* participating points */
    f32x8 changes[MANIFOLD_POINTS]; /* N s, ≥ 0 */
    Vec3x8 friction;                /* N s, world, on b */
    Vec3x8 impulse;                 /* N s, on b, total */
    Vec3x8 angular_a, angular_b;    /* N m s about the centres, total */
} Impact;

SIMD_INLINE void impact_row_add(const ContactWide *row, Impact *impact, Side *a, Side *b,
                                Vec3x8 impulse, Vec3x8 angular_a, Vec3x8 angular_b)
{
    apply(row, a, b, impulse, angular_a, angular_b);
    impact->impulse = vec3x8_add(impact->impulse, impulse);
    impact->angular_a = vec3x8_add(impact->angular_a, angular_a);
    impact->angular_b = vec3x8_add(impact->angular_b, angular_b);
}

/* Bodies farther apart have other arms and normals at the time of impact, m. */
static const f32 impact_near_m = 0.0001f, impact_touch_m = 0.0006f;
/* Contacts that would collide within this number of substeps collide together with those of this
 * one. */
static const f32 impact_together = 1.1f;

/* Selects the points of a row that collide: those that close their gap in this substep, fast
 * enough to bounce; together with one of them those that would follow at once: a level face
 * collides with all corners, whatever the rounding. */
static bool impact_begin(Rigid *rigid, const ContactWide *row, const Side *a, const Side *b, f32 h,
                         Impact *impact)
{
    PointWide *points = &rigid->points[row->first];
    SideMotion motion_a = motion_gather(rigid->states, row->a);
    SideMotion motion_b = motion_gather(rigid->states, row->b);
    f32x8 drift = vec3x8_dot(row->normal, vec3x8_sub(motion_b.shift, motion_a.shift));
    f32x8 zero = f32x8_set(0.0f), gaps[MANIFOLD_POINTS], speeds[MANIFOLD_POINTS];
    f32x8 fall = vec3x8_dot(row->normal, vec3x8_set(rigid->gravity)) *
                 (f32x8_and(a->mass > zero, a->rest) - f32x8_and(b->mass > zero, b->rest));
    /* The lowest bouncing speed at full restitution: above what gravity adds in two substeps. */
    f32 steps = 2.0f * h * vec3_length(rigid->gravity);
    f32x8 slowest = -RIGID_BOUNCE_M_S * (1.0f - row->restitution) - steps;
    f32x8 coming = f32x8_max(fall * h, zero); /* added by gravity before contacts are solved */
    i32x8 struck = {0}, strikes = {0};
    for (u32 lane = 0; lane < SIMD_LANES && row->strikes != 0; lane++) {
        strikes[lane] = row->strikes & 1u << lane ? -1 : 0;
    }
    memset(impact, 0, sizeof(*impact));
    for (u32 p = 0; p < row->points; p++) {
        const PointWide *point = &points[p];
        gaps[p] = point->separation + drift + vec3x8_dot(point->angular_b, motion_b.rotation) -
                  vec3x8_dot(point->angular_a, motion_a.rotation);
        speeds[p] = point_speed(row, point, a, b);
        struck |= (speeds[p] < slowest) & (gaps[p] + (speeds[p] - coming) * h < zero) &
                  (point->mass > zero) &
                  ((row->restitution > zero) | (strikes & (gaps[p] > impact_near_m)));
    }
    if (!i32x8_any(struck)) {
        return false;
    }
    for (u32 p = 0; p < row->points; p++) {
        impact->strikes[p] = struck & (speeds[p] < slowest) &
                             (gaps[p] + (speeds[p] - coming) * (impact_together * h) < zero) &
                             (points[p].mass > zero);
        points[p].approach = f32x8_select(
            impact->strikes[p], f32x8_min(points[p].approach, speeds[p]), points[p].approach);
        impact->leave[p] = leaving(speeds[p], gaps[p], row->restitution, fall);
        impact->gaps[p] = gaps[p];
    }
    return true;
}

/* Normal impulses for the required separation speeds. If all points collide, equal impulses come
 * first: level bodies stay level. */
static void impact_normals(const ContactWide *row, const PointWide *points, Impact *impact, Side *a,
                           Side *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), demand = zero, target[MANIFOLD_POINTS];
    f32x8 added[MANIFOLD_POINTS];
    i32x8 all = row->share > zero;
    for (u32 p = 0; p < row->points; p++) {
        target[p] = point_speed(row, &points[p], a, b) - impact->leave[p];
        demand += f32x8_and(impact->strikes[p], target[p]);
        all &= impact->strikes[p] | (points[p].mass <= zero);
    }
    f32x8 mean = f32x8_and(all, f32x8_max(-row->share * row->patch_mass * demand, zero));
    for (u32 p = 0; p < row->points; p++) {
        added[p] = f32x8_and(impact->strikes[p], mean);
    }
    for (u32 sweep = 0; sweep < (row->points > 1 ? NORMAL_SWEEPS : 1); sweep++) {
        for (u32 i = 0; i < row->points; i++) {
            u32 p = sweep % 2 == 0 ? i : row->points - 1 - i;
            f32x8 speed = coupled_speed(row, target[p], added, p, row->points);
            f32x8 change = f32x8_max(-points[p].mass * speed, -impact->changes[p]);
            /* A single point is exact at once, and must not depend on its neighbours. */
            i32x8 takes = impact->strikes[p] & ((sweep == 0 ? one : row->share) > zero);
            added[p] = f32x8_select(takes, change, added[p]);
        }
    }
    f32x8 sum = zero;
    Vec3x8 angular_a = {zero, zero, zero}, angular_b = {zero, zero, zero};
    for (u32 p = 0; p < row->points; p++) {
        impact->changes[p] += added[p];
        sum += added[p];
        angular_a = vec3x8_add_scaled(angular_a, added[p], points[p].angular_a);
        angular_b = vec3x8_add_scaled(angular_b, added[p], points[p].angular_b);
    }
    impact_row_add(row, impact, a, b, vec3x8_scale(row->normal, sum), angular_a, angular_b);
}

/* The arm to the centre of the normal impulses: `angular` is the mean of arm × normal over them.
 * The contact is there, not at the mean of all gaps: the surfaces are `off` along the normal. */
SIMD_INLINE Vec3x8 acting_arm(const ContactWide *row, Vec3x8 patch_arm, Vec3x8 angular, f32x8 off)
{
    f32x8 along = vec3x8_dot(row->normal, patch_arm) + off;
    return vec3x8_add_scaled(vec3x8_cross(row->normal, angular), along, row->normal);
}

/* Velocity along v at the arms per impulse along u there. */
SIMD_INLINE f32x8 response(const ContactWide *row, f32x8 mass, Vec3x8 arm_a, Vec3x8 arm_b, Vec3x8 u,
                           Vec3x8 v)
{
    Vec3x8 ua = vec3x8_cross(arm_a, u), va = vec3x8_cross(arm_a, v);
    Vec3x8 ub = vec3x8_cross(arm_b, u), vb = vec3x8_cross(arm_b, v);
    return mass * vec3x8_dot(u, v) + vec3x8_dot(va, symmetric3x8_mul(&row->inertia_a, ua)) +
           vec3x8_dot(vb, symmetric3x8_mul(&row->inertia_b, ub));
}

/* Coulomb's law at impact: stops the slip, up to friction times the normal impulse. */
static void impact_friction(const ContactWide *row, const PointWide *points, Impact *impact,
                            Side *a, Side *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), sum = zero, gap = zero, gaps = zero;
    Vec3x8 mean_a = {zero, zero, zero}, mean_b = mean_a;
    for (u32 p = 0; p < row->points; p++) {
        sum += impact->changes[p];
        gap += impact->changes[p] * f32x8_max(impact->gaps[p], zero);
        gaps += f32x8_and(points[p].mass > zero, f32x8_max(impact->gaps[p], zero));
        mean_a = vec3x8_add_scaled(mean_a, impact->changes[p], points[p].angular_a);
        mean_b = vec3x8_add_scaled(mean_b, impact->changes[p], points[p].angular_b);
    }
    f32x8 part = f32x8_and(sum > zero, one / f32x8_select(sum > zero, sum, one));
    f32x8 off = f32x8_and(row->share > zero, 0.5f * (row->share * gaps - part * gap));
    Vec3x8 arm_a = acting_arm(row, row->arm_a, vec3x8_scale(mean_a, part), off);
    Vec3x8 arm_b = acting_arm(row, row->arm_b, vec3x8_scale(mean_b, part), -off);
    Vec3x8 t1 = row->tangent, t2 = vec3x8_cross(row->normal, t1);
    Vec3x8 slip = vec3x8_sub(vec3x8_add(b->velocity, vec3x8_cross(b->angular_velocity, arm_b)),
                             vec3x8_add(a->velocity, vec3x8_cross(a->angular_velocity, arm_a)));
    f32x8 mass = a->mass + b->mass;
    f32x8 k11 = response(row, mass, arm_a, arm_b, t1, t1);
    f32x8 k22 = response(row, mass, arm_a, arm_b, t2, t2);
    f32x8 k12 = response(row, mass, arm_a, arm_b, t1, t2);
    f32x8 determinant = k11 * k22 - k12 * k12;
    i32x8 regular = (determinant > zero) & (sum > zero);
    f32x8 s = f32x8_and(regular, one / f32x8_select(regular, determinant, one));
    f32x8 s1 = vec3x8_dot(slip, t1), s2 = vec3x8_dot(slip, t2);
    f32x8 x = vec3x8_dot(impact->friction, t1) - s * (k22 * s1 - k12 * s2);
    f32x8 y = vec3x8_dot(impact->friction, t2) - s * (k11 * s2 - k12 * s1);
    f32x8 length = f32x8_sqrt(x * x + y * y), limit = row->friction * sum;
    i32x8 over = length > limit;
    f32x8 scale = f32x8_select(over, limit / f32x8_select(over, length, one), one);
    Vec3x8 friction = vec3x8_add_scaled(vec3x8_scale(t1, x * scale), y * scale, t2);
    Vec3x8 change = vec3x8_sub(friction, impact->friction);
    change = (Vec3x8){f32x8_and(regular, change.x), f32x8_and(regular, change.y),
                      f32x8_and(regular, change.z)};
    impact->friction = vec3x8_add(impact->friction, change);
    impact_row_add(row, impact, a, b, change, vec3x8_cross(arm_a, change),
                   vec3x8_cross(arm_b, change));
}

/* Twice the work of the impact at these velocities. */
SIMD_INLINE f32x8 impact_power(const Impact *impact, const Side *a, const Side *b)
{
    return vec3x8_dot(impact->impulse, vec3x8_sub(b->velocity, a->velocity)) +
           vec3x8_dot(impact->angular_b, b->angular_velocity) -
           vec3x8_dot(impact->angular_a, a->angular_velocity);
}

/* Scales an impact by s. */
SIMD_INLINE void impact_scale(const ContactWide *row, Impact *impact, f32x8 s, Side *a, Side *b)
{
    f32x8 more = s - 1.0f;
    apply(row, a, b, vec3x8_scale(impact->impulse, more), vec3x8_scale(impact->angular_a, more),
          vec3x8_scale(impact->angular_b, more));
    for (u32 p = 0; p < row->points; p++) {
        impact->changes[p] *= s;
    }
    impact->friction = vec3x8_scale(impact->friction, s);
    impact->impulse = vec3x8_scale(impact->impulse, s);
    impact->angular_a = vec3x8_scale(impact->angular_a, s);
    impact->angular_b = vec3x8_scale(impact->angular_b, s);
}

/* Sweeps converge slowly for points close together. Weighted by their impulses the points
 * separate as required: so the energy loss by restitution does not depend on the number of
 * sweeps. */
static void impact_finish(const ContactWide *row, const PointWide *points, Impact *impact,
                          const Side *before_a, const Side *before_b, Side *a, Side *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f), asked = zero, given = zero;
    for (u32 p = 0; p < row->points; p++) {
        f32x8 met = point_speed(row, &points[p], before_a, before_b);
        asked += impact->changes[p] * (impact->leave[p] - met);
        given += impact->changes[p] * (point_speed(row, &points[p], a, b) - met);
    }
    i32x8 usable = (row->share > zero) & (asked > zero) & (given > zero);
    if (i32x8_any(usable)) {
        f32x8 s = f32x8_select(usable, asked / f32x8_select(usable, given, one), one);
        impact_scale(row, impact, s, a, b);
    }
}

/* Newton's restitution with friction or at several points at once may add energy (Kane 1984):
 * such an impact is scaled down to zero work. Its work at scale s is s p₀ + s² (p₁ − p₀) / 2. */
static void impact_weaken(const ContactWide *row, Impact *impact, const Side *before_a,
                          const Side *before_b, Side *a, Side *b)
{
    f32x8 zero = f32x8_set(0.0f), one = f32x8_set(1.0f);
    f32x8 first = impact_power(impact, before_a, before_b), last = impact_power(impact, a, b);
    i32x8 gains = first + last > zero;
    if (!i32x8_any(gains)) {
        return;
    }
    f32x8 change = f32x8_select(gains & (last > first), last - first, one);
    f32x8 share = f32x8_select(gains, -2.0f * first / change, one);
    impact_scale(row, impact, f32x8_max(f32x8_min(share, one), zero), a, b);
}

/* A bounced contact has separated: the solve without bias would hold it back with its former
 * impulse. */
static void impact_release(ContactWide *row, PointWide *points, const Impact *impact)
{
    i32x8 struck = {0};
    f32x8 zero = f32x8_set(0.0f);
    for (u32 p = 0; p < row->points; p++) {
        struck |= impact->changes[p] > zero;
    }
    for (u32 p = 0; p < row->points; p++) {
        points[p].impulse = f32x8_select(struck, zero, points[p].impulse);
    }
    row->friction_impulse[0] = f32x8_select(struck, zero, row->friction_impulse[0]);
    row->friction_impulse[1] = f32x8_select(struck, zero, row->friction_impulse[1]);
    row->twist_impulse = f32x8_select(struck, zero, row->twist_impulse);
}

/* Lanes of two free bodies so far apart that arms and normals change until impact. Jointed
 * bodies are excluded, since joints would pull them back. */
static u32 impact_is_far(const Rigid *rigid, const ContactWide *row, const Impact *impact,
                         const Side *a, const Side *b, f32 apart_m)
{
    i32x8 far = {0};
    u32 lanes = 0;
    for (u32 p = 0; p < row->points; p++) {
        far |= impact->strikes[p] & (impact->gaps[p] > apart_m);
    }
    far &= (a->mass > 0.0f) & (b->mass > 0.0f);
    for (u32 lane = 0; lane < SIMD_LANES && i32x8_any(far); lane++) {
        bool is_free = far[lane] && !body_hangs(rigid, row->a[lane]) &&
                       !body_hangs(rigid, row->b[lane]); /* empty lanes have no bodies */
        lanes |= is_free ? 1u << lane : 0;
    }
    return lanes;
}

/* Lanes none of whose points touches. */
static u32 impact_is_apart(const Rigid *rigid, const ContactWide *row, const Impact *impact)
{
    i32x8 touches = {0};
    u32 lanes = 0;
    for (u32 p = 0; p < row->points; p++) {
        touches |=
            (rigid->points[row->first + p].mass > 0.0f) & (impact->gaps[p] <= impact_touch_m);
    }
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        lanes |= touches[lane] == 0 ? 1u << lane : 0;
    }
    return lanes;
}

static Vec3 lane_of(Vec3x8 v, u32 lane)
{
    return vec3(v.x[lane], v.y[lane], v.z[lane]);
}

/* Time of touch (s) for which placing the two at it conserves their angular momentum best: of
 * d × P + (angular_b − angular_a) + s v × P, d from a to b and v their relative velocity before,
 * the least. `otherwise` where their motion across the impulse P is too slow to tell. */
static f32 touch_time(const Rigid *rigid, const ContactWide *row, const Impact *impact, u32 lane,
                      Vec3 v, f32 otherwise)
{
    Vec3 impulse = lane_of(impact->impulse, lane);
    Vec3 apart =
        vec3_sub(rigid->bodies[row->b[lane]].position, rigid->bodies[row->a[lane]].position);
    Vec3 change = vec3_add(vec3_cross(apart, impulse), vec3_sub(lane_of(impact->angular_b, lane),
                                                                lane_of(impact->angular_a, lane)));
    Vec3 rate = vec3_cross(v, impulse);
    f32 rate2 = vec3_length_squared(rate);
    bool tells = rate2 > 0.01f * vec3_length_squared(v) * vec3_length_squared(impulse);
    return tells ? -vec3_dot(change, rate) / rate2 : otherwise;
}

/* An impact happens at the time of touch, after a part of the substep with unchanged motion:
 * velocities change at its start, so positions are corrected by the difference until then. This
 * conserves the angular momentum of the two: the arms of the impact are those at touch. Their
 * centre of mass is unchanged. */
static void impact_place(Rigid *rigid, const ContactWide *row, const Impact *impact,
                         const Side *before_a, const Side *before_b, u32 lanes, f32 longest)
{
    f32x8 zero = f32x8_set(0.0f), way = zero, speed = zero;
    for (u32 p = 0; p < row->points; p++) {
        f32x8 met = point_speed(row, &rigid->points[row->first + p], before_a, before_b);
        way += impact->changes[p] * impact->gaps[p];
        speed -= impact->changes[p] * met;
    }
    for (; lanes != 0; lanes &= lanes - 1) {
        u32 lane = (u32)__builtin_ctz(lanes);
        Vec3 v = vec3_sub(lane_of(before_b->velocity, lane), lane_of(before_a->velocity, lane));
        f32 s = way[lane] / f32_max(speed[lane], 1e-30f);
        s = f32_clamp(touch_time(rigid, row, impact, lane, v, s), 0.0f, longest);
        contact_place(rigid, row, lane, vec3_scale(lane_of(impact->impulse, lane), s));
    }
}

/* Collisions come before contacts: contacts that would close their gap in this substep, fast
 * enough to bounce, bounce at once, pair by pair, so that impacts propagate through rows of
 * bodies as in a cradle instead of being averaged (Guendelman, Bridson, Fedkiw, "Nonconvex rigid
 * bodies with stacking", 2003, section 5). Returns whether any lane collided. */
static bool bounce_row(Rigid *rigid, ContactWide *row, f32 h)
{
    PointWide *points = &rigid->points[row->first];
    Side a = side_gather(rigid->states, row->a), b = side_gather(rigid->states, row->b);
    Impact impact;
    if (!impact_begin(rigid, row, &a, &b, h, &impact)) {
        return false;
    }
    u32 far = impact_is_far(rigid, row, &impact, &a, &b, impact_near_m);
    if (far != 0) {
        /* Of those that pass each other, those that touch elsewhere are treated as touching from
         * the start, and not moved; the others have no impact. */
        u32 missed = far & impact_is_apart(rigid, row, &impact);
        u32 met = contact_meet(rigid, row, far, impact_together * h, &missed);
        far &= met;
        if ((met | missed) != 0 && !impact_begin(rigid, row, &a, &b, h, &impact)) {
            return false;
        }
    }
    const Side before_a = a, before_b = b;
    for (u32 round = 0; round < IMPACT_ROUNDS; round++) {
        impact_normals(row, points, &impact, &a, &b);
        impact_friction(row, points, &impact, &a, &b);
    }
    impact_normals(row, points, &impact, &a, &b);
    impact_finish(row, points, &impact, &before_a, &before_b, &a, &b);
    for (u32 p = 0; p < row->points; p++) {
        points[p].impulse_max += impact.changes[p];
    }
    impact_weaken(row, &impact, &before_a, &before_b, &a, &b);
    impact_release(row, points, &impact);
    side_scatter(rigid->states, row->a, &a);
    side_scatter(rigid->states, row->b, &b);
    if (far != 0) {
        impact_place(rigid, row, &impact, &before_a, &before_b, far, impact_together * h);
    }
    return true;
}

/* ---- colours, one after the other ---- */

typedef enum ContactStage {
    STAGE_WARM_START,
    STAGE_SOLVE,
    STAGE_RELEASE,
    STAGE_RELAX,
    STAGE_BOUNCE
} ContactStage;

typedef struct ContactStageRun {
    Rigid *rigid;
    ContactStage stage;
    f32 h;
    _Atomic bool struck; /* STAGE_BOUNCE: some row collided */
} ContactStageRun;

static void bounce_rows(ContactStageRun *run, u32 first, u32 end)
{
    for (u32 i = first; i < end; i++) {
        ContactWide *row = &run->rigid->rows[run->rigid->bouncing[i]];
        if (row->bounces && bounce_row(run->rigid, row, run->h)) {
            atomic_store_explicit(&run->struck, true, memory_order_relaxed);
        }
    }
}

static void stage_range(void *context, u32 color, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    ContactStageRun *run = context;
    Rigid *rigid = run->rigid;
    const ColorRange *range = &rigid->colors[color];
    u32 base = run->stage == STAGE_BOUNCE ? range->first_bouncing : range->first;
    first += base;
    end += base;
    switch (run->stage) {
    case STAGE_WARM_START:
        for (u32 i = first; i < end; i++) {
            warm_start_row(rigid, &rigid->rows[i]);
        }
        break;
    case STAGE_SOLVE:
        solve_rows(rigid, first, end, PASS_PUSH);
        break;
    case STAGE_RELEASE:
        solve_rows(rigid, first, end, PASS_RELEASE);
        break;
    case STAGE_RELAX:
        solve_rows(rigid, first, end, PASS_RELAX);
        break;
    case STAGE_BOUNCE:
        bounce_rows(run, first, end);
        break;
    }
}

static bool run_stage(Rigid *rigid, ContactStage stage)
{
    ContactStageRun run = {
        .rigid = rigid, .stage = stage, .h = rigid->def.tick_s / (f32)rigid->substeps};
    JobsPhase phases[COLORS_MAX + 1];
    for (u32 color = 0; color < rigid->color_count; color++) {
        const ColorRange *range = &rigid->colors[color];
        u32 count = stage == STAGE_RELEASE  ? range->turning
                    : stage == STAGE_BOUNCE ? range->bouncing
                                            : range->count;
        /* Contacts without a colour may share bodies: one row after the other. */
        u32 grain = color == COLORS_MAX ? count : jobs_grain(rigid->jobs, count, ROW_GRAIN);
        phases[color] = (JobsPhase){.count = count, .grain = grain};
    }
    jobs_run_phases(rigid->jobs, phases, rigid->color_count, stage_range, &run);
    return atomic_load(&run.struck);
}

void contact_bounce(Rigid *rigid)
{
    if (!rigid->bounces) {
        return;
    }
    /* Each iteration propagates an impact by at least one contact of a chain. */
    for (u32 i = 0; i < BOUNCE_ROUNDS && run_stage(rigid, STAGE_BOUNCE); i++) {
    }
}
void contact_warm_start(Rigid *rigid)
{
    run_stage(rigid, STAGE_WARM_START);
}
void contact_release(Rigid *rigid)
{
    if (rigid->turns) {
        run_stage(rigid, STAGE_RELEASE);
    }
}
void contact_solve(Rigid *rigid, bool use_bias)
{
    heavy_solve(rigid, use_bias ? HEAVY_PUSH : HEAVY_RELAX);
    run_stage(rigid, use_bias ? STAGE_SOLVE : STAGE_RELAX);
}
