/*
 * body_constraint.h: what acts on a body as a whole: the gas in it, and the shape it goes back to.
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_BODY_CONSTRAINT_H
#define PLENUM_SERVER_PHYSICS_SOFT_BODY_CONSTRAINT_H

#include "server/physics/soft/soft_internal.h"

#include "shared/math/symmetric.h"

enum {
    MATCH_TERMS_MAX = 9
};

/* What changes. Walked and hashed: numbers of four bytes only, no padding. */
typedef struct BodyConstraintState {
    f32 pressure;  /* Pa above the air's: what pushed in the last step */
    f32 expected;  /* m³ at the end of that step if nothing but the gas had acted after it; 0: none
                   */
    f32 age_s;     /* of the inflation */
    Quat rotation; /* of the matched shape, where the next search starts */
    Mat3 plastic;  /* what has become of the rest shape, of determinant 1 */
} BodyConstraintState;

/* The rest shape of a matched body: functions of the rest position, each of mean 0 over the mass,
 * in units of `size`: x, y, z, and for quadratic matching x², y², z², xy, yz, zx. */
typedef struct Match {
    u32 terms;  /* 3 or 9; 0: this body is not matched */
    f32 size;   /* m */
    f32 *basis; /* [terms][padded], 32-byte aligned */
    f32 *mass;  /* [padded] kg; 0 in the padding. What is pinned weighs as all the rest */
    u32 padded; /* a multiple of 8 */
    Vec3 *plastic_offsets;     /* [particles] m, what has yielded of the rest position, in its
                                     frame; NULL: nothing yields. State, as a whole's is */
    bool pinned;               /* some of it is */
    Symmetric3 moments;        /* kg m², Σ mass x xᵀ at rest */
    f32 mass_kg;               /* their sum */
    f32 inverse[9 * 9];        /* [terms][terms] pseudo-inverse of Σ mass basis basisᵀ */
    Symmetric3 inverse_linear; /* the same of x, y, z alone */
    Symmetric3 flat;           /* projection onto the directions that the points do not fill */
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
/* P V of the gas in this step, J, which may still be let in. */
f64 pressure_amount(Soft *soft, u32 body);

/* ---- match.c ---- */

/* 0 or ERROR_MEMORY. */
int match_create(const Soft *soft, const SoftBody *body, Match *match);
/* The rest shape, from where the points were made and their dents. */
void match_shape(const Soft *soft, const SoftBody *body, Match *match);
void match_finish(Match *match);
void match_solve(Soft *soft, u32 body, f32 h);

#endif
