/*
 * film_sink.h: the output of a film: numbered PNG files, or the program ffmpeg, which receives the
 * pictures through a pipe and writes a video.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_FILM_SINK_H
#define PLENUM_CLIENT_HAND_FILM_SINK_H

#include "shared/base/error.h"

typedef struct FilmSink FilmSink;

typedef struct FilmFormat {
    u32 width, height, pictures;
    f64 fps;
} FilmFormat;

/* True if `out` names pictures, that is, ends in .png. */
bool film_sink_is_pictures(const char *out);
/* Checks the name, creates the folder of pictures, starts ffmpeg. Existing files are kept and are
 * an error unless `force` is set. NULL with a text: ERROR_USAGE for an invalid name or size,
 * ERROR_NOT_FOUND if there is no ffmpeg. SIGPIPE must be ignored. */
FilmSink *film_sink_create(const char *out, const FilmFormat *format, bool force, ErrorText *error);
/* The next picture, rows of RGB from the top. 0 or a negative Error with a text. */
int film_sink_put(FilmSink *sink, const u8 *rgb, ErrorText *error);
/* Waits for ffmpeg; a video gets its final name only now. 0 or a negative Error with a text. */
int film_sink_commit(FilmSink *sink, ErrorText *error);
/* Without commit: ends ffmpeg and removes the unfinished video. NULL is fine. */
void film_sink_destroy(FilmSink *sink);

#endif
