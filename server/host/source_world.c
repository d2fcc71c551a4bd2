/*
 * source_world.c: a live world as a Source: a thread that ticks it in real time.
 *
 * Two threads meet here at one mutex, which is held only to copy: the host's (take, input, control,
 * status) and the simulation's (all functions named sim_). Inputs and control requests go in,
 * frames come out. The world and the worker pool belong to the simulation thread
 * alone.
 */
#include "server/host/frame_merge.h"
#include "server/host/source_world_internal.h"
#include "server/host/trace.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/thread.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS_MAX = 3600,
    /* Of those, for releases only: grabs can be released even if others flood the queue. */
    RELEASES_MAX = 1024,
    ORDINARY_MAX = WORLD_INPUTS_WAITING_MAX - RELEASES_MAX,
    /* Of the others, for each user; the rest is shared. */
    OWN_MAX = 2,
    SHARED_MAX = ORDINARY_MAX - OWN_MAX * CLIENTS_MAX,
    RELEASES_PER_USER_MAX = 8,
    /* World time between images in a recording: the most that --at simulates. A playground of a
     * quarter of a MB costs 1 % of its recording. */
    RECORD_IMAGE_S = 300,
};

PL_STATIC_ASSERT((int)SHARED_MAX > (int)INPUTS_UNACKED_MAX * 16, "room for bursts");

#define NS_PER_S          1000000000ull
/* The simulation thread checks for requests at least this often while it waits for its next
 * tick. */
#define WAIT_SLICE_NS     20000000ull
/* Lateness up to this is recovered by running faster; any excess is dropped: world time slows. */
#define BACKLOG_NS        50000000ull
#define WARN_NS           5000000000ull
#define DEBUG_INTERVAL_NS ((u64)DEBUG_INTERVAL_MS * 1000000)

static WorldSource *from(Source *source)
{
    return (WorldSource *)source;
}

/* ---- tick times ---- */

PL_STATIC_ASSERT((int)TICK_FINISH == (int)WORLD_PHASE_FINISH &&
                     (int)TICK_FRAME == (int)WORLD_PHASES,
                 "TickPhase begins with the phases of the world");

static void sim_phase(WorldSource *s, TickPhase ended)
{
    u64 now_ns = clock_now_ns();
    s->phase_s[ended] = (f64)(now_ns - s->phase_ns) * 1e-9;
    TRACE_PROBE2(tick_phase, (int)ended, now_ns - s->phase_ns);
    trace_span(s->options.trace, &(TraceSpan){tick_phase_name(ended), TRACE_SIMULATION, s->phase_ns,
                                              now_ns, (u64)ended});
    s->phase_ns = now_ns;
}

static void sim_observe(void *context, WorldPhase ended)
{
    sim_phase(context, (TickPhase)ended);
}

/* Under the mutex. */
static void sim_count_times(WorldSource *s, f64 tick_s, u64 processor_ns)
{
    buckets_add(&s->times.tick, &BOUNDS_SECONDS, tick_s);
    histogram_add(&s->times.costs, (u64)(tick_s * 1e9));
    histogram_add(&s->times.processor, processor_ns);
    for (u32 i = 0; i < TICK_PHASES; i++) {
        buckets_add(&s->times.phases[i], &BOUNDS_SECONDS, s->phase_s[i]);
    }
}

/* ---- frames out ---- */

/* Removes the newest waiting frame, or returns NULL if there is space for another. */
static Frame *sim_withdraw_frame(WorldSource *s)
{
    Frame *frame = NULL;
    pthread_mutex_lock(&s->mutex);
    if (frame_queue_full(&s->made)) {
        frame = frame_queue_pop_newest(&s->made);
    }
    pthread_mutex_unlock(&s->mutex);
    return frame;
}

/* Passes a frame to the host. A host that does not take frames in time loses frames, but no
 * events. 0 or a negative Error. */
