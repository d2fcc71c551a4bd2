/*
 * test_shown.c: how real worlds look when the stream is bad: a server that stalls, a line that is
 * new or narrow. Figures stay in one piece, cloth keeps its edges, and no ball is drawn inside
 * cloth or jelly that was not there in the simulation. In virtual time.
 */
#include "client/link/strain.h"
#include "client/link/timeline.h"
#include "server/author/scene_load.h"
#include "tests/support/join_rig.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sanitizers make worlds ten to forty times slower: fewer cases. */
#if defined(__SANITIZE_THREAD__)
#define STRIDE 9
#elif defined(__SANITIZE_ADDRESS__)
#define STRIDE 3
#else
#define STRIDE 1
#endif

#define STALL_S   0.6
#define PICTURE_S (1.0 / 60.0)

typedef struct Line {
    f64 delay_ms;
    u32 kbit_s; /* 0: unlimited */
} Line;

/* The worst over all pictures. */
typedef struct Shown {
    f64 gap_m;   /* distance between the anchors of a joint */
    f64 edge;    /* longest edge of a cloth, as a share of the longest one at rest */
    f64 depth_m; /* depth of a point inside a ball */
    f64 step_m;  /* motion of a body between two pictures */
    bool pieces; /* only some points of a body were known */
} Shown;

typedef struct Watch {
    JoinRig rig;
    Connection *client;
    Scene *scene;
    Shown shown;
    Strain *strain;
    ShownPoint *points;
    Vec3 was[256];
    u32 was_count;
} Watch;

static void watch_joints(Watch *w)
{
    const Timeline *timeline = connection_timeline(w->client);
    for (u32 i = 0; i < w->scene->joint_count; i++) {
        const SceneJoint *joint = &w->scene->joints[i];
        const i32 bodies[2] = {joint->a, joint->b};
        Vec3 ends[2] = {joint->anchor_a, joint->anchor_b};
        bool known = joint->kind != JOINT_MOTOR && joint->kind != JOINT_SPRING;
        for (u32 k = 0; k < 2 && known; k++) {
            ShownPose pose;
            const Entity *entity =
                bodies[k] >= 0 ? connection_entity(w->client, (u32)bodies[k] + 1) : NULL;
            known = entity != NULL && timeline_pose(timeline, entity->field, entity->first, &pose);
            ends[k] =
                known ? vec3_add(pose.position, quat_rotate(pose.orientation, ends[k])) : ends[k];
        }
        if (known) {
            w->shown.gap_m = fmax(w->shown.gap_m, (f64)vec3_distance(ends[0], ends[1]));
        }
    }
}

static f32 edge_longest(const ShownPoint *points, u32 count, u32 columns)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < count; i++) {
        if (i % columns + 1 < columns) {
            most = f32_max(most, vec3_distance(points[i].position, points[i + 1].position));
        }
        if (i + columns < count) {
            most = f32_max(most, vec3_distance(points[i].position, points[i + columns].position));
        }
    }
    return most;
}

static void watch_balls(Watch *w, const ShownPoint *points, u32 count)
{
    u32 entity_count;
    const Entity *entities = connection_entities(w->client, &entity_count, NULL);
    for (u32 i = 0; i < entity_count; i++) {
        ShownPose pose;
        if (entities[i].appearance.kind != APPEARANCE_SHAPE ||
            entities[i].appearance.shape.kind != SHAPE_SPHERE ||
            !timeline_pose(connection_timeline(w->client), entities[i].field, entities[i].first,
                           &pose)) {
            continue;
        }
        for (u32 k = 0; k < count; k++) {
            f32 away = vec3_distance(points[k].position, pose.position);
            w->shown.depth_m =
                fmax(w->shown.depth_m, (f64)(entities[i].appearance.shape.radius - away));
        }
    }
}

/* As drawn by the window. */
static bool fetch_points(Watch *w)
{
    const FieldSet *fields = connection_fields(w->client);
    u32 f = 0, count;
    u64 version;
    while (f < fields->count && fields->fields[f].kind != FIELD_POINTS) {
        f++;
    }
    if (f == fields->count) {
        return false;
    }
    w->points = realloc(w->points, fields->fields[f].capacity * sizeof *w->points);
    assert_non_null(w->points);
    timeline_points(connection_timeline(w->client), f, w->points);
    const Entity *entities = connection_entities(w->client, &count, &version);
    strain_update(w->strain, connection_scene(w->client), entities, count, version,
                  connection_worlds(w->client));
    strain_limit(w->strain, connection_timeline(w->client), f, w->points);
    return true;
}

static void watch_points(Watch *w)
{
    u32 entity_count;
    const Entity *entities = connection_entities(w->client, &entity_count, NULL);
    if (!fetch_points(w)) {
        return;
    }
    for (u32 i = 0; i < entity_count; i++) {
        const Entity *entity = &entities[i];
        if (entity->appearance.kind != APPEARANCE_CLOTH) {
            continue;
        }
        ShownPoint *points = w->points + entity->first;
        u32 there = 0;
        for (u32 k = 0; k < entity->count; k++) {
            there += points[k].generation != 0;
        }
        w->shown.pieces = w->shown.pieces || (there != 0 && there != entity->count);
        u32 columns = entity->appearance.grid[0];
        if (there == entity->count && columns > 0) {
            w->shown.edge = fmax(w->shown.edge, (f64)edge_longest(points, there, columns));
        }
        if (there == entity->count) {
            watch_balls(w, points, there);
        }
    }
}

