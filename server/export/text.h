/*
 * text.h: names and numbers in the texts of formats.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_TEXT_H
#define PLENUM_SERVER_EXPORT_TEXT_H

#include "server/export/output.h"

PL_BEGIN_C
/* A string of JSON or USD, with its quotes; names are clean UTF-8 (text_is_clean). */
void export_print_quoted(ExportFile *file, const char *text);
/* A number of JSON; those that are none count as 0. */
void export_print_number(ExportFile *file, f64 number);
/* "[x,y,z]" of count numbers. */
void export_print_numbers(ExportFile *file, const f32 *numbers, u32 count);
/* Replaces what text_is_clean refuses by '_'. */
void export_clean_name(char *name);
PL_END_C

#endif
