/* test_rest.c: soft bodies sleep, alone and with rigid ones, wake for every valid reason, and a
 * saved sleeping world continues identically. */
#include "server/author/scene_load.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"
#include "server/world/world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FLOOR "{\"name\":\"floor\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"}"
/* A block of foam on a kinematic box, and a ball far above. */
#define BODIES                                                                                     \
    FLOOR ",{\"name\":\"table\",\"shape\":{\"kind\":\"box\",\"half\":[1,0.2,1]},"                  \
          "\"position\":[0,0.2,0],\"motion\":\"%s\"},{\"name\":\"plate\",\"shape\":{\"kind\":"     \
          "\"box\",\"half\":[0.3,0.05,0.3]},\"position\":[0,3,0]}"
#define FOAM                                                                                       \
    "{\"name\":\"foam\",\"shape\":{\"kind\":\"box\",\"size\":[0.6,0.4,0.6],\"cells\":[3,2,3],"     \
    "\"solid\":true},\"position\":[0,0.64,0],\"mass\":20,\"young\":200000,\"poisson\":0.3,"        \
    "\"damping\":2,\"thickness\":0.01,\"friction\":0.8}"

#define PREFAB                                                                                     \
    "{\"name\":\"plate\",\"body\":{\"name\":\"plate\",\"mass\":5,"                                 \
    "\"shape\":{\"kind\":\"box\",\"half\":[0.2,0.05,0.2]}}}"

typedef struct Stage {
    Scene *scene;
    World *world;
} Stage;

static Stage stage_of(const char *table, const char *sleep)
{
    char text[2048];
    ErrorText error;
    snprintf(text, sizeof text,
             "{\"name\":\"rest\",%s\"bodies\":[" BODIES "],\"soft_bodies\":[" FOAM "],"
             "\"prefabs\":[" PREFAB "]}",
             sleep, table);
    Stage stage = {.scene = scene_parse(text, strlen(text), "rest", &error)};
    stage.world = stage.scene != NULL ? world_create(stage.scene, NULL, &error) : NULL;
    if (stage.world == NULL) {
        fail_msg("%s", error.text);
    }
    return stage;
}

static void stage_end(Stage *stage)
{
    world_destroy(stage->world);
    scene_destroy(stage->scene);
}

static void ticks(Stage *stage, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        world_tick(stage->world, NULL, 0);
    }
}

static bool soft_rests(const Stage *stage)
{
    return !soft_awake(world_soft(stage->world), 0);
}

/* Removes the plate and lets the foam fall asleep. */
static Stage asleep(const char *table)
{
    Stage stage = stage_of(table, "");
    world_remove_entity(stage.world, world_matter_rigid(stage.world)
                                         ->slots[world_matter_rigid(stage.world)->body_slots[2]]
                                         .entity);
    ticks(&stage, 600);
    assert_true(soft_rests(&stage));
    return stage;
}

static void test_foam_sleeps_and_stays(void **unused)
{
    (void)unused;
    Stage stage = asleep("static");
    u64 before = world_hash(stage.world);
    Vec3 at = soft_position(world_soft(stage.world), 5);
    f32 mass = soft_inverse_mass(world_soft(stage.world), 5);
    assert_true(mass > 0.0f);
    ticks(&stage, 60);
    assert_int_not_equal(before, world_hash(stage.world)); /* time continues */
    assert_true(vec3_distance(at, soft_position(world_soft(stage.world), 5)) == 0.0f);
    soft_wake(world_soft(stage.world), 0);
    assert_true(soft_inverse_mass(world_soft(stage.world), 5) == mass);
    ticks(&stage, 300);
    assert_true(soft_rests(&stage));
    assert_true(vec3_distance(at, soft_position(world_soft(stage.world), 5)) < 0.001f);
    stage_end(&stage);
}

static void test_without_sleep(void **unused)
{
    (void)unused;
    Stage stage = stage_of("static", "\"sleep\":false,");
    ticks(&stage, 600);
    assert_false(soft_rests(&stage));
    assert_true(
        rigid_awake(world_rigid(stage.world), world_matter_rigid(stage.world)->body_slots[2]));
    stage_end(&stage);
}

