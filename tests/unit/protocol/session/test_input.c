/* test_input.c: inputs and input packets survive the round trip; invalid ones are refused. */
#include "protocol/session/input.h"
#include "shared/base/error.h"
#include "tests/unit/protocol/random_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static Vec3 dice_vec3(Dice *dice, f32 extent)
{
    return vec3(dice_range(dice, -extent, extent), dice_range(dice, -extent, extent),
                dice_range(dice, -extent, extent));
}

static Ray dice_ray(Dice *dice)
{
    Ray ray = {dice_vec3(dice, 100), vec3_normalize_or(dice_vec3(dice, 1), vec3(0.0f, 1.0f, 0.0f))};
    return ray;
}

/* Sets only the members that the kind uses; the others are zero, as a decoder leaves them. */
static Input random_input(Dice *dice, u32 sequence)
{
    Input input;
    memset(&input, 0, sizeof input);
    input.kind = 1 + dice_below(dice, INPUT_KIND_COUNT - 1);
    input.sequence = sequence;
    switch ((InputKind)input.kind) {
    case INPUT_GRAB:
    case INPUT_PUSH:
        input.entity = dice_below(dice, 1000);
        input.element = dice_below(dice, 1000);
        input.seen_base = (u32)dice_u64(dice);
        input.seen_tick = dice_range(dice, 0, 1);
        input.local = dice_vec3(dice, 2);
        if (input.kind == INPUT_GRAB) {
            input.ray = dice_ray(dice);
        } else {
            input.vector = dice_vec3(dice, 50);
        }
        break;
    case INPUT_MOVE:
        input.target = dice_vec3(dice, 100);
        break;
    case INPUT_SPAWN:
        input.index = dice_below(dice, 10);
        input.target = dice_vec3(dice, 100);
        input.vector = dice_vec3(dice, 100);
        input.rotation = dice_rotation(dice);
        break;
    case INPUT_REMOVE:
        input.entity = (u32)dice_u64(dice);
        break;
    case INPUT_DYE:
        input.index = dice_below(dice, 1 << 24);
        break;
    case INPUT_SET:
        input.index = dice_below(dice, 256);
        for (u32 i = 0; i < 4; i++) {
            input.values[i] = dice_range(dice, -1e6f, 1e6f);
        }
        break;
    default:
        break;
    }
    return input;
}

static InputPacket random_packet(Dice *dice)
{
    InputPacket packet;
    memset(&packet, 0, sizeof packet);
    packet.send_ms = (u16)dice_u64(dice);
    packet.echo_ms = (u16)dice_u64(dice);
    packet.ack = (SnapshotAck){(u16)dice_u64(dice), 1, dice_u64(dice)};
    if (dice_chance(dice, 0.8)) {
        packet.view.eye = dice_vec3(dice, 100);
        packet.view.forward = dice_ray(dice).direction;
        packet.view.pixels_per_radian = dice_range(dice, 10, 2000);
    }
    if (dice_chance(dice, 0.5)) {
        packet.cursor_visible = 1;
        packet.cursor = dice_ray(dice);
    }
    packet.count = (u16)dice_below(dice, INPUTS_UNACKED_MAX + 1);
    u32 sequence = (u32)(dice_u64(dice) >> 33);
    for (u32 i = 0; i < packet.count; i++) {
        sequence += 1 + dice_below(dice, 2);
        packet.inputs[i] = random_input(dice, sequence);
    }
    return packet;
}

static void test_packets_round_trip(void **context)
{
    PL_UNUSED(context);
    Dice dice = {1, 0};
    for (u32 round = 0; round < 5000; round++) {
        InputPacket packet = random_packet(&dice), decoded;
        u8 data[STATE_PAYLOAD_BYTES_MAX], again[STATE_PAYLOAD_BYTES_MAX];
        u32 bytes = input_packet_encode(&packet, data);
        assert_in_range(bytes, 10, STATE_PAYLOAD_BYTES_MAX);
        assert_int_equal(input_packet_decode(&decoded, data, bytes), 0);
        assert_true(decoded.count <= packet.count);
        packet.count = decoded.count;
        assert_memory_equal(&packet, &decoded,
                            offsetof(InputPacket, inputs) + packet.count * sizeof(Input));
        assert_int_equal(input_packet_encode(&decoded, again), bytes);
        assert_memory_equal(data, again, bytes);
        for (u32 short_by = 1; short_by < 4; short_by++) {
            assert_true(input_packet_decode(&decoded, data, bytes - short_by) < 0);
            assert_int_equal(decoded.count, 0);
        }
    }
    /* 32 grabs are too many for one packet: the rest go into the next. */
    InputPacket full;
    memset(&full, 0, sizeof full);
    full.count = INPUTS_UNACKED_MAX;
    for (u32 i = 0; i < full.count; i++) {
        do {
            full.inputs[i] = random_input(&dice, i + 1);
        } while (full.inputs[i].kind != INPUT_GRAB);
    }
    u8 data[STATE_PAYLOAD_BYTES_MAX];
    InputPacket decoded;
    u32 bytes = input_packet_encode(&full, data);
    assert_int_equal(input_packet_decode(&decoded, data, bytes), 0);
    assert_in_range(decoded.count, 10, INPUTS_UNACKED_MAX - 1);
}

