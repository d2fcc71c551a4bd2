/* proto.c: see proto.h. */
#include "server/export/proto.h"

#include <stdlib.h>
#include <string.h>

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
    VARINT_BYTES_MAX = 10,
};

void proto_finish(Proto *proto)
{
    free(proto->bytes);
    memset(proto, 0, sizeof *proto);
}

static bool reserve(Proto *proto, size_t bytes)
{
    if (proto->failed || proto->count + bytes > PROTO_BYTES_MAX) {
        proto->failed = true;
        return false;
    }
    if (proto->count + bytes > proto->capacity) {
        size_t capacity = 2 * proto->capacity + bytes + 256;
        u8 *more = realloc(proto->bytes, capacity);
        if (more == NULL) {
            proto->failed = true;
            return false;
        }
        proto->bytes = more;
        proto->capacity = capacity;
    }
    return true;
}

void proto_bytes(Proto *proto, const void *data, size_t bytes)
{
    if (bytes > 0 && reserve(proto, bytes)) {
        memcpy(proto->bytes + proto->count, data, bytes);
        proto->count += bytes;
    }
}

static u32 varint(u64 value, u8 out[VARINT_BYTES_MAX])
{
    u32 count = 0;
    do {
        out[count++] = (u8)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
    return count;
}

static void put_varint(Proto *proto, u64 value)
{
    u8 bytes[VARINT_BYTES_MAX];
    proto_bytes(proto, bytes, varint(value, bytes));
}

static void put_tag(Proto *proto, u32 field, u32 wire)
{
    put_varint(proto, (u64)field << 3 | wire);
}

void proto_double(Proto *proto, u32 field, f64 value)
{
    put_tag(proto, field, WIRE_FIXED64);
    proto_bytes(proto, &value, sizeof value);
}

void proto_fixed32(Proto *proto, u32 field, u32 value)
{
    put_tag(proto, field, WIRE_FIXED32);
    proto_bytes(proto, &value, sizeof value);
}

void proto_uint(Proto *proto, u32 field, u64 value)
{
    put_tag(proto, field, WIRE_VARINT);
    put_varint(proto, value);
}

void proto_blob(Proto *proto, u32 field, const void *data, size_t bytes)
{
    put_tag(proto, field, WIRE_BYTES);
    put_varint(proto, bytes);
    proto_bytes(proto, data, bytes);
}

void proto_string(Proto *proto, u32 field, const char *text)
{
    proto_blob(proto, field, text, strlen(text));
}

/* The length takes one byte in nearly all messages; longer ones are moved when they close. */
size_t proto_open(Proto *proto, u32 field)
{
    put_tag(proto, field, WIRE_BYTES);
    proto_bytes(proto, "", 1);
    return proto->count;
}

void proto_close(Proto *proto, size_t mark)
{
    if (proto->failed) {
        return;
    }
    u8 length[VARINT_BYTES_MAX];
    size_t bytes = proto->count - mark;
    u32 count = varint(bytes, length);
    if (count > 1 && reserve(proto, count - 1)) {
        memmove(proto->bytes + mark + count - 1, proto->bytes + mark, bytes);
        proto->count += count - 1;
    }
    if (!proto->failed) {
        memcpy(proto->bytes + mark - 1, length, count);
    }
}
