/*
 * test_siege.c: malicious clients that send only well-formed data: grabs, then silence, floods
 * of spawns and joins, a client that acknowledges nothing. An honest client plays on without a
 * desync, the world returns to its former state, and the host's memory does not grow. Virtual time,
 * simulated network.
 */
#include "server/author/scene_load.h"
#include "tests/support/join_rig.h"
#include "tests/support/link_memory.h"

#include "client/link/timeline.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    STORM = 6,
    ENTITIES = 5, /* of the scene */
    GROWTH_BYTES = 256 << 10
};

static const char scene_text[] =
    "{\"name\":\"siege\",\"spare_bodies\":64,\"bodies\":["
    "{\"name\":\"ground\",\"shape\":{\"kind\":\"plane\"},\"motion\":\"static\"},"
    "{\"name\":\"box\",\"shape\":{\"kind\":\"box\",\"half\":[0.5,0.5,0.5]},\"position\":[0,0.5,0],"
    "\"mass\":10,\"repeat\":{\"count\":[4,1,1],\"spacing\":[4,1,1]}}],"
    "\"prefabs\":[{\"name\":\"ball\",\"body\":{\"name\":\"ball\",\"shape\":{\"kind\":\"sphere\","
    "\"radius\":0.2},\"mass\":1}}],\"hands\":{\"spawn_max\":12,\"spawn_stay\":2}}";

typedef struct Siege {
    JoinRig rig;
    Scene *scene;
    Connection *good;
} Siege;

/* A client that ignores the rules of the protocol's timing and rates. */
typedef struct Raider {
    Link *link;
    bool welcomed, over;
    u64 resume, bytes;
    u32 sequence;
} Raider;

static void siege_run(Siege *siege, Raider *raiders, u32 count, u32 ms);

static void siege_begin(Siege *siege)
{
    ErrorText error;
    siege->scene = scene_parse(scene_text, sizeof scene_text - 1, "siege", &error);
    assert_non_null(siege->scene);
    join_rig_start(&siege->rig, siege->scene, NULL, 0);
    siege->good = join_rig_connect(&siege->rig, NULL, NULL);
    siege_run(siege, NULL, 0, 1000);
    assert_int_equal(connection_state(siege->good), CONNECTION_LIVE);
}

static void siege_end(Siege *siege)
{
    ConnectionStats stats;
    HostStats host;
    connection_stats(siege->good, &stats);
    host_stats(siege->rig.host, &host);
    assert_int_equal(connection_state(siege->good), CONNECTION_LIVE);
    assert_int_equal(connection_worlds(siege->good), 1);
    assert_int_equal(stats.desyncs + stats.malformed, 0);
    connection_destroy(siege->good);
    join_rig_stop(&siege->rig);
    scene_destroy(siege->scene);
}

static void say(Raider *raider, const Message *message)
{
    u32 bytes;
    u8 *data = message_encode(message, &bytes);
    assert_non_null(data);
    raider->link->ops->send(raider->link, 0, CHANNEL_CONTROL, data, bytes);
    message_free(data);
}

static void hello(Raider *raider)
{
    Message message = {.kind = MESSAGE_HELLO};
    message.hello.major = PROTOCOL_MAJOR;
    message.hello.resume = raider->resume;
    snprintf(message.hello.name, NAME_BYTES_MAX, "raider");
    say(raider, &message);
}

static void raider_begin(Siege *siege, Raider *raider, u64 resume)
{
    *raider = (Raider){.link = link_memory_connect(siege->rig.link, NULL, NULL), .resume = resume};
    assert_non_null(raider->link);
}

static void raider_poll(Raider *raider, u64 now_ms)
{
    LinkEvent event;
    while (raider->link != NULL && raider->link->ops->poll(raider->link, now_ms, &event)) {
        Message message;
        u8 *storage = NULL;
        raider->bytes += event.kind == LINK_RECEIVED ? event.bytes : 0;
        if (event.kind == LINK_CONNECTED) {
            hello(raider);
        } else if (event.kind == LINK_DISCONNECTED) {
            raider->over = true;
        } else if (event.kind == LINK_RECEIVED && event.channel == CHANNEL_CONTROL &&
                   message_decode(event.data, event.bytes, &message, &storage, NULL) == 0) {
            if (message.kind == MESSAGE_WELCOME) {
                raider->welcomed = true;
                raider->resume = message.welcome.resume;
            }
            message_free(storage);
        }
    }
}

static void raider_end(Raider *raider)
{
    if (raider->link != NULL) {
        raider->link->ops->destroy(raider->link);
        raider->link = NULL;
    }
}

