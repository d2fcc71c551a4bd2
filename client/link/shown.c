/* shown.c: see shown.h. */
#include "client/link/shown.h"
#include "client/link/timeline_internal.h"

#include "shared/base/check.h"

#include <stdlib.h>

ShownGrid shown_grid(const FieldDesc *desc, const f32 *values)
{
    ShownGrid shown = {.grid = {.dims = {desc->dims[0], desc->dims[1], desc->dims[2]},
                                .origin = desc->origin,
                                .spacing = desc->spacing,
                                .values = values},
                       .channels = desc->channels,
                       .low = desc->value_min};
    f32 codes = 255.0f;
    if (desc->kind == FIELD_GRID2) {
        shown.grid.dims[1] = 1;
        shown.grid.dims[2] = desc->dims[1];
        shown.grid.heights = true;
        codes = 65535.0f;
    }
    shown.high = shown.low + codes * desc->quantum;
    return shown;
}

static bool poses_fill(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements)
{
    PL_UNUSED(desc);
    timeline_poses(timeline, field, elements);
    return true;
}

static bool points_fill(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements)
{
    PL_UNUSED(desc);
    timeline_points(timeline, field, elements);
    return true;
}

static bool scalars_fill(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements)
{
    PL_UNUSED(desc);
    return timeline_scalars(timeline, field, elements);
}

static bool grid_fill(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements)
{
    bool known = true;
    for (u32 channel = 0; channel < desc->channels; channel++) {
        f32 *values = (f32 *)elements + (size_t)channel * desc->capacity;
        known = timeline_grid(timeline, field, channel, values) && known;
    }
    return known;
}

static bool pose_point(const Timeline *timeline, u32 field, const FieldDesc *desc, u32 element,
                       Vec3 local, Vec3 *point)
{
    ShownPose pose;
    PL_UNUSED(desc);
    if (!timeline_pose(timeline, field, element, &pose) || (pose.flags & POSE_LIVE) == 0) {
        return false;
    }
    *point = vec3_add(pose.position, quat_rotate(pose.orientation, local));
    return true;
}

static bool point_point(const Timeline *timeline, u32 field, const FieldDesc *desc, u32 element,
                        Vec3 local, Vec3 *point)
{
    ShownPoint shown;
    PL_UNUSED(desc);
    PL_UNUSED(local);
    if (!timeline_point(timeline, field, element, &shown) || shown.generation == 0) {
        return false;
    }
    *point = shown.position;
    return true;
}

static bool cell_point(const Timeline *timeline, u32 field, const FieldDesc *desc, u32 element,
                       Vec3 local, Vec3 *point)
{
    f32 value;
    if (!timeline_cell(timeline, field, 0, element, &value)) {
        return false;
    }
    ShownGrid shown = shown_grid(desc, NULL);
    *point = vec3_add(grid_centre(&shown.grid, element, value), local);
    return true;
}

const ShownOps *shown_ops(u32 kind)
{
    static const ShownOps rows[FIELD_KIND_COUNT] = {
        [FIELD_POSES] = {sizeof(ShownPose), true, poses_fill, pose_point},
        [FIELD_POINTS] = {sizeof(ShownPoint), true, points_fill, point_point},
        [FIELD_GRID2] = {sizeof(f32), false, grid_fill, cell_point},
        [FIELD_GRID3] = {sizeof(f32), false, grid_fill, cell_point},
        [FIELD_SCALARS] = {sizeof(f32), true, scalars_fill, NULL},
    };
    CHECK(kind > FIELD_NONE && kind < FIELD_KIND_COUNT);
    return &rows[kind];
}

TimelineShown *timeline_shown(const Timeline *timeline)
{
    TimelineShown *shown = calloc(1, sizeof *shown);
    if (shown == NULL) {
        return NULL;
    }
    shown->count = timeline->fields->count;
    for (u32 f = 0; f < shown->count; f++) {
        const FieldDesc *desc = &timeline->fields->fields[f];
        const ShownOps *ops = shown_ops(desc->kind);
        shown->fields[f] = calloc(u32_max(desc->capacity * desc->channels, 1), ops->bytes);
        bool whole = shown->fields[f] != NULL && ops->fill(timeline, f, desc, shown->fields[f]);
        if (!whole && !ops->parts) { /* not shown at the moment */
            free(shown->fields[f]);
            shown->fields[f] = NULL;
        }
    }
    return shown;
}
