/* recording_image.c: reads images of the world in recordings, and the parent of a branch. Both are
 * untrusted: sizes are compared with the file before memory is allocated. */
#include "protocol/record/recording_internal.h"
#include "shared/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

int recording_take_parent(const RecordingReader *reader, const RecordingBlock *block,
                          RecordingParent *out)
{
    RecordingFileParent file;
    memset(out, 0, sizeof *out);
    if (block->length < sizeof file) {
        return ERROR_FORMAT;
    }
    memcpy(&file, reader->content, sizeof file);
    if (file.name_bytes == 0 || file.name_bytes >= sizeof out->name || file.reserved != 0 ||
        block->length != sizeof file + file.name_bytes) {
        return ERROR_FORMAT;
    }
    const char *name = (const char *)reader->content + sizeof file;
    if (!text_is_clean(name, file.name_bytes) || memchr(name, '/', file.name_bytes) != NULL) {
        return ERROR_FORMAT;
    }
    memcpy(out->name, name, file.name_bytes);
    out->tick = file.tick;
    out->created_unix_s = file.created_unix_s;
    return 0;
}

int recording_take_image(const RecordingReader *reader, const RecordingBlock *block, u64 offset,
                         RecordingImage *image, u32 *part)
{
    RecordingFileImage file;
    if (block->length < sizeof file) {
        return ERROR_FORMAT;
    }
    memcpy(&file, reader->content, sizeof file);
    if (file.kind == 0 || file.kind >= RECORDING_IMAGE_KIND_COUNT || file.bytes == 0 ||
        file.bytes > RECORDING_IMAGE_BYTES_MAX || file.part >= recording_image_parts(file.bytes) ||
        (file.kind == RECORDING_IMAGE_BACK ? file.back_tick >= block->tick : file.back_tick != 0)) {
        return ERROR_FORMAT;
    }
    *image = (RecordingImage){block->tick, file.kind, file.back_tick, file.bytes, offset};
    *part = file.part;
    return 0;
}

int recording_unpack_image(const RecordingReader *reader, const RecordingBlock *block,
                           const RecordingImage *image, u32 part, u8 *out)
{
    const u8 *packed = reader->content + sizeof(RecordingFileImage);
    size_t packed_bytes = block->length - sizeof(RecordingFileImage);
    size_t bytes = recording_image_part(image->bytes, part);
    if (ZSTD_getFrameContentSize(packed, packed_bytes) != bytes) {
        return ERROR_FORMAT;
    }
    size_t got = ZSTD_decompress(out, bytes, packed, packed_bytes);
    return ZSTD_isError(got) || got != bytes ? ERROR_FORMAT : 0;
}

const RecordingImage *recording_reader_image_here(const RecordingReader *reader)
{
    return reader->image_here ? &reader->image : NULL;
}

/* Reads the block of a part of `image`; the first is at image->offset. */
static int read_part(RecordingReader *reader, const RecordingImage *image, u32 part, u64 *offset,
                     RecordingBlock *block)
{
    RecordingImage here;
    u32 part_here = 0;
    int result = recording_read_block(reader, *offset, block);
    if (result == 0) {
        result = block->type == BLOCK_IMAG
                     ? recording_take_image(reader, block, *offset, &here, &part_here)
                     : ERROR_FORMAT;
    }
    if (result == 0 && (part_here != part || here.bytes != image->bytes ||
                        here.tick != image->tick || here.kind != image->kind)) {
        result = ERROR_FORMAT;
    }
    *offset += recording_block_bytes(block);
    return result;
}

int recording_reader_image(RecordingReader *reader, const RecordingImage *image, u64 most,
                           u8 **bytes, ErrorText *error)
{
    *bytes = NULL;
    if (image->bytes > RECORDING_IMAGE_BYTES_MAX || (most > 0 && image->bytes > most)) {
        return error_set(error, ERROR_LIMIT,
                         "the image of tick %llu has %llu MiB, the limit is %llu",
                         (unsigned long long)image->tick, (unsigned long long)(image->bytes >> 20),
                         (unsigned long long)(most >> 20));
    }
    u64 parts = recording_image_parts(image->bytes), offset = image->offset;
    RecordingBlock block;
    u8 *out = NULL;
    int result = 0;
    for (u32 part = 0; part < parts && result == 0; part++) {
        /* Memory grows with the parts found, not with the size claimed by the first. */
        size_t before = (size_t)part * RECORDING_IMAGE_PART_BYTES;
        result = read_part(reader, image, part, &offset, &block);
        if (result == 0) {
            u8 *larger = realloc(out, before + recording_image_part(image->bytes, part));
            out = larger != NULL ? larger : out;
            result = larger != NULL
                         ? recording_unpack_image(reader, &block, image, part, out + before)
                         : ERROR_MEMORY;
        }
    }
    if (result != 0) {
        free(out);
        return error_set(error, result, "the image of tick %llu cannot be read: %s",
                         (unsigned long long)image->tick, error_name((Error)result));
    }
    *bytes = out;
    return ERROR_OK;
}
