/*
 * truth_driven.c: laws of driven matter: heaps in bins that translate and rotate, stacks on lifts
 * and shaken tables; see truth.h. Uniform motion adds no energy in its own frame; for a constant
 * rotation the Jacobi integral E − Ω · L replaces the energy.
 */
#include "shared/geometry/geometry.h"
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define WALL_M 0.05f

enum {
    INSIDE_MAX = 24
};

typedef struct Drive {
    Rigid *rigid;
    Geometry *geometry; /* of the bin; NULL: none */
    f32 hz, gravity;    /* m/s², downwards */
    u32 bin;            /* slot of what is driven */
} Drive;

static Drive drive_of(TruthCase *c, u32 least, f32 gravity)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    Drive drive = {.hz = rates[truth_pick(c, PL_COUNT(rates))], .gravity = gravity};
    u32 substeps = least << truth_pick(c, least > 2 ? 3 : 4);
    truth_say(c, "%g Hz x %u, g %.3g", (double)drive.hz, substeps, (double)gravity);
    drive.rigid = rigid_create(&(RigidDef){.body_capacity = INSIDE_MAX + 8,
                                           .tick_s = 1.0f / drive.hz,
                                           .substeps = substeps,
                                           .gravity = {0.0f, -gravity, 0.0f},
                                           .no_sleep = true});
    if (drive.rigid == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return drive;
}

static void drive_end(Drive *drive)
{
    rigid_destroy(drive->rigid);
    geometry_destroy(drive->geometry);
}

static Shape shape_of(TruthCase *c, f32 size)
{
    f32 a = truth_range(c, 0.2f, 1.0f), b = truth_range(c, 0.2f, 1.0f);
    switch (truth_pick(c, 5)) {
    case 0:
        return kit_ball_shape(size);
    case 1:
        return (Shape){.kind = SHAPE_BOX, .half = vec3(size, size * a, size * b)};
    case 2:
        return (Shape){.kind = SHAPE_CAPSULE, .radius = size * a, .half_height = size * b};
    case 3:
        return (Shape){.kind = SHAPE_CYLINDER, .radius = size * a, .half_height = size * b};
    default:
        return (Shape){.kind = SHAPE_CONE, .radius = size * a, .half_height = size * b};
    }
}

static BodyDef solid(Shape shape, Vec3 position)
{
    BodyDef def = kit_ball(position, 1.0f);
    def.shape = shape;
    def.mass_kg = 1000.0f * shape_volume(&shape);
    return def;
}

/* ---- bins ---- */

/* A closed kinematic box with cubic room of the half extent about the origin. */
static void add_bin(Drive *drive, f32 half, Vec3 velocity, Vec3 turning)
{
    CompoundChild children[6];
    for (u32 w = 0; w < 6; w++) {
        f32 out = (w % 2 ? 1.0f : -1.0f) * (half + WALL_M), wide = half + 2.0f * WALL_M;
        Vec3 at = vec3(w / 2 == 0 ? out : 0.0f, w / 2 == 1 ? out : 0.0f, w / 2 == 2 ? out : 0.0f);
        Vec3 size = vec3(w / 2 == 0 ? WALL_M : wide, w / 2 == 1 ? WALL_M : wide,
                         w / 2 == 2 ? WALL_M : wide);
        children[w] = (CompoundChild){.shape = {.kind = SHAPE_BOX, .half = size},
                                      .position = at,
                                      .orientation = quat_identity()};
    }
    ErrorText error;
    drive->geometry = geometry_compound(children, 6, &error);
    BodyDef def = kit_ball(vec3_zero(), 1.0f);
    def.shape = (Shape){.kind = SHAPE_COMPOUND, .geometry = drive->geometry};
    def.motion = BODY_KINEMATIC;
    def.velocity = velocity;
    def.angular_velocity = turning;
    drive->bin = kit_add(drive->rigid, &def);
}

