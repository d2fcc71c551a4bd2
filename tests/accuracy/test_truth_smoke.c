/* test_truth_smoke.c: a few random cases of each law of truth_air.c and truth_smoke.c. */
#include "tests/support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void laws_hold(void **unused)
{
    PL_UNUSED(unused);
    assert_int_equal(truth_check(truth_air), 0);
    assert_int_equal(truth_check(truth_smoke), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
