/* soft_figures.c: a growing mesh; rings, bridges and stick figures. */
#include "shared/soft/soft_figures.h"

#include "shared/base/limits.h"
#include "shared/math/trig.h"
#include "shared/soft/soft_figures_make.h"
#include "shared/soft/soft_mesh_make.h"

#include <stdlib.h>
#include <string.h>

/* Relative play of a brace, small enough to be as stiff as an edge. */
static const f32 brace_play = 1e-4f;

void figure_begin(FigureMaker *maker, SoftMesh *mesh)
{
    FigureMaker empty = {.mesh = mesh};
    memset(mesh, 0, sizeof *mesh);
    *maker = empty;
}

int figure_end(FigureMaker *maker, ErrorText *error)
{
    if (!maker->full) {
        return ERROR_OK;
    }
    soft_mesh_finish(maker->mesh);
    return error_set(error, ERROR_LIMIT, "too many points: no memory, or more than %d",
                     PARTICLES_MAX);
}

static bool grow(FigureMaker *maker, void **items, u32 *capacity, u32 count, size_t size)
{
    if (!maker->full && count == *capacity) {
        u32 larger = u32_max(2 * count, 64);
        void *moved = count < 16 * (u32)PARTICLES_MAX ? realloc(*items, larger * size) : NULL;
        maker->full = moved == NULL;
        if (moved != NULL) {
            *items = moved;
            *capacity = larger;
        }
    }
    return !maker->full;
}

u32 figure_point(FigureMaker *maker, Vec3 at)
{
    SoftMesh *mesh = maker->mesh;
    maker->full = maker->full || mesh->point_count >= PARTICLES_MAX;
    if (!grow(maker, (void **)&mesh->points, &maker->point_capacity, mesh->point_count,
              sizeof at)) {
        return 0;
    }
    return soft_mesh_add_point(mesh, at);
}

void figure_triangle(FigureMaker *maker, u32 a, u32 b, u32 c)
{
    SoftMesh *mesh = maker->mesh;
    if (grow(maker, (void **)&mesh->triangles, &maker->triangle_capacity, mesh->triangle_count,
             3 * sizeof *mesh->triangles)) {
        soft_mesh_add_triangle(mesh, a, b, c);
    }
}

void figure_stick(FigureMaker *maker, u32 a, u32 b, f32 low, f32 high)
{
    SoftMesh *mesh = maker->mesh;
    if (grow(maker, (void **)&mesh->sticks, &maker->stick_capacity, mesh->stick_count,
             sizeof *mesh->sticks)) {
        f32 length = vec3_distance(mesh->points[a], mesh->points[b]);
        SoftStick stick = {a, b, low * length, high * length};
        mesh->sticks[mesh->stick_count++] = stick;
    }
}

void figure_brace(FigureMaker *maker, u32 a, u32 b)
{
    figure_stick(maker, a, b, 1.0f - brace_play, 1.0f + brace_play);
}

/* ---- ring ---- */

int soft_mesh_ring(SoftMesh *mesh, f32 radius, u32 points, ErrorText *error)
{
    FigureMaker maker;
    figure_begin(&maker, mesh);
    if (!soft_mesh_is_length(radius) || points < 3 || points > SOFT_SEGMENTS_MAX) {
        return error_set(error, ERROR_RANGE, "a ring of %u points and %g m: 3 to %d, more than 0 m",
                         points, (double)radius, SOFT_SEGMENTS_MAX);
    }
    for (u32 i = 0; i < points; i++) {
        f32 angle = 6.2831853f * (f32)i / (f32)points;
        figure_point(&maker,
                     vec3(radius * trig_cos_f32(angle), radius * trig_sin_f32(angle), 0.0f));
    }
    for (u32 i = 0; i < points && !maker.full; i++) {
        figure_stick(&maker, i, (i + 1) % points, 1.0f, 1.0f);
    }
    return figure_end(&maker, error);
}

/* ---- bridge ---- */

/* Height of a bridge with sag `depth`, at t of its length. */
static f32 bridge_height(f32 depth, f32 t)
{
    return -4.0f * depth * t * (1.0f - t);
}

