/*
 * panels.h: the panels over the picture, drawn with Dear ImGui behind this header.
 * Layer: client/hand. Implemented by panels.cpp.
 */
#ifndef PLENUM_CLIENT_HAND_PANELS_H
#define PLENUM_CLIENT_HAND_PANELS_H

#include "client/hand/hud.h"

PL_BEGIN_C

typedef struct Panels Panels;

/* What the user did in the panels during one frame. */
typedef struct PanelsActions {
    bool set; /* parameter := values */
    u32 parameter;
    f32 values[4];
    ControlKind control; /* CONTROL_NONE: nothing */
    f64 control_value;
    bool chat;
    char text[TEXT_BYTES_MAX];
} PanelsActions;

/* window and context: SDL_Window and SDL_GLContext. NULL: no memory. */
Panels *panels_create(void *window, void *context);
void panels_destroy(Panels *panels); /* NULL is fine */
/* An SDL_Event; true if the panels use it, so that the world must not. */
bool panels_event(Panels *panels, const void *event);
/* Whether the mouse is over a panel or the keyboard in a text line. */
bool panels_want_mouse(const Panels *panels);
bool panels_want_keys(const Panels *panels);
/* Builds and draws all panels into the bound framebuffer. hud->show_help, show_panels and chatting
 * may be changed by what the user does; hud->side is set. */
void panels_draw(Panels *panels, Hud *hud, PanelsActions *actions);

PL_END_C

#endif
