/*
 * codec_grids_measure.c: the size of grids on the wire, and the training of their codec's starting
 * tables.
 */
#include "protocol/codec/grid_code.h"
#include "protocol/codec/grid_tables.h"
#include "protocol/codec/mix_tables.h"
#include "protocol/codec/span.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_grids.h"
#include "tests/bench/codec_zstd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PACKET_BYTES = 1180,
    WORLDS = 6,
    WORLD_FRAMES = 80,
    FRAME_STEP = 5, /* of the own worlds' frames: every so manyth is coded */
    SMOKE_FRAMES = 90,
    TRAINING_FRAMES = 90,
    TRAINING_WATERS = 16,
    TRAINING_SMOKES = 14,
    TRAINING_WORLDS = TRAINING_WATERS + TRAINING_SMOKES + 2,
    TRAINING_STEP = 2,
    FIRST_SEED = 101, /* of the measured worlds; training starts at 11 */
};

/* Memory for spans of one trace, and two codecs that share nothing but the tables. */
typedef struct Spans {
    GridCodec *coder, *decoder;
    u16 *chunks;
    u8 *state[GRID_STATES], *now, *made, *code;
    size_t capacity;
} Spans;

static void spans_begin(Spans *b, const MixTables *tables, const FieldDesc *field)
{
    size_t bytes = (size_t)field->capacity * field_element_bytes(field);
    *b = (Spans){.coder = bench_must(grid_codec_create(tables)),
                 .decoder = tables != NULL ? bench_must(grid_codec_create(tables)) : NULL,
                 .chunks = bench_must(malloc(chunk_count(field) * sizeof(u16))),
                 .capacity = bytes * 3 + 4096};
    for (u32 s = 0; s < GRID_STATES; s++) {
        b->state[s] = bench_must(malloc(bytes));
    }
    b->now = bench_must(malloc(bytes));
    b->made = bench_must(malloc(bytes));
    b->code = bench_must(malloc(b->capacity));
}

static void spans_end(Spans *b)
{
    grid_codec_destroy(b->coder);
    grid_codec_destroy(b->decoder);
    for (u32 s = 0; s < GRID_STATES; s++) {
        free(b->state[s]);
    }
    free(b->chunks);
    free(b->now);
    free(b->made);
    free(b->code);
}

/* Chunks first .. first + count − 1 of a frame, and up to `known` states of them. */
static GridSpan span_of(Spans *b, const GridTrace *trace, u32 frame, u32 delay, u32 first,
                        u32 count, u32 known)
{
    GridSpan span = {.field = &trace->field, .count = count, .chunks = b->chunks};
    for (u32 i = 0; i < count; i++) {
        b->chunks[i] = (u16)(first + i);
    }
    for (u32 s = 0; s < known && delay * (s + 1) <= frame; s++) {
        const u8 *older = codec_grid_frame(trace, frame - delay * (s + 1));
        span_gather(&trace->field, span.chunks, span.count, older, b->state[s]);
        span.state[s] = b->state[s];
        span.back[s] = delay * (s + 1);
    }
    span_gather(&trace->field, span.chunks, span.count, codec_grid_frame(trace, frame), b->now);
    return span;
}

/* ---- measuring ---- */

typedef struct Figures {
    u64 elements, frames, bytes, most, wrong;
    u64 encode_ns, decode_ns;
    u64 packets, packet_bytes, packets_encode_ns, packets_decode_ns;
    CodecZstd zstd;
} Figures;

static u32 code(Spans *b, const GridSpan *span, u32 capacity, u64 *encode_ns)
{
    u64 least = UINT64_MAX;
    u32 size = 0;
    for (u32 pass = 0; pass < CODEC_PASSES; pass++) {
        u64 began = clock_now_ns();
        size = grid_encode(b->coder, span, b->now, b->code, capacity);
        least = u64_min(least, clock_now_ns() - began);
    }
    *encode_ns += least;
    return size;
}

