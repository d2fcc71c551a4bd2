/*
 * matter_soft.c: soft bodies as matter of a world: life cycle, tick, fields, grabs, probes, state.
 */
#include "server/world/matter_soft.h"

#include "protocol/field/quantize.h"
#include "server/world/hands.h"

#include <stdlib.h>

/* Limit of a grab's force on a cloth, in units of the cloth's weight: the constraints of one
 * point cannot carry more. */
static const f32 weights_max = 30.0f;
/* Ambient pressure: part of a gas's absolute pressure. */
static const f64 air_pa = 101325.0;

MatterSoft *world_matter_soft(const World *world)
{
    return (MatterSoft *)world_matter_at(world, 1);
}

static const Scene *scene_of(const MatterSoft *m)
{
    return world_scene(m->base.world);
}

/* ---- life ---- */

/* Measured with worlds of one kind each (resident bytes of the server), plus a third. */
enum {
    POINT_BYTES = 1500, /* including edges and bends, or the faces of a skin */
    TETRAHEDRON_BYTES = 400
};

static u64 estimate(const Scene *scene)
{
    u64 points = 0, tetrahedra = 0;
    for (u32 i = 0; i < scene->soft_count; i++) {
        const SoftMesh *mesh = &scene->soft_meshes[scene->soft_bodies[i].mesh];
        points += mesh->point_count;
        tetrahedra += mesh->tetrahedron_count;
    }
    points += matter_soft_spare_points(scene);
    return points * (HISTORY_FRAMES * sizeof(QPoint) + POINT_BYTES) +
           tetrahedra * TETRAHEDRON_BYTES;
}

