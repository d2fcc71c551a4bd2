/* admin.c: the commands of operators. */
#include "server/host/admin.h"

#include "shared/base/clock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS_MAX = 4, /* the last one is the rest of the line */
    LINE_BYTES_MAX = 512,
    LISTED_MAX = 200,
    BAN_S = 3600,
    MUTE_S = 600,
    /* Longer bans are for admins. */
    OPERATOR_BAN_S_MAX = 7 * 86400
};

typedef struct Call {
    Host *host;
    const AdminCaller *caller;
    char storage[LINE_BYTES_MAX];
    const char *words[WORDS_MAX]; /* "" where there is none; words[0] is the command */
} Call;

typedef int Run(Call *call);

static void say(const Call *call, const char *format, ...) PL_PRINTF(2, 3);

static void say(const Call *call, const char *format, ...)
{
    char text[TEXT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->caller->say(call->caller->context, text);
}

static int refuse(const Call *call, Error code, const char *text)
{
    say(call, "refused: %s", text);
    return code;
}

/* ---- words ---- */

/* Splits into words; "two words" is one. The last takes the rest of the line. */
static void split(Call *call, const char *line)
{
    snprintf(call->storage, sizeof call->storage, "%s", line);
    char *at = call->storage;
    for (u32 i = 0; i < WORDS_MAX; i++) {
        at += strspn(at, " \t");
        bool quoted = *at == '"' && i < WORDS_MAX - 1;
        at += quoted;
        call->words[i] = at;
        size_t length = strcspn(at, quoted ? "\"" : " \t");
        if (i == WORDS_MAX - 1) {
            length = strlen(at);
        }
        at += length;
        if (*at != '\0') {
            *at++ = '\0';
        }
    }
}

/* The rest of the line from a word on; quotes are lost. */
static const char *rest_from(Call *call, u32 first)
{
    char *start = call->storage + (call->words[first] - call->storage);
    char *end = start;
    for (u32 i = first; i < WORDS_MAX && call->words[i][0] != '\0'; i++) {
        size_t length = strlen(call->words[i]);
        if (i > first) {
            *end++ = ' ';
        }
        memmove(end, call->words[i], length);
        end += length;
        call->words[i] = i > first ? "" : start;
    }
    *end = '\0';
    return start;
}

/* "90s", "10m", "2h", "3d", "forever" (0). False: not a time, and *seconds is unchanged. */
static bool time_parse(const char *text, u64 *seconds)
{
    char *end;
    if (strcmp(text, "forever") == 0) {
        *seconds = 0;
        return true;
    }
    u64 count = strtoull(text, &end, 10);
    u64 unit = *end == 's' ? 1 : *end == 'm' ? 60 : *end == 'h' ? 3600 : *end == 'd' ? 86400 : 0;
    if (text[0] < '0' || text[0] > '9' || unit == 0 || end[1] != '\0' || count == 0 ||
        count > 36500) {
        return false;
    }
    *seconds = count * unit;
    return true;
}

/* The user that a word names: #ID or the whole name. NULL: none, and the caller was told why. */
static Session *user_named(const Call *call, const char *word)
{
    Host *host = call->host;
    Session *found = NULL;
    if (word[0] == '#') {
        found = session_of_user(host, (u32)strtoul(word + 1, NULL, 10));
    }
    for (u32 i = 0; found == NULL && i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        found = session->state == SESSION_LIVE && strcmp(session->name, word) == 0 ? session : NULL;
    }
    if (found == NULL) {
        say(call, "refused: no user \"%s\": see users", word);
    }
    return found;
}

/* The same, if the caller may act on it. */
static Session *victim_named(const Call *call, const char *word)
{
    Session *found = user_named(call, word);
    if (found != NULL && call->caller->session != NULL && found->role >= call->caller->role) {
        refuse(call, ERROR_DENIED, "this user's role is not below yours");
        return NULL;
    }
    return found;
}

/* ---- commands for everybody ---- */

static Run run_help;

static int run_users(Call *call)
{
    Host *host = call->host;
    bool all = call->caller->role >= ROLE_OPERATOR;
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *session = &host->sessions[i];
        if (session->state != SESSION_LIVE) {
            continue;
        }
        NetPrefix whole = net_prefix(session->identity.address, ADDRESS_BITS);
        char address[ADDRESS_TEXT_BYTES] = "";
        if (all && session->identity.addressed) {
            net_prefix_text(&whole, address);
        }
        say(call, "#%u \"%s\" %s %s%s%s", session->user, session->name, role_name(session->role),
            address, moderate_muted(session) ? " muted" : "",
            moderate_frozen(session) ? " frozen" : "");
    }
    say(call, "%u of %u places, %u waiting", host->stats.clients, host->options.clients_max,
        host->stats.waiting);
    return ERROR_OK;
}

