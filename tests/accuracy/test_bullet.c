/* test_bullet.c: fast bodies do not tunnel, and are not deflected by bodies they do not touch. */
#include "server/physics/rigid/rigid.h"
#include "shared/geometry/geometry.h"
#include "tests/support/any.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/sheet.h"

enum {
    BULLETS = 100
};

static Any any;

static u32 add_box(Rigid *rigid, Vec3 position, Vec3 half, BodyMotion motion, f32 mass)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_BOX;
    def.shape.half = half;
    def.position = position;
    def.motion = motion;
    def.mass_kg = mass;
    BodyId id = rigid_add(rigid, &def);
    assert_int_not_equal(id.generation, 0);
    return id.slot;
}

/* A bullet on the side z < 0 that will hit the wall (z = 0, 2 m around the origin) at some
 * angle. */
static BodyDef bullet(u32 i)
{
    BodyDef def = body_def_default();
    def.shape = any_shape(&any, 3, 0.005f, 0.05f);
    def.mass_kg = 0.02f;
    def.friction = 0.3f;
    def.restitution = i % 2 ? 0.5f : 0.0f;
    def.gravity_scale = 0.0f;
    def.orientation = any_rotation(&any);
    def.angular_velocity = any_vec(&any, -30.0f, 30.0f);
    Vec3 target = any_vec(&any, -1.5f, 1.5f);
    target.z = 0.0f;
    Vec3 side = any_vec(&any, -1.0f, 1.0f);
    side.z = -1.0f;
    side = vec3_normalize_or(side, side);
    f32 speed = 20.0f + 4.0f * (f32)i;
    def.position = vec3_add_scaled(target, any_between(&any, 0.5f, 8.0f), side);
    def.velocity = vec3_scale(side, -speed);
    return def;
}

/* Position of a body in the frame of a box. */
static Vec3 seen_from(const Rigid *rigid, u32 box, u32 slot)
{
    Vec3 d = vec3_sub(rigid_position(rigid, slot), rigid_position(rigid, box));
    return quat_rotate_inverse(rigid_orientation(rigid, box), d);
}

/* Fires each bullet alone at the plates of a world; none may change sides within a plate's
 * edges. */
static u32 count_through(void (*build)(Rigid *rigid))
{
    u32 through = 0, hits = 0;
    for (u32 i = 0; i < BULLETS; i++) {
        Rigid *rigid = kit_sleeping_world(64, 4, vec3_zero());
        build(rigid);
        u32 plates = rigid_slots(rigid);
        BodyDef def = bullet(i);
        BodyId id = rigid_add(rigid, &def);
        Vec3 before[64];
        bool passed = false;
        for (u32 t = 0; t < 40; t++) {
            for (u32 w = 0; w < plates; w++) {
                before[w] = seen_from(rigid, w, id.slot);
            }
            kit_tick(rigid);
            for (u32 w = 0; w < plates; w++) {
                Vec3 now = seen_from(rigid, w, id.slot), half = rigid_shape(rigid, w)->half;
                f32 share = before[w].z / (before[w].z - now.z);
                Vec3 at = vec3_abs(vec3_lerp(before[w], now, share));
                passed = passed || (before[w].z * now.z < 0.0f && at.x < half.x && at.y < half.y);
            }
        }
        through += passed;
        hits += vec3_distance(rigid_velocity(rigid, id.slot), def.velocity) > 1.0f;
        if (passed) {
            print_message("bullet %u (%s, %g m/s) went through\n", i,
                          shape_kind_name(def.shape.kind), (double)vec3_length(def.velocity));
        }
        rigid_destroy(rigid);
    }
    assert_int_equal(hits, BULLETS);
    return through;
}

static void wall_static(Rigid *rigid)
{
    add_box(rigid, vec3_zero(), vec3(12.0f, 12.0f, 0.025f), BODY_STATIC, 0.0f);
}

