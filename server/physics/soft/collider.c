/*
 * collider.c: soft bodies as colliders for other matter. An impulse at a particle is distributed to
 * the corners of the feature in contact so that its sum and its moment about any point are
 * preserved; the contact velocity is the one that gives the same work. So momentum, angular
 * momentum and energy are exchanged exactly between the two, at any thickness between them. For a
 * triangle with unit normal N, barycentric coordinates λ of the particle's foot and its height d,
 * corner i gets λᵢ J − d (∇λᵢ · J) N.
 */
#include "server/physics/soft/collider.h"

#include "server/physics/contact/distance.h"
#include "server/physics/soft/surface.h"
#include "shared/geometry/grid.h"
#include "shared/geometry/triangle.h"

#include <stdatomic.h>

static const f32 tiny = 1e-12f;
static const f32 far_m = 1e6f; /* beyond the world */

enum {
    GROWTHS_MAX = 24 /* how often a search that finds nothing doubles its reach */
};

/* Position of a point at the time of the other party's step. */
static Vec3 place_of(const SoftCollider *bodies, u32 i)
{
    const SoftPoint *p = &bodies->soft->points[i];
    return vec3_add_scaled(p->position, -bodies->lag.left, p->velocity);
}

/* ---- the tick ---- */

static void begin(void *of, Jobs *jobs, f32 tick_s)
{
    SoftCollider *bodies = of;
    bodies->lag.left = 0.0f;
    bodies->surface = surface_of_tick(bodies->soft, jobs, tick_s);
}

static bool has_features(const SoftCollider *bodies)
{
    return bodies->surface != NULL && bodies->surface->feature_count != 0;
}

static u32 overlaps(void *of, Bounds bounds, u32 group, u32 mask, u32 *things, u32 capacity)
{
    const SoftCollider *bodies = of;
    u32 count = 0;
    if (!has_features(bodies)) {
        return 0;
    }
    for (u32 b = 0; b < bodies->soft->body_count && count < capacity; b++) {
        const SoftDef *def = &bodies->soft->bodies[b].def;
        if (contact_groups_meet(def->group, def->mask, group, mask) &&
            bounds_overlap(&bodies->surface->body_bounds[b], &bounds)) {
            things[count++] = b;
        }
    }
    return count;
}

static bool take(void *of, u32 thing)
{
    Soft *soft = ((const SoftCollider *)of)->soft;
    if (soft->surface != NULL) {
        soft->surface->taken = true;
    }
    return !soft_sleeps(soft, thing);
}

static void step_begin(void *of, f32 h)
{
    const SoftCollider *bodies = of;
    if (has_features(bodies)) {
        surface_step(bodies->soft->surface, bodies->soft, bodies->lag.left, h);
    }
}

/* ---- the nearest feature ---- */

typedef struct Search {
    const SoftCollider *bodies;
    u32 body;
    Vec3 from, to; /* m, of the particle */
    f32 h;         /* s between the two, in which the points move too */
    bool inside;   /* of a tetrahedron, at `from`: the nearest surface is measured from there */
    u32 nearest;   /* feature, or SOFT_NONE */
    f32 distance2; /* m², at `to`, or at `from` from inside */
    f32 inside_distance2;
    u32 nearest_inside;
    u32 crossed; /* first feature that the particle passes through, or SOFT_NONE */
    f32 crossing;
} Search;

static bool is_inside(const Vec3 c[4], Vec3 p)
{
    Vec3 a = vec3_sub(c[1], c[0]), b = vec3_sub(c[2], c[0]), d = vec3_sub(c[3], c[0]);
    Vec3 r = vec3_sub(p, c[0]);
    f32 volume = vec3_dot(vec3_cross(a, b), d);
    if (!(fabsf(volume) > 0.0f)) {
        return false;
    }
    f32 u = vec3_dot(vec3_cross(r, b), d) / volume, v = vec3_dot(vec3_cross(a, r), d) / volume;
    f32 w = vec3_dot(vec3_cross(a, b), r) / volume;
    return u >= 0.0f && v >= 0.0f && w >= 0.0f && u + v + w <= 1.0f;
}

