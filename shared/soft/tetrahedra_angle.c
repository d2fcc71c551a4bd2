/* tetrahedra_angle.c: the smallest dihedral angle of tetrahedra. */
#include "shared/soft/tetrahedra_angle.h"

#include "shared/math/trig.h"
#include "shared/math/vec3d.h"
#include "shared/soft/tetrahedralize.h"

#include <math.h>

static Vec3d from(Vec3 a, Vec3 p)
{
    return vec3d_sub(vec3d_from(p), vec3d_from(a));
}

f64 tetrahedron_sharpest_cosine(const Vec3 *points, const u32 corner[4])
{
    Vec3 a = points[corner[0]];
    Vec3d b = from(a, points[corner[1]]), c = from(a, points[corner[2]]);
    Vec3d d = from(a, points[corner[3]]);
    Vec3d normal[4] = {
        {0}, vec3d_cross(c, d), vec3d_cross(d, b), vec3d_cross(b, c)}; /* all inwards */
    f64 length[4], largest = -1.0;
    if (!(vec3d_dot(normal[1], b) > 0.0)) {
        return 2.0;
    }
    normal[0] =
        (Vec3d){-normal[1].x - normal[2].x - normal[3].x, -normal[1].y - normal[2].y - normal[3].y,
                -normal[1].z - normal[2].z - normal[3].z};
    for (u32 i = 0; i < 4; i++) {
        length[i] = vec3d_length(normal[i]);
    }
    for (u32 i = 0; i < 4; i++) {
        for (u32 k = i + 1; k < 4; k++) {
            largest = fmax(largest, -vec3d_dot(normal[i], normal[k]) / (length[i] * length[k]));
        }
    }
    return largest;
}

f32 tetrahedra_dihedral_degrees(const Vec3 *points, const u32 *tetrahedra, u32 count)
{
    f64 largest = -1.0;
    for (u32 t = 0; t < count; t++) {
        f64 cosine = tetrahedron_sharpest_cosine(points, &tetrahedra[4 * (size_t)t]);
        if (!(cosine <= 1.0 + 1e-9)) {
            return 0.0f;
        }
        largest = fmax(largest, cosine);
    }
    return count == 0 ? 0.0f : (f32)(trig_acos(largest) * 57.29577951308232);
}
