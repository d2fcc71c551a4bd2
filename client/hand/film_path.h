/*
 * film_path.h: the path of a film's camera: a smooth curve (cubic Hermite) through the lines with
 * look_from and look_at of a script (script.h), whose times are those of the recording. It rests at
 * both ends.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_FILM_PATH_H
#define PLENUM_CLIENT_HAND_FILM_PATH_H

#include "client/hand/script.h"

typedef struct FilmPath {
    ScriptLook *looks; /* [count], ascending t_s; owned */
    u32 count;
} FilmPath;

/* Reads the file; it has at least one line, and only lines that set the camera. 0 or a negative
 * Error with a text. */
int film_path_load(FilmPath *path, const char *file, ErrorText *error);
void film_path_finish(FilmPath *path);
/* Position and target of the camera at a world time. */
void film_path_at(const FilmPath *path, f64 t_s, Vec3 *eye, Vec3 *target);

#endif
