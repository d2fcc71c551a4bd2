/* test_recycle.c: manifolds recycled while bodies lie still match newly computed ones, a restored
 * world recycles the same ones, and none outlives its bodies. */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/geometry/geometry.h"
#include "tests/support/rigid_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    BODIES = 60
};

typedef struct Heap {
    Geometry *geometries[2]; /* a terrain and a hull of twelve corners */
    Rigid *rigid;
} Heap;

static Geometry *rock(void)
{
    Vec3 points[12];
    for (u32 i = 0; i < 12; i++) {
        Quat rotation = kit_rotation(vec3(0.6f, 0.0f, 0.8f), 55.0 * i);
        points[i] =
            quat_rotate(rotation, quat_rotate(kit_rotation(vec3(0.0f, 1.0f, 0.0f), 137.5 * i),
                                              vec3(0.3f, 0.1f, 0.15f)));
    }
    ErrorText error;
    Geometry *hull = geometry_hull(points, 12, 12, &error);
    assert_non_null(hull);
    return hull;
}

static Rigid *empty_world(Heap *heap, bool no_sleep)
{
    RigidDef def = {.body_capacity = BODIES + 8,
                    .tick_s = KIT_TICK_S,
                    .substeps = 4,
                    .gravity = {0.0f, -KIT_GRAVITY_M_S2, 0.0f},
                    .geometries = (const Geometry *const *)heap->geometries,
                    .geometry_count = 2,
                    .no_sleep = no_sleep};
    Rigid *rigid = rigid_create(&def);
    assert_non_null(rigid);
    return rigid;
}

static Shape shape_of(const Heap *heap, u32 i)
{
    static const ShapeKind kinds[] = {SHAPE_HULL,    SHAPE_CYLINDER, SHAPE_CONE,
                                      SHAPE_CAPSULE, SHAPE_BOX,      SHAPE_SPHERE};
    Shape shape = {
        .kind = kinds[i % 6], .radius = 0.2f, .half_height = 0.2f, .half = {0.2f, 0.15f, 0.25f}};
    shape.geometry = shape.kind == SHAPE_HULL ? heap->geometries[1] : NULL;
    return shape;
}

/* Solids that fall into a heap on a terrain, within four walls. */
static Heap heap_create(bool no_sleep)
{
    Heap heap = {.geometries = {kit_field(16, 0.5f), rock()}};
    heap.geometries[0]->id = 0;
    heap.geometries[1]->id = 1;
    heap.rigid = empty_world(&heap, no_sleep);
    for (u32 i = 0; i < BODIES; i++) {
        BodyDef def = body_def_default();
        def.shape = shape_of(&heap, i);
        def.position = vec3(0.5f * (f32)(i % 4) - 0.75f, 0.5f + 0.5f * (f32)(i / 16),
                            0.5f * (f32)(i / 4 % 4) - 0.75f);
        def.orientation = kit_rotation(vec3(0.48f, 0.6f, 0.64f), 37.0 * i);
        def.mass_kg = 20.0f;
        def.rolling = 0.02f;
        kit_add(heap.rigid, &def);
    }
    BodyDef ground = body_def_default();
    ground.shape = (Shape){.kind = SHAPE_MESH, .geometry = heap.geometries[0]};
    ground.motion = BODY_STATIC;
    kit_add(heap.rigid, &ground);
    for (u32 i = 0; i < 4; i++) {
        f32 x = i < 2 ? 1.6f : 0.0f, z = i < 2 ? 0.0f : 1.6f, side = i % 2 ? 1.0f : -1.0f;
        BodyDef wall = kit_box(vec3(side * x, 2.0f, side * z),
                               vec3(i < 2 ? 0.5f : 2.0f, 2.0f, i < 2 ? 2.0f : 0.5f));
        wall.motion = BODY_STATIC;
        kit_add(heap.rigid, &wall);
    }
    return heap;
}

static void heap_destroy(Heap *heap)
{
    rigid_destroy(heap->rigid);
    geometry_destroy(heap->geometries[0]);
    geometry_destroy(heap->geometries[1]);
}

static f32 nearest(const Manifold *manifolds, u32 count)
{
    f32 least = 1.0f;
    for (u32 m = 0; m < count; m++) {
        for (u32 p = 0; p < manifolds[m].count; p++) {
            least = f32_min(least, manifolds[m].points[p].separation);
        }
    }
    return least;
}

