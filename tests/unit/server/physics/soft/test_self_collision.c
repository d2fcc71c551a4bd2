/* test_self_collision.c: soft bodies against each other and themselves: no edge of a towel
 * pierces a triangle of it, checked by brute force; momentum; friction. */
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const Vec3 gravity = {0.0f, -9.81f, 0.0f};
/* Rotates a grid from the x–y plane to x–z, its front up. */
static const Quat flat = {0.70710678f, -0.70710678f, 0.0f, 0.0f};

/* ---- brute force ---- */

typedef struct Sheet {
    u32 *triangles; /* [count × 3] particles of the world */
    u32 count;
} Sheet;

static Sheet sheet_of(const SoftMesh *mesh, u32 first)
{
    Sheet sheet = {malloc(3 * sizeof(u32) * mesh->triangle_count), mesh->triangle_count};
    for (u32 i = 0; i < 3 * sheet.count; i++) {
        sheet.triangles[i] = first + mesh->triangles[i];
    }
    return sheet;
}

/* Does the open segment p–q pierce the interior of the triangle? In double precision. */
static bool pierces(const f64 p[3], const f64 q[3], f64 corners[3][3])
{
    f64 d[3], e1[3], e2[3], s[3], n[3], m[3];
    for (u32 k = 0; k < 3; k++) {
        d[k] = q[k] - p[k];
        e1[k] = corners[1][k] - corners[0][k];
        e2[k] = corners[2][k] - corners[0][k];
        s[k] = p[k] - corners[0][k];
    }
    for (u32 k = 0; k < 3; k++) {
        u32 i = (k + 1) % 3, j = (k + 2) % 3;
        n[k] = d[i] * e2[j] - d[j] * e2[i];
        m[k] = s[i] * e1[j] - s[j] * e1[i];
    }
    f64 det = e1[0] * n[0] + e1[1] * n[1] + e1[2] * n[2];
    if (fabs(det) < 1e-15) {
        return false;
    }
    f64 u = (s[0] * n[0] + s[1] * n[1] + s[2] * n[2]) / det;
    f64 v = (d[0] * m[0] + d[1] * m[1] + d[2] * m[2]) / det;
    f64 t = (e2[0] * m[0] + e2[1] * m[1] + e2[2] * m[2]) / det;
    return u > 0.0 && v > 0.0 && u + v < 1.0 && t > 0.0 && t < 1.0;
}

static void put(f64 out[3], Vec3 v)
{
    out[0] = (f64)v.x;
    out[1] = (f64)v.y;
    out[2] = (f64)v.z;
}

typedef struct Box {
    Vec3 low, high;
} Box;

static Box box_of(const Soft *soft, const u32 *p, u32 count)
{
    Box box = {soft_position(soft, p[0]), soft_position(soft, p[0])};
    for (u32 k = 1; k < count; k++) {
        box.low = vec3_min(box.low, soft_position(soft, p[k]));
        box.high = vec3_max(box.high, soft_position(soft, p[k]));
    }
    return box;
}

/* Counts edges of sheet a that pierce triangles of sheet b. */
static u32 count_pierced(const Soft *soft, const Sheet *a, const Sheet *b)
{
    u32 found = 0;
    Box *boxes = malloc(a->count * sizeof *boxes);
    for (u32 s = 0; s < a->count; s++) {
        boxes[s] = box_of(soft, a->triangles + (size_t)3 * s, 3);
    }
    for (u32 t = 0; t < b->count; t++) {
        const u32 *q = b->triangles + (size_t)3 * t;
        Box box = box_of(soft, q, 3);
        f64 c[3][3];
        for (u32 k = 0; k < 3; k++) {
            put(c[k], soft_position(soft, q[k]));
        }
        for (u32 s = 0; s < a->count; s++) {
            if (boxes[s].low.x > box.high.x || boxes[s].high.x < box.low.x ||
                boxes[s].low.y > box.high.y || boxes[s].high.y < box.low.y ||
                boxes[s].low.z > box.high.z || boxes[s].high.z < box.low.z) {
                continue;
            }
            for (u32 k = 0; k < 3; k++) {
                u32 i = a->triangles[3 * s + k], j = a->triangles[3 * s + (k + 1) % 3];
                if (i == q[0] || i == q[1] || i == q[2] || j == q[0] || j == q[1] || j == q[2]) {
                    continue;
                }
                f64 from[3], to[3];
                put(from, soft_position(soft, i));
                put(to, soft_position(soft, j));
                found += pierces(from, to, c);
            }
        }
    }
    free(boxes);
    return found;
}

static SoftRange add_sheet(SoftKit *kit, SoftDef *def, u32 side, f32 size, Sheet *sheet)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, side, side, size, size, &error), 0);
    def->mass_kg = 0.2f * size * size;
    u32 first = soft_particles(kit->soft);
    *sheet = sheet_of(&mesh, first);
    return soft_kit_add(kit, def, &mesh);
}

/* In 150 ticks, looked at three times. */
static u32 worst_pierced(SoftKit *kit, const Sheet *sheet)
{
    u32 worst = 0;
    for (u32 i = 0; i < 3; i++) {
        soft_kit_ticks(kit, 50);
        worst = u32_max(worst, count_pierced(kit->soft, sheet, sheet));
    }
    return worst;
}

static f32 fastest(const SoftKit *kit)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < soft_particles(kit->soft); i++) {
        most = f32_max(most, vec3_length(soft_velocity(kit->soft, i)));
    }
    return most;
}

