/* test_inquiry.c: public queries: both ways, texts, and rate limits. */
#include "protocol/session/inquiry.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static WorldNotice notice_make(void)
{
    WorldNotice notice = {.port = 7340,
                          .users = 3,
                          .places = 64,
                          .flags = WORLD_PASSWORD | WORLD_RELAY,
                          .host = 0x0100007F,
                          .name = "Großer Saal",
                          .scene = "wall",
                          .version = "0.2.0"};
    memset(notice.key, 7, sizeof notice.key);
    return notice;
}

static void test_both_ways(void **state)
{
    PL_UNUSED(state);
    u8 question[INQUIRY_BYTES], answer[INQUIRY_ANSWER_BYTES];
    WorldNotice notice = notice_make(), got;
    u64 nonce;
    inquiry_write(0x1122334455667788u, question);
    assert_true(inquiry_is(question, sizeof question));
    assert_true(probe_is(question, sizeof question));
    inquiry_answer(&notice, question, answer);
    assert_true(inquiry_read(answer, sizeof answer, &nonce, &got));
    assert_int_equal(nonce, 0x1122334455667788u);
    assert_memory_equal(&got, &notice, sizeof got);
    /* Neither is the other, and a probe is neither. */
    assert_false(inquiry_read(question, sizeof question, &nonce, &got));
    assert_false(inquiry_is(answer, sizeof answer));
    question[4] = 1;
    assert_false(inquiry_is(question, sizeof question));
}

static void test_malformed(void **state)
{
    PL_UNUSED(state);
    u8 question[INQUIRY_BYTES], answer[INQUIRY_ANSWER_BYTES];
    WorldNotice notice = notice_make(), got;
    u64 nonce;
    inquiry_write(1, question);
    /* A question that is not larger than its answer is none. */
    for (u32 bytes = 0; bytes < sizeof question; bytes++) {
        assert_false(inquiry_is(question, bytes));
    }
    inquiry_answer(&notice, question, answer);
    for (u32 bytes = 0; bytes < sizeof answer; bytes++) {
        assert_false(inquiry_read(answer, bytes, &nonce, &got));
    }
    notice.port = 0;
    inquiry_answer(&notice, question, answer);
    assert_false(inquiry_read(answer, sizeof answer, &nonce, &got));
    /* Texts without an end, and with terminal control characters. */
    notice.port = 1;
    inquiry_answer(&notice, question, answer);
    memset(answer + 64, 0x1B, NAME_BYTES_MAX);
    assert_true(inquiry_read(answer, sizeof answer, &nonce, &got));
    assert_int_equal(strlen(got.name), NAME_BYTES_MAX - 1);
    assert_null(strchr(got.name, 0x1B));
}

static void test_texts(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *text, *kept;
    } rows[] = {
        {"plain", "plain"},
        {"tab\there", "tab?here"},
        {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8E\x88", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8E\x88"},
        {"\xC2\x9B", "??"},           /* a control character of two bytes */
        {"\xC0\xAF", "??"},           /* overlong */
        {"\xED\xA0\x80", "???"},      /* half of a pair */
        {"\xF4\x90\x80\x80", "????"}, /* beyond all */
        {"cut \xE2\x82", "cut ??"},   /* ends early */
        {"0123456789abcdef", "0123456789abcde"},
        {"0123456789abcd\xC3\xA4", "0123456789abcd"}, /* half a letter is none */
    };
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        char out[16];
        assert_int_equal(notice_text(out, sizeof out, rows[i].text), strlen(rows[i].kept));
        assert_string_equal(out, rows[i].kept);
    }
}

/* One site uses its share; others still get theirs, until the total rate is too high. */
static void test_limits(void **state)
{
    PL_UNUSED(state);
    static const u8 key[SEAL_HASH_KEY_BYTES] = {1, 2, 3};
    InquiryLimits *limits = malloc(sizeof *limits);
    const u8 flood_bytes[] = {10, 0, 0, 1}, other_bytes[] = {192, 0, 0, 1};
    const NetAddress flood = net_address_v4(flood_bytes), other = net_address_v4(other_bytes);
    u32 answered = 0;
    assert_non_null(limits);
    assert_int_equal(seal_start(), 0);
    inquiry_limits_init(limits, key, 20, 500, 1000);
    for (u32 i = 0; i < 10000; i++) { /* in ten seconds */
        answered += inquiry_allowed(limits, flood, 1000 + i);
    }
    assert_in_range(answered, 200, 241);
    assert_true(inquiry_allowed(limits, other, 11000));
    answered = 0;
    for (u32 i = 0; i < 20000; i++) { /* from everywhere, in one second */
        u32 host = (u32)(random_u64(1, i) >> 7);
        answered += inquiry_allowed(limits, net_address_v4(&host), 12000 + i / 20);
    }
    assert_in_range(answered, 500, 1501);
    assert_int_equal(limits->answered + limits->refused, 30001);
    /* Time that goes back gives nothing. */
    while (inquiry_allowed(limits, flood, 13000)) {
    }
    assert_false(inquiry_allowed(limits, flood, 1));
    assert_false(inquiry_allowed(limits, flood, 13000));
    free(limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
