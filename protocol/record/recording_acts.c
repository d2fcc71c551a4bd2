/* recording_acts.c: the inputs and events of a tick as bits. Nearly all inputs drag something: such
 * a one is the change since the user's last one. Most events are impacts, of five members. */
#include "protocol/record/recording_internal.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    KIND_BITS = 4,
    MEMBER_BITS = 9,
    EVENT_BITS_MIN = KIND_BITS + MEMBER_BITS,
    EVENT_BYTES_MAX = 64, /* without its entity */
    INPUT_BYTES_MAX = 128,
    MESSAGE_ALIGN = 8,
    EVENTS_MAX = 2 * ENTITIES_MAX
};

/* Members of an event that are not zero, in coding order. */
enum {
    HAS_USER = 1 << 0,
    HAS_SEQUENCE = 1 << 1,
    HAS_CODE = 1 << 2,
    HAS_A = 1 << 3,
    HAS_B = 1 << 4,
    HAS_ELEMENT = 1 << 5,
    HAS_POSITION = 1 << 6,
    HAS_IMPULSE = 1 << 7,
    HAS_SPEED = 1 << 8,
};

PL_STATIC_ASSERT(EVENT_KIND_COUNT <= 1 << KIND_BITS, "any kind has a code");

/* ---- numbers ---- */

