/* quickhull.c: quickhull on an integer grid. */
#include "shared/geometry/quickhull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 i128;

#define NONE UINT32_MAX

bool quickhull_init(QuickHull *hull, u32 point_capacity, u32 vertex_capacity)
{
    memset(hull, 0, sizeof *hull);
    hull->point_capacity = point_capacity;
    /* 2 V − 4 faces, and up to V more while the visible ones are not yet free. */
    hull->face_capacity = 3 * vertex_capacity;
    hull->faces = calloc(hull->face_capacity, sizeof *hull->faces);
    hull->next = calloc(point_capacity, sizeof *hull->next);
    hull->start = calloc(point_capacity, sizeof *hull->start);
    hull->visible = calloc(hull->face_capacity, sizeof *hull->visible);
    hull->made = calloc(hull->face_capacity, sizeof *hull->made);
    hull->spare = calloc(hull->face_capacity, sizeof *hull->spare);
    if (hull->faces == NULL || hull->next == NULL || hull->start == NULL || hull->visible == NULL ||
        hull->made == NULL || hull->spare == NULL) {
        quickhull_finish(hull);
        return false;
    }
    return true;
}

void quickhull_finish(QuickHull *hull)
{
    free(hull->faces);
    free(hull->next);
    free(hull->start);
    free(hull->visible);
    free(hull->made);
    free(hull->spare);
    memset(hull, 0, sizeof *hull);
}

static void difference(GridPoint a, GridPoint b, i64 out[3])
{
    out[0] = (i64)a.x - b.x;
    out[1] = (i64)a.y - b.y;
    out[2] = (i64)a.z - b.z;
}