static f32 weights_of(const SoftFeature *feature, const Vec3 c[4], Vec3 p, f32 weight[4])
{
    triangle_nearest_weights(p, c[0], c[1], c[feature->corners - 1], weight);
    Vec3 foot = vec3_scale(c[0], weight[0]);
    foot = vec3_add_scaled(foot, weight[1], c[1]);
    if (feature->corners == 2) { /* two of the three corners coincide */
        weight[1] += weight[2];
        foot = vec3_add_scaled(vec3_scale(c[0], weight[0]), weight[1], c[1]);
    } else {
        foot = vec3_add_scaled(foot, weight[2], c[2]);
    }
    return vec3_length_squared(vec3_sub(p, foot));
}

/* Ties go to the first of the list, independent of the order of the tree. */
static bool is_nearer(f32 far, u32 number, f32 best, u32 best_number)
{
    return far < best || (far == best && number < best_number);
}

static void look_at(void *context, u32 number)
{
    Search *search = context;
    const SoftCollider *bodies = search->bodies;
    const SoftFeature *feature = &bodies->surface->features[number];
    if (feature->body != search->body) {
        return;
    }
    Vec3 c[4] = {0}, later[4] = {0}, moved = vec3_zero();
    f32 weight[4] = {0};
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(bodies, feature->point[k]);
        later[k] =
            vec3_add_scaled(c[k], search->h, bodies->soft->points[feature->point[k]].velocity);
    }
    if (feature->corners == 4) {
        search->inside = search->inside || is_inside(c, search->from);
        return;
    }
    f32 inside2 = weights_of(feature, c, search->from, weight);
    for (u32 k = 0; k < feature->corners; k++) {
        moved = vec3_add_scaled(moved, weight[k], vec3_sub(later[k], c[k]));
    }
    f32 distance2 = weights_of(feature, later, search->to, weight);
    f32 crossing = feature->corners == 3
                       ? contact_crossing(later, vec3_add(search->from, moved), search->to)
                       : 2.0f;
    if (is_nearer(distance2, number, search->distance2, search->nearest)) {
        search->distance2 = distance2;
        search->nearest = number;
    }
    if (feature->corners == 3 &&
        is_nearer(inside2, number, search->inside_distance2, search->nearest_inside)) {
        search->inside_distance2 = inside2;
        search->nearest_inside = number;
    }
    if (crossing <= 1.0f && is_nearer(crossing, number, search->crossing, search->crossed)) {
        search->crossing = crossing;
        search->crossed = number;
    }
}

/* m to the box of a feature at this distance, at most: boxes include the thickness. */
static f32 beyond_thickness(const SoftCollider *bodies, u32 body, f32 distance)
{
    return f32_max(distance - bodies->soft->bodies[body].def.thickness, 0.0f);
}

/* m², of a point to the bounds of corners: at most its distance to them, however both round. */
static inline f32 corners_gap2(const Vec3 c[4], u32 corners, Vec3 p)
{
    Bounds box = {vec3_min(c[0], c[1]), vec3_max(c[0], c[1])};
    if (corners == 3) {
        box = (Bounds){vec3_min(box.min, c[2]), vec3_max(box.max, c[2])};
    }
    Vec3 gap = vec3_max(vec3_sub(box.min, p), vec3_sub(p, box.max));
    return vec3_length_squared(vec3_max(gap, vec3_zero())) * (1.0f - 1e-5f);
}

/* A particle that does not move in the search: the nearest feature, without the swept queries.
 * Returns how far away (m) features still matter: from inside, only triangles count. */
