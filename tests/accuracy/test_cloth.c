/* test_cloth.c: cloth against physical laws and external reference values. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"
#include "server/physics/contact/distance.h"
#include "server/world/world.h"
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PARTICLES = 441
};

static void falls_like_a_stone(void **unused)
{
    PL_UNUSED(unused);
    static const f32 distances[] = {0.0f, 300.0f}; /* of the cloth from the origin, m */
    for (u32 k = 0; k < PL_COUNT(distances); k++) {
        SoftKit b = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(distances[k], distances[k] + 10.0f, 0.0f);
        SoftRange range = soft_kit_add_cloth(&b, &def, 21, 21, 1.0f, 1.0f);
        f32 start = soft_kit_mean_position(&b, range).y;
        soft_kit_ticks(&b, 60);
        f32 fallen = start - soft_kit_mean_position(&b, range).y;
        /* g t² / 2, plus ½ g t h for steps of h = 1/1440 s. */
        f32 expected = 0.5f * 9.81f * (1.0f + 1.0f / 1440.0f);
        printf("%.0f m away: fallen %.5f m, expected %.5f\n", (double)distances[k], (double)fallen,
               (double)expected);
        assert_float_equal(fallen, expected, k == 0 ? 1e-3f : 0.02f);
        assert_float_equal(soft_kit_mean_velocity(&b, range).y, -9.81f, 2e-3f);
        soft_kit_destroy(&b);
    }
}

static void inner_forces_keep_momentum(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(3.0f, 2.0f, 1.0f);
    SoftRange range = soft_kit_add_cloth(&b, &def, 21, 21, 1.0f, 1.0f);
    f64 before[3], after[3], scale = 0.0;
    for (u32 i = 0; i < range.count; i++) {
        f32 m = 1.0f / soft_inverse_mass(b.soft, i);
        Vec3 v = vec3(random_range(1, i, -2, 2), random_range(2, i, -2, 2),
                      random_range(3, i, -2, 2) + 0.5f);
        soft_impulse(b.soft, i, vec3_scale(v, m));
        scale += (f64)(m * vec3_length(v));
    }
    soft_kit_momentum(&b, before);
    soft_kit_ticks(&b, 300);
    soft_kit_momentum(&b, after);
    f64 change = soft_kit_drift(before, after, scale);
    printf("momentum changed by %.1e of the sum of its parts in 7200 steps\n", change);
    assert_true(change < 2e-6); /* each of some 10 million impulses is rounded */
    soft_kit_destroy(&b);
}

static void collision_keeps_momentum(void **unused)
{
    PL_UNUSED(unused);
    static const f32 frictions[] = {0.0f, 1.0f};
    for (u32 k = 0; k < PL_COUNT(frictions); k++) {
        SoftKit b = soft_kit_create(vec3_zero());
        Shape box = {.kind = SHAPE_BOX, .half = {0.2f, 0.15f, 0.1f}};
        BodyId id = soft_kit_add_body(&b, box, BODY_DYNAMIC, 1.0f, vec3(0.6f, 0.5f, -0.6f),
                                      vec3(0.7f, 0.2f, 3.0f));
        SoftDef def = soft_kit_cloth_def();
        def.friction = frictions[k];
        soft_kit_add_cloth(&b, &def, 21, 21, 1.0f, 1.0f);
        f64 before[3], after[3];
        soft_kit_momentum(&b, before);
        soft_kit_ticks(&b, 90);
        soft_kit_momentum(&b, after);
        f32 left = rigid_velocity(b.rigid, id.slot).z;
        f64 change = soft_kit_drift(before, after, 3.0);
        printf("friction %.1f: box at 3 m/s continues with %.3f, momentum changed by %.1e\n",
               (double)frictions[k], (double)left, change);
        /* 1 kg against 0.2 kg: at most the common speed without bounce, less if it leaves. */
        assert_true(left < 2.95f && left > 1.0f);
        assert_true(change < 1e-5); /* some 10 000 impulses, each rounded */
        soft_kit_destroy(&b);
    }
}

