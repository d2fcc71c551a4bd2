/*
 * format_mcap.c: MCAP version 0 (mcap.dev/spec): messages of Foxglove in chunks without
 * compression, each followed by its message indexes; then a summary with schemas, channels,
 * statistics and the index of chunks. CRCs are those of zlib. Time is the recording's date plus
 * world time.
 *   /tf_static, /bodies   frames of bodies that stay, shapes: whenever something comes or goes
 *   /tf                   frames of bodies that move: every picture
 *   /soft                 soft bodies, ropes, surfaces of water: every picture
 *   /points/NAME          liquids, grains, particles: every picture
 *   /probes               every picture
 */
#include "server/export/foxglove.h"
#include "shared/base/memory.h"
#include "shared/base/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OP_HEADER = 1,
    OP_FOOTER = 2,
    OP_SCHEMA = 3,
    OP_CHANNEL = 4,
    OP_MESSAGE = 5,
    OP_CHUNK = 6,
    OP_MESSAGE_INDEX = 7,
    OP_CHUNK_INDEX = 8,
    OP_STATISTICS = 11,
    OP_SUMMARY_OFFSET = 14,
    OP_DATA_END = 15,
    /* A chunk is written once it is this large: readers load one at a time. */
    CHUNK_BYTES = 1 << 20,
    CHANNELS_FIXED = 5,
    CHANNELS_MAX = 65000, /* they are numbered by u16 */
    SCHEMA_COUNT = 4,
};

static const u8 magic[8] = {0x89, 'M', 'C', 'A', 'P', '0', '\r', '\n'};

enum {
    CHANNEL_TF_STATIC,
    CHANNEL_BODIES,
    CHANNEL_TF,
    CHANNEL_SOFT,
    CHANNEL_PROBES
};

static const char *const schema_names[SCHEMA_COUNT] = {
    "foxglove.FrameTransforms", "foxglove.SceneUpdate", "foxglove.PointCloud", "plenum.Probes"};

typedef struct McapIndexEntry {
    u64 time_ns, offset;
} McapIndexEntry;

typedef struct McapChannel {
    char topic[EXPORT_NAME_BYTES_MAX + 16];
    u32 schema; /* index in schema_names */
    u64 messages;
    McapIndexEntry *entries; /* of the chunk */
    u32 entry_count, entry_capacity;
} McapChannel;

typedef struct McapChunk {
    u64 start_ns, end_ns, offset, bytes, index_bytes, content_bytes;
    u32 first_mark, mark_count; /* in marks */
} McapChunk;

/* Position of a chunk's index of a channel. */
typedef struct McapMark {
    u32 channel;
    u64 offset;
} McapMark;

typedef struct Mcap {
    const ExportWorld *world;
    ExportOutput *output;
    ExportFile *file;
    u32 crc_table[256];
    u32 crc; /* of what was written, since the last reset */
    McapChannel *channels;
    u32 channel_count;
    u32 *channel_of;           /* [thing_count] of points; 0: none */
    bool has_soft, *was_there; /* [thing_count] in the picture before */
    Proto record, message, chunk;
    u64 chunk_start_ns, chunk_end_ns, first_ns, last_ns;
    McapChunk *chunks;
    u32 chunk_count, chunk_capacity;
    McapMark *marks;
    u32 mark_count, mark_capacity;
} Mcap;

/* ---- bytes ---- */

static void crc_prepare(u32 table[256])
{
    for (u32 i = 0; i < 256; i++) {
        u32 c = i;
        for (u32 k = 0; k < 8; k++) {
            c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
        }
        table[i] = c;
    }
}

static u32 crc_update(const u32 table[256], u32 crc, const u8 *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; i < bytes; i++) {
        crc = table[(crc ^ data[i]) & 0xFF] ^ crc >> 8;
    }
    return ~crc;
}

static void put(Mcap *mcap, const void *data, size_t bytes)
{
    mcap->crc = crc_update(mcap->crc_table, mcap->crc, data, bytes);
    export_write(mcap->file, data, bytes);
}

