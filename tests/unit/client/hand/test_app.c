/*
 * test_app.c: the whole window over a connection played by the test: mouse and keys produce the
 * right inputs and controls, a role without rights sends nothing, screenshots are written, and a
 * lost connection ends the program with its reason.
 */
#include "client/hand/app.h"
#include "client/link/timeline.h"
#include "client/view/view.h"
#include "protocol/field/frame.h"

#include <SDL2/SDL.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The GL driver holds memory until the process ends: not our leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

enum {
    THINGS = 2, /* ground and a box */
    SENT_MAX = 256
};

/* ---- the scripted connection ---- */

typedef struct Fake {
    Scene scene;
    ScenePrefab prefabs[2];
    FieldSet fields;
    Entity entities[THINGS];
    ShownPose poses[THINGS];
    Role role;
    MessageStatus status;
    ErrorText error;
    u32 polls, steps;
    bool closed;
    void (*step)(u32 step); /* pushes the user's events; called every few polls */
    Input inputs[SENT_MAX];
    u32 input_count;
    ControlKind controls[SENT_MAX];
    f64 control_values[SENT_MAX];
    u32 control_count;
    char said[TEXT_BYTES_MAX];
    MessageSurvey survey;
    u64 bookmark_tick;
    char bookmark[SURVEY_TEXT_BYTES_MAX];
    u32 watched, watches; /* last debug subscription, and the number of requests */
} Fake;

static Fake fake;

