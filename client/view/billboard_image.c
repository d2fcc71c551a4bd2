/* billboard_image.c: see billboard_image.h. */
#include "client/view/billboard_image.h"

#include "shared/math/random.h"

#include <math.h>

typedef struct Texel {
    f32 opacity, white;
} Texel;

/* Noise of one octave on a lattice, [0, 1]. */
static f32 lattice(u64 seed, f32 x, f32 y)
{
    f32 fx = floorf(x), fy = floorf(y), u = f32_smooth_step(0, 1, x - fx),
        v = f32_smooth_step(0, 1, y - fy);
    f32 corner[4];
    for (u32 i = 0; i < 4; i++) {
        u64 cx = (u64)(i64)fx + (i & 1), cy = (u64)(i64)fy + (i >> 1);
        corner[i] = random_f32(seed, cx * 7919 + cy);
    }
    f32 below = corner[0] + (corner[1] - corner[0]) * u;
    f32 above = corner[2] + (corner[3] - corner[2]) * u;
    return below + (above - below) * v;
}

static f32 cloud(u64 seed, f32 x, f32 y)
{
    f32 sum = 0.0f, share = 0.5f;
    for (u32 octave = 0; octave < 4; octave++, share *= 0.5f) {
        sum += share * lattice(seed + octave, x, y);
        x *= 2.1f;
        y *= 2.1f;
    }
    return sum / 0.9375f;
}

/* x and y are -1 to 1 within the tile, r is the distance from its middle. */
static Texel dot_at(f32 r)
{
    f32 h = f32_max(1.0f - r * r, 0.0f);
    return (Texel){h * h, h * h * h * 0.6f};
}

static Texel spark_at(f32 r)
{
    f32 glow = f32_max(1.0f - r, 0.0f), core = 1.0f - f32_smooth_step(0.10f, 0.42f, r);
    return (Texel){f32_min(0.55f * glow * glow + core, 1.0f), core};
}

static Texel smoke_at(u64 variant, f32 x, f32 y, f32 r)
{
    f32 noise = cloud(100 + 10 * variant, 2.2f * x + 8.0f, 2.2f * y + 8.0f);
    f32 body = 1.0f - f32_smooth_step(0.25f, 0.95f, r + 0.75f * (noise - 0.45f));
    f32 shade = cloud(500 + 10 * variant, 3.0f * x + 8.0f, 3.0f * y + 8.0f);
    return (Texel){body * (0.55f + 0.45f * noise) * (1.0f - f32_smooth_step(0.8f, 0.98f, r)),
                   0.35f + 0.65f * shade};
}

/* Six arms with two pairs of branches. */
static Texel snowflake_at(f32 x, f32 y, f32 r)
{
    const f32 sector = 1.04719755f; /* 60 degrees */
    f32 angle = atan2f(y, x);
    angle = fabsf(angle - sector * roundf(angle / sector));
    f32 along = r * cosf(angle), across = r * sinf(angle), nearest = across;
    for (f32 at = 0.38f; at < 0.8f; at += 0.27f) {
        f32 dx = along - at, branch = 0.5f * dx + 0.8660254f * across; /* along it, at 60 degrees */
        f32 off = fabsf(0.8660254f * dx - 0.5f * across);
        if (branch > 0.0f && branch < 0.75f * (0.95f - at)) {
            nearest = f32_min(nearest, off);
        }
    }
    f32 line = along < 0.92f ? 1.0f - f32_smooth_step(0.02f, 0.085f, nearest) : 0.0f;
    return (Texel){f32_max(line, 0.25f * f32_max(1.0f - r * 1.15f, 0.0f)), 1.0f};
}

static Texel drop_at(f32 x, f32 y, f32 r)
{
    f32 body = 1.0f - f32_smooth_step(0.72f, 0.9f, r), rim = f32_smooth_step(0.3f, 0.85f, r);
    f32 glint = 1.0f - f32_smooth_step(0.08f, 0.3f, hypotf(x + 0.3f, y - 0.35f));
    return (Texel){body * f32_min(0.3f + 0.5f * rim + glint, 1.0f),
                   f32_min(0.35f + 0.4f * rim + glint, 1.0f)};
}

static Texel ring_at(f32 r)
{
    f32 off = (r - 0.72f) / 0.13f;
    return (Texel){expf(-off * off) * (1.0f - f32_smooth_step(0.9f, 1.0f, r)), 0.5f};
}

