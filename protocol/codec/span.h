/*
 * span.h: several chunks of one field coded together, out of up to three older states that both
 * ends have. What is near in the same span predicts its neighbours: chunks alone cost more.
 *
 * The code is one of two: the codec of the field's kind, which starts from trained tables in each
 * span, or plain chunk codes (chunk.h) one after the other, which are bounded and so always fit a
 * packet chunk by chunk. PROTOCOL.md, "Spans".
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_SPAN_H
#define PLENUM_PROTOCOL_CODEC_SPAN_H

#include "protocol/codec/chunk.h"
#include "protocol/field/detail.h"

PL_BEGIN_C

enum {
    SPAN_STATES = 3,      /* older states that a code can build upon */
    SPAN_CHUNKS_MAX = 64, /* of one span */
};

typedef struct Span {
    const FieldDesc *field;
    u32 count;         /* chunks, 1 .. span_chunks_max */
    const u16 *chunks; /* [count], ascending */
    Detail detail;     /* to which all states were reduced (detail_reduce) */
    /* Older dense states of all the chunks, one after the other, newest first, 16-byte aligned;
     * NULL from the first that is not there (none: a key); and how many ticks ago each was,
     * ascending, ≥ 1. */
    const void *state[SPAN_STATES];
    u32 back[SPAN_STATES];
} Span;

/* Most chunks of one span of this field. */
u32 span_chunks_max(const FieldDesc *field);
/* Bytes of the dense states of these chunks, one after the other. */
u32 span_state_bytes(const FieldDesc *field, const u16 *chunks, u32 count);
/* Writes the dense states of these chunks of a field's elements one after the other to
 * states[span_state_bytes]. */
void span_gather(const FieldDesc *field, const u16 *chunks, u32 count, const void *elements,
                 u8 *states);
/* 16-bit check of them, against desyncs: low bits of XXH3-64, seed 0. */
u16 span_state_hash(const FieldDesc *field, const u16 *chunks, u32 count, const void *states);

/* Codecs of all kinds with their tables; each is made when it is first needed. One thread. */
typedef struct SpanCoder SpanCoder;
SpanCoder *span_coder_create(void);        /* NULL: no memory */
void span_coder_destroy(SpanCoder *coder); /* NULL is fine */
/* Makes the codecs of these fields and room for their largest spans, so that coding them allocates
 * nothing. False: no memory. */
bool span_coder_reserve(SpanCoder *coder, const FieldSet *fields);

/* Codes the dense states `now` into out[room]; *plain says which code it is. Returns its bytes, or
 * 0 if it does not fit. One chunk fits whenever room ≥ CHUNK_CODE_BYTES_MAX. */
u32 span_encode(SpanCoder *coder, const Span *span, const void *now, u8 *out, u32 capacity,
                bool *fallback);
/* Decodes what span_encode made of the same span into `now`. 0 or a negative Error; any bytes give
 * states within the field's limits or an error, in bounded time. */
int span_decode(SpanCoder *coder, const Span *span, bool fallback, const u8 *code, u32 bytes,
                void *now);

PL_END_C

#endif
