/*
 * test_particles.c: particle systems in a world: momentum passed to what they hit, hands,
 * parameters, reset, saved and forged images, bounded counts, emitters inside walls; a scene
 * without systems declares no fields or parameters of particles.
 */
#include "server/author/scene_load.h"
#include "server/world/matter_particles.h"
#include "server/world/world_internal.h"
#include "shared/base/jobs.h"
#include "tests/determinism/world_script.h"
#include "tests/support/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static Particles *particles_in(const Stage *stage)
{
    return particles_of(stage_matter(stage, &matter_particles))->particles;
}

/* ---- momentum ---- */

/* A stream of particles hits free rigid and soft bodies: total momentum is conserved. */
static void what_is_hit_takes_the_momentum(void **unused)
{
    PL_UNUSED(unused);
    static const char *const targets[] = {
        "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.5,0.5]},"
        "\"mass\":2}],",
        "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":0.6},\"mass\":0.5,"
        "\"position\":[0.2,0.1,0]}],",
        "\"soft_bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"box\",\"size\":[1,1,1],\"cells\":"
        "[3,3,3],\"solid\":true},\"mass\":3,\"young\":30000,\"damping\":0}],",
    };
    for (u32 i = 0; i < PL_COUNT(targets); i++) {
        char json[2048];
        snprintf(json, sizeof json,
                 "\"gravity\":[0,0,0],\"sleep\":false,%s\"particle_systems\":[{\"name\":\"shot\","
                 "\"count\":400,\"burst\":400,\"shape\":{\"kind\":\"box\",\"half\":[1,0.4,0.4]},"
                 "\"position\":[-4,0,0],\"direction\":[1,0,0],\"speed\":12,\"speed_spread\":6,"
                 "\"mass\":0.01,\"lifetime\":-1,\"restitution\":%g,\"friction\":0.3}],\"probes\":["
                 "{\"name\":\"p\",\"kind\":\"momentum\"},{\"name\":\"s\",\"kind\":\"speed\",\"of\":"
                 "\"b\"}]",
                 targets[i], 0.3 * i);
        Stage *stage = stage_of(json);
        stage_set(stage, "air density", 0.0f); /* air would brake soft bodies */
        f64 begin = stage_probe(stage, "p");
        assert_true(begin > 40.0 && stage_probe(stage, "s") < 1e-3);
        stage_run(stage, 120);
        assert_true(stage_probe(stage, "s") > 0.5); /* it was hit */
        expect_near(targets[i], stage_probe(stage, "p"), begin, 1e-4 * begin);
        stage_destroy(stage);
    }
}

/* Particles on a body without gravity transfer all their weight to it, at rest or bouncing. */
static void bodies_carry_the_weight_of_particles(void **unused)
{
    PL_UNUSED(unused);
    for (u32 hz = 30; hz <= 120; hz *= 2) {
        char json[1024];
        snprintf(
            json, sizeof json,
            "\"tick_rate\":%u,\"sleep\":false,\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":"
            "\"box\",\"half\":[3,0.5,3]},\"mass\":400,\"gravity_scale\":0}],"
            "\"particle_systems\":[{\"name\":\"p\",\"count\":200,\"burst\":200,\"shape\":{"
            "\"kind\":\"box\",\"half\":[1,0.2,1]},\"position\":[0,0.9,0],\"mass\":0.5,"
            "\"lifetime\":-1,\"restitution\":%g,\"friction\":0.2}],\"probes\":[{\"name\":\"p\","
            "\"kind\":\"momentum\"},{\"name\":\"v\",\"kind\":\"speed\",\"of\":\"b\"}]",
            hz, hz == 60 ? 0.5 : 0.0);
        Stage *stage = stage_of(json);
        for (u32 i = 1; i <= 2 * hz; i++) {
            stage_run(stage, 1);
            f64 weight = 200 * 0.5 * 9.81 * i / hz;
            /* 200 small impulses a substep, each rounded when added to the body's velocity. */
            expect_near("momentum of all", stage_probe(stage, "p"), weight, 5e-4 * weight + 1e-3);
        }
        /* Soon they move together: 500 kg pulled by the weight of 100 kg. */
        expect_near("speed of the body", stage_probe(stage, "v"), 2.0 * 9.81 * 100.0 / 500.0, 0.3);
        stage_destroy(stage);
    }
}