static void attached_cloth_keeps_momentum(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3_zero());
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    BodyId id =
        soft_kit_add_body(&b, ball, BODY_DYNAMIC, 0.5f, vec3(0.0f, 1.3f, 0.0f), vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    SoftPin pin = {.point = 110, .body = id};
    def.pins = &pin;
    def.pin_count = 1;
    SoftRange range = soft_kit_add_cloth(&b, &def, 11, 11, 1.0f, 1.0f);
    rigid_set_velocity(b.rigid, id.slot, vec3(-1.0f, 2.0f, 1.0f), vec3_zero());
    f64 before[3], after[3];
    soft_kit_momentum(&b, before);
    soft_kit_ticks(&b, 240);
    soft_kit_momentum(&b, after);
    f64 change = soft_kit_drift(before, after, 1.2);
    f32 strain = soft_strain(b.soft, range.body);
    printf("a ball pulls a cloth: momentum changed by %.1e, strain %.4f\n", change, (double)strain);
    assert_true(change < 1e-5); /* some 10 000 impulses, each rounded */
    assert_true(strain < 0.05f);
    soft_kit_destroy(&b);
}

/* No external force: the body and the attached cloth must keep their common velocity. */
static void attached_cloth_flies_along(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3_zero());
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    Vec3 v = vec3(2.0f, 0.0f, 0.0f);
    BodyId id = soft_kit_add_body(&b, ball, BODY_DYNAMIC, 0.05f, vec3(0.0f, 1.3f, 0.0f), v);
    SoftDef def = soft_kit_cloth_def();
    SoftPin pin = {.point = 110, .body = id};
    def.pins = &pin;
    def.pin_count = 1;
    SoftRange range = soft_kit_add_cloth(&b, &def, 11, 11, 1.0f, 1.0f);
    for (u32 i = 0; i < range.count; i++) {
        soft_impulse(b.soft, i, vec3_scale(v, 1.0f / soft_inverse_mass(b.soft, i)));
    }
    f32 worst = 0.0f, strain = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        soft_kit_ticks(&b, 1);
        worst = f32_max(worst, vec3_distance(rigid_velocity(b.rigid, id.slot), v));
        strain = f32_max(strain, soft_strain(b.soft, range.body));
    }
    printf("flying along: speed off by at most %.1e m/s, strain %.1e\n", (double)worst,
           (double)strain);
    assert_true(worst < 2e-3f);
    assert_true(strain < 1e-4f);
    soft_kit_destroy(&b);
}

static void hanging_strip_hardly_stretches(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    def.position = vec3(0.0f, 3.0f, 0.0f);
    def.damping = 0.5f;
    SoftPin pins[6];
    memset(pins, 0, sizeof pins);
    for (u32 i = 0; i < 6; i++) {
        pins[i].point = 40 * 6 + i;
    }
    def.pins = pins;
    def.pin_count = 6;
    SoftRange range = soft_kit_add_cloth(&b, &def, 6, 41, 0.25f, 2.0f);
    soft_kit_ticks(&b, 300);
    f32 strain = soft_strain(b.soft, range.body);
    printf("2 m strip of 40 cells: strain %.4f\n", (double)strain);
    assert_true(strain < 0.02f);
    soft_kit_destroy(&b);
}