static f32 look_still(void *context, u32 number, f32 max)
{
    Search *search = context;
    const SoftCollider *bodies = search->bodies;
    const SoftFeature *feature = &bodies->surface->features[number];
    if (feature->body != search->body) {
        return max;
    }
    Vec3 c[4] = {0};
    f32 weight[4] = {0};
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(bodies, feature->point[k]);
    }
    if (feature->corners == 4) {
        search->inside = search->inside || is_inside(c, search->from);
        return max;
    }
    bool triangles = bodies->soft->bodies[search->body].triangle_count != 0;
    const f32 *far2 = triangles ? &search->inside_distance2 : &search->distance2;
    /* Boxes include the motion of the tick: dozens of them overlap here, few features are near. */
    if (corners_gap2(c, feature->corners, search->from) > *far2) {
        return max;
    }
    f32 distance2 = weights_of(feature, c, search->from, weight);
    if (is_nearer(distance2, number, search->distance2, search->nearest)) {
        search->distance2 = distance2;
        search->nearest = number;
    }
    if (feature->corners == 3 &&
        is_nearer(distance2, number, search->inside_distance2, search->nearest_inside)) {
        search->inside_distance2 = distance2;
        search->nearest_inside = number;
    }
    return f32_min(max, beyond_thickness(bodies, search->body, sqrtf(*far2)));
}

static Search search_of(const SoftCollider *bodies, u32 body, Vec3 from, Vec3 to, f32 h)
{
    return (Search){.bodies = bodies,
                    .body = body,
                    .from = from,
                    .to = to,
                    .h = h,
                    .nearest = SOFT_NONE,
                    .distance2 = INFINITY,
                    .inside_distance2 = INFINITY,
                    .nearest_inside = SOFT_NONE,
                    .crossed = SOFT_NONE,
                    .crossing = 2.0f};
}

static void count_query(const SoftCollider *bodies)
{
    atomic_fetch_add_explicit(&bodies->soft->surface->queries, 1, memory_order_relaxed);
}

static void look(Search *search, Bounds way, f32 reach)
{
    const Tree *tree = &search->bodies->surface->tree;
    count_query(search->bodies);
    if (search->h > 0.0f) {
        tree_query(tree, bounds_grow(way, reach), look_at, search);
    } else {
        reach = beyond_thickness(search->bodies, search->body, reach);
        tree_nearest(tree, way, reach, look_still, search);
    }
}

/* Searches features within `reach` m, thickness included; from inside, as far as the surface is. */
static void run(Search *search, f32 reach)
{
    Bounds way = {vec3_min(search->from, search->to), vec3_max(search->from, search->to)};
    if (!has_features(search->bodies)) {
        return;
    }
    look(search, way, reach);
    for (u32 i = 0; i < GROWTHS_MAX && search->inside && search->nearest_inside == SOFT_NONE; i++) {
        reach = 2.0f * reach + 1e-3f;
        look(search, way, reach);
    }
}

/* ---- distribution to the corners of a feature ---- */

/* Barycentric coordinates at the foot of p, also beyond the triangle's edges; its normal and the
 * height of p. False for a triangle without area. */
static bool plane_parts(const Vec3 c[3], Vec3 p, f32 part[3], Vec3 gradient[3], Vec3 *normal,
                        f32 *height)
{
    Vec3 ab = vec3_sub(c[1], c[0]), ac = vec3_sub(c[2], c[0]), ap = vec3_sub(p, c[0]);
    Vec3 area = vec3_cross(ab, ac);
    f32 twice2 = vec3_length_squared(area);
    if (!(twice2 > tiny * vec3_length_squared(ab) * vec3_length_squared(ac)) ||
        !(twice2 < INFINITY)) {
        return false;
    }
    *normal = vec3_scale(area, 1.0f / sqrtf(twice2));
    gradient[1] = vec3_scale(vec3_cross(ac, area), 1.0f / twice2);
    gradient[2] = vec3_scale(vec3_cross(area, ab), 1.0f / twice2);
    gradient[0] = vec3_neg(vec3_add(gradient[1], gradient[2]));
    part[1] = vec3_dot(gradient[1], ap);
    part[2] = vec3_dot(gradient[2], ap);
    part[0] = 1.0f - part[1] - part[2];
    *height = vec3_dot(*normal, ap);
    return true;
}

