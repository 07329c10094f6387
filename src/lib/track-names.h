/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the program calls itself, and where it and its threads want to be among others
 *
 * Set by any thread, and read by whichever describes the program: behind a lock of its own, which is held only for
 * copying texts.
 */

#include "lib/track.h"

/* Into the body of a ProcessDescriptor. */
void track_names_put(WireWriter *packet);

int32_t track_process_rank(void); /* 0: none */

/* As <desktrace/track-event.h> says; process-names.c then describes the program again. */
void track_names_set(const char *text);
void track_names_set_labels(const char *const *texts, size_t n_texts);
void track_names_set_rank(int32_t rank);