static BodyId add_floor(SoftKit *kit, f32 friction)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_PLANE;
    def.motion = BODY_STATIC;
    def.friction = friction;
    return rigid_add(kit->rigid, &def);
}

/* ---- tests ---- */

/* A towel that falls over a rail and from it to the floor in folds. */
static void towel_falls_over_a_rail_into_folds(void **unused)
{
    PL_UNUSED(unused);
    static const f32 thickness[] = {0.005f};
    for (u32 k = 0; k < PL_COUNT(thickness); k++) {
        SoftKit kit = soft_kit_create(gravity);
        Sheet sheet;
        add_floor(&kit, 0.6f);
        Shape rail = {.kind = SHAPE_CAPSULE, .radius = 0.03f, .half_height = 0.6f};
        BodyDef body = body_def_default();
        body.shape = rail;
        body.motion = BODY_STATIC;
        body.position = vec3(0.5f, 0.5f, -0.3f);
        body.orientation = (Quat){0.70710678f, 0.0f, 0.0f, 0.70710678f};
        rigid_add(kit.rigid, &body);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.9f, 0.1f);
        def.orientation = flat;
        def.thickness = thickness[k];
        def.damping = 0.5f;
        def.self_collision = true;
        add_sheet(&kit, &def, 41, 1.0f, &sheet);
        u32 worst = worst_pierced(&kit, &sheet);
        printf("towel of 2 x %.0f mm: at worst %u edges through triangles, fastest %.2f m/s\n",
               (double)(1e3f * thickness[k]), worst, (double)fastest(&kit));
        assert_int_equal(count_pierced(kit.soft, &sheet, &sheet), 0);
        free(sheet.triangles);
        soft_kit_destroy(&kit);
    }
}

/* Stands upright on its edge, leaning, and falls on itself in folds. */
static void towel_dropped_on_itself(void **unused)
{
    PL_UNUSED(unused);
    static const f32 thickness[] = {0.01f, 0.004f};
    for (u32 k = 0; k < PL_COUNT(thickness); k++) {
        SoftKit kit = soft_kit_create(gravity);
        Sheet sheet;
        add_floor(&kit, 0.6f);
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.0f, 0.05f, 0.0f);
        def.orientation = (Quat){0.9990482f, 0.0436194f, 0.0f, 0.0f};
        def.thickness = thickness[k];
        def.damping = 0.5f;
        def.self_collision = true;
        add_sheet(&kit, &def, 41, 1.0f, &sheet);
        u32 worst = worst_pierced(&kit, &sheet);
        f32 low = INFINITY, high = -INFINITY;
        for (u32 i = 0; i < soft_particles(kit.soft); i++) {
            low = f32_min(low, soft_position(kit.soft, i).y);
            high = f32_max(high, soft_position(kit.soft, i).y);
        }
        printf("heap of 2 x %.0f mm: %.3f to %.3f m high, at worst %u edges through triangles, "
               "fastest %.2f m/s\n",
               (double)(1e3f * thickness[k]), (double)low, (double)high, worst,
               (double)fastest(&kit));
        assert_int_equal(count_pierced(kit.soft, &sheet, &sheet), 0);
        free(sheet.triangles);
        soft_kit_destroy(&kit);
    }
}

static void two_cloths_on_each_other(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(gravity);
    Sheet sheets[2];
    add_floor(&kit, 0.6f);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.15f};
    soft_kit_add_body(&kit, ball, BODY_STATIC, 0.0f, vec3(0.4f, 0.2f, -0.4f), vec3_zero());
    for (u32 k = 0; k < 2; k++) {
        SoftDef def = soft_kit_cloth_def();
        def.position = vec3(0.07f * (f32)k, 0.45f + 0.2f * (f32)k, 0.03f * (f32)k);
        def.orientation = flat;
        def.thickness = 0.01f;
        def.damping = 0.5f;
        def.velocity = vec3(0.0f, k == 1 ? -3.0f : 0.0f, 0.0f);
        add_sheet(&kit, &def, 25, 0.8f, &sheets[k]);
    }
    soft_kit_ticks(&kit, 120);
    u32 pierced = count_pierced(kit.soft, &sheets[0], &sheets[1]) +
                  count_pierced(kit.soft, &sheets[1], &sheets[0]);
    /* The lower one lies on the ball, the upper one a thickness above it; elsewhere folds may be
     * higher than both. */
    f32 off[2] = {INFINITY, INFINITY};
    for (u32 i = 0; i < 2 * 625; i++) {
        Vec3 from = vec3_sub(soft_position(kit.soft, i), vec3(0.4f, 0.2f, -0.4f));
        off[i / 625] = f32_min(off[i / 625], vec3_length(from) - 0.15f);
    }
    printf("two cloths on a ball: %u edges through triangles, %.4f and %.4f m off it, fastest "
           "%.2f m/s\n",
           pierced, (double)off[0], (double)off[1], (double)fastest(&kit));
    assert_int_equal(pierced, 0);
    assert_float_equal(off[0], 0.01f, 3e-3f);
    assert_true(off[1] - off[0] > 0.015f && off[1] - off[0] < 0.035f);
    for (u32 k = 0; k < 2; k++) {
        free(sheets[k].triangles);
    }
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(towel_falls_over_a_rail_into_folds),
        cmocka_unit_test(towel_dropped_on_itself),
        cmocka_unit_test(two_cloths_on_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