ConnectionState connection_state(const Connection *connection)
{
    PL_UNUSED(connection);
    return fake.closed ? CONNECTION_CLOSED : fake.polls < 3 ? CONNECTION_JOINING : CONNECTION_LIVE;
}
u32 connection_queue(const Connection *connection, u32 *waiting)
{
    PL_UNUSED(connection);
    *waiting = 0;
    return 0;
}
const ErrorText *connection_error(const Connection *connection)
{
    PL_UNUSED(connection);
    return &fake.error;
}
void connection_poll(Connection *connection, u64 now_ns)
{
    PL_UNUSED(connection);
    PL_UNUSED(now_ns);
    if (++fake.polls % 3 == 0 && fake.step) {
        fake.step(fake.steps++);
    }
}
const Scene *connection_scene(const Connection *connection)
{
    PL_UNUSED(connection);
    return &fake.scene;
}
const FieldSet *connection_fields(const Connection *connection)
{
    PL_UNUSED(connection);
    return &fake.fields;
}
const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version)
{
    PL_UNUSED(connection);
    *count = THINGS;
    if (version) {
        *version = 1;
    }
    return fake.entities;
}
const Entity *connection_entity(const Connection *connection, u32 id)
{
    PL_UNUSED(connection);
    return id >= 1 && id <= THINGS ? &fake.entities[id - 1] : NULL;
}
const Entity *connection_entity_named(const Connection *connection, const char *name)
{
    PL_UNUSED(connection);
    PL_UNUSED(name);
    return NULL;
}
const ScalarInfo *connection_parameters(const Connection *connection, u32 *count)
{
    PL_UNUSED(connection);
    *count = 0;
    return NULL;
}
const ScalarInfo *connection_probes(const Connection *connection, u32 *count)
{
    return connection_parameters(connection, count);
}
const UserInfo *connection_users(const Connection *connection, u32 *count)
{
    static const UserInfo users[2] = {{1, ROLE_OPERATOR, "me", 0xFFB347, 0, 0},
                                      {2, ROLE_PARTICIPANT, "you", 0x5AB9EA, 20, 1}};
    PL_UNUSED(connection);
    *count = 2;
    return users;
}
const Presence *connection_presences(const Connection *connection, u32 *count)
{
    static const Presence presence = {.user = 2, .cursor_visible = 1, .cursor = {1, 1, 0}};
    PL_UNUSED(connection);
    *count = 1;
    return &presence;
}
const SaveInfo *connection_saves(const Connection *connection, u32 *count)
{
    static const SaveInfo save = {.name = "evening", .unix_s = 1700000000};
    PL_UNUSED(connection);
    *count = 1;
    return &save;
}
const MessageStatus *connection_status(const Connection *connection)
{
    PL_UNUSED(connection);
    return &fake.status;
}
u32 connection_user(const Connection *connection)
{
    PL_UNUSED(connection);
    return 1;
}
Role connection_role(const Connection *connection)
{
    PL_UNUSED(connection);
    return fake.role;
}
u32 connection_tick_rate(const Connection *connection)
{
    PL_UNUSED(connection);
    return 60;
}
u32 connection_worlds(const Connection *connection)
{
    PL_UNUSED(connection);
    return 1;
}
void connection_debug_subscribe(Connection *connection, u32 mask)
{
    PL_UNUSED(connection);
    fake.watched = mask;
    fake.watches++;
}
const DebugPicture *connection_debug(Connection *connection)
{
    static const DebugLine line = {{0, 0, 0}, {0, 1, 0}, DEBUG_LINE_CONTACT};
    static const DebugIsland islands[2] = {{2, 1}, {0xFFFFFF, 1}}; /* the latter no longer exists */
    static const DebugPicture picture = {.tick = 1,
                                         .mask = DEBUG_ALL,
                                         .lines_all = 1,
                                         .lines = &line,
                                         .line_count = 1,
                                         .islands = islands,
                                         .island_count = 2};
    PL_UNUSED(connection);
    return &picture;
}
u32 connection_epoch(const Connection *connection)
{
    PL_UNUSED(connection);
    return 1;
}
bool connection_news(Connection *connection, ConnectionNews *news)
{
    PL_UNUSED(connection);
    PL_UNUSED(news);
    return false;
}
struct Timeline *connection_timeline(Connection *connection)
{
    PL_UNUSED(connection);
    return (struct Timeline *)&fake;
}
u32 connection_input(Connection *connection, const Input *input)
{
    PL_UNUSED(connection);
    if (fake.input_count < SENT_MAX) {
        fake.inputs[fake.input_count++] = *input;
    }
    return fake.input_count;
}
void connection_view(Connection *connection, const SnapshotView *view, Ray cursor, bool visible)
{
    PL_UNUSED(connection);
    PL_UNUSED(cursor);
    PL_UNUSED(visible);
    assert_float_equal(vec3_length(view->forward), 1.0f, 1e-4f);
}
int connection_control(Connection *connection, ControlKind kind, f64 value)
{
    PL_UNUSED(connection);
    fake.controls[fake.control_count] = kind;
    fake.control_values[fake.control_count++] = value;
    return 0;
}
f64 connection_recorded_tick(const Connection *connection, f64 stream_tick)
{
    PL_UNUSED(connection);
    return stream_tick;
}
f64 connection_common_tick(const Connection *connection)
{
    PL_UNUSED(connection);
    return (f64)fake.status.common_tick;
}
const MessageSurvey *connection_survey(const Connection *connection, u32 *version)
{
    PL_UNUSED(connection);
    PL_UNUSED(version);
    return fake.status.replay ? &fake.survey : NULL;
}
int connection_bookmark(Connection *connection, u64 tick, const char *text)
{
    PL_UNUSED(connection);
    fake.bookmark_tick = tick;
    snprintf(fake.bookmark, sizeof fake.bookmark, "%s", text);
    return 0;
}
int connection_chat(Connection *connection, const char *text)
{
    PL_UNUSED(connection);
    snprintf(fake.said, sizeof fake.said, "%s", text);
    return 0;
}
void connection_stats(const Connection *connection, ConnectionStats *stats)
{
    PL_UNUSED(connection);
    memset(stats, 0, sizeof *stats);
}
f64 timeline_tick(const Timeline *timeline)
{
    PL_UNUSED(timeline);
    return 100.0;
}

