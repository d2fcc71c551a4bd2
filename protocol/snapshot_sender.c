/*
 * snapshot_sender.c: which chunks one client gets next. A chunk's state here is a few numbers: the
 * newest tick that the client acknowledged, the newest sent, and a priority that grows until it is
 * sent. Sent packets are remembered in a ring with what they carried, for acknowledgements.
 */
#include "protocol/snapshot_packet.h"
#include "shared/random.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Sent packets remembered: 65 can be acknowledged, the rest is room for late ones. */
    PACKETS_KEPT = 256,
    RECORDS_KEPT_MIN = 1024,
    RECORDS_KEPT_MAX = 1 << 16,
    /* A packet is given up when one sent this much later was acknowledged ... */
    REORDER_MS = 60,
    REORDER_PACKETS = 3,
    /* ... or when no acknowledgement can name it any more. */
    ACK_REACH = 64,
    /* Beyond the round trip before an unacknowledged state is sent again. */
    RESEND_MARGIN_MS = 40,
    /* Beyond the round trip before an acknowledgement may be here. */
    ACK_MARGIN_MS = 40,
    /* States of a chunk that are under way at most while acknowledgements come: what is sent later
     * would find its baseline too old and had to be a key. */
    STATES_UNDER_WAY = CHUNK_STATES_KEPT - 4,
    /* Every so many packets one carries hashes. */
    HASH_PERIOD = 8,
    /* Acknowledged ticks remembered, to build upon. */
    TICKS_KEPT = 96,
    /* Sets of ticks of one snapshot; what needs yet another waits for the next. */
    CLASSES_MAX = 64,
    /* What is chosen by estimated costs is coded; then again what still fits. */
    ROUNDS = 3,
    /* States of a chunk that may be on their way beyond the oldest that is built upon. */
    REACH = CHUNK_STATES_KEPT - 1,
};
/* A pending chunk's priority grows by its error in pixels, at most so many, and by a floor for each
 * snapshot that it has waited, so that the smallest error overtakes the largest in time. */
#define PIXELS_MAX    64.0f
#define PIXELS_FLOOR  0.25f
/* In a round all candidates go once. What has waited for so many goes before everything else, so
 * that nothing starves however much moves faster or nearer. */
#define DUE_ROUNDS    2.0f
#define ROUND_RATE    0.1f
#define PRIORITY_MAX  1e30f
/* Of things that are nowhere, or for clients without a camera: as seen from 10 m. */
#define PIXELS_PER_M  100.0f
#define NEAREST_M     0.5f
#define BEHIND_FACTOR 0.1f

typedef struct SenderChunk {
    u64 acked;           /* newest acknowledged tick + 1, 0 none */
    u64 sent;            /* newest sent tick + 1, 0 none */
    u64 sent_ms;         /* when */
    f64 acked_travelled; /* ChunkInfo.travelled of the acknowledged state */
    f32 priority;
    u32 waited;                   /* snapshots since it was last sent */
    u32 sends;                    /* states sent since the last forget */
    u32 acked_number;             /* number (1 ..) of the acknowledged one */
    u32 ticks[CHUNK_STATES_KEPT]; /* low bits, of state number % CHUNK_STATES_KEPT */
    u32 acks;                     /* bit number % CHUNK_STATES_KEPT: it was acknowledged */
    u8 chosen;                    /* class + 1 in this build, 0: not chosen */
    bool resend;                  /* the packet with the newest was lost */
} SenderChunk;

PL_STATIC_ASSERT(CHUNK_STATES_KEPT == 32, "SenderChunk.acks has a bit for each");

/* Chunks that are coded out of states at the same ticks. */
typedef struct TickClass {
    u64 ticks[SPAN_STATES]; /* newest first, 0: none */
} TickClass;

typedef struct SentRecord {
    u32 chunk;  /* flat */
    u32 number; /* SenderChunk.sends after it was sent */
    f64 travelled;
} SentRecord;

typedef enum SentState {
    SENT_NONE, /* empty, or of a stream that was forgotten */
    SENT_PENDING,
    SENT_LOST,
    SENT_ACKED
} SentState;

