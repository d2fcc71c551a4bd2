/*
 * ban.h: users who may not join, chat or use hands, and until when: by address, prefix, token or
 * client key. Kept in a text file that survives the server: one line each, with tabs between its
 * fields,
 *
 *   ban|mute|freeze   target   end (unix s, 0 never)   by   reason
 *
 * with targets 1.2.3.4, 1.2.3.0/24, 2001:db8::/64, token:17, key:HEX. The same targets, one a line,
 * make an allow list. Time is an argument.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_BAN_H
#define PLENUM_SERVER_HOST_BAN_H

#include "protocol/session/address.h"
#include "shared/base/error.h"
#include "shared/base/limits.h"

enum {
    CLIENT_KEY_BYTES = 32,
    /* Maximal number: searched at each join. */
    BANS_MAX = 4096,
    BAN_FILE_BYTES_MAX = 4 << 20,
    BAN_REASON_BYTES = 96,
    TARGET_TEXT_BYTES = 80
};

/* Identities of a client besides its name. */
typedef struct UserIdentity {
    NetAddress address;
    bool addressed; /* in-process links have no address */
    bool keyed;
    u64 token;                /* client id of its token; 0: none */
    u8 key[CLIENT_KEY_BYTES]; /* if keyed */
} UserIdentity;

typedef enum TargetKind {
    TARGET_PREFIX,
    TARGET_TOKEN,
    TARGET_KEY
} TargetKind;

typedef struct BanTarget {
    TargetKind kind;
    NetPrefix prefix;
    u64 token;
    u8 key[CLIENT_KEY_BYTES];
} BanTarget;

typedef enum BanKind {
    BAN_JOIN,
    BAN_CHAT,
    BAN_HANDS,
    BAN_KIND_COUNT
} BanKind;

typedef struct Ban {
    BanKind kind;
    BanTarget target;
    u64 until_unix_s; /* 0: never ends */
    char by[NAME_BYTES_MAX];
    char reason[BAN_REASON_BYTES];
} Ban;

typedef struct BanList {
    Ban *items; /* [count] */
    u32 count, capacity;
    const char *path; /* borrowed; NULL: kept in memory only */
} BanList;

/* Reads an address, a network or a token; false: it is none of these. ban_target_text writes
 * one. */
bool ban_target_parse(const char *text, BanTarget *target);
const char *ban_target_text(const BanTarget *target, char text[TARGET_TEXT_BYTES]);
/* The target that bans only this client, as far as possible: its token, otherwise its address or
 * /64. False: it has neither. */
bool ban_target_of(const UserIdentity *identity, BanTarget *target);
bool ban_target_matches(const BanTarget *target, const UserIdentity *identity);
/* "ban", "mute" or "freeze". */
const char *ban_kind_name(BanKind kind);

/* Reads the file if there is one. 0, or an error that names the line: then the list is
 * unchanged. */
int ban_list_load(BanList *list, const char *path, u64 now_unix_s, ErrorText *error);
/* Writes a new file and puts it in the place of the old one. */
int ban_list_save(const BanList *list, ErrorText *error);
void ban_list_finish(BanList *list);
/* Adds, or replaces one of the same kind and target; removes expired ones. ERROR_LIMIT: full,
 * ERROR_MEMORY. */
int ban_list_add(BanList *list, const Ban *ban, u64 now_unix_s);
bool ban_list_remove(BanList *list, BanKind kind, const BanTarget *target);
/* The applicable ban of this kind that ends last, or NULL. */
const Ban *ban_list_find(const BanList *list, BanKind kind, const UserIdentity *identity,
                         u64 now_unix_s);

/* Reads targets, one a line; empty lines and those that begin with # are skipped. free() them. NULL
 * with an error that names the line. */
BanTarget *ban_targets_read(const char *path, u32 *count, ErrorText *error);

#endif
