/* truth_motion.c: laws of free flight and joints; see truth.h. */
#include "tests/support/truth_world.h"

#include <math.h>
#include <stdlib.h>

#define GRAVITY 9.81
#define DEGREE  0.0174532925

enum {
    LINKS_MAX = 64
};

/* ---- worlds ---- */

static TruthWorld draw_world(TruthCase *c, u32 bodies, f64 gravity_m_s2)
{
    return truth_world_draw(c, bodies, gravity_m_s2, 1.0, 1);
}

/* Substeps as at 60 Hz with 4 substeps, or shorter. */
static TruthWorld draw_fine(TruthCase *c, u32 bodies, f64 gravity_m_s2)
{
    return truth_world_draw(c, bodies, gravity_m_s2, 1.0 / 240.0, 1);
}

/* Kinetic and potential energy, J. A constrained body falls for a whole step at its start, so
 * its velocities lag its positions by half a step: positions are moved back by that. Otherwise
 * the measured energy oscillates by m g h v / 2. */
static f64 energy_of(const TruthWorld *world, f64 gravity_m_s2)
{
    f64 sum = kit_motion(world->rigid).energy;
    f64 half_h = 0.5 / (world->rate * (f64)world->substeps);
    for (u32 i = 0; i < rigid_slots(world->rigid); i++) {
        f64 y =
            (f64)rigid_centre(world->rigid, i).y - half_h * (f64)rigid_velocity(world->rigid, i).y;
        sum += (f64)rigid_mass(world->rigid, i) * gravity_m_s2 * y;
    }
    return sum;
}

static BodyDef body_of(Shape shape, f32 mass)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.mass_kg = mass;
    def.family = 1;
    return def;
}

static Shape box_of(f32 x, f32 y, f32 z)
{
    return (Shape){.kind = SHAPE_BOX, .half = {x, y, z}};
}

/* Joins the points at the anchors of a and b (slots; −1, like JOINT_WORLD: the world). */
static u32 join(TruthWorld *world, JointKind kind, i32 a, Vec3 anchor_a, u32 b, Vec3 anchor_b)
{
    JointDef def = joint_def_default(kind);
    if (a >= 0) {
        def.a = rigid_at(world->rigid, (u32)a);
    }
    def.b = rigid_at(world->rigid, b);
    def.anchor_a = anchor_a;
    def.anchor_b = anchor_b;
    /* Hinges rotate about z. */
    def.frame_a = def.frame_b = kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0);
    return kit_join(world->rigid, &def);
}

/* ---- free rotation ---- */

/* The larger of the errors of energy and of the angular momentum vector. */
static f64 angular_velocity_change(TruthWorld *world, f64 seconds)
{
    KitFlight flight = kit_fly(world->rigid, truth_world_ticks(world, seconds));
    rigid_destroy(world->rigid);
    return fmax(flight.turning, fmax(flight.gain, fabs(flight.loss)));
}

static f64 free_spin(TruthCase *c)
{
    TruthWorld world = draw_world(c, 1, 0.0);
    f32 x = truth_log_range(c, 0.02f, 1.0f);
    f32 y = x * truth_log_range(c, 0.2f, 1.0f), z = x * truth_log_range(c, 0.1f, 1.0f);
    BodyDef def = body_of(box_of(x, y, z), 8000.0f * x * y * z);
    def.orientation = truth_rotation(c);
    f32 angular_velocity = truth_range(c, 1.0f, 30.0f);
    def.angular_velocity = vec3_scale(truth_direction(c), angular_velocity);
    kit_add(world.rigid, &def);
    truth_say(c, "box of %.3f x %.3f x %.3f m, %.1f rad/s", (f64)x, (f64)y, (f64)z,
              (f64)angular_velocity);
    return angular_velocity_change(&world, 20.0);
}

/* Rotation about the middle axis, starting at a small angle from it: it flips repeatedly. */
static f64 t_handle(TruthCase *c)
{
    TruthWorld world = draw_world(c, 1, 0.0);
    BodyDef def = body_of(box_of(0.3f, 0.1f, 0.02f), 2.0f);
    f32 angular_velocity = truth_range(c, 2.0f, 20.0f);
    def.angular_velocity =
        vec3(0.001f * angular_velocity, angular_velocity, 0.001f * angular_velocity);
    kit_add(world.rigid, &def);
    truth_say(c, "%.1f rad/s", (f64)angular_velocity);
    return angular_velocity_change(&world, 600.0);
}

/* ---- free flight ---- */

