/* test_pair_test.c: tests of pairs against sampled motions, other algorithms and times of contact
 * derived by hand. */
#include "server/physics/rigid/narrow/pair_test.h"
#include "tests/support/any.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    PAIRS = 3000,
    STEPS = 100
};

static Any any;

static void assert_near(f32 got, f32 want, f32 within)
{
    if (!(fabsf(got - want) <= within)) {
        print_error("got %.9g, want %.9g ± %g\n", (double)got, (double)want, (double)within);
        fail();
    }
}

static void assert_vec_near(Vec3 got, Vec3 want, f32 within)
{
    assert_near(vec3_distance(got, want), 0.0f, within);
}

/* ---- lines ---- */

/* Independent of Möller–Trumbore: intersects the plane, then tests three sides. */
static bool brute_line_triangle(const Line *line, const Vec3 c[3], f32 *t, f32 *margin)
{
    Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
    n = vec3_normalize_or(n, vec3_zero());
    Vec3 d = vec3_sub(line->to, line->from);
    *t = vec3_dot(vec3_sub(c[0], line->from), n) / vec3_dot(d, n);
    Vec3 p = vec3_add_scaled(line->from, *t, d);
    bool inside = true;
    *margin = INFINITY;
    for (u32 i = 0; i < 3; i++) {
        Vec3 edge = vec3_sub(c[(i + 1) % 3], c[i]);
        Vec3 in = vec3_normalize_or(vec3_cross(n, edge), vec3_zero());
        f32 depth = vec3_dot(vec3_sub(p, c[i]), in);
        inside = inside && depth >= 0.0f;
        *margin = f32_min(*margin, fabsf(depth));
    }
    if (line->kind != LINE_INFINITE) {
        *margin = f32_min(*margin, fabsf(*t));
        inside = inside && *t >= 0.0f;
    }
    if (line->kind == LINE_SEGMENT) {
        *margin = f32_min(*margin, fabsf(*t - 1.0f));
        inside = inside && *t <= 1.0f;
    }
    return inside;
}

static void lines_against_triangles(void **state)
{
    PL_UNUSED(state);
    any = (Any){1, 0};
    u32 hits[3] = {0, 0, 0};
    for (u32 i = 0; i < 10 * PAIRS; i++) {
        Line line = {(LineKind)(i % 3), any_vec(&any, -2.0f, 2.0f), any_vec(&any, -2.0f, 2.0f)};
        Vec3 c[3] = {any_vec(&any, -2.0f, 2.0f), any_vec(&any, -2.0f, 2.0f),
                     any_vec(&any, -2.0f, 2.0f)};
        f32 t, margin;
        PairIntersection meeting;
        bool want = brute_line_triangle(&line, c, &t, &margin);
        bool got = line_triangle_intersect(&line, c, &meeting);
        assert_int_equal(got, line_triangle_overlap(&line, c));
        if (margin < 1e-3f || !(fabsf(t) < 100.0f)) {
            continue;
        }
        assert_int_equal(got, want);
        if (got) {
            Vec3 d = vec3_sub(line.to, line.from);
            assert_near(meeting.time, t, 1e-3f * (1.0f + fabsf(t)));
            assert_vec_near(meeting.point, vec3_add_scaled(line.from, meeting.time, d), 1e-5f);
            assert_true(vec3_dot(meeting.normal, d) <= 0.0f);
            assert_near(vec3_length(meeting.normal), 1.0f, 1e-5f);
            hits[line.kind]++;
        }
    }
    assert_true(hits[0] > 300 && hits[1] > hits[0] && hits[2] > hits[1]);
    /* In the plane of the triangle, and a degenerate triangle: no hit. */
    Vec3 flat[3] = {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}};
    Line in_plane = {LINE_INFINITE, {-1, 0, 0.2f}, {1, 0, 0.2f}};
    assert_false(line_triangle_overlap(&in_plane, flat));
    Vec3 thin[3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    Line down = {LINE_SEGMENT, {1, 1, 0}, {1, -1, 0}};
    assert_false(line_triangle_overlap(&down, thin));
}

