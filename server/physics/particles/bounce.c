/* bounce.c: impacts of particles. They are moved freely first; then each particle near something is
 * followed along its path from the start of its step: to the time of contact, from there with the
 * velocity after the impact, and so on for the rest of the step. The path is the parabola that the
 * integrator's end point and velocities define, so a bounce in a uniform field is exact. */
#include "server/physics/particles/particles_internal.h"

enum {
    BOUNCES_MAX = 5, /* in a step; then it stays where it is for the rest */
    ROOT_STEPS = 16,
    TRACE_STEPS = 40,
    TOUCHED_MAX = 64, /* things that a particle may touch in a step */
};

/* Accuracy of the place of contact. */
static const f32 place_m = PARTICLE_PLACE_M;
/* Duration of the step passed to a collider for a contact that happens now. */
static const f32 now_s = 1e-6f;

typedef struct BouncePass {
    Particles *particles;
    f32 h; /* s, of the step */
} BouncePass;

/* A particle on its path: x(t) = position + t velocity + t² bend, v(t) = velocity + t pull. */
typedef struct Flight {
    Vec3 position, velocity, bend, pull;
    f32 left, elapsed; /* s, of the step */
    f32 inverse_mass;  /* 1/kg; 0: massless */
    f32 radius;
    const ParticlesDef *def;
} Flight;

/* The next contact of a flight. */
typedef struct FirstContact {
    const NearThing *thing; /* NULL: none */
    f32 time;               /* s from now */
    f32 gap;                /* m, negative: inside */
} FirstContact;

/* ---- obstacle avoidance of flocks ---- */

static void avoid_bunches(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        const NearBunch *bunch = &p->bunches[b];
        if (bunch->count == 0) {
            continue;
        }
        const ParticlesDef *def = &p->systems[p->system_of[p->near[bunch->first].slot]].def;
        if (def->behavior != PARTICLE_FLOCK || def->avoidance <= 0.0f) {
            continue;
        }
        for (u32 i = bunch->first; i < bunch->first + bunch->count; i++) {
            u32 slot = p->near[i].slot;
            for (u32 t = 0; t < bunch->thing_count; t++) {
                const NearThing *thing = &p->things[bunch->first_thing + t];
                const Collider *other = &p->colliders[thing->collider];
                Vec3 normal;
                f32 apart = other->ops->distance(other->of, thing->thing, p->positions[slot],
                                                 def->avoidance, &normal);
                if (apart < def->avoidance) {
                    f32 push = 2.0f * def->agility * (1.0f - apart / def->avoidance);
                    push = f32_min(push, 2.0f * def->agility);
                    p->extra[slot] = vec3_add_scaled(p->extra[slot], push, normal);
                    p->middle[slot] = vec3_add_scaled(p->middle[slot], push, normal);
                }
            }
        }
    }
}

void particles_avoid(Particles *p)
{
    BouncePass pass = {.particles = p};
    jobs_run(p->jobs, p->bunch_count, PARTICLES_BUNCHES, avoid_bunches, &pass);
}

/* ---- time of contact ---- */

/* m/s, velocity of a thing at a point; things at rest may have moving surfaces. */
static Vec3 motion_of(const Collider *other, const NearThing *thing, Vec3 place)
{
    return thing->moves ? other->ops->velocity(other->of, thing->thing, place) : vec3_zero();
}

/* Position at a time from now in the frame in which the thing rests where its step began. */
static Vec3 place_at(const Flight *f, f32 t, Vec3 moving)
{
    Vec3 x = vec3_add_scaled(vec3_add_scaled(f->position, t, f->velocity), t * t, f->bend);
    return vec3_add_scaled(x, -(f->elapsed + t), moving);
}

/* m, negative inside, and on the side opposite to `side`: if the particle has passed through
 * something thin, the outward normal has reversed. A zero `side` is set to the outward normal
 * here. */
static f32 gap_at(const Flight *f, const Collider *other, const NearThing *thing, f32 t,
                  Vec3 moving, Vec3 *side)
{
    Vec3 normal = *side, from = place_at(f, 0.0f, moving), to = place_at(f, f->left, moving);
    f32 reach = f->radius + vec3_distance(from, to) + 4.0f * place_m;
    f32 apart =
        other->ops->distance(other->of, thing->thing, place_at(f, t, moving), reach, &normal);
    if (vec3_length_squared(*side) == 0.0f) {
        *side = normal;
    }
    return (vec3_dot(normal, *side) < 0.0f ? -fabsf(apart) : apart) - f->radius;
}

