/* codec_grids.c: see codec_grids.h. */
#include "tests/bench/codec_grids.h"
#include "tests/bench/bench.h"

#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 128,
    CELLS = SIDE * SIDE,
    SUBSTEPS = 240, /* a second */
    WARM_S = 4,     /* before the first frame */
    EDGE = 64,
    VOXELS = EDGE * EDGE * EDGE,
    SWEEPS = 10,
};

static GridTrace make(FieldDesc field, u32 frames)
{
    size_t count = (size_t)field.capacity * frames;
    return (GridTrace){field, frames, bench_get(count, field_element_bytes(&field))};
}

void codec_grid_free(GridTrace *trace)
{
    free(trace->elements);
    trace->elements = NULL;
}

/* Rounds, and stays within the element. */
static u32 quantized(const FieldDesc *field, f32 value, f32 step, f32 low)
{
    f32 most = field->kind == FIELD_GRID2 ? 65535.0f : 255.0f;
    return (u32)f32_clamp((value - low) / step + 0.5f, 0.0f, most);
}

/* ---- water ---- */

typedef struct Water {
    f32 h[SIDE][SIDE], next[SIDE][SIDE];
    f32 u[SIDE][SIDE + 1], v[SIDE + 1][SIDE]; /* m/s through the faces */
    f32 sunk[SIDE][SIDE];                     /* depth of the body in a column, m */
    f32 depth, cell, friction;
    f32 drops, drop_radius, drop_height; /* a second, cells, m */
    f32 body_radius, body_pace, body_draught;
    u64 seed;
    u32 step;
} Water;

static void water_begin(Water *w, u64 seed)
{
    *w = (Water){.depth = random_range(seed, 1, 0.5f, 2.0f),
                 .cell = random_range(seed, 2, 0.08f, 0.2f),
                 .friction = random_range(seed, 3, 0.2f, 0.6f),
                 .drops = random_range(seed, 4, 0.4f, 1.5f),
                 .drop_radius = random_range(seed, 5, 2.0f, 6.0f),
                 .drop_height = random_range(seed, 6, 0.02f, 0.09f),
                 .body_radius = random_range(seed, 7, 4.0f, 9.0f),
                 .body_pace = random_range(seed, 8, 0.2f, 0.6f),
                 .body_draught = random_range(seed, 9, 0.03f, 0.12f),
                 .seed = seed};
    for (u32 i = 0; i < CELLS; i++) {
        (&w->h[0][0])[i] = w->depth;
    }
}

static void add_drop(Water *w, u32 number)
{
    f32 x = random_range(w->seed, 1000 + 4 * number, 4.0f, SIDE - 4.0f);
    f32 y = random_range(w->seed, 1001 + 4 * number, 4.0f, SIDE - 4.0f);
    f32 r = w->drop_radius * random_range(w->seed, 1002 + 4 * number, 0.6f, 1.4f);
    f32 high = w->drop_height * random_range(w->seed, 1003 + 4 * number, 0.4f, 1.3f);
    for (u32 j = 0; j < SIDE; j++) {
        for (u32 i = 0; i < SIDE; i++) {
            f32 dx = (f32)i - x, dy = (f32)j - y;
            w->h[j][i] += high * (f32)trig_exp(-(f64)((dx * dx + dy * dy) / (r * r)));
        }
    }
}

/* The body pushes away as much as it newly fills (Müller's coupling), and goes round. */
static void move_body(Water *w)
{
    f32 t = (f32)w->step / SUBSTEPS;
    f32 x = SIDE * (0.5f + 0.34f * trig_sin_f32(t * w->body_pace * 2.1f));
    f32 y = SIDE * (0.5f + 0.34f * trig_sin_f32(t * w->body_pace * 3.3f + 1.0f));
    f32 ramp = f32_min(t, 1.0f);
    for (u32 j = 0; j < SIDE; j++) {
        for (u32 i = 0; i < SIDE; i++) {
            f32 dx = (f32)i - x, dy = (f32)j - y;
            f32 part = 1.0f - (dx * dx + dy * dy) / (w->body_radius * w->body_radius);
            f32 sunk = part > 0.0f ? ramp * w->body_draught * sqrtf(part) : 0.0f;
            w->h[j][i] += 0.5f * (sunk - w->sunk[j][i]);
            w->sunk[j][i] = sunk;
        }
    }
}

