/* finder.c: see finder.h. */
#include "client/link/finder.h"

#include "client/link/fetch.h"
#include "protocol/session/identity_file.h"
#include "protocol/session/neighbours.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    URL_BYTES = 512,
    DATAGRAMS_PER_POLL = 1024
};

#define MS 1000000ull

struct WorldFinder {
    FinderOptions options;
    int ipv4, ipv6; /* UDP sockets; ipv6 −1: none */
    u64 lan_nonce, lan_ns;
    FoundWorld *worlds; /* [count] */
    u32 count, capacity;
    u64 ping_ns; /* when the next query may be sent */
    u32 ping_next;
    Fetch *fetch; /* of a page in progress, or NULL */
    WorldNotice *page;
    char after[IDENTITY_TEXT_BYTES]; /* "": the first page */
    u32 round;
    u64 lobby_ns;
    bool lobby_read, lobby_failed;
    ErrorText lobby_error;
};

WorldFinder *finder_create(const FinderOptions *options, ErrorText *error)
{
    int yes = 1;
    WorldFinder *finder = calloc(1, sizeof *finder);
    if (finder == NULL || seal_start() != ERROR_OK) {
        error_set(error, ERROR_MEMORY, "out of memory for the list of worlds");
        free(finder);
        return NULL;
    }
    finder->options = *options;
    finder->ipv4 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    finder->ipv6 = options->lan ? socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    finder->page = calloc(WORLDS_PAGE_MAX, sizeof *finder->page);
    seal_random(&finder->lan_nonce, sizeof finder->lan_nonce);
    if (finder->ipv4 < 0 || finder->page == NULL ||
        setsockopt(finder->ipv4, SOL_SOCKET, SO_BROADCAST, &yes, sizeof yes) != 0) {
        error_set(error, ERROR_NETWORK, "cannot open a UDP socket");
        finder_destroy(finder);
        return NULL;
    }
    return finder;
}

void finder_destroy(WorldFinder *finder)
{
    if (finder == NULL) {
        return;
    }
    if (finder->ipv4 >= 0) {
        close(finder->ipv4);
    }
    if (finder->ipv6 >= 0) {
        close(finder->ipv6);
    }
    fetch_destroy(finder->fetch);
    free(finder->page);
    free(finder->worlds);
    free(finder);
}

/* ---- the table ---- */

static FoundWorld *find(WorldFinder *finder, const u8 *key)
{
    for (u32 i = 0; i < finder->count; i++) {
        if (memcmp(finder->worlds[i].notice.key, key, IDENTITY_PUBLIC_BYTES) == 0) {
            return &finder->worlds[i];
        }
    }
    return NULL;
}

/* The world of this notice, added if it is new. NULL: no capacity. */
static FoundWorld *note(WorldFinder *finder, const WorldNotice *notice)
{
    FoundWorld *world = find(finder, notice->key);
    if (world != NULL) {
        return world;
    }
    if (finder->count == finder->capacity) {
        u32 capacity = u32_min(u32_max(2 * finder->capacity, 64), FOUND_MAX);
        FoundWorld *worlds =
            finder->count < FOUND_MAX ? realloc(finder->worlds, capacity * sizeof *worlds) : NULL;
        if (worlds == NULL) {
            return NULL;
        }
        finder->worlds = worlds;
        finder->capacity = capacity;
    }
    world = &finder->worlds[finder->count++];
    memset(world, 0, sizeof *world);
    world->notice = *notice;
    return world;
}

/* ---- datagrams ---- */

static void ask_lan(WorldFinder *finder)
{
    u8 question[INQUIRY_BYTES];
    Neighbourhood near[NEIGHBOURHOODS_MAX];
    u32 count = neighbourhoods_find(near);
    u16 port = finder->options.lan_port != 0 ? finder->options.lan_port : LAN_PORT;
    inquiry_write(finder->lan_nonce, question);
    for (u32 i = 0; i < count; i++) {
        struct sockaddr_in ipv4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 ipv6 = {
            .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = near[i].index};
        ipv4.sin_addr.s_addr = near[i].broadcast;
        if (near[i].broadcast != 0) {
            (void)sendto(finder->ipv4, question, sizeof question, MSG_DONTWAIT,
                         (const struct sockaddr *)&ipv4, sizeof ipv4);
        }
        if (finder->ipv6 >= 0 && !near[i].local &&
            inet_pton(AF_INET6, LAN_GROUP, &ipv6.sin6_addr) == 1) {
            (void)sendto(finder->ipv6, question, sizeof question, MSG_DONTWAIT,
                         (const struct sockaddr *)&ipv6, sizeof ipv6);
        }
    }
}

