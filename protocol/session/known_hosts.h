/*
 * known_hosts.h: whom a client or a relay takes for a server: the key in its address or token; else
 * the key that it had the last time, from a file; else, the first time, whatever answers, which is
 * said and remembered. A key that changed is refused.
 *
 * The file has lines "HOST:PORT KEY", KEY of 64 hexadecimal digits; others are skipped.
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
    char path[KNOWN_HOSTS_PATH_BYTES]; /* of the file; "": nothing is known or remembered */
    char host[HOST_TEXT_BYTES];        /* HOST:PORT, as the file names it */
    char address[HOST_TEXT_BYTES];     /* for link_enet_connect */
    bool pinned;                       /* `key` is the only one */
    bool told;                         /* a refusal was logged */
    u8 key[IDENTITY_PUBLIC_BYTES];
} KnownHosts;

/* where: HOST[:PORT][#KEY]. path may be NULL. ERROR_USAGE: the key in it is none. */
int known_hosts_init(KnownHosts *known, const char *where, const char *path, ErrorText *error);
/* Accepts this key alone from now on; false: another was pinned before. */
bool known_hosts_pin(KnownHosts *known, const u8 key[IDENTITY_PUBLIC_BYTES]);
/* LinkTrust.accept with the KnownHosts as context. Logs what the user should know. The key that it
 * accepted stays the only one for this process. */
bool known_hosts_accept(void *context, const u8 key[IDENTITY_PUBLIC_BYTES]);

#endif