static void water_step(Water *w)
{
    const f32 dt = 1.0f / SUBSTEPS, gravity = 9.81f;
    f32 slope = gravity * dt / w->cell, keep = 1.0f - w->friction * dt;
    u32 due = (u32)((f32)w->step * dt * w->drops), was = (u32)((f32)(w->step - 1) * dt * w->drops);
    if (w->step > 0 && due != was) {
        add_drop(w, due);
    }
    if (w->step % 4 == 0) {
        move_body(w);
    }
    for (u32 j = 0; j < SIDE; j++) {
        for (u32 i = 1; i < SIDE; i++) {
            w->u[j][i] = keep * (w->u[j][i] - slope * (w->h[j][i] - w->h[j][i - 1]));
            if (j > 0) {
                w->v[j][i] = keep * (w->v[j][i] - slope * (w->h[j][i] - w->h[j - 1][i]));
            }
        }
        if (j > 0) {
            w->v[j][0] = keep * (w->v[j][0] - slope * (w->h[j][0] - w->h[j - 1][0]));
        }
    }
    /* Central fluxes where the flow is slow beside the waves: less is smeared. */
    f32 part = dt / w->cell;
    for (u32 j = 0; j < SIDE; j++) {
        for (u32 i = 0; i < SIDE; i++) {
            f32 h = w->h[j][i], sum = 0.0f;
            f32 west = i > 0 ? w->h[j][i - 1] : h, east = i + 1 < SIDE ? w->h[j][i + 1] : h;
            f32 north = j > 0 ? w->h[j - 1][i] : h, south = j + 1 < SIDE ? w->h[j + 1][i] : h;
            sum += w->u[j][i] * 0.5f * (west + h) - w->u[j][i + 1] * 0.5f * (h + east);
            sum += w->v[j][i] * 0.5f * (north + h) - w->v[j + 1][i] * 0.5f * (h + south);
            w->next[j][i] = f32_max(h + part * sum, 0.0f);
        }
    }
    memcpy(w->h, w->next, sizeof w->h);
    w->step++;
}

GridTrace codec_grid_water(u64 seed, u32 frames, u32 hertz, f32 quantum_m, u32 channels)
{
    FieldDesc field = {.kind = FIELD_GRID2,
                       .channels = (u8)channels,
                       .name = "water",
                       .capacity = CELLS,
                       .dims = {SIDE, SIDE, 1},
                       .quantum = quantum_m,
                       .spacing = {1.0f, 1.0f, 1.0f}};
    GridTrace trace = make(field, frames);
    Water *w = bench_get(1, sizeof *w);
    water_begin(w, seed);
    for (u32 s = 0; s < WARM_S * SUBSTEPS; s++) {
        water_step(w);
    }
    u16 *out = trace.elements;
    for (u32 f = 0; f < frames; f++) {
        for (u32 i = 0; i < CELLS; i++) {
            f32 flow = w->u[i / SIDE][i % SIDE];
            *out++ = (u16)quantized(&field, (&w->h[0][0])[i], quantum_m, 0.0f);
            if (channels == 2) {
                *out++ = (u16)quantized(&field, flow, 10.0f * quantum_m, -32768.0f * quantum_m);
            }
        }
        for (u32 s = 0; s < SUBSTEPS / hertz; s++) {
            water_step(w);
        }
    }
    free(w);
    return trace;
}

/* ---- smoke ---- */

typedef f32 Voxels[EDGE][EDGE][EDGE]; /* [z][y][x] */

typedef struct Smoke {
    Voxels speed[3]; /* voxels a second, at the centres */
    Voxels density, heat, was, pressure, divergence;
    f32 source[3][5]; /* x, z, radius, density and heat a second */
    f32 ball[3], ball_radius, sway;
    f32 lift, fall, fade;
    u64 seed;
    u32 step;
} Smoke;

