/*
 * solve_impulses.c: PGS, for teaching and comparison (RIGID_IMPULSES, and PGS bodies of other
 * worlds, so that both methods can be compared side by side): one step per tick, sequential
 * impulses point by point in the order of the contacts, accumulated and clamped, warm started along
 * the normal; overlap is corrected through the velocities (Baumgarte), and friction is a pyramid of
 * k sides. It shows the purpose of the soft steps of solve_contact.c: Baumgarte velocity remains in
 * the bodies as energy, high stacks need many iterations, and a pyramid lets bodies slide towards
 * its edges. Rolling friction is a moment of at most its lever arm times the normal impulse.
 * Method: Catto, "Iterative dynamics with temporal coherence", 2005; Baumgarte 1972; the polyhedral
 * cone of Stewart and Trinkle 1996.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/math/trig.h"

/* Allowed overlap, so that resting contacts persist. */
#define SLOP_M 0.005f

struct ImpulsePoint {
    u32 a, b, contact, index;
    Vec3 normal, tangent1, tangent2;
    Vec3 arm_a, arm_b;
    f32 mass;     /* along the normal, kg */
    f32 target;   /* m/s, target normal velocity */
    f32 impulse;  /* N s, accumulated, ≥ 0 */
    f32 friction; /* coefficient */
    f32 approach; /* m/s, at the start of the tick */
    Vec3 run;     /* m/s, of b's surface relative to a's */
    f32 tangent_masses[2], tangent_impulses[2];
    f32 rolling;             /* m, lever arm of rolling friction */
    Symmetric3 rolling_mass; /* kg m² */
    Vec3 rolling_impulse;    /* N m s, on b */
};

static Vec3 slip_of(const Rigid *rigid, const ImpulsePoint *p)
{
    return vec3_sub(rigid_velocity_at(rigid, p->b, p->arm_b),
                    rigid_velocity_at(rigid, p->a, p->arm_a));
}

static f32 mass_along(const Rigid *rigid, const ImpulsePoint *p, Vec3 direction)
{
    Vec3 ra = vec3_cross(p->arm_a, direction), rb = vec3_cross(p->arm_b, direction);
    f32 k = rigid->states[p->a].inverse_mass + rigid->states[p->b].inverse_mass +
            vec3_dot(ra, symmetric_mul(&rigid->inertias[p->a], ra)) +
            vec3_dot(rb, symmetric_mul(&rigid->inertias[p->b], rb));
    return k > 0.0f ? 1.0f / k : 0.0f;
}

/* Static and kinematic bodies have zero inverse mass and inertia, so impulses have no effect. */
static void apply(Rigid *rigid, const ImpulsePoint *p, Vec3 impulse)
{
    BodyState *a = &rigid->states[p->a], *b = &rigid->states[p->b];
    a->velocity = vec3_add_scaled(a->velocity, -a->inverse_mass, impulse);
    b->velocity = vec3_add_scaled(b->velocity, b->inverse_mass, impulse);
    a->angular_velocity = vec3_sub(
        a->angular_velocity, symmetric_mul(&rigid->inertias[p->a], vec3_cross(p->arm_a, impulse)));
    b->angular_velocity = vec3_add(
        b->angular_velocity, symmetric_mul(&rigid->inertias[p->b], vec3_cross(p->arm_b, impulse)));
}

static void point_prepare(Rigid *rigid, u32 contact, u32 index, ImpulsePoint *p)
{
    const Contact *c = &rigid->contacts[contact];
    const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[contact]];
    const ManifoldPoint *point = &manifold->points[index];
    const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
    memset(p, 0, sizeof(*p));
    p->a = c->a;
    p->b = c->b;
    p->contact = contact;
    p->index = index;
    p->normal = manifold->normal;
    p->tangent1 = vec3_perpendicular(p->normal);
    p->tangent2 = vec3_cross(p->normal, p->tangent1);
    p->arm_a = vec3_sub(point->position, a->position);
    p->arm_b = vec3_sub(point->position, b->position);
    p->mass = mass_along(rigid, p, p->normal);
    p->impulse = c->impulses[index];
    p->friction = sqrtf(a->friction * b->friction) * rigid->friction_scale;
    p->run = vec3_sub(quat_rotate(b->orientation, b->surface_velocity),
                      quat_rotate(a->orientation, a->surface_velocity));
    p->approach = vec3_dot(p->normal, slip_of(rigid, p));
    f32 rate = 1.0f / rigid->def.tick_s;
    f32 overlap = f32_max(-point->separation - SLOP_M, 0.0f);
    /* A gap may close exactly within the tick; of an overlap β is corrected per tick. */
    p->target = point->separation > 0.0f ? -point->separation * rate
                                         : rigid->def.baumgarte * overlap * rate;
    f32 restitution = f32_max(rigid->restitution_min, f32_max(a->restitution, b->restitution));
    if (p->approach < -RIGID_BOUNCE_M_S && p->approach < p->target) {
        p->target = f32_max(p->target, -restitution * p->approach);
    }
    p->rolling = f32_max(a->rolling, b->rolling);
    if (p->rolling > 0.0f) {
        Symmetric3 sum = symmetric_add(rigid->inertias[p->a], rigid->inertias[p->b]);
        p->rolling_mass = symmetric_inverse(&sum);
    }
    p->tangent_masses[0] = mass_along(rigid, p, p->tangent1);
    p->tangent_masses[1] = mass_along(rigid, p, p->tangent2);
}