static f64 parabola(TruthCase *c)
{
    TruthWorld world = draw_world(c, 1, GRAVITY);
    BodyDef def = body_of(box_of(0.1f, 0.2f, 0.3f), 3.0f);
    f32 place = truth_log_range(c, 0.1f, 20.0f), speed = truth_range(c, 0.0f, 20.0f);
    def.position = vec3_scale(truth_direction(c), place);
    def.velocity = vec3_scale(truth_direction(c), speed);
    def.angular_velocity = vec3_scale(truth_direction(c), 5.0f);
    u32 slot = kit_add(world.rigid, &def);
    u32 ticks = truth_world_ticks(&world, 2.0);
    f64 worst = 0.0;
    truth_say(c, "from %.1f m at %.1f m/s", (f64)place, (f64)speed);
    for (u32 i = 1; i <= ticks; i++) {
        kit_tick(world.rigid);
        f64 t = (f64)i / world.rate;
        Vec3 now = rigid_centre(world.rigid, slot);
        f64 dx = (f64)now.x - (f64)def.position.x - t * (f64)def.velocity.x;
        f64 dy = (f64)now.y - (f64)def.position.y - t * (f64)def.velocity.y + 0.5 * GRAVITY * t * t;
        f64 dz = (f64)now.z - (f64)def.position.z - t * (f64)def.velocity.z;
        worst = fmax(worst, sqrt(dx * dx + dy * dy + dz * dz));
    }
    rigid_destroy(world.rigid);
    return worst * 1e6;
}

/* ---- tops ---- */

typedef struct Top {
    TruthWorld world;
    u32 slot;
    f64 arm;           /* m, from the pivot to the centre */
    f64 tilt, turning; /* rad, rad/s: must be constant */
    f64 energy_unit;   /* J */
    f64 first;         /* J */
} Top;

/* A body of revolution about y with its pivot at the origin, `arm` below its centre, in steady
 * precession: Ω (I₃ ω₃ − I₁ Ω cos θ) = m g l about the vertical, the slower of the two
 * solutions. */
static bool top_start(Top *top, Shape shape, f32 mass, f64 angular_velocity)
{
    Rigid *rigid = top->world.rigid;
    BodyDef def = body_of(shape, mass);
    f64 tilt = top->tilt, s = sin(tilt), k = cos(tilt);
    def.position = vec3((f32)(top->arm * s), (f32)(top->arm * k), 0.0f);
    def.orientation = kit_rotation(vec3(0.0f, 0.0f, 1.0f), -tilt / DEGREE);
    top->slot = kit_add(rigid, &def);
    Symmetric3 inertia = rigid_inertia(rigid, top->slot);
    f64 m = (f64)mass, along = (f64)inertia.yy, moment = m * GRAVITY * top->arm;
    f64 across = (f64)inertia.xx + m * top->arm * top->arm;
    /* across k Ω² − along spin Ω + moment = 0 */
    f64 root = along * along * angular_velocity * angular_velocity - 4.0 * across * k * moment;
    if (root < 0.0) {
        return false;
    }
    f64 turning = 2.0 * moment / (along * angular_velocity + sqrt(root));
    /* Spin: the component about the axis, and the precession's component across it. */
    f64 axis[2] = {s, k}, rest = angular_velocity - turning * k;
    Vec3 w = vec3((f32)(rest * axis[0]), (f32)(turning + rest * axis[1]), 0.0f);
    rigid_set_velocity(rigid, top->slot, vec3_cross(w, def.position), w);
    join(&top->world, JOINT_BALL, -1, vec3_zero(), top->slot, vec3(0.0f, -(f32)top->arm, 0.0f));
    top->turning = turning;
    top->energy_unit = moment;
    top->first = energy_of(&top->world, GRAVITY);
    return true;
}

static f64 tilt_of(const Top *top)
{
    Vec3 p = rigid_centre(top->world.rigid, top->slot);
    return acos((f64)p.y / sqrt((f64)vec3_length_squared(p)));
}

typedef struct TopWorst {
    f64 energy, tilt, rotated; /* fraction of m g l, degrees, fraction of the angle */
} TopWorst;

static TopWorst top_run(Top *top, f64 seconds)
{
    TopWorst worst = {0};
    f64 angle = 0.0, before = 0.0;
    u32 ticks = truth_world_ticks(&top->world, seconds);
    for (u32 i = 1; i <= ticks; i++) {
        kit_tick(top->world.rigid);
        Vec3 p = rigid_centre(top->world.rigid, top->slot);
        f64 now = atan2(-(f64)p.z, (f64)p.x);
        angle += remainder(now - before, 2.0 * 180.0 * DEGREE);
        before = now;
        worst.energy = fmax(worst.energy, fabs(energy_of(&top->world, GRAVITY) - top->first));
        worst.tilt = fmax(worst.tilt, fabs(tilt_of(top) - top->tilt));
    }
    worst.energy *= 100.0 / top->energy_unit;
    worst.tilt /= DEGREE;
    worst.rotated = 100.0 * fabs(angle / (top->turning * (f64)ticks / top->world.rate) - 1.0);
    rigid_destroy(top->world.rigid);
    return worst;
}

static TopWorst heavy_top(TruthCase *c)
{
    for (;;) {
        char about[sizeof c->about];
        memcpy(about, c->about, sizeof about);
        Top top = {.world = draw_fine(c, 1, GRAVITY)};
        f32 radius = truth_log_range(c, 0.05f, 0.5f), thick = radius * truth_range(c, 0.1f, 0.5f);
        top.arm = (f64)(radius * truth_range(c, 0.6f, 2.0f));
        top.tilt = (f64)truth_range(c, 0.2f, 2.0f);
        f64 angular_velocity = (f64)truth_range(c, 10.0f, 60.0f);
        Shape shape = {.kind = SHAPE_CYLINDER, .radius = radius, .half_height = thick};
        truth_say(c, "disc of %.2f m at %.2f m, %.0f deg, %.0f rad/s", (f64)radius, top.arm,
                  top.tilt / DEGREE, angular_velocity);
        if (top_start(&top, shape, truth_log_range(c, 0.1f, 100.0f), angular_velocity)) {
            return top_run(&top, 10.0);
        }
        rigid_destroy(top.world.rigid);
        memcpy(c->about, about, sizeof about);
    }
}

