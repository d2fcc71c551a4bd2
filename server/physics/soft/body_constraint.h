/*
 * body_constraint.h: constraints on a body as a whole: gas pressure and shape matching.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BODY_CONSTRAINT_H
#define PLENUM_SERVER_PHYSICS_SOFT_BODY_CONSTRAINT_H

#include "server/physics/soft/soft_internal.h"

#include "shared/math/symmetric.h"

enum {
    MATCH_TERMS_MAX = 9
};

/* Dynamic state. Serialized and hashed: four-byte numbers only, no padding. */
typedef struct BodyConstraintState {
    f32 pressure;  /* Pa, gauge pressure in the last step */
    f32 expected;  /* m³, predicted volume at the end of that step if only the gas acted after
                      it; 0: none */
    f32 age_s;     /* of the inflation */
    Quat rotation; /* of the matched shape, the initial guess of the next search */
    Mat3 plastic;  /* plastic deformation of the rest shape, determinant 1 */
} BodyConstraintState;

/* The rest shape of a matched body: functions of the rest position, each with mass-weighted mean
 * 0, in units of `size`: x, y, z, and for quadratic matching x², y², z², xy, yz, zx. */
typedef struct Match {
    u32 terms;  /* 3 or 9; 0: this body is not matched */
    f32 size;   /* m */
    f32 *basis; /* [terms][padded], 32-byte aligned */
    f32 *mass;  /* [padded] kg; 0 in the padding. A pinned point weighs as much as the body */
    u32 padded; /* a multiple of 8 */
    Vec3 *plastic_offsets;     /* [particles] m, plastic offsets of the rest position, in its
                                  frame; NULL: no yielding. State, like `plastic` */
    bool pinned;               /* some point is */
    Symmetric3 moments;        /* kg m², Σ mass x xᵀ at rest */
    f32 mass_kg;               /* total */
    f32 inverse[9 * 9];        /* [terms][terms] pseudo-inverse of Σ mass basis basisᵀ */
    Symmetric3 inverse_linear; /* the same of x, y, z alone */
    Symmetric3 flat;           /* projection onto the directions that the points do not span */
} Match;

struct BodyConstraints {
    BodyConstraintState *states; /* [body_count] */
    Match *matches;              /* [body_count] */
    Vec3 *gradient;              /* [particles] m², of the volume */
    u32 body_count;
};

/* ---- pressure.c ---- */

/* Volume (m³; m² of a ring, whose depth is 1 m) at the current positions. */
f64 pressure_volume(const Soft *soft, const SoftBody *body, SoftVolume way);
void pressure_solve(Soft *soft, u32 body, f32 h);
/* n R T: P V of the gas, J, as far as it has been inflated; */
f64 pressure_amount_now(const Soft *soft, u32 body);
/* P V of the gas in this step, J, while it may still be inflating. */
f64 pressure_amount(Soft *soft, u32 body);

/* ---- match.c ---- */

/* 0 or ERROR_MEMORY. */
int match_create(const Soft *soft, const SoftBody *body, Match *match);
/* Computes the rest shape from the initial positions of the points and their plastic offsets. */
void match_shape(const Soft *soft, const SoftBody *body, Match *match);
void match_finish(Match *match);
void match_solve(Soft *soft, u32 body, f32 h);

#endif
