/*
 * things.h: the things of an export: which entities come and go while a recording is read, in what
 * form each moves, which of them are wanted, and what they are called.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_THINGS_H
#define PLENUM_SERVER_EXPORT_THINGS_H

#include "protocol/stream/entity_list.h"
#include "server/export/export.h"

#define EXPORT_THING_NONE UINT32_MAX

enum {
    /* Vertices of all things in a picture: four times those of the largest frame. Entities may
     * share elements, so that a hostile file could ask for any number. */
    EXPORT_VERTICES_MAX = 16 << 20,
};

/* An entity that exists now, and the thing that it is. */
typedef struct ThingAlive {
    u32 id, sighting;
} ThingAlive;

/* What an entity was when it appeared. */
typedef struct ThingSighting {
    u64 key;   /* hash of what makes it that thing: another means that an id got a new meaning */
    u32 thing; /* index in items, or EXPORT_THING_NONE */
} ThingSighting;

typedef struct Things {
    const Scene *scene;
    const FieldSet *fields;
    ExportThing *items;
    u32 count, capacity;
    u64 vertices; /* of all */
    /* Every entity that appears is a sighting; the second reading of a recording has the same. */
    ThingSighting *seen; /* [sighting_capacity] */
    u32 sightings, sighting_capacity;
    u32 sighting_count;         /* of the first reading */
    bool again;                 /* second reading: sightings are looked up, nothing is added */
    ThingAlive *alive, *before; /* ascending ids; before: of the last update, as work space */
    u32 alive_count, alive_capacity, before_capacity;
} Things;

/* Frees all; zeroed, it can be used again. */
void things_finish(Things *things);
/* The second reading starts. */
void things_restart(Things *things);
/* Takes over which entities exist: call after each change. 0 or a negative Error. */
int things_update(Things *things, const EntityList *entities);
/* Index of the thing, or EXPORT_THING_NONE. */
static inline u32 things_index(const Things *things, const ThingAlive *alive)
{
    return things->seen[alive->sighting].thing;
}

/* True if a name is wanted: one of the patterns between commas matches it (those of a shell), or
 * there are none. Sets bit i of *used for pattern i that matches. */
bool export_wanted(const char *patterns, const char *name, u64 *used);
/* Keeps things that were seen and are wanted, gives names that nothing else has. 0 or a negative
 * Error. */
int things_choose(Things *things, const char *patterns, u64 *used);

#endif
