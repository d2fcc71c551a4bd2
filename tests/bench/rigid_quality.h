/*
 * rigid_quality.h: how well an engine keeps piles standing and joints closed: figures in metres and
 * fractions, the same for all engines.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_BENCH_RIGID_QUALITY_H
#define PLENUM_TESTS_BENCH_RIGID_QUALITY_H

#include "tests/bench/engine.h"

/* Prints all figures of the engine as lines of JSON: name, engine, value, unit. */
void quality_print(const Engine *engine);

#endif
