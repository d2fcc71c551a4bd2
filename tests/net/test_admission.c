/*
 * test_admission.c: admission: silent connections, limits per address, reserved places, the queue,
 * roles of loopback clients. Real sockets over loopback.
 */
#include "shared/base/clock.h"
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    SILENT = 90
};

static void finish(Rig *rig, Connection **connections, u32 count, HostStats *stats)
{
    for (u32 i = 0; i < count; i++) {
        connection_destroy(connections[i]);
    }
    host_stop(rig->host);
    assert_int_equal(rig_wait(rig), 0);
    host_stats(rig->host, stats);
    rig_stop(rig);
}

/* Clients that connect and never send a message. */
static bool silent_poll(Link **links, u32 count)
{
    static bool connected[SILENT];
    u32 there = 0;
    for (u32 i = 0; i < count; i++) {
        LinkEvent event;
        while (links[i]->ops->poll(links[i], clock_now_ns() / 1000000, &event)) {
            connected[i] = connected[i] || event.kind == LINK_CONNECTED;
        }
        links[i]->ops->flush(links[i]);
        there += connected[i];
    }
    return there >= 60; /* not all can connect */
}

/* More silent connections than the server has places for: no user is disconnected, and new users
 * can join. */
static void test_silent(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Link *silent[SILENT];
    Connection *users[2];
    HostStats stats;
    ErrorText error = {0};
    HostOptions options = {.clients_max = 4, .snapshot_rate = 30, .open_role = ROLE_PARTICIPANT};
    rig_start(&rig, &options);
    users[0] = rig_connect(&rig, "first");
    assert_true(rig_until(users, 1, CONNECTION_LIVE));
    for (u32 i = 0; i < SILENT; i++) {
        silent[i] = link_enet_connect(rig.address, NULL, &error);
        assert_non_null(silent[i]);
    }
    u64 end = clock_now_ns() + 10000000000ull;
    while (!silent_poll(silent, SILENT)) {
        assert_true(clock_now_ns() < end);
        rig_poll(users, 1, 0.003);
    }
    users[1] = rig_connect(&rig, "second");
    end = clock_now_ns() + 15000000000ull;
    while (connection_state(users[1]) != CONNECTION_LIVE) {
        assert_true(clock_now_ns() < end);
        silent_poll(silent, SILENT); /* they stay connected */
        rig_poll(users, 2, 0.003);
    }
    assert_int_equal(connection_state(users[0]), CONNECTION_LIVE);
    for (u32 i = 0; i < SILENT; i++) {
        silent[i]->ops->destroy(silent[i]);
    }
    finish(&rig, users, 2, &stats);
    assert_int_equal(stats.joined, 2);
    assert_true(stats.refused > 0);
}

static void test_per_address(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[3];
    HostStats stats;
    HostOptions options = {.clients_max = 8,
                           .snapshot_rate = 30,
                           .open_role = ROLE_PARTICIPANT,
                           .limits = {.per_address = 2, .joins_minute = 5, .local = true}};
    rig_start(&rig, &options);
    for (u32 i = 0; i < 2; i++) {
        users[i] = rig_connect(&rig, "user");
    }
    assert_true(rig_until(users, 2, CONNECTION_LIVE));
    users[2] = rig_connect(&rig, "third");
    assert_true(rig_until(users + 2, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(users[2])->text, "too many users from your address"));
    /* When one leaves another may join, but at most five attempts a minute. */
    connection_destroy(users[1]);
    connection_destroy(users[2]);
    rig_poll(users, 1, 0.3);
    users[1] = rig_connect(&rig, "again");
    assert_true(rig_until(users + 1, 1, CONNECTION_LIVE));
    users[2] = rig_connect(&rig, "fifth");
    assert_true(rig_until(users + 2, 1, CONNECTION_CLOSED));
    connection_destroy(users[2]);
    users[2] = rig_connect(&rig, "sixth");
    assert_true(rig_until(users + 2, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(users[2])->text, "too many attempts"));
    finish(&rig, users, 3, &stats);
    assert_int_equal(stats.joined, 3);
}

