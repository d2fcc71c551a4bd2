/* option_check_rows.h: expands each row (shared/rows/open.def) to a check of a member of `def`
 * (option.h); `result` becomes the first error, with its text in `error`. Included before each
 * table of rows, within a function. Layer: server/physics, private. */
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    if (result == ERROR_OK) {                                                                      \
        const OptionRange range = {#member,           (scale) == 1.0f ? unit : "",                 \
                                   def->member,       (also) * (scale),                            \
                                   (least) * (scale), (bears) * (scale)};                          \
        result = option_check_number(&range, error);                                               \
    }
#define ROW_WHOLE(key, member, initial, least, most, doc)                                          \
    result = result != ERROR_OK ? result                                                           \
                                : option_check_whole(#member, def->member, least, most, error);
#define ROW_CHOICE(key, member, Type, names, initial, doc)                                         \
    result = result != ERROR_OK                                                                    \
                 ? result                                                                          \
                 : option_check_whole(#member, (u32)def->member, 0, PL_COUNT(names) - 1, error);
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    result = result != ERROR_OK ? result                                                           \
                                : option_check_vector(#member, unit, def->member, bears, error);
