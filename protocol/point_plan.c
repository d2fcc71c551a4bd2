/* point_plan.c: see point_plan.h. */
#include "protocol/point_plan.h"

#include "protocol/point_fit.h"

enum {
    FIT_PASSES = 3,
    FIT_POINTS_MIN = 12,
    FIT_SAMPLES = 384, /* about so many points of a span say what the weights are */
};

const Plan point_plan_default = {
    .shift = 6, .weights = {256, 64, 12, 8, 8, 0, 0}, .sizes = {32, 24, 0, 4, 0, 48}};

/* A shift that makes squares count alike whatever their size. */
static u32 evening(u32 size)
{
    u32 length = bit_length(size);
    return length > 6 ? length - 6 : 0;
}

static u32 fit_step(const PointSpan *span)
{
    return 1 + span->count / FIT_SAMPLES;
}

static void fit_motion(PointModel *model, const PointSpan *span, const QPoint *now)
{
    PointFit fit = {.count = MOTION_WEIGHTS};
    for (u32 i = 0; i < span->count; i += fit_step(span)) {
        if (!goes_on(span, &now[i], i)) {
            continue;
        }
        Motion m = motion_of(model, span, i);
        i32x4 goal = moved_by(&now[i], &span->state[0][i]);
        u32 shift = evening(sum_of_sizes(goal - m.go_on));
        for (u32 a = 0; a < 3; a++) {
            const i32 terms[MOTION_WEIGHTS] = {m.go_on[a], m.bend[a]};
            point_fit_add(&fit, terms, goal[a], shift);
        }
    }
    i32 weights[MOTION_WEIGHTS];
    point_fit_solve(&fit, false, weights);
    model->plan.weights[WEIGHT_GO_ON] = clamp((weights[0] + 256) >> 9, 255) * 2;
    model->plan.weights[WEIGHT_BEND] = clamp((weights[1] + 1024) >> 11, 63) * 8;
}

/* One pass for the weights of neighbours, in 16ths: equations count by what they were off with the
 * weights so far. */
static void fit_neighbours_once(PointModel *model, const PointSpan *span, bool first)
{
    PointFit fit = {.count = model->plan.stride > 0 ? 5 : 2};
    for (u32 i = 0; i < span->count; i += fit_step(span)) {
        if (!model->going[i]) {
            continue;
        }
        PointOff by[4], near = model->near[i], self = model->off[i];
        i32x4 terms[OFF_TERMS];
        neighbours_of(model, span->state[0], i, near, by);
        off_terms(near, by, terms);
        u32 size = first ? (u32)self[3] : sum_of_sizes(self - sum_off(&model->plan, near, by));
        u32 shift = evening(size);
        for (u32 a = 0; a < 3; a++) {
            i32 of_axis[OFF_TERMS];
            for (u32 k = 0; k < fit.count; k++) {
                of_axis[k] = terms[k][a];
            }
            point_fit_add(&fit, of_axis, self[a], shift);
        }
    }
    i32 weights[FIT_MAX] = {0};
    point_fit_solve(&fit, false, weights);
    for (u32 k = 0; k < OFF_TERMS; k++) {
        model->plan.weights[WEIGHT_OFF + k] = clamp((weights[k] + 2048) >> 12, 31);
    }
}

static void fit_neighbours(PointModel *model, const PointSpan *span)
{
    for (u32 pass = 0; pass < FIT_PASSES; pass++) {
        fit_neighbours_once(model, span, pass == 0);
    }
}

/* The residuals, now that the weights are known, and the weights of their sizes. */
static void fit_sizes(PointModel *model, const PointSpan *span, const QPoint *now)
{
    PointFit fit = {.count = SIZES};
    for (u32 i = 0; i < span->count; i++) {
        if (!model->going[i]) {
            continue;
        }
        PointFound *found = &model->found[i];
        PointOff by[4], near = model->near[i];
        neighbours_of(model, span->state[0], i, near, by);
        i32x4 off = sum_off(&model->plan, near, by);
        i32x4 expected = expect_moved(&span->state[0][i], found->own, off);
        found->own = position_of(&now[i]) - expected;
        find_sizes(found, near, by);
        i32 size = clamp(16 * (i64)sum_of_sizes(found->own), OFF_MAX);
        model->off[i][3] = size;
        if (i % fit_step(span) == 0 && !found->rested) {
            i32 terms[SIZES] = {near[3],       by[0][3],     model->plan.stride > 0 ? by[1][3] : 0,
                                found->change, found->speed, 16};
            u32 shift = evening((u32)(size + near[3]));
            for (u32 k = 0; k < SIZES; k++) {
                terms[k] = clamp(terms[k], OFF_MAX) * 16;
            }
            point_fit_add(&fit, terms, size * 16, shift);
        }
    }
    if (!model->plan.fitted) {
        return;
    }
    i32 weights[SIZES];
    point_fit_solve(&fit, true, weights);
    for (u32 k = 0; k < SIZES; k++) {
        model->plan.sizes[k] = size_weight(size_weight_code((weights[k] + 512) >> 10));
    }
}

