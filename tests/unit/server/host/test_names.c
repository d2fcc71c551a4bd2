/* test_names.c: names that look alike, and invisible characters. */
#include "server/host/names.h"
#include "shared/base/text.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static Names *begin(void)
{
    ErrorText error = {0};
    Names *names = names_create(&error);
    if (names == NULL) {
        fail_msg("%s", error.text);
    }
    return names;
}

static void test_clean(void **state)
{
    PL_UNUSED(state);
    static const char *const rows[][2] = {
        {"Ada", "Ada"},
        {"  Ada \t Lovelace ", "Ada Lovelace"},
        {"A\xE2\x80\x8B"
         "da\xEF\xBB\xBF",
         "Ada"}, /* zero width space, byte order mark */
        {"\xE2\x80\xAE"
         "Ada",
         "Ada"}, /* right-to-left override */
        {"A\xEF\xB8\x8F"
         "da",
         "Ada"},                   /* variation selector */
        {"\xE3\x85\xA4", "guest"}, /* Hangul filler */
        {"\xEE\x80\x80", "guest"}, /* private use */
        {"", "guest"},
        {" ", "guest"},
        {"#12", "12"},
        {"/kick", "kick"},
        {"e\xCC\x81", "\xC3\xA9"}, /* composed */
        {"Z\xCC\x80\xCC\x81\xCC\x82\xCC\x83\xCC\x84", "Z\xCC\x80\xCC\x81"},
        {"\xD0\x90\xD0\xBD\xD0\xBD\xD0\xB0", "\xD0\x90\xD0\xBD\xD0\xBD\xD0\xB0"},
        {"\xE6\x9D\x8E \xF0\x9F\x98\x80", "\xE6\x9D\x8E \xF0\x9F\x98\x80"},
        {"0123456789012345678901234567890123456789", "012345678901234567890123456789012345678"},
    };
    Names *names = begin();
    char out[NAME_CLEAN_BYTES];
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        name_clean(names, rows[i][0], out);
        assert_string_equal(out, rows[i][1]);
    }
    names_destroy(names);
}

static void test_looks(void **state)
{
    PL_UNUSED(state);
    static const char *const alike[][2] = {
        {"Ada", "ada"},
        {"Ada", "\xD0\x90"
                "da"}, /* Cyrillic A */
        {"Ada", "A d a"},
        {"Ada", "\xEF\xBC\xA1\xEF\xBD\x84\xEF\xBD\x81"}, /* full width */
        {"Bill", "Bi1l"},
        {"Bob", "B0b"},
        {"Rossi", "Ros\xC5\xBFi"}, /* long s */
        {"modern", "rnodern"},
        {"scope", "\xD1\x95\xD1\x81\xD0\xBE\xD1\x80\xD0\xB5"}, /* all Cyrillic */
        {"\xC3\xA9va", "e\xCC\x81va"},
    };
    static const char *const apart[][2] = {
        {"Ada", "Adam"},
        {"Ada", "Ada 2"},
        {"Ada", "Eda"},
        {"Ada", "\xC3\x81"
                "da"}, /* an accent is visible */
        {"\xE6\x9D\x8E", "\xE7\x8E\x8B"},
    };
    Names *names = begin();
    for (u32 i = 0; i < PL_COUNT(alike); i++) {
        if (name_skeleton(names, alike[i][0]) != name_skeleton(names, alike[i][1])) {
            fail_msg("%s and %s look alike", alike[i][0], alike[i][1]);
        }
    }
    for (u32 i = 0; i < PL_COUNT(apart); i++) {
        assert_true(name_skeleton(names, apart[i][0]) != name_skeleton(names, apart[i][1]));
    }
    names_destroy(names);
}

/* Any bytes give a name that can be sent. */
static void test_any(void **state)
{
    PL_UNUSED(state);
    Names *names = begin();
    for (u32 i = 0; i < 20000; i++) {
        char wanted[NAME_BYTES_MAX] = {0}, out[NAME_CLEAN_BYTES];
        u32 bytes = (u32)(random_u64(1, i) % (NAME_BYTES_MAX - 1));
        for (u32 j = 0; j < bytes; j++) {
            u64 r = random_u64(2, (u64)i * NAME_BYTES_MAX + j);
            wanted[j] = (char)(r % 3 == 0 ? 0x80 | r >> 8 : r >> 8);
        }
        name_clean(names, wanted, out);
        assert_true(out[0] != '\0' && strlen(out) < NAME_CLEAN_BYTES);
        assert_true(text_is_clean(out, strlen(out)));
        (void)name_skeleton(names, wanted);
    }
    names_destroy(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_looks),
        cmocka_unit_test(test_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
