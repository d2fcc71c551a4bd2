// scene_smoke.cpp: air on grids of a scene: cells, sides, sources, options.
#include "protocol/scene/scene_builder_cpp.h"

namespace plenum
{

namespace
{

// All cells of a scene are in each frame; the solver takes about 100 bytes for each.
constexpr u64 cells_most = FIELD_ELEMENTS_MAX;

} // namespace

bool Builder::smoke_options(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/smoke_grid.def"

#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/smoke.def"
    out->dims = good ? in->cells()->size() : 0;
    return good;
}

bool Builder::smoke_cells(const JsonPath &at, SceneSmoke *out)
{
    u64 all = (u64)out->cells[0] * out->cells[1] * out->cells[2];
    return all <= cells_most || fail(at, "cells", "%llu cells; at most %llu",
                                     (unsigned long long)all, (unsigned long long)cells_most);
}

bool Builder::smoke_side(const JsonPath &at, const fb::SmokeSide *in, SceneSmokeSide *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/smoke_side.def"
    return good;
}

bool Builder::smoke_sides(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out)
{
    u32 total;
    if (!count(at, "sides", in->sides(), 2 * out->dims, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "sides", i};
        if (!smoke_side(here, in->sides()->Get(i), &out->sides[i])) {
            return false;
        }
    }
    for (u32 i = 0; i < 2 * out->dims; i++) {
        bool periodic = out->sides[i].kind == SMOKE_PERIODIC;
        if (periodic != (out->sides[i ^ 1].kind == SMOKE_PERIODIC)) {
            return fail(at, "sides", "one side of %c is periodic; give both or none", "xyz"[i / 2]);
        }
        if (periodic && out->cells[i / 2] % 8 != 0) {
            return fail(at, "sides", "%u cells along the periodic %c; give a multiple of 8",
                        out->cells[i / 2], "xyz"[i / 2]);
        }
    }
    return true;
}

bool Builder::smoke_source(const JsonPath &at, const fb::SmokeSource *in, const f32 usual[4],
                           SceneSmokeSource *out)
{
    Vec3 size;
    f32 tone[4] = {usual[0], usual[1], usual[2], 1.0f};
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/smoke_source.def"
    if (!good || !vector(at, "size", in->size(), vec3_zero(), SCENE_SIZE_MAX_M, &size) ||
        !color(at, "color", in->color(), tone) ||
        !stop_time(at, in->stop(), out->start_s, &out->stop_s)) {
        return false;
    }
    out->color = Vec3{tone[0], tone[1], tone[2]};
    if (in->of() != nullptr && !name(at, "of", in->of(), out->of)) {
        return false;
    }
    if ((in->size() != nullptr) == (out->radius > 0.0f)) {
        return fail(at, "size", "give a size or a radius");
    }
    out->half = vec3_scale(size, 0.5f);
    return (size.x >= 0.0f && size.y >= 0.0f && size.z >= 0.0f) ||
           fail(at, "size", "negative; give lengths along x, y, z");
}

bool Builder::smoke(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out)
{
    static const f32 grey[4] = {0.6f, 0.6f, 0.6f, 0.5f};
    if (!name(at, "name", in->name(), out->name) || !smoke_options(at, in, out) ||
        !smoke_cells(at, out) || !smoke_sides(at, in, out) ||
        !count(at, "sources", in->sources(), SCENE_SMOKE_SOURCES_MAX, &out->source_count)) {
        return false;
    }
    default_appearance(&out->appearance, APPEARANCE_SMOKE);
    memcpy(out->appearance.color, grey, sizeof grey);
    if (out->dyed && out->hottest > 0.0f) {
        return fail(at, "dyed", "with hottest; give one of them");
    }
    if (!color(at, "color", in->color(), out->appearance.color)) {
        return false;
    }
    for (u32 i = 0; i < out->source_count; i++) {
        JsonPath here = {&at, "sources", i};
        if (!smoke_source(here, in->sources()->Get(i), out->appearance.color, &out->sources[i])) {
            return false;
        }
    }
    if (!number(at, "clear", in->clear(), 0.0f, 1000.0f, &out->appearance.clear_m)) {
        return false;
    }
    out->appearance.glow = out->hottest > 0.0f ? 1.0f : 0.0f; /* what is hot gives light */
    finish_appearance(&out->appearance);
    return true;
}

bool Builder::smokes(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    u64 cells = 0;
    if (!count(at, "smokes", in->smokes(), SCENE_SMOKES_MAX, &total) ||
        !allocate(&out_->smokes, total)) {
        return false;
    }
    out_->smoke_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "smokes", i};
        SceneSmoke *made = &out_->smokes[i];
        if (!smoke(here, in->smokes()->Get(i), made) || !own_name(here, made->name)) {
            return false;
        }
        cells += (u64)made->cells[0] * made->cells[1] * made->cells[2];
        if (cells > 2 * cells_most) {
            return fail(here, "cells", "%llu cells with those before; at most %llu in a scene",
                        (unsigned long long)cells, (unsigned long long)(2 * cells_most));
        }
    }
    return true;
}

} // namespace plenum