/* A narrow cloth between a fixed nail and one that moves until the span is 1 m. Returns the sag. */
static f32 sag_of(f32 length)
{
    SoftKit b = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.01f};
    f32 seconds = 2.0f, speed = (length - 1.0f) / seconds;
    BodyId nail = soft_kit_add_body(&b, ball, BODY_KINEMATIC, 0.0f, vec3(length, 0.0f, 5.0f),
                                    vec3(-speed, 0.0f, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    def.orientation = (Quat){0.70710678f, 0.70710678f, 0.0f, 0.0f};
    def.bend_compliance = 1e6f;
    def.damping = 1.0f;
    SoftPin pins[4] = {
        {.point = 0}, {.point = 41}, {.point = 40, .body = nail}, {.point = 81, .body = nail}};
    def.pins = pins;
    def.pin_count = 4;
    soft_kit_add_cloth(&b, &def, 41, 2, length, 0.03f);
    soft_kit_ticks(&b, 120);
    rigid_set_velocity(b.rigid, nail.slot, vec3_zero(), vec3_zero());
    assert_float_equal(rigid_position(b.rigid, nail.slot).x, 1.0f, 1e-3f);
    soft_kit_ticks(&b, 600);
    f32 lowest = 0.0f;
    for (u32 i = 0; i < 41; i++) {
        lowest = f32_min(lowest, soft_position(b.soft, i).y);
    }
    soft_kit_destroy(&b);
    return -lowest;
}

static void chain_sags_like_a_catenary(void **unused)
{
    PL_UNUSED(unused);
    /* Span 1: a (cosh(1/2a) − 1) with 2 a sinh(1/2a) = length. */
    static const f32 table[][2] = {{1.1f, 0.200301f}, {1.5f, 0.502633f}};
    for (u32 i = 0; i < PL_COUNT(table); i++) {
        f32 sag = sag_of(table[i][0]);
        printf("length %.1f: sag %.5f, catenary %.5f\n", (double)table[i][0], (double)sag,
               (double)table[i][1]);
        assert_float_equal(sag, table[i][1], 0.03f * table[i][1]);
    }
}

static void sheet_follows_the_wind(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    SoftRange range = soft_kit_add_cloth(&b, &def, 21, 21, 1.0f, 1.0f);
    soft_set_wind(b.soft, vec3(0.0f, 0.0f, 5.0f), 1.2f);
    /* f = rho A (w − v) along the normal: v(t) = w (1 − exp(−rho A t / m)), rho A / m = 6 1/s. */
    static const f32 exponentials[] = {0.74081822f, 0.54881164f, 0.30119421f, 0.04978707f};
    static const u32 ticks[] = {3, 6, 12, 30};
    u32 at = 0;
    for (u32 i = 0; i < PL_COUNT(ticks); i++) {
        soft_kit_ticks(&b, ticks[i] - at);
        at = ticks[i];
        f32 v = soft_kit_mean_velocity(&b, range).z;
        f32 expected = 5.0f * (1.0f - exponentials[i]);
        printf("wind 5 m/s, %.2f s: %.4f m/s, expected %.4f\n", (double)at / 60.0, (double)v,
               (double)expected);
        assert_float_equal(v, expected, 0.03f * expected);
    }
    soft_kit_destroy(&b);
}

static void light_sheet_in_a_storm_is_no_faster(void **unused)
{
    PL_UNUSED(unused);
    SoftKit b = soft_kit_create(vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = 0.01f;
    SoftRange range = soft_kit_add_cloth(&b, &def, 21, 21, 1.0f, 1.0f);
    soft_set_wind(b.soft, vec3(0.0f, 0.0f, 30.0f), 10.0f);
    f32 fastest = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        soft_kit_ticks(&b, 1);
        fastest = f32_max(fastest, soft_kit_mean_velocity(&b, range).z);
    }
    printf("10 g sheet in 30 m/s of heavy air: at most %.3f m/s\n", (double)fastest);
    assert_true(fastest <= 30.01f && fastest > 25.0f);
    soft_kit_destroy(&b);
}

static void towel_stays_on_the_ball(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    Scene *scene = scene_load("shared/scenes/cloth.json", &error);
    assert_non_null(scene);
    World *world = world_create(scene, NULL, &error);
    assert_non_null(world);
    for (u32 i = 0; i < 300; i++) {
        world_tick(world, NULL, 0);
    }
    Frame *frame = world_frame(world);
    const FieldDesc *field = &world_fields(world)->fields[3];
    assert_string_equal(field->name, "points");
    const QPoint *points = frame_points(frame, 3);
    u32 towel = 41 * 41, flag = 31 * 21;
    f32 top = 0.0f, deepest = 1.0f, farthest = 0.0f;
    for (u32 i = 0; i < towel + flag; i++) {
        Vec3 p = vec3((f32)points[i].position[0], (f32)points[i].position[1],
                      (f32)points[i].position[2]);
        p = vec3_scale(p, field->quantum);
        if (i < towel) {
            top = f32_max(top, p.y);
            deepest = f32_min(deepest, vec3_distance(p, vec3(0.0f, 0.8f, 0.0f)) - 0.8f);
        } else {
            farthest = f32_max(farthest, vec3_distance(p, vec3(-2.9f, 3.7f, 0.0f)));
        }
    }
    f64 towel_strain = 1.0, flag_strain = 1.0;
    assert_true(world_probe(world, "towel strain", &towel_strain));
    assert_true(world_probe(world, "flag strain", &flag_strain));
    printf("towel: top at %.3f m, nearest %.4f m off the ball, strain %.4f\n", (double)top,
           (double)deepest, towel_strain);
    printf("flag: farthest point %.3f m from the mast, strain %.4f\n", (double)farthest,
           flag_strain);
    assert_true(top > 1.55f && top < 1.7f); /* the ball is 1.6 m high */
    assert_true(deepest > -0.005f);
    assert_true(towel_strain < 0.05);
    /* Half the height plus the length: 1.9 m. */
    assert_true(farthest < 1.95f && farthest > 1.0f);
    assert_true(flag_strain < 0.1); /* largest at its five pins */
    frame_release(frame);
    world_destroy(world);
    scene_destroy(scene);
}

/* Distance a cloth slides in 3 s on a box tilted by 20 degrees (tan 0.364). */
static f32 slide_on_slope(f32 friction)
{
    SoftKit b = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    BodyDef slope = body_def_default();
    slope.shape.kind = SHAPE_BOX;
    slope.shape.half = vec3(20.0f, 0.5f, 2.0f);
    slope.motion = BODY_STATIC;
    slope.friction = friction;
    slope.orientation = (Quat){0.98480775f, 0.0f, 0.0f, -0.17364818f};
    rigid_add(b.rigid, &slope);
    SoftDef def = soft_kit_cloth_def();
    def.friction = friction;
    Quat flat = {0.70710678f, 0.70710678f, 0.0f, 0.0f};
    def.orientation = quat_mul(slope.orientation, flat);
    def.position = quat_rotate(slope.orientation, vec3(-8.0f, 0.521f, -0.5f));
    SoftRange range = soft_kit_add_cloth(&b, &def, 11, 11, 1.0f, 1.0f);
    soft_kit_ticks(&b, 30);
    Vec3 start = soft_kit_mean_position(&b, range);
    soft_kit_ticks(&b, 180);
    f32 moved = vec3_distance(soft_kit_mean_position(&b, range), start);
    soft_kit_destroy(&b);
    return moved;
}

static void friction_holds_on_a_slope(void **unused)
{
    PL_UNUSED(unused);
    f32 held = slide_on_slope(0.5f), slid = slide_on_slope(0.2f);
    /* From 0.5 s to 3.5 s at g (sin − mu cos) = 1.5116 m/s²: 6 a. */
    f32 expected = 6.0f * 9.81f * (0.34202014f - 0.2f * 0.93969262f);
    printf("20 degrees: mu 0.5 creeps %.5f m in 3 s; mu 0.2 slides %.3f m, expected %.3f\n",
           (double)held, (double)slid, (double)expected);
    assert_true(held < 0.002f);
    assert_float_equal(slid, expected, 0.03f * expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(falls_like_a_stone),
        cmocka_unit_test(inner_forces_keep_momentum),
        cmocka_unit_test(collision_keeps_momentum),
        cmocka_unit_test(attached_cloth_keeps_momentum),
        cmocka_unit_test(attached_cloth_flies_along),
        cmocka_unit_test(hanging_strip_hardly_stretches),
        cmocka_unit_test(chain_sags_like_a_catenary),
        cmocka_unit_test(sheet_follows_the_wind),
        cmocka_unit_test(light_sheet_in_a_storm_is_no_faster),
        cmocka_unit_test(towel_stays_on_the_ball),
        cmocka_unit_test(friction_holds_on_a_slope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
