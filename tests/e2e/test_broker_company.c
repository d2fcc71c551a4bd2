/*
 * test_broker_company.c: users of a world that is published through a NATS broker: chat, users and
 * presences, down to followers and up from them, with the programs themselves and a real
 * nats-server. What strangers publish on the same subjects is refused and counted.
 */
#include "client/link/connection.h"
#include "protocol/session/link.h"
#include "server/host/broker.h"
#include "server/host/company.h"
#include "server/host/live.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/broker_rig.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE "shared/scenes/cradle.json"

enum {
    PEOPLE_MAX = 4,
    HEARD_MAX = 64,
    WAIT_MS = 20000
};

/* A user at a server. */
typedef struct Person {
    Connection *connection;
    const char *name;
    char heard[HEARD_MAX][TEXT_BYTES_MAX];
    u32 heard_count;
} Person;

typedef struct People {
    Person all[PEOPLE_MAX];
    u32 count;
} People;

static void people_run(People *people, u32 ms)
{
    u64 until_ns = clock_now_ns() + (u64)ms * 1000000u;
    while (clock_now_ns() < until_ns) {
        for (u32 i = 0; i < people->count; i++) {
            Person *person = &people->all[i];
            ConnectionNews news;
            if (person->connection == NULL) {
                continue;
            }
            connection_poll(person->connection, clock_now_ns());
            while (connection_news(person->connection, &news)) {
                if (news.text[0] != '\0' && person->heard_count < HEARD_MAX) {
                    memcpy(person->heard[person->heard_count++], news.text, sizeof news.text);
                }
            }
        }
        rig_rest_ms(4);
    }
}

static Person *person_join(People *people, const char *name, u32 port)
{
    ErrorText error = {0};
    ConnectionOptions options = {0};
    Person *person = &people->all[people->count++];
    snprintf(options.name, sizeof options.name, "%s", name);
    memset(person, 0, sizeof *person);
    person->name = name;
    Link *link = link_enet_connect(server_address(port), NULL, &error);
    person->connection = link != NULL ? connection_create(link, &options, &error) : NULL;
    assert_non_null(person->connection);
    for (u32 i = 0; i < 500 && connection_state(person->connection) != CONNECTION_LIVE; i++) {
        people_run(people, 20);
    }
    assert_int_equal(connection_state(person->connection), CONNECTION_LIVE);
    return person;
}

static void people_leave(People *people)
{
    for (u32 i = 0; i < people->count; i++) {
        connection_destroy(people->all[i].connection);
    }
}

static u32 times_heard(const Person *person, const char *text)
{
    u32 times = 0;
    for (u32 i = 0; i < person->heard_count; i++) {
        times += strcmp(person->heard[i], text) == 0;
    }
    return times;
}

static u32 users_of(const Person *person)
{
    u32 count;
    (void)connection_users(person->connection, &count);
    return count;
}

static const UserInfo *user_named(const Person *person, const char *name)
{
    u32 count;
    const UserInfo *users = connection_users(person->connection, &count);
    for (u32 i = 0; i < count; i++) {
        if (strcmp(users[i].name, name) == 0) {
            return &users[i];
        }
    }
    return NULL;
}

/* Waits until all know `count` users. */
static void all_know(People *people, u32 count)
{
    u64 until_ns = clock_now_ns() + WAIT_MS * 1000000ull;
    for (u32 i = 0; i < people->count; i++) {
        const Person *person = &people->all[i];
        while (person->connection != NULL && users_of(person) != count) {
            if (clock_now_ns() > until_ns) {
                fail_msg("%s knows %u users, expected %u", person->name, users_of(person), count);
            }
            people_run(people, 30);
        }
    }
}

static void hear(People *people, Person *person, const char *text)
{
    u64 until_ns = clock_now_ns() + WAIT_MS * 1000000ull;
    while (times_heard(person, text) == 0) {
        if (clock_now_ns() > until_ns) {
            fail_msg("%s does not hear \"%s\"", person->name, text);
        }
        people_run(people, 20);
    }
}

static bool sees_eye(const Person *person, const char *whose, f32 y)
{
    u32 count;
    const UserInfo *user = user_named(person, whose);
    const Presence *presences = connection_presences(person->connection, &count);
    for (u32 i = 0; user != NULL && i < count; i++) {
        if (presences[i].user == user->id && presences[i].eye.y == y) {
            return true;
        }
    }
    return false;
}

static void look_from(Person *person, f32 y)
{
    SnapshotView view = {.eye = {1.0f, y, 3.0f}, .forward = {0, 0, -1}, .pixels_per_radian = 800};
    connection_view(person->connection, &view, (Ray){.origin = view.eye, .direction = view.forward},
                    true);
}

