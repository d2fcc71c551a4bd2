/*
 * test_soft_match.c: shape matching against rigid motions, conservation laws and its specification.
 */
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const u32 cells[3] = {3, 4, 2};

static SoftDef match_def(SoftMatch match)
{
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = 2.0f;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.match = match;
    return def;
}

static SoftRange add_block(SoftKit *kit, SoftDef *def)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_box(&mesh, vec3(0.6f, 0.8f, 0.4f), cells, true, &error), 0);
    return soft_kit_add(kit, def, &mesh);
}

static Vec3 random_vector(u32 seed, u32 i, f32 size)
{
    return vec3(random_range(seed, 3 * i, -size, size), random_range(seed, 3 * i + 1, -size, size),
                random_range(seed, 3 * i + 2, -size, size));
}

static void add_velocity(Soft *soft, u32 particle, Vec3 v)
{
    soft_impulse(soft, particle, vec3_scale(v, 1.0f / soft_inverse_mass(soft, particle)));
}

static f64 kinetic(const Soft *soft, SoftRange range)
{
    f64 sum = 0.0;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        f64 v = (f64)vec3_length(soft_velocity(soft, i));
        sum += 0.5 * v * v / (f64)soft_inverse_mass(soft, i);
    }
    return sum;
}

/* Σ m x × v */
static void spin_of(const Soft *soft, SoftRange range, f64 sum[3])
{
    memset(sum, 0, 3 * sizeof *sum);
    for (u32 i = range.first; i < range.first + range.count; i++) {
        Vec3 x = soft_position(soft, i), v = soft_velocity(soft, i);
        f64 m = 1.0 / (f64)soft_inverse_mass(soft, i);
        sum[0] += m * ((f64)x.y * (f64)v.z - (f64)x.z * (f64)v.y);
        sum[1] += m * ((f64)x.z * (f64)v.x - (f64)x.x * (f64)v.z);
        sum[2] += m * ((f64)x.x * (f64)v.y - (f64)x.y * (f64)v.x);
    }
}

/* Largest deviation of the distance between any two points from that at rest. */
static f32 distortion(const Soft *soft, SoftRange range, const Vec3 *rest)
{
    f32 worst = 0.0f;
    for (u32 i = 0; i < range.count; i++) {
        for (u32 j = 0; j < i; j++) {
            f32 now = vec3_distance(soft_position(soft, range.first + i),
                                    soft_position(soft, range.first + j));
            worst = f32_max(worst, fabsf(now - vec3_distance(rest[i], rest[j])));
        }
    }
    return worst;
}

static void copy_positions(const Soft *soft, SoftRange range, Vec3 rest[128])
{
    assert_true(range.count <= 128);
    for (u32 i = 0; i < range.count; i++) {
        rest[i] = soft_position(soft, range.first + i);
    }
}

/* Every particle reaches its place under a random rotation and translation in one step: matching
 * must find nothing to do. */
static void recovers_rigid_motions(void **unused)
{
    PL_UNUSED(unused);
    static const SoftMatch kinds[] = {SOFT_MATCH_RIGID, SOFT_MATCH_LINEAR, SOFT_MATCH_QUADRATIC};
    f32 worst = 0.0f;
    for (u32 k = 0; k < 60; k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = match_def(kinds[k % 3]);
        def.match_beta = k % 2 == 0 ? 0.8f : 0.0f;
        SoftRange range = add_block(&kit, &def);
        Quat q = {random_range(k, 1, -1, 1), random_range(k, 2, -1, 1), random_range(k, 3, -1, 1),
                  random_range(k, 4, -1, 1)};
        Vec3 shift = random_vector(100 + k, 0, 0.05f);
        q = quat_normalize(q);
        f32 h = SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS;
        soft_set_steps(kit.soft, 1);
        /* Small, as no particle exceeds 100 m/s. */
        Vec3 rest[128], wanted[128];
        copy_positions(kit.soft, range, rest);
        for (u32 i = 0; i < range.count; i++) {
            Vec3 to = quat_rotate(quat_nlerp(quat_identity(), q, 0.05f), rest[i]);
            wanted[i] = vec3_scale(vec3_sub(vec3_add(to, shift), rest[i]), 1.0f / h);
            add_velocity(kit.soft, range.first + i, wanted[i]);
        }
        soft_begin(kit.soft, (SoftOthers){0}, NULL, SOFT_KIT_TICK_S);
        soft_substep(kit.soft, h);
        for (u32 i = 0; i < range.count; i++) {
            Vec3 to = vec3_add_scaled(rest[i], h, wanted[i]);
            worst = f32_max(worst, vec3_distance(soft_position(kit.soft, range.first + i), to));
        }
        soft_kit_destroy(&kit);
    }
    printf("60 rigid motions of 0.8 m: off by at most %.1e m\n", (double)worst);
    assert_true(worst < 1e-6f);
}

