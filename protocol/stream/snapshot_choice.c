/*
 * snapshot_choice.c: see snapshot_choice.h. A pending chunk has a priority that grows until it is
 * sent; what is too much for the line goes coarser before it goes rarer.
 */
#include "protocol/stream/snapshot_choice.h"

#include "protocol/field/field_ops.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    /* Beyond the round trip before an unacknowledged state is sent again. */
    RESEND_MARGIN_MS = 40,
    /* Beyond the round trip before an acknowledgement may be here. */
    ACK_MARGIN_MS = 40,
    /* States of a chunk that are under way at most while acknowledgements come: what is sent later
     * would find its baseline too old and had to be a key. */
    STATES_UNDER_WAY = CHUNK_STATES_KEPT - 4,
    KEY_TRIES = 4,
    COARSENESS_MAX = SNAPSHOT_COARSENESS_MAX,
    COARSER_MS = 200,
    FINER_MS = 400,
    SILENCE_MS = 1000, /* and two round trips: it says nothing of what is too much */
};
/* A pending chunk's priority grows by its error in pixels, at most so many, and by a floor for each
 * snapshot that it has waited, so that the smallest error overtakes the largest in time. */
#define PIXELS_MAX         64.0f
#define PIXELS_FLOOR       0.25f
/* Of what is not shown at all. */
#define PIXELS_UNKNOWN     1000.0f
/* In a round all candidates go once. What has waited for so many goes before everything else, and
 * so does what went and was lost: nothing starves however much moves faster or nearer. */
#define DUE_ROUNDS         2.0f
#define ROUND_RATE         0.1f
#define ROUND_MAX          100.0f
/* More than so many snapshots a round: coarser; fewer: finer. */
#define ROUND_COARSER      2.0f
#define ROUND_FAR          8.0f
#define ROUND_FINER        1.2f
/* What rests and is known, if not in full, is refined with what is left over. */
#define REFINE_SHARE       0.02f
/* What a point that is not there counts. */
#define DECIMATION_ERROR_M 0.05f
#define PRIORITY_MAX       1e30f
/* Of things that are nowhere, or for clients without a camera: as seen from 10 m. */
#define PIXELS_PER_M       100.0f
#define NEAREST_M          0.5f
#define BEHIND_FACTOR      0.1f

/* ---- priorities ---- */

/* Pixels on the client's screen for a metre at the chunk. */
static f32 pixels_per_metre(const SnapshotView *view, const ChunkInfo *info)
{
    if (view == NULL || !(view->pixels_per_radian > 0.0f) || info->radius < 0.0f) {
        return PIXELS_PER_M;
    }
    Vec3 towards = vec3_sub(info->centre, view->eye);
    f32 pixels = view->pixels_per_radian / f32_max(vec3_length(towards) - info->radius, NEAREST_M);
    return vec3_dot(towards, view->forward) < -info->radius ? pixels * BEHIND_FACTOR : pixels;
}