static void see(People *people, const Person *person, const char *whose, f32 y)
{
    u64 until_ns = clock_now_ns() + WAIT_MS * 1000000ull;
    while (!sees_eye(person, whose, y)) {
        if (clock_now_ns() > until_ns) {
            fail_msg("%s does not see where %s looks", person->name, whose);
        }
        people_run(people, 20);
    }
}

static void say(Person *person, const char *text)
{
    assert_int_equal(connection_chat(person->connection, text), 0);
}

/* A world and two that follow it; a user at each. */
typedef struct Sites {
    RigBroker broker;
    Process root, leaves[2];
    u32 ports[3], http[3];
    People people;
    Person *high, *ada, *bob;
} Sites;

static void sites_start(Sites *s, const char *world, const char *speak)
{
    char http[3][32];
    memset(s, 0, sizeof *s);
    for (u32 i = 0; i < 3; i++) {
        s->http[i] = rig_free_port(http[i], sizeof http[i]);
    }
    rig_broker_new(&s->broker, world);
    s->ports[0] =
        server_start(&s->root, "--http", http[0], "--publish", s->broker.url, SCENE, speak, NULL);
    for (u32 i = 0; i < 2; i++) {
        s->ports[1 + i] = server_start(&s->leaves[i], "--http", http[1 + i], s->broker.url, NULL);
    }
    s->high = person_join(&s->people, "high", s->ports[0]);
    s->ada = person_join(&s->people, "ada", s->ports[1]);
    s->bob = person_join(&s->people, "bob", s->ports[2]);
}

static void sites_stop(Sites *s)
{
    people_leave(&s->people);
    for (u32 i = 0; i < 2; i++) {
        if (s->leaves[i].pid != 0) {
            assert_int_equal(process_stop(&s->leaves[i]), 0);
        }
    }
    assert_int_equal(process_stop(&s->root), 0);
    rig_broker_down(&s->broker, SIGTERM);
}

static void nobody_hears_twice(const People *people)
{
    for (u32 i = 0; i < people->count; i++) {
        const Person *person = &people->all[i];
        for (u32 k = 0; k < person->heard_count; k++) {
            if (times_heard(person, person->heard[k]) != 1) {
                fail_msg("%s hears \"%s\" %u times", person->name, person->heard[k],
                         times_heard(person, person->heard[k]));
            }
        }
    }
}

/* All users see and hear each other, once; a user muted at the root is not heard. */
static void test_company(void **state)
{
    PL_UNUSED(state);
    static Sites s;
    sites_start(&s, "company", "--relays");
    all_know(&s.people, 3);
    /* Ids at each place are of its own users, or of a level above. */
    assert_int_equal(user_named(s.ada, "high")->id,
                     connection_user(s.high->connection) + (1u << RELAY_LEVEL_SHIFT));
    assert_int_equal(user_named(s.ada, "ada")->id, connection_user(s.ada->connection));
    assert_int_equal(user_named(s.ada, "bob")->id,
                     user_named(s.high, "bob")->id + (1u << RELAY_LEVEL_SHIFT));
    assert_true(user_named(s.high, "ada")->id < 1u << RELAY_LEVEL_SHIFT);
    /* An operator where it joined, and no more than a participant above. */
    assert_int_equal(user_named(s.ada, "ada")->role, ROLE_OPERATOR);
    assert_int_equal(user_named(s.high, "ada")->role, ROLE_PARTICIPANT);
    static const char *const texts[] = {"hello from the root", "hello from ada", "hello from bob"};
    for (u32 i = 0; i < 3; i++) {
        say(&s.people.all[i], texts[i]);
        for (u32 k = 0; k < 3; k++) {
            hear(&s.people, &s.people.all[k], texts[i]);
        }
    }
    look_from(s.high, 2.0f);
    look_from(s.ada, 4.0f);
    see(&s.people, s.ada, "high", 2.0f);
    see(&s.people, s.bob, "high", 2.0f);
    see(&s.people, s.high, "ada", 4.0f);
    see(&s.people, s.bob, "ada", 4.0f);
    /* Two of one name are told apart. */
    Person *other = person_join(&s.people, "ada", s.ports[2]);
    all_know(&s.people, 4);
    assert_non_null(user_named(s.high, "ada 2"));
    assert_non_null(user_named(s.ada, "ada 2"));
    connection_destroy(other->connection);
    other->connection = NULL;
    all_know(&s.people, 3);
    say(s.high, "/mute ada 1m");
    people_run(&s.people, 1000);
    say(s.ada, "nobody may hear this");
    say(s.bob, "after ada");
    hear(&s.people, s.high, "after ada");
    assert_int_equal(times_heard(s.high, "nobody may hear this"), 0);
    assert_int_equal(times_heard(s.bob, "nobody may hear this"), 0);
    /* A follower that dies takes its users with it. */
    process_signal(&s.leaves[1], SIGKILL);
    (void)process_wait(&s.leaves[1], 5.0);
    connection_destroy(s.bob->connection);
    s.bob->connection = NULL;
    all_know(&s.people, 2);
    nobody_hears_twice(&s.people);
    assert_true(rig_metric(s.http[0], "plenum_broker_refused_total") == 0.0);
    assert_true(rig_metric(s.http[1], "plenum_broker_refused_total") == 0.0);
    sites_stop(&s);
}

