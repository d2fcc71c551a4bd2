/*
 * gl.c: window and context through SDL2 (its "offscreen" driver needs no display), and the
 * multisampled framebuffer.
 */
#include "client/view/gl.h"

#include "shared/base/check.h"
#include "shared/base/log.h"

#include <SDL2/SDL.h>
#include <stdlib.h>
#include <string.h>

static int surface_make_window(Surface *surface, const ViewOptions *options, ErrorText *error)
{
    SDL_SetMainReady();
    if (options->offscreen) {
        SDL_SetHint(SDL_HINT_VIDEODRIVER, "offscreen");
    }
    if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) {
        return error_set(error, ERROR_UNSUPPORTED,
                         "cannot open a display: %s; use a desktop session, or --screenshot and "
                         "--headless without one",
                         SDL_GetError());
    }
    /* SDL may fall back to invisible drivers: a user would wait for a window forever. */
    const char *driver = SDL_GetCurrentVideoDriver();
    bool unseen = driver && (!strcmp(driver, "offscreen") || !strcmp(driver, "dummy"));
    if (unseen && !options->offscreen && !getenv("SDL_VIDEODRIVER")) {
        return error_set(error, ERROR_UNSUPPORTED,
                         "no display for a window; use a desktop session, or --headless (with "
                         "--screenshot for a picture)");
    }
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 3);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 3);
    SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
    SDL_GL_SetAttribute(SDL_GL_DOUBLEBUFFER, 1);
    SDL_GL_SetAttribute(SDL_GL_DEPTH_SIZE, 0);
    Uint32 flags = SDL_WINDOW_OPENGL;
    flags |= options->offscreen ? 0 : SDL_WINDOW_RESIZABLE;
    surface->window =
        SDL_CreateWindow(options->title ? options->title : "Plenum", SDL_WINDOWPOS_CENTERED,
                         SDL_WINDOWPOS_CENTERED, (int)options->width, (int)options->height, flags);
    if (surface->window) {
        surface->context = SDL_GL_CreateContext(surface->window);
    }
    if (!surface->context || epoxy_gl_version() < 33) {
        return error_set(error, ERROR_UNSUPPORTED,
                         "OpenGL 3.3 is not available: %s; use a driver that supports it, such as "
                         "Mesa's (package libgl1-mesa-dri)",
                         SDL_GetError());
    }
    return 0;
}

int surface_open(Surface *surface, const ViewOptions *options, ErrorText *error)
{
    memset(surface, 0, sizeof *surface);
    int code = surface_make_window(surface, options, error);
    if (code != 0) {
        surface_close(surface);
        return code;
    }
    SDL_GL_SetSwapInterval(options->vsync && !options->offscreen ? 1 : 0);
    const char *renderer = (const char *)glGetString(GL_RENDERER);
    surface->software = renderer && (strstr(renderer, "llvmpipe") || strstr(renderer, "softpipe") ||
                                     strstr(renderer, "SWR"));
    log_debug("OpenGL: %s, %s", renderer ? renderer : "?", (const char *)glGetString(GL_VERSION));
    GLint samples_max = 0;
    glGetIntegerv(GL_MAX_SAMPLES, &samples_max);
    surface->samples = u32_min(options->samples, (u32)i32_max(samples_max, 0));
    /* Multisampling halves the frame rate of a CPU renderer: used only for stills there. */
    if (surface->software && !options->offscreen) {
        surface->samples = 0;
    }
    glGenFramebuffers(1, &surface->picture);
    glGenRenderbuffers(1, &surface->color);
    glGenRenderbuffers(1, &surface->depth);
    return 0;
}

void surface_close(Surface *surface)
{
    if (surface->context) {
        glDeleteFramebuffers(1, &surface->picture);
        glDeleteRenderbuffers(1, &surface->color);
        glDeleteRenderbuffers(1, &surface->depth);
        glDeleteFramebuffers(1, &surface->copy);
        glDeleteTextures(1, &surface->copy_color);
        glDeleteTextures(1, &surface->copy_depth);
        SDL_GL_DeleteContext(surface->context);
    }
    if (surface->window) {
        SDL_DestroyWindow(surface->window);
    }
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    memset(surface, 0, sizeof *surface);
}

