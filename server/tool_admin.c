/* tool_admin.c: see tool_admin.h. */
#include "server/tool_admin.h"

#include "server/tool_remote.h"
#include "shared/base/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    LINE_BYTES = 512
};

typedef struct AdminOptions {
    CredentialFiles files;
    const char *name;
} AdminOptions;

static int console_open(const char *path, ErrorText *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return error_set(error, ERROR_USAGE, "%s: the path is too long", path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        int why = errno;
        if (fd >= 0) {
            close(fd);
        }
        return error_set(error, ERROR_NETWORK,
                         "%s: %s (is it the socket of plenum-server --console?)", path,
                         strerror(why));
    }
    return fd;
}

/* Sends one command and prints the answer. EXIT_OK, EXIT_CHECK_FAILED: refused, EXIT_NETWORK. */
static int command_send(FILE *console, const char *line, ErrorText *error)
{
    char answer[1024];
    if (dprintf(fileno(console), "%s\n", line) < 0) {
        error_set(error, ERROR_NETWORK, "the server closed the connection");
        return EXIT_NETWORK;
    }
    while (fgets(answer, sizeof answer, console) != NULL) {
        if (answer[0] == '=') {
            return strcmp(answer, "= ok\n") == 0 ? EXIT_OK : EXIT_CHECK_FAILED;
        }
        fputs(answer[0] == '|' ? answer + 2 : answer, stdout);
    }
    error_set(error, ERROR_NETWORK, "the server closed the connection");
    return EXIT_NETWORK;
}

/* The words of the command line as one line, quoted where they have blanks. */
static bool line_join(char *line, size_t bytes, char **words, u32 count)
{
    size_t used = 0;
    line[0] = '\0';
    for (u32 i = 0; i < count; i++) {
        const char *quote = strchr(words[i], ' ') != NULL ? "\"" : "";
        int wrote = snprintf(line + used, bytes - used, "%s%s%s%s", i > 0 ? " " : "", quote,
                             words[i], quote);
        used += wrote > 0 ? (size_t)wrote : 0;
        if (used >= bytes) {
            return false;
        }
    }
    return strchr(line, '\n') == NULL;
}

static int commands_read(FILE *console, ErrorText *error)
{
    char line[LINE_BYTES];
    int code = EXIT_OK;
    while (code != EXIT_NETWORK && fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] != '\0') {
            code = command_send(console, line, error);
            fflush(stdout);
        }
    }
    return code;
}

/* Over the socket of --console; line "": those of the standard input. */
static int administer_here(const char *path, const char *line, ErrorText *error)
{
    int fd = console_open(path, error);
    if (fd < 0) {
        return fd == ERROR_USAGE ? EXIT_USAGE : EXIT_NETWORK;
    }
    FILE *console = fdopen(fd, "r");
    if (console == NULL) {
        close(fd);
        error_set(error, ERROR_MEMORY, "out of memory");
        return EXIT_NETWORK;
    }
    int code = line[0] != '\0' ? command_send(console, line, error) : commands_read(console, error);
    fclose(console);
    return code;
}

/* Options for the other way would have no effect: they are refused. */
static int administer(const char *operand, const AdminOptions *options, const char *line,
                      ErrorText *error)
{
    const CredentialFiles *files = &options->files;
    if (strncmp(operand, "plenum://", 9) == 0) {
        return remote_administer(operand + 9, options->name, files, line, error);
    }
    if (files->token != NULL || files->identity != NULL || files->password != NULL) {
        error_set(error, ERROR_USAGE, "--token, --identity and --password: %s is not plenum://HOST",
                  operand);
        return EXIT_USAGE;
    }
    return administer_here(operand, line, error);
}

int tool_admin(int argc, char **argv, ErrorText *error)
{
    AdminOptions options = {.name = "console"};
    const Option rows[] = {
        {"token", 't', OPTION_STRING, &options.files.token, 0, 0, "FILE",
         "connect token of an operator or admin (plenum-tool token)"},
        {"identity", 'i', OPTION_STRING, &options.files.identity, 0, 0, "FILE",
         "long-term key to show, made if missing; default: client.key of the state folder where "
         "the token needs it"},
        {"password", 'p', OPTION_STRING, &options.files.password, 0, 0, "FILE",
         "file with the password of the server"},
        {"name", 'n', OPTION_STRING, &options.name, 0, 0, "NAME",
         "name there, unless the token has one"},
    };
    const OptionTable table = {
        .program = "plenum-tool admin",
        .synopsis = "[options] SOCKET|plenum://HOST[:PORT][#KEY] [COMMAND ...]",
        .about = "Sends a command to a running server, over the socket of its --console or over "
                 "the network as a user with that role;\nwithout a command, the lines of the "
                 "standard input. The command help lists all. Exit code 1: the server refused.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_min = 1,
        .operands_max = 32};
    char **operands, line[LINE_BYTES];
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? EXIT_USAGE : EXIT_OK;
    }
    if (!line_join(line, sizeof line, operands + 1, count - 1)) {
        error_set(error, ERROR_USAGE, "the command is longer than 500 bytes or has line breaks");
        return EXIT_USAGE;
    }
    if (count > 1 && line[0] == '\0') {
        error_set(error, ERROR_USAGE, "an empty command");
        return EXIT_USAGE;
    }
    return administer(operands[0], &options, line, error);
}