static void ask_world(WorldFinder *finder, FoundWorld *world, u64 now_ns)
{
    u8 question[INQUIRY_BYTES];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(world->notice.port)};
    to.sin_addr.s_addr = world->notice.host;
    seal_random(&world->nonce, sizeof world->nonce);
    world->answered = world->answered && ++world->silent <= FINDER_SILENT_MAX;
    world->asked_ns = now_ns;
    world->ask_ns = now_ns + FINDER_PING_MS * MS;
    inquiry_write(world->nonce, question);
    (void)sendto(finder->ipv4, question, sizeof question, MSG_DONTWAIT,
                 (const struct sockaddr *)&to, sizeof to);
}

/* The next of those that are due, in rotation. */
static void ask_next(WorldFinder *finder, u64 now_ns)
{
    for (u32 i = 0; i < finder->count && now_ns >= finder->ping_ns; i++) {
        finder->ping_next = finder->ping_next < finder->count ? finder->ping_next : 0;
        FoundWorld *world = &finder->worlds[finder->ping_next++];
        if (now_ns >= world->ask_ns) {
            ask_world(finder, world, now_ns);
            finder->ping_ns = u64_max(finder->ping_ns + 1000 * MS / FINDER_PINGS_PER_S,
                                      now_ns > 100 * MS ? now_ns - 100 * MS : 0);
        }
    }
}

static void answered(WorldFinder *finder, u32 host, u64 nonce, const WorldNotice *got, u64 now_ns)
{
    WorldNotice notice = *got;
    FoundWorld *world;
    if (nonce == finder->lan_nonce && finder->options.lan) {
        notice.host = notice.host != 0 ? notice.host : host;
        world = note(finder, &notice);
        if (world != NULL) { /* a near address is better than that of the lobby's list */
            world->notice = world->lan ? world->notice : notice;
            world->lan = true;
        }
        return;
    }
    world = find(finder, notice.key);
    if (world == NULL || nonce != world->nonce || world->notice.host != host) {
        return;
    }
    notice.host = world->notice.host;
    notice.port = world->notice.port; /* which may differ behind a NAT */
    world->notice = notice;
    world->answered = true;
    world->silent = 0;
    /* Answers that were processed late give too long a round trip: the shortest counts. */
    f32 ping_ms = f32_max((f32)(now_ns - world->asked_ns) * 1e-6f, 0.01f);
    bool slower = world->ping_ms > 0.0f && ping_ms > world->ping_ms;
    world->ping_ms += (ping_ms - world->ping_ms) * (slower ? 0.25f : 1.0f);
}

