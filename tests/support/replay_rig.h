/*
 * replay_rig.h: clients before a recording of the fields of field_source.h, in real time, as the
 * source of a recording has its own clock.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_REPLAY_RIG_H
#define PLENUM_TESTS_SUPPORT_REPLAY_RIG_H

#include "protocol/field/field.h"
#include "shared/base/clock.h"
#include "tests/support/join_rig.h"

/* Runs by `step` until the condition holds, however slow the machine is; fails after five minutes.
 * For files that include cmocka.h. */
#define REPLAY_UNTIL(step, condition)                                                              \
    do {                                                                                           \
        u64 begun_ns = clock_now_ns();                                                             \
        while (!(condition)) {                                                                     \
            if (clock_now_ns() - begun_ns > 300000000000ull) {                                     \
                fail_msg("never: %s", #condition);                                                 \
            }                                                                                      \
            step;                                                                                  \
        }                                                                                          \
    } while (0)

/* Writes a recording of so many ticks to a new file in /tmp; returns its path, to be unlinked,
 * valid until the next call. */
const char *replay_record(FieldSet *fields, u32 ticks);
/* Runs host and clients for `ms` of real time. On a slow machine steps are longer than a
 * millisecond: else the clients would fall behind the source for good. */
void replay_run(JoinRig *rig, Connection **clients, u32 count, u32 ms);
/* The tick of the recording that a client shows. */
f64 replay_tick(Connection *client);
/* Runs all clients until those of [first, end) show the tick, however slow the machine is, with the
 * recorded values. (Clients that are not run are thrown out after some seconds.) */
void replay_until_shown(JoinRig *rig, Connection **clients, u32 count, u32 first, u32 end,
                        f64 tick);
void replay_until_all_show(JoinRig *rig, Connection **clients, u32 count, f64 tick);

#endif
