/*
 * test_known_hosts.c: which server a client accepts: the key of its address, the one it had before,
 * the first time any; never another one afterwards.
 */
#include "protocol/session/known_hosts.h"
#include "shared/base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Place {
    char folder[64], path[96];
    Identity ada, eve;
} Place;

static int setup(void **context)
{
    static Place place;
    assert_int_equal(seal_start(), 0);
    log_set_level(LOG_QUIET);
    snprintf(place.folder, sizeof place.folder, "/tmp/plenum-known-XXXXXX");
    assert_non_null(mkdtemp(place.folder));
    snprintf(place.path, sizeof place.path, "%s/known_hosts", place.folder);
    identity_create(&place.ada);
    identity_create(&place.eve);
    *context = &place;
    return 0;
}

static int teardown(void **context)
{
    const Place *place = *context;
    unlink(place->path);
    return rmdir(place->folder);
}

static KnownHosts known_of(const Place *place, const char *where)
{
    KnownHosts known;
    ErrorText error = {0};
    assert_int_equal(known_hosts_init(&known, where, place->path, &error), 0);
    return known;
}

static void test_first_visit_and_change(void **context)
{
    Place *place = *context;
    KnownHosts known = known_of(place, "Example.org");
    assert_string_equal(known.host, "example.org:7340");
    assert_string_equal(known.address, "Example.org");
    assert_true(known_hosts_accept(&known, place->ada.public_key));
    assert_false(known_hosts_accept(&known, place->eve.public_key)); /* not in this process */
    /* Nor in the next; another port is another server. */
    known = known_of(place, "example.org:7340");
    assert_false(known_hosts_accept(&known, place->eve.public_key));
    assert_true(known_hosts_accept(&known, place->ada.public_key));
    known = known_of(place, "example.org:7341");
    assert_true(known_hosts_accept(&known, place->eve.public_key));
    known = known_of(place, "example.org:734"); /* no prefix of a line is the line */
    assert_true(known_hosts_accept(&known, place->eve.public_key));
    struct stat status;
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 077, 0);
}

static void test_pins(void **context)
{
    Place *place = *context;
    char key[IDENTITY_TEXT_BYTES], where[256];
    u8 back[IDENTITY_PUBLIC_BYTES];
    ErrorText error = {0};
    KnownHosts known;
    identity_to_text(place->ada.public_key, key);
    assert_true(identity_from_text(key, back));
    assert_memory_equal(back, place->ada.public_key, sizeof back);
    snprintf(where, sizeof where, "example.org#%s", key);
    known = known_of(place, where);
    assert_string_equal(known.address, "example.org");
    assert_false(known_hosts_accept(&known, place->eve.public_key));
    assert_true(known_hosts_accept(&known, place->ada.public_key));
    assert_false(known_hosts_pin(&known, place->eve.public_key)); /* of a token, say */
    assert_true(known_hosts_pin(&known, place->ada.public_key));
    assert_int_not_equal(access(place->path, F_OK), 0); /* pinned keys are not stored */
    key[10] = 'g';
    snprintf(where, sizeof where, "example.org#%s", key);
    assert_int_equal(known_hosts_init(&known, where, NULL, &error), ERROR_USAGE);
    assert_int_equal(known_hosts_init(&known, "example.org#", NULL, &error), ERROR_USAGE);
    snprintf(where, sizeof where, "%0255d", 7);
    assert_int_equal(known_hosts_init(&known, where, NULL, &error), ERROR_USAGE);
}

/* Lines by others, without an end, damaged: skipped. Without a file nothing is known. */
static void test_damaged_file(void **context)
{
    Place *place = *context;
    char key[IDENTITY_TEXT_BYTES];
    identity_to_text(place->ada.public_key, key);
    FILE *file = fopen(place->path, "w");
    assert_non_null(file);
    fprintf(file, "\n# mine\nexample.org:7340 %.20s\nexample.org:7340  %s\nexample.org:7340 %s",
            key, key, key);
    fclose(file);
    KnownHosts known = known_of(place, "example.org");
    assert_false(known_hosts_accept(&known, place->eve.public_key));
    assert_true(known_hosts_accept(&known, place->ada.public_key));
    ErrorText error = {0};
    assert_int_equal(known_hosts_init(&known, "example.org", NULL, &error), 0);
    assert_true(known_hosts_accept(&known, place->eve.public_key));
}

static void test_identity_file(void **context)
{
    Place *place = *context;
    Identity first, again;
    ErrorText error = {0};
    struct stat status;
    assert_int_equal(identity_load(place->path, &first, &error), 0); /* made */
    assert_int_equal(stat(place->path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(identity_load(place->path, &again, &error), 0);
    assert_memory_equal(&first, &again, sizeof first);
    u8 signature[IDENTITY_SIGNATURE_BYTES];
    identity_sign(&again, "a test", "abc", 3, signature);
    assert_true(identity_verify(first.public_key, "a test", "abc", 3, signature));
    assert_false(identity_verify(first.public_key, "another", "abc", 3, signature));
    assert_false(identity_verify(first.public_key, "a test", "abd", 3, signature));
    assert_false(identity_verify(place->ada.public_key, "a test", "abc", 3, signature));
    assert_int_equal(chmod(place->path, 0640), 0);
    assert_int_equal(identity_load(place->path, &again, &error), ERROR_DENIED);
    assert_non_null(strstr(error.text, "others may read"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {CASE(test_first_visit_and_change), CASE(test_pins),
                                       CASE(test_damaged_file), CASE(test_identity_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
