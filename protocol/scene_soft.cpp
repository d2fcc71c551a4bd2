// scene_soft.cpp: soft bodies of a scene, and cloths, which are their short form: numbers checked,
// pins found, copies placed.
#include "protocol/scene_builder_cpp.h"

namespace plenum
{

namespace
{

constexpr f32 COMPLIANCE_MAX = 1e6f, STRAIN_MAX = 100.0f;

// Of the whole mesh, in the unit that its density is for.
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

// -1 or within [0, max].
bool Builder::compliance(const Place &at, const char *field, f32 value, f32 *out)
{
    *out = -1.0f;
    return value == -1.0f || number(at, field, value, 0.0f, COMPLIANCE_MAX, out);
}

// ---- pins --------------------------------------------------------------------------------------

bool Builder::add_pin(const Place &at, u32 point, i32 body)
{
    if (pins_.size() >= PINS_MAX) {
        return fail(at, nullptr, "more than %d points are pinned; at most so many in a scene",
                    PINS_MAX);
    }
    pins_.push_back(ScenePin{point, body});
    return true;
}

bool Builder::pin_point(const Place &at, const fb::Pin *in, const SoftMesh &mesh, i32 body)
{
    u32 numbers = in->point()->size(), point[2];
    if (mesh.grid[0] != 0 && numbers == 2) {
        if (!uints(at, "point", in->point(), 2, 0, CLOTH_EDGE_MAX, point)) {
            return false;
        }
        if (point[0] >= mesh.grid[0] || point[1] >= mesh.grid[1]) {
            return fail(at, "point", "[%u, %u] is not of this cloth; at most [%u, %u]", point[0],
                        point[1], mesh.grid[0] - 1, mesh.grid[1] - 1);
        }
        return add_pin(at, point[1] * mesh.grid[0] + point[0], body);
    }
    return uints(at, "point", in->point(), 1, 0, mesh.point_count - 1, point) &&
           add_pin(at, point[0], body);
}

bool Builder::pin_near(const Place &at, const fb::Pin *in, const SceneSoft &soft,
                       const SoftMesh &mesh, i32 body)
{
    Vec3 wanted;
    if (!vector(at, "near", in->near(), vec3_zero(), WORLD_EXTENT_MAX_M, &wanted)) {
        return false;
    }
    u32 best = 0;
    f32 least = INFINITY;
    for (u32 i = 0; i < mesh.point_count; i++) {
        f32 away = vec3_distance(place_of(soft, mesh, i), wanted);
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return add_pin(at, best, body);
}

bool Builder::pin_box(const Place &at, const fb::Pin *in, const SceneSoft &soft,
                      const SoftMesh &mesh, i32 body)
{
    f32 sides[6];
    if (!floats(at, "box", in->box(), 6, 6, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, sides)) {
        return false;
    }
    Bounds box = {vec3(sides[0], sides[1], sides[2]), vec3(sides[3], sides[4], sides[5])};
    size_t before = pins_.size();
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (inside(box, place_of(soft, mesh, i)) && !add_pin(at, i, body)) {
            return false;
        }
    }
    return pins_.size() > before ||
           fail(at, "box", "no point lies in it; give [x0, y0, z0, x1, y1, z1] in the world");
}

bool Builder::pins(const Place &at, const PinList *in, SceneSoft *out)
{
    const SoftMesh &mesh = out_->soft_meshes[out->mesh];
    u32 total;
    if (!count(at, "pins", in, PINS_MAX, &total)) {
        return false;
    }
    out->first_pin = (u32)pins_.size();
    for (u32 i = 0; i < total; i++) {
        const fb::Pin *pin = in->Get(i);
        Place here = {&at, "pins", i};
        i32 body;
        int ways = (pin->point() != nullptr) + (pin->near() != nullptr) + (pin->box() != nullptr);
        if (ways != 1) {
            return fail(here, "point", "give one of point, near and box");
        }
        if (!joint_body(here, "body", pin->body(), &body)) {
            return false;
        }
        bool good = pin->point() != nullptr  ? pin_point(here, pin, mesh, body)
                    : pin->near() != nullptr ? pin_near(here, pin, *out, mesh, body)
                                             : pin_box(here, pin, *out, mesh, body);
        if (!good) {
            return false;
        }
    }
    out->pin_count = (u32)pins_.size() - out->first_pin;
    return true;
}

// ---- what soft bodies and cloths share ---------------------------------------------------------

bool Builder::soft_look(const Place &at, const SoftLook &in, SceneSoft *out)
{
    const SoftMesh &mesh = out_->soft_meshes[out->mesh];
    bool surface = mesh.triangle_count > 0 || mesh.skin_triangle_count > 0;
    default_look(&out->look, surface ? APPEARANCE_CLOTH : APPEARANCE_ROPE);
    if (!number(at, "roughness", in.roughness, 0.0f, 1.0f, &out->look.roughness) ||
        !color(at, "color", in.color, out->look.color) ||
        !color(at, "color2", in.color2, out->look.color2)) {
        return false;
    }
    if (in.pattern > fb::Pattern::MAX) {
        return fail(at, "pattern", "unknown pattern; one of plain, checker, stripes");
    }
    finish_look(&out->look);
    out->look.pattern = (Pattern)in.pattern;
    out->look.radius = out->thickness;
    out->look.grid[0] = mesh.grid[0];
    out->look.grid[1] = mesh.grid[1];
    out->look.soft = out->mesh + 1;
    return true;
}

bool Builder::soft_mass(const Place &at, const char *field, f32 mass, f32 density, SceneSoft *out)
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

bool Builder::add_soft(const Place &at, const SceneSoft &soft)
{
    if (!inside(out_->bounds, soft.position)) {
        return fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                    (double)soft.position.x, (double)soft.position.y, (double)soft.position.z);
    }
    if (softs_.size() >= SOFTS_MAX) {
        return fail(at, nullptr, "too many soft bodies; at most %d in a scene", SOFTS_MAX);
    }
    soft_points_ += out_->soft_meshes[soft.mesh].point_count;
    if (soft_points_ > PARTICLES_MAX) {
        return fail(at, nullptr, "%llu points with the soft bodies before; at most %d",
                    (unsigned long long)soft_points_, PARTICLES_MAX);
    }
    if (!unique(at, &entities_, soft.name, -1 - (i32)softs_.size())) {
        return false;
    }
    softs_.push_back(soft);
    return true;
}

// ---- cloths ------------------------------------------------------------------------------------

// What a cloth does not say is as the schema's Soft has it.
static SceneSoft soft_default()
{
    SceneSoft soft = {};
    soft.orientation = quat_identity();
    soft.iterations = 10;
    soft.spring_damping = -1.0f;
    soft.stiffness = 1.0f;
    soft.bend = SCENE_SOFT_BEND_DISTANCE;
    soft.area_compliance = soft.volume_compliance = -1.0f;
    soft.match_stiffness = 1.0f;
    soft.match_beta = 0.5f;
    soft.poisson = 0.45f;
    soft.group = 1;
    soft.mask = UINT32_MAX;
    return soft;
}

bool Builder::cloth(const Place &at, const fb::Cloth *in)
{
    SceneSoft made = soft_default();
    SoftMesh *mesh;
    if (!name(at, "name", in->name(), made.name) || !keep_soft_mesh(at, &made.mesh, &mesh) ||
        !soft_grid(at, in->points(), in->size(), mesh) ||
        !vector(at, "position", in->position(), vec3_zero(), WORLD_EXTENT_MAX_M, &made.position) ||
        !orientation(at, in->orientation(), in->rotation(), &made.orientation)) {
        return false;
    }
    f32 density;
    if (!number(at, "area_density", in->area_density(), 0.001f, 1000.0f, &density) ||
        !number(at, "stretch_compliance", in->stretch_compliance(), 0.0f, 1.0f,
                &made.stretch_compliance) ||
        !number(at, "shear_compliance", in->shear_compliance(), 0.0f, 1.0f,
                &made.shear_compliance) ||
        !number(at, "bend_compliance", in->bend_compliance(), 0.0f, COMPLIANCE_MAX,
                &made.bend_compliance) ||
        !number(at, "damping", in->damping(), 0.0f, 100.0f, &made.damping) ||
        !number(at, "thickness", in->thickness(), 0.0f, 1.0f, &made.thickness) ||
        !number(at, "friction", in->friction(), 0.0f, 10.0f, &made.friction)) {
        return false;
    }
    SoftLook look = {in->color(), in->color2(), in->roughness(), in->pattern()};
    return soft_mass(at, "size", -1.0f, density, &made) && soft_look(at, look, &made) &&
           pins(at, in->pins(), &made) && add_soft(at, made);
}

bool Builder::cloths(const Place &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "cloths", in->cloths(), SOFTS_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        Place here = {&at, "cloths", i};
        if (!cloth(here, in->cloths()->Get(i))) {
            return false;
        }
    }
    return true;
}

