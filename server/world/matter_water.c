/* matter_water.c: water on grids as matter of a world: life cycle, tick, fields, hands, state. */
#include "server/world/matter_water.h"

#include "protocol/field/quantize.h"
#include "server/world/hands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Radius of a hand, at least a few cells. */
static const f32 hand_m = 0.3f, hand_cells = 2.0f;
/* Codes of heights cover this range above the level, m, or the range that basins need. */
static const f32 reach_m = 8.0f;
/* Dry land is shown this far below its bed. Codes reach down to there: clients draw the sides of
 * the water down to the lowest code. */
static const f32 dry_cells = 0.5f;
/* Foam is sent in steps of 1/63: finer ones are not seen. */
static const f32 foam_steps = 63.0f;
static const u32 foam_code = 65535 / 63;

/* ---- life ---- */

static PoolDef def_of(const Scene *scene, const SceneWater *water)
{
    WaterBorder x = water->border_x, z = water->border_z;
    PoolDef def = {.size = {water->cells[0], water->cells[1]},
                   .border = {x, x, z, z},
                   .corner = vec3(water->position.x - 0.5f * water->width, water->position.y,
                                  water->position.z - 0.5f * water->length),
                   .awake = !scene->sleep};
#define SOLVER_ROWS
#define MEMBER(type, name) def.name = water->name;
#include "shared/rows/water.def"
    return def;
}

/* Heights, and foam. */
static u32 channels_of(const SceneWater *water)
{
    return water->method == WATER_SHALLOW && water->foam > 0.0f ? 2 : 1;
}

static u64 estimate(const Scene *scene)
{
    u64 bytes = 0;
    for (u32 i = 0; i < scene->water_count; i++) {
        PoolDef def = def_of(scene, &scene->waters[i]);
        u64 cells = (u64)def.size[0] * def.size[1];
        u64 element = channels_of(&scene->waters[i]) * sizeof(u16);
        bytes += pool_bytes(&def) + cells * HISTORY_FRAMES * element;
    }
    return bytes;
}

static int create(Matter *matter, ErrorText *error)
{
    MatterWater *m = water_of(matter);
    const Scene *scene = water_scene(m);
    if (scene->water_count == 0) {
        return ERROR_OK;
    }
    m->pools = calloc(scene->water_count, sizeof *m->pools);
    m->sprays = calloc(scene->water_count, sizeof *m->sprays);
    m->dams = calloc(u32_max(scene->dam_count, 1), sizeof *m->dams);
    bool listed = grid_list_create(&m->list, scene->water_count);
    if (!listed || m->pools == NULL || m->sprays == NULL || m->dams == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    m->list.count = scene->water_count;
    for (u32 i = 0; i < m->list.count; i++) {
        PoolDef def = def_of(scene, &scene->waters[i]);
        ErrorText why = {0};
        m->pools[i] = pool_create(&def, &why);
        if (m->pools[i] == NULL) {
            return error_set(error, why.code != 0 ? why.code : ERROR_MEMORY, "%s: %s",
                             scene->waters[i].name, why.text);
        }
    }
    matter_water_find_sprays(m);
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterWater *m = water_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_destroy(m->pools[i]);
    }
    free(m->pools);
    grid_list_destroy(&m->list);
    free(m->sprays);
    free(m->dams);
}

static void declare_field(MatterWater *m, u32 i)
{
    const Scene *scene = water_scene(m);
    const SceneWater *water = &scene->waters[i];
    f32 up = reach_m, down = water->depth_m + dry_cells * water->cell_m;
    for (u32 b = 0; b < water->basin_count; b++) {
        up = f32_max(up, 2.0f * scene->basins[water->first_basin + b].level);
    }
    FieldDesc field = {.kind = FIELD_GRID2,
                       .channels = (u8)channels_of(water),
                       .capacity = water->cells[0] * water->cells[1],
                       .dims = {(u16)water->cells[0], (u16)water->cells[1]},
                       .spacing = {water->cell_m, 1.0f, water->cell_m},
                       .quantum = (up + down) / 65535.0f,
                       .value_min = water->position.y - down};
    field.quantum = f32_max(field.quantum, QUANTUM_MIN_M);
    field.origin = vec3(water->position.x - 0.5f * (water->width - water->cell_m), 0.0f,
                        water->position.z - 0.5f * (water->length - water->cell_m));
    snprintf(field.name, sizeof field.name, "%s", water->name);
    m->list.fields[i] = world_add_field(&m->base, &field);
}

