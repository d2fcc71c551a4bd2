/*
 * solve_bounce.c: impacts with restitution, eight contacts at a time: the points of a row that
 * close their gap in a substep collide together, with friction, without gain of energy.
 */
#include "server/physics/rigid/solve/contact_row.h"

enum {
    IMPACT_ROUNDS = 4 /* iterations of normals and friction within an impact */
};

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
    row_apply(row, a, b, impulse, angular_a, angular_b);
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
        speeds[p] = row_point_speed(row, point, a, b);
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
        target[p] = row_point_speed(row, &points[p], a, b) - impact->leave[p];
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
            f32x8 speed = row_coupled_speed(row, target[p], added, p, row->points);
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
    row_apply(row, a, b, vec3x8_scale(impact->impulse, more), vec3x8_scale(impact->angular_a, more),
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
        f32x8 met = row_point_speed(row, &points[p], before_a, before_b);
        asked += impact->changes[p] * (impact->leave[p] - met);
        given += impact->changes[p] * (row_point_speed(row, &points[p], a, b) - met);
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
    bool is_clear = rate2 > 0.01f * vec3_length_squared(v) * vec3_length_squared(impulse);
    return is_clear ? -vec3_dot(change, rate) / rate2 : otherwise;
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
        f32x8 met = row_point_speed(row, &rigid->points[row->first + p], before_a, before_b);
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
bool contact_bounce_row(Rigid *rigid, ContactWide *row, f32 h)
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
