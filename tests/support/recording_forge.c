/* recording_forge.c: see recording_forge.h. */
#include "tests/support/recording_forge.h"

#include "protocol/record/recording_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void recording_forge_checks(u8 *file, size_t bytes)
{
    size_t at = 0;
    RecordingBlock block;
    while (recording_block_get(file + at, bytes - at, &block) == 0 &&
           block.length <= bytes - at - block.head_bytes) {
        block.check = recording_block_check(&block, file + at + block.head_bytes);
        (void)recording_block_put(&block, file + at); /* as long as it was */
        at += recording_block_bytes(&block);
    }
}

void recording_forge(const u8 *data, size_t bytes, void (*use)(const char *path, size_t bytes))
{
    u8 *file = bytes > 0 ? malloc(bytes) : NULL;
    if (file == NULL) {
        return;
    }
    memcpy(file, data, bytes);
    recording_forge_checks(file, bytes);
    int fd = memfd_create("recording", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, file, bytes) == (ssize_t)bytes) {
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        use(path, bytes);
    }
    if (fd >= 0) {
        close(fd);
    }
    free(file);
}