static int run_votekick(Call *call)
{
    Session *target = user_named(call, call->words[1]);
    if (target == NULL) {
        return ERROR_NOT_FOUND;
    }
    if (call->caller->session == NULL) {
        return refuse(call, ERROR_DENIED, "the console kicks without a vote");
    }
    switch (moderate_vote(call->host, call->caller->session, target)) {
    case ERROR_OK:
        return ERROR_OK;
    case ERROR_STATE:
        return refuse(call, ERROR_STATE, "your vote is counted");
    case ERROR_LIMIT:
        return refuse(call, ERROR_LIMIT, "the next vote may begin in a minute");
    default:
        return refuse(call, ERROR_DENIED,
                      "you cannot vote about operators, yourself or a second user");
    }
}

/* ---- commands for operators ---- */

static int run_kick(Call *call)
{
    Session *target = victim_named(call, call->words[1]);
    if (target == NULL) {
        return ERROR_NOT_FOUND;
    }
    say(call, "removed \"%s\"", target->name);
    moderate_remove(call->host, target, KICK_S, call->caller->name, rest_from(call, 2));
    return ERROR_OK;
}

/* The target of a ban: a user's identity, or the address as written. False: none, and the caller
 * was told why. */
static bool target_of(Call *call, BanTarget *target)
{
    if (ban_target_parse(call->words[1], target)) {
        return true;
    }
    Session *user = victim_named(call, call->words[1]);
    if (user != NULL && !moderate_target_of(call->host, user, target)) {
        refuse(call, ERROR_UNSUPPORTED, "this user has neither a token nor an address");
        return false;
    }
    return user != NULL;
}

static int add(Call *call, BanKind kind, u64 seconds)
{
    Ban ban = {.kind = kind};
    char text[TARGET_TEXT_BYTES];
    u32 reason = 2;
    if (!target_of(call, &ban.target)) {
        return ERROR_NOT_FOUND;
    }
    if (time_parse(call->words[2], &seconds)) {
        reason = 3;
    }
    if (call->caller->role < ROLE_ADMIN && (seconds == 0 || seconds > OPERATOR_BAN_S_MAX)) {
        return refuse(call, ERROR_DENIED, "operators ban for 7d at most");
    }
    ban.until_unix_s = seconds != 0 ? clock_unix_s() + seconds : 0;
    snprintf(ban.by, sizeof ban.by, "%s", call->caller->name);
    snprintf(ban.reason, sizeof ban.reason, "%.90s", rest_from(call, reason));
    Role role = call->caller->session != NULL ? call->caller->role : ROLE_COUNT;
    int result = moderate_ban(call->host, &ban, role);
    if (result == ERROR_DENIED) {
        return refuse(call, ERROR_DENIED,
                      "that is this machine, also behind a relay: kick, or use tokens");
    }
    if (result != 0) {
        return refuse(call, (Error)result, "the list is full");
    }
    say(call, "%s %s", ban_kind_name(kind), ban_target_text(&ban.target, text));
    return ERROR_OK;
}

