/*
 * contact_root.c: particles that keep less distance from other matter than their thickness: those
 * near a pin inside it, and those pinched between two bodies.
 */
#include "server/physics/soft/soft_internal.h"

/* Cosine limit of the normals of two bodies that pinch a particle. */
static const f32 opposite_cosine = -0.7f;

/* ---- roots ---- */

/* m, negative inside; beyond `reach` only a lower bound. */
static f32 distance_to(const Soft *soft, OtherThing thing, Vec3 point, f32 reach, Vec3 *normal)
{
    const Collider *collider = soft_collider_of(soft, thing.other);
    *normal = vec3_zero();
    return soft_point_in(soft_other_bounds(soft, thing.other, thing.thing), point, reach)
               ? collider->ops->distance(collider->of, thing.thing, point, reach, normal)
               : INFINITY;
}

/* The attachment behind a pin of the body, if it is to the thing; or NULL. */
static const SoftAttachment *attachment_to(const Soft *soft, const SoftBody *body, u32 pin,
                                           OtherThing thing)
{
    u32 fixed = body->pin_count - body->attachment_count;
    if (pin < fixed || thing.other != soft->holder) {
        return NULL;
    }
    const SoftAttachment *held = &soft->attachments[body->first_attachment + pin - fixed];
    return held->body.slot == thing.thing && soft_holds(soft, held) ? held : NULL;
}

/* Position of a pin of the body: its anchor on the thing, or where it is. */
static Vec3 pin_place(const Soft *soft, const SoftBody *body, u32 pin, OtherThing thing)
{
    const SoftAttachment *held = attachment_to(soft, body, pin, thing);
    if (held == NULL) {
        return soft->points[soft->pinned[body->first_pin + pin]].position;
    }
    ContactMotion motion = soft_motion_of(soft, thing.other, thing.thing);
    return vec3_add(motion.centre, quat_rotate(motion.orientation, held->local));
}

u32 soft_contact_root(const Soft *soft, const SoftBody *body, OtherThing thing, ContactRoots *roots)
{
    for (u32 i = 0; i < roots->count; i++) {
        if (soft_thing_is(roots->of[i], thing.other, thing.thing)) {
            return roots->root[i];
        }
    }
    u32 root = SOFT_NONE, pins = soft_bodies_of(soft, thing.other) != NULL ? body->pin_count : 0;
    for (u32 i = 0; i < pins && root == SOFT_NONE; i++) {
        Vec3 n;
        f32 distance = distance_to(soft, thing, pin_place(soft, body, i, thing), 0.0f, &n);
        root = distance < 0.0f ? soft->pinned[body->first_pin + i] : SOFT_NONE;
    }
    if (roots->count < PL_COUNT(roots->of)) {
        roots->of[roots->count] = thing;
        roots->root[roots->count++] = root;
    }
    return root;
}

/* Is a particle pinned inside so close to its exit point that it cannot get a radius away from
 * the surface there, which is at `distance` from it along the normal? */
static bool is_held_near(const Soft *soft, OtherThing thing, u32 particle, f32 across, f32 distance,
                         Vec3 normal)
{
    const SoftBody *body = &soft->bodies[soft->matter[particle].body];
    f32 radius = soft->matter[particle].radius;
    for (u32 i = 0; i < body->pin_count; i++) {
        u32 pin = soft->pinned[body->first_pin + i];
        f32 away = vec3_distance(soft->rest[particle], soft->rest[pin]);
        Vec3 out = vec3_sub(soft->points[particle].position, pin_place(soft, body, i, thing));
        if (!(away > 0.5f * across + radius) && away <= vec3_dot(out, normal) - distance + radius) {
            return true;
        }
    }
    return false;
}

