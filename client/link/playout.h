/*
 * playout.h: the clock of a stream and which tick of it to show now.
 *
 * Clock. Packets that brought a new newest tick are kept for some seconds as (local time, tick).
 * None arrives before it was sent, so the true line tick = line + rate · time lies on or above all
 * of them: the edge of their upper hull nearest to their mean is taken for it, which gives offset
 * and drift at once (the minimum filter with skew of Moon, Skelly and Towsley 1999). Drift is
 * believed up to 0.1 %; a server that keeps another speed than it announces shows it in both halves
 * of the window.
 * Delay. Just before each arrival the newest known tick was some time old: one snapshot interval on
 * a perfect network, more with jitter and with loss. The delay is the least for which the picture
 * would have had nothing to go to for a fiftieth of the last seconds, of which one packet counts
 * for half at most: rare bursts are bridged by extrapolation instead of by a delay that all the
 * rest would have to bear.
 * Motion. The shown tick follows line − delay by running a few percent faster or slower
 * (PLAYOUT_WARP_MAX), and its pace changes no faster than PLAYOUT_SLEW_MAX a second: a body that
 * moves at v is shown with an acceleration of at most v · PLAYOUT_SLEW_MAX that is not its own.
 * After a hold, a seek or a change of speed it may hurry (PLAYOUT_HURRY). It never
 * goes back. Starved, it runs on for 0.1 s beyond the newest tick, slows down and holds at 0.25 s.
 * Knows no receiver and no fields; time is an argument.
 * Layer: client/link.
 */
#ifndef PLENUM_CLIENT_LINK_PLAYOUT_H
#define PLENUM_CLIENT_LINK_PLAYOUT_H

#include "shared/base/base.h"

#define PLAYOUT_WARP_MAX        0.04 /* of the normal pace */
#define PLAYOUT_SLEW_MAX        0.2  /* of the normal pace, a second */
#define PLAYOUT_HURRY           0.5  /* the same two while it settles */
#define PLAYOUT_HURRY_SLEW      4.0
#define PLAYOUT_EXTRAPOLATION_S 0.25
#define PLAYOUT_JUMP_S          0.5 /* farther behind than this the shown tick jumps ahead */

enum {
    PLAYOUT_ARRIVALS_MAX = 512
};

typedef struct PlayoutArrival {
    f64 time_s; /* local, since the first */
    f64 tick;
} PlayoutArrival;

/* Plain data, about 8 KiB. All are for reading only. */
typedef struct Playout {
    f64 tick_rate;
    f64 interval_s; /* between snapshots, as announced */

    bool begun; /* something arrived */
    u64 base_ns;
    PlayoutArrival arrivals[PLAYOUT_ARRIVALS_MAX]; /* ring, oldest at `first` */
    u32 first, count;
    f64 fitted_s;     /* when the clock was last fitted */
    u64 newest;       /* tick */
    f64 speed;        /* as announced by the newest packet */
    f64 speed_moving; /* the last that was not 0 */
    f64 rate;         /* ticks a local second */
    f64 line;         /* tick at local time 0 on the line of least delay */
    f64 delay_wanted_s;
    f64 jitter_s;

    bool showing;
    bool settling; /* far from its place, for whatever reason: hurries */
    bool holding;  /* nothing to go on with for so long that the picture stands */
    f64 shown;     /* tick */
    f64 pace;      /* ticks a local second */
    f64 now_s;     /* of the last advance */
    u64 advances, starved;
} Playout;

/* What an advance did to the shown tick beyond moving it on. */
typedef struct PlayoutStep {
    bool jumped;
    f64 from, to;  /* ticks: where it would be without the jump, and where it is */
    f64 pace_from; /* ticks a local second before the jump */
    f64 elapsed_s; /* since the last advance */
} PlayoutStep;

void playout_init(Playout *playout, u32 tick_rate, u32 snapshot_rate);
/* A packet of `tick` arrived (any order); speed: world seconds a real second, 0 paused. */
void playout_arrival(Playout *playout, u64 tick, f64 speed, u64 now_ns);
/* Moves the shown tick to what it must be at now_ns. */
PlayoutStep playout_advance(Playout *playout, u64 now_ns);
/* How far the shown tick lies behind the line of least delay (s); paused: the last wanted. */
f64 playout_delay_s(const Playout *playout);

#endif
