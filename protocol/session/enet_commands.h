/*
 * enet_commands.h: commands that not even an authenticated peer may send to ENet 1.3.17: truncated
 * or unknown ones, and those that would make it allocate much more than they carry. Pure; knows
 * ENet's wire format, not its headers.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_ENET_COMMANDS_H
#define PLENUM_PROTOCOL_SESSION_ENET_COMMANDS_H

#include "shared/base/base.h"

PL_BEGIN_C

enum { /* low four bits of a command's first byte */
    ENET_COMMAND_MASK = 0x0F,
    ENET_COMMAND_CONNECT = 2,
    ENET_COMMAND_RELIABLE = 6,
    ENET_COMMAND_UNRELIABLE = 7,
    ENET_COMMAND_FRAGMENT = 8,
    ENET_COMMAND_UNSEQUENCED = 9,
    ENET_COMMAND_UNRELIABLE_FRAGMENT = 12,
    ENET_COMMAND_COUNT = 13
};

/* Checks the commands of a datagram, after its header. */
bool enet_commands_ok(const u8 *data, size_t bytes);

PL_END_C

#endif