static void lines_against_shapes(void **state)
{
    PL_UNUSED(state);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 1.0f};
    ShapePose pose = {&ball, vec3(10.0f, 0.0f, 0.0f), quat_identity()};
    PairIntersection meeting;
    /* `to` is 2 m away: the ball begins at 9 m, parameter 4.5. */
    Line line = {LINE_SEGMENT, vec3_zero(), vec3(2.0f, 0.0f, 0.0f)};
    assert_false(line_shape_overlap(&line, &pose));
    assert_false(line_shape_intersect(&line, &pose, &meeting));
    line.kind = LINE_RAY;
    assert_true(line_shape_overlap(&line, &pose));
    assert_true(line_shape_intersect(&line, &pose, &meeting));
    assert_near(meeting.time, 4.5f, 1e-6f);
    assert_vec_near(meeting.point, vec3(9.0f, 0.0f, 0.0f), 1e-5f);
    assert_vec_near(meeting.normal, vec3(-1.0f, 0.0f, 0.0f), 1e-5f);
    line.to = vec3(-2.0f, 0.0f, 0.0f); /* facing away */
    assert_false(line_shape_overlap(&line, &pose));
    line.kind = LINE_INFINITE;
    assert_true(line_shape_overlap(&line, &pose));
    assert_true(line_shape_intersect(&line, &pose, &meeting));
    assert_near(meeting.time, -4.5f, 1e-6f);
    assert_vec_near(meeting.point, vec3(9.0f, 0.0f, 0.0f), 1e-5f);
    assert_vec_near(meeting.normal, vec3(-1.0f, 0.0f, 0.0f), 1e-5f);
    line = (Line){LINE_SEGMENT, vec3(10.0f, 0.5f, 0.0f), vec3(20.0f, 0.0f, 0.0f)};
    assert_true(line_shape_intersect(&line, &pose, &meeting)); /* from inside */
    assert_near(meeting.time, 0.0f, 0.0f);
}

/* ---- triangles ---- */

/* Two triangles in different planes intersect if an edge of one passes through the other. */
static bool brute_triangles(const Vec3 a[3], const Vec3 b[3], f32 *margin)
{
    bool touch = false;
    *margin = INFINITY;
    for (u32 i = 0; i < 6; i++) {
        const Vec3 *edges = i < 3 ? a : b, *face = i < 3 ? b : a;
        Line line = {LINE_SEGMENT, edges[i % 3], edges[(i + 1) % 3]};
        f32 t, near;
        touch = brute_line_triangle(&line, face, &t, &near) || touch;
        *margin = f32_min(*margin, near);
    }
    return touch;
}

static void any_triangle(Vec3 c[3], f32 reach)
{
    for (u32 i = 0; i < 3; i++) {
        c[i] = any_vec(&any, -reach, reach);
    }
}

static f32 plane_distance(const Vec3 c[3], Vec3 p)
{
    Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
    return vec3_dot(vec3_normalize_or(n, vec3_zero()), vec3_sub(p, c[0]));
}

static void triangles_against_edges_through_faces(void **state)
{
    PL_UNUSED(state);
    any = (Any){2, 0};
    u32 meets = 0;
    for (u32 i = 0; i < 10 * PAIRS; i++) {
        Vec3 a[3], b[3], ends[2];
        f32 margin;
        any_triangle(a, 1.0f);
        any_triangle(b, 1.0f);
        bool want = brute_triangles(a, b, &margin);
        bool got = triangle_triangle_overlap(a, b);
        assert_int_equal(got, triangle_triangle_overlap(b, a));
        assert_int_equal(got, triangle_triangle_intersect(a, b, ends));
        if (margin < 1e-3f) {
            continue;
        }
        assert_int_equal(got, want);
        meets += got;
        for (u32 k = 0; got && k < 2; k++) {
            assert_near(plane_distance(a, ends[k]), 0.0f, 1e-4f);
            assert_near(plane_distance(b, ends[k]), 0.0f, 1e-4f);
        }
    }
    assert_true(meets > PAIRS / 2 && meets < 8 * PAIRS);
}

