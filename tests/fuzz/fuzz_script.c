/* fuzz_script.c: untrusted --do files. */
#include "client/hand/script.h"
#include "tests/fuzz/target.h"

static void run(const u8 *data, size_t size)
{
    ErrorText error = {0};
    Script *script = script_parse((const char *)data, size, "fuzz", &error);
    Script *copy = script != NULL ? script_copy(script) : NULL;
    script_destroy(script);
    script_destroy(copy);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 16, .memory_fixed = 32 << 10, .memory_each = 256};
