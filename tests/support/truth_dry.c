/* truth_dry.c: laws of dry friction in joints; see truth.h. Its torque T has one size and opposes
 * the motion: it takes T from each radian, stops what turns at a known time, and holds what pulls
 * with less. */
#include "tests/support/truth_world.h"

#include <math.h>
#include <stdlib.h>

#define GRAVITY 9.81
#define PI      3.14159265358979
#define DEGREE  (PI / 180.0)

static TruthWorld draw_world(TruthCase *c, f64 gravity_m_s2)
{
    static const f32 rates[] = {30.0f, 60.0f, 120.0f, 240.0f};
    f32 rate = rates[truth_pick(c, PL_COUNT(rates))];
    u32 steps = 1 + truth_pick(c, 8);
    while (rate * (f32)steps < 239.0f) {
        steps++;
    }
    return truth_world_make(c, 4, gravity_m_s2, rate, steps);
}

static u32 part(TruthWorld *world, TruthCase *c, Vec3 at)
{
    f32 x = truth_log_range(c, 0.02f, 0.5f), y = x * truth_log_range(c, 0.2f, 1.0f);
    f32 z = x * truth_log_range(c, 0.2f, 1.0f);
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_BOX, .half = {x, y, z}};
    def.mass_kg = truth_log_range(c, 300.0f, 8000.0f) * x * y * z;
    def.orientation = truth_rotation(c);
    def.position = at;
    return kit_add(world->rigid, &def);
}

static JointDef dry_joint(TruthCase *c)
{
    static const JointKind kinds[] = {JOINT_BALL, JOINT_CONE_TWIST, JOINT_UNIVERSAL, JOINT_HINGE};
    static const char *const names[] = {"ball", "cone", "universal", "hinge"};
    u32 kind = truth_pick(c, PL_COUNT(kinds));
    truth_say(c, "%s", names[kind]);
    return joint_def_default(kinds[kind]);
}

static f32 least_inertia(const Rigid *rigid, u32 slot)
{
    Symmetric3 i = rigid_inertia(rigid, slot);
    return f32_min(i.xx, f32_min(i.yy, i.zz));
}

/* Two bodies on a joint, thrown with random rotations. The joint first removes what it forbids. */
static TruthWorld thrown(TruthCase *c)
{
    TruthWorld world = draw_world(c, 0.0);
    Rigid *rigid = world.rigid;
    u32 a = part(&world, c, vec3_zero());
    u32 b = part(&world, c, vec3_scale(truth_direction(c), truth_log_range(c, 0.02f, 0.5f)));
    JointDef def = dry_joint(c);
    Quat qa = rigid_orientation(rigid, a), qb = rigid_orientation(rigid, b);
    Quat frame = truth_rotation(c);
    Vec3 pa = rigid_centre(rigid, a), pb = rigid_centre(rigid, b), middle = vec3_lerp(pa, pb, 0.5f);
    def.a = rigid_at(rigid, a);
    def.b = rigid_at(rigid, b);
    def.frame_a = quat_mul(quat_conjugate(qa), frame);
    def.frame_b = quat_mul(quat_conjugate(qb), frame);
    def.anchor_a = quat_rotate_inverse(qa, vec3_sub(middle, pa));
    def.anchor_b = quat_rotate_inverse(qb, vec3_sub(middle, pb));
    f32 turns = truth_range(c, 1.0f, 10.0f), stop_s = truth_log_range(c, 0.05f, 20.0f);
    f32 inertia = f32_min(least_inertia(rigid, a), least_inertia(rigid, b));
    def.friction = inertia * turns / stop_s;
    kit_join(rigid, &def);
    truth_say(c, ", %.1f rad/s, stops in %.2f s", (f64)turns, (f64)stop_s);
    rigid_set_velocity(rigid, a, vec3_zero(), vec3_scale(truth_direction(c), turns));
    rigid_set_velocity(rigid, b, vec3_zero(), vec3_scale(truth_direction(c), turns));
    for (u32 i = 0; i < 4; i++) {
        kit_tick(rigid);
    }
    return world;
}

