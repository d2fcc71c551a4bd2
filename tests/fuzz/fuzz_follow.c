/* fuzz_follow.c: hostile messages of a broker: headers as text, parts, order and blocks. The
 * checksums of blocks are corrected first, so that the fuzzer gets past them. The input has for
 * each message: a byte of flags, a number, and its bytes. */
#include "protocol/record/recording_format.h"
#include "server/host/follow.h"
#include "server/host/publisher.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/recording_forge.h"

#include <stdlib.h>

enum {
    MESSAGES_MAX = 64,
    BIT_START = 1,
    BIT_OTHER_RUN = 2,
    BIT_SKIP = 4,   /* the number before it is missing */
    BIT_REPEAT = 8, /* the number before it again */
    BIT_PARTS = 16, /* in two parts */
    BIT_HALF = 32,  /* of which the second is missing */
    BIT_HEADERS = 64
};

typedef struct Seen {
    WorldCopy *world;
    EntityList entities;
    u64 tick;
    u32 frames; /* of this message */
    bool begun;
} Seen;

static void see_world(void *context, WorldCopy *world, const RecordingHead *head)
{
    Seen *seen = context;
    CHECK(head->tick_rate > 0);
    entity_list_clear(&seen->entities);
    world_copy_destroy(seen->world);
    seen->world = world;
    seen->entities.scene = world->scene;
    seen->begun = false;
}

static void see_frame(void *context, Frame *frame, bool anew, const Input *inputs, u32 count)
{
    Seen *seen = context;
    CHECK(seen->world != NULL && frame->fields == seen->world->fields);
    CHECK(seen->begun || anew);
    CHECK(anew || frame->tick > seen->tick);
    CHECK(!anew || (frame->event_count > 0 && frame->events[0].kind == EVENT_RESET));
    CHECK(count == 0 || inputs != NULL);
    CHECK(++seen->frames <= PUBLISHER_MESSAGE_TICKS);
    CHECK(entity_list_frame(&seen->entities, frame) == 0);
    entity_list_validate(&seen->entities, frame->fields);
    seen->tick = frame->tick;
    seen->begun = true;
    frame_release(frame);
}

static void headers(Feed *feed)
{
    char texts[BROKER_HEADERS][BROKER_VALUE_BYTES], again[BROKER_HEADERS][BROKER_VALUE_BYTES];
    const char *values[BROKER_HEADERS];
    for (u32 i = 0; i < BROKER_HEADERS; i++) {
        feed_text(feed, texts[i], BROKER_VALUE_BYTES);
        values[i] = texts[i];
    }
    BrokerMessage read = {0}, back = {0};
    if (broker_headers_read(values, &read) == 0) {
        broker_headers_write(&read, again);
        for (u32 i = 0; i < BROKER_HEADERS; i++) {
            values[i] = again[i];
        }
        CHECK(broker_headers_read(values, &back) == 0);
        CHECK(back.run == read.run && back.number == read.number && back.tick == read.tick &&
              back.part == read.part && back.parts == read.parts && back.back == read.back);
    }
}

static void send(Follow *follow, Seen *seen, BrokerMessage *m, u32 bits)
{
    size_t bytes = m->bytes, first = bytes / 2;
    seen->frames = 0;
    if ((bits & BIT_PARTS) == 0 || first == 0) {
        m->part = 0;
        m->parts = 1;
        (void)follow_message(follow, m);
        return;
    }
    m->parts = 2;
    m->part = 0;
    m->bytes = first;
    (void)follow_message(follow, m);
    m->part = 1;
    m->data += first;
    m->bytes = bytes - first;
    if ((bits & BIT_HALF) == 0) {
        (void)follow_message(follow, m);
    }
}

static void run(const u8 *data, size_t size)
{
    Feed feed = {data, size};
    Seen seen = {0};
    const FollowHandler handler = {&seen, see_world, see_frame};
    Follow *follow = follow_create(&handler);
    CHECK(follow != NULL);
    BrokerMessage m = {.run = 1, .tick_rate = 60};
    for (u32 i = 0; i < MESSAGES_MAX && feed.left > 0; i++) {
        u32 bits = feed_u8(&feed);
        if ((bits & BIT_HEADERS) != 0) {
            headers(&feed);
            continue;
        }
        u32 wanted = feed_u32(&feed);
        size_t bytes = wanted < feed.left ? wanted : feed.left;
        u8 *blocks = malloc(bytes > 0 ? bytes : 1); /* ends where its memory ends */
        CHECK(blocks != NULL);
        feed_copy(&feed, blocks, bytes);
        recording_forge_checks(blocks, bytes);
        m.run += (bits & BIT_OTHER_RUN) != 0;
        m.number += (bits & BIT_REPEAT) != 0 ? 0 : (bits & BIT_SKIP) != 0 ? 2 : 1;
        m.start = (bits & BIT_START) != 0;
        m.data = blocks;
        m.bytes = bytes;
        if (bytes > 0) {
            send(follow, &seen, &m, bits);
        }
        free(blocks);
    }
    follow_destroy(follow);
    world_copy_destroy(seen.world);
    entity_list_finish(&seen.entities);
}

const FuzzTarget fuzz_target = {.run = run,
                                .size_max = 256 << 10,
                                .memory_fixed = 6 * FRAME_BYTES_MAX +
                                                2 * RECORDING_BLOCK_BYTES_MAX + (64 << 20),
                                .memory_each = 64};
