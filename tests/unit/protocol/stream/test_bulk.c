/*
 * test_bulk.c: bulk transfers over simulated networks in virtual time: their duration, the queue
 * they leave on the line, how two share it; and what a receiver and a sender refuse.
 */
#include "protocol/stream/bulk.h"
#include "shared/math/random.h"
#include "tests/support/netsim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    /* IP, UDP, ENet and seal headers of each packet use the line too. */
    OVERHEAD = 28 + 12 + 24,
    TURN_US = 5000, /* of a host's loop */
    POLL_US = 8000, /* of a client */
    SCENE_BYTES = 10000000,
};

static u8 *random_bytes(u32 bytes, u64 seed)
{
    u8 *data = malloc(bytes + 8);
    assert_non_null(data);
    for (u32 i = 0; i < bytes; i += 8) {
        u64 value = random_u64(seed, i);
        memcpy(data + i, &value, 8);
    }
    return data;
}

static BulkContent *random_content(u32 bytes, u64 seed)
{
    u8 *data = random_bytes(bytes, seed);
    BulkContent *content = bulk_content_create(data, bytes);
    assert_non_null(content);
    free(data);
    return content;
}

/* ---- a sender, a line and a receiver ---- */

typedef struct Path {
    BulkSender *sender;
    BulkReceiver *receiver;
    Netsim *down, *up; /* down may be shared with another path */
    bool shared;
    u8 tag; /* in front of each packet on a shared line */
    u64 poll_us;
} Path;

static void path_open(Path *path, const NetsimOptions *down, const NetsimOptions *up)
{
    *path = (Path){.sender = bulk_sender_create(0, 0), .receiver = bulk_receiver_create()};
    path->down = netsim_create(down);
    path->up = netsim_create(up);
    assert_non_null(path->sender);
    assert_non_null(path->receiver);
}

static void path_close(Path *path)
{
    bulk_sender_destroy(path->sender);
    bulk_receiver_destroy(path->receiver);
    if (!path->shared) {
        netsim_destroy(path->down);
    }
    netsim_destroy(path->up);
}

static void path_send(Path *path, u64 now_us)
{
    u8 packet[NETSIM_PACKET_BYTES_MAX];
    u32 bytes;
    while ((bytes = netsim_receive(path->up, now_us, packet)) > 0) {
        assert_int_equal(bulk_sender_ack(path->sender, packet + OVERHEAD, bytes - OVERHEAD, now_us),
                         0);
    }
    memset(packet, 0, OVERHEAD);
    packet[0] = path->tag;
    while ((bytes = bulk_sender_next(path->sender, now_us, packet + OVERHEAD)) > 0) {
        netsim_send(path->down, packet, bytes + OVERHEAD, now_us);
    }
}

static void path_ack(Path *path, u64 now_us)
{
    u8 packet[NETSIM_PACKET_BYTES_MAX] = {0};
    u32 bytes = bulk_receiver_ack(path->receiver, now_us, packet + OVERHEAD);
    if (bytes > 0) {
        netsim_send(path->up, packet, bytes + OVERHEAD, now_us);
    }
}

static void path_receive(Path *path, u64 now_us)
{
    u8 packet[NETSIM_PACKET_BYTES_MAX];
    u32 bytes;
    while ((bytes = netsim_receive(path->down, now_us, packet)) > 0) {
        assert_int_equal(
            bulk_receiver_push(path->receiver, packet + OVERHEAD, bytes - OVERHEAD, now_us), 0);
    }
    path_ack(path, now_us);
}

/* Runs until the receiver has transfer `id`, at most until end_us; returns the virtual time. */
static u64 path_run(Path *path, u32 id, u64 now_us, u64 end_us, BulkTaken *taken)
{
    for (; now_us < end_us; now_us += 1000) {
        if (now_us % TURN_US == 0) {
            path_send(path, now_us);
        }
        if (now_us % POLL_US == 0) {
            path_receive(path, now_us);
            if (bulk_receiver_take(path->receiver, id, taken) == 0) {
                return now_us;
            }
        }
    }
    return UINT64_MAX;
}

static const NetsimOptions line_50 = {
    .seed = 1, .delay_ms = 50.0, .rate_bytes_s = 50000000 / 8, .queue_ms = 200};

