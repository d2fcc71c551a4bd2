/* test_soft_elastic.c: bending, stretching and hanging against analytic laws. */
#include "server/physics/soft/constraint.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ½ Σ C² / α over a body's bending constraints, J. */
static f64 bending_energy(const Soft *soft)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[i];
        Vec3 at[4];
        ConstraintRows rows;
        if (c->role == ROLE_BEND) {
            constraint_gather(soft, c, 0.0f, at);
            constraint_evaluate(c, constraint_shape(soft, c), at, &rows);
            sum += rows.rows == 0
                       ? 0.0
                       : 0.5 * (f64)rows.value[0] * (f64)rows.value[0] / (f64)c->compliance;
        }
    }
    return sum;
}

/* A strip rolled to a part of a cylinder has ½ B κ² A, B the bending stiffness. Its ends have no
 * hinge, so a row counts one cell less. */
static void strip_has_the_energy_of_a_beam(void **unused)
{
    PL_UNUSED(unused);
    enum {
        COLUMNS = 41,
        ROWS = 5
    };
    static const SoftBend kinds[] = {SOFT_BEND_DIHEDRAL, SOFT_BEND_ISOMETRIC};
    static const f32 radii[] = {2.0f, 0.5f, 0.2f};
    for (u32 k = 0; k < 6; k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = soft_kit_cloth_def();
        def.bend = kinds[k / 3];
        def.bend_compliance = 1.0f / 0.03f;
        soft_kit_add_cloth(&kit, &def, COLUMNS, ROWS, 1.0f, 0.1f);
        f64 flat = bending_energy(kit.soft), r = (f64)radii[k % 3];
        for (u32 i = 0; i < COLUMNS * ROWS; i++) {
            Vec3 *at = &kit.soft->points[i].position;
            f64 angle = (f64)at->x / r;
            *at = vec3((f32)(r * sin(angle)), at->y, (f32)(r * cos(angle)));
        }
        f64 expected = 0.5 * 0.03 / (r * r) * 0.1 * (COLUMNS - 2.0) / (COLUMNS - 1.0);
        f64 energy = bending_energy(kit.soft);
        printf("%s, radius %.1f m: %.6f J, a beam has %.6f\n", k < 3 ? "dihedral" : "isometric", r,
               energy, expected);
        assert_true(flat < 1e-9);
        assert_true(fabs(energy / expected - 1.0) < 0.01);
        soft_kit_destroy(&kit);
    }
}

/* The elastica: a strip clamped at one end, a force P at the other. Tip deflection over length
 * for P L² / EI of 1, 2, 3, 5 and 10 (elliptic integrals). */
static f64 tip_drop(SoftBend bend, f32 load)
{
    enum {
        COLUMNS = 33
    };
    const f32 stiffness = 1.0f, width = 0.0625f; /* N m; m */
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftDef def = soft_kit_cloth_def();
    SoftPin pins[6];
    memset(pins, 0, sizeof pins);
    for (u32 i = 0; i < 6; i++) {
        pins[i].point = i / 2 * COLUMNS + i % 2;
    }
    def.pins = pins;
    def.pin_count = 6;
    def.bend = bend;
    def.bend_compliance = 1.0f / stiffness;
    def.stretch_compliance = 1e-9f;
    def.shear_compliance = 1e-9f;
    def.mass_kg = 1.0f;
    def.damping = 1.7f;
    def.orientation = (Quat){0.70710678f, -0.70710678f, 0.0f, 0.0f}; /* rows along z */
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, COLUMNS, 3, 1.0f, width, &error), 0);
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    /* A free sheet also bends laterally and twists, and so is softer than a beam: hinges not
     * across the strip are held flat. */
    for (u32 i = 0; i < kit.soft->constraint_count; i++) {
        SoftConstraint *c = &kit.soft->constraints[i];
        f32 along = kit.soft->rest[c->point[0]].x - kit.soft->rest[c->point[1]].x;
        c->compliance = c->role == ROLE_BEND && fabsf(along) > 1e-4f ? 0.0f : c->compliance;
    }
    assert_int_equal(soft_build(kit.soft), 0);
    soft_set_steps(kit.soft, SOFT_STEPS_MAX); /* an iteration adds compliance as step² */
    /* Hinges bend for half a cell to each side: the clamp is half a cell before the last pins. */
    f32 length = 1.0f - 0.5f / (COLUMNS - 1);
    f32 force = load * stiffness * width / (length * length);
    for (u32 tick = 0; tick < 450; tick++) {
        for (u32 r = 0; r < 3; r++) {
            f32 share = r == 1 ? 0.5f : 0.25f;
            soft_impulse(kit.soft, range.first + r * COLUMNS + COLUMNS - 1,
                         vec3(0.0f, -share * force * SOFT_KIT_TICK_S, 0.0f));
        }
        soft_kit_ticks(&kit, 1);
    }
    f64 drop = 0.0;
    for (u32 r = 0; r < 3; r++) {
        drop -= (f64)soft_position(kit.soft, range.first + r * COLUMNS + COLUMNS - 1).y / 3.0;
    }
    soft_kit_destroy(&kit);
    return drop / (f64)length;
}

