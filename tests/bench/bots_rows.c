/*
 * bots_rows.c: the programs themselves: a server, and 64 clients in another process that join it
 * over the loopback and drag bodies; the CPU time of both, and that nothing desyncs. The same
 * through relays, with the delay that a relay adds; and through a NATS broker.
 */
#include "client/link/connection.h"
#include "protocol/session/identity_file.h"
#include "protocol/session/inquiry.h"
#include "shared/base/clock.h"
#include "tests/bench/bench.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BOTS = 64,
    SECONDS = 5,          /* of play in a run */
    RELAYS_MAX = 16,      /* of a level */
    RELAYED_SECONDS = 20, /* of play below relays */
    HOP_TICKS = 256,
    CROWD_HZ = 5, /* snapshots a second: what one machine can play for a thousand clients */
    CROWD_SECONDS = 30,
    JOIN_SECONDS = 20, /* at most, for one more client */
};

typedef struct BotsRun {
    f64 server, client; /* % of a core; of one client */
    f64 rtt_ms, kbit_s;
    u64 desyncs;
} BotsRun;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "plenum-bench: net: %s\n", what);
    exit(EXIT_CHECK_FAILED);
}

static f64 seconds_of(const struct rusage *usage)
{
    const struct timeval *user = &usage->ru_utime, *kernel = &usage->ru_stime;
    return (f64)(user->tv_sec + kernel->tv_sec) + 1e-6 * (f64)(user->tv_usec + kernel->tv_usec);
}

/* Runs a program in the same folder as this one, or at an absolute path, and reads its output. */
typedef struct Child {
    pid_t process;
    FILE *output;
} Child;

static Child start(char *const *arguments)
{
    char own[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    int ends[2];
    if (length <= 0 || pipe2(ends, O_CLOEXEC) != 0) {
        fail("a program cannot be started");
    }
    own[length] = '\0';
    snprintf(path, sizeof path, "%s%s%s", arguments[0][0] == '/' ? "" : dirname(own),
             arguments[0][0] == '/' ? "" : "/", arguments[0]);
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it does not outlive a killed benchmark */
        int nowhere = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nowhere, STDERR_FILENO);
        execv(path, arguments);
        _exit(127);
    }
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    if (process < 0 || output == NULL) {
        fail("a program cannot be started");
    }
    return (Child){process, output};
}

/* Seconds of a core that it took, once it has ended; fails unless it ended well. */
static f64 end(Child *child, const char *otherwise)
{
    struct rusage usage;
    int status = 0;
    fclose(child->output);
    if (wait4(child->process, &status, 0, &usage) != child->process || status != 0) {
        fail(otherwise);
    }
    return seconds_of(&usage);
}

/* What follows a name in the summary of the bots. */
static f64 number_after(const char *summary, const char *name)
{
    const char *at = strstr(summary, name);
    if (at == NULL) {
        fail("the summary of the bots has changed");
    }
    return strtod(at + strlen(name), NULL);
}

static BotsRun play(void)
{
    char address[32], seconds[16], bots[16], summary[4096] = "";
    u32 port = 0;
    char *serve[] = {"plenum-server",
                     "--listen",
                     "127.0.0.1:0",
                     "--log",
                     "quiet",
                     "--reserved",
                     "0", /* all places are for bots */
                     "shared/scenes/playground.json",
                     NULL};
    char *join[] = {"plenum-client", "--headless", "--bots", bots,
                    "--duration",    seconds,      address,  NULL};
    Child server = start(serve);
    if (fscanf(server.output, "key %*64s ready %u", &port) != 1) {
        fail("the server does not start");
    }
    snprintf(address, sizeof address, "127.0.0.1:%u", port);
    snprintf(seconds, sizeof seconds, "%d", SECONDS);
    snprintf(bots, sizeof bots, "%d", BOTS);
    u64 began_ns = clock_now_ns();
    Child clients = start(join);
    if (fgets(summary, sizeof summary, clients.output) == NULL) {
        fail("the clients have nothing to tell");
    }
    f64 of_clients = end(&clients, "not all clients could join and stay"),
        wall_s = (f64)(clock_now_ns() - began_ns) * 1e-9;
    kill(server.process, SIGINT);
    f64 of_server = end(&server, "the server did not end well");
    return (BotsRun){.server = 100.0 * of_server / wall_s,
                     .client = 100.0 * of_clients / wall_s / BOTS,
                     .rtt_ms = number_after(summary, "\"rtt_ms_p50\": "),
                     .kbit_s = number_after(summary, "\"bytes_in_per_s_p50\": ") * 8e-3,
                     .desyncs = (u64)number_after(summary, "\"desyncs\": ")};
}

