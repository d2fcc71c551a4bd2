// scene_liquid.cpp: liquids and grains of a scene: what they fill, where they come from and where
// they go, and how many particles that takes.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/math/trig.h"

namespace plenum
{

// ---- volumes -----------------------------------------------------------------------------------

bool Builder::liquid_volume(const JsonPath &at, const fb::Child *in, bool drain, FillVolume *out)
{
    JsonPath shape_at = {&at, "shape", -1};
    bool good = shape(shape_at, in->shape(), false, &out->shape);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/volume.def"
    if (!good) {
        return false;
    }
    bool plane = drain && out->shape.kind == SHAPE_PLANE;
    if (!plane && !shape_is_convex(&out->shape)) {
        return fail(shape_at, "kind", "a %s; give a convex shape%s",
                    shape_kind_name(out->shape.kind), drain ? " or a plane" : "");
    }
    if (!plane && !bounds_contain_point(&out_->bounds, out->position)) {
        return fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                    (double)out->position.x, (double)out->position.y, (double)out->position.z);
    }
    if (volumes_.size() >= LIQUID_VOLUMES_MAX) {
        return fail(at, nullptr, "too many fills and drains; at most %d in a scene",
                    LIQUID_VOLUMES_MAX);
    }
    return true;
}

static bool count_point(void *context, Vec3 point)
{
    PL_UNUSED(point);
    ++*(u32 *)context;
    return true;
}

bool Builder::liquid_fill(const JsonPath &at, const ChildList *in, SceneLiquid *out)
{
    u32 total;
    if (!count(at, "fill", in, LIQUID_VOLUMES_MAX, &total)) {
        return false;
    }
    out->first_fill = (u32)volumes_.size();
    out->fill_count = total;
    f32 spacing = out_->liquid_spacing;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "fill", i};
        FillVolume volume = {};
        if (!liquid_volume(here, in->Get(i), false, &volume)) {
            return false;
        }
        // Estimated before points are counted one by one.
        u64 cells = fill_cells(&volume, spacing);
        fill_cells_ = cells < FILL_CELLS_MAX ? fill_cells_ + cells : (u64)FILL_CELLS_MAX + 1;
        if (fill_cells_ > FILL_CELLS_MAX) {
            return fail(here, "shape",
                        "holds about %g particles %g m apart; at most %d in a scene: give a larger "
                        "liquid_spacing",
                        (double)cells, (double)spacing, LIQUID_PARTICLES_MAX);
        }
        u32 points = 0;
        fill_visit(&volume, spacing, count_point, &points);
        if (points == 0) {
            return fail(here, "shape", "holds no particle %g m from the next; give a larger one",
                        (double)spacing);
        }
        out->filled += points;
        volumes_.push_back(volume);
    }
    return true;
}

bool Builder::liquid_drains(const JsonPath &at, const ChildList *in, SceneLiquid *out)
{
    u32 total;
    if (!count(at, "drains", in, LIQUID_VOLUMES_MAX, &total)) {
        return false;
    }
    out->first_drain = (u32)volumes_.size();
    out->drain_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "drains", i};
        FillVolume volume = {};
        if (!liquid_volume(here, in->Get(i), true, &volume)) {
            return false;
        }
        volumes_.push_back(volume);
    }
    return true;
}

// ---- sources -----------------------------------------------------------------------------------

bool Builder::liquid_source(const JsonPath &at, const fb::Source *in, SceneSource *out)
{
    Vec3 direction;
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/source.def"
    if (!good ||
        !vector(at, "direction", in->direction(), vec3(0.0f, -1.0f, 0.0f), 1e6f, &direction) ||
        !stop_time(at, in->stop(), out->start_s, &out->stop_s)) {
        return false;
    }
    if (!(vec3_length(direction) > 1e-3f)) {
        return fail(at, "direction", "has no direction; give the way that leaves the nozzle");
    }
    out->direction = vec3_normalize_or(direction, vec3(0.0f, -1.0f, 0.0f));
    if (!bounds_contain_point(&out_->bounds, out->position)) {
        return fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                    (double)out->position.x, (double)out->position.y, (double)out->position.z);
    }
    f64 sine, cosine;
    trig_sincos((f64)out->spread_degrees * (3.14159265358979323846 / 180.0), &sine, &cosine);
    out->spread = (f32)(sine / cosine);
    f64 points = scene_source_points(out, out_->liquid_spacing);
    return points <= NOZZLE_POINTS_MAX ||
           fail(at, "radius", "a nozzle of %.0f particles %g m apart; at most %d", points,
                (double)out_->liquid_spacing, NOZZLE_POINTS_MAX);
}

