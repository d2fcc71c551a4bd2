/* enet_commands.c: sizes of commands and of their payloads. Numbers are in network order. */
#include "protocol/session/enet_commands.h"

/* Acknowledge, connect, verify connect, disconnect, ping, reliable, unreliable, fragment,
 * unsequenced, bandwidth limit, throttle, unreliable fragment; each with its head of 4 bytes. */
static const u8 command_bytes[ENET_COMMAND_COUNT] = {0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24};

static u32 number(const u8 *at, u32 bytes)
{
    u32 value = 0;
    for (u32 i = 0; i < bytes; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

/* Payload bytes after a command, or an impossible size for a fragment that would make ENet
 * allocate much more than the message it announces. */
static size_t command_payload(const u8 *at, u32 kind)
{
    switch (kind) {
    case ENET_COMMAND_RELIABLE:
        return number(at + 4, 2);
    case ENET_COMMAND_UNRELIABLE:
    case ENET_COMMAND_UNSEQUENCED:
        return number(at + 6, 2);
    case ENET_COMMAND_FRAGMENT:
    case ENET_COMMAND_UNRELIABLE_FRAGMENT: {
        /* ENet sizes the fragment bitmap by a count that it does not compare with the length. */
        u32 count = number(at + 8, 4), total = number(at + 16, 4);
        return count == 0 || count > total / 256 + 1 ? SIZE_MAX : number(at + 6, 2);
    }
    default:
        return 0;
    }
}

bool enet_commands_ok(const u8 *data, size_t bytes)
{
    for (size_t offset = 0; offset < bytes;) {
        u32 kind = data[offset] & ENET_COMMAND_MASK;
        if (kind == 0 || kind >= ENET_COMMAND_COUNT || bytes - offset < command_bytes[kind]) {
            return false;
        }
        size_t payload = command_payload(data + offset, kind);
        offset += command_bytes[kind];
        if (payload > bytes - offset) {
            return false;
        }
        offset += payload;
    }
    return true;
}
