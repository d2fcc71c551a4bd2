/*
 * timeline.c: what to show now.
 *
 * Clock. Packets that brought a new newest tick are kept for some seconds as (local time, tick).
 * The one with the least delay fixes the line tick = line + rate · time; the others lie below it by
 * their lateness (the minimum filter of NTP).
 * Delay. Just before each of those packets arrived, the newest known tick was some time old: one
 * snapshot interval on a perfect network, more with jitter and with loss. A high quantile of that
 * age is the playout delay, so that a later state is nearly always there to interpolate to.
 * Motion of the shown tick. It follows line − delay by running a few percent faster or slower.
 * State. Per chunk the two states around the shown tick; positions by monotone cubic Hermite
 * (Fritsch and Carlson 1980: tangents limited so that a component never leaves the interval between
 * its two states, hence a box that lands never sinks into the ground), orientations by slerp.
 */
#include "client/link/timeline.h"

#include "shared/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARRIVALS_MAX = 128
};

#define WINDOW_S          3.0  /* of arrivals that fix clock and delay */
#define QUANTILE          0.96 /* of the ages that the delay covers */
#define DELAY_MAX_S       1.0
#define STRETCH_MAX       0.05 /* of normal play */
#define JUMP_S            0.5  /* farther behind than this the shown tick jumps ahead */
#define EXTRAPOLATION_S   0.25
#define REST_GAP_S        0.25 /* states farther apart: the chunk rested in between */
#define DELAY_RISE_TAU_S  0.3
#define DELAY_FALL_TAU_S  4.0
#define TURN_MAX_RADIANS  1.2f /* between two states; faster spins are not extrapolated */
#define RATE_TOLERANCE    0.04 /* measured rates nearer to the announced speed are noise */
#define RATE_WINDOW_MIN_S 0.8

typedef struct Arrival {
    f64 time_s; /* local, since the first */
    f64 tick;
} Arrival;

struct Timeline {
    const SnapshotReceiver *receiver; /* borrowed */
    const FieldSet *fields;           /* borrowed from the receiver */
    f64 tick_rate;
    f64 interval_s; /* between snapshots, as announced */

    bool begun; /* something arrived */
    u64 base_ns;
    Arrival arrivals[ARRIVALS_MAX]; /* ring, oldest at `first` */
    u32 first, count;
    u64 newest;       /* tick */
    f64 speed;        /* as announced by the newest packet */
    f64 speed_moving; /* the last that was not 0 */
    f64 rate;         /* ticks a local second */
    f64 line;         /* tick at local time 0 on the line of least delay */
    f64 delay_wanted_s, delay_s;
    f64 jitter_s;

    bool showing;
    bool settling; /* after a change of speed: bring the shown tick to its place quickly */
    f64 shown;     /* tick */
    f64 advanced_s;
    u64 advances, starved;
};

Timeline *timeline_create(const SnapshotReceiver *receiver, u32 tick_rate, u32 snapshot_rate)
{
    Timeline *timeline = calloc(1, sizeof *timeline);
    if (timeline == NULL) {
        return NULL;
    }
    timeline->receiver = receiver;
    timeline->fields = snapshot_receiver_fields(receiver);
    timeline->tick_rate = tick_rate > 0 ? (f64)tick_rate : 60.0;
    timeline->interval_s = 1.0 / (snapshot_rate > 0 ? (f64)snapshot_rate : 30.0);
    timeline->delay_wanted_s = timeline->delay_s = 1.5 * timeline->interval_s;
    return timeline;
}

void timeline_destroy(Timeline *timeline)
{
    free(timeline);
}

void timeline_reset(Timeline *timeline)
{
    timeline->begun = false;
    timeline->showing = false;
    timeline->count = 0;
    timeline->newest = 0;
}

/* ---- clock ---- */

static Arrival *arrival_at(Timeline *timeline, u32 i)
{
    return &timeline->arrivals[(timeline->first + i) % ARRIVALS_MAX];
}

static void arrival_push(Timeline *timeline, f64 time_s, f64 tick)
{
    while (timeline->count > 0 && (timeline->count == ARRIVALS_MAX ||
                                   arrival_at(timeline, 0)->time_s < time_s - WINDOW_S)) {
        timeline->first = (timeline->first + 1) % ARRIVALS_MAX;
        timeline->count--;
    }
    *arrival_at(timeline, timeline->count) = (Arrival){time_s, tick};
    timeline->count++;
}

