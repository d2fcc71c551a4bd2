/*
 * test_admin.c: administration over real sockets with a real world: roles, kicks, bans, mutes,
 * freezes, votes, the console and its audit log; objects that users leave behind; worlds that are
 * saved and loaded by name.
 */
#include "client/link/connection_internal.h"
#include "protocol/record/recording.h"
#include "protocol/record/world_file.h"
#include "server/host/verify.h"
#include "shared/base/clock.h"
#include "tests/support/process.h"
#include "tests/support/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    SPAWN_MAX = 3
};

static const char *const scene_text =
    "{ \"name\": \"admin\", \"bounds\": [-50, -20, -50, 50, 50, 50], \"spare_bodies\": 32,\n"
    "  \"bodies\": [ { \"name\": \"ground\", \"shape\": { \"kind\": \"box\",\n"
    "      \"half\": [10, 0.5, 10] }, \"motion\": \"static\", \"position\": [0, -0.5, 0] },\n"
    "    { \"name\": \"box\", \"shape\": { \"kind\": \"box\", \"half\": [0.5, 0.5, 0.5] },\n"
    "      \"mass\": 10, \"position\": [0, 0.5, 0] } ],\n"
    "  \"prefabs\": [ { \"name\": \"ball\", \"body\": { \"name\": \"ball\",\n"
    "      \"shape\": { \"kind\": \"sphere\", \"radius\": 0.2 } } } ],\n"
    "  \"hands\": { \"reach\": 20, \"spawn_max\": 3, \"spawn_stay\": %g } }";

/* record: path or NULL. */
static void begin_recorded(Rig *rig, HostOptions *options, f64 stay_s, const char *record)
{
    const char *path = test_path("admin.json");
    SourceWorldOptions world = {.threads = 1, .speed = 1.0, .record_path = record};
    ErrorText error = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, scene_text, stay_s);
    fclose(file);
    options->clients_max = 16;
    options->snapshot_rate = 30;
    options->open_role = ROLE_PARTICIPANT;
    if (options->console == NULL) {
        options->console = strdup(test_path("console"));
    }
    Source *source = source_world_create(path, &world, &error);
    if (source == NULL) {
        fail_msg("%s", error.text);
    }
    rig_start_source(rig, options, source);
}

static void begin(Rig *rig, HostOptions *options, f64 stay_s)
{
    begin_recorded(rig, options, stay_s, NULL);
}

static void end_with(Rig *rig, HostOptions *options, Connection **users, u32 count,
                     HostStats *stats)
{
    for (u32 i = 0; i < count; i++) {
        connection_destroy(users[i]);
    }
    host_stop(rig->host);
    assert_int_equal(rig_wait(rig), 0);
    host_stats(rig->host, stats);
    rig_stop(rig);
    free((char *)(size_t)options->console);
}

static void end(Rig *rig, HostOptions *options, Connection **users, u32 count)
{
    HostStats stats;
    end_with(rig, options, users, count, &stats);
}

static void join(Rig *rig, Connection **users, u32 count)
{
    char name[16];
    for (u32 i = 0; i < count; i++) {
        snprintf(name, sizeof name, "user%u", i + 1);
        users[i] = rig_connect(rig, name);
        assert_true(rig_until(users + i, 1, CONNECTION_LIVE));
        assert_int_equal(connection_user(users[i]), i + 1);
    }
}

/* Sends one command to the console; returns the whole answer. */
static const char *console(const HostOptions *options, const char *command)
{
    static char answer[8192];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", options->console);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    dprintf(fd, "%s\n", command);
    size_t used = 0;
    ssize_t got = 1;
    answer[0] = '\0';
    while (strstr(answer, "= ") == NULL && got > 0) {
        got = read(fd, answer + used, sizeof answer - 1 - used);
        used += got > 0 ? (size_t)got : 0;
        answer[used] = '\0';
    }
    close(fd);
    return answer;
}

