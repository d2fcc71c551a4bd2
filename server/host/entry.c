/* entry.c: admission of clients: limits per address (admit.h), places, the queue for them. */
#include "server/host/session.h"
#include "shared/base/check.h"
#include "shared/base/log.h"

#include <stdio.h>

enum {
    QUEUE_NOTIFY_MS = 2000
};

void entry_open(Host *host, Session *session)
{
    LinkStats stats;
    session->identity.addressed = host->link->ops->stats(host->link, session->peer, &stats) &&
                                  net_address_parse(stats.address, &session->identity.address);
}

static bool is_listed(const Host *host, const Session *session)
{
    for (u32 i = 0; i < host->allowed_count; i++) {
        if (ban_target_matches(&host->allowed[i], &session->identity)) {
            return true;
        }
    }
    return host->allowed == NULL;
}

/* The account whose limits the session continues. */
static u64 account_of(const Host *host, const Session *session)
{
    BanTarget target;
    u64 user = 1ull << 63 | session->user;
    if (session->identity.token == 0 && moderate_is_local(host, session)) {
        return user;
    }
    return ban_target_of(&session->identity, &target)
               ? seal_hash(host->admit->key, &target, sizeof target) >> 1 | 1
               : user;
}

bool entry_allowed(Host *host, Session *session)
{
    const UserIdentity *identity = &session->identity;
    AdmitVerdict verdict =
        identity->addressed ? admit_try(host->admit, identity->address, host->now_ms) : ADMIT_YES;
    if (verdict != ADMIT_YES) {
        session_close(host, session, verdict == ADMIT_TOO_OFTEN ? REFUSE_FLOOD : REFUSE_FULL,
                      admit_text(verdict));
    }
    return verdict == ADMIT_YES;
}

static bool is_returning(const Host *host, u64 resume)
{
    for (u32 i = 0; resume != 0 && i < FORMERS_MAX; i++) {
        if (host->formers[i].resume == resume && host->formers[i].until_ms > host->now_ms) {
            return true;
        }
    }
    for (u32 i = 0; resume != 0 && i < host->session_capacity; i++) {
        if (host->sessions[i].state == SESSION_LIVE && host->sessions[i].resume == resume) {
            return true;
        }
    }
    return false;
}

static bool has_place(const Host *host, const Session *session)
{
    u32 kept = session->privileged ? 0 : host->options.reserved;
    return host->stats.clients + kept < host->options.clients_max;
}

/* Waiting clients go first, unless they may not have the place. */
static bool is_behind_queue(const Host *host, const Session *session)
{
    return host->stats.waiting > 0 && !session->privileged;
}

bool entry_place(Host *host, Session *session, u64 resume)
{
    char text[TEXT_BYTES_MAX];
    if (!moderate_admits(host, session)) {
        return false;
    }
    if (!is_listed(host, session)) {
        session_audit(host, session, "refused", NULL, "not in the allow list", ERROR_DENIED);
        session_close(host, session, REFUSE_BANNED, "this server is for listed users only");
        return false;
    }
    session->privileged = session->role >= ROLE_OPERATOR || is_returning(host, resume);
    if ((has_place(host, session) && !is_behind_queue(host, session)) ||
        host->stats.waiting < host->options.queue_max) {
        return true;
    }
    snprintf(text, sizeof text, "the server is full: %u of %u clients", host->stats.clients,
             host->options.clients_max);
    session_close(host, session, REFUSE_FULL, text);
    return false;
}

static void place_take(Host *host, Session *session)
{
    if (host->link->ops->proven != NULL) {
        host->link->ops->proven(host->link, session->peer);
    }
    session->ticket = ++host->next_ticket;
    if (has_place(host, session) && !is_behind_queue(host, session)) {
        session_live(host, session);
        return;
    }
    if (host->stats.waiting == host->options.queue_max) {
        session_close(host, session, REFUSE_FULL, "");
        return;
    }
    session->waits = true;
    host->stats.waiting++;
    session->queue_ms = host->now_ms;
    log_info("a client waits in the queue: %u waiting", host->stats.waiting);
}

void entry_enter(Host *host, Session *session)
{
    if (session->identity.addressed) {
        admit_enter(host->admit, session->identity.address, host->now_ms);
        session->entered = true;
    }
    session->account = account_of(host, session);
    account_restore(host->accounts, session->account, &session->permissions, host->now_ms);
    moderate_refresh(host, session);
    session->asked = host->options.password != NULL && !host->options.tokens;
    if (session->asked) {
        Message message = {.kind = MESSAGE_PASSWORD};
        session_message(host, session, CHANNEL_CONTROL, &message);
    } else {
        place_take(host, session);
    }
}

/* Compares all bytes, in constant time. */
static bool same_password(const char *a, const char *b)
{
    char padded[2][PASSWORD_BYTES_MAX] = {{0}};
    u8 differs = 0;
    snprintf(padded[0], sizeof padded[0], "%s", a);
    snprintf(padded[1], sizeof padded[1], "%s", b);
    for (u32 i = 0; i < PASSWORD_BYTES_MAX; i++) {
        differs |= (u8)(padded[0][i] ^ padded[1][i]);
    }
    return differs == 0;
}

bool entry_password(Host *host, Session *session, const char *password)
{
    if (!session->asked) {
        return false;
    }
    if (!same_password(host->options.password, password)) {
        session_audit(host, session, "refused", NULL, "password", ERROR_DENIED);
        session_close(host, session, REFUSE_PASSWORD, "");
        return true;
    }
    session->asked = false;
    place_take(host, session);
    return true;
}

bool entry_spawn_allowed(Host *host, const Session *session)
{
    u32 users = 0;
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *other = &host->sessions[i];
        users += other->state == SESSION_LIVE && other->account == session->account;
    }
    u64 most = (u64)host->scene->hands.spawn_max * users;
    return spawns_of_account(host, session->account) < most;
}

static Session *queue_first(Host *host)
{
    Session *first = NULL;
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->waits && has_place(host, session) &&
            (first == NULL || session->ticket < first->ticket)) {
            first = session;
        }
    }
    return first;
}

static u32 queue_position(const Host *host, const Session *session)
{
    u32 position = 1;
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *other = &host->sessions[i];
        position += other->waits && other->ticket < session->ticket;
    }
    return position;
}

void entry_queue(Host *host)
{
    if (host->stats.waiting == 0) {
        return;
    }
    Session *next;
    while (!host->memory_short && (next = queue_first(host)) != NULL) {
        host->stats.waiting--;
        next->waits = false;
        session_live(host, next);
    }
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->waits && host->now_ms >= session->queue_ms) {
            Message message = {.kind = MESSAGE_QUEUE};
            message.queue.position = queue_position(host, session);
            message.queue.waiting = host->stats.waiting;
            session->queue_ms = host->now_ms + QUEUE_NOTIFY_MS;
            session_message(host, session, CHANNEL_CONTROL, &message);
        }
    }
}
