/*
 * test_scene_rows.c: scene.fbs and the rows of options agree in names, kinds, defaults and numbers;
 * each option accepts all of its range and nothing beyond, with an error that names it; SCENES.md
 * agrees with the rows.
 */
#include "protocol/scene/scene.h"
#include "server/author/reference.h"
#include "server/author/scene_load.h"
#include "server/author/schema.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Side {
    const ReferenceRow *rows;
    const ReferenceChoice *choices;
    u32 count, seen;
    char table[32];
} Side;

/* Minimal objects of each kind that a row is for. */
static const struct {
    const char *table, *kind, *least;
} of_kind[] = {
    {"Shape", "SPHERE", "{\"kind\":\"sphere\",\"radius\":1"},
    {"Shape", "CAPSULE", "{\"kind\":\"capsule\",\"radius\":1,\"half_height\":1"},
    {"Shape", "BOX", "{\"kind\":\"box\",\"half\":[1,1,1]"},
    {"Shape", "HULL", "{\"kind\":\"hull\",\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1]]"},
    {"Shape", "MESH",
     "{\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],[0,1,0]],\"triangles\":[[0,1,2]]"},
    {"Shape", "TERRAIN",
     "{\"kind\":\"terrain\",\"noise\":{},\"columns\":9,\"rows\":9,\"spacing\":1"},
    {"Shape", "COMPOUND", "{\"kind\":\"compound\""},
    {"SoftShape", "GRID", "{\"kind\":\"grid\",\"points\":[3,3],\"size\":[1,1]"},
    {"SoftShape", "ROPE", "{\"kind\":\"rope\",\"points\":[4],\"length\":1"},
    {"SoftShape", "SPHERE", "{\"kind\":\"sphere\",\"radius\":1"},
    {"SoftShape", "TORUS",
     "{\"kind\":\"torus\",\"radius\":1,\"tube_radius\":0.1,\"segments\":[8,8]"},
    {"SoftShape", "TUBE", "{\"kind\":\"tube\",\"radius\":1,\"length\":1,\"segments\":[8,8]"},
    {"SoftShape", "BOX", "{\"kind\":\"box\",\"size\":[1,1,1],\"cells\":[1,1,1]"},
    {"SoftShape", "MESH", "{\"kind\":\"mesh\",\"vertices\":[[0,0,0],[1,0,0],[0,1,0]]"},
    {"SoftShape", "STICKS", "{\"kind\":\"sticks\""},
    {"SoftShape", "RING", "{\"kind\":\"ring\",\"radius\":1,\"points\":[9]"},
    {"SoftShape", "BRIDGE", "{\"kind\":\"bridge\",\"points\":[9,3],\"length\":1,\"width\":1"},
    {"SoftShape", "FIGURE", "{\"kind\":\"figure\",\"height\":1"},
    {"SoftShape", "PLANT", "{\"kind\":\"plant\",\"height\":1,\"radius\":0.1,\"segments\":[4]"},
};

static void check_initial(const Side *side, const ReferenceRow *row, const SchemaField *field)
{
    bool number = row->kind == REFERENCE_NUMBER || row->kind == REFERENCE_WHOLE ||
                  row->kind == REFERENCE_BITS;
    const char *type = number                          ? "number"
                       : row->kind == REFERENCE_FLAG   ? "bool"
                       : row->kind == REFERENCE_CHOICE ? "enum"
                                                       : "other";
    if (row->kind == REFERENCE_OTHER) {
        return; /* parsed by hand: the row serves only the reference pages */
    }
    if (strcmp(field->type, type) != 0) {
        fail_msg("%s.%s: a %s in scene.fbs, a %s in its row", side->table, row->key, field->type,
                 type);
    }
    f64 initial = strtod(field->initial, NULL);
    if (row->kind != REFERENCE_VECTOR && (f32)initial != (f32)row->initial) {
        fail_msg("%s.%s: %s in scene.fbs, %g in its row", side->table, row->key, field->initial,
                 row->initial);
    }
}

