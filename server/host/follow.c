/* follow.c: see follow.h. */
#include "server/host/follow.h"

#include "server/host/publisher.h"

#include <stdlib.h>
#include <string.h>

enum {
    TICKS_AHEAD_MAX = 1 << 20 /* further than this is another stream */
};

struct Follow {
    FollowHandler handler;
    FollowStats stats;
    bool begun; /* `run` and `number` are of the last whole message */
    u64 run, number;
    RecordingReader *reader; /* NULL: waits for a start */
    bool restarted;          /* it has read nothing yet */
    /* Of the newest world, which is the handler's: to compare with. */
    FieldSet *fields;
    u8 *scene_bytes;
    u32 scene_size;
    u64 made_tick;
    bool made;       /* a frame of this world */
    EntityList sent; /* entities after the frames made */
    EntityList now;  /* scratch: what the reader has */
    Scene *scene;    /* that shapes of both point into */

    /* ---- parts of a message ---- */
    u8 *parts; /* [bytes] */
    size_t bytes, capacity;
    u64 parts_run, parts_number;
    u32 part_next, part_count;
};

Follow *follow_create(const FollowHandler *handler)
{
    Follow *f = calloc(1, sizeof *f);
    if (f != NULL) {
        f->handler = *handler;
    }
    return f;
}

static void world_drop(Follow *f)
{
    entity_list_finish(&f->sent);
    entity_list_finish(&f->now);
    field_set_release(f->fields);
    scene_destroy(f->scene);
    free(f->scene_bytes);
    f->fields = NULL;
    f->scene = NULL;
    f->scene_bytes = NULL;
    f->made = false;
}

static void reader_drop(Follow *f)
{
    recording_reader_destroy(f->reader);
    f->reader = NULL;
}

void follow_destroy(Follow *f)
{
    if (f != NULL) {
        reader_drop(f);
        world_drop(f);
        free(f->parts);
        free(f);
    }
}

const FollowStats *follow_stats(const Follow *f)
{
    return &f->stats;
}

/* ---- worlds ---- */

static bool world_same(const Follow *f, const MessageWorld *world, const FieldSet *fields)
{
    return f->fields != NULL && field_set_equal(f->fields, fields) &&
           f->scene_size == world->scene_bytes &&
           memcmp(f->scene_bytes, world->scene, f->scene_size) == 0;
}

/* Stores the data to recognize the world again, and passes it on. */
static int world_take(Follow *f, WorldCopy *world, const RecordingHead *head)
{
    ErrorText error;
    world_drop(f);
    f->scene_bytes = malloc(u32_max(world->message.scene_bytes, 1));
    f->scene = scene_from_bytes(world->scene_bytes, world->message.scene_bytes, &error);
    if (f->scene_bytes == NULL || f->scene == NULL) {
        world_copy_destroy(world);
        world_drop(f);
        return ERROR_MEMORY;
    }
    f->scene_size = world->message.scene_bytes;
    memcpy(f->scene_bytes, world->scene_bytes, f->scene_size);
    f->fields = field_set_acquire(world->fields);
    f->sent.scene = f->now.scene = f->scene;
    f->handler.world(f->handler.context, world, head);
    return ERROR_OK;
}

/* A new reader, at a message that begins with HEAD. */
static int restart(Follow *f, const u8 *blocks, size_t bytes)
{
    ErrorText error = {0};
    reader_drop(f);
    RecordingReader *reader = recording_reader_create_stream(blocks, bytes, &error);
    if (reader == NULL) {
        return error.code;
    }
    const RecordingHead *head = recording_reader_head(reader);
    WorldCopy *world = world_copy_create(&head->world, &error);
    if (world == NULL) {
        recording_reader_destroy(reader);
        return ERROR_FORMAT;
    }
    int result = ERROR_OK;
    if (world_same(f, &head->world, world->fields)) {
        world_copy_destroy(world);
    } else {
        result = world_take(f, world, head);
    }
    if (result != ERROR_OK) {
        recording_reader_destroy(reader);
        return result;
    }
    f->reader = reader;
    f->restarted = true;
    return ERROR_OK;
}

/* ---- frames ---- */

/* The reader's content, as far as it fits the world. */
static int entities_now(Follow *f)
{
    Entity *items = NULL;
    u32 count = 0;
    for (u32 room = 256; count == 0 || count == room / 2; room *= 2) {
        Entity *larger = realloc(items, room * sizeof *items);
        if (larger == NULL) {
            free(items);
            return ERROR_MEMORY;
        }
        items = larger;
        count = recording_reader_entities(f->reader, items, room);
        if (count < room) {
            break;
        }
    }
    entity_list_clear(&f->now);
    f->now.scene = f->scene;
    for (u32 i = 0; i < count; i++) {
        (void)entity_list_put(&f->now, f->fields, &items[i]);
    }
    free(items);
    return ERROR_OK;
}

/* The first frame after a restart: it lists what changed since the last one, or everything. */
static Frame *frame_restarted(Follow *f, u64 tick, bool anew)
{
    if (entities_now(f) != ERROR_OK) {
        return NULL;
    }
    if (anew) {
        entity_list_clear(&f->sent);
        f->sent.scene = f->scene;
    }
    u32 count = anew ? 1 + f->now.count : entity_list_changes(&f->sent, &f->now, NULL);
    Frame *frame = frame_create(f->fields, tick, count);
    if (frame == NULL) {
        return NULL;
    }
    if (!anew) {
        (void)entity_list_changes(&f->sent, &f->now, frame->events);
    } else {
        frame->events[0].kind = EVENT_RESET;
        for (u32 i = 0; i < f->now.count; i++) {
            frame->events[1 + i].kind = EVENT_SPAWN;
            frame->events[1 + i].entity = f->now.items[i];
        }
    }
    (void)entity_list_frame(&f->sent, frame);
    return frame;
}

