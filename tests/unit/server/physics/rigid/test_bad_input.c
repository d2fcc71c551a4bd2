/* test_bad_input.c: absurd input: bad definitions are refused, and extreme situations stay bounded
 * and come to rest. */
#include "shared/base/limits.h"
#include "shared/math/random.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#ifdef __SANITIZE_THREAD__ /* twenty times slower; this test has one thread */
#define SLOW 1
#else
#define SLOW 0
#endif

static bool is_taken(const BodyDef *def)
{
    Rigid *rigid = kit_world(2, 4, KIT_GRAVITY_M_S2);
    bool taken = rigid_add(rigid, def).generation != 0;
    assert_true(taken == body_def_is_valid(def));
    assert_int_equal(rigid_slots(rigid), taken ? 1 : 0);
    rigid_destroy(rigid);
    return taken;
}

static const f32 not_finite[] = {NAN, INFINITY, -INFINITY};

/* Each number of a definition in turn is NaN or infinite. */
static void non_finite_numbers_are_refused(void **unused)
{
    PL_UNUSED(unused);
    BodyDef good = kit_box(vec3_zero(), vec3(1.0f, 1.0f, 1.0f)), def = good;
    f32 *fields[] = {
        &def.shape.half.x,
        &def.shape.half.y,
        &def.shape.half.z,
        &def.position.x,
        &def.position.y,
        &def.position.z,
        &def.orientation.w,
        &def.orientation.x,
        &def.orientation.y,
        &def.orientation.z,
        &def.velocity.x,
        &def.velocity.y,
        &def.velocity.z,
        &def.angular_velocity.x,
        &def.angular_velocity.y,
        &def.angular_velocity.z,
        &def.mass_kg,
        &def.friction,
        &def.restitution,
        &def.rolling,
        &def.gravity_scale,
        &def.linear_damping,
        &def.angular_damping,
        &def.surface_velocity.x,
        &def.surface_velocity.y,
        &def.surface_velocity.z,
    };
    assert_true(is_taken(&good));
    for (u32 i = 0; i < PL_COUNT(fields) * PL_COUNT(not_finite); i++) {
        def = good;
        *fields[i / 3] = not_finite[i % 3];
        if (is_taken(&def)) {
            fail_msg("number %u as %f is accepted", i / 3, (double)not_finite[i % 3]);
        }
    }
}

static void masses_out_of_range_are_refused(void **unused)
{
    PL_UNUSED(unused);
    static const f32 bad[] = {0.0f, -0.0f, -1.0f, 1e-30f, 1e20f, 3e38f};
    BodyDef def = kit_box(vec3_zero(), vec3(1.0f, 1.0f, 1.0f));
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        def.mass_kg = bad[i];
        assert_false(is_taken(&def));
        def.motion = BODY_STATIC; /* has no mass: the value is ignored */
        assert_true(is_taken(&def));
        def.motion = BODY_DYNAMIC;
    }
}

static void sizes_out_of_range_are_refused(void **unused)
{
    PL_UNUSED(unused);
    static const f32 bad[] = {0.0f, -0.5f, 1e-30f, 1e9f, 3e38f};
    static const ShapeKind round[] = {SHAPE_SPHERE, SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_CONE};
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        for (u32 k = 0; k < PL_COUNT(round); k++) {
            BodyDef def = kit_ball(vec3_zero(), 0.5f);
            def.shape.kind = round[k];
            def.shape.half_height = 0.5f;
            assert_true(is_taken(&def));
            def.shape.radius = bad[i];
            assert_false(is_taken(&def));
        }
        BodyDef box = kit_box(vec3_zero(), vec3(1.0f, 1.0f, 1.0f));
        box.shape.half.y = bad[i];
        assert_false(is_taken(&box));
    }
}

