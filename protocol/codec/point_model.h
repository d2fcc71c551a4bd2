/*
 * point_model.h: predictions of the point codec common to both ends: a point's own motion, its
 * neighbours, and the expected size of the residual. Private to point_code.c and point_plan.c.
 * Motion is in sixteenths of a code; right shifts round down.
 * Layer: protocol/codec.
 */
#ifndef PLENUM_PROTOCOL_CODEC_POINT_MODEL_H
#define PLENUM_PROTOCOL_CODEC_POINT_MODEL_H

#include "protocol/codec/point_code.h"
#include "protocol/codec/point_fit.h"
#include "protocol/codec/point_grid.h"

enum {
    PART_BITS = 4,      /* motion is in sixteenths of a code */
    STEP_MAX = 1 << 18, /* limit of the difference of two states, in codes */
    MOTION_MAX = 1 << 20,
    TERM_MAX = 1 << 17,
    OFF_MAX = 1 << 14,
    EXPECTED_MAX = 1 << 20,
    RATIO_MAX = 1 << 12,
    STRIDE_MAX = 4095,
    NEAR_CELLS = 4,
    WEIGHT_BITS = 8,
    INDEX_NEIGHBOURS = 6,
    FIT_EQUATIONS_MAX = 1400, /* used by the encoder */
};

/* Weights of the prediction terms of a point (256ths), in header order. Those of neighbours by
 * index apply to differences, so that small weights are accurate enough: LAST is relative to the
 * point's own motion (or, for positions, to its old one), UP and LAST_2 relative to LAST, the
 * others relative to UP. */
enum {
    WEIGHT_VELOCITY,     /* velocity */
    WEIGHT_ACCELERATION, /* acceleration */
    WEIGHT_NEAR_OFF,     /* neighbours in space: the errors of their motion, */
    WEIGHT_NEAR_MORE,    /* and the excess of their motion */
    WEIGHT_MOVED,        /* [INDEX_NEIGHBOURS] motion of neighbours by index */
    WEIGHT_PLACE = WEIGHT_MOVED + INDEX_NEIGHBOURS, /* [INDEX_NEIGHBOURS] their relative
                                                       positions */
    WEIGHTS = WEIGHT_PLACE + INDEX_NEIGHBOURS,
    LOOSE_WEIGHTS = WEIGHT_MOVED + 1, /* of points without a stride */
    WEIGHT_SETS = 2,                  /* of calm and of lively points */
    /* Neighbours by index. */
    INDEX_LAST = 0, /* the previous point */
    INDEX_UP,       /* the point one stride back */
    INDEX_UP_LAST,
    INDEX_UP_NEXT,
    INDEX_LAST_2, /* two back */
    INDEX_UP_2,   /* two strides back */
    /* Terms of the expected sizes of the axes, 64ths. */
    SIZE_NEAR = 0,
    SIZE_LAST,
    SIZE_UP,
    SIZE_ACCELERATION,
    SIZE_SPEED,
    SIZE_ONE,
    SIZE_USUAL, /* in chains: mean of the slot so far */
    SIZES,
};

/* Prediction of a new point from those coded before. */
typedef enum NewPointGuess {
    NEW_LAST, /* at the last one */
    NEW_EXTRAPOLATE,
    NEW_UP,
    NEW_PLANE,
    NEW_WAYS
} NewPointGuess;

/* The header of a code. */
typedef struct Plan {
    bool lives;   /* generations change */
    bool scalars; /* scalars change */
    bool fitted;  /* weights are transmitted */
    u32 edge;     /* of the grid's cells */
    u32 stride, guess;
    i32 split; /* where the predictions from neighbours err by so much, points are lively; 0: all
                  are calm; 16ths */
    i32 weights[WEIGHT_SETS][WEIGHTS];
    i32 sizes[SIZES];
} Plan;

/* Motion of a continuing point in the older states. */
typedef struct PointMotion {
    i32x4 velocity, acceleration; /* 16ths */
    bool rested;
} PointMotion;

