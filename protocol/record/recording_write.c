/*
 * recording_write.c: appends a session to a .plrec file. One buffer, one append-only descriptor;
 * written data survives the process, synced data survives the machine.
 */
#include "protocol/record/recording_format.h"

#include "shared/base/check.h"
#include "shared/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

enum {
    BUFFER_FLUSH_BYTES = 64 << 10,
    ZSTD_LEVEL = 3
};

struct RecordingWriter {
    int fd;        /* −1: a stream, whose blocks stay in the buffer until taken */
    int failed;    /* Error that stopped the recording, 0: none */
    int io_errno;  /* errno of the last failed write */
    u64 safe_tick; /* last tick whose frame is in the file */
    u8 *buffer;    /* bytes not yet written */
    size_t used, capacity;
    u64 offset;  /* file offset of the buffer's start */
    u8 *scratch; /* content of the current block */
    size_t scratch_capacity;
    RecordingTrail trail;
    RecordingHands hands;
    u64 key_ticks; /* ticks between key frames */
    u64 key_due;
    u64 picture_ticks; /* ticks between pictures at most */
    u64 picture_due;
    bool jumped; /* the world was rewound or loaded: deltas across it would be large */
    RecordingFileIndex index;
    RecordingMarks keys, entity_events;
    RecordingSystems systems; /* of the last ticks, not yet in a block */
};

static bool reserve(u8 **memory, size_t *capacity, size_t bytes)
{
    if (*capacity >= bytes) {
        return true;
    }
    size_t larger = *capacity != 0 ? *capacity : BUFFER_FLUSH_BYTES;
    while (larger < bytes) {
        larger *= 2;
    }
    u8 *moved = realloc(*memory, larger);
    if (moved == NULL) {
        return false;
    }
    *memory = moved;
    *capacity = larger;
    return true;
}

/* Writes the whole buffer or nothing: after a failure the file is truncated to whole blocks, and
 * the buffer can be written later. */
static int write_out(RecordingWriter *writer)
{
    CHECK(writer->used <= writer->capacity);
    size_t done = 0;
    while (done < writer->used) {
        ssize_t wrote = write(writer->fd, writer->buffer + done, writer->used - done);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        if (wrote <= 0) {
            writer->io_errno = wrote < 0 ? errno : ENOSPC;
            if (done > 0 && ftruncate(writer->fd, (off_t)writer->offset) != 0) {
                writer->failed = ERROR_IO; /* the file ends with a partial block: leave it there */
            }
            return ERROR_IO;
        }
        done += (size_t)wrote;
    }
    writer->offset += writer->used;
    writer->used = 0;
    writer->safe_tick = writer->index.last_tick;
    return 0;
}

static bool is_stream(const RecordingWriter *writer)
{
    return writer->fd < 0;
}

static u64 position(const RecordingWriter *writer)
{
    return writer->offset + writer->used;
}

static int put_block(RecordingWriter *writer, u32 type, u64 tick, const void *content, size_t bytes)
{
    if (bytes > RECORDING_BLOCK_BYTES_MAX) {
        return writer->failed = ERROR_LIMIT;
    }
    RecordingBlock block = {.type = type, .length = (u32)bytes, .tick = tick};
    block.check = recording_block_check(&block, content);
    size_t most = writer->used + RECORDING_BLOCK_HEADER_MAX + bytes;
    if (!reserve(&writer->buffer, &writer->capacity, most)) {
        return writer->failed = ERROR_MEMORY;
    }
    writer->used += recording_block_put(&block, writer->buffer + writer->used);
    memcpy(writer->buffer + writer->used, content, bytes);
    writer->used += bytes;
    return 0;
}

