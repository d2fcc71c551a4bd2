// scene.cpp: FlatBuffers scene -> checked C structs. Everything here treats the buffer as data of a
// stranger: the verifier has seen its structure, this file sees every number, name and reference.
#include "protocol/scene.h"

#include "protocol/scene_json.h"
#include "protocol/text.h"
#include "scene_generated.h"
#include "shared/limits.h"
#include "shared/random.h"
#include "shared/trig.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <unordered_map>

namespace fb = plenum::scene;

namespace
{

enum {
    // A scene travels in one MESSAGE_WORLD with its entities: half of the message each.
    SCENE_BYTES_MAX = MESSAGE_BYTES_MAX / 2,
    SCENE_TABLES_MAX = 200000,
    SCENE_DEPTH_MAX = 16,
    CLOTHS_MAX = FIELDS_MAX - 8, // a world may give each its field, and needs some for itself
    CLOTH_EDGE_MAX = 1024,
    PINS_MAX = 65536,
};

constexpr f32 SIZE_MIN_M = 0.001f, SIZE_MAX_M = 1000.0f;
constexpr f32 MASS_MIN_KG = 1e-6f, MASS_MAX_KG = 1e9f;

// Where in the scene a value lies, as a chain on the stack: free until there is an error.
struct Place {
    const Place *up;
    const char *field; // nullptr: the root
    i64 index;         // in the field's vector, or −1
    std::string path() const
    {
        if (up == nullptr) {
            return std::string();
        }
        std::string text = up->path();
        text += (text.empty() ? "" : ".") + std::string(field);
        return index < 0 ? text : text + "[" + std::to_string(index) + "]";
    }
};

using Floats = flatbuffers::Vector<float>;
using Uints = flatbuffers::Vector<u32>;

class Builder
{
  public:
    Builder(Scene *scene, const char *name, const char *json, size_t json_bytes, ErrorText *error)
        : out_(scene), name_(name), json_(json), json_bytes_(json_bytes), error_(error)
    {
    }
    bool build(const fb::Scene *in);

  private:
    bool fail(const Place &at, const char *field, const char *format, ...) PL_PRINTF(4, 5);

    // ---- values: each checks and writes, or fails ----
    bool number(const Place &at, const char *field, f32 value, f32 min, f32 max, f32 *out);
    bool integer(const Place &at, const char *field, u32 value, u32 min, u32 max, u32 *out);
    bool floats(const Place &at, const char *field, const Floats *in, u32 count_min, u32 count_max,
                f32 min, f32 max, f32 *out);
    bool vector(const Place &at, const char *field, const Floats *in, Vec3 absent, f32 extent,
                Vec3 *out);
    bool uints(const Place &at, const char *field, const Uints *in, u32 count, u32 min, u32 max,
               u32 *out);
    bool name(const Place &at, const char *field, const flatbuffers::String *in, char *out);
    bool color(const Place &at, const char *field, const Floats *in, f32 out[4]);
    bool orientation(const Place &at, const Floats *quaternion, const Floats *degrees, Quat *out);
    bool unique(const Place &at, std::unordered_map<std::string, i32> *names, const char *text,
                i32 index);
    template <typename T>
    bool count(const Place &at, const char *field, const T *in, u32 max, u32 *out);

    // ---- parts ----
    bool world(const Place &at, const fb::Scene *in);
    bool materials(const Place &at, const fb::Scene *in);
    bool shape(const Place &at, const fb::Shape *in, Shape *out);
    bool appearance(const Place &at, const fb::Body *in, const fb::Material *material,
                    Appearance *out);
    bool mass(const Place &at, const fb::Body *in, const fb::Material *material, SceneBody *out);
    bool body(const Place &at, const fb::Body *in, SceneBody *out);
    bool repeat_layout(const Place &at, const fb::Repeat *in, u32 count[3], Vec3 *spacing);
    bool repeat_count(const Place &at, const fb::Body *in, u32 *copies);
    bool repeat(const Place &at, const fb::Body *in, const SceneBody &first, u32 *next);
    bool add_body(const Place &at, const SceneBody &body, u32 *next);
    bool bodies(const Place &at, const fb::Scene *in);
    bool pins(const Place &at, const fb::Cloth *in, SceneCloth *out);
    bool cloth(const Place &at, const fb::Cloth *in, SceneCloth *out);
    bool cloths(const Place &at, const fb::Scene *in);
    bool prefabs(const Place &at, const fb::Scene *in);
    bool probe(const Place &at, const fb::Probe *in, SceneProbe *out);
    bool probes(const Place &at, const fb::Scene *in);
    bool camera(const Place &at, const fb::Camera *in);
    bool sky(const Place &at, const fb::Sky *in);
    bool hands(const Place &at, const fb::Hands *in);

    template <typename T> bool allocate(T **array, u32 count)
    {
        *array = (T *)calloc(count > 0 ? count : 1, sizeof(T));
        if (*array == nullptr) {
            error_set(error_, ERROR_MEMORY, "%s: out of memory", name_);
        }
        return *array != nullptr;
    }