/* Largest distance between points of equal feature id in the two lists. */
static f32 farthest(const Manifold *one, u32 ones, const Manifold *other, u32 others)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < ones * MANIFOLD_POINTS; i++) {
        for (u32 j = 0; j < others * MANIFOLD_POINTS; j++) {
            const Manifold *m = &one[i / MANIFOLD_POINTS], *n = &other[j / MANIFOLD_POINTS];
            u32 p = i % MANIFOLD_POINTS, q = j % MANIFOLD_POINTS;
            if (p < m->count && q < n->count && m->points[p].feature == n->points[q].feature) {
                f32 apart = vec3_distance(m->points[p].position, n->points[q].position);
                most = f32_max(most, apart);
            }
        }
    }
    return most;
}

/* Largest difference of depth between recycled manifolds and those computed at the current poses,
 * and of position between points of equal feature id, over all touching pairs; *reused counts those
 * not computed in this tick. */
static f32 worst_error(Heap *heap, u32 *reused, f32 *beside)
{
    Rigid *rigid = heap->rigid;
    f32 worst = 0.0f;
    for (u32 i = 0; i < rigid->pair_count; i++) {
        const Pair *pair = &rigid->pairs[i];
        if (!(pair->kind & PAIR_RECYCLED) || pair->new_count == PAIR_STALE) {
            continue;
        }
        ShapePose a = body_pose(&rigid->bodies[pair->a]), b = body_pose(&rigid->bodies[pair->b]);
        f32 margin = motion_margin(rigid, pair->a, pair->b);
        Manifold rebuilt[MANIFOLDS_MAX];
        u32 count = manifold_collide(&a, &b, margin, rebuilt, MANIFOLDS_MAX);
        f32 now = nearest(rebuilt, count),
            kept = nearest(&rigid->manifolds[pair->output], pair->new_count);
        if (now < 0.5f * RIGID_MARGIN_M || kept < 0.5f * RIGID_MARGIN_M) {
            worst = f32_max(worst, fabsf(now - kept));
            *beside = f32_max(*beside, farthest(&rigid->manifolds[pair->output], pair->new_count,
                                                rebuilt, count));
        }
    }
    for (u32 i = 0; i < rigid->recycled_count; i++) {
        const RecycledPose *pose = &rigid->recycled[i];
        const Body *a = &rigid->bodies[pose->a], *b = &rigid->bodies[pose->b];
        bool swapped = b->motion == BODY_STATIC;
        const Body *root = swapped ? b : a, *other = swapped ? a : b;
        Vec3 now =
            quat_rotate_inverse(root->orientation, vec3_sub(body_origin(other), body_origin(root)));
        *reused += memcmp(&now, &pose->position, sizeof now) != 0;
    }
    return worst;
}

/* Between the narrow phase and the solver no body has moved since the manifolds were updated. */
static void recycled_manifolds_match_new_ones(void **unused)
{
    PL_UNUSED(unused);
    Heap heap = heap_create(true);
    u32 reused = 0, ticks = 0;
    f32 worst = 0.0f, beside = 0.0f;
    for (u32 i = 0; i < 180; i++) {
        rigid_collide(heap.rigid, NULL);
        if (i >= 60) {
            worst = f32_max(worst, worst_error(&heap, &reused, &beside));
            ticks++;
        }
        rigid_prepare(heap.rigid);
        for (u32 s = 0; s < 4; s++) {
            rigid_substep(heap.rigid);
        }
        rigid_finish(heap.rigid);
    }
    if (!(worst < 0.0025f && beside < 0.05f)) {
        fail_msg("a recycled manifold is off by %g m in depth, %g m in position", (double)worst,
                 (double)beside);
    }
    assert_true(reused / ticks > 50);
    heap_destroy(&heap);
}

static void restored_worlds_continue_identically(void **unused)
{
    PL_UNUSED(unused);
    Heap heap = heap_create(false);
    for (u32 saved = 0; saved < 6; saved++) {
        kit_run(heap.rigid, 0.4f);
        size_t bytes;
        u8 *image = kit_save(heap.rigid, &bytes);
        Rigid *other = empty_world(&heap, false);
        assert_true(kit_load(other, image, bytes));
        for (u32 i = 0; i < 20; i++) {
            if (kit_hash(heap.rigid) != kit_hash(other)) {
                fail_msg("states differ %u ticks after image %u", i, saved);
            }
            kit_tick(heap.rigid);
            kit_tick(other);
        }
        rigid_destroy(other);
        free(image);
    }
    heap_destroy(&heap);
}

