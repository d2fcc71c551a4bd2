/* inquiry.c: questions about a world, and answers. */
#include "protocol/session/inquiry.h"
#include "shared/base/check.h"

#include <string.h>

enum {
    KIND_QUESTION = 5,
    KIND_ANSWER = 6
};

typedef struct AnswerHead {
    u8 magic[4];
    u8 kind, flags;
    u16 port;
    u64 nonce;
    u16 users, places;
    u32 host;
    u8 zero[8];
    u8 key[IDENTITY_PUBLIC_BYTES];
    char name[NAME_BYTES_MAX];
    char scene[NAME_BYTES_MAX];
    char version[VERSION_BYTES_MAX];
} AnswerHead;
PL_STATIC_ASSERT(sizeof(AnswerHead) == INQUIRY_ANSWER_BYTES, "layout");
PL_STATIC_ASSERT((int)INQUIRY_ANSWER_BYTES < (int)INQUIRY_BYTES,
                 "a forged question must not be amplified");

/* ---- texts ---- */

/* Bytes of the UTF-8 character at `text`, which ends with 0; 0: it is none, or a control
 * character. */
static u32 character_bytes(const char *text)
{
    const u8 *c = (const u8 *)text;
    u32 count = c[0] < 0x80                   ? 1
                : c[0] >= 0xC2 && c[0] < 0xE0 ? 2
                : c[0] >= 0xE0 && c[0] < 0xF0 ? 3
                : c[0] >= 0xF0 && c[0] < 0xF5 ? 4
                                              : 0;
    for (u32 i = 1; i < count; i++) {
        if ((c[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool control = c[0] < 0x20 || c[0] == 0x7F || (c[0] == 0xC2 && c[1] < 0xA0);
    bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    bool surrogate = c[0] == 0xED && c[1] >= 0xA0;
    bool beyond = c[0] == 0xF4 && c[1] >= 0x90;
    return control || overlong || surrogate || beyond ? 0 : count;
}

u32 notice_text(char *out, u32 bytes, const char *text)
{
    u32 length = 0;
    CHECK(bytes > 0);
    memset(out, 0, bytes);
    for (const char *from = text; *from != '\0';) {
        u32 count = character_bytes(from);
        if (length + u32_max(count, 1) >= bytes) {
            break;
        }
        if (count == 0) {
            out[length++] = '?';
            from++;
            continue;
        }
        memcpy(out + length, from, count);
        length += count;
        from += count;
    }
    return length;
}

/* A field of a datagram, which may lack its end. */
static void text_read(char *out, const char *field, u32 bytes)
{
    char text[NAME_BYTES_MAX + 1] = "";
    memcpy(text, field, bytes);
    text[bytes - 1] = '\0';
    (void)notice_text(out, bytes, text);
}

/* ---- datagrams ---- */

bool inquiry_is(const void *data, u32 bytes)
{
    return bytes >= INQUIRY_BYTES && probe_is(data, bytes) &&
           ((const u8 *)data)[4] == KIND_QUESTION;
}

void inquiry_write(u64 nonce, u8 out[INQUIRY_BYTES])
{
    memset(out, 0, INQUIRY_BYTES);
    memcpy(out, PROBE_MAGIC, 4);
    out[4] = KIND_QUESTION;
    memcpy(out + 8, &nonce, sizeof nonce);
}

void inquiry_answer(const WorldNotice *notice, const void *question, u8 out[INQUIRY_ANSWER_BYTES])
{
    AnswerHead head = {.kind = KIND_ANSWER,
                       .flags = (u8)notice->flags,
                       .port = notice->port,
                       .users = notice->users,
                       .places = notice->places,
                       .host = notice->host};
    memcpy(head.magic, PROBE_MAGIC, sizeof head.magic);
    memcpy(&head.nonce, (const u8 *)question + 8, sizeof head.nonce);
    memcpy(head.key, notice->key, sizeof head.key);
    (void)notice_text(head.name, sizeof head.name, notice->name);
    (void)notice_text(head.scene, sizeof head.scene, notice->scene);
    (void)notice_text(head.version, sizeof head.version, notice->version);
    memcpy(out, &head, sizeof head);
}

bool inquiry_read(const void *data, u32 bytes, u64 *nonce, WorldNotice *notice)
{
    AnswerHead head;
    memset(notice, 0, sizeof *notice);
    if (bytes != INQUIRY_ANSWER_BYTES || !probe_is(data, bytes)) {
        return false;
    }
    memcpy(&head, data, sizeof head);
    if (head.kind != KIND_ANSWER || head.port == 0) {
        return false;
    }
    *nonce = head.nonce;
    notice->port = head.port;
    notice->users = head.users;
    notice->places = head.places;
    notice->host = head.host;
    notice->flags = head.flags & WORLD_FLAGS;
    memcpy(notice->key, head.key, sizeof notice->key);
    text_read(notice->name, head.name, sizeof head.name);
    text_read(notice->scene, head.scene, sizeof head.scene);
    text_read(notice->version, head.version, sizeof head.version);
    return true;
}

/* ---- limits ---- */

void inquiry_limits_init(InquiryLimits *limits, const u8 key[SEAL_HASH_KEY_BYTES], u32 site_s,
                         u32 all_s, u64 now_ms)
{
    memset(limits, 0, sizeof *limits);
    memcpy(limits->key, key, SEAL_HASH_KEY_BYTES);
    limits->site_s = site_s;
    limits->all_s = all_s;
    limits->all = (f32)(2 * all_s);
    limits->all_ms = now_ms;
    for (u32 i = 0; i < INQUIRY_SITES; i++) {
        limits->site[i] = (f32)(2 * site_s);
        limits->site_ms[i] = now_ms;
    }
}

static void refill(f32 *left, u64 *since_ms, u32 rate_s, u64 now_ms)
{
    u64 passed_ms = now_ms > *since_ms ? u64_min(now_ms - *since_ms, 10000) : 0;
    *left = f32_min(*left + (f32)passed_ms * 1e-3f * (f32)rate_s, (f32)(2 * rate_s));
    *since_ms = u64_max(now_ms, *since_ms);
}

bool inquiry_allowed(InquiryLimits *limits, NetAddress host, u64 now_ms)
{
    NetPrefix site = net_site(host);
    u32 i = (u32)(seal_hash(limits->key, &site.address, sizeof site.address) % INQUIRY_SITES);
    refill(&limits->site[i], &limits->site_ms[i], limits->site_s, now_ms);
    refill(&limits->all, &limits->all_ms, limits->all_s, now_ms);
    if (limits->site[i] < 1.0f || limits->all < 1.0f) {
        limits->refused++;
        return false;
    }
    limits->site[i] -= 1.0f;
    limits->all -= 1.0f;
    limits->answered++;
    return true;
}
