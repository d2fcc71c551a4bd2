/* main.c: plenum-server: options, the source that the operand names, and a host to serve it. */
#include "protocol/session/known_hosts.h"
#include "protocol/session/password.h"
#include "server/host/host.h"
#include "server/host/publisher.h"
#include "server/host/service.h"
#include "server/host/source_broker.h"
#include "server/host/source_relay.h"
#include "server/host/trace.h"
#include "server/host/verify.h"
#include "shared/base/file.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/base/options.h"
#include "shared/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct ServerOptions {
    const char *listen, *config, *scene, *trace, *record, *http, *probe_format, *open_role, *key,
        *identity, *revoked, *log, *log_format, *local_role, *password, *bans, *allow, *audit,
        *console, *relay_name, *relay_token, *relay_identity, *relay_password, *world_name, *lobby,
        *lobby_token, *lobby_address, *publish, *creds, *ca;
    char probe[OPTION_LINES_BYTES];
    char secret[PASSWORD_BYTES_MAX];
    bool audit_json;
    u32 per_address, per_site, half_open, joins_minute, reserved, queue, own_times;
    bool limit_local;
    u32 snapshot_rate, threads, clients_max, memory_mib;
    const char *checkpoint, *saves;
    u32 checkpoint_s, record_rate, image_s, back_s, back_mib, publish_age_s, publish_mib;
    u64 ticks;
    f64 speed;
    const char *at;
    bool paused, fast, hash, verify, allow_outside, resume, force, live, relays, no_lan;
} ServerOptions;

static int exit_code_of(int error)
{
    switch (error) {
    case ERROR_USAGE:
        return EXIT_USAGE;
    case ERROR_NETWORK:
        return EXIT_NETWORK;
    default:
        return EXIT_INPUT;
    }
}

static int complain(const ErrorText *error, int exit_code)
{
    fprintf(stderr, "plenum-server: %s\n", error->text);
    return exit_code;
}

/* ---- command line ---- */

static int parse(ServerOptions *options, OptionState *state, int argc, char **argv,
                 const char **operand, ErrorText *error)
{
    const Option rows[] = {
#define X(name_, letter_, kind_, member_, min_, max_, argument_, help_)                            \
    {name_, letter_, kind_, (void *)&options->member_, min_, max_, argument_, help_},
#include "server/options.def"
#undef X
    };
    const OptionTable table = {
        .program = "plenum-server",
        .synopsis =
            "[options] SCENE.json | WORLD.plworld | SESSION.plrec | plenum://HOST[:PORT][#KEY] | "
            "nats://HOST[:PORT]/WORLD",
        .about = "Serves one shared physical world: simulates a scene, continues a saved world, "
                 "plays "
                 "a recording to all clients together, or relays the world of another server or "
                 "what one publishes to a broker.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_min = 0,
        .operands_max = 1,
        .state = state,
    };
    char **operands;
    u32 count;
    int result = options_parse(&table, argc, argv, &operands, &count, error);
    if (result != 0) {
        return result;
    }
    if (options->config != NULL &&
        (result = options_read_ini(&table, options->config, NULL, error)) != 0) {
        return result;
    }
    *operand = count > 0 ? operands[0] : options->scene;
    return *operand != NULL ? ERROR_OK
                            : error_set(error, ERROR_USAGE, "too few arguments; usage: %s %s",
                                        table.program, table.synopsis);
}

static int log_level(const char *name, ErrorText *error)
{
    static const char *const names[] = {"debug", "info", "warn", "error", "quiet"};
    for (u32 i = 0; i < PL_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            log_set_level((LogLevel)i);
            return ERROR_OK;
        }
    }
    return error_set(error, ERROR_USAGE,
                     "--log: \"%s\" is not one of debug, info, warn, error, quiet", name);
}

/* name NULL: what suits the reader. */
static int log_format(const char *name, ErrorText *error)
{
    static const char *const names[] = {"text", "journal", "json"};
    for (u32 i = 0; name != NULL && i < PL_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            log_set_format((LogFormat)i);
            return ERROR_OK;
        }
    }
    if (name == NULL) {
        log_set_format(log_is_journal() ? LOG_JOURNAL : LOG_TEXT);
        return ERROR_OK;
    }
    return error_set(error, ERROR_USAGE, "--log-format: \"%s\" is not one of text, journal, json",
                     name);
}

