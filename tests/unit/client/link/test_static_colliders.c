/*
 * test_static_colliders.c: moving bodies against planes, boxes and slopes with known answers from
 * geometry. Poses are the test's own instead of a timeline's.
 */
#include "client/link/static_colliders.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    BODIES = 4,
    MOVER = 0, /* the moving body; the others are static */
};

static ShownPose poses[BODIES];
static bool arrived[BODIES];

static bool pose_of(const void *context, u32 field, u32 element, ShownPose *pose)
{
    (void)context;
    assert_int_equal(field, 0);
    assert_true(element < BODIES);
    *pose = poses[element];
    return arrived[element];
}

typedef struct Fixture {
    FieldSet *fields;
    StaticColliders *colliders;
    Entity items[BODIES];
    EntityList entities;
} Fixture;

static const FieldDesc pose_field = {.kind = FIELD_POSES,
                                     .channels = 1,
                                     .name = "bodies",
                                     .capacity = BODIES,
                                     .quantum = 1.0f / 512};

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->fields = field_set_create(&pose_field, 1);
    assert_non_null(f->fields);
    f->colliders = static_colliders_create(f->fields);
    assert_non_null(f->colliders);
    f->entities.items = f->items;
    memset(arrived, 0, sizeof arrived);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    static_colliders_destroy(f->colliders);
    field_set_release(f->fields);
    free(f);
    return 0;
}

static void put(Fixture *f, Shape shape, Vec3 position, Quat orientation)
{
    u32 i = f->entities.count++;
    f->items[i] = (Entity){.id = i + 1, .first = i, .count = 1};
    f->items[i].appearance.kind = APPEARANCE_SHAPE;
    f->items[i].appearance.shape = shape;
    poses[i] = (ShownPose){position, orientation,
                           (u16)(POSE_LIVE | (i == MOVER ? POSE_AWAKE : POSE_STATIC)), 1};
    arrived[i] = true;
    f->entities.version++;
    static_colliders_update(f->colliders, &f->entities, pose_of, NULL);
}

static const Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.5f};
static const Shape plane = {.kind = SHAPE_PLANE};

static Quat rotation_z(f32 radians)
{
    return (Quat){cosf(radians / 2), 0, 0, sinf(radians / 2)};
}

static void assert_near(Vec3 got, f32 x, f32 y, f32 z)
{
    if (vec3_distance(got, vec3(x, y, z)) > 1e-4f) {
        fail_msg("expected (%g, %g, %g), got (%g, %g, %g)", (f64)x, (f64)y, (f64)z, (f64)got.x,
                 (f64)got.y, (f64)got.z);
    }
}

/* Returns how far along the motion it may go; *velocity: its speed then. */
static Vec3 held(const Fixture *f, Quat rotation, Vec3 from, Vec3 to, Vec3 *velocity)
{
    *velocity = vec3_sub(to, from);
    static_colliders_hold(f->colliders, 0, MOVER, rotation, from, &to, velocity);
    return to;
}

/* A ball that falls at an angle stops at the plane and continues along it. */
static void test_fall(void **state)
{
    Fixture *f = *state;
    Vec3 velocity;
    put(f, ball, vec3_zero(), quat_identity());
    put(f, plane, vec3_zero(), quat_identity());
    Vec3 to = held(f, quat_identity(), vec3(0, 1, 0), vec3(2, -1, 1), &velocity);
    assert_near(to, 2, 0.5f, 1);
    assert_near(velocity, 2, 0, 1);
    /* Nothing in its way: nothing changes. */
    to = held(f, quat_identity(), vec3(0, 1, 0), vec3(2, 0.6f, 1), &velocity);
    assert_near(to, 2, 0.6f, 1);
    to = held(f, quat_identity(), vec3(0, 0.5f, 0), vec3(0, 3, 0), &velocity);
    assert_near(to, 0, 3, 0);
}

