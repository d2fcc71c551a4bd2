/*
 * view.c: one picture: gather, the two depth maps, objects, sky, waters, liquids, fog, billboards,
 * marks, resolve.
 */
#include "client/view/draw_billboards.h"
#include "client/view/draw_fog.h"
#include "client/view/draw_liquid.h"
#include "client/view/draw_marks.h"
#include "client/view/draw_points.h"
#include "client/view/draw_rigid.h"
#include "client/view/draw_sky.h"
#include "client/view/draw_soft.h"
#include "client/view/draw_water.h"
#include "client/view/projection.h"
#include "client/view/readback.h"
#include "client/view/shadow.h"

#include <SDL2/SDL.h>
#include <stdlib.h>
#include <string.h>

enum {
    SUN_EDGE = 2048, /* texels */
    SUN_EDGE_SOFTWARE = 1024,
    ZENITH_EDGE = 512,
};

struct View {
    Surface surface;
    DepthMap sun, zenith;
    DrawRigid *rigid;
    DrawSoft *soft;
    DrawPoints *points;
    DrawWater *water;
    DrawLiquid *liquid;
    DrawFog *fog;
    DrawBillboards *billboards;
    BallCast balls;
    DrawMarks *marks;
    DrawSky sky;
    GLuint frame; /* uniform buffer */
};

View *view_create(const ViewOptions *options, ErrorText *error)
{
    View *view = calloc(1, sizeof *view);
    if (!view) {
        error_set(error, ERROR_MEMORY, "out of memory for the view");
        return NULL;
    }
    if (surface_open(&view->surface, options, error) != 0) {
        free(view);
        return NULL;
    }
    bool software = view->surface.software;
    u32 chunks = software ? SHADER_LEAN : SHADER_PLAIN;
    depth_map_init(&view->sun, software ? SUN_EDGE_SOFTWARE : SUN_EDGE);
    depth_map_init(&view->zenith, ZENITH_EDGE);
    glGenBuffers(1, &view->frame);
    glBindBuffer(GL_UNIFORM_BUFFER, view->frame);
    glBufferData(GL_UNIFORM_BUFFER, sizeof(FrameUniforms), NULL, GL_DYNAMIC_DRAW);
    view->rigid = draw_rigid_create(chunks, error);
    view->soft = view->rigid ? draw_soft_create(chunks, error) : NULL;
    view->points = view->soft ? draw_points_create(chunks, error) : NULL;
    /* A CPU renderer multisamples only stills, for which there is time. */
    bool coarse = software && view->surface.samples == 0;
    view->water = view->points ? draw_water_create(chunks, error) : NULL;
    view->liquid = view->water ? draw_liquid_create(chunks, coarse, error) : NULL;
    view->fog = view->liquid ? draw_fog_create(chunks, coarse, error) : NULL;
    view->billboards = view->fog ? draw_billboards_create(chunks, error) : NULL;
    view->marks = view->billboards ? draw_marks_create(error) : NULL;
    if (!view->marks || ball_cast_init(&view->balls, error) != 0 ||
        draw_sky_init(&view->sky, chunks, error) != 0) {
        view_destroy(view);
        return NULL;
    }
    return view;
}

void view_destroy(View *view)
{
    if (!view) {
        return;
    }
    draw_rigid_destroy(view->rigid);
    draw_soft_destroy(view->soft);
    draw_points_destroy(view->points);
    draw_water_destroy(view->water);
    draw_liquid_destroy(view->liquid);
    draw_fog_destroy(view->fog);
    draw_billboards_destroy(view->billboards);
    ball_cast_finish(&view->balls);
    draw_marks_destroy(view->marks);
    draw_sky_finish(&view->sky);
    depth_map_finish(&view->sun);
    depth_map_finish(&view->zenith);
    glDeleteBuffers(1, &view->frame);
    surface_close(&view->surface);
    free(view);
}

static void put3(f32 out[4], Vec3 v, f32 w)
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
    out[3] = w;
}

/* Both maps cover a sphere around the camera's target that grows with the distance. */
static void view_fit_maps(View *view, const Picture *picture, Vec3 sun)
{
    const Camera *camera = &picture->camera;
    Vec3 d = vec3_sub(camera->target, camera->eye);
    f32 away = f32_clamp(vec3_length(d), 2.0f, 80.0f);
    CameraAxes axes = camera_axes(camera);
    Vec3 centre = vec3_add_scaled(camera->eye, away, axes.forward);
    f32 radius = f32_clamp(1.15f * away, 7.0f, 90.0f);
    depth_map_fit(&view->sun, centre, radius, sun);
    depth_map_fit(&view->zenith, centre, radius, vec3(0.0f, 1.0f, 0.0f));
}

static FrameUniforms view_frame(const View *view, const Picture *picture, Vec3 sun)
{
    const Surface *surface = &view->surface;
    const SceneSky *sky = &picture->scene->sky;
    CameraAxes axes = camera_axes(&picture->camera);
    f32 aspect = (f32)surface->width / (f32)surface->height;
    FrameUniforms frame;
    frame.view_proj = camera_matrix(&picture->camera, surface->width, surface->height);
    frame.sun_map = view->sun.to_texel;
    frame.zenith_map = view->zenith.to_texel;
    put3(frame.eye, picture->camera.eye, sky->fog_m > 0.0f ? 1.0f / sky->fog_m : 0.0f);
    put3(frame.sun, sun, view->sun.extent_m / (f32)view->sun.edge);
    /* Warmer and weaker towards the horizon. */
    f32 high = f32_clamp(sun.y * 2.0f, 0.0f, 1.0f);
    Vec3 color = vec3_lerp(vec3(2.2f, 1.15f, 0.5f), vec3(2.3f, 2.1f, 1.8f), high);
    put3(frame.sun_color, color, 1.0f / (f32)view->sun.edge);
    put3(frame.sky_top, vec3(sky->top[0], sky->top[1], sky->top[2]), 1.0f / view->zenith.extent_m);
    put3(frame.sky_horizon, vec3(sky->horizon[0], sky->horizon[1], sky->horizon[2]),
         f32_clamp(picture->camera.far_m, 50.0f, 260.0f));
    put3(frame.forward, axes.forward, 2.0f * axes.tan_half / (f32)surface->height);
    put3(frame.right, vec3_scale(axes.right, axes.tan_half * aspect), picture->camera.side);
    put3(frame.up, vec3_scale(axes.up, axes.tan_half), 0.0f);
    return frame;
}

