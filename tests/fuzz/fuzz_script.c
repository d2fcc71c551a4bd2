/* fuzz_script.c: --do files of strangers. */
#include "client/hand/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ErrorText error = {0};
    Script *script = script_parse((const char *)data, size, "fuzz", &error);
    Script *copy = script != NULL ? script_copy(script) : NULL;
    script_destroy(script);
    script_destroy(copy);
    return 0;
}
