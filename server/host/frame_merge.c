/* frame_merge.c: see frame_merge.h. */
#include "server/host/frame_merge.h"

#include <stdlib.h>
#include <string.h>

enum {
    FRAME_EVENTS_CARRIED_MAX = 2048
};

/* A set of numbers, by open addressing; 0 is none. */
typedef struct Later {
    struct {
        u32 number;
        u32 despawn; /* index of its later despawn; UINT32_MAX: undone, or none */
    } * slots;
    u32 mask;
} Later;

static u32 later_slot(const Later *later, u32 number)
{
    u32 at = number * 0x9E3779B1u & later->mask;
    while (later->slots[at].number != 0 && later->slots[at].number != number) {
        at = (at + 1) & later->mask;
    }
    return at;
}

static bool later_create(Later *later, u32 count)
{
    u32 capacity = 16;
    while (capacity < 2 * count) {
        capacity *= 2;
    }
    later->slots = calloc(capacity, sizeof *later->slots);
    later->mask = capacity - 1;
    return later->slots != NULL;
}

/* From the last event to the first: removes those without effect on the final state. */
static void mark_obsolete(const Event *events, u32 count, bool *gone, Later *ids, Later *users)
{
    bool reset = false;
    for (u32 i = count; i-- > 0;) {
        const Event *event = &events[i];
        u32 at;
        switch (event->kind) {
        case EVENT_RESET:
            gone[i] = reset;
            reset = true;
            break;
        case EVENT_GRAB:
            at = later_slot(users, event->user);
            gone[i] = reset || event->user == 0 || users->slots[at].number != 0;
            users->slots[at].number = event->user;
            break;
        case EVENT_SPAWN:
            at = later_slot(ids, event->entity.id);
            gone[i] = reset;
            if (ids->slots[at].number != 0 && ids->slots[at].despawn != UINT32_MAX) {
                gone[i] = gone[ids->slots[at].despawn] = true;
                ids->slots[at].despawn = UINT32_MAX;
            }
            break;
        case EVENT_DESPAWN:
            at = later_slot(ids, event->entity.id);
            gone[i] = reset || event->entity.id == 0;
            ids->slots[at].number = event->entity.id;
            ids->slots[at].despawn = gone[i] ? UINT32_MAX : i;
            break;
        case EVENT_BREAK:
            gone[i] = reset;
            break;
        default: /* impacts, refusals, sensors */
            gone[i] = true;
            break;
        }
    }
}

/* Removes obsolete events; returns the number left. If out of memory, removes all that do not
 * change state. */
static u32 compact(Event *events, u32 count)
{
    Later ids = {0}, users = {0};
    bool *gone = calloc(count, sizeof *gone);
    u32 kept = 0;
    bool able = gone != NULL && later_create(&ids, count) && later_create(&users, count);
    if (able) {
        mark_obsolete(events, count, gone, &ids, &users);
    }
    for (u32 i = 0; i < count; i++) {
        if (able ? !gone[i] : events[i].kind != EVENT_IMPACT) {
            events[kept++] = events[i];
        }
    }
    free(gone);
    free(ids.slots);
    free(users.slots);
    return kept;
}

/* Takes the reference to `old`: a frame of these fields with its events that only the caller holds,
 * and `more` behind them, undefined. NULL: out of memory. */
static Frame *own_with(Frame *old, FieldSet *fields, u32 more)
{
    u32 carried = old->event_count;
    bool alone = __atomic_load_n(&old->references, __ATOMIC_ACQUIRE) == 1;
    Frame *own = alone && old->fields == fields ? frame_add_events(old, more) : NULL;
    if (own == NULL) {
        own = frame_create(fields, old->tick, carried + more);
        if (own != NULL && carried > 0) {
            memcpy(own->events, old->events, carried * sizeof *own->events);
        }
        frame_release(old);
    }
    return own;
}

Frame *frame_merge(Frame *old, Frame *frame)
{
    u32 carried = old->event_count, more = frame->event_count;
    Frame *merged = own_with(old, frame->fields, more);
    if (merged != NULL) {
        if (carried > 0 && carried + more > FRAME_EVENTS_CARRIED_MAX) {
            carried = compact(merged->events, carried);
            merged->event_count = carried + more;
        }
        merged->tick = frame->tick;
        merged->world_hash = frame->world_hash;
        merged->world_time_s = frame->world_time_s;
        merged->system_count = 0;
        merged->between = false;
        memcpy(merged->data, frame->data, frame->fields->frame_bytes);
        if (more > 0) {
            memcpy(merged->events + carried, frame->events, more * sizeof *merged->events);
        }
    }
    frame_release(frame);
    return merged;
}
