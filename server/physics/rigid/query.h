/*
 * query.h: questions to a rigid world between two ticks: which bodies a ray, a segment or a line
 * meets, what a moved shape runs into, what a shape overlaps, what is nearest. Each comes as a
 * cheap yes/no (…_any) and as the nearest answer; rays also list all bodies they pass.
 * Nothing changes the world, and answers do not depend on the shape of the trees: of equal
 * distances the lower slot wins. Sleeping bodies answer like awake ones. A filter of NULL lets all
 * bodies pass. Numbers that are not finite get no answer.
 * Layer: server/physics/rigid.
 */
#ifndef PLENUM_SERVER_PHYSICS_RIGID_QUERY_H
#define PLENUM_SERVER_PHYSICS_RIGID_QUERY_H

#include "server/physics/rigid/manifold.h"
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

#endif
