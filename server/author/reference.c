/* reference.c: rows as data and as Markdown. See reference.h. */
#include "server/author/reference.h"

#include "protocol/scene/scene.h"
#include "shared/base/check.h"
#include "shared/base/kinds.h"
#include "shared/base/limits.h"
#include "shared/mesh/mesh_shapes.h"

#include <ctype.h>
#include <float.h>
#include <string.h>

static const ReferenceChoice BodyMotion_choices[] = {
#define BODY_MOTION(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice RigidMethod_choices[] = {
#define RIGID_METHOD(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice JointKind_choices[] = {
#define JOINT_KIND(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SoftMethod_choices[] = {
#define SOFT_METHOD(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SoftBend_choices[] = {
#define SOFT_BEND(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SoftVolume_choices[] = {
#define SOFT_VOLUME(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SoftMatch_choices[] = {
#define SOFT_MATCH(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice EmitterAim_choices[] = {
#define EMITTER_AIM(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice ParticleIntegrator_choices[] = {
#define PARTICLE_INTEGRATOR(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice ParticleBehavior_choices[] = {
#define PARTICLE_BEHAVIOR(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice ParticleForceKind_choices[] = {
#define PARTICLE_FORCE(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SmokeAdvection_choices[] = {
#define SMOKE_ADVECTION(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SmokePressure_choices[] = {
#define SMOKE_PRESSURE(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SmokeSideKind_choices[] = {
#define SMOKE_SIDE(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice WaterMethod_choices[] = {
#define WATER_METHOD(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice WaterBorder_choices[] = {
#define WATER_BORDER(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};
static const ReferenceChoice SwarmObjective_choices[] = {
#define SWARM_OBJECTIVE(NAME, key, number, doc) {#key, number, doc},
#include "shared/rows/kinds.def"
};

/* The tables. Each includes reference_rows.h, which defines the expansion of a row. */
static const ReferenceRow body_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/body.def"
};
static const ReferenceRow joint_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/joint.def"
};
static const ReferenceRow soft_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/soft.def"
};
static const ReferenceRow cloth_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/cloth.def"
};
static const ReferenceRow particle_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/particles.def"
};

static const ReferenceRow liquid_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/liquid.def"
};
static const ReferenceRow grains_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/grains.def"
};

static const ReferenceRow water_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/water.def"
};

static const ReferenceRow material_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/material.def"
};
static const ReferenceRow camera_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/camera.def"
};
static const ReferenceRow hands_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/hands.def"
};

static const ReferenceRow smoke_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/smoke_grid.def"

#include "server/author/reference_rows.h"
#include "shared/rows/smoke.def"
};

static const ReferenceRow shape_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/shape.def"
};

static const ReferenceRow source_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/source.def"
};
static const ReferenceRow particle_force_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/particle_force.def"
};
static const ReferenceRow smoke_side_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/smoke_side.def"
};
static const ReferenceRow smoke_source_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/smoke_source.def"
};
static const ReferenceRow water_basin_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/water_basin.def"
};
static const ReferenceRow water_source_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/water_source.def"
};

static const ReferenceRow scene_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/scene.def"
};
static const ReferenceRow ragdoll_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/ragdoll.def"
};
static const ReferenceRow prefab_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/prefab.def"
};
static const ReferenceRow probe_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/probe_option.def"
};
static const ReferenceRow sky_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/sky.def"
};
static const ReferenceRow water_gauge_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/water_gauge.def"
};
static const ReferenceRow particle_start_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/particle_start.def"
};

static const ReferenceRow repeat_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/repeat.def"
};
static const ReferenceRow path_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/path.def"
};
static const ReferenceRow track_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/track.def"
};
static const ReferenceRow noise_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/noise.def"
};
static const ReferenceRow volume_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/volume.def"
};
static const ReferenceRow part_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/part.def"
};
static const ReferenceRow pin_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/pin.def"
};
static const ReferenceRow stick_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/stick.def"
};
static const ReferenceRow skin_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/skin.def"
};
static const ReferenceRow soft_shape_rows[] = {
#include "server/author/reference_rows.h"
#include "shared/rows/soft_shape.def"
};

#define BODY     "{\"name\":\"x\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}"
#define STILL    "{\"name\":\"x\",\"motion\":\"static\""
#define LIQUID   "{\"name\":\"x\",\"capacity\":100"
#define ROPE     "{\"kind\":\"rope\",\"points\":[4],\"length\":1"
#define SOFT     "{\"name\":\"x\",\"shape\":" ROPE "}"
#define TRIANGLE "\"vertices\":[[0,0,0],[1,0,0],[0,1,0]]"
#define BALL     "{\"shape\":{\"kind\":\"sphere\",\"radius\":0.1}"

