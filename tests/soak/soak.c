/*
 * soak.c: `make soak`: one server for a long time, with 64 clients that play: 24 that stay, 16 that
 * stay behind a bad network, 16 that come, spawn and go, 8 that are killed again and again. Its
 * recording meets the end of the disk (a limit of file size) within a minute. Asserted: no desync,
 * no malformed packet, no client thrown out, nobody lost that was not killed, no growth of the
 * server's memory, a recording that can be read up to where the disk was full, exit code 0. The p99
 * of a tick is at most 1.2 times the median on an idle machine, in CPU time; the wall time is
 * printed as well. Clients stand for other machines, so the thread that ticks runs on a processor
 * that they do not use. A second server with the same world and no clients, whose ticks run on the
 * same processor, shows how steady the machine is: the spread of the first may be 1.2, or 1.2 times
 * that of the second. The world is one whose load is steady: nothing in it sleeps, and it takes
 * many substeps. SOAK_MINUTES: 20.
 */
#include "shared/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/udp_proxy.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    STAYING = 24,
    BEHIND = 16, /* the bad network */
    COMING = 4,  /* groups of */
    COMING_BOTS = 4,
    KILLED = 2,
    KILLED_BOTS = 4,
    GROUPS = 2 + COMING + KILLED,
    CROWD_S = 20, /* more clients at the start, so that memory is at its height */
    SAMPLES_MAX = 24 * 3600,
    PAGE_BYTES = 64 << 10,
    FILE_BYTES = 400 << 10, /* "disk" of each file of the server */
    PARTS = 20,             /* of the time, for the line of memory */
    WARM_S = 60,            /* histories fill, places are taken */
    GROWTH_BYTES = 2 << 20
};

/* What is asked of the server's page of metrics. */
#define MEMORY        "process_resident_memory_bytes"
#define IMAGES        "plenum_rewind_bytes"
#define MALFORMED     "plenum_malformed_total"
#define FLOODED       "plenum_sessions_ended_total{reason=\"flood\"}"
#define TIMED_OUT     "plenum_sessions_ended_total{reason=\"timeout\"}"
#define JOINS         "plenum_joins_total"
#define ENTITIES      "plenum_entities"
#define WRITE_FAILING "plenum_write_failing{file=\"recording\"}"
#define TICK_MEDIAN   "plenum_tick_cost_seconds{quantile=\"0.5\"}"
#define TICK_P99      "plenum_tick_cost_seconds{quantile=\"0.99\"}"
#define CPU_MEDIAN    "plenum_tick_cpu_seconds{quantile=\"0.5\"}"
#define CPU_P99       "plenum_tick_cpu_seconds{quantile=\"0.99\"}"
#define TICKS_LATE    "plenum_ticks_late_total"

#define CROWD_BOTS "20"
#define NICE       "15" /* clients stand for other machines: the server's time is not theirs */
#define PLACES     "96"

static const f64 tick_spread_max = 1.2; /* p99 / median */

typedef struct Group {
    Process process;
    const char *bots, *name;
    u32 port, life_s; /* 0: to the end */
    bool killed, spawns;
    u64 until_ns; /* when it is killed, or has ended by itself */
    u32 runs, lost;
    f64 desyncs, malformed, connected;
} Group;

typedef struct Soak {
    Process server, lonely; /* the second has no clients */
    UdpProxy proxy;
    Group groups[GROUPS];
    Process crowd;
    u64 crowd_ns; /* its end; 0: over */
    u32 port, http, lonely_http;
    u64 end_ns;
    f64 *memory; /* [samples] bytes, without the images to rewind to: they grow with the world */
    u32 samples;
    bool full; /* /healthz told of the full disk */
    u32 failures;
    char page[PAGE_BYTES];
} Soak;

static void expect(Soak *soak, bool holds, const char *what, f64 got)
{
    printf("%s  %s: %g\n", holds ? "ok   " : "FAIL ", what, got);
    soak->failures += !holds;
}

/* ---- the server's pages ---- */

