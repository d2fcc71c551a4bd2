/*
 * crowd.h: contact of soft bodies with each other and with themselves, from inside.
 * Surfaces (triangles) and strings (segments) of each body lie in a tree of boxes whose shape is
 * made once and whose boxes are fitted again at each search. A search finds, in parallel by leaf,
 * the pairs of point and triangle and of edge and edge that can come to touch before the next one,
 * and which side each is on; a contact is then solved by its normal, so that what crosses a surface
 * is pulled back. Flat parts of a cloth are never searched: they cannot meet themselves (Volino,
 * Magnenat-Thalmann 1994). Where an edge goes through a triangle already, contacts between the two
 * give way, so that constraints draw them out again.
 *   crowd.c       life, when to search, what is remembered
 *   crowd_tree.c  leaves, neighbours, boxes
 *   crowd_find.c  the search
 *   crowd_solve.c one pass over the contacts
 * Layer: server/physics/soft (private).
 */
#ifndef PLENUM_SERVER_PHYSICS_SOFT_CROWD_H
#define PLENUM_SERVER_PHYSICS_SOFT_CROWD_H

#include "server/physics/soft/store.h"
#include "shared/math/simd.h"

enum {
    CROWD_LEAF = 8,          /* triangles or segments: one vector of boxes */
    CROWD_CHUNK = 16,        /* leaves that are searched as one job */
    CROWD_NEAR_LEAVES = 512, /* that one leaf may meet; what is beyond is not seen */
    CROWD_RUN_LEAVES = 1024, /* that a run of leaves may meet; it is halved if there are more */
    CROWD_FLIPPED = 1u << 31 /* in `across`: the neighbour is wound the other way */
};

typedef struct CrowdTriangle {
    u32 point[3];
    u32 across[3]; /* the triangle over the edge from corner k to k + 1, SOFT_NONE at the rim */
} CrowdTriangle;

/* Of a triangle, or a segment of a string. */
typedef struct CrowdEdge {
    u32 point[2];
    u32 side[2]; /* triangles, SOFT_NONE: none */
    u32 owns;    /* bit k: contacts at its end k are its own, not those of another edge there */
} CrowdEdge;

typedef struct CrowdLeaf {
    u32 body;
    u32 first_triangle, triangle_count; /* ≤ CROWD_LEAF */
    u32 first_segment, segment_count;   /* edges that are segments, first among its edges */
    u32 first_edge, edge_count;         /* that no earlier leaf has */
    u32 first_point, point_count;       /* the same */
    u32 first_stick, stick_edges;       /* of its edges that count, eight each */
} CrowdLeaf;

/* In depth-first order: the children of node i are i + 1 and what the first one skips to. In the
 * box of a leaf, first_leaf and end_leaf are those of the largest node about it that is flat. */
typedef struct CrowdNode {
    Bounds bounds;
    f32 slack; /* m, largest of its points */
    u32 flat;  /* bit d: all its normals lie near direction d (of crowd_tree.c) */
    u32 skip;  /* the next node that is not below this one */
    u32 first_leaf, end_leaf;
} CrowdNode;

typedef struct CrowdBoxes {
    f32 min[3][SIMD_LANES], max[3][SIMD_LANES];
} __attribute__((aligned(32))) CrowdBoxes;

/* Eight edges from a to a + d; not a number where there is none. Those of a surface count only
 * where it is bent: where it is flat, points and triangles meet first. */
typedef struct CrowdSticks {
    f32 a[3][SIMD_LANES], d[3][SIMD_LANES];
    u32 edge[SIMD_LANES];
} __attribute__((aligned(32))) CrowdSticks;

/* Eight triangles: the place of x in one is base + s u* + t v* + height n, with s = u · (x − base),
 * t = v · (x − base), height = normal · (x − base). */
typedef struct CrowdPrisms {
    f32 base[3][SIMD_LANES], normal[3][SIMD_LANES];
    f32 u[3][SIMD_LANES], v[3][SIMD_LANES];
} __attribute__((aligned(32))) CrowdPrisms;

typedef struct CrowdBody {
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
} CrowdBody;

