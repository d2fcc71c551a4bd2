/* test_contact_face.c: small and fast balls against a held cloth: none passes, wherever in a
 * cell it hits, and momentum is exchanged exactly. */
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    SIDE = 33,
    TICKS = 9
};

/* z of the cloth on the line along z through a point: of the triangle over it, the farthest
 * ahead if folded. −INFINITY: none. */
static f32 cloth_at(const Soft *soft, const SoftMesh *mesh, Vec3 place)
{
    f32 most = -INFINITY;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 a = soft_position(soft, mesh->triangles[3 * t]);
        Vec3 b = soft_position(soft, mesh->triangles[3 * t + 1]);
        Vec3 c = soft_position(soft, mesh->triangles[3 * t + 2]);
        f32 area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        f32 u = ((place.x - a.x) * (c.y - a.y) - (place.y - a.y) * (c.x - a.x)) / area;
        f32 v = ((b.x - a.x) * (place.y - a.y) - (b.y - a.y) * (place.x - a.x)) / area;
        if (u >= -0.01f && v >= -0.01f && u + v <= 1.01f) {
            most = f32_max(most, a.z + u * (b.z - a.z) + v * (c.z - a.z));
        }
    }
    return most;
}

/* Over the centre of a ball, or beside it where a triangle is seen edge-on. */
static f32 cloth_over(const Soft *soft, const SoftMesh *mesh, Vec3 middle, f32 radius)
{
    static const f32 beside[5][2] = {
        {0.0f, 0.0f}, {0.11f, 0.07f}, {-0.07f, 0.13f}, {-0.12f, -0.05f}, {0.06f, -0.14f}};
    f32 most = -INFINITY;
    for (u32 k = 0; k < 5 && most == -INFINITY; k++) {
        most = cloth_at(
            soft, mesh,
            vec3(middle.x + beside[k][0] * radius, middle.y + beside[k][1] * radius, 0.0f));
    }
    return most;
}

/* Least distance of the cloth ahead of the ball's centre. */
static f32 shoot(f32 radius, f32 mass, f32 speed, Vec3 at, bool pinned)
{
    SoftKit kit = soft_kit_create(vec3_zero());
    SoftMesh mesh;
    SoftRange range;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, SIDE, SIDE, 0.8f, 0.8f, &error), 0);
    SoftPin pins[4 * SIDE];
    memset(pins, 0, sizeof pins);
    for (u32 i = 0; i < SIDE; i++) { /* the whole rim */
        pins[4 * i].point = i;
        pins[4 * i + 1].point = SIDE * (SIDE - 1) + i;
        pins[4 * i + 2].point = SIDE * i;
        pins[4 * i + 3].point = SIDE * i + SIDE - 1;
    }
    SoftDef def = soft_kit_cloth_def();
    def.mesh = &mesh;
    def.position = vec3(-0.4f, -0.4f, 0.0f);
    def.mass_kg = 0.2f;
    def.thickness = 0.005f;
    def.pins = pinned ? pins : NULL;
    def.pin_count = pinned ? 4 * SIDE : 0;
    Collider bodies = soft_kit_collider(&kit);
    if (soft_add(kit.soft, &bodies, &def, &range, &error) != 0) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(soft_build(kit.soft), 0);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = radius};
    /* A tick and a half before contact. */
    at.z = -radius - 1.5f * speed * SOFT_KIT_TICK_S;
    BodyId id = soft_kit_add_body(&kit, ball, BODY_DYNAMIC, mass, at, vec3(0.0f, 0.0f, speed));
    f64 before[3], after[3];
    f32 worst = INFINITY;
    soft_kit_momentum(&kit, before);
    for (u32 i = 0; i < TICKS; i++) {
        soft_kit_ticks(&kit, 1);
        Vec3 now = rigid_position(kit.rigid, id.slot);
        f32 over = cloth_over(kit.soft, &mesh, now, radius);
        /* None: it has bounced off, past the rim. */
        worst = over > -INFINITY ? f32_min(worst, over - now.z) : worst;
    }
    soft_kit_momentum(&kit, after);
    f32 left = rigid_velocity(kit.rigid, id.slot).z;
    f64 change = soft_kit_drift(before, after, (f64)(mass * speed));
    printf("%4.0f mm at %2.0f m/s: %6.2f m/s left, cloth at worst %6.1f mm ahead, momentum %.1e\n",
           (f64)(1e3f * radius), (f64)speed, (f64)left, (f64)(1e3f * worst), change);
    assert_true(left < 0.98f * speed);
    if (!pinned) {
        assert_true(change < 2e-5);
    }
    soft_mesh_finish(&mesh);
    soft_kit_destroy(&kit);
    return worst;
}

static void balls_do_not_pass_cloth(void **unused)
{
    PL_UNUSED(unused);
    static const f32 radii[] = {0.01f, 0.02f, 0.05f, 0.1f}, speeds[] = {5.0f, 10.0f, 20.0f, 30.0f};
    static const f32 masses[] = {0.011f, 0.034f, 0.1f, 0.3f}; /* kg; of the cloth: 0.2 */
    /* The middle of a triangle, of an edge, of a diagonal, and a particle; cells are 25 mm. */
    static const Vec3 places[] = {{0.008f, 0.016f, 0.0f},
                                  {0.0125f, 0.0f, 0.0f},
                                  {0.0125f, 0.0125f, 0.0f},
                                  {0.0f, 0.0f, 0.0f}};
    u32 passed = 0;
    for (u32 r = 0; r < PL_COUNT(radii); r++) {
        for (u32 s = 0; s < PL_COUNT(speeds); s++) {
            u32 place = (r + s) % PL_COUNT(places);
            for (u32 k = 0; k < 2; k++) {
                passed += !(shoot(radii[r], masses[r], speeds[s], places[place], k == 0) > 0.0f);
            }
        }
    }
    assert_int_equal(passed, 0);
}

/* Cloth stretched by a ball to several times its length returns faster than any speed at the
 * start of the substep. */
static void cloth_comes_back_with_the_ball(void **unused)
{
    PL_UNUSED(unused);
    static const f32 speeds[] = {15.0f, 20.0f, 25.0f, 30.0f};
    u32 passed = 0;
    for (u32 s = 0; s < PL_COUNT(speeds); s++) {
        for (u32 k = 0; k < 9; k++) {
            Vec3 at =
                vec3(0.00625f * (f32)(k % 3) + 0.001f * (f32)s, 0.00625f * (f32)(k / 3), 0.0f);
            passed += !(shoot(0.05f, 0.1f, speeds[s], at, true) > 0.0f);
        }
    }
    assert_int_equal(passed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls_do_not_pass_cloth),
        cmocka_unit_test(cloth_comes_back_with_the_ball),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
