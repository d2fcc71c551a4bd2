/*
 * link_enet.c: the Link over ENet inside a tunnel (tunnel.h): each datagram is opened before ENet
 * parses it and sealed after ENet wrote it; commands on which ENet 1.3.17 would allocate or fail
 * are dropped, even from an authenticated peer. The only file that includes enet.h.
 *
 * ENet has a callback for received datagrams (intercept), but none for sent ones. Its checksum
 * callback gets the buffers of the whole datagram, header and all, right before they are sent, and
 * they are the host's: sealing replaces them. The checksum itself is 0 and does not travel.
 *
 * ENet 1.3 knows IPv4 only. Its functions enet_socket_send and enet_socket_receive are defined
 * here: the dynamic linker takes a program's own before a library's (interposition), and libenet
 * calls them like any others. So sockets are those of protocol/session/udp.h, and what ENet takes
 * for the address of a peer is the id of its tunnel.
 */
#include "protocol/session/dialer.h"
#include "protocol/session/door.h"
#include "protocol/session/endpoint.h"
#include "protocol/session/enet_commands.h"
#include "protocol/session/link.h"
#include "protocol/session/message.h"
#include "protocol/session/tunnel.h"
#include "protocol/session/udp.h"

#include <enet/enet.h>
#include <enet/time.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENET_HEAD_BYTES = 12,
    DATAGRAM_HEAD_BYTES = 28,     /* of IPv4 and UDP */
    DATAGRAM_HEAD_BYTES_MAX = 48, /* of IPv6 */
    /* Of ENet's checksum, which is in its datagrams but not in ours. */
    CHECKSUM_BYTES = 4,
    /* With the seal and IP and UDP headers 1280, which every usable path carries unfragmented; a
     * state packet with ENet's 12 bytes fits. */
    MTU = 1280 - DATAGRAM_HEAD_BYTES_MAX - TUNNEL_OVERHEAD_BYTES + CHECKSUM_BYTES,
    TIMEOUT_MS_MIN = 8000,
    TIMEOUT_MS_MAX = 20000,
    RETRY_MS_MAX = 500,
    RETRY_CHECK_MS = 50,
    SWEEP_MS = 250,
    /* enet_host_service stops after 256 datagrams: it is retried this often. */
    SERVICE_TRIES = 8,
    /* Handshakes that wait beside the peers. */
    TUNNELS_PER_PEER = 2,
    TUNNELS_SPARE = 64,
    /* To unknown senders. */
    REPLY_BYTES_MAX = 256
};
PL_STATIC_ASSERT((int)TUNNEL_REPLY_BYTES_MAX <= (int)REPLY_BYTES_MAX &&
                     (int)INQUIRY_ANSWER_BYTES <= (int)REPLY_BYTES_MAX,
                 "answers before a tunnel");
PL_STATIC_ASSERT(STATE_PAYLOAD_BYTES_MAX + ENET_HEAD_BYTES + CHECKSUM_BYTES <= MTU,
                 "state is never fragmented");

typedef struct PeerStats {
    u64 bytes_in, bytes_out, packets_in, packets_out;
    bool connected;
    u32 connect_id; /* of its connection, of the last event */
    bool dropped;   /* ended here: to be reported as disconnected */
} PeerStats;

typedef struct LinkEnet {
    Link base;
    ENetHost *host;
    ENetPacket *borrowed; /* data of the last event */
    PeerStats *peers;     /* [host->peerCount] */
    bool server;
    u64 bounded_ms;        /* time of the last bound_retries */
    u64 now_ms;            /* of the current poll, for the callbacks */
    Udp udp;               /* its descriptor is host->socket, too, and ENet's to close */
    ProbeAddress from, to; /* of the datagram that ENet receives, sends */
    u8 opened[TUNNEL_DATAGRAM_MAX + CHECKSUM_BYTES];
    u8 gathered[TUNNEL_DATAGRAM_MAX], sealed[TUNNEL_DATAGRAM_MAX + TUNNEL_OVERHEAD_BYTES];
    u64 forged;           /* datagrams */
    TunnelServer tunnels; /* server */
    u64 swept_ms;
    DoorPeer *doors; /* [host->peerCount]; server only, as the next two */
    DoorLimits limits;
    u32 dropped;     /* peers to be reported */
    bool has_notice; /* there is a notice */
    WorldNotice notice;
    InquiryLimits inquiries;
    /* Client only. */
    Dialer dialer;
    Tunnel tunnel;
    ENetPeer *outgoing; /* NULL until the tunnel is open */
    bool over;          /* disconnected: reported once */
} LinkEnet;

