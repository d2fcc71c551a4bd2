/* judder.c: server, network, players and the differentiation. */
#include "tests/support/judder.h"

#include "client/link/static_colliders.h"
#include "client/link/timeline.h"
#include "protocol/field/history.h"
#include "shared/base/check.h"
#include "shared/base/sort.h"
#include "shared/math/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_RATE = 60,
    PICTURES = 60, /* rendered frames per second */
    PACKETS_MAX = 256,
    BODY_EVEN = 0,
    BODY_BALL = 1,
    BODY_SPIN = 2,
    BODY_GROUND = 3,
    BODIES = 4,
    STALLS_MAX = 256,
    RECORDED_MAX = 4096,
};

#define EVEN_M_S      2.0
#define SPIN_RAD_S    6.0
#define GRAVITY       9.81
#define BOUNCE_M_S    6.0
#define BALL_RADIUS_M 0.1 /* its ground is this far below y = 0 */
#define WARM_UP_S     3.0
#define SERVER_FIRST  1000 /* tick at time 0 */
#define UP_S          0.02 /* delay of acknowledgements */
#define NEAR_BOUNCE_S 0.06 /* frames this near to a bounce are excluded from flight */

const JudderNetwork judder_networks[] = {
    {.name = "perfect", .about = "20 ms, nothing else", .seed = 1, .delay_ms = 20},
    {.name = "jitter20",
     .about = "20 ms + 20 ms of jitter",
     .seed = 2,
     .delay_ms = 20,
     .jitter_ms = 20},
    {.name = "wifi",
     .about = "8 ms + 4 ms of jitter + a tail of 3 ms, 1 % loss, stalls of 60 to 140 ms every 3 s",
     .seed = 3,
     .delay_ms = 8,
     .jitter_ms = 4,
     .tail_ms = 3,
     .loss = 0.01,
     .stall_gap_s = 3.0,
     .stall_ms_min = 60,
     .stall_ms_max = 140},
    {.name = "lte",
     .about = "35 ms + 20 ms of jitter + a tail of 6 ms, 0.5 % loss, stalls of 30 to 90 ms every "
              "1.2 s",
     .seed = 4,
     .delay_ms = 35,
     .jitter_ms = 20,
     .tail_ms = 6,
     .loss = 0.005,
     .stall_gap_s = 1.2,
     .stall_ms_min = 30,
     .stall_ms_max = 90},
    {.name = "lossy",
     .about = "40 ms + 100 ms of jitter, 20 % loss",
     .seed = 5,
     .delay_ms = 40,
     .jitter_ms = 100,
     .loss = 0.2},
    {.name = "drift",
     .about = "20 ms + 10 ms of jitter, the server's clock 300 ppm fast",
     .seed = 6,
     .delay_ms = 20,
     .jitter_ms = 10,
     .drift = 300e-6},
    {.name = "rates",
     .about = "20 ms + 5 ms of jitter, 60, 20 and 30 snapshots a second in turn",
     .seed = 7,
     .delay_ms = 20,
     .jitter_ms = 5,
     .rate_s = 4.0},
    {.name = "stalls",
     .about = "20 ms + 5 ms of jitter, the server stands for 100 to 400 ms every 5 s",
     .seed = 8,
     .delay_ms = 20,
     .jitter_ms = 5,
     .server_stall_gap_s = 5.0,
     .server_stall_ms_min = 100,
     .server_stall_ms_max = 400},
    {.name = "recorded_wifi",
     .about = "recorded: wireless with other traffic in its queue",
     .seed = 9,
     .recorded = "tests/assets/arrivals_wifi.txt"},
    {.name = "recorded_mobile",
     .about = "recorded: a phone on the move, with other traffic in its queue",
     .seed = 10,
     .recorded = "tests/assets/arrivals_mobile.txt"},
};
const u32 judder_network_count = PL_COUNT(judder_networks);

const JudderNetwork *judder_network(const char *name)
{
    for (u32 i = 0; i < judder_network_count; i++) {
        if (strcmp(judder_networks[i].name, name) == 0) {
            return &judder_networks[i];
        }
    }
    return NULL;
}

