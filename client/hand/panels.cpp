/*
 * panels.cpp: Dear ImGui: the HUD, banner, toasts, chat, parameters, probes, time control, help.
 */
#include "client/hand/panels.h"

#include "client/hand/timeline_bar.h"

#include <backends/imgui_impl_opengl3.h>
#include <backends/imgui_impl_sdl.h>
#include <imgui.h>

#include <SDL2/SDL.h>
#include <math.h>
#include <new>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SIDE_PX   268.0f /* width of the side panel */
#define NAME_PX   138.0f /* of a parameter's name, when its slider stands beside it */
#define REVERT_PX 16.0f
#define SURE_S    3.0 /* in which a second click is a yes */
#define PLOT_PX   24.0f

struct Panels {
    ImGuiContext *context;
    SDL_Window *window;
    char line[TEXT_BYTES_MAX];    /* being typed */
    f32 edits[PARAMETERS_MAX][4]; /* of sliders in use */
    bool editing[PARAMETERS_MAX]; /* a slider of the parameter is held */
    TimelineBar bar;
    char save_name[NAME_BYTES_MAX]; /* being typed, */
    bool saving, save;              /* in a line that is active; Enter was pressed there */
    u32 saved;
    /* What the next click within a moment does to this save: nothing is taken back. */
    const char *armed; /* its command; NULL: nothing */
    char armed_save[NAME_BYTES_MAX];
    f64 armed_until_s;
    bool chatting;
    bool send, cancel; /* Enter or Escape was pressed in the chat line */
    ImVec2 mouse;      /* px, by the newest event; the backend asks the display, which may lag */
    bool mouse_known;
    /* x0, y0, x1, y1 of the panels that take the mouse: side, chat line, timeline */
    ImVec4 areas[3];
};

/* A user's colour, light enough to read on a dark panel. */
static ImVec4 readable(u32 rgb)
{
    ImVec4 c = color_of(rgb);
    return ImVec4(0.5f + 0.5f * c.x, 0.5f + 0.5f * c.y, 0.5f + 0.5f * c.z, 1.0f);
}

void panels_style()
{
    ImGui::StyleColorsDark();
    ImGuiStyle &style = ImGui::GetStyle();
    style.WindowRounding = 7.0f;
    style.FrameRounding = 4.0f;
    style.GrabRounding = 4.0f;
    style.WindowBorderSize = 0.0f;
    style.WindowPadding = ImVec2(11.0f, 9.0f);
    style.ItemSpacing = ImVec2(8.0f, 5.0f);
    ImVec4 *c = style.Colors;
    c[ImGuiCol_WindowBg] = color_of(0x14191F, 0.82f);
    c[ImGuiCol_TitleBg] = color_of(0x14191F, 0.80f);
    c[ImGuiCol_TitleBgActive] = color_of(0x1D2630, 0.90f);
    c[ImGuiCol_TitleBgCollapsed] = color_of(0x14191F, 0.60f);
    c[ImGuiCol_FrameBg] = color_of(0x2B3540, 0.80f);
    c[ImGuiCol_FrameBgHovered] = color_of(0x3A4755, 0.90f);
    c[ImGuiCol_FrameBgActive] = color_of(0x435465, 1.0f);
    c[ImGuiCol_SliderGrab] = color_of(0xB0762A, 0.95f);
    c[ImGuiCol_SliderGrabActive] = color_of(0xD08E38, 1.0f);
    c[ImGuiCol_Button] = color_of(0x34414F, 0.90f);
    c[ImGuiCol_ButtonHovered] = color_of(0x4A5C70, 1.0f);
    c[ImGuiCol_ButtonActive] = color_of(0xC98A35, 1.0f);
    c[ImGuiCol_PlotLines] = color_of(0xFFB347, 1.0f);
    c[ImGuiCol_Header] = color_of(0x34414F, 0.90f);
    c[ImGuiCol_Text] = color_of(0xE9EEF3, 1.0f);
    c[ImGuiCol_TextDisabled] = color_of(0x93A0AD, 1.0f);
}

void panels_fonts()
{
    /* A system font reads better and has more letters; the built-in one is always there. */
    static const char path[] = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf";
    static const ImWchar ranges[] = {0x20, 0x24F, 0x370, 0x52F, 0x2000, 0x206F, 0x2190, 0x21FF, 0};
    ImFontAtlas *fonts = ImGui::GetIO().Fonts;
    SDL_RWops *file = SDL_RWFromFile(path, "rb");
    if (file) {
        SDL_RWclose(file);
        fonts->AddFontFromFileTTF(path, 14.0f, nullptr, ranges);
    } else {
        fonts->AddFontDefault();
    }
}