// ---- soft bodies -------------------------------------------------------------------------------

bool Builder::soft_place(const Place &at, const fb::Soft *in, SceneSoft *out)
{
    return name(at, "name", in->name(), out->name) &&
           vector(at, "position", in->position(), vec3_zero(), WORLD_EXTENT_MAX_M,
                  &out->position) &&
           orientation(at, in->orientation(), in->rotation(), &out->orientation) &&
           vector(at, "velocity", in->velocity(), vec3_zero(), SPEED_MAX_M_S, &out->velocity) &&
           vector(at, "spin", in->spin(), vec3_zero(), SPIN_MAX_RAD_S, &out->spin);
}

bool Builder::soft_method(const Place &at, const fb::Soft *in, SceneSoft *out)
{
    if (in->method() > fb::SoftMethod::MAX) {
        return fail(at, "method",
                    "unknown; one of xpbd, xpbd_iterations, pbd, euler, midpoint, "
                    "verlet, relax");
    }
    if (in->bend() > fb::SoftBend::MAX) {
        return fail(at, "bend", "unknown; one of none, distance, dihedral, isometric");
    }
    out->spring_damping = -1.0f;
    if (in->spring_damping() != -1.0f &&
        !number(at, "spring_damping", in->spring_damping(), 0.0f, 100.0f, &out->spring_damping)) {
        return false;
    }
    out->method = (SceneSoftMethod)in->method();
    out->bend = (SceneSoftBend)in->bend();
    out->tethers = in->tethers();
    if (!integer(at, "iterations", in->iterations(), 1, 1000, &out->iterations) ||
        !number(at, "stiffness", in->stiffness(), 0.0f, 1.0f, &out->stiffness) ||
        !compliance(at, "stretch_compliance", in->stretch_compliance(), &out->stretch_compliance) ||
        !compliance(at, "shear_compliance", in->shear_compliance(), &out->shear_compliance) ||
        !compliance(at, "bend_compliance", in->bend_compliance(), &out->bend_compliance) ||
        !compliance(at, "area_compliance", in->area_compliance(), &out->area_compliance) ||
        !compliance(at, "volume_compliance", in->volume_compliance(), &out->volume_compliance) ||
        !number(at, "stretch_min", in->stretch_min(), 0.0f, 1.0f, &out->stretch_min)) {
        return false;
    }
    if (in->stretch_max() != 0.0f &&
        !number(at, "stretch_max", in->stretch_max(), 1.0f, STRAIN_MAX, &out->stretch_max)) {
        return false;
    }
    return true;
}

