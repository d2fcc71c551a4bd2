// scene_given_cpp.h: expands each row (shared/rows/open.def) to code that notes in `fields` (a
// GivenFields) whether the option is given in `in`, and whether it applies to the kind whose bit is
// `kind_bit`. Included before a table whose rows are for kinds, within a function.
// Layer: protocol/scene, private.
#define ROW_FOR(kinds) applies = ((kinds)&kind_bit) != 0;
#define NOTE_GIVEN(key, initial)                                                                   \
    if (is_given(in->key(), initial)) {                                                            \
        fields.add(#key, applies);                                                                 \
    }
#define ROW_NUMBER(key, member, unit, scale, initial, ...) NOTE_GIVEN(key, initial)
#define ROW_WHOLE(key, member, initial, ...)               NOTE_GIVEN(key, initial)
#define ROW_FLAG(key, member, initial, doc)                NOTE_GIVEN(key, initial)
#define ROW_NUMBERS(key, member, unit, number, ...)        NOTE_GIVEN(key, 0)
#define ROW_COUNTS(key, member, fewest, number, ...)       NOTE_GIVEN(key, 0)
#define ROW_POINTS(key, member, fewest, most, ...)         NOTE_GIVEN(key, 0)
#define ROW_TRIANGLES(key, member, most, doc)              NOTE_GIVEN(key, 0)
#define ROW_OTHER(key, type, initial, doc)                 NOTE_GIVEN(key, 0)
