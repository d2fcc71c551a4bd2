/* audit.c: lines of the audit log. */
#include "server/host/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINE_BYTES = 4096
};

static const f64 lines_s = 50.0, lines_burst = 500.0;

int audit_reopen(Audit *audit, ErrorText *error)
{
    struct stat status;
    if (audit->path == NULL) {
        return ERROR_OK;
    }
    int fd =
        open(audit->path,
             O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        int result = error_set(error, ERROR_IO, "%s: cannot append: %s", audit->path,
                               fd < 0 ? strerror(errno) : "not a file");
        if (fd >= 0) {
            close(fd);
        }
        return result;
    }
    audit_close(audit);
    audit->fd = fd;
    return ERROR_OK;
}

int audit_open(Audit *audit, const char *path, bool json, u64 now_ms, ErrorText *error)
{
    *audit = (Audit){.path = path, .json = json, .fd = -1};
    token_bucket_init(&audit->rates[0], lines_s, lines_burst, now_ms);
    token_bucket_init(&audit->rates[1], lines_s, lines_burst, now_ms);
    return audit_reopen(audit, error);
}

void audit_close(Audit *audit)
{
    if (audit->path != NULL && audit->fd >= 0) {
        close(audit->fd);
        audit->fd = -1;
    }
}

/* ---- text ---- */

/* The code point at *text, which is advanced; bytes that are not UTF-8 become U+FFFD. */
static u32 code_point(const char **text)
{
    const u8 *at = (const u8 *)*text;
    u32 more = at[0] >= 0xF0 ? 3 : at[0] >= 0xE0 ? 2 : at[0] >= 0xC0 ? 1 : 0;
    u32 code = more == 0 ? at[0] : at[0] & (0x3Fu >> more);
    for (u32 i = 1; i <= more; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            more = 0;
            code = 0xFFFD;
            break;
        }
        code = code << 6 | (at[i] & 0x3F);
    }
    if ((more == 0 && at[0] >= 0x80) || code > 0x10FFFF) {
        code = 0xFFFD;
    }
    *text += more + 1;
    return code;
}

const char *audit_quote(const char *text, char out[AUDIT_ESCAPED_BYTES])
{
    size_t used = 0;
    out[used++] = '"';
    /* The longest is a pair of surrogates: 12 bytes, and the end. */
    while (*text != '\0' && used + 14 < AUDIT_ESCAPED_BYTES) {
        u32 code = code_point(&text);
        if (code == '"' || code == '\\') {
            out[used++] = '\\';
            out[used++] = (char)code;
        } else if (code >= 0x20 && code < 0x7F) {
            out[used++] = (char)code;
        } else if (code < 0x10000) {
            used += (size_t)snprintf(out + used, 7, "\\u%04x", code);
        } else {
            u32 rest = code - 0x10000;
            used += (size_t)snprintf(out + used, 13, "\\u%04x\\u%04x", 0xD800 + (rest >> 10),
                                     0xDC00 + (rest & 0x3FF));
        }
    }
    out[used++] = '"';
    out[used] = '\0';
    return out;
}

typedef struct Text {
    char bytes[LINE_BYTES];
    size_t used;
    bool json;
} Text;

/* `quoted` is written as it is. */
static void member(Text *text, const char *name, const char *quoted)
{
    if (text->used >= sizeof text->bytes) {
        return;
    }
    const char *format = text->json ? ",\"%s\":%s" : " %s=%s";
    int wrote =
        snprintf(text->bytes + text->used, sizeof text->bytes - text->used, format, name, quoted);
    text->used += wrote > 0 ? (size_t)wrote : 0;
}

static void member_text(Text *text, const char *name, const char *value)
{
    char quoted[AUDIT_ESCAPED_BYTES];
    if (value != NULL) {
        member(text, name, audit_quote(value, quoted));
    }
}

static void member_number(Text *text, const char *name, u64 value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    member(text, name, digits);
}

static void time_begin(Text *text, u64 unix_ms)
{
    time_t seconds = (time_t)(unix_ms / 1000);
    struct tm utc = {0};
    char date[32];
    gmtime_r(&seconds, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    text->used = (size_t)snprintf(text->bytes, sizeof text->bytes,
                                  text->json ? "{\"time\":\"%s.%03uZ\"" : "%s.%03uZ", date,
                                  (u32)(unix_ms % 1000));
}

static void identity_write(Text *text, const UserIdentity *identity)
{
    BanTarget target = {.kind = TARGET_KEY};
    char value[TARGET_TEXT_BYTES];
    if (identity->addressed) {
        NetPrefix whole = net_prefix(identity->address, ADDRESS_BITS);
        member_text(text, "address", net_prefix_text(&whole, value));
    }
    if (identity->keyed) {
        memcpy(target.key, identity->key, sizeof target.key);
        member_text(text, "key", ban_target_text(&target, value) + 4);
    }
    if (identity->token != 0) {
        member_number(text, "token", identity->token);
    }
}

void audit_write(Audit *audit, const AuditLine *line, u64 unix_ms, u64 now_ms)
{
    if (audit->path == NULL || audit->fd < 0) {
        return;
    }
    if (!token_bucket_take(&audit->rates[line->crowd], 1.0, now_ms)) {
        audit->skipped++;
        return;
    }
    Text text = {.json = audit->json};
    time_begin(&text, unix_ms);
    member_text(&text, "what", line->what);
    member_number(&text, "user", line->user);
    member_text(&text, "name", line->name);
    member_text(&text, "role", line->role);
    if (line->identity != NULL) {
        identity_write(&text, line->identity);
    }
    member_text(&text, "target", line->target);
    member_text(&text, "detail", line->detail);
    member_text(&text, "result", line->result == 0 ? "ok" : error_name((Error)line->result));
    if (audit->skipped > 0) {
        member_number(&text, "skipped", audit->skipped);
    }
    size_t used = text.used < sizeof text.bytes - 2 ? text.used : sizeof text.bytes - 3;
    if (audit->json) {
        text.bytes[used++] = '}';
    }
    text.bytes[used++] = '\n';
    ssize_t wrote = write(audit->fd, text.bytes, used);
    audit->failing = wrote != (ssize_t)used;
    if (audit->failing) {
        audit->failures++;
        audit->skipped++;
    } else {
        audit->skipped = 0;
    }
}
