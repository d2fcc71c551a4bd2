/* chooser.c: see chooser.h. */
#include "client/hand/chooser.h"

#include "client/hand/chooser_panel.h"
#include "client/view/view.h"
#include "shared/base/clock.h"

#include <SDL2/SDL.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_MS = 10,
    FRAME_MS = 16,
    NOTE_BYTES = 512
};

#define FRAME_NS 16666667ull

typedef struct Chooser {
    const ChooserOptions *options;
    WorldFinder *finder;
    const FoundWorld **shown; /* [capacity], sorted */
    u32 count, capacity;
} Chooser;

/* Worlds that pass the filter, sorted. */
static bool chooser_sort(Chooser *chooser, const char *filter, bool free_only, bool open_only,
                         u32 *total)
{
    const FoundWorld *worlds = finder_worlds(chooser->finder, total);
    chooser->count = 0;
    if (*total > chooser->capacity) {
        const FoundWorld **shown = realloc(chooser->shown, *total * sizeof(FoundWorld *));
        if (shown == NULL) {
            return false;
        }
        chooser->shown = shown;
        chooser->capacity = *total;
    }
    for (u32 i = 0; i < *total; i++) {
        const WorldNotice *notice = &worlds[i].notice;
        if (world_matches(notice, filter) && (!free_only || notice->users < notice->places) &&
            (!open_only || (notice->flags & (WORLD_PASSWORD | WORLD_TOKEN)) == 0)) {
            chooser->shown[chooser->count++] = &worlds[i];
        }
    }
    if (chooser->count > 0) {
        qsort(chooser->shown, chooser->count, sizeof(FoundWorld *), found_compare);
    }
    return true;
}

/* ---- as text ---- */

static void print_worlds(const Chooser *chooser)
{
    char text[FOUND_TEXT_BYTES], ping[16];
    if (chooser->count > 0) {
        printf("%9s %9s  %-24s %-20s %-9s %s\n", "ping", "users", "name", "scene", "needs",
               "address");
    }
    for (u32 i = 0; i < chooser->count; i++) {
        const FoundWorld *world = chooser->shown[i];
        const WorldNotice *notice = &world->notice;
        snprintf(ping, sizeof ping, world->answered ? "%.1f ms" : "-", (f64)world->ping_ms);
        const char *needs = (notice->flags & WORLD_TOKEN)      ? "token"
                            : (notice->flags & WORLD_PASSWORD) ? "password"
                                                               : "-";
        printf("%9s %4u/%-4u  %-24s %-20s %-9s %s\n", ping, notice->users, notice->places,
               notice->name, notice->scene, needs, found_text(world, text));
    }
}

int chooser_print(const ChooserOptions *options, f64 wait_s, const volatile int *stop,
                  ErrorText *error)
{
    Chooser chooser = {.options = options};
    u32 total;
    int code = EXIT_OK;
    chooser.finder = finder_create(&options->finder, error);
    if (chooser.finder == NULL) {
        return EXIT_NETWORK;
    }
    u64 end_ns = clock_now_ns() + (u64)(wait_s * 1e9);
    bool read = false;
    while (*stop == 0 && (clock_now_ns() < end_ns || !read)) {
        finder_poll(chooser.finder, clock_now_ns());
        if (!read && finder_lobby_read(chooser.finder)) {
            read = true; /* the worlds of its list get as much time to answer */
            end_ns = u64_max(end_ns, clock_now_ns() + (u64)(wait_s * 1e9 / 2));
        }
        finder_wait(chooser.finder, POLL_MS);
    }
    if (finder_lobby_error(chooser.finder) != NULL) {
        error_set(error, ERROR_NETWORK, "%s", finder_lobby_error(chooser.finder));
        code = EXIT_NETWORK;
    }
    if (chooser_sort(&chooser, options->filter != NULL ? options->filter : "", false, false,
                     &total)) {
        print_worlds(&chooser);
    }
    free(chooser.shown);
    finder_destroy(chooser.finder);
    return code;
}

/* ---- as a window ---- */

static void draw_background(View *view)
{
    static const FieldSet none;
    static const f32 top[3] = {0.02f, 0.03f, 0.045f}, horizon[3] = {0.09f, 0.11f, 0.14f};
    Scene scene;
    Picture picture;
    memset(&scene, 0, sizeof scene);
    memset(&picture, 0, sizeof picture);
    scene.sky.sun = vec3(0.4f, 0.8f, 0.45f);
    memcpy(scene.sky.top, top, sizeof scene.sky.top);
    memcpy(scene.sky.horizon, horizon, sizeof scene.sky.horizon);
    Camera camera = {vec3(0, 2, 8), vec3(0, 1.5f, 0), vec3(0, 1, 0), 0.8f, 0.1f, 100.0f, 0.0f};
    picture.scene = &scene;
    picture.camera = camera;
    picture.fields = &none;
    view_draw(view, &picture);
}

