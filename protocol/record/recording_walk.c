/* recording_walk.c: reads a recording block by block: its notes and events without its frames, or
 * everything, continuing after damage. */
#include "protocol/record/recording_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- notes and events ---- */

static int visit_block(RecordingReader *reader, const RecordingVisitor *visitor,
                       const RecordingBlock *block, u64 offset)
{
    int result = 0;
    if (block->type == BLOCK_EVNT && visitor->events != NULL) {
        result = recording_take_events(reader, block);
        if (result == 0) {
            visitor->events(visitor->context, block->tick, reader->events, reader->event_count);
        }
        recording_drop_events(reader);
    } else if (block->type == BLOCK_NOTE && visitor->note != NULL) {
        RecordingNote note;
        result = recording_note_decode(block, reader->content, &note);
        if (result == 0) {
            visitor->note(visitor->context, &note);
        }
    } else if (block->type == BLOCK_GAPS && visitor->gap != NULL) {
        RecordingGap gap;
        if (block->length != sizeof gap) {
            return ERROR_FORMAT;
        }
        memcpy(&gap, reader->content, sizeof gap);
        visitor->gap(visitor->context, gap);
    } else if (block->type == BLOCK_IMAG && visitor->image != NULL) {
        RecordingImage image;
        u32 part;
        result = recording_take_image(reader, block, offset, &image, &part);
        if (result == 0 && part == 0) {
            visitor->image(visitor->context, &image);
        }
    } else if (block->type == BLOCK_SYST && visitor->systems != NULL) {
        RecordingSystems systems;
        result = recording_systems_decode(block, reader->content, &systems);
        if (result == 0) {
            visitor->systems(visitor->context, &systems);
        }
    }
    return result;
}

int recording_reader_visit(RecordingReader *reader, const RecordingVisitor *visitor)
{
    u64 offset = reader->start, asked_tick = 0;
    /* A torn tail is not part of the recording; notes after a first index are. */
    u64 end = reader->info.clean ? reader->file_bytes : reader->end;
    while (offset < end) {
        RecordingBlock block;
        int result = recording_read_header(reader, offset, &block);
        if (result != 0) {
            return result;
        }
        bool wanted = (block.type == BLOCK_EVNT && visitor->events != NULL) ||
                      (block.type == BLOCK_NOTE && visitor->note != NULL) ||
                      (block.type == BLOCK_GAPS && visitor->gap != NULL) ||
                      (block.type == BLOCK_IMAG && visitor->image != NULL) ||
                      (block.type == BLOCK_SYST && visitor->systems != NULL);
        if (wanted) {
            result = recording_read_block(reader, offset, &block);
            result = result == 0 ? visit_block(reader, visitor, &block, offset) : result;
        }
        if (result != 0) {
            return result;
        }
        if (visitor->proceed != NULL && block.tick >= asked_tick + reader->head.tick_rate) {
            asked_tick = block.tick;
            if (!visitor->proceed(visitor->context)) {
                return 0;
            }
        }
        offset += recording_block_bytes(&block);
    }
    return 0;
}

/* ---- damage ---- */

enum {
    SEARCH_BYTES = 64 << 10
};

typedef struct Walk {
    RecordingReader *reader;
    RecordingCheck *out;
    void (*damage)(void *context, const RecordingDamage *damage);
    void *context;
    u64 tick;   /* last tick read */
    bool whole; /* every block since the last key was read, so that deltas can be decoded */
    RecordingMarks keys, entity_events;
    u64 tick_offset, tick_events, event_mark; /* of the tick being read */
    u64 key_tick;
    RecordingImage image; /* being read */
    u32 image_part;       /* the next part; 0: no image is open */
} Walk;

static bool type_is_known(u32 type)
{
    return type == BLOCK_HEAD || type == BLOCK_KEYF || type == BLOCK_DLTA || type == BLOCK_INPT ||
           type == BLOCK_EVNT || type == BLOCK_NOTE || type == BLOCK_GAPS || type == BLOCK_PRNT ||
           type == BLOCK_IMAG || type == BLOCK_SYST || type == BLOCK_INDX;
}

static void report(Walk *walk, u64 offset, u64 end, const char *what, u32 type)
{
    RecordingDamage damage = {
        .offset = offset, .bytes = end - offset, .tick_before = walk->tick, .what = what};
    if (type_is_known(type)) {
        memcpy(damage.block, &type, sizeof type);
    }
    walk->out->damaged++;
    walk->whole = false;
    walk->reader->hands.known = false;
    walk->damage(walk->context, &damage);
}

