/* test_rigid.c: rigid bodies against results derived by hand. */
#include "server/physics/rigid/rigid.h"
#include "shared/math/random.h"
#include "tests/support/rigid_kit.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const Vec3 earth = {0.0f, -9.81f, 0.0f};

static BodyId add_plane(Rigid *rigid, Quat orientation)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_PLANE;
    def.motion = BODY_STATIC;
    def.orientation = orientation;
    return rigid_add(rigid, &def);
}

static BodyId add_box(Rigid *rigid, Vec3 position, Vec3 half, f32 mass)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_BOX;
    def.shape.half = half;
    def.position = position;
    def.mass_kg = mass;
    return rigid_add(rigid, &def);
}

static BodyId add_ball(Rigid *rigid, Vec3 position, f32 radius, f32 restitution)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_SPHERE;
    def.shape.radius = radius;
    def.position = position;
    def.restitution = restitution;
    return rigid_add(rigid, &def);
}

static u64 state_hash(Rigid *rigid)
{
    State state = {.mode = STATE_HASH};
    rigid_serialize(rigid, &state);
    return state.hash;
}

static void projectile_flies_a_parabola(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(4, 8, earth);
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_SPHERE;
    def.shape.radius = 0.1f;
    def.velocity = vec3(3.0f, 10.0f, 0.0f);
    BodyId ball = rigid_add(rigid, &def);
    for (u32 i = 0; i < 60; i++) {
        kit_tick(rigid);
    }
    Vec3 p = rigid_position(rigid, ball.slot);
    assert_float_equal(p.x, 3.0f, 1e-5f);
    assert_float_equal(p.y, 10.0f - 0.5f * 9.81f, 1e-5f);
    rigid_destroy(rigid);
}

static void ball_bounces_to_e_squared(void **unused)
{
    PL_UNUSED(unused);
    for (u32 n = 3; n <= 9; n += 3) {
        f32 e = (f32)n / 10.0f;
        Rigid *rigid = kit_sleeping_world(4, 8, earth);
        add_plane(rigid, quat_identity());
        BodyId ball = add_ball(rigid, vec3(0.0f, 1.2f, 0.0f), 0.2f, e);
        bool hit = false;
        f32 top = 0.0f;
        for (u32 i = 0; i < 90; i++) {
            kit_tick(rigid);
            hit = hit || rigid_velocity(rigid, ball.slot).y > 0.0f;
            if (hit) {
                top = f32_max(top, rigid_position(rigid, ball.slot).y - 0.2f);
                if (rigid_velocity(rigid, ball.slot).y < 0.0f) {
                    break;
                }
            }
        }
        printf("e %.1f: height %.4f, expected %.4f\n", (double)e, (double)top, (double)(e * e));
        assert_float_equal(top, e * e, 0.03f * e * e + 0.005f);
        rigid_destroy(rigid);
    }
}

/* tan of the slope; the friction coefficient is 0.6 (angle of friction 30.96 degrees). */
static f32 slide(f32 sine, f32 cosine, f32 seconds, f32 *speed)
{
    Rigid *rigid = kit_sleeping_world(4, 8, earth);
    /* Half-angle formulas: a rotation about z by the angle. */
    Quat q = {sqrtf(0.5f * (1.0f + cosine)), 0.0f, 0.0f, sqrtf(0.5f * (1.0f - cosine))};
    add_plane(rigid, q);
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_BOX;
    def.shape.half = vec3(0.5f, 0.25f, 0.5f);
    def.orientation = q;
    def.position = vec3(-sine * 0.25f, cosine * 0.25f, 0.0f);
    BodyId box = rigid_add(rigid, &def);
    for (u32 i = 0; i < (u32)(seconds * 60.0f); i++) {
        kit_tick(rigid);
    }
    *speed = vec3_length(rigid_velocity(rigid, box.slot));
    f32 moved = vec3_distance(rigid_position(rigid, box.slot), def.position);
    rigid_destroy(rigid);
    return moved;
}

static void incline_holds_below_and_slides_above(void **unused)
{
    PL_UNUSED(unused);
    f32 speed;
    assert_true(slide(0.438371f, 0.898794f, 5.0f, &speed) < 0.02f); /* 26° */
    assert_true(slide(0.5f, 0.866025f, 5.0f, &speed) < 0.02f);      /* 30° */
    slide(0.642788f, 0.766044f, 1.0f, &speed);                      /* 40° */
    f32 expected = 9.81f * (0.642788f - 0.6f * 0.766044f);
    printf("40 degrees: %.4f m/s after 1 s, expected %.4f\n", (double)speed, (double)expected);
    assert_float_equal(speed, expected, 0.03f * expected);
}

