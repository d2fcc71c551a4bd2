/* test_fill.c: points that fill shapes: their number matches the volume, all are inside, and none
 * is nearer to the next than the spacing. */
#include "shared/geometry/fill.h"
#include "shared/geometry/geometry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

typedef struct Seen {
    const FillVolume *volume;
    Vec3 first, last;
    u32 count, stop;
} Seen;

static bool see(void *context, Vec3 point)
{
    Seen *seen = context;
    seen->first = seen->count == 0 ? point : seen->first;
    seen->last = point;
    seen->count++;
    /* A lattice point on the surface may be outside by rounding. */
    Vec3 nearer = vec3_lerp(point, seen->volume->position, 1e-4f);
    assert_true(fill_contains(seen->volume, nearer));
    return seen->count != seen->stop;
}

static Seen fill(const FillVolume *volume, f32 spacing)
{
    Seen seen = {.volume = volume};
    assert_true(fill_visit(volume, spacing, see, &seen));
    assert_true(seen.count <= fill_cells(volume, spacing));
    return seen;
}

/* At most one layer is missing along each axis: the spacing is never reduced to fit one more. */
static void counts_are_volumes(void **state)
{
    (void)state;
    Vec3 corners[] = {{0.5f, 0, 0},  {-0.5f, 0, 0}, {0, 0.5f, 0},
                      {0, -0.5f, 0}, {0, 0, 0.5f},  {0, 0, -0.5f}};
    const Shape shapes[] = {
        {.kind = SHAPE_SPHERE, .radius = 0.5f},
        {.kind = SHAPE_BOX, .half = {0.5f, 0.25f, 0.4f}},
        {.kind = SHAPE_CAPSULE, .radius = 0.3f, .half_height = 0.3f},
        {.kind = SHAPE_CYLINDER, .radius = 0.4f, .half_height = 0.5f},
        {.kind = SHAPE_CONE, .radius = 0.5f, .half_height = 0.5f},
        {.kind = SHAPE_HULL, .geometry = geometry_hull(corners, PL_COUNT(corners), 64, NULL)},
    };
    f32 h = sqrtf(0.5f);
    for (u32 s = 0; s < PL_COUNT(shapes); s++) {
        for (f32 spacing = 0.1f; spacing > 0.02f; spacing *= 0.6f) {
            FillVolume volume = {shapes[s], {1.0f, 2.0f, -3.0f}, {h, 0, h, 0}};
            f64 got = fill(&volume, spacing).count * (f64)spacing * (f64)spacing * (f64)spacing;
            f64 want = (f64)shape_volume(&shapes[s]);
            Bounds box = shape_bounds(&shapes[s], vec3_zero(), quat_identity());
            Vec3 side = vec3_sub(box.max, box.min);
            f64 slack = (f64)(spacing / side.x + spacing / side.y + spacing / side.z);
            if (!(fabs(got / want - 1.0) < slack)) {
                fail_msg("shape %u, %g m: %g m³ of %g", s, (f64)spacing, got, want);
            }
        }
    }
    geometry_destroy((Geometry *)(uintptr_t)shapes[5].geometry);
}

static void a_box_of_whole_spacings_is_full(void **state)
{
    (void)state;
    FillVolume volume = {{.kind = SHAPE_BOX, .half = {0.5f, 0.15f, 0.1f}}, {0, 0, 0}, {1, 0, 0, 0}};
    Seen seen = fill(&volume, 0.1f);
    assert_int_equal(seen.count, 10 * 3 * 2);
    assert_float_equal(seen.first.x, -0.45f, 1e-6);
    assert_float_equal(seen.first.y, -0.1f, 1e-6);
    assert_float_equal(seen.last.x, 0.45f, 1e-6);
    assert_float_equal(seen.last.z, 0.05f, 1e-6);
}

static void open_shapes_are_not_filled(void **state)
{
    (void)state;
    FillVolume plane = {{.kind = SHAPE_PLANE}, {0, 1, 0}, {1, 0, 0, 0}};
    assert_true(fill_contains(&plane, vec3(5.0f, 0.9f, 3.0f)));
    assert_false(fill_contains(&plane, vec3(5.0f, 1.1f, 3.0f)));
    assert_int_equal(fill(&plane, 0.1f).count, 0);
    FillVolume vast = {{.kind = SHAPE_BOX, .half = {1e4f, 1e4f, 1e4f}}, {0, 0, 0}, {1, 0, 0, 0}};
    assert_true(fill_cells(&vast, 0.002f) > 1000000000ull); /* computed, not counted */
    Seen seen = {.volume = &vast, .stop = 7};
    assert_false(fill_visit(&vast, 1.0f, see, &seen));
    assert_int_equal(seen.count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_volumes),
        cmocka_unit_test(a_box_of_whole_spacings_is_full),
        cmocka_unit_test(open_shapes_are_not_filled),
    };
    return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
