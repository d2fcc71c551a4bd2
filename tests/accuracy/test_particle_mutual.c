/*
 * test_particle_mutual.c: particles that interact: gravitation by trees against the direct sum,
 * swarms against published optima, flocks against their rules; the same results for any number of
 * threads.
 */
#include "server/physics/particles/flock.h"
#include "server/physics/particles/gravity.h"
#include "server/physics/particles/swarm.h"
#include "tests/support/any.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    BODIES_MOST = 6000
};

/* A uniform cube; clusters of bodies of different mass; a Plummer sphere. */
static u32 cluster(Any *any, Vec3 *places, f32 *masses, u32 kind)
{
    u32 count = 1200 + any_below(any, BODIES_MOST - 1200);
    for (u32 i = 0; i < count; i++) {
        Vec3 middle = vec3_scale(vec3((f32)(i % 3), (f32)(i % 2), (f32)(i % 5)), 7.0f);
        f64 inside = (f64)any_between(any, 0.001f, 0.999f);
        f32 r = (f32)(1.0 / sqrt(pow(inside, -2.0 / 3.0) - 1.0));
        places[i] = kind == 0   ? any_vec(any, -2.0f, 2.0f)
                    : kind == 1 ? vec3_add(middle, any_vec(any, -2.0f, 2.0f))
                                : vec3_scale(any_direction(any), r);
        masses[i] = kind == 1 ? any_between(any, 0.1f, 30.0f) : 1.0f;
    }
    return count;
}

static void trees_are_within_one_percent(void **state)
{
    PL_UNUSED(state);
    Vec3 *places = malloc(BODIES_MOST * sizeof(Vec3)), *got = malloc(BODIES_MOST * sizeof(Vec3));
    f32 *masses = malloc(BODIES_MOST * sizeof(f32));
    assert_true(places != NULL && got != NULL && masses != NULL);
    Any any = {41, 0};
    Gravity gravity = {0};
    for (u32 c = 0; c < 9; c++) {
        u32 count = cluster(&any, places, masses, c % 3);
        GravityOptions options = {6.0f, 0.02f, 0.5f};
        assert_true(gravity_accelerate(&gravity, places, masses, count, &options, got, NULL));
        f64 square = 0.0, size = 0.0, mean = 0.0, sampled = 0.0, momentum[3] = {0}, pushes = 0.0;
        for (u32 i = 0; i < count; i++) {
            momentum[0] += (f64)masses[i] * (f64)got[i].x;
            momentum[1] += (f64)masses[i] * (f64)got[i].y;
            momentum[2] += (f64)masses[i] * (f64)got[i].z;
            pushes += (f64)masses[i] * (f64)vec3_length(got[i]);
        }
        for (u32 i = 0; i < count; i += 7) { /* direct sum in double precision */
            f64 a[3] = {0};
            for (u32 k = 0; k < count; k++) {
                f64 d[3] = {(f64)places[k].x - (f64)places[i].x,
                            (f64)places[k].y - (f64)places[i].y,
                            (f64)places[k].z - (f64)places[i].z};
                f64 r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 0.02 * 0.02;
                f64 pull = k == i ? 0.0 : 6.0 * (f64)masses[k] / (r2 * sqrt(r2));
                for (u32 j = 0; j < 3; j++) {
                    a[j] += pull * d[j];
                }
            }
            f64 off =
                hypot(hypot(a[0] - (f64)got[i].x, a[1] - (f64)got[i].y), a[2] - (f64)got[i].z);
            f64 all = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
            square += off * off;
            size += all * all;
            mean += off / all;
            sampled += 1.0;
        }
        expect_at_most("root mean square of the force error", sqrt(square / size), 0.01);
        expect_at_most("mean of the relative force errors", mean / sampled, 0.01);
        expect_at_most("sum of all forces over their sizes",
                       (fabs(momentum[0]) + fabs(momentum[1]) + fabs(momentum[2])) / pushes, 1e-6);
    }
    gravity_finish(&gravity);
    free(places);
    free(got);
    free(masses);
}

