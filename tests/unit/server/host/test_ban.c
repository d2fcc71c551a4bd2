/* test_ban.c: ban lists, their file, and audit log lines that no user name can forge. */
#include "server/host/audit.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static Ban ban_of(BanKind kind, const char *target, u64 until)
{
    Ban ban = {.kind = kind, .until_unix_s = until, .by = "Ada", .reason = "because"};
    assert_true(ban_target_parse(target, &ban.target));
    return ban;
}

static UserIdentity identity_of(const char *address, u64 token)
{
    UserIdentity identity = {.token = token};
    identity.addressed = net_address_parse(address, &identity.address);
    return identity;
}

static void test_targets(void **state)
{
    PL_UNUSED(state);
    static const char *const good[] = {"1.2.3.4", "1.2.3.0/24", "2001:db8::/64", "token:17",
                                       "key:000102030405060708090a0b0c0d0e0f"
                                       "101112131415161718191a1b1c1d1e1f"};
    static const char *const bad[] = {"",         "token:",  "token:0",
                                      "token:-1", "key:00",  "token:99999999999999999999",
                                      "nobody",   "1.2.3.4/"};
    BanTarget target;
    char text[TARGET_TEXT_BYTES];
    for (u32 i = 0; i < PL_COUNT(good); i++) {
        assert_true(ban_target_parse(good[i], &target));
        assert_string_equal(ban_target_text(&target, text), good[i]);
    }
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        assert_false(ban_target_parse(bad[i], &target));
    }
    UserIdentity token = identity_of("10.0.0.1", 17), none = identity_of("memory:1", 0);
    assert_true(ban_target_of(&token, &target) && target.kind == TARGET_TOKEN);
    assert_false(ban_target_of(&none, &target));
    UserIdentity six = identity_of("2001:db8::1:2:3:4", 0);
    assert_true(ban_target_of(&six, &target));
    assert_string_equal(ban_target_text(&target, text), "2001:db8::/64");
}

