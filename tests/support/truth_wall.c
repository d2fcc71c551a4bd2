/* truth_wall.c: laws of nothing passes a wall; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_wall[] = {
    {.name = NULL},
};