static void t_handle_keeps_its_energy(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(4, 8, vec3_zero());
    BodyId box = add_box(rigid, vec3_zero(), vec3(0.1f, 0.5f, 0.25f), 2.0f);
    rigid_set_velocity(rigid, box.slot, vec3_zero(), vec3(0.01f, 0.01f, 8.0f));
    Symmetric3 tensor = rigid_inertia(rigid, box.slot);
    Vec3 inertia = vec3(tensor.xx, tensor.yy, tensor.zz);
    f32 first = 0.0f, least = 1.0f, most = 0.0f, flipped = 1.0f;
    for (u32 i = 0; i < 1200; i++) {
        Vec3 w = quat_rotate_inverse(rigid_orientation(rigid, box.slot),
                                     rigid_angular_velocity(rigid, box.slot));
        f32 energy = vec3_dot(w, vec3_mul(inertia, w));
        first = i == 0 ? energy : first;
        least = f32_min(least, energy / first);
        most = f32_max(most, energy / first);
        flipped = f32_min(flipped, w.z / 8.0f);
        kit_tick(rigid);
    }
    printf("T-handle: energy %.5f to %.5f, z spin down to %.2f\n", (double)least, (double)most,
           (double)flipped);
    assert_true(least > 0.99f && most < 1.01f);
    assert_true(flipped < -0.9f); /* the middle axis is unstable */
    rigid_destroy(rigid);
}

static void collisions_keep_momentum(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(64, 8, vec3_zero());
    for (u32 i = 0; i < 60; i++) {
        Vec3 p = vec3((f32)(i % 4), (f32)(i / 4 % 4), (f32)(i / 16));
        BodyId b = i & 1 ? add_ball(rigid, p, 0.4f, 0.5f)
                         : add_box(rigid, p, vec3(0.4f, 0.3f, 0.35f), 3.0f);
        rigid_set_velocity(rigid, b.slot, vec3_scale(vec3_sub(vec3(1.5f, 1.5f, 1.5f), p), 2.0f),
                           vec3_scale(p, 0.7f));
    }
    Vec3 before = vec3_zero(), after = vec3_zero();
    f32 scale = 0.0f;
    u32 most = 0;
    for (u32 t = 0; t <= 120; t++) {
        Vec3 sum = vec3_zero();
        for (u32 i = 0; i < 60; i++) {
            f32 m = rigid_mass(rigid, i);
            sum = vec3_add_scaled(sum, m, rigid_velocity(rigid, i));
            scale += t == 0 ? m * vec3_length(rigid_velocity(rigid, i)) : 0.0f;
        }
        before = t == 0 ? sum : before;
        after = sum;
        kit_tick(rigid);
        RigidStats stats;
        rigid_stats(rigid, &stats);
        most = u32_max(most, stats.touching);
    }
    f32 drift = vec3_distance(before, after);
    printf("momentum drift %.2e of %.1f kg m/s, %u contacts\n", (double)drift, (double)scale, most);
    assert_true(most > 20);
    assert_true(drift < 2e-5f * scale);
    rigid_destroy(rigid);
}

static void grab_is_a_damped_spring(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(4, 16, vec3_zero());
    BodyId box = add_box(rigid, vec3_zero(), vec3(0.2f, 0.2f, 0.2f), 5.0f);
    RigidGrab grab = {.body = box,
                      .target = {1.0f, 0.0f, 0.0f},
                      .frequency = 1.0f,
                      .damping = 1.0f,
                      .force_max = 1e6f};
    assert_true(rigid_grab_add(rigid, &grab) >= 0);
    for (u32 i = 0; i < 30; i++) {
        kit_tick(rigid);
    }
    /* Critical damping: 1 − (1 + ω t) e^(−ω t) with ω t = π: 0.82102. */
    f32 x = rigid_position(rigid, box.slot).x;
    printf("grip: %.4f, expected 0.8210\n", (double)x);
    assert_float_equal(x, 0.82102f, 0.01f);
    rigid_destroy(rigid);
}

/* Ten courses of ten bricks, every second one offset by a third of a brick. */
static void build_wall(Rigid *rigid)
{
    add_plane(rigid, quat_identity());
    for (u32 row = 0; row < 10; row++) {
        for (u32 i = 0; i < 10; i++) {
            Vec3 p = vec3((f32)i * 0.62f + (row & 1 ? 0.2f : 0.0f), 0.15f + (f32)row * 0.3f, 0.0f);
            add_box(rigid, p, vec3(0.3f, 0.15f, 0.15f), 20.0f);
        }
    }
}

static void wall_stands_and_sleeps(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(128, 8, earth);
    build_wall(rigid);
    f32 drift = 0.0f, deepest = 0.0f;
    RigidStats stats;
    for (u32 i = 0; i < 600; i++) {
        kit_tick(rigid);
        rigid_stats(rigid, &stats);
        deepest = f32_max(deepest, stats.penetration_max);
    }
    for (u32 i = 0; i < 10; i++) {
        Vec3 p = rigid_position(rigid, 91 + i);
        Vec3 start = vec3((f32)i * 0.62f + 0.2f, 0.15f + 9.0f * 0.3f, 0.0f);
        drift = f32_max(drift, vec3_distance(p, start));
    }
    printf("wall: top drift %.2f mm, deepest %.2f mm, awake %u\n", (double)drift * 1e3,
           (double)deepest * 1e3, stats.awake);
    assert_true(drift < 0.02f);
    assert_true(deepest < 0.005f);
    assert_int_equal(stats.awake, 0);
    rigid_destroy(rigid);
}

