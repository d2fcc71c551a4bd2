/* cloud.c: see cloud.h. Points by semi-implicit Euler, m x'' = w m g − k (x − place) − c v; they
 * collide with everything in the world. */
#include "tests/support/cloud.h"

#include "protocol/field/quantize.h"
#include "server/physics/contact/particles.h"

#include <stdio.h>
#include <string.h>

enum {
    GRIPS_MAX = 8,
    PUFFS_MAX = 2,   /* prefabs that may exist at once, */
    PUFF_POINTS = 8, /* of so many points each, which fly freely and collide with nothing */
    ALL_POINTS = CLOUD_POINTS + PUFFS_MAX * PUFF_POINTS,
    /* Its probes: the one it declares, and those that a scene can name: cloud.speed for the mean
     * speed of the points of its entity, cloud.point <number> for the height of one. */
    PROBE_OWN_HEIGHT = 0,
    PROBE_SPEED_OF_ALL,
    PROBE_POINT,
};

static const f32 damping_per_s = 0.5f;
static const f32 hand_per_s2 = 900.0f; /* stiffness of the grab spring per unit mass */
static const f32 hand_damping_per_s = 60.0f;
static const f32 two_pi = 6.2831853f;

typedef struct CloudGrab {
    u32 live, point;
    Vec3 target;
} CloudGrab;

typedef struct CloudPuff {
    u32 entity, owner; /* entity id; 0: free */
    u32 generation;    /* of its points; new at each spawn */
} CloudPuff;

typedef struct Cloud {
    Matter base;
    u32 field, stiffness, weight, entity;
    Vec3 positions[ALL_POINTS], velocities[ALL_POINTS];
    f32 inverse_masses[ALL_POINTS]; /* 0: points of absent prefabs */
    CloudPuff puffs[PUFFS_MAX];
    CloudGrab grabs[GRIPS_MAX];
    ParticleContacts contacts;
    ParticleBalls balls[MATTERS_MAX]; /* [user] */
    ParticleSet set;
} Cloud;

Vec3 cloud_place(u32 point)
{
    u32 x = point % CLOUD_SIDE, y = point / CLOUD_SIDE % CLOUD_SIDE;
    u32 z = point / (CLOUD_SIDE * CLOUD_SIDE);
    return vec3(0.5f * (f32)x - 2.25f, 1.0f + 0.5f * (f32)y, 0.5f * (f32)z - 2.25f);
}

Vec3 cloud_position(const World *world, u32 point)
{
    u32 index = 0; /* index after the built-in kinds */
    while (world_matter_at(world, index)->ops != &cloud_matter) {
        index++;
    }
    return ((const Cloud *)world_matter_at(world, index))->positions[point];
}

static u64 estimate(const Scene *scene)
{
    (void)scene;
    return sizeof(Cloud) + (u64)HISTORY_FRAMES * CLOUD_POINTS * sizeof(QPoint);
}

static int create(Matter *matter, ErrorText *error)
{
    (void)matter;
    (void)error;
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    Cloud *cloud = (Cloud *)matter;
    particle_contacts_finish(&cloud->contacts);
    for (u32 i = 0; i < MATTERS_MAX; i++) {
        particle_balls_finish(&cloud->balls[i]);
    }
}

static void declare(Matter *matter)
{
    Cloud *cloud = (Cloud *)matter;
    FieldDesc field = {.kind = FIELD_POINTS,
                       .name = "cloud",
                       .channels = 1,
                       .capacity = ALL_POINTS,
                       .quantum = world_scene(matter->world)->quantum};
    cloud->field = world_add_field(matter, &field);
    cloud->weight = world_add_parameter(
        matter, world_parameter("cloud weight", "x", 1, 0.0f, 1.0f, vec3(0.0f, 0.0f, 0.0f)));
    cloud->stiffness = world_add_parameter(
        matter, world_parameter("cloud stiffness", "x", 1, 0.0f, 10.0f, vec3(1.0f, 0.0f, 0.0f)));
    world_add_probe(matter, "cloud height", "m");
}

static void clear(Matter *matter)
{
    Cloud *cloud = (Cloud *)matter;
    memset(cloud->velocities, 0, sizeof cloud->velocities);
    cloud->set = (ParticleSet){.positions = cloud->positions,
                               .velocities = cloud->velocities,
                               .inverse_masses = cloud->inverse_masses,
                               .count = CLOUD_POINTS,
                               .radius = CLOUD_RADIUS_M,
                               .friction = 0.5f};
    memset(cloud->grabs, 0, sizeof cloud->grabs);
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        cloud->positions[i] = cloud_place(i);
    }
    memset(cloud->puffs, 0, sizeof cloud->puffs);
    for (u32 i = 0; i < ALL_POINTS; i++) {
        cloud->inverse_masses[i] = i < CLOUD_POINTS ? 1.0f / CLOUD_POINT_KG : 0.0f;
        cloud->positions[i] = i < CLOUD_POINTS ? cloud->positions[i] : vec3_zero();
    }
}

