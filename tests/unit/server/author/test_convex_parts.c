/*
 * test_convex_parts.c: convex decomposition of concave meshes: the parts cover the solid, and their
 * volumes sum to little more than its own.
 */
#include "server/author/convex_parts.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

enum {
    VERTICES_MAX = 4096
};

typedef struct Soup {
    Vec3 vertices[VERTICES_MAX];
    u32 triangles[3 * 2 * VERTICES_MAX];
    u32 vertex_count, triangle_count;
} Soup;

static Soup soup;

static void add_triangle(u32 a, u32 b, u32 c)
{
    u32 *corner = &soup.triangles[3 * soup.triangle_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
}

static u32 add_vertex(Vec3 p)
{
    assert_true(soup.vertex_count < VERTICES_MAX);
    soup.vertices[soup.vertex_count] = p;
    return soup.vertex_count++;
}

static Geometry *finish_mesh(Quat turn)
{
    ErrorText error = {0};
    for (u32 i = 0; i < soup.vertex_count; i++) {
        soup.vertices[i] = quat_rotate(turn, soup.vertices[i]);
    }
    Geometry *mesh = geometry_mesh(soup.vertices, soup.vertex_count, soup.triangles,
                                   soup.triangle_count, NULL, &error);
    if (mesh == NULL || !mesh->mesh.closed || !(mesh->volume > 0.0f)) {
        fail_msg("no closed mesh: %s", error.text);
    }
    soup.vertex_count = 0;
    soup.triangle_count = 0;
    return mesh;
}

/* A prism over a polygon in the x–y plane with a given triangulation. */
static void add_prism(const f32 (*outline)[2], u32 count, const u8 (*faces)[3], u32 face_count)
{
    u32 base = soup.vertex_count;
    for (u32 k = 0; k < 2; k++) {
        for (u32 i = 0; i < count; i++) {
            add_vertex(vec3(outline[i][0], outline[i][1], k == 0 ? -0.5f : 0.5f));
        }
    }
    for (u32 i = 0; i < count; i++) {
        u32 a = base + i, b = base + (i + 1) % count;
        add_triangle(a, b, b + count);
        add_triangle(a, b + count, a + count);
    }
    for (u32 f = 0; f < face_count; f++) {
        const u8 *c = faces[f];
        add_triangle(base + count + c[0], base + count + c[1], base + count + c[2]);
        add_triangle(base + c[0], base + c[2], base + c[1]);
    }
}

static void add_torus(f64 big, f64 small, u32 around, u32 across)
{
    for (u32 i = 0; i < around; i++) {
        for (u32 j = 0; j < across; j++) {
            f64 u = 2 * M_PI * i / around, v = 2 * M_PI * j / across;
            f64 r = big + small * cos(v);
            add_vertex(vec3((f32)(r * cos(u)), (f32)(small * sin(v)), (f32)(r * sin(u))));
            u32 a = i * across + j, b = i * across + (j + 1) % across;
            u32 c = (i + 1) % around * across + (j + 1) % across;
            u32 d = (i + 1) % around * across + j;
            add_triangle(a, b, c);
            add_triangle(a, c, d);
        }
    }
}

typedef struct Parts {
    Geometry *hulls[COMPOUND_CHILDREN_MAX];
    u32 count;
    f64 volume;
} Parts;

static Parts split(const Geometry *mesh, const ConvexPartsOptions *options)
{
    Parts parts = {.count = 0};
    ErrorText error = {0};
    parts.count = convex_parts(mesh, options, parts.hulls, &error);
    if (parts.count == 0) {
        fail_msg("no parts: %s", error.text);
    }
    assert_true(parts.count <= options->parts_max);
    for (u32 i = 0; i < parts.count; i++) {
        assert_int_equal(parts.hulls[i]->kind, GEOMETRY_HULL);
        assert_true(parts.hulls[i]->hull.vertex_count <= options->vertex_limit);
        parts.volume += (f64)parts.hulls[i]->volume;
    }
    return parts;
}

static void parts_finish(Parts *parts)
{
    for (u32 i = 0; i < parts->count; i++) {
        geometry_destroy(parts->hulls[i]);
    }
}

/* Distance of a point to the nearest part by its face planes; negative inside. */
static f64 outside(const Parts *parts, Vec3 p)
{
    f64 nearest = INFINITY;
    for (u32 i = 0; i < parts->count; i++) {
        const Hull *hull = &parts->hulls[i]->hull;
        f64 height = -INFINITY;
        for (u32 f = 0; f < hull->face_count; f++) {
            height = fmax(height, (f64)vec3_dot(hull->normals[f], p) - (f64)hull->offsets[f]);
        }
        nearest = fmin(nearest, height);
    }
    return nearest;
}

/* The largest such distance of points sampled on the surface. */
static f64 worst_outside(const Geometry *mesh, const Parts *parts)
{
    f64 worst = 0.0;
    for (u32 t = 0; t < mesh->mesh.triangle_count; t++) {
        Vec3 p[3];
        mesh_triangle(&mesh->mesh, t, p);
        for (u64 k = 0; k < 5; k++) {
            f32 a = k < 1 ? 0.0f : random_f32(t, 2 * k),
                b = k < 1 ? 0.0f : random_f32(t, 2 * k + 1);
            if (a + b > 1.0f) {
                a = 1.0f - a;
                b = 1.0f - b;
            }
            Vec3 q = vec3_add_scaled(p[0], a, vec3_sub(p[1], p[0]));
            worst = fmax(worst, outside(parts, vec3_add_scaled(q, b, vec3_sub(p[2], p[0]))));
        }
    }
    return worst;
}

static void expect_share(const char *what, f64 got, f64 whole, f64 tolerance)
{
    if (!(fabs(got - whole) <= tolerance * whole)) {
        fail_msg("%s: got %g, expected %g ± %g %%", what, got, whole, 100 * tolerance);
    }
}

static const f32 ell[6][2] = {{0, 0}, {3, 0}, {3, 1.13f}, {0.93f, 1.13f}, {0.93f, 2.7f}, {0, 2.7f}};
static const u8 ell_faces[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 5}, {3, 4, 5}};

