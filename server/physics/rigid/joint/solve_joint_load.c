/*
 * solve_joint_load.c: stabilizes bodies under large joint loads. A force T at an arm r acts on the
 * body's orientation like a spring of stiffness T |r|. The impulses of this spring are those of the
 * last substep, so if it is faster than the substeps it is unstable; then the body responds to
 * torques with the inertia that makes the spring just slow enough. Bodies with smaller loads are
 * not changed.
 * Method: geometric stiffness taken into the mass (Tournier et al., "Stable constrained dynamics",
 * 2015; Andrews et al., "Geometric stiffness for real-time constrained multibody dynamics", 2017).
 */
#include "server/physics/rigid/joint/joint_row.h"

/* (ω h)² up to which a body rotates freely under its loads. */
#define FREE_SWING 1.0f

enum {
    PULLS_GRAIN = 128,
    BODIES_GRAIN = 32
};

/* Sliders and motors carry loads in other ways. */
static f32 pull_of(const Joint *joint)
{
    bool pulls = joint->def.kind != JOINT_SLIDER && joint->def.kind != JOINT_MOTOR;
    return pulls ? vec3_length(joint->force) : 0.0f;
}

/* T |r| about both axes perpendicular to the arm; false: none. */
static bool pull_stiffness(const Rigid *rigid, u32 slot, Vec3 anchor, f32 pull, Symmetric3 *out)
{
    const Body *body = &rigid->bodies[slot];
    Vec3 arm = quat_rotate(body->orientation, vec3_sub(anchor, body->centre));
    f32 length = vec3_length(arm);
    if (length <= 1e-6f) {
        return false;
    }
    Vec3 r = vec3_scale(arm, 1.0f / length);
    f32 k = pull * length;
    *out = (Symmetric3){k * (1.0f - r.x * r.x), k * (1.0f - r.y * r.y), k * (1.0f - r.z * r.z),
                        -k * r.x * r.y,         -k * r.x * r.z,         -k * r.y * r.z};
    return true;
}

/* trace(a b) */
static f32 product_trace(const Symmetric3 *a, const Symmetric3 *b)
{
    return a->xx * b->xx + a->yy * b->yy + a->zz * b->zz +
           2.0f * (a->xy * b->xy + a->xz * b->xz + a->yz * b->yz);
}

static bool may_shake(const Rigid *rigid, u32 slot, f32 h)
{
    const Symmetric3 *i = &rigid->inertias[slot];
    f32 step = body_is_pgs(rigid, slot) ? rigid->def.tick_s : h;
    /* 1 % margin for rounding. */
    return 0.505f * step * step * rigid->joints.loads[slot] * (i->xx + i->yy + i->zz) > FREE_SWING;
}

/* False: the joint has no load. */
static bool joint_pulls(const Rigid *rigid, u32 slot, f32 *pull, u32 sides[2])
{
    const Joint *joint = &rigid->joints.joints[slot];
    *pull = joint->live ? pull_of(joint) : 0.0f;
    return *pull > 0.0f && joint_bodies(rigid, slot, &sides[0], &sides[1]);
}

static inline Vec3 joint_anchor(const Joint *joint, u32 side)
{
    return side == 0 ? joint->def.anchor_a : joint->def.anchor_b;
}

/* Upper bound of the effect of joints on the swing of their bodies: ½ h² T |r| times the trace
 * of its inverse inertia. */
static void pulls_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        const Joint *joint = &rigid->joints.joints[i];
        JointPull *out = &rigid->joints.pulls[i];
        out->slots[0] = out->slots[1] = JOINT_WORLD;
        u32 sides[2];
        f32 pull;
        bool pulls = joint_pulls(rigid, i, &pull, sides);
        for (u32 n = 0; n < 2 && pulls; n++) {
            if (sides[n] != JOINT_WORLD && rigid->bodies[sides[n]].motion == BODY_DYNAMIC) {
                out->slots[n] = sides[n];
                out->loads[n] =
                    pull * vec3_distance(joint_anchor(joint, n), rigid->bodies[sides[n]].centre);
            }
        }
    }
}

/* Summed in the order of the joints. */
static void add_bounds(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    jobs_run(rigid->jobs, store->slots, PULLS_GRAIN, pulls_range, rigid);
    for (u32 i = 0; i < store->slots; i++) {
        const JointPull *pull = &store->pulls[i];
        for (u32 n = 0; n < 2; n++) {
            if (pull->slots[n] != JOINT_WORLD) {
                store->loads[pull->slots[n]] += pull->loads[n];
            }
        }
    }
}

