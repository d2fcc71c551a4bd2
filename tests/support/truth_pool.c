/* truth_pool.c: laws of pools with bodies of any size in them, over cells, depths, ticks and beds:
 * rest, volume, energy, momentum, abuse; see truth.h. */
#include "server/physics/grid/shallow.h"
#include "server/world/matter_water.h"
#include "tests/support/scene_text.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const f64 g = 9.81;

enum {
    DROPS_MAX = 3
};

/* A pool around the origin, its level at y = 0. */
typedef struct Basin {
    u32 cells, rate, bodies;
    f32 cell, depth, wide; /* m */
    Scene *scene;
    World *world;
    const MatterWater *water;
    SceneText text;
} Basin;

/* Begins the scene; `more`: options of the water. */
static Basin basin(TruthCase *c, const char *more)
{
    static const u32 rates[] = {30, 60, 120};
    Basin made = {.cells = 24 + truth_pick(c, 49),
                  .rate = rates[truth_pick(c, PL_COUNT(rates))],
                  .cell = truth_log_range(c, 0.03f, 1.0f)};
    made.depth = made.cell * truth_log_range(c, 1.0f, 20.0f);
    made.wide = made.cell * (f32)made.cells;
    truth_say(c, "%u cells of %.3f m, %.2f m deep, %u Hz", made.cells, (f64)made.cell,
              (f64)made.depth, made.rate);
    scene_text_add(&made.text,
                   "{\"name\":\"t\",\"tick_rate\":%u,\"bounds\":[-999,-999,-999,999,999,999],"
                   "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}],\"waters\":[{\"name\":\"w\","
                   "\"width\":%.9g,\"length\":%.9g,\"cell\":%.9g,\"depth\":%.9g%s}],\"bodies\":[",
                   made.rate, (f64)made.wide, (f64)made.wide, (f64)made.cell, (f64)made.depth,
                   more);
    return made;
}

/* A body of `smallest` to 12 cells over the middle, in flight; returns its mass, kg. */
static f64 drop(TruthCase *c, Basin *of, f32 smallest, f32 heaviest, f32 fastest)
{
    static const char *const kinds[] = {"sphere", "box", "capsule", "cylinder"};
    u32 kind = truth_pick(c, PL_COUNT(kinds)), number = of->bodies++;
    f32 size = 0.5f * of->cell * truth_log_range(c, smallest, 12.0f);
    f32 density = truth_log_range(c, 30.0f, heaviest), off = 0.12f * of->wide;
    f32 volume = kind == 0   ? 4.19f * size * size * size
                 : kind == 1 ? 8.0f * 0.7f * 1.3f * size * size * size
                             : 6.28f * size * size * size;
    Vec3 way = vec3_scale(truth_direction(c), truth_range(c, 0.0f, fastest));
    Quat turned = truth_rotation(c);
    truth_say(c, "; %s %.2f m %.0f kg/m3 %.1f m/s", kinds[kind], (f64)size, (f64)density,
              (f64)vec3_length(way));
    scene_text_add(
        &of->text,
        "%s{\"name\":\"b%u\",\"position\":[%.9g,%.9g,%.9g],\"velocity\":[%.9g,%.9g,%.9g],",
        number > 0 ? "," : "", number, (f64)truth_range(c, -off, off),
        (f64)(size * (1.5f + 4.0f * (f32)number)), (f64)truth_range(c, -off, off), (f64)way.x,
        (f64)-fabsf(way.y), (f64)way.z);
    scene_text_add(
        &of->text,
        "\"orientation\":[%.9g,%.9g,%.9g,%.9g],\"mass\":%.9g,\"shape\":{\"kind\":\"%s\",",
        (f64)turned.w, (f64)turned.x, (f64)turned.y, (f64)turned.z, (f64)(volume * density),
        kinds[kind]);
    if (kind == 1) {
        scene_text_add(&of->text, "\"half\":[%.9g,%.9g,%.9g]}}", (f64)size, (f64)(0.7f * size),
                       (f64)(1.3f * size));
    } else {
        scene_text_add(&of->text, "\"radius\":%.9g", (f64)size);
        scene_text_add(&of->text, kind == 0 ? "}}" : ",\"half_height\":%.9g}}", (f64)size);
    }
    return (f64)(volume * density);
}

