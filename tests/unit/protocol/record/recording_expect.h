/*
 * recording_expect.h: opening what must be a recording. Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_UNIT_PROTOCOL_RECORD_RECORDING_EXPECT_H
#define PLENUM_TESTS_UNIT_PROTOCOL_RECORD_RECORDING_EXPECT_H

#include "protocol/record/recording.h"

/* Fails with the reader's own words where it cannot be read. */
static inline RecordingReader *recording_expect(const char *path)
{
    ErrorText error = {0};
    RecordingReader *reader = recording_reader_create(path, &error);
    if (reader == NULL) {
        fail_msg("%s", error.text);
    }
    return reader;
}

/* The ticks, hashes, elements and numbers of events are the same. */
static inline void assert_frame_equal(const Frame *got, const Frame *want)
{
    assert_int_equal(got->tick, want->tick);
    assert_int_equal(got->world_hash, want->world_hash);
    assert_int_equal(got->event_count, want->event_count);
    assert_memory_equal(got->data, want->data, want->fields->frame_bytes);
}

#endif
