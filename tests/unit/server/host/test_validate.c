/* test_validate.c: host validation reports each deliberately damaged member by name; and users are
 * found by id when their table slots collide. */
#include "server/host/session.h"

#include "server/author/scene_load.h"
#include "tests/support/dies.h"
#include "tests/support/join_rig.h"
#include "tests/support/process.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
    CLIENTS = 3,
    JOIN_MS = 600
};

typedef struct Fixture {
    Scene *scene;
    JoinRig rig;
    Connection *clients[CLIENTS];
} Fixture;

static void steps(Fixture *f, u32 ms)
{
    for (u32 i = 0; i < ms; i++) {
        join_rig_step(&f->rig, f->clients, CLIENTS);
    }
}

static int begin(void **state)
{
    static Fixture fixture;
    ErrorText error = {.text = ""};
    NetsimOptions line = {.delay_ms = 5.0f};
    fixture.scene = scene_load(source_path("shared/scenes/stacks.json"), &error);
    assert_non_null(fixture.scene);
    join_rig_start(&fixture.rig, fixture.scene, NULL, 0);
    for (u32 i = 0; i < CLIENTS; i++) {
        fixture.clients[i] = join_rig_connect(&fixture.rig, &line, &line);
    }
    steps(&fixture, JOIN_MS);
    assert_int_equal(fixture.rig.host->stats.clients, CLIENTS);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    Fixture *f = *state;
    for (u32 i = 0; i < CLIENTS; i++) {
        connection_destroy(f->clients[i]);
    }
    join_rig_stop(&f->rig);
    scene_destroy(f->scene);
    return 0;
}

static void validate(void *host)
{
    sessions_validate(host);
}

static void validate_stream(void *host)
{
    stream_validate(&((Host *)host)->common);
}

/* The session of the second client. */
static Session *second(Host *host)
{
    Session *session = session_of_user(host, 2);
    assert_non_null(session);
    return session;
}

#define FOUND(place, value, failed_check)                                                          \
    ASSERT_DAMAGE_FOUND(validate, h, place, value, failed_check)

static void damaged_sessions_are_found(void **state)
{
    Host *h = ((Fixture *)*state)->rig.host;
    Session *s = second(h);
    assert_lives(validate, h);
    FOUND(s->state, 9, "session->state <= SESSION_CLOSING");
    FOUND(s->state, SESSION_CLOSING, "session->sender == NULL");
    FOUND(s->peer, s->peer + 1, "session->peer == item");
    FOUND(s->user, 1, "session_of_user(host, session->user) == session");
    FOUND(s->user, 0, "session->user != 0");
    FOUND(s->user, 99, "session->user <= host->next_user");
    FOUND(s->role, ROLE_COUNT, "session->role < ROLE_COUNT");
    FOUND(s->permissions.role, ROLE_ADMIN, "session->permissions.role == session->role");
    FOUND(s->name[0], 0, "session->name[0] != 0");
    FOUND(s->resume, 0, "session->resume != 0");
    FOUND(s->welcomed, false, "session->welcomed");
    FOUND(s->sender, NULL, "session->world_sent == (session->sender != NULL)");
    FOUND(s->welcome_bytes, WELCOME_BYTES_MAX + 1, "session->welcome_bytes <= WELCOME_BYTES_MAX");
    FOUND(s->view.eye.x, NAN, "vec3_is_finite(session->view.eye)");
    FOUND(s->budget.bytes_s, NAN, "budget->bytes_s > 0.0");
    FOUND(s->budget.bytes_s, 1e12, "budget->bytes_s <= budget->max_bytes_s");
    FOUND(s->budget.loss_known, 1.5, "budget->loss_known <= 1.0");
    FOUND(s->permissions.spawns.tokens, 41.0, "bucket->tokens <= bucket->capacity");
    FOUND(s->permissions.malformed, MALFORMED_MAX + 2, "permissions->malformed");
    FOUND(s->debug_mask, 1, "session->debug_mask & ~host->debug_mask");
}

static void damaged_sums_are_found(void **state)
{
    Host *h = ((Fixture *)*state)->rig.host;
    FOUND(h->stats.clients, CLIENTS + 1, "live == host->stats.clients");
    FOUND(h->debug_mask, 1, "mask == host->debug_mask");
    FOUND(h->options.clients_max, CLIENTS - 1, "live <= host->options.clients_max");
    FOUND(h->formers[3].resume, 7, "former->user != 0");
    FOUND(h->formers[3].user, 99, "former->user <= host->next_user");
}

#define STREAM_FOUND(place, value, failed_check)                                                   \
    ASSERT_DAMAGE_FOUND(validate_stream, h, place, value, failed_check)

static void damaged_stream_is_found(void **state)
{
    Host *h = ((Fixture *)*state)->rig.host;
    assert_lives(validate_stream, h);
    STREAM_FOUND(h->common.history.newest, NULL, "newest != NULL");
    STREAM_FOUND(h->common.entities.items[3].field, 9, "entity_fits");
    STREAM_FOUND(h->common.cache_tick, h->common.cache_tick + 100, "stream->cache_tick <= ");
    STREAM_FOUND(h->common.epoch, 16, "stream->epoch <= 15");
}

/* The table of users has USER_SLOTS slots: ids that differ by that number share one. */
static void users_with_colliding_slots_are_found(void **state)
{
    Fixture *f = *state;
    Host *host = f->rig.host;
    Session *first = session_of_user(host, 1);
    assert_non_null(first);
    u32 other = connection_user(f->clients[0]) == 1 ? 1 : 0;
    connection_destroy(f->clients[other]);
    NetsimOptions line = {.delay_ms = 5.0f};
    host->next_user = USER_SLOTS;
    f->clients[other] = join_rig_connect(&f->rig, &line, &line);
    steps(f, JOIN_MS);
    const Session *late = session_of_user(host, USER_SLOTS + 1);
    assert_non_null(late);
    assert_ptr_not_equal(late, first);
    assert_int_equal(host->by_user[1], late->peer + 1);
    assert_ptr_equal(session_of_user(host, 1), first);
    assert_null(session_of_user(host, 0));
    assert_lives(validate, host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_sessions_are_found),
        cmocka_unit_test(damaged_sums_are_found),
        cmocka_unit_test(damaged_stream_is_found),
        cmocka_unit_test(users_with_colliding_slots_are_found),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
