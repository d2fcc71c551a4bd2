/*
 * session.c: sessions: handshake, incoming messages, limits and resume. All
 * input is hostile until message_decode, input_packet_decode, authorize and lag compensation have
 * accepted it.
 */
#include "server/host/session.h"

#include "protocol/record/recording.h"
#include "server/host/admin.h"
#include "server/host/lag_compensation.h"
#include "server/host/trace.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WELCOME_GAP_MS = 120,
    WELCOME_COPIES = 20,
    /* Of a relay: some hundred users. */
    GUESTS_MESSAGE_BYTES_MAX = 64 << 10,
};

static const f32 reach_participant_m = 200.0f;
static const f32 reach_operator_m = 2000.0f;

/* The whole session waits for the WELCOME, and a reliable channel retransmits slowly: it is
 * repeated on the unreliable channel until a payload arrives. */
static void welcome_repeat(Host *host, Session *session)
{
    if (session->answered || session->welcome_copies == 0 || host->now_ms < session->welcome_ms) {
        return;
    }
    session->welcome_copies--;
    session->welcome_ms = host->now_ms + WELCOME_GAP_MS;
    (void)host->link->ops->send(host->link, session->peer, CHANNEL_INPUT, session->welcome,
                                session->welcome_bytes);
}

void sessions_check(Host *host)
{
    sessions_token_check(host);
    if (host->link->ops->forged != NULL) {
        host->stats.forged = host->link->ops->forged(host->link);
    }
    for (u32 i = 0; i < host->peer_capacity; i++) {
        Session *session = &host->sessions[i];
        bool welcomed = session->state == SESSION_LIVE || session->state == SESSION_WAITING;
        if (welcomed) {
            welcome_repeat(host, session);
        }
        u64 open_ms = host->now_ms - session->opened_ms;
        if (session->state == SESSION_WAITING && session->asked && open_ms > 2 * HELLO_MS_MAX) {
            session_close(host, session, REFUSE_PASSWORD, "no password received");
        } else if (session->state == SESSION_HELLO && open_ms > HELLO_MS_MAX) {
            session_close(host, session, REFUSE_TIMEOUT, "no HELLO received");
        } else if (welcomed && host->now_ms - session->heard_ms > SILENCE_MS_MAX) {
            host->stats.timed_out++;
            session_close(host, session, REFUSE_TIMEOUT, "");
        }
    }
}

/* ---- beginning ---- */

void session_open(Host *host, u32 peer)
{
    if (peer >= host->peer_capacity) {
        return;
    }
    Session *session = &host->sessions[peer];
    session_end(host, session);
    memset(session, 0, sizeof *session);
    session->state = SESSION_HELLO;
    session->peer = peer;
    session->opened_ms = session->heard_ms = host->now_ms;
    entry_open(host, session);
    permissions_init(&session->permissions, ROLE_VIEWER, host->now_ms);
    token_bucket_init(&session->refusals, 20.0, 40.0, host->now_ms);
    if (host->draining) {
        session_close(host, session, REFUSE_SHUTDOWN, "");
    }
}

/* Restores the user if the resume secret is known; a session still using it is ended. */
static void user_choose(Host *host, Session *session, u64 resume)
{
    for (u32 i = 0; resume != 0 && i < host->session_capacity; i++) {
        Session *other = &host->sessions[i];
        if (other != session && other->state == SESSION_LIVE && other->resume == resume) {
            session_close(host, other, REFUSE_LEFT, "resumed on another connection");
        }
    }
    for (u32 i = 0; resume != 0 && i < FORMERS_MAX; i++) {
        Former *former = &host->formers[i];
        if (former->resume == resume && former->until_ms > host->now_ms) {
            session->user = former->user;
            session->color = former->color;
            memcpy(session->held_unix_s, former->held_unix_s, sizeof session->held_unix_s);
            former->resume = 0;
            break;
        }
    }
    if (session->user != 0) {
        spawns_returned(host, session->user);
    } else {
        session->user = ++host->next_user;
        session->color = session_color(session->user);
    }
    do {
        seal_random(&session->resume, sizeof session->resume);
    } while (session->resume == 0);
}