    Scene *out_;
    const char *name_;
    const char *json_;
    size_t json_bytes_;
    ErrorText *error_;
    std::unordered_map<std::string, const fb::Material *> materials_;
    std::unordered_map<std::string, i32> entities_; // body index, or −1 − cloth index
};

bool Builder::fail(const Place &at, const char *field, const char *format, ...)
{
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    std::string path = field != nullptr ? Place{&at, field, -1}.path() : at.path();
    if (json_ != nullptr) {
        u32 line = scene_json_line(json_, json_bytes_, path.c_str());
        error_set(error_, ERROR_RANGE, "%s:%u: %s: %s", name_, line, path.c_str(), what);
    } else {
        error_set(error_, ERROR_RANGE, "%s: %s: %s", name_, path.c_str(), what);
    }
    return false;
}

// ---- values ------------------------------------------------------------------------------------

bool Builder::number(const Place &at, const char *field, f32 value, f32 min, f32 max, f32 *out)
{
    // Written so that NaN fails too.
    if (!(value >= min && value <= max)) {
        return fail(at, field, "%g is out of range; give a number from %g to %g", (double)value,
                    (double)min, (double)max);
    }
    *out = value + 0.0f; // no −0: scenes are compared and hashed by bits
    return true;
}

bool Builder::integer(const Place &at, const char *field, u32 value, u32 min, u32 max, u32 *out)
{
    if (value < min || value > max) {
        return fail(at, field, "%u is out of range; give a whole number from %u to %u", value, min,
                    max);
    }
    *out = value;
    return true;
}

// `count_min` to `count_max` numbers; the vector must be there.
bool Builder::floats(const Place &at, const char *field, const Floats *in, u32 count_min,
                     u32 count_max, f32 min, f32 max, f32 *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size < count_min || size > count_max) {
        return count_min == count_max
                   ? fail(at, field, "has %u numbers; must have %u", size, count_min)
                   : fail(at, field, "has %u numbers; must have %u to %u", size, count_min,
                          count_max);
    }
    for (u32 i = 0; i < size; i++) {
        Place element = {&at, field, (i64)i};
        if (!number(element, nullptr, in->Get(i), min, max, &out[i])) {
            return false;
        }
    }
    return true;
}

bool Builder::vector(const Place &at, const char *field, const Floats *in, Vec3 absent, f32 extent,
                     Vec3 *out)
{
    if (in == nullptr) {
        *out = absent;
        return true;
    }
    f32 values[3];
    if (!floats(at, field, in, 3, 3, -extent, extent, values)) {
        return false;
    }
    *out = vec3(values[0], values[1], values[2]);
    return true;
}

bool Builder::uints(const Place &at, const char *field, const Uints *in, u32 count, u32 min,
                    u32 max, u32 *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size != count) {
        return fail(at, field, "has %u numbers; must have %u", size, count);
    }
    for (u32 i = 0; i < size; i++) {
        Place element = {&at, field, (i64)i};
        if (!integer(element, nullptr, in->Get(i), min, max, &out[i])) {
            return false;
        }
    }
    return true;
}

bool Builder::name(const Place &at, const char *field, const flatbuffers::String *in, char *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size == 0 || size >= NAME_BYTES_MAX) {
        return fail(at, field, "a name of %u bytes; must have 1 to %d", size, NAME_BYTES_MAX - 1);
    }
    if (!text_is_clean(in->c_str(), size)) {
        return fail(at, field, "not clean text; use UTF-8 without control characters");
    }
    memset(out, 0, NAME_BYTES_MAX);
    memcpy(out, in->c_str(), size);
    return true;
}

f32 linear_of_srgb(f32 s)
{
    return s <= 0.04045f ? s / 12.92f : trig_exp_f32(2.4f * trig_log_f32((s + 0.055f) / 1.055f));
}

// Absent: leaves `out` as it is.
bool Builder::color(const Place &at, const char *field, const Floats *in, f32 out[4])
{
    if (in == nullptr) {
        return true;
    }
    f32 values[4] = {0.0f, 0.0f, 0.0f, 1.0f};
    if (!floats(at, field, in, 3, 4, 0.0f, 1.0f, values)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        out[i] = f32_clamp(linear_of_srgb(values[i]), 0.0f, 1.0f);
    }
    out[3] = values[3];
    return true;
}

Quat quat_about(Vec3 axis, f32 degrees)
{
    f64 sine, cosine;
    trig_sincos((f64)degrees * (3.14159265358979323846 / 360.0), &sine, &cosine);
    f32 s = (f32)sine;
    return Quat{(f32)cosine, axis.x * s, axis.y * s, axis.z * s};
}

bool Builder::orientation(const Place &at, const Floats *quaternion, const Floats *degrees,
                          Quat *out)
{
    *out = quat_identity();
    if (quaternion != nullptr && degrees != nullptr) {
        return fail(at, "rotation", "given besides orientation; give one of them");
    }
    f32 q[4], angle[3];
    if (quaternion != nullptr) {
        if (!floats(at, "orientation", quaternion, 4, 4, -1.001f, 1.001f, q)) {
            return false;
        }
        Quat given = {q[0], q[1], q[2], q[3]};
        f32 length = sqrtf(quat_dot(given, given));
        if (!(fabsf(length - 1.0f) < 1e-2f)) {
            return fail(at, "orientation", "has length %g; must be a unit quaternion [w, x, y, z]",
                        (double)length);
        }
        *out = quat_normalize(given);
    } else if (degrees != nullptr) {
        if (!floats(at, "rotation", degrees, 3, 3, -360.0f, 360.0f, angle)) {
            return false;
        }
        Quat x = quat_about(vec3(1.0f, 0.0f, 0.0f), angle[0]);
        Quat y = quat_about(vec3(0.0f, 1.0f, 0.0f), angle[1]);
        Quat z = quat_about(vec3(0.0f, 0.0f, 1.0f), angle[2]);
        *out = quat_normalize(quat_mul(z, quat_mul(y, x)));
    }
    return true;
}

