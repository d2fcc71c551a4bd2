/* mesh_track.c: gutters swept along a path, and smooth paths. */
#include "shared/base/limits.h"
#include "shared/math/trig.h"
#include "shared/mesh/mesh_surface.h"

#include <string.h>

#define PI               3.14159265358979323846
#define STEEP_SINE       0.98480775f  /* sin 80° */
#define SHARP_COSINE     -0.17364818f /* cos 100° */
#define PIECE_MIN_M      1e-4f
#define KNOT_SPACING_MIN 1e-6

enum {
    STRIPS = 4,
    STRIP_POINTS_MAX = TRACK_SEGMENTS_MAX + 3
};

/* Part of the cross section with a smooth surface; four of them form the closed section. */
typedef struct Strip {
    f32 right[STRIP_POINTS_MAX], up[STRIP_POINTS_MAX]; /* m, from the path's point */
    f32 normal_right[STRIP_POINTS_MAX], normal_up[STRIP_POINTS_MAX];
    u32 count;
} Strip;

/* Placement of the section at a point of the path. */
typedef struct Station {
    Vec3 point;
    Vec3 right, up;                /* unit */
    f32 stretch_right, stretch_up; /* stretch of a section that is oblique to its segments */
} Station;

static Error check_profile(const TrackProfile *profile, ErrorText *error)
{
    if (!(profile->radius >= GEOMETRY_EXTENT_MIN_M && profile->radius <= WORLD_EXTENT_MAX_M &&
          profile->rim >= 0.0f && profile->rim <= WORLD_EXTENT_MAX_M &&
          profile->thickness >= GEOMETRY_EXTENT_MIN_M &&
          profile->thickness <= WORLD_EXTENT_MAX_M)) {
        return error_set(error, ERROR_RANGE,
                         "track: radius %g m, rim %g m, thickness %g m: radius and thickness are "
                         "positive, the rim is not negative",
                         (f64)profile->radius, (f64)profile->rim, (f64)profile->thickness);
    }
    if (profile->segments < 2 || profile->segments > TRACK_SEGMENTS_MAX) {
        return error_set(error, ERROR_RANGE, "track: %u segments, expected 2 to %d",
                         profile->segments, TRACK_SEGMENTS_MAX);
    }
    return ERROR_OK;
}

static Vec3 piece_direction(const Vec3 *points, u32 count, u32 piece)
{
    return vec3_normalize_or(vec3_sub(points[(piece + 1) % count], points[piece]), vec3_zero());
}

static Error check_path(const Vec3 *points, u32 count, bool closed, ErrorText *error)
{
    u32 least = closed ? 3 : 2;
    if (count < least || count > TRACK_POINTS_MAX) {
        return error_set(error, ERROR_LIMIT, "track: %u points, expected %u to %d", count, least,
                         TRACK_POINTS_MAX);
    }
    for (u32 i = 0; i < count; i++) {
        Vec3 a = vec3_abs(points[i]);
        if (!(a.x <= WORLD_EXTENT_MAX_M && a.y <= WORLD_EXTENT_MAX_M &&
              a.z <= WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE, "track: point %u, expected numbers within ±%g m",
                             i, (f64)WORLD_EXTENT_MAX_M);
        }
    }
    u32 pieces = closed ? count : count - 1;
    for (u32 i = 0; i < pieces; i++) {
        if (!(vec3_distance(points[i], points[(i + 1) % count]) >= PIECE_MIN_M)) {
            return error_set(error, ERROR_RANGE, "track: points %u and %u are in one place", i,
                             (i + 1) % count);
        }
        Vec3 d = piece_direction(points, count, i);
        if (!(fabsf(d.y) <= STEEP_SINE)) {
            return error_set(error, ERROR_RANGE, "track: steeper than 80° after point %u", i);
        }
        if (i + 1 == pieces && !closed) {
            break;
        }
        Vec3 next = piece_direction(points, count, (i + 1) % count);
        Vec3 flat = vec3_normalize_or(vec3(d.x, 0.0f, d.z), d);
        Vec3 flat_next = vec3_normalize_or(vec3(next.x, 0.0f, next.z), next);
        if (!(vec3_dot(flat, flat_next) >= SHARP_COSINE && vec3_dot(d, next) >= SHARP_COSINE)) {
            return error_set(error, ERROR_RANGE, "track: turn of more than 100° at point %u",
                             (i + 1) % count);
        }
    }
    return ERROR_OK;
}

static void strip_add(Strip *strip, f32 right, f32 up, f32 normal_right, f32 normal_up)
{
    strip->right[strip->count] = right;
    strip->up[strip->count] = up;
    strip->normal_right[strip->count] = normal_right;
    strip->normal_up[strip->count++] = normal_up;
}