static int sim_give_frame(WorldSource *s, Frame *frame)
{
    Frame *old = sim_withdraw_frame(s);
    if (old != NULL) {
        frame = frame_merge(old, frame);
        if (frame == NULL) {
            return ERROR_MEMORY;
        }
    }
    pthread_mutex_lock(&s->mutex);
    frame_queue_push(&s->made, frame);
    s->status.tick = frame->tick;
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
    return 0;
}

/* ---- recording and printing ---- */

static bool probe_value(const void *context, u32 probe, f64 *value)
{
    const WorldSource *s = context;
    return world_probe(s->world, s->described.probes[probe].name, value);
}

/* The stream's tick, which is the recording's, too. */
static u64 sim_tick_number(const WorldSource *s)
{
    return world_tick_number(s->world) + s->shift;
}

/* ---- checkpoints ---- */

/* Takes an image of the world for the thread that writes it. */
static void sim_checkpoint(WorldSource *s)
{
    u8 *image;
    size_t bytes;
    s->checkpoint_ns = clock_now_ns();
    u64 tick = world_tick_number(s->world);
    s->checkpoint_tick = sim_tick_number(s);
    if (world_save(s->world, &image, &bytes) != ERROR_OK) {
        log_error("checkpoint: out of memory for an image of the world");
        return;
    }
    pthread_mutex_lock(&s->mutex);
    u32 note_bytes = s->note_bytes;
    u8 *note = note_bytes > 0 ? malloc(note_bytes) : NULL;
    if (note != NULL) {
        memcpy(note, s->note, note_bytes);
    }
    pthread_mutex_unlock(&s->mutex);
    checkpointer_submit(s->checkpointer, tick, image, bytes, note, note != NULL ? note_bytes : 0);
    free(note);
}

/* A checkpoint if one is due; `idle`: the world is paused, so that later ones are not needed. */
static void sim_check_checkpoint(WorldSource *s, bool idle)
{
    if (s->checkpointer == NULL || sim_tick_number(s) == s->checkpoint_tick) {
        return;
    }
    u64 every_ns = (u64)u32_max(s->options.checkpoint_s, 1) * NS_PER_S;
    bool due = idle || clock_now_ns() - s->checkpoint_ns >= every_ns;
    if (due && checkpointer_is_idle(s->checkpointer)) {
        sim_checkpoint(s);
    }
    CheckpointStats stats;
    checkpointer_stats(s->checkpointer, &stats);
    pthread_mutex_lock(&s->mutex);
    s->status.checkpoints = stats.written;
    s->status.checkpoints_failed = stats.failed;
    s->status.checkpoint_tick = stats.tick;
    s->status.checkpoint_failing = stats.failing;
    pthread_mutex_unlock(&s->mutex);
}

/* ---- images in recordings ---- */

/* Gives the recorder an image of the world with its next tick if one is due, to start from. */
static void sim_record_image(WorldSource *s)
{
    u64 tick = sim_tick_number(s);
    u64 every =
        (u64)(s->options.image_s != 0 ? s->options.image_s : RECORD_IMAGE_S) * s->scene->tick_rate;
    u8 *image;
    size_t bytes;
    if (tick - s->image_tick < every || world_save(s->world, &image, &bytes) != ERROR_OK) {
        return;
    }
    const RecordingImage about = {.tick = tick, .kind = RECORDING_IMAGE_KEPT, .bytes = bytes};
    s->image_tick = tick;
    recorder_image(s->recorder, &about, image);
}

/* ---- one tick ---- */

/* Moves the waiting inputs into s->inputs and returns their number. */
static u32 sim_take_inputs(WorldSource *s)
{
    pthread_mutex_lock(&s->mutex);
    u32 count = s->queued;
    memcpy(s->inputs, s->queue, count * sizeof *s->inputs);
    s->queued = 0;
    memset(s->waiting, 0, sizeof s->waiting);
    memset(s->releases, 0, sizeof s->releases);
    if (s->reset) {
        s->inputs[count++] = (Input){
            .kind = INPUT_RESET, .user = s->reset_user, .rotation = {1.0f, 0.0f, 0.0f, 0.0f}};
        s->reset = false;
    }
    pthread_mutex_unlock(&s->mutex);
    return count;
}

