/* live_hub.c: see live_hub.h. */
#include "server/host/live_hub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUT_MAX = 256,
    OUT_AGE_MS = 10000, /* older chat is dropped */
    IN_MAX = 256,
    PRESENCE_MS = 100,
    PRESENCE_BYTES_MS = 64, /* bytes of presences in a millisecond, at most */
};

/* Newest alone. */
typedef enum Latest {
    LATEST_ROSTER,
    LATEST_PRESENCE,
    LATEST_COUNT
} Latest;

typedef struct Waiting {
    LivePayload payload;
    u64 since_ms;
} Waiting;

struct LiveHub {
    u64 run; /* unchanged */
    pthread_mutex_t mutex;
    Waiting out[OUT_MAX]; /* ring */
    u32 out_first, out_count;
    LivePayload latest[LATEST_COUNT];
    u64 presence_ms;        /* when the next may be sent */
    LivePayload in[IN_MAX]; /* ring */
    u32 in_first, in_count;
    u64 refused;
};

LiveHub *live_hub_create(u64 run)
{
    LiveHub *hub = calloc(1, sizeof *hub);
    if (hub != NULL) {
        hub->run = run;
        pthread_mutex_init(&hub->mutex, NULL);
    }
    return hub;
}

static LivePayload out_pop(LiveHub *hub)
{
    LivePayload payload = hub->out[hub->out_first].payload;
    hub->out_first = (hub->out_first + 1) % OUT_MAX;
    hub->out_count--;
    return payload;
}

static LivePayload in_pop(LiveHub *hub)
{
    LivePayload payload = hub->in[hub->in_first];
    hub->in_first = (hub->in_first + 1) % IN_MAX;
    hub->in_count--;
    return payload;
}

void live_hub_destroy(LiveHub *hub)
{
    if (hub == NULL) {
        return;
    }
    while (hub->out_count > 0) {
        free(out_pop(hub).data);
    }
    while (hub->in_count > 0) {
        free(in_pop(hub).data);
    }
    for (u32 i = 0; i < LATEST_COUNT; i++) {
        free(hub->latest[i].data);
    }
    pthread_mutex_destroy(&hub->mutex);
    free(hub);
}

/* ---- the host's side ---- */

void live_hub_push(LiveHub *hub, MessageKind kind, LivePayload payload, u64 now_ms)
{
    LivePayload old = {0};
    if (payload.data == NULL) {
        return;
    }
    live_set_run(&payload, hub->run);
    pthread_mutex_lock(&hub->mutex);
    if (kind == MESSAGE_ROSTER || kind == MESSAGE_PRESENCE) {
        Latest which = kind == MESSAGE_ROSTER ? LATEST_ROSTER : LATEST_PRESENCE;
        old = hub->latest[which];
        hub->latest[which] = payload;
    } else {
        old = hub->out_count == OUT_MAX ? out_pop(hub) : old;
        hub->out[(hub->out_first + hub->out_count++) % OUT_MAX] = (Waiting){payload, now_ms};
    }
    pthread_mutex_unlock(&hub->mutex);
    free(old.data);
}

LivePayload live_hub_received(LiveHub *hub)
{
    LivePayload payload = {0};
    pthread_mutex_lock(&hub->mutex);
    if (hub->in_count > 0) {
        payload = in_pop(hub);
    }
    pthread_mutex_unlock(&hub->mutex);
    return payload;
}

u64 live_hub_refused(LiveHub *hub)
{
    pthread_mutex_lock(&hub->mutex);
    u64 refused = hub->refused;
    pthread_mutex_unlock(&hub->mutex);
    return refused;
}

/* ---- the publisher's side ---- */

LivePayload live_hub_next(LiveHub *hub, u64 now_ms)
{
    LivePayload payload = {0};
    pthread_mutex_lock(&hub->mutex);
    while (hub->out_count > 0 && payload.data == NULL) {
        bool late = now_ms > hub->out[hub->out_first].since_ms + OUT_AGE_MS;
        payload = out_pop(hub);
        if (late) {
            free(payload.data);
            payload.data = NULL;
        }
    }
    LivePayload *presence = &hub->latest[LATEST_PRESENCE];
    if (payload.data == NULL && hub->latest[LATEST_ROSTER].data != NULL) {
        payload = hub->latest[LATEST_ROSTER];
        hub->latest[LATEST_ROSTER].data = NULL;
    } else if (payload.data == NULL && presence->data != NULL && now_ms >= hub->presence_ms) {
        payload = *presence;
        presence->data = NULL;
        hub->presence_ms = now_ms + u32_max(PRESENCE_MS, payload.bytes / PRESENCE_BYTES_MS);
    }
    pthread_mutex_unlock(&hub->mutex);
    return payload;
}

void live_hub_receive(LiveHub *hub, const u8 *data, size_t bytes)
{
    LivePayload payload = {0};
    LiveHead head;
    bool ours = live_read_head(data, bytes, &head) == ERROR_OK && head.run == hub->run;
    if (ours && bytes <= LIVE_FOLLOWER_BYTES_MAX) {
        payload = (LivePayload){malloc(bytes), (u32)bytes};
    }
    if (payload.data != NULL) {
        memcpy(payload.data, data, bytes);
    }
    pthread_mutex_lock(&hub->mutex);
    bool taken = payload.data != NULL && hub->in_count < IN_MAX;
    if (taken) {
        hub->in[(hub->in_first + hub->in_count++) % IN_MAX] = payload;
    }
    hub->refused += !taken;
    pthread_mutex_unlock(&hub->mutex);
    if (!taken) {
        free(payload.data);
    }
}