static f64 top_energy(TruthCase *c)
{
    return heavy_top(c).energy;
}
static f64 top_tilt(TruthCase *c)
{
    return heavy_top(c).tilt;
}
static f64 top_turning(TruthCase *c)
{
    return heavy_top(c).rotated;
}

/* A rod about one of its ends, in conical motion without spin of its own: Ω² = m g l / ((I₁ −
 * I₃) cos θ). */
static TopWorst conical_rod(TruthCase *c)
{
    Top top = {.world = draw_fine(c, 1, GRAVITY)};
    f32 half = truth_log_range(c, 0.1f, 1.0f), thick = half * truth_range(c, 0.005f, 0.1f);
    f32 mass = truth_log_range(c, 0.1f, 100.0f);
    top.arm = (f64)half;
    top.tilt = (f64)truth_range(c, 1.9f, 2.9f); /* hanging */
    f64 s = sin(top.tilt), k = cos(top.tilt);
    BodyDef def = body_of(box_of(thick, half, thick), mass);
    def.position = vec3((f32)(top.arm * s), (f32)(top.arm * k), 0.0f);
    def.orientation = kit_rotation(vec3(0.0f, 0.0f, 1.0f), -top.tilt / DEGREE);
    top.slot = kit_add(top.world.rigid, &def);
    Symmetric3 inertia = rigid_inertia(top.world.rigid, top.slot);
    f64 m = (f64)mass, across = (f64)inertia.xx + m * top.arm * top.arm - (f64)inertia.yy;
    top.energy_unit = m * GRAVITY * top.arm;
    top.turning = sqrt(top.energy_unit / (across * -k));
    Vec3 w = vec3(0.0f, (f32)top.turning, 0.0f);
    rigid_set_velocity(top.world.rigid, top.slot, vec3_cross(w, def.position), w);
    join(&top.world, JOINT_BALL, -1, vec3_zero(), top.slot, vec3(0.0f, -half, 0.0f));
    top.first = energy_of(&top.world, GRAVITY);
    truth_say(c, "rod of %.2f m, %.0f deg, %.1f rad/s", 2.0 * (f64)half, 180.0 - top.tilt / DEGREE,
              top.turning);
    return top_run(&top, 20.0);
}

static f64 cone_energy(TruthCase *c)
{
    return conical_rod(c).energy;
}
static f64 cone_tilt(TruthCase *c)
{
    return conical_rod(c).tilt;
}

/* ---- pendulums ---- */

/* Change of the mean energy from the first seconds to the last, in percent of the total m g l,
 * as { loss, gain of the maximum }. With semi-implicit steps the measured energy oscillates with
 * the motion; its mean over several swings does not. */
typedef struct Drift {
    f64 loss, gain;
} Drift;

static Drift swing(TruthWorld *world, f64 seconds, f64 unit)
{
    u32 ticks = truth_world_ticks(world, seconds), window = ticks / 10;
    f64 sum[2] = {0.0, 0.0}, most = -1e30, first = -1e30;
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(world->rigid);
        f64 now = energy_of(world, GRAVITY);
        if (i < window) {
            sum[0] += now;
            first = fmax(first, now);
        } else if (i >= ticks - window) {
            sum[1] += now;
        }
        most = fmax(most, now);
    }
    rigid_destroy(world->rigid);
    return (Drift){100.0 * (sum[0] - sum[1]) / ((f64)window * unit), 100.0 * (most - first) / unit};
}

/* One to three bars, hung from each other, released at 90 degrees. */
static Drift bars(TruthCase *c, u32 count, f64 seconds)
{
    TruthWorld world = draw_fine(c, 3, GRAVITY);
    JointKind kind = truth_pick(c, 2) == 0 ? JOINT_BALL : JOINT_HINGE;
    f64 end = 0.0, unit = 0.0;
    f32 half_before = 0.0f;
    truth_say(c, "%u of %s:", count, kind == JOINT_BALL ? "ball" : "hinge");
    for (u32 i = 0; i < count; i++) {
        f32 half = truth_log_range(c, 0.1f, 1.0f), thick = half * truth_range(c, 0.03f, 0.3f);
        BodyDef def = body_of(box_of(half, thick, thick), truth_log_range(c, 0.3f, 3.0f));
        def.position = vec3((f32)end + half, 0.0f, 0.0f);
        u32 slot = kit_add(world.rigid, &def);
        join(&world, kind, (i32)i - 1, vec3(half_before, 0.0f, 0.0f), slot,
             vec3(-half, 0.0f, 0.0f));
        unit += (f64)def.mass_kg * GRAVITY * (end + (f64)half);
        end += 2.0 * (f64)half;
        half_before = half;
        truth_say(c, " %.2f m", 2.0 * (f64)half);
    }
    return swing(&world, seconds, unit);
}

