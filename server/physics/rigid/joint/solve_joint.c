/*
 * solve_joint.c: selects the joints to be solved in a tick, their order, and stores the results.
 * Joints that share no moving body get the same colour and are solved in parallel, colour after
 * colour; ball joints and hinges of a colour eight at a time. No two rows of a colour write the
 * same body, so results do not depend on threads. Method: greedy colouring with a mask of used
 * colours for each body, in slot order.
 */
#include "server/physics/rigid/joint/joint_row.h"

#include <stdatomic.h>

/* As JOINT_STIFFNESS, of ball joints that are solved in several passes. */
#define BALL_STIFFNESS 1.0f
/* Sweeps over a net balance neighbours at once but the whole only slowly; over-relaxation needs
 * a fraction of the passes (Young, "Iterative methods for solving partial difference equations
 * of elliptic type", 1954). */
#define BALL_OVER      1.6f

enum {
    /* Passes over the ball joints per substep, with and without bias: they are cheap, and more
     * of them allow stiffer nets without oscillation. */
    BALL_ROUNDS = 6,
    BALL_RELAX_ROUNDS = 3,
    ROW_GRAIN = 8,
    BALL_GRAIN = 12,
    HINGE_GRAIN = 6,
    NOT_SOLVED = 0xff
};

static bool is_moved(const Rigid *rigid, u32 slot)
{
    return slot != JOINT_WORLD && rigid->bodies[slot].motion == BODY_DYNAMIC &&
           body_is_active(&rigid->bodies[slot]);
}

/* The lowest colour free for both bodies; JOINT_COLORS: none. */
static u32 color_of(Rigid *rigid, u32 a, u32 b)
{
    u64 *used = rigid->colors_used;
    bool moves_a = is_moved(rigid, a), moves_b = is_moved(rigid, b);
    u64 taken = (moves_a ? used[a] : 0) | (moves_b ? used[b] : 0);
    if (taken == ~0ull) {
        return JOINT_COLORS;
    }
    u32 color = (u32)__builtin_ctzll(~taken);
    if (moves_a) {
        used[a] |= 1ull << color;
    }
    if (moves_b) {
        used[b] |= 1ull << color;
    }
    return color;
}

/* Solver of a joint. */
typedef enum Class {
    CLASS_BALL,
    CLASS_HINGE,
    CLASS_ROW,
    CLASS_COUNT
} Class;

/* Joints of each class in each colour. */
typedef struct JointRowCounts {
    u32 of[CLASS_COUNT][JOINT_PGS + 1];
} JointRowCounts;

static Class class_of(const Rigid *rigid, u32 slot, u32 color)
{
    JointKind kind = rigid->joints.joints[slot].def.kind;
    if (color >= JOINT_COLORS) {
        return CLASS_ROW;
    }
    return kind == JOINT_BALL ? CLASS_BALL : (kind == JOINT_HINGE ? CLASS_HINGE : CLASS_ROW);
}

/* Colours all joints of awake bodies, and counts them. */
static void assign(Rigid *rigid, JointRowCounts *counts)
{
    JointStore *store = &rigid->joints;
    memset(counts, 0, sizeof(*counts));
    memset(rigid->colors_used, 0, rigid->slots * sizeof(*rigid->colors_used));
    for (u32 i = 0; i < store->slots; i++) {
        u32 a, b;
        store->color_of[i] = NOT_SOLVED;
        if (store->tree_places[i] == JOINT_NO_SLOT && joint_bodies(rigid, i, &a, &b) &&
            (is_moved(rigid, a) || is_moved(rigid, b))) {
            u32 color = joint_is_pgs(rigid, a, b) ? JOINT_PGS : color_of(rigid, a, b);
            store->color_of[i] = (u8)color;
            counts->of[class_of(rigid, i, color)][color]++;
        }
    }
}

static u32 wide_rows(u32 count)
{
    return (count + SIMD_LANES - 1) / SIMD_LANES;
}

