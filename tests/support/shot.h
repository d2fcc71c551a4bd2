/*
 * shot.h: a picture of what a client displays, rendered without a window, and its pixels.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SHOT_H
#define PLENUM_TESTS_SUPPORT_SHOT_H

#include "client/link/connection.h"
#include "client/link/timeline.h"
#include "client/view/view.h"

enum {
    SHOT_WIDTH = 640,
    SHOT_HEIGHT = 360
};

typedef struct Shot {
    Scene scene; /* a grey sky, sun from +x */
    Picture picture;
    void *shown[FIELDS_MAX]; /* owned */
    const ShownPose *poses[FIELDS_MAX];
    const ShownPoint *points[FIELDS_MAX];
    ShownGrid grids[FIELDS_MAX];
    f64 tick; /* shown */
    u8 *rgb;  /* [SHOT_HEIGHT][SHOT_WIDTH][3] */
} Shot;

View *shot_view(void);
/* All fields and entities as the client displays them now; the caller sets the camera. Fails the
 * test if data is missing. */
Shot *shot_create(Connection *client);
void shot_destroy(Shot *shot);
/* Renders it; `keep`: file to keep the picture in, or NULL. */
void shot_take(View *view, Shot *shot, const char *keep);
/* The pixel of a point, which must be within the picture. */
const u8 *shot_pixel(const Shot *shot, Vec3 point);
/* 0, 1, 2: the dominant channel; 3: none. */
u32 shot_hue(const u8 *pixel);

#endif