bool Builder::liquid_sources(const JsonPath &at, const SourceList *in, SceneLiquid *out)
{
    u32 total;
    if (!count(at, "sources", in, SOURCES_MAX, &total)) {
        return false;
    }
    if (sources_.size() + total > SOURCES_MAX) {
        return fail(at, "sources", "too many; at most %d in a scene", SOURCES_MAX);
    }
    out->first_source = (u32)sources_.size();
    out->source_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "sources", i};
        SceneSource source = {};
        if (!liquid_source(here, in->Get(i), &source)) {
            return false;
        }
        sources_.push_back(source);
    }
    return true;
}

// ---- number of particles
// ----------------------------------------------------------------------------------

bool Builder::liquid_capacity(const JsonPath &at, SceneLiquid *out)
{
    f64 wanted = out->filled;
    for (u32 i = 0; i < out->source_count; i++) {
        const SceneSource &source = sources_[out->first_source + i];
        f64 seconds = source.stop_s >= 0.0f ? (f64)source.stop_s - (f64)source.start_s
                                            : (f64)ENDLESS_SOURCE_S;
        // The first at once; as if without rounding.
        f64 layers = 1.0 + floor(seconds * (f64)source.speed / (f64)out_->liquid_spacing + 1e-3);
        wanted += layers * scene_source_points(&source, out_->liquid_spacing);
    }
    bool given = out->capacity != 0;
    if (given && out->capacity < out->filled) {
        return fail(at, "capacity", "%u; its fill takes %u", out->capacity, out->filled);
    }
    if (!given && wanted == 0.0) {
        return fail(at, "fill", "missing; give a fill, sources or a capacity");
    }
    f64 all = (f64)liquid_particles_ + (given ? (f64)out->capacity : wanted);
    if (all > (f64)LIQUID_PARTICLES_MAX) {
        return fail(at, given ? "capacity" : nullptr,
                    "%.0f particles with the liquids before; at most %d in a scene: give a larger "
                    "liquid_spacing%s",
                    all, LIQUID_PARTICLES_MAX, given ? "" : " or a capacity");
    }
    out->capacity = given ? out->capacity : (u32)wanted;
    liquid_particles_ += out->capacity;
    return true;
}

// ---- options -----------------------------------------------------------------------------------

template <typename T>
bool Builder::liquid_appearance(const JsonPath &at, const T *in, SceneLiquid *out)
{
    Appearance *appearance = &out->appearance;
    appearance->radius = 0.5f * out_->liquid_spacing;
    if (!number(at, "roughness", in->roughness(), 0.0f, 1.0f, &appearance->roughness) ||
        !color(at, "color", in->color(), appearance->color) ||
        !color(at, "color2", in->color2(), appearance->color2)) {
        return false;
    }
    finish_appearance(appearance);
    return true;
}

template <typename T> bool Builder::liquid_parts(const JsonPath &at, const T *in, SceneLiquid *out)
{
    i32 number = -1 - (i32)SOFT_BODIES_MAX - (i32)liquids_.size();
    if (!liquid_fill(at, in->fill(), out) || !liquid_drains(at, in->drains(), out) ||
        !liquid_sources(at, in->sources(), out) || !liquid_capacity(at, out) ||
        !liquid_appearance(at, in, out) || !unique(at, &entities_, out->name, number)) {
        return false;
    }
    liquids_.push_back(*out);
    return true;
}

