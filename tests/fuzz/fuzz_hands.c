/*
 * fuzz_hands.c: the inputs of a stranger's recording, which are re-simulated without what a host
 * checks of clients beside input_check: any user, any entity, in any order. The world continues.
 * The input is a list of inputs and ticks.
 */
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/world_stage.h"

#include <stdlib.h>

enum {
    BATCH_MAX = 24,
    TICKS_MAX = 40
};

typedef struct Start {
    World *world;
    u8 *image;
    size_t bytes;
} Start;

static Start starts[2];

static void prepare(void)
{
    static const char *const paths[] = {"tests/fuzz/image_scene.json",
                                        "tests/fuzz/matter_scene.json"};
    for (u32 i = 0; i < PL_COUNT(starts); i++) {
        Start *start = &starts[i];
        start->world = world_stage_create(paths[i], NULL);
        for (u32 n = 0; n < 10; n++) {
            world_tick(start->world, NULL, 0);
        }
        CHECK(world_save(start->world, &start->image, &start->bytes) == 0);
    }
}

static Input input_make(Feed *feed, u32 sequence)
{
    u32 kind = feed_u8(feed);
    Input input = {.kind = kind % INPUT_KIND_COUNT,
                   .user = kind / INPUT_KIND_COUNT % 4,
                   .sequence = sequence,
                   .entity = feed_u8(feed),
                   .rotation = quat_identity(),
                   .ray = {{0.0f, 2.0f, 5.0f}, {0.0f, 0.0f, -1.0f}}};
    input.index = feed_u8(feed);
    input.element = kind & 128 ? feed_u32(feed) : input.index;
    switch (input.kind) {
    case INPUT_GRAB:
    case INPUT_PUSH:
        input.local = feed_vec3(feed);
        input.vector = feed_vec3(feed);
        break;
    case INPUT_MOVE:
    case INPUT_SPAWN:
        input.target = feed_vec3(feed);
        input.vector = feed_vec3(feed);
        break;
    case INPUT_SET:
        for (u32 i = 0; i < PL_COUNT(input.values); i++) {
            input.values[i] = feed_f32(feed);
        }
        break;
    case INPUT_DYE:
        input.index = feed_u32(feed);
        break;
    default:
        break;
    }
    return input;
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    const Start *start = &starts[feed_u8(&feed) % PL_COUNT(starts)];
    Input batch[BATCH_MAX];
    ErrorText error;
    u32 sequence = 0;
    CHECK(world_load(start->world, start->image, start->bytes, &error) == 0);
    for (u32 tick = 0; tick < TICKS_MAX && feed.left > 0; tick++) {
        u32 count = 0, wanted = feed_u8(&feed) % (BATCH_MAX + 1);
        for (u32 i = 0; i < wanted && feed.left > 0; i++) {
            batch[count] = input_make(&feed, ++sequence);
            count += input_check(&batch[count]) == 0;
        }
        world_tick(start->world, batch, count);
        frame_release(world_frame(start->world));
    }
    world_stage_go_on(start->world, 3);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 4096, .memory_fixed = 64 << 20};
