/*
 * options.h: one table row, many uses: command line (getopt_long), INI file (inih), --help text and
 * the checks all come from an array of Option rows, made from a .def table by each program.
 * Layer: shared.
 */
#ifndef PLENUM_SHARED_OPTIONS_H
#define PLENUM_SHARED_OPTIONS_H

#include "shared/error.h"

typedef enum OptionKind {
    OPTION_FLAG,   /* bool *value; no argument */
    OPTION_U32,    /* u32 *value */
    OPTION_U64,    /* u64 *value */
    OPTION_F64,    /* f64 *value */
    OPTION_STRING, /* const char **value; points into argv or into the config's storage */
    OPTION_SIZE,   /* u32 value[2]; "WxH" */
} OptionKind;

typedef struct Option {
    const char *name; /* long name without dashes */
    char letter;      /* short name or 0 */
    OptionKind kind;
    void *value;          /* where the value goes; holds the default before */
    f64 min, max;         /* inclusive range of numbers; min == max means any */
    const char *argument; /* name of the argument in --help, NULL for flags */
    const char *help;     /* one line, no full stop */
} Option;

typedef struct OptionTable {
    const char *program;  /* "plenum-server" */
    const char *synopsis; /* "[options] SOURCE" */
    const char *about;    /* paragraph for --help */
    const Option *rows;
    u32 count;
    u32 operands_min, operands_max;
} OptionTable;

PL_BEGIN_C
/* Parses argv. On success operands (at most operands_max) are in *operands as pointers into argv
 * and *operand_count is set. --help and --version print and return 1; 0 is success; negative is an
 * Error with a text that names the option. */
int options_parse(const OptionTable *table, int argc, char **argv, char ***operands,
                  u32 *operand_count, ErrorText *error);
/* Reads "name = value" lines of an INI file for the same rows; rows that the command line set
 * before keep their value when `set` (bool[count], may be NULL) says so. */
int options_read_ini(const OptionTable *table, const char *path, const bool *set, ErrorText *error);
/* Prints the whole help on stdout. */
void options_print_help(const OptionTable *table);
PL_END_C

#endif
