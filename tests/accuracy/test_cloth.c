/* test_cloth.c: cloth against laws and numbers that come from outside of the program. */
#include "protocol/scene.h"
#include "server/physics/couple.h"
#include "server/physics/soft/soft.h"
#include "server/world/world.h"
#include "shared/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const f32 tick_s = 1.0f / 60.0f;

enum {
    SUBSTEPS = 8,
    PARTICLES = 441
};

typedef struct Bench {
    Rigid *rigid;
    Soft *soft;
} Bench;

static Bench bench_create(Vec3 gravity)
{
    RigidDef def = {
        .body_capacity = 16, .tick_s = tick_s, .substeps = SUBSTEPS, .gravity = gravity};
    Bench b = {rigid_create(&def), soft_create()};
    assert_non_null(b.rigid);
    assert_non_null(b.soft);
    soft_set_gravity(b.soft, gravity);
    soft_set_wind(b.soft, vec3_zero(), 0.0f);
    return b;
}

static void bench_destroy(Bench *b)
{
    rigid_destroy(b->rigid);
    soft_destroy(b->soft);
}

static void bench_ticks(Bench *b, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        rigid_collide(b->rigid, NULL);
        soft_begin(b->soft, b->rigid, tick_s);
        rigid_prepare(b->rigid);
        for (u32 s = 0; s < SUBSTEPS; s++) {
            rigid_substep(b->rigid);
            soft_substep(b->soft, b->rigid, tick_s / SUBSTEPS);
        }
        rigid_finish(b->rigid);
    }
}

/* The defaults of a scene's cloth. */
static ClothDef cloth_def(u32 columns, u32 rows, f32 width, f32 height)
{
    ClothDef def = {.columns = columns,
                    .rows = rows,
                    .size = {width, height},
                    .orientation = {1.0f, 0.0f, 0.0f, 0.0f},
                    .area_density = 0.2f,
                    .stretch_compliance = 1e-7f,
                    .shear_compliance = 1e-5f,
                    .bend_compliance = 1e-2f,
                    .thickness = 0.02f,
                    .friction = 0.5f};
    return def;
}

static SoftRange add(Bench *b, const ClothDef *def)
{
    SoftRange range;
    assert_int_equal(soft_add_cloth(b->soft, b->rigid, def, &range), 0);
    assert_int_equal(soft_build(b->soft), 0);
    return range;
}

static Vec3 mean(const Vec3 *of, u32 count)
{
    f64 s[3] = {0};
    for (u32 i = 0; i < count; i++) {
        s[0] += (f64)of[i].x;
        s[1] += (f64)of[i].y;
        s[2] += (f64)of[i].z;
    }
    return vec3((f32)(s[0] / count), (f32)(s[1] / count), (f32)(s[2] / count));
}

static void momentum(const Bench *b, f64 sum[3])
{
    memset(sum, 0, 3 * sizeof *sum);
    const Vec3 *v = soft_velocities(b->soft);
    for (u32 i = 0; i < soft_particles(b->soft); i++) {
        f64 m = 1.0 / (f64)soft_inverse_masses(b->soft)[i];
        sum[0] += m * (f64)v[i].x;
        sum[1] += m * (f64)v[i].y;
        sum[2] += m * (f64)v[i].z;
    }
    for (u32 i = 0; i < rigid_slots(b->rigid); i++) {
        f64 m = (f64)rigid_mass(b->rigid, i);
        Vec3 u = rigid_velocity(b->rigid, i);
        sum[0] += m * (f64)u.x;
        sum[1] += m * (f64)u.y;
        sum[2] += m * (f64)u.z;
    }
}

/* Largest component of the change, as a part of `scale`. */
static f64 drift(const f64 before[3], const f64 after[3], f64 scale)
{
    f64 worst = 0.0;
    for (u32 i = 0; i < 3; i++) {
        f64 change = after[i] - before[i];
        worst = change > worst ? change : -change > worst ? -change : worst;
    }
    return worst / scale;
}

