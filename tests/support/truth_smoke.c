/* truth_smoke.c: laws of air on grids with what is in it: momentum, walls, abuse; see truth.h. */
#include "server/world/matter_smoke.h"
#include "tests/support/scene_text.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- things in the air ---- */

static MatterSmoke *smoke_in(World *world)
{
    for (u32 i = 0; i < world_matters(world); i++) {
        Matter *matter = world_matter_at(world, i);
        if (matter->ops == &matter_smoke) {
            return smoke_of(matter);
        }
    }
    return NULL;
}

/* Momentum of all that moves. */
static void momentum_of(World *world, f64 sum[3])
{
    MatterSums sums = {0};
    for (u32 i = 0; i < world_matters(world); i++) {
        Matter *matter = world_matter_at(world, i);
        if (matter->ops->sums != NULL) {
            matter->ops->sums(matter, &sums);
        }
    }
    memcpy(sum, sums.momentum, sizeof sums.momentum);
}

/* Change of the momentum of all in a periodic room, of the most that anything moves with. What is
 * exchanged is exact (test_smoke_air.c), and transport keeps the sum. */
static f64 exchange(const SceneText *text, f64 scale)
{
    Scene *scene;
    World *world = scene_text_world(text, &scene);
    f64 first[3] = {0}, worst = 0.0;
    for (u32 t = 0; t <= 20; t++) {
        f64 now[3];
        momentum_of(world, now);
        for (u32 a = 0; a < 3; a++) {
            first[a] = t == 1 ? now[a] : first[a];
            worst = t > 0 ? fmax(worst, fabs(now[a] - first[a]) / scale) : 0.0;
        }
        world_tick(world, NULL, 0);
    }
    world_destroy(world);
    scene_destroy(scene);
    return worst;
}

#define ROOM                                                                                       \
    "\"smokes\":[{\"name\":\"s\",\"cells\":[%u,%u,%u],\"spacing\":%g,\"awake\":true%s,\"sides\":[" \
    "{\"kind\":\"periodic\"},{\"kind\":\"periodic\"},{\"kind\":\"periodic\"},"                     \
    "{\"kind\":\"periodic\"},{\"kind\":\"periodic\"},{\"kind\":\"periodic\"}]}]}"

/* A body that air slows down. */
static f64 momentum(TruthCase *c)
{
    u32 n = 8 * (2 + truth_pick(c, 2));
    f64 size = (f64)truth_log_range(c, 0.2f, 20.0f), mass, speed;
    Vec3 way = truth_direction(c);
    SceneText text = {.used = 0};
    f64 radius = size * (f64)truth_range(c, 0.12f, 0.2f);
    mass = 4.2 * radius * radius * radius * (f64)truth_log_range(c, 1.5f, 1000.0f);
    speed = size * (f64)truth_log_range(c, 0.05f, 0.5f);
    truth_say(c, "%u cells, %.2g m, ball of %.3g kg at %.2g m/s", n, size, mass, speed);
    scene_text_add(&text,
                   "{\"name\":\"t\",\"bounds\":[-99,-99,-99,99,99,99],\"gravity\":[0,0,0],"
                   "\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":%g},"
                   "\"position\":[%g,%g,%g],\"mass\":%g,\"velocity\":[%g,%g,%g]}],",
                   radius, 0.5 * size, 0.51 * size, 0.48 * size, mass, speed * (f64)way.x,
                   speed * (f64)way.y, speed * (f64)way.z);
    scene_text_add(&text, ROOM, n, n, n, size / n, "");
    return exchange(&text, mass * speed);
}

