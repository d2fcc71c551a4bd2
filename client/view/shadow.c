/*
 * shadow.c: depth maps with hardware comparison and stable fitting.
 */
#include "client/view/shadow.h"

#include <string.h>

/* Casters this far outside the fitted sphere, towards the light, still cast shadows into it. */
#define CASTER_MARGIN_M 60.0f

void depth_map_init(DepthMap *map, u32 edge)
{
    memset(map, 0, sizeof *map);
    map->edge = edge;
    glGenTextures(1, &map->texture);
    glBindTexture(GL_TEXTURE_2D, map->texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_DEPTH_COMPONENT24, (GLsizei)edge, (GLsizei)edge, 0,
                 GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, NULL);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_MODE, GL_COMPARE_REF_TO_TEXTURE);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_COMPARE_FUNC, GL_LEQUAL);
    glGenFramebuffers(1, &map->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, map->framebuffer);
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_TEXTURE_2D, map->texture, 0);
    glDrawBuffer(GL_NONE);
    glReadBuffer(GL_NONE);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
}

void depth_map_finish(DepthMap *map)
{
    glDeleteFramebuffers(1, &map->framebuffer);
    glDeleteTextures(1, &map->texture);
}

void depth_map_fit(DepthMap *map, Vec3 centre, f32 radius_m, Vec3 towards)
{
    /* Sizes in quarter steps, so that slow zooming rarely changes the texel size. */
    f32 radius = 1.0f;
    while (radius < radius_m && radius < 1e4f) {
        radius *= 1.25f;
    }
    Vec3 right = vec3_perpendicular(towards);
    Vec3 up = vec3_cross(towards, right);
    f32 texel = 2.0f * radius / (f32)map->edge;
    f32 x = floorf(vec3_dot(centre, right) / texel) * texel;
    f32 y = floorf(vec3_dot(centre, up) / texel) * texel;
    f32 z = vec3_dot(centre, towards) + radius + CASTER_MARGIN_M;
    Vec3 eye = vec3_add_scaled(vec3_add_scaled(vec3_scale(right, x), y, up), z, towards);
    Mat4 view = mat4_view(eye, right, up, towards);
    Mat4 box = mat4_orthographic(radius, radius, 0.0f, 2.0f * radius + 2.0f * CASTER_MARGIN_M);
    Mat4 half = {{0.5f, 0, 0, 0, 0, 0.5f, 0, 0, 0, 0, 0.5f, 0, 0.5f, 0.5f, 0.5f, 1.0f}};
    map->to_clip = mat4_mul(box, view);
    map->to_texel = mat4_mul(half, map->to_clip);
    map->extent_m = 2.0f * radius;
}

void depth_map_begin(const DepthMap *map)
{
    glBindFramebuffer(GL_FRAMEBUFFER, map->framebuffer);
    glViewport(0, 0, (GLsizei)map->edge, (GLsizei)map->edge);
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_TRUE);
    glClear(GL_DEPTH_BUFFER_BIT);
    /* Slope-scaled offset against shadow acne; the lookup adds an offset along the normal. */
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(1.5f, 2.0f);
}
