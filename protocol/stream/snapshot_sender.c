/*
 * snapshot_sender.c: fills packets for one client with the chunks selected by snapshot_choice.h
 * until the byte budget is used up. A ring of sent packets and their contents is kept for
 * acknowledgements.
 */
#include "protocol/stream/snapshot_choice.h"
#include "protocol/stream/snapshot_packet.h"
#include "shared/base/check.h"
#include "shared/math/random.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORDS_KEPT_MIN = 1024,
    RECORDS_KEPT_MAX = 1 << 16,
    /* A packet is considered lost when one sent this much later was acknowledged ... */
    REORDER_MS = 60,
    REORDER_PACKETS = 3,
    /* ... or when acknowledgements can no longer refer to it. */
    ACK_REACH = 64,
    /* Every HASH_PERIOD-th packet carries hashes. */
    HASH_PERIOD = 8,
    /* Chunks chosen by estimated costs are coded; this is repeated with the remaining bytes. */
    ROUNDS = 3,
    /* Approximate size of a chunk's key in full detail. */
    KEY_BYTES = 400,
    EXPECTED_MS = 1500, /* budgets double in a second */
    MOVING_BYTES = 80,  /* of a moving chunk: 10 bits for each of 64 elements */
};
static const f64 first_picture_s = 0.5;
/* Moving chunks must not take turns at 0.1 s intervals later: all of them are to be sent within
 * this time. */
static const f64 moving_s = 1.0 / 15.0;

/* The packet being filled. */
typedef struct OutPacket {
    BitWriter writer;
    SnapshotHeader header;
    u64 first_record;
    u32 chunks;
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} OutPacket;

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
    /* Half a second of complete snapshots. */
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

void snapshot_sender_allow_coarse(SnapshotSender *sender, bool allow)
{
    sender->coarse_allowed = allow;
    sender->coarseness = allow ? sender->coarseness : 0;
}