void bench_bots64(Bench *bench)
{
    BotsRun runs[BENCH_RUNS];
    u32 count = u32_min(bench->runs, BENCH_RUNS);
    for (u32 i = 0; i < count; i++) {
        runs[i] = play();
        if (runs[i].desyncs > 0) {
            fail("a desync");
        }
    }
    BenchRow rows[] = {{"net/bots64", BOTS, 1, "% of a core", 0, "kbit/s a client"},
                       {"net/bots64_client", BOTS, 1, "% of a core a client", 0, ""},
                       {"net/bots64_rtt", BOTS, 1, "ms", 0, ""}};
    for (u32 k = 0; k < PL_COUNT(rows); k++) {
        bench_begin(bench);
        for (u32 i = 0; i < count; i++) {
            const f64 values[] = {runs[i].server, runs[i].client, runs[i].rtt_ms};
            bench_sample(bench, values[k]);
            rows[k].rate += k == 0 ? runs[i].kbit_s / count : 0.0;
        }
        bench_print(bench, &rows[k]);
    }
}

/* ---- relays ---- */

typedef struct RelaysRun {
    f64 root; /* % of a core */
    /* µs of a core for a snapshot to a viewer, in its relay: a busy machine sends fewer, at the
     * same cost each */
    f64 relay;
    f64 between;   /* % of a core: of relays between, a relay below; 0: there are none */
    f64 hop_ms;    /* by which a tick comes later, a relay */
    f64 joins_s;   /* clients that came in a second */
    f64 snapshots; /* that all clients got */
    u64 desyncs;   /* of all clients */
} RelaysRun;

/* A tree: `between` relays of the root, if any, `count` of them or else of the root, `each` clients
 * at each of these. */
typedef struct RelaysTree {
    u32 between, count, each, seconds;
    u32 rate; /* snapshots a second; 0: as the server likes */
} RelaysTree;

/* A server or relay that has begun, and where. */
typedef struct Serving {
    Child child;
    char address[48 + IDENTITY_TEXT_BYTES]; /* HOST:PORT#KEY */
} Serving;

/* publish: where to, NULL nowhere. */
static Serving serving_published(const char *what, u32 rate, const char *publish)
{
    char operand[160], url[160], key[IDENTITY_TEXT_BYTES] = "", hertz[16];
    u32 port = 0;
    snprintf(hertz, sizeof hertz, "%u", rate > 0 ? rate : 30);
    snprintf(operand, sizeof operand, "%s", what);
    snprintf(url, sizeof url, "%s", publish != NULL ? publish : "");
    char *arguments[] = {"plenum-server",
                         "--listen",
                         "127.0.0.1:0",
                         "--log",
                         "quiet",
                         "--reserved",
                         "0",
                         "--relays",
                         "--no-lan",
                         "--max-clients",
                         "80",
                         "--snapshot-rate",
                         hertz,
                         operand,
                         "--publish",
                         url,
                         NULL};
    if (publish == NULL) {
        arguments[PL_COUNT(arguments) - 3] = NULL;
    }
    Serving begun = {.child = start(arguments)};
    if (fscanf(begun.child.output, "key %64s ready %u", key, &port) != 2) {
        fail("a server does not start");
    }
    snprintf(begun.address, sizeof begun.address, "127.0.0.1:%u#%s", port, key);
    return begun;
}

static Serving serving(const char *what, u32 rate)
{
    return serving_published(what, rate, NULL);
}

static Connection *viewer(const Serving *server)
{
    char address[32];
    ErrorText error = {0};
    ConnectionOptions options = {.name = "clock"};
    snprintf(address, sizeof address, "%.*s", (int)strcspn(server->address, "#"), server->address);
    Link *link = link_enet_connect(address, NULL, &error);
    Connection *connection = link != NULL ? connection_create(link, &options, &error) : NULL;
    if (connection == NULL) {
        fail(error.text);
    }
    return connection;
}