static f64 pendulum_loss(TruthCase *c)
{
    return bars(c, 1, 600.0).loss;
}
static f64 pendulum_gain(TruthCase *c)
{
    return bars(c, 1, 120.0).gain;
}
static f64 double_loss(TruthCase *c)
{
    return bars(c, 2, 600.0).loss;
}
static f64 double_gain(TruthCase *c)
{
    return bars(c, 2 + truth_pick(c, 2), 60.0).gain;
}

/* ---- mechanisms ---- */

static u32 free_part(TruthWorld *world, TruthCase *c, Vec3 at)
{
    f32 x = truth_log_range(c, 0.05f, 0.5f), y = x * truth_log_range(c, 0.2f, 1.0f);
    f32 z = x * truth_log_range(c, 0.2f, 1.0f);
    BodyDef def = body_of(box_of(x, y, z), 8000.0f * x * y * z);
    def.orientation = truth_rotation(c);
    def.position = at;
    return kit_add(world->rigid, &def);
}

static void join_across(TruthWorld *world, TruthCase *c, u32 a, u32 b)
{
    static const JointKind kinds[] = {JOINT_BALL,      JOINT_HINGE,  JOINT_FIXED,
                                      JOINT_UNIVERSAL, JOINT_SLIDER, JOINT_DISTANCE,
                                      JOINT_CONE_TWIST};
    static const char *const names[] = {"ball",   "hinge", "fixed", "universal",
                                        "slider", "rod",   "cone"};
    u32 kind = truth_pick(c, PL_COUNT(kinds));
    Rigid *rigid = world->rigid;
    JointDef def = joint_def_default(kinds[kind]);
    def.a = rigid_at(rigid, a);
    def.b = rigid_at(rigid, b);
    Vec3 pa = rigid_centre(rigid, a), pb = rigid_centre(rigid, b), middle = vec3_lerp(pa, pb, 0.5f);
    Quat qa = rigid_orientation(rigid, a), qb = rigid_orientation(rigid, b);
    Quat frame = truth_rotation(c);
    def.frame_a = quat_mul(quat_conjugate(qa), frame);
    def.frame_b = quat_mul(quat_conjugate(qb), frame);
    if (kinds[kind] != JOINT_DISTANCE) {
        def.anchor_a = quat_rotate_inverse(qa, vec3_sub(middle, pa));
        def.anchor_b = quat_rotate_inverse(qb, vec3_sub(middle, pb));
    } else {
        def.lower = def.upper = vec3_distance(pa, pb);
    }
    if (kinds[kind] == JOINT_UNIVERSAL || kinds[kind] == JOINT_CONE_TWIST) {
        def.flags &= ~(u32)JOINT_LIMITS;
    }
    kit_join(rigid, &def);
    truth_say(c, " %s", names[kind]);
}

/* Bodies joined in a row fly without gravity, thrown with random spins of the parts. The joints
 * first remove incompatible motion; then energy and momenta are conserved. */
static KitFlight thrown(TruthCase *c)
{
    TruthWorld world = draw_fine(c, 4, 0.0);
    u32 count = 2 + truth_pick(c, 3);
    Vec3 at = vec3_zero();
    truth_say(c, "%u:", count);
    for (u32 i = 0; i < count; i++) {
        free_part(&world, c, at);
        if (i > 0) {
            join_across(&world, c, i - 1, i);
        }
        at = vec3_add_scaled(at, 0.5f, truth_direction(c));
    }
    return truth_world_throw(&world, c, count, 20.0);
}

static f64 thrown_energy(TruthCase *c)
{
    return thrown(c).gain;
}
static f64 thrown_loss(TruthCase *c)
{
    return thrown(c).loss;
}
static f64 thrown_momentum(TruthCase *c)
{
    return thrown(c).turning;
}

/* ---- limits ---- */

/* What the joints of a limb have besides limits. */
typedef enum LimbKind {
    LIMB_LIMITED,
    LIMB_DRY /* dry friction */
} LimbKind;

typedef struct Limb {
    TruthWorld world;
    f64 weight;  /* J: m g times distance from its start */
    f64 gravity; /* m/s^2 */
} Limb;

static void limb_joint(Limb *limb, TruthCase *c, LimbKind kind, JointDef *joint, f32 torque)
{
    bool hinge = truth_pick(c, 2) != 0;
    JointDef usual = joint_def_default(hinge ? JOINT_HINGE : JOINT_CONE_TWIST);
    usual.a = joint->a;
    usual.b = joint->b;
    usual.anchor_a = joint->anchor_a;
    usual.anchor_b = joint->anchor_b;
    *joint = usual;
    if (hinge) { /* about z */
        joint->frame_a = joint->frame_b = kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0);
    }
    joint->flags |= JOINT_LIMITS;
    joint->swing = truth_range(c, 10.0f, 90.0f) * (f32)DEGREE;
    joint->lower = -truth_range(c, 5.0f, 60.0f) * (f32)DEGREE;
    joint->upper = truth_range(c, 5.0f, 60.0f) * (f32)DEGREE;
    truth_say(c, " %s %.0f", hinge ? "hinge" : "cone", (f64)joint->swing / DEGREE);
    if (kind == LIMB_DRY && truth_pick(c, 4) != 0) {
        joint->friction = torque * truth_log_range(c, 0.003f, 0.1f);
        truth_say(c, " (%.2g N m)", (f64)joint->friction);
    }
    kit_join(limb->world.rigid, joint);
}