static int create(Matter *matter, ErrorText *error)
{
    MatterSoft *m = soft_of(matter);
    const Scene *scene = scene_of(m);
    m->spare_count = matter_soft_spare_count(scene);
    m->soft_bodies = calloc(u32_max(scene->soft_count + m->spare_count, 1), sizeof *m->soft_bodies);
    m->spares = calloc(u32_max(m->spare_count, 1), sizeof *m->spares);
    m->entities = calloc(u32_max(scene->soft_count, 1), sizeof *m->entities);
    if (m->soft_bodies == NULL || m->spares == NULL || m->entities == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterSoft *m = soft_of(matter);
    soft_destroy(m->soft);
    soft_destroy(m->next);
    free(m->soft_bodies);
    free(m->spares);
    free(m->entities);
}

static void declare(Matter *matter)
{
    MatterSoft *m = soft_of(matter);
    const Scene *scene = scene_of(m);
    /* Cloth is viewed closely: half the quantization step of bodies. */
    FieldDesc field = {
        .kind = FIELD_POINTS, .name = "points", .channels = 1, .quantum = 0.5f * scene->quantum};
    for (u32 i = 0; i < scene->soft_count; i++) {
        field.capacity += scene->soft_meshes[scene->soft_bodies[i].mesh].point_count;
    }
    field.capacity += (u32)matter_soft_spare_points(scene);
    m->field = world_add_field(matter, &field);
#define PARAMETER_SOFT(NAME, name, unit, components, least, most, initial, initial_text, doc)      \
    m->parameters[PARAMETER_##NAME] = world_add_parameter(                                         \
        matter, world_parameter(name, unit, components, least, most, initial));
#include "shared/rows/parameter.def"
}

static void declare_states(Matter *matter)
{
    MatterSoft *m = soft_of(matter);
    FieldDesc field = {.kind = FIELD_SCALARS,
                       .name = "soft_bodies",
                       .channels = 1,
                       .capacity = scene_of(m)->soft_count,
                       .quantum = 1.0f};
    m->awake_field = world_add_field(matter, &field);
}

static int reserve(Matter *matter)
{
    MatterSoft *m = soft_of(matter);
    if (m->next == NULL) {
        m->next = soft_create();
    }
    return m->next != NULL ? ERROR_OK : ERROR_MEMORY;
}

static void clear(Matter *matter)
{
    MatterSoft *m = soft_of(matter);
    soft_destroy(m->soft);
    m->soft = m->next;
    m->next = NULL;
}

static int fill(Matter *matter, ErrorText *error)
{
    MatterSoft *m = soft_of(matter);
    const Scene *scene = world_scene(matter->world);
    int result = ERROR_OK;
    for (u32 i = 0; result == ERROR_OK && i < scene->soft_count; i++) {
        result = matter_soft_add(m, &scene->soft_bodies[i], &m->soft_bodies[i], error);
        result = result == ERROR_OK ? matter_soft_add_entity(m, &scene->soft_bodies[i], i) : result;
    }
    result = result == ERROR_OK ? matter_soft_add_spares(m, error) : result;
    if (result == ERROR_OK) {
        soft_set_steps(m->soft, scene->soft_steps);
        result = soft_build(m->soft);
    }
    if (result == ERROR_OK) {
        matter_soft_remove_spares(m);
    }
    return result;
}

static void tune(Matter *matter)
{
    const MatterSoft *m = soft_of(matter);
    const World *world = matter->world;
    soft_set_gravity(m->soft, world_vector(world, WORLD_GRAVITY));
    soft_set_wind(m->soft, world_vector(world, WORLD_WIND), world_value(world, WORLD_AIR)[0]);
    soft_set_compliance(m->soft, world_value(world, m->parameters[PARAMETER_STRETCH])[0],
                        world_value(world, m->parameters[PARAMETER_BEND])[0]);
    soft_set_pressure(m->soft, world_value(world, m->parameters[PARAMETER_PRESSURE])[0]);
}

static void wake_all(Matter *matter)
{
    soft_wake_all(soft_of(matter)->soft);
}

/* ---- tick ---- */

static void stir(Matter *matter)
{
    Collider colliders[MATTERS_MAX];
    Medium media[MEDIA_MAX];
    SoftOthers others = {colliders, world_colliders(matter, colliders)};
    soft_set_media(soft_of(matter)->soft, media, world_media(matter->world, media));
    soft_stir(soft_of(matter)->soft, others, world_tick_s(matter->world));
}

static Collider collider(Matter *matter, u32 user)
{
    MatterSoft *m = soft_of(matter);
    m->colliders[user].soft = m->soft;
    return soft_collider(&m->colliders[user]);
}

static u32 entity_of(const Matter *matter, u32 thing)
{
    const MatterSoft *m = soft_of_const(matter);
    u32 count = scene_of(m)->soft_count;
    return thing < count ? m->entities[thing] : m->spares[thing - count].entity;
}

static void begin(Matter *matter)
{
    Collider colliders[MATTERS_MAX];
    SoftOthers others = {colliders, world_colliders(matter, colliders)};
    soft_begin(soft_of(matter)->soft, others, world_jobs(matter->world),
               world_tick_s(matter->world));
}

static void substep(Matter *matter, f32 h)
{
    soft_substep(soft_of(matter)->soft, h);
}

static void rest(Matter *matter)
{
    soft_rest(soft_of(matter)->soft);
}

static void finish(Matter *matter)
{
    soft_sleep(soft_of(matter)->soft);
}

/* ---- fields ---- */

static void write_all(const Matter *matter, Frame *frame)
{
    const MatterSoft *m = soft_of_const(matter);
    if (m->field != FIELDS_MAX) {
        const FieldDesc *field = &frame->fields->fields[m->field];
        QPoint *points = frame_points(frame, m->field);
        u32 count = soft_particles(m->soft);
        u16 generation = world_generation(matter->world);
        for (u32 i = 0; i < count; i++) {
            quantize_position(field, soft_position(m->soft, i), points[i].position);
            points[i].generation = generation;
        }
        for (u32 i = 0; i < m->spare_count; i++) {
            const SoftRange *range = &m->soft_bodies[scene_of(m)->soft_count + i];
            for (u32 k = range->first; k < range->first + range->count; k++) {
                points[k].generation = (u16)m->spares[i].generation;
            }
        }
    }
    if (m->awake_field != FIELDS_MAX) {
        f32 *awake = frame_field(frame, m->awake_field);
        for (u32 i = 0; i < scene_of(m)->soft_count; i++) {
            awake[i] = soft_awake(m->soft, i) ? 1.0f : 0.0f;
        }
    }
}

/* ---- probes ---- */

static void sums(const Matter *matter, MatterSums *sums)
{
    const MatterSoft *m = soft_of_const(matter);
    Vec3 g = world_vector(matter->world, WORLD_GRAVITY);
    u32 particles = soft_particles(m->soft);
    for (u32 i = 0; i < particles; i++) {
        f32 w = soft_inverse_mass(m->soft, i);
        if (w <= 0.0f || soft_is_absent(m->soft, soft_body_of(m->soft, i))) {
            continue;
        }
        f64 mass = 1.0 / (f64)w;
        Vec3 v = soft_velocity(m->soft, i);
        sums->kinetic += 0.5 * mass * (f64)vec3_dot(v, v);
        sums->potential -= mass * (f64)vec3_dot(g, soft_position(m->soft, i));
        sums->momentum[0] += mass * (f64)v.x;
        sums->momentum[1] += mass * (f64)v.y;
        sums->momentum[2] += mass * (f64)v.z;
    }
}

static f64 elastic(const Matter *matter)
{
    const MatterSoft *m = soft_of_const(matter);
    f64 sum = 0.0;
    for (u32 b = 0; b < soft_bodies(m->soft); b++) {
        sum += soft_is_absent(m->soft, b) ? 0.0 : soft_elastic_energy(m->soft, b);
    }
    return sum;
}

static void stats(const Matter *matter, MatterStats *stats)
{
    const MatterSoft *m = soft_of_const(matter);
    stats->world.particles += soft_particles(m->soft);
    stats->world.constraints += soft_constraints(m->soft);
    stats->world.memory_bytes += soft_memory(m->soft);
    for (u32 b = 0; b < soft_bodies(m->soft); b++) {
        stats->awake += soft_awake(m->soft, b);
    }
}

/* Mean of the heights, or of the speeds, of a body's points. */
static f64 mean(const MatterSoft *m, SoftRange range, bool speed)
{
    f64 sum = 0.0;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        sum +=
            speed ? (f64)vec3_length(soft_velocity(m->soft, i)) : (f64)soft_position(m->soft, i).y;
    }
    return sum / range.count;
}

