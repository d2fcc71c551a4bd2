/*
 * gl.h: the OpenGL 3.3 core context with its window or offscreen surface, the multisampled
 * framebuffer, and small helpers.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_GL_H
#define PLENUM_CLIENT_VIEW_GL_H

#include "client/view/view.h"

#include <epoxy/gl.h>

typedef struct Surface {
    void *window;  /* SDL_Window */
    void *context; /* SDL_GLContext */
    u32 width, height;
    u32 samples;                 /* of the picture's renderbuffers, 0 or more */
    bool software;               /* CPU renderer: use cheaper settings */
    GLuint picture;              /* framebuffer for the world */
    GLuint color, depth;         /* its renderbuffers */
    u32 made_width, made_height; /* size of the renderbuffers */
    GLuint copy;                 /* framebuffer of the two textures, 0 until surface_copy */
    GLuint copy_color, copy_depth;
    u32 copy_width, copy_height;
} Surface;

/* 0 or a negative Error with a text that says what is missing. */
int surface_open(Surface *surface, const ViewOptions *options, ErrorText *error);
void surface_close(Surface *surface);
/* Adapts to the window's size and binds the framebuffer for drawing. */
void surface_frame_begin(Surface *surface);
/* Copies what is drawn so far into the textures copy_color (linear filter) and copy_depth, without
 * multisamples (depth: of one of them), and binds the framebuffer again. May bind another texture
 * to the active unit. */
void surface_copy(Surface *surface);
/* Resolves the framebuffer into the back buffer and binds that. */
void surface_frame_end(Surface *surface);
/* Back buffer as rows of RGB, top first, into rgb[height][width][3]. */
void surface_read(const Surface *surface, u8 *rgb);

/* Aborts a debug or sanitizer build at the first OpenGL error; nothing in release builds. */
void gl_check(const char *place);

/* A 2D texture without mipmaps that clamps at its edges. */
GLuint texture_create(GLenum filter);

/* A growing vertex buffer that is rewritten every frame. */
typedef struct StreamBuffer {
    GLuint name;
    size_t bytes;
} StreamBuffer;
/* Makes and binds a vertex array and the buffer, for attributes to follow. */
void stream_buffer_begin(StreamBuffer *buffer, GLuint *vertex_array);
void stream_buffer_write(StreamBuffer *buffer, const void *data, size_t bytes);

#endif
