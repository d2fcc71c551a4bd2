/*
 * solve_contact.c: contacts as soft constraints inside the substeps: per point one normal row; per
 * manifold one friction patch (two tangents, twist and rolling) at the middle of its points.
 * The motion since the tick began is tracked by each body's shift and turn, so that separations
 * follow without a new narrow phase; a turn about the normal of a rolling ball changes nothing.
 * Method: Catto, Solver2D (2024); soft constraints of Catto, GDC 2011.
 */
#include "server/physics/rigid/body.h"

Softness softness(f32 frequency_hz, f32 damping_ratio, f32 h)
{
    f32 omega = 6.2831853f * frequency_hz;
    f32 a1 = 2.0f * damping_ratio + h * omega;
    f32 a2 = h * omega * a1;
    f32 a3 = 1.0f / (1.0f + a2);
    return (Softness){omega / a1, a2 * a3, a3};
}

static void prepare_points(Rigid *rigid, const Contact *c, ContactRow *row)
{
    const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
    const Symmetric3 *ia = &rigid->inertias[c->a], *ib = &rigid->inertias[c->b];
    f32 masses = rigid->states[c->a].inverse_mass + rigid->states[c->b].inverse_mass;
    Vec3 centre = vec3_zero();
    for (u32 p = 0; p < row->count; p++) {
        centre = vec3_add(centre, c->manifold.points[p].position);
    }
    centre = vec3_scale(centre, 1.0f / (f32)row->count);
    row->arm_a = vec3_sub(centre, a->position);
    row->arm_b = vec3_sub(centre, b->position);
    for (u32 p = 0; p < row->count; p++) {
        const ManifoldPoint *point = &c->manifold.points[p];
        PointRow *r = &row->points[p];
        r->angular_a = vec3_cross(vec3_sub(point->position, a->position), row->normal);
        r->angular_b = vec3_cross(vec3_sub(point->position, b->position), row->normal);
        r->turn_a = symmetric_mul(ia, r->angular_a);
        r->turn_b = symmetric_mul(ib, r->angular_b);
        f32 k = masses + vec3_dot(r->angular_a, r->turn_a) + vec3_dot(r->angular_b, r->turn_b);
        r->mass = k > 0.0f ? 1.0f / k : 0.0f;
        r->separation = point->separation;
        r->impulse = point->impulse;
        r->impulse_max = 0.0f;
        r->approach = 0.0f;
        r->lever = vec3_distance(point->position, centre);
    }
}

static void prepare_friction(Rigid *rigid, const Contact *c, ContactRow *row)
{
    const Symmetric3 *ia = &rigid->inertias[c->a], *ib = &rigid->inertias[c->b];
    f32 masses = rigid->states[c->a].inverse_mass + rigid->states[c->b].inverse_mass;
    row->tangent1 = vec3_perpendicular(row->normal);
    row->tangent2 = vec3_cross(row->normal, row->tangent1);
    Vec3 a1 = vec3_cross(row->arm_a, row->tangent1), a2 = vec3_cross(row->arm_a, row->tangent2);
    Vec3 b1 = vec3_cross(row->arm_b, row->tangent1), b2 = vec3_cross(row->arm_b, row->tangent2);
    Vec3 ia1 = symmetric_mul(ia, a1), ib1 = symmetric_mul(ib, b1);
    f32 k11 = masses + vec3_dot(a1, ia1) + vec3_dot(b1, ib1);
    f32 k22 = masses + vec3_dot(a2, symmetric_mul(ia, a2)) + vec3_dot(b2, symmetric_mul(ib, b2));
    f32 k12 = vec3_dot(a2, ia1) + vec3_dot(b2, ib1);
    f32 determinant = k11 * k22 - k12 * k12;
    f32 s = determinant > 0.0f ? 1.0f / determinant : 0.0f;
    row->friction_mass[0] = k22 * s;
    row->friction_mass[1] = k11 * s;
    row->friction_mass[2] = -k12 * s;
    row->friction_impulse[0] = vec3_dot(c->friction_impulse, row->tangent1);
    row->friction_impulse[1] = vec3_dot(c->friction_impulse, row->tangent2);
    f32 twist = vec3_dot(row->normal, symmetric_mul(ia, row->normal)) +
                vec3_dot(row->normal, symmetric_mul(ib, row->normal));
    row->twist_mass = twist > 0.0f ? 1.0f / twist : 0.0f;
    row->twist_impulse = c->twist_impulse;
    row->rolling_impulse = c->rolling_impulse;
    if (row->rolling > 0.0f) {
        Symmetric3 sum = symmetric_add(*ia, *ib);
        row->rolling_mass = symmetric_inverse(&sum);
    }
}