Panels *panels_create(void *window, void *context)
{
    Panels *panels = new (std::nothrow) Panels();
    if (!panels) {
        return nullptr;
    }
    panels->window = static_cast<SDL_Window *>(window);
    panels->context = ImGui::CreateContext();
    ImGuiIO &io = ImGui::GetIO();
    io.IniFilename = nullptr;
    panels_style();
    panels_fonts();
    ImGui_ImplSDL2_InitForOpenGL(panels->window, context);
    ImGui_ImplOpenGL3_Init("#version 330 core");
    return panels;
}

void panels_destroy(Panels *panels)
{
    if (panels) {
        ImGui_ImplOpenGL3_Shutdown();
        ImGui_ImplSDL2_Shutdown();
        ImGui::DestroyContext(panels->context);
        delete panels;
    }
}

bool panels_event(Panels *panels, const void *event)
{
    const SDL_Event *e = static_cast<const SDL_Event *>(event);
    ImGui_ImplSDL2_ProcessEvent(e);
    /* From the event, not from the state at the next frame: a quick tap would be missed. */
    if (panels->chatting && e->type == SDL_KEYDOWN) {
        SDL_Keycode key = e->key.keysym.sym;
        panels->send = panels->send || key == SDLK_RETURN || key == SDLK_KP_ENTER;
        panels->cancel = panels->cancel || key == SDLK_ESCAPE;
    }
    if (panels->saving && e->type == SDL_KEYDOWN) {
        SDL_Keycode key = e->key.keysym.sym;
        panels->save = panels->save || key == SDLK_RETURN || key == SDLK_KP_ENTER;
    }
    if (panels->bar.naming && e->type == SDL_KEYDOWN) {
        SDL_Keycode key = e->key.keysym.sym;
        panels->bar.enter = panels->bar.enter || key == SDLK_RETURN || key == SDLK_KP_ENTER;
        panels->bar.escape = panels->bar.escape || key == SDLK_ESCAPE;
    }
    switch (e->type) {
    case SDL_MOUSEMOTION:
        panels->mouse = ImVec2(f32(e->motion.x), f32(e->motion.y));
        panels->mouse_known = true;
        return false;
    case SDL_MOUSEBUTTONDOWN:
        panels->mouse = ImVec2(f32(e->button.x), f32(e->button.y));
        panels->mouse_known = true;
        return panels_want_mouse(panels);
    case SDL_WINDOWEVENT:
        panels->mouse_known = panels->mouse_known && e->window.event != SDL_WINDOWEVENT_LEAVE;
        return false;
    case SDL_MOUSEWHEEL:
        return panels_want_mouse(panels);
    case SDL_KEYDOWN:
    case SDL_TEXTINPUT:
        return panels_want_keys(panels);
    default:
        return false;
    }
}

bool panels_want_mouse(const Panels *panels)
{
    /* The library's state is that of its last frame; if frames are slow the pointer has moved, and
     * a press on a slider would also rotate the camera. */
    for (const ImVec4 &area : panels->areas) {
        if (panels->mouse_known && panels->mouse.x >= area.x && panels->mouse.x < area.z &&
            panels->mouse.y >= area.y && panels->mouse.y < area.w) {
            return true;
        }
    }
    return ImGui::GetIO().WantCaptureMouse;
}

/* Records where the window being built takes the mouse. */
static void note_area(Panels *panels, u32 which)
{
    ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    panels->areas[which] = ImVec4(at.x, at.y, at.x + size.x, at.y + size.y);
}

bool panels_want_keys(const Panels *panels)
{
    return ImGui::GetIO().WantTextInput || panels->chatting || panels->bar.naming;
}

static const ImGuiWindowFlags static_flags =
    ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoNav |
    ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoInputs;

