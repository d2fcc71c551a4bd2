/*
 * soft_mesh_check.h: results of the makers of soft meshes, and volumes. Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SOFT_MESH_CHECK_H
#define PLENUM_TESTS_SUPPORT_SOFT_MESH_CHECK_H

#include "shared/base/error.h"
#include "shared/soft/soft_mesh.h"

#include <string.h>

static inline void expect_ok(int code, const ErrorText *error)
{
    if (code != ERROR_OK) {
        fail_msg("error %d: %s", code, error->text);
    }
}

static inline void expect_error(int code, Error expected, const ErrorText *error, const char *words)
{
    if (code != (int)expected || strstr(error->text, words) == NULL) {
        fail_msg("got %d: '%s', expected %d: '%s'", code, error->text, (int)expected, words);
    }
}

/* m³, positive for corners in the usual order. */
static inline f64 tetrahedron_volume(const SoftMesh *mesh, u32 t)
{
    const u32 *c = &mesh->tetrahedra[4 * t];
    Vec3 a = mesh->points[c[0]], u = vec3_sub(mesh->points[c[1]], a);
    Vec3 v = vec3_sub(mesh->points[c[2]], a), w = vec3_sub(mesh->points[c[3]], a);
    return (f64)vec3_dot(vec3_cross(u, v), w) / 6.0;
}

#endif
