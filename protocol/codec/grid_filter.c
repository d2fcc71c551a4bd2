/* grid_filter.c: see grid_filter.h. */
#include "protocol/codec/grid_filter.h"

#include "protocol/codec/chunk.h"

#include <string.h>

enum {
    FIT_CELLS = 4096, /* of a span: larger spans are subsampled by rows for the fits */
    FIT_STEP_MAX = 4,
};

/* Index of the starting filters of a channel among the weights of the tables. */
static size_t start_at(const GridCodec *codec, u32 channel)
{
    u32 deep = codec->plan.kind == FIELD_GRID3;
    u32 k = (deep * GRID_CHANNELS + channel) * (GRID_STATES + 1) + codec->known;
    return (size_t)k * PLANE_WEIGHTS;
}

/* The starting filter in 256ths. */
static void get_start(const GridCodec *codec, u32 channel, u32 at, u32 count, i32 *weights)
{
    const MixTables *tables = codec->chained ? &codec->mix.now : codec->mix.start;
    const i16 *start = tables->weights + start_at(codec, channel) + at;
    for (u32 k = 0; k < count; k++) {
        weights[k] = (start[k] + 4) >> 3;
    }
}

/* Codes the weights of a filter that the encoder has fitted. */
void grid_code_filter(GridCodec *codec, u32 channel, u32 at, u32 count, bool own)
{
    i32 *weights = codec->filters[channel] + at, start[GRID_SPACE_MAX];
    u32 deep = codec->plan.kind == FIELD_GRID3, plane = deep * 2 + channel, last = 0;
    const u32 which[INPUTS] = {plane * 4 + codec->known, (u32)(at == SPACE_AT) * 4 + plane};
    get_start(codec, channel, at, count, start);
    take(codec, KIND_OWN, which);
    bool sent = code_bit(codec, at == SPACE_AT, own) != 0;
    for (u32 k = 0; k < count; k++) {
        if (!sent) {
            weights[k] = start[k];
            continue;
        }
        const u32 c[INPUTS] = {plane * PLANE_WEIGHTS + at + k,
                               (plane * 4 + codec->known) * PLANE_WEIGHTS + at + k, last};
        take(codec, KIND_WEIGHT, c);
        i32 off = code_signed(codec, weights[k] - start[k]);
        i64 made = (i64)start[k] + off;
        weights[k] = (i32)(made > GRID_WEIGHT_MAX    ? GRID_WEIGHT_MAX
                           : made < -GRID_WEIGHT_MAX ? -GRID_WEIGHT_MAX
                                                     : made);
        last = logarithm(i32_magnitude(off), 15);
        if (codec->chained) {
            i16 *learned = codec->mix.now.weights + start_at(codec, channel) + at + k;
            i32 step = weights[k] * 8 - *learned;
            if (codec->trains) {
                step = step / (1 << LEARNED_SHIFT) + (step > 0) - (step < 0);
            }
            *learned = (i16)(*learned + step);
        }
    }
}

static void fill_states(GridCodec *codec, const GridSpan *span, u32 k, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    GridAround around;
    grid_around_begin(plan, k, &around);
    for (u32 s = 0; s < codec->known; s++) {
        GridPicture picture = grid_picture(plan, span->state[s], channel);
        grid_block_fill(plan, &around, &picture, plan->rim, &codec->states[s]);
    }
}

/* Row step of the fit: some thousand cells determine the weights as well. Most voxels are empty. */
static u32 fit_step(const GridCodec *codec)
{
    u32 cells = 0;
    for (u32 k = 0; k < codec->plan.count && codec->plan.kind == FIELD_GRID2; k++) {
        cells += codec->same[k] == 0 ? grid_box_elements(&codec->plan.boxes[k]) : 0;
    }
    return u32_min(1 + cells / FIT_CELLS, FIT_STEP_MAX);
}

bool grid_fit_time(GridCodec *codec, const GridSpan *span, const u8 *now, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    GridFit *fit = &codec->fit;
    u32 count = grid_time_count(plan, codec->known), wide = plan->edge[0];
    u32 step = fit_step(codec);
    grid_fit_begin(fit, count, wide, step);
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        if (codec->same[k] != 0) {
            continue;
        }
        fill_states(codec, span, k, channel);
        for (u32 row = k % step; row < (u32)box->size[1] * box->size[2]; row += step) {
            size_t i = box->offset + row * box->size[0];
            u32 y = row % box->size[1], z = row / box->size[1];
            i32 features[GRID_TIME_MAX][16];
            grid_time_row(plan, codec->states, codec->known, y, z, features);
            const i32 *a = codec->states[0].at + plan->origin + y * plan->row + z * plan->layer;
            for (u32 f = 0; f < count; f++) {
                memcpy(grid_fit_row(fit, f), features[f], wide * sizeof(i32));
            }
            i32 *target = grid_fit_row(fit, count);
            for (u32 x = 0; x < box->size[0]; x++, i++) {
                target[x] = grid_value(plan, now, i * plan->channels + channel) - a[x];
            }
            grid_fit_push(fit, box->size[0]);
        }
    }
    i32 start[GRID_SPACE_MAX];
    get_start(codec, channel, TIME_AT, count, start);
    return grid_fit_solve(fit, start, codec->filters[channel] + TIME_AT);
}