// What acts on tetrahedra and whole bodies, and needs a mesh that has them.
bool Builder::soft_matter(const Place &at, const fb::Soft *in, SceneSoft *out)
{
    const SoftMesh &mesh = out_->soft_meshes[out->mesh];
    f32 kilopascals;
    if (in->volume() > fb::SoftVolume::MAX) {
        return fail(at, "volume", "unknown; one of gauss, box, ellipsoid");
    }
    if (in->match() > fb::SoftMatch::MAX) {
        return fail(at, "match", "unknown; one of none, rigid, linear, quadratic");
    }
    out->volume = (SceneSoftVolume)in->volume();
    out->match = (SceneSoftMatch)in->match();
    if (!number(at, "young", in->young(), 0.0f, 1e10f, &out->young) ||
        !number(at, "poisson", in->poisson(), 0.0f, 0.499f, &out->poisson) ||
        !number(at, "pressure", in->pressure(), 0.0f, 1000.0f, &kilopascals) ||
        !number(at, "inflate", in->inflate(), 0.0f, 3600.0f, &out->inflate_s) ||
        !number(at, "match_stiffness", in->match_stiffness(), 1e-6f, 1.0f, &out->match_stiffness) ||
        !number(at, "match_beta", in->match_beta(), 0.0f, 1.0f, &out->match_beta) ||
        !number(at, "yield", in->yield(), 0.0f, STRAIN_MAX, &out->yield) ||
        !number(at, "creep", in->creep(), 0.0f, 1000.0f, &out->creep) ||
        !number(at, "plastic_max", in->plastic_max(), 0.0f, STRAIN_MAX, &out->plastic_max)) {
        return false;
    }
    out->pressure = 1000.0f * kilopascals;
    if (mesh.tetrahedron_count == 0 && (out->young > 0.0f || out->volume_compliance >= 0.0f)) {
        return fail(at, out->young > 0.0f ? "young" : "volume_compliance",
                    "the shape has no tetrahedra; give it a resolution");
    }
    if (mesh.triangle_count == 0 && out->area_compliance >= 0.0f) {
        return fail(at, "area_compliance", "the shape has no triangles; leave it out");
    }
    if (out->pressure > 0.0f && !holds_gas(mesh)) {
        return fail(at, "pressure",
                    "the shape is not closed; only closed surfaces and rings hold a gas");
    }
    if (out->yield > 0.0f && out->match == SCENE_SOFT_MATCH_NONE) {
        return fail(at, "yield",
                    "only what is pulled back to its shape can keep dents; give match");
    }
    return true;
}

