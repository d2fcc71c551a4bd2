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

constexpr u32 GRID = bit(fb::SoftKind::grid), ROPE = bit(fb::SoftKind::rope),
              SPHERE = bit(fb::SoftKind::sphere), TORUS = bit(fb::SoftKind::torus),
              TUBE = bit(fb::SoftKind::tube), BOX = bit(fb::SoftKind::box),
              MESH = bit(fb::SoftKind::mesh), STICKS = bit(fb::SoftKind::sticks),
              PLANT = bit(fb::SoftKind::plant), FIGURE = bit(fb::SoftKind::figure),
              BRIDGE = bit(fb::SoftKind::bridge), CIRCLE = bit(fb::SoftKind::ring);

} // namespace

// A field that does not apply to the kind is an error.
bool Builder::soft_fields(const JsonPath &at, const fb::SoftShape *in)
{
    const struct {
        const char *name;
        u32 kinds;
        bool given;
    } fields[] = {
        {"points", GRID | ROPE | BRIDGE | CIRCLE, in->points() != nullptr},
        {"size", GRID | BOX, in->size() != nullptr},
        {"length", ROPE | TUBE | BRIDGE, in->length() != 0.0f},
        {"radius", SPHERE | TORUS | TUBE | PLANT | CIRCLE, in->radius() != 0.0f},
        {"tube_radius", TORUS, in->tube_radius() != 0.0f},
        {"level", SPHERE, in->level() != 3},
        {"segments", TORUS | TUBE | PLANT, in->segments() != nullptr},
        {"open", TUBE, in->open()},
        {"cells", BOX, in->cells() != nullptr},
        {"solid", BOX, in->solid()},
        {"vertices", MESH | STICKS, in->vertices() != nullptr},
        {"triangles", MESH, in->triangles() != nullptr},
        {"sticks", STICKS, in->sticks() != nullptr},
        {"file", MESH, in->file() != nullptr},
        {"scale", MESH | STICKS, in->scale() != 1.0f},
        {"resolution", SPHERE | TORUS | TUBE | BOX | MESH, in->resolution() != 0},
        {"skin", SPHERE | TORUS | TUBE | BOX | MESH | GRID, in->skin() != nullptr},
        {"height", PLANT | FIGURE, in->height() != 0.0f},
        {"seed", PLANT, in->seed() != 0},
        {"forks", PLANT, in->forks() != 3},
        {"branches", PLANT, in->branches() != 2},
        {"spread", PLANT, in->spread() != 35.0f},
        {"shrink", PLANT, in->shrink() != 0.7f},
        {"leaf", PLANT, in->leaf() != 0.0f},
        {"width", BRIDGE, in->width() != 0.0f},
        {"rail", BRIDGE, in->rail() != 1.0f},
        {"slack", BRIDGE, in->slack() != 0.02f},
    };
    for (const auto &field : fields) {
        if (field.given && (field.kinds & bit(in->kind())) == 0) {
            return fail(at, field.name, "a %s has none; leave it out",
                        fb::EnumNameSoftKind(in->kind()));
        }
    }
    return true;
}

// Checked before allocating, since few bytes may request many points.
bool Builder::soft_points(const JsonPath &at, const char *field, u64 more)
{
    soft_made_ += more;
    return soft_made_ <= PARTICLES_MAX ||
           fail(at, field, "makes it %llu points in all soft shapes; at most %d",
                (unsigned long long)soft_made_, PARTICLES_MAX);
}