/* Two boxes that meet exactly: the cut snaps to the notch. */
static void an_ell_is_two_boxes(void **state)
{
    (void)state;
    add_prism(ell, 6, ell_faces, 4);
    Geometry *mesh = finish_mesh(quat_identity());
    ConvexPartsOptions options = convex_parts_default();
    Parts parts = split(mesh, &options);
    assert_int_equal(parts.count, 2);
    expect_share("volume", parts.volume, mesh->volume, 1e-4);
    assert_true(worst_outside(mesh, &parts) < 1e-4);
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(parts.hulls[i]->hull.face_count, 6);
    }
    parts_finish(&parts);
    geometry_destroy(mesh);
}

static void a_convex_mesh_stays_whole(void **state)
{
    (void)state;
    static const f32 outline[4][2] = {{-1, -0.4f}, {1, -0.4f}, {1, 0.4f}, {-1, 0.4f}};
    static const u8 faces[2][3] = {{0, 1, 2}, {0, 2, 3}};
    const Quat turns[] = {{1, 0, 0, 0}, {0.8f, 0.36f, 0, 0.48f}, {0.3f, -0.5f, 0.7f, 0.2f}};
    for (u32 i = 0; i < 3; i++) {
        add_prism(outline, 4, faces, 2);
        Geometry *mesh = finish_mesh(quat_normalize(turns[i]));
        ConvexPartsOptions options = convex_parts_default();
        options.tolerance = 0.02f;
        Parts parts = split(mesh, &options);
        assert_int_equal(parts.count, 1);
        assert_int_equal(parts.hulls[0]->hull.vertex_count, 8);
        expect_share("volume", parts.volume, mesh->volume, 1e-4);
        parts_finish(&parts);
        geometry_destroy(mesh);
    }
}

/* More parts fit better; the convex hull of the whole ring would have three times its volume. */
static void a_torus_needs_many(void **state)
{
    (void)state;
    add_torus(1.0, 0.3, 36, 18);
    Geometry *mesh = finish_mesh(quat_normalize((Quat){0.9f, 0.1f, 0.2f, 0.3f}));
    const u32 counts[] = {1, 4, 8, 16, 24};
    const f64 excess[] = {2.5, 1.0, 0.5, 0.25, 0.2};
    f64 before = INFINITY;
    for (u32 i = 0; i < PL_COUNT(counts); i++) {
        ConvexPartsOptions options = convex_parts_default();
        options.parts_max = counts[i];
        options.tolerance = 0.0f;
        options.vertex_limit = 64;
        options.resolution = 30;
        Parts parts = split(mesh, &options);
        if (!(parts.volume < before && parts.volume < (1 + excess[i]) * (f64)mesh->volume &&
              parts.volume > 0.97 * (f64)mesh->volume)) {
            fail_msg("%u parts: volume %g of %g", counts[i], parts.volume, (f64)mesh->volume);
        }
        before = parts.volume;
        f64 worst = worst_outside(mesh, &parts); /* the vertex limit cuts off a little */
        if (!(worst < (i == 0 ? 0.06 : 0.03))) {
            fail_msg("%u parts: a point is %g m outside", counts[i], worst);
        }
        parts_finish(&parts);
    }
    geometry_destroy(mesh);
}

