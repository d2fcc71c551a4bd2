/* crowd_validate.c: is what crowd.h says of leaves, nodes and contacts so? See crowd_validate. */
#include "server/physics/soft/crowd.h"
#include "shared/base/check.h"

static void validate_surface(const Soft *soft)
{
    const Crowd *crowd = soft->crowd;
    for (u32 t = 0; t < crowd->triangle_count; t++) {
        const CrowdTriangle *triangle = &crowd->triangles[t];
        for (u32 k = 0; k < 3; k++) {
            u32 across = triangle->across[k];
            CHECK_ITEM(t, triangle->point[k] < soft->count);
            CHECK_ITEM(t, across == SOFT_NONE ||
                              (across & ~(u32)CROWD_FLIPPED) < crowd->triangle_count);
        }
    }
    for (u32 e = 0; e < crowd->edge_count; e++) {
        const CrowdEdge *edge = &crowd->edges[e];
        CHECK_ITEM(e, edge->point[0] < soft->count && edge->point[1] < soft->count);
        CHECK_ITEM(e, edge->point[0] != edge->point[1]);
        for (u32 k = 0; k < 2; k++) {
            CHECK_ITEM(e, edge->side[k] == SOFT_NONE || edge->side[k] < crowd->triangle_count);
        }
        CHECK_ITEM(e, edge->owns <= 3);
    }
    for (u32 i = 0; i < crowd->point_count; i++) {
        CHECK_ITEM(i, crowd->points[i] < soft->count);
    }
}

/* Leaves share nothing: what one has begins where that before it ends. */
static void validate_leaves(const Soft *soft)
{
    const Crowd *crowd = soft->crowd;
    u32 triangles = 0, edges = 0, points = 0;
    for (u32 i = 0; i < crowd->leaf_count; i++) {
        const CrowdLeaf *leaf = &crowd->leaves[i];
        CHECK_ITEM(i, leaf->body < soft->body_count);
        CHECK_ITEM(i, leaf->triangle_count + leaf->segment_count <= CROWD_LEAF);
        CHECK_ITEM(i, leaf->first_triangle == triangles);
        CHECK_ITEM(i, leaf->first_edge == edges && leaf->first_point == points);
        CHECK_ITEM(i, leaf->segment_count <= leaf->edge_count);
        CHECK_ITEM(i, leaf->stick_edges <= leaf->edge_count);
        triangles += leaf->triangle_count;
        edges += leaf->edge_count;
        points += leaf->point_count;
    }
    CHECK(triangles == crowd->triangle_count);
    CHECK(edges == crowd->edge_count && points == crowd->point_count);
}

static void validate_nodes(const Soft *soft)
{
    const Crowd *crowd = soft->crowd;
    u32 nodes = 0, leaves = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        const CrowdBody *body = &crowd->bodies[b];
        CHECK_ITEM(b, body->first_node == nodes && body->end_node >= nodes);
        CHECK_ITEM(b, body->first_leaf == leaves && body->end_leaf >= leaves);
        nodes = body->end_node;
        leaves = body->end_leaf;
        CHECK_ITEM(b, leaves <= crowd->leaf_count && nodes <= crowd->node_count);
        for (u32 i = body->first_node; i < body->end_node; i++) {
            const CrowdNode *node = &crowd->nodes[i];
            CHECK_ITEM(i, node->skip > i && node->skip <= body->end_node);
            CHECK_ITEM(i, node->first_leaf >= body->first_leaf && node->end_leaf <= body->end_leaf);
            CHECK_ITEM(i, node->first_leaf < node->end_leaf);
        }
    }
    CHECK(nodes == crowd->node_count && leaves == crowd->leaf_count);
}

static void validate_contact(const Soft *soft, u32 index, const CrowdContact *contact)
{
    const Crowd *crowd = soft->crowd;
    bool edges = contact->kind == CROWD_EDGE_EDGE;
    CHECK_ITEM(index, contact->kind <= CROWD_EDGE_EDGE);
    CHECK_ITEM(index, contact->a < (edges ? crowd->edge_count : soft->count));
    CHECK_ITEM(index, contact->b < (edges ? crowd->edge_count : crowd->triangle_count));
    for (u32 k = 0; k < 4; k++) {
        CHECK_ITEM(index, contact->point[k] < soft->count);
    }
    CHECK_ITEM(index, contact->side == 0.0f || contact->side == 1.0f || contact->side == -1.0f);
}

static void validate_contacts(const Soft *soft)
{
    const Crowd *crowd = soft->crowd;
    u32 contacts = 0, tangles = 0;
    for (u32 c = 0; c < crowd->chunk_count && crowd->any; c++) {
        const CrowdChunk *chunk = &crowd->chunks[c];
        CHECK_ITEM(c, chunk->count <= chunk->room && chunk->tangle_count <= chunk->tangle_room);
        for (u32 i = 0; i < chunk->count; i++) {
            validate_contact(soft, c, &chunk->contacts[i]);
        }
        for (u32 i = 0; i < chunk->tangle_count; i++) {
            CHECK_ITEM(c, chunk->tangles[i].edge < crowd->edge_count);
            CHECK_ITEM(c, chunk->tangles[i].triangle < crowd->triangle_count);
        }
        contacts += chunk->count;
        tangles += chunk->tangle_count;
    }
    CHECK(!crowd->any || (contacts == crowd->contact_count && tangles == crowd->tangle_count));
    CHECK(crowd->active_count <= crowd->active_room &&
          crowd->crossing_count <= crowd->crossing_room);
    for (u32 i = 0; i < crowd->crossing_count; i++) {
        const CrowdCrossing *at = &crowd->crossings[i];
        CHECK_ITEM(i, at->kind <= CROWD_EDGE_EDGE);
        CHECK_ITEM(i, at->side == 1.0f || at->side == -1.0f);
    }
}

void crowd_validate(const Soft *soft)
{
    validate_surface(soft);
    validate_leaves(soft);
    validate_nodes(soft);
    validate_contacts(soft);
}