/* The rate that the server really keeps: the announced one unless the arrivals clearly say
 * otherwise (a server that cannot keep up, or one that does not wait for the clock). */
static f64 rate_measure(Timeline *timeline)
{
    f64 nominal = timeline->tick_rate * timeline->speed;
    u32 n = timeline->count;
    if (n < 8) {
        return nominal;
    }
    f64 span_s = arrival_at(timeline, n - 1)->time_s - arrival_at(timeline, 0)->time_s;
    if (span_s < RATE_WINDOW_MIN_S) {
        return nominal;
    }
    f64 mean_time = 0, mean_tick = 0;
    for (u32 i = 0; i < n; i++) {
        mean_time += arrival_at(timeline, i)->time_s / n;
        mean_tick += arrival_at(timeline, i)->tick / n;
    }
    f64 tt = 0, tk = 0;
    for (u32 i = 0; i < n; i++) {
        f64 dt = arrival_at(timeline, i)->time_s - mean_time;
        tt += dt * dt;
        tk += dt * (arrival_at(timeline, i)->tick - mean_tick);
    }
    f64 measured = tt > 0 ? tk / tt : nominal;
    bool differs = fabs(measured - nominal) > RATE_TOLERANCE * nominal;
    return differs && measured > 0.01 * nominal ? measured : nominal;
}

static int f64_compare(const void *a, const void *b)
{
    f64 x = *(const f64 *)a, y = *(const f64 *)b;
    return (x > y) - (x < y);
}

static f64 quantile(f64 *values, u32 count, f64 q)
{
    qsort(values, count, sizeof *values, f64_compare);
    u32 i = (u32)(q * (f64)count);
    return values[i < count ? i : count - 1];
}

static void clock_fit(Timeline *timeline)
{
    timeline->rate = rate_measure(timeline);
    f64 rate = timeline->rate;
    timeline->line = -HUGE_VAL;
    for (u32 i = 0; i < timeline->count; i++) {
        const Arrival *arrival = arrival_at(timeline, i);
        timeline->line = fmax(timeline->line, arrival->tick - rate * arrival->time_s);
    }
    if (timeline->speed <= 0 || timeline->count < 2) {
        return;
    }
    f64 ages[ARRIVALS_MAX] = {0}, lateness[ARRIVALS_MAX] = {0};
    for (u32 i = 0; i < timeline->count; i++) {
        const Arrival *arrival = arrival_at(timeline, i);
        f64 due = (arrival->tick - timeline->line) / rate;
        lateness[i] = arrival->time_s - due;
        if (i + 1 < timeline->count) {
            ages[i] = arrival_at(timeline, i + 1)->time_s - due;
        }
    }
    timeline->jitter_s = quantile(lateness, timeline->count, QUANTILE);
    f64 age_s = fmax(quantile(ages, timeline->count - 1, QUANTILE), timeline->interval_s);
    /* A little more, so that a client's own frame times do not starve a perfect network. */
    timeline->delay_wanted_s = fmin(age_s + 0.15 * timeline->interval_s, DELAY_MAX_S);
}

void timeline_arrival(Timeline *timeline, u64 tick, f64 speed, u64 now_ns)
{
    if (!timeline->begun) {
        timeline->begun = true;
        timeline->base_ns = now_ns;
        timeline->first = timeline->count = 0;
        timeline->speed = timeline->speed_moving = speed;
        timeline->settling = false;
    } else if (tick < timeline->newest || (tick == timeline->newest && speed == timeline->speed)) {
        return; /* came late: it fills a gap but says nothing new of the clock */
    }
    f64 time_s = (f64)(now_ns - timeline->base_ns) * 1e-9;
    /* A recording that was sought forwards, or a speed that changed: the old arrivals lie on
     * another line. */
    f64 ahead = (f64)tick - (timeline->line + timeline->rate * time_s);
    bool sought = timeline->count > 0 && ahead > 1.5 * timeline->tick_rate * fmax(1.0, speed) &&
                  tick > timeline->newest + (u64)timeline->tick_rate;
    if (sought || speed != timeline->speed) {
        timeline->count = 0;
        timeline->settling = true;
    }
    timeline->speed = speed;
    if (speed > 0) {
        timeline->speed_moving = speed;
    }
    timeline->newest = tick;
    arrival_push(timeline, time_s, (f64)tick);
    clock_fit(timeline);
}