#define ROWS(table) .rows = table##_rows, .count = PL_COUNT(table##_rows)

static const ReferenceTable tables[] = {
    {.name = "Scene", .list = "", .least = "{", ROWS(scene), .single = true},
    {.name = "Body",
     .list = "bodies",
     .least = "{\"name\":\"x\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}",
     ROWS(body)},
    {.name = "Joint",
     .list = "joints",
     .least = "{\"name\":\"x\",\"kind\":\"ball\",\"a\":\"a\"",
     ROWS(joint)},
    {.name = "Ragdoll", .list = "ragdolls", .least = "{\"name\":\"x\"", ROWS(ragdoll)},
    {.name = "Soft",
     .list = "soft_bodies",
     .least = "{\"name\":\"x\",\"shape\":{\"kind\":\"box\",\"size\":[1,1,1],\"cells\":[1,1,1],"
              "\"solid\":true}",
     ROWS(soft)},
    {.name = "Cloth",
     .list = "cloths",
     .least = "{\"name\":\"x\",\"points\":[3,3],\"size\":[1,1]",
     ROWS(cloth)},
    {.name = "Liquid",
     .list = "liquids",
     .least = "{\"name\":\"x\",\"fill\":[{\"shape\":{\"kind\":\"sphere\",\"radius\":0.1}}]",
     ROWS(liquid)},
    {.name = "Grains",
     .list = "grains",
     .least = "{\"name\":\"x\",\"fill\":[{\"shape\":{\"kind\":\"sphere\",\"radius\":0.1}}]",
     ROWS(grains)},
    {.name = "Source",
     .list = "sources",
     .least = "{",
     ROWS(source),
     .within = "liquids",
     .within_least = "{\"name\":\"x\""},
    {.name = "ParticleSystem",
     .list = "particle_systems",
     .least = "{\"name\":\"x\"",
     ROWS(particle)},
    {.name = "ParticleForce",
     .list = "forces",
     .least = "{",
     ROWS(particle_force),
     .within = "particle_systems",
     .within_least = "{\"name\":\"x\",\"rate\":1"},
    {.name = "ParticleStart",
     .list = "particles",
     .least = "{",
     ROWS(particle_start),
     .within = "particle_systems",
     .within_least = "{\"name\":\"x\""},
    {.name = "Smoke", .list = "smokes", .least = "{\"name\":\"x\",\"cells\":[8,8]", ROWS(smoke)},
    {.name = "SmokeSide",
     .list = "sides",
     .least = "{",
     ROWS(smoke_side),
     .within = "smokes",
     .within_least = "{\"name\":\"x\",\"cells\":[8,8]"},
    {.name = "SmokeSource",
     .list = "sources",
     .least = "{",
     ROWS(smoke_source),
     .within = "smokes",
     .within_least = "{\"name\":\"x\",\"cells\":[8,8]"},
    {.name = "Water", .list = "waters", .least = "{\"name\":\"x\"", ROWS(water)},
    {.name = "WaterBasin",
     .list = "basins",
     .least = "{",
     ROWS(water_basin),
     .within = "waters",
     .within_least = "{\"name\":\"x\""},
    {.name = "WaterSource",
     .list = "sources",
     .least = "{",
     ROWS(water_source),
     .within = "waters",
     .within_least = "{\"name\":\"x\""},
    {.name = "WaterGauge",
     .list = "gauges",
     .least = "{\"name\":\"x\"",
     ROWS(water_gauge),
     .within = "waters",
     .within_least = "{\"name\":\"x\""},
    {.name = "Shape",
     .list = "shape",
     .least = "{\"kind\":\"sphere\"",
     ROWS(shape),
     .single = true,
     .within = "bodies",
     .within_least = STILL,
     .title = "shape"},
    {.name = "Track",
     .list = "track",
     .least = "{\"points\":[[0,0,0],[1,0,0]]",
     ROWS(track),
     .single = true,
     .within = "bodies",
     .within_least = STILL,
     .deeper = "shape",
     .deeper_least = "{\"kind\":\"mesh\"",
     .title = "track of a mesh"},
    {.name = "Noise",
     .list = "noise",
     .least = "{",
     ROWS(noise),
     .single = true,
     .within = "bodies",
     .within_least = STILL,
     .deeper = "shape",
     .deeper_least = "{\"kind\":\"terrain\",\"columns\":9,\"rows\":9,\"spacing\":1",
     .title = "noise of a terrain"},
    {.name = "Child",
     .list = "children",
     .least = BALL,
     ROWS(part),
     .within = "bodies",
     .within_least = STILL,
     .deeper = "shape",
     .deeper_least = "{\"kind\":\"compound\"",
     .title = "children of a compound"},
    {.name = "Child",
     .list = "fill",
     .least = BALL,
     ROWS(volume),
     .within = "liquids",
     .within_least = LIQUID,
     .title = "fill and drains of liquids and grains"},
    {.name = "Repeat",
     .list = "repeat",
     .least = "{\"count\":[1,1,1],\"spacing\":[0,0,0]",
     ROWS(repeat),
     .single = true,
     .within = "bodies",
     .within_least = BODY,
     .title = "repeat"},
    {.name = "Path",
     .list = "path",
     .least = "{\"points\":[[0,0,0],[1,0,0]]",
     ROWS(path),
     .single = true,
     .within = "bodies",
     .within_least = BODY ",\"motion\":\"kinematic\"",
     .title = "path of a body"},
    {.name = "SoftShape",
     .list = "shape",
     .least = "{",
     ROWS(soft_shape),
     .single = true,
     .within = "soft_bodies",
     .within_least = "{\"name\":\"x\"",
     .title = "shape of soft_bodies"},
    {.name = "SoftSkin",
     .list = "skin",
     .least = "{" TRIANGLE ",\"triangles\":[[0,1,2]]",
     ROWS(skin),
     .single = true,
     .within = "soft_bodies",
     .within_least = "{\"name\":\"x\"",
     .deeper = "shape",
     .deeper_least = "{\"kind\":\"sphere\",\"radius\":1",
     .title = "skin of a soft shape"},
    {.name = "Stick",
     .list = "sticks",
     .least = "{\"points\":[0,1]",
     ROWS(stick),
     .within = "soft_bodies",
     .within_least = "{\"name\":\"x\"",
     .deeper = "shape",
     .deeper_least = "{\"kind\":\"sticks\"," TRIANGLE,
     .title = "sticks of a soft shape"},
    {.name = "Pin",
     .list = "pins",
     .least = "{",
     ROWS(pin),
     .within = "soft_bodies",
     .within_least = SOFT,
     .title = "pins of soft_bodies and cloths"},
    {.name = "Material", .list = "materials", .least = "{\"name\":\"x\"", ROWS(material)},
    {.name = "Prefab",
     .list = "prefabs",
     .least =
         "{\"name\":\"x\",\"body\":{\"name\":\"x\",\"shape\":{\"kind\":\"sphere\",\"radius\":1}}",
     ROWS(prefab)},
    {.name = "Probe",
     .list = "probes",
     .least = "{\"name\":\"x\",\"kind\":\"range\",\"from\":[0,0,0],\"direction\":[0,-1,0]",
     ROWS(probe)},
    {.name = "Camera", .list = "camera", .least = "{", ROWS(camera), .single = true},
    {.name = "Sky", .list = "sky", .least = "{", ROWS(sky), .single = true},
    {.name = "Hands", .list = "hands", .least = "{", ROWS(hands), .single = true},
};

