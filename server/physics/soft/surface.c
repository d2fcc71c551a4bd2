/* surface.c: see surface.h. */
#include "server/physics/soft/surface.h"

#include "server/physics/contact/contact.h"
#include "shared/base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    /* New boxes of so many features cost about what they save a query, as estimated from the times
     * of both; results do not depend on it. */
    FEATURES_PER_QUERY = 50
};

void surface_destroy(SoftSurface *surface)
{
    if (surface == NULL) {
        return;
    }
    free(surface->features);
    free(surface->boxes);
    free(surface->body_bounds);
    free(surface->leaves);
    free(surface->numbers);
    tree_finish(&surface->tree);
    free(surface);
}

static bool reserve(SoftSurface *surface, const Soft *soft)
{
    u32 needed = soft->triangle_count + soft->segment_count + soft->constraint_count;
    u32 rooms[3] = {surface->feature_capacity, surface->feature_capacity,
                    surface->feature_capacity};
    if (!memory_grow((void **)&surface->body_bounds, &surface->body_capacity, soft->body_count,
                     sizeof *surface->body_bounds)) {
        return false;
    }
    if (needed <= surface->feature_capacity) {
        return true;
    }
    tree_finish(&surface->tree);
    surface->tree = (Tree){0};
    surface->feature_capacity = 0;
    u32 capacity = rooms[0];
    if (!memory_grow((void **)&surface->features, &capacity, needed, sizeof *surface->features) ||
        !memory_grow((void **)&surface->boxes, &rooms[0], needed, sizeof *surface->boxes) ||
        !memory_grow((void **)&surface->leaves, &rooms[1], needed, sizeof *surface->leaves) ||
        !memory_grow((void **)&surface->numbers, &rooms[2], needed, sizeof *surface->numbers) ||
        !tree_init(&surface->tree, capacity)) {
        return false;
    }
    surface->feature_capacity = capacity;
    return true;
}

static void add_feature(SoftSurface *surface, u32 body, const u32 *point, u32 corners)
{
    SoftFeature *feature = &surface->features[surface->feature_count++];
    *feature = (SoftFeature){.corners = corners, .body = body};
    memcpy(feature->point, point, corners * sizeof *point);
}

/* A tetrahedron may have two consecutive constraints. */
static void add_tetrahedra(SoftSurface *surface, const Soft *soft, u32 b)
{
    const SoftBody *body = &soft->bodies[b];
    const u32 *last = NULL;
    for (u32 i = 0; i < body->constraint_count; i++) {
        const SoftConstraint *of = &soft->constraints[body->first_constraint + i];
        bool volume = of->kind == CONSTRAINT_VOLUME || of->kind == CONSTRAINT_NEO_HOOKEAN;
        if (volume && (last == NULL || memcmp(last, of->point, 4 * sizeof *last) != 0)) {
            add_feature(surface, b, of->point, 4);
            last = of->point;
        }
    }
}

static void list_features(SoftSurface *surface, const Soft *soft)
{
    surface->feature_count = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        if (soft_is_absent(soft, b)) {
            continue;
        }
        for (u32 i = 0; i < body->triangle_count; i++) {
            add_feature(surface, b, soft->triangles[body->first_triangle + i].point, 3);
        }
        for (u32 i = 0; i < body->segment_count; i++) {
            add_feature(surface, b, soft->segments[body->first_segment + i].point, 2);
        }
        add_tetrahedra(surface, soft, b);
    }
}

static const Bounds none = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void find_boxes(SoftSurface *surface, const Soft *soft, f32 tick_s)
{
    u32 loose = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        surface->body_bounds[b] = none;
    }
    for (u32 i = 0; i < surface->feature_count; i++) {
        const SoftFeature *feature = &surface->features[i];
        Bounds box = none;
        f32 fastest = 0.0f;
        for (u32 k = 0; k < feature->corners; k++) {
            const SoftPoint *p = &soft->points[feature->point[k]];
            box.min = vec3_min(box.min, p->position);
            box.max = vec3_max(box.max, p->position);
            fastest = f32_max(fastest, vec3_length_squared(p->velocity));
        }
        f32 thickness = soft->bodies[feature->body].def.thickness;
        f32 margin = (sqrtf(fastest) + CONTACT_MARGIN_M_S) * tick_s;
        loose += margin > vec3_distance(box.max, box.min);
        box = bounds_grow(box, thickness + margin);
        surface->boxes[i] = box;
        surface->numbers[i] = i;
        surface->body_bounds[feature->body] =
            bounds_union(surface->body_bounds[feature->body], box);
    }
    surface->loose = 2 * loose > surface->feature_count;
}

void surface_step(SoftSurface *surface, const Soft *soft, f32 left, f32 h)
{
    /* The number of queries does not depend on threads. */
    bool asked = atomic_load_explicit(&surface->queries, memory_order_relaxed) >
                 surface->feature_count / FEATURES_PER_QUERY;
    atomic_store_explicit(&surface->queries, 0, memory_order_relaxed);
    if (!surface->taken || !(surface->loose || asked)) {
        return;
    }
    for (u32 i = 0; i < surface->feature_count; i++) {
        const SoftFeature *feature = &surface->features[i];
        Bounds box = none;
        for (u32 k = 0; k < feature->corners; k++) {
            const SoftPoint *p = &soft->points[feature->point[k]];
            Vec3 from = vec3_add_scaled(p->position, -left, p->velocity);
            Vec3 to = vec3_add_scaled(from, h, p->velocity);
            box.min = vec3_min(box.min, vec3_min(from, to));
            box.max = vec3_max(box.max, vec3_max(from, to));
        }
        f32 thickness = soft->bodies[feature->body].def.thickness;
        surface->boxes[i] = bounds_grow(box, thickness + CONTACT_MARGIN_M_S * h);
    }
    if (!tree_refit(&surface->tree, surface->boxes, sizeof *surface->boxes, surface->numbers,
                    surface->feature_count, surface->leaves)) {
        tree_build(&surface->tree, surface->boxes, sizeof *surface->boxes, surface->numbers,
                   surface->feature_count, surface->leaves, NULL);
    }
}

const SoftSurface *surface_of_tick(Soft *soft, Jobs *jobs, f32 tick_s)
{
    SoftSurface *surface = soft->surface;
    if (surface != NULL && !soft->surface_stale) {
        return surface;
    }
    if (surface == NULL) {
        surface = soft->surface = calloc(1, sizeof *surface);
    }
    if (surface == NULL) {
        return NULL;
    }
    soft->surface_stale = false;
    surface->feature_count = 0;
    atomic_store_explicit(&surface->queries, 0, memory_order_relaxed);
    surface->taken = false;
    if (soft->body_count == 0 || !reserve(surface, soft)) {
        return surface;
    }
    list_features(surface, soft);
    if (surface->feature_count != 0) {
        find_boxes(surface, soft, tick_s);
        tree_build(&surface->tree, surface->boxes, sizeof *surface->boxes, surface->numbers,
                   surface->feature_count, surface->leaves, jobs);
    }
    return surface;
}