/* Cloth and particles in air that is the wind. */
static f64 wind(TruthCase *c)
{
    u32 n = 8 * (2 + truth_pick(c, 3));
    f64 size = (f64)truth_log_range(c, 0.5f, 20.0f),
        speed = size * (f64)truth_log_range(c, 0.1f, 0.6f);
    f64 density = (f64)truth_log_range(c, 0.01f, 2.0f),
        drag = (f64)truth_log_range(c, 0.1f, 500.0f);
    f64 mote = 1e-3 * size * size * size * (f64)truth_log_range(c, 0.001f, 10.0f);
    Vec3 way = truth_direction(c);
    SceneText text = {.used = 0};
    truth_say(c, "%u cells, %.2g m, %.2g m/s, cloth %.2g kg/m2, 100 particles of %.2g kg, %.2g /s",
              n, size, speed, density, mote, drag);
    scene_text_add(
        &text,
        "{\"name\":\"t\",\"bounds\":[-99,-99,-99,99,99,99],\"gravity\":[0,0,0],\"wind\":[5,5,5],"
        "\"cloths\":[{\"name\":\"c\",\"points\":[9,9],\"size\":[%g,%g],\"area_density\":%g,"
        "\"position\":[%g,%g,%g],\"damping\":0}],"
        "\"particle_systems\":[{\"name\":\"p\",\"count\":100,\"burst\":100,\"lifetime\":9,"
        "\"position\":[%g,%g,%g],\"direction\":[%g,%g,%g],\"spread\":30,\"speed\":%g,\"mass\":%g,"
        "\"drag\":%g,\"collide\":false}],",
        0.3 * size, 0.3 * size, density, 0.5 * size, 0.5 * size, 0.45 * size, 0.5 * size,
        0.55 * size, 0.5 * size, -(f64)way.y, (f64)way.x, (f64)way.z, speed, mote, drag);
    scene_text_add(&text, ROOM, n, n, n, size / n, ",\"wind\":true");
    return exchange(&text, speed * (0.09 * size * size * density + 100.0 * mote));
}

/* Sides of any kind; closed ones may slide, blow or slip. */
static void any_sides(TruthCase *c, SceneText *text, u32 dims, const u32 cells[3], f64 speed)
{
    scene_text_add(text, ",\"sides\":[");
    for (u32 a = 0; a < dims; a++) {
        bool wraps = cells[a] % 8 == 0 && truth_pick(c, 2) == 0;
        for (u32 side = 0; side < 2; side++) {
            bool open = truth_pick(c, 3) == 0, slips = truth_pick(c, 2), moves = !truth_pick(c, 3);
            Vec3 v = vec3_scale(truth_direction(c), moves ? (f32)speed : 0.0f);
            scene_text_add(text, "%s{\"kind\":\"%s\"", 2 * a + side ? "," : "",
                           wraps  ? "periodic"
                           : open ? "open"
                                  : "closed");
            if (!wraps && !open) {
                scene_text_add(text, ",\"slips\":%s,\"velocity\":[%g,%g,%g]",
                               slips ? "true" : "false", (f64)v.x, (f64)v.y, (f64)v.z);
            }
            scene_text_add(text, "}");
        }
    }
    scene_text_add(text, "]");
}

/* A room of any size and sides with a fan, a ball, a fixed block, cloth and particles. The cloth is
 * light: positions of a heavy one that hardly moves round off more than the law allows. */