/* Assigns row ranges to colours, and joints to rows. */
static void arrange(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    JointRowCounts counts;
    assign(rigid, &counts);
    for (u32 i = 0; i <= JOINT_PGS; i++) {
        JointColor color = {store->ball_count,  wide_rows(counts.of[CLASS_BALL][i]),
                            store->hinge_count, wide_rows(counts.of[CLASS_HINGE][i]),
                            store->row_count,   counts.of[CLASS_ROW][i]};
        store->colors[i] = color;
        if (i != JOINT_PGS && color.ball_count + color.hinge_count + color.row_count > 0) {
            store->color_count = i + 1;
        }
        store->ball_count += color.ball_count;
        store->hinge_count += color.hinge_count;
        store->row_count += color.row_count;
    }
    memset(store->ball_order, 0xff, store->ball_count * SIMD_LANES * sizeof(u32));
    memset(store->hinge_order, 0xff, store->hinge_count * SIMD_LANES * sizeof(u32));
    memset(&counts, 0, sizeof(counts));
    for (u32 i = 0; i < store->slots; i++) {
        if (store->color_of[i] == NOT_SOLVED) {
            continue;
        }
        const JointColor *color = &store->colors[store->color_of[i]];
        Class class = class_of(rigid, i, store->color_of[i]);
        u32 at = counts.of[class][store->color_of[i]]++;
        if (class == CLASS_BALL) {
            store->ball_order[color->ball * SIMD_LANES + at] = i;
        } else if (class == CLASS_HINGE) {
            store->hinge_order[color->hinge * SIMD_LANES + at] = i;
        } else {
            store->row_order[color->row + at] = i;
        }
    }
}

static bool dry_reserve(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    return rigid_reserve(rigid, &store->dry_rows, &store->dry_capacity, store->dry_count,
                         sizeof(DryRow)) &&
           rigid_reserve(rigid, &store->dry_order, &store->dry_order_capacity, store->dry_count,
                         sizeof(u32));
}

/* The same for dry friction, whose joints may be in trees: its colours are its own. */
static void arrange_dry(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    memset(store->dry_colors, 0, sizeof(store->dry_colors));
    store->dry_count = store->dry_color_count = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        memset(rigid->colors_used, 0, rigid->slots * sizeof(*rigid->colors_used));
        for (u32 i = 0; i < store->slots; i++) {
            u32 a, b;
            if (!(store->joints[i].def.friction > 0.0f) || !joint_bodies(rigid, i, &a, &b) ||
                !(is_moved(rigid, a) || is_moved(rigid, b))) {
                continue;
            }
            DryColor *color =
                &store->dry_colors[joint_is_pgs(rigid, a, b) ? JOINT_PGS : color_of(rigid, a, b)];
            if (pass == 1) {
                store->dry_order[color->row + color->row_count] = i;
            }
            color->row_count++;
        }
        for (u32 i = 0; i <= JOINT_PGS && pass == 0; i++) {
            DryColor *color = &store->dry_colors[i];
            color->row = store->dry_count;
            store->dry_count += color->row_count;
            store->dry_color_count =
                i != JOINT_PGS && color->row_count > 0 ? i + 1 : store->dry_color_count;
            color->row_count = 0;
        }
        if (pass == 0 && (store->dry_count == 0 || !dry_reserve(rigid))) {
            memset(store->dry_colors, 0, sizeof(store->dry_colors));
            store->dry_count = store->dry_color_count = 0; /* out of memory: none rubs */
            return;
        }
    }
}

typedef struct Preparing {
    Rigid *rigid;
    f32 h;
} Preparing;

static void prepare_rows(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    JointStore *store = &run->rigid->joints;
    for (u32 i = first; i < end; i++) {
        bool pgs = i >= store->colors[JOINT_PGS].row;
        joint_row_prepare(run->rigid, &store->rows[i], store->row_order[i],
                          pgs ? run->rigid->def.tick_s : run->h);
    }
}

static void prepare_dry(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    JointStore *store = &run->rigid->joints;
    for (u32 i = first; i < end; i++) {
        bool pgs = i >= store->dry_colors[JOINT_PGS].row;
        joint_dry_prepare(run->rigid, &store->dry_rows[i], store->dry_order[i],
                          pgs ? run->rigid->def.tick_s : run->h);
    }
}

static void prepare_balls(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    JointStore *store = &run->rigid->joints;
    for (u32 i = first; i < end; i++) {
        joint_ball_prepare(run->rigid, &store->balls[i], &store->ball_order[i * SIMD_LANES],
                           run->h);
    }
}

