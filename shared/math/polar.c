/* polar.c: see polar.h. */
#include "shared/math/polar.h"

#include <string.h>

enum {
    STEPS_MAX = 40,
    SWEEPS_MAX = 30
};

/* Derivatives of trace(RᵀA) under rotations by ω about R: it changes by τ·ω − ½ ωᵀ H ω. */
static void derivatives(Mat3 a, Mat3 r, Vec3 *t, Symmetric3 *h)
{
    *t = vec3_add(vec3_add(vec3_cross(r.x, a.x), vec3_cross(r.y, a.y)), vec3_cross(r.z, a.z));
    f32 xx = a.x.x * r.x.x + a.y.x * r.y.x + a.z.x * r.z.x;
    f32 yy = a.x.y * r.x.y + a.y.y * r.y.y + a.z.y * r.z.y;
    f32 zz = a.x.z * r.x.z + a.y.z * r.y.z + a.z.z * r.z.z;
    f32 xy = a.x.x * r.x.y + a.y.x * r.y.y + a.z.x * r.z.y;
    f32 yx = a.x.y * r.x.x + a.y.y * r.y.x + a.z.y * r.z.x;
    f32 xz = a.x.x * r.x.z + a.y.x * r.y.z + a.z.x * r.z.z;
    f32 zx = a.x.z * r.x.x + a.y.z * r.y.x + a.z.z * r.z.x;
    f32 yz = a.x.y * r.x.z + a.y.y * r.y.z + a.z.y * r.z.z;
    f32 zy = a.x.z * r.x.y + a.y.z * r.y.y + a.z.z * r.z.y;
    *h = (Symmetric3){yy + zz,           xx + zz,           xx + yy,
                      -0.5f * (xy + yx), -0.5f * (xz + zx), -0.5f * (yz + zy)};
}

/* Solves h⁻¹ t if h is safely positive definite; otherwise false. h belongs to a matrix of norm
 * 1. */
static bool solve(const Symmetric3 *h, Vec3 t, Vec3 *rotation)
{
    const f32 least = 1e-5f;
    f32 minor = h->xx * h->yy - h->xy * h->xy;
    f32 c0 = h->yy * h->zz - h->yz * h->yz, c1 = h->xz * h->yz - h->xy * h->zz;
    f32 c2 = h->xy * h->yz - h->xz * h->yy;
    f32 determinant = h->xx * c0 + h->xy * c1 + h->xz * c2;
    if (!(h->xx > least && minor > least * h->xx && determinant > least * minor)) {
        return false;
    }
    Symmetric3 inverse = symmetric_inverse(h);
    *rotation = symmetric_mul(&inverse, t);
    return true;
}

/* An axis of positive curvature at a saddle point, used to leave it. */
static Vec3 way_out(const Symmetric3 *h)
{
    if (h->xx <= h->yy && h->xx <= h->zz) {
        return vec3(1.0f, 0.0f, 0.0f);
    }
    return h->yy <= h->zz ? vec3(0.0f, 1.0f, 0.0f) : vec3(0.0f, 0.0f, 1.0f);
}

Quat polar_rotation(Mat3 a, Quat start)
{
    f32 size = sqrtf(vec3_dot(a.x, a.x) + vec3_dot(a.y, a.y) + vec3_dot(a.z, a.z));
    if (!(size > 1e-18f && size < 1e18f)) {
        return start;
    }
    f32 per = 1.0f / size;
    a = (Mat3){vec3_scale(a.x, per), vec3_scale(a.y, per), vec3_scale(a.z, per)};
    Quat q = quat_normalize(start);
    for (u32 step = 0; step < STEPS_MAX; step++) {
        Vec3 t, rotation;
        Symmetric3 h;
        derivatives(a, mat3_from_quat(q), &t, &h);
        /* Damped until it is an ascent direction: eigenvalues of h are above −2. */
        f32 lift = 0.0f;
        while (!solve(&h, t, &rotation)) {
            f32 more = lift == 0.0f ? 2e-4f : 4.0f * lift;
            h.xx += more;
            h.yy += more;
            h.zz += more;
            lift += more;
        }
        f32 angle = vec3_length(rotation);
        if (angle < 1e-6f) {
            if (lift < 1e-2f) {
                break;
            }
            rotation = way_out(&h);
        } else if (angle > 1.0f) {
            rotation = vec3_scale(rotation, 1.0f / angle);
        }
        q = quat_integrate(q, rotation, 1.0f);
        if (angle < 3e-4f && lift == 0.0f) {
            break; /* Newton: the remaining error is its square */
        }
    }
    return q;
}

f32 cube_root(f32 x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    bits = bits / 3 + 709921077u; /* a third of the exponent: within 6 % */
    f32 y;
    memcpy(&y, &bits, sizeof y);
    for (u32 i = 0; i < 3; i++) {
        y = (2.0f * y + x / (y * y)) / 3.0f;
    }
    return y;
}

/* Rotates rows and columns p and q so that m[p][q] becomes 0. */
static void rotate(f64 *m, u32 n, f64 *vector, u32 p, u32 q)
{
    f64 off = m[p * n + q];
    if (off == 0.0) {
        return;
    }
    f64 half = (m[q * n + q] - m[p * n + p]) / (2.0 * off);
    f64 t = 1.0 / ((half < 0.0 ? -half : half) + sqrt(half * half + 1.0));
    t = half < 0.0 ? -t : t;
    f64 c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (u32 k = 0; k < n; k++) {
        f64 a = m[k * n + p], b = m[k * n + q];
        m[k * n + p] = c * a - s * b;
        m[k * n + q] = s * a + c * b;
    }
    for (u32 k = 0; k < n; k++) {
        f64 a = m[p * n + k], b = m[q * n + k];
        m[p * n + k] = c * a - s * b;
        m[q * n + k] = s * a + c * b;
        a = vector[k * n + p];
        b = vector[k * n + q];
        vector[k * n + p] = c * a - s * b;
        vector[k * n + q] = s * a + c * b;
    }
}

void eigen_symmetric(f64 *m, u32 n, f64 *value, f64 *vector)
{
    for (u32 i = 0; i < n * n; i++) {
        vector[i] = i / n == i % n ? 1.0 : 0.0;
    }
    for (u32 sweep = 0; sweep < SWEEPS_MAX; sweep++) {
        f64 off = 0.0, sum = 0.0;
        for (u32 i = 0; i < n * n; i++) {
            f64 *part = i / n == i % n ? &sum : &off;
            *part += m[i] * m[i];
        }
        if (off <= 1e-30 * sum) {
            break;
        }
        for (u32 p = 0; p < n; p++) {
            for (u32 q = p + 1; q < n; q++) {
                rotate(m, n, vector, p, q);
            }
        }
    }
    for (u32 k = 0; k < n; k++) {
        value[k] = m[k * n + k];
    }
}