/* What each point's motion was off, and what the neighbours coded before it did. */
static void plan_neighbours(PointModel *model, const PointSpan *span, const QPoint *now)
{
    point_grid_begin(&model->grid, span->count, model->plan.shift);
    for (u32 i = 0; i < span->count; i++) {
        model->going[i] = goes_on(span, &now[i], i);
        if (!model->going[i]) {
            continue;
        }
        const QPoint *old = &span->state[0][i];
        Motion m = motion_of(model, span, i);
        PointFound *found = &model->found[i];
        *found = (PointFound){own_motion(&model->plan, &m), 0, 0, 0, m.change, m.speed, m.rested};
        PointOff near = point_grid_near(&model->grid, old->position);
        PointOff off = clamp3(moved_by(&now[i], old) - found->own, OFF_MAX);
        off[3] = size_against(off, near);
        point_grid_add(&model->grid, old->position, off, off[3]);
        model->near[i] = near;
        model->off[i] = off;
    }
}

/* The edge of cells such that some three points share one. */
static u32 choose_shift(PointModel *model, const PointSpan *span)
{
    u32 low = 2, high = SHIFT_MAX, bits = 12;
    u64 *seen = (u64 *)(void *)model->grid.fine;
    while (bits < GRID_BITS_MAX + 1 && 1u << bits < 4 * span->count) {
        bits++;
    }
    while (low < high) {
        u32 shift = (low + high) / 2, cells = 0;
        memset(seen, 0, 1u << (bits - 3));
        for (u32 i = 0; i < span->count; i++) {
            const i32 *at = span->state[0][i].position;
            u32 row = point_grid_row(at[1] >> shift, at[2] >> shift);
            u32 cell = (row + (u32)(at[0] >> shift)) & ((1u << bits) - 1);
            cells += (u32)(~seen[cell / 64] >> (cell % 64) & 1);
            seen[cell / 64] |= 1ull << (cell % 64);
        }
        if (cells * 3 <= span->count) {
            high = shift;
        } else {
            low = shift + 1;
        }
    }
    return low;
}

/* How far back in the order the nearest point lies besides the one just before, if a few points
 * agree; else 0. */
static u32 find_stride(const QPoint *points, u32 count)
{
    enum {
        ASKED = 8
    };
    u32 votes[ASKED], most = 0, agreed = 0;
    for (u32 k = 0; k < ASKED; k++) {
        u32 i = (u32)((u64)count * (k + ASKED) / (2 * ASKED)), best = 0;
        u32 least = UINT32_MAX;
        i32x4 at = position_of(&points[i]);
        for (u32 back = 2; back <= i && back <= STRIDE_MAX; back++) {
            u32 far = sum_of_sizes(at - position_of(&points[i - back]));
            if (far < least && points[i - back].generation != 0) {
                least = far;
                best = back;
            }
        }
        votes[k] = best > 2 ? best : 0;
    }
    for (u32 k = 0; k < ASKED; k++) {
        u32 same = 0;
        for (u32 j = 0; j < ASKED; j++) {
            same += votes[j] == votes[k];
        }
        if (same > agreed) {
            agreed = same;
            most = votes[k];
        }
    }
    return agreed * 2 >= ASKED ? most : 0;
}

static void plan_fresh(PointModel *model, const PointSpan *span, const QPoint *now, u32 fresh)
{
    Plan *plan = &model->plan;
    if (fresh > span->count / 2) {
        plan->stride = find_stride(now, span->count);
    }
    u32 ways = plan->stride > 0 ? FRESH_WAYS : FRESH_UP, best = 0;
    u64 least = UINT64_MAX;
    for (u32 way = 0; way < ways; way++) {
        u64 sum = 0;
        plan->fresh = way;
        for (u32 i = 0; i < span->count; i += fit_step(span)) {
            if (now[i].generation != 0 && !goes_on(span, &now[i], i)) {
                i32 expected[3];
                expect_fresh(now, i, plan, expected);
                for (u32 a = 0; a < 3; a++) {
                    sum += bit_length(size_of(now[i].position[a] - expected[a]));
                }
            }
        }
        if (sum < least) {
            least = sum;
            best = way;
        }
    }
    plan->fresh = best;
}

void point_plan_make(PointModel *model, const PointSpan *span, const QPoint *now)
{
    static const QPoint none;
    Plan *plan = &model->plan;
    u32 going = 0, fresh = 0;
    *plan = point_plan_default;
    for (u32 i = 0; i < span->count; i++) {
        const QPoint *old = span->state[0] != NULL ? &span->state[0][i] : &none;
        plan->lives = plan->lives || now[i].generation != old->generation;
        plan->scalars = plan->scalars || now[i].scalar != old->scalar;
        going += goes_on(span, &now[i], i);
        fresh += now[i].generation != 0 && now[i].generation != old->generation;
    }
    if (going > 0) {
        plan->shift = choose_shift(model, span);
    }
    if (going >= FIT_POINTS_MIN) {
        plan->fitted = true;
        plan->stride = find_stride(span->state[0], span->count);
        fit_motion(model, span, now);
    }
    if (fresh > 0) {
        plan_fresh(model, span, now, fresh);
    }
    plan_neighbours(model, span, now);
    if (plan->fitted) {
        fit_neighbours(model, span);
    }
    fit_sizes(model, span, now);
}