static bool page_of(Soak *soak, u32 http, const char *path)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((u16)http)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct timeval limit = {.tv_sec = 5};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t used = 0;
    ssize_t got;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) {
        dprintf(fd, "GET %s HTTP/1.0\r\n\r\n", path);
        while (used + 1 < sizeof soak->page &&
               (got = read(fd, soak->page + used, sizeof soak->page - 1 - used)) > 0) {
            used += (size_t)got;
        }
    }
    close(fd);
    soak->page[used] = 0;
    return used > 0;
}

static bool page_get(Soak *soak, const char *path)
{
    return page_of(soak, soak->http, path);
}

static f64 metric(const Soak *soak, const char *name)
{
    char start[96];
    snprintf(start, sizeof start, "\n%s ", name);
    const char *at = strstr(soak->page, start);
    return at != NULL ? strtod(at + strlen(start), NULL) : NAN;
}

static u32 free_port(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t bytes = sizeof any;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&any, sizeof any) != 0 ||
        getsockname(fd, (struct sockaddr *)&any, &bytes) != 0) {
        exit(98);
    }
    close(fd);
    return ntohs(any.sin_port);
}

/* ---- clients ---- */

static void group_start(Soak *soak, Group *group, u64 now_ns)
{
    char life[32], seed[32];
    f64 left_s = (f64)(soak->end_ns - now_ns) * 1e-9;
    f64 life_s = group->life_s > 0 && !group->killed ? fmin(group->life_s, left_s) : left_s;
    snprintf(life, sizeof life, "%.1f", fmax(life_s, 1.0));
    snprintf(seed, sizeof seed, "%u", group->port + 7 * group->runs++);
    const char *spawns = test_path("spawns.jsonl");
    process_start(&group->process, "nice", "-n", NICE, program_path("plenum-client"),
                  server_address(group->port), "--headless", "--bots", group->bots, "--name",
                  group->name, "--duration", life, "--seed", seed, "--wait", "60",
                  group->spawns ? "--do" : NULL, spawns, NULL);
    group->until_ns = now_ns + (u64)group->life_s * 1000000000ull;
}

/* The reports of the bots at their end. */
static void group_end(Group *group, int code)
{
    char *summary = file_text(group->process.out);
    f64 connected = summary != NULL ? json_number(summary, NULL, "connected", 0) : NAN;
    if (code != 0 || isnan(connected)) {
        printf("      %s: exit %d, %s\n", group->name, code, summary != NULL ? summary : "");
        group->lost++;
    } else {
        group->desyncs += json_number(summary, NULL, "desyncs", 0);
        group->malformed += json_number(summary, NULL, "malformed", 0);
        group->connected = connected;
    }
    free(summary);
    unlink(group->process.out);
    unlink(group->process.err);
}

static void groups_turn(Soak *soak, u64 now_ns)
{
    for (u32 i = 0; i < GROUPS; i++) {
        Group *group = &soak->groups[i];
        if (group->life_s == 0 || now_ns < group->until_ns ||
            now_ns + 8000000000ull > soak->end_ns) {
            continue;
        }
        if (group->killed) {
            process_signal(&group->process, SIGKILL);
            (void)process_wait(&group->process, 10.0);
        } else {
            group_end(group, process_wait(&group->process, 60.0));
        }
        group_start(soak, group, now_ns);
    }
}

static void groups_begin(Soak *soak)
{
    static const char *const names[GROUPS] = {"stay",   "behind", "come-a", "come-b",
                                              "come-c", "come-d", "kill-a", "kill-b"};
    static char counts[GROUPS][8];
    for (u32 i = 0; i < GROUPS; i++) {
        Group *group = &soak->groups[i];
        bool kill = i >= 2 + COMING;
        u32 bots = i == 0 ? STAYING : i == 1 ? BEHIND : kill ? KILLED_BOTS : COMING_BOTS;
        snprintf(counts[i], sizeof counts[i], "%u", bots);
        group->name = names[i];
        group->bots = counts[i];
        group->port = i == 1 ? soak->proxy.port : soak->port;
        group->life_s = i < 2 ? 0 : 7 + 3 * (i % 4);
        group->killed = kill;
        group->spawns = i >= 2 && !kill;
        group_start(soak, group, clock_now_ns());
    }
}

static void crowd_begin(Soak *soak)
{
    process_start(&soak->crowd, "nice", "-n", NICE, program_path("plenum-client"),
                  server_address(soak->port), "--headless", "--bots", CROWD_BOTS, "--name", "crowd",
                  "--duration", "10", "--wait", "60", NULL);
    soak->crowd_ns = clock_now_ns() + CROWD_S * 1000000000ull;
}

