/*
 * session_token.c: tokens of sessions: proof of the key that a token is bound to, single use, and
 * the end of the session when its token expires or is revoked.
 */
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <string.h>

enum {
    TOKENS_CHECK_MS = 1000
};

bool session_prove(Host *host, Session *session, const MessageHello *hello)
{
    u8 binding[BINDING_BYTES];
    if (!hello->proves) {
        return true;
    }
    Link *link = host->link;
    bool good = link->ops->binding != NULL && link->ops->binding(link, session->peer, binding) &&
                identity_verify(hello->client, MESSAGE_PROOF_PURPOSE, binding, sizeof binding,
                                hello->proof);
    seal_wipe(binding, sizeof binding);
    if (!good) {
        session_close(host, session, REFUSE_PROTOCOL, "the signature of the client's key is wrong");
        return false;
    }
    session->proven = true;
    memcpy(session->client_key, hello->client, sizeof session->client_key);
    PL_STATIC_ASSERT((int)CLIENT_KEY_BYTES == (int)IDENTITY_PUBLIC_BYTES, "one kind of key");
    memcpy(session->identity.key, hello->client, sizeof session->identity.key);
    session->identity.keyed = true;
    return true;
}

/* Another session with this token, not counting one that this client may resume. */
static Session *session_with_token(Host *host, const Session *self, u64 token_id, u64 resume)
{
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *other = &host->sessions[i];
        bool in = other->state == SESSION_LIVE || other->state == SESSION_WAITING;
        if (other != self && in && other->has_token && other->token_id == token_id &&
            (resume == 0 || other->resume != resume)) {
            return other;
        }
    }
    return NULL;
}

/* True if this secret is that of a session with this token, lost or about to be. */
static bool may_resume(const Host *host, u64 token_id, u64 resume)
{
    for (u32 i = 0; resume != 0 && i < host->session_capacity; i++) {
        const Session *other = &host->sessions[i];
        if (other->state == SESSION_LIVE && other->has_token && other->token_id == token_id &&
            other->resume == resume) {
            return true;
        }
    }
    for (u32 i = 0; resume != 0 && i < FORMERS_MAX; i++) {
        const Former *former = &host->formers[i];
        if (former->resume == resume && former->until_ms > host->now_ms &&
            former->token_id == token_id) {
            return true;
        }
    }
    return false;
}

/* Whether a valid token may be used now; if not, with a text. */
static const char *token_hindrance(Host *host, Session *session, const Token *token, u64 resume)
{
    if (token_ledger_revoked(&host->ledger, token->id)) {
        return "the token was revoked";
    }
    bool resumes = may_resume(host, token->id, resume);
    Session *other = session_with_token(host, session, token->id, resume);
    if (other != NULL && !token->for_client) {
        return "the token is in use by another connection; one that was lost ends within 15 s";
    }
    if (other != NULL) { /* the key says that it is the same user */
        resumes = true;
        session_close(host, other, REFUSE_LEFT, "joined again on another connection");
    }
    session->token_spends = token->once && !resumes;
    return session->token_spends && token_ledger_used(&host->ledger, token->id)
               ? "the token was good for one session"
               : NULL;
}

bool session_token_take(Host *host, Session *session, MessageHello *hello)
{
    Token token;
    ErrorText error = {0};
    TokenCheck check = {.key = host->options.token_key,
                        .identity = host->options.identity,
                        .client = session->proven ? session->client_key : NULL,
                        .now_unix_s = clock_unix_s()};
    const char *hindrance = NULL;
    if (token_verify(hello->token, hello->token_bytes, &check, &token, &error) != 0) {
        hindrance = error.text;
    } else {
        hindrance = token_hindrance(host, session, &token, hello->resume);
    }
    if (hindrance != NULL) {
        session_close(host, session, REFUSE_TOKEN, hindrance);
        return false;
    }
    session->role = token.role;
    session->has_token = true;
    session->speaks = token.relay;
    session->identity.token = token.id;
    session->token_id = token.id;
    session->token_expiry_unix_s = token.expiry_unix_s;
    if (token.name[0] != '\0') {
        memcpy(hello->name, token.name, sizeof hello->name);
    }
    log_info("token %016llx%s%s: %s", (unsigned long long)token.id,
             token.account[0] != '\0' ? " of account " : "", token.account, role_name(token.role));
    return true;
}

bool session_token_use(Host *host, Session *session)
{
    if (!session->token_spends ||
        token_ledger_use(&host->ledger, session->token_id, session->token_expiry_unix_s)) {
        return true;
    }
    session_close(host, session, REFUSE_TOKEN, "the server cannot note the use of this token now");
    return false;
}

void sessions_token_check(Host *host)
{
    ErrorText error = {0};
    if (!host->options.tokens || host->now_ms < host->tokens_ms) {
        return;
    }
    host->tokens_ms = host->now_ms + TOKENS_CHECK_MS;
    if (token_ledger_refresh(&host->ledger, &error) < 0) {
        log_error("%s; the list of before stays", error.text);
    }
    u64 now_unix_s = clock_unix_s();
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        bool in = session->state == SESSION_LIVE || session->state == SESSION_WAITING;
        if (!in || !session->has_token) {
            continue;
        }
        if (now_unix_s >= session->token_expiry_unix_s) {
            session_close(host, session, REFUSE_TOKEN, "the token has expired");
        } else if (token_ledger_revoked(&host->ledger, session->token_id)) {
            session_close(host, session, REFUSE_TOKEN, "the token was revoked");
        }
    }
}
