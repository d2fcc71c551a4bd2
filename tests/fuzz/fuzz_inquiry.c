/*
 * fuzz_inquiry.c: answers and questions of strangers: what is read has clean texts, and read again
 * after being written it is the same; an answer is smaller than its question.
 */
#include "protocol/session/inquiry.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"

#include <string.h>

static bool is_clean(const char *text, u32 bytes)
{
    if (memchr(text, '\0', bytes) == NULL) {
        return false;
    }
    for (const char *c = text; *c != '\0'; c++) {
        if ((u8)*c < 0x20 || *c == 0x7F) {
            return false;
        }
    }
    return true;
}

static void run(const u8 *data, size_t bytes)
{
    u64 nonce, again_nonce;
    WorldNotice notice, again;
    u8 question[INQUIRY_BYTES], answer[INQUIRY_ANSWER_BYTES];
    if (inquiry_is(data, (u32)bytes)) {
        CHECK(bytes > INQUIRY_ANSWER_BYTES && probe_is(data, (u32)bytes));
        memset(&notice, 0xFF, sizeof notice); /* texts without an end cannot be given */
        notice.name[NAME_BYTES_MAX - 1] = notice.scene[NAME_BYTES_MAX - 1] = '\0';
        notice.version[VERSION_BYTES_MAX - 1] = '\0';
        inquiry_answer(&notice, data, answer);
        CHECK(inquiry_read(answer, sizeof answer, &nonce, &again));
        CHECK(memcmp(&nonce, data + 8, sizeof nonce) == 0);
    }
    if (inquiry_read(data, (u32)bytes, &nonce, &notice)) {
        CHECK(is_clean(notice.name, sizeof notice.name));
        CHECK(is_clean(notice.scene, sizeof notice.scene));
        CHECK(is_clean(notice.version, sizeof notice.version));
        CHECK(notice.flags <= WORLD_FLAGS && notice.port != 0);
        inquiry_write(nonce, question);
        inquiry_answer(&notice, question, answer);
        CHECK(inquiry_read(answer, sizeof answer, &again_nonce, &again));
        CHECK(again_nonce == nonce && memcmp(&again, &notice, sizeof again) == 0);
    }
}

const FuzzTarget fuzz_target = {.run = run, .size_max = 2 * INQUIRY_BYTES, .memory_fixed = 4096};
