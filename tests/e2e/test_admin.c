/*
 * test_admin.c: plenum-tool admin, files that survive a restart, and a server at the limits of the
 * system, with the real programs.
 */
#include "shared/base/clock.h"
#include "tests/support/pages.h"
#include "tests/support/process.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE "tests/e2e/scenes/toys.json"

static char *path_of(const char *name)
{
    char *path = strdup(test_path(name));
    assert_non_null(path);
    return path;
}

static void read_file(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, bytes - 1, file)] = '\0';
    fclose(file);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Runs plenum-tool admin; its exit code and output. */
static int admin(const char *console, const char *a, const char *b, const char *c, char *out)
{
    Process tool;
    process_start(&tool, "plenum-tool", "admin", console, a, b, c, NULL);
    int code = process_wait(&tool, 10.0);
    read_file(tool.out, out, 4096);
    return code;
}

/* Waits until the program has logged the words. */
static bool logged(const Process *process, const char *words)
{
    u64 end_ns = clock_now_ns() + 300000000000ull;
    while (clock_now_ns() < end_ns) {
        char *text = file_text(process->err);
        bool found = text != NULL && strstr(text, words) != NULL;
        free(text);
        if (found) {
            return true;
        }
        clock_sleep_until_ns(clock_now_ns() + 10000000);
    }
    return false;
}

static void test_console(void **state)
{
    PL_UNUSED(state);
    Process server;
    char out[4096], config[2048], text[16384];
    char *console = path_of("socket"), *bans = path_of("bans"), *log = path_of("audit");
    char *ini = path_of("server.ini");
    snprintf(config, sizeof config,
             "console = %s\nbans = %s\naudit = %s\naudit-json = yes\nreserved = 3\nqueue = 5\n"
             "max-per-address = 4\njoins-per-minute = 9\nopen-role = viewer\n",
             console, bans, log);
    write_file(ini, config);
    server_start(&server, "--config", ini, source_path(SCENE), NULL);
    assert_int_equal(admin(console, "help", NULL, NULL, out), 0);
    assert_non_null(strstr(out, "votekick"));
    assert_int_equal(admin(console, "ban", "10.1.2.0/24", "2h", out), 0);
    assert_int_equal(admin(console, "mute", "token:17", "forever", out), 0);
    assert_int_equal(admin(console, "kick", "nobody", NULL, out), 1);
    assert_int_equal(admin(console, "nonsense", NULL, NULL, out), 1);
    assert_int_equal(process_stop(&server), 0);
    assert_int_equal(access(console, F_OK), -1);
    assert_int_equal(admin(console, "help", NULL, NULL, out), 4);
    read_file(log, text, sizeof text);
    assert_non_null(strstr(text, "\"what\":\"ban\",\"user\":0,\"name\":\"console uid "));
    assert_non_null(strstr(text, "\"detail\":\"ban 10.1.2.0/24 2h\",\"result\":\"ok\"}\n"));
    assert_non_null(strstr(text, "\"what\":\"kick\""));
    /* The lists survive a restart; a hand-written line takes effect after SIGHUP, an invalid file
     * does not. */
    server_start(&server, "--config", ini, source_path(SCENE), NULL);
    assert_int_equal(admin(console, "bans", NULL, NULL, out), 0);
    assert_non_null(strstr(out, "ban 10.1.2.0/24"));
    assert_non_null(strstr(out, "mute token:17 forever"));
    FILE *file = fopen(bans, "a");
    assert_non_null(file);
    fputs("freeze\t2001:db8::/64\t0\tby hand\t\n", file);
    fclose(file);
    for (u32 i = 0; i < 2; i++) {
        process_signal(&server, SIGHUP);
        assert_true(logged(&server, i == 0 ? "info SIGHUP: " : "error SIGHUP: "));
        assert_int_equal(admin(console, "bans", NULL, NULL, out), 0);
        assert_non_null(strstr(out, "freeze 2001:db8::/64 forever by by hand"));
        assert_non_null(strstr(out, "3 in the list"));
        write_file(bans, "nonsense\n");
    }
    assert_int_equal(process_stop(&server), 0);
    /* A server does not start with a list that it cannot parse. */
    process_start(&server, "plenum-server", "--config", ini, source_path(SCENE), NULL);
    assert_int_equal(process_wait(&server, 10.0), 3);
    free(console);
    free(bans);
    free(log);
    free(ini);
}

/* ---- over the network ---- */

/* Runs a line of the shell in the test's folder, where $TOOL is plenum-tool; its exit code, and
 * what it prints. */
static int shell(const char *line, char *out)
{
    char script[4096];
    Process process;
    snprintf(script, sizeof script, "cd \"%s\"; TOOL=\"%s\"; export XDG_STATE_HOME=\"$PWD\"; %s",
             test_folder(), program_path("plenum-tool"), line);
    process_start(&process, "sh", "-c", script, NULL);
    int code = process_wait(&process, 60.0);
    read_file(process.out, out, 4096);
    return code;
}

