/* soft_crease.c: the triangles at a vertex form fans connected over smooth edges. */
#include "client/view/soft_crease.h"

#include <stdlib.h>
#include <string.h>

enum {
    FAN_MAX = 64 /* triangles per vertex; with more it has no crease */
};

/* Edges whose normals differ by more than 60 degrees at rest are creases. */
static const f32 crease_cosine = 0.5f;

/* Triangles by vertex: those of v are list[first[v]] to list[first[v + 1]]. */
typedef struct Fans {
    u32 *first, *list;
    Vec3 *normals;
} Fans;

static bool fans_make(Fans *fans, const Vec3 *rest, u32 vertex_count, const u32 *triangles,
                      u32 triangle_count)
{
    fans->first = calloc((size_t)vertex_count + 2, sizeof *fans->first);
    fans->list = malloc(((size_t)3 * triangle_count + 1) * sizeof *fans->list);
    fans->normals = malloc(((size_t)triangle_count + 1) * sizeof *fans->normals);
    if (fans->first == NULL || fans->list == NULL || fans->normals == NULL) {
        return false;
    }
    u32 *next = fans->first + 1; /* next free entry of v: once complete, first[v + 1] */
    for (u32 i = 0; i < 3 * triangle_count; i++) {
        next[triangles[i] + 1]++;
    }
    for (u32 v = 1; v < vertex_count; v++) {
        next[v] += next[v - 1];
    }
    for (u32 i = 0; i < 3 * triangle_count; i++) {
        fans->list[next[triangles[i]]++] = i / 3;
    }
    for (u32 t = 0; t < triangle_count; t++) {
        const u32 *p = triangles + (size_t)3 * t;
        Vec3 n = vec3_cross(vec3_sub(rest[p[1]], rest[p[0]]), vec3_sub(rest[p[2]], rest[p[0]]));
        fans->normals[t] = vec3_normalize_or(n, vec3_zero());
    }
    return true;
}

static void fans_finish(Fans *fans)
{
    free(fans->first);
    free(fans->list);
    free(fans->normals);
}

/* Whether the two triangles share an edge and are smooth over it. */
static bool continues(const Fans *fans, const u32 *triangles, u32 s, u32 t)
{
    const u32 *p = triangles + (size_t)3 * s, *q = triangles + (size_t)3 * t;
    u32 shared = 0;
    for (u32 k = 0; k < 9; k++) {
        shared += p[k / 3] == q[k % 3];
    }
    return shared >= 2 && vec3_dot(fans->normals[s], fans->normals[t]) > crease_cosine;
}

/* Numbers the fans of a vertex from 0 by the first triangle of each; returns their number. */
static u32 split(const Fans *fans, const u32 *triangles, u32 vertex, u32 fan[FAN_MAX])
{
    const u32 *list = fans->list + fans->first[vertex];
    u32 count = fans->first[vertex + 1] - fans->first[vertex], total = 0;
    for (u32 i = 0; i < count; i++) {
        fan[i] = UINT32_MAX;
    }
    for (u32 i = 0; i < count; i++) {
        if (fan[i] != UINT32_MAX) {
            continue;
        }
        fan[i] = total++;
        for (bool more = true; more;) {
            more = false;
            for (u32 j = 0; j < count * count; j++) {
                u32 a = j / count, b = j % count;
                if (fan[a] == fan[i] && fan[b] == UINT32_MAX &&
                    continues(fans, triangles, list[a], list[b])) {
                    fan[b] = fan[i];
                    more = true;
                }
            }
        }
    }
    return total;
}

bool soft_crease_find(SoftCrease *crease, const Vec3 *rest, u32 vertex_count, const u32 *triangles,
                      u32 triangle_count)
{
    Fans fans = {NULL, NULL, NULL};
    size_t corners = (size_t)3 * triangle_count;
    memset(crease, 0, sizeof *crease);
    crease->triangles = malloc((corners + 1) * sizeof *crease->triangles);
    crease->twin_of = malloc((corners + 1) * sizeof *crease->twin_of);
    bool good = fans_make(&fans, rest, vertex_count, triangles, triangle_count) &&
                crease->triangles != NULL && crease->twin_of != NULL;
    if (good) {
        memcpy(crease->triangles, triangles, corners * sizeof *triangles);
    }
    for (u32 v = 0; good && v < vertex_count; v++) {
        u32 fan[FAN_MAX], count = fans.first[v + 1] - fans.first[v];
        u32 total = count <= FAN_MAX ? split(&fans, triangles, v, fan) : 0;
        for (u32 i = 0; total > 1 && i < count; i++) {
            u32 *corner = crease->triangles + (size_t)3 * fans.list[fans.first[v] + i];
            for (u32 k = 0; fan[i] > 0 && k < 3; k++) {
                bool here = triangles[(size_t)3 * fans.list[fans.first[v] + i] + k] == v;
                corner[k] = here ? vertex_count + crease->twin_count + fan[i] - 1 : corner[k];
            }
        }
        for (u32 i = 1; i < total; i++) {
            crease->twin_of[crease->twin_count++] = v;
        }
    }
    fans_finish(&fans);
    if (!good || crease->twin_count == 0) {
        free(crease->triangles);
        free(crease->twin_of);
        memset(crease, 0, sizeof *crease);
    }
    return good;
}
