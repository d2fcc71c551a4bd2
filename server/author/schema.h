/*
 * schema.h: the tables and enums of scene.fbs, for the test that compares them with the rows.
 * Layer: server/author. Implemented by schema.cpp (FlatBuffers).
 */
#ifndef PLENUM_SERVER_AUTHOR_SCHEMA_H
#define PLENUM_SERVER_AUTHOR_SCHEMA_H

#include "shared/base/base.h"

PL_BEGIN_C

/* A field of a table, or a value of an enum (whose number is `initial`). Borrowed. */
typedef struct SchemaField {
    const char *name;
    const char *type;    /* of a table's field: "bool", "enum", "number" or "other" */
    const char *initial; /* as text, "0" if the schema has no default */
} SchemaField;

/* Calls back for each field in order. False: no such table or enum. */
bool schema_walk(const char *name, void (*field)(void *context, const SchemaField *field),
                 void *context);

PL_END_C

#endif
