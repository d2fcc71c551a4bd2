/* truth_all.c: laws of closed worlds in which all kinds of matter touch each other; see truth.h. */
#include "server/world/matter_smoke.h"
#include "server/world/matter_water.h"
#include "tests/support/scene_text.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>

static const f64 g = 9.81;

enum {
    CELLS = 48, /* of the water, a side */
};

/* A world around the origin: a torus of water with something on it and air above, or the same in
 * flight, without gravity and water. */
typedef struct All {
    SceneText text;
    f32 size, speed; /* m, a side; m/s */
    bool flies;
    f64 scale; /* kg m/s */
    Scene *scene;
    World *world;
} All;

static void body(All *of, const char *more, Vec3 at, Vec3 velocity, f32 mass)
{
    scene_text_add(&of->text,
                   "%s{\"name\":\"b%zu\",\"position\":[%.9g,%.9g,%.9g],\"velocity\":[%.9g,%.9g,"
                   "%.9g],\"mass\":%.9g,\"shape\":%s}",
                   of->text.json[of->text.used - 1] == '[' ? "" : ",", of->text.used, (f64)at.x,
                   (f64)at.y, (f64)at.z, (f64)velocity.x, (f64)velocity.y, (f64)velocity.z,
                   (f64)mass, more);
    of->scale += (f64)mass * (f64)of->speed;
}

/* A raft that drives on, a bowl that carries a liquid, and a ball that flies into what is on the
 * raft. */
static void add_bodies(All *of, TruthCase *c)
{
    char shape[512];
    f32 d = 0.1f * of->size, density = truth_log_range(c, 100.0f, 700.0f), v = of->speed;
    scene_text_add(&of->text, "\"bodies\":[");
    snprintf(shape, sizeof shape, "{\"kind\":\"box\",\"half\":[%g,%g,%g]}", 2.0 * (f64)d,
             0.3 * (f64)d, 1.5 * (f64)d);
    body(of, shape, vec3(-1.5f * d, 0.2f * d, 0.0f), vec3(v, 0.0f, 0.2f * v),
         7.2f * d * d * d * density);
    snprintf(
        shape, sizeof shape,
        "{\"kind\":\"compound\",\"children\":[{\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%g]}"
        "},{\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%g]},\"position\":[%g,%g,0]},{\"shape\":"
        "{\"kind\":\"box\",\"half\":[%g,%g,%g]},\"position\":[%g,%g,0]}]}",
        (f64)d, 0.2 * (f64)d, (f64)d, 0.2 * (f64)d, 0.5 * (f64)d, (f64)d, (f64)d, 0.5 * (f64)d,
        0.2 * (f64)d, 0.5 * (f64)d, (f64)d, -(f64)d, 0.5 * (f64)d);
    body(of, shape, vec3(2.5f * d, 0.2f * d, 0.0f), vec3(-0.5f * v, 0.0f, 0.0f),
         2.0f * d * d * d * density);
    snprintf(shape, sizeof shape, "{\"kind\":\"sphere\",\"radius\":%g}", 0.4 * (f64)d);
    body(of, shape, vec3(-3.5f * d, 2.0f * d, 0.3f * d), vec3(2.0f * v, 0.0f, 0.0f),
         0.3f * d * d * d * truth_log_range(c, 100.0f, 3000.0f));
    scene_text_add(&of->text, "],");
}

/* A jelly on the raft under a cloth, and a block of liquid over the bowl, of which some falls into
 * the water. */
static void add_soft(All *of, TruthCase *c)
{
    f64 d = 0.1 * (f64)of->size;
    scene_text_add(
        &of->text,
        "\"soft_bodies\":[{\"name\":\"jelly\",\"shape\":{\"kind\":\"box\",\"size\":[%g,%g,%g],"
        "\"cells\":[3,3,3],\"solid\":true},\"position\":[%g,%g,0],\"velocity\":[%g,0,0],"
        "\"density\":%g,\"stretch_compliance\":-1,\"bend\":\"none\",\"young\":%g,\"damping\":0},",
        1.4 * d, d, 1.4 * d, -1.5 * d, 1.4 * d, (f64)of->speed,
        (f64)truth_log_range(c, 100.0f, 1000.0f), 1e5 * d);
    scene_text_add(
        &of->text,
        "{\"name\":\"cloth\",\"shape\":{\"kind\":\"grid\",\"points\":[11,11],\"size\":[%g,%g]},"
        "\"position\":[%g,%g,%g],\"rotation\":[90,0,0],\"density\":%g,\"damping\":0}],",
        2.5 * d, 2.5 * d, -2.7 * d, 2.6 * d, -1.2 * d, (f64)truth_log_range(c, 0.05f, 2.0f));
    scene_text_add(&of->text,
                   "\"liquid_spacing\":%g,\"liquids\":[{\"name\":\"l\",\"capacity\":4000,\"fill\":"
                   "[{\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%g]},\"position\":[%g,%g,0]}]}],",
                   fmax(0.16 * d, 0.002), 0.75 * d, 0.4 * d, 0.75 * d, 2.5 * d, 0.9 * d);
    of->scale += d * d * d * (1000.0 * (f64)of->speed + 1000.0);
}

