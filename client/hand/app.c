/*
 * app.c: the interactive client: one loop that polls the connection, handles events, moves the
 * camera, updates the grab and draws. Without a window it polls at 60 Hz and draws only around the
 * time of the screenshot.
 */
#include "client/hand/app.h"

#include "client/hand/camera.h"
#include "client/hand/debug_overlay.h"
#include "client/hand/keymap.h"
#include "client/hand/panels.h"
#include "client/hand/time_keys.h"
#include "client/hand/tools.h"
#include "client/link/shown.h"
#include "client/link/strain.h"
#include "client/view/view.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <SDL2/SDL.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_NS        16666667ull
#define CLICK_PX        4.0f /* a press with less motion is a click */
#define PUSH_FULL_S     1.0  /* time to full push strength */
#define WARM_UP_S       0.25 /* offscreen: drawing starts this long before the screenshot */
#define WARM_UP_FRAMES  4    /* shaders compile in the first, panels settle by the third */
#define PANELS_WIDTH    900  /* px: narrower pictures start without the side panel */
#define WORLD_TIMEOUT_S 20.0 /* added to the duration, in case no world arrives */

typedef struct KeyBinding {
    Action action;
    SDL_Keycode key;
    bool control;
    Role role;
    const char *what;
} KeyBinding;

static const KeyBinding bindings[] = {
#define GROUP(title)
#define MOUSE(shown, what)
#define KEY(action, key, control, role, shown, what) {action, key, control, role, what},
#include "client/hand/keymap.def"
#undef KEY
#undef MOUSE
#undef GROUP
};

typedef enum Drag {
    DRAG_NONE,
    DRAG_HAND,
    DRAG_ORBIT
} Drag;

typedef struct App {
    Connection *connection;
    const AppOptions *options;
    View *view;
    Panels *panels; /* NULL: no HUD */
    Hud *hud;
    Tools *tools;
    DebugOverlay overlay;
    Strain *strain; /* NULL: out of memory, bodies are drawn without strain limiting */
    CameraRig rig;
    bool world_seen, script_looked;
    Vec3 script_eye, script_target;
    u64 start_ns, world_ns, frame_ns; /* frame_ns: start of the last frame */
    f32 mouse_x, mouse_y;             /* px */
    bool mouse_inside;
    Drag drag;
    u32 drag_button;
    f32 drag_moved_px;
    u64 right_ns; /* time of the right button press */
    void *shown[FIELDS_MAX];
    size_t shown_bytes[FIELDS_MAX];
    const ShownPose *poses[FIELDS_MAX];
    const ShownPoint *points[FIELDS_MAX];
    ShownGrid grids[FIELDS_MAX];
    u32 frames; /* frames drawn with a world */
    bool shot, quit;
} App;

static Ray app_ray(const App *app)
{
    u32 width, height;
    view_size(app->view, &width, &height);
    Camera camera = rig_camera(&app->rig);
    return camera_ray(&camera, width, height, app->mouse_x, app->mouse_y);
}

/* ---- doing things ---- */

static void app_sent(App *app, int result)
{
    if (result != 0) {
        hud_toast(app->hud, 0xFFC857, "the input could not be sent");
    }
}

/* Keys refer to the object under the cursor now, not at the time of the last frame. */
static void app_hover(App *app)
{
    bool over_panel = app->panels && panels_want_mouse(app->panels);
    app->tools->hover.entity = 0;
    if (app->mouse_inside && !over_panel && app->drag == DRAG_NONE) {
        tools_hover(app->tools, app_ray(app));
    }
}

static void app_focus(App *app)
{
    app_hover(app);
    u32 entity = app->tools->hand.grabbed ? app->tools->hand.grabbed : app->tools->hover.entity;
    Vec3 centre;
    f32 radius;
    if (entity && tools_entity_place(app->tools, entity, &centre, &radius)) {
        /* For infinite shapes, look at the hit point instead. */
        const Entity *what = connection_entity(app->connection, entity);
        bool plane = what && what->appearance.shape.kind == SHAPE_PLANE;
        rig_focus(&app->rig, plane ? app->tools->hover.point : centre, radius);
    }
}