static u32 count_of(const char *text, const char *part)
{
    u32 count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void test_remote(void **state)
{
    PL_UNUSED(state);
    Process server;
    char line[1024], out[4096];
    char *key = path_of("town.pub"), *log = path_of("remote_audit");
    assert_int_equal(shell("$TOOL keygen town && "
                           "$TOOL token --key town.key --role admin --name Root root && "
                           "$TOOL token --key town.key --role viewer --name Eve eve && "
                           "$TOOL token --key town.key --role operator --name Ada --client "
                           "$($TOOL identity ada.key) ada",
                           out),
                     0);
    u32 port = server_start(&server, "--key", key, "--audit", log, "--no-lan",
                            source_path("shared/scenes/empty.json"), NULL);
#define ADMIN     "$TOOL admin plenum://127.0.0.1:%u "
#define RUN(text) (snprintf(line, sizeof line, text, port), shell(line, out))
    assert_int_equal(RUN(ADMIN "--token root ban 10.1.2.0/24 2h"), 0);
    assert_int_equal(RUN(ADMIN "--token ada bans --identity ada.key"), 0);
    assert_non_null(strstr(out, "ban 10.1.2.0/24"));
    assert_non_null(strstr(out, "1 in the list"));
    /* The role is that of the token; a refusal is an exit code. */
    assert_int_equal(RUN(ADMIN "--token eve ban 10.1.3.0/24"), 1);
    assert_int_equal(RUN(ADMIN "--token root kick nobody"), 1);
    /* More lines than a user may send at once: all are answered, and the last one decides. */
    assert_int_equal(RUN("yes bans | head -n 14 | " ADMIN "--token root"), 0);
    assert_int_equal(count_of(out, "1 in the list"), 14);
    assert_int_equal(RUN("printf 'users\\n\\nnonsense\\n' | " ADMIN "--token root"), 1);
    assert_int_equal(count_of(out, "\"Root\" admin"), 1);
    /* Another's key, another server's key, no server; what the line cannot carry. */
    assert_int_equal(RUN(ADMIN "--token ada --identity other.key help"), 3);
    snprintf(line, sizeof line, "$TOOL admin plenum://127.0.0.1:%u#%064d --token root help", port,
             0);
    assert_int_equal(shell(line, out), 4);
    assert_int_equal(RUN(ADMIN "--token root say $(printf %%0300d 0)"), 2);
    assert_int_equal(RUN("$TOOL admin socket%u --token root help"), 2);
    assert_int_equal(process_stop(&server), 0);
    assert_int_equal(RUN(ADMIN "--token root help"), 4);
    read_file(log, out, sizeof out);
    assert_non_null(strstr(out, "what=\"ban\" user=1 name=\"Root\" role=\"admin\""));
    assert_non_null(strstr(out, "detail=\"ban 10.1.3.0/24\" result=\"not permitted\""));
#undef RUN
#undef ADMIN
    free(key);
    free(log);
}

/* ---- what runs out ---- */

/* A server below a limit of the shell; returns its HTTP port. */
static u32 limited_start(Process *server, const char *limit, const char *options, const char *scene)
{
    char script[4096], line[128];
    u32 port = free_port();
    snprintf(script, sizeof script,
             "ulimit %s; exec \"%s\" --listen 127.0.0.1:0 --http 127.0.0.1:%u %s \"%s\"", limit,
             program_path("plenum-server"), port, options, source_path(scene));
    process_start(server, "sh", "-c", script, NULL);
    assert_true(process_line(server, "ready ", line, sizeof line, 30.0));
    return port;
}

/* The recording ends at the limit; the server continues and logs it. */
static void test_file_size(void **state)
{
    PL_UNUSED(state);
    Process server;
    char options[PATH_BYTES_MAX + 32];
    snprintf(options, sizeof options, "--record \"%s\"", test_path("large.plrec"));
    u32 port = limited_start(&server, "-f 180", options, "shared/scenes/playground.json");
    assert_true(page_says(port, "/healthz", "the recording could not be written"));
    assert_true(page_says(port, "/metrics", "plenum_write_failing{file=\"recording\"} 1"));
    assert_true(page_says(port, "/metrics", "plenum_healthy 0"));
    assert_true(page_says(port, "/readyz", "200 OK"));
    assert_int_equal(process_stop(&server), 0);
}

static void test_descriptors(void **state)
{
    PL_UNUSED(state);
    enum {
        LEFT = 24
    };
    Process server;
    int fds[LEFT];
    u32 port = limited_start(&server, "-n 24", "--paused", SCENE); /* a slow world would be ill */
    assert_true(page_says(port, "/healthz", "200 OK"));
    /* At most 16 connections from one address are served, so two addresses are used. */
    for (u32 i = 0; i < LEFT; i++) {
        struct sockaddr_in from = {.sin_family = AF_INET};
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((u16)port)};
        from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + i % 2);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(bind(fds[i], (struct sockaddr *)&from, sizeof from), 0);
        assert_int_equal(connect(fds[i], (struct sockaddr *)&to, sizeof to), 0);
    }
    clock_sleep_until_ns(clock_now_ns() + 1500000000);
    for (u32 i = 0; i < LEFT; i++) {
        close(fds[i]);
    }
    assert_true(page_says(port, "/metrics", "plenum_descriptor_shortages_total 1"));
    assert_true(page_says(port, "/healthz", "200 OK"));
    assert_int_equal(process_stop(&server), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_console),
        cmocka_unit_test(test_remote),
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
