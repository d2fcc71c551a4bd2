/*
 * recording_read.c: reads untrusted .plrec files: every length is checked before use, every block's
 * checksum is compared, and the recording ends at the first invalid block.
 */
#include "protocol/record/build_text.h"
#include "protocol/record/recording_internal.h"
#include "shared/base/check.h"
#include "shared/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- content ---- */

static int take_frame(RecordingReader *reader, const RecordingBlock *block)
{
    Frame *frame;
    int result = recording_ahead_take(reader, block, &frame);
    if (result == 0) {
        frame_release(reader->current);
        reader->current = frame;
    }
    return result;
}

/* The first part describes the image; it is decompressed on request. */
static int image_seen(RecordingReader *reader, const RecordingBlock *block)
{
    RecordingImage image;
    u32 part;
    int result = recording_take_image(reader, block, reader->offset, &image, &part);
    if (result == 0 && part == 0) {
        reader->image = image;
        reader->image_here = true;
    }
    return result;
}

/* Decodes the next tick into current. 0, ERROR_NOT_FOUND at the end, other: damaged. */
static int advance(RecordingReader *reader)
{
    reader->input_count = 0;
    reader->image_here = false;
    recording_drop_events(reader);
    u64 tick = 0;
    while (reader->offset < reader->end) {
        RecordingBlock block;
        int result = recording_read_block(reader, reader->offset, &block);
        if (result != 0) {
            return result;
        }
        bool frame = block.type == BLOCK_KEYF || block.type == BLOCK_DLTA;
        if (frame && reader->input_count != 0 && tick != block.tick) {
            return ERROR_FORMAT;
        }
        tick = block.tick;
        if (block.type == BLOCK_INPT) {
            result = recording_take_inputs(reader, &block);
        } else if (block.type == BLOCK_EVNT) {
            result = recording_take_events(reader, &block);
        } else if (frame) {
            result = take_frame(reader, &block);
        } else if (block.type == BLOCK_IMAG) {
            result = image_seen(reader, &block);
        } else if (block.type == BLOCK_INDX) {
            return ERROR_NOT_FOUND;
        } /* otherwise a block type of a later version: skipped */
        if (result != 0) {
            return result;
        }
        reader->offset += recording_block_bytes(&block);
        if (frame) {
            reader->image_here = reader->image_here && reader->image.tick == tick;
            entity_list_frame(&reader->entities, reader->current);
            reader->entities_tick = tick;
            return 0;
        }
    }
    return ERROR_NOT_FOUND;
}

/* ---- index ---- */

/* Uses the index at the end of a cleanly closed file; false if missing or inconsistent. */
static bool use_index(RecordingReader *reader)
{
    u64 offset;
    RecordingBlock block;
    if (reader->file_bytes < reader->start + sizeof(RecordingFileIndex) + 8 ||
        recording_read_at(reader, reader->file_bytes - 8, &offset, 8) != 0 ||
        offset < reader->start || recording_read_block(reader, offset, &block) != 0 ||
        block.type != BLOCK_INDX || offset + recording_block_bytes(&block) != reader->file_bytes) {
        return false;
    }
    RecordingFileIndex index;
    if (block.length < sizeof index + 8) {
        return false;
    }
    memcpy(&index, reader->content, sizeof index);
    u64 marks = (u64)index.key_count + index.event_count;
    if (block.length != sizeof index + marks * sizeof(RecordingMark) + 8 || index.key_count == 0 ||
        index.ticks == 0 || index.first_tick > index.last_tick) {
        return false; /* every recording with a tick has a key frame */
    }
    const u8 *at = reader->content + sizeof index;
    RecordingMark before = {0, 0};
    for (u64 i = 0; i < marks; i++, at += sizeof(RecordingMark)) {
        RecordingMark mark;
        memcpy(&mark, at, sizeof mark);
        bool key = i < index.key_count;
        bool first = i == 0 || i == index.key_count;
        if (mark.offset < reader->start || mark.offset >= offset ||
            (!first && (mark.tick <= before.tick || mark.offset <= before.offset)) ||
            !recording_marks_push(key ? &reader->keys : &reader->entity_events, mark.tick,
                                  mark.offset)) {
            reader->keys.count = 0;
            reader->entity_events.count = 0;
            return false;
        }
        before = mark;
    }
    reader->info.first_tick = index.first_tick;
    reader->info.last_tick = index.last_tick;
    reader->info.ticks = index.ticks;
    reader->info.inputs = index.inputs;
    reader->info.events = index.events;
    reader->end = offset;
    return true;
}

