/*
 * timeline_bar.cpp: see timeline_bar.h.
 */
#include "client/hand/timeline_bar.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BAR_PX       66.0f
#define MARGIN_PX    10.0f
#define TRACK_PX     22.0f
#define BUTTON_PX    30.0f
#define NEAR_PX      5.0f /* px: marks this near to the pointer are selected */
#define OWN_PX       140.0f
#define OWN_RIGHT_PX 258.0f /* from its left edge to the right end: the bookmark is beside it */
#define COMMON_COLOR 0x57C785
#define SEEK_GAP_S   (1.0 / 30) /* between seeks while dragging */

static f64 rate_of(const Hud *hud)
{
    return hud->tick_rate ? f64(hud->tick_rate) : 60.0;
}

f32 timeline_bar_height(const Hud *hud)
{
    bool any = hud->scene && hud->status.replay && hud->status.last_tick > hud->status.first_tick;
    return any ? BAR_PX + MARGIN_PX : 0.0f;
}

f64 timeline_bar_tick(const TimelineBar *bar, const Hud *hud)
{
    return bar->scrubbing ? bar->tick : hud->tick;
}

static void bar_queue(TimelineBar *bar, ControlKind kind, f64 value)
{
    if (bar->queued < BAR_CONTROLS_MAX) {
        bar->queue[bar->queued++] = BarControl{kind, value};
    }
}

static void bar_seek(TimelineBar *bar, const Hud *hud, f64 tick)
{
    bar->sent_tick = tick;
    bar->sent_s = hud->now_s;
    bar_queue(bar, CONTROL_SEEK, tick / rate_of(hud));
}

/* ---- buttons ---- */

enum Icon {
    ICON_FIRST,
    ICON_BACK,
    ICON_PAUSE,
    ICON_PLAY,
    ICON_LAST
};

/* The font may lack these symbols, so they are drawn. */
static void draw_icon(Icon icon, ImVec2 c)
{
    ImDrawList *list = ImGui::GetWindowDrawList();
    ImU32 color = ImGui::GetColorU32(ImGuiCol_Text);
    f32 r = 5.5f;
    f32 way = icon == ICON_FIRST || icon == ICON_BACK ? -1.0f : 1.0f;
    if (icon == ICON_PAUSE) {
        list->AddRectFilled(ImVec2(c.x - 5.0f, c.y - r), ImVec2(c.x - 1.5f, c.y + r), color);
        list->AddRectFilled(ImVec2(c.x + 1.5f, c.y - r), ImVec2(c.x + 5.0f, c.y + r), color);
        return;
    }
    ImVec2 tip(c.x + way * r, c.y), top(c.x - way * r, c.y - r), foot(c.x - way * r, c.y + r);
    if (way > 0.0f) {
        list->AddTriangleFilled(top, tip, foot, color);
    } else {
        list->AddTriangleFilled(foot, tip, top, color);
    }
    if (icon == ICON_FIRST || icon == ICON_LAST) {
        f32 x = c.x + way * (r + 1.5f);
        list->AddRectFilled(ImVec2(x - 1.0f, c.y - r), ImVec2(x + 1.0f, c.y + r), color);
    }
}

static bool icon_button(const char *id, Icon icon, bool lit, const char *what)
{
    if (lit) {
        ImGui::PushStyleColor(ImGuiCol_Button, color_of(0xC98A35));
    }
    ImVec2 at = ImGui::GetCursorScreenPos();
    f32 height = ImGui::GetFrameHeight();
    bool pressed = ImGui::Button(id, ImVec2(BUTTON_PX, height));
    draw_icon(icon, ImVec2(at.x + 0.5f * BUTTON_PX, at.y + 0.5f * height));
    if (lit) {
        ImGui::PopStyleColor();
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("%s", what);
    }
    ImGui::SameLine();
    return pressed;
}

static void play(TimelineBar *bar, const Hud *hud, bool backward)
{
    f64 speed = fabs(f64(hud->status.speed));
    bool runs_back = hud->status.speed < 0.0f;
    if (runs_back != backward) {
        bar_queue(bar, CONTROL_SPEED, backward ? -speed : speed);
    }
    bool running = !hud->status.paused && runs_back == backward;
    bar_queue(bar, running ? CONTROL_PAUSE : CONTROL_RESUME, 0.0);
}

