/*
 * hud.h: the contents of the panels as plain numbers and texts: rates, users, toasts, chat,
 * parameters, probes with their recent history, time control. Collected from the connection once
 * per frame.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_HUD_H
#define PLENUM_CLIENT_HAND_HUD_H

#include "protocol/scene/scene.h"
#include "protocol/session/message.h"

PL_BEGIN_C

enum {
    HUD_PLOT_POINTS = 120, /* at 10 per second: the last 12 s */
    HUD_TOASTS = 5,
    HUD_CHAT_LINES = 8,
};

typedef struct HudProbe {
    f32 value;
    f32 past[HUD_PLOT_POINTS]; /* a ring */
    u32 count;                 /* number of known values: the newest, before probe_next */
} HudProbe;

typedef struct HudText {
    char text[TEXT_BYTES_MAX + NAME_BYTES_MAX + 4];
    u32 color; /* 0xRRGGBB */
    f64 until_s;
} HudText;

typedef struct HudLabel {
    f32 x, y; /* px */
    const char *text;
    u32 color;
} HudLabel;

typedef struct Hud {
    f64 now_s;
    f64 fps;
    f64 rtt_ms, loss, bytes_in_per_s, delay_ms; /* loss: fraction in [0, 1] */
    f64 coarse;                                 /* fraction of the world known in reduced detail */
    f64 tick;                                   /* shown; of a recording, not of its stream */
    u32 tick_rate;
    bool live, was_live;
    u32 epoch;                       /* of the stream shown; 0: none yet */
    char error_text[TEXT_BYTES_MAX]; /* banner text: paused, slowed, starved, connecting, or "" */
    u32 error_color;

    const Scene *scene; /* borrowed for the frame; NULL before the world arrived */
    const char *state;  /* shown while there is no world */
    char queue[64];     /* the same while the client waits for a place */
    MessageStatus status;
    const MessageSurvey *survey; /* of a recording, borrowed for the frame; NULL: none yet */
    const SaveInfo *saves; /* [save_count], borrowed for the frame; NULL: worlds are not saved */
    u32 save_count;
    Role role;
    u32 user;
    const UserInfo *users; /* [user_count] */
    u32 user_count;
    const ScalarInfo *parameters; /* [parameter_count] */
    u32 parameter_count;
    f32 parameter_values[PARAMETERS_MAX][4];
    const ScalarInfo *probe_infos; /* [probe_count] */
    u32 probe_count;
    HudProbe probes[PROBES_MAX];
    u32 probe_next; /* next position in the rings */
    f64 probe_due_s;

    HudText toasts[HUD_TOASTS]; /* newest last */
    u32 toast_count;
    HudText chat[HUD_CHAT_LINES]; /* newest last */
    u32 chat_count;
    HudLabel labels[128]; /* [label_count] */
    u32 label_count;
    const char *hovered; /* name under the cursor, or NULL */
    u32 prefab;
    bool dyed; /* there is smoke that hands dye, */
    u32 dye;   /* with this colour: 0xRRGGBB, sRGB */

    f64 common_tick; /* while status.own_time is OWN_TIME_AWAY: the common time */
    bool show_help, show_panels, chatting;
    bool bookmarking; /* a bookmark is being named */
    f32 side;         /* fraction of the picture's width covered by the side panel */
} Hud;

/* True if the user may control the time that they see. */
static inline bool hud_moves_time(const Hud *hud)
{
    return hud->role >= ROLE_OPERATOR || hud->status.own_time == OWN_TIME_AWAY;
}

/* Shows a line that fades after some seconds. */
void hud_toast(Hud *hud, u32 color, const char *format, ...) PL_PRINTF(3, 4);

struct Connection;
/* "12.3 kJ", "0.78 mm", "42": few digits, with a prefix if the unit allows one. */
void hud_quantity(f64 value, const char *unit, char *out, size_t size);
/* Range of values, with a minimum so that noise is not magnified. */
void hud_range(const f32 *values, u32 count, f32 *low, f32 *high);
/* Range of a plot: the known history, with a minimum so that noise is not magnified. */
void hud_probe_range(const HudProbe *probe, u32 next, f32 *low, f32 *high);
/* Collects the connection's current data and events. frame_s: since the last frame. */
void hud_collect(Hud *hud, struct Connection *connection, f64 now_s, f64 frame_s);

PL_END_C

#endif
