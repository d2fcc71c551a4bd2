/* point_plan.c: see point_plan.h. */
#include "protocol/codec/point_plan.h"

enum {
    FIT_PASSES = 3,
    FIT_POINTS_MIN = 12,
    FIT_SAMPLES = 384,               /* maximal number of points used to fit the weights, */
    FIT_SMALL = 1024,                /* half of them for spans of a packet's size, */
    FIT_CHAINED = FIT_EQUATIONS_MAX, /* more in chains: nobody waits for a recording */
    CELL_POINTS = 9,                 /* quarters of points per cell */
    EVEN_PARTS = 32,                 /* 16ths: smaller residuals have equal weight */
};

const Plan point_plan_default = {.edge = 20,
                                 .weights = {{256, 64, 192, 64, 64}, {256, 64, 192, 64, 64}},
                                 .sizes = {32, 24, 0, 4, 0, 16}};

/* Format of the weights in a header: within ±2^(bits − 1) units of so many 256ths. */
const WeightCode point_weight_codes[WEIGHTS] = {
    {9, 2}, {7, 8}, {7, 8},  {7, 8},  {8, 4},  {8, 4},  {8, 4},  {8, 4},
    {8, 4}, {8, 4}, {10, 1}, {10, 1}, {10, 1}, {10, 1}, {10, 1}, {10, 1},
};

static u32 fit_step(const PointModel *model, const PointSpan *span)
{
    u32 samples = span->count <= FIT_SMALL ? FIT_SAMPLES / 2 : FIT_SAMPLES;
    return 1 + span->count / (model->chained ? FIT_CHAINED : samples);
}

static FitLanes lanes_of(i32x4 v)
{
    return __builtin_convertvector(v & (i32x4){-1, -1, -1, 0}, FitLanes);
}

/* The encoder's data of a continuing point, and what follows from the plan. */
static void know_found(const PointModel *model, const PointSpan *span, u32 i, PointKnown *known)
{
    known->motion = model->found[i].motion;
    known->near = model->found[i].near;
    know_point(model, span, i, known);
}

/* Reduces the weight of equations with large residuals, so that the fit is robust (near the
 * median). */
static f64 share_of(FitLanes off)
{
    f64 size = 0.0;
    for (u32 a = 0; a < 3; a++) {
        size += off[a] < 0.0 ? -off[a] : off[a];
    }
    return 1.0 / (size + EVEN_PARTS);
}

/* Collects the equations of some points; returns their number. */
static u32 equations_of(PointModel *model, const PointSpan *span, PointEquation *equations)
{
    u32 count = 0;
    for (u32 i = 0; i < span->count; i += fit_step(model, span)) {
        if (!model->going[i]) {
            continue;
        }
        PointKnown known;
        i32x4 terms[WEIGHTS];
        know_found(model, span, i, &known);
        u32 terms_count = terms_of(&model->plan, &known, position_of(&span->state[0][i]), terms);
        PointEquation *equation = &equations[count++];
        for (u32 k = 0; k < terms_count; k++) {
            equation->terms[k] = lanes_of(terms[k]);
        }
        equation->goal = lanes_of(model->moved[i]);
        equation->set = set_of(&model->plan, &known.near);
    }
    return count;
}

/* Adds those of a set to the normal equations, reweighted with the current weights. */
SIMD_INLINE void add_equations(const PointEquation *equations, u32 equation_count, u32 set,
                               u32 weight_count, const f64 *weights, PointFit *fit)
{
    PointFit sums;
    point_fit_begin(&sums, weight_count);
    for (u32 i = 0; i < equation_count; i++) {
        const PointEquation *equation = &equations[i];
        if (equation->set != set) {
            continue;
        }
        FitLanes off = equation->goal;
        for (u32 k = 0; k < weight_count; k++) {
            off -= equation->terms[k] * weights[k];
        }
        point_fit_add(&sums, weight_count, equation->terms, equation->goal, share_of(off));
    }
    fit->count = weight_count;
    for (u32 k = 0; k < weight_count; k++) {
        fit->right[k] = sums.right[k];
        for (u32 j = 0; j <= k; j++) {
            fit->square[k][j] = sums.square[k][j];
        }
    }
}

