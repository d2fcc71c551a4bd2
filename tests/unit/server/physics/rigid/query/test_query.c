/* test_query.c: queries against a linear search over all bodies. */
#include "server/physics/rigid/narrow/gjk.h"
#include "server/physics/rigid/query/query.h"
#include "server/physics/rigid/rigid.h"
#include "tests/support/any.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/sheet.h"

enum {
    SIDE = 17, /* of the terrain, samples */
    BODIES = 300,
    RAYS = 2000
};

static Any any;

static Rigid *world_empty(void)
{
    RigidDef def = {.body_capacity = BODIES + 8,
                    .tick_s = 1.0f / 60.0f,
                    .substeps = 4,
                    .gravity = {0.0f, -9.81f, 0.0f}};
    Rigid *rigid = rigid_create(&def);
    assert_non_null(rigid);
    return rigid;
}

static BodyDef def_any(void)
{
    BodyDef def = body_def_default();
    def.shape = any_shape(&any, 3, 0.1f, 0.6f);
    def.position = any_vec(&any, -5.0f, 5.0f);
    def.orientation = any_rotation(&any);
    def.velocity = any_vec(&any, -10.0f, 10.0f);
    def.angular_velocity = any_vec(&any, -9.0f, 9.0f);
    u32 motion = any_below(&any, 4);
    def.motion = motion == 0 ? BODY_STATIC : motion == 1 ? BODY_KINEMATIC : BODY_DYNAMIC;
    def.group = 1u << (any_below(&any, 4));
    def.sensor = any_below(&any, 8) == 0;
    return def;
}

/* A cloud of bodies that moved for a few ticks, over a tilted plane. */
static Rigid *world_any(u64 seed)
{
    any = (Any){seed, 0};
    Rigid *rigid = world_empty();
    for (u32 i = 0; i < BODIES; i++) {
        BodyDef def = def_any();
        assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
    }
    BodyDef plane = body_def_default();
    plane.motion = BODY_STATIC;
    plane.shape.kind = SHAPE_PLANE;
    plane.position = vec3(0.0f, -9.0f, 0.0f);
    plane.orientation = quat_normalize((Quat){1.0f, 0.1f, 0.0f, 0.05f});
    assert_int_not_equal(rigid_add(rigid, &plane).generation, 0);
    for (u32 i = 0; i < BODIES; i += 37) {
        rigid_remove(rigid, rigid_at(rigid, i));
    }
    for (u32 i = 0; i < 8; i++) {
        kit_tick(rigid);
    }
    return rigid;
}

static Ray ray_any(void)
{
    Ray ray = {any_vec(&any, -12.0f, 12.0f), any_direction(&any)};
    if (any_below(&any, 16) == 0) { /* along an axis: a special case of the slab test */
        ray.direction.x = 0.0f;
        ray.direction.z = 0.0f;
        ray.direction.y = any_below(&any, 2) ? 1.0f : -1.0f;
    }
    return ray;
}

/* All hits by testing every body, sorted by (distance, slot). */
static u32 brute_all(const Rigid *rigid, Ray ray, f32 max, u32 mask, QueryHit *hits)
{
    u32 count = 0;
    for (u32 slot = 0; slot < rigid_slots(rigid); slot++) {
        f32 distance;
        Vec3 normal;
        if (rigid_at(rigid, slot).generation == 0 ||
            !shape_ray(rigid_shape(rigid, slot), rigid_position(rigid, slot),
                       rigid_orientation(rigid, slot), ray, max, &distance, &normal) ||
            (mask != 0 && !(mask >> slot % 32 & 1))) {
            continue;
        }
        u32 at = count++;
        for (; at > 0 && hits[at - 1].distance > distance; at--) {
            hits[at] = hits[at - 1];
        }
        hits[at] =
            (QueryHit){.body = rigid_at(rigid, slot), .distance = distance, .normal = normal};
    }
    return count;
}

static void assert_hit(const QueryHit *got, const QueryHit *want, Ray ray)
{
    assert_int_equal(got->body.slot, want->body.slot);
    assert_int_equal(got->body.generation, want->body.generation);
    assert_true(got->distance == want->distance);
    assert_true(vec3_distance(got->normal, want->normal) == 0.0f);
    Vec3 point = vec3_add_scaled(ray.origin, got->distance, ray.direction);
    assert_true(vec3_distance(got->point, point) < 1e-5f);
}

