/* matter_smoke.c: air on grids as matter of a world: life cycle, tick, fields, hands, state. */
#include "server/world/matter_smoke.h"

#include "server/world/hands.h"
#include "shared/base/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hand is a ball of a few cells; it emits smoke at this fraction of the densest visible smoke per
 * second, and drags air at this rate. */
static const f32 hand_cells = 2.5f, hand_smoke = 2.0f, hand_blow = 30.0f;
static const f32 hand_speed_max = 100.0f; /* m/s */

PL_STATIC_ASSERT(SCENE_SMOKE_SOURCES_MAX + SMOKE_HANDS_MAX <= SMOKE_SOURCES_MAX,
                 "hands have room beside the scene's sources");

/* ---- life ---- */

static SmokeOptions options_of(const SceneSmoke *scene)
{
    SmokeOptions options = {0};
#define SOLVER_ROWS
#define MEMBER(type, name) options.name = scene->name;
#include "shared/rows/smoke.def"
    return options;
}

static SmokeDef def_of(const SceneSmoke *scene)
{
    SmokeDef def = {.options = options_of(scene)};
#define MEMBER(type, name)          def.name = scene->name;
#define MEMBERS(type, name, number) memcpy(def.name, scene->name, sizeof def.name);
#include "shared/rows/smoke_grid.def"
    for (u32 s = 0; s < SMOKE_SIDES; s++) {
#define MEMBER(type, name) def.sides[s].name = scene->sides[s].name;
#include "shared/rows/smoke_side.def"
    }
    return def;
}

static u32 cells_of(const SceneSmoke *scene)
{
    return scene->cells[0] * scene->cells[1] * scene->cells[2];
}

static u32 channels_of(const SceneSmoke *scene)
{
    return scene->hottest > 0.0f || scene->dyed ? 2 : 1;
}

static u64 estimate(const Scene *scene)
{
    u64 bytes = 0;
    for (u32 i = 0; i < scene->smoke_count; i++) {
        SmokeDef def = def_of(&scene->smokes[i]);
        u64 channels = channels_of(&scene->smokes[i]) + (scene->smokes[i].dyed ? 2 : 0);
        u64 element = cells_of(&scene->smokes[i]) * channels;
        bytes += smoke_bytes(&def) + element * HISTORY_FRAMES;
    }
    return bytes;
}

static int create(Matter *matter, ErrorText *error)
{
    MatterSmoke *m = smoke_of(matter);
    const Scene *scene = smoke_scene(m);
    if (!grid_list_create(&m->list, scene->smoke_count)) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    for (u32 i = 0; i < scene->smoke_count; i++) {
        SmokeDef def = def_of(&scene->smokes[i]);
        ErrorText why = {0};
        m->grids[i] = smoke_create(&def, &why);
        if (m->grids[i] == NULL) {
            return error_set(error, why.code != 0 ? why.code : ERROR_MEMORY, "%s: smokes[%u]: %s",
                             scene->name, i, why.text);
        }
        m->list.count++;
    }
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterSmoke *m = smoke_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        smoke_destroy(m->grids[i]);
    }
    grid_list_destroy(&m->list);
}

static void declare_field(MatterSmoke *m, u32 i)
{
    const SceneSmoke *smoke = &smoke_scene(m)->smokes[i];
    f32 dx = smoke->spacing;
    FieldDesc field = {.kind = FIELD_GRID3,
                       .channels = (u8)channels_of(smoke),
                       .capacity = cells_of(smoke),
                       .quantum = smoke->thickest / 255.0f,
                       .spacing = vec3(dx, dx, smoke->dims == 3 ? dx : smoke->depth)};
    for (u32 a = 0; a < 3; a++) {
        field.dims[a] = (u16)smoke->cells[a];
    }
    field.origin = vec3_add_scaled(smoke->low, 0.5f, field.spacing);
    snprintf(field.name, sizeof field.name, "%s", smoke->name);
    m->list.fields[i] = world_add_field(&m->base, &field);
    m->dyes[i] = FIELDS_MAX;
    if (smoke->dyed) {
        field.quantum = 1.0f / 255.0f;
        snprintf(field.name, sizeof field.name, "dye %u", i + 1);
        m->dyes[i] = world_add_field(&m->base, &field);
        world_dye_field(&m->base, m->list.fields[i], m->dyes[i]);
    }
}

