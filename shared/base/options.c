/* options.c: command line, INI file and help text from one table of rows. */
#include "shared/base/options.h"

#include "shared/base/check.h"
#include "shared/base/file.h"
#include "shared/base/version.h"

#include <errno.h>
#include <getopt.h>
#include <ini.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INI_BYTES_MAX = 1 << 20,
    CODE_HELP = 1000, /* of getopt_long; rows are CODE_ROW + index */
    CODE_VERSION,
    CODE_ROW,
    HELP_COLUMN = 30,
};

/* ---- values ---- */

/* The range of a row as text, "" if any number is allowed. */
static const char *range_text(const Option *row, char *out, size_t capacity)
{
    out[0] = '\0';
    if (row->min != row->max) {
        snprintf(out, capacity, " from %.10g to %.10g", row->min, row->max);
    }
    return out;
}

static bool in_range(const Option *row, f64 value)
{
    return row->min == row->max || (value >= row->min && value <= row->max);
}

static bool parse_whole(const char *text, u64 max, u64 *out, char **end)
{
    if (text[0] < '0' || text[0] > '9') {
        return false; /* strtoull would accept "-1" and " 1" */
    }
    errno = 0;
    unsigned long long value = strtoull(text, end, 10);
    *out = value;
    return errno == 0 && value <= max;
}

static bool parse_size(const char *text, u32 size[2])
{
    char *end;
    u64 width, height;
    if (!parse_whole(text, UINT32_MAX, &width, &end) || *end != 'x' ||
        !parse_whole(end + 1, UINT32_MAX, &height, &end) || *end != '\0') {
        return false;
    }
    size[0] = (u32)width;
    size[1] = (u32)height;
    return true;
}

static int set_size(const Option *row, const char *what, const char *text, ErrorText *error)
{
    u32 size[2];
    char range[64];
    if (!parse_size(text, size) || !in_range(row, size[0]) || !in_range(row, size[1])) {
        return error_set(error, ERROR_USAGE, "%s: '%s' is not a size; give WIDTHxHEIGHT, each%s%s",
                         what, text, range_text(row, range, sizeof range),
                         row->min == row->max ? " a whole number" : "");
    }
    memcpy(row->value, size, sizeof size);
    return 0;
}

static int set_whole(const Option *row, const char *what, const char *text, ErrorText *error)
{
    u64 value;
    char *end;
    char range[64];
    u64 max = row->kind == OPTION_U32 ? UINT32_MAX : UINT64_MAX;
    if (!parse_whole(text, max, &value, &end) || *end != '\0' || !in_range(row, (f64)value)) {
        return error_set(error, ERROR_USAGE, "%s: '%s' is invalid; give a whole number%s", what,
                         text, range_text(row, range, sizeof range));
    }
    if (row->kind == OPTION_U32) {
        *(u32 *)row->value = (u32)value;
    } else {
        *(u64 *)row->value = value;
    }
    return 0;
}

static int set_number(const Option *row, const char *what, const char *text, ErrorText *error)
{
    char *end;
    char range[64];
    f64 value = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value) || !in_range(row, value)) {
        return error_set(error, ERROR_USAGE, "%s: '%s' is invalid; give a number%s", what, text,
                         range_text(row, range, sizeof range));
    }
    *(f64 *)row->value = value;
    return 0;
}

static int add_line(const Option *row, const char *what, const char *text, ErrorText *error)
{
    char *lines = row->value;
    size_t used = strlen(lines), length = strlen(text);
    if (used + 1 + length + 1 > OPTION_LINES_BYTES) {
        return error_set(error, ERROR_USAGE, "%s: more than %d bytes in all", what,
                         OPTION_LINES_BYTES - 1);
    }
    if (text[0] == '\0' || strchr(text, '\n') != NULL) {
        return error_set(error, ERROR_USAGE, "%s: give one line that is not empty", what);
    }
    snprintf(lines + used, OPTION_LINES_BYTES - used, "%s%s", used > 0 ? "\n" : "", text);
    return 0;
}

/* `text` is NULL only for flags on the command line. `what` names the row in errors. */
static int set_value(const Option *row, const char *what, const char *text, ErrorText *error)
{
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->value = true;
        return 0;
    case OPTION_U32:
    case OPTION_U64:
        return set_whole(row, what, text, error);
    case OPTION_F64:
        return set_number(row, what, text, error);
    case OPTION_STRING:
        *(const char **)row->value = text;
        return 0;
    case OPTION_SIZE:
        return set_size(row, what, text, error);
    case OPTION_LINES:
        return add_line(row, what, text, error);
    }
    return error_set(error, ERROR_USAGE, "%s: row of unknown kind", what);
}

