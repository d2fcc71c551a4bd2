/* session_send.c: single payloads to one client. */
#include "server/host/session.h"

#include "shared/base/check.h"

#include <stdlib.h>

bool scratch_reserve(Host *host, u32 bytes)
{
    if (bytes > host->scratch_bytes) {
        u8 *grown = realloc(host->scratch, bytes);
        if (grown == NULL) {
            return false;
        }
        host->scratch = grown;
        host->scratch_bytes = bytes;
    }
    return true;
}

int session_send(Host *host, Session *session, u32 channel, const void *data, u32 bytes)
{
    if (!session->welcomed) {
        return ERROR_STATE;
    }
    CHECK(channel < CHANNEL_COUNT &&
          (session->state == SESSION_LIVE || session->state == SESSION_WAITING));
    host->stats.bytes_out += bytes;
    if (channel != CHANNEL_STATE && channel != CHANNEL_BLOCKS) {
        budget_other(&session->budget, bytes);
    }
    return host->link->ops->send(host->link, session->peer, channel, data, bytes);
}

int session_send_any(Host *host, Session *session, u32 channel, const void *data, u32 bytes)
{
    if (session->guest_of != 0) {
        return ERROR_STATE; /* it has no peer */
    }
    return session->welcomed
               ? session_send(host, session, channel, data, bytes)
               : host->link->ops->send(host->link, session->peer, channel, data, bytes);
}

int session_send_message(Host *host, Session *session, u32 channel, const Message *message)
{
    u32 bytes = 0;
    u8 *cleartext = message_encode(message, &bytes);
    int result = cleartext != NULL ? session_send_any(host, session, channel, cleartext, bytes)
                                   : ERROR_LIMIT;
    message_free(cleartext);
    return result;
}
