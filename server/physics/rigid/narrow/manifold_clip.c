/*
 * manifold_clip.c: clipping of a feature by another's face, and reduction to four points.
 * Method: Sutherland and Hodgman 1974; contact reduction after Gregorius, GDC 2015.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"
#include "shared/base/check.h"

/* A corner and the labels of its edges: below 64 the incident polygon's, from 64 on the
 * reference's. */
typedef struct ClipCorner {
    Vec3 p;
    u8 in, out;
    bool cut; /* not a corner of either polygon */
} ClipCorner;

enum {
    LABEL_REFERENCE = 64
};

/* Keeps the part below the plane outward · (p − on) = limit. */
static u32 clip_polygon(const ClipCorner *from, u32 count, ClipCorner *to, Vec3 on, Vec3 outward,
                        f32 limit, u8 label)
{
    u32 n = 0;
    f32 da = vec3_dot(outward, vec3_sub(from[0].p, on)) - limit, first = da;
    for (u32 k = 0; k < count; k++) {
        const ClipCorner *a = &from[k], *b = &from[k + 1 < count ? k + 1 : 0];
        f32 db = k + 1 < count ? vec3_dot(outward, vec3_sub(b->p, on)) - limit : first;
        if (da <= 0.0f && n < CLIPPED_MAX) {
            to[n++] = *a;
        }
        if ((da <= 0.0f) != (db <= 0.0f) && n < CLIPPED_MAX) {
            ClipCorner *x = &to[n++];
            x->p = vec3_lerp(a->p, b->p, da / (da - db));
            x->in = da <= 0.0f ? a->out : label;
            x->out = da <= 0.0f ? label : a->out;
            /* The intersection of two reference edges is a corner of it, which is persistent. */
            x->cut = x->in < LABEL_REFERENCE || x->out < LABEL_REFERENCE;
        }
        da = db;
    }
    return n;
}

/* The part of a segment below the plane; its ends keep their labels. */
static u32 clip_segment(ClipCorner *ends, Vec3 on, Vec3 outward, f32 limit)
{
    f32 da = vec3_dot(outward, vec3_sub(ends[0].p, on)) - limit;
    f32 db = vec3_dot(outward, vec3_sub(ends[1].p, on)) - limit;
    if (da > 0.0f && db > 0.0f) {
        return 0;
    }
    if ((da <= 0.0f) != (db <= 0.0f)) {
        ClipCorner *end = &ends[da <= 0.0f ? 1 : 0];
        end->p = vec3_lerp(ends[0].p, ends[1].p, da / (da - db));
        end->cut = true;
    }
    return 2;
}

u32 manifold_clip(const Polygon *reference, Vec3 n, const Polygon *incident,
                  const ClipLimits *limits, u32 id, ManifoldPoint *points)
{
    f32 round = limits->round, slack = limits->slack, margin = limits->margin;
    ClipCorner buffers[2][CLIPPED_MAX];
    ClipCorner *now = buffers[0], *next = buffers[1];
    u32 count = incident->count;
    for (u32 i = 0; i < count; i++) {
        now[i].p = incident->corners[i];
        now[i].in = incident->labels[i > 0 ? i - 1 : count - 1];
        now[i].out = incident->labels[i];
        now[i].cut = false;
    }
    for (u32 e = 0; e < reference->count && count > 0; e++) {
        Vec3 on = reference->corners[e];
        Vec3 to = reference->corners[e + 1 < reference->count ? e + 1 : 0];
        Vec3 outward = vec3_cross(vec3_sub(to, on), n);
        f32 limit = slack > 0.0f ? slack * vec3_length(outward) : 0.0f;
        if (count == 1) {
            count = vec3_dot(outward, vec3_sub(now[0].p, on)) <= limit ? 1 : 0;
        } else if (incident->count == 2) {
            count = clip_segment(now, on, outward, limit);
        } else {
            u8 label = (u8)(LABEL_REFERENCE + reference->labels[e]);
            count = clip_polygon(now, count, next, on, outward, limit, label);
            ClipCorner *swap = now;
            now = next;
            next = swap;
        }
    }
    u32 kept = 0;
    for (u32 i = 0; i < count; i++) {
        f32 height = vec3_dot(n, vec3_sub(now[i].p, reference->corners[0]));
        f32 separation = height - round;
        if (!(separation < margin)) {
            continue;
        }
        ManifoldPoint *point = &points[kept++];
        *point = (ManifoldPoint){
            .position = vec3_add_scaled(now[i].p, -(round + 0.5f * separation), n),
            .separation = separation,
            .feature = id | (u32)now[i].in << 7 | now[i].out | (now[i].cut ? FEATURE_CUT : 0)};
    }
    return kept;
}