static void hear_both_ways_but_up(Sites *s)
{
    say(s->ada, "is anybody here");
    hear(&s->people, s->ada, "is anybody here");
    say(s->high, "hello below");
    hear(&s->people, s->ada, "hello below");
    hear(&s->people, s->bob, "hello below");
    assert_int_equal(times_heard(s->high, "is anybody here"), 0);
    assert_int_equal(times_heard(s->bob, "is anybody here"), 0);
}

/* Without --relays followers hear and see the root's users, and are not heard. */
static void test_not_allowed(void **state)
{
    PL_UNUSED(state);
    static Sites s;
    sites_start(&s, "quiet", NULL);
    s.people.count = 1; /* at the root */
    all_know(&s.people, 1);
    s.people.count = 3;
    hear_both_ways_but_up(&s);
    assert_int_equal(users_of(s.high), 1);
    assert_int_equal(users_of(s.ada), 2);
    assert_non_null(user_named(s.ada, "high"));
    look_from(s.high, 2.0f);
    see(&s.people, s.ada, "high", 2.0f);
    sites_stop(&s);
}

/* The broker stops, and dies: the world ticks on, its users talk; then all is as before. */
static void test_dead_broker(void **state)
{
    PL_UNUSED(state);
    static Sites s;
    sites_start(&s, "dead", "--relays");
    all_know(&s.people, 3);
    process_signal(&s.broker.process, SIGSTOP);
    f64 tick = rig_metric(s.http[0], "plenum_world_tick");
    u64 began_ns = clock_now_ns();
    for (u32 i = 0; i < 8; i++) {
        char text[32];
        snprintf(text, sizeof text, "into silence %u", i);
        say(s.high, text);
        hear(&s.people, s.high, text);
        look_from(s.high, 5.0f + (f32)i);
        people_run(&s.people, 500);
    }
    f64 seconds = (f64)(clock_now_ns() - began_ns) * 1e-9;
    f64 ticks = rig_metric(s.http[0], "plenum_world_tick") - tick;
    assert_true(ticks > 0.9 * 60.0 * seconds);
    process_signal(&s.broker.process, SIGCONT);
    rig_broker_down(&s.broker, SIGKILL);
    people_run(&s.people, 500);
    rig_broker_up(&s.broker);
    all_know(&s.people, 3);
    say(s.high, "back again");
    say(s.ada, "here too");
    hear(&s.people, s.ada, "back again");
    hear(&s.people, s.bob, "here too");
    hear(&s.people, s.high, "here too");
    see(&s.people, s.ada, "high", 12.0f);
    sites_stop(&s);
}

#define FOLLOWS                                                                                    \
    "\"$JS.API.STREAM.INFO.PLENUM_granted\", \"$JS.API.STREAM.MSG.GET.PLENUM_granted\", "          \
    "\"$JS.API.CONSUMER.CREATE.PLENUM_granted\", \"$JS.API.CONSUMER.*.PLENUM_granted.>\", "        \
    "\"$JS.FC.>\""
#define LISTENS " subscribe: [\"plenum-live.granted\", \"_INBOX.>\"]"

