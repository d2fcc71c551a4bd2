/*
 * constraint.h: every kind of constraint, one at a time: its function C, its gradients, and the
 * projections that use them. The wide batches of batches.c do the same eight at a time. A
 * constraint has one row, stable Neo-Hookean material two. Everything depends only on differences
 * of positions: gradients sum to 0, and projections preserve linear momentum, and angular momentum
 * about the predicted positions, to rounding.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_CONSTRAINT_H
#define PLENUM_SERVER_PHYSICS_SOFT_CONSTRAINT_H

#include "server/physics/soft/soft_internal.h"

enum {
    CONSTRAINT_ROWS_MAX = 2
};

/* What C and its gradients are at some positions.
 *   DISTANCE     length beyond [low, high], 0 within                      m
 *   DIHEDRAL     signed angle between the normals − low, in (−π, π]       rad
 *   ISOMETRIC    |Σ value[k] x[k]| − low (Bergou et al. 2006: the energy is quadratic in it; for
 *                low 0 the gradient's direction does not matter, as C is a length)
 *   AREA         area − low                                               m²
 *   VOLUME       signed volume − low                                      m³
 *   NEO_HOOKEAN  row 0: |F|, √(trace FᵀF); row 1: det F − 1 − value[9]. F = [x1−x0 x2−x0 x3−x0] B
 *                with B[r][c] = value[3 r + c]; value[9] is μ / λ; low the rest volume. Their
 *                compliances are α and α value[9] with α = 1 / (μ low). (Macklin & Müller 2021) */
typedef struct ConstraintRows {
    u32 points; /* of gradient: 2..4 */
    u32 rows;   /* 0: no gradient here, as at length 0: nothing to project */
    f32 value[CONSTRAINT_ROWS_MAX];
    f32 factor[CONSTRAINT_ROWS_MAX]; /* of the constraint's compliance */
    Vec3 gradient[CONSTRAINT_ROWS_MAX][4];
} ConstraintRows;

/* 2..4 */
u32 constraint_points(u32 kind);
/* Evaluates C and its gradients. x: [constraint_points] m, relative to the first point (x[0] is
 * 0), which keeps precision far from the origin. shape: for kinds that have one, else NULL. */
void constraint_evaluate(const SoftConstraint *constraint, const SoftShape *shape, const Vec3 x[4],
                         ConstraintRows *rows);
/* NULL for kinds without. */
static inline const SoftShape *constraint_shape(const Soft *soft, const SoftConstraint *constraint)
{
    return constraint->shape == SOFT_NONE ? NULL : &soft->shapes[constraint->shape];
}
/* Σ w |∇C|² of the first row, with the particles' inverse masses w. */
f32 constraint_mobility(const Soft *soft, const SoftConstraint *c, const ConstraintRows *rows);

/* Hinges are the constraints between two triangles, of kinds DIHEDRAL and ISOMETRIC. Their `high`
 * is compliance / Σ w |∇C|² at rest, s²: the square of the time in which one swings by a radian.
 * One that is far stiffer than a step resolves is rigid: projected twice a step, in order and in
 * the opposite order, each time with half its stiffness. A sweep in one order is no symmetric map:
 * on curved surfaces it has complex eigenvalues, and velocities grow by themselves. (Law
 * bend/shaken: without it 71 of 600 gain; at a limit of 0.1 h² at least 3, at 0.2 h² 1, isometric,
 * which needs more than h². Dihedrals at 0.5 h² and above keep an inflated ring on the ground from
 * rest: scene balloons.) */
#define CONSTRAINT_RIGID_DIHEDRAL  0.2f
#define CONSTRAINT_RIGID_ISOMETRIC 4.0f
static inline bool constraint_is_hinge(u32 kind)
{
    return kind == CONSTRAINT_DIHEDRAL || kind == CONSTRAINT_ISOMETRIC;
}
static inline f32 constraint_rigid_limit(u32 kind)
{
    return kind == CONSTRAINT_DIHEDRAL ? CONSTRAINT_RIGID_DIHEDRAL : CONSTRAINT_RIGID_ISOMETRIC;
}
/* scale: the role's factor / h² */
static inline bool constraint_rigid_hinge(const SoftConstraint *constraint, f32 scale)
{
    return constraint_is_hinge(constraint->kind) &&
           constraint->high * scale < constraint_rigid_limit(constraint->kind);
}
/* What bends a rigid dihedral back is not faster than this, rad/s: a triangle that is turned over
 * within its plane changes an angle by π without any work, which would be given back as energy. */
#define CONSTRAINT_HINGE_RAD_S 30.0f
/* Computes positions at the end of a step of h s, relative to the first point. */
void constraint_gather(const Soft *soft, const SoftConstraint *constraint, f32 h, Vec3 x[4]);

/* One XPBD iteration (Macklin, Müller, Chentanez 2016, eq. 18) on velocities, for a step of h s:
 * Δλ = (−C − α/h² λ) / (Σ w |∇C|² + α/h²), v += w ∇C Δλ / h, with α times the role's factor. The
 * rows of Neo-Hookean material are solved together, so that nothing moves at rest. multiplier:
 * [CONSTRAINT_ROWS_MAX], in and out; λ/h² is the force where |∇C| is 1. NULL: starts at 0 and is
 * discarded, as with one iteration per step; a rigid hinge then has one of its two. */
void constraint_project(Soft *soft, const SoftConstraint *constraint, f32 h, f32 *multiplier);
/* One iteration of plain PBD (Müller et al. 2007): Δx = −stiffness w ∇C C / Σ w |∇C|².
 * Compliance is ignored, but a negative one disables the constraint. Neo-Hookean material: |F|
 * goes to √3, then det F to 1. */
void constraint_project_pbd(Soft *soft, const SoftConstraint *constraint, f32 h, f32 stiffness);

#endif
