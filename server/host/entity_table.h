/*
 * entity_table.h: the entities that are alive at a point of a stream of frames, kept up to date
 * from the frames' events, for those who join there.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_ENTITY_TABLE_H
#define PLENUM_SERVER_HOST_ENTITY_TABLE_H

#include "protocol/frame.h"

typedef struct EntityTable {
    Entity *entities; /* [count], ascending ids */
    u32 count, capacity;
} EntityTable;

void entity_table_finish(EntityTable *table);
/* Copies a description. 0 or ERROR_MEMORY. */
int entity_table_set(EntityTable *table, const Entity *entities, u32 count);
/* Takes over the spawns, despawns and resets of a frame. 0; ERROR_MEMORY or ERROR_LIMIT leave the
 * entities out that had no room. */
int entity_table_apply(EntityTable *table, const Frame *frame);

#endif
