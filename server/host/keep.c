/* keep.c: the host's part of a checkpoint: who may resume as which user, and who spawned which
 * things. It is stored in the checkpoint's file, which only the server's user may read, and is
 * nevertheless checked when read. A world saved by name has only who spawned what, which says
 * something to the server that saved it, and to one that continues from a checkpoint of that. */
#include "server/host/session.h"
#include "shared/base/hash.h"
#include "shared/base/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEEP_MS = 1000,
    SPAWNS_KEPT_MAX = 32768
};

typedef struct KeptHead {
    u8 magic[8];
    u32 next_user, user_count, spawn_count, reserved;
    u8 account_key[SEAL_HASH_KEY_BYTES]; /* accounts are hashes with it */
} KeptHead;

typedef struct KeptUser {
    u64 resume, token_id, account;
    u32 user, color;
} KeptUser;

typedef struct KeptSpawn {
    u64 account;
    u32 entity, user;
} KeptSpawn;

typedef struct OwnersHead {
    u8 magic[8];
    u64 lineage; /* servers that have the same users */
    u32 count, reserved;
} OwnersHead;

PL_STATIC_ASSERT(sizeof(OwnersHead) == 24, "no padding in files");
PL_STATIC_ASSERT(sizeof(KeptHead) == 24 + SEAL_HASH_KEY_BYTES, "no padding in files");
PL_STATIC_ASSERT(sizeof(KeptUser) == 32 && sizeof(KeptSpawn) == 16, "no padding in files");

static const u8 kept_magic[8] = "PLKEPT1", owners_magic[8] = "PLOWNS1";

/* ---- keeping ---- */

/* Connected users, then those who may still return, the most recent first. */
static u32 users_of(const Host *host, KeptUser users[FORMERS_MAX])
{
    u32 count = 0;
    for (u32 i = 0; i < host->session_capacity && count < FORMERS_MAX; i++) {
        const Session *session = &host->sessions[i];
        if (session->state == SESSION_LIVE) {
            users[count++] = (KeptUser){session->resume, session->has_token ? session->token_id : 0,
                                        session->account, session->user, session->color};
        }
    }
    for (u32 i = 0; i < FORMERS_MAX && count < FORMERS_MAX; i++) {
        u32 slot = (host->former_next + FORMERS_MAX - 1 - i) % FORMERS_MAX;
        const Former *former = &host->formers[slot];
        if (former->resume != 0 && former->until_ms > host->now_ms) {
            users[count++] = (KeptUser){former->resume, former->token_id, former->account,
                                        former->user, former->color};
        }
    }
    return count;
}

static void put_spawns(const Host *host, u32 count, u8 *out)
{
    for (u32 i = 0; i < count; i++) {
        const Spawn *spawn = &host->spawns.items[i];
        const KeptSpawn kept = {spawn->account, spawn->entity, spawn->user};
        memcpy(out + i * sizeof kept, &kept, sizeof kept);
    }
}

/* Of the secret that accounts are hashes with: those of another server mean nothing here. */
static u64 lineage_of(const Host *host)
{
    return seal_hash(host->admit->key, owners_magic, sizeof owners_magic);
}

u8 *keep_owners(Host *host, u32 *bytes)
{
    OwnersHead head = {.lineage = lineage_of(host),
                       .count = u32_min(host->spawns.count, SPAWNS_KEPT_MAX)};
    memcpy(head.magic, owners_magic, sizeof head.magic);
    *bytes = 0;
    u8 *note = malloc(sizeof head + head.count * sizeof(KeptSpawn));
    if (note != NULL) {
        memcpy(note, &head, sizeof head);
        put_spawns(host, head.count, note + sizeof head);
        *bytes = (u32)(sizeof head + head.count * sizeof(KeptSpawn));
    }
    return note;
}