/* Counts of the current tick of a scan, added to the totals once its frame is complete. */
typedef struct ScanTick {
    u64 offset; /* offset of its first block */
    u64 inputs, events;
    u64 entity_mark; /* offset of an EVNT that changes entities, 0: none */
} ScanTick;

static int scan_block(RecordingReader *reader, const RecordingBlock *block, u64 offset,
                      ScanTick *tick)
{
    if (tick->offset == 0) {
        tick->offset = offset;
    }
    if (block->type == BLOCK_INPT) {
        BitReader bits;
        bit_reader_init(&bits, reader->content, block->length);
        tick->inputs += bits_get_unsigned(&bits);
        return 0;
    }
    if (block->type == BLOCK_EVNT) {
        int result = recording_take_events(reader, block);
        if (result != 0) {
            return result;
        }
        tick->events += reader->event_count;
        for (u32 i = 0; i < reader->event_count; i++) {
            if (recording_event_is_entity(&reader->events[i])) {
                tick->entity_mark = offset;
            }
        }
        recording_drop_events(reader);
        return 0;
    }
    if (block->type != BLOCK_KEYF && block->type != BLOCK_DLTA) {
        return 0;
    }
    bool first = reader->info.ticks == 0;
    if ((first && block->type != BLOCK_KEYF) || (!first && block->tick <= reader->info.last_tick)) {
        return ERROR_FORMAT;
    }
    if ((block->type == BLOCK_KEYF &&
         !recording_marks_push(&reader->keys, block->tick, tick->offset)) ||
        (tick->entity_mark != 0 &&
         !recording_marks_push(&reader->entity_events, block->tick, tick->entity_mark))) {
        return ERROR_MEMORY;
    }
    reader->info.first_tick = first ? block->tick : reader->info.first_tick;
    reader->info.last_tick = block->tick;
    reader->info.ticks++;
    reader->info.inputs += tick->inputs;
    reader->info.events += tick->events;
    reader->end = offset + recording_block_bytes(block);
    ScanTick next = {0};
    *tick = next;
    return 0;
}

/* Reads every block up to the first truncated or damaged one. */
static int rebuild_index(RecordingReader *reader)
{
    u64 offset = reader->start;
    ScanTick tick = {0};
    reader->end = reader->start;
    for (;;) {
        RecordingBlock block;
        int result = recording_read_block(reader, offset, &block);
        if (result == ERROR_MEMORY || result == ERROR_IO) {
            return result;
        }
        if (result != 0) {
            break;
        }
        result = scan_block(reader, &block, offset, &tick);
        if (result == ERROR_MEMORY) {
            return result;
        }
        if (result != 0) {
            break;
        }
        offset += recording_block_bytes(&block);
    }
    reader->info.torn_bytes = reader->file_bytes - reader->end;
    return 0;
}

/* ---- opening ---- */

static int refuse_version(const char *path, const RecordingFileHead *file, ErrorText *error)
{
    char build[sizeof file->build + 1];
    build_text(file->build, sizeof file->build, build);
    return error_set(error, ERROR_VERSION,
                     "%s: a recording of version %u, written by \"%s\", which can read it; this "
                     "program reads version %d",
                     path, file->version, build, RECORDING_VERSION);
}

