/*
 * projection.c: conversion between pixels and the world: camera axes, matrices, rays.
 */
#include "client/view/projection.h"

CameraAxes camera_axes(const Camera *camera)
{
    CameraAxes axes;
    axes.forward =
        vec3_normalize_or(vec3_sub(camera->target, camera->eye), vec3(0.0f, 0.0f, -1.0f));
    Vec3 right = vec3_cross(axes.forward, camera->up);
    axes.right = vec3_normalize_or(right, vec3_perpendicular(axes.forward));
    axes.up = vec3_cross(axes.right, axes.forward);
    axes.tan_half = tanf(0.5f * f32_clamp(camera->fov_y, 0.02f, 3.0f));
    return axes;
}

Mat4 camera_matrix(const Camera *camera, u32 width, u32 height)
{
    CameraAxes axes = camera_axes(camera);
    f32 aspect = (f32)u32_max(width, 1) / (f32)u32_max(height, 1);
    Mat4 view = mat4_view(camera->eye, axes.right, axes.up, vec3_neg(axes.forward));
    Mat4 lens = mat4_perspective(axes.tan_half, aspect, camera->near_m, camera->far_m);
    lens.m[8] = camera->side; /* lens shift, not rotation */
    return mat4_mul(lens, view);
}

void camera_lens(const Camera *camera, f32 lens[2])
{
    f32 near_m = camera->near_m, far_m = camera->far_m;
    lens[0] = (far_m + near_m) / (far_m - near_m);
    lens[1] = -2.0f * far_m * near_m / (far_m - near_m);
}

Ray camera_ray(const Camera *camera, u32 width, u32 height, f32 x, f32 y)
{
    CameraAxes axes = camera_axes(camera);
    f32 h = (f32)u32_max(height, 1);
    f32 sx = (2.0f * x - (1.0f - camera->side) * (f32)width) / h * axes.tan_half;
    f32 sy = (h - 2.0f * y) / h * axes.tan_half;
    Vec3 d = vec3_add_scaled(vec3_add_scaled(axes.forward, sx, axes.right), sy, axes.up);
    Ray ray = {camera->eye, vec3_normalize_or(d, axes.forward)};
    return ray;
}

bool camera_project(const Camera *camera, u32 width, u32 height, Vec3 point, f32 *x, f32 *y)
{
    CameraAxes axes = camera_axes(camera);
    Vec3 d = vec3_sub(point, camera->eye);
    f32 depth = vec3_dot(d, axes.forward);
    if (!(depth > 1e-4f)) {
        return false;
    }
    f32 h = (f32)u32_max(height, 1);
    f32 scale = 0.5f * h / (depth * axes.tan_half);
    *x = 0.5f * (1.0f - camera->side) * (f32)width + vec3_dot(d, axes.right) * scale;
    *y = 0.5f * h - vec3_dot(d, axes.up) * scale;
    return true;
}
