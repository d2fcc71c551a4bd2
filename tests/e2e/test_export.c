/*
 * test_export.c: files written by plenum-tool export match the world. A world with something of
 * everything is recorded; the same frames and the entities of each tick are written beside the
 * recording. check_export.py reads every format by its specification alone and compares. Then the
 * options: ranges, selection, existing files, damaged recordings.
 */
#include "protocol/record/recording.h"
#include "protocol/stream/entity_list.h"
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TICKS = 90,
    SPAWN_TICK = 20,
    REMOVE_TICK = 50,
    CREATED_S = 1700000000,
};

static char recording[PATH_BYTES_MAX];

/* ---- the recording and the expected data ---- */

static void print_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fputc('\\', file);
        }
        fputc(*c, file);
    }
    fputc('"', file);
}

static void print_fields(FILE *file, const MessageWorld *world)
{
    fprintf(file, "{\"fields\":[");
    for (u32 i = 0; i < world->field_count; i++) {
        const FieldDesc *f = &world->fields[i];
        fprintf(file,
                "%s{\"kind\":%u,\"bytes\":%u,\"capacity\":%u,\"channels\":%u,\"dims\":[%u,%u,%u],"
                "\"origin\":[%.9g,%.9g,%.9g],\"quantum\":%.9g,\"spacing\":[%.9g,%.9g,%.9g],"
                "\"value_min\":%.9g}",
                i == 0 ? "" : ",", f->kind, field_element_bytes(f), f->capacity, f->channels,
                f->dims[0], f->dims[1], f->dims[2], (f64)f->origin.x, (f64)f->origin.y,
                (f64)f->origin.z, (f64)f->quantum, (f64)f->spacing.x, (f64)f->spacing.y,
                (f64)f->spacing.z, (f64)f->value_min);
    }
    fprintf(file, "],\"probes\":[");
    for (u32 i = 0; i < world->probe_count; i++) {
        const ScalarInfo *p = &world->probes[i];
        fprintf(file, "%s{\"field\":%u,\"first\":%u,\"components\":%u,\"name\":", i == 0 ? "" : ",",
                p->field, p->first, p->components);
        print_text(file, p->name);
        fprintf(file, "}");
    }
    fprintf(file, "]}\n");
}

static void print_tick(FILE *file, FILE *frames, const Frame *frame, const EntityList *entities)
{
    fprintf(file, "{\"tick\":%llu,\"at\":%ld,\"entities\":[", (unsigned long long)frame->tick,
            ftell(frames));
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *e = &entities->items[i];
        fprintf(file, "%s[%u,%u,%u,%u,%u,", i == 0 ? "" : ",", e->id, e->field, e->first, e->count,
                e->generation);
        print_text(file, e->name);
        fprintf(file, "]");
    }
    fprintf(file, "]}\n");
    for (u32 f = 0; f < frame->fields->count; f++) {
        const FieldDesc *field = &frame->fields->fields[f];
        size_t bytes = (size_t)field->capacity * field_element_bytes(field);
        assert_true(bytes == 0 || fwrite(frame_field(frame, f), bytes, 1, frames) == 1);
    }
}

/* A crate is spawned and removed again. */
static u32 inputs_of(u64 tick, const EntityList *entities, Input *input)
{
    const Entity *crate = NULL;
    for (u32 i = 0; i < entities->count; i++) {
        crate = strncmp(entities->items[i].name, "crate", 5) == 0 ? &entities->items[i] : crate;
    }
    *input = (Input){.user = 1, .sequence = (u32)tick, .rotation = quat_identity()};
    if (tick == SPAWN_TICK) {
        input->kind = INPUT_SPAWN;
        input->target = vec3(-3.0f, 2.0f, -3.0f);
        return 1;
    }
    if (tick == REMOVE_TICK) {
        assert_non_null(crate);
        input->kind = INPUT_REMOVE;
        input->entity = crate->id;
        return 1;
    }
    return 0;
}