static void crowd_end(Soak *soak)
{
    if (soak->crowd_ns > 0 && clock_now_ns() > soak->crowd_ns) {
        expect(soak, process_wait(&soak->crowd, 60.0) == 0, "the crowd of the start; exit code", 0);
        soak->crowd_ns = 0;
    }
}

/* ---- the run ---- */

static void bind_thread(pid_t thread, const cpu_set_t *to)
{
    if (sched_setaffinity(thread, sizeof *to, to) != 0) {
        perror("soak: sched_setaffinity");
        exit(98);
    }
}

/* Everything but the last processor that this process may use, or only that one. */
static cpu_set_t processors(const cpu_set_t *all, bool last)
{
    cpu_set_t some;
    int at = 0;
    CPU_ZERO(&some);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, all) && (++at == CPU_COUNT(all)) == last) {
            CPU_SET(cpu, &some);
        }
    }
    return some;
}

/* The thread of the server that ticks; 0: none yet. */
static pid_t tick_thread(const Process *server)
{
    char folder[64], path[PATH_BYTES_MAX], name[32] = "";
    snprintf(folder, sizeof folder, "/proc/%d/task", server->pid);
    DIR *tasks = opendir(folder);
    pid_t found = 0;
    for (struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "%s/%.32s/comm", folder, task->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL &&
            strcmp(name, "plenum-tick\n") == 0) {
            found = atoi(task->d_name);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return found;
}

/* The thread that ticks runs on the last processor; all else, started already or later, shares the
 * others. With one processor all stays as it is. */
static void keep_ticks_apart(const Process *server, const cpu_set_t *all)
{
    pid_t thread = tick_thread(server);
    for (u32 i = 0; i < 100 && thread == 0; i++) {
        clock_sleep_until_ns(clock_now_ns() + 50000000ull);
        thread = tick_thread(server);
    }
    if (thread == 0) {
        fprintf(stderr, "soak: the server has no thread plenum-tick\n");
        exit(98);
    }
    if (CPU_COUNT(all) > 1) {
        cpu_set_t last = processors(all, true);
        bind_thread(thread, &last);
    }
}

/* Each file of the server ends after so many bytes, as on a small disk. */
static void server_begin(Soak *soak)
{
    char http[32];
    struct rlimit before, small;
    soak->http = free_port();
    snprintf(http, sizeof http, "127.0.0.1:%u", soak->http);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = FILE_BYTES;
    setrlimit(RLIMIT_FSIZE, &small);
    soak->port = server_start(&soak->server, "--http", http, "--max-clients", PLACES, "--reserved",
                              "0", "--log", "warn", "--record", test_path("soak.plrec"), "--audit",
                              test_path("audit.log"), "--checkpoint", test_folder(),
                              "--checkpoint-every", "7", source_path("tests/soak/soak.json"), NULL);
    setrlimit(RLIMIT_FSIZE, &before);
}

static void lonely_begin(Soak *soak)
{
    char http[32];
    soak->lonely_http = free_port();
    snprintf(http, sizeof http, "127.0.0.1:%u", soak->lonely_http);
    server_start(&soak->lonely, "--http", http, "--log", "warn",
                 source_path("tests/soak/soak.json"), NULL);
}

static void network_begin(Soak *soak)
{
    file_write(test_path("spawns.jsonl"),
               "{\"t\":1,\"spawn\":\"ball\",\"position\":[0,3,0]}\n"
               "{\"t\":1.5,\"spawn\":\"ball\",\"position\":[1,4,0]}\n"
               "{\"t\":2,\"grab\":\"box-5\"}\n{\"t\":2.5,\"move\":[0,2,0]}\n"
               "{\"t\":3,\"spawn\":\"ball\",\"position\":[0,5,1]}\n{\"t\":5,\"release\":true}\n");
    const NetsimOptions bad = {.seed = 5, .loss = 0.05, .delay_ms = 30.0, .jitter_ms = 20.0};
    if (!udp_proxy_start(&soak->proxy, soak->port, &bad)) {
        exit(98);
    }
}

/* Names change; better to hear of it at once than after twenty minutes. */
static void check_names(Soak *soak)
{
    static const char *const names[] = {MEMORY,     IMAGES,   MALFORMED,     FLOODED,     TIMED_OUT,
                                        JOINS,      ENTITIES, WRITE_FAILING, TICK_MEDIAN, TICK_P99,
                                        CPU_MEDIAN, CPU_P99,  TICKS_LATE};
    if (!page_get(soak, "/metrics")) {
        fprintf(stderr, "soak: the server gives no metrics\n");
        exit(98);
    }
    for (u32 i = 0; i < PL_COUNT(names); i++) {
        if (isnan(metric(soak, names[i]))) {
            fprintf(stderr, "soak: no metric %s\n", names[i]);
            exit(98);
        }
    }
}

static void sample(Soak *soak)
{
    if (page_get(soak, "/healthz")) {
        soak->full = soak->full || strstr(soak->page, " 200 ") == NULL;
    }
    if (page_get(soak, "/metrics") && soak->samples < SAMPLES_MAX) {
        soak->memory[soak->samples++] = metric(soak, MEMORY) - metric(soak, IMAGES);
    }
}

static f64 largest(const f64 *values, u32 from, u32 to)
{
    f64 most = 0.0;
    for (u32 i = from; i < to; i++) {
        most = fmax(most, values[i]);
    }
    return most;
}

/* Jiffies of all processors: idle, and all. */
static void machine_time(f64 *idle, f64 *all)
{
    f64 v[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL || fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &v[0], &v[1], &v[2],
                               &v[3], &v[4], &v[5], &v[6], &v[7]) != 8) {
        exit(98);
    }
    fclose(file);
    *idle = v[3] + v[4];
    *all = v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7];
}

