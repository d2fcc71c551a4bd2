/*
 * test_drag_joints.c: jointed bodies, one of which is shown where the grab has it: the joints hold,
 * static bodies stay, and nothing moves unnecessarily.
 */
#include "client/hand/drag_joints.h"

#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    PARTS_MAX = 100
};

typedef struct World {
    Scene scene;
    SceneBody bodies[PARTS_MAX];
    SceneJoint joints[PARTS_MAX];
    Entity entities[PARTS_MAX];
    ShownPose poses[PARTS_MAX], shown[PARTS_MAX];
} World;

static void world_begin(World *world)
{
    memset(world, 0, sizeof *world);
    world->scene.bodies = world->bodies;
    world->scene.joints = world->joints;
}

static i32 add_body(World *world, Vec3 position, f32 mass_kg)
{
    u32 i = world->scene.body_count++;
    char name[NAME_BYTES_MAX];
    snprintf(name, sizeof name, "b%u", i);
    memcpy(world->bodies[i].name, name, sizeof name);
    Entity *entity = &world->entities[i];
    memcpy(entity->name, name, sizeof name);
    entity->id = i + 1;
    entity->first = i;
    entity->count = 1;
    entity->movable = mass_kg > 0.0f;
    entity->mass_kg = mass_kg;
    entity->appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.16f};
    u16 flags = (u16)(POSE_LIVE | (mass_kg > 0.0f ? POSE_AWAKE : POSE_STATIC));
    world->poses[i] = (ShownPose){position, quat_identity(), flags, 1};
    return (i32)i;
}

/* At a world point, with the frame's x axis along the world's. */
static void add_joint(World *world, JointKind kind, i32 a, i32 b, Vec3 at)
{
    SceneJoint *joint = &world->joints[world->scene.joint_count++];
    joint->kind = kind;
    joint->a = a;
    joint->b = b;
    joint->anchor_a = a >= 0 ? vec3_sub(at, world->poses[a].position) : at;
    joint->anchor_b = b >= 0 ? vec3_sub(at, world->poses[b].position) : at;
    joint->frame_a = joint->frame_b = quat_identity();
}

static Vec3 anchor(const World *world, i32 body, Vec3 local)
{
    if (body < 0) {
        return local;
    }
    const ShownPose *pose = &world->shown[body];
    return vec3_add(pose->position, quat_rotate(pose->orientation, local));
}

/* The widest gap of any joint, m. */
static f32 widest(const World *world)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < world->scene.joint_count; i++) {
        const SceneJoint *joint = &world->joints[i];
        most = f32_max(most, vec3_distance(anchor(world, joint->a, joint->anchor_a),
                                           anchor(world, joint->b, joint->anchor_b)));
    }
    return most;
}

static Vec3 drag(World *world, u32 body, Vec3 local, Vec3 offset)
{
    DragJoints drag;
    drag_joints_find(&drag, &world->scene, world->entities, world->scene.body_count, body + 1);
    assert_int_equal(drag.entity, body + 1);
    memcpy(world->shown, world->poses, sizeof world->shown);
    return drag_joints_show(&drag, local, offset, world->shown, PARTS_MAX);
}

static void test_chain(void **state)
{
    (void)state;
    World world;
    world_begin(&world);
    for (u32 i = 0; i < 12; i++) {
        add_body(&world, vec3(0.3f * (f32)i, 1.0f, 0.0f), 2.0f);
    }
    for (u32 i = 0; i < 11; i++) {
        add_joint(&world, JOINT_BALL, (i32)i, (i32)i + 1, vec3(0.3f * (f32)i + 0.15f, 1.0f, 0.0f));
    }
    add_body(&world, vec3(0.0f, 0.0f, 0.0f), 1.0f); /* without a joint */
    const Vec3 ways[] = {{0, 0, 0}, {0.2f, 0, 0}, {-1, 0.5f, 0}, {0, 3, 1}, {-5, 0, 2}};
    for (u32 k = 0; k < PL_COUNT(ways); k++) {
        for (u32 body = 0; body < 12; body += 5) {
            Vec3 local = vec3(0.05f, 0.0f, 0.02f);
            Vec3 was = vec3_add(world.poses[body].position, local);
            Vec3 is = drag(&world, body, local, ways[k]);
            assert_true(vec3_distance(is, vec3_add(was, ways[k])) < 0.01f);
            assert_true(widest(&world) < 0.01f);
            assert_memory_equal(&world.shown[12], &world.poses[12], sizeof world.shown[12]);
        }
    }
    drag(&world, 0, vec3_zero(), vec3_zero());
    for (u32 i = 0; i < 12; i++) {
        assert_true(vec3_distance(world.shown[i].position, world.poses[i].position) < 1e-5f);
    }
}

