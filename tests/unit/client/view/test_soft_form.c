/* test_soft_form.c: surfaces have the normals of the shapes they approximate, tubes keep their
 * radius along bends, and the drawn mesh follows the points. */
#include "client/view/soft_form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h comes after what it needs. */
#include <cmocka.h>

static ShownPoint *shown(const SoftMesh *mesh, Vec3 shift)
{
    ShownPoint *points = calloc(mesh->point_count, sizeof *points);
    assert_non_null(points);
    for (u32 i = 0; i < mesh->point_count; i++) {
        points[i].position = vec3_add(mesh->points[i], shift);
        points[i].generation = 1;
    }
    return points;
}

typedef struct Drawn {
    SoftForm form;
    SoftVertex *vertices;
    u32 *indices;
} Drawn;

static void draw(Drawn *drawn, const SoftMesh *mesh, const Appearance *appearance,
                 const ShownPoint *points, u32 count)
{
    assert_true(soft_form_init(&drawn->form, mesh, appearance, count));
    drawn->vertices = calloc(drawn->form.vertex_count, sizeof *drawn->vertices);
    drawn->indices = calloc(drawn->form.index_count, sizeof *drawn->indices);
    assert_non_null(drawn->vertices);
    assert_non_null(drawn->indices);
    soft_form_fill(&drawn->form, points, drawn->vertices);
    soft_form_indices(&drawn->form, 0, drawn->indices);
    for (u32 i = 0; i < drawn->form.index_count; i++) {
        assert_true(drawn->indices[i] < drawn->form.vertex_count);
    }
}

static void drop(Drawn *drawn)
{
    free(drawn->vertices);
    free(drawn->indices);
    soft_form_finish(&drawn->form);
}

/* Six times the volume enclosed by the triangles, about `centre`. */
static f64 enclosed(const Drawn *drawn, Vec3 centre)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < drawn->form.index_count; i += 3) {
        Vec3 p[3];
        for (u32 k = 0; k < 3; k++) {
            p[k] = vec3_sub(drawn->vertices[drawn->indices[i + k]].position, centre);
        }
        sum += (f64)vec3_dot(vec3_cross(p[0], p[1]), p[2]);
    }
    return sum;
}

static const f64 pi = 3.14159265358979323846;

static void test_a_sphere_is_smooth_and_swells_by_its_thickness(void **state)
{
    (void)state;
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_sphere(&mesh, 0.5f, 3, &error), 0);
    Appearance appearance = {.kind = APPEARANCE_CLOTH, .radius = 0.02f};
    Vec3 centre = vec3(3.0f, 1.0f, -2.0f);
    ShownPoint *points = shown(&mesh, centre);
    Drawn drawn;
    draw(&drawn, &mesh, &appearance, points, mesh.point_count);
    assert_int_equal(drawn.form.vertex_count, 642);
    for (u32 i = 0; i < drawn.form.vertex_count; i++) {
        Vec3 out = vec3_sub(drawn.vertices[i].position, centre);
        assert_float_equal(vec3_length(out), 0.52f, 1e-3);
        assert_true(vec3_dot(vec3_normalize_or(out, vec3_zero()), drawn.vertices[i].normal) >
                    0.9995f);
    }
    assert_float_equal(enclosed(&drawn, centre) / 6.0, 4.0 / 3.0 * pi * 0.52 * 0.52 * 0.52, 0.01);
    free(points);
    drop(&drawn);
    soft_mesh_finish(&mesh);
}

/* A box has six flat faces: each vertex at an edge is drawn once per face, and the thickened
 * surface stays closed. */
static void test_a_box_keeps_its_edges(void **state)
{
    (void)state;
    SoftMesh mesh;
    ErrorText error;
    const u32 cells[3] = {3, 3, 3};
    assert_int_equal(soft_mesh_box(&mesh, vec3(0.6f, 0.6f, 0.6f), cells, true, &error), 0);
    Appearance appearance = {.kind = APPEARANCE_CLOTH, .radius = 0.01f};
    ShownPoint *points = shown(&mesh, vec3_zero());
    Drawn drawn;
    draw(&drawn, &mesh, &appearance, points, mesh.point_count);
    /* Of its 64 points 8 are corners of three faces, 24 on edges of two. */
    assert_int_equal(drawn.form.twin_count, 8 * 2 + 24);
    assert_int_equal(drawn.form.vertex_count, 64 + 40);
    for (u32 i = 0; i < drawn.form.index_count; i++) {
        const SoftVertex *v = &drawn.vertices[drawn.indices[i]];
        Vec3 n = v->normal;
        f32 most = f32_max(fabsf(n.x), f32_max(fabsf(n.y), fabsf(n.z)));
        assert_float_equal(most, 1.0f, 1e-5);
        assert_true(vec3_dot(n, v->position) > 0.299f);
    }
    f64 volume = enclosed(&drawn, vec3_zero()) / 6.0;
    assert_true(volume > 0.6 * 0.6 * 0.6 * 1.03 && volume < 0.62 * 0.62 * 0.62);
    free(points);
    drop(&drawn);
    soft_mesh_finish(&mesh);
}

/* A quarter circle of 1 m: each vertex is 3 cm from it, and the volume is that of the tube with a
 * half sphere at each end. */