static u32 bits_of(f32 value)
{
    u32 bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static f32 number_of(u32 bits)
{
    f32 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_f32(BitWriter *writer, f32 value)
{
    bits_put(writer, bits_of(value), 32);
}

static f32 get_f32(BitReader *reader)
{
    return number_of((u32)bits_get(reader, 32));
}

/* Small where both are close: numbers are in the order of their bits. */
static void put_change(BitWriter *writer, u32 was, u32 now)
{
    u32 by = now - was;
    bits_put_unsigned(writer, by << 1 ^ (0u - (by >> 31)));
}

static u32 get_u32(BitReader *reader, bool *fits)
{
    u64 value = bits_get_unsigned(reader);
    *fits = *fits && value <= UINT32_MAX;
    return (u32)value;
}

static u32 get_change(BitReader *reader, u32 was, bool *fits)
{
    u32 by = get_u32(reader, fits);
    return was + (by >> 1 ^ (0u - (by & 1)));
}

/* ---- inputs ---- */

/* That of the user, or a new one in the place of the one that came first. */
static RecordingHand *hand_of(RecordingHands *hands, u32 user)
{
    for (u32 i = 0; i < hands->count; i++) {
        if (hands->hands[i].user == user) {
            return &hands->hands[i];
        }
    }
    RecordingHand *hand = &hands->hands[hands->next];
    hands->next = (hands->next + 1) % RECORDING_HANDS;
    hands->count += hands->count < RECORDING_HANDS;
    *hand = (RecordingHand){.user = user};
    return hand;
}

static void hands_begin(RecordingHands *hands)
{
    *hands = (RecordingHands){.known = true};
}

static void hand_follow(RecordingHand *hand, const Input *input)
{
    hand->sequence = input->sequence;
    hand->target = input->kind == INPUT_MOVE ? input->target : hand->target;
}

static void put_input(BitWriter *bits, RecordingHands *hands, const Input *input)
{
    RecordingHand *hand = hand_of(hands, input->user);
    bool moves = input->kind == INPUT_MOVE;
    bits_put_unsigned(bits, input->user);
    bits_put(bits, moves, 1);
    if (moves) {
        bits_put_unsigned(bits, input->sequence - hand->sequence);
        put_change(bits, bits_of(hand->target.x), bits_of(input->target.x));
        put_change(bits, bits_of(hand->target.y), bits_of(input->target.y));
        put_change(bits, bits_of(hand->target.z), bits_of(input->target.z));
    } else {
        input_encode(bits, input);
    }
    hand_follow(hand, input);
}

size_t recording_inputs_bytes_max(u32 count)
{
    return 16 + (size_t)count * INPUT_BYTES_MAX;
}

u32 recording_inputs_encode(RecordingHands *hands, const Input *inputs, u32 count, u8 *out)
{
    BitWriter bits;
    bit_writer_init(&bits, out, (u32)recording_inputs_bytes_max(count));
    bits_put_unsigned(&bits, count);
    bits_put(&bits, !hands->known, 1);
    if (!hands->known) {
        hands_begin(hands);
    }
    for (u32 i = 0; i < count; i++) {
        put_input(&bits, hands, &inputs[i]);
    }
    CHECK(!bits.failed);
    return bit_writer_bytes(&bits);
}

static int get_input(BitReader *bits, RecordingHands *hands, Input *input)
{
    bool fits = true;
    u32 user = get_u32(bits, &fits);
    RecordingHand *hand = hand_of(hands, user);
    int result;
    if (bits_get(bits, 1) != 0) {
        u32 sequence = hand->sequence + get_u32(bits, &fits);
        *input = (Input){.kind = INPUT_MOVE, .sequence = sequence};
        input->target.x = number_of(get_change(bits, bits_of(hand->target.x), &fits));
        input->target.y = number_of(get_change(bits, bits_of(hand->target.y), &fits));
        input->target.z = number_of(get_change(bits, bits_of(hand->target.z), &fits));
        result = bits->failed ? ERROR_TRUNCATED : input_check(input);
    } else {
        result = input_decode(bits, input);
    }
    input->user = user;
    if (result == 0) {
        hand_follow(hand, input);
    }
    return fits ? result : ERROR_RANGE;
}

int recording_take_inputs(RecordingReader *reader, const RecordingBlock *block)
{
    RecordingHands *hands = &reader->hands;
    BitReader bits;
    bit_reader_init(&bits, reader->content, block->length);
    u64 count = bits_get_unsigned(&bits);
    bool anew = bits_get(&bits, 1) != 0;
    if (bits.failed || count > INPUTS_PER_TICK_MAX) {
        return ERROR_FORMAT;
    }
    if (!anew && !hands->known) {
        return ERROR_STATE;
    }
    if (count > reader->input_capacity) {
        Input *larger = realloc(reader->inputs, (size_t)count * sizeof *larger);
        if (larger == NULL) {
            return ERROR_MEMORY;
        }
        reader->inputs = larger;
        reader->input_capacity = (u32)count;
    }
    if (anew) {
        hands_begin(hands);
    }
    for (u32 i = 0; i < (u32)count; i++) {
        int result = get_input(&bits, hands, &reader->inputs[i]);
        if (result < 0) {
            return result;
        }
    }
    reader->input_count = (u32)count;
    return 0;
}

/* ---- events ---- */

static bool is_zero(Vec3 v)
{
    return (bits_of(v.x) | bits_of(v.y) | bits_of(v.z)) == 0;
}

static u32 members_of(const Event *event)
{
    return (event->user != 0 ? HAS_USER : 0) | (event->sequence != 0 ? HAS_SEQUENCE : 0) |
           (event->code != 0 ? HAS_CODE : 0) | (event->a != 0 ? HAS_A : 0) |
           (event->b != 0 ? HAS_B : 0) | (event->element != 0 ? HAS_ELEMENT : 0) |
           (is_zero(event->position) ? 0 : HAS_POSITION) |
           (bits_of(event->impulse) != 0 ? HAS_IMPULSE : 0) |
           (bits_of(event->speed) != 0 ? HAS_SPEED : 0);
}

static void put_event(BitWriter *bits, const Event *event)
{
    const u32 numbers[] = {event->user, event->sequence, (u32)event->code,
                           event->a,    event->b,        event->element};
    u32 members = members_of(event);
    bits_put(bits, event->kind, KIND_BITS);
    bits_put(bits, members, MEMBER_BITS);
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        if ((members >> i & 1) != 0) {
            bits_put_unsigned(bits, numbers[i]);
        }
    }
    if ((members & HAS_POSITION) != 0) {
        put_f32(bits, event->position.x);
        put_f32(bits, event->position.y);
        put_f32(bits, event->position.z);
    }
    if ((members & HAS_IMPULSE) != 0) {
        put_f32(bits, event->impulse);
    }
    if ((members & HAS_SPEED) != 0) {
        put_f32(bits, event->speed);
    }
    if (event->kind == EVENT_DESPAWN) {
        bits_put_unsigned(bits, event->entity.id);
    }
}

/* The Events message of those that have a whole entity; NULL: none, or out of memory. */
static u8 *put_spawns(const Frame *frame, u32 spawns, u32 *bytes)
{
    Message message = {.kind = MESSAGE_EVENTS};
    Event *events = spawns > 0 ? calloc(spawns, sizeof *events) : NULL;
    u8 *encoded = NULL;
    *bytes = 0;
    if (events != NULL) {
        for (u32 i = 0, n = 0; i < frame->event_count; i++) {
            if (frame->events[i].kind == EVENT_SPAWN) {
                events[n].kind = EVENT_SPAWN;
                events[n++].entity = frame->events[i].entity;
            }
        }
        message.events = (MessageEvents){frame->tick, events, spawns};
        encoded = message_encode(&message, bytes);
    }
    free(events);
    return encoded;
}

static u32 aligned(u32 bytes)
{
    return (bytes + MESSAGE_ALIGN - 1) / MESSAGE_ALIGN * MESSAGE_ALIGN;
}

u8 *recording_events_encode(const Frame *frame, u32 *bytes)
{
    u32 spawns = 0, spawn_bytes;
    for (u32 i = 0; i < frame->event_count; i++) {
        spawns += frame->events[i].kind == EVENT_SPAWN;
    }
    u8 *spawned = put_spawns(frame, spawns, &spawn_bytes);
    size_t most = MESSAGE_ALIGN + (size_t)frame->event_count * EVENT_BYTES_MAX;
    u8 *out = frame->event_count <= EVENTS_MAX && (spawned != NULL || spawns == 0)
                  ? calloc(1, most + MESSAGE_ALIGN + spawn_bytes)
                  : NULL;
    if (out != NULL) {
        BitWriter bits;
        bit_writer_init(&bits, out, (u32)most);
        bits_put_unsigned(&bits, frame->event_count);
        for (u32 i = 0; i < frame->event_count; i++) {
            put_event(&bits, &frame->events[i]);
        }
        CHECK(!bits.failed);
        *bytes = bit_writer_bytes(&bits);
        if (spawned != NULL) {
            memcpy(out + aligned(*bytes), spawned, spawn_bytes);
            *bytes = aligned(*bytes) + spawn_bytes;
        }
    }
    message_free(spawned);
    return out;
}

/* Every comparison is false for NaN. */
static bool event_is_valid(const Event *event)
{
    const f32 at[3] = {event->position.x, event->position.y, event->position.z};
    bool valid = event->kind > EVENT_NONE && event->kind < EVENT_KIND_COUNT &&
                 event->element <= FIELD_ELEMENTS_MAX && event->impulse >= 0.0f &&
                 isfinite(event->impulse) && event->speed >= 0.0f && isfinite(event->speed);
    for (u32 a = 0; a < 3; a++) {
        valid = valid && fabsf(at[a]) <= WORLD_EXTENT_MAX_M;
    }
    return valid;
}

/* Of a SPAWN, all but its entity. */
static int get_event(BitReader *bits, Event *event)
{
    u32 numbers[6] = {0};
    bool fits = true;
    memset(event, 0, sizeof *event);
    event->kind = (u32)bits_get(bits, KIND_BITS);
    u32 members = (u32)bits_get(bits, MEMBER_BITS);
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        numbers[i] = (members >> i & 1) != 0 ? get_u32(bits, &fits) : 0;
    }
    event->user = numbers[0];
    event->sequence = numbers[1];
    event->code = (i32)numbers[2];
    event->a = numbers[3];
    event->b = numbers[4];
    event->element = numbers[5];
    if ((members & HAS_POSITION) != 0) {
        event->position.x = get_f32(bits);
        event->position.y = get_f32(bits);
        event->position.z = get_f32(bits);
    }
    event->impulse = (members & HAS_IMPULSE) != 0 ? get_f32(bits) : 0.0f;
    event->speed = (members & HAS_SPEED) != 0 ? get_f32(bits) : 0.0f;
    event->entity.id = event->kind == EVENT_DESPAWN ? get_u32(bits, &fits) : 0;
    if (bits->failed) {
        return ERROR_TRUNCATED;
    }
    return fits && event_is_valid(event) ? 0 : ERROR_FORMAT;
}