static void add_u16(Proto *out, u32 value)
{
    u16 v = (u16)value;
    proto_bytes(out, &v, sizeof v);
}

static void add_u32(Proto *out, u32 value)
{
    proto_bytes(out, &value, sizeof value);
}

static void add_u64(Proto *out, u64 value)
{
    proto_bytes(out, &value, sizeof value);
}

static void add_text(Proto *out, const char *text)
{
    add_u32(out, (u32)strlen(text));
    proto_bytes(out, text, strlen(text));
}

static void add_head(Proto *out, u8 op, u64 bytes)
{
    proto_bytes(out, &op, 1);
    add_u64(out, bytes);
}

/* Writes the record in mcap->record. */
static void put_record(Mcap *mcap, u8 op)
{
    u8 head[9] = {op};
    u64 bytes = mcap->record.count;
    memcpy(head + 1, &bytes, sizeof bytes);
    put(mcap, head, sizeof head);
    put(mcap, mcap->record.bytes, mcap->record.count);
    mcap->record.count = 0;
}

/* ---- schemas and channels: before the data, and again in the summary ---- */

static void put_schemas(Mcap *mcap)
{
    Proto description = {0};
    foxglove_describe(&description);
    for (u32 i = 0; i < SCHEMA_COUNT; i++) {
        add_u16(&mcap->record, i + 1);
        add_text(&mcap->record, schema_names[i]);
        add_text(&mcap->record, "protobuf");
        add_u32(&mcap->record, (u32)description.count);
        proto_bytes(&mcap->record, description.bytes, description.count);
        put_record(mcap, OP_SCHEMA);
    }
    mcap->record.failed |= description.failed;
    proto_finish(&description);
}

static void put_channels(Mcap *mcap)
{
    for (u32 i = 0; i < mcap->channel_count; i++) {
        add_u16(&mcap->record, i);
        add_u16(&mcap->record, mcap->channels[i].schema + 1);
        add_text(&mcap->record, mcap->channels[i].topic);
        add_text(&mcap->record, "protobuf");
        add_u32(&mcap->record, 0);
        put_record(mcap, OP_CHANNEL);
    }
}

static int add_channels(Mcap *mcap)
{
    static const struct {
        const char *topic;
        u32 schema;
    } fixed[CHANNELS_FIXED] = {
        [CHANNEL_TF_STATIC] = {"/tf_static", 0},
        [CHANNEL_BODIES] = {"/bodies", 1},
        [CHANNEL_TF] = {"/tf", 0},
        [CHANNEL_SOFT] = {"/soft", 1},
        [CHANNEL_PROBES] = {"/probes", 3},
    };
    const ExportWorld *world = mcap->world;
    u32 clouds = 0;
    for (u32 i = 0; i < world->thing_count; i++) {
        clouds += world->things[i].form == EXPORT_POINTS && world->things[i].visible;
    }
    if (clouds > CHANNELS_MAX) {
        return export_output_fail(mcap->output, ERROR_LIMIT,
                                  "more than %d clouds of points: choose some by --only",
                                  CHANNELS_MAX);
    }
    mcap->channels = calloc(CHANNELS_FIXED + clouds, sizeof *mcap->channels);
    mcap->channel_of = calloc(u32_max(world->thing_count, 1), sizeof *mcap->channel_of);
    mcap->was_there = calloc(u32_max(world->thing_count, 1), sizeof *mcap->was_there);
    if (mcap->channels == NULL || mcap->channel_of == NULL || mcap->was_there == NULL) {
        return ERROR_MEMORY;
    }
    for (; mcap->channel_count < CHANNELS_FIXED; mcap->channel_count++) {
        McapChannel *channel = &mcap->channels[mcap->channel_count];
        channel->schema = fixed[mcap->channel_count].schema;
        snprintf(channel->topic, sizeof channel->topic, "%s", fixed[mcap->channel_count].topic);
    }
    for (u32 i = 0; i < world->thing_count; i++) {
        const ExportThing *thing = &world->things[i];
        mcap->has_soft |=
            thing->visible && (thing->form == EXPORT_SURFACE || thing->form == EXPORT_LINES);
        if (thing->form == EXPORT_POINTS && thing->visible) {
            McapChannel *channel = &mcap->channels[mcap->channel_count];
            channel->schema = 2;
            snprintf(channel->topic, sizeof channel->topic, "/points/%s", thing->name);
            mcap->channel_of[i] = mcap->channel_count++;
        }
    }
    return ERROR_OK;
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    Mcap *mcap = calloc(1, sizeof *mcap);
    *format = mcap;
    if (mcap == NULL) {
        return ERROR_MEMORY;
    }
    mcap->world = world;
    mcap->output = output;
    crc_prepare(mcap->crc_table);
    int result = add_channels(mcap);
    if (result != ERROR_OK) {
        return result;
    }
    mcap->file = export_file_create(output, NULL);
    put(mcap, magic, sizeof magic);
    add_text(&mcap->record, "");
    add_text(&mcap->record, "plenum " PLENUM_VERSION);
    put_record(mcap, OP_HEADER);
    put_schemas(mcap);
    put_channels(mcap);
    return mcap->record.failed ? ERROR_MEMORY : ERROR_OK;
}