/* Returns its lower right corner. */
static ImVec2 draw_numbers(const Hud *hud)
{
    ImGui::SetNextWindowPos(ImVec2(10.0f, 10.0f));
    ImGui::Begin("numbers", nullptr, static_flags);
    if (hud->scene) {
        ImGui::TextColored(color_of(0xFFB347), "%s", hud->scene->name);
        ImGui::SameLine();
        f64 rate = hud->tick_rate ? f64(hud->tick_rate) : 60.0;
        f64 seconds = hud->tick / rate;
        ImGui::Text("%d:%05.2f", int(seconds / 60.0), fmod(seconds, 60.0));
        ImGui::SameLine();
        ImGui::TextDisabled(hud->status.replay ? "tick %.0f, recorded" : "tick %.0f",
                            floor(hud->tick));
    }
    if (hud->fps > 0.0) {
        ImGui::Text("%.0f fps  ", hud->fps);
        ImGui::SameLine();
    }
    ImGui::Text("ping %.0f ms   loss %.1f %%", hud->rtt_ms, 100.0 * hud->loss);
    ImGui::Text("%.1f kB/s   delay %.0f ms", hud->bytes_in_per_s / 1e3, hud->delay_ms);
    if (hud->coarse > 0.0) {
        ImGui::TextDisabled("narrow link: %.0f %% in full detail", 100.0 * (1.0 - hud->coarse));
    }
    if (hud->user_count > 0) {
        ImGui::Separator();
    }
    for (u32 i = 0; i < hud->user_count && i < 12; i++) {
        const UserInfo *user = &hud->users[i];
        ImVec2 at = ImGui::GetCursorScreenPos();
        f32 half = 0.5f * ImGui::GetTextLineHeight();
        ImGui::GetWindowDrawList()->AddCircleFilled(ImVec2(at.x + half, at.y + half), 4.5f,
                                                    ImGui::GetColorU32(color_of(user->color)));
        ImGui::SetCursorScreenPos(ImVec2(at.x + 2.0f * half + 4.0f, at.y));
        ImGui::Text("%s%s", user->name, user->id == hud->user ? " (you)" : "");
        ImGui::SameLine();
        ImGui::TextDisabled(user->own_time ? "%s, own time" : "%s", role_name(user->role));
    }
    if (hud->user_count > 12) {
        ImGui::TextDisabled("and %u more", hud->user_count - 12);
    }
    ImVec2 at = ImGui::GetWindowPos(), extent = ImGui::GetWindowSize();
    ImGui::End();
    return ImVec2(at.x + extent.x, at.y + extent.y);
}

static bool has_side(const Hud *hud)
{
    bool time = hud->role >= ROLE_OPERATOR && !hud->status.replay;
    bool something = hud->parameter_count + hud->probe_count > 0 || hud->dyed || time;
    return hud->show_panels && hud->scene && something;
}

/* Of the area beside the side panel. */
static f32 middle(const Hud *hud, ImVec2 size)
{
    return 0.5f * (1.0f - hud->side) * size.x;
}

/* Position of a line of text at height *y: in the middle, or beside the numbers (whose lower right
 * corner is `beside`), or in a narrow window below them. */
static ImVec2 line_place(const Hud *hud, ImVec2 size, ImVec2 beside, const char *text, f32 scale,
                         f32 *y)
{
    f32 half = 0.5f * scale * ImGui::CalcTextSize(text).x + ImGui::GetStyle().WindowPadding.x;
    f32 x = middle(hud, size), right = (1.0f - hud->side) * size.x;
    if (*y < beside.y && x - half < beside.x + 8.0f) {
        x = beside.x + 8.0f + half;
        if (x + half > right) {
            x = half + 10.0f;
            *y = beside.y + 8.0f;
        }
    }
    return ImVec2(x, *y);
}

static void draw_banner(const Hud *hud, ImVec2 size, ImVec2 beside)
{
    f32 y = 12.0f;
    if (hud->error_text[0]) {
        f32 scale = hud->live ? 1.0f : 1.35f;
        ImGui::SetNextWindowPos(line_place(hud, size, beside, hud->error_text, scale, &y), 0,
                                ImVec2(0.5f, 0.0f));
        ImGui::Begin("banner", nullptr, static_flags);
        ImGui::SetWindowFontScale(scale);
        ImGui::TextColored(color_of(hud->error_color), "%s", hud->error_text);
        ImGui::End();
        y += 42.0f;
    }
    for (u32 i = 0; i < hud->toast_count; i++) {
        const HudText *toast = &hud->toasts[i];
        char name[32];
        snprintf(name, sizeof name, "toast %u", i);
        f32 alpha = f32(fmin(1.0, (toast->until_s - hud->now_s) * 2.0));
        ImGui::PushStyleVar(ImGuiStyleVar_Alpha, f32_clamp(alpha, 0.05f, 1.0f));
        ImGui::SetNextWindowPos(line_place(hud, size, beside, toast->text, 1.0f, &y), 0,
                                ImVec2(0.5f, 0.0f));
        ImGui::Begin(name, nullptr, static_flags);
        ImGui::TextColored(color_of(toast->color), "%s", toast->text);
        ImGui::End();
        ImGui::PopStyleVar();
        y += 36.0f;
    }
}