static void none_passes_a_wall_of_5_cm(void **state)
{
    PL_UNUSED(state);
    any = (Any){1, 0};
    assert_int_equal(count_through(wall_static), 0);
}

/* 6 × 6 free-standing plates of 5 cm: each is pushed, none is passed. */
static void wall_of_boxes(Rigid *rigid)
{
    for (u32 i = 0; i < 36; i++) {
        add_box(rigid, vec3(((f32)(i % 6) - 2.5f) * 0.9f, ((f32)(i / 6) - 2.5f) * 0.9f, 0.0f),
                vec3(0.45f, 0.45f, 0.025f), BODY_DYNAMIC, 50.0f);
    }
}

static void none_passes_a_wall_of_dynamic_boxes(void **state)
{
    PL_UNUSED(state);
    any = (Any){2, 0};
    assert_int_equal(count_through(wall_of_boxes), 0);
}

/* ---- surfaces without any thickness: an uneven sheet of triangles, and terrains ---- */

enum {
    SIDE = 25 /* samples */
};

static const f32 sheet_spacing = 0.5f;

/* Waves of some centimetres. */
static f32 sheet_height(u32 i, u32 j)
{
    return 0.03f * (f32)((i * 7 + j * 3) % 5) - 0.05f;
}

/* Fires bullets at a sheet in x and z; none may end on the other side. */
static void none_passes_a_sheet(bool as_mesh, u64 seed)
{
    f32 heights[SIDE * SIDE];
    for (u32 k = 0; k < SIDE * SIDE; k++) {
        heights[k] = sheet_height(k % SIDE, k / SIDE);
    }
    HeightSheet surface = height_sheet(heights, SIDE, sheet_spacing);
    any = (Any){seed, 0};
    u32 through = 0, hits = 0;
    for (u32 i = 0; i < BULLETS; i++) {
        Rigid *rigid = kit_sleeping_world(4, 4, vec3_zero());
        BodyDef sheet = body_def_default();
        sheet.motion = BODY_STATIC;
        sheet.shape = (Shape){.kind = as_mesh ? SHAPE_MESH : SHAPE_TERRAIN,
                              .geometry = as_mesh ? surface.mesh : surface.terrain};
        assert_int_not_equal(rigid_add(rigid, &sheet).generation, 0);
        BodyDef def = bullet(i);
        f32 side = as_mesh && i % 2 ? -1.0f : 1.0f; /* a sheet is two-sided */
        def.position = vec3(def.position.x, -side * def.position.z, def.position.y);
        def.velocity = vec3(def.velocity.x, -side * def.velocity.z, def.velocity.y);
        BodyId id = rigid_add(rigid, &def);
        bool passed = false;
        for (u32 t = 0; t < 40; t++) {
            kit_tick(rigid);
            Vec3 p = rigid_position(rigid, id.slot);
            f32 height;
            passed =
                passed || (terrain_height(&surface.terrain->terrain, p.x, p.z, &height, NULL) &&
                           (p.y - height) * side < 0.0f);
        }
        through += passed;
        hits += vec3_distance(rigid_velocity(rigid, id.slot), def.velocity) > 1.0f;
        if (passed) {
            print_message("bullet %u (%s, %g m/s) went through\n", i,
                          shape_kind_name(def.shape.kind), (double)vec3_length(def.velocity));
        }
        rigid_destroy(rigid);
    }
    height_sheet_finish(&surface);
    assert_int_equal(hits, BULLETS);
    assert_int_equal(through, 0);
}

static void none_passes_a_mesh(void **state)
{
    PL_UNUSED(state);
    none_passes_a_sheet(true, 7);
}

static void none_passes_a_terrain(void **state)
{
    PL_UNUSED(state);
    none_passes_a_sheet(false, 8);
}

