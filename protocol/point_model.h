/*
 * point_model.h: what both ends of the codec of points work out before a bit is read: how a point
 * moves by itself, what its neighbours say, and how large the rest may be. Inside point_code.c and
 * point_plan.c. Motion is in sixteenths of a code; shifts to the right round down.
 * Layer: protocol.
 */
#ifndef PLENUM_PROTOCOL_POINT_MODEL_H
#define PLENUM_PROTOCOL_POINT_MODEL_H

#include "protocol/point_code.h"
#include "protocol/point_grid.h"

enum {
    PART_BITS = 4,      /* motion is in sixteenths of a code */
    STEP_MAX = 1 << 18, /* of codes between two states */
    MOTION_MAX = 1 << 20,
    OFF_MAX = 1 << 14,
    RATIO_MAX = 1 << 12,
    STRIDE_MAX = 4095,
    SHIFT_MAX = 15,
    NEAR_CELLS = 4,
};

/* Weights of what is known about a point, in the order of the header. */
enum {
    WEIGHT_GO_ON, /* 256ths; the others 16ths: velocity goes on */
    WEIGHT_BEND,  /* and so does its change */
    WEIGHT_OFF,   /* what the point before was off; the next are of differences to it: */
    WEIGHT_NEAR,  /* neighbours in space, */
    WEIGHT_UP,    /* the point a stride before; and of differences to that: */
    WEIGHT_UP_LAST,
    WEIGHT_UP_NEXT,
    WEIGHTS,
    OFF_TERMS = WEIGHTS - WEIGHT_OFF,
    MOTION_WEIGHTS = 2,
    /* Of the expected size, 64ths. */
    SIZE_NEAR = 0,
    SIZE_LAST,
    SIZE_UP,
    SIZE_BEND,
    SIZE_SPEED,
    SIZE_ONE,
    SIZES,
};

/* How a fresh point is expected from those coded before. */
typedef enum Fresh {
    FRESH_LAST, /* where the last one is */
    FRESH_GO_ON,
    FRESH_UP,
    FRESH_PLANE,
    FRESH_WAYS
} Fresh;

/* The header of a code. */
typedef struct Plan {
    bool lives;   /* generations change */
    bool scalars; /* so do scalars */
    bool fitted;  /* weights follow */
    u32 shift, stride, fresh;
    i32 weights[WEIGHTS];
    i32 sizes[SIZES];
} Plan;

/* Three numbers; the fourth lane is not looked at. */
typedef PointOff i32x4;

/* What the span says of a point that goes on. */
typedef struct Motion {
    i32x4 go_on, bend; /* 16ths */
    i32 speed, change; /* sums of their sizes */
    bool rested;
} Motion;

/* What the encoder finds out about a point before it codes. */
typedef struct PointFound {
    i32x4 own;      /* 16ths, where its own motion takes it; then the residual, in codes */
    i32 near, last; /* terms of sizes */
    i32 up, change, speed;
    bool rested;
} PointFound;

/* What a code says of itself, and what is known of its points so far. */
typedef struct PointModel {
    Plan plan;
    i32 ratio[2]; /* 256ths: back[0] over the steps between the states */
    PointGrid grid;
    bool *going;   /* [POINT_SPAN_MAX] the point has an off */
    PointOff *off; /* [POINT_SPAN_MAX] size: of the residual */
    /* Of the encoder, [POINT_SPAN_MAX]. */
    PointOff *near;
    PointFound *found;
    QPoint *points;
} PointModel;

/* ---- numbers ---- */

static inline i32 clamp(i64 x, i32 limit)
{
    return (i32)(x < -limit ? -limit : x > limit ? limit : x);
}

static inline u32 size_of(i32 x)
{
    return x < 0 ? 0u - (u32)x : (u32)x;
}

static inline u32 bit_length(u32 x)
{
    return x == 0 ? 0 : 32 - (u32)__builtin_clz(x);
}

