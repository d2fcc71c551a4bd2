/*
 * test_grid_picture.c: clear water and lit fog as drawn, at the resolution of stills and at that of
 * windows of CPU renderers: Beer's law and Snell's law in water, an eye below it, waves that focus
 * light; self-shadowing, extinction and heat of fog. With PLENUM_PICTURES=FOLDER in the environment
 * the pictures are kept for inspection.
 */
#include "client/view/fog_form.h"
#include "client/view/water_form.h"
#include "tests/support/drawn.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

/* The GL driver holds memory until the process ends: not our leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

enum {
    WIDTH = 640,
    HEIGHT = 360,
};

static Drawn *view; /* shared by all tests: a process has one OpenGL context */
static bool coarse;

static int fine_open(void **state)
{
    (void)state;
    coarse = false;
    view = drawn_create(WIDTH, HEIGHT, 4, 16);
    return view ? 0 : -1;
}

static int coarse_open(void **state)
{
    (void)state;
    coarse = true;
    view = drawn_create(WIDTH, HEIGHT, 0, 16);
    return view ? 0 : -1;
}

static int view_close(void **state)
{
    (void)state;
    drawn_destroy(view);
    return 0;
}

static void take(Drawn *d, const char *name)
{
    assert_true(drawn_take_named(d, name, coarse ? "coarse" : "fine"));
}

/* ---- water ---- */

enum {
    SIDE = 96
};

/* Water of this level over 4 m x 4 m of ground; heights may be changed before drawing. */
static f32 *water(Drawn *d, f32 level)
{
    f32 *values, gap = 4.0f / SIDE;
    Entity *entity =
        drawn_grid(d, (u32[3]){SIDE, 1, SIDE}, vec3(-2.0f + 0.5f * gap, 0, -2.0f + 0.5f * gap),
                   vec3(gap, 0, gap), &values);
    assert_non_null(entity);
    memcpy(entity->appearance.color, (f32[4]){0.4f, 0.7f, 0.85f, 1},
           sizeof entity->appearance.color);
    memcpy(entity->appearance.color2, (f32[4]){0.02f, 0.05f, 0.06f, 1},
           sizeof entity->appearance.color2);
    entity->appearance.clear_m = 0.5f;
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        values[i] = level;
    }
    return values;
}

/* Pool with boxes, one of them above the water, and a train of waves. */
static void test_pool_for_inspection(void **state)
{
    (void)state;
    drawn_clear(view);
    drawn_box(view, vec3(-0.5f, 0.15f, 0.3f), vec3(0.25f, 0.15f, 0.25f), 0xC03020);
    drawn_box(view, vec3(0.9f, 0.5f, -0.4f), vec3(0.2f, 0.5f, 0.2f), 0xD0A030);
    f32 *values = water(view, 0.6f);
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        f32 x = 4.0f * (f32)(i % SIDE) / SIDE, z = 4.0f * (f32)(i / SIDE) / SIDE;
        values[i] += 0.03f * sinf(5.0f * x + 2.0f * z) + 0.02f * cosf(3.0f * z - 4.0f * x);
        values[SIDE * SIDE + i] = x > 3.4f ? (x - 3.4f) / 0.6f : 0.0f;
    }
    view->picture.camera.eye = vec3(2.6f, 2.4f, 3.6f);
    take(view, "pool");
    view->picture.camera.eye = vec3(1.2f, 0.3f, 1.4f);
    view->picture.camera.target = vec3(-0.5f, 0.35f, 0.3f);
    take(view, "below");
}

/* Light from the ground through depths d, 2 d and 3 d is a + b exp(-s z), where s covers both
 * ways. */
