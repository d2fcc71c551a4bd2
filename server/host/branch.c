/* branch.c: see branch.h. */
#include "server/host/branch.h"

#include "server/host/resimulate.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_NS 2000000000ull

enum {
    CLOCK_PARTS_MAX = 3 /* hours, minutes, seconds */
};

/* Parses digits, with a fraction in the last part; advances *text. */
static bool take_number(const char **text, f64 *number)
{
    char *end;
    if (**text < '0' || **text > '9') {
        return false; /* no sign, "inf" or hexadecimal */
    }
    if (strspn(*text, "0123456789.") != strcspn(*text, ":s")) {
        return false;
    }
    *number = strtod(*text, &end);
    *text = end;
    return isfinite(*number);
}

/* Parses "12.5s", "3:20" or "1:02:30" as seconds. */
static bool take_seconds(const char *text, f64 *seconds)
{
    f64 part;
    u32 parts = 0;
    *seconds = 0.0;
    for (;;) {
        if (!take_number(&text, &part) || parts == CLOCK_PARTS_MAX ||
            (parts > 0 && !(part < 60.0))) {
            return false;
        }
        *seconds = *seconds * 60.0 + part;
        parts++;
        if (*text != ':') {
            break;
        }
        text++;
    }
    return parts == 1 ? strcmp(text, "s") == 0 : *text == '\0';
}

int branch_tick(const char *text, u32 tick_rate, const RecordingInfo *info, u64 *tick,
                ErrorText *error)
{
    if (text == NULL) {
        *tick = info->last_tick;
        return ERROR_OK;
    }
    f64 seconds, wanted;
    size_t digits = strspn(text, "0123456789");
    if (digits > 0 && digits < 16 && text[digits] == '\0') {
        wanted = strtod(text, NULL);
    } else if (take_seconds(text, &seconds)) {
        wanted = floor(seconds * tick_rate + 0.5);
    } else {
        return error_set(error, ERROR_USAGE,
                         "--at: \"%s\" is neither a tick (1200) nor a time (20s, 1:30)", text);
    }
    if (!(wanted >= (f64)info->first_tick && wanted <= (f64)info->last_tick)) {
        return error_set(error, ERROR_RANGE,
                         "--at: %s is not within the recording: ticks %" PRIu64 " to %" PRIu64
                         ", %.2f to %.2f s",
                         text, info->first_tick, info->last_tick, (f64)info->first_tick / tick_rate,
                         (f64)info->last_tick / tick_rate);
    }
    *tick = (u64)wanted;
    return ERROR_OK;
}

Scene *branch_scene(const char *path, ErrorText *error)
{
    RecordingReader *reader = recording_reader_create(path, error);
    if (reader == NULL) {
        return NULL;
    }
    const MessageWorld *world = &recording_reader_head(reader)->world;
    Scene *scene = scene_from_bytes(world->scene, world->scene_bytes, error);
    if (scene == NULL) {
        error_prefix(error, "%s", path);
    }
    recording_reader_destroy(reader);
    return scene;
}

/* Simulates up to `tick`. */
static int lead_to(Resimulation *r, const char *path, u64 tick, ErrorText *error)
{
    ResimulatedTick at = {0};
    u64 shown_ns = clock_now_ns(), ticks = 0;
    int result = resimulation_seek(r, tick, error);
    while (result == ERROR_OK) {
        result = resimulation_next(r, &at, error);
        if (result == ERROR_OK && at.recorded != at.simulated) {
            return error_set(error, ERROR_MISMATCH,
                             "%s: from tick %" PRIu64 " on the simulation differs from the "
                             "recording: cannot reach tick %" PRIu64,
                             path, at.tick, tick);
        }
        if (result == ERROR_OK && at.tick >= tick) {
            break;
        }
        ticks++;
        u64 now_ns = clock_now_ns();
        if (now_ns - shown_ns > PROGRESS_NS) {
            log_info("simulating to tick %" PRIu64 ": at tick %" PRIu64, tick, at.tick);
            shown_ns = now_ns;
        }
    }
    if (result == ERROR_OK && at.tick != tick) {
        result = ERROR_NOT_FOUND;
    }
    if (result == ERROR_NOT_FOUND) {
        return error_set(error, ERROR_NOT_FOUND, "%s: has no tick %" PRIu64, path, tick);
    }
    if (result == ERROR_OK) {
        log_info("%s: branched at tick %" PRIu64 " after simulating %" PRIu64 " ticks", path, tick,
                 ticks);
    }
    return result;
}

int branch_lead(const char *path, const char *at, World *world, RecordingParent *parent,
                ErrorText *error)
{
    Resimulation *r = resimulation_on(path, world, error);
    if (r == NULL) {
        return error->code;
    }
    const RecordingHead *head = resimulation_head(r);
    u64 tick;
    int result = branch_tick(at, head->tick_rate, resimulation_info(r), &tick, error);
    result = result == ERROR_OK ? lead_to(r, path, tick, error) : result;
    if (result == ERROR_OK) {
        world_empty_hands(world);
        const char *slash = strrchr(path, '/');
        *parent = (RecordingParent){.tick = tick, .created_unix_s = head->created_unix_s};
        snprintf(parent->name, sizeof parent->name, "%s", slash != NULL ? slash + 1 : path);
    }
    resimulation_destroy(r);
    return result;
}