/* A floor and walls around the water: sunken bodies lie on it, floating ones stay over the grid. */
static void tank(Basin *of)
{
    f32 far = 0.5f * of->wide + 1.0f, high = of->depth + of->wide;
    scene_text_wall(&of->text, "floor", vec3(0.0f, -of->depth - 1.0f, 0.0f),
                    vec3(far + 1.0f, 1.0f, far + 1.0f));
    scene_text_wall(&of->text, "west", vec3(-far, 0.0f, 0.0f), vec3(1.0f, high, far + 1.0f));
    scene_text_wall(&of->text, "east", vec3(far, 0.0f, 0.0f), vec3(1.0f, high, far + 1.0f));
    scene_text_wall(&of->text, "south", vec3(0.0f, 0.0f, -far), vec3(far - 1.0f, high, 1.0f));
    scene_text_wall(&of->text, "north", vec3(0.0f, 0.0f, far), vec3(far - 1.0f, high, 1.0f));
}

static void build(Basin *of)
{
    scene_text_add(&of->text, "]}");
    of->world = scene_text_world(&of->text, &of->scene);
    for (u32 i = 0; of->water == NULL; i++) {
        Matter *matter = world_matter_at(of->world, i);
        of->water = matter->ops == &matter_water ? water_of(matter) : NULL;
    }
}

static void tear_down(Basin *of)
{
    world_destroy(of->world);
    scene_destroy(of->scene);
}

static PoolSums sums_of(const Basin *of)
{
    return pool_sums(of->water->pools[0], (f32)g);
}

static bool is_sound(const Basin *of)
{
    return pool_validate(of->water->pools[0]) == NULL;
}

/* ---- rest ---- */

/* Greatest speed of a lake on rough ground with islands after 2 s, of that of its waves. */
static f64 rest(TruthCase *c)
{
    u32 nx = 8 + truth_pick(c, 90), nz = 8 + truth_pick(c, 60);
    f32 rough = truth_log_range(c, 0.01f, 30.0f), level = truth_range(c, -1.0f, 1.0f);
    ShallowDef def = shallow_def_default();
    def.size[0] = nx;
    def.size[1] = nz;
    def.cell_m = truth_log_range(c, 0.02f, 50.0f);
    def.awake = true;
    WaterBorder border = truth_pick(c, 2) != 0 ? WATER_PERIODIC : WATER_CLOSED;
    for (u32 side = 0; side < HEIGHTS_SIDE_COUNT; side++) {
        def.border[side] = border;
    }
    truth_say(c, "%u x %u cells of %.2f m, rough %.2f m, level %.2f of it", nx, nz, (f64)def.cell_m,
              (f64)rough, (f64)level);
    Shallow *shallow = shallow_create(&def, NULL);
    f32 *bed = calloc((size_t)nx * nz, sizeof *bed);
    f64 worst = NAN;
    if (shallow != NULL && bed != NULL) {
        for (u32 i = 0; i < nx * nz; i++) {
            bed[i] = truth_range(c, -rough, rough);
            shallow_set(shallow, i % nx, i / nx, f32_max(level * rough - bed[i], 0.0f), 0.0f, 0.0f);
        }
        bool good = shallow_set_bed(shallow, bed);
        for (u32 t = 0; t < 120 && good; t++) {
            shallow_step(shallow, 1.0f / 60.0f, (f32)g, NULL);
        }
        worst = good ? (f64)shallow_stats(shallow).speed_max / sqrt(g * (f64)rough) : NAN;
    }
    free(bed);
    shallow_destroy(shallow);
    return worst;
}

/* ---- volume ---- */

/* Change of the water's volume in 3 s, of waves 5, in which bodies fall into it and users stir it,
 * of all. */
