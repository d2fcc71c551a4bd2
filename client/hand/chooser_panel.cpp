/*
 * chooser_panel.cpp: Dear ImGui: one table of worlds, a filter, an address line.
 */
#include "client/hand/chooser_panel.h"

#include "client/hand/panels_internal.h"

#include <backends/imgui_impl_opengl3.h>
#include <backends/imgui_impl_sdl.h>

#include <SDL2/SDL.h>
#include <new>
#include <stdio.h>
#include <string.h>

struct ChooserPanel {
    ImGuiContext *context;
    i32 move; /* rows by which arrow keys moved the selection */
    bool enter, escape;
    bool begun; /* the first frame was drawn */
};

ChooserPanel *chooser_panel_create(void *window, void *context)
{
    ChooserPanel *panel = new (std::nothrow) ChooserPanel();
    if (!panel) {
        return nullptr;
    }
    panel->context = ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    panels_style();
    panels_fonts();
    ImGui_ImplSDL2_InitForOpenGL(static_cast<SDL_Window *>(window), context);
    ImGui_ImplOpenGL3_Init("#version 330 core");
    return panel;
}

void chooser_panel_destroy(ChooserPanel *panel)
{
    if (panel) {
        ImGui_ImplOpenGL3_Shutdown();
        ImGui_ImplSDL2_Shutdown();
        ImGui::DestroyContext(panel->context);
        delete panel;
    }
}

void chooser_panel_event(ChooserPanel *panel, const void *event)
{
    const SDL_Event *e = static_cast<const SDL_Event *>(event);
    ImGui_ImplSDL2_ProcessEvent(e);
    if (e->type == SDL_KEYDOWN) {
        SDL_Keycode key = e->key.keysym.sym;
        panel->enter = panel->enter || key == SDLK_RETURN || key == SDLK_KP_ENTER;
        panel->escape = panel->escape || key == SDLK_ESCAPE;
        panel->move += (key == SDLK_DOWN) - (key == SDLK_UP);
    }
}

/* Index of the chosen row, or −1. */
static i32 selected_row(const ChooserList *list)
{
    for (u32 i = 0; i < list->count; i++) {
        if (memcmp(list->worlds[i]->notice.key, list->selected, sizeof list->selected) == 0) {
            return i32(i);
        }
    }
    return -1;
}

static void select_row(ChooserList *list, i32 row)
{
    if (row >= 0 && row < i32(list->count)) {
        memcpy(list->selected, list->worlds[row]->notice.key, sizeof list->selected);
    }
}

static void draw_row(ChooserList *list, u32 row, bool selected)
{
    const FoundWorld *world = list->worlds[row];
    const WorldNotice *notice = &world->notice;
    char address[WORLD_ADDRESS_BYTES];
    bool full = notice->users >= notice->places;
    ImGui::PushID(i32(row));
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (ImGui::Selectable(notice->name[0] ? notice->name : "?", selected,
                          ImGuiSelectableFlags_SpanAllColumns |
                              ImGuiSelectableFlags_AllowDoubleClick)) {
        select_row(list, i32(row));
        list->join = list->join || ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    }
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(notice->scene);
    ImGui::TableNextColumn();
    ImGui::TextColored(color_of(full ? 0xFF7A5C : 0xE9EEF3), "%u/%u", notice->users,
                       notice->places);
    ImGui::TableNextColumn();
    if (world->answered) {
        ImGui::Text("%.0f ms", f64(world->ping_ms));
    } else {
        ImGui::TextDisabled("...");
    }
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s%s%s%s%s", world->lan ? "LAN " : "",
                        (notice->flags & WORLD_PASSWORD) ? "password " : "",
                        (notice->flags & WORLD_TOKEN) ? "token " : "",
                        (notice->flags & WORLD_REPLAY) ? "recording " : "",
                        (notice->flags & WORLD_RELAY) ? "relay" : "");
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", world_address_text(notice, address));
    ImGui::PopID();
}

