/* test_smoke_air.c: air on a grid as the wind of cloth and particles: the air loses the momentum
 * that they gain, they come to rest in the air without overshoot, and fall at their terminal
 * speed. */
#include "server/physics/grid/smoke.h"
#include "server/physics/particles/particles.h"
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

/* ---- particles ---- */

enum {
    MOTES = 32
};

typedef struct Cloud {
    Particles *particles;
    ParticleStart starts[MOTES];
} Cloud;

static ParticlesDef cloud_def(f32 drag, f32 mass, u32 integrator)
{
    ParticlesDef def = particles_def_default();
    def.count = 4 * MOTES;
    def.lifetime_s = -1.0f;
    def.drag = drag;
    def.mass_kg = mass;
    def.integrator = (ParticleIntegrator)integrator;
    return def;
}

/* Particles at rest in the middle of the room, within half a metre. */
static void cloud_make(Cloud *cloud, ParticlesDef *def, Vec3 gravity)
{
    ErrorText error = {.text = ""};
    u32 system;
    for (u32 i = 0; i < MOTES; i++) {
        cloud->starts[i] = (ParticleStart){vec3(random_range(9, 3 * i, 0.55f, 1.05f),
                                                random_range(9, 3 * i + 1, 0.55f, 1.05f),
                                                random_range(9, 3 * i + 2, 0.55f, 1.05f)),
                                           vec3_zero(), def->mass_kg};
    }
    def->starts = cloud->starts;
    def->start_count = MOTES;
    cloud->particles = particles_create();
    assert_non_null(cloud->particles);
    if (particles_add(cloud->particles, def, &system, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    particles_set_gravity(cloud->particles, gravity);
    particles_set_wind(cloud->particles, vec3(9.0f, 9.0f, 9.0f)); /* is not felt in the air */
}

static void cloud_tick(Cloud *cloud, Smoke *smoke)
{
    Medium medium = smoke_medium(smoke);
    particles_set_media(cloud->particles, &medium, 1);
    particles_begin(cloud->particles, NULL, 0, tick_s, NULL);
    for (u32 i = 0; i < 3; i++) {
        particles_substep(cloud->particles, tick_s / 3.0f);
    }
    particles_end(cloud->particles);
}

static f64 cloud_momentum(const Cloud *cloud, u32 axis)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < particles_slots(cloud->particles); i++) {
        Vec3 v = particles_velocity(cloud->particles, i);
        sum += (f64)particles_mass(cloud->particles, i) * (f64)(axis == 0   ? v.x
                                                                : axis == 1 ? v.y
                                                                            : v.z);
    }
    return sum;
}

/* All of it still is in the room after a tick. */
static bool cloud_is_inside(const Cloud *cloud)
{
    bool inside = true;
    for (u32 i = 0; i < particles_slots(cloud->particles); i++) {
        Vec3 at = particles_position(cloud->particles, i);
        at = vec3_add_scaled(at, 2.0f * tick_s, particles_velocity(cloud->particles, i));
        bool in =
            at.x > 0.0f && at.x < 1.6f && at.y > 0.0f && at.y < 1.6f && at.z > 0.0f && at.z < 1.6f;
        inside = inside && (in || !particles_is_alive(cloud->particles, i));
    }
    return inside;
}

/* Of the dust that is there and that appears, at any rate, within ticks. */
static void what_particles_take_air_loses(void **state)
{
    PL_UNUSED(state);
    f64 worst = 0.0;
    u32 exchanges = 0;
    for (u32 i = 0; i < 48; i++) {
        u32 dims = 2 + i % 2;
        f32 spacing = i % 3 == 0 ? 0.2f : i % 3 == 1 ? 0.1f : 0.05f;
        f32 speed = i < 16 ? 0.3f : i < 32 ? 5.0f : 60.0f, drag = 0.1f, mass = 1e-4f;
        for (u32 k = random_u64(7, i) % 5; k > 0; k--) {
            drag *= 10.0f; /* to 1000 / s */
        }
        for (u32 k = random_u64(8, i) % 4; k > 0; k--) {
            mass *= 10.0f; /* to 100 g, much more than the air's */
        }
        Vec3 wind = vec3_scale(vec3(random_range(5, 3 * i, -1.0f, 1.0f),
                                    random_range(5, 3 * i + 1, -1.0f, 1.0f),
                                    random_range(5, 3 * i + 2, -1.0f, 1.0f)),
                               speed);
        Smoke *smoke = room(dims, spacing, wind);
        ParticlesDef def = cloud_def(drag, mass, i % 4);
        def.position = vec3(0.8f, 0.8f, 0.8f);
        def.rate = 200.0f;
        def.direction = vec3(0.0f, 1.0f, 0.0f);
        def.spread_rad = def.speed_spread = 0.0f;
        def.speed = 2.0f;
        def.noise = i % 5 == 0 ? 0.5f * speed : 0.0f; /* moves with the air */
        Cloud cloud;
        cloud_make(&cloud, &def, vec3_zero());
        for (u32 t = 0; t < 6 && cloud_is_inside(&cloud); t++) {
            SmokeSums air = smoke_sums(smoke);
            f64 before[3], born = -(f64)particles_alive(cloud.particles, 0);
            for (u32 c = 0; c < 3; c++) {
                before[c] = cloud_momentum(&cloud, c);
            }
            cloud_tick(&cloud, smoke);
            born += (f64)particles_alive(cloud.particles, 0);
            SmokeSums left = smoke_sums(smoke);
            f64 scale = (f64)mass * (born + MOTES) * (fabs((f64)speed) + 2.0);
            for (u32 c = 0; c < 3; c++) {
                f64 change = cloud_momentum(&cloud, c) - before[c] + left.momentum[c] -
                             air.momentum[c] - (c == 1 ? 2.0 * (f64)mass * born : 0.0);
                worst = fmax(worst, fabs(change) / scale);
            }
            exchanges++;
            smoke_step(smoke, tick_s, vec3_zero(), NULL, 0, NULL);
        }
        assert_null(smoke_validate(smoke));
        particles_destroy(cloud.particles);
        smoke_destroy(smoke);
    }
    print_message("%u exchanges, off by %.2g of the momentum\n", exchanges, worst);
    assert_true(exchanges > 200 && worst < 2e-5);
}