/* Seconds until the receiver has a body of random bytes; checks the contents. */
static f64 transfer_s(const NetsimOptions *down, u32 bytes, BulkSenderStats *stats)
{
    Path path;
    NetsimOptions up = *down;
    BulkTaken taken = {0};
    u32 id;
    up.seed += 1000;
    up.rate_bytes_s = 0;
    path_open(&path, down, &up);
    u8 *data = random_bytes(bytes, 7);
    BulkContent *content = bulk_content_create(data, bytes);
    assert_int_equal(bulk_sender_add(path.sender, content, &id), 0);
    bulk_content_release(content);
    u64 end_us = path_run(&path, id, 0, 400000000, &taken);
    assert_true(end_us != UINT64_MAX);
    assert_int_equal(taken.bytes, bytes);
    assert_memory_equal(taken.data, data, bytes);
    bulk_sender_stats(path.sender, stats);
    free(taken.memory);
    free(data);
    path_close(&path);
    return (f64)end_us * 1e-6;
}

/* ---- how long it takes ---- */

/* 10 MB at 50 Mbit/s and 100 ms take 1.73 s of line with overhead; the excess is the search for the
 * rate. */
static void test_scene(void **state)
{
    PL_UNUSED(state);
    static const struct {
        f64 loss, jitter_ms, duplicate, most_s;
    } rows[] = {{0.0, 0.0, 0.0, 2.5},   {0.01, 0.0, 0.0, 2.6}, {0.02, 0.0, 0.0, 2.7},
                {0.05, 0.0, 0.0, 3.0},  {0.0, 20.0, 0.0, 2.6}, {0.01, 60.0, 0.05, 3.2},
                {0.15, 10.0, 0.0, 4.0}, {0.30, 0.0, 0.0, 6.0}};
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        NetsimOptions line = line_50;
        BulkSenderStats stats;
        line.loss = rows[i].loss;
        line.jitter_ms = rows[i].jitter_ms;
        line.duplicate = rows[i].duplicate;
        f64 took_s = transfer_s(&line, SCENE_BYTES, &stats);
        f64 least = (f64)SCENE_BYTES / BULK_BLOCK_BYTES;
        f64 waste = (f64)stats.packets * (1.0 - line.loss) / least - 1.0;
        print_message(
            "10 MB, loss %2.0f %%, jitter %2.0f ms: %.2f s, repeats beyond loss %.1f %%\n",
            100.0 * line.loss, line.jitter_ms, took_s, 100.0 * waste);
        assert_true(took_s < rows[i].most_s);
        assert_true(waste < 0.08);
    }
}

/* Other kinds of lines: most of their capacity is used. */
static void test_lines(void **state)
{
    PL_UNUSED(state);
    static const struct {
        f64 mbit_s, rtt_ms;
        u32 queue_ms, bytes;
        f64 share; /* of the line, over the whole transfer with its start */
    } rows[] = {{1.0, 40.0, 200, 1000000, 0.8},    {0.256, 200.0, 400, 100000, 0.6},
                {10.0, 20.0, 20, 5000000, 0.8},    {50.0, 300.0, 300, 10000000, 0.4},
                {100.0, 10.0, 100, 16000000, 0.7}, {0.064, 100.0, 1000, 40000, 0.5}};
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        NetsimOptions line = {.seed = 3 + i,
                              .delay_ms = rows[i].rtt_ms / 2.0,
                              .rate_bytes_s = (u32)(rows[i].mbit_s * 1e6 / 8.0),
                              .queue_ms = rows[i].queue_ms};
        BulkSenderStats stats;
        f64 took_s = transfer_s(&line, rows[i].bytes, &stats);
        f64 share = rows[i].bytes * 8.0 / 1e6 / took_s / rows[i].mbit_s;
        print_message("%7.3f Mbit/s, %3.0f ms: %.2f of the line, %llu packets, %llu repeats\n",
                      rows[i].mbit_s, rows[i].rtt_ms, share, (unsigned long long)stats.packets,
                      (unsigned long long)stats.repeated);
        assert_true(share > rows[i].share);
    }
}

/* ---- beside others ---- */

/* A state stream on the same line: how long its packets wait behind blocks once the transfer has
 * found the rate of the line. A client's budget takes 60 ms for congestion (budget.h). */
