/* curve.c: selects states and computes the cubic through them. */
#include "client/link/curve.h"

#include <math.h>
#include <string.h>

#define FAR_S                0.08f   /* minimal time over which an acceleration is measured */
#define ROTATION_QUANTUM     0.0028f /* radians, of a ten-bit code */
#define ROTATION_MAX_RADIANS 1.2f    /* between two states; faster rotation is not extrapolated */

bool curve_has_motion(u32 kind)
{
    return kind == FIELD_POSES || kind == FIELD_POINTS;
}

/* ---- which states ---- */

static bool chunk_rested(const CurveStream *stream, const ChunkState *older,
                         const ChunkState *newer)
{
    if (newer->left >= older->tick) {
        return newer->left > older->tick;
    }
    bool outage = older->tick <= stream->outage_from && newer->tick >= stream->outage_to;
    return !outage && (f64)(newer->tick - older->tick) > stream->rest_gap;
}

/* Tick at which the chunk left the state `older` on its way to `newer`. */
static f64 chunk_departure(const CurveStream *stream, const ChunkState *older,
                           const ChunkState *newer)
{
    f64 from = (f64)older->tick;
    if (newer->left > older->tick) {
        return (f64)newer->left;
    }
    if (chunk_rested(stream, older, newer)) {
        return fmax(from, (f64)newer->tick - fmax(1.0, stream->interval));
    }
    return from;
}

static void curve_hold(Curve *curve, const ChunkState *state)
{
    curve->mode = CURVE_HOLD;
    curve->from = curve->to = state->state;
    curve->from_tick = curve->to_tick = state->tick;
    curve->departure = (f64)state->tick;
}

/* Sets from = states[i] and the states before it. */
static void curve_past(const ChunkState *states, u32 count, const CurveStream *stream, u32 i,
                       Curve *curve)
{
    if (curve->rest_before || i + 1 >= count) {
        return;
    }
    const ChunkState *from = &states[i], *before = &states[i + 1];
    curve->before = before->state;
    curve->before_tick = before->tick;
    curve->gap_before = (f32)((f64)from->tick - chunk_departure(stream, before, from));
    const ChunkState *far = before;
    for (u32 k = i + 1; k < count; k++) {
        if (chunk_rested(stream, &states[k], &states[k - 1])) {
            return;
        }
        far = &states[k];
        if ((f64)(from->tick - far->tick) >= (f64)FAR_S * stream->tick_rate) {
            break;
        }
    }
    curve->far = far->state;
    curve->far_tick = far->tick;
    curve->gap_far = (f32)(from->tick - far->tick);
}

/* The chunk's newest state is states[0], and the tick is not earlier. */
static void curve_find_extrapolated(const ChunkState *states, u32 count, const CurveStream *stream,
                                    f64 tick, Curve *curve)
{
    const ChunkState *newest = &states[0];
    curve_hold(curve, newest);
    bool silent = newest->tick >= stream->silent_from && newest->tick < stream->silent_to;
    bool late = (f64)stream->newest - (f64)newest->tick > stream->ahead_max;
    if (!stream->running || count < 2 || silent || late || tick <= (f64)newest->tick) {
        return;
    }
    curve->mode = CURVE_EXTRAPOLATED;
    curve->from = states[1].state;
    curve->from_tick = states[1].tick;
    curve->departure = chunk_departure(stream, &states[1], newest);
    curve->gap = (f32)((f64)newest->tick - curve->departure);
    curve->rest_before = chunk_rested(stream, &states[1], newest);
    curve_past(states, count, stream, 1, curve);
}

