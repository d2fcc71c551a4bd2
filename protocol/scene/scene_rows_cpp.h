// scene_rows_cpp.h: expands each row (shared/rows/open.def) to code that reads an option from a
// table `in` of a scene, checks it with the functions of a Builder and writes the member of `out`,
// while `good` and ROW_WHEN (by default always). Included before each table of rows, within a
// member function.
// Layer: protocol/scene, private.
#ifndef ROW_WHEN
#define ROW_WHEN true
#endif
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    static_assert((most) <= (bears), #key ": solvers bear what a scene may say");                  \
    if (good && ROW_WHEN && in->key() == (also)) {                                                 \
        out->member = (also) * (scale);                                                            \
    } else if (good && ROW_WHEN) {                                                                 \
        good = number(at, #key, in->key(), least, most, &out->member);                             \
        out->member *= (scale);                                                                    \
    }
#define ROW_WHOLE(key, member, initial, least, most, doc)                                          \
    good = good && (!(ROW_WHEN) || integer(at, #key, in->key(), least, most, &out->member));
#define ROW_BITS(key, member, initial, least, doc)                                                 \
    good = good && integer(at, #key, in->key(), least, UINT32_MAX, &out->member);
#define ROW_FLAG(key, member, initial, doc) out->member = in->key();
#define ROW_CHOICE(key, member, Type, names, initial, doc)                                         \
    good = good && choice(at, #key, (u32)in->key(), names, 0, PL_COUNT(names));                    \
    out->member = good ? (Type)in->key() : (Type)0;
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    static_assert((most) <= (bears), #key ": solvers bear what a scene may say");                  \
    good = good && vector(at, #key, in->key(), vec3_zero(), most, &out->member);
#define ROW_NUMBERS(key, member, unit, number, least, most, doc)                                   \
    good = good && (!(ROW_WHEN) ||                                                                 \
                    floats(at, #key, in->key(), {number, number, least, most}, out->member));
#define ROW_COUNTS(key, member, fewest, number, least, most, doc)                                  \
    good = good && (!(ROW_WHEN) ||                                                                 \
                    uints(at, #key, in->key(), {fewest, number, least, most}, out->member));
#define ROW_BOX(key, member, initial, doc)                                                         \
    good = good && (!(ROW_WHEN) || in->key() == nullptr || box(at, #key, in->key(), &out->member));
#define ROW_ORIENTATION(member, frame)                                                             \
    good = good && orientation(at, in->orientation(), in->rotation(), &out->member);
#define ROW_POINTS(key, member, fewest, most, initial, doc)                                        \
    if (good && (ROW_WHEN) && (in->key() != nullptr || strcmp(initial, "required") == 0)) {        \
        good = points(at, #key, in->key(), fewest, most, &out->member);                            \
    }
#define ROW_TRIANGLES(key, member, most, doc)                                                      \
    good = good && (!(ROW_WHEN) || triangles(at, #key, in->key(), most, &out->member));
