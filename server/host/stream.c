/* stream.c: see stream.h. */
#include "server/host/stream.h"

#include "protocol/session/message.h"

#include <stdlib.h>
#include <string.h>

bool stream_init(Stream *stream, Source *source, const Scene *scene)
{
    memset(stream, 0, sizeof *stream);
    history_init(&stream->history);
    stream->source = source;
    stream->entities.scene = scene;
    stream->cache = chunk_cache_create();
    stream->world_tail = calloc(WORLD_TAIL_MAX, sizeof *stream->world_tail);
    if (stream->cache == NULL || stream->world_tail == NULL) {
        stream_finish(stream);
        return false;
    }
    return true;
}

void stream_finish(Stream *stream)
{
    if (stream->source == NULL) {
        return;
    }
    stream->source->ops->destroy(stream->source);
    chunk_cache_destroy(stream->cache);
    history_finish(&stream->history);
    entity_list_finish(&stream->entities);
    bulk_packer_destroy(stream->packer);
    bulk_content_release(stream->world);
    message_free(stream->world_clear);
    free(stream->world_tail);
    memset(stream, 0, sizeof *stream);
}
