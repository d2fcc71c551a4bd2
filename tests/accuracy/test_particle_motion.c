/*
 * test_particle_motion.c: particles against closed forms: orders of convergence of the integrators,
 * Kepler orbits, and bounces at the exact time of contact for many values of restitution, friction,
 * speed, shape and rate.
 */
#include "server/physics/particles/particles.h"
#include "server/physics/rigid/collider.h"
#include "shared/geometry/geometry.h"
#include "tests/support/any.h"
#include "tests/support/rigid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

typedef struct Flown {
    Vec3 position, velocity;
} Flown;

static ParticlesDef one(ParticleIntegrator integrator, const ParticleStart *start)
{
    ParticlesDef def = particles_def_default();
    def.count = 1;
    def.lifetime_s = -1.0f;
    def.integrator = integrator;
    def.starts = start;
    def.start_count = 1;
    return def;
}

static Particles *made(const ParticlesDef *def, Vec3 gravity)
{
    Particles *p = particles_create();
    ErrorText error = {0};
    u32 system;
    if (p == NULL || particles_add(p, def, &system, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    particles_set_gravity(p, gravity);
    return p;
}

static void run(Particles *p, u32 steps, f32 h, const Collider *collider)
{
    for (u32 i = 0; i < steps; i++) {
        particles_begin(p, collider, collider != NULL ? 1 : 0, h, NULL);
        particles_substep(p, h);
        particles_end(p);
    }
}

/* ---- order of convergence ---- */

/* m x'' = −ω² x, from x = 1 at rest; or x'' = g − k v. Error at the end of `time`. */
static f64 oscillator_error(ParticleIntegrator integrator, u32 steps)
{
    const f64 omega = 3.0, time = 2.0;
    ParticleStart start = {{1.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}, 1.0f};
    ParticlesDef def = one(integrator, &start);
    Particles *p = made(&def, vec3_zero());
    ParticleGrab spring = {.stiffness = (f32)(omega * omega), .most_m_s2 = 1e9f};
    assert_int_equal(particles_grab_add(p, &spring), 0);
    run(p, steps, (f32)(time / steps), NULL);
    f64 x = (f64)particles_position(p, 0).x, v = (f64)particles_velocity(p, 0).x;
    particles_destroy(p);
    return hypot(x - cos(omega * time), (v + omega * sin(omega * time)) / omega);
}

static f64 projectile_error(ParticleIntegrator integrator, u32 steps, f32 drag)
{
    const f64 g = 9.81, time = 1.5, k = (f64)drag;
    ParticleStart start = {{0.0f, 0.0f, 0.0f}, {8.0f, 12.0f, 0.0f}, 1.0f};
    ParticlesDef def = one(integrator, &start);
    def.drag = drag;
    Particles *p = made(&def, vec3(0.0f, -9.81f, 0.0f));
    run(p, steps, (f32)(time / steps), NULL);
    Vec3 x = particles_position(p, 0);
    particles_destroy(p);
    if (k == 0.0) {
        return hypot((f64)x.x - 8.0 * time, (f64)x.y - 12.0 * time + 0.5 * g * time * time);
    }
    f64 decay = (1.0 - exp(-k * time)) / k;
    return hypot((f64)x.x - 8.0 * decay, (f64)x.y - ((12.0 + g / k) * decay - g / k * time));
}

static void integrators_converge_with_their_order(void **state)
{
    PL_UNUSED(state);
    const f64 order[PARTICLE_INTEGRATOR_COUNT] = {1.0, 1.0, 2.0, 2.0};
    for (u32 i = 0; i < PARTICLE_INTEGRATOR_COUNT; i++) {
        ParticleIntegrator by = (ParticleIntegrator)i;
        for (u32 n = 50; n <= 200; n *= 2) {
            f64 spring = log2(oscillator_error(by, n) / oscillator_error(by, 2 * n));
            expect_near("order on the oscillator", spring, order[i], 0.25);
        }
        f64 thrown = log2(projectile_error(by, 20, 2.0f) / projectile_error(by, 40, 2.0f));
        expect_near("order on a projectile with drag", thrown, order[i], 0.25);
    }
    /* Without drag the second-order methods are exact, the others wrong by g h t / 2. */
    expect_at_most("Verlet", projectile_error(PARTICLE_VERLET, 90, 0.0f), 2e-5);
    expect_at_most("midpoint", projectile_error(PARTICLE_MIDPOINT, 90, 0.0f), 2e-5);
    f64 first = 0.5 * 9.81 * 1.5 * 1.5 / 90;
    expect_near("Euler", projectile_error(PARTICLE_EULER, 90, 0.0f), first, 0.01 * first);
    expect_near("symplectic", projectile_error(PARTICLE_SYMPLECTIC, 90, 0.0f), first, 0.01 * first);
}

/* ---- Kepler ---- */

static void orbits_have_kepler_periods(void **state)
{
    PL_UNUSED(state);
    const f64 mu = 100.0, a = 4.0;
    for (u32 c = 0; c < 4; c++) {
        f64 e = 0.2 * c, period = 2.0 * 3.14159265358979 * sqrt(a * a * a / mu);
        f64 speed = sqrt(mu / a * (1.0 + e) / (1.0 - e));
        ParticleStart start = {{(f32)(a * (1.0 - e)), 0.0f, 0.0f}, {0.0f, 0.0f, (f32)speed}, 1.0f};
        ParticlesDef def = one(PARTICLE_VERLET, &start);
        ParticleForce sun = {.kind = PARTICLE_ATTRACTOR, .strength = (f32)mu};
        def.forces = &sun;
        def.force_count = 1;
        Particles *p = made(&def, vec3_zero());
        const u32 steps = 4000;
        f32 h = (f32)(period / steps);
        run(p, steps, h, NULL);
        f64 away = (f64)vec3_distance(particles_position(p, 0), start.position);
        expect_at_most("place after a period over the axis", away / a, 2e-3);
        f64 begin = 0.5 * speed * speed - mu / (a * (1.0 - e)), worst = 0.0, l[3];
        for (u32 i = 0; i < 100; i++) {
            run(p, steps, h, NULL);
            ParticleEnergy now = particles_energy(p, 0);
            worst = fmax(worst, fabs((now.kinetic + now.potential) / begin - 1.0));
        }
        expect_near("energy of an ellipse", begin, -mu / (2.0 * a), 1e-4);
        expect_at_most("drift of energy in 100 periods", worst, 2e-4);
        particles_angular_momentum(p, 0, l);
        expect_near("angular momentum", -l[1], a * (1.0 - e) * speed, 1e-4 * a * speed);
        particles_destroy(p);
    }
}

static void euler_gains_and_symplectic_keeps(void **state)
{
    PL_UNUSED(state);
    f64 drift[PARTICLE_INTEGRATOR_COUNT];
    for (u32 i = 0; i < PARTICLE_INTEGRATOR_COUNT; i++) {
        ParticleStart start = {{4.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 5.0f}, 1.0f};
        ParticlesDef def = one((ParticleIntegrator)i, &start);
        ParticleForce sun = {.kind = PARTICLE_ATTRACTOR, .strength = 100.0f};
        def.forces = &sun;
        def.force_count = 1;
        Particles *p = made(&def, vec3_zero());
        run(p, 20 * 302, 1.0f / 60.0f, NULL); /* 20 periods */
        ParticleEnergy now = particles_energy(p, 0);
        drift[i] = (now.kinetic + now.potential) / -12.5 - 1.0;
        particles_destroy(p);
    }
    expect_at_most("Euler", drift[PARTICLE_EULER], -0.5); /* half of the binding energy is lost */
    expect_near("symplectic", drift[PARTICLE_SYMPLECTIC], 0.0, 0.01);
    expect_near("midpoint", drift[PARTICLE_MIDPOINT], 0.0, 0.02);
    expect_near("Verlet", drift[PARTICLE_VERLET], 0.0, 1e-4);
}

/* ---- bounces ---- */

/* A ball dropped from rest with the gap `fall` above a floor: height of the gap at a time. */
static f64 bounced_gap(f64 fall, f64 e, f64 g, f64 time)
{
    f64 speed = sqrt(2.0 * g * fall), t = speed / g;
    if (time < t) {
        return fall - 0.5 * g * time * time;
    }
    time -= t;
    for (u32 i = 0; i < 1000; i++) {
        speed *= e;
        t = 2.0 * speed / g;
        if (time < t) {
            return speed * time - 0.5 * g * time * time;
        }
        time -= t;
        if (t < 1e-9) {
            break;
        }
    }
    return 0.0;
}

typedef struct Floor {
    Rigid *rigid;
    RigidCollider bodies;
    Collider collider;
} Floor;

static void floor_init(Floor *floor, const BodyDef *def)
{
    floor->rigid = kit_world(4, 1, 0.0f);
    kit_add(floor->rigid, def);
    floor->bodies = (RigidCollider){.rigid = floor->rigid};
    floor->collider = rigid_collider(&floor->bodies);
}

static void floor_finish(Floor *floor)
{
    rigid_collider_finish(&floor->bodies);
    rigid_destroy(floor->rigid);
}

/* Shapes with their tops at y = 0. */
static BodyDef floor_of(u32 kind, Geometry *field)
{
    BodyDef def = kit_plane(quat_identity());
    if (kind == 1) {
        def = kit_ground();
    } else if (kind == 2) {
        def = kit_ball(vec3(0.0f, -2.0f, 0.0f), 2.0f);
    } else if (kind == 3) {
        def.shape = (Shape){.kind = SHAPE_MESH, .geometry = field};
    } else if (kind == 4) {
        def.shape = (Shape){.kind = SHAPE_CYLINDER, .radius = 1.0f, .half_height = 0.5f};
        def.position = vec3(0.0f, -0.5f, 0.0f);
    }
    def.motion = BODY_STATIC;
    def.mass_kg = 0.0f;
    return def;
}

static void bounces_are_those_of_the_closed_form(void **state)
{
    PL_UNUSED(state);
    Geometry *field = kit_field(8, 1.0f);
    Any any = {91, 0};
    for (u32 c = 0; c < 400; c++) {
        u32 hz = 30u << any_below(&any, 4);
        f32 radius = any_between(&any, 0.01f, 0.3f), fall = any_between(&any, 0.2f, 4.0f);
        f32 e = any_between(&any, 0.3f, 1.0f), x = any_between(&any, -0.3f, 0.3f);
        u32 kind = c % 5;
        x = kind == 2 ? 0.0f : x; /* at the pole of the ball */
        BodyDef floor_def = floor_of(kind, field);
        Floor floor;
        floor_init(&floor, &floor_def);
        ParticleStart start = {{x, fall + radius, 0.1f * x}, {0.0f, 0.0f, 0.0f}, 0.0f};
        ParticlesDef def = one(PARTICLE_VERLET, &start);
        def.radius = radius;
        def.restitution = e;
        def.friction = any_between(&any, 0.0f, 1.0f);
        Particles *p = made(&def, vec3(0.0f, -9.81f, 0.0f));
        u32 ticks = hz; /* 1 s: several bounces, all of them fast */
        for (u32 i = 1; i <= ticks; i++) {
            run(p, 1, 1.0f / (f32)hz, &floor.collider);
            f64 time = (f64)i / hz;
            f64 speed = sqrt(2.0 * 9.81 * (f64)fall), last = time - speed / 9.81;
            f64 slow = speed; /* speed after the last bounce */
            while (last > 0.0) {
                slow *= (f64)e;
                last -= 2.0 * slow / 9.81;
            }
            if (slow < 3.0 * 9.81 / hz) {
                break; /* a bounce slower than one step of gravity comes to rest */
            }
            f64 gap = (f64)particles_position(p, 0).y - (f64)radius;
            expect_near("height after bounces", gap, bounced_gap((f64)fall, (f64)e, 9.81, time),
                        5e-4);
        }
        particles_destroy(p);
        floor_finish(&floor);
    }
    geometry_destroy(field);
}

static void impacts_follow_restitution_and_friction(void **state)
{
    PL_UNUSED(state);
    Any any = {17, 0};
    for (u32 c = 0; c < 400; c++) {
        f32 e = any_between(&any, 0.0f, 1.0f), mu = any_between(&any, 0.0f, 1.0f);
        f32 speed = any_between(&any, 1.0f, 150.0f);
        Quat turn = any_rotation(&any); /* rotates the whole setup */
        BodyDef plane = kit_plane(turn);
        Floor floor;
        floor_init(&floor, &plane);
        Vec3 n = quat_rotate(turn, vec3(0.0f, 1.0f, 0.0f)), v = any_direction(&any);
        v = vec3_dot(v, n) > -0.1f ? vec3_sub(v, vec3_scale(n, vec3_dot(v, n) + 0.5f)) : v;
        v = vec3_scale(vec3_normalize_or(v, n), speed);
        f32 gap = any_between(&any, 0.05f, 0.9f) * -vec3_dot(v, n) / 60.0f;
        ParticleStart start = {vec3_scale(n, gap + 0.05f), v, 0.0f};
        ParticlesDef def = one((ParticleIntegrator)(c % PARTICLE_INTEGRATOR_COUNT), &start);
        def.radius = 0.05f;
        def.restitution = e;
        def.friction = mu;
        Particles *p = made(&def, vec3_zero());
        run(p, 1, 1.0f / 60.0f, &floor.collider);
        f32 along = vec3_dot(v, n), t = gap / -along;
        Vec3 across = vec3_add_scaled(v, -along, n);
        f64 slip = (f64)vec3_length(across), lost = fmin(slip, mu * (1.0 + e) * -(f64)along);
        f32 kept = slip > 0.0 ? (f32)(1.0 - lost / slip) : 0.0f;
        Vec3 after = vec3_add_scaled(vec3_scale(across, kept), (f32)-e * along, n);
        Vec3 end = vec3_add_scaled(start.position, t, v);
        end = vec3_add_scaled(end, 1.0f / 60.0f - t, after);
        f64 wrong_v = (f64)vec3_distance(particles_velocity(p, 0), after);
        f64 wrong_x = (f64)vec3_distance(particles_position(p, 0), end);
        expect_at_most("velocity after the impact", wrong_v, 2e-5 * (f64)speed);
        expect_at_most("place at the end of its step", wrong_x, 1e-4);
        particles_destroy(p);
        floor_finish(&floor);
    }
}

static void nothing_passes_a_thin_wall(void **state)
{
    PL_UNUSED(state);
    Any any = {5, 0};
    Geometry *field = kit_field(20, 0.5f);
    for (u32 c = 0; c < 60; c++) {
        BodyDef wall = kit_plane(quat_identity());
        wall.shape = (Shape){.kind = SHAPE_MESH, .geometry = field};
        if (c % 2 == 0) {
            wall = kit_box(vec3_zero(), vec3(4.0f, 0.005f, 4.0f));
        }
        wall.motion = BODY_STATIC;
        wall.mass_kg = 0.0f;
        Floor floor;
        floor_init(&floor, &wall);
        ParticleStart start[50];
        for (u32 i = 0; i < PL_COUNT(start); i++) {
            Vec3 at = any_vec(&any, -1.0f, 1.0f);
            at.y = any_between(&any, 0.1f, 3.0f);
            Vec3 to = any_vec(&any, -1.0f, 1.0f);
            to.y = 0.0f;
            Vec3 way = vec3_normalize_or(vec3_sub(to, at), vec3(0.0f, -1.0f, 0.0f));
            start[i] = (ParticleStart){at, vec3_scale(way, any_between(&any, 5.0f, 400.0f)), 0.0f};
        }
        ParticlesDef def = one(PARTICLE_VERLET, start);
        def.count = def.start_count = PL_COUNT(start);
        def.restitution = 0.5f;
        def.radius = 0.01f;
        Particles *p = made(&def, vec3(0.0f, -9.81f, 0.0f));
        run(p, 20, 1.0f / 60.0f, &floor.collider);
        for (u32 i = 0; i < PL_COUNT(start); i++) {
            Vec3 x = particles_position(p, i);
            bool over = fabsf(x.x) < 4.0f && fabsf(x.z) < 4.0f; /* otherwise it may fall off */
            if (over && x.y < -0.01f) {
                fail_msg("case %u: particle %u is at %g below the wall", c, i, (double)x.y);
            }
        }
        particles_destroy(p);
        floor_finish(&floor);
    }
    geometry_destroy(field);
}

/* Each rests at a height of its own radius, and radii cover their range. */
static void sizes_differ_and_count(void **state)
{
    PL_UNUSED(state);
    enum {
        COUNT = 500
    };
    static ParticleStart starts[COUNT];
    for (u32 i = 0; i < COUNT; i++) {
        starts[i].position = vec3((f32)(i % 25), 0.3f + 0.001f * (f32)i, (f32)(i / 25));
    }
    ParticlesDef def = one(PARTICLE_VERLET, starts);
    def.count = def.start_count = COUNT;
    def.radius = 0.1f;
    def.radius_spread = 0.08f;
    def.restitution = 0.2f;
    BodyDef plane = kit_plane(quat_identity());
    Floor floor;
    floor_init(&floor, &plane);
    Particles *p = made(&def, vec3(0.0f, -9.81f, 0.0f));
    run(p, 180, 1.0f / 60.0f, &floor.collider);
    f64 low = 1.0, high = 0.0, mean = 0.0;
    for (u32 i = 0; i < COUNT; i++) {
        f64 radius = (f64)particles_radius(p, i);
        expect_near("height of rest", (f64)particles_position(p, i).y, radius, 1e-4);
        low = fmin(low, radius);
        high = fmax(high, radius);
        mean += radius / COUNT;
    }
    expect_near("smallest", low, 0.02, 0.002);
    expect_near("largest", high, 0.18, 0.002);
    expect_near("mean", mean, 0.1, 0.008);
    particles_destroy(p);
    floor_finish(&floor);
}

/* Particles at rest on a floor sleep and stay bit for bit the same. They wake when a body
 * approaches or their support is removed, not when something moves far away. */
static void particles_at_rest_sleep_and_wake(void **state)
{
    PL_UNUSED(state);
    enum {
        COUNT = 200
    };
    for (u32 c = 0; c < 4; c++) {
        ParticleStart starts[COUNT];
        for (u32 i = 0; i < COUNT; i++) {
            starts[i] = (ParticleStart){
                {0.1f * (f32)(i % 20), 0.2f + 0.002f * (f32)i, 0.1f * (f32)(i / 20)},
                {0.3f, 0.0f, 0.1f},
                0.01f};
        }
        ParticlesDef def = one(PARTICLE_VERLET, starts);
        def.count = def.start_count = COUNT;
        def.friction = 0.5f;
        def.radius = 0.03f;
        BodyDef ground = kit_box(vec3(1.0f, -1.0f, 0.5f), vec3(6.0f, 1.0f, 6.0f));
        ground.motion = BODY_STATIC;
        ground.mass_kg = 0.0f;
        Floor floor;
        floor_init(&floor, &ground);
        BodyDef hand = kit_box(vec3(-3.0f, 0.3f, 0.5f), vec3(0.2f, 0.2f, 0.2f));
        hand.motion = BODY_KINEMATIC;
        hand.mass_kg = 0.0f;
        u32 slot = kit_add(floor.rigid, &hand);
        Particles *p = made(&def, vec3(0.0f, -9.81f, 0.0f));
        run(p, 240, 1.0f / 60.0f, &floor.collider);
        assert_true(particles_asleep(p, 0));
        State before = {.mode = STATE_HASH}, after = {.mode = STATE_HASH};
        Vec3 place = particles_position(p, 7);
        run(p, 60, 1.0f / 60.0f, &floor.collider);
        assert_true(particles_asleep(p, 0));
        assert_float_equal(vec3_distance(place, particles_position(p, 7)), 0.0f, 0.0f);
        particles_serialize(p, &before);
        if (c == 0) { /* gravity changes */
            particles_set_gravity(p, vec3(0.0f, 2.0f, 0.0f));
        } else if (c == 1) { /* a hand approaches */
            rigid_set_velocity(floor.rigid, slot, vec3(2.0f, -0.1f, 0.0f), vec3_zero());
            for (u32 i = 0; i < 105; i++) {
                kit_tick(floor.rigid);
                run(p, 1, 1.0f / 60.0f, &floor.collider);
                assert_true(i > 60 || particles_asleep(p, 0)); /* it is 1 m away */
                assert_true(i < 95 || !particles_asleep(p, 0));
            }
        } else if (c == 2) { /* the floor is removed */
            rigid_remove(floor.rigid, rigid_at(floor.rigid, 0));
        } else {
            particles_push(p, 3, vec3(0.0f, 3.0f, 0.0f));
        }
        run(p, 5, 1.0f / 60.0f, &floor.collider);
        assert_false(particles_asleep(p, 0));
        particles_serialize(p, &after);
        assert_int_not_equal(before.hash, after.hash);
        particles_destroy(p);
        floor_finish(&floor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integrators_converge_with_their_order),
        cmocka_unit_test(orbits_have_kepler_periods),
        cmocka_unit_test(euler_gains_and_symplectic_keeps),
        cmocka_unit_test(bounces_are_those_of_the_closed_form),
        cmocka_unit_test(impacts_follow_restitution_and_friction),
        cmocka_unit_test(nothing_passes_a_thin_wall),
        cmocka_unit_test(sizes_differ_and_count),
        cmocka_unit_test(particles_at_rest_sleep_and_wake),
    };
    return cmocka_run_group_tests_name("particle_motion", tests, NULL, NULL);
}