static bool is_on_own_machine(const Session *session)
{
    return session->identity.addressed && net_address_is_local(session->identity.address);
}

/* Without a token. */
static Role open_role(const Host *host, const Session *session)
{
    const HostOptions *options = &host->options;
    i32 role = options->open_role >= 0 ? options->open_role : (i32)ROLE_PARTICIPANT;
    return (Role)(is_on_own_machine(session) ? i32_max(role, options->local_role) : role);
}

/* Selects the role and, from a token, the name. False: refused. */
static bool role_choose(Host *host, Session *session, MessageHello *hello)
{
    if (!host->options.tokens) {
        session->role = open_role(host, session);
        return true;
    }
    return session_token_take(host, session, hello);
}

/* Sends the WELCOME and keeps it for repeats. */
static void welcome_send(Host *host, Session *session, const Message *message)
{
    u32 bytes = 0;
    u8 *cleartext = message_encode(message, &bytes);
    if (cleartext == NULL) {
        return; /* the client will time out */
    }
    (void)host->link->ops->send(host->link, session->peer, CHANNEL_CONTROL, cleartext, bytes);
    if (bytes <= sizeof session->welcome) {
        memcpy(session->welcome, cleartext, bytes);
        session->welcome_bytes = bytes;
        session->welcome_copies = WELCOME_COPIES;
        session->welcome_ms = host->now_ms + WELCOME_GAP_MS;
    }
    message_free(cleartext);
}

static void welcome(Host *host, Session *session, const MessageHello *hello)
{
    user_choose(host, session, hello->resume);
    memcpy(session->wanted, hello->name, sizeof session->wanted);
    session->relay = hello->relay;
    session->speaks = hello->relay && (session->has_token ? session->speaks : host->options.relays);
    Message message = {.kind = MESSAGE_WELCOME};
    message.welcome.major = PROTOCOL_MAJOR;
    message.welcome.minor = PROTOCOL_MINOR;
    message.welcome.user = session->user;
    message.welcome.role = session->role;
    message.welcome.tick_rate = host->tick_rate;
    message.welcome.snapshot_rate = host->options.snapshot_rate;
    message.welcome.resume = session->resume;
    welcome_send(host, session, &message);
    session->welcomed = true;
    session->state = SESSION_WAITING;
    session->heard_ms = host->now_ms;
    permissions_init(&session->permissions, session->role, host->now_ms);
    if (session->speaks) {
        permissions_relay(&session->permissions, host->now_ms);
    }
    budget_init(&session->budget, host->now_ms,
                host->options.client_bytes_s > 0 ? host->options.client_bytes_s
                                                 : (u32)BUDGET_MAX_BYTES_S);
    session->budget.own = is_on_own_machine(session);
    session->view.forward = vec3(0.0f, 0.0f, -1.0f);
    session->view.pixels_per_radian = 1000.0f;
    entry_enter(host, session);
}

/* Of the client's program. */
static const char *version_of(const MessageHello *hello)
{
    return hello->version[0] != 0 ? hello->version : "0.1";
}

/* The protocol is the same, so the session continues; users are told why a feature may be
 * missing. */
static void version_compare(Host *host, Session *session, const MessageHello *hello)
{
    char text[TEXT_BYTES_MAX];
    if (session->state == SESSION_LIVE && strcmp(hello->version, PLENUM_VERSION) != 0) {
        snprintf(text, sizeof text, "the server is Plenum %s, you are Plenum %s", PLENUM_VERSION,
                 version_of(hello));
        session_notice(host, session, text);
        log_info("user \"%s\" runs Plenum %s", session->name, version_of(hello));
    }
}

static void hello_receive(Host *host, Session *session, MessageHello *hello)
{
    char text[TEXT_BYTES_MAX];
    if (hello->major != PROTOCOL_MAJOR) {
        snprintf(text, sizeof text,
                 "the server is Plenum %s and speaks protocol %d, you are Plenum %s and speak %u",
                 PLENUM_VERSION, PROTOCOL_MAJOR, version_of(hello), hello->major);
        session_close(host, session, REFUSE_VERSION, text);
    } else if (!entry_allowed(host, session)) {
        return;
    } else if (host->memory_short) {
        snprintf(text, sizeof text, "the server has reached its memory limit: %llu of %llu MiB",
                 (unsigned long long)(host->stats.memory_bytes >> 20),
                 (unsigned long long)(host->options.memory_max_bytes >> 20));
        session_close(host, session, REFUSE_FULL, text);
    } else if (session_prove(host, session, hello) && role_choose(host, session, hello) &&
               entry_place(host, session, hello->resume) && session_token_use(host, session)) {
        welcome(host, session, hello);
        version_compare(host, session, hello);
    }
}

