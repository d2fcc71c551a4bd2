/*
 * fuzz_lobby.c: a lobby meets strangers: announcements with any header and body, bodies that a
 * server with a token signed, datagrams, queries, time. A world is listed only if its address has
 * answered with its key; each page can be read again; a list of a stranger harms no client.
 */
#include "server/lobby/lobby.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"

#include <stdlib.h>

enum {
    WORLDS_MAX = 6,
    NOW_S = 1000000,
    BODY_MAX = 700
};

static u8 public_key[TOKEN_PUBLIC_BYTES], secret_key[TOKEN_SECRET_BYTES];
static u8 token_bytes[TOKEN_SIGNED_BYTES];
static Identity servers[2];
static u8 question[INQUIRY_BYTES]; /* the last one */
static LobbyAddress asked;
static u32 answered[2]; /* right answers to questions about each server */

static void prepare(void)
{
    CHECK(seal_start() == 0);
    token_keygen(public_key, secret_key);
    identity_create(&servers[0]);
    identity_create(&servers[1]);
    Token token = {.id = 1, .expiry_unix_s = NOW_S + 1000000, .lobby = true};
    CHECK(token_sign(&token, secret_key, token_bytes) == 0);
}

static void on_send(void *context, LobbyAddress to, const void *data, u32 bytes)
{
    PL_UNUSED(context);
    CHECK(bytes == sizeof question);
    memcpy(question, data, sizeof question);
    asked = to;
}

/* A body that begins as the input says and, if it wants, is a world of a server. */
static u32 body_write(Feed *feed, u32 who, bool whole, char *body)
{
    u32 bytes;
    const u8 *data = feed_bytes(feed, &bytes);
    if (!whole) {
        memcpy(body, data, bytes);
        return bytes;
    }
    WorldNotice notice = {.port = (u16)(1 + bytes), .host = feed_u8(feed), .places = 4};
    memcpy(notice.key, servers[who].public_key, sizeof notice.key);
    memcpy(notice.name, data, u32_min(bytes, NAME_BYTES_MAX - 1));
    WorldNotice clean = notice;
    (void)notice_text(clean.name, sizeof clean.name, notice.name);
    char *text = world_text(&clean);
    CHECK(text != NULL && strlen(text) < BODY_MAX);
    u32 length = (u32)strlen(text);
    memcpy(body, text, length + 1);
    free(text);
    return length;
}

static void announce(Feed *feed, Lobby *lobby, LobbyTime time, u32 kind)
{
    char body[BODY_MAX], header[ANNOUNCEMENT_BYTES_MAX];
    ErrorText error = {0};
    u32 who = kind & 1;
    LobbyRequest request = {.method = (kind & 2) != 0 ? "DELETE" : "POST", .body = body};
    request.bytes = body_write(feed, who, (kind & 4) != 0, body);
    request.from = feed_u8(feed);
    if ((kind & 8) != 0) {
        Announcement what = {request.method, (u64)NOW_S * 1000 + feed_u32(feed) % 100000, body,
                             request.bytes};
        announcement_sign(&servers[who], &what, token_bytes, header);
    } else {
        feed_text(feed, header, 256);
    }
    request.header = header;
    LobbyRefusal refusal = lobby_announce(lobby, &request, time, &error);
    CHECK(refusal == LOBBY_TAKEN || error.text[0] != '\0');
    CHECK(refusal != LOBBY_TAKEN || (kind & 8) != 0); /* signatures cannot be forged */
}

static void datagram(Feed *feed, Lobby *lobby, LobbyTime time, u32 kind)
{
    u8 out[INQUIRY_ANSWER_BYTES];
    LobbyAddress from = asked;
    if ((kind & 8) == 0) {
        u32 bytes;
        const u8 *data = feed_bytes(feed, &bytes);
        lobby_receive(lobby, from, data, bytes, time.now_ms);
        return;
    }
    WorldNotice notice = {.port = 1};
    memcpy(notice.key, servers[kind & 1].public_key, sizeof notice.key);
    if (inquiry_is(question, sizeof question)) {
        inquiry_answer(&notice, question, out);
        answered[kind & 1]++;
        lobby_receive(lobby, from, out, sizeof out, time.now_ms);
    }
}

static void page(Feed *feed, Lobby *lobby, u32 kind)
{
    static WorldNotice worlds[WORLDS_PAGE_MAX];
    char part[32];
    WorldPage read;
    ErrorText error = {0};
    LobbyQuery query = {.free = (kind & 1) != 0, .open = (kind & 2) != 0, .limit = kind >> 2 & 1};
    if ((kind & 8) != 0) {
        feed_text(feed, part, sizeof part);
        query.part = part;
    }
    char *text = lobby_page(lobby, &query);
    CHECK(text != NULL);
    CHECK(world_page_read(text, strlen(text), worlds, &read, &error) == ERROR_OK);
    for (u32 i = 0; i < read.count; i++) {
        u32 who = memcmp(worlds[i].key, servers[1].public_key, sizeof worlds[i].key) == 0;
        CHECK(answered[who] > 0);
    }
    free(text);
    u32 bytes;
    const u8 *data = feed_bytes(feed, &bytes);
    (void)world_page_read((const char *)data, bytes, worlds, &read, &error);
    CHECK(read.count <= WORLDS_PAGE_MAX);
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    ErrorText error = {0};
    LobbyTime time = {1, NOW_S};
    LobbyOptions options = {.worlds_max = WORLDS_MAX, .per_address = 4, .send = on_send};
    memcpy(options.key, public_key, sizeof options.key);
    memset(question, 0, sizeof question);
    memset(answered, 0, sizeof answered);
    Lobby *lobby = lobby_create(&options, time, &error);
    CHECK(lobby != NULL);
    while (feed.left > 0) {
        u32 kind = feed_u8(&feed);
        switch (kind >> 6) {
        case 0:
            announce(&feed, lobby, time, kind);
            break;
        case 1:
            datagram(&feed, lobby, time, kind);
            break;
        case 2:
            page(&feed, lobby, kind);
            break;
        default:
            time.now_ms += (kind & 63) * 500;
            time.unix_s = NOW_S + time.now_ms / 1000;
            lobby_run(lobby, time);
            break;
        }
    }
    LobbyStats stats;
    lobby_stats(lobby, &stats);
    CHECK(stats.worlds <= WORLDS_MAX && stats.listed <= stats.worlds);
    lobby_destroy(lobby);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 4096, .memory_fixed = 4 << 20};
