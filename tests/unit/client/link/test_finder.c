/*
 * test_finder.c: worlds on the network are found, measured and given up. The test plays servers on
 * UDP sockets of this machine.
 */
#include "client/link/finder.h"
#include "shared/base/clock.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/udp_socket.h"

#define MS 1000000ull

/* Answers each question that waits, `times` times; returns their number. */
static u32 answer_all(int fd, const WorldNotice *notice, u32 times)
{
    u8 data[INQUIRY_BYTES], out[INQUIRY_ANSWER_BYTES];
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    u32 count = 0;
    while (recvfrom(fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &length) ==
           INQUIRY_BYTES) {
        assert_true(inquiry_is(data, sizeof data));
        inquiry_answer(notice, data, out);
        for (u32 i = 0; i < times; i++) {
            (void)sendto(fd, out, sizeof out, 0, (struct sockaddr *)&from, length);
        }
        count++;
    }
    return count;
}

static void test_lan(void **state)
{
    PL_UNUSED(state);
    u16 lan_port, port;
    int lan = udp_socket_open(0, &lan_port), game = udp_socket_open(0, &port);
    WorldNotice notice = {.port = port, .users = 1, .places = 8, .name = "near", .version = "1"};
    memset(notice.key, 3, sizeof notice.key);
    ErrorText error = {0};
    WorldFinder *finder =
        finder_create(&(FinderOptions){.lan = true, .lan_port = lan_port}, &error);
    assert_non_null(finder);
    u64 now_ns = clock_now_ns(), end_ns = now_ns + 15000 * MS;
    const FoundWorld *worlds;
    u32 count = 0;
    bool answered = false;
    while (!answered && clock_now_ns() < end_ns) {
        now_ns = clock_now_ns();
        finder_poll(finder, now_ns);
        (void)answer_all(lan, &notice, 2); /* as on two networks at once */
        notice.users = 5;                  /* meanwhile */
        (void)answer_all(game, &notice, 1);
        notice.users = 1;
        finder_wait(finder, 5);
        worlds = finder_worlds(finder, &count);
        answered = count > 0 && worlds[0].answered;
    }
    assert_int_equal(count, 1);
    worlds = finder_worlds(finder, &count);
    assert_true(worlds[0].lan);
    assert_true(worlds[0].ping_ms > 0.0f);
    assert_int_equal(worlds[0].notice.users, 5);
    assert_string_equal(worlds[0].notice.name, "near");
    char text[FOUND_TEXT_BYTES], expected[FOUND_TEXT_BYTES];
    snprintf(expected, sizeof expected, ":%u#0303", port);
    assert_non_null(strstr(found_text(&worlds[0], text), expected));
    /* Silent now: after some questions it counts as gone. */
    for (u32 i = 0; i <= FINDER_SILENT_MAX; i++) {
        worlds = finder_worlds(finder, &count);
        assert_true(worlds[0].answered);
        now_ns += FINDER_PING_MS * MS + MS;
        finder_poll(finder, now_ns);
    }
    worlds = finder_worlds(finder, &count);
    assert_false(worlds[0].answered);
    finder_destroy(finder);
    close(lan);
    close(game);
}

/* Whoever was not asked, or answers another question, is not listed. */
static void test_strangers(void **state)
{
    PL_UNUSED(state);
    u16 lan_port, port;
    int lan = udp_socket_open(0, &lan_port), other = udp_socket_open(0, &port);
    u8 data[INQUIRY_BYTES], out[INQUIRY_ANSWER_BYTES];
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    WorldNotice notice = {.port = port, .places = 8, .name = "liar", .version = "1"};
    ErrorText error = {0};
    WorldFinder *finder =
        finder_create(&(FinderOptions){.lan = true, .lan_port = lan_port}, &error);
    assert_non_null(finder);
    finder_poll(finder, clock_now_ns());
    struct timeval patience = {.tv_sec = 5};
    setsockopt(lan, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(recvfrom(lan, data, sizeof data, 0, (struct sockaddr *)&from, &length),
                     INQUIRY_BYTES);
    data[9] ^= 1; /* the nonce */
    inquiry_answer(&notice, data, out);
    assert_int_equal(sendto(lan, out, sizeof out, 0, (struct sockaddr *)&from, length), sizeof out);
    assert_int_equal(sendto(lan, out, sizeof out - 1, 0, (struct sockaddr *)&from, length),
                     sizeof out - 1);
    u32 count;
    for (u32 i = 0; i < 10; i++) {
        finder_wait(finder, 10);
        finder_poll(finder, clock_now_ns());
    }
    finder_worlds(finder, &count);
    assert_int_equal(count, 0);
    finder_destroy(finder);
    close(lan);
    close(other);
}

static void test_no_lobby_there(void **state)
{
    PL_UNUSED(state);
    static const char *const urls[] = {"http://127.0.0.1:1", "ftp://127.0.0.1/",
                                       "file:///etc/passwd", "no url"};
    for (u32 i = 0; i < PL_COUNT(urls); i++) {
        ErrorText error = {0};
        WorldFinder *finder = finder_create(&(FinderOptions){.lobby = urls[i]}, &error);
        assert_non_null(finder);
        u64 end_ns = clock_now_ns() + 20000 * MS;
        while (!finder_lobby_read(finder) && clock_now_ns() < end_ns) {
            finder_poll(finder, clock_now_ns());
            finder_wait(finder, 5);
        }
        assert_true(finder_lobby_read(finder));
        assert_non_null(finder_lobby_error(finder));
        finder_destroy(finder);
    }
}

static void test_order(void **state)
{
    PL_UNUSED(state);
    FoundWorld far = {.answered = true, .ping_ms = 90.0f},
               near = {.answered = true, .ping_ms = 2.0f}, silent = {.ping_ms = 1.0f}, twin = near;
    strcpy(twin.notice.name, "b");
    strcpy(near.notice.name, "a");
    const FoundWorld *all[] = {&silent, &far, &twin, &near};
    qsort(all, PL_COUNT(all), sizeof all[0], found_compare);
    assert_ptr_equal(all[0], &near);
    assert_ptr_equal(all[1], &twin);
    assert_ptr_equal(all[2], &far);
    assert_ptr_equal(all[3], &silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lan),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_no_lobby_there),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