/* A tongue that licks upwards: round below, with a tip that bends, eaten into by noise. */
static Texel flame_at(u64 variant, f32 x, f32 y)
{
    f32 high = f32_clamp(0.5f * (y + 0.95f) / 0.95f, 0.0f, 1.0f);
    f32 lick = cloud(900 + 10 * variant, 2.5f * x + 8.0f, 1.6f * y + 8.0f) - 0.5f;
    f32 holes = cloud(940 + 10 * variant, 3.2f * x + 8.0f, 2.4f * y + 8.0f);
    f32 half = 1.45f * sqrtf(high) * (1.0f - high) + 0.02f; /* widest at a third, 0.56 */
    f32 side = (x + 0.9f * lick * high) / half;
    f32 body = f32_max(1.0f - side * side, 0.0f) * (1.0f - f32_smooth_step(0.75f, 1.0f, high));
    body *=
        f32_smooth_step(0.1f + 0.35f * high, 0.55f + 0.25f * high, holes + 0.35f * (1.0f - high));
    body *= 1.0f - f32_smooth_step(0.85f, 0.98f, f32_max(fabsf(x), fabsf(y)));
    return (Texel){body, 0.5f * body * body * (1.0f - high)};
}

static Texel image_at(BillboardImage image, u32 variant, f32 x, f32 y)
{
    f32 r = hypotf(x, y);
    switch (image) {
    case BILLBOARD_SPARK:
        return spark_at(r);
    case BILLBOARD_SMOKE:
        return smoke_at(variant, x, y, r);
    case BILLBOARD_SNOWFLAKE:
        return snowflake_at(x, y, r);
    case BILLBOARD_DROP:
        return drop_at(x, y, r);
    case BILLBOARD_RING:
        return ring_at(r);
    case BILLBOARD_FLAME:
        return flame_at(variant, x, y);
    case BILLBOARD_DOT:
    case BILLBOARD_IMAGE_COUNT:
        break;
    }
    return dot_at(r);
}

void billboard_tiles(BillboardImage image, u32 *first, u32 *count)
{
    static const u8 rows[BILLBOARD_IMAGE_COUNT][2] = {
        [BILLBOARD_DOT] = {0, 1},       [BILLBOARD_SPARK] = {1, 1}, [BILLBOARD_SMOKE] = {2, 4},
        [BILLBOARD_SNOWFLAKE] = {6, 1}, [BILLBOARD_DROP] = {7, 1},  [BILLBOARD_RING] = {8, 1},
        [BILLBOARD_FLAME] = {9, 4}};
    bool known = (u32)image < BILLBOARD_IMAGE_COUNT;
    *first = rows[known ? image : 0][0];
    *count = rows[known ? image : 0][1];
}

static u8 to_byte(f32 share)
{
    return (u8)(f32_clamp(share, 0.0f, 1.0f) * 255.0f + 0.5f);
}

static void tile_fill(u8 *sheet, u32 tile, BillboardImage image, u32 variant)
{
    u32 left = tile % SHEET_TILES * SHEET_TILE, low = tile / SHEET_TILES * SHEET_TILE;
    for (u32 j = 0; j < SHEET_TILE; j++) {
        for (u32 i = 0; i < SHEET_TILE; i++) {
            f32 x = ((f32)i + 0.5f) * (2.0f / SHEET_TILE) - 1.0f;
            f32 y = ((f32)j + 0.5f) * (2.0f / SHEET_TILE) - 1.0f;
            Texel texel = image_at(image, variant, x, y);
            u8 *out = sheet + 2 * ((size_t)(low + j) * SHEET_EDGE + left + i);
            out[0] = to_byte(texel.opacity);
            out[1] = to_byte(texel.white);
        }
    }
}

void billboard_sheet(u8 *sheet)
{
    for (size_t i = 0; i < (size_t)2 * SHEET_EDGE * SHEET_EDGE; i++) {
        sheet[i] = 0;
    }
    for (u32 image = 0; image < BILLBOARD_IMAGE_COUNT; image++) {
        u32 first, count;
        billboard_tiles((BillboardImage)image, &first, &count);
        for (u32 k = 0; k < count; k++) {
            tile_fill(sheet, first + k, (BillboardImage)image, k);
        }
    }
}