static void check(Spans *b, const GridSpan *span, u32 size, Figures *figures, u64 *decode_ns)
{
    u64 least = UINT64_MAX;
    bool made = size != 0;
    for (u32 pass = 0; pass < CODEC_PASSES && made; pass++) {
        u64 began = clock_now_ns();
        made = grid_decode(b->decoder, span, b->code, size, b->made);
        least = u64_min(least, clock_now_ns() - began);
    }
    *decode_ns += made ? least : 0;
    figures->wrong += !made || memcmp(b->made, b->now, grid_span_bytes(span)) != 0;
}

static void measure_packets(Spans *b, const GridTrace *trace, u32 frame, u32 delay,
                            Figures *figures)
{
    u32 chunks = chunk_count(&trace->field), first = 0, count = chunks / 4 + 1;
    while (first < chunks) {
        u64 ns = 0;
        count = u32_min(count, chunks - first);
        GridSpan span = span_of(b, trace, frame, delay, first, count, GRID_STATES);
        u32 size = code(b, &span, PACKET_BYTES, &ns);
        if (size == 0 && count > 1) {
            count = count * 7 / 8;
            continue;
        }
        figures->packets_encode_ns += ns; /* of sent codes; attempts are not counted */
        check(b, &span, size, figures, &figures->packets_decode_ns);
        figures->packets++;
        figures->packet_bytes += size;
        first += count;
        count = size < PACKET_BYTES * 9 / 10 ? count + count / 8 + 1 : count;
    }
}

static i32 value_of(const GridTrace *trace, u32 frame, size_t i)
{
    const u8 *elements = codec_grid_frame(trace, frame);
    return trace->field.kind == FIELD_GRID3 ? elements[i] : ((const u16 *)elements)[i];
}

/* zstd gets the difference to the last state, that to continuing evenly, and each less the cell
 * before it. */
static void measure_zstd(const GridTrace *trace, u32 frame, u32 delay, CodecZstd *zstd)
{
    size_t n = (size_t)trace->field.capacity * trace->field.channels;
    i32 *differences = bench_must(malloc(n * sizeof *differences));
    u32 before = frame - delay, first = frame - 2 * delay;
    for (u32 way = 0; way < 4; way++) {
        i32 last = 0;
        for (size_t i = 0; i < n; i++) {
            i32 now = value_of(trace, frame, i), a = value_of(trace, before, i);
            i32 off = way % 2 == 0 ? now - a : now - 2 * a + value_of(trace, first, i);
            differences[i] = off - (way >= 2 ? last : 0);
            last = off;
        }
        codec_zstd_frame(zstd, way, differences, n);
    }
    free(differences);
}

static void measure_trace(const MixTables *tables, const GridTrace *trace, u32 delay, u32 step,
                          Figures *figures)
{
    Spans b;
    spans_begin(&b, tables, &trace->field);
    u32 chunks = chunk_count(&trace->field);
    for (u32 f = 3 * delay; f < trace->frames; f += step) {
        GridSpan span = span_of(&b, trace, f, delay, 0, chunks, GRID_STATES);
        u32 size = code(&b, &span, (u32)b.capacity, &figures->encode_ns);
        check(&b, &span, size, figures, &figures->decode_ns);
        figures->bytes += size;
        figures->most = size > figures->most ? size : figures->most;
        figures->elements += (u64)trace->field.capacity * trace->field.channels;
        figures->frames++;
        measure_packets(&b, trace, f, delay, figures);
        measure_zstd(trace, f, delay, &figures->zstd);
    }
    spans_end(&b);
}