static void curve_choose(const ChunkState *states, u32 count, const CurveStream *stream, f64 tick,
                         Curve *curve)
{
    memset(curve, 0, sizeof *curve);
    if (count == 0) {
        return;
    }
    if (!stream->running) {
        tick = fmin(tick, (f64)stream->newest);
    }
    u32 i = 0; /* the newest state not after the tick */
    while (i < count && (f64)states[i].tick > tick) {
        i++;
    }
    if (i == 0) {
        curve_find_extrapolated(states, count, stream, tick, curve);
        return;
    }
    curve_hold(curve, &states[i < count ? i : count - 1]);
    if (i == count) {
        return;
    }
    const ChunkState *from = &states[i], *to = &states[i - 1];
    f64 departure = chunk_departure(stream, from, to);
    if (tick <= departure && departure > (f64)from->tick) {
        return;
    }
    curve->mode = CURVE_BETWEEN;
    curve->to = to->state;
    curve->to_tick = to->tick;
    curve->departure = departure;
    curve->gap = (f32)((f64)to->tick - departure);
    curve->rest_before = chunk_rested(stream, from, to);
    curve_past(states, count, stream, i, curve);
    if (i >= 2) {
        const ChunkState *after = &states[i - 2];
        curve->rest_after = chunk_rested(stream, to, after);
        curve->after = after->state;
        curve->after_tick = after->tick;
        curve->gap_after = (f32)(after->tick - to->tick);
    } else {
        curve->rest_after = to->tick >= stream->silent_from && to->tick < stream->silent_sure;
    }
}

/* Reduced precision must not be taken for acceleration. */
static void curve_coarse(const ChunkState *states, u32 count, Curve *curve)
{
    for (u32 i = 0; i < count; i++) {
        u32 shift = detail_shift(states[i].detail);
        u64 tick = states[i].tick;
        if (shift > curve->shift &&
            (tick == curve->from_tick || tick == curve->to_tick || tick == curve->before_tick ||
             tick == curve->after_tick || tick == curve->far_tick)) {
            curve->shift = shift;
        }
    }
}

void curve_find(const ChunkState *states, u32 count, const CurveStream *stream, f64 tick,
                Curve *curve)
{
    curve_choose(states, count, stream, tick, curve);
    curve_coarse(states, count, curve);
}

bool curve_same(const Curve *a, const Curve *b)
{
    return a->mode == b->mode && a->from_tick == b->from_tick && a->to_tick == b->to_tick &&
           a->before_tick == b->before_tick && a->after_tick == b->after_tick &&
           a->far_tick == b->far_tick && a->departure == b->departure &&
           a->rest_before == b->rest_before && a->rest_after == b->rest_after;
}

static const u8 *state_of(const ChunkState *states, u32 count, u64 tick)
{
    for (u32 i = 0; i < count; i++) {
        if (states[i].tick == tick) {
            return states[i].state;
        }
    }
    return NULL;
}

bool curve_resolve(Curve *curve, const ChunkState *states, u32 count)
{
    bool good = true;
    const u8 **pointers[] = {&curve->from, &curve->to, &curve->before, &curve->after, &curve->far};
    u64 ticks[] = {curve->from_tick, curve->to_tick, curve->before_tick, curve->after_tick,
                   curve->far_tick};
    for (u32 i = 0; i < PL_COUNT(pointers); i++) {
        if (*pointers[i] != NULL) {
            *pointers[i] = state_of(states, count, ticks[i]);
            good = good && *pointers[i] != NULL;
        }
    }
    return good;
}

/* ---- the cubic of one component ---- */

/* Values common to all components. */
typedef struct Chords {
    f32 gap, gap_before, gap_after, gap_far; /* ticks */
    bool has_before, has_after, has_far, rest_before, rest_after;
    f32 free;    /* acceleration (per tick²) below which motion counts as smooth */
    f32 quantum; /* quantization step of the values */
} Chords;

/* Slopes of one component, per tick. */
typedef struct Slopes {
    f32 here, before, after, far;
} Slopes;

static inline f32 freedom(f32 acceleration, f32 free)
{
    return f32_clamp(2.0f - fabsf(acceleration) / free, 0.0f, 1.0f);
}

/* The tangent between two chords over gaps ga and gb if the motion is smooth there, else `own`:
 * an impact changes the speed at once, so the cubics before and after it are independent. */
static inline f32 tangent(f32 a, f32 ga, f32 b, f32 gb, f32 free, f32 own)
{
    f32 mean = (a * gb + b * ga) / (ga + gb);
    return own + freedom(2.0f * (b - a) / (ga + gb), free) * (mean - own);
}

static inline f32 tangent_begin(const Chords *c, const Slopes *s)
{
    if (c->rest_before) {
        return 0.0f;
    }
    return c->has_before ? tangent(s->before, c->gap_before, s->here, c->gap, c->free, s->here)
                         : s->here;
}

/* Acceleration at `to` from the states before it; 0 where they are inconsistent, or where
 * rounding could explain it. */
