/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace stack text: the names of frames and call stacks, for everything that shows them
 *
 * The name of a frame is the one that its program's file says, or else the one that came with the samples, or else its
 * place in the file. Where functions are inlined into one another, the innermost one gives its name; the text of a
 * stack has all of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace-store.h"

/* The texts of a function's name and of its file's path, as numbers in the store's pool. 0 if none is known. */
uint32_t trace_frame_name(const TraceStore *store, uint32_t frame);
uint32_t trace_frame_file(const TraceStore *store, uint32_t frame);

/* The thread of a stack in a heap dump, which its outermost frame names: the number of a text in the pool. 0 if the
 * frame does not name one. */
uint32_t trace_stack_thread(const TraceStore *store, uint32_t callsite);
/* Puts that text into the pool beforehand, for those who read files. */
uint32_t trace_stack_add_thread(TraceStore *store, uint32_t callsite);

/* What follows the last slash, or the whole text if nothing does. NULL stays NULL. */
const char *trace_file_base_name(const char *path);

/* "leaf < caller < …": the innermost frames, up to n_frames_max. With `one_of_kernel`, only the innermost of several
 * kernel frames in a row is named. The text is malloc'ed; NULL if memory has run out. */
char *trace_stack_text(const TraceStore *store,
                       uint32_t callsite,
                       size_t n_frames_max,
                       bool one_of_kernel);
