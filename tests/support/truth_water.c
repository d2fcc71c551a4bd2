/* truth_water.c: laws of water on grids: dam breaks, floating bodies, energy, momentum; see
 * truth.h. */
#include "server/author/scene_load.h"
#include "server/physics/grid/shallow.h"
#include "server/world/matter_water.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const f64 g = 9.81;

/* ---- Ritter ---- */

/* Mean error of the depth of a dam break on a dry bed, relative to the dam's depth. */
static f64 ritter(TruthCase *c)
{
    u32 n = 100 + truth_pick(c, 400), along_z = truth_pick(c, 2);
    f32 cell = truth_log_range(c, 0.02f, 2.0f), part = truth_range(c, 0.3f, 0.5f);
    f64 length = (f64)cell * n, deep = length * (f64)truth_log_range(c, 0.01f, 0.2f), sum = 0.0;
    f64 wave = sqrt(g * deep), time_s = (f64)part * 0.5 * length / (2.0 * wave);
    ShallowDef def = shallow_def_default();
    def.size[0] = along_z != 0 ? 1 : n;
    def.size[1] = along_z != 0 ? n : 1;
    def.cell_m = cell;
    def.awake = true;
    truth_say(c, "%u cells of %.3f m, %.3f m deep, %.2f s", n, (f64)cell, deep, time_s);
    Shallow *shallow = shallow_create(&def, NULL);
    for (u32 i = 0; shallow != NULL && i < n / 2; i++) {
        shallow_set(shallow, along_z != 0 ? 0 : i, along_z != 0 ? i : 0, (f32)deep, 0.0f, 0.0f);
    }
    u32 ticks = (u32)ceil(time_s * 60.0);
    for (u32 t = 0; shallow != NULL && t < ticks; t++) {
        shallow_step(shallow, (f32)(time_s / ticks), (f32)g, NULL);
    }
    for (u32 i = 0; shallow != NULL && i < n; i++) {
        ShallowCells cells = shallow_cells(shallow);
        f64 xi = ((i + 0.5) - n / 2) * (f64)cell / time_s;
        f64 fan = pow(2.0 * wave - xi, 2.0) / (9.0 * g);
        f64 exact = xi < -wave ? deep : xi < 2.0 * wave ? fan : 0.0;
        sum += fabs((f64)cells.depth[along_z != 0 ? (size_t)i * cells.stride : i] - exact);
    }
    f64 error = shallow != NULL ? sum / (n * deep) : NAN;
    shallow_destroy(shallow);
    return error;
}

/* ---- a body in a pool ---- */

typedef struct Float {
    Scene *scene;
    World *world;
    const MatterWater *water;
    f64 mass, high; /* kg; m, of the box */
} Float;

/* A box dropped from a little above the water at `at` m, with a horizontal velocity. */
static Float float_of(TruthCase *c, bool waves, const char *pool, f32 at, f32 speed)
{
    f32 half[3], density = truth_log_range(c, 60.0f, 900.0f);
    char json[1024];
    Float made = {0};
    for (u32 n = 0; n < 3; n++) {
        half[n] = truth_log_range(c, 0.12f, 0.6f);
    }
    half[1] = 0.6f * f32_min(half[0], half[2]); /* flat enough not to capsize */
    made.high = 2.0 * (f64)half[1];
    made.mass = 8.0 * (f64)(half[0] * half[1] * half[2] * density);
    truth_say(c, "%s, %.2f x %.2f x %.2f m, %.0f kg/m3", waves ? "wave" : "shallow",
              2.0 * (f64)half[0], made.high, 2.0 * (f64)half[2], (f64)density);
    snprintf(json, sizeof json,
             "{\"name\":\"t\",\"waters\":[{\"name\":\"w\",\"method\":\"%s\",\"width\":8,"
             "\"length\":8,\"cell\":0.1,%s}],\"bodies\":[{\"name\":\"b\",\"position\":[%g,%g,%g],"
             "\"velocity\":[%g,0,0],\"mass\":%g,\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%g]}}],"
             "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"},"
             "{\"name\":\"h\",\"kind\":\"height\",\"of\":\"b\"}]}",
             waves ? "wave" : "shallow", pool, (f64)truth_range(c, -0.1f, 0.1f),
             (f64)(at + half[1]), (f64)truth_range(c, -0.1f, 0.1f), (f64)speed, made.mass,
             (f64)half[0], (f64)half[1], (f64)half[2]);
    made.scene = scene_parse(json, strlen(json), "t.json", NULL);
    made.world = made.scene != NULL ? world_create(made.scene, NULL, NULL) : NULL;
    for (u32 i = 0; made.world != NULL && made.water == NULL; i++) {
        Matter *matter = world_matter_at(made.world, i);
        made.water = matter->ops == &matter_water ? water_of(matter) : NULL;
    }
    return made;
}