bool Builder::unique(const Place &at, std::unordered_map<std::string, i32> *names, const char *text,
                     i32 index)
{
    return names->emplace(text, index).second ||
           fail(at, "name", "\"%s\" is taken; names must be unique", text);
}

template <typename T>
bool Builder::count(const Place &at, const char *field, const T *in, u32 max, u32 *out)
{
    *out = in != nullptr ? in->size() : 0;
    return *out <= max || fail(at, field, "%u of them; at most %u are possible", *out, max);
}

// ---- the world ---------------------------------------------------------------------------------

bool Builder::world(const Place &at, const fb::Scene *in)
{
    const flatbuffers::String *text = in->description();
    u32 size = text != nullptr ? text->size() : 0;
    if (size >= TEXT_BYTES_MAX || (size > 0 && !text_is_clean(text->c_str(), size))) {
        return fail(at, "description", "must be clean UTF-8 of at most %d bytes, on one line",
                    TEXT_BYTES_MAX - 1);
    }
    if (size > 0) {
        memcpy(out_->description, text->c_str(), size);
    }
    out_->seed = in->seed();
    f32 bounds[6] = {-128.0f, -32.0f, -128.0f, 128.0f, 128.0f, 128.0f};
    if (!name(at, "name", in->name(), out_->name) ||
        !integer(at, "tick_rate", in->tick_rate(), TICK_RATE_MIN, TICK_RATE_MAX,
                 &out_->tick_rate) ||
        !integer(at, "substeps", in->substeps(), 1, SUBSTEPS_MAX, &out_->substeps) ||
        !vector(at, "gravity", in->gravity(), vec3(0.0f, -9.81f, 0.0f), 1000.0f, &out_->gravity) ||
        !vector(at, "wind", in->wind(), vec3_zero(), 200.0f, &out_->wind) ||
        !number(at, "quantum", in->quantum(), 1.0f / 16384.0f, 1.0f, &out_->quantum) ||
        !integer(at, "spare_bodies", in->spare_bodies(), 0, BODIES_MAX, &out_->spare_bodies)) {
        return false;
    }
    if (in->bounds() != nullptr && !floats(at, "bounds", in->bounds(), 6, 6, -WORLD_EXTENT_MAX_M,
                                           WORLD_EXTENT_MAX_M, bounds)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (!(bounds[i + 3] - bounds[i] >= 1.0f)) {
            return fail(at, "bounds",
                        "[%g .. %g] along %c; give [x0, y0, z0, x1, y1, z1] with at "
                        "least 1 m between",
                        (double)bounds[i], (double)bounds[i + 3], "xyz"[i]);
        }
    }
    out_->bounds.min = vec3(bounds[0], bounds[1], bounds[2]);
    out_->bounds.max = vec3(bounds[3], bounds[4], bounds[5]);
    return true;
}

bool Builder::materials(const Place &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "materials", in->materials(), MATERIALS_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        const fb::Material *material = in->materials()->Get(i);
        Place here = {&at, "materials", i};
        char text[NAME_BYTES_MAX];
        f32 checked[4];
        if (!name(here, "name", material->name(), text) ||
            !number(here, "density", material->density(), 0.01f, 1e5f, checked) ||
            !number(here, "friction", material->friction(), 0.0f, 10.0f, checked) ||
            !number(here, "restitution", material->restitution(), 0.0f, 1.0f, checked) ||
            !number(here, "rolling", material->rolling(), 0.0f, 10.0f, checked) ||
            !number(here, "roughness", material->roughness(), 0.0f, 1.0f, checked) ||
            !color(here, "color", material->color(), checked) ||
            !color(here, "color2", material->color2(), checked)) {
            return false;
        }
        if (material->pattern() > fb::Pattern::MAX) {
            return fail(here, "pattern", "unknown pattern; one of plain, checker, stripes");
        }
        if (!materials_.emplace(text, material).second) {
            return fail(here, "name", "\"%s\" is taken; names must be unique", text);
        }
    }
    return true;
}

// ---- bodies ------------------------------------------------------------------------------------

bool Builder::shape(const Place &at, const fb::Shape *in, Shape *out)
{
    *out = Shape{};
    fb::ShapeKind kind = in->kind();
    if (kind == fb::ShapeKind::none || kind > fb::ShapeKind::MAX) {
        return fail(at, "kind", "missing or unknown; one of sphere, box, capsule, plane");
    }
    out->kind = (ShapeKind)kind;
    bool round = out->kind == SHAPE_SPHERE || out->kind == SHAPE_CAPSULE;
    bool box = out->kind == SHAPE_BOX;
    const char *text = shape_kind_name(out->kind);
    if (!round && in->radius() != 0.0f) {
        return fail(at, "radius", "a %s has none; leave it out", text);
    }
    if (out->kind != SHAPE_CAPSULE && in->half_height() != 0.0f) {
        return fail(at, "half_height", "a %s has none; leave it out", text);
    }
    if (!box && in->half() != nullptr) {
        return fail(at, "half", "a %s has none; leave it out", text);
    }
    f32 half[3] = {0.0f, 0.0f, 0.0f};
    if (round && !number(at, "radius", in->radius(), SIZE_MIN_M, SIZE_MAX_M, &out->radius)) {
        return false;
    }
    if (out->kind == SHAPE_CAPSULE &&
        !number(at, "half_height", in->half_height(), SIZE_MIN_M, SIZE_MAX_M, &out->half_height)) {
        return false;
    }
    if (box && !floats(at, "half", in->half(), 3, 3, SIZE_MIN_M, SIZE_MAX_M, half)) {
        return false;
    }
    out->half = vec3(half[0], half[1], half[2]);
    return true;
}