/* Builds, records and passes on the frame of the current state. 0 or a negative Error. */
static int sim_publish(WorldSource *s, u32 input_count)
{
    s->phase_ns = clock_now_ns();
    Frame *frame = world_frame(s->world);
    if (frame == NULL) {
        return ERROR_MEMORY;
    }
    frame->tick += s->shift;
    frame->world_time_s = (f64)frame->tick / s->scene->tick_rate;
    sim_phase(s, TICK_FRAME);
    if (s->recorder != NULL) {
        sim_record_image(s);
        recorder_tick(s->recorder, frame, s->inputs, input_count);
    }
    if (s->publisher != NULL) {
        publisher_tick(s->publisher, frame, s->inputs, input_count);
    }
    sim_phase(s, TICK_RECORD);
    probe_print_tick(&s->probes, frame->tick, probe_value, s);
    return sim_give_frame(s, frame);
}

/* A copy in one block; NULL: out of memory. */
static DebugPicture *picture_copy(const DebugPicture *picture)
{
    size_t lines = picture->line_count * sizeof *picture->lines;
    size_t islands = picture->island_count * sizeof *picture->islands;
    DebugPicture *copy = malloc(sizeof *copy + lines + islands);
    if (copy == NULL) {
        return NULL;
    }
    DebugLine *own_lines = (DebugLine *)(copy + 1);
    DebugIsland *own_islands = (DebugIsland *)(own_lines + picture->line_count);
    *copy = *picture;
    copy->lines = own_lines;
    copy->islands = own_islands;
    if (lines > 0) {
        memcpy(own_lines, picture->lines, lines);
    }
    if (islands > 0) {
        memcpy(own_islands, picture->islands, islands);
    }
    return copy;
}

/* Makes the debug picture for subscribers if it is due. */
static void sim_debug_view(WorldSource *s)
{
    u64 now_ns = clock_now_ns();
    pthread_mutex_lock(&s->mutex);
    u32 mask = s->debug_mask;
    /* A new subscription is served sooner, but not more often if it changes constantly. */
    u64 gap_ns = s->debug_mask_changed ? DEBUG_INTERVAL_NS / 4 : DEBUG_INTERVAL_NS;
    bool due = mask != 0 && now_ns - s->looked_ns >= gap_ns;
    s->debug_mask_changed = false;
    pthread_mutex_unlock(&s->mutex);
    DebugPicture picture;
    if (!due || world_debug(s->world, mask, &picture) != 0) {
        return;
    }
    s->looked_ns = now_ns;
    picture.tick += s->shift;
    DebugPicture *copy = picture_copy(&picture);
    pthread_mutex_lock(&s->mutex);
    free(s->picture);
    s->picture = copy;
    pthread_mutex_unlock(&s->mutex);
}

/* ---- rewinding ---- */

/* Gives the recorder the world that it was rewound to (kind BACK, to a tick of the stream) or
 * that was loaded, with its next tick. */
static void sim_record_jump(WorldSource *s, u32 kind, u64 back_tick)
{
    u8 *image;
    size_t bytes;
    if (s->recorder == NULL) {
        return;
    }
    if (world_save(s->world, &image, &bytes) != ERROR_OK) {
        log_error("out of memory to record the restored world: --verify ends here");
        return;
    }
    const RecordingImage about = {
        .tick = sim_tick_number(s), .kind = kind, .back_tick = back_tick, .bytes = bytes};
    s->image_tick = about.tick;
    recorder_image(s->recorder, &about, image);
}

