/*
 * test_relay.c: trees of servers in virtual time, over simulated networks: a chain of three and a
 * tree with loss show the root's frames bit for bit; late joins, chat and presence, a parent that
 * is unreachable, restarts, or sends garbage.
 */
#include "client/link/connection.h"
#include "protocol/field/quantize.h"
#include "protocol/record/recording.h"
#include "server/author/scene_load.h"
#include "server/host/source_relay_internal.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/join_rig.h"
#include "tests/support/link_memory.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/in_sync.h"

#define MS 1000000ull

enum {
    NODES_MAX = 4,
    CLIENTS_MAX_HERE = 4,
    TICKS_MAX = 4096,
};

/* When and with which elements each tick was taken by a host. */
typedef struct Taken {
    const Source *source;
    SourceOps ops;
    Frame *(*take)(Source *source);
    u64 hash[TICKS_MAX];
    u64 at_ms[TICKS_MAX];
    u32 frames;
    Frame *newest;
} Taken;

typedef struct Node {
    Link **parent; /* of the node above */
    NetsimOptions up, down;
    Link *dialed; /* its newest connection */
    Source *source;
    Link *link;
    Host *host;  /* NULL: its source is not ready */
    i32 role;    /* of its clients; 0: operators */
    bool strict; /* relays below it may not speak */
} Node;

typedef struct Tree {
    JoinRig root;
    Scene *scene;
    Node nodes[NODES_MAX];
    u32 count;
    Connection *clients[CLIENTS_MAX_HERE];
    u32 client_count;
} Tree;

static Taken taken[1 + NODES_MAX];
static u32 taken_count;
static const Tree *taken_clock;

static Frame *tapped_take(Source *source)
{
    Taken *tap = taken;
    while (tap->source != source) {
        tap++;
    }
    Frame *frame = tap->take(source);
    if (frame != NULL && frame->tick < TICKS_MAX) {
        tap->frames++;
        tap->hash[frame->tick] = frame_hash(frame);
        tap->at_ms[frame->tick] = (u64)join_rig_ms(&taken_clock->root) + 1;
        frame_release(tap->newest);
        tap->newest = frame_acquire(frame);
    }
    return frame;
}

/* Sees the frames that a source gives. */
static Taken *tap_of(Source *source)
{
    assert_true(taken_count < PL_COUNT(taken));
    Taken *tap = &taken[taken_count++];
    memset(tap, 0, sizeof *tap);
    tap->source = source;
    tap->take = source->ops->take;
    tap->ops = *source->ops;
    tap->ops.take = tapped_take;
    source->ops = &tap->ops;
    return tap;
}

static void tree_start(Tree *tree, const char *scene)
{
    char path[256];
    ErrorText error = {0};
    memset(tree, 0, sizeof *tree);
    taken_count = 0;
    taken_clock = tree;
    snprintf(path, sizeof path, "shared/scenes/%s.json", scene);
    tree->scene = scene_load(source_path(path), &error);
    assert_non_null(tree->scene);
    join_rig_start(&tree->root, tree->scene, NULL, 0);
    /* Ahead of the real clock, with which hosts are created. */
    tree->root.start_ns += 3600000 * MS;
    tree->root.now_ns += 3600000 * MS;
}

static Link *node_dial(void *context, ErrorText *error)
{
    Node *node = context;
    node->dialed =
        *node->parent != NULL ? link_memory_connect(*node->parent, &node->up, &node->down) : NULL;
    if (node->dialed == NULL) {
        error_set(error, ERROR_NETWORK, "nobody is there");
    }
    return node->dialed;
}

static Node *node_add(Tree *tree, Link **parent, const NetsimOptions *line)
{
    ErrorText error = {0};
    Node *node = &tree->nodes[tree->count++];
    node->parent = parent;
    node->up = node->down = *line;
    node->up.seed += 1000;
    RelayOptions options = {.above.dial = node_dial, .above.dial_context = node};
    snprintf(options.above.name, sizeof options.above.name, "relay %u", tree->count);
    node->source = source_relay_create_polled(&options, &error);
    assert_non_null(node->source);
    return node;
}