/* Sag (m) for which its links are 1 + slack times the gap, by bisection. */
static f32 bridge_depth(const SoftBridge *bridge)
{
    f32 low = 0.0f, high = bridge->length;
    f32 step = 1.0f / (f32)(bridge->stations - 1);
    for (u32 k = 0; k < 24; k++) {
        f32 depth = 0.5f * (low + high), length = 0.0f;
        for (u32 s = 1; s < bridge->stations; s++) {
            f32 down =
                bridge_height(depth, (f32)s * step) - bridge_height(depth, (f32)(s - 1) * step);
            length += sqrtf(down * down + step * step * bridge->length * bridge->length);
        }
        bool longer = length > (1.0f + bridge->slack) * bridge->length;
        low = longer ? low : depth;
        high = longer ? depth : high;
    }
    return bridge->slack > 0.0f ? 0.5f * (low + high) : 0.0f;
}

static bool bridge_is_good(const SoftBridge *b)
{
    return soft_mesh_is_length(b->length) && soft_mesh_is_length(b->width) &&
           soft_mesh_is_length(b->rail) && b->slack >= 0.0f && b->slack <= 0.5f &&
           b->stations >= 2 && b->stations <= 1000 && b->across >= 2 && b->across <= 64;
}

static void join_stations(FigureMaker *maker, u32 from, u32 across)
{
    u32 to = from + across + 2;
    for (u32 i = 0; i + 1 < across; i++) {
        figure_triangle(maker, from + i, from + i + 1, to + i);
        figure_triangle(maker, from + i + 1, to + i + 1, to + i);
    }
    for (u32 side = 0; side < 2; side++) {
        figure_stick(maker, from + across + side, to + across + side, 1.0f, 1.0f);
    }
}

int soft_mesh_bridge(SoftMesh *mesh, const SoftBridge *bridge, ErrorText *error)
{
    FigureMaker maker;
    figure_begin(&maker, mesh);
    if (!bridge_is_good(bridge)) {
        return error_set(error, ERROR_RANGE,
                         "a bridge has a length, a width and rails, a slack of 0 to 0.5, 2 to 1000 "
                         "stations and 2 to 64 points across");
    }
    u32 across = bridge->across, each = across + 2;
    f32 depth = bridge_depth(bridge);
    for (u32 s = 0; s < bridge->stations; s++) {
        f32 t = (f32)s / (f32)(bridge->stations - 1);
        Vec3 at = vec3(t * bridge->length, bridge_height(depth, t), 0.0f);
        for (u32 i = 0; i < each; i++) {
            f32 z = i < across ? (f32)i / (f32)(across - 1) : (f32)(i - across);
            f32 up = i < across ? 0.0f : bridge->rail;
            figure_point(&maker, vec3_add(at, vec3(0.0f, up, (z - 0.5f) * bridge->width)));
        }
    }
    for (u32 s = 0; s < bridge->stations && !maker.full; s++) {
        u32 first = s * each;
        figure_stick(&maker, first, first + across, 1.0f, 1.0f); /* hangers */
        figure_stick(&maker, first + across - 1, first + across + 1, 1.0f, 1.0f);
        if (s + 1 < bridge->stations) {
            join_stations(&maker, first, across);
        }
    }
    return figure_end(&maker, error);
}

/* ---- figure ---- */

/* Heights and widths for a person of 1 m. */
static const Vec3 trunk_points[6] = {
    {0.0f, 0.93f, 0.01f},  {0.0f, 0.82f, -0.03f},  {0.11f, 0.80f, 0.0f},
    {-0.11f, 0.80f, 0.0f}, {0.06f, 0.52f, 0.015f}, {-0.06f, 0.52f, 0.015f},
};
static const f32 hinge_half = 0.02f, cap_out = 0.045f;

static Vec3 mirror(Vec3 p, u32 side)
{
    return side == 0 ? p : vec3(-p.x, p.y, p.z);
}

/* A limb hangs down from its root: two bones that share a hinge axis along x. The cap is on the
 * side away from the bend (forward = 1: the elbow, whose hand moves forward; −1: the knee). */
static void make_limb(FigureMaker *maker, Vec3 hinge, f32 lower, u32 side, f32 forward, f32 height)
{
    Vec3 points[FIGURE_LIMB] = {vec3_add(hinge, vec3(hinge_half, 0.0f, 0.0f)),
                                vec3_add(hinge, vec3(-hinge_half, 0.0f, 0.0f)),
                                vec3_add(hinge, vec3(0.0f, 0.0f, -forward * cap_out)),
                                vec3_add(hinge, vec3(0.0f, -lower, 0.0f))};
    for (u32 i = 0; i < FIGURE_LIMB; i++) {
        figure_point(maker, vec3_scale(mirror(points[i], side), height));
    }
}