static void rays_match_a_linear_search(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_any(1);
    static QueryHit want[BODIES + 8], got[BODIES + 8];
    u32 hits = 0, most = 0;
    for (u32 i = 0; i < RAYS; i++) {
        Ray ray = ray_any();
        f32 max = any_between(&any, 0.0f, 40.0f);
        u32 count = brute_all(rigid, ray, max, 0, want);
        QueryHit one;
        assert_int_equal(rigid_ray_any(rigid, ray, max, NULL), count > 0);
        assert_int_equal(rigid_ray(rigid, ray, max, NULL, &one), count > 0);
        if (count > 0) {
            assert_hit(&one, &want[0], ray);
        }
        assert_int_equal(rigid_ray_all(rigid, ray, max, NULL, got, BODIES + 8), count);
        for (u32 k = 0; k < count; k++) {
            assert_hit(&got[k], &want[k], ray);
        }
        /* A short list contains the nearest hits. */
        u32 few = rigid_ray_all(rigid, ray, max, NULL, got, 3);
        assert_int_equal(few, u32_min(count, 3));
        for (u32 k = 0; k < few; k++) {
            assert_hit(&got[k], &want[k], ray);
        }
        hits += count > 0;
        most = u32_max(most, count);
    }
    assert_true(hits > RAYS / 4 && hits < RAYS);
    assert_true(most > 4);
    rigid_destroy(rigid);
}

static void segments_and_lines_are_rays_both_ways(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_any(2);
    static QueryHit ahead[BODIES + 8], behind[BODIES + 8], got[2 * BODIES];
    u32 backwards = 0;
    for (u32 i = 0; i < RAYS; i++) {
        Vec3 from = any_vec(&any, -9.0f, 9.0f), to = any_vec(&any, -9.0f, 9.0f);
        Vec3 along = vec3_sub(to, from);
        f32 length = vec3_length(along);
        Ray ray = {from, vec3_scale(along, 1.0f / length)};
        u32 count = brute_all(rigid, ray, length, 0, ahead);
        QueryHit one;
        assert_int_equal(rigid_segment_any(rigid, from, to, NULL), count > 0);
        assert_int_equal(rigid_segment(rigid, from, to, NULL, &one), count > 0);
        if (count > 0) {
            assert_hit(&one, &ahead[0], ray);
        }
        assert_int_equal(rigid_segment_all(rigid, from, to, NULL, got, 2 * BODIES), count);

        Ray back = {from, vec3_neg(ray.direction)};
        u32 a = brute_all(rigid, ray, 1e5f, 0, ahead), b = brute_all(rigid, back, 1e5f, 0, behind);
        assert_int_equal(rigid_line_any(rigid, ray, NULL), a + b > 0);
        assert_int_equal(rigid_line(rigid, ray, NULL, &one), a + b > 0);
        if (a + b > 0) {
            bool is_behind = b > 0 && (a == 0 || behind[0].distance < ahead[0].distance);
            QueryHit want = is_behind ? behind[0] : ahead[0];
            want.distance = is_behind ? -want.distance : want.distance;
            assert_hit(&one, &want, ray);
            backwards += is_behind;
        }
        assert_int_equal(rigid_line_all(rigid, ray, NULL, got, 2 * BODIES), a + b);
        for (u32 k = 0; k < a + b; k++) {
            assert_true(k == 0 || got[k - 1].distance <= got[k].distance);
            assert_true(got[k].distance ==
                        (k < b ? -behind[b - 1 - k].distance : ahead[k - b].distance));
        }
    }
    assert_true(backwards > RAYS / 8);
    rigid_destroy(rigid);
}

static bool is_even(void *context, BodyId body)
{
    u32 *asked = context;
    (*asked)++;
    return body.slot % 2 == 0;
}

