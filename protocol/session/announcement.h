/*
 * announcement.h: authenticates announcements to a lobby: a token that the lobby's operator signed
 * (token.h, with its flag for lobbies), and a signature by the server's own key over content and
 * time. It is one header of an HTTP request, in clear: without the server's key neither token nor
 * signature is of use to others.
 *
 *   Authorization: Plenum TIME SIGNATURE TOKEN
 *
 * TIME in milliseconds since 1970, SIGNATURE and TOKEN in hexadecimal digits.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_ANNOUNCEMENT_H
#define PLENUM_PROTOCOL_SESSION_ANNOUNCEMENT_H

#include "protocol/session/token.h"

PL_BEGIN_C

enum {
    ANNOUNCEMENT_BYTES_MAX = 24 + 20 + 2 * (IDENTITY_SIGNATURE_BYTES + TOKEN_SIGNED_BYTES),
    ANNOUNCEMENT_SKEW_MS = 120000 /* maximal difference of the clocks */
};

/* What is signed. */
typedef struct Announcement {
    const char *method; /* "POST" or "DELETE" */
    u64 unix_ms;
    const void *body;
    u32 bytes;
} Announcement;

/* Writes the value of the header. token: [TOKEN_SIGNED_BYTES]. */
void announcement_sign(const Identity *identity, const Announcement *what, const u8 *token,
                       char header[ANNOUNCEMENT_BYTES_MAX]);
/* Checks the value of a header of `what`, whose unix_ms is taken from it: that it is of the owner
 * of `key`, that the token is signed by check->key, for lobbies, in time and for this server, and
 * that clocks agree within ANNOUNCEMENT_SKEW_MS. check->now_unix_s is used; identity and client are
 * not. ERROR_FORMAT, ERROR_CRYPTO or ERROR_DENIED with a text. */
int announcement_verify(const char *header, const u8 key[IDENTITY_PUBLIC_BYTES],
                        const TokenCheck *check, Announcement *what, Token *token,
                        ErrorText *error);

PL_END_C

#endif
