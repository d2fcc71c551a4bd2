/* lobby.c: worlds, sorted by their keys. */
#include "server/lobby/lobby.h"

#include "server/host/token_ledger.h"
#include "shared/base/log.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

typedef struct LobbyWorld {
    WorldNotice notice;
    u64 unix_ms;  /* time of its newest announcement, by its own clock */
    u64 heard_ms; /* when that came */
    u64 token_id; /* that it showed */
    u32 from;     /* who announced it */
    bool answers; /* the address was right at the last check */
    u32 asks;     /* questions without an answer */
    u64 ask_ms;   /* when the next is due; UINT64_MAX: after its next announcement */
    u64 nonce;    /* of the last one; 0: none waits for an answer */
} LobbyWorld;

struct Lobby {
    LobbyOptions options;
    LobbyWorld **worlds; /* [count], sorted by key, room for [options.worlds_max] */
    u32 count;
    TokenLedger ledger;
    u64 ledger_s; /* of the last check of the file */
    InquiryLimits limits;
    LobbyStats stats;
};

Lobby *lobby_create(const LobbyOptions *options, LobbyTime time, ErrorText *error)
{
    u8 key[SEAL_HASH_KEY_BYTES];
    Lobby *lobby = calloc(1, sizeof *lobby);
    LobbyWorld **worlds = calloc(options->worlds_max, sizeof *worlds);
    if (lobby == NULL || worlds == NULL || seal_start() != ERROR_OK) {
        error_set(error, ERROR_MEMORY, "out of memory for %u worlds", options->worlds_max);
        free(lobby);
        free(worlds);
        return NULL;
    }
    lobby->options = *options;
    lobby->worlds = worlds;
    seal_random(key, sizeof key);
    inquiry_limits_init(&lobby->limits, key, LOBBY_SITE_S, LOBBY_ALL_S, time.now_ms);
    if (token_ledger_init(&lobby->ledger, options->revoked, NULL, time.unix_s, error) != ERROR_OK) {
        lobby_destroy(lobby);
        return NULL;
    }
    return lobby;
}

void lobby_destroy(Lobby *lobby)
{
    if (lobby == NULL) {
        return;
    }
    for (u32 i = 0; i < lobby->count; i++) {
        free(lobby->worlds[i]);
    }
    token_ledger_finish(&lobby->ledger);
    free(lobby->worlds);
    free(lobby);
}

static bool is_local(u32 host)
{
    return (ntohl(host) >> 24) == 127;
}

bool lobby_allowed(Lobby *lobby, u32 from, u64 now_ms)
{
    return is_local(from) || inquiry_allowed(&lobby->limits, net_address_v4(&from), now_ms);
}

/* ---- the table ---- */

