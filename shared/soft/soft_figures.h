/*
 * soft_figures.h: rest shapes that hold themselves up by sticks: plants, figures of particles, rope
 * bridges, rings. What the sticks are for: those with low = high are edges, with matter; the others
 * brace and limit, and nothing touches them. Y is up. Errors and ownership as in soft_mesh.h.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_FIGURES_H
#define PLENUM_SHARED_SOFT_SOFT_FIGURES_H

#include "shared/soft/soft_mesh.h"

/* A trunk from the origin upwards that forks again and again, with a leaf at each last end. Trunk
 * and branches are three-sided tubes of triangles, which are trusses and so spring back; a branch
 * is held by support sticks to the two rings of its parent about it. Same seed, same plant. Bending
 * of the dihedral kind keeps thin tubes from folding in a storm. */
typedef struct SoftPlant {
    u32 seed;
    f32 height;   /* m, of the trunk */
    f32 radius;   /* m, of the trunk at the ground; < height */
    u32 segments; /* 1..16 of each branch */
    u32 forks;    /* 0..5 generations of branches */
    u32 branches; /* 1..5 at each fork */
    f32 spread;   /* [0, 1.5] rad between a branch and its parent */
    f32 shrink;   /* [0.2, 1] of the length from one generation to the next; the radius halves */
    f32 leaf;     /* m, length of the leaves; 0: none */
} SoftPlant;

enum {
    SOFT_PLANT_ROOTS = 3, /* points 0 to 2 stand on the ground: pin them */
};

/* A person of particles (Jakobsen 2001): bones are sticks; what shares one particle is a ball joint
 * (hips, shoulders, neck), what shares two a hinge (knees, elbows); inequality sticks keep knees
 * and elbows from bending the wrong way, and joints in their range. It stands at the origin,
 * looking along +z, its left side at +x. */
typedef enum SoftFigurePoint {
    FIGURE_HEAD = 0,
    FIGURE_NECK = 1,
    FIGURE_SHOULDER = 2, /* + side: 0 left, 1 right */
    FIGURE_HIP = 4,      /* + side */
    FIGURE_ARM = 6,      /* + FIGURE_LIMB × side + one of the following */
    FIGURE_LEG = 14,     /* the same */
    FIGURE_POINTS = 22
} SoftFigurePoint;

enum {
    FIGURE_HINGE = 0, /* and 1: the two ends of the axis of the knee or elbow */
    FIGURE_CAP = 2,   /* kneecap, or the tip of the elbow: a part of the upper bone */
    FIGURE_END = 3,   /* foot or hand */
    FIGURE_LIMB = 4
};

/* rad by which knees and elbows may be bent; the least is 0, straight. */
#define FIGURE_BEND_MAX 2.4f

typedef struct SoftBridge {
    f32 length, width; /* m: along x from the origin, along z about it */
    f32 rail;          /* m, height of the two ropes beside the deck */
    f32 slack;         /* [0, 0.5] how much longer than the gap it is, as a part */
    u32 stations;      /* 2..1000 along the bridge */
    u32 across;        /* 2..64 points of the deck at each */
} SoftBridge;

PL_BEGIN_C
int soft_mesh_plant(SoftMesh *mesh, const SoftPlant *plant, ErrorText *error);
/* height: m, of the standing figure; mass is by length of bones, the same for all. */
int soft_mesh_figure(SoftMesh *mesh, f32 height, ErrorText *error);
/* Each station has the points of the deck from −z to +z, then the two of the rails; pin those of
 * the first and of the last. The deck is triangles, the rest ropes. It is made hanging in a
 * parabola of its length, so the ends are `length` apart. */
int soft_mesh_bridge(SoftMesh *mesh, const SoftBridge *bridge, ErrorText *error);
/* A ball in two dimensions: points (3..4096) on a circle about z, joined one to the next. */
int soft_mesh_ring(SoftMesh *mesh, f32 radius, u32 points, ErrorText *error);
PL_END_C

#endif
