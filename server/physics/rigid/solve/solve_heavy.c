/*
 * solve_heavy.c: solves all contacts of a cluster at once. A row (a point along the normal,
 * friction along two tangents, twist) responds to the velocity s to be removed with the impulse −w
 * s; so the change Δ of all velocities is the solution of (M + Σ Jᵀ w J) Δ = −Σ Jᵀ w s, six
 * equations per body, solved by block LDLᵀ in f64: masses differ by thousands, and stiffness by far
 * more. Points that would pull are released, friction beyond its cone slides, and the rest is
 * solved again, a few times; if that does not converge, the last change is shortened to stay within
 * all limits and to reduce the residual, then rows are swept, which never adds energy. The sweeps
 * over all contacts handle the remainder.
 */
#include "server/physics/rigid/body_wide.h"
#include "server/physics/rigid/solve/heavy.h"

enum {
    ROUNDS = 6, /* of releasing points */
    HALVINGS = 6,
    SWEEPS = 16, /* if that does not converge */
    NORMAL_BITS = (1 << HEAVY_NORMALS) - 1,
    SOFT_SHIFT = 16 /* of the bits of soft points */
};

/* Regularization relative to the response of a row, for redundant rows. */
static const f64 regular = 0x1p-20;

static inline f64 larger(f64 a, f64 b)
{
    return a > b ? a : b;
}

/* ---- once a tick ---- */

static f64 lane_of(const f32x8 *v, u32 lane)
{
    return (f64)lane_read(v, lane);
}

static void lane_vector(const Vec3x8 *v, u32 lane, f64 out[3])
{
    out[0] = lane_of(&v->x, lane);
    out[1] = lane_of(&v->y, lane);
    out[2] = lane_of(&v->z, lane);
}

