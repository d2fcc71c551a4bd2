/*
 * draw_rigid.h: all shapes of POSES entities, one instanced draw per mesh kind.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_RIGID_H
#define PLENUM_CLIENT_VIEW_DRAW_RIGID_H

#include "client/view/shader.h"

typedef struct DrawRigid DrawRigid;

/* NULL with an error. `chunks`: SHADER_* bits of all programs. */
DrawRigid *draw_rigid_create(u32 chunks, ErrorText *error);
void draw_rigid_destroy(DrawRigid *draw); /* NULL is fine */
/* Uploads the instances of this frame from the picture's poses. */
void draw_rigid_gather(DrawRigid *draw, const Picture *picture, f32 pixel_m);
/* Depth only, with the given matrix. */
void draw_rigid_cast(DrawRigid *draw, const Mat4 *to_clip);
/* Draws lit shapes, then the outlines of hovered or grabbed ones. */
void draw_rigid_show(DrawRigid *draw, const Mat4 *view_proj);
/* Draws glass, shapes of an opacity below 1, over all that is behind it. */
void draw_rigid_show_glass(DrawRigid *draw);

#endif
