/* test_options.c: command line and INI file against one table; each invalid value has its error
 * text. */
#include "shared/base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka.h needs the four headers above
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Values {
    bool fast;
    u32 threads;
    u64 ticks;
    f64 speed;
    const char *record;
    u32 size[2];
    Option rows[6];
    OptionState state;
    OptionTable table;
    char **operands;
    u32 count;
    ErrorText error;
} Values;

static int setup(void **state)
{
    Values *v = calloc(1, sizeof *v);
    v->threads = 1;
    v->speed = 1.0;
    Option rows[] = {
        {"fast", 'f', OPTION_FLAG, &v->fast, 0, 0, NULL, "do not wait"},
        {"threads", 't', OPTION_U32, &v->threads, 1, 64, "N", "workers"},
        {"ticks", 0, OPTION_U64, &v->ticks, 0, 0, "N", "stop after"},
        {"speed", 0, OPTION_F64, &v->speed, 0.01, 16, "X", "world speed"},
        {"record", 'r', OPTION_STRING, &v->record, 0, 0, "FILE", "record"},
        {"size", 0, OPTION_SIZE, v->size, 16, 8192, "WxH", "window"},
    };
    memcpy(v->rows, rows, sizeof rows);
    v->table = (OptionTable){.program = "thing",
                             .synopsis = "[options] SOURCE",
                             .about = "A thing.",
                             .rows = v->rows,
                             .count = PL_COUNT(rows),
                             .operands_min = 1,
                             .operands_max = 1,
                             .state = &v->state};
    *state = v;
    return 0;
}

static int teardown(void **state)
{
    Values *v = *state;
    options_finish(&v->state);
    free(v);
    return 0;
}

