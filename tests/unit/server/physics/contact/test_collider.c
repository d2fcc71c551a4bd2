/*
 * test_collider.c: all pairs of kinds of matter. Contacts exchange momentum exactly: total momentum
 * and angular momentum are conserved, over random cases.
 */
#include "server/physics/contact/particles.h"
#include "server/physics/soft/collider.h"
#include "server/physics/soft/soft_internal.h"
#include "tests/support/any.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    PARTICLES = 60,
    CASES = 300,
    TICKS = 40
};

static Any any;

/* Sums over all matter, and the scale of their errors. */
typedef struct Momentum {
    f64 linear[3], angular[3]; /* kg m/s, kg m²/s about the origin */
    f64 size, moment;          /* Σ m |v|, Σ m |x| |v| + |I ω| */
} Momentum;

static void add(Momentum *sum, Vec3 at, Vec3 velocity, f64 mass)
{
    const f64 x[3] = {(f64)at.x, (f64)at.y, (f64)at.z};
    const f64 p[3] = {mass * (f64)velocity.x, mass * (f64)velocity.y, mass * (f64)velocity.z};
    for (u32 k = 0; k < 3; k++) {
        u32 i = (k + 1) % 3, j = (k + 2) % 3;
        sum->linear[k] += p[k];
        sum->angular[k] += x[i] * p[j] - x[j] * p[i];
    }
    f64 size = mass * (f64)vec3_length(velocity);
    sum->size += size;
    sum->moment += size * (f64)vec3_length(at);
}

static void add_body(Momentum *sum, const Rigid *rigid, u32 slot)
{
    add(sum, rigid_centre(rigid, slot), rigid_velocity(rigid, slot), (f64)rigid_mass(rigid, slot));
    Quat rotation = rigid_orientation(rigid, slot);
    Symmetric3 inertia = rigid_inertia(rigid, slot);
    inertia = symmetric_rotate(rotation, &inertia);
    Vec3 spin = symmetric_mul(&inertia, rigid_angular_velocity(rigid, slot));
    sum->angular[0] += (f64)spin.x;
    sum->angular[1] += (f64)spin.y;
    sum->angular[2] += (f64)spin.z;
    sum->moment += (f64)vec3_length(spin);
}

static void add_soft(Momentum *sum, const Soft *soft)
{
    for (u32 i = 0; i < soft_particles(soft); i++) {
        f32 w = soft_inverse_mass(soft, i);
        add(sum, soft_position(soft, i), soft_velocity(soft, i), w > 0.0f ? 1.0 / (f64)w : 0.0);
    }
}

static void add_set(Momentum *sum, const ParticleSet *set)
{
    for (u32 i = 0; i < set->count; i++) {
        f32 w = set->inverse_masses[i];
        add(sum, set->positions[i], set->velocities[i], w > 0.0f ? 1.0 / (f64)w : 0.0);
    }
}

static f64 drift(const f64 before[3], const f64 after[3], f64 by)
{
    f64 most = 0.0;
    for (u32 k = 0; k < 3; k++) {
        most = fmax(most, fabs(after[k] - before[k]));
    }
    return most / by;
}

/* ---- one contact ---- */

typedef enum SoftKind {
    KIND_CLOTH,
    KIND_JELLY,
    KIND_ROPE,
    SOFT_KINDS
} SoftKind;

static void add_any_soft(SoftKit *kit, SoftKind kind, f32 size, f32 mass)
{
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_kit_cloth_def();
    def.mass_kg = mass;
    def.thickness = 0.01f;
    const u32 cells[3] = {3, 3, 3};
    if (kind == KIND_CLOTH) {
        assert_int_equal(soft_mesh_grid(&mesh, 9, 9, size, size, &error), 0);
    } else if (kind == KIND_JELLY) {
        assert_int_equal(soft_mesh_box(&mesh, vec3(size, size, size), cells, true, &error), 0);
        def.young = 2e4f;
        def.volume_compliance = 0.0f;
    } else {
        assert_int_equal(soft_mesh_rope(&mesh, 12, 2.0f * size, &error), 0);
    }
    soft_kit_add(kit, &def, &mesh);
}

/* Wrinkled, with a different velocity for each point. */
static void shake(Soft *soft, f32 way, f32 speed)
{
    for (u32 i = 0; i < soft->count; i++) {
        soft->points[i].position = vec3_add(soft->points[i].position, any_vec(&any, -way, way));
        soft->points[i].velocity = any_vec(&any, -speed, speed);
        f32 more = any_between(&any, 0.3f, 3.0f);
        soft->points[i].inverse_mass *= more;
    }
}

/* A particle near any place of a soft body, in any direction, with any load: above, beside an edge,
 * beyond an end, inside, and passing through. */