/* ---- hands ---- */

static void hands_hold_and_push_single_particles(void **unused)
{
    PL_UNUSED(unused);
    Stage *stage = stage_of("\"particle_systems\":[{\"name\":\"p\",\"count\":9,\"lifetime\":2,"
                            "\"particles\":[{\"position\":[0,2,0]},{\"position\":[1,2,0]}]}]");
    Input push = script_input(INPUT_PUSH, 2, 0);
    push.entity = 1;
    push.element = 1;
    push.vector = vec3(3.0f, 0.0f, 0.0f);
    stage_tick(stage, &push, 1);
    expect_near("speed after a push", (f64)particles_velocity(particles_in(stage), 1).x, 3.0, 1e-4);
    Input input = script_input(INPUT_GRAB, 1, 0);
    input.entity = 1;
    input.element = 0;
    stage_tick(stage, &input, 1);
    input.kind = INPUT_MOVE;
    input.target = vec3(0.0f, 3.0f, 1.0f);
    for (u32 i = 1; i < 200; i++) { /* longer than its lifetime */
        input.sequence = i + 1;
        stage_tick(stage, &input, 1);
    }
    expect_at_most("distance to the hand",
                   (f64)vec3_distance(particles_position(particles_in(stage), 0), input.target),
                   0.05);
    assert_false(particles_is_alive(particles_in(stage), 1)); /* its lifetime was over */
    input.kind = INPUT_RELEASE;
    input.sequence++;
    stage_tick(stage, &input, 1);
    stage_tick(stage, NULL, 0);
    assert_false(particles_is_alive(particles_in(stage), 0));
    /* A free slot cannot be grabbed. */
    input.kind = INPUT_GRAB;
    input.sequence++;
    stage_tick(stage, &input, 1);
    u32 count = 0;
    for (u32 i = 0; i < 8; i++) {
        count += particles_is_alive(particles_in(stage), i);
    }
    assert_int_equal(count, 0);
    stage_destroy(stage);
}

/* ---- parameters ---- */

static void parameters_act(void **unused)
{
    PL_UNUSED(unused);
    Stage *stage = stage_of(
        "\"particle_systems\":[{\"name\":\"p\",\"count\":1000,\"rate\":120,\"lifetime\":5},"
        "{\"name\":\"s\",\"behavior\":\"swarm\",\"count\":50,\"iterations\":60}]");
    stage_run(stage, 60);
    expect_near("particles", stage_probe(stage, "p particles"), 120.0, 1.0);
    stage_set(stage, "particle rate", 0.0f);
    f64 held = stage_probe(stage, "p particles");
    stage_run(stage, 60);
    expect_near("none come", stage_probe(stage, "p particles"), held, 0.0);
    expect_near("iterations", stage_probe(stage, "s iterations"), 121.0, 1.0);
    f64 best = stage_probe(stage, "s best");
    assert_true(best < 1.0);
    stage_set(stage, "objective", 4.0f); /* Ackley: the search restarts */
    expect_at_most("iterations", stage_probe(stage, "s iterations"), 2.0);
    assert_int_equal(particles_swarm_objective(particles_in(stage), 1), SWARM_ACKLEY);
    stage_set(stage, "objective", 0.0f);
    assert_int_equal(particles_swarm_objective(particles_in(stage), 1), SWARM_RASTRIGIN);
    stage_destroy(stage);
}