static void test_depth_dims_by_beers_law(void **state)
{
    (void)state;
    Vec3 light[3];
    for (u32 i = 0; i < 3; i++) {
        drawn_clear(view);
        water(view, 0.2f * (f32)(i + 1));
        view->picture.camera.eye = vec3(0, 5.0f, 0.001f);
        view->picture.camera.target = vec3_zero();
        take(view, "depth");
        light[i] = drawn_light_at(view, vec3(0.05f, 0, 0.4f), 30);
    }
    const f64 passes[3] = {0.4, 0.7, 0.85};
    for (u32 k = 0; k < 3; k++) {
        f32 of[3];
        for (u32 i = 0; i < 3; i++) {
            const f32 channels[3] = {light[i].x, light[i].y, light[i].z};
            of[i] = channels[k];
        }
        f64 ratio = (f64)(of[0] - of[1]) / (f64)(of[1] - of[2]);
        f64 measured = log(ratio) / 0.2, expected = 1.6 * -log(passes[k]) / 0.5;
        print_message("channel %u: %.3f per m, Beer %.3f\n", k, measured, expected);
        expect_near("absorption", measured, expected, k == 0 ? 0.2 * expected : 0.7);
    }
}

/* The bottom appears raised: a point at depth D under a ray of angle a (in air) appears where the
 * refracted ray meets the bottom, D (tan a - tan b) nearer than the straight one, sin a = 1.333 sin
 * b. The dark edge between two boxes on the ground marks the point. */
static void test_bottom_is_raised_by_snells_law(void **state)
{
    (void)state;
    const f32 deep = 0.5f, high = 2.5f, away = 2.0f;
    f64 seen[2];
    for (u32 wet = 0; wet < 2; wet++) {
        drawn_clear(view);
        drawn_box(view, vec3(0, 0, -1.0f), vec3(2.0f, 0.01f, 1.0f), 0xF0F0F0);
        drawn_box(view, vec3(0, 0, 1.0f), vec3(2.0f, 0.01f, 1.0f), 0x050505);
        if (wet) {
            water(view, deep);
        }
        view->picture.camera.eye = vec3(0, deep + high, away);
        view->picture.camera.target = vec3(0, deep, 0);
        take(view, wet ? "raised" : "dry");
        /* From the far side down the middle column to the first dark pixel. */
        u32 y = HEIGHT / 4;
        while (y < HEIGHT && view->rgb[3 * (y * WIDTH + WIDTH / 2) + 1] > 90) {
            y++;
        }
        f64 slope = tan(0.4) * (2.0 * y / HEIGHT - 1.0); /* below the axis */
        f64 axis = atan2((f64)high, (f64)away), down = axis + atan(slope);
        /* Where this ray meets the surface (or its level), z. */
        seen[wet] = (f64)away - (f64)high / tan(down);
    }
    /* Dry: the straight ray through (z = 0, bottom). Wet: solve Snell's law for the same point. */
    f64 low = 0.0, top = (f64)away;
    for (u32 i = 0; i < 60; i++) { /* z of the surface point, from 0 to the eye */
        f64 z = 0.5 * (low + top), air = ((f64)away - z), water_side = z;
        f64 in = air / sqrt(air * air + (f64)(high * high));
        f64 out = water_side / sqrt(water_side * water_side + (f64)(deep * deep));
        *(in > 1.333 * out ? &low : &top) = z;
    }
    f64 straight = (f64)(away * deep) / (f64)(high + deep);
    print_message("dry %.3f (%.3f), wet %.3f (%.3f)\n", seen[0], straight, seen[1], low);
    expect_near("dry", seen[0], straight, 0.02);
    expect_near("wet", seen[1], low, 0.035);
}

/* A crest focuses light below it, a trough spreads it. */
static void test_waves_focus_light(void **state)
{
    (void)state;
    drawn_clear(view);
    f32 *values = water(view, 0.5f);
    view->scene.sky.sun = vec3(0, 1, 0);
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        f32 x = -2.0f + 4.0f * ((f32)(i % SIDE) + 0.5f) / SIDE;
        values[i] += 0.02f * cosf(2.0f * 3.14159265f * x);
    }
    view->picture.camera.eye = vec3(0, 6.0f, 0.001f);
    view->picture.camera.target = vec3_zero();
    take(view, "caustics");
    f32 crest = drawn_light_at(view, vec3(1.0f, 0, 0.6f), 4).y;
    f32 trough = drawn_light_at(view, vec3(0.5f, 0, 0.6f), 4).y;
    print_message("crest %.3f, trough %.3f\n", (f64)crest, (f64)trough);
    assert_true(crest > 1.15f * trough);
}

