/*
 * fuzz_config.c: configuration files of the server: each is read, or refused with a text of one
 * line. What was read is within the ranges of the options, and strings end.
 */
#include "shared/base/check.h"
#include "shared/base/options.h"
#include "tests/fuzz/target.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    BYTES_MAX = 16 << 10
};

typedef struct Values {
    bool flag;
    u32 number, pair[2];
    u64 large;
    f64 real;
    const char *text;
    char lines[OPTION_LINES_BYTES];
} Values;

static void read_one(const char *path)
{
    Values v = {.number = 5, .real = 1.0, .pair = {640, 480}};
    OptionState state = {0};
    ErrorText error = {0};
    const Option rows[] = {
        {"flag", 'f', OPTION_FLAG, &v.flag, 0, 0, NULL, "a flag"},
        {"number", 'n', OPTION_U32, &v.number, 1, 100, "N", "a number"},
        {"large", 0, OPTION_U64, &v.large, 0, 0, "N", "a large number"},
        {"real", 0, OPTION_F64, &v.real, 0.01, 16, "X", "a real number"},
        {"text", 't', OPTION_STRING, (void *)&v.text, 0, 0, "TEXT", "a text"},
        {"size", 0, OPTION_SIZE, v.pair, 64, 8192, "WxH", "a size"},
        {"line", 0, OPTION_LINES, v.lines, 0, 0, "LINE", "lines"},
    };
    const OptionTable table = {.program = "fuzz",
                               .synopsis = "[options]",
                               .about = "",
                               .rows = rows,
                               .count = PL_COUNT(rows),
                               .state = &state};
    int result = options_read_ini(&table, path, NULL, &error);
    CHECK(result == 0 || (result < 0 && error.text[0] != 0 && strchr(error.text, '\n') == NULL));
    CHECK(v.number >= 1 && v.number <= 100 && v.real >= 0.01 && v.real <= 16.0);
    CHECK(v.pair[0] >= 64 && v.pair[0] <= 8192 && v.pair[1] >= 64 && v.pair[1] <= 8192);
    CHECK(memchr(v.lines, 0, sizeof v.lines) != NULL);
    CHECK(v.text == NULL || strlen(v.text) < BYTES_MAX);
    options_finish(&state);
}

static void run(const u8 *data, size_t bytes)
{
    char path[64];
    int fd = memfd_create("config", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    read_one(path);
    close(fd);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = BYTES_MAX, .memory_fixed = 1 << 20, .memory_each = 64};
