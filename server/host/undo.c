/* undo.c: undoes a user's last actions: a spawned entity is removed, a removed one is spawned again
 * where it was if it came from a prefab, and a parameter gets its previous value. */
#include "protocol/field/quantize.h"
#include "server/host/session.h"

#include <string.h>

enum {
    /* Changes of one parameter that are this close together count as one: a slider drag. */
    SLIDE_MS = 700,
    /* The host's own inputs are applied after the client's of the same tick, before a release. */
    SEQUENCE_FIRST = UINT32_MAX - (1 << 20),
};

static void push(UndoList *list, const UndoAction *action)
{
    if (list->count == UNDO_MAX) {
        memmove(list->actions, list->actions + 1, (UNDO_MAX - 1) * sizeof *action);
        list->count--;
    }
    list->actions[list->count++] = *action;
}

static void drop(UndoList *list, u32 number)
{
    list->count--;
    memmove(list->actions + number, list->actions + number + 1,
            (list->count - number) * sizeof list->actions[0]);
}

/* ---- recording actions ---- */

/* A parameter's value in the newest frame. */
static bool value_before(Host *host, u32 parameter, f32 values[4])
{
    MessageWorld world = {0};
    const Frame *frame = host->common.history.newest;
    host->common.source->ops->describe(host->common.source, &world);
    if (frame == NULL || parameter >= world.parameter_count) {
        return false;
    }
    const ScalarInfo *info = &world.parameters[parameter];
    const FieldSet *fields = frame->fields;
    if (info->field >= fields->count || fields->fields[info->field].kind != FIELD_SCALARS ||
        info->first + info->components > fields->fields[info->field].capacity) {
        return false;
    }
    memcpy(values, (const f32 *)frame_field(frame, info->field) + info->first,
           info->components * sizeof *values);
    return true;
}

/* Position of an entity: of its body, or the mean of its points. */
static bool place_of(const Host *host, u32 id, UndoAction *action)
{
    const Entity *entity = entity_list_find(&host->common.entities, id);
    const Frame *frame = host->common.history.newest;
    if (entity == NULL || frame == NULL || entity->count == 0) {
        return false;
    }
    const FieldDesc *field = &frame->fields->fields[entity->field];
    if (field->kind == FIELD_POSES) {
        const QPose *pose = &frame_poses(frame, entity->field)[entity->first];
        action->position = dequantize_position(field, pose->position);
        action->rotation = dequantize_rotation(pose->rotation);
        return true;
    }
    if (field->kind != FIELD_POINTS) {
        return false;
    }
    const QPoint *points = frame_points(frame, entity->field) + entity->first;
    Vec3 sum = vec3_zero();
    for (u32 i = 0; i < entity->count; i++) {
        sum = vec3_add(sum, dequantize_position(field, points[i].position));
    }
    action->position = vec3_scale(sum, 1.0f / (f32)entity->count);
    return true;
}

void undo_note(Host *host, Session *session, const Input *input)
{
    UndoList *list = &session->undo;
    UndoAction action = {.kind = input->kind,
                         .sequence = input->sequence,
                         .index = input->index,
                         .at_ms = host->now_ms,
                         .rotation = quat_identity()};
    UndoAction *last = list->count > 0 ? &list->actions[list->count - 1] : NULL;
    switch (input->kind) {
    case INPUT_SPAWN:
        push(list, &action);
        break;
    case INPUT_REMOVE:
        action.index = spawns_prefab(host, input->entity);
        action.entity = input->entity;
        if (place_of(host, input->entity, &action)) {
            push(list, &action);
        }
        break;
    case INPUT_SET:
        if (last != NULL && last->kind == INPUT_SET && last->index == input->index &&
            host->now_ms - last->at_ms < SLIDE_MS) {
            last->at_ms = host->now_ms;
            last->sequence = input->sequence;
        } else if (value_before(host, input->index, action.values)) {
            push(list, &action);
        }
        break;
    default:
        break;
    }
}