static void float_end(Float *of)
{
    if (of->world != NULL) {
        world_destroy(of->world);
    }
    scene_destroy(of->scene);
}

static f64 probe(const Float *of, const char *name)
{
    f64 value = NAN;
    return world_probe(of->world, name, &value) ? value : NAN;
}

/* Mass of the water displaced by a box after 15 s in an open pool, against the box's. */
static f64 draught(TruthCase *c)
{
    bool waves = truth_pick(c, 2) != 0;
    Float of = float_of(c, waves, "\"depth\":2,\"damping\":0.3", 0.02f, 0.0f);
    for (u32 t = 0; of.world != NULL && t < 900; t++) {
        world_tick(of.world, NULL, 0);
    }
    f64 error = NAN;
    if (of.world != NULL) {
        PoolSums sums = pool_sums(of.water->pools[0], (f32)g);
        error = fabs(1000.0 * sums.displaced / of.mass - 1.0);
    }
    float_end(&of);
    return error;
}

/* Largest rise of the energy of water and a body that falls into it, relative to the total loss. */
static f64 energy(TruthCase *c)
{
    f32 at = truth_range(c, 0.05f, 1.0f);
    Float of = float_of(c, false, "\"depth\":1.5", at, truth_range(c, 0.0f, 1.0f));
    if (of.world == NULL) {
        float_end(&of);
        return NAN;
    }
    f64 start = probe(&of, "e"), least = start, rise = 0.0;
    for (u32 t = 0; t < 480; t++) {
        world_tick(of.world, NULL, 0);
        f64 now = probe(&of, "e");
        least = fmin(least, now);
        rise = fmax(rise, now - least);
    }
    float_end(&of);
    return rise / (start - least);
}

/* Momentum gained by body and water together on a torus, relative to the body's at the start. */
static f64 momentum(TruthCase *c)
{
    f32 speed = truth_range(c, 1.0f, 4.0f);
    Float of = float_of(c, false,
                        "\"depth\":1,\"friction\":0,\"border_x\":\"periodic\","
                        "\"border_z\":\"periodic\"",
                        0.01f, speed);
    if (of.world == NULL) {
        float_end(&of);
        return NAN;
    }
    f64 start = of.mass * (f64)speed, worst = 0.0;
    for (u32 t = 0; t < 60; t++) {
        MatterSums sums = {0};
        world_tick(of.world, NULL, 0);
        matter_water_sums(&of.water->base, &sums);
        Vec3 v = rigid_velocity(world_rigid(of.world), 0);
        f64 x = sums.momentum[0] + of.mass * (f64)v.x - start;
        f64 z = sums.momentum[2] + of.mass * (f64)v.z;
        worst = fmax(worst, fmax(fabs(x), fabs(z)) / start);
    }
    float_end(&of);
    return worst;
}

