/*
 * known_hosts.h: which server key a client or relay trusts: the one in the address or token;
 * otherwise the one stored at an earlier visit; otherwise, on the first visit, any key, which is
 * logged and stored (trust on first use). A changed key is refused.
 *
 * The file has lines "HOST:PORT KEY" with KEY in 64 hexadecimal digits; other lines are skipped.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_KNOWN_HOSTS_H
#define PLENUM_PROTOCOL_SESSION_KNOWN_HOSTS_H

#include "protocol/session/identity_file.h"
#include "protocol/session/link.h"

enum {
    HOST_TEXT_BYTES = 256,
    KNOWN_HOSTS_PATH_BYTES = 1024,
    KNOWN_HOSTS_BYTES_MAX = 1 << 20
};

typedef struct KnownHosts {
    char path[KNOWN_HOSTS_PATH_BYTES]; /* of the file; "": nothing is stored */
    char host[HOST_TEXT_BYTES];        /* HOST:PORT, as in the file */
    char address[HOST_TEXT_BYTES];     /* for link_enet_connect */
    bool pinned;                       /* only `key` is accepted */
    bool warned;                       /* a refusal was logged */
    u8 key[IDENTITY_PUBLIC_BYTES];
} KnownHosts;

/* where: HOST[:PORT][#KEY]. path may be NULL. ERROR_USAGE: `where` is malformed. */
int known_hosts_init(KnownHosts *known, const char *where, const char *path, ErrorText *error);
/* Accepts only this key from now on; false: another key is already pinned. */
bool known_hosts_pin(KnownHosts *known, const u8 key[IDENTITY_PUBLIC_BYTES]);
/* LinkTrust.accept with the KnownHosts as context. Logs new and changed keys. Once a key is
 * accepted, this process accepts no other. */
bool known_hosts_accept(void *context, const u8 key[IDENTITY_PUBLIC_BYTES]);

#endif