/* A body on the ground slides along it, and is not lifted if it penetrated slightly. */
static void test_slide(void **state)
{
    Fixture *f = *state;
    Vec3 velocity;
    put(f, ball, vec3_zero(), quat_identity());
    put(f, plane, vec3_zero(), quat_identity());
    Vec3 to = held(f, quat_identity(), vec3(0, 0.498f, 0), vec3(3, 0.47f, 0), &velocity);
    assert_near(to, 3, 0.498f, 0);
    assert_near(velocity, 3, 0, 0);
}

/* A box on its edge reaches √2/2 of its width down. */
static void test_rotated_box(void **state)
{
    Fixture *f = *state;
    Vec3 velocity;
    put(f, (Shape){.kind = SHAPE_BOX, .half = {0.5f, 0.5f, 0.5f}}, vec3_zero(), quat_identity());
    put(f, plane, vec3_zero(), quat_identity());
    Vec3 to = held(f, rotation_z(0.78539816f), vec3(0, 2, 0), vec3(0, -1, 0), &velocity);
    assert_near(to, 0, sqrtf(0.5f), 0);
}

/* A slope of 30°: the ball stays one radius away from it and keeps its tangential velocity. */
static void test_slope(void **state)
{
    Fixture *f = *state;
    Vec3 velocity, normal = vec3(-0.5f, sqrtf(0.75f), 0);
    put(f, ball, vec3_zero(), quat_identity());
    put(f, plane, vec3_zero(), rotation_z(0.52359878f));
    Vec3 to = held(f, quat_identity(), vec3(0, 1, 0), vec3(0, -1, 0), &velocity);
    assert_true(fabsf(vec3_dot(to, normal) - 0.5f) < 1e-4f);
    assert_near(velocity, -sqrtf(0.75f), -0.5f, 0);
}

/* A wall in the path, beyond the end of the table in front of it: the ground below it counts
 * too. */
static void test_wall_and_table(void **state)
{
    Fixture *f = *state;
    Vec3 velocity;
    put(f, ball, vec3_zero(), quat_identity());
    put(f, (Shape){.kind = SHAPE_BOX, .half = {1, 5, 5}}, vec3(4, 0, 0), quat_identity());
    put(f, (Shape){.kind = SHAPE_BOX, .half = {5, 1, 5}}, vec3(0, -1, 0), quat_identity());
    Vec3 to = held(f, quat_identity(), vec3(0, 0.6f, 0), vec3(9, 0.2f, 0), &velocity);
    assert_near(to, 2.5f, 0.5f, 0);
    assert_near(velocity, 0, 0, 0);
}

/* Static bodies may appear late and disappear; a body without a shape falls through. */
static void test_changes(void **state)
{
    Fixture *f = *state;
    Vec3 velocity, end = vec3(0, -1, 0);
    put(f, ball, vec3_zero(), quat_identity());
    put(f, plane, vec3_zero(), quat_identity());
    arrived[1] = false;
    f->entities.version++;
    static_colliders_update(f->colliders, &f->entities, pose_of, NULL);
    assert_near(held(f, quat_identity(), vec3(0, 1, 0), end, &velocity), 0, -1, 0);
    arrived[1] = true;
    for (u32 i = 0; i < 60; i++) { /* polled again now and then */
        static_colliders_update(f->colliders, &f->entities, pose_of, NULL);
    }
    assert_near(held(f, quat_identity(), vec3(0, 1, 0), end, &velocity), 0, 0.5f, 0);
    f->entities.count = 1;
    f->entities.version++;
    static_colliders_update(f->colliders, &f->entities, pose_of, NULL);
    assert_near(held(f, quat_identity(), vec3(0, 1, 0), end, &velocity), 0, -1, 0);
    f->entities.count = 0;
    f->entities.version++;
    static_colliders_update(f->colliders, &f->entities, pose_of, NULL);
    assert_near(held(f, quat_identity(), vec3(0, 1, 0), end, &velocity), 0, -1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fall, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slide, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rotated_box, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slope, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wall_and_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
