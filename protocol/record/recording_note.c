/* recording_note.c: notes in recordings, and notes added to recordings that are closed. */
#include "protocol/record/recording_internal.h"
#include "shared/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

u32 recording_note_encode(const RecordingNote *note, u8 *out)
{
    RecordingFileNote file = {.kind = note->kind, .user = note->user};
    file.name_bytes = (u32)strnlen(note->name, sizeof note->name - 1);
    file.text_bytes = (u32)strnlen(note->text, sizeof note->text - 1);
    memcpy(out, &file, sizeof file);
    memcpy(out + sizeof file, note->name, file.name_bytes);
    memcpy(out + sizeof file + file.name_bytes, note->text, file.text_bytes);
    return (u32)sizeof file + file.name_bytes + file.text_bytes;
}

int recording_note_decode(const RecordingBlock *block, const u8 *content, RecordingNote *out)
{
    RecordingFileNote file;
    memset(out, 0, sizeof *out);
    if (block->length < sizeof file) {
        return ERROR_FORMAT;
    }
    memcpy(&file, content, sizeof file);
    if (file.kind == 0 || file.kind >= RECORDING_NOTE_KIND_COUNT ||
        file.name_bytes >= sizeof out->name || file.text_bytes >= sizeof out->text ||
        block->length != sizeof file + file.name_bytes + file.text_bytes) {
        return ERROR_FORMAT;
    }
    out->tick = block->tick;
    out->kind = file.kind;
    out->user = file.user;
    memcpy(out->name, content + sizeof file, file.name_bytes);
    memcpy(out->text, content + sizeof file + file.name_bytes, file.text_bytes);
    bool clean =
        text_is_clean(out->name, file.name_bytes) && text_is_clean(out->text, file.text_bytes);
    return clean ? 0 : ERROR_FORMAT;
}

/* The NOTE, and the index of the file moved behind it, as one piece of `*bytes` to append at
 * `offset`. NULL: out of memory. */
static u8 *tail_of(const RecordingNote *note, const RecordingBlock *index, const u8 *index_content,
                   u64 offset, size_t *bytes)
{
    size_t room = 2 * sizeof(RecordingBlock) + RECORDING_NOTE_BYTES_MAX + index->length;
    u8 *tail = malloc(room);
    if (tail == NULL) {
        return NULL;
    }
    u8 *content = tail + sizeof(RecordingBlock);
    RecordingBlock block = {.type = BLOCK_NOTE, .tick = note->tick};
    block.length = recording_note_encode(note, content);
    block.check = recording_block_check(&block, content);
    memcpy(tail, &block, sizeof block);
    u64 at = offset + sizeof block + block.length;
    u8 *moved = content + block.length;
    content = moved + sizeof block;
    memcpy(content, index_content, index->length - sizeof at);
    memcpy(content + index->length - sizeof at, &at, sizeof at);
    block = *index;
    block.check = recording_block_check(&block, content);
    memcpy(moved, &block, sizeof block);
    *bytes = (size_t)(content + index->length - tail);
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
