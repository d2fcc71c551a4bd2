/*
 * script.h: --do files: scripted inputs, one JSON object per line with "t" in seconds after the
 * world arrived.
 *   {"t":1,"grab":"box-1"}
 *   {"t":1.2,"move":[0,2,0]}       world target of the grabbed point, reached at the time of the
 *                                  next line ("over": seconds)
 *   {"t":3,"release":true}
 *   {"t":4,"push":"box-1","impulse":[0,5,0]}
 *   {"t":5,"control":"pause"}      with "value" for step, speed and seek
 *   {"t":6,"set":"gravity","value":[0,-1.6,0]}
 *   {"t":7,"spawn":"ball","position":[0,5,0]}     optional "velocity"
 *   {"t":8,"look_from":[4,3,6],"look_at":[0,1,0]}
 *   {"t":9,"chat":"hello"}
 *   {"t":10,"remove":"ball-3"}
 *   {"t":11,"dye":[1,0.3,0.1]}     colour of what the hand adds to dyed smoke
 * Instead of a name a ray {"origin":[x,y,z],"direction":[x,y,z]} is allowed.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_SCRIPT_H
#define PLENUM_CLIENT_HAND_SCRIPT_H

#include "client/hand/hand.h"
#include "client/link/connection.h"

typedef struct Script Script;
/* Reads and checks the whole file; an error gives file, line and member. */
Script *script_load(const char *path, ErrorText *error);
/* The same from text in memory (need not be zero-terminated); `name` stands for the path in
 * errors. */
Script *script_parse(const char *text, size_t bytes, const char *name, ErrorText *error);
/* A copy with its own progress, for another hand; NULL: out of memory. */
Script *script_copy(const Script *script);
void script_destroy(Script *script); /* NULL is fine */
/* Executes the actions due at t_s seconds. */
void script_step(Script *script, Connection *connection, Hand *hand, f64 t_s);
/* The newest look_from/look_at; false if no line set the camera yet. */
bool script_camera(const Script *script, Vec3 *eye, Vec3 *target);

/* A line that sets the camera. */
typedef struct ScriptLook {
    f64 t_s;
    Vec3 eye, target;
} ScriptLook;
/* All of them, at most `most`; returns how many there are, *lines: of all lines. */
u32 script_looks(const Script *script, ScriptLook *looks, u32 most, u32 *lines);

#endif
