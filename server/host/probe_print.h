/*
 * probe_print.h: prints probes on stdout while a world runs, each at a rate of its own: --probe.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_PROBE_PRINT_H
#define PLENUM_SERVER_HOST_PROBE_PRINT_H

#include "protocol/session/message.h"

enum {
    PROBE_PRINT_ROWS_MAX = 64
};

typedef struct ProbePrint {
    bool csv;
    u32 tick_rate, count;
    const ScalarInfo *probes; /* borrowed */
    struct {
        u32 probe; /* index in probes */
        u32 hz;    /* 1 to the tick rate */
    } rows[PROBE_PRINT_ROWS_MAX];
} ProbePrint;

/* `wanted`: NAME or NAME@HZ, with newlines between them; NULL: none. If the whole text is the name
 * of a probe, it is printed once a second; only otherwise does the last @ begin a rate. csv: the
 * head of a table is printed at once. ERROR_USAGE or ERROR_NOT_FOUND with a text that lists the
 * probes. */
int probe_print_init(ProbePrint *print, const char *wanted, bool csv, const MessageWorld *world,
                     u32 tick_rate, ErrorText *error);
/* Prints the rows that are due: "probe TICK NAME VALUE", or "TICK,TIME,NAME,VALUE" with names in
 * quotes. `value` gives the value of probe i, false: none. */
void probe_print_tick(const ProbePrint *print, u64 tick,
                      bool (*value)(const void *context, u32 probe, f64 *value),
                      const void *context);

#endif