/* Parses the words of a line split at blanks. */
static int parse(Values *v, char *line)
{
    char *argv[32] = {"thing"};
    int argc = 1;
    for (char *word = strtok(line, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    static char *kept[32];
    memcpy(kept, argv, sizeof kept);
    return options_parse(&v->table, argc, kept, &v->operands, &v->count, &v->error);
}

static void parses_all_kinds(void **state)
{
    Values *v = *state;
    char line[] = "-f world.json --threads=4 --ticks 18446744073709551615 --speed 0.5 -r out "
                  "--size 640x480";
    assert_int_equal(parse(v, line), 0);
    assert_true(v->fast);
    assert_int_equal(v->threads, 4);
    assert_true(v->ticks == UINT64_MAX);
    assert_true(v->speed == 0.5);
    assert_string_equal(v->record, "out");
    assert_int_equal(v->size[0], 640);
    assert_int_equal(v->size[1], 480);
    assert_int_equal(v->count, 1);
    assert_string_equal(v->operands[0], "world.json");
    assert_true(v->state.set[1]);
    assert_true(v->state.set[5]);
}

static void expect_error(Values *v, const char *text, const char *first, const char *second)
{
    char line[128];
    snprintf(line, sizeof line, "%s", text);
    int result = parse(v, line);
    if (result != ERROR_USAGE || strstr(v->error.text, first) == NULL ||
        strstr(v->error.text, second) == NULL) {
        fail_msg("'%s' gave %d '%s', expected '%s' and '%s'", text, result, v->error.text, first,
                 second);
    }
}

static void errors_name_the_fault(void **state)
{
    Values *v = *state;
    expect_error(v, "--threads 65 x", "--threads: '65'", "from 1 to 64");
    expect_error(v, "--threads -1 x", "--threads: '-1'", "whole number");
    expect_error(v, "--threads 4x x", "--threads: '4x'", "whole number");
    expect_error(v, "--ticks 18446744073709551616 x", "--ticks", "whole number");
    expect_error(v, "--speed nan x", "--speed: 'nan'", "from 0.01 to 16");
    expect_error(v, "--size 640 x", "--size: '640'", "WIDTHxHEIGHT");
    expect_error(v, "--size 640x9000 x", "--size", "from 16 to 8192");
    expect_error(v, "x --treads 4", "--treads", "did you mean --threads?");
    expect_error(v, "--zzzzzzzz x", "--zzzzzzzz", "--help");
    expect_error(v, "-q x", "'-q'", "--help");
    expect_error(v, "-fq x", "'-q'", "--help");
    expect_error(v, "x --record", "--record needs an argument", "--record FILE");
    expect_error(v, "x -r", "--record needs an argument", "FILE");
    expect_error(v, "--fast=3 x", "--fast=3", "no argument");
    expect_error(v, "", "too few arguments", "[options] SOURCE");
    expect_error(v, "a b", "'b'", "[options] SOURCE");
}

static int read_ini(Values *v, const char *text)
{
    char path[] = "/tmp/plenum-options-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (int)strlen(text));
    close(file);
    int result = options_read_ini(&v->table, path, NULL, &v->error);
    unlink(path);
    return result;
}

static void command_line_wins_over_file(void **state)
{
    Values *v = *state;
    char line[] = "--threads 4 x";
    assert_int_equal(parse(v, line), 0);
    assert_int_equal(read_ini(v, "; comment\n[thing]\nthreads = 8\nfast = yes\nspeed = 2\n"
                                 "record = a b.plrec\nsize = 800x600\n"),
                     0);
    assert_int_equal(v->threads, 4);
    assert_true(v->fast);
    assert_true(v->speed == 2.0);
    assert_string_equal(v->record, "a b.plrec");
    assert_int_equal(v->size[1], 600);
    assert_true(v->state.set[3]);
    assert_false(v->state.set[2]);
}

static void expect_ini_error(Values *v, const char *text, const char *first, const char *second)
{
    int result = read_ini(v, text);
    if (result >= 0 || strstr(v->error.text, first) == NULL ||
        strstr(v->error.text, second) == NULL) {
        fail_msg("'%s' gave %d '%s', expected '%s' and '%s'", text, result, v->error.text, first,
                 second);
    }
}

static void file_errors_name_the_line(void **state)
{
    Values *v = *state;
    expect_ini_error(v, "fast = yes\nthreads = 99\n", ":2: threads", "from 1 to 64");
    expect_ini_error(v, "\nthreds = 9\n", ":2: unknown option 'threds'", "threads");
    expect_ini_error(v, "[other]\nthreads = 9\n", ":2: unknown section [other]", "[thing]");
    expect_ini_error(v, "fast = maybe\n", ":1: fast: 'maybe'", "yes or no");
    expect_ini_error(v, "fast = yes\nfast = no\n", ":2: fast", "twice");
    expect_ini_error(v, "fast = yes\nnonsense\n", ":2:", "NAME = VALUE");
    assert_int_equal(options_read_ini(&v->table, "/nonexistent", NULL, &v->error), ERROR_NOT_FOUND);
    assert_true(options_read_ini(&v->table, "/dev/zero", NULL, &v->error) < 0);
}

typedef union Stored {
    bool flag;
    u32 u32s[2];
    u64 whole;
    f64 real;
    const char *text;
    char lines[OPTION_LINES_BYTES];
} Stored;

/* Sets one option of a program from a file: its value arrives. */
static void read_one(Values *v, const Option *row, Stored *stored)
{
    char line[256];
    f64 number = row->min != row->max ? 0.5 * (row->min + row->max) : 7.0;
    static const char *const kinds[] = {[OPTION_FLAG] = "%s = yes\n",
                                        [OPTION_U32] = "%s = %.0f\n",
                                        [OPTION_U64] = "%s = %.0f\n",
                                        [OPTION_F64] = "%s = %.17g\n",
                                        [OPTION_STRING] = "%s = some text\n",
                                        [OPTION_SIZE] = "%s = 640x480\n",
                                        [OPTION_LINES] = "%1$s = one\n%1$s = two\n"};
    if (row->kind == OPTION_U32 || row->kind == OPTION_U64) {
        number = (f64)(u64)number;
    }
    snprintf(line, sizeof line, kinds[row->kind], row->name, number);
    if (read_ini(v, line) != 0) {
        fail_msg("%s: %s", row->name, v->error.text);
    }
    bool arrived = row->kind == OPTION_FLAG     ? stored->flag
                   : row->kind == OPTION_U32    ? stored->u32s[0] == (u32)number
                   : row->kind == OPTION_U64    ? stored->whole == (u64)number
                   : row->kind == OPTION_F64    ? stored->real == number
                   : row->kind == OPTION_STRING ? strcmp(stored->text, "some text") == 0
                   : row->kind == OPTION_LINES  ? strcmp(stored->lines, "one\ntwo") == 0
                                                : stored->u32s[1] == 480;
    if (!arrived) {
        fail_msg("%s: the value of '%s' did not arrive", row->name, line);
    }
}

#define X(name_, letter_, kind_, member_, min_, max_, argument_, help_)                            \
    {name_, letter_, kind_, NULL, min_, max_, argument_, help_},

static void every_option_works_from_a_file(void **state)
{
    Values *v = *state;
    Option server[] = {
#include "server/options.def"
    };
    Option client[] = {
#include "client/options.def"
    };
    const struct {
        Option *rows;
        u32 count;
    } tables[] = {{server, PL_COUNT(server)}, {client, PL_COUNT(client)}};
    for (u32 t = 0; t < PL_COUNT(tables); t++) {
        Stored stored[OPTION_ROWS_MAX] = {{0}};
        for (u32 i = 0; i < tables[t].count; i++) {
            tables[t].rows[i].value = &stored[i];
        }
        v->table.rows = tables[t].rows;
        v->table.count = tables[t].count;
        memset(v->state.set, 0, sizeof v->state.set);
        for (u32 i = 0; i < tables[t].count; i++) {
            read_one(v, &tables[t].rows[i], &stored[i]);
        }
        options_finish(&v->state);
    }
}
#undef X

static void help_and_version_end_the_program(void **state)
{
    Values *v = *state;
    char help[] = "--threads 2 --help";
    char version[] = "--version";
    char letter[] = "-h";
    assert_int_equal(parse(v, help), 1);
    assert_int_equal(parse(v, version), 1);
    assert_int_equal(parse(v, letter), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parses_all_kinds, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_name_the_fault, setup, teardown),
        cmocka_unit_test_setup_teardown(command_line_wins_over_file, setup, teardown),
        cmocka_unit_test_setup_teardown(file_errors_name_the_line, setup, teardown),
        cmocka_unit_test_setup_teardown(every_option_works_from_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(help_and_version_end_the_program, setup, teardown),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