/* Momentum: the plate gains what the bullet loses. */
static void a_bullet_gives_its_momentum_to_the_plate(void **state)
{
    PL_UNUSED(state);
    any = (Any){3, 0};
    for (u32 i = 0; i < BULLETS; i += 7) {
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        u32 plate = add_box(rigid, vec3_zero(), vec3(2.5f, 2.5f, 0.025f), BODY_DYNAMIC, 5.0f);
        BodyDef def = bullet(i);
        BodyId id = rigid_add(rigid, &def);
        for (u32 t = 0; t < 40; t++) {
            kit_tick(rigid);
        }
        Vec3 p = vec3_scale(rigid_velocity(rigid, id.slot), def.mass_kg);
        p = vec3_add_scaled(p, 5.0f, rigid_velocity(rigid, plate));
        Vec3 before = vec3_scale(def.velocity, def.mass_kg);
        assert_true(vec3_distance(p, before) < 1e-5f * vec3_length(before));
        assert_true(rigid_velocity(rigid, plate).z > 0.0f);
        rigid_destroy(rigid);
    }
}

/* Two bullets head on: they meet within a tick, and do not pass each other. */
static void bullets_meet_bullets(void **state)
{
    PL_UNUSED(state);
    any = (Any){4, 0};
    for (u32 i = 0; i < 30; i++) {
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        f32 far = any_between(&any, 3.0f, 12.0f);
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_SPHERE;
        def.shape.radius = 0.02f;
        def.position = vec3(0.0f, 0.0f, -far);
        def.velocity = vec3(0.0f, 0.0f, 400.0f);
        BodyId one = rigid_add(rigid, &def);
        def.position.z = any_between(&any, 0.1f, 6.0f);
        def.velocity.z = -any_between(&any, 0.0f, 400.0f);
        BodyId other = rigid_add(rigid, &def);
        f32 total = 400.0f + def.velocity.z;
        for (u32 t = 0; t < 30; t++) {
            kit_tick(rigid);
            assert_true(rigid_position(rigid, one.slot).z < rigid_position(rigid, other.slot).z);
        }
        f32 after = rigid_velocity(rigid, one.slot).z + rigid_velocity(rigid, other.slot).z;
        assert_true(fabsf(after - total) < 1e-3f);
        assert_true(rigid_velocity(rigid, one.slot).z < 399.0f);
        rigid_destroy(rigid);
    }
}

/* It flies past the edge of a box at 10 cm: its velocity stays bit-identical. */
static void bodies_that_pass_by_are_not_deflected(void **state)
{
    PL_UNUSED(state);
    any = (Any){5, 0};
    for (u32 i = 0; i < 200; i++) {
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        add_box(rigid, vec3(0.0f, -1.0f, 0.0f), vec3(1.0f, 1.0f, 1.0f),
                i % 2 ? BODY_STATIC : BODY_DYNAMIC, 10.0f);
        BodyDef def = body_def_default();
        def.shape = any_shape(&any, 3, 0.05f, 0.08f);
        f32 radius = def.shape.kind == SHAPE_CAPSULE ? def.shape.radius + def.shape.half_height
                                                     : shape_reach(&def.shape);
        def.position =
            vec3(-any_between(&any, 2.0f, 12.0f), 0.1f + radius, any_between(&any, -0.9f, 0.9f));
        def.velocity = vec3(400.0f, 0.0f, any_between(&any, -20.0f, 20.0f));
        def.angular_velocity = any_vec(&any, -20.0f, 20.0f);
        def.orientation = any_rotation(&any);
        def.gravity_scale = 0.0f;
        BodyId id = rigid_add(rigid, &def);
        for (u32 t = 0; t < 10; t++) {
            kit_tick(rigid);
        }
        assert_true(vec3_distance(rigid_velocity(rigid, id.slot), def.velocity) == 0.0f);
        f32 x = def.position.x + 400.0f * 10.0f / 60.0f;
        assert_true(fabsf(rigid_position(rigid, id.slot).x - x) < 1e-2f);
        rigid_destroy(rigid);
    }
}

