/*
 * audit.h: a log of the actions of users and operators, for people and programs: one line each,
 * appended to a file that the server creates readable by its owner only. All texts of users are
 * quoted and escaped to ASCII, so that no name can begin a line, hide a part of it or change the
 * colour of a terminal. A flood is truncated and its length noted; a flood of joins and leaves
 * keeps room for the lines of operators.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_AUDIT_H
#define PLENUM_SERVER_HOST_AUDIT_H

#include "server/host/authorize.h"
#include "server/host/ban.h"

enum {
    AUDIT_ESCAPED_BYTES = 6 * TEXT_BYTES_MAX + 3
};

typedef struct AuditLine {
    const char *name; /* who: "" if it has none yet */
    const char *role;
    u32 user; /* 0: the console */
    const UserIdentity *identity;
    const char *what;   /* a word: "join", "kick", ... */
    const char *target; /* on whom or what; NULL: nothing */
    const char *detail; /* NULL: nothing */
    int result;         /* 0 or an Error */
    bool crowd;         /* lines that anybody can cause */
} AuditLine;

typedef struct Audit {
    const char *path; /* borrowed; NULL: no log */
    bool json;
    int fd;               /* −1: closed */
    TokenBucket rates[2]; /* [crowd] */
    u64 skipped;          /* lines since the last one written */
    u64 failures;
    bool failing; /* the last line could not be written */
} Audit;

/* Appends to the file `path`, which is created if it does not exist. path NULL: audit_write does
 * nothing. 0 or a negative Error. */
int audit_open(Audit *audit, const char *path, bool json, u64 now_ms, ErrorText *error);
/* Reopens the file, after a rotation. */
int audit_reopen(Audit *audit, ErrorText *error);
void audit_close(Audit *audit);
/* unix_ms: the time to be written; now_ms: monotonic, for the rate. A failure is counted. */
void audit_write(Audit *audit, const AuditLine *line, u64 unix_ms, u64 now_ms);
/* `text` in double quotes, as a JSON string of ASCII characters; cut if too long. */
const char *audit_quote(const char *text, char out[AUDIT_ESCAPED_BYTES]);

#endif