static void falls_like_a_stone(void **unused)
{
    PL_UNUSED(unused);
    static const f32 distances[] = {0.0f, 300.0f}; /* of the cloth from the origin, m */
    for (u32 k = 0; k < PL_COUNT(distances); k++) {
        Bench b = bench_create(vec3(0.0f, -9.81f, 0.0f));
        ClothDef def = cloth_def(21, 21, 1.0f, 1.0f);
        def.position = vec3(distances[k], distances[k] + 10.0f, 0.0f);
        SoftRange range = add(&b, &def);
        f32 start = mean(soft_positions(b.soft), range.count).y;
        bench_ticks(&b, 60);
        f32 fallen = start - mean(soft_positions(b.soft), range.count).y;
        /* g t² / 2, and ½ g t h more for steps of h = 1/1440 s. */
        f32 expected = 0.5f * 9.81f * (1.0f + 1.0f / 1440.0f);
        printf("%.0f m away: fallen %.5f m, expected %.5f\n", (double)distances[k], (double)fallen,
               (double)expected);
        assert_float_equal(fallen, expected, k == 0 ? 1e-3f : 0.02f);
        assert_float_equal(mean(soft_velocities(b.soft), range.count).y, -9.81f, 2e-3f);
        bench_destroy(&b);
    }
}

static void inner_forces_keep_momentum(void **unused)
{
    PL_UNUSED(unused);
    Bench b = bench_create(vec3_zero());
    ClothDef def = cloth_def(21, 21, 1.0f, 1.0f);
    def.position = vec3(3.0f, 2.0f, 1.0f);
    SoftRange range = add(&b, &def);
    f64 before[3], after[3], scale = 0.0;
    for (u32 i = 0; i < range.count; i++) {
        f32 m = 1.0f / soft_inverse_masses(b.soft)[i];
        Vec3 v = vec3(random_range(1, i, -2, 2), random_range(2, i, -2, 2),
                      random_range(3, i, -2, 2) + 0.5f);
        soft_impulse(b.soft, i, vec3_scale(v, m));
        scale += (f64)(m * vec3_length(v));
    }
    momentum(&b, before);
    bench_ticks(&b, 300);
    momentum(&b, after);
    f64 change = drift(before, after, scale);
    printf("momentum changed by %.1e of the sum of its parts in 7200 steps\n", change);
    assert_true(change < 1e-6);
    bench_destroy(&b);
}

static BodyId add_body(Bench *b, Shape shape, BodyMotion motion, f32 mass, Vec3 at, Vec3 velocity)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.motion = motion;
    def.mass_kg = mass;
    def.position = at;
    def.velocity = velocity;
    return rigid_add(b->rigid, &def);
}

static void collision_keeps_momentum(void **unused)
{
    PL_UNUSED(unused);
    static const f32 frictions[] = {0.0f, 1.0f};
    for (u32 k = 0; k < PL_COUNT(frictions); k++) {
        Bench b = bench_create(vec3_zero());
        Shape box = {.kind = SHAPE_BOX, .half = {0.2f, 0.15f, 0.1f}};
        BodyId id =
            add_body(&b, box, BODY_DYNAMIC, 1.0f, vec3(0.6f, 0.5f, -0.6f), vec3(0.7f, 0.2f, 3.0f));
        ClothDef def = cloth_def(21, 21, 1.0f, 1.0f);
        def.friction = frictions[k];
        add(&b, &def);
        f64 before[3], after[3];
        momentum(&b, before);
        bench_ticks(&b, 90);
        momentum(&b, after);
        f32 left = rigid_velocity(b.rigid, id.slot).z;
        f64 change = drift(before, after, 3.0);
        printf("friction %.1f: box at 3 m/s goes on with %.3f, momentum changed by %.1e\n",
               (double)frictions[k], (double)left, change);
        /* 1 kg against 0.2 kg: at most to the common speed if nothing bounces, less if it leaves.
         */
        assert_true(left < 2.95f && left > 1.0f);
        assert_true(change < 1e-5); /* some 10 000 impulses, each rounded */
        bench_destroy(&b);
    }
}

