/* debug.c: contacts, joints and bounds as lines; islands. Manifolds are recomputed from shapes
 * and poses, so nothing here depends on how the solver stores them. */
#include "server/physics/rigid/debug.h"

#include "server/physics/rigid/rigid_internal.h"

static const f32 normal_m = 0.25f; /* length of a normal */
static const f32 axis_m = 0.2f;    /* and of a joint's axes */

typedef struct Lines {
    RigidLine *lines;
    u32 count, capacity;
} Lines;

static void add(Lines *out, Vec3 from, Vec3 to, RigidLineKind kind)
{
    if (out->count < out->capacity) {
        RigidLine line = {from, to, kind};
        out->lines[out->count] = line;
    }
    out->count++;
}

static void show_pair(const Rigid *rigid, u32 a, u32 b, Lines *out)
{
    Manifold manifolds[MANIFOLDS_MAX];
    ShapePose pose_a = body_pose(&rigid->bodies[a]), pose_b = body_pose(&rigid->bodies[b]);
    u32 count = manifold_collide(&pose_a, &pose_b, RIGID_MARGIN_M, manifolds, MANIFOLDS_MAX);
    for (u32 m = 0; m < count; m++) {
        for (u32 p = 0; p < manifolds[m].count; p++) {
            Vec3 at = manifolds[m].points[p].position;
            add(out, at, vec3_add_scaled(at, normal_m, manifolds[m].normal), RIGID_LINE_CONTACT);
        }
    }
}

static void show_contacts(const Rigid *rigid, Lines *out)
{
    u32 a = 0, b = 0;
    /* Stops at the capacity, since manifolds are expensive. */
    for (u32 i = 0; i < rigid->contact_count && out->count < out->capacity; i++) {
        const Contact *contact = &rigid->contacts[i];
        /* A pair with a mesh has several contacts in a row. */
        bool again = contact->a == a && contact->b == b;
        a = contact->a;
        b = contact->b;
        if ((contact->flags & CONTACT_TOUCHING) && !again) {
            show_pair(rigid, a, b, out);
        }
    }
}

static void show_joints(const Rigid *rigid, Lines *out)
{
    static const Vec3 axes[3] = {{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        if (rigid_joint_at(rigid, i).generation == 0) {
            continue;
        }
        Vec3 anchors[2];
        Quat frames[2];
        joint_frames(rigid, rigid_joint_def(rigid, i), anchors, frames);
        for (u32 k = 0; k < 3; k++) {
            add(out, anchors[0],
                vec3_add_scaled(anchors[0], axis_m, quat_rotate(frames[0], axes[k])),
                (RigidLineKind)(RIGID_LINE_AXIS_X + k));
        }
        if (vec3_distance(anchors[0], anchors[1]) > 1e-3f) {
            add(out, anchors[0], anchors[1], RIGID_LINE_APART);
        }
    }
}

static void show_boxes(const Rigid *rigid, Lines *out)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        const Body *body = &rigid->bodies[i];
        if ((body->flags & BODY_LIVE) && body->shape.kind != SHAPE_PLANE) {
            add(out, body->fat.min, body->fat.max, RIGID_LINE_BOX);
        }
    }
}

u32 rigid_lines(const Rigid *rigid, u32 show, RigidLine *lines, u32 capacity)
{
    Lines out = {lines, 0, capacity};
    if (show & RIGID_SHOW_CONTACTS) {
        show_contacts(rigid, &out);
    }
    if (show & RIGID_SHOW_JOINTS) {
        show_joints(rigid, &out);
    }
    if (show & RIGID_SHOW_BOXES) {
        show_boxes(rigid, &out);
    }
    return out.count;
}

static u32 root_of(u32 *islands, u32 slot)
{
    while (islands[slot] != slot) {
        islands[slot] = islands[islands[slot]];
        slot = islands[slot];
    }
    return slot;
}

static void link_bodies(const Rigid *rigid, u32 *islands, u32 a, u32 b)
{
    if (a >= rigid->slots || b >= rigid->slots || rigid->bodies[a].motion != BODY_DYNAMIC ||
        rigid->bodies[b].motion != BODY_DYNAMIC) {
        return;
    }
    u32 one = root_of(islands, a), other = root_of(islands, b);
    islands[u32_max(one, other)] = u32_min(one, other);
}

void rigid_islands(const Rigid *rigid, u32 *islands)
{
    for (u32 i = 0; i < rigid->slots; i++) {
        islands[i] = i;
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *contact = &rigid->contacts[i];
        if ((contact->flags & CONTACT_TOUCHING) && !(contact->flags & CONTACT_SENSOR)) {
            link_bodies(rigid, islands, contact->a, contact->b);
        }
    }
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (joint_bodies(rigid, i, &a, &b)) {
            link_bodies(rigid, islands, a, b);
        }
    }
    for (u32 i = 0; i < rigid->slots; i++) {
        islands[i] = root_of(islands, i);
    }
}