static int setup(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {.text = ""};
    snprintf(recording, sizeof recording, "%s", test_path("export.plrec"));
    Scene *scene = scene_load(source_path("tests/e2e/scenes/export.json"), &error);
    World *world = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (world == NULL) {
        fail_msg("%s", error.text);
    }
    RecordingHead head = {.tick_rate = scene->tick_rate, .created_unix_s = CREATED_S};
    world_describe(world, &head.world);
    RecordingWriter *writer = recording_writer_create(recording, &head, &error);
    FILE *truth = fopen(test_path("truth.jsonl"), "w"), *frames = fopen(test_path("frames"), "wb");
    assert_true(writer != NULL && truth != NULL && frames != NULL);
    print_fields(truth, &head.world);
    EntityList entities = {.scene = scene};
    assert_int_equal(entity_list_set(&entities, world_fields(world), head.world.entities,
                                     head.world.entity_count),
                     0);
    for (u64 tick = 0; tick <= TICKS; tick++) {
        Input input;
        u32 count = inputs_of(tick, &entities, &input);
        if (tick > 0) {
            world_tick(world, &input, count);
        }
        Frame *frame = world_frame(world);
        assert_non_null(frame);
        assert_int_equal(entity_list_frame(&entities, frame), 0);
        assert_int_equal(recording_writer_tick(writer, frame, &input, count), 0);
        print_tick(truth, frames, frame, &entities);
        frame_release(frame);
    }
    assert_int_equal(fclose(truth) | fclose(frames) | recording_writer_destroy(writer), 0);
    entity_list_finish(&entities);
    world_destroy(world);
    scene_destroy(scene);
    return 0;
}

/* ---- formats ---- */

/* Runs export with up to eight arguments after the recording; returns the text of stderr (free). */
static char *export_to(int expected, const char *out, const char *const options[8])
{
    Process tool;
    process_start(&tool, "plenum-tool", "export", recording, out, options[0], options[1],
                  options[2], options[3], options[4], options[5], options[6], options[7], NULL);
    int code = process_wait(&tool, 120.0);
    char *text = file_text(tool.err);
    if (code != expected) {
        fail_msg("export to %s: exit code %d, expected %d: %s", out, code, expected, text);
    }
    return text;
}

static void check(const char *how, const char *out, const char *every, const char *from)
{
    Process python;
    char truth[PATH_BYTES_MAX], frames[PATH_BYTES_MAX];
    snprintf(truth, sizeof truth, "%s", test_path("truth.jsonl"));
    snprintf(frames, sizeof frames, "%s", test_path("frames"));
    process_start(&python, "python3", "-B", source_path("tests/e2e/check_export.py"), how, truth,
                  frames, out, every, from, NULL);
    int code = process_wait(&python, 120.0);
    char *text = file_text(python.out), *wrong = file_text(python.err);
    if (code != 0) {
        fail_msg("%s: %s%s", out, text, wrong);
    }
    printf("%s", text);
    free(text);
    free(wrong);
}

static const char *const none[8] = {NULL};

/* A path that later calls of test_path do not overwrite. */
static const char *path_of(char path[PATH_BYTES_MAX], const char *name)
{
    snprintf(path, PATH_BYTES_MAX, "%s", test_path(name));
    return path;
}

static void test_csv(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    const char *out = path_of(path, "whole.csv");
    free(export_to(EXIT_OK, out, none));
    check("csv", out, "1", "0");
}

static void test_meshes(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    static const char *const obj[8] = {"--format", "obj", "--every", "30"};
    static const char *const ply[8] = {"--format", "ply", "--every", "30"};
    const char *out = path_of(path, "meshes");
    free(export_to(EXIT_OK, out, obj));
    check("obj", out, "30", "0");
    out = path_of(path, "points");
    free(export_to(EXIT_OK, out, ply));
    check("ply", out, "30", "0");
}

static void test_gltf(void **state)
{
    PL_UNUSED(state);
    char out[PATH_BYTES_MAX], few[PATH_BYTES_MAX];
    static const char *const shapes[8] = {"--shapes", "7", "--every", "2"};
    snprintf(out, sizeof out, "%s", test_path("whole.glb"));
    free(export_to(EXIT_OK, out, none));
    check("gltf", out, "1", "0");
    check("gltf-validator", out, "1", "0");
    snprintf(out, sizeof out, "%s", test_path("whole.gltf"));
    free(export_to(EXIT_OK, out, none));
    check("gltf", out, "1", "0");
    snprintf(few, sizeof few, "%s", test_path("few.glb"));
    free(export_to(EXIT_OK, few, shapes));
    check("gltf", few, "2", "0");
}

static void test_mcap(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    const char *out = path_of(path, "whole.mcap");
    free(export_to(EXIT_OK, out, none));
    check("mcap", out, "1", "0");
    check("mcap-core", out, "1", "0");
}

static void test_usd(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    const char *out = path_of(path, "whole.usda");
    free(export_to(EXIT_OK, out, none));
    check("usd", out, "1", "0");
}

/* ---- options ---- */