static void coincident_bodies_do_not_stall(void **state)
{
    PL_UNUSED(state);
    Vec3 *places = calloc(BODIES_MOST, sizeof(Vec3)), *got = malloc(BODIES_MOST * sizeof(Vec3));
    f32 *masses = malloc(BODIES_MOST * sizeof(f32));
    assert_true(places != NULL && got != NULL && masses != NULL);
    for (u32 i = 0; i < BODIES_MOST; i++) {
        masses[i] = 1.0f;
    }
    places[0] = vec3(1.0f, 0.0f, 0.0f);
    Gravity gravity = {0};
    GravityOptions options = {1.0f, 0.0f, 0.5f};
    assert_true(gravity_accelerate(&gravity, places, masses, BODIES_MOST, &options, got, NULL));
    expect_near("pull of the heap", (f64)got[0].x, -(BODIES_MOST - 1.0), 1.0);
    for (u32 i = 0; i < BODIES_MOST; i++) {
        assert_true(vec3_is_finite(got[i]));
    }
    gravity_finish(&gravity);
    free(places);
    free(got);
    free(masses);
}

/* Iterations by which nearly all swarms of 500 have converged: Clerc, Kennedy 2002 and Eberhart,
 * Shi 2000 report some tens to few hundreds for these functions. */
static void swarms_find_the_optimum(void **state)
{
    PL_UNUSED(state);
    SwarmWeights weights = {0.7298f, 1.49618f, 1.49618f};
    const f64 minima[4][2] = {
        {3.0, 2.0}, {-2.805118, 3.131312}, {-3.779310, -3.283186}, {3.584428, -1.848126}};
    for (u32 f = 0; f < SWARM_OBJECTIVE_COUNT; f++) {
        for (u64 seed = 1; seed <= 20; seed++) {
            Swarm swarm;
            assert_true(swarm_init(&swarm, (SwarmObjective)f, 500, seed));
            u32 needed = 0;
            while (swarm.leader_value > 1e-5f && needed < 1000) {
                swarm_iterate(&swarm, &weights);
                needed++;
            }
            expect_at_most("iterations", needed, 200);
            while (needed++ < 300) {
                swarm_iterate(&swarm, &weights);
            }
            f64 x = (f64)swarm.leader.x, y = (f64)swarm.leader.y, away = hypot(x, y);
            away = f == SWARM_ROSENBROCK ? hypot(x - 1.0, y - 1.0) : away;
            for (u32 m = 0; f == SWARM_HIMMELBLAU && m < 4; m++) {
                f64 here = hypot(x - minima[m][0], y - minima[m][1]);
                away = m == 0 || here < away ? here : away;
            }
            expect_at_most("distance to the optimum", away, 2e-3);
            swarm_finish(&swarm);
        }
    }
    expect_near("Rastrigin", swarm_value(SWARM_RASTRIGIN, 4.52299, 4.52299), 80.7066, 1e-3);
    expect_near("Ackley", swarm_value(SWARM_ACKLEY, 0.0, 0.0), 0.0, 1e-12);
    expect_near("Rosenbrock", swarm_value(SWARM_ROSENBROCK, -1.2, 1.0), 24.2, 1e-9);
    expect_near("Himmelblau", swarm_value(SWARM_HIMMELBLAU, -0.270845, -0.923039), 181.617, 1e-2);
}

static const FlockRules calm = {
    .sight = 2.0f, .separation_distance = 0.5f, .cruise = 4.0f, .agility = 1e6f};

