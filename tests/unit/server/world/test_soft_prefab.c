/* test_soft_prefab.c: users spawn and remove soft bodies: a fixed number of each prefab, each time
 * in its initial state. */
#include "server/author/scene_load.h"
#include "server/world/matter_soft.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static const char scene_text[] =
    "{\"name\":\"prefabs\",\"bounds\":[-20,-5,-20,20,20,20],"
    "\"bodies\":[{\"name\":\"ground\",\"shape\":{\"kind\":\"box\",\"half\":[10,0.5,10]},"
    "\"motion\":\"static\",\"position\":[0,-0.5,0]},{\"name\":\"gate\",\"shape\":{\"kind\":\"box\","
    "\"half\":[1,0.1,1]},\"motion\":\"static\",\"sensor\":true,\"position\":[-6,4,-6]},{\"name\":"
    "\"floor\",\"shape\":{\"kind\":\"box\",\"half\":[1,0.5,1]},\"motion\":\"static\",\"sensor\":"
    "true,\"position\":[-6,0.5,-6]},{\"name\":\"sleeper\",\"asleep\":true,"
    "\"shape\":{\"kind\":\"box\",\"half\":[0.2,0.2,0.2]},\"position\":[8,3,0]}],"
    "\"prefabs\":[{\"name\":\"balloon\",\"spares\":2,\"soft\":{\"name\":\"b\",\"shape\":{\"kind\":"
    "\"sphere\",\"radius\":0.4,\"level\":2},\"pressure\":5,\"mass\":0.5}},"
    "{\"name\":\"crate\",\"body\":{\"name\":\"c\",\"shape\":{\"kind\":\"box\",\"half\":[0.2,0.2,"
    "0.2]},\"mass\":2}},"
    "{\"name\":\"clay\",\"spares\":1,\"soft\":{\"name\":\"d\",\"shape\":{\"kind\":\"box\",\"size\":"
    "[0.6,0.6,0.6],\"cells\":[3,3,3],\"solid\":true},\"mass\":20,\"match\":\"linear\","
    "\"match_stiffness\":0.3,\"yield\":0.02,\"creep\":20,\"plastic_max\":0.4}}],"
    "\"probes\":[{\"name\":\"energy\",\"kind\":\"energy\"},"
    "{\"name\":\"momentum\",\"kind\":\"momentum\"},{\"name\":\"awake\",\"kind\":\"awake\"}],"
    "\"hands\":{\"spawn_max\":4}}";

enum {
    BALLOON,
    CRATE,
    CLAY
};

typedef struct Kit {
    Scene *scene;
    World *world;
    u32 sequence, last; /* sequence of the last input; entity of the last spawn */
    i32 refused;        /* code of the last refusal; 0: none */
    u32 left;           /* LEAVE events of the last tick */
} Kit;

static Kit kit_make(void)
{
    ErrorText error = {0};
    Kit kit = {.scene = scene_parse(scene_text, strlen(scene_text), "prefabs", &error)};
    if (kit.scene == NULL) {
        fail_msg("%s", error.text);
    }
    kit.world = world_create(kit.scene, NULL, &error);
    if (kit.world == NULL) {
        fail_msg("%s", error.text);
    }
    return kit;
}

static void kit_free(Kit *kit)
{
    world_destroy(kit->world);
    scene_destroy(kit->scene);
}

static void tick_with(Kit *kit, Input *input, u32 count)
{
    if (count != 0) {
        input->user = 1;
        input->sequence = ++kit->sequence;
        input->ray.direction = vec3(0, 0, -1);
        input->rotation = input->rotation.w == 0.0f ? quat_identity() : input->rotation;
    }
    world_tick(kit->world, input, count);
    Frame *frame = world_frame(kit->world);
    assert_non_null(frame);
    kit->refused = 0;
    kit->left = 0;
    for (u32 i = 0; i < frame->event_count; i++) {
        const Event *event = &frame->events[i];
        kit->refused = event->kind == EVENT_REFUSED ? event->code : kit->refused;
        kit->left += event->kind == EVENT_LEAVE;
        kit->last = event->kind == EVENT_SPAWN ? event->entity.id : kit->last;
    }
    frame_release(frame);
}

static u32 spawn(Kit *kit, u32 prefab, Vec3 at, Vec3 velocity)
{
    Input input = {.kind = INPUT_SPAWN, .index = prefab, .target = at, .vector = velocity};
    kit->last = 0;
    tick_with(kit, &input, 1);
    return kit->last;
}

