/*
 * recording_forge.h: recordings of strangers for fuzz targets: the checks of their blocks are made
 * right, so that the fuzzer gets behind them, and they lie in a file in memory.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_RECORDING_FORGE_H
#define PLENUM_TESTS_SUPPORT_RECORDING_FORGE_H

#include "shared/base/base.h"

/* Calls `use` with the path of the file while it exists; `bytes` are those of the input. Nothing
 * for an empty input. */
void recording_forge(const u8 *data, size_t bytes, void (*use)(const char *path, size_t bytes));

/* Makes the checks of whole blocks right where they lie. */
void recording_forge_checks(u8 *blocks, size_t bytes);

#endif
