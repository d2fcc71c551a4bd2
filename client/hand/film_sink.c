/* film_sink.c: see film_sink.h. */
#include "client/hand/film_sink.h"

#include "client/view/view.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    DIGITS_MAX = 9
};

struct FilmSink {
    FilmFormat format;
    bool pictures;
    u32 put;
    /* Pictures: HEAD, the number with `digits` digits, tail. */
    char head[PATH_BYTES], tail[PATH_BYTES];
    u32 digits; /* 0: one picture without a number */
    /* A video: written to `part`, renamed to `out`. */
    char out[PATH_BYTES], part[PATH_BYTES];
    pid_t pid; /* of ffmpeg; 0: none */
    int pipe;  /* −1: closed */
};

static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    return dot != NULL ? dot : "";
}

bool film_sink_is_pictures(const char *out)
{
    return strcmp(ending_of(out), ".png") == 0;
}

static int exists_error(const char *path, ErrorText *error)
{
    return error_set(error, ERROR_IO, "%s: exists already; --force replaces it", path);
}

/* ---- pictures ---- */

static void picture_path(const FilmSink *sink, u32 number, char path[PATH_BYTES * 2 + 16])
{
    if (sink->digits == 0) {
        snprintf(path, PATH_BYTES * 2 + 16, "%s%s", sink->head, sink->tail);
    } else {
        snprintf(path, PATH_BYTES * 2 + 16, "%s%0*u%s", sink->head, (int)sink->digits, number,
                 sink->tail);
    }
}

/* Splits the name at the place of the number. Anything else with a % is refused. */
static int pattern_read(FilmSink *sink, const char *out, ErrorText *error)
{
    const char *percent = strchr(out, '%');
    if (percent == NULL) {
        snprintf(sink->head, sizeof sink->head, "%s", out);
        if (sink->format.pictures > 1) {
            return error_set(error, ERROR_USAGE,
                             "%s: %u pictures need a place for their number, as in %%05d.png", out,
                             sink->format.pictures);
        }
        return ERROR_OK;
    }
    const char *at = percent + 1;
    u32 digits = 0;
    at += *at == '0';
    while (*at >= '0' && *at <= '9' && digits <= DIGITS_MAX) {
        digits = 10 * digits + (u32)(*at++ - '0');
    }
    if (*at != 'd' || digits > DIGITS_MAX || strchr(at, '%') != NULL) {
        return error_set(error, ERROR_USAGE, "%s: expected one number, as in %%05d.png", out);
    }
    snprintf(sink->head, sizeof sink->head, "%.*s", (int)(percent - out), out);
    snprintf(sink->tail, sizeof sink->tail, "%s", at + 1);
    sink->digits = u32_max(digits, 1);
    return ERROR_OK;
}

static int pictures_begin(FilmSink *sink, const char *out, bool force, ErrorText *error)
{
    int result = pattern_read(sink, out, error);
    char path[PATH_BYTES * 2 + 16];
    char *slash = strrchr(sink->head, '/');
    if (result == ERROR_OK && slash != NULL && slash != sink->head) {
        *slash = '\0';
        if (mkdir(sink->head, 0777) != 0 && errno != EEXIST) {
            result = error_set(error, ERROR_IO, "%s: %s", sink->head, strerror(errno));
        }
        *slash = '/';
    }
    for (u32 i = 0; i < sink->format.pictures && result == ERROR_OK && !force; i++) {
        picture_path(sink, i, path);
        if (access(path, F_OK) == 0) {
            result = exists_error(path, error);
        }
    }
    return result;
}

/* ---- ffmpeg ---- */

