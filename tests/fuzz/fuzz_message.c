/* fuzz_message.c: any bytes are refused or give a message; never more. */
#include "protocol/message.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t bytes);

int LLVMFuzzerTestOneInput(const u8 *data, size_t bytes)
{
    Message message;
    u8 *storage;
    if (bytes > 1 << 20) {
        return 0;
    }
    if (message_decode(data, (u32)bytes, &message, &storage, NULL) == 0) {
        u32 again = 0;
        message_free(message_encode(&message, &again));
    }
    message_free(storage);
    return 0;
}
