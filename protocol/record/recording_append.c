/* recording_append.c: adds notes to closed recordings. */
#include "protocol/record/recording_internal.h"
#include "shared/base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The NOTE, followed by a copy of the file's index, as one piece of `*bytes` bytes to append at
 * `offset`. NULL: out of memory. */
static u8 *tail_of(const RecordingNote *note, const RecordingBlock *index, const u8 *index_content,
                   u64 offset, size_t *bytes)
{
    size_t room = 2 * RECORDING_BLOCK_HEADER_MAX + RECORDING_NOTE_BYTES_MAX + index->length;
    u8 *tail = malloc(room);
    if (tail == NULL) {
        return NULL;
    }
    u8 content[RECORDING_NOTE_BYTES_MAX];
    RecordingBlock block = {.type = BLOCK_NOTE, .tick = note->tick};
    block.length = recording_note_encode(note, content);
    block.check = recording_block_check(&block, content);
    u32 used = recording_block_put(&block, tail);
    memcpy(tail + used, content, block.length);
    used += block.length;
    u64 at = offset + used;
    u8 *moved = tail + used + index->head_bytes; /* the length of its header does not change */
    memcpy(moved, index_content, index->length - sizeof at);
    memcpy(moved + index->length - sizeof at, &at, sizeof at);
    block = *index;
    block.check = recording_block_check(&block, moved);
    CHECK(recording_block_put(&block, tail + used) == index->head_bytes);
    *bytes = (size_t)used + index->head_bytes + index->length;
    return tail;
}

static int append_all(const char *path, u64 offset, const u8 *tail, size_t bytes, ErrorText *error)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return error_set(error, ERROR_IO, "%s: cannot be changed: %s", path, strerror(errno));
    }
    int result = ERROR_OK;
    if (lseek(fd, 0, SEEK_END) != (off_t)offset) {
        result = error_set(error, ERROR_STATE, "%s: is being written by another program", path);
    } else if (write(fd, tail, bytes) != (ssize_t)bytes) {
        result = error_set(error, ERROR_IO, "%s: cannot be changed: %s", path, strerror(errno));
        if (ftruncate(fd, (off_t)offset) != 0) {
            result = error_set(error, ERROR_IO, "%s: ends with half a note", path);
        }
    }
    close(fd);
    return result;
}

int recording_append_note(const char *path, const RecordingNote *note, ErrorText *error)
{
    RecordingReader *reader = recording_reader_create(path, error);
    if (reader == NULL) {
        return error != NULL ? error->code : ERROR_FORMAT;
    }
    RecordingBlock index = {0};
    int result = ERROR_OK;
    if (!reader->info.clean) {
        result = error_set(error, ERROR_STATE,
                           "%s: was not closed cleanly: nothing can be added to it", path);
    } else {
        result = recording_read_block(reader, reader->end, &index);
    }
    size_t bytes = 0;
    u8 *tail =
        result == 0 ? tail_of(note, &index, reader->content, reader->file_bytes, &bytes) : NULL;
    if (result == 0 && tail == NULL) {
        result = error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    if (result == 0) {
        result = append_all(path, reader->file_bytes, tail, bytes, error);
    }
    free(tail);
    recording_reader_destroy(reader);
    return result;
}