/* From any positions of the particles, one step with full stiffness restores the rest shape. */
static void restores_the_shape(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftDef def = match_def(SOFT_MATCH_RIGID);
    SoftRange range = add_block(&kit, &def);
    Vec3 rest[128];
    copy_positions(kit.soft, range, rest);
    for (u32 i = 0; i < range.count; i++) {
        add_velocity(kit.soft, range.first + i, random_vector(7, i, 60.0f));
    }
    soft_kit_ticks(&kit, 1);
    f32 left = distortion(kit.soft, range, rest);
    printf("after kicks of 60 m/s: distances off by at most %.1e m\n", (double)left);
    assert_true(left < 3e-6f);
    soft_kit_destroy(&kit);
}

static void keeps_both_momenta(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        const char *name;
        SoftMatch match;
        f32 beta, stiffness, yield;
    } cases[] = {{"rigid", SOFT_MATCH_RIGID, 0.0f, 1.0f, 0.0f},
                 {"linear", SOFT_MATCH_LINEAR, 0.9f, 0.3f, 0.0f},
                 {"quadratic", SOFT_MATCH_QUADRATIC, 0.9f, 0.3f, 0.0f},
                 {"plastic", SOFT_MATCH_LINEAR, 0.5f, 0.05f, 0.01f}};
    for (u32 k = 0; k < PL_COUNT(cases); k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = match_def(cases[k].match);
        def.match_beta = cases[k].beta;
        def.match_stiffness = cases[k].stiffness;
        def.yield = cases[k].yield;
        def.creep = 20.0f;
        def.plastic_max = 0.5f;
        SoftRange range = add_block(&kit, &def);
        f64 scale = 0.0, before[3], after[3], angular_velocity[3], later[3];
        for (u32 i = 0; i < range.count; i++) {
            Vec3 x = soft_position(kit.soft, range.first + i);
            Vec3 v = vec3_cross(vec3(0.5f, 1.5f, -1.0f), x);
            v = vec3_add(v, vec3_add(random_vector(3, i, 1.0f), vec3(0.1f, 0.0f, 0.2f)));
            add_velocity(kit.soft, range.first + i, v);
            scale += (f64)vec3_length(v) / (f64)soft_inverse_mass(kit.soft, i);
        }
        soft_kit_momentum(&kit, before);
        spin_of(kit.soft, range, angular_velocity);
        soft_kit_ticks(&kit, 60);
        soft_kit_momentum(&kit, after);
        spin_of(kit.soft, range, later);
        f64 momentum = soft_kit_drift(before, after, scale);
        f64 angular = soft_kit_drift(angular_velocity, later, scale * 0.5);
        printf("%s: in 1440 steps momentum changed by %.1e, angular momentum by %.1e\n",
               cases[k].name, momentum, angular);
        assert_true(momentum < 2e-6);
        assert_true(angular < 1e-4);
        soft_kit_destroy(&kit);
    }
}

/* A rotating body keeps rotating, at about the same rate. */
static void spins_on(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftDef def = match_def(SOFT_MATCH_RIGID);
    def.angular_velocity = vec3(0.0f, 0.0f, 6.0f);
    SoftRange range = add_block(&kit, &def);
    f64 angular_velocity[3], later[3], energy = kinetic(kit.soft, range);
    spin_of(kit.soft, range, angular_velocity);
    soft_kit_ticks(&kit, 60);
    spin_of(kit.soft, range, later);
    f64 left = later[2] / angular_velocity[2], energy_left = kinetic(kit.soft, range) / energy;
    printf("6 rad/s for 1 s: %.5f of the angular momentum, %.5f of the energy left\n", left,
           energy_left);
    assert_true(fabs(left - 1.0) < 1e-4 && fabs(energy_left - 1.0) < 1e-3);
    soft_kit_destroy(&kit);
}

/* A linear body keeps a volume-preserving stretch, a rigid one does not; quadratic ones bend. */
static f32 share_of_bend(SoftMatch match)
{
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftDef def = match_def(match);
    def.match_beta = 1.0f;
    SoftRange range = add_block(&kit, &def);
    soft_set_steps(kit.soft, 1);
    f32 h = SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS, asked = 0.0f, done = 0.0f;
    Vec3 middle = soft_kit_mean_position(&kit, range);
    for (u32 i = 0; i < range.count; i++) {
        Vec3 x = vec3_sub(soft_position(kit.soft, range.first + i), middle);
        Vec3 v = vec3(0.3f * (x.y * x.y) / h, 0.0f, 0.0f);
        add_velocity(kit.soft, range.first + i, v);
    }
    Vec3 mean = soft_kit_mean_velocity(&kit, range);
    Vec3 old[128];
    for (u32 i = 0; i < range.count; i++) {
        old[i] = vec3_sub(soft_velocity(kit.soft, range.first + i), mean);
    }
    soft_begin(kit.soft, (SoftOthers){0}, NULL, SOFT_KIT_TICK_S);
    soft_substep(kit.soft, h);
    mean = soft_kit_mean_velocity(&kit, range);
    for (u32 i = 0; i < range.count; i++) {
        Vec3 v = vec3_sub(soft_velocity(kit.soft, range.first + i), mean);
        asked += vec3_dot(old[i], old[i]);
        done += vec3_dot(old[i], v);
    }
    soft_kit_destroy(&kit);
    return done / asked;
}

