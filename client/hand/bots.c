/* bots.c: N connections, each polled when a packet arrived for it or its next step is due. */
#include "client/hand/bots.h"

#include "client/hand/report.h"
#include "client/link/timeline.h"
#include "shared/base/clock.h"
#include "shared/base/sort.h"
#include "shared/math/random.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ull
#define STEP_NS   16000000ull /* interval without incoming packets */
#define START_NS  4000000ull  /* between two bots, to spread the handshakes */

typedef struct Bot {
    Connection *connection;
    Hand hand;
    Script *script;
    u64 seed, counter; /* of its random numbers */
    u64 live_ns;       /* time its world arrived; 0 not yet */
    u64 stepped_ns;
    f64 until_s; /* end of its current action */
    Vec3 home;   /* position of the grab */
    bool was_live;
} Bot;

static f32 bot_random(Bot *bot, f32 low, f32 high)
{
    return random_range(bot->seed, bot->counter++, low, high);
}

static void bot_choose(Bot *bot, f64 t_s)
{
    hand_release(&bot->hand);
    bot->until_s = t_s + (f64)bot_random(bot, 1.0f, 3.0f);
    u32 count;
    const Entity *entities = connection_entities(bot->connection, &count, NULL);
    if (count == 0) {
        return;
    }
    const Entity *entity = &entities[random_u64(bot->seed, bot->counter++) % count];
    f32 dice = bot_random(bot, 0.0f, 1.0f);
    if (!entity->movable || dice < 0.3f) {
        return;
    }
    if (dice < 0.8f) {
        if (hand_grab_entity(&bot->hand, entity->id)) {
            bot->home = bot->hand.target;
        }
        return;
    }
    Pick pick = {.entity = entity->id};
    f32 strength = f32_min(entity->mass_kg, 5.0f);
    Vec3 direction = vec3(bot_random(bot, -1, 1), bot_random(bot, 0, 1), bot_random(bot, -1, 1));
    hand_push(&bot->hand, &pick, vec3_scale(direction, strength));
}

/* Drags within half a metre of the grab position, to a new target twice a second. */
static void bot_play(Bot *bot, f64 t_s)
{
    if (t_s >= bot->until_s) {
        bot_choose(bot, t_s);
    }
    if (bot->hand.grabbed != 0) {
        u64 beat = (u64)(t_s * 2.0);
        f32 x = random_range(bot->seed + 1, beat * 3, -0.5f, 0.5f);
        f32 y = random_range(bot->seed + 1, beat * 3 + 1, 0.0f, 0.7f);
        f32 z = random_range(bot->seed + 1, beat * 3 + 2, -0.5f, 0.5f);
        hand_move(&bot->hand, vec3_add(bot->home, vec3(x, y, z)));
    }
}

static void bot_step(Bot *bot, u64 now_ns)
{
    bot->stepped_ns = now_ns;
    connection_poll(bot->connection, now_ns);
    if (connection_state(bot->connection) != CONNECTION_LIVE) {
        return;
    }
    if (bot->live_ns == 0) {
        bot->live_ns = now_ns;
        bot->was_live = true;
    }
    f64 t_s = (f64)(now_ns - bot->live_ns) * 1e-9;
    if (bot->script != NULL) {
        script_step(bot->script, bot->connection, &bot->hand, t_s);
    } else {
        bot_play(bot, t_s);
    }
    ConnectionNews news;
    while (connection_news(bot->connection, &news)) {
        /* Bots discard events. */
    }
}

