/*
 * identity_file.h: a long-term key (handshake.h) in a file that only its owner may read, and public
 * keys as text: 64 hexadecimal digits.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_IDENTITY_FILE_H
#define PLENUM_PROTOCOL_SESSION_IDENTITY_FILE_H

#include "protocol/session/handshake.h"

PL_BEGIN_C

enum {
    IDENTITY_TEXT_BYTES = 2 * IDENTITY_PUBLIC_BYTES + 1
};

/* Reads the secret key in `path`; creates the file, with a new key, if there is none (two programs
 * that start at once get the same). Refuses a file that others may read. */
int identity_load(const char *path, Identity *identity, ErrorText *error);
void identity_to_text(const u8 public_key[IDENTITY_PUBLIC_BYTES], char text[IDENTITY_TEXT_BYTES]);
/* False: not 64 hexadecimal digits. */
bool identity_from_text(const char *text, u8 public_key[IDENTITY_PUBLIC_BYTES]);

PL_END_C

#endif