static bool hang_on_triangle(const Vec3 c[3], Vec3 p, ContactPlace *place, f32 *height)
{
    Vec3 gradient[3];
    if (!plane_parts(c, p, place->across, gradient, &place->lever, height)) {
        return false;
    }
    for (u32 k = 0; k < 3; k++) {
        place->couple[k] = vec3_scale(gradient[k], *height);
    }
    return true;
}

/* A segment cannot resist rotation about itself: no eccentric impulse acts in that direction. */
static bool hang_on_segment(const Vec3 c[2], Vec3 p, ContactPlace *place)
{
    Vec3 along = vec3_sub(c[1], c[0]), ap = vec3_sub(p, c[0]);
    f32 length2 = vec3_length_squared(along);
    if (!(length2 > 0.0f)) {
        return false;
    }
    f32 part = vec3_dot(along, ap) / length2;
    Vec3 off = vec3_add_scaled(ap, -part, along);
    f32 beside = vec3_length(off), length = sqrtf(length2);
    place->across[0] = 1.0f - part;
    place->across[1] = part;
    place->lever = vec3_zero();
    if (beside > 1e-6f * length) {
        place->lever = vec3_scale(off, 1.0f / beside);
        place->free = vec3_normalize_or(vec3_cross(along, off), vec3_zero());
    }
    place->couple[1] = vec3_scale(along, beside / length2);
    place->couple[0] = vec3_neg(place->couple[1]);
    return true;
}

/* Each corner's share of an impulse at the particle. */
static void share(const ContactPlace *place, Vec3 impulse, Vec3 part[CONTACT_POINTS_MAX])
{
    Vec3 along = vec3_scale(place->normal, vec3_dot(impulse, place->normal));
    Vec3 across = vec3_sub(impulse, along);
    for (u32 k = 0; k < place->count; k++) {
        part[k] = vec3_scale(along, place->along[k]);
        part[k] = vec3_add_scaled(part[k], place->across[k], across);
        part[k] = vec3_add_scaled(part[k], -vec3_dot(place->couple[k], across), place->lever);
    }
}

/* The velocity that is work-conjugate to an impulse at the particle. */
static Vec3 velocity_of(const SoftCollider *bodies, const ContactPlace *place)
{
    Vec3 across = vec3_zero();
    f32 along = 0.0f;
    for (u32 k = 0; k < place->count; k++) {
        Vec3 v = bodies->soft->points[place->point[k]].velocity;
        along += place->along[k] * vec3_dot(v, place->normal);
        across = vec3_add_scaled(across, place->across[k], v);
        across = vec3_add_scaled(across, -vec3_dot(place->lever, v), place->couple[k]);
    }
    return vec3_add_scaled(across, along - vec3_dot(across, place->normal), place->normal);
}

/* ---- questions ---- */

static f32 distance(const void *of, u32 thing, Vec3 point, f32 reach, Vec3 *normal)
{
    const SoftCollider *bodies = of;
    f32 thickness = bodies->soft->bodies[thing].def.thickness, weight[4] = {0};
    Search search = search_of(bodies, thing, point, point, 0.0f);
    run(&search, reach + thickness);
    u32 number = search.inside ? search.nearest_inside : search.nearest;
    *normal = vec3(0.0f, 1.0f, 0.0f);
    if (number == SOFT_NONE) {
        return INFINITY;
    }
    const SoftFeature *feature = &bodies->surface->features[number];
    Vec3 c[4] = {0}, off = point;
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(bodies, feature->point[k]);
    }
    f32 length = sqrtf(weights_of(feature, c, point, weight));
    for (u32 k = 0; k < feature->corners; k++) {
        off = vec3_add_scaled(off, -weight[k], c[k]);
    }
    *normal = vec3_normalize_or(search.inside ? vec3_neg(off) : off, *normal);
    return (search.inside ? -length : length) - thickness;
}

