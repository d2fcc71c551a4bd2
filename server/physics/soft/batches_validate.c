/*
 * batches_validate.c: checks the pieces that a step runs in parallel against batches.h. Every
 * particle is in one group, every run lies within the stream, and the eight of a batch write no
 * common point.
 */
#include "server/physics/soft/batches_wide.h"
#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"
#include "shared/base/check.h"

static bool is_within(BatchSpan span, u32 count)
{
    return span.first <= count && span.count <= count - span.first;
}

/* ---- groups ---- */

static void validate_groups(const Soft *soft)
{
    const ConstraintBatches *batches = soft->batches;
    u32 particles = 0, held = 0;
    CHECK(batches->particles == soft->count);
    for (u32 g = 0; g < batches->group_count; g++) {
        const BatchGroup *group = &batches->groups[g];
        CHECK_ITEM(g, is_within(group->particles, batches->particles));
        CHECK_ITEM(g, is_within(group->bodies, soft->body_count));
        CHECK_ITEM(g, is_within(group->runs, batches->run_count));
        CHECK_ITEM(g, group->held.first == held);
        CHECK_ITEM(g, is_within(group->held, soft->attachment_count));
        for (u32 i = 0; i < group->particles.count; i++) {
            u32 at = group->particles.first + i,
                particle = group->ordered ? batches->order[at] : at;
            CHECK_ITEM(g, particle < soft->count && batches->group_of[particle] == g);
        }
        particles += group->particles.count;
        held += group->held.count;
    }
    CHECK(particles == batches->particles);
    CHECK(held == soft->attachment_count);
    for (u32 s = 0; s < batches->boundary_count; s++) {
        CHECK_ITEM(s, is_within(batches->boundaries[s], batches->run_count));
    }
    for (u32 s = 0; s < LINE_SETS; s++) {
        CHECK_ITEM(s, is_within(batches->lines[s], batches->run_count));
    }
    for (u32 c = 0; c < batches->cut_count; c++) {
        const BatchBody *cut = &batches->cut[c];
        CHECK_ITEM(c, cut->body < soft->body_count);
        CHECK_ITEM(c, cut->first_group + cut->group_count <= batches->group_count);
        CHECK_ITEM(c, cut->first_boundary <= batches->boundary_count);
        CHECK_ITEM(c, is_within(cut->runs, batches->run_count));
    }
}

/* ---- batches ---- */

/* In lane l of `points` rows: its points are those of lane 0, or no earlier lane has one of
 * them. */
static bool lane_is_apart(const u16 (*point)[SIMD_LANES], u32 points, u32 l)
{
    bool repeats = true, apart = true;
    for (u32 k = 0; k < points; k++) {
        repeats = repeats && point[k][l] == point[k][0];
        for (u32 q = 0; q < points; q++) {
            for (u32 before = 0; before < l; before++) {
                apart = apart && point[k][l] != point[q][before];
            }
        }
    }
    return repeats || apart;
}

static void validate_lanes(const Soft *soft, u32 index, const u16 (*point)[SIMD_LANES], u32 points,
                           u32 written)
{
    const BatchRun *run = &soft->batches->runs[index];
    for (u32 l = 0; l < SIMD_LANES; l++) {
        for (u32 k = 0; k < points; k++) {
            CHECK_ITEM(index, point[k][l] % BATCH_POINT == 0);
            CHECK_ITEM(index, run->base + point[k][l] / BATCH_POINT < soft->count);
        }
        CHECK_ITEM(index, lane_is_apart(point, written, l));
    }
}

/* Units of the stream that the run occupies. */
static u32 validate_batches(const Soft *soft, u32 index)
{
    const BatchRun *run = &soft->batches->runs[index];
    bool distance = run->kind == CONSTRAINT_DISTANCE;
    u32 points = constraint_points(run->kind), written = distance && run->fixed ? 1 : points;
    u32 size = (u32)(sizeof(u16[4][SIMD_LANES]) / sizeof(f32x8)) + wide_rows(run->kind);
    if (distance) {
        size = (u32)((run->exact ? sizeof(BatchDistance) : sizeof(BatchLimits)) / sizeof(f32x8));
    }
    CHECK_ITEM(index, run->base < soft->count);
    CHECK_ITEM(index, (u64)run->count * size <= soft->batches->stream_used - run->at);
    for (u32 i = 0; i < run->count; i++) {
        const void *batch = soft->batches->stream + run->at + (size_t)i * size;
        validate_lanes(soft, index, batch, points, written);
    }
    return run->count * size;
}

static u32 validate_loose(const Soft *soft, u32 index)
{
    const BatchRun *run = &soft->batches->runs[index];
    const u32 *constraints = (const void *)(soft->batches->stream + run->at);
    u32 each = sizeof(f32x8) / sizeof(u32), size = (run->count + each - 1) / each;
    CHECK_ITEM(index, size <= soft->batches->stream_used - run->at);
    for (u32 i = 0; i < run->count; i++) {
        CHECK_ITEM(index, constraints[i] < soft->constraint_count);
    }
    return size;
}

static u32 validate_chains(const Soft *soft, u32 index)
{
    const ConstraintBatches *batches = soft->batches;
    const BatchRun *run = &batches->runs[index];
    u32 at = run->at;
    for (u32 i = 0; i < run->count; i++) {
        const ChainHead *head = (const void *)(batches->stream + at);
        const ChainPoint *point = (const void *)(head + 1);
        CHECK_ITEM(index, at < batches->stream_used && head->links > 0);
        CHECK_ITEM(index, chain_size(head->links) <= batches->stream_used - at);
        CHECK_ITEM(index, head->even <= head->links);
        CHECK_ITEM(index, head->tension < batches->tension_count &&
                              head->links < batches->tension_count - head->tension);
        for (u32 k = 0; k <= head->links; k++) {
            for (u32 l = 0; l < SIMD_LANES; l++) {
                CHECK_ITEM(index, point[k].at[l] % sizeof(SoftPoint) == 0);
                CHECK_ITEM(index, point[k].at[l] / sizeof(SoftPoint) < soft->count);
                CHECK_ITEM(index, point[k].rest[l] >= 0.0f);
            }
        }
        at += chain_size(head->links);
    }
    return at - run->at;
}

void batches_validate(const Soft *soft)
{
    const ConstraintBatches *batches = soft->batches;
    u32 at = 0;
    CHECK(batches->run_count <= batches->run_capacity &&
          batches->stream_used <= batches->stream_capacity);
    validate_groups(soft);
    for (u32 i = 0; i < batches->run_count; i++) {
        const BatchRun *run = &batches->runs[i];
        CHECK_ITEM(i, run->at == at && run->kind < CONSTRAINT_KINDS && run->role < ROLE_COUNT);
        at += run->loose   ? validate_loose(soft, i)
              : run->chain ? validate_chains(soft, i)
                           : validate_batches(soft, i);
        CHECK_ITEM(i, at <= batches->stream_used);
    }
    CHECK(at == batches->stream_used);
    const f32 *tensions = (const f32 *)batches->tension;
    for (u32 i = 0; i < batches->tension_count * SIMD_LANES; i++) {
        CHECK_ITEM(i, tensions[i] >= 0.0f && tensions[i] <= STATE_VALUE_MAX);
    }
}
