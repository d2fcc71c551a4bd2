/* test_smoke_air.c: air on a grid as the wind of cloth: what cloth takes the air loses, it comes to
 * rest in the air, not beyond, and falls as fast as its drag lets it. */
#include "server/physics/grid/smoke.h"
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const f32 tick_s = SOFT_KIT_TICK_S;

/* A periodic room of 1.6 m with air of one velocity. */
static Smoke *room(u32 dims, f32 spacing, Vec3 wind)
{
    SmokeDef def = smoke_default();
    def.dims = dims;
    def.spacing = spacing;
    def.depth = 1.6f;
    def.awake = def.wind = true;
    for (u32 a = 0; a < 3; a++) {
        def.cells[a] = a < dims ? (u32)(1.6f / spacing + 0.5f) : 1;
        def.sides[2 * a].kind = def.sides[2 * a + 1].kind = SMOKE_PERIODIC;
    }
    Smoke *smoke = smoke_create(&def, NULL);
    assert_non_null(smoke);
    const f32 parts[3] = {wind.x, wind.y, wind.z};
    for (u32 z = 0; z < def.cells[2]; z++) {
        for (u32 y = 0; y < def.cells[1]; y++) {
            for (u32 x = 0; x < def.cells[0]; x++) {
                for (u32 c = 0; c < dims; c++) {
                    smoke_set_velocity(smoke, c, x, y, z, parts[c]);
                }
            }
        }
    }
    return smoke;
}

/* A square of cloth of 0.5 m in the middle, in the air without gravity. */
static SoftRange sheet(SoftKit *kit, f32 density)
{
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = density * 0.25f;
    def.damping = 0.0f;
    def.position = vec3(0.8f, 0.8f, 0.8f);
    return soft_kit_add_cloth(kit, &def, 9, 9, 0.5f, 0.5f);
}

/* And still is in the next tick, at 60 m/s. */
static bool is_inside(const SoftKit *kit, SoftRange range)
{
    Vec3 at = soft_kit_mean_position(kit, range), v = soft_kit_mean_velocity(kit, range);
    Vec3 next = vec3_add_scaled(at, 2.0f * tick_s, v);
    return next.x > 0.4f && next.x < 1.2f && next.y > 0.4f && next.y < 1.2f && next.z > 0.4f &&
           next.z < 1.2f;
}

static void tick(SoftKit *kit, Smoke *smoke)
{
    Medium medium = smoke_medium(smoke);
    assert_non_null(medium.ops);
    soft_set_media(kit->soft, &medium, 1);
    soft_kit_ticks(kit, 1);
}

/* Sizes of cells and speeds over wide ranges: in each exchange the sum of both momenta stays. */
static void what_cloth_takes_air_loses(void **state)
{
    PL_UNUSED(state);
    u32 exchanges = 0;
    f64 worst = 0.0;
    for (u32 i = 0; i < 24; i++) {
        u32 dims = 2 + i % 2;
        f32 spacing = i % 3 == 0 ? 0.2f : i % 3 == 1 ? 0.1f : 0.05f;
        f32 speed = i < 8 ? 0.3f : i < 16 ? 5.0f : 60.0f;
        Vec3 wind = vec3_scale(vec3(random_range(5, 3 * i, -1.0f, 1.0f),
                                    random_range(5, 3 * i + 1, -1.0f, 1.0f),
                                    random_range(5, 3 * i + 2, -1.0f, 1.0f)),
                               speed);
        Smoke *smoke = room(dims, spacing, wind);
        SoftKit kit = soft_kit_create(vec3_zero());
        soft_set_wind(kit.soft, vec3(9.0f, 9.0f, 9.0f), 1.2f); /* is not felt in the air */
        f32 density = i % 4 == 0 ? 0.01f : 0.3f, kit_mass = density * 0.25f;
        SoftRange range = sheet(&kit, density);
        for (u32 t = 0; t < 20 && is_inside(&kit, range); t++) {
            f64 before[3], after[3];
            SmokeSums air = smoke_sums(smoke);
            soft_kit_momentum(&kit, before);
            tick(&kit, smoke);
            SmokeSums left = smoke_sums(smoke);
            soft_kit_momentum(&kit, after);
            f64 scale = (f64)kit_mass * (fabs((f64)speed) + 1.0);
            for (u32 c = 0; c < 3; c++) {
                f64 change = after[c] - before[c] + left.momentum[c] - air.momentum[c];
                worst = fmax(worst, fabs(change) / scale);
            }
            exchanges++;
            smoke_step(smoke, tick_s, vec3_zero(), NULL, 0, NULL);
        }
        assert_null(smoke_validate(smoke));
        soft_validate(kit.soft);
        soft_kit_destroy(&kit);
        smoke_destroy(smoke);
    }
    print_message("%u exchanges, off by %.2g of the momentum\n", exchanges, worst);
    assert_true(exchanges > 200 && worst < 1e-5);
}

/* A sheet of 2 g in the air of a room comes to the air's speed along its normal, and does not swing
 * about it, however small the cells. */
static void light_cloth_goes_with_the_air(void **state)
{
    PL_UNUSED(state);
    static const f32 spacings[] = {0.2f, 0.1f, 0.05f, 0.025f};
    for (u32 k = 0; k < PL_COUNT(spacings); k++) {
        Smoke *smoke = room(3, spacings[k], vec3(0.0f, 0.0f, 1.0f));
        SoftKit kit = soft_kit_create(vec3_zero());
        soft_set_wind(kit.soft, vec3_zero(), 1.2f);
        SoftRange range = sheet(&kit, 0.01f);
        f32 fastest = 0.0f;
        for (u32 t = 0; t < 40; t++) {
            tick(&kit, smoke);
            smoke_step(smoke, tick_s, vec3_zero(), NULL, 0, NULL);
            fastest = f32_max(fastest, soft_kit_mean_velocity(&kit, range).z);
        }
        f32 speed = soft_kit_mean_velocity(&kit, range).z;
        print_message("cells of %.3f m: cloth at %.3f m/s, at most %.3f\n", (f64)spacings[k],
                      (f64)speed, (f64)fastest);
        assert_true(speed > 0.85f && speed < 1.01f && fastest < 1.02f);
        soft_kit_destroy(&kit);
        smoke_destroy(smoke);
    }
}

/* In air that is kept still: dv/dt = g − k v, k = ρ / (kg/m²), so v = g / k (1 − exp(−k t)). */
static void cloth_falls_at_its_terminal_speed(void **state)
{
    PL_UNUSED(state);
    const u32 ticks = 20;
    Smoke *smoke = room(3, 0.2f, vec3_zero());
    SoftKit kit = soft_kit_create(vec3(0.0f, 0.0f, -2.0f));
    soft_set_wind(kit.soft, vec3_zero(), 1.2f);
    SoftRange range = sheet(&kit, 0.2f);
    for (u32 t = 0; t < ticks; t++) {
        smoke_clear(smoke);
        tick(&kit, smoke);
    }
    f64 k = 1.2 / 0.2, exact = 2.0 / k * (1.0 - exp(-k * ticks / 60.0));
    f64 speed = -(f64)soft_kit_mean_velocity(&kit, range).z;
    print_message("falls at %.4f m/s, exact %.4f in still air\n", speed, exact);
    assert_true(speed > 0.95 * exact && speed < 1.05 * exact);
    soft_kit_destroy(&kit);
    smoke_destroy(smoke);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cloth_takes_air_loses),
                                       cmocka_unit_test(light_cloth_goes_with_the_air),
                                       cmocka_unit_test(cloth_falls_at_its_terminal_speed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