static void siege_run(Siege *siege, Raider *raiders, u32 count, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(&siege->rig, &siege->good, 1);
        for (u32 r = 0; r < count; r++) {
            raider_poll(&raiders[r], siege->rig.now_ns / 1000000);
        }
    }
}

/* One packet of inputs, which acknowledges nothing. */
static void act(Siege *siege, Raider *raider, const Input *inputs, u32 count)
{
    static InputPacket packet;
    u8 out[STATE_PAYLOAD_BYTES_MAX];
    memset(&packet, 0, sizeof packet);
    packet.send_ms = (u16)(siege->rig.now_ns / 1000000);
    packet.view.eye = vec3(0, 1, 5);
    packet.view.forward = packet.cursor.direction = vec3(0, 0, -1);
    packet.view.pixels_per_radian = 500;
    packet.count = (u16)count;
    for (u32 i = 0; i < count; i++) {
        packet.inputs[i] = inputs[i];
        packet.inputs[i].sequence = ++raider->sequence;
    }
    u32 bytes = input_packet_encode(&packet, out);
    raider->link->ops->send(raider->link, 0, CHANNEL_INPUT, out, bytes);
}

static u32 entities(const Siege *siege)
{
    u32 count;
    (void)connection_entities(siege->good, &count, NULL);
    return count;
}

static f32 height(Siege *siege, const char *name)
{
    ShownPose pose;
    const Entity *entity = connection_entity_named(siege->good, name);
    assert_non_null(entity);
    assert_true(
        timeline_pose(connection_timeline(siege->good), entity->field, entity->first, &pose));
    return pose.position.y;
}

static Input grab_of(Siege *siege, const char *name)
{
    const Entity *entity = connection_entity_named(siege->good, name);
    assert_non_null(entity);
    return (Input){.kind = INPUT_GRAB,
                   .entity = entity->id,
                   .seen_base = (u32)timeline_tick(connection_timeline(siege->good)),
                   .local = vec3(0, 0, 0.5f),
                   .rotation = quat_identity(),
                   .ray = {.origin = vec3(0, 1, 5),
                           .direction = vec3_normalize_or(vec3(0, -0.5f, -4.5f), vec3(0, 0, -1))}};
}

/* Lifts a box and falls silent, while its transport still answers. The box drops when the session
 * times out, and the place is free again. */
static void test_ghost_hold(void **state)
{
    PL_UNUSED(state);
    Siege siege;
    Raider ghost;
    HostStats stats;
    siege_begin(&siege);
    raider_begin(&siege, &ghost, 0);
    siege_run(&siege, &ghost, 1, 300);
    assert_true(ghost.welcomed);
    Input grab = grab_of(&siege, "box-1");
    Input move = {.kind = INPUT_MOVE, .target = vec3(0, 3, 0.5f), .rotation = quat_identity()};
    act(&siege, &ghost, &grab, 1);
    siege_run(&siege, &ghost, 1, 50);
    act(&siege, &ghost, &move, 1);
    siege_run(&siege, &ghost, 1, 3000);
    assert_true(height(&siege, "box-1") > 1.5f);
    siege_run(&siege, &ghost, 1, 16000);
    assert_true(ghost.over);
    siege_run(&siege, &ghost, 1, 2000);
    f32 rest = height(&siege, "box-1");
    print_message("box at %.3f m\n", (f64)rest);
    assert_true(rest > 0.4f && rest < 0.9f); /* flat, or on an edge */
    host_stats(siege.rig.host, &stats);
    assert_int_equal(stats.clients, 1);
    raider_end(&ghost);
    siege_end(&siege);
}

static size_t heap(void)
{
    return mallinfo2().uordblks;
}

/* Each client spawns as much as fits into its packets, 60 times a second. */
static void spawn_storm(Siege *siege, u32 packets)
{
    Raider raiders[STORM];
    Input spawns[INPUTS_UNACKED_MAX] = {0};
    for (u32 i = 0; i < PL_COUNT(spawns); i++) {
        spawns[i] = (Input){.kind = INPUT_SPAWN,
                            .target = vec3((f32)(i % 8), 3.0f + (f32)(i / 8), 0),
                            .rotation = quat_identity()};
    }
    for (u32 r = 0; r < STORM; r++) {
        raider_begin(siege, &raiders[r], 0);
    }
    siege_run(siege, raiders, STORM, 300);
    u32 most = 0;
    for (u32 n = 0; n < packets; n++) {
        for (u32 r = 0; r < STORM; r++) {
            assert_true(raiders[r].welcomed);
            act(siege, &raiders[r], spawns, PL_COUNT(spawns));
        }
        siege_run(siege, raiders, STORM, 16);
        most = u32_max(most, entities(siege));
    }
    print_message("%u packets of %zu spawns: %u entities at most\n", STORM * packets,
                  PL_COUNT(spawns), most);
    assert_true(most > ENTITIES && most <= ENTITIES + 64);
    for (u32 r = 0; r < STORM; r++) {
        raiders[r].link->ops->disconnect(raiders[r].link, 0, REFUSE_LEFT);
    }
    siege_run(siege, raiders, STORM, 4000); /* their entities are removed after 2 s */
    for (u32 r = 0; r < STORM; r++) {
        raider_end(&raiders[r]);
    }
    assert_int_equal(entities(siege), ENTITIES);
}