void default_look(Appearance *out, AppearanceKind kind)
{
    static const f32 front[4] = {0.52f, 0.52f, 0.55f, 1.0f};
    *out = Appearance{};
    out->kind = kind;
    out->roughness = 0.6f;
    memcpy(out->color, front, sizeof front);
    out->color2[3] = -1.0f; // not given yet
}

// A second colour that nobody chose is a darker tone of the first.
void finish_look(Appearance *out)
{
    if (out->color2[3] < 0.0f) {
        for (int i = 0; i < 3; i++) {
            out->color2[i] = out->color[i] * 0.55f;
        }
        out->color2[3] = out->color[3];
    }
}

bool Builder::appearance(const Place &at, const fb::Body *in, const fb::Material *material,
                         Appearance *out)
{
    default_look(out, APPEARANCE_SHAPE);
    if (material != nullptr) {
        out->pattern = (Pattern)material->pattern();
        out->roughness = material->roughness();
        if (!color(at, "material", material->color(), out->color) ||
            !color(at, "material", material->color2(), out->color2)) {
            return false;
        }
    }
    if (!color(at, "color", in->color(), out->color)) {
        return false;
    }
    finish_look(out);
    return true;
}

bool Builder::mass(const Place &at, const fb::Body *in, const fb::Material *material,
                   SceneBody *out)
{
    out->mass_kg = 0.0f;
    bool given = in->mass() != -1.0f;
    if (out->motion != MOTION_DYNAMIC) {
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
        return fail(at, "shape", "weighs %g kg at %g kg/m^3; must weigh from %g to %g kg",
                    (double)kg, (double)density, (double)MASS_MIN_KG, (double)MASS_MAX_KG);
    }
    out->mass_kg = kg;
    return true;
}

bool Builder::body(const Place &at, const fb::Body *in, SceneBody *out)
{
    *out = SceneBody{};
    if (in->motion() > fb::Motion::MAX) {
        return fail(at, "motion", "unknown; one of dynamic, static, kinematic");
    }
    out->motion = (Motion)in->motion();
    out->asleep = in->asleep();
    const fb::Material *material = nullptr;
    if (in->material() != nullptr) {
        auto found = materials_.find(in->material()->str());
        if (found == materials_.end()) {
            char wanted[NAME_BYTES_MAX];
            return name(at, "material", in->material(), wanted) &&
                   fail(at, "material", "no material \"%s\"; add it to materials", wanted);
        }
        material = found->second;
    }
    Place shape_at = {&at, "shape", -1};
    if (!name(at, "name", in->name(), out->name) || !shape(shape_at, in->shape(), &out->shape)) {
        return false;
    }
    if (out->shape.kind == SHAPE_PLANE && out->motion != MOTION_STATIC) {
        return fail(at, "motion", "a plane cannot move; give \"motion\": \"static\"");
    }
    out->rolling = material != nullptr ? material->rolling() : 0.0f;
    f32 friction = in->friction() != -1.0f ? in->friction()
                   : material != nullptr   ? material->friction()
                                           : 0.6f;
    f32 restitution = in->restitution() != -1.0f ? in->restitution()
                      : material != nullptr      ? material->restitution()
                                                 : 0.0f;
    if (!vector(at, "position", in->position(), vec3_zero(), WORLD_EXTENT_MAX_M, &out->position) ||
        !orientation(at, in->orientation(), in->rotation(), &out->orientation) ||
        !vector(at, "velocity", in->velocity(), vec3_zero(), SPEED_MAX_M_S, &out->velocity) ||
        !vector(at, "spin", in->spin(), vec3_zero(), SPIN_MAX_RAD_S, &out->spin) ||
        !number(at, "friction", friction, 0.0f, 10.0f, &out->friction) ||
        !number(at, "restitution", restitution, 0.0f, 1.0f, &out->restitution) ||
        !number(at, "gravity_scale", in->gravity_scale(), -100.0f, 100.0f, &out->gravity_scale) ||
        !mass(at, in, material, out) || !appearance(at, in, material, &out->look)) {
        return false;
    }
    out->look.shape = out->shape;
    bool moving =
        vec3_length_squared(out->velocity) > 0.0f || vec3_length_squared(out->spin) > 0.0f;
    if (moving && out->motion == MOTION_STATIC) {
        return fail(at, in->velocity() != nullptr ? "velocity" : "spin",
                    "a static body cannot move; leave it out or give \"motion\": \"kinematic\"");
    }
    return true;
}

bool Builder::repeat_layout(const Place &at, const fb::Repeat *in, u32 counts[3], Vec3 *spacing)
{
    Place here = {&at, "repeat", -1};
    f32 steps[3], checked;
    if (!uints(here, "count", in->count(), 3, 1, BODIES_MAX, counts) ||
        !floats(here, "spacing", in->spacing(), 3, 3, -SIZE_MAX_M, SIZE_MAX_M, steps) ||
        !number(here, "stagger", in->stagger(), -SIZE_MAX_M, SIZE_MAX_M, &checked) ||
        !number(here, "jitter", in->jitter(), 0.0f, 10.0f, &checked)) {
        return false;
    }
    *spacing = vec3(steps[0], steps[1], steps[2]);
    return true;
}

