/* film.c: the loop over a film's pictures. */
#include "client/hand/film.h"

#include "client/hand/camera.h"
#include "client/hand/film_path.h"
#include "client/hand/film_reel.h"
#include "client/hand/film_sink.h"
#include "client/view/readback.h"
#include "shared/base/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURES_MAX 10000000.0

typedef struct Film {
    const FilmOptions *options;
    FilmReel *reel;
    FilmPath path;
    View *view;
    FilmSink *sink;
    u8 *rgb; /* [height][width][3] */
    CameraRig rig;
    f64 from_s, to_s; /* world time */
    u32 pictures;
} Film;

/* Cuts the wanted times to those of the recording. */
static int film_times(Film *film, ErrorText *error)
{
    const FilmOptions *options = film->options;
    const RecordingInfo *info = film_reel_info(film->reel);
    f64 rate = film_reel_head(film->reel)->tick_rate;
    f64 first_s = (f64)info->first_tick / rate, last_s = (f64)info->last_tick / rate;
    film->from_s = fmax(options->from_s, first_s);
    film->to_s = options->to_s < 0.0 ? last_s : fmin(options->to_s, last_s);
    if (film->from_s > film->to_s) {
        return error_set(error, ERROR_USAGE, "nothing from %g s to %g s: %s is from %g s to %g s",
                         options->from_s, options->to_s < 0.0 ? last_s : options->to_s,
                         options->recording, first_s, last_s);
    }
    f64 count = floor((film->to_s - film->from_s) * options->fps / options->speed + 1e-6) + 1.0;
    if (count > PICTURES_MAX) {
        return error_set(error, ERROR_USAGE, "%.0f pictures are too many", count);
    }
    film->pictures = (u32)count;
    return ERROR_OK;
}

static int film_open(Film *film, ErrorText *error)
{
    const FilmOptions *options = film->options;
    film->reel = film_reel_create(options->recording, error);
    if (film->reel == NULL || film_times(film, error) != ERROR_OK ||
        (options->camera != NULL &&
         film_path_load(&film->path, options->camera, error) != ERROR_OK)) {
        return error->code;
    }
    rig_init(&film->rig, &film_reel_scene(film->reel)->camera);
    film->rgb = malloc((size_t)options->width * options->height * 3);
    if (film->rgb == NULL) {
        return error_set(error, ERROR_MEMORY, "out of memory for the pictures");
    }
    ViewOptions view = {.width = options->width,
                        .height = options->height,
                        .offscreen = true,
                        .title = "Plenum",
                        .samples = 4};
    film->view = view_create(&view, error);
    if (film->view == NULL) {
        return error->code;
    }
    FilmFormat format = {options->width, options->height, film->pictures, options->fps};
    film->sink = film_sink_create(options->out, &format, options->force, error);
    return film->sink != NULL ? ERROR_OK : error->code;
}

static void film_close(Film *film)
{
    film_sink_destroy(film->sink);
    view_destroy(film->view);
    free(film->rgb);
    film_path_finish(&film->path);
    film_reel_destroy(film->reel);
}

static int film_picture(Film *film, f64 time_s, ErrorText *error)
{
    f64 tick = time_s * film_reel_head(film->reel)->tick_rate;
    int result = film_reel_move(film->reel, tick, error);
    if (result != ERROR_OK) {
        return result;
    }
    if (film->path.count > 0) {
        Vec3 eye, target;
        film_path_at(&film->path, time_s, &eye, &target);
        rig_look(&film->rig, eye, target, true);
    }
    Picture picture;
    memset(&picture, 0, sizeof picture);
    picture.camera = rig_camera(&film->rig);
    film_reel_show(film->reel, &picture);
    view_draw(film->view, &picture);
    view_read(film->view, film->rgb);
    view_present(film->view);
    return film_sink_put(film->sink, film->rgb, error);
}

static int film_run(Film *film, ErrorText *error)
{
    const FilmOptions *options = film->options;
    Progress progress;
    progress_begin(&progress);
    int result = ERROR_OK;
    for (u32 i = 0; i < film->pictures && result == ERROR_OK; i++) {
        progress_show(&progress, (f64)i / film->pictures);
        f64 time_s = film->from_s + i * options->speed / options->fps;
        result = *options->stop != 0
                     ? error_set(error, ERROR_STATE, "interrupted after %u of %u pictures", i,
                                 film->pictures)
                     : film_picture(film, time_s, error);
    }
    result = result == ERROR_OK ? film_sink_commit(film->sink, error) : result;
    progress_end(&progress);
    return result;
}

static int exit_code(int result)
{
    switch (result) {
    case ERROR_OK:
        return EXIT_OK;
    case ERROR_USAGE:
        return EXIT_USAGE;
    case ERROR_IO:
    case ERROR_FORMAT:
        return EXIT_INPUT;
    default:
        return EXIT_CHECK_FAILED;
    }
}

int film_render(const FilmOptions *options, ErrorText *error)
{
    Film film = {.options = options};
    int result = film_open(&film, error);
    result = result == ERROR_OK ? film_run(&film, error) : result;
    if (result == ERROR_OK) {
        printf("%s: %u pictures, %.2f s, from %.2f s to %.2f s of the recording\n", options->out,
               film.pictures, film.pictures / options->fps, film.from_s, film.to_s);
    }
    film_close(&film);
    return exit_code(result);
}
