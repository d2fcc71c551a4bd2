/*
 * test_broker_access.c: authentication of and by brokers: passwords, tokens, keys and .creds files,
 * TLS with certificates that openssl makes here, against a real nats-server. No secret appears in a
 * command line or a log; none is sent to a wrong broker.
 */
#include "tests/support/broker_rig.h"
#include "tests/support/process.h"

#include <setjmp.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SCENE  "shared/scenes/cradle.json"
#define SECRET "sesame42"

/* A file that only its owner may read. */
static const char *secret_file(char path[PATH_BYTES_MAX], const char *name, const char *text)
{
    snprintf(path, PATH_BYTES_MAX, "%s", test_path(name));
    file_write(path, text);
    assert_int_equal(chmod(path, 0600), 0);
    return path;
}

static void shell(const char *script)
{
    Process process;
    process_start(&process, "sh", "-euc", script, NULL);
    int code = process_wait(&process, 60.0);
    if (code != 0) {
        char *said = file_text(process.err);
        fail_msg("exit %d: %s", code, said);
    }
}

/* An authority, a certificate for 127.0.0.1, one for another place, one of a client; and another
 * authority that signed none of them. */
static void certificates(void)
{
    static bool made;
    char script[8192];
    const char *at = test_folder();
    if (made) {
        return;
    }
    snprintf(
        script, sizeof script,
        "cd '%s'\n"
        "new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'\n"
        "for ca in ca other; do openssl req -x509 $new -keyout $ca.key -out $ca.pem -subj /CN=$ca; "
        "done\n"
        "sign() { openssl req $new -keyout $1.key -out $1.csr -subj /CN=$1\n"
        "printf '%%s\\n' \"$2\" > $1.ext\n"
        "openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out $1.pem "
        "-extfile $1.ext; }\n"
        "sign here subjectAltName=IP:127.0.0.1,DNS:localhost\n"
        "sign elsewhere subjectAltName=DNS:broker.example\n"
        "sign client extendedKeyUsage=clientAuth\n",
        at);
    shell(script);
    made = true;
}

/* The configuration of a broker with TLS, then `more`. */
static void tls_lines(char *out, size_t bytes, const char *certificate, const char *verify,
                      const char *more)
{
    const char *at = test_folder();
    certificates();
    snprintf(out, bytes, "tls { cert_file: \"%s/%s.pem\", key_file: \"%s/%s.key\"%s%s%s }\n%s\n",
             at, certificate, at, certificate,
             verify[0] != '\0' ? ", verify: true, ca_file: \"" : "", verify,
             verify[0] != '\0' ? "\"" : "", more);
}

static void tls_url(const RigBroker *broker, char *url, size_t bytes)
{
    snprintf(url, bytes, "tls%s", strstr(broker->url, "://"));
}

/* Nobody on this machine sees the secret in the list of processes, and no log has it. */
static void unseen(const Process *process, const char *secret)
{
    char path[64], line[8192];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)process->pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t bytes = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++) {
        line[i] = line[i] == '\0' ? ' ' : line[i];
    }
    assert_null(strstr(line, secret));
    char *said = file_text(process->err), *printed = file_text(process->out);
    assert_null(strstr(said, secret));
    assert_null(strstr(printed, secret));
    free(said);
    free(printed);
}

/* A world is published and followed with this file of a key. */
static void passes(const char *url, const char *creds, const char *ca, const char *secret)
{
    Process root, leaf;
    char http[32], leaf_http[32];
    u32 port = rig_free_port(http, sizeof http);
    u32 leaf_port = rig_free_port(leaf_http, sizeof leaf_http);
    const char *with = creds != NULL ? "--broker-creds" : "--log",
               *what = creds != NULL ? creds : "debug";
    (void)server_start(&root, "--http", http, "--publish", url, "--log", "debug", with, what, SCENE,
                       ca != NULL ? "--broker-ca" : NULL, ca, NULL);
    rig_metric_wait(port, "plenum_broker_ticks_total", 30.0);
    (void)server_start(&leaf, "--http", leaf_http, "--log", "debug", with, what, url,
                       ca != NULL ? "--broker-ca" : NULL, ca, NULL);
    rig_metric_wait(leaf_port, "plenum_broker_ticks_total", 30.0);
    unseen(&root, secret);
    unseen(&leaf, secret);
    assert_int_equal(process_stop(&leaf), 0);
    assert_int_equal(process_stop(&root), 0);
}

