/* mesh_shapes.c: triangulation of shapes; tracks are in mesh_track.c. */
#include "shared/geometry/weld.h"
#include "shared/math/trig.h"
#include "shared/mesh/mesh_surface.h"

#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

enum {
    ROUND_SEGMENTS = 32,
    /* Terrains with more samples per side are drawn with reduced resolution. */
    TERRAIN_DRAWN_MAX = 512,
    /* Points with more adjacent triangles are shaded flat. */
    SMOOTH_TRIANGLES_MAX = 256
};
#define CREASE_RADIANS 0.7f
#define GOLDEN         1.6180339887498949f

/* The corners of three golden rectangles. */
const Vec3 ICOSAHEDRON_POINTS[12] = {{-1, GOLDEN, 0},  {1, GOLDEN, 0},   {-1, -GOLDEN, 0},
                                     {1, -GOLDEN, 0},  {0, -1, GOLDEN},  {0, 1, GOLDEN},
                                     {0, -1, -GOLDEN}, {0, 1, -GOLDEN},  {GOLDEN, 0, -1},
                                     {GOLDEN, 0, 1},   {-GOLDEN, 0, -1}, {-GOLDEN, 0, 1}};
const u8 ICOSAHEDRON_FACES[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                     {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                     {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                     {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};

Error surface_begin(SurfaceMesh *surface, size_t vertices, size_t indices)
{
    memset(surface, 0, sizeof *surface);
    surface->positions = malloc(vertices * sizeof *surface->positions);
    surface->normals = malloc(vertices * sizeof *surface->normals);
    surface->indices = malloc(indices * sizeof *surface->indices);
    if (surface->positions == NULL || surface->normals == NULL || surface->indices == NULL) {
        surface_mesh_finish(surface);
        return ERROR_MEMORY;
    }
    return ERROR_OK;
}

void surface_mesh_finish(SurfaceMesh *surface)
{
    free(surface->positions);
    free(surface->normals);
    free(surface->indices);
    memset(surface, 0, sizeof *surface);
}

/* ---- hull, cylinder, cone ---- */

Error surface_mesh_hull(SurfaceMesh *surface, const Hull *hull)
{
    u32 triangles = hull->edge_count - 2 * hull->face_count;
    if (surface_begin(surface, hull->edge_count, 3 * (size_t)triangles) != ERROR_OK) {
        return ERROR_MEMORY;
    }
    for (u32 f = 0; f < hull->face_count; f++) {
        u32 first = surface->vertex_count;
        u32 e = hull->face_edges[f];
        do {
            u32 v = add_vertex(surface, hull->vertices[hull->edges[e].origin], hull->normals[f]);
            if (v >= first + 2) {
                add_triangle(surface, first, v - 1, v);
            }
            e = hull->edges[e].next;
        } while (e != hull->face_edges[f]);
    }
    return ERROR_OK;
}

static Vec3 on_circle(f64 part)
{
    f64 sine, cosine;
    trig_sincos(2.0 * PI * part, &sine, &cosine);
    return vec3((f32)cosine, 0.0f, (f32)sine);
}

/* A disc across the y axis facing up or down. */
static void add_disc(SurfaceMesh *surface, f32 radius, f32 y, u32 segments, bool up)
{
    u32 first = surface->vertex_count;
    for (u32 i = 0; i < segments; i++) {
        Vec3 p = vec3_scale(on_circle((f64)i / segments), radius);
        p.y = y;
        u32 v = add_vertex(surface, p, vec3(0.0f, up ? 1.0f : -1.0f, 0.0f));
        if (i >= 2) { /* with y up, increasing angles are clockwise seen from above */
            add_triangle(surface, first, up ? v : v - 1, up ? v - 1 : v);
        }
    }
}

Error surface_mesh_cylinder(SurfaceMesh *surface, f32 radius, f32 half_height, u32 segments)
{
    memset(surface, 0, sizeof *surface);
    if (segments < 3 || segments > SURFACE_SEGMENTS_MAX) {
        return ERROR_RANGE;
    }
    if (surface_begin(surface, 4 * segments, 12 * segments - 12) != ERROR_OK) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < segments; i++) {
        Vec3 out = on_circle((f64)i / segments);
        u32 next = 2 * ((i + 1) % segments);
        Vec3 p = vec3_scale(out, radius);
        u32 low = add_vertex(surface, vec3(p.x, -half_height, p.z), out);
        u32 high = add_vertex(surface, vec3(p.x, half_height, p.z), out);
        add_quad(surface, low, high, next + 1, next);
    }
    add_disc(surface, radius, half_height, segments, true);
    add_disc(surface, radius, -half_height, segments, false);
    return ERROR_OK;
}

Error surface_mesh_cone(SurfaceMesh *surface, f32 radius, f32 half_height, u32 segments)
{
    memset(surface, 0, sizeof *surface);
    if (segments < 3 || segments > SURFACE_SEGMENTS_MAX) {
        return ERROR_RANGE;
    }
    if (surface_begin(surface, 3 * segments, 6 * segments - 6) != ERROR_OK) {
        return ERROR_MEMORY;
    }
    Vec3 apex = vec3(0.0f, half_height, 0.0f);
    for (u32 i = 0; i < segments; i++) {
        /* The apex has no unique normal: each triangle uses its central one. */
        for (u32 k = 0; k < 2; k++) {
            Vec3 out = on_circle((i + 0.5 * k) / segments);
            Vec3 normal = vec3(2.0f * half_height * out.x, radius, 2.0f * half_height * out.z);
            Vec3 p = vec3(radius * out.x, -half_height, radius * out.z);
            add_vertex(surface, k == 0 ? p : apex,
                       vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f)));
        }
        add_triangle(surface, 2 * i, 2 * i + 1, 2 * ((i + 1) % segments));
    }
    add_disc(surface, radius, -half_height, segments, false);
    return ERROR_OK;
}