static World *any_room(TruthCase *c, Scene **scene, f64 *scale)
{
    SceneText scene_text = {.used = 0}, *text = &scene_text;
    u32 cells[3], dims = 2 + (truth_pick(c, 3) > 0);
    for (u32 a = 0; a < 3; a++) {
        cells[a] = truth_pick(c, 2) ? 8 * (2 + truth_pick(c, 2)) : 12 + truth_pick(c, 21);
    }
    f64 spacing = (f64)truth_log_range(c, 0.02f, 1.0f), size = spacing * cells[0];
    f64 speed = size * (f64)truth_log_range(c, 0.05f, 0.4f), radius = 0.15 * size;
    f64 mass = 4.2 * radius * radius * radius * (f64)truth_log_range(c, 0.5f, 1000.0f);
    f64 deep = dims == 3 ? spacing * cells[2] : size, mote = 1e-5 * size * size * size;
    bool wind = truth_pick(c, 2), awake = truth_pick(c, 2);
    truth_say(c, "%u-D, %ux%ux%u cells of %.3g m%s%s, %.2g m/s", dims, cells[0], cells[1], cells[2],
              spacing, wind ? ", wind" : "", awake ? "" : ", sleeps", speed);
    scene_text_add(
        text,
        "{\"name\":\"t\",\"sleep\":false,\"bounds\":[-99,-99,-99,99,99,99],\"gravity\":[0,0,0],"
        "\"bodies\":["
        "{\"name\":\"b\",\"group\":2,\"mask\":2,\"shape\":{\"kind\":\"sphere\",\"radius\":%g},"
        "\"position\":[%g,%g,%g],\"mass\":%g,\"velocity\":[%g,%g,0]},"
        "{\"name\":\"f\",\"motion\":\"static\",\"group\":4,\"mask\":8,\"shape\":{\"kind\":"
        "\"box\",\"half\":[%g,%g,%g]},"
        "\"position\":[%g,%g,%g]}],",
        radius, 0.45 * size, 0.5 * spacing * cells[1], 0.5 * deep, mass, speed, 0.3 * speed,
        0.1 * size, 0.2 * size, 0.1 * size, 0.95 * size, 0.1 * size, 0.4 * deep);
    scene_text_add(text,
                   "\"cloths\":[{\"name\":\"c\",\"points\":[7,7],\"size\":[%g,%g],"
                   "\"area_density\":%g,"
                   "\"position\":[%g,%g,%g],\"damping\":0}],\"particle_systems\":[{\"name\":\"p\","
                   "\"count\":50,\"burst\":50,\"lifetime\":9,\"position\":[%g,%g,%g],\"spread\":60,"
                   "\"speed\":%g,\"mass\":%g,\"drag\":%g,\"collide\":false}],",
                   0.2 * size, 0.2 * size, (f64)truth_log_range(c, 0.005f, 0.05f) * size,
                   0.5 * size, 0.5 * spacing * cells[1], 0.5 * deep, 0.4 * size,
                   0.5 * spacing * cells[1], 0.5 * deep, 0.1 * speed, mote,
                   wind ? (f64)truth_log_range(c, 0.1f, 50.0f) : 0.0);
    scene_text_add(text, "\"smokes\":[{\"name\":\"s\",\"cells\":[%u,%u", cells[0], cells[1]);
    if (dims == 3) {
        scene_text_add(text, ",%u]", cells[2]);
    } else {
        scene_text_add(text, "],\"depth\":%g", deep);
    }
    scene_text_add(
        text,
        ",\"spacing\":%g,\"awake\":%s,\"wind\":%s,\"viscosity\":%g,\"vorticity\":%g,"
        "\"advection\":\"%s\",\"sources\":[{\"position\":[%g,%g,%g],\"radius\":%g,\"smoke\":1,"
        "\"velocity\":[%g,%g,0],\"blow\":5}]",
        spacing, awake ? "true" : "false", wind ? "true" : "false",
        speed * spacing * (f64)truth_log_range(c, 1e-4f, 1.0f), truth_pick(c, 2) ? 0.0 : 0.3,
        truth_pick(c, 2) ? "maccormack" : "semi_lagrangian", 0.2 * size, 0.3 * size, 0.5 * deep,
        0.15 * size, speed, 0.5 * speed);
    any_sides(c, text, dims, cells, 0.3 * speed);
    scene_text_add(text, "}]}");
    World *world = scene_text_world(text, scene);
    *scale = speed * (mass + 1.2 * size * size * deep);
    return world;
}

/* Momentum of all that is in a room and of what its sides, block and fan took, off from the start,
 * of what ball and air have. */
static f64 sides(TruthCase *c)
{
    Scene *scene = NULL;
    f64 scale = 0.0, first[3], took[3] = {0}, worst = 0.0;
    World *world = any_room(c, &scene, &scale);
    const Smoke *smoke = smoke_in(world)->grids[0];
    world_tick(world, NULL, 0);
    momentum_of(world, first);
    for (u32 t = 0; t < 30; t++) {
        world_tick(world, NULL, 0);
        SmokeTaken taken = smoke_taken(smoke);
        f64 now[3];
        momentum_of(world, now);
        for (u32 a = 0; a < 3; a++) {
            took[a] += taken.obstacles[a] + taken.forces[a] + taken.sources[a] + taken.flow[a];
            for (u32 s = 0; s < SMOKE_SIDES; s++) {
                took[a] += taken.sides[s][a];
            }
            worst = fmax(worst, fabs(now[a] + took[a] - first[a]) / scale);
        }
    }
    world_destroy(world);
    scene_destroy(scene);
    return worst;
}

/* ---- abuse ---- */

enum {
    ABUSE_S_PARTS = 4, /* of a second until sources stop */
};

/* Speed at which air leaves a duct that a wall of any thickness and slope crosses, with a fan on
 * one side and open air beyond the other, of the fan's. */