/* The entities of the spawns from their message. */
static int get_spawns(Event *events, u32 count, u32 spawns, const u8 *bytes, u32 size)
{
    Message message;
    u8 *storage = NULL;
    int result = message_decode(bytes, size, &message, &storage, NULL);
    if (result != 0) {
        return result;
    }
    bool same = message.kind == MESSAGE_EVENTS && message.events.count == spawns;
    for (u32 i = 0, n = 0; i < count && same; i++) {
        if (events[i].kind == EVENT_SPAWN) {
            same = message.events.events[n].kind == EVENT_SPAWN;
            events[i].entity = message.events.events[n++].entity;
        }
    }
    message_free(storage);
    return same ? 0 : ERROR_FORMAT;
}

void recording_drop_events(RecordingReader *reader)
{
    reader->event_count = 0;
}

static int reserve_events(RecordingReader *reader, u32 count)
{
    if (count > reader->event_capacity) {
        Event *larger = realloc(reader->events, (size_t)count * sizeof *larger);
        if (larger == NULL) {
            return ERROR_MEMORY;
        }
        reader->events = larger;
        reader->event_capacity = count;
    }
    return 0;
}

int recording_take_events(RecordingReader *reader, const RecordingBlock *block)
{
    BitReader bits;
    u32 spawns = 0;
    recording_drop_events(reader);
    bit_reader_init(&bits, reader->content, block->length);
    u64 count = bits_get_unsigned(&bits);
    if (count > EVENTS_MAX || count * EVENT_BITS_MIN > (u64)block->length * 8) {
        return ERROR_FORMAT;
    }
    int result = reserve_events(reader, (u32)count);
    for (u32 i = 0; i < (u32)count && result == 0; i++) {
        result = get_event(&bits, &reader->events[i]);
        spawns += reader->events[i].kind == EVENT_SPAWN;
    }
    u32 used = (bits.bit + 7) / 8;
    if (result == 0 && spawns > 0) {
        used = aligned(used);
        result = used >= block->length ? ERROR_TRUNCATED
                                       : get_spawns(reader->events, (u32)count, spawns,
                                                    reader->content + used, block->length - used);
    } else if (result == 0 && used != block->length) {
        result = ERROR_FORMAT;
    }
    if (result == 0) {
        reader->event_count = (u32)count;
        reader->events_tick = block->tick;
    }
    return result;
}
