/*
 * validate.c: checks the invariants of the rigid world (rigid_internal.h). Called at the end of
 * each tick of debug and sanitizer builds; a failure is a bug of this program, never of a scene or
 * a client.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

static bool is_live(const Rigid *rigid, u32 slot)
{
    return slot < rigid->slots && (rigid->bodies[slot].flags & BODY_LIVE) != 0;
}

static bool is_dynamic(const Rigid *rigid, u32 slot)
{
    return is_live(rigid, slot) && rigid->bodies[slot].motion == BODY_DYNAMIC;
}

static bool is_zero(Vec3 v)
{
    return v.x == 0.0f && v.y == 0.0f && v.z == 0.0f;
}

static u64 name_of(u32 a, u32 b)
{
    return (u64)a << 32 | b;
}

/* ---- bodies ---- */

static void validate_free_slot(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    CHECK_ITEM(slot, body->flags == 0);
    CHECK_ITEM(slot, body->mass == 0.0f && rigid->states[slot].inverse_mass == 0.0f);
    CHECK_ITEM(slot, is_zero(rigid->states[slot].velocity) &&
                         is_zero(rigid->states[slot].angular_velocity));
}

static void validate_motion(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    CHECK_ITEM(slot, state_vector_is_bounded(state->velocity));
    CHECK_ITEM(slot, state_vector_is_bounded(state->angular_velocity));
    CHECK_ITEM(slot, isfinite(state->gravity_scale));
    CHECK_ITEM(slot, state->linear_damping >= 0.0f && state->angular_damping >= 0.0f);
    if (body->motion == BODY_DYNAMIC) {
        CHECK_ITEM(slot, body->mass > 0.0f && state->inverse_mass == 1.0f / body->mass);
    } else {
        CHECK_ITEM(slot, state->inverse_mass == 0.0f);
        CHECK_ITEM(slot, (body->flags & (BODY_ASLEEP | BODY_PGS)) == 0);
    }
    if (body->motion == BODY_STATIC || (body->flags & BODY_ASLEEP)) {
        CHECK_ITEM(slot, is_zero(state->velocity) && is_zero(state->angular_velocity));
    }
}

static void validate_body(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    Vec3 at = body->position;
    f32 length2 = quat_dot(body->orientation, body->orientation);
    CHECK_ITEM(slot, body->motion <= BODY_KINEMATIC);
    CHECK_ITEM(slot, body->generation > 0 && body->generation <= 0xffff);
    CHECK_ITEM(slot, body->group != 0 && body->mask != 0 && body->sensor <= 1);
    CHECK_ITEM(slot, vec3_is_finite(at));
    CHECK_ITEM(slot, length2 > 0.99f && length2 < 1.01f);
    CHECK_ITEM(slot, body->sleep_s >= 0.0f);
    CHECK_ITEM(slot, vec3_is_finite(body->rest_position) && quat_is_finite(body->rest_orientation));
    CHECK_ITEM(slot, body->inner >= 0.0f && body->inner <= body->reach);
    CHECK_ITEM(slot, body->fat.min.x <= body->fat.max.x && body->fat.min.y <= body->fat.max.y &&
                         body->fat.min.z <= body->fat.max.z);
    validate_motion(rigid, slot);
}

static void validate_bodies(const Rigid *rigid)
{
    u32 extra = 0;
    CHECK(rigid->slots <= rigid->def.body_capacity);
    CHECK(rigid->substeps >= 1 && rigid->substeps <= SUBSTEPS_MAX);
    for (u32 i = 0; i < rigid->slots; i++) {
        if (rigid->bodies[i].flags & BODY_LIVE) {
            validate_body(rigid, i);
            extra += body_has_extra(&rigid->bodies[i]);
        } else {
            validate_free_slot(rigid, i);
        }
    }
    CHECK(extra == rigid->extra_bodies);
    /* Empty lanes read and write it. */
    CHECK(rigid->states[rigid->def.body_capacity].inverse_mass == 0.0f);
}

/* Ascending, PGS bodies last. */
static void validate_active(const Rigid *rigid)
{
    CHECK(rigid->active_count <= rigid->slots && rigid->pgs_count <= rigid->active_count);
    u32 others = rigid->active_count - rigid->pgs_count;
    for (u32 i = 0; i < rigid->active_count; i++) {
        CHECK_ITEM(i, rigid->active[i] < rigid->slots);
        CHECK_ITEM(i, i == 0 || i == others || rigid->active[i - 1] < rigid->active[i]);
    }
}

/* ---- trees of bounds ---- */