static int ffmpeg_start(FilmSink *sink, ErrorText *error)
{
    char size[32], rate[32], file[PATH_BYTES + 8];
    snprintf(size, sizeof size, "%ux%u", sink->format.width, sink->format.height);
    snprintf(rate, sizeof rate, "%.17g", sink->format.fps);
    snprintf(file, sizeof file, "file:%s", sink->part);
    bool gif = strcmp(ending_of(sink->out), ".gif") == 0;
    const char *arguments[] = {"ffmpeg",
                               "-hide_banner",
                               "-loglevel",
                               "error",
                               "-nostdin",
                               "-y",
                               "-f",
                               "rawvideo",
                               "-pix_fmt",
                               "rgb24",
                               "-s:v",
                               size,
                               "-r",
                               rate,
                               "-i",
                               "pipe:0",
                               "-an",
                               "-pix_fmt",
                               gif ? "rgb8" : "yuv420p",
                               "-movflags",
                               "+faststart",
                               file,
                               NULL};
    if (strcmp(ending_of(sink->out), ".mp4") != 0 && strcmp(ending_of(sink->out), ".mov") != 0) {
        arguments[19] = file; /* only these know the flag */
        arguments[20] = NULL;
    }
    int ends[2];
    if (pipe(ends) != 0) {
        return error_set(error, ERROR_IO, "cannot create a pipe: %s", strerror(errno));
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    sigaddset(&none, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawnattr_init(&attributes);
    /* Ctrl+C reaches only this program, which then ends ffmpeg. */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    extern char **environ;
    int result = posix_spawnp(&sink->pid, "ffmpeg", &actions, &attributes,
                              (char *const *)(void *)arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (result != 0) {
        sink->pid = 0;
        close(ends[1]);
        return error_set(error, result == ENOENT ? ERROR_NOT_FOUND : ERROR_IO,
                         "%s: cannot start ffmpeg, which writes videos: %s; install it, or render "
                         "pictures: --render frames/%%05d.png",
                         sink->out, result == ENOENT ? "it is not installed" : strerror(result));
    }
    sink->pipe = ends[1];
    return ERROR_OK;
}

/* NAME.part.ENDING: ffmpeg chooses the format by the ending. */
static int video_begin(FilmSink *sink, const char *out, bool force, ErrorText *error)
{
    const char *ending = ending_of(out);
    if (ending[0] == '\0') {
        return error_set(error, ERROR_USAGE,
                         "%s: a video's name ends in its format (.mp4, .webm, .mkv, .gif)", out);
    }
    if (sink->format.width % 2 != 0 || sink->format.height % 2 != 0) {
        return error_set(error, ERROR_USAGE, "%ux%u: a video has an even width and height",
                         sink->format.width, sink->format.height);
    }
    if (!force && access(out, F_OK) == 0) {
        return exists_error(out, error);
    }
    snprintf(sink->out, sizeof sink->out, "%s", out);
    snprintf(sink->part, sizeof sink->part, "%.*s.part%s", (int)(ending - out), out, ending);
    return ffmpeg_start(sink, error);
}

static int write_all(FilmSink *sink, const u8 *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(sink->pipe, bytes, count);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return ERROR_IO;
        }
        bytes += done;
        count -= (size_t)done;
    }
    return ERROR_OK;
}

/* Closes the pipe and waits. */
static int ffmpeg_wait(FilmSink *sink, ErrorText *error)
{
    int status = 0;
    if (sink->pipe >= 0) {
        close(sink->pipe);
        sink->pipe = -1;
    }
    pid_t pid = sink->pid;
    sink->pid = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return ERROR_OK;
    }
    return error_set(error, ERROR_IO, "%s: ffmpeg failed (%s %d); it has said why", sink->out,
                     WIFEXITED(status) ? "exit code" : "signal",
                     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* ---- both ---- */

FilmSink *film_sink_create(const char *out, const FilmFormat *format, bool force, ErrorText *error)
{
    FilmSink *sink = calloc(1, sizeof *sink);
    if (sink == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", out);
        return NULL;
    }
    sink->format = *format;
    sink->pipe = -1;
    sink->pictures = film_sink_is_pictures(out);
    int result;
    if (strlen(out) + 8 > PATH_BYTES) {
        result = error_set(error, ERROR_USAGE, "the name of the film is too long");
    } else if (sink->pictures) {
        result = pictures_begin(sink, out, force, error);
    } else {
        result = video_begin(sink, out, force, error);
    }
    if (result != ERROR_OK) {
        film_sink_destroy(sink);
        return NULL;
    }
    return sink;
}

int film_sink_put(FilmSink *sink, const u8 *rgb, ErrorText *error)
{
    const FilmFormat *format = &sink->format;
    u32 number = sink->put++;
    if (sink->pictures) {
        char path[PATH_BYTES * 2 + 16];
        picture_path(sink, number, path);
        return png_write(path, rgb, format->width, format->height, error);
    }
    if (write_all(sink, rgb, (size_t)format->width * format->height * 3) == ERROR_OK) {
        return ERROR_OK;
    }
    /* It ended: its exit code says more than the broken pipe. */
    int result = ffmpeg_wait(sink, error);
    return result != ERROR_OK ? result
                              : error_set(error, ERROR_IO, "%s: ffmpeg took %u of %u pictures",
                                          sink->out, number, format->pictures);
}

int film_sink_commit(FilmSink *sink, ErrorText *error)
{
    if (sink->pictures) {
        return ERROR_OK;
    }
    int result = ffmpeg_wait(sink, error);
    if (result == ERROR_OK && rename(sink->part, sink->out) != 0) {
        result = error_set(error, ERROR_IO, "%s: %s", sink->out, strerror(errno));
    }
    if (result == ERROR_OK) {
        sink->part[0] = '\0';
    }
    return result;
}

void film_sink_destroy(FilmSink *sink)
{
    if (sink == NULL) {
        return;
    }
    if (sink->pid > 0) {
        ErrorText unused;
        kill(sink->pid, SIGKILL);
        (void)ffmpeg_wait(sink, &unused);
    }
    if (sink->part[0] != '\0') {
        unlink(sink->part);
    }
    free(sink);
}