/* Only a particle that moves farther than its radius within h s can pass through something thin. */
static ContactParticle particle_at(const Flight *f, Vec3 position, Vec3 velocity, f32 h)
{
    /* Massless particles collide as well. */
    return (ContactParticle){.position = position,
                             .velocity = velocity,
                             .inverse_mass = f->inverse_mass > 0.0f ? f->inverse_mass : 1.0f,
                             .radius = f->radius,
                             .swept = vec3_length(velocity) * h > f->radius};
}

/* False position with the Illinois modification (Dowell, Jarratt 1971). */
static f32 contact_time(const Flight *f, const Collider *other, const NearThing *thing, Vec3 moving,
                        Vec3 side, const f32 gap[2])
{
    f32 low = 0.0f, high = f->left, low_gap = gap[0], high_gap = gap[1];
    f32 enough = place_m + 1e-6f * vec3_length(f->position);
    i32 last = 0; /* which bound moved */
    for (u32 i = 0; i < ROOT_STEPS; i++) {
        f32 t = low + (high - low) * (low_gap / (low_gap - high_gap));
        f32 here = gap_at(f, other, thing, t, moving, &side);
        if (fabsf(here) <= enough) {
            return t;
        }
        if (here > 0.0f) {
            low = t;
            low_gap = here;
            high_gap = last == 1 ? 0.5f * high_gap : high_gap;
            last = 1;
        } else {
            high = t;
            high_gap = here;
            low_gap = last == -1 ? 0.5f * low_gap : low_gap;
            last = -1;
        }
    }
    return low;
}

/* Follows a fast particle in steps of at most its distance from the thing, so that it cannot pass a
 * corner, a rim or the valley of a mesh that it has just left. False: too many steps; otherwise the
 * contact is recorded, if there is one. */
static bool trace(const Flight *f, const Collider *other, const NearThing *thing, Vec3 moving,
                  FirstContact *first)
{
    Vec3 against = vec3_sub(f->velocity, moving);
    f32 speed = vec3_length(against) + f->left * vec3_length(f->pull), begun = 0.0f, time = 0.0f;
    f32 enough = place_m + 1e-6f * vec3_length(f->position);
    for (u32 i = 0; i < TRACE_STEPS; i++) {
        Vec3 normal = vec3_zero();
        f32 gap = gap_at(f, other, thing, time, moving, &normal);
        begun = i == 0 ? gap : begun;
        f32 opens = vec3_dot(vec3_add_scaled(against, time, f->pull), normal);
        if (gap <= enough && opens < 0.0f) {
            if (first->thing == NULL || time < first->time) {
                *first = (FirstContact){thing, time, begun};
            }
            return true;
        }
        time += f32_max(fabsf(gap), 4.0f * enough) / speed;
        if (time >= f->left) {
            return true;
        }
    }
    return false;
}

static void meet_thing(const Particles *p, const Flight *f, const NearThing *thing,
                       FirstContact *first)
{
    const Collider *other = &p->colliders[thing->collider];
    Vec3 mean = vec3_add_scaled(f->velocity, f->left, f->bend);
    Vec3 moving = motion_of(other, thing, f->position);
    ContactPlace place;
    ContactParticle particle = particle_at(f, place_at(f, 0.0f, moving), mean, f->left);
    particle.swept = vec3_distance(mean, moving) * f->left > f->radius;
    if (particle.swept && trace(f, other, thing, moving, first)) {
        return;
    }
    particle.radius -= place_m; /* particles that rest on it or slide along it do not enter it */
    if (!other->ops->meet(other->of, thing->thing, &particle, f->left, &place)) {
        return;
    }
    Vec3 side = vec3_zero();
    f32 gap = gap_at(f, other, thing, 0.0f, moving, &side), time = 0.0f;
    if (gap > place_m) {
        const f32 gaps[2] = {gap, place.distance - f->radius};
        time = contact_time(f, other, thing, moving, side, gaps);
    }
    if (first->thing == NULL || time < first->time) {
        *first = (FirstContact){thing, time, gap};
    }
}

