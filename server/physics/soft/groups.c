/*
 * groups.c: the parallel part of a step: groups of particles, then boundaries, then whole cut
 * bodies. A particle moves at the start of the next step, while its group is in cache, and once
 * more at the end of the substep.
 */
#include "server/physics/soft/batches.h"

#include "shared/base/limits.h"

enum {
    /* Below this, threads cost more than they save. */
    PARALLEL_WEIGHT = 2500,
    MOVE_GRAIN = 2, /* groups */
};

/* A grab pulls a particle, not the whole cloth: the prediction must not stretch it further. */
static const f32 speed_max_m_s = 100.0f;
/* Beyond this distance a particle is slow, and no coordinate exceeds it. */
static const f32 world_m = WORLD_EXTENT_MAX_M;

typedef struct Step {
    Soft *soft;
    f32 h;
    bool moves;
} Step;

/* Pinned particles are only read: constraints of other groups read them too. */
static void move(SoftPoint *p, f32 h)
{
    if (p->inverse_mass <= 0.0f) {
        return;
    }
    Vec3 v = p->velocity;
    f32 speed = vec3_length(v);
    p->spare = 0.0f; /* may be non-zero after four-wide operations beside an infinite velocity */
    if (!(speed <= speed_max_m_s)) {
        v = speed < 1e30f ? vec3_scale(v, speed_max_m_s / speed) : vec3_zero();
        p->velocity = v;
    }
    p->position = vec3_add_scaled(p->position, h, v);
    /* Particles leaving the world stop at its limit. */
    if (!(vec3_length_squared(p->position) < world_m * world_m)) {
        Vec3 end = vec3(world_m, world_m, world_m);
        p->position = vec3_max(vec3_min(p->position, end), vec3_neg(end));
        p->velocity = vec3_length_squared(v) > 1.0f ? vec3_normalize_or(v, vec3_zero()) : v;
    }
}

/* The same for two particles (or one twice) in the ordinary case. */
static void move_two(SoftPoint *a, SoftPoint *b, f32 h)
{
    const f32 v = speed_max_m_s * speed_max_m_s, p = world_m * world_m;
    const f32x8 most = {v, p, v, p, v, p, v, p}, step = {h, h, h, 0.0f, h, h, h, 0.0f};
    f32x8 velocity = f32x8_load_halves(&a->velocity.x, &b->velocity.x);
    f32x8 position = f32x8_load_halves(&a->position.x, &b->position.x);
    f32x8 moving = position, to = position + step * velocity;
    position = __builtin_shufflevector(to, f32x8_set(0.0f), 0, 1, 2, 11, 4, 5, 6, 15);
    velocity *= velocity;
    position *= position;
    f32x8 sum = __builtin_shufflevector(velocity, position, 0, 8, 1, 9, 4, 12, 5, 13) +
                __builtin_shufflevector(velocity, position, 2, 10, 3, 11, 6, 14, 7, 15);
    sum += __builtin_shufflevector(sum, sum, 2, 3, 0, 1, 6, 7, 4, 5);
    if (i32x8_bits(sum < most) == 0xff && (i32x8_bits(moving > 0.0f) & 0x88) == 0x88) {
        f32x8_store_halves(&a->position.x, &b->position.x, to);
        return;
    }
    move(a, h);
    if (a != b) {
        move(b, h);
    }
}

/* ---- phases ---- */

/* All its bodies sleep. */
static bool group_sleeps(const Soft *soft, const BatchGroup *group)
{
    if (soft->asleep_count == 0) {
        return false;
    }
    if (group->bodies.count == 0) {
        return soft_sleeps(soft, soft->matter[soft->batches->order[group->particles.first]].body);
    }
    bool sleeps = true;
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        sleeps = sleeps && soft_sleeps(soft, b);
    }
    return sleeps;
}

static bool boundary_sleeps(const Soft *soft, u32 boundary)
{
    const ConstraintBatches *batches = soft->batches;
    u32 cut = 0;
    if (soft->asleep_count == 0) {
        return false;
    }
    while (cut + 1 < batches->cut_count && batches->cut[cut + 1].first_boundary <= boundary) {
        cut++;
    }
    return soft_sleeps(soft, batches->cut[cut].body);
}

static void move_group(Soft *soft, const BatchGroup *group, f32 h)
{
    const u32 *order = soft->batches->order + group->particles.first;
    for (u32 i = 0; i < group->particles.count; i += 2) {
        u32 next = u32_min(i + 1, group->particles.count - 1);
        move_two(&soft->points[order[i]], &soft->points[order[next]], h);
    }
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (!soft_sleeps(soft, b)) {
            methods_move(soft, b);
        }
    }
}

static void predict_group(Soft *soft, const BatchGroup *group, f32 h)
{
    const u32 *order = soft->batches->order + group->particles.first;
    if (group->bodies.count == 0) {
        u32 body = soft->matter[order[0]].body;
        bool stiff = stiff_is(soft, body, h);
        for (u32 i = 0; stiff && i < group->particles.count; i++) {
            stiff_start(soft, order[i]);
        }
        soft_predict_span(soft, &soft->bodies[body], order, group->particles.count, h);
    }
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        const SoftBody *body = &soft->bodies[b];
        bool stiff = stiff_is(soft, b, h);
        for (u32 i = body->first; stiff && i < body->first + body->count; i++) {
            stiff_start(soft, i);
        }
        if (soft->bodies[b].def.method == SOFT_XPBD) {
            soft_predict(soft, &soft->bodies[b], h);
        }
    }
}

