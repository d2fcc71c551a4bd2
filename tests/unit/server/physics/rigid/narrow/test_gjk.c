/* test_gjk.c: distances, depths and casts of convex shapes against brute force, closed forms and
 * certificates that prove a result independently of the algorithm. */
#include "server/physics/rigid/narrow/gjk.h"

#include "tests/unit/server/physics/rigid/solids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct Pair {
    Shape shape[2];
    ShapePose pose[2];
    SolidHull hull[2];
    f32 size;
} Pair;

/* Two random shapes whose centres are 0 to 1.5 of their sizes apart: about half overlap. */
static void random_pair(Pair *p, ShapeKind one, ShapeKind other, u64 seed, f32 low, f32 high)
{
    p->size = 0.0f;
    for (u32 i = 0; i < 2; i++) {
        u64 s = seed * 2 + i;
        p->shape[i] = solid_shape(i == 0 ? one : other, s, low, high, &p->hull[i]);
        p->pose[i].shape = &p->shape[i];
        p->pose[i].orientation = solid_rotation(s, 1);
        Vec3 n = solid_direction(s, 7);
        ShapePose still = {&p->shape[i], vec3_zero(), p->pose[i].orientation};
        p->size += (f32)(solid_reach(&still, n) + solid_reach(&still, vec3_neg(n)));
    }
    f32 away = random_range(seed, 77, 0.0f, 1.0f);
    p->pose[0].position = vec3_scale(solid_direction(seed, 3), 3.0f);
    p->pose[1].position =
        vec3_add_scaled(p->pose[0].position, away * p->size, solid_direction(seed, 4));
}

static void separation_is_proved_by_its_normal_and_points(void **unused)
{
    PL_UNUSED(unused);
    u32 apart = 0, deep = 0;
    f64 worst = 0.0;
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u32 j = 0; j < PL_COUNT(solid_kinds); j++) {
            for (u64 k = 0; k < 120; k++) {
                Pair p;
                random_pair(&p, solid_kinds[i], solid_kinds[j], (i * 6 + j) * 1000 + k, 0.1f, 2.0f);
                GjkResult r;
                assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
                assert_float_equal(vec3_length(r.normal), 1.0f, 1e-5f);
                f32 tolerance = 2e-5f * (p.size + 3.0f);
                /* Along the normal the shapes are separated by the reported distance... */
                f64 gap = solid_gap(&p.pose[0], &p.pose[1], r.normal);
                worst = fmax(worst, fabs(gap - (f64)r.separation));
                assert_true(fabs(gap - (f64)r.separation) < (f64)tolerance);
                /* ...the witness points differ by that much, and lie in their shapes. */
                Vec3 d = vec3_sub(vec3_sub(r.on_b, r.on_a), vec3_scale(r.normal, r.separation));
                assert_true(vec3_length(d) < tolerance);
                assert_true(solid_outside(&p.pose[0], r.on_a) < (f64)tolerance);
                assert_true(solid_outside(&p.pose[1], r.on_b) < (f64)tolerance);
                /* For separated shapes that proves the distance; for overlapping ones no other
                 * direction may be shorter. */
                apart += r.separation > 0.0f;
                deep += r.separation < 0.0f;
                for (u64 n = 0; n < 50 && r.separation < 0.0f; n++) {
                    Vec3 other = solid_direction(k, 100 + n);
                    assert_true(solid_gap(&p.pose[0], &p.pose[1], other) <
                                (f64)(r.separation + tolerance));
                    /* Directions close to the normal are the most likely to be shorter. */
                    other = vec3_normalize_or(vec3_add_scaled(r.normal, 0.05f, other), other);
                    assert_true(solid_gap(&p.pose[0], &p.pose[1], other) <
                                (f64)(r.separation + tolerance));
                }
            }
        }
    }
    printf("%u apart, %u overlap, worst gap error %.2e m\n", apart, deep, worst);
    assert_true(apart > 500 && deep > 500);
}

/* ---- brute force over the features of two polytopes ---- */

