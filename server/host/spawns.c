/* spawns.c: things that users spawned, and their removal after the users left. */
#include "server/host/session.h"

#include <stdlib.h>

enum {
    /* Removals handed to the source in one iteration, and the time for them to take effect. */
    REMOVALS_MAX = 64,
    REMOVAL_MS = 2000
};

/* ---- accounts ---- */

void account_keep(Account *accounts, u64 id, const Permissions *permissions)
{
    accounts[id % ACCOUNTS] =
        (Account){id, permissions->actions, permissions->spawns, permissions->chats};
}

static void bucket_restore(TokenBucket *bucket, TokenBucket former, u64 now_ms)
{
    (void)token_bucket_take(&former, 0.0, now_ms); /* what came since */
    if (former.tokens < bucket->tokens) {
        bucket->tokens = former.tokens;
    }
}

void account_restore(const Account *accounts, u64 id, Permissions *permissions, u64 now_ms)
{
    const Account *account = &accounts[id % ACCOUNTS];
    if (account->id == id) {
        bucket_restore(&permissions->actions, account->actions, now_ms);
        bucket_restore(&permissions->spawns, account->spawns, now_ms);
        bucket_restore(&permissions->chats, account->chats, now_ms);
    }
}

/* ---- the list ---- */

static u64 stay_ms(const Host *host)
{
    return (u64)((f64)host->scene->hands.spawn_stay_s * 1000.0);
}

static void forget_gone(Host *host)
{
    Spawns *spawns = &host->spawns;
    u32 kept = 0;
    if (host->common.history.newest == NULL) {
        return; /* there is no world yet */
    }
    for (u32 i = 0; i < spawns->count; i++) {
        if (entity_list_find(&host->common.entities, spawns->items[i].entity) != NULL) {
            spawns->items[kept++] = spawns->items[i];
        }
    }
    spawns->count = kept;
    spawns->stale = false;
}

static bool reserve(Host *host)
{
    Spawns *spawns = &host->spawns;
    if (spawns->count == spawns->capacity) {
        forget_gone(host);
    }
    if (spawns->count < spawns->capacity) {
        return true;
    }
    u32 capacity = u32_max(2 * spawns->capacity, 64);
    Spawn *grown = realloc(spawns->items, capacity * sizeof *grown);
    if (grown != NULL) {
        spawns->items = grown;
        spawns->capacity = capacity;
    }
    return grown != NULL;
}

static void due_by(Spawns *spawns, u64 ms)
{
    spawns->due_ms = spawns->due_ms == 0 ? ms : u64_min(spawns->due_ms, ms);
}

/* The account of a user who is connected or has just left. */
static u64 account_of(Host *host, u32 user, bool *here)
{
    const Session *session = session_of_user(host, user);
    *here = session != NULL;
    for (u32 i = 0; session == NULL && i < FORMERS_MAX; i++) {
        if (host->formers[i].user == user) {
            return host->formers[i].account;
        }
    }
    return session != NULL ? session->account : 0;
}

void spawns_event(Host *host, const Event *event)
{
    Spawns *spawns = &host->spawns;
    if (event->kind == EVENT_RESET && event->code == EVENT_RESET_BACK) {
        forget_gone(host); /* the others are still their users' */
    } else if (event->kind == EVENT_RESET) {
        spawns->count = 0;
        spawns->due_ms = 0;
    }
    spawns->stale = spawns->stale || event->kind == EVENT_DESPAWN;
    if (event->kind != EVENT_SPAWN || event->user == 0 || host->common.status.status.replay ||
        !reserve(host)) {
        return;
    }
    bool here;
    u64 account = account_of(host, event->user, &here);
    u64 remove_ms = here || stay_ms(host) == 0 ? 0 : host->now_ms + stay_ms(host);
    spawns->items[spawns->count++] =
        (Spawn){event->entity.id, event->user, PREFAB_NONE, account, remove_ms};
    if (remove_ms != 0) {
        due_by(spawns, remove_ms);
    }
}

void spawns_restore(Host *host, u32 entity, u32 user, u64 account)
{
    Spawns *spawns = &host->spawns;
    if (!reserve(host)) {
        return;
    }
    bool stays = stay_ms(host) == 0 || session_of_user(host, user) != NULL;
    u64 remove_ms = stays ? 0 : host->now_ms + stay_ms(host);
    spawns->items[spawns->count++] = (Spawn){entity, user, PREFAB_NONE, account, remove_ms};
    if (remove_ms != 0) {
        due_by(spawns, remove_ms);
    }
}

void spawns_made_by(Host *host, u32 entity, u32 prefab)
{
    Spawns *spawns = &host->spawns;
    if (spawns->count > 0 && spawns->items[spawns->count - 1].entity == entity) {
        spawns->items[spawns->count - 1].prefab = prefab;
    }
}

u32 spawns_prefab(const Host *host, u32 entity)
{
    for (u32 i = host->spawns.count; i-- > 0;) {
        if (host->spawns.items[i].entity == entity) {
            return host->spawns.items[i].prefab;
        }
    }
    return PREFAB_NONE;
}

static u32 schedule(Host *host, u32 user, u64 remove_ms)
{
    Spawns *spawns = &host->spawns;
    u32 count = 0;
    forget_gone(host);
    for (u32 i = 0; i < spawns->count; i++) {
        if (spawns->items[i].user == user) {
            spawns->items[i].remove_ms = remove_ms;
            count++;
        }
    }
    if (count > 0 && remove_ms != 0) {
        due_by(spawns, remove_ms);
    }
    return count;
}

void spawns_left(Host *host, u32 user)
{
    if (stay_ms(host) > 0) {
        schedule(host, user, host->now_ms + stay_ms(host));
    }
}

void spawns_returned(Host *host, u32 user)
{
    schedule(host, user, 0);
}

u32 spawns_clear(Host *host, u32 user)
{
    return schedule(host, user, host->now_ms);
}

u32 spawns_of_account(Host *host, u64 account)
{
    Spawns *spawns = &host->spawns;
    u32 count = 0;
    if (spawns->stale) {
        forget_gone(host);
    }
    for (u32 i = 0; i < spawns->count; i++) {
        count += spawns->items[i].account == account;
    }
    return count;
}

/* Requests removals that are due from the source, and repeats those without effect. */
void spawns_run(Host *host)
{
    Spawns *spawns = &host->spawns;
    if (spawns->due_ms == 0 || host->now_ms < spawns->due_ms) {
        return;
    }
    u32 asked = 0;
    spawns->due_ms = 0;
    forget_gone(host);
    for (u32 i = 0; i < spawns->count; i++) {
        Spawn *spawn = &spawns->items[i];
        if (spawn->remove_ms == 0) {
            continue;
        }
        if (spawn->remove_ms <= host->now_ms && asked < REMOVALS_MAX) {
            Input remove = {.kind = INPUT_REMOVE,
                            .sequence = ++spawns->sequence,
                            .entity = spawn->entity,
                            .rotation = quat_identity()};
            (void)host->common.source->ops->input(host->common.source, &remove, 1);
            spawn->remove_ms = host->now_ms + REMOVAL_MS;
            asked++;
        }
        due_by(spawns, spawn->remove_ms);
    }
}