static void filters_exclude(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_empty();
    /* A row of balls along x: group bit = slot, the third is a sensor. */
    for (u32 i = 0; i < 6; i++) {
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_SPHERE;
        def.shape.radius = 0.25f;
        def.position = vec3(1.0f + (f32)i, 0.0f, 0.0f);
        def.group = 1u << i;
        def.sensor = i == 2;
        rigid_add(rigid, &def);
    }
    Ray ray = {vec3_zero(), vec3(1.0f, 0.0f, 0.0f)};
    QueryHit hits[8];
    QueryFilter filter = {.mask = 1u << 1 | 1u << 2 | 1u << 5};
    assert_int_equal(rigid_ray_all(rigid, ray, 100.0f, &filter, hits, 8), 3);
    assert_int_equal(hits[0].body.slot, 1);
    assert_int_equal(hits[1].body.slot, 2);
    assert_int_equal(hits[2].body.slot, 5);
    assert_true(fabsf(hits[2].distance - 5.75f) < 1e-5f);
    filter.skip_sensors = true;
    assert_int_equal(rigid_ray_all(rigid, ray, 100.0f, &filter, hits, 8), 2);
    filter.exclude = rigid_at(rigid, 1);
    assert_true(rigid_ray(rigid, ray, 100.0f, &filter, hits));
    assert_int_equal(hits[0].body.slot, 5);
    filter.exclude.generation++; /* another body that used the slot before */
    assert_true(rigid_ray(rigid, ray, 100.0f, &filter, hits));
    assert_int_equal(hits[0].body.slot, 1);
    u32 asked = 0;
    filter = (QueryFilter){.accept = is_even, .context = &asked};
    assert_int_equal(rigid_ray_all(rigid, ray, 100.0f, &filter, hits, 8), 3);
    assert_int_equal(asked, 6);
    assert_int_equal(hits[1].body.slot, 2);
    rigid_destroy(rigid);
}

static void of_equal_distances_the_lower_slot_wins(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_empty();
    for (u32 i = 0; i < 40; i++) {
        BodyDef def = body_def_default();
        def.shape.kind = SHAPE_SPHERE;
        def.shape.radius = 0.5f;
        def.position = vec3(0.0f, 5.0f, 0.0f);
        def.motion = i % 3 == 1 ? BODY_STATIC : BODY_DYNAMIC;
        rigid_add(rigid, &def);
    }
    rigid_remove(rigid, rigid_at(rigid, 0));
    Ray ray = {vec3_zero(), vec3(0.0f, 1.0f, 0.0f)};
    QueryHit hits[64];
    assert_true(rigid_ray(rigid, ray, 100.0f, NULL, hits));
    assert_int_equal(hits[0].body.slot, 1);
    assert_int_equal(rigid_ray_all(rigid, ray, 100.0f, NULL, hits, 64), 39);
    for (u32 i = 0; i < 39; i++) {
        assert_int_equal(hits[i].body.slot, i + 1);
    }
    rigid_destroy(rigid);
}

/* ---- every kind of shape ---- */

/* Two pyramids, a wavy sheet, the same as a terrain, and a dumb-bell. */
typedef struct Solids {
    Geometry *hull, *mesh, *terrain, *compound;
} Solids;

static f32 wave(f32 x, f32 z)
{
    return 0.3f * x * x - 0.2f * z * z + 0.1f * x * z;
}

static Solids solids_make(void)
{
    static const Vec3 tips[] = {{0.8f, 0, 0},  {-0.8f, 0, 0}, {0, 0.5f, 0},
                                {0, -0.5f, 0}, {0, 0, 0.7f},  {0, 0, -0.7f}};
    f32 heights[SIDE * SIDE];
    const f32 spacing = 0.25f;
    for (u32 k = 0; k < SIDE * SIDE; k++) {
        heights[k] = wave(height_sheet_at(k % SIDE, SIDE, spacing),
                          height_sheet_at(k / SIDE, SIDE, spacing));
    }
    HeightSheet sheet = height_sheet(heights, SIDE, spacing);
    ErrorText error;
    Solids solids = {
        .hull = geometry_hull(tips, 6, 32, &error), .mesh = sheet.mesh, .terrain = sheet.terrain};
    CompoundChild children[2] = {
        {{.kind = SHAPE_SPHERE, .radius = 0.4f}, {-0.6f, 0, 0}, {1, 0, 0, 0}},
        {{.kind = SHAPE_BOX, .half = {0.6f, 0.1f, 0.3f}}, {0.6f, 0, 0}, {1, 0, 0, 0}}};
    solids.compound = geometry_compound(children, 2, &error);
    assert_non_null(solids.hull);
    assert_non_null(solids.compound);
    return solids;
}

static void solids_free(Solids *solids)
{
    geometry_destroy(solids->compound);
    geometry_destroy(solids->hull);
    geometry_destroy(solids->mesh);
    geometry_destroy(solids->terrain);
}

