/*
 * test_strain.c: a cloth whose parts are shown at different times is drawn no longer than it is;
 * one that is really stretched, and shown at one time, is left as it is. The test sets the times.
 */
#include "client/link/strain.h"

#include "shared/soft/soft_mesh.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SIDE = 16,
    BEFORE = 64,
    POINTS = BEFORE + SIDE * SIDE
};

#define EDGE_M 0.1f

static u64 phases[POINTS];

u64 timeline_phase(const Timeline *timeline, u32 field, u32 element)
{
    (void)timeline;
    assert_int_equal(field, 3);
    assert_true(element >= BEFORE && element < POINTS);
    return phases[element];
}

typedef struct Fixture {
    SoftMesh mesh;
    SceneSoft soft;
    Scene scene;
    Entity entity;
    Strain *strain;
    ShownPoint points[POINTS];
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    ErrorText error = {0};
    assert_non_null(f);
    assert_int_equal(
        soft_mesh_grid(&f->mesh, SIDE, SIDE, EDGE_M * (SIDE - 1), EDGE_M * (SIDE - 1), &error), 0);
    strcpy(f->soft.name, "sheet");
    strcpy(f->entity.name, "sheet");
    f->scene.soft_meshes = &f->mesh;
    f->scene.soft_bodies = &f->soft;
    f->scene.soft_mesh_count = f->scene.soft_count = 1;
    f->entity.id = 1;
    f->entity.field = 3;
    f->entity.first = BEFORE;
    f->entity.count = SIDE * SIDE;
    f->strain = strain_create();
    assert_non_null(f->strain);
    strain_update(f->strain, &f->scene, &f->entity, 1, 1, 1);
    for (u32 i = 0; i < POINTS; i++) {
        u32 k = i >= BEFORE ? i - BEFORE : 0;
        f->points[i].position = vec3(EDGE_M * (f32)(k % SIDE), EDGE_M * (f32)(k / SIDE), 0.0f);
        f->points[i].generation = 1;
        phases[i] = 1;
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    strain_destroy(f->strain);
    soft_mesh_finish(&f->mesh);
    free(f);
    return 0;
}

static f32 longest(const Fixture *f)
{
    f32 most = 0.0f;
    for (u32 k = 0; k < SIDE * SIDE; k++) {
        const ShownPoint *p = &f->points[BEFORE + k];
        most =
            k % SIDE + 1 < SIDE ? f32_max(most, vec3_distance(p[0].position, p[1].position)) : most;
        most = k + SIDE < SIDE * SIDE
                   ? f32_max(most, vec3_distance(p[0].position, p[SIDE].position))
                   : most;
    }
    return most / EDGE_M;
}

/* Chunks of four rows, each at another time of a falling cloth: edges between them are three times
 * as long. */
static void test_parts_at_different_times(void **state)
{
    Fixture *f = *state;
    for (u32 i = BEFORE; i < POINTS; i++) {
        phases[i] = 1 + i / 64;
        f->points[i].position.z = (i / 64) % 2 ? 0.28f : 0.0f;
    }
    assert_true(longest(f) > 2.9f);
    strain_limit(f->strain, NULL, 3, f->points);
    print_message("longest %.3f\n", (double)longest(f));
    assert_true(longest(f) < 1.15f);
}

/* Really stretched by half: the strain known of it is allowed elsewhere. */
static void test_a_stretched_cloth(void **state)
{
    Fixture *f = *state;
    ShownPoint before[POINTS];
    for (u32 i = BEFORE; i < POINTS; i++) {
        f->points[i].position = vec3_scale(f->points[i].position, 1.5f);
    }
    memcpy(before, f->points, sizeof before);
    strain_limit(f->strain, NULL, 3, f->points);
    assert_memory_equal(before, f->points, sizeof before);
    for (u32 i = BEFORE; i < POINTS; i++) {
        phases[i] = 1 + i / 64;
    }
    strain_limit(f->strain, NULL, 3, f->points);
    assert_memory_equal(before, f->points, sizeof before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_at_different_times, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stretched_cloth, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
