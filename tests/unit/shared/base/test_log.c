/* test_log.c: the form of log lines in each format, for any text. */
#include "shared/base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char said[4096];

/* One line of this text and format, as it goes to stderr. */
static const char *line_of(LogFormat format, LogLevel level, const char *text)
{
    int ends[2], kept = dup(STDERR_FILENO);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    log_set_format(format);
    log_write(level, "%s", text);
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(ends[1]);
    ssize_t bytes = read(ends[0], said, sizeof said - 1);
    close(ends[0]);
    assert_true(bytes > 0 && bytes <= 1024);
    said[bytes] = '\0';
    assert_int_equal(said[bytes - 1], '\n');
    log_set_format(LOG_TEXT);
    return said;
}

static void test_journal(void **state)
{
    PL_UNUSED(state);
    assert_string_equal(line_of(LOG_JOURNAL, LOG_ERROR, "a\x1b[31m\nb"), "<3>a?[31m?b\n");
    assert_string_equal(line_of(LOG_JOURNAL, LOG_WARN, "w"), "<4>w\n");
    assert_string_equal(line_of(LOG_JOURNAL, LOG_INFO, "i"), "<6>i\n");
}

static void test_journal_stream(void **state)
{
    PL_UNUSED(state);
    struct stat status;
    char stream[64];
    unsetenv("JOURNAL_STREAM");
    assert_false(log_is_journal());
    assert_int_equal(fstat(STDERR_FILENO, &status), 0);
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    assert_true(log_is_journal());
    snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino + 1);
    setenv("JOURNAL_STREAM", stream, 1);
    assert_false(log_is_journal()); /* stderr was redirected */
    unsetenv("JOURNAL_STREAM");
}

static void expect_json(const char *text, const char *quoted)
{
    const char *line = line_of(LOG_JSON, LOG_INFO, text);
    char end[256];
    assert_memory_equal(line, "{\"time\":\"2", 10);
    snprintf(end, sizeof end, "Z\",\"level\":\"info\",\"text\":%s}\n", quoted);
    assert_string_equal(strchr(line, 'Z'), end);
}

static void test_json(void **state)
{
    PL_UNUSED(state);
    expect_json("plain", "\"plain\"");
    expect_json("a \"b\" \\ \t", "\"a \\\"b\\\" \\\\ ?\"");
    expect_json("k\xC3\xB6nig \xF0\x9F\x98\x80", "\"k\xC3\xB6nig \xF0\x9F\x98\x80\"");
    /* Overlong, surrogate, cut, beyond the last: each byte is replaced. */
    expect_json("\xC0\xAF", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json("\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json("x\xE2\x82", "\"x\xEF\xBF\xBD\xEF\xBF\xBD\"");
    expect_json("\xF5\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

/* A line too long is cut, and whole nevertheless. */
static void test_long(void **state)
{
    PL_UNUSED(state);
    char text[3000];
    const LogFormat formats[] = {LOG_TEXT, LOG_JOURNAL, LOG_JSON};
    for (u32 i = 0; i < PL_COUNT(formats); i++) {
        memset(text, i % 2 == 0 ? '"' : '\xFF', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        const char *line = line_of(formats[i], LOG_INFO, text);
        assert_true(strlen(line) > 1000);
        if (formats[i] == LOG_JSON) {
            assert_string_equal(line + strlen(line) - 3, "\"}\n");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journal),
        cmocka_unit_test(test_journal_stream),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
