/* test_joint.c: joints against textbook results. */
#include "shared/math/trig.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define PI 3.14159265358979

static const Vec3 earth = {0.0f, -9.81f, 0.0f};

static BodyId add(Rigid *rigid, Shape shape, Vec3 position, f32 mass)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.position = position;
    def.mass_kg = mass;
    def.motion = mass > 0.0f ? BODY_DYNAMIC : BODY_STATIC;
    BodyId id = rigid_add(rigid, &def);
    assert_int_not_equal(id.generation, 0);
    return id;
}
static Shape box(f32 x, f32 y, f32 z)
{
    return (Shape){.kind = SHAPE_BOX, .half = {x, y, z}};
}
/* The rotation of x to the given unit vector. */
static Quat frame_along(Vec3 to)
{
    Vec3 x = vec3(1.0f, 0.0f, 0.0f), c = vec3_cross(x, to);
    return quat_normalize((Quat){1.0f + vec3_dot(x, to), c.x, c.y, c.z});
}
/* A hinge about z between the world at the origin and a point of b. */
static JointDef hinge_at_origin(BodyId b, Vec3 anchor_b)
{
    JointDef def = joint_def_default(JOINT_HINGE);
    def.b = b;
    def.anchor_b = anchor_b;
    def.frame_a = frame_along(vec3(0.0f, 0.0f, 1.0f));
    def.frame_b = def.frame_a;
    return def;
}

static Vec3 turned_by(Symmetric3 inertia, Vec3 angular_velocity)
{
    return symmetric_mul(&inertia, angular_velocity);
}
static f64 energy(const Rigid *rigid, u32 slot, f64 gravity)
{
    Vec3 v = rigid_velocity(rigid, slot);
    Vec3 w =
        quat_rotate_inverse(rigid_orientation(rigid, slot), rigid_angular_velocity(rigid, slot));
    f64 m = (f64)rigid_mass(rigid, slot);
    return 0.5 * m * (f64)vec3_dot(v, v) +
           0.5 * (f64)vec3_dot(w, turned_by(rigid_inertia(rigid, slot), w)) +
           m * gravity * (f64)rigid_position(rigid, slot).y;
}

/* ---- pendulums ---- */

static f64 mean_of_agm(f64 a, f64 b)
{
    for (u32 i = 0; i < 40; i++) {
        f64 mean = 0.5 * (a + b);
        b = sqrt(a * b);
        a = mean;
    }
    return a;
}

/* Period of a rod of 1 m swinging about its end, released at the amplitude: from the crossings
 * of the lowest point. */
static f64 rod_period(f32 amplitude, u32 substeps)
{
    Rigid *rigid = kit_joint_world(earth, substeps, 2);
    BodyDef def = body_def_default();
    def.shape = box(0.05f, 0.5f, 0.05f);
    def.orientation = kit_rotation_z(amplitude);
    def.position = vec3(0.5f * trig_sin_f32(amplitude), -0.5f * trig_cos_f32(amplitude), 0.0f);
    def.mass_kg = 2.0f;
    BodyId rod = rigid_add(rigid, &def);
    JointDef hinge = hinge_at_origin(rod, vec3(0.0f, 0.5f, 0.0f));
    u32 joint = kit_join(rigid, &hinge);
    f64 first = 0.0, last = 0.0, before = (f64)amplitude;
    u32 crossings = 0;
    for (u32 i = 1; i < 900; i++) {
        kit_tick_awake(rigid);
        f64 angle = (f64)rigid_joint_value(rigid, joint);
        if (before * angle <= 0.0 && before != 0.0) {
            last = ((f64)(i - 1) + before / (before - angle)) / 60.0;
            first = crossings == 0 ? last : first;
            crossings++;
        }
        before = angle;
    }
    rigid_destroy(rigid);
    assert_true(crossings > 3);
    return 2.0 * (last - first) / (f64)(crossings - 1);
}

