/*
 * clock.h: the only file that reads a clock. All code below the programs takes time as an argument.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_CLOCK_H
#define PLENUM_SHARED_BASE_CLOCK_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Monotonic nanoseconds since an arbitrary start. */
u64 clock_now_ns(void);
/* Nanoseconds that the calling thread had a processor. */
u64 clock_thread_ns(void);
/* Seconds since 1970 (for file headers and tokens only). */
u64 clock_unix_s(void);
/* Milliseconds since 1970 (for log lines and announcements only). */
u64 clock_unix_ms(void);
/* Sleeps until clock_now_ns() >= deadline. */
void clock_sleep_until_ns(u64 deadline_ns);
PL_END_C

#endif
