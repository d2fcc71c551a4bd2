/*
 * test_service.c: the server as systemd runs it: readiness, signs of life, a passed socket, drain
 * and resume. This program plays systemd's part, by sd_notify(3) and sd_listen_fds(3).
 */
#include "shared/base/clock.h"
#include "tests/support/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE "tests/e2e/scenes/toys.json"

/* The manager's socket for reports. */
static int manager_open(char path[PATH_BYTES_MAX])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = 0, .tv_usec = 100000};
    snprintf(path, PATH_BYTES_MAX, "%s", test_path("notify"));
    unlink(path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return fd;
}

/* Reports that begin with `what` within some seconds; stops at `enough` of them. */
static u32 reports(int manager, const char *what, u32 enough, f64 seconds)
{
    u64 end = clock_now_ns() + (u64)(seconds * 1e9);
    u32 count = 0;
    while (count < enough && clock_now_ns() < end) {
        char text[512];
        ssize_t bytes = recv(manager, text, sizeof text - 1, 0);
        if (bytes > 0) {
            text[bytes] = '\0';
            count += strncmp(text, what, strlen(what)) == 0;
        }
    }
    return count;
}

static void service_start(Process *server, const char *before, const char *options)
{
    char script[4096];
    snprintf(script, sizeof script, "%s exec \"%s\" %s --scene \"%s\"", before,
             program_path("plenum-server"), options, source_path(SCENE));
    process_start(server, "sh", "-c", script, NULL);
}

static void test_reports(void **state)
{
    PL_UNUSED(state);
    Process server;
    char path[PATH_BYTES_MAX], before[2 * PATH_BYTES_MAX];
    int manager = manager_open(path);
    snprintf(before, sizeof before, "NOTIFY_SOCKET=\"%s\" WATCHDOG_USEC=600000 WATCHDOG_PID=$$",
             path);
    service_start(&server, before, "--listen 127.0.0.1:0");
    assert_int_equal(reports(manager, "READY=1", 1, 30.0), 1);
    assert_int_equal(reports(manager, "WATCHDOG=1", 5, 30.0), 5);
    assert_int_equal(reports(manager, "STATUS=tick ", 1, 30.0), 1);
    process_signal(&server, SIGTERM);
    assert_int_equal(reports(manager, "STOPPING=1", 1, 30.0), 1);
    assert_int_equal(process_wait(&server, 30.0), 0);
    close(manager);
}

/* A paused world still sends keep-alives. */
static void test_paused(void **state)
{
    PL_UNUSED(state);
    Process server;
    char path[PATH_BYTES_MAX], before[2 * PATH_BYTES_MAX];
    int manager = manager_open(path);
    snprintf(before, sizeof before, "NOTIFY_SOCKET=\"%s\" WATCHDOG_USEC=300000 WATCHDOG_PID=$$",
             path);
    service_start(&server, before, "--listen 127.0.0.1:0 --paused");
    assert_int_equal(reports(manager, "WATCHDOG=1", 5, 30.0), 5);
    assert_int_equal(process_stop(&server), 0);
    close(manager);
}

static void test_socket(void **state)
{
    PL_UNUSED(state);
    Process server, client;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    char before[128], line[128], port_line[32];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    u32 port = ntohs(address.sin_port);
    snprintf(before, sizeof before, "exec 3<&%d; LISTEN_FDS=1 LISTEN_PID=$$", fd);
    /* Another server may listen on the address of --listen: it is not looked at. */
    service_start(&server, before, "--listen 192.0.2.1:1");
    assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
    snprintf(port_line, sizeof port_line, "ready %u", port);
    assert_string_equal(line, port_line);
    process_start(&client, "plenum-client", "--headless", "--duration", "1", server_address(port),
                  NULL);
    assert_int_equal(process_wait(&client, 30.0), 0);
    assert_int_equal(process_stop(&server), 0);
    close(fd);
    /* What is no UDP socket is refused. */
    fd = socket(AF_INET, SOCK_STREAM, 0);
    snprintf(before, sizeof before, "exec 3<&%d; LISTEN_FDS=1 LISTEN_PID=$$", fd);
    service_start(&server, before, "");
    assert_int_equal(process_wait(&server, 30.0), 2);
    close(fd);
}

/* The unit's life: SIGTERM leaves a checkpoint, the next start continues from it. */
static void test_resume(void **state)
{
    PL_UNUSED(state);
    Process server;
    char options[2 * PATH_BYTES_MAX], line[128];
    snprintf(options, sizeof options, "--listen 127.0.0.1:0 --checkpoint \"%s\" --resume",
             test_path("checkpoints"));
    service_start(&server, "", options);
    assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
    clock_sleep_until_ns(clock_now_ns() + 500000000);
    assert_int_equal(process_stop(&server), 0);
    service_start(&server, "", options);
    assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
    assert_int_equal(process_stop(&server), 0);
    char *log = file_text(server.err);
    assert_non_null(log);
    assert_non_null(strstr(log, "continuing at tick "));
    free(log);
}

