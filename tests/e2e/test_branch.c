/*
 * test_branch.c: a recording is taken over at a tick as a live world, with the same bits as if it
 * had never stopped; the branch records on, names its parent, and verifies; wrong times are
 * refused. A running world is rewound, for all, by operators only, and the recording tells.
 */
#include "protocol/record/recording.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCENE "tests/e2e/scenes/drag.json"

static char evening[PATH_BYTES_MAX], again[PATH_BYTES_MAX];

/* The hash after so many ticks, with what else is given. */
static void run(char hash[64], const char *ticks, const char *record, const char *what,
                const char *a, const char *b, const char *c)
{
    Process server;
    remove(record);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--hash",
                  "--ticks", ticks, "--image-every", "4", "--record", record, what, a, b, c, NULL);
    int code = process_wait(&server, 120.0);
    if (code != 0) {
        char *text = file_text(server.err);
        fail_msg("exit code %d: %s", code, text);
    }
    assert_true(process_line(&server, "hash ", hash, 64, 1.0));
}

/* What a program prints; it must end with `code`. */
static char *says(int code, const char *program, const char *a, const char *b, const char *c,
                  const char *d)
{
    Process process;
    process_start(&process, program, a, b, c, d, NULL);
    int got = process_wait(&process, 120.0);
    char *text = file_text(code == 0 ? process.out : process.err);
    if (got != code) {
        fail_msg("exit code %d, expected %d: %s", got, code, text);
    }
    return text;
}

static void expect(char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("expected \"%s\" in: %s", words, text);
    }
    free(text);
}

static void test_goes_on_live(void **state)
{
    PL_UNUSED(state);
    char whole[64], branch[64], second[64];
    run(whole, "600", evening, source_path(SCENE), NULL, NULL, NULL);
    expect(says(0, "plenum-tool", "info", evening, NULL, NULL), "images      2 of the world");
    expect(says(0, "plenum-server", "--verify", evening, NULL, NULL), "verify: 601 ticks equal");
    run(branch, "300", again, evening, "--live", "--at", "5s");
    assert_string_equal(branch, whole);
    expect(says(0, "plenum-tool", "info", again, NULL, NULL), "at tick 300");
    expect(says(0, "plenum-server", "--verify", again, NULL, NULL), "verify: 301 ticks equal");
    /* A branch of the branch, from one tick before its end; the parents are unchanged. */
    char third[PATH_BYTES_MAX];
    snprintf(third, sizeof third, "%s", test_path("third.plrec"));
    run(second, "1", third, again, "--live", "--at", "599");
    assert_string_equal(second, whole);
    expect(says(0, "plenum-tool", "info", third, NULL, NULL), "again.plrec at tick 599");
    expect(says(0, "plenum-server", "--verify", evening, NULL, NULL), "verify: 601 ticks equal");
}

static long bytes_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    fclose(file);
    return bytes;
}

/* Pictures of cloth in each eighth tick: the branch from a tick without one has the same bits. */
static void test_goes_on_between_pictures(void **state)
{
    PL_UNUSED(state);
    char whole[64], branch[64], rated[PATH_BYTES_MAX], third[PATH_BYTES_MAX];
    snprintf(rated, sizeof rated, "%s", test_path("rated.plrec"));
    snprintf(third, sizeof third, "%s", test_path("third.plrec"));
    const char *scene = source_path(SCENE);
    run(whole, "600", rated, scene, "--record-rate", "240", NULL);
    long full = bytes_of(rated);
    expect(says(0, "plenum-tool", "info", rated, NULL, NULL), "version 9");
    run(branch, "600", rated, scene, "--record-rate", "7", NULL);
    assert_string_equal(branch, whole);
    assert_true(bytes_of(rated) < full); /* most are images, and cloth that rests */
    expect(says(0, "plenum-tool", "info", rated, NULL, NULL),
           "pictures    of points and grids every 8 ticks");
    expect(says(0, "plenum-server", "--verify", rated, NULL, NULL), "verify: 601 ticks equal");
    for (u32 i = 0; i < 3; i++) {
        static const char *const from[] = {"101", "304", "599"}, *const rest[] = {"499", "296",
                                                                                  "1"};
        run(branch, rest[i], third, rated, "--live", "--at", from[i]);
        assert_string_equal(branch, whole);
    }
}

/* ---- taking a running world back ---- */

/* A session of 5 s in which a client of that role takes the world back by 1.5 s after 3.1 s; the
 * other one watches. */
