/* fuzz_recording.c: a file of a stranger is refused, or read to its end or its first damage. Checks
 * are made right before, block by block, so that the fuzzer gets behind them. */
#include "protocol/record/recording_format.h"
#include "tests/fuzz/target.h"
#include "tests/support/recording_forge.h"

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
        }
        Entity entity;
        recording_reader_entities(reader, &entity, 1);
    }
    RecordingVisitor visitor = {.note = ignore_note};
    (void)recording_reader_visit(reader, &visitor);
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
                                                2 * RECORDING_BLOCK_BYTES_MAX + (16 << 20)};
