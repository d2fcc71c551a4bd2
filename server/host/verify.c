/* verify.c: verifies that re-simulating a recording's inputs reproduces it. */
#include "server/host/verify.h"

#include "server/host/resimulate.h"
#include "shared/base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROGRESS_NS 2000000000ull

enum {
    LOOK_TICKS_MAX = 600
};

/* shown_ns: time of the last progress message. */
static void show_progress(const Resimulation *resimulation, u64 tick, u64 *shown_ns)
{
    u64 now_ns = clock_now_ns();
    if (now_ns - *shown_ns > PROGRESS_NS) {
        fprintf(stderr, "verify: tick %" PRIu64 " of %" PRIu64 "\n", tick,
                resimulation_info(resimulation)->last_tick);
        *shown_ns = now_ns;
    }
}

/* ---- what differs ---- */

static const Entity *entity_with(const MessageWorld *world, u32 field, u32 element)
{
    for (u32 i = 0; i < world->entity_count; i++) {
        const Entity *entity = &world->entities[i];
        if (entity->field == field && element >= entity->first &&
            element - entity->first < entity->count) {
            return entity;
        }
    }
    return NULL;
}

/* Whether an element was not recorded as it is simulated. step: of points that were coarse, 1: of
 * none. */
static bool is_different(const FieldDesc *field, i32 step, const void *recorded,
                         const void *simulated)
{
    if (field->kind != FIELD_POINTS || step == 1) {
        return memcmp(recorded, simulated, field_element_bytes(field)) != 0;
    }
    const QPoint *a = recorded, *b = simulated;
    bool different = a->generation != b->generation;
    for (u32 axis = 0; axis < 3; axis++) {
        i64 off = (i64)a->position[axis] - b->position[axis];
        different = different || off >= step || off <= -step;
    }
    return different;
}

/* Prints the first element that differs between two frames of one tick; false: none does. */
static bool print_element(Resimulation *resimulation)
{
    const Frame *recorded, *simulated;
    MessageWorld world;
    resimulation_frames(resimulation, &recorded, &simulated);
    if (!field_set_equal(recorded->fields, simulated->fields)) {
        return false; /* a forged recording */
    }
    world_describe(resimulation_world(resimulation), &world);
    u32 shift = resimulation_head(resimulation)->coarse_shift;
    i32 step = shift == 0 ? 1 : 1 << (shift + RECORDING_COARSE_LEVELS - 1);
    for (u32 f = 0; f < recorded->fields->count; f++) {
        const FieldDesc *field = &recorded->fields->fields[f];
        u32 bytes = field_element_bytes(field), first = 0, count = 0;
        const u8 *a = frame_field(recorded, f), *b = frame_field(simulated, f);
        for (u32 i = field->capacity; i-- > 0;) {
            if (is_different(field, step, a + (size_t)i * bytes, b + (size_t)i * bytes)) {
                first = i;
                count++;
            }
        }
        bool made = recorded->between && recording_field_waits(field); /* of what is around */
        if (count == 0 || field->kind == FIELD_SCALARS || made) {
            continue;
        }
        const Entity *entity = entity_with(&world, f, first);
        printf("verify: seen at tick %" PRIu64 " in \"%s\": %u of %u %s, first number %u",
               recorded->tick, field->name, count, field->capacity, field_kind_name(field->kind),
               first);
        if (entity != NULL) {
            printf(", of \"%s\"", entity->name);
        }
        printf("\n");
        return true;
    }
    return false;
}

/* A difference may be too small for a frame at first: it is searched for in the following ticks. */
static void print_difference(Resimulation *resimulation, const ResimulatedTick *tick)
{
    printf("verify: tick %" PRIu64 " differs: recorded %016" PRIx64 ", simulated %016" PRIx64 "\n",
           tick->tick, tick->recorded, tick->simulated);
    u32 system;
    if (resimulation_system(resimulation, &system) == ERROR_OK) {
        printf("verify: the first system that differs there is %s\n",
               world_system_name(resimulation_world(resimulation), system));
    }
    ResimulatedTick later;
    ErrorText unused = {0};
    bool found = print_element(resimulation);
    for (u32 i = 0; i < LOOK_TICKS_MAX && !found; i++) {
        if (resimulation_next(resimulation, &later, &unused) != ERROR_OK) {
            break;
        }
        found = print_element(resimulation);
    }
    if (!found) {
        printf("verify: nothing that a frame shows differs\n");
    }
    fflush(stdout);
}

static int compare_all(Resimulation *resimulation, const char *path, ErrorText *error)
{
    u64 compared = 0, shown_ns = clock_now_ns();
    ResimulatedTick tick;
    int result;
    while ((result = resimulation_next(resimulation, &tick, error)) == ERROR_OK) {
        if (tick.simulated != tick.recorded) {
            print_difference(resimulation, &tick);
            return EXIT_CHECK_FAILED;
        }
        compared++;
        show_progress(resimulation, tick.tick, &shown_ns);
    }
    if (result != ERROR_NOT_FOUND) {
        return EXIT_INPUT;
    }
    if (compared == 0) {
        error_set(error, ERROR_FORMAT, "%s: contains no tick: nothing to verify", path);
        return EXIT_INPUT;
    }
    printf("verify: %" PRIu64 " ticks equal\n", compared);
    fflush(stdout);
    return EXIT_OK;
}

int verify_recording(const char *path, const MatterList *kinds, u32 threads, ErrorText *error)
{
    Resimulation *resimulation = resimulation_create(path, kinds, threads, error);
    int code = resimulation != NULL ? compare_all(resimulation, path, error) : EXIT_INPUT;
    resimulation_destroy(resimulation);
    return code;
}
