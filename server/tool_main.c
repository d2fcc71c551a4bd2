/*
 * tool_main.c: plenum-tool: inspects scenes, recordings and worlds, creates keys and connect
 * tokens.
 */
#include "protocol/field/field_ops.h"
#include "protocol/record/recording.h"
#include "protocol/record/world_file.h"
#include "protocol/scene/scene.h"
#include "protocol/session/identity_file.h"
#include "protocol/session/token.h"
#include "server/author/reference.h"
#include "server/author/scene_load.h"
#include "server/tool_admin.h"
#include "server/tool_dump.h"
#include "server/tool_export.h"
#include "server/tool_lobby.h"
#include "shared/base/clock.h"
#include "shared/base/file.h"
#include "shared/base/options.h"
#include "shared/base/version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* argv[0] is the command. Returns the program's exit code. */
typedef int Command(int argc, char **argv, ErrorText *error);

static int fail(const ErrorText *error)
{
    fprintf(stderr, "plenum-tool: %s\n", error->text);
    return EXIT_INPUT;
}

static int usage(const ErrorText *error)
{
    fprintf(stderr, "plenum-tool: %s\n", error->text);
    return EXIT_USAGE;
}

/* The one file of `check` and `info`; NULL where the command is over, with *code. */
static const char *file_operand(int argc, char **argv, const char *program, const char *about,
                                int *code, ErrorText *error)
{
    OptionTable table = {.program = program,
                         .synopsis = "FILE",
                         .about = about,
                         .operands_min = 1,
                         .operands_max = 1};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    *code = parsed < 0 ? usage(error) : EXIT_OK;
    return parsed == 0 ? operands[0] : NULL;
}

static void print_geometry(const Geometry *geometry)
{
    switch (geometry->kind) {
    case GEOMETRY_HULL:
        printf("hull        %u vertices, %u faces, %g m^3\n", geometry->hull.vertex_count,
               geometry->hull.face_count, (f64)geometry->volume);
        break;
    case GEOMETRY_MESH:
        printf("mesh        %u triangles, %s\n", geometry->mesh.triangle_count,
               geometry->mesh.closed ? "closed" : "open");
        break;
    case GEOMETRY_TERRAIN:
        printf("terrain     %u x %u samples every %g m, from %g to %g m high\n",
               geometry->terrain.columns, geometry->terrain.rows, (f64)geometry->terrain.spacing,
               (f64)geometry->terrain.low, (f64)geometry->terrain.high);
        break;
    case GEOMETRY_COMPOUND:
        printf("compound    %u parts\n", geometry->compound.child_count);
        break;
    }
}

static void print_soft(const Scene *scene, const SceneSoft *soft)
{
    const SoftMesh *mesh = &scene->soft_meshes[soft->mesh];
    printf("soft        %s: ", soft->name);
    if (mesh->grid[0] != 0) {
        printf("%u x %u points", mesh->grid[0], mesh->grid[1]);
    } else {
        printf("%u points", mesh->point_count);
    }
    if (mesh->triangle_count != 0 && mesh->grid[0] == 0) {
        printf(", %u triangles, %s", mesh->triangle_count, mesh->closed ? "closed" : "open");
    }
    if (mesh->stick_count != 0) {
        printf(", %u sticks", mesh->stick_count);
    }
    if (mesh->tetrahedron_count != 0) {
        printf(", %u tetrahedra of at least %.1f degrees", mesh->tetrahedron_count,
               (f64)mesh->dihedral_degrees);
    }
    if (mesh->skin_count != 0) {
        printf(", skin of %u triangles", mesh->skin_triangle_count);
    }
    printf(", %u pins, %.4g kg, %s\n", soft->pin_count, (f64)soft->mass_kg,
           soft_method_names[soft->method]);
}

static void print_liquid(const SceneLiquid *liquid)
{
    printf("%s  %s: %u particles, capacity %u", liquid->grains ? "grains    " : "liquid    ",
           liquid->name, liquid->filled, liquid->capacity);
    if (liquid->source_count > 0) {
        printf(", %u sources", liquid->source_count);
    }
    if (liquid->drain_count > 0) {
        printf(", %u drains", liquid->drain_count);
    }
    printf("\n");
}

