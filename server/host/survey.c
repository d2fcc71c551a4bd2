/* survey.c: see survey.h. */
#include "server/host/survey.h"
#include "shared/base/thread.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMPACT_MARKS =
        128, /* the time is divided into this many parts, each with its strongest impact */
};

/* Frames up to this size in all are decoded one by one, of longer recordings only key frames. */
#define DECODE_ALL_BYTES (2ull << 30)
#define DECODE_ALL_TICKS 20000ull
/* Weaker impacts, in parts of the strongest, are no marks. */
#define IMPACT_SHARE     0.1f

struct Survey {
    char *path;
    void (*done)(void *context);
    void *context;
    pthread_t thread;

    /* ---- owned by the thread until it has ended ---- */
    f32 *values; /* [probes][samples] */
    u32 samples, probes;
    u64 first_tick, last_tick;
    struct {
        u64 tick;
        f32 impulse;
    } impacts[IMPACT_MARKS];

    pthread_mutex_t mutex;
    /* ---- below: under the mutex ---- */
    bool quit;
    u32 version;
    SurveyMark *marks; /* [SURVEY_MARKS_MAX] */
    u32 mark_count;
};

static bool proceed(void *context)
{
    Survey *s = context;
    pthread_mutex_lock(&s->mutex);
    bool quit = s->quit;
    pthread_mutex_unlock(&s->mutex);
    return !quit;
}

/* ---- marks ---- */

static void mark_add(Survey *s, u64 tick, MarkKind kind, const char *who, const char *text)
{
    pthread_mutex_lock(&s->mutex);
    if (s->mark_count < SURVEY_MARKS_MAX) {
        u32 at = s->mark_count++;
        while (at > 0 && s->marks[at - 1].tick > tick) {
            s->marks[at] = s->marks[at - 1];
            at--;
        }
        SurveyMark *mark = &s->marks[at];
        memset(mark, 0, sizeof *mark);
        mark->tick = tick;
        mark->kind = kind;
        int used = snprintf(mark->text, sizeof mark->text, "%s%s%s", who,
                            who[0] != 0 && text[0] != 0 ? ": " : "", text);
        /* A truncated text must not end within a character. */
        u32 end = used < (int)sizeof mark->text ? (u32)used : (u32)sizeof mark->text - 1;
        while (used >= (int)sizeof mark->text && end > 0 && ((u8)mark->text[end - 1] & 0x80) != 0) {
            bool starts = ((u8)mark->text[--end] & 0xC0) == 0xC0;
            mark->text[end] = 0;
            if (starts) {
                break;
            }
        }
    }
    pthread_mutex_unlock(&s->mutex);
}

static void take_note(void *context, const RecordingNote *note)
{
    static const MarkKind kinds[RECORDING_NOTE_KIND_COUNT] = {
        [RECORDING_NOTE_BOOKMARK] = MARK_BOOKMARK,
        [RECORDING_NOTE_CHAT] = MARK_CHAT,
        [RECORDING_NOTE_JOIN] = MARK_JOIN,
        [RECORDING_NOTE_LEAVE] = MARK_LEAVE,
    };
    bool named = note->kind == RECORDING_NOTE_BOOKMARK;
    mark_add(context, note->tick, kinds[note->kind], named ? "" : note->name, note->text);
}

static void take_events(void *context, u64 tick, const Event *events, u32 count)
{
    Survey *s = context;
    u64 span = u64_max(s->last_tick - s->first_tick + 1, 1);
    u64 part = tick >= s->first_tick ? (tick - s->first_tick) * IMPACT_MARKS / span : 0;
    for (u32 i = 0; i < count; i++) {
        if (events[i].kind == EVENT_BREAK) {
            mark_add(s, tick, MARK_BREAK, "", "");
        } else if (events[i].kind == EVENT_RESET) {
            mark_add(s, tick, MARK_RESET, "", "");
        } else if (events[i].kind == EVENT_IMPACT && part < IMPACT_MARKS &&
                   events[i].impulse > s->impacts[part].impulse) {
            s->impacts[part].impulse = events[i].impulse;
            s->impacts[part].tick = tick;
        }
    }
}

static void add_impacts(Survey *s)
{
    f32 strongest = 0.0f;
    for (u32 i = 0; i < IMPACT_MARKS; i++) {
        strongest = f32_max(strongest, s->impacts[i].impulse);
    }
    for (u32 i = 0; i < IMPACT_MARKS; i++) {
        if (s->impacts[i].impulse > IMPACT_SHARE * strongest) {
            char text[32];
            snprintf(text, sizeof text, "%.3g N s", (f64)s->impacts[i].impulse);
            mark_add(s, s->impacts[i].tick, MARK_IMPACT, "", text);
        }
    }
}

/* ---- probes ---- */