static void cross(const f64 a[3], const f64 b[3], f64 out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* xx yy zz xy xz yz */
static void symmetric_times(const f64 m[6], const f64 v[3], f64 out[3])
{
    out[0] = m[0] * v[0] + m[3] * v[1] + m[4] * v[2];
    out[1] = m[3] * v[0] + m[1] * v[1] + m[5] * v[2];
    out[2] = m[4] * v[0] + m[5] * v[1] + m[2] * v[2];
}

void heavy_begin_body(const Rigid *rigid, HeavyBody *body)
{
    const Symmetric3 *w = &rigid->inertias[body->slot];
    const f64 i[6] = {(f64)w->xx, (f64)w->yy, (f64)w->zz, (f64)w->xy, (f64)w->xz, (f64)w->yz};
    f64 c0 = i[1] * i[2] - i[5] * i[5], c1 = i[4] * i[5] - i[3] * i[2];
    f64 c2 = i[3] * i[5] - i[4] * i[1];
    f64 s = 1.0 / (i[0] * c0 + i[3] * c1 + i[4] * c2);
    memcpy(body->inverse_inertia, i, sizeof(i));
    body->inverse_mass = (f64)rigid->states[body->slot].inverse_mass;
    body->mass = 1.0 / body->inverse_mass;
    body->inertia[0] = c0 * s;
    body->inertia[3] = c1 * s;
    body->inertia[4] = c2 * s;
    body->inertia[1] = (i[0] * i[2] - i[4] * i[4]) * s;
    body->inertia[5] = (i[3] * i[4] - i[0] * i[5]) * s;
    body->inertia[2] = (i[0] * i[1] - i[3] * i[3]) * s;
}

/* A row for the velocity along a direction (0: none) with moments about the centres of a and b. */
static void begin_row(HeavyContact *contact, const HeavyBody *bodies, u32 r, const f64 direction[3],
                      const f64 moment_a[3], const f64 moment_b[3])
{
    f64 response = 0.0;
    for (u32 side = 0; side < 2; side++) {
        f64 *speeds = contact->speeds[r][side], rotated[3], sign = side == 0 ? -1.0 : 1.0;
        const f64 *moment = side == 0 ? moment_a : moment_b;
        for (u32 k = 0; k < 3; k++) {
            speeds[k] = sign * direction[k];
            speeds[3 + k] = sign * moment[k];
        }
        if (contact->sides[side] != HEAVY_FIXED) {
            const HeavyBody *body = &bodies[contact->sides[side]];
            symmetric_times(body->inverse_inertia, moment, rotated);
            for (u32 k = 0; k < 3; k++) {
                response +=
                    body->inverse_mass * direction[k] * direction[k] + moment[k] * rotated[k];
            }
        }
    }
    contact->response[r] = response;
}

void heavy_begin_contact(const Rigid *rigid, const HeavyBody *bodies, HeavyContact *contact)
{
    const f64 none[3] = {0.0, 0.0, 0.0};
    const ContactWide *row = &rigid->rows[contact->row];
    const PointWide *points = &rigid->points[row->first];
    u32 lane = contact->lane;
    f64 normal[3], t[3], arms[2][3], moments[2][3];
    lane_vector(&row->normal, lane, normal);
    contact->points = 0;
    while (contact->points < row->points && points[contact->points].mass[lane] > 0.0f) {
        const PointWide *point = &points[contact->points];
        lane_vector(&point->angular_a, lane, moments[0]);
        lane_vector(&point->angular_b, lane, moments[1]);
        begin_row(contact, bodies, contact->points++, normal, moments[0], moments[1]);
    }
    lane_vector(&row->arm_a, lane, arms[0]);
    lane_vector(&row->arm_b, lane, arms[1]);
    lane_vector(&row->tangent, lane, t);
    for (u32 k = 0; k < 2; k++) {
        cross(arms[0], t, moments[0]);
        cross(arms[1], t, moments[1]);
        begin_row(contact, bodies, HEAVY_SLIP + k, t, moments[0], moments[1]);
        f64 t1[3] = {t[0], t[1], t[2]};
        cross(normal, t1, t);
    }
    begin_row(contact, bodies, HEAVY_TWIST, none, normal, normal);
}

void heavy_begin(Rigid *rigid, HeavyCluster *cluster)
{
    HeavyBody *bodies = &rigid->heavy->bodies[cluster->body];
    for (u32 i = 0; i < cluster->bodies; i++) {
        heavy_begin_body(rigid, &bodies[i]);
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        heavy_begin_contact(rigid, bodies, &rigid->heavy->contacts[cluster->contact + i]);
    }
    cluster->factored[HEAVY_PUSH] = cluster->factored[HEAVY_RELAX] = false;
}

/* ---- requests of a pass ---- */

/* For velocities, for shifts and rotations since the tick began, or similar. */
static f64 row_speed(const f64 speeds[2][HEAVY_AXES], Vec3 a, Vec3 rotation_a, Vec3 b,
                     Vec3 rotation_b)
{
    const Vec3 halves[2][2] = {{a, rotation_a}, {b, rotation_b}};
    f64 sum = 0.0;
    for (u32 side = 0; side < 2; side++) {
        for (u32 half = 0; half < 2; half++) {
            const f64 *s = &speeds[side][3 * half];
            const Vec3 *v = &halves[side][half];
            sum += s[0] * (f64)v->x + s[1] * (f64)v->y + s[2] * (f64)v->z;
        }
    }
    return sum;
}

/* Like bias_of and solve_normals of the sweeps. */
static void ask_point(const Rigid *rigid, HeavyContact *contact, u32 p, HeavyPass pass)
{
    const ContactWide *row = &rigid->rows[contact->row];
    PointWide *point = &rigid->points[row->first + p];
    u32 lane = contact->lane;
    const BodyState *a = &rigid->states[row->a[lane]], *b = &rigid->states[row->b[lane]];
    f64 speed = row_speed(contact->speeds[p], a->velocity, a->angular_velocity, b->velocity,
                          b->angular_velocity);
    f64 separation = lane_of(&point->separation, lane) +
                     row_speed(contact->speeds[p], a->shift, a->rotation, b->shift, b->rotation);
    f64 inverse_h = (f64)((f32)rigid->substeps / rigid->def.tick_s), soft = 0.0, bias = 0.0;
    if (separation > 0.0) {
        bias = separation * inverse_h;
    } else if (pass == HEAVY_PUSH) {
        f64 push = larger(lane_of(&row->bias_rate, lane) * separation, -(f64)RIGID_PUSH_M_S);
        bias = speed < (f64)RIGID_BOUNCE_M_S ? push : 0.0;
        soft = lane_of(&row->impulse_scale, lane) / lane_of(&row->mass_scale, lane);
    }
    f64 response = contact->response[p];
    contact->before[p] = lane_of(&point->impulse, lane);
    contact->asked[p] = speed + bias;
    contact->target[p] = speed + bias + soft * response * contact->before[p];
    contact->weight[p] = 1.0 / (response * (soft + regular));
    bool solved = contact->before[p] > 0.0 || contact->target[p] < 0.0;
    contact->solved |= solved ? 1u << p : 0u;
    contact->solved |= soft > 0.0 ? 1u << (SOFT_SHIFT + p) : 0u;
    if (pass == HEAVY_PUSH && lane_read(&point->impulse_max, lane) <= 0.0f) {
        lane_set(&point->approach, lane, (f32)speed);
    }
}

static void ask_row(const Rigid *rigid, HeavyContact *contact, u32 r, f32 before, f32 drive)
{
    const ContactWide *row = &rigid->rows[contact->row];
    const BodyState *a = &rigid->states[row->a[contact->lane]];
    const BodyState *b = &rigid->states[row->b[contact->lane]];
    f64 speed = row_speed(contact->speeds[r], a->velocity, a->angular_velocity, b->velocity,
                          b->angular_velocity);
    contact->before[r] = (f64)before;
    contact->asked[r] = contact->target[r] = speed + (f64)drive;
    contact->weight[r] = 1.0 / (contact->response[r] * regular);
    contact->solved |= 1u << r;
}

void heavy_ask(const Rigid *rigid, HeavyContact *contact, HeavyPass pass)
{
    const ContactWide *row = &rigid->rows[contact->row];
    u32 lane = contact->lane;
    contact->solved = 0;
    for (u32 p = 0; p < contact->points; p++) {
        ask_point(rigid, contact, p, pass);
    }
    memset(contact->change, 0, sizeof(contact->change));
    memset(&contact->before[HEAVY_SLIP], 0, 3 * sizeof(contact->before[0]));
    if (!(row->friction[lane] > 0.0f)) {
        return;
    }
    for (u32 k = 0; k < 2; k++) {
        f32 drive = 0.0f;
        if (row->extra != ROW_NO_EXTRA) {
            const ExtraWide *extra = &rigid->extras[row->extra];
            drive = k == 0 ? extra->drive.x[lane] : extra->drive.y[lane];
        }
        ask_row(rigid, contact, HEAVY_SLIP + k, lane_read(&row->friction_impulse[k], lane), drive);
    }
    if (contact->points > 1) {
        ask_row(rigid, contact, HEAVY_TWIST, lane_read(&row->twist_impulse, lane), 0.0f);
    }
}

/* ---- the factor ---- */

static HeavyBlock *blocks_of(const HeavyStore *store, const HeavyCluster *cluster, HeavyPass pass,
                             const HeavyBody *body)
{
    return &store->blocks[pass][cluster->block + body->block];
}

static void add_row(HeavyBlock *block, const f64 *columns, const f64 *rows, f64 weight)
{
    for (u32 c = 0; c < HEAVY_AXES; c++) {
        f64 factor = weight * columns[c];
        for (u32 r = 0; r < HEAVY_AXES; r++) {
            (*block)[c][r] += factor * rows[r];
        }
    }
}

static void assemble_contact(const HeavyStore *store, const HeavyCluster *cluster, HeavyPass pass,
                             const HeavyContact *contact)
{
    const HeavyBody *bodies = &store->bodies[cluster->body];
    const u32 *sides = contact->sides;
    u32 low = 0, high = 1; /* of the sides, in elimination order */
    if (sides[0] != HEAVY_FIXED && sides[1] != HEAVY_FIXED && sides[0] > sides[1]) {
        low = 1;
        high = 0;
    }
    for (u32 r = 0; r < HEAVY_ROWS; r++) {
        if (!(contact->solved >> r & 1u)) {
            continue;
        }
        f64 weight = contact->weight[r];
        for (u32 side = 0; side < 2; side++) {
            if (sides[side] != HEAVY_FIXED) {
                const HeavyBody *body = &bodies[sides[side]];
                HeavyBlock *row = blocks_of(store, cluster, pass, body);
                add_row(&row[sides[side] - body->first], contact->speeds[r][side],
                        contact->speeds[r][side], weight);
            }
        }
        if (sides[0] != HEAVY_FIXED && sides[1] != HEAVY_FIXED) {
            const HeavyBody *body = &bodies[sides[high]];
            HeavyBlock *row = blocks_of(store, cluster, pass, body);
            add_row(&row[sides[low] - body->first], contact->speeds[r][low],
                    contact->speeds[r][high], weight);
        }
    }
}

static void assemble(const HeavyStore *store, const HeavyCluster *cluster, HeavyPass pass)
{
    const HeavyBody *bodies = &store->bodies[cluster->body];
    memset(&store->blocks[pass][cluster->block], 0, cluster->blocks * sizeof(HeavyBlock));
    for (u32 i = 0; i < cluster->bodies; i++) {
        const HeavyBody *body = &bodies[i];
        HeavyBlock *m = blocks_of(store, cluster, pass, body) + (i - body->first);
        const f64 *w = body->inertia;
        const f64 inertia[3][3] = {{w[0], w[3], w[4]}, {w[3], w[1], w[5]}, {w[4], w[5], w[2]}};
        for (u32 k = 0; k < 3; k++) {
            (*m)[k][k] = body->mass;
            memcpy(&(*m)[3 + k][3], inertia[k], sizeof(inertia[k]));
        }
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        assemble_contact(store, cluster, pass, &store->contacts[cluster->contact + i]);
    }
}

/* Subtracts the column's contribution for another row from six rows. */
static inline void take_column(f64 *out, const f64 *column, f64 factor)
{
    for (u32 r = 0; r < HEAVY_AXES; r++) {
        out[r] -= factor * column[r];
    }
}

/* LDLᵀ of a diagonal block: L below the diagonal, the inverses of D on it. */
static void factor_diagonal(HeavyBlock *block)
{
    for (u32 c = 0; c < HEAVY_AXES; c++) {
        f64 *column = (*block)[c], inverse = 1.0 / column[c];
        for (u32 k = c + 1; k < HEAVY_AXES; k++) {
            f64 factor = column[k] * inverse;
            for (u32 r = k; r < HEAVY_AXES; r++) {
                (*block)[k][r] -= factor * column[r];
            }
        }
        for (u32 r = c + 1; r < HEAVY_AXES; r++) {
            column[r] *= inverse;
        }
        column[c] = inverse;
    }
}

/* A row of blocks: columns hold L D until the row is done, then L. */
static void factor_row(const HeavyStore *store, const HeavyCluster *cluster, HeavyPass pass, u32 i)
{
    const HeavyBody *bodies = &store->bodies[cluster->body], *body = &bodies[i];
    HeavyBlock *row = blocks_of(store, cluster, pass, body);
    HeavyBlock *diagonal = &row[i - body->first];
    for (u32 j = body->first; j < i; j++) {
        HeavyBlock *target = &row[j - body->first];
        const HeavyBlock *other = blocks_of(store, cluster, pass, &bodies[j]);
        for (u32 k = u32_max(body->first, bodies[j].first); k < j; k++) {
            for (u32 q = 0; q < HEAVY_AXES; q++) {
                for (u32 c = 0; c < HEAVY_AXES; c++) {
                    take_column((*target)[c], row[k - body->first][q],
                                other[k - bodies[j].first][q][c]);
                }
            }
        }
        const HeavyBlock *own = &other[j - bodies[j].first];
        for (u32 c = 0; c < HEAVY_AXES; c++) {
            for (u32 q = 0; q < c; q++) {
                take_column((*target)[c], (*target)[q], (*own)[q][c]);
            }
        }
    }
    for (u32 j = body->first; j < i; j++) {
        HeavyBlock *target = &row[j - body->first];
        const HeavyBlock *own = blocks_of(store, cluster, pass, &bodies[j]) + (j - bodies[j].first);
        for (u32 q = 0; q < HEAVY_AXES; q++) {
            f64 *column = (*target)[q], l[HEAVY_AXES];
            for (u32 r = 0; r < HEAVY_AXES; r++) {
                l[r] = column[r] * (*own)[q][q];
            }
            for (u32 c = 0; c < HEAVY_AXES; c++) {
                take_column((*diagonal)[c], column, l[c]);
            }
            memcpy(column, l, sizeof(l));
        }
    }
    factor_diagonal(diagonal);
}

static void factor(const HeavyStore *store, HeavyCluster *cluster, HeavyPass pass)
{
    bool same = cluster->factored[pass];
    for (u32 i = 0; i < cluster->contacts; i++) {
        HeavyContact *contact = &store->contacts[cluster->contact + i];
        same = same && contact->factored[pass] == contact->solved;
        contact->factored[pass] = contact->solved;
    }
    if (same) {
        return;
    }
    cluster->factored[pass] = true;
    assemble(store, cluster, pass);
    for (u32 i = 0; i < cluster->bodies; i++) {
        factor_row(store, cluster, pass, i);
    }
}

/* Forward and back substitution of `change` of the bodies. */
static void substitute(const HeavyStore *store, const HeavyCluster *cluster, HeavyPass pass)
{
    HeavyBody *bodies = &store->bodies[cluster->body];
    for (u32 i = 0; i < cluster->bodies; i++) {
        HeavyBody *body = &bodies[i];
        const HeavyBlock *row = blocks_of(store, cluster, pass, body);
        for (u32 j = body->first; j < i; j++) {
            for (u32 c = 0; c < HEAVY_AXES; c++) {
                take_column(body->change, row[j - body->first][c], bodies[j].change[c]);
            }
        }
        const HeavyBlock *own = &row[i - body->first];
        for (u32 c = 0; c < HEAVY_AXES; c++) {
            for (u32 r = c + 1; r < HEAVY_AXES; r++) {
                body->change[r] -= (*own)[c][r] * body->change[c];
            }
        }
    }
    for (u32 i = 0; i < cluster->bodies; i++) {
        HeavyBody *body = &bodies[i];
        const HeavyBlock *own = blocks_of(store, cluster, pass, body) + (i - body->first);
        for (u32 c = 0; c < HEAVY_AXES; c++) {
            body->change[c] *= (*own)[c][c];
        }
    }
    for (u32 n = 0; n < cluster->bodies; n++) {
        u32 i = cluster->bodies - 1 - n;
        HeavyBody *body = &bodies[i];
        const HeavyBlock *row = blocks_of(store, cluster, pass, body);
        const HeavyBlock *own = &row[i - body->first];
        for (u32 c = HEAVY_AXES - 1; c < HEAVY_AXES; c--) {
            for (u32 r = c + 1; r < HEAVY_AXES; r++) {
                body->change[c] -= (*own)[c][r] * body->change[r];
            }
        }
        for (u32 j = body->first; j < i; j++) {
            for (u32 c = 0; c < HEAVY_AXES; c++) {
                for (u32 r = 0; r < HEAVY_AXES; r++) {
                    bodies[j].change[c] -= row[j - body->first][c][r] * body->change[r];
                }
            }
        }
    }
}

/* ---- letting go ---- */

/* Velocity of a row for the changes of its bodies. */
f64 heavy_speed(const HeavyBody *bodies, const HeavyContact *contact, u32 r)
{
    f64 sum = 0.0;
    for (u32 side = 0; side < 2; side++) {
        if (contact->sides[side] != HEAVY_FIXED) {
            const f64 *change = bodies[contact->sides[side]].change;
            for (u32 k = 0; k < HEAVY_AXES; k++) {
                sum += contact->speeds[r][side][k] * change[k];
            }
        }
    }
    return sum;
}

/* Adds an impulse along a row to the bodies' right-hand sides. */
static void push_row(HeavyBody *bodies, const HeavyContact *contact, u32 r, f64 impulse)
{
    for (u32 side = 0; side < 2; side++) {
        if (contact->sides[side] != HEAVY_FIXED) {
            f64 *change = bodies[contact->sides[side]].change;
            for (u32 k = 0; k < HEAVY_AXES; k++) {
                change[k] += contact->speeds[r][side][k] * impulse;
            }
        }
    }
}

/* Rows that are not part of the solve already have their change. */
static void solve_once(const HeavyStore *store, HeavyCluster *cluster, HeavyPass pass)
{
    HeavyBody *bodies = &store->bodies[cluster->body];
    HeavyContact *contacts = &store->contacts[cluster->contact];
    factor(store, cluster, pass);
    for (u32 i = 0; i < cluster->bodies; i++) {
        memset(bodies[i].change, 0, sizeof(bodies[i].change));
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            bool solved = contacts[i].solved >> r & 1u;
            f64 impulse =
                solved ? -contacts[i].weight[r] * contacts[i].target[r] : contacts[i].change[r];
            push_row(bodies, &contacts[i], r, impulse);
        }
    }
    substitute(store, cluster, pass);
    for (u32 i = 0; i < cluster->contacts; i++) {
        HeavyContact *contact = &contacts[i];
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            if (contact->solved >> r & 1u) {
                f64 speed = contact->target[r] + heavy_speed(bodies, contact, r);
                contact->change[r] = -contact->weight[r] * speed;
            }
        }
    }
}

