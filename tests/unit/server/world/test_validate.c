/* test_validate.c: world_validate() reports each deliberately damaged member by name. */
#include "server/author/scene_load.h"
#include "server/physics/grid/heights_internal.h"
#include "server/physics/grid/smoke_internal.h"
#include "server/physics/liquid/liquid_internal.h"
#include "server/physics/particles/particles_internal.h"
#include "server/world/matter_liquid.h"
#include "server/world/matter_particles.h"
#include "server/world/matter_smoke.h"
#include "server/world/matter_water.h"
#include "server/world/world_internal.h"
#include "tests/support/dies.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    GROUND = 1,
    BOX,
    OTHER,
    TOWEL
};

static const char scene_text[] =
    "{ \"name\": \"validate\", \"spare_bodies\": 4,\n"
    "  \"bodies\": [\n"
    "    { \"name\": \"ground\", \"shape\": { \"kind\": \"plane\" }, \"motion\": \"static\" },\n"
    "    { \"name\": \"box\", \"shape\": { \"kind\": \"box\", \"half\": [0.5, 0.5, 0.5] },\n"
    "      \"mass\": 10, \"position\": [0, 0.5, 0] },\n"
    "    { \"name\": \"other\", \"shape\": { \"kind\": \"sphere\", \"radius\": 0.5 },\n"
    "      \"mass\": 10, \"position\": [3, 0.5, 0] } ],\n"
    "  \"soft_bodies\": [ { \"name\": \"towel\", \"shape\": { \"kind\": \"grid\", \"points\": "
    "[11, 11],\n"
    "    \"size\": [1, 1] }, \"position\": [-5, 1, 0] } ],\n"
    "  \"probes\": [ { \"name\": \"height\", \"kind\": \"height\", \"of\": \"box\" } ] }";

typedef struct Fixture {
    Scene *scene;
    World *world;
} Fixture;

static Input grab(u32 user, u32 entity)
{
    return (Input){.kind = INPUT_GRAB,
                   .user = user,
                   .sequence = 1,
                   .entity = entity,
                   .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .ray = {{0.0f, 1.0f, 4.0f}, {0.0f, 0.0f, -1.0f}}};
}

/* A world in which three users drag something. */
static int begin(void **state)
{
    static Fixture fixture;
    ErrorText error = {.text = ""};
    fixture.scene = scene_parse(scene_text, strlen(scene_text), "validate", &error);
    fixture.world = fixture.scene != NULL ? world_create(fixture.scene, NULL, &error) : NULL;
    if (fixture.world == NULL) {
        fail_msg("%s", error.text);
    }
    Input grabs[] = {grab(1, BOX), grab(2, OTHER), grab(3, TOWEL)};
    for (u32 i = 0; i < 10; i++) {
        world_tick(fixture.world, grabs, i == 3 ? PL_COUNT(grabs) : 0);
    }
    assert_int_equal(fixture.world->grab_end, PL_COUNT(grabs));
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    Fixture *fixture = *state;
    world_destroy(fixture->world);
    scene_destroy(fixture->scene);
    return 0;
}

static void validate(void *world)
{
    world_validate(world);
}

#define FOUND(place, value, failed_check)                                                          \
    ASSERT_DAMAGE_FOUND(validate, w, place, value, failed_check)

static void damaged_grabs_are_found(void **state)
{
    World *w = ((Fixture *)*state)->world;
    static const char failed_check[] = "world_grabs_hold(world)";
    assert_lives(validate, w);
    FOUND(w->grabs[1].user, w->grabs[0].user, failed_check);
    FOUND(w->grabs[1].entity, 77, failed_check);
    FOUND(w->grabs[1].entity, TOWEL, failed_check);
    FOUND(w->grabs[1].constraint, w->grabs[0].constraint, failed_check);
    FOUND(w->grabs[1].constraint, 500, failed_check);
    FOUND(w->grabs[1].matter, w->matter_count, failed_check);
    FOUND(w->grab_end, GRABS_MAX + 1, "world->grab_end <= GRABS_MAX");
    w->grabs[1].user = 0; /* an empty grab whose matter was not told to release: harmless */
    assert_lives(validate, w);
    w->grabs[1].user = 2;
}

