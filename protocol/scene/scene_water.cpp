// scene_water.cpp: water on a grid: extent, basins, springs, gauges, appearance.
#include "protocol/scene/scene_builder_cpp.h"

namespace plenum
{

namespace
{

enum {
    PARTS_MAX = 256 // basins, springs or gauges of one water
};

} // namespace

bool Builder::water_options(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    bool good = name(at, "name", in->name(), out->name);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/water.def"
    return good;
}

// Whole cells; those of a scene are limited before anything is allocated.
bool Builder::water_cells(const JsonPath &at, SceneWater *out)
{
    f32 wanted[2] = {out->width / out->cell_m, out->length / out->cell_m};
    for (u32 n = 0; n < 2; n++) {
        const char *key = n == 0 ? "width" : "length";
        f32 whole = floorf(wanted[n] + 0.5f);
        if (whole < 1.0f || whole > 4096.0f) {
            return fail(at, key, "%.0f cells; expected 1 to 4096: change it or cell",
                        (double)wanted[n]);
        }
        if (fabsf(wanted[n] - whole) > 0.01f) {
            return fail(at, key, "%g m is not a whole number of cells of %g m",
                        (double)(wanted[n] * out->cell_m), (double)out->cell_m);
        }
        out->cells[n] = (u32)whole;
    }
    water_cells_ += (u64)out->cells[0] * out->cells[1];
    if (water_cells_ > WATER_CELLS_MAX) {
        return fail(at, "cell", "%llu cells with the waters before; at most %d in a scene",
                    (unsigned long long)water_cells_, WATER_CELLS_MAX);
    }
    return bounds_contain_point(&out_->bounds, out->position) ||
           fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                (double)out->position.x, (double)out->position.y, (double)out->position.z);
}

bool Builder::water_basin(const JsonPath &at, const fb::WaterBasin *in, Vec3 usual, SceneBasin *out)
{
    bool good =
        vector(at, "position", in->position(), usual, WORLD_EXTENT_MAX_M, &out->position) &&
        vector(at, "size", in->size(), vec3(1.0f, 1.0f, 1.0f), WORLD_EXTENT_MAX_M, &out->size);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/water_basin.def"
    return good;
}

bool Builder::water_basins(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    out->first_basin = (u32)basins_.size();
    if (!count(at, "basins", in->basins(), PARTS_MAX, &out->basin_count)) {
        return false;
    }
    for (u32 i = 0; i < out->basin_count; i++) {
        JsonPath here = {&at, "basins", i};
        SceneBasin made = {};
        if (!water_basin(here, in->basins()->Get(i), out->position, &made)) {
            return false;
        }
        basins_.push_back(made);
    }
    return true;
}

bool Builder::water_spring(const JsonPath &at, const fb::WaterSource *in, Vec3 usual,
                           SceneSpring *out)
{
    bool carried = in->of() != nullptr;
    bool good = vector(at, "position", in->position(), carried ? vec3_zero() : usual,
                       WORLD_EXTENT_MAX_M, &out->position);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/water_source.def"
    return good && stop_time(at, in->stop(), out->start_s, &out->stop_s) &&
           (!carried || name(at, "of", in->of(), out->of));
}

bool Builder::water_springs(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    out->first_spring = (u32)springs_.size();
    if (!count(at, "sources", in->sources(), PARTS_MAX, &out->spring_count)) {
        return false;
    }
    for (u32 i = 0; i < out->spring_count; i++) {
        JsonPath here = {&at, "sources", i};
        SceneSpring made = {};
        if (!water_spring(here, in->sources()->Get(i), out->position, &made)) {
            return false;
        }
        springs_.push_back(made);
    }
    return true;
}

bool Builder::water_gauges(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    out->first_gauge = (u32)gauges_.size();
    if (!count(at, "gauges", in->gauges(), PARTS_MAX, &out->gauge_count)) {
        return false;
    }
    for (u32 i = 0; i < out->gauge_count; i++) {
        const fb::WaterGauge *given = in->gauges()->Get(i);
        JsonPath here = {&at, "gauges", i};
        SceneGauge made = {};
        if (!name(here, "name", given->name(), made.name) ||
            !vector(here, "position", given->position(), out->position, WORLD_EXTENT_MAX_M,
                    &made.position)) {
            return false;
        }
        Vec3 off = vec3_sub(made.position, out->position);
        if (fabsf(off.x) > 0.5f * out->width || fabsf(off.z) > 0.5f * out->length) {
            return fail(here, "position", "is not over the water");
        }
        gauges_.push_back(made);
    }
    return true;
}