static void watch_steps(Watch *w)
{
    u32 count, n = 0;
    const Entity *entities = connection_entities(w->client, &count, NULL);
    for (u32 i = 0; i < count && n < PL_COUNT(w->was); i++) {
        ShownPose pose;
        if (!entities[i].movable || !timeline_pose(connection_timeline(w->client),
                                                   entities[i].field, entities[i].first, &pose)) {
            continue;
        }
        if (n < w->was_count) {
            w->shown.step_m = fmax(w->shown.step_m, (f64)vec3_distance(pose.position, w->was[n]));
        }
        w->was[n++] = pose.position;
    }
    w->was_count = n;
}

/* As client programs do for each picture: the server hears from its client in time. */
static void appearance(Connection *client)
{
    const SceneCamera *camera = &connection_scene(client)->camera;
    Vec3 forward =
        vec3_normalize_or(vec3_sub(camera->target, camera->eye), vec3(0.0f, 0.0f, -1.0f));
    SnapshotView view = {.eye = camera->eye, .forward = forward, .pixels_per_radian = 800.0f};
    connection_view(client, &view, (Ray){camera->eye, forward}, false);
}

/* Runs seconds of the world; the server stalls from `stall_s` on, < 0: never. */
static Shown watch(const char *name, Line line, f64 stall_s, f64 end_s)
{
    Watch *w = calloc(1, sizeof *w);
    assert_non_null(w);
    char path[128];
    ErrorText error = {0};
    snprintf(path, sizeof path, "shared/scenes/%s.json", name);
    w->scene = scene_load(source_path(path), &error);
    assert_non_null(w->scene);
    join_rig_start(&w->rig, w->scene, NULL, 0);
    NetsimOptions up = {.seed = 1, .delay_ms = line.delay_ms};
    NetsimOptions down = {.seed = 2, .delay_ms = line.delay_ms, .rate_bytes_s = line.kbit_s * 125};
    w->client = join_rig_connect(&w->rig, &up, &down);
    w->rig.poll_ms = 1;
    w->strain = strain_create();
    assert_non_null(w->strain);
    f64 stood_s = 0.0, next_s = 0.0;
    while (join_rig_ms(&w->rig) < end_s * 1e3) {
        if (stall_s >= 0.0 && join_rig_ms(&w->rig) >= stall_s * 1e3 && stood_s < STALL_S) {
            join_rig_stall(&w->rig, &w->client, 1);
            stood_s += 1e-3;
        } else {
            join_rig_step(&w->rig, &w->client, 1);
        }
        f64 now_s = join_rig_ms(&w->rig) * 1e-3 + stood_s;
        if (connection_state(w->client) == CONNECTION_LIVE && now_s >= next_s) {
            next_s = now_s + PICTURE_S;
            appearance(w->client);
            watch_joints(w);
            watch_points(w);
            watch_steps(w);
        }
    }
    ConnectionStats stats;
    connection_stats(w->client, &stats);
    assert_int_equal(stats.desyncs, 0);
    Shown shown = w->shown;
    print_message("%s from %.2f s: joints %.1f mm apart, edges %.1f mm, points %.1f mm deep, "
                  "steps %.0f mm\n",
                  name, stall_s, shown.gap_m * 1e3, shown.edge * 1e3, shown.depth_m * 1e3,
                  shown.step_m * 1e3);
    connection_destroy(w->client);
    join_rig_stop(&w->rig);
    scene_destroy(w->scene);
    strain_destroy(w->strain);
    free(w->points);
    free(w);
    return shown;
}

static const Line lan = {0.0, 0};

/* Figures fall down stairs while the server stalls. */
static void test_figures(void **state)
{
    PL_UNUSED(state);
    static const f64 stalls_s[] = {0.5, 0.8, 1.1, 1.6};
    Shown steady = watch("ragdolls", lan, -1.0, 2.4);
    for (u32 i = 0; i < PL_COUNT(stalls_s); i += STRIDE) {
        Shown shown = watch("ragdolls", lan, stalls_s[i], 2.4);
        assert_true(shown.gap_m < steady.gap_m + 0.05);
        assert_true(shown.step_m < 1.6 * steady.step_m);
    }
}

/* A ball falls on jelly. */
static void test_jelly(void **state)
{
    PL_UNUSED(state);
    Shown steady = watch("jelly", lan, -1.0, 1.5);
    for (f64 stall_s = 0.4; stall_s < 0.9; stall_s += STRIDE * 0.1) {
        Shown shown = watch("jelly", lan, stall_s, 1.5);
        assert_true(shown.depth_m < steady.depth_m + 0.02);
        assert_false(shown.pieces);
    }
}

static void test_cloth(void **state)
{
    PL_UNUSED(state);
    Shown steady = watch("cloth", lan, -1.0, 1.5);
    for (f64 stall_s = 0.5; stall_s < 1.2; stall_s += STRIDE * 0.2) {
        Shown shown = watch("cloth", lan, stall_s, 1.5);
        assert_true(shown.edge < 1.03 * steady.edge);
        assert_true(shown.depth_m < steady.depth_m + 0.01);
        assert_false(shown.pieces);
    }
}

/* A large cloth, from the first packet on. */
static void test_new_lines(void **state)
{
    PL_UNUSED(state);
    static const Line lines[] = {{3.0, 0}, {30.0, 0}, {30.0, 4000}, {60.0, 1000}};
    Shown steady = watch("cloth100", lan, -1.0, 1.2);
    assert_false(steady.pieces);
    for (u32 i = 0; i < PL_COUNT(lines); i += STRIDE) {
        Shown shown = watch("cloth100", lines[i], -1.0, 1.2);
        assert_true(shown.edge < 1.15 * steady.edge);
        assert_false(shown.pieces);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_figures),
        cmocka_unit_test(test_jelly),
        cmocka_unit_test(test_cloth),
        cmocka_unit_test(test_new_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
