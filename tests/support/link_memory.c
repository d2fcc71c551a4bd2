/*
 * link_memory.c: two ends per wire, a Netsim for each direction. Reliable messages are split into
 * numbered fragments of two streams (control, bulk), each resent until acknowledged, reordered and
 * reassembled. A datagram is 8 bytes of header and its payload.
 */
#include "tests/support/link_memory.h"
#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 8,
    FRAGMENT_BYTES = 1200,
    STREAMS = 2,
    WINDOW = 256, /* fragments in flight per stream */
    TRIES_KEPT = 8,
    PEER_NONE = 0xFFFFFFFF,
    TIMEOUT_MS = 5000,
    PING_MS = 500,
    CLOSE_MS = 3000, /* a graceful close waits this long for its reply */
    RTO_MIN_MS = 30,
    RTT_START_MS = 150,
    /* The timeout doubles with each try, up to a round trip and this, as in the ENet link. */
    RETRY_MS_MAX = 500,
};

typedef enum DatagramType {
    DATAGRAM_CONNECT = 1,
    DATAGRAM_ACCEPT,
    DATAGRAM_FRAGMENT,   /* stream, last, number, bytes */
    DATAGRAM_ACK,        /* stream, number received; payload: next number expected */
    DATAGRAM_UNRELIABLE, /* channel, bytes */
    DATAGRAM_PING,
    DATAGRAM_CLOSE, /* number: reason */
    DATAGRAM_CLOSED
} DatagramType;

typedef struct Datagram {
    u8 type;
    u8 lane; /* stream or channel */
    u8 last; /* last fragment of its message */
    u8 copy; /* retry number, low bits; echoed by its acknowledgement */
    u32 number;
} Datagram;

PL_STATIC_ASSERT(sizeof(Datagram) == HEADER_BYTES, "datagrams start with their header");
PL_STATIC_ASSERT(HEADER_BYTES + FRAGMENT_BYTES <= NETSIM_PACKET_BYTES_MAX, "fragments fit");

typedef struct Fragment {
    struct Fragment *next;
    u64 sent_ms; /* time of the last try */
    u64 tries_ms[TRIES_KEPT];
    u32 number;
    u32 bytes;
    u32 tries;
    u8 last;
    u8 data[FRAGMENT_BYTES];
} Fragment;

typedef struct Stream {
    Fragment *first, **end; /* unacknowledged, in order */
    u32 next_send;
    u32 expected;
    Fragment *early[WINDOW]; /* received out of order */
    u8 *message;             /* being reassembled */
    u32 message_bytes, message_capacity;
} Stream;

typedef enum EndState {
    END_IDLE, /* a server's end before the client's first datagram */
    END_CONNECTING,
    END_OPEN,
    END_CLOSING,
    END_CLOSED
} EndState;

struct MemoryLink;

typedef struct End {
    struct Wire *wire;
    struct MemoryLink *link; /* NULL once destroyed */
    u32 side;                /* 0 client, 1 server; sends into wire->sims[side] */
    u32 peer;
    EndState state;
    Stream streams[STREAMS];
    u64 heard_ms, sent_ms, closing_ms;
    u32 reason;
    u32 rtt_ms, rtt_var_ms;
    LinkStats stats;
} End;

typedef struct Wire {
    u32 references;
    Netsim *sims[2]; /* up, down */
    End ends[2];
} Wire;

typedef struct QueuedEvent {
    struct QueuedEvent *next;
    LinkEvent event;
    u8 data[];
} QueuedEvent;

typedef struct MemoryLink {
    Link link;
    u64 now_ms;
    End **ends; /* a client has one */
    u32 end_count, end_capacity;
    u32 peers_max;
    End **peers; /* by handle */
    QueuedEvent *events, **events_end;
    QueuedEvent *lent;
} MemoryLink;

/* ---- events ---- */

static void event_push(MemoryLink *link, const LinkEvent *event)
{
    QueuedEvent *queued = malloc(sizeof *queued + event->bytes);
    CHECK(queued != NULL);
    queued->next = NULL;
    queued->event = *event;
    queued->event.data = queued->data;
    if (event->bytes > 0) {
        memcpy(queued->data, event->data, event->bytes);
    }
    *link->events_end = queued;
    link->events_end = &queued->next;
}

static bool event_pop(MemoryLink *link, LinkEvent *event)
{
    free(link->lent);
    link->lent = link->events;
    if (link->lent == NULL) {
        return false;
    }
    link->events = link->lent->next;
    if (link->events == NULL) {
        link->events_end = &link->events;
    }
    *event = link->lent->event;
    return true;
}