static void triangles_in_one_plane_and_touching(void **state)
{
    PL_UNUSED(state);
    Vec3 ends[2];
    Vec3 a[3] = {{0, 0, 0}, {4, 0, 0}, {0, 0, 4}};
    Vec3 inside[3] = {{0.5f, 0, 0.5f}, {1, 0, 0.5f}, {0.5f, 0, 1}};
    Vec3 crossing[3] = {{-1, 0, 1}, {1, 0, 1}, {-1, 0, 2}};
    Vec3 beside[3] = {{4, 0, 4}, {4, 0, 2}, {2, 0, 4}};
    Vec3 above[3] = {{0.5f, 0.01f, 0.5f}, {1, 0.01f, 0.5f}, {0.5f, 0.01f, 1}};
    Vec3 star[3] = {{3, 0, 3}, {-3, 0, 1}, {1, 0, -3}}; /* all corners outside, edges cross */
    assert_true(triangle_triangle_overlap(a, inside));
    assert_true(triangle_triangle_overlap(inside, a));
    assert_true(triangle_triangle_intersect(a, crossing, ends));
    assert_true(triangle_triangle_overlap(a, star));
    assert_false(triangle_triangle_overlap(a, beside));
    assert_false(triangle_triangle_overlap(a, above));
    assert_true(triangle_triangle_overlap(a, a));
    /* A corner that just touches the face, and a shared edge. */
    Vec3 on[3] = {{1, 0, 1}, {1, 1, 1}, {2, 1, 1}};
    Vec3 edge[3] = {{0, 0, 0}, {4, 0, 0}, {0, 3, 0}};
    assert_true(triangle_triangle_intersect(a, on, ends));
    assert_vec_near(ends[0], on[0], 1e-6f);
    assert_true(triangle_triangle_intersect(a, edge, ends));
    f32 length = vec3_distance(ends[0], ends[1]);
    assert_near(length, 4.0f, 1e-5f);
}

static void moving_triangles_against_samples(void **state)
{
    PL_UNUSED(state);
    any = (Any){3, 0};
    u32 meets = 0, late = 0;
    for (u32 i = 0; i < PAIRS; i++) {
        Vec3 a[3], b[3], moved[3];
        any_triangle(a, 1.0f);
        any_triangle(b, 1.0f);
        Vec3 offset = vec3_scale(any_direction(&any), 2.0f);
        Vec3 motion = vec3_add_scaled(any_vec(&any, -1.0f, 1.0f), -1.5f, offset);
        PairIntersection meeting;
        for (u32 k = 0; k < 3; k++) {
            b[k] = vec3_add(b[k], offset);
        }
        bool got = triangle_triangle_intersect_moving(a, b, motion, &meeting);
        for (u32 s = 0; s <= STEPS; s++) {
            f32 t = (f32)s / STEPS;
            for (u32 k = 0; k < 3; k++) {
                moved[k] = vec3_add_scaled(b[k], t, motion);
            }
            bool touch = triangle_triangle_overlap(a, moved);
            assert_true(!touch || (got && meeting.time <= t + 1e-5f));
        }
        if (!got) {
            continue;
        }
        meets++;
        late += meeting.time > 0.0f;
        for (u32 k = 0; k < 3; k++) { /* slightly earlier: separated */
            moved[k] = vec3_add_scaled(b[k], meeting.time - 1e-4f, motion);
        }
        assert_true(meeting.time == 0.0f || !triangle_triangle_overlap(a, moved));
        for (u32 k = 0; k < 3; k++) {
            moved[k] = vec3_add_scaled(b[k], meeting.time, motion);
        }
        assert_near(plane_distance(a, meeting.point) * plane_distance(moved, meeting.point), 0.0f,
                    1e-4f);
        assert_true(vec3_dot(meeting.normal, motion) <= 0.0f);
    }
    assert_true(meets > PAIRS / 4 && late > PAIRS / 8 && meets < PAIRS);
}