f64 timeline_tick_of(const Timeline *timeline, u32 field, u32 element)
{
    PL_UNUSED(field);
    PL_UNUSED(element);
    PL_UNUSED(timeline);
    return 100.0;
}
f64 timeline_delay_s(const Timeline *timeline)
{
    PL_UNUSED(timeline);
    return 0.05;
}
f64 timeline_starved(const Timeline *timeline)
{
    PL_UNUSED(timeline);
    return 0.0;
}
bool timeline_holding(const Timeline *timeline)
{
    PL_UNUSED(timeline);
    return false;
}
void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    memcpy(poses, fake.poses, sizeof fake.poses);
}
void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(points);
}
u64 timeline_phase(const Timeline *timeline, u32 field, u32 element)
{
    (void)timeline;
    (void)field;
    (void)element;
    return 1;
}

void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(first);
    memset(points, 0, count * sizeof *points);
}
bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(scalars);
    return true;
}
bool timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(channel);
    PL_UNUSED(values);
    return false;
}
bool timeline_cell(const Timeline *timeline, u32 field, u32 channel, u32 element, f32 *value)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(channel);
    PL_UNUSED(element);
    PL_UNUSED(value);
    return false;
}
bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    *pose = fake.poses[element];
    return true;
}
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    PL_UNUSED(timeline);
    PL_UNUSED(field);
    PL_UNUSED(element);
    PL_UNUSED(point);
    return false;
}

/* ---- the scripted user ---- */

enum {
    WIDTH = 320,
    HEIGHT = 180
};

static void user_moves(i32 x, i32 y)
{
    SDL_Event event = {0};
    event.type = SDL_MOUSEMOTION;
    event.motion.x = x;
    event.motion.y = y;
    event.motion.xrel = event.motion.yrel = 1;
    SDL_PushEvent(&event);
}
static void user_presses(u8 button, bool down)
{
    SDL_Event event = {0};
    event.type = down ? SDL_MOUSEBUTTONDOWN : SDL_MOUSEBUTTONUP;
    event.button.button = button;
    SDL_PushEvent(&event);
}
static void user_types(SDL_Keycode key, u16 modifiers)
{
    SDL_Event event = {0};
    event.type = SDL_KEYDOWN;
    event.key.keysym.sym = key;
    event.key.keysym.scancode = SDL_GetScancodeFromKey(key);
    event.key.keysym.mod = modifiers;
    SDL_PushEvent(&event);
    event.type = SDL_KEYUP;
    SDL_PushEvent(&event);
}

static void user_writes(const char *text)
{
    SDL_Event event = {.text = {.type = SDL_TEXTINPUT}};
    snprintf(event.text.text, sizeof event.text.text, "%s", text);
    SDL_PushEvent(&event);
}

/* Drags the box in the middle of the picture upwards, pushes it, spawns, removes, and presses
 * keys. */
static void play_all(u32 step)
{
    switch (step) {
    case 1:
        user_moves(WIDTH / 2, HEIGHT / 2);
        break;
    case 2:
        user_presses(SDL_BUTTON_LEFT, true);
        break;
    case 3:
        user_moves(WIDTH / 2, HEIGHT / 2 - 40);
        break;
    case 5:
        user_presses(SDL_BUTTON_LEFT, false);
        break;
    case 6:
        user_moves(WIDTH / 2, HEIGHT / 2);
        break;
    case 7:
        user_presses(SDL_BUTTON_RIGHT, true);
        user_presses(SDL_BUTTON_RIGHT, false);
        break;
    case 8:
        user_types(SDLK_2, 0);
        user_types(SDLK_n, 0);
        user_types(SDLK_DELETE, 0);
        break;
    case 9:
        user_types(SDLK_F2, 0);
        user_types(SDLK_F3, 0);
        user_types(SDLK_F4, 0);
        user_types(SDLK_F5, 0);
        user_types(SDLK_F6, 0); /* sends no request */
        user_types(SDLK_F3, 0); /* and no more of these */
        user_types(SDLK_SPACE, 0);
        user_types(SDLK_PERIOD, 0);
        user_types(SDLK_LEFTBRACKET, 0);
        user_types(SDLK_r, 0); /* not without Ctrl */
        user_types(SDLK_r, KMOD_LCTRL);
        user_types(SDLK_RETURN, 0);
        break;
    case 11:
        user_writes("hi n");
        break;
    case 13:
        user_types(SDLK_RETURN, 0);
        break;
    case 15:
        fake.closed = true;
        break;
    default:
        break;
    }
}