static void test_user_is_kept_for_recordings_but_not_taken_from_clients(void **context)
{
    PL_UNUSED(context);
    Dice dice = {2, 0};
    Input input = random_input(&dice, 5), decoded;
    input.user = 77;
    u8 data[256];
    BitWriter writer;
    BitReader reader;
    bit_writer_init(&writer, data, sizeof data);
    input_encode(&writer, &input);
    bit_reader_init(&reader, data, bit_writer_bytes(&writer));
    assert_int_equal(input_decode(&reader, &decoded), 0);
    assert_memory_equal(&input, &decoded, sizeof input);
    InputPacket packet;
    memset(&packet, 0, sizeof packet);
    packet.count = 1;
    packet.inputs[0] = input;
    u8 bytes[STATE_PAYLOAD_BYTES_MAX];
    u32 size = input_packet_encode(&packet, bytes);
    assert_true(input_packet_decode(&packet, bytes, size) < 0);
}

static void test_bad_numbers_are_refused(void **context)
{
    PL_UNUSED(context);
    static const f32 bad[] = {NAN, INFINITY, -INFINITY, 1e30f};
    Dice dice = {3, 0};
    for (u32 round = 0; round < 4000; round++) {
        Input input = random_input(&dice, 1);
        assert_int_equal(input_check(&input), 0);
        f32 *members[] = {&input.local.y,    &input.target.x,        &input.vector.z,
                          &input.rotation.w, &input.ray.direction.x, &input.ray.origin.z,
                          &input.seen_tick,  &input.values[2]};
        static const bool used[INPUT_KIND_COUNT][8] = {
            [INPUT_GRAB] = {1, 0, 0, 0, 1, 1, 1, 0}, [INPUT_MOVE] = {0, 1, 0, 0, 0, 0, 0, 0},
            [INPUT_PUSH] = {1, 0, 1, 0, 0, 0, 1, 0}, [INPUT_SPAWN] = {0, 1, 1, 1, 0, 0, 0, 0},
            [INPUT_SET] = {0, 0, 0, 0, 0, 0, 0, 1},
        };
        u32 m = dice_below(&dice, 8), b = dice_below(&dice, 4);
        bool expected = used[input.kind][m] && !(m == 7 && b == 3);
        *members[m] = bad[b];
        assert_int_equal(input_check(&input) < 0, expected);
    }
    Input dye = {.kind = INPUT_DYE, .index = 0xFFFFFF};
    assert_int_equal(input_check(&dye), 0);
    dye.index = 1 << 24;
    assert_int_equal(input_check(&dye), ERROR_RANGE);
    Input input = {.kind = 99};
    assert_true(input_check(&input) < 0);
    input.kind = INPUT_NONE;
    assert_true(input_check(&input) < 0);
}

static void test_hostile_packets(void **context)
{
    PL_UNUSED(context);
    Dice dice = {4, 0};
    for (u32 round = 0; round < 30000; round++) {
        InputPacket packet = random_packet(&dice);
        u8 data[STATE_PAYLOAD_BYTES_MAX];
        u32 bytes = input_packet_encode(&packet, data);
        u32 size = dice_chance(&dice, 0.3) ? dice_below(&dice, bytes + 1) : bytes;
        u8 *exact = malloc(size > 0 ? size : 1);
        memcpy(exact, data, size);
        for (u32 i = dice_below(&dice, 5); i > 0 && size > 0; i--) {
            exact[dice_below(&dice, size)] ^= (u8)(1u << dice_below(&dice, 8));
        }
        int error = input_packet_decode(&packet, exact, size);
        assert_true(packet.count <= INPUTS_UNACKED_MAX);
        for (u32 i = 0; error == 0 && i < packet.count; i++) {
            assert_int_equal(input_check(&packet.inputs[i]), 0);
            assert_int_equal(packet.inputs[i].user, 0);
        }
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packets_round_trip),
        cmocka_unit_test(test_user_is_kept_for_recordings_but_not_taken_from_clients),
        cmocka_unit_test(test_bad_numbers_are_refused),
        cmocka_unit_test(test_hostile_packets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
