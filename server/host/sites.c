/*
 * sites.c: followers of a published world through its broker. They get chat, users and presences,
 * and, if the server lets relays speak (--relays), send the same for their own users, who become
 * guests here like those of relays (guests.c). A site has no peer: its Session only identifies the
 * owner of its guests. All data from sites is untrusted, limited and counted.
 */
#include "server/host/company.h"
#include "server/host/session.h"

#include "shared/base/check.h"
#include "shared/base/hash.h"
#include "shared/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SITES_MAX = 64,
    SITE_SILENT_MS = 15000, /* they name their users each 5 s */
    SITE_EACH_MAX = 64,     /* payloads at a time */
    SITE_PAYLOADS_S = 60,
    SITE_LISTS_S = 4, /* lists of users */
    STRANGERS_S = 20, /* payloads of all that are not known yet */
    USERS_MS = 50,    /* interval at which users are compared ... */
    USERS_REST_MS = 5000,
    PRESENCES_MS = 100, /* ... and presences */
    PRESENCES_REST_MS = 500,
    PRESENCES_EACH = 512, /* in a payload */
    LOG_MS = 10000,
};

typedef struct Site {
    u64 follower; /* 0: free */
    u64 heard_ms;
    TokenBucket payloads, lists;
    Session relay; /* session that owns its guests */
} Site;

struct Sites {
    Site *items; /* [SITES_MAX]; NULL: followers may not speak */
    TokenBucket strangers;
    u64 refused, logged_ms;
    u64 users_ms, users_hash, users_sent_ms;
    u64 presences_ms, presences_hash, presences_sent_ms;
    u32 presences_from; /* user at which the next payload begins */
    u32 serial;
};

void sites_destroy(struct Sites *sites)
{
    if (sites != NULL) {
        free(sites->items);
        free(sites);
    }
}

u64 sites_refused(const Host *host)
{
    return host->sites != NULL ? host->sites->refused : 0;
}

/* ---- what they send ---- */

static void refuse(Host *host, const char *why)
{
    struct Sites *sites = host->sites;
    sites->refused++;
    if (host->now_ms >= sites->logged_ms) {
        log_warn("broker: what a follower sent is refused (%s): %llu so far", why,
                 (unsigned long long)sites->refused);
        sites->logged_ms = host->now_ms + LOG_MS;
    }
}

static void site_begin(Host *host, Site *site, u64 follower)
{
    memset(site, 0, sizeof *site);
    site->follower = follower;
    token_bucket_init(&site->payloads, SITE_PAYLOADS_S, 2.0 * SITE_PAYLOADS_S, host->now_ms);
    token_bucket_init(&site->lists, SITE_LISTS_S, 4.0 * SITE_LISTS_S, host->now_ms);
    Session *relay = &site->relay;
    relay->peer = host->session_capacity + (u32)(site - host->sites->items);
    relay->role = ROLE_PARTICIPANT;
    relay->speaks = true;
    relay->account = hash_bytes(&follower, sizeof follower, 0);
    snprintf(relay->name, sizeof relay->name, "broker");
}

static void site_end(Host *host, Site *site)
{
    guests_end(host, &site->relay);
    site->follower = 0;
}

/* The site of a follower; 0: a free one. NULL: there is none. */
static Site *site_of(Host *host, u64 follower)
{
    for (u32 i = 0; i < SITES_MAX; i++) {
        if (host->sites->items[i].follower == follower) {
            return &host->sites->items[i];
        }
    }
    return NULL;
}

/* A follower that lists users becomes known, if there is capacity; NULL: refused. */
static Site *site_new(Host *host, u64 follower, const Message *message)
{
    bool names = message->kind == MESSAGE_GUESTS && message->guests.count > 0;
    Site *site = names ? site_of(host, 0) : NULL;
    if (site != NULL) {
        site_begin(host, site, follower);
    } else {
        refuse(host, names ? "too many followers" : "of one that has named no users");
    }
    return site;
}

static void list_receive(Host *host, Site *site, Message *message)
{
    u32 given[GUESTS_MAX];
    if (!token_bucket_take(&site->lists, 1.0, host->now_ms)) {
        refuse(host, "too many lists of users");
        return;
    }
    u32 count = message->guests.count;
    guests_named(host, &site->relay, message, given);
    Message answer = {.kind = MESSAGE_GUESTS}; /* with the list that it answers */
    answer.guests.users = message->guests.users;
    answer.guests.count = answer.guests.given_count = count;
    answer.guests.given = given;
    host->common.source->ops->follower_answer(host->common.source, site->follower, &answer);
    if (count == 0) {
        site_end(host, site);
    }
}