static inline f32 acceleration_end(const Chords *c, const Slopes *s)
{
    if (!c->has_before || !c->has_far || c->rest_before) {
        return 0.0f;
    }
    f32 near = 2.0f * (s->here - s->before) / (c->gap + c->gap_before);
    f32 wide = 2.0f * (s->here - s->far) / (c->gap + c->gap_far);
    f32 noise = 2.0f * c->quantum / (c->gap * (c->gap + c->gap_far));
    f32 sure = f32_clamp(fabsf(wide) / noise - 1.0f, 0.0f, 1.0f);
    return wide * sure * f32_min(freedom(near, c->free), freedom(wide, c->free));
}

static inline f32 tangent_end(const Chords *c, const Slopes *s)
{
    f32 own = s->here + 0.5f * c->gap * acceleration_end(c, s);
    if (c->rest_after) {
        return tangent(s->here, c->gap, 0.0f, c->gap, c->free, own);
    }
    return c->has_after ? tangent(s->here, c->gap, s->after, c->gap_after, c->free, own) : own;
}

/* Offset from the value at `from` at u in [0, 1], and the slope there per tick. */
static inline f32 cubic(const Chords *c, const Slopes *s, f32 u, f32 *slope)
{
    f32 v0 = tangent_begin(c, s), v1 = tangent_end(c, s);
    f32 w = 1.0f - u;
    *slope = 6.0f * u * w * s->here + w * (1.0f - 3.0f * u) * v0 + u * (3.0f * u - 2.0f) * v1;
    return c->gap * (u * u * (3.0f - 2.0f * u) * s->here + u * w * w * v0 - u * u * w * v1);
}

/* Offset from the value at `to`, `ahead` ticks later. */
static inline f32 onward(const Chords *c, const Slopes *s, f32 ahead, f32 *slope)
{
    f32 v = tangent_end(c, s), a = acceleration_end(c, s);
    *slope = v + a * ahead;
    return ahead * (v + 0.5f * a * ahead);
}

/* ---- vectors ---- */

typedef struct Path {
    const Curve *curve;
    Chords chords; /* values common to all components */
    Vec3 here, before, after, far;
} Path;

static Path path_begin(const Curve *curve, f32 free, f32 quantum)
{
    quantum *= (f32)(1u << curve->shift);
    Path path;
    memset(&path, 0, sizeof path);
    path.curve = curve;
    path.chords.free = free;
    path.chords.quantum = quantum;
    path.chords.gap = curve->gap;
    path.chords.gap_before = curve->gap_before;
    path.chords.gap_after = curve->gap_after;
    path.chords.gap_far = curve->gap_far;
    path.chords.rest_before = curve->rest_before;
    path.chords.rest_after = curve->rest_after;
    return path;
}

static void path_chord(Vec3 from, Vec3 to, f32 gap, Vec3 *chord, bool *has)
{
    *chord = vec3_scale(vec3_sub(to, from), 1.0f / gap);
    *has = true;
}

static inline f32 path_component(const Path *path, Slopes s, f32 along, f32 *slope)
{
    return path->curve->mode == CURVE_EXTRAPOLATED ? onward(&path->chords, &s, along, slope)
                                                   : cubic(&path->chords, &s, along, slope);
}

/* Offset from `from` (between) or from `to` (ahead) at the tick. */
static Vec3 path_at(const Path *path, f64 tick, Vec3 *slope)
{
    const Vec3 *h = &path->here, *b = &path->before, *a = &path->after, *f = &path->far;
    f32 along = path->curve->mode == CURVE_EXTRAPOLATED
                    ? (f32)(tick - (f64)path->curve->to_tick)
                    : (f32)((tick - path->curve->departure) / (f64)path->chords.gap);
    Vec3 p;
    p.x = path_component(path, (Slopes){h->x, b->x, a->x, f->x}, along, &slope->x);
    p.y = path_component(path, (Slopes){h->y, b->y, a->y, f->y}, along, &slope->y);
    p.z = path_component(path, (Slopes){h->z, b->z, a->z, f->z}, along, &slope->z);
    return p;
}

f32 curve_share(const Curve *curve, f64 tick)
{
    if (curve->mode != CURVE_BETWEEN) {
        return curve->mode == CURVE_EXTRAPOLATED ? 1.0f : 0.0f;
    }
    return f32_clamp((f32)((tick - curve->departure) / (f64)curve->gap), 0.0f, 1.0f);
}

