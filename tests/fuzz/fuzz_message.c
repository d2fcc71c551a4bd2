/* fuzz_message.c: any bytes are refused or give a message; never more. */
#include "protocol/session/message.h"
#include "tests/fuzz/target.h"

static void run(const u8 *data, size_t bytes)
{
    Message message;
    u8 *storage;
    if (message_decode(data, (u32)bytes, &message, &storage, NULL) == 0) {
        u32 again = 0;
        message_free(message_encode(&message, &again));
    }
    message_free(storage);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 20, .memory_fixed = 8 << 10, .memory_each = 64};