/* The feature of a body that is nearest to a point. */
typedef struct NearestFeature {
    const SoftCollider *bodies;
    u32 body, number; /* of the feature, or SOFT_NONE */
    Vec3 point;
    f32 distance2; /* m² */
    f32 weight[4];
} NearestFeature;

static f32 look_nearest(void *context, u32 number, f32 max)
{
    NearestFeature *of = context;
    const SoftFeature *feature = &of->bodies->surface->features[number];
    Vec3 c[4] = {0};
    f32 weight[4] = {0};
    if (feature->body != of->body || feature->corners == 4) {
        return max;
    }
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(of->bodies, feature->point[k]);
    }
    if (corners_gap2(c, feature->corners, of->point) > of->distance2) {
        return max;
    }
    f32 distance2 = weights_of(feature, c, of->point, weight);
    if (is_nearer(distance2, number, of->distance2, of->number)) {
        of->distance2 = distance2;
        of->number = number;
        memcpy(of->weight, weight, sizeof weight);
    }
    return f32_min(max, beyond_thickness(of->bodies, of->body, sqrtf(of->distance2)));
}

static Vec3 velocity(const void *of, u32 thing, Vec3 point)
{
    const SoftCollider *bodies = of;
    NearestFeature nearest = {bodies, thing, SOFT_NONE, point, INFINITY, {0}};
    Vec3 v = vec3_zero();
    if (has_features(bodies)) {
        Bounds at = {point, point};
        count_query(bodies);
        tree_nearest(&bodies->surface->tree, at, far_m, look_nearest, &nearest);
    }
    if (nearest.number != SOFT_NONE) {
        const SoftFeature *feature = &bodies->surface->features[nearest.number];
        for (u32 k = 0; k < feature->corners; k++) {
            const SoftPoint *p = &bodies->soft->points[feature->point[k]];
            v = vec3_add_scaled(v, nearest.weight[k], p->velocity);
        }
    }
    return v;
}

/* Whether a point lies in the shape, or, for a shape between the points, its middle near a
 * surface. */
static bool touches(const void *of, u32 thing, const struct ShapePose *shape)
{
    const SoftCollider *bodies = of;
    const SoftBody *body = &bodies->soft->bodies[thing];
    f32 thickness = body->def.thickness, inner = shape_inner_radius(shape->shape);
    Vec3 normal;
    for (u32 i = body->first; i < body->first + body->count; i++) {
        if (contact_distance(shape, place_of(bodies, i), thickness, &normal) < thickness) {
            return true;
        }
    }
    return inner > 0.0f && distance(of, thing, shape->position, inner, &normal) < inner;
}

typedef struct FeatureCast {
    const SoftCollider *bodies;
    u32 body, number; /* of the feature hit, or SOFT_NONE */
    Ray ray;
    f32 nearest; /* m */
    Vec3 normal;
} FeatureCast;

/* A stick is a capsule of the body's thickness. */
static bool ray_hits_stick(const FeatureCast *search, Vec3 a, Vec3 b, f32 *distance, Vec3 *normal)
{
    const Vec3 up = vec3(0.0f, 1.0f, 0.0f);
    Vec3 axis = vec3_sub(b, a);
    f32 length = vec3_length(axis);
    Shape capsule = {.kind = SHAPE_CAPSULE,
                     .radius = search->bodies->soft->bodies[search->body].def.thickness,
                     .half_height = 0.5f * length};
    Vec3 side = vec3_cross(up, axis);
    Quat orientation = {length + axis.y, side.x, side.y, side.z};
    orientation = quat_dot(orientation, orientation) > tiny * length * length
                      ? quat_normalize(orientation)
                      : (Quat){0.0f, 1.0f, 0.0f, 0.0f};
    return shape_ray(&capsule, vec3_scale(vec3_add(a, b), 0.5f), orientation, search->ray,
                     search->nearest, distance, normal);
}