static int take_off(Call *call, BanKind kind)
{
    BanTarget target;
    if (!target_of(call, &target)) {
        return ERROR_NOT_FOUND;
    }
    if (!moderate_unban(call->host, kind, &target)) {
        return refuse(call, ERROR_NOT_FOUND, "not in the list: see bans");
    }
    say(call, "done");
    return ERROR_OK;
}

static int run_ban(Call *call)
{
    return add(call, BAN_JOIN, BAN_S);
}

static int run_unban(Call *call)
{
    return take_off(call, BAN_JOIN);
}

/* Nothing else distinguishes this user from the other users of this machine. */
static bool is_anybody(const Call *call, const Session *user)
{
    return moderate_is_local(call->host, user) && user->identity.token == 0 &&
           !user->identity.keyed;
}

/* Mutes and freezes of a user without an identity besides this machine: they last as long as the
 * session. */
static int hold_back(Call *call, BanKind kind)
{
    Session *user = NULL;
    BanTarget target;
    u64 seconds = MUTE_S;
    if (!ban_target_parse(call->words[1], &target)) {
        user = victim_named(call, call->words[1]);
        if (user == NULL) {
            return ERROR_NOT_FOUND;
        }
        if (is_anybody(call, user)) {
            (void)time_parse(call->words[2], &seconds);
            moderate_hold_back(call->host, user, kind, seconds);
            say(call, "%s \"%s\"", ban_kind_name(kind), user->name);
            return ERROR_OK;
        }
    }
    return add(call, kind, seconds);
}

static int let_free(Call *call, BanKind kind)
{
    BanTarget target;
    if (!ban_target_parse(call->words[1], &target)) {
        Session *user = victim_named(call, call->words[1]);
        if (user == NULL) {
            return ERROR_NOT_FOUND;
        }
        if (is_anybody(call, user)) {
            moderate_hold_back(call->host, user, kind, UINT64_MAX);
            say(call, "done");
            return ERROR_OK;
        }
    }
    return take_off(call, kind);
}

static int run_mute(Call *call)
{
    return hold_back(call, BAN_CHAT);
}

static int run_unmute(Call *call)
{
    return let_free(call, BAN_CHAT);
}

static int run_freeze(Call *call)
{
    return hold_back(call, BAN_HANDS);
}

static int run_unfreeze(Call *call)
{
    return let_free(call, BAN_HANDS);
}

static int run_bans(Call *call)
{
    const BanList *list = &call->host->bans;
    u64 now = clock_unix_s();
    for (u32 i = 0; i < u32_min(list->count, LISTED_MAX); i++) {
        const Ban *ban = &list->items[i];
        char target[TARGET_TEXT_BYTES], end[32] = "forever";
        if (ban->until_unix_s != 0) {
            u64 left = ban->until_unix_s > now ? ban->until_unix_s - now : 0;
            snprintf(end, sizeof end, "%" PRIu64 " s", left);
        }
        say(call, "%s %s %s by %s: %s", ban_kind_name(ban->kind),
            ban_target_text(&ban->target, target), end, ban->by, ban->reason);
    }
    say(call, "%u in the list", list->count);
    return ERROR_OK;
}

static int run_clear(Call *call)
{
    u32 user = (u32)strtoul(call->words[1][0] == '#' ? call->words[1] + 1 : "0", NULL, 10);
    if (user == 0 || session_of_user(call->host, user) != NULL) {
        Session *target = user_named(call, call->words[1]);
        user = target != NULL ? target->user : 0;
    }
    if (user == 0) {
        return ERROR_NOT_FOUND;
    }
    say(call, "removed %u objects that user #%u spawned", spawns_clear(call->host, user), user);
    return ERROR_OK;
}

static int run_say(Call *call)
{
    Message message = {.kind = MESSAGE_NOTICE};
    snprintf(message.notice.text, sizeof message.notice.text, "%.200s", rest_from(call, 1));
    sessions_message(call->host, CHANNEL_CONTROL, &message, NULL);
    return ERROR_OK;
}