/* ---- inputs ---- */

static int input_check_rights(Host *host, Session *session, Input *input)
{
    f32 reach_m = session->role >= ROLE_OPERATOR ? reach_operator_m : reach_participant_m;
    if (input->kind != INPUT_RELEASE && moderate_frozen(session)) {
        return ERROR_DENIED;
    }
    int code = authorize_input(&session->permissions, input, host->now_ms);
    if (code != 0) {
        return code;
    }
    if ((input->kind == INPUT_MOVE || input->kind == INPUT_SPAWN) &&
        vec3_distance(session->view.eye, input->target) > reach_m) {
        return ERROR_RANGE;
    }
    if (input->kind == INPUT_SPAWN && host->memory_short) {
        return ERROR_MEMORY;
    }
    if (input->kind == INPUT_SPAWN && session->role < ROLE_OPERATOR &&
        !entry_spawn_allowed(host, session)) {
        return ERROR_LIMIT;
    }
    if (host->common.status.forwarded) {
        return 0; /* the server above has the frames of all ticks */
    }
    const Stream *stream = stream_of(host, session);
    LagWorld world = {&stream->history, &stream->entities, host->tick_rate};
    return lag_compensate(&world, input, reach_m);
}

/* Each input is handled once, in order; those seen before are redundant repeats. */
static void input_receive(Host *host, Session *session, Input *input)
{
    if (input->sequence <= session->input_newest) {
        return;
    }
    session->input_newest = input->sequence;
    int code = input_check_rights(host, session, input);
    if (code == 0) {
        input->user = session->user;
        /* A relay may be one that only watches. */
        int full = host->common.status.forwarded ? ERROR_DENIED : ERROR_LIMIT;
        Source *source = stream_of(host, session)->source;
        code = source->ops->input(source, input, 1) == 1 ? 0 : full;
    }
    if (code == ERROR_LIMIT && input->kind == INPUT_RELEASE && input->user == session->user) {
        release_later(host, session->user, input->sequence);
        code = 0;
    }
    if (code != 0) {
        session_refused(host, session, input->sequence, code);
        return;
    }
    host->stats.inputs++;
    undo_note(host, session, input);
    if (input->kind == INPUT_MOVE) {
        session->target = input->target;
    }
}

static bool view_is_valid(const SnapshotView *view)
{
    return vec3_is_finite(view->eye) && vec3_is_finite(view->forward) &&
           isfinite(view->pixels_per_radian);
}

static bool input_packet_receive(Host *host, Session *session, const u8 *data, u32 bytes)
{
    InputPacket packet;
    if (input_packet_decode(&packet, data, bytes) != 0 || !view_is_valid(&packet.view)) {
        return false;
    }
    u16 newer = (u16)(packet.send_ms - session->echo_ms);
    if (session->echo_at_ms == 0 || newer < 0x8000) {
        session->echo_ms = packet.send_ms;
        session->echo_at_ms = host->now_ms;
        session->view = packet.view;
        session->cursor = packet.cursor;
        session->cursor_visible = packet.cursor_visible != 0;
    }
    if (session->sender != NULL && packet.ack.valid) {
        session_acknowledge(
            host, session,
            &(Acknowledgement){packet.ack, packet.send_ms, packet.echo_ms, host->now_ms});
    }
    for (u32 i = 0; i < packet.count; i++) {
        input_receive(host, session, &packet.inputs[i]);
    }
    return true;
}

/* ---- messages ---- */

