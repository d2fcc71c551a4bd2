/* test_golden.c: thirteen scenes with user input evolve bit for bit as when their hashes were
 * stored, one file for each scene in golden/hashes. `test_golden --record` (`make golden`) stores
 * the current ones; a commit that does so must say why. Each scene runs with another number of
 * threads, which must not matter. */
#include "protocol/record/recording.h"
#include "tests/determinism/golden.h"
#include "tests/support/process.h"

#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
#ifdef __SANITIZE_THREAD__ /* twenty times slower; only the threads are of interest */
    TICKS = GOLDEN_EVERY,
#elif defined(__SANITIZE_ADDRESS__) || defined(PL_VALIDATE)
    TICKS = 3 * GOLDEN_EVERY,
#else
    TICKS = GOLDEN_TICKS,
#endif
    ROWS = TICKS / GOLDEN_EVERY,
    WHOLE = ROWS == GOLDEN_ROWS,
    MOST_THREADS = 2,
#ifdef __SANITIZE_THREAD__
    LEAST_THREADS = 2,
#else
    LEAST_THREADS = 1,
#endif
    RECORDED = 0, /* index of the scene that is recorded */
};

#define HASHES "tests/determinism/golden/hashes"

typedef struct Results {
    GoldenRun runs[GOLDEN_SCENES];
    u64 recording; /* of all bytes of the file; 0: not all ticks were run */
} Results;

static Results expected, got;

/* ---- the recording ---- */

typedef struct Recorder {
    const char *path;
    RecordingWriter *writer;
} Recorder;

static void record_tick(void *context, World *world, const Frame *frame, const Input *inputs,
                        u32 count)
{
    Recorder *recorder = context;
    ErrorText error = {.text = ""};
    if (recorder->writer == NULL) {
        RecordingHead head = {.tick_rate = 60, .created_unix_s = 1, .build = "golden"};
        world_describe(world, &head.world);
        head.world.epoch = 1;
        remove(recorder->path); /* of an earlier run */
        recorder->writer = recording_writer_create(recorder->path, &head, &error);
        golden_need(recorder->writer != NULL, error.text);
    }
    golden_need(recording_writer_tick(recorder->writer, frame, inputs, count) == 0,
                "the recording cannot be written");
}

static u64 file_hash(const char *path)
{
    FILE *file = fopen(path, "rb");
    golden_need(file != NULL, path);
    u8 bytes[4096];
    u64 hash = 0;
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0;) {
        hash = hash_bytes(bytes, count, hash);
    }
    fclose(file);
    return hash;
}

static void run_scene(u32 scene)
{
    Jobs *jobs = jobs_create(u32_max(1 + scene % MOST_THREADS, LEAST_THREADS));
    golden_need(jobs != NULL, "no threads");
    Recorder recorder = {.path = test_path("golden.plrec")};
    GoldenWatch *watch = scene == RECORDED ? record_tick : NULL;
    golden_run(&golden_scenes[scene], TICKS, jobs, watch, &recorder, &got.runs[scene]);
    jobs_destroy(jobs);
    if (scene == RECORDED) {
        golden_need(recording_writer_destroy(recorder.writer) == 0, "the recording does not close");
        got.recording = WHOLE ? file_hash(recorder.path) : 0;
    }
}

/* ---- stored hashes ---- */

static FILE *hashes_open(u32 scene, const char *mode)
{
    char path[128];
    snprintf(path, sizeof path, HASHES "/%s.txt", golden_name(&golden_scenes[scene]));
    FILE *file = fopen(path, mode);
    golden_need(file != NULL, path);
    return file;
}

static void record_scene(u32 scene)
{
    run_scene(scene);
    FILE *file = hashes_open(scene, "w");
    fprintf(file, "# Written by `make golden`. Changed only by a commit that says why.\n"
                  "# tick world frame wire\n");
    for (u32 i = 0; i < ROWS; i++) {
        const GoldenRow *row = &got.runs[scene].rows[i];
        fprintf(file, "%u %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", (i + 1) * GOLDEN_EVERY,
                row->world, row->frame, row->wire);
    }
    if (scene == RECORDED) {
        fprintf(file, "recording %016" PRIx64 "\n", got.recording);
    }
    golden_need(fclose(file) == 0, "hashes cannot be written");
}

