/*
 * pose_code.c: see pose_code.h. One traversal of the poses serves both encoding and decoding: each
 * symbol is `code(…, value)`, which returns the value that the decoder sees.
 */
#include "protocol/codec/pose_code.h"
#include "protocol/codec/pose_model.h"
#include "protocol/codec/pose_prediction.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    /* Farther neighbours carry no information, and larger lever arms would overflow. */
    NEIGHBOUR_REACH = 1 << 13,
    LIST_STEP = 8,      /* list entries processed at once */
    LIST_FAR = 1 << 30, /* distance of empty list entries: farther than any real one */
    CELL_SHIFT = 10,
    CELLS = 4096, /* size of a hash of cells */
    BLOCK = 32,   /* slots whose calm members share one flag */
    PICKED = 8,   /* index of the calm slot whose distance from motion is used, if there are as
                     many */
};

/* What the older states show of a slot's motion. */
enum {
    MOTION_AWAKE = 1,
    MOTION_EARLIER = 2, /* it moved from state 2 to state 1 */
    MOTION_JUST = 4,    /* from state 1 to state 0 */
    MOTION_ALL = 7,
    MOTION_CALM = 8, /* none of these, and far from moving slots */
};

/* A coded slot that moved: its old position and its motion, for predicting neighbours. */
typedef struct PoseMover {
    PosePrediction now, was[POSE_STATES];
    Rotation step; /* rotation from was[1] to was[0] */
    Rotation go;   /* from was[0] to now */
} PoseMover;

struct PoseCodec {
    PoseModel model;
    i32 component[1024]; /* of a rotation code, by rotation_bits */
    u32 rotation_bits;
    u32 rotation_shift;  /* of the span */
    i32 rotation_middle; /* twice the code of component 0 */
    PoseMover movers[POSE_SPAN_MAX];
    u32 mover_count;
    /* Structure of arrays for nearest-neighbour searches. */
    i32 moving[3][POSE_SPAN_MAX]; /* positions in state 0 of slots that moved in the previous
                                     step */
    u32 moving_count;
    u16 moving_before[POSE_SPAN_MAX]; /* number of these with smaller slots */
    u8 motion[POSE_SPAN_MAX];         /* MOTION_* of each slot */
    u64 moving_cells[CELLS / 64];     /* one bit per cell that contains motion */
    u64 near_cells[CELLS / 64];       /* one bit per cell that may be near motion */
    i32 coded_was[3][POSE_SPAN_MAX];  /* old positions of the movers */
    i32 coded_far[POSE_SPAN_MAX];     /* their distances from the slot being coded */
};

PoseCodec *pose_codec_create(const MixTables *start)
{
    PoseCodec *codec = calloc(1, sizeof *codec);
    if (codec != NULL && !pose_model_create(&codec->model, start)) {
        free(codec);
        codec = NULL;
    }
    return codec;
}

void pose_codec_destroy(PoseCodec *codec)
{
    if (codec != NULL) {
        pose_model_destroy(&codec->model);
        free(codec);
    }
}

void pose_codec_chain(PoseCodec *codec)
{
    codec->model.chained = true;
    mix_reset(&codec->model.mix);
}

const MixTables *pose_codec_tables(PoseCodec *codec)
{
    mix_keep(&codec->model.mix, 0);
    return &codec->model.mix.now;
}

/* ---- rotations ---- */

/* √½ in units of 2^-24, to scale codes of components to ROTATION_ONE. */
static void prepare_rotations(PoseCodec *codec, u32 bits)
{
    if (codec->rotation_bits == bits) {
        return;
    }
    codec->rotation_bits = bits;
    /* 10 bits: 512 ± 511 steps of √½ / 511; 9 bits: 0 to 511 from −√½ to √½. */
    codec->rotation_middle = bits == 10 ? 1024 : (1 << bits) - 1;
    i32 steps = bits == 10 ? 1022 : (1 << bits) - 1;
    for (i32 i = 0; i < 1 << bits; i++) {
        i64 twice = 2 * (i64)i - codec->rotation_middle;
        codec->component[i] = (i32)(twice * 23170 / steps);
    }
}