static void prepare_hinges(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    JointStore *store = &run->rigid->joints;
    for (u32 i = first; i < end; i++) {
        joint_hinge_prepare(run->rigid, &store->hinges[i], &store->hinge_order[i * SIMD_LANES],
                            run->h);
    }
}

static void prepare_trees(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    for (u32 i = first; i < end; i++) {
        joint_trees_prepare(run->rigid, &run->rigid->joints.tree_groups[i], run->h);
    }
}

/* Trees and colours depend only on the set of joints and of awake bodies. */
static void lay_out(Rigid *rigid)
{
    JointStore *store = &rigid->joints;
    store->row_count = store->ball_count = store->hinge_count = 0;
    store->color_count = store->tree_group_count = 0;
    store->dry_count = store->dry_color_count = 0;
    if (store->live > 0) {
        joint_trees_find(rigid);
        arrange(rigid);
        arrange_dry(rigid);
    }
    store->laid_out = true;
}

void joint_prepare(Rigid *rigid, Jobs *jobs, f32 h)
{
    JointStore *store = &rigid->joints;
    store->break_count = 0;
    if (!store->laid_out) {
        lay_out(rigid);
    }
    if (store->live == 0) {
        return;
    }
    joint_take_load(rigid, h);
    Preparing run = {rigid, h};
    jobs_run(jobs, store->tree_group_count, 1, prepare_trees, &run);
    jobs_run(jobs, store->row_count, ROW_GRAIN, prepare_rows, &run);
    jobs_run(jobs, store->hinge_count, HINGE_GRAIN, prepare_hinges, &run);
    jobs_run(jobs, store->ball_count, BALL_GRAIN, prepare_balls, &run);
    jobs_run(jobs, store->dry_count, ROW_GRAIN, prepare_dry, &run);
}

/* ---- each substep ---- */

typedef enum JointStage {
    STAGE_WARM_START,
    STAGE_SOLVE,
    STAGE_RELAX,     /* updates poses first */
    STAGE_RELAX_MORE /* ball joints only */
} JointStage;

/* Loops of a stage, in this order: trees, then for each colour its balls, hinges and rows. */
enum {
    PHASES_OF_COLOR = 3,
    PHASES_MAX = 1 + PHASES_OF_COLOR * (JOINT_COLORS + 1)
};

typedef struct JointStageRun {
    Rigid *rigid;
    JointStage stage;
    f32 h;
    bool last; /* last iteration of ball joints */
    f32 over;  /* of ball joints in STAGE_SOLVE */
    Softness soft_ball, soft_row;
} JointStageRun;

static void run_balls(const JointStageRun *run, u32 first, u32 end)
{
    BallWide *balls = run->rigid->joints.balls;
    for (u32 i = first; i < end; i++) {
        switch (run->stage) {
        case STAGE_WARM_START:
            joint_ball_warm_start(run->rigid, &balls[i]);
            break;
        case STAGE_SOLVE:
            joint_ball_solve(run->rigid, &balls[i], &run->soft_ball, run->over,
                             run->last ? run->h : 0.0f);
            break;
        case STAGE_RELAX:
            joint_ball_relax(run->rigid, &balls[i]);
            break;
        case STAGE_RELAX_MORE:
            joint_ball_relax_more(run->rigid, &balls[i]);
            break;
        }
    }
}

static void run_hinges(const JointStageRun *run, u32 first, u32 end)
{
    HingeWide *hinges = run->rigid->joints.hinges;
    for (u32 i = first; i < end; i++) {
        switch (run->stage) {
        case STAGE_WARM_START:
            joint_hinge_warm_start(run->rigid, &hinges[i]);
            break;
        case STAGE_SOLVE:
            joint_hinge_solve(run->rigid, &hinges[i], &run->soft_row, run->h);
            break;
        case STAGE_RELAX:
        case STAGE_RELAX_MORE:
            joint_hinge_relax(run->rigid, &hinges[i], run->h);
            break;
        }
    }
}

static void run_rows(const JointStageRun *run, u32 first, u32 end)
{
    JointRow *rows = run->rigid->joints.rows;
    for (u32 i = first; i < end; i++) {
        if (run->stage == STAGE_WARM_START) {
            joint_row_warm_start(run->rigid, &rows[i]);
        } else {
            joint_row_solve(run->rigid, &rows[i], run->stage == STAGE_SOLVE ? &run->soft_row : NULL,
                            run->h);
        }
    }
}