static void cross(const i64 a[3], const i64 b[3], i64 out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static f64 length(const i64 a[3])
{
    f64 x = (f64)a[0], y = (f64)a[1], z = (f64)a[2];
    return sqrt(x * x + y * y + z * z);
}

/* n · d with an exact sign: doubles suffice unless the result is near zero. Terms are below
 * 2^83, so the error of doubles is less than 2^33. */
static f64 dot_signed(const i64 n[3], const i64 d[3])
{
    f64 fast = (f64)n[0] * (f64)d[0] + (f64)n[1] * (f64)d[1] + (f64)n[2] * (f64)d[2];
    if (fabs(fast) > 0x1p36) {
        return fast;
    }
    return (f64)((i128)n[0] * d[0] + (i128)n[1] * d[1] + (i128)n[2] * d[2]);
}

f64 quickhull_distance(const QuickHull *hull, const QuickFace *face, GridPoint p)
{
    i64 d[3];
    difference(p, hull->points[face->corner[0]], d);
    return dot_signed(face->normal, d) / face->length;
}

f64 quickhull_volume6(const QuickHull *hull)
{
    i128 volume6 = 0;
    GridPoint origin = {0, 0, 0};
    for (u32 i = 0; i < hull->face_count; i++) {
        const QuickFace *face = &hull->faces[i];
        if (face->live) {
            i64 d[3];
            difference(hull->points[face->corner[0]], origin, d);
            volume6 += (i128)face->normal[0] * d[0] + (i128)face->normal[1] * d[1] +
                       (i128)face->normal[2] * d[2];
        }
    }
    return (f64)volume6;
}

static u32 face_make(QuickHull *hull, u32 a, u32 b, u32 c)
{
    u32 index = hull->spare_count > 0 ? hull->spare[--hull->spare_count] : hull->face_count++;
    QuickFace *face = &hull->faces[index];
    i64 u[3], v[3];
    face->corner[0] = a;
    face->corner[1] = b;
    face->corner[2] = c;
    difference(hull->points[b], hull->points[a], u);
    difference(hull->points[c], hull->points[a], v);
    cross(u, v, face->normal);
    face->length = length(face->normal);
    face->far_distance = 0.0;
    face->far = NONE;
    face->first = NONE;
    face->live = true;
    face->visible = false;
    return index;
}

/* Assigns the point to the face among `faces` that it is farthest above, if any. */
static void assign(QuickHull *hull, u32 point, const u32 *faces, u32 count, f64 tolerance)
{
    f64 best = tolerance;
    u32 best_face = NONE;
    for (u32 i = 0; i < count; i++) {
        f64 d = quickhull_distance(hull, &hull->faces[faces[i]], hull->points[point]);
        if (d > best) {
            best = d;
            best_face = faces[i];
        }
    }
    if (best_face == NONE) {
        return;
    }
    QuickFace *face = &hull->faces[best_face];
    hull->next[point] = face->first;
    face->first = point;
    if (best > face->far_distance || (best == face->far_distance && point < face->far)) {
        face->far_distance = best;
        face->far = point;
    }
}

/* The two extreme points along an axis that are farthest apart. */
static f64 widest_pair(const GridPoint *points, u32 count, u32 pair[2])
{
    u32 low[3] = {0, 0, 0}, high[3] = {0, 0, 0};
    for (u32 i = 1; i < count; i++) {
        const i32 p[3] = {points[i].x, points[i].y, points[i].z};
        for (int axis = 0; axis < 3; axis++) {
            const i32 l[3] = {points[low[axis]].x, points[low[axis]].y, points[low[axis]].z};
            const i32 h[3] = {points[high[axis]].x, points[high[axis]].y, points[high[axis]].z};
            low[axis] = p[axis] < l[axis] ? i : low[axis];
            high[axis] = p[axis] > h[axis] ? i : high[axis];
        }
    }
    f64 best = -1.0;
    for (int axis = 0; axis < 3; axis++) {
        i64 d[3];
        difference(points[high[axis]], points[low[axis]], d);
        if (length(d) > best) {
            best = length(d);
            pair[0] = low[axis];
            pair[1] = high[axis];
        }
    }
    return best;
}

/* Four points that span a solid. */
static QuickHullResult first_simplex(const GridPoint *points, u32 count, f64 thickness,
                                     u32 corner[4])
{
    f64 width = widest_pair(points, count, corner);
    if (!(width > 0.0)) {
        return QUICKHULL_POINT;
    }
    i64 along[3], d[3], n[3], normal[3] = {0, 0, 0};
    difference(points[corner[1]], points[corner[0]], along);
    f64 best = 0.0;
    for (u32 i = 0; i < count; i++) {
        difference(points[i], points[corner[0]], d);
        cross(along, d, n);
        if (length(n) > best) {
            best = length(n);
            corner[2] = i;
            memcpy(normal, n, sizeof normal);
        }
    }
    if (!(best > thickness * width)) {
        return QUICKHULL_LINE;
    }
    f64 highest = 0.0;
    for (u32 i = 0; i < count; i++) {
        difference(points[i], points[corner[0]], d);
        f64 height = dot_signed(normal, d);
        if (fabs(height) > fabs(highest)) {
            highest = height;
            corner[3] = i;
        }
    }
    if (!(fabs(highest) > thickness * length(normal))) {
        return QUICKHULL_FLAT;
    }
    if (highest > 0.0) { /* the fourth point must be below the first face */
        u32 swap = corner[1];
        corner[1] = corner[2];
        corner[2] = swap;
    }
    return QUICKHULL_SOLID;
}

static void start_with(QuickHull *hull, const u32 corner[4])
{
    static const u8 corners[4][3] = {{0, 1, 2}, {1, 0, 3}, {2, 1, 3}, {0, 2, 3}};
    static const u8 adjacent[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    for (u32 i = 0; i < 4; i++) {
        u32 f =
            face_make(hull, corner[corners[i][0]], corner[corners[i][1]], corner[corners[i][2]]);
        for (int j = 0; j < 3; j++) {
            hull->faces[f].adjacent[j] = adjacent[i][j];
        }
    }
}

/* Marks the faces visible from the point, starting from one; returns their number. */
static u32 find_visible(QuickHull *hull, u32 from, GridPoint p)
{
    u32 count = 0;
    hull->visible[count++] = from;
    hull->faces[from].visible = true;
    for (u32 i = 0; i < count; i++) {
        for (int j = 0; j < 3; j++) {
            u32 other = hull->faces[hull->visible[i]].adjacent[j];
            QuickFace *face = &hull->faces[other];
            if (!face->visible && quickhull_distance(hull, face, p) > 0.0) {
                face->visible = true;
                hull->visible[count++] = other;
            }
        }
    }
    return count;
}

/* Creates faces from each edge of the horizon to the point; returns their number. */
static u32 make_cone(QuickHull *hull, u32 visible_count, u32 point)
{
    u32 count = 0;
    for (u32 i = 0; i < visible_count; i++) {
        u32 seen = hull->visible[i];
        for (u32 j = 0; j < 3; j++) {
            u32 other = hull->faces[seen].adjacent[j];
            if (hull->faces[other].visible) {
                continue;
            }
            u32 a = hull->faces[seen].corner[j];
            u32 b = hull->faces[seen].corner[(j + 1) % 3];
            u32 made = face_make(hull, a, b, point);
            hull->faces[made].adjacent[0] = other;
            for (u32 k = 0; k < 3; k++) {
                if (hull->faces[other].corner[k] == b) {
                    hull->faces[other].adjacent[k] = made;
                }
            }
            hull->start[a] = made;
            hull->made[count++] = made;
        }
    }
    for (u32 i = 0; i < count; i++) {
        u32 next = hull->start[hull->faces[hull->made[i]].corner[1]];
        hull->faces[hull->made[i]].adjacent[1] = next;
        hull->faces[next].adjacent[2] = hull->made[i];
    }
    return count;
}

static void take_in(QuickHull *hull, u32 from, f64 tolerance)
{
    u32 point = hull->faces[from].far;
    u32 visible_count = find_visible(hull, from, hull->points[point]);
    u32 made_count = make_cone(hull, visible_count, point);
    for (u32 i = 0; i < visible_count; i++) {
        QuickFace *face = &hull->faces[hull->visible[i]];
        for (u32 p = face->first, next; p != NONE; p = next) {
            next = hull->next[p];
            if (p != point) {
                assign(hull, p, hull->made, made_count, tolerance);
            }
        }
        face->live = false;
        face->visible = false;
        face->first = NONE;
        hull->spare[hull->spare_count++] = hull->visible[i];
    }
    hull->vertex_count++;
}

QuickHullResult quickhull_run(QuickHull *hull, const GridPoint *points, u32 count, f64 tolerance,
                              f64 thickness, u32 vertices_max)
{
    hull->points = points;
    hull->face_count = 0;
    hull->spare_count = 0;
    hull->vertex_count = 0;
    u32 corner[4] = {0, 0, 0, 0};
    QuickHullResult result = first_simplex(points, count, thickness, corner);
    if (result != QUICKHULL_SOLID) {
        return result;
    }
    start_with(hull, corner);
    hull->vertex_count = 4;
    static const u32 first[4] = {0, 1, 2, 3};
    for (u32 i = 0; i < count; i++) {
        assign(hull, i, first, 4, tolerance);
    }
    while (hull->vertex_count < vertices_max) {
        u32 best = NONE;
        for (u32 i = 0; i < hull->face_count; i++) {
            const QuickFace *face = &hull->faces[i];
            if (face->live && face->far != NONE &&
                (best == NONE || face->far_distance > hull->faces[best].far_distance)) {
                best = i;
            }
        }
        if (best == NONE) {
            break;
        }
        take_in(hull, best, tolerance);
    }
    return QUICKHULL_SOLID;
}
