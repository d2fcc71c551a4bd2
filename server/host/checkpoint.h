/*
 * checkpoint.h: keeps a world on disk while it runs: a thread that compresses and writes images,
 * because a disk may take seconds and a tick has milliseconds. FOLDER/checkpoint.plworld is the
 * newest, checkpoint.previous.plworld the one before it.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_CHECKPOINT_H
#define PLENUM_SERVER_HOST_CHECKPOINT_H

#include "protocol/record/world_file.h"
#include "protocol/scene/scene.h"

typedef struct CheckpointStats {
    u64 written, failed;
    u64 tick;     /* of the newest on disk; 0: none by this process */
    u64 bytes;    /* of that, unpacked */
    f64 write_ms; /* time that it took */
    bool failing; /* the last one could not be written */
} CheckpointStats;

typedef struct Checkpointer Checkpointer;
/* Creates the folder if there is none, and starts the thread. The scene is borrowed. NULL with an
 * error text if the folder cannot be used. */
Checkpointer *checkpointer_create(const char *folder, const Scene *scene, ErrorText *error);
/* Finishes pending writes. NULL is fine. */
void checkpointer_destroy(Checkpointer *checkpointer);
/* False while it is writing: another image would have to wait. */
bool checkpointer_is_idle(Checkpointer *checkpointer);
/* Takes an image (and owns it) and copies a note of at most WORLD_FILE_NOTE_BYTES_MAX bytes. Waits
 * for the one before to be written. */
void checkpointer_submit(Checkpointer *checkpointer, u64 tick, u8 *image, size_t bytes,
                         const u8 *note, u32 note_bytes);
void checkpointer_stats(Checkpointer *checkpointer, CheckpointStats *out);

/* Reads the newest complete checkpoint of this scene; logs if the newest one was damaged. 0;
 * ERROR_NOT_FOUND if there is none; other negative: there is one that cannot be used, with a text
 * that says why. most: as for world_file_read. */
int checkpoint_find(const char *folder, const Scene *scene, u64 most, WorldFile *file,
                    ErrorText *error);

#endif