static void test_heights_between_cells(void **state)
{
    (void)state;
    f32 values[2 * 12] = {0};
    for (u32 i = 0; i < 12; i++) {
        values[i] = 0.3f * (f32)(i % 4) - 0.7f * (f32)(i / 4);
    }
    Grid grid = {.dims = {4, 1, 3},
                 .origin = {1, 2, 3},
                 .spacing = {0.5f, 0, 0.25f},
                 .values = values,
                 .heights = true};
    f32 height;
    for (u32 i = 0; i <= 30; i++) {
        f32 x = 1.0f + 0.05f * (f32)i, z = 3.0f + 0.5f * (f32)i / 30.0f;
        assert_true(water_form_height(&grid, x, z, &height));
        expect_near("height", (f64)height, 2.0 + 0.6 * (f64)(x - 1.0f) - 2.8 * (f64)(z - 3.0f),
                    1e-5);
    }
    assert_false(water_form_height(&grid, 0.99f, 3.1f, &height));
    assert_false(water_form_height(&grid, 1.1f, 3.51f, &height));
    assert_false(water_form_height(&grid, NAN, 3.1f, &height));
    ShownGrid shown = {.grid = grid, .channels = 1};
    WaterTexel texels[12];
    water_form_fill(&shown, texels);
    for (u32 i = 0; i < 12; i++) {
        expect_near("slope x", (f64)texels[i].slope[0], 0.6, 1e-5);
        expect_near("slope z", (f64)texels[i].slope[1], -2.8, 1e-5);
        expect_near("breaking", (f64)texels[i].foam, 1.0, 0.0);
    }
}

/* ---- fog ---- */

/* Light through a slab of uniform fog under a slanting sun: exp(-thickness / cos). */
static void test_light_fades_through_fog(void **state)
{
    (void)state;
    enum {
        N = 40
    };
    static f32 values[N * N * N];
    FogForm form = {0};
    const f32 spacing = 0.05f;
    for (u32 i = 0; i < N * N * N; i++) {
        values[i] = 0.5f;
    }
    ShownGrid shown = {
        .grid = {.dims = {N, N, N}, .spacing = {spacing, spacing, spacing}, .values = values},
        .channels = 1,
        .low = 0.0f,
        .high = 1.0f};
    Appearance appearance = {.clear_m = 0.8f};
    const Vec3 suns[4] = {{0, 1, 0}, {0.3f, 0.9f, 0.1f}, {-0.9f, 0.2f, 0.3f}, {0.1f, 0.2f, -0.95f}};
    f64 off = 0.0;
    u32 places = 0;
    for (u32 s = 0; s < PL_COUNT(suns); s++) {
        Vec3 sun = vec3_normalize_or(suns[s], vec3(0, 1, 0));
        assert_true(fog_form_fill(&form, &shown, NULL, &appearance, sun, 64));
        expect_near("densest", (f64)form.densest, 0.5, 1e-6);
        for (u32 k = 4; k < N; k += 7) {
            /* At a point: the path to the nearest face through which its ray to the sun leaves. */
            const u32 at[3] = {k, (7 * k) % N, (11 * k + 5) % N};
            const f32 way[3] = {sun.x, sun.y, sun.z};
            f32 leave = 1e9f;
            for (u32 a = 0; a < 3; a++) {
                f32 room = way[a] > 0.0f ? (f32)(N - at[a]) - 0.5f : (f32)at[a] + 0.5f;
                leave = f32_min(leave, room * spacing / f32_max(fabsf(way[a]), 1e-6f));
            }
            f64 expected = exp(-0.5 * (f64)leave / 0.8);
            f64 light = form.texels[at[0] + N * (at[1] + N * at[2])].light / 65535.0;
            expect_near("light", light, expected, 0.12); /* slices blur what edges let in */
            off += fabs(light - expected);
            places++;
        }
    }
    expect_at_most("mean error of light", off / places, 0.025);
    fog_form_finish(&form);
}

