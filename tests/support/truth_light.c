/* truth_light.c: laws of things in a liquid that weigh far less than the liquid they touch: cloths,
 * ropes, skins and plates of any density below the surface of a tank; see truth.h. */
#include "server/physics/liquid/liquid.h"
#include "server/world/matter_soft.h"
#include "tests/support/scene_text.h"
#include "tests/support/truth.h"

#include <math.h>
#include <string.h>

static const f64 g = 9.81;

/* A tank of `half` (m) around the origin, full of water, with walls up to four times as high. */
static void tank(SceneText *of, Vec3 half)
{
    f32 t = 0.3f, high = 4.0f * half.y;
    scene_text_wall(of, "floor", vec3(0.0f, -half.y - t, 0.0f),
                    vec3(half.x + 2 * t, t, half.z + 2 * t));
    scene_text_wall(of, "west", vec3(-half.x - t, 0.0f, 0.0f), vec3(t, high, half.z + 2 * t));
    scene_text_wall(of, "east", vec3(half.x + t, 0.0f, 0.0f), vec3(t, high, half.z + 2 * t));
    scene_text_wall(of, "south", vec3(0.0f, 0.0f, -half.z - t), vec3(half.x, high, t));
    scene_text_wall(of, "north", vec3(0.0f, 0.0f, half.z + t), vec3(half.x, high, t));
}

/* A plate or ball of any density in the middle. */
static void add_body(SceneText *of, TruthCase *c, f32 size)
{
    bool ball = truth_pick(c, 2) != 0;
    f32 thick = size * truth_log_range(c, 0.03f, 0.5f), density = truth_log_range(c, 1.0f, 3000.0f);
    Quat q = truth_rotation(c);
    f32 volume = ball ? 4.19f * size * size * size * 0.125f : 2.0f * thick * size * size;
    truth_say(c, "; %s %.2f m %.3g kg/m3", ball ? "ball" : "plate", (f64)size, (f64)density);
    scene_text_add(
        of,
        ",{\"name\":\"b\",\"orientation\":[%.9g,%.9g,%.9g,%.9g],\"mass\":%.9g,\"shape\":", (f64)q.w,
        (f64)q.x, (f64)q.y, (f64)q.z, (f64)(volume * density));
    if (ball) {
        scene_text_add(of, "{\"kind\":\"sphere\",\"radius\":%.9g}}", (f64)(0.5f * size));
    } else {
        scene_text_add(of, "{\"kind\":\"box\",\"half\":[%.9g,%.9g,%.9g]}}", (f64)(0.5f * size),
                       (f64)thick, (f64)(0.5f * size));
    }
}

/* Any method but that of small steps, and any stiffness. */
static void add_method(SceneText *of, TruthCase *c, bool solid)
{
    static const char *const methods[] = {"xpbd_iterations", "pbd",    "euler",
                                          "midpoint",        "verlet", "relax"};
    const char *method = methods[truth_pick(c, 6)];
    f32 soft = truth_log_range(c, 1e-7f, 1e-1f), part = truth_range(c, 0.3f, 1.0f);
    u32 iterations = 1 + truth_pick(c, 30);
    bool stiff = truth_pick(c, 3) == 0;
    truth_say(c, " %s", method);
    scene_text_add(of, ",\"method\":\"%s\",\"iterations\":%u,\"stiffness\":%.9g", method,
                   iterations, (f64)part);
    if (!stiff && !solid) {
        truth_say(c, " %.2g m/N", (f64)soft);
        scene_text_add(of, ",\"stretch_compliance\":%.9g", (f64)soft);
        scene_text_add(of, ",\"shear_compliance\":%.9g,\"bend_compliance\":%.9g", (f64)soft,
                       (f64)(10.0f * soft));
    }
}

