/*
 * shadow.h: two depth maps of the surroundings: along the sun for shadows, and from the zenith for
 * the occlusion of the sky near a point.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_SHADOW_H
#define PLENUM_CLIENT_VIEW_SHADOW_H

#include "client/view/shader.h"

typedef struct DepthMap {
    GLuint framebuffer, texture;
    u32 edge;      /* texels */
    f32 extent_m;  /* of the whole map */
    Mat4 to_clip;  /* world to the map's clip space, for drawing into it */
    Mat4 to_texel; /* world to texture coordinates and depth, all 0..1 */
} DepthMap;

/* A depth texture of edge x edge texels and its framebuffer. */
void depth_map_init(DepthMap *map, u32 edge);
void depth_map_finish(DepthMap *map);
/* Fits the map around a sphere, looking against `towards` (unit). Centre and size move in whole
 * texels and discrete sizes, so that shadows do not shimmer while the camera moves. */
void depth_map_fit(DepthMap *map, Vec3 centre, f32 radius_m, Vec3 towards);
/* Binds and clears the map; draw casters with to_clip, then bind another framebuffer. */
void depth_map_begin(const DepthMap *map);

#endif
