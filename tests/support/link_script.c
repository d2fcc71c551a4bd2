/* link_script.c: see link_script.h. */
#include "tests/support/link_script.h"

#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Arrival {
    struct Arrival *next;
    LinkEvent event;
    u8 *data; /* owned */
} Arrival;

typedef struct ScriptLink {
    Link base;
    LinkScriptSent *sent;
    void *context;
    Arrival *first, **end; /* in order */
    Arrival *polled;       /* its payload is borrowed until the next poll */
} ScriptLink;

static void arrival_free(Arrival *arrival)
{
    if (arrival != NULL) {
        free(arrival->data);
        free(arrival);
    }
}

static void script_destroy(Link *link)
{
    ScriptLink *s = (ScriptLink *)link;
    arrival_free(s->polled);
    while (s->first != NULL) {
        Arrival *arrival = s->first;
        s->first = arrival->next;
        arrival_free(arrival);
    }
    free(s);
}

static bool script_poll(Link *link, u64 now_ms, LinkEvent *event)
{
    ScriptLink *s = (ScriptLink *)link;
    PL_UNUSED(now_ms);
    arrival_free(s->polled);
    s->polled = s->first;
    if (s->first == NULL) {
        return false;
    }
    s->first = s->first->next;
    s->end = s->first == NULL ? &s->first : s->end;
    *event = s->polled->event;
    return true;
}

static int script_send(Link *link, u32 peer, u32 channel, const void *data, u32 bytes)
{
    ScriptLink *s = (ScriptLink *)link;
    if (s->sent != NULL) {
        s->sent(s->context, peer, channel, data, bytes);
    }
    return ERROR_OK;
}

static void script_disconnect(Link *link, u32 peer, u32 reason)
{
    link_script_push(link, LINK_DISCONNECTED, peer, reason);
}

static void script_flush(Link *link)
{
    PL_UNUSED(link);
}

/* Each peer from a network of its own. */
static bool script_stats(Link *link, u32 peer, LinkStats *stats)
{
    PL_UNUSED(link);
    memset(stats, 0, sizeof *stats);
    snprintf(stats->address, sizeof stats->address, "10.%u.0.1:7000", peer & 255);
    return true;
}

static int script_fd(Link *link)
{
    PL_UNUSED(link);
    return -1;
}

static bool script_binding(Link *link, u32 peer, u8 out[BINDING_BYTES])
{
    PL_UNUSED(link);
    memset(out, (int)(1 + peer), BINDING_BYTES);
    return true;
}

Link *link_script_create(LinkScriptSent *sent, void *context)
{
    static const LinkOps ops = {.destroy = script_destroy,
                                .poll = script_poll,
                                .send = script_send,
                                .disconnect = script_disconnect,
                                .flush = script_flush,
                                .stats = script_stats,
                                .fd = script_fd,
                                .binding = script_binding};
    ScriptLink *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->base.ops = &ops;
    s->sent = sent;
    s->context = context;
    s->end = &s->first;
    return &s->base;
}

static void push(Link *link, const LinkEvent *event)
{
    ScriptLink *s = (ScriptLink *)link;
    Arrival *arrival = calloc(1, sizeof *arrival);
    CHECK(arrival != NULL);
    arrival->event = *event;
    if (event->kind == LINK_RECEIVED) {
        arrival->data = malloc(event->bytes > 0 ? event->bytes : 1);
        CHECK(arrival->data != NULL);
        if (event->bytes > 0) {
            memcpy(arrival->data, event->data, event->bytes);
        }
        arrival->event.data = arrival->data;
    }
    *s->end = arrival;
    s->end = &arrival->next;
}

void link_script_push(Link *link, LinkEventKind kind, u32 peer, u32 reason)
{
    push(link, &(LinkEvent){.kind = kind, .peer = peer, .reason = reason});
}

void link_script_payload(Link *link, u32 peer, u32 channel, const u8 *data, u32 bytes)
{
    push(
        link,
        &(LinkEvent){
            .kind = LINK_RECEIVED, .peer = peer, .channel = channel, .data = data, .bytes = bytes});
}
