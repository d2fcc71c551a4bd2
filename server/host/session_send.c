/* session_send.c: single payloads to one client, sealed. */
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

int session_send(Host *host, Session *session, u32 channel, const void *cleartext, u32 bytes)
{
    if (!session->seal.ready || !scratch_reserve(host, bytes + SEAL_OVERHEAD_BYTES)) {
        return ERROR_STATE;
    }
    CHECK(channel < CHANNEL_STREAMS &&
          (session->state == SESSION_LIVE || session->state == SESSION_WAITING));
    u32 sealed = seal_encrypt(&session->seal, channel, cleartext, bytes, host->scratch);
    host->stats.bytes_out += sealed;
    if (channel != CHANNEL_STATE && channel != CHANNEL_BLOCKS) {
        budget_other(&session->budget, sealed - SEAL_OVERHEAD_BYTES);
    }
    return host->link->ops->send(host->link, session->peer, channel, host->scratch, sealed);
}

int session_send_any(Host *host, Session *session, u32 channel, const void *cleartext, u32 bytes)
{
    return session->seal.ready
               ? session_send(host, session, channel, cleartext, bytes)
               : host->link->ops->send(host->link, session->peer, channel, cleartext, bytes);
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
