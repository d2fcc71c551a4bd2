/* time_keys.c: see time_keys.h. */
#include "client/hand/time_keys.h"

#include <math.h>

#define LIVE_SPEED_MIN   0.0625
#define LIVE_SPEED_MAX   8.0
#define REPLAY_SPEED_MIN 0.05
#define REPLAY_SPEED_MAX 16.0

static int time_pause(Connection *connection, const Hud *hud)
{
    return connection_control(connection, hud->status.paused ? CONTROL_RESUME : CONTROL_PAUSE, 0.0);
}

static int time_faster(Connection *connection, const Hud *hud, f64 factor)
{
    bool replay = hud->status.replay != 0;
    f64 now = (f64)hud->status.speed;
    f64 speed = (now != 0.0 ? fabs(now) : 1.0) * factor;
    speed = fmax(speed, replay ? REPLAY_SPEED_MIN : LIVE_SPEED_MIN);
    speed = fmin(speed, replay ? REPLAY_SPEED_MAX : LIVE_SPEED_MAX);
    return connection_control(connection, CONTROL_SPEED, now < 0.0 ? -speed : speed);
}

/* Backwards (-1), stop (0) or forwards (1); in the direction in which it already runs: twice as
 * fast. */
static int time_shuttle(Connection *connection, const Hud *hud, i32 way)
{
    if (!hud->status.replay) {
        return 0;
    }
    if (way == 0) {
        return connection_control(connection, CONTROL_PAUSE, 0.0);
    }
    bool runs = !hud->status.paused && (hud->status.speed < 0.0f) == (way < 0);
    if (runs) {
        return time_faster(connection, hud, 2.0);
    }
    int result = connection_control(connection, CONTROL_SPEED, (f64)way);
    return result != 0 ? result : connection_control(connection, CONTROL_RESUME, 0.0);
}

static int time_step(Connection *connection, const Hud *hud, i32 ticks)
{
    if (!hud->status.replay && ticks < 0) {
        return 0;
    }
    return connection_control(connection, CONTROL_STEP, (f64)ticks);
}

/* A second would be too little to repeat a missed moment. */
#define LIVE_BACK_S 5.0

static int time_skip(Connection *connection, const Hud *hud, f64 seconds)
{
    if (!hud->status.replay) {
        f64 back_s = fmin(LIVE_BACK_S, floor((f64)hud->status.back_s));
        return seconds < 0.0 && back_s >= 1.0 ? connection_control(connection, CONTROL_BACK, back_s)
                                              : 0;
    }
    f64 at_s = hud->tick / (hud->tick_rate != 0 ? (f64)hud->tick_rate : 60.0);
    return connection_control(connection, CONTROL_SEEK, fmax(at_s + seconds, 0.0));
}

static int time_end(Connection *connection, const Hud *hud, bool last)
{
    if (!hud->status.replay) {
        return 0;
    }
    u64 tick = last ? hud->status.last_tick : hud->status.first_tick;
    f64 rate = hud->tick_rate != 0 ? (f64)hud->tick_rate : 60.0;
    return connection_control(connection, CONTROL_SEEK, (f64)tick / rate);
}

static int time_own(Connection *connection, const Hud *hud)
{
    bool away = hud->status.own_time == OWN_TIME_AWAY;
    return connection_control(connection, away ? CONTROL_RETURN : CONTROL_LEAVE, 0.0);
}

bool time_key_moves(Action action)
{
    switch (action) {
    case ACTION_PAUSE:
    case ACTION_STEP:
    case ACTION_STEP_ON:
    case ACTION_STEP_BACK:
    case ACTION_SECOND_BACK:
    case ACTION_SECOND_ON:
    case ACTION_SLOWER:
    case ACTION_FASTER:
    case ACTION_BACKWARDS:
    case ACTION_STOP:
    case ACTION_FORWARDS:
    case ACTION_TO_START:
    case ACTION_TO_END:
        return true;
    default:
        return false;
    }
}

bool time_key(Connection *connection, const Hud *hud, Action action, int *result)
{
    *result = 0;
    switch (action) {
    case ACTION_PAUSE:
        *result = time_pause(connection, hud);
        return true;
    case ACTION_STEP:
    case ACTION_STEP_ON:
    case ACTION_STEP_BACK:
        *result = time_step(connection, hud, action == ACTION_STEP_BACK ? -1 : 1);
        return true;
    case ACTION_SECOND_BACK:
    case ACTION_SECOND_ON:
        *result = time_skip(connection, hud, action == ACTION_SECOND_ON ? 1.0 : -1.0);
        return true;
    case ACTION_SLOWER:
    case ACTION_FASTER:
        *result = time_faster(connection, hud, action == ACTION_FASTER ? 2.0 : 0.5);
        return true;
    case ACTION_BACKWARDS:
    case ACTION_STOP:
    case ACTION_FORWARDS:
        *result = time_shuttle(connection, hud, (i32)action - (i32)ACTION_STOP);
        return true;
    case ACTION_TO_START:
    case ACTION_TO_END:
        *result = time_end(connection, hud, action == ACTION_TO_END);
        return true;
    case ACTION_OWN_TIME:
        *result = time_own(connection, hud);
        return true;
    case ACTION_UNDO:
        *result = connection_control(connection, CONTROL_UNDO, 0.0);
        return true;
    case ACTION_RESET:
        *result = connection_control(connection, CONTROL_RESET, 0.0);
        return true;
    default:
        return false;
    }
}
