/* test_liquid.c: liquids against hydrostatics: level and density at rest, pressure on walls,
 * draught of floating boxes, communicating vessels; sleep, momentum. */
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static const f32 g = 9.81f;

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    FLOATS = 1, /* of the boxes that float: sanitizers are slow */
#else
    FLOATS = 3,
#endif
};

/* A tank of n × deep × n spacings filled with water. */
static LiquidKit tank_of(f32 d, u32 n, u32 deep)
{
    LiquidDef def = liquid_kit_water(d, n * n * deep);
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3((f32)n * d, 3.0f * (f32)deep * d, (f32)n * d));
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    return kit;
}

static f64 level_of(const LiquidKit *kit)
{
    return liquid_kit_level(kit, vec3(-9.0f, -9.0f, -9.0f), vec3(9.0f, 9.0f, 9.0f), 0.0f);
}

/* Energy, J: a fill must not jump up when it is let go. */
static f64 energy_of(const LiquidKit *kit)
{
    LiquidSums sums = liquid_sums(kit->liquid, kit->gravity);
    return sums.kinetic + sums.potential;
}

/* Energy never exceeds the initial one by 1 %; density is within 1 % on average and 10 % anywhere;
 * the level matches the volume within 1 %, and is constant; then it sleeps, and wakes when
 * pushed. */
static void tank_keeps_its_level(void **state)
{
    PL_UNUSED(state);
    static const struct {
        f32 d;
        u32 n, deep;
    } rows[] = {{0.02f, 12, 12}, {0.05f, 12, 16}, {0.01f, 12, 10}};
    for (u32 r = 0; r < PL_COUNT(rows); r++) {
        LiquidKit kit = tank_of(rows[r].d, rows[r].n, rows[r].deep);
        f64 filled = (f64)rows[r].d * rows[r].deep, low, high;
        f64 start = energy_of(&kit);
        for (u32 t = 0; t < 150; t++) {
            liquid_kit_tick(&kit);
            assert_true(energy_of(&kit) < 1.01 * start);
        }
        low = high = level_of(&kit);
        for (u32 t = 0; t < 1200 && liquid_awake(kit.liquid); t++) {
            liquid_kit_tick(&kit);
            LiquidStats stats = liquid_stats(kit.liquid);
            f64 level = level_of(&kit);
            low = fmin(low, level);
            high = fmax(high, level);
            assert_true(stats.density_error < 0.01f);
            assert_true(stats.density_error_max < 0.10f);
        }
        print_message("d %.3f: level %.4f to %.4f of %.4f m, asleep %d\n", (f64)rows[r].d, low,
                      high, filled, !liquid_awake(kit.liquid));
        assert_true(fabs(low / filled - 1.0) < 0.01 && fabs(high / filled - 1.0) < 0.01);
        assert_true(high - low < 0.01 * filled);
        assert_false(liquid_awake(kit.liquid));
        assert_null(liquid_validate(kit.liquid));
        liquid_push(kit.liquid, vec3(0.0f, 0.0f, 0.0f), 10.0f, vec3(0.1f, 0.0f, 0.0f));
        assert_true(liquid_awake(kit.liquid));
        liquid_kit_free(&kit);
    }
}

/* ---- pressure ---- */

enum {
    BINS = 6
};

/* The half-space x < 0 as a practically immovable thing that sums the impulses on it by height. */
typedef struct Plate {
    f32 bin; /* m, height of a bin */
    f64 impulse[BINS];
} Plate;

static void plate_nothing(void *of, Jobs *jobs, f32 s)
{
    PL_UNUSED(of);
    PL_UNUSED(jobs);
    PL_UNUSED(s);
}

static u32 plate_overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    PL_UNUSED(of);
    PL_UNUSED(group);
    PL_UNUSED(mask);
    things[0] = 0;
    return bounds.min.x < 0.0f && capacity != 0;
}

static bool plate_take(void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return true;
}

static void plate_step(void *of, f32 h)
{
    PL_UNUSED(of);
    PL_UNUSED(h);
}

static void plate_end(void *of)
{
    PL_UNUSED(of);
}

static f32 plate_distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    PL_UNUSED(reach);
    *normal = vec3(1.0f, 0.0f, 0.0f);
    return point.x;
}

static Vec3 plate_velocity(const void *of, u32 thing, Vec3 point)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    PL_UNUSED(point);
    return vec3_zero();
}