static void bends_only_if_quadratic(void **unused)
{
    PL_UNUSED(unused);
    f32 rigid = share_of_bend(SOFT_MATCH_RIGID), linear = share_of_bend(SOFT_MATCH_LINEAR);
    f32 quadratic = share_of_bend(SOFT_MATCH_QUADRATIC);
    printf("of a bend are left: rigid %.4f, linear %.4f, quadratic %.4f\n", (double)rigid,
           (double)linear, (double)quadratic);
    assert_true(rigid < 0.02f && linear < 0.02f);
    assert_true(quadratic > 0.98f && quadratic < 1.02f);
}

/* Height of a block after a press flattened it for a second and was removed. */
static f32 height_after_press(f32 yield, f32 plastic_max)
{
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftDef def = match_def(SOFT_MATCH_LINEAR);
    def.match_beta = 0.5f;
    def.match_stiffness = 0.02f;
    def.yield = yield;
    def.creep = 50.0f;
    def.plastic_max = plastic_max;
    def.damping = 5.0f;
    SoftRange range = add_block(&kit, &def);
    for (u32 tick = 0; tick < 240; tick++) {
        for (u32 i = range.first; i < range.first + range.count && tick < 60; i++) {
            f32 z = soft_position(kit.soft, i).z;
            add_velocity(kit.soft, i, vec3(0.0f, 0.0f, -20.0f * z));
        }
        soft_kit_ticks(&kit, 1);
    }
    f32 low = 1e9f, high = -1e9f;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        low = f32_min(low, soft_position(kit.soft, i).z);
        high = f32_max(high, soft_position(kit.soft, i).z);
    }
    f32 volume = soft_volume(kit.soft, range.body);
    printf("yield %.2f, at most %.2f: height %.4f of 0.4 m, volume %.4f of 0.192 m3\n",
           (double)yield, (double)plastic_max, (double)(high - low), (double)volume);
    assert_float_equal(volume, 0.192f, 2e-3f);
    soft_kit_destroy(&kit);
    return high - low;
}

static void dents_stay(void **unused)
{
    PL_UNUSED(unused);
    assert_float_equal(height_after_press(0.0f, 0.0f), 0.4f, 1e-3f);
    assert_float_equal(height_after_press(5.0f, 1.0f), 0.4f, 1e-3f); /* never yields */
    f32 dent = height_after_press(0.05f, 1.0f), bounded = height_after_press(0.05f, 0.1f);
    assert_true(dent < 0.35f);
    assert_true(bounded > dent + 0.02f && bounded < 0.38f);
}

/* A flat sheet does not span the third direction, and a thread not the second. */
static void holds_flat_shapes(void **unused)
{
    PL_UNUSED(unused);
    for (u32 k = 0; k < 4; k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftMesh mesh;
        ErrorText error;
        SoftDef def = match_def(k / 2 == 0 ? SOFT_MATCH_LINEAR : SOFT_MATCH_QUADRATIC);
        def.match_beta = 0.5f;
        def.yield = 0.1f;
        def.creep = 1.0f;
        def.plastic_max = 0.3f;
        int result = k % 2 == 0 ? soft_mesh_grid(&mesh, 8, 6, 1.0f, 0.7f, &error)
                                : soft_mesh_rope(&mesh, 9, 1.0f, &error);
        assert_int_equal(result, 0);
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        Vec3 rest[128];
        copy_positions(kit.soft, range, rest);
        for (u32 i = 0; i < range.count; i++) {
            add_velocity(kit.soft, range.first + i, random_vector(7, i, 0.3f));
        }
        soft_kit_ticks(&kit, 120);
        f32 left = distortion(kit.soft, range, rest);
        printf("%s: distances off by %.4f m\n", k % 2 == 0 ? "sheet" : "thread", (double)left);
        assert_true(left < 0.02f);
        soft_kit_destroy(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_rigid_motions),  cmocka_unit_test(restores_the_shape),
        cmocka_unit_test(keeps_both_momenta),      cmocka_unit_test(spins_on),
        cmocka_unit_test(bends_only_if_quadratic), cmocka_unit_test(dents_stay),
        cmocka_unit_test(holds_flat_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