static void run_trees(const JointStageRun *run, u32 first, u32 end)
{
    for (u32 i = first; i < end; i++) {
        const TreeGroup *group = &run->rigid->joints.tree_groups[i];
        switch (run->stage) {
        case STAGE_WARM_START:
            joint_trees_warm_start(run->rigid, group);
            break;
        case STAGE_SOLVE:
            joint_trees_solve(run->rigid, group, run->h);
            break;
        case STAGE_RELAX:
        case STAGE_RELAX_MORE:
            joint_trees_relax(run->rigid, group, run->h);
            break;
        }
    }
}

static void run_phase(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const JointStageRun *run = context;
    if (phase == 0) {
        run_trees(run, first, end);
        return;
    }
    const JointColor *color = &run->rigid->joints.colors[(phase - 1) / PHASES_OF_COLOR];
    switch ((phase - 1) % PHASES_OF_COLOR) {
    case 0:
        run_balls(run, color->ball + first, color->ball + end);
        break;
    case 1:
        run_hinges(run, color->hinge + first, color->hinge + end);
        break;
    default:
        run_rows(run, color->row + first, color->row + end);
        break;
    }
}

static void run_stage(Rigid *rigid, Jobs *jobs, JointStage stage, bool rows, f32 h)
{
    JointStore *store = &rigid->joints;
    JointStageRun run = {rigid,
                         stage,
                         h,
                         rows,
                         rows ? 1.0f : BALL_OVER, /* the last pass is exact for a single joint */
                         softness(BALL_STIFFNESS / h, JOINT_DAMPING, h),
                         softness(JOINT_STIFFNESS / h, JOINT_DAMPING, h)};
    JobsPhase phases[PHASES_MAX];
    u32 count = 0;
    /* Trees share no moving body. */
    phases[count] = (JobsPhase){.count = rows ? store->tree_group_count : 0, .grain = 1};
    count++;
    for (u32 i = 0; i < store->color_count; i++) {
        const JointColor *color = &store->colors[i];
        u32 hinges = rows ? color->hinge_count : 0, others = rows ? color->row_count : 0;
        /* Joints without a colour may share bodies: one row after the other. */
        u32 grain = i == JOINT_COLORS ? others : jobs_grain(jobs, others, ROW_GRAIN);
        phases[count + 0] = (JobsPhase){.count = color->ball_count,
                                        .grain = jobs_grain(jobs, color->ball_count, BALL_GRAIN)};
        phases[count + 1] =
            (JobsPhase){.count = hinges, .grain = jobs_grain(jobs, hinges, HINGE_GRAIN)};
        phases[count + 2] = (JobsPhase){.count = others, .grain = grain};
        count += 3;
    }
    jobs_run_phases(jobs, phases, count, run_phase, &run);
}

static void dry_row(Rigid *rigid, DryRow *row, JointStage stage)
{
    if (stage == STAGE_WARM_START) {
        joint_dry_warm_start(rigid, row);
    } else {
        joint_dry_solve(rigid, row, stage == STAGE_RELAX);
    }
}

static void dry_phase(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const JointStageRun *run = context;
    DryRow *rows = run->rigid->joints.dry_rows + run->rigid->joints.dry_colors[phase].row;
    for (u32 i = first; i < end; i++) {
        dry_row(run->rigid, &rows[i], run->stage);
    }
}

static void run_dry(Rigid *rigid, Jobs *jobs, JointStage stage)
{
    const JointStore *store = &rigid->joints;
    if (store->dry_color_count == 0) {
        return;
    }
    JointStageRun run = {.rigid = rigid, .stage = stage};
    JobsPhase phases[JOINT_COLORS + 1];
    for (u32 i = 0; i < store->dry_color_count; i++) {
        u32 count = store->dry_colors[i].row_count;
        /* See run_stage. */
        u32 grain = i == JOINT_COLORS ? count : jobs_grain(jobs, count, ROW_GRAIN);
        phases[i] = (JobsPhase){.count = count, .grain = grain};
    }
    jobs_run_phases(jobs, phases, store->dry_color_count, dry_phase, &run);
}