/* ---- datagrams for ENet ---- */

/* ENet's callback has no context argument other than the host; it runs only inside poll, and a
 * host belongs to one link, found through its peers' data. */
static LinkEnet *link_of(ENetHost *host)
{
    return host->peers[0].data;
}

/* ---- places (door.h) ---- */

static void door_set(LinkEnet *link, u32 peer, DoorState state)
{
    DoorPeer *door = &link->doors[peer];
    const Tunnel *tunnel = tunnel_server_of(&link->tunnels, link->host->peers[peer].connectID);
    door->state = state;
    door->since_ms = link->now_ms;
    if (tunnel != NULL) {
        door->address = tunnel->address.host;
    }
}

/* The tunnel's slot is free again soon. */
static void tunnel_ended(LinkEnet *link, u32 connect_id)
{
    Tunnel *tunnel = link->server ? tunnel_server_of(&link->tunnels, connect_id) : NULL;
    if (tunnel != NULL) {
        tunnel->ended_ms = u64_max(link->now_ms, 1);
        tunnel->kept = false;
    }
}

/* Ends a peer without notifying it. */
static void peer_drop(LinkEnet *link, u32 peer)
{
    tunnel_ended(link, link->host->peers[peer].connectID);
    enet_peer_reset(&link->host->peers[peer]);
    link->doors[peer].state = DOOR_FREE;
    if (link->peers[peer].connected) {
        link->peers[peer].connected = false;
        link->peers[peer].dropped = true;
        link->dropped++;
    }
}

/* Detects peers that ENet has opened or freed by itself, and drops overdue ones. */
static void doors_update(LinkEnet *link)
{
    for (u32 i = 0; link->server && i < link->host->peerCount; i++) {
        bool free = link->host->peers[i].state == ENET_PEER_STATE_DISCONNECTED;
        if (free) {
            link->doors[i].state = DOOR_FREE;
        } else if (link->doors[i].state == DOOR_FREE) {
            door_set(link, i, DOOR_OPENING);
        } else if (door_overdue(&link->doors[i], link->now_ms)) {
            peer_drop(link, i);
        }
    }
}

/* True if there is a place for a new connection, or was made. */
static bool place_find(LinkEnet *link, const Tunnel *tunnel, u32 connect_id)
{
    doors_update(link);
    for (size_t i = 0; i < link->host->peerCount; i++) {
        const ENetPeer *peer = &link->host->peers[i];
        if (peer->state != ENET_PEER_STATE_DISCONNECTED && peer->address.host == tunnel->id &&
            peer->connectID == connect_id) {
            return true; /* a repeat */
        }
    }
    i32 chosen = door_choose(link->doors, (u32)link->host->peerCount, tunnel->address.host,
                             &link->limits, link->tunnels.probe.key);
    if (chosen >= 0) {
        peer_drop(link, (u32)chosen);
    }
    return chosen != DOOR_WAIT;
}

static bool dropped_report(LinkEnet *link, LinkEvent *event)
{
    for (u32 i = 0; link->dropped > 0 && i < link->host->peerCount; i++) {
        if (link->peers[i].dropped) {
            link->peers[i].dropped = false;
            link->dropped--;
            *event = (LinkEvent){.kind = LINK_DISCONNECTED, .peer = i};
            return true;
        }
    }
    return false;
}

/* True if a datagram without a peer is a CONNECT, the only one of its tunnel, and there is
 * a place for it. */
static bool connect_ok(LinkEnet *link, Tunnel *tunnel, const u8 *data, size_t bytes, size_t offset)
{
    ENetProtocolConnect connect;
    if (!link->server || bytes < offset + sizeof connect) {
        return false;
    }
    memcpy(&connect, data + offset, sizeof connect);
    return (connect.header.command & ENET_PROTOCOL_COMMAND_MASK) == ENET_PROTOCOL_COMMAND_CONNECT &&
           ntohs(connect.outgoingPeerID) < ENET_PROTOCOL_MAXIMUM_PEER_ID &&
           tunnel_server_bind(&link->tunnels, tunnel, connect.connectID) &&
           place_find(link, tunnel, connect.connectID);
}

