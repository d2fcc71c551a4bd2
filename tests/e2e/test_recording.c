/*
 * test_recording.c: recordings can be replayed and verified, and survive a killed server.
 */
#include "protocol/record/recording.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_play(const char *path)
{
    file_write(path, "{\"t\":0.3,\"grab\":\"box-1\"}\n"
                     "{\"t\":0.5,\"move\":[-1,2,1]}\n"
                     "{\"t\":1.5,\"move\":[1,1.5,0]}\n"
                     "{\"t\":2.5,\"release\":true}\n"
                     "{\"t\":2.5,\"chat\":\"look\"}\n"
                     "{\"t\":2.6,\"push\":\"ball\",\"impulse\":[-2000,0,1000]}\n"
                     "{\"t\":2.8,\"set\":\"gravity\",\"value\":[0,-5,0]}\n");
}

/* Records a short session with inputs; ends the server with the signal `number`. */
static void record(const char *recording, int number)
{
    Process server, client;
    const char *script = test_path("play.jsonl");
    write_play(script);
    remove(recording); /* of an earlier run */
    u32 port = server_start(&server, "--record", recording,
                            source_path("tests/e2e/scenes/drag.json"), NULL);
    process_start(&client, "plenum-client", server_address(port), "--headless", "--duration", "5",
                  "--do", script, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    process_signal(&server, number);
    int code = process_wait(&server, 30.0);
    assert_int_equal(code, number == SIGKILL ? 128 + SIGKILL : 0);
}

/* The exit code of --verify; *text (may be NULL) is its output (free). */
static int verify(const char *recording, char **text)
{
    Process server;
    process_start(&server, "plenum-server", "--verify", recording, NULL);
    int code = process_wait(&server, 120.0);
    if (text != NULL) {
        *text = file_text(server.out);
    }
    return code;
}

static f64 replay_ticks(const char *recording)
{
    Process server, client;
    const char *report = test_path("replay.json");
    u32 port = server_start(&server, recording, NULL);
    process_start(&client, "plenum-client", server_address(port), "--headless", "--duration", "3",
                  "--report", report, NULL);
    assert_int_equal(process_wait(&client, 60.0), 0);
    assert_int_equal(process_stop(&server), 0);
    char *text = file_text(report);
    assert_non_null(text);
    assert_true(json_number(text, NULL, "desyncs", 0) == 0.0);
    assert_true(isfinite(json_number(text, "\"box-1\"", "position", 0)));
    f64 snapshots = json_number(text, NULL, "snapshots", 0);
    free(text);
    return snapshots;
}

/* Output of `plenum-tool dump` for a file (free), form "--json" or NULL; fails the test if its exit
 * code differs. */
static char *dump(const char *file, const char *tick, const char *form, int code)
{
    Process tool;
    process_start(&tool, "plenum-tool", "dump", "--tick", tick, file, form, NULL);
    int got = process_wait(&tool, 60.0);
    if (got != code) {
        fail_msg("dump --tick %s of %s: exit code %d, expected %d", tick, file, got, code);
    }
    char *text = file_text(code == EXIT_OK ? tool.out : tool.err);
    assert_non_null(text);
    return text;
}

static u32 lines_of(const char *text)
{
    u32 count = 0;
    for (const char *c = text; *c != 0; c++) {
        count += *c == '\n';
    }
    return count;
}

/* The dumped world equals the recorded one: its hash, and the position of box-1. */
static void dump_agrees(const char *recording)
{
    ErrorText error;
    RecordingReader *reader = recording_reader_create(recording, &error);
    assert_non_null(reader);
    Frame *frame;
    assert_int_equal(recording_reader_seek(reader, 150), 0);
    assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
    char tick[24], hash[40];
    snprintf(tick, sizeof tick, "%llu", (unsigned long long)frame->tick);
    snprintf(hash, sizeof hash, "\"hash\":\"%016llx\"", (unsigned long long)frame->world_hash);
    char *text = dump(recording, tick, "--json", EXIT_OK);
    assert_non_null(strstr(text, hash));
    const char *box = strstr(text, "\"name\":\"box-1\"");
    assert_non_null(box);
    const FieldDesc *field = &frame->fields->fields[0];
    const QPose *pose = &frame_poses(frame, 0)[(u32)json_number(box, NULL, "slot", 0)];
    const f64 origin[3] = {(f64)field->origin.x, (f64)field->origin.y, (f64)field->origin.z};
    f64 moved = 0.0;
    for (u32 i = 0; i < 3; i++) {
        f64 at = json_number(box, NULL, "position", i);
        f64 recorded = origin[i] + pose->position[i] * (f64)field->quantum;
        assert_float_equal(at, recorded, 0.51 * (f64)field->quantum);
        moved += fabs(json_number(box, NULL, "velocity", i));
    }
    assert_true(moved > 0.0); /* a hand carried it */
    assert_non_null(strstr(text, "{\"record\":\"grab\",\"user\":1,"));
    char *plain = dump(recording, tick, NULL, EXIT_OK);
    assert_int_equal(lines_of(plain), lines_of(text));
    assert_non_null(strstr(plain, " name=\"curtain\" method=\"xpbd\" points=315 "));
    free(plain);
    free(text);
    text = dump(recording, "1000000", "--json", EXIT_INPUT);
    assert_non_null(strstr(text, "ends at tick"));
    free(text);
    frame_release(frame);
    recording_reader_destroy(reader);
}

/* In the middle of the file; the same twice. */
static void flip_byte(const char *path)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long at = ftell(file) / 2;
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 4, file), byte ^ 4);
    assert_int_equal(fclose(file), 0);
}