/* A cylinder replaces, in the same slot and pose, a slightly taller one: the box on it follows. */
static void removed_bodies_leave_no_manifolds(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(4, 4, KIT_GRAVITY_M_S2);
    BodyDef table = body_def_default();
    table.motion = BODY_STATIC;
    table.shape = (Shape){.kind = SHAPE_CYLINDER, .radius = 0.5f, .half_height = 0.5f};
    u32 slot = kit_add(rigid, &table);
    BodyDef box = kit_box(vec3(0.0f, 0.7f, 0.0f), vec3(0.2f, 0.2f, 0.2f));
    u32 on_top = kit_add(rigid, &box);
    kit_run(rigid, 1.0f);
    assert_true(fabsf(rigid_position(rigid, on_top).y - 0.7f) < 0.002f);
    rigid_remove(rigid, rigid_at(rigid, slot));
    table.shape.half_height = 0.49f;
    assert_int_equal(kit_add(rigid, &table), slot);
    kit_run(rigid, 2.0f);
    assert_true(fabsf(rigid_position(rigid, on_top).y - 0.69f) < 0.002f);
    rigid_destroy(rigid);
}

/* A non-finite velocity leaves an image that can be loaded. */
static void non_finite_velocities_leave_valid_images(void **unused)
{
    PL_UNUSED(unused);
    Heap heap = heap_create(true);
    kit_run(heap.rigid, 1.0f);
    rigid_set_velocity(heap.rigid, 3, vec3(NAN, 0.0f, 0.0f), vec3_zero());
    rigid_set_velocity(heap.rigid, 4, vec3(3e38f, 0.0f, 0.0f), vec3(3e38f, 0.0f, 0.0f));
    for (u32 i = 0; i < 3; i++) {
        kit_tick(heap.rigid);
        size_t bytes;
        u8 *image = kit_save(heap.rigid, &bytes);
        Rigid *other = empty_world(&heap, true);
        if (!kit_load(other, image, bytes)) {
            fail_msg("the image taken %u ticks later is refused", i + 1);
        }
        rigid_destroy(other);
        free(image);
    }
    heap_destroy(&heap);
}

/* Each byte of the recycled manifolds inverted in turn: the image is refused, or gives a world that
 * can run. */
static void damaged_images(void **unused)
{
    PL_UNUSED(unused);
    Rigid *rigid = kit_world(2, 4, KIT_GRAVITY_M_S2);
    BodyDef table = body_def_default();
    table.motion = BODY_STATIC;
    table.shape = (Shape){.kind = SHAPE_CYLINDER, .radius = 0.5f, .half_height = 0.5f};
    kit_add(rigid, &table);
    BodyDef box = kit_box(vec3(0.0f, 0.7f, 0.0f), vec3(0.2f, 0.2f, 0.2f));
    kit_add(rigid, &box);
    kit_run(rigid, 0.2f);
    assert_int_equal(rigid->recycled_count, 1);
    size_t bytes;
    u8 *image = kit_save(rigid, &bytes);
    /* An image stores a bit for each word, then the words that are not zero; slots are elsewhere in
     * it. */
    u8 packed[sizeof(u16) + sizeof(RecycledPose)];
    u32 words[sizeof(RecycledPose) / sizeof(u32) - 2];
    size_t at = 0, packed_bytes = sizeof(u16);
    u16 mask = 0;
    memcpy(words, &rigid->recycled->position, sizeof words);
    for (u32 w = 0; w < PL_COUNT(words); w++) {
        if (words[w] != 0) {
            mask |= (u16)(1u << w);
            memcpy(packed + packed_bytes, &words[w], sizeof words[w]);
            packed_bytes += sizeof words[w];
        }
    }
    memcpy(packed, &mask, sizeof mask);
    while (memcmp(image + at, packed, packed_bytes) != 0) {
        at++;
        assert_true(at + packed_bytes <= bytes);
    }
    u32 refused = 0;
    for (size_t i = at; i < at + packed_bytes; i++) {
        image[i] ^= 0xff;
        if (kit_load(rigid, image, bytes)) {
            kit_run(rigid, 0.1f);
            assert_true(vec3_is_finite(rigid_position(rigid, 1)));
        } else {
            refused++;
            rigid_clear(rigid);
        }
        image[i] ^= 0xff;
    }
    assert_true(refused >= 6); /* a mask and the exponents of four words, at least */
    free(image);
    rigid_destroy(rigid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(recycled_manifolds_match_new_ones),
                                       cmocka_unit_test(restored_worlds_continue_identically),
                                       cmocka_unit_test(removed_bodies_leave_no_manifolds),
                                       cmocka_unit_test(non_finite_velocities_leave_valid_images),
                                       cmocka_unit_test(damaged_images)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