static void draw_buttons(TimelineBar *bar, const Hud *hud)
{
    const MessageStatus *status = &hud->status;
    bool runs = !status->paused, back = status->speed < 0.0f;
    if (icon_button("##first", ICON_FIRST, false, "to the start (Ctrl+Home)")) {
        bar_seek(bar, hud, f64(status->first_tick));
    }
    if (icon_button("##back", runs && back ? ICON_PAUSE : ICON_BACK, runs && back,
                    "backwards (J; again: faster), K: stop")) {
        play(bar, hud, true);
    }
    if (icon_button("##play", runs && !back ? ICON_PAUSE : ICON_PLAY, runs && !back,
                    "play (L; again: faster), Space: stop")) {
        play(bar, hud, false);
    }
    if (icon_button("##last", ICON_LAST, false, "to the end (Ctrl+End)")) {
        bar_seek(bar, hud, f64(status->last_tick));
    }
    static const f32 speeds[] = {0.05f, 0.1f, 0.25f, 0.5f, 1.0f, 2.0f, 4.0f, 8.0f, 16.0f};
    char now[16];
    snprintf(now, sizeof now, "x%g", fabs(f64(status->speed)));
    ImGui::SetNextItemWidth(66.0f);
    if (ImGui::BeginCombo("##speed", now)) {
        for (f32 speed : speeds) {
            char text[16];
            snprintf(text, sizeof text, "x%g", f64(speed));
            if (ImGui::Selectable(text, fabsf(fabsf(status->speed) - speed) < 1e-3f)) {
                bar_queue(bar, CONTROL_SPEED, f64(back ? -speed : speed));
            }
        }
        ImGui::EndCombo();
    }
    ImGui::SameLine();
}

static void time_text(f64 seconds, char *out, size_t size)
{
    u32 minutes = u32(seconds / 60.0);
    f64 rest = seconds - 60.0 * minutes;
    if (minutes >= 60) {
        snprintf(out, size, "%u:%02u:%05.2f", minutes / 60, minutes % 60, rest);
    } else {
        snprintf(out, size, "%u:%05.2f", minutes, rest);
    }
}

static void draw_clock(const TimelineBar *bar, const Hud *hud)
{
    char now[32], whole[32];
    f64 tick = timeline_bar_tick(bar, hud);
    time_text(tick / rate_of(hud), now, sizeof now);
    time_text(f64(hud->status.last_tick) / rate_of(hud), whole, sizeof whole);
    ImGui::AlignTextToFramePadding();
    bool away = hud->status.own_time == OWN_TIME_AWAY;
    if (away) {
        ImGui::TextColored(color_of(COMMON_COLOR), "own time");
        ImGui::SameLine();
    }
    ImGui::TextColored(color_of(0xFFB347), "%s", now);
    ImGui::SameLine();
    ImGui::TextDisabled("/ %s   tick %.0f", whole, floor(tick));
    ImGui::SameLine();
    if (hud->status.loop_last > hud->status.loop_first) {
        ImGui::TextColored(color_of(0x8FD0FF), "loop %.2f to %.2f s",
                           f64(hud->status.loop_first) / rate_of(hud),
                           f64(hud->status.loop_last) / rate_of(hud));
        ImGui::SameLine();
    }
}

/* Leaves the common time, or returns to it. */
static void draw_own_time(TimelineBar *bar, const Hud *hud)
{
    bool away = hud->status.own_time == OWN_TIME_AWAY;
    if (hud->status.own_time == OWN_TIME_NONE || hud->role < ROLE_PARTICIPANT) {
        return;
    }
    char text[48], at[32];
    time_text(hud->common_tick / rate_of(hud), at, sizeof at);
    snprintf(text, sizeof text, away ? "return to %s###own" : "own time###own", at);
    ImGui::SameLine(ImGui::GetContentRegionMax().x - OWN_RIGHT_PX);
    if (away) {
        ImGui::PushStyleColor(ImGuiCol_Button, color_of(COMMON_COLOR, 0.55f));
    }
    if (ImGui::Button(text, ImVec2(OWN_PX, 0.0f))) {
        bar_queue(bar, away ? CONTROL_RETURN : CONTROL_LEAVE, 0.0);
    }
    if (away) {
        ImGui::PopStyleColor();
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip(away ? "back to the common time, where the others are (O)"
                               : "leave the common time and look around on your own (O)");
    }
    ImGui::SameLine();
}

