// scene_shape.cpp: shapes of a scene. Shapes with vertex data become a Geometry of the scene,
// created here once and shared by copies of a body.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/mesh/mesh_shapes.h"

namespace plenum
{

namespace
{

constexpr u32 bit(ShapeKind kind)
{
    return 1u << kind;
}

// As shape.def names them.
constexpr u32 SPHERE = bit(SHAPE_SPHERE), BOX = bit(SHAPE_BOX), CAPSULE = bit(SHAPE_CAPSULE),
              CYLINDER = bit(SHAPE_CYLINDER), CONE = bit(SHAPE_CONE), HULL = bit(SHAPE_HULL),
              MESH = bit(SHAPE_MESH), TERRAIN = bit(SHAPE_TERRAIN), COMPOUND = bit(SHAPE_COMPOUND),
              ALL = UINT32_MAX;

constexpr u32 PARTS_OF_FILE = 24; // as shape.def says

} // namespace

// A field that does not apply to the kind is an error.
bool Builder::shape_fields(const JsonPath &at, const fb::Shape *in, ShapeKind kind)
{
    GivenFields fields;
    u32 kind_bit = bit(kind);
    bool applies = true;
#include "protocol/scene/scene_given_cpp.h"
#include "shared/rows/shape.def"
    const char *foreign = fields.foreign();
    return foreign == nullptr ||
           fail(at, foreign, "a %s has none; leave it out", shape_kind_name(kind));
}

bool Builder::shape_options(const JsonPath &at, const fb::Shape *in, ShapeKind kind,
                            ShapeOptions *out)
{
    bool good = true, applies = true;
#define ROW_FOR(kinds) applies = ((kinds)&bit(kind)) != 0;
#define ROW_WHEN       applies
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/shape.def"
    return good;
}

bool Builder::shape(const JsonPath &at, const fb::Shape *in, bool child, Shape *out)
{
    *out = Shape{};
    if (in->kind() == fb::ShapeKind::none || in->kind() > fb::ShapeKind::MAX) {
        return fail(at, "kind",
                    "missing or unknown; one of sphere, box, capsule, plane, cylinder, cone, hull, "
                    "mesh, terrain, compound");
    }
    out->kind = (ShapeKind)in->kind();
    if (!shape_fields(at, in, out->kind)) {
        return false;
    }
    if (child && (out->kind == SHAPE_PLANE || out->kind == SHAPE_MESH ||
                  out->kind == SHAPE_TERRAIN || out->kind == SHAPE_COMPOUND)) {
        return fail(at, "kind", "a compound cannot contain a %s; only convex shapes",
                    shape_kind_name(out->kind));
    }
    if (in->file() != nullptr) {
        return no_file(at);
    }
    ShapeOptions options = {};
    if (!shape_options(at, in, out->kind, &options)) {
        return false;
    }
    out->radius = options.radius;
    out->half_height = options.half_height;
    out->half = vec3(options.half[0], options.half[1], options.half[2]);
    switch (out->kind) {
    case SHAPE_HULL:
        return hull(at, options, out);
    case SHAPE_MESH:
        return mesh(at, in, &options, out);
    case SHAPE_TERRAIN:
        return terrain(at, in, options, out);
    case SHAPE_COMPOUND:
        return compound(at, in, out);
    default:
        return true;
    }
}

// Takes ownership of `made`; if it is nullptr, `why` has the reason.
bool Builder::keep_geometry(const JsonPath &at, const char *field, Geometry *made,
                            const ErrorText &why, Shape *out)
{
    if (made == nullptr) {
        return fail(at, field, "%s", why.text);
    }
    if (out_->geometry_count == GEOMETRIES_MAX) {
        geometry_destroy(made);
        return fail(at, field, "too many shapes of this kind; at most %d in a scene",
                    GEOMETRIES_MAX);
    }
    if (out_->geometries == nullptr) {
        if (!allocate(&out_->geometries, GEOMETRIES_MAX)) {
            geometry_destroy(made);
            return false;
        }
    }
    made->id = out_->geometry_count;
    out_->geometries[out_->geometry_count++] = made;
    out->geometry = made;
    return true;
}

bool Builder::hull(const JsonPath &at, const ShapeOptions &options, Shape *out)
{
    const std::vector<Vec3> &cloud = options.points;
    hull_points_ += (u32)cloud.size();
    if (hull_points_ > HULL_POINTS_TOTAL_MAX) {
        return fail(at, "points", "%u points with the hulls before; at most %d in a scene",
                    hull_points_, HULL_POINTS_TOTAL_MAX);
    }
    ErrorText why = {};
    Geometry *made = geometry_hull(cloud.data(), (u32)cloud.size(), options.vertex_limit, &why);
    return keep_geometry(at, "points", made, why, out);
}

bool Builder::add_mesh(const JsonPath &at, const char *field, const Vec3 *vertices,
                       u32 vertex_count, const u32 *triangles, u32 triangle_count, Shape *out)
{
    triangles_ += triangle_count;
    if (triangles_ > TRIANGLES_TOTAL_MAX) {
        return fail(at, field, "%u triangles with the meshes before; at most %d in a scene",
                    triangles_, TRIANGLES_TOTAL_MAX);
    }
    ErrorText why = {};
    Geometry *made =
        geometry_mesh(vertices, vertex_count, triangles, triangle_count, nullptr, &why);
    return keep_geometry(at, field, made, why, out);
}

bool Builder::track(const JsonPath &at, const fb::Track *in, Shape *out)
{
    TrackOptions options = {}, *into = &options;
    bool good = true;
    {
        TrackOptions *out = into;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/track.def"
    }
    if (!good) {
        return false;
    }
    TrackProfile profile = {};
#define SOLVER_ROWS
#define MEMBER(type, name) profile.name = options.name;
#include "shared/rows/track.def"
    const std::vector<Vec3> &path = options.points;
    u32 steps = options.steps;
    if ((u64)path.size() * steps * 4 * (profile.segments + 4) > TRIANGLES_TOTAL_MAX) {
        return fail(at, "steps", "gives more than %d triangles; take fewer steps or segments",
                    TRIANGLES_TOTAL_MAX);
    }
    std::vector<Vec3> curve(path.size() * steps + 1);
    u32 total = path_smooth(path.data(), (u32)path.size(), profile.closed, steps, curve.data());
    SurfaceMesh surface = {};
    ErrorText why = {};
    if (surface_mesh_track(&surface, curve.data(), total, &profile, &why) != ERROR_OK) {
        return fail(at, "points", "%s", why.text);
    }
    good = add_mesh(at, "points", surface.positions, surface.vertex_count, surface.indices,
                    surface.index_count / 3, out);
    surface_mesh_finish(&surface);
    return good;
}

bool Builder::scale_points(const JsonPath &at, f32 scale, std::vector<Vec3> *points)
{
    for (size_t i = 0; i < points->size(); i++) {
        Vec3 *v = &(*points)[i];
        *v = vec3_scale(*v, scale);
        f32 most = f32_max(f32_max(fabsf(v->x), fabsf(v->y)), fabsf(v->z));
        if (!(most <= WORLD_EXTENT_MAX_M)) {
            return fail(at, "scale", "puts vertex %zu %g m away; at most %g", i, (double)most,
                        (double)WORLD_EXTENT_MAX_M);
        }
    }
    return true;
}

bool Builder::no_file(const JsonPath &at)
{
    return fail(at, "file", "only scenes loaded from a file may reference files; leave it out");
}

bool Builder::mesh(const JsonPath &at, const fb::Shape *in, ShapeOptions *options, Shape *out)
{
    if (in->track() != nullptr) {
        if (in->vertices() != nullptr || in->triangles() != nullptr) {
            return fail(at, "track", "given besides vertices; give one of them");
        }
        JsonPath here = {&at, "track", -1};
        return track(here, in->track(), out);
    }
    if (in->vertices() == nullptr) {
        return fail(at, "vertices",
                    "missing; a mesh has vertices and triangles, a track or a file");
    }
    std::vector<Vec3> &vertices = options->vertices;
    const std::vector<u32> &triangles = options->triangles;
    return scale_points(at, options->scale, &vertices) &&
           add_mesh(at, "triangles", vertices.data(), (u32)vertices.size(), triangles.data(),
                    (u32)triangles.size() / 3, out);
}

bool Builder::noise(const JsonPath &at, const fb::Noise *in, const ShapeOptions &terrain,
                    std::vector<f32> *heights)
{
    Noise made = {}, *out = &made;
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/noise.def"
    if (!good) {
        return false;
    }
    // Lattice coordinates have 32 bits.
    f32 reach = 0.5f * terrain.spacing * (f32)u32_max(terrain.columns, terrain.rows) /
                made.feature * (f32)(1u << made.octaves);
    if (!(reach < 1e9f)) {
        return fail(at, "feature", "%g m is too small for this terrain", (double)made.feature);
    }
    made.seed = out_->seed * 0x9E3779B97F4A7C15ull + in->seed() + 1;
    made.columns = terrain.columns;
    made.rows = terrain.rows;
    made.spacing = terrain.spacing;
    make_noise(made, heights->data());
    return true;
}

bool Builder::terrain(const JsonPath &at, const fb::Shape *in, const ShapeOptions &options,
                      Shape *out)
{
    if (in->scale() != 1.0f) {
        return fail(at, "scale", "only of a file; leave it out");
    }
    if ((in->heights() != nullptr) == (in->noise() != nullptr)) {
        return fail(at, in->noise() != nullptr ? "noise" : nullptr,
                    "a terrain has either heights or noise; give one of them");
    }
    u32 samples = options.columns * options.rows;
    samples_ += samples;
    if (samples_ > SAMPLES_TOTAL_MAX) {
        return fail(at, "rows", "%u samples with the terrains before; at most %d in a scene",
                    samples_, SAMPLES_TOTAL_MAX);
    }
    // Checked before allocating the claimed size.
    if (in->heights() != nullptr && in->heights()->size() != samples) {
        return fail(at, "heights", "has %u numbers; must have rows * columns = %u",
                    in->heights()->size(), samples);
    }
    std::vector<f32> heights(samples);
    JsonPath noise_at = {&at, "noise", -1};
    bool good =
        in->noise() != nullptr
            ? noise(noise_at, in->noise(), options, &heights)
            : floats(at, "heights", in->heights(),
                     {samples, samples, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M}, heights.data());
    if (!good) {
        return false;
    }
    ErrorText why = {};
    Geometry *made =
        geometry_terrain(heights.data(), options.columns, options.rows, options.spacing, &why);
    return keep_geometry(at, nullptr, made, why, out);
}

bool Builder::part(const JsonPath &at, const fb::Child *in, CompoundChild *out)
{
    JsonPath shape_at = {&at, "shape", -1};
    bool good = shape(shape_at, in->shape(), true, &out->shape);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/part.def"
    return good;
}

bool Builder::compound(const JsonPath &at, const fb::Shape *in, Shape *out)
{
    if (in->scale() != 1.0f || in->parts() != PARTS_OF_FILE) {
        return fail(at, in->parts() != PARTS_OF_FILE ? "parts" : "scale",
                    "only of a file; leave it out");
    }
    u32 total;
    if (!count(at, "children", in->children(), COMPOUND_CHILDREN_MAX, &total)) {
        return false;
    }
    if (total == 0) {
        return fail(at, "children", "missing; a compound has 1 to %d", COMPOUND_CHILDREN_MAX);
    }
    std::vector<CompoundChild> children(total);
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "children", (i64)i};
        if (!part(here, in->children()->Get(i), &children[i])) {
            return false;
        }
    }
    ErrorText why = {};
    Geometry *made = geometry_compound(children.data(), total, &why);
    return keep_geometry(at, "children", made, why, out);
}

} // namespace plenum
