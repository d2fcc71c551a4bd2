// scene_body.cpp: bodies of a scene, their masses, appearances and copies.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/math/random.h"

namespace plenum
{

bool Builder::appearance(const JsonPath &at, const Floats *own, const fb::Material *material,
                         Appearance *out)
{
    default_appearance(out, APPEARANCE_SHAPE);
    if (material != nullptr) {
        out->pattern = (Pattern)material->pattern();
        out->roughness = material->roughness();
        if (!color(at, "material", material->color(), out->color) ||
            !color(at, "material", material->color2(), out->color2)) {
            return false;
        }
    }
    if (!color(at, "color", own, out->color)) {
        return false;
    }
    finish_appearance(out);
    return true;
}

bool Builder::mass(const JsonPath &at, const fb::Body *in, const fb::Material *material,
                   SceneBody *out)
{
    out->mass_kg = 0.0f;
    bool given = in->mass() != -1.0f;
    if (out->motion != BODY_DYNAMIC) {
        return !given || fail(at, "mass", "%g, but only dynamic bodies have a mass; leave it out",
                              (double)in->mass());
    }
    if (given && !(in->mass() >= MASS_MIN_KG && in->mass() <= MASS_MAX_KG)) {
        return fail(at, "mass",
                    "%g kg; must be > 0 (from %g to %g), or left out: density times volume",
                    (double)in->mass(), (double)MASS_MIN_KG, (double)MASS_MAX_KG);
    }
    f32 density = material != nullptr ? material->density() : 1000.0f;
    f32 kg = given ? in->mass() : density * shape_volume(&out->shape);
    if (!(kg >= MASS_MIN_KG && kg <= MASS_MAX_KG)) {
        return fail(at, "shape", "has a mass of %g kg at %g kg/m^3; must be from %g to %g kg",
                    (double)kg, (double)density, (double)MASS_MIN_KG, (double)MASS_MAX_KG);
    }
    out->mass_kg = kg;
    return true;
}

// Checks which shapes may move, and how: infinite or hollow ones cannot.
bool Builder::motion(const JsonPath &at, const fb::Body *in, SceneBody *out)
{
    ShapeKind kind = out->shape.kind;
    if ((kind == SHAPE_PLANE || kind == SHAPE_TERRAIN) && out->motion != BODY_STATIC) {
        return fail(at, "motion", "a %s cannot move; give \"motion\": \"static\"",
                    shape_kind_name(kind));
    }
    if (kind == SHAPE_MESH && out->motion == BODY_DYNAMIC) {
        return fail(at, "motion",
                    "a mesh cannot be dynamic; give \"static\" or \"kinematic\", or use hulls");
    }
    bool moving = vec3_length_squared(out->velocity) > 0.0f ||
                  vec3_length_squared(out->angular_velocity) > 0.0f;
    if (moving && out->motion == BODY_STATIC) {
        return fail(at, in->velocity() != nullptr ? "velocity" : "angular_velocity",
                    "a static body cannot move; leave it out or give \"motion\": \"kinematic\"");
    }
    if (in->path() == nullptr) {
        return true;
    }
    if (out->motion != BODY_KINEMATIC) {
        return fail(at, "path", "only kinematic bodies have a path");
    }
    if (in->velocity() != nullptr) {
        return fail(at, "velocity", "follows from the path; leave it out");
    }
    JsonPath path_at = {&at, "path", -1};
    return path(path_at, in->path(), out);
}

bool Builder::path_options(const JsonPath &at, const fb::Path *in, PathOptions *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/path.def"
    return good;
}

bool Builder::path(const JsonPath &at, const fb::Path *in, SceneBody *out)
{
    PathOptions options = {};
    if (!path_options(at, in, &options)) {
        return false;
    }
    // Each path belongs to a body, so their number is bounded too.
    if (out_->paths == nullptr && !allocate(&out_->paths, BODIES_MAX)) {
        return false;
    }
    if (out_->path_count == BODIES_MAX) {
        return fail(at, nullptr, "too many paths; at most %d in a scene", BODIES_MAX);
    }
    ScenePath made = options;
    const std::vector<Vec3> &way = options.way;
    made.count = (u32)way.size();
    if (!allocate(&made.points, made.count)) {
        return false;
    }
    memcpy(made.points, way.data(), way.size() * sizeof(Vec3));
    out->path = (i32)out_->path_count;
    out_->paths[out_->path_count++] = made;
    return true;
}

// The defaults of a body.
SceneBody body_default()
{
    SceneBody body = {};
    body.orientation = quat_identity();
    body.path = -1;
#define ROW_NUMBER(key, member, unit, scale, initial, ...) body.member = (initial) * (scale);
#define ROW_BITS(key, member, initial, ...)                body.member = initial;
#define ROW_FLAG(key, member, initial, doc)                body.member = initial;
#define ROW_CHOICE(key, member, Type, names, initial, doc) body.member = initial;
#include "shared/rows/body.def"
    return body;
}

// Applies the material's properties that the body does not override.
void take_material(const fb::Material *material, SceneBody *out)
{
    out->rolling = material != nullptr ? material->rolling() : 0.0f;
    if (out->friction < 0.0f) {
        out->friction = material != nullptr ? material->friction() : 0.6f;
    }
    if (out->restitution < 0.0f) {
        out->restitution = material != nullptr ? material->restitution() : 0.0f;
    }
    out->friction += 0.0f; // no −0: scenes are compared and hashed by bits
    out->restitution += 0.0f;
}

// Each option alone, by its row.
bool Builder::body_options(const JsonPath &at, const fb::Body *in, SceneBody *out)
{
    bool good = choice(at, "method", (u32)in->method(), rigid_method_names, 0, RIGID_METHOD_COUNT);
    out->pgs = in->method() == fb::Method::impulses;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/body.def"
    return good;
}

bool Builder::body(const JsonPath &at, const fb::Body *in, SceneBody *out)
{
    *out = body_default();
    const fb::Material *material = nullptr;
    JsonPath shape_at = {&at, "shape", -1};
    if (!name(at, "name", in->name(), out->name) ||
        !this->material(at, in->material(), &material) ||
        !shape(shape_at, in->shape(), false, &out->shape) || !body_options(at, in, out)) {
        return false;
    }
    take_material(material, out);
    if (!motion(at, in, out) || !mass(at, in, material, out) ||
        !appearance(at, in->color(), material, &out->appearance)) {
        return false;
    }
    out->appearance.shape = out->shape;
    out->appearance.geometry = out->shape.geometry != nullptr ? out->shape.geometry->id + 1 : 0;
    return true;
}

bool Builder::repeat_options(const JsonPath &at, const fb::Repeat *in, RepeatOptions *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/repeat.def"
    return good;
}

// Copies along x or z in layer j.
u32 layer_count(u32 count, u32 j, bool stairs)
{
    return !stairs ? count : count > j ? count - j : 0;
}

bool Builder::repeat_count(const JsonPath &at, const fb::Repeat *in, u64 *copies)
{
    *copies = 1;
    if (in == nullptr) {
        return true;
    }
    JsonPath here = {&at, "repeat", -1};
    RepeatOptions grid = {};
    if (!repeat_options(here, in, &grid)) {
        return false;
    }
    const u32 *n = grid.count;
    u64 total = 0;
    for (u32 j = 0; j < n[1] && total <= BODIES_MAX; j++) {
        u64 along_z = n[2] > 1 ? layer_count(n[2], j, grid.stairs) : 1;
        total += layer_count(n[0], j, grid.stairs) * along_z;
    }
    if (total > BODIES_MAX) {
        return fail(here, "count", "more than %d copies; a world holds at most %d bodies",
                    BODIES_MAX, BODIES_MAX);
    }
    *copies = total;
    return true;
}

bool Builder::add_body(const JsonPath &at, const SceneBody &given)
{
    if (given.motion == BODY_DYNAMIC && !bounds_contain_point(&out_->bounds, given.position)) {
        return fail(at, "position", "[%g, %g, %g] of \"%s\" is outside the scene's bounds",
                    (double)given.position.x, (double)given.position.y, (double)given.position.z,
                    given.name);
    }
    if (!unique(at, &entities_, given.name, (i32)bodies_.size())) {
        return false;
    }
    bodies_.push_back(given);
    return true;
}

bool Builder::copies(const JsonPath &at, const fb::Repeat *in, u32 step, std::vector<Copy> *out)
{
    u32 made = 0, first = (u32)bodies_.size();
    JsonPath here = {&at, "repeat", -1};
    RepeatOptions grid = {};
    if (!repeat_options(here, in, &grid)) {
        return false;
    }
    const u32 *n = grid.count;
    Vec3 spacing = vec3(grid.spacing[0], grid.spacing[1], grid.spacing[2]);
    f32 jitter = grid.jitter;
    bool stairs = grid.stairs;
    for (u32 j = 0; j < n[1]; j++) {
        u32 nx = layer_count(n[0], j, stairs);
        u32 nz = n[2] > 1 ? layer_count(n[2], j, stairs) : 1;
        f32 x = (j % 2 == 1 ? grid.stagger : 0.0f) + (stairs ? 0.5f * spacing.x * (f32)j : 0.0f);
        f32 z = stairs && n[2] > 1 ? 0.5f * spacing.z * (f32)j : 0.0f;
        for (u32 k = 0; k < nz; k++) {
            for (u32 i = 0; i < nx; i++) {
                u64 counter = (u64)(first + made * step) * 2;
                Vec3 offset = vec3(x + spacing.x * (f32)i +
                                       random_range(out_->seed, counter, -jitter, jitter),
                                   spacing.y * (f32)j,
                                   z + spacing.z * (f32)k +
                                       random_range(out_->seed, counter + 1, -jitter, jitter));
                out->push_back(Copy{made++, offset});
            }
        }
    }
    return true;
}

bool Builder::copy_name(const JsonPath &at, const char *first, u32 index, char out[NAME_BYTES_MAX])
{
    int length = snprintf(out, NAME_BYTES_MAX, "%s-%u", first, index + 1);
    return length < NAME_BYTES_MAX ||
           fail(at, "name", "too long with \"-%u\" behind it; at most %d bytes", index + 1,
                NAME_BYTES_MAX - 1);
}

bool Builder::repeat(const JsonPath &at, const fb::Body *in, const SceneBody &first)
{
    std::vector<Copy> placed;
    if (!copies(at, in->repeat(), 1, &placed)) {
        return false;
    }
    const Uints *n = in->repeat()->count();
    Copies record = {
        (u32)bodies_.size(), {n->Get(0), n->Get(1), n->Get(2)}, in->repeat()->stairs()};
    copies_.emplace(first.name, record);
    for (const Copy &copy : placed) {
        SceneBody body = first;
        memset(body.name, 0, sizeof body.name);
        if (!copy_name(at, first.name, copy.index, body.name)) {
            return false;
        }
        body.position = vec3_add(first.position, copy.offset);
        if (!add_body(at, body)) {
            return false;
        }
    }
    return true;
}

// The total number of bodies, before any is created.
bool Builder::body_count(const JsonPath &at, const fb::Scene *in)
{
    u32 listed, figures;
    u64 total = 0, made;
    if (!count(at, "bodies", in->bodies(), BODIES_MAX, &listed) ||
        !count(at, "ragdolls", in->ragdolls(), BODIES_MAX / RAGDOLL_BODIES, &figures)) {
        return false;
    }
    for (u32 i = 0; i < listed; i++) {
        JsonPath here = {&at, "bodies", i};
        if (!repeat_count(here, in->bodies()->Get(i)->repeat(), &made)) {
            return false;
        }
        total += made;
    }
    for (u32 i = 0; i < figures; i++) {
        JsonPath here = {&at, "ragdolls", i};
        if (!repeat_count(here, in->ragdolls()->Get(i)->repeat(), &made)) {
            return false;
        }
        total += made * RAGDOLL_BODIES;
    }
    if (total + out_->spare_bodies > BODIES_MAX) {
        return fail(at, "bodies", "%llu bodies and %u spare_bodies; at most %d together",
                    (unsigned long long)total, out_->spare_bodies, BODIES_MAX);
    }
    bodies_.reserve(total);
    return true;
}

bool Builder::bodies(const JsonPath &at, const fb::Scene *in)
{
    if (!body_count(at, in)) {
        return false;
    }
    for (u32 i = 0; in->bodies() != nullptr && i < in->bodies()->size(); i++) {
        JsonPath here = {&at, "bodies", i};
        const fb::Body *given = in->bodies()->Get(i);
        SceneBody first;
        if (!body(here, given, &first)) {
            return false;
        }
        bool added =
            given->repeat() != nullptr ? repeat(here, given, first) : add_body(here, first);
        if (!added) {
            return false;
        }
    }
    return true;
}

bool Builder::finish()
{
    if (!allocate(&out_->bodies, (u32)bodies_.size()) ||
        !allocate(&out_->joints, (u32)joints_.size())) {
        return false;
    }
    out_->body_count = (u32)bodies_.size();
    out_->joint_count = (u32)joints_.size();
    for (u32 i = 0; i < out_->body_count; i++) {
        out_->bodies[i] = bodies_[i];
    }
    for (u32 i = 0; i < out_->joint_count; i++) {
        out_->joints[i] = joints_[i];
    }
    return true;
}

} // namespace plenum