static void heap_sink(u64 *heap, u32 count, u32 at)
{
    u64 value = heap[at];
    for (;;) {
        u32 child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && heap[child + 1] > heap[child];
        if (heap[child] <= value) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = value;
}

u32 choice_pop(SnapshotSender *sender)
{
    VALIDATE(sender->heap_count > 0);
    u64 top = sender->heap[0];
    sender->heap[0] = sender->heap[--sender->heap_count];
    heap_sink(sender->heap, sender->heap_count, 0);
    return (u32)top;
}

static void candidate_push(SnapshotSender *sender, u32 flat, f32 priority)
{
    VALIDATE(priority >= 0.0f && sender->heap_count < sender->chunk_total);
    u32 bits;
    memcpy(&bits, &priority, sizeof bits); /* positive floats order as their bits do */
    sender->heap[sender->heap_count++] = (u64)bits << 32 | flat;
}

/* On a long path fewer snapshots carry a chunk than there are, so that the states under way stay
 * within those that the receiver keeps; if acknowledgements fail to come, a key is due in the end.
 */
static bool must_wait(const SenderChunk *chunk, u64 now_ms, u32 rtt_ms)
{
    u32 under_way = chunk->sends - chunk->acked_number;
    u64 since_ms = now_ms - chunk->sent_ms;
    if (chunk->acked == 0 || chunk->resend || under_way < STATES_UNDER_WAY / 2) {
        return false;
    }
    return under_way >= STATES_UNDER_WAY
               ? since_ms < (u64)rtt_ms + rtt_ms / 4 + RESEND_MARGIN_MS
               : since_ms * STATES_UNDER_WAY < (u64)rtt_ms + ACK_MARGIN_MS;
}

/* A key was sent and may still arrive: another one would cost as much again. Where bytes are short
 * it is waited for; else something is shown meanwhile. After each that was in vain the wait is
 * shorter: on a path that loses much the last chunk would keep the picture from being whole. */
static bool key_under_way(const SnapshotSender *sender, const SenderChunk *chunk, u64 now_ms,
                          u32 rtt_ms)
{
    u64 wait_ms = sender->stats.limited ? rtt_ms + rtt_ms / 4u : rtt_ms / 2u;
    u32 tries = u32_min(u32_max(chunk->sends, 1), KEY_TRIES);
    return chunk->acked == 0 && chunk->sends > 0 && !chunk->resend &&
           now_ms - chunk->sent_ms < wait_ms / tries + RESEND_MARGIN_MS;
}

/* ---- details ---- */

static Detail acked_detail(const SenderChunk *chunk)
{
    return chunk->details[chunk->acked_number % CHUNK_STATES_KEPT];
}

/* What is left out may be so many pixels large; of liquids and clouds each 2^thin-th point goes. */
static const f32 coarse_pixels[COARSENESS_MAX + 1] = {0.0f, 0.1f, 0.2f, 0.4f, 0.8f, 1.5f};
static const u32 coarse_decimation[COARSENESS_MAX + 1] = {0, 0, 0, 1, 1, 2};

/* What a chunk that moves is sent at. */
static Detail detail_wanted(const SnapshotSender *sender, const SnapshotView *view,
                            const FieldDesc *field, const ChunkInfo *info)
{
    u32 shift = 0;
    FieldCoarsening coarsening = (FieldCoarsening)field_ops(field->kind)->coarsening;
    if (sender->coarseness == 0 || coarsening == FIELD_EXACT) {
        return DETAIL_FULL;
    }
    if (coarsening == FIELD_COARSE_BY_STEP) {
        shift = sender->coarseness - 1;
    } else {
        f32 pixels = 2.0f * pixels_per_metre(view, info) * field->quantum;
        while (shift < DETAIL_SHIFT_MAX && pixels <= coarse_pixels[sender->coarseness]) {
            pixels *= 2.0f;
            shift++;
        }
    }
    return detail_make(shift, info->decimation ? coarse_decimation[sender->coarseness] : 0);
}

/* At one tick a chunk only ever gets finer: what is known of it then is the finest. */
Detail choice_detail(const SnapshotSender *sender, const SnapshotView *view, const Frame *frame,
                     u32 field, const SenderChunk *chunk, const ChunkInfo *info)
{
    Detail detail = chunk_is_known(chunk, info)
                        ? DETAIL_FULL
                        : detail_wanted(sender, view, &frame->fields->fields[field], info);
    Detail sent = chunk->details[chunk->sends % CHUNK_STATES_KEPT];
    return chunk->sent == frame->tick + 1 && sent < detail ? sent : detail;
}

/* Rarer costs more than coarser: where all that moves does not go within a snapshot or two, it goes
 * coarser. Both ways it takes a while, and between the two limits it stays. */
void choice_adapt(SnapshotSender *sender, u64 now_ms, u32 rtt_ms)
{
    bool silent = now_ms - sender->heard_ms > SILENCE_MS + 2u * rtt_ms;
    f32 round =
        sender->movers == 0 ? 0.0f : (f32)sender->movers / f32_max((f32)sender->movers_sent, 0.5f);
    sender->round += ROUND_RATE * (f32_min(round, ROUND_MAX) - sender->round);
    sender->coarse_ms = sender->round > ROUND_COARSER && !silent ? sender->coarse_ms : now_ms;
    sender->fine_ms =
        sender->round < ROUND_FINER ? sender->fine_ms : u64_max(sender->fine_ms, now_ms);
    if (!sender->coarse_allowed) {
        return;
    }
    if (now_ms - sender->coarse_ms >= COARSER_MS && sender->coarseness < COARSENESS_MAX) {
        u32 steps = sender->round > ROUND_FAR ? 2 : 1;
        sender->coarseness = u32_min(sender->coarseness + steps, COARSENESS_MAX);
        sender->coarse_ms = now_ms;
    } else if (now_ms >= sender->fine_ms + FINER_MS && sender->coarseness > 0) {
        sender->coarseness--;
        sender->fine_ms = now_ms;
    }
}

/* Pixels by which the client's picture of a chunk is off. */
static f32 pixels_off(const SenderChunk *chunk, const FieldDesc *field, const SnapshotView *view,
                      const ChunkInfo *info)
{
    if (chunk->acked == 0) {
        return PIXELS_UNKNOWN;
    }
    Detail has = acked_detail(chunk);
    f32 off = (f32)(info->travelled - chunk->acked_travelled);
    off += 0.5f * field->quantum * (f32)((1u << detail_shift(has)) - 1);
    off += detail_decimation(has) > 0 ? DECIMATION_ERROR_M : 0.0f;
    return f32_min(off * pixels_per_metre(view, info), PIXELS_MAX);
}

/* ---- candidates ---- */

/* Finds the chunks worth sending now and lets their priorities grow. */
void choice_collect(SnapshotSender *sender, const ChunkCache *cache, const SnapshotView *view,
                    u64 now_ms, u32 rtt_ms)
{
    sender->heap_count = 0;
    sender->stats.chunks_pending = 0;
    u64 wait_ms = (u64)rtt_ms + rtt_ms / 4 + RESEND_MARGIN_MS;
    for (u32 f = 0; f < sender->fields->count; f++) {
        u32 first = sender->first[f];
        u32 end = f + 1 < sender->fields->count ? sender->first[f + 1] : sender->chunk_total;
        for (u32 flat = first; flat < end; flat++) {
            SenderChunk *chunk = &sender->chunks[flat];
            const ChunkInfo *info = chunk_cache_info(cache, f, flat - first);
            chunk->chosen = 0;
            bool refine = chunk_is_known(chunk, info);
            if (refine && acked_detail(chunk) == DETAIL_FULL) {
                chunk->priority = 0.0f;
                chunk->waited = 0;
                continue;
            }
            sender->stats.chunks_pending++;
            Detail sent = chunk->details[chunk->sends % CHUNK_STATES_KEPT];
            if (chunk->sent > info->changed && !chunk->resend &&
                now_ms - chunk->sent_ms < wait_ms && (!refine || sent == DETAIL_FULL)) {
                continue;
            }
            if (key_under_way(sender, chunk, now_ms, rtt_ms) || must_wait(chunk, now_ms, rtt_ms)) {
                sender->withheld = sender->withheld || !refine;
                continue;
            }
            f32 pixels = pixels_off(chunk, &sender->fields->fields[f], view, info);
            if (refine) {
                chunk->priority = f32_min(chunk->priority + REFINE_SHARE * pixels, PRIORITY_MAX);
                candidate_push(sender, flat, chunk->priority);
                continue;
            }
            sender->movers++;
            pixels += PIXELS_FLOOR * (f32)++chunk->waited;
            chunk->priority = f32_min(chunk->priority + pixels, PRIORITY_MAX);
            bool due =
                chunk->resend || (f32)chunk->waited > DUE_ROUNDS * f32_max(sender->round, 1.0f);
            candidate_push(sender, flat, due ? PRIORITY_MAX * (f32)chunk->waited : chunk->priority);
        }
    }
    for (u32 i = sender->heap_count / 2; i-- > 0;) {
        heap_sink(sender->heap, sender->heap_count, i);
    }
}

/* ---- what to build upon ---- */

/* Ages of baselines, in ticks, that clients of like round trips share; beyond the last any. */
static bool age_is_shared(u64 age)
{
    static const u8 ages[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
    for (u32 i = 0; i < PL_COUNT(ages); i++) {
        if (ages[i] == age) {
            return true;
        }
    }
    return age > ages[PL_COUNT(ages) - 1];
}

/* The remembered tick nearest to this one of those older than `below`; 0: none. */
static u64 tick_near(const SnapshotSender *sender, u64 wanted, u64 below)
{
    u64 best = 0;
    for (u32 i = 0; i < sender->tick_count; i++) {
        u64 tick = sender->ticks[i];
        u64 off = tick > wanted ? tick - wanted : wanted - tick;
        u64 best_off = best > wanted ? best - wanted : wanted - best;
        if (tick < below && (best == 0 || off < best_off)) {
            best = tick;
        }
    }
    return best;
}

/* The newest acknowledged tick, and two as far apart from it and each other as it is from now, or
 * as far as the client still has them; `close`: one just before it and one so far away. */
static SpanBase common_ticks(const SnapshotSender *sender, const ChunkCache *cache, bool close)
{
    SpanBase common = {.detail = DETAIL_FULL};
    u64 now = chunk_cache_frame(cache)->tick;
    u32 first = 0;
    while (first < sender->tick_count && !chunk_cache_has(cache, sender->ticks[first])) {
        first++;
    }
    if (first == sender->tick_count) {
        return common;
    }
    u64 newest = sender->ticks[first], age = now - newest;
    common.ticks[0] = newest;
    for (u32 i = first; i < sender->tick_count && now - sender->ticks[i] <= age + age / 4; i++) {
        if (age_is_shared(now - sender->ticks[i])) {
            common.ticks[0] = sender->ticks[i];
            break;
        }
    }
    /* Of states sent in each snapshot, so many lie between now and what the receiver forgets. */
    u64 interval = sender->tick_count > first + 1 ? newest - sender->ticks[first + 1] : 1;
    u64 reach = (REACH - 4) * u64_max(interval, 1);
    age = now - common.ticks[0];
    u64 apart = age >= reach ? 0 : u64_min(age, (reach - age) / 2);
    /* Places are rounded: over two ticks a velocity is known twice as well as over one. */
    u64 step = age < 3 ? 1 : 2;
    for (u32 s = 1; s < SPAN_STATES && apart > 0 && common.ticks[0] > s * apart; s++) {
        u64 before = close ? (s == 1 ? step : (s - 1) * apart) : s * apart;
        u64 tick = tick_near(sender, common.ticks[0] - before, common.ticks[s - 1]);
        if (tick == 0 || !chunk_cache_has(cache, tick)) {
            break;
        }
        common.ticks[s] = tick;
    }
    return common;
}

/* Bodies fly and turn: their bend counts. Points are pushed about all the time: of them the newest
 * velocity tells most. */
void choice_common(const SnapshotSender *sender, const ChunkCache *cache,
                   SpanBase common[FIELD_KIND_COUNT])
{
    SpanBase far = common_ticks(sender, cache, false), close = common_ticks(sender, cache, true);
    for (u32 kind = 0; kind < FIELD_KIND_COUNT; kind++) {
        common[kind] = field_ops(kind)->jitters ? close : far;
    }
}

/* The newest acknowledged tick at or before `tick` (low bits) at which the client has the chunk;
 * false: none. */
static bool tick_held(const SenderChunk *chunk, u64 tick, u64 *held, Detail *detail)
{
    u32 oldest = chunk->sends >= REACH ? chunk->sends - REACH + 1 : 1;
    for (u32 number = chunk->acked_number; number >= oldest && number > 0; number--) {
        u32 slot = number % CHUNK_STATES_KEPT;
        i32 behind = (i32)((u32)tick - chunk->ticks[slot]);
        if ((chunk->acks >> slot & 1) != 0 && behind >= 0) {
            *held = tick - (u32)behind;
            *detail = chunk->details[slot];
            return true;
        }
    }
    return false;
}

static bool tick_usable(const SenderChunk *chunk, const ChunkCache *cache, u32 field, u32 index,
                        u64 tick, Detail *detail)
{
    u64 held;
    return tick_held(chunk, tick, &held, detail) &&
           chunk_cache_constant(cache, field, index, held, tick);
}

/* What one chunk is coded out of. */
SpanBase choice_base(const SenderChunk *chunk, const ChunkCache *cache, u32 field, u32 index,
                     const SpanBase *common, Detail detail)
{
    SpanBase class = {.detail = detail};
    u32 count = 0;
    Detail has = DETAIL_FULL;
    u64 now = chunk_cache_frame(cache)->tick, held;
    if (chunk->acked == 0) {
        return class;
    }
    if (common->ticks[0] == 0 || !tick_usable(chunk, cache, field, index, common->ticks[0], &has)) {
        if (!tick_held(chunk, now - 1, &held, &has) || !chunk_cache_has(cache, held) || held == 0) {
            return class;
        }
        class.states[count] = has;
        class.ticks[count++] = held;
    }
    for (u32 s = 0; s < SPAN_STATES && common->ticks[s] != 0 && count < SPAN_STATES; s++) {
        bool older = count == 0 || common->ticks[s] < class.ticks[count - 1];
        if (older && tick_usable(chunk, cache, field, index, common->ticks[s], &has)) {
            class.states[count] = has;
            class.ticks[count++] = common->ticks[s];
        }
    }
    return class;
}
