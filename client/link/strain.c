/* strain.c: see strain.h. */
#include "client/link/strain.h"

#include "protocol/codec/chunk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SWEEPS = 12
};
#define SLACK 1.02f /* tolerance above the maximum, so that rounding changes nothing */

typedef struct StrainEdge {
    u32 a, b; /* points of the body */
    f32 rest; /* m */
} StrainEdge;

typedef struct StrainBody {
    u32 field, first, count; /* points */
    StrainEdge *edges;       /* [edge_count], owned */
    u32 edge_count;
} StrainBody;

struct Strain {
    StrainBody *bodies; /* [body_count] */
    u32 body_count;
    u64 version;
    u32 world;
    bool known;
};

Strain *strain_create(void)
{
    return calloc(1, sizeof(Strain));
}

static void strain_clear(Strain *strain)
{
    for (u32 i = 0; i < strain->body_count; i++) {
        free(strain->bodies[i].edges);
    }
    free(strain->bodies);
    memset(strain, 0, sizeof *strain);
}

void strain_destroy(Strain *strain)
{
    if (strain != NULL) {
        strain_clear(strain);
        free(strain);
    }
}

/* ---- edges ---- */

static int edge_order(const void *x, const void *y)
{
    const StrainEdge *a = x, *b = y;
    if (a->a != b->a) {
        return a->a < b->a ? -1 : 1;
    }
    return a->b < b->b ? -1 : a->b > b->b;
}

static StrainEdge edge_of(const SoftMesh *mesh, u32 a, u32 b)
{
    return (StrainEdge){u32_min(a, b), u32_max(a, b),
                        vec3_distance(mesh->points[a], mesh->points[b])};
}

/* Collects the edges of the surface and the sticks, each once. False: out of memory. */
static bool edges_make(StrainBody *body, const SoftMesh *mesh)
{
    u32 count = 0, kept = 0;
    StrainEdge *edges =
        malloc((3 * (size_t)mesh->triangle_count + mesh->stick_count + 1) * sizeof *edges);
    if (edges == NULL) {
        return false;
    }
    for (u32 i = 0; i < mesh->triangle_count; i++) {
        const u32 *t = &mesh->triangles[3 * i];
        for (u32 k = 0; k < 3; k++) {
            edges[count++] = edge_of(mesh, t[k], t[(k + 1) % 3]);
        }
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        edges[count] = edge_of(mesh, mesh->sticks[i].a, mesh->sticks[i].b);
        edges[count].rest = f32_max(edges[count].rest, mesh->sticks[i].high);
        count++;
    }
    qsort(edges, count, sizeof *edges, edge_order);
    for (u32 i = 0; i < count; i++) {
        bool again = kept > 0 && edge_order(&edges[kept - 1], &edges[i]) == 0;
        if (!again && edges[i].rest > 0.0f) {
            edges[kept++] = edges[i];
        }
    }
    body->edges = edges;
    body->edge_count = kept;
    return true;
}

/* The soft body of the scene that an entity shows: initially they come right after the bodies. */
static const SoftMesh *mesh_of(const Scene *scene, const Entity *entity)
{
    u32 index = entity->id - 1 - scene->body_count;
    if (entity->id <= scene->body_count || index >= scene->soft_count ||
        strncmp(entity->name, scene->soft_bodies[index].name, NAME_BYTES_MAX) != 0) {
        return NULL;
    }
    const SoftMesh *mesh = &scene->soft_meshes[scene->soft_bodies[index].mesh];
    return mesh->point_count == entity->count ? mesh : NULL;
}

void strain_update(Strain *strain, const Scene *scene, const Entity *entities, u32 count,
                   u64 version, u32 world)
{
    if (strain->known && strain->version == version && strain->world == world) {
        return;
    }
    strain_clear(strain);
    strain->bodies = calloc(scene->soft_count + 1, sizeof *strain->bodies);
    for (u32 i = 0; i < count && strain->bodies != NULL; i++) {
        const SoftMesh *mesh = mesh_of(scene, &entities[i]);
        if (mesh == NULL || strain->body_count == scene->soft_count) {
            continue;
        }
        StrainBody *body = &strain->bodies[strain->body_count];
        *body = (StrainBody){entities[i].field, entities[i].first, entities[i].count, NULL, 0};
        if (edges_make(body, mesh)) {
            strain->body_count++;
        }
    }
    strain->version = version;
    strain->world = world;
    strain->known = true;
}

/* ---- limits ---- */

/* The largest stretch of edges whose ends are shown between the same states, at least 1; 0: all
 * are. */
static f32 stretch_known(const StrainBody *body, const Timeline *timeline, const ShownPoint *points)
{
    f32 most = 1.0f;
    bool mixed = false;
    u64 phase = timeline_phase(timeline, body->field, body->first);
    for (u32 i = body->first; i < body->first + body->count && !mixed;
         i = (i / CHUNK_POINTS + 1) * CHUNK_POINTS) {
        mixed = timeline_phase(timeline, body->field, i) != phase;
    }
    for (u32 i = 0; i < body->edge_count && mixed; i++) {
        const StrainEdge *edge = &body->edges[i];
        if (timeline_phase(timeline, body->field, body->first + edge->a) ==
            timeline_phase(timeline, body->field, body->first + edge->b)) {
            f32 length = vec3_distance(points[edge->a].position, points[edge->b].position);
            most = f32_max(most, length / edge->rest);
        }
    }
    return mixed ? most : 0.0f;
}

static bool sweep(const StrainBody *body, f32 stretch, ShownPoint *points)
{
    bool any = false;
    for (u32 i = 0; i < body->edge_count; i++) {
        const StrainEdge *edge = &body->edges[i];
        Vec3 *a = &points[edge->a].position, *b = &points[edge->b].position;
        Vec3 way = vec3_sub(*b, *a);
        f32 most = stretch * edge->rest, length2 = vec3_length_squared(way);
        if (length2 > most * most) {
            f32 share = 0.5f * (1.0f - most / sqrtf(length2));
            *a = vec3_add_scaled(*a, share, way);
            *b = vec3_add_scaled(*b, -share, way);
            any = true;
        }
    }
    return any;
}

void strain_limit(const Strain *strain, const Timeline *timeline, u32 field, ShownPoint *points)
{
    for (u32 i = 0; i < strain->body_count; i++) {
        const StrainBody *body = &strain->bodies[i];
        ShownPoint *own = points + body->first;
        if (body->field != field || own[0].generation == 0) {
            continue;
        }
        f32 stretch = SLACK * stretch_known(body, timeline, own);
        for (u32 k = 0; k < SWEEPS && stretch > 0.0f && sweep(body, stretch, own); k++) {
        }
    }
}