/* ---- names ---- */

static const Option *find_row(const OptionTable *table, const char *name)
{
    for (u32 i = 0; i < table->count; i++) {
        if (strcmp(table->rows[i].name, name) == 0) {
            return &table->rows[i];
        }
    }
    return NULL;
}

/* Edit distance between a and b (Levenshtein 1966), names up to 31 bytes. */
static u32 name_distance(const char *a, const char *b)
{
    u32 row[32];
    u32 length_b = u32_min((u32)strlen(b), 31);
    for (u32 j = 0; j <= length_b; j++) {
        row[j] = j;
    }
    for (u32 i = 0; a[i] != '\0'; i++) {
        u32 diagonal = row[0];
        row[0] = i + 1;
        for (u32 j = 0; j < length_b; j++) {
            u32 replace = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = u32_min(replace, u32_min(diagonal, row[j]) + 1);
        }
    }
    return row[length_b];
}

/* The row whose name is most similar to `name`, or NULL. */
static const char *nearest_name(const OptionTable *table, const char *name)
{
    const char *nearest = NULL;
    u32 best = 1 + (u32)strlen(name) / 2;
    for (u32 i = 0; i < table->count; i++) {
        u32 distance = name_distance(name, table->rows[i].name);
        if (distance < best) {
            best = distance;
            nearest = table->rows[i].name;
        }
    }
    return nearest;
}

static int unknown_option(const OptionTable *table, const char *argument, ErrorText *error)
{
    if (strncmp(argument, "--", 2) != 0 || argument[2] == '\0') {
        return error_set(error, ERROR_USAGE, "unknown option '%s'; see %s --help", argument,
                         table->program);
    }
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 2, "="), argument + 2);
    const char *nearest = nearest_name(table, name);
    if (nearest != NULL) {
        return error_set(error, ERROR_USAGE, "unknown option '--%s'; did you mean --%s?", name,
                         nearest);
    }
    return error_set(error, ERROR_USAGE, "unknown option '--%s'; see %s --help", name,
                     table->program);
}

/* ---- command line ---- */

typedef struct Getopt {
    char letters[2 * OPTION_ROWS_MAX + 8];
    struct option longs[OPTION_ROWS_MAX + 3];
} Getopt;

static void getopt_tables(const OptionTable *table, Getopt *g)
{
    size_t used = 0;
    g->letters[used++] = ':'; /* distinguishes a missing argument from an unknown option */
    bool help_taken = false;
    for (u32 i = 0; i < table->count; i++) {
        const Option *row = &table->rows[i];
        bool argument = row->kind != OPTION_FLAG;
        g->longs[i] = (struct option){.name = row->name,
                                      .has_arg = argument ? required_argument : no_argument,
                                      .val = CODE_ROW + (int)i};
        if (row->letter != 0) {
            g->letters[used++] = row->letter;
            if (argument) {
                g->letters[used++] = ':';
            }
            help_taken |= row->letter == 'h';
        }
    }
    if (!help_taken) {
        g->letters[used++] = 'h';
    }
    g->letters[used] = '\0';
    g->longs[table->count] = (struct option){.name = "help", .val = CODE_HELP};
    g->longs[table->count + 1] = (struct option){.name = "version", .val = CODE_VERSION};
    g->longs[table->count + 2] = (struct option){0};
}

/* Index of the row for a getopt code, or −1. */
static int row_of_code(const OptionTable *table, int code)
{
    if (code >= CODE_ROW) {
        return code - CODE_ROW;
    }
    for (u32 i = 0; i < table->count; i++) {
        if (table->rows[i].letter != 0 && table->rows[i].letter == code) {
            return (int)i;
        }
    }
    return -1;
}

static int missing_argument(const OptionTable *table, int code, ErrorText *error)
{
    int index = row_of_code(table, code);
    const Option *row = &table->rows[index < 0 ? 0 : index];
    return error_set(error, ERROR_USAGE, "--%s needs an argument: --%s %s", row->name, row->name,
                     row->argument != NULL ? row->argument : "VALUE");
}

/* Handles one result of getopt_long: 0, 1 for --help and --version, or a negative Error.
 * `argument` is the element of argv that contained the option. */