/* Whether a block may begin here: complete, of a known type, and followed by another or by the
 * end. */
static bool may_begin(RecordingReader *reader, u64 offset)
{
    RecordingBlock block, after;
    if (recording_read_header(reader, offset, &block) != 0 || !type_is_known(block.type)) {
        return false;
    }
    u64 end = offset + recording_block_bytes(&block);
    return end == reader->file_bytes || recording_read_header(reader, end, &after) != ERROR_FORMAT;
}

/* Offset of the first complete block at or after `offset`; the file's size: none. */
static u64 find_block(RecordingReader *reader, u64 offset)
{
    u8 window[SEARCH_BYTES];
    while (offset < reader->file_bytes) {
        size_t bytes = (size_t)u64_min(sizeof window, reader->file_bytes - offset);
        if (recording_read_at(reader, offset, window, bytes) != 0) {
            break;
        }
        for (size_t i = 0; i < bytes; i++) {
            RecordingBlock block;
            if (recording_block_get(window + i, bytes - i, &block) != ERROR_FORMAT &&
                may_begin(reader, offset + i) &&
                recording_read_block(reader, offset + i, &block) == 0) {
                return offset + i;
            }
        }
        offset += bytes;
    }
    return reader->file_bytes;
}

/* What is wrong with a frame, or NULL. */
static const char *walk_frame(Walk *walk, const RecordingBlock *block)
{
    RecordingReader *reader = walk->reader;
    bool key = block->type == BLOCK_KEYF;
    if (!key && !walk->whole) {
        walk->out->ticks_lost++;
        return NULL;
    }
    u32 flags;
    Frame *frame;
    if (recording_decode_frame(reader, block, 0, &frame, &flags) != 0) {
        return "a frame that cannot be decoded";
    }
    walk->out->pictures += !frame->between;
    frame_release(frame);
    if (key) {
        u64 interval = walk->keys.count > 0 ? block->tick - walk->key_tick : 0;
        walk->out->key_interval_max = u64_max(walk->out->key_interval_max, interval);
        walk->key_tick = block->tick;
        walk->whole = true;
        (void)recording_marks_push(&walk->keys, block->tick, walk->tick_offset);
    }
    if (walk->event_mark != 0) {
        (void)recording_marks_push(&walk->entity_events, block->tick, walk->event_mark);
    }
    walk->out->ticks++;
    walk->tick = block->tick;
    return NULL;
}

static bool marks_same(const RecordingMarks *a, const RecordingMarks *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof *a->items) == 0);
}

/* The reader used the last index; it must agree with the file. */
static const char *walk_index(Walk *walk, const RecordingBlock *block)
{
    const RecordingReader *reader = walk->reader;
    RecordingFileIndex index;
    if (block->length < sizeof index) {
        return "an index that is too short";
    }
    memcpy(&index, reader->content, sizeof index);
    if (walk->out->damaged == 0 &&
        (index.ticks != walk->out->ticks || index.last_tick != walk->tick ||
         (reader->info.clean && (!marks_same(&reader->keys, &walk->keys) ||
                                 !marks_same(&reader->entity_events, &walk->entity_events))))) {
        return "an index of something else";
    }
    return NULL;
}

/* Behind damage inputs may be relative to lost ones. */
static const char *walk_inputs(const Walk *walk, const RecordingBlock *block)
{
    int result = recording_take_inputs(walk->reader, block);
    bool lost = result == ERROR_STATE && walk->out->damaged > 0;
    return result == 0 || lost ? NULL : "inputs that cannot be decoded";
}

static const char *walk_events(Walk *walk, const RecordingBlock *block, u64 offset)
{
    RecordingReader *reader = walk->reader;
    if (recording_take_events(reader, block) != 0) {
        return "events that cannot be decoded";
    }
    for (u32 i = 0; i < reader->event_count; i++) {
        if (recording_event_is_entity(&reader->events[i])) {
            walk->event_mark = offset;
        }
    }
    return NULL;
}