const char *judder_player_name(JudderPlayer player)
{
    static const char *const names[] = {"ours", "newest", "fixed"};
    return names[player];
}

/* ---- the truth ---- */

static f64 ball_phase(f64 tick)
{
    f64 arc_s = 2.0 * BOUNCE_M_S / GRAVITY;
    return fmod(tick / TICK_RATE, arc_s);
}

static Vec3 even_at(f64 tick)
{
    return vec3((f32)(EVEN_M_S * tick / TICK_RATE), 1.0f, 0.0f);
}

static Vec3 ball_at(f64 tick)
{
    f64 t = ball_phase(tick);
    return vec3((f32)(1.5 * tick / TICK_RATE), (f32)(BOUNCE_M_S * t - 0.5 * GRAVITY * t * t), 0);
}

static Quat spin_at(f64 tick)
{
    f64 half = 0.5 * SPIN_RAD_S * tick / TICK_RATE;
    f32 s = (f32)(sin(half) / sqrt(3.0));
    return quat_normalize((Quat){(f32)cos(half), s, s, s});
}

/* ---- stalls ---- */

typedef struct Stall {
    f64 begin_s, end_s;
} Stall;

typedef struct Stalls {
    Stall items[STALLS_MAX];
    u32 count;
} Stalls;

static void stalls_make(Stalls *stalls, u64 seed, f64 gap_s, f64 ms_min, f64 ms_max, f64 seconds)
{
    stalls->count = 0;
    f64 t = gap_s;
    while (gap_s > 0 && t < seconds && stalls->count < STALLS_MAX) {
        f64 long_s = 1e-3 * (ms_min + (ms_max - ms_min) * (f64)random_f32(seed, stalls->count));
        stalls->items[stalls->count] = (Stall){t, t + long_s};
        t += long_s + gap_s * (0.5 + (f64)random_f32(seed + 1, stalls->count));
        stalls->count++;
    }
}

static f64 stalls_release(const Stalls *stalls, f64 t)
{
    for (u32 i = 0; i < stalls->count; i++) {
        if (t >= stalls->items[i].begin_s && t < stalls->items[i].end_s) {
            return stalls->items[i].end_s;
        }
    }
    return t;
}

/* Seconds before t outside stalls. */
static f64 stalls_running(const Stalls *stalls, f64 t)
{
    f64 lost_s = 0;
    for (u32 i = 0; i < stalls->count; i++) {
        lost_s += fmax(0.0, fmin(t, stalls->items[i].end_s) - stalls->items[i].begin_s);
    }
    return t - lost_s;
}

/* ---- server and network ---- */

typedef struct Flying {
    f64 at_s;
    u32 bytes;
    u8 data[STATE_PAYLOAD_BYTES_MAX];
} Flying;

typedef struct Play {
    const JudderNetwork *network;
    Stalls net_stalls, server_stalls;
    FieldSet *fields;
    History history;
    ChunkCache *cache;
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
    Flying *flying; /* [PACKETS_MAX], at_s < 0: free */
    u64 packets;
    f64 *recorded_s; /* [recorded_count], < 0: lost; from a file, else none */
    u32 recorded_count;
    f64 fastest_s;              /* least delay of a packet */
    SnapshotAck acks[PICTURES]; /* by frame */
    f64 server_s;               /* server's own time of the next tick */
    u64 tick, next_snapshot;
    Timeline *timeline;
    Entity entities[2];
    EntityList entity_list; /* of these, for the ground */
    StaticColliders *ground;
    /* of the fixed-delay player */
    bool begun;
    f64 first_s;
    u64 first_tick;
} Play;

static void *must(void *memory)
{
    CHECK(memory != NULL);
    return memory;
}

static const FieldDesc bodies_field = {
    .kind = FIELD_POSES,
    .channels = 1,
    .name = "bodies",
    .capacity = BODIES,
    .quantum = 1.0f / 512.0f,
    .spacing = {1.0f, 1.0f, 1.0f},
};

static f64 uniform(const Play *play, u64 salt)
{
    return (f64)random_f32(play->network->seed + 100 * salt, play->packets);
}