/* Prediction data of a continuing point, known to both ends. */
typedef struct PointKnown {
    PointMotion motion;
    PointNear near;
    /* Motion of neighbours by index, 16ths, and their positions. Missing or distant ones are
     * substituted. */
    i32x4 moved[INDEX_NEIGHBOURS], place[INDEX_NEIGHBOURS];
    i32x4 sizes[SIZES]; /* terms of the expected sizes, 16ths */
} PointKnown;

/* The encoder's data on a point. */
typedef struct PointFound {
    PointNear near;
    PointMotion motion;
    i32x4 residual; /* codes */
    i32x4 fraction; /* 16ths */
    i32x4 sizes[SIZES];
} PointFound;

/* Positions of eight points, for the encoder's search of neighbours. */
typedef struct PointPlaces {
    i32x8 axis[3], none; /* none: -1 where there is no point */
} PointPlaces;

/* One equation of the fit: prediction terms of a point, and its actual motion. */
typedef struct PointEquation {
    FitLanes terms[WEIGHTS], goal;
    u32 set;
} PointEquation;

/* Mean magnitudes of the residuals that a slot had, 16ths. */
typedef struct SlotSizes {
    u16 axis[4];
} SlotSizes;

/* The header of a code, and the state of its points so far. */
typedef struct PointModel {
    Plan plan;
    i32 ratio[2]; /* 256ths: back[0] divided by the intervals between states */
    PointGrid grid;
    i32 weights[GRID_WEIGHTS]; /* of neighbours in space */
    bool *going;               /* [POINT_SPAN_MAX] the point continues */
    i32x4 *moved;              /* [POINT_SPAN_MAX] its motion, 16ths, */
    i32x4 *sizes;              /* [POINT_SPAN_MAX] and the magnitudes of its residual */
    bool chained;              /* adaptation continues from one code to the next */
    SlotSizes *usual;          /* [POINT_SLOTS] of a chain */
    /* Encoder only, [POINT_SPAN_MAX]. */
    PointFound *found;
    QPoint *points;
    PointPlaces *places;      /* [POINT_SPAN_MAX / 8] */
    PointEquation *equations; /* [FIT_EQUATIONS_MAX] */
} PointModel;

/* ---- numbers ---- */

static inline i32 clamp(i64 x, i32 limit)
{
    return (i32)(x < -limit ? -limit : x > limit ? limit : x);
}

/* Each lane to [-limit, limit]. */
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

/* Magnitude of each lane. */
static inline i32x4 sizes_of(i32x4 v)
{
#if defined(__AVX__)
    return (i32x4)_mm_abs_epi32((__m128i)v);
#else
    i32x4 sign = v < 0;
    return (v ^ sign) - sign;
#endif
}

/* Sum of the magnitudes of three components, each within ±2^29. */
static inline u32 sum_of_sizes(i32x4 v)
{
    i32x4 size = sizes_of(v);
    return (u32)(size[0] + size[1] + size[2]);
}

/* Position in lanes 0 to 2; 0 in lane 3. */
static inline i32x4 position_of(const QPoint *point)
{
    i32x4 v;
    memcpy(&v, point, sizeof v);
    return v & (i32x4){-1, -1, -1, 0};
}

/* Magnitudes of a residual in codes, 16ths, limited. */
static inline i32x4 residual_sizes(i32x4 residual)
{
    return clamp3(sizes_of(residual), OFF_MAX >> PART_BITS) * (1 << PART_BITS);
}

/* ---- motion ---- */

SIMD_INLINE PointMotion motion_of(const PointModel *model, const PointSpan *span, u32 i)
{
    PointMotion motion = {.rested = false};
    const QPoint *p = &span->state[0][i];
    const QPoint *q = span->state[1] != NULL ? &span->state[1][i] : NULL;
    if (q == NULL || q->generation != p->generation) {
        return motion;
    }
    i32x4 was = position_of(q), step = clamp3(position_of(p) - was, STEP_MAX), moved = step;
    motion.velocity = clamp3(step * model->ratio[0] >> (8 - PART_BITS), MOTION_MAX);
    const QPoint *r = span->state[2] != NULL ? &span->state[2][i] : NULL;
    if (r != NULL && r->generation == p->generation) {
        i32x4 before = clamp3(was - position_of(r), STEP_MAX);
        i32x4 acceleration = motion.velocity - (before * model->ratio[1] >> (8 - PART_BITS));
        motion.acceleration = clamp3(acceleration, MOTION_MAX);
        moved |= before;
    }
    motion.rested = (moved[0] | moved[1] | moved[2]) == 0;
    return motion;
}