static f32 plate_friction(const void *of, u32 thing)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return 0.0f;
}

static bool plate_may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    PL_UNUSED(of);
    PL_UNUSED(thing);
    return particle->position.x < particle->radius + 10.0f * h;
}

static bool plate_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                       ContactPlace *place)
{
    PL_UNUSED(of);
    *place = (ContactPlace){.thing = thing, .normal = {1.0f, 0.0f, 0.0f}, .keeps = true};
    place->arm = particle->position;
    place->distance = particle->position.x + h * particle->velocity.x;
    return place->distance < particle->radius;
}

static f32 plate_inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    PL_UNUSED(of);
    PL_UNUSED(place);
    PL_UNUSED(direction);
    return 1e-12f;
}

static void plate_impulse(void *of, const ContactPlace *place, Vec3 impulse)
{
    Plate *plate = of;
    /* Shared by the two nearest bins: layers of particles may lie on the border of bins. */
    f32 bin = place->arm.y / plate->bin - 0.5f, part = bin - floorf(bin);
    if (bin >= 0.0f && bin < (f32)(BINS - 1)) {
        plate->impulse[(u32)bin] -= (f64)((1.0f - part) * impulse.x);
        plate->impulse[(u32)bin + 1] -= (f64)(part * impulse.x);
    }
}

static const ColliderOps plate_ops = {.name = "plate",
                                      .begin = plate_nothing,
                                      .overlaps = plate_overlaps,
                                      .take = plate_take,
                                      .substep_begin = plate_step,
                                      .step_begin = plate_step,
                                      .step_end = plate_step,
                                      .substep_end = plate_end,
                                      .distance = plate_distance,
                                      .velocity = plate_velocity,
                                      .friction = plate_friction,
                                      .may_meet = plate_may_meet,
                                      .meet = plate_meet,
                                      .inverse_mass = plate_inverse_mass,
                                      .impulse = plate_impulse};

/* p = ρ g (level − y) on a wall, at three depths, within 5 %. */
static void pressure_grows_with_depth(void **state)
{
    PL_UNUSED(state);
    f32 d = 0.02f;
    u32 n = 10, deep = 24;
    LiquidDef def = liquid_kit_water(d, n * n * deep);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, t = 0.5f, high = 1.0f;
    liquid_kit_wall(&kit, vec3(-t, -t, -t), vec3(side + t, 0.0f, side + t));
    liquid_kit_wall(&kit, vec3(side, 0.0f, -t), vec3(side + t, high, side + t));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, -t), vec3(side, high, 0.0f));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, side), vec3(side, high, side + t));
    Plate plate = {.bin = 5.0f * d};
    kit.extra = (Collider){&plate_ops, &plate};
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    liquid_kit_run(&kit, 3.0f);
    plate = (Plate){.bin = 5.0f * d};
    f32 span = 2.0f;
    liquid_kit_run(&kit, span);
    f64 level = level_of(&kit), worst = 0.0;
    for (u32 b = 1; b <= 3; b++) { /* not at the bottom's edge, nor at the surface */
        f64 y = (b + 0.5) * (f64)plate.bin;
        f64 area = (f64)plate.bin * (f64)side;
        f64 pressure = plate.impulse[b] / (f64)span / area, expected = 1000.0 * 9.81 * (level - y);
        print_message("depth %.3f m: %.0f Pa, expected %.0f\n", level - y, pressure, expected);
        worst = fmax(worst, fabs(pressure / expected - 1.0));
    }
    assert_true(worst < 0.05);
    liquid_kit_free(&kit);
}

/* ---- floating ---- */

/* A flat box of relative density r (a cube would turn over) sinks in by r of its height, within
 * 5 %. */
