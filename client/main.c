/*
 * main.c: plenum-client: command line, private server, then one of three modes: bots, headless, or
 * window.
 */
#include "client/hand/app.h"
#include "client/hand/bots.h"
#include "client/hand/chooser.h"
#include "client/hand/debug_overlay.h"
#include "client/hand/film.h"
#include "client/hand/report.h"
#include "client/link/link_thread.h"
#include "client/private_server.h"
#include "protocol/session/credentials.h"
#include "shared/base/clock.h"
#include "shared/base/file.h"
#include "shared/base/log.h"
#include "shared/base/options.h"
#include "shared/base/text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS     8            /* interval of script steps */
#define LIST_WAIT_S 2.0          /* time for worlds to answer */
#define SETTLE_NS   300000000ull /* time for the first states of all chunks to arrive */
#define FILM_FPS    60.0

typedef struct ClientOptions {
    const char *name, *token, *identity, *password, *report, *screenshot, *script, *show, *list,
        *lobby, *filter, *render;
    FilmOptions film;
    bool headless, no_hud;
    f64 duration_s, at_s, wait_s;
    u32 size[2], bots;
    u64 seed;
} ClientOptions;

typedef struct Client {
    ClientOptions options;
    KnownHosts server_known; /* server address, and the expected server identity */
    Credentials shown;
    PrivateServer server;
    Script *script;
    u32 show; /* debug overlay bits */
    Connection *connection;
    ReportStart start;
    HandStats hand; /* of the window's or the script's hand */
    u64 live_ns;    /* time the world arrived */
} Client;

/* Set by SIGINT and SIGTERM; a signal handler can only access a global. */
static volatile int stop_signal;

static void on_signal(int number)
{
    stop_signal = number;
}