static void end_event(End *end, LinkEventKind kind, u32 channel, const u8 *data, u32 bytes)
{
    LinkEvent event = {.kind = kind,
                       .peer = end->peer,
                       .channel = channel,
                       .data = data,
                       .bytes = bytes,
                       .reason = kind == LINK_DISCONNECTED ? end->reason : 0};
    event_push(end->link, &event);
}

/* ---- datagrams ---- */

static void end_send_copy(End *end, Datagram datagram, const void *data, u32 bytes)
{
    u8 raw[HEADER_BYTES + NETSIM_PACKET_BYTES_MAX];
    memcpy(raw, &datagram, sizeof datagram);
    if (bytes > 0) {
        memcpy(raw + HEADER_BYTES, data, bytes);
    }
    end->sent_ms = end->link->now_ms;
    end->stats.packets_out++;
    end->stats.bytes_out += HEADER_BYTES + bytes;
    netsim_send(end->wire->sims[end->side], raw, HEADER_BYTES + bytes, end->link->now_ms * 1000);
}

static void end_send(End *end, DatagramType type, u32 lane, u32 number, const void *data, u32 bytes)
{
    end_send_copy(end, (Datagram){(u8)type, (u8)lane, 0, 0, number}, data, bytes);
}

static void stream_clear(Stream *stream)
{
    while (stream->first != NULL) {
        Fragment *next = stream->first->next;
        free(stream->first);
        stream->first = next;
    }
    stream->end = &stream->first;
    for (u32 i = 0; i < WINDOW; i++) {
        free(stream->early[i]);
        stream->early[i] = NULL;
    }
    free(stream->message);
    stream->message = NULL;
    stream->message_bytes = stream->message_capacity = 0;
}

static void end_close(End *end)
{
    end->state = END_CLOSED;
    for (u32 s = 0; s < STREAMS; s++) {
        stream_clear(&end->streams[s]);
    }
    if (end->link != NULL && end->peer != PEER_NONE) {
        end_event(end, LINK_DISCONNECTED, 0, NULL, 0);
        end->link->peers[end->peer] = NULL;
        end->peer = PEER_NONE;
    }
}

static void message_join(Stream *stream, const Fragment *fragment)
{
    u32 bytes = stream->message_bytes + fragment->bytes;
    if (bytes > stream->message_capacity) {
        stream->message_capacity = 2 * bytes;
        stream->message = realloc(stream->message, stream->message_capacity);
        CHECK(stream->message != NULL);
    }
    memcpy(stream->message + stream->message_bytes, fragment->data, fragment->bytes);
    stream->message_bytes = bytes;
}

static void receive_fragment(End *end, const Datagram *datagram, const u8 *data, u32 bytes)
{
    u32 lane = datagram->lane % STREAMS;
    Stream *stream = &end->streams[lane];
    u32 ahead = datagram->number - stream->expected;
    Fragment **slot = &stream->early[datagram->number % WINDOW];
    if (ahead < WINDOW && *slot == NULL && bytes <= FRAGMENT_BYTES) {
        Fragment *fragment = malloc(sizeof *fragment);
        CHECK(fragment != NULL);
        fragment->bytes = bytes;
        fragment->last = datagram->last;
        memcpy(fragment->data, data, bytes);
        *slot = fragment;
    }
    for (;;) {
        slot = &stream->early[stream->expected % WINDOW];
        Fragment *fragment = *slot;
        if (fragment == NULL) {
            break;
        }
        message_join(stream, fragment);
        if (fragment->last) {
            end_event(end, LINK_RECEIVED, lane == 0 ? CHANNEL_CONTROL : CHANNEL_BULK,
                      stream->message, stream->message_bytes);
            stream->message_bytes = 0;
        }
        *slot = NULL;
        free(fragment);
        stream->expected++;
    }
    Datagram ack = {DATAGRAM_ACK, (u8)lane, 0, datagram->copy, datagram->number};
    end_send_copy(end, ack, &stream->expected, sizeof stream->expected);
}

static void rtt_learn(End *end, const Fragment *fragment, u32 copy)
{
    if (fragment->tries > TRIES_KEPT) {
        return; /* may belong to an older try with the same low bits */
    }
    u32 sample = (u32)(end->link->now_ms - fragment->tries_ms[copy % TRIES_KEPT]);
    u32 off = sample > end->rtt_ms ? sample - end->rtt_ms : end->rtt_ms - sample;
    end->rtt_var_ms = (3 * end->rtt_var_ms + off) / 4;
    end->rtt_ms = (7 * end->rtt_ms + sample) / 8;
}

