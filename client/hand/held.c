/* held.c: the model, its past, and the offset. */
#include "client/hand/held.h"

#include <math.h>
#include <string.h>

#define STEP_S       (1.0 / 240.0)
#define STEPS_MAX    120 /* after a longer pause the model starts anew */
#define PAST_GAP_S   0.008
#define BIAS_RATE    10.0f /* 1/s, of the filter */
#define OFFSET_MAX_M 5.0f
#define OFFSET_MIN_M 1e-4f
#define SPEED_MIN    1e-3f
#define FADE_MIN     3.0f
#define FADE_MAX     10.0f
#define SHARE_REACH  4.0f
#define SHARE_MIN_M  0.1f

static const f32 two_pi = 6.2831853f;

void held_begin(Held *held, Vec3 point, f64 now_s)
{
    Vec3 offset = held->offset, speed = held->offset_velocity;
    memset(held, 0, sizeof *held);
    held->holding = true;
    held->now_s = now_s;
    held->position = point;
    held->bias = held->offset = offset;
    held->bias_velocity = held->offset_velocity = speed;
}

void held_release(Held *held, f64 lag_s)
{
    held->holding = false;
    held->fade = f32_clamp(1.0f / f32_max((f32)lag_s, 0.01f), FADE_MIN, FADE_MAX);
}

void held_drop(Held *held)
{
    held->holding = false;
    held->offset = held->offset_velocity = vec3_zero();
}

/* Critically damped towards `goal`, exactly for any h. */
static void approach(Vec3 *value, Vec3 *speed, Vec3 goal, f32 rate, f32 h)
{
    Vec3 off = vec3_sub(*value, goal);
    Vec3 k = vec3_add_scaled(*speed, rate, off);
    f32 fade = expf(-rate * h);
    *speed = vec3_scale(vec3_add_scaled(*speed, -rate * h, k), fade);
    *value = vec3_add(goal, vec3_scale(vec3_add_scaled(off, h, k), fade));
}

/* Implicit, so that a stiff hand is stable. */
static void model_step(Held *held, HeldSpring spring, Vec3 target, f32 h)
{
    f32 omega = two_pi * spring.frequency;
    f32 give = 1.0f + h * (2.0f * spring.damping * omega + h * omega * omega);
    Vec3 wanted =
        vec3_add_scaled(held->velocity, h * omega * omega, vec3_sub(target, held->position));
    Vec3 change = vec3_sub(vec3_scale(wanted, 1.0f / give), held->velocity);
    f32 size = vec3_length(change), most = spring.acceleration_max * h;
    if (size > most) {
        change = vec3_scale(change, most / size);
    }
    held->velocity = vec3_add(held->velocity, change);
    held->position = vec3_add_scaled(held->position, h, held->velocity);
}

static void past_push(Held *held)
{
    u32 last = (held->past_next + HELD_HISTORY - 1) % HELD_HISTORY;
    if (held->past_count > 0 && held->now_s - held->past_s[last] < PAST_GAP_S) {
        return;
    }
    held->past[held->past_next] = held->position;
    held->past_s[held->past_next] = held->now_s;
    held->past_next = (held->past_next + 1) % HELD_HISTORY;
    held->past_count = u32_min(held->past_count + 1, HELD_HISTORY);
}

/* The model at a time: between its samples, the first before them. */
static Vec3 past_at(const Held *held, f64 at_s)
{
    Vec3 newer = held->position;
    f64 newer_s = held->now_s;
    for (u32 i = 0; i < held->past_count; i++) {
        u32 k = (held->past_next + HELD_HISTORY - 1 - i) % HELD_HISTORY;
        if (held->past_s[k] <= at_s) {
            f64 gap_s = newer_s - held->past_s[k];
            f32 share = gap_s > 0 ? (f32)((at_s - held->past_s[k]) / gap_s) : 1.0f;
            return vec3_lerp(held->past[k], newer, f32_clamp(share, 0.0f, 1.0f));
        }
        newer = held->past[k];
        newer_s = held->past_s[k];
    }
    return newer;
}

static void hold_step(Held *held, HeldSpring spring, Vec3 target, Vec3 server, f64 lag_s, f64 now_s)
{
    f64 missing_s = now_s - held->now_s;
    u32 steps = (u32)(missing_s / STEP_S) + 1;
    f32 h = (f32)(missing_s / steps);
    for (u32 i = 0; i < steps && steps <= STEPS_MAX; i++) {
        model_step(held, spring, target, h);
    }
    held->now_s = now_s;
    past_push(held);
    Vec3 error = vec3_sub(server, past_at(held, now_s - lag_s));
    approach(&held->bias, &held->bias_velocity, error, BIAS_RATE, (f32)missing_s);
    Vec3 offset = vec3_sub(vec3_add(held->position, held->bias), server);
    f32 size = vec3_length(offset);
    if (size > OFFSET_MAX_M) {
        offset = vec3_scale(offset, OFFSET_MAX_M / size);
    }
    held->offset_velocity = vec3_scale(vec3_sub(offset, held->offset), 1.0f / (f32)missing_s);
    held->offset = offset;
}

void held_step(Held *held, HeldSpring spring, Vec3 target, Vec3 server, f64 lag_s, f64 now_s)
{
    f64 missing_s = now_s - held->now_s;
    if (!(missing_s > 0)) {
        return;
    }
    if (held->holding) {
        hold_step(held, spring, target, server, lag_s, now_s);
    } else {
        approach(&held->offset, &held->offset_velocity, vec3_zero(), held->fade, (f32)missing_s);
        held->now_s = now_s;
    }
    bool still = vec3_length(held->velocity) < SPEED_MIN || !held->holding;
    if (still && vec3_length(held->offset) < OFFSET_MIN_M &&
        vec3_length(held->offset_velocity) < SPEED_MIN) {
        held->offset = held->offset_velocity = vec3_zero();
    }
}

f32 held_share(Vec3 offset, f32 distance_m)
{
    f32 reach = f32_max(SHARE_REACH * vec3_length(offset), SHARE_MIN_M);
    f32 x = distance_m / reach;
    f32 w = 1.0f - x * x;
    return x < 1.0f ? w * w : 0.0f;
}