static void test_clean(void **state)
{
    PL_UNUSED(state);
    char recording[PATH_BYTES_MAX];
    snprintf(recording, sizeof recording, "%s", test_path("clean.plrec"));
    record(recording, SIGTERM);
    assert_int_equal(verify(recording, NULL), EXIT_OK);
    assert_true(replay_ticks(recording) > 30.0);
    Process tool;
    process_start(&tool, "plenum-tool", "info", recording, NULL);
    assert_int_equal(process_wait(&tool, 20.0), 0);
    char *text = file_text(tool.out);
    assert_non_null(strstr(text, "drag"));
    assert_non_null(strstr(text, "notes       3\n")); /* one joined, one chat message, one left */
    free(text);
    flip_byte(recording);
    process_start(&tool, "plenum-tool", "info", recording, NULL);
    assert_int_equal(process_wait(&tool, 20.0), EXIT_CHECK_FAILED);
    text = file_text(tool.out);
    assert_non_null(strstr(text, "damaged     bytes "));
    free(text);
    flip_byte(recording);
    dump_agrees(recording);
}

static void test_killed(void **state)
{
    PL_UNUSED(state);
    char recording[PATH_BYTES_MAX];
    snprintf(recording, sizeof recording, "%s", test_path("killed.plrec"));
    record(recording, SIGKILL);
    assert_int_equal(verify(recording, NULL), EXIT_OK);
    assert_true(replay_ticks(recording) > 30.0);
}

static void test_no_recording(void **state)
{
    PL_UNUSED(state);
    const char *recording = test_path("torn.plrec");
    file_write(recording, "this is no recording");
    assert_int_equal(verify(recording, NULL), EXIT_INPUT);
    free(dump(recording, "0", "--json", EXIT_INPUT));
    /* A scene runs without users: half a second of free fall has a closed form. */
    const char *scene = test_path("fall.json");
    file_write(scene, "{\"name\":\"fall\",\"bodies\":[{\"name\":\"ball\",\"position\":[0,100,0],"
                      "\"shape\":{\"kind\":\"sphere\",\"radius\":0.1}}]}");
    char *text = dump(scene, "30", "--json", EXIT_OK);
    assert_float_equal(json_number(text, "\"ball\"", "velocity", 1), -0.5 * 9.81, 1e-4);
    free(text);
}

