/*
 * bulk_sender.c: selects the next block. Every packet has its own number, even when it repeats a
 * block, so acknowledgements are never ambiguous (as in QUIC, RFC 9002): a packet is lost when one
 * sent sufficiently later was acknowledged, or after a timeout.
 */
#include "protocol/stream/bulk_content.h"
#include "protocol/stream/bulk_rate.h"
#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY_FIRST = 64, /* initial size of the ring of packets in flight; grows to BULK_WINDOW */
    MARGIN_US = 5000,
    LATE_MAX_US = 300000,
    LATE_WINDOW_US = 1000000,
    /* Probe packets after a timeout, with doubling intervals. */
    PROBE_PACKETS = 2,
    PROBE_FIRST_US = 300000, /* while the round trip is unknown */
    PROBE_MAX_US = 2000000,
    PROBE_DOUBLINGS_MAX = 6,
    RTT_MAX_US = 10000000,
    /* While the link would be idle with unacknowledged blocks, they are repeated, oldest first,
     * at this rate or half of the path's: this costs a narrow link less than waiting for the
     * report of each loss. Only the last blocks in flight. */
    ECHO_BYTES_S = 6000,
    ECHO_WAIT_US = 300000, /* while the round trip is unknown */
    ECHO_MARGIN_US = 50000,
    ECHO_BLOCKS_MAX = 32,
};

typedef struct Outgoing {
    BulkContent *content; /* NULL: void or fully acknowledged */
    u32 size;             /* of the body: occupies the receiver until it is taken */
    u32 blocks, next;     /* next: the first never sent */
    u32 arrived, lost, lost_from;
    u64 *bits; /* [2 · words]: acknowledged, then to be repeated */
} Outgoing;

typedef enum PacketState {
    PACKET_ARRIVED,
    PACKET_FLYING,
    PACKET_LOST /* considered lost; may still arrive */
} PacketState;

typedef struct BulkPacket {
    BulkStamp stamp;
    u32 number;
    u32 transfer;
    u16 block;
    u16 bytes;
    PacketState state;
} BulkPacket;

struct BulkSender {
    Outgoing queue[BULK_QUEUE_MAX]; /* slot id modulo: [first, end) */
    u32 first, end;                 /* first: the next one that the receiver takes */
    BulkPacket *packets;            /* [capacity], slot number modulo */
    u32 capacity;
    u32 oldest, number; /* packets [oldest, number) may be in flight */
    u32 newest_acked;
    bool any_acked;
    u64 heard_us;       /* last acknowledgement of anything new, or first packet after an idle
                           time */
    u32 probes;         /* since then */
    u32 probe_packets;  /* allowed to be sent regardless of the window */
    u64 echo_us;        /* when the next block may be repeated */
    u64 late_us[2];     /* maximal delay of confirmations beyond a round trip: */
    u64 late_second_us; /* in this second and in the previous one */
    BulkRate rate;
    BulkSenderStats stats;
};

/* ---- transfers ---- */

static Outgoing *outgoing_of(BulkSender *sender, u32 id)
{
    return &sender->queue[id % BULK_QUEUE_MAX];
}

static u32 words_of(const Outgoing *o)
{
    return (o->blocks + 63) / 64;
}

static void outgoing_end(Outgoing *o)
{
    bulk_content_release(o->content);
    free(o->bits);
    o->content = NULL;
    o->bits = NULL;
    o->lost = 0;
    o->next = o->blocks;
}

BulkSender *bulk_sender_create(u32 max_bytes_s, u64 now_us)
{
    BulkSender *sender = calloc(1, sizeof *sender);
    if (sender != NULL) {
        bulk_rate_init(&sender->rate, max_bytes_s, now_us);
        sender->heard_us = now_us;
    }
    return sender;
}

void bulk_sender_destroy(BulkSender *sender)
{
    if (sender == NULL) {
        return;
    }
    for (u32 i = 0; i < BULK_QUEUE_MAX; i++) {
        outgoing_end(&sender->queue[i]);
    }
    free(sender->packets);
    free(sender);
}