static void user_presses_at(i32 x, i32 y, bool down)
{
    SDL_Event event = {0};
    event.type = down ? SDL_MOUSEBUTTONDOWN : SDL_MOUSEBUTTONUP;
    event.button.button = SDL_BUTTON_LEFT;
    event.button.x = x;
    event.button.y = y;
    SDL_PushEvent(&event);
}

/* In a recording: keys, a press in the middle of the timeline, a named bookmark. */
static void play_replay(u32 step)
{
    static const i32 track_y = HEIGHT - 30;
    switch (step) {
    case 1:
        user_types(SDLK_j, 0);
        user_types(SDLK_k, 0);
        user_types(SDLK_LEFT, 0);
        user_types(SDLK_RIGHT, KMOD_LCTRL);
        user_types(SDLK_END, KMOD_LCTRL);
        break;
    case 3:
        user_moves(WIDTH / 2, track_y);
        break;
    case 5:
        user_presses_at(WIDTH / 2, track_y, true);
        break;
    case 6:
        user_presses_at(WIDTH / 2, track_y, false);
        break;
    case 9:
        user_types(SDLK_b, 0);
        break;
    case 12:
        user_writes("crash");
        break;
    case 14:
        user_types(SDLK_RETURN, 0);
        break;
    case 16:
        fake.closed = true;
        break;
    default:
        break;
    }
}

/* Clicks twice at places below each other, from where the saves may begin, until a world is loaded;
 * then to the right, until it is removed. */
static struct {
    i32 x, y;
    bool hasty, loads, removes; /* hasty: one click was enough */
} saves;

static void play_saves(u32 step)
{
    enum {
        APART = 8,
        LARGE = 480,
    };
    if (step == 0) {
        user_types(SDLK_TAB, 0); /* the panels, which a small window hides */
    }
    switch (step % 7) {
    case 0:
        saves.loads = saves.loads || strcmp(fake.said, "/load evening") == 0;
        saves.removes = strcmp(fake.said, "/unsave evening") == 0;
        fake.said[0] = 0;
        *(saves.loads ? &saves.x : &saves.y) += APART;
        fake.closed = saves.removes || saves.y > LARGE || saves.x > LARGE;
        user_moves(saves.x, saves.y);
        break;
    case 2:
    case 5:
        saves.hasty = saves.hasty || fake.said[0] != 0;
        user_presses_at(saves.x, saves.y, true);
        break;
    case 3:
    case 6:
        user_presses_at(saves.x, saves.y, false);
        break;
    default:
        break;
    }
}

/* Types a name into the line for it, and taps Enter within a frame. */
static void play_save_line(u32 step)
{
    static const i32 line_x = 480 - 230, line_y = 122;
    SDL_Event event = {.type = SDL_TEXTINPUT};
    switch (step) {
    case 1:
        user_types(SDLK_TAB, 0);
        user_moves(line_x, line_y);
        break;
    case 4:
    case 5:
        user_presses_at(line_x, line_y, step == 4);
        break;
    case 8:
        snprintf(event.text.text, sizeof event.text.text, "noon");
        SDL_PushEvent(&event);
        break;
    case 10:
        user_types(SDLK_RETURN, 0);
        break;
    case 13:
        fake.closed = true;
        break;
    default:
        break;
    }
}

static void play_closing(u32 step)
{
    fake.closed = step >= 1;
}