bool Builder::water_dams(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    out->first_dam = (u32)dams_.size();
    if (!count(at, "dams", in->dams(), PARTS_MAX, &out->dam_count)) {
        return false;
    }
    for (u32 i = 0; i < out->dam_count; i++) {
        JsonPath here = {&at, "dams", (i32)i};
        const char *wanted = in->dams()->Get(i)->c_str();
        auto found = entities_.find(wanted);
        if (found == entities_.end() || found->second < 0) {
            return fail(here, nullptr, "there is no body \"%.63s\"", wanted);
        }
        dams_.push_back((u32)found->second);
    }
    return out->dam_count == 0 || out->method != WATER_WAVE ||
           fail(at, "dams", "only shallow water has them; give \"method\": \"shallow\"");
}

bool Builder::water_spray(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    out->spray = -1;
    if (in->spray() == nullptr || in->spray()->size() == 0) {
        return true;
    }
    for (u32 i = 0; i < out_->liquid_count; i++) {
        if (in->spray()->str() == out_->liquids[i].name && !out_->liquids[i].grains) {
            out->spray = (i32)i;
        }
    }
    if (out->method == WATER_WAVE) {
        return fail(at, "spray", "only shallow water has it; give \"method\": \"shallow\"");
    }
    return out->spray >= 0 ||
           fail(at, "spray", "there is no liquid \"%.63s\"", in->spray()->c_str());
}

bool Builder::water_appearance(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    static const f32 light[4] = {0.30f, 0.65f, 0.80f, 1.0f}, deep[4] = {0.01f, 0.06f, 0.09f, 1.0f};
    Appearance *appearance = &out->appearance;
    default_appearance(appearance, APPEARANCE_WATER);
    memcpy(appearance->color, light, sizeof appearance->color);
    memcpy(appearance->color2, deep, sizeof appearance->color2);
    if (!number(at, "roughness", in->roughness(), 0.0f, 1.0f, &appearance->roughness) ||
        !number(at, "clear", in->clear(), 0.001f, 1000.0f, &appearance->clear_m) ||
        !color(at, "color", in->color(), appearance->color) ||
        !color(at, "color2", in->color2(), appearance->color2)) {
        return false;
    }
    finish_appearance(appearance);
    return true;
}

bool Builder::water(const JsonPath &at, const fb::Water *in, SceneWater *out)
{
    if (!water_options(at, in, out) || !water_cells(at, out) || !water_basins(at, in, out) ||
        !water_springs(at, in, out) || !water_gauges(at, in, out) || !water_dams(at, in, out) ||
        !water_spray(at, in, out) || !water_appearance(at, in, out)) {
        return false;
    }
    if (out->method == WATER_WAVE && (out->basin_count > 0 || out->spring_count > 0)) {
        return fail(at, out->basin_count > 0 ? "basins" : "sources",
                    "only shallow water has them; give \"method\": \"shallow\"");
    }
    return true;
}

bool Builder::waters(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "waters", in->waters(), WATERS_MAX, &total) || !allocate(&out_->waters, total)) {
        return false;
    }
    out_->water_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "waters", i};
        SceneWater *made = &out_->waters[i];
        if (!water(here, in->waters()->Get(i), made) || !own_name(here, made->name)) {
            return false;
        }
    }
    out_->basin_count = (u32)basins_.size();
    out_->spring_count = (u32)springs_.size();
    out_->gauge_count = (u32)gauges_.size();
    out_->dam_count = (u32)dams_.size();
    if (!allocate(&out_->basins, out_->basin_count) ||
        !allocate(&out_->springs, out_->spring_count) ||
        !allocate(&out_->gauges, out_->gauge_count) || !allocate(&out_->dams, out_->dam_count)) {
        return false;
    }
    for (u32 i = 0; i < out_->dam_count; i++) {
        out_->dams[i] = dams_[i];
    }
    for (u32 i = 0; i < out_->basin_count; i++) {
        out_->basins[i] = basins_[i];
    }
    for (u32 i = 0; i < out_->spring_count; i++) {
        out_->springs[i] = springs_[i];
    }
    for (u32 i = 0; i < out_->gauge_count; i++) {
        out_->gauges[i] = gauges_[i];
    }
    return true;
}

} // namespace plenum