int bulk_sender_add(BulkSender *sender, BulkContent *content, u32 *id)
{
    if (sender->end - sender->first >= BULK_QUEUE_MAX) {
        return ERROR_LIMIT;
    }
    Outgoing *o = outgoing_of(sender, sender->end);
    u32 size = bulk_content_bytes(content);
    u32 blocks = bulk_block_count(size);
    CHECK(blocks > 0);
    u64 *bits = calloc(2 * ((blocks + 63) / 64), sizeof *bits);
    if (bits == NULL) {
        return ERROR_MEMORY;
    }
    *o = (Outgoing){
        .content = bulk_content_acquire(content), .size = size, .blocks = blocks, .bits = bits};
    *id = sender->end++;
    return 0;
}

u32 bulk_sender_void(BulkSender *sender)
{
    for (u32 id = sender->first; id != sender->end; id++) {
        outgoing_end(outgoing_of(sender, id));
    }
    return sender->end;
}

bool bulk_sender_is_sent(const BulkSender *sender, u32 id)
{
    for (u32 i = sender->first; i != sender->end && bulk_ahead(i, id) <= 0; i++) {
        const Outgoing *o = &sender->queue[i % BULK_QUEUE_MAX];
        if (o->next < o->blocks) {
            return false;
        }
    }
    return true;
}

bool bulk_sender_arrived(const BulkSender *sender, u32 id)
{
    for (u32 i = sender->first; i != sender->end && bulk_ahead(i, id) <= 0; i++) {
        if (sender->queue[i % BULK_QUEUE_MAX].content != NULL) {
            return false;
        }
    }
    return true;
}

bool bulk_sender_done(const BulkSender *sender)
{
    for (u32 id = sender->first; id != sender->end; id++) {
        if (sender->queue[id % BULK_QUEUE_MAX].content != NULL) {
            return false;
        }
    }
    return true;
}

static bool block_lost_next(Outgoing *o, u32 *block)
{
    const u64 *lost = o->bits + words_of(o);
    for (u32 w = o->lost_from / 64; w < words_of(o); w++) {
        if (lost[w] != 0) {
            *block = w * 64 + (u32)__builtin_ctzll(lost[w]);
            return true;
        }
    }
    return false;
}

/* Selects the next block: the oldest transfer first, lost blocks before new ones. Transfers that
 * the receiver cannot store yet wait. */
static bool block_choose(BulkSender *sender, u32 *id, u32 *block)
{
    u64 open_bytes = 0;
    for (u32 i = sender->first; i != sender->end && i - sender->first < BULK_OPEN_MAX; i++) {
        Outgoing *o = outgoing_of(sender, i);
        open_bytes += o->size;
        if (open_bytes > BULK_OPEN_BYTES_MAX) {
            return false;
        }
        *id = i;
        if (o->lost > 0 && block_lost_next(o, block)) {
            return true;
        }
        if (o->next < o->blocks) {
            *block = o->next;
            return true;
        }
    }
    return false;
}

/* ---- packets under way ---- */

static BulkPacket *packet_of(BulkSender *sender, u32 number)
{
    return &sender->packets[number & (sender->capacity - 1)];
}

/* Reserves one more packet number; false: BULK_WINDOW in flight or out of memory. */
static bool packets_reserve(BulkSender *sender)
{
    u32 count = sender->number - sender->oldest;
    CHECK(count <= sender->capacity);
    if (count < sender->capacity) {
        return true;
    }
    u32 capacity = sender->capacity > 0 ? 2 * sender->capacity : CAPACITY_FIRST;
    BulkPacket *grown = capacity <= BULK_WINDOW ? calloc(capacity, sizeof *grown) : NULL;
    if (grown == NULL) {
        return false;
    }
    for (u32 n = sender->oldest; n != sender->number; n++) {
        grown[n & (capacity - 1)] = *packet_of(sender, n);
    }
    free(sender->packets);
    sender->packets = grown;
    sender->capacity = capacity;
    return true;
}