// Copies along x or z in layer j.
u32 layer_count(u32 count, u32 j, bool stairs)
{
    return !stairs ? count : count > j ? count - j : 0;
}

bool Builder::repeat_count(const Place &at, const fb::Body *in, u32 *copies)
{
    *copies = 1;
    const fb::Repeat *repeat = in->repeat();
    if (repeat == nullptr) {
        return true;
    }
    u32 n[3];
    Vec3 spacing;
    if (!repeat_layout(at, repeat, n, &spacing)) {
        return false;
    }
    u64 total = 0;
    for (u32 j = 0; j < n[1] && total <= BODIES_MAX; j++) {
        u64 along_z = n[2] > 1 ? layer_count(n[2], j, repeat->stairs()) : 1;
        total += layer_count(n[0], j, repeat->stairs()) * along_z;
    }
    if (total > BODIES_MAX) {
        Place here = {&at, "repeat", -1};
        return fail(here, "count", "more than %d copies; a world holds at most %d bodies",
                    BODIES_MAX, BODIES_MAX);
    }
    *copies = (u32)total;
    return true;
}

bool inside(const Bounds &bounds, Vec3 p)
{
    return p.x >= bounds.min.x && p.y >= bounds.min.y && p.z >= bounds.min.z &&
           p.x <= bounds.max.x && p.y <= bounds.max.y && p.z <= bounds.max.z;
}

bool Builder::add_body(const Place &at, const SceneBody &given, u32 *next)
{
    if (given.motion == MOTION_DYNAMIC && !inside(out_->bounds, given.position)) {
        return fail(at, "position", "[%g, %g, %g] of \"%s\" is outside the scene's bounds",
                    (double)given.position.x, (double)given.position.y, (double)given.position.z,
                    given.name);
    }
    if (!unique(at, &entities_, given.name, (i32)*next)) {
        return false;
    }
    out_->bodies[(*next)++] = given;
    return true;
}

bool Builder::repeat(const Place &at, const fb::Body *in, const SceneBody &first, u32 *next)
{
    const fb::Repeat *repeat = in->repeat();
    u32 n[3], made = 0;
    Vec3 spacing;
    if (!repeat_layout(at, repeat, n, &spacing)) {
        return false;
    }
    for (u32 j = 0; j < n[1]; j++) {
        bool stairs = repeat->stairs();
        u32 nx = layer_count(n[0], j, stairs);
        u32 nz = n[2] > 1 ? layer_count(n[2], j, stairs) : 1;
        f32 x =
            (j % 2 == 1 ? repeat->stagger() : 0.0f) + (stairs ? 0.5f * spacing.x * (f32)j : 0.0f);
        f32 z = stairs && n[2] > 1 ? 0.5f * spacing.z * (f32)j : 0.0f;
        for (u32 k = 0; k < nz; k++) {
            for (u32 i = 0; i < nx; i++) {
                SceneBody copy = first;
                int length = snprintf(copy.name, sizeof copy.name, "%s-%u", first.name, ++made);
                if (length >= (int)sizeof copy.name) {
                    return fail(at, "name", "too long with \"-%u\" behind it; at most %d bytes",
                                made, NAME_BYTES_MAX - 1);
                }
                u64 counter = (u64)*next * 2;
                f32 jitter = repeat->jitter();
                Vec3 offset = vec3(x + spacing.x * (f32)i +
                                       random_range(out_->seed, counter, -jitter, jitter),
                                   spacing.y * (f32)j,
                                   z + spacing.z * (f32)k +
                                       random_range(out_->seed, counter + 1, -jitter, jitter));
                copy.position = vec3_add(first.position, offset);
                if (!add_body(at, copy, next)) {
                    return false;
                }
            }
        }
    }
    return true;
}

bool Builder::bodies(const Place &at, const fb::Scene *in)
{
    u32 listed, next = 0;
    u64 total = 0;
    if (!count(at, "bodies", in->bodies(), BODIES_MAX, &listed)) {
        return false;
    }
    for (u32 i = 0; i < listed; i++) {
        Place here = {&at, "bodies", i};
        u32 copies;
        if (!repeat_count(here, in->bodies()->Get(i), &copies)) {
            return false;
        }
        total += copies;
    }
    if (total + out_->spare_bodies > BODIES_MAX) {
        return fail(at, "bodies", "%llu bodies and %u spare_bodies; at most %d together",
                    (unsigned long long)total, out_->spare_bodies, BODIES_MAX);
    }
    if (!allocate(&out_->bodies, (u32)total)) {
        return false;
    }
    for (u32 i = 0; i < listed; i++) {
        Place here = {&at, "bodies", i};
        const fb::Body *given = in->bodies()->Get(i);
        SceneBody first;
        if (!body(here, given, &first)) {
            return false;
        }
        bool added = given->repeat() != nullptr ? repeat(here, given, first, &next)
                                                : add_body(here, first, &next);
        if (!added) {
            return false;
        }
        out_->body_count = next;
    }
    return true;
}

// ---- cloths ------------------------------------------------------------------------------------

