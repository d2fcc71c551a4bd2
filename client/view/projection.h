/*
 * projection.h: axes and matrices of a Camera. camera_ray and camera_project (view.h) are in
 * projection.c too.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_PROJECTION_H
#define PLENUM_CLIENT_VIEW_PROJECTION_H

#include "client/view/mat4.h"
#include "client/view/picture.h"

typedef struct CameraAxes {
    Vec3 right, up, forward; /* unit, orthogonal */
    f32 tan_half;            /* of half the vertical angle */
} CameraAxes;

/* Axes of a camera; defined for any camera, even if its eye is its target. */
CameraAxes camera_axes(const Camera *camera);
/* World to clip space. */
Mat4 camera_matrix(const Camera *camera, u32 width, u32 height);
/* Depth in clip space (-1..1) at a distance d along the view is lens[0] + lens[1] / d. */
void camera_lens(const Camera *camera, f32 lens[2]);

#endif
