/*
 * bots.h: many clients in one process with one poll loop, for load tests (--bots).
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_BOTS_H
#define PLENUM_CLIENT_HAND_BOTS_H

#include "client/hand/script.h"
#include "protocol/session/link.h"

typedef struct BotsOptions {
    const char *address; /* HOST[:PORT] */
    LinkTrust trust;     /* which server they accept */
    const char *name;    /* bots are "name-1", "name-2", ... */
    const u8 *token;     /* [token_bytes], or NULL */
    u32 token_bytes;
    const Identity *identity; /* of all, or NULL */
    const char *password;     /* "": none */
    u32 count;
    f64 duration_s;           /* after the last bot started; 0: until *stop */
    u64 seed;                 /* for their behaviour without a script */
    const Script *script;     /* each runs a copy; NULL: gentle random dragging and pushing */
    const char *report;       /* path of the summary, or NULL; it is also printed */
    const volatile int *stop; /* != 0: stop */
} BotsOptions;

/* Returns a process exit code: EXIT_NETWORK if any bot was refused or lost. */
int bots_run(const BotsOptions *options, ErrorText *error);

#endif
