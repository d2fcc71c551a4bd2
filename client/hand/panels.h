/*
 * panels.h: the panels over the picture, drawn with Dear ImGui.
 * Layer: client/hand. Implemented by panels.cpp.
 */
#ifndef PLENUM_CLIENT_HAND_PANELS_H
#define PLENUM_CLIENT_HAND_PANELS_H

#include "client/hand/hud.h"

PL_BEGIN_C

typedef struct Panels Panels;

/* User actions in the panels during one frame. */
typedef struct PanelsActions {
    bool set; /* parameter := values */
    u32 parameter;
    f32 values[4];
    ControlKind control; /* CONTROL_NONE: nothing */
    f64 control_value;
    bool bookmark; /* bookmark_tick gets this name */
    u64 bookmark_tick;
    char bookmark_text[SURVEY_TEXT_BYTES_MAX];
    bool dye;  /* the hand's colour := color */
    u32 color; /* 0xRRGGBB, sRGB */
    bool chat;
    char text[TEXT_BYTES_MAX];
} PanelsActions;

/* window and context: SDL_Window and SDL_GLContext. NULL: out of memory. */
Panels *panels_create(void *window, void *context);
void panels_destroy(Panels *panels); /* NULL is fine */
/* Handles an SDL_Event; true if the panels consume it. */
bool panels_event(Panels *panels, const void *event);
/* True if the mouse is over a panel or the keyboard is in a text line. */
bool panels_want_mouse(const Panels *panels);
bool panels_want_keys(const Panels *panels);
/* Builds and draws all panels into the bound framebuffer. User actions may change
 * hud->show_help, show_panels and chatting; sets hud->side. */
void panels_draw(Panels *panels, Hud *hud, PanelsActions *actions);

PL_END_C

#endif