static inline i32x4 clamp3(i32x4 v, i32 limit)
{
#if defined(__AVX__)
    __m128i low = _mm_max_epi32((__m128i)v, _mm_set1_epi32(-limit));
    return (i32x4)_mm_min_epi32(low, _mm_set1_epi32(limit));
#else
    i32x4 above = v > limit, below = v < -limit;
    return (v & ~(above | below)) | (above & limit) | (below & -limit);
#endif
}

/* Sum of the sizes of three components, each within ±2^29. */
static inline u32 sum_of_sizes(i32x4 v)
{
#if defined(__AVX__)
    i32x4 size = (i32x4)_mm_abs_epi32((__m128i)v);
#else
    i32x4 sign = v < 0, size = (v ^ sign) - sign;
#endif
    return (u32)(size[0] + size[1] + size[2]);
}

static inline i32x4 position_of(const QPoint *point)
{
    i32x4 v;
    memcpy(&v, point, sizeof v);
    return v & (i32x4){-1, -1, -1, 0};
}

/* ---- motion ---- */

static inline Motion motion_of(const PointModel *model, const PointSpan *span, u32 i)
{
    Motion motion = {.rested = false};
    const QPoint *p = &span->state[0][i];
    const QPoint *q = span->state[1] != NULL ? &span->state[1][i] : NULL;
    if (q == NULL || q->generation != p->generation) {
        return motion;
    }
    i32x4 was = position_of(q), step = clamp3(position_of(p) - was, STEP_MAX), moved = step;
    motion.go_on = clamp3(step * model->ratio[0] >> (8 - PART_BITS), MOTION_MAX);
    const QPoint *r = span->state[2] != NULL ? &span->state[2][i] : NULL;
    if (r != NULL && r->generation == p->generation) {
        i32x4 before = clamp3(was - position_of(r), STEP_MAX);
        i32x4 bend = motion.go_on - (before * model->ratio[1] >> (8 - PART_BITS));
        motion.bend = clamp3(bend, MOTION_MAX);
        moved |= before;
    }
    motion.speed = (i32)sum_of_sizes(motion.go_on);
    motion.change = (i32)sum_of_sizes(motion.bend);
    motion.rested = (moved[0] | moved[1] | moved[2]) == 0;
    return motion;
}

/* Where its own motion takes a point, from state 0, in 16ths. */
static inline i32x4 own_motion(const Plan *plan, const Motion *motion)
{
    i32x4 own =
        plan->weights[WEIGHT_GO_ON] * motion->go_on + plan->weights[WEIGHT_BEND] * motion->bend;
    return clamp3(own >> 8, 2 * MOTION_MAX);
}

/* How far it really moved, in 16ths. */
static inline i32x4 moved_by(const QPoint *now, const QPoint *old)
{
    return clamp3(position_of(now) - position_of(old), MOTION_MAX >> PART_BITS) * (1 << PART_BITS);
}

/* What a point tells its neighbours in space of size: how far they were off it. */
static inline i32 size_against(PointOff off, PointOff near)
{
    return clamp(sum_of_sizes(off - near), OFF_MAX);
}

/* Whether the point `back` before it in the order goes on and was near. */
static inline bool is_near(const PointModel *model, const QPoint *olds, u32 i, u32 back)
{
    if (back == 0 || back > i || !model->going[i - back]) {
        return false;
    }
    u32 far = sum_of_sizes(position_of(&olds[i]) - position_of(&olds[i - back]));
    return far >> model->plan.shift < NEAR_CELLS;
}

/* Neighbours by index: the one before, and around the one a stride before. Others stand in for
 * those that are not near. */