static void test_queue(void **state)
{
    PL_UNUSED(state);
    static const f64 mbit_s[] = {5.0, 20.0, 50.0};
    for (u32 i = 0; i < PL_COUNT(mbit_s); i++) {
        Path path;
        NetsimOptions line = {.seed = 5,
                              .delay_ms = 25.0,
                              .rate_bytes_s = (u32)(mbit_s[i] * 1e6 / 8.0),
                              .queue_ms = 500};
        NetsimOptions up = {.seed = 6, .delay_ms = 25.0};
        u64 sent = 0, late = 0, worst_us = 0;
        u32 id;
        u8 packet[NETSIM_PACKET_BYTES_MAX];
        path_open(&path, &line, &up);
        BulkContent *content = random_content(16000000, 1);
        assert_int_equal(bulk_sender_add(path.sender, content, &id), 0);
        bulk_content_release(content);
        for (u64 now_us = 0; now_us < 2500000; now_us += 1000) {
            if (now_us % 33000 == 0) {
                memset(packet, 0xFF, 400);
                memcpy(packet + OVERHEAD, &now_us, sizeof now_us);
                netsim_send(path.down, packet, 400, now_us);
            }
            if (now_us % TURN_US == 0) {
                path_send(&path, now_us);
            }
            u32 bytes;
            while ((bytes = netsim_receive(path.down, now_us, packet)) > 0) {
                u64 sent_us;
                if (packet[0] == 0) {
                    bulk_receiver_push(path.receiver, packet + OVERHEAD, bytes - OVERHEAD, now_us);
                    continue;
                }
                memcpy(&sent_us, packet + OVERHEAD, sizeof sent_us);
                if (sent_us > 1000000) {
                    u64 stood_us = now_us - sent_us - 25000;
                    worst_us = u64_max(worst_us, stood_us);
                    late += stood_us > 40000;
                    sent++;
                }
            }
            path_ack(&path, now_us);
        }
        print_message("%4.0f Mbit/s: state stands %3.0f ms at worst\n", mbit_s[i],
                      (f64)worst_us * 1e-3);
        assert_true(sent > 40);
        assert_true(worst_us < 60000);
        assert_true(late * 10 < sent);
        path_close(&path);
    }
}

/* Two clients on one line, the second one second later: neither starves. */
static void test_share(void **state)
{
    PL_UNUSED(state);
    enum {
        BYTES = 8000000
    };
    Path paths[2];
    NetsimOptions line = {
        .seed = 9, .delay_ms = 20.0, .rate_bytes_s = 20000000 / 8, .queue_ms = 200};
    NetsimOptions up = {.seed = 10, .delay_ms = 20.0};
    u64 known[2][2] = {{0}};
    u8 packet[NETSIM_PACKET_BYTES_MAX];
    for (u32 i = 0; i < 2; i++) {
        u32 id;
        path_open(&paths[i], &line, &up);
        paths[i].tag = (u8)i;
        BulkContent *content = random_content(BYTES, 1 + i);
        assert_int_equal(bulk_sender_add(paths[i].sender, content, &id), 0);
        bulk_content_release(content);
    }
    netsim_destroy(paths[1].down);
    paths[1].down = paths[0].down;
    paths[1].shared = true;
    for (u64 now_us = 0; now_us <= 4000000; now_us += 1000) {
        if (now_us % TURN_US == 0) {
            path_send(&paths[0], now_us);
            if (now_us >= 1000000) {
                path_send(&paths[1], now_us);
            }
        }
        u32 bytes;
        while ((bytes = netsim_receive(paths[0].down, now_us, packet)) > 0) {
            bulk_receiver_push(paths[packet[0]].receiver, packet + OVERHEAD, bytes - OVERHEAD,
                               now_us);
        }
        for (u32 i = 0; i < 2; i++) {
            path_ack(&paths[i], now_us);
            if (now_us == 2000000 || now_us == 4000000) {
                BulkReceiverStats stats;
                bulk_receiver_stats(paths[i].receiver, &stats);
                known[i][now_us / 2000000 - 1] = stats.known_bytes;
            }
        }
    }
    f64 got[2];
    for (u32 i = 0; i < 2; i++) {
        got[i] = (f64)(known[i][1] - known[i][0]) * 8e-6 / 2.0;
    }
    print_message("shared line of 20 Mbit/s: %.1f and %.1f\n", got[0], got[1]);
    assert_true(got[0] + got[1] > 15.0);
    assert_true(got[0] < 4.0 * got[1] && got[1] < 4.0 * got[0]);
    path_close(&paths[1]);
    path_close(&paths[0]);
}