PL_STATIC_ASSERT((int)ENET_COMMAND_COUNT == (int)ENET_PROTOCOL_COMMAND_COUNT &&
                     (int)ENET_COMMAND_CONNECT == (int)ENET_PROTOCOL_COMMAND_CONNECT,
                 "the commands of this ENet");

static size_t head_bytes(const u8 *data)
{
    return (data[0] & (ENET_PROTOCOL_HEADER_FLAG_SENT_TIME >> 8)) != 0 ? 4 : 2;
}

/* The address of the other end as ENet sees it. */
static ENetAddress name_of(const Tunnel *tunnel)
{
    return (ENetAddress){.host = tunnel->id, .port = 1};
}

/* Checks the content of a tunnel's datagram; `bytes_all` is its size on the wire. An authenticated
 * peer may still be hostile: it can only affect its own connection. */
static bool datagram_ok(LinkEnet *link, Tunnel *tunnel, const u8 *data, size_t bytes, u32 bytes_all)
{
    if (bytes < sizeof(u16)) {
        return false;
    }
    u16 head = (u16)(data[0] << 8 | data[1]);
    u16 id = head & ENET_PROTOCOL_MAXIMUM_PEER_ID;
    size_t offset = head_bytes(data);
    if ((head & ENET_PROTOCOL_HEADER_FLAG_COMPRESSED) != 0 || bytes <= offset ||
        !enet_commands_ok(data + offset, bytes - offset)) {
        return false;
    }
    link->host->receivedAddress = name_of(tunnel);
    if (id == ENET_PROTOCOL_MAXIMUM_PEER_ID) {
        return connect_ok(link, tunnel, data, bytes, offset);
    }
    if (id >= link->host->peerCount) {
        return false;
    }
    ENetPeer *peer = &link->host->peers[id];
    if (link->server && tunnel_server_of(&link->tunnels, peer->connectID) != tunnel) {
        return false;
    }
    link->peers[id].bytes_in += bytes_all + DATAGRAM_HEAD_BYTES;
    link->peers[id].packets_in++;
    return true;
}

/* Handles path questions and answers. True: this was one. */
static bool path_receive(LinkEnet *link, Tunnel *tunnel, ProbeAddress from, const u8 *plain,
                         u32 bytes)
{
    u8 out[TUNNEL_PATH_BYTES + TUNNEL_OVERHEAD_BYTES];
    u32 answer = link->server ? 0 : tunnel_path_answer(tunnel, plain, bytes, out);
    if (answer > 0) {
        (void)udp_send(&link->udp, &from, out, answer);
    }
    if (link->server && !tunnel_server_moved(&link->tunnels, tunnel, from, plain, bytes)) {
        u32 question = tunnel_server_path(tunnel, from, link->now_ms, out);
        if (question > 0) {
            (void)udp_send(&link->udp, &from, out, question);
        }
    }
    return tunnel_is_path(plain, bytes);
}

/* Opens a datagram and passes its content to ENet, with the checksum that it expects. */
static bool tunnel_receive(LinkEnet *link, ProbeAddress from, const u8 *data, u32 bytes)
{
    Tunnel *tunnel = link->server ? tunnel_server_find(&link->tunnels, data, bytes) : &link->tunnel;
    u8 *plain = link->opened + CHECKSUM_BYTES;
    int size = tunnel != NULL ? tunnel_open(tunnel, data, bytes, link->now_ms, plain) : -1;
    link->forged += size <= 0;
    if (size <= 0 || path_receive(link, tunnel, from, plain, (u32)size) ||
        !datagram_ok(link, tunnel, plain, (size_t)size, bytes)) {
        return false;
    }
    size_t head = head_bytes(plain);
    memmove(link->opened, plain, head);
    memset(link->opened + head, 0, CHECKSUM_BYTES);
    link->host->receivedData = link->opened;
    link->host->receivedDataLength = (size_t)size + CHECKSUM_BYTES;
    return true;
}

