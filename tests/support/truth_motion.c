/* truth_motion.c: laws of free flight and joints; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_motion[] = {
    {.name = NULL},
};