static void meet_field(void *context, const SchemaField *field)
{
    Side *side = context;
    u32 before = side->seen;
    for (u32 i = 0; i < side->count; i++) {
        if (strcmp(side->rows[i].key, field->name) == 0) {
            check_initial(side, &side->rows[i], field);
            side->seen++; /* a row for each kind that has it */
        }
    }
    if (side->seen == before) {
        fail_msg("%s.%s is in scene.fbs and has no row", side->table, field->name);
    }
}

static void meet_choice(void *context, const SchemaField *value)
{
    Side *side = context;
    assert_true(side->seen < side->count);
    assert_string_equal(value->name, side->choices[side->seen].key);
    assert_int_equal(strtoul(value->initial, NULL, 10), side->choices[side->seen].number);
    side->seen++;
}

static void the_schema_agrees_with_the_rows(void **unused)
{
    PL_UNUSED(unused);
    u32 count;
    const ReferenceTable *tables = reference_tables(&count);
    for (u32 i = 0; i < count; i++) {
        Side side = {.rows = tables[i].rows, .count = tables[i].count};
        u32 options = 0;
        for (u32 k = 0; k < side.count; k++) {
            options += side.rows[k].kind != REFERENCE_FOR;
        }
        snprintf(side.table, sizeof side.table, "%s", tables[i].name);
        assert_true(schema_walk(tables[i].name, meet_field, &side));
        assert_int_equal(side.seen, options); /* each row is a field */
    }
    const ReferenceEnum *enums = reference_enums(&count);
    for (u32 i = 0; i < count; i++) {
        Side side = {.choices = enums[i].choices, .count = enums[i].count};
        assert_true(schema_walk(enums[i].name, meet_choice, &side));
        assert_int_equal(side.seen, side.count);
    }
    assert_false(schema_walk("Nothing", meet_field, NULL));
}

/* Parses a scene with a body, one object of the table and one more field; returns the error, or
 * "". */
static void try(const ReferenceTable *table, const char *least, const char *key, const char *value,
                ErrorText *error)
{
    char json[1024], object[512], holder[640], member[64];
    snprintf(member, sizeof member, "\"%s\":", key);
    const char *own = strstr(least, member), *rest = ""; /* which this one replaces */
    size_t length = own == NULL ? strlen(least) : (size_t)(own - least) - (own[-1] == ',');
    i32 depth = 0;
    for (const char *c = own; c != NULL && *c != 0 && *rest == 0; c++) {
        depth += (*c == '[') - (*c == ']');
        rest = *c == ',' && depth == 0 ? c : rest;
    }
    const char *comma = least[length - 1] == '{' ? "" : ",";
    snprintf(object, sizeof object, "%.*s%s%s%s%s}", (int)length, least, comma, member, value,
             rest);
    if (table->list[0] == '\0') {
        snprintf(json, sizeof json, "{\"name\":\"t\",\"%s\":%s}", key, value);
    } else {
        const char *open = table->single ? "" : "[", *close = table->single ? "" : "]";
        const char *list = table->within != NULL ? table->within : table->list;
        bool bodies = strcmp(list, "bodies") == 0;
        if (table->deeper != NULL) {
            snprintf(holder, sizeof holder, "[%s,\"%s\":%s,\"%s\":%s%s%s}}]", table->within_least,
                     table->deeper, table->deeper_least, table->list, open, object, close);
        } else if (table->within != NULL) {
            snprintf(holder, sizeof holder, "[%s,\"%s\":%s%s%s}]", table->within_least, table->list,
                     open, object, close);
        } else {
            snprintf(holder, sizeof holder, "%s%s%s", open, object, close);
        }
        int used = snprintf(json, sizeof json, "{\"name\":\"t\",%s\"%s\":%s}",
                            bodies ? ""
                                   : "\"bodies\":[{\"name\":\"a\",\"shape\":{\"kind\":"
                                     "\"sphere\",\"radius\":1}}],",
                            list, holder);
        assert_true(used < (int)sizeof json);
    }
    *error = (ErrorText){0};
    Scene *scene = scene_parse(json, strlen(json), "t.json", error);
    if (scene != NULL) {
        error->text[0] = 0;
    }
    scene_destroy(scene);
}