void contact_prepare(Rigid *rigid)
{
    f32 rate = (f32)rigid->substeps / rigid->def.tick_s;
    f32 h = 1.0f / rate;
    /* Stiffer with more substeps: a contact may swing no faster than they resolve. */
    Softness soft = softness(0.125f * rate, 10.0f, h);
    Softness stiff = softness(0.25f * rate, 10.0f, h);
    rigid->row_count = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        Contact *c = &rigid->contacts[i];
        const Body *a = &rigid->bodies[c->a], *b = &rigid->bodies[c->b];
        if (c->manifold.count == 0 || (!body_is_active(a) && !body_is_active(b))) {
            continue;
        }
        ContactRow *row = &rigid->rows[rigid->row_count++];
        memset(row, 0, sizeof(*row));
        row->a = c->a;
        row->b = c->b;
        row->contact = i;
        row->count = c->manifold.count;
        row->normal = c->manifold.normal;
        row->friction = sqrtf(a->friction * b->friction) * rigid->friction_scale;
        row->restitution = f32_max(rigid->restitution_min, f32_max(a->restitution, b->restitution));
        row->rolling = f32_max(a->rolling, b->rolling);
        bool one = a->motion != BODY_DYNAMIC || b->motion != BODY_DYNAMIC;
        row->bias_rate = one ? stiff.bias_rate : soft.bias_rate;
        row->mass_scale = one ? stiff.mass_scale : soft.mass_scale;
        row->impulse_scale = one ? stiff.impulse_scale : soft.impulse_scale;
        prepare_points(rigid, c, row);
        prepare_friction(rigid, c, row);
    }
}

/* Velocities of the two bodies, held while a row is solved. */
typedef struct Pair {
    Vec3 va, wa, vb, wb;
    f32 ma, mb;
} Pair;

static inline Pair pair_read(const Rigid *rigid, const ContactRow *row)
{
    const BodyState *a = &rigid->states[row->a], *b = &rigid->states[row->b];
    return (Pair){a->velocity, a->spin, b->velocity, b->spin, a->inverse_mass, b->inverse_mass};
}
/* Bodies that no impulse moves are not written: they may be shared between threads. */
static inline void pair_write(Rigid *rigid, const ContactRow *row, const Pair *pair)
{
    if (pair->ma > 0.0f) {
        rigid->states[row->a].velocity = pair->va;
        rigid->states[row->a].spin = pair->wa;
    }
    if (pair->mb > 0.0f) {
        rigid->states[row->b].velocity = pair->vb;
        rigid->states[row->b].spin = pair->wb;
    }
}
static inline void apply_normal(Pair *pair, const ContactRow *row, const PointRow *r, f32 impulse)
{
    pair->va = vec3_add_scaled(pair->va, -impulse * pair->ma, row->normal);
    pair->wa = vec3_add_scaled(pair->wa, -impulse, r->turn_a);
    pair->vb = vec3_add_scaled(pair->vb, impulse * pair->mb, row->normal);
    pair->wb = vec3_add_scaled(pair->wb, impulse, r->turn_b);
}
static inline void apply_at(Pair *pair, const Rigid *rigid, const ContactRow *row, Vec3 impulse)
{
    pair->va = vec3_add_scaled(pair->va, -pair->ma, impulse);
    pair->wa = vec3_sub(pair->wa,
                        symmetric_mul(&rigid->inertias[row->a], vec3_cross(row->arm_a, impulse)));
    pair->vb = vec3_add_scaled(pair->vb, pair->mb, impulse);
    pair->wb = vec3_add(pair->wb,
                        symmetric_mul(&rigid->inertias[row->b], vec3_cross(row->arm_b, impulse)));
}
static inline void apply_moment(Pair *pair, const Rigid *rigid, const ContactRow *row, Vec3 moment)
{
    pair->wa = vec3_sub(pair->wa, symmetric_mul(&rigid->inertias[row->a], moment));
    pair->wb = vec3_add(pair->wb, symmetric_mul(&rigid->inertias[row->b], moment));
}
static inline f32 normal_speed(const Pair *pair, const ContactRow *row, const PointRow *r)
{
    return vec3_dot(row->normal, vec3_sub(pair->vb, pair->va)) + vec3_dot(r->angular_b, pair->wb) -
           vec3_dot(r->angular_a, pair->wa);
}

