/*
 * span.h: several chunks of one field coded together, relative to up to three older states known to
 * both ends. Neighbours in a span predict each other: separate chunks cost more.
 *
 * The code is either that of the field's kind, which starts from trained tables in each span, or
 * concatenated plain chunk codes (chunk.h), which are bounded, so that a packet always holds at
 * least one chunk. PROTOCOL.md, "Spans".
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_SPAN_H
#define PLENUM_PROTOCOL_CODEC_SPAN_H

#include "protocol/codec/chunk.h"
#include "protocol/field/detail.h"

PL_BEGIN_C

enum {
    SPAN_STATES = 3,        /* maximal number of baselines */
    SPAN_CHUNKS_MAX = 64,   /* per span of a packet */
    SPAN_CHUNKS_LONG = 256, /* per span of a file */
};

typedef struct Span {
    const FieldDesc *field;
    u32 count;         /* chunks, 1 .. span_chunks_long */
    const u16 *chunks; /* [count], ascending */
    Detail detail;     /* to which all states were reduced (detail_reduce) */
    /* Older dense states of all the chunks, concatenated, newest first, 16-byte aligned; NULL
     * from the first missing one (none: a key); and their ages in ticks, ascending, ≥ 1. */
    const void *state[SPAN_STATES];
    u32 back[SPAN_STATES];
} Span;

/* Maximal number of chunks of one span of this field in a packet. */
u32 span_chunks_max(const FieldDesc *field);
/* The same in a file: more points, as more neighbours predict them. */
u32 span_chunks_long(const FieldDesc *field);
/* Bytes of the dense states of these chunks together. */
u32 span_state_bytes(const FieldDesc *field, const u16 *chunks, u32 count);
/* Writes the concatenated dense states of these chunks of a field's elements to
 * states[span_state_bytes]. */
void span_gather(const FieldDesc *field, const u16 *chunks, u32 count, const void *elements,
                 u8 *states);
/* 16-bit checksum of them, against desyncs: low bits of XXH3-64, seed 0. */
u16 span_state_hash(const FieldDesc *field, const u16 *chunks, u32 count, const void *states);

/* Codecs of all kinds with their tables, created on first use. One thread. */
typedef struct SpanCoder SpanCoder;
SpanCoder *span_coder_create(void);        /* NULL: no memory */
void span_coder_destroy(SpanCoder *coder); /* NULL is fine */
/* Creates the codecs of these fields and allocates for their largest spans, so that coding
 * allocates nothing. False: out of memory. */
bool span_coder_reserve(SpanCoder *coder, const FieldSet *fields);

/* Begins a chain (again): from now on the adaptation of each kind's codec continues from one code
 * to the next, so that codes are smaller, but decode only in order, by a coder whose chain began
 * with the same code. A span_encode that sets *fallback breaks the chain: begin anew, at both ends.
 * Streams have no chains, since their packets may be lost. */
void span_coder_chain(SpanCoder *coder);

/* Codes the dense states `now` into out[room]; *plain tells which code was used. Returns its
 * bytes, or 0 if it does not fit. A single chunk fits whenever room ≥ CHUNK_CODE_BYTES_MAX. */
u32 span_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity,
                bool *fallback);
/* Decodes the output of span_encode for the same span into `now`. 0 or a negative Error; any
 * input gives states within the field's limits or an error, in bounded time. */
int span_decode(SpanCoder *coder, const Span *span, bool fallback, const u8 *code, u32 bytes,
                void *now);

PL_END_C

#endif
