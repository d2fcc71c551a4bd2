/* test_build.c: the results of valid definitions, and the errors of invalid ones. */
#include "server/physics/soft/soft_internal.h"
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static u32 count_of(const Soft *soft, u32 kind, u32 role)
{
    u32 sum = 0;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        sum += soft->constraints[i].kind == kind && soft->constraints[i].role == role;
    }
    return sum;
}

/* Euler: a closed surface of genus 0 has 3 (points − 2) edges, each of them a hinge. */
static void counts_are_those_of_the_mesh(void **unused)
{
    PL_UNUSED(unused);
    for (u32 bend = SOFT_BEND_NONE; bend <= SOFT_BEND_ISOMETRIC; bend++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftMesh mesh;
        ErrorText error;
        assert_int_equal(soft_mesh_sphere(&mesh, 0.5f, 2, &error), 0);
        u32 edges = 3 * (mesh.point_count - 2), triangles = mesh.triangle_count;
        SoftDef def = soft_kit_cloth_def();
        def.mass_kg = 1.0f;
        def.bend = (SoftBend)bend;
        def.area_compliance = 0.0f;
        def.stretch_min = 0.9f;
        def.stretch_max = 1.1f;
        soft_kit_add(&kit, &def, &mesh);
        static const u32 kinds[] = {CONSTRAINT_DISTANCE, CONSTRAINT_DISTANCE, CONSTRAINT_DIHEDRAL,
                                    CONSTRAINT_ISOMETRIC};
        assert_int_equal(count_of(kit.soft, CONSTRAINT_DISTANCE, ROLE_STRETCH), edges);
        assert_int_equal(count_of(kit.soft, CONSTRAINT_DISTANCE, ROLE_LIMIT), edges);
        assert_int_equal(count_of(kit.soft, CONSTRAINT_AREA, ROLE_STRETCH), triangles);
        assert_int_equal(count_of(kit.soft, kinds[bend], ROLE_BEND), bend == 0 ? 0 : edges);
        /* No forces at rest, even on a curved surface. */
        soft_kit_ticks(&kit, 10);
        for (u32 i = 0; i < kit.soft->count; i++) {
            assert_true(vec3_length(soft_velocity(kit.soft, i)) < 1e-3f);
        }
        soft_kit_destroy(&kit);
    }
}

/* A sheet hanging from a row of pins: one tether, to the nearest pin, for each point without an
 * edge to a pin; a second row of pins as far away as the sheet is high adds the tethers it
 * needs. */
static void tethers_are_those_that_are_needed(void **unused)
{
    PL_UNUSED(unused);
    enum {
        COLUMNS = 5,
        ROWS = 9
    };
    for (u32 both = 0; both < 2; both++) {
        SoftKit kit = soft_kit_create(vec3_zero());
        SoftDef def = soft_kit_cloth_def();
        SoftPin pins[2 * COLUMNS];
        memset(pins, 0, sizeof pins);
        for (u32 i = 0; i < COLUMNS; i++) {
            pins[i].point = i;
            pins[COLUMNS + i].point = (ROWS - 1) * COLUMNS + i;
        }
        def.pins = pins;
        def.pin_count = both ? 2 * COLUMNS : COLUMNS;
        def.tethers = true;
        soft_kit_add_cloth(&kit, &def, COLUMNS, ROWS, 0.4f, 0.8f);
        u32 found = count_of(kit.soft, CONSTRAINT_DISTANCE, ROLE_LIMIT);
        printf("%u rows of pins: %u tethers\n", 1 + both, found);
        /* Rows 2 to 8; with both, rows 2 to 7 to the first and 1 to 6 to the last. */
        assert_int_equal(found, both ? 12 * COLUMNS : 7 * COLUMNS);
        for (u32 i = 0; i < kit.soft->constraint_count; i++) {
            const SoftConstraint *c = &kit.soft->constraints[i];
            if (c->role == ROLE_LIMIT) {
                f32 rest = vec3_distance(kit.soft->rest[c->point[0]], kit.soft->rest[c->point[1]]);
                assert_float_equal(c->high, rest, 1e-6f);
                assert_float_equal(kit.soft->rest[c->point[0]].x, kit.soft->rest[c->point[1]].x,
                                   1e-6f);
            }
        }
        soft_kit_destroy(&kit);
    }
}