static void payload_receive(Host *host, const LivePayload *payload)
{
    LiveHead head;
    Message message;
    u8 *storage;
    if (host->sites->items == NULL ||
        live_read_head(payload->data, payload->bytes, &head) != ERROR_OK || head.follower == 0) {
        refuse(host, "not of a follower");
        return;
    }
    Site *site = site_of(host, head.follower);
    TokenBucket *bucket = site != NULL ? &site->payloads : &host->sites->strangers;
    if (!token_bucket_take(bucket, 1.0, host->now_ms)) {
        refuse(host, "too much");
        return;
    }
    if (live_read(LIVE_FROM_FOLLOWER, payload->data, payload->bytes, &head, &message, &storage) !=
        ERROR_OK) {
        refuse(host, "not a message of a follower");
        return;
    }
    site = site != NULL ? site : site_new(host, head.follower, &message);
    if (site == NULL) {
        message_free(storage);
        return;
    }
    site->heard_ms = host->now_ms;
    if (message.kind == MESSAGE_GUESTS) {
        list_receive(host, site, &message);
    } else if (message.kind == MESSAGE_CHAT) {
        guest_chat(host, &site->relay, &message);
    } else {
        guests_presence(host, &site->relay, &message);
    }
    message_free(storage);
}

static void followers_hear(Host *host)
{
    const SourceOps *ops = host->common.source->ops;
    for (u32 i = 0; i < SITE_EACH_MAX; i++) {
        LivePayload payload = ops->follower_payload(host->common.source);
        if (payload.data == NULL) {
            break;
        }
        payload_receive(host, &payload);
        free(payload.data);
    }
    for (u32 i = 0; host->sites->items != NULL && i < SITES_MAX; i++) {
        Site *site = &host->sites->items[i];
        if (site->follower != 0 && host->now_ms > site->heard_ms + SITE_SILENT_MS) {
            site_end(host, site);
        }
    }
}

/* ---- what they get ---- */

static void users_notify(Host *host)
{
    struct Sites *sites = host->sites;
    Message message = {.kind = MESSAGE_ROSTER};
    u32 count = 0;
    for (u32 i = 0; i < host->session_capacity && count < CLIENTS_MAX; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE) {
            UserInfo *user = &host->roster[count++];
            memset(user, 0, sizeof *user); /* hashed byte by byte */
            user->id = session->user;
            user->role = session->role;
            user->color = session->color;
            memcpy(user->name, session->name, sizeof user->name);
        }
    }
    qsort(host->roster, count, sizeof *host->roster, user_info_order);
    u64 hash = hash_bytes(host->roster, count * sizeof *host->roster, count);
    if (hash != sites->users_hash || host->now_ms >= sites->users_sent_ms + USERS_REST_MS) {
        sites->users_hash = hash;
        sites->users_sent_ms = host->now_ms;
        message.roster.users = host->roster;
        message.roster.count = count;
        host->common.source->ops->notify(host->common.source, &message);
    }
}

/* In the order of user ids; those that do not fit follow in the next payloads. */
static void presences_notify(Host *host)
{
    struct Sites *sites = host->sites;
    Message message = {.kind = MESSAGE_PRESENCE};
    u32 count = presence_gather(host), at = 0;
    u64 hash = presence_hash(host->hands, count);
    bool whole = count <= PRESENCES_EACH;
    if (whole && hash == sites->presences_hash &&
        host->now_ms < sites->presences_sent_ms + PRESENCES_REST_MS) {
        return;
    }
    while (!whole && at < count && host->hands[at].user < sites->presences_from) {
        at++;
    }
    u32 last = u32_min(count, at + PRESENCES_EACH);
    message.presence.from = whole ? 0 : sites->presences_from;
    message.presence.to = last < count ? host->hands[last].user - 1 : UINT32_MAX;
    sites->presences_from = last < count ? host->hands[last].user : 0;
    message.presence.presences = host->hands + at;
    message.presence.count = last - at;
    message.presence.serial = ++sites->serial;
    sites->presences_hash = hash;
    sites->presences_sent_ms = host->now_ms;
    host->common.source->ops->notify(host->common.source, &message);
}

/* ---- both ---- */

static bool sites_open(Host *host)
{
    if (host->sites == NULL) {
        host->sites = calloc(1, sizeof *host->sites);
    }
    if (host->sites != NULL && host->sites->items == NULL && host->options.relays) {
        host->sites->items = calloc(SITES_MAX, sizeof *host->sites->items);
        token_bucket_init(&host->sites->strangers, STRANGERS_S, SITES_MAX, host->now_ms);
    }
    return host->sites != NULL;
}

void sites_run(Host *host)
{
    if (host->common.source->ops->follower_payload == NULL ||
        !host->common.status.broker.publishing || host->draining || !sites_open(host)) {
        return;
    }
    followers_hear(host);
    if (host->now_ms >= host->sites->users_ms) {
        host->sites->users_ms = host->now_ms + USERS_MS;
        users_notify(host);
    }
    if (host->now_ms >= host->sites->presences_ms) {
        host->sites->presences_ms = host->now_ms + PRESENCES_MS;
        presences_notify(host);
    }
}
