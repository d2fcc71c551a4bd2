/* truth_rest.c: laws of rest and sleep; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_rest[] = {
    {.name = NULL},
};
