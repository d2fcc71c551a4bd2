/*
 * test_geometry.c: geometries have the same bits for any compiler and flags: everything that moves
 * on them depends on that. Compared with the hashes below; a change of algorithm changes them, a
 * change of compiler must not.
 */
#include "server/author/convex_parts.h"
#include "shared/base/hash.h"
#include "shared/math/random.h"
#include "shared/mesh/mesh_shapes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka.h needs the three headers above
#include <cmocka.h>

#define BYTES(array, count) (array), (count) * sizeof *(array)

static Vec3 random_in_cube(u64 seed, u64 i)
{
    return vec3(random_range(seed, 3 * i, -1, 1), random_range(seed, 3 * i + 1, -1, 1),
                random_range(seed, 3 * i + 2, -1, 1));
}

/* Field by field: structs have padding. */
static u64 hash_mass(const Geometry *geometry, u64 hash)
{
    const f32 numbers[] = {geometry->volume,       geometry->centre.x,    geometry->centre.y,
                           geometry->centre.z,     geometry->inertia.xx,  geometry->inertia.yy,
                           geometry->inertia.zz,   geometry->inertia.xy,  geometry->inertia.xz,
                           geometry->inertia.yz,   geometry->reach,       geometry->bounds.min.x,
                           geometry->bounds.min.y, geometry->bounds.max.z};
    return hash_bytes(numbers, sizeof numbers, hash);
}

static u64 hash_hull(const Geometry *geometry, u64 hash)
{
    const Hull *hull = &geometry->hull;
    hash = hash_mass(geometry, hash);
    hash = hash_bytes(BYTES(hull->vertices, hull->vertex_count), hash);
    hash = hash_bytes(BYTES(hull->normals, hull->face_count), hash);
    hash = hash_bytes(BYTES(hull->offsets, hull->face_count), hash);
    hash = hash_bytes(BYTES(hull->face_edges, hull->face_count), hash);
    hash = hash_bytes(BYTES(hull->edges, hull->edge_count), hash);
    hash = hash_bytes(&hull->inside, sizeof hull->inside, hash);
    return hash_bytes(&hull->inner_radius, sizeof hull->inner_radius, hash);
}

static u64 hash_mesh(const Geometry *geometry, u64 hash)
{
    const TriangleMesh *mesh = &geometry->mesh;
    hash = hash_mass(geometry, hash);
    hash = hash_bytes(BYTES(mesh->triangles, 3 * mesh->triangle_count), hash);
    hash = hash_bytes(BYTES(mesh->edge_flags, mesh->triangle_count), hash);
    hash = hash_bytes(BYTES(mesh->order, mesh->triangle_count), hash);
    return hash_bytes(BYTES(mesh->nodes, mesh->node_count), hash);
}

static u64 hash_rays(const Geometry *geometry, ShapeKind kind, u64 hash)
{
    Shape shape = {.kind = kind, .geometry = geometry};
    Quat q = quat_normalize((Quat){0.3f, -0.5f, 0.7f, 0.2f});
    for (u64 i = 0; i < 300; i++) {
        Vec3 from = vec3_scale(random_in_cube(71, 2 * i), 9.0f);
        Vec3 to = vec3_scale(random_in_cube(71, 2 * i + 1), 3.0f);
        Ray ray = {from, vec3_normalize_or(vec3_sub(to, from), vec3(0, -1, 0))};
        f32 hit[4] = {-1.0f, 0.0f, 0.0f, 0.0f};
        Vec3 n = vec3_zero();
        shape_ray(&shape, vec3(1, 2, 3), q, ray, 50.0f, &hit[0], &n);
        hit[1] = n.x;
        hit[2] = n.y;
        hit[3] = n.z;
        hash = hash_bytes(hit, sizeof hit, hash);
    }
    return hash;
}

static void expect_hash(const char *what, u64 got, u64 expected)
{
    if (got != expected) {
        fail_msg("%s: hash 0x%016llx, expected 0x%016llx", what, (unsigned long long)got,
                 (unsigned long long)expected);
    }
}