static void remove_it(Kit *kit, u32 entity)
{
    Input input = {.kind = INPUT_REMOVE, .entity = entity};
    tick_with(kit, &input, 1);
}

static f64 probe(const Kit *kit, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(kit->world, name, &value));
    return value;
}

static Vec3 middle(const Kit *kit, u32 entity)
{
    const Entity *of = world_entity(kit->world, entity);
    Vec3 sum = vec3_zero();
    assert_non_null(of);
    for (u32 i = of->first; i < of->first + of->count; i++) {
        sum = vec3_add_scaled(sum, 1.0f / (f32)of->count, soft_position(world_soft(kit->world), i));
    }
    return sum;
}

static void spares_are_absent_until_spawned(void **state)
{
    (void)state;
    Kit kit = kit_make();
    tick_with(&kit, NULL, 0);
    f64 start = probe(&kit, "energy");
    assert_float_equal(start, 64.0 * 9.81 * 3.0, 0.01);
    assert_true(probe(&kit, "awake") == 0.0);
    u32 id = spawn(&kit, BALLOON, vec3(1, 5, 0), vec3(2, 0, 0));
    assert_true(id != 0);
    assert_string_equal(world_entity(kit.world, id)->name, "balloon #5");
    assert_true(probe(&kit, "awake") == 1.0);
    /* 0.5 kg at 2 m/s that has fallen for a tick; air drag takes some. */
    f64 fell = 9.81 / 60.0;
    assert_float_equal(probe(&kit, "momentum"), 0.5 * sqrt(4.0 + fell * fell), 0.04);
    assert_float_equal(probe(&kit, "energy") - start, 0.5 * 9.81 * 5.0 + 0.25 * 4.0, 0.08);
    assert_true(vec3_distance(middle(&kit, id), vec3(1.0f + 2.0f / 60.0f, 5, 0)) < 0.003f);
    kit_free(&kit);
}

static void spares_limit_the_number(void **state)
{
    (void)state;
    Kit kit = kit_make();
    u32 one = spawn(&kit, BALLOON, vec3(-3, 3, 0), vec3_zero());
    u32 two = spawn(&kit, BALLOON, vec3(3, 3, 0), vec3_zero());
    assert_true(one != 0 && two != 0 && kit.refused == 0);
    assert_int_equal(spawn(&kit, BALLOON, vec3(0, 3, 0), vec3_zero()), 0);
    assert_int_equal(kit.refused, ERROR_LIMIT);
    assert_true(spawn(&kit, CRATE, vec3(0, 3, 0), vec3_zero()) != 0);
    remove_it(&kit, one);
    assert_null(world_entity(kit.world, one));
    assert_true(spawn(&kit, BALLOON, vec3(0, 6, 0), vec3_zero()) != 0);
    /* A user owns four things at most, of any kind. */
    assert_true(spawn(&kit, CLAY, vec3(0, 9, 0), vec3_zero()) != 0);
    assert_int_equal(spawn(&kit, CRATE, vec3(5, 3, 0), vec3_zero()), 0);
    assert_int_equal(kit.refused, ERROR_LIMIT);
    kit_free(&kit);
}

/* Whatever happened to a spare (thrown, burst, deformed) leaves no trace: its second use is bit for
 * bit the first. */
static void each_use_starts_anew(void **state)
{
    (void)state;
    enum {
        TICKS = 90
    };
    for (u32 prefab = BALLOON; prefab <= CLAY; prefab += CLAY - BALLOON) {
        Kit kit = kit_make();
        Vec3 seen[TICKS];
        f64 start = probe(&kit, "energy");
        for (u32 life = 0; life < 3; life++) {
            Vec3 at = life == 1 ? vec3(2, 8, 1) : vec3(0, 1.5f, 0);
            u32 id = spawn(&kit, prefab, at, vec3(life == 1 ? 9 : 1, -6, 0));
            assert_true(id != 0);
            for (u32 i = 0; i < TICKS; i++) {
                tick_with(&kit, NULL, 0);
                Vec3 now = middle(&kit, id);
                if (life == 2 && vec3_distance(now, seen[i]) != 0.0f) {
                    fail_msg("prefab %u, tick %u: %g m from the first run", prefab, i,
                             (f64)vec3_distance(now, seen[i]));
                }
                seen[i] = life == 0 ? now : seen[i];
            }
            remove_it(&kit, id);
            assert_true(probe(&kit, "energy") == start);
        }
        kit_free(&kit);
    }
}