static void validate_leaves(const Rigid *rigid)
{
    u32 leaves = 0, planes = 0;
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if (!(body->flags & BODY_LIVE)) {
            continue;
        }
        if (body->shape.kind == SHAPE_PLANE) {
            CHECK_ITEM(i, planes < rigid->plane_count && rigid->planes[planes] == i);
            planes++;
            continue;
        }
        const Tree *tree = body->motion == BODY_STATIC ? &rigid->fixed : &rigid->moving;
        u32 leaf = rigid->leaves[i];
        CHECK_ITEM(i, leaf < tree->capacity);
        CHECK_ITEM(i, tree->nodes[leaf].leaf == 1 && tree->nodes[leaf].data == i);
        CHECK_ITEM(i, (body->flags & BODY_LEFT) ||
                          (bounds_contain(&tree->nodes[leaf].bounds, &body->fat) &&
                           bounds_contain(&body->fat, &tree->nodes[leaf].bounds)));
        leaves++;
    }
    CHECK(planes == rigid->plane_count);
    CHECK(leaves == rigid->moving.leaf_count + rigid->fixed.leaf_count);
}

/* ---- pairs, their contacts and kept poses ---- */

static void validate_contact(const Rigid *rigid, u32 index)
{
    const Contact *c = &rigid->contacts[index];
    u32 points = c->flags >> CONTACT_COUNT_SHIFT, manifold = rigid->contact_manifolds[index];
    CHECK_ITEM(index, c->a < c->b && is_live(rigid, c->a) && is_live(rigid, c->b));
    CHECK_ITEM(index, is_dynamic(rigid, c->a) || is_dynamic(rigid, c->b));
    CHECK_ITEM(index, points <= MANIFOLD_POINTS);
    CHECK_ITEM(index, contact_is_bounded(c));
    CHECK_ITEM(index, manifold == NO_MANIFOLD || manifold < rigid->manifold_capacity);
    if (contact_is_solved(rigid, index)) {
        CHECK_ITEM(index, rigid->manifolds[manifold].count == points && points > 0);
    }
}

static void validate_contacts(const Rigid *rigid)
{
    CHECK(rigid->contact_count <= rigid->contact_capacity);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i], *before = c - 1;
        validate_contact(rigid, i);
        CHECK_ITEM(i, i == 0 || name_of(before->a, before->b) <= name_of(c->a, c->b));
    }
}

static void validate_poses(const Rigid *rigid)
{
    CHECK(rigid->recycled_count <= rigid->recycled_capacity);
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        const RecycledPose *pose = &rigid->recycled[i], *before = pose - 1;
        CHECK_ITEM(i, pose->a < pose->b && is_live(rigid, pose->a) && is_live(rigid, pose->b));
        CHECK_ITEM(i, i == 0 || name_of(before->a, before->b) < name_of(pose->a, pose->b));
        CHECK_ITEM(i, vec3_is_finite(pose->position) && quat_is_finite(pose->orientation));
        CHECK_ITEM(i, pose->margin >= 0.0f && pose->margin <= WORLD_EXTENT_MAX_M);
    }
}

/* A pair's links: its contacts, in order, and its kept pose. */
static void validate_links(const Rigid *rigid, u32 index, u32 first)
{
    const Pair *pair = &rigid->pairs[index];
    CHECK_ITEM(index, pair->first == first || pair->count == 0);
    CHECK_ITEM(index, pair->count <= rigid->contact_count - first);
    for (u32 i = first; i < first + pair->count; i++) {
        CHECK_ITEM(index, rigid->contacts[i].a == pair->a && rigid->contacts[i].b == pair->b);
    }
    if (pair->recycled != RECYCLED_NONE) {
        CHECK_ITEM(index, pair->recycled < rigid->recycled_count);
        CHECK_ITEM(index, rigid->recycled[pair->recycled].a == pair->a &&
                              rigid->recycled[pair->recycled].b == pair->b);
    }
}

static void validate_pairs(const Rigid *rigid)
{
    u32 contacts = 0;
    CHECK(rigid->pair_count <= rigid->pair_capacity);
    for (u32 i = 0; i < rigid->pair_count; i++) {
        const Pair *pair = &rigid->pairs[i], *before = pair - 1;
        CHECK_ITEM(i, pair->a < pair->b && is_live(rigid, pair->a) && is_live(rigid, pair->b));
        CHECK_ITEM(i, is_dynamic(rigid, pair->a) || is_dynamic(rigid, pair->b));
        CHECK_ITEM(i, i == 0 || name_of(before->a, before->b) < name_of(pair->a, pair->b));
        if (!rigid->unlinked) {
            validate_links(rigid, i, contacts);
            contacts += pair->count;
        }
    }
    CHECK(rigid->unlinked || contacts == rigid->contact_count);
}

/* ---- islands ---- */