static u32 count_motion(const Scene *scene, BodyMotion motion)
{
    u32 count = 0;
    for (u32 i = 0; i < scene->body_count; i++) {
        count += scene->bodies[i].motion == motion;
    }
    return count;
}

static int check_scene(int argc, char **argv, ErrorText *error)
{
    int code;
    const char *path = file_operand(argc, argv, "plenum-tool check",
                                    "Loads a scene like the server and prints a summary, or the "
                                    "location of an error.",
                                    &code, error);
    if (path == NULL) {
        return code;
    }
    Scene *scene = scene_load_anywhere(path, error);
    if (scene == NULL) {
        return fail(error);
    }
    printf("%s: ok: \"%s\"%s%s\n", path, scene->name, scene->description[0] != 0 ? ": " : "",
           scene->description);
    printf("tick        %u Hz, %u substeps\n", scene->tick_rate, scene->substeps);
    printf("bodies      %u dynamic, %u kinematic, %u static, %u spare\n",
           count_motion(scene, BODY_DYNAMIC), count_motion(scene, BODY_KINEMATIC),
           count_motion(scene, BODY_STATIC), scene->spare_bodies);
    if (scene->joint_count > 0) {
        printf("joints      %u\n", scene->joint_count);
    }
    for (u32 i = 0; i < scene->geometry_count; i++) {
        print_geometry(scene->geometries[i]);
    }
    if (scene->method == RIGID_IMPULSES) {
        printf("method      impulses: %u iterations, friction pyramid of %u sides, Baumgarte %g\n",
               scene->iterations, scene->pyramid_sides, (f64)scene->baumgarte);
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        print_soft(scene, &scene->soft_bodies[i]);
    }
    for (u32 i = 0; i < scene->liquid_count; i++) {
        print_liquid(&scene->liquids[i]);
    }
    for (u32 i = 0; i < scene->prefab_count; i++) {
        printf("prefab      %s\n", scene->prefabs[i].name);
    }
    for (u32 i = 0; i < scene->probe_count; i++) {
        const SceneProbe *probe = &scene->probes[i];
        const char *unit = probe_kind_unit(probe->kind);
        printf("probe       %s: %s%s%s%s%s\n", probe->name, probe_kind_name(probe->kind),
               probe->of[0] != 0 ? " of " : "", probe->of, unit[0] != 0 ? ", " : "", unit);
    }
    for (u32 i = 0; i < scene->warning_count; i++) {
        printf("warning     %s\n", scene->warnings[i].text);
    }
    printf("sent as     %u bytes\n", scene->byte_count);
    scene_destroy(scene);
    return EXIT_OK;
}

static void print_field(const FieldDesc *field)
{
    u32 axes = field_ops(field->kind)->axes;
    printf("field       %s: %s, %u", field->name, field_kind_name((FieldKind)field->kind),
           field->capacity);
    if (field->kind == FIELD_POSES || field->kind == FIELD_POINTS) {
        printf(", in steps of %.3g mm", (f64)field->quantum * 1000.0);
    }
    if (axes == 2) {
        printf(": %u x %u cells of %g x %g m", field->dims[0], field->dims[1],
               (f64)field->spacing.x, (f64)field->spacing.z);
    } else if (axes == 3) {
        printf(": %u x %u x %u voxels of %g x %g x %g m", field->dims[0], field->dims[1],
               field->dims[2], (f64)field->spacing.x, (f64)field->spacing.y, (f64)field->spacing.z);
    }
    if (axes > 1) {
        printf(" from %g, %g, %g", (f64)field->origin.x, (f64)field->origin.y,
               (f64)field->origin.z);
    }
    printf("\n");
}

static void print_time(u64 unix_s, const char *build)
{
    time_t created = (time_t)unix_s;
    struct tm utc;
    char when[64] = "?";
    if (gmtime_r(&created, &utc) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &utc);
    }
    printf("made        %s by %s\n", when, build);
}