static void fit_set(PointModel *model, u32 count, u32 set)
{
    f64 weights[WEIGHTS] = {1.0};
    for (u32 pass = 0; pass < FIT_PASSES; pass++) {
        PointFit fit;
        /* Two versions, because the compiler keeps few sums in registers. */
        if (model->plan.stride == 0) {
            add_equations(model->equations, count, set, LOOSE_WEIGHTS, weights, &fit);
        } else {
            add_equations(model->equations, count, set, WEIGHTS, weights, &fit);
        }
        point_fit_solve(&fit, false, 2.0, weights);
    }
    for (u32 k = 0; k < WEIGHTS; k++) {
        WeightCode code = point_weight_codes[k];
        i32 most = (1 << (code.bits - 1)) - 1;
        f64 units = weights[k] * (1 << WEIGHT_BITS) / code.unit;
        model->plan.weights[set][k] = clamp((i64)(units + 1024.5) - 1024, most) * code.unit;
    }
}

/* Where to split the points into calm and lively ones: at the mean, if there are many. */
static i32 choose_split(const PointModel *model, const PointSpan *span)
{
    i64 sum = 0, count = 0;
    for (u32 i = 0; i < span->count; i++) {
        if (model->going[i]) {
            sum += model->found[i].near.mean[NEAR_SIZE];
            count++;
        }
    }
    return count <= FIT_SMALL ? 0 : size_weight(size_weight_code(clamp(sum / count, INT16_MAX)));
}

static void fit_weights(PointModel *model, const PointSpan *span)
{
    model->plan.split = choose_split(model, span);
    u32 count = equations_of(model, span, model->equations), lively = 0;
    for (u32 i = 0; i < count; i++) {
        lively += model->equations[i].set;
    }
    if (lively < FIT_POINTS_MIN || count - lively < FIT_POINTS_MIN) {
        model->plan.split = 0;
        for (u32 i = 0; i < count; i++) {
            model->equations[i].set = 0;
        }
    }
    for (u32 set = 0; set < (model->plan.split > 0 ? WEIGHT_SETS : 1); set++) {
        fit_set(model, count, set);
    }
}

/* An equation an axis for the weights of the expected sizes; those of small ones count more. */
SIMD_INLINE void fit_sizes(PointFit *fit, const PointKnown *known, i32x4 made)
{
    FitLanes terms[SIZES], goal = lanes_of(made);
    FitLanes usual = goal + lanes_of(known->sizes[SIZE_NEAR]) + EVEN_PARTS / 3.0;
    for (u32 k = 0; k < SIZES; k++) {
        terms[k] = lanes_of(known->sizes[k]) / usual;
    }
    point_fit_add(fit, SIZES, terms, goal / usual, 1.0);
}

/* Computes the residuals with the fitted weights, and fits the size weights. */
static void find_residuals(PointModel *model, const PointSpan *span, const QPoint *now)
{
    PointFit fit;
    point_fit_begin(&fit, SIZES);
    u32 step = fit_step(model, span), next = 0; /* of the samples */
    for (u32 i = 0; i < span->count; i++) {
        bool sampled = i == next;
        next += sampled ? step : 0;
        if (!model->going[i]) {
            continue;
        }
        PointKnown known;
        PointFound *found = &model->found[i];
        know_found(model, span, i, &known);
        i32x4 at = position_of(&span->state[0][i]);
        i32x4 expected = expect_moved(&model->plan, &known, at, &found->fraction);
        found->residual = position_of(&now[i]) - expected;
        model->sizes[i] = residual_sizes(found->residual);
        memcpy(found->sizes, known.sizes, sizeof found->sizes);
        if (sampled && !found->motion.rested) {
            fit_sizes(&fit, &known, model->sizes[i]);
        }
    }
    if (!model->plan.fitted) {
        return;
    }
    f64 weights[SIZES];
    point_fit_solve(&fit, true, 8.0, weights);
    for (u32 k = 0; k < SIZES; k++) {
        model->plan.sizes[k] = size_weight(size_weight_code((i32)(weights[k] * 64.0 + 0.5)));
    }
}

