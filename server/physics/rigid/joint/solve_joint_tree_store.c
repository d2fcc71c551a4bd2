/*
 * solve_joint_tree_store.c: what the joints of trees keep from tick to tick, and what they report.
 */
#include "server/physics/rigid/joint/joint_tree.h"

static JointLoad point_load(const Rigid *rigid, u32 kind, const TreeRow *row, const JointDef *def,
                            u32 lane, Vec3 load)
{
    if (kind == TREE_ROD) {
        return (JointLoad){.lower = vec3_dot(lane_vec3(&row->axis, lane), load)};
    }
    if (kind == TREE_TRACK) {
        Vec3 anchors[2];
        Quat frames[2];
        joint_frames(rigid, def, anchors, frames);
        load = quat_rotate_inverse(frames[0], load);
        load.x = 0.0f;
    }
    return (JointLoad){.linear = load};
}

void joint_trees_store(Rigid *rigid, const TreeGroup *group, f32 tick_s)
{
    const JointStore *store = &rigid->joints;
    Trees t = joint_trees_of(rigid, group);
    f32 rate = (f32)rigid->substeps / tick_s;
    for (u32 i = 0; i < t.count; i++) {
        if (t.joints[i].links.kind == TREE_ROTATION_AXIS) { /* see JointLoad */
            t.rows[i].impulse = tree_hinge_load(&t, i);
            t.rows[i].impulse.x = f32x8_set(0.0f);
        }
    }
    for (u32 lane = 0; lane < group->lanes; lane++) {
        const TreeJoint *joints = &store->tree_joints[store->trees[group->tree + lane].first];
        for (u32 i = 0; i < t.count; i++) {
            Joint *joint = &store->joints[joints[i].joint];
            const TreeRow *row = &t.rows[i];
            u32 kind = joints[i].links.kind;
            Vec3 load = vec3_scale(lane_vec3(&row->impulse, lane), rate);
            Vec3 mean = vec3_scale(lane_vec3(&row->sum, lane), 1.0f / tick_s);
            if (is_point(kind)) {
                joint->load = point_load(rigid, kind, row, &joint->def, lane, load);
                joint->force = mean;
                joint->torque = vec3_zero();
                joint->error = vec3_length(lane_vec3(&row->gap, lane));
            } else {
                joint->torque = mean;
                joint->load.angular = load;
                if (kind == TREE_ROTATION_CROSS) {
                    f32 along = vec3_dot(tree_cross(rigid, &joint->def), load);
                    joint->load.angular = vec3(along, 0.0f, 0.0f);
                }
            }
        }
    }
    if (t.limited) {
        trees_limits_store(&t, group, tick_s);
    }
}
