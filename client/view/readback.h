/*
 * readback.h: reads back the pixels drawn by a view.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_READBACK_H
#define PLENUM_CLIENT_VIEW_READBACK_H

#include "client/view/view.h"

/* Reads the back buffer drawn by view_draw (before present): rows of RGB, top first,
 * rgb[height][width][3]. */
void view_read(const View *view, u8 *rgb);

#endif
