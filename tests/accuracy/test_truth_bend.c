/* test_truth_bend.c: a few random cases of each law of truth_bend.c. */
#include "tests/support/truth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void laws_hold(void **unused)
{
    PL_UNUSED(unused);
    assert_int_equal(truth_check(truth_bend), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