/* Boxes on cone-twist joints and hinges with limits, from the world or free; straight, so that all
 * joints are within theirs at first. */
static Limb limb_make(TruthCase *c, LimbKind kind, bool hangs, u32 count)
{
    Limb limb = {.world = draw_fine(c, LINKS_MAX, hangs ? GRAVITY : 0.0),
                 .gravity = hangs ? GRAVITY : 0.0};
    Rigid *rigid = limb.world.rigid;
    f32 half = truth_log_range(c, 0.05f, 0.3f), end = 0.0f;
    f32 angular_velocity = truth_range(c, 2.0f, 12.0f);
    truth_say(c, "%u %s of %.2f m,", count, hangs ? "hang" : "free", 2.0 * (f64)half);
    for (u32 i = 0; i < count; i++) {
        f32 thick = half * truth_range(c, 0.1f, 0.6f);
        BodyDef def = body_of(box_of(half, thick, thick), truth_log_range(c, 0.3f, 5.0f));
        def.position = vec3(end + half, 0.0f, 0.0f);
        def.angular_velocity = vec3_scale(truth_direction(c), angular_velocity);
        u32 slot = kit_add(rigid, &def);
        limb.weight += (f64)def.mass_kg * limb.gravity * (f64)(end + half);
        if (hangs || i > 0) {
            JointDef joint = {.b = rigid_at(rigid, slot), .anchor_b = vec3(-half, 0.0f, 0.0f)};
            if (i > 0) {
                joint.a = rigid_at(rigid, slot - 1);
                joint.anchor_a = vec3(half, 0.0f, 0.0f);
            }
            f32 turning = angular_velocity * angular_velocity + (f32)limb.gravity / half;
            limb_joint(&limb, c, kind, &joint, def.mass_kg * half * half * turning);
        }
        end += 2.0f * half;
    }
    truth_say(c, ", %.1f rad/s", (f64)angular_velocity);
    return limb;
}

/* Its largest rise above the least that it had, percent of the kinetic energy at first and of
 * m g l. */
static f64 limb_rise(Limb *limb, f64 seconds)
{
    for (u32 i = 0; i < 4; i++) {
        kit_tick(limb->world.rigid);
    }
    f64 least = energy_of(&limb->world, limb->gravity), rise = 0.0;
    f64 scale = kit_motion(limb->world.rigid).energy + limb->weight;
    for (u32 i = 0; i < truth_world_ticks(&limb->world, seconds); i++) {
        kit_tick(limb->world.rigid);
        f64 energy = energy_of(&limb->world, limb->gravity);
        rise = fmax(rise, energy - least);
        least = fmin(least, energy);
    }
    rigid_destroy(limb->world.rigid);
    return 100.0 * rise / scale;
}

static f64 limb_energy(TruthCase *c, LimbKind kind)
{
    bool hangs = truth_pick(c, 2) != 0;
    Limb limb = limb_make(c, kind, hangs, (hangs ? 1 : 2) + truth_pick(c, 3));
    return limb_rise(&limb, 10.0);
}

static f64 limited_energy(TruthCase *c)
{
    return limb_energy(c, LIMB_LIMITED);
}
static f64 dry_energy(TruthCase *c)
{
    return limb_energy(c, LIMB_DRY);
}
static f64 arm_energy(TruthCase *c)
{
    Limb limb = limb_make(c, LIMB_LIMITED, true, 2 + truth_pick(c, 39));
    return limb_rise(&limb, 5.0);
}

/* How far the joints of an arm are beyond their limits, as the way of its tip, of its length. */
static f64 arm_beyond(const Rigid *rigid, u32 count, f64 bend)
{
    f64 sum = 0.0;
    Vec3 before = vec3(1.0f, 0.0f, 0.0f);
    for (u32 i = 0; i < count; i++) {
        Vec3 along = quat_rotate(rigid_orientation(rigid, i), vec3(1.0f, 0.0f, 0.0f));
        f64 angle =
            atan2((f64)vec3_length(vec3_cross(before, along)), (f64)vec3_dot(before, along));
        sum += fmax(0.0, angle - bend) * (f64)(count - i) / (f64)count;
        before = along;
    }
    return sum;
}

/* What the joints of an arm are. */
typedef enum ArmKind {
    ARM_CONES,
    ARM_HINGES, /* about z */
    ARM_MIXED   /* either, at random */
} ArmKind;

static void arm_joint(Rigid *rigid, bool cone, u32 slot, f32 half, f32 bend)
{
    JointDef joint = joint_def_default(cone ? JOINT_CONE_TWIST : JOINT_HINGE);
    if (!cone) {
        joint.frame_a = joint.frame_b = kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0);
    }
    joint.flags |= JOINT_LIMITS;
    joint.swing = bend;
    joint.lower = -bend;
    joint.upper = bend;
    if (slot > 0) {
        joint.a = rigid_at(rigid, slot - 1);
        joint.anchor_a = vec3(half, 0.0f, 0.0f);
    }
    joint.b = rigid_at(rigid, slot);
    joint.anchor_b = vec3(-half, 0.0f, 0.0f);
    kit_join(rigid, &joint);
}

