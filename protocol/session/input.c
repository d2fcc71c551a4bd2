/*
 * input.c: inputs and input packets: checks the members used by each kind and codes them to bits.
 * Numbers travel as the bits of an f32, so the server applies exactly what was checked here.
 */
#include "protocol/session/input.h"
#include "shared/base/check.h"
#include "shared/base/error.h"

#include <math.h>
#include <string.h>

enum {
    KIND_BITS = 5,
    SEEN_TICK_MAX = 1 << 20,
    COUNT_BITS = 6,
};
#define UNIT_TOLERANCE        1e-3f
#define PIXELS_PER_RADIAN_MAX 1e6f

/* The members used by each kind, in coding order. */
enum {
    USES_ENTITY = 1 << 0,
    USES_ELEMENT = 1 << 1,
    USES_INDEX = 1 << 2,
    USES_SEEN = 1 << 3,
    USES_LOCAL = 1 << 4,
    USES_TARGET = 1 << 5,
    USES_IMPULSE = 1 << 6,
    USES_VELOCITY = 1 << 7,
    USES_ROTATION = 1 << 8,
    USES_RAY = 1 << 9,
    USES_VALUES = 1 << 10,
};

static const u16 uses_of_kind[INPUT_KIND_COUNT] = {
    [INPUT_GRAB] = USES_ENTITY | USES_ELEMENT | USES_SEEN | USES_LOCAL | USES_RAY,
    [INPUT_MOVE] = USES_TARGET,
    [INPUT_RELEASE] = 0,
    [INPUT_PUSH] = USES_ENTITY | USES_ELEMENT | USES_SEEN | USES_LOCAL | USES_IMPULSE,
    [INPUT_SPAWN] = USES_INDEX | USES_TARGET | USES_VELOCITY | USES_ROTATION,
    [INPUT_REMOVE] = USES_ENTITY,
    [INPUT_SET] = USES_INDEX | USES_VALUES,
    [INPUT_RESET] = 0,
    [INPUT_DYE] = USES_INDEX,
};

static bool vec3_within(Vec3 v, f32 extent)
{
    return fabsf(v.x) <= extent && fabsf(v.y) <= extent && fabsf(v.z) <= extent;
}

static bool vec3_is_unit(Vec3 v)
{
    return vec3_within(v, 2.0f) && fabsf(vec3_length(v) - 1.0f) <= UNIT_TOLERANCE;
}

static bool ray_is_valid(Ray ray)
{
    return vec3_within(ray.origin, WORLD_EXTENT_MAX_M) && vec3_is_unit(ray.direction);
}

static bool quat_is_unit(Quat q)
{
    f32 length = sqrtf(quat_dot(q, q));
    return fabsf(length - 1.0f) <= UNIT_TOLERANCE;
}

int input_check(const Input *input)
{
    if (input->kind == INPUT_NONE || input->kind >= INPUT_KIND_COUNT) {
        return ERROR_FORMAT;
    }
    u32 uses = uses_of_kind[input->kind];
    /* Every comparison is false for NaN. */
    bool ok = input->kind != INPUT_DYE || input->index <= 0xFFFFFF;
    if (uses & USES_SEEN) {
        ok = ok && fabsf(input->seen_tick) <= (f32)SEEN_TICK_MAX;
    }
    if (uses & USES_LOCAL) {
        ok = ok && vec3_within(input->local, WORLD_EXTENT_MAX_M);
    }
    if (uses & USES_TARGET) {
        ok = ok && vec3_within(input->target, WORLD_EXTENT_MAX_M);
    }
    if (uses & USES_IMPULSE) {
        ok = ok && vec3_within(input->vector, INPUT_IMPULSE_MAX_N_S);
    }
    if (uses & USES_VELOCITY) {
        ok = ok && vec3_within(input->vector, SPEED_MAX_M_S);
    }
    if (uses & USES_ROTATION) {
        ok = ok && quat_is_unit(input->rotation);
    }
    if (uses & USES_RAY) {
        ok = ok && ray_is_valid(input->ray);
    }
    for (u32 i = 0; (uses & USES_VALUES) != 0 && i < PL_COUNT(input->values); i++) {
        ok = ok && isfinite(input->values[i]);
    }
    return ok ? ERROR_OK : ERROR_RANGE;
}

static void put_f32(BitWriter *writer, f32 value)
{
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    bits_put(writer, bits, 32);
}