static void receive_ack(End *end, const Datagram *datagram, const u8 *data, u32 bytes)
{
    Stream *stream = &end->streams[datagram->lane % STREAMS];
    u32 expected = 0;
    if (bytes != sizeof expected) {
        return;
    }
    memcpy(&expected, data, sizeof expected);
    for (Fragment **at = &stream->first; *at != NULL;) {
        Fragment *fragment = *at;
        if (fragment->number != datagram->number && (i32)(fragment->number - expected) >= 0) {
            at = &fragment->next;
            continue;
        }
        if (fragment->number == datagram->number) {
            rtt_learn(end, fragment, datagram->copy);
        }
        *at = fragment->next;
        free(fragment);
    }
    stream->end = &stream->first;
    while (*stream->end != NULL) {
        stream->end = &(*stream->end)->next;
    }
}

/* Gives a server's end a handle; false if the server is full. */
static bool end_admit(End *end)
{
    MemoryLink *link = end->link;
    for (u32 p = 0; p < link->peers_max; p++) {
        if (link->peers[p] == NULL) {
            link->peers[p] = end;
            end->peer = p;
            end->state = END_OPEN;
            end_event(end, LINK_CONNECTED, 0, NULL, 0);
            return true;
        }
    }
    return false;
}

static void end_receive(End *end, const u8 *raw, u32 size)
{
    Datagram datagram;
    if (size < HEADER_BYTES || end->link == NULL) {
        return;
    }
    memcpy(&datagram, raw, sizeof datagram);
    const u8 *data = raw + HEADER_BYTES;
    u32 bytes = size - HEADER_BYTES;
    end->heard_ms = end->link->now_ms;
    end->stats.packets_in++;
    end->stats.bytes_in += size;
    bool live = end->state == END_OPEN || end->state == END_CLOSING;
    switch ((DatagramType)datagram.type) {
    case DATAGRAM_CONNECT:
        if (live || (end->state == END_IDLE && end_admit(end))) {
            end_send(end, DATAGRAM_ACCEPT, 0, 0, NULL, 0);
        }
        break;
    case DATAGRAM_ACCEPT:
        if (end->state == END_CONNECTING) {
            end->state = END_OPEN;
            end_event(end, LINK_CONNECTED, 0, NULL, 0);
        }
        break;
    case DATAGRAM_FRAGMENT:
        if (live) {
            receive_fragment(end, &datagram, data, bytes);
        }
        break;
    case DATAGRAM_ACK:
        receive_ack(end, &datagram, data, bytes);
        break;
    case DATAGRAM_UNRELIABLE:
        if (end->state == END_OPEN) {
            end_event(end, LINK_RECEIVED, datagram.lane, data, bytes);
        }
        break;
    case DATAGRAM_CLOSE:
        end_send(end, DATAGRAM_CLOSED, 0, 0, NULL, 0);
        if (end->state != END_CLOSED && end->state != END_IDLE) {
            end->reason = datagram.number;
            end_close(end);
        }
        break;
    case DATAGRAM_CLOSED:
        if (end->state == END_CLOSING) {
            end_close(end);
        }
        break;
    case DATAGRAM_PING:
        break;
    }
}

/* ---- time ---- */

/* Retransmission timeout after `tries` tries. */
static u64 end_rto_ms(const End *end, u32 tries)
{
    u32 first_ms = u32_max(RTO_MIN_MS, end->rtt_ms + 4 * end->rtt_var_ms);
    u32 most_ms = u32_max(first_ms, end->rtt_ms + RETRY_MS_MAX);
    return u32_min(first_ms << u32_min(u32_max(tries, 1) - 1, 8), most_ms);
}

static void stream_send(End *end, u32 lane)
{
    Stream *stream = &end->streams[lane];
    u64 now = end->link->now_ms;
    for (Fragment *f = stream->first; f != NULL && f->number - stream->first->number < WINDOW;
         f = f->next) {
        if (f->tries == 0 || now - f->sent_ms >= end_rto_ms(end, f->tries)) {
            u8 copy = (u8)(f->tries++ % TRIES_KEPT);
            f->sent_ms = f->tries_ms[copy] = now;
            Datagram datagram = {DATAGRAM_FRAGMENT, (u8)lane, f->last, copy, f->number};
            end_send_copy(end, datagram, f->data, f->bytes);
        }
    }
}