bool Builder::pins(const Place &at, const fb::Cloth *in, SceneCloth *out)
{
    u32 total;
    if (!count(at, "pins", in->pins(), PINS_MAX, &total) || !allocate(&out->pins, total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        const fb::Pin *pin = in->pins()->Get(i);
        Place here = {&at, "pins", i};
        u32 point[2];
        if (!uints(here, "point", pin->point(), 2, 0, CLOTH_EDGE_MAX, point)) {
            return false;
        }
        if (point[0] >= out->columns || point[1] >= out->rows) {
            return fail(here, "point", "[%u, %u] is not of this cloth; at most [%u, %u]", point[0],
                        point[1], out->columns - 1, out->rows - 1);
        }
        out->pins[i].point = point[1] * out->columns + point[0];
        out->pins[i].body = -1;
        if (pin->body() != nullptr) {
            char wanted[NAME_BYTES_MAX];
            if (!name(here, "body", pin->body(), wanted)) {
                return false;
            }
            auto found = entities_.find(wanted);
            if (found == entities_.end() || found->second < 0) {
                return fail(here, "body", "no body \"%s\"; name one of bodies", wanted);
            }
            out->pins[i].body = found->second;
        }
    }
    out->pin_count = total;
    return true;
}

bool Builder::cloth(const Place &at, const fb::Cloth *in, SceneCloth *out)
{
    u32 points[2];
    default_look(&out->look, APPEARANCE_CLOTH);
    if (!name(at, "name", in->name(), out->name) ||
        !uints(at, "points", in->points(), 2, 2, CLOTH_EDGE_MAX, points) ||
        !floats(at, "size", in->size(), 2, 2, 0.01f, SIZE_MAX_M, out->size) ||
        !vector(at, "position", in->position(), vec3_zero(), WORLD_EXTENT_MAX_M, &out->position) ||
        !orientation(at, in->orientation(), in->rotation(), &out->orientation) ||
        !number(at, "area_density", in->area_density(), 0.001f, 1000.0f, &out->area_density) ||
        !number(at, "stretch_compliance", in->stretch_compliance(), 0.0f, 1.0f,
                &out->stretch_compliance) ||
        !number(at, "shear_compliance", in->shear_compliance(), 0.0f, 1.0f,
                &out->shear_compliance) ||
        !number(at, "bend_compliance", in->bend_compliance(), 0.0f, 1e6f, &out->bend_compliance) ||
        !number(at, "damping", in->damping(), 0.0f, 100.0f, &out->damping) ||
        !number(at, "thickness", in->thickness(), 0.0f, 1.0f, &out->thickness) ||
        !number(at, "friction", in->friction(), 0.0f, 10.0f, &out->friction) ||
        !number(at, "roughness", in->roughness(), 0.0f, 1.0f, &out->look.roughness) ||
        !color(at, "color", in->color(), out->look.color) ||
        !color(at, "color2", in->color2(), out->look.color2)) {
        return false;
    }
    if (in->pattern() > fb::Pattern::MAX) {
        return fail(at, "pattern", "unknown pattern; one of plain, checker, stripes");
    }
    if (!inside(out_->bounds, out->position)) {
        return fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                    (double)out->position.x, (double)out->position.y, (double)out->position.z);
    }
    finish_look(&out->look);
    out->columns = points[0];
    out->rows = points[1];
    out->look.pattern = (Pattern)in->pattern();
    out->look.radius = out->thickness;
    out->look.grid[0] = points[0];
    out->look.grid[1] = points[1];
    return pins(at, in, out);
}

bool Builder::cloths(const Place &at, const fb::Scene *in)
{
    u32 total, points = 0;
    if (!count(at, "cloths", in->cloths(), CLOTHS_MAX, &total) || !allocate(&out_->cloths, total)) {
        return false;
    }
    out_->cloth_count = total;
    for (u32 i = 0; i < total; i++) {
        Place here = {&at, "cloths", i};
        SceneCloth *made = &out_->cloths[i];
        if (!cloth(here, in->cloths()->Get(i), made) ||
            !unique(here, &entities_, made->name, -1 - (i32)i)) {
            return false;
        }
        points += made->columns * made->rows; // at most CLOTHS_MAX · 2^20 < 2^32
        if (points > PARTICLES_MAX) {
            return fail(here, "points", "%u points with the cloths before; at most %d", points,
                        PARTICLES_MAX);
        }
    }
    return true;
}

// ---- prefabs, probes, what surrounds the world -----------------------------------------------

bool Builder::prefabs(const Place &at, const fb::Scene *in)
{
    u32 total;
    std::unordered_map<std::string, i32> names;
    if (!count(at, "prefabs", in->prefabs(), PREFABS_MAX, &total) ||
        !allocate(&out_->prefabs, total)) {
        return false;
    }
    out_->prefab_count = total;
    for (u32 i = 0; i < total; i++) {
        Place here = {&at, "prefabs", i};
        Place body_at = {&here, "body", -1};
        const fb::Prefab *given = in->prefabs()->Get(i);
        ScenePrefab *made = &out_->prefabs[i];
        if (!name(here, "name", given->name(), made->name) ||
            !unique(here, &names, made->name, (i32)i) ||
            !body(body_at, given->body(), &made->body)) {
            return false;
        }
        if (given->body()->repeat() != nullptr) {
            return fail(body_at, "repeat", "a prefab is one body; leave it out");
        }
        if (made->body.motion != MOTION_DYNAMIC) {
            return fail(body_at, "motion", "clients spawn only dynamic bodies; leave it out");
        }
    }
    return true;
}

