/*
 * test_probes.c: --probe prints each probe at its rate, as text or as a table, equally from a world
 * and from its recording; an @ in a probe's name is not taken for a rate.
 */
#include "tests/support/process.h"

#include "shared/base/error.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scene_text[] =
    "{\"name\":\"fall\",\"bodies\":[{\"name\":\"ball\",\"position\":[0,100,0],\"shape\":{\"kind\":"
    "\"sphere\",\"radius\":0.1}}],\"probes\":[{\"name\":\"speed\",\"kind\":\"speed\",\"of\":"
    "\"ball\"}"
    ",{\"name\":\"speed@2\",\"kind\":\"speed\",\"of\":\"ball\"},{\"name\":\"a, high\",\"kind\":"
    "\"height\",\"of\":\"ball\"}]}";

static u32 count_of(const char *text, const char *what)
{
    u32 count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        count++;
    }
    return count;
}

/* stdout of 120 ticks of the scene, recorded to `record`, with the options (free). */
static char *run_world(const char *record, const char *const options[6])
{
    Process server;
    char scene[PATH_BYTES_MAX];
    snprintf(scene, sizeof scene, "%s", test_path("fall.json"));
    file_write(scene, scene_text);
    remove(record);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "120", "--fast",
                  "--hash", "--record", record, scene, options[0], options[1], options[2],
                  options[3], options[4], options[5], NULL);
    assert_int_equal(process_wait(&server, 60.0), 0);
    return file_text(server.out);
}

static void test_rates(void **state)
{
    PL_UNUSED(state);
    static const char *const options[6] = {"--probe", "speed@60", "--probe",
                                           "speed@2", "--probe",  "a, high@7"};
    char record[PATH_BYTES_MAX];
    snprintf(record, sizeof record, "%s", test_path("rates.plrec"));
    char *text = run_world(record, options);
    assert_int_equal(count_of(text, " speed "), 121);  /* each tick, and the start */
    assert_int_equal(count_of(text, " speed@2 "), 3);  /* its full name: once a second */
    assert_int_equal(count_of(text, " a, high "), 15); /* 7 a second, and the start */
    /* g t in free fall; the distance is at most g t (t + h) / 2. */
    f64 speed = 0.0, high = 0.0;
    assert_int_equal(sscanf(strstr(text, "probe 120 speed "), "probe 120 speed %lf", &speed), 1);
    assert_int_equal(sscanf(strstr(text, "probe 60 a, high "), "probe 60 a, high %lf", &high), 1);
    assert_float_equal(speed, 9.81 * 2.0, 1e-3);
    assert_float_equal(high, 100.0 - 9.81 / 2.0, 0.05);
    assert_non_null(strstr(text, "ready "));
    assert_non_null(strstr(text, "hash 120 "));
    free(text);
    /* The recording stores it as a field of the frame. */
    Process server;
    char line[128];
    f64 played = 0.0;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--speed", "16", "--probe",
                  "speed@60", record, NULL);
    assert_true(process_line(&server, "probe 120 speed ", line, sizeof line, 30.0));
    assert_int_equal(sscanf(line, "probe 120 speed %lf", &played), 1);
    assert_float_equal(played, speed, 1e-5);
    assert_int_equal(process_stop(&server), 0);
}

static void test_table(void **state)
{
    PL_UNUSED(state);
    static const char *const options[6] = {"--probe", "a, high@2",      "--probe",
                                           "speed",   "--probe-format", "csv"};
    char record[PATH_BYTES_MAX];
    snprintf(record, sizeof record, "%s", test_path("table.plrec"));
    char *text = run_world(record, options);
    char *line = strtok(text, "\n");
    assert_string_equal(line, "tick,time [s],probe,value");
    u32 rows = 0;
    while ((line = strtok(NULL, "\n")) != NULL) {
        unsigned tick;
        char name[16];
        f64 seconds, value;
        assert_int_equal(sscanf(line, "%u,%lf,\"%15[^\"]\",%lf", &tick, &seconds, name, &value), 4);
        assert_float_equal(seconds, tick / 60.0, 1e-6);
        assert_true(strcmp(name, "speed") == 0 || strcmp(name, "a, high") == 0);
        rows++;
    }
    assert_int_equal(rows, 3 + 5);
    free(text);
}

static void expect_refused(const char *probe, const char *expected)
{
    Process server;
    char scene[PATH_BYTES_MAX];
    snprintf(scene, sizeof scene, "%s", test_path("fall.json"));
    file_write(scene, scene_text);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "1", "--probe",
                  probe, scene, NULL);
    int code = process_wait(&server, 20.0);
    char *text = file_text(server.err);
    if ((code != EXIT_USAGE && code != EXIT_INPUT) || strstr(text, expected) == NULL) {
        fail_msg("--probe %s: exit code %d, expected \"%s\" in: %s", probe, code, expected, text);
    }
    free(text);
}

static void test_refused(void **state)
{
    PL_UNUSED(state);
    expect_refused("height", "'height' is not a probe; there are: speed, speed@2, a, high");
    expect_refused("height@2", "'height@2' is not a probe");
    expect_refused("speed@0", "from 1 to 60");
    expect_refused("speed@61", "from 1 to 60");
    expect_refused("speed@x", "from 1 to 60");
    expect_refused("speed@", "from 1 to 60");
    expect_refused("@5", "is not a probe");
    expect_refused("", "one line that is not empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
