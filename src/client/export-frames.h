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

typedef struct ExportFrames {
        GArray *callsites; /* ExportCallsite, by id */
        GPtrArray *names;  /* of frames, by id */
} ExportFrames;

/* Reads the parts of the trace with threads and stacks. 0, an outcome, or an errno; deinit in any case. */
int export_frames_load(ExportFrames *frames, Export *export);
void export_frames_deinit(ExportFrames *frames);

/* Up to EXPORT_DEPTH_MAX frames of a stack from the inside out; how many. */
size_t export_frames_walk(const ExportFrames *frames, uint32_t callsite, uint32_t *ret);

/* An id, or EXPORT_NO_CALLSITE for NULL. */
uint32_t export_column_id(sqlite3_stmt *row, int column);
