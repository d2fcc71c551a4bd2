/*
 * saves.c: a folder of worlds that operators save and load by name: NAME.plworld for each. Names
 * are untrusted: only visible characters that have no meaning to a file system or a command are
 * accepted.
 */
#include "protocol/record/recording.h"
#include "protocol/record/world_file.h"
#include "server/host/session.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".plworld"

enum {
    FILES_LOOKED_MAX = 1024 /* in the folder, which is used for nothing else */
};

static bool is_supported(const Host *host)
{
    return host->options.saves != NULL && host->common.source->ops->save != NULL;
}

static bool name_is_good(Host *host, const char *name)
{
    char clean[NAME_CLEAN_BYTES];
    if (name[0] == '\0' || name[0] == '.' || strlen(name) >= sizeof clean ||
        strpbrk(name, "/\\\"") != NULL) {
        return false;
    }
    name_clean(host->names, name, clean);
    return strcmp(name, clean) == 0;
}

/* The file of a name. 0, or a negative Error with a text. */
static int path_of(Host *host, const char *name, char path[PATH_MAX], ErrorText *error)
{
    if (!is_supported(host)) {
        return error_set(error, ERROR_UNSUPPORTED, "this server has no running world to save");
    }
    if (!name_is_good(host, name)) {
        return error_set(error, ERROR_RANGE,
                         "a name has at most %d bytes, no / \\ or \", no leading dot or #, no "
                         "blanks at either end and no invisible characters",
                         NAME_CLEAN_BYTES - 1);
    }
    int length = snprintf(path, PATH_MAX, "%s/%s" ENDING, host->options.saves, name);
    return length > 0 && length < PATH_MAX
               ? ERROR_OK
               : error_set(error, ERROR_LIMIT, "the name of the file is too long");
}

/* ---- what there is ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const SaveInfo *)a)->name, ((const SaveInfo *)b)->name);
}

/* False: the file is not a saved world. */
static bool look_at(Host *host, const char *file, SaveInfo *out)
{
    char path[PATH_MAX];
    struct stat status;
    ErrorText unused = {0};
    size_t length = strlen(file), ending = strlen(ENDING);
    if (length <= ending || length - ending >= sizeof out->name ||
        strcmp(file + length - ending, ENDING) != 0) {
        return false;
    }
    memset(out, 0, sizeof *out);
    memcpy(out->name, file, length - ending);
    if (path_of(host, out->name, path, &unused) != ERROR_OK || lstat(path, &status) != 0 ||
        !S_ISREG(status.st_mode)) {
        return false;
    }
    (void)world_file_scene_name(path, out->scene);
    out->unix_s = (u64)status.st_mtime;
    out->bytes = (u64)status.st_size;
    return true;
}