/* ---- terrain ---- */

/* Samples 0, step, 2 step … and the last one. */
static u32 drawn_count(u32 samples, u32 step)
{
    return (samples - 2) / step + 2;
}

static u32 drawn_sample(u32 k, u32 samples, u32 step)
{
    return u32_min(k * step, samples - 1);
}

/* Of the smooth surface, by central differences. */
static Vec3 terrain_normal(const Terrain *terrain, u32 i, u32 j)
{
    const f32 *h = terrain->heights;
    u32 left = i > 0 ? i - 1 : i, right = u32_min(i + 1, terrain->columns - 1);
    u32 back = j > 0 ? j - 1 : j, front = u32_min(j + 1, terrain->rows - 1);
    f32 dx = h[(size_t)j * terrain->columns + right] - h[(size_t)j * terrain->columns + left];
    f32 dz = h[(size_t)front * terrain->columns + i] - h[(size_t)back * terrain->columns + i];
    Vec3 n = vec3(-dx / ((f32)(right - left) * terrain->spacing), 1.0f,
                  -dz / ((f32)(front - back) * terrain->spacing));
    return vec3_normalize_or(n, vec3(0.0f, 1.0f, 0.0f));
}

Error surface_mesh_terrain(SurfaceMesh *surface, const Terrain *terrain, u32 step)
{
    memset(surface, 0, sizeof *surface);
    if (step < 1) {
        return ERROR_RANGE;
    }
    u32 columns = drawn_count(terrain->columns, step), rows = drawn_count(terrain->rows, step);
    if (surface_begin(surface, (size_t)columns * rows, 6 * (size_t)(columns - 1) * (rows - 1)) !=
        ERROR_OK) {
        return ERROR_MEMORY;
    }
    for (u32 b = 0; b < rows; b++) {
        for (u32 a = 0; a < columns; a++) {
            u32 i = drawn_sample(a, terrain->columns, step);
            u32 j = drawn_sample(b, terrain->rows, step);
            Vec3 p = vec3(((f32)i - 0.5f * (f32)(terrain->columns - 1)) * terrain->spacing,
                          terrain->heights[(size_t)j * terrain->columns + i],
                          ((f32)j - 0.5f * (f32)(terrain->rows - 1)) * terrain->spacing);
            u32 v = add_vertex(surface, p, terrain_normal(terrain, i, j));
            if (a > 0 && b > 0) {
                add_quad(surface, v - columns - 1, v - 1, v, v - columns);
            }
        }
    }
    return ERROR_OK;
}

/* ---- triangle meshes ---- */

/* The triangle corners that meet at each position. */
typedef struct EdgeMeeting {
    u32 *place;  /* [vertex_count] */
    u32 *start;  /* [vertex_count + 1] first corner of a position in `corner` */
    u32 *corner; /* [3 × triangle_count] */
    u32 *made;   /* [3 × triangle_count] output vertex of a corner */
    Vec3 *flat;  /* [triangle_count] unit normals */
    f32 *angle;  /* [3 × triangle_count] of the triangle at the corner, radians */
} EdgeMeeting;

static void meeting_finish(EdgeMeeting *meeting)
{
    free(meeting->place);
    free(meeting->start);
    free(meeting->corner);
    free(meeting->made);
    free(meeting->flat);
    free(meeting->angle);
}

static void measure_corners(EdgeMeeting *meeting, const TriangleMesh *mesh)
{
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 p[3], side[3];
        mesh_triangle(mesh, t, p);
        Vec3 n = vec3_cross(vec3_sub(p[1], p[0]), vec3_sub(p[2], p[0]));
        meeting->flat[t] = vec3_normalize_or(n, vec3(0.0f, 1.0f, 0.0f));
        for (u32 i = 0; i < 3; i++) {
            side[i] = vec3_normalize_or(vec3_sub(p[(i + 1) % 3], p[i]), vec3_zero());
        }
        for (u32 i = 0; i < 3; i++) {
            meeting->angle[3 * t + i] = trig_acos_f32(-vec3_dot(side[i], side[(i + 2) % 3]));
        }
    }
}