/* Nothing is published this way; the world continues and logs why. */
static void fails(const char *url, const char *creds, const char *ca, const char *secret,
                  const char *why)
{
    Process root;
    char http[32];
    u32 port = rig_free_port(http, sizeof http);
    const char *with = creds != NULL ? "--broker-creds" : "--log",
               *what = creds != NULL ? creds : "debug";
    (void)server_start(&root, "--http", http, "--publish", url, "--log", "debug", with, what, SCENE,
                       ca != NULL ? "--broker-ca" : NULL, ca, NULL);
    rig_metric_wait(port, "plenum_broker_failing", 1.0);
    rig_metric_wait(port, "plenum_world_tick", 60.0);
    assert_true(rig_metric(port, "plenum_broker_ticks_total") == 0.0);
    unseen(&root, secret);
    assert_int_equal(process_stop(&root), 0);
    char *said = file_text(root.err);
    if (strstr(said, why) == NULL) {
        fail_msg("expected %s in: %s", why, said);
    }
    free(said);
}

/* ---- who one is ---- */

static void test_password(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char good[PATH_BYTES_MAX], bad[PATH_BYTES_MAX];
    rig_broker_new_with(&broker, "password", "authorization { user: ada, password: " SECRET " }\n");
    passes(broker.url,
           secret_file(good, "password.creds", "# ours\nuser = ada\npassword = " SECRET "\n"), NULL,
           SECRET);
    fails(broker.url, secret_file(bad, "wrong.creds", "user = ada\npassword = wrong99\n"), NULL,
          "wrong99", "cannot publish");
    fails(broker.url, NULL, NULL, SECRET, "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

static void test_token(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char good[PATH_BYTES_MAX], bad[PATH_BYTES_MAX];
    rig_broker_new_with(&broker, "token", "authorization { token: \"" SECRET "\" }\n");
    passes(broker.url, secret_file(good, "token.creds", "token = " SECRET), NULL, SECRET);
    fails(broker.url, secret_file(bad, "wrong.creds", "token=wrong99\r\n"), NULL, "wrong99",
          "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

/* The key of the documentation of NATS, "nk -gen user -pubout". */
#define SEED   "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY"
#define PUBLIC "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"
#define OTHER  "SUAMK2FG4MI6UE3ACF3FK3OIQBCEIEZV7NSWFFEW63UXMRLFM2XLAXK4GY"

static void test_seed(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char good[PATH_BYTES_MAX], bad[PATH_BYTES_MAX];
    rig_broker_new_with(&broker, "seed", "authorization { users: [ { nkey: " PUBLIC " } ] }\n");
    passes(broker.url, secret_file(good, "seed.creds", SEED "\n"), NULL, SEED);
    fails(broker.url, secret_file(bad, "wrong.creds", OTHER "\n"), NULL, OTHER, "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

/* ---- .creds files: a JWT of a user, signed by an account's key, signed by an operator's ---- */

enum {
    KEY_TEXT = 60,
    JWT_BYTES = 4096
};

typedef struct Nkey {
    u8 public_key[32], secret[64];
    char text[KEY_TEXT], seed[KEY_TEXT];
} Nkey;

static u32 crc16(const u8 *bytes, u32 count)
{
    u32 crc = 0;
    for (u32 i = 0; i < count; i++) {
        for (u32 bit = 0; bit < 8; bit++) {
            u32 in = (bytes[i] >> (7 - bit) & 1u) ^ crc >> 15;
            crc = (crc << 1 & 0xffffu) ^ (in != 0 ? 0x1021u : 0u);
        }
    }
    return crc;
}

/* Base 32 of the bytes and their CRC. */
static void key_text(u8 *raw, u32 count, char *out)
{
    u32 crc = crc16(raw, count), used = 0;
    raw[count] = (u8)crc;
    raw[count + 1] = (u8)(crc >> 8);
    u32 bits = (count + 2) * 8;
    for (u32 at = 0; at < bits; at += 5) {
        u32 value = 0;
        for (u32 i = at; i < at + 5; i++) {
            value = value << 1 | (i < bits ? raw[i / 8] >> (7 - i % 8) & 1u : 0u);
        }
        out[used++] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[value];
    }
    out[used] = '\0';
}

static void nkey_make(Nkey *key, u32 prefix)
{
    u8 seed[32], raw[40];
    randombytes_buf(seed, sizeof seed);
    crypto_sign_seed_keypair(key->public_key, key->secret, seed);
    raw[0] = (u8)prefix;
    memcpy(raw + 1, key->public_key, 32);
    key_text(raw, 33, key->text);
    raw[0] = (u8)(144 | prefix >> 5);
    raw[1] = (u8)(prefix << 3);
    memcpy(raw + 2, seed, 32);
    key_text(raw, 34, key->seed);
}

static void jwt_part(char *jwt, const u8 *bytes, size_t count)
{
    size_t used = strlen(jwt);
    sodium_bin2base64(jwt + used, JWT_BYTES - used, bytes, count,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static void jwt_make(char jwt[JWT_BYTES], const Nkey *issuer, const Nkey *subject, const char *nats)
{
    static const char head[] = "{\"typ\":\"JWT\",\"alg\":\"ed25519-nkey\"}";
    char claims[2048];
    u8 signature[64];
    snprintf(claims, sizeof claims,
             "{\"jti\":\"x\",\"iat\":1700000000,\"iss\":\"%s\",\"name\":\"plenum\",\"sub\":\"%s\","
             "\"nats\":{%s,\"version\":2}}",
             issuer->text, subject->text, nats);
    jwt[0] = '\0';
    jwt_part(jwt, (const u8 *)head, sizeof head - 1);
    strcat(jwt, ".");
    jwt_part(jwt, (const u8 *)claims, strlen(claims));
    crypto_sign_detached(signature, NULL, (const u8 *)jwt, strlen(jwt), issuer->secret);
    strcat(jwt, ".");
    jwt_part(jwt, signature, sizeof signature);
}

static void creds_make(char *out, size_t bytes, const Nkey *account, const Nkey *user)
{
    char jwt[JWT_BYTES];
    jwt_make(jwt, account, user,
             "\"pub\":{},\"sub\":{},\"subs\":-1,\"data\":-1,\"payload\":-1,\"type\":\"user\"");
    snprintf(out, bytes,
             "-----BEGIN NATS USER JWT-----\n%s\n------END NATS USER JWT------\n\n"
             "-----BEGIN USER NKEY SEED-----\n%s\n------END USER NKEY SEED------\n",
             jwt, user->seed);
}

static void test_creds(void **state)
{
    PL_UNUSED(state);
    static const char limits[] =
        "\"limits\":{\"subs\":-1,\"data\":-1,\"payload\":-1,\"imports\":-1,\"exports\":-1,"
        "\"wildcards\":true,\"conn\":-1,\"leaf\":-1,\"mem_storage\":-1,\"disk_storage\":-1,"
        "\"streams\":-1,\"consumer\":-1},\"type\":\"account\"";
    static char lines[4 * JWT_BYTES], text[2 * JWT_BYTES], operator_jwt[JWT_BYTES], jwt[JWT_BYTES],
        system_jwt[JWT_BYTES];
    Nkey operator, account, users, user, stranger;
    RigBroker broker;
    char good[PATH_BYTES_MAX], bad[PATH_BYTES_MAX];
    nkey_make(&operator, 14 << 3);
    nkey_make(&account, 0);
    nkey_make(&users, 0);
    nkey_make(&user, 20 << 3);
    nkey_make(&stranger, 0);
    jwt_make(operator_jwt, &operator, & operator, "\"type\":\"operator\"");
    jwt_make(system_jwt, &operator, & account, "\"type\":\"account\"");
    jwt_make(jwt, &operator, & users, limits);
    snprintf(lines, sizeof lines,
             "operator: \"%s\"\nsystem_account: %s\nresolver: MEMORY\n"
             "resolver_preload: { %s: \"%s\", %s: \"%s\" }\n",
             operator_jwt, account.text, account.text, system_jwt, users.text, jwt);
    rig_broker_new_with(&broker, "creds", lines);
    creds_make(text, sizeof text, &users, &user);
    passes(broker.url, secret_file(good, "good.creds", text), NULL, user.seed);
    creds_make(text, sizeof text, &stranger, &user);
    fails(broker.url, secret_file(bad, "bad.creds", text), NULL, user.seed, "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

/* ---- who it is ---- */

static void test_tls(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char lines[4096], url[160], creds[PATH_BYTES_MAX], ca[PATH_BYTES_MAX], other[PATH_BYTES_MAX];
    tls_lines(lines, sizeof lines, "here", "", "authorization { token: \"" SECRET "\" }");
    rig_broker_new_with(&broker, "tls", lines);
    tls_url(&broker, url, sizeof url);
    secret_file(creds, "tls.creds", "token = " SECRET "\n");
    snprintf(ca, sizeof ca, "%s", test_path("ca.pem"));
    snprintf(other, sizeof other, "%s", test_path("other.pem"));
    passes(url, creds, ca, SECRET);
    /* The signer is not trusted, or another one is. */
    fails(url, creds, NULL, SECRET, "SSL Error");
    fails(url, creds, other, SECRET, "SSL Error");
    /* The system's list has it. */
    setenv("SSL_CERT_FILE", ca, 1);
    passes(url, creds, NULL, SECRET);
    unsetenv("SSL_CERT_FILE");
    /* In clear it lets nobody in. */
    fails(broker.url, creds, NULL, SECRET, "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

/* It has a good certificate, of another place. */
static void test_other_name(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char lines[4096], url[160], creds[PATH_BYTES_MAX], ca[PATH_BYTES_MAX];
    tls_lines(lines, sizeof lines, "elsewhere", "", "");
    rig_broker_new_with(&broker, "elsewhere", lines);
    tls_url(&broker, url, sizeof url);
    snprintf(ca, sizeof ca, "%s", test_path("ca.pem"));
    fails(url, secret_file(creds, "name.creds", "token = " SECRET "\n"), ca, SECRET, "SSL Error");
    rig_broker_down(&broker, SIGTERM);
}

/* Both sides have a certificate. */
static void test_mutual(void **state)
{
    PL_UNUSED(state);
    RigBroker broker;
    char lines[4096], url[160], text[3 * PATH_BYTES_MAX], creds[PATH_BYTES_MAX], ca[PATH_BYTES_MAX];
    snprintf(ca, sizeof ca, "%s", test_path("ca.pem"));
    tls_lines(lines, sizeof lines, "here", ca, "");
    rig_broker_new_with(&broker, "mutual", lines);
    tls_url(&broker, url, sizeof url);
    snprintf(text, sizeof text, "certificate = %s/client.pem\nkey = %s/client.key\n", test_folder(),
             test_folder());
    passes(url, secret_file(creds, "mutual.creds", text), ca, SECRET);
    fails(url, NULL, ca, SECRET, "cannot publish");
    rig_broker_down(&broker, SIGTERM);
}

/* One in the middle answers in clear: tls:// means that it hears nothing. */
static void test_downgrade(void **state)
{
    PL_UNUSED(state);
    static const char info[] =
        "INFO {\"server_id\":\"x\",\"version\":\"2.9.10\",\"max_payload\":1048576,"
        "\"headers\":true,\"jetstream\":true,\"auth_required\":true}\r\n";
    Process root;
    char url[64], creds[PATH_BYTES_MAX], heard[4096];
    u32 port;
    struct timeval patience = {.tv_sec = 10};
    int listener = rig_tcp(0, &port), tries = 0;
    size_t used = 0;
    assert_int_equal(listen(listener, 8), 0);
    setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    snprintf(url, sizeof url, "tls://127.0.0.1:%u/x", port);
    secret_file(creds, "downgrade.creds", "token = " SECRET "\n");
    (void)server_start(&root, "--publish", url, "--broker-creds", creds, SCENE, NULL);
    for (; tries < 3; tries++) {
        int fd = accept(listener, NULL, NULL);
        assert_true(fd >= 0);
        assert_true(write(fd, info, sizeof info - 1) == sizeof info - 1);
        ssize_t got;
        while (used < sizeof heard - 1 &&
               (got = read(fd, heard + used, sizeof heard - 1 - used)) > 0) {
            used += (size_t)got;
        }
        close(fd);
    }
    heard[used] = '\0';
    assert_null(strstr(heard, SECRET));
    assert_null(strstr(heard, "CONNECT"));
    assert_int_equal(process_stop(&root), 0);
    close(listener);
}

/* ---- files ---- */

/* Files that are readable by others, or contain no key, are refused at the start by name, without
 * revealing their content. */
static void test_files(void **state)
{
    PL_UNUSED(state);
    static const struct {
        const char *text, *why;
        u32 mode;
    } files[] = {
        {"token = " SECRET "\n", "chmod 600", 0644},
        {"token = " SECRET "\n", "chmod 600", 0640},
        {SECRET "\n", "line 1", 0600},
        {"user = ada\n", "expected user and password", 0600},
        {"password = " SECRET "\n", "expected user and password", 0600},
        {"user = ada\npassword = " SECRET "\ntoken = " SECRET "\n", "line 3", 0600},
        {"", "expected user", 0600},
        {"certificate = x\n", "expected user", 0600},
        {"SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VA\n", "line 1", 0600},
    };
    char path[PATH_BYTES_MAX];
    for (u32 i = 0; i < PL_COUNT(files); i++) {
        Process server;
        secret_file(path, "files.creds", files[i].text);
        assert_int_equal(chmod(path, files[i].mode), 0);
        process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--publish",
                      "nats://127.0.0.1:1/x", "--broker-creds", path, SCENE, NULL);
        assert_true(process_wait(&server, 20.0) > 0);
        char *said = file_text(server.err);
        if (strstr(said, files[i].why) == NULL) {
            fail_msg("%u: expected %s in: %s", i, files[i].why, said);
        }
        assert_null(strstr(said, SECRET));
        assert_null(strstr(said, "SUACSSL3"));
        free(said);
    }
    /* A FIFO would be waited for. */
    Process server;
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    process_start(&server, "plenum-server", "--listen", "127.0.0.1:0", "--broker-creds", path,
                  "nats://127.0.0.1:1/x", NULL);
    assert_true(process_wait(&server, 20.0) > 0);
}

int main(void)
{
    if (sodium_init() < 0) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_password), cmocka_unit_test(test_token),
        cmocka_unit_test(test_seed),     cmocka_unit_test(test_creds),
        cmocka_unit_test(test_tls),      cmocka_unit_test(test_other_name),
        cmocka_unit_test(test_mutual),   cmocka_unit_test(test_downgrade),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
