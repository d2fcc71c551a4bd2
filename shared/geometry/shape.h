/*
 * shape.h: the shapes used by physics, scenes and the viewer, with bounds, mass properties and ray
 * casts. Local frame: y is the axis of capsules, cylinders and cones and a plane's normal. Vertex
 * data is in a Geometry (geometry.h).
 * Layer: shared/geometry.
 */
#ifndef PLENUM_SHARED_GEOMETRY_SHAPE_H
#define PLENUM_SHARED_GEOMETRY_SHAPE_H

#include "shared/math/symmetric.h"

typedef enum ShapeKind {
    SHAPE_NONE = 0,
    SHAPE_SPHERE = 1,    /* radius */
    SHAPE_BOX = 2,       /* half */
    SHAPE_CAPSULE = 3,   /* radius, half_height (of the cylinder between the caps) */
    SHAPE_PLANE = 4,     /* y = 0, infinite, static bodies only */
    SHAPE_CYLINDER = 5,  /* radius, half_height */
    SHAPE_CONE = 6,      /* radius of the base at y = −half_height, apex at y = +half_height */
    SHAPE_HULL = 7,      /* geometry */
    SHAPE_MESH = 8,      /* geometry, static and kinematic bodies only */
    SHAPE_TERRAIN = 9,   /* geometry, static bodies only */
    SHAPE_COMPOUND = 10, /* geometry */
    SHAPE_KIND_COUNT
} ShapeKind;

typedef struct Shape {
    ShapeKind kind;
    f32 radius;                      /* m */
    f32 half_height;                 /* m */
    Vec3 half;                       /* half extents, m */
    const struct Geometry *geometry; /* borrowed; must outlive the shape */
} Shape;

/* A shape in the world: the pose of the shape's own frame (not of the centre of mass). */
typedef struct ShapePose {
    const Shape *shape;
    Vec3 position;
    Quat orientation;
} ShapePose;

typedef struct MassProperties {
    f32 mass_kg;
    Vec3 centre;        /* of mass, in the shape's frame, m */
    Symmetric3 inertia; /* about the centre, in the shape's axes, kg m² */
} MassProperties;

typedef struct Bounds {
    Vec3 min, max; /* m */
} Bounds;

/* Borders are part of a box; false for NaN. */
static inline bool bounds_overlap(const Bounds *a, const Bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}
static inline bool bounds_contain(const Bounds *a, const Bounds *b)
{
    return a->min.x <= b->min.x && a->min.y <= b->min.y && a->min.z <= b->min.z &&
           a->max.x >= b->max.x && a->max.y >= b->max.y && a->max.z >= b->max.z;
}
static inline bool bounds_contain_point(const Bounds *bounds, Vec3 p)
{
    return p.x >= bounds->min.x && p.y >= bounds->min.y && p.z >= bounds->min.z &&
           p.x <= bounds->max.x && p.y <= bounds->max.y && p.z <= bounds->max.z;
}
static inline Bounds bounds_grow(Bounds b, f32 margin)
{
    Vec3 m = vec3(margin, margin, margin);
    Bounds r = {vec3_sub(b.min, m), vec3_add(b.max, m)};
    return r;
}
static inline Bounds bounds_union(Bounds a, Bounds b)
{
    Bounds r = {vec3_min(a.min, b.min), vec3_max(a.max, b.max)};
    return r;
}

typedef struct Ray {
    Vec3 origin;    /* m */
    Vec3 direction; /* unit */
} Ray;

PL_BEGIN_C
/* Volume in m³; 0 for a plane, a terrain and an open mesh. */
f32 shape_volume(const Shape *shape);
/* Diagonal of the inertia tensor about the centre for the mass (kg m²); zero for a plane. */
Vec3 shape_inertia(const Shape *shape, f32 mass_kg);
/* Centre of mass and inertia of the homogeneous solid of this mass; zero inertia without a
 * volume. */
MassProperties shape_mass(const Shape *shape, f32 mass_kg);
/* True for convex bounded shapes (as required by GJK, hulls and shape casts). */
bool shape_is_convex(const Shape *shape);
/* Radius of the largest ball in it (of a compound: in its thinnest child), half of how thick it is;
 * 0 for planes, meshes and terrains. */
f32 shape_inner_radius(const Shape *shape);
/* Radius of the smallest ball about the frame's origin that contains it; 0 for a plane. */
f32 shape_reach(const Shape *shape);
/* World bounds of the shape at a pose: tight, except that meshes and terrains use the box around
 * their rotated local box; a plane's are ±WORLD_EXTENT_MAX_M. */
Bounds shape_bounds(const Shape *shape, Vec3 position, Quat orientation);
/* Nearest hit of a ray with the shape at a pose. Returns true and writes the distance (m, ≥ 0)
 * and the outward normal (either pointer may be NULL) if it hits within [0, max]; a ray that
 * starts inside a solid hits at distance 0 with the normal against the ray. A plane is solid
 * below; meshes and terrains are two-sided surfaces, with the normal on the ray's side. */
bool shape_ray(const Shape *shape, Vec3 position, Quat orientation, Ray ray, f32 max, f32 *distance,
               Vec3 *normal);
/* "sphere", "box", "capsule", "plane", "cylinder", "cone", "hull", "mesh", "terrain", "compound",
 * "none" */
const char *shape_kind_name(ShapeKind kind);
PL_END_C

#endif
