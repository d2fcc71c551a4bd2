/*
 * options.h: one table of Option rows, made from a .def table by each program, defines command line
 * (getopt_long), INI file (inih), --help text and checks.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_OPTIONS_H
#define PLENUM_SHARED_BASE_OPTIONS_H

#include "shared/base/error.h"

typedef enum OptionKind {
    OPTION_FLAG,   /* bool *value; no argument */
    OPTION_U32,    /* u32 *value */
    OPTION_U64,    /* u64 *value */
    OPTION_F64,    /* f64 *value */
    OPTION_STRING, /* const char **value; points into argv or into the config's storage */
    OPTION_SIZE,   /* u32 value[2]; "WxH" */
    OPTION_LINES, /* char value[OPTION_LINES_BYTES]: may be given several times, newlines between */
} OptionKind;

typedef struct Option {
    const char *name; /* long name without dashes */
    char letter;      /* short name or 0 */
    OptionKind kind;
    void *value;          /* destination of the value; initially the default */
    f64 min, max;         /* inclusive range; min == max means any */
    const char *argument; /* name of the argument in --help, NULL for flags */
    const char *help;     /* one line, no full stop */
} Option;

enum {
    OPTION_ROWS_MAX = 80,
    OPTION_LINES_BYTES = 4096,
};

/* Result of a parse: which rows were set by the command line or the INI file, and the strings
 * referenced by rows of the INI file. Zero it before; options_finish frees the strings. */
typedef struct OptionState {
    bool set[OPTION_ROWS_MAX];
    char *text[OPTION_ROWS_MAX];
} OptionState;

typedef struct OptionTable {
    const char *program;  /* "plenum-server" */
    const char *synopsis; /* "[options] SOURCE" */
    const char *about;    /* paragraph for --help */
    const Option *rows;
    u32 count;
    u32 operands_min, operands_max;
    OptionState *state; /* may be NULL without an INI file */
} OptionTable;

PL_BEGIN_C
/* Parses argv; options and operands may be mixed, "--" ends the options. On success *operands
 * points to the operands (operands_min..operands_max) in argv (which is reordered) and
 * *operand_count is set. --help and --version print and return 1; 0 is success; negative is an
 * Error with a text that names the option and the expected value. */
int options_parse(const OptionTable *table, int argc, char **argv, char ***operands,
                  u32 *operand_count, ErrorText *error);
/* Reads "name = value" lines of an INI file for the same rows; flags take yes or no. Rows set by
 * the command line keep their value: `set` (bool[count]) lists them, NULL means
 * table->state->set. So parse argv first, then the file that argv named. Strings are kept in
 * table->state, which a table with string rows requires. */
int options_read_ini(const OptionTable *table, const char *path, const bool *set, ErrorText *error);
/* Frees the strings of an INI file and so invalidates rows that point to them. */
void options_finish(OptionState *state);
/* Prints the whole help on stdout. */
void options_print_help(const OptionTable *table);
PL_END_C

#endif
