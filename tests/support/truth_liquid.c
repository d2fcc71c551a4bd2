/* truth_liquid.c: laws of liquids; see truth.h. */
#include "tests/support/truth.h"

const TruthLaw truth_liquid[] = {{.name = NULL}};
