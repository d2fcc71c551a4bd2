/* session_validate.c: checks the invariants of the sessions of a host (session.h). See
 * sessions_validate. */
#include "server/host/session.h"
#include "shared/base/check.h"

#include <string.h>

static void validate_bucket(u32 item, const TokenBucket *bucket)
{
    CHECK_ITEM(item, bucket->rate_s > 0.0 && bucket->capacity > 0.0);
    CHECK_ITEM(item, bucket->tokens >= 0.0 && bucket->tokens <= bucket->capacity);
}

static void validate_permissions(u32 item, const Permissions *permissions)
{
    validate_bucket(item, &permissions->packets);
    validate_bucket(item, &permissions->bytes);
    validate_bucket(item, &permissions->moves);
    validate_bucket(item, &permissions->actions);
    validate_bucket(item, &permissions->spawns);
    validate_bucket(item, &permissions->chats);
    CHECK_ITEM(item, permissions->malformed <= MALFORMED_MAX + 1); /* that one ended it */
}

static void validate_budget(u32 item, const Budget *budget)
{
    CHECK_ITEM(item, budget->bytes_s > 0.0 && budget->bytes_s <= budget->max_bytes_s);
    CHECK_ITEM(item, budget->tokens > -INFINITY && budget->tokens < INFINITY);
    CHECK_ITEM(item, budget->loss >= 0.0 && budget->loss <= 1.0);
    CHECK_ITEM(item, budget->loss_known >= 0.0 && budget->loss_known <= 1.0);
}

/* A free session owns nothing and has nothing to send. */
static void validate_absent(u32 item, const Session *session)
{
    CHECK_ITEM(item, session->sender == NULL && session->bulk == NULL && session->own == NULL);
    CHECK_ITEM(item, !session->welcomed && session->debug_mask == 0);
}

static void validate_live(Host *host, u32 item, const Session *session)
{
    CHECK_ITEM(item, session->user != 0 && session->user <= host->next_user);
    CHECK_ITEM(item, session_of_user(host, session->user) == session);
    CHECK_ITEM(item, session->guest_of != 0 || (session->resume != 0 && session->welcomed));
    CHECK_ITEM(item, session->role < ROLE_COUNT && session->permissions.role == session->role);
    CHECK_ITEM(item, session->name[0] != 0);
    CHECK_ITEM(item, memchr(session->name, 0, sizeof session->name) != NULL);
    CHECK_ITEM(item, (session->debug_mask & ~host->debug_mask) == 0);
    CHECK_ITEM(item, session->world_sent == (session->sender != NULL));
    CHECK_ITEM(item, !session->encoding || (host->encoder != NULL && session->sender != NULL));
    CHECK_ITEM(item, !session->world_here || session->world_sent);
    const Stream *own = session->own;
    CHECK_ITEM(item, own == NULL || (own->source != NULL && !own->abandoned));
    CHECK_ITEM(item, vec3_is_finite(session->view.eye) && session->rtt_ms >= 0.0);
    if (session->guest_of == 0) {
        validate_budget(item, &session->budget);
    }
}

static void validate_session(Host *host, u32 item, const Session *session)
{
    CHECK_ITEM(item, session->state <= SESSION_CLOSING);
    CHECK_ITEM(item, session->welcome_bytes <= WELCOME_BYTES_MAX);
    if (session->state == SESSION_LIVE) {
        validate_live(host, item, session);
    } else if (session->state == SESSION_WAITING) {
        CHECK_ITEM(item, session->user != 0 && session->welcomed && session->sender == NULL);
    } else {
        validate_absent(item, session);
    }
    if (session->state != SESSION_FREE) {
        CHECK_ITEM(item, session->peer == item);
        validate_permissions(item, &session->permissions);
        validate_bucket(item, &session->refusals);
    }
}

/* Each resume secret belongs to a user who left. */
static void validate_formers(const Host *host)
{
    for (u32 i = 0; i < FORMERS_MAX; i++) {
        const Former *former = &host->formers[i];
        CHECK_ITEM(i, former->resume == 0 || former->user != 0);
        CHECK_ITEM(i, former->user <= host->next_user);
    }
}

void sessions_validate(Host *host)
{
    u32 live = 0, waiting = 0, mask = 0, own = 0;
    for (u32 i = 0; i < host->session_capacity; i++) {
        validate_session(host, i, &host->sessions[i]);
        live += host->sessions[i].state == SESSION_LIVE && host->sessions[i].guest_of == 0;
        const Session *session = &host->sessions[i];
        waiting += session->waits;
        own += session->own != NULL;
        CHECK_ITEM(i, !session->waits || session->state == SESSION_WAITING);
        mask |= host->sessions[i].debug_mask;
    }
    CHECK(live == host->stats.clients && live <= host->options.clients_max);
    CHECK(waiting == host->stats.waiting && waiting <= host->options.queue_max);
    CHECK(mask == host->debug_mask);
    CHECK(own == host->own_count && own <= host->options.own_times);
    validate_formers(host);
}

void stream_validate(const Stream *stream)
{
    history_validate(&stream->history);
    chunk_cache_validate(stream->cache);
    CHECK(stream->epoch <= 15);
    if (stream->history.newest != NULL) {
        entity_list_validate(&stream->entities, stream->history.newest->fields);
        CHECK(!stream->cache_begun || stream->cache_tick <= stream->history.newest->tick);
    }
}