bool Builder::soft_surface(const JsonPath &at, const Points *points_in,
                           const Triangles *triangles_in, f32 scale_in, SoftMesh *out)
{
    std::vector<Vec3> vertices;
    std::vector<u32> indices;
    f32 scale;
    if (!scaled_points(at, points_in, 3, scale_in, &vertices) ||
        !indices_of(at, triangles_in, &indices) ||
        !number(at, "scale", scale_in, 1e-6f, 1e6f, &scale) ||
        !soft_points(at, "vertices", vertices.size())) {
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

bool Builder::soft_sticks(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    std::vector<Vec3> vertices;
    u32 total;
    if (!scaled_points(at, in->vertices(), 2, in->scale(), &vertices) ||
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
        u32 ends[2];
        if (!uints(here, "points", given->points(), 2, 0, out->point_count - 1, ends)) {
            return false;
        }
        if (ends[0] == ends[1]) {
            return fail(here, "points", "[%u, %u] is one point; a stick has two", ends[0], ends[1]);
        }
        f32 rest = vec3_distance(vertices[ends[0]], vertices[ends[1]]);
        f32 low = given->low() != -1.0f ? given->low() : rest;
        f32 high = given->high() != -1.0f ? given->high() : rest;
        SoftStick *stick = &out->sticks[i];
        stick->a = ends[0];
        stick->b = ends[1];
        if (!number(here, "low", low, 0.0f, SIZE_MAX_M, &stick->low) ||
            !number(here, "high", high, SIZE_MIN_M, SIZE_MAX_M, &stick->high)) {
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

bool Builder::soft_grid(const JsonPath &at, const Uints *points_in, const Floats *size_in,
                        SoftMesh *out)
{
    u32 points[2];
    f32 size[2];
    if (!uints(at, "points", points_in, 2, 2, CLOTH_EDGE_MAX, points) ||
        !floats(at, "size", size_in, {2, 2, 0.01f, SIZE_MAX_M}, size) ||
        !soft_points(at, "points", (u64)points[0] * points[1])) {
        return false;
    }
    ErrorText why = {};
    return soft_mesh_grid(out, points[0], points[1], size[0], size[1], &why) == ERROR_OK ||
           fail(at, "points", "%s", why.text);
}

bool Builder::soft_round(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    f32 radius, tube_radius, length;
    u32 segments[2], level;
    ErrorText why = {};
    if (!number(at, "radius", in->radius(), SIZE_MIN_M, SIZE_MAX_M, &radius)) {
        return false;
    }
    if (in->kind() == fb::SoftKind::sphere) {
        return integer(at, "level", in->level(), 0, SOFT_SPHERE_LEVEL_MAX, &level) &&
               soft_points(at, "level", (10ull << (2 * level)) + 2) &&
               (soft_mesh_sphere(out, radius, level, &why) == ERROR_OK ||
                fail(at, "level", "%s", why.text));
    }
    if (in->kind() == fb::SoftKind::torus) {
        return number(at, "tube_radius", in->tube_radius(), SIZE_MIN_M, 0.999f * radius,
                      &tube_radius) &&
               uints(at, "segments", in->segments(), 2, 3, SOFT_SEGMENTS_MAX, segments) &&
               soft_points(at, "segments", (u64)segments[0] * segments[1]) &&
               (soft_mesh_torus(out, radius, tube_radius, segments[0], segments[1], &why) ==
                    ERROR_OK ||
                fail(at, "segments", "%s", why.text));
    }
    return number(at, "length", in->length(), SIZE_MIN_M, SIZE_MAX_M, &length) &&
           uints(at, "segments", in->segments(), 2, 1, SOFT_SEGMENTS_MAX, segments) &&
           soft_points(at, "segments", (u64)segments[0] * (segments[1] + 1) + 2) &&
           (soft_mesh_tube(out, radius, length, segments[0], segments[1], !in->open(), &why) ==
                ERROR_OK ||
            fail(at, "segments", "%s", why.text));
}

bool Builder::soft_box(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    f32 size[3];
    u32 cells[3];
    if (!floats(at, "size", in->size(), {3, 3, SIZE_MIN_M, SIZE_MAX_M}, size) ||
        !uints(at, "cells", in->cells(), 3, 1, SOFT_SEGMENTS_MAX, cells) ||
        !soft_points(at, "cells", (cells[0] + 1ull) * (cells[1] + 1ull) * (cells[2] + 1ull))) {
        return false;
    }
    ErrorText why = {};
    return soft_mesh_box(out, vec3(size[0], size[1], size[2]), cells, in->solid(), &why) ==
               ERROR_OK ||
           fail(at, "cells", "%s", why.text);
}

bool Builder::soft_plant(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    SoftPlant plant = {};
    f32 degrees;
    plant.seed = (u32)(out_->seed * 0x9E3779B9u) + in->seed();
    if (!number(at, "height", in->height(), 0.01f, 100.0f, &plant.height) ||
        !number(at, "radius", in->radius(), SIZE_MIN_M, 0.5f * plant.height, &plant.radius) ||
        !uints(at, "segments", in->segments(), 1, 1, 16, &plant.segments) ||
        !integer(at, "forks", in->forks(), 0, 5, &plant.forks) ||
        !integer(at, "branches", in->branches(), 1, 5, &plant.branches) ||
        !number(at, "spread", in->spread(), 0.0f, 85.0f, &degrees) ||
        !number(at, "shrink", in->shrink(), 0.2f, 1.0f, &plant.shrink) ||
        !number(at, "leaf", in->leaf(), 0.0f, 10.0f, &plant.leaf)) {
        return false;
    }
    plant.spread = degrees * (3.14159265f / 180.0f);
    ErrorText why = {};
    return (soft_mesh_plant(out, &plant, &why) == ERROR_OK || fail(at, "forks", "%s", why.text)) &&
           soft_points(at, "forks", out->point_count);
}

bool Builder::soft_bridge(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    SoftBridge bridge = {};
    u32 points[2];
    if (!number(at, "length", in->length(), 0.1f, SIZE_MAX_M, &bridge.length) ||
        !number(at, "width", in->width(), 0.05f, SIZE_MAX_M, &bridge.width) ||
        !number(at, "rail", in->rail(), 0.01f, 100.0f, &bridge.rail) ||
        !number(at, "slack", in->slack(), 0.0f, 0.5f, &bridge.slack) ||
        !uints(at, "points", in->points(), 2, 2, 1000, points) ||
        !integer(at, "points", points[1], 2, 64, &bridge.across) ||
        !soft_points(at, "points", (u64)points[0] * (points[1] + 2))) {
        return false;
    }
    bridge.stations = points[0];
    ErrorText why = {};
    return soft_mesh_bridge(out, &bridge, &why) == ERROR_OK || fail(at, "points", "%s", why.text);
}

// Figures that stand or hang by their sticks.
bool Builder::soft_figure(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out)
{
    f32 length;
    u32 points;
    ErrorText why = {};
    switch (in->kind()) {
    case fb::SoftKind::plant:
        return soft_plant(at, in, out);
    case fb::SoftKind::bridge:
        return soft_bridge(at, in, out);
    case fb::SoftKind::ring:
        return number(at, "radius", in->radius(), SIZE_MIN_M, SIZE_MAX_M, &length) &&
               uints(at, "points", in->points(), 1, 3, 4096, &points) &&
               soft_points(at, "points", points) &&
               (soft_mesh_ring(out, length, points, &why) == ERROR_OK ||
                fail(at, "points", "%s", why.text));
    default:
        return number(at, "height", in->height(), 0.05f, 100.0f, &length) &&
               soft_points(at, "height", FIGURE_POINTS) &&
               (soft_mesh_figure(out, length, &why) == ERROR_OK ||
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
    if (in->file() != nullptr) {
        return no_file(at);
    }
    if (!soft_surface(at, in->vertices(), in->triangles(), in->scale(), &display)) {
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
    u32 points;
    f32 length;
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
    switch (in->kind()) {
    case fb::SoftKind::grid:
        good = soft_grid(at, in->points(), in->size(), out);
        break;
    case fb::SoftKind::rope:
        good = uints(at, "points", in->points(), 1, 2, ROPE_POINTS_MAX, &points) &&
               number(at, "length", in->length(), 0.01f, SIZE_MAX_M, &length) &&
               soft_points(at, "points", points) &&
               (soft_mesh_rope(out, points, length, &why) == ERROR_OK ||
                fail(at, "points", "%s", why.text));
        break;
    case fb::SoftKind::box:
        good = soft_box(at, in, out);
        break;
    case fb::SoftKind::mesh:
        good = in->file() != nullptr
                   ? no_file(at)
                   : soft_surface(at, in->vertices(), in->triangles(), in->scale(), out);
        break;
    case fb::SoftKind::sticks:
        good = soft_sticks(at, in, out);
        break;
    case fb::SoftKind::plant:
    case fb::SoftKind::figure:
    case fb::SoftKind::bridge:
    case fb::SoftKind::ring:
        good = soft_figure(at, in, out);
        break;
    default:
        good = soft_round(at, in, out);
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