/* The world was replaced: its stream continues with tick `next`. 0 or a negative Error. */
static int sim_resume(WorldSource *s, u64 next, u32 kind, u64 back_tick)
{
    world_empty_hands(s->world);
    world_resend_entities(s->world,
                          kind == RECORDING_IMAGE_BACK ? EVENT_RESET_BACK : EVENT_RESET_LOAD);
    s->shift = next - world_tick_number(s->world);
    s->deadline_ns = 0;
    sim_record_jump(s, kind, back_tick);
    int result = sim_publish(s, 0);
    sim_keep_image(s);
    return result;
}

/* Rewinds the world. 0 or a negative Error. */
static int sim_back(WorldSource *s)
{
    ErrorText error = {0};
    u64 next = sim_tick_number(s) + 1;
    pthread_mutex_lock(&s->mutex);
    u64 wanted = s->back_tick;
    s->back = false;
    pthread_mutex_unlock(&s->mutex);
    const RewindImage *image = rewind_at(&s->rewind, wanted);
    if (image == NULL || world_load(s->world, image->image, image->bytes, &error) != ERROR_OK) {
        log_error("cannot rewind: %s", image == NULL ? "that was too long ago" : error.text);
        return ERROR_OK;
    }
    u64 back_tick = image->tick;
    rewind_cut(&s->rewind, image->world_tick);
    log_info("rewound from tick %" PRIu64 " to tick %" PRIu64 ", continuing as tick %" PRIu64,
             next - 1, back_tick, next);
    return sim_resume(s, next, RECORDING_IMAGE_BACK, back_tick);
}

/* ---- saves ---- */

/* Executes a requested save or load. 0 or a negative Error. */
static int sim_serve_save(WorldSource *s)
{
    u64 tick = sim_tick_number(s);
    pthread_mutex_lock(&s->mutex);
    SaveKind kind = s->save;
    s->save_asked = false;
    pthread_mutex_unlock(&s->mutex);
    if (kind == SAVE_WRITE) {
        sim_save(s, tick);
        return ERROR_OK;
    }
    if (!sim_load(s)) {
        return ERROR_OK;
    }
    log_info("loaded the world from %s at its tick %" PRIu64 ", as tick %" PRIu64, s->save_path,
             world_tick_number(s->world), tick + 1);
    rewind_clear(&s->rewind); /* its ticks are not those of this world */
    int result = sim_resume(s, tick + 1, RECORDING_IMAGE_LOAD, 0);
    const ErrorText none = {0};
    sim_save_ended(s, tick + 1, &none);
    return result;
}

static int sim_tick(WorldSource *s)
{
    u64 began_ns = clock_now_ns(), processor_ns = clock_thread_ns();
    s->phase_ns = began_ns;
    u32 count = sim_take_inputs(s);
    world_tick(s->world, s->inputs, count);
    sim_debug_view(s);
    int result = sim_publish(s, count);
    s->phase_ns = clock_now_ns();
    sim_keep_image(s);
    sim_check_checkpoint(s, false);
    sim_phase(s, TICK_CHECKPOINT);
    u64 now_ns = s->phase_ns;
    TRACE_PROBE2(tick, world_tick_number(s->world), now_ns - began_ns);
    trace_span(s->options.trace, &(TraceSpan){"tick", TRACE_SIMULATION, began_ns, now_ns,
                                              world_tick_number(s->world)});
    average_add(&s->cost, (f64)(now_ns - began_ns) * 1e-6);
    processor_ns = clock_thread_ns() - processor_ns;
    bool slowed = s->slowed_ns != 0 && now_ns - s->slowed_ns < NS_PER_S;
    pthread_mutex_lock(&s->mutex);
    s->status.status.tick_ms = (f32)s->cost.value;
    s->status.status.slowed = slowed;
    sim_count_times(s, (f64)(now_ns - began_ns) * 1e-9, processor_ns);
    pthread_mutex_unlock(&s->mutex);
    return result;
}

/* ---- time ---- */

typedef enum Order {
    ORDER_WAIT, /* nothing to do until something changes */
    ORDER_TICK,
    ORDER_STEP,       /* tick immediately, regardless of the clock */
    ORDER_DEBUG_VIEW, /* no tick, but a debug picture is due */
    ORDER_BACK,
    ORDER_SAVE, /* or load */
    ORDER_STOP
} Order;

