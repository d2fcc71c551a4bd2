/*
 * report.h: what a client knows of the world, as one JSON object (--report).
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_REPORT_H
#define PLENUM_CLIENT_HAND_REPORT_H

#include "client/hand/hand.h"
#include "client/link/connection.h"

/* Where the movable bodies were when watching began, to count those that were moved. */
typedef struct ReportStart {
    u32 *ids;        /* [count] */
    Vec3 *positions; /* [count] m */
    u32 count;
} ReportStart;

/* Notes where the movable bodies are now. Without memory nothing is noted. */
void report_start(ReportStart *start, Connection *connection);
void report_finish(ReportStart *start);

/* Writes the object to `path` ("-": standard output); hand: how its drags felt, or NULL. 0 or a
 * negative Error with a text. */
int report_write(const char *path, Connection *connection, const ReportStart *start,
                 const HandStats *hand, f64 duration_s, ErrorText *error);

#endif
