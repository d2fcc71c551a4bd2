/* soft_bullet.cpp: see soft_bullet.h. Bullet solves links by position with a stiffness, one step a
 * tick with iterations (the usual way), and writes them as a scalar loop. */
#include "tests/bench/peers/soft_bullet.h"

#include "server/physics/soft/soft_internal.h"

#include <BulletSoftBody/btSoftBody.h>
#include <BulletSoftBody/btSoftBodyRigidBodyCollisionConfiguration.h>
#include <BulletSoftBody/btSoftRigidDynamicsWorld.h>
#include <btBulletDynamicsCommon.h>
#include <memory>
#include <vector>

namespace
{
struct BulletSoft {
    btSoftBodyRigidBodyCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btSoftRigidDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
    std::vector<std::unique_ptr<btSoftBody>> bodies;
};

std::unique_ptr<btSoftBody> make_body(BulletSoft &w, const Soft *soft, const SoftBody &from)
{
    btAlignedObjectArray<btVector3> positions;
    btAlignedObjectArray<btScalar> masses;
    for (u32 i = from.first; i < from.first + from.count; i++) {
        Vec3 p = soft->points[i].position;
        f32 weight = soft->points[i].inverse_mass;
        positions.push_back(btVector3(p.x, p.y, p.z));
        masses.push_back(weight > 0.0f ? 1.0f / weight : 0.0f);
    }
    std::unique_ptr<btSoftBody> body(new btSoftBody(
        &w.world.getWorldInfo(), static_cast<int>(from.count), &positions[0], &masses[0]));
    for (u32 i = 0; i < from.constraint_count; i++) {
        const SoftConstraint &c = soft->constraints[from.first_constraint + i];
        if (c.kind == CONSTRAINT_DISTANCE) {
            body->appendLink(static_cast<int>(c.point[0] - from.first),
                             static_cast<int>(c.point[1] - from.first));
        }
    }
    body->m_cfg.piterations = SOFT_SETUP_STEPS;
    body->m_cfg.kDP = 0.0f;
    body->m_cfg.collisions = 0;
    body->randomizeConstraints(); /* as its demos do */
    return body;
}
} // namespace

void *soft_bullet_create(const SoftSetup *setup, const Soft *soft)
{
    auto *w = new BulletSoft;
    w->world.setGravity(btVector3(0, -9.81f, 0));
    w->world.getWorldInfo().m_gravity = btVector3(0, -9.81f, 0);
    w->world.getWorldInfo().m_dispatcher = &w->dispatcher;
    w->world.getWorldInfo().m_broadphase = &w->broadphase;
    w->world.getWorldInfo().m_sparsesdf.Initialize();
    for (u32 i = 0; i < setup->body_count; i++) {
        w->bodies.push_back(make_body(*w, soft, soft->bodies[i]));
        w->bodies.back()->setActivationState(DISABLE_DEACTIVATION);
        w->world.addSoftBody(w->bodies.back().get());
    }
    return w;
}

void soft_bullet_destroy(void *world)
{
    auto *w = static_cast<BulletSoft *>(world);
    for (auto &body : w->bodies) {
        w->world.removeSoftBody(body.get());
    }
    delete w;
}

void soft_bullet_tick(void *world)
{
    static_cast<BulletSoft *>(world)->world.stepSimulation(SOFT_SETUP_TICK_S, 0);
}

u32 soft_bullet_links(const void *world)
{
    u32 links = 0;
    for (const auto &body : static_cast<const BulletSoft *>(world)->bodies) {
        links += static_cast<u32>(body->m_links.size());
    }
    return links;
}
