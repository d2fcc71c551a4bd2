/* tool_remote.c: see tool_remote.h. */
#include "server/tool_remote.h"

#include "server/host/upstream.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOIN_NS   5000000000ull
#define ANSWER_NS 10000000000ull
#define AGAIN_NS  500000000ull

enum {
    POLL_MS = 8
};

typedef struct Remote {
    KnownHosts known;
    Upstream *upstream;
    bool live;     /* what is sent is heard: it does not wait for a place any more */
    bool lost;     /* the session has ended */
    bool answered; /* the answer to the last command is complete: */
    u32 lines;
    int code;
} Remote;

/* ---- what the server sends ---- */

static void on_welcomed(void *context, const MessageWelcome *welcome, bool same)
{
    PL_UNUSED(context);
    PL_UNUSED(welcome);
    PL_UNUSED(same);
}

static void on_message(void *context, const Message *message)
{
    Remote *remote = context;
    switch (message->kind) {
    case MESSAGE_WORLD: /* not looked at */
        upstream_world(remote->upstream, true);
        remote->live = true;
        break;
    case MESSAGE_ROSTER:
    case MESSAGE_STATUS:
        remote->live = true;
        break;
    case MESSAGE_NOTICE:
        if (message->notice.kind == NOTICE_ANSWER) {
            puts(message->notice.text);
            remote->lines++;
        } else if (message->notice.kind == NOTICE_END) {
            remote->answered = true;
            remote->code = message->notice.code;
        }
        break;
    default:
        break;
    }
}

static void on_state(void *context, const u8 *packet, u32 bytes)
{
    PL_UNUSED(context);
    PL_UNUSED(packet);
    PL_UNUSED(bytes);
}

static void on_lost(void *context, const char *why)
{
    PL_UNUSED(why); /* upstream_error has it */
    ((Remote *)context)->lost = true;
}

/* ---- one command ---- */

/* Waits a moment for packets, and for the standard input if `typing`. True: there is some. */
static bool wait_moment(Remote *remote, bool typing)
{
    struct pollfd wait[2] = {{.fd = upstream_fd(remote->upstream), .events = POLLIN},
                             {.fd = typing ? STDIN_FILENO : -1, .events = POLLIN}};
    (void)poll(wait, PL_COUNT(wait), POLL_MS);
    upstream_poll(remote->upstream, clock_now_ns());
    return wait[1].revents != 0;
}

/* There is no second attempt: whoever types sees what happened. */
static bool failed(const Remote *remote, ErrorText *error)
{
    const ErrorText *why = upstream_error(remote->upstream);
    bool joined = upstream_state(remote->upstream) == UPSTREAM_JOINED && !remote->lost;
    if (joined || why->text[0] == '\0') {
        return false;
    }
    error_set(error, why->code, "%s: %s", remote->known.host, why->text);
    return true;
}

static int command_send(Remote *remote, const char *line, ErrorText *error)
{
    Message message = {.kind = MESSAGE_CHAT};
    u64 end_ns = clock_now_ns() + ANSWER_NS, next_ns = 0;
    bool again = true;
    if (strlen(line) >= sizeof message.chat.text - 1 || !text_is_clean(line, strlen(line))) {
        error_set(error, ERROR_USAGE, "a command has at most %zu bytes of clean UTF-8",
                  sizeof message.chat.text - 2);
        return EXIT_USAGE;
    }
    snprintf(message.chat.text, sizeof message.chat.text, "/%s", line);
    remote->answered = false;
    while (!remote->answered || again) {
        u64 now_ns = clock_now_ns();
        if (failed(remote, error)) {
            return EXIT_NETWORK;
        }
        if (now_ns > end_ns) {
            error_set(error, ERROR_NETWORK, "%s: no answer", remote->known.host);
            return EXIT_NETWORK;
        }
        if (again && now_ns >= next_ns) {
            next_ns = now_ns + AGAIN_NS;
            remote->lines = 0;
            again = remote->answered = false;
            (void)upstream_send(remote->upstream, CHANNEL_CONTROL, &message);
        }
        (void)wait_moment(remote, false);
        /* Without a word: there were too many commands a second. */
        again = again || (remote->answered && remote->code == ERROR_LIMIT && remote->lines == 0);
    }
    fflush(stdout);
    return remote->code == ERROR_OK ? EXIT_OK : EXIT_CHECK_FAILED;
}

static int commands_read(Remote *remote, ErrorText *error)
{
    char line[TEXT_BYTES_MAX];
    int code = EXIT_OK;
    bool open = true;
    setvbuf(stdin, NULL, _IONBF, 0); /* so that poll sees all that is left */
    while (open && code != EXIT_NETWORK && code != EXIT_USAGE) {
        if (failed(remote, error)) {
            return EXIT_NETWORK;
        }
        if (wait_moment(remote, true)) {
            open = fgets(line, sizeof line, stdin) != NULL;
            line[open ? strcspn(line, "\r\n") : 0] = '\0';
            code = line[0] != '\0' ? command_send(remote, line, error) : code;
        }
    }
    return code;
}

static int run(Remote *remote, const char *line, ErrorText *error)
{
    u64 end_ns = clock_now_ns() + JOIN_NS;
    while (!remote->live) {
        if (failed(remote, error)) {
            return EXIT_NETWORK;
        }
        if (upstream_state(remote->upstream) != UPSTREAM_JOINED && clock_now_ns() > end_ns) {
            error_set(error, ERROR_NETWORK, "%s: no answer: is a server running there?",
                      remote->known.host);
            return EXIT_NETWORK;
        }
        (void)wait_moment(remote, false);
    }
    return line[0] != '\0' ? command_send(remote, line, error) : commands_read(remote, error);
}

int remote_administer(const char *where, const char *name, const CredentialFiles *files,
                      const char *line, ErrorText *error)
{
    Remote remote = {.live = false};
    UpstreamOptions options = {.dial = credentials_dial, .dial_context = &remote.known};
    UpstreamHandler handler = {&remote, on_welcomed, on_message, on_state, on_lost};
    int code = EXIT_INPUT;
    if (strlen(name) >= sizeof options.name) {
        error_set(error, ERROR_USAGE, "--name: longer than %zu bytes", sizeof options.name - 1);
        return EXIT_USAGE;
    }
    snprintf(options.name, sizeof options.name, "%s", name);
    if (credentials_read(&options.shown, files, error) == ERROR_OK) {
        code = credentials_expect(&options.shown, files, where, &remote.known, error) == ERROR_OK
                   ? EXIT_NETWORK
                   : EXIT_USAGE;
    }
    if (code == EXIT_NETWORK) {
        remote.upstream = upstream_create(&options, &handler, error);
        code = remote.upstream != NULL ? run(&remote, line, error) : code;
    }
    upstream_destroy(remote.upstream);
    credentials_wipe(&options.shown);
    return code;
}
