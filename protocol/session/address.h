/*
 * address.h: addresses of peers and prefixes of them, for limits, bans and logs. IPv6; IPv4 is
 * mapped into it (::ffff:1.2.3.4, RFC 4291 2.5.5.2). Without a port.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_ADDRESS_H
#define PLENUM_PROTOCOL_SESSION_ADDRESS_H

#include "shared/base/base.h"

PL_BEGIN_C

enum {
    ADDRESS_BITS = 128,
    ADDRESS_BITS_V4 = 96, /* those before the 32 of IPv4 */
    ADDRESS_TEXT_BYTES = 56
};

typedef struct NetAddress {
    u8 bytes[16]; /* network order */
} NetAddress;

/* All addresses whose first `bits` bits are those of `address`; the others are 0. */
typedef struct NetPrefix {
    NetAddress address;
    u32 bits; /* 0..128 */
} NetPrefix;

/* From "1.2.3.4", "1.2.3.4:port", "x::y" or "[x::y]:port". False: not an address. */
bool net_address_parse(const char *text, NetAddress *address);
/* From an address as above, without a port, and an optional "/bits" (of 32 for IPv4). */
bool net_prefix_parse(const char *text, NetPrefix *prefix);
NetPrefix net_prefix(NetAddress address, u32 bits);
/* The unit of limits per address: an address of IPv4, a /64 of IPv6, since a household or a rented
 * machine has all addresses of one. */
NetPrefix net_host_prefix(NetAddress address);
/* The prefix of a site, usually a /24 of IPv4, a /48 of IPv6. */
NetPrefix net_site(NetAddress address);
/* From the four bytes of IPv4, in network order. */
NetAddress net_address_v4(const void *bytes);
bool net_address_is_v4(NetAddress address);
bool net_prefix_contains(const NetPrefix *prefix, NetAddress address);
bool net_prefix_same(const NetPrefix *a, const NetPrefix *b);
/* Whether it is an address of this machine: 127.0.0.0/8 or ::1. */
bool net_address_is_local(NetAddress address);
/* IPv4 in dotted form; "/bits" follows if the prefix is not one address. */
const char *net_prefix_text(const NetPrefix *prefix, char text[ADDRESS_TEXT_BYTES]);

PL_END_C

#endif
