/* test_soft.c: images of the store: saved state is restored bit for bit, and hostile images are
 * validated before use. */
#include "server/physics/soft/soft_internal.h"
#include "tests/support/soft_kit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Image {
    u8 *data;
    size_t bytes;
} Image;

static Image save(Soft *soft)
{
    State state = {.mode = STATE_COUNT};
    soft_serialize(soft, &state);
    Image image = {malloc(state.used), state.used};
    state = (State){.mode = STATE_SAVE, .data = image.data, .bytes = image.bytes};
    soft_serialize(soft, &state);
    assert_false(state.failed);
    return image;
}

static bool loads(Soft *soft, const Image *image, size_t bytes)
{
    State state = {.mode = STATE_LOAD, .data = image->data, .bytes = bytes};
    soft_serialize(soft, &state);
    return !state.failed;
}

static u64 hash_of(Soft *soft)
{
    State state = {.mode = STATE_HASH};
    soft_serialize(soft, &state);
    return state.hash;
}

/* A cloth with one corner pinned to the world and one to a body. */
static SoftKit kit_with_cloth(void)
{
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    Shape ball = {.kind = SHAPE_SPHERE, .radius = 0.1f};
    BodyId id =
        soft_kit_add_body(&kit, ball, BODY_DYNAMIC, 1.0f, vec3(0.0f, 1.0f, 0.0f), vec3_zero());
    SoftPin pins[2] = {{.point = 0}, {.point = 24, .body = id}};
    SoftDef def = soft_kit_cloth_def();
    def.pins = pins;
    def.pin_count = 2;
    soft_kit_add_cloth(&kit, &def, 5, 5, 0.5f, 0.5f);
    return kit;
}

static void images_come_back(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = kit_with_cloth();
    soft_kit_ticks(&kit, 10);
    Image image = save(kit.soft);
    u64 before = hash_of(kit.soft);
    soft_kit_ticks(&kit, 5);
    assert_true(hash_of(kit.soft) != before);
    assert_true(loads(kit.soft, &image, image.bytes));
    assert_true(hash_of(kit.soft) == before);
    for (size_t bytes = 0; bytes < image.bytes; bytes += 7) {
        assert_false(loads(kit.soft, &image, bytes));
    }
    free(image.data);
    soft_kit_destroy(&kit);
}

/* Of particle 7, after the count and the particles before it. */
static void particles_are_checked(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        size_t at;
        f32 value;
        bool fine;
    } cases[] = {{offsetof(SoftPoint, inverse_mass), NAN, false},
                 {offsetof(SoftPoint, inverse_mass), -1.0f, false},
                 {offsetof(SoftPoint, inverse_mass), -INFINITY, false},
                 {offsetof(SoftPoint, inverse_mass), INFINITY, false},
                 {offsetof(SoftPoint, inverse_mass), 0.0f, true},
                 {offsetof(SoftPoint, inverse_mass), 50.0f, true},
                 {offsetof(SoftPoint, position.y), NAN, false},
                 {offsetof(SoftPoint, position.z), 3.0f, true},
                 {offsetof(SoftPoint, velocity.x), INFINITY, false}};
    SoftKit kit = kit_with_cloth();
    soft_kit_ticks(&kit, 2);
    Image image = save(kit.soft), hostile = {malloc(image.bytes), image.bytes};
    size_t particle = sizeof(u32) + 7 * sizeof(SoftPoint);
    f32 saved;
    memcpy(&saved, image.data + particle + offsetof(SoftPoint, inverse_mass), sizeof saved);
    assert_float_equal(saved, soft_inverse_mass(kit.soft, 7), 0.0f);
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        memcpy(hostile.data, image.data, image.bytes);
        memcpy(hostile.data + particle + cases[i].at, &cases[i].value, sizeof cases[i].value);
        if (loads(kit.soft, &hostile, hostile.bytes) != cases[i].fine) {
            fail_msg("case %u: %g was %s", i, (double)cases[i].value,
                     cases[i].fine ? "refused" : "taken");
        }
        assert_true(loads(kit.soft, &image, image.bytes));
    }
    free(hostile.data);
    free(image.data);
    soft_kit_destroy(&kit);
}

/* No single corrupted word of an image can break a store that accepted it. */
static void any_word_is_data(void **unused)
{
    PL_UNUSED(unused);
    static const u32 words[] = {0xffffffffu, 0x7fc00000u, 0x7f800000u, 0xff7fffffu, 0x80000000u};
    SoftKit kit = kit_with_cloth();
    soft_kit_ticks(&kit, 2);
    Image image = save(kit.soft), hostile = {malloc(image.bytes), image.bytes};
    /* After the particles, of which the previous test checked one. */
    size_t first = sizeof(u32) + soft_particles(kit.soft) * sizeof(SoftPoint);
    for (size_t at = first; at + sizeof(u32) <= image.bytes; at += sizeof(u32)) {
        for (u32 i = 0; i < PL_COUNT(words); i++) {
            memcpy(hostile.data, image.data, image.bytes);
            memcpy(hostile.data + at, &words[i], sizeof words[i]);
            if (loads(kit.soft, &hostile, hostile.bytes)) {
                soft_kit_ticks(&kit, 1);
                for (u32 p = 0; p < soft_particles(kit.soft); p++) {
                    assert_true(vec3_is_finite(soft_position(kit.soft, p)));
                }
            }
            assert_true(loads(kit.soft, &image, image.bytes));
        }
    }
    free(hostile.data);
    free(image.data);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_come_back),
        cmocka_unit_test(particles_are_checked),
        cmocka_unit_test(any_word_is_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
