/*
 * schema.h: what scene.fbs says of its tables and enums, for the test that holds it to the rows.
 * Layer: server/author. Implemented by schema.cpp (FlatBuffers).
 */
#ifndef PLENUM_SERVER_AUTHOR_SCHEMA_H
#define PLENUM_SERVER_AUTHOR_SCHEMA_H

#include "shared/base/base.h"

PL_BEGIN_C

/* A field of a table, or a value of an enum (whose number is `initial`). Borrowed. */
typedef struct SchemaField {
    const char *name;
    const char *type;    /* of a table's: "bool", "enum", "number" or "other" */
    const char *initial; /* as text, "0" where the schema says none */
} SchemaField;

/* Calls back for each field in order. False: there is no such table or enum. */
bool schema_walk(const char *name, void (*field)(void *context, const SchemaField *field),
                 void *context);

PL_END_C

#endif