static int show_world(const char *path, ErrorText *error)
{
    WorldFile file;
    if (world_file_read(path, 0, &file, error) != ERROR_OK) {
        return fail(error);
    }
    Scene *scene = scene_from_bytes(file.scene, (u32)file.scene_bytes, error);
    printf("world       %s, version %d\n", path, WORLD_FILE_VERSION);
    printf("scene       %s\n", scene != NULL ? scene->name : error->text);
    print_time(file.created_unix_s, file.build);
    printf("tick        %" PRIu64 ": %.2f s at %u Hz\n", file.tick,
           (f64)file.tick / (f64)u32_max(file.tick_rate, 1), file.tick_rate);
    printf("bytes       scene %" PRIu64 ", state %" PRIu64 ", users %" PRIu64 "\n",
           file.scene_bytes, file.image_bytes, file.note_bytes);
    scene_destroy(scene);
    world_file_release(&file);
    return EXIT_OK;
}

/* The first of them are printed, all are counted. */
enum {
    DAMAGE_SHOWN_MAX = 20
};

static void print_damage(void *context, const RecordingDamage *damage)
{
    u32 *shown = context;
    if ((*shown)++ >= DAMAGE_SHOWN_MAX) {
        return;
    }
    printf("damaged     bytes %" PRIu64 " to %" PRIu64 ", after tick %" PRIu64 ": %s%s%s\n",
           damage->offset, damage->offset + damage->bytes - 1, damage->tick_before, damage->what,
           damage->block[0] != 0 ? " in block " : "", damage->block);
}

/* Reads every block; false if some are damaged. */
static bool print_check(RecordingReader *reader, u32 tick_rate)
{
    RecordingCheck check;
    u32 shown = 0;
    (void)recording_reader_check(reader, print_damage, &shown, &check);
    printf("notes       %" PRIu64 "\n", check.notes);
    if (check.images > 0) {
        printf("images      %" PRIu64 " of the world\n", check.images);
    }
    if (check.backs > 0) {
        printf("rewound     %" PRIu64 " times\n", check.backs);
    }
    if (check.loads > 0) {
        printf("loaded      %" PRIu64 " times\n", check.loads);
    }
    if (check.gaps > 0) {
        printf("gaps        %" PRIu64 ", with %" PRIu64 " ticks that could not be recorded\n",
               check.gaps, check.gap_ticks);
    }
    printf("read        %" PRIu64 " whole blocks, %" PRIu64
           " ticks, key frames at most %.2f s apart\n",
           check.blocks, check.ticks, (f64)check.key_interval_max / tick_rate);
    if (check.damaged > 0) {
        printf("damage      %" PRIu64 " places, %" PRIu64
               " whole ticks behind them are unreadable\n",
               check.damaged, check.ticks_lost);
    }
    return check.damaged == 0;
}

static int show_recording(int argc, char **argv, ErrorText *error)
{
    int code;
    const char *path = file_operand(
        argc, argv, "plenum-tool info",
        "Reads every block of a recording, or a saved world, prints its contents, whether it is "
        "complete and which parts are damaged.",
        &code, error);
    if (path == NULL) {
        return code;
    }
    size_t length = strlen(path), tail = strlen(".plworld");
    if (length >= tail && strcmp(path + length - tail, ".plworld") == 0) {
        return show_world(path, error);
    }
    RecordingReader *reader = recording_reader_create(path, error);
    if (reader == NULL) {
        return fail(error);
    }
    const RecordingHead *head = recording_reader_head(reader);
    const RecordingInfo *info = recording_reader_info(reader);
    Scene *scene = scene_from_bytes(head->world.scene, head->world.scene_bytes, error);
    f64 seconds = (f64)info->ticks / head->tick_rate;
    printf("recording   %s, version %u\n", path, head->version);
    printf("scene       %s\n", scene != NULL ? scene->name : error->text);
    print_time(head->created_unix_s, head->build);
    printf("ticks       %" PRIu64 " to %" PRIu64 ", %" PRIu64 " of them at %u Hz: %.2f s\n",
           info->first_tick, info->last_tick, info->ticks, head->tick_rate, seconds);
    printf("bytes       %" PRIu64 ", %.1f a tick, %.1f kB/s\n", info->bytes,
           (f64)info->bytes / (f64)info->ticks, (f64)info->bytes / 1000.0 / seconds);
    printf("key frames  %" PRIu64 "\n", info->key_frames);
    if (head->picture_ticks > 1) {
        printf("pictures    of points and grids every %u ticks; bodies and probes in each\n",
               head->picture_ticks);
    }
    if (head->coarse_shift > 0) {
        printf("points      that move fast are in steps of %u to %u\n", 1u << head->coarse_shift,
               1u << (head->coarse_shift + RECORDING_COARSE_LEVELS - 1));
    }
    if (head->parent.name[0] != '\0') {
        printf("branch of   %s at tick %" PRIu64 "\n", head->parent.name, head->parent.tick);
    }
    printf("inputs      %" PRIu64 "\n", info->inputs);
    printf("events      %" PRIu64 "\n", info->events);
    for (u32 i = 0; i < head->world.field_count; i++) {
        const FieldDesc *field = &head->world.fields[i];
        print_field(field);
    }
    printf("end         %s", info->clean ? "closed cleanly\n" : "not closed: index rebuilt");
    if (!info->clean) {
        printf(", %" PRIu64 " torn bytes left out\n", info->torn_bytes);
    }
    scene_destroy(scene);
    bool whole = print_check(reader, head->tick_rate);
    recording_reader_destroy(reader);
    return whole ? EXIT_OK : EXIT_CHECK_FAILED;
}

