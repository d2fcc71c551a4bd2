/* crowd.c: soft bodies do not meet yet. */
#include "server/physics/soft/store.h"

#include "shared/error.h"

int crowd_create(Soft *soft)
{
    PL_UNUSED(soft);
    return ERROR_OK;
}

void crowd_destroy(Crowd *crowd)
{
    PL_UNUSED(crowd);
}

void crowd_begin(Soft *soft, f32 tick_s)
{
    PL_UNUSED(soft);
    PL_UNUSED(tick_s);
}

void crowd_solve(Soft *soft, f32 h)
{
    PL_UNUSED(soft);
    PL_UNUSED(h);
}