static void box_floats_at_its_draught(void **state)
{
    PL_UNUSED(state);
    static const f32 densities[] = {0.5f, 0.3f, 0.8f};
    for (u32 r = 0; r < FLOATS; r++) {
        f32 d = 0.02f, half = 0.1f, wide = 0.14f;
        u32 n = 22, deep = 16;
        LiquidKit kit = tank_of(d, n, deep);
        f32 middle = 0.5f * (f32)n * d;
        BodyDef def = kit_box(vec3(middle, (f32)deep * d + half, middle), vec3(wide, half, wide));
        def.mass_kg = 1000.0f * densities[r] * 8.0f * wide * half * wide;
        u32 box = kit_add(kit.rigid, &def);
        liquid_kit_run(&kit, 4.0f);
        f64 y = 0.0, momentum = 0.0;
        for (u32 t = 0; t < 120; t++) {
            liquid_kit_tick(&kit);
            y += (f64)rigid_position(kit.rigid, box).y / 120.0;
            momentum += (f64)rigid_velocity(kit.rigid, box).y / 120.0;
        }
        /* The water displaced lifts the level: volume over the area. */
        f64 area = (f64)n * (f64)d * (f64)n * (f64)d, size = 2.0 * (f64)half;
        f64 level =
            (f64)deep * (f64)d + (f64)densities[r] * size * 4.0 * (f64)wide * (f64)wide / area;
        f64 draught = (level - (y - (f64)half)) / size;
        print_message("density %.1f: draught %.3f, drifts %.4f m/s\n", (f64)densities[r], draught,
                      momentum);
        assert_true(fabs(draught / (f64)densities[r] - 1.0) < 0.05);
        liquid_kit_free(&kit);
    }
}

/* ---- vessels ---- */

static void vessels_level_out(void **state)
{
    PL_UNUSED(state);
    f32 d = 0.025f, side = 10.0f * d, thick = 2.0f * d, gap = 5.0f * d;
    LiquidDef def = liquid_kit_water(d, 10 * 10 * 22);
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&kit, vec3(2.0f * side + thick, 1.5f, side));
    liquid_kit_wall(&kit, vec3(side, gap, -0.1f), vec3(side + thick, 1.5f, side + 0.1f));
    liquid_kit_fill(&kit, 0, vec3_zero(), 10, 22, 10);
    liquid_kit_run(&kit, 12.0f);
    f64 left = liquid_kit_level(&kit, vec3_zero(), vec3(side, 9.0f, side), 0.0f);
    f64 right = liquid_kit_level(&kit, vec3(side + thick, 0.0f, 0.0f),
                                 vec3(2.0f * side + thick, 9.0f, side), 0.0f);
    print_message("levels %.4f and %.4f m\n", left, right);
    assert_true(fabs(left - right) < 0.5 * (f64)d);
    liquid_kit_free(&kit);
}

/* ---- laws of the solver ---- */

/* A blob and boxes in flight keep their momentum to rounding. */
static void momentum_is_exchanged(void **state)
{
    PL_UNUSED(state);
    f32 d = 0.02f;
    LiquidDef def = liquid_kit_water(d, 1000);
    def.phases[0].surface_tension = 0.07f;
    LiquidKit kit = liquid_kit_make(&def, 0.0f);
    liquid_kit_fill(&kit, 0, vec3_zero(), 10, 10, 10);
    for (u32 k = 0; k < 3; k++) {
        f32 half = 0.05f;
        BodyDef box = kit_box(vec3(0.1f + 0.12f * ((f32)k - 1.0f), 0.5f + 0.1f * (f32)k, 0.1f),
                              vec3(half, half, half));
        box.mass_kg = 0.3f + 0.4f * (f32)k;
        box.velocity = vec3(0.2f * (f32)k, -3.0f, 0.1f);
        kit_add(kit.rigid, &box);
    }
    f64 before[3], scale = 0.0;
    LiquidSums sums = liquid_sums(kit.liquid, vec3_zero());
    KitMotion bodies = kit_motion(kit.rigid);
    for (u32 k = 0; k < 3; k++) {
        before[k] = sums.momentum[k] + bodies.momentum[k];
        scale = fmax(scale, fabs(before[k]));
    }
    liquid_kit_run(&kit, 1.0f);
    LiquidSums after = liquid_sums(kit.liquid, vec3_zero());
    bodies = kit_motion(kit.rigid);
    assert_true(fabs(after.momentum[1]) > 0.1 * scale); /* they have met */
    for (u32 k = 0; k < 3; k++) {
        f64 change = after.momentum[k] + bodies.momentum[k] - before[k];
        print_message("momentum changed by %.2e of %.2f kg m/s\n", change, scale);
        assert_true(fabs(change) < 1e-5 * scale);
    }
    liquid_kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tank_keeps_its_level),      cmocka_unit_test(pressure_grows_with_depth),
        cmocka_unit_test(box_floats_at_its_draught), cmocka_unit_test(vessels_level_out),
        cmocka_unit_test(momentum_is_exchanged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
