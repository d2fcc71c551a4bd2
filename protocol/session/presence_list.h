/*
 * presence_list.h: the presences of others as a receiver of MESSAGE_PRESENCE knows them.
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

void presence_list_finish(PresenceList *list);
/* Forgets all, for the next session. */
void presence_list_clear(PresenceList *list);
/* Applies a message; one that is late changes nothing, since it would undo a newer grab. False: it
 * names more than an honest server does, or out of memory. */
bool presence_list_apply(PresenceList *list, const Message *message);

PL_END_C

#endif