static void fake_reset(Role role, void (*step)(u32))
{
    memset(&fake, 0, sizeof fake);
    fake.role = role;
    fake.step = step;
    fake.status.speed = 1.0f;
    fake.scene.camera.eye = vec3(0, 2, 6);
    fake.scene.camera.target = vec3(0, 0.5f, 0);
    fake.scene.camera.fov_degrees = 50;
    fake.scene.bounds = (Bounds){{-9, -9, -9}, {9, 9, 9}};
    fake.scene.sky.sun = vec3_normalize_or(vec3(0.3f, 0.8f, 0.6f), vec3(0, 1, 0));
    for (u32 i = 0; i < 3; i++) {
        fake.scene.sky.top[i] = 0.4f;
        fake.scene.sky.horizon[i] = 0.7f;
    }
    fake.scene.prefabs = fake.prefabs;
    fake.scene.prefab_count = 2;
    fake.scene.hands.impulse_max = 10.0f;
    for (u32 i = 0; i < 2; i++) {
        fake.prefabs[i].body.shape.kind = SHAPE_SPHERE;
        fake.prefabs[i].body.shape.radius = 0.25f;
    }
    fake.fields.count = 1;
    fake.fields.fields[0].kind = FIELD_POSES;
    fake.fields.fields[0].channels = 1;
    fake.fields.fields[0].capacity = THINGS;
    for (u32 i = 0; i < THINGS; i++) {
        Entity *entity = &fake.entities[i];
        entity->id = i + 1;
        entity->first = i;
        entity->count = 1;
        entity->generation = 1;
        entity->appearance.kind = APPEARANCE_SHAPE;
        entity->appearance.color[3] = 1.0f;
        entity->appearance.color[i] = 0.6f;
        entity->appearance.shape.kind = i == 0 ? SHAPE_PLANE : SHAPE_BOX;
        entity->appearance.shape.half = vec3(0.5f, 0.5f, 0.5f);
        ShownPose pose = {vec3(0, i == 0 ? 0.0f : 0.5f, 0), quat_identity(), POSE_LIVE, 1};
        fake.poses[i] = pose;
    }
    fake.entities[1].movable = 1;
    fake.entities[1].mass_kg = 1.0f;
    error_set(&fake.error, ERROR_NETWORK, "the server is gone");
}

static u32 sent(u32 kind)
{
    u32 count = 0;
    for (u32 i = 0; i < fake.input_count; i++) {
        count += fake.inputs[i].kind == kind;
    }
    return count;
}

static const Input *last(u32 kind)
{
    const Input *found = NULL;
    for (u32 i = 0; i < fake.input_count; i++) {
        found = fake.inputs[i].kind == kind ? &fake.inputs[i] : found;
    }
    assert_non_null(found);
    return found;
}

/* The offscreen driver treated as a window: every frame is drawn and events are handled. */
static int run_window(ErrorText *error)
{
    setenv("SDL_VIDEODRIVER", "offscreen", 1);
    AppOptions options = {.width = WIDTH, .height = HEIGHT, .title = "test", .hud = true};
    return app_run(NULL, &options, error);
}