static void declare(Matter *matter)
{
    MatterWater *m = water_of(matter);
    const Scene *scene = water_scene(m);
    if (m->list.count == 0) {
        return;
    }
    for (u32 i = 0; i < m->list.count; i++) {
        declare_field(m, i);
    }
#define PARAMETER_WATER(NAME, name, unit, components, least, most, initial, initial_text, doc)     \
    m->parameters[PARAMETER_##NAME] = world_add_parameter(                                         \
        matter, world_parameter(name, unit, components, least, most, initial));
#include "shared/rows/parameter.def"
    PL_UNUSED(scene);
    matter_water_declare_probes(m);
}

static void clear(Matter *matter)
{
    MatterWater *m = water_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_clear(m->pools[i]);
    }
    m->ticks = m->drops = 0;
}

static void tune(Matter *matter)
{
    const MatterWater *m = water_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        const SceneWater *water = &water_scene(m)->waters[i];
        f32 rough = world_value(matter->world, m->parameters[PARAMETER_BED])[0];
        f32 slow = world_value(matter->world, m->parameters[PARAMETER_DAMPING])[0];
        pool_tune(m->pools[i], water->friction * rough, water->damping + slow);
    }
}

static void wake_all(Matter *matter)
{
    MatterWater *m = water_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_wake(m->pools[i]);
    }
}

/* ---- tick ---- */

static void begin(Matter *matter)
{
    MatterWater *m = water_of(matter);
    if (m->list.count == 0) {
        return;
    }
    Collider colliders[MATTERS_MAX];
    u32 count = 0;
    for (u32 c = 0, all = world_colliders(matter, colliders); c < all; c++) {
        if (colliders[c].ops->displaces) {
            colliders[count++] = colliders[c];
        }
    }
    matter_water_move_dams(m);
    f32 gravity = -world_vector(matter->world, WORLD_GRAVITY).y;
    for (u32 i = 0; i < m->list.count; i++) {
        pool_begin(m->pools[i], colliders, count, world_tick_s(matter->world), gravity,
                   world_jobs(matter->world));
    }
}

static void substep(Matter *matter, f32 h)
{
    MatterWater *m = water_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_substep(m->pools[i], h);
    }
}

static void finish(Matter *matter)
{
    MatterWater *m = water_of(matter);
    if (m->list.count == 0) {
        return;
    }
    matter_water_flow(m);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_finish(m->pools[i]);
    }
    matter_water_exchange(m);
    m->ticks++;
}

/* m, height drawn at a cell. Dry land hides the surface, which continues below it: at the level of
 * adjacent water, or below the land's own. */
static f32 shown_level(const Pool *pool, const SceneWater *water, u32 i, u32 k)
{
    f32 level = pool_level(pool, i, k), least = 0.01f * water->cell_m;
    if (!(pool_depth(pool, i, k) < least)) {
        return level;
    }
    f32 shown = level - dry_cells * water->cell_m, lowest = level;
    for (u32 n = 0; n < 25; n++) {
        u32 x = i + n % 5 - 2, z = k + n / 5 - 2; /* −1 is beyond the grid as well */
        if (x < water->cells[0] && z < water->cells[1] && !(pool_depth(pool, x, z) < least)) {
            lowest = f32_min(lowest, pool_level(pool, x, z));
        }
    }
    return lowest < level ? lowest : shown;
}

static void write_all(const Matter *matter, Frame *frame)
{
    const MatterWater *m = water_of_const(matter);
    for (u32 w = 0; w < m->list.count; w++) {
        const FieldDesc *field = &frame->fields->fields[m->list.fields[w]];
        const SceneWater *water = &water_scene(m)->waters[w];
        u16 *codes = frame_field(frame, m->list.fields[w]);
        for (u32 c = 0; c < field->capacity; c++) {
            f32 level = shown_level(m->pools[w], water, c % field->dims[0], c / field->dims[0]);
            codes[c * field->channels] = quantize_height(field, water->position.y + level);
            if (field->channels == 2) {
                f32 foam = pool_foam(m->pools[w], c % field->dims[0], c / field->dims[0]);
                codes[2 * c + 1] = (u16)((u32)(foam * foam_steps + 0.5f) * foam_code);
            }
        }
    }
}

/* ---- hands ---- */

