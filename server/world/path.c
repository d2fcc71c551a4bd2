/* path.c: kinematic bodies that go round and round through the points of a path. Where they are is
 * a function of the tick alone, so that no error adds up and nothing needs to be saved. */
#include "server/world/world_state.h"

Vec3 path_position(const World *world, u32 body, u64 tick)
{
    const SceneBody *from = &world->scene->bodies[body];
    if (from->path < 0) {
        return from->position;
    }
    const ScenePath *path = &world->scene->paths[from->path];
    f64 rounds = (f64)tick / ((f64)world->scene->tick_rate * (f64)path->period_s);
    rounds += (f64)path->phase;
    f64 along = (rounds - floor(rounds)) * (f64)path->count;
    u32 leg = u32_min((u32)along, path->count - 1);
    /* Smooth: it starts and stops at each point. */
    f32 t = (f32)(along - (f64)leg);
    t = t * t * (3.0f - 2.0f * t);
    Vec3 offset = vec3_lerp(path->points[leg], path->points[(leg + 1) % path->count], t);
    return vec3_add(from->position, offset);
}

void path_steer(World *world)
{
    if (world->scene->path_count == 0) {
        return;
    }
    u64 tick = world->tick - world->built_tick + 1;
    for (u32 i = 0; i < world->scene->body_count; i++) {
        const SceneBody *body = &world->scene->bodies[i];
        u32 slot = world->body_slots[i];
        if (body->path < 0 || world->slots[slot].entity == 0 ||
            rigid_motion(world->rigid, slot) != BODY_KINEMATIC) {
            continue;
        }
        Vec3 way = vec3_sub(path_position(world, i, tick), rigid_position(world->rigid, slot));
        rigid_set_velocity(world->rigid, slot, vec3_scale(way, (f32)world->scene->tick_rate),
                           body->spin);
    }
}