static void attached_cloth_keeps_momentum(void **unused)
{
    PL_UNUSED(unused);
    Bench b = bench_create(vec3_zero());
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    BodyId id = add_body(&b, ball, BODY_DYNAMIC, 0.5f, vec3(0.0f, 1.3f, 0.0f), vec3_zero());
    ClothDef def = cloth_def(11, 11, 1.0f, 1.0f);
    SoftPin pin = {.point = 110, .body = id};
    def.pins = &pin;
    def.pin_count = 1;
    SoftRange range = add(&b, &def);
    rigid_set_velocity(b.rigid, id.slot, vec3(-1.0f, 2.0f, 1.0f), vec3_zero());
    f64 before[3], after[3];
    momentum(&b, before);
    bench_ticks(&b, 240);
    momentum(&b, after);
    f64 change = drift(before, after, 1.2);
    f32 strain = soft_strain(b.soft, range);
    printf("a ball pulls a cloth: momentum changed by %.1e, strain %.4f\n", change, (double)strain);
    assert_true(change < 1e-5); /* some 10 000 impulses, each rounded */
    assert_true(strain < 0.05f);
    bench_destroy(&b);
}

/* Nothing pulls: the body and what hangs on it must keep the speed they have in common. */
static void attached_cloth_flies_along(void **unused)
{
    PL_UNUSED(unused);
    Bench b = bench_create(vec3_zero());
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    Vec3 v = vec3(2.0f, 0.0f, 0.0f);
    BodyId id = add_body(&b, ball, BODY_DYNAMIC, 0.05f, vec3(0.0f, 1.3f, 0.0f), v);
    ClothDef def = cloth_def(11, 11, 1.0f, 1.0f);
    SoftPin pin = {.point = 110, .body = id};
    def.pins = &pin;
    def.pin_count = 1;
    SoftRange range = add(&b, &def);
    for (u32 i = 0; i < range.count; i++) {
        soft_impulse(b.soft, i, vec3_scale(v, 1.0f / soft_inverse_masses(b.soft)[i]));
    }
    f32 worst = 0.0f, strain = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        bench_ticks(&b, 1);
        worst = f32_max(worst, vec3_distance(rigid_velocity(b.rigid, id.slot), v));
        strain = f32_max(strain, soft_strain(b.soft, range));
    }
    printf("flying along: speed off by at most %.1e m/s, strain %.1e\n", (double)worst,
           (double)strain);
    assert_true(worst < 2e-3f);
    assert_true(strain < 1e-4f);
    bench_destroy(&b);
}

static void hanging_strip_hardly_stretches(void **unused)
{
    PL_UNUSED(unused);
    Bench b = bench_create(vec3(0.0f, -9.81f, 0.0f));
    ClothDef def = cloth_def(6, 41, 0.25f, 2.0f);
    def.position = vec3(0.0f, 3.0f, 0.0f);
    def.damping = 0.5f;
    SoftPin pins[6];
    memset(pins, 0, sizeof pins);
    for (u32 i = 0; i < 6; i++) {
        pins[i].point = 40 * 6 + i;
    }
    def.pins = pins;
    def.pin_count = 6;
    SoftRange range = add(&b, &def);
    bench_ticks(&b, 300);
    f32 strain = soft_strain(b.soft, range);
    printf("2 m strip of 40 cells: strain %.4f\n", (double)strain);
    assert_true(strain < 0.02f);
    bench_destroy(&b);
}

