/*
 * shape.h: the convex primitives that physics, scenes and the viewer agree on, with their bounds,
 * volume, inertia and ray tests. Local frame: y is a capsule's axis and a plane's normal.
 * Layer: shared.
 */
#ifndef PLENUM_SHARED_SHAPE_H
#define PLENUM_SHARED_SHAPE_H

#include "shared/quat.h"

typedef enum ShapeKind {
    SHAPE_NONE = 0,
    SHAPE_SPHERE = 1,  /* radius */
    SHAPE_BOX = 2,     /* half */
    SHAPE_CAPSULE = 3, /* radius, half_height (of the cylinder between the caps) */
    SHAPE_PLANE = 4,   /* y = 0, infinite, static bodies only */
    SHAPE_KIND_COUNT
} ShapeKind;

typedef struct Shape {
    ShapeKind kind;
    f32 radius;      /* m */
    f32 half_height; /* m */
    Vec3 half;       /* half extents, m */
} Shape;

typedef struct Bounds {
    Vec3 min, max; /* m */
} Bounds;

typedef struct Ray {
    Vec3 origin;    /* m */
    Vec3 direction; /* unit */
} Ray;

PL_BEGIN_C
/* Volume in m³; 0 for a plane. */
f32 shape_volume(const Shape *shape);
/* Diagonal of the inertia tensor about the centre for the mass (kg m²); zero for a plane. */
Vec3 shape_inertia(const Shape *shape, f32 mass_kg);
/* World bounds of the shape at a pose; a plane's are ±WORLD_EXTENT_MAX_M. */
Bounds shape_bounds(const Shape *shape, Vec3 position, Quat orientation);
/* Nearest hit of a ray with the shape at a pose. Returns true and writes the distance (m, ≥ 0) and
 * the outward normal (either pointer may be NULL) if it hits within [0, max]; a ray that starts
 * inside a solid hits at distance 0 with the normal against the ray. A plane is solid below. */
bool shape_ray(const Shape *shape, Vec3 position, Quat orientation, Ray ray, f32 max, f32 *distance,
               Vec3 *normal);
/* "sphere", "box", "capsule", "plane", "none" */
const char *shape_kind_name(ShapeKind kind);
PL_END_C

#endif