/* The table of permissions in deploy/README.md: a broker that grants no more than that. */
static void test_permissions(void **state)
{
    PL_UNUSED(state);
    static Sites s;
    static const char lines[] =
        "authorization { users = [\n"
        "{ user: root, password: a, permissions: {"
        " publish: [\"plenum.granted.*\", \"plenum-live.granted\","
        " \"$JS.API.STREAM.*.PLENUM_granted\"],"
        " subscribe: [\"plenum-said.granted\", \"_INBOX.>\"] } }\n"
        "{ user: speaks, password: b, permissions: {"
        " publish: [" FOLLOWS ", \"plenum-said.granted\"]," LISTENS " } }\n"
        "{ user: watches, password: c, permissions: { publish: [" FOLLOWS "]," LISTENS " } }\n"
        "] }\n";
    static const char *const users[] = {"user = root\npassword = a\n",
                                        "user = speaks\npassword = b\n",
                                        "user = watches\npassword = c\n"};
    char http[3][32], creds[3][PATH_BYTES_MAX];
    memset(&s, 0, sizeof s);
    for (u32 i = 0; i < 3; i++) {
        char name[16];
        s.http[i] = rig_free_port(http[i], sizeof http[i]);
        snprintf(name, sizeof name, "user%u.creds", i);
        snprintf(creds[i], sizeof creds[i], "%s", test_path(name));
        file_write(creds[i], users[i]);
        assert_int_equal(chmod(creds[i], 0600), 0);
    }
    rig_broker_new_with(&s.broker, "granted", lines);
    s.ports[0] = server_start(&s.root, "--http", http[0], "--broker-creds", creds[0], "--publish",
                              s.broker.url, "--relays", SCENE, NULL);
    for (u32 i = 0; i < 2; i++) {
        s.ports[1 + i] = server_start(&s.leaves[i], "--http", http[1 + i], "--broker-creds",
                                      creds[1 + i], s.broker.url, NULL);
    }
    s.high = person_join(&s.people, "high", s.ports[0]);
    s.ada = person_join(&s.people, "ada", s.ports[1]);
    s.bob = person_join(&s.people, "bob", s.ports[2]);
    s.people.count = 2;
    all_know(&s.people, 2);
    s.people.count = 3;
    while (users_of(s.bob) != 3) { /* himself as well */
        people_run(&s.people, 50);
    }
    say(s.ada, "may speak");
    hear(&s.people, s.high, "may speak");
    hear(&s.people, s.bob, "may speak");
    say(s.bob, "may not");
    say(s.high, "hello all");
    hear(&s.people, s.ada, "hello all");
    hear(&s.people, s.bob, "hello all");
    assert_int_equal(times_heard(s.high, "may not"), 0);
    f64 tick = rig_metric(s.http[2], "plenum_world_tick");
    rig_metric_wait(s.http[2], "plenum_world_tick", tick + 60.0);
    sites_stop(&s);
    char *said = file_text(s.leaves[1].err);
    assert_non_null(strstr(said, "ermissions"));
    free(said);
}

/* ---- strangers ---- */

/* The run of the world, of its stream's newest message. */
static u64 run_of(Broker *broker)
{
    ErrorText error = {0};
    BrokerMessage message = {0};
    u64 sequence;
    assert_int_equal(broker_find(broker, BROKER_FROM_NEWEST, 0, &sequence, &error), 0);
    assert_int_equal(broker_subscribe(broker, sequence, &error), 0);
    assert_int_equal(broker_next(broker, 5000, &message), 0);
    return message.run;
}

/* A list of users with forged names and roles. */
static LivePayload crowd(u64 run, u64 follower, u32 count)
{
    static UserInfo users[GUESTS_MAX];
    Message message = {.kind = MESSAGE_GUESTS};
    for (u32 i = 0; i < count; i++) {
        users[i] = (UserInfo){.id = 1 + i, .role = ROLE_ADMIN};
        snprintf(users[i].name, sizeof users[i].name, "%s", i % 2 == 0 ? "high" : "h\xc4\xb1gh");
    }
    message.guests.users = users;
    message.guests.count = count;
    return live_write(&(LiveHead){run, follower}, &message);
}

static LivePayload chat(u64 run, u64 follower, u32 user, const char *text)
{
    Message message = {.kind = MESSAGE_CHAT};
    message.chat.user = user;
    snprintf(message.chat.text, sizeof message.chat.text, "%s", text);
    return live_write(&(LiveHead){run, follower}, &message);
}

static void publish(Broker *broker, BrokerSide side, LivePayload payload)
{
    assert_non_null(payload.data);
    assert_int_equal(broker_send(broker, side, payload.data, payload.bytes), 0);
    free(payload.data);
}

/* `count` payloads with one to eight bytes changed, some cut off, a few of another kind. */
static void publish_damaged(Broker *broker, BrokerSide side, LivePayload payload, u32 count)
{
    u8 *copy = malloc(payload.bytes);
    assert_non_null(copy);
    for (u32 i = 0; i < count; i++) {
        memcpy(copy, payload.data, payload.bytes);
        for (u32 k = 0; k <= i % 8; k++) {
            u64 random = random_u64(7, 8 * i + k);
            copy[LIVE_HEAD_BYTES + random % (payload.bytes - LIVE_HEAD_BYTES)] = (u8)(random >> 40);
        }
        u32 bytes = i % 3 == 0 ? (u32)(random_u64(8, i) % payload.bytes) : payload.bytes;
        assert_int_equal(broker_send(broker, side, copy, bytes), 0);
        if (i % 100 == 99) {
            rig_rest_ms(5);
        }
    }
    free(copy);
    free(payload.data);
}

