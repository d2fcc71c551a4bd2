/*
 * sort.h: sorts keys in place, unlike qsort without allocation; an order for qsort.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_SORT_H
#define PLENUM_SHARED_BASE_SORT_H

#include "shared/base/base.h"

PL_BEGIN_C
/* Sorts keys[count], ascending: heapsort (Williams 1964), O(n log n) at worst. */
void sort_keys(u64 *keys, u32 count);
/* For qsort over f64, ascending. */
int f64_compare(const void *a, const void *b);
PL_END_C

#endif