/* A ball of smoke under the sun is brighter on its sunny side; its opacity follows clear_m at any
 * resolution; hot fog glows red, and hotter fog whiter. */
static void test_smoke_and_fire(void **state)
{
    (void)state;
    static const u32 sides[2] = {24, 48};
    Vec3 lit[2], dark[2];
    for (u32 s = 0; s < 2; s++) {
        u32 n = sides[s];
        f32 gap = 2.0f / (f32)n, *values;
        drawn_clear(view);
        Entity *entity = drawn_grid(view, (u32[3]){n, n, n},
                                    vec3(-1.0f + 0.5f * gap, 0.2f + 0.5f * gap, -1.0f + 0.5f * gap),
                                    vec3(gap, gap, gap), &values);
        assert_non_null(entity);
        drawn_color(entity->appearance.color, 0xC8C8C8);
        drawn_color(entity->appearance.color2, 0xC8C8C8);
        entity->appearance.clear_m = 0.15f;
        for (u32 i = 0; i < n * n * n; i++) {
            Vec3 at =
                vec3(-1.0f + gap * ((f32)(i % n) + 0.5f), -1.0f + gap * ((f32)(i / n % n) + 0.5f),
                     -1.0f + gap * ((f32)(i / n / n) + 0.5f));
            values[i] = f32_clamp(4.0f * (0.8f - vec3_length(at)), 0.0f, 1.0f);
        }
        view->scene.sky.sun = vec3_normalize_or(vec3(0.9f, 0.4f, 0.1f), vec3_zero());
        view->picture.camera.eye = vec3(0, 1.2f, 4.0f);
        view->picture.camera.target = vec3(0, 1.2f, 0);
        take(view, s == 0 ? "smoke24" : "smoke48");
        lit[s] = drawn_light_at(view, vec3(0.5f, 1.25f, 0.0f), 4);
        dark[s] = drawn_light_at(view, vec3(-0.5f, 1.15f, 0.0f), 4);
        print_message("%u: lit %.3f dark %.3f\n", n, (f64)lit[s].y, (f64)dark[s].y);
        assert_true(lit[s].y > 1.25f * dark[s].y);
        for (u32 i = 0; i < n * n * n; i++) {
            f32 x = -1.0f + gap * ((f32)(i % n) + 0.5f);
            values[n * n * n + i] = values[i] * (x > 0.0f ? 0.9f : 0.4f);
            values[i] *= 0.2f;
        }
        entity->appearance.glow = 1.0f;
        drawn_color(entity->appearance.color, 0x202020);
        take(view, s == 0 ? "fire24" : "fire48");
        Vec3 hot = drawn_light_at(view, vec3(0.4f, 1.2f, 0.0f), 4);
        Vec3 warm = drawn_light_at(view, vec3(-0.4f, 1.2f, 0.0f), 4);
        print_message("%u: hot %.2f %.2f %.2f warm %.2f %.2f %.2f\n", n, (f64)hot.x, (f64)hot.y,
                      (f64)hot.z, (f64)warm.x, (f64)warm.y, (f64)warm.z);
        assert_true(hot.x > 2.0f * warm.x && hot.x > 1.3f * hot.y && hot.y > 1.3f * hot.z);
        assert_true(hot.y / hot.x > warm.y / warm.x - 0.4f);
    }
    expect_near("finer, lit", (f64)lit[1].y, (f64)lit[0].y, 0.12 * (f64)lit[0].y);
    expect_near("finer, dark", (f64)dark[1].y, (f64)dark[0].y, 0.2 * (f64)dark[0].y);
}

/* A fog of one density, red on one side and blue on the other, white between: each texel has the
 * mean of its voxels' linear colours, and so are they seen. */
