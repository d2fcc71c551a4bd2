/* film_path.c: see film_path.h. */
#include "client/hand/film_path.h"

#include "shared/base/file.h"

#include <stdlib.h>

enum {
    PATH_FILE_BYTES_MAX = 1 << 20
};

int film_path_load(FilmPath *path, const char *file, ErrorText *error)
{
    *path = (FilmPath){0};
    size_t bytes;
    char *text = file_read(file, PATH_FILE_BYTES_MAX, &bytes, error);
    if (text == NULL) {
        return error->code;
    }
    Script *script = script_parse(text, bytes, file, error);
    free(text);
    if (script == NULL) {
        return error->code;
    }
    u32 lines, count = script_looks(script, NULL, 0, &lines);
    int result = ERROR_OK;
    if (count == 0 || count < lines) {
        result = error_set(error, ERROR_FORMAT,
                           "%s: the path of a camera has lines with t, look_from and look_at, "
                           "and no others",
                           file);
    } else {
        path->looks = malloc(count * sizeof *path->looks);
        path->count = path->looks != NULL ? count : 0;
        result = path->looks != NULL ? ERROR_OK
                                     : error_set(error, ERROR_MEMORY, "%s: out of memory", file);
    }
    script_looks(script, path->looks, path->count, &lines);
    script_destroy(script);
    for (u32 i = 1; i < path->count && result == ERROR_OK; i++) {
        if (!(path->looks[i].t_s > path->looks[i - 1].t_s)) {
            result = error_set(error, ERROR_FORMAT, "%s: two places at t = %g", file,
                               path->looks[i].t_s);
        }
    }
    if (result != ERROR_OK) {
        film_path_finish(path);
    }
    return result;
}

void film_path_finish(FilmPath *path)
{
    free(path->looks);
    *path = (FilmPath){0};
}

/* Speed through a point, 1/s: along the line between its neighbours; 0 at the ends. */
static Vec3 speed_at(const FilmPath *path, u32 i, bool of_eye)
{
    if (i == 0 || i + 1 >= path->count) {
        return vec3_zero();
    }
    const ScriptLook *before = &path->looks[i - 1], *after = &path->looks[i + 1];
    Vec3 way = of_eye ? vec3_sub(after->eye, before->eye) : vec3_sub(after->target, before->target);
    return vec3_scale(way, (f32)(1.0 / (after->t_s - before->t_s)));
}

static Vec3 hermite(Vec3 a, Vec3 b, Vec3 va, Vec3 vb, f32 s)
{
    f32 s2 = s * s, s3 = s2 * s;
    Vec3 sum = vec3_scale(a, 2.0f * s3 - 3.0f * s2 + 1.0f);
    sum = vec3_add_scaled(sum, 3.0f * s2 - 2.0f * s3, b);
    sum = vec3_add_scaled(sum, s3 - 2.0f * s2 + s, va);
    return vec3_add_scaled(sum, s3 - s2, vb);
}

void film_path_at(const FilmPath *path, f64 t_s, Vec3 *eye, Vec3 *target)
{
    u32 next = 0;
    while (next < path->count && path->looks[next].t_s <= t_s) {
        next++;
    }
    if (next == 0 || next == path->count) {
        const ScriptLook *end = &path->looks[next == 0 ? 0 : path->count - 1];
        *eye = end->eye;
        *target = end->target;
        return;
    }
    const ScriptLook *a = &path->looks[next - 1], *b = &path->looks[next];
    f32 span = (f32)(b->t_s - a->t_s), s = (f32)((t_s - a->t_s) / (b->t_s - a->t_s));
    *eye = hermite(a->eye, b->eye, vec3_scale(speed_at(path, next - 1, true), span),
                   vec3_scale(speed_at(path, next, true), span), s);
    *target = hermite(a->target, b->target, vec3_scale(speed_at(path, next - 1, false), span),
                      vec3_scale(speed_at(path, next, false), span), s);
}