void contact_warm_start(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->row_count; i++) {
        ContactRow *row = &rigid->rows[i];
        Pair pair = pair_read(rigid, row);
        for (u32 p = 0; p < row->count; p++) {
            apply_normal(&pair, row, &row->points[p], row->points[p].impulse);
        }
        Vec3 friction = vec3_scale(row->tangent1, row->friction_impulse[0]);
        friction = vec3_add_scaled(friction, row->friction_impulse[1], row->tangent2);
        apply_at(&pair, rigid, row, friction);
        apply_moment(&pair, rigid, row,
                     vec3_add_scaled(row->rolling_impulse, row->twist_impulse, row->normal));
        pair_write(rigid, row, &pair);
    }
}

static void solve_friction(const Rigid *rigid, ContactRow *row, Pair *pair)
{
    f32 normal = 0.0f, lever = 0.0f;
    for (u32 p = 0; p < row->count; p++) {
        normal += row->points[p].impulse;
        lever += row->points[p].impulse * row->points[p].lever;
    }
    Vec3 spin = vec3_sub(pair->wb, pair->wa);
    if (row->rolling > 0.0f) {
        Vec3 old = row->rolling_impulse;
        Vec3 sum = vec3_sub(old, symmetric_mul(&row->rolling_mass, spin));
        f32 length = vec3_length(sum), limit = row->rolling * normal;
        row->rolling_impulse = length > limit ? vec3_scale(sum, limit / length) : sum;
        apply_moment(pair, rigid, row, vec3_sub(row->rolling_impulse, old));
        spin = vec3_sub(pair->wb, pair->wa);
    }
    if (row->count > 1) {
        f32 old = row->twist_impulse, limit = row->friction * lever;
        f32 sum = old - row->twist_mass * vec3_dot(spin, row->normal);
        row->twist_impulse = f32_clamp(sum, -limit, limit);
        apply_moment(pair, rigid, row, vec3_scale(row->normal, row->twist_impulse - old));
    }
    Vec3 slip = vec3_sub(vec3_add(pair->vb, vec3_cross(pair->wb, row->arm_b)),
                         vec3_add(pair->va, vec3_cross(pair->wa, row->arm_a)));
    f32 s1 = vec3_dot(slip, row->tangent1), s2 = vec3_dot(slip, row->tangent2);
    const f32 *m = row->friction_mass;
    f32 x = row->friction_impulse[0] - (m[0] * s1 + m[2] * s2);
    f32 y = row->friction_impulse[1] - (m[2] * s1 + m[1] * s2);
    f32 length = sqrtf(x * x + y * y), limit = row->friction * normal;
    if (length > limit) {
        x *= limit / length;
        y *= limit / length;
    }
    Vec3 change = vec3_scale(row->tangent1, x - row->friction_impulse[0]);
    change = vec3_add_scaled(change, y - row->friction_impulse[1], row->tangent2);
    row->friction_impulse[0] = x;
    row->friction_impulse[1] = y;
    apply_at(pair, rigid, row, change);
}