static int put_parent(RecordingWriter *writer, const RecordingHead *head)
{
    const RecordingParent *parent = &head->parent;
    u8 content[sizeof(RecordingFileParent) + RECORDING_PARENT_NAME_MAX];
    RecordingFileParent file = {.tick = parent->tick, .created_unix_s = parent->created_unix_s};
    file.name_bytes = (u32)strnlen(parent->name, sizeof parent->name - 1);
    if (file.name_bytes == 0) {
        return 0;
    }
    memcpy(content, &file, sizeof file);
    memcpy(content + sizeof file, parent->name, file.name_bytes);
    return put_block(writer, BLOCK_PRNT, head->world.tick, content, sizeof file + file.name_bytes);
}

static int put_head(RecordingWriter *writer, const RecordingHead *head)
{
    RecordingFileHead file = {.version = RECORDING_VERSION,
                              .tick_rate = head->tick_rate,
                              .created_unix_s = head->created_unix_s,
                              .picture_ticks = (u32)writer->picture_ticks,
                              .coarse_shift = writer->trail.coarse_shift};
    memcpy(file.magic, RECORDING_MAGIC, sizeof file.magic);
    memcpy(file.build, head->build, sizeof file.build);
    file.build[sizeof file.build - 1] = 0;
    Message message = {.kind = MESSAGE_WORLD};
    message.world = head->world;
    if (message.world.epoch == 0) {
        message.world.epoch = 1; /* 0 is not a valid epoch on the wire; unused in files */
    }
    u32 bytes;
    u8 *world = message_encode(&message, &bytes);
    if (world == NULL ||
        !reserve(&writer->scratch, &writer->scratch_capacity, sizeof file + bytes)) {
        message_free(world);
        return writer->failed = ERROR_LIMIT;
    }
    memcpy(writer->scratch, &file, sizeof file);
    memcpy(writer->scratch + sizeof file, world, bytes);
    message_free(world);
    put_block(writer, BLOCK_HEAD, head->world.tick, writer->scratch, sizeof file + bytes);
    put_parent(writer, head);
    if (writer->failed == 0 && !is_stream(writer)) {
        writer->failed = write_out(writer); /* without a HEAD there is no recording */
    }
    return writer->failed;
}

RecordingWriter *recording_writer_create(const char *path, const RecordingHead *head,
                                         ErrorText *error)
{
    RecordingWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    writer->fd = file_create(path, 0644, error);
    if (writer->fd < 0) {
        free(writer);
        return NULL;
    }
    if (!recording_trail_init(&writer->trail)) {
        writer->failed = ERROR_MEMORY;
    }
    CHECK(head->picture_ticks <= RECORDING_PICTURE_TICKS_MAX);
    CHECK(head->coarse_shift <= RECORDING_COARSE_SHIFT_MAX);
    writer->trail.coarse_shift = head->coarse_shift;
    writer->key_ticks = (u64)head->tick_rate * RECORDING_KEY_INTERVAL_S;
    writer->picture_ticks = u32_max(head->picture_ticks, 1);
    if (writer->failed != 0 || put_head(writer, head) != 0) {
        error_set(error, writer->failed, "%s: cannot write the head: %s", path,
                  writer->io_errno != 0 ? strerror(writer->io_errno) : error_name(writer->failed));
        recording_writer_destroy(writer);
        unlink(path); /* created by file_create, and empty */
        return NULL;
    }
    return writer;
}

