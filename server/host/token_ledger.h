/*
 * token_ledger.h: tokens (by id) that are no longer valid: those that the operator revoked, in a
 * file that is read again when it changes, and used tokens for a single session, in a file that
 * only grows and is read at start, so that a restart does not make them valid again.
 *
 * Both files have lines of 16 hexadecimal digits; in the second the expiry in Unix seconds follows,
 * and lines that have expired are forgotten. Lines of # are skipped.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_TOKEN_LEDGER_H
#define PLENUM_SERVER_HOST_TOKEN_LEDGER_H

#include "shared/base/error.h"

enum {
    LEDGER_FILE_BYTES_MAX = 8 << 20,
    LEDGER_PATH_BYTES = 1024
};

typedef struct LedgerList {
    u64 *ids; /* [count] ascending */
    u32 count, capacity;
} LedgerList;

typedef struct TokenLedger {
    char revoked_path[LEDGER_PATH_BYTES], used_path[LEDGER_PATH_BYTES]; /* "": none */
    LedgerList revoked, used;
    u64 stamp; /* of the revoked file as read: its time and size */
} TokenLedger;

/* Paths may be NULL. ERROR_FORMAT or ERROR_IO with a text: the server must not start, rather than
 * admit revoked tokens. A file that does not exist is empty. */
int token_ledger_init(TokenLedger *ledger, const char *revoked_path, const char *used_path,
                      u64 now_unix_s, ErrorText *error);
void token_ledger_finish(TokenLedger *ledger);
/* Reads the revoked ids again if the file changed. 1: read; 0: as before; a negative Error: the
 * former list stays. */
int token_ledger_refresh(TokenLedger *ledger, ErrorText *error);
bool token_ledger_revoked(const TokenLedger *ledger, u64 id);
bool token_ledger_used(const TokenLedger *ledger, u64 id);
/* Notes the use of a token for one session. False: it cannot be recorded, so the token must not be
 * used. */
bool token_ledger_use(TokenLedger *ledger, u64 id, u64 expiry_unix_s);

#endif