static int take_option(const OptionTable *table, int code, const char *argument, ErrorText *error)
{
    if (code == ':') {
        return missing_argument(table, optopt, error);
    }
    if (code == '?' && optopt >= CODE_HELP) {
        return error_set(error, ERROR_USAGE, "'%s': this option takes no argument", argument);
    }
    if (code == '?' && optopt != 0) {
        char letter[3] = {'-', (char)optopt, '\0'};
        return unknown_option(table, letter, error);
    }
    if (code == '?') {
        return unknown_option(table, argument, error);
    }
    int index = row_of_code(table, code);
    if (code == CODE_VERSION) {
        printf("%s %s\n", table->program, PLENUM_VERSION);
        return 1;
    }
    if (index < 0) {
        options_print_help(table);
        return 1;
    }
    char what[64];
    snprintf(what, sizeof what, "--%s", table->rows[index].name);
    if (table->state != NULL) {
        table->state->set[index] = true;
    }
    return set_value(&table->rows[index], what, optarg, error);
}

static int check_operands(const OptionTable *table, u32 count, char **operands, ErrorText *error)
{
    if (count < table->operands_min) {
        return error_set(error, ERROR_USAGE, "too few arguments; usage: %s %s", table->program,
                         table->synopsis);
    }
    if (count > table->operands_max) {
        return error_set(error, ERROR_USAGE, "unexpected argument '%s'; usage: %s %s",
                         operands[table->operands_max], table->program, table->synopsis);
    }
    return 0;
}

int options_parse(const OptionTable *table, int argc, char **argv, char ***operands,
                  u32 *operand_count, ErrorText *error)
{
    CHECK(table->count <= OPTION_ROWS_MAX);
    Getopt g;
    getopt_tables(table, &g);
    opterr = 0;
    optind = 0; /* resets getopt's state */
    for (;;) {
        int at = optind == 0 ? 1 : optind;
        int code = getopt_long(argc, argv, g.letters, g.longs, NULL);
        if (code == -1) {
            break;
        }
        /* getopt moves operands behind options, so the option is just before optind, unless it
         * is not the last letter of a group. */
        const char *argument = optind > 1 ? argv[optind - 1] : argv[at];
        int result = take_option(table, code, argument, error);
        if (result != 0) {
            return result;
        }
    }
    *operands = argv + optind;
    *operand_count = (u32)(argc - optind);
    return check_operands(table, *operand_count, *operands, error);
}

/* ---- INI file ---- */

typedef struct IniRead {
    const OptionTable *table;
    const bool *set;
    const char *path;
    FILE *file;
    u32 line;
    bool seen[OPTION_ROWS_MAX];
    ErrorText *error;
    int result;
} IniRead;

/* inih does not pass a line number to its handler, so lines are counted here. */
static char *read_line(char *line, int bytes, void *context)
{
    IniRead *read = context;
    char *text = fgets(line, bytes, read->file);
    read->line += text != NULL;
    return text;
}

static int set_flag(const Option *row, const char *what, const char *text, ErrorText *error)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (u32 i = 0; i < PL_COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0) {
            *(bool *)row->value = (i & 1u) != 0;
            return 0;
        }
    }
    return error_set(error, ERROR_USAGE, "%s: '%s' is invalid; give yes or no", what, text);
}

static int set_from_ini(IniRead *read, u32 index, const char *value)
{
    const Option *row = &read->table->rows[index];
    char what[256];
    snprintf(what, sizeof what, "%s:%u: %s", read->path, read->line, row->name);
    if (read->seen[index] && row->kind != OPTION_LINES) {
        return error_set(read->error, ERROR_USAGE, "%s: given twice; keep one", what);
    }
    read->seen[index] = true;
    if (row->kind == OPTION_STRING && *(const char *const *)row->value == read->path) {
        return error_set(read->error, ERROR_USAGE, "%s: only on the command line", what);
    }
    if (read->set != NULL && read->set[index]) {
        return 0;
    }
    if (row->kind == OPTION_FLAG) {
        return set_flag(row, what, value, read->error);
    }
    if (row->kind != OPTION_STRING) {
        return set_value(row, what, value, read->error);
    }
    OptionState *state = read->table->state;
    CHECK(state != NULL);
    char *copy = strdup(value);
    if (copy == NULL) {
        return error_set(read->error, ERROR_MEMORY, "%s: out of memory", what);
    }
    free(state->text[index]);
    state->text[index] = copy;
    return set_value(row, what, copy, read->error);
}