/* An arm of links, each of which bends by at most a given angle, falls until all joints are at
 * their limits. How far these give way at the end of 6 s, percent of its length. */
static f64 arm_falls(TruthCase *c, bool mixed)
{
    TruthWorld world = draw_fine(c, LINKS_MAX, GRAVITY);
    Rigid *rigid = world.rigid;
    u32 count = 2 + truth_pick(c, 39);
    f32 half = truth_log_range(c, 0.03f, 0.3f), thick = half * truth_range(c, 0.1f, 0.6f);
    f32 ratio = truth_log_range(c, 0.1f, 10.0f), mass = truth_log_range(c, 0.1f, 10.0f);
    f64 bend = (f64)truth_range(c, 5.0f, 80.0f) * DEGREE / (f64)count;
    ArmKind kind = mixed ? ARM_MIXED : (truth_pick(c, 2) != 0 ? ARM_CONES : ARM_HINGES);
    static const char *const names[] = {"cones", "hinges", "of both"};
    truth_say(c, "%u %s of %.2f m, %.2f deg each, last mass %.2f", count, names[kind],
              2.0 * (f64)half, bend / DEGREE, (f64)ratio);
    for (u32 i = 0; i < count; i++) {
        f32 share = count > 1 ? (f32)i / (f32)(count - 1) : 0.0f;
        BodyDef def = body_of(box_of(half, thick, thick), mass * powf(ratio, share));
        def.position = vec3((2.0f * (f32)i + 1.0f) * half, 0.0f, 0.0f);
        bool cone = kind == ARM_MIXED ? truth_pick(c, 2) != 0 : kind == ARM_CONES;
        arm_joint(rigid, cone, kit_add(rigid, &def), half, (f32)bend);
    }
    u32 ticks = truth_world_ticks(&world, 6.0);
    f64 worst = 0.0;
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(rigid);
        if (i + truth_world_ticks(&world, 0.5) >= ticks) {
            worst = fmax(worst, arm_beyond(rigid, count, bend));
        }
    }
    rigid_destroy(rigid);
    return 100.0 * worst;
}

static f64 arm_sag(TruthCase *c)
{
    return arm_falls(c, false);
}
static f64 arm_mixed(TruthCase *c)
{
    return arm_falls(c, true);
}

/* ---- chains ---- */

/* Elongation of a hanging chain after 4 s, percent. */
static f64 chain_of(TruthCase *c, JointKind kind, const char *name, bool mixed)
{
    TruthWorld world = draw_fine(c, LINKS_MAX, GRAVITY);
    static const JointKind kinds[] = {JOINT_BALL, JOINT_HINGE, JOINT_FIXED};
    u32 count = 10 + truth_pick(c, LINKS_MAX - 9);
    f32 half = truth_log_range(c, 0.03f, 0.2f), thick = half * truth_range(c, 0.1f, 0.4f);
    f32 mass = truth_log_range(c, 0.1f, 10.0f);
    truth_say(c, "%u links of %.2f m, %s", count, 2.0 * (f64)half, name);
    for (u32 i = 0; i < count; i++) {
        BodyDef def = body_of(box_of(thick, half, thick), mass);
        def.position = vec3(0.0f, -(2.0f * (f32)i + 1.0f) * half, 0.0f);
        u32 slot = kit_add(world.rigid, &def);
        join(&world, mixed ? kinds[truth_pick(c, PL_COUNT(kinds))] : kind, (i32)i - 1,
             i == 0 ? vec3_zero() : vec3(0.0f, -half, 0.0f), slot, vec3(0.0f, half, 0.0f));
    }
    for (u32 i = 0; i < truth_world_ticks(&world, 4.0); i++) {
        kit_tick(world.rigid);
    }
    f64 full = 2.0 * (f64)half * (f64)count;
    f64 depth = (f64)half - (f64)rigid_centre(world.rigid, count - 1).y;
    rigid_destroy(world.rigid);
    return 100.0 * (depth / full - 1.0);
}

static f64 ball_chain(TruthCase *c)
{
    return chain_of(c, JOINT_BALL, "ball", false);
}
static f64 hinge_chain(TruthCase *c)
{
    return chain_of(c, JOINT_HINGE, "hinge", false);
}
static f64 fixed_chain(TruthCase *c)
{
    return chain_of(c, JOINT_FIXED, "fixed", false);
}
static f64 mixed_chain(TruthCase *c)
{
    return chain_of(c, JOINT_BALL, "mixed", true);
}

