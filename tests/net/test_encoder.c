/*
 * test_encoder.c: clients leave, are kicked and come again, worlds are reset and replaced, and the
 * host ends, while the encoder's thread has their snapshots: each right after the batch was handed
 * over, in the middle of it, and when it is finished but not taken yet. Asserted: nothing is used
 * after it was freed (by the sanitizers), the invariants of session.h, and remaining clients get a
 * complete picture.
 */
#include "server/host/encoder.h"
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/join_rig.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

enum {
    CLIENTS = 4,
    JOIN_MS = 4000,
    SETTLE_MS = 200, /* in which what was freed would be used */
    AFTER_MS = 2000, /* at most until pictures are whole */
};

/* When the attack comes: right after the batch was handed over, while it is built, when it is
 * done. */
typedef enum Moment {
    MOMENT_HANDED_OVER,
    MOMENT_BUILT,
    MOMENT_DONE,
    MOMENTS
} Moment;

typedef enum Attack {
    ATTACK_LOST,   /* the peer is gone */
    ATTACK_KICKED, /* it is told, and is gone later */
    ATTACK_AGAIN,  /* gone, and its slot is another's at once */
    ATTACK_RESET,  /* the world begins anew */
    ATTACK_WORLD,  /* there is another world, with other fields */
    ATTACK_ALL_GO, /* all who wait for a snapshot are gone */
    ATTACK_HOST,   /* the host ends */
    ATTACKS
} Attack;

/* ---- a source that replaces its world, or stands still ---- */

typedef struct TwoWorlds {
    Source base;
    Source *worlds[2];
    u32 now;
    bool paused;
} TwoWorlds;

static TwoWorlds *two(Source *source)
{
    return (TwoWorlds *)source;
}

static Source *current(Source *source)
{
    return two(source)->worlds[two(source)->now];
}

static int two_start(Source *source, void (*wake)(void *), void *context, ErrorText *error)
{
    return current(source)->ops->start(current(source), wake, context, error);
}

static Frame *two_take(Source *source)
{
    return two(source)->paused ? NULL : current(source)->ops->take(current(source));
}

static void two_describe(Source *source, MessageWorld *out)
{
    current(source)->ops->describe(current(source), out);
}

static u32 two_input(Source *source, const Input *inputs, u32 count)
{
    return current(source)->ops->input(current(source), inputs, count);
}

static int two_control(Source *source, u32 user, u32 kind, f64 value)
{
    return current(source)->ops->control(current(source), user, kind, value);
}

static void two_status(Source *source, SourceStatus *out)
{
    current(source)->ops->status(current(source), out);
    out->status.paused = two(source)->paused;
}

static void two_destroy(Source *source)
{
    for (u32 i = 0; i < 2; i++) {
        two(source)->worlds[i]->ops->destroy(two(source)->worlds[i]);
    }
    free(source);
}

static Source *two_create(JoinRig *rig, Scene *scenes[2])
{
    static const SourceOps ops = {.destroy = two_destroy,
                                  .start = two_start,
                                  .take = two_take,
                                  .describe = two_describe,
                                  .input = two_input,
                                  .control = two_control,
                                  .status = two_status};
    TwoWorlds *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->base.ops = &ops;
    for (u32 i = 0; i < 2; i++) {
        t->worlds[i] = join_rig_source(rig, scenes[i]);
    }
    return &t->base;
}

/* ---- the stage ---- */

typedef struct Stage {
    JoinRig rig;
    Connection *clients[CLIENTS];
    Scene *scenes[2];
    TwoWorlds *source;
} Stage;

static void stage_start(Stage *s)
{
    memset(s, 0, sizeof *s);
    s->scenes[0] = join_scene("playground");
    s->scenes[1] = join_scene("cradle");
    s->source = two(two_create(&s->rig, s->scenes));
    join_rig_start_with(&s->rig, &s->source->base);
    s->rig.unsettled = true;
}

/* Time passes; the other thread is not starved. */
static void stage_run(Stage *s, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(&s->rig, s->clients, CLIENTS);
        sessions_validate(s->rig.host);
        if (i % 8 == 0) {
            clock_sleep_until_ns(clock_now_ns() + 500000);
        }
    }
}

/* Runs until a snapshot of this client is with the encoder; its session. */
static Session *with_encoder(Stage *s, Connection *client)
{
    for (u32 i = 0; i < JOIN_MS; i++) {
        join_rig_step(&s->rig, s->clients, CLIENTS);
        Session *session = session_of_user(s->rig.host, connection_user(client));
        if (session != NULL && session->encoding) {
            return session;
        }
    }
    fail_msg("no snapshot was given to the encoder");
    return NULL;
}

static void wait_for(Stage *s, Moment moment)
{
    u32 count;
    if (moment == MOMENT_BUILT) {
        encoder_wait_copied(s->rig.host->encoder);
    } else if (moment == MOMENT_DONE) {
        host_settle(s->rig.host);
        assert_non_null(encoder_take(s->rig.host->encoder, &count));
        assert_true(count > 0);
    }
}

static const NetsimOptions line = {.seed = 3, .delay_ms = 5.0};

static void lose(Stage *s, Session *session)
{
    u32 peer = session->peer;
    session_gone(s->rig.host, peer, 0);
    assert_int_equal(s->rig.host->sessions[peer].state, SESSION_FREE);
}