/* Every row of a scene, once and in order, and nothing else. */
static void read_scene(u32 scene)
{
    FILE *file = hashes_open(scene, "r");
    const char *name = golden_name(&golden_scenes[scene]);
    char line[256];
    u32 rows = 0, recordings = 0, tick;
    while (fgets(line, sizeof line, file) != NULL) {
        GoldenRow row;
        if (line[0] == '#') {
            continue;
        }
        if (sscanf(line, "recording %" SCNx64, &expected.recording) == 1) {
            recordings++;
            continue;
        }
        int fields = sscanf(line, "%u %" SCNx64 " %" SCNx64 " %" SCNx64, &tick, &row.world,
                            &row.frame, &row.wire);
        golden_need(fields == 4 && rows < GOLDEN_ROWS && tick == (rows + 1) * GOLDEN_EVERY, line);
        expected.runs[scene].rows[rows++] = row;
    }
    fclose(file);
    golden_need(rows == GOLDEN_ROWS && recordings == (scene == RECORDED), name);
}

/* A file for each scene, and no file of a scene that is gone. */
static int read_hashes(void **unused)
{
    PL_UNUSED(unused);
    for (u32 s = 0; s < GOLDEN_SCENES; s++) {
        read_scene(s);
    }
    glob_t files;
    golden_need(glob(HASHES "/*", 0, NULL, &files) == 0, HASHES);
    bool all = files.gl_pathc == GOLDEN_SCENES;
    globfree(&files);
    golden_need(all, HASHES " contains files that belong to no scene");
    return 0;
}

/* ---- tests ---- */

static bool same(const char *scene, u32 tick, const char *what, u64 wanted, u64 found)
{
    if (wanted != found) {
        print_error("%s: tick %u: %s: expected %016" PRIx64 ", got %016" PRIx64 "\n", scene, tick,
                    what, wanted, found);
    }
    return wanted == found;
}

/* Only the first row that differs is reported: later ones follow from it. */
static bool scene_is_golden(u32 s)
{
    const char *name = golden_name(&golden_scenes[s]);
    for (u32 i = 0; i < ROWS; i++) {
        const GoldenRow *want = &expected.runs[s].rows[i], *row = &got.runs[s].rows[i];
        u32 tick = (i + 1) * GOLDEN_EVERY;
        bool world = same(name, tick, "state of the world", want->world, row->world);
        bool frame = same(name, tick, "quantized frame and events", want->frame, row->frame);
        bool wire = same(name, tick, "packets so far", want->wire, row->wire);
        if (!world || !frame || !wire) {
            return false;
        }
    }
    return true;
}

static void scenes_are_golden(void **unused)
{
    PL_UNUSED(unused);
    u32 changed = 0;
    for (u32 s = 0; s < GOLDEN_SCENES; s++) {
        run_scene(s);
        changed += !scene_is_golden(s);
    }
    if (changed > 0) {
        fail_msg("%u of %u scenes differ from their hashes (CONTRIBUTING.md, golden hashes)",
                 changed, GOLDEN_SCENES);
    }
}

static void recording_is_golden(void **unused)
{
    PL_UNUSED(unused);
    if (got.recording == 0) {
        skip();
    }
    assert_true(same(golden_name(&golden_scenes[RECORDED]), TICKS, "file of the recording",
                     expected.recording, got.recording));
}

/* Hashes of a world in which nothing happens would test nothing. */
static void everything_happens(void **unused)
{
    PL_UNUSED(unused);
    u32 sent[INPUT_KIND_COUNT] = {0}, events[EVENT_KIND_COUNT] = {0};
    for (u32 s = 0; s < GOLDEN_SCENES; s++) {
        for (u32 k = 0; k < INPUT_KIND_COUNT; k++) {
            sent[k] += got.runs[s].sent[k];
        }
        for (u32 k = 0; k < EVENT_KIND_COUNT; k++) {
            events[k] += got.runs[s].events[k];
        }
        assert_true(got.runs[s].wire_bytes > 10000 || !WHOLE);
    }
    for (u32 k = INPUT_NONE + 1; k < INPUT_KIND_COUNT; k++) {
        printf("%u inputs of kind %u\n", sent[k], k);
        assert_true(sent[k] > 0 || !WHOLE);
    }
    for (u32 k = EVENT_NONE + 1; k < EVENT_KIND_COUNT; k++) {
        printf("%u events of kind %u\n", events[k], k);
        assert_true(events[k] > 0 || !WHOLE);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--record") == 0) {
        for (u32 s = 0; s < GOLDEN_SCENES; s++) {
            record_scene(s);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_are_golden),
        cmocka_unit_test(recording_is_golden),
        cmocka_unit_test(everything_happens),
    };
    return cmocka_run_group_tests(tests, read_hashes, NULL);
}