static void test_user_becomes_inputs(void **state)
{
    (void)state;
    ErrorText error = {0};
    fake_reset(ROLE_OPERATOR, play_all);
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    assert_string_equal(error.text, "the server is gone");
    assert_int_equal(sent(INPUT_GRAB), 1);
    assert_int_equal(last(INPUT_GRAB)->entity, 2);
    assert_true(sent(INPUT_MOVE) >= 1);
    /* 40 of 180 pixels up, at the depth of the box: above its former position, at the same
     * distance. */
    Vec3 target = last(INPUT_MOVE)->target;
    assert_true(target.y > 1.3f && target.y < 2.6f);
    assert_float_equal(target.x, 0.0f, 0.05f);
    assert_int_equal(sent(INPUT_RELEASE), 1);
    assert_int_equal(sent(INPUT_PUSH), 1);
    assert_true(last(INPUT_PUSH)->vector.z < -0.5f);
    assert_int_equal(sent(INPUT_SPAWN), 1);
    assert_int_equal(last(INPUT_SPAWN)->index, 1);
    assert_true(last(INPUT_SPAWN)->target.z > 0.6f);
    assert_int_equal(sent(INPUT_REMOVE), 1);
    static const ControlKind expected[4] = {CONTROL_PAUSE, CONTROL_STEP, CONTROL_SPEED,
                                            CONTROL_RESET};
    assert_int_equal(fake.control_count, 4);
    assert_memory_equal(fake.controls, expected, sizeof expected);
    assert_float_equal(fake.control_values[2], 0.5, 1e-6);
    assert_string_equal(fake.said, "hi n");
    assert_int_equal(fake.watched, DEBUG_CONTACTS | DEBUG_ISLANDS | DEBUG_BOXES);
    for (u32 i = 0; i < fake.input_count; i++) {
        assert_int_equal(input_check(&fake.inputs[i]), 0);
    }
}

static void test_viewer_sends_nothing(void **state)
{
    (void)state;
    ErrorText error = {0};
    fake_reset(ROLE_VIEWER, play_all);
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    assert_int_equal(fake.input_count, 0);
    assert_int_equal(fake.control_count, 0);
    assert_string_equal(fake.said, "hi n");
}

static void fake_recording(Role role)
{
    fake_reset(role, play_replay);
    fake.status.replay = fake.status.seekable = 1;
    fake.status.last_tick = 1000;
    fake.survey.last_tick = 1000;
}

static void test_recording(void **state)
{
    (void)state;
    ErrorText error = {0};
    fake_recording(ROLE_OPERATOR);
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    static const ControlKind expected[] = {CONTROL_SPEED, CONTROL_RESUME, CONTROL_PAUSE,
                                           CONTROL_STEP,  CONTROL_SEEK,   CONTROL_SEEK,
                                           CONTROL_PAUSE, CONTROL_SEEK,   CONTROL_RESUME};
    assert_int_equal(fake.control_count, PL_COUNT(expected));
    assert_memory_equal(fake.controls, expected, sizeof expected);
    assert_float_equal(fake.control_values[0], -1.0, 1e-9);
    assert_float_equal(fake.control_values[3], -1.0, 1e-9);
    assert_float_equal(fake.control_values[4], 160.0 / 60.0, 1e-9); /* the picture is at 100 */
    assert_float_equal(fake.control_values[5], 1000.0 / 60.0, 1e-9);
    assert_float_equal(fake.control_values[7], 500.0 / 60.0, 0.1);
    assert_string_equal(fake.bookmark, "crash");
    assert_int_equal(fake.bookmark_tick, 100);
    assert_int_equal(fake.input_count, 0);
    fake_recording(ROLE_VIEWER); /* sees the timeline, and moves nothing */
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    assert_int_equal(fake.control_count, 0);
    assert_string_equal(fake.bookmark, "");

    /* Who left the common time moves his own as operators move that one. */
    fake_recording(ROLE_PARTICIPANT);
    fake.status.own_time = OWN_TIME_OFFERED;
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    assert_int_equal(fake.control_count, 0);
    fake_recording(ROLE_PARTICIPANT);
    fake.status.own_time = OWN_TIME_AWAY;
    assert_int_equal(run_window(&error), EXIT_NETWORK);
    assert_int_equal(fake.control_count, PL_COUNT(expected));
    assert_memory_equal(fake.controls, expected, sizeof expected);
}

static void play_own_time(u32 step)
{
    if (step == 1) {
        user_types(SDLK_o, 0);
        user_types(SDLK_DELETE, 0); /* still not his to do */
    } else if (step == 6) {
        fake.closed = true;
    }
}

