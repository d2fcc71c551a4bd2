/* geometry_mass.c: sums over signed tetrahedra. */
#include "shared/geometry/geometry_mass.h"

#include <string.h>

void solid_sum_init(SolidSum *sum, Vec3 origin)
{
    memset(sum, 0, sizeof *sum);
    sum->origin[0] = (f64)origin.x;
    sum->origin[1] = (f64)origin.y;
    sum->origin[2] = (f64)origin.z;
}

static void from_origin(const SolidSum *sum, Vec3 p, f64 out[3])
{
    out[0] = (f64)p.x - sum->origin[0];
    out[1] = (f64)p.y - sum->origin[1];
    out[2] = (f64)p.z - sum->origin[2];
}

/* Over a tetrahedron with corners 0, a, b, c: ∫ xᵢ xⱼ = V/20 (Σ vᵢ vⱼ + (Σ vᵢ)(Σ vⱼ)). */
void solid_sum_add(SolidSum *sum, Vec3 corner_a, Vec3 corner_b, Vec3 corner_c)
{
    f64 a[3], b[3], c[3];
    from_origin(sum, corner_a, a);
    from_origin(sum, corner_b, b);
    from_origin(sum, corner_c, c);
    f64 volume = (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
                  a[2] * (b[0] * c[1] - b[1] * c[0])) /
                 6.0;
    sum->volume += volume;
    for (int i = 0; i < 3; i++) {
        f64 s = a[i] + b[i] + c[i];
        sum->first[i] += volume * 0.25 * s;
        for (int j = i; j < 3; j++) {
            f64 products = a[i] * a[j] + b[i] * b[j] + c[i] * c[j];
            sum->second[i][j] += volume * 0.05 * (products + s * (a[j] + b[j] + c[j]));
        }
    }
}

void solid_sum_add_solid(SolidSum *sum, f32 volume, Vec3 centre, const Symmetric3 *inertia)
{
    f64 p[3];
    from_origin(sum, centre, p);
    f64 v = (f64)volume;
    /* Second moments from the inertia: ∫ x² = (Iyy + Izz − Ixx) / 2, ∫ x y = −Ixy. */
    f64 xx = (f64)inertia->xx, yy = (f64)inertia->yy, zz = (f64)inertia->zz;
    f64 own[3][3] = {{0.5 * (yy + zz - xx), -(f64)inertia->xy, -(f64)inertia->xz},
                     {0.0, 0.5 * (xx + zz - yy), -(f64)inertia->yz},
                     {0.0, 0.0, 0.5 * (xx + yy - zz)}};
    sum->volume += v;
    for (int i = 0; i < 3; i++) {
        sum->first[i] += v * p[i];
        for (int j = i; j < 3; j++) {
            sum->second[i][j] += own[i][j] + v * p[i] * p[j];
        }
    }
}

void solid_sum_finish(const SolidSum *sum, Geometry *geometry)
{
    geometry->volume = 0.0f;
    geometry->centre = vec3_zero();
    geometry->inertia = symmetric_diagonal(vec3_zero());
    f64 v = sum->volume;
    if (!(v > 1e-30)) {
        return;
    }
    f64 c[3] = {sum->first[0] / v, sum->first[1] / v, sum->first[2] / v};
    f64 m[3][3];
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++) {
            m[i][j] = sum->second[i][j] - v * c[i] * c[j];
        }
    }
    geometry->volume = (f32)v;
    geometry->centre = vec3((f32)(sum->origin[0] + c[0]), (f32)(sum->origin[1] + c[1]),
                            (f32)(sum->origin[2] + c[2]));
    geometry->inertia = (Symmetric3){(f32)(m[1][1] + m[2][2]),
                                     (f32)(m[0][0] + m[2][2]),
                                     (f32)(m[0][0] + m[1][1]),
                                     (f32)-m[0][1],
                                     (f32)-m[0][2],
                                     (f32)-m[1][2]};
}
