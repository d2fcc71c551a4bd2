/*
 * polar.h: the rotation in a matrix, and eigenvectors, with + − × ÷ √ only.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_POLAR_H
#define PLENUM_SHARED_MATH_POLAR_H

#include "shared/math/symmetric.h"

enum {
    EIGEN_MAX = 9
};

PL_BEGIN_C
/* The rotation R nearest to A: it maximizes trace(RᵀA), as that of the polar decomposition A = R S.
 * Unlike that it is always a proper rotation, also of flat and inverted matrices, and from one step
 * of a simulation to the next it does not flip, as it is sought from `start` on (Müller et al.
 * 2016, "A robust method to extract the rotational part of deformations"). Their step is made a
 * Newton step where the function curves down, so that a warm start needs two. Within 1e-6 rad of a
 * maximum; `start` for a zero matrix or one that is not finite. */
Quat polar_rotation(Mat3 a, Quat start);
/* Cube root of x > 0, relative error below 1e-6. */
f32 cube_root(f32 x);
/* Eigenvalues and eigenvectors of the symmetric matrix m [n × n], n ≤ EIGEN_MAX, by Jacobi's
 * rotations: m = Σ value[k] v vᵀ with v = vector[row × n + k]. Destroys m. */
void eigen_symmetric(f64 *m, u32 n, f64 *value, f64 *vector);
PL_END_C

#endif