/* Energy in the frame of the bin, J: E' − Ω · L', with velocities relative to its middle. */
static f64 jacobi_of(const Drive *drive, Vec3 velocity, Vec3 turning)
{
    const Rigid *rigid = drive->rigid;
    Vec3 middle = rigid_position(rigid, drive->bin);
    f64 sum = 0.0;
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        f64 m = (f64)rigid_mass(rigid, i);
        if (i == drive->bin || !(m > 0.0)) {
            continue;
        }
        Vec3 r = vec3_sub(rigid_centre(rigid, i), middle);
        Vec3 v = vec3_sub(rigid_velocity(rigid, i), velocity);
        Quat q = rigid_orientation(rigid, i);
        Vec3 w = rigid_angular_velocity(rigid, i);
        Symmetric3 inertia = rigid_inertia(rigid, i);
        Vec3 spin = quat_rotate(q, symmetric_mul(&inertia, quat_rotate_inverse(q, w)));
        f64 moment = m * (f64)vec3_dot(turning, vec3_cross(r, v)) + (f64)vec3_dot(turning, spin);
        sum += 0.5 * m * (f64)vec3_dot(v, v) + 0.5 * (f64)vec3_dot(w, spin) - moment +
               m * (f64)drive->gravity * (f64)r.y;
    }
    return sum;
}

/* The largest rise in a tick of a heap's energy in the frame of a bin that travels at a constant
 * speed, and turns about the vertical or, without gravity, about any axis; in units of the work
 * that lifts a mean body by the size against gravity or the centrifugal acceleration. */
static f64 bin_gains(TruthCase *c)
{
    bool weightless = truth_pick(c, 4) == 0;
    Drive drive = drive_of(c, 2, weightless ? 0.0f : truth_log_range(c, 0.1f, 20.0f));
    f32 size = truth_log_range(c, 0.03f, 0.5f), half = 4.0f * size, mass = 0.0f;
    f32 rate = truth_range(c, 0.0f, weightless ? 10.0f : 4.0f);
    Vec3 velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 10.0f));
    Vec3 turning = weightless ? vec3_scale(truth_direction(c), rate) : vec3(0.0f, rate, 0.0f);
    add_bin(&drive, half, velocity, turning);
    u32 count = 2 + truth_pick(c, INSIDE_MAX - 2), slots[INSIDE_MAX];
    f32 friction = truth_range(c, 0.0f, 1.0f);
    truth_say(c, " %u of %.3g m mu %.2g, %.2g m/s %.2g rad/s", count, (double)size,
              (double)friction, (double)vec3_length(velocity), (double)rate);
    for (u32 i = 0; i < count; i++) {
        f32 own = truth_log_range(c, 0.5f * size, size) * 0.7f;
        Vec3 at = vec3(-3.0f + 3.0f * (f32)(i % 3), -3.0f + 3.0f * (f32)(i / 9),
                       -3.0f + 3.0f * (f32)(i / 3 % 3));
        BodyDef def = solid(shape_of(c, own), vec3_scale(at, size));
        def.orientation = truth_rotation(c);
        def.velocity = vec3_add_scaled(velocity, truth_range(c, 0.0f, 3.0f), truth_direction(c));
        def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 10.0f));
        def.friction = friction;
        slots[i] = kit_add(drive.rigid, &def);
        mass += def.mass_kg / (f32)count;
    }
    f64 worst = 0.0, before = jacobi_of(&drive, velocity, turning);
    for (u32 i = (u32)(4.0f * drive.hz); i > 0; i--) {
        kit_tick(drive.rigid);
        f64 now = jacobi_of(&drive, velocity, turning);
        worst = fmax(worst, now - before);
        before = now;
    }
    for (u32 i = 0; i < count; i++) {
        Vec3 p =
            vec3_sub(rigid_centre(drive.rigid, slots[i]), rigid_position(drive.rigid, drive.bin));
        p = vec3_abs(quat_rotate_inverse(rigid_orientation(drive.rigid, drive.bin), p));
        worst = f32_max(p.x, f32_max(p.y, p.z)) < half ? worst : INFINITY; /* outside */
    }
    drive_end(&drive);
    f64 pull = fmax((f64)drive.gravity, (f64)(rate * rate * half));
    return worst / ((f64)mass * fmax(pull, 0.5) * (f64)size);
}