/* Schedules its block for resending, unless another packet delivered it. */
static void packet_lose(BulkSender *sender, BulkPacket *packet)
{
    bulk_rate_lost(&sender->rate, packet->bytes, &packet->stamp);
    packet->state = PACKET_LOST;
    Outgoing *o = outgoing_of(sender, packet->transfer);
    bool known = bulk_ahead(packet->transfer, sender->first) >= 0 && o->content != NULL;
    if (known && !bulk_bit(o->bits, packet->block)) {
        u64 *lost = o->bits + words_of(o);
        o->lost += !bulk_bit(lost, packet->block);
        bulk_bit_set(lost, packet->block);
        o->lost_from = u32_min(o->lost_from, packet->block);
    }
}

static void oldest_advance(BulkSender *sender)
{
    while (sender->oldest != sender->number &&
           packet_of(sender, sender->oldest)->state != PACKET_FLYING) {
        sender->oldest++;
    }
}

static u64 rtt_margin_us(const BulkSender *sender)
{
    const BulkRate *rate = &sender->rate;
    u64 late_us = u64_min(u64_max(sender->late_us[0], sender->late_us[1]), LATE_MAX_US);
    u64 spread_us = u64_max(4 * rate->rtt_var_us, late_us + late_us / 8);
    return u64_max(u64_max(rate->rtt_us / 8, spread_us), MARGIN_US);
}

/* Marks packets lost that were sent long enough before an acknowledged one. */
static void losses_find(BulkSender *sender, u64 now_us)
{
    u64 wait_us = sender->rate.rtt_us + rtt_margin_us(sender);
    if (!sender->any_acked) {
        return;
    }
    for (u32 n = sender->oldest; n != sender->number; n++) {
        BulkPacket *packet = packet_of(sender, n);
        if (bulk_ahead(n, sender->newest_acked) >= 0 || packet->stamp.sent_us + wait_us > now_us) {
            break; /* later ones were sent later */
        }
        if (packet->state == PACKET_FLYING) {
            packet_lose(sender, packet);
        }
    }
    oldest_advance(sender);
}

/* After a timeout the oldest packets are repeated to elicit an acknowledgement. */
static void silence_check(BulkSender *sender, u64 now_us)
{
    u64 wait_us = sender->rate.rtt_us > 0
                      ? sender->rate.rtt_us + rtt_margin_us(sender) + 2 * BULK_ACK_GAP_US
                      : PROBE_FIRST_US;
    wait_us = u64_min(wait_us << u32_min(sender->probes, PROBE_DOUBLINGS_MAX), PROBE_MAX_US);
    if (sender->oldest == sender->number || now_us < sender->heard_us + wait_us) {
        return;
    }
    sender->heard_us = now_us;
    sender->probes++;
    sender->probe_packets = PROBE_PACKETS;
    for (u32 i = 0; i < PROBE_PACKETS && sender->oldest != sender->number; i++) {
        packet_lose(sender, packet_of(sender, sender->oldest));
        oldest_advance(sender);
    }
}

/* ---- once more ---- */

/* Its block is not known to have arrived. */
static bool packet_open(BulkSender *sender, const BulkPacket *packet)
{
    const Outgoing *o = outgoing_of(sender, packet->transfer);
    return packet->state == PACKET_FLYING && bulk_ahead(packet->transfer, sender->first) >= 0 &&
           o->content != NULL && !bulk_bit(o->bits, packet->block);
}

/* True if a later packet with this block is in flight. */
static bool packet_followed(BulkSender *sender, u32 number)
{
    const BulkPacket *packet = packet_of(sender, number);
    for (u32 n = number + 1; n != sender->number; n++) {
        const BulkPacket *later = packet_of(sender, n);
        if (later->transfer == packet->transfer && later->block == packet->block) {
            return true;
        }
    }
    return false;
}

