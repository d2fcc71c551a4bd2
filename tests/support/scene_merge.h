/*
 * scene_merge.h: one scene out of several scene files: worlds that nobody designed. Everything in
 * them stands where it stood, so that things overlap and meet that were never tried together.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SCENE_MERGE_H
#define PLENUM_TESTS_SUPPORT_SCENE_MERGE_H

#include "shared/base/base.h"

/* The JSON text of a scene with the matter of `count` scene files: their bodies, materials, joints,
 * soft bodies, liquids, grains, waters, smokes, particle systems and prefabs, with names that
 * differ; of single values (gravity, rates) only `wind` and `liquid_spacing`, from the first that
 * has them. `settings` are members that stand first in it, as "\"tick_rate\":60,". File names are
 * made absolute. The caller frees it. CHECKs that the files can be read and are JSON: they are
 * ours. */
char *scene_merge(const char *const *paths, u32 count, const char *settings);

#endif