static void app_home(App *app)
{
    const SceneCamera *home = &connection_scene(app->connection)->camera;
    rig_look(&app->rig, home->eye, home->target, false);
}

static void app_spawn(App *app)
{
    if (!tools_spawn(app->tools, app_ray(app))) {
        hud_toast(app->hud, 0xFFC857, "nothing to spawn here");
    }
}

static void app_debug_overlay(App *app, u32 bit)
{
    debug_overlay_show(&app->overlay, app->overlay.show ^ bit);
    hud_toast(app->hud, 0x8FD0FF, "%s: %s", debug_overlay_name(bit),
              app->overlay.show & bit ? "shown" : "hidden");
}

static void app_act(App *app, Action action)
{
    Hud *hud = app->hud;
    int result = 0;
    if (time_key(app->connection, hud, action, &result)) {
        app_sent(app, result);
        return;
    }
    switch (action) {
    case ACTION_HELP:
        hud->show_help = !hud->show_help;
        break;
    case ACTION_PANELS:
        hud->show_panels = !hud->show_panels;
        break;
    case ACTION_CHAT:
        hud->chatting = app->panels != NULL;
        break;
    case ACTION_SPAWN:
        app_spawn(app);
        break;
    case ACTION_REMOVE:
        app_hover(app);
        tools_remove(app->tools);
        break;
    case ACTION_FOCUS:
        app_focus(app);
        break;
    case ACTION_HOME:
        app_home(app);
        break;
    case ACTION_CONTACTS:
        app_debug_overlay(app, DEBUG_CONTACTS);
        break;
    case ACTION_JOINTS:
        app_debug_overlay(app, DEBUG_JOINTS);
        break;
    case ACTION_ISLANDS:
        app_debug_overlay(app, DEBUG_ISLANDS);
        break;
    case ACTION_BOXES:
        app_debug_overlay(app, DEBUG_BOXES);
        break;
    case ACTION_SLEEP:
        app_debug_overlay(app, OVERLAY_SLEEP);
        break;
    case ACTION_POINTS:
        app_debug_overlay(app, OVERLAY_POINTS);
        break;
    case ACTION_BOOKMARK:
        hud->bookmarking = app->panels != NULL && hud->status.replay;
        break;
    default:
        break;
    }
}

/* ---- user input ---- */

static bool app_live(const App *app)
{
    return connection_state(app->connection) == CONNECTION_LIVE && app->world_seen;
}

static void app_key(App *app, const SDL_KeyboardEvent *event)
{
    if (!app_live(app)) {
        return;
    }
    SDL_Keycode key = event->keysym.sym;
    if (key >= SDLK_1 && key <= SDLK_9) {
        u32 prefab = (u32)(key - SDLK_1);
        if (prefab < connection_scene(app->connection)->prefab_count) {
            app->tools->prefab = prefab;
        }
        return;
    }
    bool control = (event->keysym.mod & KMOD_CTRL) != 0;
    for (u32 i = 0; i < PL_COUNT(bindings); i++) {
        const KeyBinding *binding = &bindings[i];
        /* Key repeat is used only for stepping. */
        bool steps = binding->action == ACTION_STEP || binding->action == ACTION_STEP_ON ||
                     binding->action == ACTION_STEP_BACK;
        bool wanted = !event->repeat || steps;
        if (binding->key != key || binding->control != control || !wanted) {
            continue;
        }
        bool own = time_key_moves(binding->action) && hud_moves_time(app->hud);
        if (app->hud->role < binding->role && !own) {
            hud_toast(app->hud, 0xFFC857, "only for %ss: %s", role_name(binding->role),
                      binding->what);
        } else {
            app_act(app, binding->action);
        }
    }
}