/* Server: datagrams of unknown senders, before a tunnel. */
static void asked(LinkEnet *link, ProbeAddress from, const u8 *data, u32 bytes)
{
    u8 reply[REPLY_BYTES_MAX];
    u32 size = 0;
    if (!inquiry_is(data, bytes)) {
        size = tunnel_server_greet(&link->tunnels, from, data, bytes, link->now_ms, reply);
    } else if (link->has_notice && inquiry_allowed(&link->inquiries, from.host, link->now_ms)) {
        inquiry_answer(&link->notice, data, reply);
        size = INQUIRY_ANSWER_BYTES;
    }
    if (size > 0) {
        (void)udp_send(&link->udp, &from, reply, size);
    }
}

/* Called for every datagram before ENet. 1: handled here or dropped; 0: for ENet. */
static int ENET_CALLBACK intercept(ENetHost *host, ENetEvent *event)
{
    PL_UNUSED(event);
    LinkEnet *link = link_of(host);
    const u8 *data = host->receivedData;
    u32 bytes = (u32)host->receivedDataLength;
    ProbeAddress from = link->from;
    if (!link->server && !dialer_asks(&link->dialer, from)) {
        return 1;
    }
    if (!probe_is(data, bytes)) {
        return tunnel_receive(link, from, data, bytes) ? 0 : 1;
    }
    if (link->server) {
        asked(link, from, data, bytes);
    } else {
        dialer_receive(&link->dialer, &link->tunnel, from, data, bytes, link->now_ms);
    }
    return 1;
}

/* ENet's checksum of a datagram. To send, it has a header and commands in several buffers of the
 * host: they are sealed. A received one is in one buffer and was opened before. */
static enet_uint32 ENET_CALLBACK seal_datagram(const ENetBuffer *buffers, size_t count)
{
    if (count < 2) {
        return 0;
    }
    ENetHost *host = (ENetHost *)((uintptr_t)buffers - offsetof(ENetHost, buffers));
    LinkEnet *link = link_of(host);
    /* ENet wrote the connection's id in place of the checksum. */
    u32 connect_id;
    size_t head = buffers[0].dataLength - CHECKSUM_BYTES, bytes = head;
    memcpy(&connect_id, (const u8 *)buffers[0].data + head, sizeof connect_id);
    memcpy(link->gathered, buffers[0].data, head);
    for (size_t i = 1; i < count && bytes + buffers[i].dataLength <= sizeof link->gathered; i++) {
        memcpy(link->gathered + bytes, buffers[i].data, buffers[i].dataLength);
        bytes += buffers[i].dataLength;
    }
    Tunnel *tunnel = link->server ? tunnel_server_of(&link->tunnels, connect_id) : &link->tunnel;
    bool open = tunnel != NULL && tunnel->state != TUNNEL_FREE;
    host->buffers[0].data = link->sealed;
    host->buffers[0].dataLength =
        open ? tunnel_seal(tunnel, link->gathered, (u32)bytes, link->sealed) : 0;
    host->bufferCount = 1;
    if (open) {
        link->to = tunnel->address;
    }
    return 0;
}

/* ENet calls these two with the buffers or the address that are members of a host. */
int enet_socket_send(ENetSocket socket, const ENetAddress *address, const ENetBuffer *buffers,
                     size_t count)
{
    PL_UNUSED(socket);
    PL_UNUSED(address);
    PL_UNUSED(count);
    ENetHost *host = (ENetHost *)((uintptr_t)buffers - offsetof(ENetHost, buffers));
    const LinkEnet *link = link_of(host);
    /* Already sealed. Datagrams that cannot be sent now are lost, like others. */
    if (buffers[0].dataLength > 0) {
        (void)udp_send(&link->udp, &link->to, buffers[0].data, (u32)buffers[0].dataLength);
    }
    return (int)buffers[0].dataLength;
}

int enet_socket_receive(ENetSocket socket, ENetAddress *address, ENetBuffer *buffers, size_t count)
{
    PL_UNUSED(socket);
    PL_UNUSED(count);
    ENetHost *host = (ENetHost *)((uintptr_t)address - offsetof(ENetHost, receivedAddress));
    LinkEnet *link = link_of(host);
    u32 capacity = u32_min((u32)buffers[0].dataLength, TUNNEL_DATAGRAM_MAX);
    return (int)udp_receive(&link->udp, &link->from, buffers[0].data, capacity);
}

/* ---- peers ---- */