/* Selects the block whose last packet is the oldest that could have been acknowledged by now. */
static bool echo_choose(BulkSender *sender, u64 now_us, u32 *id, u32 *block)
{
    u64 wait_us =
        sender->rate.rtt_us > 0 ? sender->rate.rtt_us + ECHO_MARGIN_US : (u64)ECHO_WAIT_US;
    if (now_us < sender->echo_us || sender->number - sender->oldest > ECHO_BLOCKS_MAX) {
        return false;
    }
    for (u32 n = sender->oldest; n != sender->number; n++) {
        const BulkPacket *packet = packet_of(sender, n);
        if (packet->stamp.sent_us + wait_us > now_us) {
            return false; /* later ones were sent later */
        }
        if (packet_open(sender, packet) && !packet_followed(sender, n)) {
            *id = packet->transfer;
            *block = packet->block;
            return true;
        }
    }
    return false;
}

static void echo_sent(BulkSender *sender, u32 bytes, u64 now_us)
{
    f64 path = 0.5 * bulk_rate_path_bytes_s(&sender->rate);
    f64 bytes_s = path > ECHO_BYTES_S ? path : (f64)ECHO_BYTES_S;
    sender->echo_us = now_us + (u64)(bytes * 1e6 / bytes_s);
}

/* ---- sending ---- */

static u32 packet_write(BulkSender *sender, u32 id, u32 block, u64 now_us, u8 *out)
{
    Outgoing *o = outgoing_of(sender, id);
    CHECK(o->content != NULL && block < o->blocks);
    u32 bytes = bulk_block_size(o->size, block);
    CHECK(bytes <= BULK_BLOCK_BYTES);
    u16 number = (u16)block;
    memcpy(out, &sender->number, 4);
    memcpy(out + 4, &id, 4);
    memcpy(out + 8, &o->size, 4);
    memcpy(out + 12, &number, 2);
    memcpy(out + BULK_BLOCK_HEAD_BYTES,
           bulk_content_body(o->content) + (size_t)block * BULK_BLOCK_BYTES, bytes);
    bytes += BULK_BLOCK_HEAD_BYTES;
    if (block == o->next) {
        o->next++;
    } else {
        sender->stats.repeated++;
    }
    if (bulk_bit(o->bits + words_of(o), block)) {
        bulk_bit_clear(o->bits + words_of(o), block);
        o->lost--;
        o->lost_from = block;
    }
    if (sender->oldest == sender->number) {
        sender->heard_us = now_us; /* the timeout counts from here */
    }
    BulkPacket *packet = packet_of(sender, sender->number++);
    *packet = (BulkPacket){.number = sender->number - 1,
                           .transfer = id,
                           .block = (u16)block,
                           .bytes = (u16)bytes,
                           .state = PACKET_FLYING};
    bulk_rate_sent(&sender->rate, bytes, &packet->stamp, now_us);
    sender->stats.packets++;
    sender->stats.bytes += bytes;
    return bytes;
}

u32 bulk_sender_next(BulkSender *sender, u64 now_us, u8 *out)
{
    u32 id, block;
    if (bulk_sender_done(sender)) {
        return 0;
    }
    losses_find(sender, now_us);
    silence_check(sender, now_us);
    i64 capacity = bulk_rate_allowance(&sender->rate, now_us);
    if (!block_choose(sender, &id, &block)) {
        if (capacity > 0) {
            bulk_rate_idle(&sender->rate);
        }
        if (!echo_choose(sender, now_us, &id, &block) || !packets_reserve(sender)) {
            return 0;
        }
        u32 bytes = packet_write(sender, id, block, now_us, out);
        echo_sent(sender, bytes, now_us);
        return bytes;
    }
    if (capacity <= 0) {
        if (sender->probe_packets == 0) {
            return 0;
        }
        sender->probe_packets--;
    }
    return packets_reserve(sender) ? packet_write(sender, id, block, now_us, out) : 0;
}

/* ---- acknowledgements ---- */

static void block_arrived(BulkSender *sender, const BulkPacket *packet)
{
    Outgoing *o = outgoing_of(sender, packet->transfer);
    if (bulk_ahead(packet->transfer, sender->first) < 0 || o->content == NULL ||
        bulk_bit(o->bits, packet->block)) {
        return;
    }
    bulk_bit_set(o->bits, packet->block);
    u64 *lost = o->bits + words_of(o);
    if (bulk_bit(lost, packet->block)) {
        bulk_bit_clear(lost, packet->block);
        o->lost--;
    }
    CHECK(o->arrived < o->blocks);
    if (++o->arrived == o->blocks) {
        outgoing_end(o);
    }
}