/* ---- reduction ---- */

/* Points with nearly the best distance (squared) or span are treated as equal, and the one with
 * the lowest label is chosen: neither rounding nor small motions change the choice among the
 * corners of a regular face. Corners persist, cuts move with their edges, so cuts have a lower
 * score. */
#define CHOICE     1.02f
#define CUT_WEIGHT 0.7f

static f32 weight_of(const ManifoldPoint *point)
{
    return point->feature & FEATURE_CUT ? CUT_WEIGHT : 1.0f;
}

/* The best of the scores (negative: excluded), or count. */
static u32 choose(const ManifoldPoint *points, const f32 *scores, u32 count)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < count; i++) {
        most = f32_max(most, scores[i]);
    }
    u32 at = count;
    for (u32 i = 0; i < count; i++) {
        if (scores[i] > 0.0f && CHOICE * scores[i] >= most &&
            (at == count || points[i].feature < points[at].feature)) {
            at = i;
        }
    }
    return at;
}

static u32 farthest_from(const ManifoldPoint *points, u32 count, Vec3 from, f32 below)
{
    f32 scores[CLIPPED_MAX] = {0};
    for (u32 i = 0; i < count; i++) {
        f32 d = weight_of(&points[i]) * vec3_length_squared(vec3_sub(points[i].position, from));
        scores[i] = points[i].separation <= below ? d : -1.0f;
    }
    u32 at = choose(points, scores, count);
    return at < count ? at : 0;
}

void manifold_reduce(const ManifoldPoint *points, u32 count, Vec3 normal, Manifold *manifold)
{
    CHECK(manifold->count <= MANIFOLD_POINTS);
    if (manifold->count + count <= MANIFOLD_POINTS) {
        for (u32 i = 0; i < count; i++) {
            manifold->points[manifold->count++] = points[i];
        }
        return;
    }
    /* The outermost of points about as deep as the deepest: which is deepest is a matter of
     * rounding, and a central point gives no support. */
    f32 deepest = INFINITY, shallowest = -INFINITY, span2 = 0.0f;
    Vec3 middle = vec3_zero();
    for (u32 i = 0; i < count; i++) {
        deepest = f32_min(deepest, points[i].separation);
        shallowest = f32_max(shallowest, points[i].separation);
        middle = vec3_add_scaled(middle, 1.0f / (f32)count, points[i].position);
    }
    for (u32 i = 0; i < count; i++) {
        span2 = f32_max(span2, vec3_length_squared(vec3_sub(points[i].position, middle)));
    }
    f32 below = deepest + f32_max(0.05f * (shallowest - deepest), 1e-3f * sqrtf(span2));
    u32 chosen[4];
    chosen[0] = farthest_from(points, count, middle, below);
    chosen[1] = farthest_from(points, count, points[chosen[0]].position, INFINITY);
    Vec3 edge = vec3_sub(points[chosen[1]].position, points[chosen[0]].position);
    u32 found = chosen[1] == chosen[0] ? 1 : 2;
    for (u32 side = 0; side < 2; side++) {
        f32 scores[CLIPPED_MAX] = {0};
        for (u32 i = 0; i < count; i++) {
            Vec3 d = vec3_sub(points[i].position, points[chosen[0]].position);
            f32 area = vec3_dot(vec3_cross(edge, d), normal);
            area = weight_of(&points[i]) * (side == 0 ? area : -area);
            /* Points collinear with the first two add nothing. */
            scores[i] = area > 1e-3f * vec3_length_squared(edge) ? area : -1.0f;
        }
        u32 at = choose(points, scores, count);
        if (at < count) {
            chosen[found++] = at;
        }
    }
    for (u32 i = 0; i < found && manifold->count < MANIFOLD_POINTS; i++) {
        manifold->points[manifold->count++] = points[chosen[i]];
    }
}
