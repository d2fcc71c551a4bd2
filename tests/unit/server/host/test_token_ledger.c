/*
 * test_token_ledger.c: revocations apply as soon as the file changes, used ids survive a restart,
 * and a damaged file admits nobody.
 */
#include "server/host/token_ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], revoked[96], used[96];

static int setup(void **context)
{
    PL_UNUSED(context);
    snprintf(folder, sizeof folder, "/tmp/plenum-ledger-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(revoked, sizeof revoked, "%s/revoked", folder);
    snprintf(used, sizeof used, "%s/used", folder);
    return 0;
}

static int teardown(void **context)
{
    PL_UNUSED(context);
    unlink(revoked);
    unlink(used);
    return rmdir(folder);
}

static void write_revoked(const char *text)
{
    FILE *file = fopen(revoked, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_revoked(void **context)
{
    PL_UNUSED(context);
    TokenLedger ledger;
    ErrorText error = {0};
    assert_int_equal(token_ledger_init(&ledger, revoked, NULL, 1000, &error), 0);
    assert_false(token_ledger_revoked(&ledger, 0xABC));
    assert_int_equal(token_ledger_refresh(&ledger, &error), 0);
    write_revoked("# stolen\n0000000000000abc  # Eve\n\nffffffffffffffff\n  0000000000000001\r\n");
    assert_int_equal(token_ledger_refresh(&ledger, &error), 1);
    assert_int_equal(token_ledger_refresh(&ledger, &error), 0);
    assert_true(token_ledger_revoked(&ledger, 0xABC));
    assert_true(token_ledger_revoked(&ledger, UINT64_MAX));
    assert_true(token_ledger_revoked(&ledger, 1));
    assert_false(token_ledger_revoked(&ledger, 2));
    /* Damaged: reported once, and the previous list stays in force. */
    write_revoked("0000000000000abc\n0000000000000xyz\n");
    assert_int_equal(token_ledger_refresh(&ledger, &error), ERROR_FORMAT);
    assert_non_null(strstr(error.text, "revoked:2"));
    assert_int_equal(token_ledger_refresh(&ledger, &error), 0);
    assert_true(token_ledger_revoked(&ledger, UINT64_MAX));
    token_ledger_finish(&ledger);
    assert_int_equal(token_ledger_init(&ledger, revoked, NULL, 1000, &error), ERROR_FORMAT);
}

static void test_used(void **context)
{
    PL_UNUSED(context);
    TokenLedger ledger;
    ErrorText error = {0};
    struct stat status;
    assert_int_equal(token_ledger_init(&ledger, NULL, used, 1000, &error), 0);
    for (u64 i = 0; i < 300; i++) {
        assert_false(token_ledger_used(&ledger, i * 7919 % 1009));
        assert_true(token_ledger_use(&ledger, i * 7919 % 1009, 2000 + i));
    }
    token_ledger_finish(&ledger);
    assert_int_equal(stat(used, &status), 0);
    assert_int_equal(status.st_mode & 077, 0);
    /* After a restart; later some have expired. */
    assert_int_equal(token_ledger_init(&ledger, NULL, used, 1000, &error), 0);
    for (u64 i = 0; i < 300; i++) {
        assert_true(token_ledger_used(&ledger, i * 7919 % 1009));
    }
    assert_int_equal(ledger.used.count, 300);
    token_ledger_finish(&ledger);
    assert_int_equal(token_ledger_init(&ledger, NULL, used, 2099, &error), 0);
    assert_int_equal(ledger.used.count, 200);
    token_ledger_finish(&ledger);
    /* An id whose use cannot be recorded is refused. */
    assert_int_equal(token_ledger_init(&ledger, NULL, folder, 1000, &error), ERROR_IO);
    assert_int_equal(token_ledger_init(&ledger, NULL, "/no/such/folder/used", 1000, &error), 0);
    assert_false(token_ledger_use(&ledger, 5, 2000));
    assert_false(token_ledger_used(&ledger, 5));
    token_ledger_finish(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_revoked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_used, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