/* T = 2π √(I / (m g l)) / agm(1, cos(θ/2)), I about the end: (h² + w²)/12 + l² per kg. */
static f64 rod_period_exact(f64 amplitude)
{
    f64 inertia = (1.0 + 0.01) / 12.0 + 0.25;
    return 2.0 * PI * sqrt(inertia / (9.81 * 0.5)) / mean_of_agm(1.0, cos(0.5 * amplitude));
}

static void test_pendulum_period(void **state)
{
    (void)state;
    static const f32 amplitudes[] = {0.05f, 1.0f, 2.0f, 2.8f};
    for (u32 i = 0; i < PL_COUNT(amplitudes); i++) {
        f64 exact = rod_period_exact((f64)amplitudes[i]);
        f64 fine = rod_period(amplitudes[i], 16), coarse = rod_period(amplitudes[i], 4);
        printf("amplitude %.2f rad: exact %.5f s, 16 substeps %.5f s, 4 substeps %.5f s\n",
               (f64)amplitudes[i], exact, fine, coarse);
        assert_true(fabs(fine - exact) < 0.005 * exact);
        /* Near the top a loss of half a percent of energy is visible. */
        assert_true(fabs(coarse - exact) < (amplitudes[i] < 2.5f ? 0.005 : 0.03) * exact);
    }
}

/* The largest energy in a swing (with semi-implicit steps the measured energy oscillates by g h
 * v m / 2): never larger than at first, and 98 % of it left after 10 s. */
static void test_pendulum_energy(void **state)
{
    (void)state;
    for (u32 kind = 0; kind < 2; kind++) {
        Rigid *rigid = kit_joint_world(earth, 4, 2);
        BodyId bob = add(rigid, kit_ball_shape(0.1f), vec3(1.0f, 0.0f, 0.0f), 1.0f);
        JointDef def = hinge_at_origin(bob, vec3(-1.0f, 0.0f, 0.0f));
        def.kind = kind ? JOINT_HINGE : JOINT_BALL;
        u32 joint = kit_join(rigid, &def);
        f64 swing = 9.81, first = -1e9, last = -1e9, error = 0.0;
        for (u32 i = 0; i < 600; i++) {
            kit_tick_awake(rigid);
            f64 now = energy(rigid, bob.slot, 9.81);
            first = i < 150 ? fmax(first, now) : first;
            last = i >= 450 ? fmax(last, now) : last;
            assert_true(i < 150 || now <= first + 1e-4 * swing);
            error = fmax(error, (f64)rigid_joint_error(rigid, joint));
        }
        printf("pendulum %s: energy at first %+.4f, after 10 s %+.4f of a swing, error %.2f mm\n",
               kind ? "hinge" : "ball", first / swing, last / swing, error * 1e3);
        assert_true(last > first - 0.02 * swing);
        assert_true(error < 0.003);
        rigid_destroy(rigid);
    }
}

/* ---- limits and motors ---- */

static void test_hinge_limit_holds_load(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 2);
    BodyId arm = add(rigid, box(0.5f, 0.05f, 0.05f), vec3(0.5f, 0.0f, 0.0f), 10.0f);
    JointDef def = hinge_at_origin(arm, vec3(-0.5f, 0.0f, 0.0f));
    def.flags |= JOINT_LIMITS;
    def.lower = -0.5f;
    def.upper = 0.25f;
    u32 joint = kit_join(rigid, &def);
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
        f32 angle = rigid_joint_value(rigid, joint);
        assert_true(angle > -0.5f - 0.03f && angle < 0.28f);
    }
    f32 rest = rigid_joint_value(rigid, joint);
    /* The limit carries the moment of the weight about the hinge. */
    f32 moment = rigid_joint_torque(rigid, joint).z, exact = 10.0f * 9.81f * 0.5f * cosf(rest);
    printf("limit: angle %.4f rad, moment %.3f of %.3f N m\n", (f64)rest, (f64)moment, (f64)exact);
    assert_true(fabsf(rest + 0.5f) < 0.01f);
    assert_true(fabsf(moment - exact) < 0.01f * exact);
    assert_true(fabsf(rigid_joint_force(rigid, joint).y - 98.1f) < 1.0f);
    rigid_destroy(rigid);
}