/* The largest rise of the energy above the least that it had, percent of that at first. */
static f64 energy_rises(TruthCase *c)
{
    TruthWorld world = thrown(c);
    f64 first = kit_motion(world.rigid).energy, least = first, rise = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&world, 5.0); i++) {
        kit_tick(world.rigid);
        f64 energy = kit_motion(world.rigid).energy;
        rise = fmax(rise, energy - least);
        least = fmin(least, energy);
    }
    rigid_destroy(world.rigid);
    return 100.0 * rise / first;
}

static f64 momentum_turns(TruthCase *c)
{
    TruthWorld world = thrown(c);
    KitFlight flight = kit_fly(world.rigid, truth_world_ticks(&world, 5.0));
    rigid_destroy(world.rigid);
    return flight.turning;
}

/* A rod on a point at the origin, tilted about z, with friction as a share of m g l. */
typedef struct Rod {
    TruthWorld world;
    u32 slot;
    f64 friction, weight, inertia; /* N m: and m g l; kg m^2 about the point */
} Rod;

static Rod rod_make(TruthCase *c, f64 angle, f64 friction_of_weight, f64 gravity_m_s2)
{
    Rod rod = {.world = draw_world(c, gravity_m_s2)};
    f32 half = truth_log_range(c, 0.05f, 1.0f), thick = half * truth_range(c, 0.1f, 0.5f);
    f32 arm = half * truth_range(c, 0.8f, 1.5f);
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_BOX, .half = {thick, half, thick}};
    def.mass_kg = truth_log_range(c, 0.1f, 100.0f);
    def.orientation = kit_rotation(vec3(0.0f, 0.0f, 1.0f), angle / DEGREE);
    def.position = quat_rotate(def.orientation, vec3(0.0f, -arm, 0.0f));
    rod.slot = kit_add(rod.world.rigid, &def);
    f64 mass = (f64)def.mass_kg, l = (f64)arm;
    f64 thick2 = (f64)thick * (f64)thick, half2 = (f64)half * (f64)half;
    rod.inertia = mass * (l * l + (thick2 + half2) / 3.0);
    rod.weight = mass * GRAVITY * l;
    rod.friction = friction_of_weight * rod.weight;
    JointDef joint = dry_joint(c);
    joint.b = rigid_at(rod.world.rigid, rod.slot);
    joint.anchor_b = vec3(0.0f, arm, 0.0f);
    /* Any axes for a ball; others turn about one of theirs. */
    bool about_z = joint.kind == JOINT_UNIVERSAL || joint.kind == JOINT_HINGE;
    Quat frame = about_z ? kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0) : truth_rotation(c);
    joint.frame_a = frame;
    joint.frame_b = quat_mul(quat_conjugate(def.orientation), frame);
    joint.friction = (f32)rod.friction;
    kit_join(rod.world.rigid, &joint);
    truth_say(c, ", %.2f m, %.0f deg, friction %.4f m g l", (f64)arm, angle / DEGREE,
              friction_of_weight);
    return rod;
}

static f64 rod_angle(const Rod *rod)
{
    Quat q = rigid_orientation(rod->world.rigid, rod->slot);
    return 2.0 * atan2((f64)q.z, (f64)q.w);
}

/* J, of a rod that swings. A constrained body falls for a whole step at its start, so its
 * velocities lag its positions by half a step: positions are moved back by that. */
static f64 rod_energy(const Rod *rod)
{
    const Rigid *rigid = rod->world.rigid;
    f64 half_h = 0.5 / (rod->world.rate * (f64)rod->world.substeps);
    f64 y =
        (f64)rigid_centre(rigid, rod->slot).y - half_h * (f64)rigid_velocity(rigid, rod->slot).y;
    return kit_motion(rigid).energy + (f64)rigid_mass(rigid, rod->slot) * GRAVITY * y;
}

/* rad, travelled in a tick with these speeds before and after; a turn is part of a parabola. */
static f64 angle_travelled(f64 before, f64 after, f64 tick_s)
{
    if (before * after >= 0.0) {
        return 0.5 * fabs(before + after) * tick_s;
    }
    return 0.5 * (before * before + after * after) / fabs(after - before) * tick_s;
}

