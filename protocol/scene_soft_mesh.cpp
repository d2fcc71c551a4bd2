// scene_soft_mesh.cpp: shapes of soft bodies. Each is made here once, from the same numbers on the
// server and on every client: so points, triangles and sticks have the same order everywhere.
#include "protocol/scene_builder_cpp.h"

namespace plenum
{

namespace
{

constexpr u32 bit(fb::SoftKind kind)
{
    return 1u << (u32)kind;
}

constexpr u32 GRID = bit(fb::SoftKind::grid), ROPE = bit(fb::SoftKind::rope),
              STICKS = bit(fb::SoftKind::sticks);

} // namespace

// A field that a kind has no use for is a mistake.
bool Builder::soft_fields(const Place &at, const fb::SoftShape *in)
{
    const struct {
        const char *name;
        u32 kinds;
        bool given;
    } fields[] = {
        {"points", GRID | ROPE, in->points() != nullptr},
        {"size", GRID, in->size() != nullptr},
        {"length", ROPE, in->length() != 0.0f},
        {"vertices", STICKS, in->vertices() != nullptr},
        {"sticks", STICKS, in->sticks() != nullptr},
        {"scale", STICKS, in->scale() != 1.0f},
    };
    for (const auto &field : fields) {
        if (field.given && (field.kinds & bit(in->kind())) == 0) {
            return fail(at, field.name, "a %s has none; leave it out",
                        fb::EnumNameSoftKind(in->kind()));
        }
    }
    return true;
}

// Before anything of them is made, however few bytes ask for them.
bool Builder::soft_points(const Place &at, const char *field, u64 more)
{
    soft_made_ += more;
    return soft_made_ <= PARTICLES_MAX ||
           fail(at, field, "makes it %llu points in all soft shapes; at most %d",
                (unsigned long long)soft_made_, PARTICLES_MAX);
}

bool Builder::soft_sticks(const Place &at, const fb::SoftShape *in, SoftMesh *out)
{
    std::vector<Vec3> vertices;
    u32 total;
    if (!scaled_points(at, in->vertices(), 2, in->scale(), &vertices) ||
        !count(at, "sticks", in->sticks(), STICKS_MAX, &total) ||
        !soft_points(at, "vertices", vertices.size())) {
        return false;
    }
    if (total == 0) {
        return fail(at, "sticks", "missing; give the pairs of points that hold together");
    }
    if (!allocate(&out->points, (u32)vertices.size()) || !allocate(&out->sticks, total)) {
        return false;
    }
    out->point_count = (u32)vertices.size();
    memcpy(out->points, vertices.data(), vertices.size() * sizeof(Vec3));
    std::vector<bool> used(vertices.size());
    for (u32 i = 0; i < total; i++) {
        const fb::Stick *given = in->sticks()->Get(i);
        Place here = {&at, "sticks", i};
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

bool Builder::soft_grid(const Place &at, const Uints *points_in, const Floats *size_in,
                        SoftMesh *out)
{
    u32 points[2];
    f32 size[2];
    if (!uints(at, "points", points_in, 2, 2, CLOTH_EDGE_MAX, points) ||
        !floats(at, "size", size_in, 2, 2, 0.01f, SIZE_MAX_M, size) ||
        !soft_points(at, "points", (u64)points[0] * points[1])) {
        return false;
    }
    ErrorText why = {};
    return soft_mesh_grid(out, points[0], points[1], size[0], size[1], &why) == ERROR_OK ||
           fail(at, "points", "%s", why.text);
}

bool Builder::soft_shape(const Place &at, const fb::SoftShape *in, SoftMesh *out)
{
    ErrorText why = {};
    u32 points;
    f32 length;
    bool good = false;
    if (in->kind() > fb::SoftKind::MAX || in->kind() == fb::SoftKind::none) {
        return fail(at, "kind",
                    "missing or unknown; one of grid, rope, "
                    "mesh, sticks");
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
    case fb::SoftKind::sticks:
        good = soft_sticks(at, in, out);
        break;
    default:
        break;
    }
    return good;
}

bool Builder::keep_soft_mesh(const Place &at, u32 *index, SoftMesh **out)
{
    if (out_->soft_meshes == nullptr && !allocate(&out_->soft_meshes, SOFT_MESHES_MAX)) {
        return false;
    }
    if (out_->soft_mesh_count == SOFT_MESHES_MAX) {
        return fail(at, nullptr, "too many soft shapes; at most %d in a scene", SOFT_MESHES_MAX);
    }
    *index = out_->soft_mesh_count++;
    *out = &out_->soft_meshes[*index]; // whatever becomes of it, scene_destroy frees it
    return true;
}

} // namespace plenum
