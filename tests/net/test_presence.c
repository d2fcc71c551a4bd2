/*
 * test_presence.c: the hands of 64 users, more than a message holds: every client eventually sees
 * each of them, a user's own is in every message, and releases and leaving users are known soon;
 * also on a narrow line. A real host and connections in virtual time.
 */
#include "server/author/scene_load.h"
#include "tests/support/join_rig.h"
#include "tests/support/link_memory.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

enum {
    USERS = 64,
    NARROW_KBIT = 128,
};

typedef struct Crowd {
    JoinRig rig;
    Scene *scene;
    Connection *clients[USERS];
    u32 count;
    u32 inputs[USERS]; /* sequence number of each user's inputs */
    u32 entity;        /* which all grab */
} Crowd;

static void crowd_steps(Crowd *crowd, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(&crowd->rig, crowd->clients, crowd->count);
    }
}

static void crowd_input(Crowd *crowd, u32 client, InputKind kind)
{
    Input input = {.kind = kind,
                   .user = connection_user(crowd->clients[client]),
                   .sequence = ++crowd->inputs[client],
                   .entity = crowd->entity,
                   .rotation = quat_identity()};
    input.ray.direction = vec3(0.0f, 0.0f, -1.0f);
    join_rig_input(&crowd->rig, &input);
}

/* All grab the same entity. The first client's line is narrow. */
static void crowd_start(Crowd *crowd)
{
    char path[256];
    ErrorText error = {0};
    memset(crowd, 0, sizeof *crowd);
    snprintf(path, sizeof path, "shared/scenes/six_balls.json");
    crowd->scene = scene_load(source_path(path), &error);
    assert_non_null(crowd->scene);
    join_rig_start(&crowd->rig, crowd->scene, NULL, 0);
    for (u32 i = 0; i < USERS; i++) {
        NetsimOptions line = {.seed = i + 1,
                              .delay_ms = 10.0,
                              .loss = 0.05,
                              .rate_bytes_s = i == 0 ? NARROW_KBIT * 125 : 0};
        crowd->clients[crowd->count++] = join_rig_connect(&crowd->rig, &line, &line);
    }
    crowd_steps(crowd, 3000);
    for (u32 i = 0; i < USERS; i++) {
        assert_int_equal(connection_state(crowd->clients[i]), CONNECTION_LIVE);
    }
    u32 count = 0;
    const Entity *entities = connection_entities(crowd->clients[0], &count, NULL);
    for (u32 i = 0; i < count && crowd->entity == 0; i++) {
        crowd->entity = entities[i].movable ? entities[i].id : 0;
    }
    assert_int_not_equal(crowd->entity, 0);
}

static void crowd_stop(Crowd *crowd)
{
    for (u32 i = 0; i < crowd->count; i++) {
        assert_in_sync(crowd->clients[i]);
        connection_destroy(crowd->clients[i]);
    }
    join_rig_stop(&crowd->rig);
    scene_destroy(crowd->scene);
}

/* The entity that `user` grabs as `client` knows it; 0: none. */
static u32 grabbed_by(const Crowd *crowd, u32 client, u32 user)
{
    u32 count = 0;
    const Presence *hands = connection_presences(crowd->clients[client], &count);
    for (u32 i = 0; i < count; i++) {
        if (hands[i].user == user) {
            return hands[i].grabbed;
        }
    }
    return 0;
}

static u32 hands_full(const Crowd *crowd, u32 client)
{
    u32 count = 0, full = 0;
    const Presence *hands = connection_presences(crowd->clients[client], &count);
    for (u32 i = 0; i < count; i++) {
        full += hands[i].grabbed != 0;
        for (u32 k = 0; k < i; k++) {
            assert_int_not_equal(hands[i].user, hands[k].user);
        }
    }
    return full;
}

/* Until clients from `first` on know that number of grabs, 8 s at most. */
static void crowd_until(Crowd *crowd, u32 first, u32 full)
{
    u32 i = first;
    for (u32 tries = 0; tries < 32 && i < crowd->count; tries++) {
        for (i = first; i < crowd->count && hands_full(crowd, i) == full; i++) {
        }
        if (i < crowd->count) {
            crowd_steps(crowd, 250);
        }
    }
    if (i < crowd->count) {
        fail_msg("client %u knows %u hands of %u", i, hands_full(crowd, i), full);
    }
}

static void test_many_hands(void **state)
{
    PL_UNUSED(state);
    Crowd crowd;
    crowd_start(&crowd);
    for (u32 i = 0; i < USERS; i++) {
        crowd_input(&crowd, i, INPUT_GRAB);
    }
    /* A user's own presence arrives within a message or two, those of the others in turn. */
    crowd_steps(&crowd, 400);
    for (u32 i = 1; i < USERS; i++) {
        u32 user = connection_user(crowd.clients[i]);
        assert_int_equal(grabbed_by(&crowd, i, user), crowd.entity);
    }
    crowd_until(&crowd, 1, USERS);
    /* Meanwhile its own grab is never reported as released. */
    for (u32 ms = 0; ms < 600; ms += 20) {
        crowd_steps(&crowd, 20);
        for (u32 i = 0; i < USERS; i++) {
            u32 user = connection_user(crowd.clients[i]);
            assert_int_equal(grabbed_by(&crowd, i, user), crowd.entity);
        }
    }
    /* A release is soon known to the user itself, and then to all. */
    u32 released = connection_user(crowd.clients[40]);
    crowd_input(&crowd, 40, INPUT_RELEASE);
    crowd_steps(&crowd, 250);
    assert_int_equal(grabbed_by(&crowd, 40, released), 0);
    crowd_until(&crowd, 1, USERS - 1);
    for (u32 i = 1; i < USERS; i++) {
        assert_int_equal(grabbed_by(&crowd, i, released), 0);
    }
    /* A user who left has no presence, once the server knows; a narrow line takes longer. */
    connection_destroy(crowd.clients[--crowd.count]);
    crowd_steps(&crowd, 5000);
    crowd_until(&crowd, 0, USERS - 2);
    crowd_stop(&crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_hands)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