static void nothing_is_declared_without_systems(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    const char *json = "{\"name\":\"t\"}";
    Scene *scene = scene_parse(json, strlen(json), "t.json", &error);
    assert_non_null(scene);
    World *world = world_create(scene, NULL, &error);
    assert_non_null(world);
    MessageWorld about;
    world_describe(world, &about);
    for (u32 i = 0; i < about.field_count; i++) {
        assert_string_not_equal(about.fields[i].name, "particles");
    }
    for (u32 i = 0; i < about.parameter_count; i++) {
        assert_null(strstr(about.parameters[i].name, "particle"));
    }
    world_destroy(world);
    scene_destroy(scene);
}

/* ---- abuse ---- */

static void emitters_inside_walls_stay_bounded(void **unused)
{
    PL_UNUSED(unused);
    Stage *stage = stage_of(
        "\"bodies\":[{\"name\":\"wall\",\"shape\":{\"kind\":\"box\",\"half\":[2,2,2]},\"motion\":"
        "\"static\"},{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\","
        "\"position\":[0,-2,0]}],\"particle_systems\":[{\"name\":\"p\",\"count\":2000,\"rate\":"
        "5000,\"shape\":{\"kind\":\"sphere\",\"radius\":1.5},\"speed\":100,\"spread\":180,"
        "\"lifetime\":3,\"restitution\":1,\"mass\":1000}]");
    for (u32 i = 0; i < 240; i++) {
        stage_tick(stage, NULL, 0);
        for (u32 k = 0; k < 2000; k++) {
            Vec3 v = particles_velocity(particles_in(stage), k);
            assert_true(vec3_is_finite(particles_position(particles_in(stage), k)));
            expect_at_most("speed", (f64)vec3_length(v), 250.0);
        }
        assert_null(particles_validate(particles_in(stage)));
    }
    stage_destroy(stage);
}

/* ---- images ---- */

static const char *const lively =
    "\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"},"
    "{\"name\":\"b\",\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.3,0.3]},\"position\":[0,0.3,0]}],"
    "\"particle_systems\":[{\"name\":\"p\",\"count\":300,\"rate\":100,\"spread\":60,\"speed\":4,"
    "\"position\":[0,2,0],\"lifetime\":1.5,\"lifetime_spread\":0.5,\"mass\":0.01},"
    "{\"name\":\"s\",\"behavior\":\"swarm\",\"count\":60},"
    "{\"name\":\"f\",\"behavior\":\"flock\",\"burst\":100,\"count\":100,\"position\":[0,6,0],"
    "\"speed\":4,\"spread\":180,\"lifetime\":-1,\"gravity_scale\":0}]";

static void images_go_on_and_forged_ones_do_no_harm(void **unused)
{
    PL_UNUSED(unused);
    Stage *stage = stage_of(lively), *other = stage_of(lively);
    stage_run(stage, 100);
    u8 *image;
    size_t bytes;
    ErrorText error;
    assert_int_equal(world_save(stage->world, &image, &bytes), 0);
    assert_int_equal(world_load(other->world, image, bytes, &error), 0);
    for (u32 i = 0; i < 60; i++) {
        stage_run(stage, 1);
        stage_run(other, 1);
        expect_bits("hash", world_hash(other->world), world_hash(stage->world));
    }
    /* Each 4-byte word set to NaN, to a huge number or to all ones, with a correct checksum. */
    size_t head = 32, loaded = 0, refused = 0;
    for (size_t at = head; at + 4 <= bytes; at += 4 * (1 + at % 23)) {
        const u32 evil[3] = {0x7FC00000u, 0x7E967699u, 0xFFFFFFFFu};
        u8 *forged = malloc(bytes);
        assert_non_null(forged);
        memcpy(forged, image, bytes);
        memcpy(forged + at, &evil[at / 4 % 3], 4);
        u64 sum = hash_bytes(forged + head, bytes - head, 0);
        memcpy(forged + head - sizeof sum, &sum, sizeof sum);
        if (world_load(other->world, forged, bytes, &error) == 0) {
            loaded++;
            stage_run(other, 3);
            assert_null(particles_validate(particles_in(other)));
        } else {
            refused++;
        }
        free(forged);
    }
    assert_true(refused > 50 && loaded > 10);
    free(image);
    stage_destroy(stage);
    stage_destroy(other);
}