static void app_button_down(App *app, const SDL_MouseButtonEvent *event)
{
    if (app->drag != DRAG_NONE || !app_live(app)) {
        return;
    }
    app->drag_button = event->button;
    app->drag_moved_px = 0.0f;
    app->drag = DRAG_ORBIT;
    bool alt = (SDL_GetModState() & KMOD_ALT) != 0;
    if (event->button == SDL_BUTTON_LEFT && !alt && app->hud->role >= ROLE_PARTICIPANT) {
        Camera camera = rig_camera(&app->rig);
        app->drag = tools_grab(app->tools, &camera, app_ray(app)) ? DRAG_HAND : DRAG_ORBIT;
    } else if (event->button == SDL_BUTTON_RIGHT) {
        app->right_ns = app->frame_ns;
    }
    SDL_CaptureMouse(SDL_TRUE);
}

static void app_button_up(App *app, const SDL_MouseButtonEvent *event)
{
    if (app->drag == DRAG_NONE || event->button != app->drag_button) {
        return;
    }
    bool click = app->drag_moved_px < CLICK_PX && app_live(app);
    if (app->drag == DRAG_HAND) {
        tools_release(app->tools);
    } else if (click && event->button == SDL_BUTTON_RIGHT && app->hud->role >= ROLE_PARTICIPANT) {
        f64 held_s = (f64)(clock_now_ns() - app->right_ns) / 1e9;
        tools_push(app->tools, app_ray(app), (f32)(0.25 + held_s / PUSH_FULL_S));
    } else if (click && event->button == SDL_BUTTON_MIDDLE && app->hud->role >= ROLE_PARTICIPANT) {
        app_spawn(app);
    }
    app->drag = DRAG_NONE;
    SDL_CaptureMouse(SDL_FALSE);
}

static void app_motion(App *app, const SDL_MouseMotionEvent *event)
{
    app->mouse_x = (f32)event->x;
    app->mouse_y = (f32)event->y;
    app->mouse_inside = true;
    app->drag_moved_px += (f32)(abs(event->xrel) + abs(event->yrel));
    if (app->drag == DRAG_ORBIT && app->drag_moved_px >= CLICK_PX) {
        u32 width, height;
        view_size(app->view, &width, &height);
        if (SDL_GetModState() & KMOD_SHIFT) {
            rig_pan(&app->rig, (f32)event->xrel, (f32)event->yrel, height);
        } else {
            rig_orbit(&app->rig, (f32)event->xrel, (f32)event->yrel);
        }
    }
}

static void app_event(App *app, const SDL_Event *event)
{
    if (event->type == SDL_QUIT) {
        app->quit = true;
        return;
    }
    if (app->panels && panels_event(app->panels, event)) {
        return;
    }
    switch (event->type) {
    case SDL_KEYDOWN:
        app_key(app, &event->key);
        break;
    case SDL_MOUSEBUTTONDOWN:
        app_button_down(app, &event->button);
        break;
    case SDL_MOUSEBUTTONUP:
        app_button_up(app, &event->button);
        break;
    case SDL_MOUSEMOTION:
        app_motion(app, &event->motion);
        break;
    case SDL_MOUSEWHEEL:
        if (app->drag == DRAG_HAND) {
            tools_reach(app->tools, event->wheel.preciseY);
        } else {
            rig_zoom(&app->rig, event->wheel.preciseY);
        }
        break;
    case SDL_WINDOWEVENT:
        if (event->window.event == SDL_WINDOWEVENT_LEAVE) {
            app->mouse_inside = false;
        }
        break;
    default:
        break;
    }
}

static void app_fly(App *app, f32 dt_s)
{
    const Uint8 *keys = SDL_GetKeyboardState(NULL);
    if ((app->panels && panels_want_keys(app->panels)) || (SDL_GetModState() & KMOD_CTRL)) {
        return;
    }
    Vec3 way = vec3((f32)keys[SDL_SCANCODE_D] - (f32)keys[SDL_SCANCODE_A],
                    (f32)keys[SDL_SCANCODE_E] - (f32)keys[SDL_SCANCODE_Q],
                    (f32)keys[SDL_SCANCODE_W] - (f32)keys[SDL_SCANCODE_S]);
    if (vec3_length_squared(way) > 0.0f) {
        rig_fly(&app->rig, way, dt_s, (SDL_GetModState() & KMOD_SHIFT) != 0);
    }
}

/* ---- the world ---- */

