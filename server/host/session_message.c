/* session_message.c: messages to one client or to all, as transfers if they are large. */
#include "server/host/session.h"

#include "shared/base/log.h"

#include <stdio.h>

int session_message(Host *host, Session *session, u32 channel, const Message *message)
{
    u32 bytes = 0;
    u8 *cleartext = message_encode(message, &bytes);
    if (cleartext == NULL) {
        return ERROR_LIMIT;
    }
    int result = ERROR_LIMIT;
    if (transfer_fits(session, channel, bytes)) {
        BulkContent *content = bulk_content_create(cleartext, bytes);
        result = content != NULL ? transfer_send(host, session, content) : ERROR_MEMORY;
        bulk_content_release(content);
    }
    if (result != 0) {
        result = session_send_any(host, session, channel, cleartext, bytes);
    }
    message_free(cleartext);
    return result;
}

void sessions_message(Host *host, u32 channel, const Message *message, SessionFilter *wants)
{
    stream_message(host, NULL, channel, message, wants);
}

void stream_message(Host *host, const Stream *stream, u32 channel, const Message *message,
                    SessionFilter *wants)
{
    u32 bytes = 0;
    u8 *cleartext = message_encode(message, &bytes);
    if (cleartext == NULL) {
        log_error("a message of kind %s is too large: not sent", message_kind_name(message->kind));
        return;
    }
    BulkContent *content = NULL; /* packed once, if any client gets it as a transfer */
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        if (session->state != SESSION_LIVE || !session->world_sent ||
            (stream != NULL && stream_of(host, session) != stream) ||
            (wants != NULL && !wants(host, session, bytes))) {
            continue;
        }
        bool fits = transfer_fits(session, channel, bytes);
        if (fits && content == NULL) {
            content = bulk_content_create(cleartext, bytes);
        }
        /* The position on the reliable channel is the same in both cases. */
        if (!fits || content == NULL || transfer_send(host, session, content) != 0) {
            session_send(host, session, channel, cleartext, bytes);
        }
    }
    bulk_content_release(content);
    message_free(cleartext);
}

void session_notice(Host *host, Session *session, const char *text)
{
    session_answer(host, session, NOTICE_PLAIN, ERROR_OK, text);
}

void session_answer(Host *host, Session *session, NoticeKind kind, int code, const char *text)
{
    Message message = {.kind = MESSAGE_NOTICE};
    message.notice.kind = kind;
    message.notice.code = code;
    snprintf(message.notice.text, sizeof message.notice.text, "%s", text);
    session_message(host, session, CHANNEL_CONTROL, &message);
}

void session_refused(Host *host, Session *session, u32 sequence, int code)
{
    Event event = {
        .kind = EVENT_REFUSED, .user = session->user, .sequence = sequence, .code = code};
    Message message = {.kind = MESSAGE_EVENTS};
    host->stats.inputs_refused++;
    if (session->guest_of > host->session_capacity) {
        return; /* it follows through a broker, and has no inputs */
    }
    if (session->guest_of != 0) { /* its relay tells it */
        session = &host->sessions[session->guest_of - 1];
    }
    if (!session->world_sent || !token_bucket_take(&session->refusals, 1.0, host->now_ms)) {
        return;
    }
    const Frame *newest = stream_of(host, session)->history.newest;
    message.events.tick = newest != NULL ? newest->tick : 0;
    message.events.events = &event;
    message.events.count = 1;
    session_message(host, session, CHANNEL_BULK, &message);
}

void world_taken_back(Host *host, const char *by, f64 seconds)
{
    Message message = {.kind = MESSAGE_NOTICE};
    snprintf(message.notice.text, sizeof message.notice.text, "%.60s takes the world back by %g s",
             by, seconds);
    sessions_message(host, CHANNEL_CONTROL, &message, NULL);
}