static f64 segment_segment(Vec3 p0, Vec3 p1, Vec3 q0, Vec3 q1)
{
    /* Ternary search over one segment, closed form for the other: the distance is convex. */
    f64 low = 0.0, high = 1.0, best = INFINITY;
    for (u32 i = 0; i < 60; i++) {
        f64 t[2] = {low + (high - low) / 3.0, high - (high - low) / 3.0}, d[2];
        for (u32 k = 0; k < 2; k++) {
            f64 x = (f64)p0.x + t[k] * ((f64)p1.x - (f64)p0.x);
            f64 y = (f64)p0.y + t[k] * ((f64)p1.y - (f64)p0.y);
            f64 z = (f64)p0.z + t[k] * ((f64)p1.z - (f64)p0.z);
            f64 ex = (f64)q1.x - (f64)q0.x, ey = (f64)q1.y - (f64)q0.y, ez = (f64)q1.z - (f64)q0.z;
            f64 s = ((x - (f64)q0.x) * ex + (y - (f64)q0.y) * ey + (z - (f64)q0.z) * ez) /
                    (ex * ex + ey * ey + ez * ez);
            s = fmin(fmax(s, 0.0), 1.0);
            f64 gx = x - (f64)q0.x - s * ex, gy = y - (f64)q0.y - s * ey,
                gz = z - (f64)q0.z - s * ez;
            d[k] = sqrt(gx * gx + gy * gy + gz * gz);
            best = fmin(best, d[k]);
        }
        if (d[0] < d[1]) {
            high = t[1];
        } else {
            low = t[0];
        }
    }
    return best;
}

/* Distance of a point to a face if it projects into the face, else infinity. */
static f64 point_face(Vec3 p, const Vec3 *world, const Hull *h, u32 face)
{
    u32 e = h->face_edges[face];
    Vec3 a = world[h->edges[e].origin], b = world[h->edges[h->edges[e].next].origin];
    Vec3 c = world[h->edges[h->edges[h->edges[e].next].next].origin];
    Vec3 n = vec3_normalize_or(vec3_cross(vec3_sub(b, a), vec3_sub(c, a)), vec3_zero());
    u32 at = e;
    do {
        Vec3 q = world[h->edges[at].origin], r = world[h->edges[h->edges[at].next].origin];
        if (vec3_dot(vec3_cross(n, vec3_sub(r, q)), vec3_sub(p, q)) < 0.0f) {
            return INFINITY;
        }
        at = h->edges[at].next;
    } while (at != e);
    return fabs((f64)vec3_dot(n, vec3_sub(p, a)));
}

static void world_vertices(const ShapePose *pose, Vec3 *out)
{
    const Hull *h = &pose->shape->geometry->hull;
    for (u32 i = 0; i < h->vertex_count; i++) {
        out[i] = vec3_add(pose->position, quat_rotate(pose->orientation, h->vertices[i]));
    }
}

static f64 brute_distance(const Pair *p)
{
    Vec3 w[2][SOLID_HULL_VERTICES];
    const Hull *h[2] = {&p->shape[0].geometry->hull, &p->shape[1].geometry->hull};
    world_vertices(&p->pose[0], w[0]);
    world_vertices(&p->pose[1], w[1]);
    f64 best = INFINITY;
    for (u32 s = 0; s < 2; s++) {
        for (u32 v = 0; v < h[s]->vertex_count; v++) {
            for (u32 f = 0; f < h[1 - s]->face_count; f++) {
                best = fmin(best, point_face(w[s][v], w[1 - s], h[1 - s], f));
            }
        }
    }
    for (u32 i = 0; i < h[0]->edge_count; i++) {
        for (u32 j = 0; j < h[1]->edge_count; j++) {
            if (h[0]->edges[i].twin < i || h[1]->edges[j].twin < j) {
                continue;
            }
            best = fmin(best, segment_segment(w[0][h[0]->edges[i].origin],
                                              w[0][h[0]->edges[h[0]->edges[i].next].origin],
                                              w[1][h[1]->edges[j].origin],
                                              w[1][h[1]->edges[h[1]->edges[j].next].origin]));
        }
    }
    return best;
}

