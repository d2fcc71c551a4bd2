/* fuzz_export.c: a recording of a stranger, exported to memory: refused, or written, in the format
 * that its size selects. Checks of blocks are made right before, so that the fuzzer gets behind
 * them. */
#include "protocol/record/recording_format.h"
#include "server/export/export.h"
#include "tests/fuzz/target.h"
#include "tests/support/recording_forge.h"

enum {
    /* Files in memory do not count as memory of the process, but fill the machine. */
    OUTPUT_BYTES_MAX = 16 << 20,
};

static void export_path(const char *path, size_t bytes)
{
    u32 count;
    const ExportFormat *const *formats = export_formats(&count);
    const ExportOptions options = {.recording = path,
                                   .format = formats[bytes % count],
                                   .to_s = -1.0,
                                   .every = 1 + (u32)(bytes / count % 3),
                                   .shapes_max = 4};
    ExportOutput *output = export_output_memory(OUTPUT_BYTES_MAX);
    ExportSummary summary;
    ErrorText error;
    if (output != NULL) {
        export_run(&options, output, &summary, &error);
    }
    export_output_destroy(output);
}

static void run(const u8 *data, size_t bytes)
{
    recording_forge(data, bytes, export_path);
}

/* Vertices of a picture, twice, its spool, a scene's surfaces; the rest is the reader's. */
const FuzzTarget fuzz_target = {.run = run,
                                .size_max = 64 << 10,
                                .memory_fixed =
                                    4 * FRAME_BYTES_MAX + (size_t)RECORDING_AHEAD_BYTES_MAX +
                                    2 * (size_t)RECORDING_BLOCK_BYTES_MAX + ((size_t)1 << 30),
                                .memory_each = 4096};