typedef struct SentPacket {
    u64 tick;
    u64 sent_ms;
    u64 first; /* running index of its records */
    u16 count;
    u16 bytes;
    u16 sequence;
    u8 state; /* SentState */
} SentPacket;

struct SnapshotSender {
    FieldSet *fields;
    u32 first[FIELDS_MAX]; /* flat index of each field's chunk 0 */
    u32 chunk_total;
    SenderChunk *chunks;
    u64 *heap; /* candidates: priority bits << 32 | flat chunk */
    u32 heap_count;
    f32 chunks_sent; /* of a snapshot, smoothed */
    f32 round;       /* snapshots; falls slowly */

    SentPacket packets[PACKETS_KEPT]; /* slot sequence % PACKETS_KEPT */
    SentRecord *records;              /* ring of records_kept, a power of two */
    u32 records_kept;
    u64 record_next;       /* running index */
    u16 sequence;          /* of the last packet sent */
    u16 oldest_pending;    /* no packet before it is pending */
    u64 ticks[TICKS_KEPT]; /* newest acknowledged ones, newest first */
    u32 tick_count;
    TickClass classes[CLASSES_MAX];
    u32 class_count;
    bool withheld; /* something that changed is not sent in this build */
    u32 given_up;  /* lost, not yet reported */
    u32 reorder_ms;
    SnapshotSenderStats stats;
};

/* The packet being filled. */
typedef struct Packet {
    BitWriter writer;
    SnapshotHeader header;
    u64 first_record;
    u32 chunks;
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} Packet;

SnapshotSender *snapshot_sender_create(FieldSet *fields)
{
    SnapshotSender *sender = calloc(1, sizeof *sender);
    if (sender == NULL) {
        return NULL;
    }
    for (u32 f = 0; f < fields->count; f++) {
        sender->first[f] = sender->chunk_total;
        sender->chunk_total += chunk_count(&fields->fields[f]);
    }
    /* Half a second of snapshots that carry everything. */
    sender->records_kept = RECORDS_KEPT_MIN;
    while (sender->records_kept < sender->chunk_total * 16 &&
           sender->records_kept < RECORDS_KEPT_MAX) {
        sender->records_kept *= 2;
    }
    sender->fields = field_set_acquire(fields);
    sender->chunks = calloc(sender->chunk_total + 1u, sizeof *sender->chunks);
    sender->heap = calloc(sender->chunk_total + 1u, sizeof *sender->heap);
    sender->records = calloc(sender->records_kept, sizeof *sender->records);
    if (sender->chunks == NULL || sender->heap == NULL || sender->records == NULL) {
        snapshot_sender_destroy(sender);
        return NULL;
    }
    return sender;
}

void snapshot_sender_destroy(SnapshotSender *sender)
{
    if (sender == NULL) {
        return;
    }
    field_set_release(sender->fields);
    free(sender->chunks);
    free(sender->heap);
    free(sender->records);
    free(sender);
}

void snapshot_sender_forget(SnapshotSender *sender)
{
    memset(sender->chunks, 0, sender->chunk_total * sizeof *sender->chunks);
    memset(sender->packets, 0, sizeof sender->packets);
    sender->tick_count = 0;
    sender->oldest_pending = (u16)(sender->sequence + 1);
}

void snapshot_sender_stats(const SnapshotSender *sender, SnapshotSenderStats *stats)
{
    *stats = sender->stats;
}

/* ---- acknowledgements ---- */

static SentPacket *sent_packet(SnapshotSender *sender, u16 sequence)
{
    SentPacket *packet = &sender->packets[sequence % PACKETS_KEPT];
    return packet->state != SENT_NONE && packet->sequence == sequence ? packet : NULL;
}

/* Record i of a packet, or NULL where newer packets overwrote it. */
static const SentRecord *sent_record(const SnapshotSender *sender, const SentPacket *packet, u32 i)
{
    u64 index = packet->first + i;
    return sender->record_next - index <= sender->records_kept
               ? &sender->records[index & (sender->records_kept - 1)]
               : NULL;
}

