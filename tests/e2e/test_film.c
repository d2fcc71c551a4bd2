/*
 * test_film.c: plenum-client --render: pictures of a recording show what was recorded, twice the
 * same; a camera path moves; ffmpeg receives every byte, and its failures are reported.
 */
#include "client/view/view.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WIDTH = 128,
    HEIGHT = 96,
    /* The ball's colour; the scene has no other red. */
    RED_MIN = 60
};

static char recording[PATH_BYTES_MAX];

/* A red ball falls for a second before a grey floor. */
static int record(void **state)
{
    PL_UNUSED(state);
    Process server;
    const char *scene = test_path("fall.json");
    snprintf(recording, sizeof recording, "%s", test_path("fall.plrec"));
    file_write(scene, "{\"name\":\"fall\",\"camera\":{\"eye\":[0,3,12],\"target\":[0,3,0]},"
                      "\"bodies\":[{\"name\":\"ball\",\"position\":[0,5,0],\"color\":[1,0,0],"
                      "\"shape\":{\"kind\":\"sphere\",\"radius\":0.7}}]}");
    process_start(&server, "plenum-server", "--fast", "--ticks", "60", "--listen", "127.0.0.1:0",
                  "--record", recording, scene, NULL);
    assert_int_equal(process_wait(&server, 60.0), 0);
    return 0;
}

/* Runs plenum-client --render with the exit code; *text (may be NULL) is its stderr (free). */
static void render(int code, const char *out, const char *const more[], char **text)
{
    const char *words[8] = {NULL};
    Process client;
    for (u32 i = 0; more != NULL && more[i] != NULL; i++) {
        words[i] = more[i];
    }
    process_start(&client, "plenum-client", recording, "--size", "128x96", "--render", out,
                  words[0], words[1], words[2], words[3], words[4], words[5], words[6], NULL);
    int got = process_wait(&client, 120.0);
    char *said = file_text(client.err);
    if (got != code) {
        fail_msg("%s: exit code %d, expected %d: %s", out, got, code, said);
    }
    if (text != NULL) {
        *text = said;
    } else {
        free(said);
    }
}

/* Mean row of the red pixels, from the top; −1: there are none. */
static f64 red_row(const char *path)
{
    ErrorText error = {0};
    u32 width, height;
    u8 *rgb = png_read(path, &width, &height, &error);
    if (rgb == NULL) {
        fail_msg("%s", error.text);
    }
    assert_true(width == WIDTH && height == HEIGHT);
    f64 sum = 0.0, count = 0.0;
    for (u32 i = 0; i < width * height; i++) {
        bool red = rgb[3 * i] > RED_MIN && rgb[3 * i] > 2 * rgb[3 * i + 1];
        sum += red ? (f64)(i / width) : 0.0;
        count += red;
    }
    free(rgb);
    return count > 0.0 ? sum / count : -1.0;
}

static bool same_files(const char *a, const char *b)
{
    char *x = file_text(a), *y = file_text(b);
    struct stat sizes[2];
    assert_true(x != NULL && y != NULL && stat(a, &sizes[0]) == 0 && stat(b, &sizes[1]) == 0);
    bool same = sizes[0].st_size == sizes[1].st_size && memcmp(x, y, (size_t)sizes[0].st_size) == 0;
    free(x);
    free(y);
    return same;
}

static void test_pictures(void **state)
{
    PL_UNUSED(state);
    const char *pattern = test_path("frames/%03d.png");
    render(0, pattern, (const char *[]){"--fps", "4", NULL}, NULL);
    f64 rows[5];
    for (u32 i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "frames/%03u.png", i);
        rows[i] = red_row(test_path(name));
        assert_true(rows[i] >= 0.0);
        assert_true(i == 0 || rows[i] > rows[i - 1] + 0.5); /* it falls */
    }
    assert_int_equal(access(test_path("frames/005.png"), F_OK), -1);
    /* Faster and faster: the third quarter is longer than the first. */
    assert_true(rows[3] - rows[2] > rows[1] - rows[0]);

    /* The same once more; existing files stay unless --force is given. */
    char *text;
    render(3, pattern, (const char *[]){"--fps", "4", NULL}, &text);
    assert_non_null(strstr(text, "exists already"));
    free(text);
    render(0, test_path("again/%03d.png"), (const char *[]){"--fps", "4", NULL}, NULL);
    assert_true(same_files(test_path("frames/002.png"), test_path("again/002.png")));

    /* A range, at half speed: the same moment is another number. */
    render(0, test_path("slow/%d.png"),
           (const char *[]){"--fps", "4", "--speed", "0.5", "--from", "0.25", NULL}, NULL);
    assert_true(same_files(test_path("frames/002.png"), test_path("slow/2.png")));
    assert_false(same_files(test_path("frames/002.png"), test_path("slow/1.png")));
}