void snapshot_sender_expect(SnapshotSender *sender, f64 bytes_s, u64 now_ms)
{
    f64 chunks = (f64)sender->chunk_total;
    if (sender->coarse_allowed && (chunks * KEY_BYTES > first_picture_s * bytes_s ||
                                   chunks * MOVING_BYTES > moving_s * bytes_s)) {
        sender->coarseness = SNAPSHOT_COARSENESS_MAX;
        sender->fine_ms = now_ms + EXPECTED_MS;
    }
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

/* Record i of a packet, or NULL if overwritten by newer packets. */
static const SentRecord *sent_record(const SnapshotSender *sender, const SentPacket *packet, u32 i)
{
    VALIDATE(i < packet->count);
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
    CHECK(at < sender->tick_count && sender->tick_count <= TICKS_KEPT);
    sender->ticks[at] = tick;
}

static void packet_confirm(SnapshotSender *sender, SentPacket *packet)
{
    packet->state = SENT_ACKED;
    sender->heard_ms = u64_max(sender->heard_ms, packet->sent_ms);
    sender->stats.acked++;
    sender->stats.acked_bytes += packet->bytes;
    tick_confirm(sender, packet->tick); /* also of an idle one: unchanged chunks have a state
                                           there */
    for (u32 i = 0; i < packet->count; i++) {
        const SentRecord *record = sent_record(sender, packet, i);
        if (record == NULL) {
            continue;
        }
        VALIDATE(record->chunk < sender->chunk_total);
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
    bool passing = true; /* still in the leading run without pending packets */
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

/* ---- packets ---- */

static void packet_begin(const SnapshotSender *sender, OutPacket *packet)
{
    packet->first_record = sender->record_next;
    packet->header.records = 0;
    packet->chunks = 0;
    bit_writer_init(&packet->writer, packet->data, sizeof packet->data);
    snapshot_put_header(&packet->writer, &packet->header);
}

static u32 packet_finish(SnapshotSender *sender, OutPacket *packet, u64 tick, u64 now_ms,
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
    CHECK(!packet->writer.failed && bytes <= STATE_PAYLOAD_BYTES_MAX);
    CHECK(packet->chunks <= SNAPSHOT_CHUNKS_MAX);
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

static bool packet_put(OutPacket *packet, const SnapshotRecord *record, const SpanCode *code)
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
        const ChunkInfo *info = chunk_cache_info(cache, record->field, record->chunks[i]);
        VALIDATE(flat < sender->chunk_total);
        chunk->sent = tick + 1;
        chunk->sent_ms = now_ms;
        chunk->ticks[slot] = (u32)tick;
        chunk->details[slot] = record->detail;
        sender->movers_sent += !chunk_is_known(chunk, info);
        chunk->acks &= ~(1u << slot);
        chunk->priority = 0.0f;
        chunk->waited = 0;
        chunk->resend = false;
        sender->records[sender->record_next++ & (sender->records_kept - 1)] =
            (SentRecord){flat, chunk->sends, info->travelled};
    }
    sender->stats.records += record->count;
    sender->stats.keys += record->states == 0 ? record->count : 0;
}

/* ---- a snapshot ---- */

/* Class number + 1; 0: too many classes. */
static u8 class_number(SnapshotSender *sender, const SpanBase *class)
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

static u32 field_of(const SnapshotSender *sender, u32 flat)
{
    VALIDATE(flat < sender->chunk_total);
    u32 f = sender->fields->count - 1;
    while (sender->first[f] > flat) {
        f--;
    }
    return f;
}

/* Each sender starts at a different sequence, so that acknowledgements still in flight for a
 * replaced sender (repeated seeks) confirm nothing here. */
static void sequence_start(SnapshotSender *sender, u64 tick, u64 now_ms)
{
    sender->sequence = (u16)random_u64(now_ms, tick);
    sender->oldest_pending = (u16)(sender->sequence + 1);
}

typedef struct Build {
    ChunkCache *cache;
    const SnapshotView *view;
    OutPacket packet;
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

/* Takes candidates by priority until their estimated cost fills the remaining bytes. Returns
 * their number. */
static u32 build_choose(SnapshotSender *sender, Build *build, const SpanBase *common)
{
    const Frame *frame = chunk_cache_frame(build->cache);
    f32 left = (f32)build_left(build);
    u32 count = 0;
    while (sender->heap_count > 0 && left > 0.0f) {
        u32 flat = choice_pop(sender), field = field_of(sender, flat);
        SenderChunk *chunk = &sender->chunks[flat];
        u32 index = flat - sender->first[field];
        const ChunkInfo *info = chunk_cache_info(build->cache, field, index);
        Detail detail = choice_detail(sender, build->view, frame, field, chunk, info);
        const SpanBase *of_kind = &common[sender->fields->fields[field].kind];
        SpanBase class = choice_base(chunk, build->cache, field, index, of_kind, detail);
        chunk->chosen = class_number(sender, &class);
        sender->withheld = sender->withheld || chunk->chosen == 0;
        if (chunk->chosen != 0) {
            count++;
            left -= chunk_cache_cost(build->cache, field, &class);
        }
    }
    return count;
}

static void record_fill(SnapshotRecord *record, const SnapshotSender *sender, u64 tick, u32 field,
                        const SpanBase *class, const u16 *chunks, const SpanCode *code)
{
    *record = (SnapshotRecord){
        .field = (u8)field,
        .fallback = code->fallback,
        .has_hash = sender->sequence % HASH_PERIOD == 0,
        .any_rest = code->any_rest,
        .detail = class->detail,
        .size = code->size,
        .hash = code->hash,
        .count = code->count,
    };
    CHECK(code->count >= 1 && code->count <= SPAN_CHUNKS_MAX);
    for (u32 s = 0; s < SPAN_STATES && class->ticks[s] != 0; s++) {
        CHECK(class->ticks[s] < tick);
        record->back[s] = (u32)(tick - class->ticks[s]);
        record->state_detail[s] = class->states[s];
        record->states = (u8)(s + 1);
    }
    memcpy(record->chunks, chunks, code->count * sizeof *chunks);
    memcpy(record->rest, code->rest, code->count);
}

/* Sends chunks of one field and class; those that do not fit wait for the next snapshot. */
static void build_send(SnapshotSender *sender, Build *build, u32 field, const SpanBase *class,
                       const u16 *chunks, u32 count)
{
    enum {
        CAPACITY = STATE_PAYLOAD_BYTES_MAX - SNAPSHOT_HEADER_BYTES - SNAPSHOT_RECORD_BYTES_MIN
    };
    u32 sent = 0;
    while (sent < count) {
        SnapshotRecord record;
        const SpanCode *code =
            chunk_cache_span(build->cache, field, chunks + sent, count - sent, class, CAPACITY);
        if (code == NULL) {
            sender->withheld = true;
            break;
        }
        record_fill(&record, sender, build->tick, field, class, chunks + sent, code);
        bool put = packet_put(&build->packet, &record, code);
        bool is_new = build->packet.header.records == 0;
        if (!put && is_new && code->count > 1) {
            /* The list of chunks did not fit together with their code. */
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

/* Sends the chosen chunks, class by class, in chunk order. */
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

/* The last packet ends with the hash of the frame; if it is full, an empty one does. */
static void build_frame_hash(SnapshotSender *sender, Build *build)
{
    OutPacket *packet = &build->packet;
    if (bit_writer_bytes(&packet->writer) + SNAPSHOT_FRAME_HASH_BYTES > sizeof packet->data) {
        build->spent +=
            packet_finish(sender, packet, build->tick, build->now_ms, build->emit, build->context);
        packet_begin(sender, packet);
    }
    packet->header.flags |= SNAPSHOT_FRAME;
    bits_put(&packet->writer, packet->header.frame_hash, 64);
}

u32 snapshot_sender_build(SnapshotSender *sender, ChunkCache *cache, const SnapshotView *view,
                          const SnapshotHeader *header, SnapshotLine line, SnapshotEmit *emit,
                          void *context)
{
    CHECK(emit != NULL);
    const Frame *frame = chunk_cache_frame(cache);
    Build build = {.cache = cache,
                   .view = view,
                   .tick = frame != NULL ? frame->tick : 0,
                   .now_ms = line.now_ms,
                   .available = line.byte_budget,
                   .packets = 1,
                   .emit = emit,
                   .context = context};
    if (sender->stats.packets == 0) {
        sequence_start(sender, build.tick, line.now_ms);
    }
    sender->heap_count = 0;
    sender->movers = sender->movers_sent = 0;
    sender->withheld = false;
    sender->reorder_ms = REORDER_MS + line.rtt_ms / 2;
    SpanBase common[FIELD_KIND_COUNT];
    memset(common, 0, sizeof common);
    if (frame != NULL && field_set_equal(frame->fields, sender->fields)) {
        choice_collect(sender, cache, view, line.now_ms, line.rtt_ms);
        choice_common(sender, cache, common);
    }
    build.packet.header = *header;
    build.packet.header.tick = (u32)build.tick;
    packet_begin(sender, &build.packet);
    for (u32 round = 0; round < ROUNDS && sender->heap_count > 0 && !build.limited; round++) {
        sender->class_count = 0;
        if (build_choose(sender, &build, common) == 0) {
            break;
        }
        build_chosen(sender, &build);
    }
    build.limited = build.limited || sender->heap_count > 0;
    /* Chunks that only need refinement do not count. */
    bool left_out = sender->movers_sent < sender->movers || sender->withheld;
    if (header->frame_hash != 0) {
        build_frame_hash(sender, &build);
    }
    build.packet.header.flags |= left_out ? SNAPSHOT_LIMITED : 0;
    build.spent += packet_finish(sender, &build.packet, build.tick, line.now_ms, emit, context);
    sender->stats.limited = build.limited;
    sender->stats.coarseness = sender->coarseness;
    choice_adapt(sender, line.now_ms, line.rtt_ms);
    return build.spent;
}