/* A bed of waves about the middle of the pool's depth; nothing of it reaches what floats. */
static void lay_waves(TruthCase *c, Pool *pool, f32 deep)
{
    static f32 bed[80 * 80];
    f32 high = truth_range(c, 0.0f, 0.5f), ways[2], step = truth_range(c, 0.0f, 0.3f);
    for (u32 n = 0; n < 2; n++) {
        ways[n] = truth_range(c, -1.5f, 1.5f);
    }
    for (u32 i = 0; i < 80 * 80; i++) {
        f32 x = 0.1f * (f32)(i % 80), z = 0.1f * (f32)(i / 80);
        f32 wave = (f32)sin((f64)(ways[0] * x + ways[1] * z));
        bed[i] = -deep + 0.5f * high * (1.0f + wave) + (i % 80 > 55 ? step : 0.0f);
    }
    pool_set_bed(pool, bed);
}

/* Of a box that crosses a pool with walls, and sloshing water over a rough bed: the imbalance of
 * the momentum of both and of walls and bed, relative to the most that these took in a tick, and
 * the box's. */
static f64 walls(TruthCase *c)
{
    f32 speed = truth_range(c, 1.0f, 3.0f), deep = truth_range(c, 1.8f, 2.5f);
    bool rubs = truth_pick(c, 2) != 0;
    char pool[128];
    static const char *const borders[] = {"closed", "periodic", "absorbing"};
    const char *across = borders[truth_pick(c, 3)];
    snprintf(pool, sizeof pool, "\"depth\":%g,\"friction\":%s,\"border_z\":\"%s\"", (f64)deep,
             rubs ? "0.01" : "0", across);
    Float of = float_of(c, false, pool, 0.01f, speed);
    if (of.world == NULL) {
        float_end(&of);
        return NAN;
    }
    Pool *own = of.water->pools[0];
    lay_waves(c, own, deep);
    pool_count(own);
    for (u32 i = 0; i < 80 * 80; i++) {
        f32 level = 0.05f * truth_range(c, -1.0f, 1.0f);
        pool_set_level(own, i % 80, i / 80, level, 0.3f, -0.2f);
    }
    PoolSums before = pool_sums(own, (f32)g);
    f64 start[3] = {before.momentum[0] + of.mass * (f64)speed, 0.0, before.momentum[2]};
    f64 taken[3] = {0.0, 0.0, 0.0}, large = of.mass * (f64)speed, worst = 0.0;
    for (u32 t = 0; t < 60; t++) {
        world_tick(of.world, NULL, 0);
        PoolTaken last = pool_taken(own);
        PoolSums sums = pool_sums(own, (f32)g);
        Vec3 v = rigid_velocity(world_rigid(of.world), 0);
        const f64 body[3] = {of.mass * (f64)v.x, 0.0, of.mass * (f64)v.z};
        for (u32 axis = 0; axis < 3; axis += 2) {
            taken[axis] += last.bed[axis] + last.friction[axis];
            for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
                taken[axis] += last.sides[side][axis];
                large = fmax(large, fabs(last.sides[side][axis]));
            }
            f64 left = sums.momentum[axis] + body[axis] + taken[axis] - start[axis];
            worst = fmax(worst, fabs(left));
        }
    }
    float_end(&of);
    return worst / large;
}

const TruthLaw truth_water[] = {
    {.name = "water/ritter",
     .about = "mean error of the depth of a dam break on dry land, n 100 to 500, of the dam's",
     .unit = "",
     .bound = 0.006,
     .few = 10,
     .many = 200,
     .measure = ritter},
    {.name = "water/draught",
     .about = "mass displaced by a floating box, 60 to 900 kg/m3, error against its own",
     .unit = "",
     .bound = 0.05,
     .few = 4,
     .many = 100,
     .measure = draught},
    {.name = "water/energy",
     .about = "rise of the energy of water and a box that falls into it, of what they lose",
     .unit = "",
     .bound = 0.02,
     .few = 4,
     .many = 100,
     .measure = energy},
    {.name = "water/momentum",
     .about = "momentum gained by a box and water on a torus in 1 s, of the box's",
     .unit = "",
     .bound = 1e-3,
     .few = 4,
     .many = 100,
     .measure = momentum},
    {.name = "water/walls",
     .about = "momentum of a box, sloshing water and what walls, bed and friction took, left out",
     .unit = "",
     .bound = 1e-5,
     .few = 4,
     .many = 200,
     .measure = walls},
    {.name = NULL},
};
