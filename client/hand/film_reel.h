/*
 * film_reel.h: the states of a recording as pictures show them, at any ascending time: recorded
 * ticks bit for bit, linear interpolation between them.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_FILM_REEL_H
#define PLENUM_CLIENT_HAND_FILM_REEL_H

#include "client/hand/rods.h"
#include "protocol/record/recording.h"

typedef struct FilmReel FilmReel;

/* Opens a recording at a tick. NULL with a text. */
FilmReel *film_reel_create(const char *path, ErrorText *error);
void film_reel_destroy(FilmReel *reel); /* NULL is fine */
const RecordingHead *film_reel_head(const FilmReel *reel);
const RecordingInfo *film_reel_info(const FilmReel *reel);
const Scene *film_reel_scene(const FilmReel *reel);
/* Moves to a time in ticks, which is not before that of the last call. 0, or a negative Error with
 * a text where the recording is damaged. */
int film_reel_move(FilmReel *reel, f64 tick, ErrorText *error);
/* Fills the scene, fields, entities and marks of a picture with the state there; borrowed until the
 * next call. */
void film_reel_show(FilmReel *reel, Picture *picture);

#endif
