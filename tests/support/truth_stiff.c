/* truth_stiff.c: laws of stiffness, drag and dents; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_stiff[] = {
    {.name = NULL},
};