/* Only for bodies whose load may matter. */
static void tensors_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        const Joint *joint = &rigid->joints.joints[i];
        JointPull *out = &rigid->joints.pulls[i];
        for (u32 n = 0; n < 2; n++) {
            u32 slot = out->slots[n];
            out->swings[n] = slot != JOINT_WORLD && rigid->joints.loads[slot] > 0.0f &&
                             pull_stiffness(rigid, slot, joint_anchor(joint, n), pull_of(joint),
                                            &out->stiffness[n]);
        }
    }
}

/* Summed in the order of the joints. */
static void add_tensors(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    jobs_run(rigid->jobs, store->slots, PULLS_GRAIN, tensors_range, rigid);
    for (u32 i = 0; i < store->slots; i++) {
        const JointPull *pull = &store->pulls[i];
        for (u32 n = 0; n < 2; n++) {
            if (pull->swings[n]) {
                Symmetric3 *sum = &store->stiffness[pull->slots[n]];
                *sum = symmetric_add(*sum, pull->stiffness[n]);
            }
        }
    }
}

static void hold(u8 *held, u32 slot)
{
    if (slot != JOINT_WORLD) {
        held[slot] = 1;
    }
}

/* Marks bodies on which something besides gravity and tree joints acts. */
static void find_held(const Rigid *rigid, u8 *held)
{
    const JointStore *store = &rigid->joints;
    memset(held, 0, rigid->slots);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        if (!(c->flags & CONTACT_SENSOR)) {
            held[c->a] = held[c->b] = 1;
        }
    }
    for (u32 i = 0; i < rigid->grab_count; i++) {
        if (rigid->grabs[i].live && rigid->grabs[i].body.slot < rigid->slots) {
            held[rigid->grabs[i].body.slot] = 1;
        }
    }
    for (u32 i = 0; i < store->slots; i++) {
        u32 a, b;
        if (store->tree_places[i] == JOINT_NO_SLOT && joint_bodies(rigid, i, &a, &b)) {
            hold(held, a);
            hold(held, b);
        }
    }
}

/* A free tree of joints is loaded only by its own motion, which ends before it becomes unstable;
 * and it must conserve its angular momentum, which bodies with increased inertia do not. A
 * single body on one joint predicts its step, which increased inertia would prevent. */
static void let_fly(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    u8 *held = store->body_seen; /* scratch between traversals */
    find_held(rigid, held);
    for (u32 i = 0; i < store->tree_count; i++) {
        const JointTree *tree = &store->trees[i];
        const u32 *bodies = &store->tree_bodies[tree->body];
        bool flies = tree->lone || tree->body_count == tree->own_count;
        for (u32 n = 0; n < tree->own_count; n++) {
            flies = flies && !held[bodies[n]];
        }
        for (u32 n = 0; n < tree->own_count && flies; n++) {
            store->loads[bodies[n]] = 0.0f;
        }
    }
}

typedef struct Slowing {
    Rigid *rigid;
    const u32 *bodies;
    f32 h;
} Slowing;

/* Gives bodies that would swing too fast the inertia that makes the swing slow enough. */
static void slow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Slowing *run = context;
    Rigid *rigid = run->rigid;
    JointStore *store = &rigid->joints;
    for (u32 i = first; i < end; i++) {
        u32 slot = run->bodies[i];
        const Symmetric3 *stiffness = &store->stiffness[slot];
        /* The mean of (ω h)² about the two axes perpendicular to the arm. */
        f32 step = body_is_pgs(rigid, slot) ? rigid->def.tick_s : run->h;
        f32 swing = 0.5f * step * step * product_trace(stiffness, &rigid->inertias[slot]);
        if (swing > FREE_SWING) {
            Symmetric3 inertia = symmetric_inverse(&rigid->inertias[slot]);
            f32 share = step * step * (1.0f - FREE_SWING / swing) / FREE_SWING;
            inertia = symmetric_add(inertia, symmetric_scale(*stiffness, share));
            rigid->inertias[slot] = symmetric_inverse(&inertia);
        } else {
            store->loads[slot] = 0.0f;
        }
    }
}

/* Few bodies have significant loads: tensors are computed only for those. */
void joint_take_load(Rigid *rigid, f32 h)
{
    JointStore *store = &rigid->joints;
    memset(store->loads, 0, rigid->slots * sizeof(*store->loads));
    add_bounds(rigid);
    u32 *shaken = rigid->slot_scratch;
    u32 count = 0;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (store->loads[slot] > 0.0f && may_shake(rigid, slot, h)) {
            store->stiffness[slot] = (Symmetric3){0};
            shaken[count++] = slot;
        } else {
            store->loads[slot] = 0.0f;
        }
    }
    if (count == 0) {
        return;
    }
    let_fly(rigid);
    add_tensors(rigid);
    Slowing run = {rigid, shaken, h};
    jobs_run(rigid->jobs, count, BODIES_GRAIN, slow_range, &run);
}