static void check_clients(Soak *soak)
{
    f64 desyncs = 0, malformed = 0, lost = 0, kills = 0, visits = 0;
    for (u32 i = 0; i < GROUPS; i++) {
        Group *group = &soak->groups[i];
        group_end(group, process_wait(&group->process, 60.0));
        desyncs += group->desyncs;
        malformed += group->malformed;
        lost += group->lost;
        kills += group->killed ? group->runs - 1 : 0;
        visits += !group->killed && group->life_s > 0 ? group->runs : 0;
    }
    printf("      %.0f visits, %.0f kills\n", visits, kills);
    expect(soak, desyncs == 0, "desyncs", desyncs);
    expect(soak, malformed == 0, "malformed packets at clients", malformed);
    expect(soak, lost == 0, "groups of clients that ended badly", lost);
    expect(soak, soak->groups[0].connected == STAYING, "clients that stayed",
           soak->groups[0].connected);
    expect(soak, soak->groups[1].connected == BEHIND, "clients behind the bad network that stayed",
           soak->groups[1].connected);
}

static void check_server(Soak *soak)
{
    if (!page_get(soak, "/metrics")) {
        expect(soak, false, "pages of metrics", 0);
        return;
    }
    u32 quarter = soak->samples / 4, warm = quarter > WARM_S ? quarter : WARM_S;
    f64 before = largest(soak->memory, warm, warm + quarter);
    f64 after = largest(soak->memory, soak->samples - quarter, soak->samples);
    expect(soak, metric(soak, MALFORMED) == 0, "malformed packets at the server",
           metric(soak, MALFORMED));
    expect(soak, metric(soak, FLOODED) == 0, "clients thrown out for flooding",
           metric(soak, FLOODED));
    if (warm + 2 * quarter <= soak->samples) {
        expect(soak, after - before < GROWTH_BYTES,
               "growth of the server's memory in the second half, MiB",
               (after - before) / (1 << 20));
    } else {
        printf("      too short to tell whether memory grows\n");
    }
    for (u32 i = 0; i < PARTS; i++) {
        printf("%s%.1f", i == 0 ? "      largest of each twentieth, MiB: " : ", ",
               largest(soak->memory, i * soak->samples / PARTS, (i + 1) * soak->samples / PARTS) /
                   (1 << 20));
    }
    printf("\n      and %.1f MiB of images, %.0f joined, %.0f timed out, %.0f entities\n",
           metric(soak, IMAGES) / (1 << 20), metric(soak, JOINS), metric(soak, TIMED_OUT),
           metric(soak, ENTITIES));
    expect(soak, soak->full && metric(soak, WRITE_FAILING) > 0,
           "full disk, told by /healthz and /metrics; recording fails",
           metric(soak, WRITE_FAILING));
}

