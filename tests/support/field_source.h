/*
 * field_source.h: a Source without physics that has one entity of each kind of field that bodies do
 * not use: a wave in a height field, a blob that circles in voxels, a swarm of points; all given by
 * formulas, at 60 ticks per second of the test's clock.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_FIELD_SOURCE_H
#define PLENUM_TESTS_SUPPORT_FIELD_SOURCE_H

#include "server/host/source.h"

enum {
    FIELD_WAVE = 0, /* GRID2 "wave": height, and height relative to the maximum */
    FIELD_BLOB = 1, /* GRID3 "blob": density, and height as heat */
    FIELD_SWARM = 2,
    FIELD_SOURCE_FIELDS = 3,
    FIELD_SWARM_POINTS = 150,
    FIELD_SOURCE_HZ = 60,
};
#define FIELD_BLOB_WIDTH_M 0.6f

/* Exact state of entities 1 "lake", 2 "cloud", 3 "swarm" at a world time: height (m), density in
 * [0, 1], position (m). */
f32 field_wave(f32 x, f32 z, f64 time_s);
Vec3 field_blob_centre(f64 time_s);
f32 field_blob(Vec3 point, f64 time_s);
Vec3 field_swarm(u32 i, f64 time_s);
FieldSet *field_source_fields(void);
void field_source_entities(Entity entities[FIELD_SOURCE_FIELDS]);
Frame *field_source_frame(FieldSet *fields, u64 tick);

/* Its time is *now_ns − *start_ns (both borrowed). */
Source *field_source_create(const u64 *start_ns, const u64 *now_ns);
/* Copies the inputs received so far, at most max; returns their number. */
u32 field_source_inputs(const Source *source, Input *inputs, u32 max);

#endif