/* Cut in many places, so that parts meet inside the solid: they leave no gaps. */
static void parts_leave_no_gaps(void **state)
{
    (void)state;
    add_torus(1.0, 0.6, 32, 20);
    Geometry *mesh = finish_mesh(quat_identity());
    ConvexPartsOptions options = {40, 64, 20, 0.0f};
    Parts parts = split(mesh, &options);
    assert_int_equal(parts.count, 40);
    u32 inside = 0;
    for (u64 i = 0; i < 20000; i++) {
        Vec3 p =
            vec3(random_range(41, 3 * i, -1.6f, 1.6f), random_range(41, 3 * i + 1, -0.6f, 0.6f),
                 random_range(41, 3 * i + 2, -1.6f, 1.6f));
        f32 ring = sqrtf(p.x * p.x + p.z * p.z) - 1.0f;
        if (ring * ring + p.y * p.y < 0.55f * 0.55f) {
            inside++;
            if (!(outside(&parts, p) < 0.01)) {
                fail_msg("(%g, %g, %g) is %g m outside", (f64)p.x, (f64)p.y, (f64)p.z,
                         outside(&parts, p));
            }
        }
    }
    assert_true(inside > 5000);
    parts_finish(&parts);
    geometry_destroy(mesh);
}

/* The parts make a compound whose mass properties are those of the mesh. */
static void parts_make_a_compound(void **state)
{
    (void)state;
    add_prism(ell, 6, ell_faces, 4);
    Geometry *mesh = finish_mesh(quat_normalize((Quat){0.9f, 0.1f, 0.2f, 0.3f}));
    ConvexPartsOptions options = convex_parts_default();
    Parts parts = split(mesh, &options);
    CompoundChild children[COMPOUND_CHILDREN_MAX];
    for (u32 i = 0; i < parts.count; i++) {
        children[i] = (CompoundChild){
            {.kind = SHAPE_HULL, .geometry = parts.hulls[i]}, vec3_zero(), quat_identity()};
    }
    Geometry *compound = geometry_compound(children, parts.count, NULL);
    assert_non_null(compound);
    expect_share("volume", compound->volume, mesh->volume, 0.06);
    expect_share("inertia", compound->inertia.zz, mesh->inertia.zz, 0.1);
    assert_true(vec3_distance(compound->centre, mesh->centre) < 0.05f);
    assert_true(worst_outside(mesh, &parts) < 1e-3);
    geometry_destroy(compound);
    parts_finish(&parts);
    geometry_destroy(mesh);
}

static void expect_error(const Geometry *mesh, ConvexPartsOptions options, const char *text)
{
    Geometry *hulls[COMPOUND_CHILDREN_MAX];
    ErrorText error = {0};
    assert_int_equal(convex_parts(mesh, &options, hulls, &error), 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("got \"%s\", expected it to say \"%s\"", error.text, text);
    }
}

static void what_cannot_be_split(void **state)
{
    (void)state;
    add_prism(ell, 6, ell_faces, 4);
    Geometry *mesh = finish_mesh(quat_identity());
    ConvexPartsOptions good = convex_parts_default(), bad = good;
    bad.parts_max = 65;
    expect_error(mesh, bad, "65 parts");
    bad = good;
    bad.vertex_limit = 3;
    expect_error(mesh, bad, "vertex limit 3");
    bad = good;
    bad.resolution = 4;
    expect_error(mesh, bad, "resolution 4");
    bad = good;
    bad.tolerance = NAN;
    expect_error(mesh, bad, "tolerance");
    geometry_destroy(mesh);
    f32 heights[4] = {0};
    Geometry *terrain = geometry_terrain(heights, 2, 2, 1.0f, NULL);
    expect_error(terrain, good, "closed mesh");
    geometry_destroy(terrain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ell_is_two_boxes),   cmocka_unit_test(a_convex_mesh_stays_whole),
        cmocka_unit_test(a_torus_needs_many),    cmocka_unit_test(parts_leave_no_gaps),
        cmocka_unit_test(parts_make_a_compound), cmocka_unit_test(what_cannot_be_split),
    };
    return cmocka_run_group_tests_name("convex_parts", tests, NULL, NULL);
}