static void recorded_read(Play *play, const char *path)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    play->fastest_s = HUGE_VAL;
    play->recorded_s = must(malloc(RECORDED_MAX * sizeof *play->recorded_s));
    long long sent_us, took_us;
    while (play->recorded_count < RECORDED_MAX &&
           fscanf(file, "%lld %lld", &sent_us, &took_us) == 2) {
        f64 took_s = 1e-6 * (f64)took_us;
        play->recorded_s[play->recorded_count++] = took_s;
        play->fastest_s = took_s >= 0 ? fmin(play->fastest_s, took_s) : play->fastest_s;
    }
    CHECK(play->recorded_count > 0 && fclose(file) == 0);
}

/* Delay of the next packet; < 0: it is lost. */
static f64 flight_s(const Play *play)
{
    const JudderNetwork *network = play->network;
    if (play->recorded_count > 0) {
        return play->recorded_s[play->packets % play->recorded_count];
    }
    f64 tail = -log(1.0 - uniform(play, 2)) * network->tail_ms;
    f64 delay_s = 1e-3 * (network->delay_ms + network->jitter_ms * uniform(play, 1) + tail);
    return uniform(play, 3) < network->loss ? -1.0 : delay_s;
}

static void fly(void *context, const u8 *packet, u32 bytes)
{
    Play *play = context;
    f64 delay_s = flight_s(play);
    bool lost = delay_s < 0;
    play->packets++;
    for (u32 i = 0; !lost && i < PACKETS_MAX; i++) {
        Flying *flying = &play->flying[i];
        if (flying->at_s < 0) {
            flying->at_s = stalls_release(&play->net_stalls, play->server_s + delay_s);
            flying->bytes = bytes;
            memcpy(flying->data, packet, bytes);
            return;
        }
    }
    CHECK(lost);
}

static u32 snapshot_gap(const Play *play)
{
    static const u32 gaps[] = {1, 3, 2};
    const JudderNetwork *network = play->network;
    return network->rate_s > 0 ? gaps[(u32)(play->server_s / network->rate_s) % PL_COUNT(gaps)] : 2;
}

static void server_tick(Play *play)
{
    Frame *frame = must(frame_create(play->fields, play->tick, 0));
    QPose *poses = frame_poses(frame, 0);
    f64 tick = (f64)play->tick;
    const Vec3 places[BODIES] = {[BODY_EVEN] = even_at(tick),
                                 [BODY_BALL] = ball_at(tick),
                                 [BODY_SPIN] = vec3(0, 3, 0),
                                 [BODY_GROUND] = vec3(0, (f32)-BALL_RADIUS_M, 0)};
    for (u32 i = 0; i < BODIES; i++) {
        quantize_position(&play->fields->fields[0], places[i], poses[i].position);
        poses[i].rotation = quantize_rotation(i == BODY_SPIN ? spin_at(tick) : quat_identity());
        poses[i].flags = POSE_LIVE | (i == BODY_GROUND ? POSE_STATIC : POSE_AWAKE);
        poses[i].generation = 1;
    }
    history_push(&play->history, frame);
    frame_release(frame);
    if (play->tick < play->next_snapshot) {
        return;
    }
    play->next_snapshot = play->tick + snapshot_gap(play);
    SnapshotView view = {.eye = {0, 2, 10}, .forward = {0, 0, -1}, .pixels_per_radian = 0};
    SnapshotHeader header = {.tick = (u32)play->tick, .speed = 1024};
    CHECK(chunk_cache_begin(play->cache, &play->history));
    snapshot_sender_build(play->sender, play->cache, &view, &header,
                          (SnapshotLine){1 << 16, (u64)(play->server_s * 1e3), 100}, fly, play);
}

/* Runs the server to real time now_s. Its clock runs faster by the drift. */
static void server_run(Play *play, f64 now_s)
{
    f64 tick_s = 1.0 / (TICK_RATE * (1.0 + play->network->drift));
    while (play->server_s <= now_s) {
        server_tick(play);
        play->tick++;
        play->server_s = stalls_release(&play->server_stalls, play->server_s + tick_s);
    }
}

