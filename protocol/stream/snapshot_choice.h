/*
 * snapshot_choice.h: selects the chunks that one client gets next, their detail and their
 * baselines; and holds the sender's knowledge of its client. Private to snapshot_sender.c and
 * snapshot_choice.c.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_SNAPSHOT_CHOICE_H
#define PLENUM_PROTOCOL_STREAM_SNAPSHOT_CHOICE_H

#include "protocol/stream/snapshot.h"

PL_BEGIN_C

enum {
    /* Sent packets remembered: 65 can be acknowledged, the rest is a margin for late ones. */
    PACKETS_KEPT = 256,
    /* Acknowledged ticks remembered as baselines. */
    TICKS_KEPT = 96,
    /* Baseline sets of one snapshot; a chunk that needs yet another waits for the next. */
    CLASSES_MAX = 64,
    /* States of a chunk that may be in flight beyond the oldest baseline. */
    REACH = CHUNK_STATES_KEPT - 1,
};

typedef struct SenderChunk {
    u64 acked;           /* newest acknowledged tick + 1, 0 none */
    u64 sent;            /* newest sent tick + 1, 0 none */
    u64 sent_ms;         /* time of sending */
    f64 acked_travelled; /* ChunkInfo.travelled of the acknowledged state */
    f32 priority;
    u32 waited;                   /* snapshots since it was last sent */
    u32 sends;                    /* states sent since the last forget */
    u32 acked_number;             /* number (1 ..) of the acknowledged one */
    u32 ticks[CHUNK_STATES_KEPT]; /* low bits, slot state number % CHUNK_STATES_KEPT */
    Detail details[CHUNK_STATES_KEPT];
    u32 acks;    /* bit number % CHUNK_STATES_KEPT: acknowledged */
    u8 chosen;   /* class + 1 in this build, 0: not chosen */
    bool resend; /* the packet with its newest state was lost */
} SenderChunk;

PL_STATIC_ASSERT(CHUNK_STATES_KEPT == 32, "SenderChunk.acks has a bit for each");

typedef struct SentRecord {
    u32 chunk;  /* flat index */
    u32 number; /* SenderChunk.sends after it was sent */
    f64 travelled;
} SentRecord;

typedef enum SentState {
    SENT_NONE, /* empty, or of a discarded stream */
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
    u32 movers, movers_sent; /* candidates that need more than refinement */
    f32 round;               /* snapshots, smoothed */
    bool coarse_allowed;
    u32 coarseness;         /* 0: full detail */
    u64 coarse_ms, fine_ms; /* since when reducing, and increasing, detail is indicated */
    u64 heard_ms;           /* send time of the newest acknowledged packet */

    SentPacket packets[PACKETS_KEPT]; /* slot sequence % PACKETS_KEPT */
    SentRecord *records;              /* ring of records_kept, a power of two */
    u32 records_kept;
    u64 record_next;       /* running index */
    u16 sequence;          /* of the last packet sent */
    u16 oldest_pending;    /* no packet before it is pending */
    u64 ticks[TICKS_KEPT]; /* newest acknowledged ticks, newest first */
    u32 tick_count;
    SpanBase classes[CLASSES_MAX]; /* chunks of one class are coded together */
    u32 class_count;
    bool withheld; /* a changed chunk is not sent in this build */
    u32 given_up;  /* lost packets not yet reported */
    u32 reorder_ms;
    SnapshotSenderStats stats;
};

/* The client has its newest state, possibly in reduced detail. */
static inline bool chunk_is_known(const SenderChunk *chunk, const ChunkInfo *info)
{
    return chunk->acked > info->changed;
}

/* Finds the chunks worth sending now and increases their priorities: fills the sender's heap. */
void choice_collect(SnapshotSender *sender, const ChunkCache *cache, const SnapshotView *view,
                    u64 now_ms, u32 rtt_ms);
/* Removes the first chunk of the non-empty heap; returns its flat index. */
u32 choice_pop(SnapshotSender *sender);
/* The detail at which a chunk is sent. */
Detail choice_detail(const SnapshotSender *sender, const SnapshotView *view, const Frame *frame,
                     u32 field, const SenderChunk *chunk, const ChunkInfo *info);
/* Adapts the detail level after a snapshot. */
void choice_adapt(SnapshotSender *sender, u64 now_ms, u32 rtt_ms);
/* The preferred baseline ticks of this client's snapshot, by kind of field. */
void choice_common(const SnapshotSender *sender, const ChunkCache *cache,
                   SpanBase common[FIELD_KIND_COUNT]);
/* The baselines of one chunk. */
SpanBase choice_base(const SenderChunk *chunk, const ChunkCache *cache, u32 field, u32 index,
                     const SpanBase *common, Detail detail);

PL_END_C

#endif
