/* rigid_quality.c: see rigid_quality.h. Runs last 10 s; those of piles 60 s, without sleep. */
#include "tests/bench/rigid_quality.h"

#include <stdio.h>
#include <string.h>

enum {
    STEPS = 600,
    STEPS_MINUTE = 3600
};

static Vec3 place(const Engine *engine, void *world, u32 body)
{
    Vec3 position;
    Quat orientation;
    engine->pose(world, body, &position, &orientation);
    return position;
}

static void print_row(const Engine *engine, const char *name, f64 value, const char *unit)
{
    printf("{\"name\":\"rigid/quality/%s\",\"engine\":\"%s\",\"value\":%.4g,\"unit\":\"%s\"}\n",
           name, engine->name, value, unit);
    fflush(stdout);
}

/* Share of the moving bodies that are still within half a metre of where they began. */
static f64 standing(const Engine *engine, void *world, const Setup *setup)
{
    u32 count = 0;
    for (u32 i = 0; i < setup->body_count; i++) {
        const SetupBody *body = &setup->bodies[i];
        Vec3 at = place(engine, world, i);
        count += body->mass_kg > 0.0f && vec3_distance(at, body->position) < 0.5f;
    }
    return (f64)count / setup->dynamic_count;
}

/* Deepest overlap of unit boxes of a column that still lie upon each other, m. */
static f64 column_overlap(const Engine *engine, void *world, const Setup *setup)
{
    f64 deepest = 0.0;
    Vec3 below = vec3(0.0f, -0.5f, 0.0f);
    for (u32 i = 1; i < setup->body_count; i++) {
        Vec3 at = place(engine, world, i);
        f64 gap = (f64)at.y - (f64)below.y - 1.0;
        if (fabsf(at.x - below.x) < 0.3f && fabsf(at.z - below.z) < 0.3f && gap > -0.5) {
            deepest = gap < -deepest ? -gap : deepest;
        }
        below = at;
    }
    return deepest;
}

/* Continues after the first 10 s, and measures what stands after a minute. */
static void measure_minute(const Engine *engine, void *world, const Setup *setup, const char *name)
{
    char row[64];
    for (u32 i = STEPS; i < STEPS_MINUTE; i++) {
        engine->step(world);
    }
    snprintf(row, sizeof row, "%s_60s", name);
    print_row(engine, row, standing(engine, world, setup), "standing");
}

static void measure_column(const Engine *engine, const char *name)
{
    Setup *setup = setup_create(name);
    void *world = engine->create(setup, 1);
    f64 deepest = 0.0;
    for (u32 i = 0; i < STEPS; i++) {
        engine->step(world);
        f64 now = column_overlap(engine, world, setup);
        deepest = now > deepest ? now : deepest;
    }
    char row[64];
    print_row(engine, name, standing(engine, world, setup), "standing");
    snprintf(row, sizeof row, "%s_overlap", name);
    print_row(engine, row, deepest * 1e3, "mm");
    snprintf(row, sizeof row, "%s_overlap_end", name);
    print_row(engine, row, column_overlap(engine, world, setup) * 1e3, "mm");
    measure_minute(engine, world, setup, name);
    engine->destroy(world);
    setup_destroy(setup);
}

static void measure_standing(const Engine *engine, const char *name)
{
    Setup *setup = setup_create(name);
    void *world = engine->create(setup, 1);
    for (u32 i = 0; i < STEPS; i++) {
        engine->step(world);
    }
    print_row(engine, name, standing(engine, world, setup), "standing");
    if (strncmp(name, "wall", 4) == 0) {
        u32 top = setup->body_count - 1;
        Vec3 from = setup->bodies[top].position, to = place(engine, world, top);
        char row[64];
        snprintf(row, sizeof row, "%s_top_drift", name);
        print_row(
            engine, row,
            1e3 * (f64)sqrtf((to.x - from.x) * (to.x - from.x) + (to.z - from.z) * (to.z - from.z)),
            "mm");
        snprintf(row, sizeof row, "%s_top_sinks", name);
        print_row(engine, row, 1e3 * (f64)(from.y - to.y), "mm");
    }
    measure_minute(engine, world, setup, name);
    engine->destroy(world);
    setup_destroy(setup);
}

/* How far the box of the slope has come. */
static void measure_incline(const Engine *engine, const char *name)
{
    Setup *setup = setup_create(name);
    void *world = engine->create(setup, 1);
    for (u32 i = 0; i < STEPS; i++) {
        engine->step(world);
    }
    u32 box = setup->body_count - 1;
    Vec3 to = place(engine, world, box);
    print_row(engine, name, (f64)vec3_distance(to, setup->bodies[box].position), "m");
    engine->destroy(world);
    setup_destroy(setup);
}

/* The point of a body that was at the world's `anchor` at the start. */
static Vec3 anchor_now(const Engine *engine, void *world, const Setup *setup, u32 body, Vec3 anchor)
{
    if (body == SETUP_WORLD) {
        return anchor;
    }
    const SetupBody *from = &setup->bodies[body];
    Vec3 local = quat_rotate_inverse(from->orientation, vec3_sub(anchor, from->position));
    Vec3 position;
    Quat orientation;
    engine->pose(world, body, &position, &orientation);
    return vec3_add(position, quat_rotate(orientation, local));
}

static f64 joint_error(const Engine *engine, void *world, const Setup *setup)
{
    f64 worst = 0.0;
    for (u32 i = 0; i < setup->joint_count; i++) {
        const SetupJoint *j = &setup->joints[i];
        Vec3 a = anchor_now(engine, world, setup, j->a, j->anchor);
        Vec3 b = anchor_now(engine, world, setup, j->b, j->anchor);
        f64 error = (f64)vec3_distance(a, b);
        worst = error > worst ? error : worst;
    }
    return worst;
}

static void measure_joints(const Engine *engine, const char *name)
{
    Setup *setup = setup_create(name);
    void *world = engine->create(setup, 1);
    f64 worst = 0.0;
    for (u32 i = 0; i < STEPS; i++) {
        engine->step(world);
        f64 now = joint_error(engine, world, setup);
        worst = now > worst ? now : worst;
    }
    char row[64];
    snprintf(row, sizeof row, "%s_error_end", name);
    print_row(engine, row, joint_error(engine, world, setup) * 1e3, "mm");
    snprintf(row, sizeof row, "%s_error_worst", name);
    print_row(engine, row, worst * 1e3, "mm");
    engine->destroy(world);
    setup_destroy(setup);
}

void quality_print(const Engine *engine)
{
    static const char *const columns[] = {"stack10", "stack20", "stack30",
                                          "tower10", "tower50", "tower100"};
    static const char *const standers[] = {"table", "wall20", "wall60", "pyr15", "wall100"};
    static const char *const inclines[] = {"incline26", "incline30", "incline33"};
    static const char *const nets[] = {"chain1000", "net50", "ball100", "ragdoll200"};
    for (u32 i = 0; i < PL_COUNT(columns); i++) {
        measure_column(engine, columns[i]);
    }
    for (u32 i = 0; i < PL_COUNT(inclines); i++) {
        measure_incline(engine, inclines[i]);
    }
    for (u32 i = 0; i < PL_COUNT(standers); i++) {
        measure_standing(engine, standers[i]);
    }
    for (u32 i = 0; i < PL_COUNT(nets); i++) {
        measure_joints(engine, nets[i]);
    }
}