static Vec3 point_in(const MatterWater *m, u32 index, u32 element)
{
    const SceneWater *water = &water_scene(m)->waters[index];
    u32 i = element % water->cells[0], k = element / water->cells[0];
    f32 x = ((f32)i + 0.5f) * water->cell_m - 0.5f * water->width;
    f32 z = ((f32)k + 0.5f) * water->cell_m - 0.5f * water->length;
    return vec3_add(water->position, vec3(x, pool_level(m->pools[index], i, k), z));
}

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    const MatterWater *m = water_of_const(matter);
    return point_in(m, grid_list_find(&m->list, entity), input->element);
}

static f32 hand_radius(const MatterWater *m, u32 index)
{
    return f32_max(hand_m, hand_cells * water_scene(m)->waters[index].cell_m);
}

/* A constraint is a hand of a pool. */
static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    const MatterWater *m = water_of(matter);
    u32 index = grid_list_find(&m->list, entity);
    u32 first = index * POOL_HANDS_MAX, end = first + POOL_HANDS_MAX;
    u32 constraint = hand_find_free(matter, first, end);
    if (constraint == end) {
        return -1;
    }
    Vec3 place = point_in(m, index, input->element);
    bool held = pool_hand_grab(m->pools[index], constraint - first, place, hand_radius(m, index));
    return held ? (i32)constraint : -1;
}

static void drag(Matter *matter, u32 constraint, Vec3 target)
{
    const MatterWater *m = water_of(matter);
    pool_hand_drag(m->pools[constraint / POOL_HANDS_MAX], constraint % POOL_HANDS_MAX, target);
}

static void release(Matter *matter, u32 constraint)
{
    const MatterWater *m = water_of(matter);
    pool_hand_release(m->pools[constraint / POOL_HANDS_MAX], constraint % POOL_HANDS_MAX);
}

static bool grabs(const Matter *matter, u32 constraint)
{
    const MatterWater *m = water_of_const(matter);
    return constraint < m->list.count * POOL_HANDS_MAX &&
           pool_hand_holds(m->pools[constraint / POOL_HANDS_MAX], constraint % POOL_HANDS_MAX);
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    const MatterWater *m = water_of(matter);
    u32 index = grid_list_find(&m->list, entity);
    pool_push(m->pools[index], point_in(m, index, input->element), hand_radius(m, index), impulse);
}

/* The removed entity may have been a dam. */
static void leaves(Matter *matter, const Entity *entity)
{
    if (world_is_rigid(matter->world, entity)) {
        matter_water_find_bed(water_of(matter), entity);
    }
}

/* ---- state ---- */

static void serialize_names(Matter *matter, State *state)
{
    MatterWater *m = water_of(matter);
    state_bytes(state, m->list.entities, m->list.count * sizeof *m->list.entities);
    if (m->list.count > 0) {
        state_bytes(state, m->dams, water_scene(m)->dam_count * sizeof *m->dams);
    }
}

static void serialize(Matter *matter, State *state)
{
    MatterWater *m = water_of(matter);
    if (m->list.count == 0) {
        return;
    }
    state_bytes(state, &m->ticks, sizeof m->ticks);
    state_bytes(state, &m->drops, sizeof m->drops);
    for (u32 i = 0; i < m->list.count; i++) {
        pool_serialize(m->pools[i], state);
    }
    if (state->mode == STATE_LOAD && !state->failed) {
        tune(matter);
    }
}

static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterWater *m = water_of_const(matter);
    const SceneWater *waters = water_scene(m)->waters;
    return nth < m->list.count &&
           grid_list_owns(&m->list, entity, nth, waters[nth].cells[0] * waters[nth].cells[1]);
}

static bool owns_all(const Matter *matter, u32 count)
{
    return count == water_of_const(matter)->list.count;
}

static const char *validate(const Matter *matter)
{
    const MatterWater *m = water_of_const(matter);
    const char *wrong = NULL;
    for (u32 w = 0; w < m->list.count && wrong == NULL; w++) {
        wrong = pool_validate(m->pools[w]);
    }
    return wrong;
}

const MatterOps matter_water = {
    .name = "water",
    .bytes = sizeof(MatterWater),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .clear = clear,
    .fill = matter_water_fill,
    .begin = begin,
    .substep = substep,
    .finish = finish,
    .write = write_all,
    .sums = matter_water_sums,
    .stats = matter_water_stats,
    .find_probe = matter_water_find_probe,
    .measure_own = matter_water_measure,
    .dump_entity = matter_water_dump_entity,
    .tune = tune,
    .wake_all = wake_all,
    .by_element = true,
    .point = point,
    .grab = grab,
    .drag = drag,
    .release = release,
    .grabs = grabs,
    .push = push,
    .leaves = leaves,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
    .validate = validate,
};