/* The sum of weight × position is what lies between the two parts: the point less the nearest place
 * of the triangle, or of the first edge less that of the second. */
typedef struct CrowdContact {
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
} CrowdContact;

enum {
    CROWD_POINT_TRIANGLE = 0,
    CROWD_EDGE_EDGE = 1
};

/* A contact on the wrong side when it was last solved. */
typedef struct CrowdCrossing {
    u32 a, b, kind;
    f32 side;
} CrowdCrossing;

/* An edge that goes through a triangle. */
typedef struct CrowdTangle {
    u32 edge, triangle;
} CrowdTangle;

typedef struct CrowdChunk {
    CrowdContact *contacts; /* [count] */
    u32 count, room;
    CrowdTangle *tangles; /* [tangle_count] */
    u32 tangle_count, tangle_room;
} CrowdChunk;

struct Crowd {
    CrowdTriangle *triangles; /* in the order of the leaves, like all that follows */
    Vec3 *normals;            /* [triangle_count] unit */
    Vec3 *normals_ahead;      /* [triangle_count] at the end of the tick, as they move now */
    CrowdEdge *edges;
    u32 *points;         /* [point_count] particles */
    u32 *point_triangle; /* [soft->count] a triangle of the particle or SOFT_NONE */
    CrowdLeaf *leaves;
    CrowdNode *leaf_boxes; /* [leaf_count] fitted in parallel */
    CrowdPrisms *prisms;   /* [leaf_count] */
    CrowdSticks *sticks;   /* [stick_count] of the edges */
    CrowdNode *nodes;
    CrowdBody *bodies; /* [soft->body_count] */
    Vec3 *seen;        /* [soft->count] m, where the particle was at the search */
    f32 *slack;        /* [soft->count] m, how far it may go on its own until the next */
    u8 *tangled;       /* [soft->count] 1: something goes through the surface here */
    CrowdChunk *chunks;
    CrowdContact **active; /* [active_count] of this substep */
    u32 active_count, active_room;
    u32 *order, *partners;
    u32 partner_room;
    CrowdCrossing *crossings; /* sorted by kind, a, b */
    u32 triangle_count, edge_count, point_count, leaf_count, node_count, stick_count;
    u32 chunk_count, crossing_count, crossing_room;
    u32 contact_count, tangle_count;
    f32 seen_s, now_s, tick_s; /* times of the tick */
    bool any;                  /* something may touch */
};

/* Two bodies, or one with itself. */
typedef struct CrowdPair {
    f32 keep;  /* m */
    f32 drift; /* m, that they may come nearer by their mean motion */
    f32 friction, static_friction, compliance;
    bool self, edges;
} CrowdPair;

static inline void boxes_set(CrowdBoxes *boxes, u32 lane, Vec3 low, Vec3 high)
{
    boxes->min[0][lane] = low.x;
    boxes->min[1][lane] = low.y;
    boxes->min[2][lane] = low.z;
    boxes->max[0][lane] = high.x;
    boxes->max[1][lane] = high.y;
    boxes->max[2][lane] = high.z;
}

/* Lanes that hold nothing meet nothing. */
static inline void boxes_clear(CrowdBoxes *boxes)
{
    for (u32 i = 0; i < SIMD_LANES; i++) {
        boxes_set(boxes, i, vec3(INFINITY, INFINITY, INFINITY),
                  vec3(-INFINITY, -INFINITY, -INFINITY));
    }
}

/* crowd_tree.c */
int crowd_tree_create(Soft *soft, Crowd *crowd);
/* Boxes and normals of all leaves of bodies that are `fitted`. */
void crowd_fit(Soft *soft);

/* crowd_validate.c: part of soft_validate. */
void crowd_validate(const Soft *soft);

/* crowd_find.c: the contacts of each chunk. */
void crowd_find(Soft *soft);
/* The crossing of these two if one is remembered (for a triangle: of it or one beside it). */
const CrowdCrossing *crowd_crossing(const Crowd *crowd, u32 kind, u32 a, u32 b);

/* crowd_solve.c */
void crowd_pass(Soft *soft, f32 h, f32 ahead, bool first);

#endif
