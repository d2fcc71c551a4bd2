/* bulk_rate.c: see bulk_rate.h. */
#include "protocol/stream/bulk_rate.h"
#include "shared/base/check.h"

enum {
    RTT_WINDOW_US = 10000000,
    RTT_UNKNOWN_US = 100000,
    /* Pacing tokens accumulated at most, for the time between two iterations of a host's loop. */
    BURST_US = 20000,
    BURST_BYTES_MIN = 10 * 1200,
    /* Acknowledgements arrive in such intervals: the data in flight must cover them, and jitter. */
    ACK_STEP_US = 30000,
    JITTER_US_MAX = 100000,
    FULL_ROUNDS = 3,
    CYCLE_STEPS = 8,
    CYCLE_QUIET = 1, /* the phase below the path's rate */
    QUIET_KNOWN_MIN = 20,
    QUIET_KNOWN_MAX = 2000,
};

/* Grows by at most a factor of e^(ln 2 · 4 / e) per round trip: enough to double the delivery
 * rate in each although it is measured one round trip late. */
static const f64 begin_gain = 2.89;
static const f64 flight_gain = 2.0;
static const f64 growth = 1.25;    /* less than this over three rounds: the path is full */
static const f64 loss_full = 0.45; /* of a round: more than any radio link loses, so a queue
                                      overflows */
static const f64 loss_floor_max = 0.4;
static const f64 yield_gain = 0.75;

void bulk_rate_init(BulkRate *rate, u32 max_bytes_s, u64 now_us)
{
    BulkRate begun = {0};
    *rate = begun;
    rate->max_bytes_s = max_bytes_s > 0 ? (f64)max_bytes_s : (f64)BULK_MAX_BYTES_S;
    rate->tokens = BURST_BYTES_MIN;
    rate->paced_us = rate->rtt_window_us = rate->cycle_us = now_us;
    rate->delivered_us = rate->first_us = now_us;
    rate->rtt_least_us[0] = rate->rtt_least_us[1] = UINT64_MAX;
    rate->round_rtt_us = UINT64_MAX;
}

u64 bulk_rate_rtt_least_us(const BulkRate *rate)
{
    u64 least = u64_min(rate->rtt_least_us[0], rate->rtt_least_us[1]);
    return least != UINT64_MAX ? least : 0;
}

f64 bulk_rate_path_bytes_s(const BulkRate *rate)
{
    f64 best = 0.0;
    for (u32 i = 0; i < BULK_RATE_ROUNDS; i++) {
        best = rate->rounds_bytes_s[i] > best ? rate->rounds_bytes_s[i] : best;
    }
    return best;
}

