/* fuzz_input.c: hostile input packets; what is accepted must encode and decode to the same. */
#include "protocol/session/input.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

static void run(const u8 *data, size_t size)
{
    static InputPacket packet, again;
    u8 out[STATE_PAYLOAD_BYTES_MAX];
    if (input_packet_decode(&packet, data, (u32)size) != 0) {
        return;
    }
    for (u32 i = 0; i < packet.count; i++) {
        CHECK(input_check(&packet.inputs[i]) == 0);
    }
    u32 bytes = input_packet_encode(&packet, out);
    CHECK(input_packet_decode(&again, out, bytes) == 0);
    CHECK(again.count <= packet.count);
    CHECK(memcmp(packet.inputs, again.inputs, again.count * sizeof(Input)) == 0);
}

const FuzzTarget fuzz_target = {.run = run, .size_max = 1 << 12};