/* The next frame, with those of its events that fit the world. */
static Frame *frame_following(Follow *f, const Frame *read)
{
    Frame *frame = frame_create(f->fields, read->tick, read->event_count);
    u32 used = 0;
    for (u32 i = 0; frame != NULL && i < read->event_count; i++) {
        if (entity_list_event(&f->sent, f->fields, &read->events[i]) == 0) {
            frame->events[used++] = read->events[i];
        }
    }
    if (frame != NULL) {
        frame->event_count = used;
    }
    return frame;
}

static int frame_give(Follow *f, const Frame *read, const Input *inputs, u32 count)
{
    bool anew = f->restarted && (!f->made || read->tick <= f->made_tick ||
                                 read->tick - f->made_tick > TICKS_AHEAD_MAX);
    Frame *frame = f->restarted ? frame_restarted(f, read->tick, anew) : frame_following(f, read);
    if (frame == NULL) {
        return ERROR_MEMORY;
    }
    memcpy(frame->data, read->data, f->fields->frame_bytes);
    frame->world_hash = read->world_hash;
    frame->world_time_s = read->world_time_s;
    bool first = f->restarted;
    f->restarted = false;
    f->made = true;
    f->made_tick = read->tick;
    f->stats.frames++;
    f->handler.frame(f->handler.context, frame, anew, first ? NULL : inputs, first ? 0 : count);
    return ERROR_OK;
}

/* Passes on all frames of the reader's blocks. 0 or a negative Error. */
static int frames_give(Follow *f)
{
    for (u32 n = 0; n <= PUBLISHER_MESSAGE_TICKS; n++) {
        Frame *read = NULL;
        const Input *inputs = NULL;
        u32 count = 0;
        int result = recording_reader_next(f->reader, &read, &inputs, &count);
        if (result != ERROR_OK) {
            return result == ERROR_NOT_FOUND ? ERROR_OK : result;
        }
        result = n < PUBLISHER_MESSAGE_TICKS ? frame_give(f, read, inputs, count) : ERROR_LIMIT;
        frame_release(read);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_LIMIT;
}

/* ---- messages ---- */

/* Adds a part. 0: the message is whole; ERROR_NOT_FOUND: there are more to come; or another
 * negative Error. */
static int parts_add(Follow *f, const BrokerMessage *m)
{
    if (m->part == 0) {
        f->bytes = 0;
        f->parts_run = m->run;
        f->parts_number = m->number;
        f->part_next = 0;
        f->part_count = m->parts;
    }
    if (f->part_count != m->parts || m->part != f->part_next || m->run != f->parts_run ||
        m->number != f->parts_number) {
        return ERROR_STATE;
    }
    if (m->bytes > BROKER_MESSAGE_BYTES_MAX - f->bytes) {
        f->part_count = 0;
        return ERROR_LIMIT;
    }
    if (f->bytes + m->bytes > f->capacity) {
        size_t larger = 2 * (f->bytes + m->bytes);
        u8 *moved = realloc(f->parts, larger);
        if (moved == NULL) {
            f->part_count = 0;
            return ERROR_MEMORY;
        }
        f->parts = moved;
        f->capacity = larger;
    }
    memcpy(f->parts + f->bytes, m->data, m->bytes);
    f->bytes += m->bytes;
    f->part_next++;
    if (f->part_next < f->part_count) {
        return ERROR_NOT_FOUND;
    }
    f->part_count = 0;
    return ERROR_OK;
}

static int whole_message(Follow *f, const BrokerMessage *m, const u8 *blocks, size_t bytes)
{
    bool known = f->begun && m->run == f->run;
    if (known && m->number <= f->number) {
        f->stats.repeated++;
        return ERROR_STATE;
    }
    bool in_order = known && f->reader != NULL && m->number == f->number + 1;
    f->begun = true;
    f->run = m->run;
    f->number = m->number;
    f->stats.messages++;
    if (!in_order && !m->start) {
        reader_drop(f);
        f->stats.skipped++;
        return ERROR_STATE;
    }
    int result = ERROR_OK;
    if (in_order) {
        recording_reader_feed(f->reader, blocks, bytes);
    } else {
        result = restart(f, blocks, bytes);
    }
    return result == ERROR_OK ? frames_give(f) : result;
}

int follow_message(Follow *f, const BrokerMessage *m)
{
    const u8 *blocks = m->data;
    size_t bytes = m->bytes;
    if (m->parts > 1) {
        int result = parts_add(f, m);
        if (result == ERROR_NOT_FOUND) {
            return ERROR_OK;
        }
        if (result != ERROR_OK) {
            f->stats.skipped++;
            return result;
        }
        blocks = f->parts;
        bytes = f->bytes;
    }
    int result = whole_message(f, m, blocks, bytes);
    if (result != ERROR_OK && result != ERROR_STATE) {
        f->stats.damaged++;
        reader_drop(f); /* its blocks are gone after this call, too */
    }
    return result;
}