/* Steps of a body as a whole. */
static void finish_body(Soft *soft, u32 body, f32 h)
{
    if (soft_sleeps(soft, body)) {
        return;
    }
    methods_body(soft, body, h);
    body_constraints_body(soft, body, h);
}

/* Other methods predict within their solver. */
static void begin_turns(Soft *soft, const BatchGroup *group)
{
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (soft->bodies[b].def.method == SOFT_XPBD && !soft_sleeps(soft, b)) {
            rotation_begin(soft, &soft->bodies[b]);
        }
    }
}

/* Before the own mass of attached particles is restored. */
static void end_turns(Soft *soft, const BatchGroup *group)
{
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (soft->bodies[b].def.method == SOFT_XPBD && !soft_sleeps(soft, b)) {
            rotation_end(soft, &soft->bodies[b]);
        }
    }
}

static void run_group(const Step *step, u32 index)
{
    Soft *soft = step->soft;
    const BatchGroup *group = &soft->batches->groups[index];
    if (group_sleeps(soft, group)) {
        return;
    }
    if (step->moves) {
        move_group(soft, group, step->h);
    }
    predict_group(soft, group, step->h);
    grabs_warm(soft, index, step->h);
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (soft->bodies[b].def.method == SOFT_XPBD && !soft_sleeps(soft, b)) {
            body_constraints_press(soft, b, step->h);
        }
    }
    loads_store(soft, soft->batches->order + group->particles.first, group->particles.count);
    coupled_mass_increase(soft, index);
    loads_take(soft, index);
    if (group->bodies.count == 0) {
        rotation_begin_slab(soft, index);
    }
    begin_turns(soft, group);
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (stiff_is(soft, b, step->h) && !stiff_skin(soft, b) && !soft_sleeps(soft, b)) {
            stiff_body(soft, b, step->h);
        }
    }
    batches_run(soft, group->runs, step->h);
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        if (stiff_skin(soft, b) && !soft_sleeps(soft, b)) {
            stiff_body(soft, b, step->h);
        }
    }
    if (group->bodies.count == 0) {
        return; /* a slab: the rest is done for the whole body */
    }
    end_turns(soft, group);
    loads_give(soft, index);
    coupled_mass_restore(soft, index);
    for (u32 b = group->bodies.first; b < group->bodies.first + group->bodies.count; b++) {
        loads_count(soft, b, step->h);
        finish_body(soft, b, step->h);
    }
}

/* Groups, then boundaries, then chains across groups, then cut bodies. */
static void phase_loop(void *context, u32 phase, u32 first, u32 end, u32 worker)
{
    const Step *step = context;
    const ConstraintBatches *batches = step->soft->batches;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        if (phase == 0) {
            run_group(step, i);
        } else if (phase == 1) {
            if (!boundary_sleeps(step->soft, i)) {
                batches_run(step->soft, batches->boundaries[i], step->h);
            }
        } else if (phase < 2 + LINE_SETS) {
            batches_run(step->soft, (BatchSpan){batches->lines[phase - 2].first + i, 1}, step->h);
        } else if (!soft_sleeps(step->soft, batches->cut[i].body)) {
            const BatchBody *cut = &batches->cut[i];
            rotation_begin_cut(step->soft, cut);
            if (stiff_is(step->soft, cut->body, step->h)) {
                stiff_body(step->soft, cut->body, step->h);
            }
            batches_run(step->soft, cut->runs, step->h);
            rotation_end_cut(step->soft, cut);
            for (u32 g = 0; g < cut->group_count; g++) {
                loads_give(step->soft, cut->first_group + g);
                coupled_mass_restore(step->soft, cut->first_group + g);
            }
            loads_count(step->soft, cut->body, step->h);
            finish_body(step->soft, cut->body, step->h);
        }
    }
}

/* Small worlds run on one thread. */
static Jobs *jobs_for(const Soft *soft)
{
    return soft->batches->weight >= PARALLEL_WEIGHT ? soft->jobs : NULL;
}

void groups_step(Soft *soft, f32 h, bool moves)
{
    ConstraintBatches *batches = soft->batches;
    if (batches == NULL) {
        return;
    }
    Step step = {soft, h, moves};
    JobsPhase phases[3 + LINE_SETS] = {{.count = batches->group_count, .grain = 1},
                                       {.count = batches->boundary_count, .grain = 1}};
    for (u32 i = 0; i < LINE_SETS; i++) {
        phases[2 + i] = (JobsPhase){.count = batches->lines[i].count, .grain = 1};
    }
    phases[2 + LINE_SETS] = (JobsPhase){.count = batches->cut_count, .grain = 1};
    u32 count = batches->cut_count > 0 ? PL_COUNT(phases) : 1;
    jobs_run_phases(jobs_for(soft), phases, count, phase_loop, &step);
}

static void move_loop(void *context, u32 first, u32 end, u32 worker)
{
    const Step *step = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        const BatchGroup *group = &step->soft->batches->groups[i];
        if (!group_sleeps(step->soft, group)) {
            move_group(step->soft, group, step->h);
        }
    }
}

void groups_move(Soft *soft, f32 h)
{
    Step step = {soft, h, true};
    if (soft->batches != NULL) {
        jobs_run(jobs_for(soft), soft->batches->group_count, MOVE_GRAIN, move_loop, &step);
    }
}
