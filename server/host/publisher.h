/*
 * publisher.h: publishes a world's recording to a broker (broker.h) on its own thread, so that no
 * broker can stall the simulation.
 *
 * Ticks wait in a bounded queue, as for a recorder. All waiting ticks go in one message, and the
 * next message follows when the broker has stored it: distant brokers get fewer, larger messages. A
 * message that gets no answer is sent again until the broker has it. When the queue is full ticks
 * are lost; the next message then begins with a HEAD and a key frame, carries the spawns and
 * removals of the lost ticks, and names the gap, as does the log. Chat, users and presences go
 * beside the stream (live_hub.h), between its messages.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_PUBLISHER_H
#define PLENUM_SERVER_HOST_PUBLISHER_H

#include "protocol/record/recording.h"
#include "server/host/broker.h"
#include "server/host/live_hub.h"

typedef struct PublisherOptions {
    BrokerOptions broker;
    BrokerLimits limits;
    u32 ticks_max; /* in the queue; 0: PUBLISHER_TICKS_MAX */
    bool listens;  /* to what followers say for their users */
} PublisherOptions;

enum {
    PUBLISHER_TICKS_MAX = 600,
    PUBLISHER_BYTES_MAX = 128 << 20, /* of frames in the queue */
    PUBLISHER_MESSAGE_TICKS = 64     /* in a message, at most */
};

typedef struct PublisherStats {
    u64 ticks;      /* that the broker has stored */
    u64 ticks_lost; /* that it will not get */
    u64 waiting;    /* in the queue or sent and not stored */
    u64 messages, bytes;
    f64 lag_s; /* age of the oldest tick that is not stored; if there is none, of the newest stored
                     one when it was */
    bool failing; /* the last attempt failed */
    u64 refused;  /* payloads of followers that were too large or too many */
} PublisherStats;

typedef struct Publisher Publisher;
/* Starts the thread. `world` describes the world at the first tick; it is copied. NULL with an
 * error; a broker that does not answer is not an error. */
Publisher *publisher_create(const PublisherOptions *options, const MessageWorld *world,
                            u32 tick_rate, ErrorText *error);
/* Simulation's thread: queues a tick, with references and copies; never blocks. */
void publisher_tick(Publisher *publisher, Frame *frame, const Input *inputs, u32 input_count);
/* Messages to and from followers beside the stream, on the same thread. */
LiveHub *publisher_live(Publisher *publisher);
/* Any thread. */
void publisher_stats(Publisher *publisher, PublisherStats *out);
/* Publishes queued ticks, for at most three seconds, and logs what is missing. NULL is fine. */
void publisher_destroy(Publisher *publisher);

#endif
