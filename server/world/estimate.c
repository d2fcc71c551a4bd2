/* estimate.c: what a world will take, from the numbers of its scene. */
#include "server/world/world.h"

#include "shared/limits.h"

/* Measured with worlds of one kind each (resident bytes of the server after all frames of the
 * history were made), and a third more. */
enum {
    BASE_BYTES = 24 << 20,
    BODY_BYTES = 16 << 10, /* with its contacts in a dense heap */
    JOINT_BYTES = 2 << 10,
    POINT_BYTES = 1500, /* with edges and bends, or the faces of a skin */
    TETRAHEDRON_BYTES = 400
};

u64 world_memory_estimate(const Scene *scene)
{
    u64 points = 0, tetrahedra = 0, given = 2 * (u64)scene->byte_count;
    for (u32 i = 0; i < scene->geometry_count; i++) {
        given += geometry_bytes(scene->geometries[i]);
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        const SoftMesh *mesh = &scene->soft_meshes[scene->softs[i].mesh];
        points += mesh->point_count;
        tetrahedra += mesh->tetrahedron_count;
    }
    u64 bodies = u64_min((u64)scene->body_count + scene->spare_bodies, BODIES_MAX);
    u64 frame = bodies * sizeof(QPose) + points * sizeof(QPoint) + scene->joint_count * sizeof(f32);
    /* The host has a copy of the scene, and reading it took as much. */
    return BASE_BYTES + 2 * given + HISTORY_FRAMES * frame + bodies * BODY_BYTES +
           scene->joint_count * JOINT_BYTES + points * POINT_BYTES + tetrahedra * TETRAHEDRON_BYTES;
}
