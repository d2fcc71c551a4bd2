/*
 * save.c: one walk over everything that changes serves hash, save and load, so that none of them
 * can forget a part.
 */
#include "server/world/world_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_MAGIC = 0x47494c50,
    IMAGE_VERSION = 1
}; /* "PLIG" */

typedef struct ImageHead {
    u32 magic, version;
    u64 scene_hash;
} ImageHead;

static void walk_entities(World *world, State *state)
{
    u32 count = world->entities.count;
    state_count(state, &count, ENTITIES_MAX);
    if (state->mode != STATE_LOAD) {
        state_bytes(state, world->entities.items, count * sizeof *world->entities.items);
        return;
    }
    entity_list_clear(&world->entities);
    for (u32 i = 0; i < count && !state->failed; i++) {
        Entity entity;
        state_bytes(state, &entity, sizeof entity);
        if (!state->failed && entity_list_put(&world->entities, world->fields, &entity) != 0) {
            state->failed = true;
        }
    }
}

static void walk(World *world, State *state)
{
    state_bytes(state, &world->tick, sizeof world->tick);
    state_bytes(state, world->values, sizeof world->values);
    state_bytes(state, &world->next_entity, sizeof world->next_entity);
    state_bytes(state, &world->points_generation, sizeof world->points_generation);
    state_bytes(state, world->slots, world->body_capacity * sizeof *world->slots);
    state_bytes(state, world->body_slots, world->scene->body_count * sizeof *world->body_slots);
    state_bytes(state, world->cloth_entities,
                world->scene->cloth_count * sizeof *world->cloth_entities);
    state_count(state, &world->hold_end, HOLDS_MAX);
    state_bytes(state, world->holds, world->hold_end * sizeof *world->holds);
    if (state->mode != STATE_HASH) {
        walk_entities(world, state); /* what they are follows from ids and the scene */
    }
    rigid_walk(world->rigid, state);
    soft_walk(world->soft, state);
}

u64 world_hash(const World *world)
{
    State state = {.mode = STATE_HASH};
    walk((World *)(uintptr_t)world, &state); /* hashing only reads */
    return state.hash;
}

static ImageHead image_head(const World *world)
{
    ImageHead head = {IMAGE_MAGIC, IMAGE_VERSION,
                      hash_bytes(world->scene->bytes, world->scene->byte_count, 0)};
    return head;
}

int world_save(const World *world, u8 **image, size_t *bytes)
{
    World *w = (World *)(uintptr_t)world; /* counting and saving only read */
    State count = {.mode = STATE_COUNT};
    walk(w, &count);
    ImageHead head = image_head(world);
    *bytes = sizeof head + count.used;
    *image = malloc(*bytes);
    if (*image == NULL) {
        return ERROR_MEMORY;
    }
    memcpy(*image, &head, sizeof head);
    State save = {.mode = STATE_SAVE, .data = *image + sizeof head, .bytes = count.used};
    walk(w, &save);
    if (save.failed || save.used != count.used) {
        free(*image);
        *image = NULL;
        return ERROR_STATE;
    }
    return ERROR_OK;
}

/* References between the parts of an image must hold before a tick follows them. */
static bool consistent(const World *world)
{
    for (u32 i = 0; i < world->hold_end; i++) {
        u32 most = world->holds[i].soft ? SOFT_GRIPS_MAX : RIGID_GRIPS_MAX;
        if (world->holds[i].user != 0 && world->holds[i].grip >= most) {
            return false;
        }
    }
    for (u32 i = 0; i < world->scene->body_count; i++) {
        if (world->body_slots[i] >= world->body_capacity) {
            return false;
        }
    }
    for (u32 i = 0; i < PARAMETER_COUNT; i++) {
        const ScalarInfo *info = &world->parameters[i];
        for (u32 c = 0; c < info->components; c++) {
            f32 value = world->values[i][c];
            if (!(value >= info->min && value <= info->max) && value != info->initial[c]) {
                return false;
            }
        }
    }
    return true;
}

int world_load(World *world, const u8 *image, size_t bytes, ErrorText *error)
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
    /* Loading never writes to the image. */
    State state = {.mode = STATE_LOAD,
                   .data = (u8 *)(uintptr_t)image + sizeof head,
                   .bytes = bytes - sizeof head};
    walk(world, &state);
    if (state.failed || state.used != state.bytes || !consistent(world)) {
        world_rebuild(world, false);
        return error_set(error, ERROR_FORMAT, "world image: damaged; the world was reset");
    }
    tune_apply(world);
    world->event_count = 0;
    return ERROR_OK;
}