/* Each rule alone, for two boids, against its definition. */
static void flocks_follow_their_rules(void **state)
{
    PL_UNUSED(state);
    Flock flock = {0};
    assert_true(flock_reserve(&flock, 1000));
    Vec3 ahead = vec3(0.0f, 0.0f, 4.0f);
    flock.positions[0] = vec3(0.0f, 0.0f, 0.0f);
    flock.positions[1] = vec3(0.25f, 0.0f, 0.0f);
    flock.velocities[0] = flock.velocities[1] = ahead;
    FlockRules rules = calm;
    rules.separation = 10.0f;
    flock_accelerate(&flock, 2, &rules, NULL);
    expect_near("separation", (f64)flock.pulls[0].x, -5.0, 1e-4);
    expect_near("and of the other", (f64)flock.pulls[1].x, 5.0, 1e-4);
    flock.positions[1].x = 1.5f;
    rules = calm;
    rules.cohesion = 2.0f;
    flock_accelerate(&flock, 2, &rules, NULL);
    expect_near("cohesion", (f64)flock.pulls[0].x, 3.0, 1e-4);
    flock.positions[1].x = 2.01f;
    flock_accelerate(&flock, 2, &rules, NULL);
    expect_near("out of sight", (f64)flock.pulls[0].x, 0.0, 1e-6);
    flock.positions[1].x = 1.0f;
    flock.velocities[1] = vec3(0.0f, 4.0f, 0.0f);
    rules = calm;
    rules.alignment = 0.5f;
    flock_accelerate(&flock, 2, &rules, NULL);
    expect_near("alignment", (f64)flock.pulls[0].y, 2.0, 1e-4);
    expect_near("alignment", (f64)flock.pulls[0].z, -2.0, 1e-4);
    rules = calm;
    rules.predator = vec3(-1.0f, 0.0f, 0.0f);
    rules.flee_distance = 1.5f;
    rules.agility = 30.0f;
    flock_accelerate(&flock, 2, &rules, NULL);
    expect_near("flight", (f64)flock.pulls[0].x, 20.0, 1e-3);
    expect_near("too far to flee", (f64)flock.pulls[1].x, 0.0, 1e-6);
    flock_finish(&flock);
}

/* Against sums over all pairs, in random swarms; cohesion and separation conserve momentum. */
static void flocks_see_all_in_sight(void **state)
{
    PL_UNUSED(state);
    Any any = {3, 0};
    Flock flock = {0};
    assert_true(flock_reserve(&flock, 700));
    for (u32 c = 0; c < 10; c++) {
        FlockRules rules = calm;
        rules.separation = 8.0f;
        rules.alignment = 1.0f;
        rules.cohesion = 1.0f;
        rules.sight = any_between(&any, 0.5f, 2.0f);
        u32 count = 100 + any_below(&any, 600);
        for (u32 i = 0; i < count; i++) {
            flock.positions[i] = any_vec(&any, -4.0f, 4.0f);
            flock.velocities[i] = vec3_scale(any_direction(&any), 4.0f);
        }
        flock_accelerate(&flock, count, &rules, NULL);
        for (u32 i = 0; i < count; i++) {
            Vec3 place = vec3_zero(), speed = vec3_zero(), apart = vec3_zero();
            f32 seen = 0.0f;
            for (u32 k = 0; k < count; k++) {
                Vec3 d = vec3_sub(flock.positions[k], flock.positions[i]);
                f32 r = vec3_length(d);
                if (k == i || r > rules.sight) {
                    continue;
                }
                seen += 1.0f;
                place = vec3_add(place, d);
                speed = vec3_add(speed, vec3_sub(flock.velocities[k], flock.velocities[i]));
                if (r < rules.separation_distance) {
                    f32 push = 8.0f * (1.0f - r / rules.separation_distance);
                    apart = vec3_add_scaled(apart, -push / r, d);
                }
            }
            Vec3 wanted = seen > 0.0f
                              ? vec3_add(apart, vec3_scale(vec3_add(place, speed), 1.0f / seen))
                              : vec3_zero();
            expect_at_most("difference to the sum over pairs",
                           (f64)vec3_distance(wanted, flock.pulls[i]), 2e-3);
        }
    }
    flock_finish(&flock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_are_within_one_percent),
        cmocka_unit_test(coincident_bodies_do_not_stall),
        cmocka_unit_test(swarms_find_the_optimum),
        cmocka_unit_test(flocks_follow_their_rules),
        cmocka_unit_test(flocks_see_all_in_sight),
    };
    return cmocka_run_group_tests_name("particle_mutual", tests, NULL, NULL);
}
