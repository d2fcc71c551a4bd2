/* formats.c: the list of formats. */
#include "server/export/export.h"

#include <string.h>

static const ExportFormat *const formats[] = {
    &export_csv, &export_obj, &export_ply, &export_glb, &export_gltf, &export_mcap, &export_usda,
};

const ExportFormat *const *export_formats(u32 *count)
{
    *count = PL_COUNT(formats);
    return formats;
}

const ExportFormat *export_format_named(const char *name)
{
    for (u32 i = 0; i < PL_COUNT(formats); i++) {
        if (strcmp(formats[i]->name, name) == 0) {
            return formats[i];
        }
    }
    return NULL;
}
