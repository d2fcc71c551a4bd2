/* moderate.c: kicks, bans, votes. */
#include "server/host/moderate.h"

#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bans ---- */

static bool is_exempt(const Host *host, const UserIdentity *identity)
{
    return !host->options.limits.local && net_address_is_local(identity->address);
}

/* The remaining duration, and the reason. */
static void ban_text(const Ban *ban, u64 now_unix_s, char *text, size_t bytes)
{
    u64 left_s = ban->until_unix_s > now_unix_s ? ban->until_unix_s - now_unix_s : 0;
    const char *unit = left_s >= 7200 ? "hours" : left_s >= 120 ? "minutes" : "seconds";
    u64 count = left_s >= 7200 ? left_s / 3600 : left_s >= 120 ? left_s / 60 : left_s;
    char when[48] = "";
    if (ban->until_unix_s != 0) {
        snprintf(when, sizeof when, "for another %llu %s", (unsigned long long)count, unit);
    }
    snprintf(text, bytes, "%s%s%s", when, when[0] != '\0' && ban->reason[0] != '\0' ? ": " : "",
             ban->reason);
}

bool moderate_admits(Host *host, Session *session)
{
    u64 now_unix_s = clock_unix_s();
    const Ban *ban = ban_list_find(&host->bans, BAN_JOIN, &session->identity, now_unix_s);
    if (ban == NULL) {
        return true;
    }
    char text[TEXT_BYTES_MAX];
    ban_text(ban, now_unix_s, text, sizeof text);
    session_audit(host, session, "refused", NULL, "banned", ERROR_DENIED);
    session_close(host, session, REFUSE_BANNED, text);
    return false;
}

static u64 end_of(const Host *host, BanKind kind, const UserIdentity *identity)
{
    const Ban *ban = ban_list_find(&host->bans, kind, identity, clock_unix_s());
    return ban == NULL ? 0 : ban->until_unix_s != 0 ? ban->until_unix_s : UINT64_MAX;
}

void moderate_refresh(Host *host, Session *session)
{
    session->muted_unix_s =
        u64_max(end_of(host, BAN_CHAT, &session->identity), session->held_unix_s[BAN_CHAT]);
    session->frozen_unix_s =
        u64_max(end_of(host, BAN_HANDS, &session->identity), session->held_unix_s[BAN_HANDS]);
    if (session->frozen_unix_s > clock_unix_s()) {
        session_let_go(host, session);
    }
}

bool moderate_muted(const Session *session)
{
    return session->muted_unix_s > clock_unix_s();
}

bool moderate_frozen(const Session *session)
{
    return session->frozen_unix_s > clock_unix_s();
}

bool moderate_is_local(const Host *host, const Session *session)
{
    return !session->identity.addressed || is_exempt(host, &session->identity);
}

bool moderate_target_of(const Host *host, const Session *session, BanTarget *target)
{
    if (session->identity.token == 0 && session->identity.keyed &&
        moderate_is_local(host, session)) {
        *target = (BanTarget){.kind = TARGET_KEY};
        memcpy(target->key, session->identity.key, sizeof target->key);
        return true;
    }
    return ban_target_of(&session->identity, target);
}

void moderate_hold_back(Host *host, Session *session, BanKind kind, u64 seconds)
{
    session->held_unix_s[kind] = seconds == UINT64_MAX ? 0
                                 : seconds == 0        ? UINT64_MAX
                                                       : clock_unix_s() + seconds;
    moderate_refresh(host, session);
}

void moderate_save(Host *host)
{
    ErrorText error = {0};
    bool was = host->health.bans_failing;
    host->health.bans_failing = ban_list_save(&host->bans, &error) != 0;
    host->stats.write_failures += host->health.bans_failing;
    if (host->health.bans_failing && !was) {
        log_error("%s", error.text);
    } else if (was && !host->health.bans_failing) {
        log_info("the list of bans can be written again");
    }
}

static bool covers_local(const Host *host, const BanTarget *target)
{
    static const char *const locals[] = {"127.0.0.1", "::1"};
    for (u32 i = 0; i < PL_COUNT(locals) && target->kind == TARGET_PREFIX; i++) {
        UserIdentity identity = {.addressed = true};
        if (net_address_parse(locals[i], &identity.address) && is_exempt(host, &identity) &&
            ban_target_matches(target, &identity)) {
            return true;
        }
    }
    return target->kind == TARGET_PREFIX && net_address_is_local(target->prefix.address) &&
           !host->options.limits.local;
}

int moderate_ban(Host *host, const Ban *ban, Role role)
{
    if (ban->kind == BAN_JOIN && covers_local(host, &ban->target)) {
        return ERROR_DENIED;
    }
    int result = ban_list_add(&host->bans, ban, clock_unix_s());
    if (result != 0) {
        return result;
    }
    moderate_save(host);
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        bool here = session->state == SESSION_LIVE || session->state == SESSION_WAITING;
        if (!here || !ban_target_matches(&ban->target, &session->identity)) {
            continue;
        }
        if (ban->kind == BAN_JOIN && session->role < role) {
            moderate_kick(host, session, REFUSE_BANNED, ban->reason);
        } else if (ban->kind != BAN_JOIN) {
            moderate_refresh(host, session);
        }
    }
    return ERROR_OK;
}

