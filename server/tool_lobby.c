/* tool_lobby.c: one loop: HTTP, the UDP socket that asks worlds, signals. */
#include "server/tool_lobby.h"

#include "server/lobby/lobby_http.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/options.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    RUN_MS = 100,
    DATAGRAMS_PER_RUN = 4096
};

typedef struct LobbyTool {
    const char *listen, *key;
    LobbyOptions options;
    int udp, signals; /* descriptors; −1: not open */
    Lobby *lobby;
    LobbyHttp *http;
} LobbyTool;

static LobbyTime time_now(void)
{
    return (LobbyTime){clock_now_ns() / 1000000, clock_unix_s()};
}

static void send_question(void *context, LobbyAddress to, const void *data, u32 bytes)
{
    const LobbyTool *tool = context;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(to.port)};
    address.sin_addr.s_addr = to.host;
    /* Loss is acceptable: questions are repeated. */
    (void)sendto(tool->udp, data, bytes, MSG_DONTWAIT, (const struct sockaddr *)&address,
                 sizeof address);
}

static void receive(LobbyTool *tool, u64 now_ms)
{
    u8 data[INQUIRY_ANSWER_BYTES + 1];
    for (u32 i = 0; i < DATAGRAMS_PER_RUN; i++) {
        struct sockaddr_in from = {0};
        socklen_t length = sizeof from;
        ssize_t bytes =
            recvfrom(tool->udp, data, sizeof data, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (bytes < 0) {
            return;
        }
        LobbyAddress sender = {.host = from.sin_addr.s_addr, .port = ntohs(from.sin_port)};
        lobby_receive(tool->lobby, sender, data, (u32)bytes, now_ms);
    }
}

/* Signals come as reads: nothing is interrupted. */
static bool descriptors_open(LobbyTool *tool)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    signal(SIGPIPE, SIG_IGN);
    tool->signals = sigprocmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC) : -1;
    tool->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return tool->signals >= 0 && tool->udp >= 0;
}

static int run(LobbyTool *tool, ErrorText *error)
{
    if (token_key_read(tool->key, tool->options.key, sizeof tool->options.key, error) != ERROR_OK) {
        return EXIT_INPUT;
    }
    if (!descriptors_open(tool)) {
        error_set(error, ERROR_NETWORK, "cannot open a UDP socket");
        return EXIT_NETWORK;
    }
    tool->lobby = lobby_create(&tool->options, time_now(), error);
    if (tool->lobby == NULL) {
        return EXIT_INPUT;
    }
    tool->http = lobby_http_create(tool->listen, tool->lobby, error);
    if (tool->http == NULL) {
        return error->code == ERROR_USAGE ? EXIT_USAGE : EXIT_NETWORK;
    }
    printf("ready %u\n", lobby_http_port(tool->http));
    fflush(stdout);
    log_info("lobby at %s, port %u", tool->listen, lobby_http_port(tool->http));
    struct pollfd waits[] = {{.fd = tool->signals, .events = POLLIN},
                             {.fd = lobby_http_fd(tool->http), .events = POLLIN},
                             {.fd = tool->udp, .events = POLLIN}};
    while ((waits[0].revents & POLLIN) == 0) {
        (void)poll(waits, PL_COUNT(waits), RUN_MS);
        LobbyTime time = time_now();
        receive(tool, time.now_ms);
        lobby_http_run(tool->http, time);
        lobby_run(tool->lobby, time);
    }
    log_info("the lobby ends");
    return EXIT_OK;
}

int tool_lobby(int argc, char **argv, ErrorText *error)
{
    LobbyTool tool = {.listen = "0.0.0.0:7380",
                      .udp = -1,
                      .signals = -1,
                      .options = {.worlds_max = 20000, .per_address = 256, .send = send_question}};
    const Option rows[] = {
        {"listen", 'l', OPTION_STRING, &tool.listen, 0, 0, "ADDR:PORT",
         "TCP address to listen on; port 0 selects any free port (0.0.0.0:7380)"},
        {"key", 'k', OPTION_STRING, &tool.key, 0, 0, "FILE",
         "public key of plenum-tool keygen: servers need a token signed by its secret key"},
        {"revoked", 0, OPTION_STRING, &tool.options.revoked, 0, 0, "FILE",
         "ids of tokens that are no longer good, one a line; read again when it changes"},
        {"max-worlds", 0, OPTION_U32, &tool.options.worlds_max, 1, 100000, "N",
         "worlds in the list"},
        {"per-address", 0, OPTION_U32, &tool.options.per_address, 1, 100000, "N",
         "worlds announced from one address, other than this machine's"},
    };
    const OptionTable table = {
        .program = "plenum-tool lobby",
        .synopsis = "--key FILE [options]",
        .about = "Serves a list of worlds over HTTP (GET /worlds): servers announce themselves "
                 "(plenum-server --lobby) with tokens (plenum-tool token --lobby), clients read "
                 "it (plenum-client --list, --lobby). A world is listed while its address answers "
                 "and its server announces it.",
        .rows = rows,
        .count = PL_COUNT(rows)};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? EXIT_USAGE : EXIT_OK;
    }
    if (tool.key == NULL) {
        error_set(error, ERROR_USAGE, "expected --key FILE");
        return EXIT_USAGE;
    }
    tool.options.context = &tool;
    int code = run(&tool, error);
    lobby_http_destroy(tool.http);
    lobby_destroy(tool.lobby);
    if (tool.udp >= 0) {
        close(tool.udp);
    }
    if (tool.signals >= 0) {
        close(tool.signals);
    }
    return code;
}