/* The next action and its speed; waits while paused or (--fast) while the host is behind. */
static Order sim_next_order(WorldSource *s, f64 *speed)
{
    u64 tick = sim_tick_number(s);
    bool waited = false;
    Order order = ORDER_WAIT;
    pthread_mutex_lock(&s->mutex);
    while (order == ORDER_WAIT) {
        bool full = s->options.fast && frame_queue_full(&s->made);
        if (s->stop ||
            (s->options.ticks_max != 0 && tick - s->first_tick >= s->options.ticks_max)) {
            order = ORDER_STOP;
        } else if (!full && s->back) {
            order = ORDER_BACK;
        } else if (!full && s->save_asked) {
            order = ORDER_SAVE;
        } else if (s->paused && s->debug_mask_changed && s->debug_mask != 0) {
            order = ORDER_DEBUG_VIEW;
        } else if (!full && s->paused && s->steps > 0) {
            s->steps--;
            order = ORDER_STEP;
        } else if (!full && !s->paused) {
            order = s->options.fast ? ORDER_STEP : ORDER_TICK;
        } else if (s->paused && !waited) {
            pthread_mutex_unlock(&s->mutex);
            sim_check_checkpoint(s, true);
            waited = true;
            pthread_mutex_lock(&s->mutex);
        } else {
            waited = true;
            pthread_cond_wait(&s->changed, &s->mutex);
        }
    }
    *speed = s->speed;
    pthread_mutex_unlock(&s->mutex);
    if (waited || order == ORDER_STEP) {
        s->deadline_ns = 0; /* timing restarts after a pause */
    }
    return order;
}

/* Accounts for a tick that starts late: a small delay is recovered, the rest is dropped. */
static void sim_note_late(WorldSource *s, u64 now_ns, u64 period_ns)
{
    u64 late_ns = now_ns - s->deadline_ns;
    if (late_ns < period_ns) {
        return;
    }
    pthread_mutex_lock(&s->mutex);
    s->status.late_ticks++;
    u64 late_ticks = s->status.late_ticks;
    s->status.dropped_s += late_ns < BACKLOG_NS ? 0.0 : (f64)late_ns * 1e-9;
    pthread_mutex_unlock(&s->mutex);
    if (late_ns < BACKLOG_NS) {
        return;
    }
    s->deadline_ns = now_ns;
    s->slowed_ns = now_ns;
    s->given_up_ns += late_ns;
    if (s->warned_ns == 0 || now_ns - s->warned_ns > WARN_NS) {
        log_warn("the server cannot keep up: world time is %.0f ms behind, a tick takes %.2f of "
                 "%.2f ms, %" PRIu64 " ticks began late so far",
                 (f64)s->given_up_ns * 1e-6, s->cost.value, (f64)period_ns * 1e-6, late_ticks);
        s->warned_ns = now_ns;
        s->given_up_ns = 0;
    }
}

/* Waits until the next tick is due. False if a request arrived meanwhile that must be handled
 * first. */
static bool sim_wait_for_tick(WorldSource *s, f64 speed)
{
    u64 period_ns = (u64)(1e9 / ((f64)s->scene->tick_rate * speed));
    u64 now_ns = clock_now_ns();
    if (s->deadline_ns == 0) {
        s->deadline_ns = now_ns;
    }
    while (now_ns < s->deadline_ns) {
        clock_sleep_until_ns(u64_min(s->deadline_ns, now_ns + WAIT_SLICE_NS));
        pthread_mutex_lock(&s->mutex);
        bool other = s->stop || s->paused || s->back || s->save_asked || s->speed != speed;
        pthread_mutex_unlock(&s->mutex);
        if (other) {
            s->deadline_ns = 0;
            return false;
        }
        now_ns = clock_now_ns();
    }
    sim_note_late(s, now_ns, period_ns);
    s->deadline_ns += period_ns;
    return true;
}

