/*
 * carried.h: sources that bodies carry: of smoke, heat, wind, water. A source of a scene names a
 * body, or a prefab: then each body that users spawn from it carries one.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_CARRIED_H
#define PLENUM_SERVER_WORLD_CARRIED_H

#include "server/world/matter.h"

enum {
    CARRIED_MAX = 256 /* sources at a time, of a kind of matter */
};

typedef struct Carried {
    u32 source, slot; /* the owner's number of the source; slot of the body */
} Carried;

/* Zeros: to be found. Not state: it follows from the entities. */
typedef struct CarriedList {
    u64 version; /* of the entities */
    bool known;
    u32 count;
    Carried items[CARRIED_MAX];
} CarriedList;

/* Whether bodies have come or gone since the list was made; then the list is cleared, and the owner
 * adds its sources again. */
bool carried_begin(CarriedList *list, const World *world);
/* Adds the bodies that carry a source, by their ids. */
void carried_add(CarriedList *list, const World *world, u32 source, const char *of);
/* Whether a source with these times, s, runs: `stop_s` < 0: for good. */
static inline bool source_runs(f32 start_s, f32 stop_s, f64 now_s)
{
    return now_s >= (f64)start_s && (stop_s < 0.0f || now_s < (f64)stop_s);
}
/* m: a place in the frame of a body; and a direction. */
Vec3 carried_place(const World *world, u32 slot, Vec3 local);
Vec3 carried_direction(const World *world, u32 slot, Vec3 local);

#endif
