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
    /* Every so many sends of a chunk one carries its hash. */
    HASH_PERIOD = 8,
};
/* A pending chunk's priority grows by its error in pixels, at most so many, and by a floor for each
 * snapshot that it has waited, so that the smallest error overtakes the largest within seconds. */
#define PIXELS_MAX    64.0f
#define PIXELS_FLOOR  0.25f
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
    u32 waited;       /* snapshots since it was last sent */
    u32 sends;        /* states sent since the last forget */
    u32 acked_number; /* number (1 ..) of the acknowledged one */
    bool resend;      /* the packet with the newest was lost */
} SenderChunk;

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

    SentPacket packets[PACKETS_KEPT]; /* slot sequence % PACKETS_KEPT */
    SentRecord *records;              /* ring of records_kept, a power of two */
    u32 records_kept;
    u64 record_next;    /* running index */
    u16 sequence;       /* of the last packet sent */
    u16 oldest_pending; /* no packet before it is pending */
    u32 given_up;       /* lost, not yet reported */
    u32 reorder_ms;
    SnapshotSenderStats stats;
};

/* The packet being filled. */
typedef struct Packet {
    BitWriter writer;
    SnapshotHeader header;
    u64 first_record;
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

static void packet_confirm(SnapshotSender *sender, SentPacket *packet)
{
    packet->state = SENT_ACKED;
    sender->stats.acked++;
    sender->stats.acked_bytes += packet->bytes;
    for (u32 i = 0; i < packet->count; i++) {
        const SentRecord *record = sent_record(sender, packet, i);
        if (record == NULL) {
            continue;
        }
        SenderChunk *chunk = &sender->chunks[record->chunk];
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
            if (must_wait(chunk, now_ms, rtt_ms)) {
                continue;
            }
            f32 pixels = PIXELS_MAX;
            if (chunk->acked != 0) {
                f32 error = (f32)(info->travelled - chunk->acked_travelled);
                pixels = f32_min(error * pixels_per_metre(view, info), PIXELS_MAX);
            }
            pixels += PIXELS_FLOOR * (f32)++chunk->waited;
            chunk->priority = f32_min(chunk->priority + pixels, PRIORITY_MAX);
            candidate_push(sender, flat, chunk->priority);
        }
    }
    for (u32 i = sender->heap_count / 2; i-- > 0;) {
        heap_sink(sender->heap, sender->heap_count, i);
    }
}

/* ---- packets ---- */

static void packet_begin(const SnapshotSender *sender, Packet *packet)
{
    packet->first_record = sender->record_next;
    packet->header.records = 0;
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
                         .count = packet->header.records,
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

/* The code for a chunk and its record header; false only without memory. */
static bool choose_code(const SnapshotSender *sender, ChunkCache *cache, u32 field, u32 flat,
                        SnapshotRecord *record, const ChunkCode **code)
{
    const SenderChunk *chunk = &sender->chunks[flat];
    u64 tick = chunk_cache_frame(cache)->tick;
    u32 index = flat - sender->first[field];
    *code = NULL;
    record->back = 0;
    u32 newer = chunk->sends - chunk->acked_number;
    if (chunk->acked > 1 && newer < CHUNK_STATES_KEPT && tick - (chunk->acked - 1) > 0 &&
        tick - (chunk->acked - 1) <= SNAPSHOT_BACK_MAX) {
        *code = chunk_cache_get(cache, field, index, chunk->acked - 1);
        record->back = (u32)(tick - (chunk->acked - 1));
    }
    if (*code == NULL) {
        *code = chunk_cache_get(cache, field, index, 0);
        record->back = 0;
    }
    if (*code == NULL) {
        return false;
    }
    record->field = (u8)field;
    record->chunk = (u16)index;
    /* Only ticks after the baseline's own say anything: a body may have moved in each. */
    record->still = record->back != 0 ? (u8)u32_min((*code)->still, record->back - 1) : 0;
    record->has_hash = chunk->sends % HASH_PERIOD == 0;
    record->hash = (u16)(*code)->hash;
    record->size = (*code)->size;
    return true;
}

static bool packet_put(Packet *packet, const SnapshotRecord *record, const ChunkCode *code)
{
    u32 before = packet->writer.bit;
    snapshot_put_record(&packet->writer, record);
    u32 at = bit_writer_bytes(&packet->writer);
    if (packet->writer.failed || at + code->size > sizeof packet->data ||
        packet->header.records == SNAPSHOT_RECORDS_MAX) {
        bit_writer_rewind(&packet->writer, before);
        return false;
    }
    memcpy(packet->data + at, code->bytes, code->size);
    packet->writer.bit += 8u * code->size;
    packet->header.records++;
    return true;
}

static void remember(SnapshotSender *sender, const ChunkCache *cache, const SnapshotRecord *record,
                     u32 flat, u64 now_ms)
{
    SenderChunk *chunk = &sender->chunks[flat];
    const ChunkInfo *info = chunk_cache_info(cache, record->field, record->chunk);
    chunk->sent = chunk_cache_frame(cache)->tick + 1;
    chunk->sent_ms = now_ms;
    chunk->sends++;
    chunk->priority = 0.0f;
    chunk->waited = 0;
    chunk->resend = false;
    sender->records[sender->record_next++ & (sender->records_kept - 1)] =
        (SentRecord){flat, chunk->sends, info->travelled};
    sender->stats.records++;
    sender->stats.keys += record->back == 0;
}

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

u32 snapshot_sender_build(SnapshotSender *sender, ChunkCache *cache, const SnapshotView *view,
                          const SnapshotHeader *header, u32 byte_budget, u64 now_ms, u32 rtt_ms,
                          SnapshotEmit *emit, void *context)
{
    const Frame *frame = chunk_cache_frame(cache);
    u64 tick = frame != NULL ? frame->tick : 0;
    if (sender->stats.packets == 0) {
        sequence_start(sender, tick, now_ms);
    }
    u32 spent = 0, packets = 1;
    bool limited = false;
    sender->heap_count = 0;
    sender->reorder_ms = REORDER_MS + rtt_ms / 2;
    if (frame != NULL && field_set_equal(frame->fields, sender->fields)) {
        collect_candidates(sender, cache, view, now_ms, rtt_ms);
    }
    Packet packet;
    packet.header = *header;
    packet.header.tick = (u32)tick;
    packet_begin(sender, &packet);
    while (sender->heap_count > 0 && !limited) {
        if (spent + bit_writer_bytes(&packet.writer) >= byte_budget) {
            limited = true;
            break;
        }
        u32 flat = heap_pop(sender);
        SnapshotRecord record;
        const ChunkCode *code;
        if (!choose_code(sender, cache, field_of(sender, flat), flat, &record, &code)) {
            continue;
        }
        bool put = packet_put(&packet, &record, code);
        if (!put && packets < SNAPSHOT_PACKETS_MAX) {
            spent += packet_finish(sender, &packet, tick, now_ms, emit, context);
            packets++;
            packet_begin(sender, &packet);
            put = packet_put(&packet, &record, code);
        }
        if (put) {
            remember(sender, cache, &record, flat, now_ms);
        } else {
            limited = true;
        }
    }
    packet.header.flags |= limited ? SNAPSHOT_LIMITED : 0;
    spent += packet_finish(sender, &packet, tick, now_ms, emit, context);
    sender->stats.limited = limited;
    return spent;
}
