/* matter_liquid.c: liquids and grains as matter of a world: life cycle, tick, fields, hands,
 * state. */
#include "server/world/matter_liquid.h"

#include "protocol/field/quantize.h"
#include "server/world/hands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Radius of a hand: that of a real one, and at least a few particles. */
static const f32 hand_m = 0.12f;
static const f32 hand_spacings = 3.0f;

/* ---- life ---- */

static LiquidPhaseDef phase_of(const SceneLiquid *liquid)
{
    LiquidPhaseDef phase = {.kind = liquid->grains ? LIQUID_GRAINS : LIQUID_FLUID};
#define SOLVER_ROWS
#define MEMBER(type, name) phase.name = liquid->name;
#include "shared/rows/liquid.def"
    return phase;
}

static LiquidDef def_of(const Scene *scene)
{
    LiquidDef def = {.spacing = scene->liquid_spacing,
                     .iterations = scene->liquid_iterations,
                     .phase_count = u32_min(scene->liquid_count, LIQUID_PHASES_MAX)};
    for (u32 i = 0; i < def.phase_count; i++) {
        def.phases[i] = phase_of(&scene->liquids[i]);
    }
    return def;
}

static u64 estimate(const Scene *scene)
{
    if (scene->liquid_count == 0) {
        return 0;
    }
    LiquidDef def = def_of(scene);
    u64 slots = 0;
    for (u32 i = 0; i < def.phase_count; i++) {
        slots += def.phases[i].capacity;
    }
    return liquid_bytes(&def) + slots * HISTORY_FRAMES * sizeof(QPoint);
}

static int create(Matter *matter, ErrorText *error)
{
    MatterLiquid *m = liquid_of(matter);
    const Scene *scene = liquid_scene(m);
    m->field = FIELDS_MAX;
    if (scene->liquid_count == 0) {
        return ERROR_OK;
    }
    LiquidDef def = def_of(scene);
    ErrorText why = {0};
    m->liquid = liquid_create(&def, &why);
    if (m->liquid == NULL) {
        return error_set(error, why.code != 0 ? why.code : ERROR_MEMORY, "%s: %s", scene->name,
                         why.text);
    }
    m->entities = calloc(scene->liquid_count, sizeof *m->entities);
    m->clocks = calloc(u32_max(scene->source_count, 1), sizeof *m->clocks);
    if (m->entities == NULL || m->clocks == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    liquid_destroy(m->liquid);
    free(m->entities);
    free(m->clocks);
}

static void declare(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    const Scene *scene = liquid_scene(m);
    if (m->liquid == NULL) {
        return;
    }
    FieldDesc field = {.kind = FIELD_POINTS,
                       .name = "liquids",
                       .channels = 1,
                       .capacity = liquid_slots(m->liquid),
                       .quantum = scene->quantum};
    m->field = world_add_field(matter, &field);
#define PARAMETER_LIQUID(NAME, name, unit, components, least, most, initial, initial_text, doc)    \
    m->parameters[PARAMETER_##NAME] = world_add_parameter(                                         \
        matter, world_parameter(name, unit, components, least, most, initial));
#include "shared/rows/parameter.def"
}

static void clear(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid == NULL) {
        return;
    }
    liquid_clear(m->liquid);
    memset(m->clocks, 0, liquid_scene(m)->source_count * sizeof *m->clocks);
    m->ticks = 0;
}

static f32 factor(const MatterLiquid *m, u32 parameter)
{
    return world_value(m->base.world, m->parameters[parameter])[0];
}

/* Changing a phase wakes the liquid, so only changed ones are set. */
static void tune(Matter *matter)
{
    const MatterLiquid *m = liquid_of(matter);
    for (u32 i = 0; m->liquid != NULL && i < liquid_phases(m->liquid); i++) {
        LiquidPhaseDef phase = phase_of(&liquid_scene(m)->liquids[i]);
        f32 rough = factor(m, PARAMETER_GRAIN_FRICTION);
        phase.viscosity *= factor(m, PARAMETER_VISCOSITY);
        phase.surface_tension *= factor(m, PARAMETER_SURFACE_TENSION);
        phase.friction *= rough;
        phase.static_friction *= rough;
        liquid_phase_clamp(&phase);
        if (memcmp(&phase, liquid_phase(m->liquid, i), sizeof phase) != 0) {
            liquid_set_phase(m->liquid, i, &phase);
        }
    }
}

static void wake_all(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid != NULL) {
        liquid_wake(m->liquid);
    }
}

/* ---- tick ---- */

static void stir(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid == NULL) {
        return;
    }
    Collider colliders[MATTERS_MAX];
    u32 count = world_colliders(matter, colliders);
    matter_liquid_emit(m, colliders, count);
    liquid_stir(m->liquid, colliders, count, world_tick_s(matter->world));
}

static void begin(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid == NULL) {
        return;
    }
    Collider colliders[MATTERS_MAX];
    u32 count = world_colliders(matter, colliders);
    liquid_begin(m->liquid, colliders, count, world_tick_s(matter->world),
                 world_jobs(matter->world));
}

static Collider collider(Matter *matter, u32 user)
{
    MatterLiquid *m = liquid_of(matter);
    return m->liquid != NULL ? liquid_collider(m->liquid, user) : (Collider){0};
}

static u32 entity_of(const Matter *matter, u32 thing)
{
    const MatterLiquid *m = liquid_of_const(matter);
    return m->entities[liquid_thing_phase(m->liquid, thing)];
}

static void substep(Matter *matter, f32 h)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid != NULL) {
        liquid_substep(m->liquid, h, world_vector(matter->world, WORLD_GRAVITY));
    }
}

static void rest(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid != NULL) {
        liquid_rest(m->liquid);
    }
}

