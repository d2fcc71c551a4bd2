/* test_bits.c: every value written is read back, no access crosses either end of the buffer, and
 * stale bytes never show. */
#include "protocol/codec/bits.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct Put {
    u64 value;
    u32 kind, count;
} Put;

static void test_round_trip(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    for (u32 round = 0; round < 3000; round++) {
        u32 bytes_max = dice_below(&dice, 90) + 1;
        u8 *data = malloc(bytes_max);
        memset(data, 0xFF, bytes_max);
        Put puts[200];
        u32 count = 0;
        BitWriter writer;
        bit_writer_init(&writer, data, bytes_max);
        while (count < PL_COUNT(puts)) {
            Put put = {dice_u64(&dice) >> dice_below(&dice, 64), dice_below(&dice, 2),
                       dice_below(&dice, 65)};
            u32 before = writer.bit;
            if (put.kind == 0) {
                bits_put(&writer, put.value, put.count);
                put.value &= put.count == 64 ? ~0ull : (1ull << put.count) - 1;
            } else {
                bits_put_unsigned(&writer, put.value);
            }
            if (writer.failed) {
                bit_writer_rewind(&writer, before);
                break;
            }
            puts[count++] = put;
        }
        u32 bytes = bit_writer_bytes(&writer);
        assert_true(bytes <= bytes_max);
        u8 *exact = malloc(bytes + 1);
        memcpy(exact, data, bytes);
        exact = realloc(exact, bytes > 0 ? bytes : 1);
        BitReader reader;
        bit_reader_init(&reader, exact, bytes);
        for (u32 i = 0; i < count; i++) {
            u64 value =
                puts[i].kind == 0 ? bits_get(&reader, puts[i].count) : bits_get_unsigned(&reader);
            assert_true(value == puts[i].value);
        }
        assert_false(reader.failed);
        assert_int_equal(reader.bit, writer.bit);
        assert_true(bits_get(&reader, bytes * 8 - reader.bit) == 0);
        assert_true(bits_get(&reader, 1) == 0);
        assert_true(reader.failed);
        free(exact);
        free(data);
    }
}

static void test_extremes(void **context)
{
    PL_UNUSED(context);
    static const u64 values[] = {0,         1,          2,          UINT64_MAX,
                                 INT64_MAX, UINT32_MAX, 1ull << 62, 1ull << 63};
    u8 data[16];
    for (u32 i = 0; i < PL_COUNT(values); i++) {
        BitWriter writer;
        BitReader reader;
        bit_writer_init(&writer, data, sizeof data);
        bits_put_unsigned(&writer, values[i]);
        assert_false(writer.failed);
        bit_reader_init(&reader, data, bit_writer_bytes(&writer));
        assert_true(bits_get_unsigned(&reader) == values[i]);
    }
}

static void test_failure_is_sticky_and_all_or_nothing(void **context)
{
    PL_UNUSED(context);
    u8 data[3] = {0, 0, 0x77};
    BitWriter writer;
    bit_writer_init(&writer, data, 2);
    bits_put(&writer, ~0ull, 60);
    assert_true(writer.failed);
    bits_put(&writer, 1, 1);
    assert_int_equal(bit_writer_bytes(&writer), 0);
    assert_int_equal(data[2], 0x77);
    BitReader reader;
    bit_reader_init(&reader, data, 2);
    assert_true(bits_get(&reader, 17) == 0 && reader.failed);
    assert_true(bits_get(&reader, 1) == 0 && reader.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_failure_is_sticky_and_all_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