/* Paused: on to the newest tick at the pace of before, and rest there. */
static void advance_paused(Timeline *timeline, f64 dt)
{
    f64 target = (f64)timeline->newest;
    f64 missing = target - timeline->shown;
    if (missing > timeline->tick_rate) {
        timeline->shown = target;
    } else if (missing > 0) {
        f64 pace = timeline->tick_rate * fmin(fmax(timeline->speed_moving, 0.25), 4.0);
        timeline->shown = fmin(target, timeline->shown + pace * dt);
    }
}

static void advance_running(Timeline *timeline, f64 now_s, f64 dt)
{
    f64 rate = timeline->rate;
    f64 target = timeline->line + rate * (now_s - timeline->delay_s);
    f64 behind_s = (target - timeline->shown) / rate - dt;
    if (behind_s > JUMP_S) {
        timeline->shown = target;
        timeline->settling = false;
        return;
    }
    if (behind_s < -JUMP_S) {
        timeline->settling = true;
    } else if (fabs(behind_s) < 0.01) {
        timeline->settling = false;
    }
    f64 stretch = timeline->settling ? fmin(fmax(behind_s / 0.1, -1.0), 1.0)
                                     : fmin(fmax(behind_s / 0.5, -STRETCH_MAX), STRETCH_MAX);
    f64 next = timeline->shown + rate * (1.0 + stretch) * dt;
    /* Nothing is extrapolated farther than this; waiting there is the hold. */
    f64 end = (f64)timeline->newest + rate * EXTRAPOLATION_S;
    timeline->shown = fmax(timeline->shown, fmin(next, end));
}

void timeline_advance(Timeline *timeline, u64 now_ns)
{
    if (!timeline->begun || now_ns < timeline->base_ns) {
        return;
    }
    f64 now_s = (f64)(now_ns - timeline->base_ns) * 1e-9;
    if (!timeline->showing) {
        timeline->showing = true;
        timeline->delay_s = timeline->delay_wanted_s;
        timeline->shown =
            timeline->speed > 0
                ? fmax(0.0, timeline->line + timeline->rate * (now_s - timeline->delay_s))
                : (f64)timeline->newest;
        timeline->advanced_s = now_s;
    }
    f64 dt = fmax(0.0, now_s - timeline->advanced_s);
    timeline->advanced_s = now_s;
    f64 change = timeline->delay_wanted_s - timeline->delay_s;
    f64 tau = change > 0 ? DELAY_RISE_TAU_S : DELAY_FALL_TAU_S;
    timeline->delay_s += change * fmin(1.0, dt / tau);
    timeline->advances++;
    if (timeline->speed > 0) {
        advance_running(timeline, now_s, dt);
        timeline->starved += timeline->shown > (f64)timeline->newest;
    } else {
        advance_paused(timeline, dt);
    }
}

f64 timeline_tick(const Timeline *timeline)
{
    return timeline->shown;
}

f64 timeline_delay_s(const Timeline *timeline)
{
    return timeline->delay_s;
}

f64 timeline_starved(const Timeline *timeline)
{
    return timeline->advances > 0 ? (f64)timeline->starved / (f64)timeline->advances : 0.0;
}

f64 timeline_jitter_s(const Timeline *timeline)
{
    return timeline->jitter_s;
}

/* ---- the states around the shown tick ---- */

/* Shown is `from` at u = 0 and `to` at u = 1; u > 1 extrapolates. before and after give the
 * tangents. Slopes are per tick: a gap of 0 means that there is no such state, so the tangent is
 * the chord's; a rest on that side makes it zero. */
typedef struct Bracket {
    const u8 *from, *to, *before, *after;
    f32 u;
    f32 gap, gap_before, gap_after; /* ticks */
    bool rest_before, rest_after;
} Bracket;

static bool chunk_rested(const Timeline *timeline, const ChunkState *older, const ChunkState *newer)
{
    f64 gap = (f64)(newer->tick - older->tick);
    return newer->still > 0 || gap > REST_GAP_S * timeline->tick_rate;
}