/* ---- lifts ---- */

/* Starts at rest, and grows smoothly to the full swing in 4 s. */
static f32 place_at(f32 swing, f32 rate, f32 t)
{
    f32 part = f32_min(0.25f * t, 1.0f);
    return swing * part * part * (3.0f - 2.0f * part) * trig_sin_f32(rate * t);
}

/* How far the boxes of a stack on a platform that goes up and down, or to and fro, are displaced on
 * it after 10 s, of a box. */
static f64 lifted_shifts(TruthCase *c)
{
    Drive drive = drive_of(c, 4, truth_log_range(c, 1.0f, 20.0f));
    f32 size = truth_log_range(c, 0.05f, 1.0f), friction = truth_range(c, 0.3f, 1.0f);
    bool upward = truth_pick(c, 2) == 0;
    u32 count = 1 + truth_pick(c, upward ? 10 : 4);
    /* Fraction of the acceleration that would lift it, or make it slip or tip. */
    f32 most = upward ? 0.7f : 0.6f * f32_min(friction, 1.0f / (f32)count);
    f32 rate = truth_range(c, 4.0f, 12.0f), swing = most * drive.gravity / (rate * rate);
    truth_say(c, " %u of %.3g m mu %.2g, %s %.3g m %.3g rad/s", count, (double)size,
              (double)friction, upward ? "up" : "across", (double)swing, (double)rate);
    BodyDef table = kit_box(vec3(0.0f, -0.5f, 0.0f), vec3(10.0f * size, 0.5f, 10.0f * size));
    table.motion = BODY_KINEMATIC;
    table.friction = friction;
    drive.bin = kit_add(drive.rigid, &table);
    for (u32 i = 0; i < count; i++) {
        BodyDef def = kit_box(vec3(0.0f, ((f32)i + 0.5f) * size, 0.0f),
                              vec3(0.5f * size, 0.5f * size, 0.5f * size));
        def.friction = friction;
        kit_add(drive.rigid, &def);
    }
    u32 ticks = (u32)(10.0f * drive.hz);
    for (u32 i = 0; i < ticks; i++) {
        f32 from = place_at(swing, rate, (f32)i / drive.hz);
        f32 to = place_at(swing, rate, (f32)(i + 1) / drive.hz);
        f32 v = (to - from) * drive.hz;
        rigid_set_velocity(drive.rigid, drive.bin,
                           upward ? vec3(0.0f, v, 0.0f) : vec3(v, 0.0f, 0.0f), vec3_zero());
        kit_tick(drive.rigid);
    }
    f32 worst = 0.0f;
    Vec3 at = rigid_position(drive.rigid, drive.bin);
    for (u32 i = 0; i < count; i++) {
        Vec3 p = vec3_sub(rigid_position(drive.rigid, drive.bin + 1 + i), at);
        p.y -= 0.5f + ((f32)i + 0.5f) * size;
        worst = f32_max(worst, vec3_length(p));
    }
    drive_end(&drive);
    return (f64)(worst / size);
}

const TruthLaw truth_driven[] = {
    {.name = "driven/bin",
     .about = "rise in a tick of a heap's energy in the frame of its bin, which travels and turns",
     .unit = "",
     .bound = 0.5,
     .few = 4,
     .many = 400,
     .measure = bin_gains},
    {.name = "driven/lift",
     .about = "displacement of stacked boxes on a lift or a shaken table in 10 s, of a box",
     .unit = "",
     .bound = 0.06,
     .few = 4,
     .many = 200,
     .measure = lifted_shifts},
    {.name = NULL},
};
