/* rigid_scenes.c: see rigid_scenes.h. Everything random comes from a fixed seed. */
#include "tests/bench/rigid_scenes.h"

#include "shared/geometry/geometry.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEED = 7
};
#define PI_F 3.14159265f

static void *grown(void *array, u32 count, u32 *capacity, size_t item)
{
    if (count < *capacity) {
        return array;
    }
    *capacity = u32_max(64, *capacity * 2);
    array = realloc(array, *capacity * item);
    if (!array) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return array;
}

static u32 add_body(Setup *s, Shape shape, Vec3 position, Quat orientation, f32 density, u32 family)
{
    s->bodies = grown(s->bodies, s->body_count, &s->body_capacity, sizeof(*s->bodies));
    s->dynamic_count += density > 0.0f ? 1 : 0;
    s->bodies[s->body_count] =
        (SetupBody){shape, position, orientation, density * shape_volume(&shape), family};
    return s->body_count++;
}

static void add_joint(Setup *s, SetupJoint joint)
{
    s->joints = grown(s->joints, s->joint_count, &s->joint_capacity, sizeof(*s->joints));
    s->joints[s->joint_count++] = joint;
}
static void add_ball_joint(Setup *s, u32 a, u32 b, Vec3 anchor)
{
    add_joint(s, (SetupJoint){.kind = SETUP_BALL, .a = a, .b = b, .anchor = anchor});
}

static Shape box(Vec3 half)
{
    return (Shape){.kind = SHAPE_BOX, .half = half};
}
static Shape sphere(f32 radius)
{
    return (Shape){.kind = SHAPE_SPHERE, .radius = radius};
}
static Shape capsule(f32 radius, f32 half_height)
{
    return (Shape){.kind = SHAPE_CAPSULE, .radius = radius, .half_height = half_height};
}
static Quat turned(Vec3 axis, f32 angle)
{
    f32 s = trig_sin_f32(0.5f * angle);
    return (Quat){trig_cos_f32(0.5f * angle), s * axis.x, s * axis.y, s * axis.z};
}

static u32 add_unit_box(Setup *s, Vec3 position)
{
    return add_body(s, box(vec3(0.5f, 0.5f, 0.5f)), position, quat_identity(), SETUP_DENSITY, 0);
}

static void add_wall(Setup *s, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        for (u32 j = i; j < n; j++) {
            f32 x = (f32)(i + 1) * 0.5f + (f32)(j - i) - 0.5f * (f32)n;
            add_unit_box(s, vec3(x, (f32)i + 0.5f, 0.0f));
        }
    }
}

static void add_pyramid(Setup *s, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        u32 side = n - i;
        f32 shift = -0.5f * 1.05f * (f32)(side - 1);
        for (u32 j = 0; j < side * side; j++) {
            add_unit_box(s, vec3(shift + 1.05f * (f32)(j % side), (f32)i + 0.5f,
                                 shift + 1.05f * (f32)(j / side)));
        }
    }
}

/* Uniform over rotations (Shoemake 1992). */
static Quat random_rotation(u64 counter)
{
    f32 u = random_f32(SEED, counter), a = sqrtf(1.0f - u), b = sqrtf(u);
    f32 v = 2.0f * PI_F * random_f32(SEED, counter + 1);
    f32 w = 2.0f * PI_F * random_f32(SEED, counter + 2);
    return quat_normalize(
        (Quat){a * trig_sin_f32(v), a * trig_cos_f32(v), b * trig_sin_f32(w), b * trig_cos_f32(w)});
}

static Shape random_shape(u32 kind, u64 counter)
{
    if (kind == 0) {
        return box(vec3(random_range(SEED, counter, 0.2f, 0.35f),
                        random_range(SEED, counter + 1, 0.2f, 0.35f),
                        random_range(SEED, counter + 2, 0.2f, 0.35f)));
    }
    if (kind == 1) {
        return sphere(random_range(SEED, counter, 0.2f, 0.45f));
    }
    return capsule(random_range(SEED, counter, 0.15f, 0.25f),
                   random_range(SEED, counter + 1, 0.15f, 0.3f));
}