static void draw_labels(const Hud *hud)
{
    ImDrawList *list = ImGui::GetBackgroundDrawList();
    for (u32 i = 0; i < hud->label_count; i++) {
        const HudLabel *label = &hud->labels[i];
        ImVec2 size = ImGui::CalcTextSize(label->text);
        ImVec2 at(floorf(label->x - 0.5f * size.x), floorf(label->y - size.y - 14.0f));
        list->AddRectFilled(ImVec2(at.x - 6.0f, at.y - 3.0f),
                            ImVec2(at.x + size.x + 6.0f, at.y + size.y + 3.0f),
                            ImGui::GetColorU32(color_of(0x14191F, 0.72f)), 5.0f);
        list->AddText(at, ImGui::GetColorU32(readable(label->color)), label->text);
    }
}

static void draw_chat(Panels *panels, Hud *hud, PanelsActions *actions, ImVec2 size)
{
    if (hud->chat_count > 0) {
        f32 y = size.y - (hud->chatting ? 54.0f : 12.0f);
        ImGui::SetNextWindowPos(ImVec2(10.0f, y), 0, ImVec2(0.0f, 1.0f));
        ImGui::Begin("chat lines", nullptr, static_flags);
        for (u32 i = 0; i < hud->chat_count; i++) {
            ImGui::TextColored(readable(hud->chat[i].color), "%s", hud->chat[i].text);
        }
        ImGui::End();
    }
    if (hud->chatting) {
        ImGui::SetNextWindowPos(ImVec2(10.0f, size.y - 10.0f), 0, ImVec2(0.0f, 1.0f));
        ImGui::SetNextWindowSize(ImVec2(fminf(420.0f, size.x - 20.0f), 0.0f));
        ImGui::Begin("chat", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove);
        if (!panels->chatting) {
            ImGui::SetKeyboardFocusHere();
        }
        ImGui::SetNextItemWidth(-1.0f);
        ImGui::InputTextWithHint("##line", "say something", panels->line, sizeof panels->line);
        if (panels->send) {
            actions->chat = panels->line[0] != 0;
            memcpy(actions->text, panels->line, sizeof actions->text);
            panels->line[0] = 0;
        }
        if (panels->send || panels->cancel || (panels->chatting && ImGui::IsItemDeactivated())) {
            hud->chatting = false;
        }
        note_area(panels, 1);
        ImGui::End();
    }
    panels->chatting = hud->chatting;
    panels->send = panels->cancel = false;
}

static void control(PanelsActions *actions, ControlKind kind, f64 value)
{
    actions->control = kind;
    actions->control_value = value;
}

/* Of a live world; a recording has the timeline bar. */
static void draw_time(const Hud *hud, PanelsActions *actions)
{
    if (hud->role < ROLE_OPERATOR || hud->status.replay) {
        return;
    }
    ImGui::TextDisabled("time");
    if (ImGui::Button(hud->status.paused ? "resume" : "pause")) {
        control(actions, hud->status.paused ? CONTROL_RESUME : CONTROL_PAUSE, 0.0);
    }
    ImGui::SameLine();
    if (ImGui::Button("step")) {
        control(actions, CONTROL_STEP, 1.0);
    }
    ImGui::SameLine();
    if (ImGui::Button("reset")) {
        control(actions, CONTROL_RESET, 0.0);
    }
    if (hud->status.back_s > 0.0f) {
        static const f32 backs[] = {2.0f, 10.0f, 60.0f};
        ImGui::TextDisabled("try again");
        for (u32 i = 0; i < PL_COUNT(backs); i++) {
            char text[24];
            snprintf(text, sizeof text, "%g s back", f64(backs[i]));
            ImGui::BeginDisabled(backs[i] > hud->status.back_s);
            if (i > 0) {
                ImGui::SameLine();
            }
            if (ImGui::SmallButton(text)) {
                control(actions, CONTROL_BACK, f64(backs[i]));
            }
            ImGui::EndDisabled();
        }
    }
    static const f32 speeds[] = {0.1f, 0.25f, 0.5f, 1.0f, 2.0f};
    for (u32 i = 0; i < PL_COUNT(speeds); i++) {
        char text[16];
        snprintf(text, sizeof text, "x%g", f64(speeds[i]));
        if (i > 0) {
            ImGui::SameLine();
        }
        bool now = fabsf(hud->status.speed - speeds[i]) < 0.01f;
        if (now) {
            ImGui::PushStyleColor(ImGuiCol_Button, color_of(0xC98A35));
        }
        if (ImGui::SmallButton(text)) {
            control(actions, CONTROL_SPEED, f64(speeds[i]));
        }
        if (now) {
            ImGui::PopStyleColor();
        }
    }
    ImGui::Spacing();
}