RecordingWriter *recording_writer_create_stream(void)
{
    RecordingWriter *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return NULL;
    }
    writer->fd = -1;
    if (!recording_trail_init(&writer->trail)) {
        recording_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

int recording_writer_head(RecordingWriter *writer, const RecordingHead *head)
{
    CHECK(is_stream(writer));
    if (writer->failed != 0) {
        return writer->failed;
    }
    writer->key_ticks = (u64)head->tick_rate * RECORDING_STREAM_KEY_INTERVAL_S;
    writer->picture_ticks = 1;
    memset(&writer->index, 0, sizeof writer->index);
    return put_head(writer, head);
}

size_t recording_writer_pending(const RecordingWriter *writer)
{
    return writer->used;
}

const u8 *recording_writer_take(RecordingWriter *writer, size_t *bytes)
{
    CHECK(is_stream(writer));
    *bytes = writer->used;
    writer->used = 0;
    return writer->buffer;
}

static int put_inputs(RecordingWriter *writer, u64 tick, const Input *inputs, u32 count)
{
    if (count == 0) {
        return 0;
    }
    size_t most = recording_inputs_bytes_max(count);
    if (!reserve(&writer->scratch, &writer->scratch_capacity, most)) {
        return writer->failed = ERROR_MEMORY;
    }
    u32 bytes = recording_inputs_encode(&writer->hands, inputs, count, writer->scratch);
    writer->index.inputs += count;
    return put_block(writer, BLOCK_INPT, tick, writer->scratch, bytes);
}

static int put_events(RecordingWriter *writer, const Frame *frame)
{
    if (frame->event_count == 0) {
        return 0;
    }
    bool entities = false;
    for (u32 i = 0; i < frame->event_count; i++) {
        entities = entities || recording_event_is_entity(&frame->events[i]);
    }
    u32 bytes;
    u8 *encoded = recording_events_encode(frame, &bytes);
    if (encoded == NULL) {
        return writer->failed = ERROR_LIMIT;
    }
    if (entities && !is_stream(writer) &&
        !recording_marks_push(&writer->entity_events, frame->tick, position(writer))) {
        writer->failed = ERROR_MEMORY;
    } else {
        put_block(writer, BLOCK_EVNT, frame->tick, encoded, bytes);
    }
    free(encoded);
    writer->index.events += frame->event_count;
    return writer->failed;
}

static int put_frame(RecordingWriter *writer, const Frame *frame, bool key, u32 flags)
{
    size_t most = recording_frame_bytes_max(frame->fields);
    if (!reserve(&writer->scratch, &writer->scratch_capacity, RECORDING_FRAME_HEAD_BYTES + most)) {
        return writer->failed = ERROR_MEMORY;
    }
    memcpy(writer->scratch, &frame->world_hash, 8);
    writer->scratch[8] = (u8)flags;
    size_t used = recording_frame_encode(&writer->trail, frame, key, flags,
                                         writer->scratch + RECORDING_FRAME_HEAD_BYTES);
    CHECK(used <= most);
    return put_block(writer, key ? BLOCK_KEYF : BLOCK_DLTA, frame->tick, writer->scratch,
                     RECORDING_FRAME_HEAD_BYTES + used);
}

/* Pushes the frame, as recorded, onto the trail. */
static int put_picture(RecordingWriter *writer, const Frame *frame, bool key, u32 flags)
{
    Frame *coarse = key || flags != 0 ? NULL : recording_coarsen(&writer->trail, frame);
    /* The caller's frame is const here; acquiring it does not change its contents. */
    Frame *own = coarse != NULL ? coarse : (Frame *)(uintptr_t)frame;
    flags |= coarse != NULL ? RECORDING_FRAME_COARSE : 0;
    int result = put_frame(writer, own, key, flags);
    if (result == 0) {
        recording_trail_push(&writer->trail, own, flags);
    }
    frame_release(coarse);
    return result;
}

static int put_systems(RecordingWriter *writer)
{
    u8 content[RECORDING_SYSTEMS_BYTES_MAX];
    RecordingSystems *systems = &writer->systems;
    if (systems->ticks == 0) {
        return 0;
    }
    u64 last_tick = systems->first_tick + systems->ticks - 1;
    u32 bytes = recording_systems_encode(systems, content);
    systems->ticks = 0;
    return put_block(writer, BLOCK_SYST, last_tick, content, bytes);
}

/* Streams have none. */
static int keep_systems(RecordingWriter *writer, const Frame *frame)
{
    RecordingSystems *systems = &writer->systems;
    bool follows = frame->tick == systems->first_tick + systems->ticks &&
                   frame->system_count == systems->count &&
                   systems->ticks < RECORDING_SYSTEMS_TICKS;
    if (systems->ticks > 0 && !follows && put_systems(writer) != 0) {
        return writer->failed;
    }
    if (frame->system_count == 0 || is_stream(writer)) {
        return 0;
    }
    if (systems->ticks == 0) {
        systems->first_tick = frame->tick;
        systems->count = frame->system_count;
    }
    memcpy(systems->hashes[systems->ticks++], frame->systems, sizeof frame->systems);
    return 0;
}

bool recording_writer_key_next(const RecordingWriter *writer, const Frame *frame)
{
    return writer->index.ticks == 0 || writer->jumped || frame->tick >= writer->key_due ||
           writer->trail.effort >= RECORDING_KEY_EFFORT ||
           writer->trail.all.frames[0]->fields != frame->fields;
}

/* A picture if entities come or go, since new points must be in it, and a cut if motion is not
 * continuous up to here. */
static u32 flags_of(const RecordingWriter *writer, const Frame *frame, bool key)
{
    bool cut = writer->jumped, entities = false;
    for (u32 i = 0; i < frame->event_count; i++) {
        cut = cut || frame->events[i].kind == EVENT_RESET;
        entities = entities || recording_event_is_entity(&frame->events[i]);
    }
    if (cut) {
        return RECORDING_FRAME_CUT;
    }
    return key || entities || frame->tick >= writer->picture_due ? 0 : RECORDING_FRAME_BETWEEN;
}

int recording_writer_tick(RecordingWriter *writer, const Frame *frame, const Input *inputs,
                          u32 input_count)
{
    if (writer->failed != 0) {
        return writer->failed;
    }
    CHECK(frame->fields != NULL && (inputs != NULL || input_count == 0));
    bool first = writer->index.ticks == 0;
    if (!first && frame->tick <= writer->index.last_tick) {
        return ERROR_STATE;
    }
    bool key = recording_writer_key_next(writer, frame);
    u32 flags = flags_of(writer, frame, key);
    if (keep_systems(writer, frame) != 0) {
        return writer->failed;
    }
    writer->jumped = false;
    if ((flags & RECORDING_FRAME_BETWEEN) == 0) {
        writer->picture_due = frame->tick + writer->picture_ticks;
    }
    if (key) {
        writer->key_due = frame->tick + writer->key_ticks;
        writer->hands.known = false;
        if (!is_stream(writer) &&
            !recording_marks_push(&writer->keys, frame->tick, position(writer))) {
            return writer->failed = ERROR_MEMORY;
        }
    }
    if (put_inputs(writer, frame->tick, inputs, input_count) != 0 ||
        put_events(writer, frame) != 0 || put_picture(writer, frame, key, flags) != 0) {
        return writer->failed;
    }
    writer->index.first_tick = first ? frame->tick : writer->index.first_tick;
    writer->index.last_tick = frame->tick;
    writer->index.ticks++;
    bool flush = !is_stream(writer) && writer->used >= BUFFER_FLUSH_BYTES;
    return flush ? write_out(writer) : 0;
}

int recording_writer_image(RecordingWriter *writer, const RecordingImage *image, const u8 *bytes)
{
    if (writer->failed != 0) {
        return writer->failed;
    }
    CHECK(image->kind > 0 && image->kind < RECORDING_IMAGE_KIND_COUNT);
    if (image->bytes == 0 || image->bytes > RECORDING_IMAGE_BYTES_MAX) {
        return writer->failed = ERROR_LIMIT;
    }
    RecordingFileImage file = {
        .kind = image->kind, .bytes = image->bytes, .back_tick = image->back_tick};
    u64 parts = recording_image_parts(image->bytes);
    for (u64 part = 0; part < parts && writer->failed == 0; part++) {
        size_t bytes_here = recording_image_part(image->bytes, part);
        size_t most = ZSTD_compressBound(bytes_here);
        if (!reserve(&writer->scratch, &writer->scratch_capacity, sizeof file + most)) {
            return writer->failed = ERROR_MEMORY;
        }
        file.part = (u32)part;
        memcpy(writer->scratch, &file, sizeof file);
        size_t packed =
            ZSTD_compress(writer->scratch + sizeof file, most,
                          bytes + part * RECORDING_IMAGE_PART_BYTES, bytes_here, ZSTD_LEVEL);
        if (ZSTD_isError(packed)) {
            return writer->failed = ERROR_LIMIT;
        }
        put_block(writer, BLOCK_IMAG, image->tick, writer->scratch, sizeof file + packed);
    }
    writer->jumped = writer->jumped || image->kind == RECORDING_IMAGE_BACK ||
                     image->kind == RECORDING_IMAGE_LOAD;
    return writer->failed;
}

int recording_writer_note(RecordingWriter *writer, const RecordingNote *note)
{
    u8 content[RECORDING_NOTE_BYTES_MAX];
    u32 bytes = recording_note_encode(note, content);
    CHECK(bytes > 0 && bytes <= sizeof content);
    return writer->failed != 0 ? writer->failed
                               : put_block(writer, BLOCK_NOTE, note->tick, content, bytes);
}

int recording_writer_gap(RecordingWriter *writer, RecordingGap gap)
{
    return writer->failed != 0 ? writer->failed
                               : put_block(writer, BLOCK_GAPS, gap.last_tick, &gap, sizeof gap);
}

int recording_writer_flush(RecordingWriter *writer)
{
    return writer->failed != 0 ? writer->failed : write_out(writer);
}

int recording_writer_errno(const RecordingWriter *writer)
{
    return writer->io_errno;
}

u64 recording_writer_safe_tick(const RecordingWriter *writer)
{
    return writer->safe_tick;
}

static void put_index(RecordingWriter *writer)
{
    writer->index.key_count = writer->keys.count;
    writer->index.event_count = writer->entity_events.count;
    size_t keys = writer->keys.count * sizeof(RecordingMark);
    size_t events = writer->entity_events.count * sizeof(RecordingMark);
    u64 offset = position(writer);
    size_t bytes = sizeof writer->index + keys + events + sizeof offset;
    if (!reserve(&writer->scratch, &writer->scratch_capacity, bytes)) {
        writer->failed = ERROR_MEMORY;
        return;
    }
    u8 *at = writer->scratch;
    memcpy(at, &writer->index, sizeof writer->index);
    at += sizeof writer->index;
    if (keys != 0) {
        memcpy(at, writer->keys.items, keys);
    }
    if (events != 0) {
        memcpy(at + keys, writer->entity_events.items, events);
    }
    memcpy(at + keys + events, &offset, sizeof offset);
    put_block(writer, BLOCK_INDX, writer->index.last_tick, writer->scratch, bytes);
}

static void file_end(RecordingWriter *writer)
{
    if (writer->failed == 0 && put_systems(writer) == 0) {
        put_index(writer);
    }
    if (writer->failed == 0) {
        writer->failed = write_out(writer);
    }
    if (writer->failed == 0 && fsync(writer->fd) != 0 && errno != EINVAL && errno != EROFS) {
        writer->failed = ERROR_IO; /* EINVAL: a pipe or device that cannot be synced */
    }
    if (close(writer->fd) != 0 && writer->failed == 0) {
        writer->failed = ERROR_IO;
    }
}

int recording_writer_destroy(RecordingWriter *writer)
{
    if (writer == NULL) {
        return 0;
    }
    if (!is_stream(writer)) {
        file_end(writer);
    }
    int failed = writer->failed;
    recording_trail_finish(&writer->trail);
    free(writer->keys.items);
    free(writer->entity_events.items);
    free(writer->buffer);
    free(writer->scratch);
    free(writer);
    return failed;
}
