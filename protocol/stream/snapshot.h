/*
 * snapshot.h: the delta-snapshot stream: encodes state packets from History for one client, and
 * decodes chunk states from state packets. Knows no sockets, clocks or crypto; time is an argument.
 *
 * A packet of at most STATE_PAYLOAD_BYTES_MAX bytes is a header and whole spans of chunks (span.h),
 * each a key or delta-coded against states that the client acknowledged; it decodes independently.
 * PROTOCOL.md, "State packets", specifies every bit. Acknowledgements (newest sequence and the 64
 * before it) travel in input packets.
 *
 * Baseline rule. A receiver keeps the CHUNK_STATES_KEPT newest states of each chunk and
 * acknowledges a packet only if it stored all its chunks. A record names up to three ticks; the
 * receiver's state of a chunk at a tick is its newest at or before it. The sender uses a tick as
 * baseline of a chunk only if it knows an acknowledged state at or before it, if the chunk did not
 * change between the two (so it does not matter what the receiver has of the time between), if
 * fewer than CHUNK_STATES_KEPT newer states were sent and if History has the tick; otherwise it
 * sends a key. So a packet that arrives before its successors displaced a baseline finds it,
 * whatever is lost, duplicated or reordered; a later one is too late to matter, is dropped, and is
 * not acknowledged. Where possible all chunks, including long unchanged ones, and all clients with
 * the same acknowledgements use the same ticks: they share the codes.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_SNAPSHOT_H
#define PLENUM_PROTOCOL_STREAM_SNAPSHOT_H

#include "protocol/stream/chunk_cache.h"

PL_BEGIN_C

typedef struct SnapshotHeader {
    u16 sequence;
    u32 tick;
    u32 input_ack; /* every input up to this sequence was received; 0 none */
    u16 send_ms;   /* server clock, wraps */
    u16 echo_ms;   /* newest client send_ms received plus the time since then: for round trips */
    u16 speed;     /* world seconds per real second × 1024; 0 paused */
    u8 flags;      /* SNAPSHOT_* */
    u8 records;
    u64 frame_hash; /* of the whole frame (frame.h): at the end of a snapshot's last packet, for
                     * receivers that assemble frames; 0: not sent */
} SnapshotHeader;

/* LIMITED: the budget truncated this snapshot (the sender sets it in the last packet, the caller
 * may set it in all). SLOWED: the server cannot keep up. FRAME: set by the sender. EPOCH: of the
 * stream, checked by the receiver's owner. */
enum {
    SNAPSHOT_LIMITED = 1,
    SNAPSHOT_SLOWED = 2,
    SNAPSHOT_REPLAY = 4,
    SNAPSHOT_FRAME = 8, /* the packet ends with frame_hash */
    SNAPSHOT_EPOCH = 0xF0
};

typedef struct SnapshotAck {
    u16 newest; /* sequence */
    u16 valid;  /* 0: nothing received yet */
    u64 bits;   /* bit i: sequence newest − 1 − i was received */
} SnapshotAck;

/* The client's camera, for priorities. */
typedef struct SnapshotView {
    Vec3 eye;              /* m */
    Vec3 forward;          /* unit */
    f32 pixels_per_radian; /* 0: no camera, all chunks have equal weight */
} SnapshotView;

/* ---- sender: one per client and stream epoch, host thread ---- */

typedef struct SnapshotSender SnapshotSender;
/* Acquires `fields`. NULL: out of memory. */
SnapshotSender *snapshot_sender_create(FieldSet *fields);
void snapshot_sender_destroy(SnapshotSender *sender);
/* Allows reduced detail; initially off. */
void snapshot_sender_allow_coarse(SnapshotSender *sender, bool allow);
/* Tells the sender an estimated bandwidth before anything was sent: if the first picture, or the
 * whole world in motion, would take long at bytes_s, it starts at reduced detail and stays there
 * long enough for a wider link to show itself. */
void snapshot_sender_expect(SnapshotSender *sender, f64 bytes_s, u64 now_ms);
/* Applies an acknowledgement; returns the number of packets that it newly confirms, and in *lost
 * (may be NULL) the number newly considered lost (input to the budget). A packet is considered
 * lost when one sent sufficiently later was acknowledged; a later acknowledgement still counts. */
u32 snapshot_sender_ack(SnapshotSender *sender, SnapshotAck ack, u32 *lost);

/* Called for each finished packet with its bytes. */
typedef void SnapshotEmit(void *context, const u8 *packet, u32 bytes);
enum {
    /* An acknowledgement covers 65 packets: this leaves a margin for a lost one. */
    SNAPSHOT_PACKETS_MAX = 32,
};