static void hulls(void **state)
{
    (void)state;
    static Vec3 points[2000];
    u64 hash = 0;
    for (u64 seed = 0; seed < 30; seed++) {
        u32 count = 4 + (u32)(random_u64(5, seed) % 400);
        for (u32 i = 0; i < count; i++) {
            points[i] = random_in_cube(seed, i);
            if (seed % 3 == 1) {
                points[i] = vec3_normalize_or(points[i], vec3(1, 0, 0));
            } else if (seed % 3 == 2) {
                points[i].y *= 0.01f;
            }
        }
        Geometry *geometry = geometry_hull(points, count, 8 + (u32)seed, NULL);
        assert_non_null(geometry);
        hash = hash_rays(geometry, SHAPE_HULL, hash_hull(geometry, hash));
        geometry_destroy(geometry);
    }
    expect_hash("hulls", hash, 0x0c0a09b3a0ae7adb);
}

static void meshes_and_their_parts(void **state)
{
    (void)state;
    Vec3 knots[8], path[8 * 6];
    for (u32 i = 0; i < 8; i++) { /* around a square */
        static const i8 ring[8][2] = {{1, 0},  {1, 1},   {0, 1},  {-1, 1},
                                      {-1, 0}, {-1, -1}, {0, -1}, {1, -1}};
        knots[i] = vec3(2.0f * ring[i][0], 0.3f * random_f32(9, i), 2.0f * ring[i][1]);
    }
    u32 count = path_smooth(knots, 8, true, 6, path);
    TrackProfile profile = {0.4f, 0.1f, 0.15f, 10, true};
    SurfaceMesh surface;
    assert_int_equal(surface_mesh_track(&surface, path, count, &profile, NULL), 0);
    u64 hash = hash_bytes(BYTES(surface.positions, surface.vertex_count), 0);
    hash = hash_bytes(BYTES(surface.normals, surface.vertex_count), hash);
    Geometry *mesh = geometry_mesh(surface.positions, surface.vertex_count, surface.indices,
                                   surface.index_count / 3, NULL, NULL);
    assert_non_null(mesh);
    assert_true(mesh->mesh.closed);
    hash = hash_rays(mesh, SHAPE_MESH, hash_mesh(mesh, hash));
    ConvexPartsOptions options = convex_parts_default();
    Geometry *parts[COMPOUND_CHILDREN_MAX];
    u32 made = convex_parts(mesh, &options, parts, NULL);
    assert_int_equal(made, options.parts_max);
    for (u32 i = 0; i < made; i++) {
        hash = hash_hull(parts[i], hash);
        geometry_destroy(parts[i]);
    }
    surface_mesh_finish(&surface);
    assert_int_equal(surface_mesh_triangles(&surface, &mesh->mesh, 0.7f), 0);
    hash = hash_bytes(BYTES(surface.normals, surface.vertex_count), hash);
    surface_mesh_finish(&surface);
    geometry_destroy(mesh);
    expect_hash("meshes", hash, 0x4442df0bb4289bed);
}

static void terrains(void **state)
{
    (void)state;
    f32 heights[40 * 33];
    for (u32 i = 0; i < 40 * 33; i++) {
        heights[i] = random_range(3, i, -0.5f, 0.5f);
    }
    Geometry *geometry = geometry_terrain(heights, 40, 33, 0.25f, NULL);
    assert_non_null(geometry);
    u64 hash = hash_mass(geometry, 0);
    hash = hash_bytes(BYTES(geometry->terrain.ranges, 2 * geometry->terrain.range_count), hash);
    hash = hash_rays(geometry, SHAPE_TERRAIN, hash);
    for (u32 t = 0; t < 2 * 39 * 32; t++) {
        Vec3 corners[3];
        u8 flags = terrain_triangle(&geometry->terrain, t, corners);
        hash = hash_bytes(&flags, 1, hash_bytes(corners, sizeof corners, hash));
    }
    geometry_destroy(geometry);
    expect_hash("terrains", hash, 0x9994e7d2ea7f19e2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hulls),
        cmocka_unit_test(meshes_and_their_parts),
        cmocka_unit_test(terrains),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
