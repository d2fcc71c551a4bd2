/* tetrahedra_pieces.c: finds connected components with union-find. */
#include "shared/soft/tetrahedra_pieces.h"

#include "shared/math/vec3d.h"

#include <stdlib.h>
#include <string.h>

/* Dropped fragments are less than one in this many tetrahedra in total. */
enum {
    CRUMB = 16
};

static u32 find(u32 *parent, u32 i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* parent[i]: the lowest point of the component of point i. */
static void join(u32 *parent, u32 points, const u32 *corners, u32 count, u32 each)
{
    for (u32 i = 0; i < points; i++) {
        parent[i] = i;
    }
    for (u32 e = 0; e < count; e++) {
        const u32 *corner = &corners[(size_t)each * e];
        for (u32 k = 1; k < each; k++) {
            u32 a = find(parent, corner[0]), b = find(parent, corner[k]);
            parent[u32_max(a, b)] = u32_min(a, b);
        }
    }
    for (u32 i = 0; i < points; i++) {
        parent[i] = find(parent, i);
    }
}

/* Number of parts that face outwards; the others are walls of cavities. volume: scratch. */
static u32 count_bodies(const SoftMesh *surface, u32 *parent, f64 *volume)
{
    join(parent, surface->point_count, surface->triangles, surface->triangle_count, 3);
    memset(volume, 0, surface->point_count * sizeof *volume);
    for (u32 t = 0; t < surface->triangle_count; t++) {
        const u32 *c = &surface->triangles[3 * (size_t)t];
        u32 piece = parent[c[0]];
        Vec3 o = surface->points[piece];
        volume[piece] += vec3d_triple(vec3d_between(o, surface->points[c[0]]),
                                      vec3d_between(o, surface->points[c[1]]),
                                      vec3d_between(o, surface->points[c[2]]));
    }
    u32 bodies = 0;
    for (u32 i = 0; i < surface->point_count; i++) {
        bodies += volume[i] > 0.0;
    }
    return u32_max(bodies, 1);
}

typedef struct Piece {
    u32 count; /* of tetrahedra */
    u32 root;
} Piece;

/* The largest first. */
static int compare_pieces(const void *left, const void *right)
{
    const Piece *a = left, *b = right;
    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return a->root < b->root ? -1 : a->root > b->root ? 1 : 0;
}

/* Moves tetrahedra of components with keep[root] != 0, then used points, to the front. */
static void compact(SoftMesh *mesh, const u32 *parent, const u8 *keep, u32 *number)
{
    u32 kept = 0, points = 0;
    memset(number, 0xFF, mesh->point_count * sizeof *number);
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        u32 *corner = &mesh->tetrahedra[4 * (size_t)t];
        if (keep[parent[corner[0]]]) {
            for (u32 k = 0; k < 4; k++) {
                number[corner[k]] = 0;
            }
            memmove(&mesh->tetrahedra[4 * (size_t)kept++], corner, 4 * sizeof *corner);
        }
    }
    for (u32 i = 0; i < mesh->point_count; i++) {
        if (number[i] != UINT32_MAX) {
            mesh->points[points] = mesh->points[i];
            number[i] = points++;
        }
    }
    for (u32 i = 0; i < 4 * kept; i++) {
        mesh->tetrahedra[i] = number[mesh->tetrahedra[i]];
    }
    mesh->tetrahedron_count = kept;
    mesh->point_count = points;
}

static int keep_largest(SoftMesh *mesh, u32 bodies, u32 *parent, u32 *number, Piece *pieces,
                        u8 *keep, ErrorText *error)
{
    u32 count = 0;
    join(parent, mesh->point_count, mesh->tetrahedra, mesh->tetrahedron_count, 4);
    for (u32 i = 0; i < mesh->point_count; i++) {
        number[i] = count;
        if (parent[i] == i) {
            pieces[count++] = (Piece){0, i};
        }
    }
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        pieces[number[parent[mesh->tetrahedra[4 * (size_t)t]]]].count++;
    }
    qsort(pieces, count, sizeof *pieces, compare_pieces);
    u32 crumbs = 0;
    for (u32 i = 0; i < count; i++) {
        keep[pieces[i].root] = i < bodies;
        crumbs += i < bodies ? 0 : pieces[i].count;
    }
    if (crumbs > mesh->tetrahedron_count / CRUMB) {
        return error_set(error, ERROR_RANGE,
                         "falls into %u pieces, the surface has %u: a higher resolution is needed",
                         count, bodies);
    }
    compact(mesh, parent, keep, number);
    return ERROR_OK;
}

int tetrahedra_keep_pieces(SoftMesh *mesh, const SoftMesh *surface, ErrorText *error)
{
    size_t capacity = u32_max(mesh->point_count, surface->point_count);
    u32 *parent = malloc(capacity * sizeof *parent), *number = malloc(capacity * sizeof *number);
    f64 *volume = malloc(surface->point_count * sizeof *volume);
    Piece *pieces = malloc(mesh->point_count * sizeof *pieces);
    u8 *keep = calloc(mesh->point_count, 1);
    int code;
    if (parent == NULL || number == NULL || volume == NULL || pieces == NULL || keep == NULL) {
        code = error_set(error, ERROR_MEMORY, "out of memory for pieces");
    } else {
        u32 bodies = count_bodies(surface, parent, volume);
        code = keep_largest(mesh, bodies, parent, number, pieces, keep, error);
    }
    free(parent);
    free(number);
    free(volume);
    free(pieces);
    free(keep);
    return code;
}