static void invalid_shapes_are_refused(void **unused)
{
    PL_UNUSED(unused);
    BodyDef def = kit_ball(vec3_zero(), 0.5f);
    static const ShapeKind without_geometry[] = {SHAPE_NONE,     SHAPE_HULL,    SHAPE_MESH,
                                                 SHAPE_COMPOUND, SHAPE_TERRAIN, SHAPE_KIND_COUNT};
    for (u32 i = 0; i < PL_COUNT(without_geometry); i++) {
        def.shape.kind = without_geometry[i];
        def.motion = i & 1 ? BODY_STATIC : BODY_DYNAMIC;
        assert_false(is_taken(&def));
    }
    def = kit_plane(quat_identity());
    assert_true(is_taken(&def));
    def.motion = BODY_DYNAMIC;
    assert_false(is_taken(&def));
    def = kit_ball(vec3(0.0f, 2.0f * WORLD_EXTENT_MAX_M, 0.0f), 0.5f);
    assert_false(is_taken(&def));
    def = kit_ball(vec3_zero(), 0.5f);
    def.orientation = (Quat){0.0f, 0.0f, 0.0f, 0.0f};
    assert_false(is_taken(&def));
    def = kit_ball(vec3_zero(), 0.5f);
    def.restitution = 2.0f;
    assert_false(is_taken(&def));
}

/* Slots [first, end): all poses are finite; the fastest body and the lowest. */
typedef struct Look {
    f32 fastest, lowest;
} Look;

static Look look_at(const Rigid *rigid, u32 first, u32 end)
{
    Look look = {0.0f, 1e9f};
    for (u32 i = first; i < end; i++) {
        Vec3 p = rigid_position(rigid, i);
        assert_true(vec3_is_finite(p) && quat_is_finite(rigid_orientation(rigid, i)));
        assert_true(vec3_is_finite(rigid_velocity(rigid, i)) &&
                    vec3_is_finite(rigid_angular_velocity(rigid, i)));
        look.fastest = f32_max(look.fastest, vec3_length(rigid_velocity(rigid, i)));
        look.lowest = f32_min(look.lowest, p.y);
    }
    return look;
}

static BodyDef any_body(u32 i, Vec3 position)
{
    BodyDef def = i % 3 ? kit_ball(position, 0.3f) : kit_box(position, vec3(0.3f, 0.25f, 0.35f));
    if (i % 3 == 2) {
        def.shape = (Shape){.kind = SHAPE_CAPSULE, .radius = 0.2f, .half_height = 0.25f};
    }
    def.rolling = 0.05f; /* so that round bodies come to rest on a plane */
    def.orientation =
        quat_normalize((Quat){1.0f, random_range(1, i, -1.0f, 1.0f),
                              random_range(2, i, -1.0f, 1.0f), random_range(3, i, -1.0f, 1.0f)});
    return def;
}

enum {
    BIN_PLANES = 6
};

/* A floor, four walls and a lid, all planes, so that nothing can escape; slots [0, BIN_PLANES). */
static Rigid *bin(u32 bodies, f32 half_width)
{
    Rigid *rigid = kit_world(bodies + BIN_PLANES, 4, KIT_GRAVITY_M_S2);
    BodyDef plane = kit_plane(quat_identity());
    kit_add(rigid, &plane);
    for (u32 i = 0; i < 4; i++) {
        Vec3 axis = i & 1 ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 0.0f, 1.0f);
        plane.orientation = kit_rotation(axis, i & 2 ? 90.0 : -90.0);
        Vec3 inwards = quat_rotate(plane.orientation, vec3(0.0f, 1.0f, 0.0f));
        plane.position = vec3_scale(inwards, -half_width);
        kit_add(rigid, &plane);
    }
    plane.orientation = kit_rotation(vec3(1.0f, 0.0f, 0.0f), 180.0);
    plane.position = vec3(0.0f, 2.0f * half_width, 0.0f);
    kit_add(rigid, &plane);
    return rigid;
}

