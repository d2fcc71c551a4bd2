/* tape.c: see tape.h. */
#include "server/host/tape.h"

#include "shared/base/check.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_MAX = 1024,
    FRAMES_BYTES_MAX = 256 << 20,
    READ_ON_TICKS = 32, /* if the next key is this near, the kept frames are not discarded */
};

struct Tape {
    RecordingReader *reader;
    const RecordingInfo *info;
    u64 bytes_max;             /* of frames */
    Frame *frames[FRAMES_MAX]; /* consecutive recorded ones, ascending; references */
    u32 count;
    bool at_reader; /* the last of them is the one that the reader read last */
    u64 warned_tick;
    u64 decoded;
};

Tape *tape_create(const char *path, ErrorText *error)
{
    Tape *tape = calloc(1, sizeof *tape);
    if (tape == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    tape->reader = recording_reader_create(path, error);
    if (tape->reader == NULL) {
        free(tape);
        return NULL;
    }
    tape->info = recording_reader_info(tape->reader);
    tape->bytes_max = FRAMES_BYTES_MAX;
    return tape;
}

static void frames_drop(Tape *tape)
{
    for (u32 i = 0; i < tape->count; i++) {
        frame_release(tape->frames[i]);
    }
    tape->count = 0;
    tape->at_reader = false;
}

void tape_destroy(Tape *tape)
{
    if (tape != NULL) {
        frames_drop(tape);
        recording_reader_destroy(tape->reader);
        free(tape);
    }
}

void tape_keep(Tape *tape, u64 bytes)
{
    tape->bytes_max = bytes;
}

const RecordingHead *tape_head(const Tape *tape)
{
    return recording_reader_head(tape->reader);
}

const RecordingInfo *tape_info(const Tape *tape)
{
    return tape->info;
}

/* Takes over the reference; the oldest make room. */
static void frames_push(Tape *tape, Frame *frame)
{
    u64 bytes = frame->fields->frame_bytes + 256;
    u32 most = (u32)u64_min(u64_max(tape->bytes_max / bytes, 2), FRAMES_MAX);
    if (tape->count >= most) {
        u32 gone = u32_max(most / 8, 1);
        for (u32 i = 0; i < gone; i++) {
            frame_release(tape->frames[i]);
        }
        tape->count -= gone;
        memmove(tape->frames, tape->frames + gone, tape->count * sizeof tape->frames[0]);
    }
    tape->frames[tape->count++] = frame;
}

/* Reads the next frame behind the last; damaged ones are skipped up to the next key. */
static int read_on(Tape *tape)
{
    Frame *frame;
    int result = recording_reader_next(tape->reader, &frame, NULL, NULL);
    while (result != 0 && result != ERROR_NOT_FOUND) {
        u64 last = tape->count > 0 ? tape->frames[tape->count - 1]->tick : tape->info->first_tick;
        u64 key = recording_reader_key_after(tape->reader, u64_max(last, tape->warned_tick));
        if (key == 0) {
            return result;
        }
        log_error("the recording is damaged after tick %" PRIu64 " (%s): continuing at %" PRIu64,
                  last, error_name((Error)result), key);
        tape->warned_tick = key;
        result = recording_reader_seek(tape->reader, key);
        if (result == 0) {
            result = recording_reader_next(tape->reader, &frame, NULL, NULL);
        }
    }
    if (result == 0) {
        tape->decoded++;
        tape->at_reader = true;
        frames_push(tape, frame);
    }
    return result;
}

/* Has the frames from the key before `tick` to the first at or after it. */
static int load(Tape *tape, u64 tick)
{
    u64 last = tape->count > 0 ? tape->frames[tape->count - 1]->tick : 0;
    u64 key = recording_reader_key_at(tape->reader, tick);
    bool on = tape->count > 0 && tape->at_reader && tick > last &&
              (key <= last || tick - last <= READ_ON_TICKS);
    if (!on) {
        frames_drop(tape);
        tape->warned_tick = 0;
        int result = recording_reader_seek(tape->reader, key);
        if (result != 0 && result != ERROR_NOT_FOUND) {
            tape->warned_tick = key; /* damaged at once: read_on skips it */
        }
    }
    int result = 0;
    while (result == 0 && (tape->count == 0 || tape->frames[tape->count - 1]->tick < tick)) {
        result = read_on(tape);
    }
    return result;
}

/* Index of the first kept frame at or after `tick`. */
static u32 first_at(const Tape *tape, u64 tick)
{
    u32 low = 0, high = tape->count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (tape->frames[middle]->tick < tick) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool covers(const Tape *tape, u64 tick)
{
    return tape->count > 0 && tick >= tape->frames[0]->tick &&
           tick <= tape->frames[tape->count - 1]->tick;
}

int tape_at(Tape *tape, u64 tick, Frame **frame)
{
    *frame = NULL;
    tick = u64_max(tick, tape->info->first_tick);
    if (tick > tape->info->last_tick) {
        return ERROR_NOT_FOUND;
    }
    if (!covers(tape, tick)) {
        int result = load(tape, tick);
        if (result != 0) {
            return result;
        }
    }
    u32 at = first_at(tape, tick);
    CHECK(at < tape->count && tape->frames[at]->tick >= tick);
    *frame = frame_acquire(tape->frames[at]);
    return 0;
}

int tape_before(Tape *tape, u64 tick, Frame **frame)
{
    *frame = NULL;
    tick = u64_min(tick, tape->info->last_tick + 1);
    while (tick > tape->info->first_tick) {
        if (!covers(tape, tick - 1)) {
            (void)load(tape, tick - 1); /* unreadable frames end the kept ones earlier */
        }
        u32 i = first_at(tape, tick);
        if (i > 0) {
            *frame = frame_acquire(tape->frames[i - 1]);
            return 0;
        }
        u64 from = tape->count > 0 ? tape->frames[0]->tick : tick;
        u64 key = recording_reader_key_at(tape->reader, tick - 1);
        if (key >= tick) {
            break; /* an index with a wrong first tick */
        }
        tick = u64_min(u64_min(from, tick - 1), key); /* a gap or damage: the interval before */
    }
    return ERROR_NOT_FOUND;
}

bool tape_entities_change(const Tape *tape, u64 from, u64 to)
{
    return recording_reader_entities_change(tape->reader, from, to);
}

int tape_entities(Tape *tape, u64 tick, const EntityList **entities)
{
    /* The reader's list no longer matches its position: the next read seeks. */
    tape->at_reader = false;
    return recording_reader_entities_at(tape->reader, tick, entities);
}

u64 tape_decoded(const Tape *tape)
{
    return tape->decoded;
}
