/*
 * neighbours.h: the IPv4 networks of this machine, for broadcast queries and for recognizing
 * neighbours. By ioctl, which also works where a systemd unit forbids netlink sockets.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_NEIGHBOURS_H
#define PLENUM_PROTOCOL_SESSION_NEIGHBOURS_H

#include "shared/base/base.h"

PL_BEGIN_C

enum {
    NEIGHBOURHOODS_MAX = 32,
    INTERFACE_NAME_BYTES = 16
};

/* One interface that is up and has an IPv4 address; addresses in network order. */
typedef struct Neighbourhood {
    char interface[INTERFACE_NAME_BYTES];
    u32 index; /* of the interface */
    u32 host, mask;
    u32 broadcast; /* 0: it has none */
    bool local;    /* this machine alone */
} Neighbourhood;

/* Fills out[NEIGHBOURHOODS_MAX] and returns their number. */
u32 neighbourhoods_find(Neighbourhood *out);
/* The first that holds an address, or NULL. */
const Neighbourhood *neighbourhood_of(const Neighbourhood *all, u32 count, u32 host);

PL_END_C

#endif