static int fill(Matter *matter, ErrorText *error)
{
    (void)error;
    Cloud *cloud = (Cloud *)matter;
    Entity entity = {.field = (u8)cloud->field,
                     .movable = 1,
                     .generation = world_generation(matter->world),
                     .count = CLOUD_POINTS,
                     .mass_kg = CLOUD_POINTS * CLOUD_POINT_KG,
                     .appearance = {.kind = APPEARANCE_SPRITES,
                                    .color = {0.8f, 0.3f, 0.2f, 1.0f},
                                    .radius = CLOUD_RADIUS_M}};
    snprintf(entity.name, sizeof entity.name, "cloud");
    int result = world_add_entity(matter, &entity);
    cloud->entity = entity.id;
    return result;
}

static void stir(Matter *matter)
{
    Cloud *cloud = (Cloud *)matter;
    Collider colliders[MATTERS_MAX];
    u32 count = world_colliders(matter, colliders);
    particle_contacts_stir(&cloud->contacts, &cloud->set, colliders, count,
                           world_tick_s(matter->world));
}

static void begin(Matter *matter)
{
    Cloud *cloud = (Cloud *)matter;
    Collider colliders[MATTERS_MAX];
    u32 count = world_colliders(matter, colliders);
    particle_contacts_begin(&cloud->contacts, &cloud->set, colliders, count,
                            world_tick_s(matter->world), world_jobs(matter->world));
}

static Collider collider(Matter *matter, u32 user)
{
    Cloud *cloud = (Cloud *)matter;
    cloud->balls[user].set = &cloud->set;
    return particle_balls(&cloud->balls[user]);
}

static u32 entity_of(const Matter *matter, u32 thing)
{
    const Cloud *cloud = (const Cloud *)matter;
    return thing < CLOUD_POINTS ? cloud->entity
                                : cloud->puffs[(thing - CLOUD_POINTS) / PUFF_POINTS].entity;
}

static void substep(Matter *matter, f32 h)
{
    Cloud *cloud = (Cloud *)matter;
    f32 omega = two_pi * CLOUD_SPRING_HZ,
        stiffness = world_value(matter->world, cloud->stiffness)[0];
    f32 k = omega * omega * stiffness, damping = damping_per_s * f32_min(stiffness, 1.0f);
    Vec3 fall = vec3_scale(world_vector(matter->world, WORLD_GRAVITY),
                           h * world_value(matter->world, cloud->weight)[0]);
    particle_contacts_substep(&cloud->contacts, &cloud->set, h);
    particle_contacts_step(&cloud->contacts, h);
    for (u32 g = 0; g < GRIPS_MAX; g++) {
        const CloudGrab *grab = &cloud->grabs[g];
        if (grab->live) {
            Vec3 *v = &cloud->velocities[grab->point];
            Vec3 to = vec3_sub(grab->target, cloud->positions[grab->point]);
            *v = vec3_add_scaled(*v, h * hand_per_s2, to);
            *v = vec3_scale(*v, 1.0f / (1.0f + h * hand_damping_per_s));
        }
    }
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        Vec3 away = vec3_sub(cloud->positions[i], cloud_place(i)), v = cloud->velocities[i];
        v = vec3_add_scaled(vec3_add(v, fall), -h * k, away);
        cloud->velocities[i] = vec3_scale(v, 1.0f - h * damping);
    }
    particle_contacts_solve(&cloud->contacts, &cloud->set, h);
    for (u32 i = 0; i < ALL_POINTS; i++) {
        cloud->positions[i] = vec3_add_scaled(cloud->positions[i], h, cloud->velocities[i]);
    }
    particle_contacts_end(&cloud->contacts);
}

static void write_points(const Matter *matter, Frame *frame)
{
    const Cloud *cloud = (const Cloud *)matter;
    const FieldDesc *field = &frame->fields->fields[cloud->field];
    QPoint *points = frame_points(frame, cloud->field);
    for (u32 i = 0; i < ALL_POINTS; i++) {
        quantize_position(field, cloud->positions[i], points[i].position);
        points[i].generation = i < CLOUD_POINTS
                                   ? world_generation(matter->world)
                                   : (u16)cloud->puffs[(i - CLOUD_POINTS) / PUFF_POINTS].generation;
    }
}