static void node_step(Tree *tree, Node *node)
{
    ErrorText error = {0};
    relay_poll(node->source, tree->root.now_ns);
    if (node->host == NULL && relay_ready(node->source)) {
        HostOptions options = {.clients_max = 16,
                               .snapshot_rate = 30,
                               .open_role = node->role != 0 ? node->role : ROLE_OPERATOR,
                               .relays = !node->strict};
        node->link = link_memory_listen(16);
        node->host = host_create(&options, node->link, node->source, &error);
        assert_non_null(node->host);
    }
    if (node->host != NULL) {
        host_iterate(node->host, tree->root.now_ns);
    }
}

static void tree_step(Tree *tree)
{
    if (tree->root.host != NULL) {
        join_rig_step(&tree->root, tree->clients, tree->client_count);
    } else {
        tree->root.now_ns += MS;
        for (u32 i = 0; i < tree->client_count; i++) {
            connection_poll(tree->clients[i], tree->root.now_ns);
        }
    }
    for (u32 i = 0; i < tree->count; i++) {
        node_step(tree, &tree->nodes[i]);
    }
}

static void tree_run(Tree *tree, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        tree_step(tree);
    }
}

/* Until the node has a host with a frame. */
static void node_wait(Tree *tree, const Node *node)
{
    RelayStats stats = {0};
    for (u32 i = 0; i < 20000 && !stats.linked; i++) {
        tree_step(tree);
        relay_stats(node->source, &stats);
    }
    assert_true(stats.linked);
}

static Connection *tree_connect(Tree *tree, Link *link, const char *name)
{
    static const NetsimOptions line = {.seed = 77, .delay_ms = 10.0};
    ConnectionOptions options = {0};
    ErrorText error = {0};
    snprintf(options.name, sizeof options.name, "%s", name);
    Connection *client =
        connection_create(link_memory_connect(link, &line, &line), &options, &error);
    assert_non_null(client);
    tree->clients[tree->client_count++] = client;
    return client;
}

static void tree_stop(Tree *tree)
{
    for (u32 i = 0; i < tree->client_count; i++) {
        connection_destroy(tree->clients[i]);
    }
    for (u32 i = tree->count; i-- > 0;) {
        Node *node = &tree->nodes[i];
        if (node->host != NULL) {
            host_destroy(node->host);
        } else {
            node->source->ops->destroy(node->source);
        }
    }
    if (tree->root.host != NULL) {
        join_rig_stop(&tree->root);
    }
    for (u32 i = 0; i < taken_count; i++) {
        frame_release(taken[i].newest);
    }
    taken_count = 0;
    scene_destroy(tree->scene);
}

/* Frames with other elements than the root's of that tick. */
static u32 differing(const Taken *root, const Taken *node)
{
    u32 count = 0;
    for (u32 i = 0; i < TICKS_MAX; i++) {
        count += node->hash[i] != 0 && node->hash[i] != root->hash[i];
    }
    return count;
}

/* ---- frames ---- */

