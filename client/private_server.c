/* private_server.c: fork, exec, "key KEY", "ready PORT", SIGTERM. */
#include "client/private_server.h"

#include "shared/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_NS 30000000000ull /* a large scene takes a while to build */
#define STOP_NS  5000000000ull

enum {
    KEY_TEXT_BYTES = 65
};

/* "…/plenum-server" beside this executable if it exists, otherwise the bare name for PATH. */
static void server_path(char *out, size_t capacity)
{
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0) {
        own[length] = 0;
        char *slash = strrchr(own, '/');
        if (slash != NULL) {
            *slash = 0;
            int used = snprintf(out, capacity, "%s/plenum-server", own);
            if (used > 0 && (size_t)used < capacity && access(out, X_OK) == 0) {
                return;
            }
        }
    }
    snprintf(out, capacity, "plenum-server");
}

static void child_run(const char *program, const char *path, int output, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) {
        _exit(EXIT_NETWORK); /* the client exited meanwhile */
    }
    signal(SIGINT, SIG_IGN); /* the client handles Ctrl+C and then stops the server */
    dup2(output, STDOUT_FILENO);
    execlp(program, "plenum-server", "--listen", "127.0.0.1:0", "--local-role", "operator", "--",
           path, (char *)NULL);
    _exit(127);
}

/* Reads lines until "ready PORT", after "key KEY". The port, 0 at the end of the output, or −1 on
 * timeout. */
static int ready_port(int input, const volatile int *stop, char key[KEY_TEXT_BYTES])
{
    char text[4096];
    u32 used = 0;
    u64 deadline_ns = clock_now_ns() + READY_NS;
    while (clock_now_ns() < deadline_ns && *stop == 0) {
        struct pollfd wait = {.fd = input, .events = POLLIN};
        if (poll(&wait, 1, 100) <= 0) {
            continue;
        }
        ssize_t bytes = read(input, text + used, sizeof text - 1 - used);
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes <= 0) {
            return 0;
        }
        used += (u32)bytes;
        text[used] = 0;
        unsigned port;
        const char *ready = strncmp(text, "ready ", 6) == 0 ? text : strstr(text, "\nready ");
        const char *named = strncmp(text, "key ", 4) == 0 ? text : strstr(text, "\nkey ");
        if (ready != NULL && strchr(ready + 1, '\n') != NULL && named != NULL && named < ready &&
            sscanf(named + (*named == '\n'), "key %64[0-9a-f]", key) == 1 &&
            sscanf(ready + (*ready == '\n'), "ready %u", &port) == 1 && port > 0 && port < 65536) {
            return (int)port;
        }
        if (used == sizeof text - 1) {
            used = 0; /* only the newest output matters */
        }
    }
    return -1;
}

static int start_failed(PrivateServer *server, int port, const char *program, const char *path,
                        ErrorText *error)
{
    int status = 0;
    bool ended = port == 0 && waitpid(server->pid, &status, 0) == server->pid;
    int code = ended && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (!ended) {
        private_server_stop(server);
        error_set(error, ERROR_NETWORK, "%s: the private server was not ready within 30 s", path);
        return EXIT_NETWORK;
    }
    server->pid = 0;
    if (code == 127) {
        error_set(error, ERROR_NOT_FOUND,
                  "%s: cannot start plenum-server: found neither beside this program nor in PATH",
                  path);
        return EXIT_NETWORK;
    }
    error_set(error, ERROR_FORMAT, "%s: the private server (%s) exited immediately with code %d",
              path, program, code);
    return code == EXIT_INPUT || code == EXIT_USAGE ? EXIT_INPUT : EXIT_NETWORK;
}

int private_server_start(PrivateServer *server, const char *path, const volatile int *stop,
                         ErrorText *error)
{
    memset(server, 0, sizeof *server);
    char program[4200];
    server_path(program, sizeof program);
    int pipes[2];
    if (pipe(pipes) != 0) {
        error_set(error, ERROR_IO, "cannot create a pipe: %s", strerror(errno));
        return EXIT_NETWORK;
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        child_run(program, path, pipes[1], parent);
    }
    close(pipes[1]);
    if (pid < 0) {
        close(pipes[0]);
        error_set(error, ERROR_IO, "cannot start a process: %s", strerror(errno));
        return EXIT_NETWORK;
    }
    server->pid = pid;
    char key[KEY_TEXT_BYTES];
    int port = ready_port(pipes[0], stop, key);
    if (port <= 0) {
        close(pipes[0]);
        return start_failed(server, port, program, path, error);
    }
    /* The read end stays open: a server that prints must not get SIGPIPE. */
    snprintf(server->address, sizeof server->address, "127.0.0.1:%d#%s", port, key);
    return EXIT_OK;
}

void private_server_stop(PrivateServer *server)
{
    if (server->pid <= 0) {
        return;
    }
    kill(server->pid, SIGTERM);
    u64 deadline_ns = clock_now_ns() + STOP_NS;
    while (waitpid(server->pid, NULL, WNOHANG) == 0) {
        if (clock_now_ns() > deadline_ns) {
            kill(server->pid, SIGKILL);
            waitpid(server->pid, NULL, 0);
            break;
        }
        clock_sleep_until_ns(clock_now_ns() + 10000000ull);
    }
    server->pid = 0;
}