/* `text` may be NULL: *role stays. */
static int role_option(const char *name, const char *text, i32 *role, ErrorText *error)
{
    for (u32 i = 0; text != NULL && i < ROLE_COUNT; i++) {
        if (strcmp(text, role_name((Role)i)) == 0) {
            *role = (i32)i;
            return ERROR_OK;
        }
    }
    return text == NULL
               ? ERROR_OK
               : error_set(error, ERROR_USAGE,
                           "--%s: \"%s\" is not one of viewer, participant, operator, admin", name,
                           text);
}

static int host_options(const ServerOptions *options, HostOptions *out, ErrorText *error)
{
    memset(out, 0, sizeof *out);
    out->clients_max = options->clients_max;
    out->snapshot_rate = options->snapshot_rate;
    out->encoder = true;
    out->memory_max_bytes = (u64)options->memory_mib << 20;
    out->http = options->http;
    out->open_role = -1;
    out->reserved = options->reserved;
    out->queue_max = options->queue;
    out->own_times = options->own_times;
    out->bans = options->bans;
    out->password = options->password != NULL ? options->secret : NULL;
    out->allow = options->allow;
    out->audit = options->audit;
    out->audit_json = options->audit_json;
    out->console = options->console;
    out->record = options->record;
    out->checkpoint = options->checkpoint;
    out->saves = options->saves;
    out->relays = options->relays;
    out->name = options->world_name;
    out->lobby = options->lobby;
    out->lobby_token = options->lobby_token;
    out->lobby_address = options->lobby_address;
    out->hangup_ends = isatty(STDIN_FILENO) != 0;
    out->limits = (AdmitLimits){options->per_address, options->per_site, options->joins_minute,
                                options->limit_local};
    if (options->lobby == NULL &&
        (options->lobby_token != NULL || options->lobby_address != NULL)) {
        return error_set(error, ERROR_USAGE, "--lobby-token and -address: need --lobby URL");
    }
    if (options->world_name != NULL && strlen(options->world_name) >= NAME_BYTES_MAX) {
        return error_set(error, ERROR_USAGE, "--world-name: longer than %d bytes",
                         NAME_BYTES_MAX - 1);
    }
    int result = role_option("open-role", options->open_role, &out->open_role, error);
    if (result == 0) {
        result = role_option("local-role", options->local_role, &out->local_role, error);
    }
    if (result != 0) {
        return result;
    }
    if (options->key != NULL) {
        out->tokens = true;
        return token_key_read(options->key, out->token_key, sizeof out->token_key, error);
    }
    return ERROR_OK;
}

/* ---- sources ---- */

static bool is_csv(const ServerOptions *options)
{
    return strcmp(options->probe_format, "csv") == 0;
}

static bool is_relay(const char *operand)
{
    return strncmp(operand, "plenum://", 9) == 0;
}

/* `known` is used as long as the source. */
static Source *relay_open(const ServerOptions *options, const char *operand, KnownHosts *known,
                          ErrorText *error)
{
    RelayOptions relay = {.record_path = options->record,
                          .record_rate = options->record_rate,
                          .record_force = options->force};
    if (options->fast || options->paused || options->hash || options->ticks != 0 ||
        options->speed != 1.0 || options->probe[0] != '\0') {
        error_set(error, ERROR_USAGE,
                  "--fast, --paused, --speed, --ticks, --hash and --probe are for the server that "
                  "simulates, not for a relay of %s",
                  operand);
        return NULL;
    }
    if (options->saves != NULL) {
        error_set(error, ERROR_USAGE,
                  "--saves: %s is not simulated here: save it on its own server", operand);
        return NULL;
    }
    if (options->checkpoint != NULL || options->resume) {
        error_set(error, ERROR_USAGE,
                  "--checkpoint: %s is not simulated here: keep it on its own server", operand);
        return NULL;
    }
    if (options->relay_name != NULL && strlen(options->relay_name) >= NAME_BYTES_MAX) {
        error_set(error, ERROR_USAGE, "--relay-name: longer than %d bytes", NAME_BYTES_MAX - 1);
        return NULL;
    }
    const CredentialFiles files = {.token = options->relay_token,
                                   .identity = options->relay_identity,
                                   .password = options->relay_password};
    if (credentials_read(&relay.above.shown, &files, error) != ERROR_OK ||
        credentials_expect(&relay.above.shown, &files, operand + 9, known, error) != ERROR_OK) {
        credentials_wipe(&relay.above.shown);
        return NULL;
    }
    snprintf(relay.above.name, sizeof relay.above.name, "%s",
             options->relay_name != NULL ? options->relay_name : "relay");
    relay.above.dial = credentials_dial;
    relay.above.dial_context = known;
    Source *source = source_relay_create(&relay, error);
    credentials_wipe(&relay.above.shown);
    if (source == NULL) {
        error_prefix(error, "%s", operand);
    }
    return source;
}