/* Computes the motion of each point and its neighbours in coding order. */
static void plan_neighbours(PointModel *model, const PointSpan *span, const QPoint *now)
{
    point_grid_begin(&model->grid, span->count, model->plan.edge);
    for (u32 i = 0; i < span->count; i++) {
        model->going[i] = continues(span, &now[i], i);
        if (!model->going[i]) {
            continue;
        }
        const QPoint *old = &span->state[0][i];
        PointMotion motion = motion_of(model, span, i);
        i32x4 place = point_grid_place(&model->grid, position_of(old));
        PointNear near = ask_neighbours(model, place, &motion);
        i32x4 moved = moved_by(&now[i], old);
        hint_neighbours(model, i, place, &motion, &near, moved);
        model->found[i].near = near;
        model->found[i].motion = motion;
        model->moved[i] = moved;
    }
}

/* Transposes the points into groups of eight. */
static void spread_places(PointModel *model, const QPoint *points, u32 count)
{
    for (u32 e = 0; 8 * e < count; e++) {
        i32 axis[3][8], none[8];
        for (u32 k = 0; k < 8; k++) {
            const QPoint *point = &points[u32_min(8 * e + k, count - 1)];
            for (u32 a = 0; a < 3; a++) {
                axis[a][k] = point->position[a];
            }
            none[k] = -(i32)(point->generation == 0 || 8 * e + k >= count);
        }
        memcpy(&model->places[e], axis, sizeof axis);
        memcpy(&model->places[e].none, none, sizeof none);
    }
}

/* Number of occupied cells, or more than `most`. Marks them in `seen` with a new stamp. */
static u32 count_cells(const PointModel *model, u32 count, const PointGrid *grid, u32 most,
                       u8 *seen, u8 stamp)
{
    u32 cells = 0;
    for (u32 e = 0; 8 * e < count && cells <= most; e++) {
        const PointPlaces *places = &model->places[e];
        i32x8 x = places->axis[0] * grid->parts >> (i32)grid->shift;
        u32x8 y = (u32x8)(places->axis[1] * grid->parts >> (i32)grid->shift);
        u32x8 z = (u32x8)(places->axis[2] * grid->parts >> (i32)grid->shift);
        u32x8 cell = ((y * 0x9E3779B1u + z * 0x85EBCA77u) >> 12) + (u32x8)x;
        cell &= (1u << grid->bits) - 1;
        u32 left = u32_min(count - 8 * e, 8);
        for (u32 k = 0; k < left; k++) {
            cells += seen[cell[k]] != stamp;
            seen[cell[k]] = stamp;
        }
    }
    return cells;
}

/* Chooses the cell size such that about three points share a cell. */
static u32 choose_edge(PointModel *model, const PointSpan *span)
{
    u32 low = 0, high = (1 << GRID_EDGE_BITS) - 1, bits = 12;
    u32 most = span->count * 4 / CELL_POINTS;
    u8 *seen = (u8 *)model->grid.hints, stamp = 0;
    while (bits < GRID_BITS_MAX + 1 && 1u << bits < 4 * span->count) {
        bits++;
    }
    memset(seen, 0, 1u << bits);
    spread_places(model, span->state[0], span->count);
    while (low < high) {
        u32 edge = (low + high) / 2;
        PointGrid grid = {.bits = bits};
        point_grid_edge(&grid, edge);
        if (count_cells(model, span->count, &grid, most, seen, ++stamp) <= most) {
            high = edge;
        } else {
            low = edge + 1;
        }
    }
    return low;
}

/* Distance in the order from point i to its nearest point other than the previous one, the
 * smallest if several; 0: none. */
