/*
 * hud.c: collects the data shown by the panels.
 */
#include "client/hand/hud.h"

#include "client/link/connection.h"
#include "client/link/timeline.h"
#include "protocol/field/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOAST_S       4.0
#define CHAT_S        20.0
#define PROBE_EVERY_S 0.1
#define COLOR_CALM    0xD8DEE6u
#define COLOR_WARN    0xFFC857u
#define COLOR_BAD     0xFF6B5Eu

static void text_push(HudText *texts, u32 *count, u32 max, u32 color, f64 until_s, const char *text)
{
    if (*count == max) {
        memmove(texts, texts + 1, (max - 1) * sizeof *texts);
        *count = max - 1;
    }
    HudText *out = &texts[(*count)++];
    snprintf(out->text, sizeof out->text, "%s", text);
    out->color = color;
    out->until_s = until_s;
}

void hud_toast(Hud *hud, u32 color, const char *format, ...)
{
    char text[TEXT_BYTES_MAX + NAME_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    text_push(hud->toasts, &hud->toast_count, HUD_TOASTS, color, hud->now_s + TOAST_S, text);
}

void hud_quantity(f64 value, const char *unit, char *out, size_t size)
{
    static const struct {
        f64 from, scale;
        const char *prefix;
    } steps[] = {{1e6, 1e-6, "M"}, {1e3, 1e-3, "k"}, {1.0, 1.0, ""}, {0.0, 1e3, "m"}};
    static const char *const scaled[] = {"J", "N", "W", "Pa", "m"};
    bool takes = false, length = strcmp(unit, "m") == 0;
    for (u32 i = 0; i < PL_COUNT(scaled); i++) {
        takes = takes || strcmp(unit, scaled[i]) == 0;
    }
    f64 amount = fabs(value);
    for (u32 i = 0; takes && i < PL_COUNT(steps) && amount >= 1e-6; i++) {
        /* Megametres, or 500 mm for half a metre, are hard to read. */
        bool large = length && steps[i].from > 1.0;
        f64 from = length && steps[i].from == 1.0 ? 0.1 : steps[i].from;
        if (amount >= from && !large) {
            snprintf(out, size, "%.3g %s%s", value * steps[i].scale, steps[i].prefix, unit);
            return;
        }
    }
    bool bare = strlen(unit) == 1 && !takes; /* "1", "x": no unit */
    f64 shown = amount < 1e-6 ? 0.0 : value;
    snprintf(out, size, amount >= 1e5 ? "%.3g%s%s" : "%.4g%s%s", shown, bare || !unit[0] ? "" : " ",
             bare ? "" : unit);
}

static void range_widen(f32 *low, f32 *high)
{
    f32 least = f32_max(0.02f * f32_max(fabsf(*low), fabsf(*high)), 1e-6f);
    if (*high - *low < least) {
        f32 middle = 0.5f * (*low + *high);
        *low = middle - 0.5f * least;
        *high = middle + 0.5f * least;
    }
}

void hud_range(const f32 *values, u32 count, f32 *low, f32 *high)
{
    *low = *high = count > 0 ? values[0] : 0.0f;
    for (u32 i = 1; i < count; i++) {
        *low = f32_min(*low, values[i]);
        *high = f32_max(*high, values[i]);
    }
    range_widen(low, high);
}

void hud_probe_range(const HudProbe *probe, u32 next, f32 *low, f32 *high)
{
    *low = *high = probe->value;
    for (u32 k = 1; k <= probe->count; k++) {
        f32 value = probe->past[(next + HUD_PLOT_POINTS - k) % HUD_PLOT_POINTS];
        *low = f32_min(*low, value);
        *high = f32_max(*high, value);
    }
    range_widen(low, high);
}

static void texts_expire(HudText *texts, u32 *count, f64 now_s)
{
    u32 kept = 0;
    for (u32 i = 0; i < *count; i++) {
        if (texts[i].until_s > now_s) {
            texts[kept++] = texts[i];
        }
    }
    *count = kept;
}

static const UserInfo *hud_user(const Hud *hud, u32 id)
{
    for (u32 i = 0; i < hud->user_count; i++) {
        if (hud->users[i].id == id) {
            return &hud->users[i];
        }
    }
    return NULL;
}

static void hud_break(Hud *hud, const Connection *connection, const Event *event)
{
    const Entity *a = event->a ? connection_entity(connection, event->a) : NULL;
    const Entity *b = event->b ? connection_entity(connection, event->b) : NULL;
    hud_toast(hud, COLOR_CALM, "broken: %s from %s",
              b   ? b->name
              : a ? a->name
                  : "a joint",
              a && b ? a->name : "the world");
}

static void hud_enter(Hud *hud, const Connection *connection, const Event *event)
{
    const Entity *place = connection_entity(connection, event->a);
    const Entity *thing = connection_entity(connection, event->b);
    if (place && thing) {
        hud_toast(hud, COLOR_CALM, "%s is in %s", thing->name, place->name);
    }
}

static void hud_news(Hud *hud, Connection *connection)
{
    ConnectionNews news;
    while (connection_news(connection, &news)) {
        const Event *event = &news.event;
        if (event->kind == EVENT_REFUSED && event->user == hud->user) {
            hud_toast(hud, COLOR_WARN, "refused: %s", error_name((Error)event->code));
        } else if (event->kind == EVENT_ENTER) {
            hud_enter(hud, connection, event);
        } else if (event->kind == EVENT_BREAK) {
            hud_break(hud, connection, event);
        } else if (event->kind == EVENT_NONE && news.text[0] && news.user) {
            const UserInfo *user = hud_user(hud, news.user);
            char line[TEXT_BYTES_MAX + NAME_BYTES_MAX + 4];
            snprintf(line, sizeof line, "%s: %s", user ? user->name : "?", news.text);
            text_push(hud->chat, &hud->chat_count, HUD_CHAT_LINES, user ? user->color : COLOR_CALM,
                      hud->now_s + CHAT_S, line);
        } else if (event->kind == EVENT_NONE && news.text[0]) {
            hud_toast(hud, COLOR_CALM, "%s", news.text);
        }
    }
}

/* Values of named scalars as shown now; unknown ones are unchanged. False: not all are of this
 * stream. */
static bool hud_scalars(const Timeline *timeline, const FieldSet *fields, const ScalarInfo *info,
                        f32 out[4])
{
    f32 small[256], *values = small;
    if (info->field >= fields->count || fields->fields[info->field].kind != FIELD_SCALARS) {
        return false;
    }
    u32 capacity = fields->fields[info->field].capacity;
    if (capacity > PL_COUNT(small) && !(values = malloc(capacity * sizeof *values))) {
        return false;
    }
    memset(values, 0, capacity * sizeof *values);
    for (u32 i = 0; i < info->components && i < 4 && info->first + i < capacity; i++) {
        values[info->first + i] = out[i];
    }
    bool known = timeline_scalars(timeline, info->field, values);
    for (u32 i = 0; i < info->components && i < 4 && info->first + i < capacity; i++) {
        out[i] = values[info->first + i];
    }
    if (values != small) {
        free(values);
    }
    return known;
}

static void hud_world(Hud *hud, Connection *connection)
{
    const Timeline *timeline = connection_timeline(connection);
    const FieldSet *fields = connection_fields(connection);
    f64 tick = timeline_tick(timeline);
    hud->tick = tick > 0.0 ? connection_recorded_tick(connection, tick)
                           : hud->tick; /* 0: no state of the stream is shown yet */
    hud->delay_ms = 1e3 * timeline_delay_s(timeline);
    hud->tick_rate = connection_tick_rate(connection);
    hud->parameters = connection_parameters(connection, &hud->parameter_count);
    hud->parameter_count = u32_min(hud->parameter_count, PARAMETERS_MAX);
    for (u32 i = 0; i < hud->parameter_count; i++) {
        memcpy(hud->parameter_values[i], hud->parameters[i].initial, sizeof(f32[4]));
        hud_scalars(timeline, fields, &hud->parameters[i], hud->parameter_values[i]);
    }
    bool due = hud->now_s >= hud->probe_due_s, known = true;
    hud->probe_infos = connection_probes(connection, &hud->probe_count);
    hud->probe_count = u32_min(hud->probe_count, PROBES_MAX);
    for (u32 i = 0; i < hud->probe_count; i++) {
        f32 value[4] = {0};
        known = hud_scalars(timeline, fields, &hud->probe_infos[i], value) && known;
        hud->probes[i].value = value[0];
    }
    for (u32 i = 0; i < hud->probe_count && due && known; i++) {
        hud->probes[i].past[hud->probe_next] = hud->probes[i].value;
        hud->probes[i].count = u32_min(hud->probes[i].count + 1, HUD_PLOT_POINTS);
    }
    if (due && known) {
        hud->probe_next = (hud->probe_next + 1) % HUD_PLOT_POINTS;
        hud->probe_due_s = hud->now_s + PROBE_EVERY_S;
    }
}

/* A reset starts a new stream, not an event: its ticks restart. */
static void hud_starts_anew(Hud *hud, Connection *connection)
{
    u32 epoch = hud->live ? connection_epoch(connection) : hud->epoch;
    if (hud->epoch != 0 && epoch != hud->epoch && !hud->status.replay) {
        hud_toast(hud, COLOR_CALM, "the world restarts");
    }
    for (u32 i = 0; i < PROBES_MAX && epoch != hud->epoch; i++) {
        hud->probes[i].count = 0; /* values before a seek are not part of the new history */
    }
    hud->epoch = epoch;
}

/* Shows a toast saying whose time the keys control from now on. */
static void hud_own_time(Hud *hud, const MessageStatus *now)
{
    bool was = hud->status.own_time == OWN_TIME_AWAY, is = now->own_time == OWN_TIME_AWAY;
    if (is && !was) {
        hud_toast(hud, COLOR_CALM, "your own time: only you see it; O returns");
    } else if (was && !is) {
        hud_toast(hud, COLOR_CALM, "back in the common time");
    }
}

static void hud_error(Hud *hud, Connection *connection)
{
    hud->error_text[0] = 0;
    if (!hud->live) {
        snprintf(hud->error_text, sizeof hud->error_text, "%s", hud->state);
        hud->error_color = hud->was_live ? COLOR_BAD : COLOR_WARN;
    } else if (hud->status.paused) {
        snprintf(hud->error_text, sizeof hud->error_text, "paused");
        hud->error_color = COLOR_CALM;
    } else if (timeline_holding(connection_timeline(connection))) {
        snprintf(hud->error_text, sizeof hud->error_text, "waiting for the network");
        hud->error_color = COLOR_BAD;
    } else if (hud->status.slowed) {
        f32 due_ms =
            1000.0f / (f32)u32_max(hud->tick_rate, 1); /* a server that keeps up has shorter
                                                        * ticks */
        bool held_up = hud->status.tick_ms * fmaxf(hud->status.speed, 1.0f) < 0.9f * due_ms;
        if (held_up) {
            snprintf(hud->error_text, sizeof hud->error_text, "the server was held up");
        } else {
            snprintf(hud->error_text, sizeof hud->error_text,
                     "the server cannot keep up: %.1f ms per tick", (f64)hud->status.tick_ms);
        }
        hud->error_color = COLOR_WARN;
    } else if (hud->status.speed > 0.0f && fabsf(hud->status.speed - 1.0f) > 0.01f) {
        snprintf(hud->error_text, sizeof hud->error_text, "speed x%.2g", (f64)hud->status.speed);
        hud->error_color = COLOR_CALM;
    }
}

void hud_collect(Hud *hud, Connection *connection, f64 now_s, f64 frame_s)
{
    hud->now_s = now_s;
    if (frame_s > 1e-6) {
        /* Averaged over about half a second. */
        f64 share = frame_s < 0.5 ? frame_s / 0.5 : 1.0;
        hud->fps += ((1.0 / frame_s) - hud->fps) * (hud->fps > 0.0 ? share : 1.0);
    }
    ConnectionState state = connection_state(connection);
    hud->live = state == CONNECTION_LIVE;
    hud->was_live = hud->was_live || hud->live;
    hud->state = state == CONNECTION_CONNECTING
                     ? hud->was_live ? "connection lost; reconnecting ..." : "connecting ..."
                 : state == CONNECTION_JOINING ? "receiving the world ..."
                                               : connection_error(connection)->text;
    u32 waiting, position = connection_queue(connection, &waiting);
    if (position > 0) {
        snprintf(hud->queue, sizeof hud->queue, "waiting for a place: %u of %u in the queue",
                 position, waiting);
        hud->state = hud->queue;
    }
    hud->role = connection_role(connection);
    hud->user = connection_user(connection);
    hud->scene = hud->live ? connection_scene(connection) : NULL;
    hud_starts_anew(hud, connection);
    hud->users = connection_users(connection, &hud->user_count);
    hud_news(hud, connection);
    texts_expire(hud->toasts, &hud->toast_count, now_s);
    texts_expire(hud->chat, &hud->chat_count, now_s);
    ConnectionStats stats;
    connection_stats(connection, &stats);
    hud->rtt_ms = stats.rtt_ms;
    hud->loss = stats.loss;
    hud->bytes_in_per_s = stats.bytes_in_per_s;
    hud->coarse = stats.coarse;
    hud->parameter_count = hud->probe_count = 0;
    if (hud->live) {
        const MessageStatus *status = connection_status(connection);
        if (status) {
            hud_own_time(hud, status);
            hud->status = *status;
        }
        hud->common_tick = connection_common_tick(connection);
        hud_world(hud, connection);
    }
    hud->survey = hud->live ? connection_survey(connection, NULL) : NULL;
    hud->save_count = 0;
    hud->saves = hud->live ? connection_saves(connection, &hud->save_count) : NULL;
    hud_error(hud, connection);
}