/* Polls until the first connection receives a text that contains `part`. */
static bool receives_text(Connection **users, u32 count, const char *part, f64 seconds)
{
    u64 until = clock_now_ns() + (u64)(seconds * 1e9);
    while (clock_now_ns() < until) {
        ConnectionNews news;
        rig_poll(users, count, 0.01);
        while (connection_news(users[0], &news)) {
            if (strstr(news.text, part) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static bool refused_with(Connection *user, int code)
{
    u64 until = clock_now_ns() + 3000000000ull;
    while (clock_now_ns() < until) {
        ConnectionNews news;
        rig_poll(&user, 1, 0.01);
        while (connection_news(user, &news)) {
            if (news.event.kind == EVENT_REFUSED && news.event.code == code) {
                return true;
            }
        }
    }
    return false;
}

static void spawn(Connection *user, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        Input input = {.kind = INPUT_SPAWN,
                       .target = vec3((f32)i, 3.0f + (f32)connection_user(user), 0.0f),
                       .rotation = quat_identity()};
        assert_true(connection_input(user, &input) > 0);
    }
}

/* Polls until the first user's world has that many entities. */
static bool things(Connection **users, u32 count, u32 wanted)
{
    u64 until = clock_now_ns() + 8000000000ull;
    u32 there = 0;
    while (clock_now_ns() < until) {
        (void)connection_entities(users[0], &there, NULL);
        if (there == wanted) {
            return true;
        }
        rig_poll(users, count, 0.01);
    }
    return false;
}

static void test_roles(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[3];
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    join(&rig, users, 3);
    connection_chat(users[0], "/kick user2");
    assert_true(receives_text(users, 3, "your role does not", 3.0));
    assert_non_null(strstr(console(&options, "role user1 operator"), "= ok"));
    assert_non_null(strstr(console(&options, "role #2 operator"), "= ok"));
    connection_chat(users[0], "/kick user2");
    assert_true(receives_text(users, 3, "not below yours", 3.0));
    assert_int_equal(connection_role(users[0]), ROLE_OPERATOR);
    connection_chat(users[0], "/kick user3 spoils \"the\" game");
    rig_poll(users, 3, 0.1);
    assert_true(rig_until(users + 2, 1, CONNECTION_CLOSED));
    assert_non_null(strstr(connection_error(users[2])->text, "spoils \"the\" game"));
    /* All users share this machine's address: a ban of it would lock everybody out, and is
     * refused. */
    connection_chat(users[0], "/ban 127.0.0.0/8");
    assert_true(receives_text(users, 2, "this machine", 3.0));
    connection_chat(users[0], "/ban 10.1.2.3 30d");
    assert_true(receives_text(users, 2, "7d at most", 3.0));
    assert_non_null(strstr(console(&options, "ban 10.1.2.3 30d"), "= ok"));
    assert_non_null(strstr(console(&options, "bans"), "ban 10.1.2.3 2592000 s by console uid"));
    assert_non_null(strstr(console(&options, "unban 10.1.2.3"), "= ok"));
    assert_non_null(strstr(console(&options, "unban 10.1.2.3"), "= not found"));
    assert_non_null(strstr(console(&options, "users"), "#1 \"user1\" operator 127.0.0.1"));
    struct stat status;
    assert_int_equal(stat(options.console, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    end(&rig, &options, users, 3);
}

static bool is_held(Connection *user, const char *name)
{
    u32 count;
    const Presence *presences = connection_presences(user, &count);
    const Entity *entity = connection_entity_named(user, name);
    for (u32 i = 0; i < count; i++) {
        if (entity != NULL && presences[i].grabbed == entity->id) {
            return true;
        }
    }
    return false;
}

static void grab(Connection **users, u32 count)
{
    u64 until = clock_now_ns() + 5000000000ull;
    const Entity *box = connection_entity_named(users[1], "box");
    Input input = {.kind = INPUT_GRAB, .entity = box->id};
    ConnectionStats stats;
    connection_stats(users[1], &stats);
    input.local = vec3(0.0f, 0.5f, 0.0f);
    input.ray.origin = vec3(0.0f, 4.0f, 0.0f);
    input.ray.direction = vec3(0.0f, -1.0f, 0.0f);
    input.seen_base = (u32)stats.tick_last;
    assert_true(connection_input(users[1], &input) > 0);
    while (!is_held(users[0], "box")) {
        assert_true(clock_now_ns() < until);
        rig_poll(users, count, 0.01);
    }
}

static void test_hands(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[2];
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    join(&rig, users, 2);
    grab(users, 2);
    assert_non_null(strstr(console(&options, "freeze user2 1h"), "= ok"));
    u64 until = clock_now_ns() + 5000000000ull;
    while (is_held(users[0], "box")) {
        assert_true(clock_now_ns() < until);
        rig_poll(users, 2, 0.01);
    }
    spawn(users[1], 1);
    assert_true(refused_with(users[1], ERROR_DENIED));
    assert_non_null(strstr(console(&options, "unfreeze user2"), "= ok"));
    grab(users, 2);
    /* When a user is disconnected its grab is released. */
    assert_non_null(strstr(console(&options, "kick user2"), "= ok"));
    until = clock_now_ns() + 5000000000ull;
    while (is_held(users[0], "box")) {
        assert_true(clock_now_ns() < until);
        rig_poll(users, 1, 0.01);
    }
    end(&rig, &options, users, 2);
}

static void test_mute(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[2];
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    join(&rig, users, 2);
    assert_non_null(strstr(console(&options, "mute user2"), "= ok"));
    rig_poll(users, 2, 0.1);
    connection_chat(users[1], "something bad");
    assert_false(receives_text(users, 2, "something bad", 0.5));
    assert_non_null(strstr(console(&options, "unmute user2"), "= ok"));
    rig_poll(users, 2, 0.1);
    connection_chat(users[1], "something good");
    assert_true(receives_text(users, 2, "something good", 3.0));
    end(&rig, &options, users, 2);
}

static Connection *come_again(Rig *rig, const Identity *identity, u64 resume)
{
    ErrorText error = {0};
    ConnectionOptions options = {.name = "again", .identity = identity};
    Connection *user =
        connection_create(link_enet_connect(rig->address, NULL, &error), &options, &error);
    assert_non_null(user);
    user->resume = resume;
    assert_true(rig_until(&user, 1, CONNECTION_LIVE));
    return user;
}

static bool heard(Connection **users, const char *text)
{
    rig_poll(users, 2, 0.1);
    connection_chat(users[1], text);
    return receives_text(users, 2, text, 0.5);
}

/* A mute stays with who resumes, with the key of who has one, and with an address, of this machine
 * too; it does not meet others. */
static void test_mute_stays(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[2];
    Identity ada, eve;
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    join(&rig, users, 2);
    assert_int_equal(seal_start(), 0);
    identity_create(&ada);
    identity_create(&eve);

    assert_non_null(strstr(console(&options, "mute user2 1h"), "= ok"));
    Connection *former = users[1];
    users[1] = come_again(&rig, NULL, former->resume);
    assert_int_equal(connection_user(users[1]), 2);
    connection_destroy(former);
    assert_false(heard(users, "resumed"));
    connection_destroy(users[1]);

    users[1] = come_again(&rig, &ada, 0);
    assert_true(heard(users, "with a key"));
    assert_non_null(strstr(console(&options, "mute again 1h"), "= ok"));
    assert_false(heard(users, "muted key"));
    connection_destroy(users[1]);
    users[1] = come_again(&rig, &ada, 0);
    assert_false(heard(users, "the same key"));
    connection_destroy(users[1]);
    users[1] = come_again(&rig, &eve, 0);
    assert_true(heard(users, "another key"));

    assert_non_null(strstr(console(&options, "mute 127.0.0.1 1h"), "= ok"));
    assert_false(heard(users, "address"));
    assert_non_null(strstr(console(&options, "unmute 127.0.0.1"), "= ok"));
    assert_true(heard(users, "free"));
    assert_non_null(strstr(console(&options, "ban 127.0.0.1 1h"), "this machine"));
    end(&rig, &options, users, 2);
}

static void test_left_behind(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[2];
    HostOptions options = {0};
    begin(&rig, &options, 0.7);
    join(&rig, users, 2);
    spawn(users[0], 1);
    spawn(users[1], 2);
    assert_true(things(users, 2, 5));
    connection_destroy(users[1]);
    users[1] = NULL;
    assert_true(things(users, 1, 3)); /* the objects of present users stay */
    assert_non_null(strstr(console(&options, "clear user1"), "removed 1 object"));
    assert_true(things(users, 1, 2));
    end(&rig, &options, users, 2);
}

/* A user who rejoins keeps the limits it had. */
static void test_rejoin(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *user;
    HostOptions options = {.limits = {.local = true}};
    begin(&rig, &options, 300.0);
    join(&rig, &user, 1);
    spawn(user, SPAWN_MAX);
    assert_true(things(&user, 1, 2 + SPAWN_MAX));
    connection_destroy(user);
    user = rig_connect(&rig, "innocent");
    assert_true(rig_until(&user, 1, CONNECTION_LIVE));
    assert_int_equal(connection_user(user), 2);
    spawn(user, 1);
    assert_true(refused_with(user, ERROR_LIMIT));
    assert_non_null(strstr(console(&options, "clear #1"), "removed 3 objects"));
    assert_true(things(&user, 1, 2));
    spawn(user, 1);
    assert_true(things(&user, 1, 3));
    end(&rig, &options, &user, 1);
}

/* Users who join share one packed world while entities come and go. */
static void test_join_changed(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[6];
    HostStats stats;
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    for (u32 i = 0; i < 6; i++) {
        users[i] = rig_connect(&rig, "user");
        assert_true(rig_until(users + i, 1, CONNECTION_LIVE));
        assert_true(things(users + i, 1, 2 + (i > 0 ? 2 * i - 1 : 0)));
        spawn(users[i], 2);
        assert_true(things(users + i, 1, 2 + 2 * (i + 1) - (i > 0)));
        if (i == 0) {
            assert_non_null(strstr(console(&options, "clear #1"), "removed 2 objects"));
            assert_true(things(users, 1, 2));
            spawn(users[0], 1);
            assert_true(things(users, 1, 3));
        }
    }
    end_with(&rig, &options, users, 6, &stats);
    assert_int_equal(stats.joined, 6);
    assert_int_equal(stats.worlds_packed, 1);
}

static void test_vote(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[5];
    HostOptions options = {0};
    begin(&rig, &options, 300.0);
    join(&rig, users, 5);
    connection_chat(users[0], "/votekick user5");
    assert_true(receives_text(users, 5, "1 of 3", 3.0));
    connection_chat(users[0], "/votekick user5");
    assert_true(receives_text(users, 5, "your vote is counted", 3.0));
    connection_chat(users[1], "/votekick #5");
    assert_true(receives_text(users, 5, "2 of 3", 3.0));
    connection_chat(users[2], "/votekick user4");
    assert_false(receives_text(users, 5, "3 of 3", 0.3));
    connection_chat(users[2], "/votekick user5");
    assert_true(receives_text(users, 5, "voted out", 3.0));
    assert_true(rig_until(users + 4, 1, CONNECTION_CLOSED));
    connection_chat(users[0], "/votekick user4");
    assert_true(receives_text(users, 4, "in a minute", 3.0));
    end(&rig, &options, users, 5);
}

/* ---- worlds by name ---- */

static const char *file_in(const char *folder, const char *name)
{
    static char path[PATH_BYTES_MAX + 32];
    snprintf(path, sizeof path, "%s/%.24s", folder, name);
    return path;
}

typedef struct Loads {
    u32 count;
    u64 tick; /* of the first */
} Loads;

static void on_image(void *context, const RecordingImage *image)
{
    Loads *loads = context;
    if (image->kind == RECORDING_IMAGE_LOAD) {
        loads->tick = loads->count++ == 0 ? image->tick : loads->tick;
    }
}

static void on_note(void *context, const RecordingNote *note)
{
    u64 *tick = context;
    *tick = strcmp(note->text, "loaded \"before\"") == 0 ? note->tick : *tick;
}

static u64 hash_at(RecordingReader *reader, u64 tick)
{
    Frame *frame = NULL;
    assert_int_equal(recording_reader_seek(reader, tick), 0);
    assert_int_equal(recording_reader_next(reader, &frame, NULL, NULL), 0);
    assert_int_equal(frame->tick, tick);
    u64 hash = frame->world_hash;
    frame_release(frame);
    return hash;
}

/* The recording has the loaded world with the hash of the tick that was saved, says so, and what
 * follows is what the inputs lead to. */
static void expect_recorded(const char *record, u64 saved_tick)
{
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(record, &error);
    assert_non_null(reader);
    Loads loads = {0};
    u64 note_tick = 0;
    const RecordingVisitor images = {.context = &loads, .image = on_image};
    const RecordingVisitor notes = {.context = &note_tick, .note = on_note};
    assert_int_equal(recording_reader_visit(reader, &images), 0);
    assert_int_equal(recording_reader_visit(reader, &notes), 0);
    assert_int_equal(loads.count, 1);
    assert_true(loads.tick > saved_tick && note_tick == loads.tick);
    u64 hash = hash_at(reader, saved_tick);
    assert_true(hash != 0 && hash == hash_at(reader, loads.tick));
    assert_true(hash != hash_at(reader, loads.tick - 1));
    assert_true(recording_reader_info(reader)->last_tick > loads.tick + 10);
    recording_reader_destroy(reader);
    assert_int_equal(verify_recording(record, NULL, 1, &error), EXIT_OK);
}

static void test_saves(void **state)
{
    PL_UNUSED(state);
    Rig rig;
    Connection *users[2];
    char record[PATH_BYTES_MAX], folder[PATH_BYTES_MAX];
    snprintf(record, sizeof record, "%s", test_path("saves.plrec"));
    snprintf(folder, sizeof folder, "%s", test_path("saves"));
    HostOptions options = {.saves = folder};
    begin_recorded(&rig, &options, 300.0, record);
    join(&rig, users, 2);
    u32 there;
    assert_null(connection_saves(users[0], &there));
    assert_non_null(strstr(console(&options, "role user1 operator"), "= ok"));
    spawn(users[0], 2);
    assert_true(things(users, 2, 4));
    connection_chat(users[0], "/save before"); /* the two are falling */
    assert_true(receives_text(users, 2, "saved the world as \"before\"", 5.0));
    rig_poll(users, 2, 0.2);
    const SaveInfo *saves = connection_saves(users[0], &there);
    assert_true(saves != NULL && there == 1);
    assert_string_equal(saves[0].name, "before");
    assert_string_equal(saves[0].scene, "admin");
    assert_null(connection_saves(users[1], &there)); /* no operator */
    WorldFile file;
    ErrorText error = {0};
    assert_int_equal(world_file_read(file_in(folder, "before.plworld"), 0, &file, &error), 0);
    u64 saved_tick = file.tick;
    world_file_release(&file);
    spawn(users[0], 1);
    assert_true(things(users, 2, 5));
    connection_chat(users[0], "/load before");
    Connection *other = users[1];
    assert_true(things(users, 2, 4));
    assert_true(receives_text(&other, 1, "user1 loaded the world \"before\"", 5.0));
    assert_true(things(&other, 1, 4)); /* without joining again */
    assert_int_equal(connection_state(other), CONNECTION_LIVE);
    spawn(users[0], 1); /* the world continues */
    assert_true(things(users, 2, 5));
    rig_poll(users, 2, 0.5);
    /* The two of the saved world are still their user's. */
    assert_non_null(strstr(console(&options, "clear #1"), "removed 3 objects"));
    assert_true(things(users, 2, 2));
    assert_non_null(strstr(console(&options, "saves"), "\"before\" "));
    assert_non_null(strstr(console(&options, "unsave before"), "= ok"));
    assert_int_not_equal(access(file_in(folder, "before.plworld"), F_OK), 0);
    assert_non_null(strstr(console(&options, "saves"), "0 of 64"));
    end(&rig, &options, users, 2);
    expect_recorded(record, saved_tick);
}

/* Waits until the console's last save or load has ended. */
static const char *console_at_last(const HostOptions *options, const char *command)
{
    const char *answer = console(options, command);
    for (u32 i = 0; i < 200 && strstr(answer, "another world") != NULL; i++) {
        usleep(20000);
        answer = console(options, command);
    }
    return answer;
}

static void copy_file(const char *from, const char *to, bool damage)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    int c;
    for (long at = 0; (c = fgetc(in)) != EOF; at++) {
        fputc(damage && at == 200 ? c ^ 4 : c, out);
    }
    fclose(in);
    fclose(out);
}

static void test_saves_refused(void **state)
{
    PL_UNUSED(state);
    static const char *const hostile[] = {
        "../above",
        "a/b",
        "/tmp/absolute",
        "..",
        ".hidden",
        "a\\b",
        "say\"so",
        "#1",
        "zero\u200Bwidth",
        "e\u0301",
        "",
        "\u202Eright",
        "0123456789012345678901234567890123456789", /* 40 bytes */
    };
    Rig rig;
    Connection *users[2];
    char folder[PATH_BYTES_MAX], command[256];
    snprintf(folder, sizeof folder, "%s", test_path("refused"));
    HostOptions options = {.saves = folder};
    begin(&rig, &options, 300.0);
    join(&rig, users, 2);
    connection_chat(users[0], "/save mine"); /* a participant */
    assert_true(receives_text(users, 2, "your role does not", 3.0));
    assert_non_null(strstr(console(&options, "role user2 viewer"), "= ok"));
    connection_chat(users[1], "/load mine");
    Connection *viewer = users[1];
    assert_true(receives_text(&viewer, 1, "your role does not", 3.0));
    for (u32 i = 0; i < PL_COUNT(hostile); i++) {
        static const char *const verbs[] = {"save", "load", "unsave"};
        for (u32 v = 0; v < PL_COUNT(verbs); v++) {
            snprintf(command, sizeof command, "%s %s", verbs[v], hostile[i]);
            const char *answer = console(&options, command);
            if (strstr(answer, "refused: ") == NULL) {
                fail_msg("\"%s\" is answered by: %s", command, answer);
            }
        }
    }
    assert_int_not_equal(access(folder, F_OK), 0); /* nothing was made, there or above */
    assert_int_not_equal(access(test_path("above.plworld"), F_OK), 0);
    assert_non_null(strstr(console(&options, "load nothing"), "= not found"));
    assert_non_null(strstr(console(&options, "save Überall 7"), "= ok"));
    assert_non_null(strstr(console_at_last(&options, "save whole"), "= ok"));
    assert_non_null(strstr(console_at_last(&options, "load whole"), "= ok"));
    char whole[PATH_BYTES_MAX + 32];
    snprintf(whole, sizeof whole, "%s", file_in(folder, "whole.plworld"));
    copy_file(whole, file_in(folder, "bad.plworld"), true);
    assert_true(receives_text(users, 2, "loaded the world \"whole\"", 5.0));
    assert_non_null(strstr(console(&options, "role user1 operator"), "= ok"));
    connection_chat(users[0], "/load bad");
    assert_true(receives_text(users, 2, "\"bad\" is not loaded: bad.plworld: damaged", 5.0));
    assert_true(things(users, 2, 2));
    end(&rig, &options, users, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_roles),       cmocka_unit_test(test_hands),
        cmocka_unit_test(test_mute),        cmocka_unit_test(test_mute_stays),
        cmocka_unit_test(test_left_behind), cmocka_unit_test(test_rejoin),
        cmocka_unit_test(test_vote),        cmocka_unit_test(test_join_changed),
        cmocka_unit_test(test_saves),       cmocka_unit_test(test_saves_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