static void a_contact_with_soft_bodies_keeps_momentum(void **state)
{
    PL_UNUSED(state);
    any = (Any){71, 0};
    u32 met[SOFT_KINDS] = {0}, apart = 0;
    f64 worst = 0.0, worst_angular[2] = {0.0}; /* of contacts with a normal impulse and friction */
    for (u32 c = 0; c < 6 * CASES; c++) {
        SoftKind kind = (SoftKind)(c % SOFT_KINDS);
        SoftKit kit = soft_kit_create(vec3_zero());
        add_any_soft(&kit, kind, 0.6f, 0.5f);
        shake(kit.soft, 0.02f, 2.0f);
        SoftCollider bodies = {.soft = kit.soft};
        Collider collider = soft_collider(&bodies);
        const ColliderOps *ops = collider.ops;
        f32 h = 1.0f / 240.0f;
        ops->begin(&bodies, NULL, 4.0f * h);
        ops->substep_begin(&bodies, 2.0f * h);
        Vec3 near = soft_position(kit.soft, any_below(&any, kit.soft->count));
        Vec3 position = vec3_add(near, any_vec(&any, -0.06f, 0.06f)), from = position;
        Vec3 velocity = any_vec(&any, -10.0f, 10.0f);
        f32 inverse_mass = any_between(&any, 0.5f, 50.0f);
        ParticleSet set = {.positions = &position,
                           .velocities = &velocity,
                           .inverse_masses = &inverse_mass,
                           .count = 1};
        ContactParticle particle = {.position = position,
                                    .velocity = velocity,
                                    .inverse_mass = inverse_mass,
                                    .radius = any_between(&any, 0.005f, 0.05f),
                                    .friction = c % 4 < 2 ? any_between(&any, 0.1f, 1.0f) : 0.0f};
        Momentum before = {0}, after = {0};
        add_soft(&before, kit.soft);
        add_set(&before, &set);
        if (contact_particle(&collider, 0, &particle, h)) {
            met[kind]++;
            apart += vec3_distance(particle.position, position) > 0.0f;
        }
        position = particle.position;
        velocity = particle.velocity;
        add_soft(&after, kit.soft);
        add_set(&after, &set);
        worst = fmax(worst, drift(before.linear, after.linear, before.size));
        f64 angular = drift(before.angular, after.angular, before.moment);
        u32 rubs = particle.friction > 0.0f && vec3_distance(particle.position, from) > 0.0f;
        worst_angular[rubs] = fmax(worst_angular[rubs], angular);
        soft_kit_destroy(&kit);
    }
    printf("cloth %u, jelly %u, rope %u met, %u pushed apart: momentum %.1e, angular %.1e, %.1e\n",
           met[0], met[1], met[2], apart, worst, worst_angular[0], worst_angular[1]);
    assert_true(met[0] > 100 && met[1] > 100 && met[2] > 100 && apart > 50);
    assert_true(worst < 1e-6);
    assert_true(worst_angular[0] < 1e-6);
    assert_true(worst_angular[1] < 1e-6);
}

/* ---- everything together ---- */

typedef struct Everything {
    SoftKit kit;
    ParticleSet sets[2];
    ParticleContacts contacts[2];
    Vec3 positions[2][PARTICLES], velocities[2][PARTICLES];
    f32 inverse_masses[2][PARTICLES];
    RigidCollider rigid[2];
    SoftCollider soft[2];
    ParticleBalls balls;
    u32 pressed[3]; /* contacts with an impulse, by collider */
} Everything;

/* Bodies and particles that fly at each other from all sides. */
static Everything *everything_make(bool bodies, bool softs, bool second, f32 friction)
{
    Everything *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->kit = soft_kit_create(vec3_zero());
    /* A single body: with four, impacts among themselves change the angular momentum by 5 %,
     * without any particle (the law shape/turning has their bounds). */
    for (u32 i = 0; i < 1 && bodies; i++) {
        Vec3 at = vec3_scale(any_direction(&any), any_between(&any, 0.9f, 1.3f));
        f32 size = any_between(&any, 0.3f, 0.6f);
        Shape shape = {.kind = SHAPE_SPHERE, .radius = size};
        if (any_below(&any, 2)) {
            shape = (Shape){.kind = SHAPE_BOX, .half = vec3(size, 0.7f * size, 0.5f * size)};
        }
        soft_kit_add_body(&all->kit, shape, BODY_DYNAMIC, any_between(&any, 0.2f, 5.0f), at,
                          vec3_scale(at, -any_between(&any, 0.2f, 3.0f)));
    }
    if (softs) {
        add_any_soft(&all->kit, (SoftKind)any_below(&any, SOFT_KINDS), 0.5f,
                     any_between(&any, 0.2f, 2.0f));
    }
    f32 radius = any_between(&any, 0.02f, 0.06f);
    for (u32 s = 0; s < 2; s++) {
        for (u32 i = 0; i < PARTICLES; i++) {
            Vec3 at = vec3_scale(any_direction(&any), any_between(&any, 0.6f, 2.0f));
            all->positions[s][i] = at;
            all->velocities[s][i] = vec3_add(vec3_scale(at, -any_between(&any, 0.3f, 4.0f)),
                                             any_vec(&any, -0.3f, 0.3f));
            all->inverse_masses[s][i] = 1.0f / any_between(&any, 0.005f, 0.05f);
        }
        all->sets[s] = (ParticleSet){.positions = all->positions[s],
                                     .velocities = all->velocities[s],
                                     .inverse_masses = all->inverse_masses[s],
                                     .count = s == 0 || second ? PARTICLES : 0,
                                     .radius = radius,
                                     .friction = friction};
        all->rigid[s] = (RigidCollider){.rigid = all->kit.rigid};
        all->soft[s] = (SoftCollider){.soft = all->kit.soft};
    }
    all->rigid[0].earlier = &all->kit.bodies;
    all->rigid[1].earlier = &all->rigid[0];
    all->balls.set = &all->sets[0];
    return all;
}

