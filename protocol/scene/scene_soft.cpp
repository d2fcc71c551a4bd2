// scene_soft.cpp: soft bodies of a scene, and cloths, which are their short form: checks numbers,
// resolves pins, places copies.
#include "protocol/scene/scene_builder_cpp.h"

namespace plenum
{

namespace
{

// A cloth: a soft body and those options of shared/rows/cloth.def that only cloths have.
struct ClothOptions : SceneSoft {
    u32 points[2];
    f32 size[2], area_density;
};

// Length, area or volume of the whole mesh, in the unit of its density.
f64 matter_of(const SoftMesh &mesh, f32 *density)
{
    f64 sum = 0.0;
    if (mesh.tetrahedron_count > 0) {
        *density = 1000.0f;
        for (u32 i = 0; i < mesh.tetrahedron_count; i++) {
            const u32 *p = mesh.tetrahedra + (size_t)4 * i;
            Vec3 a = mesh.points[p[0]];
            Vec3 normal =
                vec3_cross(vec3_sub(mesh.points[p[1]], a), vec3_sub(mesh.points[p[2]], a));
            sum += (f64)vec3_dot(normal, vec3_sub(mesh.points[p[3]], a)) / 6.0;
        }
        return sum;
    }
    if (mesh.triangle_count > 0) {
        *density = 0.2f;
        for (u32 i = 0; i < mesh.triangle_count; i++) {
            const u32 *p = mesh.triangles + (size_t)3 * i;
            Vec3 a = mesh.points[p[0]];
            Vec3 normal =
                vec3_cross(vec3_sub(mesh.points[p[1]], a), vec3_sub(mesh.points[p[2]], a));
            sum += 0.5 * (f64)vec3_length(normal);
        }
        return sum;
    }
    *density = 0.1f;
    for (u32 i = 0; i < mesh.stick_count; i++) {
        sum += (f64)vec3_distance(mesh.points[mesh.sticks[i].a], mesh.points[mesh.sticks[i].b]);
    }
    return sum;
}

Vec3 place_of(const SceneSoft &soft, const SoftMesh &mesh, u32 point)
{
    return vec3_add(soft.position, quat_rotate(soft.orientation, mesh.points[point]));
}

} // namespace

bool holds_gas(const SoftMesh &mesh)
{
    return mesh.closed || soft_mesh_ring_length(&mesh) > 0;
}

// ---- pins --------------------------------------------------------------------------------------

bool Builder::add_pin(const JsonPath &at, u32 point, i32 body)
{
    if (pins_.size() >= PINS_MAX) {
        return fail(at, nullptr, "too many pinned points; at most %d in a scene", PINS_MAX);
    }
    pins_.push_back(ScenePin{point, body});
    return true;
}

bool Builder::pin_point(const JsonPath &at, const fb::Pin *in, const SoftMesh &mesh, i32 body)
{
    u32 numbers = in->point()->size(), point[2];
    if (mesh.grid[0] != 0 && numbers == 2) {
        if (!uints(at, "point", in->point(), {2, 2, 0, CLOTH_EDGE_MAX}, point)) {
            return false;
        }
        if (point[0] >= mesh.grid[0] || point[1] >= mesh.grid[1]) {
            return fail(at, "point", "[%u, %u] is not a point of this cloth; at most [%u, %u]",
                        point[0], point[1], mesh.grid[0] - 1, mesh.grid[1] - 1);
        }
        return add_pin(at, point[1] * mesh.grid[0] + point[0], body);
    }
    return uints(at, "point", in->point(), {1, 1, 0, mesh.point_count - 1}, point) &&
           add_pin(at, point[0], body);
}

bool Builder::pin_options(const JsonPath &at, const fb::Pin *in, PinOptions *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/pin.def"
    return good;
}

bool Builder::pin_near(const JsonPath &at, Vec3 near, const SceneSoft &soft, const SoftMesh &mesh,
                       i32 body)
{
    u32 best = 0;
    f32 least = INFINITY;
    for (u32 i = 0; i < mesh.point_count; i++) {
        f32 away = vec3_distance(place_of(soft, mesh, i), near);
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return add_pin(at, best, body);
}

bool Builder::pin_box(const JsonPath &at, const Bounds &box, const SceneSoft &soft,
                      const SoftMesh &mesh, i32 body)
{
    size_t before = pins_.size();
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (bounds_contain_point(&box, place_of(soft, mesh, i)) && !add_pin(at, i, body)) {
            return false;
        }
    }
    return pins_.size() > before ||
           fail(at, "box", "contains no point; give [x0, y0, z0, x1, y1, z1] in the world");
}

bool Builder::pins(const JsonPath &at, const PinList *in, SceneSoft *out)
{
    const SoftMesh &mesh = out_->soft_meshes[out->mesh];
    u32 total;
    if (!count(at, "pins", in, PINS_MAX, &total)) {
        return false;
    }
    out->first_pin = (u32)pins_.size();
    for (u32 i = 0; i < total; i++) {
        const fb::Pin *pin = in->Get(i);
        JsonPath here = {&at, "pins", i};
        i32 body;
        int ways = (pin->point() != nullptr) + (pin->near() != nullptr) + (pin->box() != nullptr);
        if (ways != 1) {
            return fail(here, "point", "give one of point, near and box");
        }
        PinOptions options = {};
        if (!joint_body(here, "body", pin->body(), &body) || !pin_options(here, pin, &options)) {
            return false;
        }
        bool good = pin->point() != nullptr  ? pin_point(here, pin, mesh, body)
                    : pin->near() != nullptr ? pin_near(here, options.near, *out, mesh, body)
                                             : pin_box(here, options.box, *out, mesh, body);
        if (!good) {
            return false;
        }
    }
    out->pin_count = (u32)pins_.size() - out->first_pin;
    return true;
}

// ---- what soft bodies and cloths share ---------------------------------------------------------

bool Builder::soft_appearance(const JsonPath &at, const SoftAppearance &in, SceneSoft *out)
{
    const SoftMesh &mesh = out_->soft_meshes[out->mesh];
    bool surface = mesh.triangle_count > 0 || mesh.skin_triangle_count > 0;
    default_appearance(&out->appearance, surface ? APPEARANCE_CLOTH : APPEARANCE_ROPE);
    if (!number(at, "roughness", in.roughness, 0.0f, 1.0f, &out->appearance.roughness) ||
        !color(at, "color", in.color, out->appearance.color) ||
        !color(at, "color2", in.color2, out->appearance.color2)) {
        return false;
    }
    if (in.pattern > fb::Pattern::MAX) {
        return fail(at, "pattern", "unknown pattern; one of plain, checker, stripes");
    }
    finish_appearance(&out->appearance);
    out->appearance.pattern = (Pattern)in.pattern;
    out->appearance.radius = out->thickness;
    out->appearance.grid[0] = mesh.grid[0];
    out->appearance.grid[1] = mesh.grid[1];
    out->appearance.soft = out->mesh + 1;
    return true;
}

bool Builder::soft_mass(const JsonPath &at, const char *field, f32 mass, f32 density,
                        SceneSoft *out)
{
    f32 usual;
    f64 matter = matter_of(out_->soft_meshes[out->mesh], &usual);
    f64 kg = mass != -1.0f ? (f64)mass : matter * (f64)(density != -1.0f ? density : usual);
    if (!(kg >= (f64)MASS_MIN_KG && kg <= (f64)MASS_MAX_KG)) {
        return fail(at, field, "weighs %g kg; must weigh from %g to %g kg", kg, (double)MASS_MIN_KG,
                    (double)MASS_MAX_KG);
    }
    out->mass_kg = (f32)kg;
    return true;
}

bool Builder::add_soft(const JsonPath &at, const SceneSoft &soft)
{
    if (!bounds_contain_point(&out_->bounds, soft.position)) {
        return fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                    (double)soft.position.x, (double)soft.position.y, (double)soft.position.z);
    }
    if (soft_bodies_.size() >= SOFT_BODIES_MAX) {
        return fail(at, nullptr, "too many soft bodies; at most %d in a scene", SOFT_BODIES_MAX);
    }
    soft_points_ += out_->soft_meshes[soft.mesh].point_count;
    if (soft_points_ > PARTICLES_MAX) {
        return fail(at, nullptr, "%llu points with the soft bodies before; at most %d",
                    (unsigned long long)soft_points_, PARTICLES_MAX);
    }
    if (!unique(at, &entities_, soft.name, -1 - (i32)soft_bodies_.size())) {
        return false;
    }
    soft_bodies_.push_back(soft);
    return true;
}