static void draw_bookmark(TimelineBar *bar, Hud *hud, PanelsActions *actions)
{
    const f32 width = 110.0f;
    if (hud->role < ROLE_PARTICIPANT) {
        ImGui::NewLine();
        return;
    }
    if (hud->bookmarking && !bar->naming) {
        bar->naming = true;
        bar->bookmark_tick = u64(fmax(hud->tick, 0.0));
        snprintf(bar->name, sizeof bar->name, "bookmark");
        ImGui::OpenPopup("bookmark");
    }
    hud->bookmarking = false;
    ImGui::SameLine(ImGui::GetContentRegionMax().x - width);
    if (ImGui::Button("bookmark", ImVec2(width, 0.0f))) {
        hud->bookmarking = true;
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("name this moment (B)");
    }
    ImVec2 corner(ImGui::GetWindowPos().x + ImGui::GetWindowSize().x, ImGui::GetWindowPos().y);
    ImGui::SetNextWindowPos(ImVec2(corner.x, corner.y - 4.0f), 0, ImVec2(1.0f, 1.0f));
    if (ImGui::BeginPopup("bookmark")) {
        char at[32];
        time_text(f64(bar->bookmark_tick) / rate_of(hud), at, sizeof at);
        ImGui::TextDisabled("a name for %s; Enter keeps it", at);
        if (ImGui::IsWindowAppearing()) {
            ImGui::SetKeyboardFocusHere();
        }
        ImGui::SetNextItemWidth(260.0f);
        ImGui::InputText("##name", bar->name, sizeof bar->name, ImGuiInputTextFlags_AutoSelectAll);
        if (bar->escape) {
            ImGui::CloseCurrentPopup();
        } else if (bar->enter) {
            actions->bookmark = bar->name[0] != 0;
            actions->bookmark_tick = bar->bookmark_tick;
            memcpy(actions->bookmark_text, bar->name, sizeof actions->bookmark_text);
            ImGui::CloseCurrentPopup();
        }
        ImGui::EndPopup();
    } else {
        bar->naming = false;
    }
    bar->enter = bar->escape = false;
}

/* ---- the track ---- */

struct Track {
    ImVec2 at, size;
    f64 first, last; /* ticks */
};

static f32 x_of(const Track *track, f64 tick)
{
    f64 share = (tick - track->first) / (track->last - track->first);
    return track->at.x + track->size.x * f32(fmin(fmax(share, 0.0), 1.0));
}

static f64 tick_at(const Track *track, f32 x)
{
    f64 share = f64((x - track->at.x) / track->size.x);
    return track->first + (track->last - track->first) * fmin(fmax(share, 0.0), 1.0);
}

static u32 mark_color(u32 kind)
{
    static const u32 colors[MARK_KIND_COUNT] = {0,        0xFFB347, 0x8FD0FF, 0x7FD68A,
                                                0x93A0AD, 0xB9C3CD, 0xFF6B5E, 0xD9A8FF};
    return kind < MARK_KIND_COUNT ? colors[kind] : 0xFFFFFF;
}

static const char *mark_name(u32 kind)
{
    static const char *const names[MARK_KIND_COUNT] = {"",       "",       "",       "joins",
                                                       "leaves", "impact", "breaks", "reset"};
    return kind < MARK_KIND_COUNT ? names[kind] : "";
}

static void draw_mark(const Track *track, const SurveyMark *mark)
{
    ImDrawList *list = ImGui::GetWindowDrawList();
    ImU32 color = ImGui::GetColorU32(color_of(mark_color(mark->kind)));
    f32 x = floorf(x_of(track, f64(mark->tick))) + 0.5f;
    f32 top = track->at.y, foot = track->at.y + track->size.y;
    if (mark->kind == MARK_BOOKMARK) {
        list->AddLine(ImVec2(x, top), ImVec2(x, foot), color, 1.5f);
        list->AddTriangleFilled(ImVec2(x, top), ImVec2(x + 8.0f, top + 4.0f), ImVec2(x, top + 8.0f),
                                color);
    } else if (mark->kind == MARK_IMPACT) {
        list->AddLine(ImVec2(x, foot - 6.0f), ImVec2(x, foot - 1.0f), color, 1.0f);
    } else {
        list->AddLine(ImVec2(x, foot - 11.0f), ImVec2(x, foot - 1.0f), color, 2.0f);
    }
}