static void refused(const ReferenceTable *table, const char *least, const ReferenceRow *row,
                    const char *value, const char *place)
{
    ErrorText error;
    char wanted[128];
    bool within = table->within != NULL, deeper = table->deeper != NULL;
    snprintf(wanted, sizeof wanted, "%s%s%s%s%s%s%s%s%s: ", within ? table->within : "",
             within ? "[0]." : "", deeper ? table->deeper : "", deeper ? "." : "", table->list,
             table->single ? "" : "[0]", table->list[0] != '\0' ? "." : "", row->key, place);
    try(table, least, row->key, value, &error);
    if (strstr(error.text, wanted) == NULL || strstr(error.text, " is out of range; ") == NULL) {
        fail_msg("%s %s: \"%s\"", wanted, value, error.text);
    }
}

/* Accepted, or refused for its meaning in context, but not for its size. */
static void in_range(const ReferenceTable *table, const char *least, const ReferenceRow *row,
                     const char *value)
{
    ErrorText error;
    char place[80];
    try(table, least, row->key, value, &error);
    snprintf(place, sizeof place, ".%s: ", row->key);
    bool here = strstr(error.text, place) != NULL; /* not of another option that is required */
    if (strstr(error.text, "has none; leave it out") != NULL ||
        (here &&
         (strstr(error.text, "out of range") != NULL || strstr(error.text, "must be") != NULL))) {
        fail_msg("%s.%s %s: \"%s\"", table->list, row->key, value, error.text);
    }
}

static void check_number(const ReferenceTable *table, const char *least, const ReferenceRow *row)
{
    char text[64];
    const f64 good[] = {row->least, row->most, row->also, row->initial};
    for (u32 i = 0; i < PL_COUNT(good) - reference_is_required(row); i++) {
        snprintf(text, sizeof text, "%.9g", good[i]);
        in_range(table, least, row, text);
    }
    f64 step = row->kind == REFERENCE_NUMBER ? 1e-3 : 0.0;
    f64 below = row->least - step * fmax(fabs(row->least), 1e-3) - (step > 0.0 ? 0.0 : 1.0);
    f64 above = row->most + step * fabs(row->most) + (step > 0.0 ? 0.0 : 1.0);
    snprintf(text, sizeof text, "%.9g", below);
    if (row->kind == REFERENCE_NUMBER || below >= 0.0) {
        refused(table, least, row, text, "");
    }
    snprintf(text, sizeof text, "%.9g", above);
    refused(table, least, row, text, "");
}

static void check_vector(const ReferenceTable *table, const char *least, const ReferenceRow *row)
{
    char text[96];
    snprintf(text, sizeof text, "[0,0,%.9g]", -row->most * 1.001);
    refused(table, least, row, text, "[2]");
    snprintf(text, sizeof text, "[%.9g,0,0]", row->most * 1.001);
    refused(table, least, row, text, "[0]");
}

/* "[n, n, last]" */
static void numbers_text(char *text, u32 number, f64 n, f64 last)
{
    u32 used = 0;
    for (u32 i = 0; i < number; i++) {
        used += (u32)sprintf(text + used, "%s%.9g", i == 0 ? "[" : ",", i + 1 < number ? n : last);
    }
    sprintf(text + used, "]");
}

