/* option_default_rows.h: expands each row (shared/rows/open.def) to an assignment of its default to
 * a member of `def`. Included before each table of rows, within a function.
 * Layer: server/physics, private. */
#define ROW_NUMBER(key, member, unit, scale, initial, ...) def.member = (initial) * (scale);
#define ROW_WHOLE(key, member, initial, ...)               def.member = initial;
#define ROW_BITS(key, member, initial, ...)                def.member = initial;
#define ROW_FLAG(key, member, initial, doc)                def.member = initial;
#define ROW_CHOICE(key, member, Type, names, initial, doc) def.member = initial;