static Rotation rotation_of(const PoseCodec *codec, u32 code)
{
    u32 mask = (1u << codec->rotation_bits) - 1, largest = code >> 30;
    i32 a = codec->component[code >> 20 & mask], b = codec->component[code >> 10 & mask];
    i32 c = codec->component[code & mask];
    i32 rest = ROTATION_ONE * ROTATION_ONE - a * a - b * b - c * c;
    i32 root = (i32)rotation_root(rest > 0 ? (u32)rest : 0);
    return (Rotation){.w = largest == 0 ? root : a,
                      .x = largest == 1  ? root
                           : largest < 1 ? a
                                         : b,
                      .y = largest == 2  ? root
                           : largest < 2 ? b
                                         : c,
                      .z = largest == 3 ? root : c};
}

/* ---- contexts ---- */

static u32 logarithm(u32 v, u32 most)
{
    return u32_min(u32_bit_length(v), most);
}

/* 0..12: sign and bit length. */
static u32 signed_logarithm(i32 v)
{
    u32 n = u32_min(u32_bit_length(i32_magnitude(v)), 6);
    return v < 0 ? 6 - n : 6 + n;
}

/* Quarter octaves from 32 to 8192: 0..31. */
static u32 nearness(u32 d)
{
    if (d < 32) {
        return 0;
    }
    u32 n = u32_bit_length(d);
    u32 quarter = 4 * (n - 6) + (d >> (n - 3) & 3);
    return u32_min(quarter + 1, 31);
}

/* The nearest list entry by the largest component of the difference; `far`, if given, receives
 * all distances. Lists are padded with distant entries, so their end needs no special case. */
SIMD_INLINE u32 nearest_as(i32 list[3][POSE_SPAN_MAX], u32 count, const i32 at[3],
                           i32 *restrict far)
{
    const i32 *restrict xs = list[0], *restrict ys = list[1], *restrict zs = list[2];
    i32 best = INT32_MAX, x0 = at[0], y0 = at[1], z0 = at[2];
    for (u32 i = 0, end = (count + LIST_STEP - 1) & ~(LIST_STEP - 1u); i < end; i++) {
        i32 x = xs[i] - x0, y = ys[i] - y0, z = zs[i] - z0;
        x = x < 0 ? -x : x;
        y = y < 0 ? -y : y;
        z = z < 0 ? -z : z;
        i32 d = x > y ? x : y;
        d = d > z ? d : z;
        if (far != NULL) {
            far[i] = d;
        }
        best = d < best ? d : best;
    }
    return (u32)best;
}

static u32 nearest_moving(PoseCodec *codec, const i32 at[3])
{
    return nearest_as(codec->moving, codec->moving_count, at, NULL);
}

static u32 nearest_coded(PoseCodec *codec, const i32 at[3])
{
    return nearest_as(codec->coded_was, codec->mover_count, at, codec->coded_far);
}

/* The first entry at this distance; there is one. */
static u32 first_so_far(const i32 *far, i32 distance)
{
    u32 i = 0;
    for (;; i += LIST_STEP) {
        i32 found = 0;
        for (u32 k = 0; k < LIST_STEP; k++) {
            found |= far[i + k] == distance;
        }
        if (found != 0) {
            break;
        }
    }
    while (far[i] != distance) {
        i++;
    }
    return i;
}

static void add_to_list(i32 list[3][POSE_SPAN_MAX], u32 count, const i32 at[3])
{
    for (u32 i = 0; count % LIST_STEP == 0 && i < LIST_STEP; i++) {
        list[0][count + i] = LIST_FAR;
    }
    for (u32 axis = 0; axis < 3; axis++) {
        list[axis][count] = at[axis];
    }
}