/* A cloth, rope or jelly of any density around the middle, free or held. */
static void add_soft(SceneText *of, TruthCase *c, f32 size, bool others)
{
    u32 kind = truth_pick(c, 4), n = 3 + truth_pick(c, 18);
    Quat q = truth_rotation(c);
    f32 density = truth_log_range(c, 0.02f, 20.0f), far = 0.5f * size;
    Vec3 middle = kind == 3   ? vec3_zero()
                  : kind == 2 ? vec3(0.0f, far, 0.0f)
                              : vec3(far, far, 0.0f);
    Vec3 at = vec3_neg(quat_rotate(q, middle));
    truth_say(c, "; %s %.2f m, %u points, %.3g kg a unit",
              kind < 2    ? "cloth"
              : kind == 2 ? "rope"
                          : "jelly",
              (f64)size, n, (f64)density);
    scene_text_add(
        of, "{\"name\":\"s\",\"orientation\":[%.9g,%.9g,%.9g,%.9g],\"position\":[%.9g,%.9g,%.9g]",
        (f64)q.w, (f64)q.x, (f64)q.y, (f64)q.z, (f64)at.x, (f64)at.y, (f64)at.z);
    if (kind < 2) {
        scene_text_add(of, ",\"shape\":{\"kind\":\"grid\",\"points\":[%u,%u],\"size\":[%.9g,%.9g]}",
                       n, n, (f64)size, (f64)size);
        scene_text_add(of, ",\"density\":%.9g,\"thickness\":%.9g", (f64)density,
                       (f64)truth_range(c, 0.005f, 0.02f));
        if (kind == 1) {
            scene_text_add(of, ",\"pins\":[{\"point\":[0,0]},{\"point\":[%u,0]}]", n - 1);
        }
    } else if (kind == 2) {
        scene_text_add(
            of, ",\"shape\":{\"kind\":\"rope\",\"points\":[%u],\"length\":%.9g},\"density\":%.9g",
            n, (f64)size, (f64)density);
    } else {
        scene_text_add(
            of,
            ",\"shape\":{\"kind\":\"box\",\"size\":[%.9g,%.9g,%.9g],\"cells\":[3,3,3],\"solid\":"
            "true},\"density\":%.9g,\"stretch_compliance\":-1,\"bend\":\"none\",\"young\":50000",
            (f64)far, (f64)far, (f64)far, (f64)(50.0f * density));
    }
    scene_text_add(of, ",\"damping\":0.2");
    if (others) {
        add_method(of, c, kind == 3);
    }
    scene_text_add(of, "}");
}

static void probe_json(SceneText *of)
{
    scene_text_add(of, "\"probes\":[{\"name\":\"e\",\"kind\":\"energy\"}]}");
}

static void head_json(SceneText *of, u32 rate, u32 steps, u32 soft_steps, f32 d)
{
    scene_text_add(of,
                   "{\"name\":\"t\",\"tick_rate\":%u,\"substeps\":%u,\"soft_steps\":%u,"
                   "\"liquid_spacing\":%.9g,",
                   rate, steps, soft_steps, (f64)d);
}

static void water_json(SceneText *of, Vec3 half)
{
    scene_text_add(of, "\"liquids\":[{\"name\":\"w\",\"fill\":[{\"shape\":{\"kind\":\"box\","
                       "\"half\":");
    scene_text_add(of, "[%.9g,%.9g,%.9g]},\"position\":[0,0,0]}]}],\"bodies\":[", (f64)half.x,
                   (f64)half.y, (f64)half.z);
}

/* Something far away. */
static void far_json(SceneText *of)
{
    scene_text_add(of, ",{\"name\":\"b\",\"motion\":\"static\",\"position\":[0,-99,0],\"shape\":"
                       "{\"kind\":\"sphere\",\"radius\":1}}");
}