static void strips_bend_like_the_elastica(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        SoftBend bend;
        f64 load, drop;
    } table[] = {{SOFT_BEND_DIHEDRAL, 1.0, 0.30172},
                 {SOFT_BEND_DIHEDRAL, 2.0, 0.49346},
                 {SOFT_BEND_ISOMETRIC, 3.0, 0.60325},
                 {SOFT_BEND_DIHEDRAL, 5.0, 0.71379},
                 {SOFT_BEND_ISOMETRIC, 10.0, 0.81061}};
    for (u32 i = 0; i < PL_COUNT(table); i++) {
        f64 drop = tip_drop(table[i].bend, (f32)table[i].load);
        printf("%s, P L2 / EI = %.0f: tip drops %.4f L, elastica %.4f\n",
               table[i].bend == SOFT_BEND_DIHEDRAL ? "dihedral" : "isometric", table[i].load, drop,
               table[i].drop);
        assert_true(fabs(drop / table[i].drop - 1.0) < 0.01);
    }
}

/* A block between a wall and a pulling force: the law of its energy μ/2 (tr C − 3) + λ/2 (J − 1
 * − μ/λ)², with free sides, by Newton's method on the lateral stretch. */
static f64 pull_of(f64 stretch, f64 mu, f64 lambda)
{
    f64 side = 1.0;
    for (u32 i = 0; i < 50; i++) {
        f64 j = stretch * side * side, off = lambda * (j - 1.0 - mu / lambda);
        f64 f = mu * side + off * stretch * side; /* stress on the sides */
        f64 slope = mu + off * stretch + 2.0 * lambda * stretch * side * stretch * side;
        side -= f / slope;
    }
    f64 j = stretch * side * side;
    return mu * stretch + lambda * (j - 1.0 - mu / lambda) * side * side; /* Pa of rest area */
}

static void blocks_stretch_like_neo_hookean_matter(void **unused)
{
    PL_UNUSED(unused);
    static const u32 cells[3] = {6, 2, 2};
    static const f32 pulls[] = {0.02f, 0.3f, 0.8f}; /* as fractions of Young's modulus */
    const f64 young = 2e4, poisson = 0.3, mu = young / (2.0 * (1.0 + poisson));
    const f64 lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)) + mu;
    for (u32 k = 0; k < PL_COUNT(pulls); k++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = soft_kit_cloth_def();
        SoftMesh mesh;
        ErrorText error;
        assert_int_equal(soft_mesh_box(&mesh, vec3(0.6f, 0.2f, 0.2f), cells, true, &error), 0);
        def.mass_kg = 24.0f;
        def.stretch_compliance = -1.0f;
        def.bend = SOFT_BEND_NONE;
        def.young = (f32)young;
        def.poisson = (f32)poisson;
        def.damping = 8.0f;
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        /* Both ends are pulled, weighted by the points' shares in a grid of 2 × 2 cells. */
        f32 force = pulls[k] * (f32)young * 0.04f;
        Vec3 rest[128];
        for (u32 i = 0; i < range.count; i++) {
            rest[i] = soft_position(kit.soft, range.first + i);
        }
        for (u32 tick = 0; tick < 300; tick++) {
            for (u32 i = 0; i < range.count; i++) {
                if (fabsf(rest[i].x) > 0.299f) {
                    f32 y = fabsf(rest[i].y) > 0.05f ? 0.25f : 0.5f;
                    f32 z = fabsf(rest[i].z) > 0.05f ? 0.25f : 0.5f;
                    f32 part = (rest[i].x > 0.0f ? y : -y) * z * force * SOFT_KIT_TICK_S;
                    soft_impulse(kit.soft, range.first + i, vec3(part, 0.0f, 0.0f));
                }
            }
            soft_kit_ticks(&kit, 1);
        }
        f64 inner[2] = {0.0, 0.0}; /* mean x of the second planes from the ends */
        for (u32 i = 0; i < range.count; i++) {
            if (fabsf(fabsf(rest[i].x) - 0.1f) < 0.01f) {
                inner[rest[i].x > 0.0f] += (f64)soft_position(kit.soft, range.first + i).x / 9.0;
            }
        }
        f64 stretch = (inner[1] - inner[0]) / 0.2, law = pull_of(stretch, mu, lambda);
        printf("pull %.3f E: stretch %.4f, where the law pulls with %.4f E\n", (f64)pulls[k],
               stretch, law / young);
        assert_true(fabs(law / young - (f64)pulls[k]) < 0.02 * fabs((f64)pulls[k]));
        soft_kit_destroy(&kit);
    }
}