static f64 leak(TruthCase *c)
{
    SceneText scene_text = {.used = 0}, *text = &scene_text;
    u32 deep = truth_pick(c, 2), cells[3] = {32 + truth_pick(c, 17), 10 + truth_pick(c, 15), 12};
    f64 spacing = (f64)truth_log_range(c, 0.02f, 0.5f), size = spacing * cells[0];
    f64 high = spacing * cells[1], wide = deep ? spacing * cells[2] : size;
    f64 thick = (f64)truth_log_range(c, 0.02f, 3.0f),
        speed = size * (f64)truth_range(c, 0.1f, 1.0f);
    f64 turn = (f64)truth_range(c, -40.0f, 40.0f),
        lean = deep ? (f64)truth_range(c, -30.0f, 30.0f) : 0.0;
    truth_say(c, "%u-D, %ux%u cells of %.3g m, a wall of %.2f cells at %.0f and %.0f deg, %.2g m/s",
              2 + deep, cells[0], cells[1], spacing, thick, turn, lean, speed);
    scene_text_add(
        text,
        "{\"name\":\"t\",\"gravity\":[0,0,0],\"bounds\":[-99,-99,-99,99,99,99],\"bodies\":[{"
        "\"name\":\"w\",\"motion\":\"static\",\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%g]},"
        "\"position\":[%g,%g,%g],\"rotation\":[0,%g,%g]}],\"smokes\":[{\"name\":\"s\",\"cells\":",
        fmax(0.5 * thick * spacing, 1e-3), 2.0 * high, 2.0 * wide,
        size * (f64)truth_range(c, 0.5f, 0.6f), 0.5 * high, 0.5 * wide, lean, turn);
    scene_text_add(text, deep ? "[%u,%u,%u]" : "[%u,%u]", cells[0], cells[1], cells[2]);
    scene_text_add(
        text,
        ",\"spacing\":%g,\"depth\":%g,\"awake\":true,\"sides\":[{\"kind\":\"open\"},{\"kind\":"
        "\"open\"}],\"sources\":[{\"position\":[%g,%g,%g],\"size\":[%g,%g,%g],\"velocity\":[%g,"
        "0,0],"
        "\"blow\":5}]}]}",
        spacing, deep ? spacing : wide, 0.15 * size, 0.5 * high, 0.5 * wide, 0.1 * size, high, wide,
        speed);
    Scene *scene;
    World *world = scene_text_world(text, &scene);
    const Smoke *smoke = smoke_in(world)->grids[0];
    for (u32 t = 0; t < 240; t++) {
        world_tick(world, NULL, 0);
    }
    u32 rows = cells[1] * (deep ? cells[2] : 1);
    f64 sum = 0.0;
    for (u32 i = 0; i < rows; i++) {
        sum += (f64)smoke_velocity(smoke, 0, cells[0], i % cells[1], i / cells[1]);
    }
    world_destroy(world);
    scene_destroy(scene);
    return fabs(sum) / (rows * speed);
}

/* Half of the time 0, else up to `most`, over six orders of magnitude. */
static f64 sometimes(TruthCase *c, f64 most)
{
    f64 value = (f64)truth_log_range(c, (f32)(1e-6 * most), (f32)most);
    return truth_pick(c, 2) ? 0.0 : value;
}

static void abuse_sides(TruthCase *c, SceneText *text, u32 dims, const u32 cells[3])
{
    scene_text_add(text, ",\"sides\":[");
    for (u32 a = 0; a < dims; a++) {
        bool wraps = cells[a] % 8 == 0 && truth_pick(c, 3) == 0;
        for (u32 side = 0; side < 2; side++) {
            Vec3 v = vec3_scale(truth_direction(c), truth_pick(c, 3) ? 0.0f : 99.0f);
            const char *kind = wraps ? "periodic" : truth_pick(c, 2) ? "open" : "closed";
            scene_text_add(text, "%s{\"kind\":\"%s\"", 2 * a + side ? "," : "", kind);
            if (strcmp(kind, "closed") == 0) {
                scene_text_add(text, ",\"velocity\":[%g,%g,%g]", (f64)v.x, (f64)v.y, (f64)v.z);
            }
            scene_text_add(text, "}");
        }
    }
    scene_text_add(text, "]");
}