bool kind_needs_entity(ProbeKind kind)
{
    return kind == PROBE_HEIGHT || kind == PROBE_SPEED || kind == PROBE_STRETCH;
}

bool Builder::probe(const Place &at, const fb::Probe *in, SceneProbe *out)
{
    if (!name(at, "name", in->name(), out->name)) {
        return false;
    }
    out->body = out->cloth = -1;
    std::string kinds;
    for (int kind = 1; kind < PROBE_KIND_COUNT; kind++) {
        const char *text = probe_kind_name((ProbeKind)kind);
        kinds += (kinds.empty() ? "" : ", ") + std::string(text);
        if (in->kind()->str() == text) {
            out->kind = (ProbeKind)kind;
        }
    }
    if (out->kind == 0) {
        return fail(at, "kind", "unknown; one of %s", kinds.c_str());
    }
    if (!kind_needs_entity(out->kind)) {
        return in->of() == nullptr ||
               fail(at, "of", "%s is of the whole world; leave it out", probe_kind_name(out->kind));
    }
    if (in->of() == nullptr) {
        return fail(at, "of", "missing; %s needs the name of an entity",
                    probe_kind_name(out->kind));
    }
    if (!name(at, "of", in->of(), out->of)) {
        return false;
    }
    auto found = entities_.find(out->of);
    if (found == entities_.end()) {
        return fail(at, "of", "no entity \"%s\"; name a body or a cloth", out->of);
    }
    out->body = found->second >= 0 ? found->second : -1;
    out->cloth = found->second < 0 ? -1 - found->second : -1;
    return out->kind != PROBE_STRETCH || out->cloth >= 0 ||
           fail(at, "of", "\"%s\" is a body; stretch is of a cloth", out->of);
}

bool Builder::probes(const Place &at, const fb::Scene *in)
{
    u32 total;
    std::unordered_map<std::string, i32> names;
    if (!count(at, "probes", in->probes(), PROBES_MAX, &total) || !allocate(&out_->probes, total)) {
        return false;
    }
    out_->probe_count = total;
    for (u32 i = 0; i < total; i++) {
        Place here = {&at, "probes", i};
        if (!probe(here, in->probes()->Get(i), &out_->probes[i]) ||
            !unique(here, &names, out_->probes[i].name, (i32)i)) {
            return false;
        }
    }
    return true;
}

bool Builder::camera(const Place &root, const fb::Camera *in)
{
    SceneCamera *out = &out_->camera;
    *out = SceneCamera{{8.0f, 5.0f, 12.0f}, {0.0f, 1.0f, 0.0f}, 50.0f};
    if (in == nullptr) {
        return true;
    }
    Place at = {&root, "camera", -1};
    if (!vector(at, "eye", in->eye(), out->eye, WORLD_EXTENT_MAX_M, &out->eye) ||
        !vector(at, "target", in->target(), out->target, WORLD_EXTENT_MAX_M, &out->target) ||
        !number(at, "fov_degrees", in->fov_degrees(), 5.0f, 150.0f, &out->fov_degrees)) {
        return false;
    }
    return vec3_distance(out->eye, out->target) > 1e-3f ||
           fail(at, "target", "is where the eye is; give the point to look at");
}

bool Builder::sky(const Place &root, const fb::Sky *in)
{
    SceneSky *out = &out_->sky;
    f32 top[4] = {0.13f, 0.29f, 0.60f, 1.0f}, horizon[4] = {0.60f, 0.72f, 0.85f, 1.0f};
    Vec3 sun = vec3(0.45f, 0.8f, 0.35f);
    if (in != nullptr) {
        Place at = {&root, "sky", -1};
        if (!color(at, "top", in->top(), top) || !color(at, "horizon", in->horizon(), horizon) ||
            !vector(at, "sun", in->sun(), sun, 1e6f, &sun) ||
            !number(at, "fog_m", in->fog_m(), 0.0f, 1e6f, &out->fog_m)) {
            return false;
        }
        if (!(vec3_length(sun) > 1e-3f)) {
            return fail(at, "sun", "has no direction; give a vector towards the sun");
        }
    }
    memcpy(out->top, top, sizeof out->top);
    memcpy(out->horizon, horizon, sizeof out->horizon);
    out->sun = vec3_normalize_or(sun, vec3(0.0f, 1.0f, 0.0f));
    return true;
}

bool Builder::hands(const Place &root, const fb::Hands *in)
{
    SceneHands *out = &out_->hands;
    *out = SceneHands{2000.0f, 100.0f, 5.0f, 1.0f, 50.0f, 200};
    if (in == nullptr) {
        return true;
    }
    Place at = {&root, "hands", -1};
    return number(at, "force_max", in->force_max(), 0.0f, 1e9f, &out->force_max) &&
           number(at, "reach", in->reach(), 0.1f, 1e5f, &out->reach) &&
           number(at, "frequency", in->frequency(), 0.1f, 30.0f, &out->frequency) &&
           number(at, "damping", in->damping(), 0.0f, 10.0f, &out->damping) &&
           number(at, "impulse_max", in->impulse_max(), 0.0f, 1e9f, &out->impulse_max) &&
           integer(at, "spawn_max", in->spawn_max(), 0, BODIES_MAX, &out->spawn_max);
}