/* Three servers in a row, 20 ms apart, and a client that joins the last one late. */
static void test_chain(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 1, .delay_ms = 20.0};
    tree_start(&tree, "playground");
    Taken *root = tap_of(tree.root.source);
    Taken *taps[3];
    Link **parent = &tree.root.link;
    for (u32 i = 0; i < 3; i++) {
        line.seed++;
        Node *node = node_add(&tree, parent, &line);
        taps[i] = tap_of(node->source);
        parent = &node->link;
        node_wait(&tree, node);
    }
    u32 before = taps[2]->frames;
    tree_run(&tree, 2000);
    Connection *late = tree_connect(&tree, tree.nodes[2].link, "late");
    u32 waited = 0;
    while (!join_picture_whole(late) && waited < 2000) {
        tree_step(&tree);
        waited++;
    }
    tree_run(&tree, 3000 - waited);
    f64 most = 0.0, sum = 0.0;
    u32 ticks = 0;
    for (u32 k = 0; k < 3; k++) {
        const Taken *above = k > 0 ? taps[k - 1] : root;
        RelayStats stats;
        relay_stats(tree.nodes[k].source, &stats);
        assert_int_equal(differing(root, taps[k]), 0);
        assert_int_equal(stats.guessed, 0);
        for (u32 i = 0; i < TICKS_MAX; i++) {
            if (taps[k]->hash[i] != 0 && above->hash[i] != 0) {
                f64 added = (f64)taps[k]->at_ms[i] - (f64)above->at_ms[i] - 20.0;
                most = fmax(most, added);
                sum += added;
                ticks++;
            }
        }
    }
    print_message(
        "%u frames at the leaf of %u ms, %u ms until the late picture; a hop adds %.2f ms "
        "in the mean, %.0f at most\n",
        taps[2]->frames - before, 5000u, waited, sum / ticks, most);
    /* 30 snapshots a second for five seconds. */
    assert_true(taps[2]->frames - before >= 147);
    assert_true(most <= 1000.0 / 30.0);
    assert_true(sum / ticks <= 5.0);
    assert_true(waited < 300);
    assert_in_sync(late);
    tree_stop(&tree);
}