/* A narrow cloth between a nail and a nail that moves until the span is 1 m. Returns the sag. */
static f32 sag_of(f32 length)
{
    Bench b = bench_create(vec3(0.0f, -9.81f, 0.0f));
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.01f};
    f32 seconds = 2.0f, speed = (length - 1.0f) / seconds;
    BodyId nail = add_body(&b, ball, BODY_KINEMATIC, 0.0f, vec3(length, 0.0f, 5.0f),
                           vec3(-speed, 0.0f, 0.0f));
    ClothDef def = cloth_def(41, 2, length, 0.03f);
    def.orientation = (Quat){0.70710678f, 0.70710678f, 0.0f, 0.0f};
    def.bend_compliance = 1e6f;
    def.damping = 1.0f;
    SoftPin pins[4] = {
        {.point = 0}, {.point = 41}, {.point = 40, .body = nail}, {.point = 81, .body = nail}};
    def.pins = pins;
    def.pin_count = 4;
    add(&b, &def);
    bench_ticks(&b, 120);
    rigid_set_velocity(b.rigid, nail.slot, vec3_zero(), vec3_zero());
    assert_float_equal(rigid_position(b.rigid, nail.slot).x, 1.0f, 1e-3f);
    bench_ticks(&b, 600);
    f32 lowest = 0.0f;
    for (u32 i = 0; i < 41; i++) {
        lowest = f32_min(lowest, soft_positions(b.soft)[i].y);
    }
    bench_destroy(&b);
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
    Bench b = bench_create(vec3_zero());
    ClothDef def = cloth_def(21, 21, 1.0f, 1.0f);
    SoftRange range = add(&b, &def);
    soft_set_wind(b.soft, vec3(0.0f, 0.0f, 5.0f), 1.2f);
    /* f = rho A (w − v) along the normal: v(t) = w (1 − exp(−rho A t / m)), rho A / m = 6 1/s. */
    static const f32 exponentials[] = {0.74081822f, 0.54881164f, 0.30119421f, 0.04978707f};
    static const u32 ticks[] = {3, 6, 12, 30};
    u32 at = 0;
    for (u32 i = 0; i < PL_COUNT(ticks); i++) {
        bench_ticks(&b, ticks[i] - at);
        at = ticks[i];
        f32 v = mean(soft_velocities(b.soft), range.count).z;
        f32 expected = 5.0f * (1.0f - exponentials[i]);
        printf("wind 5 m/s, %.2f s: %.4f m/s, expected %.4f\n", (double)at / 60.0, (double)v,
               (double)expected);
        assert_float_equal(v, expected, 0.03f * expected);
    }
    bench_destroy(&b);
}

static void light_sheet_in_a_storm_is_no_faster(void **unused)
{
    PL_UNUSED(unused);
    Bench b = bench_create(vec3_zero());
    ClothDef def = cloth_def(21, 21, 1.0f, 1.0f);
    def.area_density = 0.01f;
    SoftRange range = add(&b, &def);
    soft_set_wind(b.soft, vec3(0.0f, 0.0f, 30.0f), 10.0f);
    f32 fastest = 0.0f;
    for (u32 i = 0; i < 60; i++) {
        bench_ticks(&b, 1);
        fastest = f32_max(fastest, mean(soft_velocities(b.soft), range.count).z);
    }
    printf("10 g sheet in 30 m/s of heavy air: at most %.3f m/s\n", (double)fastest);
    assert_true(fastest <= 30.01f && fastest > 25.0f);
    bench_destroy(&b);
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
    /* Half the height and the length: 1.9 m. */
    assert_true(farthest < 1.95f && farthest > 1.0f);
    assert_true(flag_strain < 0.1); /* most at its five pins */
    frame_release(frame);
    world_destroy(world);
    scene_destroy(scene);
}

/* How far a cloth slides in 3 s on a box tilted by 20 degrees (tan 0.364). */
static f32 slide_on_slope(f32 friction)
{
    Bench b = bench_create(vec3(0.0f, -9.81f, 0.0f));
    BodyDef slope = body_def_default();
    slope.shape.kind = SHAPE_BOX;
    slope.shape.half = vec3(20.0f, 0.5f, 2.0f);
    slope.motion = BODY_STATIC;
    slope.friction = friction;
    slope.orientation = (Quat){0.98480775f, 0.0f, 0.0f, -0.17364818f};
    rigid_add(b.rigid, &slope);
    ClothDef def = cloth_def(11, 11, 1.0f, 1.0f);
    def.friction = friction;
    Quat flat = {0.70710678f, 0.70710678f, 0.0f, 0.0f};
    def.orientation = quat_mul(slope.orientation, flat);
    def.position = quat_rotate(slope.orientation, vec3(-8.0f, 0.521f, -0.5f));
    SoftRange range = add(&b, &def);
    bench_ticks(&b, 30);
    Vec3 start = mean(soft_positions(b.soft), range.count);
    bench_ticks(&b, 180);
    f32 moved = vec3_distance(mean(soft_positions(b.soft), range.count), start);
    bench_destroy(&b);
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