static u32 cell_of(i32 x, i32 y, i32 z)
{
    u32 h = (u32)x * 0x9E3779B1u ^ (u32)y * 0x85EBCA6Bu ^ (u32)z * 0xC2B2AE35u;
    return (h ^ h >> 15) * 0x2C1B3C6Du >> 20;
}

/* Slots in no cell adjacent to one with motion are far from it. */
static void mark_cells(PoseCodec *codec, const i32 at[3])
{
    i32 c[3] = {at[0] >> CELL_SHIFT, at[1] >> CELL_SHIFT, at[2] >> CELL_SHIFT};
    u32 middle = cell_of(c[0], c[1], c[2]);
    if ((codec->moving_cells[middle / 64] >> middle % 64 & 1) != 0) {
        return;
    }
    codec->moving_cells[middle / 64] |= 1ull << middle % 64;
    for (i32 i = 0; i < 27; i++) {
        u32 cell = cell_of(c[0] + i % 3 - 1, c[1] + i / 3 % 3 - 1, c[2] + i / 9 - 1);
        codec->near_cells[cell / 64] |= 1ull << cell % 64;
    }
}

static bool may_be_near(const PoseCodec *codec, const i32 at[3])
{
    u32 cell = cell_of(at[0] >> CELL_SHIFT, at[1] >> CELL_SHIFT, at[2] >> CELL_SHIFT);
    return (codec->near_cells[cell / 64] >> cell % 64 & 1) != 0;
}

/* ---- one pose ---- */

/* Data of a slot known before it is coded. */
typedef struct Known {
    const QPose *pose[POSE_STATES]; /* NULL: no such state */
    u32 motion;                     /* MOTION_* */
    u32 speed;                      /* units per step in the previous step */
    u32 angular_velocity;           /* approximate, in codes of components */
    u32 near_moving;                /* nearness of the slots that moved in the previous step */
    u32 nearest, near_coded;        /* index of the nearest coded mover; its nearness */
} Known;