/* ---- the thread ---- */

static void sim_finish(WorldSource *s, int result)
{
    if (s->options.hash) {
        fprintf(s->options.probe_csv ? stderr : stdout, "hash %" PRIu64 " %016" PRIx64 "\n",
                sim_tick_number(s), world_hash(s->world));
        fflush(stdout);
    }
    if (s->checkpointer != NULL) {
        sim_checkpoint(s);
        checkpointer_destroy(s->checkpointer);
        s->checkpointer = NULL;
    }
    pthread_mutex_lock(&s->mutex);
    Recorder *recorder = s->recorder;
    Publisher *publisher = s->publisher;
    s->recorder = NULL;
    s->publisher = NULL;
    pthread_mutex_unlock(&s->mutex);
    recorder_destroy(recorder); /* the file is whole before the host learns of the end */
    publisher_destroy(publisher);
    pthread_mutex_lock(&s->mutex);
    s->status.finished = true;
    s->status.error = (Error)result;
    pthread_mutex_unlock(&s->mutex);
    s->wake(s->wake_context);
}

static void *sim_main(void *argument)
{
    WorldSource *s = argument;
    int before;
    thread_name("plenum-tick");
    if (!s->options.fast) {
        (void)thread_go_first(&before); /* ticks are due; packets can wait for one */
    }
    s->checkpoint_ns = clock_now_ns();
    world_observe(s->world, sim_observe, s);
    int result = sim_publish(s, 0);
    sim_keep_image(s);
    f64 speed = 1.0;
    while (result == 0) {
        Order order = sim_next_order(s, &speed);
        if (order == ORDER_STOP) {
            break;
        }
        if (order == ORDER_DEBUG_VIEW) {
            sim_debug_view(s);
            s->wake(s->wake_context);
        } else if (order == ORDER_BACK) {
            result = sim_back(s);
        } else if (order == ORDER_SAVE) {
            result = sim_serve_save(s);
        } else if (order == ORDER_STEP || sim_wait_for_tick(s, speed)) {
            result = sim_tick(s);
        }
    }
    if (result != 0) {
        log_error("the simulation stopped: %s", error_name((Error)result));
    }
    sim_finish(s, result);
    return NULL;
}

/* ---- the Source ---- */

static int source_start(Source *source, void (*wake)(void *context), void *context,
                        ErrorText *error)
{
    WorldSource *s = from(source);
    s->wake = wake;
    s->wake_context = context;
    if (pthread_create(&s->thread, NULL, sim_main, s) != 0) {
        return error_set(error, ERROR_STATE, "cannot start the simulation thread");
    }
    s->started = true;
    return 0;
}

static Frame *source_take(Source *source)
{
    WorldSource *s = from(source);
    Frame *frame = frame_queue_take(&s->made, &s->mutex, &s->changed);
    if (frame != NULL) {
        s->described.tick = frame->tick;
        if (entity_list_frame(&s->entities, frame) != ERROR_OK) {
            log_error("more than %d entities: some are not sent to joining clients", ENTITIES_MAX);
        }
    }
    return frame;
}

static void source_describe(Source *source, MessageWorld *out)
{
    WorldSource *s = from(source);
    s->described.entities = s->entities.items;
    s->described.entity_count = s->entities.count;
    *out = s->described;
}

/* While the world is paused only the newest target of each grab matters, so long drags do not
 * fill the queue. */
static bool replaces_move(WorldSource *s, const Input *input)
{
    if (!s->paused || input->kind != INPUT_MOVE) {
        return false;
    }
    for (u32 i = s->queued; i-- > 0;) {
        if (s->queue[i].user == input->user) {
            if (s->queue[i].kind != INPUT_MOVE) {
                return false;
            }
            s->queue[i] = *input;
            return true;
        }
    }
    return false;
}

/* Each user has some reserved entries, and may use a quarter of the remaining shared ones
 * (Choudhury and Hahne 1998, dynamic queue length thresholds): one alone gets a fifth of it. */
