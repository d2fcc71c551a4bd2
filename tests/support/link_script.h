/*
 * link_script.h: a Link without a network, for fuzz targets: the test pushes incoming payloads, in
 * its order, and receives outgoing ones. Nothing is lost, and nothing is checked: the other end may
 * send anything. Each payload lies in memory of just its size, so that reading beyond it is seen.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_LINK_SCRIPT_H
#define PLENUM_TESTS_SUPPORT_LINK_SCRIPT_H

#include "protocol/session/link.h"

/* A payload that the owner of the link sent; borrowed. */
typedef void LinkScriptSent(void *context, u32 peer, u32 channel, const u8 *data, u32 bytes);

/* sent may be NULL. NULL: out of memory. */
Link *link_script_create(LinkScriptSent *sent, void *context);
/* Arrives with the next polls. LINK_DISCONNECTED: `reason` is that; a peer that is disconnected by
 * the link's owner follows by itself. */
void link_script_push(Link *link, LinkEventKind kind, u32 peer, u32 reason);
void link_script_payload(Link *link, u32 peer, u32 channel, const u8 *data, u32 bytes);

#endif