static void finish(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid == NULL) {
        return;
    }
    liquid_finish(m->liquid);
    if (!liquid_scene(m)->sleep) {
        liquid_wake(m->liquid);
    }
}

static void report(Matter *matter)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid != NULL) {
        matter_liquid_drain(m);
    }
}

static void write_all(const Matter *matter, Frame *frame)
{
    const MatterLiquid *m = liquid_of_const(matter);
    if (m->field == FIELDS_MAX) {
        return;
    }
    const FieldDesc *field = &frame->fields->fields[m->field];
    QPoint *points = frame_points(frame, m->field);
    const Vec3 *positions = liquid_positions(m->liquid);
    const u16 *generations = liquid_generations(m->liquid);
    for (u32 i = 0; i < liquid_slots(m->liquid); i++) {
        if (generations[i] != 0) {
            quantize_position(field, positions[i], points[i].position);
            points[i].generation = generations[i];
        }
    }
}

/* ---- hands ---- */

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    return liquid_positions(liquid_of_const(matter)->liquid)[entity->first + input->element];
}

static f32 hand_radius(const MatterLiquid *m)
{
    return f32_max(hand_m, hand_spacings * liquid_spacing(m->liquid));
}

static bool is_live(const MatterLiquid *m, const Entity *entity, const Input *input)
{
    return liquid_generations(m->liquid)[entity->first + input->element] != 0;
}

/* A hand in the liquid, at a particle: it stirs and scoops. */
static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    const MatterLiquid *m = liquid_of(matter);
    u32 hand = hand_find_free(matter, 0, LIQUID_HANDS_MAX);
    if (hand == LIQUID_HANDS_MAX || !is_live(m, entity, input)) {
        return -1;
    }
    Vec3 place = point(matter, entity, input);
    return liquid_hand_grab(m->liquid, hand, place, hand_radius(m)) ? (i32)hand : -1;
}

static void drag(Matter *matter, u32 constraint, Vec3 target)
{
    liquid_hand_drag(liquid_of(matter)->liquid, constraint, target);
}

static void release(Matter *matter, u32 constraint)
{
    liquid_hand_release(liquid_of(matter)->liquid, constraint);
}

static bool grabs(const Matter *matter, u32 constraint)
{
    const MatterLiquid *m = liquid_of_const(matter);
    return constraint < LIQUID_HANDS_MAX && liquid_hand_holds(m->liquid, constraint);
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    const MatterLiquid *m = liquid_of(matter);
    if (is_live(m, entity, input)) {
        liquid_push(m->liquid, point(matter, entity, input), hand_radius(m), impulse);
    }
}

/* The removed entity may have supported the liquid, or held it back. */
static void leaves(Matter *matter, const Entity *entity)
{
    PL_UNUSED(entity);
    wake_all(matter);
}

/* ---- state ---- */

static void serialize_names(Matter *matter, State *state)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid != NULL) {
        state_bytes(state, m->entities, liquid_scene(m)->liquid_count * sizeof *m->entities);
    }
}

static void serialize(Matter *matter, State *state)
{
    MatterLiquid *m = liquid_of(matter);
    if (m->liquid == NULL) {
        return;
    }
    state_part(state, "sources");
    u32 sources = liquid_scene(m)->source_count;
    state_bytes(state, &m->ticks, sizeof m->ticks);
    state_bytes(state, m->clocks, sources * sizeof *m->clocks);
    if (state->mode == STATE_LOAD) {
        for (u32 i = 0; i < sources; i++) {
            bool good = m->clocks[i].ahead >= 0.0f && m->clocks[i].ahead < 1.0f;
            state->failed = state->failed || !good;
        }
        tune(matter); /* before it is loaded: changing it later would wake it */
    }
    liquid_serialize(m->liquid, state);
    if (state->mode == STATE_LOAD && !state->failed) {
        state_part(state, "liquids");
        state->failed = liquid_validate(m->liquid) != NULL;
    }
    if (state->mode == STATE_LOAD && state->failed) {
        liquid_clear(m->liquid);
    }
}

static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterLiquid *m = liquid_of_const(matter);
    return nth < liquid_scene(m)->liquid_count && entity->id == m->entities[nth] &&
           entity->first == liquid_first(m->liquid, nth) &&
           entity->count == liquid_first(m->liquid, nth + 1) - entity->first;
}

static bool owns_all(const Matter *matter, u32 count)
{
    return count == liquid_scene(liquid_of_const(matter))->liquid_count;
}

static const char *validate(const Matter *matter)
{
    const MatterLiquid *m = liquid_of_const(matter);
    const Scene *scene = liquid_scene(m);
    for (u32 i = 0; i < scene->source_count; i++) {
        if (!(m->clocks[i].ahead >= 0.0f && m->clocks[i].ahead < 1.0f)) {
            return "the clock of a source is out of range";
        }
    }
    return m->liquid != NULL ? liquid_validate(m->liquid) : NULL;
}

const MatterOps matter_liquid = {
    .name = "liquid",
    .bytes = sizeof(MatterLiquid),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .clear = clear,
    .fill = matter_liquid_fill,
    .stir = stir,
    .begin = begin,
    .collider = collider,
    .entity_of = entity_of,
    .find_parcels = matter_liquid_find_parcels,
    .parcel = matter_liquid_parcel,
    .add_parcel = matter_liquid_add_parcel,
    .offer_parcels = matter_liquid_offer_parcels,
    .substep = substep,
    .rest = rest,
    .finish = finish,
    .report = report,
    .write = write_all,
    .sums = matter_liquid_sums,
    .stats = matter_liquid_stats,
    .measure = matter_liquid_measure,
    .dump_entity = matter_liquid_dump_entity,
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
