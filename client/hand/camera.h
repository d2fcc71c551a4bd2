/*
 * camera.h: the user's camera: it orbits a target, pans, zooms, flies and focuses, and glides to
 * where it shall be.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_CAMERA_H
#define PLENUM_CLIENT_HAND_CAMERA_H

#include "client/view/view.h"

#define CAMERA_FLY_S_MAX 0.05f

typedef struct RigPlace {
    Vec3 target;    /* m */
    f32 yaw, pitch; /* rad; pitch > 0 looks down */
    f32 distance;   /* m, eye to target */
} RigPlace;

typedef struct CameraRig {
    RigPlace now, goal;
    f32 fov_y;           /* rad */
    f32 side, side_goal; /* as in Camera */
} CameraRig;

/* Stands where the scene says, at once. */
void rig_init(CameraRig *rig, const SceneCamera *camera);
/* Looks from eye to target; glides there, or jumps. */
void rig_look(CameraRig *rig, Vec3 eye, Vec3 target, bool jump);
/* Turns about the target by a drag of (dx, dy) pixels. */
void rig_orbit(CameraRig *rig, f32 dx, f32 dy);
/* Shifts target and eye so that the target follows a drag of pixels. */
void rig_pan(CameraRig *rig, f32 dx, f32 dy, u32 height);
/* Wheel clicks: > 0 nearer. */
void rig_zoom(CameraRig *rig, f32 clicks);
/* Flies along (right, up, forward) in −1..1 for dt_s, faster when `fast`. Of a long dt_s only
 * CAMERA_FLY_S_MAX count: who sees three pictures a second must see where he goes. */
void rig_fly(CameraRig *rig, Vec3 direction, f32 dt_s, bool fast);
/* Keeps the direction, looks at a point from so near that `radius_m` fills a good part. */
void rig_focus(CameraRig *rig, Vec3 point, f32 radius_m);
/* Looks past what covers this share of the picture's width at its right; glides, or jumps. */
void rig_side(CameraRig *rig, f32 share, bool jump);
/* Glides on for dt_s. */
void rig_step(CameraRig *rig, f32 dt_s);
/* Height of the floor under or over a point, m; −INFINITY: none. */
typedef f32 RigFloor(void *context, Vec3 at);
/* Keeps the eye above the floor and the target on it, and the target within the bounds: moves what
 * is not. Call after each step. */
void rig_keep(CameraRig *rig, Bounds bounds, RigFloor *floor, void *context);
Camera rig_camera(const CameraRig *rig);

#endif