static const ReferenceEnum enums[] = {
    {"Motion", BodyMotion_choices, PL_COUNT(BodyMotion_choices)},
    {"Method", RigidMethod_choices, PL_COUNT(RigidMethod_choices)},
    {"JointKind", JointKind_choices, PL_COUNT(JointKind_choices)},
    {"SoftMethod", SoftMethod_choices, PL_COUNT(SoftMethod_choices)},
    {"SoftBend", SoftBend_choices, PL_COUNT(SoftBend_choices)},
    {"SoftVolume", SoftVolume_choices, PL_COUNT(SoftVolume_choices)},
    {"SoftMatch", SoftMatch_choices, PL_COUNT(SoftMatch_choices)},
    {"EmitterAim", EmitterAim_choices, PL_COUNT(EmitterAim_choices)},
    {"ParticleIntegrator", ParticleIntegrator_choices, PL_COUNT(ParticleIntegrator_choices)},
    {"ParticleBehavior", ParticleBehavior_choices, PL_COUNT(ParticleBehavior_choices)},
    {"ParticleForceKind", ParticleForceKind_choices, PL_COUNT(ParticleForceKind_choices)},
    {"SmokeAdvection", SmokeAdvection_choices, PL_COUNT(SmokeAdvection_choices)},
    {"SmokePressure", SmokePressure_choices, PL_COUNT(SmokePressure_choices)},
    {"SmokeSideKind", SmokeSideKind_choices, PL_COUNT(SmokeSideKind_choices)},
    {"WaterMethod", WaterMethod_choices, PL_COUNT(WaterMethod_choices)},
    {"WaterBorder", WaterBorder_choices, PL_COUNT(WaterBorder_choices)},
    {"SwarmObjective", SwarmObjective_choices, PL_COUNT(SwarmObjective_choices)},
};

