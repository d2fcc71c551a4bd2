/*
 * truth_shape.c: laws of bodies of any shape, including hulls and compounds: thrown at hills, and
 * at each other in zero gravity; see truth.h.
 */
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include "shared/geometry/geometry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HULL_POINTS = 14,
    CHILDREN_MAX = 4,
    HILLS = 32, /* cells along each side of the ground */
    GROUP_MAX = 8
};

/* Allocations of a case, to be freed. */
typedef struct Things {
    Rigid *rigid;
    Geometry *geometries[GROUP_MAX * (CHILDREN_MAX + 1)];
    u32 count;
} Things;

static Geometry *keep(Things *things, Geometry *geometry, const ErrorText *error)
{
    if (geometry == NULL) {
        fprintf(stderr, "no geometry: %s\n", error->text);
        exit(1);
    }
    things->geometries[things->count++] = geometry;
    return geometry;
}

static void let_go(Things *things)
{
    rigid_destroy(things->rigid);
    while (things->count > 0) {
        geometry_destroy(things->geometries[--things->count]);
    }
}

static f32 world_of(TruthCase *c, Things *things, f32 gravity)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    f32 hz = rates[truth_pick(c, PL_COUNT(rates))];
    u32 substeps = 1u << (1 + truth_pick(c, 4));
    truth_say(c, "%g Hz x %u", (double)hz, substeps);
    things->rigid = rigid_create(&(RigidDef){.body_capacity = GROUP_MAX,
                                             .tick_s = 1.0f / hz,
                                             .substeps = substeps,
                                             .gravity = {0.0f, -gravity, 0.0f},
                                             .no_sleep = true});
    if (things->rigid == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return hz;
}

/* ---- shapes ---- */

static Shape convex_shape(TruthCase *c, Things *things, f32 size, bool simple)
{
    f32 a = truth_range(c, 0.2f, 1.0f), b = truth_range(c, 0.2f, 1.0f);
    switch (truth_pick(c, simple ? 5 : 7)) {
    case 0:
        return kit_ball_shape(size);
    case 1:
        return (Shape){.kind = SHAPE_BOX, .half = vec3(size, size * a, size * b)};
    case 2:
        return (Shape){.kind = SHAPE_CAPSULE, .radius = size * a, .half_height = size * b};
    case 3:
        return (Shape){.kind = SHAPE_CYLINDER, .radius = size * a, .half_height = size * b};
    case 4:
        return (Shape){.kind = SHAPE_CONE, .radius = size * a, .half_height = size * b};
    default: {
        Vec3 points[HULL_POINTS];
        for (u32 i = 0; i < HULL_POINTS; i++) {
            Vec3 d = vec3_scale(truth_direction(c), size * truth_range(c, 0.7f, 1.0f));
            points[i] = vec3(d.x, a * d.y, b * d.z);
        }
        ErrorText error;
        Geometry *hull = geometry_hull(points, HULL_POINTS, HULL_POINTS, &error);
        return (Shape){.kind = SHAPE_HULL, .geometry = keep(things, hull, &error)};
    }
    }
}

static const char *shape_name(const Shape *shape)
{
    static const char *const names[SHAPE_KIND_COUNT] = {
        [SHAPE_SPHERE] = "ball",       [SHAPE_BOX] = "box",   [SHAPE_CAPSULE] = "capsule",
        [SHAPE_CYLINDER] = "cylinder", [SHAPE_CONE] = "cone", [SHAPE_HULL] = "hull",
        [SHAPE_COMPOUND] = "compound",
    };
    return names[shape->kind];
}

/* Any body of about this size (m), a third of them of several convex parts. */
static BodyDef any_body(TruthCase *c, Things *things, f32 size)
{
    BodyDef def = kit_box(vec3_zero(), vec3(size, size, size));
    if (truth_pick(c, 3) > 0) {
        def.shape = convex_shape(c, things, size, false);
    } else {
        CompoundChild children[CHILDREN_MAX];
        u32 count = 2 + truth_pick(c, CHILDREN_MAX - 1);
        for (u32 i = 0; i < count; i++) {
            children[i].shape = convex_shape(c, things, size * truth_range(c, 0.3f, 0.6f), true);
            children[i].position = vec3_scale(truth_direction(c), 0.6f * size);
            children[i].orientation = truth_rotation(c);
        }
        ErrorText error;
        Geometry *compound = geometry_compound(children, count, &error);
        def.shape = (Shape){.kind = SHAPE_COMPOUND, .geometry = keep(things, compound, &error)};
    }
    def.mass_kg = 1000.0f * shape_volume(&def.shape);
    def.orientation = truth_rotation(c);
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.restitution = truth_pick(c, 2) == 0 ? 0.0f : truth_range(c, 0.0f, 1.0f);
    truth_say(c, " %s %.3g m", shape_name(&def.shape), (double)size);
    return def;
}