static void declare(Matter *matter)
{
    MatterSmoke *m = smoke_of(matter);
    const Scene *scene = smoke_scene(m);
    PL_UNUSED(scene);
    if (m->list.count == 0) {
        return;
    }
    for (u32 i = 0; i < m->list.count; i++) {
        declare_field(m, i);
    }
#define PARAMETER_SMOKE(NAME, name, unit, components, least, most, initial, initial_text, doc)     \
    m->parameters[SMOKE_PARAMETER_##NAME] = world_add_parameter(                                   \
        matter, world_parameter(name, unit, components, least, most, initial));
#include "shared/rows/parameter.def"
}

static void clear(Matter *matter)
{
    MatterSmoke *m = smoke_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        smoke_clear(m->grids[i]);
    }
    memset(m->hands, 0, sizeof m->hands);
    m->ticks = 0;
}

static int fill(Matter *matter, ErrorText *error)
{
    PL_UNUSED(error);
    MatterSmoke *m = smoke_of(matter);
    const Scene *scene = smoke_scene(m);
    for (u32 i = 0; i < m->list.count; i++) {
        const SceneSmoke *smoke = &scene->smokes[i];
        GridThing thing = {smoke->name, cells_of(smoke), 0.0f, smoke->appearance};
        int result = grid_list_add(matter, &m->list, i, &thing);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_OK;
}

static f32 factor(const MatterSmoke *m, u32 parameter)
{
    return world_value(m->base.world, m->parameters[parameter])[0];
}

static void tune(Matter *matter)
{
    MatterSmoke *m = smoke_of(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        const SceneSmoke *scene = &smoke_scene(m)->smokes[i];
        SmokeOptions options = options_of(scene);
        options.buoyancy *= factor(m, SMOKE_PARAMETER_BUOYANCY);
        options.cooling *= factor(m, SMOKE_PARAMETER_COOLING);
        options.vorticity *= factor(m, SMOKE_PARAMETER_VORTICITY);
        options.viscosity *= factor(m, SMOKE_PARAMETER_VISCOSITY);
        smoke_options_clamp(&options);
        CHECK(smoke_set_options(m->grids[i], &options));
        for (u32 s = 0; s < SMOKE_SIDES; s++) {
            smoke_set_side(m->grids[i], s,
                           vec3_scale(scene->sides[s].velocity, factor(m, SMOKE_PARAMETER_BLOW)));
        }
    }
}

/* ---- tick ---- */

static SmokeSource source_of(const MatterSmoke *m, const SceneSmokeSource *scene)
{
    f32 rate = factor(m, SMOKE_PARAMETER_RATE), blow = factor(m, SMOKE_PARAMETER_BLOW);
    SmokeSource source = {0};
#define SOLVER_ROWS
#define MEMBER(type, name) source.name = scene->name;
#include "shared/rows/smoke_source.def"
    source.smoke = f32_min(source.smoke * rate, 10000.0f);
    source.heat = f32_clamp(source.heat * rate, -1e5f, 1e5f);
    source.fuel = f32_min(source.fuel * rate, 10000.0f);
    source.velocity = vec3_scale(source.velocity, blow);
    return source;
}

static SmokeSource source_of_hand(const MatterSmoke *m, SmokeHand *hand)
{
    const SceneSmoke *scene = &smoke_scene(m)->smokes[hand->grid];
    Vec3 moved = vec3_sub(hand->target, hand->place);
    Vec3 velocity = vec3_scale(moved, 1.0f / world_tick_s(m->base.world));
    f32 speed = vec3_length(velocity);
    velocity = speed > hand_speed_max ? vec3_scale(velocity, hand_speed_max / speed) : velocity;
    hand->place = hand->target;
    return (SmokeSource){.position = hand->place,
                         .radius = hand_cells * scene->spacing,
                         .smoke = hand_smoke * scene->thickest,
                         .color = hand->color,
                         .warmest = 5000.0f,
                         .velocity = velocity,
                         .blow = hand_blow};
}

static void find_carried(MatterSmoke *m)
{
    const Scene *scene = smoke_scene(m);
    if (!carried_begin(&m->carried, m->base.world)) {
        return;
    }
    for (u32 g = 0; g < m->list.count; g++) {
        for (u32 i = 0; i < scene->smokes[g].source_count; i++) {
            const char *of = scene->smokes[g].sources[i].of;
            if (of[0] != '\0') {
                carried_add(&m->carried, m->base.world, g * SCENE_SMOKE_SOURCES_MAX + i, of);
            }
        }
    }
}

static void set_sources(MatterSmoke *m, u32 grid)
{
    const Scene *scene = smoke_scene(m);
    const SceneSmoke *smoke = &scene->smokes[grid];
    SmokeSource sources[SMOKE_SOURCES_MAX];
    u32 count = 0;
    f64 now = (f64)m->ticks / (f64)scene->tick_rate;
    for (u32 i = 0; i < smoke->source_count; i++) {
        const SceneSmokeSource *source = &smoke->sources[i];
        if (source->of[0] == '\0' && source_runs(source->start_s, source->stop_s, now)) {
            sources[count++] = source_of(m, source);
        }
    }
    for (u32 c = 0; c < m->carried.count && count < SCENE_SMOKE_SOURCES_MAX; c++) {
        u32 slot = m->carried.items[c].slot, number = m->carried.items[c].source;
        const SceneSmokeSource *source = &smoke->sources[number % SCENE_SMOKE_SOURCES_MAX];
        if (number / SCENE_SMOKE_SOURCES_MAX == grid &&
            source_runs(source->start_s, source->stop_s, now)) {
            SmokeSource made = source_of(m, source);
            made.position = carried_place(m->base.world, slot, made.position);
            made.velocity = carried_direction(m->base.world, slot, made.velocity);
            sources[count++] = made;
        }
    }
    for (u32 h = 0; h < SMOKE_HANDS_MAX; h++) {
        if (m->hands[h].live && m->hands[h].grid == grid) {
            sources[count++] = source_of_hand(m, &m->hands[h]);
        }
    }
    smoke_set_sources(m->grids[grid], sources, count);
}

static void begin(Matter *matter)
{
    MatterSmoke *m = smoke_of(matter);
    if (m->list.count == 0) {
        return;
    }
    Collider colliders[MATTERS_MAX];
    u32 count = world_colliders(matter, colliders);
    Jobs *jobs = world_jobs(matter->world);
    f32 s = world_tick_s(matter->world);
    find_carried(m);
    for (u32 c = 0; c < count; c++) {
        colliders[c].ops->begin(colliders[c].of, jobs, s);
    }
    for (u32 i = 0; i < m->list.count; i++) {
        set_sources(m, i);
        smoke_step(m->grids[i], s, world_vector(matter->world, WORLD_GRAVITY), colliders, count,
                   jobs);
    }
    m->ticks++;
}

static u32 media(Matter *matter, Medium *media, u32 capacity)
{
    MatterSmoke *m = smoke_of(matter);
    u32 count = 0;
    for (u32 i = 0; i < m->list.count && count < capacity; i++) {
        media[count] = smoke_medium(m->grids[i]);
        count += media[count].ops != NULL;
    }
    return count;
}

/* ---- frames ---- */

static void write_row(u8 *codes, const f32 *row, u32 count, u32 channels, f32 scale)
{
    for (u32 x = 0; x < count; x++) {
        f32 code = row[x] * scale + 0.5f;
        codes[x * channels] = (u8)f32_clamp(code, 0.0f, 255.0f);
    }
}

/* A channel of the colour of visible smoke. */
static void write_dye(u8 *codes, const u8 *seen, const f32 *smoke, const f32 *dye, u32 count)
{
    for (u32 x = 0; x < count; x++) {
        f32 share = seen[2 * x] > 0 ? f32_clamp(dye[x] / smoke[x], 0.0f, 1.0f) : 0.0f;
        codes[2 * x] = (u8)(sqrtf(share) * 255.0f + 0.5f);
    }
}

/* Of a row of cells that begins at `first`. */
static void write_colors(const MatterSmoke *m, u32 grid, Frame *frame, size_t first, u32 y, u32 z)
{
    const Smoke *air = m->grids[grid];
    u8 *own = (u8 *)frame_field(frame, m->list.fields[grid]) + 2 * first;
    u8 *more = (u8 *)frame_field(frame, m->dyes[grid]) + 2 * first;
    u32 nx = smoke_scene(m)->smokes[grid].cells[0];
    const f32 *smoke = smoke_row(air, SMOKE_SMOKE, y, z);
    write_dye(own + 1, own, smoke, smoke_row(air, SMOKE_RED, y, z), nx);
    write_dye(more, own, smoke, smoke_row(air, SMOKE_GREEN, y, z), nx);
    write_dye(more + 1, own, smoke, smoke_row(air, SMOKE_BLUE, y, z), nx);
}

static void write_all(const Matter *matter, Frame *frame)
{
    const MatterSmoke *m = smoke_of_const(matter);
    for (u32 i = 0; i < m->list.count; i++) {
        const SceneSmoke *scene = &smoke_scene(m)->smokes[i];
        if (m->list.fields[i] == FIELDS_MAX) {
            continue;
        }
        u8 *codes = frame_field(frame, m->list.fields[i]);
        u32 channels = channels_of(scene), nx = scene->cells[0];
        for (u32 z = 0; z < scene->cells[2]; z++) {
            for (u32 y = 0; y < scene->cells[1]; y++) {
                size_t first = (size_t)(z * scene->cells[1] + y) * nx;
                u8 *to = codes + first * channels;
                write_row(to, smoke_row(m->grids[i], SMOKE_SMOKE, y, z), nx, channels,
                          255.0f / scene->thickest);
                if (m->dyes[i] < FIELDS_MAX) {
                    write_colors(m, i, frame, first, y, z);
                } else if (channels == 2) {
                    write_row(to + 1, smoke_row(m->grids[i], SMOKE_TEMPERATURE, y, z), nx, channels,
                              255.0f / scene->hottest);
                }
            }
        }
    }
}

/* ---- hands ---- */

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    const MatterSmoke *m = smoke_of_const(matter);
    const SceneSmoke *scene = &smoke_scene(m)->smokes[grid_list_find(&m->list, entity)];
    u32 nx = scene->cells[0], ny = scene->cells[1], cell = input->element;
    f32 dx = scene->spacing, dz = scene->dims == 3 ? dx : scene->depth;
    return vec3_add(scene->low,
                    vec3(((f32)(cell % nx) + 0.5f) * dx, ((f32)(cell / nx % ny) + 0.5f) * dx,
                         ((f32)(cell / nx / ny) + 0.5f) * dz));
}

