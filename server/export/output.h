/*
 * output.h: the files that an export writes. A file gets its name when it is complete
 * (export_output_commit); until then it is NAME.part, which is removed if the export fails.
 * Existing files are replaced only on demand. The first error sticks: later writes do nothing, so
 * that formats need to check only once a picture.
 * Layer: server/export.
 */
#ifndef PLENUM_SERVER_EXPORT_OUTPUT_H
#define PLENUM_SERVER_EXPORT_OUTPUT_H

#include "shared/base/error.h"

PL_BEGIN_C

typedef struct ExportOutput ExportOutput;
typedef struct ExportFile ExportFile;

/* A file, or with `folder` a folder for files, at `path`; NULL: files in memory that are gone when
 * closed (for tests), of at most `most` bytes together. The path must not exist yet unless
 * `replace` is set (a folder: must be empty). NULL with an error text. */
ExportOutput *export_output_create(const char *path, bool folder, bool replace, ErrorText *error);
ExportOutput *export_output_memory(u64 most);
/* Gives the files their names. 0 or a negative Error. */
int export_output_commit(ExportOutput *output);
/* Removes what was not committed. NULL is fine. */
void export_output_destroy(ExportOutput *output);
/* The first error, or 0; its text in *error (may be NULL). */
int export_output_error(const ExportOutput *output, ErrorText *error);
/* Makes this the error, if it is the first; returns the first one. */
int export_output_fail(ExportOutput *output, Error code, const char *format, ...) PL_PRINTF(3, 4);
/* Last part of the output's path, for references between files; with its ending replaced by
 * `ending`, if that is not NULL. Writes at most `bytes` bytes. */
void export_output_name(const ExportOutput *output, const char *ending, char *name, size_t bytes);

/* The output's own file (NULL), a second one beside it whose ending is replaced (".bin"), or one
 * of this name in its folder. NULL after an error. */
ExportFile *export_file_create(ExportOutput *output, const char *name);
/* A file without a name, to be read again. */
ExportFile *export_file_scratch(ExportOutput *output);
/* Flushes and closes; the content stays. NULL is fine. */
void export_file_close(ExportFile *file);
/* All take a NULL file, which an error left, as one that swallows everything. */
void export_write(ExportFile *file, const void *data, size_t bytes);
void export_print(ExportFile *file, const char *format, ...) PL_PRINTF(2, 3);
/* Writes at a place instead of at the end; not mixed with the two above. */
void export_write_at(ExportFile *file, u64 offset, const void *data, size_t bytes);
/* Makes what was written readable by export_read_at and export_copy. */
void export_file_flush(ExportFile *file);
/* Reads what was written; fails the output if it is not there. */
void export_read_at(ExportFile *file, u64 offset, void *data, size_t bytes);
/* Appends bytes of another file. */
void export_copy(ExportFile *to, ExportFile *from, u64 offset, u64 bytes);
/* Bytes written so far by export_write and export_print. */
u64 export_file_bytes(const ExportFile *file);

PL_END_C

#endif
