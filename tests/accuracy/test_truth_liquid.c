/* test_truth_liquid.c: a few random cases of each law of truth_liquid.c, truth_flow.c and
 * truth_light.c. */
#include "tests/support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void laws_hold(void **unused)
{
    PL_UNUSED(unused);
    u32 broken = truth_check(truth_liquid);
    broken += truth_check(truth_flow);
    broken += truth_check(truth_light);
    assert_int_equal(broken, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
