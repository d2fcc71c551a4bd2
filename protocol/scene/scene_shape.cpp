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

constexpr u32 ROUND =
    bit(SHAPE_SPHERE) | bit(SHAPE_CAPSULE) | bit(SHAPE_CYLINDER) | bit(SHAPE_CONE);
constexpr u32 TALL = bit(SHAPE_CAPSULE) | bit(SHAPE_CYLINDER) | bit(SHAPE_CONE);

constexpr u32 FILED = bit(SHAPE_MESH) | bit(SHAPE_COMPOUND) | bit(SHAPE_TERRAIN);

} // namespace

// A field that does not apply to the kind is an error.
bool Builder::shape_fields(const JsonPath &at, const fb::Shape *in, ShapeKind kind)
{
    const struct {
        const char *name;
        u32 kinds;
        bool given;
    } fields[] = {
        {"radius", ROUND, in->radius() != 0.0f},
        {"half_height", TALL, in->half_height() != 0.0f},
        {"half", bit(SHAPE_BOX), in->half() != nullptr},
        {"points", bit(SHAPE_HULL), in->points() != nullptr},
        {"vertex_limit", bit(SHAPE_HULL), in->vertex_limit() != 0},
        {"vertices", bit(SHAPE_MESH), in->vertices() != nullptr},
        {"triangles", bit(SHAPE_MESH), in->triangles() != nullptr},
        {"track", bit(SHAPE_MESH), in->track() != nullptr},
        {"columns", bit(SHAPE_TERRAIN), in->columns() != 0},
        {"rows", bit(SHAPE_TERRAIN), in->rows() != 0},
        {"spacing", bit(SHAPE_TERRAIN), in->spacing() != 0.0f},
        {"heights", bit(SHAPE_TERRAIN), in->heights() != nullptr},
        {"noise", bit(SHAPE_TERRAIN), in->noise() != nullptr},
        {"file", FILED, in->file() != nullptr},
        {"scale", FILED, in->scale() != 1.0f},
        {"parts", bit(SHAPE_COMPOUND), in->parts() != 0},
        {"children", bit(SHAPE_COMPOUND), in->children() != nullptr},
    };
    for (const auto &field : fields) {
        if (field.given && (field.kinds & bit(kind)) == 0) {
            return fail(at, field.name, "a %s has none; leave it out", shape_kind_name(kind));
        }
    }
    return true;
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
    if ((ROUND & bit(out->kind)) != 0 &&
        !number(at, "radius", in->radius(), SIZE_MIN_M, SIZE_MAX_M, &out->radius)) {
        return false;
    }
    if ((TALL & bit(out->kind)) != 0 &&
        !number(at, "half_height", in->half_height(), SIZE_MIN_M, SIZE_MAX_M, &out->half_height)) {
        return false;
    }
    f32 half[3] = {0.0f, 0.0f, 0.0f};
    switch (out->kind) {
    case SHAPE_BOX:
        if (!floats(at, "half", in->half(), {3, 3, SIZE_MIN_M, SIZE_MAX_M}, half)) {
            return false;
        }
        out->half = vec3(half[0], half[1], half[2]);
        return true;
    case SHAPE_HULL:
        return hull(at, in, out);
    case SHAPE_MESH:
        return mesh(at, in, out);
    case SHAPE_TERRAIN:
        return terrain(at, in, out);
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

bool Builder::hull(const JsonPath &at, const fb::Shape *in, Shape *out)
{
    std::vector<Vec3> cloud;
    u32 limit = HULL_VERTICES_MAX;
    if (!points(at, "points", in->points(), 4, HULL_POINTS_MAX, &cloud) ||
        (in->vertex_limit() != 0 &&
         !integer(at, "vertex_limit", in->vertex_limit(), 4, HULL_VERTICES_MAX, &limit))) {
        return false;
    }
    hull_points_ += (u32)cloud.size();
    if (hull_points_ > HULL_POINTS_TOTAL_MAX) {
        return fail(at, "points", "%u points with the hulls before; at most %d in a scene",
                    hull_points_, HULL_POINTS_TOTAL_MAX);
    }
    ErrorText why = {};
    Geometry *made = geometry_hull(cloud.data(), (u32)cloud.size(), limit, &why);
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
    std::vector<Vec3> path;
    TrackProfile profile = {};
    u32 steps;
    if (!points(at, "points", in->points(), 2, GUTTER_POINTS_MAX, &path) ||
        !number(at, "radius", in->radius(), 0.01f, 100.0f, &profile.radius) ||
        !number(at, "rim", in->rim(), 0.0f, 100.0f, &profile.rim) ||
        !number(at, "thickness", in->thickness(), 0.001f, 10.0f, &profile.thickness) ||
        !integer(at, "segments", in->segments(), 2, TRACK_SEGMENTS_MAX, &profile.segments) ||
        !integer(at, "steps", in->steps(), 1, 32, &steps)) {
        return false;
    }
    profile.closed = in->closed();
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
    bool good = add_mesh(at, "points", surface.positions, surface.vertex_count, surface.indices,
                         surface.index_count / 3, out);
    surface_mesh_finish(&surface);
    return good;
}

bool Builder::scaled_points(const JsonPath &at, const Points *in, u32 min, f32 scale,
                            std::vector<Vec3> *out)
{
    if (!points(at, "vertices", in, min, 3 * MESH_TRIANGLES_MAX, out) ||
        !number(at, "scale", scale, 1e-6f, 1e6f, &scale)) {
        return false;
    }
    for (size_t i = 0; i < out->size(); i++) {
        Vec3 *v = &(*out)[i];
        *v = vec3_scale(*v, scale);
        f32 most = f32_max(f32_max(fabsf(v->x), fabsf(v->y)), fabsf(v->z));
        if (!(most <= WORLD_EXTENT_MAX_M)) {
            return fail(at, "scale", "puts vertex %zu %g m away; at most %g", i, (double)most,
                        (double)WORLD_EXTENT_MAX_M);
        }
    }
    return true;
}

bool Builder::indices_of(const JsonPath &at, const Triangles *in, std::vector<u32> *out)
{
    u32 total;
    if (!count(at, "triangles", in, MESH_TRIANGLES_MAX, &total)) {
        return false;
    }
    out->reserve((size_t)total * 3);
    for (u32 i = 0; i < total; i++) {
        const fb::Triangle *t = in->Get(i);
        out->push_back(t->a());
        out->push_back(t->b());
        out->push_back(t->c());
    }
    return true;
}

bool Builder::no_file(const JsonPath &at)
{
    return fail(at, "file", "only scenes loaded from a file may reference files; leave it out");
}

bool Builder::mesh(const JsonPath &at, const fb::Shape *in, Shape *out)
{
    if (in->track() != nullptr) {
        if (in->vertices() != nullptr || in->triangles() != nullptr) {
            return fail(at, "track", "given besides vertices; give one of them");
        }
        JsonPath here = {&at, "track", -1};
        return track(here, in->track(), out);
    }
    if (in->file() != nullptr) {
        return no_file(at);
    }
    std::vector<Vec3> vertices;
    std::vector<u32> triangles;
    return scaled_points(at, in->vertices(), 3, in->scale(), &vertices) &&
           indices_of(at, in->triangles(), &triangles) &&
           add_mesh(at, "triangles", vertices.data(), (u32)vertices.size(), triangles.data(),
                    (u32)triangles.size() / 3, out);
}

bool Builder::noise(const JsonPath &at, const fb::Noise *in, u32 columns, u32 rows, f32 spacing,
                    std::vector<f32> *heights)
{
    f32 amplitude, feature;
    u32 octaves;
    if (!number(at, "amplitude", in->amplitude(), 0.0f, 1000.0f, &amplitude) ||
        !number(at, "feature", in->feature(), 0.1f, 10000.0f, &feature) ||
        !integer(at, "octaves", in->octaves(), 1, 10, &octaves)) {
        return false;
    }
    // Lattice coordinates have 32 bits.
    f32 reach = 0.5f * spacing * (f32)u32_max(columns, rows) / feature * (f32)(1u << octaves);
    if (!(reach < 1e9f)) {
        return fail(at, "feature", "%g m is too small for this terrain", (double)feature);
    }
    make_noise({out_->seed * 0x9E3779B97F4A7C15ull + in->seed() + 1, amplitude, feature, octaves,
                columns, rows, spacing},
               heights->data());
    return true;
}

bool Builder::terrain(const JsonPath &at, const fb::Shape *in, Shape *out)
{
    u32 columns, rows;
    f32 spacing;
    if (in->file() != nullptr) {
        return no_file(at);
    }
    if (in->scale() != 1.0f) {
        return fail(at, "scale", "only of a file; leave it out");
    }
    if (!integer(at, "columns", in->columns(), 2, TERRAIN_SIDE_MAX, &columns) ||
        !integer(at, "rows", in->rows(), 2, TERRAIN_SIDE_MAX, &rows) ||
        !number(at, "spacing", in->spacing(), 0.01f, 100.0f, &spacing)) {
        return false;
    }
    if ((in->heights() != nullptr) == (in->noise() != nullptr)) {
        return fail(at, in->noise() != nullptr ? "noise" : nullptr,
                    "a terrain has either heights or noise; give one of them");
    }
    u32 samples = columns * rows;
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
            ? noise(noise_at, in->noise(), columns, rows, spacing, &heights)
            : floats(at, "heights", in->heights(),
                     {samples, samples, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M}, heights.data());
    if (!good) {
        return false;
    }
    ErrorText why = {};
    Geometry *made = geometry_terrain(heights.data(), columns, rows, spacing, &why);
    return keep_geometry(at, nullptr, made, why, out);
}

bool Builder::compound(const JsonPath &at, const fb::Shape *in, Shape *out)
{
    if (in->file() != nullptr) {
        return no_file(at);
    }
    if (in->scale() != 1.0f || in->parts() != 0) {
        return fail(at, in->parts() != 0 ? "parts" : "scale", "only of a file; leave it out");
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
        const fb::Child *given = in->children()->Get(i);
        JsonPath here = {&at, "children", (i64)i}, shape_at = {&here, "shape", -1};
        if (!shape(shape_at, given->shape(), true, &children[i].shape) ||
            !vector(here, "position", given->position(), vec3_zero(), SIZE_MAX_M,
                    &children[i].position) ||
            !orientation(here, given->orientation(), given->rotation(), &children[i].orientation)) {
            return false;
        }
    }
    ErrorText why = {};
    Geometry *made = geometry_compound(children.data(), total, &why);
    return keep_geometry(at, "children", made, why, out);
}

} // namespace plenum