/* Mean of the times by which ticks arrive later from the second server than from the first. */
static f64 hop_ms(const Serving *above, const Serving *below)
{
    Connection *clients[2] = {viewer(above), viewer(below)};
    u64 at_ns[2][HOP_TICKS] = {0}, tick[2][HOP_TICKS] = {0};
    u64 until_ns = UINT64_MAX, give_up_ns = clock_now_ns() + JOIN_SECONDS * 1000000000ull;
    while (clock_now_ns() < u64_min(until_ns, give_up_ns)) {
        bool both = true;
        for (u32 i = 0; i < 2; i++) {
            ConnectionStats stats;
            u64 now_ns = clock_now_ns();
            connection_poll(clients[i], now_ns);
            connection_stats(clients[i], &stats);
            both = both && stats.tick_last > 0;
            u64 slot = stats.tick_last % HOP_TICKS;
            if (tick[i][slot] != stats.tick_last) {
                tick[i][slot] = stats.tick_last;
                at_ns[i][slot] = now_ns;
            }
        }
        if (both && until_ns == UINT64_MAX) {
            until_ns = clock_now_ns() + SECONDS * 1000000000ull;
            give_up_ns = UINT64_MAX;
        }
        usleep(100);
    }
    f64 sum = 0.0;
    u32 count = 0;
    for (u32 i = 0; i < HOP_TICKS; i++) {
        if (tick[0][i] != 0 && tick[0][i] == tick[1][i]) {
            sum += ((f64)at_ns[1][i] - (f64)at_ns[0][i]) * 1e-6;
            count++;
        }
    }
    connection_destroy(clients[0]);
    connection_destroy(clients[1]);
    if (count == 0) {
        fail("no tick came by both ways");
    }
    return sum / count;
}

static Serving relay_of(const Serving *above, u32 rate)
{
    char operand[200];
    snprintf(operand, sizeof operand, "plenum://%s", above->address);
    return serving(operand, rate);
}

/* % of a core in `wall_s` of all of them, which end. */
static f64 end_all(Serving *servers, u32 count, f64 wall_s)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < count; i++) {
        kill(servers[i].child.process, SIGINT);
        sum += 100.0 * end(&servers[i].child, "a server did not end well") / wall_s;
    }
    return sum;
}

/* Waits for the bots' summaries. */
static void bots_end(Child *clients, u32 count, RelaysRun *run)
{
    char summary[4096];
    for (u32 i = 0; i < count; i++) {
        if (fgets(summary, sizeof summary, clients[i].output) == NULL) {
            fail("the clients have nothing to tell");
        }
        run->snapshots += number_after(summary, "\"snapshots\": ");
        run->desyncs += (u64)number_after(summary, "\"desyncs\": ");
        (void)end(&clients[i], "not all clients could join and stay");
    }
}

/* Clients that a relay of this address has, asked as strangers do (inquiry.h). */
static u32 users_at(const Serving *server)
{
    u8 question[INQUIRY_BYTES], answer[INQUIRY_ANSWER_BYTES];
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct timeval patience = {.tv_sec = 1};
    u64 nonce = 1;
    WorldNotice notice = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    to.sin_port = htons((u16)strtoul(strchr(server->address, ':') + 1, NULL, 10));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    inquiry_write(nonce, question);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (sendto(fd, question, sizeof question, 0, (struct sockaddr *)&to, sizeof to) > 0 &&
        recv(fd, answer, sizeof answer, 0) == sizeof answer) {
        (void)inquiry_read(answer, sizeof answer, &nonce, &notice);
    }
    close(fd);
    return notice.users;
}

/* Clients a second, until all are in. */
static f64 joins_a_second(const Serving *relays, const RelaysTree *tree)
{
    u64 began_ns = clock_now_ns();
    u32 users = 0, wanted = tree->count * tree->each;
    while (users < wanted) {
        users = 0;
        for (u32 i = 0; i < tree->count; i++) {
            users += users_at(&relays[i]);
        }
        if (clock_now_ns() - began_ns > CROWD_SECONDS * 5000000000ull) {
            fail("not all clients could join");
        }
        usleep(50000);
    }
    return (f64)wanted / ((f64)(clock_now_ns() - began_ns) * 1e-9);
}

static RelaysRun relayed(const RelaysTree *tree)
{
    char seconds[16], bots[16], where[RELAYS_MAX][32];
    Serving between[RELAYS_MAX], relays[RELAYS_MAX];
    Serving root = serving("shared/scenes/playground.json", tree->rate);
    Child clients[RELAYS_MAX];
    RelaysRun run = {0};
    snprintf(seconds, sizeof seconds, "%u", tree->seconds);
    snprintf(bots, sizeof bots, "%u", tree->each);
    u64 began_ns = clock_now_ns();
    for (u32 i = 0; i < tree->between; i++) {
        between[i] = relay_of(&root, tree->rate);
    }
    for (u32 i = 0; i < tree->count; i++) {
        relays[i] = relay_of(tree->between > 0 ? &between[i % tree->between] : &root, tree->rate);
    }
    for (u32 i = 0; i < tree->count; i++) {
        char *join[] = {"plenum-client", "--headless", "--wait", "300", "--bots", bots,
                        "--duration",    seconds,      where[i], NULL};
        snprintf(where[i], sizeof where[i], "%.*s", (int)strcspn(relays[i].address, "#"),
                 relays[i].address);
        clients[i] = start(join);
    }
    run.joins_s = joins_a_second(relays, tree);
    run.hop_ms = hop_ms(&root, &relays[0]) / (tree->between > 0 ? 2 : 1); /* while they play */
    bots_end(clients, tree->count, &run);
    f64 wall_s = (f64)(clock_now_ns() - began_ns) * 1e-9;
    run.relay = 1e4 * end_all(relays, tree->count, wall_s) * wall_s / run.snapshots;
    run.between = end_all(between, tree->between, wall_s) / tree->count;
    run.root = end_all(&root, 1, wall_s);
    return run;
}

