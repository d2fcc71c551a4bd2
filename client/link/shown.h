/*
 * shown.h: how a timeline shows each kind of field, one row per kind, for rendering and picking.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_SHOWN_H
#define PLENUM_CLIENT_LINK_SHOWN_H

#include "client/link/timeline.h"

typedef struct ShownOps {
    u32 bytes;  /* of a shown element, per channel */
    bool parts; /* may be shown incompletely */
    /* Writes all elements, [channels][capacity]. False if some are unknown. */
    bool (*fill)(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements);
    /* World point (m) of an element within the capacity and of `local` (m: in the frame of a
     * pose; relative to a grid's cell; unused for points). False if it does not exist. NULL: no
     * positions. */
    bool (*point)(const Timeline *timeline, u32 field, const FieldDesc *desc, u32 element,
                  Vec3 local, Vec3 *point);
} ShownOps;

/* For a kind that field_check accepts. */
const ShownOps *shown_ops(u32 kind);
/* Geometry of a GRID2 or GRID3; values are borrowed. */
ShownGrid shown_grid(const FieldDesc *desc, const f32 *values);

#endif
