/*
 * build.h: the parts of soft_add: validation of a definition, and its constraints.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BUILD_H
#define PLENUM_SERVER_PHYSICS_SOFT_BUILD_H

#include "server/physics/soft/soft_internal.h"

#include "shared/base/error.h"

/* A body under construction. */
typedef struct Maker {
    Soft *soft;
    SoftBody *body;
    const SoftDef *def;
    ErrorText *error;
    int result; /* first error; nothing is added after it */
} Maker;

/* Geometry of a mesh by point indices. */
static inline f32 soft_triangle_area(const Vec3 *points, const u32 p[3])
{
    Vec3 side = vec3_sub(points[p[1]], points[p[0]]);
    return 0.5f * vec3_length(vec3_cross(side, vec3_sub(points[p[2]], points[p[0]])));
}

/* Signed. */
static inline f32 soft_tetrahedron_volume(const Vec3 *points, const u32 p[4])
{
    Vec3 a = vec3_sub(points[p[1]], points[p[0]]), b = vec3_sub(points[p[2]], points[p[0]]);
    return vec3_dot(vec3_cross(a, b), vec3_sub(points[p[3]], points[p[0]])) / 6.0f;
}

/* build_check.c: 0 or an error that names the field, or the part of the mesh. */
int build_check(const Soft *soft, const Collider *holder, const SoftDef *def, ErrorText *error);

/* build_links.c: adds all constraints of maker->body except tethers. Rest lengths are those of
 * soft->rest. */
void build_links(Maker *maker);
void maker_add_distance(Maker *maker, u32 a, u32 b, f32 low, f32 high, f32 compliance,
                        ConstraintRole role);

/* build_tethers.c: adds long-range attachments to a body whose links exist (Kim, Chentanez,
 * Müller 2012): no point gets farther from a pin than along the edges at rest. */
void build_tethers(Maker *maker);

#endif
