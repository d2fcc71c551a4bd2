/*
 * target.c: gives an input to the target and measures the memory that it takes, where the address
 * sanitizer tells (in the fuzzers and in check-asan). Time is bounded by what runs the program.
 */
#include "tests/fuzz/target.h"

#include "shared/base/check.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#if defined(__SANITIZE_ADDRESS__)
#define COUNTED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTED 1
#endif
#endif

#ifdef COUNTED
typedef void MallocHook(const volatile void *memory, size_t bytes);
typedef void FreeHook(const volatile void *memory);
int __sanitizer_install_malloc_and_free_hooks(MallocHook *on_malloc, FreeHook *on_free);
size_t __sanitizer_get_allocated_size(const volatile void *memory);

/* Of the thread that runs the target: libFuzzer has others. */
static _Thread_local bool counting;
static _Thread_local long long held, held_max;

static void on_malloc(const volatile void *memory, size_t bytes)
{
    (void)memory;
    if (counting) {
        held += (long long)bytes;
        held_max = held > held_max ? held : held_max;
    }
}

static void on_free(const volatile void *memory)
{
    if (counting && memory != NULL) {
        held -= (long long)__sanitizer_get_allocated_size(memory);
    }
}

static void count_begin(void)
{
    static bool installed;
    if (!installed) {
        CHECK(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0);
        installed = true;
    }
    held = held_max = 0;
    counting = true;
}

static void count_end(size_t bytes_max)
{
    counting = false;
    if (held_max > (long long)bytes_max) {
        fprintf(stderr, "expected at most %zu bytes held at once, got %lld\n", bytes_max, held_max);
        abort();
    }
}
#else
static void count_begin(void)
{
}

static void count_end(size_t bytes_max)
{
    (void)bytes_max;
}
#endif

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
    static bool prepared;
    if (!prepared && fuzz_target.prepare != NULL) {
        fuzz_target.prepare();
    }
    prepared = true;
    if (size <= fuzz_target.size_max) {
        count_begin();
        fuzz_target.run(data, size);
        count_end(fuzz_target.memory_fixed + size * fuzz_target.memory_each);
    }
    return 0;
}