static Shape kept(Setup *s, ShapeKind kind, Geometry *geometry)
{
    if (!geometry || s->geometry_count == sizeof(s->geometries) / sizeof(*s->geometries)) {
        fprintf(stderr, "%s: a geometry is refused\n", s->name);
        exit(1);
    }
    geometry->id = s->geometry_count;
    s->geometries[s->geometry_count++] = geometry;
    return (Shape){.kind = kind, .geometry = geometry};
}

/* Points distributed about evenly on a slightly flattened ball, so that no two faces are equal. */
static Shape random_hull(Setup *s, u32 points, u64 counter)
{
    Vec3 cloud[HULL_VERTICES_MAX];
    for (u32 i = 0; i < points; i++, counter += 4) {
        f32 y = 1.0f - 2.0f * ((f32)i + 0.5f) / (f32)points, across = sqrtf(1.0f - y * y);
        f32 rotation = 2.3999632f * (f32)i + random_range(SEED, counter, -0.2f, 0.2f);
        f32 radius = random_range(SEED, counter + 1, 0.28f, 0.4f);
        cloud[i] = vec3(1.2f * radius * across * trig_cos_f32(rotation), 0.8f * radius * y,
                        radius * across * trig_sin_f32(rotation));
    }
    return kept(s, SHAPE_HULL, geometry_hull(cloud, points, HULL_VERTICES_MAX, NULL));
}

static void add_bin(Setup *s, f32 side)
{
    const f32 wall = 0.5f, height = 20.0f;
    for (u32 i = 0; i < 4; i++) {
        f32 out = (0.5f * side + wall) * (i & 1 ? 1.0f : -1.0f);
        f32 along = 0.5f * side + 2.0f * wall;
        Vec3 half = i < 2 ? vec3(wall, height, along) : vec3(along, height, wall);
        Vec3 at = i < 2 ? vec3(out, height, 0.0f) : vec3(0.0f, height, out);
        add_body(s, box(half), at, quat_identity(), 0.0f, 0);
    }
}

/* Place i of a lattice that fills a bin from below. */
static Vec3 bin_place(u32 i, f32 side, f32 low, u64 counter)
{
    const f32 pitch = 1.25f, jitter = 0.05f;
    u32 n = (u32)(side / pitch) - 1;
    Vec3 at = vec3(((f32)(i % n) - 0.5f * (f32)(n - 1)) * pitch, low + (f32)(i / (n * n)) * pitch,
                   ((f32)(i / n % n) - 0.5f * (f32)(n - 1)) * pitch);
    at.x += random_range(SEED, counter + 6, -jitter, jitter);
    at.y += random_range(SEED, counter + 7, -jitter, jitter);
    at.z += random_range(SEED, counter + 8, -jitter, jitter);
    return at;
}

static void add_drop(Setup *s, u32 count, f32 side)
{
    add_bin(s, side);
    for (u32 i = 0; i < count; i++) {
        u64 counter = 16u * (u64)i;
        add_body(s, random_shape(i % 3, counter), bin_place(i, side, 1.0f, counter),
                 random_rotation(counter + 3), SETUP_DENSITY, 0);
    }
}

static Shape round_shape(ShapeKind kind, u64 counter)
{
    return (Shape){.kind = kind,
                   .radius = random_range(SEED, counter, 0.2f, 0.35f),
                   .half_height = random_range(SEED, counter + 1, 0.15f, 0.35f)};
}

static void add_hulls(Setup *s, u32 count)
{
    const f32 side = 10.0f;
    Shape hulls[4];
    for (u32 i = 0; i < 4; i++) {
        hulls[i] = random_hull(s, 8 + 6 * i, 1000000u + 1000u * i);
    }
    add_bin(s, side);
    for (u32 i = 0; i < count; i++) {
        u64 counter = 16u * (u64)i;
        Shape shape = i % 4 == 1   ? round_shape(SHAPE_CYLINDER, counter)
                      : i % 4 == 3 ? round_shape(SHAPE_CONE, counter)
                                   : hulls[i / 4 % 4];
        add_body(s, shape, bin_place(i, side, 1.0f, counter), random_rotation(counter + 3),
                 SETUP_DENSITY, 0);
    }
}