/* Releases points that pull, and re-activates those that would penetrate. */
static bool normals_fit(const HeavyBody *bodies, HeavyContact *contact, f64 *sum, f64 *lever,
                        const PointWide *points)
{
    const f64 slack = 1e-6, least_m_s = 1e-6;
    f64 held = 0.0;
    bool fits = true;
    for (u32 p = 0; p < contact->points; p++) {
        held += fabs(contact->before[p] + contact->change[p]);
    }
    *sum = *lever = 0.0;
    for (u32 p = 0; p < contact->points; p++) {
        bool solved = contact->solved >> p & 1u;
        f64 impulse = contact->before[p] + contact->change[p];
        if (solved && impulse < -slack * held) {
            contact->solved &= ~(1u << p);
            contact->change[p] = -contact->before[p];
            fits = false;
        } else if (!solved && contact->asked[p] + heavy_speed(bodies, contact, p) < -least_m_s) {
            contact->solved |= 1u << p;
            fits = false;
        }
        impulse = larger(impulse, 0.0);
        *sum += impulse;
        *lever += impulse * lane_of(&points[p].lever, contact->lane);
    }
    return fits;
}

/* Friction of `count` rows beyond the limit slides: it equals the limit. */
static bool friction_fits(HeavyContact *contact, u32 first, u32 count, f64 limit)
{
    const f64 slack = 1e-3;
    f64 square = 0.0;
    for (u32 r = first; r < first + count; r++) {
        f64 impulse = contact->before[r] + contact->change[r];
        square += impulse * impulse;
    }
    f64 length = sqrt(square);
    bool solved = contact->solved >> first & 1u;
    if (length <= limit * (1.0 + slack) && (solved || length >= limit * (1.0 - slack))) {
        return true;
    }
    f64 scale = length > 0.0 ? limit / length : 0.0;
    for (u32 r = first; r < first + count; r++) {
        contact->solved &= ~(1u << r);
        contact->change[r] = scale * (contact->before[r] + contact->change[r]) - contact->before[r];
    }
    return false;
}