static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    MatterSmoke *m = smoke_of(matter);
    u32 hand = hand_find_free(matter, 0, SMOKE_HANDS_MAX);
    if (hand == SMOKE_HANDS_MAX) {
        return -1;
    }
    Vec3 place = point(matter, entity, input);
    u32 grid = grid_list_find(&m->list, entity);
    const f32 *color = smoke_scene(m)->smokes[grid].appearance.color;
    m->hands[hand] = (SmokeHand){1, grid, place, place, vec3(color[0], color[1], color[2])};
    return (i32)hand;
}

static bool grabs(const Matter *matter, u32 constraint)
{
    return constraint < SMOKE_HANDS_MAX && smoke_of_const(matter)->hands[constraint].live != 0;
}

static void drag(Matter *matter, u32 constraint, Vec3 target)
{
    if (grabs(matter, constraint) && state_vector_is_bounded(target)) {
        smoke_of(matter)->hands[constraint].target = target;
    }
}

static void dye(Matter *matter, u32 constraint, Vec3 color)
{
    if (grabs(matter, constraint)) {
        smoke_of(matter)->hands[constraint].color = color;
    }
}

static void release(Matter *matter, u32 constraint)
{
    if (constraint < SMOKE_HANDS_MAX) {
        smoke_of(matter)->hands[constraint] = (SmokeHand){0};
    }
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    MatterSmoke *m = smoke_of(matter);
    u32 grid = grid_list_find(&m->list, entity);
    f32 radius = 2.0f * hand_cells * smoke_scene(m)->smokes[grid].spacing;
    smoke_push(m->grids[grid], point(matter, entity, input), radius, impulse);
}

