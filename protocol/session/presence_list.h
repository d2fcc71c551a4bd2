/*
 * presence_list.h: the presences of other users, as received by MESSAGE_PRESENCE.
 * Layer: protocol/session.
 */
#ifndef PLENUM_PROTOCOL_SESSION_PRESENCE_LIST_H
#define PLENUM_PROTOCOL_SESSION_PRESENCE_LIST_H

#include "protocol/session/message.h"

PL_BEGIN_C

enum {
    PRESENCES_LISTED_MAX = 4096
};

/* Zeroed: empty. */
typedef struct PresenceList {
    Presence *items; /* [count], owned */
    u32 count, capacity;
    u32 serial; /* of the last message */
} PresenceList;

/* Frees the presences; a zeroed list is empty. */
void presence_list_finish(PresenceList *list);
/* Clears the list for the next session. */
void presence_list_clear(PresenceList *list);
/* Applies a message; a late one is ignored, since it would revert a newer grab. False: more
 * presences than a valid server sends, or out of memory. */
bool presence_list_apply(PresenceList *list, const Message *message);

PL_END_C

#endif