/* Hills of 64 × 64 cells of half a metre, in a hollow, so that nothing rolls away. */
static Shape hills(Setup *s)
{
    enum {
        SIDE = 65
    };
    static Vec3 vertices[SIDE * SIDE];
    static u32 triangles[6 * (SIDE - 1) * (SIDE - 1)];
    u32 count = 0;
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        f32 x = 0.5f * ((f32)(i % SIDE) - 32.0f), z = 0.5f * ((f32)(i / SIDE) - 32.0f);
        vertices[i] = vec3(x,
                           0.02f * (x * x + z * z) + 0.3f * trig_sin_f32(1.1f * x) +
                               0.3f * trig_sin_f32(1.3f * z),
                           z);
        if (i % SIDE < SIDE - 1 && i / SIDE < SIDE - 1) {
            u32 cell[6] = {i, i + SIDE, i + 1, i + 1, i + SIDE, i + SIDE + 1};
            memcpy(&triangles[count], cell, sizeof(cell));
            count += 6;
        }
    }
    return kept(s, SHAPE_MESH,
                geometry_mesh(vertices, SIDE * SIDE, triangles, count / 3, NULL, NULL));
}

static void add_hills(Setup *s, u32 count)
{
    Shape hulls[2] = {random_hull(s, 8, 1000000u), random_hull(s, 20, 1001000u)};
    add_body(s, hills(s), vec3(0.0f, 1.0f, 0.0f), quat_identity(), 0.0f, 0);
    for (u32 i = 0; i < count; i++) {
        u64 counter = 16u * (u64)i;
        Shape shape = i % 6 < 3    ? random_shape(i % 3, counter)
                      : i % 6 == 3 ? round_shape(SHAPE_CYLINDER, counter)
                      : i % 6 == 4 ? round_shape(SHAPE_CONE, counter)
                                   : hulls[i / 6 % 2];
        add_body(s, shape, bin_place(i, 20.0f, 5.0f, counter), random_rotation(counter + 3),
                 SETUP_DENSITY, 0);
    }
}

/* A figure of 11 capsules and 10 joints about its pelvis; it looks along z. */
static void add_figure(Setup *s, Vec3 pelvis, f32 yaw, u32 family)
{
    static const struct {
        f32 x, y, radius, half;
        bool lies;
    } parts[11] = {
        {0.0f, 0.0f, 0.12f, 0.08f, true},      /* 0 pelvis */
        {0.0f, 0.40f, 0.14f, 0.15f, false},    /* 1 chest */
        {0.0f, 0.86f, 0.10f, 0.04f, false},    /* 2 head */
        {-0.24f, 0.44f, 0.05f, 0.10f, false},  /* 3, 4 upper arms */
        {0.24f, 0.44f, 0.05f, 0.10f, false},   /**/
        {-0.24f, 0.16f, 0.045f, 0.10f, false}, /* 5, 6 lower arms */
        {0.24f, 0.16f, 0.045f, 0.10f, false},  /**/
        {-0.1f, -0.28f, 0.07f, 0.13f, false},  /* 7, 8 thighs */
        {0.1f, -0.28f, 0.07f, 0.13f, false},   /**/
        {-0.1f, -0.68f, 0.06f, 0.14f, false},  /* 9, 10 shins */
        {0.1f, -0.68f, 0.06f, 0.14f, false},
    };
    /* Elbows bend forwards, knees backwards: about x, with y up and z ahead. */
    static const struct {
        u32 a, b;
        f32 x, y, lower, upper;
    } joints[10] = {
        {0, 1, 0.0f, 0.2f, 0, 0},           {1, 2, 0.0f, 0.72f, 0, 0},
        {1, 3, -0.24f, 0.58f, 0, 0},        {1, 4, 0.24f, 0.58f, 0, 0},
        {0, 7, -0.1f, -0.08f, 0, 0},        {0, 8, 0.1f, -0.08f, 0, 0},
        {3, 5, -0.24f, 0.30f, -2.3f, 0.0f}, {4, 6, 0.24f, 0.30f, -2.3f, 0.0f},
        {7, 9, -0.1f, -0.48f, 0.0f, 2.3f},  {8, 10, 0.1f, -0.48f, 0.0f, 2.3f},
    };
    Quat rotation = turned(vec3(0.0f, 1.0f, 0.0f), yaw);
    Quat lying = turned(vec3(0.0f, 0.0f, 1.0f), 0.5f * PI_F);
    u32 first = s->body_count;
    for (u32 i = 0; i < 11; i++) {
        Vec3 at = vec3_add(pelvis, quat_rotate(rotation, vec3(parts[i].x, parts[i].y, 0.0f)));
        Quat q = parts[i].lies ? quat_mul(rotation, lying) : rotation;
        add_body(s, capsule(parts[i].radius, parts[i].half), at, q, SETUP_DENSITY, family);
    }
    for (u32 i = 0; i < 10; i++) {
        SetupJoint joint = {
            .kind = joints[i].lower < joints[i].upper ? SETUP_HINGE : SETUP_BALL,
            .a = first + joints[i].a,
            .b = first + joints[i].b,
            .anchor = vec3_add(pelvis, quat_rotate(rotation, vec3(joints[i].x, joints[i].y, 0.0f))),
            .axis = quat_rotate(rotation, vec3(1.0f, 0.0f, 0.0f)),
            .lower = joints[i].lower,
            .upper = joints[i].upper,
        };
        add_joint(s, joint);
    }
}

