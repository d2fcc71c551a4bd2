/*
 * test_checkpoint.c: a world that is kept on disk continues bit for bit in another process, after
 * an orderly end, after a kill at any moment, and from the previous checkpoint if the newest is
 * damaged; unusable files are refused by name.
 */
#include "shared/base/base.h"
#include "shared/base/clock.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCENE "tests/e2e/scenes/drag.json"

/* Runs a server for so many ticks as fast as it can; copies its line "hash TICK HEX". */
static void run_for(const char *ticks, const char *folder, const char *resume, const char *what,
                    char line[64])
{
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--hash",
                  "--ticks", ticks, what, folder != NULL ? "--checkpoint" : NULL, folder, resume,
                  NULL);
    int code = process_wait(&server, 120.0);
    if (code != 0) {
        char *text = file_text(server.err);
        fail_msg("exit code %d: %s", code, text);
    }
    assert_true(process_line(&server, "hash ", line, 64, 1.0));
}

static void expect_refusal(const char *folder, const char *resume, const char *what, int code,
                           const char *words)
{
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--ticks", "3",
                  what, "--checkpoint", folder, resume, NULL);
    assert_int_equal(process_wait(&server, 60.0), code);
    char *text = file_text(server.err);
    assert_non_null(text);
    if (strstr(text, words) == NULL) {
        fail_msg("expected \"%s\" in: %s", words, text);
    }
    free(text);
}

static const char *file_in(const char *folder, const char *name)
{
    static char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Flips a bit in the middle. */
static void damage(const char *path)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long at = ftell(file) / 2;
    fseek(file, at, SEEK_SET);
    int c = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(c ^ 4, file);
    fclose(file);
}

static void test_goes_on_bit_for_bit(void **state)
{
    PL_UNUSED(state);
    char whole[64], half[64], rest[64], again[64];
    const char *folder = test_path("kept"), *scene = source_path(SCENE);
    run_for("300", NULL, NULL, scene, whole);
    run_for("140", folder, NULL, scene, half);
    assert_string_not_equal(whole, half);
    /* The saved world is itself something to serve. */
    run_for("160", NULL, NULL, file_in(folder, "checkpoint.plworld"), again);
    assert_string_equal(whole, again);
    run_for("160", folder, "--resume", scene, rest);
    assert_string_equal(whole, rest);
    Process tool;
    process_start(&tool, "plenum-tool", "info", file_in(folder, "checkpoint.plworld"), NULL);
    assert_int_equal(process_wait(&tool, 30.0), 0);
    char *text = file_text(tool.out);
    assert_non_null(strstr(text, "tick        300"));
    free(text);
}

static void test_survives_a_kill(void **state)
{
    PL_UNUSED(state);
    const char *folder = test_path("killed"), *scene = source_path(SCENE);
    Process server;
    server_start(&server, "--checkpoint", folder, "--checkpoint-every", "1", scene, NULL);
    for (u32 i = 0; i < 300 && access(file_in(folder, "checkpoint.plworld"), F_OK) != 0; i++) {
        usleep(50000);
    }
    usleep(300000);
    process_signal(&server, SIGKILL);
    assert_int_equal(process_wait(&server, 30.0), 128 + SIGKILL);
    /* What a kill in the middle of writing leaves. */
    file_write(file_in(folder, "checkpoint.plworld.new"), "half a wor");
    char rest[64], whole[64], ticks[24];
    run_for("200", folder, "--resume", scene, rest);
    long tick = strtol(rest + strlen("hash "), NULL, 10);
    snprintf(ticks, sizeof ticks, "%ld", tick);
    assert_true(tick > 200);
    run_for(ticks, NULL, NULL, scene, whole);
    assert_string_equal(whole, rest);
    assert_int_not_equal(access(file_in(folder, "checkpoint.plworld.new"), F_OK), 0);
}

/* What a resumed world records begins with an image of it, from which it verifies. */
static void test_records_on(void **state)
{
    PL_UNUSED(state);
    char line[64];
    const char *folder = test_path("recorded"), *scene = source_path(SCENE);
    const char *recording = test_path("resumed.plrec");
    remove(recording);
    run_for("140", folder, NULL, scene, line);
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--hash",
                  "--ticks", "160", "--record", recording, file_in(folder, "checkpoint.plworld"),
                  NULL);
    assert_int_equal(process_wait(&server, 120.0), 0);
    assert_true(process_line(&server, "hash ", line, 64, 1.0));
    process_start(&server, "plenum-server", "--verify", "--threads", "2", recording, NULL);
    assert_int_equal(process_wait(&server, 120.0), 0);
    char *text = file_text(server.out);
    assert_non_null(strstr(text, "verify: 161 ticks equal"));
    free(text);
    process_start(&server, "plenum-tool", "dump", "--json", recording, NULL);
    assert_int_equal(process_wait(&server, 60.0), 0);
    text = file_text(server.out);
    assert_non_null(strstr(text, strrchr(line, ' ') + 1)); /* the hash */
    free(text);
    process_start(&server, "plenum-tool", "info", recording, NULL);
    assert_int_equal(process_wait(&server, 30.0), 0);
    text = file_text(server.out);
    assert_non_null(strstr(text, "images      1 of the world"));
    free(text);
}

