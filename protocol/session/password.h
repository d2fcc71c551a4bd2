/*
 * password.h: the password of a server, shared by all its users, in a file of its own.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_PASSWORD_H
#define PLENUM_PROTOCOL_SESSION_PASSWORD_H

#include "protocol/session/message.h"

PL_BEGIN_C
/* Reads the first line of a file that others may not read (ERROR_DENIED). Its line end is removed.
 * 0 or a negative Error: an empty line, more than PASSWORD_BYTES_MAX - 1 bytes, not clean UTF-8. */
int password_read(const char *path, char password[PASSWORD_BYTES_MAX], ErrorText *error);
PL_END_C

#endif