static void add_solids(Rigid *rigid, const Solids *solids, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        BodyDef def = body_def_default();
        u32 kind = i % 8;
        def.shape = any_shape(&any, 5, 0.2f, 0.6f);
        def.shape.geometry = NULL;
        if (kind == 0) {
            def.shape.kind = SHAPE_HULL;
            def.shape.geometry = solids->hull;
        } else if (kind == 1) {
            def.shape.kind = SHAPE_COMPOUND;
            def.shape.geometry = solids->compound;
        } else if (kind == 2) {
            def.shape.kind = SHAPE_MESH;
            def.shape.geometry = solids->mesh;
        } else if (kind == 3) {
            def.shape.kind = SHAPE_TERRAIN;
            def.shape.geometry = solids->terrain;
        }
        def.motion = kind < 4 && kind > 1 ? BODY_STATIC : BODY_DYNAMIC;
        def.position = any_vec(&any, -6.0f, 6.0f);
        def.orientation = any_rotation(&any);
        assert_int_not_equal(rigid_add(rigid, &def).generation, 0);
    }
    BodyDef plane = body_def_default();
    plane.motion = BODY_STATIC;
    plane.shape.kind = SHAPE_PLANE;
    plane.position = vec3(0.0f, -8.0f, 0.0f);
    plane.orientation = quat_normalize((Quat){1.0f, 0.2f, 0.0f, 0.1f});
    assert_int_not_equal(rigid_add(rigid, &plane).generation, 0);
}

/* All parts of a body's shape, in world coordinates. */
typedef struct Parts {
    ShapePose convex[2];
    Vec3 (*triangles)[3];
    u32 convex_count, triangle_count;
} Parts;

static void parts_of(const Rigid *rigid, u32 slot, Parts *parts)
{
    const Shape *shape = rigid_shape(rigid, slot);
    Vec3 position = rigid_position(rigid, slot);
    Quat rotation = rigid_orientation(rigid, slot);
    parts->convex_count = parts->triangle_count = 0;
    if (shape->kind == SHAPE_COMPOUND) {
        for (u32 i = 0; i < 2; i++) {
            const CompoundChild *child = &shape->geometry->compound.children[i];
            parts->convex[parts->convex_count++] = (ShapePose){
                &child->shape, vec3_add(position, quat_rotate(rotation, child->position)),
                quat_mul(rotation, child->orientation)};
        }
    } else if (shape_is_convex(shape)) {
        parts->convex[parts->convex_count++] = (ShapePose){shape, position, rotation};
    } else if (shape->kind != SHAPE_PLANE) {
        bool mesh = shape->kind == SHAPE_MESH;
        parts->triangle_count = 2 * (SIDE - 1) * (SIDE - 1);
        for (u32 i = 0; i < parts->triangle_count; i++) {
            Vec3 *c = parts->triangles[i];
            if (mesh) {
                mesh_triangle(&shape->geometry->mesh, i, c);
            } else {
                terrain_triangle(&shape->geometry->terrain, i, c);
            }
            for (u32 k = 0; k < 3; k++) {
                c[k] = vec3_add(position, quat_rotate(rotation, c[k]));
            }
        }
    }
}

/* Distance to one body by testing each part; for the plane, by the lowest point. */
static f32 brute_distance(const Rigid *rigid, u32 slot, const ShapePose *shape, Parts *parts)
{
    GjkResult r;
    f32 least = INFINITY;
    parts_of(rigid, slot, parts);
    for (u32 i = 0; i < parts->convex_count; i++) {
        gjk_separation(shape, &parts->convex[i], INFINITY, &r);
        least = f32_min(least, r.separation);
    }
    for (u32 i = 0; i < parts->triangle_count; i++) {
        gjk_separation_triangle(shape, parts->triangles[i], INFINITY, &r);
        least = f32_min(least, r.separation);
    }
    if (rigid_shape(rigid, slot)->kind == SHAPE_PLANE) {
        Vec3 n = quat_rotate(rigid_orientation(rigid, slot), vec3(0.0f, 1.0f, 0.0f));
        Vec3 low = gjk_support(shape, vec3_neg(n));
        least = vec3_dot(vec3_sub(low, rigid_position(rigid, slot)), n);
    }
    return least;
}

