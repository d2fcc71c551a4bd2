/* truth_merge.c: worlds that nobody designed: shipped scenes laid over each other, with other
 * rates, gravity, masses and speeds. Whatever meets whatever, nothing may explode, results may not
 * depend on threads, and what was saved goes on as it would have; see truth.h. */
#include "server/author/scene_load.h"
#include "server/physics/liquid/liquid.h"
#include "server/world/matter_rigid.h"
#include "server/world/matter_soft.h"
#include "server/world/world.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/jobs.h"
#include "tests/support/process.h"
#include "tests/support/scene_merge.h"
#include "tests/support/scene_text.h"
#include "tests/support/truth.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PARTS_MAX = 4,
    TICKS = 60,
    THREADS = 3
};

/* Throws, falls from the bounds and blows of what is a hundred times heavier stay well below. */
#define speed_max   60.0
#define TICK_NS_MAX 20000000000ull

/* Those that are large, or empty of matter, or pictures of something far from a room's size. */
static bool is_left_out(const char *path)
{
    static const char *const out[] = {"/empty.",     "/solar_system.", "/orbits.",
                                      "/boxes1000.", "/cloth100.",     "/ragdolls."};
    for (u32 i = 0; i < PL_COUNT(out); i++) {
        if (strstr(path, out[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static u32 draw_files(TruthCase *c, const glob_t *found, const char *paths[static PARTS_MAX])
{
    u32 wanted = 2 + truth_pick(c, PARTS_MAX - 1), count = 0;
    while (count < wanted) {
        const char *path = found->gl_pathv[truth_pick(c, (u32)found->gl_pathc)];
        bool taken = is_left_out(path);
        for (u32 i = 0; i < count; i++) {
            taken = taken || strcmp(paths[i], path) == 0;
        }
        if (!taken) {
            paths[count++] = path;
            const char *name = strrchr(path, '/') + 1;
            truth_say(c, "%s%.*s", count > 1 ? " + " : "", (int)strcspn(name, "."), name);
        }
    }
    return count;
}

static Vec3 draw_vector(TruthCase *c, f32 size)
{
    return vec3_scale(truth_direction(c), truth_range(c, 0.0f, size));
}

/* Other rates than anybody tried; gravity that differs, sometimes. */
static void draw_settings(TruthCase *c, char settings[static 256])
{
    static const u32 rates[] = {30, 60, 60, 60, 120};
    static const u32 steps[] = {1, 2, 4, 8};
    static const f32 pulls[] = {-20.0f, -9.81f, -1.0f, 0.0f, 3.0f};
    u32 rate = rates[truth_pick(c, 5)], substeps = steps[truth_pick(c, 4)];
    u32 soft_steps = steps[truth_pick(c, 3)];
    Vec3 gravity = vec3(0.0f, -9.81f, 0.0f);
    if (truth_pick(c, 3) == 0) {
        gravity =
            vec3(truth_range(c, -5.0f, 5.0f), pulls[truth_pick(c, 5)], truth_range(c, -5.0f, 5.0f));
    }
    bool bounded = truth_pick(c, 10) < 7;
    snprintf(settings, 256,
             "\"tick_rate\":%u,\"substeps\":%u,\"soft_steps\":%u,\"gravity\":[%.9g,%.9g,%.9g],%s",
             rate, substeps, soft_steps, (f64)gravity.x, (f64)gravity.y, (f64)gravity.z,
             bounded ? "\"bounds\":[-30,-10,-30,30,30,30]," : "");
    truth_say(c, "; %u Hz, %u and %u steps, g %.3g %.3g %.3g%s", rate, substeps, soft_steps,
              (f64)gravity.x, (f64)gravity.y, (f64)gravity.z, bounded ? ", bounds" : "");
}

/* Some bodies are thrown, or weigh up to a hundred times more or less. */
static void disturb(TruthCase *c, Scene *scene)
{
    for (u32 i = 0; i < scene->body_count; i++) {
        SceneBody *body = &scene->bodies[i];
        if (body->mass_kg <= 0.0f) {
            continue;
        }
        if (truth_pick(c, 6) == 0) {
            body->velocity = draw_vector(c, 12.0f);
        }
        if (truth_pick(c, 6) == 0) {
            body->angular_velocity = draw_vector(c, 20.0f);
        }
        if (truth_pick(c, 10) == 0) {
            body->mass_kg *= truth_log_range(c, 0.01f, 100.0f);
        }
        if (truth_pick(c, 20) == 0) {
            body->restitution = truth_range(c, 0.0f, 1.0f);
        }
        if (truth_pick(c, 20) == 0) {
            body->friction = truth_range(c, 0.0f, 1.5f);
        }
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        if (truth_pick(c, 3) == 0) {
            scene->soft_bodies[i].velocity = draw_vector(c, 8.0f);
        }
    }
}

typedef struct Fastest {
    f64 speed; /* m/s */
    char what[80];
    u64 tick;
} Fastest;

static void look_at(Fastest *most, const World *world, const char *kind, u32 number, Vec3 velocity)
{
    f64 speed = (f64)vec3_length(velocity);
    if (speed > most->speed || isnan(speed)) {
        most->speed = isnan(speed) ? INFINITY : speed;
        most->tick = world_tick_number(world);
        snprintf(most->what, sizeof most->what, "%s %u", kind, number);
    }
}

/* Of all bodies, points of soft bodies and particles of liquids. */
static void find_fastest(const World *world, Fastest *most)
{
    const Rigid *rigid = world_rigid(world);
    const Soft *soft = world_soft(world);
    const Liquid *liquid = scene_text_liquid(world);
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        if (rigid_at(rigid, i).generation != 0) {
            look_at(most, world, "body", i, rigid_velocity(rigid, i));
        }
    }
    for (u32 i = 0; i < soft_particles(soft); i++) {
        look_at(most, world, "soft point", i, soft_velocity(soft, i));
    }
    for (u32 i = 0; liquid != NULL && i < liquid_slots(liquid); i++) {
        look_at(most, world, "liquid particle", i, liquid_velocities(liquid)[i]);
    }
}

/* The scene of a case; NULL: it isn't one. */
static Scene *draw_scene(TruthCase *c)
{
    char settings[256], file[] = "/tmp/plenum-merged-XXXXXX";
    const char *paths[PARTS_MAX];
    ErrorText error = {.text = ""};
    glob_t found;
    CHECK(glob(source_path("shared/scenes/*.json"), 0, NULL, &found) == 0);
    u32 count = draw_files(c, &found, paths);
    draw_settings(c, settings);
    char *text = scene_merge(paths, count, settings);
    globfree(&found);
    int fd = mkstemp(file);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    Scene *scene = scene_load_anywhere(file, &error);
    if (getenv("KEEP") == NULL) {
        unlink(file);
    } else {
        fprintf(stderr, "%s\n", file);
    }
    free(text);
    if (scene == NULL) {
        truth_say(c, ": %s", error.text);
    } else {
        disturb(c, scene);
    }
    return scene;
}

/* Ticks until something is too fast, or takes for ever: a tick of these worlds is a matter of
 * milliseconds. */
static void go_on(World *world, u32 ticks, Fastest *most)
{
    for (u32 t = 0; t < ticks && most->speed < speed_max; t++) {
        u64 begun = clock_thread_ns();
        world_tick(world, NULL, 0);
        find_fastest(world, most);
        if (clock_thread_ns() - begun > TICK_NS_MAX) {
            *most = (Fastest){.speed = INFINITY, .tick = world_tick_number(world)};
            snprintf(most->what, sizeof most->what, "no end of the tick");
        }
    }
}

/* What was saved of `world` goes on in another world with other threads. */
static World *go_on_elsewhere(TruthCase *c, const Scene *scene, World *world, Jobs *jobs)
{
    ErrorText error = {.text = ""};
    u8 *image = NULL;
    size_t bytes = 0;
    World *other = world_create(scene, jobs, &error);
    if (other != NULL &&
        (world_save(world, &image, &bytes) != 0 || world_load(other, image, bytes, &error) != 0)) {
        world_destroy(other);
        other = NULL;
    }
    if (other == NULL) {
        truth_say(c, ": %s", error.text);
    }
    free(image);
    return other;
}

static f64 explosion(TruthCase *c)
{
    ErrorText error = {.text = ""};
    Scene *scene = draw_scene(c);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        truth_say(c, ": %s", error.text);
        scene_destroy(scene);
        return NAN;
    }
    Jobs *jobs = jobs_create(THREADS);
    Fastest most = {.speed = 0.0};
    go_on(world, TICKS / 2, &most);
    World *other = most.speed < speed_max ? go_on_elsewhere(c, scene, world, jobs) : NULL;
    if (other != NULL) {
        go_on(world, TICKS / 2, &most);
        Fastest again = {.speed = 0.0};
        go_on(other, TICKS / 2, &again);
        if (most.speed < speed_max && world_hash(world) != world_hash(other)) {
            truth_say(c, ": goes on differently");
            most.speed = NAN;
        }
    } else if (most.speed < speed_max) {
        most.speed = NAN;
    }
    if (most.speed >= speed_max) {
        truth_say(c, ": %s in tick %" PRIu64, most.what, most.tick);
    }
    world_destroy(other);
    world_destroy(world);
    jobs_destroy(jobs);
    scene_destroy(scene);
    return most.speed;
}

/* A closed or solid soft body that begins inside something static, in space: the fastest point.
 * What overlaps is moved apart at 1 m/s; that may stretch it, but not pump energy into it. */
static f64 inside(TruthCase *c)
{
    static const u32 rates[] = {30, 60, 60, 120, 240};
    u32 rate = rates[truth_pick(c, 5)], substeps = 1 + truth_pick(c, 4);
    u32 soft_steps = 1 + truth_pick(c, 4), kind = truth_pick(c, 2), thing = truth_pick(c, 3);
    f32 size = truth_log_range(c, 0.2f, 1.5f), large = size * truth_log_range(c, 0.3f, 3.0f);
    Vec3 at = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 0.6f) * (size + large));
    Quat q = truth_rotation(c);
    SceneText of = {.used = 0};
    truth_say(c, "%s %.2f m in a %s of %.2f m; %u Hz, %u and %u steps",
              kind == 0 ? "balloon" : "jelly", (f64)size,
              thing == 0   ? "box"
              : thing == 1 ? "ball"
                           : "capsule",
              (f64)large, rate, substeps, soft_steps);
    scene_text_add(
        &of,
        "{\"name\":\"t\",\"tick_rate\":%u,\"substeps\":%u,\"soft_steps\":%u,\"gravity\":"
        "[0,0,0],\"bodies\":[{\"name\":\"b\",\"motion\":\"static\",\"position\":[%.9g,%.9g,"
        "%.9g],\"orientation\":[%.9g,%.9g,%.9g,%.9g],\"shape\":{",
        rate, substeps, soft_steps, (f64)at.x, (f64)at.y, (f64)at.z, (f64)q.w, (f64)q.x, (f64)q.y,
        (f64)q.z);
    if (thing == 0) {
        scene_text_add(&of, "\"kind\":\"box\",\"half\":[%.9g,%.9g,%.9g]", (f64)large,
                       (f64)(large * truth_range(c, 0.2f, 1.0f)),
                       (f64)(large * truth_range(c, 0.2f, 1.0f)));
    } else if (thing == 1) {
        scene_text_add(&of, "\"kind\":\"sphere\",\"radius\":%.9g", (f64)large);
    } else {
        scene_text_add(&of, "\"kind\":\"capsule\",\"radius\":%.9g,\"half_height\":%.9g",
                       (f64)(0.5f * large), (f64)(0.5f * large));
    }
    scene_text_add(&of, "}}],\"soft_bodies\":[{\"name\":\"s\",\"thickness\":0.01,");
    if (kind == 0) {
        scene_text_add(
            &of,
            "\"shape\":{\"kind\":\"sphere\",\"radius\":%.9g,\"level\":%u},\"density\":%.9g,"
            "\"stretch_compliance\":%.9g,\"bend\":\"distance\",\"bend_compliance\":0.005,"
            "\"pressure\":%.9g,\"inflate\":1}]}",
            (f64)size, 2 + truth_pick(c, 2), (f64)truth_log_range(c, 0.05f, 1.0f),
            (f64)truth_log_range(c, 1e-5f, 1e-3f), (f64)truth_range(c, 0.0f, 3.0f));
    } else {
        scene_text_add(
            &of,
            "\"shape\":{\"kind\":\"box\",\"size\":[%.9g,%.9g,%.9g],\"cells\":[4,4,4],"
            "\"solid\":true},\"density\":%.9g,\"stretch_compliance\":-1,\"bend\":\"none\","
            "\"young\":%.9g}]}",
            (f64)size, (f64)size, (f64)size, (f64)truth_log_range(c, 20.0f, 2000.0f),
            (f64)truth_log_range(c, 1e4f, 1e6f));
    }
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    Fastest most = {.speed = 0.0};
    go_on(world, rate, &most);
    world_destroy(world);
    scene_destroy(scene);
    return most.speed;
}

const TruthLaw truth_merge[] = {
    {"world/merged", "shipped scenes laid over each other: the fastest of everything", "m/s",
     speed_max, 0, 200, explosion},
    {"soft/inside", "begins inside something static: its fastest point, moved apart at 1 m/s",
     "m/s", 10.0, 25, 400, inside},
    {.name = NULL},
};