static bool measure(const Matter *matter, const SceneProbe *probe, f64 *value)
{
    const MatterSoft *m = soft_of_const(matter);
    if (probe->soft < 0) {
        return false;
    }
    SoftRange range = m->soft_bodies[probe->soft];
    switch (probe->kind) {
    case PROBE_HEIGHT:
    case PROBE_SPEED:
        *value = mean(m, range, probe->kind == PROBE_SPEED);
        return true;
    case PROBE_STRETCH:
        *value = (f64)soft_strain(m->soft, range.body);
        return true;
    case PROBE_VOLUME:
        *value = (f64)soft_volume(m->soft, range.body);
        return true;
    case PROBE_PRESSURE:
        *value = (f64)soft_pressure(m->soft, range.body) / 1000.0;
        return true;
    case PROBE_PRESSURE_VOLUME:
        *value = (air_pa + (f64)soft_pressure(m->soft, range.body)) *
                 (f64)soft_volume(m->soft, range.body);
        return true;
    default:
        return false;
    }
}

/* ---- hands ---- */

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    return soft_position(soft_of_const(matter)->soft, entity->first + input->element);
}

static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    const MatterSoft *m = soft_of(matter);
    const SceneHands *hands = &scene_of(m)->hands;
    u32 particle = entity->first + input->element;
    HandSpring spring = hand_spring(hands, entity->mass_kg);
    SoftGrab constraint = {.particle = particle,
                           .target = soft_position(m->soft, particle),
                           .stiffness = spring.stiffness,
                           .damping = spring.damping,
                           .force_max =
                               f32_min(hands->force_max, entity->mass_kg * 9.81f * weights_max)};
    return soft_grab_add(m->soft, &constraint);
}

static void drag(Matter *matter, u32 constraint, Vec3 target)
{
    soft_grab(soft_of(matter)->soft, constraint)->target = target;
}

static void release(Matter *matter, u32 constraint)
{
    soft_grab_remove(soft_of(matter)->soft, constraint);
}

static bool grabs(const Matter *matter, u32 constraint)
{
    return constraint < SOFT_GRABS_MAX &&
           soft_grab(soft_of_const(matter)->soft, constraint)->live == 1;
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    Soft *soft = soft_of(matter)->soft;
    u32 particle = entity->first + input->element;
    f32 speed = vec3_length(impulse) * soft_inverse_mass(soft, particle);
    f32 scale = speed > HAND_PUSH_M_S_MAX ? HAND_PUSH_M_S_MAX / speed : 1.0f;
    soft_impulse(soft, particle, vec3_scale(impulse, scale));
}

/* Wakes bodies that may lie on a rigid body before its removal. */
static void leaves(Matter *matter, const Entity *entity)
{
    World *world = matter->world;
    if (world_is_rigid(world, entity)) {
        soft_wake_within(soft_of(matter)->soft, rigid_bounds(world_rigid(world), entity->first));
    }
}

/* ---- state ---- */

static void serialize_names(Matter *matter, State *state)
{
    MatterSoft *m = soft_of(matter);
    state_bytes(state, m->entities, scene_of(m)->soft_count * sizeof *m->entities);
    state_bytes(state, m->spares, m->spare_count * sizeof *m->spares);
}

static void serialize(Matter *matter, State *state)
{
    soft_serialize(soft_of(matter)->soft, state);
}

/* The entity range of a soft body is fixed when it is built. */
static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterSoft *m = soft_of_const(matter);
    if (nth >= scene_of(m)->soft_count) {
        return matter_soft_owns_spare(m, entity);
    }
    return entity->id == m->entities[nth] && entity->first == m->soft_bodies[nth].first &&
           entity->count == m->soft_bodies[nth].count;
}

static bool owns_all(const Matter *matter, u32 count)
{
    const MatterSoft *m = soft_of_const(matter);
    u32 live;
    return matter_soft_count_spares(m, &live) && count == scene_of(m)->soft_count + live;
}

const MatterOps matter_soft = {
    .name = "soft",
    .bytes = sizeof(MatterSoft),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .declare_states = declare_states,
    .reserve = reserve,
    .clear = clear,
    .fill = fill,
    .stir = stir,
    .begin = begin,
    .collider = collider,
    .entity_of = entity_of,
    .substep = substep,
    .rest = rest,
    .finish = finish,
    .report = matter_soft_report,
    .write = write_all,
    .sums = sums,
    .stats = stats,
    .elastic = elastic,
    .measure = measure,
    .dump_entity = matter_soft_dump_entity,
    .tune = tune,
    .wake_all = wake_all,
    .by_element = true,
    .point = point,
    .grab = grab,
    .drag = drag,
    .release = release,
    .grabs = grabs,
    .push = push,
    .spawn = matter_soft_spawn,
    .spawned = matter_soft_spawned,
    .can_remove = matter_soft_can_remove,
    .remove = matter_soft_remove,
    .leaves = leaves,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
};