static f64 app_world_s(const App *app, u64 now_ns)
{
    bool after = app->world_seen && now_ns > app->world_ns;
    return after ? (f64)(now_ns - app->world_ns) / 1e9 : 0.0;
}

/* Polls the connection and runs the script. Called at least at 60 Hz. */
static void app_poll(App *app)
{
    u64 now_ns = clock_now_ns();
    connection_poll(app->connection, now_ns);
    if (connection_state(app->connection) != CONNECTION_LIVE) {
        return;
    }
    if (!app->world_seen) {
        app->world_seen = true;
        app->world_ns = now_ns;
        rig_init(&app->rig, &connection_scene(app->connection)->camera);
    }
    if (app->options->script) {
        script_step(app->options->script, app->connection, &app->tools->hand,
                    app_world_s(app, now_ns));
        Vec3 eye, target;
        if (script_camera(app->options->script, &eye, &target) &&
            (!app->script_looked || vec3_distance(eye, app->script_eye) > 0.0f ||
             vec3_distance(target, app->script_target) > 0.0f)) {
            rig_look(&app->rig, eye, target, app->options->offscreen);
            app->script_looked = true;
            app->script_eye = eye;
            app->script_target = target;
        }
    }
    hand_step(&app->tools->hand, now_ns);
}

/* Sends the camera and the cursor ray to the server. */
static void app_send_view(App *app)
{
    Camera camera = rig_camera(&app->rig);
    SnapshotView sight;
    memset(&sight, 0, sizeof sight);
    sight.eye = camera.eye;
    sight.forward = vec3_normalize_or(vec3_sub(camera.target, camera.eye), vec3(0, 0, -1.0f));
    sight.pixels_per_radian = (f32)app->options->height / camera.fov_y;
    Ray cursor = {camera.eye, sight.forward};
    bool visible = app->view && app->mouse_inside;
    if (visible) {
        cursor = app_ray(app);
    }
    connection_view(app->connection, &sight, cursor, visible);
}

/* Before drag prediction, which may stretch the grabbed body. */
static void app_limit(App *app, u32 field, ShownPoint *points)
{
    u32 count;
    u64 version;
    const Entity *entities = connection_entities(app->connection, &count, &version);
    if (app->strain != NULL) {
        strain_update(app->strain, connection_scene(app->connection), entities, count, version,
                      connection_worlds(app->connection));
        strain_limit(app->strain, connection_timeline(app->connection), field, points);
    }
}

static void app_take_poses(App *app, u32 f, const FieldDesc *field, bool whole)
{
    PL_UNUSED(field);
    PL_UNUSED(whole);
    hand_show_poses(&app->tools->hand, f, app->shown[f]);
    app->poses[f] = app->shown[f];
}

static void app_take_points(App *app, u32 f, const FieldDesc *field, bool whole)
{
    PL_UNUSED(field);
    PL_UNUSED(whole);
    app_limit(app, f, app->shown[f]);
    hand_show_points(&app->tools->hand, f, app->shown[f]);
    app->points[f] = app->shown[f];
}

static void app_take_grid(App *app, u32 f, const FieldDesc *field, bool whole)
{
    app->grids[f] = shown_grid(field, whole ? app->shown[f] : NULL);
}

/* Interpolated states of all fields into the arrays of the picture; false: out of memory. */
static bool app_fetch_fields(App *app, const FieldSet *fields)
{
    static void (*const takes[FIELD_KIND_COUNT])(App *, u32, const FieldDesc *, bool) = {
        [FIELD_POSES] = app_take_poses,
        [FIELD_POINTS] = app_take_points,
        [FIELD_GRID2] = app_take_grid,
        [FIELD_GRID3] = app_take_grid,
    };
    const Timeline *timeline = connection_timeline(app->connection);
    memset(app->poses, 0, sizeof app->poses);
    memset(app->points, 0, sizeof app->points);
    memset(app->grids, 0, sizeof app->grids);
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        const ShownOps *ops = shown_ops(field->kind);
        if (takes[field->kind] == NULL) {
            continue;
        }
        size_t bytes = (size_t)ops->bytes * field->channels * field->capacity;
        if (bytes > app->shown_bytes[f]) {
            void *grown = realloc(app->shown[f], bytes);
            if (!grown) {
                return false;
            }
            app->shown[f] = grown;
            app->shown_bytes[f] = bytes;
        }
        bool whole = ops->fill(timeline, f, field, app->shown[f]);
        takes[field->kind](app, f, field, whole);
    }
    return true;
}

