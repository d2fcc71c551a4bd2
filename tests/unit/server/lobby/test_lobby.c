/*
 * test_lobby.c: the list of a lobby: how worlds are added and removed, refused announcements,
 * pages. The test plays servers: it signs announcements and answers questions.
 */
#include "server/lobby/lobby.h"
#include "shared/base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    NOW_S = 1000000,
    QUESTIONS_MAX = 64,
    SERVERS = 8,
    HOME = 0x0100000A /* 10.0.0.1 */
};

typedef struct Question {
    LobbyAddress to;
    u8 data[INQUIRY_BYTES];
} Question;

typedef struct Stage {
    Lobby *lobby;
    LobbyTime time;
    u8 public_key[TOKEN_PUBLIC_BYTES], secret_key[TOKEN_SECRET_BYTES];
    Identity servers[SERVERS];
    Question questions[QUESTIONS_MAX]; /* [asked] */
    u32 asked;
    u64 unix_ms; /* of the last announcement */
} Stage;

static Stage stage;

static void on_send(void *context, LobbyAddress to, const void *data, u32 bytes)
{
    PL_UNUSED(context);
    assert_true(stage.asked < QUESTIONS_MAX);
    assert_int_equal(bytes, INQUIRY_BYTES);
    stage.questions[stage.asked].to = to;
    memcpy(stage.questions[stage.asked++].data, data, bytes);
}

static void stage_open(u32 worlds_max, u32 per_address, const char *revoked)
{
    ErrorText error = {0};
    memset(&stage, 0, sizeof stage);
    assert_int_equal(seal_start(), 0);
    token_keygen(stage.public_key, stage.secret_key);
    for (u32 i = 0; i < SERVERS; i++) {
        identity_create(&stage.servers[i]);
    }
    LobbyOptions options = {
        .worlds_max = worlds_max, .per_address = per_address, .revoked = revoked, .send = on_send};
    memcpy(options.key, stage.public_key, sizeof options.key);
    stage.time = (LobbyTime){5000, NOW_S};
    stage.unix_ms = (u64)NOW_S * 1000;
    stage.lobby = lobby_create(&options, stage.time, &error);
    assert_non_null(stage.lobby);
}

static void stage_close(void)
{
    lobby_destroy(stage.lobby);
}

static WorldNotice notice_of(u32 server)
{
    WorldNotice notice = {
        .port = (u16)(7000 + server), .users = (u16)server, .places = 4, .version = "1"};
    memcpy(notice.key, stage.servers[server].public_key, sizeof notice.key);
    snprintf(notice.name, sizeof notice.name, "world %u", server);
    snprintf(notice.scene, sizeof notice.scene, server % 2 == 0 ? "even" : "odd");
    return notice;
}

static Token token_of(u32 server)
{
    Token token = {.id = 100 + server, .expiry_unix_s = NOW_S + 3600, .lobby = true};
    token.for_server = true;
    memcpy(token.server, stage.servers[server].public_key, sizeof token.server);
    return token;
}

static LobbyRefusal announce_as(const char *method, u32 server, const WorldNotice *notice,
                                const Token *token, u32 from)
{
    u8 bytes[TOKEN_SIGNED_BYTES];
    char header[ANNOUNCEMENT_BYTES_MAX];
    ErrorText error = {0};
    assert_int_equal(token_sign(token, stage.secret_key, bytes), 0);
    char *body = world_text(notice);
    assert_non_null(body);
    Announcement what = {method, ++stage.unix_ms, body, (u32)strlen(body)};
    announcement_sign(&stage.servers[server], &what, bytes, header);
    LobbyRequest request = {method, header, body, what.bytes, from};
    LobbyRefusal refusal = lobby_announce(stage.lobby, &request, stage.time, &error);
    free(body);
    return refusal;
}

static LobbyRefusal announce(u32 server, u32 from)
{
    WorldNotice notice = notice_of(server);
    Token token = token_of(server);
    return announce_as("POST", server, &notice, &token, from);
}

static void pass(u64 ms)
{
    stage.time.now_ms += ms;
    lobby_run(stage.lobby, stage.time);
}

/* Answers the last question as `server`, from `from`. */
static void answer(u32 server, LobbyAddress from)
{
    u8 out[INQUIRY_ANSWER_BYTES];
    WorldNotice notice = notice_of(server);
    assert_true(stage.asked > 0);
    inquiry_answer(&notice, stage.questions[stage.asked - 1].data, out);
    lobby_receive(stage.lobby, from, out, sizeof out, stage.time.now_ms);
}

static u32 listed(const LobbyQuery *query, WorldPage *page)
{
    static WorldNotice worlds[WORLDS_PAGE_MAX];
    ErrorText error = {0};
    char *text = lobby_page(stage.lobby, query);
    assert_non_null(text);
    assert_int_equal(world_page_read(text, strlen(text), worlds, page, &error), 0);
    free(text);
    return page->count;
}

static u32 listed_all(void)
{
    WorldPage page;
    return listed(&(LobbyQuery){0}, &page);
}

