/*
 * entity_list.h: the entities of a world in id order, changed by events. Used by all consumers of a
 * stream of frames: client, host, recording reader.
 * Layer: protocol/stream.
 */
#ifndef PLENUM_PROTOCOL_STREAM_ENTITY_LIST_H
#define PLENUM_PROTOCOL_STREAM_ENTITY_LIST_H

#include "protocol/field/frame.h"

struct Scene;

typedef struct EntityList {
    const struct Scene *scene; /* borrowed: shapes refer to its geometries, and mismatching ones
                                  are refused; NULL: geometries are not checked */
    Entity *items;             /* [count], ascending id; owned */
    u32 count, capacity;
    u64 version; /* changes whenever the list does */
} EntityList;

/* Frees the entities; a zeroed list is empty. Clear keeps the memory. */
void entity_list_finish(EntityList *list);
void entity_list_clear(EntityList *list);
/* Adds or replaces by id. Refuses entities that do not fit the fields (elements beyond the
 * capacity, a part of a grid): 0 or a negative Error. */
int entity_list_put(EntityList *list, const FieldSet *fields, const Entity *entity);
/* Replaces the whole list; stops at the first invalid one. */
int entity_list_set(EntityList *list, const FieldSet *fields, const Entity *entities, u32 count);
/* Applies a spawn, despawn or reset; ignores other events. 0 or a negative Error. */
int entity_list_event(EntityList *list, const FieldSet *fields, const Event *event);
/* Applies all events of a frame, in order; 0, or the error of the first invalid one. */
int entity_list_frame(EntityList *list, const Frame *frame);
/* Writes the events that lead from one list to the other, and returns their number; events NULL:
 * only counts them. */
u32 entity_list_changes(const EntityList *from, const EntityList *to, Event *events);
void entity_list_remove(EntityList *list, u32 id);
const Entity *entity_list_find(const EntityList *list, u32 id); /* or NULL */
const Entity *entity_list_named(const EntityList *list, const char *name);
/* Aborts (check.h) if these invariants are violated or an entity does not fit these fields. */
void entity_list_validate(const EntityList *list, const FieldSet *fields);

#endif
