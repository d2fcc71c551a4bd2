/* join_rig.c: see join_rig.h. */
#include "tests/support/join_rig.h"
#include "server/author/scene_load.h"

#include "client/link/timeline.h"
#include "server/world/world.h"
#include "shared/base/check.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/math/random.h"
#include "tests/support/link_memory.h"
#include "tests/support/process.h"
#include "tests/support/quiet_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_RATE = 60,
    CLIENTS = 64,
};

#define MS 1000000ull

typedef struct JoinSource {
    Source base;
    World *world;
    const u8 *scene_bytes;
    u32 scene_byte_count;
    JoinRig *rig; /* its clock; what the ticks cost is counted there */
    u64 ticks;    /* frames delivered */
    QuietInputs inputs;
} JoinSource;

static Frame *join_take(Source *source)
{
    JoinSource *s = (JoinSource *)source;
    u64 due = (s->rig->now_ns - s->rig->start_ns) * TICK_RATE / (1000 * MS) + 1;
    if (s->rig->now_ns == 0 || s->ticks >= due) {
        return NULL;
    }
    u64 began_ns = clock_thread_ns();
    if (s->ticks++ > 0) {
        world_tick(s->world, s->inputs.items, s->inputs.count);
        s->inputs.count = 0;
    }
    Frame *frame = world_frame(s->world);
    s->rig->world_ns += clock_thread_ns() - began_ns;
    return frame;
}

static void join_describe(Source *source, MessageWorld *out)
{
    JoinSource *s = (JoinSource *)source;
    world_describe(s->world, out);
    if (s->scene_bytes != NULL) {
        out->scene = s->scene_bytes;
        out->scene_bytes = s->scene_byte_count;
    }
}

static u32 join_input(Source *source, const Input *inputs, u32 count)
{
    JoinSource *s = (JoinSource *)source;
    return quiet_inputs_add(&s->inputs, inputs, count);
}

static void join_status(Source *source, SourceStatus *out)
{
    JoinSource *s = (JoinSource *)source;
    memset(out, 0, sizeof *out);
    out->tick = world_tick_number(s->world);
    out->status.speed = 1.0f;
}

static void join_destroy(Source *source)
{
    JoinSource *s = (JoinSource *)source;
    world_destroy(s->world);
    free(s);
}

static JoinSource *join_source(JoinRig *rig, const Scene *scene, const MatterList *kinds)
{
    static const SourceOps ops = {.destroy = join_destroy,
                                  .start = quiet_start,
                                  .take = join_take,
                                  .describe = join_describe,
                                  .input = join_input,
                                  .control = quiet_control,
                                  .status = join_status};
    ErrorText error = {0};
    JoinSource *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    s->base.ops = &ops;
    s->world = world_create_with(scene, kinds, NULL, &error);
    CHECK(s->world != NULL);
    s->rig = rig;
    return s;
}

Source *join_rig_source(JoinRig *rig, const Scene *scene)
{
    return &join_source(rig, scene, NULL)->base;
}

void join_rig_start(JoinRig *rig, const Scene *scene, const u8 *scene_bytes, u32 scene_byte_count)
{
    JoinSource *s = join_source(rig, scene, NULL);
    s->scene_bytes = scene_bytes;
    s->scene_byte_count = scene_byte_count;
    join_rig_start_with(rig, &s->base);
}

void join_rig_start_kinds(JoinRig *rig, const Scene *scene, const MatterList *kinds)
{
    join_rig_start_with(rig, &join_source(rig, scene, kinds)->base);
}

void join_rig_start_with(JoinRig *rig, Source *source)
{
    HostOptions options = {.open_role = ROLE_OPERATOR, .relays = true, .encoder = true};
    join_rig_start_options(rig, source, &options);
}

void join_rig_start_options(JoinRig *rig, Source *source, const HostOptions *wanted)
{
    HostOptions options = *wanted;
    options.clients_max = CLIENTS;
    options.snapshot_rate = 30;
    ErrorText error = {0};
    memset(rig, 0, sizeof *rig);
    log_set_level(LOG_ERROR);
    rig->poll_ms = 16;
    rig->source = source;
    rig->link = link_memory_listen(CLIENTS);
    CHECK(rig->link != NULL);
    rig->host = host_create(&options, rig->link, rig->source, &error);
    CHECK(rig->host != NULL);
    /* Whole milliseconds, so that rounding is the same in every run. */
    rig->start_ns = rig->now_ns = (clock_now_ns() / MS + 1) * MS;
    host_iterate(rig->host, rig->now_ns);
}

