/*
 * save.c: one serialize function over all changing state serves hash, save and load, so that none
 * of them can miss a part.
 */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_MAGIC = 0x47494c50,
    IMAGE_VERSION = 17
}; /* "PLIG" */

typedef struct ImageHead {
    u32 magic, version;
    u64 scene_hash, layout_hash, body_hash;
} ImageHead;

/* An image may contain an invalid enumeration value, so it is compared as a number. */
static bool is_below(const void *word, u32 end)
{
    u32 value;
    memcpy(&value, word, sizeof value);
    return value < end;
}

static bool entity_is_valid(const Entity *entity)
{
    return memchr(entity->name, 0, sizeof entity->name) != NULL &&
           is_below(&entity->appearance.kind, APPEARANCE_KIND_COUNT) &&
           is_below(&entity->appearance.pattern, PATTERN_COUNT) &&
           is_below(&entity->appearance.image, BILLBOARD_IMAGE_COUNT) &&
           is_below(&entity->appearance.shape.kind, SHAPE_KIND_COUNT);
}

/* All members but the geometry's pointer and the dye, which follow from id and field, and no
 * padding. */
static void serialize_entity(State *state, Entity *entity)
{
    Appearance *appearance = &entity->appearance;
    Shape *shape = &appearance->shape;
    PL_STATIC_ASSERT(offsetof(Entity, mass_kg) == 4 + NAME_BYTES_MAX + 4 + 8, "no padding");
    PL_STATIC_ASSERT(offsetof(Appearance, shape) == 8, "no padding");
    PL_STATIC_ASSERT(offsetof(Shape, geometry) == 24, "no padding");
    state_bytes(state, entity, offsetof(Entity, mass_kg) + sizeof entity->mass_kg);
    state_bytes(state, appearance, offsetof(Appearance, shape));
    state_bytes(state, shape, offsetof(Shape, geometry));
    state_bytes(state, &appearance->geometry, sizeof *appearance - offsetof(Appearance, geometry));
}

/* Hashing all of a large list in each tick would cost more than its bodies. */
static void hash_entities(World *world, State *state)
{
    if (world->entities_hash_version != world->entities.version) {
        State list = {.mode = STATE_HASH};
        for (u32 i = 0; i < world->entities.count; i++) {
            serialize_entity(&list, &world->entities.items[i]);
        }
        world->entities_hash = list.hash;
        world->entities_hash_version = world->entities.version;
    }
    state_bytes(state, &world->entities_hash, sizeof world->entities_hash);
}

static void serialize_entities(World *world, State *state)
{
    u32 count = world->entities.count;
    state_count(state, &count, ENTITIES_MAX);
    if (state->mode != STATE_LOAD) {
        for (u32 i = 0; i < count; i++) {
            serialize_entity(state, &world->entities.items[i]);
        }
        return;
    }
    entity_list_clear(&world->entities);
    for (u32 i = 0; i < count && !state->failed; i++) {
        Entity entity = {0};
        serialize_entity(state, &entity);
        entity.dye = entity.field < world->field_count ? world->field_dye[entity.field] : 0;
        if (!state->failed && !entity_is_valid(&entity)) {
            state->failed = true;
        }
        if (!state->failed && entity_list_put(&world->entities, world->fields, &entity) != 0) {
            state->failed = true;
        }
    }
}

/* State that belongs to no kind of matter. */
static void serialize_own(World *world, State *state)
{
    state_part(state, "clocks and slots");
    state_bytes(state, &world->tick, sizeof world->tick);
    state_bytes(state, world->values, world->parameter_count * sizeof *world->values);
    state_bytes(state, &world->next_entity, sizeof world->next_entity);
    state_bytes(state, &world->generation, sizeof world->generation);
    EACH_MATTER_WITH(world, serialize_names, state)
    state_count(state, &world->grab_end, GRABS_MAX);
    state_bytes(state, world->grabs, world->grab_end * sizeof *world->grabs);
    state_part(state, "entities");
    if (state->mode == STATE_HASH) {
        hash_entities(world, state);
    } else {
        serialize_entities(world, state);
    }
}

static void serialize(World *world, State *state)
{
    serialize_own(world, state);
    EACH_MATTER_WITH(world, serialize, state)
}

u64 world_hash_systems(const World *world, u32 systems[FRAME_SYSTEMS_MAX], u32 *count)
{
    PL_STATIC_ASSERT((int)FRAME_SYSTEMS_MAX == 1 + (int)MATTERS_MAX, "one more than kinds");
    State state = {.mode = STATE_HASH};
    World *w = (World *)(uintptr_t)world; /* hashing only reads */
    serialize_own(w, &state);
    systems[0] = (u32)state.hash;
    *count = 1 + w->matter_count;
    for (u32 i = 0; i < w->matter_count; i++) {
        Matter *matter = w->matters[i];
        if (matter->ops->serialize != NULL) {
            matter->ops->serialize(matter, &state);
        }
        systems[1 + i] = (u32)state.hash;
    }
    return state.hash;
}

u64 world_hash(const World *world)
{
    u32 systems[FRAME_SYSTEMS_MAX], count;
    return world_hash_systems(world, systems, &count);
}

