/* drag.c: the model, its history, and the offset. */
#include "client/hand/drag.h"

#include <math.h>
#include <string.h>

#define STEP_S       (1.0 / 240.0)
#define STEPS_MAX    120 /* after a longer pause the model restarts */
#define PAST_GAP_S   0.008
#define BIAS_RATE    10.0f /* 1/s, of the bias filter */
#define OFFSET_MAX_M 5.0f
#define OFFSET_MIN_M 1e-4f
#define SPEED_MIN    1e-3f
#define FADE_MIN     3.0f
#define FADE_MAX     10.0f
#define SHARE_REACH  4.0f
#define SHARE_MIN_M  0.1f

static const f32 two_pi = 6.2831853f;

void drag_begin(DragPrediction *drag, Vec3 point, f64 now_s)
{
    Vec3 offset = drag->offset, speed = drag->offset_velocity;
    memset(drag, 0, sizeof *drag);
    drag->holding = true;
    drag->now_s = now_s;
    drag->position = point;
    drag->bias = drag->offset = offset;
    drag->bias_velocity = drag->offset_velocity = speed;
}

void drag_release(DragPrediction *drag, f64 lag_s)
{
    drag->holding = false;
    drag->fade = f32_clamp(1.0f / f32_max((f32)lag_s, 0.01f), FADE_MIN, FADE_MAX);
}

void drag_drop(DragPrediction *drag)
{
    drag->holding = false;
    drag->offset = drag->offset_velocity = vec3_zero();
}

/* Critically damped approach to `goal`, exact for any h. */
static void approach(Vec3 *value, Vec3 *speed, Vec3 goal, f32 rate, f32 h)
{
    Vec3 off = vec3_sub(*value, goal);
    Vec3 k = vec3_add_scaled(*speed, rate, off);
    f32 fade = expf(-rate * h);
    *speed = vec3_scale(vec3_add_scaled(*speed, -rate * h, k), fade);
    *value = vec3_add(goal, vec3_scale(vec3_add_scaled(off, h, k), fade));
}

/* Implicit, so that a stiff grab spring is stable. */
static void model_step(DragPrediction *drag, DragSpring spring, Vec3 target, f32 h)
{
    f32 omega = two_pi * spring.frequency;
    f32 give = 1.0f + h * (2.0f * spring.damping * omega + h * omega * omega);
    Vec3 wanted =
        vec3_add_scaled(drag->velocity, h * omega * omega, vec3_sub(target, drag->position));
    Vec3 change = vec3_sub(vec3_scale(wanted, 1.0f / give), drag->velocity);
    f32 size = vec3_length(change), most = spring.acceleration_max * h;
    if (size > most) {
        change = vec3_scale(change, most / size);
    }
    drag->velocity = vec3_add(drag->velocity, change);
    drag->position = vec3_add_scaled(drag->position, h, drag->velocity);
}

static void past_push(DragPrediction *drag)
{
    u32 last = (drag->past_next + DRAG_HISTORY - 1) % DRAG_HISTORY;
    if (drag->past_count > 0 && drag->now_s - drag->past_s[last] < PAST_GAP_S) {
        return;
    }
    drag->past[drag->past_next] = drag->position;
    drag->past_s[drag->past_next] = drag->now_s;
    drag->past_next = (drag->past_next + 1) % DRAG_HISTORY;
    drag->past_count = u32_min(drag->past_count + 1, DRAG_HISTORY);
}

/* The model's position at a time, interpolated; before the first sample the first. */
static Vec3 past_at(const DragPrediction *drag, f64 at_s)
{
    Vec3 newer = drag->position;
    f64 newer_s = drag->now_s;
    for (u32 i = 0; i < drag->past_count; i++) {
        u32 k = (drag->past_next + DRAG_HISTORY - 1 - i) % DRAG_HISTORY;
        if (drag->past_s[k] <= at_s) {
            f64 gap_s = newer_s - drag->past_s[k];
            f32 share = gap_s > 0 ? (f32)((at_s - drag->past_s[k]) / gap_s) : 1.0f;
            return vec3_lerp(drag->past[k], newer, f32_clamp(share, 0.0f, 1.0f));
        }
        newer = drag->past[k];
        newer_s = drag->past_s[k];
    }
    return newer;
}

static void drag_hold_step(DragPrediction *drag, DragSpring spring, Vec3 target, Vec3 server,
                           f64 lag_s, f64 now_s)
{
    f64 missing_s = now_s - drag->now_s;
    u32 steps = (u32)(missing_s / STEP_S) + 1;
    f32 h = (f32)(missing_s / steps);
    for (u32 i = 0; i < steps && steps <= STEPS_MAX; i++) {
        model_step(drag, spring, target, h);
    }
    drag->now_s = now_s;
    past_push(drag);
    Vec3 error = vec3_sub(server, past_at(drag, now_s - lag_s));
    approach(&drag->bias, &drag->bias_velocity, error, BIAS_RATE, (f32)missing_s);
    Vec3 offset = vec3_sub(vec3_add(drag->position, drag->bias), server);
    f32 size = vec3_length(offset);
    if (size > OFFSET_MAX_M) {
        offset = vec3_scale(offset, OFFSET_MAX_M / size);
    }
    drag->offset_velocity = vec3_scale(vec3_sub(offset, drag->offset), 1.0f / (f32)missing_s);
    drag->offset = offset;
}

void drag_step(DragPrediction *drag, DragSpring spring, Vec3 target, Vec3 server, f64 lag_s,
               f64 now_s)
{
    f64 missing_s = now_s - drag->now_s;
    if (!(missing_s > 0)) {
        return;
    }
    if (drag->holding) {
        drag_hold_step(drag, spring, target, server, lag_s, now_s);
    } else {
        approach(&drag->offset, &drag->offset_velocity, vec3_zero(), drag->fade, (f32)missing_s);
        drag->now_s = now_s;
    }
    bool still = vec3_length(drag->velocity) < SPEED_MIN || !drag->holding;
    if (still && vec3_length(drag->offset) < OFFSET_MIN_M &&
        vec3_length(drag->offset_velocity) < SPEED_MIN) {
        drag->offset = drag->offset_velocity = vec3_zero();
    }
}

f32 drag_share(Vec3 offset, f32 distance_m)
{
    f32 reach = f32_max(SHARE_REACH * vec3_length(offset), SHARE_MIN_M);
    f32 x = distance_m / reach;
    f32 w = 1.0f - x * x;
    return x < 1.0f ? w * w : 0.0f;
}
