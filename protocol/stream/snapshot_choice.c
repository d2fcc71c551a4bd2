/*
 * snapshot_choice.c: see snapshot_choice.h. The priority of a pending chunk grows until it is sent;
 * if the link is too narrow, precision drops before the update rate.
 */
#include "protocol/stream/snapshot_choice.h"

#include "protocol/field/field_ops.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    /* Added to the round trip before an unacknowledged state is resent. */
    RESEND_MARGIN_MS = 40,
    /* Added to the round trip when waiting for an acknowledgement. */
    ACK_MARGIN_MS = 40,
    /* Maximal states of a chunk in flight while acknowledgements arrive: the baseline of a
     * further one would be too old, and it would have to be a key. */
    STATES_UNDER_WAY = CHUNK_STATES_KEPT - 4,
    KEY_TRIES = 4,
    COARSENESS_MAX = SNAPSHOT_COARSENESS_MAX,
    COARSER_MS = 200,
    FINER_MS = 400,
    SILENCE_MS = 1000, /* plus two round trips: silence is no sign of overload */
};
/* The priority of a pending chunk grows by its error in pixels, limited, and by a constant for
 * each snapshot that it has waited, so that the smallest error eventually overtakes the largest. */
#define PIXELS_MAX         64.0f
#define PIXELS_FLOOR       0.25f
/* Error of a chunk that the client does not show at all. */
#define PIXELS_UNKNOWN     1000.0f
/* In one round all candidates are sent once. Chunks that waited for this many rounds, and lost
 * ones, go before everything else: nothing starves, however much moves faster or nearer. */
#define DUE_ROUNDS         2.0f
#define ROUND_RATE         0.1f
#define ROUND_MAX          100.0f
/* Above this number of snapshots per round detail is reduced; below, increased. */
#define ROUND_COARSER      2.0f
#define ROUND_FAR          8.0f
#define ROUND_FINER        1.2f
/* Resting chunks that were sent coarsely are refined with leftover budget. */
#define REFINE_SHARE       0.02f
/* Error assigned to a decimated point. */
#define DECIMATION_ERROR_M 0.05f
#define PRIORITY_MAX       1e30f
/* For chunks without a position, and clients without a camera: as seen from 10 m. */
#define PIXELS_PER_M       100.0f
#define NEAREST_M          0.5f
#define BEHIND_FACTOR      0.1f

/* ---- priorities ---- */

/* Pixels on the client's screen per metre at the chunk. */
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
    memcpy(&bits, &priority, sizeof bits); /* positive floats sort like their bit patterns */
    sender->heap[sender->heap_count++] = (u64)bits << 32 | flat;
}

/* On a long path a chunk goes in fewer snapshots, so that its states in flight stay within those
 * that the receiver keeps; if acknowledgements stop, a key becomes due eventually. */
static bool must_wait(const SenderChunk *chunk, u64 now_ms, u32 rtt_ms)
{
    u32 under_way = chunk->sends - chunk->acked_number;
    VALIDATE(chunk->acked_number <= chunk->sends);
    u64 since_ms = now_ms - chunk->sent_ms;
    if (chunk->acked == 0 || chunk->resend || under_way < STATES_UNDER_WAY / 2) {
        return false;
    }
    return under_way >= STATES_UNDER_WAY
               ? since_ms < (u64)rtt_ms + rtt_ms / 4 + RESEND_MARGIN_MS
               : since_ms * STATES_UNDER_WAY < (u64)rtt_ms + ACK_MARGIN_MS;
}

/* A key was sent and may still arrive: another one would cost as much again. If bytes are scarce
 * the sender waits for it; otherwise it sends something to show meanwhile. The wait gets shorter
 * after each failed key: on a very lossy path the last chunk would otherwise keep the picture
 * from being complete. */
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

/* Allowed error in pixels of each level; of liquids and clouds only each 2^n-th point is sent. */
static const f32 coarse_pixels[COARSENESS_MAX + 1] = {0.0f, 0.1f, 0.2f, 0.4f, 0.8f, 1.5f};
static const u32 coarse_decimation[COARSENESS_MAX + 1] = {0, 0, 0, 1, 1, 2};

/* Target detail of a moving chunk. */
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

/* At one tick a chunk only ever gets finer: the client keeps its finest state. */
Detail choice_detail(const SnapshotSender *sender, const SnapshotView *view, const Frame *frame,
                     u32 field, const SenderChunk *chunk, const ChunkInfo *info)
{
    Detail detail = chunk_is_known(chunk, info)
                        ? DETAIL_FULL
                        : detail_wanted(sender, view, &frame->fields->fields[field], info);
    Detail sent = chunk->details[chunk->sends % CHUNK_STATES_KEPT];
    return chunk->sent == frame->tick + 1 && sent < detail ? sent : detail;
}

/* A lower update rate is worse than lower precision: if the moving chunks cannot be sent within
 * a snapshot or two, detail is reduced. Changes in both directions are delayed, with hysteresis
 * between the two limits. */
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

/* Error of the client's picture of a chunk in pixels. */
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

/* Finds the chunks worth sending now and increases their priorities. */
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

/* ---- baselines ---- */

/* Ages of baselines, in ticks, that clients with similar round trips share; beyond the last any
 * age. */
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

/* The remembered tick nearest to `wanted` among those older than `below`; 0: none. */
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

/* The newest acknowledged tick, and two more, equally spaced by its own age, or as far back as
 * the client still has them; `close`: one just before it and one equally far before that. */
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
    /* Of states sent in each snapshot, this many lie between now and the receiver's limit. */
    u64 interval = sender->tick_count > first + 1 ? newest - sender->ticks[first + 1] : 1;
    u64 reach = (REACH - 4) * u64_max(interval, 1);
    age = now - common.ticks[0];
    u64 apart = age >= reach ? 0 : u64_min(age, (reach - age) / 2);
    /* Rounded to even ages: a velocity over two ticks is twice as accurate as over one. */
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

/* For bodies in flight and rotation the acceleration matters. Points are pushed irregularly:
 * their newest velocity predicts best. */
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

/* Baselines of one chunk. */
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
