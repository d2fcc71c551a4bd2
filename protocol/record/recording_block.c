/* recording_block.c: the blocks of a recording: checksums, where some are (marks), reading one. */
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

u64 recording_block_check(const RecordingBlock *block, const void *content)
{
    u64 seed = block->tick ^ (u64)block->type << 32 ^ block->length;
    return hash_bytes(content, block->length, seed);
}

int recording_read_at(const RecordingReader *reader, u64 offset, void *out, size_t bytes)
{
    size_t done = 0;
    if (reader->memory != NULL) {
        if (offset > reader->file_bytes || bytes > reader->file_bytes - offset) {
            return ERROR_TRUNCATED;
        }
        memcpy(out, reader->memory + offset, bytes);
        return 0;
    }
    while (done < bytes) {
        ssize_t got = pread(reader->fd, (u8 *)out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got == 0 ? ERROR_TRUNCATED : ERROR_IO;
        }
        done += (size_t)got;
    }
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

int recording_read_block(RecordingReader *reader, u64 offset, RecordingBlock *block)
{
    if (offset + sizeof *block > reader->file_bytes) {
        return ERROR_TRUNCATED;
    }
    int result = recording_read_at(reader, offset, block, sizeof *block);
    if (result != 0) {
        return result;
    }
    if (block->length > RECORDING_BLOCK_BYTES_MAX) {
        return ERROR_FORMAT;
    }
    if (block->length > reader->file_bytes - offset - sizeof *block) {
        return ERROR_TRUNCATED;
    }
    result = recording_reserve(&reader->content, &reader->content_capacity, block->length + 1u);
    if (result == 0) {
        result = recording_read_at(reader, offset + sizeof *block, reader->content, block->length);
    }
    if (result == 0 && recording_block_check(block, reader->content) != block->check) {
        result = ERROR_FORMAT;
    }
    return result;
}
