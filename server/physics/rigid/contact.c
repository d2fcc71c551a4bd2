/*
 * contact.c: persistent data and reports of contacts: impulses, impacts, and sensor events.
 */
#include "server/physics/rigid/rigid_internal.h"

/* ---- sensors ---- */

void contact_overlap_event(Rigid *rigid, u32 a, u32 b, bool began)
{
    if (rigid->overlap_count < RIGID_OVERLAPS_MAX) {
        rigid->overlaps[rigid->overlap_count++] = (RigidOverlap){a, b, began};
    }
}

/* A body that left a sensor so fast that they are no longer a pair has also left it. */
void contact_lost(Rigid *rigid, u32 index)
{
    const Contact *c = &rigid->contacts[index];
    bool another = index > 0 && c[-1].a == c->a && c[-1].b == c->b;
    if ((c->flags & CONTACT_SENSOR) && !another) {
        contact_overlap_event(rigid, c->a, c->b, false);
    }
}

void contact_pair_lost(Rigid *rigid, const Pair *pair)
{
    if (!rigid->unlinked && pair->count > 0) {
        contact_lost(rigid, pair->first);
    }
}

/* ---- store ---- */

bool contact_reserve(Rigid *rigid, u32 count)
{
    u32 capacity = rigid->contact_capacity;
    u32 c1 = capacity, c2 = capacity, c3 = capacity, c4 = capacity, c5 = capacity;
    return rigid_reserve(rigid, &rigid->contacts_before, &c1, count, sizeof(Contact)) &&
           rigid_reserve(rigid, &rigid->contact_manifolds, &c2, count, sizeof(u32)) &&
           rigid_reserve(rigid, &rigid->contact_colors, &c3, count, sizeof(u8)) &&
           rigid_reserve(rigid, &rigid->color_order, &c4, count, sizeof(u32)) &&
           rigid_reserve(rigid, &rigid->contact_classes, &c5, count, sizeof(u8)) &&
           rigid_reserve(rigid, &rigid->contacts, &rigid->contact_capacity, count, sizeof(Contact));
}

void contact_remove_body(Rigid *rigid, u32 slot)
{
    u32 kept = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        Contact *c = &rigid->contacts[i];
        if (c->a == slot || c->b == slot) {
            /* Bodies that it supported must fall. */
            body_wake(rigid, c->a == slot ? c->b : c->a);
        } else {
            rigid->contact_manifolds[kept] = rigid->contact_manifolds[i];
            rigid->contacts[kept++] = *c;
        }
    }
    rigid->contact_count = kept;
}

/* ---- after the substeps ---- */

void impact_add(Rigid *rigid, const RigidImpact *impact)
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

bool contact_is_bounded(const Contact *contact)
{
    bool bounded = state_value_is_bounded(contact->twist_impulse) &&
                   state_vector_is_bounded(contact->friction_impulse) &&
                   state_vector_is_bounded(contact->rolling_impulse);
    for (u32 p = 0; p < MANIFOLD_POINTS; p++) {
        bounded = bounded && state_value_is_bounded(contact->impulses[p]);
    }
    return bounded;
}

void contact_store_lane(Rigid *rigid, const ContactWide *row, u32 lane)
{
    Contact *c = &rigid->contacts[row->contact[lane]];
    u32 count = c->flags >> CONTACT_COUNT_SHIFT;
    for (u32 p = 0; p < count; p++) {
        c->impulses[p] = rigid->points[row->first + p].impulse[lane];
    }
    f32 f1 = row->friction_impulse[0][lane], f2 = row->friction_impulse[1][lane];
    Vec3 n = vec3(row->normal.x[lane], row->normal.y[lane], row->normal.z[lane]);
    Vec3 t = vec3(row->tangent.x[lane], row->tangent.y[lane], row->tangent.z[lane]);
    c->friction_impulse = vec3_add_scaled(vec3_scale(t, f1), f2, vec3_cross(n, t));
    c->twist_impulse = row->twist_impulse[lane];
    if (row->extra != ROW_NO_EXTRA) {
        const ExtraWide *extra = &rigid->extras[row->extra];
        c->rolling_impulse = vec3(extra->rolling_impulse.x[lane], extra->rolling_impulse.y[lane],
                                  extra->rolling_impulse.z[lane]);
    }
    if (!contact_is_bounded(c)) {
        /* Non-finite impulses are dropped: they would persist forever. */
        memset(c->impulses, 0, sizeof(c->impulses));
        c->friction_impulse = c->rolling_impulse = vec3_zero();
        c->twist_impulse = 0.0f;
    }
}

static void store_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        const ContactWide *row = &rigid->rows[i];
        u32 began = 0;
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            if (row->contact[lane] != ROW_EMPTY) {
                contact_store_lane(rigid, row, lane);
                began |= rigid->contacts[row->contact[lane]].flags & CONTACT_BEGAN ? 1u << lane : 0;
            }
        }
        rigid->plans[i].began = (u8)began;
    }
}

/* ---- impacts ---- */

/* Impact strength of the contact of a lane that began in this tick. */
static void impact_collect(Rigid *rigid, const ContactWide *row, u32 lane)
{
    u32 index = row->contact[lane];
    const Contact *c = &rigid->contacts[index];
    const Manifold *manifold = &rigid->manifolds[rigid->contact_manifolds[index]];
    RigidImpact impact = {c->a, c->b, manifold->points[0].position, 0.0f, 0.0f};
    for (u32 p = 0; p < manifold->count; p++) {
        const PointWide *point = &rigid->points[row->first + p];
        f32 most = point->impulse_max[lane], speed = -point->approach[lane];
        impact.impulse += most;
        if (most > 0.0f && speed > impact.speed) {
            impact.speed = speed;
            impact.position = manifold->points[p].position;
        }
    }
    if (impact.speed > RIGID_BOUNCE_M_S) {
        impact_add(rigid, &impact);
    }
}

void contact_store(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->row_count, 16, store_range, rigid);
    for (u32 i = 0; i < rigid->row_count; i++) {
        for (u32 lanes = rigid->plans[i].began; lanes != 0; lanes &= lanes - 1) {
            impact_collect(rigid, &rigid->rows[i], (u32)__builtin_ctz(lanes));
        }
    }
}
