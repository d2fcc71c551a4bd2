/*
 * panels_internal.h: shared by the panels, the timeline bar and the list of worlds.
 * Layer: client/hand, private.
 */
#ifndef PLENUM_CLIENT_HAND_PANELS_INTERNAL_H
#define PLENUM_CLIENT_HAND_PANELS_INTERNAL_H

#include "client/hand/panels.h"

#include <imgui.h>

/* Style and fonts of a new context. */
void panels_style();
void panels_fonts();

/* 0xRRGGBB as the library wants it. */
static inline ImVec4 color_of(u32 rgb, f32 alpha = 1.0f)
{
    return ImVec4(f32(rgb >> 16 & 255) / 255.0f, f32(rgb >> 8 & 255) / 255.0f,
                  f32(rgb & 255) / 255.0f, alpha);
}

#endif