static void sample(Survey *s, const RecordingHead *head, const Frame *frame, u32 at)
{
    for (u32 p = 0; p < s->probes; p++) {
        const ScalarInfo *probe = &head->world.probes[p];
        const FieldSet *fields = frame->fields;
        f32 value = 0.0f;
        if (probe->field < fields->count && fields->fields[probe->field].kind == FIELD_SCALARS &&
            probe->first < fields->fields[probe->field].capacity) {
            const u8 *scalars = frame_field(frame, probe->field);
            memcpy(&value, scalars + probe->first * sizeof value, sizeof value);
        }
        s->values[(size_t)p * s->samples + at] = isfinite(value) ? value : 0.0f;
    }
}

static u64 sample_tick(const Survey *s, u32 i)
{
    return s->samples > 1 ? s->first_tick + (s->last_tick - s->first_tick) * i / (s->samples - 1)
                          : s->first_tick;
}

/* False: stopped or damaged. */
static bool sample_all(Survey *s, RecordingReader *reader)
{
    const RecordingInfo *info = recording_reader_info(reader);
    const RecordingHead *head = recording_reader_head(reader);
    u64 bytes = 0;
    bool keys_only = info->ticks > DECODE_ALL_TICKS;
    Frame *frame = NULL;
    u64 tick = 0;
    for (u32 i = 0; i < s->samples; i++) {
        u64 wanted = sample_tick(s, i);
        u64 key = recording_reader_key_at(reader, wanted);
        bool jump = frame == NULL || (keys_only ? key > tick : false);
        int result = jump ? recording_reader_seek(reader, keys_only ? key : wanted) : 0;
        while (result == 0 && (jump || (!keys_only && tick < wanted))) {
            frame_release(frame);
            frame = NULL;
            result = recording_reader_next(reader, &frame, NULL, NULL);
            tick = result == 0 ? frame->tick : tick;
            jump = false;
            bytes += head->world.field_count > 0 && frame != NULL ? frame->fields->frame_bytes : 0;
            keys_only = keys_only || bytes > DECODE_ALL_BYTES;
        }
        if (result != 0 || !proceed(s)) {
            frame_release(frame);
            return false;
        }
        sample(s, head, frame, i);
    }
    frame_release(frame);
    return true;
}

static void *survey_main(void *argument)
{
    Survey *s = argument;
    RecordingReader *reader = recording_reader_create(s->path, NULL);
    thread_name("plenum-survey");
    if (reader == NULL) {
        return NULL;
    }
    const RecordingInfo *info = recording_reader_info(reader);
    s->first_tick = info->first_tick;
    s->last_tick = info->last_tick;
    RecordingVisitor visitor = {
        .context = s, .proceed = proceed, .events = take_events, .note = take_note};
    (void)recording_reader_visit(reader, &visitor); /* results from before the damage are kept */
    add_impacts(s);
    u32 probes = recording_reader_head(reader)->world.probe_count;
    u32 samples = (u32)u64_min(info->ticks, SURVEY_SAMPLES_MAX);
    s->values = probes > 0 ? calloc((size_t)probes * samples, sizeof *s->values) : NULL;
    s->probes = s->values != NULL ? probes : 0;
    s->samples = samples;
    if (s->probes > 0 && !sample_all(s, reader)) {
        s->probes = 0;
    }
    recording_reader_destroy(reader);
    pthread_mutex_lock(&s->mutex);
    bool quit = s->quit;
    s->version++;
    pthread_mutex_unlock(&s->mutex);
    if (!quit) {
        s->done(s->context);
    }
    return NULL;
}

/* ---- the host's side ---- */

Survey *survey_create(const char *path, void (*done)(void *context), void *context)
{
    Survey *s = calloc(1, sizeof *s);
    char *copy = strdup(path);
    SurveyMark *marks = calloc(SURVEY_MARKS_MAX, sizeof *marks);
    if (s == NULL || copy == NULL || marks == NULL) {
        free(s);
        free(copy);
        free(marks);
        return NULL;
    }
    s->path = copy;
    s->marks = marks;
    s->done = done;
    s->context = context;
    pthread_mutex_init(&s->mutex, NULL);
    if (pthread_create(&s->thread, NULL, survey_main, s) != 0) {
        pthread_mutex_destroy(&s->mutex);
        free(copy);
        free(marks);
        free(s);
        return NULL;
    }
    return s;
}

void survey_destroy(Survey *s)
{
    if (s == NULL) {
        return;
    }
    pthread_mutex_lock(&s->mutex);
    s->quit = true;
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->mutex);
    free(s->values);
    free(s->marks);
    free(s->path);
    free(s);
}

u32 survey_get(Survey *s, MessageSurvey *out)
{
    pthread_mutex_lock(&s->mutex);
    u32 version = s->version;
    pthread_mutex_unlock(&s->mutex);
    if (version > 0) { /* the thread has ended: only the host changes marks */
        *out = (MessageSurvey){.first_tick = s->first_tick,
                               .last_tick = s->last_tick,
                               .samples = s->samples,
                               .probes = s->probes,
                               .values = s->values,
                               .marks = s->marks,
                               .mark_count = s->mark_count};
    }
    return version;
}

void survey_add(Survey *s, const RecordingNote *note)
{
    take_note(s, note);
    pthread_mutex_lock(&s->mutex);
    s->version += s->version > 0; /* otherwise its thread still reads */
    pthread_mutex_unlock(&s->mutex);
}