/* Rise of the energy of a full tank with something in it, within a second, of m g h / 2. */
static f64 risen(TruthCase *c, bool others)
{
    static const u32 rates[] = {30, 60, 60, 120};
    SceneText of = {.used = 0};
    f32 d = truth_log_range(c, 0.02f, 0.1f);
    u32 rate = rates[truth_pick(c, 4)], x = 8 + truth_pick(c, 9), y = 8 + truth_pick(c, 9);
    u32 z = 8 + truth_pick(c, 9), steps = 1 + truth_pick(c, 4);
    Vec3 half = vec3_scale(vec3((f32)x, (f32)y, (f32)z), 0.5f * d);
    f32 size = 2.0f * f32_min(half.x, f32_min(half.y, half.z)) * truth_range(c, 0.3f, 0.65f);
    bool body = truth_pick(c, 3) == 0 && !others;
    truth_say(c, "%u x %u x %u of %.3f m, %u Hz, %u steps", x, y, z, (f64)d, rate, steps);
    head_json(&of, rate, steps, 2, d);
    water_json(&of, half);
    tank(&of, half);
    if (body) {
        add_body(&of, c, size);
    } else {
        far_json(&of);
    }
    scene_text_add(&of, "],\"soft_bodies\":[");
    if (!body) {
        add_soft(&of, c, size, others);
    }
    scene_text_add(&of, "],");
    probe_json(&of);
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    f64 start = 0.0, now = 0.0, most = 0.0;
    f64 mass = 1000.0 * 8.0 * (f64)half.x * (f64)half.y * (f64)half.z;
    f64 scale = mass * g * (f64)half.y;
    world_probe(world, "e", &start);
    for (u32 t = 0; t < rate; t++) {
        world_tick(world, NULL, 0);
        world_probe(world, "e", &now);
        most = fmax(most, (now - start) / scale);
        if (!(most < 1.0)) {
            break; /* what is broken takes ever longer */
        }
    }
    world_destroy(world);
    scene_destroy(scene);
    return most;
}

/* Grains fall on a cloth of any density that is held at corners or sides: rise of the energy, of
 * what the fall of the grains to the floor gives. */
static f64 sifted(TruthCase *c)
{
    static const u32 rates[] = {30, 60, 60, 120, 240};
    SceneText of = {.used = 0};
    f32 d = truth_log_range(c, 0.01f, 0.1f), size = truth_range(c, 0.3f, 1.2f);
    f32 density = truth_log_range(c, 0.02f, 3.0f), high = truth_range(c, 0.3f, 1.0f);
    u32 rate = rates[truth_pick(c, 5)], substeps = 1 + truth_pick(c, 4), n = 4 + truth_pick(c, 14);
    u32 soft_steps = 1 + truth_pick(c, 4), held = truth_pick(c, 3);
    u32 across = 1 + truth_pick(c, 4), up = 1 + truth_pick(c, 5);
    Vec3 half = vec3_scale(vec3((f32)across, (f32)up, (f32)across), 0.5f * d);
    /* Anywhere above it, or beside a pin, where a grain stands on held and on light points. */
    f32 beside = truth_pick(c, 2) != 0 ? 0.06f : 1.0f;
    Vec3 at = vec3((beside * truth_range(c, 0.0f, 1.0f) - 0.5f) * size, high + 0.05f + d + half.y,
                   (beside * truth_range(c, 0.0f, 1.0f) - 0.5f) * size);
    truth_say(c, "%u x %u x %u grains of %.3f m; cloth %.2f m, %u points, %.3g kg/m2, held at %s; ",
              across, up, across, (f64)d, (f64)size, n, (f64)density,
              held == 0   ? "corners"
              : held == 1 ? "two sides"
                          : "one corner");
    truth_say(c, "%u Hz, %u and %u steps", rate, substeps, soft_steps);
    scene_text_add(
        &of,
        "{\"name\":\"t\",\"tick_rate\":%u,\"substeps\":%u,\"soft_steps\":%u,\"liquid_spacing\":"
        "%.9g,\"bodies\":[{\"name\":\"floor\",\"motion\":\"static\",\"shape\":{\"kind\":\"plane\"}}"
        "],",
        rate, substeps, soft_steps, (f64)d);
    scene_text_add(&of,
                   "\"grains\":[{\"name\":\"w\",\"friction\":%.9g,\"fill\":[{\"shape\":{\"kind\":"
                   "\"box\",\"half\":[%.9g,%.9g,%.9g]},\"position\":[%.9g,%.9g,%.9g]}]}],",
                   (f64)truth_range(c, 0.0f, 1.0f), (f64)half.x, (f64)half.y, (f64)half.z,
                   (f64)at.x, (f64)at.y, (f64)at.z);
    scene_text_add(&of,
                   "\"cloths\":[{\"name\":\"s\",\"points\":[%u,%u],\"size\":[%.9g,%.9g],"
                   "\"position\":[%.9g,%.9g,%.9g],\"rotation\":[90,0,0],\"area_density\":%.9g,"
                   "\"pins\":[",
                   n, n, (f64)size, (f64)size, (f64)(-0.5f * size), (f64)high, (f64)(-0.5f * size),
                   (f64)density);
    if (held == 1) {
        for (u32 i = 0; i < n; i++) {
            scene_text_add(&of, "%s{\"point\":[%u,0]},{\"point\":[%u,%u]}", i > 0 ? "," : "", i, i,
                           n - 1);
        }
    } else if (held == 0) {
        scene_text_add(&of,
                       "{\"point\":[0,0]},{\"point\":[%u,0]},{\"point\":[0,%u]},"
                       "{\"point\":[%u,%u]}",
                       n - 1, n - 1, n - 1, n - 1);
    } else {
        scene_text_add(&of, "{\"point\":[0,0]}");
    }
    scene_text_add(&of, "]}],");
    probe_json(&of);
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    f64 start = 0.0, now = 0.0, most = 0.0;
    f64 mass = 1600.0 * 8.0 * (f64)half.x * (f64)half.y * (f64)half.z;
    f64 scale = mass * g * (f64)high;
    world_probe(world, "e", &start);
    for (u32 t = 0; t < 2 * rate && most < 1.0; t++) {
        world_tick(world, NULL, 0);
        world_probe(world, "e", &now);
        most = fmax(most, (now - start) / scale);
    }
    world_destroy(world);
    scene_destroy(scene);
    return most;
}