/* p99 / median in time of the processor; prints both. */
static f64 tick_spread(const Soak *soak, const char *whose)
{
    f64 median = metric(soak, TICK_MEDIAN), p99 = metric(soak, TICK_P99);
    f64 cpu_median = metric(soak, CPU_MEDIAN), cpu_p99 = metric(soak, CPU_P99);
    printf("      ticks %s: median %.3f ms, p99 %.3f ms; of these on a processor %.3f and %.3f ms, "
           "p99 / median %.2f; %.0f late\n",
           whose, median * 1e3, p99 * 1e3, cpu_median * 1e3, cpu_p99 * 1e3, cpu_p99 / cpu_median,
           metric(soak, TICKS_LATE));
    return cpu_p99 / cpu_median;
}

static void check_ticks(Soak *soak, f64 idle)
{
    f64 spread = tick_spread(soak, "with clients"), alone = NAN;
    if (page_of(soak, soak->lonely_http, "/metrics")) {
        alone = tick_spread(soak, "without any");
    }
    printf("      the machine was %.0f %% idle\n", 100.0 * idle);
    expect(soak, spread < tick_spread_max * fmax(alone, 1.0),
           "p99 of a tick / median, on a processor, at most 1.2 times that without clients; ratio",
           spread / alone);
    expect(soak, process_stop(&soak->lonely) == 0, "the second server's exit code is 0", 0);
}

static void check_end(Soak *soak)
{
    Process info;
    udp_proxy_stop(&soak->proxy);
    expect(soak, process_stop(&soak->server) == 0, "the server's exit code is 0", 0);
    process_start(&info, "plenum-tool", "info", test_path("soak.plrec"), NULL);
    int code = process_wait(&info, 60.0);
    expect(soak, code == 0, "the recording up to the full disk can be read; exit code", code);
}

int main(void)
{
    static Soak soak;
    const char *minutes = getenv("SOAK_MINUTES");
    f64 wanted_s = 60.0 * (minutes != NULL ? strtod(minutes, NULL) : 20.0);
    f64 idle[2], all[2];
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    soak.memory = calloc(SAMPLES_MAX, sizeof *soak.memory);
    if (!(wanted_s >= 30.0) || soak.memory == NULL) {
        fprintf(stderr, "SOAK_MINUTES: 0.5 or more\n");
        return 2;
    }
    cpu_set_t all_cpus;
    if (sched_getaffinity(0, sizeof all_cpus, &all_cpus) != 0) {
        perror("soak: sched_getaffinity");
        return 98;
    }
    if (CPU_COUNT(&all_cpus) > 1) {
        cpu_set_t others = processors(&all_cpus, false);
        bind_thread(0, &others);
    }
    server_begin(&soak);
    keep_ticks_apart(&soak.server, &all_cpus);
    lonely_begin(&soak);
    keep_ticks_apart(&soak.lonely, &all_cpus);
    network_begin(&soak);
    check_names(&soak);
    soak.end_ns = clock_now_ns() + (u64)(wanted_s * 1e9);
    groups_begin(&soak);
    crowd_begin(&soak);
    machine_time(&idle[0], &all[0]);
    printf("soak: %.1f minutes, %d clients\n", wanted_s / 60.0,
           STAYING + BEHIND + COMING * COMING_BOTS + KILLED * KILLED_BOTS);
    while (clock_now_ns() + 4000000000ull < soak.end_ns) {
        clock_sleep_until_ns(clock_now_ns() + 1000000000ull);
        groups_turn(&soak, clock_now_ns());
        crowd_end(&soak);
        sample(&soak);
    }
    machine_time(&idle[1], &all[1]);
    check_clients(&soak);
    check_server(&soak);
    check_ticks(&soak, (idle[1] - idle[0]) / (all[1] - all[0]));
    check_end(&soak);
    printf("soak: %s\n", soak.failures == 0 ? "passed" : "FAILED");
    return soak.failures == 0 ? 0 : 1;
}