static bool contact_fits(const Rigid *rigid, const HeavyBody *bodies, HeavyContact *contact)
{
    const ContactWide *row = &rigid->rows[contact->row];
    f64 friction = lane_of(&row->friction, contact->lane), sum, lever;
    bool fits = normals_fit(bodies, contact, &sum, &lever, &rigid->points[row->first]);
    if (friction > 0.0) {
        fits = friction_fits(contact, HEAVY_SLIP, 2, friction * sum) && fits;
    }
    if (friction > 0.0 && contact->points > 1) {
        fits = friction_fits(contact, HEAVY_TWIST, 1, friction * lever) && fits;
    }
    return fits;
}

/* ---- passes ---- */

/* Stores impulses for warm starting; the change accounts for rounding. */
static void store_contact(Rigid *rigid, HeavyContact *contact)
{
    ContactWide *row = &rigid->rows[contact->row];
    u32 lane = contact->lane;
    for (u32 r = 0; r < HEAVY_ROWS; r++) {
        bool there = r < contact->points || (r >= HEAVY_SLIP && row->friction[lane] > 0.0f);
        if (!there || (r == HEAVY_TWIST && contact->points < 2)) {
            contact->change[r] = 0.0;
            continue;
        }
        f64 impulse = contact->before[r] + contact->change[r];
        impulse = (f64)(f32)(r < HEAVY_SLIP ? larger(impulse, 0.0) : impulse);
        contact->change[r] = impulse - contact->before[r];
        if (r == HEAVY_TWIST) {
            lane_set(&row->twist_impulse, lane, (f32)impulse);
        } else if (r >= HEAVY_SLIP) {
            lane_set(&row->friction_impulse[r - HEAVY_SLIP], lane, (f32)impulse);
        } else {
            PointWide *point = &rigid->points[row->first + r];
            lane_set(&point->impulse, lane, (f32)impulse);
            lane_set(&point->impulse_max, lane,
                     (f32)larger(impulse, lane_of(&point->impulse_max, lane)));
        }
    }
}