static void end_work(End *end)
{
    u64 now = end->link->now_ms;
    if (end->state == END_IDLE || end->state == END_CLOSED) {
        return;
    }
    if (now - end->heard_ms >= TIMEOUT_MS) {
        end->reason = end->state == END_CLOSING ? end->reason : 0;
        end_close(end);
        return;
    }
    if (end->state == END_CONNECTING) {
        if (end->sent_ms == 0 || now - end->sent_ms >= end_rto_ms(end, 1)) {
            end_send(end, DATAGRAM_CONNECT, 0, 0, NULL, 0);
        }
        return;
    }
    for (u32 lane = 0; lane < STREAMS; lane++) {
        stream_send(end, lane);
    }
    bool drained = end->streams[0].first == NULL && end->streams[1].first == NULL;
    if (end->state == END_CLOSING && drained) {
        if (end->closing_ms == 0) {
            end->closing_ms = now + 1;
            end_send(end, DATAGRAM_CLOSE, 0, end->reason, NULL, 0);
        } else if (now - end->sent_ms >= end_rto_ms(end, 1)) {
            end_send(end, DATAGRAM_CLOSE, 0, end->reason, NULL, 0);
        }
        if (now >= end->closing_ms + CLOSE_MS) {
            end_close(end);
        }
    } else if (now - end->sent_ms >= PING_MS) {
        end_send(end, DATAGRAM_PING, 0, 0, NULL, 0);
    }
}

/* ---- Link ---- */

static void wire_release(Wire *wire)
{
    if (--wire->references == 0) {
        netsim_destroy(wire->sims[0]);
        netsim_destroy(wire->sims[1]);
        free(wire);
    }
}

static void memory_destroy(Link *base)
{
    MemoryLink *link = (MemoryLink *)base;
    if (link == NULL) {
        return;
    }
    for (u32 i = 0; i < link->end_count; i++) {
        End *end = link->ends[i];
        end->link = NULL;
        end_close(end);
        wire_release(end->wire);
    }
    LinkEvent event;
    while (event_pop(link, &event)) {
    }
    free(link->ends);
    free(link->peers);
    free(link);
}

/* Drops a server's ends whose client was destroyed. */
static void forget_dead(MemoryLink *link)
{
    for (u32 i = 0; i < link->end_count;) {
        End *end = link->ends[i];
        bool dead = end->state == END_CLOSED || end->state == END_IDLE;
        if (dead && end->side == 1 && end->wire->ends[0].link == NULL) {
            wire_release(end->wire);
            link->ends[i] = link->ends[--link->end_count];
        } else {
            i++;
        }
    }
}

static bool memory_poll(Link *base, u64 now_ms, LinkEvent *event)
{
    MemoryLink *link = (MemoryLink *)base;
    link->now_ms = now_ms;
    if (event_pop(link, event)) {
        return true;
    }
    u8 raw[NETSIM_PACKET_BYTES_MAX];
    for (u32 i = 0; i < link->end_count; i++) {
        End *end = link->ends[i];
        u32 bytes;
        while ((bytes = netsim_receive(end->wire->sims[1 - end->side], now_ms * 1000, raw)) > 0) {
            end_receive(end, raw, bytes);
        }
        end_work(end);
    }
    forget_dead(link);
    return event_pop(link, event);
}

static End *peer_end(const MemoryLink *link, u32 peer)
{
    return peer < link->peers_max ? link->peers[peer] : NULL;
}

static int send_reliable(End *end, u32 lane, const u8 *data, u32 bytes)
{
    Stream *stream = &end->streams[lane];
    u32 at = 0;
    do {
        Fragment *fragment = calloc(1, sizeof *fragment);
        CHECK(fragment != NULL);
        fragment->bytes = u32_min(bytes - at, FRAGMENT_BYTES);
        fragment->number = stream->next_send++;
        if (fragment->bytes > 0) {
            memcpy(fragment->data, data + at, fragment->bytes);
        }
        at += fragment->bytes;
        fragment->last = at == bytes;
        *stream->end = fragment;
        stream->end = &fragment->next;
    } while (at < bytes);
    stream_send(end, lane);
    return ERROR_OK;
}