static void abuse_sources(TruthCase *c, SceneText *text, f64 long_m)
{
    scene_text_add(text, ",\"sources\":[");
    for (u32 i = 0; i < 3; i++) {
        Vec3 v = vec3_scale(truth_direction(c), 99.0f);
        scene_text_add(
            text,
            "%s{\"position\":[%g,%g,%g],\"radius\":%g,\"smoke\":%g,\"heat\":%g,\"warmest\":%g,"
            "\"fuel\":%g,\"velocity\":[%g,%g,%g],\"blow\":%g,\"stop\":%g}",
            i ? "," : "", (f64)truth_range(c, 0.0f, 1.0f) * long_m,
            (f64)truth_range(c, 0.0f, 1.0f) * long_m, (f64)truth_range(c, 0.0f, 1.0f) * long_m,
            fmin(1000.0, (f64)truth_log_range(c, 0.01f, 2.0f) * long_m), sometimes(c, 1e4),
            truth_pick(c, 2) ? -1e5 : sometimes(c, 1e5), sometimes(c, 5000.0), sometimes(c, 1e4),
            (f64)v.x, (f64)v.y, (f64)v.z, sometimes(c, 1000.0), 1.0 / ABUSE_S_PARTS);
    }
    scene_text_add(text, "]");
}

/* A room and a block that may fill it, a ball of any mass, and one that crosses at 100 m/s. */
static World *abused_world(TruthCase *c, u32 *rate, Scene **scene)
{
    static const char *const methods[] = {"multigrid", "gradients", "jacobi"};
    static const u32 rates[] = {30, 60, 120, 240};
    SceneText scene_text = {.used = 0}, *text = &scene_text;
    u32 cells[3];
    for (u32 a = 0; a < 3; a++) {
        cells[a] = truth_pick(c, 4) == 0 ? 1 : truth_pick(c, 3) ? 1 + truth_pick(c, 30) : 16;
    }
    bool flat = truth_pick(c, 3) == 0;
    u32 longest = u32_max(cells[0], u32_max(cells[1], flat ? 1 : cells[2]));
    f64 spacing = (f64)truth_log_range(c, 0.001f, f32_min(100.0f, 900.0f / (f32)longest));
    f64 long_m = spacing * longest;
    u32 method = truth_pick(c, 3);
    *rate = rates[truth_pick(c, PL_COUNT(rates))];
    truth_say(c, "%ux%ux%u cells%s of %.3g m, %u Hz, %s", cells[0], cells[1], cells[2],
              flat ? " flat" : "", spacing, *rate, methods[method]);
    scene_text_add(
        text,
        "{\"name\":\"t\",\"tick_rate\":%u,\"bounds\":[-9999,-9999,-9999,9999,9999,9999],"
        "\"gravity\":[%g,%g,0],\"bodies\":["
        "{\"name\":\"block\",\"motion\":\"kinematic\",\"shape\":{\"kind\":\"box\",\"half\":[%g,%g,%"
        "g]},"
        "\"position\":[0,0,0],\"velocity\":[%g,0,0]},"
        "{\"name\":\"ball\",\"shape\":{\"kind\":\"sphere\",\"radius\":%g},\"position\":[%g,%g,%g],"
        "\"mass\":%g,\"velocity\":[0,%g,0]},"
        "{\"name\":\"shot\",\"motion\":\"kinematic\",\"shape\":{\"kind\":\"sphere\",\"radius\":%g},"
        "\"position\":[%g,%g,0],\"velocity\":[100,3,-7]}],",
        *rate, sometimes(c, 50.0), -sometimes(c, 50.0),
        fmin(999.0, fmax(0.01, long_m * sometimes(c, 2.0))), fmax(0.01, long_m), fmax(0.01, long_m),
        truth_pick(c, 2) ? 0.0 : 20.0, fmax(0.01, 0.2 * long_m), 0.5 * long_m, 3.0 * long_m,
        0.5 * long_m, fmax(1e-3, sometimes(c, 1e4)), -(f64)truth_range(c, 0.0f, 90.0f),
        fmax(0.01, 0.3 * long_m), -0.5 * long_m, 0.5 * long_m);
    scene_text_add(text, "\"smokes\":[{\"name\":\"s\",\"cells\":[%u,%u", cells[0], cells[1]);
    scene_text_add(text, flat ? "]" : ",%u]", cells[2]);
    scene_text_add(
        text,
        ",\"spacing\":%.9g,\"awake\":%s,\"wind\":%s,\"pressure\":\"%s\",\"density\":%g,"
        "\"viscosity\":%g,\"buoyancy\":%g,\"weight\":%g,\"vorticity\":%g,\"burn_rate\":%g,"
        "\"ignition\":%g,\"heat\":%g,\"expansion\":%g,\"cooling\":100,\"fading\":100",
        spacing, truth_pick(c, 2) ? "true" : "false", truth_pick(c, 2) ? "true" : "false",
        methods[method], fmax(0.01, sometimes(c, 2000.0)), sometimes(c, 100.0), sometimes(c, 1.0),
        sometimes(c, 100.0), sometimes(c, 10.0), sometimes(c, 100.0), sometimes(c, 5000.0),
        sometimes(c, 1e6), sometimes(c, 1000.0));
    abuse_sides(c, text, flat ? 2 : 3, cells);
    abuse_sources(c, text, long_m);
    scene_text_add(text, "}]}");
    return scene_text_world(text, scene);
}

