/*
 * soft_form.h: converts the points of a soft body to vertices with smooth normals: a surface (of
 * its mesh, of a finer skin bound to it, or of a grid) and tubes along its sticks. Data common to
 * all frames is built once; filling allocates nothing. No OpenGL.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_SOFT_FORM_H
#define PLENUM_CLIENT_VIEW_SOFT_FORM_H

#include "client/link/timeline.h"
#include "shared/soft/soft_mesh.h"

typedef struct SoftVertex {
    Vec3 position; /* m, world */
    Vec3 normal;   /* unit */
} SoftVertex;

/* A sequence of points connected by sticks, drawn as one tube. */
typedef struct SoftChain {
    u32 first, count; /* in chain_points, ≥ 2 */
    u32 parts;        /* rings per stick: the tube follows a curve through the points */
    u32 first_vertex; /* of the form */
} SoftChain;

typedef struct SoftForm {
    const SoftMesh *mesh; /* borrowed; NULL: a grid or one row of points */
    u32 point_count;
    u32 grid[2];
    f32 radius;           /* m: radius of tubes, and inflation of closed surfaces */
    const u32 *triangles; /* [triangle_count × 3] */
    u32 *own_triangles;   /* of a grid, or with duplicated vertices */
    u32 triangle_count;
    u32 surface_count; /* vertices of the surface, before those of the tubes; the last of them: */
    u32 *twin_of;      /* [twin_count] are duplicates at sharp edges */
    u32 twin_count;
    SoftChain *chains; /* [chain_count] */
    u32 chain_count;
    u32 *chain_points;
    Vec3 *scratch; /* [point_count], then those of the skin */
    u32 vertex_count, index_count;
    bool round; /* the pattern runs around the y axis instead of along a grid */
} SoftForm;

/* For an entity whose appearance has this soft mesh (NULL: none) and point_count points. False:
 * out of memory, or no surface or tube to draw. */
bool soft_form_init(SoftForm *form, const SoftMesh *mesh, const Appearance *appearance,
                    u32 point_count);
void soft_form_finish(SoftForm *form);
/* Triangles, counter-clockwise from outside: out[index_count], each with `first_vertex` added. */
void soft_form_indices(const SoftForm *form, u32 first_vertex, u32 *out);
/* Pattern coordinates: cells[vertex_count]; for round forms the rest position about the centre,
 * scaled to 1 at the farthest. */
void soft_form_cells(const SoftForm *form, Vec3 *cells);
/* Vertices for the current positions: points[point_count] -> out[vertex_count]. */
void soft_form_fill(SoftForm *form, const ShownPoint *points, SoftVertex *out);
/* Whether a stick is visible, or only a limit. */
static inline bool soft_stick_is_seen(const SoftStick *stick)
{
    return stick->low == stick->high;
}

#endif
