/* scene_merge.c: see scene_merge.h. Works on the text: what is not a name is copied as it is. */
#include "tests/support/scene_merge.h"

#include "shared/base/check.h"
#include "shared/base/limits.h"
#include "tests/support/process.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const lists[] = {"bodies", "materials", "joints",  "soft_bodies",
                                    "cloths", "ragdolls",  "liquids", "grains",
                                    "waters", "smokes",    "prefabs", "particle_systems"};
static const char *const singles[] = {"wind", "liquid_spacing"};
/* Keys whose strings name something of the scene. */
static const char *const naming[] = {"name",  "a",     "b",        "of",   "chain",
                                     "flees", "spray", "material", "dams", "each"};

enum {
    KEY_BYTES = 64,
    LISTS = PL_COUNT(lists),
    SINGLES = PL_COUNT(singles)
};

typedef struct Copy {
    const char *at;
    FILE *out; /* NULL: skip */
    u32 part;  /* which scene */
} Copy;

static bool is_one_of(const char *const *words, u32 count, const char *word)
{
    for (u32 i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static void skip_space(Copy *copy)
{
    while (isspace((unsigned char)*copy->at)) {
        copy->at++;
    }
}

static void emit(const Copy *copy, const char *from, size_t bytes)
{
    if (copy->out != NULL) {
        fwrite(from, 1, bytes, copy->out);
    }
}

/* Past a string; its first character behind the quote is returned, its length set. */
static const char *string_of(Copy *copy, size_t *bytes)
{
    CHECK(*copy->at == '"');
    const char *from = ++copy->at;
    while (*copy->at != '"') {
        CHECK(*copy->at != 0);
        copy->at += *copy->at == '\\' ? 2 : 1;
    }
    *bytes = (size_t)(copy->at - from);
    copy->at++;
    return from;
}

static void key_of(Copy *copy, char key[static KEY_BYTES])
{
    size_t bytes;
    const char *from = string_of(copy, &bytes);
    CHECK(bytes < KEY_BYTES);
    memcpy(key, from, bytes);
    key[bytes] = 0;
    skip_space(copy);
    CHECK(*copy->at == ':');
    copy->at++;
    skip_space(copy);
}

static void copy_string(Copy *copy, const char *key)
{
    size_t bytes;
    const char *from = string_of(copy, &bytes);
    if (copy->out == NULL) {
        return;
    }
    fputc('"', copy->out);
    if (is_one_of(naming, PL_COUNT(naming), key)) {
        fprintf(copy->out, "%c", 'A' + (int)copy->part);
    } else if (strcmp(key, "file") == 0) {
        char *folder = realpath(source_path("shared/scenes"), NULL);
        CHECK(folder != NULL);
        fprintf(copy->out, "%s/", folder);
        free(folder);
    }
    emit(copy, from, bytes);
    fputc('"', copy->out);
}

/* One value below `key`; elements of an array have its key. NOLINTNEXTLINE(misc-no-recursion) */
static void copy_value(Copy *copy, const char *key)
{
    char own[KEY_BYTES];
    if (*copy->at == '"') {
        copy_string(copy, key);
        return;
    }
    if (*copy->at != '{' && *copy->at != '[') {
        size_t bytes = strcspn(copy->at, ",]} \t\r\n");
        CHECK(bytes > 0);
        emit(copy, copy->at, bytes);
        copy->at += bytes;
        return;
    }
    bool object = *copy->at == '{';
    emit(copy, copy->at++, 1);
    skip_space(copy);
    while (*copy->at != '}' && *copy->at != ']') {
        if (object) {
            key_of(copy, own);
            if (copy->out != NULL) {
                fprintf(copy->out, "\"%s\":", own);
            }
        }
        copy_value(copy, object ? own : key);
        skip_space(copy);
        if (*copy->at == ',') {
            emit(copy, copy->at++, 1);
            skip_space(copy);
        }
    }
    emit(copy, copy->at++, 1);
}

typedef struct Part {
    FILE *out;
    char *text;
    size_t bytes;
} Part;

/* The members of one scene go to the texts of their lists, without the outer brackets. */
static void take_scene(const char *path, u32 part, Part list[static LISTS],
                       char *single[static SINGLES])
{
    char *text = file_text(path), key[KEY_BYTES];
    CHECK(text != NULL);
    Copy copy = {.at = text, .part = part};
    skip_space(&copy);
    CHECK(*copy.at == '{');
    copy.at++;
    skip_space(&copy);
    while (*copy.at != '}') {
        key_of(&copy, key);
        const char *from = copy.at;
        copy.out = NULL;
        for (u32 i = 0; i < LISTS; i++) {
            if (strcmp(lists[i], key) == 0) {
                copy.out = list[i].out;
                fprintf(copy.out, "%s", ftell(copy.out) > 0 ? "," : "");
            }
        }
        if (copy.out != NULL) {
            CHECK(*copy.at == '[');
            copy.at++;
            skip_space(&copy);
            while (*copy.at != ']') {
                copy_value(&copy, key);
                skip_space(&copy);
                if (*copy.at == ',') {
                    emit(&copy, copy.at++, 1);
                    skip_space(&copy);
                }
            }
            copy.at++;
        } else {
            copy_value(&copy, key);
        }
        for (u32 i = 0; i < SINGLES; i++) {
            if (strcmp(singles[i], key) == 0 && single[i] == NULL) {
                single[i] = strndup(from, (size_t)(copy.at - from));
            }
        }
        skip_space(&copy);
        if (*copy.at == ',') {
            copy.at++;
            skip_space(&copy);
        }
    }
    free(text);
}

char *scene_merge(const char *const *paths, u32 count, const char *settings)
{
    Part list[LISTS], all;
    char *single[SINGLES] = {NULL};
    for (u32 i = 0; i < LISTS; i++) {
        list[i].out = open_memstream(&list[i].text, &list[i].bytes);
        CHECK(list[i].out != NULL);
    }
    for (u32 i = 0; i < count; i++) {
        take_scene(paths[i], i, list, single);
    }
    all.out = open_memstream(&all.text, &all.bytes);
    CHECK(all.out != NULL);
    fprintf(all.out, "{%s\"name\":\"merged\"", settings);
    for (u32 i = 0; i < LISTS; i++) {
        fclose(list[i].out);
        if (list[i].bytes > 0) {
            fprintf(all.out, ",\n\"%s\":[%s]", lists[i], list[i].text);
        }
        free(list[i].text);
    }
    for (u32 i = 0; i < SINGLES; i++) {
        if (single[i] != NULL) {
            fprintf(all.out, ",\n\"%s\":%s", singles[i], single[i]);
        }
        free(single[i]);
    }
    fprintf(all.out, "}\n");
    fclose(all.out);
    return all.text;
}
