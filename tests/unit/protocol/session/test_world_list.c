/* test_world_list.c: worlds as JSON: both ways, and what strangers may send. */
#include "protocol/session/world_list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static WorldNotice notice_make(u32 number)
{
    WorldNotice notice = {.port = (u16)(7000 + number),
                          .users = (u16)number,
                          .places = 64,
                          .flags = number % 16,
                          .host = 0x0200000A,
                          .scene = "a \"quoted\" scene\\",
                          .version = "0.2.0"};
    snprintf(notice.name, sizeof notice.name, "world %u ä", number);
    memset(notice.key, (int)number, sizeof notice.key);
    return notice;
}

static void test_one(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < 16; i++) {
        ErrorText error = {0};
        WorldNotice notice = notice_make(i), got;
        char *text = world_text(&notice);
        assert_non_null(text);
        assert_int_equal(world_read(text, strlen(text), &got, &error), 0);
        assert_memory_equal(&got, &notice, sizeof got);
        /* Every part of it is needed, up to the last byte. */
        for (size_t bytes = 0; bytes < strlen(text); bytes++) {
            assert_int_equal(world_read(text, bytes, &got, &error), ERROR_FORMAT);
        }
        free(text);
    }
}

#define KEY "\"key\":\"00000000000000000000000000000000000000000000000000000000000000ff\","
#define END "\"name\":\"n\",\"scene\":\"s\",\"version\":\"v\",\"users\":0,\"places\":1"

static void test_hostile(void **state)
{
    PL_UNUSED(state);
    static const char *const bad[] = {
        "",
        "[]",
        "null",
        "{}",
        "{" KEY END "}",
        "{" KEY "\"address\":\"1.2.3.4\"," END "}",
        "{" KEY "\"address\":\"1.2.3.4:0\"," END "}",
        "{" KEY "\"address\":\"1.2.3.4:65536\"," END "}",
        "{" KEY "\"address\":\"example.org:1\"," END "}",
        "{" KEY "\"address\":\"1.2.3.4:7340\"," KEY END "}", /* a member twice */
        "{\"key\":\"00\",\"address\":\"1.2.3.4:7340\"," END "}",
        "{" KEY "\"address\":\"1.2.3.4:7340\"," END ",\"password\":1}",
        "{" KEY "\"address\":\"1.2.3.4:7340\",\"name\":\"n\",\"scene\":\"s\",\"version\":\"v\","
        "\"users\":-1,\"places\":1}",
        "{" KEY "\"address\":\"1.2.3.4:7340\",\"name\":\"n\",\"scene\":\"s\",\"version\":\"v\","
        "\"users\":0,\"places\":65536}",
        "{" KEY "\"address\":\"1.2.3.4:7340\",\"name\":7,\"scene\":\"s\",\"version\":\"v\","
        "\"users\":0,\"places\":1}",
        "{" KEY "\"address\":\"1.2.3.4:7340\",\"name\":\"0123456789012345678901234567890123456789"
        "01234567\",\"scene\":\"s\",\"version\":\"v\",\"users\":0,\"places\":1}",
        "{" KEY "\"address\":\"1.2.3.4:7340\",\"name\":\"\xFF\",\"scene\":\"s\",\"version\":\"v\","
        "\"users\":0,\"places\":1}",
    };
    WorldNotice got;
    ErrorText error = {0};
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        if (world_read(bad[i], strlen(bad[i]), &got, &error) != ERROR_FORMAT) {
            fail_msg("taken: %s", bad[i]);
        }
    }
    static const char good[] = "{" KEY "\"address\":\"1.2.3.4:7340\",\"later\":[1,{}]," END "}";
    assert_int_equal(world_read(good, strlen(good), &got, &error), 0);
    assert_int_equal(got.users, 0);
    /* Names have no control characters. */
    static const char bell[] = "{" KEY "\"address\":\"0.0.0.0:1\",\"name\":\"a\\u0007\\u009b\","
                               "\"scene\":\"s\",\"version\":\"v\",\"users\":0,\"places\":1}";
    assert_int_equal(world_read(bell, strlen(bell), &got, &error), 0);
    assert_string_equal(got.name, "a???");
    assert_int_equal(got.host, 0);
}

/* Brackets as deep as the text is long, and one byte too many. */
static void test_bounds(void **state)
{
    PL_UNUSED(state);
    WorldNotice got, *worlds = calloc(WORLDS_PAGE_MAX, sizeof *worlds);
    WorldPage page;
    ErrorText error = {0};
    char *deep = malloc(WORLDS_TEXT_BYTES_MAX + 1);
    assert_non_null(deep);
    assert_non_null(worlds);
    memset(deep, '[', WORLDS_TEXT_BYTES_MAX + 1);
    assert_int_equal(world_read(deep, WORLD_TEXT_BYTES_MAX, &got, &error), ERROR_FORMAT);
    assert_int_equal(world_page_read(deep, WORLDS_TEXT_BYTES_MAX, worlds, &page, &error),
                     ERROR_FORMAT);
    memset(deep, ' ', WORLDS_TEXT_BYTES_MAX + 1);
    memcpy(deep, "{\"worlds\":[]}", 13);
    assert_int_equal(world_page_read(deep, WORLDS_TEXT_BYTES_MAX, worlds, &page, &error), 0);
    assert_int_equal(world_page_read(deep, WORLDS_TEXT_BYTES_MAX + 1, worlds, &page, &error),
                     ERROR_FORMAT);
    free(deep);
    free(worlds);
}

static void test_page(void **state)
{
    PL_UNUSED(state);
    static WorldNotice all[WORLDS_PAGE_MAX], got[WORLDS_PAGE_MAX];
    const WorldNotice *shown[WORLDS_PAGE_MAX];
    WorldPage page = {.count = WORLDS_PAGE_MAX, .total = 9999, .more = true}, read;
    ErrorText error = {0};
    for (u32 i = 0; i < WORLDS_PAGE_MAX; i++) {
        all[i] = notice_make(i % 256);
        shown[i] = &all[i];
    }
    memset(page.next, 0xAB, sizeof page.next);
    char *text = world_page_text(shown, &page);
    assert_non_null(text);
    assert_true(strlen(text) < WORLDS_TEXT_BYTES_MAX);
    assert_int_equal(world_page_read(text, strlen(text), got, &read, &error), 0);
    assert_memory_equal(&read, &page, sizeof read);
    assert_memory_equal(got, all, sizeof got);
    free(text);
    /* What is malformed is left out, the rest stays. */
    static const char mixed[] =
        "{\"worlds\":[1,{" KEY "\"address\":\"1.2.3.4:7340\"," END "},{}],\"next\":\"zz\"}";
    assert_int_equal(world_page_read(mixed, strlen(mixed), got, &read, &error), 0);
    assert_int_equal(read.count, 1);
    assert_false(read.more);
}

static void test_matches(void **state)
{
    PL_UNUSED(state);
    WorldNotice notice = {.name = "Great Hall", .scene = "wall"};
    assert_true(world_matches(&notice, ""));
    assert_true(world_matches(&notice, "great"));
    assert_true(world_matches(&notice, "WALL"));
    assert_true(world_matches(&notice, "t h"));
    assert_false(world_matches(&notice, "halls"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),  cmocka_unit_test(test_hostile), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_page), cmocka_unit_test(test_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
