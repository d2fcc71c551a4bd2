/*
 * soft_kit.h: a rigid world and a particle store to test with: no wind, 8 substeps at 60 Hz.
 */
#ifndef PLENUM_TESTS_SUPPORT_SOFT_KIT_H
#define PLENUM_TESTS_SUPPORT_SOFT_KIT_H

#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"

enum {
    SOFT_KIT_SUBSTEPS = 8
};

#define SOFT_KIT_TICK_S (1.0f / 60.0f)

typedef struct SoftKit {
    Rigid *rigid;
    Soft *soft;
    Jobs *jobs;           /* NULL: one thread; the caller's */
    RigidCollider bodies; /* for the soft bodies */
} SoftKit;

/* Room for 16 bodies. */
SoftKit soft_kit_create(Vec3 gravity);
void soft_kit_destroy(SoftKit *kit);
/* Of the bodies, valid while the kit stays where it is. */
Collider soft_kit_collider(SoftKit *kit);
void soft_kit_ticks(SoftKit *kit, u32 count);
/* Adds a body of this mesh, which it finishes, and builds; fails the test on an error. */
SoftRange soft_kit_add(SoftKit *kit, SoftDef *def, SoftMesh *mesh);
/* A rectangle with the defaults of a scene's cloth, 0.2 kg/m². */
SoftRange soft_kit_add_cloth(SoftKit *kit, SoftDef *def, u32 columns, u32 rows, f32 width,
                             f32 height);
SoftDef soft_kit_cloth_def(void);
BodyId soft_kit_add_body(SoftKit *kit, Shape shape, BodyMotion motion, f32 mass, Vec3 at,
                         Vec3 velocity);
Vec3 soft_kit_mean_position(const SoftKit *kit, SoftRange range);
Vec3 soft_kit_mean_velocity(const SoftKit *kit, SoftRange range);
/* Linear momentum of all particles and bodies. */
void soft_kit_momentum(const SoftKit *kit, f64 sum[3]);
/* Largest component of the change, as a part of `scale`. */
f64 soft_kit_drift(const f64 before[3], const f64 after[3], f64 scale);

#endif
