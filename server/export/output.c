/* output.c: see output.h. */
#include "server/export/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_MAX = 2, /* named files of an output that is no folder */
    PATH_MAX_BYTES = 4096,
    BUFFER_BYTES = 1 << 16,
};

struct ExportOutput {
    ErrorText error;
    char path[PATH_MAX_BYTES]; /* "": memory */
    bool memory, folder, replace;
    bool made;         /* the folder was not there before */
    u64 written, most; /* memory: bytes of all files */
    char names[NAMES_MAX][PATH_MAX_BYTES];
    u32 name_count; /* files that have no name yet */
};

struct ExportFile {
    ExportOutput *output;
    int fd;
    u64 bytes; /* flushed */
    u32 used;
    u8 buffer[BUFFER_BYTES];
};

int export_output_error(const ExportOutput *output, ErrorText *error)
{
    if (error != NULL && output->error.code != ERROR_OK) {
        *error = output->error;
    }
    return output->error.code;
}

int export_output_fail(ExportOutput *output, Error code, const char *format, ...)
{
    if (output->error.code == ERROR_OK) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(output->error.text, sizeof output->error.text, format, arguments);
        va_end(arguments);
        output->error.code = code;
    }
    return output->error.code;
}

/* ---- names ---- */

/* Where the ending of the last part of a path begins: its dot, or the path's end. */
static size_t ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? (size_t)(dot - path) : strlen(path);
}

void export_output_name(const ExportOutput *output, const char *ending, char *name, size_t bytes)
{
    const char *slash = strrchr(output->path, '/');
    const char *last = slash != NULL ? slash + 1 : output->path;
    int stem = (int)(ending != NULL ? ending_of(last) : strlen(last));
    snprintf(name, bytes, "%.*s%s", stem, last, ending != NULL ? ending : "");
}

static bool folder_is_empty(const char *path)
{
    DIR *folder = opendir(path);
    u32 entries = 0;
    while (folder != NULL && entries <= 2 && readdir(folder) != NULL) {
        entries++; /* "." and ".." are always there */
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return folder != NULL && entries <= 2;
}

static int open_folder(ExportOutput *output, ErrorText *error)
{
    struct stat status;
    output->made = mkdir(output->path, 0777) == 0;
    if (output->made) {
        return ERROR_OK;
    }
    if (errno != EEXIST) {
        return error_set(error, ERROR_IO, "%s: cannot create the folder: %s", output->path,
                         strerror(errno));
    }
    if (stat(output->path, &status) != 0 || !S_ISDIR(status.st_mode)) {
        return error_set(error, ERROR_IO, "%s: exists and is not a folder", output->path);
    }
    if (!output->replace && !folder_is_empty(output->path)) {
        return error_set(error, ERROR_IO,
                         "%s: has files in it; --force replaces those of the same names",
                         output->path);
    }
    return ERROR_OK;
}

/* Only a plain file is ever replaced. */
static int check_free(const char *path, bool replace, ErrorText *error)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return ERROR_OK;
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(error, ERROR_IO, "%s: exists and is not a regular file", path);
    }
    return replace ? ERROR_OK : error_set(error, ERROR_IO, "%s: exists; --force replaces it", path);
}

ExportOutput *export_output_create(const char *path, bool folder, bool replace, ErrorText *error)
{
    ExportOutput *output = calloc(1, sizeof *output);
    if (output == NULL || strlen(path) + 8 > sizeof output->path || path[0] == '\0') {
        error_set(error, output == NULL ? ERROR_MEMORY : ERROR_IO, "%s: %s", path,
                  output == NULL ? "out of memory" : "not a valid file name");
        free(output);
        return NULL;
    }
    memcpy(output->path, path, strlen(path) + 1);
    output->folder = folder;
    output->replace = replace;
    if ((folder ? open_folder(output, error) : check_free(path, replace, error)) != ERROR_OK) {
        free(output);
        return NULL;
    }
    return output;
}

ExportOutput *export_output_memory(u64 most)
{
    ExportOutput *output = calloc(1, sizeof *output);
    if (output != NULL) {
        output->memory = true;
        output->most = most;
    }
    return output;
}

static void part_of(const char *path, char part[PATH_MAX_BYTES + 8])
{
    snprintf(part, PATH_MAX_BYTES + 8, "%s.part", path);
}

/* A name that has been taken meanwhile is not overwritten. */
static int give_name(const ExportOutput *output, const char *part, const char *path)
{
    if (output->replace) {
        return rename(part, path);
    }
    int result = link(part, path);
    if (result != 0 && errno != EEXIST && access(path, F_OK) != 0) {
        return rename(part, path); /* a file system without links */
    }
    if (result == 0) {
        unlink(part);
    }
    return result;
}

int export_output_commit(ExportOutput *output)
{
    if (output->error.code != ERROR_OK) {
        return output->error.code;
    }
    for (; output->name_count > 0; output->name_count--) {
        const char *path = output->names[output->name_count - 1];
        char part[PATH_MAX_BYTES + 8];
        part_of(path, part);
        if (give_name(output, part, path) != 0) {
            return export_output_fail(output, ERROR_IO, "%s: %s", path, strerror(errno));
        }
    }
    return ERROR_OK;
}

void export_output_destroy(ExportOutput *output)
{
    if (output == NULL) {
        return;
    }
    for (u32 i = 0; i < output->name_count; i++) {
        char part[PATH_MAX_BYTES + 8];
        part_of(output->names[i], part);
        unlink(part);
    }
    if (output->made) {
        rmdir(output->path); /* removed only if it is empty */
    }
    free(output);
}

/* ---- files ---- */

