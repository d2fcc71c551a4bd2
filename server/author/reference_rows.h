/* reference_rows.h: expands each row (shared/rows/open.def) to a ReferenceRow. Included before
 * each table of rows, within the initializer of an array. Layer: server/author, private to
 * reference.c. */
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    {REFERENCE_NUMBER, #key, unit, initial, also, least, most, 0, 0, NULL, NULL, 0, doc},
#define ROW_WHOLE(key, member, initial, least, most, doc)                                          \
    {REFERENCE_WHOLE, #key, "", initial, least, least, most, 0, 0, NULL, NULL, 0, doc},
#define ROW_BITS(key, member, initial, least, doc)                                                 \
    {REFERENCE_BITS, #key, "", initial, least, least, UINT32_MAX, 0, 0, NULL, NULL, 0, doc},
#define ROW_FLAG(key, member, initial, doc)                                                        \
    {REFERENCE_FLAG, #key, "", initial, 0, 0, 1, 0, 0, NULL, NULL, 0, doc},
#define ROW_CHOICE(key, member, Type, names, initial, doc)                                         \
    {REFERENCE_CHOICE,                                                                             \
     #key,                                                                                         \
     "",                                                                                           \
     initial,                                                                                      \
     0,                                                                                            \
     0,                                                                                            \
     PL_COUNT(Type##_choices) - 1,                                                                 \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     Type##_choices,                                                                               \
     PL_COUNT(Type##_choices),                                                                     \
     doc},
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    {REFERENCE_VECTOR, #key, unit, 0, 0, -(most), most, 0, 0, NULL, NULL, 0, doc},
#define ROW_OTHER(key, type, initial, doc)                                                         \
    {REFERENCE_OTHER, #key, type, 0, 0, 0, 0, 0, 0, initial, NULL, 0, doc},
#define ROW_NUMBERS(key, member, unit, number, least, most, doc)                                   \
    {REFERENCE_NUMBERS, #key, unit, 0, least, least, most, number, number, NULL, NULL, 0, doc},
#define ROW_COUNTS(key, member, fewest, number, least, most, doc)                                  \
    {REFERENCE_COUNTS, #key, "", 0, least, least, most, fewest, number, NULL, NULL, 0, doc},
#define ROW_BOX(key, member, initial, doc)                                                         \
    {REFERENCE_NUMBERS, #key, "m", 0,  0, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, 6, 6,           \
     initial,           NULL, 0,   doc},
#define ROW_ORIENTATION(member, frame)                                                             \
    {REFERENCE_OTHER,  "orientation", "[w, x, y, z]", 0, 0, 0, 0, 0, 0, "[1, 0, 0, 0]", NULL, 0,   \
     "unit quaternion"},                                                                           \
        {REFERENCE_NUMBERS,                                                                        \
         "rotation",                                                                               \
         "degrees",                                                                                \
         0,                                                                                        \
         0,                                                                                        \
         -360,                                                                                     \
         360,                                                                                      \
         3,                                                                                        \
         3,                                                                                        \
         "[0, 0, 0]",                                                                              \
         NULL,                                                                                     \
         0,                                                                                        \
         "instead of orientation: angles about the " frame "'s x, then y, then z axis"},
#define ROW_POINTS(key, member, fewest, most, initial, doc)                                        \
    {REFERENCE_POINTS, #key, "m", 0,  0, -WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, fewest, most,    \
     initial,          NULL, 0,   doc},
#define ROW_TRIANGLES(key, member, most, doc)                                                      \
    {REFERENCE_OTHER, #key, "list of [a, b, c]", 0, 0, 0, 0, 0, most, "as vertices", NULL, 0, doc},
#define ROW_FOR(kinds) {REFERENCE_FOR, #kinds, "", 0, 0, 0, 0, 0, 0, NULL, NULL, 0, ""},