static f32 cast_feature(void *context, u32 number, f32 max)
{
    FeatureCast *search = context;
    const SoftFeature *feature = &search->bodies->surface->features[number];
    if (feature->body != search->body || feature->corners == 4) {
        return max;
    }
    Vec3 c[3] = {0}, normal;
    f32 distance, u, v;
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(search->bodies, feature->point[k]);
    }
    bool hits;
    if (feature->corners == 3) {
        hits = triangle_ray(c, search->ray, search->nearest, 0.0f, &distance, &u, &v);
        normal = vec3_normalize_or(vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0])),
                                   vec3_neg(search->ray.direction));
        normal = vec3_dot(normal, search->ray.direction) > 0.0f ? vec3_neg(normal) : normal;
    } else {
        hits = ray_hits_stick(search, c[0], c[1], &distance, &normal);
    }
    /* At equal distances the first of the list, independent of the order of the tree. */
    if (hits &&
        (distance < search->nearest || (distance == search->nearest && number < search->number))) {
        search->nearest = distance;
        search->normal = normal;
        search->number = number;
    }
    return search->nearest;
}

/* Triangles as they are, without thickness. */
static bool ray_hits(const void *of, u32 thing, Ray ray, f32 max, f32 *distance, Vec3 *normal)
{
    const SoftCollider *bodies = of;
    FeatureCast search = {bodies, thing, SOFT_NONE, ray, max, vec3_zero()};
    if (!has_features(bodies)) {
        return false;
    }
    tree_cast(&bodies->surface->tree, ray.origin, vec3_zero(), ray.direction, max, cast_feature,
              &search);
    *distance = search.nearest;
    *normal = search.normal;
    return search.number != SOFT_NONE;
}

static f32 friction(const void *of, u32 thing)
{
    return ((const SoftCollider *)of)->soft->bodies[thing].def.friction;
}

typedef struct Nearby {
    const SoftCollider *bodies;
    u32 body;
    bool found;
} Nearby;

/* One is enough: of a body whose boxes are large, as it is fast or torn, nearly all are near. */
static f32 find_nearby(void *context, u32 number, f32 max)
{
    Nearby *nearby = context;
    nearby->found = nearby->bodies->surface->features[number].body == nearby->body;
    return nearby->found ? -1.0f : max;
}

/* The boxes already include the motion of the tick. */
static bool may_meet(const void *of, u32 thing, const ContactParticle *particle, f32 h)
{
    Nearby nearby = {of, thing, false};
    f32 speed = vec3_length(particle->velocity);
    Bounds box = {particle->position, particle->position};
    box = bounds_grow(box, particle->radius + (speed + CONTACT_MARGIN_M_S) * h);
    count_query(nearby.bodies);
    tree_nearest(&nearby.bodies->surface->tree, box, 0.0f, find_nearby, &nearby);
    return nearby.found;
}

/* ---- contact ---- */

static void refresh(const void *of, ContactPlace *place)
{
    place->velocity = place->moving = velocity_of(of, place);
}

/* The geometry is that of the start of the step, where impulses act; the end of the step decides
 * which feature is in contact, and whether there is contact. */
