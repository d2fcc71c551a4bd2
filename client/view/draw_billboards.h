/*
 * draw_billboards.h: POINTS entities of appearance BILLBOARDS: pictures that face the viewer, from
 * far to near, with size, colour and opacity by age, stretched along their motion. Where they
 * intersect other things they fade instead of being cut.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_BILLBOARDS_H
#define PLENUM_CLIENT_VIEW_DRAW_BILLBOARDS_H

#include "client/view/shader.h"

typedef struct DrawBillboards DrawBillboards;

/* NULL with an error. `chunks`: SHADER_* bits of all programs. */
DrawBillboards *draw_billboards_create(u32 chunks, ErrorText *error);
void draw_billboards_destroy(DrawBillboards *draw); /* NULL is fine */
void draw_billboards_gather(DrawBillboards *draw, const Picture *picture);
/* True if there is something to show, for which `surface_copy` is needed. */
bool draw_billboards_wanted(const DrawBillboards *draw);
/* Call after all other things of the world; the surface has a copy of the opaque ones. */
void draw_billboards_show(DrawBillboards *draw, const Surface *surface);

#endif
