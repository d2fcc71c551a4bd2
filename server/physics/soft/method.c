/* method.c: no body has another method than SOFT_XPBD yet. */
#include "server/physics/soft/store.h"

#include "shared/error.h"

int methods_create(Soft *soft)
{
    PL_UNUSED(soft);
    return ERROR_OK;
}

void methods_destroy(Methods *methods)
{
    PL_UNUSED(methods);
}

void methods_body(Soft *soft, u32 body, f32 h)
{
    PL_UNUSED(soft);
    PL_UNUSED(body);
    PL_UNUSED(h);
}

void methods_walk(Soft *soft, State *state)
{
    PL_UNUSED(soft);
    PL_UNUSED(state);
}