static f64 pacing_gain(const BulkRate *rate)
{
    static const f64 cycle[CYCLE_STEPS] = {1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
    switch (rate->phase) {
    case BULK_BEGIN:
        return begin_gain;
    case BULK_DRAIN:
        return 1.0 / begin_gain;
    default:
        return rate->yields ? yield_gain : cycle[rate->cycle % CYCLE_STEPS];
    }
}

/* Fraction of packets that the path loses even at a low rate. */
static f64 loss_floor(const BulkRate *rate)
{
    u32 known = rate->quiet_lost + rate->quiet_acked;
    f64 floor = (f64)rate->quiet_lost / (f64)u32_max(known, QUIET_KNOWN_MIN);
    return floor < loss_floor_max ? floor : loss_floor_max;
}

static f64 pacing_bytes_s(const BulkRate *rate)
{
    f64 path = bulk_rate_path_bytes_s(rate);
    f64 pace = path * pacing_gain(rate) / (1.0 - loss_floor(rate));
    if (rate->phase == BULK_BEGIN && pace < BULK_START_BYTES_S) {
        pace = BULK_START_BYTES_S;
    }
    f64 least = BULK_FLIGHT_MIN_BYTES * 1e6 / (f64)u64_max(rate->rtt_us, RTT_UNKNOWN_US);
    pace = pace > least ? pace : least;
    return pace < rate->max_bytes_s ? pace : rate->max_bytes_s;
}

static f64 flight_max(const BulkRate *rate)
{
    f64 path = bulk_rate_path_bytes_s(rate);
    f64 product = path * (f64)bulk_rate_rtt_least_us(rate) * 1e-6;
    f64 gain = rate->phase != BULK_BEGIN && rate->yields ? 1.0 : flight_gain;
    u64 step_us = ACK_STEP_US + u64_min(2 * rate->rtt_var_us, JITTER_US_MAX);
    f64 most = gain * product + path * (f64)step_us * 1e-6;
    f64 least = rate->phase == BULK_BEGIN ? BULK_FLIGHT_START_BYTES : BULK_FLIGHT_MIN_BYTES;
    return most > least ? most : least;
}

i64 bulk_rate_allowance(BulkRate *rate, u64 now_us)
{
    f64 pace = pacing_bytes_s(rate);
    CHECK(pace >= 0.0); /* nor NaN */
    f64 burst = pace * BURST_US * 1e-6;
    burst = burst > BURST_BYTES_MIN ? burst : BURST_BYTES_MIN;
    rate->tokens += (f64)(now_us - rate->paced_us) * 1e-6 * pace;
    rate->paced_us = now_us;
    rate->tokens = rate->tokens < burst ? rate->tokens : burst;
    f64 window = flight_max(rate) - (f64)rate->flight;
    return (i64)(rate->tokens < window ? rate->tokens : window);
}

void bulk_rate_sent(BulkRate *rate, u32 bytes, BulkStamp *stamp, u64 now_us)
{
    if (rate->flight == 0) {
        rate->first_us = rate->delivered_us = now_us;
    }
    stamp->sent_us = now_us;
    stamp->first_us = rate->first_us;
    stamp->delivered = rate->delivered;
    stamp->delivered_us = rate->delivered_us;
    stamp->idle = rate->idle_until != 0;
    stamp->quiet = rate->phase == BULK_CRUISE && rate->cycle % CYCLE_STEPS == CYCLE_QUIET;
    rate->tokens -= bytes;
    rate->flight += bytes;
}

void bulk_rate_idle(BulkRate *rate)
{
    rate->idle_until = u64_max(rate->delivered + rate->flight, 1);
}

void bulk_rate_acked(BulkRate *rate, u32 bytes, const BulkStamp *stamp, u64 now_us)
{
    rate->flight -= u64_min(bytes, rate->flight);
    rate->delivered += bytes;
    rate->delivered_us = now_us;
    rate->round_acked++;
    rate->quiet_acked += stamp->quiet;
    if (rate->idle_until != 0 && rate->delivered >= rate->idle_until) {
        rate->idle_until = 0;
    }
    if (!rate->sample_any || stamp->sent_us >= rate->sample.sent_us) {
        rate->sample = *stamp;
        rate->sample_any = true;
        rate->first_us = u64_max(rate->first_us, stamp->sent_us);
    }
}

void bulk_rate_lost(BulkRate *rate, u32 bytes, const BulkStamp *stamp)
{
    rate->flight -= u64_min(bytes, rate->flight);
    rate->round_lost++;
    rate->quiet_lost += stamp->quiet;
    if (rate->quiet_lost + rate->quiet_acked > QUIET_KNOWN_MAX) {
        rate->quiet_lost /= 2;
        rate->quiet_acked /= 2;
    }
}

static void rtt_learn(BulkRate *rate, u64 rtt_us, u64 now_us)
{
    u64 off = rtt_us > rate->rtt_us ? rtt_us - rate->rtt_us : rate->rtt_us - rtt_us;
    if (rate->rtt_us == 0) {
        rate->rtt_us = rtt_us;
        rate->rtt_var_us = rtt_us / 2;
    } else {
        rate->rtt_var_us = (3 * rate->rtt_var_us + off) / 4;
        rate->rtt_us = (7 * rate->rtt_us + rtt_us) / 8;
    }
    if (now_us - rate->rtt_window_us > RTT_WINDOW_US) {
        rate->rtt_window_us = now_us;
        rate->rtt_least_us[1] = rate->rtt_least_us[0];
        rate->rtt_least_us[0] = rtt_us;
    }
    rate->rtt_least_us[0] = u64_min(rate->rtt_least_us[0], rtt_us);
    rate->round_rtt_us = u64_min(rate->round_rtt_us, rtt_us);
}

static void rate_learn(BulkRate *rate, u64 now_us)
{
    const BulkStamp *sample = &rate->sample;
    u64 span_us = u64_max(sample->sent_us - sample->first_us, now_us - sample->delivered_us);
    if (span_us < u64_max(bulk_rate_rtt_least_us(rate), 1)) {
        return; /* acknowledgements arrived in a burst: faster than the path can be */
    }
    f64 bytes_s = (f64)(rate->delivered - sample->delivered) * 1e6 / (f64)span_us;
    f64 *best = &rate->rounds_bytes_s[rate->rounds % BULK_RATE_ROUNDS];
    if (bytes_s > *best && (!sample->idle || bytes_s > bulk_rate_path_bytes_s(rate))) {
        *best = bytes_s;
    }
}

static void begin_check(BulkRate *rate, bool queue)
{
    f64 path = bulk_rate_path_bytes_s(rate);
    f64 lost = (f64)rate->round_lost / (f64)u64_max(rate->round_lost + rate->round_acked, 1);
    bool many = rate->round_lost + rate->round_acked > 20;
    if (path >= rate->full_bytes_s * growth) {
        rate->full_bytes_s = path;
        rate->full_rounds = 0;
    } else if (!rate->sample.idle) {
        rate->full_rounds++;
    }
    if (rate->full_rounds >= FULL_ROUNDS || queue || (many && lost > loss_full)) {
        rate->phase = BULK_DRAIN;
    }
}

static void round_end(BulkRate *rate)
{
    u64 least_us = bulk_rate_rtt_least_us(rate);
    bool queue = rate->round_rtt_us != UINT64_MAX &&
                 rate->round_rtt_us > least_us + u64_max(BULK_QUEUE_US, least_us / 8);
    if (rate->phase == BULK_BEGIN) {
        begin_check(rate, queue);
    }
    rate->yields = queue;
    rate->rounds++;
    rate->rounds_bytes_s[rate->rounds % BULK_RATE_ROUNDS] = 0.0;
    rate->round_end = rate->delivered;
    rate->round_rtt_us = UINT64_MAX;
    rate->round_lost = rate->round_acked = 0;
}

void bulk_rate_ack_end(BulkRate *rate, u64 rtt_us, u64 now_us)
{
    if (!rate->sample_any) {
        return;
    }
    rate->sample_any = false;
    if (rtt_us > 0) {
        rtt_learn(rate, rtt_us, now_us);
    }
    rate_learn(rate, now_us);
    if (rate->sample.delivered >= rate->round_end) {
        round_end(rate);
    }
    u64 least_us = bulk_rate_rtt_least_us(rate);
    f64 product = bulk_rate_path_bytes_s(rate) * (f64)least_us * 1e-6;
    if (rate->phase == BULK_DRAIN && (f64)rate->flight <= product + BULK_FLIGHT_MIN_BYTES) {
        rate->phase = BULK_CRUISE;
        rate->cycle = CYCLE_QUIET;
        rate->cycle_us = now_us;
    }
    if (rate->phase == BULK_CRUISE && now_us - rate->cycle_us > u64_max(least_us, 1000)) {
        rate->cycle++;
        rate->cycle_us = now_us;
    }
}
