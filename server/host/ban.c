/* ban.c: lists of bans and their file. */
#include "server/host/ban.h"

#include "shared/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kind_names[BAN_KIND_COUNT] = {"ban", "mute", "freeze"};

const char *ban_kind_name(BanKind kind)
{
    return kind_names[kind];
}

/* ---- targets ---- */

static bool key_parse(const char *text, u8 key[CLIENT_KEY_BYTES])
{
    for (u32 i = 0; i < CLIENT_KEY_BYTES; i++) {
        unsigned int byte;
        if (strspn(text, "0123456789abcdefABCDEF") < 2 || sscanf(text, "%2x", &byte) != 1) {
            return false;
        }
        key[i] = (u8)byte;
        text += 2;
    }
    return *text == '\0';
}

bool ban_target_parse(const char *text, BanTarget *target)
{
    memset(target, 0, sizeof *target);
    if (strncmp(text, "token:", 6) == 0) {
        char *end;
        target->kind = TARGET_TOKEN;
        errno = 0;
        target->token = strtoull(text + 6, &end, 10);
        return text[6] >= '0' && text[6] <= '9' && *end == '\0' && errno == 0 && target->token != 0;
    }
    if (strncmp(text, "key:", 4) == 0) {
        target->kind = TARGET_KEY;
        return key_parse(text + 4, target->key);
    }
    target->kind = TARGET_PREFIX;
    return net_prefix_parse(text, &target->prefix);
}

const char *ban_target_text(const BanTarget *target, char text[TARGET_TEXT_BYTES])
{
    char address[ADDRESS_TEXT_BYTES];
    switch (target->kind) {
    case TARGET_TOKEN:
        snprintf(text, TARGET_TEXT_BYTES, "token:%" PRIu64, target->token);
        break;
    case TARGET_KEY:
        snprintf(text, TARGET_TEXT_BYTES, "key:");
        for (u32 i = 0; i < CLIENT_KEY_BYTES; i++) {
            snprintf(text + 4 + 2 * i, 3, "%02x", target->key[i]);
        }
        break;
    default:
        snprintf(text, TARGET_TEXT_BYTES, "%s", net_prefix_text(&target->prefix, address));
        break;
    }
    return text;
}

bool ban_target_of(const UserIdentity *identity, BanTarget *target)
{
    memset(target, 0, sizeof *target);
    if (identity->token != 0) {
        target->kind = TARGET_TOKEN;
        target->token = identity->token;
        return true;
    }
    target->kind = TARGET_PREFIX;
    target->prefix = net_host_prefix(identity->address);
    return identity->addressed;
}

bool ban_target_matches(const BanTarget *target, const UserIdentity *identity)
{
    switch (target->kind) {
    case TARGET_TOKEN:
        return identity->token == target->token;
    case TARGET_KEY:
        return identity->keyed && memcmp(identity->key, target->key, sizeof target->key) == 0;
    default:
        return identity->addressed && net_prefix_contains(&target->prefix, identity->address);
    }
}

static bool same_target(const BanTarget *a, const BanTarget *b)
{
    return a->kind == b->kind && a->token == b->token &&
           memcmp(a->key, b->key, sizeof a->key) == 0 && net_prefix_same(&a->prefix, &b->prefix);
}

/* ---- the list ---- */

static bool has_ended(const Ban *ban, u64 now_unix_s)
{
    return ban->until_unix_s != 0 && ban->until_unix_s <= now_unix_s;
}

static void forget_ended(BanList *list, u64 now_unix_s)
{
    u32 kept = 0;
    for (u32 i = 0; i < list->count; i++) {
        if (!has_ended(&list->items[i], now_unix_s)) {
            list->items[kept++] = list->items[i];
        }
    }
    list->count = kept;
}

