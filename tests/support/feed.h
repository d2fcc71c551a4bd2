/*
 * feed.h: splits an input of a fuzz target into numbers, texts and bytes, in the order of the
 * target's requests. Beyond the end all are zero.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_FEED_H
#define PLENUM_TESTS_SUPPORT_FEED_H

#include "shared/math/vec.h"

#include <math.h>
#include <string.h>

typedef struct Feed {
    const u8 *data;
    size_t left;
} Feed;

static inline void feed_copy(Feed *feed, void *out, size_t bytes)
{
    size_t there = bytes < feed->left ? bytes : feed->left;
    memset(out, 0, bytes);
    if (there > 0) {
        memcpy(out, feed->data, there);
    }
    feed->data += there;
    feed->left -= there;
}

static inline u32 feed_u8(Feed *feed)
{
    u8 value;
    feed_copy(feed, &value, sizeof value);
    return value;
}

static inline u32 feed_u32(Feed *feed)
{
    u32 value;
    feed_copy(feed, &value, sizeof value);
    return value;
}

/* A number of a byte that selects a kind: a small one, one of a table of bad ones, or any. */
static inline f32 feed_f32(Feed *feed)
{
    static const f32 bad[] = {0.0f,  -0.0f, 1.0f,  -1.0f,     1e-30f,      1e30f,   -1e30f,
                              1e-4f, 9e5f,  -9e5f, 0.999999f, 1.1754e-38f, 3.4e38f, 16777216.0f};
    u32 kind = feed_u8(feed);
    f32 value;
    if (kind < 160) {
        return ((f32)kind - 80.0f) * 0.1f;
    }
    if (kind < 240) {
        u32 which = (kind - 160) % (PL_COUNT(bad) + 2);
        return which < PL_COUNT(bad) ? bad[which] : which == PL_COUNT(bad) ? NAN : INFINITY;
    }
    feed_copy(feed, &value, sizeof value);
    return value;
}

static inline Vec3 feed_vec3(Feed *feed)
{
    f32 x = feed_f32(feed), y = feed_f32(feed), z = feed_f32(feed);
    return vec3(x, y, z);
}

/* As many bytes as a byte says. Borrowed from the input. */
static inline const u8 *feed_bytes(Feed *feed, u32 *bytes)
{
    u32 wanted = feed_u8(feed);
    const u8 *data = feed->data;
    *bytes = wanted < feed->left ? wanted : (u32)feed->left;
    feed->data += *bytes;
    feed->left -= *bytes;
    return data;
}

/* A text that ends within its room. */
static inline void feed_text(Feed *feed, char *out, u32 room)
{
    u32 bytes;
    const u8 *data = feed_bytes(feed, &bytes);
    bytes = bytes < room - 1 ? bytes : room - 1;
    memset(out, 0, room);
    if (bytes > 0) {
        memcpy(out, data, bytes);
    }
}

#endif