/* Every field, and the text must name it. */
static void numbers_are_checked(void **unused)
{
    PL_UNUSED(unused);
#define FIELD(name)                                                                                \
    {                                                                                              \
#name, offsetof(SoftDef, name)                                                             \
    }
    static const struct {
        const char *name;
        size_t at;
    } fields[] = {FIELD(position.x),
                  FIELD(velocity.y),
                  FIELD(angular_velocity.z),
                  FIELD(mass_kg),
                  FIELD(stiffness),
                  FIELD(stretch_compliance),
                  FIELD(shear_compliance),
                  FIELD(bend_compliance),
                  FIELD(area_compliance),
                  FIELD(volume_compliance),
                  FIELD(stretch_min),
                  FIELD(stretch_max),
                  FIELD(young),
                  FIELD(poisson),
                  FIELD(pressure),
                  FIELD(inflate_s),
                  FIELD(match_stiffness),
                  FIELD(match_beta),
                  FIELD(yield),
                  FIELD(creep),
                  FIELD(plastic_max),
                  FIELD(damping),
                  FIELD(smoothing),
                  FIELD(spring_damping),
                  FIELD(thickness),
                  FIELD(friction),
                  FIELD(static_friction),
                  FIELD(contact_stiffness),
                  FIELD(rolling_resistance)};
#undef FIELD
    static const f32 bad[] = {NAN, INFINITY, 1e30f};
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, 4, 4, 1.0f, 1.0f, &error), 0);
    for (u32 i = 0; i < PL_COUNT(fields) * PL_COUNT(bad); i++) {
        SoftDef def = soft_kit_cloth_def();
        SoftRange range;
        def.mesh = &mesh;
        def.mass_kg = 1.0f;
        memcpy((char *)&def + fields[i / 3].at, &bad[i % 3], sizeof(f32));
        assert_true(soft_add(kit.soft, NULL, &def, &range, &error) < 0);
        if (strstr(error.text, fields[i / 3].name) == NULL) {
            fail_msg("%s: \"%s\"", fields[i / 3].name, error.text);
        }
        assert_int_equal(kit.soft->count, 0);
        assert_int_equal(kit.soft->constraint_count, 0);
    }
    soft_mesh_finish(&mesh);
    soft_kit_destroy(&kit);
}

static void refuse(SoftDef *def, SoftMesh *mesh, const char *text)
{
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftRange range;
    ErrorText error;
    def->mesh = mesh;
    assert_true(soft_add(kit.soft, NULL, def, &range, &error) < 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" instead of \"%s\"", error.text, text);
    }
    assert_int_equal(kit.soft->count + kit.soft->constraint_count + kit.soft->triangle_count, 0);
    soft_kit_destroy(&kit);
}

static void broken_meshes_are_refused(void **unused)
{
    PL_UNUSED(unused);
    Vec3 points[5] = {{0.0f, 0.0f, 0.0f},
                      {1.0f, 0.0f, 0.0f},
                      {0.0f, 1.0f, 0.0f},
                      {0.0f, 0.0f, 1.0f},
                      {2.0f, 0.0f, 0.0f}};
    u32 triangles[6] = {0, 1, 2, 0, 2, 3}, tetrahedron[4] = {0, 1, 2, 3};
    SoftStick stick = {0, 1, 1.0f, 1.0f};
    SoftMesh mesh = {.points = points, .triangles = triangles, .point_count = 4};
    SoftDef def = soft_kit_cloth_def();
    mesh.triangle_count = 2;
    def.mass_kg = 1.0f;
    triangles[5] = 9;
    refuse(&def, &mesh, "triangle 1: point 9");
    triangles[5] = 3;
    points[3] = points[2];
    refuse(&def, &mesh, "triangle 1: edge 2-3 has no length");
    points[3] = vec3(0.0f, 2.0f, 0.0f);
    refuse(&def, &mesh, "triangle 1 has no area");
    points[3] = vec3(NAN, 2.0f, 0.0f);
    refuse(&def, &mesh, "point 3");
    points[3] = vec3(0.0f, 0.0f, 1.0f);
    mesh.point_count = 5;
    refuse(&def, &mesh, "point 4 belongs to no");
    mesh.point_count = 4;
    def.pressure = 100.0f;
    refuse(&def, &mesh, "pressure 100 Pa");
    def.pressure = 0.0f;
    def.young = 1e4f;
    refuse(&def, &mesh, "young 10000 Pa");
    mesh.tetrahedra = tetrahedron;
    mesh.tetrahedron_count = 1;
    tetrahedron[1] = 2;
    tetrahedron[2] = 1;
    refuse(&def, &mesh, "tetrahedron 0 has no volume");
    tetrahedron[3] = 7;
    refuse(&def, &mesh, "tetrahedron 0: point 7");
    mesh.tetrahedron_count = 0;
    def.young = 0.0f;
    mesh.sticks = &stick;
    mesh.stick_count = 1;
    stick.b = 11;
    refuse(&def, &mesh, "stick 0");
    stick = (SoftStick){0, 1, 2.0f, 1.0f};
    refuse(&def, &mesh, "stick 0");
    stick = (SoftStick){0, 1, 1.0f, 1.0f};
    SoftPin pin = {.point = 4};
    def.pins = &pin;
    def.pin_count = 1;
    refuse(&def, &mesh, "pin 0: point 4");
    pin = (SoftPin){.point = 1, .body = {3, 1}};
    refuse(&def, &mesh, "pin 0: its body");
    def.pin_count = 0;
    def.yield = 0.1f;
    refuse(&def, &mesh, "yield");
    def.yield = 0.0f;
    def.match = (SoftMatch)9;
    refuse(&def, &mesh, "match 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_those_of_the_mesh),
        cmocka_unit_test(tethers_are_those_that_are_needed),
        cmocka_unit_test(numbers_are_checked),
        cmocka_unit_test(broken_meshes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