/* Tick that the fastest packet could have delivered by now. */
static f64 tick_known(const Play *play, f64 now_s)
{
    f64 running_s = stalls_running(&play->server_stalls, now_s - play->fastest_s);
    return SERVER_FIRST + running_s * TICK_RATE * (1.0 + play->network->drift);
}

static void receive(Play *play, f64 now_s)
{
    for (;;) {
        Flying *next = NULL;
        for (u32 i = 0; i < PACKETS_MAX; i++) {
            Flying *flying = &play->flying[i];
            bool due = flying->at_s >= 0 && flying->at_s <= now_s;
            if (due && (next == NULL || flying->at_s < next->at_s)) {
                next = flying;
            }
        }
        if (next == NULL) {
            return;
        }
        SnapshotHeader header;
        CHECK(snapshot_receiver_push(play->receiver, next->data, next->bytes, &header) == 0);
        next->at_s = -1.0;
        timeline_arrival(play->timeline, &header, (u64)(now_s * 1e9));
        if (!play->begun) {
            play->begun = true;
            play->first_s = now_s;
            play->first_tick = header.tick;
        }
    }
}

/* ---- players ---- */

typedef struct Shown {
    f64 tick;
    Vec3 even, ball;
    Quat angular_velocity;
    bool starved;
} Shown;

static bool shown_pose(const void *timeline, u32 field, u32 element, ShownPose *pose)
{
    return timeline_pose(timeline, field, element, pose);
}

static bool show_ours(Play *play, f64 now_s, Shown *shown)
{
    static_colliders_update(play->ground, &play->entity_list, shown_pose, play->timeline);
    timeline_advance(play->timeline, (u64)(now_s * 1e9));
    ShownPose poses[BODIES];
    for (u32 i = 0; i < BODIES; i++) {
        if (!timeline_pose(play->timeline, 0, i, &poses[i])) {
            return false;
        }
    }
    shown->tick = timeline_tick(play->timeline);
    shown->even = poses[BODY_EVEN].position;
    shown->ball = poses[BODY_BALL].position;
    shown->angular_velocity = poses[BODY_SPIN].orientation;
    return true;
}

static void qpose(const ChunkState *state, u32 i, Vec3 *position, Quat *rotation)
{
    QPose pose;
    memcpy(&pose, state->state + i * sizeof pose, sizeof pose);
    *position = dequantize_position(&bodies_field, pose.position);
    *rotation = dequantize_rotation(pose.rotation);
}

/* Interpolates linearly between the states around the tick, or uses the state at its end. */
static bool show_linear(Play *play, f64 tick, Shown *shown)
{
    ChunkState states[CHUNK_STATES_KEPT];
    u32 count = snapshot_receiver_states(play->receiver, 0, 0, states);
    if (count == 0) {
        return false;
    }
    u32 i = 0;
    while (i + 1 < count && (f64)states[i].tick > tick) {
        i++;
    }
    const ChunkState *from = &states[i], *to = &states[i > 0 ? i - 1 : 0];
    f64 gap = (f64)(to->tick - from->tick);
    f32 share = gap > 0 ? f32_clamp((f32)((tick - (f64)from->tick) / gap), 0, 1) : 0.0f;
    Vec3 a[BODIES], b[BODIES];
    Quat p[BODIES], q[BODIES];
    for (u32 k = 0; k < BODIES; k++) {
        qpose(from, k, &a[k], &p[k]);
        qpose(to, k, &b[k], &q[k]);
    }
    shown->tick = (f64)from->tick + (f64)share * gap;
    shown->even = vec3_lerp(a[BODY_EVEN], b[BODY_EVEN], share);
    shown->ball = vec3_lerp(a[BODY_BALL], b[BODY_BALL], share);
    shown->angular_velocity = quat_nlerp(p[BODY_SPIN], q[BODY_SPIN], share);
    return true;
}