static void damaged_entities_are_found(void **state)
{
    World *w = ((Fixture *)*state)->world;
    static const char failed_check[] = "world_entities_hold(world)";
    Entity *box = &w->entities.items[BOX - 1];
    FOUND(box->first, 3, failed_check); /* another body's slot */
    FOUND(box->generation, box->generation + 1, failed_check);
    FOUND(w->entities.count, w->entities.count - 1, failed_check);
    FOUND(w->next_entity, TOWEL, failed_check);
    FOUND(w->entities.items[TOWEL - 1].count, 100, "entity_fits(list, fields, entity");
    FOUND(w->entities.items[TOWEL - 1].id, TOWEL + 1, failed_check);
    FOUND(box->id, GROUND, "list->items[i - 1].id < entity->id");
    FOUND(w->next_entity, 0, "world_clocks_hold(world)");
    FOUND(w->generation, 0, "world_clocks_hold(world)");
}

static void damaged_fields_are_found(void **state)
{
    World *w = ((Fixture *)*state)->world;
    FOUND(w->fields->count, w->fields->count - 1, "world->fields->count == world->field_count");
    FOUND(w->fields->fields[1].capacity, 1, "field->capacity == declared->capacity (item 1)");
    FOUND(w->fields->fields[1].id, 0, "field->id == i");
    FOUND(w->field_matter[0], MATTER_NONE, "own == (world->field_matter[i] == MATTER_NONE)");
    FOUND(w->field_matter[0], w->matter_count, "world->field_matter[i] < world->matter_count");
    FOUND(w->parameters_field, w->field_count, "world->parameters_field < world->field_count");
    FOUND(w->parameters[2].first, 0, "infos[i].first == first (item 2)");
    FOUND(w->probes[0].field, 0, "infos[i].field == field");
    FOUND(w->matters[1]->index, 0, "matter->index == i");
    FOUND(w->matters[1]->world, NULL, "matter->world == world");
}

static void damaged_values_are_found(void **state)
{
    World *w = ((Fixture *)*state)->world;
    FOUND(w->values[0][1], NAN, "world_values_hold(world)");
    FOUND(w->values[0][1], 1e30f, "world_values_hold(world)");
}

static void damaged_events_are_found(void **state)
{
    World *w = ((Fixture *)*state)->world;
    Event *event = world_event(w, EVENT_GRAB);
    assert_non_null(event);
    assert_lives(validate, w);
    FOUND(event->kind, EVENT_KIND_COUNT, "event->kind < EVENT_KIND_COUNT");
    FOUND(event->position.x, INFINITY, "vec3_is_finite(event->position)");
    FOUND(event->kind, EVENT_REFUSED, "event->code < 0"); /* refused without a reason */
    FOUND(w->event_count, w->event_capacity + 1, "world->event_count <= world->event_capacity");
    assert_lives(validate, w);
}

/* ---- stores of other matter ---- */

static const char others_text[] =
    "{ \"name\": \"others\", \"seed\": 3, \"liquid_spacing\": 0.1,\n"
    "  \"bodies\": [ { \"name\": \"ground\", \"shape\": { \"kind\": \"plane\" },\n"
    "    \"motion\": \"static\" } ],\n"
    "  \"liquids\": [ { \"name\": \"tea\", \"capacity\": 400,\n"
    "    \"fill\": [ { \"shape\": { \"kind\": \"box\", \"half\": [0.3, 0.3, 0.3] },\n"
    "      \"position\": [0, 0.4, 0] } ],\n"
    "    \"sources\": [ { \"position\": [2, 1, 0], \"radius\": 0.1, \"speed\": 1 } ] } ],\n"
    "  \"particle_systems\": [ { \"name\": \"dust\", \"count\": 50, \"rate\": 100,\n"
    "    \"position\": [4, 1, 0] } ],\n"
    "  \"waters\": [ { \"name\": \"pond\", \"position\": [9, 1, 0], \"width\": 2, \"length\": 2,\n"
    "    \"cell\": 0.2, \"depth\": 1 } ],\n"
    "  \"smokes\": [ { \"name\": \"puff\", \"corner\": [-4, 0.05, 0], \"cells\": [8, 8, 8],\n"
    "    \"spacing\": 0.1, \"sources\": [ { \"position\": [-3.6, 0.3, 0.4], \"radius\": 0.1,\n"
    "      \"smoke\": 1, \"heat\": 400, \"warmest\": 60 } ] } ] }";