/* ---- impact ---- */

/* Changes the velocity along a direction by `speed`; the thing receives the opposite impulse.
 * Returns its size (N s; m/s of massless particles). */
static f32 exchange(const Collider *other, const ContactPlace *place, Flight *f, Vec3 direction,
                    f32 speed)
{
    f32 w = f->inverse_mass;
    if (w <= 0.0f) {
        f->velocity = vec3_add_scaled(f->velocity, speed, direction);
        return speed;
    }
    f32 w_thing = other->ops->inverse_mass(other->of, place, direction);
    f32 impulse = speed / (w + w_thing);
    f->velocity = vec3_add_scaled(f->velocity, impulse * w, direction);
    if (w_thing > 0.0f) {
        other->ops->impulse(other->of, place, vec3_scale(direction, -impulse));
    }
    return impulse;
}

/* Coulomb's friction of a normal impulse: it stops the slip, or is μ times the normal impulse. */
static void rub(const Collider *other, const ContactPlace *place, Flight *f, Vec3 against,
                f32 impulse)
{
    Vec3 slip = vec3_add_scaled(against, -vec3_dot(against, place->normal), place->normal);
    slip = vec3_add_scaled(slip, -vec3_dot(slip, place->free), place->free);
    f32 speed = vec3_length(slip), most = f->def->friction * impulse;
    if (!(most > 0.0f) || !(speed > 1e-9f)) {
        return;
    }
    Vec3 direction = vec3_scale(slip, -1.0f / speed);
    if (f->inverse_mass > 0.0f) {
        most *= f->inverse_mass + other->ops->inverse_mass(other->of, place, direction);
    }
    exchange(other, place, f, direction, f32_min(speed, most));
}

/* A particle slower than the speed that its forces add in a step rests: no bounce. The velocity
 * that they would add in the rest of the step is removed at once, so that the thing carries its
 * weight, and it continues on a straight line. */
static bool come_to_rest(const Collider *other, const ContactPlace *place, Flight *f)
{
    Vec3 normal = place->normal, end = vec3_add_scaled(f->velocity, f->left, f->pull);
    f32 approach = -vec3_dot(vec3_sub(end, place->velocity), normal);
    if (!(approach > 0.0f)) {
        return false;
    }
    f->velocity = end;
    f->pull = f->bend = vec3_zero();
    f32 impulse = exchange(other, place, f, normal, approach);
    rub(other, place, f, vec3_sub(f->velocity, place->velocity), impulse);
    return true;
}

/* v' = −e (v·n) n along the normal, and across it v less what friction takes: at most
 * μ (1 + e) |v·n| on what cannot move. Relative to the thing. */
static bool strike(const Collider *other, const ContactPlace *place, Flight *f, f32 h)
{
    Vec3 normal = place->normal, against = vec3_sub(f->velocity, place->velocity);
    f32 approach = -vec3_dot(against, normal);
    if (approach > CONTACT_WAKE_M_S && f->inverse_mass > 0.0f && other->ops->wake != NULL) {
        other->ops->wake(other->of, place->thing);
    }
    if (approach <= fabsf(vec3_dot(f->pull, normal)) * h) {
        return come_to_rest(other, place, f);
    }
    f32 impulse = exchange(other, place, f, normal, (1.0f + f->def->restitution) * approach);
    rub(other, place, f, against, impulse);
    return true;
}

/* Moves the two apart by `out` m, in proportion to their inverse masses. */
static void leave(const Collider *other, ContactPlace *place, Flight *f, f32 out)
{
    f32 w = f->inverse_mass, w_thing = 0.0f;
    if (w > 0.0f && other->ops->push != NULL && !place->keeps) {
        w_thing = other->ops->inverse_mass(other->of, place, place->normal);
    }
    f32 share = w_thing > 0.0f ? w / (w + w_thing) : 1.0f;
    f->position = vec3_add_scaled(f->position, out * share, place->normal);
    if (w_thing > 0.0f) {
        ContactParticle particle = particle_at(f, f->position, f->velocity, now_s);
        Vec3 moved = vec3_scale(place->normal, -out * share / w);
        other->ops->push(other->of, place, moved, &particle);
    }
}