/* ---- drawing ---- */

static void app_labels(App *app, const Camera *camera, u32 width, u32 height)
{
    Hud *hud = app->hud;
    hud->label_count = 0;
    for (u32 i = 0; i < app->tools->label_count && i < PL_COUNT(hud->labels); i++) {
        const Label *label = &app->tools->labels[i];
        HudLabel *out = &hud->labels[hud->label_count];
        if (camera_project(camera, width, height, label->at, &out->x, &out->y)) {
            out->text = label->text;
            out->color = label->color;
            hud->label_count++;
        }
    }
}

static bool any_smoke_is_dyed(const Scene *scene)
{
    bool any = false;
    for (u32 i = 0; scene != NULL && i < scene->smoke_count; i++) {
        any = any || scene->smokes[i].dyed;
    }
    return any;
}

static void app_draw_world(App *app)
{
    u32 width, height;
    view_size(app->view, &width, &height);
    Camera camera = rig_camera(&app->rig);
    Tools *tools = app->tools;
    tools->hover.entity = 0;
    bool over_panel = app->panels && panels_want_mouse(app->panels);
    if (app->mouse_inside && !over_panel && app->drag != DRAG_ORBIT) {
        if (app->drag == DRAG_HAND) {
            tools_drag(tools, &camera, app_ray(app));
        } else {
            tools_hover(tools, app_ray(app));
        }
    }
    /* The cursor moved since the last poll: update the drag prediction. */
    hand_step(&tools->hand, clock_now_ns());
    const FieldSet *fields = connection_fields(app->connection);
    if (!app_fetch_fields(app, fields)) {
        return;
    }
    tools_draw(tools);
    app_labels(app, &camera, width, height);
    const Entity *hovered =
        tools->hover.entity ? connection_entity(app->connection, tools->hover.entity) : NULL;
    app->hud->hovered = hovered ? hovered->name : NULL;
    app->hud->prefab = tools->prefab;
    app->hud->dyed = any_smoke_is_dyed(connection_scene(app->connection));
    app->hud->dye = tools->hand.dye;
    Picture picture;
    memset(&picture, 0, sizeof picture);
    picture.scene = connection_scene(app->connection);
    picture.camera = camera;
    picture.fields = fields;
    picture.entities =
        connection_entities(app->connection, &picture.entity_count, &picture.entity_version);
    picture.poses = app->poses;
    picture.points = app->points;
    picture.grids = app->grids;
    picture.hovered = hovered && hovered->movable ? hovered->id : 0;
    picture.held = tools->hand.grabbed;
    picture.bare_liquids = (app->overlay.show & OVERLAY_POINTS) != 0;
    debug_overlay_collect(&app->overlay, tools->marks, tools->mark_count);
    picture.marks = app->overlay.marks.items;
    picture.mark_count = app->overlay.marks.count;
    picture.tints = app->overlay.tint_count == picture.entity_count ? app->overlay.tints : NULL;
    view_draw(app->view, &picture);
}

/* Without a world: draws the sky only. */
static void app_draw_nothing(App *app)
{
    static const FieldSet none;
    Scene scene;
    memset(&scene, 0, sizeof scene);
    scene.sky.sun = vec3(0.4f, 0.8f, 0.45f);
    static const f32 top[3] = {0.02f, 0.03f, 0.045f}, horizon[3] = {0.09f, 0.11f, 0.14f};
    memcpy(scene.sky.top, top, sizeof scene.sky.top);
    memcpy(scene.sky.horizon, horizon, sizeof scene.sky.horizon);
    Picture picture;
    memset(&picture, 0, sizeof picture);
    picture.scene = &scene;
    Camera camera = {vec3(0, 2, 8), vec3(0, 1.5f, 0), vec3(0, 1, 0), 0.8f, 0.1f, 100.0f, 0.0f};
    picture.camera = camera;
    picture.fields = &none;
    picture.poses = app->poses;
    picture.points = app->points;
    picture.grids = app->grids;
    app->hud->label_count = 0;
    view_draw(app->view, &picture);
}