/* ---- brokers ---- */

static int broker_options(const ServerOptions *options, const char *address, const char *name,
                          BrokerOptions *out, ErrorText *error)
{
    *out = (BrokerOptions){.creds = options->creds, .ca = options->ca, .name = name};
    return broker_address(address, &out->address, error);
}

/* What a broker has is neither simulated nor paused here. */
static int broker_check(const ServerOptions *options, const char *operand, ErrorText *error)
{
    const struct {
        bool set;
        const char *name;
    } others[] = {{options->fast, "fast"},
                  {options->saves != NULL, "saves"},
                  {options->paused, "paused"},
                  {options->hash, "hash"},
                  {options->ticks != 0, "ticks"},
                  {options->probe[0] != '\0', "probe"},
                  {options->live, "live"},
                  {options->checkpoint != NULL, "checkpoint"},
                  {options->resume, "resume"},
                  {options->publish != NULL, "publish"},
                  {options->speed != 1.0 && options->at == NULL, "speed"}};
    for (u32 i = 0; i < PL_COUNT(others); i++) {
        if (others[i].set) {
            const char *slash = strrchr(operand, '/'); /* no password */
            return error_set(error, ERROR_USAGE,
                             "--%s: is for the server that simulates, not for one that follows "
                             "what is published as %s%s",
                             others[i].name, slash + 1,
                             strcmp(others[i].name, "speed") == 0 ? ": only with --at" : "");
        }
    }
    return ERROR_OK;
}

static Source *broker_open(const ServerOptions *options, const char *operand, ErrorText *error)
{
    SourceBrokerOptions follow = {.at = options->at,
                                  .speed = options->speed,
                                  .record_path = options->record,
                                  .record_rate = options->record_rate,
                                  .record_force = options->force};
    if (broker_options(options, operand, "plenum-server (follows)", &follow.broker, error) != 0 ||
        broker_check(options, operand, error) != 0) {
        return NULL;
    }
    return source_broker_create(&follow, error);
}

/* Fills *out for --publish. */
static int publish_options(const ServerOptions *options, const char *operand, PublisherOptions *out,
                           ErrorText *error)
{
    bool plays = text_ends_with(operand, ".plrec") && !options->live;
    if (is_relay(operand) || plays) {
        return error_set(error, ERROR_USAGE,
                         "--publish: %s is not simulated here: only a live world is published",
                         operand);
    }
    out->limits = (BrokerLimits){options->publish_age_s, (u64)options->publish_mib << 20};
    out->listens = options->relays;
    int result = broker_options(options, options->publish, "plenum-server", &out->broker, error);
    if (result != ERROR_OK) {
        error_prefix(error, "--publish");
    }
    return result;
}

