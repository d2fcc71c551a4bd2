// scene_values.cpp: single values of a scene: each is checked and written, or refused with its
// location.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/math/trig.h"

namespace plenum
{

void Builder::place_text(const JsonPath &at, const char *field, const char *what, ErrorText *out)
{
    std::string path = field != nullptr ? JsonPath{&at, field, -1}.path() : at.path();
    if (text_ != nullptr) {
        u32 line = text_->line(text_->json, text_->bytes, path.c_str());
        error_set(out, ERROR_RANGE, "%s:%u: %s: %s", name_, line, path.c_str(), what);
    } else {
        error_set(out, ERROR_RANGE, "%s: %s: %s", name_, path.c_str(), what);
    }
}

bool Builder::fail(const JsonPath &at, const char *field, const char *format, ...)
{
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    place_text(at, field, what, error_);
    return false;
}

void Builder::warn(const JsonPath &at, const char *field, const char *format, ...)
{
    if (warnings_.size() >= SCENE_WARNINGS_MAX) {
        return;
    }
    char what[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    ErrorText text = {};
    place_text(at, field, what, &text);
    warnings_.push_back(text);
}

bool Builder::number(const JsonPath &at, const char *field, f32 value, f32 min, f32 max, f32 *out)
{
    // Written so that NaN fails too.
    if (!(value >= min && value <= max)) {
        return fail(at, field, "%g is out of range; give a number from %g to %g", (double)value,
                    (double)min, (double)max);
    }
    *out = value + 0.0f; // no −0: scenes are compared and hashed by bits
    return true;
}

bool Builder::stop_time(const JsonPath &at, f32 value, f32 start_s, f32 *out)
{
    *out = -1.0f;
    return value == -1.0f || number(at, "stop", value, start_s, 1e6f, out);
}

bool Builder::integer(const JsonPath &at, const char *field, u32 value, u32 min, u32 max, u32 *out)
{
    if (value < min || value > max) {
        return fail(at, field, "%u is out of range; give a whole number from %u to %u", value, min,
                    max);
    }
    *out = value;
    return true;
}

bool Builder::choice(const JsonPath &at, const char *field, u32 value, const char *const *names,
                     u32 first, u32 count)
{
    if (value >= first && value < count) {
        return true;
    }
    std::string all;
    for (u32 i = first; i < count; i++) {
        all += (i == first ? "" : ", ") + std::string(names[i]);
    }
    return fail(at, field, "%sunknown; one of %s", first > 0 ? "missing or " : "", all.c_str());
}

bool Builder::wrong_count(const JsonPath &at, const char *field, u32 size, u32 min, u32 max)
{
    std::string wanted = std::to_string(min) + (min < max ? " to " + std::to_string(max) : "");
    return size == 0 ? fail(at, field, "missing; give %s numbers", wanted.c_str())
                     : fail(at, field, "has %u numbers; must have %s", size, wanted.c_str());
}

// The vector must be given.
bool Builder::floats(const JsonPath &at, const char *field, const Floats *in, FloatsMust must,
                     f32 *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size < must.count_min || size > must.count_max) {
        return wrong_count(at, field, size, must.count_min, must.count_max);
    }
    for (u32 i = 0; i < size; i++) {
        JsonPath element = {&at, field, (i64)i};
        if (!number(element, nullptr, in->Get(i), must.min, must.max, &out[i])) {
            return false;
        }
    }
    return true;
}

bool Builder::vector(const JsonPath &at, const char *field, const Floats *in, Vec3 absent,
                     f32 extent, Vec3 *out)
{
    if (in == nullptr) {
        *out = absent;
        return true;
    }
    f32 values[3];
    if (!floats(at, field, in, {3, 3, -extent, extent}, values)) {
        return false;
    }
    *out = vec3(values[0], values[1], values[2]);
    return true;
}

// The vector must be given; missing elements get the minimum.
bool Builder::uints(const JsonPath &at, const char *field, const Uints *in, UintsMust must,
                    u32 *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size < must.count_min || size > must.count_max) {
        return wrong_count(at, field, size, must.count_min, must.count_max);
    }
    for (u32 i = 0; i < must.count_max; i++) {
        JsonPath element = {&at, field, (i64)i};
        out[i] = must.min;
        if (i < size && !integer(element, nullptr, in->Get(i), must.min, must.max, &out[i])) {
            return false;
        }
    }
    return true;
}