static int make_keys(int argc, char **argv, ErrorText *error)
{
    OptionTable table = {.program = "plenum-tool keygen",
                         .synopsis = "NAME",
                         .about = "Writes NAME.key (secret: signs tokens, keep it) and NAME.pub "
                                  "(for plenum-server --key).",
                         .operands_min = 1,
                         .operands_max = 1};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? usage(error) : EXIT_OK;
    }
    char public_path[4096], secret_path[4096];
    int length = snprintf(public_path, sizeof public_path, "%s.pub", operands[0]);
    snprintf(secret_path, sizeof secret_path, "%s.key", operands[0]);
    if (length >= (int)sizeof public_path) {
        error_set(error, ERROR_USAGE, "the name is too long");
        return usage(error);
    }
    u8 public_key[TOKEN_PUBLIC_BYTES], secret_key[TOKEN_SECRET_BYTES];
    token_keygen(public_key, secret_key);
    bool written = token_key_write(secret_path, secret_key, sizeof secret_key, true, error) == 0 &&
                   token_key_write(public_path, public_key, sizeof public_key, false, error) == 0;
    seal_wipe(secret_key, sizeof secret_key);
    if (!written) {
        return fail(error);
    }
    printf("%s  secret: signs tokens, keep it\n%s  public: for plenum-server --key\n", secret_path,
           public_path);
    return EXIT_OK;
}

static int write_token(const char *path, const u8 *token, u32 bytes, ErrorText *error)
{
    umask(077); /* whoever has a token may join as its user */
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(token, 1, bytes, file) == bytes;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good) {
        error_set(error, ERROR_IO, "%s: cannot write", path);
        return fail(error);
    }
    return EXIT_OK;
}

typedef struct TokenOptions {
    const char *key, *role, *name, *server, *client, *account;
    f64 days;
    bool once, relay, lobby;
} TokenOptions;

static int token_fill(const TokenOptions *options, Token *token, ErrorText *error)
{
    *token = (Token){.expiry_unix_s = clock_unix_s() + (u64)(options->days * 86400.0),
                     .role = ROLE_COUNT,
                     .once = options->once,
                     .relay = options->relay,
                     .lobby = options->lobby,
                     .for_server = options->server != NULL,
                     .for_client = options->client != NULL};
    for (u32 i = 0; i < ROLE_COUNT; i++) {
        token->role = strcmp(options->role, role_name((Role)i)) == 0 ? (Role)i : token->role;
    }
    if (options->key == NULL || token->role == ROLE_COUNT ||
        strlen(options->name) >= sizeof token->name) {
        return error_set(
            error, ERROR_USAGE,
            "expected --key FILE, a role of viewer, participant, operator or admin and a name "
            "of at most %d bytes",
            NAME_BYTES_MAX - 1);
    }
    if ((token->for_server && !identity_from_text(options->server, token->server)) ||
        (token->for_client && !identity_from_text(options->client, token->client))) {
        return error_set(error, ERROR_USAGE,
                         "--server and --client: expected a public key, 64 hexadecimal digits");
    }
    if (strlen(options->account) >= sizeof token->account ||
        (options->account[0] != '\0' && !token->for_server)) {
        return error_set(error, ERROR_USAGE, "--account: at most %d bytes, and --server KEY",
                         TOKEN_ACCOUNT_BYTES - 1);
    }
    memcpy(token->name, options->name, strlen(options->name) + 1);
    memcpy(token->account, options->account, strlen(options->account) + 1);
    seal_random(&token->id, sizeof token->id);
    return ERROR_OK;
}