/* A wall, half a circle and a wall; `side` 1 is the inside, from left to right, and −1 the
 * outside, from right to left, so that the outside of the shell is always on the left. */
static void strip_trough(Strip *strip, const TrackProfile *profile, f32 radius, f32 side)
{
    f32 top = profile->radius + profile->rim;
    strip->count = 0;
    if (profile->rim > 0.0f) {
        strip_add(strip, -side * radius, top, 1.0f, 0.0f);
    }
    for (u32 i = 0; i <= profile->segments; i++) {
        f64 sine, cosine;
        trig_sincos(PI * i / profile->segments, &sine, &cosine);
        f32 right = -side * (f32)cosine, down = (f32)sine;
        strip_add(strip, radius * right, profile->radius - radius * down, -side * right,
                  side * down);
    }
    if (profile->rim > 0.0f) {
        strip_add(strip, side * radius, top, -1.0f, 0.0f);
    }
}

/* Inside, right lip, outside, left lip. */
static u32 make_section(Strip strips[STRIPS], const TrackProfile *profile)
{
    f32 outer = profile->radius + profile->thickness;
    f32 top = profile->radius + profile->rim;
    strip_trough(&strips[0], profile, profile->radius, 1.0f);
    strip_trough(&strips[2], profile, outer, -1.0f);
    strips[1].count = 0;
    strip_add(&strips[1], profile->radius, top, 0.0f, 1.0f);
    strip_add(&strips[1], outer, top, 0.0f, 1.0f);
    strips[3].count = 0;
    strip_add(&strips[3], -outer, top, 0.0f, 1.0f);
    strip_add(&strips[3], -profile->radius, top, 0.0f, 1.0f);
    return 2 * strips[0].count + 4;
}

/* The section lies in the plane that bisects the angle between the segments, and is stretched so
 * that the gutter keeps its width and height along both. */
static Station station_at(const Vec3 *points, u32 count, bool closed, u32 i)
{
    bool first = i == 0 && !closed, last = i + 1 == count && !closed;
    Vec3 after = piece_direction(points, count, last ? i - 1 : i);
    Vec3 before = first ? after : piece_direction(points, count, (i + count - 1) % count);
    Vec3 tangent = vec3_normalize_or(vec3_add(before, after), after);
    Vec3 level_before = vec3_normalize_or(vec3(before.x, 0.0f, before.z), before);
    Vec3 level_after = vec3_normalize_or(vec3(after.x, 0.0f, after.z), after);
    Vec3 level = vec3_normalize_or(vec3_add(level_before, level_after), level_after);
    Station station = {.point = points[i]};
    station.right = vec3_cross(level, vec3(0.0f, 1.0f, 0.0f));
    station.up = vec3_normalize_or(vec3_cross(station.right, tangent), vec3(0.0f, 1.0f, 0.0f));
    station.stretch_right = 1.0f / vec3_dot(level, level_after);
    /* Half the angle between the slopes. */
    f32 slope_before = sqrtf(before.x * before.x + before.z * before.z);
    f32 slope_after = sqrtf(after.x * after.x + after.z * after.z);
    f32 bend = slope_before * slope_after + before.y * after.y;
    station.stretch_up = 1.0f / sqrtf(0.5f + 0.5f * f32_clamp(bend, 0.0f, 1.0f));
    return station;
}

static void add_section(SurfaceMesh *surface, const Station *s, const Strip strips[STRIPS])
{
    for (u32 k = 0; k < STRIPS; k++) {
        const Strip *strip = &strips[k];
        for (u32 i = 0; i < strip->count; i++) {
            Vec3 p = vec3_add_scaled(s->point, strip->right[i] * s->stretch_right, s->right);
            p = vec3_add_scaled(p, strip->up[i] * s->stretch_up, s->up);
            Vec3 n = vec3_add_scaled(vec3_scale(s->right, strip->normal_right[i]),
                                     strip->normal_up[i], s->up);
            add_vertex(surface, p, vec3_normalize_or(n, s->up));
        }
    }
}

static void join_sections(SurfaceMesh *surface, const Strip strips[STRIPS], u32 from, u32 to)
{
    for (u32 k = 0; k < STRIPS; k++) {
        for (u32 i = 0; i + 1 < strips[k].count; i++) {
            add_quad(surface, from + i, from + i + 1, to + i + 1, to + i);
        }
        from += strips[k].count;
        to += strips[k].count;
    }
}