/* Released at an angle, it swings twice to and fro: the energy lost less the torque times the angle
 * travelled, percent of the energy at first. */
static f64 swing_loss(TruthCase *c)
{
    f64 start = DEGREE * (f64)truth_range(c, 20.0f, 90.0f);
    /* It would take this share of the energy if no swing were smaller than the first. */
    f64 share = (f64)truth_log_range(c, 0.1f, 1.0f), high = 1.0 - cos(start);
    Rod rod = rod_make(c, start, share * high / (8.0 * start), GRAVITY);
    f64 first = rod_energy(&rod), speed = 0.0, travelled = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&rod.world, 4.0 * PI * sqrt(rod.inertia / rod.weight));
         i++) {
        kit_tick(rod.world.rigid);
        f64 now = (f64)rigid_angular_velocity(rod.world.rigid, rod.slot).z;
        travelled += angle_travelled(speed, now, 1.0 / rod.world.rate);
        speed = now;
    }
    f64 lost = first - rod_energy(&rod);
    rigid_destroy(rod.world.rigid);
    return 100.0 * fabs(lost - rod.friction * travelled) / (rod.weight * high);
}

/* Where a swing from an angle ends, on the other side: W (cos x - cos a) = T (a + x). */
static f64 swing_end(f64 angle, f64 friction_of_weight)
{
    f64 low = 1e-9 - angle, high = angle;
    for (u32 i = 0; i < 60; i++) {
        f64 x = 0.5 * (low + high);
        bool beyond = cos(x) - cos(angle) < friction_of_weight * (angle + x);
        high = beyond ? x : high;
        low = beyond ? low : x;
    }
    return low;
}

/* Released at an angle, it swings until the friction holds it: degrees from where that must be. */
static f64 stop_angle(TruthCase *c)
{
    f64 start = DEGREE * (f64)truth_range(c, 10.0f, 90.0f), angle = start, side = 1.0;
    f64 share = sin(start) / (f64)truth_range(c, 2.0f, 20.0f);
    u32 swings = 0;
    for (; sin(angle) > share; swings++) {
        angle = swing_end(angle, share);
        side = -side;
        if (angle < 0.0) {
            angle = -angle;
            side = -side;
        }
    }
    Rod rod = rod_make(c, start, share, GRAVITY);
    truth_say(c, ", %u swings to %.2f deg", swings, side * angle / DEGREE);
    f64 period = 2.0 * PI * sqrt(rod.inertia / rod.weight);
    for (u32 i = 0; i < truth_world_ticks(&rod.world, ((f64)swings + 1.0) * 0.7 * period); i++) {
        kit_tick(rod.world.rigid);
    }
    f64 off = fabs(rod_angle(&rod) - side * angle) / DEGREE;
    rigid_destroy(rod.world.rigid);
    return off;
}

/* Without gravity it slows down evenly, and stops at I w / T: percent of the first speed. */
static f64 slowing(TruthCase *c)
{
    f64 speed = (f64)truth_range(c, 1.0f, 10.0f);
    Rod rod = rod_make(c, 0.0, (f64)truth_log_range(c, 0.02f, 0.5f), 0.0);
    Vec3 turning = vec3(0.0f, 0.0f, (f32)speed);
    rigid_set_velocity(rod.world.rigid, rod.slot,
                       vec3_cross(turning, rigid_centre(rod.world.rigid, rod.slot)), turning);
    f64 stop_s = rod.inertia * speed / rod.friction, error = 0.0;
    truth_say(c, ", %.1f rad/s, stops in %.2f s", speed, stop_s);
    u32 ticks = truth_world_ticks(&rod.world, 1.2 * stop_s);
    for (u32 i = 1; i <= ticks; i++) {
        kit_tick(rod.world.rigid);
        f64 left = fmax(0.0, 1.0 - (f64)i / (rod.world.rate * stop_s));
        f64 now = (f64)rigid_angular_velocity(rod.world.rigid, rod.slot).z / speed;
        error = fmax(error, fabs(now - left));
    }
    rigid_destroy(rod.world.rigid);
    return 100.0 * error;
}