bool Builder::build(const fb::Scene *in)
{
    Place root = {nullptr, nullptr, -1};
    return world(root, in) && materials(root, in) && bodies(root, in) && cloths(root, in) &&
           prefabs(root, in) && probes(root, in) && camera(root, in->camera()) &&
           sky(root, in->sky()) && hands(root, in->hands());
}

// Takes over `bytes` (malloc), whatever happens. `json` may be nullptr.
Scene *build_scene(u8 *bytes, u32 byte_count, const char *name, const char *json, size_t json_bytes,
                   ErrorText *error)
{
    Scene *scene = (Scene *)calloc(1, sizeof *scene);
    if (scene == nullptr) {
        free(bytes);
        error_set(error, ERROR_MEMORY, "%s: out of memory", name);
        return nullptr;
    }
    scene->bytes = bytes;
    scene->byte_count = byte_count;
    bool built = false;
    if (byte_count > SCENE_BYTES_MAX) {
        error_set(error, ERROR_LIMIT, "%s: scene: %u bytes once packed; at most %d", name,
                  byte_count, SCENE_BYTES_MAX);
    } else {
        flatbuffers::Verifier verifier(bytes, byte_count, SCENE_DEPTH_MAX, SCENE_TABLES_MAX);
        if (!fb::VerifySceneBuffer(verifier)) {
            error_set(error, ERROR_FORMAT, "%s: scene: not well-formed scene bytes", name);
        } else {
            try {
                Builder builder(scene, name, json, json_bytes, error);
                built = builder.build(fb::GetScene(bytes));
            } catch (const std::bad_alloc &) {
                error_set(error, ERROR_MEMORY, "%s: out of memory", name);
            }
        }
    }
    if (!built) {
        scene_destroy(scene);
        return nullptr;
    }
    return scene;
}

// The whole file, or nullptr with an error.
char *read_file(const char *path, size_t *bytes, ErrorText *error)
{
    FILE *file = fopen(path, "rb");
    if (file == nullptr) {
        error_set(error, ERROR_NOT_FOUND, "%s: cannot open: %m", path);
        return nullptr;
    }
    size_t room = 1 << 16, used = 0;
    char *text = (char *)malloc(room);
    while (text != nullptr) {
        used += fread(text + used, 1, room - used, file);
        if (used < room || used > SCENE_FILE_BYTES_MAX) {
            break;
        }
        room *= 2;
        char *bigger = (char *)realloc(text, room);
        if (bigger == nullptr) {
            free(text);
        }
        text = bigger;
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    if (text == nullptr) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    } else if (failed || used > SCENE_FILE_BYTES_MAX) {
        free(text);
        text = nullptr;
        error_set(error, failed ? ERROR_IO : ERROR_LIMIT,
                  failed ? "%s: cannot read: %m" : "%s: too big; a scene file has at most %d bytes",
                  path, SCENE_FILE_BYTES_MAX);
    }
    *bytes = used;
    return text;
}

} // namespace

extern "C" Scene *scene_load(const char *path, ErrorText *error)
{
    size_t bytes = 0;
    char *text = read_file(path, &bytes, error);
    if (text == nullptr) {
        return nullptr;
    }
    Scene *scene = scene_parse(text, bytes, path, error);
    free(text);
    return scene;
}

extern "C" Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error)
{
    if (bytes > SCENE_FILE_BYTES_MAX) {
        error_set(error, ERROR_LIMIT, "%s: too big; a scene has at most %d bytes", name,
                  SCENE_FILE_BYTES_MAX);
        return nullptr;
    }
    u32 encoded_bytes = 0;
    u8 *encoded = scene_json_encode(json, bytes, name, &encoded_bytes, error);
    if (encoded == nullptr) {
        return nullptr;
    }
    return build_scene(encoded, encoded_bytes, name, json, bytes, error);
}

extern "C" Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error)
{
    u8 *copy = byte_count <= SCENE_BYTES_MAX ? (u8 *)malloc(byte_count + 1) : nullptr;
    if (copy == nullptr) {
        error_set(error, ERROR_LIMIT, "scene: %u bytes are too many; at most %d", byte_count,
                  SCENE_BYTES_MAX);
        return nullptr;
    }
    if (byte_count > 0) {
        memcpy(copy, bytes, byte_count);
    }
    return build_scene(copy, byte_count, "scene", nullptr, 0, error);
}

extern "C" void scene_destroy(Scene *scene)
{
    if (scene == nullptr) {
        return;
    }
    for (u32 i = 0; i < scene->cloth_count; i++) {
        free(scene->cloths[i].pins);
    }
    free(scene->bodies);
    free(scene->cloths);
    free(scene->prefabs);
    free(scene->probes);
    free(scene->bytes);
    free(scene);
}

struct ProbeName {
    const char *name, *unit;
};
static const ProbeName probe_names[PROBE_KIND_COUNT] = {
    {"none", ""},           {"kinetic_energy", "J"}, {"potential_energy", "J"},
    {"momentum", "kg m/s"}, {"height", "m"},         {"speed", "m/s"},
    {"penetration", "m"},   {"awake", ""},           {"stretch", "1"},
};

extern "C" const char *probe_kind_name(ProbeKind kind)
{
    return probe_names[(u32)kind < PROBE_KIND_COUNT ? kind : 0].name;
}

extern "C" const char *probe_kind_unit(ProbeKind kind)
{
    return probe_names[(u32)kind < PROBE_KIND_COUNT ? kind : 0].unit;
}
