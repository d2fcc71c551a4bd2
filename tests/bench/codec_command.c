/*
 * codec_command.c: `plenum-bench codec`: the size of a trace on the wire, and the training of the
 * codec's starting tables.
 */
#include "protocol/codec/mix_tables.h"
#include "protocol/codec/pose_code.h"
#include "protocol/codec/pose_tables.h"
#include "shared/base/clock.h"
#include "shared/base/options.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_grids.h"
#include "tests/bench/codec_points.h"
#include "tests/bench/codec_world.h"
#include "tests/bench/codec_zstd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CODE_BYTES_MAX = POSE_SPAN_MAX * 32,
    REPEATED = 6, /* frames at the start of a trace that are the same */
    TRAINING_FRAMES = 700,
    TRAINING_STEP = 4, /* frames side by side say the same */
    TRAINING_WORLDS = 14,
    DELAYS = 5,
    LOSS_SEED = 5,
};

static const u32 delays[DELAYS] = {1, 3, 6, 12, 18};

/* Frame f and the older states known to the other end: states of a chain of acknowledgements, of
 * which `loss` in a hundred never arrived (the same ones in each run; what was before the start
 * did). */
static PoseSpan span_of(const PoseTrace *trace, u32 frame, u32 delay, u32 loss)
{
    PoseSpan span = {.count = trace->count, .rotation_bits = trace->rotation_bits};
    u32 back = 0;
    for (u32 s = 0; s < POSE_STATES; s++) {
        back += delay;
        while (back < frame && random_f32(LOSS_SEED, frame - back) * 100.0f < (f32)loss) {
            back++;
        }
        u32 from = frame > back ? frame - back : 0;
        span.state[s] = trace->poses + (size_t)from * trace->count;
        span.back[s] = back;
    }
    return span;
}

static int out_of_memory(void)
{
    fprintf(stderr, "plenum-bench: out of memory\n");
    return EXIT_CHECK_FAILED;
}

/* Every frame is coded and decoded by two codecs that share nothing but the tables. */
static int measure(const PoseTrace *trace, const char *name, u32 delay, u32 loss, bool inherit)
{
    MixTables tables;
    if (!pose_tables_load(&tables)) {
        return out_of_memory();
    }
    PoseCodec *coder = pose_codec_create(&tables), *decoder = pose_codec_create(&tables);
    u8 *code = malloc(CODE_BYTES_MAX);
    QPose *made = malloc(trace->count * sizeof *made);
    if (coder == NULL || decoder == NULL || code == NULL || made == NULL) {
        return out_of_memory();
    }
    if (inherit) {
        pose_codec_chain(coder);
        pose_codec_chain(decoder);
    }
    u64 bytes = 0, encode_ns = 0, decode_ns = 0;
    u32 most = 0, frames = 0, wrong = 0;
    for (u32 f = REPEATED; f < trace->frames; f++) {
        const QPose *now = trace->poses + (size_t)f * trace->count;
        PoseSpan span = span_of(trace, f, delay, loss);
        u64 least[2] = {UINT64_MAX, UINT64_MAX};
        u32 size = 0;
        for (u32 pass = 0; pass < (inherit ? 1 : CODEC_PASSES); pass++) {
            u64 began = clock_now_ns();
            size = pose_encode(coder, &span, now, code, CODE_BYTES_MAX);
            u64 coded = clock_now_ns();
            pose_decode(decoder, &span, code, size, made);
            least[1] = u64_min(least[1], clock_now_ns() - coded);
            least[0] = u64_min(least[0], coded - began);
        }
        encode_ns += least[0];
        decode_ns += least[1];
        wrong += size == 0 || memcmp(made, now, trace->count * sizeof *made) != 0;
        bytes += size;
        most = u32_max(most, size);
        frames++;
    }
    f64 n = frames != 0 ? frames : 1, mean = (f64)bytes / n;
    printf("{\"name\":\"codec/"
           "trace\",\"trace\":\"%s\",\"ack_delay\":%u,\"loss\":%u,\"inherit\":%s,\"frames\":%u,"
           "\"bytes_per_frame\":%.2f,\"kbit_s\":%.2f,\"max_bytes\":%u,\"encode_us\":%.1f,"
           "\"decode_us\":%.1f,\"wrong_frames\":%u}\n",
           name, delay, loss, inherit ? "true" : "false", frames, mean, mean * 0.48, most,
           (f64)encode_ns / n * 1e-3, (f64)decode_ns / n * 1e-3, wrong);
    pose_codec_destroy(coder);
    pose_codec_destroy(decoder);
    mix_tables_destroy(&tables);
    free(code);
    free(made);
    return wrong == 0 ? EXIT_OK : EXIT_CHECK_FAILED;
}

/* One pass over all worlds and delays in turn, so that none of them dominates the end of
 * training. */
