/*
 * option.h: checks options of solvers against the ranges of their rows (shared/rows/open.def);
 * option_check_rows.h calls these for each row of a table.
 * Layer: server/physics (includes shared only).
 */
#ifndef PLENUM_SERVER_PHYSICS_OPTION_H
#define PLENUM_SERVER_PHYSICS_OPTION_H

#include "shared/base/error.h"
#include "shared/math/vec.h"

/* What a solver accepts: least to most, or the special value `also`. If that is negative and least
 * is not, any negative number means the same. */
typedef struct OptionRange {
    const char *name, *unit; /* "": no unit */
    f32 value, also, least, most;
} OptionRange;

/* 0 or ERROR_RANGE, with a text that names the option and its range. */
Error option_check_number(const OptionRange *range, ErrorText *error);
/* Each component within ±most. */
Error option_check_vector(const char *name, const char *unit, Vec3 v, f32 most, ErrorText *error);
Error option_check_whole(const char *name, u32 value, u32 least, u32 most, ErrorText *error);

#endif
