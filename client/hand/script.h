/*
 * script.h: --do files: scripted inputs, one JSON object per line with "t" in seconds after the
 * world arrived.
 *   {"t":1,"grab":"box-1"}
 *   {"t":1.2,"move":[0,2,0]}       the world point where the grabbed point shall go, reached over
 *                                  the time until the next line ("over": seconds)
 *   {"t":3,"release":true}
 *   {"t":4,"push":"box-1","impulse":[0,5,0]}
 *   {"t":5,"control":"pause"}      with "value" for step, speed and seek
 *   {"t":6,"set":"gravity","value":[0,-1.6,0]}
 *   {"t":7,"spawn":"ball","position":[0,5,0]}     with "velocity" where it flies
 *   {"t":8,"look_from":[4,3,6],"look_at":[0,1,0]}
 *   {"t":9,"chat":"hello"}
 *   {"t":10,"remove":"ball-3"}
 * Where a name stands, a ray {"origin":[x,y,z],"direction":[x,y,z]} may stand too.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_SCRIPT_H
#define PLENUM_CLIENT_HAND_SCRIPT_H

#include "client/hand/hand.h"
#include "client/link/connection.h"

typedef struct Script Script;
/* Reads and checks the whole file; an error names file, line, member. */
Script *script_load(const char *path, ErrorText *error);
/* The same from text in memory (need not end in a 0); `name` stands for the path in errors. */
Script *script_parse(const char *text, size_t bytes, const char *name, ErrorText *error);
/* A copy with its own progress, for another hand; NULL without memory. */
Script *script_copy(const Script *script);
void script_destroy(Script *script); /* NULL is fine */
/* Does what is due at t_s seconds. */
void script_step(Script *script, Connection *connection, Hand *hand, f64 t_s);
/* True and the newest look_from/look_at if a line set the camera so far. */
bool script_camera(const Script *script, Vec3 *eye, Vec3 *target);

#endif