/* Saves are chat commands, which the console and scripts can use, too. */
static void save_command(PanelsActions *actions, const char *command, const char *name)
{
    actions->chat = true;
    snprintf(actions->text, sizeof actions->text, "/%s %s", command, name);
}

/* A button that acts on its second click: the first one makes it ask. */
static void draw_sure(Panels *panels, const SaveInfo *save, const char *command, const char *label,
                      const char *question, const char *tip, PanelsActions *actions)
{
    bool armed = panels->armed == command && strcmp(panels->armed_save, save->name) == 0 &&
                 ImGui::GetTime() < panels->armed_until_s;
    char text[48];
    snprintf(text, sizeof text, "%s###%s", armed ? question : label, command);
    if (armed) {
        ImGui::PushStyleColor(ImGuiCol_Button, color_of(0xC98A35));
        ImGui::PushStyleColor(ImGuiCol_ButtonHovered, color_of(0xC98A35));
    }
    bool clicked = ImGui::SmallButton(text);
    if (armed) {
        ImGui::PopStyleColor(2);
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("%s", tip);
    }
    if (clicked && armed) {
        save_command(actions, command, save->name);
        panels->armed = nullptr;
    } else if (clicked) {
        panels->armed = command;
        memcpy(panels->armed_save, save->name, sizeof panels->armed_save);
        panels->armed_until_s = ImGui::GetTime() + SURE_S;
    }
}

static void draw_save(Panels *panels, const SaveInfo *save, PanelsActions *actions)
{
    static const char load[] = "load", unsave[] = "unsave";
    draw_sure(panels, save, load, "load", "load?", "replaces the running world for all", actions);
    ImGui::SameLine();
    draw_sure(panels, save, unsave, "x", "remove?", "removes it for good", actions);
    ImGui::SameLine();
    /* A click copies the name for the next save, which then replaces it. */
    if (ImGui::Selectable(save->name, false, 0, ImGui::CalcTextSize(save->name))) {
        memcpy(panels->save_name, save->name, sizeof panels->save_name);
    }
    if (ImGui::IsItemHovered()) {
        char when[32] = "at an unknown time";
        time_t unix_s = time_t(save->unix_s);
        struct tm local;
        if (localtime_r(&unix_s, &local)) { /* the server may say anything */
            strftime(when, sizeof when, "%Y-%m-%d %H:%M", &local);
        }
        bool small = save->bytes < 1000000;
        ImGui::SetTooltip("saved %s, %.*f %s; click: the name for the next save", when,
                          small ? 0 : 1, f64(save->bytes) * (small ? 1e-3 : 1e-6),
                          small ? "kB" : "MB");
    }
    ImGui::SameLine();
    ImGui::TextDisabled("%s", save->scene);
}