/* Moves to the contact, and changes the velocity there. False: it is already leaving the thing. */
static bool bounce_off(const Particles *p, Flight *f, const FirstContact *impact, f32 h)
{
    const NearThing *thing = impact->thing;
    const Collider *other = &p->colliders[thing->collider];
    Vec3 moving = motion_of(other, thing, f->position);
    f32 t = impact->time;
    Vec3 there = place_at(f, t, moving);
    f->position = vec3_add_scaled(vec3_add_scaled(f->position, t, f->velocity), t * t, f->bend);
    f->velocity = vec3_add_scaled(f->velocity, t, f->pull);
    f->elapsed += t;
    f->left = f32_max(f->left - t, 0.0f);
    ContactPlace place;
    ContactParticle particle = particle_at(f, there, f->velocity, now_s);
    particle.radius += 16.0f * place_m + 1e-5f * vec3_length(f->position);
    if (!other->ops->meet(other->of, thing->thing, &particle, now_s, &place)) {
        return false;
    }
    /* The thing is where its step began, the particle where it will be at the time of contact: its
     * impulse acts there, so that both have the same moment about any point. */
    place.arm = vec3_add_scaled(place.arm, f->elapsed, moving);
    bool struck = strike(other, &place, f, h);
    if (impact->gap < 0.0f) { /* it began inside */
        leave(other, &place, f, f32_min(-impact->gap, CONTACT_APART_M_S * h));
    }
    return struck;
}

/* Follows a particle along its step, through the things [count] that it may touch. */
static void fly(Particles *p, const NearThing *const *things, u32 count, const NearParticle *near,
                f32 h)
{
    u32 slot = near->slot;
    const ParticlesDef *def = &p->systems[p->system_of[slot]].def;
    Vec3 way = vec3_sub(p->positions[slot], near->position);
    f32 rate = 1.0f / h;
    Flight f = {.position = near->position,
                .velocity = near->velocity,
                .bend = vec3_scale(vec3_sub(vec3_scale(way, rate), near->velocity), rate),
                .pull = vec3_scale(vec3_sub(p->velocities[slot], near->velocity), rate),
                .left = h,
                .inverse_mass = p->masses[slot] > 0.0f ? 1.0f / p->masses[slot] : 0.0f,
                .radius = particles_radius_of(p, def, slot),
                .def = def};
    u32 bounces = 0;
    bool flies = true;
    while (flies && bounces < BOUNCES_MAX && f.left > 0.0f) {
        FirstContact first = {0};
        for (u32 t = 0; t < count; t++) {
            meet_thing(p, &f, things[t], &first);
        }
        if (first.thing == NULL) {
            break;
        }
        flies = bounce_off(p, &f, &first, h);
        bounces++;
    }
    if (bounces == 0) {
        return;
    }
    Vec3 end =
        vec3_add_scaled(vec3_add_scaled(f.position, f.left, f.velocity), f.left * f.left, f.bend);
    p->positions[slot] = bounces < BOUNCES_MAX ? end : f.position;
    p->velocities[slot] = vec3_add_scaled(f.velocity, f.left, f.pull);
}

/* Particles of a bunch that may touch something in this step, with the things. */
typedef struct Touching {
    u32 count;
    NearParticle *near[PARTICLES_ASKED];
    Vec3 places[PARTICLES_ASKED];
    f32 radii[PARTICLES_ASKED], ways[PARTICLES_ASKED];
    u32 counts[PARTICLES_ASKED];
    const NearThing *things[PARTICLES_ASKED][TOUCHED_MAX];
} Touching;

/* Is the particle still on the part of its path that was found clear? */
static bool is_clear(const Particles *p, const NearBunch *bunch, NearParticle *near, f32 h,
                     f32 *way)
{
    *way = vec3_distance(p->positions[near->slot], near->position) + bunch->fastest_m_s * h;
    if (near->clear_m > *way) {
        near->clear_m -= *way;
        return true;
    }
    return false;
}