static bool show(Play *play, JudderPlayer player, f64 now_s, Shown *shown)
{
    u64 newest = snapshot_receiver_tick(play->receiver);
    bool good = false;
    if (player == JUDDER_OURS) {
        good = show_ours(play, now_s, shown);
    } else if (player == JUDDER_NEWEST) {
        good = show_linear(play, 1e18, shown);
    } else if (play->begun) {
        f64 behind = (f64)(TICK_RATE / 30);
        good = show_linear(
            play, (f64)play->first_tick + (now_s - play->first_s) * TICK_RATE - behind, shown);
    }
    shown->starved = shown->tick >= (f64)newest;
    return good;
}

/* ---- measuring ---- */

typedef struct Series {
    f64 *values;
    u32 count;
} Series;

static void series_add(Series *series, f64 value)
{
    series->values[series->count++] = fabs(value);
}

/* Sorts the series. */
static f64 series_quantile(Series *series, f64 q)
{
    if (series->count == 0) {
        return 0.0;
    }
    qsort(series->values, series->count, sizeof *series->values, f64_compare);
    return series->values[u32_min((u32)(q * series->count), series->count - 1)];
}

/* Rotation angle from a to b about (1, 1, 1). */
static f64 rotated(Quat a, Quat b)
{
    Quat d = quat_mul(b, quat_conjugate(a));
    f64 along = ((f64)d.x + (f64)d.y + (f64)d.z) / sqrt(3.0);
    f64 angle = 2.0 * atan2(along, (f64)d.w);
    return angle > 3.14159265    ? angle - 6.28318531
           : angle < -3.14159265 ? angle + 6.28318531
                                 : angle;
}

typedef struct Measure {
    Series even, ball, angular_velocity, delay;
    Shown last[2]; /* the previous two frames, newer first */
    u32 seen, starved;
    Judder judder;
} Measure;

static void measure(Measure *m, const Play *play, f64 now_s, const Shown *shown)
{
    const f64 per_s2 = (f64)PICTURES * PICTURES;
    Judder *j = &m->judder;
    const Shown *b = &m->last[0], *a = &m->last[1];
    if (m->seen >= 2) {
        series_add(&m->even, ((f64)shown->even.x - 2 * (f64)b->even.x + (f64)a->even.x) * per_s2);
        f64 fall = ((f64)shown->ball.y - 2 * (f64)b->ball.y + (f64)a->ball.y) * per_s2;
        f64 arc_s = 2.0 * BOUNCE_M_S / GRAVITY, phase = ball_phase(b->tick);
        if (phase > NEAR_BOUNCE_S && phase < arc_s - NEAR_BOUNCE_S) {
            series_add(&m->ball, fall + GRAVITY);
        }
        f64 angular_velocity = rotated(b->angular_velocity, shown->angular_velocity) -
                               rotated(a->angular_velocity, b->angular_velocity);
        series_add(&m->angular_velocity, angular_velocity * per_s2);
        j->went_back |= shown->tick < b->tick;
    }
    series_add(&m->delay, 1e3 * (tick_known(play, now_s) - shown->tick) / TICK_RATE);
    j->depth_mm = fmax(j->depth_mm, -1e3 * (f64)shown->ball.y);
    f64 error_m = (f64)vec3_distance(shown->even, even_at(shown->tick));
    j->error_mm = fmax(j->error_mm, 1e3 * error_m);
    m->starved += shown->starved;
    m->last[1] = m->last[0];
    m->last[0] = *shown;
    m->seen++;
}

static void measure_finish(Measure *m)
{
    Judder *j = &m->judder;
    f64 sum = 0;
    for (u32 i = 0; i < m->delay.count; i++) {
        sum += m->delay.values[i];
    }
    j->delay_ms = m->delay.count > 0 ? sum / m->delay.count : 0.0;
    j->delay_p95_ms = series_quantile(&m->delay, 0.95);
    j->uniform_m_s2 = series_quantile(&m->even, 1.0);
    j->uniform_p99_m_s2 = series_quantile(&m->even, 0.99);
    j->throw_m_s2 = series_quantile(&m->ball, 1.0);
    j->throw_p99_m_s2 = series_quantile(&m->ball, 0.99);
    j->angular_acceleration_rad_s2 = series_quantile(&m->angular_velocity, 1.0);
    j->angular_acceleration_p99_rad_s2 = series_quantile(&m->angular_velocity, 0.99);
    j->starved = m->seen > 0 ? (f64)m->starved / m->seen : 0.0;
    free(m->even.values);
    free(m->ball.values);
    free(m->angular_velocity.values);
    free(m->delay.values);
}