/* 0 or a negative Error, with the text for the user. */
static int control_run(Host *host, Session *session, u32 kind, f64 value, ErrorText *error)
{
    Source *source = stream_of(host, session)->source;
    int code = authorize_control(&session->permissions, kind, session->own != NULL, host->now_ms);
    if (code == 0 && kind == CONTROL_LEAVE) {
        return own_time_leave(host, session, error);
    }
    if (code == 0 && kind == CONTROL_RETURN) {
        return own_time_return(host, session, error);
    }
    if (code == 0) {
        code = kind == CONTROL_UNDO ? undo_run(host, session)
                                    : source->ops->control(source, session->user, kind, value);
    }
    return code != 0 ? error_set(error, (Error)code, "%s", error_name((Error)code)) : 0;
}

static void control_receive(Host *host, Session *session, u32 kind, f64 value)
{
    char text[TEXT_BYTES_MAX];
    ErrorText error = {0};
    /* Controls of a user in own time do not affect others. */
    bool own = session->own != NULL && kind != CONTROL_RETURN;
    int code = control_run(host, session, kind, value, &error);
    if (code != 0) {
        snprintf(text, sizeof text, "refused: %.200s", error.text);
        session_notice(host, session, text);
        host->stats.inputs_refused++;
        return;
    }
    stream_of(host, session)->status_ms = host->now_ms;
    if (kind == CONTROL_BACK) {
        world_taken_back(host, session->name, value);
    }
    if (!own) {
        snprintf(text, sizeof text, "%u %g", kind, value);
        session_audit(host, session, "control", NULL, text, code);
    }
    log_write(own || kind == CONTROL_SEEK ? LOG_DEBUG : LOG_INFO,
              "user \"%s\": control %u, value %g", session->name, kind, value);
}

/* ---- commands ---- */

typedef struct CommandReply {
    Host *host;
    Session *session;
} CommandReply;

static void command_say(void *context, const char *text)
{
    CommandReply *reply = context;
    if (reply->session->state == SESSION_LIVE) {
        session_answer(reply->host, reply->session, NOTICE_ANSWER, ERROR_OK, text);
    }
}

static void chat_command(Host *host, Session *session, const char *line)
{
    CommandReply reply = {host, session};
    char name[NAME_BYTES_MAX];
    AdminCaller caller = {session, name, session->role, command_say, &reply};
    int result = authorize_chat(&session->permissions, host->now_ms);
    if (result != ERROR_OK) {
        session_notice(host, session, "too many commands: wait a moment");
    } else {
        memcpy(name, session->name, sizeof name);
        result = admin_run(host, &caller, line);
    }
    if (session->state == SESSION_LIVE) { /* the command may have ended it */
        session_answer(host, session, NOTICE_END, result, error_name((Error)result));
    }
}

static void chat_receive(Host *host, Session *session, Message *message)
{
    if (message->chat.text[0] == '/') {
        chat_command(host, session, message->chat.text + 1);
    } else if (moderate_muted(session)) {
        session_notice(host, session, "you are muted");
    } else if (session->role < ROLE_PARTICIPANT) {
        session_notice(host, session, "viewers cannot chat");
    } else if (authorize_chat(&session->permissions, host->now_ms) != 0) {
        session_notice(host, session, "too many chat messages: wait a moment");
    } else {
        message->chat.user = session->user;
        chronicle_note(host, session, RECORDING_NOTE_CHAT, message->chat.text);
        sessions_message(host, CHANNEL_CONTROL, message, NULL);
        above_notify(host, message);
    }
}

/* ---- a relay speaks for its users ---- */

void guest_chat(Host *host, Session *relay, Message *message)
{
    Session *guest = guest_of_user(host, relay, message->chat.user);
    if (guest != NULL && message->chat.text[0] != '/') { /* commands are for its own server */
        chat_receive(host, guest, message);
    }
}

static bool guest_input(Host *host, Session *relay, const Message *message)
{
    Session *guest = guest_of_user(host, relay, message->guest_input.user);
    Input input;
    BitReader reader;
    bit_reader_init(&reader, message->guest_input.input, message->guest_input.bytes);
    if (input_decode(&reader, &input) != 0) {
        return false;
    }
    if (guest != NULL) {
        input_receive(host, guest, &input);
    }
    return true;
}

