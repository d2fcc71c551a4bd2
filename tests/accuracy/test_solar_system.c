/*
 * test_solar_system.c: the shipped solar system against sidereal periods: E. M. Standish, Keplerian
 * Elements for Approximate Positions of the Major Planets (JPL), rates of mean longitude minus
 * those of perihelia. Total energy, momentum and angular momentum are conserved.
 */
#include "server/author/scene_load.h"
#include "server/world/matter_particles.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    PLANETS = 5
};

/* Degrees per century: mean longitude, longitude of perihelion; semi-major axis, AU. */
typedef struct Planet {
    const char *name;
    f64 longitude, perihelion, axis;
    u32 rounds;
} Planet;

static const Planet planets[PLANETS] = {
    {"Mercury", 149472.67411175, 0.16047689, 0.38709927, 10},
    {"Venus", 58517.81538729, 0.00268329, 0.72333566, 5},
    {"Earth", 35999.37244981, 0.32327364, 1.00000261, 3},
    {"Mars", 19140.30268499, 0.44441088, 1.52371034, 2},
    {"Jupiter", 3034.74612775, 0.21252668, 5.20288700, 0},
};

static const f64 metres_an_au = 4.0, seconds_a_year = 10.0;

typedef struct Sky {
    Scene *scene;
    World *world;
    const Particles *particles;
} Sky;

static u32 slot_of(const Sky *sky, const char *name)
{
    for (u32 i = 0; i < sky->scene->particle_system_count; i++) {
        if (strcmp(sky->scene->particle_systems[i].name, name) == 0) {
            return particles_first(sky->particles, i);
        }
    }
    fail_msg("no %s", name);
    return 0;
}

static Sky sky_make(void)
{
    ErrorText error = {0};
    Sky sky = {.scene = scene_load("shared/scenes/solar_system.json", &error)};
    if (sky.scene == NULL) {
        fail_msg("%s", error.text);
    }
    sky.world = world_create(sky.scene, NULL, &error);
    assert_non_null(sky.world);
    for (u32 i = 0; sky.particles == NULL; i++) {
        Matter *matter = world_matter_at(sky.world, i);
        sky.particles = matter->ops == &matter_particles ? particles_of(matter)->particles : NULL;
    }
    return sky;
}

/* Distance from the sun, m. */
static Vec3 place(const Sky *sky, u32 slot)
{
    return vec3_sub(particles_position(sky->particles, slot),
                    particles_position(sky->particles, 0));
}

static f64 probe_sum(const Sky *sky, const char *what)
{
    f64 sum = 0.0, value;
    char name[96];
    for (u32 i = 0; i < sky->scene->particle_system_count; i++) {
        snprintf(name, sizeof name, "%s %s", sky->scene->particle_systems[i].name, what);
        assert_true(world_probe(sky->world, name, &value));
        sum += value;
    }
    return sum;
}

static void planets_return_after_their_years(void **unused)
{
    PL_UNUSED(unused);
    Sky sky = sky_make();
    u32 slots[PLANETS], done = 0;
    Vec3 start[PLANETS];
    f64 ends[PLANETS], energy = probe_sum(&sky, "energy");
    for (u32 i = 0; i < PLANETS; i++) {
        const Planet *p = &planets[i];
        f64 years = 100.0 * 360.0 / (p->longitude - p->perihelion); /* anomalistic year */
        slots[i] = slot_of(&sky, p->name);
        start[i] = place(&sky, slots[i]);
        ends[i] = p->rounds * years * seconds_a_year;
        done += p->rounds == 0;
    }
    f64 worst = 0.0;
    for (u32 tick = 0; done < PLANETS; tick++) {
        Vec3 before[PLANETS];
        for (u32 i = 0; i < PLANETS; i++) {
            before[i] = place(&sky, slots[i]);
        }
        world_tick(sky.world, NULL, 0);
        worst = fmax(worst, fabs(probe_sum(&sky, "energy") / energy - 1.0));
        for (u32 i = 0; i < PLANETS; i++) {
            f64 part = ends[i] * 60.0 - tick;
            if (part < 0.0 || part >= 1.0 || planets[i].rounds == 0) {
                continue;
            }
            Vec3 now = vec3_lerp(before[i], place(&sky, slots[i]), (f32)part);
            f64 turned = 2.0 * 3.14159265 * planets[i].rounds * planets[i].axis * metres_an_au;
            /* of the whole path: the error of the period */
            expect_at_most(planets[i].name, (f64)vec3_distance(now, start[i]) / turned, 2e-4);
            done++;
        }
    }
    expect_at_most("drift of the energy", worst, 2e-5);
    Vec3 sum = vec3_zero();
    f64 sizes = 0.0;
    for (u32 i = 0; i < particles_slots(sky.particles); i++) {
        f32 mass = particles_mass(sky.particles, i);
        sum = vec3_add_scaled(sum, mass, particles_velocity(sky.particles, i));
        sizes += (f64)(mass * vec3_length(particles_velocity(sky.particles, i)));
    }
    expect_at_most("total momentum", (f64)vec3_length(sum) / sizes, 1e-5);
    f64 far = (f64)vec3_length(place(&sky, slots[4]));
    expect_near("Jupiter's distance", far / metres_an_au, 5.2, 0.3);
    world_destroy(sky.world);
    scene_destroy(sky.scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planets_return_after_their_years),
    };
    return cmocka_run_group_tests_name("solar_system", tests, NULL, NULL);
}
