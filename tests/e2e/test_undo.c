/*
 * test_undo.c: a user undoes the own last spawn, removal and parameter change, one at a time,
 * latest first; never those of others.
 */
#include "shared/base/base.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What `plenum-tool dump` says of the end of a session in which clients do these scripts (NULL:
 * one client only). */
static char *session(const char *role, const char *first, const char *second)
{
    Process server, clients[2], tool;
    const char *record = test_path("undo.plrec"), *scripts[2] = {first, second};
    remove(record);
    u32 port = server_start(&server, "--record", record, "--local-role", role,
                            source_path("tests/e2e/scenes/toys.json"), NULL);
    for (u32 i = 0; i < 2 && scripts[i] != NULL; i++) {
        const char *path = test_path(i == 0 ? "first.jsonl" : "second.jsonl");
        file_write(path, scripts[i]);
        process_start(&clients[i], "plenum-client", server_address(port), "--headless",
                      "--duration", "3", "--do", path, NULL);
    }
    for (u32 i = 0; i < 2 && scripts[i] != NULL; i++) {
        assert_int_equal(process_wait(&clients[i], 60.0), 0);
    }
    assert_int_equal(process_stop(&server), 0);
    process_start(&tool, "plenum-tool", "dump", "--json", record, NULL);
    assert_int_equal(process_wait(&tool, 60.0), 0);
    return file_text(tool.out);
}

/* Of a session in which nobody does anything, and the ball that one spawns. */
static u32 balls, boxes;
static char ball[64];

#define SPAWN_BALL "{\"t\":0.2,\"spawn\":\"ball\",\"position\":[0,3,0]}\n"

#define SET_GRAVITY "{\"t\":0.6,\"set\":\"gravity\",\"value\":[0,-3,0]}\n"

/* Copies the name of what was spawned last as "KIND...". */
static void name_of(const char *dump, const char *start, char name[64])
{
    const char *at = NULL;
    for (const char *next = dump; (next = strstr(next, start)) != NULL; next++) {
        at = next;
    }
    assert_non_null(at);
    const char *begin = at + strlen("\"name\":\"");
    snprintf(name, 64, "%.*s", (int)strcspn(begin, "\""), begin);
}

static u32 count_of(const char *text, const char *word)
{
    u32 count = 0;
    while ((text = strstr(text, word)) != NULL) {
        count++;
        text++;
    }
    return count;
}

static void test_spawn_and_parameter(void **state)
{
    PL_UNUSED(state);
    char *none = session("operator", "{\"t\":0.3,\"chat\":\"hello\"}\n", NULL);
    char *kept = session("operator", SPAWN_BALL SET_GRAVITY, NULL);
    char *undone = session("operator",
                           SPAWN_BALL SET_GRAVITY
                           "{\"t\":1.2,\"control\":\"undo\"}\n{\"t\":1.5,\"control\":\"undo\"}\n"
                           "{\"t\":1.8,\"control\":\"undo\"}\n", /* nothing left to undo */
                           NULL);
    balls = count_of(none, "\"name\":\"ball");
    boxes = count_of(none, "\"name\":\"box");
    name_of(kept, "\"name\":\"ball", ball);
    assert_int_equal(count_of(kept, "\"name\":\"ball"), balls + 1);
    assert_int_equal(count_of(undone, "\"name\":\"ball"), balls);
    const char *now = strstr(undone, "\"gravity\""), *before = strstr(none, "\"gravity\"");
    const char *set = strstr(kept, "\"gravity\"");
    assert_true(now != NULL && before != NULL && set != NULL);
    assert_memory_not_equal(set, before, strcspn(before, "\n"));
    assert_memory_equal(now, before, strcspn(before, "\n"));
    free(none);
    free(kept);
    free(undone);
}

/* A deleted thing of a prefab comes back where it was, and can then be undone as the spawn that it
 * was. */
static void test_removal(void **state)
{
    PL_UNUSED(state);
    char script[512];
    snprintf(script, sizeof script,
             SPAWN_BALL "{\"t\":1,\"remove\":\"%s\"}\n{\"t\":1.4,\"control\":\"undo\"}\n", ball);
    char *again = session("operator", script, NULL);
    assert_int_equal(count_of(again, "\"name\":\"ball"), balls + 1);
    char other[64];
    name_of(again, "\"name\":\"ball", other);
    assert_string_not_equal(ball, other); /* it was gone */
    free(again);
    snprintf(script + strlen(script), sizeof script - strlen(script),
             "{\"t\":1.8,\"control\":\"undo\"}\n");
    char *undone = session("operator", script, NULL);
    assert_int_equal(count_of(undone, "\"name\":\"ball"), balls);
    free(undone);
}

/* A participant undoes his own spawn only. */
static void test_own_only(void **state)
{
    PL_UNUSED(state);
    char *text = session("participant", SPAWN_BALL "{\"t\":1.6,\"control\":\"undo\"}\n",
                         "{\"t\":0.6,\"spawn\":\"box\",\"position\":[1,4,0]}\n");
    assert_int_equal(count_of(text, "\"name\":\"ball"), balls);
    assert_int_equal(count_of(text, "\"name\":\"box"), boxes + 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spawn_and_parameter),
        cmocka_unit_test(test_removal),
        cmocka_unit_test(test_own_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
