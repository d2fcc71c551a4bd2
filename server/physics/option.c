/* option.c: see option.h. */
#include "server/physics/option.h"

#include <math.h>

Error option_check_number(const OptionRange *r, ErrorText *error)
{
    bool within = r->value >= r->least && r->value <= r->most; /* false for NaN */
    bool below = r->also < 0.0f && r->least >= 0.0f && r->value < 0.0f && isfinite(r->value);
    if (within || below || r->value == r->also) {
        return ERROR_OK;
    }
    return error_set(error, ERROR_RANGE, "%s %g%s%s: %g to %g", r->name, (double)r->value,
                     r->unit[0] != 0 ? " " : "", r->unit, (double)r->least, (double)r->most);
}

Error option_check_vector(const char *name, const char *unit, Vec3 v, f32 most, ErrorText *error)
{
    const f32 values[3] = {v.x, v.y, v.z};
    for (u32 i = 0; i < 3; i++) {
        if (!(values[i] >= -most && values[i] <= most)) {
            return error_set(error, ERROR_RANGE, "%s.%c %g%s%s: %g to %g", name, "xyz"[i],
                             (double)values[i], unit[0] != 0 ? " " : "", unit, (double)-most,
                             (double)most);
        }
    }
    return ERROR_OK;
}

Error option_check_whole(const char *name, u32 value, u32 least, u32 most, ErrorText *error)
{
    return value >= least && value <= most
               ? ERROR_OK
               : error_set(error, ERROR_RANGE, "%s %u: %u to %u", name, value, least, most);
}