/* Only once connected: before that ENet compares the throttle with the announced one. */
static void peer_prepare(ENetPeer *peer)
{
    /* The remote CONNECT chooses these values; ours are better for both. ENet's throttle must
     * never drop unreliable packets: the host controls the rate. */
    peer->mtu = u32_min(peer->mtu, MTU);
    peer->packetThrottle = ENET_PEER_PACKET_THROTTLE_SCALE;
    peer->packetThrottleDeceleration = 0;
    enet_peer_timeout(peer, ENET_PEER_TIMEOUT_LIMIT, TIMEOUT_MS_MIN, TIMEOUT_MS_MAX);
}

static u32 peer_index(const LinkEnet *link, const ENetPeer *peer)
{
    return (u32)(peer - link->host->peers);
}

static void borrowed_free(LinkEnet *link)
{
    if (link->borrowed != NULL) {
        enet_packet_destroy(link->borrowed);
        link->borrowed = NULL;
    }
}

/* ---- operations ---- */

static bool event_translate(LinkEnet *link, const ENetEvent *in, LinkEvent *out)
{
    u32 index = peer_index(link, in->peer);
    PeerStats *stats = &link->peers[index];
    memset(out, 0, sizeof *out);
    out->peer = index;
    switch (in->type) {
    case ENET_EVENT_TYPE_CONNECT:
        /* Reports the former peer of this slot, if that has not been done. */
        link->dropped -= stats->dropped;
        memset(stats, 0, sizeof *stats);
        stats->connected = true;
        stats->connect_id = in->peer->connectID;
        if (link->server) {
            door_set(link, index, DOOR_HALF);
        }
        peer_prepare(in->peer);
        out->kind = LINK_CONNECTED;
        return true;
    case ENET_EVENT_TYPE_DISCONNECT: {
        bool was = stats->connected || !link->server;
        stats->connected = false;
        link->over = !link->server;
        tunnel_ended(link, stats->connect_id);
        out->kind = LINK_DISCONNECTED;
        out->reason = in->data;
        return was;
    }
    case ENET_EVENT_TYPE_RECEIVE:
        link->dialer.notified = true;
        link->borrowed = in->packet;
        out->kind = LINK_RECEIVED;
        out->channel = in->channelID;
        out->data = in->packet->data;
        out->bytes = (u32)in->packet->dataLength;
        return true;
    default:
        return false;
    }
}

/* Client: resets its ENet connection, if any. */
static void outgoing_drop(LinkEnet *link)
{
    if (link->outgoing != NULL) {
        enet_peer_reset(link->outgoing);
        link->outgoing = NULL;
    }
    link->peers[0].connected = false;
}

/* Client: requests a cookie, opens the tunnel, connects in it; gives up after the timeout. False:
 * ended. */
static bool client_advance(LinkEnet *link, LinkEvent *event)
{
    u8 datagram[PROBE_BYTES];
    u32 reason;
    if (dialer_forgotten(&link->dialer, &link->tunnel, link->now_ms)) {
        outgoing_drop(link);
        tunnel_end(&link->tunnel);
        dialer_restart(&link->dialer);
    }
    if (link->peers[0].connected) {
        return true;
    }
    bool open = link->tunnel.state != TUNNEL_FREE;
    if (dialer_gives_up(&link->dialer, open, link->now_ms, &reason)) {
        outgoing_drop(link);
        link->over = true;
        *event = (LinkEvent){.kind = LINK_DISCONNECTED, .reason = reason};
        return false;
    }
    if (!open && dialer_ask(&link->dialer, link->now_ms, datagram)) {
        for (u32 i = 0; i < link->dialer.remote_count; i++) {
            (void)udp_send(&link->udp, &link->dialer.remotes[i], datagram, sizeof datagram);
        }
    }
    if (open && link->outgoing == NULL) {
        ENetAddress to = name_of(&link->tunnel);
        link->outgoing = enet_host_connect(link->host, &to, CHANNEL_COUNT, 0);
        if (link->outgoing != NULL) {
            link->outgoing->data = link;
            enet_peer_timeout(link->outgoing, ENET_PEER_TIMEOUT_LIMIT, TIMEOUT_MS_MIN,
                              TIMEOUT_MS_MAX);
        }
    }
    return true;
}

/* ENet doubles its timeout with each loss of the same command, so a path that loses a fifth of
 * its packets would occasionally delay a reliable message by ten seconds. Half a second beyond
 * the round trip suffices for any usable path. */
