/* hand.c: hands that stir and scoop, and pushes. */
#include "server/physics/liquid/liquid_internal.h"

/* A hand follows its target at most this fast; beyond that it leaves the liquid behind. */
static const f32 hand_m_s_max = 8.0f;
/* Rate at which held liquid takes on the hand's velocity, and its maximal acceleration. */
static const f32 hold_rate_per_s = 60.0f;
static const f32 hold_m_s2_max = 150.0f;

bool liquid_hand_grab(Liquid *liquid, u32 hand, Vec3 place, f32 radius)
{
    if (hand >= LIQUID_HANDS_MAX || !vec3_is_finite(place) || !(radius >= 0.0f) ||
        !(vec3_length(place) <= 4.0f * WORLD_EXTENT_MAX_M)) {
        return false;
    }
    f32 d = liquid->def.spacing;
    liquid->hands[hand] = (LiquidHand){place, place, f32_clamp(radius, 2.0f * d, 100.0f * d), 1};
    liquid->hand_end = u32_max(liquid->hand_end, hand + 1);
    return true;
}

void liquid_hand_drag(Liquid *liquid, u32 hand, Vec3 target)
{
    if (hand < LIQUID_HANDS_MAX && liquid->hands[hand].live == 1 && vec3_is_finite(target) &&
        vec3_length(target) <= 4.0f * WORLD_EXTENT_MAX_M) {
        liquid->hands[hand].target = target;
    }
}

void liquid_hand_release(Liquid *liquid, u32 hand)
{
    if (hand < LIQUID_HANDS_MAX) {
        liquid->hands[hand] = (LiquidHand){0};
        while (liquid->hand_end > 0 && liquid->hands[liquid->hand_end - 1].live == 0) {
            liquid->hand_end--;
        }
    }
}

bool liquid_hand_holds(const Liquid *liquid, u32 hand)
{
    return hand < LIQUID_HANDS_MAX && liquid->hands[hand].live == 1;
}

/* Strength of the hold: full at the centre, none at the rim. */
static void drag_items(Liquid *liquid, const LiquidHand *hand, Vec3 velocity, f32 h)
{
    f32 rate = hold_rate_per_s * h / (1.0f + hold_rate_per_s * h), most = hold_m_s2_max * h;
    f32 per = 1.0f / (hand->radius * hand->radius);
    for (u32 i = 0; i < liquid->items; i++) {
        const Four *at = &liquid->place[i];
        Four *v = &liquid->motion[i];
        Vec3 off = vec3(at->x - hand->place.x, at->y - hand->place.y, at->z - hand->place.z);
        f32 near = 1.0f - vec3_length_squared(off) * per;
        if (near > 0.0f) {
            Vec3 change = vec3_sub(velocity, vec3(v->x, v->y, v->z));
            change = vec3_scale(change, rate * near);
            f32 size = vec3_length(change);
            change = size > most ? vec3_scale(change, most / size) : change;
            v->x += change.x;
            v->y += change.y;
            v->z += change.z;
        }
    }
}

void liquid_hands_step(Liquid *liquid, f32 h)
{
    for (u32 k = 0; k < liquid->hand_end; k++) {
        LiquidHand *hand = &liquid->hands[k];
        if (hand->live != 1) {
            continue;
        }
        Vec3 way = vec3_sub(hand->target, hand->place);
        f32 far = vec3_length(way), most = hand_m_s_max * h;
        way = far > most ? vec3_scale(way, most / far) : way;
        drag_items(liquid, hand, vec3_scale(way, 1.0f / h), h);
        hand->place = vec3_add(hand->place, way);
    }
}

Vec3 liquid_push(Liquid *liquid, Vec3 place, f32 radius, Vec3 impulse)
{
    if (!vec3_is_finite(place) || !vec3_is_finite(impulse) || !(radius > 0.0f)) {
        return vec3_zero();
    }
    f32 reach = radius * radius, mass = 0.0f;
    for (u32 s = 0; s < liquid->slots; s++) {
        if (liquid->generations[s] != 0 &&
            vec3_length_squared(vec3_sub(liquid->positions[s], place)) <= reach) {
            mass += liquid->factors[liquid_phase_of(liquid, s)].mass;
        }
    }
    if (!(mass > 0.0f)) {
        return vec3_zero();
    }
    Vec3 change = vec3_scale(impulse, 1.0f / mass);
    f32 size = vec3_length(change);
    change = size > LIQUID_PUSH_M_S ? vec3_scale(change, LIQUID_PUSH_M_S / size) : change;
    for (u32 s = 0; s < liquid->slots; s++) {
        if (liquid->generations[s] != 0 &&
            vec3_length_squared(vec3_sub(liquid->positions[s], place)) <= reach) {
            liquid->velocities[s] = vec3_add(liquid->velocities[s], change);
            liquid_wake_slot(liquid, s);
        }
    }
    return vec3_scale(change, mass);
}

i32 liquid_nearest(const Liquid *liquid, Vec3 place, f32 radius)
{
    f32 least = radius * radius;
    i32 nearest = -1;
    for (u32 s = 0; s < liquid->slots; s++) {
        f32 far = vec3_length_squared(vec3_sub(liquid->positions[s], place));
        if (liquid->generations[s] != 0 && far <= least) {
            least = nearest < 0 || far < least ? far : least;
            nearest = (i32)s;
        }
    }
    return nearest;
}