/* Closes an end between inside and outside. */
static void add_cap(SurfaceMesh *surface, const Strip strips[STRIPS], u32 section, const Station *s,
                    bool front)
{
    Vec3 normal = vec3_cross(s->up, s->right);
    normal = front ? normal : vec3_neg(normal);
    u32 count = strips[0].count;
    u32 outside = section + count + strips[1].count;
    u32 first = surface->vertex_count;
    for (u32 i = 0; i < count; i++) {
        add_vertex(surface, surface->positions[section + i], normal);
        add_vertex(surface, surface->positions[outside + count - 1 - i], normal);
    }
    for (u32 i = 0; i + 1 < count; i++) {
        u32 in = first + 2 * i, out = in + 1;
        if (front) {
            add_quad(surface, in, in + 2, out + 2, out);
        } else {
            add_quad(surface, in, out, out + 2, in + 2);
        }
    }
}

Error surface_mesh_track(SurfaceMesh *surface, const Vec3 *points, u32 count,
                         const TrackProfile *profile, ErrorText *error)
{
    memset(surface, 0, sizeof *surface);
    Error result = check_profile(profile, error);
    if (result == ERROR_OK) {
        result = check_path(points, count, profile->closed, error);
    }
    if (result != ERROR_OK) {
        return result;
    }
    Strip strips[STRIPS];
    u32 section = make_section(strips, profile);
    u32 pieces = profile->closed ? count : count - 1;
    u32 trough = strips[0].count;
    size_t vertices = (size_t)count * section + 4 * trough;
    size_t quads = (size_t)pieces * (section - STRIPS) + 2 * trough;
    if (surface_begin(surface, vertices, 6 * quads) != ERROR_OK) {
        return error_set(error, ERROR_MEMORY, "track: out of memory");
    }
    for (u32 i = 0; i < count; i++) {
        Station station = station_at(points, count, profile->closed, i);
        add_section(surface, &station, strips);
    }
    for (u32 i = 0; i < pieces; i++) {
        join_sections(surface, strips, i * section, (i + 1) % count * section);
    }
    if (!profile->closed) {
        Station start = station_at(points, count, false, 0);
        Station end = station_at(points, count, false, count - 1);
        add_cap(surface, strips, 0, &start, false);
        add_cap(surface, strips, (count - 1) * section, &end, true);
    }
    return ERROR_OK;
}

/* ---- smooth paths ---- */

static f64 knot_spacing(Vec3 a, Vec3 b)
{
    return fmax(sqrt((f64)vec3_distance(a, b)), KNOT_SPACING_MIN);
}

/* Barry and Goldman's pyramid of linear interpolations, for one coordinate. */
static f64 catmull_rom(const f64 p[4], const f64 knot[4], f64 t)
{
    f64 q[4] = {p[0], p[1], p[2], p[3]};
    for (int i = 0; i < 3; i++) {
        q[i] += (q[i + 1] - q[i]) * (t - knot[i]) / (knot[i + 1] - knot[i]);
    }
    for (int i = 0; i < 2; i++) {
        q[i] += (q[i + 1] - q[i]) * (t - knot[i]) / (knot[i + 2] - knot[i]);
    }
    return q[0] + (q[1] - q[0]) * (t - knot[1]) / (knot[2] - knot[1]);
}

static Vec3 path_point(const Vec3 *points, u32 count, bool closed, i64 i)
{
    if (closed) {
        return points[(u32)((i + count) % count)];
    }
    if (i < 0) { /* extrapolated linearly beyond the ends */
        return vec3_sub(vec3_scale(points[0], 2.0f), points[1]);
    }
    if (i >= (i64)count) {
        return vec3_sub(vec3_scale(points[count - 1], 2.0f), points[count - 2]);
    }
    return points[i];
}

u32 path_smooth(const Vec3 *points, u32 count, bool closed, u32 steps, Vec3 *out)
{
    u32 made = 0;
    u32 pieces = count < 2 ? 0 : closed ? count : count - 1;
    for (u32 piece = 0; piece < pieces; piece++) {
        Vec3 p[4];
        f64 knot[4] = {0.0, 0.0, 0.0, 0.0};
        for (int k = 0; k < 4; k++) {
            p[k] = path_point(points, count, closed, (i64)piece + k - 1);
            knot[k] = k > 0 ? knot[k - 1] + knot_spacing(p[k - 1], p[k]) : 0.0;
        }
        const f64 x[4] = {(f64)p[0].x, (f64)p[1].x, (f64)p[2].x, (f64)p[3].x};
        const f64 y[4] = {(f64)p[0].y, (f64)p[1].y, (f64)p[2].y, (f64)p[3].y};
        const f64 z[4] = {(f64)p[0].z, (f64)p[1].z, (f64)p[2].z, (f64)p[3].z};
        out[made++] = p[1];
        for (u32 s = 1; s < steps; s++) {
            f64 t = knot[1] + (knot[2] - knot[1]) * s / steps;
            out[made++] = vec3((f32)catmull_rom(x, knot, t), (f32)catmull_rom(y, knot, t),
                               (f32)catmull_rom(z, knot, t));
        }
    }
    if (!closed && count > 0) {
        out[made++] = points[count - 1];
    }
    return made;
}