/* ---- hills ---- */

/* Ground with hills as high as the cells are wide, as a mesh or as terrain. */
static void add_hills(TruthCase *c, Things *things, f32 cell)
{
    f32 steep = truth_range(c, 0.0f, 0.7f);
    bool mesh = truth_pick(c, 2) == 0;
    truth_say(c, " on a hilly %s, cells of %.3g m, %.2g steep,", mesh ? "mesh" : "terrain",
              (double)cell, (double)steep);
    enum {
        SIDE = HILLS + 1
    };
    static const u32 corners[6] = {0, SIDE + 1, 1, 0, SIDE, SIDE + 1};
    f32 heights[SIDE * SIDE];
    Vec3 vertices[SIDE * SIDE];
    u32 triangles[6 * HILLS * HILLS], n = 0;
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        u32 x = i % SIDE, z = i / SIDE;
        heights[i] = steep * cell * truth_range(c, -1.0f, 0.0f);
        vertices[i] =
            vec3(cell * ((f32)x - 0.5f * HILLS), heights[i], cell * ((f32)z - 0.5f * HILLS));
        for (u32 k = 0; k < 6 && x < HILLS && z < HILLS; k++) {
            triangles[n++] = i + corners[k];
        }
    }
    ErrorText error;
    BodyDef def = kit_plane(quat_identity());
    if (mesh) {
        Geometry *g = geometry_mesh(vertices, SIDE * SIDE, triangles, n / 3, NULL, &error);
        def.shape = (Shape){.kind = SHAPE_MESH, .geometry = keep(things, g, &error)};
    } else {
        Geometry *g = geometry_terrain(heights, SIDE, SIDE, cell, &error);
        def.shape = (Shape){.kind = SHAPE_TERRAIN, .geometry = keep(things, g, &error)};
    }
    kit_add(things->rigid, &def);
}

static f64 energy_in(const Things *things, f32 gravity)
{
    f64 energy = kit_motion(things->rigid).energy;
    for (u32 i = 0; i < rigid_slots(things->rigid); i++) {
        energy += (f64)rigid_mass(things->rigid, i) * (f64)gravity *
                  (f64)rigid_centre(things->rigid, i).y;
    }
    return energy;
}

/* As contact/energy: the largest rise above the previous energy, as a fraction of the initial
 * energy over the lowest place of the ground. */
static f64 energy_on_hills(TruthCase *c)
{
    Things things = {0};
    f32 hz = world_of(c, &things, KIT_GRAVITY_M_S2);
    f32 size = truth_log_range(c, 0.05f, 1.0f), cell = size * truth_log_range(c, 0.5f, 8.0f);
    add_hills(c, &things, cell);
    BodyDef def = any_body(c, &things, size);
    f32 speed = fminf(truth_range(c, 0.0f, 20.0f), 6.0f * cell);
    f32 angular_velocity = truth_range(c, 0.0f, 30.0f);
    def.position = vec3(0.0f, 1.5f * size + truth_range(c, 0.0f, 2.0f), 0.0f);
    def.velocity = vec3_scale(truth_direction(c), speed);
    def.angular_velocity = vec3_scale(truth_direction(c), angular_velocity);
    u32 slot = kit_add(things.rigid, &def);
    truth_say(c, " %.3g m/s %.3g rad/s mu %.2g e %.2g", (double)speed, (double)angular_velocity,
              (double)def.friction, (double)def.restitution);
    f64 weight = (f64)rigid_mass(things.rigid, slot) * (f64)KIT_GRAVITY_M_S2;
    f64 first = energy_in(&things, KIT_GRAVITY_M_S2) + weight * (f64)cell, least = first;
    f64 spring = weight * (0.005 + 0.01 * (f64)size), rise = 0.0;
    for (u32 i = 0; i < (u32)(2.0f * hz); i++) {
        kit_tick(things.rigid);
        f64 now = energy_in(&things, KIT_GRAVITY_M_S2) + weight * (f64)cell;
        rise = fmax(rise, now - least - spring);
        least = fmin(least, now);
    }
    let_go(&things);
    return rise / first;
}