static bool bot_start(Bot *bot, u32 index, const BotsOptions *options, ErrorText *error)
{
    ConnectionOptions connect = {.token = options->token,
                                 .token_bytes = options->token_bytes,
                                 .identity = options->identity};
    snprintf(connect.password, sizeof connect.password, "%s", options->password);
    snprintf(connect.name, sizeof connect.name, "%.36s-%u", options->name, index + 1);
    Link *link = link_enet_connect(options->address, &options->trust, error);
    bot->connection = link != NULL ? connection_create(link, &connect, error) : NULL;
    if (bot->connection == NULL) {
        return false;
    }
    hand_init(&bot->hand, bot->connection);
    bot->seed = random_u64(options->seed, index);
    if (options->script != NULL) {
        bot->script = script_copy(options->script);
        if (bot->script == NULL) {
            error_set(error, ERROR_MEMORY, "out of memory");
            return false;
        }
    }
    return true;
}

/* ---- summary ---- */

static void put_quantiles(FILE *file, const char *name, f64 *values, u32 count)
{
    qsort(values, count, sizeof *values, f64_compare);
    f64 p50 = count > 0 ? values[count / 2] : 0.0;
    f64 p99 = count > 0 ? values[(u32)(0.99 * (f64)(count - 1) + 0.5)] : 0.0;
    fprintf(file, ", \"%s_p50\": %.3f, \"%s_p99\": %.3f", name, p50, name, p99);
}

typedef struct Summary {
    u32 connected;
    u64 sums[9];
    f64 *values[6]; /* [count] each */
    u32 count;
} Summary;

static const char *const sum_names[9] = {"snapshots",  "bytes_in",     "bytes_out",
                                         "packets_in", "packets_lost", "desyncs",
                                         "refused",    "malformed",    "ticks"};
static const char *const value_names[6] = {"rtt_ms",         "jitter_ms",       "delay_ms",
                                           "bytes_in_per_s", "snapshots_per_s", "coarse"};

static void summary_add(Summary *summary, Bot *bot, u64 now_ns)
{
    if (bot->connection == NULL || !bot->was_live) {
        return;
    }
    summary->connected += connection_state(bot->connection) == CONNECTION_LIVE;
    ConnectionStats stats;
    connection_stats(bot->connection, &stats);
    f64 seconds = fmax((f64)(now_ns - bot->live_ns) * 1e-9, 1e-3);
    const Timeline *timeline = connection_timeline(bot->connection);
    u64 sums[9] = {stats.snapshots,  stats.bytes_in,     stats.bytes_out,
                   stats.packets_in, stats.packets_lost, stats.desyncs,
                   stats.refused,    stats.malformed,    stats.tick_last - stats.tick_first};
    f64 values[6] = {stats.rtt_ms,
                     stats.jitter_ms,
                     timeline != NULL ? timeline_delay_s(timeline) * 1e3 : 0.0,
                     (f64)stats.bytes_in / seconds,
                     (f64)stats.snapshots / seconds,
                     stats.coarse};
    for (u32 i = 0; i < PL_COUNT(sums); i++) {
        summary->sums[i] += sums[i];
    }
    for (u32 i = 0; i < PL_COUNT(values); i++) {
        summary->values[i][summary->count] = values[i];
    }
    summary->count++;
}

static void summary_write(FILE *file, const BotsOptions *options, Summary *summary, f64 duration_s)
{
    fprintf(file, "{\"bots\": %u, \"connected\": %u, \"duration_s\": %.3f", options->count,
            summary->connected, duration_s);
    for (u32 i = 0; i < PL_COUNT(sum_names); i++) {
        fprintf(file, ", \"%s\": %llu", sum_names[i], (unsigned long long)summary->sums[i]);
    }
    for (u32 i = 0; i < PL_COUNT(value_names); i++) {
        put_quantiles(file, value_names[i], summary->values[i], summary->count);
    }
    fputs("}\n", file);
}

