/*
 * scene_refused.h: scenes in JSON that are refused, with the words that must be in their errors.
 * Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SCENE_REFUSED_H
#define PLENUM_TESTS_SUPPORT_SCENE_REFUSED_H

#include "server/author/scene_load.h"

#include <string.h>

typedef struct SceneRefused {
    const char *json, *says;
} SceneRefused;

static inline Scene *parse(const char *json, ErrorText *error)
{
    memset(error, 0, sizeof *error);
    return scene_parse(json, strlen(json), "t.json", error);
}

static inline Scene *must_parse(const char *json)
{
    ErrorText error;
    Scene *scene = parse(json, &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
    }
    return scene;
}

/* Each error is one line that names the file and contains the words. */
static inline void expect_refused(const SceneRefused *scenes, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        ErrorText error;
        if (parse(scenes[i].json, &error) != NULL) {
            fail_msg("accepted: %s", scenes[i].json);
        }
        if (strstr(error.text, scenes[i].says) == NULL) {
            fail_msg("%s\n  expected: ...%s...\n  got:      %s", scenes[i].json, scenes[i].says,
                     error.text);
        }
        assert_null(strchr(error.text, '\n'));
        assert_int_equal(strncmp(error.text, "t.json:", 7), 0);
        assert_true(error.code < 0);
    }
}

#endif
