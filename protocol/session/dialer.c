/* dialer.c: see dialer.h. */
#include "protocol/session/dialer.h"

#include "protocol/session/message.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    /* A client without a connection by then gives up. */
    CONNECT_MS_MAX = 20000,
    /* An attacker on the path can answer first: the right server gets this much time. */
    DISTRUST_MS = 1500,
    /* Longer than a server waits for opening peers (HALF_OPEN_MS_MAX); it answers a connected one
     * twice a second. */
    FORGOTTEN_MS = 4000,
};

void dialer_restart(Dialer *dialer)
{
    u64 nonce;
    handshake_client_wipe(&dialer->handshake);
    seal_random(&nonce, sizeof nonce);
    probe_client_init(&dialer->probe, nonce);
    handshake_client_init(&dialer->handshake, nonce);
}

void dialer_init(Dialer *dialer, const ProbeAddress *remotes, u32 count, const LinkTrust *trust)
{
    CHECK(count > 0 && count <= ENDPOINTS_MAX);
    memset(dialer, 0, sizeof *dialer);
    memcpy(dialer->remotes, remotes, count * sizeof *remotes);
    dialer->remote_count = count;
    if (trust != NULL) {
        dialer->trust = *trust;
    }
    dialer_restart(dialer);
}

bool dialer_asks(const Dialer *dialer, ProbeAddress from)
{
    for (u32 i = 0; i < dialer->remote_count; i++) {
        if (probe_address_same(from, dialer->remotes[i])) {
            return true;
        }
    }
    return false;
}

void dialer_receive(Dialer *dialer, Tunnel *tunnel, ProbeAddress from, const u8 *data, u32 bytes,
                    u64 now_ms)
{
    Handshake handshake;
    if (probe_client_receive(&dialer->probe, data, bytes, now_ms)) {
        dialer->remotes[0] = from;
        dialer->remote_count = 1;
        return;
    }
    if (tunnel->state != TUNNEL_FREE) {
        return;
    }
    if (handshake_finish(&dialer->handshake, data, bytes, &handshake) == ERROR_OK) {
        const LinkTrust *trust = &dialer->trust;
        if (trust->accept == NULL || trust->accept(trust->context, handshake.server)) {
            tunnel_begin(tunnel, &handshake, from, now_ms);
        } else if (dialer->distrusted_ms == 0) {
            dialer->distrusted_ms = now_ms;
        }
    }
    handshake_wipe(&handshake);
}

bool dialer_ask(Dialer *dialer, u64 now_ms, u8 out[PROBE_BYTES])
{
    if (!probe_client_due(&dialer->probe, now_ms)) {
        return false;
    }
    if (dialer->probe.cookie == 0) {
        probe_client_write(&dialer->probe, out);
    } else {
        handshake_open(&dialer->handshake, dialer->probe.cookie, out);
    }
    return true;
}

bool dialer_gives_up(Dialer *dialer, bool open, u64 now_ms, u32 *reason)
{
    if (dialer->give_up_ms == 0) {
        dialer->give_up_ms = now_ms + CONNECT_MS_MAX;
    }
    bool distrusted = !open && dialer->distrusted_ms != 0;
    *reason = distrusted ? REFUSE_IDENTITY : REFUSE_NONE;
    return now_ms >= dialer->give_up_ms ||
           (distrusted && now_ms > dialer->distrusted_ms + DISTRUST_MS);
}

bool dialer_forgotten(const Dialer *dialer, const Tunnel *tunnel, u64 now_ms)
{
    return tunnel->state != TUNNEL_FREE && !dialer->notified &&
           now_ms > tunnel->heard_ms + FORGOTTEN_MS;
}
