/*
 * test_observe.c: observability of a server: the page of metrics, its use in deploy/observe, and
 * recovery of health. With the real programs.
 */
#include "tests/support/pages.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE "shared/scenes/playground.json"

static char page[128 << 10];

/* A server with pages and a recording; returns their port, and that of the world. */
static u32 observed_start(Process *server, u32 *world_port, const char *option, const char *value)
{
    char http[64], recording[PATH_BYTES_MAX];
    u32 port = free_port();
    snprintf(http, sizeof http, "127.0.0.1:%u", port);
    snprintf(recording, sizeof recording, "%s", test_path("observed.plrec"));
    *world_port = server_start(server, "--http", http, "--record", recording, option, value,
                               source_path(SCENE), NULL);
    return port;
}

static void save_page(u32 port, const char *path)
{
    page_get(port, "/metrics", page, sizeof page);
    const char *body = strstr(page, "\r\n\r\n");
    assert_non_null(body);
    file_write(path, body + 4);
}

/* The page of a lobby. */
static void save_lobby(const char *path)
{
    Process lobby, tool;
    char key[PATH_BYTES_MAX], line[64];
    snprintf(key, sizeof key, "%s", test_path("lobby"));
    process_start(&tool, "plenum-tool", "keygen", key, NULL);
    assert_int_equal(process_wait(&tool, 30.0), 0);
    snprintf(key, sizeof key, "%s", test_path("lobby.pub"));
    process_start(&lobby, "plenum-tool", "lobby", "--listen", "127.0.0.1:0", "--key", key, NULL);
    assert_true(process_line(&lobby, "ready ", line, sizeof line, 30.0));
    save_page((u32)strtoul(line + 6, NULL, 10), path);
    assert_int_equal(process_stop(&lobby), 0);
}

static void test_metrics(void **state)
{
    PL_UNUSED(state);
    Process server, client, python;
    u32 world_port, port = observed_start(&server, &world_port, "--threads", "1");
    char saved[PATH_BYTES_MAX], lobby[PATH_BYTES_MAX];
    snprintf(saved, sizeof saved, "%s", test_path("metrics.txt"));
    snprintf(lobby, sizeof lobby, "%s", test_path("lobby.txt"));
    process_start(&client, "plenum-client", "--headless", "--duration", "4",
                  server_address(world_port), NULL);
    assert_true(page_says(port, "/metrics", "plenum_join_seconds_count 1"));
    assert_int_equal(process_wait(&client, 30.0), 0);
    assert_true(page_says(port, "/metrics", "plenum_sessions_ended_total{reason=\"left\"} 1"));
    save_page(port, saved);
    save_lobby(lobby);
    process_start(&python, "python3", "-B", source_path("tests/e2e/check_observe.py"), saved, lobby,
                  NULL);
    int code = process_wait(&python, 60.0);
    char *said = file_text(python.err);
    if (code != 0) {
        print_message("%s", said);
    }
    free(said);
    assert_int_equal(code, 0);
    assert_true(page_says(port, "/livez", "200 OK"));
    assert_int_equal(process_stop(&server), 0);
}

/* A list that could not be saved makes the server ill until it could be, and no longer. Paused: a
 * busy machine is no reason to be ill. */
static void test_recovery(void **state)
{
    PL_UNUSED(state);
    Process server, tool;
    char folder[PATH_BYTES_MAX], config[PATH_BYTES_MAX], text[4 * PATH_BYTES_MAX];
    u32 world_port;
    snprintf(folder, sizeof folder, "%s", test_path("lists"));
    snprintf(config, sizeof config, "%s", test_path("observed.ini"));
    snprintf(text, sizeof text, "bans = %s/bans\nconsole = %s\npaused = yes\n", folder,
             test_path("console"));
    file_write(config, text);
    assert_int_equal(mkdir(folder, 0700), 0);
    u32 port = observed_start(&server, &world_port, "--config", config);
    assert_true(page_says(port, "/healthz", "200 OK"));
    assert_int_equal(rmdir(folder), 0);
    process_start(&tool, "plenum-tool", "admin", test_path("console"), "ban", "10.0.0.0/8", NULL);
    (void)process_wait(&tool, 10.0);
    assert_true(page_says(port, "/healthz", "503"));
    assert_true(page_says(port, "/healthz", "the list of bans could not be written"));
    assert_true(page_says(port, "/metrics", "plenum_write_failing{file=\"bans\"} 1"));
    assert_true(page_says(port, "/livez", "200 OK"));
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_true(page_says(port, "/healthz", "200 OK"));
    assert_true(page_says(port, "/metrics", "plenum_write_failing{file=\"bans\"} 0"));
    assert_int_equal(process_stop(&server), 0);
    snprintf(text, sizeof text, "%s/bans", folder);
    char *bans = file_text(text);
    assert_non_null(bans);
    assert_non_null(strstr(bans, "10.0.0.0/8"));
    free(bans);
}

/* A trace is JSON, and each tick holds its phases; the program has the probes. */
static void test_trace(void **state)
{
    PL_UNUSED(state);
    static const char check[] =
        "import json, sys\n"
        "events = json.load(open(sys.argv[1]))\n"
        "spans = [e for e in events if e['ph'] == 'X']\n"
        "ticks = [e for e in spans if e['name'] == 'tick']\n"
        "assert [e['args']['number'] for e in ticks] == list(range(1, 91)), len(ticks)\n"
        "names = {'inputs', 'contacts', 'substeps', 'finish', 'frame', 'record', 'checkpoint'}\n"
        "phases = [e for e in spans if e['name'] in names]\n"
        "for t in ticks:\n"
        "    begin, end = t['ts'] - 0.01, t['ts'] + t['dur'] + 0.01\n"
        "    inside = {e['name'] for e in phases\n"
        "              if begin <= e['ts'] and e['ts'] + e['dur'] <= end}\n"
        "    assert inside == names, (t, inside)\n"
        "assert any(e['name'] == 'turn' for e in spans)\n"
        "elf = open(sys.argv[2], 'rb').read()\n"
        "for name in ('tick', 'tick_phase', 'snapshot', 'join', 'leave'):\n"
        "    assert b'plenum\\0' + name.encode() + b'\\0' in elf, name\n";
    Process server, python;
    char trace[PATH_BYTES_MAX];
    snprintf(trace, sizeof trace, "%s", test_path("trace.json"));
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--ticks", "90", "--trace",
                  trace, source_path(SCENE), NULL);
    assert_int_equal(process_wait(&server, 60.0), 0);
    process_start(&python, "python3", "-c", check, trace, program_path("plenum-server"), NULL);
    int code = process_wait(&python, 30.0);
    char *said = file_text(python.err);
    if (code != 0) {
        print_message("%s", said);
    }
    free(said);
    assert_int_equal(code, 0);
    /* An existing file is kept. */
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--trace", trace,
                  source_path(SCENE), NULL);
    assert_int_equal(process_wait(&server, 60.0), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