// ---- cloths ------------------------------------------------------------------------------------

// Options missing in a cloth have the defaults of a soft body.
static SceneSoft soft_default()
{
    SceneSoft soft = {};
    soft.orientation = quat_identity();
#define ROW_NUMBER(key, member, unit, scale, initial, ...) soft.member = (initial) * (scale);
#define ROW_WHOLE(key, member, initial, ...)               soft.member = initial;
#define ROW_BITS(key, member, initial, ...)                soft.member = initial;
#define ROW_FLAG(key, member, initial, doc)                soft.member = initial;
#define ROW_CHOICE(key, member, Type, names, initial, doc) soft.member = initial;
#include "shared/rows/soft.def"
    return soft;
}

bool Builder::cloth(const JsonPath &at, const fb::Cloth *in)
{
    ClothOptions options = {soft_default(), {}, {}, 0.0f}, *out = &options;
    SceneSoft &made = options;
    SoftMesh *mesh;
    bool good = name(at, "name", in->name(), made.name) && keep_soft_mesh(at, &made.mesh, &mesh);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/cloth.def"
    if (!good || !soft_grid(at, options.points, options.size, mesh)) {
        return false;
    }
    SoftAppearance appearance = {in->color(), in->color2(), in->roughness(), in->pattern()};
    return soft_mass(at, "size", -1.0f, options.area_density, &made) &&
           soft_appearance(at, appearance, &made) && pins(at, in->pins(), &made) &&
           add_soft(at, made);
}

