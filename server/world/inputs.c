/*
 * inputs.c: applies user inputs. Inputs have passed input_check and the host's lag compensation;
 * the remaining checks need the world: whether the object exists, may move, and whether there is
 * capacity.
 */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <string.h>

static void refuse(World *world, const Input *input, int code)
{
    Event *event = world_event(world, EVENT_REFUSED);
    if (event != NULL) {
        event->user = input->user;
        event->sequence = input->sequence;
        event->code = code;
        event->a = input->entity;
    }
}

static Grab *grab_of(World *world, u32 user)
{
    for (u32 i = 0; i < world->grab_end; i++) {
        if (world->grabs[i].user == user) {
            return &world->grabs[i];
        }
    }
    return NULL;
}

/* The entity that an input refers to, if users may interact with it. */
static const Entity *movable(World *world, const Input *input, int *code)
{
    const Entity *entity = entity_list_find(&world->entities, input->entity);
    if (entity == NULL) {
        *code = ERROR_NOT_FOUND;
        return NULL;
    }
    if (!entity->movable) {
        *code = ERROR_DENIED;
        return NULL;
    }
    if (world_matter(world, entity)->ops->by_element && input->element >= entity->count) {
        *code = ERROR_RANGE;
        return NULL;
    }
    return entity;
}

static int do_grab(World *world, const Input *input)
{
    int code = ERROR_OK;
    const Entity *entity = movable(world, input, &code);
    if (entity == NULL) {
        return code;
    }
    Matter *matter = world_matter(world, entity);
    if (matter->ops->grab == NULL) {
        return ERROR_UNSUPPORTED;
    }
    Vec3 point = matter->ops->point(matter, entity, input);
    if (vec3_distance(point, input->ray.origin) > world->scene->hands.reach) {
        return ERROR_RANGE;
    }
    Grab *grab = grab_of(world, input->user);
    if (grab != NULL) {
        world_let_go(world, grab, input->sequence);
    } else {
        grab = grab_of(world, 0);
        if (grab == NULL && world->grab_end < GRABS_MAX) {
            grab = &world->grabs[world->grab_end++];
        }
    }
    if (grab == NULL) {
        return ERROR_LIMIT;
    }
    i32 constraint = matter->ops->grab(matter, entity, input);
    if (constraint < 0) {
        return ERROR_LIMIT;
    }
    grab->user = input->user;
    grab->entity = entity->id;
    grab->constraint = (u32)constraint;
    grab->matter = matter->index;
    world_grab_event(world, input->user, input->sequence, entity->id, input->element, input->local);
    return ERROR_OK;
}

static int do_move(World *world, const Input *input)
{
    Grab *grab = grab_of(world, input->user);
    if (grab == NULL) {
        return ERROR_OK; /* the object was removed meanwhile: EVENT_GRAB reported it */
    }
    Matter *matter = world->matters[grab->matter];
    matter->ops->drag(matter, grab->constraint, input->target);
    return ERROR_OK;
}

static f32 linear_of_root(u32 byte)
{
    f32 root = (f32)(byte & 0xFF) / 255.0f;
    return root * root;
}

static int do_dye(World *world, const Input *input)
{
    Grab *grab = grab_of(world, input->user);
    Matter *matter = grab != NULL ? world->matters[grab->matter] : NULL;
    if (matter != NULL && matter->ops->dye != NULL) {
        u32 roots = input->index;
        Vec3 color =
            vec3(linear_of_root(roots >> 16), linear_of_root(roots >> 8), linear_of_root(roots));
        matter->ops->dye(matter, grab->constraint, color);
    }
    return ERROR_OK;
}

static int do_release(World *world, const Input *input)
{
    Grab *grab = grab_of(world, input->user);
    if (grab != NULL) {
        world_let_go(world, grab, input->sequence);
    }
    return ERROR_OK;
}

static int do_push(World *world, const Input *input)
{
    int code = ERROR_OK;
    const Entity *entity = movable(world, input, &code);
    if (entity == NULL) {
        return code;
    }
    Matter *matter = world_matter(world, entity);
    if (matter->ops->push == NULL) {
        return ERROR_UNSUPPORTED;
    }
    Vec3 impulse = input->vector;
    f32 size = vec3_length(impulse), most = world->scene->hands.impulse_max;
    if (size > most) {
        impulse = vec3_scale(impulse, most / size);
    }
    matter->ops->push(matter, entity, input, impulse);
    return ERROR_OK;
}

