/*
 * test_command_line.c: the contract of the command lines: exit codes, --ticks --fast --hash
 * --probe, clear errors, SIGTERM.
 */
#include "shared/base/version.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Runs to the end and returns stdout or stderr (free). */
static char *text_of(Process *process, int expected_code, bool err, f64 seconds)
{
    assert_int_equal(process_wait(process, seconds), expected_code);
    char *text = file_text(err ? process->err : process->out);
    assert_non_null(text);
    return text;
}

static void test_hash_and_probe(void **state)
{
    PL_UNUSED(state);
    char *hashes[2];
    const char *threads[2] = {"1", "2"};
    for (u32 i = 0; i < 2; i++) {
        Process server;
        process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "240",
                      "--fast", "--hash", "--threads", threads[i],
                      source_path("tests/e2e/scenes/drag.json"), NULL);
        hashes[i] = text_of(&server, 0, false, 120.0);
        assert_non_null(strstr(hashes[i], "hash 240 "));
    }
    assert_string_equal(strstr(hashes[0], "hash 240 "), strstr(hashes[1], "hash 240 "));
    free(hashes[0]);
    free(hashes[1]);
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "180", "--fast",
                  "--probe", "kinetic energy", source_path("tests/e2e/scenes/toys.json"), NULL);
    char *text = text_of(&server, 0, false, 120.0);
    assert_non_null(strstr(text, "probe 60 kinetic energy "));
    assert_non_null(strstr(text, "probe 180 kinetic energy "));
    free(text);
}

static void test_scene_errors(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"{\"name\":\"x\",\n\"bodies\":[{\"name\":\"b\",\"mas\":1}]}", "mas"},
        {"{\"name\":\"x\",\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1},"
         "\"mass\":0}]}",
         "mass"},
        {"{\"name\":\"x\",\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":1},"
         "\"material\":\"gold\"}]}",
         "gold"},
        {"{\"name\":\"x\",\"bodies\":[{\"name\":\"b\",\"shape\":{\"kind\":\"sphere\",\"radius\":"
         "1e30}}]}",
         "radius"},
        {"{\"name\":\"x\"", "scene"},
        {"", "scene"},
    };
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        char name[32];
        snprintf(name, sizeof name, "scene-%u.json", i);
        const char *path = test_path(name);
        file_write(path, cases[i].json);
        Process server;
        process_start(&server, "plenum-server", path, NULL);
        char *text = text_of(&server, 3, true, 20.0);
        if (strstr(text, cases[i].expected) == NULL || strstr(text, name) == NULL) {
            fail_msg("case %u: expected the file and \"%s\" in: %s", i, cases[i].expected, text);
        }
        free(text);
        process_start(&server, "plenum-tool", "check", path, NULL);
        assert_int_equal(process_wait(&server, 20.0), 3);
    }
    Process server;
    process_start(&server, "plenum-server", "/does/not/exist.json", NULL);
    assert_int_equal(process_wait(&server, 20.0), 3);
}

/* The limit is logged at the start; a scene estimated to need more is refused, with the
 * estimate. */
static void test_memory(void **state)
{
    PL_UNUSED(state);
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--memory", "16",
                  source_path("shared/scenes/boxes1000.json"), NULL);
    char *text = text_of(&server, 3, true, 20.0);
    assert_non_null(strstr(text, "MiB of memory, the limit is 16"));
    assert_non_null(strstr(text, "--memory"));
    free(text);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--memory", "300", "--ticks",
                  "1", source_path("shared/scenes/boxes1000.json"), NULL);
    text = text_of(&server, 0, true, 20.0);
    assert_non_null(strstr(text, "of at most 300 MiB"));
    free(text);
}