/* A trunk with a head and four limbs of two parts, of very different masses, like a ragdoll. */
static void test_ragdolls(void **state)
{
    (void)state;
    f32 worst = 0.0f, off = 0.0f;
    for (u32 k = 0; k < 200; k++) {
        World world;
        world_begin(&world);
        add_body(&world, vec3(0.0f, 2.0f, 0.0f), 1.0f + 30.0f * random_f32(1, 8 * k));
        for (u32 limb = 0; limb < 5; limb++) {
            f32 angle = 1.2566f * (f32)limb;
            Vec3 way = vec3(cosf(angle), sinf(angle), 0.3f * (random_f32(2, 8 * k + limb) - 0.5f));
            i32 last = 0;
            for (u32 part = 0; part < (limb == 0 ? 1u : 2u); part++) {
                Vec3 at = vec3_add_scaled(vec3(0, 2, 0), 0.2f + 0.3f * (f32)part, way);
                i32 body = add_body(&world, vec3_add_scaled(at, 0.15f, way),
                                    0.2f + 5.0f * random_f32(3, 16 * k + 2 * limb + part));
                add_joint(&world, part == 0 ? JOINT_CONE_TWIST : JOINT_HINGE, last, body, at);
                last = body;
            }
        }
        u32 body = (u32)(random_f32(4, k) * (f32)world.scene.body_count);
        Vec3 way = vec3(4.0f * (random_f32(5, k) - 0.5f), 4.0f * (random_f32(6, k) - 0.5f),
                        4.0f * (random_f32(7, k) - 0.5f));
        Vec3 is = drag(&world, body, vec3_zero(), way);
        worst = f32_max(worst, widest(&world));
        off = f32_max(off, vec3_distance(is, vec3_add(world.poses[body].position, way)));
    }
    print_message("ragdolls: joints %.1f mm apart, hand %.1f mm off\n", (double)worst * 1e3,
                  (double)off * 1e3);
    assert_true(worst < 0.02f);
    assert_true(off < 0.02f);
}

/* A door stays in its hinges and turns towards the grab; what is fixed to the ground does not
 * move. */
static void test_door(void **state)
{
    (void)state;
    World world;
    world_begin(&world);
    add_body(&world, vec3(0.5f, 1.0f, 0.0f), 20.0f);
    add_body(&world, vec3(0.0f, 0.0f, 0.0f), 0.0f);
    SceneJoint *hinge = &world.joints[0];
    add_joint(&world, JOINT_HINGE, 0, 1, vec3(0.0f, 1.0f, 0.0f));
    /* The axis upwards. */
    hinge->frame_a = hinge->frame_b = (Quat){sqrtf(0.5f), 0.0f, 0.0f, sqrtf(0.5f)};
    Vec3 is = drag(&world, 0, vec3(0.4f, 0.0f, 0.0f), vec3(0.0f, 0.5f, 0.7f));
    assert_true(widest(&world) < 1e-3f);
    assert_true(is.z > 0.3f);
    Vec3 up = quat_rotate(world.shown[0].orientation, vec3(0, 1, 0));
    assert_true(up.y > 0.999f);
    assert_memory_equal(&world.shown[1], &world.poses[1], sizeof world.shown[1]);

    world_begin(&world);
    add_body(&world, vec3(0.5f, 1.0f, 0.0f), 20.0f);
    add_joint(&world, JOINT_FIXED, 0, -1, vec3(0.0f, 1.0f, 0.0f));
    is = drag(&world, 0, vec3_zero(), vec3(1.0f, 0.5f, 0.7f));
    assert_true(vec3_distance(is, world.poses[0].position) < 0.02f);

    /* A hanging chain is not drawn longer than it is. */
    world_begin(&world);
    for (u32 i = 0; i < 6; i++) {
        add_body(&world, vec3(0.0f, 3.0f - 0.3f * (f32)i, 0.0f), 1.0f);
        add_joint(&world, JOINT_BALL, (i32)i - 1, (i32)i, vec3(0.0f, 3.15f - 0.3f * (f32)i, 0.0f));
    }
    is = drag(&world, 5, vec3_zero(), vec3(3.0f, 1.0f, 0.0f));
    assert_true(widest(&world) < 0.06f);
    assert_true(is.x > 0.8f && vec3_distance(is, vec3(0, 3.15f, 0)) < 1.75f);
}

/* More bodies than the capacity, and broken joints. */
static void test_limits(void **state)
{
    (void)state;
    World world;
    world_begin(&world);
    for (u32 i = 0; i < 90; i++) {
        add_body(&world, vec3(0.3f * (f32)i, 1.0f, 0.0f), 1.0f);
        if (i > 0) {
            add_joint(&world, JOINT_BALL, (i32)i - 1, (i32)i,
                      vec3(0.3f * (f32)i - 0.15f, 1.0f, 0.0f));
        }
    }
    drag(&world, 0, vec3_zero(), vec3(0.0f, 1.0f, 0.0f));
    assert_true(widest(&world) < 0.05f);
    world.poses[1].position.y = 5.0f; /* it broke */
    drag(&world, 0, vec3_zero(), vec3(0.0f, 1.0f, 0.0f));
    assert_true(world.shown[1].position.y == 5.0f);
    DragJoints drag;
    drag_joints_find(&drag, &world.scene, world.entities, world.scene.body_count, 91);
    assert_int_equal(drag.entity, 0); /* spawned: not an entity of the scene */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_ragdolls),
        cmocka_unit_test(test_door),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