static int do_spawn(World *world, const Input *input)
{
    if (input->index >= world->scene->prefab_count) {
        return ERROR_NOT_FOUND;
    }
    if (!bounds_contain_point(&world->scene->bounds, input->target)) {
        return ERROR_RANGE;
    }
    u32 id = 0, live = 0;
    for (u32 i = 0; i < world->matter_count; i++) {
        const Matter *matter = world->matters[i];
        live += matter->ops->spawned != NULL ? matter->ops->spawned(matter, input->user) : 0;
    }
    if (live >= world->scene->hands.spawn_max) {
        return ERROR_LIMIT;
    }
    const ScenePrefab *prefab = &world->scene->prefabs[input->index];
    int result = ERROR_UNSUPPORTED;
    for (u32 i = 0; i < world->matter_count && result == ERROR_UNSUPPORTED; i++) {
        Matter *matter = world->matters[i];
        if (matter->ops->spawn != NULL &&
            (prefab->kind != PREFAB_MATTER || strcmp(prefab->matter, matter->ops->name) == 0)) {
            result = matter->ops->spawn(matter, prefab, input, &id);
        }
    }
    if (result != ERROR_OK) {
        return result;
    }
    Event *event = world_event(world, EVENT_SPAWN);
    if (event != NULL) {
        event->user = input->user;
        event->sequence = input->sequence;
        event->entity = *entity_list_find(&world->entities, id);
    }
    return ERROR_OK;
}

static int do_remove(World *world, const Input *input)
{
    int code = ERROR_OK;
    const Entity *entity = movable(world, input, &code);
    if (entity == NULL) {
        return code;
    }
    const Matter *matter = world_matter(world, entity);
    if (matter->ops->remove == NULL ||
        (matter->ops->can_remove != NULL && !matter->ops->can_remove(matter, entity))) {
        return ERROR_UNSUPPORTED;
    }
    world_remove_entity(world, entity->id);
    return ERROR_OK;
}

static int apply(World *world, const Input *input)
{
    int bad = input_check(input);
    if (bad != ERROR_OK) {
        return bad;
    }
    bool hand = input->kind == INPUT_GRAB || input->kind == INPUT_MOVE ||
                input->kind == INPUT_RELEASE || input->kind == INPUT_DYE;
    if (hand && input->user == 0) { /* user 0 marks free grabs */
        return ERROR_DENIED;
    }
    switch (input->kind) {
    case INPUT_GRAB:
        return do_grab(world, input);
    case INPUT_MOVE:
        return do_move(world, input);
    case INPUT_RELEASE:
        return do_release(world, input);
    case INPUT_DYE:
        return do_dye(world, input);
    case INPUT_PUSH:
        return do_push(world, input);
    case INPUT_SPAWN:
        return do_spawn(world, input);
    case INPUT_REMOVE:
        return do_remove(world, input);
    case INPUT_SET:
        return tune_set(world, input->index, input->values);
    case INPUT_RESET:
        return world_rebuild(world, true);
    default:
        return ERROR_UNSUPPORTED;
    }
}

static bool is_before(const Input *inputs, u32 a, u32 b)
{
    if (inputs[a].user != inputs[b].user) {
        return inputs[a].user < inputs[b].user;
    }
    return inputs[a].sequence < inputs[b].sequence;
}

static void sift_down(const Input *inputs, u32 *order, u32 root, u32 count)
{
    for (u32 child = 2 * root + 1; child < count; child = 2 * root + 1) {
        child += child + 1 < count && is_before(inputs, order[child], order[child + 1]);
        if (!is_before(inputs, order[root], order[child])) {
            return;
        }
        u32 swapped = order[root];
        order[root] = order[child];
        order[child] = swapped;
        root = child;
    }
}

/* Heap sort of indices: qsort allocates, and hostile orders must not cost n². A total order as
 * long as (user, sequence) is unique, which the host ensures. */
static void sort_inputs(const Input *inputs, u32 *order, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        order[i] = i;
    }
    for (u32 i = count / 2; i > 0; i--) {
        sift_down(inputs, order, i - 1, count);
    }
    for (u32 end = count; end > 1; end--) {
        u32 last = order[0];
        order[0] = order[end - 1];
        order[end - 1] = last;
        sift_down(inputs, order, 0, end - 1);
    }
}

void world_inputs(World *world, const Input *inputs, u32 count)
{
    u32 taken = u32_min(count, INPUTS_PER_TICK_MAX);
    sort_inputs(inputs, world->order, taken);
    for (u32 i = 0; i < taken; i++) {
        const Input *input = &inputs[world->order[i]];
        int result = apply(world, input);
        if (result != ERROR_OK) {
            refuse(world, input, result);
        }
    }
    for (u32 i = taken; i < count; i++) {
        refuse(world, &inputs[i], ERROR_LIMIT);
    }
}
