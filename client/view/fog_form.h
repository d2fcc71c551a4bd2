/*
 * fog_form.h: the voxels of a fog as a texture to march through: extinction, heat, and the sunlight
 * that reaches each through the fog before it; of dyed fogs also their colours. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_FOG_FORM_H
#define PLENUM_CLIENT_VIEW_FOG_FORM_H

#include "client/view/picture.h"

typedef struct FogTexel {
    u16 extinction; /* 65535: FogForm.extinction */
    u16 heat;       /* of channel 1 if that is no colour, mean weighted by density */
    u16 light;      /* fraction of the sun's light that arrives */
    u16 reserved;
} FogTexel;

/* Colour of a texel (linear) times its extinction, so that neighbours mix by what they hold. */
typedef struct FogDye {
    u16 color[3], reserved;
} FogDye;

typedef struct FogForm {
    u32 dims[3];           /* texels along x, y, z */
    u32 first[3], last[3]; /* texels that hold something, and their neighbours */
    Vec3 low, spacing;     /* m: lowest corner of the first texel; size of a texel */
    f32 extinction;        /* 1/m, maximal value that a texel can represent */
    f32 densest;           /* maximal fraction of it in a texel; 0: invisible */
    FogTexel *texels;      /* [dims[0] · dims[1] · dims[2]], x fastest, then y; owned */
    FogDye *dyes;          /* the same of a dyed fog; owned */
    size_t dyes_capacity;
    bool dyed;
    f32 *thickness; /* 1/m, scratch */
    f32 *arriving;  /* two slices, scratch */
    size_t capacity, slice_capacity;
} FogForm;

/* Fills the texels from a complete GRID3, with at most side_max texels along a side: several voxels
 * share a texel of larger grids. `dye`: the second field of dyed voxels (entity.h), or NULL. `sun`:
 * unit, towards it. A zero-initialized form is valid. False: out of memory. Light: one sweep of
 * slices away from the sun, each receiving the light transmitted by the previous one (short
 * characteristics; Kunasz, Auer 1988). */
bool fog_form_fill(FogForm *form, const ShownGrid *shown, const ShownGrid *dye,
                   const Appearance *appearance, Vec3 sun, u32 side_max);
void fog_form_finish(FogForm *form);

#endif