/* Index of the first world whose key is not below `key`. */
static u32 place_of(const Lobby *lobby, const u8 *key)
{
    u32 low = 0, high = lobby->count;
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (memcmp(lobby->worlds[middle]->notice.key, key, IDENTITY_PUBLIC_BYTES) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static LobbyWorld *find(const Lobby *lobby, const u8 *key)
{
    u32 place = place_of(lobby, key);
    bool here = place < lobby->count &&
                memcmp(lobby->worlds[place]->notice.key, key, IDENTITY_PUBLIC_BYTES) == 0;
    return here ? lobby->worlds[place] : NULL;
}

static LobbyWorld *insert(Lobby *lobby, const u8 *key)
{
    LobbyWorld *world = calloc(1, sizeof *world);
    if (world == NULL) {
        return NULL;
    }
    u32 place = place_of(lobby, key);
    memmove(lobby->worlds + place + 1, lobby->worlds + place,
            (lobby->count - place) * sizeof(LobbyWorld *));
    lobby->worlds[place] = world;
    lobby->count++;
    memcpy(world->notice.key, key, sizeof world->notice.key);
    return world;
}

/* ---- announcements ---- */

/* Number of other worlds announced from this address. */
static u32 worlds_from(const Lobby *lobby, u32 from)
{
    u32 count = 0;
    for (u32 i = 0; i < lobby->count; i++) {
        count += lobby->worlds[i]->from == from;
    }
    return count;
}

static LobbyRefusal check(Lobby *lobby, const LobbyRequest *request, LobbyTime time,
                          Announcement *what, WorldNotice *notice, Token *token, ErrorText *error)
{
    TokenCheck rules = {.key = lobby->options.key, .now_unix_s = time.unix_s};
    if (world_read(request->body, request->bytes, notice, error) != ERROR_OK) {
        return LOBBY_MALFORMED;
    }
    if (request->header == NULL) {
        error_set(error, ERROR_DENIED, "expected Authorization: Plenum TIME SIGNATURE TOKEN");
        return LOBBY_UNSIGNED;
    }
    int code = announcement_verify(request->header, notice->key, &rules, what, token, error);
    if (code != ERROR_OK) {
        return code == ERROR_DENIED ? LOBBY_DENIED : LOBBY_UNSIGNED;
    }
    if (token_ledger_revoked(&lobby->ledger, token->id)) {
        error_set(error, ERROR_DENIED, "the token was revoked");
        return LOBBY_DENIED;
    }
    return LOBBY_TAKEN;
}

/* Adds or updates a world. */
static LobbyRefusal take(Lobby *lobby, const LobbyRequest *request, LobbyTime time,
                         const WorldNotice *notice, u64 unix_ms, ErrorText *error)
{
    LobbyWorld *world = find(lobby, notice->key);
    if (world == NULL) {
        if (!is_local(request->from) &&
            worlds_from(lobby, request->from) >= lobby->options.per_address) {
            error_set(error, ERROR_LIMIT, "at most %u worlds per address",
                      lobby->options.per_address);
            return LOBBY_OFTEN;
        }
        world = lobby->count < lobby->options.worlds_max ? insert(lobby, notice->key) : NULL;
        if (world == NULL) {
            error_set(error, ERROR_LIMIT, "the lobby is full");
            return LOBBY_FULL;
        }
    }
    WorldNotice seen = *notice;
    seen.host = seen.host != 0 ? seen.host : request->from;
    bool moved = seen.host != world->notice.host || seen.port != world->notice.port;
    if (moved || (!world->answers && world->ask_ms == UINT64_MAX)) {
        world->answers = false;
        world->asks = 0;
        world->ask_ms = time.now_ms;
    }
    world->notice = seen;
    world->unix_ms = unix_ms;
    world->heard_ms = time.now_ms;
    world->from = request->from;
    return LOBBY_TAKEN;
}

static void forget(Lobby *lobby, const u8 *key)
{
    u32 place = place_of(lobby, key);
    free(lobby->worlds[place]);
    lobby->count--;
    memmove(lobby->worlds + place, lobby->worlds + place + 1,
            (lobby->count - place) * sizeof(LobbyWorld *));
}

static LobbyRefusal announce(Lobby *lobby, const LobbyRequest *request, LobbyTime time,
                             ErrorText *error)
{
    WorldNotice notice;
    Token token;
    Announcement what = {request->method, 0, request->body, request->bytes};
    LobbyRefusal refusal = check(lobby, request, time, &what, &notice, &token, error);
    if (refusal != LOBBY_TAKEN) {
        return refusal;
    }
    LobbyWorld *known = find(lobby, notice.key);
    if (known != NULL && what.unix_ms <= known->unix_ms) {
        error_set(error, ERROR_STATE, "a newer announcement of this world was already received");
        return LOBBY_OLD;
    }
    if (strcmp(request->method, "DELETE") == 0) {
        if (known != NULL) {
            forget(lobby, notice.key);
        }
        return LOBBY_TAKEN;
    }
    refusal = take(lobby, request, time, &notice, what.unix_ms, error);
    if (refusal == LOBBY_TAKEN) {
        find(lobby, notice.key)->token_id = token.id;
    }
    return refusal;
}

LobbyRefusal lobby_announce(Lobby *lobby, const LobbyRequest *request, LobbyTime time,
                            ErrorText *error)
{
    LobbyRefusal refusal = announce(lobby, request, time, error);
    lobby->stats.requests[refusal]++;
    return refusal;
}

/* ---- checks ---- */

static void ask(Lobby *lobby, LobbyWorld *world, u64 now_ms)
{
    u8 question[INQUIRY_BYTES];
    LobbyAddress to = {.host = world->notice.host, .port = world->notice.port};
    if (world->asks == LOBBY_ASKS_MAX) {
        world->answers = false;
        world->nonce = 0;
        world->ask_ms = UINT64_MAX;
        return;
    }
    if (world->asks == 0) {
        seal_random(&world->nonce, sizeof world->nonce);
    }
    world->asks++;
    world->ask_ms = now_ms + LOBBY_ASK_MS;
    inquiry_write(world->nonce, question);
    lobby->options.send(lobby->options.context, to, question, sizeof question);
    lobby->stats.asked++;
}

void lobby_run(Lobby *lobby, LobbyTime time)
{
    if (time.unix_s != lobby->ledger_s) {
        lobby->ledger_s = time.unix_s;
        ErrorText why = {0};
        if (token_ledger_refresh(&lobby->ledger, &why) < 0) {
            log_warn("%s", why.text);
        }
    }
    for (u32 i = lobby->count; i-- > 0;) {
        LobbyWorld *world = lobby->worlds[i];
        if (time.now_ms > world->heard_ms + LOBBY_SILENCE_MS ||
            token_ledger_revoked(&lobby->ledger, world->token_id)) {
            lobby->stats.expired++;
            forget(lobby, world->notice.key);
        } else if (time.now_ms >= world->ask_ms) {
            ask(lobby, world, time.now_ms);
        }
    }
}

void lobby_receive(Lobby *lobby, LobbyAddress from, const void *data, u32 bytes, u64 now_ms)
{
    u64 nonce;
    WorldNotice notice;
    if (!inquiry_read(data, bytes, &nonce, &notice)) {
        return;
    }
    LobbyWorld *world = find(lobby, notice.key);
    if (world == NULL || world->nonce == 0 || nonce != world->nonce ||
        from.host != world->notice.host || from.port != world->notice.port) {
        return;
    }
    lobby->stats.answers++;
    world->answers = true;
    world->nonce = 0;
    world->asks = 0;
    world->ask_ms = now_ms + LOBBY_CHECK_MS;
}

/* ---- pages ---- */

static bool wanted(const LobbyWorld *world, const LobbyQuery *query)
{
    const WorldNotice *notice = &world->notice;
    return world->answers && (!query->free || notice->users < notice->places) &&
           (!query->open || (notice->flags & (WORLD_PASSWORD | WORLD_TOKEN)) == 0) &&
           (query->part == NULL || world_matches(notice, query->part));
}

char *lobby_page(Lobby *lobby, const LobbyQuery *query)
{
    const WorldNotice *shown[WORLDS_PAGE_MAX];
    WorldPage page = {0};
    u32 limit = u32_min(query->limit != 0 ? query->limit : LOBBY_PAGE, WORLDS_PAGE_MAX);
    for (u32 i = 0; i < lobby->count; i++) {
        const LobbyWorld *world = lobby->worlds[i];
        if (!wanted(world, query)) {
            continue;
        }
        page.total++;
        if (query->after &&
            memcmp(world->notice.key, query->after_key, sizeof query->after_key) <= 0) {
            continue;
        }
        if (page.count < limit) {
            shown[page.count++] = &world->notice;
        } else {
            page.more = true;
        }
    }
    if (page.more) {
        memcpy(page.next, shown[page.count - 1]->key, sizeof page.next);
    }
    lobby->stats.pages++;
    return world_page_text(shown, &page);
}

void lobby_stats(const Lobby *lobby, LobbyStats *out)
{
    *out = lobby->stats;
    out->worlds = lobby->count;
    for (u32 i = 0; i < lobby->count; i++) {
        out->listed += lobby->worlds[i]->answers;
    }
}
