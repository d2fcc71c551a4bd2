/* filter.c: applies CMOCKA_TEST_FILTER='name*' before a test program selects tests: the library
 * of Debian 12 has the function and does not read the variable. Linked into every test program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void read_filter(void)
{
    cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER"));
}
