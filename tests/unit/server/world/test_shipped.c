/* test_shipped.c: every scene that is shipped runs: nothing becomes infinite, nothing sinks in, no
 * body is lost, and what nobody drives gains no energy. Those with soft bodies keep bounds of
 * energy, stretch and rest. */
#include "server/author/scene_load.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"

#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_THREAD__ /* twenty times slower, and only threads are new to it */
#define SLOW 1
#else
#define SLOW 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#else
#define SANITIZED SLOW
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
        strcpy(stretch->name, scene->soft_bodies[i].name);
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
        driven =
            driven || body->motion == BODY_KINEMATIC || vec3_length(body->surface_velocity) > 0.0f;
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
        f64 stretch = probe(world, scene->soft_bodies[i].name);
        if (!(stretch < 1.0)) {
            fail_msg("%s: %s is stretched by %g", path, scene->soft_bodies[i].name, stretch);
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

/* Of a scene with soft bodies. */
typedef struct SoftBound {
    const char *file;
    f32 seconds;
    f64 rise;          /* of the energy that it starts with, never gained above it */
    f64 most, stretch; /* of any edge: ever, and at the end */
    f64 speed;         /* m/s, of the fastest point at the end */
} SoftBound;

/* Wind and moving bodies put energy into flag, methods, sheet, plasticine and cloth21. Where 1 mm/s
 * is not reached in the time, what is reached. */
static const SoftBound soft_bounds[] = {
    {"balloon_dog", 5.0f, 0.01, 0.15, 0.12, 1e-3}, {"balloons", 6.0f, 0.01, 0.8, 0.15, 1e-3},
    {"cloth", 1.5f, 0.01, 0.05, 0.04, INFINITY},   {"playground", 2.0f, 0.01, 0.05, 0.04, INFINITY},
    {"cloth100", 1.0f, 0.01, 0.6, 0.6, INFINITY},  {"cloth21", 6.0f, 0.5, 0.03, 0.02, INFINITY},
    {"flag", 4.0f, 0.2, 0.2, 0.15, INFINITY},      {"jelly", 10.0f, 0.01, 0.01, 0.01, 0.06},
    {"methods", 1.5f, 0.2, 0.06, 0.03, INFINITY},  {"plant", 14.0f, 0.01, 0.4, 0.3, 1e-3},
    {"plasticine", 9.0f, 0.01, 0.01, 0.01, 1e-3},  {"rabbits", 10.0f, 0.01, 0.01, 0.01, 0.06},
    {"rope_bridge", 8.0f, 0.01, 0.02, 0.01, 0.3},  {"sheet", 6.0f, 0.2, 0.08, 0.04, 1e-3},
    {"stick_figure", 8.0f, 0.01, 0.2, 0.01, 1e-3}, {"towel", 7.5f, 0.01, 0.14, 0.02, 1e-3},
};

static f64 stretch_of(const World *world)
{
    f64 most = 0.0;
    for (u32 i = 0; i < world_scene(world)->soft_count; i++) {
        most = fmax(most, (f64)soft_strain(world_soft(world),
                                           world_matter_soft(world)->soft_bodies[i].body));
    }
    return most;
}

static f64 fastest_point(const World *world)
{
    f64 most = 0.0;
    for (u32 i = 0; i < soft_particles(world_soft(world)); i++) {
        most = fmax(most, (f64)vec3_length(soft_velocity(world_soft(world), i)));
    }
    return most;
}

/* Sanitizers see the start only. */
static void run_soft(const SoftBound *bound)
{
    char path[128];
    ErrorText error;
    snprintf(path, sizeof path, "shared/scenes/%s.json", bound->file);
    Scene *scene = load(path);
    World *world = world_create(scene, NULL, &error);
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    u32 ticks = (u32)(bound->seconds * (f32)scene->tick_rate) / (SANITIZED ? 10 : 1);
    f64 start = probe(world, "energy"), energy = start, most = 0.0, last = 0.0, speed = 0.0;
    for (u32 i = 0; i < ticks; i++) {
        world_tick(world, NULL, 0);
        energy = fmax(energy, probe(world, "energy"));
        last = stretch_of(world);
        most = fmax(most, last);
        speed = i + scene->tick_rate / 4 > ticks ? fmax(speed, fastest_point(world)) : 0.0;
    }
    if (!(energy <= start + bound->rise * fabs(start))) {
        fail_msg("%s: energy grew from %g J to %g J", path, start, energy);
    }
    if (!(most <= bound->most) || (!SANITIZED && !(last <= bound->stretch))) {
        fail_msg("%s: stretched by up to %g, and by %g at the end", path, most, last);
    }
    if (!SANITIZED && !(speed <= bound->speed)) {
        fail_msg("%s: %g m/s after %g s", path, speed, (f64)bound->seconds);
    }
    world_destroy(world);
    scene_destroy(scene);
}

static void test_soft_scenes_keep_their_bounds(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("shared/scenes/*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        ErrorText error;
        Scene *scene = scene_load(found.gl_pathv[i], &error);
        u32 k = 0;
        assert_non_null(scene);
        while (k < PL_COUNT(soft_bounds) && strcmp(soft_bounds[k].file, scene->name) != 0) {
            k++;
        }
        if (scene->soft_count > 0 && k == PL_COUNT(soft_bounds)) {
            fail_msg("%s: soft bodies without bounds", found.gl_pathv[i]);
        }
        scene_destroy(scene);
    }
    globfree(&found);
    for (u32 k = 0; k < PL_COUNT(soft_bounds); k++) {
        run_soft(&soft_bounds[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_scene_runs),
        cmocka_unit_test(test_soft_scenes_keep_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