static void tick_confirm(SnapshotSender *sender, u64 tick)
{
    u32 at = 0;
    while (at < sender->tick_count && sender->ticks[at] > tick) {
        at++;
    }
    if (tick == 0 || at == TICKS_KEPT || (at < sender->tick_count && sender->ticks[at] == tick)) {
        return;
    }
    sender->tick_count = u32_min(sender->tick_count + 1, TICKS_KEPT);
    memmove(sender->ticks + at + 1, sender->ticks + at,
            (sender->tick_count - 1 - at) * sizeof sender->ticks[0]);
    sender->ticks[at] = tick;
}

static void packet_confirm(SnapshotSender *sender, SentPacket *packet)
{
    packet->state = SENT_ACKED;
    sender->stats.acked++;
    sender->stats.acked_bytes += packet->bytes;
    tick_confirm(sender, packet->tick); /* also of an idle one: what rested has a state there */
    for (u32 i = 0; i < packet->count; i++) {
        const SentRecord *record = sent_record(sender, packet, i);
        if (record == NULL) {
            continue;
        }
        SenderChunk *chunk = &sender->chunks[record->chunk];
        if (chunk->sends - record->number < REACH) {
            chunk->acks |= 1u << record->number % CHUNK_STATES_KEPT;
        }
        if (record->number > chunk->acked_number) {
            chunk->acked = packet->tick + 1;
            chunk->acked_number = record->number;
            chunk->acked_travelled = record->travelled;
        }
    }
}

static void packet_give_up(SnapshotSender *sender, SentPacket *packet)
{
    packet->state = SENT_LOST;
    sender->stats.lost++;
    sender->given_up++;
    for (u32 i = 0; i < packet->count; i++) {
        const SentRecord *record = sent_record(sender, packet, i);
        if (record != NULL && sender->chunks[record->chunk].sends == record->number) {
            sender->chunks[record->chunk].resend = true;
        }
    }
}

static void give_up_before(SnapshotSender *sender, u16 newest)
{
    const SentPacket *acked = sent_packet(sender, newest);
    bool passing = true; /* still in the run that nothing pending precedes */
    for (u16 s = sender->oldest_pending; (i16)(newest - s) > 0; s++) {
        SentPacket *packet = sent_packet(sender, s);
        if (packet != NULL && packet->state == SENT_PENDING) {
            u16 behind = (u16)(newest - s);
            bool overtaken = acked != NULL && behind >= REORDER_PACKETS &&
                             acked->sent_ms - packet->sent_ms >= sender->reorder_ms;
            if (behind > ACK_REACH || overtaken) {
                packet_give_up(sender, packet);
            } else {
                passing = false;
            }
        }
        if (passing) {
            sender->oldest_pending = (u16)(s + 1);
        }
    }
}

u32 snapshot_sender_ack(SnapshotSender *sender, SnapshotAck ack, u32 *lost)
{
    u32 confirmed = 0;
    if (ack.valid != 0 && sender->stats.packets > 0 && (i16)(sender->sequence - ack.newest) >= 0) {
        for (u32 i = 0; i <= ACK_REACH; i++) {
            SentPacket *packet = sent_packet(sender, (u16)(ack.newest - i));
            bool received = i == 0 || (ack.bits >> (i - 1) & 1) != 0;
            if (received && packet != NULL && packet->state != SENT_ACKED) {
                packet_confirm(sender, packet);
                confirmed++;
            }
        }
        give_up_before(sender, ack.newest);
    }
    if (lost != NULL) {
        *lost = sender->given_up;
    }
    sender->given_up = 0;
    return confirmed;
}

/* ---- priorities ---- */

/* Pixels on the client's screen for a metre at the chunk. */
static f32 pixels_per_metre(const SnapshotView *view, const ChunkInfo *info)
{
    if (view == NULL || !(view->pixels_per_radian > 0.0f) || info->radius < 0.0f) {
        return PIXELS_PER_M;
    }
    Vec3 towards = vec3_sub(info->centre, view->eye);
    f32 pixels = view->pixels_per_radian / f32_max(vec3_length(towards) - info->radius, NEAREST_M);
    return vec3_dot(towards, view->forward) < -info->radius ? pixels * BEHIND_FACTOR : pixels;
}