/* Deflection of the free end of a beam of 1 m × 0.2 m × 0.2 m under its own weight, `across`
 * cells wide, of a material with zero Poisson's ratio; relative to Timoshenko's beam. */
static f64 cantilever(u32 across)
{
    const u32 cells[3] = {5 * across, across, across};
    const f64 young = 1e6, gravity = 0.2, side = 0.2;
    f64 load = 1000.0 * side * side * gravity, inertia = side * side * side * side / 12.0;
    f64 exact =
        load / (8.0 * young * inertia) + load / (2.0 * 5.0 / 6.0 * 0.5 * young * side * side);
    SoftKit kit = soft_kit_create(vec3(0.0f, -(f32)gravity, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    SoftPin pins[36];
    SoftMesh mesh;
    ErrorText error;
    Vec3 size = vec3(1.0f, (f32)side, (f32)side);
    memset(pins, 0, sizeof pins);
    assert_int_equal(soft_mesh_box(&mesh, size, cells, true, &error), 0);
    def.mass_kg = 40.0f;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.young = (f32)young;
    def.poisson = 0.0f;
    def.damping = 13.0f; /* of the slowest mode, 6.4 / s */
    def.pins = pins;
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (mesh.points[i].x < -0.499f) {
            pins[def.pin_count++].point = i;
        }
    }
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    soft_set_steps(kit.soft, 4); /* 32 per tick */
    soft_kit_ticks(&kit, 75);
    f64 drop = 0.0;
    u32 tips = 0;
    for (u32 i = 0; i < range.count; i++) {
        Vec3 at = soft_position(kit.soft, range.first + i);
        drop -= at.x > 0.49f ? (f64)at.y : 0.0;
        tips += at.x > 0.49f;
    }
    soft_kit_destroy(&kit);
    return drop / tips / exact;
}

/* Linear tetrahedra are too stiff by the square of their size: extrapolated to size 0 the result
 * is Timoshenko's beam. */
static void cantilevers_tend_to_the_beam(void **unused)
{
    PL_UNUSED(unused);
    f64 coarse = cantilever(3), fine = cantilever(5);
    f64 limit = fine + (fine - coarse) / (25.0 / 9.0 - 1.0);
    printf("cantilever: %.4f of the beam with 3 cells across, %.4f with 5, tends to %.4f\n", coarse,
           fine, limit);
    assert_true(coarse > 0.75 && fine > 0.9 && fine < 1.0);
    assert_float_equal(limit, 1.0, 0.03);
}

/* Sag of a rope of the given length between nails 1 m apart. */
static f64 sag_of(f32 length)
{
    enum {
        POINTS = 41
    };
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.01f};
    f32 seconds = 2.0f, speed = (length - 1.0f) / seconds;
    BodyId nail = soft_kit_add_body(&kit, ball, BODY_KINEMATIC, 0.0f, vec3(length, 0.0f, 5.0f),
                                    vec3(-speed, 0.0f, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    def.bend = SOFT_BEND_NONE;
    def.mass_kg = 0.1f;
    def.damping = 1.5f;
    def.tethers = true;
    def.stretch_compliance = 0.0f;
    SoftPin pins[2] = {{.point = 0}, {.point = POINTS - 1, .body = nail}};
    def.pins = pins;
    def.pin_count = 2;
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, POINTS, length, &error), 0);
    SoftRange range = soft_kit_add(&kit, &def, &mesh);
    soft_set_steps(kit.soft, 12);
    soft_kit_ticks(&kit, 120);
    rigid_set_velocity(kit.rigid, nail.slot, vec3_zero(), vec3_zero());
    soft_kit_ticks(&kit, 600);
    f32 lowest = 0.0f;
    for (u32 i = 0; i < POINTS; i++) {
        lowest = f32_min(lowest, soft_position(kit.soft, range.first + i).y);
    }
    soft_kit_destroy(&kit);
    return -(f64)lowest;
}

