/*
 * recording_between.c: interpolates points and grids between two pictures by cubics through four
 * pictures. Their slopes are limited so that values stay between those of the two surrounding
 * pictures (Fritsch and Carlson 1980): no point dips into the ground. Integers only: bit-identical
 * on every machine.
 */
#include "protocol/record/recording_internal.h"

#include <string.h>

enum {
    FRACTION_BITS = 8 /* of slopes */
};

/* Position between two pictures. */
typedef struct Place {
    i64 at, of;        /* ticks since the first, ticks from the first to the second */
    i64 before, after; /* ticks of the intervals before and after; 0: none */
} Place;

/* Change from one picture to another `apart` ticks later, scaled to an interval of `of` ticks. */
static i64 slope(i64 from, i64 to, i64 ticks, i64 of)
{
    i64 rise = (to - from) * (1 << FRACTION_BITS);
    return ticks == of ? rise : rise * of / ticks; /* the division dominates the cost */
}

/* Slope at a picture with these slopes before and after it. */
static i64 limited(i64 a, i64 b)
{
    i64 mean = (a + b) / 2;
    if ((a > 0) != (b > 0) || a == 0 || b == 0) {
        return 0;
    }
    i64 most = 3 * (a > 0 ? i64_min(a, b) : -i64_max(a, b));
    return i64_min(i64_max(mean, -most), most);
}

/* The value at `place` of the cubic with these values and slopes at its ends. */
static i32 cubic(const Place *place, i64 from, i64 to, i64 slope_from, i64 slope_to)
{
    i64 n = place->at, k = place->of, rest = k - n, scale = k * k * k * (1 << FRACTION_BITS);
    i64 sum = (to - from) * (1 << FRACTION_BITS) * (3 * n * n * k - 2 * n * n * n) +
              slope_from * n * rest * rest - slope_to * n * n * rest;
    i64 low = i64_min(from, to), high = i64_max(from, to);
    i64 half = sum < 0 ? -scale / 2 : scale / 2;
    return (i32)i64_min(i64_max(from + (sum + half) / scale, low), high);
}

static u32 straight(const Place *place, u32 from, u32 to)
{
    i64 twice = 2 * ((i64)from * (place->of - place->at) + (i64)to * place->at);
    return (u32)((twice + place->of) / (2 * place->of));
}

/* Most points of a world are at rest. */
static bool is_same(const QPoint *a, const QPoint *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static bool leads_on(const QPoint *a, const QPoint *b)
{
    return a->generation != 0 && a->generation == b->generation;
}

/* before and after: NULL if there is none. */
static void point_between(const Place *place, const QPoint *before, const QPoint *from,
                          const QPoint *to, const QPoint *after, QPoint *out)
{
    bool has_before = before != NULL && leads_on(before, from);
    bool has_after = after != NULL && leads_on(to, after);
    for (u32 a = 0; a < 3; a++) {
        i64 own = slope(from->position[a], to->position[a], place->of, place->of);
        i64 first = own, last = own;
        if (has_before) {
            first = limited(slope(before->position[a], from->position[a], place->before, place->of),
                            own);
        }
        if (has_after) {
            last =
                limited(own, slope(to->position[a], after->position[a], place->after, place->of));
        }
        out->position[a] = cubic(place, from->position[a], to->position[a], first, last);
    }
    out->scalar = (u16)straight(place, from->scalar, to->scalar);
}

static const QPoint *points_of(const Frame *frame, u32 field)
{
    return frame != NULL ? frame_points(frame, field) : NULL;
}

static void points_between(const Place *place, const RecordingAround *around, u32 field,
                           Frame *frame)
{
    const QPoint *before = points_of(around->before, field);
    const QPoint *from = points_of(around->from, field), *to = points_of(around->to, field);
    const QPoint *after = points_of(around->after, field);
    QPoint *out = frame_points(frame, field);
    u32 count = frame->fields->fields[field].capacity;
    for (u32 i = 0; i < count; i++) {
        if (leads_on(&from[i], &to[i]) && !is_same(&from[i], &to[i])) {
            point_between(place, before != NULL ? &before[i] : NULL, &from[i], &to[i],
                          after != NULL ? &after[i] : NULL, &out[i]);
        }
    }
}

static void heights_between(const Place *place, const u16 *from, const u16 *to, u32 count, u16 *out)
{
    for (u32 i = 0; i < count; i++) {
        out[i] = (u16)straight(place, from[i], to[i]);
    }
}

static void densities_between(const Place *place, const u8 *from, const u8 *to, u32 count, u8 *out)
{
    for (u32 i = 0; i < count; i++) {
        out[i] = from[i] == to[i] ? from[i] : (u8)straight(place, from[i], to[i]);
    }
}

void recording_between(const RecordingAround *around, Frame *frame)
{
    const Frame *from = around->from, *to = around->to;
    const FieldSet *fields = frame->fields;
    Place place = {.at = (i64)(frame->tick - from->tick), .of = (i64)(to->tick - from->tick)};
    place.before = around->before != NULL ? (i64)(from->tick - around->before->tick) : 0;
    place.after = around->after != NULL ? (i64)(around->after->tick - to->tick) : 0;
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        u32 cells = field->capacity * field->channels;
        if (field->kind == FIELD_POINTS) {
            points_between(&place, around, f, frame);
        } else if (field->kind == FIELD_GRID2) {
            heights_between(&place, frame_field(from, f), frame_field(to, f), cells,
                            frame_field(frame, f));
        } else if (field->kind == FIELD_GRID3) {
            densities_between(&place, frame_field(from, f), frame_field(to, f), cells,
                              frame_field(frame, f));
        }
    }
}