/* Current capacity of the client's link. */
typedef struct SnapshotLine {
    u32 byte_budget;
    u64 now_ms; /* any monotonic clock */
    u32 rtt_ms;
} SnapshotLine;

/* Builds the packets of one snapshot of the cache's newest frame: chunks in order of accumulated
 * priority until line.byte_budget or SNAPSHOT_PACKETS_MAX is spent (at least one packet, perhaps
 * without records, is always emitted: it carries clock and acks). The last record may overshoot the
 * budget; the caller subtracts that from the next one. `header` gives all but tick, sequence and
 * record count. Frames with other fields than the sender's go without records. Chunks that the
 * client is known to have cost nothing. What was not acknowledged for about line.rtt_ms is sent
 * again. Allocates nothing. Returns bytes emitted. */
u32 snapshot_sender_build(SnapshotSender *sender, ChunkCache *cache, const SnapshotView *view,
                          const SnapshotHeader *header, SnapshotLine line, SnapshotEmit *emit,
                          void *context);

enum {
    SNAPSHOT_COARSENESS_MAX = 5
};

typedef struct SnapshotSenderStats {
    u64 packets, bytes, records, keys; /* records and keys: chunks */
    u64 acked, lost;
    u64 acked_bytes;    /* of the acked packets */
    bool limited;       /* the last build omitted something */
    u32 chunks_pending; /* chunks whose newest state is not acknowledged in full detail */
    u32 coarseness;     /* 0: full detail, at most SNAPSHOT_COARSENESS_MAX */
} SnapshotSenderStats;
void snapshot_sender_stats(const SnapshotSender *sender, SnapshotSenderStats *stats);

/* ---- receiver: one per stream epoch ---- */

typedef struct ChunkState {
    u64 tick;
    u64 left;  /* newest earlier tick until which the chunk is known to have kept the state that
                  this one was coded against; 0: none (a key) */
    bool live; /* false: empty slot of the ring */
    const u8 *state; /* dense, chunk_state_bytes */
    Detail detail;   /* precision of the state, which is in full units */
} ChunkState;

typedef struct SnapshotReceiver SnapshotReceiver;
/* Acquires `fields`. NULL: out of memory. */
SnapshotReceiver *snapshot_receiver_create(FieldSet *fields);
/* Uses a borrowed coder, which receivers of one thread can share: loading its tables takes
 * milliseconds, saved at each new epoch. */
SnapshotReceiver *snapshot_receiver_create_sharing(FieldSet *fields, SpanCoder *coder);
void snapshot_receiver_destroy(SnapshotReceiver *receiver);
/* Decodes one packet, completely or not at all. 0: stored and acknowledged, or a duplicate, or
 * too late to matter (neither changes anything). ERROR_BASELINE: a baseline is missing
 * (impossible with an honest sender). ERROR_MISMATCH: a chunk's hash differs, a desync; not
 * acknowledged, so the sender eventually sends a key. Other negative: malformed, or out of
 * memory. The header is written whenever it could be read (may be NULL). */
int snapshot_receiver_push(SnapshotReceiver *receiver, const u8 *packet, u32 bytes,
                           SnapshotHeader *header);
SnapshotAck snapshot_receiver_ack(const SnapshotReceiver *receiver);
/* Writes the states of a chunk to out[CHUNK_STATES_KEPT], newest first, finer before coarser at
 * equal ticks; returns the count. Borrowed until the next push. */
u32 snapshot_receiver_states(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                             ChunkState out[CHUNK_STATES_KEPT]);
/* Newest tick of any well-formed packet; 0 before the first. The wire has the low 32 bits; the
 * high bits start at zero. */
u64 snapshot_receiver_tick(const SnapshotReceiver *receiver);
/* The newest state of a chunk, the finest at its tick, or NULL; at the same time the least work.
 * Borrowed until the next push. */
const u8 *snapshot_receiver_newest(const SnapshotReceiver *receiver, u32 field, u32 chunk,
                                   u64 *tick, Detail *detail);
const FieldSet *snapshot_receiver_fields(const SnapshotReceiver *receiver);

typedef struct SnapshotReceiverStats {
    u64 packets, bytes, records, keys, duplicates, malformed, missing_baselines, desyncs;
    u64 late;           /* too late to matter */
    u64 lost;           /* sequence gaps not filled within 64 packets */
    u32 chunks, coarse; /* with any known state; and with less than full detail of the newest */
} SnapshotReceiverStats;
void snapshot_receiver_stats(const SnapshotReceiver *receiver, SnapshotReceiverStats *stats);

PL_END_C

#endif