static Entity entity_of(u32 body, Shape shape)
{
    Entity entity = {.id = body + 1, .first = body, .count = 1};
    entity.appearance.kind = APPEARANCE_SHAPE;
    entity.appearance.color[3] = 1.0f;
    entity.appearance.shape = shape;
    return entity;
}

static void play_begin(Play *play, const JudderNetwork *network, f64 seconds)
{
    memset(play, 0, sizeof *play);
    play->network = network;
    play->fastest_s = 1e-3 * network->delay_ms;
    stalls_make(&play->net_stalls, network->seed + 1000, network->stall_gap_s,
                network->stall_ms_min, network->stall_ms_max, seconds);
    stalls_make(&play->server_stalls, network->seed + 2000, network->server_stall_gap_s,
                network->server_stall_ms_min, network->server_stall_ms_max, seconds);
    play->fields = must(field_set_create(&bodies_field, 1));
    history_init(&play->history);
    play->cache = must(chunk_cache_create());
    play->sender = must(snapshot_sender_create(play->fields));
    play->receiver = must(snapshot_receiver_create(play->fields));
    play->timeline = must(timeline_create(play->receiver, TICK_RATE, 30));
    play->ground = must(static_colliders_create(play->fields));
    play->entities[0] =
        entity_of(BODY_BALL, (Shape){.kind = SHAPE_SPHERE, .radius = (f32)BALL_RADIUS_M});
    play->entities[1] = entity_of(BODY_GROUND, (Shape){.kind = SHAPE_PLANE});
    play->entity_list = (EntityList){.items = play->entities, .count = 2, .version = 1};
    timeline_set_static(play->timeline, play->ground);
    play->flying = must(malloc(PACKETS_MAX * sizeof *play->flying));
    for (u32 i = 0; i < PACKETS_MAX; i++) {
        play->flying[i].at_s = -1.0;
    }
    play->tick = play->next_snapshot = SERVER_FIRST;
    if (network->recorded != NULL) {
        recorded_read(play, network->recorded);
    }
}

static void play_end(Play *play)
{
    free(play->flying);
    free(play->recorded_s);
    static_colliders_destroy(play->ground);
    timeline_destroy(play->timeline);
    snapshot_receiver_destroy(play->receiver);
    snapshot_sender_destroy(play->sender);
    chunk_cache_destroy(play->cache);
    history_finish(&play->history);
    field_set_release(play->fields);
}

Judder judder_play(const JudderNetwork *network, JudderPlayer player, f64 seconds)
{
    Play *play = must(malloc(sizeof *play));
    play_begin(play, network, seconds);
    u32 pictures = (u32)(seconds * PICTURES);
    Measure m = {0};
    Series *series[] = {&m.even, &m.ball, &m.angular_velocity, &m.delay};
    for (u32 i = 0; i < PL_COUNT(series); i++) {
        series[i]->values = must(calloc(pictures + 1, sizeof(f64)));
    }
    /* An arbitrary phase between display and server. */
    for (u32 i = 0; i < pictures; i++) {
        f64 now_s = ((f64)i + 0.37) / PICTURES;
        u32 late = (u32)(UP_S * PICTURES + 1.0);
        if (i >= late) {
            snapshot_sender_ack(play->sender, play->acks[(i - late) % PICTURES], NULL);
        }
        server_run(play, now_s);
        receive(play, now_s);
        play->acks[i % PICTURES] = snapshot_receiver_ack(play->receiver);
        Shown shown = {0};
        if (show(play, player, now_s, &shown) && now_s >= WARM_UP_S) {
            measure(&m, play, now_s, &shown);
        }
    }
    measure_finish(&m);
    play_end(play);
    free(play);
    return m.judder;
}
