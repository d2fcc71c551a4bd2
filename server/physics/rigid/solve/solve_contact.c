/*
 * solve_contact.c: contacts as soft constraints inside the substeps, eight at a time: one normal
 * row per point; one friction patch (two tangents, twist and rolling) per manifold at the centre of
 * its points. Each body's shift and rotation since the tick began are tracked, so that separations
 * are updated without a new narrow phase; rotation of a rolling ball about the normal changes
 * nothing. The points of a manifold share their normal: their impulses are solved together with the
 * small matrix that couples them, and applied at once; manifolds are solved sequentially.
 * Method: Catto, Solver2D (2024); soft constraints of Catto, GDC 2011.
 */
#include "server/physics/rigid/solve/contact_row.h"
#include "server/physics/rigid/solve/heavy.h"

#include <stdatomic.h>

enum {
    ROW_GRAIN = 8,
    BOUNCE_ROUNDS = 16,
};

/* Resting contacts are no faster than this plus what gravity adds in two substeps. */
#define REST_M_S 0.01f

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
    row_apply(row, &a, &b, vec3x8_add_scaled(friction, sum, row->normal), angular_a, angular_b);
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
    row_apply(row, a, b, impulse, vec3x8_add(vec3x8_cross(row->arm_a, impulse), moment),
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
            f32x8 speed = row_coupled_speed(row, demand->target[p], changes, p, count);
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
            scaled[q] = row->coupling[row_couple_index(q, p)];
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
    row_apply(row, a, b, vec3x8_scale(row->normal, sum), angular_a, angular_b);
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
        speeds[p] = row_point_speed(row, &points[p], a, b);
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
        if (row->bounces && contact_bounce_row(run->rigid, row, run->h)) {
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
    if (rigid->rotates) {
        run_stage(rigid, STAGE_RELEASE);
    }
}
void contact_solve(Rigid *rigid, bool use_bias)
{
    heavy_solve(rigid, use_bias ? HEAVY_PUSH : HEAVY_RELAX);
    run_stage(rigid, use_bias ? STAGE_SOLVE : STAGE_RELAX);
}