/* Announced, asked, answered. */
static void enter(u32 server)
{
    LobbyAddress at = {.host = HOME, .port = (u16)(7000 + server)};
    assert_int_equal(announce(server, HOME), LOBBY_TAKEN);
    pass(0);
    answer(server, at);
}

static void test_only_who_answers(void **state)
{
    PL_UNUSED(state);
    stage_open(100, 100, NULL);
    LobbyAddress at = {.host = HOME, .port = 7001};
    LobbyAddress elsewhere = {.host = HOME, .port = 7002}, stranger = {.host = 77, .port = 7001};
    assert_int_equal(announce(1, HOME), LOBBY_TAKEN);
    assert_int_equal(listed_all(), 0);
    pass(0);
    assert_int_equal(stage.asked, 1);
    assert_int_equal(stage.questions[0].to.host, at.host);
    assert_int_equal(stage.questions[0].to.port, at.port);
    answer(2, at); /* another key */
    answer(1, elsewhere);
    answer(1, stranger);
    stage.questions[0].data[8] ^= 1; /* another question */
    answer(1, at);
    assert_int_equal(listed_all(), 0);
    stage.questions[0].data[8] ^= 1;
    answer(1, at);
    assert_int_equal(listed_all(), 1);
    stage_close();
}

/* A lost datagram or two do no harm; silence does; and so does another address. */
static void test_checks_go_on(void **state)
{
    PL_UNUSED(state);
    stage_open(100, 100, NULL);
    LobbyAddress at = {.host = HOME, .port = 7001};
    assert_int_equal(announce(1, HOME), LOBBY_TAKEN);
    pass(0);
    pass(LOBBY_ASK_MS);
    pass(LOBBY_ASK_MS);
    assert_int_equal(stage.asked, LOBBY_ASKS_MAX);
    answer(1, at);
    assert_int_equal(listed_all(), 1);
    for (u32 i = 0; i < LOBBY_CHECK_MS / 10000; i++) {
        pass(10000);
        assert_int_equal(announce(1, HOME), LOBBY_TAKEN);
    }
    assert_int_equal(stage.asked, LOBBY_ASKS_MAX + 1); /* again after a minute */
    for (u32 i = 0; i < LOBBY_ASKS_MAX; i++) {
        assert_int_equal(listed_all(), 1);
        pass(LOBBY_ASK_MS);
    }
    assert_int_equal(listed_all(), 0);
    /* With its next announcement it is asked anew. */
    assert_int_equal(announce(1, HOME), LOBBY_TAKEN);
    pass(0);
    answer(1, at);
    assert_int_equal(listed_all(), 1);
    assert_int_equal(announce(1, HOME + 1), LOBBY_TAKEN);
    assert_int_equal(listed_all(), 0);
    stage_close();
}

static void test_expiry(void **state)
{
    PL_UNUSED(state);
    LobbyStats stats;
    stage_open(100, 100, NULL);
    enter(1);
    enter(2);
    pass(LOBBY_SILENCE_MS);
    assert_int_equal(announce(2, HOME), LOBBY_TAKEN);
    assert_int_equal(listed_all(), 2);
    pass(1);
    assert_int_equal(listed_all(), 1);
    /* A server that ends says so. */
    WorldNotice notice = notice_of(2);
    Token token = token_of(2);
    assert_int_equal(announce_as("DELETE", 2, &notice, &token, HOME), LOBBY_TAKEN);
    assert_int_equal(listed_all(), 0);
    assert_int_equal(announce_as("DELETE", 2, &notice, &token, HOME), LOBBY_TAKEN);
    lobby_stats(stage.lobby, &stats);
    assert_int_equal(stats.worlds, 0);
    assert_int_equal(stats.expired, 1);
    stage_close();
}

static void test_who_may_announce(void **state)
{
    PL_UNUSED(state);
    stage_open(100, 100, NULL);
    WorldNotice notice = notice_of(1);
    const Token good = token_of(1);
    Token token = good;
    token.lobby = false; /* a user's */
    assert_int_equal(announce_as("POST", 1, &notice, &token, HOME), LOBBY_DENIED);
    token = good;
    token.expiry_unix_s = NOW_S;
    assert_int_equal(announce_as("POST", 1, &notice, &token, HOME), LOBBY_DENIED);
    token = token_of(2); /* another server's */
    assert_int_equal(announce_as("POST", 1, &notice, &token, HOME), LOBBY_DENIED);
    /* Signed by another than it names. */
    assert_int_equal(announce_as("POST", 2, &notice, &good, HOME), LOBBY_UNSIGNED);
    /* A token for any server. */
    token = good;
    token.for_server = false;
    assert_int_equal(announce_as("POST", 1, &notice, &token, HOME), LOBBY_TAKEN);
    /* Of another lobby. */
    stage.secret_key[0] ^= 1;
    token_keygen(stage.public_key, stage.secret_key);
    assert_int_equal(announce_as("POST", 1, &notice, &good, HOME), LOBBY_UNSIGNED);
    stage_close();
}