bool moderate_unban(Host *host, BanKind kind, const BanTarget *target)
{
    if (!ban_list_remove(&host->bans, kind, target)) {
        return false;
    }
    moderate_save(host);
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE && ban_target_matches(target, &session->identity)) {
            moderate_refresh(host, session);
        }
    }
    return true;
}

void moderate_kick(Host *host, Session *session, u32 reason, const char *text)
{
    u32 user = session->user;
    session_close(host, session, reason, text);
    /* It no longer counts as a returning user. */
    for (u32 i = 0; i < FORMERS_MAX; i++) {
        if (host->formers[i].user == user) {
            host->formers[i].resume = 0;
        }
    }
}

/* Kicks, and bans for this time unless that would affect every user of this machine. */
void moderate_remove(Host *host, Session *session, u64 seconds, const char *by, const char *reason)
{
    Ban ban = {.kind = BAN_JOIN, .until_unix_s = clock_unix_s() + seconds};
    snprintf(ban.by, sizeof ban.by, "%s", by);
    snprintf(ban.reason, sizeof ban.reason, "%s", reason);
    bool known = moderate_target_of(host, session, &ban.target);
    moderate_kick(host, session, REFUSE_KICKED, reason);
    if (known && !covers_local(host, &ban.target) &&
        ban_list_add(&host->bans, &ban, clock_unix_s()) == 0) {
        moderate_save(host);
    }
}

/* ---- the files ---- */

void moderate_reload(Host *host)
{
    const HostOptions *options = &host->options;
    ErrorText error = {0};
    u32 count;
    if (options->bans != NULL &&
        ban_list_load(&host->bans, options->bans, clock_unix_s(), &error) != 0) {
        log_error("SIGHUP: %s", error.text);
    }
    BanTarget *allowed =
        options->allow != NULL ? ban_targets_read(options->allow, &count, &error) : NULL;
    if (allowed != NULL) {
        free(host->allowed);
        host->allowed = allowed;
        host->allowed_count = count;
    } else if (options->allow != NULL) {
        log_error("SIGHUP: %s", error.text);
    }
    if (audit_reopen(&host->audit, &error) != 0) {
        log_error("SIGHUP: %s", error.text);
    }
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        bool here = session->state == SESSION_LIVE || session->state == SESSION_WAITING;
        if (here && moderate_admits(host, session) && session->state == SESSION_LIVE) {
            moderate_refresh(host, session);
        }
    }
    log_info("SIGHUP: %u bans, %u listed users", host->bans.count, host->allowed_count);
}

/* ---- votes ---- */

static bool may_vote(const Session *session)
{
    return session->state == SESSION_LIVE && session->role >= ROLE_PARTICIPANT;
}

/* Accounts that may vote about a user: users behind one address have one vote. */
static u32 electorate(const Host *host, u32 user)
{
    u32 count = 0;
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *session = &host->sessions[i];
        bool first = may_vote(session) && session->user != user;
        for (u32 j = 0; first && j < i; j++) {
            const Session *other = &host->sessions[j];
            first = !may_vote(other) || other->user == user || other->account != session->account;
        }
        count += first;
    }
    return count;
}

static void notify_all(Host *host, const char *text)
{
    Message message = {.kind = MESSAGE_NOTICE};
    snprintf(message.notice.text, sizeof message.notice.text, "%s", text);
    sessions_message(host, CHANNEL_CONTROL, &message, NULL);
}

static u32 votes_needed(const Host *host)
{
    return u32_max(electorate(host, host->vote.user) / 2 + 1, VOTES_MIN);
}

int moderate_vote(Host *host, Session *voter, Session *target)
{
    Vote *vote = &host->vote;
    char text[TEXT_BYTES_MAX];
    if (target->role >= ROLE_OPERATOR || !may_vote(voter) || target == voter ||
        (vote->user != 0 && vote->user != target->user)) {
        return ERROR_DENIED;
    }
    if (vote->user == 0 && host->now_ms < vote->next_ms) {
        return ERROR_LIMIT;
    }
    for (u32 i = 0; vote->user != 0 && i < vote->count; i++) {
        if (vote->voters[i] == voter->account) {
            return ERROR_STATE;
        }
    }
    if (vote->user == 0) {
        *vote = (Vote){.user = target->user, .end_ms = host->now_ms + VOTE_MS};
    }
    if (vote->count == VOTERS_MAX) {
        return ERROR_LIMIT;
    }
    vote->voters[vote->count++] = voter->account;
    u32 needed = votes_needed(host);
    if (vote->count >= needed) {
        snprintf(text, sizeof text, "\"%s\" was voted out", target->name);
        session_audit(host, target, "voted-out", NULL, NULL, ERROR_OK);
        moderate_remove(host, target, VOTE_BAN_S, "vote", "by vote of the users");
        *vote = (Vote){.next_ms = host->now_ms + VOTE_GAP_MS};
    } else {
        snprintf(text, sizeof text, "\"%s\" asks to remove \"%s\": /votekick #%u agrees; %u of %u",
                 voter->name, target->name, target->user, vote->count, needed);
    }
    notify_all(host, text);
    return ERROR_OK;
}

void moderate_run(Host *host)
{
    Vote *vote = &host->vote;
    if (vote->user != 0 &&
        (host->now_ms >= vote->end_ms || session_of_user(host, vote->user) == NULL)) {
        *vote = (Vote){.next_ms = host->now_ms + VOTE_GAP_MS};
        notify_all(host, "the vote is over: nobody was removed");
    }
}
