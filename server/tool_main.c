/*
 * tool_main.c: plenum-tool: looks at scenes and recordings without running them.
 */
#include "protocol/recording.h"
#include "protocol/scene.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef int Command(const char *path, ErrorText *error);

static int fail(const ErrorText *error)
{
    fprintf(stderr, "plenum-tool: %s\n", error->text);
    return EXIT_INPUT;
}

static u32 count_motion(const Scene *scene, Motion motion)
{
    u32 count = 0;
    for (u32 i = 0; i < scene->body_count; i++) {
        count += scene->bodies[i].motion == motion;
    }
    return count;
}

static int check_scene(const char *path, ErrorText *error)
{
    Scene *scene = scene_load(path, error);
    if (scene == NULL) {
        return fail(error);
    }
    printf("%s: ok: \"%s\"%s%s\n", path, scene->name, scene->description[0] != 0 ? ": " : "",
           scene->description);
    printf("tick        %u Hz, %u substeps\n", scene->tick_rate, scene->substeps);
    printf("bodies      %u dynamic, %u kinematic, %u static, %u spare\n",
           count_motion(scene, MOTION_DYNAMIC), count_motion(scene, MOTION_KINEMATIC),
           count_motion(scene, MOTION_STATIC), scene->spare_bodies);
    for (u32 i = 0; i < scene->cloth_count; i++) {
        const SceneCloth *cloth = &scene->cloths[i];
        printf("cloth       %s: %u x %u points, %u pins\n", cloth->name, cloth->columns,
               cloth->rows, cloth->pin_count);
    }
    for (u32 i = 0; i < scene->prefab_count; i++) {
        printf("prefab      %s\n", scene->prefabs[i].name);
    }
    for (u32 i = 0; i < scene->probe_count; i++) {
        const SceneProbe *probe = &scene->probes[i];
        printf("probe       %s: %s%s%s, %s\n", probe->name, probe_kind_name(probe->kind),
               probe->of[0] != 0 ? " of " : "", probe->of, probe_kind_unit(probe->kind));
    }
    printf("sent as     %u bytes\n", scene->byte_count);
    scene_destroy(scene);
    return EXIT_OK;
}

static int show_recording(const char *path, ErrorText *error)
{
    RecordingReader *reader = recording_reader_create(path, error);
    if (reader == NULL) {
        return fail(error);
    }
    const RecordingHead *head = recording_reader_head(reader);
    const RecordingInfo *info = recording_reader_info(reader);
    Scene *scene = scene_from_bytes(head->world.scene, head->world.scene_bytes, error);
    time_t created = (time_t)head->created_unix_s;
    struct tm utc;
    char when[64] = "?";
    if (gmtime_r(&created, &utc) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    }
    f64 seconds = (f64)info->ticks / head->tick_rate;
    printf("recording   %s, version %u\n", path, head->version);
    printf("scene       %s\n", scene != NULL ? scene->name : error->text);
    printf("made        %s by %s\n", when, head->build);
    printf("ticks       %" PRIu64 " to %" PRIu64 ", %" PRIu64 " of them at %u Hz: %.2f s\n",
           info->first_tick, info->last_tick, info->ticks, head->tick_rate, seconds);
    printf("bytes       %" PRIu64 ", %.1f a tick, %.1f kB/s\n", info->bytes,
           (f64)info->bytes / (f64)info->ticks, (f64)info->bytes / 1000.0 / seconds);
    printf("key frames  %" PRIu64 "\n", info->key_frames);
    printf("inputs      %" PRIu64 "\n", info->inputs);
    printf("events      %" PRIu64 "\n", info->events);
    for (u32 i = 0; i < head->world.field_count; i++) {
        const FieldDesc *field = &head->world.fields[i];
        printf("field       %s: %s, %u\n", field->name, field_kind_name((FieldKind)field->kind),
               field->capacity);
    }
    printf("end         %s", info->clean ? "closed cleanly\n" : "not closed: index rebuilt");
    if (!info->clean) {
        printf(", %" PRIu64 " torn bytes left out\n", info->torn_bytes);
    }
    scene_destroy(scene);
    recording_reader_destroy(reader);
    return EXIT_OK;
}

static const struct {
    const char *name;
    Command *run;
    const char *operand, *help;
} commands[] = {
    {"check", check_scene, "SCENE.json", "read a scene as the server would, say what is in it"},
    {"info", show_recording, "FILE.plrec", "what a recording holds and whether it is whole"},
};

static void print_help(void)
{
    printf("usage: plenum-tool COMMAND FILE\n\n"
           "Looks at scenes and recordings of plenum-server without running them.\n\n");
    for (u32 i = 0; i < PL_COUNT(commands); i++) {
        printf("  %-6s %-12s %s\n", commands[i].name, commands[i].operand, commands[i].help);
    }
    printf("\n  -h, --help      this text\n      --version   the version\n\n"
           "Exit codes: 0 ok, 2 wrong usage, 3 bad input file.\n");
}

int main(int argc, char **argv)
{
    ErrorText error = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help();
            return EXIT_OK;
        }
        if (strcmp(argv[i], "--version") == 0) {
            printf("plenum-tool %s\n", PLENUM_VERSION);
            return EXIT_OK;
        }
    }
    for (u32 i = 0; argc == 3 && i < PL_COUNT(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argv[2], &error);
        }
    }
    fprintf(stderr, "plenum-tool: expected a command and a file: check SCENE.json or info "
                    "FILE.plrec (see --help)\n");
    return EXIT_USAGE;
}
