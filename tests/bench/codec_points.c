/* codec_points.c: see codec_points.h. */
#include "tests/bench/codec_points.h"

#include "protocol/codec/point_code.h"
#include "protocol/codec/point_tables.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"
#include "tests/bench/codec_points_world.h"
#include "tests/bench/codec_zstd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 64, /* points of the stream's smallest span */
    PACKET_BYTES = 1180,
    SAMPLED = 8, /* zstd sees every so many frames: it is slow */
};

typedef struct Region {
    f64 low[3], high[3];
} Region;

/* Codes of the frames of a trace, and how they are measured. */
typedef struct Run {
    const char *name;
    QPoint *points;           /* [frames][count] */
    u32 frames, count, first; /* first: frame to begin with */
    u32 step;                 /* frames from one snapshot to the next */
    u32 back[POINT_STATES];   /* frames */
    f64 quantum_m;
} Run;

typedef struct Result {
    u64 bytes, points, frames, codes, wrong, encode_ns, decode_ns, most;
} Result;

static Region region_of(const PointTrace *trace)
{
    Region b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    size_t numbers = (size_t)trace->frames * trace->count * 3;
    for (size_t i = 0; i < numbers; i++) {
        f64 x = (f64)trace->at[i];
        b.low[i % 3] = x < b.low[i % 3] ? x : b.low[i % 3];
        b.high[i % 3] = x > b.high[i % 3] ? x : b.high[i % 3];
    }
    return b;
}

static bool region_parse(const char *text, Region *b)
{
    return sscanf(text, "%lf,%lf,%lf,%lf,%lf,%lf", &b->low[0], &b->low[1], &b->low[2], &b->high[0],
                  &b->high[1], &b->high[2]) == 6 &&
           b->low[0] <= b->high[0] && b->low[1] <= b->high[1] && b->low[2] <= b->high[2];
}

static QPoint *quantized(const PointTrace *trace, const Region *bounds, f64 quantum)
{
    size_t n = (size_t)trace->frames * trace->count;
    QPoint *points = bench_must(calloc(n, sizeof *points));
    for (size_t i = 0; i < n; i++) {
        for (u32 a = 0; a < 3; a++) {
            f64 x = (f64)trace->at[i * 3 + a];
            x = x < bounds->low[a] ? bounds->low[a] : x > bounds->high[a] ? bounds->high[a] : x;
            points[i].position[a] = (i32)floor((x - bounds->low[a]) / quantum + 0.5);
        }
        points[i].generation = 1;
    }
    return points;
}

static PointSpan span_of(const Run *run, u32 frame, u32 from, u32 count)
{
    PointSpan span = {.count = count};
    for (u32 s = 0; s < POINT_STATES && run->back[s] > 0 && run->back[s] <= frame; s++) {
        span.state[s] = run->points + (size_t)(frame - run->back[s]) * run->count + from;
        span.back[s] = run->back[s];
    }
    return span;
}

typedef struct Codecs {
    PointCodec *coder, *decoder;
    PointTables *tables;
    u8 *code;
    u32 capacity;
    QPoint *made;
} Codecs;

static Codecs codecs_create(u32 count)
{
    Codecs c = {.tables = bench_must(malloc(sizeof *c.tables)), .capacity = 256 + count * 32};
    if (!point_tables_load(c.tables)) {
        fprintf(stderr, "plenum-bench: the tables of points cannot be read\n");
        exit(EXIT_FAILURE);
    }
    c.coder = bench_must(point_codec_create(c.tables));
    c.decoder = bench_must(point_codec_create(c.tables));
    c.code = bench_must(malloc(c.capacity));
    c.made = bench_must(calloc(count, sizeof *c.made));
    return c;
}

static void codecs_destroy(Codecs *c)
{
    point_codec_destroy(c->coder);
    point_codec_destroy(c->decoder);
    free(c->tables);
    free(c->code);
    free(c->made);
}

