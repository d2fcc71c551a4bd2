/*
 * query.h: spatial queries of a rigid world between two ticks: ray, segment and line casts, shape
 * casts, overlaps, nearest body. Each has a cheap yes/no variant (…_any) and one for the nearest
 * result; rays also list all bodies hit. Queries do not change the world, and results do not depend
 * on the shape of the trees: at equal distances the lower slot wins. Sleeping bodies are included.
 * A NULL filter accepts all bodies. Non-finite arguments give no result.
 * Layer: server/physics/rigid/query.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_H
#define PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_H

#include "server/physics/rigid/narrow/manifold.h"
#include "server/physics/rigid/rigid.h"

/* Final test of a body that passed the rest of the filter. It must not change the world. */
typedef bool QueryAccept(void *context, BodyId body);

typedef struct QueryFilter {
    u32 mask;       /* bits: only bodies with one of these groups; 0 means all */
    BodyId exclude; /* generation 0: none */
    bool skip_sensors;
    QueryAccept *accept; /* may be NULL */
    void *context;
} QueryFilter;

typedef struct QueryHit {
    BodyId body;
    f32 distance; /* m along the ray; for a line negative behind its origin */
    Vec3 point;   /* m, world */
    Vec3 normal;  /* unit, outwards; against the ray if it starts inside (distance 0) */
    u32 part;     /* child of a compound, triangle of a mesh or terrain, else 0 */
} QueryHit;

/* A ray from its origin along its unit direction, up to `max` m. */
bool rigid_ray_any(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter);
bool rigid_ray(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hit);
/* The nearest `capacity` bodies, each at the first entry of the ray, sorted by (distance, slot);
 * returns their number. */
u32 rigid_ray_all(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hits,
                  u32 capacity);

/* From point to point, both included. */
bool rigid_segment_any(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter);
bool rigid_segment(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter,
                   QueryHit *hit);
u32 rigid_segment_all(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter,
                      QueryHit *hits, u32 capacity);

/* The whole line through the ray's origin, in both directions to the end of the world. The
 * nearest hit is the one nearest to the origin (forward wins a tie); all are sorted by
 * (distance, slot), and a body hit on both sides of the origin is listed twice. */
bool rigid_line_any(const Rigid *rigid, Ray line, const QueryFilter *filter);
bool rigid_line(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hit);
u32 rigid_line_all(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hits,
                   u32 capacity);

/* Shape casts and overlaps. The query shape must be convex (shape_is_convex); others give no
 * result. Bodies may have any shape; planes are solid below, meshes and terrains are two-sided
 * surfaces. */

typedef struct CastHit {
    BodyId body;
    f32 fraction; /* of the motion at the first contact, 0..1; 0 if they overlap at the start */
    Vec3 point;   /* m, world, contact point at that time */
    Vec3 normal;  /* unit, outwards from the body, against the motion */
    u32 part;     /* child of a compound, triangle of a mesh or terrain, else 0 */
} CastHit;

/* First body hit by the shape moving by `motion` (m), without rotation: at equal fractions the
 * lower slot. */
bool rigid_cast_any(const Rigid *rigid, const ShapePose *shape, Vec3 motion,
                    const QueryFilter *filter);
bool rigid_cast(const Rigid *rigid, const ShapePose *shape, Vec3 motion, const QueryFilter *filter,
                CastHit *hit);

/* Bodies that the shape overlaps exactly (rigid_overlaps tests bounds only). All: slots
 * ascending, at most `capacity`, the lowest; returns their number. */
bool rigid_overlap_any(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter);
u32 rigid_overlap_all(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter,
                      BodyId *bodies, u32 capacity);

/* Bodies that contain a point: solids, including closed meshes; below planes, and below terrains
 * within their bounds. */
bool rigid_point_any(const Rigid *rigid, Vec3 point, const QueryFilter *filter);
u32 rigid_point_all(const Rigid *rigid, Vec3 point, const QueryFilter *filter, BodyId *bodies,
                    u32 capacity);

typedef struct NearHit {
    BodyId body;
    f32 distance;  /* m between the surfaces, negative: penetration depth */
    Vec3 on_shape; /* m, world: the nearest points */
    Vec3 on_body;
    Vec3 normal; /* unit, from the body to the shape */
    u32 part;
} NearHit;

/* The body whose surface is nearest to (or, overlapping, deepest in) the shape, if nearer than
 * `max` m: at equal distances the lower slot. */
bool rigid_nearest(const Rigid *rigid, const ShapePose *shape, f32 max, const QueryFilter *filter,
                   NearHit *hit);

#endif