static int memory_send(Link *base, u32 peer, u32 channel, const void *data, u32 bytes)
{
    MemoryLink *link = (MemoryLink *)base;
    End *end = peer_end(link, peer);
    if (end == NULL || end->state != END_OPEN) {
        return ERROR_STATE;
    }
    bool reliable = channel == CHANNEL_CONTROL || channel == CHANNEL_BULK;
    if (channel >= CHANNEL_COUNT ||
        bytes > (reliable ? (u32)MESSAGE_BYTES_MAX + SEAL_OVERHEAD_BYTES
                          : (u32)NETSIM_PACKET_BYTES_MAX - HEADER_BYTES)) {
        return ERROR_LIMIT;
    }
    if (reliable) {
        return send_reliable(end, channel == CHANNEL_CONTROL ? 0 : 1, data, bytes);
    }
    end_send(end, DATAGRAM_UNRELIABLE, channel, 0, data, bytes);
    return ERROR_OK;
}

static void memory_disconnect(Link *base, u32 peer, u32 reason)
{
    MemoryLink *link = (MemoryLink *)base;
    End *end = peer_end(link, peer);
    if (end == NULL) {
        return;
    }
    end->reason = reason;
    if (end->state == END_CONNECTING) {
        end_close(end);
    } else if (end->state == END_OPEN) {
        end->state = END_CLOSING;
        end->closing_ms = 0;
    }
}

static void memory_flush(Link *base)
{
    PL_UNUSED(base);
}

static bool memory_stats(Link *base, u32 peer, LinkStats *stats)
{
    const End *end = peer_end((const MemoryLink *)base, peer);
    if (end == NULL) {
        return false;
    }
    *stats = end->stats;
    stats->rtt_ms = end->rtt_ms;
    snprintf(stats->address, sizeof stats->address, "memory:%u", peer);
    return true;
}

static int memory_fd(Link *base)
{
    PL_UNUSED(base);
    return -1;
}

static const LinkOps memory_ops = {
    .destroy = memory_destroy,
    .poll = memory_poll,
    .send = memory_send,
    .disconnect = memory_disconnect,
    .flush = memory_flush,
    .stats = memory_stats,
    .fd = memory_fd,
};

static MemoryLink *link_create(u32 peers_max)
{
    MemoryLink *link = calloc(1, sizeof *link);
    if (link == NULL) {
        return NULL;
    }
    link->link.ops = &memory_ops;
    link->events_end = &link->events;
    link->peers_max = peers_max;
    link->peers = calloc(peers_max, sizeof(End *));
    if (link->peers == NULL) {
        free(link);
        return NULL;
    }
    return link;
}

static bool link_add(MemoryLink *link, Wire *wire, u32 side, EndState state)
{
    if (link->end_count == link->end_capacity) {
        u32 capacity = link->end_capacity != 0 ? 2 * link->end_capacity : 4;
        End **ends = realloc(link->ends, capacity * sizeof(End *));
        if (ends == NULL) {
            return false;
        }
        link->ends = ends;
        link->end_capacity = capacity;
    }
    End *end = &wire->ends[side];
    end->wire = wire;
    end->link = link;
    end->side = side;
    end->peer = PEER_NONE;
    end->state = state;
    end->heard_ms = link->now_ms;
    end->rtt_ms = RTT_START_MS;
    end->rtt_var_ms = RTT_START_MS / 4;
    for (u32 s = 0; s < STREAMS; s++) {
        end->streams[s].end = &end->streams[s].first;
    }
    link->ends[link->end_count++] = end;
    return true;
}

Link *link_memory_listen(u32 peers_max)
{
    MemoryLink *link = link_create(peers_max);
    return link != NULL ? &link->link : NULL;
}

Link *link_memory_connect(Link *server, const NetsimOptions *up, const NetsimOptions *down)
{
    static const NetsimOptions perfect;
    MemoryLink *host = (MemoryLink *)server;
    MemoryLink *link = link_create(1);
    Wire *wire = calloc(1, sizeof *wire);
    if (link == NULL || wire == NULL) {
        memory_destroy(link != NULL ? &link->link : NULL);
        free(wire);
        return NULL;
    }
    link->now_ms = host->now_ms;
    wire->sims[0] = netsim_create(up != NULL ? up : &perfect);
    wire->sims[1] = netsim_create(down != NULL ? down : &perfect);
    CHECK(wire->sims[0] != NULL && wire->sims[1] != NULL);
    wire->references = 2;
    CHECK(link_add(link, wire, 0, END_CONNECTING) && link_add(host, wire, 1, END_IDLE));
    wire->ends[0].peer = 0;
    link->peers[0] = &wire->ends[0];
    return &link->link;
}

void link_memory_set(Link *client, const NetsimOptions *up, const NetsimOptions *down)
{
    Wire *wire = ((MemoryLink *)client)->ends[0]->wire;
    netsim_set(wire->sims[0], up);
    netsim_set(wire->sims[1], down);
}