bool Builder::cloths(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "cloths", in->cloths(), SOFT_BODIES_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "cloths", i};
        if (!cloth(here, in->cloths()->Get(i))) {
            return false;
        }
    }
    return true;
}

// ---- soft bodies -------------------------------------------------------------------------------

// Each option alone, by its row.
bool Builder::soft_options(const JsonPath &at, const fb::Soft *in, SceneSoft *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/soft.def"
    return good;
}

// Options for tetrahedra or closed bodies require a suitable mesh.
bool Builder::soft_matter(const JsonPath &at, const SceneSoft &soft)
{
    const SoftMesh &mesh = out_->soft_meshes[soft.mesh];
    if (mesh.tetrahedron_count == 0 && (soft.young > 0.0f || soft.volume_compliance >= 0.0f)) {
        return fail(at, soft.young > 0.0f ? "young" : "volume_compliance",
                    "the shape has no tetrahedra; give it a resolution");
    }
    if (mesh.triangle_count == 0 && soft.area_compliance >= 0.0f) {
        return fail(at, "area_compliance", "the shape has no triangles; leave it out");
    }
    if (soft.pressure > 0.0f && !holds_gas(mesh)) {
        return fail(at, "pressure",
                    "the shape is not closed; only closed surfaces and rings hold a gas");
    }
    if (soft.yield > 0.0f && soft.match == SOFT_MATCH_NONE) {
        return fail(at, "yield", "requires shape matching; give match");
    }
    return true;
}

bool Builder::soft_copies(const JsonPath &at, const fb::Soft *in, const SceneSoft &first)
{
    std::vector<Copy> placed;
    u64 total;
    if (!repeat_count(at, in->repeat(), &total)) {
        return false;
    }
    if (total > SOFT_BODIES_MAX) {
        JsonPath here = {&at, "repeat", -1};
        return fail(here, "count", "%llu copies; at most %d soft bodies in a scene",
                    (unsigned long long)total, SOFT_BODIES_MAX);
    }
    if (!copies(at, in->repeat(), 1, &placed)) {
        return false;
    }
    for (const Copy &copy : placed) {
        SceneSoft soft = first;
        memset(soft.name, 0, sizeof soft.name);
        soft.position = vec3_add(first.position, copy.offset);
        if (!copy_name(at, first.name, copy.index, soft.name) || !add_soft(at, soft)) {
            return false;
        }
    }
    return true;
}

// One soft body, not yet placed in the scene.
bool Builder::soft_alone(const JsonPath &at, const fb::Soft *in, SceneSoft *out)
{
    SceneSoft made = {};
    SoftMesh *mesh;
    JsonPath shape_at = {&at, "shape", -1};
    SoftAppearance appearance = {in->color(), in->color2(), in->roughness(), in->pattern()};
    if (!name(at, "name", in->name(), made.name) || !soft_options(at, in, &made) ||
        !keep_soft_mesh(at, &made.mesh, &mesh) || !soft_shape(shape_at, in->shape(), mesh) ||
        !soft_matter(at, made)) {
        return false;
    }
    if (in->mass() != -1.0f && in->density() != -1.0f) {
        return fail(at, "density", "given besides mass; give one of them");
    }
    const char *heavy = in->mass() != -1.0f ? "mass" : in->density() != -1.0f ? "density" : "shape";
    if (!soft_mass(at, heavy, in->mass(), in->density(), &made) ||
        !soft_appearance(at, appearance, &made) || !pins(at, in->pins(), &made)) {
        return false;
    }
    if (made.tethers && made.pin_count == 0) {
        return fail(at, "tethers", "require pins; give pins");
    }
    *out = made;
    return true;
}

bool Builder::soft(const JsonPath &at, const fb::Soft *in)
{
    SceneSoft made;
    if (!soft_alone(at, in, &made)) {
        return false;
    }
    return in->repeat() != nullptr ? soft_copies(at, in, made) : add_soft(at, made);
}

bool Builder::soft_bodies(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "soft_bodies", in->soft_bodies(), SOFT_BODIES_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "soft_bodies", i};
        if (!soft(here, in->soft_bodies()->Get(i))) {
            return false;
        }
    }
    if (!allocate(&out_->soft_bodies, (u32)soft_bodies_.size()) ||
        !allocate(&out_->pins, (u32)pins_.size()) ||
        !allocate(&out_->warnings, (u32)warnings_.size())) {
        return false;
    }
    out_->warning_count = (u32)warnings_.size();
    for (u32 i = 0; i < out_->warning_count; i++) {
        out_->warnings[i] = warnings_[i];
    }
    out_->soft_count = (u32)soft_bodies_.size();
    out_->pin_count = (u32)pins_.size();
    for (u32 i = 0; i < out_->soft_count; i++) {
        out_->soft_bodies[i] = soft_bodies_[i];
    }
    for (u32 i = 0; i < out_->pin_count; i++) {
        out_->pins[i] = pins_[i];
    }
    return true;
}

} // namespace plenum