static void test_hinge_motor(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
    BodyId wheel = add(rigid, box(0.5f, 0.5f, 0.1f), vec3_zero(), 6.0f);
    JointDef def = hinge_at_origin(wheel, vec3_zero());
    def.flags |= JOINT_DRIVE;
    def.speed = 10.0f;
    def.force_max = 4.0f;
    u32 joint = kit_join(rigid, &def);
    /* I = 6 (1 + 1)/12 = 1 kg m², so 4 rad/s² until 10 rad/s at 2.5 s. */
    for (u32 i = 1; i <= 240; i++) {
        kit_tick_awake(rigid);
        f32 expected = f32_min(4.0f * (f32)i / 60.0f, 10.0f),
            angular_velocity = rigid_angular_velocity(rigid, wheel.slot).z;
        assert_true(fabsf(angular_velocity - expected) < 0.02f);
        assert_true(fabsf(rigid_joint_torque(rigid, joint).z) < 4.0f * 1.001f);
    }
    rigid_destroy(rigid);
}

static void test_slider_motor_and_limit(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 2);
    BodyId cart = add(rigid, box(0.2f, 0.2f, 0.2f), vec3_zero(), 2.0f);
    JointDef def = joint_def_default(JOINT_SLIDER);
    def.b = cart;
    def.flags |= JOINT_DRIVE | JOINT_LIMITS;
    def.lower = -1.0f;
    def.upper = 1.0f;
    def.speed = 2.0f;
    def.force_max = 8.0f;
    u32 joint = kit_join(rigid, &def);
    for (u32 i = 1; i <= 30; i++) {
        kit_tick_awake(rigid);
        f32 expected = f32_min(4.0f * (f32)i / 60.0f, 2.0f);
        assert_true(fabsf(rigid_velocity(rigid, cart.slot).x - expected) < 0.01f);
    }
    for (u32 i = 0; i < 120; i++) {
        kit_tick_awake(rigid);
        assert_true(rigid_joint_value(rigid, joint) < 1.01f);
    }
    assert_true(fabsf(rigid_joint_value(rigid, joint) - 1.0f) < 0.005f);
    /* The track carries the weight, and there is no rotation. */
    assert_true(fabsf(rigid_position(rigid, cart.slot).y) < 0.001f);
    assert_true(fabsf(rigid_joint_force(rigid, joint).y - 2.0f * 9.81f) < 0.2f);
    rigid_destroy(rigid);
}

/* ---- springs ---- */

typedef struct Wave {
    f64 period, ratio; /* s; ratio of successive extremes of the same side */
} Wave;

/* Of the joint's value about `middle`. */
static Wave measure(Rigid *rigid, u32 joint, f64 middle, u32 ticks)
{
    f64 first = 0.0, last = 0.0, before = (f64)rigid_joint_value(rigid, joint) - middle,
        older = before;
    f64 peak_first = 0.0, peak_last = 0.0;
    u32 crossings = 0, peaks = 0;
    for (u32 i = 1; i < ticks; i++) {
        kit_tick_awake(rigid);
        f64 x = (f64)rigid_joint_value(rigid, joint) - middle;
        if (before * x <= 0.0 && before != 0.0) {
            last = ((f64)(i - 1) + before / (before - x)) / 60.0;
            first = crossings == 0 ? last : first;
            crossings++;
        }
        if (before >= older && before > x && before > 0.0) {
            /* Vertex of the parabola through three samples. */
            f64 bend = older - 2.0 * before + x, slope = 0.5 * (x - older);
            f64 peak = before - 0.5 * slope * slope / bend;
            peak_last = peak;
            peak_first = peaks == 0 ? peak : peak_first;
            peaks++;
        }
        older = before;
        before = x;
    }
    assert_true(crossings > 3 && peaks > 2);
    return (Wave){2.0 * (last - first) / (f64)(crossings - 1),
                  pow(peak_last / peak_first, 1.0 / (f64)(peaks - 1))};
}

