/* credentials.c: see credentials.h. */
#include "protocol/session/credentials.h"

#include "protocol/session/password.h"
#include "protocol/session/token.h"
#include "shared/base/file.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

static int token_read(Credentials *out, const char *path, ErrorText *error)
{
    size_t bytes;
    char *token = file_read(path, sizeof out->token, &bytes, error);
    if (token == NULL) {
        return error->code;
    }
    memcpy(out->token, token, bytes);
    out->token_bytes = (u32)bytes;
    free(token);
    return bytes > 0 ? ERROR_OK : error_set(error, ERROR_FORMAT, "%s: not a token: empty", path);
}

/* Reads the long-term key if requested, or if the token requires it. */
static int identity_read(Credentials *out, const CredentialFiles *files, ErrorText *error)
{
    Token token = {0};
    char path[4096];
    const char *file = files->identity;
    bool needed = out->token_bytes > 0 && token_peek(out->token, out->token_bytes, &token) &&
                  token.for_client;
    if (file == NULL && !needed) {
        return ERROR_OK;
    }
    if (file == NULL) {
        int result = file_state_path("client.key", path, sizeof path, error);
        if (result != ERROR_OK) {
            return result;
        }
        file = path;
    }
    int result = identity_load(file, &out->identity, error);
    out->proves = result == ERROR_OK;
    if (out->proves && needed &&
        memcmp(token.client, out->identity.public_key, sizeof token.client) != 0) {
        result = error_set(error, ERROR_DENIED,
                           "%s: the token belongs to another key than that in "
                           "%s",
                           files->token, file);
    }
    return result;
}

int credentials_read(Credentials *out, const CredentialFiles *files, ErrorText *error)
{
    memset(out, 0, sizeof *out);
    int result = files->token != NULL ? token_read(out, files->token, error) : ERROR_OK;
    if (result == ERROR_OK) {
        result = identity_read(out, files, error);
    }
    if (result == ERROR_OK && files->password != NULL) {
        result = password_read(files->password, out->password, error);
    }
    return result;
}

int credentials_expect(const Credentials *credentials, const CredentialFiles *files,
                       const char *where, KnownHosts *known, ErrorText *error)
{
    char path[KNOWN_HOSTS_PATH_BYTES];
    ErrorText why = {0};
    Token token;
    bool kept = file_state_path("known_hosts", path, sizeof path, &why) == ERROR_OK;
    if (!kept) {
        log_warn("%s", why.text);
    }
    int result = known_hosts_init(known, where, kept ? path : NULL, error);
    if (result == ERROR_OK && credentials->token_bytes > 0 &&
        token_peek(credentials->token, credentials->token_bytes, &token) && token.for_server &&
        !known_hosts_pin(known, token.server)) {
        result =
            error_set(error, ERROR_USAGE, "%s: the token is for another server than the key in %s",
                      files->token, where);
    }
    return result;
}

void credentials_wipe(Credentials *credentials)
{
    identity_finish(&credentials->identity);
    seal_wipe(credentials, sizeof *credentials);
}

void credentials_prove(const Identity *identity, Link *link, u32 peer, MessageHello *hello)
{
    u8 binding[BINDING_BYTES];
    hello->proves =
        identity != NULL && link->ops->binding != NULL && link->ops->binding(link, peer, binding);
    if (hello->proves) {
        memcpy(hello->client, identity->public_key, sizeof hello->client);
        identity_sign(identity, MESSAGE_PROOF_PURPOSE, binding, sizeof binding, hello->proof);
        seal_wipe(binding, sizeof binding);
    }
}

Link *credentials_dial(void *context, ErrorText *error)
{
    KnownHosts *known = context;
    LinkTrust trust = {known_hosts_accept, known};
    return link_enet_connect(known->address, &trust, error);
}