/* A chunk that is unchanged, or without a known state. */
static void flat_chunk(const GridCodec *codec, const u8 *now, u32 k, u32 channel, const i32 *bases,
                       i32 *restrict to)
{
    const GridPlan *plan = &codec->plan;
    u32 n = grid_box_elements(&plan->boxes[k]), step = plan->channels;
    size_t from = (size_t)plan->boxes[k].offset * step + channel;
    if (codec->same[k] == 0) {
        for (u32 i = 0; i < n; i++) {
            to[i] = bases[k] << GRID_FRACTION;
        }
    } else if (plan->kind == FIELD_GRID3) {
        for (u32 i = 0; i < n; i++) {
            to[i] = now[from + (size_t)i * step] << GRID_FRACTION;
        }
    } else {
        const u16 *values = (const u16 *)(const void *)now;
        for (u32 i = 0; i < n; i++) {
            to[i] = values[from + (size_t)i * step] << GRID_FRACTION;
        }
    }
}

/* The picture predicted from the states; unchanged chunks have their values. */
void grid_predict(GridCodec *codec, const GridSpan *span, const u8 *now, const i32 *bases,
                  u32 channel)
{
    const GridPlan *plan = &codec->plan;
    i32 *out = codec->predicted + (size_t)channel * plan->elements;
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        u32 rows = (u32)box->size[1] * box->size[2];
        i32 *to = out + box->offset;
        if (codec->same[k] != 0 || codec->known == 0) {
            flat_chunk(codec, now, k, channel, bases, to);
            continue;
        }
        fill_states(codec, span, k, channel);
        for (u32 row = 0; row < rows; row++) {
            i32 made[16];
            grid_time_predict(plan, codec->states, codec->known, row % box->size[1],
                              row / box->size[1], codec->filters[channel] + TIME_AT, made);
            memcpy(to + row * box->size[0], made, box->size[0] * sizeof *to);
        }
    }
    memcpy(codec->seen + (size_t)channel * plan->elements, out, plan->elements * sizeof *out);
}

/* times × v − t for a row of 8 or 16. */
static void less(const i32 *v, i32 times, const i32 *t, u32 wide, i32 *restrict out)
{
    if (wide == CHUNK_CELLS_EDGE) {
        for (u32 x = 0; x < CHUNK_CELLS_EDGE; x++) {
            out[x] = v[x] * times - t[x];
        }
    } else {
        for (u32 x = 0; x < CHUNK_VOXELS_EDGE; x++) {
            out[x] = v[x] * times - t[x];
        }
    }
}

bool grid_fit_space(GridCodec *codec, const u8 *now, u32 channel)
{
    const GridPlan *plan = &codec->plan;
    GridFit *fit = &codec->fit;
    const i32 *coded = codec->coded_at, *around = codec->around_at;
    u32 before = codec->before, beside = codec->beside;
    u32 count = before + beside + channel, wide = plan->edge[0];
    GridPicture picture = {codec->predicted + (size_t)channel * plan->elements, GRID_FROM_I32, 1,
                           0};
    GridPicture values = grid_picture(plan, now, channel);
    u32 step = fit_step(codec);
    grid_fit_begin(fit, count, wide, step);
    for (u32 k = 0; k < plan->count; k++) {
        const GridBox *box = &plan->boxes[k];
        if (codec->same[k] != 0) {
            continue;
        }
        GridAround round;
        grid_around_begin(plan, k, &round);
        grid_block_fill(plan, &round, &picture, grid_space_rim(plan), &codec->picture);
        grid_block_fill(plan, &round, &values, grid_space_rim(plan), &codec->coded);
        for (u32 row = k % step; row < (u32)box->size[1] * box->size[2]; row += step) {
            size_t i = box->offset + row * box->size[0];
            u32 at =
                plan->origin + row % box->size[1] * plan->row + row / box->size[1] * plan->layer;
            const i32 *t = codec->picture.at + at, *v = codec->coded.at + at;
            for (u32 f = 0; f < before; f++) {
                i32 *out = grid_fit_row(fit, f);
                less(v + coded[f], 16, t, wide, out);
            }
            for (u32 f = 0; f < beside; f++) {
                i32 *out = grid_fit_row(fit, before + f);
                less(t + around[f], 1, t, wide, out);
            }
            i32 *target = grid_fit_row(fit, count);
            less(v, 16, t, wide, target);
            if (channel > 0) {
                i32 *out = grid_fit_row(fit, count - 1);
                for (u32 x = 0; x < box->size[0]; x++) {
                    out[x] = grid_value(plan, now, (i + x) * plan->channels) * 16 -
                             codec->predicted[i + x];
                }
            }
            grid_fit_push(fit, box->size[0]);
        }
    }
    i32 start[GRID_SPACE_MAX];
    get_start(codec, channel, SPACE_AT, count, start);
    return grid_fit_solve(fit, start, codec->filters[channel] + SPACE_AT);
}
