/* console.c: the console's socket. */
#include "server/host/console.h"

#include "server/host/admin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    ANSWER_BYTES_MAX = 128 << 10
};

typedef struct ConsoleClient {
    uv_pipe_t pipe;
    Console *console;
    char name[NAME_BYTES_MAX];
    char line[CONSOLE_LINE_BYTES_MAX];
    u32 used;
} ConsoleClient;

struct Console {
    uv_pipe_t pipe;
    Host *host;
    uv_loop_t *loop;
    ConsoleClient *clients[CONSOLE_CLIENTS_MAX];
    char path[CONSOLE_PATH_BYTES_MAX];
    bool bound;
};

typedef struct ConsoleAnswer {
    uv_write_t request;
    u32 used;
    char text[ANSWER_BYTES_MAX];
} ConsoleAnswer;

/* ---- answers ---- */

static void answer_add(ConsoleAnswer *answer, const char *before, const char *text)
{
    size_t room = sizeof answer->text - answer->used;
    int wrote = snprintf(answer->text + answer->used, room, "%s%s\n", before, text);
    if (wrote > 0 && (size_t)wrote < room) { /* else the line is left out */
        answer->used += (u32)wrote;
    }
}

static void on_say(void *context, const char *text)
{
    ConsoleAnswer *answer = context;
    if (answer->used < ANSWER_BYTES_MAX - 1024) { /* room for the last line */
        answer_add(answer, "| ", text);
    }
}

static void on_wrote(uv_write_t *request, int status)
{
    PL_UNUSED(status);
    free(request->data);
}

static void command_run(ConsoleClient *client)
{
    ConsoleAnswer *answer = malloc(sizeof *answer);
    if (answer == NULL) {
        return;
    }
    answer->used = 0;
    AdminCaller caller = {NULL, client->name, ROLE_ADMIN, on_say, answer};
    int result = admin_run(client->console->host, &caller, client->line);
    answer_add(answer, "= ", error_name((Error)result));
    uv_buf_t buffer = uv_buf_init(answer->text, answer->used);
    answer->request.data = answer;
    if (uv_write(&answer->request, (uv_stream_t *)&client->pipe, &buffer, 1, on_wrote) != 0) {
        free(answer);
    }
}

/* ---- clients ---- */

static void on_client_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void client_close(ConsoleClient *client)
{
    Console *console = client->console;
    for (u32 i = 0; i < CONSOLE_CLIENTS_MAX; i++) {
        console->clients[i] = console->clients[i] == client ? NULL : console->clients[i];
    }
    uv_close((uv_handle_t *)&client->pipe, on_client_closed);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    PL_UNUSED(suggested);
    ConsoleClient *client = handle->data;
    *buffer = uv_buf_init(client->line + client->used,
                          (unsigned int)(sizeof client->line - client->used));
}

/* No byte except the line's end may be a control character: texts of a console are logged, too. */
static bool line_clean(const char *line)
{
    for (; *line != '\0'; line++) {
        if ((u8)*line < 0x20 || *line == 0x7F) {
            return false;
        }
    }
    return true;
}

static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    PL_UNUSED(buffer);
    ConsoleClient *client = stream->data;
    if (bytes < 0) {
        client_close(client);
        return;
    }
    client->used += (u32)bytes;
    char *end;
    while ((end = memchr(client->line, '\n', client->used)) != NULL) {
        char kept[CONSOLE_LINE_BYTES_MAX];
        u32 length = (u32)(end - client->line) + 1, left = client->used - length;
        memcpy(kept, end + 1, left);
        *end = '\0';
        if (!line_clean(client->line)) {
            client_close(client);
            return;
        }
        command_run(client);
        memcpy(client->line, kept, left);
        client->used = left;
    }
    if (client->used == sizeof client->line) {
        client_close(client);
    }
}

static void name_client(ConsoleClient *client)
{
    struct ucred owner = {0};
    socklen_t bytes = sizeof owner;
    uv_os_fd_t fd;
    snprintf(client->name, sizeof client->name, "console");
    if (uv_fileno((uv_handle_t *)&client->pipe, &fd) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &owner, &bytes) == 0) {
        snprintf(client->name, sizeof client->name, "console uid %u pid %d", owner.uid, owner.pid);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    Console *console = stream->data;
    ConsoleClient *client = status == 0 ? calloc(1, sizeof *client) : NULL;
    if (client == NULL) {
        return;
    }
    u32 place = 0;
    while (place < CONSOLE_CLIENTS_MAX && console->clients[place] != NULL) {
        place++;
    }
    uv_pipe_init(console->loop, &client->pipe, 0);
    client->pipe.data = client;
    client->console = console;
    if (uv_accept(stream, (uv_stream_t *)&client->pipe) != 0 || place == CONSOLE_CLIENTS_MAX) {
        uv_close((uv_handle_t *)&client->pipe, on_client_closed);
        return;
    }
    console->clients[place] = client;
    name_client(client);
    uv_read_start((uv_stream_t *)&client->pipe, on_alloc, on_read);
}

/* ---- life ---- */

/* A socket that no server listens on may be removed. */
static bool is_dead_socket(const char *path)
{
    struct stat status;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool dead = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
                errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    return dead;
}

static void on_console_closed(uv_handle_t *handle)
{
    free(handle->data);
}

Console *console_create(Host *host, uv_loop_t *loop, const char *path, ErrorText *error)
{
    if (strlen(path) >= CONSOLE_PATH_BYTES_MAX) {
        error_set(error, ERROR_USAGE, "--console %s: the path is longer than %d bytes", path,
                  CONSOLE_PATH_BYTES_MAX - 1);
        return NULL;
    }
    Console *console = calloc(1, sizeof *console);
    if (console == NULL) {
        error_set(error, ERROR_MEMORY, "--console: out of memory");
        return NULL;
    }
    console->host = host;
    console->loop = loop;
    snprintf(console->path, sizeof console->path, "%s", path);
    uv_pipe_init(loop, &console->pipe, 0);
    console->pipe.data = console;
    if (is_dead_socket(path)) {
        unlink(path);
    }
    mode_t former = umask(077);
    int result = uv_pipe_bind(&console->pipe, path);
    umask(former);
    console->bound = result == 0;
    if (result == 0) {
        result = uv_listen((uv_stream_t *)&console->pipe, CONSOLE_CLIENTS_MAX, on_connection);
    }
    if (result != 0) {
        error_set(error, ERROR_IO, "--console %s: cannot listen there: %s", path,
                  uv_strerror(result));
        console_destroy(console);
        return NULL;
    }
    return console;
}

void console_destroy(Console *console)
{
    if (console == NULL) {
        return;
    }
    for (u32 i = 0; i < CONSOLE_CLIENTS_MAX; i++) {
        if (console->clients[i] != NULL) {
            client_close(console->clients[i]);
        }
    }
    /* libuv removes the socket of a pipe that it bound. */
    uv_close((uv_handle_t *)&console->pipe, on_console_closed);
}
