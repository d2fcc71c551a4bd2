/* tool_dump.c: dumps a world at a tick. A recording is re-simulated from its inputs, because it
 * stores only client-visible state without velocities, joints and sleep; a scene runs without
 * inputs. */
#include "server/tool_dump.h"

#include "server/author/scene_load.h"
#include "server/host/resimulate.h"
#include "server/world/dump.h"
#include "shared/base/options.h"

#include <inttypes.h>
#include <string.h>

/* Default of --tick: the last tick of a recording, the first of a scene. */
#define TICK_NONE UINT64_MAX

static int dump(const World *world, bool json)
{
    Dump to = {.out = stdout, .json = json};
    world_dump(world, &to);
    return EXIT_OK;
}

static int dump_recording(Resimulation *resimulation, const char *path, u64 wanted, bool json,
                          ErrorText *error)
{
    const RecordingInfo *info = resimulation_info(resimulation);
    if (wanted != TICK_NONE && wanted > info->last_tick) {
        error_set(error, ERROR_NOT_FOUND, "%s: ends at tick %" PRIu64, path, info->last_tick);
        return EXIT_INPUT;
    }
    ResimulatedTick tick = {.tick = TICK_NONE};
    bool differs = false;
    int result = ERROR_OK;
    while (result == ERROR_OK && (tick.tick != wanted || wanted == TICK_NONE)) {
        result = resimulation_next(resimulation, &tick, error);
        if (result == ERROR_OK && tick.recorded != tick.simulated && !differs) {
            fprintf(stderr,
                    "plenum-tool: %s: from tick %" PRIu64
                    " on the simulation differs from the recording\n",
                    path, tick.tick);
            differs = true;
        }
    }
    if (result != ERROR_OK && result != ERROR_NOT_FOUND) {
        return EXIT_INPUT;
    }
    if (tick.tick == TICK_NONE || (wanted != TICK_NONE && tick.tick != wanted)) {
        error_set(error, ERROR_FORMAT, "%s: holds no such tick", path);
        return EXIT_INPUT;
    }
    dump(resimulation_world(resimulation), json);
    return differs ? EXIT_CHECK_FAILED : EXIT_OK;
}

static int dump_scene(const Scene *scene, u64 wanted, bool json, ErrorText *error)
{
    World *world = world_create(scene, NULL, error);
    if (world == NULL) {
        return EXIT_INPUT;
    }
    int code = EXIT_OK;
    for (u64 tick = 0; tick < (wanted != TICK_NONE ? wanted : 0) && code == EXIT_OK; tick++) {
        world_tick(world, NULL, 0);
        Frame *frame = world_frame(world); /* ends the tick and its events */
        if (frame == NULL) {
            error_set(error, ERROR_MEMORY, "out of memory for a frame");
            code = EXIT_INPUT;
        }
        frame_release(frame);
    }
    code = code == EXIT_OK ? dump(world, json) : code;
    world_destroy(world);
    return code;
}

static int dump_file(const char *path, u64 tick, bool json, ErrorText *error)
{
    const char *ending = strrchr(path, '.');
    int code = EXIT_INPUT;
    if (ending != NULL && strcmp(ending, ".plrec") == 0) {
        Resimulation *resimulation = resimulation_create(path, NULL, 1, error);
        if (resimulation != NULL) {
            code = dump_recording(resimulation, path, tick, json, error);
        }
        resimulation_destroy(resimulation);
    } else {
        Scene *scene = scene_load_anywhere(path, error);
        if (scene != NULL) {
            code = dump_scene(scene, tick, json, error);
        }
        scene_destroy(scene);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        error_set(error, ERROR_IO, "cannot write the dump");
        code = EXIT_INPUT;
    }
    return code;
}

int tool_dump(int argc, char **argv, ErrorText *error)
{
    u64 tick = TICK_NONE;
    bool json = false;
    const Option rows[] = {
        {"tick", 't', OPTION_U64, &tick, 0, 0, "N",
         "after this tick; else the last of a recording, the first of a scene"},
        {"json", 'j', OPTION_FLAG, &json, 0, 0, NULL, "an object of JSON in each line"},
    };
    OptionTable table = {.program = "plenum-tool dump",
                         .synopsis = "[options] FILE.plrec | SCENE.json",
                         .about = "Prints a world at a tick: parameters, bodies with pose and "
                                  "velocities, soft bodies, joints, hands, probes; one record a "
                                  "line. A recording is simulated again from its inputs, a scene "
                                  "runs without hands.",
                         .rows = rows,
                         .count = PL_COUNT(rows),
                         .operands_min = 1,
                         .operands_max = 1};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? EXIT_USAGE : EXIT_OK;
    }
    return dump_file(operands[0], tick, json, error);
}
