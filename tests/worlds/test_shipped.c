/* test_shipped.c: every shipped scene runs: all values stay finite, nothing sinks in, no body is
 * lost, and undriven scenes gain no energy. Scenes with soft bodies keep bounds of energy, stretch
 * and rest. */
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

#include "tests/support/near.h"

#ifdef __SANITIZE_THREAD__ /* twenty times slower; only the threads are of interest */
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
    /* Work for one scene in body-ticks; ten seconds of a small one. */
    WORK = SLOW ? 6000 : SANITIZED ? 10000 : 60000,
    TICKS_MIN = SLOW ? 20 : SANITIZED ? 30 : 60,
    TICKS_MAX = SANITIZED ? 150 : 600,
    OWN_PROBES = 3,
    GOES_ON_TICKS = 5
};

/* Loads a scene and adds probes: energy and overlap of everything. */
static Scene *load(const char *path)
{
    ErrorText error;
    Scene *scene = scene_load(path, &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    free(scene->probes);
    scene->probe_count = OWN_PROBES + scene->soft_count;
    scene->probes = calloc(scene->probe_count, sizeof *scene->probes);
    assert_non_null(scene->probes);
    for (u32 i = 0; i < scene->probe_count; i++) {
        scene->probes[i].body = scene->probes[i].soft = scene->probes[i].joint = -1;
        scene->probes[i].liquid = -1;
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        SceneProbe *stretch = &scene->probes[OWN_PROBES + i];
        strcpy(stretch->name, scene->soft_bodies[i].name);
        stretch->kind = PROBE_STRETCH;
        stretch->soft = (i32)i;
    }
    strcpy(scene->probes[0].name, "energy");
    scene->probes[0].kind = PROBE_ENERGY;
    strcpy(scene->probes[1].name, "overlap");
    scene->probes[1].kind = PROBE_PENETRATION;
    strcpy(scene->probes[2].name, "elastic");
    scene->probes[2].kind = PROBE_ELASTIC_ENERGY;
    return scene;
}

static f64 probe(World *world, const char *name)
{
    f64 value = NAN;
    assert_true(world_probe(world, name, &value));
    return value;
}

/*
 * Kinetic, potential and elastic energy of a scene, J, less the work of moving bodies and belts on
 * rigid bodies. Bounds of its rise above the running minimum, and above the start. They cover
 * effects that are not measured: motors, wind, emitters, sources, moving bodies that touch soft
 * ones, springs of joints; and overlap, whose energy contacts return (energy.c bounds that in each
 * tick of debug builds). Where none of these occur, the bounds cover rounding and the smallest
 * bounces. Each is a third more than was measured.
 */
typedef struct EnergyBound {
    const char *name;
    f64 rise, above_start;
} EnergyBound;

static const EnergyBound energy_bounds[] = {
    {"balloon_dog", 0.068, 0.001},
    {"balloons", 1.7, 0.001},
    {"bounce", 0.0086, 0.0057},
    {"boxes1000", 130000, 1.3},
    {"bridge", 360, 0.001},
    {"cloth", 0.77, 0.001},
    {"cloth100", 0.001, 0.001},
    {"cloth21", 5.8, 5.8},
    {"conveyor", 6.6, 0.002},
    {"cradle", 12, 5.7},
    {"dominoes", 0.57, 0.001},
    {"doors", 19, 0.001},
    {"empty", 0.001, 0.001},
    {"flag", 3.2, 3},
    {"friction", 0.001, 0.001},
    {"impulses", 1900, 0.001},
    {"incline", 0.001, 0.001},
    {"jelly", 0.004, 0.001},
    {"marble_run", 0.001, 0.001},
    {"mass_ratio", 43, 0.001},
    {"methods", 11, 11},
    {"plant", 0.15, 0.001},
    {"plasticine", 320, 0.001},
    {"playground", 760, 0.001},
    {"push_box", 0.001, 0.001},
    {"rabbits", 12, 0.001},
    {"ragdolls", 1, 0.001},
    {"rope_bridge", 6.5, 0.12}, /* of the 29 J that a landing crate loses, 6 come back */
    {"seesaw", 270, 0.001},
    {"sheet", 2.1, 2.1},
    {"side_by_side", 8600, 5300},
    {"six_balls", 0.001, 0.001},
    {"soft_step", 270, 0.001},
    {"stacks", 39, 0.001},
    {"stick_figure", 13, 0.001},
    {"t_handle", 0.011, 0.0061},
    {"terrain", 0.17, 0.078},
    {"towel", 0.001, 0.001},
    {"wall", 640, 0.001},
    {"wrecking_ball", 580, 0.001},
    {"machines", 410, 370},
    {"matter", 260, 0.001},
    {"sparks", 0.36, 0.3},
    {"snow_fall", 0.001, 0.001},
    {"smoke_ball", 1, 1},
    {"wind_tunnel", 11, 11},
    {"candle", 1, 1},
    {"campfire", 5.6, 4.5},
    {"flag_in_wind", 37, 37},
    {"dyes", 0.5, 0.5},
    {"explosion", 3600, 3600},
    {"fountain", 46, 46},
    {"solar_system", 0.08, 0.001},
    {"orbits", 0.001, 0.001},
    {"swarm", 0.001, 0.001},
    {"flock", 0.001, 0.001},
    {"dam_break", 1, 1},
    {"double_dam", 15, 15},
    {"floating", 5, 5},
    {"hourglass", 2.5, 2.5},
    {"honey", 70, 70},
    {"pouring_glass", 220, 220},
    {"pool", 45, 45},
    {"column_collapse", 10, 10},
    {"sand_pile", 400, 400},
    {"sand_sheet", 250, 250},
    {"sand_water", 4, 4},
    {"sand_wheel", 18, 8},
    {"pool_toys", 2.6, 0.001},
    {"harbour", 0.001, 0.001},
    {"river", 87000, 87000},
    {"rain_pond", 0.36, 0.0038},
    {"bathtub", 42, 42},
    {"waterfall", 56000, 56000},
    {"water_fountain", 970, 970},
    {"water_wheel", 3600, 3600},
    {"liquids", 1500, 1},
    {"waters", 160, 0.001},
    {"smokes", 30, 16},
    {"everything", 3000, 3000},
};

static const EnergyBound *energy_bound(const char *name)
{
    for (u32 i = 0; i < PL_COUNT(energy_bounds); i++) {
        if (strcmp(energy_bounds[i].name, name) == 0) {
            return &energy_bounds[i];
        }
    }
    fail_msg("%s: a scene without bounds of its energy", name);
    return NULL;
}

typedef struct EnergySeen {
    f64 start, least, rise, above_start;
} EnergySeen;

static void energy_look(EnergySeen *seen, f64 energy)
{
    seen->least = fmin(seen->least, energy);
    seen->rise = fmax(seen->rise, energy - seen->least);
    seen->above_start = fmax(seen->above_start, energy - seen->start);
}

/* Inflating pumps, shape matching and methods other than XPBD store energy without a known
 * potential. */
static bool has_potential(const Scene *scene)
{
    for (u32 i = 0; i < scene->soft_count; i++) {
        const SceneSoft *soft = &scene->soft_bodies[i];
        if (soft->method != SOFT_XPBD || soft->match != SOFT_MATCH_NONE || soft->inflate_s > 0.0f) {
            return false;
        }
    }
    return true;
}

/* The work of moving bodies, belts and hands is measured, that of motors is not. */
static bool has_motors(const Scene *scene)
{
    bool any = false;
    for (u32 i = 0; i < scene->joint_count; i++) {
        any = any || scene->joints[i].driven;
    }
    return any;
}

/* Less the measured work. */
static f64 energy_of(World *world, const Scene *scene)
{
    f64 elastic = has_potential(scene) ? probe(world, "elastic") : 0.0;
    f64 work = has_motors(scene) ? 0.0 : rigid_work(world_rigid(world));
    return probe(world, "energy") + elastic - work;
}

/* What was saved continues in another world, bit for bit. */
static void goes_on(const char *path, const Scene *scene, World *world)
{
    ErrorText error = {.text = ""};
    u8 *image = NULL;
    size_t bytes = 0;
    World *other = world_create(scene, NULL, &error);
    assert_non_null(other);
    assert_int_equal(world_save(world, &image, &bytes), 0);
    if (world_load(other, image, bytes, &error) != 0) {
        fail_msg("%s: %s", path, error.text);
    }
    free(image);
    for (u32 i = 0; i < GOES_ON_TICKS; i++) {
        world_tick(world, NULL, 0);
        world_tick(other, NULL, 0);
    }
    if (world_hash(world) != world_hash(other)) {
        fail_msg("%s: saved and loaded, it continues differently", path);
    }
    world_destroy(other);
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
    rigid_measure_work(world_rigid(world), true);
    f64 begun = energy_of(world, scene), deepest = 0.0;
    EnergySeen seen = {.start = begun, .least = begun};
    u32 cells = 0;
    for (u32 i = 0; i < scene->smoke_count; i++) {
        const u32 *n = scene->smokes[i].cells;
        cells += n[0] * n[1] * n[2];
    }
    for (u32 i = 0; i < scene->water_count; i++) {
        cells += scene->waters[i].cells[0] * scene->waters[i].cells[1];
    }
    u32 wanted = WORK / u32_max(scene->body_count + before.particles / 4 + cells / 64, 1);
    u32 count = u32_max(TICKS_MIN, u32_min(wanted, TICKS_MAX));
    for (u32 i = 0; i < count; i++) {
        world_tick(world, NULL, 0);
        f64 energy = energy_of(world, scene);
        f64 overlap = probe(world, "overlap");
        deepest = overlap > deepest ? overlap : deepest;
        if (!isfinite(energy)) {
            fail_msg("%s: tick %u: energy %g", path, i, energy);
        }
        energy_look(&seen, energy);
    }
    world_stats(world, &after);
    if (after.bodies != before.bodies) {
        fail_msg("%s: of %u bodies %u are left", path, before.bodies, after.bodies);
    }
    const EnergyBound *bound = energy_bound(scene->name);
    printf("%s: in %u ticks energy rose by %.3g J, %.3g J above its start\n", scene->name, count,
           seen.rise, seen.above_start);
    expect_at_most(scene->name, seen.rise, bound->rise);
    expect_at_most(scene->name, seen.above_start, bound->above_start);
    for (u32 i = 0; i < scene->soft_count; i++) {
        f64 stretch = probe(world, scene->soft_bodies[i].name);
        /* A shorter run may end while something is jammed. */
        if (!(stretch < (SANITIZED ? 4.0 : 1.0))) {
            fail_msg("%s: %s is stretched by %g", path, scene->soft_bodies[i].name, stretch);
        }
    }
    /* A fast body may overlap for a tick, but none may stay inside another. The golden scenes jam
     * bodies on purpose. */
    f64 last = probe(world, "overlap");
    if (strstr(path, "golden") == NULL && (deepest > 0.3 || last > 0.05)) {
        fail_msg("%s: overlap was up to %g m, and %g m at the end", path, deepest, last);
    }
    goes_on(path, scene, world);
    world_destroy(world);
    scene_destroy(scene);
}

static void test_every_scene_runs(void **state)
{
    (void)state;
    glob_t found;
    assert_int_equal(glob("shared/scenes/*.json", 0, NULL, &found), 0);
    assert_int_equal(glob("tests/determinism/golden/*.json", GLOB_APPEND, NULL, &found), 0);
    assert_true(found.gl_pathc >= 32);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        run(found.gl_pathv[i]);
    }
    globfree(&found);
}