static bool same_pose(const QPose *a, const QPose *b)
{
    u64 x[2], y[2];
    memcpy(x, a, sizeof x); /* position and rotation */
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

static bool same(const QPose *a, const QPose *b)
{
    return same_pose(a, b) && a->flags == b->flags && a->generation == b->generation;
}

static u32 rough_rotation(u32 a, u32 b)
{
    if (a == b) {
        return 0;
    }
    if (a >> 30 != b >> 30) {
        return 64;
    }
    u32 sum = 0;
    for (u32 shift = 0; shift <= 20; shift += 10) {
        sum += i32_magnitude((i32)(a >> shift & 1023) - (i32)(b >> shift & 1023));
    }
    return sum;
}

static Known known_of(PoseCodec *codec, const PoseSpan *span, u32 i)
{
    Known k = {.near_moving = 31, .nearest = INT32_MAX, .near_coded = 31};
    for (u32 s = 0; s < POSE_STATES && span->state[s] != NULL; s++) {
        k.pose[s] = &span->state[s][i];
    }
    if (k.pose[0] == NULL) {
        return k;
    }
    const i32 *at = k.pose[0]->position;
    k.motion = codec->motion[i] & MOTION_ALL;
    if ((k.motion & MOTION_JUST) != 0) {
        k.speed = prediction_distance(at, k.pose[1]->position);
        k.angular_velocity = rough_rotation(k.pose[0]->rotation, k.pose[1]->rotation);
    }
    /* The slot itself may be among the moving ones. */
    bool moves = (k.motion & MOTION_JUST) != 0;
    i32 *self = &codec->moving[0][codec->moving_before[i]], x = *self;
    *self = moves ? LIST_FAR : x;
    k.near_moving = nearness(nearest_moving(codec, at));
    *self = x;
    k.nearest = nearest_coded(codec, at);
    k.near_coded = nearness(k.nearest);
    return k;
}

/* Of the two previous steps only the last. */
static u32 last_motion(u32 motion)
{
    return (motion & MOTION_JUST) / 2 + (motion & MOTION_AWAKE);
}

static void take_flag_contexts(PoseCodec *codec, u32 kind, const Known *k, u32 history)
{
    u32 motion = k->motion, both = last_motion(motion);
    u32 pace = logarithm(k->speed, 11) * 4 + logarithm(k->angular_velocity, 3);
    if (kind == KIND_CHANGED) {
        const u32 c[MIX_INPUTS] = {
            (history & 15) * 8 + motion,
            (k->near_moving / 2 * 16 + k->near_coded / 2) * 8 + motion,
            pace * 8 + k->near_coded / 4,
        };
        take(&codec->model, kind, c);
        return;
    }
    const u32 c[MIX_INPUTS] = {
        (history & 15) * 4 + both,
        k->near_coded * 4 + both,
        pace / 4 * 16 + (k->near_coded / 8) * 4 + both,
    };
    take(&codec->model, kind, c);
}

/* A prediction and its error one step earlier. */
typedef enum Way {
    WAY_REST,
    WAY_EXTRAPOLATE,
    WAY_CARRIED,
    WAY_NEW
} Way;

typedef struct Guess {
    Way way;
    PosePrediction place;
    u32 off, off_rotation;
} Guess;

static PosePrediction place_of(const PoseCodec *codec, const QPose *pose)
{
    PosePrediction place = {{pose->position[0], pose->position[1], pose->position[2]},
                            rotation_of(codec, pose->rotation)};
    return place;
}

/* Prediction by rigid motion with the nearest mover, or with the one that last carried a pose
 * (often the common base of all the others). Each is rated by its error in the previous step. */
static void try_neighbours(const PoseCodec *codec, const Known *k, const PoseMover *self, u32 score,
                           Guess *guess, u32 *last)
{
    u32 list[2] = {0, 0}, count = 0, best = UINT32_MAX;
    if (k->nearest < NEIGHBOUR_REACH) {
        list[count++] = first_so_far(codec->coded_far, (i32)k->nearest);
    }
    if (*last < codec->mover_count && (count == 0 || list[0] != *last) &&
        codec->coded_far[*last] < NEIGHBOUR_REACH) {
        list[count++] = *last;
    }
    for (u32 n = 0; n < count; n++) {
        const PoseMover *m = &codec->movers[list[n]];
        u32 far = prediction_distance(m->was[0].at, self->was[0].at), off = far / 8,
            off_rotation = off;
        if (k->pose[1] != NULL) {
            PosePrediction was =
                prediction_carried(m->was[1].at, m->was[0].at, m->step, &self->was[1]);
            off = prediction_distance(was.at, self->was[0].at);
            off_rotation = rotation_distance(was.rotation, self->was[0].rotation);
        }
        u32 sum = off + off_rotation + far / 128;
        if (sum < score) {
            score = sum;
            best = list[n];
            guess->off = off;
            guess->off_rotation = off_rotation;
        }
    }
    if (best != UINT32_MAX) {
        const PoseMover *m = &codec->movers[best];
        guess->way = WAY_CARRIED;
        guess->place = prediction_carried(m->was[0].at, m->now.at, m->go, &self->was[0]);
        *last = best;
    }
}

/* The best of the predictions, and the alternative used as context. */
static Guess guess_of(const PoseCodec *codec, const PoseSpan *span, const Known *k,
                      const PoseMover *self, u32 angular_velocity, u32 *last, PosePrediction *other)
{
    Guess guess = {WAY_REST, self->was[0], k->speed, angular_velocity};
    u32 score = k->speed + angular_velocity + 2;
    *other = self->was[0];
    if (k->pose[1] != NULL) {
        u32 step = span->back[1] - span->back[0];
        PosePrediction on =
            prediction_extrapolate(&self->was[1], &self->was[0], self->step, span->back[0], step);
        u32 off = k->speed / 4, off_rotation = angular_velocity / 4;
        if (k->pose[2] != NULL) {
            Rotation rotation = rotation_between(self->was[2].rotation, self->was[1].rotation);
            PosePrediction was = prediction_extrapolate(&self->was[2], &self->was[1], rotation,
                                                        step, span->back[2] - span->back[1]);
            off = prediction_distance(was.at, self->was[0].at);
            off_rotation = rotation_distance(was.rotation, self->was[0].rotation);
        }
        if (off + off_rotation + 1 < score) {
            score = off + off_rotation + 1;
            guess = (Guess){WAY_EXTRAPOLATE, on, off, off_rotation};
        } else {
            *other = on;
        }
        Way before = guess.way;
        try_neighbours(codec, k, self, score, &guess, last);
        if (guess.way != before && before == WAY_EXTRAPOLATE) {
            *other = on;
        }
    } else {
        try_neighbours(codec, k, self, score + NEIGHBOUR_REACH, &guess, last);
    }
    return guess;
}

static u32 code_position(PoseCodec *codec, const Known *k, const Guess *guess,
                         const PosePrediction *other, i32 position[3])
{
    static const u8 axes[3] = {1, 2, 0}; /* up first: falling and resting show there */
    u32 off = logarithm(guess->off, 9), sizes[3] = {0, 0, 0}, sum = 0;
    for (u32 n = 0; n < 3; n++) {
        u32 axis = axes[n], up = axis == 1;
        i32 speed = 0, change = 0;
        if (k->pose[1] != NULL) {
            speed = k->pose[0]->position[axis] - k->pose[1]->position[axis];
        }
        if (k->pose[2] != NULL) {
            change = speed - (k->pose[1]->position[axis] - k->pose[2]->position[axis]);
        }
        u32 e0 = sizes[0], e1 = sizes[1];
        u32 against = signed_logarithm(other->at[axis] - guess->place.at[axis]);
        u32 changing = signed_logarithm(change);
        const u32 c[MIX_INPUTS] = {
            (e0 * 10 + e1) * 3 + n,
            ((against * 10 + off) * 4 + guess->way) * 2 + up,
            ((changing * 13 + signed_logarithm(speed)) * 4 + guess->way) * 2 + up,
        };
        take(&codec->model, KIND_POSITION, c);
        i32 residual = pose_code_number(&codec->model, KIND_POSITION, n,
                                        position[axis] - guess->place.at[axis]);
        position[axis] = prediction_clamp((i64)guess->place.at[axis] + residual);
        sizes[n] = logarithm(i32_magnitude(residual), 9);
        sum += u32_min(i32_magnitude(residual), 1u << 20);
    }
    return logarithm(sum, 9);
}

/* Components in the order of their codes without the largest, with the sign that makes the
 * largest positive. */
static void components(const PoseCodec *codec, Rotation t, u32 largest, i32 out[3])
{
    i32 c[4] = {t.w, t.x, t.y, t.z};
    i32 steps = codec->rotation_bits == 10 ? 1022 : (1 << codec->rotation_bits) - 1;
    i32 sign = c[largest] < 0 ? -1 : 1;
    for (u32 n = 0; n < 3; n++) {
        u32 i = n + (n >= largest);
        i32 twice = (i32)((i64)sign * c[i] * steps / 23170) + codec->rotation_middle;
        out[n] = (twice + 1) >> 1;
    }
}

static u32 code_largest(PoseCodec *codec, const Guess *guess, u32 position_off, u32 largest)
{
    const Rotation *t = &guess->place.rotation;
    /* Magnitudes with their component index, sorted descending. */
    u32 order[4] = {i32_magnitude(t->w) << 2, i32_magnitude(t->x) << 2 | 1,
                    i32_magnitude(t->y) << 2 | 2, i32_magnitude(t->z) << 2 | 3};
    for (u32 a = 0; a < 4; a++) {
        for (u32 b = a + 1; b < 4; b++) {
            u32 swap = order[b] >> 2 > order[a] >> 2 ? order[a] ^ order[b] : 0;
            order[a] ^= swap;
            order[b] ^= swap;
        }
    }
    u32 lead = logarithm(((order[0] >> 2) - (order[1] >> 2)) / 64, 9);
    u32 rotated = logarithm(guess->off_rotation, 7);
    const u32 context[MIX_INPUTS] = {
        lead * 10 + position_off,
        lead * 4 + guess->way,
        (lead * 8 + rotated) * 4 + guess->way,
    };
    take(&codec->model, KIND_LARGEST, context);
    for (u32 k = 0; k < 3; k++) {
        if (code_bit(&codec->model, KIND_LARGEST, k, k, largest == (order[k] & 3)) != 0) {
            return order[k] & 3;
        }
    }
    return order[3] & 3;
}

static void code_rotation(PoseCodec *codec, const Guess *guess, const PosePrediction *other,
                          u32 angular_velocity, u32 position_off, u32 *rotation)
{
    u32 mask = (1u << codec->rotation_bits) - 1;
    u32 largest = code_largest(codec, guess, position_off, *rotation >> 30);
    u32 made = largest << 30, rotated = logarithm(guess->off_rotation, 7),
        spinning = logarithm(angular_velocity, 7);
    u32 low = codec->rotation_shift, half = low > 0 ? 1u << (low - 1) : 0;
    i32 expected[3], against[3];
    u32 sizes[3] = {0, 0, 0};
    components(codec, guess->place.rotation, largest, expected);
    components(codec, other->rotation, largest, against);
    for (u32 n = 0; n < 3; n++) {
        u32 shift = 20 - 10 * n, e0 = sizes[0], e1 = sizes[1];
        i32 guessed = expected[n] >> low;
        u32 bend = signed_logarithm((against[n] >> low) - guessed);
        const u32 c[MIX_INPUTS] = {
            (position_off * 10 + e0) * 10 + e1,
            (spinning * 8 + rotated) * 4 + guess->way,
            (bend * 8 + rotated) * 4 + guess->way,
        };
        take(&codec->model, KIND_ROTATION, c);
        i32 value = (i32)((*rotation >> shift & mask) >> low);
        i32 residual = pose_code_number(&codec->model, KIND_ROTATION, n, value - guessed);
        i64 sum = (i64)guessed + residual, most = mask >> low;
        made |= ((sum < 0 ? 0 : sum > most ? (u32)most : (u32)sum) << low | half) << shift;
        sizes[n] = logarithm(i32_magnitude(residual), 9);
    }
    *rotation = made;
}

static void code_flags(PoseCodec *codec, QPose *now, const QPose *old)
{
    u32 changed = (u32)(now->flags ^ old->flags), made = 0;
    for (u32 bit = 0; bit < 6; bit++) {
        const u32 c[MIX_INPUTS] = {bit, bit * 64 + (old->flags & 63), bit * 64 + made};
        take(&codec->model, KIND_FLAG, c);
        made |= code_bit(&codec->model, KIND_FLAG, 0, bit, changed >> bit & 1) << bit;
    }
    const u32 c[MIX_INPUTS] = {6, 6 * 64 + made, 6 * 64 + (old->flags & 63)};
    take(&codec->model, KIND_FLAG, c);
    u32 other = code_bit(&codec->model, KIND_FLAG, 0, 6, now->generation != old->generation);
    u32 generation = old->generation;
    if (other != 0) {
        generation = range_bits(&codec->model.mix.coder, now->generation, 16);
    }
    now->flags = (u16)(old->flags ^ made);
    now->generation = (u16)generation;
}

static void remember(PoseCodec *codec, const PoseMover *self)
{
    u32 n = codec->mover_count++;
    codec->movers[n] = *self;
    add_to_list(codec->coded_was, n, self->was[0].at);
}

/* The newest live pose among earlier slots. */
static QPose pose_before(const QPose *now, u32 i)
{
    while (i-- > 0) {
        if ((now[i].flags & POSE_LIVE) != 0) {
            return now[i];
        }
    }
    return (QPose){.flags = 0};
}

/* Codes or decodes slot i. Returns whether it changed. */
static bool code_pose(PoseCodec *codec, const PoseSpan *span, u32 i, u32 history, u32 *last,
                      QPose *all)
{
    static const QPose none;
    QPose *now = &all[i];
    Known k = known_of(codec, span, i);
    const QPose *old = k.pose[0] != NULL ? k.pose[0] : &none;
    take_flag_contexts(codec, KIND_CHANGED, &k, history);
    bool moved = !same_pose(now, old);
    bool flags = now->flags != old->flags || now->generation != old->generation;
    if (code_bit(&codec->model, KIND_CHANGED, 0, k.motion, moved || flags) == 0) {
        *now = *old;
        return false;
    }
    u32 both = last_motion(k.motion);
    take_flag_contexts(codec, KIND_FLAGS, &k, history);
    flags = code_bit(&codec->model, KIND_FLAGS, 0, both, flags) != 0;
    if (flags) {
        code_flags(codec, now, old);
        take_flag_contexts(codec, KIND_MOVED, &k, history);
        moved = code_bit(&codec->model, KIND_MOVED, 0, both, moved) != 0;
    } else {
        now->flags = old->flags;
        now->generation = old->generation;
        moved = true;
    }
    if ((now->flags & POSE_LIVE) == 0) { /* free slots are all zero */
        now->rotation = 0;
        memset(now->position, 0, sizeof now->position);
        return true;
    }
    if (!moved) {
        memcpy(now->position, old->position, sizeof now->position);
        now->rotation = old->rotation;
        return true;
    }
    bool is_new = (old->flags & POSE_LIVE) == 0;
    PoseMover self = {0};
    Guess guess;
    PosePrediction other;
    u32 angular_velocity = 0;
    if (is_new) { /* near the previously coded pose */
        QPose before = pose_before(all, i);
        guess = (Guess){WAY_NEW, place_of(codec, &before), 511, 127};
        other = guess.place;
    } else {
        for (u32 s = 0; s < POSE_STATES && k.pose[s] != NULL; s++) {
            self.was[s] = place_of(codec, k.pose[s]);
        }
        if (k.pose[1] != NULL) {
            self.step = rotation_between(self.was[1].rotation, self.was[0].rotation);
            angular_velocity = rotation_distance(self.was[0].rotation, self.was[1].rotation);
        }
        guess = guess_of(codec, span, &k, &self, angular_velocity, last, &other);
    }
    u32 position_off = code_position(codec, &k, &guess, &other, now->position);
    code_rotation(codec, &guess, &other, angular_velocity, position_off, &now->rotation);
    if (!is_new) {
        self.now = place_of(codec, now);
        self.go = rotation_between(self.was[0].rotation, self.now.rotation);
        remember(codec, &self);
    }
    return true;
}

/* Finds moving and calm slots. */
static void find_moving(PoseCodec *codec, const PoseSpan *span)
{
    const QPose *const *state = span->state;
    codec->moving_count = 0;
    memset(codec->moving_cells, 0, sizeof codec->moving_cells);
    memset(codec->near_cells, 0, sizeof codec->near_cells);
    for (u32 i = 0; state[0] != NULL && i < span->count; i++) {
        u32 motion = (state[0][i].flags & POSE_AWAKE) != 0 ? MOTION_AWAKE : 0;
        codec->moving_before[i] = (u16)codec->moving_count;
        if (state[1] != NULL && !same_pose(&state[0][i], &state[1][i])) {
            motion |= MOTION_JUST;
            add_to_list(codec->moving, codec->moving_count++, state[0][i].position);
            mark_cells(codec, state[0][i].position);
        }
        if (state[1] != NULL && state[2] != NULL && !same_pose(&state[1][i], &state[2][i])) {
            motion |= MOTION_EARLIER;
        }
        codec->motion[i] = (u8)motion;
    }
    for (u32 i = 0; state[0] != NULL && i < span->count; i++) {
        if (codec->motion[i] == 0 && !may_be_near(codec, state[0][i].position)) {
            codec->motion[i] = MOTION_CALM;
        }
    }
}

/* Whether any of the calm slots of a block changes. */
static bool code_calm(PoseCodec *codec, const i32 at[3], u32 calm, u32 history, bool changed)
{
    u32 moving = logarithm(codec->moving_count, 10);
    u32 near = nearness(nearest_moving(codec, at));
    u32 recent = (u32)__builtin_popcount(history & 0xFF);
    const u32 c[MIX_INPUTS] = {
        calm * 8 + (history & 7),
        moving * 32 + near,
        (recent < 7 ? recent : 7) * 128 + near * 4 + (history & 3),
    };
    take(&codec->model, KIND_CALM, c);
    return code_bit(&codec->model, KIND_CALM, 0, 0, changed) != 0;
}

/* Codes or decodes `now` block by block; one bit may cover all calm slots of a block. */
static void walk(PoseCodec *codec, const PoseSpan *span, QPose *now)
{
    u32 history = 0, blocks = 0, last = UINT32_MAX;
    const QPose *old = span->state[0];
    bool decoding = codec->model.mix.coder.decoding;
    prepare_rotations(codec, span->rotation_bits);
    codec->rotation_shift = span->rotation_shift;
    if (!codec->model.chained) {
        mix_reset(&codec->model.mix);
    }
    codec->mover_count = 0;
    find_moving(codec, span);
    for (u32 first = 0; first < span->count; first += BLOCK) {
        u32 end = u32_min(first + BLOCK, span->count), calm = 0, some = 0;
        bool changed = false;
        for (u32 i = first; old != NULL && i < end; i++) {
            if (codec->motion[i] == MOTION_CALM) {
                calm++;
                some = calm <= PICKED ? i : some;
                changed = changed || (!decoding && !same(&now[i], &old[i]));
            }
        }
        if (calm != 0) {
            changed = code_calm(codec, old[some].position, calm, blocks, changed);
            blocks = blocks << 1 | changed;
        }
        for (u32 i = first; i < end; i++) {
            if (calm != 0 && !changed && codec->motion[i] == MOTION_CALM) {
                now[i] = old[i];
                continue;
            }
            history = history << 1 | code_pose(codec, span, i, history, &last, now);
        }
    }
}

static bool span_is_valid(const PoseSpan *span)
{
    bool valid = span->count <= POSE_SPAN_MAX &&
                 (span->rotation_bits == 9 || span->rotation_bits == 10) &&
                 span->rotation_shift < span->rotation_bits;
    u32 before = 0;
    for (u32 s = 0; s < POSE_STATES && span->state[s] != NULL; s++) {
        valid = valid && span->back[s] > before && span->back[s] < 1u << 24;
        before = span->back[s];
    }
    return valid;
}

u32 pose_encode(PoseCodec *codec, const PoseSpan *span, const QPose *now, u8 *out, u32 capacity)
{
    CHECK(span_is_valid(span));
    QPose copy[POSE_SPAN_MAX];
    memcpy(copy, now, span->count * sizeof *now);
    range_encode_begin(&codec->model.mix.coder, out, capacity);
    walk(codec, span, copy);
    return range_encode_end(&codec->model.mix.coder);
}

void pose_decode(PoseCodec *codec, const PoseSpan *span, const u8 *code, u32 bytes, QPose *now)
{
    CHECK(span_is_valid(span));
    memset(now, 0, span->count * sizeof *now);
    range_decode_begin(&codec->model.mix.coder, code, bytes);
    walk(codec, span, now);
}