/* The lines of the audit log with a word, and the users in them. */
static u32 audited(const char *path, const char *word, u32 users[4])
{
    char *text = file_text(path), *rest = NULL;
    u32 count = 0;
    assert_non_null(text);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strstr(line, word) != NULL && count < 4) {
            users[count++] = (u32)json_number(line, NULL, "user", 0);
        }
    }
    free(text);
    return count;
}

/* Until so many have joined, however slow the machine is. */
static void wait_for_joins(const char *audit, u32 joins)
{
    u32 users[4], count = 0;
    for (u32 i = 0; i < 1200 && count < joins; i++) {
        clock_sleep_until_ns(clock_now_ns() + 50000000);
        count = audited(audit, "\"join\"", users);
    }
    assert_int_equal(count, joins);
}

/* After a crash a client finds itself again: the same user, whose thing does not leave with it. */
static void test_users_return(void **state)
{
    PL_UNUSED(state);
    Process server, stranger, client;
    const char *folder = test_path("users"), *audit = test_path("audit.jsonl");
    const char *script = test_path("spawn.jsonl"),
               *scene = source_path("tests/e2e/scenes/toys.json");
    char address[64], listen[64];
    file_write(script, "{\"t\":0.3,\"spawn\":\"ball\",\"position\":[0,3,0]}\n");
    u32 port = server_start(&server, "--checkpoint", folder, "--checkpoint-every", "1", "--audit",
                            audit, "--audit-json", scene, NULL);
    snprintf(address, sizeof address, "%s", server_address(port));
    snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
    process_start(&stranger, "plenum-client", address, "--headless", "--duration", "1", NULL);
    assert_int_equal(process_wait(&stranger, 30.0), 0);
    process_start(&client, "plenum-client", address, "--headless", "--duration", "90", "--do",
                  script, NULL);
    wait_for_joins(audit, 2);
    sleep(4); /* spawned, and kept on disk */
    process_signal(&server, SIGKILL);
    assert_int_equal(process_wait(&server, 30.0), 128 + SIGKILL);
    process_start(&server, "plenum-server", "--listen", listen, "--checkpoint", folder, "--resume",
                  "--audit", audit, "--audit-json", scene, NULL);
    wait_for_joins(audit, 3);
    assert_int_equal(process_stop(&client), 0);
    assert_int_equal(process_stop(&server), 0);
    char *text = file_text(server.err);
    if (strstr(text, "users may resume, 1 objects belong to them") == NULL) {
        fail_msg("%s", text);
    }
    free(text);
    u32 users[4] = {0};
    assert_int_equal(audited(audit, "\"join\"", users), 3);
    assert_int_not_equal(users[0], users[1]);
    assert_int_equal(users[2], users[1]);
}

static void test_damage_and_strangers(void **state)
{
    PL_UNUSED(state);
    char line[64], whole[64];
    const char *folder = test_path("odd"), *scene = source_path(SCENE);
    expect_refusal("/proc/plenum", NULL, scene, 3, "/proc/plenum");
    run_for("100", folder, "--resume", scene, line); /* there is none yet */
    run_for("100", folder, "--resume", scene, line);
    expect_refusal(folder, "--resume", source_path("shared/scenes/empty.json"), 3, "another scene");
    damage(file_in(folder, "checkpoint.plworld"));
    run_for("200", folder, "--resume", scene, line); /* from the one before */
    run_for("300", NULL, NULL, scene, whole);
    assert_string_equal(whole, line);
    damage(file_in(folder, "checkpoint.plworld")); /* the one before is damaged already */
    expect_refusal(folder, "--resume", scene, 3, "damaged");
    Process server;
    process_start(&server, "plenum-server", "--resume", scene, NULL);
    assert_int_equal(process_wait(&server, 30.0), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on_bit_for_bit),  cmocka_unit_test(test_survives_a_kill),
        cmocka_unit_test(test_records_on),           cmocka_unit_test(test_users_return),
        cmocka_unit_test(test_damage_and_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
