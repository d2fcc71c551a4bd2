/*
 * chooser_panel.h: the list of worlds in a window, drawn with Dear ImGui.
 * Layer: client/hand. Implemented by chooser_panel.cpp.
 */
#ifndef PLENUM_CLIENT_HAND_CHOOSER_PANEL_H
#define PLENUM_CLIENT_HAND_CHOOSER_PANEL_H

#include "client/link/finder.h"

PL_BEGIN_C

/* The contents of the list, and the user's actions in it. */
typedef struct ChooserList {
    const FoundWorld *const *worlds; /* [count], in the order to be shown */
    u32 count, total;                /* number of those that pass the filter, and of all */
    const char *note;                /* a line below, or NULL */
    char filter[NAME_BYTES_MAX];
    bool free_only;                     /* only worlds with a free place */
    bool open_only;                     /* only worlds without password and token */
    u8 selected[IDENTITY_PUBLIC_BYTES]; /* key of the chosen row; zeros: none */
    char address[FOUND_TEXT_BYTES];     /* typed */
    bool join, join_address, quit;      /* pressed in this frame */
} ChooserList;

typedef struct ChooserPanel ChooserPanel;

/* window and context: SDL_Window and SDL_GLContext. NULL: out of memory. */
ChooserPanel *chooser_panel_create(void *window, void *context);
void chooser_panel_destroy(ChooserPanel *panel); /* NULL is fine */
/* Handles an SDL_Event. */
void chooser_panel_event(ChooserPanel *panel, const void *event);
/* Builds and draws the list into the bound framebuffer. */
void chooser_panel_draw(ChooserPanel *panel, ChooserList *list);

PL_END_C

#endif