static inline void neighbours_of(const PointModel *model, const QPoint *olds, u32 i, PointOff near,
                                 PointOff by[4])
{
    u32 stride = model->plan.stride;
    const PointOff *off = model->off + i;
    bool last = is_near(model, olds, i, 1), up = is_near(model, olds, i, stride);
    by[0] = last ? off[-1] : up ? off[-(i32)stride] : near;
    by[1] = by[2] = by[3] = by[0];
    if (up) {
        by[1] = by[2] = by[3] = off[-(i32)stride];
        if (is_near(model, olds, i, stride + 1)) {
            by[2] = off[-(i32)stride - 1];
        }
        if (is_near(model, olds, i, stride - 1)) {
            by[3] = off[-(i32)stride + 1];
        }
    }
}

/* Expected sum of the sizes of the residuals, in 16ths. */
static inline u32 expected_size(const Plan *plan, const PointFound *found)
{
    const i32 *weights = plan->sizes;
    i64 sum = (i64)weights[SIZE_NEAR] * found->near + (i64)weights[SIZE_LAST] * found->last +
              (i64)weights[SIZE_UP] * found->up + (i64)weights[SIZE_BEND] * found->change +
              (i64)weights[SIZE_SPEED] * found->speed + (i64)weights[SIZE_ONE] * 16;
    return (u32)clamp(sum >> 6, 1 << 22);
}

/* Sizes that neighbours tell; up has no weight without a stride. */
static inline void find_sizes(PointFound *found, PointOff near, const PointOff by[4])
{
    found->near = near[3];
    found->last = by[0][3];
    found->up = by[1][3];
}

static inline bool goes_on(const PointSpan *span, const QPoint *now, u32 i)
{
    return span->state[0] != NULL && now->generation != 0 &&
           span->state[0][i].generation == now->generation;
}

/* What the weights of neighbours apply to: differences, so that small weights are exact enough. */
static inline void off_terms(PointOff near, const PointOff by[4], i32x4 terms[OFF_TERMS])
{
    terms[0] = by[0];
    terms[1] = near - by[0];
    terms[2] = by[1] - by[0];
    terms[3] = by[2] - by[1];
    terms[4] = by[3] - by[1];
}

/* What neighbours say that the motion is off. */
static inline i32x4 sum_off(const Plan *plan, PointOff near, const PointOff by[4])
{
    i32x4 terms[OFF_TERMS], sum = {0};
    off_terms(near, by, terms);
    for (u32 k = 0; k < OFF_TERMS; k++) {
        sum += plan->weights[WEIGHT_OFF + k] * terms[k];
    }
    return sum >> 4;
}

/* Where a point is expected, in codes. */
static inline i32x4 expect_moved(const QPoint *old, i32x4 own, i32x4 off)
{
    i32x4 step = (own + off + (1 << (PART_BITS - 1))) >> PART_BITS;
    return clamp3(position_of(old) + step, POSITION_CODE_MAX);
}

static inline void expect_fresh(const QPoint *now, u32 i, const Plan *plan, i32 expected[3])
{
    static const QPoint none;
    const QPoint *last = i >= 1 ? &now[i - 1] : &none, *before = i >= 2 ? &now[i - 2] : last;
    const QPoint *up = i >= plan->stride ? &now[i - plan->stride] : last;
    const QPoint *up_last = i > plan->stride ? &now[i - plan->stride - 1] : up;
    for (u32 a = 0; a < 3; a++) {
        i64 l = last->position[a], value = l;
        value = plan->fresh == FRESH_GO_ON ? 2 * l - before->position[a] : value;
        value = plan->fresh == FRESH_UP ? up->position[a] : value;
        value = plan->fresh == FRESH_PLANE ? l + up->position[a] - up_last->position[a] : value;
        expected[a] = clamp(value, POSITION_CODE_MAX);
    }
}

/* Weights of sizes are small floating-point numbers of six bits. */
static inline i32 size_weight(u32 code)
{
    return (i32)(code < 8 ? code : (8 + (code & 7)) << ((code >> 3) - 1));
}

static inline u32 size_weight_code(i32 weight)
{
    u32 code = 0;
    while (code < 63 && size_weight(code + 1) <= weight) {
        code++;
    }
    return code;
}

#endif