/* Whoever may publish there: damaged messages, lists of a thousand users, roles and names of
 * others, orders, more than fits. */
static void test_strangers(void **state)
{
    enum {
        DAMAGED = 3000,
        FOLLOWERS = 200
    };
    PL_UNUSED(state);
    static Sites s;
    static u8 large[300 << 10];
    ErrorText error = {0};
    BrokerOptions options = {.name = "stranger"};
    sites_start(&s, "strangers", "--relays");
    all_know(&s.people, 3);
    assert_int_equal(broker_address(s.broker.url, &options.address, &error), 0);
    Broker *stranger = broker_create(&options, &error);
    assert_non_null(stranger);
    assert_true(broker_ready(stranger, &error));
    u64 run = run_of(stranger);
    u32 high = connection_user(s.high->connection), ada = user_named(s.high, "ada")->id;
    /* Its own users are participants, with names that differ from all others. */
    publish(stranger, BROKER_SAID, crowd(run, 77, 20));
    all_know(&s.people, 23);
    u32 count, named_high = 0;
    const UserInfo *users = connection_users(s.high->connection, &count);
    for (u32 i = 0; i < count; i++) {
        named_high += strcmp(users[i].name, "high") == 0;
        assert_true(users[i].id == high || users[i].role <= ROLE_PARTICIPANT);
    }
    assert_int_equal(named_high, 1);
    /* It cannot speak for other users or give commands. */
    publish(stranger, BROKER_SAID, chat(run, 77, high, "as high"));
    publish(stranger, BROKER_SAID, chat(run, 77, ada, "as ada"));
    publish(stranger, BROKER_SAID, chat(run + 1, 77, high + 1, "to another run"));
    for (u32 user = 0; user < 40; user++) {
        publish(stranger, BROKER_SAID, chat(run, 77, user, "/kick high"));
    }
    publish(stranger, BROKER_LIVE, chat(run + 1, 0, high, "of another run"));
    publish(stranger, BROKER_LIVE, crowd(run, 78, 1)); /* an answer for another */
    people_run(&s.people, 1000);
    static const char *const never[] = {"as high", "as ada", "to another run", "of another run"};
    for (u32 i = 0; i < PL_COUNT(never); i++) {
        for (u32 k = 0; k < 3; k++) {
            assert_int_equal(times_heard(&s.people.all[k], never[i]), 0);
        }
    }
    assert_int_equal(connection_state(s.high->connection), CONNECTION_LIVE);
    f64 before[2] = {rig_metric(s.http[0], "plenum_broker_refused_total"),
                     rig_metric(s.http[1], "plenum_broker_refused_total")};
    assert_true(before[0] >= 1.0);
    assert_true(before[1] >= 1.0);
    /* More than is taken. */
    for (u32 i = 0; i < FOLLOWERS; i++) {
        publish(stranger, BROKER_SAID, crowd(run, 1000 + i, GUESTS_MAX));
        rig_rest_ms(2);
    }
    publish_damaged(stranger, BROKER_SAID, crowd(run, 77, 20), DAMAGED);
    publish_damaged(stranger, BROKER_LIVE, chat(run, 0, high, "hello"), DAMAGED);
    assert_int_equal(broker_send(stranger, BROKER_SAID, large, sizeof large), 0);
    assert_int_equal(broker_send(stranger, BROKER_LIVE, large, sizeof large), 0);
    rig_metric_wait(s.http[0], "plenum_broker_refused_total", before[0] + FOLLOWERS - 64);
    rig_metric_wait(s.http[1], "plenum_broker_refused_total", before[1] + 0.3 * DAMAGED);
    broker_destroy(stranger);
    broker_library_close();
    /* Its users are removed when it is silent; the world continues, and legitimate users can
     * talk. */
    f64 tick = rig_metric(s.http[0], "plenum_world_tick");
    all_know(&s.people, 3);
    assert_true(rig_metric(s.http[0], "plenum_world_tick") > tick);
    say(s.ada, "still here");
    hear(&s.people, s.high, "still here");
    hear(&s.people, s.bob, "still here");
    sites_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_company),     cmocka_unit_test(test_not_allowed),
        cmocka_unit_test(test_dead_broker), cmocka_unit_test(test_permissions),
        cmocka_unit_test(test_strangers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