static Ban *same_ban(BanList *list, BanKind kind, const BanTarget *target)
{
    for (u32 i = 0; i < list->count; i++) {
        if (list->items[i].kind == kind && same_target(&list->items[i].target, target)) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* A text that fits into one field of the file. */
static void field_clean(char *text)
{
    for (; *text != '\0'; text++) {
        if ((u8)*text < 0x20 || *text == 0x7F) {
            *text = ' ';
        }
    }
}

int ban_list_add(BanList *list, const Ban *ban, u64 now_unix_s)
{
    forget_ended(list, now_unix_s);
    Ban *place = same_ban(list, ban->kind, &ban->target);
    if (place == NULL) {
        if (list->count == BANS_MAX) {
            return ERROR_LIMIT;
        }
        if (list->count == list->capacity) {
            u32 capacity = u32_max(2 * list->capacity, 16);
            Ban *grown = realloc(list->items, capacity * sizeof *grown);
            if (grown == NULL) {
                return ERROR_MEMORY;
            }
            list->items = grown;
            list->capacity = capacity;
        }
        place = &list->items[list->count++];
    }
    *place = *ban;
    field_clean(place->by);
    field_clean(place->reason);
    return ERROR_OK;
}

bool ban_list_remove(BanList *list, BanKind kind, const BanTarget *target)
{
    Ban *found = same_ban(list, kind, target);
    if (found != NULL) {
        *found = list->items[--list->count];
    }
    return found != NULL;
}

static bool ends_later(const Ban *a, const Ban *b)
{
    return b == NULL ||
           (b->until_unix_s != 0 && (a->until_unix_s == 0 || a->until_unix_s > b->until_unix_s));
}

const Ban *ban_list_find(const BanList *list, BanKind kind, const UserIdentity *identity,
                         u64 now_unix_s)
{
    const Ban *found = NULL;
    for (u32 i = 0; i < list->count; i++) {
        const Ban *ban = &list->items[i];
        if (ban->kind == kind && !has_ended(ban, now_unix_s) &&
            ban_target_matches(&ban->target, identity) && ends_later(ban, found)) {
            found = ban;
        }
    }
    return found;
}

void ban_list_finish(BanList *list)
{
    free(list->items);
    memset(list, 0, sizeof *list);
}

/* ---- the file ---- */

/* Cuts the next field off; NULL: none is left. */
static char *field_next(char **line)
{
    return *line != NULL ? strsep(line, "\t") : NULL;
}

static bool line_parse(char *line, Ban *ban)
{
    const char *kind = field_next(&line), *target = field_next(&line), *until = field_next(&line);
    const char *by = field_next(&line), *reason = field_next(&line);
    char *end;
    memset(ban, 0, sizeof *ban);
    if (until == NULL || !ban_target_parse(target, &ban->target)) {
        return false;
    }
    ban->kind = BAN_KIND_COUNT;
    for (u32 i = 0; i < BAN_KIND_COUNT; i++) {
        ban->kind = strcmp(kind, kind_names[i]) == 0 ? (BanKind)i : ban->kind;
    }
    ban->until_unix_s = strtoull(until, &end, 10);
    snprintf(ban->by, sizeof ban->by, "%s", by != NULL ? by : "");
    snprintf(ban->reason, sizeof ban->reason, "%s", reason != NULL ? reason : "");
    return ban->kind != BAN_KIND_COUNT && until[0] >= '0' && until[0] <= '9' && *end == '\0';
}

int ban_list_load(BanList *list, const char *path, u64 now_unix_s, ErrorText *error)
{
    BanList read = {.path = path};
    ErrorText why = {0};
    size_t bytes;
    char *text = file_read(path, BAN_FILE_BYTES_MAX, &bytes, &why);
    if (text == NULL && why.code != ERROR_NOT_FOUND) {
        return error_set(error, why.code, "%s", why.text);
    }
    char *rest = text, *line;
    int result = ERROR_OK;
    for (u32 number = 1; result == 0 && rest != NULL && (line = strsep(&rest, "\n")) != NULL;
         number++) {
        Ban ban;
        if (line[0] == '\0' || line[0] == '#') {
            continue;
        }
        if (!line_parse(line, &ban)) {
            result = error_set(error, ERROR_FORMAT,
                               "%s: line %u: expected ban, mute or freeze, a target, an end and "
                               "texts, separated by tabs",
                               path, number);
        } else if (!has_ended(&ban, now_unix_s) &&
                   (result = ban_list_add(&read, &ban, now_unix_s)) != 0) {
            error_set(error, (Error)result, "%s: more than %d bans", path, BANS_MAX);
        }
    }
    free(text);
    if (result != 0) {
        ban_list_finish(&read);
        return result;
    }
    ban_list_finish(list);
    *list = read;
    return ERROR_OK;
}

static void items_write(const BanList *list, FILE *file)
{
    for (u32 i = 0; i < list->count; i++) {
        const Ban *ban = &list->items[i];
        char target[TARGET_TEXT_BYTES];
        fprintf(file, "%s\t%s\t%" PRIu64 "\t%s\t%s\n", kind_names[ban->kind],
                ban_target_text(&ban->target, target), ban->until_unix_s, ban->by, ban->reason);
    }
}

int ban_list_save(const BanList *list, ErrorText *error)
{
    char *text = NULL;
    size_t bytes = 0;
    if (list->path == NULL) {
        return ERROR_OK;
    }
    FILE *file = open_memstream(&text, &bytes);
    if (file != NULL) {
        items_write(list, file);
    }
    if (file == NULL || fclose(file) != 0) {
        free(text);
        return error_set(error, ERROR_MEMORY, "%s: out of memory", list->path);
    }
    const FilePart whole = {text, bytes};
    int result = file_replace(list->path, &whole, 1, 0600, error);
    free(text);
    return result;
}

BanTarget *ban_targets_read(const char *path, u32 *count, ErrorText *error)
{
    size_t bytes;
    char *text = file_read(path, BAN_FILE_BYTES_MAX, &bytes, error);
    BanTarget *targets = text != NULL ? calloc(BANS_MAX, sizeof *targets) : NULL;
    char *rest = text, *line;
    *count = 0;
    if (text != NULL && targets == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    for (u32 number = 1; targets != NULL && (line = strsep(&rest, "\n")) != NULL; number++) {
        line[strcspn(line, " \t\r")] = '\0';
        if (line[0] == '\0' || line[0] == '#') {
            continue;
        }
        if (*count == BANS_MAX || !ban_target_parse(line, &targets[*count])) {
            error_set(error, ERROR_FORMAT,
                      "%s: line %u: expected an address, a prefix, token:ID or key:HEX, at most %d "
                      "of them",
                      path, number, BANS_MAX);
            free(targets);
            targets = NULL;
        } else {
            ++*count;
        }
    }
    free(text);
    return targets;
}