/* No packet passes for 5 s: the transfer resumes within a second and a half. */
static void test_stall(void **state)
{
    PL_UNUSED(state);
    Path path;
    BulkTaken taken = {0};
    u32 id;
    NetsimOptions up = {.seed = 2, .delay_ms = 50.0};
    path_open(&path, &line_50, &up);
    BulkContent *content = random_content(SCENE_BYTES, 3);
    assert_int_equal(bulk_sender_add(path.sender, content, &id), 0);
    bulk_content_release(content);
    assert_true(path_run(&path, id, 0, 1000000, &taken) == UINT64_MAX);
    NetsimOptions dead = line_50, dead_up = up;
    dead.loss = dead_up.loss = 1.0;
    netsim_set(path.down, &dead);
    netsim_set(path.up, &dead_up);
    BulkSenderStats before, during;
    bulk_sender_stats(path.sender, &before);
    assert_true(path_run(&path, id, 1000000, 6000000, &taken) == UINT64_MAX);
    bulk_sender_stats(path.sender, &during);
    assert_true(during.packets - before.packets < 1500); /* packets under way, then probes */
    netsim_set(path.down, &line_50);
    netsim_set(path.up, &up);
    u64 end_us = path_run(&path, id, 6000000, 60000000, &taken);
    print_message("10 MB with a stall from 1 to 6 s: %.2f s\n", (f64)end_us * 1e-6);
    assert_true(end_us < 9500000);
    free(taken.memory);
    path_close(&path);
}

/* ---- order and limits ---- */

/* More transfers than a receiver keeps, in order, over a line that loses a fifth in each
 * direction. */
static void test_many(void **state)
{
    PL_UNUSED(state);
    enum {
        TRANSFERS = 3 * BULK_OPEN_MAX
    };
    Path path;
    NetsimOptions bad = {.seed = 4, .delay_ms = 10.0, .jitter_ms = 10.0, .loss = 0.2};
    NetsimOptions up = bad;
    up.seed = 5;
    path_open(&path, &bad, &up);
    u32 sizes[TRANSFERS], id = 0;
    for (u32 i = 0; i < TRANSFERS; i++) {
        sizes[i] = 1 + (u32)(random_u64(8, i) % (i % 5 == 0 ? 300000 : 3000));
        BulkContent *content = random_content(sizes[i], i);
        assert_int_equal(bulk_sender_add(path.sender, content, &id), 0);
        assert_int_equal(id, i);
        bulk_content_release(content);
    }
    u64 now_us = 0;
    for (u32 i = 0; i < TRANSFERS; i++) {
        BulkTaken taken;
        BulkReceiverStats stats;
        assert_int_equal(bulk_receiver_take(path.receiver, i + 1, &taken), ERROR_RANGE);
        now_us = path_run(&path, i, now_us, now_us + 20000000, &taken);
        assert_true(now_us != UINT64_MAX);
        u8 *expected = random_bytes(sizes[i], i);
        assert_int_equal(taken.bytes, sizes[i]);
        assert_memory_equal(taken.data, expected, sizes[i]);
        bulk_receiver_stats(path.receiver, &stats);
        assert_true(stats.open <= BULK_OPEN_MAX && stats.open_bytes <= BULK_OPEN_BYTES_MAX);
        free(expected);
        free(taken.memory);
        now_us++;
        now_us += 1000 - now_us % 1000;
    }
    BulkTaken none;
    assert_true(path_run(&path, TRANSFERS, now_us, now_us + 3000000, &none) == UINT64_MAX);
    assert_true(bulk_sender_done(path.sender));
    path_close(&path);
}