static void add_figures(Setup *s, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        Vec3 at = vec3(((f32)(i % 5) - 2.0f) * 1.25f, 1.5f + 2.0f * (f32)(i / 25),
                       ((f32)(i / 5 % 5) - 2.0f) * 1.25f);
        add_figure(s, at, random_range(SEED, i, -PI_F, PI_F), i + 1);
    }
}

/* Hangs in the x–y plane, its left column fixed, high enough to swing free of the ground. */
static void add_net(Setup *s, u32 side)
{
    u32 first = s->body_count;
    for (u32 i = 0; i < side * side; i++) {
        u32 column = i % side, row = i / side;
        Vec3 at = vec3((f32)column, 120.0f - (f32)row, 0.0f);
        add_body(s, sphere(0.4f), at, quat_identity(), column ? SETUP_DENSITY : 0.0f, 1);
        if (column > 0) {
            add_ball_joint(s, first + i - 1, first + i, vec3(at.x - 0.5f, at.y, 0.0f));
        }
        if (row > 0 && column > 0) {
            add_ball_joint(s, first + i - side, first + i, vec3(at.x, at.y + 0.5f, 0.0f));
        }
    }
}

/* Links along x from a point of the world; returns the last link. */
static u32 add_chain(Setup *s, u32 links, Vec3 start, u32 family)
{
    const f32 pitch = 0.5f;
    Quat lying = turned(vec3(0.0f, 0.0f, 1.0f), 0.5f * PI_F);
    u32 before = SETUP_WORLD;
    for (u32 i = 0; i < links; i++) {
        Vec3 at = vec3(start.x + ((f32)i + 0.5f) * pitch, start.y, start.z);
        u32 link = add_body(s, capsule(0.05f, 0.2f), at, lying, SETUP_DENSITY, family);
        add_ball_joint(s, before, link, vec3(at.x - 0.5f * pitch, at.y, at.z));
        before = link;
    }
    return before;
}

static void add_heavy_ball(Setup *s)
{
    u32 last = add_chain(s, 20, vec3(0.0f, 20.0f, 0.0f), 1);
    Shape ball = sphere(0.5f);
    f32 density = 100.0f * s->bodies[last].mass_kg / shape_volume(&ball);
    u32 heavy = add_body(s, ball, vec3(10.5f, 20.0f, 0.0f), quat_identity(), density, 1);
    add_ball_joint(s, last, heavy, vec3(10.0f, 20.0f, 0.0f));
}

