/*
 * soft_figures.h: rest shapes supported by sticks: plants, stick figures, rope bridges, rings.
 * Sticks with low = high are edges with mass; the others brace and limit, without mass and contact.
 * Y is up. Errors and ownership as in soft_mesh.h.
 * Layer: shared/soft.
 */
#ifndef PLENUM_SHARED_SOFT_SOFT_FIGURES_H
#define PLENUM_SHARED_SOFT_SOFT_FIGURES_H

#include "shared/soft/soft_mesh.h"

/* A trunk from the origin upwards that forks repeatedly, with a leaf at each final end. Trunk
 * and branches are three-sided tubes of triangles, which act as trusses and so spring back;
 * support sticks connect a branch to two rings of its parent. Deterministic in the seed.
 * Dihedral bending keeps thin tubes from folding in strong wind. */
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

/* A stick figure (Jakobsen 2001): bones are sticks; bones sharing one particle form a ball joint
 * (hips, shoulders, neck), two particles a hinge (knees, elbows); inequality sticks keep knees
 * and elbows from bending backwards, and limit the joints. It stands at the origin, looking
 * along +z, its left side at +x. */
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
    FIGURE_CAP = 2,   /* kneecap, or the tip of the elbow: part of the upper bone */
    FIGURE_END = 3,   /* foot or hand */
    FIGURE_LIMB = 4
};

/* Maximal bend of knees and elbows in rad; the minimum is 0, straight. */
#define FIGURE_BEND_MAX 2.4f

typedef struct SoftBridge {
    f32 length, width; /* m: along x from the origin, along z, centred */
    f32 rail;          /* m, height of the two ropes beside the deck */
    f32 slack;         /* [0, 0.5] excess length relative to the gap */
    u32 stations;      /* 2..1000 along the bridge */
    u32 across;        /* 2..64 points of the deck at each */
} SoftBridge;

PL_BEGIN_C
int soft_mesh_plant(SoftMesh *mesh, const SoftPlant *plant, ErrorText *error);
/* height: m, of the standing figure; mass is distributed by length of bones. */
int soft_mesh_figure(SoftMesh *mesh, f32 height, ErrorText *error);
/* Each station has the points of the deck from −z to +z, then the two of the rails; pin those of
 * the first and the last. The deck is triangles, the rest ropes. Its rest shape is a hanging
 * parabola, so the ends are `length` apart. */
int soft_mesh_bridge(SoftMesh *mesh, const SoftBridge *bridge, ErrorText *error);
/* A two-dimensional ball: points (3..4096) on a circle about z, each connected to the next. */
int soft_mesh_ring(SoftMesh *mesh, f32 radius, u32 points, ErrorText *error);
PL_END_C

#endif
