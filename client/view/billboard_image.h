/*
 * billboard_image.h: the pictures of billboards, computed: one sheet of square tiles. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_BILLBOARD_IMAGE_H
#define PLENUM_CLIENT_VIEW_BILLBOARD_IMAGE_H

#include "protocol/field/entity.h"

enum {
    SHEET_TILE = 64, /* texels */
    SHEET_TILES = 4, /* along each side */
    SHEET_EDGE = SHEET_TILE * SHEET_TILES,
    SHEET_LEVELS = 4, /* of mipmaps: smaller tiles would run into each other */
};

/* Fills sheet[SHEET_EDGE][SHEET_EDGE][2]: opacity, and the blend of the colour towards white (own
 * light) or its brightness (lit). Tiles are transparent at their edges. */
void billboard_sheet(u8 *sheet);
/* The first tile of an image and its number of variants; rows of tiles are counted from the
 * bottom. */
void billboard_tiles(BillboardImage image, u32 *first, u32 *count);

#endif