/* The largest gap over all face normals and cross products of edges: exact for overlaps. */
static f64 brute_depth(const Pair *p)
{
    Vec3 w[2][SOLID_HULL_VERTICES];
    const Hull *h[2] = {&p->shape[0].geometry->hull, &p->shape[1].geometry->hull};
    world_vertices(&p->pose[0], w[0]);
    world_vertices(&p->pose[1], w[1]);
    f64 best = -INFINITY;
    for (u32 s = 0; s < 2; s++) {
        for (u32 f = 0; f < h[s]->face_count; f++) {
            Vec3 n = quat_rotate(p->pose[s].orientation, h[s]->normals[f]);
            best = fmax(best, solid_gap(&p->pose[0], &p->pose[1], s == 0 ? n : vec3_neg(n)));
        }
    }
    for (u32 i = 0; i < h[0]->edge_count; i++) {
        for (u32 j = 0; j < h[1]->edge_count; j++) {
            Vec3 d = vec3_sub(w[0][h[0]->edges[h[0]->edges[i].next].origin],
                              w[0][h[0]->edges[i].origin]);
            Vec3 e = vec3_sub(w[1][h[1]->edges[h[1]->edges[j].next].origin],
                              w[1][h[1]->edges[j].origin]);
            Vec3 n = vec3_cross(d, e);
            if (vec3_length(n) > 1e-3f * vec3_length(d) * vec3_length(e)) {
                n = vec3_normalize_or(n, n);
                best = fmax(best, solid_gap(&p->pose[0], &p->pose[1], n));
                best = fmax(best, solid_gap(&p->pose[0], &p->pose[1], vec3_neg(n)));
            }
        }
    }
    return best;
}

static void polytopes_agree_with_brute_force(void **unused)
{
    PL_UNUSED(unused);
    u32 apart = 0, deep = 0;
    for (u64 k = 0; k < 300; k++) {
        Pair p;
        random_pair(&p, SHAPE_HULL, SHAPE_HULL, 5000 + k, 0.2f, 1.5f);
        GjkResult r;
        assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
        f64 expected = r.separation > 0.0f ? brute_distance(&p) : brute_depth(&p);
        assert_true(fabs(expected - (f64)r.separation) < 2e-5);
        apart += r.separation > 0.0f;
        deep += r.separation < 0.0f;
    }
    assert_true(apart > 50 && deep > 50);
}

static void known_separations(void **unused)
{
    PL_UNUSED(unused);
    Shape sphere = {.kind = SHAPE_SPHERE, .radius = 0.5f};
    Shape box = {.kind = SHAPE_BOX, .half = {1.0f, 2.0f, 3.0f}};
    Shape cylinder = {.kind = SHAPE_CYLINDER, .radius = 1.0f, .half_height = 2.0f};
    Shape cone = {.kind = SHAPE_CONE, .radius = 3.0f, .half_height = 2.0f};
    Quat q = quat_identity();
    GjkResult r;
    ShapePose a = {&sphere, {2.5f, 0.3f, -0.2f}, q}, b = {&box, {0, 0, 0}, q};
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, 1.0f, 1e-6f);
    assert_float_equal(r.normal.x, -1.0f, 1e-6f);
    assert_float_equal(r.on_b.x, 1.0f, 1e-6f);
    assert_float_equal(r.on_b.y, 0.3f, 1e-6f);
    /* Offset of the centre from the corner (1, 2, 3): (3, 4, 12), of length 13. */
    a.position = vec3(4.0f, 6.0f, 15.0f);
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, 12.5f, 1e-5f);
    assert_false(gjk_separation(&a, &b, 12.0f, &r));
    /* The centre is inside, nearest to the face x = 1. */
    a.position = vec3(0.75f, 0.0f, 0.0f);
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, -0.75f, 1e-5f);
    assert_float_equal(r.normal.x, -1.0f, 1e-5f);
    /* Offset from the rim of a cylinder at (1, 2): (3, 4), of length 5. */
    b.shape = &cylinder;
    a.position = vec3(4.0f * 0.6f, 6.0f, 4.0f * 0.8f);
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, 4.5f, 1e-5f);
    assert_float_equal(r.on_b.x, 0.6f, 1e-4f);
    assert_float_equal(r.on_b.y, 2.0f, 1e-5f);
    /* The side of a cone of radius 3 and height 4 is a 3-4-5 triangle. */
    b.shape = &cone;
    a.position = vec3_add(vec3(1.5f, 0.0f, 0.0f), vec3_scale(vec3(0.8f, 0.6f, 0.0f), 2.0f));
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, 1.5f, 1e-5f);
    assert_float_equal(r.normal.x, -0.8f, 1e-4f);
}