void joint_warm_start(Rigid *rigid, Jobs *jobs)
{
    run_dry(rigid, jobs, STAGE_WARM_START);
    run_stage(rigid, jobs, STAGE_WARM_START, true, rigid->def.tick_s / (f32)rigid->substeps);
}
void joint_solve(Rigid *rigid, Jobs *jobs, bool use_bias, f32 h)
{
    if (use_bias) {
        for (u32 round = 1; round < BALL_ROUNDS; round++) {
            run_stage(rigid, jobs, STAGE_SOLVE, false, h);
        }
        run_stage(rigid, jobs, STAGE_SOLVE, true, h);
        run_dry(rigid, jobs, STAGE_SOLVE);
        return;
    }
    run_stage(rigid, jobs, STAGE_RELAX, true, h);
    for (u32 round = 1; round < BALL_RELAX_ROUNDS; round++) {
        run_stage(rigid, jobs, STAGE_RELAX_MORE, false, h);
    }
    run_dry(rigid, jobs, STAGE_RELAX);
}

static void again_phase(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    const Preparing *run = context;
    for (u32 i = first; i < end; i++) {
        joint_trees_close(run->rigid, &run->rigid->joints.tree_groups[i], run->h);
    }
}

void joint_close(Rigid *rigid, Jobs *jobs, f32 h)
{
    Preparing run = {rigid, h};
    if (rigid->joints.limited) {
        jobs_run(jobs, rigid->joints.tree_group_count, 1, again_phase, &run);
    }
}

/* ---- PGS bodies ---- */

/* Empty in a tick without such joints. */
static JointColor pgs_rows(const Rigid *rigid)
{
    const JointStore *store = &rigid->joints;
    return store->row_count > 0 ? store->colors[JOINT_PGS] : (JointColor){0};
}

static void pgs_dry(Rigid *rigid, JointStage stage)
{
    const JointStore *store = &rigid->joints;
    DryColor dry = store->dry_count > 0 ? store->dry_colors[JOINT_PGS] : (DryColor){0};
    for (u32 i = 0; i < dry.row_count; i++) {
        dry_row(rigid, &store->dry_rows[dry.row + i], stage);
    }
}

void joint_pgs_warm_start(Rigid *rigid)
{
    pgs_dry(rigid, STAGE_WARM_START);
    JointColor rows = pgs_rows(rigid);
    for (u32 i = 0; i < rows.row_count; i++) {
        joint_row_warm_start(rigid, &rigid->joints.rows[rows.row + i]);
    }
}

void joint_pgs_count(Rigid *rigid)
{
    JointColor rows = pgs_rows(rigid);
    for (u32 i = 0; i < rows.row_count; i++) {
        joint_row_count(rigid, &rigid->joints.rows[rows.row + i]);
    }
    pgs_dry(rigid, STAGE_RELAX); /* the bodies have not moved yet: counts what it gave */
}

void joint_pgs_solve(Rigid *rigid, f32 tick_s)
{
    JointColor rows = pgs_rows(rigid);
    Softness hard = {rigid->def.baumgarte / tick_s, 1.0f, 0.0f}; /* Baumgarte 1972 */
    for (u32 i = 0; i < rows.row_count; i++) {
        joint_row_solve(rigid, &rigid->joints.rows[rows.row + i], &hard, tick_s);
    }
    pgs_dry(rigid, STAGE_SOLVE);
}

/* ---- the end of a tick ---- */

static void note_break(Rigid *rigid, u32 slot, f32 force, f32 torque)
{
    JointStore *store = &rigid->joints;
    const Joint *joint = &store->joints[slot];
    Vec3 anchors[2];
    Quat frames[2];
    u32 a, b;
    joint_frames(rigid, &joint->def, anchors, frames);
    joint_bodies(rigid, slot, &a, &b);
    JointBreak *out = &store->breaks[store->break_count++];
    *out = (JointBreak){
        slot, joint->generation, a, b, vec3_lerp(anchors[0], anchors[1], 0.5f), force, torque};
    joint_free(rigid, slot);
}

/* A running motor, however slow, keeps its bodies awake. */
static void keep_awake(Rigid *rigid, u32 slot)
{
    u32 sides[2];
    joint_bodies(rigid, slot, &sides[0], &sides[1]);
    for (u32 i = 0; i < 2; i++) {
        if (sides[i] != JOINT_WORLD) {
            rigid->bodies[sides[i]].sleep_s = 0.0f;
        }
    }
}