/* Tick at which the chunk left `older`'s state on its way to `newer`'s. */
static f64 chunk_departure(const Timeline *timeline, const ChunkState *older,
                           const ChunkState *newer)
{
    f64 from = (f64)older->tick;
    if (newer->still > 0) {
        return fmax(from, (f64)newer->tick - 1.0);
    }
    if (chunk_rested(timeline, older, newer)) {
        f64 interval = fmax(1.0, timeline->interval_s * timeline->tick_rate);
        return fmax(from, (f64)newer->tick - interval);
    }
    return from;
}

static void bracket_extrapolate(const Timeline *timeline, const ChunkState *states, u32 count,
                                f64 tick, Bracket *bracket)
{
    /* A chunk that newer snapshots did not mention did not change: only one that was in the newest
     * snapshot is known to move on. */
    bool moving = timeline->speed > 0 && count > 1 && states[0].tick >= timeline->newest &&
                  tick > (f64)states[0].tick;
    if (!moving) {
        return;
    }
    f64 departure = chunk_departure(timeline, &states[1], &states[0]);
    f64 gap = (f64)states[0].tick - departure;
    f64 ahead = fmin(tick - (f64)states[0].tick, EXTRAPOLATION_S * timeline->rate);
    bracket->from = states[1].state;
    bracket->to = states[0].state;
    bracket->gap = (f32)gap;
    bracket->u = (f32)(1.0 + ahead / gap);
}

/* False if the chunk never arrived. */
static bool bracket_find(const Timeline *timeline, u32 field, u32 chunk, Bracket *bracket)
{
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(timeline->receiver, field, chunk, states);
    memset(bracket, 0, sizeof *bracket);
    if (count == 0) {
        return false;
    }
    f64 tick = timeline->shown;
    if (timeline->speed <= 0) {
        tick = fmin(tick, (f64)timeline->newest);
    }
    u32 i = 0; /* the newest state that is not after the shown tick */
    while (i < count && (f64)states[i].tick > tick) {
        i++;
    }
    const ChunkState *from = &states[i < count ? i : count - 1];
    bracket->from = bracket->to = from->state;
    if (i == count) {
        return true;
    }
    if (i == 0) {
        bracket_extrapolate(timeline, states, count, tick, bracket);
        return true;
    }
    const ChunkState *to = &states[i - 1];
    f64 departure = chunk_departure(timeline, from, to);
    if (tick <= departure) {
        return true;
    }
    bracket->to = to->state;
    bracket->gap = (f32)((f64)to->tick - departure);
    bracket->u = (f32)((tick - departure) / ((f64)to->tick - departure));
    bracket->rest_before = chunk_rested(timeline, from, to);
    if (!bracket->rest_before && i + 1 < count) {
        const ChunkState *before = &states[i + 1];
        bracket->before = before->state;
        bracket->gap_before = (f32)((f64)from->tick - chunk_departure(timeline, before, from));
    }
    if (i >= 2) {
        const ChunkState *after = &states[i - 2];
        bracket->rest_after = chunk_rested(timeline, to, after);
        bracket->after = after->state;
        bracket->gap_after = (f32)(after->tick - to->tick);
    }
    return true;
}

/* Tangent between two chords a and b of gaps ga and gb, limited so that the cubic stays monotone.
 */
static f32 tangent(f32 a, f32 ga, f32 b, f32 gb)
{
    if (a * b <= 0.0f) {
        return 0.0f;
    }
    f32 mean = (a * gb + b * ga) / (ga + gb);
    f32 limit = 3.0f * f32_min(fabsf(a), fabsf(b));
    return f32_clamp(mean, -limit, limit);
}

static Vec3 chord(Vec3 from, Vec3 to, f32 gap)
{
    return vec3_scale(vec3_sub(to, from), 1.0f / gap);
}

static Vec3 tangents(Vec3 a, f32 ga, Vec3 b, f32 gb)
{
    return vec3(tangent(a.x, ga, b.x, gb), tangent(a.y, ga, b.y, gb), tangent(a.z, ga, b.z, gb));
}