/* Hundreds in one place (exactly, or nearly): pushed apart without an explosion, then at rest. */
static void many_bodies_in_one_place_separate(void **unused)
{
    PL_UNUSED(unused);
    static const f32 spreads[] = {0.0f, 0.01f, 0.3f};
    enum {
        CROWD = SLOW ? 40 : 200
    };
    for (u32 k = 0; k < PL_COUNT(spreads); k++) {
        Rigid *rigid = bin(CROWD, 5.0f);
        for (u32 i = 0; i < CROWD; i++) {
            Vec3 p = vec3(random_range(4, i, -spreads[k], spreads[k]),
                          2.0f + random_range(5, i, -spreads[k], spreads[k]),
                          random_range(6, i, -spreads[k], spreads[k]));
            BodyDef def = any_body(i, p);
            kit_add(rigid, &def);
        }
        f32 fastest = 0.0f, lowest = 1e9f;
        for (u32 t = 0; t < 480; t++) {
            kit_tick(rigid);
            Look look = look_at(rigid, BIN_PLANES, BIN_PLANES + CROWD);
            fastest = f32_max(fastest, look.fastest);
            lowest = f32_min(lowest, look.lowest);
        }
        Look end = look_at(rigid, BIN_PLANES, BIN_PLANES + CROWD);
        RigidStats stats;
        rigid_stats(rigid, &stats);
        printf("crowd within %.2f m: up to %.1f m/s, lowest %.2f m; after 8 s %.2f m/s, %.0f mm "
               "deep\n",
               (double)spreads[k], (double)fastest, (double)lowest, (double)end.fastest,
               (double)stats.penetration_max * 1e3);
        assert_true(fastest < 15.0f);
        assert_true(lowest > -0.5f);
        assert_true(end.fastest < 1.0f);
        assert_true(stats.penetration_max < 0.05f);
        rigid_destroy(rigid);
    }
}

/* Balls of one size at one point have no direction to separate in: they must not stack up along an
 * axis for good, but spread, and after a while cost no more than a heap. */
static void balls_in_one_point_spread(void **unused)
{
    PL_UNUSED(unused);
    enum {
        BALLS = SLOW ? 60 : 400
    };
    Rigid *rigid = kit_world(BALLS + 1, 4, KIT_GRAVITY_M_S2);
    BodyDef floor = kit_plane(quat_identity());
    kit_add(rigid, &floor);
    for (u32 i = 0; i < BALLS; i++) {
        BodyDef ball = kit_ball(vec3(0.0f, 2.0f, 0.0f), 0.25f);
        kit_add(rigid, &ball);
    }
    f32 fastest = 0.0f;
    for (u32 t = 0; t < 240; t++) {
        kit_tick(rigid);
        fastest = f32_max(fastest, look_at(rigid, 1, 1 + BALLS).fastest);
    }
    RigidStats stats;
    rigid_stats(rigid, &stats);
    printf("%d balls in one point: up to %.1f m/s; after 4 s %.2f contacts a ball, %.0f mm deep\n",
           BALLS, (double)fastest, (double)stats.contacts / BALLS,
           (double)stats.penetration_max * 1e3);
    assert_true(fastest < 15.0f);
    assert_true(stats.contacts < 3 * BALLS);
    assert_true(stats.penetration_max < 0.025f);
    rigid_destroy(rigid);
}

/* 10 km from the origin single precision resolves 1 mm: a floor there still holds. */
static void far_away_a_floor_still_holds(void **unused)
{
    PL_UNUSED(unused);
    static const Vec3 places[] = {
        {10000.0f, 0.0f, 0.0f}, {-10000.0f, 5000.0f, 10000.0f}, {0.0f, -10000.0f, 0.0f}};
    for (u32 k = 0; k < PL_COUNT(places); k++) {
        Rigid *rigid = kit_world(32, 4, KIT_GRAVITY_M_S2);
        BodyDef floor =
            kit_box(vec3_add(places[k], vec3(0.0f, -1.0f, 0.0f)), vec3(20.0f, 1.0f, 20.0f));
        floor.motion = BODY_STATIC;
        kit_add(rigid, &floor);
        for (u32 i = 0; i < 30; i++) {
            BodyDef def =
                any_body(i, vec3_add(places[k], vec3((f32)(i % 5) - 2.0f, 1.0f + (f32)(i / 15),
                                                     (f32)(i / 5 % 3) - 1.0f)));
            kit_add(rigid, &def);
        }
        kit_run(rigid, 8.0f);
        Look end = look_at(rigid, 1, 31);
        printf("%.0f m away: lowest %.3f m over the floor, fastest %.3f m/s\n",
               (double)vec3_length(places[k]), (double)(end.lowest - places[k].y),
               (double)end.fastest);
        assert_true(end.lowest - places[k].y > 0.15f);
        assert_true(end.fastest < 3.0f); /* a ball may just have rolled off another body */
        rigid_destroy(rigid);
    }
}