static u32 nearest_back(const PointModel *model, u32 i)
{
    const u32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    u32 from = i > STRIDE_MAX ? i - STRIDE_MAX : 0, end = i - 1, best = 0, least = UINT32_MAX;
    i32x8 at[3];
    u32x8 nearest = UINT32_MAX + (u32x8){0}, index = {0};
    for (u32 a = 0; a < 3; a++) {
        at[a] = model->places[i / 8].axis[a][i % 8] + (i32x8){0};
    }
    for (u32 e = from / 8; 8 * e < end; e++) {
        const PointPlaces *places = &model->places[e];
        u32x8 number = lanes + 8 * e, far = {0};
        for (u32 a = 0; a < 3; a++) {
            i32x8 off = at[a] - places->axis[a], sign = off < 0;
            far += (u32x8)((off ^ sign) - sign);
        }
        far |= (u32x8)places->none | (u32x8)(number - from >= end - from);
        u32x8 nearer = (u32x8)(far <= nearest); /* later ones are fewer slots back */
        nearest = (far & nearer) | (nearest & ~nearer);
        index = (number & nearer) | (index & ~nearer);
    }
    for (u32 k = 0; k < 8; k++) {
        u32 back = i - index[k];
        if (nearest[k] < least ||
            (nearest[k] == least && nearest[k] != UINT32_MAX && back < best)) {
            least = nearest[k];
            best = back;
        }
    }
    return best;
}

/* The stride: the distance in the order to the nearest point other than the previous one, if a
 * few points agree; else 0. Uses the transposed points. */
static u32 find_stride(const PointModel *model, u32 count)
{
    enum {
        ASKED = 8
    };
    u32 votes[ASKED], most = 0, agreed = 0;
    for (u32 k = 0; k < ASKED; k++) {
        u32 i = (u32)((u64)count * (k + ASKED) / (2 * ASKED));
        u32 back = i >= 2 ? nearest_back(model, i) : 0;
        votes[k] = back > 2 ? back : 0;
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

static void plan_new(PointModel *model, const PointSpan *span, const QPoint *now, u32 guess)
{
    Plan *plan = &model->plan;
    if (guess > span->count / 2) {
        spread_places(model, now, span->count);
        plan->stride = find_stride(model, span->count);
    }
    u32 ways = plan->stride > 0 ? NEW_WAYS : NEW_UP, best = 0;
    u64 least = UINT64_MAX;
    for (u32 way = 0; way < ways; way++) {
        u64 sum = 0;
        plan->guess = way;
        for (u32 i = 0; i < span->count; i += fit_step(model, span)) {
            if (now[i].generation != 0 && !continues(span, &now[i], i)) {
                i32 expected[3];
                expect_new(now, i, plan, expected);
                for (u32 a = 0; a < 3; a++) {
                    sum += u32_bit_length(i32_magnitude(now[i].position[a] - expected[a]));
                }
            }
        }
        if (sum < least) {
            least = sum;
            best = way;
        }
    }
    plan->guess = best;
}

void point_plan_make(PointModel *model, const PointSpan *span, const QPoint *now)
{
    static const QPoint none;
    Plan *plan = &model->plan;
    u32 going = 0, guess = 0;
    *plan = point_plan_default;
    for (u32 i = 0; i < span->count; i++) {
        const QPoint *old = span->state[0] != NULL ? &span->state[0][i] : &none;
        plan->lives = plan->lives || now[i].generation != old->generation;
        plan->scalars = plan->scalars || now[i].scalar != old->scalar;
        going += continues(span, &now[i], i);
        guess += now[i].generation != 0 && now[i].generation != old->generation;
    }
    if (going > 0) {
        plan->edge = choose_edge(model, span);
    }
    if (going >= FIT_POINTS_MIN) {
        plan->fitted = true;
        plan->stride = find_stride(model, span->count); /* uses the points transposed by
                                                           choose_edge */
    }
    if (guess > 0) {
        plan_new(model, span, now, guess);
    }
    plan_neighbours(model, span, now);
    if (plan->fitted) {
        fit_weights(model, span);
    }
    find_residuals(model, span, now);
}
