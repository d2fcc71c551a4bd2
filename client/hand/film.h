/*
 * film.h: renders a recording, offscreen and as fast as the machine can, into a video (through the
 * program ffmpeg) or numbered pictures. Neither a server nor a clock takes part: the same recording
 * and options give the same pictures.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_FILM_H
#define PLENUM_CLIENT_HAND_FILM_H

#include "shared/base/error.h"

typedef struct FilmOptions {
    const char *recording;
    const char *out;    /* pictures by number, or a video in the format of its ending */
    const char *camera; /* path of the camera (film_path.h), or NULL: the scene's camera */
    u32 width, height;
    f64 fps;                  /* pictures per second of the film */
    f64 speed;                /* world seconds per second of the film */
    f64 from_s, to_s;         /* world time; to_s < 0: the end of the recording */
    bool force;               /* replace existing files */
    const volatile int *stop; /* not 0: gives up */
} FilmOptions;

/* Renders all pictures, with a progress bar on a terminal, and prints the files written. Files are
 * complete or absent, except pictures written before an error. Returns an exit code: EXIT_OK;
 * EXIT_USAGE, EXIT_INPUT or EXIT_CHECK_FAILED with a text. */
int film_render(const FilmOptions *options, ErrorText *error);

#endif