/* Actual motion, in 16ths. */
static inline i32x4 moved_by(const QPoint *now, const QPoint *old)
{
    return clamp3(position_of(now) - position_of(old), MOTION_MAX >> PART_BITS) * (1 << PART_BITS);
}

/* Own motion, limited as for the grid. */
static inline i32x4 motion_for_grid(const PointMotion *motion)
{
    return clamp3(motion->velocity, OFF_MAX);
}

/* Of a mean over neighbours: how far they moved beside their prediction, in lanes 0 to 2. */
static inline i32x4 near_off(const PointNear *near)
{
    i32x8 mean = near->mean;
    return (i32x4){mean[NEAR_OFF], mean[NEAR_OFF + 1], mean[NEAR_OFF + 2], 0};
}

/* Of a mean over neighbours: their motion beyond that of the point, in lanes 0 to 2. */
static inline i32x4 near_more(const PointNear *near)
{
    i32x8 mean = near->mean;
    return (i32x4){mean[NEAR_MOTION], mean[NEAR_MOTION + 1], mean[NEAR_MOTION + 2], 0};
}

/* Weighted means over neighbours in space. */
static inline PointNear ask_neighbours(const PointModel *model, i32x4 place,
                                       const PointMotion *motion)
{
    return point_grid_near(&model->grid, model->weights, place, motion_for_grid(motion));
}

/* Adds point i and its motion to the grid. */
static inline void hint_neighbours(PointModel *model, u32 i, i32x4 place, const PointMotion *motion,
                                   const PointNear *near, i32x4 moved)
{
    i32x4 off = clamp3(moved - motion->velocity, OFF_MAX);
    i32x4 sizes = sizes_of(off - near_off(near) - near_more(near));
    i32 size = clamp((i64)sizes[0] + sizes[1] + sizes[2], OFF_MAX);
    point_grid_add(&model->grid, i, place, off, size, clamp3(sizes, OFF_MAX),
                   motion_for_grid(motion));
}

/* Whether the point `back` slots before continues and was near. */
static inline bool is_near(const PointModel *model, const QPoint *olds, u32 i, u32 back)
{
    if (back == 0 || back > i || !model->going[i - back]) {
        return false;
    }
    u32 far = sum_of_sizes(position_of(&olds[i]) - position_of(&olds[i - back]));
    return (u64)far * (u32)model->grid.parts >> model->grid.shift < NEAR_CELLS;
}

/* Uses the point `back` slots before point i as neighbour k, or else the substitute `other`. */
SIMD_INLINE bool take_neighbour(const PointModel *model, const QPoint *olds, u32 i, u32 back,
                                PointKnown *known, u32 k, u32 other)
{
    bool near = is_near(model, olds, i, back);
    known->moved[k] = near ? model->moved[i - back] : known->moved[other];
    known->place[k] = near ? position_of(&olds[i - back]) : known->place[other];
    return near;
}

/* The sizes of that point, or the others. */
SIMD_INLINE i32x4 sizes_at(const PointModel *model, u32 i, u32 back, bool near, i32x4 others)
{
    return near ? model->sizes[i - back] : others;
}