static void default_colors(Appearance *appearance, bool grains)
{
    static const f32 water[4] = {0.30f, 0.65f, 0.80f, 1.0f}, deep[4] = {0.01f, 0.06f, 0.09f, 1.0f};
    static const f32 sand[4] = {0.55f, 0.40f, 0.22f, 1.0f};
    default_appearance(appearance, grains ? APPEARANCE_GRAINS : APPEARANCE_LIQUID);
    memcpy(appearance->color, grains ? sand : water, sizeof appearance->color);
    if (!grains) {
        memcpy(appearance->color2, deep, sizeof appearance->color2);
    }
}

// Options that a liquid or grains do not have get the default of the other.
static SceneLiquid liquid_default(bool grains)
{
    SceneLiquid liquid = {};
    liquid.grains = grains;
    default_colors(&liquid.appearance, grains);
#define ROW_NUMBER(key, member, unit, scale, initial, ...) liquid.member = (initial) * (scale);
#include "shared/rows/grains.def"
    f32 contact_friction = liquid.contact_friction;
#define ROW_NUMBER(key, member, unit, scale, initial, ...) liquid.member = (initial) * (scale);
#include "shared/rows/liquid.def"
    liquid.contact_friction = grains ? contact_friction : liquid.contact_friction;
    return liquid;
}

bool Builder::liquid_options(const JsonPath &at, const fb::Liquid *in, SceneLiquid *out)
{
    bool good = name(at, "name", in->name(), out->name);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/liquid.def"
    return good;
}

bool Builder::grains_options(const JsonPath &at, const fb::Grains *in, SceneLiquid *out)
{
    bool good = name(at, "name", in->name(), out->name);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/grains.def"
    return good;
}

template <typename T> static bool keep(T *out, const std::vector<T> &in)
{
    for (size_t i = 0; i < in.size(); i++) {
        out[i] = in[i];
    }
    return true;
}

bool Builder::keep_liquids()
{
    out_->liquid_count = (u32)liquids_.size();
    out_->liquid_volume_count = (u32)volumes_.size();
    out_->source_count = (u32)sources_.size();
    return allocate(&out_->liquids, out_->liquid_count) &&
           allocate(&out_->liquid_volumes, out_->liquid_volume_count) &&
           allocate(&out_->sources, out_->source_count) && keep(out_->liquids, liquids_) &&
           keep(out_->liquid_volumes, volumes_) && keep(out_->sources, sources_);
}

bool Builder::liquids(const JsonPath &at, const fb::Scene *in)
{
    u32 liquid_total, grains_total;
    if (!count(at, "liquids", in->liquids(), LIQUID_PHASES_MAX, &liquid_total) ||
        !count(at, "grains", in->grains(), LIQUID_PHASES_MAX, &grains_total)) {
        return false;
    }
    if (liquid_total + grains_total > LIQUID_PHASES_MAX) {
        return fail(at, "grains", "%u with the liquids; at most %d in a scene",
                    liquid_total + grains_total, LIQUID_PHASES_MAX);
    }
    for (u32 i = 0; i < liquid_total; i++) {
        JsonPath here = {&at, "liquids", i};
        const fb::Liquid *given = in->liquids()->Get(i);
        SceneLiquid made = liquid_default(false);
        if (!liquid_options(here, given, &made) ||
            !number(here, "clear", given->clear(), 0.001f, 1000.0f, &made.appearance.clear_m) ||
            !liquid_parts(here, given, &made)) {
            return false;
        }
    }
    for (u32 i = 0; i < grains_total; i++) {
        JsonPath here = {&at, "grains", i};
        const fb::Grains *given = in->grains()->Get(i);
        SceneLiquid made = liquid_default(true);
        if (!grains_options(here, given, &made) || !liquid_parts(here, given, &made)) {
            return false;
        }
    }
    return keep_liquids();
}

} // namespace plenum

// The lattice points of a disc.
extern "C" f64 scene_source_points(const SceneSource *source, f32 spacing)
{
    f64 r = (f64)source->radius / (f64)spacing, points = 0.0;
    if (r > 1000.0) {
        return 3.14 * r * r; // far too many to count
    }
    for (i32 j = (i32)-r; j <= (i32)r; j++) {
        points += 2.0 * floor(sqrt(r * r - (f64)j * (f64)j)) + 1.0;
    }
    return points;
}
