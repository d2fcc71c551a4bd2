/*
 * file.h: files that users name. Reading refuses what is not a file of bounded size (a FIFO would
 * block forever, a device never ends); creating never overwrites and never follows a link;
 * replacing leaves the old or the new file, whatever happens.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_FILE_H
#define PLENUM_SHARED_BASE_FILE_H

#include "shared/base/error.h"

PL_BEGIN_C
/* Opens a regular file of at most `most` bytes for reading. Returns its descriptor, for the caller
 * to close, or a negative Error whose text begins with the path. */
int file_open(const char *path, u64 most, ErrorText *error);
/* Reads a whole file of at most `most` bytes; free() it. A zero byte follows the bytes. NULL with
 * an error: also if the file grows beyond `most` meanwhile. */
char *file_read(const char *path, size_t most, size_t *bytes, ErrorText *error);
/* Creates a file that did not exist, for writing and appending; `mode` as for open(2). Returns its
 * descriptor or a negative Error. */
int file_create(const char *path, u32 mode, ErrorText *error);

/* A part of a file's content, borrowed. */
typedef struct FilePart {
    const void *bytes;
    size_t count;
} FilePart;
/* Writes a file anew: the parts go to "PATH.new", are synced, and take the place of what was at
 * `path`. A crash or a full disk at any moment leaves the old file or the new one, whole; a
 * "PATH.new" left by a crash is removed. Blocks until the disk has it. 0 or a negative Error. */
int file_replace(const char *path, const FilePart *parts, u32 count, u32 mode, ErrorText *error);
/* The path of a file in the folder of persistent data (keys, lists), which is created for its owner
 * alone: $STATE_DIRECTORY, else $XDG_STATE_HOME/plenum, else ~/.local/state/plenum. 0 or a negative
 * Error. */
int file_state_path(const char *name, char *path, size_t bytes, ErrorText *error);
PL_END_C

#endif