static void heap_sink(u64 *heap, u32 count, u32 at)
{
    u64 value = heap[at];
    for (;;) {
        u32 child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[child] <= value) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

static u32 heap_pop(SnapshotSender *sender)
{
    u64 top = sender->heap[0];
    sender->heap[0] = sender->heap[--sender->heap_count];
    heap_sink(sender->heap, sender->heap_count, 0);
    return (u32)top;
}

static void candidate_push(SnapshotSender *sender, u32 flat, f32 priority)
{
    u32 bits;
    memcpy(&bits, &priority, sizeof bits); /* positive floats order as their bits do */
    sender->heap[sender->heap_count++] = (u64)bits << 32 | flat;
}

/* On a long path fewer snapshots carry a chunk than there are, so that the states under way stay
 * within those that the receiver keeps; if acknowledgements fail to come, a key is due in the end.
 */
static bool must_wait(const SenderChunk *chunk, u64 now_ms, u32 rtt_ms)
{
    u32 under_way = chunk->sends - chunk->acked_number;
    u64 since_ms = now_ms - chunk->sent_ms;
    if (chunk->acked == 0 || chunk->resend || under_way < STATES_UNDER_WAY / 2) {
        return false;
    }
    return under_way >= STATES_UNDER_WAY
               ? since_ms < (u64)rtt_ms + rtt_ms / 4 + RESEND_MARGIN_MS
               : since_ms * STATES_UNDER_WAY < (u64)rtt_ms + ACK_MARGIN_MS;
}

/* A key was sent and may still arrive: another one would cost as much again. Where bytes are short
 * it is waited for; else something is shown meanwhile. */
static bool key_under_way(const SnapshotSender *sender, const SenderChunk *chunk, u64 now_ms,
                          u32 rtt_ms)
{
    u64 wait_ms = sender->stats.limited ? rtt_ms + rtt_ms / 4u : rtt_ms / 2u;
    return chunk->acked == 0 && chunk->sends > 0 && !chunk->resend &&
           now_ms - chunk->sent_ms < wait_ms + RESEND_MARGIN_MS;
}

/* Finds the chunks worth sending now and lets their priorities grow. */
static void collect_candidates(SnapshotSender *sender, const ChunkCache *cache,
                               const SnapshotView *view, u64 now_ms, u32 rtt_ms)
{
    sender->heap_count = 0;
    sender->stats.chunks_pending = 0;
    u64 wait_ms = (u64)rtt_ms + rtt_ms / 4 + RESEND_MARGIN_MS;
    for (u32 f = 0; f < sender->fields->count; f++) {
        u32 first = sender->first[f];
        u32 end = f + 1 < sender->fields->count ? sender->first[f + 1] : sender->chunk_total;
        for (u32 flat = first; flat < end; flat++) {
            SenderChunk *chunk = &sender->chunks[flat];
            const ChunkInfo *info = chunk_cache_info(cache, f, flat - first);
            chunk->chosen = 0;
            if (chunk->acked > info->changed) {
                chunk->priority = 0.0f;
                chunk->waited = 0;
                continue;
            }
            sender->stats.chunks_pending++;
            if (chunk->sent > info->changed && !chunk->resend &&
                now_ms - chunk->sent_ms < wait_ms) {
                continue;
            }
            if (key_under_way(sender, chunk, now_ms, rtt_ms) || must_wait(chunk, now_ms, rtt_ms)) {
                sender->withheld = true;
                continue;
            }
            f32 pixels = PIXELS_MAX;
            if (chunk->acked != 0) {
                f32 error = (f32)(info->travelled - chunk->acked_travelled);
                pixels = f32_min(error * pixels_per_metre(view, info), PIXELS_MAX);
            }
            pixels += PIXELS_FLOOR * (f32)++chunk->waited;
            chunk->priority = f32_min(chunk->priority + pixels, PRIORITY_MAX);
            bool due = (f32)chunk->waited > DUE_ROUNDS * sender->round;
            candidate_push(sender, flat, due ? PRIORITY_MAX * (f32)chunk->waited : chunk->priority);
        }
    }
    f32 round = (f32)sender->heap_count / f32_max(sender->chunks_sent, ROUND_RATE);
    sender->round += (round > sender->round ? 1.0f : ROUND_RATE) * (round - sender->round);
    for (u32 i = sender->heap_count / 2; i-- > 0;) {
        heap_sink(sender->heap, sender->heap_count, i);
    }
}

/* ---- packets ---- */

static void packet_begin(const SnapshotSender *sender, Packet *packet)
{
    packet->first_record = sender->record_next;
    packet->header.records = 0;
    packet->chunks = 0;
    bit_writer_init(&packet->writer, packet->data, sizeof packet->data);
    snapshot_put_header(&packet->writer, &packet->header);
}

static u32 packet_finish(SnapshotSender *sender, Packet *packet, u64 tick, u64 now_ms,
                         SnapshotEmit *emit, void *context)
{
    u16 sequence = ++sender->sequence;
    SentPacket *sent = &sender->packets[sequence % PACKETS_KEPT];
    if (sent->state == SENT_PENDING) {
        packet_give_up(sender, sent);
    }
    *sent = (SentPacket){.tick = tick,
                         .sent_ms = now_ms,
                         .first = packet->first_record,
                         .count = (u16)packet->chunks,
                         .sequence = sequence,
                         .state = SENT_PENDING};
    if ((u16)(sequence - sender->oldest_pending) >= PACKETS_KEPT) {
        sender->oldest_pending = (u16)(sequence - PACKETS_KEPT + 1);
    }
    u32 bytes = bit_writer_bytes(&packet->writer);
    sent->bytes = (u16)bytes;
    BitWriter again;
    bit_writer_init(&again, packet->data, SNAPSHOT_HEADER_BYTES);
    packet->header.sequence = sequence;
    snapshot_put_header(&again, &packet->header);
    sender->stats.packets++;
    sender->stats.bytes += bytes;
    emit(context, packet->data, bytes);
    return bytes;
}

static bool packet_put(Packet *packet, const SnapshotRecord *record, const SpanCode *code)
{
    u32 before = packet->writer.bit;
    snapshot_put_record(&packet->writer, record);
    u32 at = bit_writer_bytes(&packet->writer);
    if (packet->writer.failed || at + code->size > sizeof packet->data ||
        packet->header.records == SNAPSHOT_RECORDS_MAX ||
        packet->chunks + record->count > SNAPSHOT_CHUNKS_MAX) {
        bit_writer_rewind(&packet->writer, before);
        return false;
    }
    memcpy(packet->data + at, code->bytes, code->size);
    packet->writer.bit += 8u * code->size;
    packet->header.records++;
    packet->chunks += record->count;
    return true;
}

static void remember(SnapshotSender *sender, const ChunkCache *cache, const SnapshotRecord *record,
                     u64 now_ms)
{
    u64 tick = chunk_cache_frame(cache)->tick;
    for (u32 i = 0; i < record->count; i++) {
        u32 flat = sender->first[record->field] + record->chunks[i];
        SenderChunk *chunk = &sender->chunks[flat];
        u32 slot = ++chunk->sends % CHUNK_STATES_KEPT;
        chunk->sent = tick + 1;
        chunk->sent_ms = now_ms;
        chunk->ticks[slot] = (u32)tick;
        chunk->acks &= ~(1u << slot);
        chunk->priority = 0.0f;
        chunk->waited = 0;
        chunk->resend = false;
        sender->records[sender->record_next++ & (sender->records_kept - 1)] =
            (SentRecord){flat, chunk->sends,
                         chunk_cache_info(cache, record->field, record->chunks[i])->travelled};
    }
    sender->stats.records += record->count;
    sender->stats.keys += record->states == 0 ? record->count : 0;
}

/* ---- what to build upon ---- */

/* Ages of baselines, in ticks, that clients of like round trips share; beyond the last any. */
static bool age_is_shared(u64 age)
{
    static const u8 ages[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
    for (u32 i = 0; i < PL_COUNT(ages); i++) {
        if (ages[i] == age) {
            return true;
        }
    }
    return age > ages[PL_COUNT(ages) - 1];
}

/* The remembered tick nearest to this one of those older than `below`; 0: none. */
static u64 tick_near(const SnapshotSender *sender, u64 wanted, u64 below)
{
    u64 best = 0;
    for (u32 i = 0; i < sender->tick_count; i++) {
        u64 tick = sender->ticks[i];
        u64 off = tick > wanted ? tick - wanted : wanted - tick;
        u64 best_off = best > wanted ? best - wanted : wanted - best;
        if (tick < below && (best == 0 || off < best_off)) {
            best = tick;
        }
    }
    return best;
}

/* The ticks that this client's snapshot builds upon where it can: the newest acknowledged one, and
 * two as far apart from it and each other as it is from now, or as far as the client still has
 * them. */
static TickClass class_common(const SnapshotSender *sender, const ChunkCache *cache)
{
    TickClass common = {{0}};
    u64 now = chunk_cache_frame(cache)->tick;
    u32 first = 0;
    while (first < sender->tick_count && !chunk_cache_has(cache, sender->ticks[first])) {
        first++;
    }
    if (first == sender->tick_count) {
        return common;
    }
    u64 newest = sender->ticks[first], age = now - newest;
    common.ticks[0] = newest;
    for (u32 i = first; i < sender->tick_count && now - sender->ticks[i] <= age + age / 4; i++) {
        if (age_is_shared(now - sender->ticks[i])) {
            common.ticks[0] = sender->ticks[i];
            break;
        }
    }
    /* Of states sent in each snapshot, so many lie between now and what the receiver forgets. */
    u64 interval = sender->tick_count > first + 1 ? newest - sender->ticks[first + 1] : 1;
    u64 reach = (REACH - 4) * u64_max(interval, 1);
    age = now - common.ticks[0];
    u64 apart = age >= reach ? 0 : u64_min(age, (reach - age) / 2);
    for (u32 s = 1; s < SPAN_STATES && apart > 0 && common.ticks[s - 1] > apart; s++) {
        u64 tick = tick_near(sender, common.ticks[s - 1] - apart, common.ticks[s - 1]);
        if (tick == 0 || !chunk_cache_has(cache, tick)) {
            break;
        }
        common.ticks[s] = tick;
    }
    return common;
}

/* The newest acknowledged tick at or before `tick` (low bits) at which the client has the chunk;
 * false: none. */
static bool tick_held(const SenderChunk *chunk, u64 tick, u64 *held)
{
    u32 oldest = chunk->sends >= REACH ? chunk->sends - REACH + 1 : 1;
    for (u32 number = chunk->acked_number; number >= oldest && number > 0; number--) {
        u32 slot = number % CHUNK_STATES_KEPT;
        i32 behind = (i32)((u32)tick - chunk->ticks[slot]);
        if ((chunk->acks >> slot & 1) != 0 && behind >= 0) {
            *held = tick - (u32)behind;
            return true;
        }
    }
    return false;
}

static bool tick_usable(const SenderChunk *chunk, const ChunkCache *cache, u32 field, u32 index,
                        u64 tick)
{
    u64 held;
    return tick_held(chunk, tick, &held) && chunk_cache_constant(cache, field, index, held, tick);
}

/* What one chunk is coded out of. */
static TickClass class_of(const SenderChunk *chunk, const ChunkCache *cache, u32 field, u32 index,
                          const TickClass *common)
{
    TickClass class = {{0}};
    u32 count = 0;
    u64 now = chunk_cache_frame(cache)->tick, held;
    if (chunk->acked == 0) {
        return class;
    }
    if (common->ticks[0] == 0 || !tick_usable(chunk, cache, field, index, common->ticks[0])) {
        if (!tick_held(chunk, now - 1, &held) || !chunk_cache_has(cache, held) || held == 0) {
            return class;
        }
        class.ticks[count++] = held;
    }
    for (u32 s = 0; s < SPAN_STATES && common->ticks[s] != 0 && count < SPAN_STATES; s++) {
        bool older = count == 0 || common->ticks[s] < class.ticks[count - 1];
        if (older && tick_usable(chunk, cache, field, index, common->ticks[s])) {
            class.ticks[count++] = common->ticks[s];
        }
    }
    return class;
}

/* Its number + 1; 0: there are too many. */
static u8 class_number(SnapshotSender *sender, const TickClass *class)
{
    for (u32 i = 0; i < sender->class_count; i++) {
        if (memcmp(&sender->classes[i], class, sizeof *class) == 0) {
            return (u8)(i + 1);
        }
    }
    if (sender->class_count == CLASSES_MAX) {
        return 0;
    }
    sender->classes[sender->class_count++] = *class;
    return (u8)sender->class_count;
}

/* ---- a snapshot ---- */

static u32 field_of(const SnapshotSender *sender, u32 flat)
{
    u32 f = sender->fields->count - 1;
    while (sender->first[f] > flat) {
        f--;
    }
    return f;
}

/* Each sender starts somewhere else, so that acknowledgements still under way to the one that it
 * replaced (the client seeks again and again) confirm nothing here. */
static void sequence_start(SnapshotSender *sender, u64 tick, u64 now_ms)
{
    sender->sequence = (u16)random_u64(now_ms, tick);
    sender->oldest_pending = (u16)(sender->sequence + 1);
}

typedef struct Build {
    ChunkCache *cache;
    Packet packet;
    u64 tick, now_ms;
    i64 available; /* bytes */
    u32 spent, packets;
    bool limited;
    SnapshotEmit *emit;
    void *context;
} Build;

static i64 build_left(const Build *build)
{
    return build->available - (i64)build->spent - (i64)bit_writer_bytes(&build->packet.writer);
}

/* Takes candidates by priority until their estimated cost fills what is left. Returns how many. */
static u32 build_choose(SnapshotSender *sender, Build *build, const TickClass *common)
{
    f32 left = (f32)build_left(build);
    u32 count = 0;
    while (sender->heap_count > 0 && left > 0.0f) {
        u32 flat = heap_pop(sender), field = field_of(sender, flat);
        SenderChunk *chunk = &sender->chunks[flat];
        TickClass class = class_of(chunk, build->cache, field, flat - sender->first[field], common);
        chunk->chosen = class_number(sender, &class);
        sender->withheld = sender->withheld || chunk->chosen == 0;
        if (chunk->chosen != 0) {
            count++;
            left -= chunk_cache_cost(build->cache, field, class.ticks[0] == 0);
        }
    }
    return count;
}

static void record_fill(SnapshotRecord *record, const SnapshotSender *sender, u64 tick, u32 field,
                        const TickClass *class, const u16 *chunks, const SpanCode *code)
{
    *record = (SnapshotRecord){
        .field = (u8)field,
        .plain = code->plain,
        .has_hash = sender->sequence % HASH_PERIOD == 0,
        .any_rest = code->any_rest,
        .size = code->size,
        .hash = code->hash,
        .count = code->count,
    };
    for (u32 s = 0; s < SPAN_STATES && class->ticks[s] != 0; s++) {
        record->back[s] = (u32)(tick - class->ticks[s]);
        record->states = (u8)(s + 1);
    }
    memcpy(record->chunks, chunks, code->count * sizeof *chunks);
    memcpy(record->rest, code->rest, code->count);
}

/* Sends chunks of one field and class; what does not go out waits for the next snapshot. */
static void build_send(SnapshotSender *sender, Build *build, u32 field, const TickClass *class,
                       const u16 *chunks, u32 count)
{
    enum {
        ROOM = STATE_PAYLOAD_BYTES_MAX - SNAPSHOT_HEADER_BYTES - SNAPSHOT_RECORD_BYTES_MIN
    };
    u32 sent = 0;
    while (sent < count) {
        SnapshotRecord record;
        const SpanCode *code =
            chunk_cache_span(build->cache, field, chunks + sent, count - sent, class->ticks, ROOM);
        if (code == NULL) {
            sender->withheld = true;
            break;
        }
        record_fill(&record, sender, build->tick, field, class, chunks + sent, code);
        bool put = packet_put(&build->packet, &record, code);
        bool fresh = build->packet.header.records == 0;
        if (!put && fresh && code->count > 1) {
            /* The list of the chunks did not fit beside their code. */
            count = sent + code->count / 2;
            continue;
        }
        if (!put && build->packets < SNAPSHOT_PACKETS_MAX) {
            build->spent += packet_finish(sender, &build->packet, build->tick, build->now_ms,
                                          build->emit, build->context);
            build->packets++;
            packet_begin(sender, &build->packet);
            continue;
        }
        if (!put) {
            build->limited = true;
            break;
        }
        remember(sender, build->cache, &record, build->now_ms);
        sent += code->count;
    }
}

/* Sends what was chosen, class by class, in the order of the chunks. */
static void build_chosen(SnapshotSender *sender, Build *build)
{
    for (u32 k = 0; k < sender->class_count; k++) {
        for (u32 f = 0; f < sender->fields->count; f++) {
            u32 first = sender->first[f];
            u32 end = f + 1 < sender->fields->count ? sender->first[f + 1] : sender->chunk_total;
            u32 flat = first;
            while (flat < end && !build->limited) {
                u16 chunks[SPAN_CHUNKS_MAX];
                u32 count = 0;
                for (; flat < end && count < SPAN_CHUNKS_MAX; flat++) {
                    if (sender->chunks[flat].chosen == k + 1) {
                        chunks[count++] = (u16)(flat - first);
                    }
                }
                if (count > 0) {
                    build_send(sender, build, f, &sender->classes[k], chunks, count);
                }
                for (u32 i = 0; i < count; i++) {
                    sender->chunks[first + chunks[i]].chosen = 0;
                }
            }
        }
    }
}

u32 snapshot_sender_build(SnapshotSender *sender, ChunkCache *cache, const SnapshotView *view,
                          const SnapshotHeader *header, u32 byte_budget, u64 now_ms, u32 rtt_ms,
                          SnapshotEmit *emit, void *context)
{
    const Frame *frame = chunk_cache_frame(cache);
    Build build = {.cache = cache,
                   .tick = frame != NULL ? frame->tick : 0,
                   .now_ms = now_ms,
                   .available = byte_budget,
                   .packets = 1,
                   .emit = emit,
                   .context = context};
    if (sender->stats.packets == 0) {
        sequence_start(sender, build.tick, now_ms);
    }
    u64 records_before = sender->stats.records;
    sender->heap_count = 0;
    sender->withheld = false;
    sender->reorder_ms = REORDER_MS + rtt_ms / 2;
    TickClass common = {{0}};
    if (frame != NULL && field_set_equal(frame->fields, sender->fields)) {
        collect_candidates(sender, cache, view, now_ms, rtt_ms);
        common = class_common(sender, cache);
    }
    build.packet.header = *header;
    build.packet.header.tick = (u32)build.tick;
    packet_begin(sender, &build.packet);
    for (u32 round = 0; round < ROUNDS && sender->heap_count > 0 && !build.limited; round++) {
        sender->class_count = 0;
        if (build_choose(sender, &build, &common) == 0) {
            break;
        }
        build_chosen(sender, &build);
    }
    build.limited = build.limited || sender->heap_count > 0;
    bool left_out = build.limited || sender->withheld;
    build.packet.header.flags |= left_out ? SNAPSHOT_LIMITED : 0;
    build.spent += packet_finish(sender, &build.packet, build.tick, now_ms, emit, context);
    sender->stats.limited = build.limited;
    f32 chunks = (f32)(sender->stats.records - records_before);
    sender->chunks_sent += ROUND_RATE * (chunks - sender->chunks_sent);
    return build.spent;
}
