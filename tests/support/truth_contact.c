/* truth_contact.c: laws of rigid bodies upon each other; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_contact[] = {
    {.name = NULL},
};
