/*
 * session_user.c: the users of sessions: identities, names and colours, joining, the audit log.
 */
#include "protocol/record/recording.h"
#include "server/host/session.h"
#include "server/host/trace.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <string.h>

static bool is_of_user(const Session *session, u32 user)
{
    return session->user == user && session->state == SESSION_LIVE;
}

Session *session_of_user(Host *host, u32 user)
{
    u32 index = host->by_user[user % USER_SLOTS];
    if (user == 0 || (index > 0 && is_of_user(&host->sessions[index - 1], user))) {
        return user != 0 ? &host->sessions[index - 1] : NULL;
    }
    /* Not connected, or another session has the same index modulo. */
    for (u32 i = 0; i < host->session_capacity; i++) {
        if (is_of_user(&host->sessions[i], user)) {
            return &host->sessions[i];
        }
    }
    return NULL;
}

void session_user_info(const Session *session, UserInfo *out)
{
    memset(out, 0, sizeof *out);
    out->id = session->user;
    out->role = session->role;
    memcpy(out->name, session->name, sizeof out->name);
}

/* ---- the audit log ---- */

void session_audit(Host *host, const Session *session, const char *what, const char *target,
                   const char *detail, int result)
{
    AuditLine line = {.name = session->name,
                      .role = role_name(session->role),
                      .user = session->user,
                      .identity = &session->identity,
                      .what = what,
                      .target = target,
                      .detail = detail,
                      .result = result,
                      .crowd = session->role < ROLE_OPERATOR};
    audit_write(&host->audit, &line, clock_unix_ms(), host->now_ms);
}

/* ---- names ---- */

static bool skeleton_taken(const Host *host, const Session *self, u64 skeleton)
{
    for (u32 i = 0; i < host->session_capacity; i++) {
        const Session *other = &host->sessions[i];
        if (other != self && other->state == SESSION_LIVE && other->skeleton == skeleton) {
            return true;
        }
    }
    return false;
}

/* Names are shown to all users, so they are cleaned, and no two look alike. */
static void name_choose(const Host *host, Session *session, const char *wanted)
{
    char base[NAME_CLEAN_BYTES];
    name_clean(host->names, wanted, base);
    snprintf(session->name, sizeof session->name, "%s", base);
    session->skeleton = name_skeleton(host->names, session->name);
    for (u32 i = 2; skeleton_taken(host, session, session->skeleton); i++) {
        snprintf(session->name, sizeof session->name, "%s %u", base, i);
        session->skeleton = name_skeleton(host->names, session->name);
    }
}

u32 session_color(u32 user)
{
    static const u32 colors[] = {0xE6550D, 0x3182BD, 0x31A354, 0x9E3FB5, 0xD4A017, 0x17A2A2,
                                 0xD6336C, 0x6B8E23, 0x5C6BC0, 0xB5651D, 0x2CA9E1, 0x8D6E63};
    return colors[user % PL_COUNT(colors)];
}

/* ---- joining ---- */

void session_live(Host *host, Session *session)
{
    session->state = SESSION_LIVE;
    name_choose(host, session, session->wanted);
    host->by_user[session->user % USER_SLOTS] = session->peer + 1;
    host->stats.clients++;
    host->stats.joined++;
    TRACE_PROBE2(join, session->user, (int)session->role);
    host->roster_dirty = true;
    log_info("user \"%s\" joined as %s", session->name, role_name(session->role));
    session_audit(host, session, "join", NULL, NULL, 0);
    chronicle_note(host, session, RECORDING_NOTE_JOIN, "");
}

void session_guest_begin(Host *host, Session *guest, const Session *relay, const UserInfo *info,
                         Role role)
{
    memset(guest, 0, sizeof *guest);
    guest->state = SESSION_LIVE;
    guest->peer = (u32)(guest - host->sessions);
    guest->guest_of = relay->peer + 1;
    guest->guest_id = info->id;
    guest->user = ++host->next_user;
    guest->color = session_color(guest->user);
    guest->role = role;
    guest->account = relay->account;
    guest->view.forward = vec3(0.0f, 0.0f, -1.0f);
    permissions_init(&guest->permissions, role, host->now_ms);
    token_bucket_init(&guest->refusals, 20.0, 40.0, host->now_ms);
    name_choose(host, guest, info->name);
    host->by_user[guest->user % USER_SLOTS] = guest->peer + 1;
    host->roster_dirty = true;
    log_info("user \"%s\" joined through \"%s\" as %s", guest->name, relay->name, role_name(role));
    session_audit(host, guest, "join", relay->name, NULL, 0);
    chronicle_note(host, guest, RECORDING_NOTE_JOIN, "");
}