/* Rubble on a floor and on a sleeping crate: it sleeps, a world loaded from its image continues bit
 * for bit, and both wake in the same tick when the crate is pushed. */
static void images_of_what_sleeps_go_on(void **unused)
{
    PL_UNUSED(unused);
    const char *json =
        "\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"},"
        "{\"name\":\"crate\",\"shape\":{\"kind\":\"box\",\"half\":[0.3,0.3,0.3]},\"position\":"
        "[0,0.3,0]}],\"particle_systems\":[{\"name\":\"p\",\"count\":200,\"burst\":200,\"shape\":{"
        "\"kind\":\"box\",\"half\":[1,0.3,1]},\"position\":[0,1.5,0],\"speed\":0.5,\"spread\":180,"
        "\"lifetime\":%s,\"restitution\":0.2,\"friction\":0.8,\"mass\":0.01,\"radius_spread\":0.01}"
        "]";
    for (u32 c = 0; c < 2; c++) { /* the second set expires meanwhile */
        char text[1024];
        snprintf(text, sizeof text, json, c == 0 ? "-1" : "5,\"lifetime_spread\":2");
        Stage *stage = stage_of(text), *other = stage_of(text);
        u32 ticks = 0;
        for (; ticks < 420 && !particles_asleep(particles_in(stage), 0); ticks++) {
            stage_tick(stage, NULL, 0);
        }
        assert_in_range(ticks, 30, 419);
        u8 *image;
        size_t bytes;
        ErrorText error;
        assert_int_equal(world_save(stage->world, &image, &bytes), 0);
        assert_int_equal(world_load(other->world, image, bytes, &error), 0);
        free(image);
        for (u32 i = 0; i < 150; i++) {
            Input push = script_input(INPUT_PUSH, 1, 0);
            push.entity = 2; /* the crate */
            push.vector = vec3(900.0f, 0.0f, 0.0f);
            stage_tick(stage, &push, i == 60);
            stage_tick(other, &push, i == 60);
            expect_bits("hash", world_hash(other->world), world_hash(stage->world));
            assert_false(i > 60 && i < 70 && particles_asleep(particles_in(stage), 0));
            assert_false(i < 10 && c == 0 && !particles_asleep(particles_in(stage), 0));
        }
        stage_destroy(stage);
        stage_destroy(other);
    }
}

static void a_reset_begins_anew(void **unused)
{
    PL_UNUSED(unused);
    Stage *stage = stage_of(lively);
    stage_run(stage, 40);
    u64 first = world_hash(stage->world);
    Vec3 place = particles_position(particles_in(stage), 3);
    stage_run(stage, 40);
    assert_int_equal(world_rebuild(stage->world, true), 0);
    stage_run(stage, 40);
    Vec3 again = particles_position(particles_in(stage), 3);
    expect_at_most("offset after a reset", (f64)vec3_distance(place, again), 0.0);
    PL_UNUSED(first);
    stage_destroy(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hit_takes_the_momentum),
        cmocka_unit_test(bodies_carry_the_weight_of_particles),
        cmocka_unit_test(hands_hold_and_push_single_particles),
        cmocka_unit_test(parameters_act),
        cmocka_unit_test(nothing_is_declared_without_systems),
        cmocka_unit_test(emitters_inside_walls_stay_bounded),
        cmocka_unit_test(images_go_on_and_forged_ones_do_no_harm),
        cmocka_unit_test(images_of_what_sleeps_go_on),
        cmocka_unit_test(a_reset_begins_anew),
    };
    return cmocka_run_group_tests_name("world_particles", tests, NULL, NULL);
}