static int make_token(int argc, char **argv, ErrorText *error)
{
    TokenOptions options = {.role = "participant", .name = "", .account = "", .days = 30.0};
    const Option rows[] = {
        {"key", 'k', OPTION_STRING, &options.key, 0, 0, "FILE", "secret key of plenum-tool keygen"},
        {"role", 'r', OPTION_STRING, &options.role, 0, 0, "ROLE",
         "viewer, participant, operator or admin"},
        {"name", 'n', OPTION_STRING, &options.name, 0, 0, "TEXT",
         "name of the user; empty: the client chooses"},
        {"server", 's', OPTION_STRING, &options.server, 0, 0, "KEY",
         "the only server that takes it, and that its owner gives it to"},
        {"client", 'c', OPTION_STRING, &options.client, 0, 0, "KEY",
         "the only client that can use it (plenum-tool identity prints the key)"},
        {"account", 'a', OPTION_STRING, &options.account, 0, 0, "TEXT",
         "for the server's log; encrypted for the server"},
        {"relay", 0, OPTION_FLAG, &options.relay, 0, 0, NULL,
         "for a relay: it may speak for its users, up to this role"},
        {"lobby", 0, OPTION_FLAG, &options.lobby, 0, 0, NULL,
         "for plenum-server --lobby: the world of --server may be listed; not usable to join"},
        {"once", 0, OPTION_FLAG, &options.once, 0, 0, NULL, "good for one session"},
        {"days", 'd', OPTION_F64, &options.days, 0.0001, 36500, "N", "validity in days"},
    };
    OptionTable table = {.program = "plenum-tool token",
                         .synopsis = "--key FILE [options] OUT",
                         .about = "Writes a signed connect token to the file OUT, for "
                                  "plenum-client --token, and prints its id, for "
                                  "plenum-server --revoked.",
                         .rows = rows,
                         .count = PL_COUNT(rows),
                         .operands_min = 1,
                         .operands_max = 1};
    char **operands;
    u32 count;
    Token token;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? usage(error) : EXIT_OK;
    }
    if (seal_start() != ERROR_OK || token_fill(&options, &token, error) != ERROR_OK) {
        return usage(error);
    }
    u8 secret_key[TOKEN_SECRET_BYTES], bytes[TOKEN_SIGNED_BYTES];
    if (token_key_read(options.key, secret_key, sizeof secret_key, error) != 0) {
        return fail(error);
    }
    int code = token_sign(&token, secret_key, bytes);
    seal_wipe(secret_key, sizeof secret_key);
    if (code != 0) {
        error_set(error, ERROR_RANGE, "this name cannot be in a token: use clean UTF-8");
        return usage(error);
    }
    code = write_token(operands[0], bytes, sizeof bytes, error);
    if (code == EXIT_OK) {
        printf("%s  token %016llx\n", operands[0], (unsigned long long)token.id);
    }
    return code;
}

