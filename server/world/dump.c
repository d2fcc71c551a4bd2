/* dump.c: see dump.h. */
#include "server/world/dump.h"

#include "server/world/world_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- records ---- */

static void put_quoted(Dump *dump, const char *text)
{
    fputc('"', dump->out);
    for (const char *c = text; *c != 0; c++) {
        if ((unsigned char)*c < ' ') {
            fprintf(dump->out, "\\u%04x", *c);
        } else {
            fprintf(dump->out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        }
    }
    fputc('"', dump->out);
}

static void put_number(Dump *dump, f32 value)
{
    char text[32];
    if (!isfinite(value)) {
        fputs(dump->json     ? "null"
              : value > 0.0f ? "inf"
              : value < 0.0f ? "-inf"
                             : "nan",
              dump->out);
        return;
    }
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (f64)value);
        if (strtof(text, NULL) == value) {
            break;
        }
    }
    fputs(text, dump->out);
}

static void put_key(Dump *dump, const char *key)
{
    if (dump->json) {
        fprintf(dump->out, "%s\"%s\":", dump->begun ? "," : "", key);
    } else {
        fprintf(dump->out, " %s=", key);
    }
    dump->begun = true;
}

void dump_begin(Dump *dump, const char *record)
{
    dump->begun = false;
    if (dump->json) {
        fputc('{', dump->out);
        dump_text(dump, "record", record);
    } else {
        fprintf(dump->out, "%-9s", record);
    }
}

void dump_end(Dump *dump)
{
    fputs(dump->json ? "}\n" : "\n", dump->out);
}

void dump_text(Dump *dump, const char *key, const char *text)
{
    put_key(dump, key);
    put_quoted(dump, text);
}

void dump_flag(Dump *dump, const char *key, bool flag)
{
    put_key(dump, key);
    fputs(dump->json ? (flag ? "true" : "false") : (flag ? "yes" : "no"), dump->out);
}

void dump_count(Dump *dump, const char *key, u64 count)
{
    put_key(dump, key);
    fprintf(dump->out, "%" PRIu64, count);
}

void dump_number(Dump *dump, const char *key, f32 value)
{
    put_key(dump, key);
    put_number(dump, value);
}

void dump_numbers(Dump *dump, const char *key, const f32 *values, u32 count)
{
    put_key(dump, key);
    fputc(dump->json ? '[' : '(', dump->out);
    for (u32 i = 0; i < count; i++) {
        fputs(i == 0 ? "" : dump->json ? "," : " ", dump->out);
        put_number(dump, values[i]);
    }
    fputc(dump->json ? ']' : ')', dump->out);
}

void dump_vec3(Dump *dump, const char *key, Vec3 v)
{
    const f32 values[3] = {v.x, v.y, v.z};
    dump_numbers(dump, key, values, 3);
}

/* ---- the world ---- */

static void dump_head(const World *world, Dump *dump)
{
    char hash[24];
    snprintf(hash, sizeof hash, "%016" PRIx64, world_hash(world));
    dump_begin(dump, "world");
    dump_text(dump, "name", world->scene->name);
    dump_count(dump, "tick", world->tick);
    dump_number(dump, "seconds", (f32)((f64)world->tick / world->scene->tick_rate));
    dump_count(dump, "tick_rate", world->scene->tick_rate);
    dump_text(dump, "hash", hash);
    dump_end(dump);
}

static void dump_scalar(Dump *dump, const char *record, const ScalarInfo *info, const f32 *values)
{
    dump_begin(dump, record);
    dump_text(dump, "name", info->name);
    dump_text(dump, "unit", info->unit);
    if (info->components == 1) {
        dump_number(dump, "value", values[0]);
    } else {
        dump_numbers(dump, "value", values, info->components);
    }
    dump_end(dump);
}

static void dump_entity(const World *world, const Entity *entity, Dump *dump)
{
    const Matter *matter = world_matter(world, entity);
    dump_begin(dump, matter->ops->name);
    dump_count(dump, "id", entity->id);
    dump_text(dump, "name", entity->name);
    if (matter->ops->dump_entity != NULL) {
        matter->ops->dump_entity(matter, entity, dump);
    } else {
        dump_count(dump, "elements", entity->count);
    }
    dump_end(dump);
}

static void dump_grabs(const World *world, Dump *dump)
{
    for (u32 i = 0; i < world->grab_end; i++) {
        if (world->grabs[i].user != 0) {
            dump_begin(dump, "grab");
            dump_count(dump, "user", world->grabs[i].user);
            dump_count(dump, "entity", world->grabs[i].entity);
            dump_end(dump);
        }
    }
}

void world_dump(const World *world, Dump *dump)
{
    dump_head(world, dump);
    for (u32 i = 0; i < world->parameter_count; i++) {
        dump_scalar(dump, "parameter", &world->parameters[i], world->values[i]);
    }
    for (u32 i = 0; i < world->entities.count; i++) {
        dump_entity(world, &world->entities.items[i], dump);
    }
    EACH_MATTER_WITH(world, dump, dump)
    dump_grabs(world, dump);
    for (u32 i = 0; i < world->probe_count; i++) {
        f64 value = 0.0;
        world_probe(world, world->probes[i].name, &value);
        const f32 measured = (f32)value;
        dump_scalar(dump, "probe", &world->probes[i], &measured);
    }
}