static void test_spawn_storm(void **state)
{
    PL_UNUSED(state);
    Siege siege;
    siege_begin(&siege);
    spawn_storm(&siege, 120);
    siege_run(&siege, NULL, 0, 18000); /* the history of frames is full */
    spawn_storm(&siege, 120);
    size_t before = heap();
    spawn_storm(&siege, 120);
    size_t after = heap();
    print_message("heap %zu kB, then %zu kB\n", before >> 10, after >> 10);
    assert_true(after < before + GROWTH_BYTES);
    siege_end(&siege);
}

/* Joins, leaves, joins again with the secret of a user who left, or who is still connected. */
static void reconnect_storm(Siege *siege, u32 rounds)
{
    Raider raiders[4];
    u64 resume = 0;
    for (u32 n = 0; n < rounds; n++) {
        for (u32 r = 0; r < PL_COUNT(raiders); r++) {
            raider_begin(siege, &raiders[r], r % 2 == 0 ? resume : 0);
        }
        siege_run(siege, raiders, PL_COUNT(raiders), 40);
        for (u32 r = 0; r < PL_COUNT(raiders); r++) {
            resume = raiders[r].welcomed ? raiders[r].resume : resume;
            if (r < 3) {
                raiders[r].link->ops->disconnect(raiders[r].link, 0, REFUSE_LEFT);
            }
        }
        siege_run(siege, raiders, 3, 40);
        for (u32 r = 0; r < PL_COUNT(raiders); r++) {
            raider_end(&raiders[r]); /* the last one without disconnecting */
        }
    }
    siege_run(siege, NULL, 0, 16000);
}

static void test_reconnect_storm(void **state)
{
    PL_UNUSED(state);
    Siege siege;
    HostStats stats;
    siege_begin(&siege);
    reconnect_storm(&siege, 60);
    size_t before = heap();
    reconnect_storm(&siege, 60);
    size_t after = heap();
    host_stats(siege.rig.host, &stats);
    print_message("%llu joined; heap %zu kB, then %zu kB\n", (unsigned long long)stats.joined,
                  before >> 10, after >> 10);
    assert_int_equal(stats.clients, 1);
    assert_true(stats.joined > 300);
    assert_int_equal(stats.worlds_packed, 1);
    assert_true(after < before + GROWTH_BYTES);
    siege_end(&siege);
}

/* Receives everything and acknowledges nothing while the world is busy. */
static void test_never_acknowledges(void **state)
{
    PL_UNUSED(state);
    Siege siege;
    Raider deaf[3];
    Input spawn = {.kind = INPUT_SPAWN, .target = vec3(0, 3, 0), .rotation = quat_identity()};
    siege_begin(&siege);
    for (u32 r = 0; r < PL_COUNT(deaf); r++) {
        raider_begin(&siege, &deaf[r], 0);
    }
    siege_run(&siege, deaf, PL_COUNT(deaf), 300);
    size_t before = 0;
    u64 heard = 0;
    for (u32 second = 0; second < 60; second++) {
        for (u32 r = 0; r < PL_COUNT(deaf); r++) {
            act(&siege, &deaf[r], &spawn, 1);
        }
        siege_run(&siege, deaf, PL_COUNT(deaf), 1000);
        before = second == 30 ? heap() : before;
        heard = second == 30 ? deaf[0].bytes : heard;
    }
    size_t after = heap();
    f64 rate = (f64)(deaf[0].bytes - heard) / 29.0;
    print_message("%.0f B/s to who acknowledges nothing; heap %zu kB, then %zu kB\n", rate,
                  before >> 10, after >> 10);
    assert_true(rate < 8000.0);
    assert_true(after < before + GROWTH_BYTES);
    for (u32 r = 0; r < PL_COUNT(deaf); r++) {
        raider_end(&deaf[r]);
    }
    siege_end(&siege);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ghost_hold),
        cmocka_unit_test(test_spawn_storm),
        cmocka_unit_test(test_reconnect_storm),
        cmocka_unit_test(test_never_acknowledges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