static Source *source_open(const ServerOptions *options, const char *operand, KnownHosts *known,
                           Trace *trace, ErrorText *error)
{
    PublisherOptions publish = {.ticks_max = 0};
    if (broker_is_address(operand)) {
        return broker_open(options, operand, error);
    }
    if (options->publish == NULL && (options->publish_age_s != 0 || options->publish_mib != 0)) {
        error_set(error, ERROR_USAGE, "--publish-age and -size: need --publish URL");
        return NULL;
    }
    if (options->publish == NULL && (options->creds != NULL || options->ca != NULL)) {
        error_set(error, ERROR_USAGE, "--broker-creds and -ca: no broker is named");
        return NULL;
    }
    if (options->publish != NULL &&
        publish_options(options, operand, &publish, error) != ERROR_OK) {
        return NULL;
    }
    const SourceWorldOptions source = {
        .threads = options->threads,
        .ticks_max = options->ticks,
        .memory_max_bytes = (u64)options->memory_mib << 20,
        .fast = options->fast,
        .paused = options->paused,
        .speed = options->speed,
        .allow_outside = options->allow_outside,
        .record_path = options->record,
        .record_rate = options->record_rate,
        .checkpoint_folder = options->checkpoint,
        .checkpoint_s = options->checkpoint_s,
        .resume = options->resume,
        .at = options->at,
        .record_force = options->force,
        .publish = options->publish != NULL ? &publish : NULL,
        .trace = trace,
        .image_s = options->image_s,
        .back_s = options->back_s,
        .back_bytes_max = (u64)u32_min(options->back_mib, options->memory_mib / 8) << 20,
        .hash = options->hash,
        .probe = options->probe[0] != '\0' ? options->probe : NULL,
        .probe_csv = is_csv(options),
    };
    if (is_relay(operand)) {
        return relay_open(options, operand, known, error);
    }
    if (options->relay_name != NULL || options->relay_token != NULL ||
        options->relay_identity != NULL || options->relay_password != NULL) {
        error_set(error, ERROR_USAGE,
                  "--relay-name, -token, -identity and -password: %s is not plenum://HOST",
                  operand);
        return NULL;
    }
    if (options->resume && options->checkpoint == NULL) {
        error_set(error, ERROR_USAGE, "--resume: needs --checkpoint DIR to find the world in");
        return NULL;
    }
    bool recording = text_ends_with(operand, ".plrec");
    if (recording && !options->live && options->saves != NULL) {
        error_set(error, ERROR_USAGE,
                  "--saves: %s is a recording and does not change without --live", operand);
        return NULL;
    }
    if (!recording && (options->at != NULL || options->live)) {
        error_set(error, ERROR_USAGE, "--%s: %s is not a recording (.plrec)",
                  options->live ? "live" : "at", operand);
        return NULL;
    }
    if (recording && !options->live) {
        if (options->checkpoint != NULL) {
            error_set(error, ERROR_USAGE,
                      "--checkpoint: %s is a recording and does not change without --live",
                      operand);
            return NULL;
        }
        if (options->record != NULL) {
            error_set(error, ERROR_USAGE,
                      "--record: %s is already a recording: continue it with --live", operand);
            return NULL;
        }
        return source_recording_create(operand, &source, error);
    }
    return source_world_create(operand, &source, error);
}

/* The key by which clients know this server again. Without a place to keep it, one for this run. */
static int identity_open(const ServerOptions *options, Identity *identity, ErrorText *error)
{
    char path[4096];
    ErrorText why = {0};
    if (options->identity != NULL) {
        return identity_load(options->identity, identity, error);
    }
    int result = file_state_path("server.key", path, sizeof path, &why);
    if (result == ERROR_OK) {
        result = identity_load(path, identity, &why);
    }
    if (result == ERROR_IO || result == ERROR_NOT_FOUND) {
        log_warn("%s; clients will not know this server again", why.text);
        identity_create(identity);
        return ERROR_OK;
    }
    return result == ERROR_OK ? result : error_set(error, (Error)result, "%s", why.text);
}

/* A socket of the service manager goes before --listen. NULL: it passed something else. */
static const char *listen_where(const ServerOptions *options, char *text, size_t bytes,
                                ErrorText *error)
{
    int fd;
    if (service_socket(&fd, error) != ERROR_OK) {
        return NULL;
    }
    snprintf(text, bytes, "fd:%d", fd);
    return fd >= 0 ? text : options->listen;
}

/* Where only this machine can join, nobody on the network need find it. */
static bool is_loopback(const char *listen_at)
{
    return strncmp(listen_at, "127.", 4) == 0 || strncmp(listen_at, "localhost", 9) == 0;
}