static void test_what_wakes(void **unused)
{
    (void)unused;
    Stage stage = asleep("dynamic");
    World *world = stage.world;
    f32 wind[4] = {1.0f, 0.0f, 0.0f, 0.0f};
    assert_int_equal(tune_set(world, WORLD_WIND, wind), ERROR_OK);
    assert_false(soft_rests(&stage));
    ticks(&stage, 600);
    assert_true(soft_rests(&stage)); /* in steady wind, too */
    soft_impulse(world_soft(world), 3, vec3(0.0f, 0.5f, 0.0f));
    assert_false(soft_rests(&stage));
    ticks(&stage, 600);
    assert_true(soft_rests(&stage));
    SoftGrab grab = {.particle = 3,
                     .target = soft_position(world_soft(world), 3),
                     .stiffness = 1000.0f,
                     .damping = 10.0f,
                     .force_max = 100.0f};
    i32 hand = soft_grab_add(world_soft(world), &grab);
    ticks(&stage, 300);
    assert_false(soft_rests(&stage)); /* while it is held */
    soft_grab_remove(world_soft(world), (u32)hand);
    ticks(&stage, 600);
    assert_true(soft_rests(&stage));
    /* Its support is pushed, and removed. */
    u32 table = world_matter_rigid(world)->body_slots[1];
    rigid_set_velocity(world_rigid(world), table, vec3(0.5f, 0.0f, 0.0f), vec3_zero());
    ticks(&stage, 2);
    assert_false(soft_rests(&stage));
    ticks(&stage, 900);
    assert_true(soft_rests(&stage));
    f32 height = soft_position(world_soft(world), 5).y;
    world_remove_entity(world, world_matter_rigid(world)->slots[table].entity);
    ticks(&stage, 60);
    assert_true(soft_position(world_soft(world), 5).y < height - 0.3f);
    stage_end(&stage);
}

/* A slow kinematic table carries a body that slept on it. */
static void test_a_table_that_moves_wakes(void **unused)
{
    (void)unused;
    Stage stage = asleep("kinematic");
    World *world = stage.world;
    f32 from = soft_position(world_soft(world), 5).x;
    rigid_set_velocity(world_rigid(world), world_matter_rigid(world)->body_slots[1],
                       vec3(0.005f, 0.0f, 0.0f), vec3_zero());
    ticks(&stage, 300);
    assert_false(soft_rests(&stage));
    f32 went = soft_position(world_soft(world), 5).x - from;
    assert_true(fabsf(went - 0.025f) < 0.003f);
    stage_end(&stage);
}

/* The plate falls on the sleeping foam: it wakes, and both fall asleep again. */
static void test_a_plate_wakes_and_sleeps_with_it(void **unused)
{
    (void)unused;
    Stage stage = asleep("static");
    Input spawn = {.kind = INPUT_SPAWN,
                   .user = 1,
                   .sequence = 1,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .target = {0.0f, 1.2f, 0.0f}};
    world_tick(stage.world, &spawn, 1);
    const EntityList *entities = &stage.world->entities;
    u32 plate = entities->items[entities->count - 1].first;
    assert_true(rigid_position(world_rigid(stage.world), plate).y > 1.0f);
    ticks(&stage, 10);
    assert_true(soft_rests(&stage)); /* it is still above */
    ticks(&stage, 30);
    assert_false(soft_rests(&stage));
    ticks(&stage, 600);
    Vec3 at = rigid_position(world_rigid(stage.world), plate);
    bool lies = fabsf(at.x) < 0.3f && fabsf(at.z) < 0.3f;
    print_message("plate %s foam: %s, foam %s\n", lies ? "on" : "thrown off",
                  rigid_awake(world_rigid(stage.world), plate) ? "awake" : "asleep",
                  soft_rests(&stage) ? "asleep" : "awake");
    if (lies) { /* together */
        assert_int_equal(rigid_awake(world_rigid(stage.world), plate), !soft_rests(&stage));
    }
    stage_end(&stage);
}

static void test_an_image_goes_on_alike(void **unused)
{
    (void)unused;
    for (u32 k = 0; k < 2; k++) {
        Stage one = k == 0 ? asleep("static") : stage_of("dynamic", "\"sleep\":true,");
        ticks(&one, 100); /* nearly at rest, in the other case */
        u8 *image;
        size_t bytes;
        assert_int_equal(world_save(one.world, &image, &bytes), ERROR_OK);
        ErrorText error;
        World *other = world_create(one.scene, NULL, &error);
        assert_non_null(other);
        assert_int_equal(world_load(other, image, bytes, &error), ERROR_OK);
        for (u32 i = 0; i < 200; i++) {
            if (i == 30) {
                soft_impulse(world_soft(one.world), 3, vec3(0.0f, 0.5f, 0.0f));
                soft_impulse(world_soft(other), 3, vec3(0.0f, 0.5f, 0.0f));
            }
            assert_true(world_hash(one.world) == world_hash(other));
            ticks(&one, 1);
            world_tick(other, NULL, 0);
        }
        free(image);
        world_destroy(other);
        stage_end(&one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_foam_sleeps_and_stays),
        cmocka_unit_test(test_without_sleep),
        cmocka_unit_test(test_what_wakes),
        cmocka_unit_test(test_a_table_that_moves_wakes),
        cmocka_unit_test(test_a_plate_wakes_and_sleeps_with_it),
        cmocka_unit_test(test_an_image_goes_on_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