/* ---- chunks ---- */

static void put_message_indexes(Mcap *mcap, McapChunk *chunk)
{
    chunk->first_mark = mcap->mark_count;
    u64 start = export_file_bytes(mcap->file);
    for (u32 i = 0; i < mcap->channel_count; i++) {
        McapChannel *channel = &mcap->channels[i];
        if (channel->entry_count == 0) {
            continue;
        }
        if (!memory_grow((void **)&mcap->marks, &mcap->mark_capacity, mcap->mark_count + 1,
                         sizeof *mcap->marks)) {
            mcap->record.failed = true;
            return;
        }
        mcap->marks[mcap->mark_count++] = (McapMark){i, export_file_bytes(mcap->file)};
        chunk->mark_count++;
        add_u16(&mcap->record, i);
        add_u32(&mcap->record, channel->entry_count * (u32)sizeof *channel->entries);
        proto_bytes(&mcap->record, channel->entries,
                    channel->entry_count * sizeof *channel->entries);
        put_record(mcap, OP_MESSAGE_INDEX);
        channel->entry_count = 0;
    }
    chunk->index_bytes = export_file_bytes(mcap->file) - start;
}

static void put_chunk(Mcap *mcap)
{
    if (mcap->chunk.count == 0) {
        return;
    }
    if (!memory_grow((void **)&mcap->chunks, &mcap->chunk_capacity, mcap->chunk_count + 1,
                     sizeof *mcap->chunks)) {
        mcap->record.failed = true;
        return;
    }
    McapChunk *chunk = &mcap->chunks[mcap->chunk_count++];
    *chunk = (McapChunk){.start_ns = mcap->chunk_start_ns,
                         .end_ns = mcap->chunk_end_ns,
                         .offset = export_file_bytes(mcap->file),
                         .content_bytes = mcap->chunk.count};
    add_u64(&mcap->record, chunk->start_ns);
    add_u64(&mcap->record, chunk->end_ns);
    add_u64(&mcap->record, mcap->chunk.count);
    add_u32(&mcap->record, crc_update(mcap->crc_table, 0, mcap->chunk.bytes, mcap->chunk.count));
    add_text(&mcap->record, "");
    add_u64(&mcap->record, mcap->chunk.count);
    proto_bytes(&mcap->record, mcap->chunk.bytes, mcap->chunk.count);
    put_record(mcap, OP_CHUNK);
    mcap->chunk.count = 0;
    chunk->bytes = export_file_bytes(mcap->file) - chunk->offset;
    put_message_indexes(mcap, chunk);
}

