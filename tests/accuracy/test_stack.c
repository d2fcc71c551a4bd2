/* test_stack.c: stacks that must stand for 10 s at 60 Hz and 4 substeps: columns, heavy bodies
 * on light ones, a wall. The reference values are those of the best engine measured (18 mm of
 * overlap in a column of 30, 58 mm under a top box 100 times heavier). */
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    COLUMN_MAX = 30
};

typedef struct Column {
    f32 overlap; /* m, deepest overlap of adjacent boxes during the run */
    f32 lean;    /* m, largest horizontal displacement of a box */
    f32 speed;   /* m/s, largest at the end */
} Column;

static Column watch_column(Rigid *rigid, u32 count, f32 seconds)
{
    Column c = {0};
    for (u32 t = 0; t < (u32)(seconds * 60.0f); t++) {
        kit_tick(rigid);
        f32 below = -0.5f;
        c.speed = 0.0f;
        for (u32 i = 1; i <= count; i++) {
            Vec3 p = rigid_position(rigid, i);
            c.overlap = f32_max(c.overlap, below + 1.0f - p.y);
            c.lean = f32_max(c.lean, sqrtf(p.x * p.x + p.z * p.z));
            c.speed = f32_max(c.speed, vec3_length(rigid_velocity(rigid, i)));
            below = p.y;
        }
    }
    return c;
}

/* Unit boxes; the top one `heavier` times as heavy. */
static Column column(u32 count, f32 heavier)
{
    Rigid *rigid = kit_world(COLUMN_MAX + 1, 4, KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    for (u32 i = 0; i < count; i++) {
        BodyDef def = kit_box(vec3(0.0f, (f32)i + 0.5f, 0.0f), vec3(0.5f, 0.5f, 0.5f));
        def.mass_kg *= i + 1 == count ? heavier : 1.0f;
        kit_add(rigid, &def);
    }
    Column c = watch_column(rigid, count, 10.0f);
    printf("%u boxes, top %.0f times heavier: overlap %.1f mm, lean %.2f mm, speed %.2g mm/s\n",
           count, (double)heavier, (double)c.overlap * 1e3, (double)c.lean * 1e3,
           (double)c.speed * 1e3);
    rigid_destroy(rigid);
    return c;
}

static void columns_stand(void **unused)
{
    PL_UNUSED(unused);
    static const f32 overlap_max[] = {0.006f, 0.012f, 0.018f};
    for (u32 i = 0; i < PL_COUNT(overlap_max); i++) {
        Column c = column(10 * (i + 1), 1.0f);
        assert_true(c.overlap < overlap_max[i]);
        assert_true(c.lean < 0.02f);
        assert_true(c.speed < 0.01f);
    }
}

static void light_boxes_carry_heavy_ones(void **unused)
{
    PL_UNUSED(unused);
    static const f32 heavier[] = {10.0f, 50.0f, 100.0f};
    for (u32 i = 0; i < PL_COUNT(heavier); i++) {
        Column c = column(5, heavier[i]);
        assert_true(c.overlap < 0.058f);
        assert_true(c.lean < 0.05f);
        assert_true(c.speed < 0.02f);
    }
}

/* A table top of 125 times the mass of each of four legs. */
static void table_stands(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(6, 4, KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    BodyDef leg = kit_box(vec3_zero(), vec3(0.1f, 0.5f, 0.1f));
    for (u32 i = 0; i < 4; i++) {
        leg.position = vec3(i & 1 ? 0.8f : -0.8f, 0.5f, i & 2 ? 0.8f : -0.8f);
        kit_add(rigid, &leg);
    }
    BodyDef top = kit_box(vec3(0.0f, 1.1f, 0.0f), vec3(1.0f, 0.1f, 1.0f));
    top.mass_kg = 125.0f * leg.mass_kg;
    u32 slot = kit_add(rigid, &top);
    kit_run(rigid, 10.0f);
    Vec3 p = rigid_position(rigid, slot);
    printf("table: top sinks %.1f mm, drifts %.2f mm\n", 1e3 * (double)(1.1f - p.y),
           1e3 * (double)sqrtf(p.x * p.x + p.z * p.z));
    assert_true(p.y > 1.05f && p.y < 1.12f);
    assert_true(sqrtf(p.x * p.x + p.z * p.z) < 0.05f);
    rigid_destroy(rigid);
}

/* A triangle of 20 courses of unit boxes, each over the joint of two. */
static void wall_of_210_boxes_stands(void **unused)
{
    PL_UNUSED(unused);
    const u32 n = 20;
    Rigid *rigid = kit_world(n * (n + 1) / 2 + 1, 4, KIT_GRAVITY_M_S2);
    BodyDef ground = kit_ground();
    kit_add(rigid, &ground);
    u32 top = 0;
    for (u32 i = 0; i < n; i++) {
        for (u32 j = 0; j < n - i; j++) {
            BodyDef def =
                kit_box(vec3(0.5f * (f32)(i + 1) + (f32)j - 0.5f * (f32)n, (f32)i + 0.5f, 0.0f),
                        vec3(0.5f, 0.5f, 0.5f));
            top = kit_add(rigid, &def);
        }
    }
    Vec3 from = rigid_position(rigid, top);
    kit_run(rigid, 10.0f);
    Vec3 d = vec3_sub(rigid_position(rigid, top), from);
    f32 fastest = 0.0f;
    for (u32 i = 1; i <= top; i++) {
        fastest = f32_max(fastest, vec3_length(rigid_velocity(rigid, i)));
    }
    printf("wall of 210: top drifts %.2f mm, sinks %.2f mm; fastest box %.2g mm/s\n",
           1e3 * (double)sqrtf(d.x * d.x + d.z * d.z), -1e3 * (double)d.y, 1e3 * (double)fastest);
    assert_true(sqrtf(d.x * d.x + d.z * d.z) < 0.02f);
    assert_true(d.y > -0.1f && d.y < 0.01f);
    assert_true(fastest < 0.02f);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_stand),
        cmocka_unit_test(light_boxes_carry_heavy_ones),
        cmocka_unit_test(table_stands),
        cmocka_unit_test(wall_of_210_boxes_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
