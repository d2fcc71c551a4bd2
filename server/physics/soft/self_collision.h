/*
 * self_collision.h: contact of soft bodies with each other and with themselves, internals. Surfaces
 * (triangles) and strings (segments) of each body lie in a bounding volume tree of fixed topology,
 * refitted at each search. A search finds, in parallel by leaf, the pairs of point and triangle and
 * of edge and edge that may touch before the next search, and the side each is on. A contact is
 * solved along its normal, so that points that cross a surface are pulled back. Flat parts of a
 * cloth are not searched: they cannot self-intersect (Volino, Magnenat-Thalmann 1994). Where an
 * edge already pierces a triangle, contacts between the two yield, so that constraints can untangle
 * them.
 *   self_collision.c       life cycle, when to search, persistent data
 *   self_collision_tree.c  leaves, neighbours, boxes
 *   self_collision_find.c  the search
 *   self_collision_solve.c one pass over the contacts
 * Layer: server/physics/soft, private.
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_H
#define PLENUM_SERVER_PHYSICS_SOFT_SELF_COLLISION_H

#include "server/physics/soft/soft_internal.h"
#include "shared/math/simd.h"

enum {
    COLLISION_LEAF = 8,          /* triangles or segments: one vector of boxes */
    COLLISION_CHUNK = 16,        /* leaves searched as one job */
    COLLISION_NEAR_LEAVES = 512, /* candidates of one leaf; more are ignored */
    COLLISION_RUN_LEAVES = 1024, /* candidates of a run of leaves; it is halved if there are more */
    COLLISION_FLIPPED = 1u << 31 /* in `across`: the neighbour has opposite winding */
};

typedef struct CollisionTriangle {
    u32 point[3];
    u32 across[3]; /* the triangle across the edge from corner k to k + 1, SOFT_NONE at the rim */
} CollisionTriangle;

/* An edge of a triangle, or a segment of a string. */
typedef struct CollisionEdge {
    u32 point[2];
    u32 side[2]; /* triangles, SOFT_NONE: none */
    u32 owns;    /* bit k: this edge, and no other there, handles contacts at its end k */
} CollisionEdge;

typedef struct CollisionLeaf {
    u32 body;
    u32 first_triangle, triangle_count; /* ≤ COLLISION_LEAF */
    u32 first_segment, segment_count;   /* edges that are segments, first in its edges */
    u32 first_edge, edge_count;         /* in no earlier leaf */
    u32 first_point, point_count;       /* likewise */
    u32 first_stick, stick_edges;       /* of its edges that count, in eights */
} CollisionLeaf;

/* In depth-first order: the children of node i are i + 1 and the `skip` of that node. In the box
 * of a leaf, first_leaf and end_leaf are those of the largest flat node that contains it. */
typedef struct CollisionNode {
    Bounds bounds;
    f32 slack; /* m, largest of its points */
    u32 flat;  /* bit d: all its normals lie near direction d (self_collision_tree.c) */
    u32 skip;  /* the next node outside this subtree */
    u32 first_leaf, end_leaf;
} CollisionNode;

typedef struct CollisionBoxes {
    f32 min[3][SIMD_LANES], max[3][SIMD_LANES];
} __attribute__((aligned(32))) CollisionBoxes;

/* Eight edges from a to a + d; NaN in unused lanes. Edges of a surface count only where it is
 * bent: where it is flat, points and triangles meet first. */
typedef struct CollisionSticks {
    f32 a[3][SIMD_LANES], d[3][SIMD_LANES];
    u32 edge[SIMD_LANES];
} __attribute__((aligned(32))) CollisionSticks;

/* Eight triangles: the coordinates of x in one are base + s u* + t v* + height n, with s = u ·
 * (x − base), t = v · (x − base), height = normal · (x − base). */
typedef struct CollisionPrisms {
    f32 base[3][SIMD_LANES], normal[3][SIMD_LANES];
    f32 u[3][SIMD_LANES], v[3][SIMD_LANES];
} __attribute__((aligned(32))) CollisionPrisms;

typedef struct CollisionBody {
    u32 first_node, end_node;
    u32 first_leaf, end_leaf;
    f32 keep;         /* m, self-contact distance */
    f32 cell;         /* m, size of its triangles or length of its segments */
    bool has_edges;   /* strings: edges collide with everything */
    f32 sharp_cosine; /* edges between normals of a smaller cosine count */
    bool fitted;      /* in this search: it may touch something */
    Bounds bounds;
    f32 slack;
    Vec3 velocity; /* m/s, mean at the search */
    u32 first_partner, partner_count;
} CollisionBody;