typedef struct Storing {
    Rigid *rigid;
    f32 tick_s;
    _Atomic bool asks; /* some joint may break, or keeps its bodies awake */
} Storing;

/* The phases of joint_finish: each joint is in one row of one of the first four. */
enum {
    STORE_TREES,
    STORE_ROWS,
    STORE_HINGES,
    STORE_BALLS,
    STORE_DRY,
    STORE_ASKS,
    STORE_PHASES
};

static bool joint_asks(const JointDef *def)
{
    return def->break_force > 0.0f || def->break_torque > 0.0f ||
           ((def->flags & JOINT_DRIVE) && def->speed != 0.0f);
}

/* NaN counts as out of bounds. */
static f32 within_state(f32 value)
{
    f32 least = value >= -STATE_VALUE_MAX ? value : -STATE_VALUE_MAX;
    return f32_min(least, STATE_VALUE_MAX);
}

static Vec3 vector_within_state(Vec3 v)
{
    return vec3(within_state(v.x), within_state(v.y), within_state(v.z));
}

/* A non-finite load is not used for warm starting: it would persist forever. It is reported as
 * the maximal value, so that a breakable joint breaks. */
static void joint_forget_load(Joint *joint)
{
    memset(&joint->load, 0, sizeof(joint->load));
    joint->force = vector_within_state(joint->force);
    joint->torque = vector_within_state(joint->torque);
    joint->error = within_state(joint->error);
}

static void store_phase(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Storing *run = context;
    JointStore *store = &run->rigid->joints;
    for (u32 i = first; i < end; i++) {
        switch (phase) {
        case STORE_TREES:
            joint_trees_store(run->rigid, &store->tree_groups[i], run->tick_s);
            break;
        case STORE_ROWS:
            joint_row_store(run->rigid, &store->rows[i], run->tick_s);
            break;
        case STORE_HINGES:
            joint_hinge_store(run->rigid, &store->hinges[i], run->tick_s);
            break;
        case STORE_BALLS:
            joint_ball_store(run->rigid, &store->balls[i], run->tick_s);
            break;
        case STORE_DRY:
            joint_dry_store(run->rigid, &store->dry_rows[i], run->tick_s);
            break;
        default:
            if (!joint_is_bounded(&store->joints[i])) {
                joint_forget_load(&store->joints[i]);
            }
            if (joint_asks(&store->joints[i].def)) {
                atomic_store_explicit(&run->asks, true, memory_order_relaxed);
            }
            break;
        }
    }
}

void joint_finish(Rigid *rigid, f32 tick_s)
{
    JointStore *store = &rigid->joints;
    if (store->live == 0) {
        return;
    }
    Storing run = {.rigid = rigid, .tick_s = tick_s};
    JobsPhase phases[STORE_PHASES] = {
        [STORE_TREES] = {.count = store->tree_group_count, .grain = 1},
        [STORE_ROWS] = {.count = store->row_count, .grain = ROW_GRAIN},
        [STORE_HINGES] = {.count = store->hinge_count, .grain = HINGE_GRAIN},
        [STORE_BALLS] = {.count = store->ball_count, .grain = BALL_GRAIN},
        [STORE_DRY] = {.count = store->dry_count, .grain = ROW_GRAIN},
        [STORE_ASKS] = {.count = store->slots, .grain = 256},
    };
    jobs_run_phases(rigid->jobs, phases, STORE_PHASES, store_phase, &run);
    if (!atomic_load(&run.asks)) {
        return;
    }
    for (u32 i = 0; i < store->slots; i++) {
        const Joint *joint = &store->joints[i];
        const JointDef *def = &joint->def;
        if (store->color_of[i] == NOT_SOLVED && store->tree_places[i] == JOINT_NO_SLOT) {
            continue;
        }
        if (def->break_force > 0.0f || def->break_torque > 0.0f) {
            f32 force = vec3_length(joint->force), torque = vec3_length(joint->torque);
            if ((def->break_force > 0.0f && force > def->break_force) ||
                (def->break_torque > 0.0f && torque > def->break_torque)) {
                note_break(rigid, i, force, torque);
                continue;
            }
        }
        if ((def->flags & JOINT_DRIVE) && def->speed != 0.0f) {
            keep_awake(rigid, i);
        }
    }
}