const char *world_system_name(const World *world, u32 system)
{
    CHECK(system <= world->matter_count);
    return system == 0 ? "clocks, parameters, hands and entities"
                       : world->matters[system - 1]->ops->name;
}

u64 world_layout_hash(World *world)
{
    State count = {.mode = STATE_COUNT};
    serialize(world, &count);
    return count.hash;
}

static ImageHead image_head(const World *world)
{
    ImageHead head = {IMAGE_MAGIC, IMAGE_VERSION,
                      hash_bytes(world->scene->bytes, world->scene->byte_count, 0),
                      world->layout_hash, 0};
    return head;
}

int world_save(const World *world, u8 **image, size_t *bytes)
{
    size_t capacity = 0;
    *image = NULL;
    int result = world_save_into(world, image, &capacity, bytes);
    if (result != ERROR_OK) {
        free(*image);
        *image = NULL;
    }
    return result;
}

/* Saves all but the head into memory of this size. False: it does not fit. */
static bool save_body(World *world, u8 *data, size_t bytes, size_t *used)
{
    State save = {.mode = STATE_SAVE, .data = data, .bytes = bytes};
    serialize(world, &save);
    *used = save.used;
    return !save.failed;
}

int world_save_into(const World *world, u8 **image, size_t *capacity, size_t *bytes)
{
    World *w = (World *)(uintptr_t)world; /* counting and saving only read */
    ImageHead head = image_head(world);
    size_t used = 0;
    /* Counting costs as much as saving: only if the memory turns out to be too small. */
    bool saved = *capacity > sizeof head &&
                 save_body(w, *image + sizeof head, *capacity - sizeof head, &used);
    if (!saved) {
        State count = {.mode = STATE_COUNT};
        serialize(w, &count);
        CHECK(!count.failed);
        size_t wanted = *bytes = sizeof head + count.used;
        if (wanted > *capacity) {
            free(*image);
            *image = malloc(wanted);
            *capacity = *image != NULL ? wanted : 0;
        }
        if (*image == NULL) {
            return ERROR_MEMORY;
        }
        saved = save_body(w, *image + sizeof head, count.used, &used) && used == count.used;
    }
    if (!saved) {
        return ERROR_STATE;
    }
    *bytes = sizeof head + used;
    head.body_hash = hash_bytes(*image + sizeof head, used, 0);
    memcpy(*image, &head, sizeof head);
    return ERROR_OK;
}

static void part_must(State *state, const char *name, bool (*holds)(const World *world),
                      const World *world)
{
    state_part(state, name);
    state->failed = state->failed || !holds(world);
}

/* Restores the state from the bytes after the header: references between its parts are checked
 * before a tick uses them. Returns NULL, or a text that says what is damaged. */
static const char *load_body(World *world, const u8 *body, size_t bytes)
{
    /* Loading never writes to the image. */
    State state = {
        .mode = STATE_LOAD, .data = (u8 *)(uintptr_t)body, .bytes = bytes, .jobs = world->jobs};
    serialize(world, &state);
    state_part(&state, "its length");
    state.failed = state.failed || state.used != bytes;
    part_must(&state, "clocks and slots", world_clocks_hold, world);
    part_must(&state, "entities", world_entities_hold, world);
    part_must(&state, "hands", world_grabs_hold, world);
    part_must(&state, "parameters", world_values_hold, world);
    return state.failed ? state.part : NULL;
}

static int check_head(const World *world, const u8 *image, size_t bytes, ErrorText *error)
{
    ImageHead head, own = image_head(world);
    if (bytes < sizeof head) {
        return error_set(error, ERROR_TRUNCATED, "world image: too short");
    }
    memcpy(&head, image, sizeof head);
    if (head.magic != own.magic || head.version != own.version) {
        return error_set(error, ERROR_VERSION, "world image: not of this version");
    }
    if (head.scene_hash != own.scene_hash) {
        return error_set(error, ERROR_MISMATCH, "world image: of another scene");
    }
    if (head.layout_hash != own.layout_hash) {
        return error_set(error, ERROR_VERSION,
                         "world image: of another build, whose state has another layout");
    }
    if (head.body_hash != hash_bytes(image + sizeof head, bytes - sizeof head, 0)) {
        return error_set(error, ERROR_FORMAT, "world image: damaged");
    }
    return ERROR_OK;
}

int world_load(World *world, const u8 *image, size_t bytes, ErrorText *error)
{
    int result = check_head(world, image, bytes, error);
    if (result != ERROR_OK) {
        return result;
    }
    u8 *own;
    size_t own_bytes;
    result = world_save(world, &own, &own_bytes);
    if (result != ERROR_OK) {
        return error_set(error, result, "world image: out of memory while loading");
    }
    const char *damaged = load_body(world, image + sizeof(ImageHead), bytes - sizeof(ImageHead));
    if (damaged != NULL) {
        load_body(world, own + sizeof(ImageHead), own_bytes - sizeof(ImageHead));
        result = error_set(error, ERROR_FORMAT, "world image: damaged (%s); nothing was changed",
                           damaged);
    }
    free(own);
    if (result == ERROR_OK) {
        world->event_count = 0;
    }
    tune_apply(world);
    return result;
}
