/*
 * dump.h: a world as text for people, or as JSON for programs: one record per line.
 *   rigid id=4 name="crate" motion=dynamic awake=yes position=(0 0.5 0) ...
 *   {"record":"rigid","id":4,"name":"crate","motion":"dynamic","awake":true, ...}
 * Records and members are the same in both. Numbers have as many digits as needed to restore them
 * exactly; non-finite numbers are `null` in JSON.
 * Layer: server/world.
 */
#ifndef PLENUM_SERVER_WORLD_DUMP_H
#define PLENUM_SERVER_WORLD_DUMP_H

#include "server/world/world.h"

#include <stdio.h>

typedef struct Dump {
    FILE *out;
    bool json;
    bool begun; /* a record that has members */
} Dump;

/* Dumps the world after its tick: clock and hash, parameters, entities with the data of their
 * kinds of matter, joints, grabs, probes, sorted by ids so that two dumps can be compared line
 * by line. Errors of `out` stay in it (ferror). */
void world_dump(const World *world, Dump *dump);

/* ---- for kinds of matter (MatterOps.dump, dump_entity): the members of a record ---- */

void dump_begin(Dump *dump, const char *record);
void dump_end(Dump *dump);
void dump_text(Dump *dump, const char *key, const char *text);
void dump_flag(Dump *dump, const char *key, bool flag);
void dump_count(Dump *dump, const char *key, u64 count);
void dump_number(Dump *dump, const char *key, f32 value);
void dump_numbers(Dump *dump, const char *key, const f32 *values, u32 count);
void dump_vec3(Dump *dump, const char *key, Vec3 v);

#endif
