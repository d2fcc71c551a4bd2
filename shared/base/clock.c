/* clock.c: the only file that reads a clock. */
#include "shared/base/clock.h"

#include <errno.h>
#include <time.h>

#define NS_PER_S 1000000000ull

u64 clock_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

u64 clock_thread_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

u64 clock_unix_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (u64)t.tv_sec * 1000u + (u64)t.tv_nsec / 1000000u;
}

u64 clock_unix_s(void)
{
    return clock_unix_ms() / 1000u;
}

void clock_sleep_until_ns(u64 deadline_ns)
{
    struct timespec t = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                         .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {
    }
}