static bool meet(const void *of, u32 thing, const ContactParticle *particle, f32 h,
                 ContactPlace *place)
{
    const SoftCollider *bodies = of;
    Vec3 from = particle->position, c[4] = {0};
    f32 thickness = bodies->soft->bodies[thing].def.thickness, height = 0.0f;
    Search search = search_of(bodies, thing, from, vec3_add_scaled(from, h, particle->velocity), h);
    run(&search, particle->radius + thickness);
    bool crosses = !search.inside && search.crossed != SOFT_NONE;
    u32 number = search.inside ? search.nearest_inside : crosses ? search.crossed : search.nearest;
    f32 keep = particle->radius + thickness;
    if (number == SOFT_NONE || (!search.inside && !crosses && search.distance2 >= keep * keep)) {
        return false;
    }
    const SoftFeature *feature = &bodies->surface->features[number];
    *place = (ContactPlace){.thing = thing, .count = feature->corners};
    memcpy(place->point, feature->point, sizeof place->point);
    for (u32 k = 0; k < feature->corners; k++) {
        c[k] = place_of(bodies, feature->point[k]);
    }
    bool triangle = feature->corners == 3;
    if (!(triangle ? hang_on_triangle(c, from, place, &height) : hang_on_segment(c, from, place))) {
        return false;
    }
    f32 gap = sqrtf(weights_of(feature, c, from, place->along));
    Vec3 off = from, side = triangle ? place->lever : vec3(0.0f, 1.0f, 0.0f);
    for (u32 k = 0; k < feature->corners; k++) {
        off = vec3_add_scaled(off, -place->along[k], c[k]);
    }
    if (crosses) { /* its plane stops the particle, wherever it crosses */
        place->normal = height < 0.0f ? vec3_neg(side) : side;
        gap = fabsf(height);
        memcpy(place->along, place->across, sizeof place->along);
    } else {
        place->normal = vec3_normalize_or(search.inside ? vec3_neg(off) : off, side);
        gap = search.inside ? -gap : gap;
    }
    place->keeps = !triangle;
    refresh(of, place);
    Vec3 against = vec3_sub(particle->velocity, place->velocity);
    place->distance = gap + h * vec3_dot(against, place->normal) - thickness;
    return place->distance < particle->radius;
}

static f32 inverse_mass(const void *of, const ContactPlace *place, Vec3 direction)
{
    const SoftCollider *bodies = of;
    Vec3 part[CONTACT_POINTS_MAX];
    f32 sum = 0.0f;
    share(place, direction, part);
    for (u32 k = 0; k < place->count; k++) {
        sum += bodies->soft->points[place->point[k]].inverse_mass * vec3_length_squared(part[k]);
    }
    return sum;
}

/* The point moves with its new velocity for the rest of the substep; its earlier position is
 * unchanged. */
static void add_velocity(const SoftCollider *bodies, u32 i, Vec3 change)
{
    SoftPoint *p = &bodies->soft->points[i];
    p->velocity = vec3_add(p->velocity, change);
    p->position = vec3_add_scaled(p->position, bodies->lag.left, change);
}

static void impulse(void *of, const ContactPlace *place, Vec3 impulse)
{
    const SoftCollider *bodies = of;
    Vec3 part[CONTACT_POINTS_MAX];
    share(place, impulse, part);
    for (u32 k = 0; k < place->count; k++) {
        u32 i = place->point[k];
        add_velocity(bodies, i, vec3_scale(part[k], bodies->soft->points[i].inverse_mass));
    }
}