/* Deflection of the tip of a beam of welded bodies, percent of its length. */
static f64 cantilever(TruthCase *c)
{
    TruthWorld world = draw_fine(c, 16, GRAVITY);
    u32 count = 2 + truth_pick(c, 15);
    f32 half = truth_log_range(c, 0.05f, 0.2f), thick = half * truth_range(c, 0.3f, 1.0f);
    truth_say(c, "%u of %.2f m, %.2f m thick", count, 2.0 * (f64)half, 2.0 * (f64)thick);
    for (u32 i = 0; i < count; i++) {
        BodyDef def = body_of(box_of(half, thick, thick), 1.0f);
        def.position = vec3((2.0f * (f32)i + 1.0f) * half, 0.0f, 0.0f);
        u32 slot = kit_add(world.rigid, &def);
        join(&world, JOINT_FIXED, (i32)i - 1, i == 0 ? vec3_zero() : vec3(half, 0.0f, 0.0f), slot,
             vec3(-half, 0.0f, 0.0f));
    }
    f64 worst = 0.0;
    for (u32 i = 0; i < truth_world_ticks(&world, 4.0); i++) {
        kit_tick(world.rigid);
        worst = fmax(worst, fabs((f64)rigid_centre(world.rigid, count - 1).y));
    }
    rigid_destroy(world.rigid);
    return 100.0 * worst / (2.0 * (f64)half * (f64)count);
}

/* ---- springs ---- */

/* A body on an undamped spring, of a distance joint, a slider or a hinge; the world's energy
 * does not feed the oscillation. Percent of its energy, means of the first and the last tenth:
 * the measured energy oscillates within a period. With about two samples per period aliasing
 * beats last a second and more: the means use Hann windows so that partial beats do not count. */
static f64 spring_drift(TruthCase *c)
{
    static const JointKind kinds[] = {JOINT_SPRING, JOINT_SLIDER, JOINT_HINGE};
    static const char *const names[] = {"line", "slider", "hinge"};
    TruthWorld world = draw_world(c, 1, 0.0);
    u32 kind = truth_pick(c, PL_COUNT(kinds));
    f64 h = 1.0 / (world.rate * (f64)world.substeps);
    /* Limited by accuracy: ω h < 0.5. */
    f32 frequency = truth_log_range(c, 0.3f, (f32)fmin(20.0, 0.07 / h));
    f32 stretch = truth_range(c, 0.05f, 0.3f);
    BodyDef def = body_of(box_of(0.1f, 0.1f, 0.1f), truth_log_range(c, 0.1f, 10.0f));
    def.position = vec3(kinds[kind] == JOINT_HINGE ? 0.5f : 1.0f, 0.0f, 0.0f);
    u32 slot = kit_add(world.rigid, &def);
    JointDef joint = joint_def_default(kinds[kind]);
    joint.b = rigid_at(world.rigid, slot);
    joint.flags |= JOINT_SPRUNG;
    joint.frequency = frequency;
    joint.damping = 0.0f;
    if (kinds[kind] == JOINT_HINGE) {
        joint.frame_a = joint.frame_b = kit_rotation(vec3(0.0f, 1.0f, 0.0f), -90.0);
        joint.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
        joint.rest = stretch;
    } else {
        joint.rest = 1.0f - stretch;
    }
    u32 spring = kit_join(world.rigid, &joint);
    truth_say(c, "%s of %.2f Hz", names[kind], (f64)frequency);
    u32 window = truth_world_ticks(&world, 6.0), ticks = 10 * window;
    f64 first = 0.0, last = 0.0, omega = 360.0 * DEGREE * (f64)frequency;
    f64 mass = (f64)def.mass_kg;
    if (kinds[kind] == JOINT_HINGE) {
        mass = 0.25 * mass + (f64)rigid_inertia(world.rigid, slot).zz;
    }
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(world.rigid);
        f64 x = (f64)rigid_joint_value(world.rigid, spring) - (f64)joint.rest;
        f64 now = kit_motion(world.rigid).energy + 0.5 * mass * omega * omega * x * x;
        f64 fade = sin(180.0 * DEGREE * ((f64)(i % window) + 0.5) / (f64)window);
        first += i < window ? now * fade * fade : 0.0;
        last += i >= 9 * window ? now * fade * fade : 0.0;
    }
    rigid_destroy(world.rigid);
    return 100.0 * fabs(last / first - 1.0);
}

/* Frequency and decay of a damped spring of a distance joint or a slider against the requested
 * values: the larger error, percent (for the decay: of the damping ratio, and of 1 at most). */
