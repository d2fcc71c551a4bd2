/* test_other.c: soft bodies meet any collider: here balls, in a world without rigid bodies. */
#include "server/physics/contact/particles.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    SIDE = 12,
    BALLS = SIDE * SIDE
};

typedef struct Bed {
    Soft *soft;
    SoftRange cloth;
    ParticleBalls balls;
    ParticleSet set;
    Vec3 positions[BALLS], velocities[BALLS];
} Bed;

/* A cloth of 1 m above balls in a square grid of 1 m. */
static void bed_make(Bed *bed, f32 gravity, f32 ball_kg)
{
    memset(bed, 0, sizeof *bed);
    bed->soft = soft_create();
    soft_set_gravity(bed->soft, vec3(0.0f, -gravity, 0.0f));
    soft_set_wind(bed->soft, vec3_zero(), 0.0f);
    for (u32 i = 0; i < BALLS; i++) {
        f32 x = (f32)(i % SIDE) / (SIDE - 1), z = (f32)(i / SIDE) / (SIDE - 1);
        bed->positions[i] = vec3(x - 0.5f, 0.05f * sinf(7.0f * x) * cosf(5.0f * z), z - 0.5f);
    }
    bed->set = (ParticleSet){.positions = bed->positions,
                             .velocities = bed->velocities,
                             .inverse_mass = ball_kg > 0.0f ? 1.0f / ball_kg : 0.0f,
                             .count = BALLS,
                             .radius = 0.045f};
    bed->balls.set = &bed->set;
    SoftDef def = soft_kit_cloth_def();
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, 25, 25, 1.0f, 1.0f, &error), 0);
    def.mesh = &mesh;
    def.mass_kg = 0.3f;
    def.position = vec3(-0.5f, 0.15f, -0.5f);
    def.orientation = (Quat){0.70710678f, 0.70710678f, 0.0f, 0.0f}; /* flat */
    if (soft_add(bed->soft, NULL, &def, &bed->cloth, &error) != 0) {
        fail_msg("%s", error.text);
    }
    soft_mesh_finish(&mesh);
    assert_int_equal(soft_build(bed->soft), 0);
}

static void bed_free(Bed *bed)
{
    soft_destroy(bed->soft);
    particle_balls_finish(&bed->balls);
}

static void bed_tick(Bed *bed)
{
    const f32 h = SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS;
    Collider balls = particle_balls(&bed->balls);
    soft_begin(bed->soft, (SoftOthers){&balls, 1}, NULL, SOFT_KIT_TICK_S);
    for (u32 s = 0; s < SOFT_KIT_SUBSTEPS; s++) {
        for (u32 i = 0; i < BALLS; i++) {
            bed->positions[i] = vec3_add_scaled(bed->positions[i], h, bed->velocities[i]);
        }
        soft_substep(bed->soft, h);
    }
}

static void add(f64 sum[6], f64 m, Vec3 x, Vec3 v)
{
    Vec3 turning = vec3_cross(x, v);
    const f32 parts[6] = {v.x, v.y, v.z, turning.x, turning.y, turning.z};
    for (u32 k = 0; k < 6; k++) {
        sum[k] += m * (f64)parts[k];
    }
}

/* Momentum and angular momentum about the origin. */
static void bed_momentum(const Bed *bed, f64 sum[6])
{
    memset(sum, 0, 6 * sizeof *sum);
    for (u32 i = 0; i < BALLS; i++) {
        add(sum, 1.0 / (f64)bed->set.inverse_mass, bed->positions[i], bed->velocities[i]);
    }
    for (u32 i = 0; i < soft_particles(bed->soft); i++) {
        add(sum, 1.0 / (f64)soft_inverse_mass(bed->soft, i), soft_position(bed->soft, i),
            soft_velocity(bed->soft, i));
    }
}

/* m, least distance of a point of the cloth from a ball's centre. */
static f32 nearest(const Bed *bed)
{
    f32 least = INFINITY;
    for (u32 i = 0; i < soft_particles(bed->soft); i++) {
        for (u32 b = 0; b < BALLS; b++) {
            f32 distance = vec3_distance(soft_position(bed->soft, i), bed->positions[b]);
            least = f32_min(least, distance);
        }
    }
    return least;
}

static void a_cloth_lies_on_balls(void **unused)
{
    PL_UNUSED(unused);
    Bed bed;
    bed_make(&bed, 9.81f, 0.0f);
    f32 thickness = soft_kit_cloth_def().thickness, least = INFINITY;
    for (u32 i = 0; i < 120; i++) {
        bed_tick(&bed);
        least = f32_min(least, nearest(&bed));
    }
    f32 lowest = INFINITY;
    for (u32 i = 0; i < soft_particles(bed.soft); i++) {
        lowest = f32_min(lowest, soft_position(bed.soft, i).y);
    }
    printf("nearest %.4f m of %.4f, lowest %.3f m\n", (f64)least, (f64)(0.045f + thickness),
           (f64)lowest);
    assert_true(least > 0.98f * (0.045f + thickness));
    assert_true(lowest > -0.5f); /* it hangs over the rim, but has not fallen through */
    bed_free(&bed);
}

/* What the cloth loses the balls receive. */
static void momentum_passes_to_balls(void **unused)
{
    PL_UNUSED(unused);
    Bed bed;
    f64 before[6], after[6];
    bed_make(&bed, 0.0f, 0.01f);
    for (u32 i = 0; i < BALLS; i++) {
        bed.velocities[i] = vec3(0.3f, 2.0f, -0.2f * (f32)(i % 5));
    }
    bed_momentum(&bed, before);
    for (u32 i = 0; i < 40; i++) {
        bed_tick(&bed);
    }
    bed_momentum(&bed, after);
    f64 cloth = 0.0;
    for (u32 i = 0; i < soft_particles(bed.soft); i++) {
        cloth += (f64)soft_velocity(bed.soft, i).y / soft_particles(bed.soft);
    }
    for (u32 k = 0; k < 6; k++) {
        printf("%s %u: %.6f, then %.6f\n", k < 3 ? "momentum" : "angular", k % 3, before[k],
               after[k]);
        assert_true(fabs(after[k] - before[k]) < 2e-5);
    }
    assert_true(cloth > 0.5); /* the balls have carried it along */
    bed_free(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_cloth_lies_on_balls),
                                       cmocka_unit_test(momentum_passes_to_balls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