static int open_named(ExportOutput *output, const char *name)
{
    if (output->folder) {
        char path[PATH_MAX_BYTES + 64];
        snprintf(path, sizeof path, "%s/%s", output->path, name);
        int flags = output->replace ? O_TRUNC : O_EXCL;
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0666);
        if (fd < 0) {
            export_output_fail(output, ERROR_IO, "%s: cannot create: %s", path, strerror(errno));
        }
        return fd;
    }
    char *path = output->names[output->name_count];
    int stem = (int)(name != NULL ? ending_of(output->path) : strlen(output->path));
    snprintf(path, PATH_MAX_BYTES, "%.*s%s", stem, output->path, name != NULL ? name : "");
    if (check_free(path, output->replace, &output->error) != ERROR_OK) {
        return -1;
    }
    char part[PATH_MAX_BYTES + 8];
    part_of(path, part);
    int fd = open(part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        export_output_fail(output, ERROR_IO, "%s: %s", part,
                           errno == EEXIST
                               ? "left by an export that was stopped, or one is running: "
                                 "remove it"
                               : strerror(errno));
        return -1;
    }
    output->name_count++;
    return fd;
}

static ExportFile *file_of(ExportOutput *output, int fd)
{
    ExportFile *file = fd >= 0 ? malloc(sizeof *file) : NULL;
    if (file == NULL) {
        export_output_fail(output, ERROR_MEMORY, "out of memory for a file, or for its buffer");
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    file->output = output;
    file->fd = fd;
    file->bytes = 0;
    file->used = 0;
    return file;
}

ExportFile *export_file_create(ExportOutput *output, const char *name)
{
    if (output->error.code != ERROR_OK) {
        return NULL;
    }
    return file_of(output,
                   output->memory ? memfd_create("export", MFD_CLOEXEC) : open_named(output, name));
}

ExportFile *export_file_scratch(ExportOutput *output)
{
    if (output->error.code != ERROR_OK) {
        return NULL;
    }
    if (output->memory) {
        return file_of(output, memfd_create("scratch", MFD_CLOEXEC));
    }
    char path[PATH_MAX_BYTES + 16];
    snprintf(path, sizeof path, "%s.scratch-XXXXXX", output->path);
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0) {
        unlink(path);
    } else {
        export_output_fail(output, ERROR_IO, "%s: cannot create: %s", path, strerror(errno));
    }
    return file_of(output, fd);
}

static bool write_all(int fd, const void *data, size_t bytes, i64 offset)
{
    const u8 *from = data;
    while (bytes > 0) {
        ssize_t done = offset < 0 ? write(fd, from, bytes) : pwrite(fd, from, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return false;
        }
        from += done;
        bytes -= (size_t)done;
        offset += offset < 0 ? 0 : done;
    }
    return true;
}

static bool may_write(ExportFile *file, size_t bytes)
{
    ExportOutput *output = file->output;
    if (output->error.code != ERROR_OK) {
        return false;
    }
    output->written += bytes;
    if (output->memory && output->written > output->most) {
        export_output_fail(output, ERROR_LIMIT, "more than %llu bytes",
                           (unsigned long long)output->most);
        return false;
    }
    return true;
}

static void fail_write(ExportFile *file)
{
    export_output_fail(file->output, ERROR_IO, "%s: cannot write: %s", file->output->path,
                       strerror(errno));
}

void export_file_flush(ExportFile *file)
{
    if (file == NULL) {
        return;
    }
    if (file->output->error.code == ERROR_OK &&
        !write_all(file->fd, file->buffer, file->used, -1)) {
        fail_write(file);
    }
    file->bytes += file->used;
    file->used = 0;
}

void export_write(ExportFile *file, const void *data, size_t bytes)
{
    if (file == NULL || !may_write(file, bytes)) {
        return;
    }
    if (bytes > BUFFER_BYTES - file->used) {
        export_file_flush(file);
    }
    if (bytes > BUFFER_BYTES) {
        if (!write_all(file->fd, data, bytes, -1)) {
            fail_write(file);
        }
        file->bytes += bytes;
        return;
    }
    memcpy(file->buffer + file->used, data, bytes);
    file->used += (u32)bytes;
}

void export_print(ExportFile *file, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof text) {
        if (file != NULL) {
            export_output_fail(file->output, ERROR_LIMIT, "a line is too long to write");
        }
        return;
    }
    export_write(file, text, (size_t)length);
}

void export_write_at(ExportFile *file, u64 offset, const void *data, size_t bytes)
{
    if (file != NULL && may_write(file, bytes) && !write_all(file->fd, data, bytes, (i64)offset)) {
        fail_write(file);
    }
}

void export_read_at(ExportFile *file, u64 offset, void *data, size_t bytes)
{
    if (file == NULL || file->output->error.code != ERROR_OK) {
        memset(data, 0, bytes);
        return;
    }
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(file->fd, (u8 *)data + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            memset((u8 *)data + done, 0, bytes - done); /* extends a hole at the end */
            if (got < 0) {
                fail_write(file);
            }
            return;
        }
        done += (size_t)got;
    }
}

void export_copy(ExportFile *to, ExportFile *from, u64 offset, u64 bytes)
{
    u8 piece[1 << 15];
    while (bytes > 0 && to != NULL && to->output->error.code == ERROR_OK) {
        size_t now = bytes < sizeof piece ? (size_t)bytes : sizeof piece;
        export_read_at(from, offset, piece, now);
        export_write(to, piece, now);
        offset += now;
        bytes -= now;
    }
}

u64 export_file_bytes(const ExportFile *file)
{
    return file != NULL ? file->bytes + file->used : 0;
}

void export_file_close(ExportFile *file)
{
    if (file == NULL) {
        return;
    }
    export_file_flush(file);
    if (close(file->fd) != 0 && file->output->error.code == ERROR_OK) {
        fail_write(file);
    }
    free(file);
}