/* A small fast ball with continuous collision must not gain height: with restitution e it rises
 * to e² of it. */
static void swept_balls_bounce_as_high_as_they_should(void **state)
{
    PL_UNUSED(state);
    any = (Any){9, 0};
    for (u32 i = 0; i < 60; i++) {
        Rigid *rigid = kit_sleeping_world(4, 4, vec3(0.0f, -9.81f, 0.0f));
        add_box(rigid, vec3(0.0f, -1.0f, 0.0f), vec3(5.0f, 1.0f, 5.0f), BODY_STATIC, 0.0f);
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_SPHERE;
        def.shape.radius = any_between(&any, 0.02f, 0.2f);
        def.restitution = any_between(&any, 0.5f, 1.0f);
        f32 height = any_between(&any, 2.0f, 20.0f), top = 0.0f;
        def.position = vec3(0.0f, def.shape.radius + height, 0.0f);
        u32 slot = rigid_add(rigid, &def).slot;
        bool risen = false;
        for (u32 t = 0; t < 400 && !(risen && rigid_velocity(rigid, slot).y < 0.0f); t++) {
            kit_tick(rigid);
            risen = risen || rigid_velocity(rigid, slot).y > 0.0f;
            top = risen ? f32_max(top, rigid_position(rigid, slot).y - def.shape.radius) : 0.0f;
        }
        f32 want = def.restitution * def.restitution * height;
        assert_true(top > 0.97f * want && top < 1.003f * want);
        rigid_destroy(rigid);
    }
}

/* A fast-spinning rod beside a thin wall: its tips must not penetrate. */
static void a_spinning_rod_does_not_reach_through(void **state)
{
    PL_UNUSED(state);
    any = (Any){6, 0};
    for (u32 i = 0; i < 20; i++) {
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        add_box(rigid, vec3_zero(), vec3(12.0f, 12.0f, 0.025f), BODY_STATIC, 0.0f);
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_CAPSULE;
        def.shape.radius = 0.02f;
        def.shape.half_height = 1.0f;
        def.position = vec3(0.0f, 0.0f, -any_between(&any, 0.3f, 0.9f));
        def.angular_velocity = vec3(any_between(&any, 20.0f, 60.0f), 0.0f, 0.0f);
        BodyId id = rigid_add(rigid, &def);
        f32 deepest = -INFINITY;
        for (u32 t = 0; t < 120; t++) {
            kit_tick(rigid);
            Vec3 tip = quat_rotate(rigid_orientation(rigid, id.slot), vec3(0.0f, 1.0f, 0.0f));
            f32 z = rigid_position(rigid, id.slot).z + fabsf(tip.z);
            deepest = f32_max(deepest, z + 0.025f);
        }
        /* The wall's front is at z = −0.025: the axis of the rod's tip does not enter it. */
        assert_true(deepest < 0.0f);
        assert_true(rigid_velocity(rigid, id.slot).z < -1.0f); /* it was knocked away */
        rigid_destroy(rigid);
    }
}

/* A volley into a wall of boxes: the same bits for any number of threads. */
static void threads_do_not_matter(void **state)
{
    PL_UNUSED(state);
    Vec3 first[64] = {{0}};
    for (u32 threads = 1; threads <= 4; threads++) {
        Jobs *jobs = jobs_create(threads);
        assert_non_null(jobs);
        any = (Any){10, 0};
        Rigid *rigid = kit_sleeping_world(128, 4, vec3(0.0f, -9.81f, 0.0f));
        wall_of_boxes(rigid);
        for (u32 i = 0; i < 64; i++) {
            BodyDef def = bullet(i);
            assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
        }
        for (u32 t = 0; t < 20; t++) {
            kit_tick_jobs(rigid, jobs);
        }
        for (u32 i = 0; i < 64; i++) {
            Vec3 p = rigid_position(rigid, 36 + i);
            first[i] = threads == 1 ? p : first[i];
            assert_memory_equal(&p, &first[i], sizeof(p));
        }
        rigid_destroy(rigid);
        jobs_destroy(jobs);
    }
}

