/* fuzz_image.c: a forged image of a world is refused and changes nothing, or gives a world that
 * continues: it ticks, has a frame, and what is saved of it can be loaded. An input is a list of
 * edits of an image of tests/fuzz/image_scene.json; its checksum is made right, so that the fuzzer
 * gets behind it. */
#include "shared/base/check.h"
#include "shared/base/hash.h"
#include "tests/fuzz/target.h"
#include "tests/support/world_stage.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAVED_AT = 40,
    TICKS = 3,
    EDITS_MAX = 24,
    CHECKSUM_AT = 24, /* after magic, version, hashes of the scene and of the layout */
    BODY_AT = 32,
    EXTRA = 64 /* bytes that edits may put in */
};

/* What is done at an offset of the body. */
typedef enum EditKind {
    EDIT_BYTE,    /* the byte is value */
    EDIT_FLIP,    /* bits of the word are flipped */
    EDIT_WORD,    /* the word is value */
    EDIT_SPECIAL, /* the word is one of a table: not a number, infinite, huge, tiny, no slot */
    EDIT_COPY,    /* the word is that at another offset */
    EDIT_CUT,     /* bytes are left out */
    EDIT_INSERT,  /* bytes of zero are put in */
    EDIT_KIND_COUNT
} EditKind;

static World *world;
static u8 *image, *forged;
static size_t image_bytes;
static u64 image_hash;

static Input hand(InputKind kind, u32 user, const char *name)
{
    return (Input){.kind = kind,
                   .user = user,
                   .sequence = 1,
                   .entity = world_stage_entity(world, name),
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {{0.0f, 2.0f, 5.0f}, {0.0f, 0.0f, -1.0f}}};
}

/* A world with two hands in it, as it was SAVED_AT ticks on. */
static void prepare(void)
{
    world = world_stage_create("tests/fuzz/image_scene.json", NULL);
    Input hands[2] = {hand(INPUT_GRAB, 1, "rider"), hand(INPUT_GRAB, 2, "cloth")};
    hands[1].element = 8;
    for (u32 i = 0; i < SAVED_AT; i++) {
        world_tick(world, hands, i == 10 ? 2 : 0);
    }
    CHECK(world_save(world, &image, &image_bytes) == 0);
    image_hash = world_hash(world);
    forged = malloc(image_bytes + (size_t)EDITS_MAX * EXTRA);
    CHECK(forged != NULL);
}

static u32 word_of(const u8 *at)
{
    u32 word;
    memcpy(&word, at, sizeof word);
    return word;
}

static void put_word(u8 *at, u32 word)
{
    memcpy(at, &word, sizeof word);
}

/* An edit: kind, three bytes of offset, four of value. Returns the new size of the body. */
static size_t apply_edit(u8 *body, size_t bytes, const u8 edit[8])
{
    static const u32 special[] = {0u,          1u,          0xffffffffu, 0x7fc00000u, 0x7f800000u,
                                  0xff800000u, 0x7f7fffffu, 0x00000001u, 0x80000000u, 0x7149f2cau,
                                  0xf149f2cau, 0x3f800000u, 0xbf800000u, 0x7fffffffu, 0x0000ffffu};
    u32 offset = edit[1] | (u32)edit[2] << 8 | (u32)edit[3] << 16, value = word_of(edit + 4);
    if (bytes < 8) {
        return bytes;
    }
    u8 *at = body + offset % (bytes - 4);
    size_t left = bytes - (size_t)(at - body), part = 1 + value % EXTRA;
    switch ((EditKind)(edit[0] % EDIT_KIND_COUNT)) {
    case EDIT_BYTE:
        *at = (u8)value;
        break;
    case EDIT_FLIP:
        put_word(at, word_of(at) ^ value);
        break;
    case EDIT_WORD:
        put_word(at, value);
        break;
    case EDIT_SPECIAL:
        put_word(at, special[value % PL_COUNT(special)]);
        break;
    case EDIT_COPY:
        put_word(at, word_of(body + value % (bytes - 4)));
        break;
    case EDIT_CUT:
        part = part < left ? part : left;
        memmove(at, at + part, left - part);
        return bytes - part;
    case EDIT_INSERT:
        memmove(at + part, at, left);
        memset(at, 0, part);
        return bytes + part;
    default:
        break;
    }
    return bytes;
}

static void run(const u8 *data, size_t bytes)
{
    memcpy(forged, image, image_bytes);
    size_t size = image_bytes - BODY_AT;
    for (size_t i = 0; i + 8 <= bytes && i < 8 * (size_t)EDITS_MAX; i += 8) {
        size = apply_edit(forged + BODY_AT, size, data + i);
    }
    u64 sum = hash_bytes(forged + BODY_AT, size, 0);
    memcpy(forged + CHECKSUM_AT, &sum, sizeof sum);
    ErrorText error;
    if (world_load(world, forged, BODY_AT + size, &error) == 0) {
        world_stage_go_on(world, TICKS);
    } else {
        CHECK(world_hash(world) == image_hash);
    }
    CHECK(world_load(world, image, image_bytes, &error) == 0);
    CHECK(world_hash(world) == image_hash);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 8 * EDITS_MAX, .memory_fixed = 64 << 20};