/* The mark at the pointer: bookmarks before others, then the nearest. */
static const SurveyMark *mark_near(const Track *track, const MessageSurvey *survey, f32 x)
{
    const SurveyMark *best = nullptr;
    f32 best_px = NEAR_PX;
    for (u32 i = 0; survey && i < survey->mark_count; i++) {
        const SurveyMark *mark = &survey->marks[i];
        f32 px = fabsf(x_of(track, f64(mark->tick)) - x);
        bool flag = mark->kind == MARK_BOOKMARK;
        px -= flag ? NEAR_PX : 0.0f;
        if (px < best_px && (!flag || px < 0.0f)) {
            best = mark;
            best_px = px;
        }
    }
    return best;
}

static void draw_track(const TimelineBar *bar, const Hud *hud, const Track *track)
{
    ImDrawList *list = ImGui::GetWindowDrawList();
    ImVec2 end(track->at.x + track->size.x, track->at.y + track->size.y);
    f32 x = x_of(track, timeline_bar_tick(bar, hud));
    list->AddRectFilled(track->at, end, ImGui::GetColorU32(ImGuiCol_FrameBg), 4.0f);
    list->AddRectFilled(track->at, ImVec2(x, end.y), ImGui::GetColorU32(color_of(0xC98A35, 0.35f)),
                        4.0f);
    f64 loop[2] = {f64(hud->status.loop_first), f64(hud->status.loop_last)};
    if (bar->looping) {
        loop[0] = fmin(bar->from_tick, bar->tick);
        loop[1] = fmax(bar->from_tick, bar->tick);
    }
    if (loop[1] > loop[0]) {
        list->AddRectFilled(ImVec2(x_of(track, loop[0]), track->at.y),
                            ImVec2(x_of(track, loop[1]), end.y),
                            ImGui::GetColorU32(color_of(0x8FD0FF, 0.30f)));
    }
    for (u32 i = 0; hud->survey && i < hud->survey->mark_count; i++) {
        draw_mark(track, &hud->survey->marks[i]);
    }
    list->AddLine(ImVec2(x, track->at.y - 2.0f), ImVec2(x, end.y + 2.0f),
                  ImGui::GetColorU32(color_of(0xFFFFFF)), 2.0f);
    list->AddCircleFilled(ImVec2(x, track->at.y - 2.0f), 4.0f,
                          ImGui::GetColorU32(color_of(0xFFFFFF)));
}

/* Marker of the common time, for a user who left it. */
static void draw_common(const Hud *hud, const Track *track)
{
    if (hud->status.own_time != OWN_TIME_AWAY) {
        return;
    }
    ImDrawList *list = ImGui::GetWindowDrawList();
    ImU32 color = ImGui::GetColorU32(color_of(COMMON_COLOR));
    f32 x = x_of(track, hud->common_tick), foot = track->at.y + track->size.y;
    ImVec2 end(track->at.x + track->size.x, foot);
    list->AddRect(track->at, end, color, 4.0f);
    list->AddLine(ImVec2(x, track->at.y), ImVec2(x, foot + 2.0f), color, 2.0f);
    list->AddTriangleFilled(ImVec2(x, foot - 7.0f), ImVec2(x + 5.0f, foot + 3.0f),
                            ImVec2(x - 5.0f, foot + 3.0f), color);
}

static void draw_tip(const Hud *hud, const Track *track, f32 x)
{
    char at[32];
    const SurveyMark *mark = mark_near(track, hud->survey, x);
    f64 tick = mark ? f64(mark->tick) : tick_at(track, x);
    time_text(tick / rate_of(hud), at, sizeof at);
    /* Above the bar, where it covers no marks. */
    ImGui::SetNextWindowPos(ImVec2(x, ImGui::GetWindowPos().y - 4.0f), 0, ImVec2(0.5f, 1.0f));
    if (mark) {
        bool both = mark_name(mark->kind)[0] != 0 && mark->text[0] != 0;
        ImGui::SetTooltip("%s  %s%s%s", at, mark->text, both ? " " : "", mark_name(mark->kind));
    } else {
        ImGui::SetTooltip("%s%s", at, hud_moves_time(hud) ? "\nShift+drag: loop" : "");
    }
}

