/*
 * acknowledge.h: what an input packet says of the states that were sent: those that arrived and
 * those that were lost, and the round trip, for the sender and for rate control.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_ACKNOWLEDGE_H
#define PLENUM_SERVER_HOST_ACKNOWLEDGE_H

#include "protocol/stream/snapshot.h"
#include "server/host/budget.h"

typedef struct Acknowledgement {
    SnapshotAck ack;
    u16 send_ms, echo_ms; /* of the packet that contained it */
    u64 at_ms;            /* when that arrived */
} Acknowledgement;

/* rtt_ms: the smoothed round trip, 0 while unknown; follows the sample. */
void acknowledge(SnapshotSender *sender, Budget *budget, const Acknowledgement *a, f64 *rtt_ms,
                 u64 now_ms);

#endif