/* What was heard on the way is of no use. */
static void test_repeats(void **state)
{
    PL_UNUSED(state);
    stage_open(100, 100, NULL);
    u8 bytes[TOKEN_SIGNED_BYTES];
    char header[ANNOUNCEMENT_BYTES_MAX];
    ErrorText error = {0};
    WorldNotice notice = notice_of(1);
    Token token = token_of(1);
    assert_int_equal(token_sign(&token, stage.secret_key, bytes), 0);
    char *body = world_text(&notice);
    Announcement what = {"POST", ++stage.unix_ms, body, (u32)strlen(body)};
    announcement_sign(&stage.servers[1], &what, bytes, header);
    LobbyRequest request = {"POST", header, body, what.bytes, HOME};
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_TAKEN);
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_OLD);
    request.method = "DELETE";
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_UNSIGNED);
    request.method = "POST";
    stage.time.unix_s += ANNOUNCEMENT_SKEW_MS / 1000 + 1;
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_DENIED);
    stage.time.unix_s = NOW_S;
    body[strlen(body) - 2] ^= 1; /* says something else */
    assert_int_not_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_TAKEN);
    /* Headers that are none. */
    const size_t length = strlen(header);
    body[strlen(body) - 2] ^= 1;
    stage.time.now_ms += LOBBY_SILENCE_MS + 1; /* so that it may come again */
    lobby_run(stage.lobby, stage.time);
    for (size_t cut = 0; cut < length; cut += 7) {
        char kept = header[cut];
        header[cut] = '\0';
        assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_UNSIGNED);
        header[cut] = kept;
    }
    request.header = NULL;
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_UNSIGNED);
    request.header = header;
    assert_int_equal(lobby_announce(stage.lobby, &request, stage.time, &error), LOBBY_TAKEN);
    free(body);
    stage_close();
}

static void test_limits(void **state)
{
    PL_UNUSED(state);
    stage_open(4, 2, NULL);
    assert_int_equal(announce(1, HOME), LOBBY_TAKEN);
    assert_int_equal(announce(2, HOME), LOBBY_TAKEN);
    assert_int_equal(announce(3, HOME), LOBBY_OFTEN);
    assert_int_equal(announce(2, HOME), LOBBY_TAKEN); /* it is here already */
    assert_int_equal(announce(3, HOME + 1), LOBBY_TAKEN);
    assert_int_equal(announce(4, HOME + 1), LOBBY_TAKEN);
    assert_int_equal(announce(5, HOME + 2), LOBBY_FULL);
    u32 allowed = 0, local = 0;
    for (u32 i = 0; i < 1000; i++) {
        allowed += lobby_allowed(stage.lobby, HOME, stage.time.now_ms);
        local += lobby_allowed(stage.lobby, 0x0100007F, stage.time.now_ms);
    }
    assert_int_equal(allowed, 2 * LOBBY_SITE_S);
    assert_int_equal(local, 1000);
    stage_close();
}

static void test_revoked(void **state)
{
    PL_UNUSED(state);
    char path[] = "/tmp/plenum_revoked_XXXXXX";
    static const char line[] = "0000000000000065\n"; /* 101 */
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    stage_open(100, 100, path);
    enter(1);
    enter(2);
    assert_int_equal(write(fd, line, sizeof line - 1), sizeof line - 1);
    close(fd);
    stage.time.unix_s++;
    pass(1000);
    assert_int_equal(listed_all(), 1);
    assert_int_equal(announce(1, HOME), LOBBY_DENIED);
    assert_int_equal(announce(2, HOME), LOBBY_TAKEN);
    unlink(path);
    stage_close();
}

static void test_pages(void **state)
{
    PL_UNUSED(state);
    WorldPage page;
    stage_open(100, 100, NULL);
    for (u32 i = 0; i < SERVERS; i++) {
        enter(i);
    }
    /* Page after page brings each once. */
    LobbyQuery query = {.limit = 3};
    u32 count = 0, pages = 0;
    do {
        count += listed(&query, &page);
        assert_int_equal(page.total, SERVERS);
        query.after = true;
        memcpy(query.after_key, page.next, sizeof query.after_key);
        pages++;
    } while (page.more);
    assert_int_equal(count, SERVERS);
    assert_int_equal(pages, 3);
    assert_int_equal(listed(&(LobbyQuery){.part = "EVEN"}, &page), SERVERS / 2);
    assert_int_equal(listed(&(LobbyQuery){.part = "world 3"}, &page), 1);
    assert_int_equal(listed(&(LobbyQuery){.free = true}, &page), 4); /* 0 to 3 of 4 */
    WorldNotice locked = notice_of(0);
    Token token = token_of(0);
    locked.flags = WORLD_PASSWORD;
    assert_int_equal(announce_as("POST", 0, &locked, &token, HOME), LOBBY_TAKEN);
    assert_int_equal(listed(&(LobbyQuery){.open = true}, &page), SERVERS - 1);
    stage_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_who_answers), cmocka_unit_test(test_checks_go_on),
        cmocka_unit_test(test_expiry),           cmocka_unit_test(test_who_may_announce),
        cmocka_unit_test(test_repeats),          cmocka_unit_test(test_limits),
        cmocka_unit_test(test_revoked),          cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