static f32 brute_cast(const Rigid *rigid, u32 slot, const ShapePose *shape, Vec3 motion,
                      Parts *parts)
{
    f32 least = 2.0f, fraction;
    parts_of(rigid, slot, parts);
    for (u32 i = 0; i < parts->convex_count; i++) {
        if (gjk_cast(shape, &parts->convex[i], motion, &fraction, NULL, NULL)) {
            least = f32_min(least, fraction);
        }
    }
    for (u32 i = 0; i < parts->triangle_count; i++) {
        if (gjk_cast_triangle(shape, parts->triangles[i], motion, &fraction, NULL, NULL)) {
            least = f32_min(least, fraction);
        }
    }
    if (rigid_shape(rigid, slot)->kind == SHAPE_PLANE) {
        Vec3 n = quat_rotate(rigid_orientation(rigid, slot), vec3(0.0f, 1.0f, 0.0f));
        Vec3 low = gjk_support(shape, vec3_neg(n));
        f32 height = vec3_dot(vec3_sub(low, rigid_position(rigid, slot)), n);
        f32 sink = -vec3_dot(motion, n);
        if (height <= 0.0f) {
            least = 0.0f;
        } else if (sink > 0.0f && height / sink <= 1.0f) {
            least = height / sink;
        }
    }
    return least;
}

static void shapes_match_a_test_of_every_part(void **state)
{
    PL_UNUSED(state);
    any = (Any){7, 0};
    static Vec3 triangles[2 * (SIDE - 1) * (SIDE - 1)][3];
    Parts parts = {.triangles = triangles};
    Solids solids = solids_make();
    Rigid *rigid = world_empty();
    add_solids(rigid, &solids, 64);
    u32 hits = 0, overlaps = 0, by_kind[SHAPE_KIND_COUNT] = {0};
    for (u32 i = 0; i < 300; i++) {
        Shape shape = any_shape(&any, 5, 0.05f, 0.8f);
        ShapePose pose = {&shape, any_vec(&any, -7.0f, 7.0f), any_rotation(&any)};
        Vec3 motion = any_vec(&any, -8.0f, 8.0f);
        f32 least = INFINITY, first = 2.0f;
        u32 nearest = 0, caught = 0, touching = 0;
        bool touches[128];
        for (u32 slot = 0; slot < rigid_slots(rigid); slot++) {
            f32 d = brute_distance(rigid, slot, &pose, &parts);
            f32 t = brute_cast(rigid, slot, &pose, motion, &parts);
            touches[slot] = d <= 0.0f;
            touching += d <= 0.0f;
            nearest = d < least ? slot : nearest;
            least = f32_min(least, d);
            caught = t < first ? slot : caught;
            first = f32_min(first, t);
        }
        NearHit near;
        assert_true(rigid_nearest(rigid, &pose, INFINITY, NULL, &near));
        assert_int_equal(near.body.slot, nearest);
        assert_true(near.distance == least);
        Vec3 gap = vec3_sub(near.on_shape, near.on_body);
        assert_true(vec3_distance(gap, vec3_scale(near.normal, least)) < 1e-3f);
        assert_false(least > 0.0f && rigid_nearest(rigid, &pose, 0.99f * least, NULL, &near));

        BodyId bodies[128];
        u32 count = rigid_overlap_all(rigid, &pose, NULL, bodies, 128);
        assert_int_equal(rigid_overlap_any(rigid, &pose, NULL), count > 0);
        assert_int_equal(count, touching);
        for (u32 k = 0; k < count; k++) {
            assert_true(touches[bodies[k].slot]);
            assert_true(k == 0 || bodies[k].slot > bodies[k - 1].slot);
        }
        overlaps += count > 0;

        CastHit hit;
        assert_int_equal(rigid_cast_any(rigid, &pose, motion, NULL), first <= 1.0f);
        assert_int_equal(rigid_cast(rigid, &pose, motion, NULL, &hit), first <= 1.0f);
        if (first <= 1.0f) {
            assert_int_equal(hit.body.slot, caught);
            assert_true(hit.fraction == first);
            by_kind[rigid_shape(rigid, caught)->kind]++;
            assert_true(fabsf(vec3_length(hit.normal) - 1.0f) < 1e-4f);
            hits += first > 0.0f;
            /* The point lies on both: on the swept shape and on the body. */
            ShapePose there = pose;
            there.position = vec3_add_scaled(pose.position, first, motion);
            Shape dot = {.kind = SHAPE_SPHERE, .radius = 2e-3f};
            ShapePose at = {&dot, hit.point, quat_identity()};
            assert_true(first == 0.0f || gjk_overlap(&there, &at, 2e-3f));
            assert_true(brute_distance(rigid, caught, &at, &parts) < 2e-3f);
        }
    }
    assert_true(hits > 50 && overlaps > 20);
    for (u32 kind = SHAPE_SPHERE; kind < SHAPE_KIND_COUNT; kind++) {
        assert_true(by_kind[kind] > 0 || kind == SHAPE_PLANE);
    }
    rigid_destroy(rigid);
    solids_free(&solids);
}

