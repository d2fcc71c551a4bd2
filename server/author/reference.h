/*
 * reference.h: the options of a scene as data, for documentation: from the same rows (shared/rows)
 * that define their defaults and checks. plenum-tool schema prints them, SCENES.md contains the
 * output, tests compare scene.fbs with them.
 * Layer: server/author (includes shared and protocol only).
 */
#ifndef PLENUM_SERVER_AUTHOR_REFERENCE_H
#define PLENUM_SERVER_AUTHOR_REFERENCE_H

#include "shared/base/base.h"

#include <stdio.h>

typedef enum ReferenceKind {
    REFERENCE_NUMBER,
    REFERENCE_WHOLE,
    REFERENCE_BITS,
    REFERENCE_FLAG,
    REFERENCE_CHOICE,
    REFERENCE_VECTOR,
    REFERENCE_NUMBERS,
    REFERENCE_COUNTS,
    REFERENCE_POINTS,
    REFERENCE_FOR, /* no option: the next rows are for the kinds named by `key` */
    REFERENCE_OTHER
} ReferenceKind;

/* A choice's name in JSON, its number in scene bytes, its description. */
typedef struct ReferenceChoice {
    const char *key;
    u32 number;
    const char *doc;
} ReferenceChoice;

typedef struct ReferenceRow {
    ReferenceKind kind;
    const char *key;  /* in JSON and in scene.fbs */
    const char *unit; /* OTHER: its type */
    /* In `unit`. NUMBER, WHOLE, BITS: least to most, or `also`, and required if `initial` is not
     * among these; VECTOR: ±most; NUMBERS, COUNTS, POINTS: each from least to most; CHOICE, FLAG:
     * initial is the number. */
    f64 initial, also, least, most;
    u32 fewest, number;             /* of NUMBERS, COUNTS, POINTS: how many */
    const char *initial_text;       /* of OTHER, POINTS and NUMBERS that may be absent, else NULL */
    const ReferenceChoice *choices; /* [choice_count], of CHOICE */
    u32 choice_count;
    const char *doc;
} ReferenceRow;

typedef struct ReferenceTable {
    const char *name;  /* of the table in scene.fbs */
    const char *list;  /* field that contains them, of Scene or of its `within`; "": it is Scene */
    const char *least; /* JSON of the minimal object of this table, without its closing brace */
    const ReferenceRow *rows;
    u32 count;
    bool single;              /* the field is one such object, not a list */
    const char *within;       /* field of Scene with entries that have `list`; NULL: Scene has it */
    const char *within_least; /* JSON of the minimal such entry, as `least` */
    const char *deeper;       /* object of that entry which has `list`; NULL: the entry has it */
    const char *deeper_least; /* JSON of the minimal such object, as `least` */
    const char *title;        /* NULL: of list and within */
} ReferenceTable;

/* An enum of scene.fbs. */
typedef struct ReferenceEnum {
    const char *name;
    const ReferenceChoice *choices;
    u32 count;
} ReferenceEnum;

/* All tables and enumerations; static. */
const ReferenceTable *reference_tables(u32 *count);
const ReferenceEnum *reference_enums(u32 *count);
/* Whether the option must be given. */
bool reference_is_required(const ReferenceRow *row);
/* Prints everything as Markdown tables. */
void reference_print(FILE *out);

#endif