u32 saves_list(Host *host, SaveInfo out[SAVES_MAX])
{
    DIR *folder = is_supported(host) ? opendir(host->options.saves) : NULL;
    u32 count = 0;
    const struct dirent *entry;
    for (u32 i = 0; folder != NULL && i < FILES_LOOKED_MAX && count < SAVES_MAX; i++) {
        entry = readdir(folder);
        if (entry == NULL) {
            break;
        }
        count += look_at(host, entry->d_name, &out[count]);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    qsort(out, count, sizeof *out, by_name);
    return count;
}

static bool is_operator(Host *host, Session *session, u32 bytes)
{
    PL_UNUSED(host);
    PL_UNUSED(bytes);
    return session->role >= ROLE_OPERATOR;
}

void saves_send(Host *host, Session *session)
{
    SaveInfo saves[SAVES_MAX];
    Message message = {.kind = MESSAGE_SAVES};
    bool all = session == NULL;
    if (!is_supported(host) || (!all && (session->role < ROLE_OPERATOR || !session->world_sent))) {
        return; /* clients without a world are told when they get one */
    }
    message.saves.items = saves;
    message.saves.count = saves_list(host, saves);
    if (!all) {
        (void)session_message(host, session, CHANNEL_BULK, &message);
    } else {
        sessions_message(host, CHANNEL_BULK, &message, is_operator);
    }
}

/* ---- what is done ---- */

int saves_begin(Host *host, const Saving *saving, ErrorText *error)
{
    char path[PATH_MAX];
    SaveInfo saves[SAVES_MAX];
    int result = path_of(host, saving->name, path, error);
    if (result != ERROR_OK) {
        return result;
    }
    if (host->saving.kind != SAVE_NONE) {
        return error_set(error, ERROR_STATE, "another world is being saved or loaded");
    }
    bool there = access(path, F_OK) == 0;
    if (saving->kind == SAVE_LOAD && !there) {
        return error_set(error, ERROR_NOT_FOUND, "no saved world \"%s\": list them with saves",
                         saving->name);
    }
    if (saving->kind == SAVE_WRITE && !there && saves_list(host, saves) == SAVES_MAX) {
        return error_set(error, ERROR_LIMIT, "%d worlds are already saved: remove one with unsave",
                         SAVES_MAX);
    }
    if (saving->kind == SAVE_WRITE && mkdir(host->options.saves, 0700) != 0 && errno != EEXIST) {
        return error_set(error, ERROR_IO, "cannot create the folder for saved worlds: %s",
                         strerror(errno));
    }
    SourceNote note = {NULL, 0};
    u8 *owners = saving->kind == SAVE_WRITE ? keep_owners(host, &note.count) : NULL;
    note.bytes = owners;
    result = host->common.source->ops->save(host->common.source, saving->kind, path, &note, error);
    free(owners);
    if (result == ERROR_OK) {
        host->saving = *saving;
    }
    return result;
}

int saves_remove(Host *host, const char *name, ErrorText *error)
{
    char path[PATH_MAX];
    int result = path_of(host, name, path, error);
    if (result == ERROR_OK && host->saving.kind != SAVE_NONE) {
        result = error_set(error, ERROR_STATE, "a world is being saved or loaded");
    }
    if (result == ERROR_OK && unlink(path) != 0) {
        result = errno == ENOENT ? error_set(error, ERROR_NOT_FOUND,
                                             "no saved world \"%s\": list them with saves", name)
                                 : error_set(error, ERROR_IO, "\"%s\" cannot be removed: %s", name,
                                             strerror(errno));
    }
    if (result == ERROR_OK) {
        saves_send(host, NULL);
    }
    return result;
}

/* ---- its end ---- */

/* Clients are not told the path of the folder. */
static const char *without_folder(const char *text)
{
    const char *slash = strrchr(text, '/');
    return slash != NULL ? slash + 1 : text;
}

static void audit_end(Host *host, const Saving *saving, const SourceSaved *saved)
{
    AuditLine line = {.name = saving->by,
                      .role = role_name(saving->role),
                      .user = saving->user,
                      .what = saving->kind == SAVE_WRITE ? "saved" : "loaded",
                      .target = saving->name,
                      .result = saved->error.code};
    audit_write(&host->audit, &line, clock_unix_ms(), host->now_ms);
}

static void notify_end(Host *host, const Saving *saving, const SourceSaved *saved)
{
    Session *session = session_of_user(host, saving->user);
    Message message = {.kind = MESSAGE_NOTICE};
    char *text = message.notice.text;
    if (saved->error.code != 0) {
        snprintf(text, sizeof message.notice.text, "\"%s\" is not %s: %.150s", saving->name,
                 saving->kind == SAVE_WRITE ? "saved" : "loaded",
                 without_folder(saved->error.text));
    } else {
        snprintf(text, sizeof message.notice.text, "%.60s %s \"%s\"", saving->by,
                 saving->kind == SAVE_WRITE ? "saved the world as" : "loaded the world",
                 saving->name);
    }
    if (saved->error.code == 0 && saving->kind == SAVE_LOAD) {
        sessions_message(host, CHANNEL_CONTROL, &message, NULL);
    } else if (session != NULL) {
        session_notice(host, session, text);
    }
    log_info("%s", text);
}

/* A recording notes where its world was replaced. */
static void note_load(Host *host, const Saving *saving, u64 tick)
{
    RecordingNote note = {.tick = tick, .kind = RECORDING_NOTE_BOOKMARK, .user = saving->user};
    snprintf(note.name, sizeof note.name, "%s", saving->by);
    snprintf(note.text, sizeof note.text, "loaded \"%s\"", saving->name);
    if (host->common.source->ops->note != NULL) {
        (void)host->common.source->ops->note(host->common.source, &note, NULL);
    }
}

void saves_run(Host *host)
{
    SourceSaved saved;
    if (host->saving.kind == SAVE_NONE ||
        !host->common.source->ops->saved(host->common.source, &saved)) {
        return;
    }
    Saving saving = host->saving;
    host->saving = (Saving){0};
    audit_end(host, &saving, &saved);
    notify_end(host, &saving, &saved);
    if (saved.error.code == 0 && saving.kind == SAVE_LOAD) {
        note_load(host, &saving, saved.tick);
    } else if (saved.error.code == 0) {
        saves_send(host, NULL);
    }
}