static f64 volume(TruthCase *c)
{
    bool round = truth_pick(c, 2) != 0, waves = truth_pick(c, 4) == 0;
    char more[160];
    snprintf(more, sizeof more, ",\"method\":\"%s\",\"border_x\":\"%s\",\"border_z\":\"%s\"",
             waves ? "wave" : "shallow", round ? "periodic" : "closed",
             round ? "periodic" : "closed");
    truth_say(c, "%s %s ", waves ? "wave" : "shallow", round ? "round" : "closed");
    Basin of = basin(c, more);
    for (u32 count = 1 + truth_pick(c, DROPS_MAX); of.bodies < count;) {
        drop(c, &of, 0.6f, 3000.0f, 20.0f);
    }
    if (truth_pick(c, 2) != 0) { /* hills, some of them islands */
        scene_text_add(
            &of.text,
            ",{\"name\":\"land\",\"motion\":\"static\",\"position\":[0,%.9g,0],\"shape\":"
            "{\"kind\":\"terrain\",\"columns\":33,\"rows\":33,\"spacing\":%.9g,\"noise\":"
            "{\"amplitude\":%.9g,\"feature\":%.9g,\"octaves\":3,\"seed\":%u}}}",
            (f64)(-0.7f * of.depth), (f64)(of.wide / 30.0f), (f64)of.depth, (f64)(0.3f * of.wide),
            1 + truth_pick(c, 1000));
    } else {
        tank(&of);
    }
    build(&of);
    Pool *pool = of.water->pools[0];
    f64 before = sums_of(&of).volume,
        scale = waves ? (f64)(of.wide * of.wide * of.depth) : fabs(before), worst = 0.0;
    pool_hand_grab(pool, 0, vec3_zero(), 3.0f * of.cell);
    u32 seconds = waves ? 5 : 3;
    for (u32 t = 0; t < seconds * of.rate; t++) {
        if (t == 2 * of.rate) {
            pool_hand_release(pool, 0);
        }
        f32 x = truth_range(c, -1.0f, 1.0f) * 0.4f * of.wide;
        pool_hand_drag(pool, 0, vec3(x, 0.0f, 0.3f * x));
        world_tick(of.world, NULL, 0);
        f64 off = fabs(sums_of(&of).volume - before) / scale;
        /* Waves get clipped volume back a step later; what is lost for good stays lost in all of
         * the last second. */
        worst = waves && t > 4 * of.rate ? fmin(worst, off) : waves ? off : fmax(worst, off);
    }
    worst = is_sound(&of) ? worst : NAN;
    tear_down(&of);
    return worst;
}

/* Of rain on a pond, in 1 s: water gained but for that which fell, of that; nothing is gained by
 * rings alone. */
static f64 rain(TruthCase *c)
{
    char more[256];
    static const char *const kinds[][2] = {
        {"wave", "closed"}, {"shallow", "closed"}, {"shallow", "periodic"}};
    u32 kind = truth_pick(c, PL_COUNT(kinds));
    f64 drops = (f64)truth_log_range(c, 1.0f, 100.0f);
    f64 fall = truth_pick(c, 4) == 0 ? 0.0 : (f64)truth_log_range(c, 1e-5f, 3e-3f);
    snprintf(more, sizeof more,
             ",\"method\":\"%s\",\"border_x\":\"%s\",\"border_z\":\"%s\",\"rain\":%.9g,"
             "\"rainfall\":%.9g",
             kinds[kind][0], kinds[kind][1], kinds[kind][1], drops, fall);
    truth_say(c, "%s %s, %.3g drops/m2 s, %.3g m/s: ", kinds[kind][0], kinds[kind][1], drops, fall);
    Basin of = basin(c, more);
    tank(&of);
    build(&of);
    f64 before = sums_of(&of).volume, area = (f64)of.wide * (f64)of.wide;
    for (u32 t = 0; t < of.rate; t++) {
        world_tick(of.world, NULL, 0);
    }
    Input dry = {.kind = INPUT_SET,
                 .user = 1,
                 .sequence = 1,
                 .index = of.water->parameters[PARAMETER_RAIN],
                 .rotation = quat_identity()};
    for (u32 t = 0; t < 4; t++) { /* what waves were cut off is given back */
        world_tick(of.world, &dry, t == 0);
    }
    f64 gained = sums_of(&of).volume - before, fell = fall * area;
    /* Rounding of all cells, and what has not made a whole rise yet. */
    f64 rounding = 5e-6 * area * (f64)of.depth + (fall > 0.0 ? 0.02 * pow((f64)of.cell, 3.0) : 0.0);
    f64 off = fmax(fabs(gained - fell) - rounding, 0.0);
    bool sound = is_sound(&of);
    tear_down(&of);
    return sound ? off / fmax(fell, rounding) : NAN;
}

/* ---- energy ---- */