static void receive(WorldFinder *finder, int fd, u64 now_ns)
{
    u8 data[INQUIRY_ANSWER_BYTES + 1];
    for (u32 i = 0; fd >= 0 && i < DATAGRAMS_PER_POLL; i++) {
        struct sockaddr_storage from;
        struct sockaddr_in ipv4 = {0};
        socklen_t length = sizeof from;
        memset(&from, 0, sizeof from);
        ssize_t bytes =
            recvfrom(fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (bytes < 0) {
            return;
        }
        u64 nonce;
        WorldNotice notice;
        if (from.ss_family == AF_INET) {
            memcpy(&ipv4, &from, sizeof ipv4);
        }
        if (inquiry_read(data, (u32)bytes, &nonce, &notice) &&
            (notice.host != 0 || ipv4.sin_addr.s_addr != 0)) {
            answered(finder, ipv4.sin_addr.s_addr, nonce, &notice, now_ns);
        }
    }
}

/* ---- the lobby ---- */

/* The whole list was read: worlds no longer in it are removed. */
static void lobby_finish(WorldFinder *finder, bool failed, u64 now_ns)
{
    fetch_destroy(finder->fetch);
    finder->fetch = NULL;
    finder->after[0] = '\0';
    finder->lobby_ns = now_ns + FINDER_LOBBY_MS * MS;
    finder->lobby_read = true;
    finder->lobby_failed = failed;
    for (u32 i = finder->count; !failed && i-- > 0;) {
        if (!finder->worlds[i].lan && finder->worlds[i].round != finder->round) {
            finder->worlds[i] = finder->worlds[--finder->count];
        }
    }
}

static void page_take(WorldFinder *finder, u64 now_ns)
{
    size_t bytes;
    WorldPage page;
    const char *text = fetch_text(finder->fetch, &bytes);
    if (world_page_read(text, bytes, finder->page, &page, &finder->lobby_error) != ERROR_OK) {
        lobby_finish(finder, true, now_ns);
        return;
    }
    for (u32 i = 0; i < page.count; i++) {
        FoundWorld *world = finder->page[i].host != 0 ? note(finder, &finder->page[i]) : NULL;
        if (world != NULL) {
            world->round = finder->round;
            world->notice = world->answered ? world->notice : finder->page[i];
        }
    }
    char next[IDENTITY_TEXT_BYTES];
    identity_to_text(page.next, next);
    if (!page.more || finder->count >= FOUND_MAX || strcmp(next, finder->after) <= 0) {
        lobby_finish(finder, false, now_ns);
        return;
    }
    memcpy(finder->after, next, sizeof next);
    fetch_destroy(finder->fetch);
    finder->fetch = NULL;
}

static void lobby_poll(WorldFinder *finder, u64 now_ns)
{
    if (finder->fetch == NULL) {
        char url[URL_BYTES];
        size_t length = strlen(finder->options.lobby);
        bool slash = length > 0 && finder->options.lobby[length - 1] == '/';
        int wrote = snprintf(url, sizeof url, "%s%sworlds?limit=%d%s%s", finder->options.lobby,
                             slash ? "" : "/", WORLDS_PAGE_MAX,
                             finder->after[0] != '\0' ? "&after=" : "", finder->after);
        finder->round += finder->after[0] == '\0';
        finder->lobby_error = (ErrorText){0};
        finder->fetch = wrote > 0 && wrote < URL_BYTES
                            ? fetch_create(url, WORLDS_TEXT_BYTES_MAX, &finder->lobby_error)
                            : NULL;
        if (finder->fetch == NULL) {
            lobby_finish(finder, true, now_ns);
            return;
        }
    }
    int code = fetch_poll(finder->fetch, &finder->lobby_error);
    if (code > 0) {
        page_take(finder, now_ns);
    } else if (code < 0) {
        error_prefix(&finder->lobby_error, "%s", finder->options.lobby);
        lobby_finish(finder, true, now_ns);
    }
}

void finder_poll(WorldFinder *finder, u64 now_ns)
{
    receive(finder, finder->ipv4, now_ns);
    receive(finder, finder->ipv6, now_ns);
    if (finder->options.lan && now_ns >= finder->lan_ns) {
        finder->lan_ns = now_ns + FINDER_LAN_MS * MS;
        ask_lan(finder);
    }
    if (finder->options.lobby != NULL && now_ns >= finder->lobby_ns) {
        lobby_poll(finder, now_ns);
    }
    ask_next(finder, now_ns);
}

void finder_wait(const WorldFinder *finder, u32 ms)
{
    struct pollfd waits[] = {{.fd = finder->ipv4, .events = POLLIN},
                             {.fd = finder->ipv6, .events = POLLIN}}; /* −1 is skipped */
    (void)poll(waits, PL_COUNT(waits), (int)ms);
}

const FoundWorld *finder_worlds(const WorldFinder *finder, u32 *count)
{
    *count = finder->count;
    return finder->worlds;
}

bool finder_lobby_read(const WorldFinder *finder)
{
    return finder->lobby_read || finder->options.lobby == NULL;
}

const char *finder_lobby_error(const WorldFinder *finder)
{
    return finder->lobby_failed ? finder->lobby_error.text : NULL;
}

const char *found_text(const FoundWorld *world, char text[FOUND_TEXT_BYTES])
{
    char address[WORLD_ADDRESS_BYTES], key[IDENTITY_TEXT_BYTES];
    identity_to_text(world->notice.key, key);
    snprintf(text, FOUND_TEXT_BYTES, "plenum://%s#%s", world_address_text(&world->notice, address),
             key);
    return text;
}

int found_compare(const void *a, const void *b)
{
    const FoundWorld *x = *(const FoundWorld *const *)a, *y = *(const FoundWorld *const *)b;
    if (x->answered != y->answered) {
        return x->answered ? -1 : 1;
    }
    if (x->answered && x->ping_ms != y->ping_ms) {
        return x->ping_ms < y->ping_ms ? -1 : 1;
    }
    int order = strcmp(x->notice.name, y->notice.name);
    return order != 0 ? order : memcmp(x->notice.key, y->notice.key, sizeof x->notice.key);
}
