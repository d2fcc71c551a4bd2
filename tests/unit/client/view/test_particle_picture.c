/*
 * test_particle_picture.c: liquids, grains and billboards as drawn, at the resolution of stills and
 * at that of windows of CPU renderers: Beer's law, refraction, objects in front of, behind and
 * inside a liquid, edges of the window, decimated points; shadows and tints of grains; light, age
 * and size of sparks. With PLENUM_PICTURES=FOLDER in the environment the pictures are kept for
 * inspection.
 */
#include "shared/math/random.h"
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
    POINTS = 40000
};

static Drawn *view; /* shared by all tests: a process has one OpenGL context */
static bool coarse;

static int fine_open(void **state)
{
    (void)state;
    coarse = false;
    view = drawn_create(WIDTH, HEIGHT, 4, POINTS);
    return view ? 0 : -1;
}

static int coarse_open(void **state)
{
    (void)state;
    coarse = true;
    view = drawn_create(WIDTH, HEIGHT, 0, POINTS);
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

static Drawn *begin(void)
{
    drawn_clear(view);
    return view;
}

static void look_down(Drawn *d, f32 high)
{
    d->picture.camera.eye = vec3(0, high, 0.001f);
    d->picture.camera.target = vec3_zero();
}

/* Clear colourless water. */
static Entity *water(Drawn *d, f32 radius)
{
    Entity *entity = drawn_points(d, APPEARANCE_LIQUID, radius, 0, 0);
    memcpy(entity->appearance.color, (f32[4]){0.4f, 0.7f, 0.85f, 1},
           sizeof entity->appearance.color);
    entity->appearance.clear_m = 0.4f;
    return entity;
}

static f64 part(Vec3 v, u32 k)
{
    return (f64)(k == 0 ? v.x : k == 1 ? v.y : v.z);
}

/* Mean absolute difference of two pictures from row `from` to `to`, and where it is largest. */
static f64 changed(const Drawn *d, const u8 *other, f64 *mean_row)
{
    f64 sum = 0.0, rows = 0.0;
    for (u32 i = 0; i < WIDTH * HEIGHT * 3; i++) {
        f64 off = abs((int)d->rgb[i] - (int)other[i]);
        sum += off;
        rows += off * (f64)(i / 3 / WIDTH);
    }
    *mean_row = sum > 0.0 ? rows / sum : 0.0;
    return sum / (WIDTH * HEIGHT * 3.0);
}

static u8 *copy_of(const Drawn *d)
{
    u8 *copy = malloc((size_t)WIDTH * HEIGHT * 3);
    assert_non_null(copy);
    memcpy(copy, d->rgb, (size_t)WIDTH * HEIGHT * 3);
    return copy;
}

/* Light from the ground through depths d, 2 d and 3 d of a liquid is a + b exp(-s z): differences
 * have the ratio exp(s d), whatever the surface adds. */
static void test_thickness_dims_by_beers_law(void **state)
{
    (void)state;
    Vec3 light[3];
    for (u32 i = 0; i < 3; i++) {
        Drawn *d = begin();
        look_down(d, 3.0f);
        water(d, 0.02f);
        f32 deep = 0.16f * (f32)(i + 1);
        drawn_fill(d, vec3(-0.8f, 0, -0.6f), vec3(0.8f, deep, 0.6f), 0.3f, 0);
        take(d, "pool");
        light[i] = drawn_light_at(d, vec3(0, deep, 0), 60);
    }
    const f64 passes[3] = {0.4, 0.7, 0.85};
    for (u32 k = 0; k < 3; k++) {
        f64 ratio =
            (part(light[0], k) - part(light[1], k)) / (part(light[1], k) - part(light[2], k));
        f64 measured = log(ratio) / 0.16, expected = -log(passes[k]) / 0.4;
        print_message("channel %u: absorption %.3f, Beer %.3f per m\n", k, measured, expected);
        /* Eight bits resolve weak absorption less well. */
        expect_near("absorption", measured, expected, k == 0 ? 0.12 * expected : 0.5);
    }
}

/* Points at random positions in a layer make a flat surface. */
static void test_a_flat_pool_is_flat(void **state)
{
    (void)state;
    Drawn *d = begin();
    look_down(d, 2.0f);
    water(d, 0.02f);
    drawn_fill(d, vec3(-0.7f, 0, -0.5f), vec3(0.7f, 0.24f, 0.5f), 0.5f, 0);
    take(d, "flat");
    f64 sum = 0.0, squares = 0.0;
    u32 count = 0;
    for (u32 y = HEIGHT / 4; y < HEIGHT * 9 / 20; y++) { /* off the ground's lines and the glint */
        for (u32 x = WIDTH * 3 / 10; x < WIDTH * 9 / 20; x++, count++) {
            f64 green = d->rgb[3 * (y * WIDTH + x) + 1];
            sum += green;
            squares += green * green;
        }
    }
    f64 mean = sum / count, deviation = sqrt(squares / count - mean * mean);
    print_message("green %.1f, deviation %.2f\n", mean, deviation);
    expect_at_most("deviation in 255 levels", deviation, 3.0);
}

/* Mean of green along a part of a row, and its deviation from a moving mean over 24 pixels. */
static void row_light(const Drawn *d, u32 y, f64 *mean, f64 *deviation)
{
    enum {
        FROM = 40,
        TO = 280,
        WIDE = 12
    };
    f64 sum = 0.0, squares = 0.0;
    for (u32 x = FROM; x < TO; x++) {
        f64 around = 0.0, own = d->rgb[3 * (y * WIDTH + x) + 1];
        for (u32 k = x - WIDE; k < x + WIDE; k++) {
            around += d->rgb[3 * (y * WIDTH + k) + 1] / (2.0 * WIDE);
        }
        sum += own;
        squares += (own - around) * (own - around);
    }
    *mean = sum / (TO - FROM);
    *deviation = sqrt(squares / (TO - FROM));
}

/* The pool continues beyond the window: its edges look like its middle. */
static void test_no_seam_at_the_window(void **state)
{
    (void)state;
    Drawn *d = begin();
    look_down(d, 1.0f);
    water(d, 0.025f);
    drawn_fill(d, vec3(-1.2f, 0, -0.8f), vec3(1.2f, 0.2f, 0.8f), 0.4f, 0);
    take(d, "seam");
    /* Away from the ground's lines and the glint: the top row beside one within, left of the
     * middle. */
    f64 mean[2], deviation[2];
    row_light(d, 0, &mean[0], &deviation[0]);
    row_light(d, HEIGHT / 4, &mean[1], &deviation[1]);
    print_message("edge %.1f, rough by %.2f; within %.1f, %.2f\n", mean[0], deviation[0], mean[1],
                  deviation[1]);
    expect_near("edge against middle", mean[0], mean[1], 4.0);
    expect_at_most("roughness of the edge", deviation[0], 1.3 * deviation[1] + 0.3);
}

/* A red box on the ground, a floating green one and a blue one in front of the pool, filled with a
 * liquid of this clarity; 0: dry. */
static void take_boxes(Drawn *d, f32 clear_m, const char *name)
{
    drawn_clear(d);
    d->picture.camera.eye = vec3(0, 1.6f, 2.2f);
    d->picture.camera.target = vec3(0, 0.2f, 0);
    drawn_box(d, vec3(0, 0.06f, 0), vec3(0.12f, 0.06f, 0.12f), 0xE02010);
    drawn_box(d, vec3(0.35f, 0.45f, 0.1f), vec3(0.1f, 0.14f, 0.1f), 0x20A020);
    drawn_box(d, vec3(-0.3f, 0.35f, 0.9f), vec3(0.05f, 0.35f, 0.05f), 0x2030D0);
    if (clear_m > 0.0f) {
        water(d, 0.02f)->appearance.clear_m = clear_m;
        drawn_fill(d, vec3(-0.7f, 0, -0.6f), vec3(0.7f, 0.4f, 0.6f), 0.3f, 0);
    }
    take(d, name);
}

/* Number of red pixels, and their mean row. */
static u32 red_pixels(const Drawn *d, f64 *row)
{
    u32 count = 0;
    *row = 0.0;
    for (u32 i = 0; i < WIDTH * HEIGHT; i++) {
        const u8 *c = d->rgb + 3 * i;
        if (c[0] > 1.6f * (f32)c[1] && c[0] > 1.6f * (f32)c[2] && c[0] > 50) {
            count++;
            *row += i / WIDTH;
        }
    }
    *row /= u32_max(count, 1);
    return count;
}

/* The top of the floating box, and the box in front. */
static void must_be_as_dry(const Drawn *d, const u8 *dry)
{
    const Vec3 places[2] = {vec3(0.35f, 0.59f, 0.1f), vec3(-0.3f, 0.5f, 0.95f)};
    for (u32 k = 0; k < 2; k++) {
        const u8 *c = drawn_pixel(d, places[k]);
        for (u32 j = 0; j < 3; j++) {
            assert_true(abs((int)c[j] - (int)dry[c - d->rgb + j]) <= 2);
        }
    }
}

/* The red box appears higher through clear water than without; in an opaque liquid it disappears.
 * Objects in front of or above the liquid are unchanged. */
static void test_objects_behind_in_front_and_inside(void **state)
{
    (void)state;
    f64 row[3];
    u32 red[3];
    Drawn *d = begin();
    take_boxes(d, 0.0f, "dry");
    red[0] = red_pixels(d, &row[0]);
    u8 *dry = copy_of(d);
    take_boxes(d, 0.4f, "within");
    red[1] = red_pixels(d, &row[1]);
    must_be_as_dry(d, dry);
    take_boxes(d, 0.004f, "opaque");
    red[2] = red_pixels(d, &row[2]);
    must_be_as_dry(d, dry);
    print_message("red: %u pixels at row %.1f; through water %u at %.1f; opaque %u\n", red[0],
                  row[0], red[1], row[1], red[2]);
    assert_true(red[1] > red[0] / 3);
    expect_within("rows by which it seems higher", row[0] - row[1], 3.0, 40.0);
    assert_true(red[2] < red[0] / 50);
    free(dry);
}

/* Pixels that differ noticeably from the ground, and their mean light. */
static u32 covered(const Drawn *d, const u8 *bare, Vec3 *mean)
{
    u32 count = 0;
    *mean = vec3_zero();
    for (u32 i = 0; i < WIDTH * HEIGHT; i++) {
        const u8 *c = d->rgb + 3 * i, *g = bare + 3 * i;
        if (abs((int)c[0] - (int)g[0]) + abs((int)c[1] - (int)g[1]) > 12) {
            *mean = vec3_add(*mean, drawn_light(c));
            count++;
        }
    }
    *mean = vec3_scale(*mean, count > 0 ? 1.0f / (f32)count : 0.0f);
    return count;
}

/* With one of 2, 4 or 8 points left, as on narrow links: the same pool. */
static void test_decimated_liquids_look_the_same(void **state)
{
    (void)state;
    u32 area[4];
    Vec3 mean[4];
    Drawn *d = begin();
    d->picture.camera.eye = vec3(0, 1.6f, 2.2f);
    d->picture.camera.target = vec3(0, 0.2f, 0);
    take(d, "bare");
    u8 *bare = copy_of(d);
    water(d, 0.016f);
    drawn_fill(d, vec3(-0.6f, 0, -0.4f), vec3(0.6f, 0.1f, 0.4f), 0.4f, 0);
    for (u32 t = 0; t < 4; t++) {
        /* Slots are in no spatial order: a chunk is spread over the pool. */
        for (u32 i = 0; i < d->point_count && t == 0; i++) {
            u32 other = (u32)(random_u64(3, i) % d->point_count);
            ShownPoint point = d->points[i];
            d->points[i] = d->points[other];
            d->points[other] = point;
        }
        for (u32 i = 0; i < d->point_count; i++) {
            d->points[i].generation = i % 64 % (1u << t) == 0;
        }
        char name[16];
        snprintf(name, sizeof name, "decimated%u", t);
        take(d, name);
        area[t] = covered(d, bare, &mean[t]);
        print_message("1 of %u: %u pixels, light %.3f %.3f %.3f\n", 1u << t, area[t],
                      (f64)mean[t].x, (f64)mean[t].y, (f64)mean[t].z);
        expect_near("area", area[t] / (f64)area[0], 1.0, t < 3 ? 0.06 : 0.12);
        expect_near("light", part(mean[t], 0) / part(mean[0], 0), 1.0, 0.12);
    }
    free(bare);
}

/* Grabbing a liquid does not paint it; on request its points are drawn as balls. */
static void test_grabs_do_not_paint_liquids(void **state)
{
    (void)state;
    Drawn *d = begin();
    Entity *liquid = water(d, 0.03f);
    drawn_fill(d, vec3(-0.5f, 0, -0.4f), vec3(0.5f, 0.3f, 0.4f), 0.3f, 0.03f);
    take(d, "hands");
    u8 *before = copy_of(d);
    f64 row;
    d->picture.hovered = d->picture.held = liquid->id;
    take(d, "hands");
    expect_near("hovered and held", changed(d, before, &row), 0.0, 1e-9);
    d->picture.hovered = d->picture.held = 0;
    d->picture.bare_liquids = true;
    take(d, "bare_liquid");
    expect_within("as points", changed(d, before, &row), 0.5, 100.0);
    d->picture.bare_liquids = false;
    free(before);
}

/* Far away in fog only fog is visible. */
static void test_fog_hides_liquids(void **state)
{
    (void)state;
    Drawn *d = begin();
    d->scene.sky.fog_m = 0.3f;
    water(d, 0.03f);
    drawn_fill(d, vec3(-0.5f, 0, -0.4f), vec3(0.5f, 0.3f, 0.4f), 0.3f, 0);
    take(d, "fog");
    u8 *with = copy_of(d);
    d->count--;
    take(d, "fog");
    f64 row;
    expect_at_most("in fog", changed(d, with, &row), 0.05);
    free(with);
}

/* A heap casts a shadow, is shaded by what is above it, and its grains differ. */
static void test_grains_are_lit(void **state)
{
    (void)state;
    Drawn *d = begin();
    look_down(d, 3.0f);
    take(d, "grains_bare");
    Vec3 sun = d->scene.sky.sun;
    Vec3 shadow = vec3(-sun.x / sun.y * 0.35f - 0.25f, 0, -sun.z / sun.y * 0.35f - 0.2f);
    f64 open = part(drawn_light_at(d, shadow, 1), 1);
    Entity *sand = drawn_points(d, APPEARANCE_GRAINS, 0.012f, 0xE2C48C, 0xA57B45);
    sand->appearance.roughness = 0.9f;
    drawn_fill(d, vec3(-0.3f, 0, -0.3f), vec3(0.3f, 0.4f, 0.3f), 0.4f, 0);
    take(d, "grains");
    f64 shaded = part(drawn_light_at(d, shadow, 1), 1), low = 1e9, high = 0.0;
    u32 sandy = 0;
    expect_within("light in its shadow", shaded / open, 0.1, 0.65);
    for (i32 i = 0; i < 200; i++) {
        Vec3 at = vec3(-0.25f + 0.0025f * (f32)i, 0.4f, 0.1f);
        const u8 *c = drawn_pixel(d, at);
        sandy += c[0] > c[2];
        low = fmin(low, c[1]);
        high = fmax(high, c[1]);
    }
    assert_true(sandy > 190);
    expect_within("tones", high - low, 15.0, 250.0);
    f64 bright = part(drawn_light_at(d, vec3(0, 0.4f, 0), 12), 1);
    Vec3 roof = vec3_add_scaled(vec3(0, 0.4f, 0), 0.6f / sun.y, sun);
    drawn_box(d, roof, vec3(0.25f, 0.02f, 0.25f), 0x808080);
    d->picture.camera.eye = vec3(-1.6f, 2.4f, -0.6f); /* past the edge of the roof */
    take(d, "grains_shaded");
    expect_within("sand in shadow", part(drawn_light_at(d, vec3(0, 0.4f, 0), 6), 1) / bright, 0.1,
                  0.75);
}

static Entity *spark(Drawn *d, f32 age, Vec3 velocity)
{
    Entity *entity = drawn_points(d, APPEARANCE_BILLBOARDS, 0.08f, 0xFFFFFF, 0xFFFFFF);
    entity->appearance.glow = 1.0f;
    drawn_point(d, vec3(0, 0.6f, 0), velocity, age);
    return entity;
}

/* The light that a spark adds to the picture, and its extents in pixels. */
static f64 added(const Drawn *d, const u8 *bare, u32 *wide, u32 *high)
{
    f64 sum = 0.0;
    u32 low[2] = {WIDTH, HEIGHT}, top[2] = {0, 0};
    for (u32 i = 0; i < WIDTH * HEIGHT; i++) {
        f64 more = (f64)d->rgb[3 * i + 1] - (f64)bare[3 * i + 1];
        sum += more;
        if (more > 3.0) {
            low[0] = u32_min(low[0], i % WIDTH);
            top[0] = u32_max(top[0], i % WIDTH);
            low[1] = u32_min(low[1], i / WIDTH);
            top[1] = u32_max(top[1], i / WIDTH);
        }
    }
    *wide = top[0] > low[0] ? top[0] - low[0] : 0;
    *high = top[1] > low[1] ? top[1] - low[1] : 0;
    return sum;
}

static u8 *night(Drawn *d)
{
    drawn_color(d->entities[0].appearance.color, 0x202020);
    drawn_color(d->entities[0].appearance.color2, 0x202020);
    d->picture.camera.eye = vec3(0, 1.8f, 2.4f); /* the ground behind it */
    d->picture.camera.target = vec3(0, 0.3f, 0);
    take(d, "night");
    return copy_of(d);
}

/* Emission brightens, less with age as opacity falls, twice as many sparks twice as much; size
 * grows with age, and length with speed. */
static void test_sparks_glow_age_and_stretch(void **state)
{
    (void)state;
    Drawn *d = begin();
    u8 *bare = night(d);
    f64 sum[3], wides[3];
    u32 wide, high;
    for (u32 i = 0; i < 3; i++) {
        drawn_clear(d);
        free(bare);
        bare = night(d);
        Entity *entity = spark(d, 0.4f * (f32)i, vec3_zero());
        entity->appearance.color2[3] = 0.0f;
        take(d, "spark");
        sum[i] = added(d, bare, &wide, &high);
        assert_true(sum[i] > 500.0 && wide > 4);
    }
    expect_near("at 40 % of its life", sum[1] / sum[0], 0.6, 0.06);
    expect_near("at 80 % of its life", sum[2] / sum[0], 0.2, 0.06);
    for (u32 i = 0; i < 3; i++) {
        drawn_clear(d);
        free(bare);
        bare = night(d);
        Entity *entity = spark(d, 0.5f * (f32)i, vec3_zero());
        entity->appearance.growth = 2.0f;
        take(d, "spark");
        (void)added(d, bare, &wide, &high);
        wides[i] = wide;
        entity->appearance.fade_in = 0.5f;
        take(d, "spark");
        f64 faded = added(d, bare, &wide, &high);
        assert_true(i == 0 ? faded < 1.0 : faded > 500.0);
    }
    expect_near("size at half its life", wides[1] / wides[0], 2.0, 0.2);
    expect_near("size at its end", wides[2] / wides[0], 3.0, 0.3);
    drawn_clear(d);
    free(bare);
    bare = night(d);
    Entity *entity = spark(d, 0.0f, vec3(-4, 0, 0));
    entity->appearance.stretch_s = 0.1f;
    take(d, "streak");
    (void)added(d, bare, &wide, &high);
    expect_within("length of a streak over its width", (f64)wide / high, 2.6, 4.0);
    free(bare);
}

/* Smoke covers a bright background; nearer puffs cover farther ones in whatever order they arrive;
 * objects in front are not covered. */
static void test_smoke_covers_from_far_to_near(void **state)
{
    (void)state;
    Drawn *d = begin();
    d->picture.camera.eye = vec3(0, 0.5f, 3);
    d->picture.camera.target = vec3(0, 0.5f, 0);
    for (u32 turned = 0; turned < 2; turned++) {
        drawn_clear(d);
        d->picture.camera.eye = vec3(0, 0.5f, 3);
        d->picture.camera.target = vec3(0, 0.5f, 0);
        drawn_box(d, vec3(0.16f, 0.5f, 0.6f), vec3(0.03f, 0.4f, 0.03f), 0x20A020);
        for (u32 k = 0; k < 2; k++) {
            bool red = (k == 0) == (turned == 0); /* red is nearer */
            drawn_points(d, APPEARANCE_BILLBOARDS, 0.3f, red ? 0xE01010 : 0x1010E0,
                         red ? 0xE01010 : 0x1010E0);
            for (u32 i = 0; i < 6; i++) {
                drawn_point(d, vec3(0, 0.5f, red ? 0.2f : -0.2f), vec3_zero(), 0);
            }
        }
        take(d, "smoke");
        const u8 *c = drawn_pixel(d, vec3(0, 0.5f, 0));
        assert_true(c[0] > c[2] + 60);
        c = drawn_pixel(d, vec3(0.16f, 0.5f, 0.63f));
        assert_true(c[1] > c[0] + 30 && c[1] > c[2] + 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thickness_dims_by_beers_law),
        cmocka_unit_test(test_a_flat_pool_is_flat),
        cmocka_unit_test(test_no_seam_at_the_window),
        cmocka_unit_test(test_objects_behind_in_front_and_inside),
        cmocka_unit_test(test_decimated_liquids_look_the_same),
        cmocka_unit_test(test_grabs_do_not_paint_liquids),
        cmocka_unit_test(test_fog_hides_liquids),
        cmocka_unit_test(test_grains_are_lit),
        cmocka_unit_test(test_sparks_glow_age_and_stretch),
        cmocka_unit_test(test_smoke_covers_from_far_to_near),
    };
    int fine = cmocka_run_group_tests_name("stills", tests, fine_open, view_close);
    int rough = cmocka_run_group_tests_name("windows", tests, coarse_open, view_close);
    return fine + rough;
}