static void test_usage(void **state)
{
    PL_UNUSED(state);
    static const char *const programs[] = {"plenum-server", "plenum-client", "plenum-tool",
                                           "plenum-bench"};
    for (u32 i = 0; i < PL_COUNT(programs); i++) {
        Process process;
        process_start(&process, programs[i], "--no-such-option", NULL);
        assert_int_equal(process_wait(&process, 20.0), 2);
        process_start(&process, programs[i], "--help", NULL);
        char *text = text_of(&process, 0, false, 20.0);
        assert_non_null(strstr(text, programs[i]));
        free(text);
        process_start(&process, programs[i], "--version", NULL);
        text = text_of(&process, 0, false, 20.0);
        assert_non_null(strstr(text, PLENUM_VERSION));
        free(text);
    }
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

/* Options of every kind can come from a file; the command line takes precedence. Files that are
 * invalid, that exist already, or that lie outside the scene's folder are refused with a text. */
static void test_files(void **state)
{
    PL_UNUSED(state);
    char folder[] = "/tmp/plenum-files-XXXXXX", config[64], record[64], numbered[64], scene[64],
         fifo[64];
    char text[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(config, sizeof config, "%s/server.ini", folder);
    snprintf(record, sizeof record, "%s/a.plrec", folder);
    snprintf(numbered, sizeof numbered, "%s/a-2.plrec", folder);
    snprintf(scene, sizeof scene, "%s/mesh.json", folder);
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(text, sizeof text,
             "[plenum-server]\nlisten = 127.0.0.1:0\nrecord = %s\nticks = 3\nfast = yes\n"
             "speed = 2\nhash = yes\nlog = debug\n",
             record);
    write_text(config, text);
    Process server;
    const char *empty = source_path("shared/scenes/empty.json");
    process_start(&server, "plenum-server", "--config", config, "--ticks=5", empty, NULL);
    char *said = text_of(&server, 0, false, 20.0);
    assert_non_null(strstr(said, "hash 5 "));
    free(said);
    assert_int_equal(access(record, R_OK), 0);
    /* Without --force a recording is never overwritten. */
    process_start(&server, "plenum-server", "-c", config, empty, NULL);
    said = text_of(&server, 0, true, 20.0);
    assert_non_null(strstr(said, "a-2.plrec"));
    free(said);
    assert_int_equal(access(numbered, R_OK), 0);
    process_start(&server, "plenum-server", "-c", config, "--force", "--ticks=9", empty, NULL);
    said = text_of(&server, 0, true, 20.0);
    assert_non_null(strstr(said, "replaced"));
    free(said);
    struct stat longer, shorter;
    assert_int_equal(stat(record, &longer) | stat(numbered, &shorter), 0);
    assert_true(longer.st_size > shorter.st_size);
    write_text(config, "config = other.ini\n");
    process_start(&server, "plenum-server", "-c", config, empty, NULL);
    assert_int_equal(process_wait(&server, 20.0), 2);

    assert_int_equal(mkfifo(fifo, 0600), 0);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", fifo, NULL);
    said = text_of(&server, 3, true, 20.0);
    assert_non_null(strstr(said, "FIFO"));
    free(said);
    char *mesh = realpath(source_path("shared/scenes/assets/rabbit.obj"), NULL);
    assert_non_null(mesh);
    snprintf(text, sizeof text,
             "{\"name\": \"m\", \"bodies\": [{\"name\": \"it\", \"motion\": \"static\", \"shape\": "
             "{\"kind\": \"mesh\", "
             "\"file\": \"%s\"}}]}",
             mesh);
    free(mesh);
    write_text(scene, text);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "1", scene, NULL);
    said = text_of(&server, 3, true, 20.0);
    assert_non_null(strstr(said, "--allow-outside"));
    free(said);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "1",
                  "--allow-outside", scene, NULL);
    assert_int_equal(process_wait(&server, 20.0), 0);
    snprintf(text, sizeof text, "rm -rf '%s'", folder);
    assert_int_equal(system(text), 0);
}

static void test_network_errors(void **state)
{
    PL_UNUSED(state);
    Process first, second, client;
    u32 port = server_start(&first, source_path("shared/scenes/empty.json"), NULL);
    process_start(&second, "plenum-server", "--listen", server_address(port),
                  source_path("shared/scenes/empty.json"), NULL);
    assert_int_equal(process_wait(&second, 20.0), 4);
    assert_int_equal(process_stop(&first), 0); /* SIGTERM drains and exits 0 */
    process_start(&client, "plenum-client", server_address(port), "--headless", "--duration", "1",
                  NULL);
    assert_int_equal(process_wait(&client, 60.0), 4); /* the server is gone */
}

/* The codec measures a trace of points for any delay of the acknowledgements: the newest states
 * that the receiver has may be one frame apart. */
static void test_codec_delays(void **state)
{
    PL_UNUSED(state);
    enum {
        FRAMES = 40,
        POINTS = 100
    };
    const char *path = test_path("points.bin");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (u32 f = 0; f < FRAMES; f++) {
        for (u32 i = 0; i < POINTS; i++) {
            f32 at[3] = {0.03f * (f32)(i % 10), 0.001f * (f32)(f * f), 0.03f * (f32)(i / 10)};
            assert_int_equal(fwrite(at, sizeof at, 1, file), 1);
        }
    }
    fclose(file);
    static const char *const delays[] = {"1", "2", "3", "10"};
    for (u32 i = 0; i < PL_COUNT(delays); i++) {
        Process bench;
        process_start(&bench, "plenum-bench", "codec", "--field", "points", "--trace", path,
                      "--points", "100", "--ack-delay", delays[i], NULL);
        char *text = text_of(&bench, 0, false, 60.0);
        assert_non_null(strstr(text, "\"wrong\":0"));
        free(text);
    }
}

/* The client starts a private server for a scene file, which ends with the client. */
static void test_private_server(void **state)
{
    PL_UNUSED(state);
    Process client;
    const char *report = test_path("private.json");
    process_start(&client, "plenum-client", source_path("tests/e2e/scenes/drag.json"), "--headless",
                  "--duration", "2", "--report", report, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    char *text = file_text(report);
    assert_non_null(text);
    assert_true(json_number(text, NULL, "connected", 0) == 1.0);
    assert_true(json_number(text, NULL, "snapshots", 0) > 20.0);
    free(text);
}

static void test_bots(void **state)
{
    PL_UNUSED(state);
    Process server, bots;
    u32 port = server_start(&server, source_path("tests/e2e/scenes/drag.json"), NULL);
    process_start(&bots, "plenum-client", server_address(port), "--bots", "8", "--duration", "4",
                  "--report", test_path("bots.json"), NULL);
    assert_int_equal(process_wait(&bots, 60.0), 0);
    assert_int_equal(process_stop(&server), 0);
    char *text = file_text(test_path("bots.json"));
    assert_non_null(text);
    assert_true(json_number(text, NULL, "connected", 0) == 8.0);
    assert_true(json_number(text, NULL, "desyncs", 0) == 0.0);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_and_probe), cmocka_unit_test(test_scene_errors),
        cmocka_unit_test(test_usage),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_files),          cmocka_unit_test(test_network_errors),
        cmocka_unit_test(test_private_server), cmocka_unit_test(test_bots),
        cmocka_unit_test(test_codec_delays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