static void everything_free(Everything *all)
{
    for (u32 s = 0; s < 2; s++) {
        particle_contacts_finish(&all->contacts[s]);
        rigid_collider_finish(&all->rigid[s]);
    }
    particle_balls_finish(&all->balls);
    soft_kit_destroy(&all->kit);
    free(all);
}

static void step_set(Everything *all, u32 s, f32 h)
{
    ParticleContacts *contacts = &all->contacts[s];
    const ParticleSet *set = &all->sets[s];
    particle_contacts_substep(contacts, set, h);
    for (u32 step = 0; step < 2; step++) {
        particle_contacts_step(contacts, 0.5f * h);
        particle_contacts_solve(contacts, set, 0.5f * h);
        for (u32 i = 0; i < set->count; i++) {
            set->positions[i] = vec3_add_scaled(set->positions[i], 0.5f * h, set->velocities[i]);
        }
        for (u32 i = 0; i < contacts->near_count; i++) {
            all->pressed[contacts->near[i].collider] += contacts->near[i].pressed > 0.0f;
        }
    }
    particle_contacts_end(contacts);
}

static void everything_tick(Everything *all)
{
    Rigid *rigid = all->kit.rigid;
    Soft *soft = all->kit.soft;
    rigid_collide(rigid, NULL);
    Collider bodies = soft_kit_collider(&all->kit);
    soft_begin(soft, (SoftOthers){&bodies, 1}, NULL, SOFT_KIT_TICK_S);
    for (u32 s = 0; s < 2; s++) {
        Collider colliders[3] = {rigid_collider(&all->rigid[s]), soft_collider(&all->soft[s]),
                                 particle_balls(&all->balls)};
        particle_contacts_begin(&all->contacts[s], &all->sets[s], colliders, 2 + s, SOFT_KIT_TICK_S,
                                NULL);
    }
    rigid_prepare(rigid);
    for (u32 i = 0; i < SOFT_KIT_SUBSTEPS; i++) {
        f32 h = SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS;
        rigid_substep(rigid);
        soft_substep(soft, h);
        step_set(all, 0, h);
        step_set(all, 1, h);
    }
    rigid_finish(rigid);
}

static Momentum everything_momentum(const Everything *all)
{
    Momentum sum = {0};
    for (u32 slot = 0; slot < rigid_slots(all->kit.rigid); slot++) {
        add_body(&sum, all->kit.rigid, slot);
    }
    add_soft(&sum, all->kit.soft);
    add_set(&sum, &all->sets[0]);
    add_set(&sum, &all->sets[1]);
    return sum;
}

/* Rigid bodies, a soft body and two particle systems: in pairs, and all together. */
static void all_pairs_keep_momentum(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *name;
        bool bodies, softs, second;
        u32 collider;
    } rows[] = {{"particles, rigid", true, false, false, 0},
                {"particles, soft", false, true, false, 1},
                {"particles, particles", false, false, true, 2},
                {"all", true, true, true, 1}};
    any = (Any){72, 0};
    for (u32 r = 0; r < PL_COUNT(rows); r++) {
        f64 worst = 0.0, worst_angular[2] = {0.0};
        u32 pressed = 0;
        for (u32 c = 0; c < 40; c++) {
            f32 friction = c % 2 ? any_between(&any, 0.1f, 1.0f) : 0.0f;
            Everything *all =
                everything_make(rows[r].bodies, rows[r].softs, rows[r].second, friction);
            Momentum before = everything_momentum(all);
            for (u32 t = 0; t < TICKS; t++) {
                everything_tick(all);
            }
            Momentum after = everything_momentum(all);
            f64 off = drift(before.linear, after.linear, before.size);
            f64 off_angular = drift(before.angular, after.angular, before.moment);
            worst = fmax(worst, off);
            worst_angular[c % 2] = fmax(worst_angular[c % 2], off_angular);
            assert_true(isfinite(off) && isfinite(off_angular));
            assert_true(after.size < 1.2 * before.size + 1.0);
            pressed += all->pressed[rows[r].collider];
            everything_free(all);
        }
        printf("%s: %u contacts, momentum %.1e, angular %.1e, with friction %.1e\n", rows[r].name,
               pressed, worst, worst_angular[0], worst_angular[1]);
        assert_true(pressed > 300);
        assert_true(worst < 1e-5); /* thousands of contacts, each rounded */
        assert_true(worst_angular[0] < 5e-5);
        assert_true(worst_angular[1] < 5e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_contact_with_soft_bodies_keeps_momentum),
        cmocka_unit_test(all_pairs_keep_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