/* Rise of the energy of water and bodies that fall into it, relative to their loss. */
static f64 energy(TruthCase *c)
{
    Basin of = basin(c, "");
    for (u32 count = 1 + truth_pick(c, DROPS_MAX); of.bodies < count;) {
        drop(c, &of, 2.0f, 2000.0f, 8.0f);
    }
    tank(&of);
    build(&of);
    f64 start = NAN, least, rise = 0.0, now = 0.0;
    world_probe(of.world, "e", &start);
    least = start;
    for (u32 t = 0; t < 4 * of.rate; t++) {
        world_tick(of.world, NULL, 0);
        world_probe(of.world, "e", &now);
        start = t == 0 ? fmax(start, now) : start; /* with the water that capsules displace */
        least = t == 0 ? now : fmin(least, now);
        rise = fmax(rise, now - least);
    }
    bool sound = is_sound(&of) && isfinite(now);
    tear_down(&of);
    return sound ? rise / (start - least) : NAN;
}

/* ---- momentum ---- */

/* Momentum gained by bodies and water on a torus in 1 s, with what thin water lost as it is slowed,
 * of the bodies' and, for rounding, a little of what the water could have. */
static f64 momentum(TruthCase *c)
{
    Basin of = basin(c, ",\"friction\":0,\"border_x\":\"periodic\",\"border_z\":\"periodic\"");
    f64 mass[DROPS_MAX], first[2] = {0.0, 0.0}, worst = 0.0;
    f64 water = 1000.0 * (f64)(of.wide * of.wide * of.depth);
    f64 scale = 2e-5 * water * sqrt(g * (f64)of.depth); /* its rounding */
    u32 count = 1 + truth_pick(c, DROPS_MAX);
    for (u32 i = 0; i < count; i++) {
        mass[i] = drop(c, &of, 0.6f, 900.0f, 4.0f);
    }
    build(&of);
    pool_count(of.water->pools[0]);
    f64 slowed[2] = {0.0, 0.0};
    for (u32 t = 0; t <= of.rate; t++) {
        MatterSums sums = {0};
        matter_water_sums(&of.water->base, &sums);
        f64 now[2] = {sums.momentum[0], sums.momentum[2]};
        for (u32 i = 0; i < count; i++) {
            Vec3 v = rigid_velocity(world_rigid(of.world), i);
            now[0] += mass[i] * (f64)v.x;
            now[1] += mass[i] * (f64)v.z;
            scale += t == 0 ? mass[i] * fmax((f64)vec3_length(v), 1.0) : 0.0;
        }
        for (u32 a = 0; a < 2; a++) {
            first[a] = t == 0 ? now[a] : first[a];
            worst = fmax(worst, fabs(now[a] + slowed[a] - first[a]) / scale);
        }
        world_tick(of.world, NULL, 0);
        PoolTaken taken = pool_taken(of.water->pools[0]);
        slowed[0] += taken.friction[0];
        slowed[1] += taken.friction[2];
    }
    worst = is_sound(&of) ? worst : NAN;
    tear_down(&of);
    return worst;
}

const TruthLaw truth_pool[] = {
    {.name = "water/rest",
     .about = "speed of a lake on rough ground with islands after 2 s, of that of its waves",
     .unit = "",
     .bound = 1e-5,
     .few = 8,
     .many = 200,
     .measure = rest},
    {.name = "water/volume",
     .about = "water lost or gained where bodies of any size fall and hands stir, of all",
     .unit = "",
     .bound = 1e-5,
     .few = 6,
     .many = 200,
     .measure = volume},
    {.name = "water/rain",
     .about = "water gained by rain on a pond in 1 s, less what fell, of that",
     .unit = "",
     .bound = 1e-3,
     .few = 6,
     .many = 200,
     .measure = rain},
    {.name = "water/energy_any",
     .about = "rise of the energy of water and bodies of any shape that fall into it, of the loss",
     .unit = "",
     .bound = 0.02,
     .few = 4,
     .many = 100,
     .measure = energy},
    {.name = "water/momentum_any",
     .about = "momentum that bodies of any shape and water on a torus gain in 1 s, of theirs",
     .unit = "",
     .bound = 5e-4,
     .few = 6,
     .many = 100,
     .measure = momentum},
    {.name = NULL},
};
