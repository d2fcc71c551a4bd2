/* things.c: see things.h. Both lists of entities ascend by id, so one walk along them finds what
 * came, what went and what stayed. */
#include "server/export/things.h"

#include "server/export/text.h"
#include "shared/base/hash.h"
#include "shared/base/memory.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void things_finish(Things *things)
{
    for (u32 i = 0; i < things->count; i++) {
        free(things->items[i].indices);
    }
    free(things->items);
    free(things->seen);
    free(things->alive);
    free(things->before);
    memset(things, 0, sizeof *things);
}

void things_restart(Things *things)
{
    things->again = true;
    things->sighting_count = things->sightings;
    things->sightings = 0;
    things->alive_count = 0;
}

/* ---- forms ---- */

static int indices_copy(ExportThing *thing, const u32 *indices, u32 count)
{
    thing->indices = malloc(u32_max(count, 1) * sizeof *indices);
    if (thing->indices == NULL) {
        return ERROR_MEMORY;
    }
    if (count > 0) {
        memcpy(thing->indices, indices, count * sizeof *indices);
    }
    thing->index_count = count;
    return ERROR_OK;
}

/* Two triangles a cell of a grid of points, u fastest; `up`: they face against u × v. */
static int indices_grid(ExportThing *thing, u32 columns, u32 rows, bool up)
{
    u32 cells = (columns - 1) * (rows - 1);
    u32 *out = malloc(u32_max(6 * cells, 1) * sizeof *out);
    if (out == NULL) {
        return ERROR_MEMORY;
    }
    thing->indices = out;
    thing->index_count = 6 * cells;
    for (u32 row = 0; row + 1 < rows; row++) {
        for (u32 column = 0; column + 1 < columns; column++) {
            u32 a = row * columns + column, b = a + 1, c = a + columns, d = c + 1;
            const u32 faces[2][6] = {{a, b, c, d, c, b}, {a, c, b, d, b, c}};
            memcpy(out, faces[up], sizeof faces[up]);
            out += 6;
        }
    }
    return ERROR_OK;
}

/* Sticks of fixed length; strings and struts are no matter. */
static int indices_sticks(ExportThing *thing, const SoftMesh *mesh)
{
    thing->indices = malloc(u32_max(2 * mesh->stick_count, 1) * sizeof *thing->indices);
    if (thing->indices == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        if (mesh->sticks[i].low == mesh->sticks[i].high) {
            thing->indices[thing->index_count++] = mesh->sticks[i].a;
            thing->indices[thing->index_count++] = mesh->sticks[i].b;
        }
    }
    return ERROR_OK;
}

static int indices_chain(ExportThing *thing, u32 points)
{
    thing->indices = malloc(2 * (size_t)u32_max(points, 1) * sizeof *thing->indices);
    if (thing->indices == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i + 1 < points; i++) {
        thing->indices[2 * i] = i;
        thing->indices[2 * i + 1] = i + 1;
    }
    thing->index_count = points > 0 ? 2 * (points - 1) : 0;
    return ERROR_OK;
}

static int form_cloth(ExportThing *thing, const SoftMesh *mesh)
{
    const u32 *grid = thing->entity.appearance.grid;
    thing->form = EXPORT_SURFACE;
    thing->vertices = thing->entity.count;
    if (mesh != NULL && mesh->skin_count > 0) {
        thing->vertices = mesh->skin_count;
        return indices_copy(thing, mesh->skin_triangles, 3 * mesh->skin_triangle_count);
    }
    if (mesh != NULL && mesh->triangle_count > 0) {
        return indices_copy(thing, mesh->triangles, 3 * mesh->triangle_count);
    }
    if (mesh != NULL && mesh->grid[0] > 1 && mesh->grid[1] > 1) {
        return indices_grid(thing, mesh->grid[0], mesh->grid[1], false);
    }
    if (grid[0] > 1 && grid[1] > 1) {
        thing->vertices = grid[0] * grid[1]; /* fits: the entity list checked it */
        return indices_grid(thing, grid[0], grid[1], false);
    }
    thing->form = EXPORT_POINTS;
    return ERROR_OK;
}

