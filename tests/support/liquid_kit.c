/* liquid_kit.c: see liquid_kit.h. */
#include "tests/support/liquid_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

LiquidKit liquid_kit_make(const LiquidDef *def, f32 gravity_m_s2)
{
    LiquidKit kit = {
        .substeps = 4, .tick_s = KIT_TICK_S, .gravity = vec3(0.0f, -gravity_m_s2, 0.0f)};
    ErrorText error = {0};
    kit.rigid = kit_world(64, kit.substeps, gravity_m_s2);
    kit.liquid = liquid_create(def, &error);
    if (kit.liquid == NULL) {
        fprintf(stderr, "liquid_kit: %s\n", error.text);
        abort();
    }
    return kit;
}

void liquid_kit_free(LiquidKit *kit)
{
    liquid_destroy(kit->liquid);
    rigid_collider_finish(&kit->bodies);
    rigid_destroy(kit->rigid);
}

LiquidDef liquid_kit_water(f32 spacing, u32 capacity)
{
    LiquidDef def = {.spacing = spacing, .phase_count = 1};
    def.phases[0] = liquid_phase_default(LIQUID_FLUID);
    def.phases[0].capacity = capacity;
    def.phases[0].surface_tension = 0.0f;
    return def;
}

u32 liquid_kit_wall(LiquidKit *kit, Vec3 low, Vec3 high)
{
    BodyDef def =
        kit_box(vec3_scale(vec3_add(low, high), 0.5f), vec3_scale(vec3_sub(high, low), 0.5f));
    def.motion = BODY_STATIC;
    return kit_add(kit->rigid, &def);
}

void liquid_kit_tank(LiquidKit *kit, Vec3 size)
{
    f32 t = 0.5f, x = size.x, y = size.y, z = size.z;
    liquid_kit_wall(kit, vec3(-t, -t, -t), vec3(x + t, 0.0f, z + t));
    liquid_kit_wall(kit, vec3(-t, 0.0f, -t), vec3(0.0f, y, z + t));
    liquid_kit_wall(kit, vec3(x, 0.0f, -t), vec3(x + t, y, z + t));
    liquid_kit_wall(kit, vec3(0.0f, 0.0f, -t), vec3(x, y, 0.0f));
    liquid_kit_wall(kit, vec3(0.0f, 0.0f, z), vec3(x, y, z + t));
}

void liquid_kit_fill(LiquidKit *kit, u32 phase, Vec3 low, u32 x, u32 y, u32 z)
{
    f32 d = liquid_spacing(kit->liquid);
    for (u32 b = 0; b < y; b++) {
        for (u32 c = 0; c < z; c++) {
            for (u32 a = 0; a < x; a++) {
                Vec3 at = vec3(low.x + d * ((f32)a + 0.5f), low.y + d * ((f32)b + 0.5f),
                               low.z + d * ((f32)c + 0.5f));
                if (liquid_spawn(kit->liquid, phase, at, vec3_zero()) < 0) {
                    fprintf(stderr, "liquid_kit: no room\n");
                    abort();
                }
            }
        }
    }
}

void liquid_kit_tick(LiquidKit *kit)
{
    f32 tick = kit->tick_s, h = tick / (f32)kit->substeps;
    kit->bodies.rigid = kit->rigid;
    kit->bodies.gravity = kit->gravity;
    kit->bodies.tick_s = tick;
    kit->bodies.substep_s = h;
    Collider colliders[2] = {rigid_collider(&kit->bodies), kit->extra};
    u32 count = kit->extra.ops != NULL ? 2 : 1;
    liquid_stir(kit->liquid, colliders, count, tick);
    rigid_collide(kit->rigid, kit->jobs);
    liquid_begin(kit->liquid, colliders, count, tick, kit->jobs);
    rigid_prepare(kit->rigid);
    for (u32 s = 0; s < kit->substeps; s++) {
        rigid_substep(kit->rigid);
        liquid_substep(kit->liquid, h, kit->gravity);
    }
    liquid_rest(kit->liquid);
    rigid_finish(kit->rigid);
    liquid_finish(kit->liquid);
}

void liquid_kit_run(LiquidKit *kit, f32 seconds)
{
    for (f32 t = 0.0f; t < seconds - 0.5f * kit->tick_s; t += kit->tick_s) {
        liquid_kit_tick(kit);
    }
}

f64 liquid_kit_level(const LiquidKit *kit, Vec3 low, Vec3 high, f32 floor)
{
    const Vec3 *at = liquid_positions(kit->liquid);
    const u16 *live = liquid_generations(kit->liquid);
    f64 sum = 0.0;
    u32 count = 0;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        if (live[s] != 0 && at[s].x >= low.x && at[s].x < high.x && at[s].y >= low.y &&
            at[s].y < high.y && at[s].z >= low.z && at[s].z < high.z) {
            sum += (f64)at[s].y - (f64)floor;
            count++;
        }
    }
    return count != 0 ? 2.0 * sum / (f64)count : 0.0;
}

f64 liquid_kit_jet(LiquidKit *kit, const KitJet *jet, u32 ticks, u32 least, u32 *samples)
{
    f64 ratio = 0.0, g = -(f64)kit->gravity.y;
    *samples = 0;
    for (u32 k = 0; k < ticks; k++) {
        liquid_kit_tick(kit);
        Vec3 high = vec3(0.5f * jet->side, 99.0f, jet->wide);
        f64 level = liquid_kit_level(kit, vec3_zero(), high, 0.0f);
        const Vec3 *at = liquid_positions(kit->liquid), *v = liquid_velocities(kit->liquid);
        f64 speed = 0.0, height = 0.0;
        u32 count = 0;
        for (u32 s = 0; s < liquid_slots(kit->liquid); s++) { /* in the narrowest part of the jet */
            f32 behind = at[s].x - jet->out;
            if (behind > jet->d && behind < 3.0f * jet->d && at[s].y > 0.0f) {
                speed += (f64)vec3_length(v[s]);
                height += (f64)at[s].y;
                count++;
            }
        }
        if (count > least) {
            ratio += speed / count / sqrt(2.0 * g * (level - height / count));
            ++*samples;
        }
    }
    return *samples > 0 ? ratio / *samples : NAN;
}

void liquid_kit_check(const LiquidKit *kit)
{
    const char *wrong = liquid_validate(kit->liquid);
    if (wrong != NULL) {
        fprintf(stderr, "liquid: %s\n", wrong);
        exit(1);
    }
}

u64 liquid_kit_hash(LiquidKit *kit)
{
    State state = {.mode = STATE_HASH};
    liquid_serialize(kit->liquid, &state);
    return state.hash;
}