/* From below the ball appears higher in the picture; halfway between it does so by less. */
static void test_camera(void **state)
{
    PL_UNUSED(state);
    const char *path = test_path("camera.jsonl");
    file_write(path, "{\"t\":0,\"look_from\":[0,3,12],\"look_at\":[0,3,0]}\n"
                     "{\"t\":1,\"look_from\":[0,1,12],\"look_at\":[0,1,0]}\n");
    render(0, test_path("path/%d.png"), (const char *[]){"--fps", "4", "--camera", path, NULL},
           NULL);
    assert_true(same_files(test_path("frames/000.png"), test_path("path/0.png")));
    f64 half = red_row(test_path("frames/002.png")) - red_row(test_path("path/2.png"));
    f64 most = red_row(test_path("frames/003.png")) - red_row(test_path("path/3.png"));
    assert_true(half > 1.0 && most > half + 1.0);

    char *text;
    file_write(path, "{\"t\":0,\"chat\":\"cheese\"}\n");
    render(3, test_path("no/%d.png"), (const char *[]){"--camera", path, NULL}, &text);
    assert_non_null(strstr(text, "look_from"));
    free(text);
}

/* A stand-in that stores its input: tests run without ffmpeg. */
static void install(const char *body)
{
    mkdir(test_path("bin"), 0777);
    const char *path = test_path("bin/ffmpeg");
    file_write(path, body);
    assert_int_equal(chmod(path, 0755), 0);
}

static void test_video(void **state)
{
    PL_UNUSED(state);
    char *text, paths[4096];
    const char *old = getenv("PATH"), *video = test_path("film.mp4");
    struct stat found;

    assert_int_equal(setenv("PATH", test_path("nothing"), 1), 0);
    render(1, video, NULL, &text);
    assert_non_null(strstr(text, "ffmpeg"));
    assert_non_null(strstr(text, "not installed"));
    assert_non_null(strstr(text, ".png"));
    free(text);

    snprintf(paths, sizeof paths, "%s:%s", test_path("bin"), old);
    assert_int_equal(setenv("PATH", paths, 1), 0);
    install("#!/bin/sh\nfor last; do :; done\ncat > \"${last#file:}\"\n");
    render(0, video, (const char *[]){"--fps", "8", NULL}, NULL);
    assert_int_equal(stat(video, &found), 0);
    assert_int_equal(found.st_size, 9 * WIDTH * HEIGHT * 3);
    assert_int_equal(access(test_path("film.part.mp4"), F_OK), -1);
    render(3, video, NULL, &text);
    assert_non_null(strstr(text, "--force"));
    free(text);

    /* One that fails leaves no file, and the old film unchanged. */
    install("#!/bin/sh\nfor last; do :; done\necho half > \"${last#file:}\"\nexit 7\n");
    render(3, video, (const char *[]){"--force", NULL}, &text);
    assert_non_null(strstr(text, "exit code 7"));
    free(text);
    assert_int_equal(stat(video, &found), 0);
    assert_int_equal(found.st_size, 9 * WIDTH * HEIGHT * 3);
    assert_int_equal(access(test_path("film.part.mp4"), F_OK), -1);
    assert_int_equal(setenv("PATH", old, 1), 0);
}

static void test_refused(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *out, *more[3], *says;
    } cases[] = {
        {"one.png", {NULL}, "%05d.png"},
        {"%s.png", {NULL}, "one number"},
        {"%d%n.png", {NULL}, "one number"},
        {"%999999999999d.png", {NULL}, "one number"},
        {"film", {NULL}, "its format"},
        {"a%d.png", {"--from", "5", NULL}, "nothing from"},
        {"a%d.png", {"--bots", "2", NULL}, "cannot be combined with"},
    };
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        char *text;
        render(2, test_path(cases[i].out), cases[i].more, &text);
        if (strstr(text, cases[i].says) == NULL) {
            fail_msg("%s: %s", cases[i].out, text);
        }
        free(text);
    }
    Process client;
    process_start(&client, "plenum-client", recording, "--fps", "5", NULL);
    assert_int_equal(process_wait(&client, 60.0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_camera),
        cmocka_unit_test(test_video),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, record, NULL);
}
