/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Export frames: the call stacks of a trace, as formats of samples have them
 */

#include "client/export.h"

#define EXPORT_NO_CALLSITE UINT32_MAX

typedef struct ExportCallsite {
        uint32_t parent, frame; /* of the outer frame; a row of the frames */
} ExportCallsite;

/* The functions into which a frame's function is inlined: their names, from `first` on. */
typedef struct ExportInlined {
        uint32_t first, n;
} ExportInlined;

typedef struct ExportFrames {
        GArray *callsites; /* ExportCallsite, by id */
        GArray *inlined;   /* ExportInlined, by the frame's id */
        /* Names of frames, by id, followed by those of functions into which others are inlined. */
        GPtrArray *names;
} ExportFrames;

/* Reads the parts of the trace with threads and stacks. Returns 0, an outcome, or an errno; deinit in any case. */
int export_frames_load(ExportFrames *frames, Export *export);
void export_frames_deinit(ExportFrames *frames);

/* Gets up to EXPORT_DEPTH_MAX functions of a stack, as numbers of names, from the inside out. Returns how many. */
size_t export_frames_walk(const ExportFrames *frames, uint32_t callsite, uint32_t *ret);

/* An id, or EXPORT_NO_CALLSITE for NULL. */
uint32_t export_column_id(sqlite3_stmt *row, int column);
