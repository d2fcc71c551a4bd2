// scene_make.cpp: procedural geometry: gutters along a curve, terrain from
// noise. The server and each client generate the same: no arithmetic here depends on the machine.
#include "protocol/scene/scene_builder_cpp.h"

#include "shared/math/random.h"

namespace plenum
{

// Value in [−1, 1] at a lattice point.
static f32 lattice(u64 seed, i32 x, i32 z)
{
    u64 counter = ((u64)(u32)x << 32) | (u32)z;
    return random_range(seed, counter, -1.0f, 1.0f);
}

static f32 fade(f32 t)
{
    return t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f);
}

static f32 value_noise(u64 seed, f32 x, f32 z)
{
    f32 fx = floorf(x), fz = floorf(z);
    i32 i = (i32)fx, j = (i32)fz;
    f32 u = fade(x - fx), v = fade(z - fz);
    f32 near_row = lattice(seed, i, j) * (1.0f - u) + lattice(seed, i + 1, j) * u;
    f32 far_row = lattice(seed, i, j + 1) * (1.0f - u) + lattice(seed, i + 1, j + 1) * u;
    return near_row * (1.0f - v) + far_row * v;
}

void make_noise(const Noise &noise, f32 *heights)
{
    for (u32 j = 0; j < noise.rows; j++) {
        for (u32 i = 0; i < noise.columns; i++) {
            f32 x = ((f32)i - 0.5f * (f32)(noise.columns - 1)) * noise.spacing / noise.feature;
            f32 z = ((f32)j - 0.5f * (f32)(noise.rows - 1)) * noise.spacing / noise.feature;
            f32 height = 0.0f, weight = noise.amplitude;
            for (u32 octave = 0; octave < noise.octaves; octave++) {
                height += weight * value_noise(noise.seed + octave, x, z);
                weight *= 0.5f;
                x *= 2.0f;
                z *= 2.0f;
            }
            heights[(size_t)j * noise.columns + i] = height;
        }
    }
}

} // namespace plenum