/* ---- state ---- */

static void serialize_names(Matter *matter, State *state)
{
    MatterSmoke *m = smoke_of(matter);
    state_bytes(state, m->list.entities, m->list.count * sizeof *m->list.entities);
}

static void serialize(Matter *matter, State *state)
{
    MatterSmoke *m = smoke_of(matter);
    if (m->list.count == 0) {
        return;
    }
    state_part(state, "hands in the air");
    state_bytes(state, &m->ticks, sizeof m->ticks);
    state_bytes(state, m->hands, sizeof m->hands);
    for (u32 h = 0; h < SMOKE_HANDS_MAX && state->mode == STATE_LOAD; h++) {
        const SmokeHand *hand = &m->hands[h];
        bool good = hand->live <= 1 && hand->grid < m->list.count &&
                    state_vector_is_bounded(hand->place) && state_vector_is_bounded(hand->target) &&
                    smoke_color_is_valid(hand->color);
        state->failed = state->failed || !good;
    }
    for (u32 i = 0; i < m->list.count && !state->failed; i++) {
        smoke_serialize(m->grids[i], state);
    }
    if (state->mode == STATE_LOAD && state->failed) {
        clear(matter);
    } else if (state->mode == STATE_LOAD) {
        tune(matter);
    }
}

static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterSmoke *m = smoke_of_const(matter);
    return nth < m->list.count &&
           grid_list_owns(&m->list, entity, nth, cells_of(&smoke_scene(m)->smokes[nth]));
}

static bool owns_all(const Matter *matter, u32 count)
{
    return count == smoke_of_const(matter)->list.count;
}

static const char *validate(const Matter *matter)
{
    const MatterSmoke *m = smoke_of_const(matter);
    const char *wrong = NULL;
    for (u32 g = 0; g < m->list.count && wrong == NULL; g++) {
        wrong = smoke_validate(m->grids[g]);
    }
    return wrong;
}

const MatterOps matter_smoke = {
    .name = "smoke",
    .bytes = sizeof(MatterSmoke),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .clear = clear,
    .fill = fill,
    .begin = begin,
    .media = media,
    .write = write_all,
    .sums = matter_smoke_sums,
    .stats = matter_smoke_stats,
    .find_probe = matter_smoke_find_probe,
    .measure_own = matter_smoke_measure,
    .dump_entity = matter_smoke_dump_entity,
    .tune = tune,
    .by_element = true,
    .point = point,
    .grab = grab,
    .drag = drag,
    .dye = dye,
    .release = release,
    .grabs = grabs,
    .push = push,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
    .validate = validate,
};