/* A transfer under way is abandoned for another: its late blocks change nothing. */
static void test_void(void **state)
{
    PL_UNUSED(state);
    Path path;
    BulkTaken taken = {0};
    u32 id;
    NetsimOptions up = {.seed = 2, .delay_ms = 50.0};
    path_open(&path, &line_50, &up);
    BulkContent *old = random_content(SCENE_BYTES, 1), *fresh = random_content(5000, 2);
    assert_int_equal(bulk_sender_add(path.sender, old, &id), 0);
    assert_true(path_run(&path, id, 0, 400000, &taken) == UINT64_MAX);
    assert_false(bulk_sender_is_sent(path.sender, id));
    u32 first = bulk_sender_void(path.sender);
    assert_true(bulk_sender_done(path.sender));
    assert_int_equal(bulk_sender_add(path.sender, fresh, &id), 0);
    assert_int_equal(id, first);
    assert_int_equal(bulk_receiver_take(path.receiver, id, &taken), ERROR_RANGE);
    assert_int_equal(bulk_receiver_void(path.receiver, first), 0);
    BulkReceiverStats stats;
    bulk_receiver_stats(path.receiver, &stats);
    assert_int_equal(stats.open_bytes, 0);
    /* Half the line's queue is full of the old one; nothing more of it follows. */
    assert_true(path_run(&path, id, 400000, 700000, &taken) != UINT64_MAX);
    assert_int_equal(taken.bytes, 5000);
    assert_int_equal(bulk_receiver_void(path.receiver, 0), ERROR_RANGE);
    assert_int_equal(bulk_receiver_void(path.receiver, id + BULK_QUEUE_MAX + 2), ERROR_RANGE);
    free(taken.memory);
    bulk_content_release(old);
    bulk_content_release(fresh);
    path_close(&path);
}

static void test_queue_limit(void **state)
{
    PL_UNUSED(state);
    BulkSender *sender = bulk_sender_create(0, 0);
    BulkContent *content = random_content(100, 1);
    u32 id;
    for (u32 i = 0; i < BULK_QUEUE_MAX; i++) {
        assert_int_equal(bulk_sender_add(sender, content, &id), 0);
    }
    assert_int_equal(bulk_sender_add(sender, content, &id), ERROR_LIMIT);
    bulk_sender_destroy(sender);
    bulk_content_release(content);
    u8 byte = 0;
    assert_null(bulk_content_create(&byte, 0));
    assert_null(bulk_content_create(&byte, MESSAGE_BYTES_MAX + 1));
}

/* ---- contents ---- */

static void body_push(BulkReceiver *receiver, u32 id, const u8 *body, u32 bytes)
{
    static u32 number;
    for (u32 at = 0; at < bytes; at += BULK_BLOCK_BYTES) {
        u8 packet[BULK_PACKET_BYTES_MAX];
        u32 size = u32_min(bytes - at, BULK_BLOCK_BYTES);
        u16 block = (u16)(at / BULK_BLOCK_BYTES);
        memcpy(packet, &number, 4);
        memcpy(packet + 4, &id, 4);
        memcpy(packet + 8, &bytes, 4);
        memcpy(packet + 12, &block, 2);
        memcpy(packet + BULK_BLOCK_HEAD_BYTES, body + at, size);
        number++;
        assert_int_equal(bulk_receiver_push(receiver, packet, BULK_BLOCK_HEAD_BYTES + size, number),
                         0);
    }
}

/* Packed in parts of any size a message is what it is packed at once, or as good. */
static void test_packed_in_parts(void **state)
{
    PL_UNUSED(state);
    static const u32 parts[] = {1000, 65536, 128 << 10, 999999};
    for (u32 i = 0; i < 3 * PL_COUNT(parts); i++) {
        u32 bytes = 1300000 + i, part = parts[i / 3], steps = 0;
        u8 *data = random_bytes(bytes, i);
        for (u32 k = 0; k < bytes && i % 3 > 0; k++) { /* all, or the first half of it */
            data[k] = i % 3 == 1 || k < bytes / 2 ? (u8)(k / 100) : data[k];
        }
        BulkContent *whole = bulk_content_create(data, bytes);
        BulkPacker *packer = bulk_packer_create(data, bytes);
        while (!bulk_packer_step(packer, part)) {
            steps++;
        }
        assert_in_range(steps, bytes / part - 1, 2 * (bytes / part + 1));
        BulkContent *content = bulk_packer_finish(packer);
        u32 size = bulk_content_bytes(content);
        assert_true(size <= bulk_content_bytes(whole) + bytes / 100);
        BulkReceiver *receiver = bulk_receiver_create();
        BulkTaken taken = {0};
        body_push(receiver, 0, bulk_content_body(content), size);
        assert_int_equal(bulk_receiver_take(receiver, 0, &taken), 0);
        assert_int_equal(taken.bytes, bytes);
        assert_memory_equal(taken.data, data, bytes);
        free(taken.memory);
        bulk_receiver_destroy(receiver);
        bulk_content_release(content);
        bulk_content_release(whole);
        free(data);
    }
    assert_null(bulk_packer_create("", 0));
    bulk_packer_destroy(bulk_packer_create("abc", 3)); /* unfinished */
}