static void made_again(Host *host, UndoList *list, u32 entity)
{
    spawns_made_by(host, entity, list->again_prefab);
    for (u32 i = 0; i < list->count; i++) {
        if (list->actions[i].entity == list->again_entity) {
            list->actions[i].entity = entity;
        }
    }
    list->again_sequence = 0;
}

void undo_event(Host *host, const Event *event)
{
    if (event->kind == EVENT_RESET) { /* new world: nothing left to undo */
        for (u32 i = 0; i < host->session_capacity; i++) {
            host->sessions[i].undo.count = 0;
        }
        return;
    }
    Session *session = event->user != 0 ? session_of_user(host, event->user) : NULL;
    bool spawned = event->kind == EVENT_SPAWN, refused = event->kind == EVENT_REFUSED;
    if (session == NULL || (!spawned && !refused)) {
        return;
    }
    if (spawned && event->sequence == session->undo.again_sequence) {
        made_again(host, &session->undo, event->entity.id);
        return;
    }
    for (u32 i = session->undo.count; i-- > 0;) {
        UndoAction *action = &session->undo.actions[i];
        if (action->sequence == event->sequence && refused) {
            drop(&session->undo, i);
            return;
        }
        if (action->sequence == event->sequence && action->kind == INPUT_SPAWN) {
            action->entity = event->entity.id;
            spawns_made_by(host, event->entity.id, action->index);
            return;
        }
    }
}

/* ---- undoing ---- */

/* Makes the input that undoes an action. 0 or a negative Error. */
static int reverse(Host *host, const Session *session, const UndoAction *action, Input *input)
{
    input->rotation = quat_identity();
    switch (action->kind) {
    case INPUT_SPAWN:
        input->kind = INPUT_REMOVE;
        input->entity = action->entity;
        return entity_list_find(&host->common.entities, action->entity) != NULL ? ERROR_OK
                                                                                : ERROR_NOT_FOUND;
    case INPUT_REMOVE:
        input->kind = INPUT_SPAWN;
        input->index = action->index;
        input->target = action->position;
        input->rotation = action->rotation;
        if (action->index == PREFAB_NONE) {
            return ERROR_UNSUPPORTED;
        }
        return host->memory_short                                                     ? ERROR_MEMORY
               : session->role < ROLE_OPERATOR && !entry_spawn_allowed(host, session) ? ERROR_LIMIT
                                                                                      : ERROR_OK;
    default:
        input->kind = INPUT_SET;
        input->index = action->index;
        memcpy(input->values, action->values, sizeof input->values);
        return ERROR_OK;
    }
}

int undo_run(Host *host, Session *session)
{
    UndoList *list = &session->undo;
    int result = ERROR_NOT_FOUND;
    if (moderate_frozen(session)) {
        return ERROR_DENIED;
    }
    /* Skip entities that no longer exist, so that a key press always does something. */
    while (list->count > 0 && result == ERROR_NOT_FOUND) {
        UndoAction action = list->actions[--list->count];
        Input input = {.user = session->user,
                       .sequence = SEQUENCE_FIRST + list->sequence++ % (1 << 19)};
        result = reverse(host, session, &action, &input);
        if (result == ERROR_OK && input_check(&input) != 0) {
            result = ERROR_RANGE;
        }
        if (result == ERROR_OK) {
            bool taken = host->common.source->ops->input(host->common.source, &input, 1) == 1;
            result = taken ? ERROR_OK : ERROR_LIMIT;
        }
        if (result == ERROR_OK && action.kind == INPUT_REMOVE) {
            list->again_sequence = input.sequence;
            list->again_prefab = action.index;
            list->again_entity = action.entity;
        }
        if (result == ERROR_LIMIT) {
            list->actions[list->count++] = action; /* may succeed later */
        }
    }
    return result;
}