static void draw_table(ChooserPanel *panel, ChooserList *list, f32 height)
{
    static const struct {
        const char *name;
        f32 part;
    } columns[] = {{"World", 5.0f}, {"Scene", 4.0f}, {"Users", 1.5f},
                   {"Ping", 1.5f},  {"", 3.0f},      {"Address", 4.0f}};
    const ImGuiTableFlags flags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY |
                                  ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_SizingStretchProp;
    if (!ImGui::BeginTable("worlds", i32(PL_COUNT(columns)), flags, ImVec2(0.0f, height))) {
        return;
    }
    ImGui::TableSetupScrollFreeze(0, 1);
    for (const auto &column : columns) {
        ImGui::TableSetupColumn(column.name, ImGuiTableColumnFlags_WidthStretch, column.part);
    }
    ImGui::TableHeadersRow();
    i32 chosen = selected_row(list);
    if (panel->move != 0 && list->count > 0) {
        chosen = i32_max(0, i32_min(chosen + panel->move, i32(list->count) - 1));
        select_row(list, chosen);
    }
    ImGuiListClipper clipper;
    clipper.Begin(i32(list->count));
    while (clipper.Step()) {
        for (i32 i = clipper.DisplayStart; i < clipper.DisplayEnd; i++) {
            draw_row(list, u32(i), i == chosen);
        }
    }
    ImGui::EndTable();
}

static void draw_head(ChooserPanel *panel, ChooserList *list)
{
    ImGui::TextColored(color_of(0xFFB347), "Worlds");
    ImGui::SameLine();
    if (list->count == list->total) {
        ImGui::TextDisabled("%u found", list->total);
    } else {
        ImGui::TextDisabled("%u of %u", list->count, list->total);
    }
    if (!panel->begun) {
        ImGui::SetKeyboardFocusHere();
    }
    ImGui::SetNextItemWidth(260.0f);
    ImGui::InputTextWithHint("##filter", "name or scene", list->filter, sizeof list->filter);
    ImGui::SameLine();
    ImGui::Checkbox("with a free place", &list->free_only);
    ImGui::SameLine();
    ImGui::Checkbox("open to all", &list->open_only);
}

static void draw_foot(ChooserPanel *panel, ChooserList *list)
{
    bool chosen = selected_row(list) >= 0;
    ImGui::BeginDisabled(!chosen);
    bool join = ImGui::Button("Join");
    ImGui::EndDisabled();
    ImGui::SameLine();
    ImGui::SetNextItemWidth(340.0f);
    bool typed =
        ImGui::InputTextWithHint("##address", "or an address: HOST[:PORT][#KEY]", list->address,
                                 sizeof list->address, ImGuiInputTextFlags_EnterReturnsTrue);
    bool typing = ImGui::IsItemActive() || typed;
    ImGui::SameLine();
    list->join_address = (ImGui::Button("Join address") || typed) && list->address[0] != '\0';
    list->join = chosen && (list->join || join || (panel->enter && !typing));
    list->quit = panel->escape;
    if (list->note) {
        ImGui::TextDisabled("%s", list->note);
    }
}

void chooser_panel_draw(ChooserPanel *panel, ChooserList *list)
{
    list->join = list->join_address = list->quit = false;
    ImGui_ImplOpenGL3_NewFrame();
    ImGui_ImplSDL2_NewFrame();
    ImGui::NewFrame();
    ImVec2 size = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos(ImVec2(0.05f * size.x, 0.05f * size.y));
    ImGui::SetNextWindowSize(ImVec2(0.9f * size.x, 0.9f * size.y));
    ImGui::Begin("list of worlds", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNavInputs);
    draw_head(panel, list);
    draw_table(panel, list, -2.4f * ImGui::GetFrameHeightWithSpacing());
    draw_foot(panel, list);
    ImGui::End();
    ImGui::Render();
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
    panel->move = 0;
    panel->enter = panel->escape = false;
    panel->begun = true;
}