/* One instance of the unit template, by the command that stands there, with its folders here. */
static void instance_start(Process *server, const char *name, const char *notify)
{
    char script[8192];
    const char *at = test_folder();
    snprintf(script, sizeof script,
             "name=%s; at='%s'; scene=$(realpath '%s'); unit=$(realpath '%s'); program=$(realpath "
             "'%s')\n"
             "mkdir -p $at/etc $at/run/$name $at/state/$name; cd $at/state/$name\n"
             "printf 'scene = %%s\\nlisten = 127.0.0.1:0\\n' $scene > $at/etc/$name.conf\n"
             "command=$(sed -e ':a' -e '/\\\\$/N' -e 's/\\\\\\n//' -e 'ta' $unit | sed -n "
             "-e \"s/%%i/$name/g\" -e \"s,/usr/bin/plenum-server,$program,\" "
             "-e \"s,/etc/plenum,$at/etc,g\" -e \"s,/run/plenum,$at/run,g\" "
             "-e 's/^ExecStart=//p')\n"
             "NOTIFY_SOCKET='%s' STATE_DIRECTORY=$at/state/$name exec $command",
             name, at, source_path(SCENE), source_path("deploy/systemd/plenum-server@.service"),
             program_path("plenum-server"), notify);
    process_start(server, "sh", "-euc", script, NULL);
}

/* Port and key of a server; its line is "ready PORT", the one before "key KEY". */
static u32 instance_ready(Process *server, char *key, size_t bytes)
{
    char line[128];
    if (!process_line(server, "key ", key, bytes, 30.0)) {
        char *said = file_text(server->err);
        fail_msg("no key: %s", said != NULL ? said : "");
    }
    assert_true(process_line(server, "ready ", line, sizeof line, 30.0));
    return (u32)strtoul(line + 6, NULL, 10);
}

static void instance_played(u32 port)
{
    Process client;
    process_start(&client, "plenum-client", "--headless", "--duration", "1", server_address(port),
                  NULL);
    assert_int_equal(process_wait(&client, 30.0), 0);
}

static void instance_has(const char *name, const char *file)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/state/%s/%s", test_folder(), name, file);
    if (access(path, F_OK) != 0) {
        fail_msg("%s is missing", path);
    }
}

/* Two worlds under the unit template at once: each with its own port, key, console, audit log and
 * checkpoint. One is killed: the other continues, and the first comes back as what it was. */
static void test_two_instances(void **state)
{
    PL_UNUSED(state);
    Process town, pool, console;
    char notify[PATH_BYTES_MAX], town_key[128], pool_key[128], again[128], path[PATH_BYTES_MAX];
    int manager = manager_open(notify);
    instance_start(&town, "town", notify);
    instance_start(&pool, "pool", notify);
    u32 town_port = instance_ready(&town, town_key, sizeof town_key);
    u32 pool_port = instance_ready(&pool, pool_key, sizeof pool_key);
    assert_int_equal(reports(manager, "READY=1", 2, 30.0), 2);
    assert_true(town_port != pool_port);
    assert_string_not_equal(town_key, pool_key);
    instance_played(town_port);
    instance_played(pool_port);
    static const char *const names[] = {"town", "pool"};
    for (u32 i = 0; i < PL_COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/run/%s/console", test_folder(), names[i]);
        process_start(&console, "plenum-tool", "admin", path, "users", NULL);
        assert_int_equal(process_wait(&console, 30.0), 0);
        instance_has(names[i], "server.key");
        instance_has(names[i], "audit.log");
    }
    process_signal(&town, SIGKILL);
    (void)process_wait(&town, 30.0);
    instance_played(pool_port);
    instance_start(&town, "town", notify);
    town_port = instance_ready(&town, again, sizeof again);
    assert_string_equal(again, town_key);
    instance_played(town_port);
    instance_played(pool_port);
    assert_int_equal(process_stop(&town), 0);
    assert_int_equal(process_stop(&pool), 0);
    instance_has("town", "checkpoints/checkpoint.plworld");
    instance_has("pool", "checkpoints/checkpoint.plworld");
    close(manager);
}

/* Whatever the unit lets a world write to, or names for it, is that world's alone. */
static void test_template(void **state)
{
    PL_UNUSED(state);
    char line[512];
    FILE *unit = fopen(source_path("deploy/systemd/plenum-server@.service"), "r");
    assert_non_null(unit);
    u32 seen = 0;
    while (fgets(line, sizeof line, unit) != NULL) {
        static const char *const keys[] = {
            "StateDirectory=", "RuntimeDirectory=", "WorkingDirectory=",
            "Environment=",    "ExecStart=",        "    --checkpoint"};
        for (u32 i = 0; i < PL_COUNT(keys); i++) {
            if (strncmp(line, keys[i], strlen(keys[i])) != 0) {
                continue;
            }
            seen++;
            /* Each word that is a path below a folder that worlds share. */
            for (char *word = strtok(line, " =\n"); word != NULL; word = strtok(NULL, " =\n")) {
                bool shared =
                    strncmp(word, "plenum/", 7) == 0 || strncmp(word, "/var/lib/plenum", 15) == 0 ||
                    strncmp(word, "/run/plenum", 11) == 0 || strncmp(word, "/etc/plenum", 11) == 0;
                if (shared && strstr(word, "%i") == NULL) {
                    fail_msg("all worlds would share %s", word);
                }
            }
            break;
        }
    }
    assert_int_equal(seen, 6);
    fclose(unit);
}