typedef struct Seen {
    u32 began, ended;
} Seen;

static void count_events(const Rigid *rigid, u32 sensor, Seen *seen)
{
    u32 count;
    const RigidOverlap *events = rigid_sensor_events(rigid, &count);
    for (u32 i = 0; i < count; i++) {
        if (events[i].a == sensor || events[i].b == sensor) {
            *(events[i].began ? &seen->began : &seen->ended) += 1;
        }
    }
}

static u32 add_sensor(Rigid *rigid, Vec3 position, Vec3 half, BodyMotion motion, Vec3 velocity)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_BOX;
    def.shape.half = half;
    def.position = position;
    def.motion = motion;
    def.velocity = velocity;
    def.sensor = true;
    BodyId id = rigid_add(rigid, &def);
    assert_int_not_equal(id.generation, 0);
    return id.slot;
}

/* A bullet flies 6.7 m in a tick. It passes a gate of 5 cm and one of 30 m, and then a wall
 * keeps it from a third, which it would otherwise reach within the same tick. */
static void sensors_see_what_flies_through(void **state)
{
    (void)state;
    for (u32 i = 0; i < 20; i++) {
        f32 start = -20.0f - 0.31f * (f32)i;
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        u32 thin = add_sensor(rigid, vec3(0, 0, -10), vec3(1, 1, 0.025f), BODY_STATIC, vec3_zero());
        u32 deep = add_sensor(rigid, vec3(0, 0, 10), vec3(1, 1, 15), BODY_STATIC, vec3_zero());
        add_box(rigid, vec3(0, 0, 30), vec3(1, 1, 0.025f), BODY_STATIC, 0.0f);
        u32 behind =
            add_sensor(rigid, vec3(0, 0, 31), vec3(1, 1, 0.025f), BODY_STATIC, vec3_zero());
        u32 beside =
            add_sensor(rigid, vec3(2, 0, -10), vec3(0.9f, 1, 0.1f), BODY_STATIC, vec3_zero());
        BodyDef def = body_def_default();
        def.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.02f};
        def.position = vec3(0.3f, 0.1f, start);
        def.velocity = vec3(0, 0, 400);
        def.mass_kg = 0.01f;
        assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
        Seen of_thin = {0}, of_deep = {0}, of_behind = {0}, of_beside = {0};
        for (u32 t = 0; t < 10; t++) {
            kit_tick(rigid);
            count_events(rigid, thin, &of_thin);
            count_events(rigid, deep, &of_deep);
            count_events(rigid, behind, &of_behind);
            count_events(rigid, beside, &of_beside);
        }
        assert_int_equal(of_thin.began, 1);
        assert_int_equal(of_thin.ended, 1);
        assert_int_equal(of_deep.began, 1);
        assert_int_equal(of_deep.ended, 1);
        assert_int_equal(of_behind.began + of_behind.ended, 0);
        assert_int_equal(of_beside.began + of_beside.ended, 0);
        rigid_destroy(rigid);
    }
}

/* The reverse: the gate flies, and two of both fly towards each other. */
static void fast_sensors_see_what_they_pass(void **state)
{
    (void)state;
    for (u32 i = 0; i < 20; i++) {
        Rigid *rigid = kit_sleeping_world(8, 4, vec3_zero());
        u32 gate = add_sensor(rigid, vec3(0, 0, -20.0f - 0.31f * (f32)i), vec3(1, 1, 0.025f),
                              BODY_KINEMATIC, vec3(0, 0, 300));
        BodyDef def = body_def_default();
        def.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.02f};
        def.mass_kg = 0.01f;
        def.position = vec3(0, 0, -8); /* at rest, except for gravity */
        assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
        def.position = vec3(0.5f, 0, 15);
        def.velocity = vec3(0, 0, -200);
        assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
        Seen seen = {0};
        for (u32 t = 0; t < 10; t++) {
            kit_tick(rigid);
            count_events(rigid, gate, &seen);
        }
        assert_int_equal(seen.began, 2);
        assert_int_equal(seen.ended, 2);
        rigid_destroy(rigid);
    }
}

