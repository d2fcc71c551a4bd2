/* thread.c: see thread.h. In Linux nice values belong to threads. */
#include "shared/base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>

enum {
    FIRST_NICE = 10, /* lower by this than the others: about nine times their share */
    NAME_BYTES = 16
};

void thread_name(const char *name)
{
    char kept[NAME_BYTES];
    snprintf(kept, sizeof kept, "%s", name);
    (void)pthread_setname_np(pthread_self(), kept); /* a missing name does no harm */
}

bool thread_go_first(int *before)
{
    *before = getpriority(PRIO_PROCESS, 0);
    return setpriority(PRIO_PROCESS, 0, *before - FIRST_NICE) == 0;
}

void thread_go_back(int before)
{
    (void)setpriority(PRIO_PROCESS, 0, before); /* a larger value is always allowed */
}
