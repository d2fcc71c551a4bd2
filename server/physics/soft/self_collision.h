/*
 * self_collision.h: contact of soft bodies with each other and with themselves, from inside.
 * Surfaces (triangles) and strings (segments) of each body lie in a tree of boxes whose shape is
 * made once and whose boxes are fitted again at each search. A search finds, in parallel by leaf,
 * the pairs of point and triangle and of edge and edge that can come to touch before the next one,
 * and which side each is on; a contact is then solved by its normal, so that what crosses a surface
 * is pulled back. Flat parts of a cloth are never searched: they cannot meet themselves (Volino,
 * Magnenat-Thalmann 1994). Where an edge goes through a triangle already, contacts between the two
 * give way, so that constraints draw them out again.
 *   self_collision.c       life, when to search, what is remembered
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
    COLLISION_CHUNK = 16,        /* leaves that are searched as one job */
    COLLISION_NEAR_LEAVES = 512, /* that one leaf may meet; what is beyond is not seen */
    COLLISION_RUN_LEAVES = 1024, /* that a run of leaves may meet; it is halved if there are more */
    COLLISION_FLIPPED = 1u << 31 /* in `across`: the neighbour is wound the other way */
};

typedef struct CollisionTriangle {
    u32 point[3];
    u32 across[3]; /* the triangle over the edge from corner k to k + 1, SOFT_NONE at the rim */
} CollisionTriangle;

/* Of a triangle, or a segment of a string. */
typedef struct CollisionEdge {
    u32 point[2];
    u32 side[2]; /* triangles, SOFT_NONE: none */
    u32 owns;    /* bit k: contacts at its end k are its own, not those of another edge there */
} CollisionEdge;

typedef struct CollisionLeaf {
    u32 body;
    u32 first_triangle, triangle_count; /* ≤ COLLISION_LEAF */
    u32 first_segment, segment_count;   /* edges that are segments, first among its edges */
    u32 first_edge, edge_count;         /* that no earlier leaf has */
    u32 first_point, point_count;       /* the same */
    u32 first_stick, stick_edges;       /* of its edges that count, eight each */
} CollisionLeaf;

/* In depth-first order: the children of node i are i + 1 and what the first one skips to. In the
 * box of a leaf, first_leaf and end_leaf are those of the largest node about it that is flat. */
typedef struct CollisionNode {
    Bounds bounds;
    f32 slack; /* m, largest of its points */
    u32 flat;  /* bit d: all its normals lie near direction d (of self_collision_tree.c) */
    u32 skip;  /* the next node that is not below this one */
    u32 first_leaf, end_leaf;
} CollisionNode;

typedef struct CollisionBoxes {
    f32 min[3][SIMD_LANES], max[3][SIMD_LANES];
} __attribute__((aligned(32))) CollisionBoxes;

/* Eight edges from a to a + d; not a number where there is none. Those of a surface count only
 * where it is bent: where it is flat, points and triangles meet first. */
typedef struct CollisionSticks {
    f32 a[3][SIMD_LANES], d[3][SIMD_LANES];
    u32 edge[SIMD_LANES];
} __attribute__((aligned(32))) CollisionSticks;

/* Eight triangles: the place of x in one is base + s u* + t v* + height n, with s = u · (x − base),
 * t = v · (x − base), height = normal · (x − base). */
typedef struct CollisionPrisms {
    f32 base[3][SIMD_LANES], normal[3][SIMD_LANES];
    f32 u[3][SIMD_LANES], v[3][SIMD_LANES];
} __attribute__((aligned(32))) CollisionPrisms;

typedef struct CollisionBody {
    u32 first_node, end_node;
    u32 first_leaf, end_leaf;
    f32 keep;         /* m, distance kept by parts of itself */
    f32 cell;         /* m, size of its triangles or length of its segments */
    bool has_edges;   /* strings: edges meet everything */
    f32 sharp_cosine; /* edges with a smaller one of the normals beside them count */
    bool fitted;      /* in this search: it may touch something */
    Bounds bounds;
    f32 slack;
    Vec3 velocity; /* m/s, mean at the search */
    u32 first_partner, partner_count;
} CollisionBody;

/* The sum of weight × position is what lies between the two parts: the point less the nearest place
 * of the triangle, or of the first edge less that of the second. */
typedef struct CollisionContact {
    u32 point[4];
    f32 weight[4];
    Vec3 normal;
    f32 keep; /* m along the normal */
    f32 mass; /* kg, 1 / Σ weight² / m */
    f32 friction, static_friction;
    f32 compliance; /* m/N */
    u32 a, b;       /* particle and triangle, or two edges */
    u32 kind;
    u32 gentle; /* 1: gives way to constraints, where they are tangled or stretched */
    f32 side;   /* of the triangle, or of the cross product of the edges: 1, −1; 0: either */
} CollisionContact;

enum {
    COLLISION_POINT_TRIANGLE = 0,
    COLLISION_EDGE_EDGE = 1
};

/* A contact on the wrong side when it was last solved. */
typedef struct CollisionCrossing {
    u32 a, b, kind;
    f32 side;
} CollisionCrossing;

/* An edge that goes through a triangle. */
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
    CollisionTriangle *triangles; /* in the order of the leaves, like all that follows */
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
    Vec3 *seen;            /* [soft->count] m, where the particle was at the search */
    f32 *slack;            /* [soft->count] m, how far it may go on its own until the next */
    u8 *tangled;           /* [soft->count] 1: something goes through the surface here */
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
    f32 drift; /* m, that they may come nearer by their mean motion */
    f32 friction, static_friction, compliance;
    bool self, edges;
} CollisionPair;

static inline void boxes_set(CollisionBoxes *boxes, u32 lane, Vec3 low, Vec3 high)
{
    boxes->min[0][lane] = low.x;
    boxes->min[1][lane] = low.y;
    boxes->min[2][lane] = low.z;
    boxes->max[0][lane] = high.x;
    boxes->max[1][lane] = high.y;
    boxes->max[2][lane] = high.z;
}

/* Lanes that hold nothing meet nothing. */
static inline void boxes_clear(CollisionBoxes *boxes)
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        boxes_set(boxes, i, vec3(INFINITY, INFINITY, INFINITY),
                  vec3(-INFINITY, -INFINITY, -INFINITY));
    }
}

/* self_collision_tree.c */
int self_collision_tree_create(Soft *soft, SelfCollision *collision);
/* Boxes and normals of all leaves of bodies that are `fitted`. */
void self_collision_fit(Soft *soft);

/* self_collision_validate.c: part of soft_validate. */
void self_collision_validate(const Soft *soft);

/* self_collision_find.c: the contacts of each chunk. */
void self_collision_find(Soft *soft);
/* The crossing of these two if one is remembered (for a triangle: of it or one beside it). */
const CollisionCrossing *self_collision_crossing(const SelfCollision *collision, u32 kind, u32 a,
                                                 u32 b);

/* self_collision_solve.c */
void self_collision_pass(Soft *soft, f32 h, f32 ahead, bool first);

#endif
