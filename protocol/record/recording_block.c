/* recording_block.c: the blocks of a recording: checksums, marks (positions of some of them),
 * reading one. */
#include "protocol/record/recording_internal.h"
#include "shared/base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- marks ---- */

bool recording_marks_push(RecordingMarks *marks, u64 tick, u64 offset)
{
    if (marks->count == marks->capacity) {
        u32 capacity = marks->capacity != 0 ? marks->capacity * 2 : 64;
        RecordingMark *items = realloc(marks->items, capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        marks->items = items;
        marks->capacity = capacity;
    }
    RecordingMark mark = {tick, offset};
    marks->items[marks->count++] = mark;
    return true;
}

i64 recording_marks_last(const RecordingMarks *marks, u64 tick)
{
    u32 low = 0, high = marks->count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (marks->items[middle].tick <= tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (i64)low - 1;
}

bool recording_event_is_entity(const Event *event)
{
    return event->kind == EVENT_SPAWN || event->kind == EVENT_DESPAWN || event->kind == EVENT_RESET;
}

/* ---- blocks ---- */

enum {
    MARK = 0xB0, /* high bits of the first byte of a header; the low four are the number of the
                  * type */
    NUMBER_BITS = 4,
    WINDOW_BYTES_MIN = 4 << 10,
    WINDOW_BYTES_MAX = 64 << 10,
};

/* Types by number. */
static const u32 types[] = {0,          BLOCK_KEYF, BLOCK_DLTA, BLOCK_INPT, BLOCK_EVNT, BLOCK_NOTE,
                            BLOCK_GAPS, BLOCK_PRNT, BLOCK_IMAG, BLOCK_SYST, BLOCK_INDX};

/* HEAD is stored as its letters. */
static u32 number_of(u32 type)
{
    u32 number = 1;
    while (number < PL_COUNT(types) && types[number] != type) {
        number++;
    }
    return number < PL_COUNT(types) ? number : type;
}

u64 recording_block_check(const RecordingBlock *block, const void *content)
{
    u64 seed = block->tick ^ (u64)number_of(block->type) << 32 ^ block->length;
    u64 check = hash_bytes(content, block->length, seed);
    return block->type == BLOCK_HEAD ? check : (u32)check;
}

u32 recording_varint_put(u64 value, u8 *out)
{
    u32 used = 0;
    for (; value >= 128; value >>= 7) {
        out[used++] = (u8)(value | 128);
    }
    out[used++] = (u8)value;
    return used;
}

int recording_varint_get(const u8 *at, size_t bytes, u64 *value)
{
    *value = 0;
    for (u32 i = 0; i < RECORDING_VARINT_MAX; i++) {
        if (i >= bytes) {
            return ERROR_TRUNCATED;
        }
        *value |= (u64)(at[i] & 127) << (7 * i);
        if (at[i] < 128) {
            bool longer = i > 0 && at[i] == 0; /* a longer varint than needed */
            bool beyond = i + 1 == RECORDING_VARINT_MAX && at[i] > 1;
            return longer || beyond ? ERROR_FORMAT : (int)i + 1;
        }
    }
    return ERROR_FORMAT;
}

u32 recording_block_put(const RecordingBlock *block, u8 *out)
{
    if (block->type == BLOCK_HEAD) {
        RecordingFileBlock head = {block->type, block->length, block->tick, block->check};
        memcpy(out, &head, sizeof head);
        return sizeof head;
    }
    u32 used = 0, check = (u32)block->check;
    out[used++] = (u8)(MARK | number_of(block->type));
    used += recording_varint_put(block->length, out + used);
    used += recording_varint_put(block->tick, out + used);
    memcpy(out + used, &check, sizeof check);
    return used + sizeof check;
}

static int get_head(const u8 *at, size_t bytes, RecordingBlock *block)
{
    RecordingFileBlock head;
    if (bytes < sizeof head) {
        return ERROR_TRUNCATED;
    }
    memcpy(&head, at, sizeof head);
    *block = (RecordingBlock){head.type, head.length, head.tick, head.check, sizeof head};
    return head.length > RECORDING_BLOCK_BYTES_MAX ? ERROR_FORMAT : 0;
}

int recording_block_get(const u8 *at, size_t bytes, RecordingBlock *block)
{
    const u32 head = BLOCK_HEAD;
    if (bytes >= sizeof head && memcmp(at, &head, sizeof head) == 0) {
        return get_head(at, bytes, block);
    }
    u32 number = bytes > 0 ? at[0] & ((1u << NUMBER_BITS) - 1) : 0, used = 1, check;
    u64 length, tick;
    memset(block, 0, sizeof *block);
    if (bytes == 0) {
        return ERROR_TRUNCATED;
    }
    if ((at[0] ^ MARK) >> NUMBER_BITS != 0 || number == 0) {
        return ERROR_FORMAT;
    }
    block->type = number < PL_COUNT(types) ? types[number] : number;
    int result = recording_varint_get(at + used, bytes - used, &length);
    used += result > 0 ? (u32)result : 0;
    result = result > 0 ? recording_varint_get(at + used, bytes - used, &tick) : result;
    used += result > 0 ? (u32)result : 0;
    if (result < 0 || bytes - used < sizeof check) {
        return result < 0 ? result : ERROR_TRUNCATED;
    }
    memcpy(&check, at + used, sizeof check);
    block->length = (u32)length;
    block->tick = tick;
    block->check = check;
    block->head_bytes = used + sizeof check;
    return length > RECORDING_BLOCK_BYTES_MAX ? ERROR_FORMAT : 0;
}

/* Reads at least `least` bytes at `offset`, and up to `most` if they are there. 0,
 * ERROR_TRUNCATED, ERROR_IO. */
static int read_file(int fd, u64 offset, u8 *out, size_t least, size_t most, size_t *count)
{
    *count = 0;
    while (*count < least) {
        ssize_t got = pread(fd, out + *count, most - *count, (off_t)(offset + *count));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? ERROR_TRUNCATED : ERROR_IO;
        }
        *count += (size_t)got;
    }
    return 0;
}

/* Moves the window to `offset`, so that it contains at least `bytes` bytes. Whoever reads on gets a
 * window of twice the size, whoever jumps the smallest. */
static int move_window(RecordingReader *reader, u64 offset, size_t bytes)
{
    RecordingWindow *window = &reader->window;
    u64 end = window->offset + window->count;
    bool on = window->count != 0 && offset >= window->offset && offset <= end + WINDOW_BYTES_MIN;
    size_t size = on ? 2 * window->count : WINDOW_BYTES_MIN;
    size = size > WINDOW_BYTES_MAX ? WINDOW_BYTES_MAX : size;
    size = size < bytes ? bytes : size;
    window->count = 0;
    int result = recording_reserve(&window->bytes, &window->capacity, size);
    if (result == 0) {
        result = read_file(reader->fd, offset, window->bytes, bytes, size, &window->count);
    }
    window->offset = offset;
    window->count = result == 0 ? window->count : 0;
    return result;
}

int recording_read_at(RecordingReader *reader, u64 offset, void *out, size_t bytes)
{
    const RecordingWindow *window = &reader->window;
    if (reader->memory != NULL) {
        if (offset > reader->file_bytes || bytes > reader->file_bytes - offset) {
            return ERROR_TRUNCATED;
        }
        memcpy(out, reader->memory + offset, bytes);
        return 0;
    }
    if (bytes >= WINDOW_BYTES_MAX) {
        size_t count;
        return read_file(reader->fd, offset, out, bytes, bytes, &count);
    }
    u64 at = offset - window->offset; /* before the window: wraps to far beyond it */
    if (at > window->count || bytes > window->count - at) {
        int result = move_window(reader, offset, bytes);
        if (result != 0) {
            return result;
        }
    }
    memcpy(out, window->bytes + (offset - window->offset), bytes);
    return 0;
}

int recording_reserve(u8 **memory, size_t *capacity, size_t bytes)
{
    if (*capacity < bytes) {
        u8 *larger = realloc(*memory, bytes + bytes / 2);
        if (larger == NULL) {
            return ERROR_MEMORY;
        }
        *memory = larger;
        *capacity = bytes + bytes / 2;
    }
    return 0;
}

int recording_read_header(RecordingReader *reader, u64 offset, RecordingBlock *block)
{
    u8 head[RECORDING_BLOCK_HEADER_MAX];
    memset(block, 0, sizeof *block);
    if (offset >= reader->file_bytes) {
        return ERROR_TRUNCATED;
    }
    size_t bytes = (size_t)u64_min(sizeof head, reader->file_bytes - offset);
    int result = recording_read_at(reader, offset, head, bytes);
    if (result == 0) {
        result = recording_block_get(head, bytes, block);
    }
    if (result == 0 && block->length > reader->file_bytes - offset - block->head_bytes) {
        result = ERROR_TRUNCATED;
    }
    return result;
}

int recording_read_block(RecordingReader *reader, u64 offset, RecordingBlock *block)
{
    int result = recording_read_header(reader, offset, block);
    if (result != 0) {
        return result;
    }
    result = recording_reserve(&reader->content, &reader->content_capacity, block->length + 1u);
    if (result == 0) {
        result =
            recording_read_at(reader, offset + block->head_bytes, reader->content, block->length);
    }
    if (result == 0 && recording_block_check(block, reader->content) != block->check) {
        result = ERROR_FORMAT;
    }
    return result;
}