/* Adds mcap->message to the chunk. */
static void add_message(Mcap *mcap, u32 index, u64 time_ns)
{
    enum {
        HEAD_BYTES = 22
    };
    McapChannel *channel = &mcap->channels[index];
    if (!memory_grow((void **)&channel->entries, &channel->entry_capacity, channel->entry_count + 1,
                     sizeof *channel->entries)) {
        mcap->record.failed = true;
        return;
    }
    mcap->chunk_start_ns = mcap->chunk.count == 0 ? time_ns : mcap->chunk_start_ns;
    mcap->chunk_end_ns = time_ns;
    channel->entries[channel->entry_count++] = (McapIndexEntry){time_ns, mcap->chunk.count};
    add_head(&mcap->chunk, OP_MESSAGE, HEAD_BYTES + mcap->message.count);
    add_u16(&mcap->chunk, index);
    add_u32(&mcap->chunk, (u32)channel->messages++);
    add_u64(&mcap->chunk, time_ns);
    add_u64(&mcap->chunk, time_ns);
    proto_bytes(&mcap->chunk, mcap->message.bytes, mcap->message.count);
    mcap->record.failed |= mcap->message.failed || mcap->chunk.failed;
    mcap->message.count = 0;
    if (mcap->chunk.count >= CHUNK_BYTES) {
        put_chunk(mcap);
    }
}

static bool bodies_change(Mcap *mcap, const ExportPicture *picture)
{
    bool changes = picture->number == 0;
    for (u32 i = 0; i < mcap->world->thing_count; i++) {
        bool there = picture->states[i].there;
        changes |= mcap->world->things[i].form == EXPORT_BODY && there != mcap->was_there[i];
        mcap->was_there[i] = there;
    }
    return changes;
}

static int picture(void *format, const ExportPicture *picture)
{
    Mcap *mcap = format;
    const ExportWorld *world = mcap->world;
    u64 time_ns = world->created_unix_s * 1000000000 +
                  picture->tick / world->tick_rate * 1000000000 +
                  picture->tick % world->tick_rate * 1000000000 / world->tick_rate;
    mcap->first_ns = picture->number == 0 ? time_ns : mcap->first_ns;
    mcap->last_ns = time_ns;
    if (bodies_change(mcap, picture)) {
        foxglove_transforms(&mcap->message, world, picture, time_ns, false);
        add_message(mcap, CHANNEL_TF_STATIC, time_ns);
        int result = foxglove_bodies(&mcap->message, world, picture, time_ns);
        if (result != ERROR_OK) {
            return result;
        }
        add_message(mcap, CHANNEL_BODIES, time_ns);
    }
    foxglove_transforms(&mcap->message, world, picture, time_ns, true);
    if (mcap->message.count > 0) {
        add_message(mcap, CHANNEL_TF, time_ns);
    }
    if (mcap->has_soft) {
        foxglove_soft(&mcap->message, world, picture, time_ns);
        add_message(mcap, CHANNEL_SOFT, time_ns);
    }
    for (u32 i = 0; i < world->thing_count; i++) {
        if (mcap->channel_of[i] != 0) {
            foxglove_points(&mcap->message, &picture->states[i], time_ns);
            add_message(mcap, mcap->channel_of[i], time_ns);
        }
    }
    if (world->probe_count > 0) {
        foxglove_probes(&mcap->message, world, picture, time_ns);
        add_message(mcap, CHANNEL_PROBES, time_ns);
    }
    return !mcap->record.failed
               ? ERROR_OK
               : export_output_fail(mcap->output, ERROR_LIMIT,
                                    "tick %llu: out of memory, or more than 1 GiB: choose objects "
                                    "by --only",
                                    (unsigned long long)picture->tick);
}

/* ---- summary ---- */

static void put_statistics(Mcap *mcap)
{
    u64 messages = 0;
    u32 used = 0;
    for (u32 i = 0; i < mcap->channel_count; i++) {
        messages += mcap->channels[i].messages;
        used += mcap->channels[i].messages > 0;
    }
    add_u64(&mcap->record, messages);
    add_u16(&mcap->record, SCHEMA_COUNT);
    add_u32(&mcap->record, mcap->channel_count);
    add_u32(&mcap->record, 0); /* attachments */
    add_u32(&mcap->record, 0); /* metadata */
    add_u32(&mcap->record, mcap->chunk_count);
    add_u64(&mcap->record, mcap->first_ns);
    add_u64(&mcap->record, mcap->last_ns);
    add_u32(&mcap->record, used * 10);
    for (u32 i = 0; i < mcap->channel_count; i++) {
        if (mcap->channels[i].messages > 0) {
            add_u16(&mcap->record, i);
            add_u64(&mcap->record, mcap->channels[i].messages);
        }
    }
    put_record(mcap, OP_STATISTICS);
}