/* In air at one speed: v = (u + g / k) (1 − exp(−k t)), for every integrator, and any k. */
static void dust_goes_with_the_air(void **state)
{
    PL_UNUSED(state);
    static const f32 drags[] = {0.1f, 1.0f, 10.0f, 60.0f, 1000.0f};
    const u32 ticks = 12;
    for (u32 i = 0; i < 4 * PL_COUNT(drags); i++) {
        f32 k = drags[i / 4], mass = i % 2 == 0 ? 1e-9f : 0.0f;
        f64 t = (f64)ticks / 60.0, part = 1.0 - exp(-(f64)k * t), worst = 0.0;
        Smoke *smoke = room(3, 0.2f, vec3(0.5f, 0.0f, -0.3f));
        ParticlesDef def = cloud_def(k, mass, i % 4);
        Cloud cloud;
        cloud_make(&cloud, &def, vec3(0.0f, -3.0f, 0.0f));
        for (u32 n = 0; n < ticks; n++) {
            cloud_tick(&cloud, smoke);
        }
        for (u32 n = 0; n < MOTES; n++) {
            Vec3 v = particles_velocity(cloud.particles, n);
            worst = fmax(worst, fabs((f64)v.x - 0.5 * part));
            worst = fmax(worst, fabs((f64)v.y + 3.0 / (f64)k * part));
            worst = fmax(worst, fabs((f64)v.z + 0.3 * part));
        }
        if (!(worst < 2e-5)) {
            fail_msg("drag %g /s, method %u: off by %g m/s", (f64)k, i % 4, worst);
        }
        particles_destroy(cloud.particles);
        smoke_destroy(smoke);
    }
}

/* As heavy as its air and much heavier: neither swings about the speed that both come to. */
static void heavy_dust_stops_the_air(void **state)
{
    PL_UNUSED(state);
    static const f32 masses[] = {0.001f, 0.01f, 0.1f, 1.0f};
    for (u32 i = 0; i < 4 * PL_COUNT(masses); i++) {
        f32 spacing = i / 4 % 2 == 0 ? 0.1f : 0.05f;
        Smoke *smoke = room(3, spacing, vec3(2.0f, 0.0f, 0.0f));
        ParticlesDef def = cloud_def(1000.0f, masses[i / 4], i % 4);
        Cloud cloud;
        cloud_make(&cloud, &def, vec3_zero());
        for (u32 n = 0; n < 20; n++) {
            f64 before = smoke_sums(smoke).kinetic;
            f64 p = cloud_momentum(&cloud, 0), m = MOTES * (f64)masses[i / 4];
            before += 0.5 * p * p / m; /* at least, of the dust */
            cloud_tick(&cloud, smoke);
            for (u32 k = 0; k < MOTES; k++) {
                Vec3 v = particles_velocity(cloud.particles, k);
                assert_true(v.x > -0.1f && v.x < 2.1f && fabsf(v.y) < 1.0f && fabsf(v.z) < 1.0f);
            }
            p = cloud_momentum(&cloud, 0);
            assert_true(n > 0 || smoke_sums(smoke).kinetic + 0.5 * p * p / m < before);
            smoke_step(smoke, tick_s, vec3_zero(), NULL, 0, NULL);
        }
        assert_true(cloud_momentum(&cloud, 0) > 0.0);
        particles_destroy(cloud.particles);
        smoke_destroy(smoke);
    }
}

static void wind_wakes_sleeping_dust(void **state)
{
    PL_UNUSED(state);
    Smoke *smoke = room(3, 0.1f, vec3_zero());
    ParticlesDef def = cloud_def(5.0f, 1e-6f, PARTICLE_VERLET);
    Cloud cloud;
    cloud_make(&cloud, &def, vec3_zero());
    for (u32 n = 0; n < 60; n++) {
        cloud_tick(&cloud, smoke);
    }
    assert_true(particles_asleep(cloud.particles, 0));
    smoke_destroy(smoke);
    smoke = room(3, 0.1f, vec3(0.0f, 1.0f, 0.0f));
    cloud_tick(&cloud, smoke);
    assert_false(particles_asleep(cloud.particles, 0));
    assert_true(particles_velocity(cloud.particles, 0).y > 0.05f);
    particles_destroy(cloud.particles);
    smoke_destroy(smoke);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_cloth_takes_air_loses),
                                       cmocka_unit_test(light_cloth_goes_with_the_air),
                                       cmocka_unit_test(cloth_falls_at_its_terminal_speed),
                                       cmocka_unit_test(what_particles_take_air_loses),
                                       cmocka_unit_test(dust_goes_with_the_air),
                                       cmocka_unit_test(heavy_dust_stops_the_air),
                                       cmocka_unit_test(wind_wakes_sleeping_dust)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