static u32 code_span(Codecs *c, const Run *run, u32 frame, u32 from, u32 count, u32 capacity,
                     Result *result)
{
    PointSpan span = span_of(run, frame, from, count);
    const QPoint *now = run->points + (size_t)frame * run->count + from;
    u64 encode_ns = UINT64_MAX, decode_ns = UINT64_MAX;
    u32 size = 0;
    for (u32 pass = 0; pass < CODEC_PASSES; pass++) {
        u64 began = clock_now_ns();
        size = point_encode(c->coder, &span, now, c->code, capacity);
        u64 coded = clock_now_ns();
        if (size == 0) {
            return 0;
        }
        point_decode(c->decoder, &span, c->code, size, c->made);
        decode_ns = u64_min(decode_ns, clock_now_ns() - coded);
        encode_ns = u64_min(encode_ns, coded - began);
    }
    result->decode_ns += decode_ns;
    result->encode_ns += encode_ns;
    result->wrong += memcmp(c->made, now, count * sizeof *now) != 0;
    result->bytes += size;
    result->codes++;
    result->most = result->most > size ? result->most : size;
    return size;
}

/* The field in packets, each with as many chunks as fit. Failed attempts are not counted. */
static void code_packets(Codecs *c, const Run *run, u32 frame, Result *result)
{
    static const u32 most = POINT_SPAN_MAX / CHUNK;
    u32 guess = 8;
    for (u32 from = 0; from < run->count;) {
        u32 fits = 0, left = (run->count - from + CHUNK - 1) / CHUNK;
        u32 chunks = guess < left ? guess : left;
        Result best = *result;
        for (;;) {
            Result trial = *result;
            u32 count = chunks * CHUNK < run->count - from ? chunks * CHUNK : run->count - from;
            if (code_span(c, run, frame, from, count, PACKET_BYTES, &trial) == 0) {
                if (fits > 0 || chunks == 1) {
                    break;
                }
                chunks--;
                continue;
            }
            best = trial;
            bool was_full = fits == 0 && chunks < guess && chunks < left;
            fits = chunks;
            if (was_full || chunks == left || chunks == most) {
                break;
            }
            chunks++;
        }
        guess = fits > 0 ? fits : 1;
        from += guess * CHUNK;
        *result = best;
    }
}

/* Differences of one frame in the ways that need no model: to the newest state, to its motion going
 * on, and half of the way. */
static void code_zstd(CodecZstd *zstd, const Run *run, u32 frame, i32 *differences)
{
    PointSpan span = span_of(run, frame, 0, run->count);
    const QPoint *now = run->points + (size_t)frame * run->count;
    for (u32 way = 0; way < (span.state[0] != NULL ? 3 : 1); way++) {
        for (u32 a = 0; a < 3; a++) {
            for (u32 i = 0; i < run->count; i++) {
                if (span.state[0] == NULL) { /* from the point before */
                    differences[(size_t)a * run->count + i] =
                        now[i].position[a] - now[i > 0 ? i - 1 : 0].position[a];
                    continue;
                }
                i32 old = span.state[0][i].position[a];
                i64 step = ((i64)old - span.state[1][i].position[a]) * (i32)span.back[0] /
                           (i32)(span.back[1] - span.back[0]);
                differences[(size_t)a * run->count + i] =
                    now[i].position[a] - old - (i32)(step * way / 2);
            }
        }
        codec_zstd_frame(zstd, way, differences, (size_t)run->count * 3);
    }
}

static void print_row(const Run *run, const char *spans, const Result *r, const CodecZstd *zstd)
{
    f64 frames = r->frames > 0 ? (f64)r->frames : 1.0;
    printf("{\"name\":\"codec/points\",\"trace\":\"%s\",\"points\":%u,\"quantum_m\":%g,"
           "\"step\":%u,\"back\":[%u,%u,%u],\"spans\":\"%s\",\"frames\":%llu,"
           "\"bits_per_element\":%.3f,\"bytes_per_frame\":%.1f,\"codes_per_frame\":%.1f,"
           "\"max_bytes\":%llu,\"encode_us\":%.1f,\"decode_us\":%.1f,\"zstd3_bits\":%.3f,"
           "\"zstd19_bits\":%.3f,\"wrong\":%llu}\n",
           run->name, run->count, run->quantum_m, run->step, run->back[0], run->back[1],
           run->back[2], spans, (unsigned long long)r->frames,
           (f64)r->bytes * 8.0 / (frames * run->count), (f64)r->bytes / frames,
           (f64)r->codes / frames, (unsigned long long)r->most, (f64)r->encode_ns / frames * 1e-3,
           (f64)r->decode_ns / frames * 1e-3, 3.0 * codec_zstd_bits(zstd, 0),
           3.0 * codec_zstd_bits(zstd, 1), (unsigned long long)r->wrong);
    fflush(stdout);
}

