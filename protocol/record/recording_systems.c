/* recording_systems.c: hashes of the systems of a world, many ticks in one block. */
#include "protocol/record/recording_internal.h"

#include <string.h>

/* The systems with a state of their own: the running hash changes there. */
static u32 mask_of(const RecordingSystems *systems)
{
    u32 mask = 1;
    for (u32 t = 0; t < systems->ticks; t++) {
        for (u32 i = 1; i < systems->count; i++) {
            mask |= (u32)(systems->hashes[t][i] != systems->hashes[t][i - 1]) << i;
        }
    }
    return mask;
}

u32 recording_systems_encode(const RecordingSystems *systems, u8 *out)
{
    RecordingFileSystems file = {.first_tick = systems->first_tick,
                                 .ticks = systems->ticks,
                                 .count = systems->count,
                                 .mask = mask_of(systems)};
    memcpy(out, &file, sizeof file);
    u32 used = sizeof file;
    for (u32 t = 0; t < file.ticks; t++) {
        for (u32 i = 0; i < file.count; i++) {
            if ((file.mask >> i & 1) != 0) {
                memcpy(out + used, &systems->hashes[t][i], 4);
                used += 4;
            }
        }
    }
    return used;
}

int recording_systems_decode(const RecordingBlock *block, const u8 *content, RecordingSystems *out)
{
    RecordingFileSystems file;
    memset(out, 0, sizeof *out);
    if (block->length < sizeof file) {
        return ERROR_FORMAT;
    }
    memcpy(&file, content, sizeof file);
    if (file.ticks == 0 || file.ticks > RECORDING_SYSTEMS_TICKS || file.count == 0 ||
        file.count > FRAME_SYSTEMS_MAX || (file.mask & 1) == 0 || file.mask >> file.count != 0 ||
        file.first_tick > UINT64_MAX - file.ticks || file.reserved != 0) {
        return ERROR_FORMAT;
    }
    u32 each = (u32)__builtin_popcount(file.mask) * 4;
    if (block->length != sizeof file + file.ticks * each) {
        return ERROR_FORMAT;
    }
    out->first_tick = file.first_tick;
    out->ticks = file.ticks;
    out->count = file.count;
    const u8 *at = content + sizeof file;
    for (u32 t = 0; t < file.ticks; t++) {
        for (u32 i = 0; i < file.count; i++) {
            if ((file.mask >> i & 1) != 0) {
                memcpy(&out->hashes[t][i], at, 4);
                at += 4;
            } else {
                out->hashes[t][i] = out->hashes[t][i - 1];
            }
        }
    }
    return 0;
}
