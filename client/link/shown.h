/*
 * shown.h: how a kind of field is shown by a timeline: one row a kind, for those who take all of a
 * picture and for hands.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_SHOWN_H
#define PLENUM_CLIENT_LINK_SHOWN_H

#include "client/link/timeline.h"

typedef struct ShownOps {
    u32 bytes;  /* of an element as shown, of one channel */
    bool parts; /* is shown also where only some is known */
    /* All elements, [channels][capacity]. False if some are not known. */
    bool (*fill)(const Timeline *timeline, u32 field, const FieldDesc *desc, void *elements);
    /* World point (m) of an element within the capacity and of `local` (m: in the frame of a pose;
     * of a grid away from the cell; points have none). False if it is not there. NULL: nowhere. */
    bool (*point)(const Timeline *timeline, u32 field, const FieldDesc *desc, u32 element,
                  Vec3 local, Vec3 *point);
} ShownOps;

/* Of a kind that field_check accepts. */
const ShownOps *shown_ops(u32 kind);
/* Where the cells of a GRID2 or GRID3 lie; values are borrowed. */
ShownGrid shown_grid(const FieldDesc *desc, const f32 *values);

#endif
