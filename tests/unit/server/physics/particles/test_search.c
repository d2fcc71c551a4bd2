/*
 * test_search.c: whatever a particle could meet in a tick is in its bunch, over clouds of all forms
 * (volumes, sheets, lines, few and many, with free slots), speeds and crowds of things; and
 * particles far from everything are in none.
 */
#include "server/physics/particles/particles_internal.h"
#include "server/physics/rigid/collider.h"
#include "shared/base/limits.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    CLOUDS = 60,
    MANY = 3000
};

static const f32 tick_s = 1.0f / 60.0f;
/* No search looks farther: margins, and the fastest body of a bunch, with more than it needs. */
static const f32 margin_m_s = 15.0f;

typedef struct Cloud {
    Particles *p;
    Rigid *rigid;
    RigidCollider bodies;
    ParticleStart starts[MANY];
    bool found[MANY];
} Cloud;

static void add_bodies(Cloud *cloud, Any *any, u32 count, f32 half)
{
    RigidDef def = {.body_capacity = count, .tick_s = tick_s, .substeps = 4};
    cloud->rigid = rigid_create(&def);
    assert_non_null(cloud->rigid);
    for (u32 i = 0; i < count; i++) {
        BodyDef body = body_def_default();
        body.shape = any_shape(any, 3, 0.1f, 0.6f);
        body.position = any_vec(any, -half, half);
        body.orientation = any_rotation(any);
        if (any_below(any, 2) == 0) {
            body.velocity = any_vec(any, -5.0f, 5.0f);
        } else {
            body.motion = BODY_STATIC;
            body.mass_kg = 0.0f;
        }
        rigid_add(cloud->rigid, &body);
    }
    cloud->bodies = (RigidCollider){.rigid = cloud->rigid};
}

/* A volume, a sheet or a line of particles, of which some are gone. */
static void add_particles(Cloud *cloud, Any *any, u32 count, f32 half)
{
    const f32 flat = any_below(any, 2) == 0 ? 1.0f : 0.01f;
    const f32 thin = any_below(any, 2) == 0 ? 1.0f : 0.01f;
    const f32 speed = any_between(any, 0.0f, 30.0f);
    ParticlesDef def = particles_def_default();
    def.count = def.start_count = count;
    def.starts = cloud->starts;
    def.lifetime_s = -1.0f;
    def.radius = 0.02f;
    for (u32 i = 0; i < count; i++) {
        Vec3 at = any_vec(any, -half, half), v = any_vec(any, -speed, speed);
        cloud->starts[i] = (ParticleStart){vec3(at.x, at.y * flat, at.z * thin), v, 0.001f};
    }
    cloud->p = particles_create();
    assert_non_null(cloud->p);
    u32 system;
    ErrorText error;
    assert_int_equal(particles_add(cloud->p, &def, &system, &error), ERROR_OK);
    if (any_below(any, 2) == 0) {
        for (u32 i = 0; i < count; i += 1 + any_below(any, 4)) {
            particles_move(cloud->p, i, vec3(2.0f * WORLD_EXTENT_MAX_M, 0.0f, 0.0f), vec3_zero());
        }
        particles_end(cloud->p); /* these leave the bounds */
    }
}

/* m: less what the things move in a tick. */
static f32 nearest(const Cloud *cloud, u32 bodies, Vec3 at)
{
    Collider other = rigid_collider((RigidCollider *)&cloud->bodies);
    f32 least = INFINITY;
    for (u32 b = 0; b < bodies; b++) {
        Vec3 normal;
        f32 moves = vec3_length(other.ops->velocity(other.of, b, at));
        f32 apart = other.ops->distance(other.of, b, at, 1e6f, &normal) - moves * tick_s;
        least = f32_min(least, apart);
    }
    return least;
}

static void clouds_find_what_they_may_meet(void **state)
{
    PL_UNUSED(state);
    u32 met = 0, far = 0, gone = 0;
    for (u32 c = 0; c < CLOUDS; c++) {
        static Cloud cloud;
        Any any = {77 + c, 0};
        u32 count = 1 + any_below(&any, MANY), bodies = 1 + any_below(&any, c % 4 == 0 ? 150 : 12);
        f32 half = c % 4 == 0 ? 1.5f : any_between(&any, 1.0f, 15.0f);
        add_bodies(&cloud, &any, bodies, half);
        add_particles(&cloud, &any, count, half);
        Collider collider = rigid_collider(&cloud.bodies);
        particles_begin(cloud.p, &collider, 1, tick_s, NULL);
        memset(cloud.found, 0, sizeof cloud.found);
        for (u32 b = 0, next = 0; b < cloud.p->bunch_count; b++) {
            const NearBunch *bunch = &cloud.p->bunches[b];
            assert_int_equal(bunch->first, next);
            next = bunch->first + bunch->count;
            for (u32 i = bunch->first; i < next; i++) {
                u32 slot = cloud.p->near[i].slot;
                assert_true(cloud.p->alive[slot] && !cloud.found[slot]); /* once */
                cloud.found[slot] = true;
            }
        }
        for (u32 i = 0; i < count; i++) {
            Vec3 at = cloud.p->positions[i];
            f32 apart = nearest(&cloud, bodies, at);
            f32 way = 0.02f + vec3_length(cloud.p->velocities[i]) * tick_s;
            if (!cloud.p->alive[i]) {
                gone++;
            } else if (apart <= way) {
                assert_true(cloud.found[i]);
                met++;
            } else if (apart > way + margin_m_s * tick_s) {
                assert_false(cloud.found[i]);
                far++;
            }
        }
        particles_destroy(cloud.p);
        rigid_collider_finish(&cloud.bodies);
        rigid_destroy(cloud.rigid);
    }
    assert_true(met > 5000 && far > 20000 && gone > 2000); /* all of it took place */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clouds_find_what_they_may_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
