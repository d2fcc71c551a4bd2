/*
 * source_world_live.c: messages between a published world's host and its followers through the
 * broker. The publisher is destroyed at the end of the simulation, so it is used under the mutex.
 */
#include "server/host/source_world_internal.h"
#include "shared/base/clock.h"

#include <stdlib.h>

static WorldSource *from(Source *source)
{
    return (WorldSource *)source;
}

static void notify(WorldSource *s, u64 follower, const Message *message)
{
    LivePayload payload = live_write(&(LiveHead){0, follower}, message);
    pthread_mutex_lock(&s->mutex);
    bool published = s->publisher != NULL;
    if (published) {
        live_hub_push(publisher_live(s->publisher), message->kind, payload,
                      clock_now_ns() / 1000000u);
    }
    pthread_mutex_unlock(&s->mutex);
    if (!published) {
        free(payload.data);
    }
}

void world_source_notify(Source *source, const Message *message)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    bool published = s->publisher != NULL;
    pthread_mutex_unlock(&s->mutex);
    if (published) {
        notify(s, 0, message);
    }
}

void world_source_follower_answer(Source *source, u64 follower, const Message *message)
{
    notify(from(source), follower, message);
}

LivePayload world_source_follower_payload(Source *source)
{
    WorldSource *s = from(source);
    LivePayload payload = {0};
    pthread_mutex_lock(&s->mutex);
    if (s->publisher != NULL) {
        payload = live_hub_received(publisher_live(s->publisher));
    }
    pthread_mutex_unlock(&s->mutex);
    return payload;
}