/* Adapts the reordering margin to the delays observed on paths that reorder. */
static void late_learn(BulkSender *sender, const BulkPacket *packet, u64 now_us)
{
    if (now_us - sender->late_second_us > LATE_WINDOW_US) {
        sender->late_second_us = now_us;
        sender->late_us[1] = sender->late_us[0];
        sender->late_us[0] = 0;
    }
    u64 expected_us = packet->stamp.sent_us + sender->rate.rtt_us;
    if (sender->rate.rtt_us > 0 && now_us > expected_us) {
        sender->late_us[0] = u64_max(sender->late_us[0], now_us - expected_us);
    }
}

/* True if it was in flight. */
static bool packet_arrived(BulkSender *sender, u32 number, u64 now_us)
{
    BulkPacket *packet = packet_of(sender, number);
    if (packet->number != number || packet->state == PACKET_ARRIVED) {
        return false;
    }
    bool flying = packet->state == PACKET_FLYING;
    packet->state = PACKET_ARRIVED;
    block_arrived(sender, packet);
    late_learn(sender, packet, now_us);
    if (flying) {
        bulk_rate_acked(&sender->rate, packet->bytes, &packet->stamp, now_us);
    }
    return flying;
}

static void taken_advance(BulkSender *sender, u32 taken)
{
    while (sender->first != taken) {
        outgoing_end(outgoing_of(sender, sender->first));
        sender->first++;
    }
}

int bulk_sender_ack(BulkSender *sender, const u8 *data, u32 bytes, u64 now_us)
{
    u32 newest, taken;
    u16 waited_ms;
    if (bytes < BULK_ACK_HEAD_BYTES || bytes > BULK_ACK_BYTES_MAX) {
        return ERROR_FORMAT;
    }
    memcpy(&newest, data, sizeof newest);
    memcpy(&taken, data + 4, sizeof taken);
    memcpy(&waited_ms, data + 8, sizeof waited_ms);
    if (bulk_ahead(newest, sender->number) >= 0 || sender->capacity == 0 ||
        bulk_ahead(taken, sender->end) > 0) {
        return ERROR_RANGE;
    }
    u64 sent_us = packet_of(sender, newest)->stamp.sent_us;
    bool newly = packet_arrived(sender, newest, now_us), any = newly;
    u32 bits = 8 * (bytes - BULK_ACK_HEAD_BYTES);
    for (u32 i = 0; i < bits && i < sender->capacity; i++) {
        if ((data[BULK_ACK_HEAD_BYTES + i / 8] >> (i % 8) & 1) != 0) {
            any = packet_arrived(sender, newest - 1 - i, now_us) || any;
        }
    }
    if (bulk_ahead(taken, sender->first) > 0) {
        taken_advance(sender, taken);
    }
    if (!any) {
        return 0;
    }
    u64 rtt_us = 0;
    if (newly && (!sender->any_acked || bulk_ahead(newest, sender->newest_acked) > 0)) {
        u64 waited_us = (u64)waited_ms * 1000;
        sender->newest_acked = newest;
        sender->any_acked = true;
        rtt_us = u64_max(now_us - sent_us, waited_us + 1) - waited_us;
        rtt_us = rtt_us <= RTT_MAX_US ? rtt_us : 0;
    }
    bulk_rate_ack_end(&sender->rate, rtt_us, now_us);
    sender->heard_us = now_us;
    sender->probes = 0;
    oldest_advance(sender);
    losses_find(sender, now_us);
    return 0;
}

void bulk_sender_stats(const BulkSender *sender, BulkSenderStats *stats)
{
    *stats = sender->stats;
    stats->rtt_us = sender->rate.rtt_us;
    stats->rtt_least_us = stats->rtt_us > 0 ? bulk_rate_rtt_least_us(&sender->rate) : 0;
    stats->bytes_s = bulk_rate_path_bytes_s(&sender->rate);
    stats->transfers = sender->end - sender->first;
}