static void bound_retries(LinkEnet *link)
{
    if (link->now_ms - link->bounded_ms < RETRY_CHECK_MS) {
        return;
    }
    link->bounded_ms = link->now_ms;
    doors_update(link);
    for (size_t i = 0; i < link->host->peerCount; i++) {
        ENetPeer *peer = &link->host->peers[i];
        if (peer->state == ENET_PEER_STATE_DISCONNECTED) {
            continue;
        }
        ENetListIterator at = enet_list_begin(&peer->sentReliableCommands);
        for (; at != enet_list_end(&peer->sentReliableCommands); at = enet_list_next(at)) {
            ENetOutgoingCommand *command = (ENetOutgoingCommand *)at;
            u32 most = peer->roundTripTime + RETRY_MS_MAX;
            if (command->roundTripTimeout > most) {
                command->roundTripTimeout = most;
                u32 due = command->sentTime + most;
                if (ENET_TIME_LESS(due, peer->nextTimeout)) {
                    peer->nextTimeout = due;
                }
            }
        }
    }
}

static bool enet_poll(Link *base, u64 now_ms, LinkEvent *event)
{
    LinkEnet *link = (LinkEnet *)base;
    ENetEvent raw;
    borrowed_free(link);
    link->now_ms = now_ms;
    if (link->over) {
        return false;
    }
    if (!link->server && !client_advance(link, event)) {
        return true;
    }
    bound_retries(link);
    if (link->server && now_ms >= link->swept_ms + SWEEP_MS) {
        link->swept_ms = now_ms;
        tunnel_server_sweep(&link->tunnels, now_ms);
    }
    if (dropped_report(link, event)) {
        return true;
    }
    while (enet_host_check_events(link->host, &raw) > 0) {
        if (event_translate(link, &raw, event)) {
            return true;
        }
    }
    for (u32 i = 0; i < SERVICE_TRIES; i++) {
        int result = enet_host_service(link->host, &raw, 0);
        if (result < 0) {
            result = enet_host_check_events(link->host, &raw);
            if (result <= 0) {
                continue;
            }
        }
        if (result == 0) {
            break;
        }
        if (event_translate(link, &raw, event)) {
            return true;
        }
    }
    /* A cookie or the tunnel's answer may have just arrived: continue without waiting for the next
     * poll. */
    return !link->server && link->outgoing == NULL && link->dialer.probe.cookie != 0 &&
           !client_advance(link, event);
}

static int enet_send(Link *base, u32 peer, u32 channel, const void *data, u32 bytes)
{
    LinkEnet *link = (LinkEnet *)base;
    bool reliable = channel == CHANNEL_CONTROL || channel == CHANNEL_BULK;
    if (peer >= link->host->peerCount || channel >= CHANNEL_COUNT || !link->peers[peer].connected) {
        return ERROR_STATE;
    }
    if (bytes == 0 || (!reliable && bytes > STATE_PAYLOAD_BYTES_MAX) ||
        bytes > MESSAGE_BYTES_MAX + SEAL_OVERHEAD_BYTES) {
        return ERROR_LIMIT;
    }
    ENetPacket *packet = enet_packet_create(
        data, bytes, reliable ? (u32)ENET_PACKET_FLAG_RELIABLE : (u32)ENET_PACKET_FLAG_UNSEQUENCED);
    if (packet == NULL) {
        return ERROR_MEMORY;
    }
    /* ENet has one size limit for both directions, but a client may send less than it may
     * receive. */
    size_t accepted = link->host->maximumPacketSize;
    link->host->maximumPacketSize = MESSAGE_BYTES_MAX + SEAL_OVERHEAD_BYTES;
    int sent = enet_peer_send(&link->host->peers[peer], (u8)channel, packet);
    link->host->maximumPacketSize = accepted;
    if (sent < 0) {
        enet_packet_destroy(packet);
        return ERROR_NETWORK;
    }
    PeerStats *stats = &link->peers[peer];
    u32 datagrams = bytes / MTU + 1;
    stats->packets_out += datagrams;
    stats->bytes_out +=
        bytes + (u64)datagrams * (DATAGRAM_HEAD_BYTES + TUNNEL_OVERHEAD_BYTES + ENET_HEAD_BYTES);
    return ERROR_OK;
}

