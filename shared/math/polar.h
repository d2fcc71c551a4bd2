/*
 * polar.h: polar decomposition and eigenvectors with + − × ÷ √ only.
 * Layer: shared/math.
 */
#ifndef PLENUM_SHARED_MATH_POLAR_H
#define PLENUM_SHARED_MATH_POLAR_H

#include "shared/math/symmetric.h"

enum {
    EIGEN_MAX = 9
};

PL_BEGIN_C
/* The rotation R nearest to A: it maximizes trace(RᵀA), like that of the polar decomposition A =
 * R S. In contrast to that it is always a proper rotation, also for flat and inverted matrices,
 * and does not flip between steps of a simulation, since the search starts from `start` (Müller
 * et al. 2016, "A robust method to extract the rotational part of deformations"). Where the
 * function is concave, their step is replaced by a Newton step, so a warm start needs two.
 * Within 1e-6 rad of a maximum; returns `start` for a zero or non-finite matrix. */
Quat polar_rotation(Mat3 a, Quat start);
/* Cube root of x > 0, relative error below 1e-6. */
f32 cube_root(f32 x);
/* Eigenvalues and eigenvectors of the symmetric matrix m [n × n], n ≤ EIGEN_MAX, by Jacobi
 * rotations: m = Σ value[k] v vᵀ with v = vector[row × n + k]. Destroys m. */
void eigen_symmetric(f64 *m, u32 n, f64 *value, f64 *vector);
PL_END_C

#endif