static bool has_room(const WorldSource *s, const Input *input)
{
    u32 user = input->user % WORLD_USERS_COUNTED;
    u32 shared = s->queued < SHARED_MAX ? (SHARED_MAX - s->queued) / 4 : 0;
    if (s->queued < ORDINARY_MAX && s->waiting[user] < u32_max(shared, OWN_MAX)) {
        return true;
    }
    return input->kind == INPUT_RELEASE && s->queued < WORLD_INPUTS_WAITING_MAX &&
           s->releases[user] < RELEASES_PER_USER_MAX;
}

static void queue_push(WorldSource *s, const Input *input)
{
    u32 user = input->user % WORLD_USERS_COUNTED;
    s->waiting[user]++;
    if (input->kind == INPUT_RELEASE && s->releases[user] < RELEASES_PER_USER_MAX) {
        s->releases[user]++;
    }
    s->queue[s->queued++] = *input;
}

static u32 source_input(Source *source, const Input *inputs, u32 count)
{
    WorldSource *s = from(source);
    u32 taken = 0;
    pthread_mutex_lock(&s->mutex);
    for (; taken < count && !s->status.finished; taken++) {
        if (replaces_move(s, &inputs[taken])) {
            continue;
        }
        if (!has_room(s, &inputs[taken])) {
            break;
        }
        queue_push(s, &inputs[taken]);
    }
    pthread_mutex_unlock(&s->mutex);
    return taken;
}

/* Called with the mutex held. */
static int apply_control(WorldSource *s, u32 user, u32 kind, f64 value)
{
    switch (kind) {
    case CONTROL_PAUSE:
        s->paused = true;
        s->steps = 0;
        return 0;
    case CONTROL_RESUME:
        s->paused = false;
        s->steps = 0;
        return 0;
    case CONTROL_STEP:
        if (!(value >= 1.0 && value <= STEPS_MAX)) {
            return ERROR_RANGE;
        }
        s->paused = true;
        s->steps = u32_min(s->steps + (u32)value, STEPS_MAX);
        return 0;
    case CONTROL_SPEED:
        if (!(value >= 0.01 && value <= 16.0)) {
            return ERROR_RANGE;
        }
        s->speed = value;
        return 0;
    case CONTROL_BACK: {
        f64 ticks = ceil(value * s->scene->tick_rate);
        if (!(ticks >= 1.0 && ticks <= (f64)(s->world_tick - s->oldest_tick))) {
            return ERROR_RANGE;
        }
        s->back = true;
        s->back_tick = s->world_tick - (u64)ticks;
        return 0;
    }
    case CONTROL_RESET:
        s->reset = true;
        s->reset_user = user;
        if (s->paused) {
            s->steps = u32_max(s->steps, 1); /* so that the reset becomes visible */
        }
        return 0;
    default:
        return ERROR_UNSUPPORTED;
    }
}

static int source_control(Source *source, u32 user, u32 kind, f64 value)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    int result = apply_control(s, user, kind, value);
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
    return result;
}

static void source_status(Source *source, SourceStatus *out)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    *out = s->status;
    if (s->recorder != NULL) {
        recorder_report(s->recorder, out);
    }
    if (s->publisher != NULL) {
        PublisherStats published;
        publisher_stats(s->publisher, &published);
        out->broker = (SourceBrokerStatus){.publishing = true,
                                           .failing = published.failing,
                                           .ticks = published.ticks,
                                           .messages = published.messages,
                                           .bytes = published.bytes,
                                           .ticks_lost = published.ticks_lost,
                                           .waiting = published.waiting,
                                           .refused = published.refused,
                                           .lag_s = published.lag_s};
    }
    out->status.back_s = (f32)(s->world_tick - s->oldest_tick) / (f32)s->scene->tick_rate;
    out->status.paused = s->paused;
    out->status.speed = (f32)s->speed;
    pthread_mutex_unlock(&s->mutex);
}

