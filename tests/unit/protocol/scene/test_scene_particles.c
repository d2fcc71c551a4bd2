/* test_scene_particles.c: particle systems of a scene: every field arrives; hostile numbers, lists
 * and combinations are refused with a text that names the place. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

static Scene *parse(const char *system, ErrorText *error)
{
    char json[2048];
    int used = snprintf(json, sizeof json,
                        "{\"name\":\"t\",\"bodies\":[{\"name\":\"hawk\",\"shape\":{\"kind\":"
                        "\"sphere\",\"radius\":1}}],\"particle_systems\":[{\"name\":\"p\",%s}]}",
                        system);
    assert_true(used > 0 && used < (int)sizeof json);
    *error = (ErrorText){0};
    return scene_parse(json, strlen(json), "t.json", error);
}

static void every_field_arrives(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    Scene *scene = parse(
        "\"count\":70,\"shape\":{\"kind\":\"cone\",\"radius\":0.5,\"half_height\":1},"
        "\"surface\":true,\"position\":[1,2,3],\"rate\":30,\"direction\":[0,0,1],\"spread\":90,"
        "\"speed\":4,\"lifetime\":-1,\"mass\":0.5,\"integrator\":\"midpoint\",\"appearance\":"
        "\"spark\","
        "\"glow\":0.5,\"behavior\":\"flock\",\"flees\":\"hawk\","
        "\"forces\":[{\"kind\":\"vortex\",\"axis\":[0,3,0],\"strength\":2}],"
        "\"particles\":[{\"position\":[4,5,6]},{\"mass\":2,\"velocity\":[1,0,0]}]",
        &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
        return;
    }
    assert_int_equal(scene->particle_system_count, 1);
    const SceneParticles *p = &scene->particle_systems[0];
    assert_int_equal(p->shape.kind, SHAPE_CONE);
    assert_int_equal(p->count, 70);
    expect_near("spread", (f64)p->spread_rad, 1.5707963, 1e-6);
    assert_true(p->surface && p->lifetime_s < 0.0f && p->integrator == PARTICLE_MIDPOINT);
    assert_int_equal(p->flees, 0);
    assert_int_equal(p->appearance.kind, APPEARANCE_BILLBOARDS);
    assert_int_equal(p->appearance.image, BILLBOARD_SPARK);
    assert_int_equal(p->force_count, 1);
    expect_near("axis", (f64)scene->particle_forces[p->first_force].axis.y, 1.0, 1e-6);
    assert_int_equal(p->start_count, 2);
    expect_near("mass by default", (f64)scene->particles[0].mass_kg, 0.5, 0);
    expect_near("mass as said", (f64)scene->particles[1].mass_kg, 2.0, 0);
    expect_near("place by default", (f64)scene->particles[1].position.y, 2.0, 0);
    scene_destroy(scene);
}

static void hostile_systems_are_refused(void **unused)
{
    PL_UNUSED(unused);
    static const struct {
        const char *system, *place;
    } cases[] = {
        {"\"rate\":1,\"count\":1000000000", "particle_systems[0].count: "},
        {"\"rate\":1,\"count\":0", "particle_systems[0].count: "},
        {"\"rate\":1e30", "particle_systems[0].rate: "},
        {"\"rate\":nan", ""},
        {"\"rate\":-5", "particle_systems[0].rate: "},
        {"\"burst\":2000", "particle_systems[0].burst: "},
        {"\"rate\":1,\"burst\":1", "particle_systems[0].burst: "},
        {"\"count\":5", "particle_systems[0]: has no particles"},
        {"\"rate\":1,\"lifetime\":0", "particle_systems[0].lifetime: "},
        {"\"rate\":1,\"lifetime\":2,\"lifetime_spread\":2",
         "particle_systems[0].lifetime_spread: "},
        {"\"rate\":1,\"radius\":0.02,\"radius_spread\":0.02",
         "particle_systems[0].radius_spread: "},
        {"\"rate\":1,\"radius\":0", "particle_systems[0].radius: "},
        {"\"rate\":1,\"position\":[1e9,0,0]", "particle_systems[0].position[0]: "},
        {"\"rate\":1,\"position\":[500,0,0]", "particle_systems[0].position: "},
        {"\"rate\":1,\"surface\":true", "particle_systems[0].surface: "},
        {"\"rate\":1,\"shape\":{\"kind\":\"plane\"}", "particle_systems[0].shape.kind: "},
        {"\"rate\":1,\"shape\":{\"kind\":\"sphere\",\"radius\":-1}",
         "particle_systems[0].shape.radius: "},
        {"\"rate\":1,\"start\":5,\"stop\":4", "particle_systems[0].stop: "},
        {"\"rate\":1,\"restitution\":1.5", "particle_systems[0].restitution: "},
        {"\"rate\":1,\"forces\":[{\"axis\":[0,0,0]}]", "particle_systems[0].forces[0].axis: "},
        {"\"rate\":1,\"forces\":[{\"strength\":1e30}]", "particle_systems[0].forces[0].strength: "},
        {"\"count\":1,\"particles\":[{},{}]", "particle_systems[0].particles: "},
        {"\"particles\":[{\"mass\":-2}]", "particle_systems[0].particles[0].mass: "},
        {"\"particles\":[{\"position\":[0,900,0]}]", "particle_systems[0].particles[0].position: "},
        {"\"rate\":1,\"behavior\":\"swarm\"", "particle_systems[0].behavior: "},
        {"\"rate\":1,\"flees\":\"hawk\"", "particle_systems[0].flees: "},
        {"\"rate\":1,\"behavior\":\"flock\",\"flees\":\"nobody\"", "particle_systems[0].flees: "},
        {"\"rate\":1,\"name\":\"hawk\"", ""},
    };
    for (u32 i = 0; i < PL_COUNT(cases); i++) {
        ErrorText error;
        Scene *scene = parse(cases[i].system, &error);
        if (scene != NULL || strstr(error.text, cases[i].place) == NULL) {
            fail_msg("%s: \"%s\"", cases[i].system, error.text);
        }
    }
}

static void names_and_numbers_are_shared(void **unused)
{
    PL_UNUSED(unused);
    ErrorText error;
    assert_null(parse("\"rate\":1},{\"name\":\"hawk\",\"rate\":1", &error));
    assert_non_null(strstr(error.text, "particle_systems[1].name: \"hawk\" is taken"));
    assert_null(parse("\"rate\":1},{\"name\":\"p\",\"rate\":1", &error));
    assert_non_null(strstr(error.text, "is taken"));
    assert_null(parse("\"rate\":1}],\"smokes\":[{\"name\":\"p\",\"cells\":[8,8,8]", &error));
    assert_non_null(strstr(error.text, "smokes[0].name: \"p\" is taken"));
    assert_null(parse("\"rate\":1}],\"smokes\":[{\"name\":\"air\",\"cells\":[8,8,8]}],\"waters\":[{"
                      "\"name\":\"air\",\"width\":8,\"length\":8",
                      &error));
    assert_non_null(strstr(error.text, "waters[0].name: \"air\" is taken"));
    assert_null(parse("\"rate\":1,\"count\":1000000},{\"name\":\"q\",\"rate\":1,\"count\":1000000",
                      &error));
    assert_non_null(strstr(error.text, "particle_systems[1].count: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_arrives),
        cmocka_unit_test(hostile_systems_are_refused),
        cmocka_unit_test(names_and_numbers_are_shared),
    };
    return cmocka_run_group_tests_name("scene_particles", tests, NULL, NULL);
}