static int print_identity(int argc, char **argv, ErrorText *error)
{
    OptionTable table = {.program = "plenum-tool identity",
                         .synopsis = "[FILE]",
                         .about = "Prints the public key of the long-term key in FILE, which is "
                                  "created if missing: that of a client (client.key in the state "
                                  "folder) or a server (server.key there, plenum-server "
                                  "--identity).",
                         .operands_max = 1};
    char **operands, path[4096], text[IDENTITY_TEXT_BYTES];
    u32 count;
    Identity identity;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? usage(error) : EXIT_OK;
    }
    if ((count == 0 && file_state_path("client.key", path, sizeof path, error) != ERROR_OK) ||
        identity_load(count == 0 ? path : operands[0], &identity, error) != ERROR_OK) {
        return fail(error);
    }
    identity_to_text(identity.public_key, text);
    identity_finish(&identity);
    printf("%s\n", text);
    return EXIT_OK;
}

static int print_schema(int argc, char **argv, ErrorText *error)
{
    OptionTable table = {.program = "plenum-tool schema",
                         .synopsis = "",
                         .about = "Prints all options of bodies, joints, soft bodies and cloths, "
                                  "the probes and the parameters, as Markdown tables."};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? usage(error) : EXIT_OK;
    }
    reference_print(stdout);
    return EXIT_OK;
}

/* Error texts are printed here. */
static int say(int code, const ErrorText *error)
{
    if (error->text[0] != '\0') {
        fprintf(stderr, "plenum-tool: %s\n", error->text);
    }
    return code;
}

static int dump_world(int argc, char **argv, ErrorText *error)
{
    int code = tool_dump(argc, argv, error);
    return say(code, error);
}

static int administer(int argc, char **argv, ErrorText *error)
{
    int code = tool_admin(argc, argv, error);
    return say(code, error);
}

static int export_recording(int argc, char **argv, ErrorText *error)
{
    int code = tool_export(argc, argv, error);
    return say(code, error);
}

static int serve_lobby(int argc, char **argv, ErrorText *error)
{
    int code = tool_lobby(argc, argv, error);
    return say(code, error);
}

static const struct {
    const char *name;
    Command *run;
    const char *operands, *help;
} commands[] = {
    {"check", check_scene, "SCENE.json", "load a scene like the server, print a summary"},
    {"schema", print_schema, "", "print the options of scenes: ranges, defaults"},
    {"info", show_recording, "FILE", "print the contents of a recording or a saved world"},
    {"dump", dump_world, "FILE", "a world of a recording or scene at a tick (see dump --help)"},
    {"keygen", make_keys, "NAME", "create a key pair for tokens: NAME.key and NAME.pub"},
    {"token", make_token, "--key FILE OUT", "sign a connect token (see token --help)"},
    {"identity", print_identity, "[FILE]", "print the public key of a client or a server"},
    {"admin", administer, "SOCKET|plenum://HOST COMMAND",
     "a command to a running server (see admin --help)"},
    {"export", export_recording, "FILE.plrec OUT",
     "write a recording as csv, glTF, ... (see export --help)"},
    {"lobby", serve_lobby, "--key FILE", "serve a list of worlds (see lobby --help)"},
};

static void print_help(void)
{
    printf("usage: plenum-tool COMMAND ...\n\n"
           "Looks at scenes and recordings of plenum-server and at the worlds in them, and makes\n"
           "the keys and tokens of servers that are not open to all; serves lists of worlds.\n\n");
    for (u32 i = 0; i < PL_COUNT(commands); i++) {
        printf("  %-7s %-15s %s\n", commands[i].name, commands[i].operands, commands[i].help);
    }
    printf(
        "\n  -h, --help      this text; after a command: its options\n"
        "      --version   the version\n\n"
        "Exit codes: 0 ok, 1 a recording simulated otherwise (dump), 2 wrong usage, 3 bad input\n"
        "file.\n");
}

int main(int argc, char **argv)
{
    ErrorText error = {0};
    const char *first = argc > 1 ? argv[1] : "";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        print_help();
        return EXIT_OK;
    }
    if (strcmp(first, "--version") == 0) {
        printf("plenum-tool %s\n", PLENUM_VERSION);
        return EXIT_OK;
    }
    for (u32 i = 0; i < PL_COUNT(commands); i++) {
        if (strcmp(first, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1, &error);
        }
    }
    fprintf(stderr, "plenum-tool: expected a command: check, schema, info, dump, export, keygen, "
                    "token, identity, admin or lobby (see --help)\n");
    return EXIT_USAGE;
}