static void smoke_begin(Smoke *s, u64 seed)
{
    memset(s, 0, sizeof *s);
    s->seed = seed;
    s->lift = random_range(seed, 1, 40.0f, 120.0f);
    s->fall = random_range(seed, 2, 0.0f, 8.0f);
    s->fade = random_range(seed, 3, 0.02f, 0.25f);
    s->sway = random_range(seed, 4, 0.0f, 3.0f);
    s->ball_radius = random_range(seed, 5, 4.0f, 9.0f);
    s->ball[0] = random_range(seed, 6, 24.0f, 40.0f);
    s->ball[1] = random_range(seed, 7, 26.0f, 40.0f);
    s->ball[2] = random_range(seed, 8, 24.0f, 40.0f);
    for (u32 k = 0; k < 3; k++) {
        bool there = k == 0 || random_f32(seed, 20 + k) < 0.5f;
        s->source[k][0] = random_range(seed, 30 + 5 * k, 16.0f, 48.0f);
        s->source[k][1] = random_range(seed, 31 + 5 * k, 16.0f, 48.0f);
        s->source[k][2] = there ? random_range(seed, 32 + 5 * k, 4.0f, 10.0f) : 0.0f;
        s->source[k][3] = random_range(seed, 33 + 5 * k, 1.5f, 6.0f);
        s->source[k][4] = random_range(seed, 34 + 5 * k, 1.0f, 4.0f);
    }
}

static f32 sample(Voxels v, f32 x, f32 y, f32 z)
{
    x = f32_clamp(x, 0.0f, EDGE - 1.001f);
    y = f32_clamp(y, 0.0f, EDGE - 1.001f);
    z = f32_clamp(z, 0.0f, EDGE - 1.001f);
    u32 i = (u32)x, j = (u32)y, k = (u32)z;
    f32 fx = x - (f32)i, fy = y - (f32)j, fz = z - (f32)k;
    f32 a = v[k][j][i] + fx * (v[k][j][i + 1] - v[k][j][i]);
    f32 b = v[k][j + 1][i] + fx * (v[k][j + 1][i + 1] - v[k][j + 1][i]);
    f32 c = v[k + 1][j][i] + fx * (v[k + 1][j][i + 1] - v[k + 1][j][i]);
    f32 d = v[k + 1][j + 1][i] + fx * (v[k + 1][j + 1][i + 1] - v[k + 1][j + 1][i]);
    f32 front = a + fy * (b - a), back = c + fy * (d - c);
    return front + fz * (back - front);
}

/* Semi-Lagrangian: every value is that of the previous step at the origin of the flow. */
static void advect(Smoke *s, f32 dt)
{
    static Voxels next[5];
    Voxels *fields[5] = {&s->speed[0], &s->speed[1], &s->speed[2], &s->density, &s->heat};
    for (u32 k = 0; k < EDGE; k++) {
        for (u32 j = 0; j < EDGE; j++) {
            for (u32 i = 0; i < EDGE; i++) {
                f32 x = (f32)i - dt * s->speed[0][k][j][i];
                f32 y = (f32)j - dt * s->speed[1][k][j][i];
                f32 z = (f32)k - dt * s->speed[2][k][j][i];
                for (u32 n = 0; n < 5; n++) {
                    next[n][k][j][i] = sample(*fields[n], x, y, z);
                }
            }
        }
    }
    for (u32 n = 0; n < 5; n++) {
        memcpy(*fields[n], next[n], sizeof next[n]);
    }
}

static bool in_ball(const Smoke *s, u32 i, u32 j, u32 k)
{
    f32 x = (f32)i - s->ball[0], y = (f32)j - s->ball[1], z = (f32)k - s->ball[2];
    return x * x + y * y + z * z < s->ball_radius * s->ball_radius;
}