/* The tick, clamped to the range of the curve. */
static f64 curve_clamp(const Curve *curve, const CurveStream *stream, f64 tick)
{
    if (curve->mode == CURVE_EXTRAPOLATED) {
        return fmin(fmax(tick, (f64)curve->to_tick), (f64)curve->to_tick + stream->ahead_max);
    }
    return fmin(fmax(tick, curve->departure), (f64)curve->to_tick);
}

static f32 free_a_tick(const CurveStream *stream, f32 free)
{
    return free / (f32)(stream->tick_rate * stream->tick_rate);
}

/* ---- rotations ---- */

Quat quat_from_vector(Vec3 rotation)
{
    f32 angle = vec3_length(rotation);
    f32 s = angle > 1e-4f ? sinf(0.5f * angle) / angle : 0.5f;
    Quat q = {angle > 1e-4f ? cosf(0.5f * angle) : 1.0f, rotation.x * s, rotation.y * s,
              rotation.z * s};
    return quat_normalize(q);
}

Vec3 quat_to_vector(Quat q)
{
    if (q.w < 0.0f) {
        q = (Quat){-q.w, -q.x, -q.y, -q.z};
    }
    Vec3 v = vec3(q.x, q.y, q.z);
    f32 sine = vec3_length(v);
    return vec3_scale(v, sine > 1e-5f ? 2.0f * atan2f(sine, q.w) / sine : 2.0f);
}

static Vec3 rotation_between(u32 from, u32 to)
{
    if (from == to) {
        return vec3_zero();
    }
    return quat_to_vector(
        quat_mul(dequantize_rotation(to), quat_conjugate(dequantize_rotation(from))));
}

/* ---- poses ---- */

