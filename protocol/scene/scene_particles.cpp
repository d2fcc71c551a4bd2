// scene_particles.cpp: particle systems of a scene: checks numbers, emitters, forces and lists.
#include "protocol/scene/scene_builder_cpp.h"

namespace plenum
{

namespace
{

enum {
    FORCES_MAX = 16
};

} // namespace

// Each option alone, by its row.
bool Builder::particle_options(const JsonPath &at, const fb::ParticleSystem *in,
                               SceneParticles *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/particles.def"
    return good;
}

bool Builder::particle_shape(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out)
{
    if (in->shape() == nullptr) {
        return !out->surface || fail(at, "surface", "a point has none; give a shape");
    }
    JsonPath here = {&at, "shape", -1};
    if (!shape(here, in->shape(), false, &out->shape)) {
        return false;
    }
    switch (out->shape.kind) {
    case SHAPE_SPHERE:
    case SHAPE_BOX:
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return true;
    case SHAPE_MESH:
        return out->surface ||
               fail(at, "surface", "a mesh emits from its surface only; give \"surface\": true");
    default:
        return fail(here, "kind", "a %s emits nothing; one of sphere, box, cylinder, cone, mesh",
                    shape_kind_name(out->shape.kind));
    }
}

bool Builder::particle_force(const JsonPath &at, const fb::ParticleForce *in,
                             SceneParticleForce *out)
{
    const Vec3 up = vec3(0.0f, 1.0f, 0.0f);
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/particle_force.def"
    if (!good || !vector(at, "axis", in->axis(), up, 1e6f, &out->axis)) {
        return false;
    }
    if (!(vec3_length(out->axis) > 1e-3f)) {
        return fail(at, "axis", "has no direction; give a vector along it");
    }
    out->axis = vec3_normalize_or(out->axis, up);
    return true;
}

bool Builder::particle_forces(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out)
{
    out->first_force = (u32)particle_forces_.size();
    if (!count(at, "forces", in->forces(), FORCES_MAX, &out->force_count)) {
        return false;
    }
    for (u32 i = 0; i < out->force_count; i++) {
        JsonPath here = {&at, "forces", i};
        SceneParticleForce made = {};
        if (!particle_force(here, in->forces()->Get(i), &made)) {
            return false;
        }
        particle_forces_.push_back(made);
    }
    return true;
}

bool Builder::particle_starts(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out)
{
    out->first_start = (u32)particles_.size();
    if (!count(at, "particles", in->particles(), out->count, &out->start_count)) {
        return false;
    }
    for (u32 i = 0; i < out->start_count; i++) {
        const fb::ParticleStart *given = in->particles()->Get(i);
        JsonPath here = {&at, "particles", i};
        SceneParticle made = {};
        if (!particle_start(here, given, *out, &made)) {
            return false;
        }
        if (!bounds_contain_point(&out_->bounds, made.position)) {
            return fail(here, "position", "outside the scene's bounds");
        }
        particles_.push_back(made);
    }
    return true;
}

bool Builder::particle_start(const JsonPath &at, const fb::ParticleStart *in,
                             const SceneParticles &system, SceneParticle *out)
{
    bool good = vector(at, "position", in->position(), system.position, WORLD_EXTENT_MAX_M,
                       &out->position) &&
                vector(at, "velocity", in->velocity(), system.velocity, 1000.0f, &out->velocity);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/particle_start.def"
    out->mass_kg = out->mass_kg < 0.0f ? system.mass_kg : out->mass_kg;
    return good;
}

// Options that only mean something together.
bool Builder::particle_rules(const JsonPath &at, const SceneParticles &made)
{
    bool swarm = made.behavior == PARTICLE_SWARM;
    if (made.rate > 0.0f && made.burst > 0) {
        return fail(at, "burst", "given besides rate; give one of them");
    }
    if (made.rate <= 0.0f && made.burst == 0 && made.start_count == 0 && !swarm) {
        return fail(at, nullptr, "has no particles; give rate, burst or particles");
    }
    if (swarm && (made.rate > 0.0f || made.burst > 0 || made.start_count > 0)) {
        return fail(at, "behavior",
                    "a swarm fills its count itself; leave rate, burst and "
                    "particles out");
    }
    if (made.burst > made.count) {
        return fail(at, "burst", "%u, but count is %u; give a larger count", made.burst,
                    made.count);
    }
    if (made.stop_s > 0.0f && !(made.stop_s > made.start_s)) {
        return fail(at, "stop", "%g s is not after start; leave it out", (double)made.stop_s);
    }
    if (made.lifetime_s > 0.0f && !(made.lifetime_spread < made.lifetime_s)) {
        return fail(at, "lifetime_spread",
                    "%g s lets some live for no time; give less than lifetime",
                    (double)made.lifetime_spread);
    }
    if (made.radius_spread > 0.0f && !(made.radius_spread < made.radius)) {
        return fail(at, "radius_spread", "%g m gives some no size; give less than radius",
                    (double)made.radius_spread);
    }
    if (made.flees >= 0 && made.behavior != PARTICLE_FLOCK) {
        return fail(at, "flees", "only a flock flees; give \"behavior\": \"flock\"");
    }
    return bounds_contain_point(&out_->bounds, made.position) ||
           fail(at, "position", "[%g, %g, %g] is outside the scene's bounds",
                (double)made.position.x, (double)made.position.y, (double)made.position.z);
}

bool Builder::particle_appearance(const JsonPath &at, const fb::ParticleSystem *in,
                                  SceneParticles *out)
{
    Appearance *appearance = &out->appearance;
    if (in->appearance() > fb::ParticleAppearance::MAX) {
        return fail(at, "appearance",
                    "unknown; one of ball, grain, dot, spark, smoke, snowflake, drop, "
                    "ring, flame");
    }
    default_appearance(appearance,
                       in->appearance() == fb::ParticleAppearance::ball    ? APPEARANCE_SPRITES
                       : in->appearance() == fb::ParticleAppearance::grain ? APPEARANCE_GRAINS
                                                                           : APPEARANCE_BILLBOARDS);
    if (appearance->kind == APPEARANCE_BILLBOARDS) {
        appearance->image =
            (BillboardImage)((u32)in->appearance() - (u32)fb::ParticleAppearance::dot);
    }
    if (!color(at, "color", in->color(), appearance->color)) {
        return false;
    }
    memcpy(appearance->color2, appearance->color, sizeof appearance->color2);
    appearance->radius = out->radius;
    appearance->spread = out->radius_spread / out->radius;
    appearance->growth = out->growth;
    appearance->fade_in = out->fade_in;
    appearance->glow = out->glow;
    appearance->stretch_s = out->stretch_s;
    return color(at, "color2", in->color2(), appearance->color2);
}

bool Builder::particle_system(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out)
{
    out->flees = -1;
    if (!name(at, "name", in->name(), out->name) || !particle_options(at, in, out) ||
        !particle_shape(at, in, out) || !particle_forces(at, in, out) ||
        !particle_starts(at, in, out)) {
        return false;
    }
    if (in->flees() != nullptr && !joint_body(at, "flees", in->flees(), &out->flees)) {
        return false;
    }
    return particle_rules(at, *out) && particle_appearance(at, in, out);
}

bool Builder::particle_systems(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    u64 slots = 0;
    if (!count(at, "particle_systems", in->particle_systems(), PARTICLE_SYSTEMS_OF_SCENE_MAX,
               &total) ||
        !allocate(&out_->particle_systems, total)) {
        return false;
    }
    out_->particle_system_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "particle_systems", i};
        SceneParticles *made = &out_->particle_systems[i];
        if (!particle_system(here, in->particle_systems()->Get(i), made) ||
            !own_name(here, made->name)) {
            return false;
        }
        slots += made->count;
        if (slots > PARTICLES_MAX - 8 * PARTICLE_SYSTEMS_OF_SCENE_MAX && total > 1) {
            return fail(here, "count", "%llu particles with the systems before; at most %d",
                        (unsigned long long)slots,
                        PARTICLES_MAX - 8 * PARTICLE_SYSTEMS_OF_SCENE_MAX);
        }
    }
    if (!allocate(&out_->particle_forces, (u32)particle_forces_.size()) ||
        !allocate(&out_->particles, (u32)particles_.size())) {
        return false;
    }
    out_->particle_force_count = (u32)particle_forces_.size();
    out_->particle_count = (u32)particles_.size();
    for (u32 i = 0; i < out_->particle_force_count; i++) {
        out_->particle_forces[i] = particle_forces_[i];
    }
    for (u32 i = 0; i < out_->particle_count; i++) {
        out_->particles[i] = particles_[i];
    }
    return true;
}

} // namespace plenum
