/*
 * soft_bullet.h: Bullet's soft bodies on the scenes of soft_scenes.h.
 * Layer: tests. C and C++.
 */
#ifndef PLENUM_TESTS_BENCH_PEERS_SOFT_BULLET_H
#define PLENUM_TESTS_BENCH_PEERS_SOFT_BULLET_H

#include "tests/bench/soft_scenes.h"

PL_BEGIN_C
/* The same particles, masses and pins, and a link for each of the store's distances, solved
 * SOFT_SETUP_STEPS times a tick by position iterations. `soft` is of the same setup. */
void *soft_bullet_create(const SoftSetup *setup, const Soft *soft);
void soft_bullet_destroy(void *world);
void soft_bullet_tick(void *world);
/* Links of all bodies. */
u32 soft_bullet_links(const void *world);
PL_END_C

#endif
