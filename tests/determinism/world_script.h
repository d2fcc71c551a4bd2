/* world_script.h: inputs of three users in shared/scenes/playground.json for each tick. */
#ifndef PLENUM_TESTS_DETERMINISM_WORLD_SCRIPT_H
#define PLENUM_TESTS_DETERMINISM_WORLD_SCRIPT_H

#include "protocol/session/input.h"

enum {
    SCRIPT_INPUTS_MAX = 4,
    /* Entities of the playground in the order of its file. */
    SCRIPT_BRICK = 60,
    SCRIPT_BOX = 102,
    SCRIPT_CURTAIN = 147,
};

static inline Input script_input(InputKind kind, u32 user, u32 tick)
{
    Input input = {.kind = kind,
                   .user = user,
                   .sequence = tick + 1,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {{0.0f, 2.0f, 5.0f}, {0.0f, 0.0f, -1.0f}}};
    return input;
}

/* Writes the inputs of the tick and returns their number. User 1 swings a box through the wall,
 * user 2 pulls the curtain, user 3 throws things. */
static inline u32 script_inputs(u32 tick, Input inputs[SCRIPT_INPUTS_MAX])
{
    u32 count = 0;
    u32 phase = tick % 60;
    f32 back = phase < 30 ? (f32)phase / 30.0f : (f32)(60 - phase) / 30.0f;
    inputs[count] = script_input(tick % 120 == 5 ? INPUT_GRAB : INPUT_MOVE, 1, tick);
    inputs[count].entity = SCRIPT_BOX;
    inputs[count].local = vec3(0.2f, 0.3f, 0.0f);
    inputs[count++].target = vec3(-2.0f + 4.0f * back, 1.5f, 4.0f - 10.0f * back);
    inputs[count] = script_input(tick % 150 == 140  ? INPUT_RELEASE
                                 : tick % 150 == 10 ? INPUT_GRAB
                                                    : INPUT_MOVE,
                                 2, tick);
    inputs[count].entity = SCRIPT_CURTAIN;
    inputs[count].element = 300;
    inputs[count++].target = vec3(-6.0f + 3.0f * back, 2.0f, 0.5f);
    if (tick % 20 == 7) {
        inputs[count] = script_input(INPUT_SPAWN, 3, tick);
        inputs[count].index = tick / 20 % 5;
        inputs[count].target = vec3(3.6f - back, 4.0f, -0.6f);
        inputs[count++].vector = vec3(-2.0f, 1.0f, 0.5f);
    } else if (tick % 20 == 12) {
        inputs[count] = script_input(INPUT_PUSH, 3, tick);
        inputs[count].entity = SCRIPT_BRICK + tick % 17;
        inputs[count++].vector = vec3(20.0f, 100.0f, 300.0f);
    } else if (tick == 200) {
        inputs[count] = script_input(INPUT_SET, 3, tick);
        inputs[count].index = 1; /* wind */
        inputs[count++].values[0] = 8.0f;
    } else if (tick == 90) {
        inputs[count] = script_input(INPUT_REMOVE, 3, tick);
        inputs[count++].entity = SCRIPT_BRICK;
    }
    return count;
}

#endif
