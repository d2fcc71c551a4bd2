/* engine_ode.c: ODE on the scenes: quick step with its default of 20 iterations, at most 4 contacts
 * a pair, friction of the approximate pyramid (what its users take), auto-disable off. */
#include "tests/bench/engine.h"

#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CONTACTS_MAX = 4,
    ITERATIONS = 20
};

typedef struct OdeWorld {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID *bodies; /* [count] NULL: static */
    dGeomID *geoms;  /* [count] */
    const Setup *setup;
} OdeWorld;

static u32 ode_worlds;

/* ODE's capsules lie along z, the scene's along y. */
static Quat capsule_rotation(const SetupBody *body)
{
    Quat along = {0.70710678f, -0.70710678f, 0.0f, 0.0f};
    return body->shape.kind == SHAPE_CAPSULE ? along : quat_identity();
}

static dGeomID geom(dSpaceID space, const Shape *shape, dMass *mass, f32 kg)
{
    dReal total = kg > 0.0f ? (dReal)kg : 1.0;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        dMassSetSphereTotal(mass, total, (dReal)shape->radius);
        return dCreateSphere(space, (dReal)shape->radius);
    case SHAPE_CAPSULE:
        dMassSetCapsuleTotal(mass, total, 3, (dReal)shape->radius, 2.0 * (dReal)shape->half_height);
        return dCreateCapsule(space, (dReal)shape->radius, 2.0 * (dReal)shape->half_height);
    case SHAPE_BOX:
        dMassSetBoxTotal(mass, total, 2.0 * (dReal)shape->half.x, 2.0 * (dReal)shape->half.y,
                         2.0 * (dReal)shape->half.z);
        return dCreateBox(space, 2.0 * (dReal)shape->half.x, 2.0 * (dReal)shape->half.y,
                          2.0 * (dReal)shape->half.z);
    default:
        fprintf(stderr, "ode: no such shape\n");
        exit(1);
    }
}

static void add_body(OdeWorld *w, u32 i)
{
    const SetupBody *from = &w->setup->bodies[i];
    Quat q = quat_mul(from->orientation, capsule_rotation(from));
    dQuaternion rotation = {(dReal)q.w, (dReal)q.x, (dReal)q.y, (dReal)q.z};
    dMass mass;
    dGeomID g = geom(w->space, &from->shape, &mass, from->mass_kg);
    w->geoms[i] = g;
    dGeomSetData(g, (void *)(uintptr_t)from->family);
    if (from->mass_kg > 0.0f) {
        w->bodies[i] = dBodyCreate(w->world);
        dBodySetMass(w->bodies[i], &mass);
        dGeomSetBody(g, w->bodies[i]);
    }
    dGeomSetPosition(g, (dReal)from->position.x, (dReal)from->position.y, (dReal)from->position.z);
    dGeomSetQuaternion(g, rotation);
}

static void add_joint(OdeWorld *w, const SetupJoint *from)
{
    dBodyID a = from->a == SETUP_WORLD ? NULL : w->bodies[from->a];
    dBodyID b = from->b == SETUP_WORLD ? NULL : w->bodies[from->b];
    dReal x = (dReal)from->anchor.x, y = (dReal)from->anchor.y, z = (dReal)from->anchor.z;
    if (from->kind == SETUP_BALL) {
        dJointID joint = dJointCreateBall(w->world, 0);
        dJointAttach(joint, b, a);
        dJointSetBallAnchor(joint, x, y, z);
        return;
    }
    dJointID joint = dJointCreateHinge(w->world, 0);
    dJointAttach(joint, b, a);
    dJointSetHingeAnchor(joint, x, y, z);
    dJointSetHingeAxis(joint, (dReal)from->axis.x, (dReal)from->axis.y, (dReal)from->axis.z);
    dJointSetHingeParam(joint, dParamLoStop, (dReal)from->lower);
    dJointSetHingeParam(joint, dParamHiStop, (dReal)from->upper);
}

static void *ode_create(const Setup *setup, u32 threads)
{
    PL_UNUSED(threads);
    if (ode_worlds++ == 0) {
        dInitODE2(0);
    }
    OdeWorld *w = calloc(1, sizeof(*w));
    if (!w || !(w->bodies = calloc(setup->body_count, sizeof(*w->bodies))) ||
        !(w->geoms = calloc(setup->body_count, sizeof(*w->geoms)))) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    w->setup = setup;
    w->world = dWorldCreate();
    w->space = dHashSpaceCreate(NULL);
    w->contacts = dJointGroupCreate(0);
    dWorldSetGravity(w->world, 0.0, -(dReal)SETUP_GRAVITY_M_S2, 0.0);
    dWorldSetQuickStepNumIterations(w->world, ITERATIONS);
    dWorldSetAutoDisableFlag(w->world, 0);
    for (u32 i = 0; i < setup->body_count; i++) {
        add_body(w, i);
    }
    for (u32 i = 0; i < setup->joint_count; i++) {
        add_joint(w, &setup->joints[i]);
    }
    return w;
}

static void ode_destroy(void *world)
{
    OdeWorld *w = world;
    dJointGroupDestroy(w->contacts);
    dSpaceDestroy(w->space);
    dWorldDestroy(w->world);
    free(w->bodies);
    free(w->geoms);
    free(w);
    if (--ode_worlds == 0) {
        dCloseODE();
    }
}

static void near(void *data, dGeomID a, dGeomID b)
{
    OdeWorld *w = data;
    dBodyID body_a = dGeomGetBody(a), body_b = dGeomGetBody(b);
    void *family = dGeomGetData(a);
    if ((!body_a && !body_b) || (family && family == dGeomGetData(b)) ||
        (body_a && body_b && dAreConnectedExcluding(body_a, body_b, dJointTypeContact))) {
        return;
    }
    dContact contacts[CONTACTS_MAX];
    int count = dCollide(a, b, CONTACTS_MAX, &contacts[0].geom, sizeof(dContact));
    for (int i = 0; i < count; i++) {
        contacts[i].surface.mode = dContactApprox1;
        contacts[i].surface.mu = (dReal)SETUP_FRICTION;
        dJointID joint = dJointCreateContact(w->world, w->contacts, &contacts[i]);
        dJointAttach(joint, body_a, body_b);
    }
}

static void ode_step(void *world)
{
    OdeWorld *w = world;
    dSpaceCollide(w->space, w, near);
    dWorldQuickStep(w->world, (dReal)SETUP_TICK_S);
    dJointGroupEmpty(w->contacts);
}

static void ode_pose(void *world, u32 body, Vec3 *position, Quat *orientation)
{
    OdeWorld *w = world;
    const dReal *p = dGeomGetPosition(w->geoms[body]);
    dQuaternion q;
    dGeomGetQuaternion(w->geoms[body], q);
    *position = vec3((f32)p[0], (f32)p[1], (f32)p[2]);
    Quat rotation = {(f32)q[0], (f32)q[1], (f32)q[2], (f32)q[3]};
    *orientation = quat_mul(rotation, quat_conjugate(capsule_rotation(&w->setup->bodies[body])));
}

const Engine engine_ode = {"ode", 1, ode_create, ode_destroy, ode_step, ode_pose};
