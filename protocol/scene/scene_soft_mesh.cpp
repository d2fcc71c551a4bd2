// scene_soft_mesh.cpp: shapes of soft bodies. Each is created once, from the same numbers on the
// server and on every client, so points, triangles and sticks have the same order everywhere.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/soft/soft_figures.h"
#include "shared/soft/tetrahedralize.h"

namespace plenum
{

namespace
{

constexpr u32 bit(fb::SoftKind kind)
{
    return 1u << (u32)kind;
}

// As soft_shape.def names them.
constexpr u32 GRID = bit(fb::SoftKind::grid), ROPE = bit(fb::SoftKind::rope),
              SPHERE = bit(fb::SoftKind::sphere), TORUS = bit(fb::SoftKind::torus),
              TUBE = bit(fb::SoftKind::tube), BOX = bit(fb::SoftKind::box),
              MESH = bit(fb::SoftKind::mesh), STICKS = bit(fb::SoftKind::sticks),
              PLANT = bit(fb::SoftKind::plant), FIGURE = bit(fb::SoftKind::figure),
              BRIDGE = bit(fb::SoftKind::bridge), RING = bit(fb::SoftKind::ring), ALL = UINT32_MAX;

} // namespace

// A field that does not apply to the kind is an error.
bool Builder::soft_fields(const JsonPath &at, const fb::SoftShape *in)
{
    GivenFields fields;
    u32 kind_bit = bit(in->kind());
    bool applies = true;
#include "protocol/scene/scene_given_cpp.h"
#include "shared/rows/soft_shape.def"
    const char *foreign = fields.foreign();
    return foreign == nullptr ||
           fail(at, foreign, "a %s has none; leave it out", fb::EnumNameSoftKind(in->kind()));
}

bool Builder::soft_shape_options(const JsonPath &at, const fb::SoftShape *in, SoftShapeOptions *out)
{
    bool good = true, applies = true;
#define ROW_FOR(kinds) applies = ((kinds)&bit(in->kind())) != 0;
#define ROW_WHEN       applies
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/soft_shape.def"
    return good;
}

// Checked before allocating, since few bytes may request many points.
bool Builder::soft_points(const JsonPath &at, const char *field, u64 more)
{
    soft_made_ += more;
    return soft_made_ <= PARTICLES_MAX ||
           fail(at, field, "makes it %llu points in all soft shapes; at most %d",
                (unsigned long long)soft_made_, PARTICLES_MAX);
}

bool Builder::soft_surface(const JsonPath &at, f32 scale, std::vector<Vec3> vertices,
                           const std::vector<u32> &indices, SoftMesh *out)
{
    if (vertices.empty()) {
        return fail(at, "vertices", "missing; give vertices and triangles, or a file");
    }
    if (!scale_points(at, scale, &vertices) || !soft_points(at, "vertices", vertices.size())) {
        return false;
    }
    ErrorText why = {};
    SoftRepair repair = {};
    if (soft_mesh_triangles(out, vertices.data(), (u32)vertices.size(), indices.data(),
                            (u32)indices.size() / 3, &repair, &why) != ERROR_OK) {
        return fail(at, "triangles", "%s", why.text);
    }
    // Duplicate vertices along seams and unused vertices are normal in files; the rest is damage.
    if (repair.zero > 0 || repair.reversed > 0) {
        warn(at, "triangles",
             "repaired: %u triangles without area dropped, %u flipped, %u vertices welded, "
             "%u unused vertices dropped",
             repair.zero, repair.reversed, repair.welded, repair.unused);
    }
    return true;
}

bool Builder::stick_options(const JsonPath &at, const fb::Stick *in, StickOptions *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/stick.def"
    return good;
}

bool Builder::soft_sticks(const JsonPath &at, const fb::SoftShape *in,
                          const SoftShapeOptions &options, SoftMesh *out)
{
    std::vector<Vec3> vertices = options.stick_vertices;
    u32 total;
    if (!scale_points(at, options.scale, &vertices) ||
        !count(at, "sticks", in->sticks(), STICKS_MAX, &total) ||
        !soft_points(at, "vertices", vertices.size())) {
        return false;
    }
    if (total == 0) {
        return fail(at, "sticks", "missing; give the connected pairs of points");
    }
    if (!allocate(&out->points, (u32)vertices.size()) || !allocate(&out->sticks, total)) {
        return false;
    }
    out->point_count = (u32)vertices.size();
    memcpy(out->points, vertices.data(), vertices.size() * sizeof(Vec3));
    std::vector<bool> used(vertices.size());
    for (u32 i = 0; i < total; i++) {
        const fb::Stick *given = in->sticks()->Get(i);
        JsonPath here = {&at, "sticks", i};
        StickOptions limits = {};
        if (!stick_options(here, given, &limits)) {
            return false;
        }
        const u32 *ends = limits.points;
        for (u32 k = 0; k < 2; k++) {
            JsonPath end = {&here, "points", (i64)k};
            u32 checked;
            if (!integer(end, nullptr, ends[k], 0, out->point_count - 1, &checked)) {
                return false;
            }
        }
        if (ends[0] == ends[1]) {
            return fail(here, "points", "[%u, %u] is one point; a stick has two", ends[0], ends[1]);
        }
        f32 rest = vec3_distance(vertices[ends[0]], vertices[ends[1]]);
        f32 low = limits.low != -1.0f ? limits.low : rest;
        f32 high = limits.high != -1.0f ? limits.high : rest;
        SoftStick *stick = &out->sticks[i];
        stick->a = ends[0];
        stick->b = ends[1];
        if (!number(here, "low", low, 0.0f, SCENE_SIZE_MAX_M, &stick->low) ||
            !number(here, "high", high, SCENE_SIZE_MIN_M, SCENE_SIZE_MAX_M, &stick->high)) {
            return false;
        }
        if (stick->low > stick->high) {
            return fail(here, "low", "%g m is more than the %g m of high", (double)low,
                        (double)high);
        }
        used[ends[0]] = used[ends[1]] = true;
        out->stick_count++;
    }
    for (u32 i = 0; i < out->point_count; i++) {
        if (!used[i]) {
            return fail(at, "vertices", "point %u has no stick; leave it out", i);
        }
    }
    return true;
}

bool Builder::soft_grid(const JsonPath &at, const u32 points[2], const f32 size[2], SoftMesh *out)
{
    ErrorText why = {};
    return soft_points(at, "points", (u64)points[0] * points[1]) &&
           (soft_mesh_grid(out, points[0], points[1], size[0], size[1], &why) == ERROR_OK ||
            fail(at, "points", "%s", why.text));
}

bool Builder::soft_round(const JsonPath &at, fb::SoftKind kind, const SoftShapeOptions &options,
                         SoftMesh *out)
{
    f32 radius = options.radius;
    ErrorText why = {};
    if (kind == fb::SoftKind::sphere) {
        u32 level = options.level;
        return soft_points(at, "level", (10ull << (2 * level)) + 2) &&
               (soft_mesh_sphere(out, radius, level, &why) == ERROR_OK ||
                fail(at, "level", "%s", why.text));
    }
    if (kind == fb::SoftKind::torus) {
        const u32 *segments = options.torus_segments;
        if (!(options.tube_radius <= 0.999f * radius)) {
            return fail(at, "tube_radius", "%g m is too much for a radius of %g m",
                        (double)options.tube_radius, (double)radius);
        }
        return soft_points(at, "segments", (u64)segments[0] * segments[1]) &&
               (soft_mesh_torus(out, radius, options.tube_radius, segments[0], segments[1], &why) ==
                    ERROR_OK ||
                fail(at, "segments", "%s", why.text));
    }
    const u32 *segments = options.tube_segments;
    return soft_points(at, "segments", (u64)segments[0] * (segments[1] + 1) + 2) &&
           (soft_mesh_tube(out, radius, options.tube_length, segments[0], segments[1],
                           !options.open, &why) == ERROR_OK ||
            fail(at, "segments", "%s", why.text));
}

bool Builder::soft_box(const JsonPath &at, const SoftShapeOptions &options, SoftMesh *out)
{
    const f32 *size = options.box_size;
    const u32 *cells = options.cells;
    ErrorText why = {};
    return soft_points(at, "cells", (cells[0] + 1ull) * (cells[1] + 1ull) * (cells[2] + 1ull)) &&
           (soft_mesh_box(out, vec3(size[0], size[1], size[2]), cells, options.solid, &why) ==
                ERROR_OK ||
            fail(at, "cells", "%s", why.text));
}

bool Builder::soft_plant(const JsonPath &at, u32 seed, const SoftShapeOptions &options,
                         SoftMesh *out)
{
    SoftPlant plant = {};
    plant.seed = (u32)(out_->seed * 0x9E3779B9u) + seed;
    plant.height = options.plant_height;
    plant.segments = options.plant_segments[0];
    plant.forks = options.forks;
    plant.branches = options.branches;
    plant.spread = options.spread_degrees * (3.14159265f / 180.0f);
    plant.shrink = options.shrink;
    plant.leaf = options.leaf;
    ErrorText why = {};
    plant.radius = options.radius;
    if (!(plant.radius <= 0.5f * plant.height)) {
        return fail(at, "radius", "%g m; at most half the height of %g m", (double)plant.radius,
                    (double)plant.height);
    }
    return (soft_mesh_plant(out, &plant, &why) == ERROR_OK || fail(at, "forks", "%s", why.text)) &&
           soft_points(at, "forks", out->point_count);
}

bool Builder::soft_bridge(const JsonPath &at, const Uints *points_in,
                          const SoftShapeOptions &options, SoftMesh *out)
{
    SoftBridge bridge = {};
    bridge.length = options.bridge_length;
    bridge.width = options.width;
    bridge.rail = options.rail;
    bridge.slack = options.slack;
    u32 points[2];
    if (!uints(at, "points", points_in, {2, 2, 2, 1000}, points) ||
        !integer(at, "points", points[1], 2, 64, &bridge.across) ||
        !soft_points(at, "points", (u64)points[0] * (points[1] + 2))) {
        return false;
    }
    bridge.stations = points[0];
    ErrorText why = {};
    return soft_mesh_bridge(out, &bridge, &why) == ERROR_OK || fail(at, "points", "%s", why.text);
}

// Figures that stand or hang by their sticks.
bool Builder::soft_figure(const JsonPath &at, const fb::SoftShape *in,
                          const SoftShapeOptions &options, SoftMesh *out)
{
    u32 points = options.ring_points[0];
    ErrorText why = {};
    switch (in->kind()) {
    case fb::SoftKind::plant:
        return soft_plant(at, in->seed(), options, out);
    case fb::SoftKind::bridge:
        return soft_bridge(at, in->points(), options, out);
    case fb::SoftKind::ring:
        return soft_points(at, "points", points) &&
               (soft_mesh_ring(out, options.radius, points, &why) == ERROR_OK ||
                fail(at, "points", "%s", why.text));
    default:
        return soft_points(at, "height", FIGURE_POINTS) &&
               (soft_mesh_figure(out, options.figure_height, &why) == ERROR_OK ||
                fail(at, "height", "%s", why.text));
    }
}

bool Builder::soft_fill(const JsonPath &at, const fb::SoftShape *in, SoftMesh *mesh)
{
    u32 resolution;
    if (!integer(at, "resolution", in->resolution(), TETRAHEDRALIZE_RESOLUTION_MIN,
                 TETRAHEDRALIZE_RESOLUTION_MAX, &resolution)) {
        return false;
    }
    if (mesh->tetrahedron_count > 0) {
        return fail(at, "resolution", "the box is already solid; leave one of them out");
    }
    lattice_cells_ += (u64)resolution * resolution * resolution;
    if (lattice_cells_ > LATTICE_CELLS_MAX) {
        return fail(at, "resolution",
                    "too fine with the previous shapes; at most %d cells in total",
                    LATTICE_CELLS_MAX);
    }
    SoftMesh filled = {};
    ErrorText why = {};
    if (tetrahedralize(&filled, mesh, resolution, &why) != ERROR_OK) {
        return fail(at, "resolution", "%s", why.text);
    }
    soft_mesh_finish(mesh);
    *mesh = filled;
    return soft_points(at, "resolution", mesh->point_count);
}

bool Builder::soft_skin(const JsonPath &up, const fb::SoftSkin *in, SoftMesh *mesh)
{
    JsonPath at = {&up, "skin", -1};
    SoftMesh display = {};
    SkinOptions options = {}, *out = &options;
    if (in->file() != nullptr) {
        return no_file(at);
    }
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/skin.def"
    if (!good || !soft_surface(at, options.scale, options.vertices, options.triangles, &display)) {
        soft_mesh_finish(&display);
        return false;
    }
    ErrorText why = {};
    int result = soft_mesh_skin(mesh, &display, &why);
    soft_mesh_finish(&display);
    return result == ERROR_OK || fail(up, "skin", "%s", why.text);
}

bool Builder::soft_shape(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    ErrorText why = {};
    SoftShapeOptions options = {};
    bool good = false;
    if (in->kind() > fb::SoftKind::MAX || in->kind() == fb::SoftKind::none) {
        return fail(
            at, "kind",
            "missing or unknown; one of grid, rope, sphere, torus, tube, box, mesh, sticks, plant, "
            "figure, bridge, ring");
    }
    if (!soft_fields(at, in)) {
        return false;
    }
    if (in->file() != nullptr) {
        return no_file(at);
    }
    if (!soft_shape_options(at, in, &options)) {
        return false;
    }
    u32 points = options.rope_points[0];
    switch (in->kind()) {
    case fb::SoftKind::grid:
        good = soft_grid(at, options.grid_points, options.grid_size, out);
        break;
    case fb::SoftKind::rope:
        good = soft_points(at, "points", points) &&
               (soft_mesh_rope(out, points, options.rope_length, &why) == ERROR_OK ||
                fail(at, "points", "%s", why.text));
        break;
    case fb::SoftKind::box:
        good = soft_box(at, options, out);
        break;
    case fb::SoftKind::mesh:
        good = soft_surface(at, options.scale, options.mesh_vertices, options.triangles, out);
        break;
    case fb::SoftKind::sticks:
        good = soft_sticks(at, in, options, out);
        break;
    case fb::SoftKind::plant:
    case fb::SoftKind::figure:
    case fb::SoftKind::bridge:
    case fb::SoftKind::ring:
        good = soft_figure(at, in, options, out);
        break;
    default:
        good = soft_round(at, in->kind(), options, out);
        break;
    }
    return good && (in->resolution() == 0 || soft_fill(at, in, out)) &&
           (in->skin() == nullptr || soft_skin(at, in->skin(), out));
}

bool Builder::keep_soft_mesh(const JsonPath &at, u32 *index, SoftMesh **out)
{
    if (out_->soft_meshes == nullptr && !allocate(&out_->soft_meshes, SOFT_MESHES_MAX)) {
        return false;
    }
    if (out_->soft_mesh_count == SOFT_MESHES_MAX) {
        return fail(at, nullptr, "too many soft shapes; at most %d in a scene", SOFT_MESHES_MAX);
    }
    *index = out_->soft_mesh_count++;
    *out = &out_->soft_meshes[*index]; // in any case scene_destroy frees it
    return true;
}

} // namespace plenum
