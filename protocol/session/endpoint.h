/*
 * endpoint.h: parses addresses to listen at and to connect to. IPv6 addresses are in brackets if a
 * port follows: [2001:db8::1]:7340.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_ENDPOINT_H
#define PLENUM_PROTOCOL_SESSION_ENDPOINT_H

#include "protocol/session/probe.h"

PL_BEGIN_C

enum {
    /* Addresses of one name that are tried, at most half of them of one kind. */
    ENDPOINTS_MAX = 4,
    ENDPOINT_TEXT_BYTES = 64
};

/* "ADDR:PORT" of this machine, numeric: names are not resolved. "*" and "" stand for all its
 * addresses, as does "::". ERROR_USAGE with a text. */
int endpoint_own(const char *text, ProbeAddress *out, ErrorText *error);
/* "HOST[:PORT]" of another machine; resolves the name, which may take seconds. Writes
 * 1..ENDPOINTS_MAX addresses, the best first. ERROR_USAGE or ERROR_NETWORK with a text. */
int endpoint_resolve(const char *text, ProbeAddress out[ENDPOINTS_MAX], u32 *count,
                     ErrorText *error);
/* "1.2.3.4:5" or "[x::y]:5". */
const char *endpoint_text(const ProbeAddress *address, char text[ENDPOINT_TEXT_BYTES]);
/* The host of an IPv4 address, in network order; "::" is 0.0.0.0. False: it is one of IPv6. */
bool endpoint_v4(const ProbeAddress *address, u32 *host);
/* "fd:N" of an open socket -> N; −1: not of this form. */
int endpoint_descriptor(const char *text);
/* True if an address as above ends with ":PORT". */
bool endpoint_has_port(const char *text);

PL_END_C

#endif