/* A box of grains or of a liquid over a cloth whose whole hem is held. */
typedef struct Heap {
    const char *matter; /* "grains", "liquids" */
    f32 d;
    u32 across, up;
    f32 size, density, drop; /* m, kg/m2, m above the cloth */
    u32 n;                   /* points along a side */
    u32 rate, substeps, soft_steps;
    f32 friction;
} Heap;

static Heap draw_heap(TruthCase *c, const char *matter)
{
    static const u32 rates[] = {30, 60, 60, 120, 240};
    Heap heap = {.matter = matter, .d = truth_log_range(c, 0.01f, 0.08f)};
    heap.across = 2 + truth_pick(c, 5);
    heap.up = 1 + truth_pick(c, 6);
    f32 wide = (f32)heap.across * heap.d; /* a heap that stays within the hem */
    heap.size = wide * truth_range(c, 2.0f, 4.0f);
    heap.density = truth_log_range(c, 0.05f, 5.0f);
    heap.n = 5 + truth_pick(c, 14);
    heap.rate = rates[truth_pick(c, 5)];
    heap.substeps = 2 + truth_pick(c, 4);
    /* In a step it falls by no more than half of its size: the two are in contact before. */
    f32 fastest = 0.5f * heap.d * (f32)(heap.rate * heap.substeps);
    heap.drop = truth_range(c, 0.0f, f32_min(0.5f, 0.5f * fastest * fastest / (f32)g));
    heap.soft_steps = 1 + truth_pick(c, 4);
    heap.friction = truth_range(c, 0.0f, 1.0f);
    truth_say(c, "%u x %u x %u of %.3f m from %.2f m; cloth %.2f m, %u points, %.3g kg/m2; ",
              heap.across, heap.up, heap.across, (f64)heap.d, (f64)heap.drop, (f64)heap.size,
              heap.n, (f64)heap.density);
    truth_say(c, "%u Hz, %u and %u steps, friction %.2f", heap.rate, heap.substeps, heap.soft_steps,
              (f64)heap.friction);
    return heap;
}

