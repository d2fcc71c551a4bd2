/* test_figures.c: limp figures dropped in any pose come to rest within a few seconds and sleep. */
#include "server/author/scene_load.h"
#include "server/world/matter_rigid.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    FIGURES = 36,
    ROW = 6,
    SECONDS = 10
};

/* Too far apart to touch each other, dropped from 1.5 m to 4 m. */
static void write_scene(char *text, size_t bytes)
{
    size_t n = (size_t)snprintf(text, bytes,
                                "{\"name\":\"figures\",\"bodies\":[{\"name\":\"floor\",\"shape\":{"
                                "\"kind\":\"plane\"},\"motion\":\"static\"}],"
                                "\"ragdolls\":[");
    for (u32 i = 0; i < FIGURES; i++) {
        n += (size_t)snprintf(text + n, bytes - n,
                              "%s{\"name\":\"f%u\",\"position\":[%g,%g,%g],"
                              "\"rotation\":[%g,%g,%g]}",
                              i > 0 ? "," : "", i, 4.0 * (i % ROW) - 10.0,
                              (double)random_range(1, i, 1.5f, 4.0f), 4.0 * (i / ROW) - 10.0,
                              (double)random_range(2, i, -180.0f, 180.0f),
                              (double)random_range(3, i, -180.0f, 180.0f),
                              (double)random_range(4, i, -180.0f, 180.0f));
    }
    snprintf(text + n, bytes - n, "]}");
}

static void figures_come_to_rest(void **unused)
{
    PL_UNUSED(unused);
    static char text[16384];
    write_scene(text, sizeof text);
    ErrorText error;
    Scene *scene = scene_parse(text, strlen(text), "figures", &error);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    u32 body_seconds = 0, awake = 0;
    for (u32 i = 0; i < 60 * SECONDS; i++) {
        world_tick(world, NULL, 0);
        if (i % 60 == 59) {
            RigidStats stats;
            rigid_stats(world_rigid(world), &stats);
            awake = stats.awake;
            body_seconds += awake;
        }
    }
    f32 mean_s = (f32)body_seconds / (11.0f * FIGURES);
    print_message("a figure is awake for %.1f s, after %d s %u bodies are\n", (double)mean_s,
                  SECONDS, awake);
    assert_int_equal(awake, 0);
    assert_true(mean_s < 4.0f);
    world_destroy(world);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(figures_come_to_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