static void check_numbers(const ReferenceTable *table, const char *least, const ReferenceRow *row)
{
    ErrorText error;
    char text[128], place[8], wanted[64];
    f64 step = row->kind == REFERENCE_NUMBERS ? 1e-3 * row->most : 1.0;
    numbers_text(text, row->number, row->least, row->most);
    in_range(table, least, row, text);
    snprintf(place, sizeof place, "[%u]", row->number - 1);
    numbers_text(text, row->number, row->least, row->most + step);
    refused(table, least, row, text, place);
    if (row->kind == REFERENCE_NUMBERS || row->least > 0.0) {
        numbers_text(text, row->number, row->most,
                     row->least - (row->kind == REFERENCE_COUNTS ? 1.0 : step));
        refused(table, least, row, text, place);
    }
    numbers_text(text, row->number + 1, row->most, row->most);
    snprintf(wanted, sizeof wanted, "%s%s: has %u numbers; must have %u",
             table->list[0] != '\0' ? "." : "", row->key, row->number + 1, row->fewest);
    try(table, least, row->key, text, &error);
    if (strstr(error.text, wanted) == NULL) {
        fail_msg("%s instead of \"%s\"", error.text, wanted);
    }
}

/* "[[0,0,0],[0,0,1],...]": `count` points, the last one with this x. */
static void points_text(char *text, u32 count, f64 last)
{
    u32 used = 0;
    for (u32 i = 0; i < count; i++) {
        used += (u32)sprintf(text + used, "%s[%.9g,0,%u]", i == 0 ? "[" : ",",
                             i + 1 < count ? 0.0 : last, i);
    }
    sprintf(text + used, "%s]", count == 0 ? "[" : "");
}

static void check_points(const ReferenceTable *table, const char *least, const ReferenceRow *row)
{
    ErrorText error;
    char text[128], place[8], wanted[64];
    points_text(text, row->fewest, row->most);
    in_range(table, least, row, text);
    snprintf(place, sizeof place, "[%u]", row->fewest - 1);
    points_text(text, row->fewest, row->most * 1.001);
    refused(table, least, row, text, place);
    points_text(text, row->fewest - 1, 0.0);
    snprintf(wanted, sizeof wanted, ".%s: has %u points; must have %u", row->key, row->fewest - 1,
             row->fewest);
    try(table, least, row->key, text, &error);
    if (strstr(error.text, wanted) == NULL) {
        fail_msg("%s instead of \"%s\"", error.text, wanted);
    }
}

/* The minimal object of the first of these kinds ("SPHERE | TORUS"). */
static const char *least_of(const ReferenceTable *table, const char *kinds)
{
    for (u32 i = 0; i < PL_COUNT(of_kind); i++) {
        size_t length = strlen(of_kind[i].kind);
        if (strcmp(of_kind[i].table, table->name) == 0 &&
            strncmp(of_kind[i].kind, kinds, length) == 0 &&
            (kinds[length] == 0 || kinds[length] == ' ')) {
            return of_kind[i].least;
        }
    }
    fail_msg("%s: no minimal object of %s", table->name, kinds);
    return NULL;
}

static u32 check_table(const ReferenceTable *table)
{
    bool joint = strcmp(table->list, "joints") == 0;
    const char *least = table->least;
    u32 checked = 0;
    for (u32 k = 0; k < table->count; k++) {
        const ReferenceRow *row = &table->rows[k];
        bool number = row->kind == REFERENCE_NUMBER || row->kind == REFERENCE_WHOLE;
        if (row->kind == REFERENCE_FOR) {
            least = strcmp(row->key, "ALL") == 0 ? table->least : least_of(table, row->key);
        } else if (number && (!joint || strstr(row->key, "break") != NULL)) {
            check_number(table, least, row); /* most of a joint are not for balls */
            checked++;
        } else if (row->kind == REFERENCE_VECTOR && !joint) {
            check_vector(table, least, row);
            checked++;
        } else if (row->kind == REFERENCE_NUMBERS || row->kind == REFERENCE_COUNTS) {
            check_numbers(table, least, row);
            checked++;
        } else if (row->kind == REFERENCE_POINTS) {
            check_points(table, least, row);
            checked++;
        }
    }
    return checked;
}

