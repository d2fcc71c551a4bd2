/* recording_note.c: notes in recordings. */
#include "protocol/record/recording_internal.h"
#include "shared/base/text.h"

#include <string.h>

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
