/* history.c: a ring of frames by tick. Gaps between ticks are fine: a slot knows its frame's tick.
 */
#include "protocol/history.h"

#include <string.h>

void history_init(History *history)
{
    memset(history, 0, sizeof *history);
}

void history_finish(History *history)
{
    for (u32 i = 0; i < HISTORY_FRAMES; i++) {
        frame_release(history->ring[i]);
    }
    history_init(history);
}

void history_push(History *history, Frame *frame)
{
    frame_acquire(frame);
    const Frame *newest = history->newest;
    if (newest != NULL &&
        (frame->tick <= newest->tick || !field_set_equal(frame->fields, newest->fields))) {
        history_finish(history);
    }
    u32 slot = (u32)(frame->tick % HISTORY_FRAMES);
    frame_release(history->ring[slot]);
    history->ring[slot] = frame;
    history->newest = frame;
}

Frame *history_get(const History *history, u64 tick)
{
    Frame *frame = history->ring[tick % HISTORY_FRAMES];
    return frame != NULL && frame->tick == tick ? frame : NULL;
}