/* Motion and place of the neighbours of point i by index, with substitutes for those far away. */
SIMD_INLINE void know_index(const PointModel *model, const QPoint *olds, u32 i, PointKnown *known)
{
    u32 stride = model->plan.stride;
    i32x4 *moved = known->moved, *place = known->place, last = known->near.sizes;
    moved[0] = known->motion.velocity + near_off(&known->near) + near_more(&known->near);
    place[0] = position_of(&olds[i]);
    bool near = take_neighbour(model, olds, i, 1, known, INDEX_LAST, INDEX_LAST);
    last = sizes_at(model, i, 1, near, last);
    if (!near && stride > 0) {
        near = take_neighbour(model, olds, i, stride, known, INDEX_LAST, INDEX_LAST);
        last = sizes_at(model, i, stride, near, last);
    }
    known->sizes[SIZE_LAST] = last;
    known->sizes[SIZE_UP] = (i32x4){0};
    if (stride > 0) {
        bool up = take_neighbour(model, olds, i, stride, known, INDEX_UP, INDEX_LAST);
        u32 far = up ? 0 : POINT_SPAN_MAX;
        take_neighbour(model, olds, i, stride + 1 + far, known, INDEX_UP_LAST, INDEX_UP);
        take_neighbour(model, olds, i, stride - 1 + far, known, INDEX_UP_NEXT, INDEX_UP);
        take_neighbour(model, olds, i, 2, known, INDEX_LAST_2, INDEX_LAST);
        take_neighbour(model, olds, i, 2 * stride, known, INDEX_UP_2, INDEX_UP);
        known->sizes[SIZE_UP] = sizes_at(model, i, stride, up, last);
    }
}

/* Where the usual sizes of point i of the span are kept. */
static inline u32 slot_of(const PointSpan *span, u32 i)
{
    u32 element = (u32)span->chunks[i / POINT_CHUNK] * POINT_CHUNK + i % POINT_CHUNK;
    return (element + (span->field << 13)) % POINT_SLOTS;
}

/* The usual sizes of a slot, in lanes 0 to 2. */
static inline i32x4 usual_sizes(const SlotSizes *slot)
{
    return (i32x4){slot->axis[0], slot->axis[1], slot->axis[2], 0};
}

/* After a code of a chain: the means move a quarter of the way to the sizes of its points. */
static inline void learn_slots(PointModel *model, const PointSpan *span)
{
    for (u32 i = 0; i < span->count && span->chunks != NULL; i++) {
        SlotSizes *slot = &model->usual[slot_of(span, i)];
        i32x4 usual = usual_sizes(slot);
        usual = model->going[i] ? usual + ((model->sizes[i] - usual) >> 2) : (i32x4){0};
        *slot = (SlotSizes){{(u16)usual[0], (u16)usual[1], (u16)usual[2], 0}};
    }
}

/* Completes the prediction data of continuing point i from its motion and neighbours. */
SIMD_INLINE void know_point(const PointModel *model, const PointSpan *span, u32 i,
                            PointKnown *known)
{
    know_index(model, span->state[0], i, known);
    known->sizes[SIZE_USUAL] = (i32x4){0};
    if (span->chunks != NULL) {
        known->sizes[SIZE_USUAL] = usual_sizes(&model->usual[slot_of(span, i)]);
    }
    known->sizes[SIZE_NEAR] = known->near.sizes;
    known->sizes[SIZE_ACCELERATION] = clamp3(sizes_of(known->motion.acceleration), TERM_MAX);
    known->sizes[SIZE_SPEED] = clamp3(sizes_of(known->motion.velocity), TERM_MAX);
    known->sizes[SIZE_ONE] = (1 << PART_BITS) + (i32x4){0};
}

/* Expected magnitudes of the residuals, in 16ths. No sum overflows: weights are below 2^10, terms
 * at most TERM_MAX. */
static inline i32x4 expected_sizes(const Plan *plan, const i32x4 sizes[SIZES])
{
    i32x4 sum = {0};
    for (u32 k = 0; k < SIZES; k++) {
        sum += plan->sizes[k] * sizes[k];
    }
    return clamp3(sum >> 6, EXPECTED_MAX);
}

/* Whether point i is in the baseline, with the same generation. */
static inline bool continues(const PointSpan *span, const QPoint *now, u32 i)
{
    return span->state[0] != NULL && now->generation != 0 &&
           span->state[0][i].generation == now->generation;
}

/* The reference of each neighbour by index. */
static const u8 index_against[INDEX_NEIGHBOURS] = {0,        INDEX_LAST, INDEX_UP,
                                                   INDEX_UP, INDEX_LAST, INDEX_UP};