/* Velocities follow from the impulses: equal and opposite for the two bodies. */
static void store_bodies(Rigid *rigid, HeavyBody *bodies, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        const HeavyBody *body = &bodies[i];
        BodyState *state = &rigid->states[body->slot];
        const f64 *p = body->change;
        f64 w[3];
        symmetric_times(body->inverse_inertia, &p[3], w);
        state->velocity.x = (f32)((f64)state->velocity.x + body->inverse_mass * p[0]);
        state->velocity.y = (f32)((f64)state->velocity.y + body->inverse_mass * p[1]);
        state->velocity.z = (f32)((f64)state->velocity.z + body->inverse_mass * p[2]);
        state->angular_velocity.x = (f32)((f64)state->angular_velocity.x + w[0]);
        state->angular_velocity.y = (f32)((f64)state->angular_velocity.y + w[1]);
        state->angular_velocity.z = (f32)((f64)state->angular_velocity.z + w[2]);
    }
}

void heavy_store(Rigid *rigid, HeavyBody *bodies, u32 body_count, HeavyContact *contacts,
                 u32 contact_count)
{
    for (u32 i = 0; i < body_count; i++) {
        memset(bodies[i].change, 0, sizeof(bodies[i].change));
    }
    for (u32 i = 0; i < contact_count; i++) {
        store_contact(rigid, &contacts[i]);
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            push_row(bodies, &contacts[i], r, contacts[i].change[r]);
        }
    }
    store_bodies(rigid, bodies, body_count);
}