/* Only its anchor determines its position: contact would work against it. */
static bool is_attached(const Soft *soft, OtherThing thing, u32 particle)
{
    const SoftBody *body = &soft->bodies[soft->matter[particle].body];
    for (u32 i = body->pin_count - body->attachment_count; i < body->pin_count; i++) {
        if (soft->pinned[body->first_pin + i] == particle &&
            attachment_to(soft, body, i, thing) != NULL) {
            return true;
        }
    }
    return false;
}

static f32 size_of(const Soft *soft, OtherThing thing)
{
    Bounds bounds = soft_other_bounds(soft, thing.other, thing.thing);
    return vec3_length(vec3_sub(bounds.max, bounds.min));
}

bool soft_contact_near_root(const Soft *soft, OtherThing thing, u32 root, u32 particle)
{
    return root != SOFT_NONE &&
           !(vec3_distance(soft->rest[particle], soft->rest[root]) > size_of(soft, thing));
}

bool soft_contact_is_rooted(const Soft *soft, OtherThing thing, u32 root, u32 particle)
{
    if (is_attached(soft, thing, particle)) {
        return true;
    }
    if (root == SOFT_NONE) {
        return false;
    }
    f32 across = size_of(soft, thing);
    f32 radius = soft->matter[particle].radius;
    Vec3 normal;
    f32 distance = distance_to(soft, thing, soft->points[particle].position, radius, &normal);
    if (distance < 0.0f) {
        return !(vec3_distance(soft->rest[particle], soft->rest[root]) > across);
    }
    return distance < radius && is_held_near(soft, thing, particle, across, distance, normal);
}

/* ---- pinched particles ---- */

/* There is no space for a pinched particle's thickness: pushed out of both bodies, it would be
 * driven along the wedge between them forever, against whatever pulls it back. It keeps half of the
 * gap; if the gap is little less than twice the thickness, the particle itself may be holding the
 * two apart. */
static f32 clearance_between(f32 gap, f32 radius)
{
    f32 half = 0.5f * f32_max(gap, 0.0f), past = gap - 1.5f * radius;
    return f32_min(radius, past > 0.0f ? 0.75f * radius + 2.5f * past : half);
}

void soft_contact_find_clearance(Soft *soft)
{
    SoftContact *contacts = soft->contacts;
    for (u32 i = 0; i < soft->contact_count; i++) {
        SoftContact *contact = &contacts[i];
        f32 radius = soft->matter[contact->particle].radius;
        contact->keep =
            contact->rooted != 0 ? f32_min(radius, f32_max(contact->distance, 0.0f)) : radius;
        contact->pinched = 0;
        for (u32 k = i; k > 0 && contacts[k - 1].particle == contact->particle; k--) {
            SoftContact *other = &contacts[k - 1];
            if (contact->near != 0 && other->near != 0 &&
                vec3_dot(contact->normal, other->normal) < opposite_cosine) {
                f32 clearance = clearance_between(contact->distance + other->distance, radius);
                contact->keep = f32_min(contact->keep, clearance);
                other->keep = f32_min(other->keep, clearance);
                contact->pinched = other->pinched = 1;
            }
        }
    }
}

/* First contact of a particle in the sorted list. */
static u32 first_contact(const Soft *soft, u32 particle)
{
    u32 low = 0, high = soft->contact_count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        if (soft->contacts[middle].particle < particle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

f32 soft_contact_capacity(Soft *soft, u32 particle, Vec3 normal, f32 distance, u16 *pinched)
{
    f32 radius = soft->matter[particle].radius, least = radius;
    for (u32 i = first_contact(soft, particle);
         i < soft->contact_count && soft->contacts[i].particle == particle; i++) {
        SoftContact *contact = &soft->contacts[i];
        if (contact->near != 0 && vec3_dot(contact->normal, normal) < opposite_cosine) {
            f32 clearance = clearance_between(contact->distance + distance, radius);
            contact->keep = f32_min(contact->keep, clearance);
            contact->pinched = *pinched = 1;
            least = f32_min(least, clearance);
        }
    }
    return least;
}