static int form_points(ExportThing *thing, const Things *things)
{
    const Scene *scene = things->scene;
    const Appearance *appearance = &thing->entity.appearance;
    const SoftMesh *mesh = appearance->soft != 0 ? &scene->soft_meshes[appearance->soft - 1] : NULL;
    thing->visible = appearance->kind != APPEARANCE_NONE && !appearance_is_clear(appearance);
    if (appearance->kind == APPEARANCE_CLOTH) {
        return form_cloth(thing, mesh);
    }
    if (appearance->kind == APPEARANCE_ROPE) {
        thing->form = EXPORT_LINES;
        thing->vertices = thing->entity.count;
        return mesh != NULL ? indices_sticks(thing, mesh)
                            : indices_chain(thing, thing->entity.count);
    }
    thing->form = EXPORT_POINTS;
    return ERROR_OK;
}

static int form_poses(ExportThing *thing, const Things *things)
{
    PL_UNUSED(things);
    const Appearance *appearance = &thing->entity.appearance;
    thing->form = thing->entity.count > 0 ? EXPORT_BODY : EXPORT_NOTHING;
    thing->visible = appearance->kind == APPEARANCE_SHAPE && !appearance_is_clear(appearance);
    return ERROR_OK;
}

static int form_heights(ExportThing *thing, const Things *things)
{
    const FieldDesc *field = &things->fields->fields[thing->entity.field];
    thing->form = EXPORT_SURFACE;
    thing->visible = thing->entity.appearance.kind != APPEARANCE_NONE;
    thing->vertices = field->capacity;
    return field->dims[0] > 1 && field->dims[1] > 1
               ? indices_grid(thing, field->dims[0], field->dims[1], true)
               : ERROR_OK;
}

/* By kind of field, NULL: nothing to export. A thing's form, and what of it never changes. */
static int (*const forms[FIELD_KIND_COUNT])(ExportThing *thing, const Things *things) = {
    [FIELD_POSES] = form_poses, [FIELD_POINTS] = form_points, [FIELD_GRID2] = form_heights};

static int form_of(const Things *things, ExportThing *thing)
{
    u32 kind = things->fields->fields[thing->entity.field].kind;
    return forms[kind] != NULL ? forms[kind](thing, things) : ERROR_OK;
}

/* ---- who is there ---- */

static u64 key_of(const Entity *entity)
{
    const Appearance *appearance = &entity->appearance;
    const u32 key[] = {entity->id,           entity->field,
                       entity->first,        entity->count,
                       appearance->kind,     appearance->soft,
                       appearance->geometry, appearance->grid[0],
                       appearance->grid[1],  (u32)appearance->shape.kind};
    return hash_bytes(key, sizeof key, 0);
}

static int add_thing(Things *things, const Entity *entity)
{
    if (!memory_grow((void **)&things->items, &things->capacity, things->count + 1,
                     sizeof *things->items) ||
        !memory_grow((void **)&things->seen, &things->sighting_capacity, things->sightings + 1,
                     sizeof *things->seen)) {
        return ERROR_MEMORY;
    }
    ExportThing *thing = &things->items[things->count];
    *thing = (ExportThing){.entity = *entity};
    export_clean_name(thing->entity.name);
    things->vertices += u32_max(entity->count, 1);
    if (things->vertices > EXPORT_VERTICES_MAX) {
        return ERROR_LIMIT;
    }
    things->seen[things->sightings] = (ThingSighting){key_of(entity), things->count++};
    int result = form_of(things, thing);
    things->vertices += thing->vertices;
    return result == ERROR_OK && things->vertices > EXPORT_VERTICES_MAX ? ERROR_LIMIT : result;
}

/* The sighting of an entity that is new; negative: an Error. */
static i64 sight(Things *things, const Entity *entity)
{
    if (things->again && things->sightings == things->sighting_count) {
        return ERROR_MISMATCH; /* the file changed between the readings */
    }
    int result = things->again ? ERROR_OK : add_thing(things, entity);
    return result == ERROR_OK ? (i64)things->sightings++ : result;
}

int things_update(Things *things, const EntityList *entities)
{
    ThingAlive *swap = things->before;
    u32 capacity = things->before_capacity;
    u32 old = 0; /* in alive */
    if (!memory_grow((void **)&swap, &capacity, entities->count, sizeof *swap)) {
        return ERROR_MEMORY;
    }
    things->before = swap;
    things->before_capacity = capacity;
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *entity = &entities->items[i];
        while (old < things->alive_count && things->alive[old].id < entity->id) {
            old++;
        }
        u32 before = old < things->alive_count && things->alive[old].id == entity->id
                         ? things->alive[old].sighting
                         : EXPORT_THING_NONE;
        bool stays = before != EXPORT_THING_NONE && things->seen[before].key == key_of(entity);
        i64 sighting = stays ? (i64)before : sight(things, entity);
        if (sighting < 0) {
            return (int)sighting;
        }
        swap[i] = (ThingAlive){entity->id, (u32)sighting};
    }
    things->before = things->alive;
    things->before_capacity = things->alive_capacity;
    things->alive = swap;
    things->alive_capacity = capacity;
    things->alive_count = entities->count;
    return ERROR_OK;
}