static void app_panel_actions(App *app, const PanelsActions *actions)
{
    if (actions->control != CONTROL_NONE) {
        app_sent(app,
                 connection_control(app->connection, actions->control, actions->control_value));
    }
    if (actions->bookmark) {
        app_sent(app, connection_bookmark(app->connection, actions->bookmark_tick,
                                          actions->bookmark_text));
    }
    if (actions->chat) {
        connection_chat(app->connection, actions->text);
    }
    if (actions->dye) {
        hand_dye(&app->tools->hand, actions->color);
    }
    if (actions->set) {
        Input input;
        memset(&input, 0, sizeof input);
        input.kind = INPUT_SET;
        input.index = actions->parameter;
        memcpy(input.values, actions->values, sizeof input.values);
        input.rotation = quat_identity();
        input.ray.direction = vec3(0.0f, 0.0f, -1.0f);
        connection_input(app->connection, &input);
    }
}

static void app_draw(App *app, f64 now_s, f64 frame_s)
{
    hud_collect(app->hud, app->connection, now_s, frame_s);
    if (app_live(app)) {
        app_draw_world(app);
    } else {
        app_draw_nothing(app);
    }
    if (app->panels) {
        PanelsActions actions;
        panels_draw(app->panels, app->hud, &actions);
        app_panel_actions(app, &actions);
    }
}

/* ---- the loop ---- */

static int app_open(App *app, ErrorText *error)
{
    const AppOptions *options = app->options;
    ViewOptions view = {.width = options->width,
                        .height = options->height,
                        .offscreen = options->offscreen,
                        .title = options->title,
                        .vsync = true,
                        .samples = 4};
    app->hud = calloc(1, sizeof *app->hud);
    app->tools = calloc(1, sizeof *app->tools);
    if (!app->hud || !app->tools) {
        return error_set(error, ERROR_MEMORY, "out of memory for the window");
    }
    tools_init(app->tools, app->connection);
    debug_overlay_init(&app->overlay, app->connection);
    debug_overlay_show(&app->overlay, options->show);
    app->strain = strain_create();
    app->hud->show_panels = options->width >= PANELS_WIDTH;
    app->view = view_create(&view, error);
    if (!app->view) {
        return ERROR_UNSUPPORTED;
    }
    if (options->hud) {
        app->panels = panels_create(view_window(app->view), view_context(app->view));
        if (!app->panels) {
            return error_set(error, ERROR_MEMORY, "out of memory for the panels");
        }
    }
    return 0;
}

static void app_close(App *app)
{
    debug_overlay_finish(&app->overlay);
    strain_destroy(app->strain);
    panels_destroy(app->panels);
    view_destroy(app->view);
    for (u32 i = 0; i < FIELDS_MAX; i++) {
        free(app->shown[i]);
    }
    free(app->hud);
    free(app->tools);
}

/* True if this iteration should draw. */
static bool app_wants_frame(const App *app, u64 now_ns)
{
    const AppOptions *options = app->options;
    if (!options->offscreen) {
        return true;
    }
    return options->screenshot && !app->shot && app->world_seen &&
           (app->frames < WARM_UP_FRAMES ||
            app_world_s(app, now_ns) >= options->screenshot_at_s - WARM_UP_S);
}

static f32 app_floor(void *context, Vec3 at)
{
    return tools_floor(context, at);
}