static void heap_json(SceneText *of, const Heap *heap)
{
    Vec3 half =
        vec3_scale(vec3((f32)heap->across, (f32)heap->up, (f32)heap->across), 0.5f * heap->d);
    head_json(of, heap->rate, heap->substeps, heap->soft_steps, heap->d);
    scene_text_add(of, "\"bodies\":[],\"%s\":[{\"name\":\"w\",", heap->matter);
    if (strcmp(heap->matter, "grains") == 0) {
        scene_text_add(of, "\"friction\":%.9g,", (f64)heap->friction);
    }
    scene_text_add(of,
                   "\"fill\":[{\"shape\":{\"kind\":\"box\",\"half\":[%.9g,%.9g,%.9g]},"
                   "\"position\":[0,%.9g,0]}]}],",
                   (f64)half.x, (f64)half.y, (f64)half.z,
                   (f64)(heap->drop + half.y + 0.6f * heap->d + 0.02f));
    scene_text_add(of,
                   "\"cloths\":[{\"name\":\"s\",\"points\":[%u,%u],\"size\":[%.9g,%.9g],"
                   "\"position\":[%.9g,0,%.9g],\"rotation\":[90,0,0],\"area_density\":%.9g,"
                   "\"pins\":[{\"point\":[0,0]}",
                   heap->n, heap->n, (f64)heap->size, (f64)heap->size, (f64)(-0.5f * heap->size),
                   (f64)(-0.5f * heap->size), (f64)heap->density);
    for (u32 i = 1; i < heap->n; i++) { /* a side each, without its first corner */
        u32 last = heap->n - 1;
        scene_text_add(of, ",{\"point\":[%u,0]},{\"point\":[%u,%u]}", i, last, i);
        scene_text_add(of, ",{\"point\":[%u,%u]}", last - i, last);
        if (i < last) {
            scene_text_add(of, ",{\"point\":[0,%u]}", i);
        }
    }
    scene_text_add(of, "]}],");
    probe_json(of);
}

/* Whether a particle is below all of the cloth, within its hem. */
static u32 fallen(const World *world, f32 size, f32 d)
{
    const Liquid *liquid = scene_text_liquid(world);
    const Soft *soft = world_soft(world);
    f32 low = 0.0f;
    u32 count = 0;
    for (u32 i = 0; i < soft_particles(soft); i++) {
        low = f32_min(low, soft_position(soft, i).y);
    }
    for (u32 i = 0; i < liquid_slots(liquid); i++) {
        Vec3 at = liquid_positions(liquid)[i];
        f32 aside = f32_max(fabsf(at.x), fabsf(at.z));
        count += liquid_generations(liquid)[i] != 0 && at.y < low - d && aside < 0.5f * size - d;
    }
    return count;
}

/* The part that passes within two seconds. */
static f64 passed(TruthCase *c, const char *matter)
{
    SceneText of = {.used = 0};
    Heap heap = draw_heap(c, matter);
    heap_json(&of, &heap);
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    u32 most = 0;
    for (u32 t = 0; t < 2 * heap.rate; t++) {
        world_tick(world, NULL, 0);
        most = u32_max(most, fallen(world, heap.size, heap.d));
    }
    world_destroy(world);
    scene_destroy(scene);
    return (f64)most / (heap.across * heap.up * heap.across);
}

static f64 grains_passed(TruthCase *c)
{
    return passed(c, "grains");
}

static f64 liquid_passed(TruthCase *c)
{
    return passed(c, "liquids");
}

/* Speeds of what remains on the cloth, and of its points, in a second. */
typedef struct HeapMotion {
    f64 greatest, sum; /* m/s */
    f64 level;         /* m, mean height of the particles */
    u32 count, ticks;
    u32 left; /* particles, at the end */
} HeapMotion;