void contact_solve(Rigid *rigid, bool use_bias)
{
    f32 inverse_h = (f32)rigid->substeps / rigid->def.tick_s;
    for (u32 i = 0; i < rigid->row_count; i++) {
        ContactRow *row = &rigid->rows[i];
        const BodyState *a = &rigid->states[row->a], *b = &rigid->states[row->b];
        Pair pair = pair_read(rigid, row);
        f32 drift = vec3_dot(row->normal, vec3_sub(b->shift, a->shift));
        /* Friction first: not passing through each other matters more, so it has the last word. */
        solve_friction(rigid, row, &pair);
        for (u32 p = 0; p < row->count; p++) {
            PointRow *r = &row->points[p];
            f32 s = r->separation + drift + vec3_dot(r->angular_b, b->turn) -
                    vec3_dot(r->angular_a, a->turn);
            f32 bias = 0.0f, mass_scale = 1.0f, impulse_scale = 0.0f;
            if (s > 0.0f) {
                bias = s * inverse_h;
            } else if (use_bias) {
                bias = f32_max(row->bias_rate * s, -RIGID_PUSH_M_S);
                mass_scale = row->mass_scale;
                impulse_scale = row->impulse_scale;
            }
            f32 speed = normal_speed(&pair, row, r);
            if (use_bias && r->impulse_max == 0.0f) {
                r->approach = speed;
            }
            f32 change = -r->mass * mass_scale * (speed + bias) - impulse_scale * r->impulse;
            f32 sum = f32_max(r->impulse + change, 0.0f);
            change = sum - r->impulse;
            r->impulse = sum;
            r->impulse_max = f32_max(r->impulse_max, sum);
            apply_normal(&pair, row, r, change);
        }
        pair_write(rigid, row, &pair);
    }
}

void contact_restitution(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->row_count; i++) {
        ContactRow *row = &rigid->rows[i];
        if (row->restitution == 0.0f) {
            continue;
        }
        Pair pair = pair_read(rigid, row);
        for (u32 p = 0; p < row->count; p++) {
            PointRow *r = &row->points[p];
            if (r->approach > -RIGID_BOUNCE_M_S || r->impulse_max == 0.0f) {
                continue;
            }
            f32 speed = normal_speed(&pair, row, r);
            f32 change = -r->mass * (speed + row->restitution * r->approach);
            f32 sum = f32_max(r->impulse + change, 0.0f);
            change = sum - r->impulse;
            r->impulse = sum;
            r->impulse_max = f32_max(r->impulse_max, sum);
            apply_normal(&pair, row, r, change);
        }
        pair_write(rigid, row, &pair);
    }
}

/* Keeps the strongest in a full list. */
static void impact_add(Rigid *rigid, const RigidImpact *impact)
{
    if (rigid->impact_count < RIGID_IMPACTS_MAX) {
        rigid->impacts[rigid->impact_count++] = *impact;
        return;
    }
    u32 weakest = 0;
    for (u32 i = 1; i < RIGID_IMPACTS_MAX; i++) {
        weakest = rigid->impacts[i].impulse < rigid->impacts[weakest].impulse ? i : weakest;
    }
    if (impact->impulse > rigid->impacts[weakest].impulse) {
        for (u32 i = weakest; i + 1 < RIGID_IMPACTS_MAX; i++) {
            rigid->impacts[i] = rigid->impacts[i + 1];
        }
        rigid->impacts[RIGID_IMPACTS_MAX - 1] = *impact;
    }
}

void contact_store(Rigid *rigid)
{
    rigid->impact_count = 0;
    for (u32 i = 0; i < rigid->row_count; i++) {
        const ContactRow *row = &rigid->rows[i];
        Contact *c = &rigid->contacts[row->contact];
        RigidImpact impact = {row->a, row->b, c->manifold.points[0].position, 0.0f, 0.0f};
        for (u32 p = 0; p < row->count; p++) {
            c->manifold.points[p].impulse = row->points[p].impulse;
            impact.impulse += row->points[p].impulse_max;
            if (row->points[p].impulse_max > 0.0f && -row->points[p].approach > impact.speed) {
                impact.speed = -row->points[p].approach;
                impact.position = c->manifold.points[p].position;
            }
        }
        c->friction_impulse = vec3_scale(row->tangent1, row->friction_impulse[0]);
        c->friction_impulse =
            vec3_add_scaled(c->friction_impulse, row->friction_impulse[1], row->tangent2);
        c->twist_impulse = row->twist_impulse;
        c->rolling_impulse = row->rolling_impulse;
        if ((c->flags & CONTACT_BEGAN) && impact.speed > RIGID_BOUNCE_M_S) {
            impact_add(rigid, &impact);
        }
    }
}