static QPose qpose_at(const u8 *state, u32 i)
{
    QPose pose;
    memcpy(&pose, state + (size_t)i * sizeof pose, sizeof pose);
    return pose;
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

static Quat rotated(const Path *path, Quat from, Quat to, f64 tick, Vec3 *angular_velocity)
{
    bool ahead = path->curve->mode == CURVE_EXTRAPOLATED;
    f32 rotation_vector = vec3_length(path->here) * path->chords.gap;
    if (rotation_vector == 0.0f && vec3_length_squared(path->before) == 0.0f &&
        vec3_length_squared(path->after) == 0.0f) {
        return to;
    }
    if (ahead && rotation_vector > ROTATION_MAX_RADIANS) {
        return to;
    }
    Path even = *path;
    if (ahead || rotation_vector > ROTATION_MAX_RADIANS) {
        even.chords.has_before = even.chords.has_after = even.chords.has_far = false;
        even.chords.rest_before = even.chords.rest_after = false;
    }
    Vec3 rotation = path_at(&even, tick, angular_velocity);
    return quat_mul(quat_from_vector(rotation), ahead ? to : from);
}

ShownPose curve_pose(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                     f64 tick, CurveSpeed *speed)
{
    CurveSpeed unwanted = {0};
    speed = speed != NULL ? speed : &unwanted;
    speed->velocity = speed->angular_velocity = vec3_zero();
    QPose from = qpose_at(curve->from, i), to = qpose_at(curve->to, i);
    bool ahead = curve->mode == CURVE_EXTRAPOLATED;
    if (curve->mode == CURVE_HOLD || !pose_continues(&from, &to) ||
        (ahead && !(to.flags & POSE_AWAKE))) {
        bool ended = ahead || curve_share(curve, tick) >= 1.0f;
        return pose_exact(field, ended ? &to : &from);
    }
    tick = curve_clamp(curve, stream, tick);
    ShownPose a = pose_exact(field, &from), b = pose_exact(field, &to);
    Path way = path_begin(curve, free_a_tick(stream, CURVE_FREE_M_S2), field->quantum);
    Path rotation_vector =
        path_begin(curve, free_a_tick(stream, CURVE_FREE_RAD_S2), ROTATION_QUANTUM);
    bool unused;
    path_chord(a.position, b.position, curve->gap, &way.here, &unused);
    rotation_vector.here =
        vec3_scale(rotation_between(from.rotation, to.rotation), 1.0f / curve->gap);
    QPose other;
    if (curve->before != NULL &&
        (other = qpose_at(curve->before, i), pose_continues(&other, &from))) {
        path_chord(dequantize_position(field, other.position), a.position, curve->gap_before,
                   &way.before, &way.chords.has_before);
        rotation_vector.before =
            vec3_scale(rotation_between(other.rotation, from.rotation), 1.0f / curve->gap_before);
        rotation_vector.chords.has_before = true;
    }
    if (curve->after != NULL && (other = qpose_at(curve->after, i), pose_continues(&to, &other))) {
        path_chord(b.position, dequantize_position(field, other.position), curve->gap_after,
                   &way.after, &way.chords.has_after);
        rotation_vector.after =
            vec3_scale(rotation_between(to.rotation, other.rotation), 1.0f / curve->gap_after);
        rotation_vector.chords.has_after = true;
    }
    if (curve->far != NULL && (other = qpose_at(curve->far, i), pose_continues(&other, &from))) {
        path_chord(dequantize_position(field, other.position), a.position, curve->gap_far, &way.far,
                   &way.chords.has_far);
    }
    ShownPose shown = ahead ? b : a;
    shown.position = vec3_add(shown.position, path_at(&way, tick, &speed->velocity));
    shown.orientation =
        rotated(&rotation_vector, a.orientation, b.orientation, tick, &speed->angular_velocity);
    return shown;
}

/* ---- points ---- */

static QPoint qpoint_at(const u8 *state, u32 i)
{
    QPoint point;
    memcpy(&point, state + (size_t)i * sizeof point, sizeof point);
    return point;
}

/* Position of a neighbouring state's point if it is the same point. */
static bool point_other(const FieldDesc *field, const u8 *state, u32 i, u16 generation, Vec3 *out)
{
    if (state == NULL) {
        return false;
    }
    QPoint point = qpoint_at(state, i);
    *out = dequantize_position(field, point.position);
    return point.generation == generation;
}

ShownPoint curve_point(const Curve *curve, const CurveStream *stream, const FieldDesc *field, u32 i,
                       f64 tick, CurveSpeed *speed)
{
    CurveSpeed unwanted = {0};
    speed = speed != NULL ? speed : &unwanted;
    speed->velocity = speed->angular_velocity = vec3_zero();
    QPoint from = qpoint_at(curve->from, i), to = qpoint_at(curve->to, i);
    Vec3 a = dequantize_position(field, from.position), b = dequantize_position(field, to.position);
    f32 share = curve_share(curve, tick);
    ShownPoint first = {a, (f32)from.scalar * (1.0f / 65535.0f), from.generation, vec3_zero()};
    ShownPoint last = {b, (f32)to.scalar * (1.0f / 65535.0f), to.generation, vec3_zero()};
    if (curve->mode == CURVE_HOLD || from.generation != to.generation || from.generation == 0) {
        return share >= 1.0f ? last : first;
    }
    tick = curve_clamp(curve, stream, tick);
    f32 free = CURVE_FREE_M_S2;
    if (curve->whole) {
        f32 near = (f32)stream->tick_rate / (CURVE_WHOLE_HZ * f32_max(curve->gap, 1.0f));
        near *= near;
        free *= f32_min(near * near, 1.0f);
    }
    Path way = path_begin(curve, free_a_tick(stream, free), field->quantum);
    Vec3 other;
    bool unused;
    path_chord(a, b, curve->gap, &way.here, &unused);
    if (point_other(field, curve->before, i, from.generation, &other)) {
        path_chord(other, a, curve->gap_before, &way.before, &way.chords.has_before);
    }
    if (point_other(field, curve->after, i, to.generation, &other)) {
        path_chord(b, other, curve->gap_after, &way.after, &way.chords.has_after);
    }
    if (point_other(field, curve->far, i, from.generation, &other)) {
        path_chord(other, a, curve->gap_far, &way.far, &way.chords.has_far);
    }
    ShownPoint shown = curve->mode == CURVE_EXTRAPOLATED ? last : first;
    shown.position = vec3_add(shown.position, path_at(&way, tick, &speed->velocity));
    shown.scalar = first.scalar + (last.scalar - first.scalar) * share;
    shown.velocity = vec3_scale(speed->velocity, (f32)stream->tick_rate);
    return shown;
}