static void enet_disconnect(Link *base, u32 peer, u32 reason)
{
    LinkEnet *link = (LinkEnet *)base;
    if (peer < link->host->peerCount && link->peers[peer].connected) {
        enet_peer_disconnect_later(&link->host->peers[peer], reason);
        if (link->server) {
            door_set(link, peer, DOOR_CLOSING);
        }
    }
}

static Tunnel *tunnel_of(LinkEnet *link, u32 peer)
{
    return link->server ? tunnel_server_of(&link->tunnels, link->peers[peer].connect_id)
                        : &link->tunnel;
}

static void enet_proven(Link *base, u32 peer)
{
    LinkEnet *link = (LinkEnet *)base;
    if (link->server && peer < link->host->peerCount && link->peers[peer].connected) {
        Tunnel *tunnel = tunnel_of(link, peer);
        door_set(link, peer, DOOR_PROVEN);
        if (tunnel != NULL) {
            tunnel->kept = true;
        }
    }
}

static void enet_flush(Link *base)
{
    enet_host_flush(((LinkEnet *)base)->host);
}

static bool enet_stats(Link *base, u32 peer, LinkStats *out)
{
    LinkEnet *link = (LinkEnet *)base;
    memset(out, 0, sizeof *out);
    if (peer >= link->host->peerCount || !link->peers[peer].connected) {
        return false;
    }
    const ENetPeer *p = &link->host->peers[peer];
    const PeerStats *stats = &link->peers[peer];
    const Tunnel *tunnel = tunnel_of(link, peer);
    out->rtt_ms = p->roundTripTime;
    out->bytes_in = stats->bytes_in;
    out->bytes_out = stats->bytes_out;
    out->packets_in = stats->packets_in;
    out->packets_out = stats->packets_out;
    if (tunnel != NULL) {
        PL_STATIC_ASSERT(sizeof out->address >= ENDPOINT_TEXT_BYTES, "room for the text");
        (void)endpoint_text(&tunnel->address, out->address);
    }
    return true;
}

static int enet_fd(Link *base)
{
    return ((LinkEnet *)base)->udp.fd;
}

static u64 enet_forged(const Link *base)
{
    return ((const LinkEnet *)base)->forged;
}

static bool enet_binding(Link *base, u32 peer, u8 out[BINDING_BYTES])
{
    LinkEnet *link = (LinkEnet *)base;
    if (peer >= link->host->peerCount || !link->peers[peer].connected) {
        return false;
    }
    const Tunnel *tunnel = tunnel_of(link, peer);
    if (tunnel == NULL || tunnel->state == TUNNEL_FREE) {
        return false;
    }
    memcpy(out, tunnel->binding, BINDING_BYTES);
    return true;
}

static void enet_notify(Link *base, const WorldNotice *notice)
{
    LinkEnet *link = (LinkEnet *)base;
    if (!link->has_notice) {
        inquiry_limits_init(&link->inquiries, link->tunnels.probe.key, INQUIRY_SITE_S,
                            INQUIRY_ALL_S, link->now_ms);
    }
    link->has_notice = link->server;
    link->notice = *notice;
}

static void enet_asked(const Link *base, u64 *answered, u64 *refused)
{
    const LinkEnet *link = (const LinkEnet *)base;
    *answered = link->inquiries.answered;
    *refused = link->inquiries.refused;
}

static void enet_destroy(Link *base)
{
    LinkEnet *link = (LinkEnet *)base;
    if (link == NULL) {
        return;
    }
    borrowed_free(link);
    if (link->host != NULL) {
        enet_host_flush(link->host);
        enet_host_destroy(link->host);
    }
    tunnel_server_finish(&link->tunnels);
    free(link->doors);
    free(link->peers);
    seal_wipe(link, sizeof *link); /* the client's tunnel, and datagrams in clear */
    free(link);
}

static const LinkOps enet_ops = {.destroy = enet_destroy,
                                 .poll = enet_poll,
                                 .send = enet_send,
                                 .disconnect = enet_disconnect,
                                 .proven = enet_proven,
                                 .flush = enet_flush,
                                 .stats = enet_stats,
                                 .fd = enet_fd,
                                 .forged = enet_forged,
                                 .binding = enet_binding,
                                 .notify = enet_notify,
                                 .asked = enet_asked};

