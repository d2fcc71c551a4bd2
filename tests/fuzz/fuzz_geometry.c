/*
 * fuzz_geometry.c: the makers of hulls, meshes, terrains and compounds, boxes and rays through what
 * they make, and what touches it, on hostile numbers: raw bits, or coarse numbers that meet often
 * in one place, one line, one plane.
 */
#include "server/author/convex_parts.h"
#include "server/physics/rigid/narrow/gjk.h"
#include "server/physics/rigid/narrow/pair_test.h"
#include "server/physics/rigid/rigid.h"
#include "shared/mesh/mesh_shapes.h"
#include "tests/fuzz/target.h"

#include <string.h>

typedef struct Reader {
    const u8 *data;
    size_t left;
    bool coarse;
} Reader;

enum {
    POINTS_MAX = 600
};

static u32 read_byte(Reader *reader)
{
    if (reader->left == 0) {
        return 0;
    }
    reader->left--;
    return *reader->data++;
}

static f32 read_number(Reader *reader)
{
    if (reader->coarse) {
        return (f32)(i8)read_byte(reader) * 0.25f;
    }
    u32 bits = 0;
    for (int i = 0; i < 4; i++) {
        bits |= read_byte(reader) << 8 * i;
    }
    f32 number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static Vec3 read_vec3(Reader *reader)
{
    f32 x = read_number(reader), y = read_number(reader), z = read_number(reader);
    return vec3(x, y, z);
}

static u32 read_points(Reader *reader, Vec3 *points)
{
    u32 count = 0;
    while (reader->left > 24 && count < POINTS_MAX) {
        points[count++] = read_vec3(reader);
    }
    return count;
}

static void demand(bool condition)
{
    if (!condition) {
        __builtin_trap();
    }
}

static Geometry *make_mesh(Reader *reader, Vec3 *points, ErrorText *error)
{
    static u32 triangles[3 * POINTS_MAX];
    u32 count = read_byte(reader) % 200, dropped;
    for (u32 i = 0; i < 3 * count; i++) {
        triangles[i] = read_byte(reader);
    }
    u32 vertices = read_points(reader, points);
    return geometry_mesh(points, vertices, triangles, count, &dropped, error);
}

static Geometry *make_terrain(Reader *reader, ErrorText *error)
{
    f32 heights[24 * 24] = {0};
    u32 columns = read_byte(reader) % 25, rows = read_byte(reader) % 25;
    f32 spacing = read_number(reader);
    for (u32 i = 0; i < columns * rows; i++) {
        heights[i] = reader->left > 24 ? read_number(reader) : 0.0f;
    }
    return geometry_terrain(heights, columns, rows, spacing, error);
}

static Geometry *make_compound(Reader *reader, const Geometry *hull, ErrorText *error)
{
    CompoundChild children[8];
    u32 count = read_byte(reader) % 9;
    for (u32 i = 0; i < count; i++) {
        memset(&children[i], 0, sizeof children[i]);
        Shape *shape = &children[i].shape;
        static const ShapeKind kinds[] = {SHAPE_SPHERE, SHAPE_BOX,  SHAPE_CAPSULE, SHAPE_CYLINDER,
                                          SHAPE_CONE,   SHAPE_HULL, SHAPE_PLANE,   SHAPE_COMPOUND};
        shape->kind = kinds[read_byte(reader) % PL_COUNT(kinds)];
        shape->radius = read_number(reader);
        shape->half_height = read_number(reader);
        shape->half = read_vec3(reader);
        shape->geometry = hull;
        children[i].position = read_vec3(reader);
        children[i].orientation = quat_normalize(
            (Quat){read_number(reader), read_number(reader), read_number(reader), 0.5f});
    }
    return geometry_compound(children, count, error);
}

/* The hull's own promises. */
static void check_hull(const Geometry *geometry)
{
    const Hull *hull = &geometry->hull;
    demand(hull->vertex_count >= 4 && hull->vertex_count <= HULL_VERTICES_MAX);
    demand(hull->face_count >= 4 && hull->face_count <= HULL_FACES_MAX);
    demand(hull->edge_count <= HULL_EDGES_MAX);
    demand(hull->vertex_count + hull->face_count == hull->edge_count / 2 + 2);
    for (u32 e = 0; e < hull->edge_count; e++) {
        const HalfEdge *edge = &hull->edges[e];
        demand(edge->next < hull->edge_count && edge->twin < hull->edge_count);
        demand(hull->edges[edge->twin].twin == e && edge->origin < hull->vertex_count);
    }
    for (u32 f = 0; f < hull->face_count; f++) {
        demand(fabsf(vec3_length(hull->normals[f]) - 1.0f) < 1e-5f);
    }
    demand(geometry->volume > 0.0f && hull->inner_radius >= 0.0f);
}

typedef struct Visits {
    const Geometry *geometry;
    u32 count;
} Visits;

static bool visit(void *context, u32 triangle)
{
    Visits *visits = context;
    Vec3 corners[3];
    u8 flags = visits->geometry->kind == GEOMETRY_MESH
                   ? mesh_triangle(&visits->geometry->mesh, triangle, corners)
                   : terrain_triangle(&visits->geometry->terrain, triangle, corners);
    demand(flags < 64 && vec3_is_finite(corners[2]));
    return ++visits->count < 100000;
}

/* Everything that shapes offer, with what is left of the input for poses, boxes and rays. */
static void use(const Geometry *geometry, Reader *reader)
{
    static const ShapeKind kinds[] = {SHAPE_NONE, SHAPE_HULL, SHAPE_MESH, SHAPE_TERRAIN,
                                      SHAPE_COMPOUND};
    Shape shape = {.kind = kinds[geometry->kind], .geometry = geometry};
    MassProperties mass = shape_mass(&shape, 1.0f);
    demand(isfinite(geometry->volume) && geometry->volume >= 0.0f && isfinite(geometry->reach));
    demand(vec3_is_finite(geometry->bounds.min) && vec3_is_finite(geometry->bounds.max));
    demand(vec3_is_finite(mass.centre) && isfinite(mass.inertia.xx) && isfinite(mass.inertia.yz));
    demand(geometry_bytes(geometry) > sizeof *geometry);
    Bounds bounds = shape_bounds(&shape, vec3_zero(), quat_identity());
    demand(bounds.min.x <= bounds.max.x);
    for (int i = 0; i < 8; i++) {
        Vec3 p = read_vec3(reader), d = read_vec3(reader), normal = vec3_zero();
        Ray ray = {p, i % 2 ? d : vec3_normalize_or(d, vec3(0.0f, -1.0f, 0.0f))};
        f32 t = 0.0f, height;
        Visits visits = {geometry, 0};
        Bounds box = {vec3_min(p, d), vec3_max(p, d)};
        if (shape_ray(&shape, vec3_zero(), quat_identity(), ray, 1e6f, &t, &normal)) {
            demand(t >= 0.0f && t <= 1e6f && !isnan(normal.x + normal.y + normal.z));
        }
        if (geometry->kind == GEOMETRY_MESH) {
            mesh_query(&geometry->mesh, box, visit, &visits);
        } else if (geometry->kind == GEOMETRY_TERRAIN) {
            terrain_query(&geometry->terrain, box, visit, &visits);
            if (terrain_height(&geometry->terrain, p.x, p.z, &height, &normal)) {
                demand(isfinite(height) && vec3_is_finite(normal));
            }
        } else if (geometry->kind == GEOMETRY_HULL) {
            demand(hull_support(&geometry->hull, d) < geometry->hull.vertex_count);
        }
    }
    SurfaceMesh surface;
    if (surface_mesh_shape(&surface, &shape) == ERROR_OK) {
        demand(surface.index_count > 0);
        for (u32 i = 0; i < surface.index_count; i++) {
            demand(surface.indices[i] < surface.vertex_count);
        }
    }
    surface_mesh_finish(&surface);
}

/* ---- contacts with it ---- */

static void check_manifolds(const ShapePose *a, const ShapePose *b, f32 margin)
{
    Manifold manifolds[MANIFOLDS_MAX];
    u32 count = manifold_collide(a, b, margin, manifolds, MANIFOLDS_MAX);
    demand(count <= MANIFOLDS_MAX);
    for (u32 m = 0; m < count; m++) {
        const Manifold *manifold = &manifolds[m];
        demand(manifold->count >= 1 && manifold->count <= MANIFOLD_POINTS);
        demand(fabsf(vec3_length(manifold->normal) - 1.0f) < 1e-3f);
        for (u32 i = 0; i < manifold->count; i++) {
            demand(vec3_is_finite(manifold->points[i].position));
            demand(isfinite(manifold->points[i].separation));
        }
    }
}

static void check_meeting(const ShapePose *pose, Vec3 from, Vec3 to)
{
    Line line = {LINE_SEGMENT, from, to};
    if (!(vec3_distance(from, to) > 1e-3f)) {
        return;
    }
    for (u32 kind = LINE_SEGMENT; kind <= LINE_INFINITE; kind++) {
        PairIntersection meeting;
        line.kind = (LineKind)kind;
        if (line_shape_intersect(&line, pose, &meeting)) {
            demand(isfinite(meeting.time) && vec3_is_finite(meeting.point));
            demand(kind != LINE_SEGMENT || (meeting.time >= 0.0f && meeting.time <= 1.0f));
        }
    }
}

static void check_convex(const ShapePose *a, const ShapePose *b, Vec3 motion)
{
    GjkResult result;
    if (gjk_separation(a, b, 1e3f, &result)) {
        demand(isfinite(result.separation) && vec3_is_finite(result.on_a));
        demand(fabsf(vec3_length(result.normal) - 1.0f) < 1e-3f);
    }
    gjk_overlap(a, b, 0.01f);
    f32 fraction;
    Vec3 normal, point;
    if (gjk_cast(a, b, motion, &fraction, &normal, &point)) {
        demand(fraction >= 0.0f && fraction <= 1.0f && vec3_is_finite(point));
    }
}

/* A number of the input as one between low and high. */
static f32 read_between(Reader *reader, f32 low, f32 high)
{
    u32 bits = read_byte(reader);
    bits |= read_byte(reader) << 8;
    return low + (high - low) * (f32)bits / 65535.0f;
}

/* Only what a world takes comes to the narrow phase: solids of all kinds, in, on and by it. */
static void touch(const Geometry *geometry, Reader *reader)
{
    static const ShapeKind kinds[] = {SHAPE_NONE, SHAPE_HULL, SHAPE_MESH, SHAPE_TERRAIN,
                                      SHAPE_COMPOUND};
    static const ShapeKind solids[] = {SHAPE_SPHERE, SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CYLINDER,
                                       SHAPE_CONE};
    Shape shape = {.kind = kinds[geometry->kind], .geometry = geometry};
    BodyDef def = body_def_default();
    def.shape = shape;
    def.motion = BODY_STATIC;
    if (!body_def_is_valid(&def)) {
        return;
    }
    ShapePose ground = {&shape, vec3_zero(), quat_identity()};
    for (u32 i = 0; i < 4 && reader->left > 0; i++) {
        f32 size = read_between(reader, 1e-4f, 1.0f) * f32_max(geometry->reach, 1e-3f);
        Shape solid = {.kind = solids[read_byte(reader) % PL_COUNT(solids)],
                       .radius = size,
                       .half_height = read_between(reader, 1e-3f, 1.0f) * size,
                       .half = {size, 0.3f * size, read_between(reader, 0.01f, 1.0f) * size}};
        def.shape = solid;
        Bounds b = geometry->bounds;
        f32 reach = 2.0f * size;
        def.position = vec3(read_between(reader, b.min.x - reach, b.max.x + reach),
                            read_between(reader, b.min.y - reach, b.max.y + reach),
                            read_between(reader, b.min.z - reach, b.max.z + reach));
        def.orientation = quat_normalize(
            (Quat){read_between(reader, -1.0f, 1.0f), read_between(reader, -1.0f, 1.0f),
                   read_between(reader, -1.0f, 1.0f), read_between(reader, 0.01f, 1.0f)});
        if (!body_def_is_valid(&def)) {
            continue;
        }
        ShapePose pose = {&solid, def.position, def.orientation};
        check_manifolds(&ground, &pose, 0.02f);
        check_manifolds(&pose, &ground, 0.02f);
        check_manifolds(&pose, &pose, 0.0f);
        check_meeting(&ground, def.position, vec3(b.min.x, b.max.y, b.min.z));
        if (shape_is_convex(&shape)) {
            check_convex(&ground, &pose, vec3(0.0f, -reach, size));
            check_manifolds(&ground, &ground, 0.02f);
        }
    }
}

/* Closed meshes, whatever they look like, are split into sound hulls or refused. */
static void split(const Geometry *mesh)
{
    ConvexPartsOptions options = {6, 16, 12, 0.01f};
    Geometry *hulls[6];
    ErrorText error = {0};
    u32 count = convex_parts(mesh, &options, hulls, &error);
    demand(count <= 6 && (count > 0 || error.code < 0));
    for (u32 i = 0; i < count; i++) {
        check_hull(hulls[i]);
        geometry_destroy(hulls[i]);
    }
}

static void track(Reader *reader, Vec3 *points)
{
    TrackProfile profile = {read_number(reader), read_number(reader), read_number(reader),
                            read_byte(reader), read_byte(reader) % 2 == 1};
    SurfaceMesh surface;
    ErrorText error = {0};
    u32 count = read_points(reader, points);
    if (surface_mesh_track(&surface, points, count, &profile, &error) == ERROR_OK) {
        for (u32 i = 0; i < surface.vertex_count; i++) {
            demand(vec3_is_finite(surface.positions[i]) && vec3_is_finite(surface.normals[i]));
        }
    } else {
        demand(error.code < 0 && error.text[0] != 0);
    }
    surface_mesh_finish(&surface);
}

static void run(const u8 *data, size_t bytes)
{
    static Vec3 points[POINTS_MAX];
    Reader reader = {data, bytes, false};
    u32 kind = read_byte(&reader);
    reader.coarse = (kind & 8) != 0;
    ErrorText error = {0};
    Geometry *geometry = NULL, *hull = NULL;
    u32 limit, count;
    switch (kind % 5) {
    case 0:
        limit = read_byte(&reader) % 70;
        count = read_points(&reader, points);
        geometry = geometry_hull(points, count, limit, &error);
        if (geometry != NULL) {
            check_hull(geometry);
        }
        break;
    case 1:
        geometry = make_mesh(&reader, points, &error);
        break;
    case 2:
        geometry = make_terrain(&reader, &error);
        break;
    case 3: {
        static const Vec3 corners[4] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        hull = geometry_hull(corners, 4, 4, NULL);
        demand(hull != NULL);
        geometry = make_compound(&reader, hull, &error);
        break;
    }
    default:
        track(&reader, points);
        return;
    }
    if (geometry != NULL) {
        use(geometry, &reader);
        touch(geometry, &reader);
        if (geometry->kind == GEOMETRY_MESH) {
            split(geometry);
        }
    } else {
        demand(error.code < 0 && error.text[0] != 0);
    }
    geometry_destroy(geometry);
    geometry_destroy(hull);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 16, .memory_fixed = 1 << 20, .memory_each = 1 << 10};