static void surface_make_picture(Surface *surface)
{
    GLsizei width = (GLsizei)surface->width, height = (GLsizei)surface->height;
    GLsizei samples = (GLsizei)surface->samples;
    glBindRenderbuffer(GL_RENDERBUFFER, surface->color);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, GL_RGBA8, width, height);
    glBindRenderbuffer(GL_RENDERBUFFER, surface->depth);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, GL_DEPTH24_STENCIL8, width, height);
    glBindFramebuffer(GL_FRAMEBUFFER, surface->picture);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER,
                              surface->color);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER,
                              surface->depth);
    /* A driver may promise unsupported sample counts: fall back to one. */
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE && samples > 0) {
        surface->samples = 0;
        surface_make_picture(surface);
        return;
    }
    surface->made_width = surface->width;
    surface->made_height = surface->height;
}

void surface_frame_begin(Surface *surface)
{
    int width = 0, height = 0;
    SDL_GL_GetDrawableSize(surface->window, &width, &height);
    surface->width = (u32)i32_max(width, 1);
    surface->height = (u32)i32_max(height, 1);
    if (surface->width != surface->made_width || surface->height != surface->made_height) {
        surface_make_picture(surface);
    }
    glBindFramebuffer(GL_FRAMEBUFFER, surface->picture);
    glViewport(0, 0, (GLsizei)surface->width, (GLsizei)surface->height);
}

GLuint texture_create(GLenum filter)
{
    GLuint name;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, (GLint)filter);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, (GLint)filter);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    return name;
}

/* Depth is only blitted between equal formats. */
static void surface_make_copy(Surface *surface)
{
    GLsizei width = (GLsizei)surface->width, height = (GLsizei)surface->height;
    if (!surface->copy) {
        glGenFramebuffers(1, &surface->copy);
        surface->copy_color = texture_create(GL_LINEAR);
        surface->copy_depth = texture_create(GL_NEAREST);
    }
    glBindTexture(GL_TEXTURE_2D, surface->copy_color);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glBindTexture(GL_TEXTURE_2D, surface->copy_depth);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH24_STENCIL8, width, height, 0, GL_DEPTH_STENCIL,
                 GL_UNSIGNED_INT_24_8, NULL);
    glBindFramebuffer(GL_FRAMEBUFFER, surface->copy);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, surface->copy_color,
                           0);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_TEXTURE_2D,
                           surface->copy_depth, 0);
    surface->copy_width = surface->width;
    surface->copy_height = surface->height;
}

void surface_copy(Surface *surface)
{
    if (surface->width != surface->copy_width || surface->height != surface->copy_height) {
        surface_make_copy(surface);
    }
    GLint width = (GLint)surface->width, height = (GLint)surface->height;
    glBindFramebuffer(GL_READ_FRAMEBUFFER, surface->picture);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, surface->copy);
    glBlitFramebuffer(0, 0, width, height, 0, 0, width, height,
                      GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT,
                      GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, surface->picture);
    gl_check("surface_copy");
}

void surface_frame_end(Surface *surface)
{
    GLint width = (GLint)surface->width, height = (GLint)surface->height;
    glBindFramebuffer(GL_READ_FRAMEBUFFER, surface->picture);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
    glBlitFramebuffer(0, 0, width, height, 0, 0, width, height, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
}

void surface_read(const Surface *surface, u8 *rgb)
{
    u32 row = 3 * surface->width;
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    glReadBuffer(GL_BACK);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    for (u32 y = 0; y < surface->height; y++) {
        glReadPixels(0, (GLint)(surface->height - 1 - y), (GLsizei)surface->width, 1, GL_RGB,
                     GL_UNSIGNED_BYTE, rgb + (size_t)y * row);
    }
    gl_check("surface_read");
}

void gl_check(const char *place)
{
#ifdef PL_VALIDATE
    GLenum code = glGetError();
    if (code != GL_NO_ERROR) {
        log_error("OpenGL error 0x%04x in %s", code, place);
        check_fail(__FILE__, __LINE__, place);
    }
#else
    PL_UNUSED(place);
#endif
}

void stream_buffer_begin(StreamBuffer *buffer, GLuint *vertex_array)
{
    glGenVertexArrays(1, vertex_array);
    glBindVertexArray(*vertex_array);
    glGenBuffers(1, &buffer->name);
    glBindBuffer(GL_ARRAY_BUFFER, buffer->name);
}

void stream_buffer_write(StreamBuffer *buffer, const void *data, size_t bytes)
{
    if (!buffer->name) {
        glGenBuffers(1, &buffer->name);
    }
    glBindBuffer(GL_ARRAY_BUFFER, buffer->name);
    if (bytes > buffer->bytes) {
        buffer->bytes = bytes + bytes / 2;
    }
    /* Orphaning the buffer first lets the driver continue drawing from the old contents. */
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)buffer->bytes, NULL, GL_STREAM_DRAW);
    glBufferSubData(GL_ARRAY_BUFFER, 0, (GLsizeiptr)bytes, data);
}