/* A tree of which each line loses and reorders: whole frames are the root's. */
static void test_bad_networks(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {
        .seed = 40, .delay_ms = 30.0, .jitter_ms = 20.0, .loss = 0.05, .duplicate = 0.02};
    tree_start(&tree, "playground");
    Taken *root = tap_of(tree.root.source);
    Link **parents[4] = {&tree.root.link, &tree.root.link, &tree.nodes[0].link,
                         &tree.nodes[2].link};
    Taken *taps[4];
    for (u32 i = 0; i < 4; i++) {
        line.seed++;
        Node *node = node_add(&tree, parents[i], &line);
        taps[i] = tap_of(node->source);
        node_wait(&tree, node);
    }
    u32 before[4];
    for (u32 i = 0; i < 4; i++) {
        before[i] = taps[i]->frames;
    }
    /* Pushes keep the world moving. */
    for (u32 i = 0; i < 8; i++) {
        Input push = {.kind = INPUT_SPAWN,
                      .target = {0.3f * (f32)i, 5.0f, 0.0f},
                      .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
        join_rig_input(&tree.root, &push);
        tree_run(&tree, 1000);
    }
    for (u32 i = 0; i < 4; i++) {
        RelayStats stats;
        relay_stats(tree.nodes[i].source, &stats);
        print_message("node %u: %u frames in 8 s, %u of them guessed\n", i,
                      taps[i]->frames - before[i], (u32)stats.guessed);
        /* What a relay guessed is a whole frame for those below it. */
        u32 guessed = (u32)stats.guessed;
        for (const Node *above = &tree.nodes[i]; above->parent != &tree.root.link;) {
            above = above->parent == &tree.nodes[0].link ? &tree.nodes[0] : &tree.nodes[2];
            relay_stats(above->source, &stats);
            guessed += (u32)stats.guessed;
        }
        assert_true(differing(root, taps[i]) <= guessed);
        relay_stats(tree.nodes[i].source, &stats);
        assert_true(taps[i]->frames - before[i] > 240 * 6 / 10);
        assert_true(stats.guessed * 8 < taps[i]->frames);
    }
    tree_stop(&tree);
}

/* A relay records what it shows: the file has the root's frames. */
static void test_records(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 21, .delay_ms = 10.0, .loss = 0.02};
    const char *path = test_path("relay.plrec");
    tree_start(&tree, "six_balls");
    Taken *root = tap_of(tree.root.source);
    Node *node = node_add(&tree, &tree.root.link, &line);
    ((RelaySource *)node->source)->options.record_path = path;
    node_wait(&tree, node);
    for (u32 i = 0; i < 4; i++) {
        Input reset = {.kind = INPUT_RESET, .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
        tree_run(&tree, 1000);
        if (i == 1) {
            join_rig_input(&tree.root, &reset);
        }
    }
    RelayStats stats;
    relay_stats(node->source, &stats);
    /* The file is closed with the relay; the root's frames are known until the tree's end. */
    host_destroy(node->host);
    tree.count = 0;
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(path, &error);
    assert_non_null(reader);
    assert_true(recording_reader_info(reader)->clean);
    Frame *frame;
    u32 ticks = 0, other = 0;
    while (recording_reader_next(reader, &frame, NULL, NULL) == 0) {
        ticks++;
        other += frame->tick >= TICKS_MAX || frame_hash(frame) != root->hash[frame->tick];
        frame_release(frame);
    }
    print_message("%u recorded ticks, %u guessed\n", ticks, (u32)stats.guessed);
    assert_int_equal(ticks, stats.frames + stats.guessed);
    assert_true(ticks > 90 && other <= stats.guessed);
    recording_reader_destroy(reader);
    tree_stop(&tree);
}

/* ---- the parent ---- */

static bool hears_of(Connection *client, const char *text)
{
    ConnectionNews news;
    bool heard = false;
    while (connection_news(client, &news)) {
        heard = heard || strstr(news.text, text) != NULL;
    }
    return heard;
}

/* Nothing arrives for five seconds: the world stands still, then continues as if nothing had
 * been. */
static void test_outage(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 3, .delay_ms = 10.0};
    NetsimOptions dead = {.seed = 3, .loss = 1.0};
    tree_start(&tree, "cradle");
    Taken *root = tap_of(tree.root.source);
    Node *node = node_add(&tree, &tree.root.link, &line);
    Taken *tap = tap_of(node->source);
    node_wait(&tree, node);
    Connection *client = tree_connect(&tree, node->link, "viewer");
    tree_run(&tree, 1000);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    u32 user = connection_user(client), epoch = connection_epoch(client);
    assert_false(connection_status(client)->paused);
    link_memory_set(node->dialed, &dead, &dead);
    node->up = node->down = dead;
    tree_run(&tree, 5000);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    assert_true(connection_status(client)->paused);
    assert_true(hears_of(client, "is frozen"));
    u32 frames = tap->frames;
    node->up = node->down = line;
    /* The attempt in progress ends after 20 s. */
    tree_run(&tree, 25000);
    assert_true(tap->frames > frames + 60);
    assert_false(connection_status(client)->paused);
    assert_true(hears_of(client, "reachable again"));
    assert_int_equal(connection_user(client), user);
    assert_int_equal(connection_epoch(client), epoch);
    assert_int_equal(differing(root, tap), 0);
    assert_in_sync(client);
    tree_stop(&tree);
}

/* The root dies and restarts: viewers of the relay stay and see the new world. */
static void test_restart(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 5, .delay_ms = 10.0};
    tree_start(&tree, "cradle");
    Node *node = node_add(&tree, &tree.root.link, &line);
    node_wait(&tree, node);
    Connection *client = tree_connect(&tree, node->link, "viewer");
    tree_run(&tree, 2000);
    u32 user = connection_user(client), epoch = connection_epoch(client);
    u64 now_ns = tree.root.now_ns;
    join_rig_stop(&tree.root);
    tree.root.host = NULL;
    tree.root.link = NULL;
    tree_run(&tree, 4000); /* 3 s of silence, at most */
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    assert_true(connection_status(client)->paused);
    now_ns = tree.root.now_ns;
    join_rig_start(&tree.root, tree.scene, NULL, 0);
    tree.root.start_ns = tree.root.now_ns = now_ns;
    Taken *root = tap_of(tree.root.source);
    Taken *tap = tap_of(node->source);
    tree_run(&tree, 6000);
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    assert_int_equal(connection_user(client), user);
    assert_int_not_equal(connection_epoch(client), epoch);
    assert_false(connection_status(client)->paused);
    assert_true(tap->frames > 30);
    assert_int_equal(differing(root, tap), 0);
    assert_true(join_picture_whole(client));
    assert_in_sync(client);
    tree_stop(&tree);
}