static void ropes_hang_in_catenaries(void **unused)
{
    PL_UNUSED(unused);
    /* a (cosh(1/2a) − 1) with 2 a sinh(1/2a) = length. */
    static const f64 table[][2] = {{1.1, 0.200301}, {1.5, 0.502633}, {2.0, 0.796388}};
    for (u32 i = 0; i < PL_COUNT(table); i++) {
        f64 sag = sag_of((f32)table[i][0]);
        printf("length %.1f: sag %.5f, catenary %.5f\n", table[i][0], sag, table[i][1]);
        assert_true(fabs(sag / table[i][1] - 1.0) < 5e-3);
    }
}

/* A heavy ball on a long rope: edges alone stretch, tethers hold. */
static void tethers_hold_long_ropes(void **unused)
{
    PL_UNUSED(unused);
    f64 longer[2];
    for (u32 k = 0; k < 2; k++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        SoftDef def = soft_kit_cloth_def();
        def.bend = SOFT_BEND_NONE;
        def.mass_kg = 0.5f;
        def.damping = 2.0f;
        def.tethers = k == 1;
        def.orientation = (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f}; /* down */
        SoftPin pin = {.point = 0};
        def.pins = &pin;
        def.pin_count = 1;
        SoftMesh mesh;
        ErrorText error;
        assert_int_equal(soft_mesh_rope(&mesh, 201, 4.0f, &error), 0);
        SoftRange range = soft_kit_add(&kit, &def, &mesh);
        soft_set_steps(kit.soft, 1);
        for (u32 tick = 0; tick < 240; tick++) {
            soft_impulse(kit.soft, range.first + 200, vec3(0.0f, -100.0f * SOFT_KIT_TICK_S, 0.0f));
            soft_kit_ticks(&kit, 1);
        }
        longer[k] = -(f64)soft_position(kit.soft, range.first + 200).y / 4.0 - 1.0;
        soft_kit_destroy(&kit);
    }
    printf("4 m of rope under 100 N: %.4f longer, with tethers %.4f\n", longer[0], longer[1]);
    assert_true(longer[1] < 0.01 && longer[0] > 3.0 * longer[1]);
}

/* Limits hold even if the cloth itself is soft. */
static void limits_hold(void **unused)
{
    PL_UNUSED(unused);
    f32 strains[2];
    for (u32 k = 0; k < 2; k++) {
        SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
        SoftDef def = soft_kit_cloth_def();
        SoftPin pins[6];
        memset(pins, 0, sizeof pins);
        for (u32 i = 0; i < 6; i++) {
            pins[i].point = 10 * 6 + i;
        }
        def.pins = pins;
        def.pin_count = 6;
        def.damping = 2.0f;
        def.stretch_compliance = 0.5f;
        def.shear_compliance = 0.5f;
        def.bend = SOFT_BEND_NONE;
        def.stretch_max = k == 1 ? 1.1f : 0.0f;
        SoftRange range = soft_kit_add_cloth(&kit, &def, 6, 11, 0.5f, 1.0f);
        soft_kit_ticks(&kit, 300);
        strains[k] = soft_strain(kit.soft, range.body);
        soft_kit_destroy(&kit);
    }
    printf("soft cloth stretches by %.3f, with limits of 0.1 by %.4f\n", (f64)strains[0],
           (f64)strains[1]);
    assert_true(strains[0] > 0.2f && strains[1] > 0.09f && strains[1] < 0.105f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strip_has_the_energy_of_a_beam),
        cmocka_unit_test(strips_bend_like_the_elastica),
        cmocka_unit_test(blocks_stretch_like_neo_hookean_matter),
        cmocka_unit_test(cantilevers_tend_to_the_beam),
        cmocka_unit_test(ropes_hang_in_catenaries),
        cmocka_unit_test(tethers_hold_long_ropes),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