static void test_own_time(void **state)
{
    (void)state;
    static const OwnTime times[] = {OWN_TIME_OFFERED, OWN_TIME_AWAY};
    static const ControlKind expected[] = {CONTROL_LEAVE, CONTROL_RETURN};
    ErrorText error = {0};
    for (u32 i = 0; i < 2; i++) {
        fake_recording(ROLE_PARTICIPANT);
        fake.step = play_own_time;
        fake.status.own_time = times[i];
        fake.status.common_tick = 700;
        assert_int_equal(run_window(&error), EXIT_NETWORK);
        assert_int_equal(fake.control_count, 1);
        assert_int_equal(fake.controls[0], expected[i]);
        assert_int_equal(fake.input_count, 0);
    }
}

/* What loading replaces and removing deletes does not come back. */
static void test_saves_ask(void **state)
{
    (void)state;
    ErrorText error = {0};
    fake_reset(ROLE_OPERATOR, play_saves);
    memset(&saves, 0, sizeof saves);
    saves.x = 480 - 260;
    saves.y = 80;
    AppOptions options = {.width = 480, .height = 320, .title = "test", .hud = true};
    setenv("SDL_VIDEODRIVER", "offscreen", 1);
    assert_int_equal(app_run(NULL, &options, &error), EXIT_NETWORK);
    assert_true(saves.loads && saves.removes);
    assert_false(saves.hasty);
    fake_reset(ROLE_OPERATOR, play_save_line);
    assert_int_equal(app_run(NULL, &options, &error), EXIT_NETWORK);
    assert_string_equal(fake.said, "/save noon");
}

static void test_screenshot_offscreen(void **state)
{
    (void)state;
    char path[64];
    snprintf(path, sizeof path, "/tmp/plenum-test-app-%d.png", (int)getpid());
    for (u32 hud = 0; hud < 2; hud++) {
        AppOptions options = {.width = WIDTH,
                              .height = HEIGHT,
                              .offscreen = true,
                              .screenshot = path,
                              .screenshot_at_s = 0.3,
                              .hud = hud == 1};
        ErrorText error = {0};
        fake_reset(ROLE_VIEWER, NULL);
        assert_int_equal(app_run(NULL, &options, &error), EXIT_OK);
        u32 width, height;
        u8 *rgb = png_read(path, &width, &height, &error);
        assert_non_null(rgb);
        assert_int_equal(width, WIDTH);
        assert_int_equal(height, HEIGHT);
        const u8 *c = rgb + 3 * (HEIGHT / 2 * WIDTH + WIDTH / 2);
        assert_true(c[1] > c[0] + 30 && c[1] > c[2] + 30); /* the box */
        /* The first panel darkens the sky in the corner. */
        const u8 *corner = rgb + 3 * (40 * WIDTH + 16);
        assert_true(hud ? corner[0] < 110 : corner[0] > 140);
        free(rgb);
        unlink(path);
    }
    AppOptions options = {.width = WIDTH,
                          .height = HEIGHT,
                          .offscreen = true,
                          .screenshot = "/nowhere/at/all.png",
                          .screenshot_at_s = 0.0};
    ErrorText error = {0};
    fake_reset(ROLE_VIEWER, NULL);
    assert_int_equal(app_run(NULL, &options, &error), EXIT_CHECK_FAILED);
    assert_non_null(strstr(error.text, "/nowhere/at/all.png"));
}

static void test_lost_connection_ends(void **state)
{
    (void)state;
    ErrorText error = {0};
    fake_reset(ROLE_VIEWER, play_closing);
    AppOptions options = {.width = WIDTH, .height = HEIGHT, .offscreen = true};
    assert_int_equal(app_run(NULL, &options, &error), EXIT_NETWORK);
    assert_string_equal(error.text, "the server is gone");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_becomes_inputs),
        cmocka_unit_test(test_viewer_sends_nothing),
        cmocka_unit_test(test_recording),
        cmocka_unit_test(test_own_time),
        cmocka_unit_test(test_saves_ask),
        cmocka_unit_test(test_screenshot_offscreen),
        cmocka_unit_test(test_lost_connection_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
