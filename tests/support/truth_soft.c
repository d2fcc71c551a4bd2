/* truth_soft.c: laws of soft bodies in contact; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_soft[] = {
    {.name = NULL},
};