static int summarize(const BotsOptions *options, Bot *bots, u64 now_ns, f64 duration_s,
                     ErrorText *error)
{
    Summary summary = {0};
    f64 *values = calloc((size_t)options->count * PL_COUNT(value_names), sizeof *values);
    if (values == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory");
        return EXIT_CHECK_FAILED;
    }
    for (u32 i = 0; i < PL_COUNT(value_names); i++) {
        summary.values[i] = values + (size_t)i * options->count;
    }
    for (u32 i = 0; i < options->count; i++) {
        summary_add(&summary, &bots[i], now_ns);
    }
    summary_write(stdout, options, &summary, duration_s);
    fflush(stdout);
    int code = summary.connected == options->count ? EXIT_OK : EXIT_NETWORK;
    FILE *file = options->report != NULL ? fopen(options->report, "w") : NULL;
    if (file != NULL) {
        summary_write(file, options, &summary, duration_s);
        fclose(file);
    } else if (options->report != NULL) {
        error_set(error, ERROR_IO, "%s: %s", options->report, strerror(errno));
        code = EXIT_INPUT;
    }
    free(values);
    return code;
}

static void first_failure(Bot *bots, u32 count, ErrorText *error)
{
    for (u32 i = 0; i < count; i++) {
        if (bots[i].connection != NULL && connection_state(bots[i].connection) != CONNECTION_LIVE) {
            const ErrorText *why = connection_error(bots[i].connection);
            error_set(error, why->code != ERROR_OK ? why->code : ERROR_NETWORK, "bot %u: %s", i + 1,
                      why->text[0] != 0 ? why->text : "not connected in time");
            return;
        }
    }
}

/* Waits for a packet for any bot, the next step of one, or the start of the next. */
static void bots_wait(const Bot *bots, struct pollfd *waits, u32 count, u64 start_ns)
{
    u64 now_ns = clock_now_ns(), due_ns = start_ns;
    for (u32 i = 0; i < count; i++) {
        due_ns = u64_min(due_ns, bots[i].stepped_ns + STEP_NS);
        waits[i] = (struct pollfd){.fd = connection_fd(bots[i].connection), .events = POLLIN};
    }
    u64 wait_ns = due_ns > now_ns ? due_ns - now_ns : 0;
    (void)poll(waits, count, (int)((u64_min(wait_ns, STEP_NS) + 999999) / 1000000));
}

int bots_run(const BotsOptions *options, ErrorText *error)
{
    Bot *bots = calloc(options->count, sizeof *bots);
    struct pollfd *waits = calloc(options->count, sizeof *waits);
    if (bots == NULL || waits == NULL) {
        free(bots);
        free(waits);
        error_set(error, ERROR_MEMORY, "out of memory for %u bots", options->count);
        return EXIT_CHECK_FAILED;
    }
    u32 started = 0;
    u64 begin_ns = clock_now_ns(), now_ns = begin_ns, all_ns = begin_ns;
    bool failed = false;
    while (!failed && *options->stop == 0) {
        now_ns = clock_now_ns();
        while (!failed && started < options->count && now_ns - begin_ns >= started * START_NS) {
            failed = !bot_start(&bots[started], started, options, error);
            started++;
            all_ns = now_ns;
        }
        u32 closed = 0;
        for (u32 i = 0; i < started && !failed; i++) {
            if (waits[i].revents != 0 || now_ns >= bots[i].stepped_ns + STEP_NS) {
                bot_step(&bots[i], now_ns);
            }
            closed += connection_state(bots[i].connection) == CONNECTION_CLOSED;
        }
        bool over = options->duration_s > 0 && started == options->count &&
                    (f64)(now_ns - all_ns) * 1e-9 >= options->duration_s;
        if (over || closed == options->count) {
            break;
        }
        bots_wait(bots, waits, started,
                  started < options->count ? begin_ns + started * START_NS : UINT64_MAX);
    }
    int code = EXIT_NETWORK;
    if (!failed) {
        f64 duration_s = (f64)(now_ns - begin_ns) * 1e-9;
        code = summarize(options, bots, now_ns, duration_s, error);
        if (code == EXIT_NETWORK) {
            first_failure(bots, options->count, error);
        }
    }
    for (u32 i = 0; i < options->count; i++) {
        script_destroy(bots[i].script);
        connection_destroy(bots[i].connection);
    }
    free(bots);
    free(waits);
    return code;
}
