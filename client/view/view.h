/*
 * view.h: renders pictures of fields: OpenGL 3.3 core, a window (SDL2) or offscreen. Draws a
 * Picture; knows field kinds and appearances, never solvers, never the network.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_VIEW_H
#define PLENUM_CLIENT_VIEW_VIEW_H

#include "client/view/picture.h"
#include "shared/base/error.h"

typedef struct View View;

typedef struct ViewOptions {
    u32 width, height; /* pixels */
    bool offscreen;    /* SDL_VIDEODRIVER=offscreen, no window, no vsync */
    const char *title;
    bool vsync;
    u32 samples; /* multisampling: 0, 4 */
} ViewOptions;

/* Creates the window or the offscreen surface and the context, compiles the shaders. NULL with
 * an error text. */
View *view_create(const ViewOptions *options, ErrorText *error);
void view_destroy(View *view);
/* Draws into the back buffer; the caller may draw panels over it before view_present. */
void view_draw(View *view, const Picture *picture);
void view_present(View *view);
/* Waits until all is drawn, to measure it; and the renderer's name, for people. */
void view_wait(View *view);
const char *view_renderer(const View *view);
void view_size(const View *view, u32 *width, u32 *height);
/* The SDL_Window and SDL_GLContext, for events and panels. */
void *view_window(View *view);
void *view_context(View *view);
/* Reads the back buffer drawn by view_draw (before present) and writes a PNG. */
int view_screenshot(View *view, const char *path, ErrorText *error);
/* Writes rows of RGB, top first, as PNG; and reads one (for tests). */
int png_write(const char *path, const u8 *rgb, u32 width, u32 height, ErrorText *error);
u8 *png_read(const char *path, u32 *width, u32 *height, ErrorText *error); /* free() */

/* Ray through a pixel (origin top left). */
Ray camera_ray(const Camera *camera, u32 width, u32 height, f32 x, f32 y);
/* Projects a world point to a pixel; false if behind the camera. */
bool camera_project(const Camera *camera, u32 width, u32 height, Vec3 point, f32 *x, f32 *y);

#endif
