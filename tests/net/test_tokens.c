/*
 * test_tokens.c: stolen and replayed tokens against a running host: for another server, without
 * the matching key, used twice, already in use; and sessions that end when their token is revoked
 * or expires.
 */
#include "shared/base/clock.h"
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Club {
    Rig rig;
    Identity server, ada, eve;
    u8 secret[TOKEN_SECRET_BYTES]; /* signs its tokens */
    char folder[64], revoked[96], used[96];
} Club;

static void club_open(Club *club)
{
    HostOptions options = {.clients_max = 6, .snapshot_rate = 30, .open_role = -1, .tokens = true};
    memset(club, 0, sizeof *club);
    assert_int_equal(seal_start(), 0);
    identity_create(&club->server);
    identity_create(&club->ada);
    identity_create(&club->eve);
    token_keygen(options.token_key, club->secret);
    snprintf(club->folder, sizeof club->folder, "/tmp/plenum-tokens-XXXXXX");
    assert_non_null(mkdtemp(club->folder));
    snprintf(club->revoked, sizeof club->revoked, "%s/revoked", club->folder);
    snprintf(club->used, sizeof club->used, "%s/used", club->folder);
    options.identity = &club->server;
    options.tokens_revoked = club->revoked;
    options.tokens_used = club->used;
    rig_start(&club->rig, &options);
}

static void club_close(Club *club)
{
    rig_stop(&club->rig);
    unlink(club->revoked);
    unlink(club->used);
    rmdir(club->folder);
}

static Connection *try_join(Club *club, const Token *token, const Identity *identity)
{
    u8 bytes[TOKEN_SIGNED_BYTES];
    ErrorText error = {0};
    ConnectionOptions options = {
        .name = "someone", .token = bytes, .token_bytes = sizeof bytes, .identity = identity};
    assert_int_equal(token_sign(token, club->secret, bytes), 0);
    Connection *connection =
        connection_create(link_enet_connect(club->rig.address, NULL, &error), &options, &error);
    assert_non_null(connection);
    return connection;
}

static Connection *join(Club *club, const Token *token, const Identity *identity)
{
    Connection *connection = try_join(club, token, identity);
    assert_true(rig_until(&connection, 1, CONNECTION_LIVE));
    return connection;
}

/* The client is refused with this text. */
static void refused(Club *club, const Token *token, const Identity *identity, const char *why)
{
    Connection *connection = try_join(club, token, identity);
    assert_true(rig_until(&connection, 1, CONNECTION_CLOSED));
    if (strstr(connection_error(connection)->text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", connection_error(connection)->text, why);
    }
    connection_destroy(connection);
}

static Token token_new(u64 id)
{
    return (Token){.id = id, .expiry_unix_s = clock_unix_s() + 600, .role = ROLE_OPERATOR};
}

static void test_stolen(void **state)
{
    PL_UNUSED(state);
    Club club;
    club_open(&club);
    Token token = token_new(1);
    token.for_server = true;
    memcpy(token.server, club.eve.public_key, sizeof token.server);
    refused(&club, &token, NULL, "another server");
    memcpy(token.server, club.server.public_key, sizeof token.server);
    token.for_client = true;
    memcpy(token.client, club.ada.public_key, sizeof token.client);
    refused(&club, &token, NULL, "another client");
    refused(&club, &token, &club.eve, "another client");
    /* Eve shows Ada's public key, which is no secret. */
    Identity claims = club.eve;
    memcpy(claims.public_key, club.ada.public_key, sizeof claims.public_key);
    refused(&club, &token, &claims, "signature");
    Connection *ada = join(&club, &token, &club.ada);
    assert_int_equal(connection_role(ada), ROLE_OPERATOR);
    /* Her key proves that she is the same user: the old connection ends. */
    Connection *again = join(&club, &token, &club.ada);
    assert_true(rig_until(&ada, 1, CONNECTION_CLOSED));
    connection_destroy(ada);
    connection_destroy(again);
    club_close(&club);
}

static void test_replayed(void **state)
{
    PL_UNUSED(state);
    Club club;
    club_open(&club);
    /* A token without a key: anybody may use it, one connection at a time. */
    Token token = token_new(2);
    Connection *first = join(&club, &token, NULL);
    refused(&club, &token, NULL, "in use");
    connection_destroy(first);
    rig_poll(&first, 0, 0.1);
    Connection *second = join(&club, &token, NULL);
    connection_destroy(second);
    /* Valid once only, even after a restart of the server. */
    token = token_new(3);
    token.once = true;
    first = join(&club, &token, NULL);
    refused(&club, &token, NULL, "in use");
    connection_destroy(first);
    rig_poll(&first, 0, 0.1);
    refused(&club, &token, NULL, "one session");
    FILE *file = fopen(club.used, "r");
    char line[64] = "";
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    assert_int_equal(strncmp(line, "0000000000000003 ", 17), 0);
    club_close(&club);
}

static void test_revoked_and_expired(void **state)
{
    PL_UNUSED(state);
    Club club;
    club_open(&club);
    Token good = token_new(4), bad = token_new(5), brief = token_new(6);
    brief.expiry_unix_s = clock_unix_s() + 4;
    Connection *all[] = {join(&club, &good, NULL), join(&club, &bad, NULL),
                         join(&club, &brief, NULL)};
    FILE *file = fopen(club.revoked, "w");
    assert_non_null(file);
    fprintf(file, "# lost\n%016x\n", 5);
    fclose(file);
    assert_true(rig_until(all + 1, 1, CONNECTION_CLOSED));
    assert_true(rig_until(all + 2, 1, CONNECTION_CLOSED));
    assert_int_equal(connection_error(all[1])->code, ERROR_DENIED);
    assert_int_equal(connection_error(all[2])->code, ERROR_DENIED);
    rig_poll(all, 1, 0.2);
    assert_int_equal(connection_state(all[0]), CONNECTION_LIVE);
    refused(&club, &bad, NULL, "revoked");
    refused(&club, &brief, NULL, "expired");
    for (u32 i = 0; i < PL_COUNT(all); i++) {
        connection_destroy(all[i]);
    }
    club_close(&club);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stolen),
        cmocka_unit_test(test_replayed),
        cmocka_unit_test(test_revoked_and_expired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
