/*
 * draw_rows.c: the time of a picture of 20 000 points, as a liquid, as grains and as billboards, on
 * the available OpenGL (its name is part of the unit), compared with the same picture without them.
 */
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/support/drawn.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    POINTS = 20000,
    PICTURES = 8, /* of a run */
    WARM_UP = 3,
    WIDTH = 1280,
    HEIGHT = 720,
};

static void measure(Bench *bench, Drawn *drawn)
{
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 i = 0; i < WARM_UP + PICTURES; i++) {
            u64 began_ns = clock_now_ns();
            view_draw(drawn->view, &drawn->picture);
            view_wait(drawn->view);
            if (i >= WARM_UP) {
                bench_sample(bench, (f64)(clock_now_ns() - began_ns) * 1e-6);
            }
            view_present(drawn->view);
        }
    }
}

static Drawn *draw_begin(void)
{
    Drawn *drawn = drawn_create(WIDTH, HEIGHT, 0, POINTS);
    if (drawn == NULL) {
        exit(EXIT_CHECK_FAILED);
    }
    drawn->picture.camera.eye = vec3(1.1f, 1.3f, 2.0f);
    drawn->picture.camera.target = vec3(0, 0.25f, 0);
    drawn_box(drawn, vec3(0.3f, 0.5f, 0.2f), vec3(0.12f, 0.12f, 0.12f), 0xE4572E);
    return drawn;
}

static void draw_end(Bench *bench, Drawn *drawn, const char *name)
{
    char unit[160], bare[96];
    drawn->picture.entity_count = drawn->count;
    drawn->picture.entity_version++;
    measure(bench, drawn);
    snprintf(unit, sizeof unit, "ms a picture, %s", view_renderer(drawn->view));
    BenchRow row = {name, drawn->point_count, 1, unit, 1e3 / bench_median(bench), "pictures/s"};
    bench_print(bench, &row);
    drawn->picture.entity_count = drawn->count - 1;
    drawn->picture.entity_version++;
    measure(bench, drawn);
    snprintf(bare, sizeof bare, "%s_without", name);
    row = (BenchRow){bare, 0, 1, unit, 1e3 / bench_median(bench), "pictures/s"};
    bench_print(bench, &row);
    drawn_destroy(drawn);
}

void bench_client_liquid(Bench *bench)
{
    Drawn *drawn = draw_begin();
    Entity *liquid = drawn_points(drawn, APPEARANCE_LIQUID, 0.0165f, 0x9FD8EE, 0x1E5A78);
    liquid->appearance.clear_m = 0.6f;
    drawn_fill(drawn, vec3(-0.8f, 0, -0.5f), vec3(0.8f, 0.45f, 0.5f), 0.5f, 0.05f);
    draw_end(bench, drawn, "client/liquid20k");
}

void bench_client_grains(Bench *bench)
{
    Drawn *drawn = draw_begin();
    drawn_points(drawn, APPEARANCE_GRAINS, 0.0165f, 0xE2C48C, 0xA57B45);
    drawn_fill(drawn, vec3(-0.8f, 0, -0.5f), vec3(0.8f, 0.45f, 0.5f), 0.5f, 0.05f);
    draw_end(bench, drawn, "client/grains20k");
}

void bench_client_sprites(Bench *bench)
{
    Drawn *drawn = draw_begin();
    Entity *sparks = drawn_points(drawn, APPEARANCE_BILLBOARDS, 0.01f, 0xFFC860, 0xE03008);
    sparks->appearance.image = BILLBOARD_SPARK;
    sparks->appearance.glow = 1.0f;
    sparks->appearance.stretch_s = 0.02f;
    for (u32 i = 0; i < POINTS; i++) {
        f32 t = random_range(4, i, 0.0f, 0.8f);
        Vec3 v =
            vec3(random_range(1, i, -1, 1), random_range(2, i, 1, 4), random_range(3, i, -1, 1));
        Vec3 fall = vec3(0.0f, -9.81f * t, 0.0f);
        Vec3 at = vec3_add_scaled(vec3_scale(v, t), 0.5f * t, fall);
        drawn_point(drawn, at, vec3_add(v, fall), t / 0.8f);
    }
    draw_end(bench, drawn, "client/sprites20k");
}
