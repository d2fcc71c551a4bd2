/*
 * version.h: the version of all programs, man pages and packages: the only place that says it. The
 * Makefile reads it from here. What goes over the wire and into files has versions of its own
 * (PROTOCOL_MAJOR, RECORDING_VERSION, the image's in server/world/save.c).
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_VERSION_H
#define PLENUM_SHARED_BASE_VERSION_H

#define PLENUM_VERSION "0.2.0"

enum {
    VERSION_BYTES_MAX = 16 /* as text, with its end */
};

#endif