static void add_sources(Smoke *s, f32 dt)
{
    f32 t = (f32)s->step * dt;
    for (u32 n = 0; n < 3; n++) {
        const f32 *source = s->source[n];
        f32 cx = source[0] + s->sway * trig_sin_f32(t * 1.7f), r = source[2];
        for (u32 k = 0; k < EDGE; k++) {
            for (u32 j = 3; j < 6; j++) {
                for (u32 i = 0; i < EDGE; i++) {
                    f32 dx = (f32)i - cx, dz = (f32)k - source[1];
                    f32 part = r > 0.0f ? 1.0f - (dx * dx + dz * dz) / (r * r) : 0.0f;
                    if (part > 0.0f) {
                        s->density[k][j][i] += part * source[3] * dt;
                        s->heat[k][j][i] += part * source[4] * dt;
                    }
                }
            }
        }
    }
}

static void project(Smoke *s)
{
    memset(s->divergence, 0, sizeof s->divergence);
    for (u32 k = 1; k + 1 < EDGE; k++) {
        for (u32 j = 1; j + 1 < EDGE; j++) {
            for (u32 i = 1; i + 1 < EDGE; i++) {
                s->divergence[k][j][i] =
                    0.5f * (s->speed[0][k][j][i + 1] - s->speed[0][k][j][i - 1] +
                            s->speed[1][k][j + 1][i] - s->speed[1][k][j - 1][i] +
                            s->speed[2][k + 1][j][i] - s->speed[2][k - 1][j][i]);
            }
        }
    }
    /* From the pressure of the step before: few sweeps suffice. */
    for (u32 sweep = 0; sweep < SWEEPS; sweep++) {
        memcpy(s->was, s->pressure, sizeof s->was);
        for (u32 k = 1; k + 1 < EDGE; k++) {
            for (u32 j = 1; j + 1 < EDGE; j++) {
                for (u32 i = 1; i + 1 < EDGE; i++) {
                    f32 sum = s->was[k][j][i - 1] + s->was[k][j][i + 1] + s->was[k][j - 1][i] +
                              s->was[k][j + 1][i] + s->was[k - 1][j][i] + s->was[k + 1][j][i];
                    s->pressure[k][j][i] = (sum - s->divergence[k][j][i]) * (1.0f / 6.0f);
                }
            }
        }
    }
    for (u32 k = 0; k < EDGE; k++) {
        for (u32 j = 0; j < EDGE; j++) {
            for (u32 i = 0; i < EDGE; i++) {
                bool wall = i == 0 || j == 0 || k == 0 || i + 1 == EDGE || j + 1 == EDGE ||
                            k + 1 == EDGE || in_ball(s, i, j, k);
                if (wall) {
                    s->speed[0][k][j][i] = s->speed[1][k][j][i] = s->speed[2][k][j][i] = 0.0f;
                    s->density[k][j][i] *= 0.9f;
                    continue;
                }
                s->speed[0][k][j][i] -=
                    0.5f * (s->pressure[k][j][i + 1] - s->pressure[k][j][i - 1]);
                s->speed[1][k][j][i] -=
                    0.5f * (s->pressure[k][j + 1][i] - s->pressure[k][j - 1][i]);
                s->speed[2][k][j][i] -=
                    0.5f * (s->pressure[k + 1][j][i] - s->pressure[k - 1][j][i]);
            }
        }
    }
}

static void smoke_step(Smoke *s)
{
    const f32 dt = 1.0f / 60.0f;
    f32 keep = 1.0f - s->fade * dt, cool = 1.0f - 2.0f * s->fade * dt;
    add_sources(s, dt);
    for (u32 i = 0; i < VOXELS; i++) {
        f32 *density = &s->density[0][0][0] + i, *heat = &s->heat[0][0][0] + i;
        (&s->speed[1][0][0][0])[i] += dt * (s->lift * *heat - s->fall * *density);
        *density *= keep;
        *heat *= cool;
    }
    project(s);
    advect(s, dt);
    s->step++;
}