static bool is_saved(const Hud *hud, const char *name)
{
    for (u32 i = 0; i < hud->save_count; i++) {
        if (strcmp(hud->saves[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Worlds saved by operators. */
static void draw_saves(Panels *panels, const Hud *hud, PanelsActions *actions)
{
    bool enter = panels->save;
    panels->save = panels->saving = false;
    if (hud->role < ROLE_OPERATOR || !hud->saves) {
        return;
    }
    ImGui::TextDisabled("saved worlds");
    const char *label = is_saved(hud, panels->save_name) ? "replace###save" : "save###save";
    f32 label_px = ImGui::CalcTextSize(label, nullptr, true).x;
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - label_px - 18.0f);
    ImGui::PushID(int(panels->saved)); /* a new line each time: an active one keeps its text */
    ImGui::InputTextWithHint("##save", "name", panels->save_name, sizeof panels->save_name);
    panels->saving = ImGui::IsItemActive();
    ImGui::PopID();
    ImGui::SameLine();
    ImGui::BeginDisabled(panels->save_name[0] == 0);
    bool save = ImGui::Button(label);
    ImGui::EndDisabled();
    if ((save || enter) && panels->save_name[0] != 0) {
        save_command(actions, "save", panels->save_name);
        panels->save_name[0] = 0;
        panels->saved++;
    }
    f32 row = ImGui::GetTextLineHeightWithSpacing();
    if (hud->save_count > 0) {
        ImGui::BeginChild("saves", ImVec2(0.0f, row * fminf(f32(hud->save_count), 5.0f)));
        for (u32 i = 0; i < hud->save_count; i++) {
            ImGui::PushID(int(i));
            draw_save(panels, &hud->saves[i], actions);
            ImGui::PopID();
        }
        ImGui::EndChild();
    }
    ImGui::Spacing();
}

static void send_parameter(PanelsActions *actions, u32 parameter, const f32 values[4])
{
    actions->set = true;
    actions->parameter = parameter;
    memcpy(actions->values, values, sizeof actions->values);
}

/* A button that resets a parameter to its value in the scene; keeps its space when hidden. */
static void draw_revert(const ScalarInfo *info, const f32 values[4], u32 parameter,
                        PanelsActions *actions)
{
    ImGui::SameLine(ImGui::GetContentRegionMax().x - REVERT_PX);
    if (memcmp(values, info->initial, info->components * sizeof(f32)) == 0) {
        ImGui::Dummy(ImVec2(REVERT_PX, 0.0f));
        return;
    }
    if (ImGui::Button("x", ImVec2(REVERT_PX, 0.0f))) {
        send_parameter(actions, parameter, info->initial);
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("back to %.4g %s", f64(info->initial[0]), info->unit);
    }
}

static void draw_parameter(Panels *panels, const Hud *hud, u32 i, PanelsActions *actions)
{
    const ScalarInfo *info = &hud->parameters[i];
    f32 *edit = panels->edits[i];
    if (!panels->editing[i]) {
        memcpy(edit, hud->parameter_values[i], sizeof panels->edits[i]);
    }
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted(info->name);
    if (strlen(info->unit) > 1) {
        ImGui::SameLine();
        ImGui::TextDisabled("%s", info->unit);
    }
    /* A single number is beside its name, a vector on the next line. */
    if (info->components == 1) {
        ImGui::SameLine(NAME_PX);
    }
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - REVERT_PX - 4.0f);
    if (ImGui::SliderScalarN("##value", ImGuiDataType_Float, edit, info->components, &info->min,
                             &info->max, "%.3g", ImGuiSliderFlags_AlwaysClamp)) {
        send_parameter(actions, i, edit);
    }
    panels->editing[i] = ImGui::IsItemActive();
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled) && !ImGui::IsItemActive()) {
        ImGui::SetTooltip("%s: %.4g to %.4g %s\nCtrl+click to type a number", info->name,
                          f64(info->min), f64(info->max), info->unit);
    }
    draw_revert(info, hud->parameter_values[i], i, actions);
}

static void draw_parameters(Panels *panels, const Hud *hud, PanelsActions *actions)
{
    if (hud->parameter_count == 0) {
        return;
    }
    ImGui::TextDisabled("parameters");
    bool allowed = hud->role >= ROLE_OPERATOR && !hud->status.replay;
    if (!allowed) {
        ImGui::BeginDisabled();
    }
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(4.0f, 1.0f));
    for (u32 i = 0; i < hud->parameter_count; i++) {
        ImGui::PushID(int(i));
        draw_parameter(panels, hud, i, actions);
        ImGui::PopID();
    }
    ImGui::PopStyleVar();
    if (!allowed) {
        ImGui::EndDisabled();
    }
    ImGui::Spacing();
}

/* Colour of what the hand adds to dyed smoke. */
static void draw_dye(const Hud *hud, PanelsActions *actions)
{
    if (!hud->dyed || hud->role < ROLE_PARTICIPANT || hud->status.replay) {
        return;
    }
    f32 color[3] = {f32(hud->dye >> 16 & 0xFF) / 255.0f, f32(hud->dye >> 8 & 0xFF) / 255.0f,
                    f32(hud->dye & 0xFF) / 255.0f};
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("dye");
    ImGui::SameLine(NAME_PX);
    if (ImGui::ColorEdit3("##dye", color, ImGuiColorEditFlags_NoInputs)) {
        actions->dye = true;
        for (f32 c : color) {
            actions->color = actions->color << 8 | u32(f32_clamp(c, 0.0f, 1.0f) * 255.0f + 0.5f);
        }
    }
    if (ImGui::IsItemHovered()) {
        ImGui::SetTooltip("colour of the smoke that you add while you drag");
    }
    ImGui::Spacing();
}