static void add_fluids(All *of, TruthCase *c)
{
    f64 size = (f64)of->size, cell = size / CELLS, half = 0.5 * size;
    scene_text_add(&of->text,
                   "\"particle_systems\":[{\"name\":\"p\",\"count\":50,\"burst\":50,\"lifetime\":9,"
                   "\"position\":[0,%g,0],\"spread\":60,\"speed\":%g,\"mass\":%g,\"drag\":%g}],",
                   0.3 * size, (f64)of->speed, 1e-5 * size * size * size,
                   (f64)truth_log_range(c, 0.1f, 9.0f));
    if (!of->flies) {
        f64 depth = size * (f64)truth_range(c, 0.1f, 0.3f);
        scene_text_add(&of->text,
                       "\"waters\":[{\"name\":\"w\",\"width\":%.9g,\"length\":%.9g,\"cell\":%.9g,"
                       "\"depth\":%g,\"friction\":0,\"spray\":\"l\",\"border_x\":\"periodic\","
                       "\"border_z\":\"periodic\"}],",
                       size, size, cell, depth);
        of->scale += 2e-5 * 1000.0 * size * size * depth * sqrt(g * depth); /* its rounding */
    }
    /* Smooth above and below, where there is water; around itself else. */
    const char *up = of->flies ? "{\"kind\":\"periodic\"}" : "{\"slips\":true}";
    scene_text_add(
        &of->text,
        "\"smokes\":[{\"name\":\"a\",\"corner\":[%g,%g,%g],\"cells\":[24,24,24],\"spacing\":%.9g,"
        "\"awake\":true,\"wind\":true,\"advection\":\"%s\",\"sides\":[{\"kind\":\"periodic\"},"
        "{\"kind\":\"periodic\"},%s,%s,{\"kind\":\"periodic\"},{\"kind\":\"periodic\"}]}]}",
        -half, of->flies ? -half : -0.25 * size, -half, size / 24.0,
        truth_pick(c, 2) ? "maccormack" : "semi_lagrangian", up, up);
    of->scale += 1.2 * size * size * size * (f64)of->speed;
}

static void momentum_of(const World *world, f64 sum[3])
{
    MatterSums sums = {0};
    for (u32 i = 0; i < world_matters(world); i++) {
        const Matter *matter = world_matter_at(world, i);
        if (matter->ops->sums != NULL) {
            matter->ops->sums(matter, &sums);
        }
    }
    for (u32 a = 0; a < 3; a++) {
        sum[a] = sums.momentum[a];
    }
}

/* Momentum that bodies, cloth, jelly, liquid, water and air gain together in a second, of that of
 * what moves at first; horizontal where water carries them, for it gives what is vertical to its
 * bed. */
static f64 momentum(TruthCase *c)
{
    static const u32 rates[] = {30, 60, 60, 120};
    u32 rate = rates[truth_pick(c, PL_COUNT(rates))], steps = 2 + truth_pick(c, 3);
    All of = {.size = truth_log_range(c, 1.0f, 20.0f), .flies = truth_pick(c, 3) == 0};
    of.speed = sqrtf(of.size) * truth_log_range(c, 0.1f, 1.0f);
    truth_say(c, "%.2f m, %.2f m/s, %u Hz, %u steps, %s", (f64)of.size, (f64)of.speed, rate, steps,
              of.flies ? "in flight" : "on water");
    scene_text_add(&of.text,
                   "{\"name\":\"t\",\"tick_rate\":%u,\"substeps\":%u,\"soft_steps\":2,\"sleep\":"
                   "false,\"bounds\":[-99,-99,-99,99,99,99],\"gravity\":[0,%g,0],",
                   rate, steps, of.flies ? 0.0 : -g);
    add_bodies(&of, c);
    add_soft(&of, c);
    add_fluids(&of, c);
    of.world = scene_text_world(&of.text, &of.scene);
    f64 first[3] = {0}, worst = 0.0;
    for (u32 t = 0; t < rate; t++) {
        f64 now[3];
        world_tick(of.world, NULL, 0); /* the first one emits particles */
        momentum_of(of.world, now);
        for (u32 a = 0; a < 3; a++) {
            first[a] = t == 0 ? now[a] : first[a];
            if (of.flies || a != 1) {
                worst = fmax(worst, fabs(now[a] - first[a]) / of.scale);
            }
        }
    }
    world_destroy(of.world);
    scene_destroy(of.scene);
    return worst;
}

const TruthLaw truth_all[] = {
    {.name = "all/momentum",
     .about = "momentum that all kinds of matter in touch gain together in 1 s, of what moves",
     .unit = "",
     .bound = 5e-5,
     .few = 4,
     .many = 100,
     .measure = momentum},
    {.name = NULL},
};