/* Whether everything is finite and within its limits. */
static bool is_sound(const Smoke *smoke)
{
    SmokeSums sums = smoke_sums(smoke);
    f64 all = sums.smoke + sums.fuel + sums.heat + sums.kinetic + sums.divergence + sums.speed +
              sums.momentum[0] + sums.momentum[1] + sums.momentum[2] + sums.smoke_height;
    return smoke_validate(smoke) == NULL && isfinite(all) && sums.smoke >= 0.0;
}

/* Sources, bodies and hands at their worst for a quarter of a second, then a second of nothing:
 * iterations of pressure in the worst tick of the latter, or 1e9 where the air broke. */
static f64 abuse(TruthCase *c)
{
    u32 rate = 0, worst = 0;
    Scene *scene = NULL;
    World *world = abused_world(c, &rate, &scene);
    MatterSmoke *m = smoke_in(world);
    Smoke *smoke = m->grids[0];
    Input hand = {
        .kind = INPUT_GRAB, .user = 1, .entity = m->list.entities[0], .rotation = quat_identity()};
    const SmokeDef *def = smoke_def(smoke);
    f32 size = def->spacing * (f32)u32_max(def->cells[0], def->cells[1]);
    bool sound = true;
    for (u32 t = 0; t < rate / ABUSE_S_PARTS + rate && sound; t++) {
        bool abused = t < rate / ABUSE_S_PARTS;
        if (abused) { /* a hand at 100 m/s, and pushes of any size */
            hand.sequence++;
            hand.local = hand.target = vec3((f32)t * 100.0f / (f32)rate, 0.5f * size, 0.0f);
            Vec3 push = vec3_scale(truth_direction(c), truth_log_range(c, 1e-6f, 1e6f));
            smoke_push(smoke, vec3(0.5f * size, 0.5f * size, 0.0f),
                       size * truth_range(c, 0.0f, 2.0f), push);
        } else {
            hand.kind = INPUT_RELEASE;
        }
        world_tick(world, &hand, abused || t == rate / ABUSE_S_PARTS);
        hand.kind = INPUT_MOVE;
        sound = is_sound(smoke);
        worst = abused ? 0 : u32_max(worst, smoke_stats(smoke).iterations);
    }
    world_destroy(world);
    scene_destroy(scene);
    return sound ? (f64)worst : 1e9;
}
const TruthLaw truth_smoke[] = {
    {.name = "smoke/momentum",
     .about = "momentum that a ball and the air all round gain in 20 ticks, of the ball's",
     .unit = "",
     .bound = 3e-6,
     .few = 4,
     .many = 100,
     .measure = momentum},
    {.name = "smoke/wind",
     .about = "momentum that cloth, particles and the air that blows through them gain, of theirs",
     .unit = "",
     .bound = 3e-6,
     .few = 6,
     .many = 100,
     .measure = wind},
    {.name = "smoke/sides",
     .about = "momentum of air, ball, cloth, particles and what sides of any kind took, of theirs",
     .unit = "",
     .bound = 3e-6,
     .few = 8,
     .many = 500,
     .measure = sides},
    {.name = "smoke/leak",
     .about = "air that leaves a duct behind a wall of 0.02 to 3 cells, of what a fan would blow",
     .unit = "",
     .bound = 0.01,
     .few = 12,
     .many = 200,
     .measure = leak},
    {.name = "smoke/abuse",
     .about = "iterations of pressure in a tick after abuse; 1e9: the air broke",
     .unit = "",
     .bound = 100.0,
     .few = 12,
     .many = 1000,
     .measure = abuse},
    {.name = NULL},
};