/* Lists the things that they may touch, and measures how far each is clear of all others. */
static void look_around(const Particles *p, const NearBunch *bunch, Touching *of)
{
    f32 reach[PARTICLES_ASKED], gaps[PARTICLES_ASKED], found[PARTICLES_ASKED] = {0.0f};
    for (u32 k = 0; k < of->count; k++) {
        of->places[k] = of->near[k]->position;
        of->radii[k] = particles_radius(p, of->near[k]->slot);
        of->counts[k] = 0;
        reach[k] = gaps[k] = of->radii[k] + 4.0f * of->ways[k] + 0.05f;
    }
    for (u32 t = 0; t < bunch->thing_count; t++) {
        const NearThing *thing = &p->things[bunch->first_thing + t];
        ContactPoints points = {of->places, reach, of->count, found, NULL};
        collider_distances(&p->colliders[thing->collider], thing->thing, &points);
        for (u32 k = 0; k < of->count; k++) {
            gaps[k] = f32_min(gaps[k], found[k]);
            if (found[k] <= of->radii[k] + of->ways[k] && of->counts[k] < TOUCHED_MAX) {
                of->things[k][of->counts[k]++] = thing;
            }
        }
    }
    for (u32 k = 0; k < of->count; k++) {
        of->near[k]->clear_m = gaps[k] - of->radii[k] - of->ways[k];
    }
}

/* A particle that rested on an immovable thing when the tick began keeps resting while its forces
 * press it on and friction holds it: it needs no search. */
static bool goes_on_resting(Particles *p, NearParticle *near)
{
    u32 slot = near->slot;
    Vec3 pull = p->velocities[slot];
    f32 presses = -vec3_dot(pull, near->normal);
    Vec3 slides = vec3_add_scaled(pull, presses, near->normal);
    f32 holds = p->systems[p->system_of[slot]].def.friction * presses;
    near->rests = presses > 0.0f && vec3_length_squared(slides) <= holds * holds;
    if (near->rests) {
        p->positions[slot] = near->position;
        p->velocities[slot] = vec3_zero();
    }
    return near->rests;
}

static void fly_on(Particles *p, const NearBunch *bunch, Touching *touching, f32 h)
{
    look_around(p, bunch, touching);
    for (u32 k = 0; k < touching->count; k++) {
        if (touching->counts[k] != 0) {
            fly(p, touching->things[k], touching->counts[k], touching->near[k], h);
        }
    }
    touching->count = 0;
}

static void bounce_bunch(Particles *p, const NearBunch *bunch, f32 h)
{
    Touching touching;
    touching.count = 0;
    for (u32 i = bunch->first; i < bunch->first + bunch->count; i++) {
        NearParticle *near = &p->near[i];
        f32 way;
        if ((near->rests && goes_on_resting(p, near)) || is_clear(p, bunch, near, h, &way)) {
            continue;
        }
        touching.near[touching.count] = near;
        touching.ways[touching.count++] = way;
        if (touching.count == PARTICLES_ASKED) {
            fly_on(p, bunch, &touching, h);
        }
    }
    if (touching.count != 0) {
        fly_on(p, bunch, &touching, h);
    }
}

/* Each particle is in one bunch, and immovable things are unaffected: independent. */
static void bounce_resting(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 b = first; b < end; b++) {
        if (!p->bunches[b].moves) {
            bounce_bunch(p, &p->bunches[b], pass->h);
        }
    }
}

static void remember(void *context, u32 first, u32 end, u32 worker)
{
    const BouncePass *pass = context;
    Particles *p = pass->particles;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        p->near[i].position = p->positions[p->near[i].slot];
        p->near[i].velocity = p->velocities[p->near[i].slot];
    }
}

void particles_bounce_begin(Particles *p)
{
    BouncePass pass = {.particles = p};
    jobs_run(p->jobs, p->near_count, PARTICLES_GRAIN, remember, &pass);
}

void particles_bounce(Particles *p, f32 h)
{
    BouncePass pass = {.particles = p, .h = h};
    for (u32 c = 0; c < p->collider_count; c++) {
        p->colliders[c].ops->substep_begin(p->colliders[c].of, h);
        collider_step_begin(&p->colliders[c], h);
    }
    jobs_run(p->jobs, p->bunch_count, PARTICLES_BUNCHES, bounce_resting, &pass);
    for (u32 b = 0; b < p->bunch_count; b++) {
        if (p->bunches[b].moves) {
            bounce_bunch(p, &p->bunches[b], h);
        }
    }
    for (u32 c = 0; c < p->collider_count; c++) {
        p->colliders[c].ops->step_end(p->colliders[c].of, h);
        p->colliders[c].ops->substep_end(p->colliders[c].of);
    }
}