/* before and after are NULL where the element has no state there that continues this one. */
static Vec3 position_between(const Bracket *bracket, Vec3 from, Vec3 to, const Vec3 *before,
                             const Vec3 *after)
{
    Vec3 span = vec3_sub(to, from);
    f32 u = bracket->u;
    if (u > 1.0f) {
        return vec3_add_scaled(to, u - 1.0f, span);
    }
    Vec3 slope = vec3_scale(span, 1.0f / bracket->gap);
    Vec3 v0 = slope, v1 = slope;
    if (bracket->rest_before) {
        v0 = vec3_zero();
    } else if (before != NULL) {
        v0 = tangents(chord(*before, from, bracket->gap_before), bracket->gap_before, slope,
                      bracket->gap);
    }
    if (bracket->rest_after) {
        v1 = vec3_zero();
    } else if (after != NULL) {
        v1 = tangents(slope, bracket->gap, chord(to, *after, bracket->gap_after),
                      bracket->gap_after);
    }
    f32 w = 1.0f - u;
    Vec3 p = vec3_add_scaled(from, u * u * (3.0f - 2.0f * u), span);
    p = vec3_add_scaled(p, u * w * w * bracket->gap, v0);
    return vec3_add_scaled(p, -u * u * w * bracket->gap, v1);
}

/* Spherical interpolation along the shorter arc; u > 1 goes on with the same turn. */
static Quat quat_between(Quat a, Quat b, f32 u)
{
    f32 cosine = quat_dot(a, b);
    if (cosine < 0.0f) {
        b = (Quat){-b.w, -b.x, -b.y, -b.z};
        cosine = -cosine;
    }
    if (cosine > 0.9995f && u <= 1.0f) {
        return quat_nlerp(a, b, u);
    }
    f32 half_turn = acosf(f32_min(cosine, 1.0f));
    f32 sine = sinf(half_turn);
    if (sine < 1e-4f || (u > 1.0f && 2.0f * half_turn > TURN_MAX_RADIANS)) {
        return u > 1.0f ? b : quat_nlerp(a, b, u);
    }
    f32 s = sinf((1.0f - u) * half_turn) / sine, t = sinf(u * half_turn) / sine;
    return quat_normalize(
        (Quat){a.w * s + b.w * t, a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t});
}

static QPose qpose_at(const u8 *state, u32 i)
{
    QPose pose;
    memcpy(&pose, state + (size_t)i * sizeof pose, sizeof pose);
    return pose;
}

static QPoint qpoint_at(const u8 *state, u32 i)
{
    QPoint point;
    memcpy(&point, state + (size_t)i * sizeof point, sizeof point);
    return point;
}

static bool pose_continues(const QPose *a, const QPose *b)
{
    return a->generation == b->generation && (a->flags & POSE_LIVE) != 0 &&
           (b->flags & POSE_LIVE) != 0;
}

static ShownPose pose_exact(const FieldDesc *field, const QPose *pose)
{
    ShownPose shown = {dequantize_position(field, pose->position),
                       dequantize_rotation(pose->rotation), pose->flags, pose->generation};
    return shown;
}

static ShownPose pose_between(const FieldDesc *field, const Bracket *bracket, u32 i)
{
    QPose from = qpose_at(bracket->from, i), to = qpose_at(bracket->to, i);
    bool ended = bracket->u >= 1.0f;
    if (bracket->u <= 0.0f || !pose_continues(&from, &to) ||
        (bracket->u > 1.0f && !(to.flags & POSE_AWAKE))) {
        return pose_exact(field, ended ? &to : &from);
    }
    ShownPose a = pose_exact(field, &from), b = pose_exact(field, &to);
    Vec3 before, after;
    const Vec3 *has_before = NULL, *has_after = NULL;
    if (bracket->before != NULL) {
        QPose pose = qpose_at(bracket->before, i);
        before = dequantize_position(field, pose.position);
        has_before = pose_continues(&pose, &from) ? &before : NULL;
    }
    if (bracket->after != NULL) {
        QPose pose = qpose_at(bracket->after, i);
        after = dequantize_position(field, pose.position);
        has_after = pose_continues(&pose, &to) ? &after : NULL;
    }
    ShownPose shown = ended ? b : a;
    shown.position = position_between(bracket, a.position, b.position, has_before, has_after);
    shown.orientation = from.rotation == to.rotation
                            ? a.orientation
                            : quat_between(a.orientation, b.orientation, bracket->u);
    return shown;
}

