/* presence_list.c: see presence_list.h. */
#include "protocol/session/presence_list.h"

#include <stdlib.h>
#include <string.h>

enum {
    PRESENCES_MESSAGE_MAX = 64
};

void presence_list_finish(PresenceList *list)
{
    free(list->items);
    *list = (PresenceList){0};
}

void presence_list_clear(PresenceList *list)
{
    list->count = list->serial = 0;
}

static bool list_reserve(PresenceList *list, u32 count)
{
    if (count > list->capacity) {
        u32 capacity = u32_max(2 * list->capacity, u32_max(count, 16));
        Presence *grown = realloc(list->items, capacity * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    return true;
}

static bool is_named(const Message *message, u32 user)
{
    for (u32 i = 0; i < message->presence.count; i++) {
        if (message->presence.presences[i].user == user) {
            return true;
        }
    }
    return false;
}

bool presence_list_apply(PresenceList *list, const Message *message)
{
    u32 listed = message->presence.count, kept = 0;
    if (message->presence.serial <= list->serial) {
        return true;
    }
    if (listed > PRESENCES_MESSAGE_MAX || listed > PRESENCES_LISTED_MAX - list->count ||
        !list_reserve(list, list->count + listed)) {
        return false;
    }
    for (u32 i = 0; i < list->count; i++) {
        u32 user = list->items[i].user;
        bool covered = user >= message->presence.from && user <= message->presence.to;
        if (!covered && !is_named(message, user)) {
            list->items[kept++] = list->items[i];
        }
    }
    if (listed > 0) {
        memcpy(list->items + kept, message->presence.presences, listed * sizeof *list->items);
    }
    list->count = kept + listed;
    list->serial = message->presence.serial;
    return true;
}