/* Bounds for a scene with soft bodies. */
typedef struct SoftBound {
    const char *file;
    f32 seconds;
    f64 rise;          /* of energy above its start, as a share of the start */
    f64 most, stretch; /* of any edge: over the run, and at the end */
    f64 speed;         /* m/s, of the fastest point at the end */
} SoftBound;

/* Wind and moving bodies put energy into flag, flag_in_wind, candle, methods, sheet, plasticine and
 * cloth21. Where 1 mm/s is not reached in time, the speed that is reached. */
static const SoftBound soft_bounds[] = {
    {"balloon_dog", 5.0f, 0.01, 0.15, 0.12, 1e-3},
    {"balloons", 7.0f, 0.01, 0.8, 0.15, 1e-3},
    {"cloth", 1.5f, 0.01, 0.05, 0.04, INFINITY},
    {"playground", 2.0f, 0.01, 0.05, 0.04, INFINITY},
    {"cloth100", 1.0f, 0.01, 0.6, 0.6, INFINITY},
    {"cloth21", 6.0f, 0.5, 0.03, 0.02, INFINITY},
    {"flag", 4.0f, 0.2, 0.2, 0.15, INFINITY},
    {"jelly", 10.0f, 0.01, 0.01, 0.01, 0.06},
    {"methods", 1.5f, 0.2, 0.06, 0.03, INFINITY},
    {"plant", 14.0f, 0.01, 0.4, 0.3, 1e-3},
    {"plasticine", 9.0f, 0.01, 0.01, 0.01, 1e-3},
    {"rabbits", 10.0f, 0.01, 0.01, 0.01, 0.06},
    {"rope_bridge", 8.0f, 0.01, 0.02, 0.01, 0.3},
    {"sheet", 6.0f, 0.2, 0.08, 0.04, 1e-3},
    {"stick_figure", 8.0f, 0.01, 0.2, 0.01, 1e-3},
    {"towel", 7.5f, 0.01, 0.14, 0.02, 1e-3},
    {"pool", 2.0f, 0.2, 0.3, 0.3, INFINITY},
    {"candle", 0.5f, 1.0, 0.3, 0.3, INFINITY},
    {"flag_in_wind", 2.0f, 67, 0.2, 0.15, INFINITY},
    {"everything", 2.0f, 3000, 0.3, 0.3, INFINITY},
    {"sand_sheet", 5.0f, 12, 0.14, 0.13, INFINITY},
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

/* Sanitizers run only the start. */
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
