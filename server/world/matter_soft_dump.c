/* matter_soft_dump.c: soft bodies as records of a dump. */
#include "server/world/dump.h"
#include "server/world/matter_soft.h"

/* Aggregates over its points. */
static void dump_points(const Soft *soft, SoftRange range, Dump *dump)
{
    Vec3 min = soft_position(soft, range.first), max = min;
    f64 centre[3] = {0}, velocity[3] = {0}, speed2 = 0.0;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        Vec3 x = soft_position(soft, i), v = soft_velocity(soft, i);
        const f64 at[3] = {(f64)x.x, (f64)x.y, (f64)x.z}, by[3] = {(f64)v.x, (f64)v.y, (f64)v.z};
        for (u32 k = 0; k < 3; k++) {
            centre[k] += at[k] / range.count;
            velocity[k] += by[k] / range.count;
        }
        min = vec3_min(min, x);
        max = vec3_max(max, x);
        speed2 = speed2 > (f64)vec3_dot(v, v) ? speed2 : (f64)vec3_dot(v, v);
    }
    dump_vec3(dump, "centre", vec3((f32)centre[0], (f32)centre[1], (f32)centre[2]));
    dump_vec3(dump, "min", min);
    dump_vec3(dump, "max", max);
    dump_vec3(dump, "velocity", vec3((f32)velocity[0], (f32)velocity[1], (f32)velocity[2]));
    dump_number(dump, "fastest", sqrtf((f32)speed2));
}

void matter_soft_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterSoft *m = soft_of_const(matter);
    const Scene *scene = world_scene(matter->world);
    for (u32 i = 0; i < scene->soft_count; i++) {
        if (m->entities[i] != entity->id) {
            continue;
        }
        SoftRange range = m->soft_bodies[i];
        dump_text(dump, "method", soft_method_names[scene->soft_bodies[i].method]);
        dump_count(dump, "points", range.count);
        dump_flag(dump, "awake", soft_awake(m->soft, range.body));
        dump_points(m->soft, range, dump);
        dump_number(dump, "strain", soft_strain(m->soft, range.body));
        dump_number(dump, "volume", soft_volume(m->soft, range.body));
        dump_number(dump, "pressure", soft_pressure(m->soft, range.body));
    }
}