static ShownPoint point_exact(const FieldDesc *field, const QPoint *point)
{
    ShownPoint shown = {dequantize_position(field, point->position),
                        (f32)point->scalar * (1.0f / 65535.0f), point->generation};
    return shown;
}

static ShownPoint point_between(const FieldDesc *field, const Bracket *bracket, u32 i)
{
    QPoint from = qpoint_at(bracket->from, i), to = qpoint_at(bracket->to, i);
    bool ended = bracket->u >= 1.0f;
    if (bracket->u <= 0.0f || from.generation != to.generation || from.generation == 0) {
        return point_exact(field, ended ? &to : &from);
    }
    ShownPoint a = point_exact(field, &from), b = point_exact(field, &to);
    Vec3 before, after;
    const Vec3 *has_before = NULL, *has_after = NULL;
    if (bracket->before != NULL) {
        QPoint point = qpoint_at(bracket->before, i);
        before = dequantize_position(field, point.position);
        has_before = point.generation == from.generation ? &before : NULL;
    }
    if (bracket->after != NULL) {
        QPoint point = qpoint_at(bracket->after, i);
        after = dequantize_position(field, point.position);
        has_after = point.generation == to.generation ? &after : NULL;
    }
    ShownPoint shown = a;
    shown.position = position_between(bracket, a.position, b.position, has_before, has_after);
    shown.scalar = a.scalar + (b.scalar - a.scalar) * f32_min(bracket->u, 1.0f);
    return shown;
}

/* ---- whole fields ---- */

void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POSES);
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        ShownPose *out = poses + (size_t)chunk * CHUNK_POSES;
        u32 elements = chunk_elements(desc, chunk);
        Bracket bracket;
        if (!bracket_find(timeline, field, chunk, &bracket)) {
            memset(out, 0, elements * sizeof *out);
            continue;
        }
        for (u32 i = 0; i < elements; i++) {
            out[i] = pose_between(desc, &bracket, i);
        }
    }
}

void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_POINTS);
    CHECK(first <= desc->capacity && count <= desc->capacity - first);
    u32 done = 0;
    while (done < count) {
        u32 chunk = (first + done) / CHUNK_POINTS;
        u32 begin = (first + done) % CHUNK_POINTS;
        u32 n = u32_min(count - done, CHUNK_POINTS - begin);
        Bracket bracket;
        if (bracket_find(timeline, field, chunk, &bracket)) {
            for (u32 i = 0; i < n; i++) {
                points[done + i] = point_between(desc, &bracket, begin + i);
            }
        } else {
            memset(points + done, 0, n * sizeof *points);
        }
        done += n;
    }
}

void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points)
{
    timeline_point_range(timeline, field, 0, timeline->fields->fields[field].capacity, points);
}

void timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    CHECK(field < timeline->fields->count && desc->kind == FIELD_SCALARS);
    u32 chunks = chunk_count(desc);
    for (u32 chunk = 0; chunk < chunks; chunk++) {
        f32 *out = scalars + (size_t)chunk * CHUNK_SCALARS;
        u32 elements = chunk_elements(desc, chunk);
        Bracket bracket;
        if (bracket_find(timeline, field, chunk, &bracket)) {
            const u8 *state = bracket.u >= 1.0f ? bracket.to : bracket.from;
            memcpy(out, state, elements * sizeof *out);
        } else {
            memset(out, 0, elements * sizeof *out);
        }
    }
}

bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    Bracket bracket;
    if (field >= timeline->fields->count || desc->kind != FIELD_POSES ||
        element >= desc->capacity ||
        !bracket_find(timeline, field, element / CHUNK_POSES, &bracket)) {
        return false;
    }
    *pose = pose_between(desc, &bracket, element % CHUNK_POSES);
    return true;
}

bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    const FieldDesc *desc = &timeline->fields->fields[field];
    Bracket bracket;
    if (field >= timeline->fields->count || desc->kind != FIELD_POINTS ||
        element >= desc->capacity ||
        !bracket_find(timeline, field, element / CHUNK_POINTS, &bracket)) {
        return false;
    }
    *point = point_between(desc, &bracket, element % CHUNK_POINTS);
    return true;
}