void keep_run(Host *host)
{
    if (host->common.source->ops->keep == NULL || host->now_ms < host->keep_ms) {
        return;
    }
    host->keep_ms = host->now_ms + KEEP_MS;
    KeptUser users[FORMERS_MAX];
    KeptHead head = {.next_user = host->next_user, .user_count = users_of(host, users)};
    head.spawn_count = u32_min(host->spawns.count, SPAWNS_KEPT_MAX);
    memcpy(head.magic, kept_magic, sizeof head.magic);
    memcpy(head.account_key, host->admit->key, sizeof head.account_key);
    size_t users_bytes = head.user_count * sizeof *users;
    size_t bytes = sizeof head + users_bytes + head.spawn_count * sizeof(KeptSpawn);
    u8 *note = malloc(bytes);
    if (note == NULL) {
        return;
    }
    memcpy(note, &head, sizeof head);
    memcpy(note + sizeof head, users, users_bytes);
    put_spawns(host, head.spawn_count, note + sizeof head + users_bytes);
    u64 hash = hash_bytes(note, bytes, 0);
    if (hash != host->kept_hash) {
        host->kept_hash = hash;
        host->common.source->ops->keep(host->common.source, note, (u32)bytes);
    }
    free(note);
}

/* ---- finding again ---- */

/* No user is connected yet: all of them may return for a while, with empty hands. */
static void take_user(Host *host, const KeptUser *kept)
{
    Former *former = &host->formers[host->former_next++ % FORMERS_MAX];
    *former = (Former){.resume = kept->resume,
                       .until_ms = host->now_ms + RESUME_MS_MAX,
                       .token_id = kept->token_id,
                       .user = kept->user,
                       .color = kept->color,
                       .account = kept->account};
    release_later(host, kept->user, UINT32_MAX);
}

static bool is_whole(const KeptHead *head, u32 bytes)
{
    return memcmp(head->magic, kept_magic, sizeof head->magic) == 0 &&
           head->user_count <= FORMERS_MAX && head->spawn_count <= SPAWNS_KEPT_MAX &&
           bytes == sizeof *head + head->user_count * sizeof(KeptUser) +
                        head->spawn_count * sizeof(KeptSpawn);
}

static bool users_are_valid(const KeptHead *head, const u8 *users)
{
    for (u32 i = 0; i < head->user_count; i++) {
        KeptUser kept;
        memcpy(&kept, users + i * sizeof kept, sizeof kept);
        if (kept.resume == 0 || kept.user == 0 || kept.user > head->next_user) {
            return false;
        }
    }
    return true;
}

static void take_spawns(Host *host, const u8 *spawns, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        KeptSpawn kept;
        memcpy(&kept, spawns + i * sizeof kept, sizeof kept);
        spawns_restore(host, kept.entity, kept.user, kept.account);
    }
}

void keep_owners_restore(Host *host)
{
    const SourceOps *ops = host->common.source->ops;
    SourceNote note = ops->loaded != NULL ? ops->loaded(host->common.source) : (SourceNote){0};
    OwnersHead head;
    if (note.count < sizeof head) {
        return;
    }
    memcpy(&head, note.bytes, sizeof head);
    if (memcmp(head.magic, owners_magic, sizeof head.magic) != 0 ||
        head.lineage != lineage_of(host) || head.count > SPAWNS_KEPT_MAX ||
        note.count != sizeof head + head.count * sizeof(KeptSpawn)) {
        return; /* by another server: what is in it belongs to nobody */
    }
    take_spawns(host, note.bytes + sizeof head, head.count);
}

void keep_restore(Host *host)
{
    u32 bytes = 0;
    const u8 *note = host->common.source->ops->kept != NULL
                         ? host->common.source->ops->kept(host->common.source, &bytes)
                         : NULL;
    KeptHead head;
    if (note == NULL || bytes == 0 ||
        (bytes >= sizeof owners_magic && memcmp(note, owners_magic, sizeof owners_magic) == 0)) {
        return; /* nothing, or a world saved by name: whose its things are, another server knew */
    }
    if (bytes >= sizeof head) {
        memcpy(&head, note, sizeof head);
    }
    const u8 *users = note + sizeof head;
    if (bytes < sizeof head || !is_whole(&head, bytes) || !users_are_valid(&head, users)) {
        log_warn("checkpoint: unknown format of its users: nobody can resume");
        return;
    }
    host->next_user = head.next_user;
    memcpy(host->admit->key, head.account_key, sizeof head.account_key);
    for (u32 i = head.user_count; i-- > 0;) {
        KeptUser kept;
        memcpy(&kept, users + i * sizeof kept, sizeof kept);
        take_user(host, &kept);
    }
    take_spawns(host, users + head.user_count * sizeof(KeptUser), head.spawn_count);
    log_info("%u users may resume, %u objects belong to them", head.user_count, head.spawn_count);
}
