/*
 * endpoint.h: the addresses that programs are given as text: where to listen, where to connect.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_ENDPOINT_H
#define PLENUM_PROTOCOL_SESSION_ENDPOINT_H

#include "protocol/session/probe.h"

PL_BEGIN_C

/* "ADDR:PORT" of this machine, numeric: no name is looked up. ERROR_USAGE with a text. */
int endpoint_own(const char *text, ProbeAddress *out, ErrorText *error);
/* "HOST[:PORT]" of another; looks up the name, which may take seconds. ERROR_USAGE or
 * ERROR_NETWORK with a text. */
int endpoint_resolve(const char *text, ProbeAddress *out, ErrorText *error);

PL_END_C

#endif