static void check_spring(const char *name, Rigid *rigid, u32 joint, f64 middle, f64 frequency,
                         f64 damping)
{
    Wave wave = measure(rigid, joint, middle, 600);
    f64 root = sqrt(1.0 - damping * damping);
    f64 period = 1.0 / (frequency * root), ratio = exp(-2.0 * PI * damping / root);
    printf("%s: period %.4f of %.4f s, decay %.4f of %.4f\n", name, wave.period, period, wave.ratio,
           ratio);
    assert_true(fabs(wave.period - period) < 0.01 * period);
    assert_true(fabs(wave.ratio - ratio) < 0.02);
    rigid_destroy(rigid);
}

static void test_slider_spring(void **state)
{
    (void)state;
    static const f32 damping[] = {0.0f, 0.1f};
    for (u32 i = 0; i < PL_COUNT(damping); i++) {
        /* Between two bodies, to test the reduced mass; anchors off the centres. */
        Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
        BodyId a = add(rigid, box(0.1f, 0.1f, 0.1f), vec3_zero(), 3.0f);
        BodyId b = add(rigid, box(0.1f, 0.1f, 0.1f), vec3(1.5f, 0.0f, 0.0f), 1.0f);
        JointDef def = joint_def_default(JOINT_SLIDER);
        def.a = a;
        def.b = b;
        def.flags |= JOINT_SPRUNG;
        def.frequency = 1.5f;
        def.damping = damping[i];
        def.rest = 1.0f;
        check_spring("slider", rigid, kit_join(rigid, &def), 1.0, 1.5, (f64)damping[i]);
    }
}

/* The spring of a hinge has its frequency about the hinge, for an eccentric mass. */
static void test_hinge_spring(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
    BodyId arm = add(rigid, box(0.5f, 0.05f, 0.05f), vec3(0.5f, 0.0f, 0.0f), 2.0f);
    JointDef def = hinge_at_origin(arm, vec3(-0.5f, 0.0f, 0.0f));
    def.flags |= JOINT_SPRUNG;
    def.frequency = 2.0f;
    def.damping = 0.05f;
    def.rest = 0.3f;
    check_spring("hinge", rigid, kit_join(rigid, &def), 0.3, 2.0, 0.05);
}

static void test_line_spring(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
    BodyId a = add(rigid, kit_ball_shape(0.1f), vec3_zero(), 1.0f);
    BodyId b = add(rigid, kit_ball_shape(0.1f), vec3(0.0f, 2.3f, 0.0f), 1.0f);
    JointDef def = joint_def_default(JOINT_SPRING);
    def.a = a;
    def.b = b;
    def.frequency = 1.0f;
    def.damping = 0.02f;
    def.rest = 2.0f;
    check_spring("spring", rigid, kit_join(rigid, &def), 2.0, 1.0, 0.02);
}

/* A spring far stiffer than the substeps resolve must be stable. */
static void test_stiff_spring_is_stable(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 2);
    BodyId b = add(rigid, kit_ball_shape(0.1f), vec3(0.0f, -1.2f, 0.0f), 1.0f);
    JointDef def = joint_def_default(JOINT_SPRING);
    def.b = b;
    def.frequency = 5000.0f;
    def.damping = 0.0f;
    def.rest = 1.0f;
    u32 joint = kit_join(rigid, &def);
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
        assert_true(fabsf(rigid_joint_value(rigid, joint) - 1.0f) < 0.25f);
    }
    assert_true(fabsf(rigid_joint_value(rigid, joint) - 1.0f) < 0.001f);
    rigid_destroy(rigid);
}

/* ---- rope, rod, cone, cardan ---- */

