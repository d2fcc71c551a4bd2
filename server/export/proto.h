/*
 * proto.h: writes protocol buffers: a growing buffer of bytes, and the wire format of messages
 * (proto3: varints, fixed numbers, nested messages with their length before them).
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_PROTO_H
#define PLENUM_SERVER_EXPORT_PROTO_H

#include "shared/base/base.h"

/* Bytes of a message that no reader takes: protocol buffers end at 2 GiB. */
#define PROTO_BYTES_MAX ((u64)1 << 30)

typedef struct Proto {
    u8 *bytes; /* [count] */
    size_t count, capacity;
    bool failed; /* out of memory or too large: what follows is ignored */
} Proto;

PL_BEGIN_C
void proto_finish(Proto *proto);
/* Bytes as they are. */
void proto_bytes(Proto *proto, const void *data, size_t bytes);
void proto_double(Proto *proto, u32 field, f64 value);
void proto_fixed32(Proto *proto, u32 field, u32 value);
/* int32, int64, bool, enum; not negative. */
void proto_uint(Proto *proto, u32 field, u64 value);
void proto_string(Proto *proto, u32 field, const char *text);
/* A bytes field, or packed numbers. */
void proto_blob(Proto *proto, u32 field, const void *data, size_t bytes);
/* Everything until proto_close with this mark is a message in this field. */
size_t proto_open(Proto *proto, u32 field);
void proto_close(Proto *proto, size_t mark);
PL_END_C

#endif