static void add_table(Setup *s)
{
    const f32 leg_volume = 0.2f * 0.2f * 1.0f, top_volume = 2.0f * 0.2f * 2.0f;
    for (u32 i = 0; i < 4; i++) {
        Vec3 at = vec3(i & 1 ? 0.8f : -0.8f, 0.5f, i & 2 ? 0.8f : -0.8f);
        add_body(s, box(vec3(0.1f, 0.5f, 0.1f)), at, quat_identity(), SETUP_DENSITY, 0);
    }
    add_body(s, box(vec3(1.0f, 0.1f, 1.0f)), vec3(0.0f, 1.1f, 0.0f), quat_identity(),
             125.0f * SETUP_DENSITY * leg_volume / top_volume, 0);
}

/* A box on a slope of its own (the ground is far below). */
static void add_incline(Setup *s, f32 degrees)
{
    Quat q = turned(vec3(0.0f, 0.0f, 1.0f), degrees * PI_F / 180.0f);
    Vec3 up = quat_rotate(q, vec3(0.0f, 1.0f, 0.0f)), at = vec3(0.0f, 50.0f, 0.0f);
    add_body(s, box(vec3(50.0f, 1.0f, 50.0f)), at, q, 0.0f, 0);
    add_body(s, box(vec3(0.5f, 0.5f, 0.5f)), vec3_add_scaled(at, 1.5f, up), q, SETUP_DENSITY, 0);
}

static bool named(const char *name, const char *start, u32 *number)
{
    size_t length = strlen(start);
    if (strncmp(name, start, length) != 0) {
        return false;
    }
    *number = (u32)strtoul(name + length, NULL, 10);
    return true;
}

Setup *setup_create(const char *name)
{
    Setup *s = calloc(1, sizeof(*s));
    if (!s) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    s->name = name;
    add_body(s, box(vec3(100.0f, 1.0f, 100.0f)), vec3(0.0f, -1.0f, 0.0f), quat_identity(), 0.0f, 0);
    u32 n;
    if (named(name, "wall", &n)) {
        add_wall(s, n);
    } else if (named(name, "pyr", &n)) {
        add_pyramid(s, n);
    } else if (named(name, "drop", &n)) {
        add_drop(s, n, n > 1000 ? 20.0f : 10.0f);
    } else if (named(name, "hulls", &n)) {
        add_hulls(s, n);
    } else if (named(name, "mesh", &n)) {
        add_hills(s, n);
    } else if (named(name, "ragdoll", &n)) {
        add_figures(s, n);
    } else if (named(name, "net", &n)) {
        add_net(s, n);
    } else if (named(name, "chain", &n)) {
        for (u32 i = 0; i < n / 100; i++) {
            add_chain(s, 100, vec3(-25.0f, 60.0f, 2.0f * (f32)i), i + 1);
        }
    } else if (named(name, "stack", &n)) {
        for (u32 i = 0; i < n; i++) {
            add_unit_box(s, vec3(0.0f, (f32)i + 0.5f, 0.0f));
        }
    } else if (named(name, "tower", &n)) {
        for (u32 i = 0; i < 5; i++) {
            u32 body = add_unit_box(s, vec3(0.0f, (f32)i + 0.5f, 0.0f));
            s->bodies[body].mass_kg *= i == 4 ? (f32)n : 1.0f;
        }
    } else if (named(name, "ball", &n)) {
        add_heavy_ball(s);
    } else if (named(name, "table", &n)) {
        add_table(s);
    } else if (named(name, "incline", &n)) {
        add_incline(s, (f32)n);
    } else {
        fprintf(stderr, "no scene %s\n", name);
        exit(1);
    }
    return s;
}

void setup_destroy(Setup *setup)
{
    if (setup) {
        free(setup->bodies);
        free(setup->joints);
        for (u32 i = 0; i < setup->geometry_count; i++) {
            geometry_destroy(setup->geometries[i]);
        }
        free(setup);
    }
}
