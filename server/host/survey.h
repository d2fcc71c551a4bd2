/*
 * survey.h: a summary of a recording for the timelines of clients: the course of its probes, and
 * marks of events. Read on its own thread, since that takes a while for a long recording.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_SURVEY_H
#define PLENUM_SERVER_HOST_SURVEY_H

#include "protocol/record/recording.h"

typedef struct Survey Survey;
/* Starts reading; `done` is called from its thread at the end. NULL: no thread or memory. */
Survey *survey_create(const char *path, void (*done)(void *context), void *context);
/* Stops reading. NULL is fine. */
void survey_destroy(Survey *survey);
/* The summary so far, borrowed until the next call. The version increases with each change; 0:
 * nothing yet. */
u32 survey_get(Survey *survey, MessageSurvey *out);
/* Adds a bookmark. */
void survey_add(Survey *survey, const RecordingNote *note);

#endif
