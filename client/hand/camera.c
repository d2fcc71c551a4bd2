/*
 * camera.c: yaw, pitch and distance about a target; the shown state approaches the goal
 * exponentially.
 */
#include "client/hand/camera.h"

#define PITCH_MAX      1.54f /* rad: never vertical, where yaw is undefined */
#define DISTANCE_MIN_M 0.3f
#define DISTANCE_MAX_M 2000.0f
#define ORBIT_RAD_PX   0.006f
#define ZOOM_STEP      1.13f
#define GLIDE_RATE     16.0f /* 1/s */
#define FLOOR_ABOVE_M  0.1f
#define FLOOR_TURNS    4

static Vec3 place_back(const RigPlace *place)
{
    f32 c = cosf(place->pitch);
    return vec3(c * sinf(place->yaw), sinf(place->pitch), c * cosf(place->yaw));
}

void rig_look(CameraRig *rig, Vec3 eye, Vec3 target, bool jump)
{
    Vec3 d = vec3_sub(eye, target);
    f32 flat = sqrtf(d.x * d.x + d.z * d.z);
    rig->goal.target = target;
    rig->goal.distance = f32_clamp(vec3_length(d), DISTANCE_MIN_M, DISTANCE_MAX_M);
    rig->goal.yaw = flat > 1e-6f ? atan2f(d.x, d.z) : rig->goal.yaw;
    rig->goal.pitch = f32_clamp(atan2f(d.y, flat), -PITCH_MAX, PITCH_MAX);
    /* The shorter way around. */
    const f32 turn = 6.28318531f;
    rig->goal.yaw += roundf((rig->now.yaw - rig->goal.yaw) / turn) * turn;
    if (jump) {
        rig->now = rig->goal;
    }
}

void rig_init(CameraRig *rig, const SceneCamera *camera)
{
    RigPlace none = {{0, 0, 0}, 0, 0, 1};
    rig->now = rig->goal = none;
    rig->side = rig->side_goal = 0.0f;
    rig->fov_y = f32_clamp(camera->fov_degrees, 10.0f, 120.0f) * 0.01745329252f;
    rig_look(rig, camera->eye, camera->target, true);
}

void rig_orbit(CameraRig *rig, f32 dx, f32 dy)
{
    rig->goal.yaw -= dx * ORBIT_RAD_PX;
    rig->goal.pitch = f32_clamp(rig->goal.pitch + dy * ORBIT_RAD_PX, -PITCH_MAX, PITCH_MAX);
}

void rig_pan(CameraRig *rig, f32 dx, f32 dy, u32 height)
{
    Vec3 back = place_back(&rig->now);
    Vec3 right = vec3(cosf(rig->now.yaw), 0.0f, -sinf(rig->now.yaw));
    Vec3 up = vec3_cross(back, right);
    f32 pixel = 2.0f * tanf(0.5f * rig->fov_y) * rig->now.distance / (f32)u32_max(height, 1);
    rig->goal.target = vec3_add_scaled(rig->goal.target, -dx * pixel, right);
    rig->goal.target = vec3_add_scaled(rig->goal.target, dy * pixel, up);
}

void rig_zoom(CameraRig *rig, f32 clicks)
{
    f32 distance = rig->goal.distance * powf(ZOOM_STEP, -clicks);
    rig->goal.distance = f32_clamp(distance, DISTANCE_MIN_M, DISTANCE_MAX_M);
}

void rig_fly(CameraRig *rig, Vec3 direction, f32 dt_s, bool fast)
{
    Vec3 forward = vec3_neg(place_back(&rig->now));
    Vec3 right = vec3(cosf(rig->now.yaw), 0.0f, -sinf(rig->now.yaw));
    /* Speed increases with the distance. */
    f32 speed = f32_clamp(rig->now.distance * 0.9f, 2.0f, 60.0f) * (fast ? 3.0f : 1.0f);
    Vec3 way = vec3_add(vec3_scale(right, direction.x), vec3_scale(forward, direction.z));
    way.y += direction.y;
    dt_s = f32_min(dt_s, CAMERA_FLY_S_MAX);
    rig->goal.target = vec3_add_scaled(rig->goal.target, speed * dt_s, way);
}

void rig_focus(CameraRig *rig, Vec3 point, f32 radius_m)
{
    rig->goal.target = point;
    rig->goal.distance = f32_clamp(4.0f * radius_m / tanf(0.5f * rig->fov_y), 2.0f, DISTANCE_MAX_M);
}

void rig_side(CameraRig *rig, f32 share, bool jump)
{
    rig->side_goal = f32_clamp(share, 0.0f, 0.5f);
    if (jump) {
        rig->side = rig->side_goal;
    }
}

void rig_step(CameraRig *rig, f32 dt_s)
{
    f32 t = 1.0f - expf(-GLIDE_RATE * f32_clamp(dt_s, 0.0f, 1.0f));
    rig->now.target = vec3_lerp(rig->now.target, rig->goal.target, t);
    rig->now.yaw += (rig->goal.yaw - rig->now.yaw) * t;
    rig->now.pitch += (rig->goal.pitch - rig->now.pitch) * t;
    rig->now.distance += (rig->goal.distance - rig->now.distance) * t;
    rig->side += (rig->side_goal - rig->side) * t;
}

static Vec3 place_eye(const RigPlace *place)
{
    return vec3_add_scaled(place->target, place->distance, place_back(place));
}

static void place_keep(RigPlace *place, Bounds bounds, RigFloor *floor, void *context)
{
    place->target = vec3_max(bounds.min, vec3_min(bounds.max, place->target));
    place->target.y = f32_max(place->target.y, floor(context, place->target));
    f32 above = f32_min(FLOOR_ABOVE_M, 0.5f * place->distance);
    /* On a slope, raising the eye can move it over another floor height. */
    for (u32 i = 0; i < FLOOR_TURNS; i++) {
        Vec3 eye = place_eye(place);
        f32 low = floor(context, eye) + above;
        if (!(eye.y < low)) {
            return;
        }
        f32 sine = (low - place->target.y) / place->distance;
        place->pitch = f32_min(asinf(f32_clamp(sine, -1.0f, 1.0f)), PITCH_MAX);
    }
}

void rig_keep(CameraRig *rig, Bounds bounds, RigFloor *floor, void *context)
{
    place_keep(&rig->goal, bounds, floor, context);
    place_keep(&rig->now, bounds, floor, context);
}

Camera rig_camera(const CameraRig *rig)
{
    Camera camera;
    camera.target = rig->now.target;
    camera.eye = place_eye(&rig->now);
    camera.up = vec3(0.0f, 1.0f, 0.0f);
    camera.fov_y = rig->fov_y;
    camera.near_m = f32_clamp(rig->now.distance * 0.02f, 0.02f, 0.5f);
    camera.side = rig->side;
    camera.far_m = f32_clamp(rig->now.distance * 50.0f, 800.0f, 8000.0f);
    return camera;
}
