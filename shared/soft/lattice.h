/*
 * lattice.h: a body-centred cubic lattice over a closed surface: which of its points are inside,
 * where its edges are cut, and which points are moved onto the surface. The first half of
 * tetrahedralize.h.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_LATTICE_H
#define PLENUM_SHARED_SOFT_LATTICE_H

#include "shared/soft/soft_mesh.h"

enum {
    LATTICE_DIRECTIONS = 7, /* edges along x, y, z (long), and the four diagonals upwards in z */
    LATTICE_NONE = UINT32_MAX
};

/* Coordinates in half cells: all even (corners of cubes) or all odd (their centres). */
typedef struct LatticePoint {
    i32 x, y, z;
} LatticePoint;

/* The edges that start at a lattice point, allocated if any is cut. */
typedef struct LatticeCuts {
    f32 at[LATTICE_DIRECTIONS];    /* fraction of the edge, < 0: not cut */
    u32 point[LATTICE_DIRECTIONS]; /* mesh point of the cut, or LATTICE_NONE */
} LatticeCuts;

typedef struct Lattice {
    f64 origin[3], half; /* m: position of (0, 0, 0), half a cell */
    i32 size[3];         /* cubes along each axis */
    u32 point_count;
    i8 *state;   /* [point_count] +1 inside, −1 outside, 0 moved onto the surface */
    u8 *moved;   /* [point_count] state 0: direction of the move, 0..13 */
    u32 *number; /* [point_count] point of the mesh, or LATTICE_NONE */
    u32 *row;    /* [point_count] of cuts, or LATTICE_NONE */
    LatticeCuts *cuts;
    u32 cut_count, cut_capacity;
} Lattice;

PL_BEGIN_C
/* Places `resolution` cubes along the longest side of the surface and determines signs, cuts and
 * moves. 0, ERROR_LIMIT or ERROR_MEMORY; finish is required in any case. */
int lattice_init(Lattice *lattice, const SoftMesh *surface, u32 resolution, ErrorText *error);
void lattice_finish(Lattice *lattice);
/* Position of a point, moved or not, in m. */
void lattice_place(const Lattice *lattice, LatticePoint p, f64 place[3]);
/* Position of the cut of an edge between an inner and an outer neighbour, as a fraction from p
 * to q. */
f64 lattice_cut(const Lattice *lattice, LatticePoint p, LatticePoint q);
/* Storage for the number of the point made for that cut; NULL: out of memory. */
u32 *lattice_cut_number(Lattice *lattice, LatticePoint p, LatticePoint q);
PL_END_C

/* Index of a point of the body-centred lattice. */
static inline u32 lattice_index(const Lattice *lattice, LatticePoint p)
{
    u32 row = (u32)(p.z >> 1) * (u32)(lattice->size[1] + 1) + (u32)(p.y >> 1);
    return 2 * (row * (u32)(lattice->size[0] + 1) + (u32)(p.x >> 1)) + (u32)(p.x & 1);
}

#endif
