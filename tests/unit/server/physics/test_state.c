/* test_state.c: records in images: round trips, and hostile images. */
#include "server/physics/state.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    RECORDS = 40,
    WORDS_MAX = STATE_RECORD_WORDS_MAX,
    CAPACITY = RECORDS * STATE_RECORD_BYTES_MAX
};

/* Words of which about one in three differs from that of the previous record. */
static void fill(u32 *records, u32 words, u64 seed)
{
    for (u32 i = 0; i < RECORDS * words; i++) {
        bool differs = random_u64(seed, i) % 3 == 0;
        records[i] = differs      ? (u32)random_u64(seed, i + 100000)
                     : i >= words ? records[i - words]
                                  : 0;
    }
}

static void records_round_trip(void **state)
{
    (void)state;
    static u32 records[RECORDS * WORDS_MAX], loaded[RECORDS * WORDS_MAX];
    static u8 image[CAPACITY];
    for (u32 words = 1; words <= WORDS_MAX; words++) {
        fill(records, words, words);
        State count = {.mode = STATE_COUNT};
        State save = {.mode = STATE_SAVE, .data = image, .bytes = CAPACITY};
        state_records(&count, records, RECORDS, words, 0, NULL);
        state_records(&save, records, RECORDS, words, 0, NULL);
        assert_false(save.failed);
        assert_int_equal(count.used, save.used);
        /* In two parts, as bodies are stored. */
        State load = {.mode = STATE_LOAD, .data = image, .bytes = save.used};
        state_records(&load, loaded, RECORDS / 2, words, 0, NULL);
        state_records(&load, loaded + RECORDS / 2 * words, RECORDS / 2, words, 0,
                      loaded + (RECORDS / 2 - 1) * words);
        assert_false(load.failed);
        assert_int_equal(load.used, save.used);
        assert_memory_equal(loaded, records, RECORDS * words * sizeof *records);
    }
}

/* Words that the reader knows are not in the image, and keep their value when loaded. */
static void known_words_keep_their_value(void **state)
{
    (void)state;
    static u32 records[RECORDS * 18], loaded[RECORDS * 18];
    static u8 image[CAPACITY];
    fill(records, 18, 3);
    State whole = {.mode = STATE_COUNT},
          save = {.mode = STATE_SAVE, .data = image, .bytes = CAPACITY};
    state_records(&whole, records, RECORDS, 18, 0, NULL);
    state_records(&save, records, RECORDS, 18, 2, NULL);
    assert_false(save.failed);
    assert_true(save.used < whole.used);
    for (u32 i = 0; i < RECORDS; i++) {
        memcpy(&loaded[i * 18], &records[i * 18], 2 * sizeof(u32));
    }
    State load = {.mode = STATE_LOAD, .data = image, .bytes = save.used};
    state_records(&load, loaded, RECORDS, 18, 2, NULL);
    assert_false(load.failed);
    assert_int_equal(load.used, save.used);
    assert_memory_equal(loaded, records, sizeof records);
}

static void numbers_round_trip(void **state)
{
    (void)state;
    static const u32 numbers[] = {0, 1, 127, 128, 16383, 16384, 1u << 28, UINT32_MAX};
    u8 image[64];
    State save = {.mode = STATE_SAVE, .data = image, .bytes = sizeof image};
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        u32 number = numbers[i];
        state_number(&save, &number);
    }
    assert_false(save.failed);
    assert_int_equal(save.used, 1 + 1 + 1 + 2 + 2 + 3 + 5 + 5);
    State load = {.mode = STATE_LOAD, .data = image, .bytes = save.used};
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        u32 number = 77;
        state_number(&load, &number);
        assert_int_equal(number, numbers[i]);
    }
    u32 number;
    state_number(&load, &number); /* beyond the end */
    assert_true(load.failed);
}

static void non_finite_numbers_are_refused(void **state)
{
    (void)state;
    static const u8 images[][6] = {{0xff, 0xff, 0xff, 0xff, 0x10, 0},
                                   {0x80, 0x80, 0x80, 0x80, 0x80, 0}};
    for (u32 i = 0; i < PL_COUNT(images); i++) {
        u8 image[6];
        u32 number;
        memcpy(image, images[i], sizeof image);
        State load = {.mode = STATE_LOAD, .data = image, .bytes = sizeof image};
        state_number(&load, &number);
        assert_true(load.failed);
    }
}

static void hash_is_of_what_is_in_memory(void **state)
{
    (void)state;
    static u32 records[RECORDS * 18];
    fill(records, 18, 5);
    State a = {.mode = STATE_HASH}, b = {.mode = STATE_HASH};
    state_records(&a, records, RECORDS, 18, 2, NULL);
    state_bytes(&b, records, sizeof records);
    assert_true(a.hash == b.hash);
}

/* Truncated anywhere it is refused, and no read goes beyond its end (sanitizers check). */
static void truncated_images_are_refused(void **state)
{
    (void)state;
    static u32 records[RECORDS * 57], loaded[RECORDS * 57];
    static u8 image[CAPACITY];
    fill(records, 57, 9);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = CAPACITY};
    state_records(&save, records, RECORDS, 57, 0, NULL);
    for (size_t bytes = 0; bytes < save.used; bytes += bytes < 600 ? 1 : 97) {
        u8 *part = malloc(bytes + 1);
        memcpy(part, image, bytes);
        State load = {.mode = STATE_LOAD, .data = part, .bytes = bytes};
        state_records(&load, loaded, RECORDS, 57, 0, NULL);
        assert_true(load.failed);
        assert_true(load.used <= bytes);
        free(part);
    }
    State small = {.mode = STATE_SAVE, .data = image, .bytes = save.used - 1};
    state_records(&small, records, RECORDS, 57, 0, NULL);
    assert_true(small.failed);
}

static void bits_without_a_word_are_refused(void **state)
{
    (void)state;
    u8 image[8] = {0x04, 1, 2, 3, 4};
    u32 record[2];
    State load = {.mode = STATE_LOAD, .data = image, .bytes = sizeof image};
    state_records(&load, record, 1, 2, 0, NULL);
    assert_true(load.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_round_trip),
        cmocka_unit_test(known_words_keep_their_value),
        cmocka_unit_test(numbers_round_trip),
        cmocka_unit_test(non_finite_numbers_are_refused),
        cmocka_unit_test(hash_is_of_what_is_in_memory),
        cmocka_unit_test(truncated_images_are_refused),
        cmocka_unit_test(bits_without_a_word_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