static void test_rope_and_rod(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 4);
    BodyId bob = add(rigid, kit_ball_shape(0.1f), vec3(0.0f, -0.5f, 0.0f), 2.0f);
    JointDef rope = joint_def_default(JOINT_DISTANCE);
    rope.b = bob;
    rope.upper = 2.0f;
    u32 joint = kit_join(rigid, &rope);
    BodyId other = add(rigid, kit_ball_shape(0.1f), vec3(5.0f, 1.0f, 0.0f), 2.0f);
    JointDef rod = joint_def_default(JOINT_DISTANCE);
    rod.anchor_a = vec3(5.0f, 0.0f, 0.0f);
    rod.b = other;
    rod.lower = 1.0f;
    rod.upper = 1.0f;
    u32 stiff = kit_join(rigid, &rod);
    rigid_set_velocity(rigid, other.slot, vec3(0.1f, 0.0f, 0.0f), vec3_zero());
    /* Slack for √(2·1.5/9.81) = 0.553 s: a free fall. */
    for (u32 i = 1; i <= 30; i++) {
        kit_tick_awake(rigid);
        f32 t = (f32)i / 60.0f;
        assert_true(fabsf(rigid_position(rigid, bob.slot).y + 0.5f + 4.905f * t * t) < 0.02f);
        assert_true(vec3_length(rigid_joint_force(rigid, joint)) < 1e-6f);
    }
    f32 longest = 0.0f;
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
        longest = f32_max(longest, rigid_joint_value(rigid, joint));
        f32 length = rigid_joint_value(rigid, stiff);
        assert_true(length > 0.99f && length < 1.01f);
    }
    printf("rope: longest %.4f of 2 m, force %.3f of 19.62 N\n", (f64)longest,
           (f64)rigid_joint_force(rigid, joint).y);
    assert_true(longest < 2.01f);
    assert_true(fabsf(rigid_joint_force(rigid, joint).y - 19.62f) < 0.1f);
    rigid_destroy(rigid);
}

static void test_cone_limit(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(earth, 4, 2);
    /* An arm held along x by a cone of 0.6 rad: it sinks to the cone limit and stays there. */
    BodyId arm = add(rigid, box(0.5f, 0.05f, 0.05f), vec3(0.5f, 0.0f, 0.0f), 5.0f);
    JointDef def = joint_def_default(JOINT_CONE_TWIST);
    def.b = arm;
    def.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
    def.flags |= JOINT_LIMITS;
    def.swing = 0.6f;
    def.lower = -0.2f;
    def.upper = 0.4f;
    u32 joint = kit_join(rigid, &def);
    rigid_set_velocity(rigid, arm.slot, vec3_zero(), vec3(8.0f, 1.0f, 0.0f));
    f64 widest = 0.0, most = 0.0;
    for (u32 i = 0; i < 600; i++) {
        kit_tick_awake(rigid);
        Vec3 x = quat_rotate(rigid_orientation(rigid, arm.slot), vec3(1.0f, 0.0f, 0.0f));
        widest = fmax(widest, acos((f64)x.x));
        most = fmax(most, fabs((f64)rigid_joint_value(rigid, joint) - 0.1));
        /* Drag, to bring it to rest. */
        Vec3 w = rigid_angular_velocity(rigid, arm.slot);
        rigid_set_velocity(rigid, arm.slot, vec3_scale(rigid_velocity(rigid, arm.slot), 0.97f),
                           vec3_scale(w, 0.97f));
    }
    Vec3 x = quat_rotate(rigid_orientation(rigid, arm.slot), vec3(1.0f, 0.0f, 0.0f));
    printf("cone: widest %.4f, at rest %.4f of 0.6 rad; twist out to %.4f of 0.3\n", widest,
           acos((f64)x.x), most);
    assert_true(widest < 0.65 && most < 0.35);
    assert_true(fabs(acos((f64)x.x) - 0.6) < 0.01);
    rigid_destroy(rigid);
}

/* Two shafts at an angle β: the second rotates at cos β / (1 − sin²β cos²θ) times the first's
 * speed. */
