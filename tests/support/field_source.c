/* field_source.c: see field_source.h. */
#include "tests/support/field_source.h"
#include "server/author/scene_load.h"

#include "protocol/field/quantize.h"
#include "protocol/scene/scene.h"
#include "shared/base/check.h"
#include "tests/support/process.h"
#include "tests/support/quiet_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct FieldSource {
    Source base;
    const u64 *start_ns, *now_ns;
    Scene *scene;
    FieldSet *fields;
    Entity entities[FIELD_SOURCE_FIELDS];
    u64 ticks; /* frames delivered */
    QuietInputs inputs;
} FieldSource;

f32 field_wave(f32 x, f32 z, f64 time_s)
{
    return 1.0f + 0.3f * (f32)sin(1.5 * (f64)x + 0.7 * (f64)z - 3.0 * time_s);
}

Vec3 field_blob_centre(f64 time_s)
{
    return vec3((f32)cos(time_s), 3.0f + 0.3f * (f32)sin(2.0 * time_s), (f32)sin(time_s));
}

f32 field_blob(Vec3 point, f64 time_s)
{
    f32 away = vec3_distance(point, field_blob_centre(time_s)) / FIELD_BLOB_WIDTH_M;
    return expf(-away * away);
}

Vec3 field_swarm(u32 i, f64 time_s)
{
    f64 angle = 0.21 * i + 0.8 * time_s;
    return vec3(4.5f + 0.8f * (f32)cos(angle), 1.6f + 0.015f * (f32)i, 0.8f * (f32)sin(angle));
}

FieldSet *field_source_fields(void)
{
    const FieldDesc fields[FIELD_SOURCE_FIELDS] = {
        [FIELD_WAVE] = {.kind = FIELD_GRID2,
                        .channels = 2,
                        .name = "wave",
                        .capacity = 40 * 36,
                        .dims = {40, 36},
                        .origin = {-4.9f, 0.25f, -3.5f},
                        .quantum = 1.0f / 16384.0f,
                        .spacing = {0.25f, 0, 0.2f},
                        .value_min = -1.0f},
        [FIELD_BLOB] = {.kind = FIELD_GRID3,
                        .channels = 2,
                        .name = "blob",
                        .capacity = 14 * 10 * 13,
                        .dims = {14, 10, 13},
                        .origin = {-2.5f, 1.5f, -2.3f},
                        .quantum = 1.0f / 255.0f,
                        .spacing = {0.4f, 0.3f, 0.4f}},
        [FIELD_SWARM] = {.kind = FIELD_POINTS,
                         .name = "swarm",
                         .capacity = FIELD_SWARM_POINTS,
                         .quantum = 1.0f / 1024.0f},
    };
    return field_set_create(fields, FIELD_SOURCE_FIELDS);
}

void field_source_entities(Entity entities[FIELD_SOURCE_FIELDS])
{
    static const char *const names[FIELD_SOURCE_FIELDS] = {"lake", "cloud", "swarm"};
    static const u8 kinds[FIELD_SOURCE_FIELDS] = {APPEARANCE_WATER, APPEARANCE_SMOKE,
                                                  APPEARANCE_SHAPE};
    static const f32 colors[FIELD_SOURCE_FIELDS][4] = {
        {0.05f, 0.2f, 0.8f, 1}, {0.8f, 0.1f, 0.05f, 1}, {0.1f, 0.7f, 0.1f, 1}};
    FieldSet *fields = field_source_fields();
    memset(entities, 0, FIELD_SOURCE_FIELDS * sizeof *entities);
    for (u32 i = 0; i < FIELD_SOURCE_FIELDS; i++) {
        Entity *entity = &entities[i];
        entity->id = i + 1;
        snprintf(entity->name, sizeof entity->name, "%s", names[i]);
        entity->field = (u8)i;
        entity->movable = 1;
        entity->count = fields->fields[i].capacity;
        entity->mass_kg = 1.0f;
        entity->appearance.kind = (AppearanceKind)kinds[i];
        entity->appearance.roughness = 0.6f;
        memcpy(entity->appearance.color, colors[i], sizeof entity->appearance.color);
        memcpy(entity->appearance.color2, colors[i], sizeof entity->appearance.color2);
    }
    entities[FIELD_SWARM].appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.1f};
    field_set_release(fields);
}