static void full_lists_keep_the_lowest_slots(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_any(11);
    u32 more = 0;
    for (u32 i = 0; i < 50; i++) {
        Vec3 middle = any_vec(&any, -5.0f, 5.0f), half = any_vec(&any, 1.0f, 4.0f);
        Bounds bounds = {vec3_sub(middle, half), vec3_add(middle, half)};
        u32 all[BODIES + 8], few[20], count = rigid_overlaps(rigid, bounds, all, BODIES + 8);
        for (u32 k = 1; k < count; k++) {
            assert_true(all[k] > all[k - 1]);
        }
        u32 kept = rigid_overlaps(rigid, bounds, few, PL_COUNT(few));
        assert_int_equal(kept, u32_min(count, PL_COUNT(few)));
        assert_memory_equal(few, all, kept * sizeof *few);
        assert_int_equal(rigid_overlaps(rigid, bounds, few, 0), 0);
        more += count > PL_COUNT(few);
    }
    assert_true(more > 10);
    rigid_destroy(rigid);
}

static void points_and_rays_name_the_part(void **state)
{
    PL_UNUSED(state);
    any = (Any){8, 0};
    Solids solids = solids_make();
    Rigid *rigid = world_empty();
    BodyDef def = body_def_default();
    def.motion = BODY_STATIC;
    def.shape = (Shape){.kind = SHAPE_COMPOUND, .geometry = solids.compound};
    def.position = vec3(0.0f, 4.0f, 0.0f);
    u32 compound = rigid_add(rigid, &def).slot;
    def.shape = (Shape){.kind = SHAPE_TERRAIN, .geometry = solids.terrain};
    def.position = vec3_zero();
    u32 terrain = rigid_add(rigid, &def).slot;
    def.shape = (Shape){.kind = SHAPE_MESH, .geometry = solids.mesh};
    def.position = vec3(0.0f, -4.0f, 0.0f);
    u32 mesh = rigid_add(rigid, &def).slot;
    QueryHit hits[4];
    for (u32 i = 0; i < 200; i++) {
        f32 x = any_between(&any, -1.9f, 1.9f), z = any_between(&any, -1.9f, 1.9f);
        Ray down = {{x, 10.0f, z}, {0.0f, -1.0f, 0.0f}};
        u32 count = rigid_ray_all(rigid, down, 30.0f, NULL, hits, 4);
        bool over = count == 3;
        assert_true(count == 2 || over);
        if (over) {
            assert_int_equal(hits[0].body.slot, compound);
            assert_int_equal(hits[0].part, x > 0.0f ? 1 : 0);
        }
        for (u32 k = over ? 1 : 0; k < count; k++) {
            Vec3 c[3];
            if (hits[k].body.slot == mesh) {
                mesh_triangle(&solids.mesh->mesh, hits[k].part, c);
            } else {
                assert_int_equal(hits[k].body.slot, terrain);
                terrain_triangle(&solids.terrain->terrain, hits[k].part, c);
            }
            Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
            n = vec3_normalize_or(n, n);
            assert_true(vec3_distance(n, hits[k].normal) < 1e-3f);
            Vec3 low = vec3_min(c[0], vec3_min(c[1], c[2])),
                 high = vec3_max(c[0], vec3_max(c[1], c[2]));
            assert_true(x >= low.x - 1e-3f && x <= high.x + 1e-3f);
            assert_true(z >= low.z - 1e-3f && z <= high.z + 1e-3f);
            assert_true(fabsf(hits[k].point.y - (hits[k].body.slot == mesh ? -4.0f : 0.0f) -
                              wave(x, z)) < 0.02f);
        }
    }
    BodyId bodies[4];
    assert_int_equal(rigid_point_all(rigid, vec3(-0.6f, 4.1f, 0.0f), NULL, bodies, 4), 1);
    assert_int_equal(bodies[0].slot, compound);
    assert_false(rigid_point_any(rigid, vec3(-0.1f, 4.2f, 0.0f), NULL));
    assert_true(rigid_point_any(rigid, vec3(0.1f, -0.2f, 0.1f), NULL)); /* below the terrain */
    assert_false(rigid_point_any(rigid, vec3(0.1f, 0.2f, 0.1f), NULL));
    rigid_destroy(rigid);
    solids_free(&solids);
}