GridTrace codec_grid_smoke(u64 seed, u32 frames, u32 channels)
{
    FieldDesc field = {.kind = FIELD_GRID3,
                       .channels = (u8)channels,
                       .name = "smoke",
                       .capacity = VOXELS,
                       .dims = {EDGE, EDGE, EDGE},
                       .quantum = 1.0f / 255.0f,
                       .spacing = {1.0f, 1.0f, 1.0f}};
    GridTrace trace = make(field, frames);
    Smoke *s = bench_get(1, sizeof *s);
    smoke_begin(s, seed);
    for (u32 i = 0; i < 60; i++) {
        smoke_step(s);
    }
    u8 *out = trace.elements;
    for (u32 f = 0; f < frames; f++) {
        for (u32 i = 0; i < VOXELS; i++) {
            *out++ = (u8)quantized(&field, (&s->density[0][0][0])[i], field.quantum, 0.0f);
            if (channels == 2) {
                *out++ = (u8)quantized(&field, (&s->heat[0][0][0])[i], field.quantum, 0.0f);
            }
        }
        smoke_step(s);
    }
    free(s);
    return trace;
}

/* ---- scalars ---- */

GridTrace codec_grid_scalars(u64 seed, u32 frames, u32 count)
{
    FieldDesc field = {.kind = FIELD_SCALARS, .channels = 1, .name = "scalars", .capacity = count};
    GridTrace trace = make(field, frames);
    u32 *out = trace.elements;
    for (u32 f = 0; f < frames; f++) {
        f32 t = (f32)f / 60.0f;
        for (u32 i = 0; i < count; i++) {
            f32 size = random_range(seed, i, 0.5f, 50.0f), value = size;
            u32 kind = (u32)(random_u64(seed, 5000 + i / 8) % 4);
            if (kind == 1) {
                value = size * trig_sin_f32(t * random_range(seed, 2000 + i, 0.5f, 6.0f));
            } else if (kind == 2) {
                value = size + 0.7f * t * size;
            } else if (kind == 3) {
                value = random_range(seed, 9000 + i + 977 * (f / 45), 0.0f, size);
            }
            memcpy(out++, &value, sizeof value);
        }
    }
    return trace;
}

/* ---- dumps from outside ---- */

static void refuse(const char *path, const char *why)
{
    fprintf(stderr, "plenum-bench: %s: %s\n", path, why);
    exit(1);
}

GridTrace codec_grid_load(const char *path, const u32 dims[3], f32 quantum, f32 low, f32 high)
{
    bool deep = dims[2] != 0;
    u64 cells = (u64)dims[0] * dims[1] * (deep ? dims[2] : 1);
    if (cells == 0 || cells > FIELD_ELEMENTS_MAX || dims[0] > 65535 || dims[1] > 65535 ||
        dims[2] > 65535) {
        refuse(path, "--dims are not those of a field");
    }
    f64 steps = ((f64)high - (f64)low) / (f64)quantum;
    if (!(steps > 0.0) || steps > (deep ? 255.5 : 65535.5)) {
        refuse(path, "--bounds have no step, or more than 65535 (2-D) or 255 (3-D)");
    }
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        refuse(path, "cannot be read");
    }
    rewind(file);
    size_t frame_bytes = cells * sizeof(f32);
    if (size == 0 || (size_t)size % frame_bytes != 0 || (size_t)size / frame_bytes > 1u << 20) {
        refuse(path, "its size is no multiple of a frame's");
    }
    FieldDesc field = {.kind = deep ? FIELD_GRID3 : FIELD_GRID2,
                       .channels = 1,
                       .name = "dump",
                       .capacity = (u32)cells,
                       .dims = {(u16)dims[0], (u16)dims[1], (u16)(deep ? dims[2] : 1)},
                       .quantum = quantum,
                       .value_min = low,
                       .spacing = {1.0f, 1.0f, 1.0f}};
    GridTrace trace = make(field, (u32)((size_t)size / frame_bytes));
    for (size_t i = 0; i < trace.frames * cells; i++) {
        u8 b[4];
        f32 value;
        if (fread(b, sizeof b, 1, file) != 1) {
            refuse(path, "cannot be read");
        }
        u32 bits = (u32)b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || value < low - 0.5f * quantum || value > high + 0.5f * quantum) {
            refuse(path, "a number is not finite or lies outside of --bounds");
        }
        u32 code = quantized(&field, value, quantum, low);
        if (deep) {
            ((u8 *)trace.elements)[i] = (u8)code;
        } else {
            ((u16 *)trace.elements)[i] = (u16)code;
        }
    }
    fclose(file);
    return trace;
}
