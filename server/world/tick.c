/* tick.c: the phases of one tick in order; and the life cycle of a world. */
#include "server/world/world_internal.h"
#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

World *world_create(const Scene *scene, Jobs *jobs, ErrorText *error)
{
    return world_create_with(scene, NULL, jobs, error);
}

World *world_create_with(const Scene *scene, const MatterList *kinds, Jobs *jobs, ErrorText *error)
{
    World *world = calloc(1, sizeof *world);
    if (world == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for a world");
        return NULL;
    }
    world->scene = scene;
    world->jobs = jobs;
    if (world_build(world, kinds, error) != ERROR_OK) {
        world_destroy(world);
        return NULL;
    }
    world->layout_hash = world_layout_hash(world);
    return world;
}

void world_destroy(World *world)
{
    if (world == NULL) {
        return;
    }
    for (u32 i = 0; i < world->matter_count; i++) {
        world->matters[i]->ops->destroy(world->matters[i]);
        free(world->matters[i]);
    }
    field_set_release(world->fields);
    entity_list_finish(&world->entities);
    free(world->probes);
    free(world->own_probes);
    free(world->order);
    free(world->events);
    free(world->debug);
    free(world);
}

void world_observe(World *world, WorldObserver *observer, void *context)
{
    world->observer = observer;
    world->observer_context = context;
}

static void phase_end(const World *world, WorldPhase phase)
{
    if (world->observer != NULL) {
        world->observer(world->observer_context, phase);
    }
}

void world_tick(World *world, const Input *inputs, u32 count)
{
    world->event_count = 0;
    jobs_hold(world->jobs);

    world_inputs(world, inputs, count);
    phase_end(world, WORLD_PHASE_INPUTS);

    EACH_MATTER(world, steer)
    EACH_MATTER(world, stir)
    EACH_MATTER(world, begin)
    EACH_MATTER(world, prepare)
    phase_end(world, WORLD_PHASE_CONTACTS);

    u32 substeps = rigid_substeps(world_rigid(world));
    CHECK(substeps >= 1 && substeps <= SUBSTEPS_MAX);
    f32 h = world_tick_s(world) / (f32)substeps;
    for (u32 i = 0; i < substeps; i++) {
        EACH_MATTER_WITH(world, substep, h)
    }
    phase_end(world, WORLD_PHASE_SUBSTEPS);

    EACH_MATTER(world, rest)
    EACH_MATTER(world, finish)
    EACH_MATTER(world, report)
    world->tick++;
    jobs_release(world->jobs);
    VALIDATE_STORE(world_validate(world));
    phase_end(world, WORLD_PHASE_FINISH);
}

FieldSet *world_fields(const World *world)
{
    return world->fields;
}

void world_describe(World *world, MessageWorld *out)
{
    memset(out, 0, sizeof *out);
    out->tick = world->tick;
    out->scene = world->scene->bytes;
    out->scene_bytes = world->scene->byte_count;
    out->fields = world->fields->fields;
    out->field_count = world->fields->count;
    out->entities = world->entities.items;
    out->entity_count = world->entities.count;
    out->parameters = world->parameters;
    out->parameter_count = world->parameter_count;
    out->probes = world->probes;
    out->probe_count = world->probe_count;
}

void world_stats(const World *world, WorldStats *stats)
{
    MatterStats all = {0};
    EACH_MATTER_WITH(world, stats, &all)
    *stats = all.world;
    stats->memory_bytes += world->entities.capacity * sizeof *world->entities.items;
}