/* A forger changes inputs of a recording and corrects all its checksums. */
typedef bool Forge(Frame *frame, Input *inputs, u32 count);

static bool forge_nothing(Frame *frame, Input *inputs, u32 count)
{
    PL_UNUSED(inputs);
    PL_UNUSED(count);
    return frame->tick == 1;
}

static bool forge_push(Frame *frame, Input *inputs, u32 count)
{
    PL_UNUSED(frame);
    for (u32 i = 0; i < count; i++) {
        if (inputs[i].kind == INPUT_PUSH) {
            inputs[i].vector.x += 100.0f;
            return true;
        }
    }
    return false;
}

static bool forge_hash(Frame *frame, Input *inputs, u32 count)
{
    PL_UNUSED(inputs);
    PL_UNUSED(count);
    frame->world_hash ^= frame->tick == 30;
    return frame->tick == 30;
}

/* Copies the recording tick by tick; returns the first forged tick, 0 if none. */
static u64 forge(const char *from, const char *to, Forge *change)
{
    enum {
        MOST = 64
    };
    ErrorText error = {.text = ""};
    remove(to);
    RecordingReader *reader = recording_reader_create(from, &error);
    RecordingWriter *writer =
        reader != NULL ? recording_writer_create(to, recording_reader_head(reader), &error) : NULL;
    if (writer == NULL) {
        fail_msg("%s", error.text);
    }
    Frame *frame;
    const Input *inputs;
    u32 count;
    u64 forged = 0;
    while (recording_reader_next(reader, &frame, &inputs, &count) == 0) {
        Input copy[MOST];
        assert_true(count <= MOST);
        if (count != 0) {
            memcpy(copy, inputs, count * sizeof *inputs);
        }
        if (change(frame, copy, count) && forged == 0) {
            forged = frame->tick;
        }
        assert_int_equal(recording_writer_tick(writer, frame, copy, count), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    recording_reader_destroy(reader);
    return forged;
}

/* The first tick at which --verify reports a difference; 0 if it reports none. Any other result
 * fails the test. */
static u64 differs_from(const char *recording)
{
    char *text;
    unsigned long long tick = 0;
    int code = verify(recording, &text);
    assert_non_null(text);
    bool said = sscanf(text, "verify: tick %llu differs: recorded", &tick) == 1;
    if (code != (said ? EXIT_CHECK_FAILED : EXIT_OK)) {
        fail_msg("exit code %d after: %s", code, text);
    }
    free(text);
    return (u64)tick;
}

/* The file is complete and every checksum correct: only the hashes of the world reveal it. */
static void test_altered_fails(void **state)
{
    PL_UNUSED(state);
    char honest[PATH_BYTES_MAX], altered[PATH_BYTES_MAX];
    snprintf(honest, sizeof honest, "%s", test_path("honest.plrec"));
    snprintf(altered, sizeof altered, "%s", test_path("altered.plrec"));
    record(honest, SIGTERM);
    assert_int_equal(forge(honest, altered, forge_nothing), 1);
    assert_int_equal(differs_from(altered), 0);
    u64 pushed = forge(honest, altered, forge_push);
    assert_true(pushed > 0);
    assert_int_equal(differs_from(altered), pushed);
    char *where;
    assert_int_equal(verify(altered, &where), EXIT_CHECK_FAILED);
    assert_non_null(strstr(where, "verify: seen at tick "));
    assert_non_null(strstr(where, "of \"ball\"\n"));
    free(where);
    char tick[24];
    snprintf(tick, sizeof tick, "%llu", (unsigned long long)pushed);
    char *text = dump(altered, tick, NULL, EXIT_CHECK_FAILED);
    assert_non_null(strstr(text, "on the simulation differs from the recording"));
    free(text);
    assert_int_equal(forge(honest, altered, forge_hash), 30);
    assert_int_equal(differs_from(altered), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_no_recording),
        cmocka_unit_test(test_altered_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