static f32 get_f32(BitReader *reader)
{
    u32 bits = (u32)bits_get(reader, 32);
    f32 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_vec3(BitWriter *writer, Vec3 v)
{
    put_f32(writer, v.x);
    put_f32(writer, v.y);
    put_f32(writer, v.z);
}

static Vec3 get_vec3(BitReader *reader)
{
    Vec3 v;
    v.x = get_f32(reader);
    v.y = get_f32(reader);
    v.z = get_f32(reader);
    return v;
}

static u32 get_u32(BitReader *reader, bool *fits)
{
    u64 value = bits_get_unsigned(reader);
    *fits = *fits && value <= UINT32_MAX;
    return (u32)value;
}

void input_encode(BitWriter *writer, const Input *input)
{
    u32 uses = input->kind < INPUT_KIND_COUNT ? uses_of_kind[input->kind] : 0;
    bits_put(writer, input->kind, KIND_BITS);
    bits_put_unsigned(writer, input->user);
    bits_put_unsigned(writer, input->sequence);
    if (uses & USES_ENTITY) {
        bits_put_unsigned(writer, input->entity);
    }
    if (uses & USES_ELEMENT) {
        bits_put_unsigned(writer, input->element);
    }
    if (uses & USES_INDEX) {
        bits_put_unsigned(writer, input->index);
    }
    if (uses & USES_SEEN) {
        bits_put_unsigned(writer, input->seen_base);
        put_f32(writer, input->seen_tick);
    }
    if (uses & USES_LOCAL) {
        put_vec3(writer, input->local);
    }
    if (uses & USES_TARGET) {
        put_vec3(writer, input->target);
    }
    if (uses & (USES_IMPULSE | USES_VELOCITY)) {
        put_vec3(writer, input->vector);
    }
    if (uses & USES_ROTATION) {
        put_f32(writer, input->rotation.w);
        put_vec3(writer, vec3(input->rotation.x, input->rotation.y, input->rotation.z));
    }
    if (uses & USES_RAY) {
        put_vec3(writer, input->ray.origin);
        put_vec3(writer, input->ray.direction);
    }
    for (u32 i = 0; (uses & USES_VALUES) != 0 && i < PL_COUNT(input->values); i++) {
        put_f32(writer, input->values[i]);
    }
}

static void decode_members(BitReader *reader, Input *input, u32 uses, bool *fits)
{
    if (uses & USES_ENTITY) {
        input->entity = get_u32(reader, fits);
    }
    if (uses & USES_ELEMENT) {
        input->element = get_u32(reader, fits);
    }
    if (uses & USES_INDEX) {
        input->index = get_u32(reader, fits);
    }
    if (uses & USES_SEEN) {
        input->seen_base = get_u32(reader, fits);
        input->seen_tick = get_f32(reader);
    }
    if (uses & USES_LOCAL) {
        input->local = get_vec3(reader);
    }
    if (uses & USES_TARGET) {
        input->target = get_vec3(reader);
    }
    if (uses & (USES_IMPULSE | USES_VELOCITY)) {
        input->vector = get_vec3(reader);
    }
    if (uses & USES_ROTATION) {
        input->rotation.w = get_f32(reader);
        input->rotation.x = get_f32(reader);
        input->rotation.y = get_f32(reader);
        input->rotation.z = get_f32(reader);
    }
    if (uses & USES_RAY) {
        input->ray.origin = get_vec3(reader);
        input->ray.direction = get_vec3(reader);
    }
    for (u32 i = 0; (uses & USES_VALUES) != 0 && i < PL_COUNT(input->values); i++) {
        input->values[i] = get_f32(reader);
    }
}

int input_decode(BitReader *reader, Input *input)
{
    memset(input, 0, sizeof *input);
    bool fits = true;
    input->kind = (u32)bits_get(reader, KIND_BITS);
    input->user = get_u32(reader, &fits);
    input->sequence = get_u32(reader, &fits);
    if (reader->failed) {
        return ERROR_TRUNCATED;
    }
    if (input->kind == INPUT_NONE || input->kind >= INPUT_KIND_COUNT) {
        return ERROR_FORMAT;
    }
    decode_members(reader, input, uses_of_kind[input->kind], &fits);
    if (reader->failed) {
        return ERROR_TRUNCATED;
    }
    return fits ? input_check(input) : ERROR_RANGE;
}

static void put_view(BitWriter *writer, const SnapshotView *view)
{
    bool known = view->pixels_per_radian > 0.0f;
    bits_put(writer, known, 1);
    if (known) {
        put_vec3(writer, view->eye);
        put_vec3(writer, view->forward);
        put_f32(writer, view->pixels_per_radian);
    }
}

static bool get_view(BitReader *reader, SnapshotView *view)
{
    if (bits_get(reader, 1) == 0) {
        return true;
    }
    view->eye = get_vec3(reader);
    view->forward = get_vec3(reader);
    view->pixels_per_radian = get_f32(reader);
    return vec3_within(view->eye, WORLD_EXTENT_MAX_M) && vec3_is_unit(view->forward) &&
           view->pixels_per_radian > 0.0f && view->pixels_per_radian <= PIXELS_PER_RADIAN_MAX;
}

u32 input_packet_encode(const InputPacket *packet, u8 out[STATE_PAYLOAD_BYTES_MAX])
{
    BitWriter writer;
    CHECK(packet->count <= PL_COUNT(packet->inputs));
    bit_writer_init(&writer, out, STATE_PAYLOAD_BYTES_MAX);
    bits_put(&writer, packet->send_ms, 16);
    bits_put(&writer, packet->echo_ms, 16);
    bits_put(&writer, packet->ack.valid != 0, 1);
    bits_put(&writer, packet->ack.newest, 16);
    bits_put(&writer, packet->ack.bits, 64);
    bits_put(&writer, packet->event_ack, 8);
    put_view(&writer, &packet->view);
    bits_put(&writer, packet->cursor_visible != 0, 1);
    if (packet->cursor_visible != 0) {
        put_vec3(&writer, packet->cursor.origin);
        put_vec3(&writer, packet->cursor.direction);
    }
    u32 count_at = writer.bit;
    u32 count = 0;
    bits_put(&writer, 0, COUNT_BITS);
    for (; count < packet->count && count < INPUTS_UNACKED_MAX; count++) {
        u32 before = writer.bit;
        input_encode(&writer, &packet->inputs[count]);
        if (writer.failed) {
            bit_writer_rewind(&writer, before);
            break;
        }
    }
    CHECK(!writer.failed && count < 1u << COUNT_BITS);
    u32 bytes = bit_writer_bytes(&writer);
    /* The count is known only now: its bits are still zero. */
    for (u32 i = 0; i < COUNT_BITS; i++) {
        u32 bit = count_at + i;
        out[bit >> 3] = (u8)(out[bit >> 3] | (count >> i & 1u) << (bit & 7));
    }
    return bytes;
}

int input_packet_decode(InputPacket *packet, const u8 *data, u32 bytes)
{
    BitReader reader;
    bit_reader_init(&reader, data, bytes);
    memset(packet, 0, offsetof(InputPacket, inputs));
    packet->send_ms = (u16)bits_get(&reader, 16);
    packet->echo_ms = (u16)bits_get(&reader, 16);
    packet->ack.valid = (u16)bits_get(&reader, 1);
    packet->ack.newest = (u16)bits_get(&reader, 16);
    packet->ack.bits = bits_get(&reader, 64);
    packet->event_ack = (u8)bits_get(&reader, 8);
    bool ranged = get_view(&reader, &packet->view);
    packet->cursor_visible = (u8)bits_get(&reader, 1);
    if (packet->cursor_visible != 0) {
        packet->cursor.origin = get_vec3(&reader);
        packet->cursor.direction = get_vec3(&reader);
        ranged = ranged && ray_is_valid(packet->cursor);
    }
    u32 count = (u32)bits_get(&reader, COUNT_BITS);
    if (reader.failed) {
        return ERROR_TRUNCATED;
    }
    if (!ranged || count > INPUTS_UNACKED_MAX) {
        return ERROR_RANGE;
    }
    for (u32 i = 0; i < count; i++) {
        int error = input_decode(&reader, &packet->inputs[i]);
        if (error != ERROR_OK) {
            return error;
        }
        bool ascending = i == 0 || packet->inputs[i].sequence > packet->inputs[i - 1].sequence;
        if (!ascending || packet->inputs[i].user != 0) {
            return ERROR_FORMAT;
        }
    }
    packet->count = (u16)count;
    return (reader.bit + 7) / 8 == bytes ? ERROR_OK : ERROR_FORMAT;
}