/* A link on which a part of what arrives was changed on the way: a server that lies. */
typedef struct LyingLink {
    Link base;
    Link *inner;
    u64 seed, count;
    u32 one_in; /* 0: none */
    u32 one_up; /* the same of what is sent: a relay that lies */
    u8 data[1 << 16];
} LyingLink;

static void lying_destroy(Link *link)
{
    LyingLink *l = (LyingLink *)link;
    l->inner->ops->destroy(l->inner);
    free(l);
}

static bool lying_poll(Link *link, u64 now_ms, LinkEvent *event)
{
    LyingLink *l = (LyingLink *)link;
    if (!l->inner->ops->poll(l->inner, now_ms, event)) {
        return false;
    }
    u64 dice = random_u64(l->seed, l->count++);
    if (event->kind != LINK_RECEIVED || l->one_in == 0 || dice % l->one_in != 0 ||
        event->bytes == 0 || event->bytes > sizeof l->data) {
        return true;
    }
    memcpy(l->data, event->data, event->bytes);
    event->data = l->data;
    u32 changes = 1 + (u32)(dice >> 32) % 4;
    for (u32 i = 0; i < changes; i++) {
        dice = random_u64(l->seed, l->count++);
        l->data[(dice >> 8) % event->bytes] ^= (u8)(1 + dice % 255);
    }
    event->bytes -= (dice >> 40) % 16 == 0 ? (u32)(dice >> 48) % event->bytes : 0;
    return true;
}

static int lying_send(Link *link, u32 peer, u32 channel, const void *data, u32 bytes)
{
    LyingLink *l = (LyingLink *)link;
    u8 changed[4096];
    u64 dice = random_u64(l->seed, l->count++);
    if (l->one_up != 0 && dice % l->one_up == 0 && bytes > 0 && bytes <= sizeof changed) {
        memcpy(changed, data, bytes);
        changed[(dice >> 8) % bytes] ^= (u8)(1 + (dice >> 40) % 255);
        data = changed;
    }
    return l->inner->ops->send(l->inner, peer, channel, data, bytes);
}

static void lying_disconnect(Link *link, u32 peer, u32 reason)
{
    Link *inner = ((LyingLink *)link)->inner;
    inner->ops->disconnect(inner, peer, reason);
}

static void lying_flush(Link *link)
{
    Link *inner = ((LyingLink *)link)->inner;
    inner->ops->flush(inner);
}

static int lying_fd(Link *link)
{
    PL_UNUSED(link);
    return -1;
}

typedef struct LyingParent {
    Link **honest;
    u64 seed;
    u32 one_in, one_up;
    u32 dialed;
} LyingParent;

static Link *lying_dial(void *context, ErrorText *error)
{
    static const LinkOps ops = {.destroy = lying_destroy,
                                .poll = lying_poll,
                                .send = lying_send,
                                .disconnect = lying_disconnect,
                                .flush = lying_flush,
                                .fd = lying_fd};
    LyingParent *parent = context;
    NetsimOptions line = {.seed = 1 + parent->dialed++, .delay_ms = 5.0};
    LyingLink *link = calloc(1, sizeof *link);
    PL_UNUSED(error);
    assert_non_null(link);
    link->base.ops = &ops;
    link->inner = link_memory_connect(*parent->honest, &line, &line);
    assert_non_null(link->inner);
    link->seed = parent->seed + parent->dialed;
    link->one_in = parent->one_in;
    link->one_up = parent->one_up;
    return &link->base;
}