static void sums(const Matter *matter, MatterSums *out)
{
    const Cloud *cloud = (const Cloud *)matter;
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        Vec3 v = cloud->velocities[i];
        out->kinetic += 0.5 * (f64)CLOUD_POINT_KG * (f64)vec3_dot(v, v);
    }
}

static i32 find_probe(const Matter *matter, const SceneProbe *probe, const char **unit,
                      ErrorText *error)
{
    (void)matter;
    u32 point;
    bool of_cloud = strcmp(probe->of, "cloud") == 0;
    if (strcmp(probe->quantity, "speed") == 0 && of_cloud) {
        *unit = "m/s";
        return PROBE_SPEED_OF_ALL;
    }
    if (sscanf(probe->quantity, "point %u", &point) == 1 && point < CLOUD_POINTS && of_cloud) {
        *unit = "m";
        return PROBE_POINT + (i32)point;
    }
    return error_set(error, ERROR_NOT_FOUND, "no \"%s\" of \"%s\" in a cloud", probe->quantity,
                     probe->of);
}

static f64 measure(const Matter *matter, u32 probe)
{
    const Cloud *cloud = (const Cloud *)matter;
    if (probe >= PROBE_POINT) {
        return (f64)cloud->positions[probe - PROBE_POINT].y;
    }
    f64 sum = 0.0;
    for (u32 i = 0; i < CLOUD_POINTS; i++) {
        sum += probe == PROBE_OWN_HEIGHT ? (f64)cloud->positions[i].y
                                         : (f64)vec3_length(cloud->velocities[i]);
    }
    return sum / CLOUD_POINTS;
}

/* ---- prefabs ---- */

static bool knows_prefab(const Matter *matter, const ScenePrefab *prefab)
{
    (void)matter;
    return strcmp(prefab->name, "puff") == 0;
}

static u32 spawned(const Matter *matter, u32 user)
{
    const Cloud *cloud = (const Cloud *)matter;
    u32 count = 0;
    for (u32 i = 0; i < PUFFS_MAX; i++) {
        count += cloud->puffs[i].entity != 0 && cloud->puffs[i].owner == user;
    }
    return count;
}

/* Eight points at the corners of a cube. */
static int spawn(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *id)
{
    Cloud *cloud = (Cloud *)matter;
    u32 k = 0;
    while (k < PUFFS_MAX && cloud->puffs[k].entity != 0) {
        k++;
    }
    if (prefab->kind != PREFAB_MATTER) {
        return ERROR_UNSUPPORTED;
    }
    if (k == PUFFS_MAX) {
        return ERROR_LIMIT;
    }
    CloudPuff *puff = &cloud->puffs[k];
    Entity entity = {.field = (u8)cloud->field,
                     .movable = 1,
                     .generation = (u16)(puff->generation + 1),
                     .first = CLOUD_POINTS + k * PUFF_POINTS,
                     .count = PUFF_POINTS,
                     .mass_kg = PUFF_POINTS * CLOUD_POINT_KG,
                     .appearance = {.kind = APPEARANCE_SPRITES, .radius = CLOUD_RADIUS_M}};
    snprintf(entity.name, sizeof entity.name, "%.30s #%u", prefab->name,
             world_next_entity(matter->world));
    int result = world_add_entity(matter, &entity);
    if (result != ERROR_OK) {
        return result;
    }
    *puff = (CloudPuff){entity.id, input->user, entity.generation};
    for (u32 i = 0; i < PUFF_POINTS; i++) {
        Vec3 corner = vec3(i & 1 ? 0.2f : -0.2f, i & 2 ? 0.2f : -0.2f, i & 4 ? 0.2f : -0.2f);
        cloud->positions[entity.first + i] =
            vec3_add(input->target, quat_rotate(input->rotation, corner));
        cloud->velocities[entity.first + i] = input->vector;
        cloud->inverse_masses[entity.first + i] = 1.0f / CLOUD_POINT_KG;
    }
    *id = entity.id;
    return ERROR_OK;
}

static void remove_puff(Matter *matter, const Entity *entity)
{
    Cloud *cloud = (Cloud *)matter;
    if (entity->first < CLOUD_POINTS) {
        return;
    }
    CloudPuff *puff = &cloud->puffs[(entity->first - CLOUD_POINTS) / PUFF_POINTS];
    puff->entity = puff->owner = 0;
    for (u32 i = entity->first; i < entity->first + entity->count; i++) {
        cloud->velocities[i] = vec3_zero();
        cloud->inverse_masses[i] = 0.0f;
    }
}

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    return ((const Cloud *)matter)->positions[entity->first + input->element];
}