/* ---- two in empty space ---- */

typedef struct Meeting {
    Things things;
    f32 hz;
    KitMotion first, last;
    f64 rise;           /* J, largest rise above the previous value */
    f64 push, rotation; /* kg m/s and kg m²/s, sums of the two's magnitudes */
} Meeting;

static f64 distance_of(const f64 *a, const f64 *b)
{
    f64 x = a[0] - b[0], y = a[1] - b[1], z = a[2] - b[2];
    return sqrt(x * x + y * y + z * z);
}

/* Two rotating bodies fly towards each other and meet near the origin. */
static Meeting meeting_of(TruthCase *c)
{
    Meeting m = {0};
    m.hz = world_of(c, &m.things, 0.0f);
    f32 size = truth_log_range(c, 0.05f, 1.0f), speed = truth_log_range(c, 0.1f, 20.0f);
    f32 sizes[2] = {size, size * truth_log_range(c, 0.2f, 1.0f)};
    f32 heavy = truth_log_range(c, 0.01f, 100.0f);
    for (u32 i = 0; i < 2; i++) {
        BodyDef def = any_body(c, &m.things, sizes[i]);
        f32 away = (i == 0 ? -1.0f : 1.0f) * 1.5f * (sizes[0] + sizes[1]);
        def.position = vec3(away, truth_range(c, -0.5f, 0.5f) * sizes[1],
                            truth_range(c, -0.5f, 0.5f) * sizes[1]);
        def.mass_kg *= i == 0 ? 1.0f : heavy;
        def.velocity = vec3(i == 0 ? 0.5f * speed : -0.5f * speed, 0.0f, 0.0f);
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 30.0f));
        kit_add(m.things.rigid, &def);
    }
    truth_say(c, " %.3g m/s, the second of %.3g times the density", (double)speed, (double)heavy);
    m.first = kit_motion(m.things.rigid);
    for (u32 i = 0; i < 2; i++) {
        Vec3 x = rigid_centre(m.things.rigid, i), v = rigid_velocity(m.things.rigid, i);
        Symmetric3 inertia = rigid_inertia(m.things.rigid, i);
        Vec3 w = quat_rotate_inverse(rigid_orientation(m.things.rigid, i),
                                     rigid_angular_velocity(m.things.rigid, i));
        f64 mass = (f64)rigid_mass(m.things.rigid, i);
        m.push += mass * (f64)vec3_length(v);
        m.rotation += mass * (f64)vec3_length(v) * (f64)vec3_length(x) +
                      (f64)vec3_length(symmetric_mul(&inertia, w));
    }
    f64 least = m.first.energy;
    f32 seconds = fminf(4.0f, 10.0f * (sizes[0] + sizes[1]) / speed + 0.2f);
    for (u32 i = 0; i < (u32)(seconds * m.hz); i++) {
        kit_tick(m.things.rigid);
        m.last = kit_motion(m.things.rigid);
        m.rise = fmax(m.rise, m.last.energy - least);
        least = fmin(least, m.last.energy);
    }
    let_go(&m.things);
    return m;
}

static f64 meeting_energy(TruthCase *c)
{
    Meeting m = meeting_of(c);
    return m.rise / m.first.energy;
}

static f64 meeting_momentum(TruthCase *c)
{
    Meeting m = meeting_of(c);
    return distance_of(m.last.momentum, m.first.momentum) / m.push;
}

static f64 meeting_turning(TruthCase *c)
{
    Meeting m = meeting_of(c);
    return distance_of(m.last.angular, m.first.angular) / m.rotation;
}

/* ---- many in empty space ---- */

/* Angular momentum of all bodies about their common centre (kg m²/s), and the sum of its parts'
 * magnitudes. */