/* The minimal distance of root and end at maximal bend. */
static f32 least_reach(f32 upper, f32 lower)
{
    return sqrtf(upper * upper + lower * lower +
                 2.0f * upper * lower * trig_cos_f32(FIGURE_BEND_MAX));
}

static void join_limb(FigureMaker *maker, u32 limb, u32 root)
{
    u32 a = limb + FIGURE_HINGE, b = a + 1, cap = limb + FIGURE_CAP, end = limb + FIGURE_END;
    const Vec3 *p = maker->mesh->points;
    figure_stick(maker, root, a, 1.0f, 1.0f);
    figure_stick(maker, root, b, 1.0f, 1.0f);
    figure_stick(maker, a, b, 1.0f, 1.0f);
    figure_stick(maker, root, cap, 1.0f, 1.0f);
    figure_stick(maker, a, cap, 1.0f, 1.0f);
    figure_stick(maker, b, cap, 1.0f, 1.0f);
    figure_stick(maker, a, end, 1.0f, 1.0f);
    figure_stick(maker, b, end, 1.0f, 1.0f);
    /* Bending in the right direction moves the end away from the cap; the end must not come too
     * near the root. */
    figure_stick(maker, cap, end, 1.0f, 2.0f);
    f32 whole = vec3_distance(p[root], p[end]);
    Vec3 hinge = vec3_scale(vec3_add(p[a], p[b]), 0.5f);
    f32 least = least_reach(vec3_distance(p[root], hinge), vec3_distance(hinge, p[end]));
    figure_stick(maker, root, end, least / whole, 2.0f);
}

static void join_trunk(FigureMaker *maker)
{
    static const u32 frame[5] = {FIGURE_NECK, FIGURE_SHOULDER, FIGURE_SHOULDER + 1, FIGURE_HIP,
                                 FIGURE_HIP + 1};
    for (u32 i = 0; i < 5; i++) {
        for (u32 j = i + 1; j < 5; j++) {
            figure_stick(maker, frame[i], frame[j], 1.0f, 1.0f);
        }
    }
    figure_stick(maker, FIGURE_HEAD, FIGURE_NECK, 1.0f, 1.0f);
    for (u32 side = 0; side < 2; side++) {
        figure_stick(maker, FIGURE_HEAD, FIGURE_SHOULDER + side, 0.75f, 1.25f);
        figure_stick(maker, FIGURE_HEAD, FIGURE_HIP + side, 0.88f, 1.02f);
        /* Limits crossing, splits and backward bending of the legs. */
        u32 leg = FIGURE_LEG + FIGURE_LIMB * side, arm = FIGURE_ARM + FIGURE_LIMB * side;
        figure_stick(maker, leg + FIGURE_CAP, FIGURE_HIP + 1 - side, 0.85f, 1.3f);
        figure_stick(maker, leg + FIGURE_CAP, FIGURE_SHOULDER + side, 0.35f, 1.05f);
        /* Keeps arms outside the chest. */
        figure_stick(maker, arm + FIGURE_CAP, FIGURE_SHOULDER + 1 - side, 0.5f, 2.0f);
    }
}

int soft_mesh_figure(SoftMesh *mesh, f32 height, ErrorText *error)
{
    FigureMaker maker;
    figure_begin(&maker, mesh);
    if (!soft_mesh_is_length(height)) {
        return error_set(error, ERROR_RANGE, "a figure of %g m: more than 0", (double)height);
    }
    for (u32 i = 0; i < 6; i++) {
        figure_point(&maker, vec3_scale(trunk_points[i], height));
    }
    for (u32 side = 0; side < 2; side++) {
        make_limb(&maker, vec3(0.14f, 0.63f, 0.0f), 0.16f, side, 1.0f, height);
    }
    for (u32 side = 0; side < 2; side++) {
        make_limb(&maker, vec3(0.06f, 0.27f, 0.015f), 0.26f, side, -1.0f, height);
    }
    if (!maker.full) {
        join_trunk(&maker);
        for (u32 side = 0; side < 2; side++) {
            join_limb(&maker, FIGURE_ARM + FIGURE_LIMB * side, FIGURE_SHOULDER + side);
            join_limb(&maker, FIGURE_LEG + FIGURE_LIMB * side, FIGURE_HIP + side);
        }
    }
    return figure_end(&maker, error);
}
