/*
 * timeline_bar.h: the bar below a recording: the current time, marks of events, and the controls of
 * a video player. All users see the common time, which operators control; a user who left it
 * controls their own time, and sees a marker of the common one. Controls are sent one per frame, in
 * order.
 * Layer: client/hand, private.
 */
#ifndef PLENUM_CLIENT_HAND_TIMELINE_BAR_H
#define PLENUM_CLIENT_HAND_TIMELINE_BAR_H

#include "client/hand/panels_internal.h"

enum {
    BAR_CONTROLS_MAX = 8
};

struct BarControl {
    ControlKind kind;
    f64 value;
};

struct TimelineBar {
    BarControl queue[BAR_CONTROLS_MAX]; /* not sent yet */
    u32 queued;
    bool scrubbing;  /* the cursor is dragged */
    bool was_moving; /* to continue after it */
    bool looping;    /* a range is dragged */
    f64 from_tick;   /* where the drag began */
    f64 tick;        /* under the dragged cursor */
    f64 sent_tick;   /* of the last seek */
    f64 sent_s;
    bool naming;        /* the name of a bookmark is being typed */
    bool enter, escape; /* pressed while naming */
    u64 bookmark_tick;
    char name[SURVEY_TEXT_BYTES_MAX];
};

/* px; 0: there is no recording. */
f32 timeline_bar_height(const Hud *hud);
/* size: of the window, px. area: x0, y0, x1, y1 where it takes the mouse. */
void timeline_bar_draw(TimelineBar *bar, Hud *hud, PanelsActions *actions, ImVec2 size,
                       ImVec4 *area);
/* The tick shown by the cursor: the dragged one, otherwise the picture's. */
f64 timeline_bar_tick(const TimelineBar *bar, const Hud *hud);

#endif