static int run_back(Call *call)
{
    char *end;
    f64 seconds = strtod(call->words[1], &end);
    if (end == call->words[1] || *end != '\0') {
        return refuse(call, ERROR_USAGE, "back SECONDS");
    }
    Host *host = call->host;
    int result = host->common.source->ops->control(host->common.source, 0, CONTROL_BACK, seconds);
    if (result == ERROR_RANGE) {
        say(call, "refused: the world can be rewound by at most %.0f s",
            (f64)host->common.status.status.back_s);
        return result;
    }
    if (result != ERROR_OK) {
        return refuse(call, (Error)result, "this is not a running world");
    }
    world_taken_back(host, call->caller->name, seconds);
    return ERROR_OK;
}

static int begin_save(Call *call, SaveKind kind)
{
    const AdminCaller *caller = call->caller;
    Saving saving = {.kind = kind,
                     .role = caller->role,
                     .user = caller->session != NULL ? caller->session->user : 0};
    ErrorText error = {0};
    const char *name = rest_from(call, 1);
    if (strlen(name) >= sizeof saving.name) {
        return refuse(call, ERROR_RANGE, "the name is too long");
    }
    snprintf(saving.name, sizeof saving.name, "%s", name);
    snprintf(saving.by, sizeof saving.by, "%.40s", caller->name);
    int result = saves_begin(call->host, &saving, &error);
    if (result != ERROR_OK) {
        return refuse(call, (Error)result, error.text);
    }
    say(call, "%s \"%s\"", kind == SAVE_WRITE ? "saving as" : "loading", saving.name);
    return ERROR_OK;
}

static int run_save(Call *call)
{
    return begin_save(call, SAVE_WRITE);
}

static int run_load(Call *call)
{
    return begin_save(call, SAVE_LOAD);
}

static int run_unsave(Call *call)
{
    ErrorText error = {0};
    int result = saves_remove(call->host, rest_from(call, 1), &error);
    if (result != ERROR_OK) {
        return refuse(call, (Error)result, error.text);
    }
    say(call, "removed");
    return ERROR_OK;
}

static int run_saves(Call *call)
{
    SaveInfo saves[SAVES_MAX];
    u32 count = saves_list(call->host, saves);
    u64 now = clock_unix_s();
    for (u32 i = 0; i < count; i++) {
        u64 age_s = now > saves[i].unix_s ? now - saves[i].unix_s : 0;
        say(call, "\"%s\" %.1f kB, %" PRIu64 " s ago, %s%s", saves[i].name,
            (f64)saves[i].bytes * 1e-3, age_s,
            saves[i].scene[0] != '\0' ? "of " : "of a scene unknown", saves[i].scene);
    }
    say(call, "%u of %d saved", count, SAVES_MAX);
    return ERROR_OK;
}

static int run_role(Call *call)
{
    Session *target = victim_named(call, call->words[1]);
    u32 role = 0;
    while (role < ROLE_COUNT && strcmp(call->words[2], role_name((Role)role)) != 0) {
        role++;
    }
    if (target == NULL || role == ROLE_COUNT) {
        return target == NULL ? ERROR_NOT_FOUND
                              : refuse(call, ERROR_RANGE, "viewer, participant, operator or admin");
    }
    if (call->caller->session != NULL && role > (u32)call->caller->role) {
        return refuse(call, ERROR_DENIED, "you cannot grant a role above your own");
    }
    target->role = target->permissions.role = (Role)role;
    call->host->roster_dirty = true;
    if (target->role < ROLE_PARTICIPANT) {
        session_let_go(call->host, target);
    }
    saves_send(call->host, target);
    say(call, "\"%s\" is %s", target->name, role_name((Role)role));
    return ERROR_OK;
}

/* ---- the table ---- */