/* Whether this fraction of the change is within all limits. */
static bool share_fits(const Rigid *rigid, const HeavyCluster *cluster, f64 share)
{
    const f64 slack = 1e-3;
    for (u32 i = 0; i < cluster->contacts; i++) {
        const HeavyContact *contact = &rigid->heavy->contacts[cluster->contact + i];
        const ContactWide *row = &rigid->rows[contact->row];
        const PointWide *points = &rigid->points[row->first];
        f64 sum = 0.0, lever = 0.0, impulses[HEAVY_ROWS];
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            impulses[r] = contact->before[r] + share * contact->change[r];
        }
        for (u32 p = 0; p < contact->points; p++) {
            sum += impulses[p];
            lever += impulses[p] * lane_of(&points[p].lever, contact->lane);
        }
        f64 friction = lane_of(&row->friction, contact->lane) * (1.0 + slack);
        for (u32 p = 0; p < contact->points; p++) {
            if (impulses[p] < -slack * fabs(sum)) {
                return false;
            }
        }
        f64 x = impulses[HEAVY_SLIP], y = impulses[HEAVY_SLIP + 1];
        if (friction > 0.0 && (x * x + y * y > friction * sum * friction * sum ||
                               fabs(impulses[HEAVY_TWIST]) > friction * lever)) {
            return false;
        }
    }
    return true;
}