/* inih's handler: 1 continues, 0 is an error. */
static int take_pair(void *context, const char *section, const char *name, const char *value)
{
    IniRead *read = context;
    const OptionTable *table = read->table;
    if (read->result != 0) {
        return 0;
    }
    const Option *row = find_row(table, name);
    if (section[0] != '\0' && strcmp(section, table->program) != 0) {
        read->result =
            error_set(read->error, ERROR_USAGE, "%s:%u: unknown section [%s]; use [%s] or none",
                      read->path, read->line, section, table->program);
    } else if (row == NULL) {
        const char *nearest = nearest_name(table, name);
        read->result = error_set(
            read->error, ERROR_USAGE, "%s:%u: unknown option '%s'; %s%s", read->path, read->line,
            name, nearest != NULL ? "did you mean " : "see --help", nearest != NULL ? nearest : "");
    } else {
        read->result = set_from_ini(read, (u32)(row - table->rows), value);
    }
    return read->result == 0;
}

int options_read_ini(const OptionTable *table, const char *path, const bool *set, ErrorText *error)
{
    int fd = file_open(path, INI_BYTES_MAX, error);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (file == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return fd < 0 ? fd : error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    if (set == NULL && table->state != NULL) {
        set = table->state->set;
    }
    IniRead read = {.table = table, .set = set, .path = path, .file = file, .error = error};
    int line = ini_parse_stream(read_line, &read, take_pair, &read);
    fclose(file);
    if (read.result != 0) {
        return read.result;
    }
    if (line != 0) {
        return error_set(error, ERROR_FORMAT,
                         "%s:%d: not a line of an INI file; write NAME = VALUE", path, line);
    }
    if (table->state != NULL) {
        for (u32 i = 0; i < table->count; i++) {
            table->state->set[i] |= read.seen[i];
        }
    }
    return 0;
}

void options_finish(OptionState *state)
{
    for (u32 i = 0; i < OPTION_ROWS_MAX; i++) {
        free(state->text[i]);
        state->text[i] = NULL;
    }
}

/* ---- help ---- */

static void print_default(const Option *row)
{
    switch (row->kind) {
    case OPTION_FLAG:
        break;
    case OPTION_U32:
        if (*(const u32 *)row->value != UINT32_MAX) { /* otherwise no default */
            printf(" (%u)", *(const u32 *)row->value);
        }
        break;
    case OPTION_U64:
        if (*(const u64 *)row->value != UINT64_MAX) {
            printf(" (%llu)", (unsigned long long)*(const u64 *)row->value);
        }
        break;
    case OPTION_F64:
        printf(" (%g)", *(const f64 *)row->value);
        break;
    case OPTION_STRING:
        if (*(const char *const *)row->value != NULL) {
            printf(" (%s)", *(const char *const *)row->value);
        }
        break;
    case OPTION_SIZE:
        printf(" (%ux%u)", ((const u32 *)row->value)[0], ((const u32 *)row->value)[1]);
        break;
    case OPTION_LINES:
        break;
    }
}

static void print_name(char letter, const char *name, const char *argument)
{
    char text[80];
    char short_name[5] = "    ";
    if (letter != 0) {
        snprintf(short_name, sizeof short_name, "-%c, ", letter);
    }
    int used = snprintf(text, sizeof text, "  %s--%s%s%s", short_name, name,
                        argument != NULL ? " " : "", argument != NULL ? argument : "");
    printf("%s", text);
    if (used >= HELP_COLUMN) {
        printf("\n");
        used = 0;
    }
    printf("%*s", HELP_COLUMN - used, "");
}

void options_print_help(const OptionTable *table)
{
    printf("usage: %s %s\n", table->program, table->synopsis);
    if (table->about != NULL) {
        printf("\n%s\n", table->about);
    }
    printf("\noptions (defaults in brackets):\n");
    bool help_taken = false;
    for (u32 i = 0; i < table->count; i++) {
        const Option *row = &table->rows[i];
        help_taken |= row->letter == 'h';
        print_name(row->letter, row->name, row->argument);
        printf("%s", row->help);
        print_default(row);
        printf("\n");
    }
    print_name(help_taken ? 0 : 'h', "help", NULL);
    printf("show this help\n");
    print_name(0, "version", NULL);
    printf("show the version\n");
}