static bool exists(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static void expect_text(int code, const char *out, const char *const options[8],
                        const char *expected)
{
    char *text = export_to(code, out, options);
    if (strstr(text, expected) == NULL) {
        fail_msg("expected \"%s\" in: %s", expected, text);
    }
    free(text);
}

static void test_range(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    /* Ticks 35 to 65, while the crate exists and after it. */
    static const char *const range[8] = {"--from", "0.5833", "--to", "1.0834", "--every", "3"};
    static const char *const late[8] = {"--from", "100"};
    const char *out = path_of(path, "range.csv");
    free(export_to(EXIT_OK, out, range));
    check("csv-range", out, "3", "35");
    out = path_of(path, "range.glb");
    free(export_to(EXIT_OK, out, range));
    check("gltf", out, "3", "35");
    expect_text(EXIT_USAGE, test_path("late.csv"), late, "nothing of it lies between");
}

static void test_only(void **state)
{
    PL_UNUSED(state);
    char path[PATH_BYTES_MAX];
    static const char *const some[8] = {"--only", "c*,momentum"};
    static const char *const missing[8] = {"--only", "can,nobody"};
    const char *out = path_of(path, "some.csv");
    free(export_to(EXIT_OK, out, some));
    check("csv-only", out, "1", "0");
    expect_text(EXIT_USAGE, test_path("missing.csv"), missing, "\"nobody\"");
    assert_false(exists(test_path("missing.csv")));
    assert_false(exists(test_path("missing.csv.part")));
}

/* Existing files stay without --force; no temporary files are left. */
static void test_files(void **state)
{
    PL_UNUSED(state);
    static const char *const force[8] = {"--force"};
    static const char *const device[8] = {"--force", "--format", "csv"};
    static const char *const odd[8] = {"--format", "avi"};
    static const char *const obj[8] = {"--format", "obj"};
    char out[PATH_BYTES_MAX], link_path[PATH_BYTES_MAX];
    snprintf(out, sizeof out, "%s", test_path("there.csv"));
    file_write(out, "mine");
    expect_text(EXIT_INPUT, out, none, "exists; --force replaces it");
    char *text = file_text(out);
    assert_string_equal(text, "mine");
    free(text);
    free(export_to(EXIT_OK, out, force));
    check("csv", out, "1", "0");
    snprintf(link_path, sizeof link_path, "%s", test_path("link.csv"));
    assert_int_equal(symlink(out, link_path), 0);
    expect_text(EXIT_INPUT, link_path, force, "not a regular file");
    expect_text(EXIT_INPUT, test_path("no/such/folder.csv"), none, "No such file");
    expect_text(EXIT_USAGE, test_path("a.csv"), odd, "\"avi\" is not one of");
    expect_text(EXIT_USAGE, test_path("a.doc"), none, "give an output that ends in");
    expect_text(EXIT_INPUT, test_folder(), obj, "has files in it");
    /* The second file of .gltf. */
    file_write(test_path("two.bin"), "mine");
    expect_text(EXIT_INPUT, test_path("two.gltf"), none, "two.bin: exists");
    assert_false(exists(test_path("two.gltf")));
    assert_false(exists(test_path("two.gltf.part")));
    expect_text(EXIT_INPUT, "/dev/full", device, "not a regular file");
}

/* A truncated recording ends at the cut; with a changed byte it is refused or ends earlier. */
static void test_damaged(void **state)
{
    PL_UNUSED(state);
    char damaged[PATH_BYTES_MAX], out[PATH_BYTES_MAX];
    FILE *file = fopen(recording, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t bytes = (size_t)ftell(file);
    u8 *content = malloc(bytes);
    assert_non_null(content);
    rewind(file);
    assert_int_equal(fread(content, 1, bytes, file), bytes);
    fclose(file);
    snprintf(damaged, sizeof damaged, "%s", test_path("damaged.plrec"));
    snprintf(out, sizeof out, "%s", test_path("damaged.csv"));
    for (u32 i = 0; i < 12; i++) {
        bool cut = i % 2 == 0;
        size_t at = bytes / 13 * (i + 1);
        content[at] ^= 0x10;
        file = fopen(damaged, "wb");
        assert_true(file != NULL && fwrite(content, 1, cut ? at : bytes, file) > 0);
        fclose(file);
        content[at] ^= 0x10;
        Process tool;
        process_start(&tool, "plenum-tool", "export", "--force", damaged, out, NULL);
        int code = process_wait(&tool, 60.0);
        assert_true(code == EXIT_OK || code == EXIT_INPUT);
        char *text = file_text(tool.err);
        assert_true(code == EXIT_OK || strstr(text, "damaged.plrec: ") != NULL);
        free(text);
        assert_false(exists(test_path("damaged.csv.part")));
    }
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv),  cmocka_unit_test(test_meshes), cmocka_unit_test(test_gltf),
        cmocka_unit_test(test_mcap), cmocka_unit_test(test_usd),    cmocka_unit_test(test_range),
        cmocka_unit_test(test_only), cmocka_unit_test(test_files),  cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