/* A body that slides up a rail of any slope, with friction that may hold it or not: the way to
 * where it stops, against v^2 / 2a; percent. */
static f64 sliding(TruthCase *c)
{
    TruthWorld world = draw_world(c, GRAVITY);
    f64 angle = DEGREE * (f64)truth_range(c, 0.0f, 90.0f), speed = (f64)truth_range(c, 1.0f, 10.0f);
    f64 share = (f64)truth_log_range(c, 0.05f, 5.0f);
    f32 half = truth_log_range(c, 0.05f, 1.0f), mass = truth_log_range(c, 0.1f, 100.0f);
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_BOX, .half = {half, 0.5f * half, 0.3f * half}};
    def.mass_kg = mass;
    def.orientation = truth_rotation(c);
    u32 slot = kit_add(world.rigid, &def);
    JointDef joint = joint_def_default(JOINT_SLIDER);
    joint.b = rigid_at(world.rigid, slot);
    joint.frame_a = kit_rotation(vec3(0.0f, 0.0f, 1.0f), angle / DEGREE);
    joint.frame_b = quat_mul(quat_conjugate(def.orientation), joint.frame_a);
    joint.flags |= JOINT_DRIVE; /* its friction is a motor that holds still */
    joint.force_max = (f32)(share * (f64)mass * GRAVITY);
    kit_join(world.rigid, &joint);
    Vec3 along = quat_rotate(joint.frame_a, vec3(1.0f, 0.0f, 0.0f));
    rigid_set_velocity(world.rigid, slot, vec3_scale(along, (f32)speed), vec3_zero());
    truth_say(c, ", %.0f deg, friction %.2f m g, %.1f m/s", angle / DEGREE, share, speed);
    f64 slows = GRAVITY * (share + sin(angle)), way = 0.5 * speed * speed / slows, most = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&world, 1.2 * speed / slows) + 1; i++) {
        kit_tick(world.rigid);
        most = fmax(most, (f64)vec3_dot(rigid_centre(world.rigid, slot), along));
    }
    rigid_destroy(world.rigid);
    /* The last step ends it within itself. */
    f64 step = speed / (world.rate * (f64)world.substeps);
    return 100.0 * fmax(0.0, fabs(most - way) - 0.5 * step) / way;
}

/* Held at an angle where it pulls with less than the friction: degrees that it sinks in 10 s. */
static f64 creep(TruthCase *c)
{
    f64 start = DEGREE * (f64)truth_range(c, 5.0f, 90.0f);
    Rod rod = rod_make(c, start, sin(start) / (f64)truth_range(c, 0.2f, 0.95f), GRAVITY);
    for (u32 i = 0; i < truth_world_ticks(&rod.world, 10.0); i++) {
        kit_tick(rod.world.rigid);
    }
    f64 sunk = fabs(rod_angle(&rod) - start) / DEGREE;
    rigid_destroy(rod.world.rigid);
    return sunk;
}

const TruthLaw truth_dry[] = {
    {"dry/energy", "rise of the energy of two bodies on a joint with friction, 5 s", "%", 0.2, 20,
     1000, energy_rises},
    {"dry/momentum", "and change of their angular momentum", "%", 0.3, 20, 1000, momentum_turns},
    {"dry/swing", "energy lost in two swings less torque times angle", "%", 1.0, 20, 1000,
     swing_loss},
    {"dry/angle", "the angle at which a pendulum stops", "deg", 0.5, 20, 1000, stop_angle},
    {"dry/stops", "a rod slows down evenly and stops, against I w / T", "%", 1.0, 20, 1000,
     slowing},
    {"dry/slides", "the way of a body on a rail until it stops, against v^2 / 2a", "%", 1.0, 20,
     1000, sliding},
    {"dry/holds", "sinking of a rod whose weight pulls with less, 10 s", "deg", 0.1, 20, 1000,
     creep},
    {.name = NULL},
};