static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    Cloud *cloud = (Cloud *)matter;
    for (i32 g = 0; g < GRIPS_MAX; g++) {
        if (!cloud->grabs[g].live) {
            cloud->grabs[g] =
                (CloudGrab){1, entity->first + input->element, point(matter, entity, input)};
            return g;
        }
    }
    return -1;
}

static void drag(Matter *matter, u32 grab, Vec3 target)
{
    ((Cloud *)matter)->grabs[grab].target = target;
}

static void release(Matter *matter, u32 grab)
{
    ((Cloud *)matter)->grabs[grab] = (CloudGrab){0};
}

static bool grabs(const Matter *matter, u32 grab)
{
    return grab < GRIPS_MAX && ((const Cloud *)matter)->grabs[grab].live == 1;
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    Vec3 *v = &((Cloud *)matter)->velocities[entity->first + input->element];
    *v = vec3_add_scaled(*v, 1.0f / CLOUD_POINT_KG, impulse);
}

static void serialize_names(Matter *matter, State *state)
{
    Cloud *cloud = (Cloud *)matter;
    state_bytes(state, &cloud->entity, sizeof cloud->entity);
    state_bytes(state, cloud->puffs, sizeof cloud->puffs);
}

static void serialize(Matter *matter, State *state)
{
    Cloud *cloud = (Cloud *)matter;
    state_part(state, "cloud");
    state_bytes(state, cloud->positions, sizeof cloud->positions);
    state_bytes(state, cloud->velocities, sizeof cloud->velocities);
    state_bytes(state, cloud->grabs, sizeof cloud->grabs);
    state_bytes(state, cloud->inverse_masses, sizeof cloud->inverse_masses);
    for (u32 i = 0; i < ALL_POINTS && state->mode == STATE_LOAD; i++) {
        u32 owner = i < CLOUD_POINTS ? cloud->entity
                                     : cloud->puffs[(i - CLOUD_POINTS) / PUFF_POINTS].entity;
        f32 w = owner != 0 ? 1.0f / CLOUD_POINT_KG : 0.0f;
        state->failed = state->failed || cloud->inverse_masses[i] != w;
        state->failed = state->failed || !state_vector_is_bounded(cloud->positions[i]) ||
                        !state_vector_is_bounded(cloud->velocities[i]);
    }
    for (u32 g = 0; g < GRIPS_MAX && state->mode == STATE_LOAD; g++) {
        state->failed = state->failed || cloud->grabs[g].point >= ALL_POINTS ||
                        !state_vector_is_bounded(cloud->grabs[g].target);
    }
}

static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const Cloud *cloud = (const Cloud *)matter;
    u32 k = (entity->first - CLOUD_POINTS) / PUFF_POINTS;
    (void)nth;
    if (entity->first == 0) {
        return entity->id == cloud->entity && entity->count == CLOUD_POINTS;
    }
    return entity->first >= CLOUD_POINTS && (entity->first - CLOUD_POINTS) % PUFF_POINTS == 0 &&
           k < PUFFS_MAX && entity->count == PUFF_POINTS && entity->id == cloud->puffs[k].entity &&
           entity->generation == (u16)cloud->puffs[k].generation;
}

static bool owns_all(const Matter *matter, u32 count)
{
    const Cloud *cloud = (const Cloud *)matter;
    u32 live = 1;
    for (u32 i = 0; i < PUFFS_MAX; i++) {
        live += cloud->puffs[i].entity != 0;
    }
    return count == live;
}

const MatterOps cloud_matter = {
    .name = "cloud",
    .bytes = sizeof(Cloud),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .clear = clear,
    .fill = fill,
    .stir = stir,
    .begin = begin,
    .collider = collider,
    .entity_of = entity_of,
    .substep = substep,
    .write = write_points,
    .sums = sums,
    .find_probe = find_probe,
    .measure_own = measure,
    .by_element = true,
    .point = point,
    .grab = grab,
    .drag = drag,
    .release = release,
    .grabs = grabs,
    .push = push,
    .spawn = spawn,
    .spawned = spawned,
    .knows_prefab = knows_prefab,
    .remove = remove_puff,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
};

static const MatterOps *const kinds[] = {&cloud_matter};
const MatterList cloud_kinds = {kinds, 1};