static void source_times(Source *source, SourceTimes *out)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    *out = s->times;
    pthread_mutex_unlock(&s->mutex);
}

static void source_debug_subscribe(Source *source, u32 mask)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    s->debug_mask = mask;
    s->debug_mask_changed = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->mutex);
}

static DebugPicture *source_debug(Source *source)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex);
    DebugPicture *picture = s->picture;
    s->picture = NULL;
    pthread_mutex_unlock(&s->mutex);
    return picture;
}

static void source_keep(Source *source, const u8 *note, u32 bytes)
{
    WorldSource *s = from(source);
    u8 *copy = malloc(u32_max(bytes, 1));
    if (copy == NULL || bytes > WORLD_FILE_NOTE_BYTES_MAX) {
        free(copy);
        return;
    }
    memcpy(copy, note, bytes);
    pthread_mutex_lock(&s->mutex);
    u8 *old = s->note;
    s->note = copy;
    s->note_bytes = bytes;
    pthread_mutex_unlock(&s->mutex);
    free(old);
}

static const u8 *source_kept(Source *source, u32 *bytes)
{
    WorldSource *s = from(source);
    *bytes = (u32)s->from.note_bytes;
    return s->from.note;
}

static int source_note(Source *source, const RecordingNote *note, ErrorText *error)
{
    WorldSource *s = from(source);
    pthread_mutex_lock(&s->mutex); /* the simulation's end takes the recorder away */
    bool recording = s->recorder != NULL;
    if (recording) {
        recorder_note(s->recorder, note);
    }
    pthread_mutex_unlock(&s->mutex);
    return recording ? ERROR_OK
                     : error_set(error, ERROR_STATE, "the session is not being recorded");
}

static void source_destroy(Source *source)
{
    WorldSource *s = from(source);
    if (s->started) {
        pthread_mutex_lock(&s->mutex);
        s->stop = true;
        pthread_cond_signal(&s->changed);
        pthread_mutex_unlock(&s->mutex);
        pthread_join(s->thread, NULL);
    }
    world_source_save_finish(s);
    frame_queue_clear(&s->made);
    recorder_destroy(s->recorder);
    publisher_destroy(s->publisher);
    checkpointer_destroy(s->checkpointer);
    world_file_release(&s->from);
    rewind_finish(&s->rewind);
    free(s->note);
    free(s->save_note);
    world_destroy(s->world);
    jobs_destroy(s->jobs);
    scene_destroy(s->scene);
    entity_list_finish(&s->entities);
    field_set_release(s->fields);
    free(s->scalars);
    free(s->picture);
    free(s->queue);
    free(s->inputs);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->mutex);
    free(s);
}

/* ---- creation ---- */

Source *source_world_create(const char *scene_path, const SourceWorldOptions *options,
                            ErrorText *error)
{
    static const SourceOps ops = {
        .destroy = source_destroy,
        .start = source_start,
        .take = source_take,
        .describe = source_describe,
        .input = source_input,
        .control = source_control,
        .debug_subscribe = source_debug_subscribe,
        .debug = source_debug,
        .note = source_note,
        .status = source_status,
        .times = source_times,
        .save = world_source_save,
        .saved = world_source_saved,
        .loaded = world_source_loaded,
        .keep = source_keep,
        .kept = source_kept,
        .notify = world_source_notify,
        .follower_payload = world_source_follower_payload,
        .follower_answer = world_source_follower_answer,
    };
    WorldSource *s = calloc(1, sizeof *s);
    if (s == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the world source");
        return NULL;
    }
    s->source.ops = &ops;
    s->options = *options;
    s->paused = options->paused;
    s->speed = isfinite(options->speed) && options->speed > 0.0 ? options->speed : 1.0;
    s->cost.weight = 0.05;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->changed, NULL);
    if (world_source_open(s, scene_path, error) != 0) {
        source_destroy(&s->source);
        return NULL;
    }
    return &s->source;
}
