/* file.c: see file.h. */
#include "shared/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

int file_open(const char *path, u64 most, ErrorText *error)
{
    /* Without O_NONBLOCK, opening a FIFO waits for a writer. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return error_set(error, errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, "%s: cannot open: %s",
                         path, strerror(errno));
    }
    struct stat status;
    int code = ERROR_OK;
    if (fstat(fd, &status) != 0) {
        code = error_set(error, ERROR_IO, "%s: cannot read: %s", path, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        code = error_set(error, ERROR_IO, "%s: is %s, not a file", path, kind_of(status.st_mode));
    } else if ((u64)status.st_size > most) {
        code = error_set(error, ERROR_LIMIT, "%s: has %llu bytes, at most %llu are read", path,
                         (unsigned long long)status.st_size, (unsigned long long)most);
    }
    if (code != ERROR_OK) {
        close(fd);
        return code;
    }
    return fd;
}

/* Bytes read, at most `room`; negative: errno says why. */
static ssize_t read_all(int fd, char *into, size_t room)
{
    size_t used = 0;
    while (used < room) {
        ssize_t got = read(fd, into + used, room - used);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? -1 : (ssize_t)used;
        }
        used += (size_t)got;
    }
    return (ssize_t)used;
}

char *file_read(const char *path, size_t most, size_t *bytes, ErrorText *error)
{
    *bytes = 0;
    int fd = file_open(path, most, error);
    struct stat status;
    if (fd < 0) {
        return NULL;
    }
    /* Some files tell no size (those of /proc): all of `most` then. */
    bool sized = fstat(fd, &status) == 0 && status.st_size > 0;
    size_t room = sized ? (size_t)status.st_size + 1 : most + 1;
    char *text = malloc(room + 1);
    ssize_t got = text != NULL ? read_all(fd, text, room) : 0;
    int why = errno;
    close(fd);
    if (text == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", path);
        return NULL;
    }
    if (got < 0 || (size_t)got == room) {
        free(text);
        error_set(error, got < 0 ? ERROR_IO : ERROR_LIMIT, "%s: %s", path,
                  got < 0 ? strerror(why)
                  : sized ? "grows while it is read"
                          : "is too large");
        return NULL;
    }
    text[got] = '\0';
    *bytes = (size_t)got;
    return text;
}

int file_create(const char *path, u32 mode, ErrorText *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, mode);
    if (fd >= 0) {
        return fd;
    }
    if (errno == EEXIST) {
        return error_set(error, ERROR_IO, "%s: exists and is never overwritten; give another name",
                         path);
    }
    return error_set(error, ERROR_IO, "%s: cannot create: %s", path, strerror(errno));
}

/* ---- replacing ---- */

static bool write_all(int fd, const FilePart *part)
{
    const char *at = part->bytes;
    size_t left = part->count;
    while (left > 0) {
        ssize_t put = write(fd, at, left);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            errno = put == 0 ? ENOSPC : errno;
            return false;
        }
        at += put;
        left -= (size_t)put;
    }
    return true;
}

/* The name is on the disk too once its folder is synced. */
static bool folder_sync(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        snprintf(folder, sizeof folder, ".");
    } else {
        slash[slash == folder ? 1 : 0] = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

int file_replace(const char *path, const FilePart *parts, u32 count, u32 mode, ErrorText *error)
{
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.new", path);
    if (length < 0 || (size_t)length >= sizeof temporary) {
        return error_set(error, ERROR_LIMIT, "%s: the name is too long", path);
    }
    unlink(temporary);
    int fd = file_create(temporary, mode, error);
    if (fd < 0) {
        return fd;
    }
    bool done = true;
    for (u32 i = 0; i < count && done; i++) {
        done = write_all(fd, &parts[i]);
    }
    done = done && fsync(fd) == 0;
    int why = errno;
    done = close(fd) == 0 && done;
    if (done && (rename(temporary, path) != 0 || !folder_sync(path))) {
        why = errno;
        done = false;
    }
    if (!done) {
        unlink(temporary);
        return error_set(error, ERROR_IO, "%s: cannot write: %s", path, strerror(why));
    }
    return ERROR_OK;
}

/* ---- the state folder ---- */

/* Creates the folders of a path that ends with a slash. */
static bool folders_create(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!there) {
            return false;
        }
    }
    return true;
}

int file_state_path(const char *name, char *path, size_t bytes, ErrorText *error)
{
    static const struct {
        const char *variable, *below;
    } places[] = {
        {"STATE_DIRECTORY", ""}, {"XDG_STATE_HOME", "plenum/"}, {"HOME", ".local/state/plenum/"}};
    const char *root = NULL, *below = "";
    for (u32 i = 0; i < PL_COUNT(places) && root == NULL; i++) {
        const char *value = getenv(places[i].variable);
        if (value != NULL && value[0] == '/') {
            root = value;
            below = places[i].below;
        }
    }
    if (root == NULL) {
        return error_set(error, ERROR_NOT_FOUND, "no folder for %s: HOME is not set", name);
    }
    int length = snprintf(path, bytes, "%s/%s", root, below);
    if (length < 0 || (size_t)length + strlen(name) >= bytes) {
        return error_set(error, ERROR_LIMIT, "%s: the path is too long", root);
    }
    if (!folders_create(path)) {
        return error_set(error, ERROR_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    memcpy(path + length, name, strlen(name) + 1);
    return ERROR_OK;
}