/* The relay continues, and its viewers get states that they can decode, whatever it is sent. */
static void test_hostile_parent(void **state)
{
    PL_UNUSED(state);
    static const u32 one_in[] = {3, 20, 200};
    for (u32 i = 0; i < PL_COUNT(one_in); i++) {
        static Tree tree;
        tree_start(&tree, "cloth");
        LyingParent parent = {.honest = &tree.root.link, .seed = 100 + i};
        ErrorText error = {0};
        RelayOptions options = {.above.dial = lying_dial, .above.dial_context = &parent};
        Node *node = &tree.nodes[tree.count++];
        node->source = source_relay_create_polled(&options, &error);
        node_wait(&tree, node);
        Connection *client = tree_connect(&tree, node->link, "viewer");
        tree_run(&tree, 500);
        assert_int_equal(connection_state(client), CONNECTION_LIVE);
        /* From the next session on it lies; this one ends. */
        parent.one_in = one_in[i];
        upstream_reject(((RelaySource *)node->source)->upstream, "the test wants another session");
        tree_run(&tree, 5000);
        ConnectionStats stats;
        RelayStats relay;
        connection_stats(client, &stats);
        relay_stats(node->source, &relay);
        print_message("one packet of %u changed: %u frames, %u guessed, %u sessions\n", one_in[i],
                      (u32)relay.frames, (u32)relay.guessed, (u32)relay.sessions);
        assert_int_equal(connection_state(client), CONNECTION_LIVE);
        assert_int_equal(stats.desyncs + stats.malformed, 0);
        parent.one_in = 0;
        upstream_reject(((RelaySource *)node->source)->upstream, "the test wants another session");
        u64 frames = relay.frames;
        tree_run(&tree, 5000);
        relay_stats(node->source, &relay);
        assert_true(relay.frames > frames + 60);
        assert_false(connection_status(client)->paused);
        tree_stop(&tree);
    }
}

/* ---- users ---- */

static const UserInfo *user_named(const Connection *client, const char *name)
{
    u32 count;
    const UserInfo *users = connection_users(client, &count);
    for (u32 i = 0; i < count; i++) {
        if (strcmp(users[i].name, name) == 0) {
            return &users[i];
        }
    }
    return NULL;
}

/* A viewer of the second relay hears and sees a user of the root. */
static void test_from_above(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 9, .delay_ms = 10.0};
    tree_start(&tree, "cradle");
    Node *first = node_add(&tree, &tree.root.link, &line);
    node_wait(&tree, first);
    Node *second = node_add(&tree, &first->link, &line);
    node_wait(&tree, second);
    Connection *high = tree_connect(&tree, tree.root.link, "high");
    Connection *low = tree_connect(&tree, second->link, "low");
    tree_run(&tree, 1000);
    SnapshotView view = {
        .eye = {1.0f, 2.0f, 3.0f}, .forward = {0, 0, -1}, .pixels_per_radian = 800};
    connection_view(high, &view, (Ray){.origin = view.eye, .direction = view.forward}, true);
    assert_int_equal(connection_chat(high, "hello down there"), 0);
    tree_run(&tree, 1000);
    assert_true(hears_of(low, "hello down there"));
    const UserInfo *info = user_named(low, "high");
    assert_non_null(info);
    assert_int_equal(info->id, connection_user(high) + (2u << RELAY_LEVEL_SHIFT));
    u32 count;
    bool seen = false;
    const Presence *presences = connection_presences(low, &count);
    for (u32 i = 0; i < count; i++) {
        seen = seen || (presences[i].user == info->id && presences[i].eye.y == 2.0f);
    }
    assert_true(seen);
    tree_stop(&tree);
}

static f32 height_of(Tree *tree, const char *name)
{
    MessageWorld world;
    tree->root.source->ops->describe(tree->root.source, &world);
    for (u32 i = 0; i < world.entity_count; i++) {
        if (strcmp(world.entities[i].name, name) == 0) {
            const Frame *frame = taken[0].newest;
            const Entity *entity = &world.entities[i];
            return dequantize_position(&frame->fields->fields[entity->field],
                                       frame_poses(frame, entity->field)[entity->first].position)
                .y;
        }
    }
    return -1.0f;
}