const ReferenceTable *reference_tables(u32 *count)
{
    *count = PL_COUNT(tables);
    return tables;
}

const ReferenceEnum *reference_enums(u32 *count)
{
    *count = PL_COUNT(enums);
    return enums;
}

/* ---- Markdown ---- */

/* The joint kinds to which an option is restricted: "HINGE | SLIDER". */
static const struct {
    const char *key, *kinds;
} only[] = {
#define ROW_ONLY(key, initial, kinds) {#key, #kinds},
#include "shared/rows/joint.def"
};

static void print_kinds(FILE *out, const char *kinds)
{
    fputs(" (", out);
    for (const char *c = kinds; *c != 0; c++) {
        if (strncmp(c, " | ", 3) == 0) {
            fputs(", ", out);
            c += 2;
        } else {
            fputc(tolower((unsigned char)*c), out);
        }
    }
    fputc(')', out);
}

static void print_unit(FILE *out, const char *unit)
{
    fprintf(out, "%s%s", unit[0] != 0 ? " " : "", unit);
}

/* "0 to 1 m, or -1". */
static void print_range(FILE *out, const ReferenceRow *row)
{
    bool more = row->also < row->least || row->also > row->most;
    if (row->kind == REFERENCE_NUMBERS || row->kind == REFERENCE_COUNTS) {
        fputc('[', out);
        for (u32 i = 0; i < row->number; i++) {
            static const char *const names[] = {"", "n", "ab", "xyz"};
            fputs(i == 0 ? "" : ", ", out);
            if (row->number == 6) {
                fprintf(out, "%c%u", "xyz"[i % 3], i / 3); /* the two corners of a box */
            } else {
                CHECK(row->number < PL_COUNT(names));
                fputc(names[row->number][i], out);
            }
        }
        fputs(row->fewest < row->number ? "] or fewer, each " : "], each ", out);
    }
    switch (row->kind) {
    case REFERENCE_FOR:
        break;
    case REFERENCE_NUMBER:
    case REFERENCE_WHOLE:
    case REFERENCE_NUMBERS:
    case REFERENCE_COUNTS:
        fprintf(out, row->kind == REFERENCE_COUNTS ? "%.0f to %.0f" : "%g to %g", row->least,
                row->most);
        print_unit(out, row->unit);
        if (more) {
            fprintf(out, ", or %g", row->also);
        }
        break;
    case REFERENCE_POINTS:
        fprintf(out, "list of %u to %u [x, y, z], each within ±%g", row->fewest, row->number,
                row->most);
        print_unit(out, row->unit);
        break;
    case REFERENCE_BITS:
        fprintf(out, "%g to 4294967295", row->least);
        break;
    case REFERENCE_FLAG:
        fputs("true, false", out);
        break;
    case REFERENCE_VECTOR:
        fprintf(out, "[x, y, z], each within ±%g", row->most);
        print_unit(out, row->unit);
        break;
    case REFERENCE_CHOICE:
        for (u32 i = 0; i < row->choice_count; i++) {
            fprintf(out, "%s%s", i == 0 ? "" : ", ", row->choices[i].key);
        }
        break;
    case REFERENCE_OTHER:
        fputs(row->unit, out);
        break;
    }
}

bool reference_is_required(const ReferenceRow *row)
{
    bool in_range = row->initial >= row->least && row->initial <= row->most;
    switch (row->kind) {
    case REFERENCE_NUMBERS:
    case REFERENCE_COUNTS:
    case REFERENCE_POINTS:
        return row->initial_text == NULL || strcmp(row->initial_text, "required") == 0;
    case REFERENCE_NUMBER:
    case REFERENCE_WHOLE:
        return !in_range && row->initial != row->also;
    default:
        return false;
    }
}