/* ---- choice and names ---- */

bool export_wanted(const char *patterns, const char *name, u64 *used)
{
    bool wanted = patterns == NULL;
    for (u32 i = 0; patterns != NULL && i < 64; i++) {
        char pattern[TEXT_BYTES_MAX];
        size_t length = strcspn(patterns, ",");
        snprintf(pattern, sizeof pattern, "%.*s", (int)length, patterns);
        if (length < sizeof pattern &&
            (strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0)) {
            wanted = true;
            *used |= (u64)1 << i;
        }
        patterns = patterns[length] == ',' ? patterns + length + 1 : NULL;
    }
    return wanted;
}

static int by_name(const void *a, const void *b)
{
    const ExportThing *x = *(ExportThing *const *)a, *y = *(ExportThing *const *)b;
    int order = strcmp(x->entity.name, y->entity.name);
    if (order == 0) {
        order = (x->entity.id > y->entity.id) - (x->entity.id < y->entity.id);
    }
    return order != 0 ? order : (x > y) - (x < y);
}

static bool is_of_name(const ExportThing *thing, const char *name)
{
    return strcmp(thing->entity.name, name) == 0;
}

/* What formats call the frames around everything. */
static bool is_reserved(const char *name)
{
    return strcmp(name, "world") == 0 || strcmp(name, "plenum") == 0;
}

/* As spawned ones are called. */
static bool ends_with_id(const ExportThing *thing)
{
    char ending[16];
    int length = snprintf(ending, sizeof ending, "#%u", thing->entity.id);
    size_t name = strlen(thing->entity.name);
    return name >= (size_t)length &&
           strcmp(thing->entity.name + name - (size_t)length, ending) == 0;
}

/* Names that several have, or that look like such, get "#" and the id; an entity that came back
 * also a number. */
static int give_names(Things *things)
{
    ExportThing **order = malloc(u32_max(things->count, 1) * sizeof *order);
    if (order == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < things->count; i++) {
        order[i] = &things->items[i];
    }
    qsort(order, things->count, sizeof *order, by_name);
    u32 returns = 0;
    for (u32 i = 0; i < things->count; i++) {
        ExportThing *thing = order[i];
        const char *name = thing->entity.name;
        bool shared = (i > 0 && is_of_name(order[i - 1], name)) ||
                      (i + 1 < things->count && is_of_name(order[i + 1], name)) ||
                      name[0] == '\0' || is_reserved(name) ||
                      (strchr(name, '#') != NULL && !ends_with_id(thing));
        bool back =
            i > 0 && is_of_name(order[i - 1], name) && order[i - 1]->entity.id == thing->entity.id;
        returns = back ? returns + 1 : 1;
        if (!shared) {
            snprintf(thing->name, sizeof thing->name, "%s", name);
        } else if (returns == 1) {
            snprintf(thing->name, sizeof thing->name, "%s#%u", name, thing->entity.id);
        } else {
            snprintf(thing->name, sizeof thing->name, "%.*s#%u-%u", NAME_BYTES_MAX, name,
                     thing->entity.id, returns);
        }
    }
    free(order);
    return ERROR_OK;
}

int things_choose(Things *things, const char *patterns, u64 *used)
{
    u32 *new_index = malloc(u32_max(things->count, 1) * sizeof *new_index);
    u32 kept = 0;
    if (new_index == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < things->count; i++) {
        ExportThing *thing = &things->items[i];
        bool keep = export_wanted(patterns, thing->entity.name, used) && thing->seen &&
                    thing->form != EXPORT_NOTHING;
        new_index[i] = keep ? kept : EXPORT_THING_NONE;
        if (keep) {
            things->items[kept++] = *thing;
        } else {
            free(thing->indices);
        }
    }
    things->count = kept;
    for (u32 i = 0; i < things->sightings; i++) {
        things->seen[i].thing = new_index[things->seen[i].thing];
    }
    free(new_index);
    return give_names(things);
}
