/* fuzz_recording.c: a file of a stranger is refused, or read to its end or its first damage. Checks
 * are made right before, block by block, so that the fuzzer gets behind them. */
#include "protocol/record/recording_format.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/recording_forge.h"

#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_BYTES = 20 << 20 /* of which a caller wants no more: two parts */
};

static void ignore_damage(void *context, const RecordingDamage *damage)
{
    PL_UNUSED(context);
    PL_UNUSED(damage);
}

static void ignore_note(void *context, const RecordingNote *note)
{
    PL_UNUSED(context);
    PL_UNUSED(note);
}

/* All of a visit's images are one too many: the last that there is. */
static void keep_image(void *context, const RecordingImage *image)
{
    *(RecordingImage *)context = *image;
}

static void unpack(RecordingReader *reader, const RecordingImage *image)
{
    u8 *bytes;
    ErrorText error = {0};
    if (image != NULL && image->kind != 0) {
        int result = recording_reader_image(reader, image, IMAGE_BYTES, &bytes, &error);
        CHECK(result == 0 ? bytes != NULL : bytes == NULL && error.text[0] != 0);
        free(bytes);
    }
}

static void play(const char *path, size_t bytes)
{
    PL_UNUSED(bytes);
    RecordingReader *reader = recording_reader_create(path, NULL);
    if (reader == NULL) {
        return;
    }
    const u64 last = recording_reader_info(reader)->last_tick;
    const u64 seeks[3] = {0, last / 4, last};
    static const u32 plays[3] = {20, 4, 4}; /* ticks; a seek has played those since its key */
    for (u32 i = 0; i < PL_COUNT(seeks); i++) {
        if (i != 0 && recording_reader_seek(reader, seeks[i]) != 0) {
            continue;
        }
        for (u32 n = 0; n < plays[i]; n++) {
            Frame *frame;
            const Input *inputs;
            u32 count;
            if (recording_reader_next(reader, &frame, &inputs, &count) != 0) {
                break;
            }
            frame_release(frame);
            unpack(reader, recording_reader_image_here(reader));
        }
        Entity entity;
        recording_reader_entities(reader, &entity, 1);
    }
    RecordingImage image = {0};
    RecordingVisitor visitor = {.context = &image, .note = ignore_note, .image = keep_image};
    (void)recording_reader_visit(reader, &visitor);
    unpack(reader, &image);
    CHECK(memchr(recording_reader_head(reader)->parent.name, 0, RECORDING_PARENT_NAME_MAX) != NULL);
    RecordingCheck check;
    (void)recording_reader_check(reader, ignore_damage, NULL, &check);
    recording_reader_destroy(reader);
}

static void run(const u8 *data, size_t bytes)
{
    recording_forge(data, bytes, play);
}

const FuzzTarget fuzz_target = {.run = run,
                                .size_max = 256 << 10,
                                .memory_fixed = 4 * FRAME_BYTES_MAX +
                                                (size_t)RECORDING_AHEAD_BYTES_MAX +
                                                2 * RECORDING_BLOCK_BYTES_MAX + IMAGE_BYTES +
                                                RECORDING_IMAGE_PART_BYTES + (16 << 20)};
