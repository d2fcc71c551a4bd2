/* known_hosts.c: see known_hosts.h. */
#include "protocol/session/known_hosts.h"

#include "protocol/session/endpoint.h"
#include "shared/base/file.h"
#include "shared/base/log.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int known_hosts_init(KnownHosts *known, const char *where, const char *path, ErrorText *error)
{
    const char *mark = strchr(where, '#');
    size_t length = mark != NULL ? (size_t)(mark - where) : strlen(where);
    memset(known, 0, sizeof *known);
    if (length + 8 >= sizeof known->host) {
        return error_set(error, ERROR_USAGE, "\"%s\" is too long for HOST[:PORT]", where);
    }
    memcpy(known->address, where, length);
    for (size_t i = 0; i < length; i++) {
        known->host[i] = isspace((u8)where[i]) ? '_' : (char)tolower((u8)where[i]);
    }
    if (!endpoint_has_port(known->host)) {
        snprintf(known->host + length, sizeof known->host - length, ":%d", LINK_PORT_DEFAULT);
    }
    if (path != NULL) {
        snprintf(known->path, sizeof known->path, "%s", path);
    }
    if (mark != NULL) {
        known->pinned = identity_from_text(mark + 1, known->key);
        if (!known->pinned) {
            return error_set(error, ERROR_USAGE,
                             "\"%s\": after # expected the server's key, 64 hexadecimal digits",
                             where);
        }
    }
    return ERROR_OK;
}

bool known_hosts_pin(KnownHosts *known, const u8 key[IDENTITY_PUBLIC_BYTES])
{
    if (known->pinned) {
        return memcmp(known->key, key, sizeof known->key) == 0;
    }
    memcpy(known->key, key, sizeof known->key);
    known->pinned = true;
    return true;
}

/* Number of the line with this host, and its key; 0: none. */
static u32 line_find(const KnownHosts *known, u8 key[IDENTITY_PUBLIC_BYTES])
{
    ErrorText error = {0};
    size_t bytes, name = strlen(known->host);
    char *text = known->path[0] != '\0'
                     ? file_read(known->path, KNOWN_HOSTS_BYTES_MAX, &bytes, &error)
                     : NULL;
    if (text == NULL) {
        if (known->path[0] != '\0' && error.code != ERROR_NOT_FOUND) {
            log_warn("%s", error.text);
        }
        return 0;
    }
    u32 number = 0, found = 0;
    for (char *line = text, *end; found == 0 && *line != '\0'; line = end) {
        end = strchr(line, '\n');
        end = end != NULL ? end : line + strlen(line);
        bool last = *end == '\0';
        *end = '\0';
        number++;
        if (strncmp(line, known->host, name) == 0 && line[name] == ' ' &&
            identity_from_text(line + name + 1, key)) {
            found = number;
        }
        end += last ? 0 : 1;
    }
    free(text);
    return found;
}

static bool line_add(const KnownHosts *known, const char *key_text)
{
    char line[HOST_TEXT_BYTES + IDENTITY_TEXT_BYTES + 2];
    int length = snprintf(line, sizeof line, "%s %s\n", known->host, key_text);
    int fd = known->path[0] != '\0'
                 ? open(known->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)
                 : -1;
    if (fd < 0) {
        return false;
    }
    bool written = write(fd, line, (size_t)length) == length;
    return close(fd) == 0 && written;
}

bool known_hosts_accept(void *context, const u8 key[IDENTITY_PUBLIC_BYTES])
{
    KnownHosts *known = context;
    char now[IDENTITY_TEXT_BYTES], before[IDENTITY_TEXT_BYTES];
    u8 kept[IDENTITY_PUBLIC_BYTES];
    identity_to_text(key, now);
    if (known->pinned) {
        bool same = memcmp(known->key, key, sizeof known->key) == 0;
        if (!same && !known->warned) {
            known->warned = true;
            identity_to_text(known->key, before);
            log_error("%s: unexpected server: its key is %s, not %s", known->host, now, before);
        }
        return same;
    }
    u32 line = line_find(known, kept);
    if (line > 0 && memcmp(kept, key, sizeof kept) != 0) {
        if (known->warned) {
            return false;
        }
        known->warned = true;
        identity_to_text(kept, before);
        log_error("%s: THE SERVER'S KEY HAS CHANGED. It was %s and is %s. Someone may be "
                  "intercepting the connection, or the server was reinstalled. If its operator "
                  "confirms the new key, delete line %u of %s",
                  known->host, before, now, line, known->path);
        return false;
    }
    if (line == 0) {
        bool kept_now = line_add(known, now);
        log_warn("%s: first visit: nothing tells that this is the right server; its key is %s%s%s",
                 known->host, now, kept_now ? ", remembered in " : " and cannot be remembered",
                 kept_now ? known->path : "");
    }
    return known_hosts_pin(known, key);
}
