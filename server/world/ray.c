/* ray.c: rays through a world, against all kinds of matter. */
#include "server/world/world_internal.h"

bool world_ray(const World *world, Ray ray, f32 max, WorldHit *hit)
{
    bool found = false;
    for (u32 i = 0; i < world->matter_count; i++) {
        Matter *matter = world->matters[i];
        ContactHit at;
        if (matter->ops->collider == NULL || matter->ops->entity_of == NULL) {
            continue;
        }
        Collider collider = matter->ops->collider(matter, matter->index);
        if (collider.ops == NULL) {
            continue;
        }
        collider.ops->begin(collider.of, world->jobs, world_tick_s(world));
        if (contact_ray(&collider, ray, found ? hit->distance : max, 0, 0, &at) &&
            (!found || at.distance < hit->distance)) {
            *hit = (WorldHit){matter->ops->entity_of(matter, at.thing), at.distance,
                              vec3_add_scaled(ray.origin, at.distance, ray.direction), at.normal};
            found = true;
        }
    }
    return found;
}