static const char *note_of(const Chooser *chooser, char note[NOTE_BYTES])
{
    const FinderOptions *finder = &chooser->options->finder;
    const char *wrong = finder_lobby_error(chooser->finder);
    if (wrong != NULL) {
        snprintf(note, NOTE_BYTES, "%s", wrong);
    } else {
        snprintf(note, NOTE_BYTES, "%s%s%s%s", finder->lan ? "on the local network" : "",
                 finder->lan && finder->lobby != NULL ? ", " : "",
                 finder->lobby != NULL ? "listed by " : "",
                 finder->lobby != NULL ? finder->lobby : "");
    }
    return note;
}

/* Text after "plenum://". */
static void take_choice(const Chooser *chooser, const ChooserList *list, char *where, size_t bytes)
{
    char text[FOUND_TEXT_BYTES];
    if (list->join_address) {
        bool url = strncmp(list->address, "plenum://", 9) == 0;
        snprintf(where, bytes, "%s", list->address + (url ? 9 : 0));
        return;
    }
    for (u32 i = 0; list->join && i < chooser->count; i++) {
        if (memcmp(chooser->shown[i]->notice.key, list->selected, sizeof list->selected) == 0) {
            snprintf(where, bytes, "%s", found_text(chooser->shown[i], text) + 9);
        }
    }
}

static bool events_take(ChooserPanel *panel)
{
    SDL_Event event;
    bool running = true;
    while (SDL_PollEvent(&event)) {
        chooser_panel_event(panel, &event);
        running = running && event.type != SDL_QUIT;
    }
    return running;
}

static int window_loop(Chooser *chooser, View *view, ChooserPanel *panel, char *where, size_t bytes,
                       ErrorText *error)
{
    const ChooserOptions *options = chooser->options;
    char note[NOTE_BYTES];
    ChooserList list;
    memset(&list, 0, sizeof list);
    snprintf(list.filter, sizeof list.filter, "%s", options->filter != NULL ? options->filter : "");
    u64 start_ns = clock_now_ns();
    for (bool running = true; running && where[0] == '\0';) {
        u64 begin_ns = clock_now_ns();
        f64 passed_s = (f64)(begin_ns - start_ns) * 1e-9;
        bool over = options->duration_s > 0.0 && passed_s >= options->duration_s;
        finder_poll(chooser->finder, begin_ns);
        running = events_take(panel) && !over;
        if (!chooser_sort(chooser, list.filter, list.free_only, list.open_only, &list.total)) {
            error_set(error, ERROR_MEMORY, "out of memory for the list of worlds");
            return EXIT_CHECK_FAILED;
        }
        list.worlds = chooser->shown;
        list.count = chooser->count;
        list.note = note_of(chooser, note);
        draw_background(view);
        chooser_panel_draw(panel, &list);
        if (over && options->screenshot != NULL &&
            view_screenshot(view, options->screenshot, error) != 0) {
            return EXIT_CHECK_FAILED;
        }
        view_present(view);
        running = running && !list.quit;
        take_choice(chooser, &list, where, bytes);
        bool paced = clock_now_ns() - begin_ns >= FRAME_NS / 4; /* by the display */
        while (!paced && clock_now_ns() < begin_ns + FRAME_NS) {
            finder_wait(chooser->finder, FRAME_MS / 4);
            finder_poll(chooser->finder, clock_now_ns());
        }
    }
    return EXIT_OK;
}

int chooser_run(const ChooserOptions *options, char *where, size_t bytes, ErrorText *error)
{
    ViewOptions wanted = {.width = options->width,
                          .height = options->height,
                          .offscreen = options->offscreen,
                          .title = "Plenum: worlds",
                          .vsync = true,
                          .samples = 4};
    Chooser chooser = {.options = options};
    int code = EXIT_CHECK_FAILED;
    where[0] = '\0';
    chooser.finder = finder_create(&options->finder, error);
    if (chooser.finder == NULL) {
        return EXIT_NETWORK;
    }
    View *view = view_create(&wanted, error);
    ChooserPanel *panel =
        view != NULL ? chooser_panel_create(view_window(view), view_context(view)) : NULL;
    if (panel != NULL) {
        code = window_loop(&chooser, view, panel, where, bytes, error);
    } else if (view != NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the list of worlds");
    }
    chooser_panel_destroy(panel);
    view_destroy(view);
    free(chooser.shown);
    finder_destroy(chooser.finder);
    return code;
}