static int read_head(RecordingReader *reader, const char *path, ErrorText *error)
{
    RecordingBlock block;
    RecordingFileHead file;
    int result = recording_read_block(reader, 0, &block);
    if (result != 0 || block.type != BLOCK_HEAD || block.length <= sizeof file ||
        memcmp(reader->content, RECORDING_MAGIC, sizeof file.magic) != 0) {
        return error_set(error, ERROR_FORMAT,
                         "%s: not a Plenum recording: its first block must be a complete HEAD",
                         path);
    }
    memcpy(&file, reader->content, sizeof file);
    if (file.version != RECORDING_VERSION) {
        return refuse_version(path, &file, error);
    }
    if (file.tick_rate < TICK_RATE_MIN || file.tick_rate > TICK_RATE_MAX) {
        return error_set(error, ERROR_RANGE, "%s: tick rate %u: must be %d to %d", path,
                         file.tick_rate, TICK_RATE_MIN, TICK_RATE_MAX);
    }
    bool stream = reader->memory != NULL; /* pieces of streams end anywhere */
    if (file.picture_ticks == 0 ||
        file.picture_ticks > (stream ? 1 : RECORDING_PICTURE_TICKS_MAX)) {
        return error_set(error, ERROR_RANGE, "%s: a picture every %u ticks: must be 1 to %d", path,
                         file.picture_ticks, stream ? 1 : RECORDING_PICTURE_TICKS_MAX);
    }
    if (file.coarse_shift > (stream ? 0 : RECORDING_COARSE_SHIFT_MAX)) {
        return error_set(error, ERROR_RANGE, "%s: moving points lack %u bits: must be 0 to %d",
                         path, file.coarse_shift, stream ? 0 : RECORDING_COARSE_SHIFT_MAX);
    }
    reader->head_memory = reader->content; /* kept: the message may point into it */
    reader->content = NULL;
    reader->content_capacity = 0;
    Message message;
    result = message_decode(reader->head_memory + sizeof file, block.length - (u32)sizeof file,
                            &message, &reader->head_storage, error);
    if (result != 0 || message.kind != MESSAGE_WORLD) {
        error_prefix(error, "%s", path);
        return result != 0 ? result
                           : error_set(error, ERROR_FORMAT, "%s: HEAD contains no world", path);
    }
    reader->head.version = file.version;
    reader->head.tick_rate = file.tick_rate;
    reader->head.picture_ticks = file.picture_ticks;
    reader->head.coarse_shift = reader->trail.coarse_shift = file.coarse_shift;
    reader->head.created_unix_s = file.created_unix_s;
    memcpy(reader->head.build, file.build, sizeof file.build);
    reader->head.build[sizeof file.build - 1] = 0;
    reader->head.world = message.world;
    reader->fields = field_set_create(message.world.fields, message.world.field_count);
    if (reader->fields == NULL ||
        entity_list_set(&reader->entities, reader->fields, message.world.entities,
                        message.world.entity_count) != 0) {
        return error_set(error, ERROR_FORMAT, "%s: HEAD: fields or entities do not fit", path);
    }
    reader->start = recording_block_bytes(&block);
    /* A damaged PRNT is reported by recording_reader_check only. */
    if (recording_read_block(reader, reader->start, &block) == 0 && block.type == BLOCK_PRNT) {
        (void)recording_take_parent(reader, &block, &reader->head.parent);
    }
    return 0;
}

RecordingReader *recording_reader_create(const char *path, ErrorText *error)
{
    RecordingReader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    struct stat status;
    reader->fd = -1;
    if (!recording_trail_init(&reader->trail)) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        recording_reader_destroy(reader);
        return NULL;
    }
    reader->fd = file_open(path, UINT64_MAX, error);
    if (reader->fd < 0 || fstat(reader->fd, &status) != 0) {
        recording_reader_destroy(reader);
        return NULL;
    }
    reader->file_bytes = (u64)status.st_size;
    reader->info.bytes = reader->file_bytes;
    if (read_head(reader, path, error) != 0) {
        recording_reader_destroy(reader);
        return NULL;
    }
    reader->info.clean = use_index(reader);
    int result = reader->info.clean ? 0 : rebuild_index(reader);
    if (result != 0 || reader->info.ticks == 0) {
        error_set(error, result != 0 ? result : ERROR_TRUNCATED, "%s: %s", path,
                  result != 0 ? error_name(result) : "contains no complete tick");
        recording_reader_destroy(reader);
        return NULL;
    }
    reader->info.key_frames = reader->keys.count;
    reader->offset = reader->start;
    return reader;
}

void recording_reader_feed(RecordingReader *reader, const u8 *blocks, size_t bytes)
{
    CHECK(reader->fd < 0);
    reader->memory = blocks;
    reader->file_bytes = reader->end = bytes;
    reader->offset = 0;
}

RecordingReader *recording_reader_create_stream(const u8 *blocks, size_t bytes, ErrorText *error)
{
    RecordingReader *reader = calloc(1, sizeof *reader);
    if (reader != NULL) {
        reader->fd = -1;
    }
    if (reader == NULL || !recording_trail_init(&reader->trail)) {
        error_set(error, ERROR_MEMORY, "out of memory for a stream");
        recording_reader_destroy(reader);
        return NULL;
    }
    recording_reader_feed(reader, blocks, bytes);
    if (read_head(reader, "stream", error) != 0) {
        recording_reader_destroy(reader);
        return NULL;
    }
    reader->offset = reader->start;
    return reader;
}