static f64 spring_wave(TruthCase *c)
{
    static const JointKind kinds[] = {JOINT_SPRING, JOINT_SLIDER};
    TruthWorld world = draw_world(c, 2, 0.0);
    u32 kind = truth_pick(c, PL_COUNT(kinds));
    f64 h = 1.0 / (world.rate * (f64)world.substeps);
    /* Ten samples per period are needed to measure it. */
    f32 most = (f32)fmin(fmin(20.0, 0.15 / h), world.rate / 10.0);
    f32 frequency = truth_log_range(c, 0.3f, most), damping = truth_range(c, 0.0f, 0.3f);
    Shape shape = box_of(0.1f, 0.1f, 0.1f);
    BodyDef one = body_of(shape, truth_log_range(c, 0.1f, 10.0f));
    BodyDef other = body_of(shape, truth_log_range(c, 0.1f, 10.0f));
    other.position = vec3(1.0f, 0.0f, 0.0f);
    JointDef joint = joint_def_default(kinds[kind]);
    joint.a = rigid_at(world.rigid, kit_add(world.rigid, &one));
    joint.b = rigid_at(world.rigid, kit_add(world.rigid, &other));
    joint.flags |= JOINT_SPRUNG;
    joint.frequency = frequency;
    joint.damping = damping;
    joint.rest = 0.7f;
    u32 slot = kit_join(world.rigid, &joint);
    truth_say(c, "%s of %.2f Hz, damped %.3f", kind == 0 ? "line" : "slider", (f64)frequency,
              (f64)damping);
    /* Three samples of a decaying sinusoid: x₂ − 2 e cos φ x₁ + e² x₀ = 0. Least squares. */
    f64 x[3] = {0.0, 0.0, 0.0}, m[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    u32 ticks = truth_world_ticks(&world, 4.0 / (f64)frequency);
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(world.rigid);
        x[0] = x[1];
        x[1] = x[2];
        x[2] = (f64)rigid_joint_value(world.rigid, slot) - 0.7f;
        if (i > 2) {
            m[0] += x[1] * x[1];
            m[1] += x[1] * x[0];
            m[2] += x[0] * x[0];
            m[3] += x[2] * x[1];
            m[4] += x[2] * x[0];
        }
    }
    f64 det = m[0] * m[2] - m[1] * m[1];
    f64 p = (m[3] * m[2] - m[4] * m[1]) / det, q = (m[4] * m[0] - m[3] * m[1]) / det;
    f64 rate = -0.5 * log(-q) * world.rate;                      /* ζ ω */
    f64 turn = acos(fmin(1.0, 0.5 * p / sqrt(-q))) * world.rate; /* ω √(1 − ζ²) */
    f64 omega = sqrt(rate * rate + turn * turn), asked = 360.0 * DEGREE * (f64)frequency;
    rigid_destroy(world.rigid);
    return 100.0 * fmax(fabs(omega / asked - 1.0), fabs(rate / omega - (f64)damping));
}

const TruthLaw truth_motion[] = {
    {"motion/free_spin", "energy and angular momentum of a freely rotating body, 20 s", "%", 0.1,
     40, 1000, free_spin},
    {"motion/t_handle", "the same of one that flips, 10 min", "%", 0.1, 2, 40, t_handle},
    {"motion/parabola", "a projectile against its parabola, 2 s", "um", 10.0, 60, 3000, parabola},
    {"motion/top_energy", "energy of a heavy top, 10 s, of m g l", "%", 1.0, 20, 1000, top_energy},
    {"motion/top_tilt", "steady precession keeps its angle, 10 s (goal: 1)", "deg", 1.5, 20, 1000,
     top_tilt},
    {"motion/top_turning", "and its rate", "%", 1.0, 20, 1000, top_turning},
    {"motion/cone_energy", "energy of a rod on a cone, 20 s, of m g l", "%", 1.0, 20, 1000,
     cone_energy},
    {"motion/cone_tilt", "the cone keeps its angle, 20 s", "deg", 1.0, 20, 1000, cone_tilt},
    {"motion/pendulum_loss", "mean energy of a bar from 90 degrees, 10 min, of m g l", "%", 1.0, 2,
     100, pendulum_loss},
    {"motion/pendulum_gain", "gain of the maximum over that of the first swings, 2 min", "%", 0.1,
     4, 200, pendulum_gain},
    {"motion/double_loss", "two bars, 10 min", "%", 3.0, 2, 60, double_loss},
    {"motion/double_gain", "two or three bars, 1 min", "%", 0.1, 6, 200, double_gain},
    {"motion/thrown_energy", "bodies joined in a row gain no energy, 20 s", "%", 0.2, 10, 300,
     thrown_energy},
    {"motion/thrown_loss", "and lose little energy (1 of 1500 loses 1.5)", "%", 1.0, 10, 300,
     thrown_loss},
    {"motion/thrown_momentum", "and keep their angular momentum (goal: 0.1)", "%", 0.3, 10, 300,
     thrown_momentum},
    {"motion/limited_energy", "nor do limbs whose joints have limits, 10 s", "%", 2.5, 20, 600,
     limited_energy},
    {"motion/dry_energy", "nor if they have dry friction, 10 s", "%", 2.5, 20, 600, dry_energy},
    {"motion/arm_energy", "nor arms of up to 40 joints with limits, 5 s (goal: 2.5)", "%", 7.0, 6,
     300, arm_energy},
    {"motion/arm_sag", "such an arm rests at the angles of its limits, of its length", "%", 1.0, 4,
     300, arm_sag},
    {"motion/arm_mixed", "nor one of hinges and cones (28 of 60 give way)", "%", 1.0, 0, 60,
     arm_mixed},
    {"motion/ball_chain", "elongation of a hanging chain of ball joints", "%", 0.2, 6, 200,
     ball_chain},
    {"motion/hinge_chain", "the same of hinges", "%", 0.2, 6, 200, hinge_chain},
    {"motion/fixed_chain", "the same of fixed joints", "%", 0.2, 6, 200, fixed_chain},
    {"motion/mixed_chain", "the same of all three", "%", 0.2, 6, 200, mixed_chain},
    {"motion/cantilever", "the tip of bodies welded in a row, of its length", "%", 0.5, 10, 300,
     cantilever},
    {"motion/spring", "energy of an undamped spring, 1 min (goal: 1)", "%", 1.2, 20, 500,
     spring_drift},
    {"motion/spring_wave", "frequency and damping ratio of a spring", "%", 0.5, 20, 500,
     spring_wave},
    {.name = NULL},
};
