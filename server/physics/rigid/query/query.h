/*
 * query.h: questions to a rigid world between two ticks: which bodies a ray, a segment or a line
 * meets, what a moved shape runs into, what a shape overlaps, what is nearest. Each comes as a
 * cheap yes/no (…_any) and as the nearest answer; rays also list all bodies they pass.
 * Nothing changes the world, and answers do not depend on the shape of the trees: of equal
 * distances the lower slot wins. Sleeping bodies answer like awake ones. A filter of NULL lets all
 * bodies pass. Numbers that are not finite get no answer.
 * Layer: server/physics/rigid/query.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_H
#define PLENUM_SERVER_PHYSICS_RIGID_QUERY_QUERY_H

#include "server/physics/rigid/narrow/manifold.h"
#include "server/physics/rigid/rigid.h"

/* The last word on a body that passed the rest of the filter. It may not change the world. */
typedef bool QueryAccept(void *context, BodyId body);

typedef struct QueryFilter {
    u32 mask;       /* bits: only bodies with one of these groups; 0 is taken as all */
    BodyId exclude; /* generation 0: none */
    bool skip_sensors;
    QueryAccept *accept; /* may be NULL */
    void *context;
} QueryFilter;

typedef struct QueryHit {
    BodyId body;
    f32 distance; /* m along the ray; of a line negative behind its origin */
    Vec3 point;   /* m, world */
    Vec3 normal;  /* unit, outwards; against the ray where it starts inside (distance 0) */
    u32 part;     /* child of a compound, triangle of a mesh or terrain, else 0 */
} QueryHit;

/* A ray from its origin along its unit direction, at most `max` m. */
bool rigid_ray_any(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter);
bool rigid_ray(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hit);
/* The nearest `capacity` bodies, each where the ray enters it first, sorted by (distance, slot);
 * returns how many. */
u32 rigid_ray_all(const Rigid *rigid, Ray ray, f32 max, const QueryFilter *filter, QueryHit *hits,
                  u32 capacity);

/* From point to point, both included. */
bool rigid_segment_any(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter);
bool rigid_segment(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter,
                   QueryHit *hit);
u32 rigid_segment_all(const Rigid *rigid, Vec3 from, Vec3 to, const QueryFilter *filter,
                      QueryHit *hits, u32 capacity);

/* The whole line through the ray's origin, both ways to the end of the world. The nearest hit is
 * the one nearest to the origin (ahead wins a tie); all are sorted by (distance, slot), and a body
 * that the line meets on both sides of the origin is listed twice. */
bool rigid_line_any(const Rigid *rigid, Ray line, const QueryFilter *filter);
bool rigid_line(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hit);
u32 rigid_line_all(const Rigid *rigid, Ray line, const QueryFilter *filter, QueryHit *hits,
                   u32 capacity);

/*
 * Moved and resting shapes. The shape asked about must be convex (shape_is_convex); for others
 * there is no answer. Bodies may be anything; planes are solid below, meshes and terrains count as
 * surfaces, stopped by from both sides.
 */

typedef struct CastHit {
    BodyId body;
    f32 fraction; /* of the motion at the first touch, 0..1; 0 if they overlap at the start */
    Vec3 point;   /* m, world, where they touch then */
    Vec3 normal;  /* unit, outwards from the body, against the motion */
    u32 part;     /* child of a compound, triangle of a mesh or terrain, else 0 */
} CastHit;

/* What the shape runs into on its way by `motion` (m), without turning: of equal fractions the
 * lower slot. */
bool rigid_cast_any(const Rigid *rigid, const ShapePose *shape, Vec3 motion,
                    const QueryFilter *filter);
bool rigid_cast(const Rigid *rigid, const ShapePose *shape, Vec3 motion, const QueryFilter *filter,
                CastHit *hit);

/* Bodies that the shape really touches (rigid_overlaps asks for bounds only). All: slots ascending,
 * at most `capacity`, the lowest; returns how many. */
bool rigid_overlap_any(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter);
u32 rigid_overlap_all(const Rigid *rigid, const ShapePose *shape, const QueryFilter *filter,
                      BodyId *bodies, u32 capacity);

/* Bodies that hold a point: solids, closed meshes too; below planes, and below terrains within
 * their bounds. */
bool rigid_point_any(const Rigid *rigid, Vec3 point, const QueryFilter *filter);
u32 rigid_point_all(const Rigid *rigid, Vec3 point, const QueryFilter *filter, BodyId *bodies,
                    u32 capacity);

typedef struct NearHit {
    BodyId body;
    f32 distance;  /* m between the surfaces, negative: depth of overlap */
    Vec3 on_shape; /* m, world: the points nearest to each other */
    Vec3 on_body;
    Vec3 normal; /* unit, from the body to the shape */
    u32 part;
} NearHit;

/* The body whose surface is nearest to (or, overlapping, deepest in) the shape, if nearer than
 * `max` m: of equal distances the lower slot. */
bool rigid_nearest(const Rigid *rigid, const ShapePose *shape, f32 max, const QueryFilter *filter,
                   NearHit *hit);

#endif