/* name, and with _viewer, _between, _hop and _joins behind it. */
static void relays_rows(Bench *bench, const RelaysTree *tree, const char *name)
{
    static const char *const parts[] = {"", "_viewer", "_between", "_hop", "_joins"};
    static const char *const units[] = {"% of a core", "us a snapshot", "% of a core a relay",
                                        "ms a relay", "a second"};
    RelaysRun runs[BENCH_RUNS];
    u32 count = tree->rate > 0 ? 1 : u32_min(bench->runs, BENCH_RUNS);
    for (u32 i = 0; i < count; i++) {
        runs[i] = relayed(tree);
        if (runs[i].desyncs > 0) {
            fail("a desync");
        }
    }
    for (u32 k = 0; k < PL_COUNT(parts); k++) {
        char text[64];
        snprintf(text, sizeof text, "%s%s", name, parts[k]);
        BenchRow row = {text, tree->count * tree->each, 1, units[k], 0, ""};
        bench_begin(bench);
        for (u32 i = 0; i < count; i++) {
            const f64 values[] = {runs[i].root, runs[i].relay, runs[i].between, runs[i].hop_ms,
                                  runs[i].joins_s};
            bench_sample(bench, values[k]);
        }
        if (k != 2 || tree->between > 0) {
            bench_print(bench, &row);
        }
    }
}

/* An idle one: what is left is the latency. */
void bench_hop(Bench *bench)
{
    relays_rows(bench, &(RelaysTree){0, 1, 1, RELAYED_SECONDS, 0}, "net/hop");
}

void bench_relays1(Bench *bench)
{
    relays_rows(bench, &(RelaysTree){0, 1, BOTS, RELAYED_SECONDS, 0}, "net/relays1");
}

void bench_relays4(Bench *bench)
{
    relays_rows(bench, &(RelaysTree){0, 4, BOTS, RELAYED_SECONDS, 0}, "net/relays4");
}

/* A thousand on two levels. */
void bench_relays16(Bench *bench)
{
    relays_rows(bench, &(RelaysTree){4, 16, BOTS, CROWD_SECONDS, CROWD_HZ}, "net/relays16");
}

/* ---- a broker between two servers ---- */

enum {
    WORLDS_MAX = 64
};

typedef struct BrokerRun {
    f64 root, follower, broker; /* % of a core */
    f64 lag_ms, relay_ms;       /* behind the root: what follows the broker; a plain relay */
} BrokerRun;

/* A nats-server with a store of its own. */
typedef struct Broke {
    Child child;
    char folder[64], url[64];
} Broke;

static Broke broker_start(void)
{
    Broke b = {.folder = "/tmp/plenum-bench-XXXXXX"};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof at;
    char port[16];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (mkdtemp(b.folder) == NULL || fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &length) != 0) {
        fail("no place for a broker");
    }
    close(fd);
    snprintf(port, sizeof port, "%u", ntohs(at.sin_port));
    snprintf(b.url, sizeof b.url, "nats://127.0.0.1:%s", port);
    char *arguments[] = {"/usr/sbin/nats-server",
                         "-a",
                         "127.0.0.1",
                         "-p",
                         port,
                         "-js",
                         "-sd",
                         b.folder,
                         "-l",
                         "/dev/null",
                         NULL};
    b.child = start(arguments);
    for (u32 i = 0; i < 500; i++) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bool answers = fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) == 0;
        close(fd);
        if (answers) {
            return b;
        }
        usleep(10000);
    }
    fail("nats-server does not answer (a Debian package)");
}