/* A stand-in of the sidecar: stores its requests, and refuses the first READY. */
static const char sidecar[] =
    "import http.server, sys\n"
    "log, first = open(sys.argv[1], 'w', buffering=1), [True]\n"
    "class Sidecar(http.server.BaseHTTPRequestHandler):\n"
    "    def answer(self):\n"
    "        body = self.rfile.read(int(self.headers['Content-Length'])).decode()\n"
    "        bad = self.path == '/ready' and first[0]\n"
    "        first[0] = first[0] and not bad\n"
    "        log.write(f'{500 if bad else 200} {self.command} {self.path} {body}\\n')\n"
    "        self.send_response(500 if bad else 200)\n"
    "        self.send_header('Content-Length', '2')\n"
    "        self.end_headers()\n"
    "        self.wfile.write(b'{}')\n"
    "    do_POST = do_PUT = answer\n"
    "    log_message = lambda *a: None\n"
    "server = http.server.HTTPServer(('127.0.0.1', 0), Sidecar)\n"
    "print('port', server.server_port, flush=True)\n"
    "server.serve_forever()\n";

static bool was_asked(const char *path, const char *line, f64 seconds)
{
    u64 end = clock_now_ns() + (u64)(seconds * 1e9);
    while (clock_now_ns() < end) {
        char *text = file_text(path);
        bool found = text != NULL && strstr(text, line) != NULL;
        free(text);
        if (found) {
            return true;
        }
        clock_sleep_until_ns(clock_now_ns() + 50000000);
    }
    return false;
}

static void test_agones(void **state)
{
    PL_UNUSED(state);
    Process fleet, server, client;
    char asked[PATH_BYTES_MAX], before[256], line[128], key[256];
    snprintf(asked, sizeof asked, "%s", test_path("asked"));
    process_start(&fleet, "python3", "-c", sidecar, asked, NULL);
    assert_true(process_line(&fleet, "port ", line, sizeof line, 30.0));
    snprintf(before, sizeof before, "AGONES_SDK_HTTP_PORT=%s", line + 5);
    service_start(&server, before, "--listen 127.0.0.1:0");
    assert_true(process_line(&server, "key ", line, sizeof line, 30.0));
    snprintf(key, sizeof key,
             "200 PUT /metadata/annotation {\"key\":\"plenum-key\",\"value\":\"%s\"}\n", line + 4);
    assert_true(was_asked(asked, "500 POST /ready {}\n", 20.0));
    assert_true(was_asked(asked, "200 POST /ready {}\n", 20.0)); /* again */
    assert_true(was_asked(asked, key, 20.0));
    assert_true(was_asked(asked, "200 POST /health {}\n", 20.0));
    assert_false(was_asked(asked, "/allocate", 0.0));
    assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
    process_start(&client, "plenum-client", "--headless", "--duration", "3",
                  server_address((u32)strtoul(line + 6, NULL, 10)), NULL);
    assert_true(was_asked(asked, "200 POST /allocate {}\n", 20.0));
    assert_true(was_asked(asked, "{\"key\":\"plenum-clients\",\"value\":\"1\"}\n", 20.0));
    assert_int_equal(process_wait(&client, 30.0), 0);
    assert_int_equal(process_stop(&server), 0);
    assert_true(was_asked(asked, "200 POST /shutdown {}\n", 1.0));
    (void)process_stop(&fleet);
    /* Without a sidecar the server runs all the same, and ends in time. */
    service_start(&server, before, "--listen 127.0.0.1:0");
    assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
    assert_int_equal(process_stop(&server), 0);
    service_start(&server, "AGONES_SDK_HTTP_PORT=none", "--listen 127.0.0.1:0");
    assert_int_equal(process_wait(&server, 30.0), 2);
}

/* A server that was started in a terminal ends with it; one without reads its lists again
 * (test_admin). */
static void test_terminal(void **state)
{
    PL_UNUSED(state);
    Process server;
    char line[64], options[128], *summary;
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    for (u32 i = 0; i < 2; i++) {
        snprintf(options, sizeof options, "--listen 127.0.0.1:0 <%s",
                 i == 0 ? ptsname(terminal) : "/dev/null");
        service_start(&server, "", options);
        assert_true(process_line(&server, "ready ", line, sizeof line, 30.0));
        process_signal(&server, SIGHUP);
        if (i == 0) {
            assert_int_equal(process_wait(&server, 30.0), 0);
            summary = file_text(server.err);
            assert_non_null(strstr(summary, "the terminal was closed"));
            free(summary);
        } else {
            assert_int_equal(process_wait(&server, 0.5), -1);
        }
    }
    close(terminal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports),       cmocka_unit_test(test_paused),
        cmocka_unit_test(test_socket),        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_two_instances), cmocka_unit_test(test_template),
        cmocka_unit_test(test_agones),        cmocka_unit_test(test_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
