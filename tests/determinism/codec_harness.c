/* codec_harness.c: prints one hash of the codes of random worlds with fields of every kind, of a
 * waving sheet and of a rotating stream; each code is also decoded. test_builds.c compiles it, with
 * the codecs, in several ways. */
#include "protocol/codec/span.h"
#include "shared/base/hash.h"
#include "tests/unit/protocol/random_world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FRAMES = 4,
    WORLDS = 6,
    STATE_BYTES = 1 << 18,
    SIDE = 48, /* points along a side of the sheet */
};

typedef struct Harness {
    SpanCoder *coder, *decoder;
    u8 states[1 + SPAN_STATES][STATE_BYTES], made[STATE_BYTES], code[STATE_BYTES];
    u64 hash;
} Harness;

static _Noreturn void stop(const char *text)
{
    fprintf(stderr, "%s\n", text);
    exit(1);
}

/* One field of the newest frame, in spans, against the `known` frames before it. */
static void code_field(Harness *h, const FieldDesc *field, Frame *const *frames, u32 known)
{
    u16 chunks[SPAN_CHUNKS_MAX];
    u32 total = chunk_count(field), most = span_chunks_max(field);
    for (u32 from = 0; from < total; from += most) {
        u32 count = u32_min(total - from, most);
        for (u32 i = 0; i < count; i++) {
            chunks[i] = (u16)(from + i);
        }
        Span span = {.field = field, .count = count, .chunks = chunks};
        u32 bytes = span_state_bytes(field, chunks, count);
        if (bytes > STATE_BYTES) {
            stop("a span is too large");
        }
        span_gather(field, chunks, count, frame_field(frames[FRAMES - 1], field->id), h->states[0]);
        for (u32 s = 0; s < known; s++) {
            span_gather(field, chunks, count, frame_field(frames[FRAMES - 2 - s], field->id),
                        h->states[1 + s]);
            span.state[s] = h->states[1 + s];
            span.back[s] = 3 * (s + 1);
        }
        bool plain;
        u32 size = span_encode(h->coder, &span, h->states[0], h->code, STATE_BYTES, &plain);
        if (size == 0 || span_decode(h->decoder, &span, plain, h->code, size, h->made) != 0 ||
            memcmp(h->made, h->states[0], bytes) != 0) {
            stop("a span is not what it was");
        }
        h->hash = hash_bytes(h->code, size, h->hash);
    }
}

static void code_frames(Harness *h, const FieldSet *fields, Frame *const *frames)
{
    for (u32 f = 0; f < fields->count; f++) {
        for (u32 known = 0; known <= SPAN_STATES; known++) {
            code_field(h, &fields->fields[f], frames, known);
        }
    }
}

static void code_random_world(Harness *h, u64 seed)
{
    Dice dice = {seed, 0};
    FieldSet *fields = random_fields(400 + dice_below(&dice, 600));
    Frame *frames[FRAMES];
    for (u32 i = 0; i < FRAMES; i++) {
        f64 activity = dice_range(&dice, 0.2f, 1.0f);
        frames[i] = random_next(&dice, fields, i > 0 ? frames[i - 1] : NULL, 1 + 3 * i, activity);
    }
    code_frames(h, fields, frames);
    for (u32 i = 0; i < FRAMES; i++) {
        frame_release(frames[i]);
    }
    field_set_release(fields);
}

/* Random codes with small changes. */
static void put_points(Dice *dice, QPoint *points, u32 count, i32 time, bool sheet)
{
    for (i32 i = 0; i < (i32)count; i++) {
        i32 x = i % SIDE * 40, z = i / SIDE * 40, wave = (x * x / 300 + z * time) % 900;
        i32 flat[3] = {x, (wave < 450 ? wave : 900 - wave) * time / 8, z};
        i32 a = i % 12 * 60 - 330, b = i / 12 % 12 * 60, c = i / 144 * 60 - 480;
        i32 turned[3] = {a - c * time / 16, b + a * time / 64, c + a * time / 16};
        points[i] = (QPoint){.generation = 1};
        for (u32 axis = 0; axis < 3; axis++) {
            points[i].position[axis] = (sheet ? flat : turned)[axis] + (i32)dice_below(dice, 4);
        }
    }
}

static void code_points(Harness *h, bool sheet)
{
    FieldDesc field = field_desc(FIELD_POINTS, SIDE * SIDE);
    FieldSet *fields = field_set_create(&field, 1);
    Frame *frames[FRAMES];
    Dice dice = {77, 0};
    for (u32 i = 0; i < FRAMES; i++) {
        frames[i] = fields != NULL ? frame_create(fields, 1 + 3 * i, 0) : NULL;
        if (frames[i] == NULL) {
            stop("out of memory");
        }
        put_points(&dice, frame_field(frames[i], 0), SIDE * SIDE, (i32)i, sheet);
    }
    code_frames(h, fields, frames);
    for (u32 i = 0; i < FRAMES; i++) {
        frame_release(frames[i]);
    }
    field_set_release(fields);
}

int main(void)
{
    Harness *h = calloc(1, sizeof *h);
    if (h == NULL) {
        stop("out of memory");
    }
    h->coder = span_coder_create();
    h->decoder = span_coder_create();
    if (h->coder == NULL || h->decoder == NULL) {
        stop("no codecs");
    }
    for (u32 i = 0; i < WORLDS; i++) {
        code_random_world(h, 500 + i);
    }
    code_points(h, false);
    code_points(h, true);
    printf("%016" PRIx64 "\n", h->hash);
    span_coder_destroy(h->coder);
    span_coder_destroy(h->decoder);
    free(h);
    return 0;
}
