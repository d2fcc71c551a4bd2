/*
 * draw_marks.h: lines and dots with a width in pixels, over or among the objects.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_MARKS_H
#define PLENUM_CLIENT_VIEW_DRAW_MARKS_H

#include "client/view/shader.h"

typedef struct DrawMarks DrawMarks;

/* NULL with an error. */
DrawMarks *draw_marks_create(ErrorText *error);
void draw_marks_destroy(DrawMarks *draw); /* NULL is fine */
void draw_marks_show(DrawMarks *draw, const Picture *picture, const Mat4 *view_proj, u32 width,
                     u32 height);

#endif