static int train(const char *path)
{
    PoseTrace traces[TRAINING_WORLDS];
    for (u32 i = 0; i < PL_COUNT(traces); i++) {
        static const u8 kinds[7] = {0, 1, 0, 2, 0, 1, 0};
        traces[i] = codec_world((CodecWorld)kinds[i % PL_COUNT(kinds)], 11 + i, TRAINING_FRAMES);
        fprintf(stderr, "world %u of %zu\n", i + 1, PL_COUNT(traces));
    }
    PoseCodec *codec = pose_codec_create(NULL);
    u8 *code = malloc(CODE_BYTES_MAX), *packed = NULL;
    if (codec == NULL || code == NULL) {
        return out_of_memory();
    }
    pose_codec_chain(codec);
    u64 bytes = 0;
    for (u32 f = REPEATED; f < TRAINING_FRAMES; f += TRAINING_STEP) {
        for (u32 i = 0; i < PL_COUNT(traces) * DELAYS; i++) {
            const PoseTrace *trace = &traces[i / DELAYS];
            PoseSpan span = span_of(trace, f, delays[i % DELAYS], 0);
            bytes += pose_encode(codec, &span, trace->poses + (size_t)f * trace->count, code,
                                 CODE_BYTES_MAX);
        }
        if ((f - REPEATED) % 100 == 0) {
            fprintf(stderr, "frame %u of %d, %.1f bytes a code\n", f, TRAINING_FRAMES,
                    (f64)bytes /
                        (((f - REPEATED) / TRAINING_STEP + 1.0) * PL_COUNT(traces) * DELAYS));
        }
    }
    size_t size = mix_tables_pack(pose_codec_tables(codec), &packed);
    bool good = bench_write(path, packed, size);
    free(packed);
    free(code);
    pose_codec_destroy(codec);
    for (u32 i = 0; i < PL_COUNT(traces); i++) {
        codec_trace_free(&traces[i]);
    }
    return good ? EXIT_OK : EXIT_CHECK_FAILED;
}

int bench_codec_command(int argc, char **argv)
{
    const char *trace_path = NULL, *train_path = NULL, *field = "poses", *bounds = NULL;
    const char *dims = NULL;
    u32 delay = 6, loss = 0, points = 0;
    f64 quantum_m = 0.001;
    bool inherit = false;
    const Option rows[] = {
        {"field", 0, OPTION_STRING, &field, 0, 0, "KIND",
         "poses (as without it), points, grid2 or grid3"},
        {"trace", 0, OPTION_STRING, &trace_path, 0, 0, "FILE.bin",
         "poses: frames of 901 x 8 numbers; others: frames of float32; without it worlds of our "
         "own"},
        {"points", 0, OPTION_U32, &points, 1, 1 << 24, "N", "x, y, z of so many in a frame"},
        {"quantum", 0, OPTION_F64, &quantum_m, 1e-6, 1e6, "M", "step of the numbers of a trace"},
        {"dims", 0, OPTION_STRING, &dims, 0, 0, "WxH[xD]", "of the grids of a trace"},
        {"bounds", 0, OPTION_STRING, &bounds, 0, 0, "X0,Y0,Z0,X1,Y1,Z1",
         "of the points of a trace; what is outside is put on them; of grids: LOW,HIGH"},
        {"ack-delay", 0, OPTION_U32, &delay, 1, 600, "K", "frames between a state and its base"},
        {"loss", 0, OPTION_U32, &loss, 0, 90, "PERCENT",
         "frames that never arrive: the base is the newest that did"},
        {"inherit", 0, OPTION_FLAG, &inherit, 0, 0, NULL,
         "let what was learned from a frame continue in the next"},
        {"train", 0, OPTION_STRING, &train_path, 0, 0, "OUT",
         "train the tables on worlds of our own and write them"},
    };
    const OptionTable table = {
        .program = "plenum-bench codec",
        .synopsis = "[options]",
        .about =
            "Codes every frame of a trace against frames K, 2K and 3K before it (points: K, K + 2 "
            "and 2K,\nbelow 3 K, K + 1 and 2K or K + 2), decodes it, compares it and prints a line "
            "of JSON.\nTimes are means over the frames of the shortest of three turns.",
        .rows = rows,
        .count = PL_COUNT(rows),
    };
    ErrorText error = {0};
    char **operands = NULL;
    u32 count = 0;
    int result = options_parse(&table, argc, argv, &operands, &count, &error);
    if (result != 0) {
        if (result < 0) {
            fprintf(stderr, "plenum-bench codec: %s\n", error.text);
        }
        return result < 0 ? EXIT_USAGE : EXIT_OK;
    }
    if (strcmp(field, "points") == 0) {
        CodecPointsJob job = {trace_path, points, quantum_m, bounds, delay};
        return train_path != NULL ? codec_points_train(train_path) : codec_points_measure(&job);
    }
    if (strcmp(field, "grid2") == 0 || strcmp(field, "grid3") == 0) {
        bool deep = strcmp(field, "grid3") == 0;
        CodecGridsJob job = {trace_path, dims, bounds, quantum_m, delay, deep};
        return train_path != NULL ? codec_grids_train(train_path) : codec_grids_measure(&job);
    }
    if (strcmp(field, "poses") != 0) {
        fprintf(stderr, "plenum-bench codec: --field %s: no such kind\n", field);
        return EXIT_USAGE;
    }
    if (train_path != NULL) {
        return train(train_path);
    }
    if (trace_path != NULL) {
        PoseTrace trace = codec_trace_load(trace_path);
        int code = measure(&trace, trace_path, delay, loss, inherit);
        codec_trace_free(&trace);
        return code;
    }
    static const char *const names[CODEC_WORLDS] = {"own push", "own roll", "own drop"};
    int code = EXIT_OK;
    for (u32 i = 0; i < CODEC_WORLDS; i++) { /* seeds that the training did not see */
        PoseTrace trace = codec_world((CodecWorld)i, 101 + i, TRAINING_FRAMES / 2);
        int one = measure(&trace, names[i], delay, loss, inherit);
        code = one != EXIT_OK ? one : code;
        codec_trace_free(&trace);
    }
    return code;
}