/* ---- solids: the reported contact must be the first in a sampled motion ---- */

typedef struct Pair {
    OrientedBox a, b; /* boxes, or balls: centre, and half.x as the radius */
    HalfSpace plane;
    Vec3 motion;
} Pair;

typedef bool PairTouch(const Pair *pair, Vec3 shift, f32 grow);
typedef bool PairMeet(const Pair *pair, PairIntersection *meeting);

static Ball ball_of(const OrientedBox *box, Vec3 shift, f32 grow)
{
    return (Ball){vec3_add(box->centre, shift), box->half.x + grow};
}
static OrientedBox box_of(const OrientedBox *box, Vec3 shift, f32 grow)
{
    OrientedBox moved = *box;
    moved.centre = vec3_add(box->centre, shift);
    moved.half = vec3_add(box->half, vec3(grow, grow, grow));
    return moved;
}
static bool touch_balls(const Pair *p, Vec3 shift, f32 grow)
{
    return sphere_sphere_overlap(ball_of(&p->a, vec3_zero(), 0.0f), ball_of(&p->b, shift, grow));
}
static bool meet_balls(const Pair *p, PairIntersection *m)
{
    return sphere_sphere_intersect(ball_of(&p->a, vec3_zero(), 0.0f),
                                   ball_of(&p->b, vec3_zero(), 0.0f), p->motion, m);
}
static bool touch_box_ball(const Pair *p, Vec3 shift, f32 grow)
{
    return box_sphere_overlap(&p->a, ball_of(&p->b, shift, grow));
}
static bool meet_box_ball(const Pair *p, PairIntersection *m)
{
    return box_sphere_intersect(&p->a, ball_of(&p->b, vec3_zero(), 0.0f), p->motion, m);
}
static bool touch_boxes(const Pair *p, Vec3 shift, f32 grow)
{
    OrientedBox b = box_of(&p->b, shift, grow);
    return box_box_overlap(&p->a, &b);
}
static bool meet_boxes(const Pair *p, PairIntersection *m)
{
    return box_box_intersect(&p->a, &p->b, p->motion, m);
}
static bool touch_plane_ball(const Pair *p, Vec3 shift, f32 grow)
{
    return plane_sphere_overlap(p->plane, ball_of(&p->b, shift, grow));
}
static bool meet_plane_ball(const Pair *p, PairIntersection *m)
{
    return plane_sphere_intersect(p->plane, ball_of(&p->b, vec3_zero(), 0.0f), p->motion, m);
}
static bool touch_plane_box(const Pair *p, Vec3 shift, f32 grow)
{
    OrientedBox b = box_of(&p->b, shift, grow);
    return plane_box_overlap(p->plane, &b);
}
static bool meet_plane_box(const Pair *p, PairIntersection *m)
{
    return plane_box_intersect(p->plane, &p->b, p->motion, m);
}

