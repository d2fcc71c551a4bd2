/* self_collision_validate.c: checks leaves, nodes and contacts against self_collision.h. See
 * self_collision_validate. */
#include "server/physics/soft/self_collision.h"
#include "shared/base/check.h"

static void validate_surface(const Soft *soft)
{
    const SelfCollision *collision = soft->collision;
    for (u32 t = 0; t < collision->triangle_count; t++) {
        const CollisionTriangle *triangle = &collision->triangles[t];
        for (u32 k = 0; k < 3; k++) {
            u32 across = triangle->across[k];
            CHECK_ITEM(t, triangle->point[k] < soft->count);
            CHECK_ITEM(t, across == SOFT_NONE ||
                              (across & ~(u32)COLLISION_FLIPPED) < collision->triangle_count);
        }
    }
    for (u32 e = 0; e < collision->edge_count; e++) {
        const CollisionEdge *edge = &collision->edges[e];
        CHECK_ITEM(e, edge->point[0] < soft->count && edge->point[1] < soft->count);
        CHECK_ITEM(e, edge->point[0] != edge->point[1]);
        for (u32 k = 0; k < 2; k++) {
            CHECK_ITEM(e, edge->side[k] == SOFT_NONE || edge->side[k] < collision->triangle_count);
        }
        CHECK_ITEM(e, edge->owns <= 3);
    }
    for (u32 i = 0; i < collision->point_count; i++) {
        CHECK_ITEM(i, collision->points[i] < soft->count);
    }
}

/* Leaves are disjoint: each range begins where the one before it ends. */
static void validate_leaves(const Soft *soft)
{
    const SelfCollision *collision = soft->collision;
    u32 triangles = 0, edges = 0, points = 0;
    for (u32 i = 0; i < collision->leaf_count; i++) {
        const CollisionLeaf *leaf = &collision->leaves[i];
        CHECK_ITEM(i, leaf->body < soft->body_count);
        CHECK_ITEM(i, leaf->triangle_count + leaf->segment_count <= COLLISION_LEAF);
        CHECK_ITEM(i, leaf->first_triangle == triangles);
        CHECK_ITEM(i, leaf->first_edge == edges && leaf->first_point == points);
        CHECK_ITEM(i, leaf->segment_count <= leaf->edge_count);
        CHECK_ITEM(i, leaf->stick_edges <= leaf->edge_count);
        triangles += leaf->triangle_count;
        edges += leaf->edge_count;
        points += leaf->point_count;
    }
    CHECK(triangles == collision->triangle_count);
    CHECK(edges == collision->edge_count && points == collision->point_count);
}

static void validate_nodes(const Soft *soft)
{
    const SelfCollision *collision = soft->collision;
    u32 nodes = 0, leaves = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        const CollisionBody *body = &collision->bodies[b];
        CHECK_ITEM(b, body->first_node == nodes && body->end_node >= nodes);
        CHECK_ITEM(b, body->first_leaf == leaves && body->end_leaf >= leaves);
        nodes = body->end_node;
        leaves = body->end_leaf;
        CHECK_ITEM(b, leaves <= collision->leaf_count && nodes <= collision->node_count);
        for (u32 i = body->first_node; i < body->end_node; i++) {
            const CollisionNode *node = &collision->nodes[i];
            CHECK_ITEM(i, node->skip > i && node->skip <= body->end_node);
            CHECK_ITEM(i, node->first_leaf >= body->first_leaf && node->end_leaf <= body->end_leaf);
            CHECK_ITEM(i, node->first_leaf < node->end_leaf);
        }
    }
    CHECK(nodes == collision->node_count && leaves == collision->leaf_count);
}

static void validate_contact(const Soft *soft, u32 index, const CollisionContact *contact)
{
    const SelfCollision *collision = soft->collision;
    bool edges = contact->kind == COLLISION_EDGE_EDGE;
    CHECK_ITEM(index, contact->kind <= COLLISION_EDGE_EDGE);
    CHECK_ITEM(index, contact->a < (edges ? collision->edge_count : soft->count));
    CHECK_ITEM(index, contact->b < (edges ? collision->edge_count : collision->triangle_count));
    for (u32 k = 0; k < 4; k++) {
        CHECK_ITEM(index, contact->point[k] < soft->count);
    }
    CHECK_ITEM(index, contact->side == 0.0f || contact->side == 1.0f || contact->side == -1.0f);
}

static void validate_contacts(const Soft *soft)
{
    const SelfCollision *collision = soft->collision;
    u32 contacts = 0, tangles = 0;
    for (u32 c = 0; c < collision->chunk_count && collision->any; c++) {
        const CollisionChunk *chunk = &collision->chunks[c];
        CHECK_ITEM(c, chunk->count <= chunk->capacity &&
                          chunk->tangle_count <= chunk->tangle_capacity);
        for (u32 i = 0; i < chunk->count; i++) {
            validate_contact(soft, c, &chunk->contacts[i]);
        }
        for (u32 i = 0; i < chunk->tangle_count; i++) {
            CHECK_ITEM(c, chunk->tangles[i].edge < collision->edge_count);
            CHECK_ITEM(c, chunk->tangles[i].triangle < collision->triangle_count);
        }
        contacts += chunk->count;
        tangles += chunk->tangle_count;
    }
    CHECK(!collision->any ||
          (contacts == collision->contact_count && tangles == collision->tangle_count));
    CHECK(collision->active_count <= collision->active_capacity &&
          collision->crossing_count <= collision->crossing_capacity);
    for (u32 i = 0; i < collision->crossing_count; i++) {
        const CollisionCrossing *at = &collision->crossings[i];
        CHECK_ITEM(i, at->kind <= COLLISION_EDGE_EDGE);
        CHECK_ITEM(i, at->side == 1.0f || at->side == -1.0f);
    }
}

void self_collision_validate(const Soft *soft)
{
    validate_surface(soft);
    validate_leaves(soft);
    validate_nodes(soft);
    validate_contacts(soft);
}