/* Whole fields, then packets; returns whether all was decoded exactly. */
static bool measure(const Run *run)
{
    Codecs c = codecs_create(run->count);
    CodecZstd zstd = {0};
    Result whole = {0}, packets = {0};
    i32 *differences = bench_must(malloc((size_t)run->count * 3 * sizeof *differences));
    for (u32 f = run->first; f < run->frames; f += run->step) {
        for (u32 from = 0; from < run->count; from += POINT_SPAN_MAX) {
            u32 left = run->count - from;
            code_span(&c, run, f, from, left < POINT_SPAN_MAX ? left : POINT_SPAN_MAX, c.capacity,
                      &whole);
        }
        code_packets(&c, run, f, &packets);
        bool key = run->back[0] == 0; /* few of them, and each another picture */
        if (key || whole.frames % SAMPLED == 0) {
            code_zstd(&zstd, run, f, differences);
        }
        whole.frames++;
        packets.frames++;
    }
    print_row(run, "field", &whole, &zstd);
    print_row(run, "packets", &packets, &zstd);
    free(differences);
    codecs_destroy(&c);
    return whole.wrong + packets.wrong == 0;
}

/* As in the targets. */
typedef struct Setting {
    f64 quantum_m;
    u32 step, back[POINT_STATES];
} Setting;

static const Setting settings[] = {
    {0.001, 1, {6, 8, 12}},                          /* 60 a second, 0.1 s ago */
    {0.001, 1, {6, 12, 18}}, {0.004, 3, {6, 9, 12}}, /* 20 a second */
    {0.001, 1, {1, 2, 3}},                           /* a recording */
    {0.001, 1, {0, 0, 0}},                           /* keys */
};

enum {
    FIRST_FRAME = 24, /* of those that are measured; all states are known there */
    OWN_FRAMES = 300, /* 5 s: it breaks, it sloshes */
    EVERY = 5,        /* of the frames of our own worlds is measured */
    LIQUID_POINTS = 20000,
    CLOTH_SIDE = 64,
    TRAINING_WORLDS = 10,
    TRAINING_FRAMES = 120,
};

static bool measure_setting(const PointTrace *trace, const char *name, const Setting *setting,
                            const Region *bounds, u32 step)
{
    Run run = {.name = name,
               .points = quantized(trace, bounds, setting->quantum_m),
               .frames = trace->frames,
               .count = trace->count,
               .step = step,
               .quantum_m = setting->quantum_m};
    memcpy(run.back, setting->back, sizeof run.back);
    run.first = run.back[2] + FIRST_FRAME < run.frames ? run.back[2] + FIRST_FRAME : run.back[2];
    bool good = measure(&run);
    free(run.points);
    return good;
}

/* As the stream has them: two states that are near each other tell the speed, an older one the
 * acceleration. K, K + 2 (K + 1 for K below 3) and 2 K, which for K = 1 would be the second one
 * twice. */
static Setting setting_of(f64 quantum_m, u32 delay)
{
    u32 step = delay < 3 ? 1 : 2;
    Setting setting = {quantum_m, 1, {delay, delay + step, u32_max(2 * delay, delay + 2)}};
    return setting;
}

static bool measure_own(u32 delay)
{
    bool good = true;
    Setting asked = setting_of(settings[0].quantum_m, delay);
    static const struct {
        const char *name;
        bool liquid;
        u64 seed; /* none that the training sees */
    } worlds[] = {{"own liquid, 2.7 cm apart", true, 100},
                  {"own liquid, 4.6 cm apart", true, 108},
                  {"own cloth, hanging", false, 102},
                  {"own cloth, lying", false, 101}};
    for (u32 world = 0; world < PL_COUNT(worlds); world++) {
        PointTrace trace = worlds[world].liquid
                               ? codec_liquid(worlds[world].seed, LIQUID_POINTS, OWN_FRAMES)
                               : codec_cloth(worlds[world].seed, CLOTH_SIDE, OWN_FRAMES);
        Region bounds = region_of(&trace);
        for (u32 k = 0; k < PL_COUNT(settings); k++) {
            u32 every = k + 1 == PL_COUNT(settings) ? 8 * EVERY : EVERY;
            const Setting *setting = k == 0 ? &asked : &settings[k];
            good = measure_setting(&trace, worlds[world].name, setting, &bounds, every) && good;
        }
        codec_points_free(&trace);
    }
    return good;
}