static void coincident_and_flat_overlaps_have_a_way_out(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 40; k++) {
            Pair p;
            random_pair(&p, solid_kinds[i], solid_kinds[i], 9000 + k, 0.1f, 2.0f);
            p.shape[1] = p.shape[0];
            p.pose[1] = p.pose[0]; /* the same position and rotation */
            if (k % 2) {
                p.pose[1].orientation = solid_rotation(k, 5);
            }
            GjkResult r;
            assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
            assert_true(vec3_is_finite(r.normal) && vec3_is_finite(r.on_a));
            assert_float_equal(vec3_length(r.normal), 1.0f, 1e-5f);
            f64 gap = solid_gap(&p.pose[0], &p.pose[1], r.normal);
            assert_true(r.separation < 0.0f);
            assert_true(fabs(gap - (f64)r.separation) < 1e-4);
        }
    }
    /* Crossing capsules in one plane: the difference of their core segments is flat. */
    Shape capsule = {.kind = SHAPE_CAPSULE, .radius = 0.25f, .half_height = 1.0f};
    Quat quarter = {0.70710678f, 0.70710678f, 0.0f, 0.0f};
    ShapePose a = {&capsule, {0, 0, 0}, quat_identity()}, b = {&capsule, {0, 0.25f, 0}, quarter};
    GjkResult r;
    assert_true(gjk_separation(&a, &b, INFINITY, &r));
    assert_float_equal(r.separation, -0.5f, 1e-5f);
    assert_float_equal(fabsf(r.normal.x), 1.0f, 1e-5f);
}

static void sizes_from_a_millimetre_to_a_hundred_metres(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u32 j = 0; j < PL_COUNT(solid_kinds); j++) {
            for (u64 k = 0; k < 60; k++) {
                Pair p;
                random_pair(&p, solid_kinds[i], solid_kinds[j], 70000 + (i * 6 + j) * 100 + k,
                            1e-3f, 100.0f);
                GjkResult r;
                assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
                f64 gap = solid_gap(&p.pose[0], &p.pose[1], r.normal);
                assert_float_equal(vec3_length(r.normal), 1.0f, 1e-5f);
                assert_true(fabs(gap - (f64)r.separation) < 3e-6 * ((f64)p.size + 3.0));
                for (u64 n = 0; n < 20 && r.separation < 0.0f; n++) {
                    assert_true(solid_gap(&p.pose[0], &p.pose[1], solid_direction(k, 100 + n)) <
                                (f64)r.separation + 1e-5 * ((f64)p.size + 3.0));
                }
            }
        }
    }
}

static void overlap_agrees_with_separation(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u32 j = 0; j < PL_COUNT(solid_kinds); j++) {
            for (u64 k = 0; k < 60; k++) {
                Pair p;
                random_pair(&p, solid_kinds[i], solid_kinds[j], 30000 + (i * 6 + j) * 100 + k, 0.1f,
                            2.0f);
                f32 margin = k % 2 ? 0.0f : 0.2f;
                GjkResult r;
                assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
                if (fabsf(r.separation - margin) > 1e-4f) {
                    assert_int_equal(gjk_overlap(&p.pose[0], &p.pose[1], margin),
                                     r.separation < margin);
                }
            }
        }
    }
}