static void assert_first_touches(PairTouch *touch, PairMeet *meet, u64 seed)
{
    any = (Any){seed, 0};
    u32 late = 0, misses = 0;
    for (u32 i = 0; i < PAIRS; i++) {
        Pair p = {.a = {any_vec(&any, -1.0f, 1.0f), any_vec(&any, 0.2f, 1.5f), any_rotation(&any)}};
        p.plane.normal = any_direction(&any);
        p.plane.offset = any_between(&any, -1.0f, 0.0f);
        p.b.centre = vec3_add(p.a.centre, vec3_scale(any_direction(&any), 4.0f));
        p.b.half = any_vec(&any, 0.2f, 1.5f);
        p.b.orientation =
            i % 7 == 0 ? p.a.orientation : any_rotation(&any); /* also parallel edges */
        p.motion = vec3_scale(vec3_sub(p.a.centre, p.b.centre), any_between(&any, 0.2f, 1.6f));
        p.motion = vec3_add(p.motion, any_vec(&any, -2.0f, 2.0f));
        p.motion = i % 11 == 0 ? vec3(0.0f, p.motion.y, 0.0f) : p.motion;
        PairIntersection m;
        bool got = meet(&p, &m);
        f32 first = got ? m.time : 2.0f;
        for (u32 s = 0; s <= STEPS; s++) {
            f32 t = (f32)s / STEPS;
            if (t < first - 1e-4f) {
                assert_false(touch(&p, vec3_scale(p.motion, t), -1e-4f));
            }
        }
        if (got) {
            assert_true(touch(&p, vec3_scale(p.motion, m.time), 1e-3f));
            assert_true(m.time >= 0.0f && m.time <= 1.0f);
            assert_near(vec3_length(m.normal), 1.0f, 1e-4f);
            assert_true(m.time == 0.0f || vec3_dot(m.normal, p.motion) <= 1e-4f);
            /* A small ball at the contact point touches both. */
            Pair at = p;
            at.b = (OrientedBox){m.point, vec3(2e-3f, 2e-3f, 2e-3f), quat_identity()};
            assert_true(touch(&at, vec3_zero(), 0.0f));
            at = (Pair){.a = {m.point, vec3(2e-3f, 2e-3f, 2e-3f), quat_identity()}, .b = p.b};
            at.plane = (HalfSpace){p.plane.normal, vec3_dot(p.plane.normal, m.point) + 2e-3f};
            assert_true(touch(&at, vec3_scale(p.motion, m.time), 0.0f) || m.time == 0.0f);
            late += m.time > 0.0f;
        }
        misses += !got;
    }
    assert_true(late > PAIRS / 8 && misses > PAIRS / 20);
}

static void moving_solids_meet_at_the_first_contact(void **state)
{
    PL_UNUSED(state);
    assert_first_touches(touch_balls, meet_balls, 10);
    assert_first_touches(touch_box_ball, meet_box_ball, 11);
    assert_first_touches(touch_boxes, meet_boxes, 12);
    assert_first_touches(touch_plane_ball, meet_plane_ball, 13);
    assert_first_touches(touch_plane_box, meet_plane_box, 14);
}

/* Two boxes overlap if and only if they share a point: compare with points sampled in both. */
static void boxes_touch_where_points_coincide(void **state)
{
    PL_UNUSED(state);
    any = (Any){20, 0};
    u32 touches = 0;
    for (u32 i = 0; i < PAIRS; i++) {
        OrientedBox a = {vec3_zero(), any_vec(&any, 0.2f, 1.0f), any_rotation(&any)};
        OrientedBox b = {any_vec(&any, -1.5f, 1.5f), any_vec(&any, 0.2f, 1.0f), any_rotation(&any)};
        bool found = false;
        for (u32 k = 0; k < 400 && !found; k++) {
            Vec3 p = vec3_mul(any_vec(&any, -1.0f, 1.0f), b.half);
            p = vec3_add(b.centre, quat_rotate(b.orientation, p));
            p = vec3_abs(quat_rotate_inverse(a.orientation, p));
            found = p.x <= a.half.x && p.y <= a.half.y && p.z <= a.half.z;
        }
        bool touch = box_box_overlap(&a, &b);
        assert_true(touch || !found);
        touches += touch;
    }
    assert_true(touches > PAIRS / 8);
}

