/*
 * world_file.h: .plworld files: a world at a tick, to continue from: its scene, the image of its
 * state and a note of the program that saved it. One zstd frame after a head with checksums; a file
 * is replaced as a whole, so that a crash leaves the old one or the new one.
 * Layer: protocol/record.
 */
#ifndef PLENUM_PROTOCOL_RECORD_WORLD_FILE_H
#define PLENUM_PROTOCOL_RECORD_WORLD_FILE_H

#include "protocol/scene/scene.h"
#include "shared/base/error.h"

PL_BEGIN_C

enum {
    WORLD_FILE_VERSION = 2,
    WORLD_FILE_BUILD_BYTES = 64,
    WORLD_FILE_SCENE_BYTES_MAX = 256 << 20,
    WORLD_FILE_NOTE_BYTES_MAX = 1 << 20,
};
/* Images of the largest worlds are far smaller. */
#define WORLD_FILE_IMAGE_BYTES_MAX ((u64)4 << 30)

typedef struct WorldFile {
    u64 tick;
    u32 tick_rate;
    u64 created_unix_s;
    char build[WORLD_FILE_BUILD_BYTES]; /* version and compiler of the server that saved it */
    char scene_name[NAME_BYTES_MAX];    /* the scene's name, so that files can be identified by
                                         * their heads */
    const u8 *scene;                    /* [scene_bytes] Scene.bytes */
    const u8 *image;                    /* [image_bytes] of world_save */
    const u8 *note;                     /* [note_bytes] of the program that saved it: who may
                                         * return */
    u64 scene_bytes, image_bytes, note_bytes;
    u8 *owned; /* storage of the three, in a file that was read */
} WorldFile;

/* A world to be written: its scene, its own tick, and an image, which remains the caller's; saved
 * now, by this build. */
WorldFile world_file_of(const Scene *scene, u64 tick, const u8 *image, u64 image_bytes);
/* Compresses and writes the file, replacing an existing one atomically. Blocks until it is on disk.
 * 0 or a negative Error with a text. */
int world_file_write(const char *path, const WorldFile *file, ErrorText *error);
/* Reads a file of at most `most` decompressed bytes (0: up to the general limits). 0 or a negative
 * Error with a text: ERROR_NOT_FOUND, ERROR_FORMAT if it is damaged or no such file, ERROR_VERSION,
 * ERROR_LIMIT. On success release it with world_file_release. */
int world_file_read(const char *path, u64 most, WorldFile *file, ErrorText *error);
/* The same from memory. */
int world_file_decode(const u8 *bytes, size_t count, u64 most, WorldFile *file, ErrorText *error);
/* Reads only the scene's name, from the head. False, and "": no such file, not a saved world of
 * this version, or a damaged head. */
bool world_file_scene_name(const char *path, char name[NAME_BYTES_MAX]);
void world_file_release(WorldFile *file); /* a zero-initialized one is fine */

PL_END_C

#endif
