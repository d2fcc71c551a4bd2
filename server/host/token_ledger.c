/* token_ledger.c: sorted lists, read from lines. */
#include "server/host/token_ledger.h"

#include "shared/base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    ID_DIGITS = 16
};

/* ---- lists ---- */

/* Index of the first id that is not less. */
static u32 list_place(const LedgerList *list, u64 id)
{
    u32 low = 0, high = list->count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (list->ids[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool list_has(const LedgerList *list, u64 id)
{
    u32 place = list_place(list, id);
    return place < list->count && list->ids[place] == id;
}

static bool list_reserve(LedgerList *list)
{
    if (list->count == list->capacity) {
        u32 capacity = u32_max(64, 2 * list->capacity);
        u64 *ids = realloc(list->ids, capacity * sizeof *ids);
        if (ids == NULL) {
            return false;
        }
        list->ids = ids;
        list->capacity = capacity;
    }
    return true;
}

static int id_order(const void *a, const void *b)
{
    u64 x = *(const u64 *)a, y = *(const u64 *)b;
    return (x > y) - (x < y);
}

/* ---- files ---- */

/* One line: its id, and the number behind it or UINT64_MAX. False: malformed. */
static bool line_parse(const char *line, u64 *id, u64 *number)
{
    char digits[ID_DIGITS + 1], *end;
    for (u32 i = 0; i < ID_DIGITS; i++) {
        if (!isxdigit((u8)line[i])) {
            return false;
        }
        digits[i] = line[i];
    }
    digits[ID_DIGITS] = '\0';
    *id = strtoull(digits, NULL, 16);
    *number = UINT64_MAX;
    line += ID_DIGITS;
    line += strspn(line, " \t\r");
    if (*line == '\0' || *line == '#') {
        return true;
    }
    errno = 0;
    *number = strtoull(line, &end, 10);
    end += strspn(end, " \t\r");
    return isdigit((u8)*line) && errno == 0 && (*end == '\0' || *end == '#');
}

static int lines_parse(LedgerList *list, const char *path, char *text, u64 now_unix_s,
                       ErrorText *error)
{
    u32 number = 1;
    for (char *line = text, *next; line != NULL; line = next, number++) {
        u64 id, expiry;
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        line += strspn(line, " \t\r");
        if (*line == '\0' || *line == '#') {
            continue;
        }
        if (!line_parse(line, &id, &expiry)) {
            return error_set(error, ERROR_FORMAT,
                             "%s:%u: expected the id of a token, 16 hexadecimal digits", path,
                             number);
        }
        if (expiry <= now_unix_s) {
            continue;
        }
        if (!list_reserve(list)) {
            return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        }
        list->ids[list->count++] = id;
    }
    if (list->count > 0) {
        qsort(list->ids, list->count, sizeof *list->ids, id_order);
    }
    return ERROR_OK;
}

/* Replaces the list by the content of the file. */
static int list_read(LedgerList *list, const char *path, u64 now_unix_s, ErrorText *error)
{
    LedgerList loaded = {0};
    ErrorText why = {0};
    size_t bytes;
    char *text = file_read(path, LEDGER_FILE_BYTES_MAX, &bytes, &why);
    int result = ERROR_OK;
    if (text != NULL) {
        result = lines_parse(&loaded, path, text, now_unix_s, error);
    } else if (why.code != ERROR_NOT_FOUND) {
        result = error_set(error, why.code, "%s", why.text);
    }
    free(text);
    if (result != ERROR_OK) {
        free(loaded.ids);
        return result;
    }
    free(list->ids);
    *list = loaded;
    return ERROR_OK;
}

/* Differs when the file does; 0: no file. */
static u64 stamp_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return 0;
    }
    u64 ns = (u64)status.st_mtim.tv_sec * 1000000000u + (u64)status.st_mtim.tv_nsec;
    return (ns ^ (u64)status.st_size << 40 ^ (u64)status.st_ino << 20) | 1;
}

/* ---- the ledger ---- */

int token_ledger_init(TokenLedger *ledger, const char *revoked_path, const char *used_path,
                      u64 now_unix_s, ErrorText *error)
{
    memset(ledger, 0, sizeof *ledger);
    const char *paths[] = {revoked_path, used_path};
    char *own[] = {ledger->revoked_path, ledger->used_path};
    LedgerList *lists[] = {&ledger->revoked, &ledger->used};
    for (u32 i = 0; i < 2; i++) {
        if (paths[i] == NULL) {
            continue;
        }
        if (strlen(paths[i]) >= LEDGER_PATH_BYTES) {
            return error_set(error, ERROR_LIMIT, "%s: the path is too long", paths[i]);
        }
        memcpy(own[i], paths[i], strlen(paths[i]) + 1);
        ledger->stamp = i == 0 ? stamp_of(paths[i]) : ledger->stamp;
        int result = list_read(lists[i], paths[i], i == 0 ? 0 : now_unix_s, error);
        if (result != ERROR_OK) {
            token_ledger_finish(ledger);
            return result;
        }
    }
    return ERROR_OK;
}

void token_ledger_finish(TokenLedger *ledger)
{
    free(ledger->revoked.ids);
    free(ledger->used.ids);
    memset(ledger, 0, sizeof *ledger);
}

int token_ledger_refresh(TokenLedger *ledger, ErrorText *error)
{
    u64 stamp = ledger->revoked_path[0] != '\0' ? stamp_of(ledger->revoked_path) : ledger->stamp;
    if (stamp == ledger->stamp) {
        return 0;
    }
    ledger->stamp = stamp; /* a damaged file is reported once */
    int result = list_read(&ledger->revoked, ledger->revoked_path, 0, error);
    return result == ERROR_OK ? 1 : result;
}

bool token_ledger_revoked(const TokenLedger *ledger, u64 id)
{
    return list_has(&ledger->revoked, id);
}

bool token_ledger_used(const TokenLedger *ledger, u64 id)
{
    return list_has(&ledger->used, id);
}

static bool line_append(const char *path, u64 id, u64 expiry_unix_s)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%016llx %llu\n", (unsigned long long)id,
                          (unsigned long long)expiry_unix_s);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    bool written = write(fd, line, (size_t)length) == length && fdatasync(fd) == 0;
    return close(fd) == 0 && written;
}

bool token_ledger_use(TokenLedger *ledger, u64 id, u64 expiry_unix_s)
{
    LedgerList *list = &ledger->used;
    if (!list_reserve(list) ||
        (ledger->used_path[0] != '\0' && !line_append(ledger->used_path, id, expiry_unix_s))) {
        return false;
    }
    u32 place = list_place(list, id);
    memmove(list->ids + place + 1, list->ids + place, (list->count - place) * sizeof *list->ids);
    list->ids[place] = id;
    list->count++;
    return true;
}