/* The sum of weight × position is the separation of the two parts: the point minus the nearest
 * point of the triangle, or the point of the first edge minus that of the second. */
typedef struct CollisionContact {
    u32 point[4];
    f32 weight[4];
    Vec3 normal;
    f32 keep; /* m, distance kept along the normal */
    f32 mass; /* kg, 1 / Σ weight² / m */
    f32 friction, static_friction;
    f32 compliance; /* m/N */
    u32 a, b;       /* particle and triangle, or two edges */
    u32 kind;
    u32 gentle; /* 1: yields to constraints, where parts are tangled or stretched */
    f32 side;   /* of the triangle, or of the cross product of the edges: 1, −1; 0: either */
} CollisionContact;

enum {
    COLLISION_POINT_TRIANGLE = 0,
    COLLISION_EDGE_EDGE = 1
};

/* A contact on the wrong side when last solved. */
typedef struct CollisionCrossing {
    u32 a, b, kind;
    f32 side;
} CollisionCrossing;

/* An edge that pierces a triangle. */
typedef struct CollisionTangle {
    u32 edge, triangle;
} CollisionTangle;

typedef struct CollisionChunk {
    CollisionContact *contacts; /* [count] */
    u32 count, capacity;
    CollisionTangle *tangles; /* [tangle_count] */
    u32 tangle_count, tangle_capacity;
} CollisionChunk;

struct SelfCollision {
    CollisionTriangle *triangles; /* in the order of the leaves, like all below */
    Vec3 *normals;                /* [triangle_count] unit */
    Vec3 *normals_predicted;      /* [triangle_count] at the end of the tick, as they move now */
    CollisionEdge *edges;
    u32 *points;         /* [point_count] particles */
    u32 *point_triangle; /* [soft->count] a triangle of the particle or SOFT_NONE */
    CollisionLeaf *leaves;
    CollisionNode *leaf_boxes; /* [leaf_count] fitted in parallel */
    CollisionPrisms *prisms;   /* [leaf_count] */
    CollisionSticks *sticks;   /* [stick_count] of the edges */
    CollisionNode *nodes;
    CollisionBody *bodies; /* [soft->body_count] */
    Vec3 *seen;            /* [soft->count] m, position of the particle at the search */
    f32 *slack;            /* [soft->count] m, relative motion allowed until the next search */
    u8 *tangled;           /* [soft->count] 1: the surface is pierced here */
    CollisionChunk *chunks;
    CollisionContact **active; /* [active_count] of this substep */
    u32 active_count, active_capacity;
    u32 *order, *partners;
    u32 partner_capacity;
    CollisionCrossing *crossings; /* sorted by kind, a, b */
    u32 triangle_count, edge_count, point_count, leaf_count, node_count, stick_count;
    u32 chunk_count, crossing_count, crossing_capacity;
    u32 contact_count, tangle_count;
    f32 seen_s, now_s, tick_s; /* times of the tick */
    bool any;                  /* something may touch */
};

/* Two bodies, or one with itself. */
typedef struct CollisionPair {
    f32 keep;  /* m */
    f32 drift; /* m, possible approach by their mean motion */
    f32 friction, static_friction, compliance;
    bool self, edges;
} CollisionPair;

/* Sets the box in one lane. */
static inline void boxes_set(CollisionBoxes *boxes, u32 lane, Vec3 low, Vec3 high)
{
    boxes->min[0][lane] = low.x;
    boxes->min[1][lane] = low.y;
    boxes->min[2][lane] = low.z;
    boxes->max[0][lane] = high.x;
    boxes->max[1][lane] = high.y;
    boxes->max[2][lane] = high.z;
}

/* Empty lanes overlap nothing. */
static inline void boxes_clear(CollisionBoxes *boxes)
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        boxes_set(boxes, i, vec3(INFINITY, INFINITY, INFINITY),
                  vec3(-INFINITY, -INFINITY, -INFINITY));
    }
}

/* self_collision_tree.c */
int self_collision_tree_create(Soft *soft, SelfCollision *collision);
/* Refits boxes and normals of all leaves of bodies that are `fitted`. */
void self_collision_fit(Soft *soft);

/* self_collision_validate.c: part of soft_validate. */
void self_collision_validate(const Soft *soft);

/* self_collision_find.c: finds the contacts of each chunk. */
void self_collision_find(Soft *soft);
/* Returns the stored crossing of these two, if any (for a triangle: of it or a neighbour). */
const CollisionCrossing *self_collision_crossing(const SelfCollision *collision, u32 kind, u32 a,
                                                 u32 b);

/* self_collision_solve.c */
void self_collision_pass(Soft *soft, f32 h, f32 ahead, bool first);

#endif