/* A force of 1e9 N for one tick on some bodies of a pile: speeds are limited, no NaN spreads, and
 * the remaining bodies come to rest. Bodies that fly out of the world stop at its edge. */
static void giant_forces_leave_a_world_that_recovers(void **unused)
{
    PL_UNUSED(unused);
    enum {
        PILE = SLOW ? 30 : 60
    };
    const u32 first = BIN_PLANES, end = first + PILE;
    Rigid *rigid = bin(PILE, 10.0f);
    for (u32 i = 0; i < PILE; i++) {
        BodyDef def = any_body(i, vec3((f32)(i % 4), 0.5f + (f32)(i / 16), (f32)(i / 4 % 4)));
        kit_add(rigid, &def);
    }
    kit_run(rigid, 1.0f);
    for (u32 t = 0; t < 10; t++) {
        for (u32 i = first; i < end; i += 7) {
            Vec3 push =
                vec3(random_range(7, i + t, -1e9f, 1e9f), random_range(8, i + t, -1e9f, 1e9f),
                     random_range(9, i + t, -1e9f, 1e9f));
            rigid_impulse(rigid, i, vec3(0.2f, 0.1f, 0.0f), vec3_scale(push, KIT_TICK_S));
        }
        kit_tick(rigid);
        /* Contacts distribute the momentum of speeds that were limited before. */
        assert_true(look_at(rigid, first, end).fastest < 1.0001f * SPEED_MAX_M_S);
    }
    rigid_impulse(rigid, first, vec3_zero(), vec3(3e38f, 3e38f, 3e38f));
    rigid_impulse(rigid, first + 1, vec3(NAN, 0.0f, 0.0f), vec3(1.0f, 0.0f, 0.0f));
    rigid_impulse(rigid, first + 2, vec3_zero(), vec3(INFINITY, 0.0f, 0.0f));
    rigid_set_velocity(rigid, first + 3, vec3(NAN, 0.0f, 0.0f), vec3_zero());
    rigid_set_velocity(rigid, first + 4, vec3(1e30f, 1e30f, 0.0f), vec3(1e30f, 0.0f, 0.0f));
    kit_run(rigid, 15.0f);
    Look look = look_at(rigid, first, end);
    f32 farthest = 0.0f;
    for (u32 i = first; i < end; i++) {
        Vec3 p = rigid_position(rigid, i);
        farthest = f32_max(farthest, f32_max(fabsf(p.x), fabsf(p.z)));
    }
    printf("15 s after giant forces: fastest %.2f m/s, lowest %.2f m, farthest %.2f m\n",
           (double)look.fastest, (double)look.lowest, (double)farthest);
    assert_true(look.fastest < 1.0f);
    assert_true(look.lowest > 0.0f);
    assert_true(farthest < 10.1f);
    rigid_destroy(rigid);
}

/* Mass ratios of 1e10, dust under a mountain: motion stays bounded. */
static void absurd_mass_ratios_stay_bounded(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(8, 4, KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    for (u32 i = 0; i < 6; i++) {
        BodyDef def = kit_box(vec3(0.0f, 0.5f + (f32)i, 0.0f), vec3(0.5f, 0.5f, 0.5f));
        def.mass_kg = i & 1 ? 1e8f : 1e-2f;
        kit_add(rigid, &def);
    }
    f32 fastest = 0.0f;
    for (u32 t = 0; t < 300; t++) {
        kit_tick(rigid);
        fastest = f32_max(fastest, look_at(rigid, 1, 7).fastest);
    }
    Look end = look_at(rigid, 1, 7);
    printf("mass ratio 1e10: up to %.1f m/s, lowest %.2f m\n", (double)fastest, (double)end.lowest);
    assert_true(fastest < 15.0f);
    assert_true(end.lowest > -1.0f);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(non_finite_numbers_are_refused),
        cmocka_unit_test(masses_out_of_range_are_refused),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(invalid_shapes_are_refused),
        cmocka_unit_test(many_bodies_in_one_place_separate),
        cmocka_unit_test(balls_in_one_point_spread),
        cmocka_unit_test(far_away_a_floor_still_holds),
        cmocka_unit_test(giant_forces_leave_a_world_that_recovers),
        cmocka_unit_test(absurd_mass_ratios_stay_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