static void test_a_bent_rope_is_a_tube(void **state)
{
    (void)state;
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_rope(&mesh, 17, (f32)(0.5 * pi), &error), 0);
    ShownPoint *points = shown(&mesh, vec3_zero());
    for (u32 i = 0; i < 17; i++) {
        f64 angle = 0.5 * pi * i / 16.0;
        points[i].position = vec3((f32)cos(angle), (f32)sin(angle), 0.0f);
    }
    Appearance appearance = {.kind = APPEARANCE_ROPE, .radius = 0.03f};
    Drawn drawn;
    draw(&drawn, &mesh, &appearance, points, mesh.point_count);
    assert_int_equal(drawn.form.chain_count, 1);
    for (u32 i = 0; i < drawn.form.vertex_count; i++) {
        Vec3 p = drawn.vertices[i].position;
        Vec3 near = vec3_normalize_or(vec3(f32_max(p.x, 0.0f), f32_max(p.y, 0.0f), 0.0f),
                                      vec3(1.0f, 0.0f, 0.0f));
        assert_float_equal(vec3_distance(p, near), 0.03f, 1e-3);
        assert_float_equal(vec3_length(drawn.vertices[i].normal), 1.0f, 1e-3);
    }
    f64 r = 0.03, tube = pi * r * r * 0.5 * pi + 4.0 / 3.0 * pi * r * r * r;
    f64 volume = enclosed(&drawn, vec3_zero()) / 6.0;
    assert_true(volume > 0.9 * tube && volume < tube); /* ten sides: 93.5 % of a circle */
    free(points);
    drop(&drawn);
    soft_mesh_finish(&mesh);
}

/* Three sticks meet at point 0; one more is only a limit that keeps two of their ends apart. */
static void test_limbs_end_at_branches_and_limits_are_not_drawn(void **state)
{
    (void)state;
    Vec3 places[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 0}};
    SoftStick sticks[5] = {{0, 1, 1, 1}, {0, 2, 1, 1}, {0, 3, 1, 1}, {2, 3, 0.5f, 3}, {1, 4, 1, 1}};
    SoftMesh mesh = {.points = places, .point_count = 5, .sticks = sticks, .stick_count = 5};
    ShownPoint *points = shown(&mesh, vec3_zero());
    Appearance appearance = {.kind = APPEARANCE_ROPE, .radius = 0.05f};
    Drawn drawn;
    draw(&drawn, &mesh, &appearance, points, 5);
    assert_int_equal(drawn.form.chain_count, 3);
    u32 longest = 0;
    for (u32 i = 0; i < 3; i++) {
        longest = u32_max(longest, drawn.form.chains[i].count);
    }
    assert_int_equal(longest, 3); /* 0, 1, 4 are one tube */
    free(points);
    drop(&drawn);
}

/* A skin of one triangle over a tetrahedron moves with its points. */
static void test_a_skin_follows(void **state)
{
    (void)state;
    Vec3 places[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    u32 triangles[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    SoftBind skin[3] = {{{0, 1, 2, 3}, {0.5f, 0.5f, 0, 0}},
                        {{0, 1, 2, 3}, {0.5f, 0, 0.5f, 0}},
                        {{0, 1, 2, 3}, {0.25f, 0.25f, 0.25f, 0.25f}}};
    u32 skin_triangles[3] = {0, 1, 2};
    SoftMesh mesh = {.points = places,
                     .point_count = 4,
                     .triangles = triangles,
                     .triangle_count = 4,
                     .skin = skin,
                     .skin_count = 3,
                     .skin_triangles = skin_triangles,
                     .skin_triangle_count = 1};
    ShownPoint *points = shown(&mesh, vec3(10.0f, 0.0f, 0.0f));
    points[3].position.z = 5.0f;
    Appearance appearance = {.kind = APPEARANCE_CLOTH};
    Drawn drawn;
    draw(&drawn, &mesh, &appearance, points, 4);
    assert_int_equal(drawn.form.vertex_count, 3);
    assert_float_equal(drawn.vertices[0].position.x, 10.5f, 1e-6);
    assert_float_equal(drawn.vertices[2].position.z, 1.25f, 1e-6);
    free(points);
    drop(&drawn);
}

/* Worlds from other programs may contain anything. */
static void test_invalid_meshes_are_refused(void **state)
{
    (void)state;
    SoftForm form;
    Appearance none = {.kind = APPEARANCE_CLOTH};
    assert_false(soft_form_init(&form, NULL, &none, 7));
    Appearance grid = {.kind = APPEARANCE_CLOTH, .grid = {3, 3}};
    assert_false(soft_form_init(&form, NULL, &grid, 8));
    Appearance rope = {.kind = APPEARANCE_ROPE};
    assert_false(soft_form_init(&form, NULL, &rope, 1));
    assert_true(soft_form_init(&form, NULL, &rope, 2));
    soft_form_finish(&form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sphere_is_smooth_and_swells_by_its_thickness),
        cmocka_unit_test(test_a_box_keeps_its_edges),
        cmocka_unit_test(test_a_bent_rope_is_a_tube),
        cmocka_unit_test(test_limbs_end_at_branches_and_limits_are_not_drawn),
        cmocka_unit_test(test_a_skin_follows),
        cmocka_unit_test(test_invalid_meshes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
