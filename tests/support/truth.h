/*
 * truth.h: laws of physics checked for random cases. A law is a function that draws the parameters
 * of one case (sizes, speeds, masses, rates), simulates it and returns the error against the law;
 * the largest error counts. `make test` tries a few cases of each law, `plenum-bench truth` many,
 * and prints the worst of each. A case is a pure function of (law, number), so that it can be
 * repeated: `plenum-bench truth --case N NAME`.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_TRUTH_H
#define PLENUM_TESTS_SUPPORT_TRUTH_H

#include "shared/base/base.h"
#include "shared/math/quat.h"

/* One case of a law: its random numbers are drawn in order. */
typedef struct TruthCase {
    u64 seed, counter;
    char about[320]; /* parameters of the case, for the table; written by the law */
} TruthCase;

f32 truth_range(TruthCase *c, f32 low, f32 high);
/* Uniform in the logarithm: sizes and masses over decades. 0 < low < high. */
f32 truth_log_range(TruthCase *c, f32 low, f32 high);
/* 0 .. count − 1. */
u32 truth_pick(TruthCase *c, u32 count);
Vec3 truth_direction(TruthCase *c); /* unit, uniform on the sphere */
Quat truth_rotation(TruthCase *c);  /* uniform */
/* Adds to `about`, as printf does. */
void truth_say(TruthCase *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

typedef struct TruthLaw {
    const char *name;  /* "contact/energy": area and law; NULL ends a table */
    const char *about; /* the measured quantity, as one line of the table */
    const char *unit;
    f64 bound;                    /* the largest error allowed */
    u32 few, many;                /* cases of `make test` (0: none) and of plenum-bench truth */
    f64 (*measure)(TruthCase *c); /* NaN breaks the law as well */
} TruthLaw;

typedef struct TruthWorst {
    f64 value;
    u32 number; /* of the case */
    u32 cases, broken;
    char about[320];
} TruthWorst;

/* Tries the cases [first, first + count) of a law. */
TruthWorst truth_sweep(const TruthLaw *law, u32 first, u32 count);
/* Tries `few` cases of each law of a table (sanitizer builds a third of them) and prints them;
 * returns the number of broken laws. */
u32 truth_check(const TruthLaw *table);

/* The tables, by area; each ends with a law without name. */
extern const TruthLaw truth_contact[];   /* truth_contact.c: bodies upon bodies */
extern const TruthLaw truth_motion[];    /* truth_motion.c: free flight, joints */
extern const TruthLaw truth_dry[];       /* truth_dry.c: dry friction in joints */
extern const TruthLaw truth_ring[];      /* truth_ring.c: joints that make loops */
extern const TruthLaw truth_wall[];      /* truth_wall.c: nothing passes */
extern const TruthLaw truth_rest[];      /* truth_rest.c: rest and sleep */
extern const TruthLaw truth_soft[];      /* truth_soft.c: soft bodies in contact */
extern const TruthLaw truth_bend[];      /* truth_bend.c: sheets and skins that resist bending */
extern const TruthLaw truth_veil[];      /* truth_veil.c: light held cloth under heavy bodies */
extern const TruthLaw truth_stiff[];     /* truth_stiff.c: stiffness, drag, dents */
extern const TruthLaw truth_shape[];     /* truth_shape.c: bodies of any shape, hills, meetings */
extern const TruthLaw truth_particles[]; /* truth_particles.c: particle systems */
extern const TruthLaw truth_mutual[];    /* truth_mutual.c: orbits, gravitation, flocks, swarms */
extern const TruthLaw truth_liquid[];    /* truth_liquid.c: liquids at rest */
extern const TruthLaw truth_flow[];      /* truth_flow.c: liquids in motion, closed tanks, abuse */
extern const TruthLaw truth_water[];     /* truth_water.c: water on grids and floating bodies */
extern const TruthLaw truth_pool[];      /* truth_pool.c: pools with anything in them */
extern const TruthLaw truth_light[];     /* truth_light.c: light things below a liquid's surface */
extern const TruthLaw truth_air[];       /* truth_air.c: air on grids by itself */
extern const TruthLaw truth_smoke[];     /* truth_smoke.c: what is in the air, walls, abuse */
extern const TruthLaw truth_all[];       /* truth_all.c: all kinds of matter together */
extern const TruthLaw truth_driven[];    /* truth_driven.c: bins and lifts that move */
extern const TruthLaw truth_merge[];     /* truth_merge.c: scenes laid over each other */
/* All of them; NULL ends the list. */
extern const TruthLaw *const truth_tables[];

#endif