static f64 broker_end(Broke *b)
{
    char command[128];
    kill(b->child.process, SIGKILL);
    int status;
    struct rusage usage;
    fclose(b->child.output);
    if (wait4(b->child.process, &status, 0, &usage) < 0) {
        fail("a broker is lost");
    }
    snprintf(command, sizeof command, "rm -rf %s", b->folder);
    if (system(command) != 0) {
        fail("the broker's store stays");
    }
    return seconds_of(&usage);
}

/* Average difference of the ticks shown by the second and the first. */
static f64 behind_ms(const Serving *above, const Serving *below)
{
    Connection *clients[2] = {viewer(above), viewer(below)};
    f64 sum = 0.0;
    u32 count = 0;
    u64 began_ns = clock_now_ns(), now_ns;
    while ((now_ns = clock_now_ns()) < began_ns + SECONDS * 1000000000ull) {
        ConnectionStats stats[2];
        for (u32 i = 0; i < 2; i++) {
            connection_poll(clients[i], now_ns);
            connection_stats(clients[i], &stats[i]);
        }
        if (now_ns > began_ns + SECONDS * 300000000ull) { /* both have joined */
            sum += (f64)stats[0].tick_last - (f64)stats[1].tick_last;
            count++;
        }
        usleep(500);
    }
    connection_destroy(clients[0]);
    connection_destroy(clients[1]);
    return count > 0 ? sum / count * 1000.0 / 60.0 : 0.0;
}

/* % of a core that a server took, which ends. */
static f64 end_share(Child *child, u64 began_ns, const char *otherwise)
{
    kill(child->process, SIGINT);
    f64 took_s = end(child, otherwise);
    return 100.0 * took_s * 1e9 / (f64)(clock_now_ns() - began_ns);
}

/* `worlds` published to one broker; one of them is followed. */
static BrokerRun brokered(u32 worlds)
{
    Serving roots[WORLDS_MAX] = {0}, follower, relay;
    char url[160], above[200];
    BrokerRun run = {0};
    Broke b = broker_start();
    u64 began_ns = clock_now_ns();
    for (u32 i = 0; i < worlds; i++) {
        snprintf(url, sizeof url, "%s/world-%u", b.url, i);
        roots[i] = serving_published(
            worlds == 1 ? "shared/scenes/playground.json" : "shared/scenes/cradle.json", 0, url);
    }
    snprintf(url, sizeof url, "%s/world-0", b.url);
    follower = serving(url, 0);
    snprintf(above, sizeof above, "plenum://%s", roots[0].address);
    relay = serving(above, 0);
    run.lag_ms = behind_ms(&roots[0], &follower);
    run.relay_ms = behind_ms(&roots[0], &relay);
    (void)end_share(&relay.child, began_ns, "a relay did not end well");
    run.follower = end_share(&follower.child, began_ns, "a follower did not end well");
    for (u32 i = 0; i < worlds; i++) {
        run.root += end_share(&roots[i].child, began_ns, "a server did not end well") / worlds;
    }
    run.broker = 100.0 * broker_end(&b) * 1e9 / (f64)(clock_now_ns() - began_ns);
    return run;
}

static void broker_rows(Bench *bench, u32 worlds, const char *const names[5])
{
    BrokerRun runs[BENCH_RUNS];
    u32 count = u32_min(bench->runs, BENCH_RUNS);
    for (u32 i = 0; i < count; i++) {
        runs[i] = brokered(worlds);
    }
    BenchRow rows[] = {{names[0], worlds, 1, "% of a core a world", 0, ""},
                       {names[1], worlds, 1, "% of a core", 0, ""},
                       {names[2], worlds, 1, "% of a core", 0, ""},
                       {names[3], worlds, 1, "ms", 0, ""},
                       {names[4], worlds, 1, "ms", 0, ""}};
    for (u32 k = 0; k < PL_COUNT(rows); k++) {
        bench_begin(bench);
        for (u32 i = 0; i < count; i++) {
            const f64 values[] = {runs[i].root, runs[i].follower, runs[i].broker, runs[i].lag_ms,
                                  runs[i].relay_ms};
            bench_sample(bench, values[k]);
        }
        bench_print(bench, &rows[k]);
    }
}

void bench_nats1(Bench *bench)
{
    static const char *const names[] = {"net/nats1", "net/nats1_follower", "net/nats1_broker",
                                        "net/nats1_lag", "net/nats1_relay_lag"};
    broker_rows(bench, 1, names);
}

void bench_nats64(Bench *bench)
{
    static const char *const names[] = {"net/nats64", "net/nats64_follower", "net/nats64_broker",
                                        "net/nats64_lag", "net/nats64_relay_lag"};
    broker_rows(bench, WORLDS_MAX, names);
}
