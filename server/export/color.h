/*
 * color.h: colours for formats whose readers expect them as screens do.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_COLOR_H
#define PLENUM_SERVER_EXPORT_COLOR_H

#include "shared/base/base.h"

#include <math.h>

/* A linear component, 0 to 1, by the curve of sRGB (IEC 61966-2-1); clamped. */
static inline f64 export_srgb(f32 linear)
{
    f64 x = (f64)f32_clamp(linear, 0.0f, 1.0f);
    return x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1.0 / 2.4) - 0.055;
}

#endif