static f64 turning_of(const Rigid *rigid, f64 sum[3])
{
    f64 mass = 0.0, centre[3] = {0}, push[3] = {0}, size = 0.0;
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        f64 m = (f64)rigid_mass(rigid, i);
        Vec3 x = rigid_centre(rigid, i), v = rigid_velocity(rigid, i);
        mass += m;
        centre[0] += m * (f64)x.x, centre[1] += m * (f64)x.y, centre[2] += m * (f64)x.z;
        push[0] += m * (f64)v.x, push[1] += m * (f64)v.y, push[2] += m * (f64)v.z;
    }
    memset(sum, 0, 3 * sizeof *sum);
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        f64 m = (f64)rigid_mass(rigid, i);
        Vec3 x = rigid_centre(rigid, i), v = rigid_velocity(rigid, i);
        f64 r[3] = {(f64)x.x - centre[0] / mass, (f64)x.y - centre[1] / mass,
                    (f64)x.z - centre[2] / mass};
        f64 u[3] = {(f64)v.x - push[0] / mass, (f64)v.y - push[1] / mass,
                    (f64)v.z - push[2] / mass};
        Quat q = rigid_orientation(rigid, i);
        Symmetric3 inertia = rigid_inertia(rigid, i);
        Vec3 w = quat_rotate_inverse(q, rigid_angular_velocity(rigid, i));
        Vec3 own = quat_rotate(q, symmetric_mul(&inertia, w));
        f64 l[3] = {m * (r[1] * u[2] - r[2] * u[1]) + (f64)own.x,
                    m * (r[2] * u[0] - r[0] * u[2]) + (f64)own.y,
                    m * (r[0] * u[1] - r[1] * u[0]) + (f64)own.z};
        for (u32 k = 0; k < 3; k++) {
            sum[k] += l[k];
        }
        size += m * sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) *
                    sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) +
                (f64)vec3_length(own);
    }
    return size;
}

/* A group of bodies of any shape flies together in empty space; the largest change of its angular
 * momentum, as part of its parts at the start. An impulse acts at arms and inertias that are at
 * most a tick old, so the error falls with the motion in a tick: bodies move by up to four times
 * their size in one here, at 30 Hz. */
static f64 group_turning(TruthCase *c)
{
    Things things = {0};
    f32 hz = world_of(c, &things, 0.0f);
    u32 count = 2 + truth_pick(c, GROUP_MAX - 1);
    f32 size = truth_log_range(c, 0.05f, 1.0f), speed = truth_log_range(c, 0.1f, 10.0f);
    for (u32 i = 0; i < count; i++) {
        f32 own = size * truth_range(c, 0.4f, 1.0f);
        BodyDef def = any_body(c, &things, own);
        Vec3 out = i == 0 ? vec3_zero() : truth_direction(c);
        def.position = vec3_scale(out, 3.0f * size * (f32)i);
        def.velocity = vec3_add(vec3_scale(out, -speed * (f32)i),
                                vec3_scale(truth_direction(c), 0.3f * speed));
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 10.0f));
        kit_add(things.rigid, &def);
    }
    truth_say(c, " %.3g m/s", (double)speed);
    f64 first[3], now[3], size_first = turning_of(things.rigid, first), worst = 0.0;
    for (u32 i = 0; i < (u32)(fminf(4.0f, 10.0f * size / speed + 0.2f) * hz); i++) {
        kit_tick(things.rigid);
        turning_of(things.rigid, now);
        worst = fmax(worst, distance_of(first, now));
    }
    let_go(&things);
    return worst / size_first;
}

const TruthLaw truth_shape[] = {
    {"shape/hills", "energy of any body thrown onto hills never rises, share of the first", "",
     0.02, 40, 1000, energy_on_hills},
    {"shape/energy", "of two bodies of any shape that collide in zero gravity, share", "", 0.002,
     40, 1000, meeting_energy},
    {"shape/momentum", "and their momentum is conserved, share", "", 1e-5, 40, 1000,
     meeting_momentum},
    {"shape/turning", "and their angular momentum (goal: 0.002)", "", 0.015, 40, 1000,
     meeting_turning},
    {"shape/group", "angular momentum of 2 to 8 bodies that collide in zero gravity, share", "",
     0.04, 40, 1000, group_turning},
    {0},
};
