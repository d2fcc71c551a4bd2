/* chronicle.c: notes of sessions in recordings (joins, chat, bookmarks), and the survey of a
 * recording for the timelines of clients. */
#include "protocol/record/recording.h"
#include "server/host/session.h"
#include "shared/base/log.h"

#include <stdio.h>

static int note_put(Host *host, const Session *session, u64 tick, u32 kind, const char *text,
                    ErrorText *error)
{
    if (host->common.source->ops->note == NULL) {
        return error_set(error, ERROR_UNSUPPORTED, "notes are not supported");
    }
    RecordingNote note = {.tick = tick, .kind = kind, .user = session->user};
    snprintf(note.name, sizeof note.name, "%s", session->name);
    snprintf(note.text, sizeof note.text, "%s", text);
    return host->common.source->ops->note(host->common.source, &note, error);
}

void chronicle_note(Host *host, const Session *session, u32 kind, const char *text)
{
    const Stream *common = &host->common;
    if (!common->status.status
             .replay) { /* the actions of viewers of a recording are not part of it */
        (void)note_put(host, session, 0, kind, text, NULL);
    }
}

/* 0 is now; for a user in own time, the tick shown there. */
static u64 tick_named(const Session *session, u64 tick)
{
    return tick == 0 && session->own != NULL ? (u64)stream_recorded_tick(session->own) : tick;
}

void chronicle_bookmark(Host *host, Session *session, u64 tick, const char *text)
{
    ErrorText error = {0};
    if (session->role < ROLE_PARTICIPANT) {
        session_notice(host, session, "viewers cannot set bookmarks");
    } else if (authorize_chat(&session->permissions, host->now_ms) != 0) {
        session_notice(host, session, "too many bookmarks: wait a moment");
    } else if (note_put(host, session, tick_named(session, tick), RECORDING_NOTE_BOOKMARK, text,
                        &error) != 0) {
        session_notice(host, session, error.text);
    } else {
        log_info("user \"%s\": bookmark \"%s\"", session->name, text);
        chronicle_check(host);
    }
}

void chronicle_send(Host *host, Session *session)
{
    Message message = {.kind = MESSAGE_SURVEY};
    if (host->common.source->ops->survey != NULL &&
        host->common.source->ops->survey(host->common.source, &message.survey) != 0) {
        (void)session_message(host, session, CHANNEL_BULK, &message);
    }
}

void chronicle_check(Host *host)
{
    Message message = {.kind = MESSAGE_SURVEY};
    if (host->common.source->ops->survey == NULL) {
        return;
    }
    u32 version = host->common.source->ops->survey(host->common.source, &message.survey);
    if (version != host->survey_version) {
        host->survey_version = version;
        sessions_message(host, CHANNEL_BULK, &message, NULL);
    }
}