static void is_saved_with_the_world(void **state)
{
    (void)state;
    Kit kit = kit_make(), other = kit_make();
    u32 id = spawn(&kit, BALLOON, vec3(0, 2, 0), vec3_zero());
    for (u32 i = 0; i < 30; i++) {
        tick_with(&kit, NULL, 0);
    }
    u8 *image;
    size_t bytes;
    ErrorText error = {0};
    assert_int_equal(world_save(kit.world, &image, &bytes), 0);
    assert_int_equal(world_load(other.world, image, bytes, &error), 0);
    other.sequence = kit.sequence;
    for (u32 i = 0; i < 30; i++) {
        assert_true(world_hash(kit.world) == world_hash(other.world));
        tick_with(&kit, NULL, 0);
        tick_with(&other, NULL, 0);
    }
    remove_it(&kit, id);
    remove_it(&other, id);
    assert_true(world_hash(kit.world) == world_hash(other.world));
    /* Load the image of the time when it existed. */
    assert_int_equal(world_load(kit.world, image, bytes, &error), 0);
    assert_true(vec3_distance(middle(&kit, id), vec3(0, 0.8f, 0)) < 0.4f);
    free(image);
    kit_free(&kit);
    kit_free(&other);
}

/* A balloon falls through a sensor: one event when it enters, one when it leaves; and one when it
 * is removed inside another. */
static void sensors_detect_soft_bodies(void **state)
{
    (void)state;
    Kit kit = kit_make();
    u32 balloon = spawn(&kit, BALLOON, vec3(-6, 6, -6), vec3_zero()), events = 0;
    for (u32 t = 0; t < 90; t++) {
        world_tick(kit.world, NULL, 0);
        Frame *frame = world_frame(kit.world);
        assert_non_null(frame);
        for (u32 i = 0; i < frame->event_count; i++) {
            const Event *event = &frame->events[i];
            if (event->kind != EVENT_ENTER && event->kind != EVENT_LEAVE) {
                continue;
            }
            assert_int_equal(event->kind, events % 2 == 0 ? EVENT_ENTER : EVENT_LEAVE);
            assert_int_equal(event->b, balloon);
            /* The gate reaches from 3.9 to 4.1 m, the balloon 0.4 m around its centre. */
            f32 y = middle(&kit, balloon).y;
            f32 expected = events == 0 ? 4.5f : events == 1 ? 3.5f : 1.4f;
            assert_float_equal(y, expected, 0.12f);
            events++;
        }
        frame_release(frame);
    }
    assert_int_equal(events, 3); /* it lies in the second sensor */
    remove_it(&kit, balloon);
    assert_int_equal(kit.left, 1);
    kit_free(&kit);
}

/* A body that sleeps on it falls when it is removed; soft bodies that leave the bounds are
 * removed. */
static void what_lay_on_it_falls(void **state)
{
    (void)state;
    Kit kit = kit_make();
    const Rigid *rigid = world_rigid(kit.world);
    u32 slot = 3;
    tick_with(&kit, NULL, 0);
    assert_true(rigid_position(rigid, slot).y == 3.0f && !rigid_awake(rigid, slot));
    /* Close enough to hold it up if it were 7 mm higher; far from the other. */
    u32 clay = spawn(&kit, CLAY, vec3(8, 2.47f, 0), vec3_zero());
    u32 far = spawn(&kit, BALLOON, vec3(-8, 3, 0), vec3_zero());
    remove_it(&kit, far);
    assert_false(rigid_awake(rigid, slot));
    Input input = {.kind = INPUT_RESET};
    tick_with(&kit, &input, 1);
    clay = spawn(&kit, CLAY, vec3(8, 2.47f, 0), vec3_zero());
    assert_false(rigid_awake(rigid, slot));
    remove_it(&kit, clay);
    assert_true(rigid_awake(rigid, slot));
    u32 gone = spawn(&kit, BALLOON, vec3(15, 1, 0), vec3_zero());
    for (u32 i = 0; i < 120; i++) {
        tick_with(&kit, NULL, 0);
    }
    assert_float_equal(rigid_position(rigid, slot).y, 0.2f, 0.01f);
    assert_null(world_entity(kit.world, gone));
    kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spares_are_absent_until_spawned),
        cmocka_unit_test(spares_limit_the_number),
        cmocka_unit_test(each_use_starts_anew),
        cmocka_unit_test(is_saved_with_the_world),
        cmocka_unit_test(sensors_detect_soft_bodies),
        cmocka_unit_test(what_lay_on_it_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