/* Parts are consecutive, and each can be decompressed. */
static const char *walk_image(Walk *walk, const RecordingBlock *block, u64 offset)
{
    RecordingImage image;
    u32 part;
    if (recording_take_image(walk->reader, block, offset, &image, &part) != 0) {
        return "an image that cannot be decoded";
    }
    bool next = part == walk->image_part &&
                (part == 0 || (image.tick == walk->image.tick && image.bytes == walk->image.bytes &&
                               image.kind == walk->image.kind));
    walk->image = image;
    walk->image_part = 0;
    if (!next) {
        return "a part of an image without the one before";
    }
    u8 *out = malloc(recording_image_part(image.bytes, part));
    int result =
        out == NULL ? ERROR_MEMORY : recording_unpack_image(walk->reader, block, &image, part, out);
    free(out);
    if (result != 0) {
        return "an image that cannot be unpacked";
    }
    if (part + 1 < recording_image_parts(image.bytes)) {
        walk->image_part = part + 1;
        return NULL;
    }
    walk->out->images++;
    walk->out->backs += image.kind == RECORDING_IMAGE_BACK;
    walk->out->loads += image.kind == RECORDING_IMAGE_LOAD;
    return NULL;
}

/* What is wrong with the content of a complete block, or NULL. */
static const char *walk_block(Walk *walk, const RecordingBlock *block, u64 offset)
{
    RecordingReader *reader = walk->reader;
    RecordingNote note;
    RecordingGap gap;
    RecordingParent parent;
    RecordingSystems systems;
    if (walk->image_part > 0 && block->type != BLOCK_IMAG) {
        walk->image_part = 0;
        return "a part of an image is missing before it";
    }
    switch (block->type) {
    case BLOCK_KEYF:
    case BLOCK_DLTA:
        return walk_frame(walk, block);
    case BLOCK_INPT:
        return walk_inputs(walk, block);
    case BLOCK_EVNT:
        return walk_events(walk, block, offset);
    case BLOCK_NOTE:
        walk->out->notes++;
        return recording_note_decode(block, reader->content, &note) == 0
                   ? NULL
                   : "a note that cannot be decoded";
    case BLOCK_GAPS:
        if (block->length != sizeof gap) {
            return "a gap of another size";
        }
        memcpy(&gap, reader->content, sizeof gap);
        walk->out->gaps++;
        walk->out->gap_ticks += gap.last_tick - gap.first_tick + 1;
        return NULL;
    case BLOCK_PRNT:
        return recording_take_parent(reader, block, &parent) == 0
                   ? NULL
                   : "a parent that cannot be decoded";
    case BLOCK_IMAG:
        return walk_image(walk, block, offset);
    case BLOCK_SYST:
        return recording_systems_decode(block, reader->content, &systems) == 0
                   ? NULL
                   : "hashes of systems that cannot be decoded";
    case BLOCK_INDX:
        return walk_index(walk, block);
    case BLOCK_HEAD:
        return "a second HEAD";
    default:
        return NULL; /* of a later version */
    }
}

/* Checks one block or one damaged range; returns the offset after it. */
static u64 walk_on(Walk *walk, u64 offset)
{
    RecordingReader *reader = walk->reader;
    RecordingBlock block = {0};
    int result = recording_read_block(reader, offset, &block);
    if (result != 0) {
        bool torn = result == ERROR_TRUNCATED;
        u64 next = find_block(reader, offset + 1);
        report(walk, offset, next, torn ? "the file ends within a block" : "wrong checksum",
               block.type);
        recording_drop_events(reader);
        walk->tick_offset = walk->event_mark = 0;
        return next;
    }
    if (walk->tick_offset == 0) {
        walk->tick_offset = offset;
    }
    u64 next = offset + recording_block_bytes(&block);
    const char *wrong = walk_block(walk, &block, offset);
    if (wrong != NULL) {
        report(walk, offset, next, wrong, block.type);
    } else {
        walk->out->blocks++;
    }
    if (block.type != BLOCK_INPT && block.type != BLOCK_EVNT) {
        recording_drop_events(reader);
        walk->tick_offset = walk->event_mark = 0;
    }
    return next;
}

int recording_reader_check(RecordingReader *reader,
                           void (*damage)(void *context, const RecordingDamage *damage),
                           void *context, RecordingCheck *out)
{
    Walk walk = {.reader = reader, .out = out, .damage = damage, .context = context};
    memset(out, 0, sizeof *out);
    out->blocks = 1; /* HEAD: the reader has read it */
    recording_drop_events(reader);
    frame_release(reader->current);
    reader->current = NULL;
    recording_ahead_drop(reader);
    reader->hands.known = false;
    u64 offset = reader->start;
    while (offset < reader->file_bytes) {
        offset = walk_on(&walk, offset);
    }
    free(walk.keys.items);
    free(walk.entity_events.items);
    return 0;
}