static void add_motion(HeapMotion *motion, const World *world, f32 size)
{
    const Liquid *liquid = scene_text_liquid(world);
    const Soft *soft = world_soft(world);
    f32 low = 0.0f;
    f64 level = 0.0;
    u32 count = 0;
    for (u32 i = 0; i < soft_particles(soft); i++) {
        f64 speed = (f64)vec3_length(soft_velocity(soft, i));
        motion->greatest = fmax(motion->greatest, speed);
        motion->sum += speed;
        low = f32_min(low, soft_position(soft, i).y);
    }
    for (u32 i = 0; i < liquid_slots(liquid); i++) {
        Vec3 at = liquid_positions(liquid)[i];
        if (liquid_generations(liquid)[i] == 0 || at.y < low ||
            f32_max(fabsf(at.x), fabsf(at.z)) > 0.5f * size) {
            continue;
        }
        f64 speed = (f64)vec3_length(liquid_velocities(liquid)[i]);
        motion->greatest = fmax(motion->greatest, speed);
        motion->sum += speed;
        level += (f64)at.y;
        count++;
    }
    motion->count += soft_particles(soft) + count;
    motion->level += count != 0 ? level / count : 0.0;
    motion->ticks++;
    motion->left = count;
}

/* mm/s after seven seconds; not a number if nothing is left: what moves rolls over the hem. */
static f64 still_moving(TruthCase *c, const char *matter)
{
    SceneText of = {.used = 0};
    Heap heap = draw_heap(c, matter);
    heap_json(&of, &heap);
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    HeapMotion motion[2] = {0};
    for (u32 t = 0; t < 8 * heap.rate; t++) {
        world_tick(world, NULL, 0);
        if (t >= 6 * heap.rate) {
            add_motion(&motion[t >= 7 * heap.rate], world, heap.size);
        }
    }
    world_destroy(world);
    scene_destroy(scene);
    f64 before = motion[0].level / motion[0].ticks, after = motion[1].level / motion[1].ticks;
    f64 mean = motion[1].sum / u32_max(motion[1].count, 1);
    truth_say(c, ": mean %.2g mm/s, level moves by %.2g mm, %u left", 1e3 * mean,
              1e3 * (after - before), motion[1].left);
    return motion[1].left != 0 ? 1e3 * motion[1].greatest : (f64)NAN;
}

static f64 grains_moving(TruthCase *c)
{
    return still_moving(c, "grains");
}

static f64 liquid_moving(TruthCase *c)
{
    return still_moving(c, "liquids");
}

/* ---- what floats ---- */

/* A flat box or slab of jelly, from a little over the surface on. */
typedef struct Float {
    bool soft;
    f32 wide, high; /* m, half sizes */
    f32 part;       /* of the liquid's density */
} Float;

static void float_json(SceneText *of, const Float *f, f32 at)
{
    f32 w = f->wide, h = f->high, mass = 8000.0f * w * h * w * f->part;
    if (!f->soft) {
        scene_text_add(of,
                       ",{\"name\":\"f\",\"position\":[0,%.9g,0],\"mass\":%.9g,\"shape\":{\"kind\":"
                       "\"box\",\"half\":[%.9g,%.9g,%.9g]}}],\"soft_bodies\":[",
                       (f64)at, (f64)mass, (f64)w, (f64)h, (f64)w);
        return;
    }
    far_json(of);
    scene_text_add(
        of,
        "],\"soft_bodies\":[{\"name\":\"f\",\"position\":[0,%.9g,0],\"shape\":{\"kind\":\"box\","
        "\"size\":[%.9g,%.9g,%.9g],\"cells\":[4,2,4],\"solid\":true},\"mass\":%.9g,"
        "\"stretch_compliance\":-1,\"bend\":\"none\",\"young\":1e5}",
        (f64)at, (f64)(2.0f * w), (f64)(2.0f * h), (f64)(2.0f * w), (f64)mass);
}