static void signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* SDL turns SIGINT and SIGTERM into quit events if nobody else handles them. */
static void signals_leave(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* ---- command line ---- */

static int parse(ClientOptions *options, int argc, char **argv, const char **operand,
                 ErrorText *error)
{
    const Option rows[] = {
#define X(name_, letter_, kind_, member_, min_, max_, argument_, help_)                            \
    {name_, letter_, kind_, (void *)&options->member_, min_, max_, argument_, help_},
#include "client/options.def"
#undef X
    };
    const OptionTable table = {
        .program = "plenum-client",
        .synopsis =
            "[options] [HOST[:PORT] | plenum://HOST[:PORT][#KEY] | SCENE.json | SESSION.plrec]",
        .about = "Joins a Plenum server and shows its world; a file starts a private server behind "
                 "the window;\nwithout either it shows the worlds that it finds. Controls: F1 in "
                 "the window.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_min = 0,
        .operands_max = 1,
    };
    char **operands;
    u32 count;
    int result = options_parse(&table, argc, argv, &operands, &count, error);
    if (result != 0) {
        return result;
    }
    *operand = count > 0 ? operands[0] : NULL;
    if (count > 0 && options->list != NULL) {
        return error_set(error, ERROR_USAGE, "--list: finds worlds but joins none");
    }
    if (count == 0 && options->list == NULL && (options->headless || options->bots > 0)) {
        return error_set(error, ERROR_USAGE,
                         "too few arguments: --headless and --bots need an address or a file; "
                         "usage: %s %s",
                         table.program, table.synopsis);
    }
    return ERROR_OK;
}

static bool names_file(const char *operand)
{
    struct stat status;
    return text_ends_with(operand, ".json") || text_ends_with(operand, ".plrec") ||
           (strchr(operand, '/') != NULL && stat(operand, &status) == 0);
}

static CredentialFiles credential_files(const Client *client)
{
    return (CredentialFiles){.token = client->options.token,
                             .identity = client->options.identity,
                             .password = client->options.password};
}

/* ---- one connection ---- */

static Link *dial(void *context, ErrorText *error)
{
    Link *link = credentials_dial(&((Client *)context)->server_known, error);
    return link_thread_create(link, clock_now_ns, error);
}

static bool connect_begin(Client *client, ErrorText *error)
{
    ConnectionOptions options = {.token = client->shown.token,
                                 .token_bytes = client->shown.token_bytes,
                                 .identity = client->shown.proves ? &client->shown.identity : NULL,
                                 .reconnect = true,
                                 .dial = dial,
                                 .dial_context = client};
    snprintf(options.name, sizeof options.name, "%s", client->options.name);
    memcpy(options.password, client->shown.password, sizeof options.password);
    Link *link = dial(client, error);
    client->connection = link != NULL ? connection_create(link, &options, error) : NULL;
    return client->connection != NULL;
}

static void poll_once(Client *client)
{
    u64 now_ns = clock_now_ns();
    ConnectionState before = connection_state(client->connection);
    connection_poll(client->connection, now_ns);
    ConnectionState after = connection_state(client->connection);
    if (before == CONNECTION_LIVE && after == CONNECTION_CONNECTING) {
        log_warn("%s; trying again", connection_error(client->connection)->text);
    } else if (before != after && after == CONNECTION_LIVE && client->live_ns != 0) {
        log_info("connected again");
    }
    if (client->live_ns == 0 && connection_state(client->connection) == CONNECTION_LIVE) {
        client->live_ns = now_ns;
    }
    struct pollfd wait = {.fd = connection_fd(client->connection), .events = POLLIN};
    (void)poll(&wait, 1, WAIT_MS);
}

/* Waits for the world and its first states. EXIT_OK, or EXIT_NETWORK with a text. */
static int join(Client *client, ErrorText *error)
{
    u64 begin_ns = clock_now_ns();
    u64 wait_ns = (u64)(client->options.wait_s * 1e9);
    while (client->live_ns == 0 || clock_now_ns() < client->live_ns + SETTLE_NS) {
        poll_once(client);
        if (connection_state(client->connection) == CONNECTION_CLOSED) {
            error_set(error, ERROR_NETWORK, "%s: %s", client->server_known.address,
                      connection_error(client->connection)->text);
            return EXIT_NETWORK;
        }
        if (stop_signal != 0) {
            return EXIT_OK;
        }
        if (client->live_ns == 0 && clock_now_ns() - begin_ns > wait_ns) {
            error_set(error, ERROR_NETWORK, "%s: no world arrived within %g s",
                      client->server_known.address, client->options.wait_s);
            return EXIT_NETWORK;
        }
    }
    report_start(&client->start, client->connection);
    return EXIT_OK;
}

static f64 live_s(const Client *client)
{
    return client->live_ns != 0 ? (f64)(clock_now_ns() - client->live_ns) * 1e-9 : 0.0;
}

/* A camera that scripts may move, so that the server can prioritize for this client. */
static void look(Client *client)
{
    Vec3 eye, target;
    if (client->script == NULL || !script_camera(client->script, &eye, &target)) {
        const SceneCamera *camera = &connection_scene(client->connection)->camera;
        eye = camera->eye;
        target = camera->target;
    }
    Vec3 forward = vec3_normalize_or(vec3_sub(target, eye), vec3(0.0f, 0.0f, -1.0f));
    SnapshotView view = {.eye = eye, .forward = forward, .pixels_per_radian = 800.0f};
    connection_view(client->connection, &view, (Ray){eye, forward}, false);
}

static int run_headless(Client *client, ErrorText *error)
{
    Hand hand;
    hand_init(&hand, client->connection);
    f64 duration_s = client->options.duration_s;
    while (stop_signal == 0 && (duration_s <= 0 || live_s(client) < duration_s)) {
        if (connection_state(client->connection) == CONNECTION_LIVE) {
            look(client);
            if (client->script != NULL) {
                script_step(client->script, client->connection, &hand, live_s(client));
            }
        }
        poll_once(client);
        if (connection_state(client->connection) == CONNECTION_LIVE) {
            hand_step(&hand, clock_now_ns());
        }
        ConnectionNews news;
        while (connection_news(client->connection, &news)) {
            if (news.event.kind == EVENT_NONE) {
                log_info("%s", news.text);
            }
        }
        if (connection_state(client->connection) == CONNECTION_CLOSED) {
            break;
        }
    }
    if (hand.stats.held_s > 0) {
        client->hand = hand.stats;
    }
    if (connection_state(client->connection) != CONNECTION_LIVE && stop_signal == 0) {
        error_set(error, ERROR_NETWORK, "%s: %s", client->server_known.address,
                  connection_error(client->connection)->text);
        return EXIT_NETWORK;
    }
    return EXIT_OK;
}

static int run_app(Client *client, ErrorText *error)
{
    const ClientOptions *options = &client->options;
    char title[2 * NAME_BYTES_MAX];
    snprintf(title, sizeof title, "Plenum: %s", connection_scene(client->connection)->name);
    AppOptions app = {
        .width = options->size[0],
        .height = options->size[1],
        .offscreen = options->headless,
        .title = title,
        .screenshot = options->screenshot,
        .screenshot_at_s = options->at_s,
        .duration_s = options->duration_s,
        .script = client->script,
        .show = client->show,
        .hand = &client->hand,
        .hud = !options->no_hud && !options->headless,
    };
    signals_leave();
    int code = app_run(client->connection, &app, error);
    signals_catch();
    /* The screenshot may be done before the duration is over. */
    if (code == EXIT_OK && options->headless && options->duration_s > 0) {
        code = run_headless(client, error);
    }
    return code;
}

static int run_one(Client *client, ErrorText *error)
{
    if (!connect_begin(client, error)) {
        return EXIT_NETWORK;
    }
    int code = join(client, error);
    if (code == EXIT_OK && stop_signal == 0) {
        bool draws = !client->options.headless || client->options.screenshot != NULL;
        code = draws ? run_app(client, error) : run_headless(client, error);
    }
    if (client->options.report != NULL && client->live_ns != 0) {
        ErrorText why = {0};
        if (report_write(client->options.report, client->connection, &client->start, &client->hand,
                         live_s(client), &why) != ERROR_OK) {
            log_error("%s", why.text);
            code = code == EXIT_OK ? EXIT_INPUT : code;
        }
    }
    return code;
}

static int run_bots(Client *client, ErrorText *error)
{
    BotsOptions bots = {
        .address = client->server_known.address,
        .trust = {known_hosts_accept, &client->server_known},
        .name = client->options.name,
        .token = client->shown.token,
        .token_bytes = client->shown.token_bytes,
        .identity = client->shown.proves ? &client->shown.identity : NULL,
        .password = client->shown.password,
        .count = client->options.bots,
        .duration_s = client->options.duration_s,
        .seed = client->options.seed,
        .script = client->script,
        .report = client->options.report,
        .stop = &stop_signal,
    };
    return bots_run(&bots, error);
}

/* ---- films ---- */

/* Film options without --render, and others with it, would have no effect: they are refused. */
static bool film_fits(const ClientOptions *options, ErrorText *error)
{
    const FilmOptions *film = &options->film;
    bool shaped = film->from_s != 0.0 || film->to_s != -1.0 || film->fps != FILM_FPS ||
                  film->speed != 1.0 || film->camera != NULL || film->force;
    bool plays = options->script != NULL || options->screenshot != NULL || options->bots > 0 ||
                 options->report != NULL || options->show != NULL || options->list != NULL ||
                 options->duration_s > 0.0;
    if (options->render == NULL && shaped) {
        error_set(error, ERROR_USAGE,
                  "--from, --to, --fps, --speed, --camera and --force belong to --render");
    } else if (options->render != NULL && plays) {
        error_set(
            error, ERROR_USAGE,
            "--render cannot be combined with --do, --screenshot, --bots, --report, --show, --list "
            "and --duration");
    }
    return error->code == ERROR_OK;
}

static int run_film(const Client *client, const char *operand, ErrorText *error)
{
    FilmOptions film = client->options.film;
    film.recording = operand;
    film.out = client->options.render;
    film.width = client->options.size[0];
    film.height = client->options.size[1];
    film.stop = &stop_signal;
    if (operand == NULL || !text_ends_with(operand, ".plrec")) {
        error_set(error, ERROR_USAGE, "--render: needs a recording (.plrec)");
        return EXIT_USAGE;
    }
    return film_render(&film, error);
}

static const char *login_name(void)
{
    const char *user = getenv("USER");
    return user != NULL && user[0] != 0 ? user : "guest";
}

/* Prints the worlds found (--list). */
static int run_list(const Client *client, ErrorText *error)
{
    const char *list = client->options.list;
    bool lan = strcmp(list, "lan") == 0;
    ChooserOptions chooser = {.finder = {.lan = lan, .lobby = lan ? NULL : list},
                              .filter = client->options.filter};
    if (!lan && strncmp(list, "http://", 7) != 0 && strncmp(list, "https://", 8) != 0) {
        error_set(error, ERROR_USAGE, "--list: \"%s\" is neither lan nor the URL of a lobby", list);
        return EXIT_USAGE;
    }
    return chooser_print(&chooser, LIST_WAIT_S, &stop_signal, error);
}

/* Lets the user choose a world; where[0] is 0 if none was. */
static int run_chooser(const Client *client, char *where, size_t bytes, ErrorText *error)
{
    const ClientOptions *options = &client->options;
    ChooserOptions chooser = {.finder = {.lan = true, .lobby = options->lobby},
                              .filter = options->filter,
                              .width = options->size[0],
                              .height = options->size[1],
                              .screenshot = options->screenshot,
                              .duration_s = options->screenshot != NULL ? options->at_s
                                                                        : options->duration_s};
    signals_leave();
    int code = chooser_run(&chooser, where, bytes, error);
    signals_catch();
    return code;
}

static int run(Client *client, const char *operand, ErrorText *error)
{
    char chosen[HOST_TEXT_BYTES];
    if (client->options.list != NULL) {
        return run_list(client, error);
    }
    const CredentialFiles files = credential_files(client);
    if (credentials_read(&client->shown, &files, error) != ERROR_OK) {
        return EXIT_INPUT;
    }
    if (client->options.script != NULL) {
        client->script = script_load(client->options.script, error);
        if (client->script == NULL) {
            return EXIT_INPUT;
        }
    }
    if (operand == NULL) {
        int code = run_chooser(client, chosen, sizeof chosen, error);
        if (code != EXIT_OK || chosen[0] == '\0') {
            return code;
        }
        operand = chosen;
    }
    const char *where = strncmp(operand, "plenum://", 9) == 0 ? operand + 9 : operand;
    if (where == operand && names_file(operand)) {
        if (access(operand, R_OK) != 0) {
            error_set(error, ERROR_IO, "%s: %s", operand, strerror(errno));
            return EXIT_INPUT;
        }
        int code = private_server_start(&client->server, operand, &stop_signal, error);
        if (code != EXIT_OK) {
            return code;
        }
        where = client->server.address;
    }
    if (credentials_expect(&client->shown, &files, where, &client->server_known, error) !=
        ERROR_OK) {
        return EXIT_USAGE;
    }
    return client->options.bots > 0 ? run_bots(client, error) : run_one(client, error);
}

int main(int argc, char **argv)
{
    static Client client = {.options = {.at_s = 1.0,
                                        .wait_s = 15.0,
                                        .size = {1280, 720},
                                        .seed = 1,
                                        .film = {.to_s = -1.0, .fps = FILM_FPS, .speed = 1.0}}};
    client.options.name = login_name();
    const char *operand = NULL;
    ErrorText error = {0};
    int parsed = parse(&client.options, argc, argv, &operand, &error);
    if (parsed == 0 && client.options.show != NULL &&
        !debug_overlay_parse(client.options.show, &client.show)) {
        parsed = error_set(&error, ERROR_USAGE,
                           "--show: \"%s\"; give some of contacts,joints,islands,boxes,sleep,"
                           "points, or all",
                           client.options.show);
    }
    if (parsed == 0 && !film_fits(&client.options, &error)) {
        parsed = ERROR_USAGE;
    }
    if (parsed != 0) {
        if (parsed < 0) {
            fprintf(stderr, "plenum-client: %s\n", error.text);
        }
        return parsed > 0 ? EXIT_OK : EXIT_USAGE;
    }
    signals_catch();
    int code = client.options.render != NULL ? run_film(&client, operand, &error)
                                             : run(&client, operand, &error);
    if (code != EXIT_OK && error.text[0] != 0) {
        fprintf(stderr, "plenum-client: %s\n", error.text);
    }
    connection_destroy(client.connection);
    credentials_wipe(&client.shown);
    report_finish(&client.start);
    script_destroy(client.script);
    private_server_stop(&client.server);
    return code;
}
