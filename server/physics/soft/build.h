/*
 * build.h: the parts of soft_add: what may be in a definition, and the constraints it makes.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BUILD_H
#define PLENUM_SERVER_PHYSICS_SOFT_BUILD_H

#include "server/physics/soft/soft_internal.h"

#include "shared/base/error.h"

/* A body while its constraints are made. */
typedef struct Maker {
    Soft *soft;
    SoftBody *body;
    const SoftDef *def;
    ErrorText *error;
    int result; /* the first error; nothing is added after it */
} Maker;

/* Geometry of a mesh by the indices of its points. */
f32 soft_triangle_area(const Vec3 *points, const u32 p[3]);
f32 soft_tetrahedron_volume(const Vec3 *points, const u32 p[4]); /* signed */

/* build_check.c: 0 or an error that names the field, or the part of the mesh. */
int build_check(const Soft *soft, const Rigid *rigid, const SoftDef *def, ErrorText *error);

/* build_links.c: all constraints of maker->body but the tethers. Rest lengths are those of
 * soft->rest. */
void build_links(Maker *maker);
void maker_add_distance(Maker *maker, u32 a, u32 b, f32 low, f32 high, f32 compliance,
                        ConstraintRole role);

/* build_tethers.c: long-range attachments of a body whose links are made (Kim, Chentanez, Müller
 * 2012): no point gets farther from a pin than along the edges at rest. */
void build_tethers(Maker *maker);

#endif
