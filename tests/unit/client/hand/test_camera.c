/*
 * test_camera.c: the camera rig starts where the scene says, glides to its goal and keeps its
 * distance while orbiting; panning follows the cursor.
 */
#include "client/hand/camera.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
    WIDTH = 640,
    HEIGHT = 360
};

static CameraRig rig_make(void)
{
    CameraRig rig;
    SceneCamera home = {{6, 5, 8}, {1, 1, 0}, 50.0f};
    rig_init(&rig, &home);
    return rig;
}

static void rig_settle(CameraRig *rig)
{
    for (u32 i = 0; i < 240; i++) {
        rig_step(rig, 1.0f / 60.0f);
    }
}

static void test_starts_where_the_scene_says(void **state)
{
    (void)state;
    CameraRig rig = rig_make();
    Camera camera = rig_camera(&rig);
    assert_true(vec3_distance(camera.eye, vec3(6, 5, 8)) < 1e-3f);
    assert_true(vec3_distance(camera.target, vec3(1, 1, 0)) < 1e-6f);
    assert_float_equal(camera.fov_y, 0.8727f, 1e-3f);
    assert_true(camera.near_m > 0.0f && camera.near_m < camera.far_m);
}

static void test_orbit_keeps_the_distance(void **state)
{
    (void)state;
    CameraRig rig = rig_make();
    f32 distance = rig.now.distance;
    rig_orbit(&rig, 200.0f, -30.0f);
    Camera before = rig_camera(&rig);
    assert_true(vec3_distance(before.eye, vec3(6, 5, 8)) < 1e-3f); /* glides: not there yet */
    rig_settle(&rig);
    Camera camera = rig_camera(&rig);
    assert_float_equal(vec3_distance(camera.eye, camera.target), distance, 1e-3f);
    assert_true(vec3_distance(camera.eye, before.eye) > 1.0f);
    rig_orbit(&rig, 0.0f, 1e6f);
    rig_settle(&rig);
    camera = rig_camera(&rig);
    assert_true(camera.eye.y > camera.target.y);
    assert_true(fabsf(camera.eye.x - camera.target.x) + fabsf(camera.eye.z - camera.target.z) >
                1e-3f);
}

static void test_pan_follows_the_cursor(void **state)
{
    (void)state;
    CameraRig rig = rig_make();
    Vec3 thing = rig.now.target;
    rig_pan(&rig, 50.0f, 20.0f, HEIGHT);
    rig_settle(&rig);
    Camera camera = rig_camera(&rig);
    f32 x, y;
    assert_true(camera_project(&camera, WIDTH, HEIGHT, thing, &x, &y));
    assert_float_equal(x, WIDTH / 2.0f + 50.0f, 1.0f);
    assert_float_equal(y, HEIGHT / 2.0f + 20.0f, 1.0f);
}

/* A floor that rises along x. */
static f32 slope(void *context, Vec3 at)
{
    f32 *steep = context;
    return *steep * at.x;
}

static const Bounds capacity = {{-50, -10, -50}, {50, 50, 50}};

/* However it is turned, panned, zoomed and flown, the eye never goes below the floor. */
static void test_stays_above_the_floor(void **state)
{
    (void)state;
    static const f32 steeps[] = {0.0f, 0.3f, -0.5f};
    for (u32 k = 0; k < PL_COUNT(steeps); k++) {
        f32 steep = steeps[k];
        CameraRig rig = rig_make();
        for (u32 i = 0; i < 600; i++) {
            rig_orbit(&rig, 7.0f * (f32)(i % 50), -11.0f * (f32)(i % 9));
            rig_pan(&rig, 3.0f, i % 100 < 50 ? -20.0f : 20.0f, HEIGHT);
            rig_zoom(&rig, i % 40 < 20 ? 1.0f : -1.0f);
            rig_fly(&rig, vec3(0, -0.5f, 1), 0.3f, false);
            rig_step(&rig, 1.0f / 60.0f);
            rig_keep(&rig, capacity, slope, &steep);
            Camera camera = rig_camera(&rig);
            if (camera.eye.y < slope(&steep, camera.eye) + 0.05f) {
                fail_msg("slope %g, step %u: eye %g m over the floor", (double)steep, i,
                         (double)(camera.eye.y - slope(&steep, camera.eye)));
            }
            assert_true(fabsf(camera.target.x) <= 50.0f && fabsf(camera.target.z) <= 50.0f);
        }
    }
}

/* At three frames a second, one second of W does not fly out of sight. */
static void test_flies_slowly_at_low_frame_rates(void **state)
{
    (void)state;
    CameraRig rig = rig_make(), even = rig_make();
    f32 distance = rig.now.distance;
    for (u32 i = 0; i < 3; i++) {
        rig_fly(&rig, vec3(0, 0, 1), 1.0f / 3.0f, false);
        rig_step(&rig, 1.0f / 3.0f);
    }
    assert_true(vec3_distance(rig.goal.target, vec3(1, 1, 0)) < 0.25f * distance);
    for (u32 i = 0; i < 60; i++) {
        rig_fly(&even, vec3(0, 0, 1), 1.0f / 60.0f, false);
    }
    assert_true(vec3_distance(even.goal.target, vec3(1, 1, 0)) > 0.8f * distance);
}

static void test_zoom_focus_and_home(void **state)
{
    (void)state;
    CameraRig rig = rig_make();
    f32 distance = rig.now.distance;
    rig_zoom(&rig, 3.0f);
    rig_settle(&rig);
    assert_true(rig.now.distance < distance);
    rig_zoom(&rig, -1000.0f);
    assert_true(rig.goal.distance <= 2000.0f);
    rig_focus(&rig, vec3(-3, 0.5f, 2), 0.5f);
    rig_settle(&rig);
    Camera camera = rig_camera(&rig);
    assert_true(vec3_distance(camera.target, vec3(-3, 0.5f, 2)) < 1e-3f);
    assert_true(rig.now.distance < 5.0f);
    rig_look(&rig, vec3(6, 5, 8), vec3(1, 1, 0), false);
    rig_settle(&rig);
    camera = rig_camera(&rig);
    assert_true(vec3_distance(camera.eye, vec3(6, 5, 8)) < 1e-2f);
    /* Straight down yaw is undefined; the camera is still valid. */
    rig_look(&rig, vec3(1, 9, 0), vec3(1, 1, 0), true);
    camera = rig_camera(&rig);
    assert_true(vec3_is_finite(camera.eye) && camera.eye.y > 8.5f);
}

static void test_flies_along_the_view(void **state)
{
    (void)state;
    CameraRig rig = rig_make();
    Camera before = rig_camera(&rig);
    rig_fly(&rig, vec3(0, 0, 1), 0.1f, false);
    rig_settle(&rig);
    Camera after = rig_camera(&rig);
    Vec3 way = vec3_sub(after.eye, before.eye);
    Vec3 forward = vec3_sub(before.target, before.eye);
    assert_true(vec3_length(way) > 0.1f);
    assert_true(vec3_dot(way, forward) > 0.99f * vec3_length(way) * vec3_length(forward));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts_where_the_scene_says),
        cmocka_unit_test(test_orbit_keeps_the_distance),
        cmocka_unit_test(test_pan_follows_the_cursor),
        cmocka_unit_test(test_stays_above_the_floor),
        cmocka_unit_test(test_flies_slowly_at_low_frame_rates),
        cmocka_unit_test(test_zoom_focus_and_home),
        cmocka_unit_test(test_flies_along_the_view),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