static void test_universal_ratio(void **state)
{
    (void)state;
    const f32 bend = 0.5f;
    Rigid *rigid = kit_joint_world(vec3_zero(), 8, 4);
    Vec3 along = vec3(sinf(bend), 0.0f, cosf(bend));
    /* The shafts lie along their local z. */
    BodyId a = add(rigid, box(0.05f, 0.05f, 0.5f), vec3(0.0f, 0.0f, -0.5f), 1.0f);
    BodyDef def = body_def_default();
    def.shape = box(0.05f, 0.05f, 0.5f);
    def.position = vec3_scale(along, 0.5f);
    def.orientation = (Quat){cosf(0.5f * bend), 0.0f, sinf(0.5f * bend), 0.0f};
    BodyId b = rigid_add(rigid, &def);
    JointDef bearing = joint_def_default(JOINT_HINGE);
    bearing.frame_a = frame_along(vec3(0.0f, 0.0f, 1.0f));
    bearing.frame_b = bearing.frame_a;
    bearing.anchor_a = vec3(0.0f, 0.0f, -0.5f);
    bearing.b = a;
    bearing.flags |= JOINT_DRIVE;
    bearing.speed = 2.0f;
    kit_join(rigid, &bearing);
    bearing.flags &= ~(u32)JOINT_DRIVE;
    bearing.anchor_a = def.position;
    bearing.b = b;
    bearing.frame_a = frame_along(along);
    kit_join(rigid, &bearing);
    JointDef cardan = joint_def_default(JOINT_UNIVERSAL);
    cardan.a = a;
    cardan.anchor_a = vec3(0.0f, 0.0f, 0.5f);
    cardan.b = b;
    cardan.anchor_b = vec3(0.0f, 0.0f, -0.5f);
    kit_join(rigid, &cardan);
    for (u32 i = 0; i < 120; i++) {
        kit_tick_awake(rigid);
    }
    f64 worst = 0.0;
    for (u32 i = 0; i < 240; i++) {
        kit_tick_awake(rigid);
        /* θ: of a's arm of the cross (x) from the normal of the plane of both shafts (y). */
        Vec3 x = quat_rotate(rigid_orientation(rigid, a.slot), vec3(1.0f, 0.0f, 0.0f));
        f64 c = (f64)x.y, s = sin((f64)bend);
        f64 expected = cos((f64)bend) / (1.0 - s * s * (1.0 - c * c));
        f64 ratio = (f64)vec3_dot(rigid_angular_velocity(rigid, b.slot), along) /
                    (f64)rigid_angular_velocity(rigid, a.slot).z;
        worst = fmax(worst, fabs(ratio - expected));
    }
    printf("cardan: speed ratio off by at most %.4f (it swings between %.3f and %.3f)\n", worst,
           cos((f64)bend), 1.0 / cos((f64)bend));
    assert_true(worst < 0.02);
    rigid_destroy(rigid);
}

static void test_motor_joint(void **state)
{
    (void)state;
    Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
    BodyId b = add(rigid, box(0.5f, 0.5f, 0.5f), vec3_zero(), 6.0f);
    JointDef def = joint_def_default(JOINT_MOTOR);
    def.b = b;
    def.motor_velocity = vec3(3.0f, 0.0f, 0.0f);
    def.motor_angular_velocity = vec3(0.0f, 2.0f, 0.0f);
    def.force_max = 12.0f;
    def.torque_max = 1.0f; /* I = 1 kg m² */
    kit_join(rigid, &def);
    for (u32 i = 1; i <= 150; i++) {
        kit_tick_awake(rigid);
        f32 t = (f32)i / 60.0f;
        assert_true(fabsf(rigid_velocity(rigid, b.slot).x - f32_min(2.0f * t, 3.0f)) < 0.1f ||
                    t > 0.5f);
        assert_true(fabsf(rigid_angular_velocity(rigid, b.slot).y - f32_min(t, 2.0f)) < 0.05f);
    }
    rigid_destroy(rigid);
    /* With a frequency it holds the pose against gravity, sagging by g / ω². */
    rigid = kit_joint_world(earth, 4, 2);
    b = add(rigid, box(0.5f, 0.5f, 0.5f), vec3_zero(), 6.0f);
    def = joint_def_default(JOINT_MOTOR);
    def.b = b;
    def.frequency = 2.0f;
    def.damping = 1.0f;
    kit_join(rigid, &def);
    for (u32 i = 0; i < 300; i++) {
        kit_tick_awake(rigid);
    }
    f32 sag = 9.81f / (4.0f * (f32)(PI * PI) * 4.0f);
    assert_true(fabsf(rigid_position(rigid, b.slot).y + sag) < 0.02f * sag);
    rigid_destroy(rigid);
}