/* An island sleeps as a whole: of two touching bodies none sleeps alone. Bodies woken since
 * (`stirred`) wake the others in the next tick. */
static void validate_islands(const Rigid *rigid)
{
    for (u32 i = 0; i < rigid->contact_count && !rigid->stirred; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(c->flags & CONTACT_SENSOR) && is_dynamic(rigid, c->a) && is_dynamic(rigid, c->b)) {
            u32 both = rigid->bodies[c->a].flags ^ rigid->bodies[c->b].flags;
            CHECK_ITEM(i, (both & BODY_ASLEEP) == 0);
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        CHECK_ITEM(i, rigid->flights[i] == 0);
    }
}

/* ---- colours ---- */

/* Colours are marked per body in `marks`: 0, or one more than the last colour that wrote it. */
static void validate_row(const Rigid *rigid, u32 index, u32 color, u32 *marks)
{
    const RowPlan *plan = &rigid->plans[index];
    CHECK_ITEM(index, plan->lanes >= 1 && plan->lanes <= SIMD_LANES);
    CHECK_ITEM(index, plan->points <= MANIFOLD_POINTS);
    CHECK_ITEM(index, plan->first <= rigid->point_count &&
                          plan->points <= rigid->point_count - plan->first);
    for (u32 lane = 0; lane < plan->lanes; lane++) {
        u32 contact = rigid->color_order[plan->order + lane];
        CHECK_ITEM(index, contact < rigid->contact_count);
        const u32 sides[2] = {rigid->contacts[contact].a, rigid->contacts[contact].b};
        for (u32 k = 0; k < 2 && color < COLORS_MAX; k++) {
            /* Two threads would write it. */
            bool moves = rigid->states[sides[k]].inverse_mass > 0.0f;
            CHECK_ITEM(index, !moves || marks[sides[k]] != color + 1);
            marks[sides[k]] = color + 1;
        }
    }
}

static void validate_colors(Rigid *rigid)
{
    u32 at = 0, *marks = rigid->slot_scratch;
    CHECK(rigid->row_count <= rigid->row_capacity && rigid->point_count <= rigid->point_capacity);
    CHECK(rigid->color_count <= COLORS_MAX + 1);
    if (rigid->row_count == 0) {
        return; /* and the colours belong to another tick */
    }
    memset(marks, 0, rigid->slots * sizeof(*marks));
    for (u32 color = 0; color < rigid->color_count; color++) {
        const ColorRange *range = &rigid->colors[color];
        CHECK_ITEM(color, range->first == at && range->count <= rigid->row_count - at);
        CHECK_ITEM(color, range->turning <= range->count);
        for (u32 i = 0; i < range->count; i++) {
            validate_row(rigid, at + i, color, marks);
        }
        at += range->count;
    }
    CHECK(at == rigid->row_count);
}

/* ---- grabs and reported events ---- */

static void validate_grabs(const Rigid *rigid)
{
    CHECK(rigid->grab_count <= RIGID_GRABS_MAX);
    CHECK(rigid->grab_count == 0 || rigid->grabs[rigid->grab_count - 1].live);
    for (u32 i = 0; i < rigid->grab_count; i++) {
        const RigidGrab *grab = &rigid->grabs[i];
        CHECK_ITEM(i, grab->live <= 1);
        CHECK_ITEM(i, !grab->live || rigid_alive(rigid, grab->body));
        CHECK_ITEM(i, vec3_is_finite(grab->target) && vec3_is_finite(grab->impulse));
    }
}

static void validate_events(const Rigid *rigid)
{
    CHECK(rigid->impact_count <= RIGID_IMPACTS_MAX && rigid->overlap_count <= RIGID_OVERLAPS_MAX);
    for (u32 i = 0; i < rigid->impact_count; i++) {
        const RigidImpact *impact = &rigid->impacts[i];
        CHECK_ITEM(i, impact->a < rigid->slots && impact->b < rigid->slots);
        CHECK_ITEM(i, impact->impulse >= 0.0f && impact->speed >= 0.0f);
    }
    for (u32 i = 0; i < rigid->overlap_count; i++) {
        CHECK_ITEM(i, rigid->overlaps[i].a < rigid->overlaps[i].b);
        CHECK_ITEM(i, rigid->overlaps[i].b < rigid->slots);
    }
}

void rigid_validate(Rigid *rigid)
{
    validate_bodies(rigid);
    validate_active(rigid);
    tree_validate(&rigid->moving);
    tree_validate(&rigid->fixed);
    validate_leaves(rigid);
    validate_contacts(rigid);
    validate_poses(rigid);
    validate_pairs(rigid);
    validate_islands(rigid);
    validate_colors(rigid);
    joints_validate(rigid);
    validate_grabs(rigid);
    validate_events(rigid);
}