static void scrub_begin(TimelineBar *bar, const Hud *hud, const Track *track, f32 x)
{
    const SurveyMark *mark = mark_near(track, hud->survey, x);
    bar->from_tick = bar->tick = tick_at(track, x);
    if (ImGui::GetIO().KeyShift) {
        bar->looping = true;
        return;
    }
    if (mark && mark->kind == MARK_BOOKMARK) {
        bar->from_tick = bar->tick = f64(mark->tick);
    }
    bar->scrubbing = true;
    bar->was_moving = !hud->status.paused;
    if (bar->was_moving) {
        bar_queue(bar, CONTROL_PAUSE, 0.0);
    }
    bar_seek(bar, hud, floor(bar->tick));
}

static void scrub_end(TimelineBar *bar, const Hud *hud)
{
    if (bar->looping) {
        f64 first = fmin(bar->from_tick, bar->tick), last = fmax(bar->from_tick, bar->tick);
        bool any = last - first >= 2.0;
        bar_queue(bar, CONTROL_LOOP_FIRST, any ? first / rate_of(hud) : 0.0);
        bar_queue(bar, CONTROL_LOOP_LAST, any ? last / rate_of(hud) : 0.0);
    } else {
        if (floor(bar->tick) != bar->sent_tick) {
            bar_seek(bar, hud, floor(bar->tick));
        }
        if (bar->was_moving) {
            bar_queue(bar, CONTROL_RESUME, 0.0);
        }
    }
    bar->looping = bar->scrubbing = false;
}

/* Pressing seeks, dragging scrubs, with shift it sets a loop. */
static void use_track(TimelineBar *bar, const Hud *hud, const Track *track)
{
    ImGui::InvisibleButton("##track", track->size);
    f32 x = ImGui::GetIO().MousePos.x;
    if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
        draw_tip(hud, track, x);
    }
    if (!hud_moves_time(hud)) {
        bar->looping = bar->scrubbing = false;
        return;
    }
    if (ImGui::IsItemActivated()) {
        scrub_begin(bar, hud, track, x);
    } else if (ImGui::IsItemActive() && (bar->scrubbing || bar->looping)) {
        /* A press on a bookmark stays there until the pointer is dragged away. */
        if (fabsf(ImGui::GetMouseDragDelta(0, 0.0f).x) >= 1.0f) {
            bar->tick = tick_at(track, x);
        }
        bool due = hud->now_s - bar->sent_s >= SEEK_GAP_S && bar->queued == 0;
        if (bar->scrubbing && due && floor(bar->tick) != bar->sent_tick) {
            bar_seek(bar, hud, floor(bar->tick));
        }
    } else if (bar->scrubbing || bar->looping) {
        scrub_end(bar, hud);
    }
}

void timeline_bar_draw(TimelineBar *bar, Hud *hud, PanelsActions *actions, ImVec2 size,
                       ImVec4 *area)
{
    if (timeline_bar_height(hud) <= 0.0f) {
        bar->queued = 0;
        bar->scrubbing = bar->looping = false;
        return;
    }
    ImVec2 at(MARGIN_PX, size.y - BAR_PX - MARGIN_PX);
    ImVec2 all(fmaxf(size.x - 2.0f * MARGIN_PX, 200.0f), BAR_PX);
    ImGui::SetNextWindowPos(at);
    ImGui::SetNextWindowSize(all);
    ImGui::Begin("timeline", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoScrollWithMouse);
    if (hud_moves_time(hud)) {
        draw_buttons(bar, hud);
    }
    draw_clock(bar, hud);
    draw_own_time(bar, hud);
    draw_bookmark(bar, hud, actions);
    Track track = {ImGui::GetCursorScreenPos(), ImVec2(ImGui::GetContentRegionAvail().x, TRACK_PX),
                   f64(hud->status.first_tick), f64(hud->status.last_tick)};
    draw_track(bar, hud, &track);
    draw_common(hud, &track);
    use_track(bar, hud, &track);
    *area = ImVec4(at.x, at.y, at.x + all.x, at.y + all.y);
    ImGui::End();
    if (bar->queued > 0 && actions->control == CONTROL_NONE) {
        actions->control = bar->queue[0].kind;
        actions->control_value = bar->queue[0].value;
        memmove(bar->queue, bar->queue + 1, --bar->queued * sizeof bar->queue[0]);
    }
}
