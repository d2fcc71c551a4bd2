/* test_query.c: queries against asking every body, one after the other. */
#include "server/physics/rigid/query.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    BODIES = 300,
    RAYS = 2000
};

static Any any;

static void tick(Rigid *rigid)
{
    rigid_collide(rigid, NULL);
    rigid_prepare(rigid);
    for (u32 i = 0; i < rigid_substeps(rigid); i++) {
        rigid_substep(rigid);
    }
    rigid_finish(rigid);
}

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
    def.orientation = any_turn(&any);
    def.velocity = any_vec(&any, -10.0f, 10.0f);
    def.spin = any_vec(&any, -9.0f, 9.0f);
    u32 motion = any_below(&any, 4);
    def.motion = motion == 0 ? BODY_STATIC : motion == 1 ? BODY_KINEMATIC : BODY_DYNAMIC;
    def.group = 1u << (any_below(&any, 4));
    def.sensor = any_below(&any, 8) == 0;
    return def;
}

/* A cloud of bodies that flew about for a few ticks, over a tilted plane. */
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
        tick(rigid);
    }
    return rigid;
}

static Ray ray_any(void)
{
    Ray ray = {any_vec(&any, -12.0f, 12.0f), any_direction(&any)};
    if (any_below(&any, 16) == 0) { /* along an axis: the slabs' special case */
        ray.direction.x = 0.0f;
        ray.direction.z = 0.0f;
        ray.direction.y = any_below(&any, 2) ? 1.0f : -1.0f;
    }
    return ray;
}

/* All hits by asking every body, sorted by (distance, slot). */
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

static void rays_hit_what_asking_every_body_finds(void **state)
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
        /* A short list holds the nearest. */
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

static void filters_keep_out(void **state)
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
    filter.exclude.generation++; /* another body that had the slot */
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

static void senseless_rays_hit_nothing(void **state)
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
        cmocka_unit_test(rays_hit_what_asking_every_body_finds),
        cmocka_unit_test(segments_and_lines_are_rays_both_ways),
        cmocka_unit_test(filters_keep_out),
        cmocka_unit_test(of_equal_distances_the_lower_slot_wins),
        cmocka_unit_test(senseless_rays_hit_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