static void view_draw_map(View *view, const DepthMap *map)
{
    depth_map_begin(map);
    draw_rigid_cast(view->rigid, &map->to_clip);
    draw_soft_cast(view->soft, &map->to_clip);
    draw_points_cast(view->points, &view->balls, &map->to_clip);
    draw_liquid_cast(view->liquid, &view->balls, &map->to_clip);
    glDisable(GL_POLYGON_OFFSET_FILL);
}

/* Transparent things, over a copy of the background: the copy is renewed before each of them that
 * lets others show through. */
static void view_draw_clear(View *view, const FrameUniforms *frame)
{
    Surface *surface = &view->surface;
    bool liquid = draw_liquid_wanted(view->liquid), fog = draw_fog_wanted(view->fog);
    bool boards = draw_billboards_wanted(view->billboards), water = draw_water_wanted(view->water);
    glActiveTexture(GL_TEXTURE0 + FREE_UNIT);
    if (water || liquid || fog || boards) {
        surface_copy(surface);
    }
    if (water) {
        draw_water_show(view->water, surface);
        if (liquid || fog || boards) {
            glActiveTexture(GL_TEXTURE0 + FREE_UNIT);
            surface_copy(surface);
        }
    }
    if (liquid) {
        draw_liquid_show(view->liquid, surface, frame);
    }
    draw_rigid_show_glass(view->rigid);
    if (fog) {
        draw_fog_show(view->fog, surface);
    }
    draw_billboards_show(view->billboards, surface);
}

void view_draw(View *view, const Picture *picture)
{
    Surface *surface = &view->surface;
    surface_frame_begin(surface);
    Vec3 sun = vec3_normalize_or(picture->scene->sky.sun, vec3(0.4f, 0.8f, 0.45f));
    view_fit_maps(view, picture, sun);
    FrameUniforms frame = view_frame(view, picture, sun);
    glBindBuffer(GL_UNIFORM_BUFFER, view->frame);
    glBufferSubData(GL_UNIFORM_BUFFER, 0, sizeof frame, &frame);
    glBindBufferBase(GL_UNIFORM_BUFFER, FRAME_BINDING, view->frame);
    draw_rigid_gather(view->rigid, picture, frame.forward[3]);
    draw_soft_gather(view->soft, picture);
    draw_points_gather(view->points, picture);
    draw_water_gather(view->water, picture);
    draw_liquid_gather(view->liquid, picture, &frame);
    draw_fog_gather(view->fog, picture);
    draw_billboards_gather(view->billboards, picture);

    glDisable(GL_BLEND);
    glDisable(GL_SCISSOR_TEST);
    glDisable(GL_CULL_FACE);
    glPolygonMode(GL_FRONT_AND_BACK, GL_FILL);
    glDepthFunc(GL_LESS);
    view_draw_map(view, &view->sun);
    view_draw_map(view, &view->zenith);

    surface_frame_begin(surface);
    glClear(GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT | GL_COLOR_BUFFER_BIT);
    glActiveTexture(GL_TEXTURE0 + ZENITH_UNIT);
    glBindTexture(GL_TEXTURE_2D, view->zenith.texture);
    glActiveTexture(GL_TEXTURE0 + SUN_UNIT);
    glBindTexture(GL_TEXTURE_2D, view->sun.texture);
    draw_rigid_show(view->rigid, &frame.view_proj);
    draw_soft_show(view->soft);
    draw_points_show(view->points);
    draw_sky_show(&view->sky);
    view_draw_clear(view, &frame);
    draw_marks_show(view->marks, picture, &frame.view_proj, surface->width, surface->height);
    surface_frame_end(surface);
    gl_check("view_draw");
}

void view_present(View *view)
{
    SDL_GL_SwapWindow(view->surface.window);
}

void view_wait(View *view)
{
    PL_UNUSED(view);
    glFinish();
}

const char *view_renderer(const View *view)
{
    PL_UNUSED(view);
    const char *name = (const char *)glGetString(GL_RENDERER);
    return name ? name : "?";
}

void view_size(const View *view, u32 *width, u32 *height)
{
    int w = 0, h = 0;
    SDL_GL_GetDrawableSize(view->surface.window, &w, &h);
    *width = (u32)i32_max(w, 1);
    *height = (u32)i32_max(h, 1);
}

void *view_window(View *view)
{
    return view->surface.window;
}

void *view_context(View *view)
{
    return view->surface.context;
}

void view_read(const View *view, u8 *rgb)
{
    surface_read(&view->surface, rgb);
}

int view_screenshot(View *view, const char *path, ErrorText *error)
{
    const Surface *surface = &view->surface;
    u8 *rgb = malloc((size_t)surface->width * surface->height * 3);
    if (!rgb) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the picture", path);
    }
    surface_read(surface, rgb);
    int code = png_write(path, rgb, surface->width, surface->height, error);
    free(rgb);
    return code;
}