/* Two places, one reserved: a participant must queue, an operator joins. */
static void test_queue(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[6];
    HostStats stats;
    HostOptions options = {.clients_max = 4,
                           .snapshot_rate = 30,
                           .open_role = ROLE_PARTICIPANT,
                           .reserved = 1,
                           .queue_max = 2};
    rig_start(&rig, &options);
    for (u32 i = 0; i < 3; i++) {
        users[i] = rig_connect(&rig, "user");
    }
    assert_true(rig_until(users, 3, CONNECTION_LIVE));
    for (u32 i = 3; i < 5; i++) {
        u32 waiting = 0;
        users[i] = rig_connect(&rig, "waits");
        assert_true(rig_until(users + i, 1, CONNECTION_JOINING));
        u64 end = clock_now_ns() + 10000000000ull;
        while (connection_queue(users[i], &waiting) == 0) {
            assert_true(clock_now_ns() < end);
            rig_poll(users, i + 1, 0.01);
        }
        assert_int_equal(connection_queue(users[i], &waiting), i - 2);
        assert_int_equal(waiting, i - 2);
    }
    users[5] = rig_connect(&rig, "too late");
    assert_true(rig_until(users + 5, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(users[5])->text, "full"));
    /* The first in the queue joins next. */
    connection_destroy(users[0]);
    users[0] = users[5];
    assert_true(rig_until(users + 3, 1, CONNECTION_LIVE));
    rig_poll(users, 5, 2.2);
    u32 waiting;
    assert_int_equal(connection_queue(users[4], &waiting), 1);
    assert_int_equal(connection_state(users[4]), CONNECTION_JOINING);
    u32 count;
    (void)connection_users(users[3], &count);
    assert_int_equal(count, 3);
    finish(&rig, users, 5, &stats);
}

static Connection *connect_with(Rig *rig, const char *password)
{
    ErrorText error = {0};
    ConnectionOptions options = {.name = "user"};
    snprintf(options.password, sizeof options.password, "%s", password);
    Link *link = link_enet_connect(rig->address, NULL, &error);
    assert_non_null(link);
    return connection_create(link, &options, &error);
}

static void test_password(void **state)
{
    PL_UNUSED(state);
    static const char *const wrong[] = {"", "correct", "correct horses", "Correct horse"};
    Rig rig;
    HostStats stats;
    Connection *users[2];
    HostOptions options = {.clients_max = 1,
                           .snapshot_rate = 30,
                           .open_role = -1,
                           .queue_max = 1,
                           .password = "correct horse"};
    rig_start(&rig, &options);
    for (u32 i = 0; i < PL_COUNT(wrong); i++) {
        Connection *user = connect_with(&rig, wrong[i]);
        assert_true(rig_until(&user, 1, CONNECTION_CLOSED));
        assert_non_null(strstr(connection_error(user)->text, "password"));
        connection_destroy(user);
    }
    users[0] = connect_with(&rig, "correct horse");
    assert_true(rig_until(users, 1, CONNECTION_LIVE));
    users[1] = connect_with(&rig, "correct horse"); /* the queue applies after the password */
    u64 end = clock_now_ns() + 10000000000ull;
    u32 waiting = 0;
    while (connection_queue(users[1], &waiting) == 0) {
        assert_true(clock_now_ns() < end);
        rig_poll(users, 2, 0.01);
    }
    connection_destroy(users[0]);
    assert_true(rig_until(users + 1, 1, CONNECTION_LIVE));
    finish(&rig, users + 1, 1, &stats);
    assert_int_equal(stats.joined, 2);
}

static Role joined_role(const HostOptions *options)
{
    Rig rig;
    HostStats stats;
    rig_start(&rig, options);
    Connection *user = rig_connect(&rig, "user");
    assert_true(rig_until(&user, 1, CONNECTION_LIVE));
    Role role = connection_role(user);
    finish(&rig, &user, 1, &stats);
    return role;
}

static void test_local_role(void **state)
{
    PL_UNUSED(state);
    HostOptions options = {.clients_max = 2, .snapshot_rate = 30, .open_role = -1};
    assert_int_equal(joined_role(&options), ROLE_PARTICIPANT);
    options.local_role = ROLE_OPERATOR;
    assert_int_equal(joined_role(&options), ROLE_OPERATOR);
    options.open_role = ROLE_ADMIN;
    assert_int_equal(joined_role(&options), ROLE_ADMIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent),     cmocka_unit_test(test_per_address),
        cmocka_unit_test(test_queue),      cmocka_unit_test(test_password),
        cmocka_unit_test(test_local_role),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
