/*
 * test_chooser.c: the window with the list of worlds: the user filters, chooses and joins, types an
 * address, or leaves. Worlds are played by a thread of the test.
 */
#include "client/hand/chooser.h"
#include "client/view/view.h"
#include "shared/base/clock.h"

#include <SDL2/SDL.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/udp_socket.h"

/* The GL driver holds memory until the process ends: not our leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

enum {
    WORLDS = 3,
    WIDTH = 900,
    HEIGHT = 500
};

static const char *const names[WORLDS] = {"great hall", "garden", "small hall"};

/* What the user does, a step each time that all worlds have answered once more. */
typedef struct Player {
    int lan, games[WORLDS]; /* sockets */
    u16 lan_port, ports[WORLDS];
    const char *text; /* typed first */
    const SDL_Keycode *keys;
    u32 key_count;
    _Atomic bool stop;
} Player;

static WorldNotice notice_of(const Player *player, u32 world)
{
    WorldNotice notice = {.port = player->ports[world], .users = 1, .places = 8, .version = "1"};
    memset(notice.key, 1 + (int)world, sizeof notice.key);
    snprintf(notice.name, sizeof notice.name, "%s", names[world]);
    return notice;
}

/* Answers a question at the socket, as these worlds. True: there was one. */
static bool answer(const Player *player, int fd, u32 first, u32 end)
{
    u8 data[INQUIRY_BYTES], out[INQUIRY_ANSWER_BYTES];
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    if (recvfrom(fd, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &length) !=
        INQUIRY_BYTES) {
        return false;
    }
    for (u32 i = first; i < end; i++) {
        WorldNotice notice = notice_of(player, i);
        inquiry_answer(&notice, data, out);
        (void)sendto(fd, out, sizeof out, 0, (struct sockaddr *)&from, length);
    }
    return true;
}

static void press(SDL_Keycode key)
{
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .state = SDL_PRESSED, .keysym.sym = key}};
    event.key.keysym.scancode = SDL_GetScancodeFromKey(key);
    SDL_PushEvent(&event);
    event.key.type = event.type = SDL_KEYUP;
    event.key.state = SDL_RELEASED;
    SDL_PushEvent(&event);
}

static void type(const char *text)
{
    SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};
    snprintf(event.text.text, sizeof event.text.text, "%s", text);
    SDL_PushEvent(&event);
}

static void *play(void *context)
{
    Player *player = context;
    u32 answered[WORLDS] = {0}, step = 0, quiet = 0;
    while (!player->stop) {
        (void)answer(player, player->lan, 0, WORLDS);
        for (u32 i = 0; i < WORLDS; i++) {
            answered[i] += answer(player, player->games[i], i, i + 1);
        }
        bool all = answered[0] > 0 && answered[1] > 0 && answered[2] > 0;
        if (all && ++quiet % 20 == 0) { /* some frames apart */
            if (step == 0 && player->text != NULL) {
                type(player->text);
            } else if (step - 1 < player->key_count) {
                press(player->keys[step - 1]);
            }
            step++;
        }
        clock_sleep_until_ns(clock_now_ns() + 10000000);
    }
    return NULL;
}

static int run(Player *player, char *where, size_t bytes)
{
    pthread_t thread;
    ErrorText error = {0};
    setenv("SDL_VIDEODRIVER", "offscreen", 1);
    /* The player's thread may press before the window is there: the queue must be. */
    assert_int_equal(SDL_InitSubSystem(SDL_INIT_EVENTS), 0);
    player->lan = udp_socket_open(0, &player->lan_port);
    for (u32 i = 0; i < WORLDS; i++) {
        player->games[i] = udp_socket_open(0, &player->ports[i]);
    }
    ChooserOptions options = {.finder = {.lan = true, .lan_port = player->lan_port},
                              .width = WIDTH,
                              .height = HEIGHT,
                              .duration_s = 60.0};
    assert_int_equal(pthread_create(&thread, NULL, play, player), 0);
    int code = chooser_run(&options, where, bytes, &error);
    player->stop = true;
    pthread_join(thread, NULL);
    SDL_QuitSubSystem(SDL_INIT_EVENTS);
    close(player->lan);
    for (u32 i = 0; i < WORLDS; i++) {
        close(player->games[i]);
    }
    return code;
}

static void test_filter_and_join(void **state)
{
    PL_UNUSED(state);
    static const SDL_Keycode keys[] = {SDLK_DOWN, SDLK_DOWN, SDLK_UP, SDLK_RETURN};
    Player player = {.text = "garden", .keys = keys, .key_count = PL_COUNT(keys)};
    char where[256], expected[64];
    assert_int_equal(run(&player, where, sizeof where), EXIT_OK);
    /* The only one that the filter leaves, whatever the keys do. */
    snprintf(expected, sizeof expected, ":%u#0202", player.ports[1]);
    assert_non_null(strstr(where, expected));
}

static void test_second_row(void **state)
{
    PL_UNUSED(state);
    static const SDL_Keycode keys[] = {SDLK_RETURN, SDLK_DOWN, SDLK_RETURN};
    Player player = {.text = "hall", .keys = keys, .key_count = PL_COUNT(keys)};
    char where[256];
    assert_int_equal(run(&player, where, sizeof where), EXIT_OK);
    /* Enter without a choice does nothing. */
    assert_true(strstr(where, "#0101") != NULL || strstr(where, "#0303") != NULL);
}

static void test_leave(void **state)
{
    PL_UNUSED(state);
    static const SDL_Keycode keys[] = {SDLK_ESCAPE};
    Player player = {.keys = keys, .key_count = PL_COUNT(keys)};
    char where[256];
    assert_int_equal(run(&player, where, sizeof where), EXIT_OK);
    assert_string_equal(where, "");
}

static void test_picture(void **state)
{
    PL_UNUSED(state);
    char path[64], where[64];
    ErrorText error = {0};
    u32 width, height, bright = 0;
    snprintf(path, sizeof path, "/tmp/plenum-test-chooser-%d.png", (int)getpid());
    ChooserOptions options = {
        .width = WIDTH, .height = HEIGHT, .offscreen = true, .screenshot = path, .duration_s = 0.3};
    assert_int_equal(chooser_run(&options, where, sizeof where, &error), EXIT_OK);
    u8 *rgb = png_read(path, &width, &height, &error);
    assert_non_null(rgb);
    assert_int_equal(width, WIDTH);
    for (u32 i = 0; i < width * height; i++) {
        bright += rgb[3 * i] > 180;
    }
    assert_true(bright > 300); /* letters */
    free(rgb);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_and_join),
        cmocka_unit_test(test_second_row),
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