static void grab(Connection *client, const char *name, Vec3 eye)
{
    const Entity *entity = connection_entity_named(client, name);
    ConnectionStats stats;
    connection_stats(client, &stats);
    assert_non_null(entity);
    SnapshotView view = {.eye = eye, .forward = {0, 0, -1}, .pixels_per_radian = 800};
    connection_view(client, &view, (Ray){.origin = eye, .direction = view.forward}, true);
    Input input = {.kind = INPUT_GRAB,
                   .entity = entity->id,
                   .seen_base = (u32)stats.tick_last,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {eye, {0.0f, 0.0f, -1.0f}}};
    assert_int_not_equal(connection_input(client, &input), 0);
}

static void drag(Connection *client, Vec3 target)
{
    Input input = {.kind = INPUT_MOVE, .target = target, .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
    (void)connection_input(client, &input);
}

static u32 held_by(const Connection *client, u32 user)
{
    u32 count;
    const Presence *presences = connection_presences(client, &count);
    for (u32 i = 0; i < count; i++) {
        if (presences[i].user == user) {
            return presences[i].grabbed;
        }
    }
    return 0;
}

/* A client of the second relay lifts a box at the root; all see who it is, and hear it. */
static void test_reach_up(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    NetsimOptions line = {.seed = 11, .delay_ms = 10.0, .loss = 0.01};
    const Vec3 eye = {0.0f, 1.0f, 8.0f};
    tree_start(&tree, "playground");
    (void)tap_of(tree.root.source);
    Node *first = node_add(&tree, &tree.root.link, &line);
    node_wait(&tree, first);
    line.seed++;
    Node *second = node_add(&tree, &first->link, &line);
    node_wait(&tree, second);
    Connection *high = tree_connect(&tree, tree.root.link, "high");
    Connection *low = tree_connect(&tree, second->link, "low");
    tree_run(&tree, 2000);
    const UserInfo *info = user_named(high, "low");
    assert_non_null(info);
    assert_true(info->id < 1u << RELAY_LEVEL_SHIFT);
    assert_non_null(user_named(low, "low"));
    assert_int_equal(user_named(low, "low")->id, connection_user(low));
    assert_int_equal(connection_chat(low, "hello up there"), 0);
    f32 before = height_of(&tree, "box-1");
    grab(low, "box-1", eye);
    tree_run(&tree, 500);
    u32 box = connection_entity_named(low, "box-1")->id;
    assert_int_equal(held_by(high, user_named(high, "low")->id), box);
    assert_int_equal(held_by(low, connection_user(low)), box);
    for (u32 i = 0; i < 100; i++) {
        drag(low, (Vec3){0.0f, 0.5f + 0.02f * (f32)i, 3.5f});
        tree_run(&tree, 20);
    }
    f32 after = height_of(&tree, "box-1");
    print_message("the box was lifted from %.2f to %.2f m\n", before, after);
    assert_true(after - before > 1.0f);
    ConnectionNews news;
    u32 heard = 0;
    while (connection_news(low, &news)) {
        heard += strcmp(news.text, "hello up there") == 0;
    }
    assert_int_equal(heard, 1);
    assert_true(hears_of(high, "hello up there"));
    /* It disconnects without releasing: the root releases, and removes it. */
    connection_destroy(low);
    tree.client_count--;
    tree_run(&tree, 2000);
    assert_null(user_named(high, "low"));
    assert_true(height_of(&tree, "box-1") < before + 0.3f);
    tree_stop(&tree);
}

/* A relay's users get no more permissions than it has, and none if it may not speak for them. */
static void test_no_more_than_itself(void **state)
{
    PL_UNUSED(state);
    for (u32 i = 0; i < 2; i++) {
        static Tree tree;
        NetsimOptions line = {.seed = 13, .delay_ms = 10.0};
        tree_start(&tree, "playground");
        (void)tap_of(tree.root.source);
        Node *first = node_add(&tree, &tree.root.link, &line);
        /* The relay below it is an operator without a voice, or has one and is a participant. */
        first->strict = i == 0;
        first->role = i == 0 ? ROLE_OPERATOR : ROLE_PARTICIPANT;
        node_wait(&tree, first);
        Node *second = node_add(&tree, &first->link, &line);
        node_wait(&tree, second);
        Connection *high = tree_connect(&tree, tree.root.link, "high");
        Connection *low = tree_connect(&tree, second->link, "low");
        tree_run(&tree, 1500);
        assert_int_equal(connection_role(low), ROLE_OPERATOR);
        const UserInfo *info = user_named(high, "low");
        if (i == 0) {
            assert_null(info);
        } else {
            assert_non_null(info);
            assert_int_equal(info->role, ROLE_PARTICIPANT);
        }
        /* Only operators remove. */
        Input input = {.kind = INPUT_REMOVE,
                       .entity = connection_entity_named(low, "box-1")->id,
                       .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
        ConnectionStats stats;
        assert_int_not_equal(connection_input(low, &input), 0);
        tree_run(&tree, 1000);
        connection_stats(low, &stats);
        assert_int_equal(stats.refused, 1);
        assert_non_null(connection_entity_named(high, "box-1"));
        tree_stop(&tree);
    }
}

/* A permitted relay sends garbage: the root and its own clients are not affected. */
static void test_hostile_relay(void **state)
{
    PL_UNUSED(state);
    static Tree tree;
    tree_start(&tree, "six_balls");
    LyingParent parent = {.honest = &tree.root.link, .seed = 300};
    ErrorText error = {0};
    RelayOptions options = {.above.dial = lying_dial, .above.dial_context = &parent};
    Node *node = &tree.nodes[tree.count++];
    node->source = source_relay_create_polled(&options, &error);
    node_wait(&tree, node);
    Connection *high = tree_connect(&tree, tree.root.link, "high");
    Connection *low = tree_connect(&tree, node->link, "low");
    tree_run(&tree, 1000);
    assert_non_null(user_named(high, "low"));
    parent.one_up = 4;
    upstream_reject(((RelaySource *)node->source)->upstream, "the test wants another session");
    for (u32 i = 0; i < 400; i++) {
        Vec3 target = {0.01f * (f32)i, 1.0f, 0.0f};
        Input spawn = {.kind = INPUT_SPAWN, .target = target, .rotation = {1.0f, 0, 0, 0}};
        drag(low, target);
        (void)connection_input(low, &spawn);
        if (i % 40 == 0) {
            (void)connection_chat(low, "noise");
        }
        tree_run(&tree, 20);
    }
    ConnectionStats stats;
    HostStats root;
    connection_stats(high, &stats);
    host_stats(tree.root.host, &root);
    print_message("the root met %u malformed messages\n", (u32)root.malformed);
    assert_true(root.malformed > 0);
    assert_int_equal(connection_state(high), CONNECTION_LIVE);
    assert_int_equal(stats.desyncs + stats.malformed, 0);
    /* It is honest again: its user is there, once. */
    parent.one_up = 0;
    upstream_reject(((RelaySource *)node->source)->upstream, "the test wants another session");
    tree_run(&tree, 6000);
    u32 count, lows = 0;
    const UserInfo *users = connection_users(high, &count);
    for (u32 i = 0; i < count; i++) {
        lows += strncmp(users[i].name, "low", 3) == 0;
    }
    assert_int_equal(lows, 1);
    tree_stop(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_bad_networks),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_outage),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_hostile_parent),
        cmocka_unit_test(test_from_above),
        cmocka_unit_test(test_reach_up),
        cmocka_unit_test(test_no_more_than_itself),
        cmocka_unit_test(test_hostile_relay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
