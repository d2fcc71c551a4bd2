/*
 * credentials.h: credentials of a program for the server that it connects to, from files: a connect
 * token, a long-term key, a password; and the expected identity of the server (known_hosts.h).
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_CREDENTIALS_H
#define PLENUM_PROTOCOL_SESSION_CREDENTIALS_H

#include "protocol/session/known_hosts.h"
#include "protocol/session/message.h"

typedef struct CredentialFiles {
    const char *token, *identity, *password; /* paths; NULL: none */
} CredentialFiles;

typedef struct Credentials {
    u8 token[TOKEN_BYTES_MAX];
    u32 token_bytes; /* 0: none */
    Identity identity;
    bool proves;                       /* by that identity */
    char password[PASSWORD_BYTES_MAX]; /* "": none */
} Credentials;

/* Reads the files. The key is also read if the token requires it: then from client.key of the state
 * folder if no other is named. 0 or a negative Error; ERROR_DENIED: the token belongs to another
 * key. Call credentials_wipe in any case. */
int credentials_read(Credentials *credentials, const CredentialFiles *files, ErrorText *error);
/* Fills `known` for HOST[:PORT][#KEY] with the known_hosts of the state folder, and with the server
 * that the token names. ERROR_USAGE: `where` is malformed, or the two name different servers. */
int credentials_expect(const Credentials *credentials, const CredentialFiles *files,
                       const char *where, KnownHosts *known, ErrorText *error);
void credentials_wipe(Credentials *credentials);
/* Signs the HELLO with the long-term key, for this connection only. Without such a key, or if the
 * link has no tunnel, hello->proves is false. */
void credentials_prove(const Identity *identity, Link *link, u32 peer, MessageHello *hello);
/* Connects to the server that `context`, a KnownHosts, expects. NULL with an error. */
Link *credentials_dial(void *context, ErrorText *error);

#endif
