/*
 * gauge.h: a fixed box that measures the load on it: force, moment, and the force on each of its
 * bands in height. It is a collider of its own, of effectively infinite mass.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_GAUGE_H
#define PLENUM_TESTS_SUPPORT_GAUGE_H

#include "server/physics/contact/contact.h"

enum {
    GAUGE_BANDS = 8 /* of equal height, along the box's y */
};

typedef struct Gauge {
    Vec3 centre, half; /* m */
    Quat orientation;
    /* Since it was zeroed: N s and N m s about the centre, world axes. */
    f64 impulse[3], moment[3];
    f64 bands[GAUGE_BANDS][3];
} Gauge;

Collider gauge_collider(Gauge *gauge);
/* Resets the measurement. */
void gauge_reset(Gauge *gauge);
/* m, negative inside, and the way out. */
f32 gauge_distance(const Gauge *gauge, Vec3 point, Vec3 *normal);

#endif