static Matter *matter_of(World *world, const MatterOps *ops)
{
    for (u32 i = 0; i < world->matter_count; i++) {
        if (world->matters[i]->ops == ops) {
            return world->matters[i];
        }
    }
    fail_msg("no such matter");
    return NULL;
}

static void damaged_stores_are_found(void **state)
{
    PL_UNUSED(state);
    ErrorText error = {.text = ""};
    Scene *scene = scene_parse(others_text, strlen(others_text), "others", &error);
    World *w = scene != NULL ? world_create(scene, NULL, &error) : NULL;
    if (w == NULL) {
        fail_msg("%s", error.text);
    }
    for (u32 i = 0; i < 20; i++) {
        world_tick(w, NULL, 0);
    }
    assert_lives(validate, w);

    MatterLiquid *m = liquid_of(matter_of(w, &matter_liquid));
    Liquid *liquid = m->liquid;
    FOUND(m->clocks[0].ahead, NAN, "the clock of a source");
    FOUND(liquid->count, liquid->count - 1, "the count is wrong");
    FOUND(liquid->live[0], liquid->live[0] + 1, "the count of a phase");
    FOUND(liquid->positions[1].x, NAN, "a position is out of the world");
    FOUND(liquid->velocities[1].y, INFINITY, "a velocity is out of range");
    FOUND(liquid->pressures[2], -1.0f, "a pressure is out of range");
    FOUND(liquid->generations[0], liquid->generations[0] + 1, "a generation was never issued");
    FOUND(liquid->lowest[0], liquid->first[1], "a free slot lies below the lowest");
    FOUND(liquid->sleepers, 7, "the count of sleepers");

    Particles *p = particles_of(matter_of(w, &matter_particles))->particles;
    FOUND(p->positions[0].z, NAN, "a particle is out of range");
    FOUND(p->alive[0], 2, "a particle is out of range");
    FOUND(p->systems[0].state.alive, 0, "the count of a system");
    FOUND(p->systems[0].high, 1, "beyond the highest slot in use");
    FOUND(p->systems[0].state.cursor, 50, "a slot of a system");
    FOUND(p->systems[0].state.emitter.owed, NAN, "a clock of a system");
    FOUND(p->time_s, -1.0, "the clock or the number of grabs");

    Pool *pool = water_of(matter_of(w, &matter_water))->pools[0];
    FOUND(pool->held[3], NAN, "what a cell displaces");
    FOUND(pool->bed[3], INFINITY, "a bed is out of range");
    FOUND(pool->missing, NAN, "what bodies displace");

    Smoke *smoke = smoke_of(matter_of(w, &matter_smoke))->grids[0];
    i32 cell = air_at(&smoke->grid, 4, 3, 4);
    FOUND(smoke->velocity[1][cell], NAN, "a velocity is out of range");
    FOUND(smoke->field[0][cell], INFINITY, "a cell's content is out of range");
    FOUND(smoke->pressed[cell], NAN, "a pressure is out of range");

    assert_lives(validate, w);
    world_destroy(w);
    scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_grabs_are_found),  cmocka_unit_test(damaged_entities_are_found),
        cmocka_unit_test(damaged_fields_are_found), cmocka_unit_test(damaged_values_are_found),
        cmocka_unit_test(damaged_events_are_found), cmocka_unit_test(damaged_stores_are_found),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