static void print_initial(FILE *out, const ReferenceRow *row)
{
    if (reference_is_required(row)) {
        fputs("required", out);
        return;
    }
    switch (row->kind) {
    case REFERENCE_FLAG:
        fputs(row->initial != 0.0 ? "true" : "false", out);
        break;
    case REFERENCE_BITS:
        fprintf(out, "%.0f", row->initial);
        break;
    case REFERENCE_CHOICE:
        fputs(row->choices[(u32)row->initial].key, out);
        break;
    case REFERENCE_VECTOR:
        fputs("[0, 0, 0]", out);
        break;
    case REFERENCE_OTHER:
    case REFERENCE_NUMBERS:
    case REFERENCE_POINTS:
        fputs(row->initial_text, out);
        break;
    default:
        fprintf(out, "%g", row->initial);
        break;
    }
}

static void print_table(FILE *out, const ReferenceTable *table)
{
    bool joints = table->rows == joint_rows, within = table->within != NULL;
    const char *kinds = "ALL";
    fprintf(out, "\n### ");
    if (table->title != NULL) {
        fputs(table->title, out);
    } else {
        fprintf(out, "%s%s%s", table->list[0] != '\0' ? table->list : "scene", within ? " of " : "",
                within ? table->within : "");
    }
    fputs("\n\n| field | type and range | default | |\n| --- | --- | --- | --- |\n", out);
    for (u32 i = 0; i < table->count; i++) {
        const ReferenceRow *row = &table->rows[i];
        if (row->kind == REFERENCE_FOR) {
            kinds = row->key;
            continue;
        }
        fprintf(out, "| `%s` | ", row->key);
        print_range(out, row);
        fputs(" | ", out);
        print_initial(out, row);
        fprintf(out, " | %s", row->doc);
        for (u32 k = 0; k < row->choice_count; k++) {
            fprintf(out, "%s%s: %s", k == 0 ? ": " : "; ", row->choices[k].key,
                    row->choices[k].doc);
        }
        for (u32 k = 0; joints && k < PL_COUNT(only); k++) {
            if (strcmp(only[k].key, row->key) == 0) {
                print_kinds(out, only[k].kinds);
            }
        }
        if (strcmp(kinds, "ALL") != 0) {
            print_kinds(out, kinds);
        }
        fputs(" |\n", out);
    }
}

static void print_probes(FILE *out)
{
    static const struct {
        const char *key, *unit, *of, *doc;
    } probes[] = {
#define PROBE(NAME, key, number, unit, of, doc) {#key, unit, #of, doc},
#include "shared/rows/probe.def"
    };
    static const char *const names[][2] = {
        {"WORLD", "the world"},
        {"ENTITY", "a body, a soft body or a liquid"},
        {"BODY", "a body"},
        {"SOFT", "a soft body"},
        {"GAS", "a closed soft body or a ring"},
        {"JOINT", "a joint"},
        {"LIQUID", "a liquid or grains"},
        {"FILLED", "a closed soft body, a ring, a liquid or grains"},
        {"RAY", "a ray: `from`, `direction`, `length`"}};
    fputs("\n### kinds of probes\n\n| kind | unit | of | |\n| --- | --- | --- | --- |\n", out);
    for (u32 i = 0; i < PL_COUNT(probes); i++) {
        const char *of = "";
        for (u32 k = 0; k < PL_COUNT(names); k++) {
            of = strcmp(names[k][0], probes[i].of) == 0 ? names[k][1] : of;
        }
        fprintf(out, "| `%s` | %s | %s | %s |\n", probes[i].key, probes[i].unit, of, probes[i].doc);
    }
}

static void print_parameters(FILE *out)
{
    fputs(
        "\n### parameters\n\nNot part of a scene: sliders for users who may tune the world.\n\n"
        "| name | minimum | maximum | unit | initial | |\n| --- | --- | --- | --- | --- | --- |\n",
        out);
#define PARAMETER_WORLD(NAME, name, unit, components, least, most, initial, initial_text, doc)     \
    fprintf(out, "| %s | %g | %g | %s | %s | %s |\n", name, (f64)(least), (f64)(most), unit,       \
            initial_text, doc);
#define PARAMETER_RIGID     PARAMETER_WORLD
#define PARAMETER_SOFT      PARAMETER_WORLD
#define PARAMETER_LIQUID    PARAMETER_WORLD
#define PARAMETER_PARTICLES PARAMETER_WORLD
#define PARAMETER_SMOKE     PARAMETER_WORLD
#define PARAMETER_WATER     PARAMETER_WORLD
#include "shared/rows/parameter.def"
}

void reference_print(FILE *out)
{
    for (u32 i = 0; i < PL_COUNT(tables); i++) {
        print_table(out, &tables[i]);
    }
    print_probes(out);
    print_parameters(out);
}