/* ---- creation ---- */

static LinkEnet *link_create(const Udp *udp, bool server, const Identity *identity, u32 peers_max,
                             ErrorText *error)
{
    LinkEnet *link = calloc(1, sizeof *link);
    if (link == NULL || enet_initialize() != 0 || seal_start() != ERROR_OK) {
        error_set(error, ERROR_NETWORK, "cannot initialize the network library");
        free(link);
        return NULL;
    }
    link->base.ops = &enet_ops;
    link->server = server;
    link->host = enet_host_create(NULL, peers_max, CHANNEL_COUNT, 0, 0);
    if (link->host == NULL) {
        error_set(error, ERROR_NETWORK, "cannot create a host for %u peers", peers_max);
        free(link);
        return NULL;
    }
    link->peers = calloc(link->host->peerCount, sizeof *link->peers);
    link->doors = calloc(link->host->peerCount, sizeof *link->doors);
    for (size_t i = 0; i < link->host->peerCount; i++) {
        link->host->peers[i].mtu = MTU;
        link->host->peers[i].data = link;
    }
    link->host->intercept = intercept;
    link->host->checksum = seal_datagram;
    link->host->mtu = MTU;
    if (link->peers == NULL || link->doors == NULL ||
        (link->server && !tunnel_server_init(&link->tunnels, identity,
                                             TUNNELS_PER_PEER * peers_max + TUNNELS_SPARE))) {
        error_set(error, ERROR_MEMORY, "out of memory for %u peers", peers_max);
        enet_destroy(&link->base);
        return NULL;
    }
    /* Connection ids start here; a server has at most one connection with each. */
    seal_random(&link->host->randomSeed, sizeof link->host->randomSeed);
    enet_socket_destroy(link->host->socket);
    link->udp = *udp;
    link->host->socket = udp->fd;
    return link;
}

/* Closes the socket if there is no link. */
static LinkEnet *link_on(Udp *udp, bool server, const Identity *identity, u32 peers_max,
                         const char *address, ErrorText *error)
{
    LinkEnet *link = link_create(udp, server, identity, peers_max, error);
    if (link == NULL) {
        udp_close(udp);
        error_prefix(error, "%s", address);
    }
    return link;
}

Link *link_enet_listen(const char *address, u32 peers_max, const Identity *identity,
                       ErrorText *error)
{
    ProbeAddress own = {0};
    Udp udp;
    int fd = endpoint_descriptor(address);
    if (fd < 0 && endpoint_own(address, &own, error) != ERROR_OK) {
        return NULL;
    }
    if ((fd >= 0 ? udp_adopt(&udp, fd, error) : udp_bind(&udp, &own, error)) != ERROR_OK) {
        error_prefix(error, "%s", address);
        return NULL;
    }
    LinkEnet *link = link_on(&udp, true, identity, peers_max, address, error);
    if (link == NULL) {
        return NULL;
    }
    link->host->maximumPacketSize = CLIENT_MESSAGE_BYTES_MAX + SEAL_OVERHEAD_BYTES;
    link->host->maximumWaitingData = 32 * CLIENT_MESSAGE_BYTES_MAX;
    return &link->base;
}

Link *link_enet_connect(const char *address, const LinkTrust *trust, ErrorText *error)
{
    ProbeAddress remotes[ENDPOINTS_MAX];
    u32 count;
    Udp udp;
    if (endpoint_resolve(address, remotes, &count, error) != ERROR_OK) {
        return NULL;
    }
    if (udp_open(&udp, error) != ERROR_OK) {
        error_prefix(error, "%s", address);
        return NULL;
    }
    LinkEnet *link = link_on(&udp, false, NULL, 1, address, error);
    if (link == NULL) {
        return NULL;
    }
    dialer_init(&link->dialer, remotes, count, trust);
    link->host->maximumPacketSize = MESSAGE_BYTES_MAX + SEAL_OVERHEAD_BYTES;
    return &link->base;
}

void link_enet_limit(Link *base, u32 half_open_per_address, bool local)
{
    ((LinkEnet *)base)->limits = (DoorLimits){half_open_per_address, local};
}

u16 link_enet_port(const Link *base)
{
    ProbeAddress bound = {0};
    (void)udp_bound(&((const LinkEnet *)base)->udp, &bound);
    return bound.port;
}