void join_rig_stop(JoinRig *rig)
{
    host_destroy(rig->host);
}

Connection *join_rig_connect(JoinRig *rig, const NetsimOptions *up, const NetsimOptions *down)
{
    ConnectionOptions options = {.name = "joiner"};
    ErrorText error = {0};
    Link *link = link_memory_connect(rig->link, up, down);
    CHECK(link != NULL);
    Connection *connection = connection_create(link, &options, &error);
    CHECK(connection != NULL);
    return connection;
}

f64 join_rig_ms(const JoinRig *rig)
{
    return (f64)(rig->now_ns - rig->start_ns) * 1e-6;
}

void join_rig_step(JoinRig *rig, Connection **clients, u32 count)
{
    rig->now_ns += MS;
    u64 began_ns = clock_thread_ns();
    host_iterate(rig->host, rig->now_ns);
    rig->host_ns += clock_thread_ns() - began_ns;
    if (!rig->unsettled) {
        host_settle(rig->host);
    }
    for (u32 i = 0; i < count; i++) {
        if (((rig->now_ns - rig->start_ns) / MS + i) % rig->poll_ms == 0) {
            connection_poll(clients[i], rig->now_ns);
        }
    }
}

void join_rig_stall(JoinRig *rig, Connection **clients, u32 count)
{
    rig->now_ns += MS;
    rig->start_ns += MS;
    for (u32 i = 0; i < count; i++) {
        connection_poll(clients[i], rig->now_ns);
    }
}

void join_rig_input(JoinRig *rig, const Input *input)
{
    CHECK(rig->source->ops->input(rig->source, input, 1) == 1);
}

static bool element_known(Connection *client, u32 kind, u32 field, u32 element)
{
    ShownPose pose;
    ShownPoint point;
    return (kind != FIELD_POSES ||
            timeline_pose(connection_timeline(client), field, element, &pose)) &&
           (kind != FIELD_POINTS ||
            timeline_point(connection_timeline(client), field, element, &point));
}

bool join_picture_whole(Connection *client)
{
    u32 count = 0;
    if (connection_state(client) != CONNECTION_LIVE) {
        return false;
    }
    const Entity *entities = connection_entities(client, &count, NULL);
    const FieldSet *fields = connection_fields(client);
    for (u32 i = 0; i < count; i++) {
        u32 field = entities[i].field, first = entities[i].first;
        for (u32 k = 0; k < entities[i].count; k++) {
            if (!element_known(client, fields->fields[field].kind, field, first + k)) {
                return false;
            }
        }
    }
    return true;
}

/* The JSON has zeros; heights are then written to the packed bytes: faster than printing and
 * parsing them. */
u8 *join_large_scene(u32 byte_count, u32 *bytes)
{
    static const char head[] =
        "{\"name\": \"large\", \"bodies\": [{\"name\": \"ground\", \"motion\": \"static\", "
        "\"shape\": {\"kind\": \"terrain\", \"columns\": %u, \"rows\": %u, \"spacing\": 1, "
        "\"heights\": [";
    u32 side = (u32)ceil(sqrt(byte_count / 4.0));
    size_t capacity = sizeof head + 64 + 2 * (size_t)side * side, used;
    ErrorText error = {0};
    char *json = malloc(capacity);
    if (json == NULL) {
        return NULL;
    }
    used = (size_t)snprintf(json, capacity, head, side, side);
    for (u32 i = 0; i < side * side; i++) {
        json[used++] = '7';
        json[used++] = ',';
    }
    used += (size_t)snprintf(json + used - 1, capacity - used + 1, "]}}]}") - 1;
    Scene *scene = scene_parse(json, used, "large", &error);
    free(json);
    CHECK(scene != NULL);
    u8 *copy = malloc(scene->byte_count);
    CHECK(copy != NULL);
    memcpy(copy, scene->bytes, scene->byte_count);
    *bytes = scene->byte_count;
    scene_destroy(scene);
    u64 counter = 0;
    for (u32 i = 0; i + 4 <= *bytes; i += 4) {
        f32 value;
        memcpy(&value, copy + i, 4);
        if (value == 7.0f) {
            value = random_range(1, counter++, -1.0f, 1.0f);
            memcpy(copy + i, &value, 4);
        }
    }
    CHECK(counter >= (u64)side * side);
    return copy;
}

Scene *join_scene(const char *name)
{
    char path[256];
    ErrorText error = {0};
    snprintf(path, sizeof path, "shared/scenes/%s.json", name);
    Scene *scene = scene_load(source_path(path), &error);
    if (scene == NULL) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    return scene;
}