static void attack(Stage *s, Attack what, Session *session)
{
    Host *host = s->rig.host;
    u32 peer = session->peer;
    Input reset = {.kind = INPUT_RESET, .user = 9, .rotation = quat_identity()};
    switch (what) {
    case ATTACK_LOST:
        lose(s, session);
        break;
    case ATTACK_KICKED:
        session_close(host, session, REFUSE_KICKED, "test");
        break;
    case ATTACK_AGAIN:
        lose(s, session);
        session_open(host, peer);
        break;
    case ATTACK_RESET:
        join_rig_input(&s->rig, &reset);
        break;
    case ATTACK_WORLD:
        s->source->now = 1;
        break;
    case ATTACK_ALL_GO:
        for (u32 i = 0; i < host->peer_capacity; i++) {
            if (host->sessions[i].encoding) {
                lose(s, &host->sessions[i]);
            }
        }
        break;
    default:
        break;
    }
    sessions_validate(host);
}

/* Whether an attack leaves this client's picture whole. */
static bool survives(Attack what, u32 client)
{
    bool alone = what == ATTACK_LOST || what == ATTACK_KICKED || what == ATTACK_AGAIN;
    return what != ATTACK_ALL_GO && !(alone && client == 1);
}

static bool all_whole(const Stage *s, Attack what)
{
    for (u32 i = 0; i < CLIENTS; i++) {
        if (survives(what, i) && !join_picture_whole(s->clients[i])) {
            return false;
        }
    }
    return true;
}

/* Client 0 was there before, and 3 comes later. */
static void attacked(Attack what, Moment moment)
{
    Stage s;
    stage_start(&s);
    s.clients[0] = join_rig_connect(&s.rig, &line, &line);
    s.clients[1] = join_rig_connect(&s.rig, &line, &line);
    s.clients[2] = join_rig_connect(&s.rig, &line, &line);
    s.clients[3] = join_rig_connect(&s.rig, &line, &line);
    Session *session = with_encoder(&s, s.clients[1]);
    wait_for(&s, moment);
    attack(&s, what, session);
    if (what == ATTACK_HOST) {
        join_rig_stop(&s.rig);
    } else {
        connection_destroy(s.clients[3]);
        s.clients[3] = join_rig_connect(&s.rig, &line, &line);
        stage_run(&s, SETTLE_MS);
        s.rig.unsettled = false; /* how long the rest takes is not the machine's matter */
        for (u32 ms = 0; ms < AFTER_MS && !all_whole(&s, what); ms += 50) {
            stage_run(&s, 50);
        }
        for (u32 i = 0; i < CLIENTS && what != ATTACK_ALL_GO; i++) {
            assert_in_sync(s.clients[i]);
        }
        assert_true(all_whole(&s, what));
        join_rig_stop(&s.rig);
    }
    for (u32 i = 0; i < CLIENTS; i++) {
        connection_destroy(s.clients[i]);
    }
    scene_destroy(s.scenes[0]);
    scene_destroy(s.scenes[1]);
}

static void test_attacks(void **state)
{
    PL_UNUSED(state);
    for (u32 what = 0; what < ATTACKS; what++) {
        for (u32 moment = 0; moment < MOMENTS; moment++) {
            attacked((Attack)what, (Moment)moment);
        }
    }
}

static void *spin(void *stop)
{
    while (!atomic_load((atomic_bool *)stop)) {
    }
    return NULL;
}

/* The encoder's thread runs with what is left of the processor. */
static void encoder_starve(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    assert_non_null(tasks);
    while ((entry = readdir(tasks)) != NULL) {
        char path[320], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fgets(name, sizeof name, file) != NULL &&
            strcmp(name, "plenum-encode\n") == 0) {
            assert_int_equal(setpriority(PRIO_PROCESS, (id_t)atoi(entry->d_name), 19), 0);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    closedir(tasks);
}

/* A world that stands still, whose clients on narrow lines are not done yet, and an encoder that is
 * late: what the host encodes for them is in the cache that the encoder copies. */
static void test_paused(void **state)
{
    PL_UNUSED(state);
    enum {
        SPINNERS = 2
    };
    Stage s;
    pthread_t spinners[SPINNERS];
    atomic_bool stop = false;
    NetsimOptions narrow = {.seed = 5, .delay_ms = 10.0, .rate_bytes_s = 12000.0, .loss = 0.05};
    stage_start(&s);
    encoder_starve();
    for (u32 i = 0; i < SPINNERS; i++) {
        assert_int_equal(pthread_create(&spinners[i], NULL, spin, &stop), 0);
    }
    s.clients[0] = join_rig_connect(&s.rig, &narrow, &narrow);
    s.clients[1] = join_rig_connect(&s.rig, &narrow, &narrow);
    s.clients[2] = join_rig_connect(&s.rig, &line, &line);
    s.clients[3] = join_rig_connect(&s.rig, &line, &line);
    for (u32 round = 0; round < 6; round++) {
        for (u32 ms = 0; ms < 250; ms++) {
            s.source->paused = round > 1;
            join_rig_step(&s.rig, s.clients, CLIENTS);
        }
        u32 again = 2 + round % 2;
        connection_destroy(s.clients[again]);
        s.clients[again] = join_rig_connect(&s.rig, &line, &line);
    }
    atomic_store(&stop, true);
    for (u32 i = 0; i < SPINNERS; i++) {
        pthread_join(spinners[i], NULL);
    }
    s.rig.unsettled = false;
    stage_run(&s, AFTER_MS);
    for (u32 i = 0; i < CLIENTS; i++) {
        assert_in_sync(s.clients[i]);
        assert_true(i < 2 || join_picture_whole(s.clients[i]));
    }
    join_rig_stop(&s.rig);
    for (u32 i = 0; i < CLIENTS; i++) {
        connection_destroy(s.clients[i]);
    }
    scene_destroy(s.scenes[0]);
    scene_destroy(s.scenes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attacks),
        cmocka_unit_test(test_paused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
