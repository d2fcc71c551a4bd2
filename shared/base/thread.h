/*
 * thread.h: names and priorities of threads.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_THREAD_H
#define PLENUM_SHARED_BASE_THREAD_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Names the calling thread, as tools like `top -H` show it; 15 characters at most are kept. */
void thread_name(const char *name);
/* Gives the calling thread, and those that it starts from now on, priority over the other threads
 * of the process: for short work with a deadline, such as ticks. *before gets its nice value until
 * now. False if the system does not allow it (it takes root or a limit such as LimitNICE in a
 * systemd unit): nothing changes. */
bool thread_go_first(int *before);
/* Restores that nice value of the calling thread. */
void thread_go_back(int before);
PL_END_C

#endif
