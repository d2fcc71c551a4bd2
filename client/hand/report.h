/*
 * report.h: the client's state as one JSON object (--report).
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_REPORT_H
#define PLENUM_CLIENT_HAND_REPORT_H

#include "client/hand/hand.h"
#include "client/link/connection.h"

/* Initial positions of the movable bodies, to count those that moved. */
typedef struct ReportStart {
    u32 *ids;        /* [count] */
    Vec3 *positions; /* [count] m */
    u32 count;
} ReportStart;

/* Records the current positions of movable bodies; nothing if out of memory. */
void report_start(ReportStart *start, Connection *connection);
void report_finish(ReportStart *start);

/* Writes the object to `path` ("-": standard output); hand: its drag statistics, or NULL. 0 or a
 * negative Error with a text. */
int report_write(const char *path, Connection *connection, const ReportStart *start,
                 const HandStats *hand, f64 duration_s, ErrorText *error);

#endif