static int print_figures(const Figures *f, const char *kind, const char *name, u32 delay)
{
    f64 frames = f->frames != 0 ? (f64)f->frames : 1.0;
    f64 elements = f->elements != 0 ? (f64)f->elements : 1.0;
    f64 bits = (f64)f->bytes * 8.0 / elements, packets = (f64)f->packet_bytes * 8.0 / elements;
    f64 low = codec_zstd_bits(&f->zstd, 0), high = codec_zstd_bits(&f->zstd, 1);
    printf("{\"name\":\"codec/%s\",\"trace\":\"%s\",\"ack_delay\":%u,\"frames\":%llu,"
           "\"bits_per_element\":%.4f,\"bytes_per_frame\":%.1f,\"max_bytes\":%llu,"
           "\"encode_us\":%.1f,\"decode_us\":%.1f,\"packet_bits_per_element\":%.4f,"
           "\"packets_per_frame\":%.2f,\"packets_encode_us\":%.1f,\"packets_decode_us\":%.1f,"
           "\"zstd3_bits\":%.4f,\"zstd19_bits\":%.4f,\"zstd19_frame_difference_bits\":%.4f,"
           "\"times_zstd19\":%.3f,"
           "\"packet_times_zstd19\":%.3f,\"wrong_frames\":%llu}\n",
           kind, name, delay, (unsigned long long)f->frames, bits, (f64)f->bytes / frames,
           (unsigned long long)f->most, (f64)f->encode_ns / frames * 1e-3,
           (f64)f->decode_ns / frames * 1e-3, packets, (f64)f->packets / frames,
           (f64)f->packets_encode_ns / frames * 1e-3, (f64)f->packets_decode_ns / frames * 1e-3,
           low, high, (f64)f->zstd.bytes[0][1] * 8.0 / elements, bits > 0.0 ? high / bits : 0.0,
           packets > 0.0 ? high / packets : 0.0, (unsigned long long)f->wrong);
    fflush(stdout);
    return f->wrong == 0 ? EXIT_OK : EXIT_CHECK_FAILED;
}

/* One kind of world of our own. */
typedef struct Sort {
    const char *name;
    u32 hertz, quantum_mm, delay; /* delay: of its own */
    bool deep;
} Sort;

static int measure_own(const MixTables *tables, const Sort *sort, u32 delay)
{
    Figures figures = {0};
    u32 worlds = sort->deep ? WORLDS / 2 : WORLDS;
    delay = sort->delay != 0 ? sort->delay : delay;
    for (u32 i = 0; i < worlds; i++) {
        GridTrace trace = sort->deep ? codec_grid_smoke(FIRST_SEED + i, SMOKE_FRAMES, 1)
                                     : codec_grid_water(FIRST_SEED + i, WORLD_FRAMES, sort->hertz,
                                                        0.001f * (f32)sort->quantum_mm, 1);
        measure_trace(tables, &trace, delay, sort->deep ? 3 * FRAME_STEP : FRAME_STEP, &figures);
        codec_grid_free(&trace);
    }
    return print_figures(&figures, sort->deep ? "grid3" : "grid2", sort->name, delay);
}

static int bad_usage(const char *what)
{
    fprintf(stderr, "plenum-bench codec: %s\n", what);
    return EXIT_USAGE;
}

static int measure_dump(const MixTables *tables, const CodecGridsJob *job)
{
    u32 dims[3] = {0, 0, 0};
    f32 low = 0.0f, high = 0.0f;
    char rest;
    int sides = job->dims == NULL
                    ? 0
                    : sscanf(job->dims, "%5ux%5ux%5u%c", &dims[0], &dims[1], &dims[2], &rest);
    if (sides != (job->deep ? 3 : 2) || dims[0] == 0 || dims[1] == 0 ||
        (job->deep && dims[2] == 0)) {
        return bad_usage("--trace of a grid needs --dims WxH (grid2) or WxHxD (grid3)");
    }
    if (job->bounds == NULL || sscanf(job->bounds, "%f,%f%c", &low, &high, &rest) != 2) {
        return bad_usage("--trace of a grid needs --bounds LOW,HIGH");
    }
    GridTrace trace = codec_grid_load(job->trace, dims, (f32)job->quantum, low, high);
    Figures figures = {0};
    measure_trace(tables, &trace, job->delay, 1, &figures);
    int code = print_figures(&figures, job->deep ? "grid3" : "grid2", job->trace, job->delay);
    codec_grid_free(&trace);
    return code;
}

