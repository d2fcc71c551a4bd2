/*
 * test_lobby.c: many worlds: two servers of one machine announce themselves to a lobby, clients
 * list, filter and join them; the local network finds them without one. The real programs.
 */
#include "shared/base/clock.h"
#include "tests/support/pages.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCENE "shared/scenes/wall.json"

static char page[64 << 10];

/* Runs a program to its end; returns what it printed, to be freed. */
static char *output(const char *script)
{
    Process process;
    process_start(&process, "sh", "-c", script, NULL);
    assert_int_equal(process_wait(&process, 60.0), 0);
    return file_text(process.out);
}

static void tool(const char *arguments)
{
    char script[4096];
    snprintf(script, sizeof script, "cd \"%s\" && \"%s\" %s", test_folder(),
             program_path("plenum-tool"), arguments);
    free(output(script));
}

static u32 port_of(Process *process)
{
    char line[64];
    assert_true(process_line(process, "ready ", line, sizeof line, 30.0));
    return (u32)strtoul(line + 6, NULL, 10);
}

static u32 lobby_start(Process *lobby)
{
    process_start(lobby, "plenum-tool", "lobby", "--listen", "127.0.0.1:0", "--key",
                  test_path("lobby.pub"), NULL);
    return port_of(lobby);
}

/* A world with its own key and token, on all addresses of this machine. */
static u32 world_start(Process *server, const char *name, u32 lobby_port, bool right_token)
{
    char script[4096], key[PATH_BYTES_MAX], token[PATH_BYTES_MAX + 8], url[64];
    snprintf(key, sizeof key, "%s", test_path(name));
    snprintf(token, sizeof token, "%s.token", key);
    snprintf(url, sizeof url, "http://localhost:%u/", lobby_port);
    snprintf(script, sizeof script,
             "token --key %s --lobby --server $(\"%s\" identity \"%s\") \"%s\"",
             right_token ? "lobby.key" : "other.key", program_path("plenum-tool"), key, token);
    tool(script);
    process_start(server, "plenum-server", "--listen", "0.0.0.0:0", "--identity", key,
                  "--world-name", name, "--lobby", url, "--lobby-token", token, source_path(SCENE),
                  NULL);
    return port_of(server);
}

static char *client_list(const char *where, const char *filter)
{
    char script[4096];
    snprintf(script, sizeof script, "\"%s\" --list \"%s\" --filter \"%s\"",
             program_path("plenum-client"), where, filter);
    return output(script);
}

static u32 lines_with(const char *text, const char *part)
{
    u32 count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

/* Joins the first world of a list by its last word. */
static void join_first(const char *list)
{
    char address[256];
    Process client;
    const char *at = strstr(list, "plenum://");
    assert_non_null(at);
    size_t length = strcspn(at, "\n");
    assert_true(length < sizeof address);
    memcpy(address, at, length);
    address[length] = '\0';
    process_start(&client, "plenum-client", "--headless", "--duration", "1", address, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
}

static void test_lobby(void **state)
{
    PL_UNUSED(state);
    Process lobby, hall, garden;
    char url[64];
    u32 port = lobby_start(&lobby);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    (void)world_start(&hall, "hall", port, true);
    (void)world_start(&garden, "garden", port, true);
    assert_true(page_says(port, "/metrics", "plenum_lobby_worlds_listed 2"));
    page_get(port, "/worlds?q=GARD&limit=1", page, sizeof page);
    assert_non_null(strstr(page, "\"name\":\"garden\""));
    assert_non_null(strstr(page, "\"total\":1"));
    page_get(port, "/worlds?after=xyz", page, sizeof page);
    assert_non_null(strstr(page, "400 Bad Request"));
    char *list = client_list(url, "");
    assert_int_equal(lines_with(list, "plenum://"), 2);
    assert_int_equal(lines_with(list, " ms"), 2); /* both answered the client, too */
    free(list);
    list = client_list(url, "hall");
    assert_int_equal(lines_with(list, "plenum://"), 1);
    join_first(list);
    free(list);
    /* Without the lobby; others on this network may have worlds, too. */
    list = client_list("lan", "garden");
    assert_true(lines_with(list, "plenum://") >= 1);
    join_first(list);
    free(list);
    /* Who ends leaves the list at once. */
    assert_int_equal(process_stop(&garden), 0);
    assert_true(page_says(port, "/metrics", "plenum_lobby_worlds 1"));
    /* A lobby that starts again has all worlds again; a world lives without one. */
    assert_int_equal(process_stop(&lobby), 0);
    assert_int_equal(process_stop(&hall), 0);
}

static void test_wrong_token(void **state)
{
    PL_UNUSED(state);
    Process lobby, server;
    u32 port = lobby_start(&lobby);
    (void)world_start(&server, "stranger", port, false);
    assert_true(page_says(port, "/metrics", "plenum_lobby_requests_total{result=\"unsigned\"} 1"));
    page_get(port, "/worlds", page, sizeof page);
    assert_non_null(strstr(page, "\"total\":0"));
    assert_int_equal(process_stop(&server), 0);
    char *said = file_text(server.err);
    assert_non_null(strstr(said, "not signed by this server's key"));
    free(said);
    assert_int_equal(process_stop(&lobby), 0);
}

/* What is wrong is said at the start. */
static void test_usage(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *arguments, *said;
    } rows[] = {
        {"plenum-server --lobby https://x --lobby-token y", "expected http://HOST[:PORT]"},
        {"plenum-server --lobby http://x:0 --lobby-token y", "expected http://HOST[:PORT]"},
        {"plenum-server --lobby http://x", "needs --lobby-token FILE"},
        {"plenum-server --lobby-token y", "need --lobby URL"},
        {"plenum-server --lobby http://x --lobby-token /dev/null", "/dev/null"},
        {"plenum-client --list nowhere", "neither lan nor the URL"},
        {"plenum-client --list http://127.0.0.1:1", "127.0.0.1"},
        {"plenum-client --headless", "too few arguments"},
        {"plenum-client --list lan 127.0.0.1", "joins none"},
        {"plenum-tool lobby", "expected --key FILE"},
        {"plenum-tool lobby --key /nowhere", "/nowhere"},
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        char script[4096];
        Process process;
        size_t name = strcspn(rows[i].arguments, " ");
        char program[32];
        snprintf(program, sizeof program, "%.*s", (int)name, rows[i].arguments);
        bool server = strcmp(program, "plenum-server") == 0;
        snprintf(script, sizeof script, "\"%s\" %s %s \"%s\"", program_path(program),
                 rows[i].arguments + name, server ? "--listen 127.0.0.1:0" : "",
                 server ? source_path(SCENE) : "");
        if (!server) {
            script[strlen(script) - 3] = '\0';
        }
        process_start(&process, "sh", "-c", script, NULL);
        assert_in_range(process_wait(&process, 60.0), 2, 4);
        char *said = file_text(process.err);
        if (strstr(said, rows[i].said) == NULL) {
            fail_msg("%s: %s", rows[i].arguments, said);
        }
        free(said);
    }
}

static int keys_make(void **state)
{
    PL_UNUSED(state);
    tool("keygen lobby");
    tool("keygen other");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lobby),
        cmocka_unit_test(test_wrong_token),
        cmocka_unit_test(test_usage),
    };
    return cmocka_run_group_tests(tests, keys_make, NULL);
}
