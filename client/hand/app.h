/*
 * app.h: the interactive client: window (or offscreen surface), camera, tools, panels, around one
 * connection.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_APP_H
#define PLENUM_CLIENT_HAND_APP_H

#include "client/hand/script.h"
#include "client/link/connection.h"

typedef struct AppOptions {
    u32 width, height;
    bool offscreen; /* no window: draws as fast as a 60 Hz loop for --screenshot */
    const char *title;
    const char *screenshot; /* PNG path, or NULL */
    f64 screenshot_at_s;    /* seconds after the world arrived */
    f64 duration_s;         /* 0: until closed */
    Script *script;         /* or NULL */
    u32 show;               /* initial debug overlays: see debug_overlay.h */
    bool hud;               /* draw panels (off for golden pictures) */
    HandStats *hand;        /* written at the end, or NULL */
} AppOptions;

/* Runs until the window is closed, the duration is over, the screenshot is written (offscreen),
 * or the connection closes permanently. Polls the connection. Returns a process exit code. */
int app_run(Connection *connection, const AppOptions *options, ErrorText *error);

#endif
