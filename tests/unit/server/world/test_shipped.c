/* test_shipped.c: every scene that is shipped runs: nothing becomes infinite, nothing sinks in, no
 * body is lost, and what nobody drives gains no energy. */
#include "server/world/world.h"

#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_THREAD__ /* twenty times slower, and only threads are new to it */
#define SLOW 1
#else
#define SLOW 0
#endif

enum {
    /* Body-ticks of one scene: ten seconds of the small ones. */
    WORK = SLOW ? 6000 : 60000,
    TICKS_MIN = SLOW ? 20 : 60,
    TICKS_MAX = 600
};

/* The scene with probes of its own: energy and overlap of all. */
static Scene *load(const char *path)
{
    ErrorText error;
    Scene *scene = scene_load(path, &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    free(scene->probes);
    scene->probe_count = 2 + scene->soft_count;
    scene->probes = calloc(scene->probe_count, sizeof *scene->probes);
    assert_non_null(scene->probes);
    for (u32 i = 0; i < scene->probe_count; i++) {
        scene->probes[i].body = scene->probes[i].soft = scene->probes[i].joint = -1;
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        SceneProbe *stretch = &scene->probes[2 + i];
        strcpy(stretch->name, scene->softs[i].name);
        stretch->kind = PROBE_STRETCH;
        stretch->soft = (i32)i;
    }
    strcpy(scene->probes[0].name, "energy");
    scene->probes[0].kind = PROBE_ENERGY;
    strcpy(scene->probes[1].name, "overlap");
    scene->probes[1].kind = PROBE_PENETRATION;
    return scene;
}

/* Wind, belts, motors, springs and moving platforms do work. */
static bool is_driven(const Scene *scene)
{
    bool driven = vec3_length(scene->wind) > 0.0f || scene->soft_count > 0;
    for (u32 i = 0; i < scene->body_count; i++) {
        const SceneBody *body = &scene->bodies[i];
        driven = driven || body->motion == MOTION_KINEMATIC ||
                 vec3_length(body->surface_velocity) > 0.0f;
    }
    for (u32 i = 0; i < scene->joint_count; i++) {
        driven = driven || scene->joints[i].driven || scene->joints[i].sprung;
    }
    return driven;
}

static f64 probe(World *world, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(world, name, &value));
    return value;
}

static void run(const char *path)
{
    ErrorText error;
    Scene *scene = load(path);
    World *world = world_create(scene, NULL, &error);
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    WorldStats before, after;
    world_stats(world, &before);
    f64 begun = probe(world, "energy"), most = begun, deepest = 0.0, largest = 0.0;
    u32 wanted = WORK / u32_max(scene->body_count + before.particles / 4, 1);
    u32 count = u32_max(TICKS_MIN, u32_min(wanted, TICKS_MAX));
    for (u32 i = 0; i < count; i++) {
        world_tick(world, NULL, 0);
        f64 energy = probe(world, "energy");
        most = energy > most ? energy : most;
        largest = fabs(energy) > largest ? fabs(energy) : largest;
        f64 overlap = probe(world, "overlap");
        deepest = overlap > deepest ? overlap : deepest;
        if (!isfinite(energy)) {
            fail_msg("%s: tick %u: energy %g", path, i, energy);
        }
    }
    world_stats(world, &after);
    if (after.bodies != before.bodies) {
        fail_msg("%s: of %u bodies %u are left", path, before.bodies, after.bodies);
    }
    if (!is_driven(scene) && most > begun + 0.03 * fabs(largest) + 1.0) {
        fail_msg("%s: energy grew from %g J to %g J", path, begun, most);
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        f64 stretch = probe(world, scene->softs[i].name);
        if (!(stretch < 1.0)) {
            fail_msg("%s: %s is stretched by %g", path, scene->softs[i].name, stretch);
        }
    }
    /* A fast thing may be in for a tick; nothing may stay. */
    f64 last = probe(world, "overlap");
    if (deepest > 0.3 || last > 0.05) {
        fail_msg("%s: something was %g m inside another, and %g m at the end", path, deepest, last);
    }
    world_destroy(world);
    scene_destroy(scene);
}

static void test_every_scene_runs(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("shared/scenes/*.json", 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= 30);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        run(found.gl_pathv[i]);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_scene_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
