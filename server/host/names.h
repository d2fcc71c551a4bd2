/*
 * names.h: names of users as shown to all: no invisible, private or unassigned characters, no
 * stacks of combining marks, and no two that look alike. Two names look alike if their skeletons
 * are equal (Unicode TR39, section 4: confusable characters of all scripts, after NFKC and folding
 * of case), blanks aside. The tables are those of ICU.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_NAMES_H
#define PLENUM_SERVER_HOST_NAMES_H

#include "shared/base/error.h"
#include "shared/base/limits.h"

enum {
    /* Of a clean name: a number may follow. */
    NAME_CLEAN_BYTES = NAME_BYTES_MAX - 8
};

typedef struct Names Names;

/* NULL with a text: ICU's data is not installed, or out of memory. */
Names *names_create(ErrorText *error);
void names_destroy(Names *names); /* NULL is fine */
/* The name to be shown for a wanted one (valid UTF-8 or not); "guest" if nothing is left. */
void name_clean(Names *names, const char *wanted, char out[NAME_CLEAN_BYTES]);
/* Equal for names that look alike. */
u64 name_skeleton(Names *names, const char *name);

#endif