bool Builder::soft_contact(const Place &at, const fb::Soft *in, SceneSoft *out)
{
    out->self_collision = in->self_collision();
    // 0 is the engine's word for what is usual.
    return integer(at, "group", in->group(), 1, UINT32_MAX, &out->group) &&
           integer(at, "mask", in->mask(), 1, UINT32_MAX, &out->mask) &&
           number(at, "damping", in->damping(), 0.0f, 100.0f, &out->damping) &&
           number(at, "smoothing", in->smoothing(), 0.0f, 1000.0f, &out->smoothing) &&
           number(at, "thickness", in->thickness(), 0.0f, 1.0f, &out->thickness) &&
           number(at, "friction", in->friction(), 0.0f, 10.0f, &out->friction) &&
           number(at, "static_friction", in->static_friction(), 0.0f, 10.0f,
                  &out->static_friction) &&
           number(at, "contact_stiffness", in->contact_stiffness(), 0.0f, 1e9f,
                  &out->contact_stiffness) &&
           number(at, "rolling_resistance", in->rolling_resistance(), 0.0f, 1.0f,
                  &out->rolling_resistance);
}

bool Builder::soft_copies(const Place &at, const fb::Soft *in, const SceneSoft &first)
{
    std::vector<Copy> placed;
    u64 total;
    if (!repeat_count(at, in->repeat(), &total)) {
        return false;
    }
    if (total > SOFTS_MAX) {
        Place here = {&at, "repeat", -1};
        return fail(here, "count", "%llu copies; at most %d soft bodies in a scene",
                    (unsigned long long)total, SOFTS_MAX);
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

bool Builder::soft(const Place &at, const fb::Soft *in)
{
    SceneSoft made = {};
    SoftMesh *mesh;
    Place shape_at = {&at, "shape", -1};
    SoftLook look = {in->color(), in->color2(), in->roughness(), in->pattern()};
    if (!soft_place(at, in, &made) || !keep_soft_mesh(at, &made.mesh, &mesh) ||
        !soft_shape(shape_at, in->shape(), mesh) || !soft_method(at, in, &made) ||
        !soft_matter(at, in, &made) || !soft_contact(at, in, &made)) {
        return false;
    }
    if (in->mass() != -1.0f && in->density() != -1.0f) {
        return fail(at, "density", "given besides mass; give one of them");
    }
    const char *heavy = in->mass() != -1.0f ? "mass" : in->density() != -1.0f ? "density" : "shape";
    if (!soft_mass(at, heavy, in->mass(), in->density(), &made) || !soft_look(at, look, &made) ||
        !pins(at, in->pins(), &made)) {
        return false;
    }
    if (made.tethers && made.pin_count == 0) {
        return fail(at, "tethers", "nothing is pinned that they could lead to; give pins");
    }
    return in->repeat() != nullptr ? soft_copies(at, in, made) : add_soft(at, made);
}

bool Builder::softs(const Place &at, const fb::Scene *in)
{
    u32 total;
    if (!integer(at, "soft_steps", in->soft_steps(), 1, 16, &out_->soft_steps) ||
        !count(at, "softs", in->softs(), SOFTS_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        Place here = {&at, "softs", i};
        if (!soft(here, in->softs()->Get(i))) {
            return false;
        }
    }
    if (!allocate(&out_->softs, (u32)softs_.size()) || !allocate(&out_->pins, (u32)pins_.size()) ||
        !allocate(&out_->warnings, (u32)warnings_.size())) {
        return false;
    }
    out_->warning_count = (u32)warnings_.size();
    for (u32 i = 0; i < out_->warning_count; i++) {
        out_->warnings[i] = warnings_[i];
    }
    out_->soft_count = (u32)softs_.size();
    out_->pin_count = (u32)pins_.size();
    for (u32 i = 0; i < out_->soft_count; i++) {
        out_->softs[i] = softs_[i];
    }
    for (u32 i = 0; i < out_->pin_count; i++) {
        out_->pins[i] = pins_[i];
    }
    return true;
}

} // namespace plenum