int codec_grids_measure(const CodecGridsJob *job)
{
    static const Sort sorts[] = {{"own water 1 mm 60 Hz", 60, 1, 0, false},
                                 {"own water 4 mm 20 Hz", 20, 4, 0, false},
                                 {"own water 4 mm 20 Hz, 0.1 s", 20, 4, 2, false},
                                 {"own smoke 8 bits 60 Hz", 60, 0, 0, true}};
    MixTables tables;
    if (!grid_tables_load(&tables)) {
        fprintf(stderr, "plenum-bench: the tables of grids are not those of this version\n");
        return EXIT_CHECK_FAILED;
    }
    int code = EXIT_OK;
    if (job->trace != NULL) {
        code = measure_dump(&tables, job);
    }
    for (u32 i = 0; i < PL_COUNT(sorts) && job->trace == NULL; i++) {
        if (sorts[i].deep == job->deep) {
            int one = measure_own(&tables, &sorts[i], job->delay);
            code = one != EXIT_OK ? one : code;
        }
    }
    mix_tables_destroy(&tables);
    return code;
}

/* ---- training ---- */

/* Other worlds than those that are measured: coarse and fine, one and two channels. */
static GridTrace training_world(u32 i)
{
    if (i < TRAINING_WATERS) {
        static const u8 millimetres[4] = {1, 4, 1, 2};
        static const u8 hertz[4] = {60, 20, 60, 30};
        return codec_grid_water(11 + i, TRAINING_FRAMES, hertz[i % 4],
                                0.001f * (f32)millimetres[i % 4], i % 8 < 6 ? 1 : 2);
    }
    if (i < TRAINING_WATERS + TRAINING_SMOKES) {
        return codec_grid_smoke(11 + i, TRAINING_FRAMES, i == TRAINING_WATERS + 2 ? 2 : 1);
    }
    return codec_grid_scalars(11 + i, TRAINING_FRAMES, 512);
}

/* Whole frames and packets, with all numbers of known states; most know all three. */
static u64 train_frame(Spans *b, const GridTrace *trace, u32 frame, u32 pass)
{
    static const u8 delays[5] = {6, 2, 6, 3, 12};
    static const u8 knowns[8] = {3, 3, 2, 3, 0, 3, 3, 1};
    u32 chunks = chunk_count(&trace->field), part = u32_max(chunks / 5, 1);
    u64 bytes = 0;
    for (u32 k = 0; k < 2; k++) {
        u32 first = k == 0 ? 0 : pass * 7 % chunks;
        u32 count = k == 0 ? chunks : u32_min(part, chunks - first);
        u32 known = knowns[(pass + 3 * k) % 8];
        GridSpan span = span_of(b, trace, frame, delays[(pass / 3 + k) % 5], first, count, known);
        bytes += grid_encode(b->coder, &span, b->now, b->code, (u32)b->capacity);
    }
    return bytes;
}

int codec_grids_train(const char *path)
{
    GridTrace traces[TRAINING_WORLDS];
    Spans benches[TRAINING_WORLDS];
    GridCodec *codec = bench_must(grid_codec_create(NULL));
    grid_codec_train(codec);
    for (u32 i = 0; i < TRAINING_WORLDS; i++) {
        traces[i] = training_world(i);
        spans_begin(&benches[i], NULL, &traces[i].field);
        grid_codec_destroy(benches[i].coder);
        benches[i].coder = codec;
    }
    for (u32 f = 0; f < TRAINING_FRAMES; f += TRAINING_STEP) {
        u64 bytes = 0;
        for (u32 i = 0; i < TRAINING_WORLDS; i++) {
            bytes += train_frame(&benches[i], &traces[i], f, f / TRAINING_STEP + i);
        }
        if (f % 10 == 0) {
            fprintf(stderr, "frame %u of %d, %llu bytes\n", f, TRAINING_FRAMES,
                    (unsigned long long)bytes);
        }
    }
    u8 *packed;
    size_t size = mix_tables_pack(grid_codec_tables(codec), &packed);
    bool good = bench_write(path, packed, size);
    free(packed);
    for (u32 i = 0; i < TRAINING_WORLDS; i++) {
        benches[i].coder = i == 0 ? codec : NULL;
        spans_end(&benches[i]);
        codec_grid_free(&traces[i]);
    }
    return good ? EXIT_OK : EXIT_CHECK_FAILED;
}
