/*
 * playout.h: estimates the clock of a stream and selects the tick to show now.
 *
 * Clock. Packets with a new newest tick are kept for some seconds as (local time, tick). None
 * arrives before it was sent, so the true line tick = line + rate · time lies on or above all of
 * them: the edge of their upper hull nearest to their mean is used, which gives offset and drift at
 * once (the minimum filter with skew of Moon, Skelly and Towsley 1999). Drift is accepted up to 0.1
 * %; a server that runs at another speed than announced shows it in both halves of the window.
 * Delay. Just before each arrival the newest known tick had a certain age: one snapshot interval on
 * a perfect network, more with jitter and loss. The delay is the smallest for which the picture
 * would have been starved for a fiftieth of the last seconds, where one packet counts for at most
 * half of that: rare bursts are bridged by extrapolation instead of by a delay for all packets.
 * Motion. The shown tick follows line − delay by running a few percent faster or slower
 * (PLAYOUT_WARP_MAX), and its pace changes by at most PLAYOUT_SLEW_MAX a second: a body that moves
 * at v is shown with a spurious acceleration of at most v · PLAYOUT_SLEW_MAX. After a hold, a seek
 * or a change of speed it may catch up (PLAYOUT_CATCH_UP). It never runs backwards, except that a
 * pause reverts extrapolation. When starved, it continues for 0.1 s beyond the newest tick, slows
 * down and holds at 0.25 s. Knows no receiver and no fields; time is an argument.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_PLAYOUT_H
#define PLENUM_CLIENT_LINK_PLAYOUT_H

#include "shared/base/base.h"

#define PLAYOUT_WARP_MAX        0.04 /* of the normal pace */
#define PLAYOUT_SLEW_MAX        0.2  /* of the normal pace, per second */
#define PLAYOUT_CATCH_UP        0.5  /* both limits while it settles */
#define PLAYOUT_CATCH_UP_SLEW   4.0
#define PLAYOUT_EXTRAPOLATION_S 0.25
#define PLAYOUT_JUMP_S          0.5 /* lagging more than this, the shown tick jumps ahead */

enum {
    PLAYOUT_ARRIVALS_MAX = 512
};

typedef struct PlayoutArrival {
    f64 time_s; /* local, since the first */
    f64 tick;
} PlayoutArrival;

/* Plain data, about 8 KiB. Members are read-only for callers. */
typedef struct Playout {
    f64 tick_rate;
    f64 interval_s; /* between snapshots, as announced */

    bool begun; /* a packet arrived */
    u64 base_ns;
    PlayoutArrival arrivals[PLAYOUT_ARRIVALS_MAX]; /* ring, oldest at `first` */
    u32 first, count;
    f64 fitted_s;     /* time of the last clock fit */
    u64 newest;       /* tick */
    f64 speed;        /* as announced by the newest packet */
    f64 speed_moving; /* the last non-zero speed */
    f64 rate;         /* ticks per local second */
    f64 line;         /* tick at local time 0 on the line of minimal delay */
    f64 delay_wanted_s;
    f64 jitter_s;

    bool showing;
    bool settling; /* far from its target: changes pace faster */
    bool holding;  /* starved for so long that the picture stands still */
    f64 shown;     /* tick */
    f64 pace;      /* ticks per local second */
    f64 now_s;     /* of the last advance */
    u64 advances, starved;
} Playout;

/* Effect of an advance on the shown tick apart from its normal motion. */
typedef struct PlayoutStep {
    bool jumped;
    f64 from, to;  /* ticks: without the jump, and after it */
    f64 pace_from; /* ticks per local second before the jump */
    f64 elapsed_s; /* since the last advance */
} PlayoutStep;

/* Rates in Hz. Nothing is shown before the first arrival. */
void playout_init(Playout *playout, u32 tick_rate, u32 snapshot_rate);
/* Reports that a packet of `tick` arrived (any order); speed: world seconds per real second, 0
 * paused. */
void playout_arrival(Playout *playout, u64 tick, f64 speed, u64 now_ns);
/* Advances the shown tick to now_ns. */
PlayoutStep playout_advance(Playout *playout, u64 now_ns);
/* Lag of the shown tick behind the line of minimal delay (s); paused: the last target delay. */
f64 playout_delay_s(const Playout *playout);

#endif