void recording_reader_destroy(RecordingReader *reader)
{
    if (reader == NULL) {
        return;
    }
    if (reader->fd >= 0) {
        close(reader->fd);
    }
    frame_release(reader->current);
    recording_ahead_drop(reader);
    recording_trail_finish(&reader->trail);
    entity_list_finish(&reader->entities);
    field_set_release(reader->fields);
    message_free(reader->head_storage);
    free(reader->head_memory);
    free(reader->keys.items);
    free(reader->entity_events.items);
    free(reader->window.bytes);
    free(reader->content);
    free(reader->inputs);
    free(reader->events);
    free(reader);
}

const RecordingHead *recording_reader_head(const RecordingReader *reader)
{
    return &reader->head;
}

const RecordingInfo *recording_reader_info(const RecordingReader *reader)
{
    return &reader->info;
}

/* ---- moving ---- */

/* Restores the entity list as of just before `tick`, reading only the events that change it. */
static int entities_before(RecordingReader *reader, u64 tick)
{
    bool restart = reader->entities_tick >= tick;
    if (restart) {
        const MessageWorld *world = &reader->head.world;
        int result = entity_list_set(&reader->entities, reader->fields, world->entities,
                                     world->entity_count);
        if (result != 0) {
            return result;
        }
        reader->entities_tick = 0;
    }
    bool from_start = reader->entities_tick == 0;
    u32 next = from_start
                   ? 0
                   : (u32)(recording_marks_last(&reader->entity_events, reader->entities_tick) + 1);
    for (; next < reader->entity_events.count; next++) {
        RecordingMark mark = reader->entity_events.items[next];
        if (mark.tick >= tick) {
            break;
        }
        RecordingBlock block;
        int result = recording_read_block(reader, mark.offset, &block);
        if (result == 0 && block.type != BLOCK_EVNT) {
            result = ERROR_FORMAT;
        }
        if (result == 0) {
            result = recording_take_events(reader, &block);
        }
        if (result != 0) {
            return result;
        }
        for (u32 i = 0; i < reader->event_count; i++) {
            entity_list_event(&reader->entities, reader->fields, &reader->events[i]);
        }
        reader->entities_tick = mark.tick;
    }
    recording_drop_events(reader);
    return 0;
}

int recording_reader_seek(RecordingReader *reader, u64 tick)
{
    reader->pending = false;
    if (tick > reader->info.last_tick) {
        reader->offset = reader->end;
        return entities_before(reader, tick);
    }
    i64 key = recording_marks_last(&reader->keys, tick);
    RecordingMark mark = reader->keys.items[key < 0 ? 0 : key];
    int result = entities_before(reader, mark.tick);
    if (result != 0) {
        return result;
    }
    frame_release(reader->current);
    reader->current = NULL;
    recording_ahead_drop(reader);
    reader->show_from = tick;
    reader->hands.known = false;
    reader->offset = mark.offset;
    do {
        result = advance(reader);
    } while (result == 0 && reader->current->tick < tick);
    reader->pending = result == 0;
    return result;
}

int recording_reader_next(RecordingReader *reader, Frame **frame, const Input **inputs,
                          u32 *input_count)
{
    *frame = NULL;
    if (!reader->pending) {
        int result = advance(reader);
        if (result != 0) {
            return result;
        }
    }
    reader->pending = false;
    *frame = frame_acquire(reader->current);
    if (inputs != NULL) {
        *inputs = reader->inputs;
        *input_count = reader->input_count;
    }
    return 0;
}

u64 recording_reader_key_at(const RecordingReader *reader, u64 tick)
{
    i64 key = recording_marks_last(&reader->keys, tick);
    return reader->keys.items[key < 0 ? 0 : key].tick;
}

bool recording_reader_entities_change(const RecordingReader *reader, u64 from, u64 to)
{
    return recording_marks_last(&reader->entity_events, from) !=
           recording_marks_last(&reader->entity_events, to);
}

int recording_reader_entities_at(RecordingReader *reader, u64 tick,
                                 const struct EntityList **entities)
{
    reader->pending = false;
    int result = entities_before(reader, tick + 1);
    *entities = &reader->entities;
    return result;
}

u64 recording_reader_key_after(const RecordingReader *reader, u64 tick)
{
    u32 next = (u32)(recording_marks_last(&reader->keys, tick) + 1);
    return next < reader->keys.count ? reader->keys.items[next].tick : 0;
}

u32 recording_reader_entities(const RecordingReader *reader, Entity *entities, u32 max)
{
    u32 count = u32_min(max, reader->entities.count);
    if (count != 0) {
        memcpy(entities, reader->entities.items, count * sizeof *entities);
    }
    return count;
}