/* The course of a probe over a recording, with a cursor at the shown tick. */
static void draw_course(const Hud *hud, u32 probe, const char *unit)
{
    const MessageSurvey *survey = hud->survey;
    const f32 *values = survey->values + size_t(probe) * survey->samples;
    ImVec2 at = ImGui::GetCursorScreenPos();
    ImVec2 capacity(ImGui::GetContentRegionAvail().x, PLOT_PX);
    ImGui::Dummy(capacity);
    f32 low, high;
    hud_range(values, survey->samples, &low, &high);
    ImDrawList *list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, ImVec2(at.x + capacity.x, at.y + capacity.y),
                        ImGui::GetColorU32(ImGuiCol_FrameBg), 4.0f);
    ImVec2 line[SURVEY_SAMPLES_MAX];
    f32 left = at.x + 3.0f, width = capacity.x - 6.0f;
    for (u32 i = 0; i < survey->samples; i++) {
        f32 y = (values[i] - low) / (high - low);
        line[i] = ImVec2(left + width * f32(i) / f32(u32_max(survey->samples - 1, 1)),
                         at.y + capacity.y - 3.0f - (capacity.y - 6.0f) * y);
    }
    list->AddPolyline(line, int(survey->samples), ImGui::GetColorU32(ImGuiCol_PlotLines), 0, 1.5f);
    f64 span = f64(survey->last_tick - survey->first_tick);
    f64 share = span > 0.0 ? (hud->tick - f64(survey->first_tick)) / span : 0.0;
    f32 x = left + width * f32(fmin(fmax(share, 0.0), 1.0));
    list->AddLine(ImVec2(x, at.y + 1.0f), ImVec2(x, at.y + capacity.y - 1.0f),
                  ImGui::GetColorU32(color_of(0xFFFFFF, 0.9f)), 1.5f);
    if (ImGui::IsItemHovered()) {
        char from[48], to[48], here[48];
        f32 place = (ImGui::GetIO().MousePos.x - left) / width;
        u32 i = u32(f32_clamp(place, 0.0f, 1.0f) * f32(survey->samples - 1) + 0.5f);
        hud_quantity(f64(low), unit, from, sizeof from);
        hud_quantity(f64(high), unit, to, sizeof to);
        hud_quantity(f64(values[i]), unit, here, sizeof here);
        ImGui::SetTooltip("%s here; the whole recording from %s to %s", here, from, to);
    }
}

/* The known history of a probe, newest at the right; the ring's oldest value is at probe_next. */
static void draw_plot(const Hud *hud, const HudProbe *probe, const char *unit)
{
    ImVec2 at = ImGui::GetCursorScreenPos();
    ImVec2 capacity(ImGui::GetContentRegionAvail().x, PLOT_PX);
    ImGui::Dummy(capacity);
    f32 low, high;
    hud_probe_range(probe, hud->probe_next, &low, &high);
    ImDrawList *list = ImGui::GetWindowDrawList();
    list->AddRectFilled(at, ImVec2(at.x + capacity.x, at.y + capacity.y),
                        ImGui::GetColorU32(ImGuiCol_FrameBg), 4.0f);
    ImVec2 line[HUD_PLOT_POINTS];
    for (u32 k = 0; k < probe->count; k++) {
        u32 slot = (hud->probe_next + HUD_PLOT_POINTS - probe->count + k) % HUD_PLOT_POINTS;
        u32 column = HUD_PLOT_POINTS - probe->count + k;
        f32 y = (probe->past[slot] - low) / (high - low);
        line[k] = ImVec2(at.x + 3.0f + (capacity.x - 6.0f) * f32(column) / (HUD_PLOT_POINTS - 1),
                         at.y + capacity.y - 3.0f - (capacity.y - 6.0f) * y);
    }
    list->AddPolyline(line, int(probe->count), ImGui::GetColorU32(ImGuiCol_PlotLines), 0, 1.5f);
    if (ImGui::IsItemHovered()) {
        char from[48], to[48];
        hud_quantity(f64(low), unit, from, sizeof from);
        hud_quantity(f64(high), unit, to, sizeof to);
        ImGui::SetTooltip("the last 12 s, from %s to %s", from, to);
    }
}

static void draw_probes(const Hud *hud)
{
    if (hud->probe_count == 0) {
        return;
    }
    ImGui::TextDisabled("probes");
    ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8.0f, 2.0f));
    for (u32 i = 0; i < hud->probe_count; i++) {
        const ScalarInfo *info = &hud->probe_infos[i];
        ImGui::PushID(1000 + int(i));
        ImGui::Text("%s", info->name);
        char value[48];
        hud_quantity(f64(hud->probes[i].value), info->unit, value, sizeof value);
        ImGui::SameLine(ImGui::GetContentRegionMax().x - ImGui::CalcTextSize(value).x);
        ImGui::Text("%s", value);
        if (hud->survey && i < hud->survey->probes && hud->survey->samples > 1) {
            draw_course(hud, i, info->unit);
        } else {
            draw_plot(hud, &hud->probes[i], info->unit);
        }
        ImGui::PopID();
    }
    ImGui::PopStyleVar();
}

