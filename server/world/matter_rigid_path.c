/* matter_rigid_path.c: kinematic bodies on closed paths of points. Positions are functions of
 * the tick alone, so no error accumulates and nothing needs to be saved. */
#include "server/world/matter_rigid.h"

#include "shared/math/trig.h"

#define TWO_PI 6.283185307179586

Vec3 path_position(const Scene *scene, u32 body, u64 tick)
{
    const SceneBody *from = &scene->bodies[body];
    if (from->path < 0) {
        return from->position;
    }
    const ScenePath *path = &scene->paths[from->path];
    f64 rounds = (f64)tick / ((f64)scene->tick_rate * (f64)path->period_s);
    rounds += (f64)path->phase;
    f64 along = (rounds - floor(rounds)) * (f64)path->count;
    u32 leg = u32_min((u32)along, path->count - 1);
    /* Smooth: it stops at each point. */
    f32 t = (f32)(along - (f64)leg);
    t = t * t * (3.0f - 2.0f * t);
    Vec3 offset = vec3_lerp(path->points[leg], path->points[(leg + 1) % path->count], t);
    return vec3_add(from->position, offset);
}

/* Rotated uniformly from its initial orientation. */
static Quat path_orientation(const Scene *scene, const SceneBody *body, u64 tick)
{
    f32 rate = vec3_length(body->angular_velocity);
    if (!(rate > 0.0f)) {
        return body->orientation;
    }
    f64 turns = (f64)rate * (f64)tick / ((f64)scene->tick_rate * TWO_PI), sine, cosine;
    trig_sincos((turns - floor(turns)) * 0.5 * TWO_PI, &sine, &cosine);
    Vec3 axis = vec3_scale(body->angular_velocity, (f32)sine / rate);
    return quat_mul((Quat){(f32)cosine, axis.x, axis.y, axis.z}, body->orientation);
}

void matter_rigid_steer(Matter *matter)
{
    const MatterRigid *m = rigid_of(matter);
    const Scene *scene = rigid_scene(m);
    if (scene->path_count == 0) {
        return;
    }
    u64 tick = world_tick_number(matter->world) - m->built_tick + 1;
    for (u32 i = 0; i < scene->body_count; i++) {
        const SceneBody *body = &scene->bodies[i];
        u32 slot = m->body_slots[i];
        if (body->path < 0 || m->slots[slot].entity == 0 ||
            rigid_motion(m->rigid, slot) != BODY_KINEMATIC) {
            continue;
        }
        rigid_move_kinematic(m->rigid, slot, path_position(scene, i, tick),
                             path_orientation(scene, body, tick));
    }
}