/* ---- breaking ---- */

/* A joint with a limit of 100 N holds 9 kg and drops 11 kg. */
static void test_breaks_at_its_force(void **state)
{
    (void)state;
    static const JointKind kinds[] = {JOINT_BALL, JOINT_FIXED, JOINT_DISTANCE, JOINT_SLIDER};
    for (u32 k = 0; k < PL_COUNT(kinds) * 2; k++) {
        f32 mass = k % 2 ? 11.0f : 9.0f;
        Rigid *rigid = kit_joint_world(earth, 4, 2);
        BodyId b = add(rigid, kit_ball_shape(0.2f), vec3(0.0f, -1.0f, 0.0f), mass);
        JointDef def = joint_def_default(kinds[k / 2]);
        def.b = b;
        if (kinds[k / 2] == JOINT_DISTANCE) {
            def.lower = def.upper = 1.0f;
        } else {
            def.anchor_a = vec3(0.0f, -1.0f, 0.0f);
        }
        def.break_force = 100.0f;
        u32 joint = kit_join(rigid, &def), count = 0, broken = 0;
        for (u32 i = 0; i < 60; i++) {
            kit_tick_awake(rigid);
            const JointBreak *breaks = rigid_joint_breaks(rigid, &count);
            if (count > 0) {
                broken++;
                assert_int_equal(breaks[0].slot, joint);
                assert_int_equal(breaks[0].b, b.slot);
                assert_true(breaks[0].force > 100.0f && breaks[0].force < 115.0f);
            }
        }
        assert_int_equal(broken, k % 2);
        assert_int_equal(rigid_joint_at(rigid, joint).generation == 0, k % 2);
        rigid_destroy(rigid);
    }
}

/* A weld carries m g l: 5 kg on an arm of 0.5 m are 24.5 N m. */
static void test_breaks_at_its_torque(void **state)
{
    (void)state;
    for (u32 k = 0; k < 2; k++) {
        Rigid *rigid = kit_joint_world(earth, 4, 2);
        BodyId b = add(rigid, box(0.5f, 0.05f, 0.05f), vec3(0.5f, 0.0f, 0.0f), 5.0f);
        JointDef def = joint_def_default(JOINT_FIXED);
        def.b = b;
        def.anchor_b = vec3(-0.5f, 0.0f, 0.0f);
        def.break_torque = k ? 23.0f : 27.0f;
        JointId id = rigid_joint_add(rigid, &def);
        for (u32 i = 0; i < 120; i++) {
            kit_tick_awake(rigid);
        }
        assert_int_equal(rigid_joint_alive(rigid, id), !k);
        if (!k) {
            assert_true(fabsf(rigid_joint_torque(rigid, id.slot).z - 24.525f) < 0.3f);
        }
        rigid_destroy(rigid);
    }
}

/* ---- conservation ---- */

/* Two bodies in space, thrown and spinning, joined in every way: momentum and the angular
 * momentum about the origin are conserved. */