bool Builder::name(const JsonPath &at, const char *field, const flatbuffers::String *in, char *out)
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

// If absent, leaves `out` unchanged.
bool Builder::color(const JsonPath &at, const char *field, const Floats *in, f32 out[4])
{
    if (in == nullptr) {
        return true;
    }
    f32 values[4] = {0.0f, 0.0f, 0.0f, 1.0f};
    if (!floats(at, field, in, {3, 4, 0.0f, 1.0f}, values)) {
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

bool Builder::orientation(const JsonPath &at, const Floats *quaternion, const Floats *degrees,
                          Quat *out)
{
    *out = quat_identity();
    if (quaternion != nullptr && degrees != nullptr) {
        return fail(at, "rotation", "given besides orientation; give one of them");
    }
    f32 q[4], angle[3];
    if (quaternion != nullptr) {
        if (!floats(at, "orientation", quaternion, {4, 4, -1.001f, 1.001f}, q)) {
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
        if (!floats(at, "rotation", degrees, {3, 3, -360.0f, 360.0f}, angle)) {
            return false;
        }
        Quat x = quat_about(vec3(1.0f, 0.0f, 0.0f), angle[0]);
        Quat y = quat_about(vec3(0.0f, 1.0f, 0.0f), angle[1]);
        Quat z = quat_about(vec3(0.0f, 0.0f, 1.0f), angle[2]);
        *out = quat_normalize(quat_mul(z, quat_mul(y, x)));
    }
    return true;
}

bool Builder::unique(const JsonPath &at, std::unordered_map<std::string, i32> *names,
                     const char *text, i32 index)
{
    return names->emplace(text, index).second ||
           fail(at, "name", "\"%s\" is taken; names must be unique", text);
}

bool Builder::own_name(const JsonPath &at, const char *text)
{
    if (entities_.count(text) != 0) {
        return fail(at, "name", "\"%s\" is taken; names must be unique", text);
    }
    return unique(at, &others_, text, 0);
}

bool Builder::points(const JsonPath &at, const char *field, const Points *in, u32 min, u32 max,
                     std::vector<Vec3> *out)
{
    u32 size = in != nullptr ? in->size() : 0;
    if (size < min || size > max) {
        return fail(at, field, "has %u points; must have %u to %u, each [x, y, z]", size, min, max);
    }
    out->resize(size);
    for (u32 i = 0; i < size; i++) {
        const fb::Point *p = in->Get(i);
        JsonPath element = {&at, field, (i64)i};
        Vec3 *v = &(*out)[i];
        if (!number(element, nullptr, p->x(), -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, &v->x) ||
            !number(element, nullptr, p->y(), -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, &v->y) ||
            !number(element, nullptr, p->z(), -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, &v->z)) {
            return false;
        }
    }
    return true;
}

bool Builder::triangles(const JsonPath &at, const char *field, const Triangles *in, u32 max,
                        std::vector<u32> *out)
{
    u32 total;
    if (!count(at, field, in, max, &total)) {
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

bool Builder::box(const JsonPath &at, const char *field, const Floats *in, Bounds *out)
{
    f32 sides[6];
    if (!floats(at, field, in, {6, 6, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M}, sides)) {
        return false;
    }
    out->min = vec3(sides[0], sides[1], sides[2]);
    out->max = vec3(sides[3], sides[4], sides[5]);
    return true;
}

bool Builder::material(const JsonPath &at, const flatbuffers::String *in, const fb::Material **out)
{
    *out = nullptr;
    if (in == nullptr) {
        return true;
    }
    auto found = materials_.find(in->str());
    if (found == materials_.end()) {
        char wanted[NAME_BYTES_MAX];
        return name(at, "material", in, wanted) &&
               fail(at, "material", "no material \"%s\"; add it to materials", wanted);
    }
    *out = found->second;
    return true;
}

void default_appearance(Appearance *out, AppearanceKind kind)
{
    static const f32 front[4] = {0.52f, 0.52f, 0.55f, 1.0f};
    *out = Appearance{};
    out->kind = kind;
    out->roughness = 0.6f;
    memcpy(out->color, front, sizeof front);
    out->color2[3] = -1.0f; // not given yet
}

void finish_appearance(Appearance *out)
{
    if (out->color2[3] < 0.0f) {
        for (int i = 0; i < 3; i++) {
            out->color2[i] = out->color[i] * 0.55f;
        }
        out->color2[3] = out->color[3];
    }
}

} // namespace plenum
