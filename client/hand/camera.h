/*
 * camera.h: the user's camera: orbits a target, pans, zooms, flies and focuses, with smooth motion.
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

/* Jumps to the scene's camera. */
void rig_init(CameraRig *rig, const SceneCamera *camera);
/* Looks from eye to target; moves smoothly, or jumps. */
void rig_look(CameraRig *rig, Vec3 eye, Vec3 target, bool jump);
/* Rotates about the target by a drag of (dx, dy) pixels. */
void rig_orbit(CameraRig *rig, f32 dx, f32 dy);
/* Translates target and eye so that the target follows a drag in pixels. */
void rig_pan(CameraRig *rig, f32 dx, f32 dy, u32 height);
/* Wheel clicks: > 0 nearer. */
void rig_zoom(CameraRig *rig, f32 clicks);
/* Flies along (right, up, forward) in −1..1 for dt_s, faster with `fast`. At most
 * CAMERA_FLY_S_MAX of dt_s counts, so that a user at three pictures a second stays in control. */
void rig_fly(CameraRig *rig, Vec3 direction, f32 dt_s, bool fast);
/* Looks at a point in the current direction from a distance at which `radius_m` fills a good
 * part of the view. */
void rig_focus(CameraRig *rig, Vec3 point, f32 radius_m);
/* Centres the target in the part of the picture that is not covered: `share` of its width is
 * covered at the right; moves smoothly, or jumps. */
void rig_side(CameraRig *rig, f32 share, bool jump);
/* Advances the motion by dt_s. */
void rig_step(CameraRig *rig, f32 dt_s);
/* Height of the floor below or above a point, m; −INFINITY: none. */
typedef f32 RigFloor(void *context, Vec3 at);
/* Keeps the eye above the floor, the target on it, and the target within the bounds. Call after
 * each step. */
void rig_keep(CameraRig *rig, Bounds bounds, RigFloor *floor, void *context);
Camera rig_camera(const CameraRig *rig);

#endif
