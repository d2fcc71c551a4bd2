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
    PART_BITS = 4, /* motion is in sixteenths of a code */
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

/* What the span says of a point that goes on. */
typedef struct Motion {
    i32 go_on[3], bend[3]; /* 16ths */
    i32 speed, change;     /* sums of their sizes */
    bool rested;
} Motion;

/* What a code says of itself, and what is known of its points so far. */
typedef struct PointModel {
    Plan plan;
    i32 ratio[2]; /* 256ths: back[0] over the steps between the states */
    PointGrid grid;
    bool *going;   /* [POINT_SPAN_MAX] the point has an off */
    PointOff *off; /* [POINT_SPAN_MAX] size: of the residual */
    /* Of the encoder, [POINT_SPAN_MAX]. */
    PointOff *near;
    QPoint *points;
} PointModel;

/* ---- numbers ---- */

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

static inline u32 sum_of_sizes(const i32 v[3])
{
    return size_of(v[0]) + size_of(v[1]) + size_of(v[2]);
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
    const QPoint *r = span->state[2] != NULL ? &span->state[2][i] : NULL;
    if (r != NULL && r->generation != p->generation) {
        r = NULL;
    }
    u32 moved = 0;
    for (u32 a = 0; a < 3; a++) {
        i64 step = clamp(p->position[a] - (i64)q->position[a], MOTION_MAX);
        motion.go_on[a] = clamp(step * model->ratio[0] >> (8 - PART_BITS), MOTION_MAX);
        moved |= (u32)step;
        if (r != NULL) {
            i64 before = clamp(q->position[a] - (i64)r->position[a], MOTION_MAX);
            motion.bend[a] =
                clamp(motion.go_on[a] - (before * model->ratio[1] >> (8 - PART_BITS)), MOTION_MAX);
            moved |= (u32)before;
        }
    }
    motion.speed = (i32)sum_of_sizes(motion.go_on);
    motion.change = (i32)sum_of_sizes(motion.bend);
    motion.rested = moved == 0;
    return motion;
}

/* Where its own motion takes a point, from state 0, in 16ths. */
static inline i32 own_motion(const Plan *plan, const Motion *motion, u32 axis)
{
    return clamp(((i64)plan->weights[WEIGHT_GO_ON] * motion->go_on[axis] +
                  (i64)plan->weights[WEIGHT_BEND] * motion->bend[axis]) >>
                     8,
                 2 * MOTION_MAX);
}

static inline i32 moved_by(const QPoint *now, const QPoint *old, u32 axis)
{
    return clamp((i64)now->position[axis] - old->position[axis], MOTION_MAX >> PART_BITS) *
           (1 << PART_BITS);
}

/* What the motion of a point was off, and what its neighbours tell their neighbours about size. */
static inline i32 set_off(PointModel *model, u32 i, const i32 off[3], const PointOff *near)
{
    i64 size = 0;
    for (u32 a = 0; a < 3; a++) {
        model->off[i].off[a] = clamp(off[a], OFF_MAX);
        size += size_of(model->off[i].off[a] - near->off[a]);
    }
    return clamp(size, OFF_MAX);
}

/* Whether the point `back` before it in the order goes on and was near. */
static inline bool is_near(const PointModel *model, const QPoint *olds, u32 i, u32 back)
{
    if (back == 0 || back > i || !model->going[i - back]) {
        return false;
    }
    const i32 *a = olds[i].position, *b = olds[i - back].position;
    u32 far = 0;
    for (u32 axis = 0; axis < 3; axis++) {
        far += u32_min(size_of(a[axis] - b[axis]), 1u << 24);
    }
    return far >> model->plan.shift < NEAR_CELLS;
}

/* Neighbours by index: the one before, and around the one a stride before. Others stand in for
 * those that are not near. */
static inline void neighbours_of(const PointModel *model, const QPoint *olds, u32 i,
                                 const PointOff *near, const PointOff *by[4])
{
    u32 stride = model->plan.stride;
    const PointOff *off = model->off + i;
    bool last = is_near(model, olds, i, 1), up = is_near(model, olds, i, stride);
    by[0] = last ? off - 1 : up ? off - stride : near;
    by[1] = up ? off - stride : by[0];
    by[2] = up && is_near(model, olds, i, stride + 1) ? off - stride - 1 : by[1];
    by[3] = up && is_near(model, olds, i, stride - 1) ? off - stride + 1 : by[1];
}

/* Expected sum of the sizes of the residuals, in 16ths. */
static inline u32 expected_size(const Plan *plan, const i32 terms[SIZES])
{
    i64 sum = 0;
    for (u32 k = 0; k < SIZES; k++) {
        sum += (i64)plan->sizes[k] * terms[k];
    }
    return (u32)clamp(sum >> 6, 1 << 22);
}

static inline void size_terms(const PointOff *near, const PointOff *const by[4],
                              const Motion *motion, i32 terms[SIZES])
{
    terms[SIZE_NEAR] = near->size;
    terms[SIZE_LAST] = by[0]->size;
    terms[SIZE_UP] = by[1]->size; /* no weight without a stride */
    terms[SIZE_BEND] = motion->change;
    terms[SIZE_SPEED] = motion->speed;
    terms[SIZE_ONE] = 16;
}

static inline bool goes_on(const PointSpan *span, const QPoint *now, u32 i)
{
    return span->state[0] != NULL && now->generation != 0 &&
           span->state[0][i].generation == now->generation;
}

/* What the weights of neighbours apply to: differences, so that small weights are exact enough. */
static inline void off_terms(u32 axis, const PointOff *near, const PointOff *const by[4],
                             i32 terms[OFF_TERMS])
{
    terms[0] = by[0]->off[axis];
    terms[1] = near->off[axis] - by[0]->off[axis];
    terms[2] = by[1]->off[axis] - by[0]->off[axis];
    terms[3] = by[2]->off[axis] - by[1]->off[axis];
    terms[4] = by[3]->off[axis] - by[1]->off[axis];
}

/* What neighbours say that the motion is off. */
static inline i32 sum_off(const PointModel *model, u32 axis, const PointOff *near,
                          const PointOff *const by[4])
{
    i32 terms[OFF_TERMS], sum = 0;
    off_terms(axis, near, by, terms);
    for (u32 k = 0; k < OFF_TERMS; k++) {
        sum += model->plan.weights[WEIGHT_OFF + k] * terms[k];
    }
    return sum >> 4;
}

static inline void expect_fresh(const PointSpan *span, const QPoint *now, u32 i, const Plan *plan,
                                i32 expected[3])
{
    static const QPoint none;
    PL_UNUSED(span);
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
