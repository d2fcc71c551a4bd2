/* tool_export.c: the command line of plenum-tool export, and its progress on a terminal. */
#include "server/tool_export.h"

#include "server/export/export.h"
#include "shared/base/options.h"
#include "shared/base/progress.h"

#include <stdio.h>
#include <string.h>

enum {
    PATH_BYTES = 4096,
};

static void show_progress(void *context, f64 done)
{
    progress_show(context, done);
}

/* The format of --format, or of the ending of the output. */
static const ExportFormat *format_of(const char *wanted, const char *path, ErrorText *error)
{
    const char *dot = path != NULL ? strrchr(path, '.') : NULL;
    const char *name = wanted != NULL ? wanted : dot != NULL ? dot + 1 : "";
    const ExportFormat *format = export_format_named(name);
    if (format == NULL && wanted != NULL) {
        error_set(error, ERROR_USAGE,
                  "--format: \"%s\" is not one of csv, obj, ply, glb, gltf, mcap, "
                  "usda",
                  wanted);
    } else if (format == NULL) {
        error_set(error, ERROR_USAGE,
                  "give an output that ends in .csv, .glb, .gltf, .mcap or .usda, or --format");
    }
    return format;
}

/* FILE.plrec becomes FILE.glb; a folder has no ending. */
static void default_output(const char *recording, const ExportFormat *format, char *out)
{
    const char *slash = strrchr(recording, '/');
    const char *last = slash != NULL ? slash + 1 : recording;
    const char *dot = strrchr(last, '.');
    int stem = (int)(dot != NULL && dot != last ? dot - last : (i64)strlen(last));
    snprintf(out, PATH_BYTES, "%.*s%s%s", i32_min(stem, PATH_BYTES - 16), last,
             format->folder ? "-" : ".", format->name);
}

static int run(const ExportOptions *options, const char *path, bool replace, ErrorText *error)
{
    ExportOutput *output = export_output_create(path, options->format->folder, replace, error);
    if (output == NULL) {
        return EXIT_INPUT;
    }
    ExportSummary summary;
    int result = export_run(options, output, &summary, error);
    if (result == ERROR_OK && export_output_commit(output) != ERROR_OK) {
        result = export_output_error(output, error);
    }
    export_output_destroy(output);
    progress_end(options->progress_context);
    if (result != ERROR_OK) {
        return error->code == ERROR_USAGE ? EXIT_USAGE : EXIT_INPUT;
    }
    printf("%s: %llu pictures of %u objects, %u probes\n", path,
           (unsigned long long)summary.pictures, summary.things, summary.probes);
    if (summary.left_out > 0) {
        fprintf(stderr, "plenum-tool: %u fogs left out: no format has them\n", summary.left_out);
    }
    return EXIT_OK;
}

int tool_export(int argc, char **argv, ErrorText *error)
{
    const char *wanted = NULL;
    bool force = false;
    ExportOptions options = {.to_s = -1.0, .every = 1, .shapes_max = 240};
    const Option rows[] = {
        {"format", 'f', OPTION_STRING, &wanted, 0, 0, "NAME",
         "csv, obj, ply, glb, gltf, mcap or usda; else what OUT ends in"},
        {"from", 0, OPTION_F64, &options.from_s, 0, 1e9, "S", "start at this world time"},
        {"to", 0, OPTION_F64, &options.to_s, -1, 1e9, "S",
         "end at this world time; negative: at the end of the recording"},
        {"every", 'n', OPTION_U32, &options.every, 1, 1000000, "N", "every N-th tick only"},
        {"only", 0, OPTION_STRING, &options.only, 0, 0, "NAME,...",
         "only these objects and probes; * and ? as in a shell"},
        {"shapes", 0, OPTION_U32, &options.shapes_max, 2, 10000, "N",
         "glTF: at most N shapes of a soft body or liquid over the whole time"},
        {"force", 0, OPTION_FLAG, &force, 0, 0, NULL, "replace existing files"},
    };
    OptionTable table = {
        .program = "plenum-tool export",
        .synopsis = "[options] FILE.plrec [OUT]",
        .about = "Writes what a recording shows in a format of other programs: csv (probes and "
                 "poses, a row a tick), glb or gltf (glTF 2.0 with animation), mcap (Foxglove, "
                 "Rerun), usda (USD with time samples), obj (folder of meshes), ply (folder of "
                 "points). Metres, seconds, y up. Existing files stay unless --force is given.",
        .rows = rows,
        .count = PL_COUNT(rows),
        .operands_min = 1,
        .operands_max = 2};
    char **operands;
    u32 count;
    int parsed = options_parse(&table, argc, argv, &operands, &count, error);
    if (parsed != 0) {
        return parsed < 0 ? EXIT_USAGE : EXIT_OK;
    }
    options.recording = operands[0];
    options.format = format_of(wanted, count > 1 ? operands[1] : NULL, error);
    if (options.format == NULL) {
        return EXIT_USAGE;
    }
    char path[PATH_BYTES];
    default_output(options.recording, options.format, path);
    Progress progress;
    progress_begin(&progress);
    options.progress = show_progress;
    options.progress_context = &progress;
    return run(&options, count > 1 ? operands[1] : path, force, error);
}