/* Applies an impulse along a row to the bodies' velocity changes. */
static void move_row(const HeavySweep *s, const HeavyContact *contact, u32 r, f64 impulse)
{
    for (u32 side = 0; side < 2; side++) {
        heavy_move_side(s->bodies, contact, r, side, impulse);
    }
}

void heavy_move_side(HeavyBody *bodies, const HeavyContact *contact, u32 r, u32 side, f64 impulse)
{
    if (contact->sides[side] == HEAVY_FIXED) {
        return;
    }
    HeavyBody *body = &bodies[contact->sides[side]];
    const f64 *speeds = contact->speeds[r][side];
    f64 rotated[3];
    symmetric_times(body->inverse_inertia, &speeds[3], rotated);
    for (u32 k = 0; k < 3; k++) {
        body->change[k] += body->inverse_mass * speeds[k] * impulse;
        body->change[3 + k] += rotated[k] * impulse;
    }
}

bool heavy_has_row(const Rigid *rigid, const HeavyContact *contact, u32 r)
{
    bool rough = rigid->rows[contact->row].friction[contact->lane] > 0.0f;
    return r < HEAVY_SLIP ? r < contact->points : rough && (r < HEAVY_TWIST || contact->points > 1);
}

/* The iteration did not converge: uses part of the last change, or none, within all limits and
 * at most up to the best point along it (the minimum of Σ c (t + J Δ / 2 + c / 2 w), which is 0
 * for no change): beyond it bodies would gain energy. */