static void times_by_hand(void **state)
{
    PL_UNUSED(state);
    PairIntersection m;
    /* Balls of 1 and 0.5 m, centres 5 m apart, approaching by 7 m: 3.5 / 7. */
    Ball one = {vec3_zero(), 1.0f}, other = {vec3(5.0f, 0.0f, 0.0f), 0.5f};
    assert_true(sphere_sphere_intersect(one, other, vec3(-7.0f, 0.0f, 0.0f), &m));
    assert_near(m.time, 0.5f, 1e-6f);
    assert_vec_near(m.point, vec3(1.0f, 0.0f, 0.0f), 1e-5f);
    /* A bullet of 1 cm, 1 km away: no loss of precision. */
    Ball bullet = {vec3(0.0f, 1000.0f, 0.005f), 0.005f}, grain = {vec3_zero(), 0.005f};
    assert_true(sphere_sphere_intersect(grain, bullet, vec3(0.0f, -2000.0f, 0.0f), &m));
    assert_near(m.time, (1000.0f - sqrtf(1e-4f - 2.5e-5f)) / 2000.0f, 1e-7f);
    /* A ball of 0.5 m towards the corner (1, 1, 1) of a box, along its diagonal from 4 m away. */
    OrientedBox box = {vec3_zero(), vec3(1.0f, 1.0f, 1.0f), quat_identity()};
    Vec3 out = vec3_scale(vec3(1.0f, 1.0f, 1.0f), 1.0f / sqrtf(3.0f));
    Ball ball = {vec3_add_scaled(vec3(1.0f, 1.0f, 1.0f), 4.0f, out), 0.5f};
    assert_true(box_sphere_intersect(&box, ball, vec3_scale(out, -7.0f), &m));
    assert_near(m.time, 0.5f, 1e-5f);
    assert_vec_near(m.normal, out, 1e-4f);
    assert_vec_near(m.point, vec3(1.0f, 1.0f, 1.0f), 1e-4f);
    /* It passes a vertical edge at 0.36 m sideways: contact 0.48 m before it in x. */
    ball = (Ball){vec3(3.0f, 0.0f, 1.36f), 0.6f};
    assert_true(box_sphere_intersect(&box, ball, vec3(-4.0f, 0.0f, 0.0f), &m));
    assert_near(m.time, (2.0f - 0.48f) / 4.0f, 1e-5f);
    ball.centre.z = 1.61f;
    assert_false(box_sphere_intersect(&box, ball, vec3(-4.0f, 0.0f, 0.0f), &m));
    /* A cube on its corner falls 2 m on a plane: its lowest point is √3 below its centre. */
    Quat tip = quat_normalize(
        (Quat){1.0f + 1.0f / sqrtf(3.0f), -1.0f / sqrtf(3.0f), 0.0f, 1.0f / sqrtf(3.0f)});
    Vec3 rotated = quat_rotate(tip, out);
    assert_near(fabsf(rotated.y), 1.0f, 1e-5f);
    OrientedBox cube = {vec3(0.0f, 1.0f + sqrtf(3.0f), 0.0f), vec3(1.0f, 1.0f, 1.0f), tip};
    HalfSpace ground = {vec3(0.0f, 1.0f, 0.0f), 0.0f};
    assert_false(plane_box_overlap(ground, &cube));
    assert_true(plane_box_intersect(ground, &cube, vec3(0.0f, -2.0f, 0.0f), &m));
    assert_near(m.time, 0.5f, 1e-5f);
    assert_vec_near(m.point, vec3_zero(), 1e-4f);
    assert_false(plane_box_intersect(ground, &cube, vec3(0.0f, 2.0f, 0.0f), &m));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_against_triangles),
        cmocka_unit_test(lines_against_shapes),
        cmocka_unit_test(triangles_against_edges_through_faces),
        cmocka_unit_test(triangles_in_one_plane_and_touching),
        cmocka_unit_test(moving_triangles_against_samples),
        cmocka_unit_test(moving_solids_meet_at_the_first_contact),
        cmocka_unit_test(boxes_touch_where_points_coincide),
        cmocka_unit_test(times_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