static void fill_wave(const FieldDesc *field, u16 *cells, f64 time_s)
{
    for (u32 i = 0; i < field->capacity; i++) {
        f32 x = field->origin.x + field->spacing.x * (f32)(i % field->dims[0]);
        f32 z = field->origin.z + field->spacing.z * (f32)(i / field->dims[0]);
        f32 height = field_wave(x, z, time_s);
        cells[2 * i] = quantize_height(field, height - field->origin.y);
        cells[2 * i + 1] = (u16)lrintf(65535.0f * (height - 0.7f) / 0.6f);
    }
}

static void fill_blob(const FieldDesc *field, u8 *voxels, f64 time_s)
{
    for (u32 i = 0; i < field->capacity; i++) {
        u32 x = i % field->dims[0], y = i / field->dims[0] % field->dims[1];
        u32 z = i / ((u32)field->dims[0] * field->dims[1]);
        Vec3 at = vec3_add(field->origin, vec3_mul(field->spacing, vec3((f32)x, (f32)y, (f32)z)));
        voxels[2 * i] = quantize_density(field, field_blob(at, time_s));
        voxels[2 * i + 1] = (u8)(255 * y / field->dims[1]);
    }
}

Frame *field_source_frame(FieldSet *fields, u64 tick)
{
    Frame *frame = frame_create(fields, tick, 0);
    f64 time_s = (f64)tick / FIELD_SOURCE_HZ;
    CHECK(frame != NULL);
    frame->world_time_s = time_s;
    fill_wave(&fields->fields[FIELD_WAVE], frame_field(frame, FIELD_WAVE), time_s);
    fill_blob(&fields->fields[FIELD_BLOB], frame_field(frame, FIELD_BLOB), time_s);
    QPoint *points = frame_points(frame, FIELD_SWARM);
    for (u32 i = 0; i < FIELD_SWARM_POINTS; i++) {
        quantize_position(&fields->fields[FIELD_SWARM], field_swarm(i, time_s), points[i].position);
        points[i].generation = 1;
    }
    return frame;
}

static Frame *field_take(Source *source)
{
    FieldSource *s = (FieldSource *)source;
    u64 due = (*s->now_ns - *s->start_ns) * FIELD_SOURCE_HZ / 1000000000ull + 1;
    return *s->now_ns != 0 && s->ticks < due ? field_source_frame(s->fields, s->ticks++) : NULL;
}

static void field_describe(Source *source, MessageWorld *out)
{
    FieldSource *s = (FieldSource *)source;
    memset(out, 0, sizeof *out);
    out->tick = s->ticks > 0 ? s->ticks - 1 : 0;
    out->scene = s->scene->bytes;
    out->scene_bytes = s->scene->byte_count;
    out->fields = s->fields->fields;
    out->field_count = s->fields->count;
    out->entities = s->entities;
    out->entity_count = FIELD_SOURCE_FIELDS;
}

static u32 field_input(Source *source, const Input *inputs, u32 count)
{
    FieldSource *s = (FieldSource *)source;
    return quiet_inputs_add(&s->inputs, inputs, count);
}

static void field_status(Source *source, SourceStatus *out)
{
    FieldSource *s = (FieldSource *)source;
    memset(out, 0, sizeof *out);
    out->tick = s->ticks;
    out->status.speed = 1.0f;
}

static void field_destroy(Source *source)
{
    FieldSource *s = (FieldSource *)source;
    scene_destroy(s->scene);
    field_set_release(s->fields);
    free(s);
}

Source *field_source_create(const u64 *start_ns, const u64 *now_ns)
{
    static const SourceOps ops = {.destroy = field_destroy,
                                  .start = quiet_start,
                                  .take = field_take,
                                  .describe = field_describe,
                                  .input = field_input,
                                  .control = quiet_control,
                                  .status = field_status};
    FieldSource *s = calloc(1, sizeof *s);
    ErrorText error = {0};
    CHECK(s != NULL);
    s->base.ops = &ops;
    s->start_ns = start_ns;
    s->now_ns = now_ns;
    s->scene = scene_load(source_path("shared/scenes/empty.json"), &error);
    s->fields = field_source_fields();
    CHECK(s->scene != NULL && s->fields != NULL);
    field_source_entities(s->entities);
    return &s->base;
}

u32 field_source_inputs(const Source *source, Input *inputs, u32 max)
{
    const FieldSource *s = (const FieldSource *)source;
    u32 count = u32_min(s->inputs.count, max);
    memcpy(inputs, s->inputs.items, count * sizeof *inputs);
    return count;
}
