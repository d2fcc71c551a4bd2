/* frame_merge.c: see frame_merge.h. */
#include "server/host/frame_merge.h"

#include <string.h>

enum {
    FRAME_EVENTS_CARRIED_MAX = 16384
};

Frame *frame_merge(Frame *old, Frame *frame)
{
    bool all = old->event_count + frame->event_count <= FRAME_EVENTS_CARRIED_MAX;
    u32 carried = 0;
    for (u32 i = 0; i < old->event_count; i++) {
        carried += all || old->events[i].kind != EVENT_IMPACT;
    }
    Frame *merged = frame_create(frame->fields, frame->tick, carried + frame->event_count);
    if (merged != NULL) {
        merged->world_hash = frame->world_hash;
        merged->world_time_s = frame->world_time_s;
        memcpy(merged->data, frame->data, frame->fields->frame_bytes);
        u32 used = 0;
        for (u32 i = 0; i < old->event_count; i++) {
            if (all || old->events[i].kind != EVENT_IMPACT) {
                merged->events[used++] = old->events[i];
            }
        }
        for (u32 i = 0; i < frame->event_count; i++) {
            merged->events[used++] = frame->events[i];
        }
    }
    frame_release(old);
    frame_release(frame);
    return merged;
}