static bool message_receive(Host *host, Session *session, const u8 *data, u32 bytes)
{
    Message message;
    u8 *storage = NULL;
    bool fine = true;
    if (bytes > (session->speaks ? GUESTS_MESSAGE_BYTES_MAX : CLIENT_MESSAGE_BYTES_MAX) ||
        message_decode(data, bytes, &message, &storage, NULL) != 0) {
        return false;
    }
    if (session->state == SESSION_HELLO) {
        if (message.kind == MESSAGE_HELLO) {
            hello_receive(host, session, &message.hello);
        } else {
            fine = false;
        }
        message_free(storage);
        return fine;
    }
    bool waits = session->state == SESSION_WAITING;
    bool early = message.kind == MESSAGE_GOODBYE || message.kind == MESSAGE_PASSWORD;
    switch (waits && !early ? MESSAGE_NONE : message.kind) {
    case MESSAGE_CONTROL:
        control_receive(host, session, message.control.kind, message.control.value);
        break;
    case MESSAGE_CHAT:
        if (session->speaks && message.chat.user != 0) {
            guest_chat(host, session, &message);
        } else {
            chat_receive(host, session, &message);
        }
        break;
    case MESSAGE_GUESTS:
        guests_receive(host, session, &message);
        break;
    case MESSAGE_GUEST_INPUT:
        fine = guest_input(host, session, &message);
        break;
    case MESSAGE_PRESENCE:
        fine = session->speaks;
        guests_presence(host, session, &message);
        break;
    case MESSAGE_BOOKMARK:
        chronicle_bookmark(host, session, message.bookmark.tick, message.bookmark.text);
        break;
    case MESSAGE_DEBUG_SUBSCRIBE:
        debug_subscription_receive(host, session, message.debug_subscribe.mask);
        break;
    case MESSAGE_PASSWORD:
        fine = entry_password(host, session, message.password.text);
        break;
    case MESSAGE_GOODBYE:
        log_info("user \"%s\" left", session->name);
        host->measures.ended[REFUSE_LEFT] += session->state == SESSION_LIVE;
        TRACE_PROBE2(leave, session->user, REFUSE_LEFT);
        session_end(host, session);
        session->state = SESSION_CLOSING;
        host->link->ops->disconnect(host->link, session->peer, REFUSE_LEFT);
        break;
    default: /* server-only messages, or a second HELLO */
        fine = waits;
        break;
    }
    message_free(storage);
    return fine;
}

/* Handles one payload of a session that was welcomed. */
static bool welcomed_receive(Host *host, Session *session, const LinkEvent *event)
{
    session->heard_ms = host->now_ms;
    session->answered = true;
    if (event->channel == CHANNEL_INPUT && session->state == SESSION_WAITING) {
        return true; /* it only shows that the client is alive */
    }
    if (event->channel == CHANNEL_INPUT) {
        return input_packet_receive(host, session, event->data, event->bytes);
    }
    if (event->channel == CHANNEL_BLOCKS) {
        return session->bulk != NULL &&
               bulk_sender_ack(session->bulk, event->data, event->bytes, host->now_ns / 1000) == 0;
    }
    return event->channel == CHANNEL_CONTROL &&
           message_receive(host, session, event->data, event->bytes);
}

void session_receive(Host *host, const LinkEvent *event)
{
    if (event->peer >= host->peer_capacity) {
        return;
    }
    Session *session = &host->sessions[event->peer];
    if (session->state == SESSION_FREE || session->state == SESSION_CLOSING) {
        return;
    }
    if (!rate_limit_packet(&session->permissions, event->bytes, host->now_ms)) {
        session_close(host, session, REFUSE_FLOOD, "too many packets");
        return;
    }
    bool fine = session->state == SESSION_HELLO
                    ? event->channel == CHANNEL_CONTROL &&
                          message_receive(host, session, event->data, event->bytes)
                    : welcomed_receive(host, session, event);
    if (fine) {
        return;
    }
    host->stats.malformed++;
    if (session->state == SESSION_HELLO) {
        session_close(host, session, REFUSE_PROTOCOL, "not a HELLO message");
    } else if (!rate_limit_malformed(&session->permissions)) {
        session_close(host, session, REFUSE_PROTOCOL, "too many malformed packets");
    }
}