static const struct {
    const char *name;
    Role role;
    bool logged; /* changes something */
    Run *run;
    const char *help;
} commands[] = {
    {"help", ROLE_VIEWER, false, run_help, "this list"},
    {"users", ROLE_VIEWER, false, run_users, "users of this world"},
    {"votekick", ROLE_PARTICIPANT, true, run_votekick, "WHO: vote to remove a user"},
    {"kick", ROLE_OPERATOR, true, run_kick, "WHO [REASON]: remove for a minute"},
    {"ban", ROLE_OPERATOR, true, run_ban, "WHO|ADDRESS[/BITS]|token:ID|key:HEX [TIME] [REASON]"},
    {"unban", ROLE_OPERATOR, true, run_unban, "ADDRESS[/BITS]|token:ID|key:HEX"},
    {"mute", ROLE_OPERATOR, true, run_mute, "WHO [TIME] [REASON]: no chat"},
    {"unmute", ROLE_OPERATOR, true, run_unmute, "WHO"},
    {"freeze", ROLE_OPERATOR, true, run_freeze, "WHO [TIME] [REASON]: no grabs, pushes or spawns"},
    {"unfreeze", ROLE_OPERATOR, true, run_unfreeze, "WHO"},
    {"clear", ROLE_OPERATOR, true, run_clear, "WHO|#ID: remove everything that a user spawned"},
    {"say", ROLE_OPERATOR, true, run_say, "TEXT: message to all"},
    {"back", ROLE_OPERATOR, true, run_back, "SECONDS: rewind the world"},
    {"save", ROLE_OPERATOR, true, run_save, "NAME: save the world as it is now"},
    {"load", ROLE_OPERATOR, true, run_load, "NAME: replace the running world by a saved one"},
    {"unsave", ROLE_OPERATOR, true, run_unsave, "NAME: remove a saved world"},
    {"saves", ROLE_OPERATOR, false, run_saves, "saved worlds"},
    {"bans", ROLE_OPERATOR, false, run_bans, "bans, mutes, freezes"},
    {"role", ROLE_ADMIN, true, run_role, "WHO ROLE"},
};

static int run_help(Call *call)
{
    for (u32 i = 0; i < PL_COUNT(commands); i++) {
        if (call->caller->role >= commands[i].role) {
            say(call, "%s %s", commands[i].name, commands[i].help);
        }
    }
    say(call, "WHO is #ID or a name, in quotes if it has blanks; TIME is 90s, 10m, 2h, 3d, "
              "forever");
    return ERROR_OK;
}

static void log_command(Host *host, const AdminCaller *caller, const char *what, const char *detail,
                        int result)
{
    AuditLine line = {.name = caller->name,
                      .role = role_name(caller->role),
                      .user = caller->session != NULL ? caller->session->user : 0,
                      .identity = caller->session != NULL ? &caller->session->identity : NULL,
                      .what = what,
                      .detail = detail,
                      .result = result,
                      .crowd = caller->role < ROLE_OPERATOR};
    audit_write(&host->audit, &line, clock_unix_ms(), host->now_ms);
}

int admin_run(Host *host, const AdminCaller *caller, const char *line)
{
    Call call = {.host = host, .caller = caller};
    split(&call, line);
    for (u32 i = 0; i < PL_COUNT(commands); i++) {
        if (strcmp(call.words[0], commands[i].name) != 0) {
            continue;
        }
        /* Copies: the command may end the caller's session. */
        char detail[TEXT_BYTES_MAX];
        snprintf(detail, sizeof detail, "%.250s", line);
        int result = caller->role < commands[i].role
                         ? refuse(&call, ERROR_DENIED, "your role does not allow that")
                         : commands[i].run(&call);
        if (commands[i].logged) {
            log_command(host, caller, commands[i].name, detail, result);
        }
        return result;
    }
    return refuse(&call, ERROR_NOT_FOUND, "no such command: see help");
}