static void build_pile(Rigid *rigid, u32 count)
{
    add_plane(rigid, quat_identity());
    for (u32 i = 0; i < count; i++) {
        BodyDef def = body_def_default();
        def.position = vec3((f32)(i % 5) * 0.9f + random_range(7, i, -0.05f, 0.05f),
                            0.6f + (f32)(i / 25) * 0.9f, (f32)(i / 5 % 5) * 0.9f);
        def.shape.kind = i % 3 == 0 ? SHAPE_SPHERE : i % 3 == 1 ? SHAPE_BOX : SHAPE_CAPSULE;
        def.shape.radius = 0.25f;
        def.shape.half_height = 0.2f;
        def.shape.half = vec3(0.3f, 0.25f, 0.35f);
        def.orientation = quat_normalize(
            (Quat){1.0f, random_range(8, i, -1, 1), random_range(9, i, -1, 1), 0.3f});
        def.rolling = 0.01f;
        rigid_add(rigid, &def);
    }
}

static void threads_do_not_change_bits(void **unused)
{
    PL_UNUSED(unused);
    u64 hashes[3];
    for (u32 n = 0; n < 3; n++) {
        Jobs *jobs = jobs_create(1u << n);
        Rigid *rigid = kit_sleeping_world(160, 4, earth);
        build_pile(rigid, 150);
        for (u32 i = 0; i < 180; i++) {
            kit_tick_jobs(rigid, jobs);
        }
        hashes[n] = state_hash(rigid);
        rigid_destroy(rigid);
        jobs_destroy(jobs);
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(hashes[0] == hashes[2]);
}

static void save_and_load_continue_alike(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(160, 4, earth), *copy = kit_sleeping_world(160, 4, earth);
    build_pile(rigid, 150);
    for (u32 i = 0; i < 70; i++) {
        kit_tick(rigid);
    }
    State state = {.mode = STATE_COUNT};
    rigid_serialize(rigid, &state);
    u8 *image = malloc(state.used);
    assert_non_null(image);
    size_t bytes = state.used;
    state = (State){.mode = STATE_SAVE, .data = image, .bytes = bytes};
    rigid_serialize(rigid, &state);
    assert_false(state.failed);
    state = (State){.mode = STATE_LOAD, .data = image, .bytes = bytes};
    rigid_serialize(copy, &state);
    assert_false(state.failed);
    free(image);
    for (u32 i = 0; i < 120; i++) {
        assert_true(state_hash(rigid) == state_hash(copy));
        kit_tick(rigid);
        kit_tick(copy);
    }
    assert_true(state_hash(rigid) == state_hash(copy));
    rigid_destroy(rigid);
    rigid_destroy(copy);
}

static void absurd_inputs_stay_bounded(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(140, 8, earth);
    add_plane(rigid, quat_identity());
    for (u32 i = 0; i < 120; i++) {
        add_box(rigid, vec3(0.0f, 1.0f, 0.0f), vec3(0.3f, 0.3f, 0.3f), 10.0f);
    }
    rigid_impulse(rigid, 1, vec3(0.3f, 0.0f, 0.1f), vec3(1e9f, -1e9f, 1e9f));
    rigid_impulse(rigid, 2, vec3(0.3f, 0.0f, 0.1f), vec3(NAN, 0.0f, 0.0f));
    for (u32 i = 0; i < 120; i++) {
        kit_tick(rigid);
    }
    for (u32 i = 1; i <= 120; i++) {
        assert_true(vec3_is_finite(rigid_position(rigid, i)));
        assert_true(quat_is_finite(rigid_orientation(rigid, i)));
        assert_true(vec3_length(rigid_velocity(rigid, i)) < 2001.0f);
        assert_true(rigid_position(rigid, i).y > -0.5f);
    }
    rigid_destroy(rigid);
}

static void heap_is_level_over_1000_ticks(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_sleeping_world(160, 4, earth);
    build_pile(rigid, 150);
    for (u32 i = 0; i < 120; i++) {
        kit_tick(rigid);
    }
    size_t before = mallinfo2().uordblks;
    for (u32 i = 0; i < 1000; i++) {
        rigid_impulse(rigid, 1 + i % 150, vec3_zero(), vec3(0.0f, 2.0f, 0.5f));
        rigid_wake(rigid, 1 + i % 150);
        kit_tick(rigid);
    }
    assert_int_equal(mallinfo2().uordblks, before);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projectile_flies_a_parabola),
        cmocka_unit_test(ball_bounces_to_e_squared),
        cmocka_unit_test(incline_holds_below_and_slides_above),
        cmocka_unit_test(t_handle_keeps_its_energy),
        cmocka_unit_test(collisions_keep_momentum),
        cmocka_unit_test(grab_is_a_damped_spring),
        cmocka_unit_test(wall_stands_and_sleeps),
        cmocka_unit_test(threads_do_not_change_bits),
        cmocka_unit_test(save_and_load_continue_alike),
        cmocka_unit_test(absurd_inputs_stay_bounded),
        cmocka_unit_test(heap_is_level_over_1000_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