/* A warm start with the previous axis, with garbage, or with nothing gives the same result. */
static void warm_starts_change_nothing(void **unused)
{
    PL_UNUSED(unused);
    u32 far = 0;
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 200; k++) {
            Pair p;
            random_pair(&p, solid_kinds[i], SHAPE_SPHERE, 50000 + i * 200 + k, 0.1f, 1.0f);
            Vec3 corners[3], axis = k % 2 ? vec3_zero() : solid_direction(k, 60);
            for (u32 c = 0; c < 3; c++) {
                corners[c] = vec3_add_scaled(p.pose[1].position, 1.0f, solid_direction(k, 50 + c));
            }
            f32 limit = 0.02f * (f32)(k % 25);
            for (u32 again = 0; again < 4; again++) {
                GjkResult expected, got;
                bool near = gjk_separation_triangle(&p.pose[0], corners, limit, &expected);
                assert_int_equal(
                    gjk_separation_triangle_again(&p.pose[0], corners, limit, &axis, &got), near);
                if (near) {
                    assert_memory_equal(&got, &expected, sizeof got);
                } else {
                    Vec3 n = vec3_normalize_or(axis, vec3_zero());
                    f64 low = INFINITY;
                    for (u32 c = 0; c < 3; c++) {
                        low = fmin(low, (f64)vec3_dot(n, corners[c]));
                    }
                    assert_true(low - solid_reach(&p.pose[0], n) > (f64)limit - 1e-4);
                    far++;
                }
                /* Moves a little before the next query. */
                p.pose[0].position =
                    vec3_add_scaled(p.pose[0].position, 0.05f, solid_direction(k, 70 + again));
            }
        }
    }
    assert_true(far > 500);
}

static void triangles_are_thin_hulls(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 100; k++) {
            Pair p;
            random_pair(&p, solid_kinds[i], SHAPE_SPHERE, 40000 + i * 100 + k, 0.1f, 1.0f);
            Vec3 corners[3];
            for (u32 c = 0; c < 3; c++) {
                corners[c] = vec3_add_scaled(p.pose[1].position, 1.0f, solid_direction(k, 50 + c));
            }
            GjkResult r;
            assert_true(gjk_separation_triangle(&p.pose[0], corners, INFINITY, &r));
            f64 low = INFINITY;
            for (u32 c = 0; c < 3; c++) {
                low = fmin(low, (f64)vec3_dot(r.normal, corners[c]));
            }
            f64 gap = low - solid_reach(&p.pose[0], r.normal);
            assert_true(fabs(gap - (f64)r.separation) < 1e-4);
            if (fabsf(r.separation) > 1e-4f) {
                assert_int_equal(gjk_overlap_triangle(&p.pose[0], corners, 0.0f),
                                 r.separation < 0.0f);
            }
        }
    }
}

static void casts_stop_at_contact(void **unused)
{
    PL_UNUSED(unused);
    u32 hits = 0, misses = 0;
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u32 j = 0; j < PL_COUNT(solid_kinds); j++) {
            for (u64 k = 0; k < 40; k++) {
                Pair p;
                u64 seed = 20000 + (i * 6 + j) * 100 + k;
                random_pair(&p, solid_kinds[i], solid_kinds[j], seed, 0.05f, 1.0f);
                Vec3 start = vec3_add_scaled(p.pose[1].position, 4.0f, solid_direction(seed, 9));
                Vec3 end = vec3_add_scaled(p.pose[1].position, 0.6f, solid_direction(seed, 10));
                Vec3 motion = vec3_scale(vec3_sub(end, start), 2.0f);
                p.pose[0].position = start;
                f32 t = -1.0f;
                Vec3 normal, point;
                GjkResult r;
                bool hit = gjk_cast(&p.pose[0], &p.pose[1], motion, &t, &normal, &point);
                hits += hit;
                misses += !hit;
                /* Free all the way to the hit. */
                f32 until = hit ? t : 1.0f;
                for (u32 n = 0; n <= 32; n++) {
                    p.pose[0].position = vec3_add_scaled(start, until * (f32)n / 32.0f, motion);
                    assert_true(gjk_separation(&p.pose[0], &p.pose[1], INFINITY, &r));
                    assert_true(r.separation > -1e-5f);
                }
                if (hit && t > 0.0f) {
                    assert_true(t <= 1.0f);
                    assert_true(r.separation < 2e-5f);
                    assert_true(vec3_dot(normal, motion) <= 0.0f);
                    assert_float_equal(vec3_length(normal), 1.0f, 1e-5f);
                    assert_true(fabs(solid_outside(&p.pose[1], point)) < 3e-5);
                    assert_true(fabs(solid_outside(&p.pose[0], point)) < 3e-5);
                }
            }
        }
    }
    printf("%u hits, %u misses\n", hits, misses);
    assert_true(hits > 300 && misses > 100);
}

