/*
 * version.h: the version of all programs, man pages and packages, defined only here and read by the
 * Makefile. Wire format and files have their own versions (PROTOCOL_MAJOR, RECORDING_VERSION, the
 * image's in server/world/save.c).
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_VERSION_H
#define PLENUM_SHARED_BASE_VERSION_H

#define PLENUM_VERSION "0.2.0"

enum {
    VERSION_BYTES_MAX = 16 /* as text, with its end */
};

#endif