/* Repetitive data is compressed, random data is not; both are restored. Then one bit is flipped. */
static void test_content(void **state)
{
    PL_UNUSED(state);
    static const u32 sizes[] = {1, 15, 1000, 1160, 1161, 70000, 3000000};
    for (u32 i = 0; i < 2 * PL_COUNT(sizes); i++) {
        u32 bytes = sizes[i / 2];
        bool random = i % 2 == 0;
        u8 *fallback = random_bytes(bytes, i);
        for (u32 k = 0; k < bytes && !random; k++) {
            fallback[k] = (u8)(k / 100);
        }
        BulkContent *content = bulk_content_create(fallback, bytes);
        u32 size = bulk_content_bytes(content);
        assert_true(size <= bytes + BULK_BODY_HEAD_BYTES);
        assert_true(random || bytes < 1000 || size < bytes / 2);
        for (u32 wrong = 0; wrong < 4; wrong++) {
            BulkReceiver *receiver = bulk_receiver_create();
            BulkTaken taken = {0};
            u8 *body = malloc(size);
            memcpy(body, bulk_content_body(content), size);
            if (wrong > 0) {
                u64 bit = wrong == 1 ? 8 * 8 + 3 : wrong == 2 ? 12 * 8 + 1 : 8 * (u64)size - 1;
                body[bit / 8] ^= (u8)(1u << (bit % 8));
            }
            body_push(receiver, 0, body, size);
            int result = bulk_receiver_take(receiver, 0, &taken);
            assert_int_equal(result, wrong == 0 ? 0 : ERROR_FORMAT);
            if (wrong == 0) {
                assert_int_equal(taken.bytes, bytes);
                assert_int_equal((uintptr_t)taken.data % 16, 0);
                assert_memory_equal(taken.data, fallback, bytes);
            }
            free(taken.memory);
            free(body);
            bulk_receiver_destroy(receiver);
        }
        bulk_content_release(content);
        free(fallback);
    }
}

/* ---- hostile ---- */

typedef struct Hostile {
    const char *what;
    u32 number, id, size, block, bytes;
    int expected;
} Hostile;

static int hostile_push(BulkReceiver *receiver, const Hostile *h)
{
    u8 packet[2 * BULK_PACKET_BYTES_MAX] = {0};
    u16 block = (u16)h->block;
    memcpy(packet, &h->number, 4);
    memcpy(packet + 4, &h->id, 4);
    memcpy(packet + 8, &h->size, 4);
    memcpy(packet + 12, &block, 2);
    return bulk_receiver_push(receiver, packet, h->bytes, 1);
}

