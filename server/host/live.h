/*
 * live.h: messages through a broker beside the stream of a world, which are not stored there: chat,
 * users and presences. The publisher sends on plenum-live.WORLD, to all followers or to one;
 * followers send the messages of their own users on plenum-said.WORLD. Messages from a broker are
 * untrusted: live_read checks it like a client's messages.
 *
 * A payload is 16 bytes and a message (protocol/PROTOCOL.md, "Brokers"): the publisher's run and
 * the follower that it is from, or for (0: all), both u64, little endian.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_LIVE_H
#define PLENUM_SERVER_HOST_LIVE_H

#include "protocol/session/message.h"

enum {
    LIVE_HEAD_BYTES = 16,
    LIVE_PAYLOAD_BYTES_MAX = 128 << 10, /* a list of CLIENTS_MAX users */
    LIVE_FOLLOWER_BYTES_MAX = 64 << 10, /* from followers */
};

/* The first bytes of a payload, as they are sent: hosts are little-endian. */
typedef struct LiveHead {
    u64 run;      /* of the publisher; not 0 */
    u64 follower; /* random for each start of one, not 0; 0: for all */
} LiveHead;

/* Who sends it. */
typedef enum LiveFrom {
    LIVE_FROM_PUBLISHER, /* MESSAGE_CHAT, _ROSTER, _PRESENCE; to one follower MESSAGE_GUESTS */
    LIVE_FROM_FOLLOWER   /* MESSAGE_GUESTS, _CHAT, _PRESENCE */
} LiveFrom;

/* Owned bytes; NULL data: none. */
typedef struct LivePayload {
    u8 *data;
    u32 bytes;
} LivePayload;

/* To be freed by the caller; NULL: out of memory, or a message that is too large. */
LivePayload live_write(const LiveHead *head, const Message *message);
/* An already encoded message. */
LivePayload live_write_encoded(const LiveHead *head, const u8 *data, u32 bytes);
/* Sets the run in the head. */
void live_set_run(LivePayload *payload, u64 run);
/* Only the head. 0 or ERROR_FORMAT. */
int live_read_head(const u8 *data, size_t bytes, LiveHead *out);
/* Reads untrusted bytes; *storage is as for message_decode. 0 or a negative Error. */
int live_read(LiveFrom from, const u8 *data, size_t bytes, LiveHead *head, Message *message,
              u8 **storage);

#endif