static void draw_side(Panels *panels, Hud *hud, PanelsActions *actions, ImVec2 size)
{
    if (!has_side(hud) || hud->show_help) {
        return;
    }
    ImGui::SetNextWindowPos(ImVec2(size.x - 10.0f, 10.0f), 0, ImVec2(1.0f, 0.0f));
    ImGui::SetNextWindowSizeConstraints(ImVec2(SIDE_PX, 0.0f), ImVec2(SIDE_PX, size.y - 20.0f));
    ImGui::Begin("world", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_AlwaysAutoResize |
                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoFocusOnAppearing);
    /* Gives the window its width: an automatic one would shrink around the sliders. */
    ImGui::Dummy(ImVec2(SIDE_PX - 24.0f, 0.0f));
    draw_time(hud, actions);
    draw_saves(panels, hud, actions);
    draw_dye(hud, actions);
    draw_parameters(panels, hud, actions);
    draw_probes(hud);
    note_area(panels, 0);
    ImGui::End();
}

static void draw_foot(const Hud *hud, ImVec2 size)
{
    if (!hud->scene || size.x < 500.0f) {
        return;
    }
    ImGui::SetNextWindowPos(ImVec2(middle(hud, size), size.y - 10.0f), 0, ImVec2(0.5f, 1.0f));
    ImGui::Begin("foot", nullptr, static_flags);
    if (hud->hovered && hud->hovered[0]) {
        ImGui::Text("%s", hud->hovered);
        ImGui::SameLine();
    }
    bool spawns = hud->role >= ROLE_PARTICIPANT && !hud->status.replay;
    for (u32 i = 0; spawns && i < hud->scene->prefab_count && i < 9; i++) {
        ImGui::TextColored(color_of(i == hud->prefab ? 0xFFB347 : 0x93A0AD), "%u %s", i + 1,
                           hud->scene->prefabs[i].name);
        ImGui::SameLine();
    }
    ImGui::TextDisabled("F1 help");
    ImGui::End();
}

static void help_row(const char *shown, const char *what, bool allowed)
{
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextColored(color_of(allowed ? 0xFFB347 : 0x93A0AD), "%s", shown);
    ImGui::TableNextColumn();
    ImGui::TextColored(color_of(allowed ? 0xE9EEF3 : 0x93A0AD), "%s", what);
}

static void help_group(const char *title)
{
    if (ImGui::TableGetRowIndex() >= 0) {
        ImGui::TableNextRow(0, 9.0f);
    }
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", title);
}

static void draw_help(const Hud *hud, ImVec2 size)
{
    if (!hud->show_help) {
        return;
    }
    ImGui::SetNextWindowPos(ImVec2(0.5f * size.x, 0.5f * size.y), 0, ImVec2(0.5f, 0.5f));
    ImGui::SetNextWindowBgAlpha(0.90f);
    ImGui::Begin("help", nullptr, static_flags);
    if (ImGui::BeginTable("keys", 2)) {
        ImGui::TableSetupColumn("k", ImGuiTableColumnFlags_WidthFixed, 170.0f);
        ImGui::TableSetupColumn("w", ImGuiTableColumnFlags_WidthFixed, 400.0f);
#define GROUP(title)       help_group(title);
#define MOUSE(shown, what) help_row(shown, what, true);
#define KEY(action, key, control, needs, shown, what)                                              \
    if ((shown)[0] != 0) { /* else the previous row has it */                                      \
        help_row(shown, what, hud->role >= (needs));                                               \
    }
#include "client/hand/keymap.def"
#undef GROUP
#undef MOUSE
#undef KEY
        ImGui::EndTable();
    }
    ImGui::End();
}

void panels_draw(Panels *panels, Hud *hud, PanelsActions *actions)
{
    memset(actions, 0, sizeof *actions);
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplSDL2_NewFrame();
    if (panels->mouse_known) {
        ImGui::GetIO().MousePos = panels->mouse;
    }
    for (ImVec4 &area : panels->areas) {
        area = ImVec4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    ImGui::NewFrame();
    ImVec2 size = ImGui::GetIO().DisplaySize;
    hud->side = has_side(hud) ? fminf((SIDE_PX + 20.0f) / fmaxf(size.x, 1.0f), 0.5f) : 0.0f;
    draw_labels(hud);
    ImVec2 beside(0.0f, 0.0f);
    if (hud->live) {
        beside = draw_numbers(hud);
    }
    timeline_bar_draw(&panels->bar, hud, actions, size, &panels->areas[2]);
    draw_banner(hud, size, beside);
    size.y -= timeline_bar_height(hud); /* what it leaves */
    draw_side(panels, hud, actions, size);
    draw_foot(hud, size);
    draw_chat(panels, hud, actions, size);
    size = ImGui::GetIO().DisplaySize;
    draw_help(hud, size);
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}