/* Number of points of a contact solved here. */
static u32 pgs_points(const Rigid *rigid, u32 contact)
{
    bool here = contact_is_solved(rigid, contact) && contact_is_pgs(rigid, contact);
    return here ? rigid->contacts[contact].flags >> CONTACT_COUNT_SHIFT : 0;
}

void impulses_prepare(Rigid *rigid)
{
    u32 count = 0;
    rigid->impulse_point_count = 0;
    if (rigid->pgs_count == 0) {
        return;
    }
    for (u32 i = 0; i < rigid->def.pyramid_sides; i++) {
        f32 angle = 6.2831853f * ((f32)i + 0.5f) / (f32)rigid->def.pyramid_sides;
        rigid->side_sin[i] = trig_sin_f32(angle);
        rigid->side_cos[i] = trig_cos_f32(angle);
    }
    rigid->side_distance = trig_cos_f32(3.14159265f / (f32)rigid->def.pyramid_sides);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        count += pgs_points(rigid, i);
    }
    if (!rigid_reserve(rigid, &rigid->impulse_points, &rigid->impulse_point_capacity, count,
                       sizeof(ImpulsePoint))) {
        return;
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        u32 points = pgs_points(rigid, i);
        for (u32 k = 0; k < points; k++) {
            point_prepare(rigid, i, k, &rigid->impulse_points[rigid->impulse_point_count++]);
        }
    }
}

/* Keeps the friction of a point within a polygon of k sides whose corners lie on the circle μ N:
 * the excess beyond a side is removed along its normal. */
static void solve_friction(Rigid *rigid, ImpulsePoint *p)
{
    Vec3 slip = vec3_add(slip_of(rigid, p), p->run);
    f32 x = p->tangent_impulses[0] - p->tangent_masses[0] * vec3_dot(p->tangent1, slip);
    f32 y = p->tangent_impulses[1] - p->tangent_masses[1] * vec3_dot(p->tangent2, slip);
    f32 limit = p->friction * p->impulse * rigid->side_distance;
    f32 beyond = 0.0f;
    for (u32 i = 0; i < rigid->def.pyramid_sides; i++) {
        beyond = f32_max(beyond, x * rigid->side_cos[i] + y * rigid->side_sin[i]);
    }
    if (beyond > limit) {
        x *= limit / beyond;
        y *= limit / beyond;
    }
    Vec3 change = vec3_scale(p->tangent1, x - p->tangent_impulses[0]);
    change = vec3_add_scaled(change, y - p->tangent_impulses[1], p->tangent2);
    p->tangent_impulses[0] = x;
    p->tangent_impulses[1] = y;
    apply(rigid, p, change);
}

/* The moment that would stop the relative rotation, within its limit. */
static void solve_rolling(Rigid *rigid, ImpulsePoint *p)
{
    BodyState *a = &rigid->states[p->a], *b = &rigid->states[p->b];
    Vec3 moment = vec3_sub(
        p->rolling_impulse,
        symmetric_mul(&p->rolling_mass, vec3_sub(b->angular_velocity, a->angular_velocity)));
    f32 length = vec3_length(moment), limit = p->rolling * p->impulse;
    moment = length > limit ? vec3_scale(moment, limit / length) : moment;
    Vec3 change = vec3_sub(moment, p->rolling_impulse);
    p->rolling_impulse = moment;
    a->angular_velocity =
        vec3_sub(a->angular_velocity, symmetric_mul(&rigid->inertias[p->a], change));
    b->angular_velocity =
        vec3_add(b->angular_velocity, symmetric_mul(&rigid->inertias[p->b], change));
}

void impulses_warm_start(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->impulse_point_count; i++) {
        ImpulsePoint *p = &rigid->impulse_points[i];
        apply(rigid, p, vec3_scale(p->normal, p->impulse));
    }
}

void impulses_solve(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->impulse_point_count; i++) {
        ImpulsePoint *p = &rigid->impulse_points[i];
        solve_friction(rigid, p);
        if (p->rolling > 0.0f) {
            solve_rolling(rigid, p);
        }
        f32 speed = vec3_dot(p->normal, slip_of(rigid, p));
        f32 impulse = f32_max(p->impulse - p->mass * (speed - p->target), 0.0f);
        apply(rigid, p, vec3_scale(p->normal, impulse - p->impulse));
        p->impulse = impulse;
    }
}

void impulses_store(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->impulse_point_count; i++) {
        const ImpulsePoint *p = &rigid->impulse_points[i];
        Contact *c = &rigid->contacts[p->contact];
        c->impulses[p->index] = p->impulse;
        if (p->index == 0 && (c->flags & CONTACT_BEGAN) && p->approach < -RIGID_BOUNCE_M_S) {
            const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[p->contact]];
            RigidImpact impact = {p->a, p->b, manifold->points[0].position, p->impulse,
                                  -p->approach};
            impact_add(rigid, &impact);
        }
    }
}