static void take_back(const char *record, const char *role, char **report)
{
    Process server, clients[2];
    const char *script = test_path("back.jsonl");
    char reports[2][PATH_BYTES_MAX];
    /* It falls until after the jump. */
    file_write(script, "{\"t\":0.2,\"spawn\":\"ball\",\"position\":[0,80,0]}\n"
                       "{\"t\":3.1,\"control\":\"back\",\"value\":1.5}\n");
    remove(record);
    u32 port = server_start(&server, "--record", record, "--local-role", role,
                            source_path("tests/e2e/scenes/toys.json"), NULL);
    char address[64];
    snprintf(address, sizeof address, "%s", server_address(port));
    for (u32 i = 0; i < 2; i++) {
        snprintf(reports[i], sizeof reports[i], "%s", test_path(i == 0 ? "a.json" : "b.json"));
        process_start(&clients[i], "plenum-client", address, "--headless", "--duration", "5",
                      "--report", reports[i], i == 0 ? "--do" : NULL, script, NULL);
    }
    for (u32 i = 0; i < 2; i++) {
        assert_int_equal(process_wait(&clients[i], 60.0), 0);
    }
    assert_int_equal(process_stop(&server), 0);
    for (u32 i = 0; i < 2; i++) {
        char *text = file_text(reports[i]);
        assert_non_null(text);
        assert_true(json_number(text, NULL, "desyncs", 0) == 0.0);
        free(text);
    }
    *report = file_text(server.err);
}

/* The recorded ticks' hashes; where the world was rewound, to which tick, and how many ticks are
 * recorded. */
typedef struct Session {
    u64 hashes[1000];
    u64 back_at, back_to, ticks;
} Session;

static void read_session(const char *record, Session *session)
{
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(record, &error);
    assert_non_null(reader);
    Frame *frame;
    memset(session, 0, sizeof *session);
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        const RecordingImage *image = recording_reader_image_here(reader);
        if (image != NULL && image->kind == RECORDING_IMAGE_BACK) {
            session->back_at = image->tick;
            session->back_to = image->back_tick;
        }
        assert_true(frame->tick == session->ticks && frame->tick < 1000);
        session->hashes[session->ticks++] = frame->world_hash;
        frame_release(frame);
    }
    recording_reader_destroy(reader);
}

/* Both branches are in the recording: from the tick that the world was rewound to on it does
 * again what it did, bit for bit, since nobody does anything else; and all of it verifies. */
static void test_taken_back_together(void **state)
{
    PL_UNUSED(state);
    Session session;
    char *text;
    const char *record = test_path("back.plrec");
    take_back(record, "operator", &text);
    expect(text, "rewound from tick");
    read_session(record, &session);
    assert_true(session.back_at > 0);
    u64 length = session.back_at - session.back_to;
    assert_in_range(length, 89, 89 + 61); /* 1.5 s, and up to the image before */
    for (u64 i = 0; i < length && session.back_at + i < session.ticks; i++) {
        if (session.hashes[session.back_at + i] != session.hashes[session.back_to + i]) {
            fail_msg("%u ticks behind the jump it is another world", (u32)i);
        }
    }
    assert_true(session.ticks > session.back_at + 20);
    expect(says(0, "plenum-server", "--verify", record, NULL, NULL), "ticks equal");
    expect(says(0, "plenum-tool", "info", record, NULL, NULL), "rewound     1 times");
    /* A branch behind the jump, whose way is from there. */
    Process server;
    char at[24];
    snprintf(at, sizeof at, "%u", (u32)session.back_at + 5);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--hash",
                  "--ticks", "1", "--live", "--at", at, record, NULL);
    assert_int_equal(process_wait(&server, 60.0), 0);
    char want[64], line[64];
    snprintf(want, sizeof want, "hash %u %016llx", (u32)session.back_to + 6,
             (unsigned long long)session.hashes[session.back_at + 6]);
    assert_true(process_line(&server, "hash ", line, 64, 1.0));
    assert_non_null(strstr(line, strrchr(want, ' ')));
}

static void test_not_by_everyone(void **state)
{
    PL_UNUSED(state);
    Session session;
    char *text;
    const char *record = test_path("denied.plrec");
    take_back(record, "participant", &text);
    assert_null(strstr(text, "rewound from"));
    free(text);
    read_session(record, &session);
    assert_int_equal(session.back_at, 0);
}

/* The way leads from the last image. */
static void test_is_short(void **state)
{
    PL_UNUSED(state);
    Process server;
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--fast", "--ticks", "5",
                  "--live", "--at", "500", evening, NULL);
    assert_int_equal(process_wait(&server, 120.0), 0);
    expect(file_text(server.err), "branched at tick 500 after simulating 20 ticks");
}

static void test_refusals(void **state)
{
    PL_UNUSED(state);
    const char *scene = source_path(SCENE);
    expect(says(3, "plenum-server", "--live", "--at", "601", evening), "ticks 0 to 600");
    expect(says(2, "plenum-server", "--at", "soon", evening, NULL), "neither a tick");
    expect(says(2, "plenum-server", "--at", "5", scene, NULL), "is not a recording");
    expect(says(2, "plenum-server", "--live", scene, NULL, NULL), "is not a recording");
    expect(says(2, "plenum-server", "--verify", "--live", evening, NULL), "no --live");
    expect(says(2, "plenum-server", "--record", again, evening, NULL), "continue it with --live");
}

int main(void)
{
    snprintf(evening, sizeof evening, "%s", test_path("evening.plrec"));
    snprintf(again, sizeof again, "%s", test_path("again.plrec"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_on_live),    cmocka_unit_test(test_goes_on_between_pictures),
        cmocka_unit_test(test_is_short),        cmocka_unit_test(test_taken_back_together),
        cmocka_unit_test(test_not_by_everyone), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