static void test_momentum_is_kept(void **state)
{
    (void)state;
    for (u32 kind = JOINT_BALL; kind < JOINT_KIND_COUNT; kind++) {
        Rigid *rigid = kit_joint_world(vec3_zero(), 4, 2);
        BodyId ids[2] = {add(rigid, box(0.3f, 0.4f, 0.5f), vec3(-0.6f, 0.1f, 0.0f), 2.0f),
                         add(rigid, box(0.4f, 0.2f, 0.3f), vec3(0.6f, 0.0f, 0.2f), 3.0f)};
        rigid_set_velocity(rigid, ids[0].slot, vec3(0.5f, 0.2f, -0.3f), vec3(1.0f, 2.0f, -1.0f));
        rigid_set_velocity(rigid, ids[1].slot, vec3(-0.2f, 0.1f, 0.4f), vec3(-2.0f, 0.5f, 1.0f));
        JointDef def = joint_def_default((JointKind)kind);
        def.a = ids[0];
        def.b = ids[1];
        def.anchor_a = vec3(0.6f, -0.1f, 0.1f);
        def.anchor_b = vec3(-0.6f, 0.0f, -0.1f);
        def.flags |= JOINT_LIMITS | JOINT_SPRUNG;
        def.lower = kind == JOINT_DISTANCE ? 0.0f : -0.2f;
        def.lower = kind == JOINT_SPRING ? 0.0f : def.lower;
        def.upper = 0.2f;
        def.swing = 0.3f;
        def.frequency = 1.0f;
        def.damping = 0.3f;
        kit_join(rigid, &def);
        f64 start[6] = {0}, now[6] = {0}, worst_linear = 0.0, worst_angular = 0.0;
        for (u32 i = 0; i <= 300; i++) {
            for (u32 n = 0; n < 6; n++) {
                now[n] = 0.0;
            }
            for (u32 n = 0; n < 2; n++) {
                u32 slot = ids[n].slot;
                f32 m = rigid_mass(rigid, slot);
                Quat q = rigid_orientation(rigid, slot);
                Vec3 p = vec3_scale(rigid_velocity(rigid, slot), m);
                Vec3 w = quat_rotate_inverse(q, rigid_angular_velocity(rigid, slot));
                Vec3 l = quat_rotate(q, turned_by(rigid_inertia(rigid, slot), w));
                l = vec3_add(l, vec3_cross(rigid_position(rigid, slot), p));
                now[0] += (f64)p.x;
                now[1] += (f64)p.y;
                now[2] += (f64)p.z;
                now[3] += (f64)l.x;
                now[4] += (f64)l.y;
                now[5] += (f64)l.z;
            }
            for (u32 n = 0; n < 6; n++) {
                start[n] = i == 0 ? now[n] : start[n];
                f64 off = fabs(now[n] - start[n]);
                if (n < 3) {
                    worst_linear = fmax(worst_linear, off);
                } else {
                    worst_angular = fmax(worst_angular, off);
                }
            }
            kit_tick_awake(rigid);
        }
        f64 size = sqrt(start[3] * start[3] + start[4] * start[4] + start[5] * start[5]);
        printf("kind %u: momentum off by %.1e N s, angular by %.2f %%\n", kind, worst_linear,
               100.0 * worst_angular / size);
        assert_true(worst_linear < 1e-4);
        assert_true(worst_angular < 0.03 * size);
        rigid_destroy(rigid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pendulum_period),
        cmocka_unit_test(test_pendulum_energy),
        cmocka_unit_test(test_hinge_limit_holds_load),
        cmocka_unit_test(test_hinge_motor),
        cmocka_unit_test(test_slider_motor_and_limit),
        cmocka_unit_test(test_slider_spring),
        cmocka_unit_test(test_hinge_spring),
        cmocka_unit_test(test_line_spring),
        cmocka_unit_test(test_stiff_spring_is_stable),
        cmocka_unit_test(test_rope_and_rod),
        cmocka_unit_test(test_cone_limit),
        cmocka_unit_test(test_universal_ratio),
        cmocka_unit_test(test_motor_joint),
        cmocka_unit_test(test_breaks_at_its_force),
        cmocka_unit_test(test_breaks_at_its_torque),
        cmocka_unit_test(test_momentum_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