static int serve(const ServerOptions *options, const char *operand, Trace *trace)
{
    ErrorText error = {0};
    HostOptions host_wanted;
    char tokens_used[4096], saves[4096];
    int result = host_options(options, &host_wanted, &error);
    if (result != 0) {
        return complain(&error, exit_code_of(result));
    }
    char socket_passed[32];
    const char *listen_at = listen_where(options, socket_passed, sizeof socket_passed, &error);
    if (listen_at == NULL) {
        return complain(&error, EXIT_USAGE);
    }
    host_wanted.trace = trace;
    /* The content first: a wrong scene is its own error, whatever the port. */
    KnownHosts known;
    Source *source = source_open(options, operand, &known, trace, &error);
    if (source == NULL) {
        return complain(&error, exit_code_of(error.code));
    }
    Identity identity;
    char key[IDENTITY_TEXT_BYTES];
    result = identity_open(options, &identity, &error);
    if (result != 0) {
        source->ops->destroy(source);
        return complain(&error, exit_code_of(result));
    }
    identity_to_text(identity.public_key, key);
    host_wanted.identity = &identity;
    host_wanted.tokens_revoked = options->revoked;
    ErrorText why = {0};
    if (host_wanted.tokens &&
        file_state_path("tokens.used", tokens_used, sizeof tokens_used, &why) == ERROR_OK) {
        host_wanted.tokens_used = tokens_used;
    }
    if (host_wanted.saves == NULL && source->ops->save != NULL &&
        file_state_path("saves", saves, sizeof saves, &why) == ERROR_OK) {
        host_wanted.saves = saves;
    }
    Link *link = link_enet_listen(listen_at, host_peers(&host_wanted), &identity, &error);
    if (link == NULL) {
        identity_finish(&identity);
        source->ops->destroy(source);
        return complain(&error, error.code == ERROR_USAGE ? EXIT_USAGE : EXIT_NETWORK);
    }
    link_enet_limit(link, options->half_open, options->limit_local);
    u32 port = link_enet_port(link);
    host_wanted.port = (u16)port;
    host_wanted.lan = !options->no_lan && !is_loopback(listen_at);
    Host *host = host_create(&host_wanted, link, source, &error);
    identity_finish(&identity); /* host and link have their own */
    if (host == NULL) {
        return complain(&error, exit_code_of(error.code));
    }
    const char *colon = strrchr(listen_at, ':');
    int length = colon != NULL ? (int)(colon - listen_at) : (int)strlen(listen_at);
    log_info("listening on %.*s:%u, key %s", length, listen_at, port, key);
    log_info("memory: %llu of at most %u MiB", (unsigned long long)(memory_resident_bytes() >> 20),
             options->memory_mib);
    FILE *said = is_csv(options) ? stderr : stdout;
    fprintf(said, "key %s\nready %u\n", key, port);
    fflush(said);
    int exit_code = host_run(host);
    host_destroy(host);
    return exit_code;
}

/* What was parsed; returns the exit code. */
static int run(ServerOptions *options, const char *operand, ErrorText *error)
{
    if (!is_csv(options) && strcmp(options->probe_format, "text") != 0) {
        error_set(error, ERROR_USAGE, "--probe-format: \"%s\" is not one of text, csv",
                  options->probe_format);
        return complain(error, EXIT_USAGE);
    }
    /* A broken pipe of stdout must not end a server that others play on. */
    signal(SIGPIPE, SIG_IGN);
    /* Nor may a limit of file sizes: the write fails instead. */
    signal(SIGXFSZ, SIG_IGN);
    if (options->password != NULL &&
        password_read(options->password, options->secret, error) != 0) {
        return complain(error, EXIT_INPUT);
    }
    if (!options->verify) {
        Trace *trace = options->trace != NULL ? trace_create(options->trace, error) : NULL;
        if (options->trace != NULL && trace == NULL) {
            return complain(error, EXIT_INPUT);
        }
        int code = serve(options, operand, trace);
        trace_destroy(trace);
        return code;
    }
    if (options->live || options->at != NULL) {
        fprintf(stderr,
                "plenum-server: --verify: compares a whole recording: no --live, no --at\n");
        return EXIT_USAGE;
    }
    if (!text_ends_with(operand, ".plrec")) {
        fprintf(stderr, "plenum-server: --verify: %s is not a recording (.plrec)\n", operand);
        return EXIT_USAGE;
    }
    int exit_code = verify_recording(operand, NULL, options->threads, error);
    return error->text[0] != '\0' ? complain(error, exit_code) : exit_code;
}

int main(int argc, char **argv)
{
    ServerOptions options = {.listen = "*:7340",
                             .memory_mib = 4096,
                             .snapshot_rate = 30,
                             .threads = 1,
                             .clients_max = 64,
                             .checkpoint_s = 60,
                             .record_rate = 20,
                             .image_s = 300,
                             .back_s = 120,
                             .back_mib = 256,
                             .per_address = 8,
                             .per_site = 32,
                             .half_open = 8,
                             .joins_minute = 20,
                             .reserved = 2,
                             .queue = 32,
                             .own_times = 8,
                             .speed = 1.0,
                             .probe_format = "text",
                             .log = "info"};
    const char *operand = NULL;
    ErrorText error = {0};
    OptionState state = {0}; /* options point into it */
    int result = parse(&options, &state, argc, argv, &operand, &error);
    int code = EXIT_OK;
    if (result < 0 || (result == 0 && (log_level(options.log, &error) != ERROR_OK ||
                                       log_format(options.log_format, &error) != ERROR_OK))) {
        code = complain(&error, EXIT_USAGE);
    } else if (result == 0) {
        code = run(&options, operand, &error);
    }
    options_finish(&state);
    return code;
}