static void known_casts(void **unused)
{
    PL_UNUSED(unused);
    Shape sphere = {.kind = SHAPE_SPHERE, .radius = 0.5f};
    Shape box = {.kind = SHAPE_BOX, .half = {1.0f, 1.0f, 1.0f}};
    ShapePose a = {&sphere, {-5.0f, 0.25f, 0.0f}, quat_identity()};
    ShapePose b = {&box, {0, 0, 0}, quat_identity()};
    f32 t;
    Vec3 n, p;
    assert_true(gjk_cast(&a, &b, vec3(10.0f, 0, 0), &t, &n, &p));
    assert_float_equal(t, 0.35f, 1e-6f);
    assert_float_equal(n.x, -1.0f, 1e-6f);
    assert_float_equal(p.x, -1.0f, 1e-5f);
    assert_float_equal(p.y, 0.25f, 1e-5f);
    assert_false(gjk_cast(&a, &b, vec3(3.4f, 0, 0), &t, &n, &p));
    assert_false(gjk_cast(&a, &b, vec3(-10.0f, 0, 0), NULL, NULL, NULL));
    /* Onto the edge x = −1, y = 1 from above: 0.3 beside it, 0.4 above it. */
    a.position = vec3(-1.3f, 3.0f, 0.0f);
    assert_true(gjk_cast(&a, &b, vec3(0, -4.0f, 0), &t, &n, &p));
    assert_float_equal(t, 1.6f / 4.0f, 1e-5f);
    assert_float_equal(n.x, -0.6f, 1e-4f);
    assert_float_equal(n.y, 0.8f, 1e-4f);
    /* Overlapping at the start. */
    a.position = vec3(0.9f, 0, 0);
    assert_true(gjk_cast(&a, &b, vec3(0, 1, 0), &t, &n, &p));
    assert_float_equal(t, 0.0f, 0.0f);
    assert_float_equal(n.x, 1.0f, 1e-5f);
    /* A small fast ball and a thin wall: 400 m/s for a 60th of a second through 5 cm. */
    Shape wall = {.kind = SHAPE_BOX, .half = {0.025f, 2.0f, 2.0f}};
    Shape bullet = {.kind = SHAPE_SPHERE, .radius = 0.005f};
    ShapePose c = {&bullet, {-3.0f, 0.1f, 0.2f}, quat_identity()};
    b.shape = &wall;
    assert_true(gjk_cast(&c, &b, vec3(6.6667f, 0.1f, 0), &t, &n, &p));
    assert_float_equal(t, (3.0f - 0.03f) / 6.6667f, 1e-6f);
    Vec3 corners[3] = {{0, -1, -1}, {0, 2, -1}, {0, -1, 2}};
    assert_true(gjk_cast_triangle(&c, corners, vec3(6.6667f, 0.1f, 0), &t, &n, &p));
    assert_float_equal(t, (3.0f - 0.005f) / 6.6667f, 1e-6f);
    assert_float_equal(n.x, -1.0f, 1e-5f);
}

static void support_reaches_farthest(void **unused)
{
    PL_UNUSED(unused);
    for (u32 i = 0; i < PL_COUNT(solid_kinds); i++) {
        for (u64 k = 0; k < 50; k++) {
            Pair p;
            random_pair(&p, solid_kinds[i], SHAPE_SPHERE, 60000 + i * 100 + k, 0.1f, 2.0f);
            Vec3 n = solid_direction(k, 11);
            Vec3 s = gjk_support(&p.pose[0], vec3_scale(n, 3.0f));
            assert_true(fabs((f64)vec3_dot(s, n) - solid_reach(&p.pose[0], n)) < 1e-5);
            assert_true(solid_outside(&p.pose[0], s) < 1e-5);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separation_is_proved_by_its_normal_and_points),
        cmocka_unit_test(polytopes_agree_with_brute_force),
        cmocka_unit_test(known_separations),
        cmocka_unit_test(coincident_and_flat_overlaps_have_a_way_out),
        cmocka_unit_test(sizes_from_a_millimetre_to_a_hundred_metres),
        cmocka_unit_test(overlap_agrees_with_separation),
        cmocka_unit_test(warm_starts_change_nothing),
        cmocka_unit_test(triangles_are_thin_hulls),
        cmocka_unit_test(casts_stop_at_contact),
        cmocka_unit_test(known_casts),
        cmocka_unit_test(support_reaches_farthest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