static void test_dyed_fog(void **state)
{
    (void)state;
    enum {
        N = 24,
        CELLS = N * N * N
    };
    const u32 dims[3] = {N, N, N};
    f32 gap = 2.0f / N, *values, *more;
    Vec3 low = vec3(-1.0f + 0.5f * gap, 0.2f + 0.5f * gap, -1.0f + 0.5f * gap);
    drawn_clear(view);
    Entity *other = drawn_grid(view, dims, low, vec3(gap, gap, gap), &more);
    Entity *entity = drawn_grid(view, dims, low, vec3(gap, gap, gap), &values);
    assert_true(entity != NULL && other != NULL);
    other->appearance.kind = APPEARANCE_NONE;
    entity->dye = other->field + 1u;
    drawn_color(entity->appearance.color, 0x00FF00); /* that of no part of it */
    entity->appearance.clear_m = 0.15f;
    for (u32 i = 0; i < CELLS; i++) {
        u32 x = i % N;
        values[i] = 1.0f;
        values[CELLS + i] = x < 15 ? 1.0f : 0.0f;
        more[i] = x >= 9 && x < 15 ? 1.0f : 0.0f;
        more[CELLS + i] = x >= 9 ? 1.0f : 0.0f;
    }
    FogForm form = {0};
    const ShownGrid *grids = view->picture.grids;
    assert_true(fog_form_fill(&form, &grids[entity->field], &grids[other->field],
                              &entity->appearance, vec3(0, 1, 0), N / 2));
    const FogDye *row = form.dyes + form.dims[0] * form.dims[1];
    u32 most = form.texels[form.dims[0] * form.dims[1]].extinction;
    assert_true(form.dyed && row[0].color[0] == most && row[0].color[2] == 0);
    assert_int_equal(row[4].color[1], (most + 1) / 2); /* half red, half white */
    assert_true(row[11].color[0] == 0 && row[11].color[2] == most);
    fog_form_finish(&form);
    view->scene.sky.sun = vec3_normalize_or(vec3(0.1f, 0.4f, 0.9f), vec3_zero());
    view->picture.camera.eye = vec3(0, 1.2f, 4.0f);
    view->picture.camera.target = vec3(0, 1.2f, 0);
    take(view, "dyed");
    Vec3 red = drawn_light_at(view, vec3(-0.7f, 1.2f, 0.9f), 4);
    Vec3 white = drawn_light_at(view, vec3(0.0f, 1.2f, 0.9f), 4);
    Vec3 blue = drawn_light_at(view, vec3(0.7f, 1.2f, 0.9f), 4);
    print_message("red %.2f %.2f %.2f white %.2f %.2f %.2f blue %.2f %.2f %.2f\n", (f64)red.x,
                  (f64)red.y, (f64)red.z, (f64)white.x, (f64)white.y, (f64)white.z, (f64)blue.x,
                  (f64)blue.y, (f64)blue.z);
    assert_true(red.x > 5.0f * red.y && red.x > 3.0f * red.z);
    assert_true(blue.z > 5.0f * blue.y && blue.z > 3.0f * blue.x);
    assert_true(white.y > 0.6f * white.x && white.z > 0.6f * white.x);
}

static int run(const char *name, int (*open)(void **))
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool_for_inspection),
        cmocka_unit_test(test_depth_dims_by_beers_law),
        cmocka_unit_test(test_bottom_is_raised_by_snells_law),
        cmocka_unit_test(test_waves_focus_light),
        cmocka_unit_test(test_smoke_and_fire),
        cmocka_unit_test(test_dyed_fog),
    };
    print_message("%s\n", name);
    return cmocka_run_group_tests(tests, open, view_close);
}

int main(void)
{
    const struct CMUnitTest forms[] = {
        cmocka_unit_test(test_heights_between_cells),
        cmocka_unit_test(test_light_fades_through_fog),
    };
    int failed = cmocka_run_group_tests(forms, NULL, NULL);
    failed += run("fine", fine_open);
    return failed + run("coarse", coarse_open);
}
