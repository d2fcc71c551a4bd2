/*
 * test_dye.c: a client holds dyed smoke and chooses a colour, which then is what it sees there, now
 * and in the next grab.
 */
#include "client/hand/hand.h"
#include "client/link/timeline.h"
#include "server/author/scene_load.h"
#include "tests/support/join_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

/* White smoke that fades within a second, so that soon there is only what a hand adds. */
static const char text[] =
    "{\"name\":\"t\",\"smokes\":[{\"name\":\"s\",\"corner\":[-0.4,0,-0.4],\"cells\":[16,16,16],"
    "\"spacing\":0.05,\"dyed\":true,\"awake\":true,\"fading\":2,\"buoyancy\":0,\"color\":[1,1,1],"
    "\"sources\":[{\"position\":[0,0.4,0],\"radius\":0.2,\"smoke\":5,\"stop\":2}]}]}";

static void steps(JoinRig *rig, Connection *client, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(rig, &client, 1);
    }
}

static void expect_color(Connection *client, const Entity *entity, u32 element, u32 srgb)
{
    const Timeline *timeline = connection_timeline(client);
    f32 roots[3], thick;
    assert_true(timeline_cell(timeline, entity->field, 0, element, &thick));
    assert_true(timeline_cell(timeline, entity->field, 1, element, &roots[0]));
    assert_true(timeline_cell(timeline, entity->dye - 1, 0, element, &roots[1]));
    assert_true(timeline_cell(timeline, entity->dye - 1, 1, element, &roots[2]));
    assert_true(thick > 0.2f);
    for (u32 c = 0; c < 3; c++) {
        f64 s = (srgb >> (16 - 8 * c) & 0xFF) / 255.0;
        f64 linear = s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
        if (!(fabs((f64)roots[c] - sqrt(linear)) < 0.02)) {
            fail_msg("%06X, component %u: %g of %g", srgb, c, (f64)roots[c], sqrt(linear));
        }
    }
}

static void a_hand_dyes_what_it_holds(void **state)
{
    (void)state;
    ErrorText error = {0};
    Scene *scene = scene_parse(text, strlen(text), "dye", &error);
    assert_non_null(scene);
    NetsimOptions line = {.delay_ms = 20};
    JoinRig rig = {0};
    join_rig_start(&rig, scene, NULL, 0);
    Connection *client = join_rig_connect(&rig, &line, &line);
    steps(&rig, client, 1500);
    const Entity *entity = connection_entity_named(client, "s");
    assert_non_null(entity);
    assert_true(entity->dye != 0 && entity->dye != entity->field + 1u);
    Hand hand;
    hand_init(&hand, client);
    Ray ray = {vec3(0.02f, 0.42f, 3), vec3(0, 0, -1)};
    for (u32 i = 0; i < 3; i++) {
        static const u32 colors[] = {0xFFFFFF, 0x2060E0, 0xF0A008};
        assert_true(hand_grab_ray(&hand, ray));
        if (i > 0) {
            hand_dye(&hand, colors[i]);
        }
        steps(&rig, client, 3500);
        expect_color(client, entity, hand.element, colors[i]);
        hand_release(&hand);
        steps(&rig, client, 100);
    }
    /* The colour is kept for the next grab. */
    ray.origin.x = 0.12f;
    assert_true(hand_grab_ray(&hand, ray));
    steps(&rig, client, 3500);
    expect_color(client, entity, hand.element, 0xF0A008);
    assert_served(client);
    connection_destroy(client);
    join_rig_stop(&rig);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_dyes_what_it_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