static void test_times(void **state)
{
    PL_UNUSED(state);
    BanList list = {0};
    UserIdentity user = identity_of("10.0.0.1", 0);
    Ban ban = ban_of(BAN_JOIN, "10.0.0.0/8", 1000);
    assert_int_equal(ban_list_add(&list, &ban, 0), 0);
    assert_non_null(ban_list_find(&list, BAN_JOIN, &user, 999));
    assert_null(ban_list_find(&list, BAN_JOIN, &user, 1000));
    assert_null(ban_list_find(&list, BAN_CHAT, &user, 999));
    ban = ban_of(BAN_JOIN, "10.0.0.1", 0);
    assert_int_equal(ban_list_add(&list, &ban, 1000), 0);
    assert_int_equal(list.count, 1); /* the first has expired */
    assert_non_null(ban_list_find(&list, BAN_JOIN, &user, UINT64_MAX));
    ban.until_unix_s = 2000; /* a repeated ban replaces the older one */
    assert_int_equal(ban_list_add(&list, &ban, 1000), 0);
    assert_int_equal(list.count, 1);
    assert_true(ban_list_remove(&list, BAN_JOIN, &ban.target));
    assert_false(ban_list_remove(&list, BAN_JOIN, &ban.target));
    char text[24];
    for (u32 i = 0; i < BANS_MAX; i++) {
        snprintf(text, sizeof text, "10.%u.%u.1", i / 256, i % 256);
        ban = ban_of(BAN_JOIN, text, 0);
        assert_int_equal(ban_list_add(&list, &ban, 0), 0);
    }
    ban = ban_of(BAN_JOIN, "11.0.0.1", 0);
    assert_int_equal(ban_list_add(&list, &ban, 0), ERROR_LIMIT);
    ban_list_finish(&list);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_file(void **state)
{
    PL_UNUSED(state);
    BanList list = {0}, again = {0};
    ErrorText error = {0};
    const char *path = test_path("bans");
    struct stat status;
    assert_int_equal(ban_list_load(&list, path, 0, &error), 0); /* no file yet */
    Ban ban = ban_of(BAN_CHAT, "10.0.0.0/8", 5000);
    snprintf(ban.reason, sizeof ban.reason, "tab\tand\nline");
    assert_int_equal(ban_list_add(&list, &ban, 0), 0);
    assert_int_equal(ban_list_save(&list, &error), 0);
    ban = ban_of(BAN_JOIN, "token:17", 0);
    assert_int_equal(ban_list_add(&list, &ban, 0), 0);
    assert_int_equal(ban_list_save(&list, &error), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(ban_list_load(&again, path, 0, &error), 0);
    assert_int_equal(again.count, 2);
    assert_string_equal(again.items[0].reason, "tab and line");
    assert_string_equal(again.items[1].by, "Ada");
    assert_int_equal(again.items[0].until_unix_s, 5000);
    assert_int_equal(ban_list_load(&again, path, 6000, &error), 0);
    assert_int_equal(again.count, 1);
    /* A file that cannot be parsed leaves the list unchanged. */
    write_text(path, "# bans\n\nban\t10.0.0.1\t0\t\t\nban\t10.0.0.1\n");
    assert_int_equal(ban_list_load(&again, path, 0, &error), ERROR_FORMAT);
    assert_non_null(strstr(error.text, "line 4"));
    assert_int_equal(again.count, 1);
    /* A failed write keeps the old file. */
    again.path = test_path("nowhere/bans");
    assert_int_equal(ban_list_save(&again, &error), ERROR_IO);
    ban_list_finish(&list);
    ban_list_finish(&again);
    u32 count;
    write_text(path, "# school\n10.0.0.0/8\n\ntoken:4   Ada\n");
    BanTarget *targets = ban_targets_read(path, &count, &error);
    assert_non_null(targets);
    assert_int_equal(count, 2);
    free(targets);
    write_text(path, "10.0.0.0/8\nAda\n");
    assert_null(ban_targets_read(path, &count, &error));
    assert_non_null(strstr(error.text, "line 2"));
}

/* ---- the audit log ---- */

static void test_quote(void **state)
{
    PL_UNUSED(state);
    static const char *const rows[][2] = {
        {"Ada", "\"Ada\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"x\n2026 kick", "\"x\\u000a2026 kick\""},
        {"\x1b[31m", "\"\\u001b[31m\""},
        {"\xC3\xA9", "\"\\u00e9\""},
        {"\xE2\x80\xAE", "\"\\u202e\""},
        {"\xF0\x9F\x98\x80", "\"\\ud83d\\ude00\""},
        {"\xFF\xC3", "\"\\ufffd\\ufffd\""},
    };
    char out[AUDIT_ESCAPED_BYTES];
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        assert_string_equal(audit_quote(rows[i][0], out), rows[i][1]);
    }
    char endless[4 * AUDIT_ESCAPED_BYTES];
    memset(endless, 1, sizeof endless);
    endless[sizeof endless - 1] = '\0';
    assert_true(strlen(audit_quote(endless, out)) < AUDIT_ESCAPED_BYTES);
}

static u32 lines_of(const char *path, char *last, size_t bytes)
{
    FILE *file = fopen(path, "r");
    u32 count = 0;
    assert_non_null(file);
    while (fgets(last, (int)bytes, file) != NULL) {
        count++;
    }
    fclose(file);
    return count;
}

static void test_log(void **state)
{
    PL_UNUSED(state);
    Audit audit;
    ErrorText error = {0};
    UserIdentity identity = identity_of("10.0.0.1", 17);
    char line[4096];
    AuditLine entry = {.name = "x\n2026-01-01T00:00:00.000Z what=\"kick\"",
                       .role = "operator",
                       .user = 3,
                       .identity = &identity,
                       .what = "kick",
                       .detail = "kick \"Bob\""};
    for (u32 json = 0; json < 2; json++) {
        const char *path = test_path(json ? "log.json" : "log");
        assert_int_equal(audit_open(&audit, path, json != 0, 0, &error), 0);
        audit_write(&audit, &entry, 1700000000123ull, 0);
        assert_int_equal(lines_of(path, line, sizeof line), 1);
        assert_string_equal(
            line,
            json ? "{\"time\":\"2023-11-14T22:13:20.123Z\",\"what\":\"kick\",\"user\":3,\"name\":"
                   "\"x\\u000a2026-01-01T00:00:00.000Z what=\\\"kick\\\"\",\"role\":\"operator\","
                   "\"address\":\"10.0.0.1\",\"token\":17,\"detail\":\"kick \\\"Bob\\\"\","
                   "\"result\":\"ok\"}\n"
                 : "2023-11-14T22:13:20.123Z what=\"kick\" user=3 "
                   "name=\"x\\u000a2026-01-01T00:00:00.000Z what=\\\"kick\\\"\" role=\"operator\" "
                   "address=\"10.0.0.1\" token=17 detail=\"kick \\\"Bob\\\"\" result=\"ok\"\n");
        /* A flood of lines is suppressed; the log reports how many when it ends. */
        for (u32 i = 0; i < 10000; i++) {
            audit_write(&audit, &entry, 1700000000123ull, 0);
        }
        assert_true(lines_of(path, line, sizeof line) <= 500);
        audit_write(&audit, &entry, 1700000000123ull, 1000);
        (void)lines_of(path, line, sizeof line);
        assert_non_null(strstr(line, json ? "\"skipped\":9501" : "skipped=9501"));
        /* A flood by strangers leaves capacity for the lines of operators. */
        AuditLine stranger = entry;
        stranger.crowd = true;
        for (u32 i = 0; i < 10000; i++) {
            audit_write(&audit, &stranger, 1700000000123ull, 20000);
        }
        u32 lines = lines_of(path, line, sizeof line);
        audit_write(&audit, &entry, 1700000000123ull, 20000);
        assert_int_equal(lines_of(path, line, sizeof line), lines + 1);
        /* A rotation starts a new file. */
        assert_int_equal(rename(path, test_path("old")), 0);
        assert_int_equal(audit_reopen(&audit, &error), 0);
        audit_write(&audit, &entry, 1700000000123ull, 2000);
        assert_int_equal(lines_of(path, line, sizeof line), 1);
        audit_close(&audit);
    }
    assert_int_equal(symlink("/dev/null", test_path("link")), 0);
    assert_int_equal(audit_open(&audit, test_path("link"), false, 0, &error), ERROR_IO);
    assert_int_equal(mkfifo(test_path("fifo"), 0600), 0);
    assert_int_equal(audit_open(&audit, test_path("fifo"), false, 0, &error), ERROR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets), cmocka_unit_test(test_times), cmocka_unit_test(test_file),
        cmocka_unit_test(test_quote),   cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