int codec_points_measure(const CodecPointsJob *job)
{
    if (job->trace == NULL) {
        return measure_own(job->delay) ? EXIT_OK : EXIT_CHECK_FAILED;
    }
    if (job->points == 0) {
        fprintf(stderr, "plenum-bench codec: a trace of points needs --points\n");
        return EXIT_USAGE;
    }
    PointTrace trace = codec_points_load(job->trace, job->points);
    Region bounds = region_of(&trace);
    if (job->bounds != NULL && !region_parse(job->bounds, &bounds)) {
        fprintf(stderr, "plenum-bench codec: --bounds: not x0,y0,z0,x1,y1,z1\n");
        codec_points_free(&trace);
        return EXIT_USAGE;
    }
    Setting setting = setting_of(job->quantum_m, job->delay);
    bool small = true;
    for (u32 a = 0; a < 3; a++) {
        small = small && (bounds.high[a] - bounds.low[a]) / job->quantum_m < POSITION_CODE_MAX;
    }
    if (!small || trace.frames <= setting.back[2]) {
        fprintf(stderr, "plenum-bench codec: %s\n",
                small ? "the trace is shorter than three delays"
                      : "the quantum is too small for the bounds");
        codec_points_free(&trace);
        return EXIT_USAGE;
    }
    bool good = measure_setting(&trace, job->trace, &setting, &bounds, 1);
    codec_points_free(&trace);
    return good ? EXIT_OK : EXIT_CHECK_FAILED;
}

/* Spans of a few packets' sizes and whole fields, of all settings in turn. */
static void train_frame(PointCodec *codec, const PointTrace *trace, QPoint *const *points,
                        u32 frame, u8 *code, u32 capacity)
{
    for (u32 k = 0; k < PL_COUNT(settings); k++) {
        bool key = settings[k].back[0] == 0;
        if (frame < settings[k].back[2] || (key && frame % 8 != 0)) {
            continue;
        }
        Run run = {.points = points[k], .count = trace->count};
        memcpy(run.back, settings[k].back, sizeof run.back);
        u32 part = frame % 4 == 0 ? trace->count : 640;
        for (u32 from = 0; from < trace->count; from += part) {
            u32 count = trace->count - from < part ? trace->count - from : part;
            PointSpan span = span_of(&run, frame, from, count);
            point_encode(codec, &span, run.points + (size_t)frame * run.count + from, code,
                         capacity);
        }
    }
}

int codec_points_train(const char *path)
{
    PointTrace traces[TRAINING_WORLDS];
    QPoint *points[TRAINING_WORLDS][PL_COUNT(settings)];
    u32 most = 0;
    for (u32 i = 0; i < TRAINING_WORLDS; i++) {
        traces[i] = i % 2 == 0 ? codec_liquid(11 + i, 2000 + 1000 * i, TRAINING_FRAMES)
                               : codec_cloth(10 + i / 2, 24 + 4 * i, TRAINING_FRAMES);
        Region bounds = region_of(&traces[i]);
        for (u32 k = 0; k < PL_COUNT(settings); k++) {
            points[i][k] = quantized(&traces[i], &bounds, settings[k].quantum_m);
        }
        most = traces[i].count > most ? traces[i].count : most;
        fprintf(stderr, "world %u of %d\n", i + 1, TRAINING_WORLDS);
    }
    PointCodec *codec = bench_must(point_codec_create(NULL));
    u32 capacity = 256 + most * 32;
    u8 *code = bench_must(malloc(capacity)), *packed = NULL;
    if (!point_codec_learn(codec)) {
        bench_must(NULL);
    }
    for (u32 f = 1; f < TRAINING_FRAMES; f += 2) {
        for (u32 i = 0; i < TRAINING_WORLDS; i++) {
            train_frame(codec, &traces[i], points[i], f + i % 2, code, capacity);
        }
    }
    PointTables *tables = bench_must(malloc(sizeof *tables));
    point_codec_tables(codec, tables);
    size_t size = point_tables_pack(tables, &packed);
    bool good = bench_write(path, packed, size);
    point_codec_destroy(codec);
    free(packed);
    free(tables);
    free(code);
    for (u32 i = 0; i < TRAINING_WORLDS; i++) {
        for (u32 k = 0; k < PL_COUNT(settings); k++) {
            free(points[i][k]);
        }
        codec_points_free(&traces[i]);
    }
    return good ? EXIT_OK : EXIT_CHECK_FAILED;
}