static void put_chunk_indexes(Mcap *mcap)
{
    for (u32 i = 0; i < mcap->chunk_count; i++) {
        const McapChunk *chunk = &mcap->chunks[i];
        add_u64(&mcap->record, chunk->start_ns);
        add_u64(&mcap->record, chunk->end_ns);
        add_u64(&mcap->record, chunk->offset);
        add_u64(&mcap->record, chunk->bytes);
        add_u32(&mcap->record, chunk->mark_count * 10);
        for (u32 k = 0; k < chunk->mark_count; k++) {
            add_u16(&mcap->record, mcap->marks[chunk->first_mark + k].channel);
            add_u64(&mcap->record, mcap->marks[chunk->first_mark + k].offset);
        }
        add_u64(&mcap->record, chunk->index_bytes);
        add_text(&mcap->record, "");
        add_u64(&mcap->record, chunk->content_bytes); /* compressed */
        add_u64(&mcap->record, chunk->content_bytes);
        put_record(mcap, OP_CHUNK_INDEX);
    }
}

static int end(void *format)
{
    static const struct {
        u8 op;
        void (*put)(Mcap *mcap);
    } groups[] = {{OP_SCHEMA, put_schemas},
                  {OP_CHANNEL, put_channels},
                  {OP_STATISTICS, put_statistics},
                  {OP_CHUNK_INDEX, put_chunk_indexes}};
    Mcap *mcap = format;
    u64 starts[PL_COUNT(groups) + 1];
    put_chunk(mcap);
    add_u32(&mcap->record, mcap->crc);
    put_record(mcap, OP_DATA_END);
    mcap->crc = 0;
    for (u32 i = 0; i < PL_COUNT(groups); i++) {
        starts[i] = export_file_bytes(mcap->file);
        groups[i].put(mcap);
    }
    u64 offsets = starts[PL_COUNT(groups)] = export_file_bytes(mcap->file);
    for (u32 i = 0; i < PL_COUNT(groups); i++) {
        if (starts[i + 1] > starts[i]) {
            proto_bytes(&mcap->record, &groups[i].op, 1);
            add_u64(&mcap->record, starts[i]);
            add_u64(&mcap->record, starts[i + 1] - starts[i]);
            put_record(mcap, OP_SUMMARY_OFFSET);
        }
    }
    /* The CRC of the summary covers the footer up to itself. */
    Proto footer = {0};
    add_head(&footer, OP_FOOTER, 20);
    add_u64(&footer, starts[0]);
    add_u64(&footer, offsets);
    put(mcap, footer.bytes, footer.count);
    u32 crc = mcap->crc;
    put(mcap, &crc, sizeof crc);
    put(mcap, magic, sizeof magic);
    bool failed = footer.failed || mcap->record.failed;
    proto_finish(&footer);
    return failed ? ERROR_MEMORY : ERROR_OK;
}

static void destroy(void *format)
{
    Mcap *mcap = format;
    export_file_close(mcap->file);
    for (u32 i = 0; i < mcap->channel_count; i++) {
        free(mcap->channels[i].entries);
    }
    free(mcap->channels);
    free(mcap->channel_of);
    free(mcap->was_there);
    free(mcap->chunks);
    free(mcap->marks);
    proto_finish(&mcap->record);
    proto_finish(&mcap->message);
    proto_finish(&mcap->chunk);
    free(mcap);
}

const ExportFormat export_mcap = {
    .name = "mcap",
    .about = "MCAP with messages of Foxglove",
    .begin = begin,
    .picture = picture,
    .end = end,
    .destroy = destroy,
};