/* A closed mesh contains the same points as the hull of its corners, also straight below its
 * corners. */
static void closed_meshes_contain_points(void **state)
{
    PL_UNUSED(state);
    any = (Any){9, 0};
    static const Vec3 tips[] = {{0.8f, 0, 0},  {-0.8f, 0, 0}, {0, 0.5f, 0},
                                {0, -0.5f, 0}, {0, 0, 0.7f},  {0, 0, -0.7f}};
    static const u32 faces[] = {2, 4, 0, 2, 0, 5, 2, 5, 1, 2, 1, 4,
                                3, 0, 4, 3, 5, 0, 3, 1, 5, 3, 4, 1};
    ErrorText error;
    Geometry *mesh = geometry_mesh(tips, 6, faces, 8, NULL, &error);
    assert_non_null(mesh);
    assert_true(mesh->mesh.closed);
    Rigid *rigid = world_empty();
    BodyDef def = body_def_default();
    def.motion = BODY_STATIC;
    def.shape = (Shape){.kind = SHAPE_MESH, .geometry = mesh};
    rigid_add(rigid, &def);
    u32 inside = 0;
    for (u32 i = 0; i < 4000; i++) {
        Vec3 p = any_vec(&any, -0.9f, 0.9f);
        p.x = any_below(&any, 4) ? p.x : 0.0f; /* rays through corners and edges */
        p.z = any_below(&any, 4) ? p.z : 0.0f;
        f32 size = fabsf(p.x) / 0.8f + fabsf(p.y) / 0.5f + fabsf(p.z) / 0.7f;
        if (fabsf(size - 1.0f) > 1e-4f) {
            assert_int_equal(rigid_point_any(rigid, p, NULL), size < 1.0f);
            inside += size < 1.0f;
        }
    }
    assert_true(inside > 300);
    rigid_destroy(rigid);
    geometry_destroy(mesh);
}

static void invalid_rays_hit_nothing(void **state)
{
    PL_UNUSED(state);
    Rigid *rigid = world_any(4);
    QueryHit hit;
    f32 bad[] = {NAN, INFINITY, -INFINITY};
    for (u32 i = 0; i < 3; i++) {
        Ray where = {vec3(bad[i], 0.0f, 0.0f), vec3(0.0f, -1.0f, 0.0f)};
        Ray whither = {vec3_zero(), vec3(0.0f, bad[i], 0.0f)};
        assert_false(rigid_ray(rigid, where, 100.0f, NULL, &hit));
        assert_false(rigid_ray(rigid, whither, 100.0f, NULL, &hit));
        assert_false(rigid_line_any(rigid, whither, NULL));
    }
    Ray still = {vec3_zero(), vec3_zero()};
    Ray down = {vec3(0.0f, 50.0f, 0.0f), vec3(0.0f, -1.0f, 0.0f)};
    assert_false(rigid_ray_any(rigid, still, 100.0f, NULL));
    assert_false(rigid_ray_any(rigid, down, NAN, NULL));
    assert_false(rigid_ray_any(rigid, down, -1.0f, NULL));
    assert_true(rigid_ray_any(rigid, down, INFINITY, NULL));
    assert_int_equal(rigid_ray_all(rigid, down, INFINITY, NULL, &hit, 0), 0);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_match_a_linear_search),
        cmocka_unit_test(segments_and_lines_are_rays_both_ways),
        cmocka_unit_test(filters_exclude),
        cmocka_unit_test(of_equal_distances_the_lower_slot_wins),
        cmocka_unit_test(invalid_rays_hit_nothing),
        cmocka_unit_test(shapes_match_a_test_of_every_part),
        cmocka_unit_test(points_and_rays_name_the_part),
        cmocka_unit_test(full_lists_keep_the_lowest_slots),
        cmocka_unit_test(closed_meshes_contain_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