static void shorten(const Rigid *rigid, const HeavyCluster *cluster)
{
    HeavyBody *bodies = &rigid->heavy->bodies[cluster->body];
    HeavyContact *contacts = &rigid->heavy->contacts[cluster->contact];
    f64 share = 1.0, slope = 0.0, curvature = 0.0;
    u32 halvings = 0;
    while (!share_fits(rigid, cluster, share)) {
        share = ++halvings < HALVINGS ? 0.5 * share : 0.0;
        if (share <= 0.0) {
            break;
        }
    }
    for (u32 i = 0; i < cluster->bodies; i++) {
        memset(bodies[i].change, 0, sizeof(bodies[i].change));
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            for (u32 side = 0; side < 2; side++) {
                heavy_move_side(bodies, &contacts[i], r, side, contacts[i].change[r]);
            }
        }
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        const HeavyContact *contact = &contacts[i];
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            if (heavy_has_row(rigid, contact, r)) {
                f64 change = contact->change[r];
                slope += change * contact->target[r];
                curvature +=
                    change * (heavy_speed(bodies, contact, r) + change / contact->weight[r]);
            }
        }
    }
    share = slope < 0.0 && -slope < share * curvature ? -slope / curvature : share;
    share = slope < 0.0 ? share : 0.0;
    for (u32 i = 0; i < cluster->bodies; i++) {
        for (u32 k = 0; k < HEAVY_AXES; k++) {
            bodies[i].change[k] *= share;
        }
    }
    for (u32 i = 0; i < cluster->contacts; i++) {
        for (u32 r = 0; r < HEAVY_ROWS; r++) {
            contacts[i].change[r] *= share;
        }
    }
}

/* Changes the impulse by the row's residual, within least and most; returns the impulse. */
static f64 sweep_row(const HeavySweep *s, HeavyContact *contact, u32 r, f64 least, f64 most)
{
    f64 change = contact->change[r], give = 1.0 / contact->weight[r];
    f64 asked = contact->target[r] + heavy_speed(s->bodies, contact, r) + give * change;
    f64 impulse = contact->before[r] + change - asked / (contact->response[r] + give);
    impulse = impulse < least ? least : impulse > most ? most : impulse;
    contact->change[r] = impulse - contact->before[r];
    s->move(s, contact, r, contact->change[r] - change);
    return impulse;
}

void heavy_sweep(const Rigid *rigid, const HeavySweep *s)
{
    for (u32 i = 0; i < SWEEPS * s->count; i++) {
        HeavyContact *contact = &s->contacts[i % s->count];
        const ContactWide *row = &rigid->rows[contact->row];
        const PointWide *points = &rigid->points[row->first];
        f64 sum = 0.0, lever = 0.0;
        for (u32 p = 0; p < contact->points; p++) {
            f64 impulse = sweep_row(s, contact, p, 0.0, INFINITY);
            sum += impulse;
            lever += impulse * lane_of(&points[p].lever, contact->lane);
        }
        f64 friction = lane_of(&row->friction, contact->lane);
        for (u32 k = 0; k < 2 && friction > 0.0; k++) {
            f64 other = contact->before[HEAVY_TWIST - 1 - k] + contact->change[HEAVY_TWIST - 1 - k];
            f64 most = sqrt(larger(friction * sum * friction * sum - other * other, 0.0));
            sweep_row(s, contact, HEAVY_SLIP + k, -most, most);
        }
        if (heavy_has_row(rigid, contact, HEAVY_TWIST)) {
            sweep_row(s, contact, HEAVY_TWIST, -friction * lever, friction * lever);
        }
    }
}

static void solve_cluster(Rigid *rigid, HeavyCluster *cluster, HeavyPass pass)
{
    HeavyStore *store = rigid->heavy;
    HeavyContact *contacts = &store->contacts[cluster->contact];
    HeavyBody *bodies = &store->bodies[cluster->body];
    bool fits = false;
    for (u32 i = 0; i < cluster->contacts; i++) {
        heavy_ask(rigid, &contacts[i], pass);
    }
    for (u32 round = 0; round < ROUNDS && !fits; round++) {
        solve_once(store, cluster, pass);
        fits = round + 1 < ROUNDS;
        for (u32 i = 0; i < cluster->contacts && round + 1 < ROUNDS; i++) {
            fits = contact_fits(rigid, bodies, &contacts[i]) && fits;
        }
    }
    if (!fits) {
        shorten(rigid, cluster);
        /* Sweeps over the residual, row by row. */
        heavy_sweep(rigid, &(HeavySweep){bodies, contacts, cluster->contacts, move_row, NULL});
    }
    heavy_store(rigid, bodies, cluster->bodies, contacts, cluster->contacts);
}

typedef struct PassRun {
    Rigid *rigid;
    HeavyPass pass;
} PassRun;

static void pass_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const PassRun *run = context;
    for (u32 i = first; i < end; i++) {
        solve_cluster(run->rigid, &run->rigid->heavy->clusters[i], run->pass);
    }
}

void heavy_solve(Rigid *rigid, HeavyPass pass)
{
    PassRun run = {rigid, pass};
    jobs_run(rigid->jobs, rigid->heavy->cluster_count, 1, pass_range, &run);
}
