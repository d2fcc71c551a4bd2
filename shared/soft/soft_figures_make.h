/*
 * soft_figures_make.h: a growing SoftMesh, for the functions of soft_figures.h.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_FIGURES_MAKE_H
#define PLENUM_SHARED_SOFT_SOFT_FIGURES_MAKE_H

#include "shared/soft/soft_figures.h"

typedef struct FigureMaker {
    SoftMesh *mesh;
    u32 point_capacity, triangle_capacity, stick_capacity;
    bool full; /* out of memory, or world limit reached: nothing more is added */
} FigureMaker;

PL_BEGIN_C
/* Empties the mesh. */
void figure_begin(FigureMaker *maker, SoftMesh *mesh);
/* Frees the mesh and sets the error if something did not fit. */
int figure_end(FigureMaker *maker, ErrorText *error);
u32 figure_point(FigureMaker *maker, Vec3 at);
void figure_triangle(FigureMaker *maker, u32 a, u32 b, u32 c);
/* Keeps the distance within [low, high] times its current value. */
void figure_stick(FigureMaker *maker, u32 a, u32 b, f32 low, f32 high);
/* Keeps the current length, without contact and mass. */
void figure_brace(FigureMaker *maker, u32 a, u32 b);
PL_END_C

#endif