static bool meeting_init(EdgeMeeting *meeting, const TriangleMesh *mesh)
{
    size_t corners = 3 * (size_t)mesh->triangle_count;
    meeting->place = malloc(mesh->vertex_count * sizeof(u32));
    meeting->start = calloc((size_t)mesh->vertex_count + 1, sizeof(u32));
    meeting->corner = malloc(corners * sizeof(u32));
    meeting->made = malloc(corners * sizeof(u32));
    meeting->flat = malloc(mesh->triangle_count * sizeof(Vec3));
    meeting->angle = malloc(corners * sizeof(f32));
    if (meeting->place == NULL || meeting->start == NULL || meeting->corner == NULL ||
        meeting->made == NULL || meeting->flat == NULL || meeting->angle == NULL ||
        !weld_vertices(mesh->vertices, mesh->vertex_count, meeting->place)) {
        return false;
    }
    for (size_t i = 0; i < corners; i++) {
        meeting->start[meeting->place[mesh->triangles[i]] + 1]++;
    }
    for (u32 v = 0; v < mesh->vertex_count; v++) {
        meeting->start[v + 1] += meeting->start[v];
    }
    for (size_t i = 0; i < corners; i++) {
        meeting->corner[meeting->start[meeting->place[mesh->triangles[i]]]++] = (u32)i;
    }
    for (u32 v = mesh->vertex_count; v > 0; v--) {
        meeting->start[v] = meeting->start[v - 1];
    }
    meeting->start[0] = 0;
    measure_corners(meeting, mesh);
    return true;
}

/* The mean normal of adjacent triangles not separated by a crease, weighted by their angles, so
 * that it does not depend on the triangulation (Thürmer, Wüthrich 1998). */
static Vec3 corner_normal(const EdgeMeeting *meeting, u32 place, u32 triangle, f32 crease_cosine)
{
    Vec3 own = meeting->flat[triangle];
    u32 first = meeting->start[place], end = meeting->start[place + 1];
    Vec3 sum = vec3_zero();
    for (u32 k = first; k < end && end - first <= SMOOTH_TRIANGLES_MAX; k++) {
        Vec3 other = meeting->flat[meeting->corner[k] / 3];
        if (vec3_dot(other, own) >= crease_cosine) {
            sum = vec3_add_scaled(sum, meeting->angle[meeting->corner[k]], other);
        }
    }
    return vec3_normalize_or(sum, own);
}

Error surface_mesh_triangles(SurfaceMesh *surface, const TriangleMesh *mesh, f32 crease_radians)
{
    EdgeMeeting meeting = {0};
    size_t corners = 3 * (size_t)mesh->triangle_count;
    f32 crease_cosine = (f32)trig_cos((f64)f32_clamp(crease_radians, 0.0f, (f32)PI)) - 1e-5f;
    Error result = surface_begin(surface, corners, corners);
    if (result != ERROR_OK || !meeting_init(&meeting, mesh)) {
        meeting_finish(&meeting);
        surface_mesh_finish(surface);
        return ERROR_MEMORY;
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        for (u32 i = 0; i < 3; i++) {
            u32 corner = 3 * t + i;
            u32 place = meeting.place[mesh->triangles[corner]];
            Vec3 normal = corner_normal(&meeting, place, t, crease_cosine);
            u32 made = UINT32_MAX;
            u32 first = meeting.start[place], end = meeting.start[place + 1];
            bool crowded = end - first > SMOOTH_TRIANGLES_MAX;
            for (u32 k = first; k < end && meeting.corner[k] < corner && !crowded; k++) {
                u32 before = meeting.made[meeting.corner[k]];
                Vec3 d = vec3_sub(surface->normals[before], normal);
                made = d.x == 0.0f && d.y == 0.0f && d.z == 0.0f ? before : made;
            }
            meeting.made[corner] =
                made != UINT32_MAX
                    ? made
                    : add_vertex(surface, mesh->vertices[mesh->triangles[corner]], normal);
        }
        add_triangle(surface, meeting.made[3 * t], meeting.made[3 * t + 1],
                     meeting.made[3 * t + 2]);
    }
    meeting_finish(&meeting);
    return ERROR_OK;
}

Error surface_mesh_shape(SurfaceMesh *surface, const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_CYLINDER:
        return surface_mesh_cylinder(surface, shape->radius, shape->half_height, ROUND_SEGMENTS);
    case SHAPE_CONE:
        return surface_mesh_cone(surface, shape->radius, shape->half_height, ROUND_SEGMENTS);
    case SHAPE_HULL:
        return surface_mesh_hull(surface, &shape->geometry->hull);
    case SHAPE_MESH:
        return surface_mesh_triangles(surface, &shape->geometry->mesh, CREASE_RADIANS);
    case SHAPE_TERRAIN: {
        const Terrain *terrain = &shape->geometry->terrain;
        u32 side = u32_max(terrain->columns, terrain->rows);
        return surface_mesh_terrain(surface, terrain, 1 + (side - 1) / TERRAIN_DRAWN_MAX);
    }
    default:
        memset(surface, 0, sizeof *surface);
        return ERROR_UNSUPPORTED;
    }
}
