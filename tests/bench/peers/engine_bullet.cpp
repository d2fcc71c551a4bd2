/* engine_bullet.cpp: Bullet on the scenes, with its defaults: sequential impulses, 10 iterations,
 * one step of 60 Hz; deactivation off. Bullet multiplies friction coefficients, so each body has
 * the root. Debian builds Bullet without threads. C++ because Bullet is; the rest of the tree sees
 * engine.h. */
#include "tests/bench/engine.h"

#include <btBulletDynamicsCommon.h>
#include <cstdlib>
#include <memory>
#include <vector>

namespace
{
/* Parts of one family do not collide. */
struct FamilyFilter : btOverlapFilterCallback {
    bool needBroadphaseCollision(btBroadphaseProxy *a, btBroadphaseProxy *b) const override
    {
        int family_a = static_cast<btCollisionObject *>(a->m_clientObject)->getUserIndex();
        int family_b = static_cast<btCollisionObject *>(b->m_clientObject)->getUserIndex();
        return (a->m_collisionFilterGroup & b->m_collisionFilterMask) &&
               (b->m_collisionFilterGroup & a->m_collisionFilterMask) &&
               !(family_a && family_a == family_b);
    }
};

struct BulletWorld {
    btDefaultCollisionConfiguration configuration;
    btCollisionDispatcher dispatcher{&configuration};
    btDbvtBroadphase broadphase;
    btSequentialImpulseConstraintSolver solver;
    btDiscreteDynamicsWorld world{&dispatcher, &broadphase, &solver, &configuration};
    FamilyFilter filter;
    std::vector<std::unique_ptr<btCollisionShape>> shapes;
    std::vector<std::unique_ptr<btRigidBody>> bodies;
    std::vector<std::unique_ptr<btTypedConstraint>> joints;
};

btVector3 vector_of(Vec3 v)
{
    return btVector3(v.x, v.y, v.z);
}

btQuaternion quat_of(Quat q)
{
    return btQuaternion(q.x, q.y, q.z, q.w);
}

btCollisionShape *make_shape(const Shape &shape)
{
    switch (shape.kind) {
    case SHAPE_SPHERE:
        return new btSphereShape(shape.radius);
    case SHAPE_CAPSULE:
        return new btCapsuleShape(shape.radius, 2 * shape.half_height);
    case SHAPE_BOX:
        return new btBoxShape(vector_of(shape.half));
    default:
        std::abort();
    }
}

void add_body(BulletWorld &w, const SetupBody &from)
{
    w.shapes.emplace_back(make_shape(from.shape));
    btVector3 inertia(0, 0, 0);
    if (from.mass_kg > 0) {
        w.shapes.back()->calculateLocalInertia(from.mass_kg, inertia);
    }
    btRigidBody::btRigidBodyConstructionInfo info(from.mass_kg, nullptr, w.shapes.back().get(),
                                                  inertia);
    info.m_startWorldTransform = btTransform(quat_of(from.orientation), vector_of(from.position));
    info.m_friction = btSqrt(SETUP_FRICTION);
    w.bodies.emplace_back(new btRigidBody(info));
    w.bodies.back()->setUserIndex(static_cast<int>(from.family));
    w.bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    w.world.addRigidBody(w.bodies.back().get());
}

void add_joint(BulletWorld &w, const SetupJoint &from)
{
    btRigidBody &a = from.a == SETUP_WORLD ? btTypedConstraint::getFixedBody() : *w.bodies[from.a];
    btRigidBody &b = *w.bodies[from.b];
    btTransform to_a = a.getCenterOfMassTransform().inverse();
    btTransform to_b = b.getCenterOfMassTransform().inverse();
    btVector3 anchor = vector_of(from.anchor);
    if (from.kind == SETUP_BALL) {
        w.joints.emplace_back(new btPoint2PointConstraint(a, b, to_a * anchor, to_b * anchor));
    } else {
        btVector3 axis = vector_of(from.axis);
        btVector3 axis_a = to_a.getBasis() * axis, axis_b = to_b.getBasis() * axis;
        btHingeConstraint *hinge =
            new btHingeConstraint(a, b, to_a * anchor, to_b * anchor, axis_a, axis_b);
        /* The angle of now is not 0 for Bullet, whose frames choose their own second axis. */
        btScalar now = hinge->getHingeAngle();
        hinge->setLimit(now - from.upper, now - from.lower);
        w.joints.emplace_back(hinge);
    }
    w.world.addConstraint(w.joints.back().get(), true);
}

void *bullet_create(const Setup *setup, u32 threads)
{
    PL_UNUSED(threads);
    auto *w = new BulletWorld;
    w->world.setGravity(btVector3(0, -SETUP_GRAVITY_M_S2, 0));
    w->world.getPairCache()->setOverlapFilterCallback(&w->filter);
    for (u32 i = 0; i < setup->body_count; i++) {
        add_body(*w, setup->bodies[i]);
    }
    for (u32 i = 0; i < setup->joint_count; i++) {
        add_joint(*w, setup->joints[i]);
    }
    return w;
}

void bullet_destroy(void *world)
{
    auto *w = static_cast<BulletWorld *>(world);
    for (auto &joint : w->joints) {
        w->world.removeConstraint(joint.get());
    }
    for (auto &body : w->bodies) {
        w->world.removeRigidBody(body.get());
    }
    delete w;
}

void bullet_step(void *world)
{
    static_cast<BulletWorld *>(world)->world.stepSimulation(SETUP_TICK_S, 0);
}

void bullet_pose(void *world, u32 body, Vec3 *position, Quat *orientation)
{
    const btTransform &t =
        static_cast<BulletWorld *>(world)->bodies[body]->getCenterOfMassTransform();
    btQuaternion q = t.getRotation();
    *position = vec3(static_cast<f32>(t.getOrigin().x()), static_cast<f32>(t.getOrigin().y()),
                     static_cast<f32>(t.getOrigin().z()));
    *orientation = Quat{static_cast<f32>(q.w()), static_cast<f32>(q.x()), static_cast<f32>(q.y()),
                        static_cast<f32>(q.z())};
}
} // namespace

extern "C" const Engine engine_bullet = {"bullet",       16,          bullet_create,
                                         bullet_destroy, bullet_step, bullet_pose};