/* Error of the draught of a light thing, spacings. */
static f64 draught(TruthCase *c)
{
    SceneText of = {.used = 0};
    f32 d = truth_log_range(c, 0.02f, 0.1f);
    u32 rate = truth_pick(c, 2) != 0 ? 60 : 120, steps = 2 + truth_pick(c, 3);
    u32 x = 12 + truth_pick(c, 5), y = 7 + truth_pick(c, 4), z = 12 + truth_pick(c, 5);
    Vec3 half = vec3_scale(vec3((f32)x, (f32)y, (f32)z), 0.5f * d);
    Float f = {.soft = truth_pick(c, 2) != 0, .part = truth_log_range(c, 0.02f, 0.95f)};
    f.wide = d * truth_range(c, 2.5f, 4.0f);
    f.high = f.wide * truth_log_range(c, 0.1f, 0.6f);
    truth_say(c, "%u x %u x %u of %.3f m, %u Hz, %u steps; %s %.1f x %.1f d, %.3f of its density",
              x, y, z, (f64)d, rate, steps, f.soft ? "jelly" : "box", 2.0 * (f64)(f.wide / d),
              2.0 * (f64)(f.high / d), (f64)f.part);
    head_json(&of, rate, steps, 2, d);
    water_json(&of, half);
    tank(&of, half);
    float_json(&of, &f, half.y + f.high + 0.5f * d);
    scene_text_add(&of, "],\"probes\":[{\"name\":\"y\",\"kind\":\"height\",\"of\":\"f\"}]}");
    Scene *scene;
    World *world = scene_text_world(&of, &scene);
    f64 y_mean = 0.0, at = 0.0;
    for (u32 t = 0; t < 6 * rate; t++) {
        world_tick(world, NULL, 0);
        world_probe(world, "y", &at);
        y_mean += t >= 5 * rate ? at / rate : 0.0;
    }
    world_destroy(world);
    scene_destroy(scene);
    f64 area = 4.0 * (f64)f.wide * (f64)f.wide, tank_area = 4.0 * (f64)half.x * (f64)half.z;
    f64 deep = (f64)f.part * 2.0 * (f64)f.high;
    f64 level = (f64)half.y + deep * area / tank_area;
    f64 draws = level - (y_mean - (f64)f.high);
    truth_say(c, ": %.2f of %.2f d", draws / (f64)d, deep / (f64)d);
    return fabs(draws - deep) / (f64)d;
}

static f64 energy(TruthCase *c)
{
    return risen(c, false);
}

static f64 energy_of_methods(TruthCase *c)
{
    return risen(c, true);
}

const TruthLaw truth_light[] = {
    {.name = "liquid/light",
     .about = "rise of the energy of a tank with a light or heavy thing in it, of m g h / 2",
     .unit = "",
     .bound = 0.02,
     .few = 6,
     .many = 200,
     .measure = energy},
    {"grain/sifted", "grains upon held cloths of any density: rise of the energy, of m g h", "",
     0.02, 12, 400, sifted},
    {.name = "grain/held",
     .about = "grains that pass a cloth of any density with a held hem, of all",
     .unit = "",
     .bound = 0.0,
     .few = 12,
     .many = 400,
     .measure = grains_passed},
    {.name = "liquid/held",
     .about = "drops of a liquid that pass a cloth of any density with a held hem, of all",
     .unit = "",
     .bound = 0.0,
     .few = 0,
     .many = 200,
     .measure = liquid_passed},
    {.name = "grain/rests",
     .about = "greatest speed of grains on a cloth with a held hem and of its points after 7 s",
     .unit = "mm/s",
     .bound = 5.0,
     .few = 0,
     .many = 60,
     .measure = grains_moving},
    {.name = "liquid/rests",
     .about = "greatest speed of a liquid on a cloth with a held hem and of its points after 7 s",
     .unit = "mm/s",
     .bound = 5.0,
     .few = 0,
     .many = 60,
     .measure = liquid_moving},
    {.name = "liquid/light_draught",
     .about = "error of the draught of boxes and jellies of 0.02 to 0.95 of the density",
     .unit = "spacings",
     .bound = 0.5,
     .few = 4,
     .many = 100,
     .measure = draught},
    {.name = "liquid/light methods",
     .about = "the same of cloths, ropes and jellies of each method but that of small steps",
     .unit = "",
     .bound = 0.02,
     .few = 12,
     .many = 200,
     .measure = energy_of_methods},
    {.name = NULL},
};