/* A thin kinematic paddle hits a resting ball: at no speed does it pass through, and the ball
 * reaches the paddle's speed. Translating or rotating. */
static void paddles_push_what_they_meet(void **state)
{
    (void)state;
    static const f32 speeds[] = {5.0f, 20.0f, 60.0f, 120.0f};
    for (u32 i = 0; i < PL_COUNT(speeds); i++) {
        /* Rotating by two radians a tick its position is arbitrary. */
        for (u32 rotated = 0; rotated < (speeds[i] > 60.0f ? 1 : 2); rotated++) {
            Rigid *rigid = kit_sleeping_world(4, 4, vec3_zero());
            f32 speed = speeds[i];
            u32 paddle = add_box(rigid, vec3(0, 0, rotated ? 0.0f : -0.7f), vec3(1.5f, 1, 0.02f),
                                 BODY_KINEMATIC, 0.0f);
            f32 at_x = rotated ? 1.0f : 0.2f;
            BodyDef def = body_def_default();
            def.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.05f};
            def.mass_kg = 0.2f;
            def.position = vec3(at_x, 0, rotated ? 0.3f : 0.0f);
            u32 ball = rigid_add(rigid, &def).slot;
            if (rotated) { /* its end at x > 0 moves towards z > 0 */
                rigid_set_velocity(rigid, paddle, vec3_zero(), vec3(0, -speed / at_x, 0));
            } else {
                rigid_set_velocity(rigid, paddle, vec3(0, 0, speed), vec3_zero());
            }
            u32 ticks = (u32)(0.9f * 60.0f / speed) + 2; /* a rotation of 0.9 rad, or as many m */
            for (u32 t = 0; t < ticks; t++) {
                kit_tick(rigid);
            }
            Vec3 p = rigid_position(rigid, ball);
            f32 fast = vec3_length(rigid_velocity(rigid, ball));
            Vec3 local = quat_rotate_inverse(rigid_orientation(rigid, paddle),
                                             vec3_sub(p, rigid_position(rigid, paddle)));
            printf("%s paddle of %3.0f m/s: ball at z %.2f (paddle's frame %.2f), %.1f m/s\n",
                   rotated ? "turned" : "driven", (double)speed, (double)p.z, (double)local.z,
                   (double)fast);
            assert_true(fast > (rotated ? 0.6f : 0.9f) * speed);
            assert_true(rotated || local.z > 0.0f);
            rigid_destroy(rigid);
        }
    }
}

/* A closed box with walls of 2 cm, as one compound. */
static Geometry *closed_box(f32 half)
{
    CompoundChild children[6];
    for (u32 i = 0; i < 6; i++) {
        f32 out = (i % 2 ? 1.0f : -1.0f) * (half + 0.01f), wide = half + 0.02f;
        bool x = i / 2 == 0, y = i / 2 == 1, z = i / 2 == 2;
        Vec3 size = vec3(x ? 0.01f : wide, y ? 0.01f : wide, z ? 0.01f : wide);
        children[i] = (CompoundChild){.shape = {.kind = SHAPE_BOX, .half = size},
                                      .position = vec3(x ? out : 0, y ? out : 0, z ? out : 0),
                                      .orientation = quat_identity()};
    }
    ErrorText error;
    Geometry *box = geometry_compound(children, 6, &error);
    assert_non_null(box);
    return box;
}

/* A box with 27 balls falls 3 m, a kinematic one rotates at 10 rad/s, and many bodies are created
 * next to it. */