static void test_hostile_blocks(void **state)
{
    PL_UNUSED(state);
    enum {
        FULL = BULK_PACKET_BYTES_MAX,
        HEAD = BULK_BLOCK_HEAD_BYTES
    };
    static const Hostile rows[] = {
        {"empty", 1, 0, 5000, 0, 0, ERROR_FORMAT},
        {"head alone", 1, 0, 5000, 0, HEAD, ERROR_FORMAT},
        {"no body", 1, 0, BULK_BODY_HEAD_BYTES, 0, HEAD + BULK_BODY_HEAD_BYTES, ERROR_RANGE},
        {"huge", 1, 0, BULK_BODY_BYTES_MAX + 1, 0, FULL, ERROR_RANGE},
        {"all ones", 1, 0, UINT32_MAX, 0, FULL, ERROR_RANGE},
        {"block beyond", 1, 0, 5000, 5, HEAD + 360, ERROR_RANGE},
        {"last block", 1, 0, 5000, 65535, FULL, ERROR_RANGE},
        {"too short", 1, 0, 5000, 0, FULL - 1, ERROR_RANGE},
        {"too long", 1, 0, 5000, 0, FULL + 1, ERROR_RANGE},
        {"last too long", 1, 0, 5000, 4, HEAD + 361, ERROR_RANGE},
        {"transfer far ahead", 1, BULK_OPEN_MAX, 5000, 0, FULL, ERROR_RANGE},
        {"good", 10, 0, 5000, 4, HEAD + 360, 0},
        {"good again", 11, 0, 5000, 4, HEAD + 360, 0},
        {"the same packet", 11, 0, 5000, 4, HEAD + 360, 0},
        {"another size", 12, 0, 5001, 3, FULL, ERROR_MISMATCH},
        {"number far ahead", 11 + 16 * BULK_WINDOW, 0, 5000, 3, FULL, ERROR_RANGE},
        {"number far behind", 11 - BULK_WINDOW, 0, 5000, 3, FULL, ERROR_RANGE},
        {"a world", 13, 1, BULK_BODY_BYTES_MAX, 0, FULL, 0},
        {"and another", 14, 2, BULK_BODY_BYTES_MAX, 0, FULL, ERROR_LIMIT},
        {"something small", 15, 2, 5000, 0, FULL, 0},
        {"of the past", 16, UINT32_MAX, 5000, 0, FULL, 0},
    };
    BulkReceiver *receiver = bulk_receiver_create();
    BulkReceiverStats stats;
    u64 refused = 0;
    for (u32 i = 0; i < PL_COUNT(rows); i++) {
        int result = hostile_push(receiver, &rows[i]);
        if (result != rows[i].expected) {
            fail_msg("%s: %d", rows[i].what, result);
        }
        refused += result != 0;
    }
    bulk_receiver_stats(receiver, &stats);
    assert_int_equal(stats.refused, refused);
    assert_int_equal(stats.blocks, 3);
    assert_int_equal(stats.repeated, 3);
    assert_int_equal(stats.open, 3);
    assert_int_equal(stats.open_bytes, 5000 + 5000 + BULK_BODY_BYTES_MAX);
    bulk_receiver_destroy(receiver);
}

/* Acknowledgements of blocks never sent, and random ones: the sender still finishes. */
static void test_hostile_acks(void **state)
{
    PL_UNUSED(state);
    Path path;
    BulkTaken taken = {0};
    u32 id;
    NetsimOptions up = {.seed = 2, .delay_ms = 20.0};
    path_open(&path, &up, &up);
    u8 ack[BULK_ACK_BYTES_MAX + 1] = {0};
    assert_int_equal(bulk_sender_ack(path.sender, ack, BULK_ACK_HEAD_BYTES, 1), ERROR_RANGE);
    BulkContent *content = random_content(1000000, 3);
    assert_int_equal(bulk_sender_add(path.sender, content, &id), 0);
    bulk_content_release(content);
    path_run(&path, id, 0, 30000, &taken);
    assert_int_equal(bulk_sender_ack(path.sender, ack, BULK_ACK_HEAD_BYTES - 1, 30000),
                     ERROR_FORMAT);
    assert_int_equal(bulk_sender_ack(path.sender, ack, sizeof ack, 30000), ERROR_FORMAT);
    u32 beyond[2] = {100000, 0}, taken_beyond[2] = {0, 2};
    memcpy(ack, beyond, 8);
    assert_int_equal(bulk_sender_ack(path.sender, ack, BULK_ACK_HEAD_BYTES, 30000), ERROR_RANGE);
    memcpy(ack, taken_beyond, 8);
    assert_int_equal(bulk_sender_ack(path.sender, ack, BULK_ACK_HEAD_BYTES, 30000), ERROR_RANGE);
    for (u32 i = 0; i < 2000; i++) {
        u32 bytes = BULK_ACK_HEAD_BYTES + (u32)(random_u64(1, i) % 500);
        for (u32 k = 0; k < bytes; k++) {
            ack[k] = (u8)random_u64(2 + i, k);
        }
        u32 valid[2] = {(u32)(random_u64(3, i) % 60), 0};
        memcpy(ack, valid, 8);
        bulk_sender_ack(path.sender, ack, bytes, 30000 + i);
        u8 packet[BULK_PACKET_BYTES_MAX];
        bulk_sender_next(path.sender, 30000 + i, packet);
    }
    path_close(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scene),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_stall),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_void),
        cmocka_unit_test(test_queue_limit),
        cmocka_unit_test(test_packed_in_parts),
        cmocka_unit_test(test_content),
        cmocka_unit_test(test_hostile_blocks),
        cmocka_unit_test(test_hostile_acks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