/* Applies an angular impulse (kg m²/s) to the free corners as if they were one rigid body. */
static void add_moment(const SoftCollider *bodies, const ContactPlace *place, Vec3 moment)
{
    const SoftPoint *points = bodies->soft->points;
    Vec3 at[CONTACT_POINTS_MAX], centre = vec3_zero();
    f32 mass[CONTACT_POINTS_MAX], sum = 0.0f;
    for (u32 k = 0; k < place->count; k++) {
        f32 w = points[place->point[k]].inverse_mass;
        mass[k] = w > 0.0f ? 1.0f / w : 0.0f;
        at[k] = place_of(bodies, place->point[k]);
        sum += mass[k];
        centre = vec3_add_scaled(centre, mass[k], at[k]);
    }
    if (!(sum > 0.0f)) {
        return;
    }
    centre = vec3_scale(centre, 1.0f / sum);
    Symmetric3 inertia = {0};
    for (u32 k = 0; k < place->count; k++) {
        at[k] = vec3_sub(at[k], centre);
        inertia = symmetric_steiner(inertia, mass[k], at[k]);
    }
    f32 size = inertia.xx + inertia.yy + inertia.zz;
    inertia = symmetric_scale(inertia, size > 0.0f ? 1.0f / size : 0.0f);
    Symmetric3 inverse = symmetric_inverse(&inertia);
    Vec3 rotation = vec3_scale(symmetric_mul(&inverse, moment), size > 0.0f ? 1.0f / size : 0.0f);
    for (u32 k = 0; k < place->count && vec3_is_finite(rotation); k++) {
        if (mass[k] > 0.0f) {
            add_velocity(bodies, place->point[k], vec3_cross(rotation, at[k]));
        }
    }
}

static void push(void *of, ContactPlace *place, Vec3 impulse_m, const ContactParticle *particle)
{
    const SoftCollider *bodies = of;
    Vec3 part[CONTACT_POINTS_MAX], c[CONTACT_POINTS_MAX] = {0};
    Vec3 moment = vec3_cross(impulse_m, particle->velocity);
    f32 height;
    share(place, impulse_m, part);
    for (u32 k = 0; k < place->count; k++) {
        SoftPoint *p = &bodies->soft->points[place->point[k]];
        p->position = vec3_add_scaled(p->position, p->inverse_mass, part[k]);
        moment = vec3_sub(moment, vec3_cross(part[k], p->velocity));
    }
    add_moment(bodies, place, moment);
    for (u32 k = 0; k < place->count; k++) {
        c[k] = place_of(bodies, place->point[k]);
    }
    /* Friction now acts at the particle's position. */
    hang_on_triangle(c, particle->position, place, &height);
}

static bool supports(const void *of, u32 thing)
{
    return loads_support(((const SoftCollider *)of)->soft, thing);
}

static void expect_loads(void *of, u32 particles)
{
    loads_expect(((const SoftCollider *)of)->soft, particles);
}

static void load(void *of, const ContactPlace *place, const ContactLoad *by)
{
    loads_add(((const SoftCollider *)of)->soft, place, by);
}

/* Waking a body requires data searched at the start of a tick: not possible within one. */
static void wake(void *of, u32 thing)
{
    const SoftCollider *bodies = of;
    if (!(bodies->lag.left > 0.0f)) {
        soft_wake(bodies->soft, thing);
    }
}

static bool asleep(const void *of, u32 thing)
{
    const Soft *soft = ((const SoftCollider *)of)->soft;
    return thing == CONTACT_ANY ? soft->asleep_count != soft->absent_count
                                : soft_sleeps(soft, thing);
}

static bool blown(const void *of, u32 thing)
{
    const Soft *soft = ((const SoftCollider *)of)->soft;
    return soft_has_drag(soft, &soft->bodies[thing]);
}

static u32 points(const void *of)
{
    return ((const SoftCollider *)of)->soft->count;
}

const ColliderOps soft_collider_ops = {
    .name = "soft",
    .displaces = true,
    .begin = begin,
    .overlaps = overlaps,
    .take = take,
    .substep_begin = contact_lag_begin,
    .step_begin = step_begin,
    .step_end = contact_lag_step,
    .substep_end = contact_lag_end,
    .distance = distance,
    .velocity = velocity,
    .friction = friction,
    .touches = touches,
    .ray = ray_hits,
    .may_meet = may_meet,
    .meet = meet,
    .refresh = refresh,
    .inverse_mass = inverse_mass,
    .impulse = impulse,
    .push = push,
    .supports = supports,
    .expect_loads = expect_loads,
    .load = load,
    .wake = wake,
    .asleep = asleep,
    .blown = blown,
    .points = points,
};
