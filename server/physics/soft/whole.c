/* whole.c: no pressure, no matching yet. */
#include "server/physics/soft/store.h"

#include "shared/error.h"

int wholes_create(Soft *soft)
{
    PL_UNUSED(soft);
    return ERROR_OK;
}

void wholes_destroy(Wholes *wholes)
{
    PL_UNUSED(wholes);
}

void wholes_body(Soft *soft, u32 body, f32 h)
{
    PL_UNUSED(soft);
    PL_UNUSED(body);
    PL_UNUSED(h);
}

void wholes_walk(Soft *soft, State *state)
{
    PL_UNUSED(soft);
    PL_UNUSED(state);
}