/* One frame; 0, or an Error if the screenshot could not be written. */
static int app_frame(App *app, u64 now_ns, ErrorText *error)
{
    const AppOptions *options = app->options;
    f64 now_s = (f64)(now_ns - app->start_ns) / 1e9;
    f64 frame_s = app->frame_ns ? (f64)(now_ns - app->frame_ns) / 1e9 : 0.0;
    app->frame_ns = now_ns;
    if (!options->offscreen) {
        app_fly(app, (f32)frame_s);
    }
    rig_side(&app->rig, app->hud->side, app->frames < WARM_UP_FRAMES);
    rig_step(&app->rig, (f32)frame_s);
    if (app_live(app) && !app->script_looked) { /* scripts may place the camera anywhere */
        rig_keep(&app->rig, connection_scene(app->connection)->bounds, app_floor, app->tools);
    }
    /* Frames drawn for a single picture do not measure a frame rate. */
    app_draw(app, now_s, options->offscreen ? 0.0 : frame_s);
    int code = 0;
    app->frames += app_live(app) ? 1 : 0;
    if (options->screenshot && !app->shot && app->frames >= WARM_UP_FRAMES &&
        app_world_s(app, now_ns) >= options->screenshot_at_s) {
        code = view_screenshot(app->view, options->screenshot, error);
        app->shot = true;
        app->quit = app->quit || options->offscreen;
    }
    view_present(app->view);
    return code;
}

/* True once the duration has passed. */
static bool app_is_over(const App *app, u64 now_ns)
{
    f64 duration_s = app->options->duration_s;
    if (duration_s <= 0.0) {
        return false;
    }
    if (app->world_seen) {
        return app_world_s(app, now_ns) >= duration_s;
    }
    return (f64)(now_ns - app->start_ns) / 1e9 >= duration_s + WORLD_TIMEOUT_S;
}

static int app_loop(App *app, ErrorText *error)
{
    while (!app->quit) {
        u64 begin_ns = clock_now_ns();
        app_poll(app);
        SDL_Event event;
        while (SDL_PollEvent(&event)) {
            app_event(app, &event);
        }
        if (connection_state(app->connection) == CONNECTION_CLOSED) {
            *error = *connection_error(app->connection);
            return EXIT_NETWORK;
        }
        if (app_live(app)) {
            app_send_view(app);
        }
        if (app_wants_frame(app, begin_ns)) {
            if (app_frame(app, begin_ns, error) != 0) {
                return EXIT_CHECK_FAILED;
            }
            app_poll(app);
        } else {
            hud_collect(app->hud, app->connection, (f64)(begin_ns - app->start_ns) / 1e9, 0.0);
        }
        if (app_is_over(app, begin_ns)) {
            break;
        }
        /* The clock sets the pace where the display does not (no window, hidden, no vsync). */
        if (app->options->offscreen || clock_now_ns() - begin_ns < FRAME_NS / 4) {
            clock_sleep_until_ns(begin_ns + FRAME_NS);
        }
    }
    if (!app->world_seen) {
        error_set(error, ERROR_NETWORK, "no world arrived");
        return app->options->duration_s > 0.0 ? EXIT_NETWORK : EXIT_OK;
    }
    if (app->options->screenshot && !app->shot && app->options->offscreen) {
        error_set(error, ERROR_STATE, "%s: the duration ended before %.1f s of world time",
                  app->options->screenshot, app->options->screenshot_at_s);
        return EXIT_CHECK_FAILED;
    }
    return EXIT_OK;
}

/* Whether a window is possible; a picture can be rendered without one. */
static bool app_has_display(void)
{
    return getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("SDL_VIDEODRIVER");
}

int app_run(Connection *connection, const AppOptions *wanted, ErrorText *error)
{
    AppOptions given = *wanted;
    given.offscreen = given.offscreen || (given.screenshot && !app_has_display());
    const AppOptions *options = &given;
    App *app = calloc(1, sizeof *app);
    if (!app) {
        error_set(error, ERROR_MEMORY, "out of memory for the window");
        return EXIT_CHECK_FAILED;
    }
    app->connection = connection;
    app->options = options;
    app->start_ns = clock_now_ns();
    SceneCamera nowhere = {{0, 2, 8}, {0, 1, 0}, 50.0f};
    rig_init(&app->rig, &nowhere);
    int code = app_open(app, error) != 0 ? EXIT_CHECK_FAILED : app_loop(app, error);
    if (options->hand && app->tools) {
        *options->hand = app->tools->hand.stats;
    }
    app_close(app);
    free(app);
    return code;
}
