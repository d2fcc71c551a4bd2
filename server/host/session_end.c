/* session_end.c: how sessions end: their things and limits, and what may be resumed. */
#include "protocol/record/recording.h"
#include "server/host/session.h"
#include "server/host/trace.h"
#include "shared/base/check.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <string.h>

static void former_keep(Host *host, const Session *session)
{
    Former *former = &host->formers[host->former_next++ % FORMERS_MAX];
    former->resume = session->resume;
    former->until_ms = host->now_ms + RESUME_MS_MAX;
    former->token_id = session->has_token ? session->token_id : 0;
    former->user = session->user;
    former->color = session->color;
    former->account = session->account;
    memcpy(former->held_unix_s, session->held_unix_s, sizeof former->held_unix_s);
}

static void user_left(Host *host, const Session *session)
{
    session_audit(host, session, "leave", NULL, NULL, 0);
    chronicle_note(host, session, RECORDING_NOTE_LEAVE, "");
    host->roster_dirty = true;
}

/* ---- users of a relay ---- */

void guest_end(Host *host, Session *guest)
{
    CHECK(guest->guest_of != 0 &&
          (guest->guest_of <= host->peer_capacity || guest->guest_of > host->session_capacity));
    if (guest->state == SESSION_LIVE) {
        if (guest->permissions.holds) {
            release_later(host, guest->user, guest->input_newest + 1);
        }
        spawns_left(host, guest->user);
        user_left(host, guest);
    }
    guest->state = SESSION_FREE;
    guest->guest_of = 0;
}

void guests_end(Host *host, const Session *relay)
{
    for (u32 i = host->peer_capacity; relay->speaks && i < host->session_capacity; i++) {
        if (host->sessions[i].guest_of == relay->peer + 1) {
            guest_end(host, &host->sessions[i]);
        }
    }
}

/* ---- sessions ---- */

static void place_leave(Host *host, Session *session)
{
    if (session->state == SESSION_LIVE) {
        account_keep(host->accounts, session->account, &session->permissions);
    }
    CHECK(!session->waits || host->stats.waiting > 0);
    host->stats.waiting -= session->waits;
    session->waits = false;
    if (session->entered) {
        admit_leave(host->admit, session->identity.address, host->now_ms);
        session->entered = false;
    }
}

/* Releases the grabs of a user who left. */
void session_end(Host *host, Session *session)
{
    if (session->state == SESSION_LIVE) {
        if (session->permissions.holds) {
            release_later(host, session->user, session->input_newest + 1);
        }
        former_keep(host, session);
        spawns_left(host, session->user);
        user_left(host, session);
        host->stats.clients--;
        guests_end(host, session);
    }
    if (session->debug_mask != 0) {
        session->debug_mask = 0;
        debug_subscription_update(host);
    }
    place_leave(host, session);
    own_time_end(host, session);
    session_sender_end(session);
    transfer_end(session);
    session->welcomed = false;
}

void session_close(Host *host, Session *session, u32 reason, const char *text)
{
    if (session->state == SESSION_FREE || session->state == SESSION_CLOSING) {
        return;
    }
    if (session->guest_of != 0) { /* removed: it keeps its slot until its relay knows */
        u32 relay = session->guest_of;
        guest_end(host, session);
        session->state = host->draining ? SESSION_FREE : SESSION_CLOSING;
        session->guest_of = relay;
        return;
    }
    Message message = {.kind = MESSAGE_GOODBYE};
    message.goodbye.reason = reason;
    if (session->state == SESSION_HELLO || reason == REFUSE_FLOOD || reason == REFUSE_PROTOCOL ||
        reason == REFUSE_KICKED || reason == REFUSE_BANNED || reason == REFUSE_TOKEN) {
        message.kind = MESSAGE_REFUSE;
        message.refuse.reason = reason;
        snprintf(message.refuse.text, sizeof message.refuse.text, "%s", text);
    }
    session_message(host, session, CHANNEL_CONTROL, &message);
    host->link->ops->disconnect(host->link, session->peer, reason);
    log_info("%s%s%s: %s%s%s", session->state == SESSION_LIVE ? "user \"" : "peer", session->name,
             session->state == SESSION_LIVE ? "\"" : "", refuse_reason_text(reason),
             text[0] != '\0' ? ": " : "", text);
    if (reason < REFUSE_COUNT) {
        bool live = session->state == SESSION_LIVE;
        (live ? host->measures.ended : host->measures.refused)[reason]++;
        TRACE_PROBE2(leave, session->user, reason);
    }
    host->stats.refused += session->state == SESSION_HELLO;
    host->stats.flooded += reason == REFUSE_FLOOD;
    session_end(host, session);
    session->state = SESSION_CLOSING;
}

void session_gone(Host *host, u32 peer, u32 reason)
{
    if (peer >= host->peer_capacity || host->sessions[peer].state == SESSION_FREE) {
        return;
    }
    Session *session = &host->sessions[peer];
    if (session->state == SESSION_LIVE) {
        host->stats.timed_out += reason == REFUSE_NONE;
        host->measures.ended[reason < REFUSE_COUNT ? reason : REFUSE_LEFT]++;
        TRACE_PROBE2(leave, session->user, reason);
        log_info("user \"%s\" %s", session->name,
                 reason == REFUSE_NONE ? "lost the connection" : "left");
    }
    session_end(host, session);
    session->state = SESSION_FREE;
}