static void ranges_are_those_of_the_rows(void **unused)
{
    PL_UNUSED(unused);
    u32 count, checked = 0;
    const ReferenceTable *tables = reference_tables(&count);
    for (u32 i = 0; i < count; i++) {
        checked += check_table(&tables[i]);
    }
    assert_true(checked > 250);
}

/* The schema and the rows give the same bits. */
static void defaults_are_those_of_the_rows(void **unused)
{
    PL_UNUSED(unused);
    const char *json =
        "{\"name\":\"t\",\"bodies\":[{\"name\":\"a\",\"shape\":{\"kind\":\"sphere\","
        "\"radius\":1}}],\"soft_bodies\":[{\"name\":\"s\",\"shape\":{\"kind\":\"rope\","
        "\"points\":[4],\"length\":1}}],\"cloths\":[{\"name\":\"c\","
        "\"points\":[3,3],\"size\":[1,1]}]}";
    ErrorText error = {0};
    Scene *scene = scene_parse(json, strlen(json), "t.json", &error);
    if (scene == NULL) {
        fail_msg("%s", error.text);
        return;
    }
    assert_int_equal(scene->soft_count, 2);
    for (u32 i = 0; i < scene->soft_count; i++) {
        const SceneSoft *s = &scene->soft_bodies[i];
#define ROW_NUMBER(key, member, unit, scale, initial, ...)                                         \
    assert_float_equal(s->member, (initial) * (scale), 0);
#define ROW_WHOLE(key, member, initial, ...)               assert_int_equal(s->member, initial);
#define ROW_BITS(key, member, initial, ...)                assert_int_equal(s->member, initial);
#define ROW_FLAG(key, member, initial, doc)                assert_int_equal(s->member, initial);
#define ROW_CHOICE(key, member, Type, names, initial, doc) assert_int_equal(s->member, initial);
#include "shared/rows/soft.def"
    }
    const SceneBody *b = &scene->bodies[0];
    assert_float_equal(b->friction, 0.6f, 0);
    assert_float_equal(b->restitution, 0.0f, 0);
    assert_float_equal(b->gravity_scale, 1.0f, 0);
#define ROW_BITS(key, member, initial, ...)                assert_int_equal(b->member, initial);
#define ROW_FLAG(key, member, initial, doc)                assert_int_equal(b->member, initial);
#define ROW_CHOICE(key, member, Type, names, initial, doc) assert_int_equal(b->member, initial);
#include "shared/rows/body.def"
    scene_destroy(scene);
}

static char *read_all(FILE *file)
{
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    size_t used = fread(text, 1, (1 << 20) - 1, file);
    assert_true(used > 0);
    return text;
}

/* `make docs` regenerates them. */
static void the_reference_is_up_to_date(void **unused)
{
    PL_UNUSED(unused);
    FILE *made = tmpfile(), *kept = fopen("protocol/SCENES.md", "rb");
    assert_non_null(made);
    assert_non_null(kept);
    reference_print(made);
    rewind(made);
    char *wanted = read_all(made), *page = read_all(kept);
    const char *begin = strstr(page, "<!-- rows: from here `make docs` -->\n");
    char *end = strstr(page, "<!-- rows: to here -->\n");
    assert_non_null(begin);
    assert_non_null(end);
    *end = 0;
    if (strcmp(strchr(begin, '\n') + 1, wanted) != 0) {
        fail_msg("protocol/SCENES.md is not what the rows say: run make docs");
    }
    free(wanted);
    free(page);
    fclose(made);
    fclose(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_agrees_with_the_rows),
        cmocka_unit_test(ranges_are_those_of_the_rows),
        cmocka_unit_test(defaults_are_those_of_the_rows),
        cmocka_unit_test(the_reference_is_up_to_date),
    };
    return cmocka_run_group_tests_name("scene_rows", tests, NULL, NULL);
}
