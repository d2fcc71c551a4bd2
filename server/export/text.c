/* text.c: see text.h. */
#include "server/export/text.h"

#include "shared/base/text.h"

#include <math.h>
#include <string.h>

void export_print_quoted(ExportFile *file, const char *text)
{
    export_write(file, "\"", 1);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            export_write(file, "\\", 1);
        }
        export_write(file, c, 1);
    }
    export_write(file, "\"", 1);
}

void export_print_number(ExportFile *file, f64 number)
{
    export_print(file, "%.9g", isfinite(number) ? number : 0.0);
}

void export_print_numbers(ExportFile *file, const f32 *numbers, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        export_write(file, i == 0 ? "[" : ",", 1);
        export_print_number(file, (f64)numbers[i]);
    }
    export_write(file, "]", 1);
}

void export_clean_name(char *name)
{
    if (text_is_clean(name, strlen(name))) {
        return;
    }
    for (char *c = name; *c != '\0'; c++) {
        if (*c < 0x20 || *c > 0x7e) {
            *c = '_';
        }
    }
}
