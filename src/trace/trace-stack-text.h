/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Trace stack text: what frames and call stacks are called, for those who show them
 *
 * A frame has the name that its program's file says, else the one that came with the samples, else its place in the
 * file. Where functions are inlined into one another, the innermost counts; the text of a stack has all of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace-store.h"

/* Numbers of texts in the store's pool: of the function, and of the file's path. 0: none is known. */
uint32_t trace_frame_name(const TraceStore *store, uint32_t frame);
uint32_t trace_frame_file(const TraceStore *store, uint32_t frame);

/* The thread of a stack in a heap dump, by its outermost frame: the number of a text in the pool. 0: the frame does not
 * name one. */
uint32_t trace_stack_thread(const TraceStore *store, uint32_t callsite);
/* Puts that text there first, for those who read files. */
uint32_t trace_stack_add_thread(TraceStore *store, uint32_t callsite);

/* What follows the last slash, unless nothing does. NULL stays NULL. */
const char *trace_file_base_name(const char *path);

/* "leaf < caller < …": the innermost frames, n_frames_max at most. `one_of_kernel`: of frames of the kernel that
 * follow each other only the innermost. malloc'ed; NULL: no memory. */
char *trace_stack_text(const TraceStore *store,
                       uint32_t callsite,
                       size_t n_frames_max,
                       bool one_of_kernel);