/* The terms to which the weights apply; returns their number. 16ths. */
SIMD_INLINE u32 terms_of(const Plan *plan, const PointKnown *known, i32x4 at, i32x4 terms[WEIGHTS])
{
    terms[WEIGHT_VELOCITY] = known->motion.velocity;
    terms[WEIGHT_ACCELERATION] = known->motion.acceleration;
    terms[WEIGHT_NEAR_OFF] = near_off(&known->near);
    terms[WEIGHT_NEAR_MORE] = near_more(&known->near);
    terms[WEIGHT_MOVED] = clamp3(known->moved[0] - known->motion.velocity, TERM_MAX);
    if (plan->stride == 0) {
        return LOOSE_WEIGHTS;
    }
    i32x4 place = clamp3(known->place[0] - at, TERM_MAX >> PART_BITS);
    terms[WEIGHT_PLACE] = place * (1 << PART_BITS);
    for (u32 k = 1; k < INDEX_NEIGHBOURS; k++) {
        u32 against = index_against[k];
        place = clamp3(known->place[k] - known->place[against], TERM_MAX >> PART_BITS);
        terms[WEIGHT_MOVED + k] = clamp3(known->moved[k] - known->moved[against], TERM_MAX);
        terms[WEIGHT_PLACE + k] = place * (1 << PART_BITS);
    }
    return WEIGHTS;
}

/* The set of weights of a point. */
static inline u32 set_of(const Plan *plan, const PointNear *near)
{
    return plan->split > 0 && near->mean[NEAR_SIZE] >= plan->split;
}

/* Predicted position of a point from its old one `at`, in codes, and what rounding took from it:
 * −8..7 16ths. */
SIMD_INLINE i32x4 expect_moved(const Plan *plan, const PointKnown *known, i32x4 at, i32x4 *fraction)
{
    i32x4 terms[WEIGHTS];
    u32 count = terms_of(plan, known, at, terms);
    const i32 *weights = plan->weights[set_of(plan, &known->near)];
    i32x4 own = terms[0] * weights[0] + terms[1] * weights[1];
    i32x4 others = terms[2] * weights[2] + terms[3] * weights[3];
    for (u32 k = WEIGHT_MOVED; k < count; k++) {
        others += terms[k] * weights[k];
    }
    i32x4 moved = (own >> WEIGHT_BITS) + (others >> WEIGHT_BITS);
    i32x4 whole = (moved + (1 << (PART_BITS - 1))) >> PART_BITS;
    *fraction = moved - whole * (1 << PART_BITS);
    return clamp3(at + whole, POSITION_CODE_MAX);
}

/* Where a point without a baseline is expected, by points of lower index as plan->guess says. */
static inline void expect_new(const QPoint *now, u32 i, const Plan *plan, i32 expected[3])
{
    static const QPoint none;
    const QPoint *last = i >= 1 ? &now[i - 1] : &none, *before = i >= 2 ? &now[i - 2] : last;
    const QPoint *up = i >= plan->stride ? &now[i - plan->stride] : last;
    const QPoint *up_last = i > plan->stride ? &now[i - plan->stride - 1] : up;
    for (u32 a = 0; a < 3; a++) {
        i64 l = last->position[a], value = l;
        value = plan->guess == NEW_EXTRAPOLATE ? 2 * l - before->position[a] : value;
        value = plan->guess == NEW_UP ? up->position[a] : value;
        value = plan->guess == NEW_PLANE ? l + up->position[a] - up_last->position[a] : value;
        expected[a] = clamp(value, POSITION_CODE_MAX);
    }
}

/* Weights of sizes are small floating-point numbers of six bits. */
static inline i32 size_weight(u32 code)
{
    return (i32)(code < 8 ? code : (8 + (code & 7)) << ((code >> 3) - 1));
}

/* The greatest code whose weight is at most this. */
static inline u32 size_weight_code(i32 weight)
{
    u32 code = 0;
    while (code < 63 && size_weight(code + 1) <= weight) {
        code++;
    }
    return code;
}

#endif