static Rigid *moving_walls(const Geometry *const *geometries, f32 half)
{
    RigidDef world_def = {.body_capacity = 256,
                          .tick_s = 1.0f / 60.0f,
                          .substeps = 4,
                          .gravity = {0.0f, -9.81f, 0.0f},
                          .geometries = geometries,
                          .geometry_count = 1};
    Rigid *rigid = rigid_create(&world_def);
    assert_non_null(rigid);
    BodyDef def = kit_ground();
    kit_add(rigid, &def);
    for (u32 b = 0; b < 2; b++) {
        def = body_def_default();
        def.shape = (Shape){.kind = SHAPE_COMPOUND, .geometry = geometries[0]};
        def.position = vec3(b ? 8.0f : 0.0f, 3.0f + 1.7f * half, 0.0f);
        def.orientation = kit_rotation_z(0.4f);
        def.mass_kg = 20.0f;
        def.motion = b ? BODY_KINEMATIC : BODY_DYNAMIC;
        def.angular_velocity = b ? vec3(6.0f, 0.0f, 8.0f) : vec3_zero();
        kit_add(rigid, &def);
        for (u32 i = 0; i < 27; i++) {
            Vec3 p = vec3((f32)(i % 3) - 1.0f, (f32)(i / 3 % 3) - 1.0f, (f32)(i / 9) - 1.0f);
            BodyDef ball = kit_ball(vec3_add_scaled(def.position, 0.3f * half, p), 0.03f);
            kit_add(rigid, &ball);
        }
    }
    for (u32 i = 0; i < 150; i++) {
        BodyDef ball = kit_ball(vec3(-8.0f, 1.0f, 0.0f), 0.1f);
        kit_add(rigid, &ball);
    }
    return rigid;
}

/* No ball leaves; neither the number of threads nor a restore in between changes a bit. */
static void moving_walls_hold_with_any_threads(void **state)
{
    PL_UNUSED(state);
    const f32 half = 0.5f;
    Geometry *geometry = closed_box(half);
    const Geometry *const geometries[] = {geometry};
    Rigid *one = moving_walls(geometries, half), *other = moving_walls(geometries, half);
    Jobs *jobs = jobs_create(3);
    assert_non_null(jobs);
    for (u32 t = 0; t < 180; t++) {
        kit_tick(one);
        kit_tick_jobs(other, jobs);
        assert_true(kit_hash(one) == kit_hash(other));
        if (t % 20 == 3) {
            size_t bytes;
            u8 *image = kit_save(one, &bytes);
            assert_true(kit_load(other, image, bytes));
            free(image);
        }
        for (u32 i = 0; i < 54; i++) {
            Vec3 p = vec3_abs(seen_from(one, i < 27 ? 1 : 29, (i < 27 ? 2 : 3) + i));
            assert_true(f32_max(p.x, f32_max(p.y, p.z)) < half + 0.02f);
        }
    }
    rigid_destroy(one);
    rigid_destroy(other);
    jobs_destroy(jobs);
    geometry_destroy(geometry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_walls_hold_with_any_threads),
        cmocka_unit_test(paddles_push_what_they_meet),
        cmocka_unit_test(none_passes_a_wall_of_5_cm),
        cmocka_unit_test(none_passes_a_wall_of_dynamic_boxes),
        cmocka_unit_test(none_passes_a_mesh),
        cmocka_unit_test(none_passes_a_terrain),
        cmocka_unit_test(a_bullet_gives_its_momentum_to_the_plate),
        cmocka_unit_test(bullets_meet_bullets),
        cmocka_unit_test(bodies_that_pass_by_are_not_deflected),
        cmocka_unit_test(swept_balls_bounce_as_high_as_they_should),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(a_spinning_rod_does_not_reach_through),
        cmocka_unit_test(sensors_see_what_flies_through),
        cmocka_unit_test(fast_sensors_see_what_they_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
