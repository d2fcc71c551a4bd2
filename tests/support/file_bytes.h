/*
 * file_bytes.h: whole files as bytes, for tests that damage or forge them. Include it after
 * cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_FILE_BYTES_H
#define PLENUM_TESTS_SUPPORT_FILE_BYTES_H

#include "shared/base/base.h"

#include <stdio.h>
#include <stdlib.h>

/* The whole file, of *bytes bytes; free() it. */
static inline u8 *file_load(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    u8 *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

/* Replaces the file. */
static inline void file_store(const char *path, const u8 *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

#endif
