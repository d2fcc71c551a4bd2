/*
 * solve_joint_load.c: what a great load does to the bodies it hangs on. A pull T on an arm r holds
 * the body's direction like a spring of stiffness T |r|. The impulses that make this spring are
 * those of the last substep, so where it is faster than the substeps it would shake the body apart;
 * there the body answers torques as if it had the inertia that makes the spring just slow enough.
 * Everything that is loaded less is left alone.
 * Method: geometric stiffness taken into the mass (Tournier et al., "Stable constrained dynamics",
 * 2015; Andrews et al., "Geometric stiffness for real-time constrained multibody dynamics", 2017).
 */
#include "server/physics/rigid/joint_row.h"

/* (ω h)² up to which a body turns freely under its loads. */
#define FREE_SWING 1.0f

/* Sliders and motors carry their bodies in other ways. */
static f32 pull_of(const Joint *joint)
{
    bool pulls = joint->def.kind != JOINT_SLIDER && joint->def.kind != JOINT_MOTOR;
    return pulls ? vec3_length(joint->force) : 0.0f;
}

/* T |r| about both axes across the arm. */
static void add_stiffness(const Rigid *rigid, u32 slot, Vec3 anchor, f32 pull)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC) {
        return;
    }
    Vec3 arm = quat_rotate(body->orientation, vec3_sub(anchor, body->centre));
    f32 length = vec3_length(arm);
    if (length > 1e-6f) {
        Vec3 r = vec3_scale(arm, 1.0f / length);
        f32 k = pull * length;
        Symmetric3 *g = &rigid->joints.stiffness[slot];
        *g = symmetric_add(*g, (Symmetric3){k * (1.0f - r.x * r.x), k * (1.0f - r.y * r.y),
                                            k * (1.0f - r.z * r.z), -k * r.x * r.y, -k * r.x * r.z,
                                            -k * r.y * r.z});
    }
}

/* trace(a b) */
static f32 product_trace(const Symmetric3 *a, const Symmetric3 *b)
{
    return a->xx * b->xx + a->yy * b->yy + a->zz * b->zz +
           2.0f * (a->xy * b->xy + a->xz * b->xz + a->yz * b->yz);
}

void joint_take_load(Rigid *rigid, f32 h)
{
    JointStore *store = &rigid->joints;
    memset(store->stiffness, 0, rigid->slots * sizeof(*store->stiffness));
    for (u32 i = 0; i < store->slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            const Joint *joint = &store->joints[i];
            f32 pull = pull_of(joint);
            if (a != JOINT_WORLD && pull > 0.0f) {
                add_stiffness(rigid, a, joint->def.anchor_a, pull);
            }
            if (b != JOINT_WORLD && pull > 0.0f) {
                add_stiffness(rigid, b, joint->def.anchor_b, pull);
            }
        }
    }
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        const Symmetric3 *stiffness = &store->stiffness[slot];
        /* The mean of (ω h)² about the two axes across the arm. */
        f32 step = body_is_plain(rigid, slot) ? rigid->def.tick_s : h;
        f32 swing = 0.5f * step * step * product_trace(stiffness, &rigid->inertias[slot]);
        if (swing > FREE_SWING) {
            Symmetric3 inertia = symmetric_inverse(&rigid->inertias[slot]);
            f32 share = step * step * (1.0f - FREE_SWING / swing) / FREE_SWING;
            inertia = symmetric_add(inertia, symmetric_scale(*stiffness, share));
            rigid->inertias[slot] = symmetric_inverse(&inertia);
        }
    }
}
